"""Zips that students handed in, read like folders, within limits, and never unpacked."""

import contextlib
import io
import itertools
import json
import stat
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import BinaryIO

from course.grading.names import WHOSE, safe_name
from course.grading.submissions.file_names import (
    is_hidden,
    is_wanted,
    may_be_module,
    platform_name,
)
from course.grading.submissions.files import (
    MAX_FILES,
    NO_FILE,
    TOO_MANY,
    File,
    Folder,
    Unreadable,
    is_of_this_machine,
    place,
    reason,
)
from course.system.files import MANIFEST

MAX_ZIPS = 5
"""Of one student, those within zips too."""
MAX_INNER_ZIP_BYTES = 64 << 20
"""Zips within zips are read into memory: those of one student together."""
MAX_DIRECTORY_BYTES = 16 << 20
"""The directories of a student's zips together: some 100,000 files."""
_MAX_MANIFEST_BYTES = 64 << 10
"""Twenty times what `course submit` packs."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Python unpacks the others without any limit on what comes out."""


class Archive:
    """A zip, or a folder in it. Names are only compared, so none can lead anywhere.

    Attributes:
        files: those in it, by the first part of their path.
    """

    def __init__(self, files: Iterable[File]) -> None:
        self.files = defaultdict(list)
        for file in files:
            self.files[file.path[0]].append(file)

    def names(self) -> dict[str, str]:
        """Return what lies in it: "folder", "file", or "odd" for what is neither."""
        return {name: self._kind(files) for name, files in self.files.items()}

    @staticmethod
    def _kind(files: list[File]) -> str:
        if any(len(file.path) > 1 for file in files):
            return "folder"
        return "odd" if files[-1].error else "file"

    def inside(self, name: str) -> "Archive":
        inner = (file for file in self.files[name] if any(file.path[1:]))
        return Archive(replace(file, path=file.path[1:]) for file in inner)

    def below(self, name: str) -> Iterator[File]:
        """Yield the file of that name, or those in the folder of that name."""
        files = self.files[name]
        yield from files[:MAX_FILES]
        if len(files) > MAX_FILES:
            yield File((name,), error=Unreadable(TOO_MANY.format(MAX_FILES)))


def files_in(opened: zipfile.ZipFile) -> Iterator[File]:
    """Yield the files in a zip that are not hidden."""
    for info in opened.infolist():
        if file := _member(opened, info):
            yield file


def _member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> File | None:
    """Return a member of a zip, with an error if it is not to be opened; None if it is hidden."""
    name = info.filename
    if not info.flag_bits & 0x800:  # some programs write UTF-8 and do not say so
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    name = name.replace("\\", "/")
    path = tuple(part for part in name.split("/") if part not in ("", "."))
    if not path or any(map(is_hidden, path)):
        return None
    odd = ""
    if name.startswith("/") or ".." in path or path[0].endswith(":"):
        odd = "has a name that leads elsewhere, and was left alone"
    elif name.endswith("/"):
        return File((*path, ""))
    elif stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
        odd = NO_FILE
    elif info.flag_bits & 0x1:
        odd = "is encrypted"
    elif info.compress_type not in _METHODS:
        odd = "is compressed in another way than zips usually are"
    if odd:
        return File(path, error=Unreadable(odd))
    modified = None
    if info.date_time[0] > 1980:  # the year that stands in a zip where the time is unknown
        with contextlib.suppress(ValueError):  # the 31st of February
            modified = (datetime(*info.date_time) - datetime(1980, 1, 1)).total_seconds()
    return File(path, partial(opened.open, info), modified)


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


