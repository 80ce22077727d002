"""To do for a class: who must act on what, the instructor first, then the students."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from course.grading.class_file.grades import (
    NOT_GRADED,
    NOT_HANDED_IN,
    Grades,
    LessonGrade,
    Question,
    StudentGrade,
)
from course.grading.names import WHOSE
from course.grading.reports.message import late_note, lateness_in_words, notes_for_student
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
        title: what it is, with how many it concerns.
        advice: what to do.
        said: the details, those that concern most students first.
        place: where more about it stands, as the end of an address.
    """

    title: str
    advice: str
    said: tuple[Said, ...] = ()
    place: str = ""


@dataclass(frozen=True)
class Answered:
    """A question of a student's, with the answers that the class's file has: none, if it is open.

    Attributes:
        answers: as the student may read them.
        reasons: of decisions, for the instructor alone.
    """

    student: StudentGrade
    question: Question
    answers: tuple[str, ...]
    reasons: tuple[str, ...]


def by_sentence(said: Iterable[tuple[str, StudentGrade]]) -> tuple[Said, ...]:
    """Return sentences with their students, the most frequent first; nobody counts twice."""
    students: dict[str, dict[str, StudentGrade]] = defaultdict(dict)
    for sentence, student in said:
        first_line = sentence.strip().partition("\n")[0]
        short = first_line if len(first_line) <= MAX_SENTENCE else f"{first_line[:297]}..."
        students[short][student.student] = student
    grouped = [Said(sentence, tuple(own.values())) for sentence, own in students.items()]
    return tuple(sorted(grouped, key=lambda one: -len(one.students)))


def questions_of(student: StudentGrade) -> list[Answered]:
    """Return what a student asks, with what was answered."""
    return [_answered(student, one) for one in student.questions]


def _answered(student: StudentGrade, question: Question) -> Answered:
    lessons = [one for one in student.lessons if one.lesson.stem == question.lesson]
    decisions = [
        exercise.decision
        for one in lessons
        for exercise in one.exercises
        if exercise.decision and exercise.name == question.exercise
    ]
    answers = [one.comment or "The points were decided anew." for one in decisions]
    answers += [comment.text for one in lessons for comment in one.comments]
    reasons = tuple(one.reason for one in decisions if one.reason)
    return Answered(student, question, tuple(answers), reasons)


def for_instructor(
    grades: Grades,
    about_class: Sequence[str],
    to_look_at: Sequence[tuple[str, StudentGrade]],
) -> list[Task]:
    """Return what the instructor has to act on.

    Args:
        about_class: notes on what no student in particular handed in.
        to_look_at: what resembles something else or may be concealed, in sentences.
    """
    asked = [one for student in grades.students for one in questions_of(student)]
    questions = [
        (f"`{one.question.exercise}`: {one.question.text}", one.student)
        for one in asked
        if not one.answers
    ]
    failed = [(one.result.trouble, student) for student, one in _each(grades, NOT_GRADED)]
    unknown = [
        (note, student)
        for student, one in _each(grades)
        if one.result
        for note in one.result.notes
        if note.startswith(WHOSE)
    ]
    has_roster = bool(grades.class_file and grades.class_file.people)
    strangers = [("not on the roster", one) for one in grades.students if not one.person]
    when = [
        (f"`{one.lesson.stem}.py`: {lateness_in_words(one.lateness)}", student)
        for student, one in _each(grades)
        if one.result and one.result.handed_in
        if (one.lateness.due and one.lateness.is_late is None)
        or (one.lateness.is_late and one.lateness.days is None)
    ]
    of_class = tuple(Said(note, ()) for note in about_class)
    found = [
        _task(
            questions, "question", "waiting for an answer", "Answer in class.toml.", "#questions"
        ),
        _task(
            failed,
            "module",
            "not graded",
            "This machine could not; none counts. Run the same command again.",
        ),
        _task(
            unknown,
            "note",
            "on whose work something is",
            "Give it a name and grade again.",
            "",
            of_class,
        ),
        _task(
            strangers if has_roster else [],
            "student",
            "not on the roster",
            "Enter the name, or whose folder it is, in class.toml.",
        ),
        _task(
            when,
            "module",
            "handed in at an uncertain time",
            "Nothing is taken off; decide in class.toml.",
            "#late",
        ),
        _task(
            to_look_at,
            "module",
            "to look at by hand",
            "Alike, published or concealed; never a verdict.",
            "similar.html",
        ),
    ]
    return [one for one in found if one]


def for_students(grades: Grades) -> list[Task]:
    """Return what students have to act on."""
    broken = [
        (one.result.trouble, student)
        for student, one in _each(grades)
        if one.result and one.result.key and one.result.trouble and one.result.handed_in
    ]
    missing = [
        (f"`{one.lesson.stem}.py`", student) for student, one in _each(grades, NOT_HANDED_IN)
    ]
    odd = [
        (note, student)
        for student, one in _each(grades)
        if one.result
        for note in (*notes_for_student(one.result), *late_note(one))
    ]
    found = [
        _task(broken, "module", "that cannot be tested", "It earns nothing until its file loads."),
        _task(missing, "module", "not handed in", "It counts 0."),
        _task(odd, "note", "on files", "The student's page says it, too."),
    ]
    return [one for one in found if one]


def _task(
    told: Sequence[tuple[str, StudentGrade]],
    noun: str,
    rest: str,
    advice: str,
    place: str = "",
    more: tuple[Said, ...] = (),
) -> Task | None:
    said = by_sentence(told)
    n = len(more) + sum(len(one.students) for one in said)
    return Task(f"{counted(n, noun)} {rest}", advice, (*more, *said), place) if n else None


def _each(grades: Grades, status: str = "") -> Iterator[tuple[StudentGrade, LessonGrade]]:
    for student in grades.students:
        for one in student.lessons:
            if status in ("", one.status):
                yield student, one
