"""Moodle's grading worksheets, and exports of its gradebook, in any language.

A worksheet is of one assignment. It is recognized by its shape: the first column holds a word and
a number ("Participant 12"), and right of the grades is a column with the maximum grade. An export
of the gradebook has neither, so its columns have to be named.

Source: Moodle, mod/assign/gradingtable.php and mod/assign/feedback/offline/importgradeslib.php.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from course.grading.lms.export import (
    BLANK,
    Column,
    Export,
    ExportError,
    Person,
    find_column,
    letters,
)
from course.grading.lms.table import Cell, Table, number_in
from course.syllabus import Lesson, find_lesson

_IDENTIFIER = re.compile(r"\D*[^\W\d]\D*(\d+)")
_NO = re.compile(
    "no|nein|non|nee|nej|nei|não|nie|ne|нет|ні|否|いいえ|아니요|아니오|hayır|όχι|ei|nem|nu|لا|לא",
    re.IGNORECASE,
)
"""The words of "Grade can be changed" for a locked grade."""


def read_moodle(
    name: str, table: Table, titles: Mapping[str, str], graded: Sequence[Lesson]
) -> Export:
    """Return a grading worksheet, or an export of the gradebook.

    Args:
        titles: the title of the column of each lesson, by its stem; a worksheet needs none.
        graded: the lessons of this run.

    Raises:
        ExportError: it is neither, or a column is missing or not one of grades.
    """
    header, body = [cell.text for cell in table.rows[0]], table.rows[1:]
    is_worksheet = bool(body) and all(_IDENTIFIER.fullmatch(row[0].text) for row in body)
    if not titles:
        index = _grades_before_maximum(body) if is_worksheet else None
        if index is None:
            raise ExportError(
                f"{name} does not look like Moodle's grading worksheet, with a first column such "
                'as "Participant 12" and a column of maximum grades; name the column of the '
                'grades, as in --column rope="Grade"'
            )
        if len(graded) != 1:
            raise ExportError(
                f"{name} is of one assignment, and {len(graded)} lessons are graded: "
                f'name its lesson, as in --column rope="{header[index]}"'
            )
        columns = [_column(name, graded[0], header, body, index)]
    else:
        of_stem = {stem: find_lesson(stem) for stem in titles}
        columns = [
            _column(name, of_stem[stem], header, body, find_column(name, header, title))
            for stem, title in titles.items()
        ]
    first = min(column.index for column in columns)
    people = []
    for row, cells in enumerate(body, start=1):
        identifier = _IDENTIFIER.fullmatch(cells[0].text) if is_worksheet else None
        names = [cell.text for cell in cells[is_worksheet:first]]
        people.append(Person(row, identifier[1] if identifier else "", _spellings(names)))
    return Export(name, "Moodle", table, people, columns)


def _grades_before_maximum(body: Sequence[Sequence[Cell]]) -> int | None:
    """Return the index of the last column that is left of a column of maximum grades.

    Further left, an empty column may be left of grades that are all the same.
    """
    places = range(min(map(len, body)) - 2, 0, -1)
    return next((at for at in places if _maximum(body, at) and _is_of_grades(body, at)), None)


def _maximum(body: Sequence[Sequence[Cell]], index: int) -> float | None:
    """Return the one number in the column right of another one, if it holds just that."""
    found = {row[index + 1].text if index + 1 < len(row) else "" for row in body}
    return number_in(found.pop()) if len(found) == 1 else None


def _is_of_grades(body: Sequence[Sequence[Cell]], index: int) -> bool:
    """Return whether a column holds grades: numbers and blanks, and words at some of them."""
    cells = [row[index].text for row in body if index < len(row)]
    return any(cell in BLANK or number_in(cell) is not None for cell in cells)


def _column(
    name: str, lesson: Lesson, header: Sequence[str], body: Sequence[Sequence[Cell]], index: int
) -> Column:
    title, cells = header[index], [row[index].text for row in body if index < len(row)]
    if not _is_of_grades(body, index) or any(cell.endswith("%") for cell in cells):
        raise ExportError(f'the column "{title}" of {name} does not hold grades in points')
    maximum = _maximum(body, index)
    locked = frozenset(
        row
        for row, cells in enumerate(body, start=1)
        if maximum and any(_NO.fullmatch(cell.text) for cell in cells[index + 2 : index + 4])
    )
    if not maximum:
        maximum = float(lesson.points)
        if above := [cell for cell in cells if (number_in(cell) or 0) > maximum]:
            raise ExportError(
                f'{name} gives no maximum for "{title}", and {above[0]} is more than the '
                f"{lesson.points} points of {lesson.stem}; use the assignment's grading worksheet"
            )
    return Column(lesson.stem, index, title, maximum, locked)


def _spellings(cells: Sequence[str]) -> frozenset[str]:
    """Return what a student may be called: a cell, or two as the first and the last name."""
    spellings = {letters(cell.partition("@")[0]) for cell in cells} | set(map(letters, cells))
    for one, other in pairwise(cells):
        spellings |= {letters(one + other), letters(other + one)}
    return frozenset(spellings - {""})
