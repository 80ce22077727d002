"""The files in a folder and in a zip, alike: looked at without running or unpacking anything."""

import contextlib
import errno
import io
import itertools
import os
import stat
import zipfile
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from course.building.submission import MAX_MODULE_BYTES
from course.grading.names import shown
from course.grading.submissions.file_names import MAX_DEPTH, is_hidden, is_wanted, may_matter
from course.grading.submissions.hard_links import names_within

MAX_FILES = 20_000
"""In the folder of one student, and in the zips, that are not hidden; beyond that nobody looks."""
TOO_MANY = "holds more than {:,} files; some were not seen"
_NO_FILE = "is a link or a device, and was left alone"
_ANOTHERS = "is linked to another place, so that it may be another's: a copy of it would be read"
Names = Callable[[], Counter[tuple[int, int]]]
"""How many names files have in a folder, counted when it is asked for; see `names_within`."""


@dataclass(frozen=True)
class File:
    """Something that may be read, or a reason why it is not.

    Attributes:
        path: its parts, from the class on: the first is the student's folder, zip or file.
        open: opens it.
        odd: why it must not be opened, as the rest of a sentence; empty if it may.
        modified: when it was changed last, in seconds, to compare within one folder; or None.
        error: of a folder, why it could not be looked into.
    """

    path: tuple[str, ...]
    open: Callable[[], BinaryIO] | None = None
    odd: str = ""
    modified: float | None = None
    error: OSError | None = None


class Unreadable(Exception):
    """Why a file is not read, as the rest of a sentence."""


class Folder:
    """A folder on the disk. No link is followed, nothing but regular files is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> dict[str, str]:
        """What lies in it: "folder", "file", or "odd" for what is neither."""
        return {entry.name: _kind(entry) for entry in self._entries(self.path)}

    def inside(self, name: str) -> "Folder":
        return Folder(self.path / name)

    def below(self, name: str) -> Iterator[File]:
        """The file of that name, or the files in the folder of that name, nearest first."""
        mode = os.lstat(self.path / name).st_mode
        kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "odd"
        own_names = cache(partial(names_within, self.path / name, MAX_FILES))
        if kind != "folder":
            yield self._file((name,), kind, own_names)
            return
        folders, left = deque([(name,)]), MAX_FILES
        while folders:
            folder = folders.popleft()
            try:
                entries = self._entries(self.path.joinpath(*folder), at_most=left + 1)
            except OSError as error:
                yield File(folder, error=error)
                continue
            left -= len(entries)
            if left < 0:
                yield File((name,), odd=TOO_MANY.format(MAX_FILES))
                return
            for entry in entries:
                path, kind = (*folder, entry.name), _kind(entry)
                if kind == "folder":
                    folders.extend([path] if len(path) < MAX_DEPTH else [])
                elif is_wanted(path) or (kind == "odd" and len(path) == 2):
                    yield self._file(path, kind, own_names, _modified(entry))

    def _file(
        self,
        path: tuple[str, ...],
        kind: str,
        own_names: Names,
        modified: float | None = None,
    ) -> File:
        if kind == "odd":
            return File(path, odd=_NO_FILE)
        opens = partial(open_regular, self.path.joinpath(*path), own_names)
        return File(path, opens, modified=modified)

    @staticmethod
    def _entries(folder: Path, at_most: int | None = None) -> list[os.DirEntry]:
        with os.scandir(folder) as entries:
            seen = list(itertools.islice(entries, at_most))
        seen.sort(key=lambda entry: entry.name)
        return [entry for entry in seen if not is_hidden(entry.name)]


class Archive:
    """A zip, or a folder in it. Names are only compared, so none can lead anywhere.

    Attributes:
        files: those in it, by the first part of their path.
        n_files: how many there are together.
    """

    def __init__(self, files: Iterable[File]) -> None:
        self.files = defaultdict(list)
        self.n_files = 0
        for self.n_files, file in enumerate(files, start=1):
            self.files[file.path[0]].append(file)

    @classmethod
    def read(cls, opened: zipfile.ZipFile, at_most: int | None = None) -> "Archive":
        """The first `at_most` files that are not hidden."""
        files = (file for info in opened.infolist() if (file := _member(opened, info)))
        return cls(itertools.islice(files, at_most))

    def names(self) -> dict[str, str]:
        return {name: self._kind(files) for name, files in self.files.items()}

    @staticmethod
    def _kind(files: list[File]) -> str:
        if any(len(file.path) > 1 for file in files):
            return "folder"
        return "odd" if files[-1].odd else "file"

    def inside(self, name: str) -> "Archive":
        inner = (file for file in self.files[name] if len(file.path) > 1)
        return Archive(replace(file, path=file.path[1:]) for file in inner)

    def below(self, name: str) -> Iterator[File]:
        files = self.files[name]
        yield from (file for file in files[:MAX_FILES] if file.odd or is_wanted(file.path))
        if len(files) > MAX_FILES:
            yield File((name,), odd=TOO_MANY.format(MAX_FILES))


def _kind(entry: os.DirEntry) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "odd"


def _modified(entry: os.DirEntry) -> float | None:
    with contextlib.suppress(OSError):
        return entry.stat(follow_symlinks=False).st_mtime
    return None


def _modified_in_zip(info: zipfile.ZipInfo) -> float | None:
    """Seconds since 1980, the year that stands in a zip where the time is unknown."""
    with contextlib.suppress(ValueError):  # the 31st of February
        since = datetime(*info.date_time) - datetime(1980, 1, 1)
        return since.total_seconds() if info.date_time[0] > 1980 else None
    return None


def open_regular(path: Path, own_names: Names = Counter) -> BinaryIO:
    """Open a regular file, without waiting for anyone and following nothing.

    Args:
        own_names: counts the names that files have in the student's folder, if it has several.

    Raises:
        Unreadable: it is no regular file, or it has further names, which may be another student's.
        OSError: it cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    status = os.fstat(file.fileno())
    is_regular = stat.S_ISREG(status.st_mode)
    if is_regular and (
        status.st_nlink <= 1 or status.st_nlink <= own_names()[status.st_dev, status.st_ino]
    ):
        return file
    file.close()
    raise Unreadable(_ANOTHERS if is_regular else _NO_FILE)


