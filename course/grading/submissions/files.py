"""Files that students handed in, on the disk or in an archive: no link is followed."""

import contextlib
import errno
import itertools
import os
import stat
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from course.core.files import MAX_MODULE_BYTES
from course.grading.names import shown
from course.grading.submissions.archives import Member
from course.grading.submissions.file_names import MAX_DEPTH, MAX_LENGTH, is_hidden
from course.grading.submissions.limits import HasOtherNames, OverLimit, Unreadable
from course.testing.source import why_no_module

MAX_FILES = 20_000
"""In the folder of one student, and in the archives, that are not hidden; the rest is not seen."""
TOO_MANY = "contains more than {:,} files; some were not looked at"
NO_FILE = "is a link or a device, and was not read"
_ANOTHERS = (
    "has another name elsewhere, so it may be somebody else's: only a copy of it would be read"
)


@dataclass(frozen=True, slots=True)  # an archive may have very many
class File:
    """Something that may be read, or an error that says why it is not.

    Attributes:
        path: its parts, from the class on: the first is the student's folder, zip or file.
        open: opens it.
        modified: when it was changed last, in seconds, to compare within one folder; or None.
        packed: whether it is in an archive.
    """

    path: tuple[str, ...]
    open: Callable[[], BinaryIO] | None = None
    modified: float | None = None
    error: Exception | None = None
    packed: bool = False

    def read(self, at_most: int = MAX_MODULE_BYTES) -> bytes:
        """Return the bytes of a module, or of something else that is not larger than a limit.

        Raises:
            Unreadable: it is too large. Any other error: see `reason`.
        """
        with self.open() as opened:
            data = opened.read(at_most + 1)
        if len(data) > at_most:
            raise Unreadable(f"is larger than {at_most >> 20} MB")
        return data


class Archive:
    """An archive, or a folder in it. Names are only compared, so none can lead anywhere.

    Attributes:
        files: those in it, by the first part of their path.
    """

    def __init__(self, files: Iterable[File]) -> None:
        self.files = defaultdict(list)
        for file in files:
            self.files[file.path[0]].append(file)

    def names(self) -> dict[str, str]:
        """Return what is in it: "folder", "file", or "odd" for what is neither."""
        return {name: self._kind(files) for name, files in self.files.items()}

    @staticmethod
    def _kind(files: list[File]) -> str:
        if any(len(file.path) > 1 for file in files):
            return "folder"
        return "odd" if files[-1].error else "file"

    def inside(self, name: str) -> "Archive":
        """Return the folder of that name."""
        inner = (file for file in self.files[name] if any(file.path[1:]))
        return Archive(replace(file, path=file.path[1:]) for file in inner)

    def below(self, name: str) -> Iterator[File]:
        """Yield the file of that name, or those in the folder of that name."""
        files = self.files[name]
        yield from files[:MAX_FILES]
        if len(files) > MAX_FILES:
            yield File((name,), error=OverLimit(TOO_MANY.format(MAX_FILES)))


def packed_files(members: Iterable[Member]) -> Iterator[File]:
    """Yield the files of an archive that are not hidden; with an error if not to be opened."""
    for member in members:
        name = member.name.replace("\\", "/")
        path = tuple(part for part in name.split("/") if part not in ("", "."))
        if not path or any(map(is_hidden, path)):
            continue
        trouble = member.trouble
        # to take longer names apart would take seconds
        if any(len(part) > 20 * MAX_LENGTH for part in path):
            path, trouble = tuple(part[:MAX_LENGTH] for part in path), "has too long a name"
        if ".." in path:
            trouble = "has a name that leads out of its archive, and was not read"
        if trouble:
            yield File(path, error=Unreadable(trouble))
        elif name.endswith("/"):
            yield File((*path, ""))
        else:
            yield File(path, member.open, member.modified, packed=True)


class Folder:
    """A folder on the disk. No link is followed, and only regular files are opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> dict[str, str]:
        """Return what is in it: "folder", "file", or "odd" for what is neither."""
        return {entry.name: _kind(entry) for entry in _entries(self.path)}

    def inside(self, name: str) -> "Folder":
        """Return the folder of that name."""
        return Folder(self.path / name)

    def below(self, name: str) -> Iterator[File]:
        """Yield the file of that name, or those in the folder of that name, nearest first."""
        mode = os.lstat(self.path / name).st_mode
        if not stat.S_ISDIR(mode):
            yield self._file((name,), stat.S_ISREG(mode))
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
                yield File((name,), error=OverLimit(TOO_MANY.format(MAX_FILES)))
                return
            for entry in entries:
                path, kind = (*folder, entry.name), _kind(entry)
                if kind != "folder":
                    modified = entry.stat(follow_symlinks=False).st_mtime
                    yield self._file(path, kind == "file", modified)
                elif len(path) < MAX_DEPTH:
                    folders.append(path)

    def _file(self, path: tuple[str, ...], is_regular: bool, modified: float | None = None) -> File:
        if not is_regular:
            return File(path, error=Unreadable(NO_FILE))
        return File(path, partial(_open_below, self.path, path), modified)


def _open_below(folder: Path, path: tuple[str, ...]) -> BinaryIO:
    """Open a regular file below a folder: nothing on the way may be a link, not even by now.

    Raises: as `open_regular`.
    """
    if os.open not in os.supports_dir_fd:
        return open_regular(folder.joinpath(*path))
    flags = os.O_RDONLY | os.O_DIRECTORY
    with contextlib.ExitStack() as opened:
        handle = os.open(folder, flags)
        opened.callback(os.close, handle)
        for part in path[:-1]:
            try:
                handle = os.open(part, flags | os.O_NOFOLLOW, dir_fd=handle)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise Unreadable(NO_FILE) from None
                raise
            opened.callback(os.close, handle)
        return open_regular(path[-1], handle)


def _entries(folder: Path, at_most: int | None = None) -> list[os.DirEntry]:
    with os.scandir(folder) as entries:
        seen = sorted(itertools.islice(entries, at_most), key=lambda entry: entry.name)
    return [entry for entry in seen if not is_hidden(entry.name)]


def _kind(entry: os.DirEntry) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "odd"


def open_regular(path: str | Path, folder: int | None = None) -> BinaryIO:
    """Open a regular file, without waiting for anyone and following nothing.

    Args:
        folder: the descriptor of an open folder that the path starts from.

    Raises:
        Unreadable: it is no regular file.
        HasOtherNames: it has further names.
        OSError: it cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)  # each where the system has it
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.fdopen(os.open(path, flags, dir_fd=folder), "rb")
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR):  # it has just become one
            raise Unreadable(NO_FILE) from None
        raise
    status = os.fstat(file.fileno())
    is_regular = stat.S_ISREG(status.st_mode)
    if is_regular and status.st_nlink <= 1:
        return file
    file.close()
    raise HasOtherNames(_ANOTHERS) if is_regular else Unreadable(NO_FILE)


def source_of_module(source: bytes) -> bytes:
    """Return the source of a module as it is.

    Raises:
        Unreadable: it is no module at all, such as a web page, or in another encoding and does not
            name it, as Python demands.
    """
    if why := why_no_module(source):
        raise Unreadable(why)
    return source


def place(path: tuple[str, ...]) -> str:
    """Return the place of something in what the student handed in."""
    return shown(*(path[1:] or path))
