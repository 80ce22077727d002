"""The code of the course replaced in one step, although it is many files.

Whoever is killed between two files would be left with half of the old code and half of the new,
and with a `course` command that may not start to complete the update. So the old code is put aside
whole first, and until the new one is there whole, the package `course` is the one put aside.
"""

import os
import shutil
from pathlib import Path

from course.system.files import read_if_there, write_whole_bytes

ASIDE = Path(".course") / "update" / "course"
"""The old code while it is being replaced."""

_DRAFT = ASIDE.with_name("course.draft")

_FIRST = "course/__init__.py"
_DETOUR = b"""

__path__ = [str(ROOT / ".course" / "update" / "course")]  # until `course update` is through
"""


def is_under_way(root: Path) -> bool:
    """Whether an update began to replace the code and has not ended."""
    return (root / ASIDE).is_dir()


def current_code(root: Path, path: str) -> bytes | None:
    """What a file of the course holds, the detour left out."""
    aside = root / ASIDE / "__init__.py"
    return read_if_there(aside if path == _FIRST and aside.exists() else root / path)


def begin(root: Path) -> None:
    """Put the code aside, and use that from now on."""
    aside = root / ASIDE
    if not aside.is_dir():
        draft = root / _DRAFT
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(root / "course", draft, ignore=shutil.ignore_patterns("__pycache__"))
        os.rename(draft, aside)
    first = (aside / "__init__.py").read_bytes()
    write_whole_bytes(root / _FIRST, first.rstrip() + _DETOUR)


def end(root: Path, first: bytes | None) -> None:
    """Use the code in its place again, which is the new one by now.

    Args:
        first: what `course/__init__.py` is to hold; None if it stays as it was.
    """
    aside = root / ASIDE
    if first is None:
        first = (aside / "__init__.py").read_bytes()
    write_whole_bytes(root / _FIRST, first)
    shutil.rmtree(root / _DRAFT, ignore_errors=True)
    os.rename(aside, root / _DRAFT)  # in one step: it is there whole or not at all
    shutil.rmtree(root / _DRAFT, ignore_errors=True)
