"""`course update`: what changed in the course comes in, and what a student wrote stays.

A new version is what the branch in git has come to that this one follows, or a newer copy in a
folder. The *base* is what the student started from, as far as that is known. A file that the
student did not edit becomes the new version. A module or notebook that they edited stays as it is,
and the new version of it is written beside it.

A crash at any moment loses nothing, and a rerun completes it. The order is what makes it so: first
everything of the student's that is going to change is kept in the archive, then their files are
written, then the course's own files, then git's branch. Code of the course that is half replaced
may not start: then `git checkout course`, or a fresh copy of that folder, comes before the rerun.

What a course publishes are its files as `course build` leaves them: `exercises/` and `notebooks/`
in a new version are what its solutions give.
"""

import codecs
import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from course.building import archive, build
from course.system.console import typed
from course.system.files import read_if_there, write_whole_bytes


class UpdateError(Exception):
    """The reason why there is no update, in one sentence that says what to do."""


@dataclass(frozen=True)
class Version:
    """A version of the course that it is to become, and the one that it was.

    Attributes:
        name: where it comes from, for the report.
        files: everything in it, by path in the repository.
        base: what the student started from, as far as that is known.
        finish: what is left to do in git when all files are written, if anything.
    """

    name: str
    files: dict[str, bytes]
    base: dict[str, bytes]
    finish: Callable[[], None] | None = None


@dataclass
class Change:
    """A change of one file.

    Attributes:
        path: where it is in the repository.
        before: what it holds, or None if it is not there.
        after: what it is to hold, or None if it is to go.
        is_edited: whether what it holds is the student's, as far as that is known.
        said: what the report says of it, if anything.
    """

    path: str
    before: bytes | None
    after: bytes | None
    is_edited: bool
    said: str = ""


def is_students(path: str) -> bool:
    """Return whether students work on a file; the new version beside one is such a file, too.

    >>> is_students("exercises/rope.py"), is_students("course/cli/__init__.py")
    (True, False)
    """
    return bool(re.fullmatch(r"exercises/[^/]+\.(py|new\.txt)|notebooks/[^/]+\.ipynb", path))


def bring_in(root: Path, folder: Path | None) -> list[str]:
    """Make the course in `root` the new version that is in a folder, or in git's upstream.

    Returns:
        What to say about it, in lines.

    Raises:
        UpdateError: it cannot be done; the sentence says what to do.
        OSError: a file cannot be read or written; what is done so far is whole.
    """
    version = folder_version(root, folder) if folder else upstream_version(root)
    changes = _changes(root, version)
    if not (changes or version.finish):
        return [f"nothing new: you have what {version.name} has"]
    lost = [root / one.path for one in changes if one.is_edited and one.before is not None]
    kept = archive.keep(lost) if lost else None
    for change in sorted(changes, key=lambda change: not is_students(change.path)):
        if read_if_there(root / change.path) != change.before:
            raise UpdateError(f"{change.path} was changed just now: say it again")
        _write(root, change.path, change.after)
    if version.finish:
        version.finish()
    return _report(changes, version, kept)


# --- what is to be written ------------------------------------------------------------------


def plain(data: bytes | None) -> bytes | None:
    """Return what stands in a file, whatever its line ends: a checkout may have turned them."""
    return None if data is None else data.removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")


def _changes(root: Path, version: Version) -> list[Change]:
    """Return what happens to each file, before any of it is done."""
    changes = []
    for path in sorted({*version.files, *version.base}):
        new, base = version.files.get(path), version.base.get(path)
        now = read_if_there(root / path)
        if plain(new) in (plain(base), plain(now)):
            continue
        change = Change(path, now, new, now is not None and plain(now) != plain(base))
        if is_students(path):
            change.said = "new" if new is not None else "removed, for you had not edited it"
            if change.is_edited and not is_same_notebook(base, now):
                change = _beside(root, path, new)
        elif change.is_edited and version.finish:  # of a folder's nobody knows who changed them
            change.said = "new; what you had changed in it is in the archive"
        changes.append(change)
    return [one for one in changes if one.said or one.before != one.after]


def _beside(root: Path, path: str, new: bytes | None) -> Change:
    """Return what happens where a student's file stays: a name that no test and no grader takes."""
    if new is None:
        mine = read_if_there(root / path)
        return Change(path, mine, mine, False, "no longer part of the course; yours stays")
    stem, _, kind = path.rpartition(".")
    beside = f"{stem}.new.{'txt' if kind == 'py' else kind}"
    older = read_if_there(root / beside)
    said = f"the new version of {path}; yours stays: take over what you want, then delete it"
    return Change(beside, older, new, older not in (None, new), said)


def is_same_notebook(base: bytes | None, mine: bytes) -> bool:
    """Return whether two notebooks have the same cells; one that ran has the same as before."""
    return _sources(mine) is not None and _sources(base) == _sources(mine)


def _sources(notebook: bytes | None) -> list[tuple[str, str]] | None:
    try:
        cells = json.loads(plain(notebook))["cells"]
        return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None  # no notebook that can be read


# --- writing it and saying it ---------------------------------------------------------------


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


