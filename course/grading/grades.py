"""The grades of a class: results by student and lesson, and the totals that they make."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from course.core.syllabus import Lesson, lessons
from course.grading.judge.unit import GradedResult
from course.grading.names import OWNER_UNCLEAR
from course.grading.submissions import Submission


class LessonStatus(StrEnum):
    """Whether a lesson was graded, and if not, why."""

    GRADED = "graded"
    NOT_GRADED = "not graded"  # the machine failed: it is nobody's zero
    NOT_HANDED_IN = "not handed in"


@dataclass(frozen=True)
class LessonGrade:
    """The grade of one lesson of one student."""

    lesson: Lesson
    status: LessonStatus
    result: GradedResult

    @property
    def points(self) -> int:
        """Return the points that count in the total."""
        return self.result.points if self.counts else 0

    @property
    def worth(self) -> int:
        """Return the points that could be earned; 0 if the lesson was not graded."""
        return self.result.worth if self.counts else 0

    @property
    def counts(self) -> bool:
        """Return whether the lesson counts in the total."""
        return self.status != LessonStatus.NOT_GRADED


@dataclass(frozen=True)
class StudentGrade:
    """All grades of a student.

    Attributes:
        lessons: in the order of the course.
        notes: what is odd about the files that were handed in, in sentences.
        is_late: whether Canvas marks any of the work as late.
    """

    student: str
    lessons: tuple[LessonGrade, ...] = ()
    notes: tuple[str, ...] = ()
    is_late: bool = False

    @property
    def in_total(self) -> list[LessonGrade]:
        """Return the lessons that make the total: those beyond the course's only if alone."""
        counted = [one for one in self.lessons if one.counts]
        return [one for one in counted if not one.lesson.beyond] or counted

    @property
    def points(self) -> int:
        """Return the points of all lessons in the total."""
        return sum(one.points for one in self.in_total)

    @property
    def worth(self) -> int:
        """Return what these points are of."""
        return sum(one.worth for one in self.in_total)

    @property
    def has_all_points(self) -> bool:
        """Return whether every lesson was handed in and graded, and every exercise passed."""
        return bool(self.lessons) and all(
            one.status == LessonStatus.GRADED and one.points == one.worth for one in self.lessons
        )

    @property
    def own_notes(self) -> tuple[str, ...]:
        """Return the notes without those that are for the instructor alone."""
        return tuple(note for note in self.notes if not note.startswith(OWNER_UNCLEAR))


@dataclass(frozen=True)
class Grades:
    """The grades of a class.

    Attributes:
        students: by name.
        lessons: those that were graded, in the order of the course.
        now: when these were made.
    """

    students: tuple[StudentGrade, ...]
    lessons: tuple[Lesson, ...]
    now: datetime


def grades_of(
    results: Iterable[GradedResult], submissions: Iterable[Submission] = (), *, now: datetime
) -> Grades:
    """Return the grades of a class.

    Args:
        results: at most one per student and lesson.
        submissions: what is known of the files of each student.
    """
    handed_in = {one.student: one for one in submissions}
    by_student: dict[str, dict[str, GradedResult]] = {}
    for result in results:
        by_student.setdefault(result.student, {})[result.lesson] = result
    graded = {stem for own in by_student.values() for stem in own}
    wanted = tuple(lesson for lesson in lessons() if lesson.stem in graded)
    students = []
    for name in sorted(by_student, key=lambda name: (name.casefold(), name)):
        own, files = by_student[name], handed_in.get(name, Submission(name, {}, ()))
        student = StudentGrade(name, notes=files.notes, is_late=bool(files.late & own.keys()))
        given = (_lesson_grade(one, own[one.stem], student) for one in wanted if one.stem in own)
        remarks = (remark for result in own.values() for remark in result.remarks)
        notes = *files.notes, *remarks
        students.append(replace(student, notes=notes, lessons=tuple(given)))
    return Grades(tuple(students), wanted, now)


def _lesson_grade(lesson: Lesson, result: GradedResult, student: StudentGrade) -> LessonGrade:
    if result.handed_in:
        status = LessonStatus.GRADED if result.key else LessonStatus.NOT_GRADED
        return LessonGrade(lesson, status, result)
    if student.own_notes:  # the module may have been among the files that are odd
        trouble = f"There is no {lesson.stem}.py that can be graded."
        result = replace(result, trouble=trouble)
    return LessonGrade(lesson, LessonStatus.NOT_HANDED_IN, result)
