"""Misconceptions of a class: by how many students, each with an example.

They can be shown to the class: no word of an example comes from a student.
"""

import builtins
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from course.core.syllabus import Exercise, Lesson
from course.grading.grades import Grades, StudentGrade
from course.grading.judge.unit import GradedResult
from course.testing.messages.message import message_about
from course.testing.result import ExerciseResult

MAX_EXAMPLES = 25
"""Of so many students the shortest example is taken."""
MAX_LENGTH = 600
"""The characters of an example."""
_LINES = re.compile(r"^(?:called|got|want) .*(?:\n +.*)*", re.MULTILINE)
_WORD = re.compile(r"\b[^\W\d]\w*")


@dataclass(frozen=True)
class Misconception:
    """A mistake that students made in an exercise.

    Attributes:
        says, look: the known mistake and where to look; empty if no known one explains it.
        test: the test that shows it, in words.
        kind: "took too long", "called sys.exit", or the name of a built-in exception; or nothing.
        example: a call, what it returned and what it should return, if these look different.
    """

    lesson: Lesson
    exercise: Exercise
    students: tuple[StudentGrade, ...]
    says: str
    look: str
    test: str
    kind: str
    example: str


def misconceptions(grades: Grades) -> list[Misconception]:
    """Return all, the most frequent first: by known mistake, else by the test that fails."""
    found: dict[tuple, list[tuple[StudentGrade, GradedResult, ExerciseResult]]] = {}
    lessons = {}
    for student in grades.students:
        for grade in student.lessons:
            for one in grade.result.exercises:
                if one.first_wrong:
                    test, kind = one.first_wrong.name.partition("[")[0], _kind(one)
                    key = grade.lesson.stem, one.name, one.says or (test, kind)
                    found.setdefault(key, []).append((student, grade.result, one))
                    lessons[grade.lesson.stem] = grade.lesson
    known = [
        _misconception(lessons[stem], name, own)
        for (stem, name, *_), own in found.items()
        if name in {one.name for one in lessons[stem].exercises}
    ]
    return sorted(known, key=lambda one: (-len(one.students), one.lesson.number))


def _misconception(
    lesson: Lesson, exercise: str, own: Sequence[tuple[StudentGrade, GradedResult, ExerciseResult]]
) -> Misconception:
    messages = [message_about(result, one) for _, result, one in own[:MAX_EXAMPLES]]
    examples = list(filter(None, (_example(one.details, lesson) for one in messages)))
    return Misconception(
        lesson=lesson,
        exercise=lesson.exercise(exercise),
        students=tuple(student for student, _, _ in own),
        says=own[0][2].says,
        look=own[0][2].look,
        test=messages[0].test,
        kind=_kind(own[0][2]),
        example=min(examples, key=len, default=""),
    )


def _kind(exercise: ExerciseResult) -> str:
    """Return how a test ended without a result; no name that a student gave an exception."""
    message = exercise.first_wrong.message.partition("\n")[0]
    if "did not come to an end" in message:
        return "took too long"
    if "called sys.exit" in message:
        return "called sys.exit"
    raised = re.match(r"[\w.]+ raised (\w+)", message)
    return raised[1] if raised and raised[1] in vars(builtins) else ""


def _example(details: str, lesson: Lesson) -> str:
    """Return the call and both values of a message; nothing if a student may have written a word.

    Numbers, and words that are in the lesson's tests or name a tensor, are not a student's.
    """
    parts = [match[0] for match in _LINES.finditer(details)]
    text = "\n".join(parts)
    got, want = (
        {one.partition(" ")[2].strip() for one in parts if one.startswith(name)}
        for name in ("got ", "want ")
    )
    is_short = len(text) <= MAX_LENGTH and "\ngot " in text
    has_quotes = any(quote in text for quote in "\"'“")
    is_ours = _words(lesson).issuperset(_WORD.findall(text))
    return text if is_short and is_ours and not has_quotes and got != want else ""


@cache
def _words(lesson: Lesson) -> frozenset[str]:
    ours = "called got want a an empty tensor of on the meta device nan inf float32 float64 int64"
    return frozenset(_WORD.findall(f"{ours} {lesson.tests.read_text(encoding='utf-8')}"))
