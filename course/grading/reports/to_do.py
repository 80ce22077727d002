"""To do for a class: who must act on what, the instructor first, then the students."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from course.grading.grades import Grades, LessonStatus, StudentGrade
from course.grading.published import Published
from course.testing.messages.wording import counted

MAX_SENTENCE = 300
"""The characters of a sentence."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, and the students whom it is about."""

    text: str
    students: tuple[StudentGrade, ...]


@dataclass(frozen=True)
class Advice:
    """Something to act on.

    Attributes:
        title, advice: what it is, with how many it concerns, and what to do.
        sentences: the details, those about most students first.
    """

    title: str
    advice: str
    sentences: tuple[Sentence, ...]


def _by_sentence(pairs: Iterable[tuple[str, StudentGrade | None]]) -> tuple[Sentence, ...]:
    """Return sentences with their students, the most frequent first; nobody counts twice."""
    students: dict[str, dict[str, StudentGrade]] = defaultdict(dict)
    for sentence, student in pairs:
        first_line = sentence.strip().partition("\n")[0]
        short = first_line if len(first_line) <= MAX_SENTENCE else f"{first_line[:297]}..."
        own = students[short]
        if student:
            own[student.student] = student
    grouped = [Sentence(text, tuple(own.values())) for text, own in students.items()]
    return tuple(sorted(grouped, key=lambda one: -len(one.students)))


def for_instructor(
    grades: Grades, about_class: Sequence[str], published: Sequence[Published]
) -> list[Advice]:
    """Return what the instructor has to act on.

    Args:
        about_class: notes on what no student in particular handed in.
        published: the modules that have published answers.
    """
    failed = [
        (one.result.trouble, student)
        for student in grades.students
        for one in student.lessons
        if one.status == LessonStatus.NOT_GRADED
    ]
    unknown = [(note, None) for note in about_class]
    students = {one.student: one for one in grades.students}
    found = [(str(one), students.get(one.student)) for one in published]
    for student in grades.students:
        unknown += [(note, student) for note in student.notes if note not in student.own_notes]
    return _tasks(
        (failed, "module", "not graded", "fix what is named here and run the same command again"),
        (unknown, "note", "on unclear owners", "put the student's name on it and grade again"),
        (found, "module", "with published answers", "take a look; this proves nothing"),
    )


def for_students(grades: Grades) -> list[Advice]:
    """Return what students have to act on."""
    broken, missing, odd = [], [], []
    for student in grades.students:
        for one in student.lessons:
            if one.status == LessonStatus.NOT_HANDED_IN:
                missing.append((f"`{one.lesson.stem}.py`", student))
            elif one.status == LessonStatus.GRADED and one.result.trouble:
                broken.append((one.result.trouble, student))
        odd += [(note, student) for note in student.own_notes]
    return _tasks(
        (broken, "module", "that cannot be tested", "no points until the file loads"),
        (missing, "module", "not handed in", "each counts 0"),
        (odd, "note", "on files", "these are also on the students' pages"),
    )


def _tasks(*kinds: tuple[list[tuple[str, StudentGrade | None]], str, str, str]) -> list[Advice]:
    return [
        Advice(f"{counted(len(pairs), noun)} {rest}", advice, _by_sentence(pairs))
        for pairs, noun, rest, advice in kinds
        if pairs
    ]
