"""What a student handed in, read and never run."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nbgrader.utils import parse_utc

from course.building.submission import MAX_MODULE_BYTES
from course.grading.names import shown
from course.grading.nbgrader.untrusted import Folder, Unreadable
from course.syllabus import Lesson

MAX_NOTEBOOK_BYTES = 20 << 20

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( ([A-Z]{1,5}|[+-]\d\d(\d\d)?))?")
_SECRET = re.compile("[0-9a-f]{32,256}")


@dataclass(frozen=True)
class HandedIn:
    """What one student handed in.

    Attributes:
        module: the source of the module, if it is there.
        notebooks: the cells of each notebook of the assignment, as they came: `[]` if it cannot be
            read, None if none was handed in.
        timestamp, secret: the texts of nbgrader's two files, or nothing.
        remarks: a sentence for everything that is odd.
    """

    student: str
    module: bytes | None
    notebooks: dict[str, list[dict] | None]
    timestamp: str
    secret: str
    remarks: tuple[str, ...]


def read_handed_in(
    student: str, path: Path, lesson: Lesson, notebooks: Iterable[str] = ()
) -> HandedIn:
    """Read the folder that a student handed in.

    What cannot be read is as if it were not there, and a remark says so.

    Args:
        notebooks: the names of those that are wanted.
    """
    remarks: list[str] = []

    def read(name: str, at_most: int) -> bytes | None:
        try:
            return folder.read(name, at_most)
        except Unreadable as why:
            remarks.append(str(why))
            return None

    cells: dict[str, list[dict] | None] = {name: [] for name in notebooks}
    module, timestamp, secret = None, "", ""
    try:
        with Folder(path) as folder:
            present = folder.names()
            module = read(f"{lesson.stem}.py", MAX_MODULE_BYTES)
            for name in cells:
                data = read(f"{name}.ipynb", MAX_NOTEBOOK_BYTES)
                try:
                    cells[name] = [] if data is None else _cells(data)
                except ValueError:
                    remarks.append(f"{name}.ipynb is no notebook, so its answers are missing.")
            wanted = {f"{name}.ipynb": name for name in cells}
            absent = wanted.keys() - set(present)
            others = [name for name in present if name.endswith(".ipynb") and name not in wanted]
            if absent and others:  # it may have got another name
                remarks.append(f"{shown(others[0])} is no notebook of this assignment.")
            else:
                cells |= {wanted[file]: None for file in absent}
            if "timestamp.txt" in present:
                timestamp = _text(read("timestamp.txt", 1000))
                if not is_time(timestamp):
                    timestamp = ""
                    remarks.append("timestamp.txt holds no time.")
            if "submission_secret.txt" in present:
                text = _text(read("submission_secret.txt", 1000))
                secret = text if _SECRET.fullmatch(text) else ""
    except Unreadable as why:
        remarks.append(str(why))
    return HandedIn(student, module, cells, timestamp, secret, tuple(remarks))


def _cells(data: bytes) -> list[dict]:
    """The cells of a notebook as they came, whatever they are.

    Raises:
        ValueError: it is no notebook.
    """
    try:
        cells = json.loads(data)["cells"]
    except (LookupError, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    if not isinstance(cells, list):
        raise ValueError("no list of cells")
    return [cell for cell in cells if isinstance(cell, dict)]


def is_time(text: str) -> bool:
    """Whether this is a time as nbgrader writes it.

    The form is looked at first, for `parse_utc` takes a time zone for the name of a file.
    """
    try:
        return bool(_TIME.fullmatch(text) and parse_utc(text))
    except (ValueError, OverflowError):
        return False


def _text(data: bytes | None) -> str:
    return (data or b"").decode("ascii", errors="replace").strip()
