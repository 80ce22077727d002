"""`course update`: bring in the course's new version; what a student wrote stays.

git does the work. It commits `exercises/` and `notebooks/`, then merges the course's branch. A file
of these two folders that both sides changed stays whole, as the student has it: half of one version
and half of another would be nobody's code. Elsewhere the student's lines win.
"""

import subprocess
from functools import partial
from pathlib import Path

from course.messages.wording import counted

FOLDERS = ("exercises/", "notebooks/")
MERGE = ["merge", "--quiet", "--ff", "--no-commit", "--no-verify", "-X", "ours", "-X", "no-renames"]
COMMIT = ["commit", "--quiet", "--no-verify", "-m"]
NOBODY = ("-c", "user.name=Student", "-c", "user.email=student@localhost")


class UpdateError(Exception):
    """The reason why nothing was brought in, in one line."""


def update(root: Path) -> list[str]:
    """Merge the course's new version into the clone in `root`; return a report, line by line.

    Raises:
        UpdateError: it cannot be done, and every file is as it was.
    """
    git = partial(run_git, root)
    if git("rev-parse", "--show-prefix"):
        raise UpdateError(f"{root} is part of another git repository, not a clone of the course")
    merging = Path(git("rev-parse", "--absolute-git-dir"), "MERGE_HEAD")
    if merging.exists() or git("ls-files", "--unmerged"):
        raise UpdateError("a merge is not finished: commit it, or undo it with git merge --abort")
    if not git("symbolic-ref", "HEAD", may_fail=True):
        raise UpdateError("no branch is checked out: run git switch main")
    is_fork = "upstream" in git("remote").split()
    name = "upstream/main" if is_fork else git("rev-parse", "--abbrev-ref", "@{upstream}")
    git("fetch", "--quiet", *["upstream"] * is_fork)
    base = git("merge-base", "HEAD", name, may_fail=True)
    if not base:
        raise UpdateError(f"this copy and {name} have no history in common: clone the course again")
    new = _paths(git, base, name)
    if base == git("rev-parse", name):
        return [f"nothing new: you are up to date with {name}"]

    me = () if git("var", "GIT_COMMITTER_IDENT", may_fail=True) else NOBODY
    git("add", "--all", "--", *FOLDERS)
    if git("diff", "--cached", "--name-only", "--", *FOLDERS):
        git(*me, *COMMIT, "My work, before an update", "--", *FOLDERS)
    mine = {path for path in _paths(git, base, "HEAD") if (root / path).exists()}
    both = sorted(mine & new & _paths(git, "HEAD", name))
    whole = [path for path in both if path.startswith(FOLDERS)]
    gone = _paths(git, "--diff-filter=D", base, name)
    _merge(partial(git, *me), name, whole, merging)
    lines = [f"{counted(len(new), 'file')} updated from {name}"]
    for path in both:
        kept = "your version" if path in whole else "your lines"
        show = "removed it" if path in gone else f"has another one: git show {name}:{path}"
        lines.append(f"  {path}: kept {kept}; the course {show}")
    return lines + ["then run: python -m pip install -q -e ."] * ("pyproject.toml" in new)


def _merge(git: partial, name: str, whole: list[str], merging: Path) -> None:
    """Merge a branch and commit it, or leave everything as it was; some files stay whole."""
    try:
        try:
            git(*MERGE, name)
        except UpdateError:
            if not merging.exists():
                raise
        if merging.exists():  # git did not simply go forward
            if whole:
                git("checkout", "HEAD", "--", *whole)
            if left := _paths(git, "--diff-filter=U"):  # changed on one side, gone on the other
                git("add", "--all", "--", *left)
            git(*COMMIT, f"Merge what is new in {name}")
    except BaseException:
        if merging.exists():
            git("merge", "--abort")
        raise


def _paths(git: partial, *versions: str) -> set[str]:
    """Return the paths of which these versions differ."""
    return set(git("diff", "--name-only", "--no-renames", "-z", *versions).split("\0")) - {""}


def run_git(root: Path, *arguments: str, may_fail: bool = False) -> str | None:
    """Return what git prints, or None if it failed and may.

    Raises:
        UpdateError: it failed, or there is no git.
    """
    options = ["--literal-pathspecs", "-c", "commit.gpgSign=false", "-c", "core.safecrlf=false"]
    command = ["git", "-C", str(root), *options, *arguments]
    try:
        done = subprocess.run(command, capture_output=True)
    except FileNotFoundError:
        raise UpdateError(
            "git was not found; `course update` needs it, so install git first"
        ) from None
    if done.returncode and not may_fail:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise UpdateError(f"git says: {said or f'{arguments[0]} failed'}")
    return None if done.returncode else done.stdout.decode(errors="surrogateescape").strip()
