"""Points as tables: one with everything, and one that Canvas's gradebook imports."""

import csv
import io
from collections.abc import Iterable, Sequence

from course.grading.names import feedback_path, printable
from course.grading.reports.classroom import Students, is_graded, points_of
from course.syllabus import Lesson, Status, lessons
from course.testing.result import LessonResult

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""A spreadsheet computes what begins so, whoever wrote it."""
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""Without it Excel misreads every name that is not English."""


def grades_csv(students: Students) -> str:
    """Return a row per student: total, of how much, late or not, lessons, exercises, the page.

    A lesson that was not graded is empty, which is not the same as 0, and does not count in the
    total; one that was not handed in has 0. The columns are always the same.
    """
    header = ["student", "total", "of", "late"]
    for lesson in lessons():
        header += [lesson.stem, *(f"{lesson.stem}.{one.name}" for one in lesson.exercises)]
    header.append("page")
    rows = [
        [
            student,
            *points_of(results),
            "yes" if any(result.late for result in results) else "",
            *(cell for lesson in lessons() for cell in _lesson_cells(lesson, results)),
            feedback_path(student),
        ]
        for student, results in students.items()
    ]
    return _BYTE_ORDER_MARK + as_csv([header, *rows])


def canvas_csv(students: Students) -> str:
    """Return points by lesson in the layout of an export of Canvas's gradebook.

    Canvas looks a student up by its own id, then by the SIS user id, the login, and the name. What
    was downloaded from there has the first; else what a submission calls its student stands in the
    other three places. An assignment is found by its title, "What and Where 5: rope", or made.
    Canvas shows what would change before it imports.

    An empty cell changes nothing in Canvas: a module that was not handed in has none, for it may
    have been last week's. Where some lessons were begun, those are left out that nobody has begun:
    they are probably not due yet.

    Source: lib/gradebook_importer.rb and lib/content_zipper.rb of Canvas.
    """
    handed_in = [one for results in students.values() for one in results if one.handed_in]
    begun = {one.lesson for one in handed_in if _is_begun(one)}
    stems = begun or {one.lesson for one in handed_in}
    due = [lesson for lesson in lessons() if lesson.stem in stems]
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    titles = [f"What and Where {lesson.number}: {lesson.stem}" for lesson in due]
    rows = [
        [
            # Canvas reads a row with these words as the points that are possible.
            student.replace("Points Possible", "Points_Possible"),
            *_known_to_canvas(student, results[0].canvas_id),
            *(
                _lesson_cells(lesson, [one for one in results if one.handed_in])[0]
                for lesson in due
            ),
        ]
        for student, results in students.items()
    ]
    possible = ["Points Possible", "", "", "", "", *(lesson.points for lesson in due)]
    return as_csv([[*header, *titles], possible, *rows])


def _known_to_canvas(student: str, canvas_id: str) -> tuple[str, str, str, str]:
    """Return Canvas's own id, the SIS user id, the login, and the section, which is not needed."""
    return (canvas_id, "", "", "") if canvas_id else ("", student, student, "")


def _lesson_cells(lesson: Lesson, results: Sequence[LessonResult]) -> list[int | str]:
    """Return the points of a lesson and of each of its exercises, or as many empty cells."""
    for result in results:
        if result.lesson == lesson.stem and is_graded(result):
            points = {exercise.name: exercise.points for exercise in result.exercises}
            return [result.points, *(points.get(one.name, "") for one in lesson.exercises)]
    return [""] * (1 + len(lesson.exercises))


def _is_begun(result: LessonResult) -> bool:
    """Test that the module is more than its stub."""
    return any(exercise.status in (Status.PASSED, Status.WRONG) for exercise in result.exercises)


def as_csv(rows: Iterable[Sequence[int | str]]) -> str:
    """Return a table that is safe in a spreadsheet."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(one) for one in row] for row in rows)
    return text.getvalue()


def _cell(value: int | str) -> int | str:
    """Return what is safe in a spreadsheet: an apostrophe keeps it from computing a text."""
    if isinstance(value, int):
        return value
    text = printable(value)
    return f"'{text}" if value.lstrip(" \n").startswith(_FORMULA) else text
