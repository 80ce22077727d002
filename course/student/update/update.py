"""An update, from what is to be written to what is said about it.

A crash at any moment loses nothing, and a rerun completes it. The order is what makes it so. First
everything of the student's that is going to change is kept in the archive. Then their files are
written, one after the other; to merge one twice gives the same as once. Then come the course's own
files, then git's branch. Code of the course that is half replaced may not start: then
`git checkout course`, or a fresh copy of that folder, comes before the rerun.
"""

import contextlib
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from course.building import archive
from course.student.update.merging import is_same_notebook, merge_module, plain
from course.student.update.versions import (
    UpdateError,
    Version,
    folder_version,
    is_students,
    upstream_version,
)
from course.system.console import typed
from course.system.files import read_if_there, write_whole_bytes


@dataclass
class Change:
    """A change of one file.

    Attributes:
        path: where it is in the repository.
        before: what it holds, or None if it is not there.
        after: what it is to hold, or None if it is to go.
        is_edited: whether what it holds is the student's, as far as that is known.
        beside: the course's new version of it, if that goes beside it.
        said: what the report says of it, if it is one of the student's files.
    """

    path: str
    before: bytes | None
    after: bytes | None
    is_edited: bool
    beside: bytes | None = None
    said: str = ""

    @property
    def place_beside(self) -> str:
        """Return a name for the new version that no test and no grader takes for work."""
        stem, _, kind = self.path.rpartition(".")
        return f"{stem}.new.{'txt' if kind == 'py' else kind}"


def bring_in(root: Path, folder: Path | None, *, dry_run: bool = False) -> list[str]:
    """Make the course in `root` the new version that is in a folder, or in git's upstream.

    Returns:
        What to say about it, in lines.

    Raises:
        UpdateError: it cannot be done; the sentence says what to do.
        OSError: a file cannot be read or written; what is done so far is whole.
    """
    if dry_run:
        return _bring_in(root, folder, dry_run=True)
    (root / ".course").mkdir(exist_ok=True)
    try:
        with FileLock(root / ".course" / "update.lock", timeout=0):
            return _bring_in(root, folder, dry_run=False)
    except Timeout:
        raise UpdateError("another `course update` is running") from None


def _bring_in(root: Path, folder: Path | None, *, dry_run: bool) -> list[str]:
    version = folder_version(root, folder) if folder else upstream_version(root)
    changes = _changes(root, version)
    if not (changes or version.finish):
        return [f"nothing new: you have what {version.name} has"]
    kept = None
    if not dry_run:
        kept = _keep(root, changes)
        for change in changes:
            if is_students(change.path):
                _write_students(root, change)
        for change in changes:
            if not is_students(change.path):
                _write(root, change.path, change.after)
        if version.finish:
            version.finish()
    return _report(changes, version, kept, dry_run=dry_run)


# --- what is to be written ------------------------------------------------------------------


def _changes(root: Path, version: Version) -> list[Change]:
    """Return what happens to each file, before any of it is done."""
    changes = []
    for path in sorted({*version.files, *version.base}):
        new, base = version.files.get(path), version.base.get(path)
        now = read_if_there(root / path)
        if plain(new) not in (plain(base), plain(now)):
            change = Change(path, now, new, now is not None and plain(now) != plain(base))
            if is_students(path):
                _merge(change, base)
            changes.append(change)
    return changes


def _merge(change: Change, base: bytes | None) -> None:
    """Decide what happens to a file of the student's."""
    mine, new = change.before, change.after
    if not change.is_edited:
        change.said = "new" if new is not None else "removed, for you had not edited it"
    elif new is None:
        change.after, change.said = mine, "no longer part of the course; yours stays"
    elif base is not None and change.path.endswith(".ipynb") and is_same_notebook(base, mine):
        change.said = "new"
    elif (
        base is not None
        and change.path.endswith(".py")
        and (merged := merge_module(base, new, mine))
    ):
        change.after, change.said = merged, "merged with yours"
    else:
        change.after, change.beside = mine, new
        change.said = (
            f"cannot be merged with the new version, so yours stays; that one is "
            f"{change.place_beside}: take over what you want, then delete it"
        )


# --- writing it -----------------------------------------------------------------------------


def _keep(root: Path, changes: list[Change]) -> str | None:
    """Copy what the student edited and is going to change to the archive; return its name."""
    paths = [root / one.path for one in changes if one.is_edited and one.after != one.before]
    for change in changes:
        beside = root / change.place_beside
        if change.beside is not None and read_if_there(beside) not in (None, change.beside):
            paths.append(beside)
    return archive.keep(paths) if paths else None


def _write_students(root: Path, change: Change) -> None:
    if change.beside is not None:
        _write(root, change.place_beside, change.beside)
    if change.before == change.after:
        return
    if read_if_there(root / change.path) != change.before:
        raise UpdateError(f"{change.path} was changed while it was merged: say it again")
    _write(root, change.path, change.after)


def _write(root: Path, path: str, data: bytes | None) -> None:
    """Write a file whole, which may be run if it could be before; or remove it."""
    place = root / path
    if data is None:
        place.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.removedirs(place.parent)  # as many as are empty
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    mode = place.stat().st_mode if place.exists() else None
    write_whole_bytes(place, data)
    if mode:
        os.chmod(place, mode)


# --- saying it ------------------------------------------------------------------------------


def _report(
    changes: list[Change], version: Version, kept: str | None, *, dry_run: bool
) -> list[str]:
    """Return what came, what to look at, and how to undo it, in ASCII for any console."""
    courses = [one for one in changes if not is_students(one.path)]
    parts = Counter(one.path.split("/")[0] if "/" in one.path else "others" for one in courses)
    lines = [f"{'would come' if dry_run else 'came'} from {version.name}"]
    if parts:
        counts = ", ".join(f"{part} {count}" for part, count in sorted(parts.items()))
        lines.append(f"  files of the course: {counts}")
    lines += [f"  {one.path}: {one.said}" for one in changes if one.said]
    if version.finish:  # from a folder nobody knows who changed a file of the course
        lines += [
            f"  {one.path}: new; what you had changed in it is in the archive"
            for one in courses
            if one.is_edited
        ]
    if any(one.path == "pyproject.toml" for one in courses):
        lines.append("then say: python -m pip install -q -e .")
    if dry_run:
        lines.append("nothing was written: without --dry-run it will be")
    elif kept:
        lines.append(f"your files as they were: {typed(f'course reset --restore {kept}')}")
    return lines
