"""Moodle's grading worksheets, and exports of its gradebook, in any language.

A worksheet is of one assignment. It is recognized by its shape: the first column holds a word and
a number ("Participant 12"), and right of the grades is a column with the maximum grade. An export
of the gradebook has neither, so its columns have to be named.

Source: Moodle, mod/assign/gradingtable.php and mod/assign/feedback/offline/importgradeslib.php.
"""

import re
from collections.abc import Mapping, Sequence

from course.core.syllabus import Lesson, find_lesson
from course.grading.lms.export import BLANK, Column, Export, Person, find_column, spellings
from course.grading.lms.table import ExportError, Table, number_in

_IDENTIFIER = re.compile(r"(?=\D*[^\W\d])[^\d#]\D{0,49}(\d{1,20})")
"""In a worksheet's first column: "Participant 12"; Brightspace's students are "#S1000"."""
_NO = re.compile(
    "no|nein|non|nee|nej|nei|não|nie|ne|нет|ні|否|いいえ|아니요|아니오|hayır|όχι|ei|nem|nu|لا|לא",
    re.IGNORECASE,
)
"""The words of "Grade can be changed" for a locked grade."""


def read_moodle(table: Table, titles: Mapping[str, str], graded: Sequence[Lesson]) -> Export:
    """Return a grading worksheet, or an export of the gradebook.

    Args:
        titles: the title of the column of each lesson, by its stem; a worksheet needs none.
        graded: the lessons of this run.

    Raises:
        ExportError: it is neither, or a column is missing or not one of grades.
    """
    header, rows = table.rows[0], range(1, len(table.rows))
    numbers = moodle_numbers(table)
    is_worksheet = bool(numbers)
    if titles:
        lessons = {find_lesson(stem): find_column(table, titles[stem]) for stem in titles}
    else:
        index = _grades_before_maximum(table) if is_worksheet else None
        if index is None:
            raise ExportError(
                f"{table.name} does not look like Moodle's grading worksheet, which starts with a "
                'column such as "Participant 12" and has a column of maximum grades; name the '
                'column of grades, as in --column rope="Grade"'
            )
        if len(graded) != 1:
            raise ExportError(
                f"{table.name} is for one assignment, but you are grading {len(graded)} lessons: "
                f'name the lesson, as in --column rope="{header[index]}"'
            )
        lessons = {graded[0]: index}
    columns = [_column(table, *one, is_worksheet) for one in lessons.items()]
    names = slice(int(is_worksheet), min(lessons.values()))
    people = [Person(row, numbers.get(row, ""), spellings(table.rows[row][names])) for row in rows]
    return Export("moodle_id", table, people, columns)


def moodle_numbers(table: Table) -> dict[int, str]:
    """Return the number of the student in each row of a worksheet; none of any other table."""
    rows = range(1, len(table.rows))
    found = {row: _IDENTIFIER.fullmatch(table.rows[row][0]) for row in rows}
    return {row: found[row][1] for row in rows} if all(found.values()) else {}


def _grades_before_maximum(table: Table) -> int | None:
    """Return the index of the last column that is left of a column of maximum grades.

    Further left, an empty column may be left of grades that are all the same.
    """
    places = range(len(table.rows[0]) - 2, 0, -1)
    return next((at for at in places if _maximum(table, at) and _is_of_grades(table, at)), None)


def _maximum(table: Table, index: int) -> float | None:
    """Return the one number in the column right of another one, if it holds only that."""
    found = {table.text(row, index + 1) for row in range(1, len(table.rows))}
    return number_in(found.pop()) if len(found) == 1 else None


def _is_of_grades(table: Table, index: int) -> bool:
    """Return whether a column holds blanks or numbers; some of its cells may be words."""
    texts = (table.text(row, index) for row in range(1, len(table.rows)))
    return any(text in BLANK or number_in(text) is not None for text in texts)


def _column(table: Table, lesson: Lesson, index: int, is_worksheet: bool) -> Column:
    """Return a column of grades.

    Raises:
        ExportError: it is none, or its maximum is not known.
    """
    title, body = table.rows[0][index], table.rows[1:]
    texts = [row[index] for row in body if index < len(row)]
    if not _is_of_grades(table, index) or any(text.endswith("%") for text in texts):
        raise ExportError(f'the column "{title}" in {table.name} does not contain grades in points')
    if not is_worksheet:
        if above := [text for text in texts if (number_in(text) or 0) > lesson.points]:
            raise ExportError(
                f'{table.name} has no maximum grade for "{title}", and {above[0]} is more than '
                f"{lesson.stem}'s {lesson.points} points: use the assignment's grading worksheet"
            )
        return Column(lesson.stem, index, lesson.points)
    maximum = _maximum(table, index)
    if not maximum:
        raise ExportError(f'{table.name} has no maximum grade to the right of "{title}"')
    may_change = slice(index + 2, index + 4)  # "Grade can be changed", perhaps after a workflow
    locked = (n for n, row in enumerate(body, start=1) if any(map(_NO.fullmatch, row[may_change])))
    return Column(lesson.stem, index, maximum, frozenset(locked))
