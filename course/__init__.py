"""What and Where: how a transformer knows what a token is and where it is."""

import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    # `python -m course` is about to begin, and has put the current folder first on the import
    # path: in a folder of submissions, `import selectors` would run a student's.
    del sys.path[0]

from pathlib import Path

__version__ = "0.1.0"

ROOT = Path(__file__).resolve().parent.parent


def root() -> Path:
    """Return the course repository: the folder that holds `exercises/`, `solutions/`, `tests/`."""
    return ROOT


IS_WHOLE = (ROOT / "pyproject.toml").exists()
"""Whether it is all there; where `pip` copied the package alone, the exercises are elsewhere."""
