"""Compare two runs: who gains or loses points, and why, to be read before grades are published."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from course.core.syllabus import Status
from course.grading.judge.unit import GradedResult
from course.grading.reports.tables import as_csv
from course.testing.result import ExerciseResult

_GONE = "Nothing was handed in this time."


@dataclass(frozen=True)
class Change:
    """An exercise of a student that earns other points than before.

    Attributes:
        before, after: the points, or nothing where there was no result, or it was not graded.
        why: in a sentence.
    """

    student: str
    lesson: str
    exercise: str
    before: int | str
    after: int | str
    why: str


def changes(
    old: Iterable[GradedResult], new: Iterable[GradedResult], lessons: Collection[str]
) -> list[Change]:
    """Return what changed, by student and lesson.

    Args:
        lessons: the stems of the lessons to compare.
    """
    known = {(result.student, result.lesson): result for result in old}
    found = []
    for result in new:
        before = known.pop((result.student, result.lesson), None)
        exercises = {one.name: one for one in before.exercises} if before else {}
        for now in result.exercises:
            was = exercises.get(now.name)
            earned = was.points if was and before.key else ""
            earns = now.points if result.key else ""
            is_new = bool(before and before.key and not was)
            if earned != earns and (earned or earns != 0 or is_new):
                why = _why(before, was, result, now)
                found.append(Change(result.student, result.lesson, now.name, earned, earns, why))
    for gone in known.values():
        if gone.key and gone.handed_in and gone.lesson in lessons:
            found += [
                Change(gone.student, gone.lesson, was.name, was.points, "", _GONE)
                for was in gone.exercises
            ]
    return sorted(found, key=lambda one: (one.student.casefold(), one.student))


def _why(
    before: GradedResult | None,
    was: ExerciseResult | None,
    result: GradedResult,
    now: ExerciseResult,
) -> str:
    if before is None:
        return "There was no result."
    if not before.key:
        return f"It had not been graded: {_first_line(before.trouble)}"
    if not result.key:
        return f"It was not graded: {_first_line(result.trouble)}"
    if not result.handed_in:
        return _GONE
    if not before.handed_in:
        return "The student had not handed it in before."
    if before.module != result.module:
        return "The student handed in another module."
    if was is None:
        return "The exercise is new."
    if now.status == was.status:
        return f"The same module is {now.status} as before: the exercise has other points."
    if now.status == Status.PASSED:
        refused = [test.name for test in was.tests if test.status == Status.WRONG]
        return f"The same module now passes: {', '.join(refused) or was.status}."
    if now.first_wrong is None:
        return f"The same module is now {now.status}. {_first_line(result.trouble)}".strip()
    said = _first_line(now.first_wrong.message)
    return f"The same module now fails {now.first_wrong.name}: {said}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def changes_csv(found: Iterable[Change]) -> str:
    """Return a row for each change."""
    header = ["student", "lesson", "exercise", "before", "after", "why"]
    rows = (
        [one.student, one.lesson, one.exercise, one.before, one.after, one.why] for one in found
    )
    return as_csv([header, *rows])
