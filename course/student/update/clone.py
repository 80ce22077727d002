"""A new version from git: what the branch that this one follows has come to.

The course's files are taken from it, and the branch goes along: forward, or, where the student has
commits of their own, by a merge commit on top of these. Their modules and notebooks are never
committed for them: what was merged into these is an edit that they can look at and commit. No
commit is changed, git never waits in the middle of a merge, and the branch moves last, in one step.
"""

import io
import os
import shutil
import subprocess
import tarfile
from functools import partial
from pathlib import Path

from course.student.update.version import UpdateError, Version, is_students

_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_INSTEAD = "or unpack a newer copy of the course and say: course update --from FOLDER"

Entry = tuple[str, str]
"""Mode and name of a file's content, as git keeps them."""


def upstream_version(root: Path) -> Version:
    """Fetch, and say what there is. Nothing in the folder changes.

    Raises:
        UpdateError: there is no git, no clone, no upstream, no network, or something is under way.
    """
    if shutil.which("git") is None:
        raise UpdateError(f"git was not found: install it, {_INSTEAD}")
    git = partial(_git, root)
    _check_place(root, git)
    branch = git("symbolic-ref", "--quiet", "--short", "HEAD", otherwise="").strip()
    if not branch:
        raise UpdateError(
            "no branch is checked out (git calls it a detached HEAD): `git switch main` first"
        )
    head = git("rev-parse", "--quiet", "--verify", "HEAD^{commit}", otherwise="").strip()
    remote = git("config", f"branch.{branch}.remote", otherwise="").strip()
    if not head or not remote:
        raise UpdateError(
            f"the branch {branch} follows no other, so there is nowhere to look for news: "
            f"`git branch --set-upstream-to=origin/main`, {_INSTEAD}"
        )
    if remote != ".":
        try:
            git("fetch", "--quiet", remote)
        except UpdateError as error:
            raise UpdateError(
                f"{remote} could not be reached, so nothing was changed: {error}"
            ) from None
    upstream = "@{upstream}"
    name = git("rev-parse", "--abbrev-ref", "--symbolic-full-name", upstream, otherwise="").strip()
    if not name:
        raise UpdateError(
            f"the branch that {branch} follows is gone from {remote}: see `git status`"
        )
    new = git("rev-parse", f"{upstream}^{{commit}}").strip()
    base = git("merge-base", head, new, otherwise="").strip()
    if not base:
        raise UpdateError(f"{branch} and {name} have no history in common, {_INSTEAD}")
    files, programs = _files_at(root, new)
    return Version(
        name=name,
        files=files,
        programs=programs,
        base=_files_at(root, base)[0],
        knows_base=True,
        finish=partial(_move_branch, root, name, base, head, new) if base != new else None,
        moves=f"git: {branch} goes forward to {name}"
        if base == head
        else f"git: {branch} gets a merge commit on top of yours, which stay as they are",
    )


def _check_place(root: Path, git: partial) -> None:
    unless_clone = None if (root / ".git").exists() else ""
    top = git("rev-parse", "--show-toplevel", otherwise=unless_clone).rstrip("\r\n")
    if not top or not os.path.samefile(top, root):
        raise UpdateError(
            "this folder is no git clone: unpack a newer copy of the course and say: "
            "course update --from FOLDER"
        )
    folder = Path(git("rev-parse", "--absolute-git-dir").rstrip("\r\n"))
    for name, what in _UNDER_WAY.items():
        if (folder / name).exists():
            raise UpdateError(f"a git {what} is under way: finish it first, see `git status`")
    if git("ls-files", "--unmerged"):
        raise UpdateError("git has conflicts to be resolved first, see `git status`")


def _files_at(root: Path, commit: str) -> tuple[dict[str, bytes], frozenset[str]]:
    """All files of a commit, with the line ends that a checkout would give them."""
    data = _run(root, "archive", "--format=tar", commit)
    files, programs = {}, set()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.isfile():
                files[member.name] = archive.extractfile(member).read()
                programs |= {member.name} if member.mode & 0o100 else set()
    return files, frozenset(programs)


