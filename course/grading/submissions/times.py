"""Times of handing in, and whose word they are."""

from dataclasses import dataclass
from datetime import datetime

OWN_WORD = ("git", "zip")
"""Who says a time that the student's own computer wrote."""


@dataclass(frozen=True)
class HandedIn:
    """When a lesson was handed in.

    Attributes:
        at: the time, with its zone; None if only late or not is known.
        says: who says so: "Moodle", "GitHub Classroom", "Canvas", "nbgrader", "git" or "zip".
        marked_late: whether a platform that gives no time has marked it as late.
    """

    at: datetime | None
    says: str
    marked_late: bool | None = None
