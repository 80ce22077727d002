"""Carrying out a plan, so that a crash at any moment loses nothing and a rerun completes it.

The order is what makes it so. First everything of the student's that is going to change is kept in
the archive. Then their files are merged, one after the other; to merge one twice gives the same as
once. Then come the course's own files, then git's branch. Whatever was interrupted is found again
by comparing, for the version that the student started from is kept until its merge is done.
"""

import contextlib
import os
from pathlib import Path

from course.building import archive
from course.student.update import switch
from course.student.update.plan import BASES, Plan, Work
from course.student.update.version import UpdateError, Version
from course.system.files import old_drafts, write_whole_bytes

FIRST = "course/__init__.py"


def carry_out(root: Path, plan: Plan, version: Version) -> str | None:
    """Write everything.

    Returns:
        The name of the archive with what was there, or None if nothing of the student's changed.

    Raises:
        UpdateError: the student's file changed meanwhile, or git refused.
        OSError: the disk did.
    """
    kept = _keep(root, plan)
    for work in plan.work:
        _write_work(root, work)
    _replace_course(root, plan, version)
    for path in [*plan.done, *(work.path for work in plan.work if _is_settled(work))]:
        (root / BASES / path).unlink(missing_ok=True)
    if version.finish:
        version.finish()
    return kept


def _keep(root: Path, plan: Plan) -> str | None:
    """Copy to the archive what is going to change, each with the version that it started from.

    So, when it is restored, the next update merges it again, and rightly.
    """
    theirs = [root / path for path in plan.edited]
    bases = []
    for work in plan.work:
        if work.base is not None:
            _write(root, (BASES / work.path).as_posix(), work.base)
        if work.changes and work.before is not None:
            theirs.append(root / work.path)
            bases += [root / BASES / work.path] if work.base is not None else []
        if work.beside and (root / work.place_beside).exists() and not _is_beside(root, work):
            theirs.append(root / work.place_beside)
    return archive.keep([*theirs, *bases]) if theirs else None


def _write_work(root: Path, work: Work) -> None:
    place = root / work.path
    if work.beside and not _is_beside(root, work):
        _write(root, work.place_beside, work.theirs)
    if not work.changes:
        return
    now = place.read_bytes() if place.exists() else None
    if now != work.before:
        raise UpdateError(f"{work.path} was changed while it was merged: say it again")
    if work.after is None:
        place.unlink()
    else:
        _write(root, work.path, work.after)


def _is_beside(root: Path, work: Work) -> bool:
    """Whether the course's new version lies beside the student's already."""
    place = root / work.place_beside
    return place.exists() and place.read_bytes() == work.theirs


def _replace_course(root: Path, plan: Plan, version: Version) -> None:
    """Make the course's own files the new ones, its code in one step."""
    if any(path.startswith("course/") for path in plan.course):
        switch.begin(root)
    for path, data in plan.course.items():
        if path == FIRST:
            continue
        if data is None:
            _remove(root, path)
        else:
            _write(root, path, data)
    for path in version.programs if os.name == "posix" else ():
        if (root / path).exists():
            mode = (root / path).stat().st_mode
            os.chmod(root / path, mode | 0o111)
    if switch.is_under_way(root):
        switch.end(root, plan.course.get(FIRST))


def _is_settled(work: Work) -> bool:
    """Whether it is over with a file; one that could not be read is merged another time."""
    return not (work.beside and work.merged is None)


def _write(root: Path, path: str, data: bytes) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    _remove_old_drafts(place, data)
    write_whole_bytes(place, data)


def _remove_old_drafts(place: Path, data: bytes) -> None:
    """Remove what a run that was killed while it wrote just this has left beside it."""
    with contextlib.suppress(OSError):  # what cannot be removed is in nobody's way
        for draft in old_drafts(place):
            if data.startswith(draft.read_bytes()):
                draft.unlink()


def _remove(root: Path, path: str) -> None:
    (root / path).unlink(missing_ok=True)
    for folder in (root / path).parents:
        if folder == root or any(folder.iterdir()):
            return
        folder.rmdir()