def _report(changes: list[Change], version: Version, kept: str | None) -> list[str]:
    """Return what came, what to look at, and how to undo it, in ASCII for any console."""
    lines = [f"came from {version.name}: {len(changes)} files"]
    lines += [f"  {one.path}: {one.said}" for one in changes if one.said]
    if any(one.path == "pyproject.toml" for one in changes):
        lines.append("then say: python -m pip install -q -e .")
    if kept:
        lines.append(f"your files as they were: {typed(f'course reset --restore {kept}')}")
    return lines


# --- from a folder --------------------------------------------------------------------------

_MADE_AT_THE_TOP = {".git", ".venv", "venv", ".course", "data", "graded", "site", "submission.zip"}
_MADE_ANYWHERE = {"__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".ruff_cache", ".DS_Store"}


def files_of(course: Path) -> dict[str, bytes]:
    """Return the files of a course, without what using it makes; no link is followed."""
    files = {}
    for place, folders, names in os.walk(course):
        made = _MADE_ANYWHERE | (_MADE_AT_THE_TOP if Path(place) == course else set())
        folders[:] = [name for name in folders if name not in made and ".egg-info" not in name]
        for file in (Path(place, name) for name in names if name not in made):
            if file.is_file() and not file.is_symlink():
                files[file.relative_to(course).as_posix()] = file.read_bytes()
    return files


def folder_version(root: Path, folder: Path) -> Version:
    """Return what a folder holds.

    Raises:
        UpdateError: it holds no course, or one that somebody has worked in.
    """
    if not (folder / "course" / "__init__.py").is_file() or not (folder / "exercises").is_dir():
        raise UpdateError(f"{folder} is no copy of the course: name the folder that holds course/")
    if folder.resolve() == root.resolve():
        raise UpdateError(f"{folder} is this course itself: name the folder of the newer copy")
    files = files_of(folder)
    record = files.get("exercises/.stubs", b"").splitlines(keepends=True)
    for path in filter(is_students, files):
        line = build.record_line(path.rpartition("/")[2], plain(files[path]))
        if line.encode() not in record:
            raise UpdateError(f"{path} in that folder was edited: a fresh copy is needed")
    # In these two lie the course's files alone: what a new version has no more goes.
    base = {
        path: b""
        for path in files_of(root)
        if path.startswith(("course/", "solutions/")) and path not in files
    }
    try:
        for one in build.modules_and_notebooks():
            base[one.path.relative_to(root).as_posix()] = one.text.encode()
    except build.BuildError as error:
        raise UpdateError(f"{error}: without it nobody can tell what you have edited") from None
    return Version(str(folder), files, base)


# --- from git -------------------------------------------------------------------------------


def upstream_version(root: Path) -> Version:
    """Fetch, and return what the branch that this one follows has come to; no file changes.

    The course's files are taken from it, and in the end the branch goes forward.

    Raises:
        UpdateError: there is no git, no clone, no upstream, no network, something is staged, or
            the student has commits of their own.
    """
    git = partial(_git, root)
    if git("rev-parse", "--show-prefix"):
        raise UpdateError(f"git takes this folder for a part of another one; {_from_folder()}")
    name = git("rev-parse", "--abbrev-ref", "@{upstream}")
    git("fetch", "--quiet")
    head, new = git("rev-parse", "HEAD"), git("rev-parse", "@{upstream}")
    base = git("merge-base", head, new)
    if base == new:
        return Version(name, {}, {})
    if base != head:
        raise UpdateError(
            f"you have commits of your own, and {name} has others: commit the rest as well, and "
            "say `git pull --no-rebase`"
        )
    if git("diff", "--cached", "--name-only"):
        raise UpdateError(
            "something is staged in git: `git reset` takes that back, your files stay"
        )
    move = partial(git, "reset", "--quiet", new)
    return Version(name, _files_at(root, new), _files_at(root, base), move)


def _files_at(root: Path, commit: str) -> dict[str, bytes]:
    """Return all files of a commit, with the line ends that a checkout would give them."""
    data = _git(root, "archive", "--format=tar", commit).encode(errors="surrogateescape")
    with tarfile.open(fileobj=io.BytesIO(data)) as packed:
        files = filter(tarfile.TarInfo.isfile, packed)
        return {file.name: packed.extractfile(file).read() for file in files}


def _from_folder() -> str:
    command = typed("course update --from FOLDER")
    return f"mend that, or unpack a newer copy of the course and say: {command}"


def _git(root: Path, *arguments: str) -> str:
    """Return what git says, every byte of it.

    Raises:
        UpdateError: it failed, or there is no git.
    """
    try:
        done = subprocess.run(
            [shutil.which("git") or "git", "-C", str(root), *arguments],
            capture_output=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise UpdateError(f"git was not found; {_from_folder()}") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        telling = [line for line in lines if line.startswith(("fatal: ", "error: "))]
        said = [*telling, *lines, f"it failed at `git {' '.join(arguments)}`"][0]
        raise UpdateError(f"git says: {said.removeprefix('fatal: ')}; {_from_folder()}")
    return done.stdout.decode(errors="surrogateescape").rstrip("\r\n")
