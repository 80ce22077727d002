"""The students of a class, with their results and their points."""

from collections.abc import Iterable, Mapping, Sequence

from course.syllabus import find_lesson
from course.testing.result import LessonResult

Students = Mapping[str, Sequence[LessonResult]]
"""The results of each student in the order of the course, the students by name."""


def by_student(results: Iterable[LessonResult]) -> Students:
    """Put results, which come in any order, in order."""
    students: dict[str, list[LessonResult]] = {}
    for result in sorted(results, key=_place):
        students.setdefault(result.student, []).append(result)
    return students


def is_graded(result: LessonResult) -> bool:
    """Test that a result is one: it has no key where the grader itself could not do its work.

    A module that was not handed in, or that does not load, is graded: it earns nothing.
    """
    return result.key != ""


def points_of(results: Sequence[LessonResult]) -> tuple[int, int]:
    """Return the points earned, and what they are of; what was not graded does not count.

    Nor does a lesson beyond the course's total, where others were graded.
    """
    graded = in_total([result for result in results if is_graded(result)])
    return sum(result.points for result in graded), sum(result.worth for result in graded)


def in_total(results: Sequence[LessonResult]) -> Sequence[LessonResult]:
    """Return the results that make a total: lessons beyond the course's only where no other is."""
    return [one for one in results if not find_lesson(one.lesson).beyond] or results


def _place(result: LessonResult) -> tuple[str, str, int]:
    return result.student.casefold(), result.student, find_lesson(result.lesson).number
