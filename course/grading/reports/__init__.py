"""Reports of grading: tables of points, a page for each student, a page about the class.

    index.html               the class: what goes wrong, who needs help, what to look at
    feedback/NAME.html       a page for each student
    gradescope/NAME.json     the same for Gradescope, to be copied to its results/results.json
    grades.csv               a row for each student, a column for each lesson and exercise
    canvas.csv               points by lesson, to be imported into Canvas's gradebook
    junit.xml                a suite for each student and lesson, for whatever reads JUnit's XML

All that a student wrote, the name first of all, is taken for hostile wherever it is shown.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from course.grading.class_file.grades import Grades
from course.grading.names import FEEDBACK, feedback_path, file_stem
from course.grading.reports.changes import Change
from course.grading.reports.classroom import by_student
from course.grading.reports.feedback import feedback_page
from course.grading.reports.gradescope import gradescope_results
from course.grading.reports.junit import junit_xml
from course.grading.reports.moodle import moodle_files
from course.grading.reports.overview import overview_page
from course.grading.reports.spreadsheet import grades_xlsx
from course.grading.reports.tables import canvas_csv, grades_csv
from course.grading.similarity.answers import Known
from course.grading.similarity.copies import Resemblance
from course.system.files import write_whole, write_whole_bytes
from course.testing.result import LessonResult


def write_reports(
    grades: Grades,
    resemblances: Mapping[str, Sequence[Resemblance]],
    out: Path,
    known: Sequence[Known] = (),
    concealed: Sequence[tuple[str, str]] = (),
    about_class: Sequence[str] = (),
    changes: Sequence[Change] | None = None,
) -> list[Path]:
    """Write all reports. Each file is replaced in one step; others in the folder stay.

    Args:
        results: of the whole class, in any order, at most one per student and lesson.
        resemblances: for the stem of a lesson, the pairs of students to look at.
        out: the folder; it is made if there is none.
        known: the modules that hold published answers.
        concealed: sentences on code that may be concealed, each with its student.
        about_class: notes on what no student in particular handed in.

    Returns:
        What to look at: the files about the class, and the folders with one for each student.

    Raises:
        OSError: a file cannot be written.
    """
    students = by_student(grades.results)
    feedback, gradescope = out / FEEDBACK, out / "gradescope"
    of_class = {
        out / "index.html": overview_page(students, resemblances, known, concealed, about_class),
        out / "grades.csv": grades_csv(grades),
        out / "canvas.csv": canvas_csv(grades),
        out / "junit.xml": junit_xml(students),
    }
    pages = {student: feedback_page(student, own) for student, own in students.items()}
    for student, own in students.items():
        write_whole(out / feedback_path(student), pages[student])
        write_whole(gradescope / f"{file_stem(student)}.json", gradescope_results(own))
    for path, text in of_class.items():
        write_whole(path, text)
    written = [*of_class, feedback, gradescope]
    if grades.class_file:
        write_whole_bytes(out / "grades.xlsx", grades_xlsx(grades))
        written.append(out / "grades.xlsx")
        if given_back := moodle_files(grades, pages):
            (out / "moodle").mkdir(exist_ok=True)
            for name, data in given_back.items():
                write_whole_bytes(out / "moodle" / name, data)
            written.append(out / "moodle")
    return written


def pages_of_others(results: Sequence[LessonResult], out: Path) -> list[Path]:
    """Return the pages of students who have no result: they left, or are of another class.

    They stay, for nobody else may have a copy.
    """
    own = {out / feedback_path(result.student) for result in results}
    return sorted(path for path in (out / FEEDBACK).glob("*.html") if path not in own)
