"""Grades as Moodle takes them: its grading worksheet, filled in, and a zip of feedback files.

Source: Moodle, mod/assign/feedback/offline/importgradeslib.php and feedback/file/importziplib.php.
"""

import csv
import io
import zipfile
from collections.abc import Mapping

from course.grading.class_file.exports import MOODLE, Export, read_export
from course.grading.class_file.grades import (
    GRADED,
    NOT_HANDED_IN,
    Grades,
    LessonGrade,
    StudentGrade,
)
from course.grading.class_file.members import Roster
from course.grading.reports.tables import BYTE_ORDER_MARK
from course.system.files import add_to_zip

Graded = Mapping[str, tuple[StudentGrade, LessonGrade]]
"""By Moodle's number of a student in the assignment."""


def moodle_files(grades: Grades, pages: Mapping[str, str]) -> dict[str, bytes]:
    """Return what to give back to Moodle, by the name of the file: two for each worksheet.

    Args:
        pages: the page of each student, by key.
    """
    class_file, files = grades.class_file, {}
    assignments = class_file.assignments if class_file else {}
    for stem, path in ((stem, one.export) for stem, one in assignments.items() if one.export):
        export = read_export(path)
        if export.platform != MOODLE:
            continue
        roster = Roster(class_file, {stem: export}, "")
        own = {student.student: student for student in grades.students}
        graded = {}
        for row in export.rows():
            person = roster.person_in(row)
            for grade in own[person.key].lessons if person else ():
                if grade.lesson.stem == stem and row.number:
                    graded[row.number] = own[person.key], grade
        files[f"{stem}.csv"] = worksheet_csv(export, graded).encode()
        files[f"{stem}-feedback.zip"] = feedback_zip(export, graded, pages)
    return files


def worksheet_csv(export: Export, graded: Graded) -> str:
    """Return the worksheet as it came, with the grades and the instructor's words filled in.

    Points are scaled to the maximum that the assignment has in Moodle, also where part of the
    lesson is excused; where nothing counts, only words are filled in. A row whose grade cannot be
    changed, or to which no grade belongs, stays as it is.
    """
    columns = {title.strip().lower(): at for at, title in enumerate(export.header)}
    table = [list(row) for row in export.table]
    for cells, found in zip(table, map(export.row, export.cells()), strict=True):
        if found is None or found.number not in graded or len(cells) < len(export.header):
            continue
        _, grade = graded[found.number]
        fixed = columns.get("grade can be changed")
        is_fixed = fixed is not None and cells[fixed].strip().lower() == "no"
        if is_fixed or "grade" not in columns:
            continue
        if grade.worth:
            most = _number(cells[columns["maximum grade"]]) if "maximum grade" in columns else None
            points = grade.points * most / grade.worth if most else grade.points
            cells[columns["grade"]] = f"{points:.2f}"
        said = [
            f"{one.name}: {one.decision.comment}" if one.decision.exercise else one.decision.comment
            for one in grade.exercises
            if one.decision and one.decision.comment
        ]
        said = list(dict.fromkeys(said))  # a decision on the whole lesson is said once
        said += [one.text for one in grade.comments]
        if "feedback comments" in columns and said:
            cells[columns["feedback comments"]] = "\n".join(said)
    text = io.StringIO()
    writer = csv.writer(text, delimiter=export.delimiter, lineterminator="\n")
    writer.writerows([export.header, *table])
    return BYTE_ORDER_MARK + text.getvalue()


def feedback_zip(export: Export, graded: Graded, pages: Mapping[str, str]) -> bytes:
    """Return a zip with each student's page, for Moodle's "Upload multiple feedback files".

    Args:
        pages: the page of each student, by key.
    """
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        for row in export.rows():
            if row.number not in graded:
                continue
            student, grade = graded[row.number]
            if grade.status in (GRADED, NOT_HANDED_IN) and student.student in pages:
                name = row.person.name.replace("_", " ").replace("/", " ")
                folder = f"{name}_{row.number}_assignsubmission_file_"
                page = pages[student.student].encode()
                add_to_zip(opened, f"{folder}/feedback.html", page)
    return packed.getvalue()


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None
