"""An update, from what is to be written to what is said about it.

A crash at any moment loses nothing, and a rerun completes it. The order is what makes it so. First
everything of the student's that is going to change is kept in the archive. Then their files are
merged, one after the other; to merge one twice gives the same as once. Then come the course's own
files, then git's branch. Whatever was interrupted is found again by comparing, for the version that
the student started from is kept until its merge is done.
"""

import contextlib
import os
import re
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from course.building import archive
from course.student.update.merging import Unreadable
from course.student.update.modules import merge_module
from course.student.update.notebooks import merge_notebook
from course.student.update.versions import (
    UpdateError,
    Version,
    folder_version,
    is_students,
    plain,
    upstream_version,
)
from course.system.console import typed
from course.system.files import old_drafts, read_if_there, write_whole_bytes

BASES = Path(".course") / "update" / "base"
"""The version from which the student started, of each file that is still to be merged."""

ASIDE = Path(".course") / "update" / "course"
"""The course's old code, while it is being replaced."""

_FIRST = "course/__init__.py"
_DETOUR = b"""

__path__ = [str(ROOT / ".course" / "update" / "course")]  # until `course update` is through
"""


@dataclass
class Change:
    """A change of one file.

    Attributes:
        path: where it is in the repository.
        before: what it holds, or None if it is not there.
        after: what it is to hold, or None if it is to go.
        base: of a student's file, what they started from, if there was anything.
        beside: the course's new version of it, if that goes beside it.
        is_over: whether it is done with; what could not be read is merged another time.
        is_kept: whether a copy of what it holds goes to the archive.
        said: what the report says of it.
        look: what it says the student is to look at.
    """

    path: str
    before: bytes | None
    after: bytes | None
    base: bytes | None = None
    beside: bytes | None = None
    is_over: bool = True
    is_kept: bool = False
    said: list[str] = field(default_factory=list)
    look: list[str] = field(default_factory=list)

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
    unfinished = (root / ASIDE).is_dir()
    version = folder_version(root, folder, unfinished) if folder else upstream_version(root)
    students, courses = _plan(root, version)
    if not (students or courses or version.finish or unfinished):
        return [f"nothing new: you have what {version.name} has"]
    kept = None
    if not dry_run:
        kept = _keep(root, [*courses, *students])
        for change in students:
            _write_students(root, change)
        _write_courses(root, courses, version)
        for change in students:
            if change.is_over:
                (root / BASES / change.path).unlink(missing_ok=True)
        if version.finish:
            version.finish()
    return _report(students, courses, version, kept, dry_run=dry_run)


# --- what is to be written ------------------------------------------------------------------


def _plan(root: Path, version: Version) -> tuple[list[Change], list[Change]]:
    """Return what happens to the student's files and to the course's: all before it is done."""
    students, courses = [], []
    pending = [path for path in (root / BASES).rglob("*") if path.is_file()]
    paths = {path.relative_to(root / BASES).as_posix() for path in pending}
    for path in sorted(paths.union(version.files, version.base)):
        new, base, now = version.files.get(path), version.base.get(path), _now(root, path)
        if is_students(path):
            kept = read_if_there(root / BASES / path)
            base = base if kept is None else kept
            if plain(new) not in (plain(base), plain(now)):
                students.append(_merge(path, base, new, now))
            elif kept is not None:  # it is merged, and only the note of that is left
                students.append(Change(path, now, now))
        elif plain(now) != plain(new) and not (version.knows_base and plain(base) == plain(new)):
            edited = not (version.knows_base and plain(now) == plain(base))
            courses.append(Change(path, now, new, is_kept=edited and now is not None))
    return students, courses


def _now(root: Path, path: str) -> bytes | None:
    aside = root / ASIDE / "__init__.py"
    return read_if_there(aside if path == _FIRST and aside.exists() else root / path)


def _merge(path: str, base: bytes | None, new: bytes | None, mine: bytes | None) -> Change:
    """Return what happens to a file of the student's that is not as in the new version."""
    old, theirs, own = map(plain, (base, new, mine))
    change = Change(path, mine, mine, base)
    if own in (None, old):
        what = "removed" if new is None else "the new one"
        said = f"{what}, for you had not edited it" if mine is not None else "new"
        change.after, change.said = new, [f"{path}: {said}"]
    elif theirs is None:
        change.look = [f"{path} is no longer part of the course; yours stays"]
    elif old is None:
        _put_beside(change, new, "is new in the course too", "")
    else:
        try:
            merged = (merge_module if path.endswith(".py") else merge_notebook)(old, theirs, mine)
        except Unreadable as error:
            again = f", mend yours and say `{typed('course update')}` again"
            _put_beside(change, new, str(error), again)
            return change
        change.after = merged.data
        change.beside = new if merged.conflicts else None
        notes = [f"  {note}" for note in merged.notes]
        change.said = [f"{path}: merged with yours", *notes] if merged.data != mine else []
        change.look = [f"{path}: {warning}" for warning in merged.warnings] + [
            f"{path}: {conflict}, so yours stays; compare with {change.place_beside}, "
            "take over what you want, then delete that file"
            for conflict in merged.conflicts
        ]
    change.is_kept = mine is not None and change.after != mine
    return change


