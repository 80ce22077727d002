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
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from glob import glob
from pathlib import Path
from unicodedata import category

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from course.building.submission import MAX_MODULE_BYTES
from course.grading.names import shown
from course.grading.submissions.hard_links import names_within
from course.syllabus import Lesson

MAX_FILE_BYTES = 20 << 20
NOT_PLAIN = "a student's name begins with a letter or digit and has only these, ._-+@ and spaces"

_MAX_NAMES = 500
"""Files of a folder that are looked at for other names of a file."""
_NEVER_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?( ([A-Z]{1,5}|[+-]\d\d(\d\d)?))?")


# --- files ----------------------------------------------------------------------------------


class Unreadable(Exception):
    """A reason why a file is not read, in a sentence."""


class Closed(Unreadable):
    """A reason why this machine cannot read a file, which is no fault of the student's."""


class Folder:
    """A folder that a student filled, to be used in a `with` block: its own regular files.

    It is opened once and its files are opened from there, so that nobody can put another in its
    place meanwhile.
    """

    def __init__(self, path: str | Path) -> None:
        try:
            self._handle = os.open(path, _NEVER_FOLLOW | os.O_DIRECTORY)
        except OSError as error:
            raise _unreadable(Path(path).name, error) from None

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._handle)

    def names(self) -> list[str]:
        """Return what lies in the folder, files or not."""
        return sorted(os.listdir(self._handle))

    def read(self, name: str, at_most: int) -> bytes:
        """Return what a file holds.

        Raises:
            Unreadable: there is no such file, it is a link, no file, or has more bytes.
        """
        try:
            with open(name, "rb", opener=self._open) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise OSError(errno.EISDIR, "")
                if status.st_nlink > 1 and not self._is_own(status):
                    raise OSError(errno.ELOOP, "")
                data = file.read(at_most + 1)
        except OSError as error:
            raise _unreadable(name, error) from None
        if len(data) > at_most:
            raise Unreadable(f"{name} is larger than {at_most >> 20} MB, so it was not read.")
        return data

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, _NEVER_FOLLOW, dir_fd=self._handle)

    def _is_own(self, status: os.stat_result) -> bool:
        """Return whether all names of a file lie in this folder.

        Its owner has to be the folder's: who renames a file of another's while its names are
        counted could have it counted twice.
        """
        is_owners = status.st_uid == os.fstat(self._handle).st_uid
        names = names_within(Path(f"/proc/self/fd/{self._handle}"), _MAX_NAMES)
        return is_owners and names[status.st_dev, status.st_ino] == status.st_nlink


def _unreadable(name: str, error: OSError) -> Unreadable:
    if error.errno == errno.ENOENT:
        return Unreadable(f"{name} was not handed in.")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Unreadable(f"{name} is a link to another place, so it was not read.")
    if error.errno in (errno.EISDIR, errno.ENXIO):  # no file, or a socket
        return Unreadable(f"{name} is not a file.")
    return Closed(f"{name} cannot be read: {error.strerror}.")


# --- names and times ------------------------------------------------------------------------


def is_plain(name: str) -> bool:
    """Return whether a name is fit for a student.

    >>> is_plain("Zoë van-Dyk_2@uni.nl"), is_plain("<b>"), is_plain("=1+1"), is_plain("*")
    (True, False, False, False)
    """
    signs = {sign for sign in name if category(sign)[0] not in "LMN"}  # letters, accents, numbers
    return name[:1].isalnum() and not name.endswith(" ") and signs <= set("._-+@ ")


def is_time(text: str) -> bool:
    """Return whether a text is a time as nbgrader writes it.

    The form is looked at first, for `parse_utc` takes a time zone for the name of a file.
    """
    try:
        return bool(_TIME.fullmatch(text) and parse_utc(text))
    except (ValueError, OverflowError):
        return False


