"""Writing a file so that nothing is ever half-written."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step, so that a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
