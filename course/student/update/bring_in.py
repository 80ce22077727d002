"""An update from beginning to end."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from course.student.update import switch
from course.student.update.carry_out import carry_out
from course.student.update.clone import upstream_version
from course.student.update.folder import folder_version
from course.student.update.plan import plan_for
from course.student.update.report import report
from course.student.update.version import UpdateError, Version


def bring_in(root: Path, folder: Path | None, *, dry_run: bool = False) -> list[str]:
    """Make the course in `root` the new version that is in a folder, or in git's upstream.

    Returns:
        What to say about it, in lines.

    Raises:
        UpdateError: it cannot be done; the sentence says what to do.
        OSError: a file cannot be read or written; what is done so far is whole.
    """
    with contextlib.nullcontext() if dry_run else _only_one(root):
        unfinished = switch.is_under_way(root)
        version = _version(root, folder, unfinished)
        plan = plan_for(root, version)
        if not (plan.work or plan.course or plan.done or version.finish or unfinished):
            return [f"nothing new: you have what {version.name} has"]
        kept = None if dry_run else carry_out(root, plan, version)
        return report(plan, version, kept, dry=dry_run)


def _version(root: Path, folder: Path | None, unfinished: bool) -> Version:
    if folder is None:
        return upstream_version(root)
    return folder_version(root, folder, unfinished)


@contextlib.contextmanager
def _only_one(root: Path) -> Iterator[None]:
    """Two updates at a time would write the same files."""
    place = root / ".course" / "update.lock"
    place.parent.mkdir(exist_ok=True)
    lock = FileLock(place)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UpdateError("another `course update` is running") from None
    try:
        yield
    finally:
        lock.release()