def submitted(
    course: CourseDirectory, students: str, assignment: str
) -> tuple[dict[str, Path], list[str]]:
    """Return the folder of each student, and a sentence for each folder that is left out.

    Args:
        students: a pattern of their names.
        assignment: its name, or `*` for any.
    """
    any_or_this = "[^/]*" if assignment == "*" else re.escape(assignment)
    form = course.format_path(course.submitted_directory, "(?P<id>.*)", any_or_this, escape=True)
    folders, left_out = {}, []
    for path in sorted(glob(course.format_path(course.submitted_directory, students, assignment))):
        student, folder = re.fullmatch(form, path, re.DOTALL)["id"], Path(path)
        if not is_plain(student):
            why = NOT_PLAIN
        elif folder.is_symlink() or folder.parent.is_symlink():
            why = "a link to another place is not followed"
        elif not folder.is_dir():
            why = "it is no folder"
        else:
            folders[student] = folder
            continue
        left_out.append(f"{os.path.relpath(path, course.root)!r} was left out: {why}")
    return folders, left_out


def submitted_students(api: NbGraderAPI, assignment: str) -> set[str]:
    """Return whom formgrader lists: for `NbGraderAPI.get_submitted_students`."""
    folders, left_out = submitted(api.coursedir, "*", assignment)
    for sentence in left_out:
        api.log.warning("%s", sentence)
    return set(folders)


def submitted_time(api: NbGraderAPI, assignment: str, student: str) -> datetime | None:
    """Return the time of a submission, if known: for `NbGraderAPI.get_submitted_timestamp`."""
    course = api.coursedir
    try:
        with Folder(course.format_path(course.submitted_directory, student, assignment)) as folder:
            text = _text(folder.read("timestamp.txt", 1000))
    except Unreadable:
        return None
    return parse_utc(text) if is_time(text) else None


# --- a submission ---------------------------------------------------------------------------


_OWN_FILES = {
    "timestamp.txt": is_time,
    "submission_secret.txt": re.compile("[0-9a-f]{32,256}").fullmatch,
}
"""The files that nbgrader adds, and what they have to hold."""


@dataclass(frozen=True)
class HandedIn:
    """A submission.

    Attributes:
        module: the source of the module, if it is there.
        notebooks: the cells of each notebook of the assignment, as they came: `[]` if it cannot be
            read, None if none was handed in.
        texts: the files that nbgrader adds, if they are there and as it writes them.
        remarks: a sentence for everything that is odd.
    """

    module: bytes | None
    notebooks: dict[str, list[dict] | None]
    texts: dict[str, str]
    remarks: list[str]


def read_handed_in(path: Path, lesson: Lesson, notebooks: Iterable[str] = ()) -> HandedIn:
    """Read a submission; what a student made unreadable counts as missing, and a remark says so.

    Args:
        notebooks: the names of those that are wanted.

    Raises:
        Unreadable: this machine cannot read it.
    """
    remarks: list[str] = []

    def read(name: str, at_most: int) -> bytes | None:
        try:
            return folder.read(name, at_most)
        except Closed:
            raise
        except Unreadable as why:
            remarks.append(str(why))
            return None

    cells: dict[str, list[dict] | None] = {}
    texts = {}
    with Folder(path) as folder:
        present = folder.names()
        module = read(f"{lesson.stem}.py", MAX_MODULE_BYTES)
        for name in notebooks:
            data = read(f"{name}.ipynb", MAX_FILE_BYTES)
            cells[name] = _cells(data or b"")
            if data is not None and not cells[name]:
                remarks.append(f"{name}.ipynb is no notebook or empty: its answers are missing.")
        for name, is_right in _OWN_FILES.items():
            if name in present:
                text = _text(read(name, 1000) or b"")
                if is_right(text):
                    texts[name] = text
                else:
                    remarks.append(f"{name} is not as nbgrader writes it.")
    absent = [name for name in cells if f"{name}.ipynb" not in present]
    others = [name for name in present if name.endswith(".ipynb") and name[:-6] not in cells]
    if absent and others:  # it may have got another name
        remarks.append(f"{shown(others[0])} is no notebook of this assignment.")
    else:
        cells |= dict.fromkeys(absent)
    return HandedIn(module, cells, texts, remarks)


def _cells(data: bytes) -> list[dict]:
    """Return the cells of a notebook as they came, whatever they are; none if it is no notebook."""
    try:
        cells = json.loads(data)["cells"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return [cell for cell in cells if isinstance(cell, dict)] if isinstance(cells, list) else []


def _text(data: bytes) -> str:
    return data.decode("ascii", errors="replace").strip()
