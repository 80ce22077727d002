"""A new version of the course: from the branch that this one follows in git, or from a folder."""

import io
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from course.building import build
from course.student.update.merging import plain
from course.system.console import typed
from course.system.files import read_if_there


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


def is_students(path: str) -> bool:
    """Return whether students work on a file.

    >>> is_students("exercises/rope.py"), is_students("course/cli/__init__.py")
    (True, False)
    """
    return bool(re.fullmatch(r"exercises/[^/]+\.py|notebooks/[^/]+\.ipynb", path))


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
    files = files_of(_course_in(folder, root))
    record = files.get("exercises/.stubs", b"").splitlines(keepends=True)
    for path in filter(is_students, files):
        line = build.record_line(path.rpartition("/")[2], plain(files[path]))
        if line.encode() not in record:
            raise UpdateError(f"{path} in that folder was edited: a fresh copy is needed")
    # In these two lie the course's files alone: what a new version has no more goes.
    base = {path: b"" for path in files_of(root) if path.startswith(("course/", "solutions/"))}
    base = {path: data for path, data in base.items() if path not in files}
    try:
        for one in build.modules_and_notebooks():
            base[one.path.relative_to(root).as_posix()] = one.text.encode()
    except build.BuildError as error:
        raise UpdateError(f"{error}: without it nobody can tell what you have edited") from None
    return Version(str(folder), files, base)


def _course_in(folder: Path, root: Path) -> Path:
    """Return the course in a folder: itself, or the one folder that unpacking has put into it."""
    if not folder.is_dir():
        raise UpdateError(f"there is no folder {folder}; if it is a zip, unpack it first")
    places = [
        place
        for place in (folder, *folder.iterdir())
        if (place / "course" / "__init__.py").is_file() and (place / "exercises").is_dir()
    ]
    if folder not in places and len(places) != 1:
        raise UpdateError(f"{folder} holds no copy of the course, or more than one: name it")
    if places[0].resolve() == root.resolve():
        raise UpdateError(f"{folder} is this course itself: name the folder of the newer copy")
    return places[0]


# --- from git -------------------------------------------------------------------------------


def upstream_version(root: Path) -> Version:
    """Fetch, and return what the branch that this one follows has come to; no file changes.

    The course's files are taken from it, and in the end the branch goes along: forward, or, where
    the student has commits of their own, by a merge commit on top of these. What was merged into
    their modules is never committed for them, but is an edit that they can look at.

    Raises:
        UpdateError: there is no git, no clone, no upstream, no network, or something is staged.
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
    # What an interrupted update has staged is as in the new version.
    staged = [
        set(filter(None, git("diff-index", "--cached", "--name-only", "-z", one).split("\0")))
        for one in (head, new)
    ]
    if both := sorted(staged[0] & staged[1]):
        raise UpdateError(
            f"{both[0]} is staged in git, or in conflict: commit it first, see `git status`"
        )
    files, old = _files_at(root, new), _files_at(root, base)
    if base == head:
        return Version(name, files, old, partial(git, "reset", "--quiet", new))
    merge = partial(_merge_commit, root, files, old, head, new)
    return Version(f"{name}, by a merge commit on top of yours", files, old, merge)


def _files_at(root: Path, commit: str) -> dict[str, bytes]:
    """Return all files of a commit, with the line ends that a checkout would give them."""
    data = _git(root, "archive", "--format=tar", commit).encode(errors="surrogateescape")
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = filter(tarfile.TarInfo.isfile, archive)
        return {file.name: archive.extractfile(file).read() for file in files}


def _merge_commit(
    root: Path, files: dict[str, bytes], base: dict[str, bytes], head: str, new: str
) -> None:
    """Commit what is now as in the new version, on top of the student's and of the course's."""
    came = [
        path
        for path in {*files, *base}
        if plain(files.get(path)) != plain(base.get(path))
        and plain(files.get(path)) == plain(read_if_there(root / path))
    ]
    given = "".join(f"{path}\0" for path in came)
    _git(root, "update-index", "--add", "--remove", "--replace", "-z", "--stdin", given=given)
    who = ("-c", "user.name=course update", "-c", "user.email=course@localhost")
    tree = _git(root, "write-tree")
    parents = ("-p", head, "-p", new, "-m", "Update of the course")
    commit = _git(root, *who, "commit-tree", tree, *parents)
    _git(root, "update-ref", "-m", "course update", "HEAD", commit, head)


def _from_folder() -> str:
    command = typed("course update --from FOLDER")
    return f"mend that, or unpack a newer copy of the course and say: {command}"


def _git(root: Path, *arguments: str, given: str = "") -> str:
    """Return what git says, every byte of it.

    Raises:
        UpdateError: it failed, or there is no git.
    """
    try:
        done = subprocess.run(
            [shutil.which("git") or "git", "-C", str(root), *arguments],
            input=given.encode(errors="surrogateescape"),
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
