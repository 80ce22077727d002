"""Where in a class the students' work lies: seen by looking, not asked."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from course.grading.names import shown
from course.grading.submissions.file_names import SOURCES, is_loose_module, platform_name
from course.grading.submissions.files import (
    Archive,
    Bounded,
    Folder,
    Unreadable,
    open_regular,
    open_zip,
)
from course.grading.submissions.owners import owner_of, owners_of

MAX_CLASS_DIRECTORY_BYTES = 64 << 20
_OF_COURSE = {"benchmarks", "course", "data", "exercises", "notebooks", "solutions", "tests"}
"""Folders that may lie beside a student's `exercises`: nobody is called so."""
_OF_NBGRADER = {"submitted", "source", "release", "autograded", "feedback", "downloaded", "graded"}
"""Folders that may lie beside nbgrader's `submitted`."""


class SubmissionsError(Exception):
    """Why there is no class to read, in one sentence."""


def open_class(path: Path, stack: contextlib.ExitStack) -> Folder | Archive:
    if path.is_dir():
        return Folder(path)
    if not os.path.lexists(path):
        raise SubmissionsError(f"there is nothing at {shown(path)}")
    if not path.is_file() or path.suffix.lower() != ".zip":
        raise SubmissionsError(f"{shown(path)} is neither a folder nor a zip")
    try:
        file = stack.enter_context(open_regular(path))
        opened = open_zip(Bounded(file, MAX_CLASS_DIRECTORY_BYTES), stack)
    except Unreadable as error:
        raise SubmissionsError(f"{shown(path)} {error}") from None
    return Archive.read(opened)


def find_students(source: Folder | Archive, path: Path) -> tuple[Folder | Archive, dict[str, str]]:
    """The folder that holds the students' work, and the names in it that are theirs."""
    if _is_work(source):
        kind = "folder" if isinstance(source, Folder) else "file"
        return Folder(path.parent), {path.name: kind}
    if isinstance(source, Archive):
        source = _without_wrapping(source)
    names = source.names()
    if names.get("submitted") == "folder" and not _holds_others(names, _OF_NBGRADER):
        source = source.inside("submitted")
    elif names.keys() >= {"submitted", "gradebook.db"}:
        raise SubmissionsError(
            f"{shown(path)} holds other folders than nbgrader's: grade its folder `submitted`"
        )
    return source, source.names()


def _without_wrapping(zipped: Archive) -> Archive:
    """Who zips a folder gets a zip that holds only that folder: go into it."""
    names = zipped.names()
    is_a_folder = [*names.values()] == ["folder"]
    if is_a_folder and "submitted" not in names and not platform_name(*names, "folder"):
        inner = zipped.inside(*names)
        beside = [name for name, kind in inner.names().items() if is_loose_module(name, kind)]
        sources = [name for own in owners_of(inner.names()).values() for name in own]
        a_class = len(sources + beside) > 1 or "submitted" in inner.names()
        if a_class and not _is_work(inner):
            return inner
    return zipped


def _is_work(source: Folder | Archive) -> bool:
    """Whether this is the work of one student, with nothing beside it that may be another's."""
    names = source.names()
    place = source.inside("exercises").names() if names.get("exercises") == "folder" else names
    is_there = any(is_loose_module(name, kind) for name, kind in place.items())
    return is_there and not _holds_others(names, _OF_COURSE)


def _holds_others(names: Mapping[str, str], own: set[str]) -> bool:
    """Whether anything may be another student's, beside some folders and sources without owner."""
    return any(
        name not in own
        and owner_of(name, kind)
        and (kind != "file" or platform_name(name) or Path(name).suffix.lower() not in SOURCES)
        for name, kind in names.items()
    )
