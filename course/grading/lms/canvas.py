"""Exports of Canvas's gradebook.

The first row has the titles. The next ones have no ID and say something about the columns, such as
"Manual Posting" and the "Points Possible". Each other row is a student.

Source: Canvas, lib/gradebook_exporter.rb and lib/gradebook_importer.rb.
"""

from collections.abc import Mapping

from course.grading.lms.export import Column, Export, Person, find_column, spellings
from course.grading.lms.table import ExportError, Table, number_in

_NAMES = ("Student", "SIS User ID", "SIS Login ID")


def read_canvas(table: Table, titles: Mapping[str, str]) -> Export:
    """Return an export of Canvas's gradebook.

    Args:
        titles: the title of the column of each lesson, by its stem.

    Raises:
        ExportError: it is none, or a column is missing or has no points possible.
    """
    header = table.rows[0]
    if "ID" not in header:
        raise ExportError(
            f"{table.name} is not an export of Canvas's gradebook: it has no ID column"
        )
    if not titles:
        raise ExportError('name the column of each lesson, as in --column rope="RoPE (90121)"')
    numbers = canvas_numbers(table)
    names = [header.index(title) for title in _NAMES if title in header]
    people = [
        Person(row, number, spellings([table.text(row, column) or "" for column in names]))
        for row, number in numbers.items()
    ]
    columns = []
    for lesson, title in titles.items():
        index = find_column(table, title)
        above = range(1, min(numbers, default=len(table.rows)))
        maxima = [number_in(table.text(row, index)) for row in above]
        maxima = [maximum for maximum in maxima if maximum is not None]
        if not maxima:
            raise ExportError(f'{table.name} has no "Points Possible" for "{title}"')
        if not maxima[-1]:
            raise ExportError(
                f'{table.name} gives "{title}" 0 points possible, so no points can be filled in: '
                "give it some on Canvas, and export again"
            )
        columns.append(Column(lesson, index, maxima[-1]))
    return Export("canvas_id", table, people, columns)


def canvas_numbers(table: Table) -> dict[int, str]:
    """Return the number of the student in each row that has one."""
    column = table.rows[0].index("ID") if "ID" in table.rows[0] else len(table.rows[0])
    texts = {row: table.text(row, column) for row in range(1, len(table.rows))}
    return {row: number for row, number in texts.items() if number}