def _move_branch(root: Path, name: str, base: str, head: str, new: str) -> None:
    """Bring index and branch along with the files, which are all written.

    The index goes first: whenever this is interrupted, doing it all again completes it.
    """
    git = partial(_git, root)
    old, before, after = (_entries_at(root, commit) for commit in (base, head, new))
    changed = [path for path in {*old, *after} if old.get(path) != after.get(path)]
    entries = {
        path: before.get(path)
        if is_students(path) and before.get(path) != old.get(path)
        else after.get(path)
        for path in changed
    }
    target = new if base == head else _merge_commit(root, name, head, new, entries)
    index = _index(root)
    staged = {path for path in changed if index.get(path) != before.get(path)}
    wanted = {
        path: entry for path, entry in entries.items() if not (is_students(path) and path in staged)
    }
    git("update-index", "--replace", "-z", "--index-info", given=_index_info(wanted))
    git("update-ref", "-m", f"course update from {name}", "HEAD", target, head)
    git("update-index", "-q", "--refresh", otherwise="")  # or every file looks changed for a moment


def _merge_commit(
    root: Path, name: str, head: str, new: str, entries: dict[str, Entry | None]
) -> str:
    """A commit on top of the student's and the course's: the student's, with these files."""
    index = root / ".course" / "update" / "index"
    index.parent.mkdir(parents=True, exist_ok=True)
    index.unlink(missing_ok=True)
    environment = {"GIT_INDEX_FILE": str(index)}
    if not _git(root, "var", "GIT_COMMITTER_IDENT", otherwise=""):  # a machine without a name
        for who in ("AUTHOR", "COMMITTER"):
            environment[f"GIT_{who}_NAME"] = "course update"
            environment[f"GIT_{who}_EMAIL"] = "course@localhost"
    git = partial(_git, root, environment=environment)
    git("read-tree", head)
    git("update-index", "--replace", "-z", "--index-info", given=_index_info(entries))
    tree = git("write-tree").strip()
    index.unlink(missing_ok=True)
    message = f"Update of the course from {name}"
    return git("commit-tree", tree, "-p", head, "-p", new, "-m", message).strip()


def _entries_at(root: Path, commit: str) -> dict[str, Entry]:
    listed = _git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    entries = {}
    for line in filter(None, listed.split("\0")):
        facts, path = line.split("\t", 1)
        mode, _, content = facts.split()
        entries[path] = mode, content
    return entries


def _index(root: Path) -> dict[str, Entry]:
    entries = {}
    for line in filter(None, _git(root, "ls-files", "--stage", "-z").split("\0")):
        facts, path = line.split("\t", 1)
        mode, content, _ = facts.split()
        entries[path] = mode, content
    return entries


def _index_info(entries: dict[str, Entry | None]) -> bytes:
    lines = [
        f"{entry[0]} {entry[1]}\t{path}" if entry else f"0 {'0' * 40}\t{path}"
        for path, entry in sorted(entries.items(), key=lambda one: one[1] is not None)
    ]
    return "".join(f"{line}\0" for line in lines).encode("utf-8", errors="surrogateescape")


def _git(
    root: Path,
    *arguments: str,
    otherwise: str | None = None,
    given: bytes = b"",
    environment: dict[str, str] | None = None,
) -> str:
    """What git says; if it fails, what is to be said otherwise.

    Raises:
        UpdateError: it failed, and nothing else was to be said.
    """
    try:
        said = _run(root, *arguments, given=given, environment=environment)
    except UpdateError:
        if otherwise is None:
            raise
        return otherwise
    return said.decode("utf-8", errors="surrogateescape")


def _run(
    root: Path, *arguments: str, given: bytes = b"", environment: dict[str, str] | None = None
) -> bytes:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # those of another repository
    }
    done = subprocess.run(
        ["git", "-C", str(root), *arguments],
        input=given,
        capture_output=True,
        env={**inherited, "LC_ALL": "C", **(environment or {})},
    )
    if done.returncode:
        lines = done.stderr.decode("utf-8", errors="replace").strip().splitlines()
        telling = [line for line in lines if line.startswith(("fatal:", "error:"))]
        raise UpdateError([*telling, *lines[-1:], f"git {arguments[0]} failed"][0])
    return done.stdout
