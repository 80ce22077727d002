"""Submissions as nbgrader keeps them, `submitted/STUDENT/5_rope/`: read, never run or followed.

They come from elsewhere. A student's name goes into formgrader's pages, terminals, tables and
patterns of file names, where it could be HTML, a command, a formula or the names of others. A file
could be a link to the instructor's solution. So one rule holds for names, and one way to read
files, wherever they are taken from: in `collect`, in `autograde` and in formgrader.
"""

import errno
import json
import os
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from unicodedata import category

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from course.core.files import MAX_MODULE_BYTES
from course.core.syllabus import Lesson, lessons
from course.grading.submissions import limits
from course.grading.submissions.files import open_regular, source_of_module

MAX_FILE_BYTES = 20 << 20
PLAIN = (
    "a student's name begins with a letter or digit and has only letters, digits, ._-+@~ and spaces"
)
TIME, SECRET = "timestamp.txt", "submission_secret.txt"
"""The files that nbgrader adds: when it was handed in, and where its feedback is released."""

_NEVER_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY
_NO_FILE = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)  # links, folders, sockets
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( ([A-Z]{1,5}|[+-]\d\d(\d\d)?))?")


def lesson_of(assignment: str) -> Lesson | None:
    """Return the lesson that an assignment is, by its name.

    >>> lesson_of("5_rope").stem
    'rope'
    >>> lesson_of("homework")
    """
    return next((lesson for lesson in lessons() if lesson.notebook.stem == assignment), None)


class NotRead(Exception):
    """A reason why a file is not read, in a sentence."""


class NotHandedIn(NotRead):
    """It is not there."""


def read_file(folder: str | Path, name: str, at_most: int) -> bytes:
    """Return what a regular file in a student's folder holds.

    The file and the folder may not be links, and the file may not have several names:
    what it leads to may be another's.

    Raises:
        NotRead: there is no such file, or more bytes are in it.
        OSError: this machine cannot read it, or it has several names, which may be no fault of the
            student's.
    """
    try:
        handle = os.open(folder, _NEVER_FOLLOW)
        try:
            with open_regular(name, folder=handle) as file:
                data = file.read(at_most + 1)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise NotHandedIn(f"{name} was not handed in.") from None
    except limits.HasOtherNames as error:
        raise OSError(f"{name} {error}") from None
    except (limits.Unreadable, OSError) as error:
        if isinstance(error, OSError) and error.errno not in _NO_FILE:
            raise
        raise NotRead(f"{name} is a link, or not a file, so it was not read.") from None
    if len(data) > at_most:
        most = f"{at_most >> 20} MB" if at_most >> 20 else f"{at_most} bytes"
        raise NotRead(f"{name} is larger than {most}, so it was not read.")
    return data


def is_plain(name: str) -> bool:
    """Return whether a name is fit for a student.

    >>> is_plain("Zoë van-Dyk_2@uni.nl"), is_plain("<b>"), is_plain("=1+1"), is_plain("*")
    (True, False, False, False)
    """
    signs = {sign for sign in name if category(sign)[0] not in "LMN"}  # letters, accents, numbers
    return name[:1].isalnum() and not name.endswith(" ") and signs <= set("._-+@~ ")


def time_in(text: str) -> datetime | None:
    """Return the time that a text is, as nbgrader writes it, if it is one.

    The form is looked at first, for `parse_utc` takes a time zone for the name of a file.
    """
    try:
        return parse_utc(text) if _TIME.fullmatch(text) else None
    except (ValueError, OverflowError):
        return None


def submitted(course: CourseDirectory, assignment: str) -> tuple[dict[str, Path], list[str]]:
    """Return the folder of each student, and a sentence for each folder that is left out.

    Args:
        assignment: its name, or `*` for any.
    """
    folders, left_out = {}, []
    for folder in sorted(Path(course.root, course.submitted_directory).glob(f"*/{assignment}")):
        is_link = folder.is_symlink() or folder.parent.is_symlink()
        if is_plain(folder.parent.name) and folder.is_dir() and not is_link:
            folders[folder.parent.name] = folder
        else:
            where = os.path.relpath(folder, course.root)
            left_out.append(f"{where!r} was left out: it must be a folder, not a link, and {PLAIN}")
    return folders, left_out


def submitted_students(api: NbGraderAPI, assignment: str) -> set[str]:
    """Return whom formgrader lists: for `NbGraderAPI.get_submitted_students`."""
    folders, left_out = submitted(api.coursedir, assignment)
    for sentence in left_out:
        api.log.warning("%s", sentence)
    return set(folders)


def submitted_time(api: NbGraderAPI, assignment: str, student: str) -> datetime | None:
    """Return the time of a submission, if known: for `NbGraderAPI.get_submitted_timestamp`."""
    course = api.coursedir
    folder = course.format_path(course.submitted_directory, student, assignment)
    try:
        return time_in(read_file(folder, TIME, 1000).decode("ascii", "replace").strip())
    except (NotRead, OSError):
        return None


@dataclass(frozen=True)
class HandedIn:
    """A submission.

    Attributes:
        module: the source of the module, if it is there.
        cells: those of the notebook, as they came; none if it cannot be read.
        texts: what the files hold that nbgrader adds, if they are there.
        remarks: a sentence for everything that is odd.
    """

    module: bytes | None
    cells: list[dict]
    texts: dict[str, str]
    remarks: list[str]


def read_handed_in(folder: Path, lesson: Lesson) -> HandedIn:
    """Read a submission; a notebook that a student made unreadable counts as missing.

    Raises:
        OSError: this machine cannot read it, or its module is there and cannot be read.
    """
    remarks: list[str] = []
    module = None
    try:
        module = source_of_module(read_file(folder, f"{lesson.stem}.py", MAX_MODULE_BYTES))
    except NotHandedIn as why:
        remarks.append(str(why))
    except NotRead as why:
        raise OSError(str(why).rstrip(".")) from None
    except limits.Unreadable as error:
        raise OSError(f"{lesson.stem}.py {error}") from None

    def read(name: str, at_most: int) -> bytes | None:
        try:
            return read_file(folder, name, at_most)
        except NotRead as why:
            remarks.append(str(why))
            return None

    name = f"{lesson.notebook.stem}.ipynb"
    data = read(name, MAX_FILE_BYTES)
    cells = _cells(data or b"")
    if data is not None and not cells:
        remarks.append(f"{name} is not a notebook, or has no cells.")
    added = [name for name in (TIME, SECRET) if os.path.lexists(folder / name)]
    texts = {name: (read(name, 1000) or b"").decode("ascii", "replace").strip() for name in added}
    if TIME in texts and not time_in(texts[TIME]):
        remarks.append(f"{TIME} doesn't contain a time.")
        del texts[TIME]
    return HandedIn(module, cells, texts, remarks)


def _cells(notebook: bytes) -> list[dict]:
    """Return the cells of a notebook as they came, whatever they are; none if it is no notebook."""
    try:
        cells = json.loads(notebook)["cells"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []
