"""The page that a student gets, with what the class's file chooses to show."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from course.building import reference
from course.grading.class_file.grades import (
    EXCUSED,
    NOT_DUE,
    NOT_GRADED,
    NOT_HANDED_IN,
    Grades,
    LessonGrade,
    StudentGrade,
)
from course.grading.reports.message import notes_about, trouble_of
from course.grading.reports.page import render
from course.grading.reports.to_do import questions_of
from course.messages.message import Message, message_about
from course.syllabus import Exercise, Status
from course.testing.result import ExerciseResult

_WORDS = {
    Status.PASSED: ("passed", "passed"),
    Status.WRONG: ("is not right yet", "are not right yet"),
    Status.TO_DO: ("is still to do", "are still to do"),
    Status.NOT_RUN: ("could not be tested", "could not be tested"),
}
"""What is said of one exercise, and of several, that ended so."""


@dataclass(frozen=True)
class Shown:
    """An exercise on the page.

    Attributes:
        known: what the syllabus says of it.
        result: what was judged; None if nothing was.
        message: what went wrong, if students see that.
        also: other wrong exercises with the very same message.
    """

    grade: LessonGrade
    known: Exercise
    result: ExerciseResult | None
    message: Message | None = None
    also: tuple[Exercise, ...] = ()

    @property
    def place(self) -> str:
        """Return where on the page it stands."""
        return f"{self.grade.lesson.stem}.{self.known.name}"


def feedback_page(student: StudentGrade, grades: Grades) -> str:
    """Return the page of one student, as HTML; what is for the instructor alone is not on it."""
    show = grades.feedback
    open_ones = [one for one in student.lessons if one.status not in (EXCUSED, NOT_DUE)]
    exercises = [one for lesson in open_ones for one in _exercises(lesson)]
    counts = Counter(one.result.status for one in exercises if one.result)
    wrong = _wrong(exercises, show.messages)
    to_do = [one for one in exercises if one.result and one.result.status == Status.TO_DO]
    after = show.reference_after
    solved = [
        (one, reference.solution(one))
        for lesson in student.lessons
        if after and grades.now >= after and lesson.status != NOT_DUE
        for one in lesson.lesson.exercises
    ]
    return render(
        "feedback.html",
        show=show,
        student=student,
        lessons=student.lessons,
        wrong=wrong,
        to_do=to_do,
        passed=[one for one in exercises if one.result and one.result.status == Status.PASSED],
        broken=[
            (one, trouble_of(one.result))
            for one in open_ones
            if one.result and one.result.trouble and one.status != NOT_HANDED_IN
        ],
        missing=[
            (one, trouble_of(one.result) if one.result else "")
            for one in open_ones
            if one.status == NOT_HANDED_IN
        ],
        NOT_GRADED=NOT_GRADED,
        everything_passes=counts.total() > 0 and counts[Status.PASSED] == counts.total(),
        in_words=_in_words(counts, show.points),
        next_one=next(iter((*wrong, *to_do)), None),
        notes=notes_about(student.lessons),
        questions=questions_of(student),
        solved=solved,
    )


def _exercises(grade: LessonGrade) -> list[Shown]:
    """Return the exercises of a lesson, but for those that are excused: nothing is left to do."""
    found = {one.name: one for one in grade.result.exercises} if grade.result else {}
    excused = {one.name for one in grade.exercises if one.decision and one.points is None}
    return [
        Shown(grade, one, found.get(one.name))
        for one in grade.lesson.exercises
        if one.name not in excused
    ]


def _wrong(exercises: Sequence[Shown], messages: bool) -> list[Shown]:
    """Return the wrong exercises, those with one and the same message as one."""
    groups: dict[str, list[Shown]] = {}
    for one in exercises:
        if one.result and one.result.status == Status.WRONG:
            said = one.result.first_wrong.message if messages else one.place
            groups.setdefault(said, []).append(one)
    return [
        Shown(
            first.grade,
            first.known,
            first.result,
            message_about(first.grade.result, first.result) if messages else None,
            tuple(one.known for one in others),
        )
        for first, *others in groups.values()
    ]


def _in_words(counts: Counter[str], points: bool) -> str:
    """Say how the exercises ended, kindly; without a number where points are not shown.

    >>> _in_words(Counter({"wrong": 1, "passed": 3}), True)
    'Of 4 exercises, 3 passed, 1 is not right yet.'
    >>> _in_words(Counter({"wrong": 1, "passed": 3}), False)
    'Some exercises passed, some are not right yet.'
    >>> _in_words(Counter({"not run": 2}), False)
    'No exercise could be tested.'
    """
    found = [(counts[outcome], words) for outcome, words in _WORDS.items() if counts[outcome]]
    if points:
        parts = [f"{n} {one if n == 1 else several}" for n, (one, several) in found]
        return f"Of {counts.total()} exercises, {', '.join(parts)}." if parts else ""
    if list(counts) == [Status.NOT_RUN]:
        return "No exercise could be tested."
    if len(found) == 1:
        return f"All exercises {found[0][1][1]}."
    return (
        f"Some exercises {', some '.join(several for _, (_, several) in found)}." if found else ""
    )
