"""Reading a folder that a student filled: its own regular files, never what a link leads to."""

import errno
import os
import stat
from pathlib import Path
from types import TracebackType

from course.grading.submissions.hard_links import names_within

MAX_FILES = 500
"""Of a folder, that are looked at for other names of a file."""

_NEVER_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """Why a file is not read, in a sentence."""


class Folder:
    """A folder, to be used in a `with` block.

    It is opened once and its files are opened from there, so that nobody can put another in its
    place meanwhile.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._handle = -1

    def __enter__(self) -> "Folder":
        try:
            self._handle = os.open(self._path, _NEVER_FOLLOW | os.O_DIRECTORY)
        except OSError as error:
            raise Unreadable(_sentence(self._path.name, error)) from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def names(self) -> list[str]:
        """What lies in the folder, files or not."""
        return sorted(os.listdir(self._handle))

    def _is_own(self, status: os.stat_result) -> bool:
        """Whether all names of a file lie in this folder.

        Its owner has to be the folder's: who renames a file of another's while its names are
        counted could have it counted twice.
        """
        is_owners = status.st_uid == os.fstat(self._handle).st_uid
        names = names_within(Path(f"/proc/self/fd/{self._handle}"), MAX_FILES)
        return is_owners and names[status.st_dev, status.st_ino] == status.st_nlink

    def read(self, name: str, at_most: int) -> bytes:
        """What a file holds.

        Raises:
            Unreadable: there is no such file, it is a link, no file, or has more bytes.
        """
        try:
            handle = os.open(name, _NEVER_FOLLOW, dir_fd=self._handle)
            try:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    raise Unreadable(f"{name} is not a file.")
                if status.st_nlink > 1 and not self._is_own(status):
                    raise Unreadable(f"{name} is a link to another place, so it was not read.")
                with os.fdopen(handle, "rb", closefd=False) as file:
                    data = file.read(at_most + 1)
            finally:
                os.close(handle)
        except OSError as error:
            raise Unreadable(_sentence(name, error)) from None
        if len(data) > at_most:
            raise Unreadable(f"{name} is larger than {at_most >> 20} MB, so it was not read.")
        return data


def _sentence(name: str, error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return f"{name} was not handed in."
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return f"{name} is a link to another place, so it was not read."
    return f"{name} cannot be read: {error.strerror}."
