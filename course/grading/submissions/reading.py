"""The work of one student, read: what may be a lesson, in folders, archives and those inside."""

import contextlib
import io
import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import BinaryIO

from course.core.files import MANIFEST
from course.grading.names import safe_name
from course.grading.submissions.archives import is_archive, members_of
from course.grading.submissions.file_names import is_wanted, may_be_module
from course.grading.submissions.files import (
    MAX_FILES,
    TOO_MANY,
    Archive,
    File,
    Folder,
    packed_files,
    place,
)
from course.grading.submissions.limits import (
    Counted,
    OverLimit,
    SubmissionLimits,
    Unreadable,
    reason,
)

MAX_INNER_BYTES = 64 << 20
"""Of an archive within another, which is read into memory."""
_MAX_MANIFEST_BYTES = 64 << 10
"""Twenty times what `course submit` packs."""


@dataclass
class Reading:
    """The work of one student while it is read, with what is found out about it.

    Attributes:
        stack: closes what was opened.
        limits: what may still be read.
        notes: see `Submission`.
        failed: each place that was not read, and why.
        named: the name in the manifest of the first archive that has one, safe to show. It is a
            hint, because anybody can write there.
        top_names: the names at the top of its archives, to show if there is no lesson.
    """

    stack: contextlib.ExitStack
    limits: SubmissionLimits = field(default_factory=SubmissionLimits.of_a_student)
    notes: list[str] = field(default_factory=list)
    failed: list[tuple[tuple[str, ...], Exception]] = field(default_factory=list)
    named: str = ""
    top_names: list[str] = field(default_factory=list)
    _n_files: int = 0  # in archives

    def note(self, path: tuple[str, ...], says: str) -> None:
        """Add a note on a place."""
        self.notes.append(f"{place(path)} {says}")

    def fail(self, path: tuple[str, ...], error: Exception) -> None:
        """Add a note on a place that was not read."""
        self.note(path, reason(error))
        self.failed.append((path, error))

    def files(self, source: Folder | Archive, names: Iterable[str]) -> Iterator[File]:
        """Yield the files of those names that may be lessons, with notes on what is not read.

        Raises:
            OverLimit: there is too much to look at.
        """
        for name in names:
            try:
                yield from self._wanted(source.below(name))
            except OSError as error:
                self.fail((name,), error)

    def _wanted(
        self, files: Iterable[File], within: tuple[str, ...] = (), depth: int = 0
    ) -> Iterator[File]:
        """Yield those of some files that may be lessons, and those in archives among them.

        Args:
            within: the path of the archive that they are in.
            depth: how many archives there are around them.
        """
        for file in files:
            self.limits.spend()
            path = (*within, *file.path)
            if file.error:
                is_at_the_top = len(file.path) == 2
                if is_wanted(file.path) or is_at_the_top or isinstance(file.error, OSError):
                    self.fail(path, file.error)
            elif not is_wanted(file.path):
                continue
            elif not is_archive(path[-1]):
                if len(path) > 1 or may_be_module(path):
                    yield replace(file, path=path, open=partial(self._opened, file))
                else:
                    self.note(path, "is neither a lesson nor a zip: it was not read")
            elif depth == 2:
                self.fail(path, Unreadable("is a zip in a zip in a zip: it was not opened"))
            else:
                yield from self._in_archive(replace(file, path=path), depth + 1)

    def _opened(self, file: File) -> BinaryIO:
        return Counted(file.open(), self.limits)

    def _in_archive(self, file: File, depth: int) -> Iterator[File]:
        if self._n_files > MAX_FILES:
            before = f"there are more than {MAX_FILES:,} files in the zips before"
            self.fail(file.path, Unreadable(f"was not opened, because {before}"))
            return
        try:
            files = self._list(file)
        except Exception as error:
            self.fail(file.path, error)
            return
        if self._n_files > MAX_FILES:
            self.fail(file.path, OverLimit(TOO_MANY.format(MAX_FILES)))
        self.top_names += dict.fromkeys(found.path[0] for found in files)
        yield from self._wanted(files, file.path, depth)

    def _list(self, file: File) -> list[File]:
        """Open an archive and return its files."""
        if file.packed:
            counted = replace(file, open=partial(self._opened, file))
            opened = io.BytesIO(counted.read(MAX_INNER_BYTES))
        else:
            opened = self.stack.enter_context(file.open())
        members = members_of(opened, self.limits, self.stack)
        files = list(itertools.islice(packed_files(members), MAX_FILES + 1 - self._n_files))
        self._n_files += len(files)
        self.named = self.named or _named_in(files)
        return files


def _named_in(files: Iterable[File]) -> str:
    """Return the name that was given to `course submit`; empty if there is none."""
    with contextlib.suppress(Exception):  # a forged archive can fail in any way
        member = next(file for file in files if file.path == (MANIFEST,))
        return safe_name(json.loads(member.read(_MAX_MANIFEST_BYTES))["name"])
    return ""
