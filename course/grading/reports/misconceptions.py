"""Misconceptions of a class: by how many students, each with an example.

They can be shown to the class: no word of an example comes from a student.
"""

import builtins
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from course.core.syllabus import Exercise, Lesson
from course.grading.grades import Grades, LessonGrade, StudentGrade
from course.testing.messages.message import message_about
from course.testing.result import ExerciseResult
from course.testing.show import CALLED, GOT, WANT

MAX_EXAMPLES = 25
"""Of so many students the shortest example is taken."""
MAX_LENGTH = 600
"""The characters of an example."""
_LINES = re.compile(rf"^(?:{CALLED}|{GOT}|{WANT}) .*(?:\n +.*)*", re.MULTILINE)
_WORD = re.compile(r"\b[^\W\d]\w*")
_Seen = tuple[StudentGrade, LessonGrade, ExerciseResult]
"""An exercise of a student that is wrong."""


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
    found: dict[tuple, list[_Seen]] = defaultdict(list)
    for student in grades.students:
        for grade in student.lessons:
            for one in grade.result.exercises:
                if one.first_wrong:
                    test = one.first_wrong.name.partition("[")[0]
                    mistake = one.says or (test, _kind(one))
                    found[grade.lesson, one.name, mistake].append((student, grade, one))
    return sorted(
        map(_misconception, found.values()),
        key=lambda one: (-len(one.students), one.lesson.number),
    )


def _misconception(own: Sequence[_Seen]) -> Misconception:
    _, grade, first = own[0]
    messages = [message_about(grade.result, one) for _, grade, one in own[:MAX_EXAMPLES]]
    examples = [_example(one.details, grade.lesson) for one in messages]
    return Misconception(
        lesson=grade.lesson,
        exercise=grade.lesson.exercise(first.name),
        students=tuple(student for student, _, _ in own),
        says=first.says,
        look=first.look,
        test=messages[0].test,
        kind=_kind(first),
        example=min(filter(None, examples), key=len, default=""),
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
        for name in (f"{GOT} ", f"{WANT} ")
    )
    is_short = len(text) <= MAX_LENGTH and f"\n{GOT} " in text
    has_quotes = any(quote in text for quote in "\"'“")
    is_ours = _words(lesson).issuperset(_WORD.findall(text))
    return text if is_short and is_ours and not has_quotes and got != want else ""


@cache
def _words(lesson: Lesson) -> frozenset[str]:
    values = "a an empty tensor of on the meta device nan inf float32 float64 int64"
    ours = f"{CALLED} {GOT} {WANT} {values} {lesson.tests.read_text(encoding='utf-8')}"
    return frozenset(_WORD.findall(ours))
