"""The page that a student gets."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from course.core.syllabus import Exercise, Status
from course.grading.grades import LessonGrade, LessonStatus, StudentGrade
from course.grading.reports.page import render
from course.testing.messages.message import Message, message_about
from course.testing.messages.wording import STATUS_WORDS
from course.testing.result import ExerciseResult


@dataclass(frozen=True)
class ExerciseOnPage:
    """An exercise on the page.

    Attributes:
        known: its entry in the syllabus.
        message: what is wrong with it, if it is wrong.
        also: other wrong exercises with the very same message.
    """

    grade: LessonGrade
    known: Exercise
    result: ExerciseResult
    message: Message | None = None
    also: tuple[Exercise, ...] = ()

    @property
    def anchor(self) -> str:
        """Return the id of its part of the page."""
        return f"{self.grade.lesson.stem}.{self.known.name}"


def feedback_page(student: StudentGrade) -> str:
    """Return the page of one student, as HTML, without what is for the instructor alone."""
    exercises = [one for grade in student.lessons for one in _exercises(grade)]
    by_status = {
        status: [one for one in exercises if one.result.status == status] for status in Status
    }
    wrong = _wrong(by_status[Status.WRONG])
    missing = [one for one in student.lessons if one.status == LessonStatus.NOT_HANDED_IN]
    return render(
        "feedback.html",
        student=student,
        wrong=wrong,
        to_do=by_status[Status.TO_DO],
        passed=by_status[Status.PASSED],
        broken=[one for one in student.lessons if one.result.trouble and one not in missing],
        missing=missing,
        LessonStatus=LessonStatus,
        in_words=_in_words(Counter({status: len(own) for status, own in by_status.items()})),
        next_one=next(iter((*wrong, *by_status[Status.TO_DO])), None),
    )


def _exercises(grade: LessonGrade) -> list[ExerciseOnPage]:
    return [
        ExerciseOnPage(grade, grade.lesson.exercise(one.name), one)
        for one in grade.result.exercises
    ]


def _wrong(exercises: Sequence[ExerciseOnPage]) -> list[ExerciseOnPage]:
    """Return wrong exercises with their messages; those with one and the same message as one."""
    groups: dict[str, list[ExerciseOnPage]] = {}
    for one in exercises:
        groups.setdefault(one.result.first_wrong.message, []).append(one)
    return [
        ExerciseOnPage(
            first.grade,
            first.known,
            first.result,
            message_about(first.grade.result, first.result),
            tuple(one.known for one in others),
        )
        for first, *others in groups.values()
    ]


def _in_words(counts: Counter[Status]) -> str:
    """Return how the exercises ended, in a sentence.

    >>> _in_words(Counter({Status.WRONG: 1, Status.PASSED: 3}))
    'Of 4 exercises, 3 passed, 1 is not right yet.'
    """
    parts = [
        f"{counts[status]} {words.one if counts[status] == 1 else words.several}"
        for status, words in STATUS_WORDS.items()
        if counts[status]
    ]
    return f"Of {counts.total()} exercises, {', '.join(parts)}." if parts else ""
