"""A new version from a folder: a newer copy of the course, as it was published."""

from collections.abc import Iterator
from pathlib import Path

from course.building import build
from course.student.update.version import UpdateError, Version, is_students, plain

_NOT_OF_THE_COURSE = {
    *(".git", ".venv", "venv", ".course"),
    *("data", "graded", "site", "submission.zip"),
}
"""What lies at the top and is no part of a published course, but made by using it."""
_MADE_BY_TOOLS = {"__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".ruff_cache"}
_OWNED = ("course", "solutions")
"""Folders where only the course's files lie: what a new version has no more goes."""


def folder_version(root: Path, folder: Path, unfinished: bool) -> Version:
    """What a folder holds.

    Args:
        unfinished: an update was interrupted: what the student started from is known from then.

    Raises:
        UpdateError: it holds no course, or one that somebody has worked in.
    """
    place = _course_in(folder, root)
    files, programs = {}, set()
    for path, file in _files_below(place):
        files[path] = file.read_bytes()
        programs |= {path} if file.stat().st_mode & 0o100 else set()
    _check_unused(files)
    base = {} if unfinished else _derived(root)
    for owned in _OWNED:
        for path, _ in _files_below(root, owned):
            if path not in files:
                base[path] = b""
    return Version(str(folder), files, frozenset(programs), base, knows_base=False)


def _course_in(folder: Path, root: Path) -> Path:
    """The course in a folder: itself, or the one folder that unpacking has put into it."""
    if not folder.is_dir():
        raise UpdateError(f"there is no folder {folder}; if it is a zip, unpack it first")
    if folder.resolve() == root.resolve():
        raise UpdateError(f"{folder} is this course itself: name the folder of the newer copy")
    inner = [place for place in folder.iterdir() if place.is_dir()]
    found = [place for place in (folder, *inner) if _is_course(place)]
    if folder not in found[:1] and len(found) > 1:
        raise UpdateError(f"{folder} holds more than one copy of the course: name one of them")
    if not found:
        raise UpdateError(f"{folder} holds no copy of the course")
    return found[0]


def _is_course(place: Path) -> bool:
    return (place / "course" / "__init__.py").is_file() and (place / "exercises").is_dir()


def _files_below(root: Path, name: str = "") -> Iterator[tuple[str, Path]]:
    """The files of a course, by path; no link is followed."""
    for entry in sorted((root / name).iterdir()) if (root / name).is_dir() else ():
        path = f"{name}/{entry.name}" if name else entry.name
        if entry.is_symlink() or entry.name in _MADE_BY_TOOLS or path in _NOT_OF_THE_COURSE:
            continue
        if entry.is_dir():
            if not entry.name.endswith(".egg-info"):
                yield from _files_below(root, path)
        elif entry.is_file() and not entry.name.endswith((".pyc", ".DS_Store")):
            yield path, entry


def _check_unused(files: dict[str, bytes]) -> None:
    """Refuse a copy that somebody has worked in: their work would become everyone's stub."""
    built = plain(files.get("exercises/.stubs", b"")).decode("utf-8", errors="replace")
    for path, data in files.items():
        line = build.record_line(path.rpartition("/")[2], plain(data))
        if is_students(path) and line not in built:
            raise UpdateError(f"{path} in that folder was edited: a fresh copy is needed")


def _derived(root: Path) -> dict[str, bytes]:
    """What the student started from: what the solutions here give."""
    try:
        products = list(build.modules_and_notebooks())
    except build.BuildError as error:
        raise UpdateError(f"{error}: without it nobody can tell what you have edited") from None
    return {one.path.relative_to(root).as_posix(): one.text.encode() for one in products}
