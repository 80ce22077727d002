"""To do for a class: who must act on what, the instructor first, then the students."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from course.grading.class_file.grades import (
    NOT_GRADED,
    NOT_HANDED_IN,
    Grades,
    Question,
    StudentGrade,
)
from course.grading.names import WHOSE
from course.grading.published import Published
from course.grading.reports.message import notes_for_student, times_in_words
from course.messages.wording import counted

MAX_SENTENCE = 300
"""Its characters."""


@dataclass(frozen=True)
class Said:
    """A sentence, and of whom it is said."""

    sentence: str
    students: tuple[StudentGrade, ...]


@dataclass(frozen=True)
class Task:
    """Something to act on.

    Attributes:
        title, advice: what it is, with how many it concerns, and what to do.
        said: the details, those that concern most students first.
        place: where more about it stands, as the end of an address.
    """

    title: str
    advice: str
    said: tuple[Said, ...]
    place: str


@dataclass(frozen=True)
class Answered:
    """A question of a student's, with the answers in the class's file: none, if it is open."""

    student: StudentGrade
    question: Question
    answers: list[str]


def by_sentence(said: Iterable[tuple[str, StudentGrade | None]]) -> tuple[Said, ...]:
    """Return sentences with their students, the most frequent first; nobody counts twice."""
    students: dict[str, dict[str, StudentGrade]] = defaultdict(dict)
    for sentence, student in said:
        first_line = sentence.strip().partition("\n")[0]
        short = first_line if len(first_line) <= MAX_SENTENCE else f"{first_line[:297]}..."
        own = students[short]
        if student:
            own[student.student] = student
    grouped = [Said(sentence, tuple(own.values())) for sentence, own in students.items()]
    return tuple(sorted(grouped, key=lambda one: -len(one.students)))


def questions_of(student: StudentGrade) -> list[Answered]:
    """Return what a student asks, with what was answered."""
    return [_answered(student, one) for one in student.questions]


def _answered(student: StudentGrade, question: Question) -> Answered:
    lessons = [one for one in student.lessons if one.lesson.stem == question.lesson]
    answers = [
        exercise.decision.comment
        for one in lessons
        for exercise in one.exercises
        if exercise.name == question.exercise and exercise.decision and exercise.decision.comment
    ]
    answers += [comment.text for one in lessons for comment in one.comments]
    return Answered(student, question, answers)


def for_instructor(
    grades: Grades,
    about_class: Sequence[str],
    published: Sequence[Published],
) -> list[Task]:
    """Return what the instructor has to act on.

    Args:
        about_class: notes on what no student in particular handed in.
        published: the modules that have published answers.
    """
    asked, failed, strangers, uncertain = [], [], [], []
    unknown = [(note, None) for note in about_class]
    students = {one.student: one for one in grades.students}
    found = [(str(one), students.get(one.student)) for one in published]
    for student in grades.students:
        asked += [
            (f"`{one.question.exercise}`: {one.question.text}", student)
            for one in questions_of(student)
            if not one.answers
        ]
        if grades.class_file and grades.class_file.people and not student.person:
            strangers.append(("not on the roster", student))
        for one in student.lessons:
            if one.status == NOT_GRADED:
                failed.append((one.result.trouble, student))
            if one.result:
                whose = (note for note in one.result.notes if note.startswith(WHOSE))
                unknown += [(note, student) for note in whose]
            late = one.lateness
            is_open = late.due if late.is_late is None else late.is_late and late.days is None
            if is_open and one.result and one.result.handed_in:
                uncertain.append((f"`{one.lesson.stem}.py`: {times_in_words(one)}", student))
    return _tasks(
        (asked, "question", "waiting for an answer", "answer in class.toml", "#questions"),
        (failed, "module", "not graded", "run the same command again", ""),
        (unknown, "note", "on whose work something is", "give it a name and grade again", ""),
        (strangers, "student", "not on the roster", "enter it in class.toml", ""),
        (uncertain, "module", "handed in at an uncertain time", "nothing is taken off", "#late"),
        (found, "module", "with published answers", "look at it; this is never a verdict", ""),
    )


def for_students(grades: Grades) -> list[Task]:
    """Return what students have to act on."""
    broken, missing, odd = [], [], []
    for student in grades.students:
        for one in student.lessons:
            result = one.result
            if one.status == NOT_HANDED_IN:
                missing.append((f"`{one.lesson.stem}.py`", student))
            elif result and result.key and result.trouble:
                broken.append((result.trouble, student))
            if result:
                odd += [(note, student) for note in notes_for_student(result)]
    return _tasks(
        (broken, "module", "that cannot be tested", "nothing is earned until the file loads", ""),
        (missing, "module", "not handed in", "each counts 0", ""),
        (odd, "note", "on files", "the students' pages say it, too", ""),
    )


def _tasks(*kinds: tuple[list[tuple[str, StudentGrade | None]], str, str, str, str]) -> list[Task]:
    tasks = []
    for told, noun, rest, advice, place in kinds:
        said = by_sentence(told)
        if n := sum(max(len(one.students), 1) for one in said):
            tasks.append(Task(f"{counted(n, noun)} {rest}", advice, said, place))
    return tasks
