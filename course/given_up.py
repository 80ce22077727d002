"""Which solutions were looked at before their exercise passed, kept in `.course/given_up.json`.

It earns nothing and costs nothing: it lets `course next` and `course show` say what helps now.
"""

import time

from course import ROOT, notes
from course.syllabus import Exercise

FILE = ROOT / ".course" / "given_up.json"


def give_up(exercise: Exercise) -> None:
    """Note that the solution of an exercise was shown today, if it was not before."""
    days = notes.load(FILE)
    if exercise.name not in days:
        notes.save(FILE, days | {exercise.name: time.strftime("%Y-%m-%d")})


def when_given_up(exercise: Exercise) -> str | None:
    """The day on which its solution was shown, as in 2026-09-30; None if it was not."""
    day = notes.load(FILE).get(exercise.name)
    return day if isinstance(day, str) else None
