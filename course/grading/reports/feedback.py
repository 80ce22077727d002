"""The page that a student gets."""

from collections import Counter
from dataclasses import dataclass

from course.core.syllabus import Exercise, Status
from course.grading.grades import LessonGrade, LessonStatus, StudentGrade
from course.grading.reports.page import render
from course.testing.messages.message import Message, message_about
from course.testing.messages.wording import STATUS_WORDS
from course.testing.result import ExerciseResult


@dataclass(frozen=True)
class ExerciseOnPage:
    """An exercise on the page, with its entry in the syllabus."""

    grade: LessonGrade
    known: Exercise
    result: ExerciseResult

    @property
    def anchor(self) -> str:
        """Return the id of its part of the page."""
        return f"{self.grade.lesson.stem}.{self.known.name}"

    @property
    def message(self) -> Message:
        """Return what is wrong with it, if it is wrong."""
        return message_about(self.grade.result, self.result)


def feedback_page(student: StudentGrade) -> str:
    """Return the page of one student, as HTML, without what is for the instructor alone."""
    by_status: dict[Status, list[ExerciseOnPage]] = {status: [] for status in Status}
    for grade in student.lessons:
        for one in grade.result.exercises:
            known = grade.lesson.exercise(one.name)
            by_status[one.status].append(ExerciseOnPage(grade, known, one))
    wrong, to_do = by_status[Status.WRONG], by_status[Status.TO_DO]
    missing = [one for one in student.lessons if one.status == LessonStatus.NOT_HANDED_IN]
    return render(
        "feedback.html",
        student=student,
        wrong=wrong,
        to_do=to_do,
        passed=by_status[Status.PASSED],
        broken=[one for one in student.lessons if one.result.trouble and one not in missing],
        missing=missing,
        LessonStatus=LessonStatus,
        in_words=_in_words(Counter({status: len(own) for status, own in by_status.items()})),
        next_one=next(iter((*wrong, *to_do)), None),
    )


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
