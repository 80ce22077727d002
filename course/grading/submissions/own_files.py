"""The files of one student that may be a lesson's, those in zips and in zips within them too."""

import contextlib
import io
import itertools
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import BinaryIO

from course.grading.reports.message import WHOSE
from course.grading.submissions.file_names import may_be_module, platform_name
from course.grading.submissions.files import (
    MAX_FILES,
    TOO_MANY,
    Archive,
    Bounded,
    File,
    Folder,
    Unreadable,
    could_not_read,
    is_of_this_machine,
    open_zip,
    place,
    reason,
)
from course.grading.submissions.manifest import named_in

MAX_ZIPS = 5
"""Of one student, those within zips too."""
MAX_INNER_ZIP_BYTES = 64 << 20
"""Zips within zips are read into memory: those of one student together."""
MAX_DIRECTORY_BYTES = 16 << 20
"""The directories of a student's zips together: some 100,000 files."""


@dataclass
class Reading:
    """What is found out while the work of one student is read.

    Attributes:
        stack: closes what was opened.
        notes: see `Submission`.
        closed: places that this machine could not look into, as the rest of a sentence.
        odd: files that are not to be opened.
        named: whose name stands in the first of its zips that names somebody.
        met: what lies at the top of its zips, whatever it is, to say if there is no lesson.
        n_zips: how many were met,
        n_bytes: how large those are together that were read into memory,
        n_directory_bytes: and the directories of all of them,
        n_files: and how many files were seen in them.
    """

    stack: contextlib.ExitStack
    notes: list[str]
    closed: list[str] = field(default_factory=list)
    odd: list[File] = field(default_factory=list)
    named: str = ""
    met: list[str] = field(default_factory=list)
    n_zips: int = 0
    n_bytes: int = 0
    n_directory_bytes: int = 0
    n_files: int = 0

    def note(self, path: tuple[str, ...], says: str) -> None:
        self.notes.append(f"{place(path)} {says}")

    def note_odd(self, file: File) -> None:
        self.note(file.path, file.odd)
        self.odd.append(file)

    def note_error(self, path: tuple[str, ...], error: Exception) -> None:
        self.note(path, reason(error))
        if is_of_this_machine(error):
            self.closed.append(could_not_read(path, error))

    def in_memory(self, zipped: zipfile.ZipExtFile) -> BinaryIO:
        """A zip within a zip."""
        left = MAX_INNER_ZIP_BYTES - self.n_bytes
        data = zipped.read(left + 1)
        if len(data) > left:
            together = ", together with the zips before it" if self.n_bytes else ""
            raise Unreadable(f"is larger than {MAX_INNER_ZIP_BYTES >> 20} MB{together}")
        self.n_bytes += len(data)
        return io.BytesIO(data)


def files_of(source: Folder | Archive, names: list[str], reading: Reading) -> Iterator[File]:
    """The files of one student that may be a lesson's, those in zips too; notes on the others."""
    for file in itertools.chain.from_iterable(map(source.below, names)):
        if file.error:
            reading.note_error(file.path, file.error)
        elif file.odd:
            reading.note_odd(file)
        elif file.path[-1].lower().endswith(".zip"):
            yield from _files_in_zip(file, reading)
        else:
            yield from _unless_alone(file, reading)


def _unless_alone(file: File, reading: Reading) -> Iterator[File]:
    if len(file.path) == 1 and not platform_name(file.path[0]):
        lies = f"{place(file.path)} lies beside the students' folders and was not read"
        reading.notes.append(
            f"{WHOSE}, is open: {lies}; it belongs in a folder with the student's name"
        )
    elif len(file.path) > 1 or may_be_module(file.path):
        yield file
    else:
        reading.note(file.path, "is neither a lesson nor a zip: it was not read")


def _files_in_zip(file: File, reading: Reading, within: str = "") -> Iterator[File]:
    """The files in a zip that may be a lesson's, and in the zips in it, but no deeper."""
    reading.n_zips += 1
    if reading.n_zips > MAX_ZIPS:
        reading.note(file.path, f"was not opened: more than {MAX_ZIPS} zips")
        return
    if reading.n_files > MAX_FILES:
        reading.note(file.path, f"was not opened: more than {MAX_FILES:,} files in the zips before")
        return
    try:
        opened = reading.stack.enter_context(file.open())
        if isinstance(opened, zipfile.ZipExtFile):
            opened = reading.in_memory(opened)
        bounded = Bounded(opened, MAX_DIRECTORY_BYTES - reading.n_directory_bytes)
        zipped = open_zip(bounded, reading.stack)
        inner = Archive.read(zipped, MAX_FILES + 1 - reading.n_files)
        reading.named = reading.named or named_in(zipped)
        reading.n_directory_bytes += bounded.largest
    except Exception as error:
        reading.note_error(file.path, error)
        return
    reading.n_files += inner.n_files
    if reading.n_files > MAX_FILES:
        reading.note(file.path, TOO_MANY.format(MAX_FILES))
    reading.met += inner.names()
    for name in inner.names():
        for found in inner.below(name):
            path = (*file.path, *found.path)
            if found.odd:
                reading.note_odd(File(path, odd=found.odd))
            elif not found.path[-1].lower().endswith(".zip"):
                yield replace(found, path=path)
            elif within:
                reading.note(path, f"is a zip{within} within a zip: it was not opened")
            else:
                yield from _files_in_zip(File(path, found.open), reading, " within a zip")
