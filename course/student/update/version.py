"""A new version of the course, wherever it comes from."""

import re
from collections.abc import Callable
from dataclasses import dataclass


class UpdateError(Exception):
    """Why there is no update, in one sentence that says what to do."""


@dataclass(frozen=True)
class Version:
    """What the course is to become, and what it was.

    Attributes:
        name: where it comes from, for the report.
        files: everything in it, by path in the repository.
        programs: which of these can be run.
        base: what the student started from, as far as that is known.
        knows_base: whether `base` is complete, so that a difference is the student's edit.
        finish: what is left to do when all files are written, or None.
        moves: what that does, a sentence for the report.
    """

    name: str
    files: dict[str, bytes]
    programs: frozenset[str]
    base: dict[str, bytes]
    knows_base: bool
    finish: Callable[[], None] | None = None
    moves: str = ""


def is_students(path: str) -> bool:
    """Whether students work on a file: it is merged, never replaced.

    >>> is_students("exercises/rope.py"), is_students("course/cli/__init__.py")
    (True, False)
    """
    return bool(re.fullmatch(r"exercises/[^/]+\.py|notebooks/[^/]+\.ipynb", path))


def plain(data: bytes | None) -> bytes | None:
    """What stands in a file, whatever its line ends: a checkout may have turned them."""
    return None if data is None else data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
