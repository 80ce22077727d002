"""Limits on what it may cost to read one student's files."""

import errno
import io
import time
from typing import BinaryIO

MAX_BYTES = 256 << 20
"""Read from archives and files, packed and unpacked bytes together; all lessons have 100 kB."""
MAX_SECONDS = 5.0
"""Of the processor's time."""
MAX_DIRECTORY_BYTES = 16 << 20
"""The directory of an archive: some 100,000 files."""


class Unreadable(Exception):
    """A reason not to read a file, as the rest of a sentence."""


class HasOtherNames(Unreadable):
    """A hard link: who made the other name is not known, and it may be another student's."""


class OverLimit(Unreadable):
    """A reason not to read any further what may hold every lesson."""


class SubmissionLimits:
    """What may still be read of one student's files.

    Attributes:
        left: how many bytes may still be read.
        directory_bytes: how many bytes the directory of an archive may have.
    """

    def __init__(self, n_bytes: float, seconds: float, directory_bytes: int) -> None:
        self.directory_bytes = directory_bytes
        self.left = n_bytes
        self._end = time.process_time() + seconds

    @classmethod
    def of_a_student(cls) -> "SubmissionLimits":
        """Return the limits for all that one student handed in."""
        return cls(MAX_BYTES, MAX_SECONDS, MAX_DIRECTORY_BYTES)

    def spend(self, n_bytes: int = 0) -> None:
        """Count some bytes, and look at the clock.

        Raises:
            OverLimit: that was too much, now or before.
        """
        self.left -= n_bytes
        if self.left < 0:
            raise OverLimit(f"takes more than {MAX_BYTES >> 20} MB to read")
        if time.process_time() > self._end:
            raise OverLimit(f"takes more than {MAX_SECONDS:g} seconds to read")


class Counted(io.BufferedReader):
    """A file of which every byte counts against limits."""

    def __init__(self, file: BinaryIO, limits: SubmissionLimits) -> None:
        super().__init__(file)
        self.limits = limits

    def read(self, size: int | None = -1) -> bytes:
        """Return that many bytes, or as many as there are.

        Raises:
            OverLimit: nothing more may be read.
        """
        self.limits.spend()
        data = super().read(size)
        self.limits.spend(len(data))
        return data


def reason(error: Exception) -> str:
    """Return why a file could not be read, as the rest of a sentence.

    Any error is expected: a forged zip fails in as many ways as its numbers can be misread.
    """
    if isinstance(error, Unreadable):
        return str(error)
    return f"cannot be read: {error.strerror}" if is_of_this_machine(error) else "is damaged"


def is_of_this_machine(error: Exception) -> bool:
    """Tell whether the cause of an error is this machine, not the content of a file."""
    return isinstance(error, OSError) and bool(error.strerror) and error.errno != errno.EINVAL
