"""Whose work lies in `submitted/`: students with a name that is no more than a name.

A name goes into formgrader's pages, terminals, tables and patterns of file names, where it could be
HTML, a command, a formula or the names of others. The folders come from elsewhere, so one rule
holds wherever names are taken from them: in `collect`, in `autograde` and in formgrader.
"""

import os
import re
from datetime import datetime
from glob import glob
from pathlib import Path
from unicodedata import category

from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import parse_utc

from course.grading.nbgrader.handed_in import is_time
from course.grading.nbgrader.untrusted import Folder, Unreadable

NOT_PLAIN = "a student's name begins with a letter or digit and has only these, ._-+@ and spaces"


def is_plain(name: str) -> bool:
    """Whether a name is fit for a student.

    >>> is_plain("Zoë van-Dyk_2@uni.nl"), is_plain("<b>"), is_plain("=1+1"), is_plain("*")
    (True, False, False, False)
    """
    signs = {sign for sign in name if category(sign)[0] not in "LMN"}  # letters, accents, numbers
    return name[:1].isalnum() and not name.endswith(" ") and signs <= set("._-+@ ")


def submitted(
    course: CourseDirectory, students: str, assignment: str
) -> tuple[dict[str, Path], list[str]]:
    """What was handed in.

    Args:
        students: a pattern of their names.
        assignment: its name, or `*` for any.

    Returns:
        the folder of each student, and a sentence for each folder that is left out.
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
    """The students whom formgrader lists: for `NbGraderAPI.get_submitted_students`."""
    folders, left_out = submitted(api.coursedir, "*", assignment)
    for sentence in left_out:
        api.log.warning("%s", sentence)
    return set(folders)


def submitted_time(api: NbGraderAPI, assignment: str, student: str) -> datetime | None:
    """When it was handed in, if that is known: for `NbGraderAPI.get_submitted_timestamp`."""
    course = api.coursedir
    try:
        with Folder(course.format_path(course.submitted_directory, student, assignment)) as folder:
            text = folder.read("timestamp.txt", 1000).decode("ascii", errors="replace").strip()
    except Unreadable:
        return None
    return parse_utc(text) if is_time(text) else None
