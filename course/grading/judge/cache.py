"""The cache of results: what was graded once is not graded again, for another student either.

A result is a file in the user's own cache folder, written whole, and its name is a hash of all that
it depends on. Nothing near the submissions is ever taken for a result.

Source: XDG Base Directory Specification.
"""

import contextlib
import os
import stat
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from course.core.files import write_atomically
from course.grading.judge.unit import GradedResult, GradingError, Unit
from course.grading.submissions.files import File, open_regular
from course.grading.submissions.limits import Unreadable
from course.testing.result import from_text, to_text

MAX_DAYS = 100
"""Older results are removed."""
MAX_RESULT_BYTES = 16 << 20
"""A hundred times what the longest result has."""


class Cache:
    """The results that this user's grader may use again.

    Raises:
        GradingError: somebody else can use the folder.
        OSError: it cannot be made.
    """

    def __init__(self) -> None:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        self._folder = (given if given.is_absolute() else Path.home() / ".cache") / "what-and-where"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = self._folder.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not is_own or status.st_mode & 0o077:
            raise GradingError(
                f"{self._folder}, the grader's cache, is not a folder of yours alone: remove it"
            )
        self._remove_old()

    def _remove_old(self) -> None:
        too_old = time.time() - MAX_DAYS * 24 * 60 * 60
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):  # another grader was faster
                if path.lstat().st_mtime < too_old:
                    path.unlink()

    def read(self, unit: Unit, key: str) -> GradedResult | None:
        """Return the result with this key, as the student's; None if there is none, or damaged."""
        try:
            result = from_text(read_text(self._file(key), MAX_RESULT_BYTES), GradedResult)
        except (OSError, ValueError):
            return None
        return replace(result, student=unit.student) if result.key == key else None

    def write(self, result: GradedResult) -> None:
        """Keep a result; without a key it is none."""
        if result.key:
            write_atomically(self._file(result.key), to_text(replace(result, student="")))

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def read_text(path: Path, at_most: int) -> str:
    """Return the text of a file; never of a link or a pipe, which may lead elsewhere or keep us.

    Raises:
        OSError, ValueError: it cannot be read, or is no regular file of at most so many bytes.
    """
    try:
        return File((path.name,), open=partial(open_regular, path)).read(at_most).decode("utf-8")
    except Unreadable as error:
        raise ValueError(f"{path} {error}") from None
