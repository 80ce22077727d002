"""Run graded tests on a module: `run(module, cases) -> LessonResult`."""

import contextlib
import types
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from course.core.syllabus import Status, find_lesson
from course.testing.case import SECONDS_PER_TEST, Case, by_exercise
from course.testing.clock import TimeIsUp, time_limit
from course.testing.errors import location, short_path
from course.testing.examine import Examination, Finding
from course.testing.executor import Executor
from course.testing.imports import Earlier, imports_of
from course.testing.loading import DEFINITIONS, LEAST, LEFT_OUT, load_module
from course.testing.outcomes import Wrong
from course.testing.result import ExerciseResult, LessonResult, TestResult
from course.testing.source import lines_of_definitions, todo_lines_once_started


@dataclass(frozen=True)
class Module:
    """A student's file that was loaded, or could not be.

    Attributes:
        examination: runs tests on it; None if it could not be loaded.
        trouble: why it could not, in a sentence; empty if it could.
        left_out: why only its definitions were loaded, in a sentence; empty if all of it was.
        libraries: see `Imports`; its functions add to it.
        printed: what it printed while it was loaded.
        source: its text, where results say at which line an exercise is.
    """

    path: Path
    examination: Examination | None
    trouble: str = ""
    left_out: str = ""
    libraries: Collection[str] = ()
    printed: str = ""
    source: bytes = b""


def open_module(path: Path, seed: int) -> Module:
    """Load a student's file."""
    source = path.read_bytes() if path.is_file() else b""
    try:
        module = load_in_time(path)
    except Wrong as wrong:
        return Module(path, None, str(wrong), source=source)
    left_out, libraries = module.__dict__[LEFT_OUT], imports_of(module).libraries
    examination = Examination(Executor(module), source, seed)
    return Module(path, examination, "", left_out, libraries, source=source)


def load_in_time(path: Path, earlier: Earlier | None = None) -> types.ModuleType:
    """Do what `load_module` does, but stop what comes to no end.

    Raises:
        Wrong: in one sentence, why it cannot be run.
    """
    try:
        with time_limit(SECONDS_PER_TEST):
            return load_module(path, earlier)
    except TimeIsUp as error:
        left_out = (
            f"{short_path(path)} did not finish its import in {SECONDS_PER_TEST} s; "
            f"is there a loop outside of a function?\n  {location(error, path)}"
        )
    for less in (DEFINITIONS, LEAST):
        with contextlib.suppress(TimeIsUp, Wrong), time_limit(SECONDS_PER_TEST):
            module = load_module(path, earlier, less)
            module.__dict__[LEFT_OUT] = left_out
            return module
    raise Wrong(left_out)


@dataclass(frozen=True)
class Diagnosis:
    """A known mistake that explains failures.

    Attributes:
        says, look: what the code does, and where to look, in its sentences.
        explains: the names of the tests whose failure it explains.
        another: whether there may be another mistake as well.
    """

    says: str
    look: str
    explains: tuple[str, ...]
    another: bool = False


Diagnose = Callable[[Sequence[Finding]], Diagnosis | None]
"""Return what explains the findings of all tests of one exercise, if anything does."""


def run(
    module: Module,
    cases: Sequence[Case],
    diagnose: Diagnose = lambda findings: None,
    printed: Callable[[], str] = lambda: "",
    about_to_run: Callable[[Case], object] = lambda case: None,
) -> LessonResult:
    """Run all graded tests of some exercises of one lesson.

    Args:
        printed: gives what was printed since it was last asked.
        about_to_run: is told of each test before it begins.
    """
    exercises = []
    for name, own in by_exercise(cases).items():
        findings, tests = [], []
        for case in own:
            about_to_run(case)
            finding = module.examination.run(case) if module.examination else None
            findings += [finding] if finding else []
            tests.append(test_result(module, case, finding, printed()))
        result = exercise_result(module, own[0].lesson, name, tests, len(own))
        diagnosis = diagnose(findings) if result.first_wrong and findings else None
        exercises.append(with_diagnosis(result, diagnosis))
    return lesson_result(module, exercises)


def lesson_result(module: Module, exercises: Sequence[ExerciseResult]) -> LessonResult:
    """Return the result of a module with these exercises."""
    lesson, of_all, libraries = module.path.stem, tuple(exercises), tuple(sorted(module.libraries))
    return LessonResult(lesson, of_all, module.trouble, module.left_out, module.printed, libraries)


def test_result(module: Module, case: Case, finding: Finding | None, printed: str) -> TestResult:
    """Return how a test ended; there is no finding where the module could not be loaded."""
    if finding is None:
        return TestResult(case.name, Status.WRONG, module.trouble, printed)
    return TestResult(case.name, finding.status, finding.text, printed)


def exercise_result(
    module: Module, lesson: str, name: str, tests: Sequence[TestResult], n_tests: int
) -> ExerciseResult:
    """Return the result of an exercise of a file after some of its tests."""
    result = ExerciseResult(name, find_lesson(lesson).exercise(name).points, tuple(tests), n_tests)
    if not module.source:
        return result
    file = short_path(module.path)
    lines = lines_of_definitions(module.source, name)
    return replace(
        result,
        where=f"{file}:{lines[-1]}" if lines else file,
        about_file=_about_file(result, lesson, module, file, lines) if module.examination else "",
        lent=module.examination.lent_to(name) if module.examination else (),
    )


def _about_file(
    result: ExerciseResult, lesson: str, module: Module, file: str, lines: Sequence[int]
) -> str:
    """Return what the text of an exercise shows, and its tests do not tell; or nothing."""
    statuses = {test.status for test in result.tests}
    if statuses == {Status.PASSED}:
        return ""
    if len(lines) > 1:
        on = " and ".join(map(str, lines))
        return f"{file} defines {result.name} on lines {on}: Python uses only the last one"
    begun = Status.TO_DO in statuses and todo_lines_once_started(module.source, lesson, result.name)
    if begun:
        raises = "raise" if len(begun) > 1 else "raises"
        place = f"{file}:{' and '.join(map(str, begun))}"
        return f"{result.name} is still to do: {place} {raises} NotImplementedError"
    return ""


def with_diagnosis(result: ExerciseResult, diagnosis: Diagnosis | None) -> ExerciseResult:
    """Return a result with its mistake, and the test that shows it best."""
    if diagnosis is None:
        return result
    wrong = [test.name for test in result.tests if test.status == Status.WRONG]
    return replace(
        result,
        says=diagnosis.says,
        look=diagnosis.look,
        another=diagnosis.another,
        shown=min(wrong, key=lambda name: name not in diagnosis.explains),
    )
