"""Files that are never half-written, and zips that are identical if their files are."""

import contextlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

MANIFEST = "manifest.json"
"""The name of the list of files in a zip that a student hands in."""
MAX_MODULE_BYTES = 1 << 20
"""A larger module is neither packed nor graded."""

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The date of all files in a zip, so that the same files give the same zip."""


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step, so that a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: Path, data: bytes) -> None:
    """Do the same for bytes, into a folder that is there."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)  # a link that somebody put there would be followed
        with open(draft, "xb") as file:
            file.write(data)
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        if error.filename:
            error.filename, error.filename2 = str(path), None  # and not the draft
        raise


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Let nobody else read the files and folders that this process makes meanwhile."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def add_to_zip(opened: zipfile.ZipFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Add a file to a zip, in the same way on every system and at any time."""
    info = zipfile.ZipInfo(name, _LONG_AGO)
    info.create_system = 3  # Unix, which the mode is meant for
    info.external_attr = (0o100000 | mode) << 16
    info.compress_type = zipfile.ZIP_DEFLATED
    opened.writestr(info, data)
