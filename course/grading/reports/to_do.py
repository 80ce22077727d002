"""To do for a class: who must act on what, the instructor first, then the students."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from course.grading.grades import Grades, LessonStatus, StudentGrade
from course.testing.messages.wording import counted

MAX_SENTENCE = 300
"""The characters of a sentence."""


@dataclass(frozen=True)
class Task:
    """Something to act on.

    Attributes:
        title, advice: what it is, with how many it concerns, and what to do.
        sentences: the details, each with its students, those about most students first.
    """

    title: str
    advice: str
    sentences: Sequence[tuple[str, Collection[StudentGrade]]]


def tasks_of(
    grades: Grades, about_class: Sequence[str], published: Sequence[tuple[str, str]]
) -> dict[str, list[Task]]:
    """Return what the instructor has to act on, and what students have to.

    Args:
        about_class: notes on what no student in particular handed in.
        published: students whose modules have published answers, each with a sentence.
    """
    found: dict[str, list[tuple[str, StudentGrade | None]]] = defaultdict(list)
    found["unclear"] = [(note, None) for note in about_class]
    for student in grades.students:
        for one in student.lessons:
            if one.status == LessonStatus.NOT_HANDED_IN:
                found["missing"].append((f"`{one.lesson.stem}.py`", student))
            elif one.status == LessonStatus.NOT_GRADED:
                found["failed"].append((one.result.trouble, student))
            elif one.result.trouble:
                found["broken"].append((one.result.trouble, student))
        for note in student.notes:
            found["odd" if note in student.own_notes else "unclear"].append((note, student))
    students = {one.student: one for one in grades.students}
    found["published"] = [(sentence, students.get(student)) for student, sentence in published]
    return {
        who: [
            Task(f"{counted(len(found[key]), noun)} {rest}", advice, _by_sentence(found[key]))
            for key, (noun, rest, advice) in kinds.items()
            if found[key]
        ]
        for who, kinds in _KINDS.items()
    }


_KINDS = {
    "You": {
        "failed": ("module", "not graded", "fix what is named here and run the same command again"),
        "unclear": ("note", "on unclear owners", "put the student's name on it and grade again"),
        "published": ("module", "with published answers", "take a look; this proves nothing"),
    },
    "Students": {
        "broken": ("module", "that cannot be tested", "no points until the file loads"),
        "missing": ("module", "not handed in", "each counts 0"),
        "odd": ("note", "on files", "these are also on the students' pages"),
    },
}


def _by_sentence(
    pairs: Iterable[tuple[str, StudentGrade | None]],
) -> list[tuple[str, Collection[StudentGrade]]]:
    """Return sentences with their students, the most frequent first; nobody counts twice."""
    students: dict[str, dict[str, StudentGrade]] = defaultdict(dict)
    for sentence, student in pairs:
        first_line = sentence.strip().partition("\n")[0]
        short = first_line if len(first_line) <= MAX_SENTENCE else f"{first_line[:297]}..."
        own = students[short]
        if student:
            own[student.student] = student
    grouped = [(text, list(own.values())) for text, own in students.items()]
    return sorted(grouped, key=lambda one: -len(one[1]))
