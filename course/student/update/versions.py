"""A new version of the course: from the branch that this one follows in git, or from a folder."""

import io
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from course.building import build
from course.system.console import typed


class UpdateError(Exception):
    """The reason why there is no update, in one sentence that says what to do."""


@dataclass(frozen=True)
class Version:
    """A version of the course that it is to become, and the one that it was.

    Attributes:
        name: where it comes from, for the report.
        files: everything in it, by path in the repository.
        programs: which of these can be run.
        base: what the student started from, as far as that is known.
        knows_base: whether `base` is complete, so that a difference is the student's edit.
        finish: what is left to do when all files are written, or None.
        moves: what that does, a sentence for the report.
    """

    name: str
    files: dict[str, bytes]
    programs: set[str]
    base: dict[str, bytes]
    knows_base: bool
    finish: Callable[[], None] | None = None
    moves: str = ""


def is_students(path: str) -> bool:
    """Return whether students work on a file: it is merged, never replaced.

    >>> is_students("exercises/rope.py"), is_students("course/cli/__init__.py")
    (True, False)
    """
    return bool(re.fullmatch(r"exercises/[^/]+\.py|notebooks/[^/]+\.ipynb", path))


def plain(data: bytes | None) -> bytes | None:
    """Return what stands in a file, whatever its line ends: a checkout may have turned them."""
    return None if data is None else data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


# --- from a folder --------------------------------------------------------------------------

_NOT_OF_THE_COURSE = {
    *(".git", ".venv", "venv", ".course"),
    *("data", "graded", "site", "submission.zip"),
}
"""Names at the top that are no part of a published course, but made by using it."""
_MADE_BY_TOOLS = {"__pycache__", ".ipynb_checkpoints", ".pytest_cache", ".ruff_cache"}
_OWNED = ("course", "solutions")
"""Folders where only the course's files lie: what a new version has no more goes."""


def folder_version(root: Path, folder: Path, unfinished: bool) -> Version:
    """Return what a folder holds.

    Args:
        unfinished: an update was interrupted: what the student started from is known from then.

    Raises:
        UpdateError: it holds no course, or one that somebody has worked in.
    """
    files, programs = {}, set()
    for path, file in files_below(_course_in(folder, root)):
        files[path] = file.read_bytes()
        programs |= {path} if file.stat().st_mode & 0o100 else set()
    built = files.get("exercises/.stubs", b"").decode("utf-8", errors="replace")
    for path in filter(is_students, files):
        line = build.record_line(path.rpartition("/")[2], plain(files[path]))
        if line.rstrip("\n") not in built.splitlines():
            raise UpdateError(f"{path} in that folder was edited: a fresh copy is needed")
    try:
        products = [] if unfinished else list(build.modules_and_notebooks())
    except build.BuildError as error:
        raise UpdateError(f"{error}: without it nobody can tell what you have edited") from None
    base = {one.path.relative_to(root).as_posix(): one.text.encode() for one in products}
    base |= {
        path: b"" for owned in _OWNED for path, _ in files_below(root, owned) if path not in files
    }
    return Version(str(folder), files, programs, base, knows_base=False)


def _course_in(folder: Path, root: Path) -> Path:
    """Return the course in a folder: itself, or the one folder that unpacking has put into it."""
    if not folder.is_dir():
        raise UpdateError(f"there is no folder {folder}; if it is a zip, unpack it first")
    if folder.resolve() == root.resolve():
        raise UpdateError(f"{folder} is this course itself: name the folder of the newer copy")
    found = [
        place
        for place in (folder, *folder.iterdir())
        if (place / "course" / "__init__.py").is_file() and (place / "exercises").is_dir()
    ]
    if not found:
        raise UpdateError(f"{folder} holds no copy of the course")
    if found[0] != folder and len(found) > 1:
        raise UpdateError(f"{folder} holds more than one copy of the course: name one of them")
    return found[0]


def files_below(root: Path, name: str = "") -> Iterator[tuple[str, Path]]:
    """Yield the files of a course, by path; no link is followed."""
    for entry in sorted((root / name).iterdir()) if (root / name).is_dir() else ():
        path = f"{name}/{entry.name}" if name else entry.name
        if entry.is_symlink() or entry.name in _MADE_BY_TOOLS or path in _NOT_OF_THE_COURSE:
            continue
        if entry.is_dir() and not entry.name.endswith(".egg-info"):
            yield from files_below(root, path)
        elif entry.is_file() and not entry.name.endswith((".pyc", ".DS_Store")):
            yield path, entry


# --- from git -------------------------------------------------------------------------------


def _from_folder() -> str:
    command = typed("course update --from FOLDER")
    return f"unpack a newer copy of the course and say: {command}"


