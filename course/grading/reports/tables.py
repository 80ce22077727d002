"""Points as tables: one with everything, and one that Canvas's gradebook imports."""

import csv
import io
from collections.abc import Iterable, Sequence

from course.grading.class_file.grades import (
    EXCUSED,
    Grades,
    LessonGrade,
    StudentGrade,
)
from course.grading.names import feedback_path, printable
from course.syllabus import Lesson, Status, lessons
from course.testing.result import LessonResult

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""A spreadsheet computes what begins so, whoever wrote it."""
Cell = int | float | str
"""A number, or a text."""
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""Without it Excel misreads every name that is not English."""


def grades_csv(grades: Grades) -> str:
    """Return the table of all grades."""
    return BYTE_ORDER_MARK + as_csv(grades_table(grades))


def grades_table(grades: Grades) -> list[list[Cell]]:
    """Return a row per student: total, of how much, late or not, lessons, exercises, the page.

    With a roster, what it says of a student stands behind the key. A lesson that was not graded,
    or is not due yet, is empty, which is not the same as 0, and does not count in the total; one
    that was not handed in has 0. The columns of lessons are always the same.
    """
    roster = ("name", "id", "email", "section") if grades.class_file else ()
    header = ["student", *roster, "total", "of", "late"]
    for lesson in lessons():
        header += [lesson.stem, *(f"{lesson.stem}.{one.name}" for one in lesson.exercises)]
    header.append("page")
    rows = [
        [
            one.student,
            *(getattr(one.person, what) if one.person else "" for what in roster),
            *(one.points, one.worth, _late(one, grades)),
            *(cell for lesson in lessons() for cell in _lesson_cells(lesson, one)),
            feedback_path(one.student),
        ]
        for one in grades.students
    ]
    return [header, *rows]


def differences_table(grades: Grades) -> list[list[Cell]]:
    """Return a row for all that counts otherwise than it was judged, with the reason."""
    rows: list[list[Cell]] = [["student", "lesson", "exercise", "judged", "counts", "why"]]
    for student in grades.students:
        for lesson in student.lessons:
            stem = lesson.lesson.stem
            for one in lesson.exercises:
                if one.decision:
                    counts = EXCUSED if one.points is None else one.points
                    judged = "" if one.judged is None else one.judged
                    why = one.decision.reason
                    rows.append([student.student, stem, one.name, judged, counts, why])
            if lesson.lost:
                before = lesson.points + lesson.lost
                why = f"{_days(lesson)} late: -{lesson.lateness.percent:g} %"
                rows.append([student.student, stem, "", before, lesson.points, why])
    return rows


def _late(student: StudentGrade, grades: Grades) -> str:
    """Return which lessons are late; without a class's file that any is, says the platform."""
    late = [one for one in student.lessons if one.lateness.is_late]
    if grades.class_file is None:
        return "yes" if late else ""
    return "; ".join(f"{one.lesson.stem}: {_days(one)}" for one in late)


def _days(lesson: LessonGrade) -> str:
    days = lesson.lateness.days
    return "unknown" if days is None else f"{days} {'day' if days == 1 else 'days'}"


def canvas_csv(grades: Grades) -> str:
    """Return points by lesson in the layout of an export of Canvas's gradebook.

    Canvas looks a student up by its own id, then by the SIS user id, the login, and the name. What
    was downloaded from there has the first; else what a submission calls its student stands in the
    other three places. An assignment is found by its title, "What and Where 5: rope" unless the
    class's file names another, or made. Canvas shows what would change before it imports.

    An empty cell changes nothing in Canvas. Without a class's file, a module that was not handed
    in has none, for it may have been last week's. Where some lessons were begun, those are left
    out that nobody has begun: they are probably not due yet. With one, who handed nothing in has
    0, and "EX" stands for what is excused.

    Source: lib/gradebook_importer.rb and lib/content_zipper.rb of Canvas.
    """
    handed_in = [one for one in grades.results if one.handed_in]
    begun = {one.lesson for one in handed_in if _is_begun(one)}
    stems = begun or {one.lesson for one in handed_in}
    due = [one for one in grades.lessons if grades.class_file or one.stem in stems]
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    titles = [_title(lesson, grades) for lesson in due]
    rows = [
        [*_known_to_canvas(one), *(_canvas_cell(lesson, one, grades) for lesson in due)]
        for one in grades.students
    ]
    possible = ["Points Possible", "", "", "", "", *(lesson.points for lesson in due)]
    return as_csv([[*header, *titles], possible, *rows])


def _title(lesson: Lesson, grades: Grades) -> str:
    assignments = grades.class_file.assignments if grades.class_file else {}
    own = assignments[lesson.stem].column if lesson.stem in assignments else ""
    return own or f"What and Where {lesson.number}: {lesson.stem}"


def _known_to_canvas(student: StudentGrade) -> list[str]:
    """Return the name, Canvas's own id, the SIS user id, the login, and the section."""
    person, name = student.person, student.shown
    if person and person.canvas:
        cells = [person.canvas, person.id, person.login, person.section]
    elif number := next((one.canvas_id for one in student.results if one.canvas_id), ""):
        cells = [number, "", "", ""]
    else:
        cells = ["", student.student, student.student, ""]
    # Canvas reads a row with these words as the points that are possible.
    return [name.replace("Points Possible", "Points_Possible"), *cells]


def _canvas_cell(lesson: Lesson, student: StudentGrade, grades: Grades) -> Cell:
    grade = _grade_of(lesson, student)
    if grade and grade.status == EXCUSED:
        return "EX"
    if grade and grades.class_file is None and not (grade.result and grade.result.handed_in):
        return ""
    if grade and 0 < grade.worth < lesson.points:  # the column is of the whole lesson's points
        return round(grade.points * lesson.points / grade.worth, 2)
    return _lesson_cells(lesson, student)[0]


def _grade_of(lesson: Lesson, student: StudentGrade) -> LessonGrade | None:
    return next((one for one in student.lessons if one.lesson.stem == lesson.stem), None)


def _lesson_cells(lesson: Lesson, student: StudentGrade) -> list[Cell]:
    """Return the points of a lesson and of each of its exercises, or as many empty cells."""
    grade = _grade_of(lesson, student)
    if grade is None:
        return [""] * (1 + len(lesson.exercises))
    exercises = [_exercise_cell(one.points, one.decision) for one in grade.exercises]
    if grade.status == EXCUSED:
        return [EXCUSED, *exercises]
    return [grade.points if grade.worth else "", *exercises]


def _exercise_cell(points: float | None, decision: object) -> Cell:
    if points is None:
        return EXCUSED if decision else ""
    return points


def _is_begun(result: LessonResult) -> bool:
    """Test that the module is more than its stub."""
    return any(exercise.status in (Status.PASSED, Status.WRONG) for exercise in result.exercises)


def as_csv(rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table that is safe in a spreadsheet."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(one) for one in row] for row in rows)
    return text.getvalue()


def _cell(value: Cell) -> Cell:
    """Return what is safe in a spreadsheet: an apostrophe keeps it from computing a text."""
    if isinstance(value, int | float):
        return value
    text = printable(value)
    return f"'{text}" if value.lstrip(" \n").startswith(_FORMULA) else text
