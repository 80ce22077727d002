"""The one result of running graded tests, and its one text form.

Every command, page, table and notebook takes a `LessonResult`; none counts for itself.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from course.core.syllabus import Status

VERSION = 8
"""Of the text form."""


@dataclass(frozen=True)
class TestResult:
    """The result of one graded test.

    Attributes:
        message: for the student, a sentence and then the details; empty if it passed.
        printed: what the student's code printed meanwhile.
    """

    __test__ = False  # which pytest would take for a test

    name: str
    status: Status
    message: str = ""
    printed: str = ""


@dataclass(frozen=True)
class ExerciseResult:
    """The result of the tests of one exercise.

    Attributes:
        worth: the points that it earns if all its tests pass.
        tests: those that ran, in order, of `n_tests`.
        says, look: the known mistake that was recognized, and where to look, if one was.
        another: whether there may be another mistake as well.
        shown: the name of the wrong test that shows best what is wrong, if any is.
        where: the file, with the line of the definition if known, as "exercises/rope.py:31".
        about_file: what the file tells about the exercise and its tests do not, in a sentence.
        lent: the exercises of which it was tested with correct versions instead of the student's.
    """

    name: str
    worth: int
    tests: tuple[TestResult, ...] = ()
    n_tests: int = 0
    says: str = ""
    look: str = ""
    another: bool = False
    shown: str = ""
    where: str = ""
    about_file: str = ""
    lent: tuple[str, ...] = ()

    @cached_property
    def status(self) -> Status:
        """Return "passed" only if all tests of the exercise ran and passed."""
        found = {test.status for test in self.tests}
        for status in (Status.WRONG, Status.TO_DO, Status.NOT_RUN):
            if status in found:
                return status
        if not self.tests:
            return Status.NOT_RUN
        return Status.PASSED if len(self.tests) == self.n_tests else Status.UNCHECKED

    @property
    def points(self) -> int:
        """Return what it earned, of `worth`."""
        return self.worth if self.status == Status.PASSED else 0

    @property
    def remark(self) -> str:
        """Return what there is to know beyond the tests: of the file, or of what was lent."""
        if self.status != Status.PASSED or not self.lent:
            return self.about_file
        return f"{self.name} was tested with a correct {listed(self.lent)} instead of yours"

    @property
    def advice(self) -> str:
        """Return what there is to say about the mistake that was recognized."""
        return f"{self.says} {self.look}".strip()

    @property
    def first_wrong(self) -> TestResult | None:
        """Return the wrong test to show; the first, if none shows it best."""
        wrong = [test for test in self.tests if test.status == Status.WRONG]
        return next((test for test in wrong if test.name == self.shown), next(iter(wrong), None))


@dataclass(frozen=True)
class LessonResult:
    """The result of the graded tests of one lesson on one module.

    Attributes:
        lesson: its stem.
        exercises: those of which tests ran, in order; when a class is graded, all.
        trouble: why the module could not be loaded, or graded, in a sentence; or nothing.
        left_out: why only the module's definitions were loaded, in a sentence; or nothing.
        printed: what the module printed when it was loaded.
        libraries: what it imported beyond the standard library, PyTorch and NumPy, if known.
    """

    lesson: str
    exercises: tuple[ExerciseResult, ...] = ()
    trouble: str = ""
    left_out: str = ""
    printed: str = ""
    libraries: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """Return what there is to know of how the module was loaded, in a sentence."""
        if self.libraries and not self.left_out:
            what = "may be missing where this is graded; PyTorch is all that an exercise needs"
            return f"{listed(self.libraries)} {what}"
        if not self.left_out:
            return ""
        why, _, place = self.left_out.partition("\n")
        line = f" ({' '.join(place.split())})" if place.strip() else ""
        return f"{why}{line}. So only what it defines was loaded, and is graded"

    @property
    def remarks(self) -> list[str]:
        """Return that, and what the file tells about exercises that earned nothing."""
        return [one for one in (self.remark, *(one.about_file for one in self.exercises)) if one]

    @property
    def points(self) -> int:
        """Return what the lesson earned."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def worth(self) -> int:
        """Return what it could have earned."""
        return sum(exercise.worth for exercise in self.exercises)

    @property
    def statuses(self) -> dict[str, Status]:
        """Return the status of each exercise, by name."""
        return {exercise.name: exercise.status for exercise in self.exercises}


def merge_results(parts: Iterable[LessonResult]) -> list[LessonResult]:
    """Return one result for each lesson, of results that hold some of its tests each."""
    whole: dict[str, LessonResult] = {}
    for part in parts:
        known = whole.setdefault(part.lesson, replace(part, exercises=()))
        exercises = {one.name: one for one in known.exercises}
        for one in part.exercises:
            before = exercises.get(one.name, replace(one, tests=()))
            tests, about = (*before.tests, *one.tests), before.about_file or one.about_file
            exercises[one.name] = replace(before, tests=tests, about_file=about, lent=one.lent)
        whole[part.lesson] = replace(known, exercises=tuple(exercises.values()))
    return list(whole.values())


def to_text(result: LessonResult) -> str:
    """Return a result as one line of text; what is empty is left out."""
    return json.dumps({"version": VERSION, **_fields(result)}) + "\n"


def from_text(text: str, kind: type[LessonResult] = LessonResult) -> LessonResult:
    """Return the result of a text, which was one of this kind.

    Raises:
        ValueError: the text is none of this version.
    """
    try:
        fields = json.loads(text)
        if fields.pop("version") != VERSION:
            raise ValueError("a result of another version")
        exercises = tuple(_exercise(one) for one in fields.pop("exercises", ()))
        lists = {name: tuple(one) for name, one in fields.items() if isinstance(one, list)}
        return kind(**fields | lists, exercises=exercises)
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"not a result: {error}") from None


_EMPTY = ("", (), False)


def _fields(value: Any) -> Any:
    if isinstance(value, LessonResult | ExerciseResult | TestResult):
        named = ((one.name, getattr(value, one.name)) for one in fields(value))
        return {name: _fields(one) for name, one in named if one not in _EMPTY}
    return [_fields(one) for one in value] if isinstance(value, tuple) else value


def _exercise(fields: dict[str, Any]) -> ExerciseResult:
    tests = tuple(
        TestResult(**test | {"status": Status(test["status"])}) for test in fields.pop("tests", ())
    )
    lent = tuple(fields.pop("lent", ()))
    return ExerciseResult(**fields, tests=tests, lent=lent)


def listed(names: Sequence[str]) -> str:
    """Return names as one says them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
