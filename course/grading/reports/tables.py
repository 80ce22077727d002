"""Tables that are safe in a spreadsheet, among them that of all grades."""

import csv
import io
from collections.abc import Iterable, Sequence

from course.core.syllabus import lessons
from course.grading.grades import Grades, StudentGrade
from course.grading.names import feedback_path, printable

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""A spreadsheet computes a text that begins with one of these."""
Cell = int | float | str
"""A number, or a text."""
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""Without it Excel misreads every name that is not English."""


def grades_csv(grades: Grades) -> str:
    """Return the table of all grades: a row per student, with the same columns each time."""
    rows = [list(grades_row(student).values()) for student in grades.students]
    return BYTE_ORDER_MARK + as_csv([list(grades_row(StudentGrade(""))), *rows])


def grades_row(student: StudentGrade) -> dict[str, Cell]:
    """Return the row of a student, by column: the table has these columns, in this order.

    A lesson that was not graded is empty, which is not the same as 0, and does not count in the
    total; one that was not handed in has 0.
    """
    row: dict[str, Cell] = {
        "student": student.student,
        "total": student.points,
        "of": student.worth,
        "late": "yes" if student.is_late else "",
    }
    for lesson in lessons():
        row[lesson.stem] = ""
        row |= {f"{lesson.stem}.{one.name}": "" for one in lesson.exercises}
    for grade in student.lessons:
        if grade.counts:
            stem = grade.lesson.stem
            row[stem] = grade.points
            row |= {f"{stem}.{one.name}": one.points for one in grade.result.exercises}
    row["page"] = feedback_path(student.student)
    return row


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
