"""What graded tests find in a student's code, without pytest."""

import types
from functools import cache

from course.core.syllabus import find_lesson
from course.testing.case import Case, collect
from course.testing.examine import Examination, Finding
from course.testing.executor import Executor


@cache
def cases_of(stem: str, exercise: str | None = None) -> list[Case]:
    """The graded tests of a lesson, or of one of its exercises."""
    cases = collect([find_lesson(stem).tests])
    return [one for one in cases if exercise in (None, one.exercise)]


def findings(module: types.ModuleType, cases: list[Case], source: str = "") -> list[Finding]:
    """What each test finds in a module, which has this text."""
    examination = Examination(Executor(module), source.encode())
    return [examination.run(case) for case in cases]