@dataclass
class Reading:
    """The work of one student while it is read, with what is found out about it.

    Attributes:
        stack: closes what was opened.
        notes: see `Submission`.
        failed: each place that was not read, and why.
        named: the name in the manifest of the first zip that has one, safe to show. It is a hint,
            for anybody can write there.
        met: what lies at the top of its zips, whatever it is, to say if there is no lesson.
    """

    stack: contextlib.ExitStack
    notes: list[str] = field(default_factory=list)
    failed: list[tuple[tuple[str, ...], Exception]] = field(default_factory=list)
    named: str = ""
    met: list[str] = field(default_factory=list)
    _n_zips: int = 0
    _n_files: int = 0  # in zips
    _n_inner_bytes: int = 0  # of zips within zips
    _n_directory_bytes: int = 0

    def note(self, path: tuple[str, ...], says: str) -> None:
        self.notes.append(f"{place(path)} {says}")

    def fail(self, path: tuple[str, ...], error: Exception) -> None:
        self.note(path, reason(error))
        self.failed.append((path, error))

    def files(self, source: Folder | Archive, names: Iterable[str]) -> Iterator[File]:
        """Yield the files of those names that may be lessons, with notes on what is not read."""
        for name in names:
            try:
                yield from self._wanted(source.below(name))
            except OSError as error:
                self.fail((name,), error)

    def _wanted(
        self, files: Iterable[File], within: tuple[str, ...] = (), depth: int = 0
    ) -> Iterator[File]:
        """Yield those of some files that may be lessons, and those in zips among them.

        Args:
            within: the path of the zip that they are in; `depth` is how many there are around them.
        """
        for file in files:
            path = (*within, *file.path)
            if file.error:
                is_at_the_top = len(file.path) == 2
                if is_wanted(file.path) or is_at_the_top or isinstance(file.error, OSError):
                    self.fail(path, file.error)
            elif not is_wanted(file.path):
                continue
            elif not path[-1].lower().endswith(".zip"):
                if len(path) > 1 or self._is_work(path):
                    yield replace(file, path=path)
            elif depth == 2:
                self.note(path, "is a zip within a zip within a zip: it was not opened")
            else:
                yield from self._in_zip(replace(file, path=path), depth + 1)

    def _is_work(self, path: tuple[str, ...]) -> bool:
        """Tell whether a file at the top of a class is its student's, with a note if it is not."""
        if not platform_name(path[0]):
            lies = f"{place(path)} lies beside the students' folders and was not read"
            self.notes.append(
                f"{WHOSE}, is open: {lies}; it belongs in a folder with the student's name"
            )
        elif may_be_module(path):
            return True
        else:
            self.note(path, "is neither a lesson nor a zip: it was not read")
        return False

    def _in_zip(self, file: File, depth: int) -> Iterator[File]:
        self._n_zips += 1
        too_many = ""
        if self._n_zips > MAX_ZIPS:
            too_many = f"{MAX_ZIPS} zips"
        elif self._n_files > MAX_FILES:
            too_many = f"{MAX_FILES:,} files in the zips before"
        if too_many:
            self.note(file.path, f"was not opened: more than {too_many}")
            return
        try:
            files = self._open(file)
        except Exception as error:
            self.fail(file.path, error)
            return
        if self._n_files > MAX_FILES:
            self.note(file.path, TOO_MANY.format(MAX_FILES))
        self.met += dict.fromkeys(found.path[0] for found in files)
        yield from self._wanted(files, file.path, depth)

    def _open(self, file: File) -> list[File]:
        opened = self.stack.enter_context(file.open())
        if isinstance(opened, zipfile.ZipExtFile):
            opened = self._in_memory(opened)
        bounded = Bounded(opened, MAX_DIRECTORY_BYTES - self._n_directory_bytes)
        zipped = open_zip(bounded, self.stack)
        files = list(itertools.islice(files_in(zipped), MAX_FILES + 1 - self._n_files))
        self.named = self.named or _named_in(zipped)
        self._n_directory_bytes += bounded.largest
        self._n_files += len(files)
        return files

    def _in_memory(self, zipped: BinaryIO) -> BinaryIO:
        left = MAX_INNER_ZIP_BYTES - self._n_inner_bytes
        data = zipped.read(left + 1)
        if len(data) > left:
            together = ", together with the zips before it" if self._n_inner_bytes else ""
            raise Unreadable(f"is larger than {MAX_INNER_ZIP_BYTES >> 20} MB{together}")
        self._n_inner_bytes += len(data)
        return io.BytesIO(data)


def _named_in(opened: zipfile.ZipFile) -> str:
    """Return the name that was given to `course submit`; empty if there is none."""
    with contextlib.suppress(Exception):  # a forged zip can fail in any way, and names nobody then
        member = opened.getinfo(MANIFEST)
        if member.compress_type in _METHODS:
            with opened.open(member) as manifest:
                return safe_name(json.loads(manifest.read(_MAX_MANIFEST_BYTES))["name"])
    return ""
