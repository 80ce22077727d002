"""Exports of Canvas's gradebook.

The first row has the titles; below it, rows without an ID say what holds for a column, such as
"Manual Posting" or the "Points Possible"; then each row is a student.

Source: Canvas, lib/gradebook_exporter.rb and lib/gradebook_importer.rb.
"""

from collections.abc import Mapping

from course.grading.lms.export import Column, Export, ExportError, Person, find_column, letters
from course.grading.lms.table import Cell, Table, number_in

_NAMES = ("Student", "SIS User ID", "SIS Login ID")


def read_canvas(name: str, table: Table, titles: Mapping[str, str]) -> Export:
    """Return an export of Canvas's gradebook.

    Args:
        titles: the title of the column of each lesson, by its stem.

    Raises:
        ExportError: it is none, or a column is missing or has no points possible.
    """
    header = [cell.text for cell in table.rows[0]]
    if "ID" not in header:
        raise ExportError(f"{name} is no export of Canvas's gradebook: it has no column ID")
    if not titles:
        raise ExportError('name the column of each lesson, as in --column rope="RoPE (90121)"')
    number_at = header.index("ID")
    names_at = [header.index(title) for title in _NAMES if title in header]
    people, above = [], []
    for index, row in enumerate(table.rows[1:], start=1):
        if number := _text(row, number_at):
            names = [_text(row, at) for at in names_at]
            people.append(Person(index, number, _spellings(names)))
        else:
            above.append(row)
    columns = []
    for lesson, title in titles.items():
        index = find_column(name, header, title)
        maxima = [one for row in above if (one := number_in(_text(row, index)))]
        if not maxima:
            raise ExportError(f'{name} gives no points possible for "{title}"')
        columns.append(Column(lesson, index, title, maxima[-1]))
    return Export(name, "Canvas", table, people, columns)


def _text(row: list[Cell], index: int) -> str:
    return row[index].text if index < len(row) else ""


def _spellings(names: list[str]) -> frozenset[str]:
    """Return the ways to write a student's names: "Doe, Jane" is Jane Doe, too."""
    spellings = set()
    for name in names:
        last, _, first = name.partition(",")
        spellings |= {letters(name), letters(f"{first}{last}"), letters(name.partition("@")[0])}
    return frozenset(spellings - {""})
