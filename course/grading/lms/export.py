"""An export of an LMS: who is who in it, and the points that are filled in."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise

from course.core.syllabus import did_you_mean, find_lesson
from course.grading.grades import Grades, LessonStatus
from course.grading.lms.table import ExportError, Table, number_in
from course.grading.names import shown
from course.grading.submissions import Submission
from course.testing.messages.wording import counted

BLANK = ("", "-")
"""The cells of those who have no grade yet; Moodle writes the dash."""


@dataclass(frozen=True)
class Person:
    """A student in an export.

    Attributes:
        row: the row of the table.
        number: the LMS's number of the student; empty if the export has none.
        names: what the student may be called; see `spellings`.
    """

    row: int
    number: str
    names: frozenset[str]


@dataclass(frozen=True)
class Column:
    """The column for the grades of a lesson.

    Attributes:
        maximum: the points that it gives at most.
        locked: the rows whose grade cannot be changed in the LMS.
    """

    lesson: str
    index: int
    maximum: float
    locked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Export:
    """An export, as it came.

    Attributes:
        number: the attribute of a `Submission` that holds the LMS's number of its student.
    """

    number: str
    table: Table
    people: Sequence[Person]
    columns: Sequence[Column]


def columns_named(options: Iterable[str]) -> dict[str, str]:
    """Return the title of the column of each lesson, from `rope=RoPE (90121)` and the like.

    Raises:
        ExportError: an option has no title, or two have the same lesson or column.
        UnknownName: an option names no lesson.
    """
    titles: dict[str, str] = {}
    for option in options:
        name, _, title = (part.strip() for part in option.partition("="))
        if not (name and title):
            raise ExportError(f'--column {option}: write LESSON=TITLE, as in rope="RoPE (90121)"')
        stem = find_lesson(name).stem
        if stem in titles:
            raise ExportError(f"--column names two columns for {stem}: {titles[stem]} and {title}")
        if title in titles.values():
            raise ExportError(f'--column names "{title}" for two lessons')
        titles[stem] = title
    return titles


def find_column(table: Table, title: str) -> int:
    """Return the index of the column with a title.

    Raises:
        ExportError: no column has it, or several have.
    """
    found = [index for index, one in enumerate(table.rows[0]) if one == title]
    if len(found) == 1:
        return found[0]
    if found:
        raise ExportError(f'{table.name} has {len(found)} columns with the title "{title}"')
    meant = did_you_mean(title, map(shown, table.rows[0]))
    raise ExportError(f'{table.name} has no column "{title}"{f"; {meant}" if meant else ""}')


def spellings(cells: Sequence[str]) -> frozenset[str]:
    """Return what a student may be called: a cell, a login without its domain, or two cells.

    Only letters and digits count, because in names of files an LMS drops other signs.

    >>> sorted(spellings(["O'Neil, Zoë", "zo@x.org"]))[:3]
    ['oneilzoë', 'oneilzoëzoxorg', 'zo']
    """
    found = {*cells, *(cell.partition("@")[0] for cell in cells)}
    for one, other in [*(cell.partition(",")[::2] for cell in cells), *pairwise(cells)]:
        found |= {f"{one}{other}", f"{other}{one}"}
    return frozenset(map(_letters, found)) - {""}


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", name)).casefold()


def find_people(
    export: Export, submissions: Iterable[Submission]
) -> tuple[dict[str, int], list[str], list[str]]:
    """Return each student's row, who is not in the export, and who fits no row alone.

    A student is found by the LMS's number, else by a name that only one has, here and there. A
    number that the export does not have is another person's, unless it has none of the numbers:
    those of Moodle are of one assignment.

    If two fit one row, neither gets it: one may have taken the other's name.

    Raises:
        ExportError: the export has a number twice.
    """
    by_number = {one.number: one.row for one in export.people if one.number}
    numbers = Counter(one.number for one in export.people if one.number)
    for number, n in numbers.items():
        if n > 1:
            raise ExportError(f"{export.table.name} has two students with the number {number}")
    named = Counter(name for one in export.people for name in {*one.names, one.number} - {""})
    by_name = {name: one.row for one in export.people for name in one.names if named[name] == 1}
    own = {one.student: getattr(one, export.number) for one in submissions}
    has_numbers = export.number == "canvas_id" or not by_number.keys().isdisjoint(own.values())
    called = {one: _letters(one.removesuffix(f"~{number}")) for one, number in own.items()}
    n_called = Counter(called.values())
    found: dict[str, int] = {}
    strangers, unclear = [], []
    for student, number in own.items():
        name = called[student]
        if number and has_numbers:
            row = by_number.get(number)
        elif named[name] > 1 or (named[name] and n_called[name] > 1):
            unclear.append(student)
            continue
        else:
            row = by_name.get(name)
        if row is None:
            strangers.append(student)
        else:
            found[student] = row
    n_found = Counter(found.values())
    unclear += [student for student, row in found.items() if n_found[row] > 1]
    return {one: row for one, row in found.items() if n_found[row] == 1}, strangers, unclear


def _scaled(maximum: float, points: int, worth: int) -> float:
    """Return points of `worth` as points of `maximum`, with two decimals, half rounded up.

    >>> _scaled(8.5, 19, 20)  # 8.075, which no float is exactly
    8.08
    """
    exact = Decimal(str(maximum)) * points / worth
    return float(exact.quantize(Decimal("0.01"), ROUND_HALF_UP))


def filled_in(export: Export, rows: Mapping[str, int], grades: Grades) -> tuple[bytes, list[str]]:
    """Return the export with points, scaled to what each column gives at most, and notes.

    A cell stays as it was where nothing was handed in or graded, where the LMS has locked it, and
    where it holds a word, such as EX.

    Args:
        rows: the row of each student.
    """
    columns = {column.lesson: column for column in export.columns}
    numbers: dict[tuple[int, int], float] = {}
    n_same, n_replaced = 0, 0
    kept: dict[str, list[str]] = {}
    short: dict[str, list[str]] = {}
    for student in grades.students:
        row = rows.get(student.student)
        for grade in student.lessons if row else ():
            column = columns.get(grade.lesson.stem)
            if column is None or grade.status != LessonStatus.GRADED:
                continue
            text = export.table.text(row, column.index)
            number = number_in(text)
            points = _scaled(column.maximum, grade.points, grade.worth)
            if text is None:
                short.setdefault(grade.lesson.stem, []).append(student.student)
            elif row in column.locked or (number is None and text not in BLANK):
                kept.setdefault(grade.lesson.stem, []).append(student.student)
            elif points == number:
                n_same += 1
            else:
                numbers[row, column.index] = points
                n_replaced += number is not None
    n_new = counted(len(numbers) - n_replaced, "grade")
    about = [f"{n_new} filled in, {n_replaced} replaced, {n_same} already there."]
    about += [
        f"{stem}: locked or excused, so not changed: {'; '.join(own)}."
        for stem, own in kept.items()
    ]
    about += [
        f"{stem}: the row is too short to have this column, so not filled in: {'; '.join(own)}."
        for stem, own in short.items()
    ]
    graded = {lesson.stem for lesson in grades.lessons}
    about += [
        f"{stem} was not graded, so its column is unchanged." for stem in columns.keys() - graded
    ]
    if export.number == "canvas_id":  # as in lib/gradebook_importer.rb
        titles = [export.table.rows[0][column.index] for column in export.columns]
        about += [
            f'Canvas may ignore the column "{title}" when you import it: rename it without "final".'
            for title in titles
            if "final" in title.casefold()
        ]
    return export.table.with_numbers(numbers), [f"{export.table.name}: {one}" for one in about]
