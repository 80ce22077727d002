"""The page about the class, for the instructor."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import median

from course.core.syllabus import Lesson, Status
from course.grading.grades import Grades, LessonStatus, StudentGrade
from course.grading.reports.misconceptions import misconceptions
from course.grading.reports.page import render
from course.grading.reports.to_do import tasks_of
from course.testing.messages.wording import STATUS_WORDS

_SHOWN = (Status.PASSED, Status.WRONG, Status.TO_DO, Status.NOT_RUN)
"""The statuses of exercises that can come of grading."""


def overview_page(
    grades: Grades,
    published: Sequence[tuple[str, str]] = (),
    about_class: Sequence[str] = (),
) -> str:
    """Return the page for the instructor, as HTML: one file, even for a large class.

    Args:
        published: students whose modules have published answers, each with a sentence.
        about_class: notes on what no student in particular handed in.
    """
    totals = [one.points for one in grades.students if one.worth]
    return render(
        "overview.html",
        "overview.js",
        n_students=len(grades.students),
        median=median(totals) if totals else None,
        worth=max((one.worth for one in grades.students), default=0),
        lessons=[_lesson(one, grades) for one in grades.lessons],
        statuses=[(one, STATUS_WORDS[one]) for one in _SHOWN],
        made=f"{grades.now:%Y-%m-%d %H:%M}",
        misconceptions=misconceptions(grades),
        tasks=tasks_of(grades, about_class, published),
        rows=[(one, _cells(one, grades.lessons)) for one in grades.students],
    )


def _lesson(lesson: Lesson, grades: Grades) -> dict[str, object]:
    """Return how a lesson ended: of how many students, their median, exercises with outcomes."""
    own = [one for student in grades.students for one in student.lessons if one.lesson == lesson]
    points = [one.points for one in own if one.counts]
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for grade in own:
        for one in grade.result.exercises:
            outcomes[one.name][one.status] += 1
    return {
        "lesson": lesson,
        "n": len(points),
        "median": median(points) if points else None,
        "outcomes": [(one, outcomes[one.name]) for one in lesson.exercises],
    }


def _cells(student: StudentGrade, lessons: Sequence[Lesson]) -> list[tuple[str, str]]:
    """Return a student's cells, for each lesson and exercise its kind and its text."""
    grades = {one.lesson.stem: one for one in student.lessons}
    cells: list[tuple[str, str]] = []
    for lesson in lessons:
        grade = grades.get(lesson.stem)
        if grade is None:
            cells += [("", "")] * (1 + len(lesson.exercises))
        elif grade.status == LessonStatus.NOT_HANDED_IN:
            cells += [("m", "0"), *[("m", "")] * len(lesson.exercises)]
        else:
            cells.append(("s", str(grade.points)) if grade.counts else ("q", "?"))
            words = (STATUS_WORDS[one.status] for one in grade.result.exercises)
            cells += [(one.css_class, one.mark) for one in words]
    return cells
