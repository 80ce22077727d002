"""Misconceptions of a class: by how many students, each with an example that names nobody."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from course.grading.class_file.grades import Grades, StudentGrade
from course.messages.message import message_about
from course.syllabus import Exercise, Lesson, Status
from course.testing.result import ExerciseResult, LessonResult

MAX_EXAMPLES = 25
"""Of so many students one is looked for that is short and names nobody."""
MAX_LENGTH = 600
"""The characters of an example."""


@dataclass(frozen=True)
class Misconception:
    """A mistake that students made in an exercise.

    Attributes:
        says, look: the known mistake and where to look; empty if no known one explains it.
        test: the test that shows it, in words.
        sentence, details: what one of them was told: the call, what it gave and should have given.
    """

    lesson: Lesson
    exercise: Exercise
    students: tuple[StudentGrade, ...]
    says: str
    look: str
    test: str
    sentence: str
    details: str


def misconceptions(grades: Grades) -> list[Misconception]:
    """Return all, the most frequent first: by known mistake, else by the test that fails."""
    found: dict[tuple, list[tuple[StudentGrade, LessonResult, ExerciseResult]]] = {}
    lessons = {}
    for student in grades.students:
        for grade in student.lessons:
            if grade.result is None:
                continue
            for one in grade.result.exercises:
                if one.status == Status.WRONG:
                    test = "" if one.says else one.first_wrong.name.partition("[")[0]
                    key = grade.lesson.stem, one.name, one.says, test
                    found.setdefault(key, []).append((student, grade.result, one))
                    lessons[grade.lesson.stem] = grade.lesson
    names = _names(grades)
    known = [
        _misconception(lessons[stem], name, own, names)
        for (stem, name, *_), own in found.items()
        if name in {one.name for one in lessons[stem].exercises}
    ]
    return sorted(known, key=lambda one: (-len(one.students), one.lesson.number))


def _misconception(
    lesson: Lesson,
    exercise: str,
    own: Sequence[tuple[StudentGrade, LessonResult, ExerciseResult]],
    names: frozenset[str],
) -> Misconception:
    told = [message_about(result, one) for _, result, one in own[:MAX_EXAMPLES]]
    first = told[0]
    examples = [
        (one.sentence, one.details)
        for one in told
        if not names & _words(f"{one.sentence} {one.details}")
    ]
    short = [one for one in examples if len(one[0]) + len(one[1]) <= MAX_LENGTH]
    sentence, details = min(short, key=lambda one: (not one[1], len(one[1])), default=("", ""))
    return Misconception(
        lesson=lesson,
        exercise=lesson.exercise(exercise),
        students=tuple(student for student, _, _ in own),
        says=own[0][2].says,
        look=own[0][2].look,
        test=first.test,
        sentence=sentence,
        details=details,
    )


def _names(grades: Grades) -> frozenset[str]:
    """Return the words by which a text could name a student of the class."""
    n_students: Counter[str] = Counter()
    for one in grades.students:
        texts = [one.student]
        if person := one.person:
            texts += [person.name, person.id, person.email.partition("@")[0], person.login]
            texts += [person.github, person.folder, person.canvas]
        n_students.update(_words(" ".join(texts)))
    # an initial or a small number is in every message; "student" in "student 7" names nobody
    return frozenset(
        word
        for word, n in n_students.items()
        if (len(word) > 2 or not word.isascii()) and not 2 < len(grades.students) < 2 * n
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))
