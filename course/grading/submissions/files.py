"""Files that students handed in: listed and opened without following a link or running anything."""

import errno
import itertools
import os
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from course.grading.names import shown
from course.grading.submissions.file_names import MAX_DEPTH, is_hidden
from course.grading.submissions.hard_links import names_within
from course.system.files import MAX_MODULE_BYTES

MAX_FILES = 20_000
"""In the folder of one student, and in the zips, that are not hidden; beyond that nobody looks."""
TOO_MANY = "holds more than {:,} files; some were not seen"
NO_FILE = "is a link or a device, and was left alone"
_ANOTHERS = "is linked to another place, so that it may be another's: a copy of it would be read"


class Unreadable(Exception):
    """A reason not to read a file, as the rest of a sentence."""


@dataclass(frozen=True, slots=True)  # a zip may have very many
class File:
    """Something that may be read, or an error that says why it is not.

    Attributes:
        path: its parts, from the class on: the first is the student's folder, zip or file.
        open: opens it.
        modified: when it was changed last, in seconds, to compare within one folder; or None.
    """

    path: tuple[str, ...]
    open: Callable[[], BinaryIO] | None = None
    modified: float | None = None
    error: Exception | None = None

    def read(self) -> bytes:
        """Return the bytes of a module.

        Raises:
            Unreadable: it is too large. Any other error: see `reason`.
        """
        with self.open() as opened:
            module = opened.read(MAX_MODULE_BYTES + 1)
        if len(module) > MAX_MODULE_BYTES:
            raise Unreadable(f"is larger than {MAX_MODULE_BYTES >> 20} MB")
        return module


class Folder:
    """A folder on the disk. No link is followed, nothing but regular files is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> dict[str, str]:
        """Return what lies in it: "folder", "file", or "odd" for what is neither."""
        return {entry.name: _kind(entry) for entry in _entries(self.path)}

    def inside(self, name: str) -> "Folder":
        return Folder(self.path / name)

    def below(self, name: str) -> Iterator[File]:
        """Yield the file of that name, or those in the folder of that name, nearest first."""
        mode = os.lstat(self.path / name).st_mode
        own_names = cache(partial(names_within, self.path / name, MAX_FILES))
        if not stat.S_ISDIR(mode):
            yield self._file((name,), stat.S_ISREG(mode), own_names)
            return
        folders, left = deque([(name,)]), MAX_FILES
        while folders:
            folder = folders.popleft()
            try:
                entries = _entries(self.path.joinpath(*folder), at_most=left + 1)
            except OSError as error:
                yield File(folder, error=error)
                continue
            left -= len(entries)
            if left < 0:
                yield File((name,), error=Unreadable(TOO_MANY.format(MAX_FILES)))
                return
            for entry in entries:
                path, kind = (*folder, entry.name), _kind(entry)
                if kind != "folder":
                    modified = entry.stat(follow_symlinks=False).st_mtime
                    yield self._file(path, kind == "file", own_names, modified)
                elif len(path) < MAX_DEPTH:
                    folders.append(path)

    def _file(
        self,
        path: tuple[str, ...],
        is_regular: bool,
        own_names: Callable[[], Counter],
        modified: float | None = None,
    ) -> File:
        if not is_regular:
            return File(path, error=Unreadable(NO_FILE))
        return File(path, partial(open_regular, self.path.joinpath(*path), own_names), modified)


def _entries(folder: Path, at_most: int | None = None) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        seen = sorted(itertools.islice(entries, at_most), key=lambda entry: entry.name)
    return [entry for entry in seen if not is_hidden(entry.name)]


def _kind(entry: os.DirEntry) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "odd"


def open_regular(path: Path, own_names: Callable[[], Counter] = Counter) -> BinaryIO:
    """Open a regular file, without waiting for anyone and following nothing.

    Args:
        own_names: counts the names that files have in the student's folder, if it has several.

    Raises:
        Unreadable: it is no regular file, or it has further names, which may be another student's.
        OSError: it cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # each where the system has it
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    status = os.fstat(file.fileno())
    is_regular = stat.S_ISREG(status.st_mode)
    if is_regular and (
        status.st_nlink <= 1 or status.st_nlink <= own_names()[status.st_dev, status.st_ino]
    ):
        return file
    file.close()
    raise Unreadable(_ANOTHERS if is_regular else NO_FILE)


def place(path: tuple[str, ...]) -> str:
    """Return where something lies in what the student handed in."""
    return shown(*(path[1:] or path))


def reason(error: Exception) -> str:
    """Return why a file could not be read, as the rest of a sentence.

    Any error is expected: a forged zip fails in as many ways as its numbers can be misread.
    """
    if isinstance(error, Unreadable):
        return str(error)
    return f"cannot be read: {error.strerror}" if is_of_this_machine(error) else "is damaged"


def is_of_this_machine(error: Exception) -> bool:
    """Tell whether a file was not read for a reason that lies not in it, as a forged zip does."""
    return isinstance(error, OSError) and bool(error.strerror) and error.errno != errno.EINVAL
