"""The files that give answers away; in a handout for students one packed file holds them.

That is a curtain and not a lock: reading or searching shows no solution, and people who unpack
the file know what it is.
"""

import errno
import functools
import io
import zipfile
from pathlib import Path

from course import root

FILES = ("solutions/*.py", *(f"course/lessons/*/{one}" for one in ("*.txt", "styles.py")))
FILES += ("course/lessons/*/notebook.py",)
"""Which files are packed, as patterns."""

SHOWN = "shown"
"""The name in the pack of what `course show` may show: "never", "passed" or "always"."""


def pack() -> Path:
    """Return the packed file; only a handout has it."""
    return root() / "course" / "answers.zip"


def read(path: Path) -> bytes:
    """Return the content of a file of the repository, which may be packed."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would never end
        raise OSError(errno.EINVAL, "it is no file")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        name = path.relative_to(root()).as_posix() if path.is_relative_to(root()) else ""
        if name not in _packed(pack()):
            raise
    return _packed(pack())[name]


def text(path: Path) -> str:
    """Return the text of such a file, with plain line ends."""
    return read(path).decode("utf-8").replace("\r\n", "\n")


def shown() -> str:
    """Return what `course show` may show: "never", "passed" or, outside of a handout, "always"."""
    return _packed(pack()).get(SHOWN, b"always").decode()


@functools.cache
def _packed(path: Path) -> dict[str, bytes]:
    """Return all files in the pack, by their names; read once, so that a fork shares no file."""
    if not path.exists():
        return {}
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as opened:
        return {name: opened.read(name) for name in opened.namelist()}
