"""Times of handing in, and whose word they are."""

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from course.grading.submissions.file_names import MOODLE, platform_name
from course.grading.submissions.files import File, Folder, open_regular
from course.grading.submissions.zips import Archive

OWN_WORD = ("git", "zip")
"""Who says a time that the student's own computer wrote."""
_TIMESTAMP = "timestamp.txt"
"""The file in which nbgrader keeps the time of a submission."""
_GIT_SECONDS = 20
_NO_TIME = (OSError, ValueError, OverflowError, subprocess.SubprocessError)


@dataclass(frozen=True)
class HandedIn:
    """When a lesson was handed in.

    Attributes:
        at: the time, with its zone; None if only late or not is known.
        says: who says so: "Moodle", "GitHub Classroom", "Canvas", "nbgrader", "git" or "zip".
        marked_late: whether a platform that gives no time has marked it as late.
    """

    at: datetime | None
    says: str
    marked_late: bool | None = None


def when_handed_in(
    chosen: File, sources: Mapping[str, str], source: Folder | Archive, ask_times: bool
) -> HandedIn | None:
    """Return when the file that counts was handed in, as far as anybody says.

    The times of files on this disk say when they were copied, and are nobody's word.

    Args:
        chosen: the file.
        sources: the names at the top of the class that are its student's.
        source: the class.
        ask_times: whether to look further than at names; to look into a git clone takes a moment.
    """
    top = chosen.path[0]
    marked = platform_name(top, sources[top])
    if marked and marked.re is not MOODLE:
        return HandedIn(None, "Canvas", bool(marked["late"]))
    if not ask_times:
        return None
    if isinstance(source, Folder):
        if at := _collected_by_nbgrader(source.path, chosen.path):
            return HandedIn(at, "nbgrader")
        if at := _committed(source.path, chosen.path):
            return HandedIn(at, "git")
    if chosen.written:
        return HandedIn(chosen.written.astimezone(), "zip")
    return None


def _collected_by_nbgrader(folder: Path, path: tuple[str, ...]) -> datetime | None:
    """Return the time that nbgrader has put beside an assignment; from no other folder."""
    beside = folder.parent
    is_its_own = folder.name == "submitted" and any(
        (beside / name).is_file() for name in ("gradebook.db", "nbgrader_config.py")
    )
    if not is_its_own or len(path) < 3:
        return None
    text = _small_text(folder.joinpath(*path[:2], _TIMESTAMP)).strip()
    time, _, zone = text.rpartition(" ")
    with contextlib.suppress(Exception):  # anything may stand there
        return datetime.fromisoformat(time).replace(tzinfo=ZoneInfo(zone))
    return None


def _committed(folder: Path, path: tuple[str, ...]) -> datetime | None:
    """Return when a file of a git clone was last changed by a commit.

    Git never runs in the student's clone, whose settings could name programs to run: a repository
    of our own, with no settings, looks for its objects there.
    """
    for depth in range(len(path) - 1, 0, -1):
        git = folder.joinpath(*path[:depth], ".git")
        if git.is_dir() and not git.is_symlink():
            break
    else:
        return None
    head = _small_text(git / "HEAD").strip()
    if match := re.fullmatch(r"ref: (refs/[\w./-]+)", head):
        if ".." in match[1]:
            return None
        packed = re.search(
            rf"^([0-9a-f]{{40,64}}) {re.escape(match[1])}$", _small_text(git / "packed-refs"), re.M
        )
        head = _small_text(git / match[1]).strip() or (packed[1] if packed else "")
    if not re.fullmatch("[0-9a-f]{40}", head):
        return None
    own = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    own |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1"}
    with tempfile.TemporaryDirectory() as ours, contextlib.suppress(*_NO_TIME):
        (Path(ours) / "objects" / "info").mkdir(parents=True)
        (Path(ours) / "refs").mkdir()
        (Path(ours) / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        objects = os.fsencode(git.absolute() / "objects")
        if b"\n" in objects:
            return None
        (Path(ours) / "objects" / "info" / "alternates").write_bytes(objects + b"\n")
        said = subprocess.run(
            [
                *("git", f"--git-dir={ours}", "--literal-pathspecs", "log", "-1", "--format=%ct"),
                *(head, "--", "/".join(path[depth:])),
            ],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_SECONDS,
            env=own,
        )
        return datetime.fromtimestamp(int(said.stdout), UTC)
    return None


def _small_text(path: Path) -> str:
    """Return what stands in a small file; nothing if it is none. No link is followed."""
    with contextlib.suppress(Exception), open_regular(path) as file:
        return file.read(1 << 20).decode("utf-8", errors="replace")
    return ""
