"""The grader examines itself: it must give the reference all points, and the stub none.

A graded test that asks for 6 where 5 is right, or calls what does not exist, would cost a whole
class its points without a word.
"""

from course.grading.judge.unit import Unit
from course.syllabus import Status, find_lesson, stub_of
from course.testing.result import LessonResult

_NOBODY = ""
"""No student is called so."""


class Fitness:
    """What has to be judged before a class is, and what has come of it."""

    def __init__(self) -> None:
        self._open: dict[str, set[Unit]] = {}

    def units(self, lesson: str) -> tuple[Unit, ...]:
        """Return the reference and the stub of a lesson, to be judged; nothing the second time."""
        if lesson in self._open:
            return ()
        texts = find_lesson(lesson).module("solutions").read_bytes(), stub_of(lesson)
        units = tuple(Unit(_NOBODY, lesson, text) for text in texts)
        self._open[lesson] = set(units)
        return units

    def is_about(self, unit: Unit) -> bool:
        """Test that a unit is no student's."""
        return unit.student == _NOBODY

    def trouble(self, unit: Unit, result: LessonResult) -> str:
        """Take down a result; return why nobody can be graded with such tests, or nothing."""
        tests = find_lesson(unit.lesson).tests.name
        if not result.key:
            return f"nothing was graded, for the grader failed at itself: {result.trouble}"
        self._open[unit.lesson].discard(unit)
        is_stub = unit.source == stub_of(unit.lesson)
        failed = [one for one in result.exercises if (one.status == Status.PASSED) == is_stub]
        if not failed:
            return ""
        if is_stub:
            names = ", ".join(one.name for one in failed)
            return f"nothing was graded, for {tests} gives the stub the points of {names}"
        refused = [
            f"{one.name} ({', '.join(t.name for t in one.tests if t.status != Status.PASSED)})"
            if one.tests
            else f"{one.name} (which has no test)"
            for one in failed
        ]
        why = f": {result.trouble}" if result.trouble else ""
        return (
            f"nothing was graded, for {tests} refuses the reference{why} in {', '.join(refused)}; "
            "mend the tests or the reference first"
        )

    def is_shown(self, lesson: str) -> bool:
        """Test that both units of a lesson were judged as they should be."""
        return not self._open[lesson]
