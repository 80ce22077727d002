"""Tables that platforms export: who is in the class, and when something was handed in.

Source: Canvas, "How do I export grades in the Gradebook?"; Moodle, "Offline grading worksheet";
GitHub Classroom, "Download grades" and "Download roster".
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from course.grading.class_file.settings import Person
from course.grading.names import safe_name

CANVAS, MOODLE, CLASSROOM = "Canvas", "Moodle", "GitHub Classroom"

_SIGNS = {
    CANVAS: {"student", "id", "section"},
    MOODLE: {"email address"},
    CLASSROOM: {"github_username"},
}
"""Columns by which a platform is recognized, in small letters."""


class ExportError(Exception):
    """A sentence on why a table cannot be read."""


@dataclass(frozen=True)
class Row:
    """What a table says of one student.

    Attributes:
        person: who it is; the key is made from what the table has.
        number: Moodle's number of the student in this assignment, which stands in file names.
        repository: the name of the student's repository on GitHub, without its owner.
        time: when it was handed in, as the table says it.
    """

    person: Person
    number: str = ""
    repository: str = ""
    time: str = ""


@dataclass(frozen=True)
class Export:
    """A table, as it came.

    Attributes:
        platform: CANVAS, MOODLE or CLASSROOM.
        header: the titles of its columns.
        table: its rows below, cell by cell.
        delimiter: what stands between two cells.
    """

    platform: str
    header: list[str]
    table: list[list[str]]
    delimiter: str

    def rows(self) -> Iterator[Row]:
        """Yield what it says of each student."""
        yield from filter(None, map(self.row, self.cells()))

    def row(self, cells: Mapping[str, str]) -> Row | None:
        """Return what one row says; None if it is about no student."""
        return _READERS[self.platform](cells)

    def cells(self) -> Iterator[Mapping[str, str]]:
        """Yield each row, by the titles in small letters."""
        titles = [title.strip().lower() for title in self.header]
        for row in self.table:
            cells = zip(titles, (cell.strip() for cell in row), strict=False)
            yield dict.fromkeys(titles, "") | dict(cells)  # a row that was cut off is short


def read_export(path: Path) -> Export:
    """Return a table that Canvas, Moodle or GitHub Classroom has exported.

    Raises:
        ExportError: it cannot be read, is none of these, or names no student.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ExportError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ExportError(
            f'{path} is no CSV in UTF-8: export it anew, or save it as "CSV UTF-8"'
        ) from None
    for delimiter in ",;\t":
        try:
            table = list(csv.reader(io.StringIO(text), delimiter=delimiter))
        except csv.Error:
            continue
        titles = {title.strip().lower() for title in table[0]} if table else set()
        for platform, signs in _SIGNS.items():
            if signs <= titles:
                export = Export(platform, table[0], table[1:], delimiter)
                if not any(export.rows()):
                    raise ExportError(f"{path} names no student")
                return export
    raise ExportError(
        f"{path} is no table of Canvas's, Moodle's or GitHub Classroom's: none of their columns "
        "stands in its first line, in English"
    )


def _of_canvas(cells: Mapping[str, str]) -> Row | None:
    name, number = cells["student"], cells["id"]
    if not number.isdigit() or name == "Student, Test":  # the row of points, and Canvas's puppet
        return None
    login, own = cells.get("sis login id", ""), cells.get("sis user id", "")
    email = login if "@" in login else ""
    key = _key(login.partition("@")[0], own, number)
    section = cells["section"]
    return Row(Person(key, name, own, email, login, section, canvas=number))


def _of_moodle(cells: Mapping[str, str]) -> Row | None:
    given = " ".join(filter(None, (cells.get("first name"), cells.get("last name"))))
    name = cells.get("full name") or given or cells.get("surname", "")
    email, own = cells["email address"], cells.get("id number", "")
    if not (name or email):
        return None
    number = re.search(r"\d+$", cells.get("identifier", ""))
    section = cells.get("group") or cells.get("groups", "")
    person = Person(_key(email.partition("@")[0], own, name), name, own, email, section=section)
    time = cells.get("last modified (submission)", "")
    return Row(person, number[0] if number else "", time="" if time == "-" else time)


def _of_classroom(cells: Mapping[str, str]) -> Row | None:
    user = cells["github_username"]
    identifier = cells.get("identifier") or cells.get("roster_identifier", "")
    if not (user or identifier):
        return None
    email = identifier if "@" in identifier else ""
    person = Person(_key(user, identifier), cells.get("name", ""), identifier, email, github=user)
    repository = cells.get("student_repository_name", "").rpartition("/")[2]
    return Row(person, repository=repository, time=cells.get("submission_timestamp", ""))


_READERS = {CANVAS: _of_canvas, MOODLE: _of_moodle, CLASSROOM: _of_classroom}


def _key(*candidates: str) -> str:
    """Return the first that is there, as a key."""
    return next(safe_name(one) for one in (*candidates, "unnamed") if one)


_FORMS = (
    *("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p"),
    *("%A, %d %B %Y, %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"),
)
"""The times of an English Moodle, and those of machines."""


def time_of(text: str, zone: tzinfo | None = None) -> datetime | None:
    """Return the time that a table gives, or None if it cannot be told.

    Args:
        zone: where a time is meant that names no zone itself; None is this computer's.

    >>> time_of("Wednesday, 10 June 2026, 2:14 PM", UTC).isoformat()
    '2026-06-10T14:14:00+00:00'
    >>> time_of("2026-06-10 14:14:00 UTC").isoformat()
    '2026-06-10T14:14:00+00:00'
    """
    text = " ".join(text.split())
    if match := re.fullmatch(r"(.*\d) ?UTC", text):
        text, zone = match[1], UTC
    found = None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        for form in _FORMS:
            try:
                found = datetime.strptime(text, form)
                break
            except ValueError:
                continue
    if found is None or found.tzinfo:
        return found
    return found.replace(tzinfo=zone) if zone else found.astimezone()