def _name_in_zip(info: zipfile.ZipInfo) -> str:
    """The name of a member: some programs write UTF-8 and do not say so."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> File | None:
    """A member of a zip; of those that do not matter, only that there is a folder, or None."""
    name = _name_in_zip(info).replace("\\", "/")
    path = tuple(part for part in name.split("/") if part not in ("", "."))
    if not path or any(map(is_hidden, path)):
        return None
    if name.startswith("/") or ".." in path or path[0].endswith(":"):
        return File(path, odd="has a name that leads elsewhere, and was left alone")
    if name.endswith("/") or not may_matter(path):
        return File((*path[:2], ""))
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return File(path, odd=_NO_FILE)
    if info.flag_bits & 0x1:
        return File(path, odd="is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Python unpacks the others without any limit on what comes out.
        return File(path, odd="is compressed in another way than zips usually are")
    return File(path, partial(opened.open, info), modified=_modified_in_zip(info))


class Bounded(io.BufferedReader):
    """A zip as a file that refuses to be read whole: `zipfile` reads the directory in one go."""

    def __init__(self, file: BinaryIO, at_most: int) -> None:
        super().__init__(file)
        self.at_most = at_most
        self.largest = 0

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self.at_most:
            raise Unreadable("holds too many files")
        self.largest = max(self.largest, size or 0)
        return super().read(size)


def open_zip(file: Bounded, stack: contextlib.ExitStack) -> zipfile.ZipFile:
    """Open a zip until the stack is closed.

    Raises:
        Unreadable: it is none, it is damaged or too large.
        OSError: the disk cannot be read.
    """
    try:
        return stack.enter_context(zipfile.ZipFile(file))
    except Exception as error:
        cause = error.__context__ or error  # `zipfile` takes what cannot be read for no zip
        if is_of_this_machine(cause):
            raise cause from None
        is_none = isinstance(error, zipfile.BadZipFile)
        raise Unreadable("is damaged, or is no zip" if is_none else reason(error)) from None


def read_bytes(file: File) -> bytes:
    """What is in a file.

    Raises:
        Unreadable: it is too large. Any error: see `reason`.
    """
    with file.open() as opened:
        module = opened.read(MAX_MODULE_BYTES + 1)
    if len(module) > MAX_MODULE_BYTES:
        raise Unreadable(f"is larger than {MAX_MODULE_BYTES >> 20} MB")
    return module


def place(path: tuple[str, ...]) -> str:
    """Where something lies in what the student handed in."""
    return shown(*(path[1:] or path))


def reason(error: Exception) -> str:
    """Why a file could not be read, as the rest of a sentence.

    Any error is expected: a forged zip fails in as many ways as its numbers can be misread.
    """
    if isinstance(error, Unreadable):
        return str(error)
    if is_of_this_machine(error):
        return f"cannot be read: {error.strerror}"
    return "is damaged"


def is_of_this_machine(error: Exception) -> bool:
    """Whether a file was not read for a reason that lies not in it. A forged zip is a reason."""
    return isinstance(error, OSError) and bool(error.strerror) and error.errno != errno.EINVAL


def could_not_read(path: tuple[str, ...], error: Exception) -> str:
    return f"The grader could not read {place(path)} ({error.strerror})"
