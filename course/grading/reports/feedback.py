"""The page that a student gets."""

from collections import Counter
from collections.abc import Sequence

from course.grading.reports.classroom import points_of
from course.grading.reports.message import notes_about
from course.grading.reports.page import render
from course.syllabus import Status
from course.testing.result import LessonResult

_WORDS = {
    Status.PASSED: ("passed", "passed"),
    Status.WRONG: ("is not right yet", "are not right yet"),
    Status.TO_DO: ("is still to do", "are still to do"),
    Status.NOT_RUN: ("could not be tested", "could not be tested"),
}
"""What is said of one exercise, and of several, that ended so."""


def feedback_page(student: str, results: Sequence[LessonResult]) -> str:
    """Return the page of one student, as HTML; what is for the instructor alone is not on it."""
    exercises = [(result.lesson, one) for result in results for one in result.exercises]
    points, worth = points_of(results)
    counts = Counter(exercise.status for _, exercise in exercises)
    return render(
        "feedback.html",
        student=student,
        results=results,
        notes=notes_about(results),
        points=points,
        worth=worth,
        everything_passes=counts[Status.PASSED] == len(exercises),
        in_numbers=_in_numbers(counts),
        next_one=_next(exercises),
    )


def _in_numbers(counts: Counter[str]) -> str:
    """Say how the exercises ended, kindly.

    >>> _in_numbers(Counter({"wrong": 1, "passed": 3}))
    'Of 4 exercises, 3 passed, 1 is not right yet.'
    """
    parts = [
        f"{counts[outcome]} {one if counts[outcome] == 1 else several}"
        for outcome, (one, several) in _WORDS.items()
        if counts[outcome]
    ]
    return f"Of {counts.total()} exercises, {', '.join(parts)}."


def _next(exercises: Sequence) -> tuple | None:
    """Return what to do next, with its lesson: the first wrong exercise, else the first to do."""
    return next(
        (
            one
            for outcome in (Status.WRONG, Status.TO_DO)
            for one in exercises
            if one[1].status == outcome
        ),
        None,
    )
