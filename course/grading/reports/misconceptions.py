"""Misconceptions of a class: by how many students, each with an example.

They can be shown to the class: no word of an example comes from a student.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from course.grading.grades import Grades, StudentGrade
from course.grading.judge.unit import GradedResult
from course.messages.message import message_about
from course.syllabus import Exercise, Lesson
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
        example: a call, what it returned and what it should return; or nothing.
    """

    lesson: Lesson
    exercise: Exercise
    students: tuple[StudentGrade, ...]
    says: str
    look: str
    test: str
    example: str


def misconceptions(grades: Grades) -> list[Misconception]:
    """Return all, the most frequent first: by known mistake, else by the test that fails."""
    found: dict[tuple, list[tuple[StudentGrade, GradedResult, ExerciseResult]]] = {}
    lessons = {}
    for student in grades.students:
        for grade in student.lessons:
            for one in grade.result.exercises:
                if one.first_wrong:
                    test = "" if one.says else one.first_wrong.name.partition("[")[0]
                    key = grade.lesson.stem, one.name, one.says, test
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
        example=min(examples, key=len, default=""),
    )


def _example(details: str, lesson: Lesson) -> str:
    """Return the call and both values of a message; nothing if a student may have written a word.

    Numbers, and words that are in the lesson's tests or name a tensor, are not a student's.
    """
    text = "\n".join(match[0] for match in _LINES.finditer(details))
    is_short = len(text) <= MAX_LENGTH and "\ngot " in text
    has_quotes = any(quote in text for quote in "\"'“")
    is_ours = _words(lesson).issuperset(_WORD.findall(text))
    return text if is_short and is_ours and not has_quotes else ""


@cache
def _words(lesson: Lesson) -> frozenset[str]:
    ours = "called got want a an empty tensor of on the meta device nan inf float32 float64 int64"
    return frozenset(_WORD.findall(f"{ours} {lesson.tests.read_text(encoding='utf-8')}"))
