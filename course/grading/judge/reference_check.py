"""Integrity checks of the grader: the reference must earn all points, and the stub none.

A graded test that asks for 6 where 5 is right, or calls what does not exist, would cost a whole
class its points without a word.
"""

from course.core.stubs import importing_exercises, stub_of
from course.core.syllabus import Status, find_lesson
from course.grading.judge.unit import GradedResult, GradingError, Unit

NOBODY = ""
"""The student of the units that are checks."""


def check_units(lesson: str) -> list[Unit]:
    """Return the reference and the stub of a lesson, to be judged before anybody's module."""
    solution = find_lesson(lesson).solution
    texts = importing_exercises(solution).encode("utf-8"), stub_of(lesson)
    return [Unit(NOBODY, lesson, text) for text in texts]


def verify_check(unit: Unit, result: GradedResult) -> None:
    """Refuse to grade with tests that judge the reference or the stub wrongly.

    Raises:
        GradingError: the result of a check is not what it must be.
    """
    tests = find_lesson(unit.lesson).tests.name
    if not result.key:
        raise GradingError(f"nothing was graded: the grader failed its own check: {result.trouble}")
    is_stub = unit.source == stub_of(unit.lesson)
    failed = [one for one in result.exercises if (one.status == Status.PASSED) == is_stub]
    if failed and is_stub:
        names = ", ".join(one.name for one in failed)
        raise GradingError(f"nothing was graded: in {tests}, the stub earns the points of {names}")
    if failed:
        refused = [
            f"{one.name} ({', '.join(t.name for t in one.tests if t.status == Status.WRONG)})"
            if one.tests
            else f"{one.name} (which has no test)"
            for one in failed
        ]
        why = f": {result.trouble}" if result.trouble else ""
        raise GradingError(
            f"nothing was graded: the reference fails {tests}{why} in {', '.join(refused)}; fix "
            "the tests or the reference first"
        )
