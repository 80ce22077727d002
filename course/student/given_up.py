"""Which solutions were looked at before their exercise passed, kept in `.course/given_up.json`.

It earns nothing and costs nothing: it lets `course next` and `course show` say what helps now.
"""

import time

from course.student import notes
from course.syllabus import Exercise

_NOTES = "given_up"


def give_up(exercise: Exercise) -> None:
    """Note that the solution of an exercise was shown today, if it was not before."""
    days = notes.load(_NOTES)
    if exercise.name not in days:
        notes.save(_NOTES, days | {exercise.name: time.strftime("%Y-%m-%d")})


def when_given_up(exercise: Exercise) -> str | None:
    """The day on which its solution was shown, as in 2026-09-30; None if it was not."""
    day = notes.load(_NOTES).get(exercise.name)
    return day if isinstance(day, str) else None
