"""The page about the class, for the instructor, and one to project, on which nobody is named."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from course.grading.class_file.grades import (
    EXCUSED,
    NOT_DUE,
    NOT_GRADED,
    NOT_HANDED_IN,
    ExerciseGrade,
    Grades,
    LessonGrade,
    StudentGrade,
)
from course.grading.published import Published
from course.grading.reports.changes import Change
from course.grading.reports.message import number
from course.grading.reports.misconceptions import misconceptions
from course.grading.reports.page import render
from course.grading.reports.to_do import for_instructor, for_students, questions_of
from course.syllabus import Exercise, Lesson, Status

N_BINS = 10
"""Bars of a histogram, each a tenth of the points."""
_STATUSES = {
    Status.PASSED: ("p", "✓"),
    Status.WRONG: ("w", "✗"),
    Status.TO_DO: ("t", "○"),
    Status.NOT_RUN: ("n", "–"),
    Status.UNCHECKED: ("n", "–"),
}
_LESSONS = {EXCUSED: ("e", "exc."), NOT_DUE: ("d", ""), NOT_GRADED: ("q", "?")}


def overview_page(
    grades: Grades,
    published: Sequence[Published] = (),
    about_class: Sequence[str] = (),
    changes: Sequence[Change] | None = None,
) -> str:
    """Return the page for the instructor, as HTML: one file, even for a large class.

    Args:
        published: the modules that have published answers.
        about_class: notes on what no student in particular handed in.
        changes: against an earlier run; None if none was compared.
    """
    graded = [(student, one) for student in grades.students for one in student.lessons]
    return render(
        "overview.html",
        "overview.js",
        **_about(grades),
        misconceptions=misconceptions(grades),
        tasks={
            "You": for_instructor(grades, about_class, published),
            "Students": for_students(grades),
        },
        sections=sorted({one.person.section for one in grades.students if one.person} - {""}),
        rows=[
            (one, _cells(one, grades.lessons), any(not each.answers for each in questions_of(one)))
            for one in grades.students
        ],
        decisions=[
            (student, grade, one)
            for student, grade in graded
            for one in {one.decision: one for one in grade.exercises if one.decision}.values()
        ],
        late=[(student, one) for student, one in graded if one.lateness.is_late],
        questions=[one for student in grades.students for one in questions_of(student)],
        compared=changes is not None,
        changes=_grouped(changes or (), grades),
    )


def projected_page(grades: Grades) -> str:
    """Return the page to show in class: how it went and what is misunderstood, without a name."""
    return render("project.html", **_about(grades), misconceptions=misconceptions(grades))


def _about(grades: Grades) -> dict:
    distributions = [_distribution(lesson, grades) for lesson in grades.lessons]
    totals = [one.points for one in grades.students if one.worth]
    worth = max((one.worth for one in grades.students), default=0)
    return {
        "n_students": len(grades.students),
        "distributions": distributions,
        "median": median(totals) if totals else None,
        "worth": worth,
        "made": f"{grades.now:%Y-%m-%d %H:%M}",
    }


# --- lessons ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Distribution:
    """The way a lesson ended in the class.

    Attributes:
        n: how many students it counts for.
        median: of the points that count; None if it counts for nobody.
        bins: how many students have so many tenths of the points.
        outcomes: for each exercise, how many students by status.
    """

    lesson: Lesson
    n: int
    median: float | None
    bins: tuple[int, ...]
    outcomes: tuple[tuple[Exercise, Counter[str]], ...]

    @property
    def in_words(self) -> str:
        """Return the histogram as a sentence."""
        tenths = [
            f"{n} with {10 * tenth} to {10 * tenth + 10} %"
            for tenth, n in enumerate(self.bins)
            if n
        ]
        return f"Students by their share of {self.lesson.points} points: {', '.join(tenths)}."


def _distribution(lesson: Lesson, grades: Grades) -> Distribution:
    own = [one for student in grades.students for one in student.lessons if one.lesson == lesson]
    counted = [one for one in own if one.worth]
    points = [one.points for one in counted]
    shares = Counter(min(int(N_BINS * one.points / one.worth), N_BINS - 1) for one in counted)
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for grade in own:
        for one in grade.result.exercises if grade.result else ():
            outcomes[one.name][one.status] += 1
    return Distribution(
        lesson=lesson,
        n=len(counted),
        median=median(points) if points else None,
        bins=tuple(shares[tenth] for tenth in range(N_BINS)),
        outcomes=tuple((one, outcomes[one.name]) for one in lesson.exercises),
    )


# --- students ---------------------------------------------------------------------------------


def _cells(student: StudentGrade, lessons: Sequence[Lesson]) -> list[tuple[str, str]]:
    """Return a student's cells, for each lesson and exercise its kind and its text."""
    grades = {one.lesson.stem: one for one in student.lessons}
    cells: list[tuple[str, str]] = []
    for lesson in lessons:
        if grade := grades.get(lesson.stem):
            statuses = grade.result.statuses if grade.result else {}
            cells.append(_lesson_cell(grade))
            cells += [_exercise_cell(grade, one, statuses) for one in grade.exercises]
        else:
            cells += [("d", "")] * (1 + len(lesson.exercises))
    return cells


def _lesson_cell(grade: LessonGrade) -> tuple[str, str]:
    if not grade.worth:
        return _LESSONS.get(grade.status, ("e", "exc."))
    if grade.status == NOT_HANDED_IN:
        return "m", number(grade.points)
    return (
        ("l", f"{number(grade.points)} L")
        if grade.lateness.is_late
        else ("s", number(grade.points))
    )


def _exercise_cell(
    grade: LessonGrade, exercise: ExerciseGrade, statuses: Mapping[str, Status]
) -> tuple[str, str]:
    if exercise.decision:
        return "h", number(exercise.points) or "e"
    if grade.status == NOT_HANDED_IN:
        return "m", ""
    return _STATUSES.get(statuses.get(exercise.name), ("d", ""))


# --- changes ----------------------------------------------------------------------------------


def _grouped(
    changes: Sequence[Change], grades: Grades
) -> list[tuple[str, str, int, Sequence[StudentGrade]]]:
    """Return lesson and exercise, reason, gain and students; what concerns most comes first."""
    known = {one.student: one for one in grades.students}
    groups: dict[tuple[str, str, int], list[StudentGrade]] = defaultdict(list)
    for one in changes:
        gain = (one.after or 0) - (one.before or 0)
        student = known.get(one.student) or StudentGrade(one.student, None, ())
        groups[f"{one.lesson}.{one.exercise}", one.why, gain].append(student)
    return sorted(((*key, own) for key, own in groups.items()), key=lambda one: -len(one[-1]))