def upstream_version(root: Path) -> Version:
    """Fetch, and return what the branch that this one follows has come to; no file changes.

    The course's files are taken from it, and in the end the branch goes along: forward, or, where
    the student has commits of their own, by a merge commit on top of these. What was merged into
    their modules and notebooks is never committed for them, but is an edit that they can look at.

    Raises:
        UpdateError: there is no git, no clone, no upstream, no network, or something is under way.
    """
    if shutil.which("git") is None:
        raise UpdateError(f"git was not found: install it, or {_from_folder()}")
    git = partial(_git, root)
    top = git("rev-parse", "--show-toplevel", otherwise=None if (root / ".git").exists() else "")
    if not top or not os.path.samefile(top, root):
        raise UpdateError(f"this folder is no git clone: {_from_folder()}")
    for what in ("MERGE", "CHERRY_PICK", "REVERT"):
        if git("rev-parse", "--quiet", "--verify", f"{what}_HEAD", otherwise=""):
            name = what.lower().replace("_", "-")
            raise UpdateError(f"a git {name} is under way: finish it first, see `git status`")
    if git("ls-files", "--unmerged"):
        raise UpdateError("git has conflicts to be resolved first, see `git status`")
    status = git("status", "--porcelain=2", "--branch", "--untracked-files=no")
    facts = dict(re.findall(r"^# branch\.(\w+) (.*)", status, re.M))
    branch, head, name = facts["head"], facts["oid"], facts.get("upstream", "")
    if branch == "(detached)":
        raise UpdateError(
            "no branch is checked out (git calls it a detached HEAD): `git switch main` first"
        )
    if head == "(initial)" or not name:
        raise UpdateError(
            f"the branch {branch} follows no other, so there is nowhere to look for news: "
            f"`git branch --set-upstream-to=origin/main`, or {_from_folder()}"
        )
    remote = git("config", f"branch.{branch}.remote")
    try:
        git("fetch", "--quiet", remote)
    except UpdateError as error:
        sentence = f"{remote} could not be reached, so nothing was changed: {error}"
        raise UpdateError(sentence) from None
    new = git("rev-parse", "--quiet", "--verify", "@{upstream}^{commit}", otherwise="")
    if not new:
        raise UpdateError(
            f"the branch that {branch} follows is gone from {remote}: see `git status`"
        )
    base = git("merge-base", head, new, otherwise="")
    if not base:
        raise UpdateError(f"{branch} and {name} have no history in common, or {_from_folder()}")
    forward = f"git: {branch} goes forward to {name}"
    merge = f"git: {branch} gets a merge commit on top of yours, which stay as they are"
    return Version(
        name,
        *_files_at(root, new),
        base=_files_at(root, base)[0],
        knows_base=True,
        finish=partial(_move_branch, root, name, base, head, new) if base != new else None,
        moves=forward if base == head else merge,
    )


def _files_at(root: Path, commit: str) -> tuple[dict[str, bytes], set[str]]:
    """Return all files of a commit, with the line ends that a checkout would give them."""
    files, programs = {}, set()
    data = _git(root, "archive", "--format=tar", commit)
    with tarfile.open(fileobj=io.BytesIO(data.encode(errors="surrogateescape"))) as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):
            files[member.name] = archive.extractfile(member).read()
            programs |= {member.name} if member.mode & 0o100 else set()
    return files, programs


def _move_branch(root: Path, name: str, base: str, head: str, new: str) -> None:
    """Bring index and branch along with the files, which are all written.

    The index goes first: whenever this is interrupted, doing it all again completes it.
    """
    own, staged = _changes(root, "diff-tree", base, head), _changes(root, "diff-index", head)
    news = {
        path: entry
        for path, entry in _changes(root, "diff-tree", base, new).items()
        if not (is_students(path) and path in own)
    }
    target = new if base == head else _merge_commit(root, name, head, new, news)
    for path in filter(is_students, staged):
        news.pop(path, None)
    _write_index(root, news)
    _git(root, "update-ref", "-m", f"course update from {name}", "HEAD", target, head)
    # Or every file looks changed for a moment.
    _git(root, "update-index", "-q", "--refresh", otherwise="")


def _changes(root: Path, command: str, *commits: str) -> dict[str, str]:
    """Return the mode and content that git has for each file that it says was changed."""
    options = ["--cached" if command == "diff-index" else "-r", "--no-renames", "--no-abbrev", "-z"]
    fields = _git(root, command, *options, *commits).split("\0")
    return {
        path: " ".join(facts.split()[1:4:2])
        for facts, path in zip(fields[::2], fields[1::2], strict=False)
    }


def _merge_commit(root: Path, name: str, head: str, new: str, news: dict[str, str]) -> str:
    """Make a commit on top of the student's and the course's: the student's, with these files."""
    index = root / ".course" / "update" / "index"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.unlink(missing_ok=True)
    settings = {"GIT_INDEX_FILE": str(index)}
    if not _git(root, "var", "GIT_COMMITTER_IDENT", otherwise=""):  # a machine without a name
        for who in ("AUTHOR", "COMMITTER"):
            settings |= {f"GIT_{who}_NAME": "course update", f"GIT_{who}_EMAIL": "course@localhost"}
    _git(root, "read-tree", head, **settings)
    _write_index(root, news, **settings)
    tree = _git(root, "write-tree", **settings)
    index.unlink(missing_ok=True)
    message = f"Update of the course from {name}"
    return _git(root, "commit-tree", tree, "-p", head, "-p", new, "-m", message, **settings)


def _write_index(root: Path, entries: dict[str, str], **settings: str) -> None:
    """Set entries of the index; those that go first, for a folder may take a file's place."""
    given = "".join(sorted(f"{entry}\t{path}\0" for path, entry in entries.items()))
    _git(root, "update-index", "--replace", "-z", "--index-info", given=given, **settings)


def _git(
    root: Path, *arguments: str, otherwise: str | None = None, given: str = "", **settings: str
) -> str:
    """Return what git says, every byte of it; if it fails and `otherwise` is given, that.

    Args:
        settings: variables of git's environment.

    Raises:
        UpdateError: it failed.
    """
    of_another_repository = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    inherited = {key: os.environ[key] for key in os.environ if key not in of_another_repository}
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        input=given.encode(errors="surrogateescape"),
        capture_output=True,
        env={**inherited, "LC_ALL": "C", **settings},
    )
    if not done.returncode:
        return done.stdout.decode(errors="surrogateescape").rstrip("\r\n")
    if otherwise is not None:
        return otherwise
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
    raise UpdateError([*telling, *lines[-1:], f"git {arguments[0]} failed"][0])
