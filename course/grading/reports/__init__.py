"""Reports of grading: the table of points, a page for each student, the page about the class.

All that a student wrote, the name first of all, is taken for hostile wherever it is shown.
"""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from course.core.files import write_atomically
from course.grading.grades import Grades
from course.grading.judge.unit import GradedResult
from course.grading.names import FEEDBACK, feedback_path, file_stem
from course.grading.reports.feedback import feedback_page
from course.grading.reports.gradescope import gradescope_results
from course.grading.reports.overview import overview_page
from course.grading.reports.page import render
from course.grading.reports.tables import grades_csv


def write_reports(
    grades: Grades,
    out: Path,
    published: Sequence[tuple[str, str]] = (),
    about_class: Sequence[str] = (),
) -> list[Path]:
    """Write all reports. Each file is replaced in one step; others in the folder stay.

    Args:
        grades: of the whole class.
        out: the folder; it is made if there is none.
        published: students whose modules have published answers, each with a sentence.
        about_class: notes on what no student in particular handed in.

    Returns:
        What to look at: the files about the class, and the folders with one for each student.

    Raises:
        OSError: a file cannot be written.
    """
    overview, table, gradescope = out / "index.html", out / "grades.csv", out / "gradescope"
    for one in grades.students:
        write_atomically(out / feedback_path(one.student), feedback_page(one))
        place = gradescope / f"{file_stem(one.student)}.json"
        if any(lesson.result.failed_here for lesson in one.lessons):
            place.unlink(missing_ok=True)  # nobody is to get a number for that
        else:
            write_atomically(place, gradescope_results(one))
    write_atomically(overview, overview_page(grades, published, about_class))
    write_atomically(table, grades_csv(grades))
    return [overview, table, out / FEEDBACK, gradescope]


def write_questions(asked: Iterable[GradedResult], out: Path) -> Path:
    """Write a page for each student with questions about the code, and return their folder."""
    folder = out / "questions"
    for student, results in itertools.groupby(asked, key=lambda one: one.student):
        page = render("questions.html", student=student, results=list(results))
        write_atomically(folder / f"{file_stem(student)}.html", page)
    return folder