def _put_beside(change: Change, new: bytes, trouble: str, mend: str) -> None:
    change.beside, change.is_over = new, False
    change.look = [
        f"{change.path} {trouble}, so yours stays as it is; the course's new one is "
        f"{change.place_beside}: compare them{mend}"
    ]


# --- writing it -----------------------------------------------------------------------------


def _keep(root: Path, changes: list[Change]) -> str | None:
    """Copy to the archive what is going to change, each with the version that it started from.

    So, when it is restored, the next update merges it again, and rightly.

    Returns:
        The name of the archive, or None if nothing of the student's changes.
    """
    paths = []
    for change in changes:
        if change.base is not None:
            _write(root, (BASES / change.path).as_posix(), change.base)
        if change.is_kept:
            paths += [root / change.path]
            paths += [root / BASES / change.path] if change.base is not None else []
        beside = root / change.place_beside
        if change.beside is not None and read_if_there(beside) not in (None, change.beside):
            paths.append(beside)
    return archive.keep(paths) if paths else None


def _write_students(root: Path, change: Change) -> None:
    if change.beside not in (None, read_if_there(root / change.place_beside)):
        _write(root, change.place_beside, change.beside)
    if change.before == change.after:
        return
    if read_if_there(root / change.path) != change.before:
        raise UpdateError(f"{change.path} was changed while it was merged: say it again")
    _write(root, change.path, change.after)


def _write_courses(root: Path, changes: list[Change], version: Version) -> None:
    """Make the course's own files the new ones, its code in one step, although it is many files.

    Whoever is killed between two files would be left with half of the old code and half of the new,
    and with a `course` command that may not start to complete the update. So the old code is put
    aside whole first, and until the new one is there whole, the package is the one put aside.
    """
    aside, first, draft = root / ASIDE, root / _FIRST, root / ASIDE.with_name("course.draft")
    if any(change.path.startswith("course/") for change in changes):
        if not aside.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(root / "course", draft, ignore=shutil.ignore_patterns("__pycache__"))
            os.rename(draft, aside)
        write_whole_bytes(first, (aside / "__init__.py").read_bytes().rstrip() + _DETOUR)
    for change in changes:
        if change.path != _FIRST:
            _write(root, change.path, change.after)
    for path in version.programs if os.name == "posix" else ():
        if (root / path).exists():
            os.chmod(root / path, (root / path).stat().st_mode | 0o111)
    if aside.is_dir():
        new = [change.after for change in changes if change.path == _FIRST]
        write_whole_bytes(first, new[0] if new else (aside / "__init__.py").read_bytes())
        shutil.rmtree(draft, ignore_errors=True)
        os.rename(aside, draft)  # in one step: it is there whole or not at all
        shutil.rmtree(draft, ignore_errors=True)


def _write(root: Path, path: str, data: bytes | None) -> None:
    """Write a file whole, or remove it, and with it folders that are empty then."""
    place = root / path
    if data is None:
        place.unlink(missing_ok=True)
        for folder in place.parents:
            if folder == root or any(folder.iterdir()):
                return
            folder.rmdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):  # what cannot be removed is in nobody's way
        for draft in old_drafts(place):  # of a run that was killed while it wrote just this
            if data.startswith(draft.read_bytes()):
                draft.unlink()
    write_whole_bytes(place, data)


# --- saying it ------------------------------------------------------------------------------


def _report(
    students: list[Change],
    courses: list[Change],
    version: Version,
    kept: str | None,
    *,
    dry_run: bool,
) -> list[str]:
    """Return what came, what to look at, and how to undo it, in ASCII for any console."""
    something = courses or version.finish or any(one.before != one.after for one in students)
    came = f"{'would come' if dry_run else 'came'} from {version.name}"
    lines = [came if something else f"nothing new from {version.name}, but something is left"]
    paths = [
        re.sub("^course/(?=lessons/)", "", change.path)
        for change in courses
        if change.path != "exercises/.stubs"
    ]
    parts = Counter(path.split("/")[0] if "/" in path else "other files" for path in paths)
    if parts:
        counts = ", ".join(f"{part} {count}" for part, count in sorted(parts.items()))
        lines.append(f"  files of the course: {counts}")
    lines += [f"  {line}" for change in students for line in change.said]
    lines += [f"  {version.moves}"] if version.finish else []
    look = [line for change in students for line in change.look]
    edited = [change.path for change in courses if change.is_kept]
    if version.knows_base and edited:
        more = [f"{len(edited) - 5} more"] if len(edited) > 5 else []
        look.append(
            f"{', '.join([*edited[:5], *more])}: the course's version took the place of "
            f"yours, which {'would be' if dry_run else 'is'} kept"
        )
    if "pyproject.toml" in paths:
        look.append("pyproject.toml changed; run: python -m pip install -q -e .")
    if any(one.before != one.after and one.path.endswith(".ipynb") for one in students):
        look.append("a notebook that is open in JupyterLab: load it again before you save it")
    lines += ["", "look at", *(f"  {line}" for line in look)] if look else []
    if dry_run:
        lines += ["", "nothing was written: without --dry-run it will be"]
    elif kept:
        lines += ["", f"your files as they were: {typed(f'course reset --restore {kept}')}"]
    return lines
