"""What grading finds out: one result per submission and lesson, kept as a file of its own."""

import json
from dataclasses import dataclass
from typing import Any

NOT_HANDED_IN = "was not handed in."
"""The trouble of a lesson without a module, after the name of its file."""

WHOSE = "whose it is"
"""How a note begins that is not the student's business, but the instructor's alone."""

PASSED, WRONG, TO_DO, NOT_RUN = "passed", "wrong", "to do", "not run"
"""How a test, or an exercise, can end."""


@dataclass(frozen=True)
class TestResult:
    """How one graded test ended, and the message that its student would see."""

    name: str
    outcome: str
    message: str = ""


@dataclass(frozen=True)
class ExerciseResult:
    """One exercise of a submission.

    Attributes:
        points: what it earned, of `worth`.
        outcome: "passed" only if all its tests did.
        mistake: the short name of the known mistake that was recognized, if any,
        advice: and what a student is told of it: what the code does, and where to look.
        tests: all of them, in order.
        shown: the name of the wrong test that shows best what is wrong, if any is.
    """

    name: str
    outcome: str
    points: int
    worth: int
    mistake: str | None
    advice: str
    tests: tuple[TestResult, ...]
    shown: str = ""

    @property
    def first_wrong(self) -> TestResult | None:
        """The wrong test to show; the first, if none shows it best."""
        wrong = [test for test in self.tests if test.outcome == WRONG]
        return next((test for test in wrong if test.name == self.shown), next(iter(wrong), None))


@dataclass(frozen=True)
class LessonResult:
    """One lesson of one submission.

    Attributes:
        student, lesson: whose, and the stem of the lesson.
        key: what the result depends on: the module, its tests, and the seed, as a hash.
        exercises: all exercises of the lesson, in order.
        trouble: why the module could not be graded as it is, in a sentence; or nothing.
        notes: what is odd about all that was handed in, in sentences; alike in every lesson.
        seconds: how long it took.
        canvas_id: the student's number on Canvas, if the class came from there.
        module: what was handed in, as a hash.
        late: whether Canvas has marked it as late.
    """

    student: str
    lesson: str
    key: str
    exercises: tuple[ExerciseResult, ...]
    trouble: str
    notes: tuple[str, ...]
    seconds: float
    canvas_id: str = ""
    module: str = ""
    late: bool = False

    @property
    def handed_in(self) -> bool:
        """Whether there was a module, good or bad; what a module says of itself is no matter."""
        return self.trouble != f"{self.lesson}.py {NOT_HANDED_IN}"

    @property
    def notes_for_student(self) -> tuple[str, ...]:
        """The notes without those that are for the instructor alone."""
        return tuple(note for note in self.notes if not note.startswith(WHOSE))

    @property
    def points(self) -> int:
        """What the lesson earned."""
        return sum(exercise.points for exercise in self.exercises)

    @property
    def worth(self) -> int:
        """What it could have earned."""
        return sum(exercise.worth for exercise in self.exercises)


def to_text(result: LessonResult) -> str:
    """A result as the text of its file."""
    return json.dumps(result, default=vars) + "\n"


def from_text(text: str) -> LessonResult:
    """A result from the text of its file.

    Raises:
        ValueError: the text is none.
    """
    try:
        fields = json.loads(text)
        exercises = tuple(_exercise(one) for one in fields.pop("exercises"))
        notes = tuple(fields.pop("notes"))
        return LessonResult(**fields, exercises=exercises, notes=notes)
    except (AttributeError, KeyError, RecursionError, TypeError) as error:
        raise ValueError(f"not a result: {error}") from None


def _exercise(fields: dict[str, Any]) -> ExerciseResult:
    tests = tuple(TestResult(**test) for test in fields.pop("tests"))
    return ExerciseResult(**fields, tests=tests)
