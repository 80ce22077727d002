"""What an update is going to write: all of it is known before anything is written."""

from dataclasses import dataclass, field
from pathlib import Path

from course.student.update.merged import Merged
from course.student.update.modules import merge_module
from course.student.update.notebooks import merge_notebook
from course.student.update.python_text import Unreadable, decode
from course.student.update.switch import current_code
from course.student.update.version import Version, is_students, plain
from course.system.files import read_if_there

BASES = Path(".course") / "update" / "base"
"""The version from which the student started, of each file that is still to be merged."""


@dataclass(frozen=True)
class Work:
    """What happens to one file of the student's.

    Attributes:
        path: where it is in the repository.
        before: what it holds, or None if it is not there.
        after: what it is to hold, or None if it is to go.
        base: what the student started from, if there was anything.
        theirs: the course's new version, or None if there is none any more.
        merged: what the merge says about it; nothing if the student had not edited it.
        trouble: why it was not merged, as the rest of a sentence.
        beside: whether the new version goes beside it.
    """

    path: str
    before: bytes | None
    after: bytes | None
    base: bytes | None
    theirs: bytes | None
    merged: Merged | None = None
    trouble: str = ""
    beside: bool = False

    @property
    def place_beside(self) -> str:
        """Where the new version goes: under a name that no test and no grader takes for work."""
        stem, _, kind = self.path.rpartition(".")
        return f"{stem}.new.{'txt' if kind == 'py' else kind}"

    @property
    def changes(self) -> bool:
        return self.before != self.after


@dataclass
class Plan:
    """An update.

    Attributes:
        work: what happens to the student's files.
        course: what the course's files are to hold, by path; None for one that is to go.
        edited: the course's files that the student had edited, and that are replaced.
        done: files whose merge is over already, but for a note of it.
    """

    work: list[Work] = field(default_factory=list)
    course: dict[str, bytes | None] = field(default_factory=dict)
    edited: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)


def plan_for(root: Path, version: Version) -> Plan:
    """What is to be done so that the course in `root` becomes this version."""
    plan = Plan()
    pending = {
        path.relative_to(root / BASES).as_posix()
        for path in (root / BASES).rglob("*")
        if path.is_file()
    }
    for path in sorted({*version.files, *version.base, *pending}):
        new = version.files.get(path)
        if is_students(path):
            kept = read_if_there(root / BASES / path)
            base = version.base.get(path) if kept is None else kept
            work = _work_on(path, base, new, read_if_there(root / path))
            if work:
                plan.work.append(work)
            elif kept is not None:
                plan.done.append(path)
        else:
            _plan_course_file(plan, root, path, version)
    return plan


def _work_on(path: str, base: bytes | None, new: bytes | None, mine: bytes | None) -> Work | None:
    """What happens to a file of the student's, or None if nothing."""
    old, theirs, own = map(plain, (base, new, mine))
    if old == theirs or own == theirs or (own is None and theirs is None):
        return None
    if theirs is None:
        if own == old:
            return Work(path, mine, None, base, None)
        return Work(path, mine, mine, base, None, trouble="is no longer part of the course")
    if own is None or own == old:
        return Work(path, mine, _laid_out_as(mine, new), base, new)
    if old is None:
        return Work(path, mine, mine, base, new, trouble="is new in the course too", beside=True)
    merge = merge_module if path.endswith(".py") else merge_notebook
    try:
        merged = merge(old, theirs, mine)
    except Unreadable as error:
        return Work(path, mine, mine, base, new, trouble=str(error), beside=True)
    return Work(path, mine, merged.data, base, new, merged, beside=bool(merged.conflicts))


def _plan_course_file(plan: Plan, root: Path, path: str, version: Version) -> None:
    new, old = version.files.get(path), version.base.get(path)
    current = current_code(root, path)
    if plain(current) == plain(new) or (version.knows_base and plain(old) == plain(new)):
        return
    plan.course[path] = new
    if current is not None and not (version.knows_base and plain(current) == plain(old)):
        plan.edited.append(path)


def _laid_out_as(mine: bytes | None, new: bytes) -> bytes:
    """The new version with the line ends and the byte order mark of the file that it replaces."""
    if mine is None:
        return new
    try:
        _, layout = decode(mine)
    except Unreadable:
        return new
    return layout.mark + plain(new).replace(b"\n", layout.end.encode())
