"""The grades as a spreadsheet, in which no text is ever computed."""

import io
from collections.abc import Sequence

import xlsxwriter

from course.grading.class_file.grades import Grades
from course.grading.names import printable
from course.grading.reports.tables import Cell, differences_table, grades_table

_AS_THEY_ARE = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}


def grades_xlsx(grades: Grades) -> bytes:
    """Return a workbook: the grades, and what counts otherwise than it was judged."""
    written = io.BytesIO()
    with xlsxwriter.Workbook(written, _AS_THEY_ARE) as book:
        book.set_properties({"created": grades.now.replace(tzinfo=None)})
        bold = book.add_format({"bold": True})
        for title, rows in (
            ("Grades", grades_table(grades)),
            ("Decisions and lateness", differences_table(grades)),
        ):
            _fill(book.add_worksheet(title), rows, bold)
    return written.getvalue()


def _fill(sheet: xlsxwriter.worksheet.Worksheet, rows: Sequence[Sequence[Cell]], bold) -> None:
    sheet.freeze_panes(1, 1)
    for at, row in enumerate(rows):
        for column, cell in enumerate(row):
            form = bold if at == 0 else None
            if isinstance(cell, str):
                sheet.write_string(at, column, printable(cell), form)
            else:
                sheet.write_number(at, column, cell, form)
    sheet.autofit(max_width=300)
