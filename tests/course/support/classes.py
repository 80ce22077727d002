"""Small classes to grade, the grader as a program, and a look at its processes."""

import io
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import find_lesson
from course.grading.sandbox.sandbox import missing
from course.grading.submissions import Submission, open_class

needs_sandbox = pytest.mark.skipif(bool(missing()), reason=" ".join(missing()))


def slow_in_sandbox(test: Callable) -> Callable:
    """Mark a test of a whole grader: it takes seconds, and needs a sandbox."""
    return needs_sandbox(pytest.mark.slow(test))


SOLUTION = find_lesson("learned").module("solutions").read_text(encoding="utf-8")
STUB = stub_from(SOLUTION, "learned")
ONE_WRONG = SOLUTION.replace("[t + p for t, p", "[t - p for t, p")
"""It earns 13 of 15 points."""


def write_class(folder: Path, sources: dict[str, str]) -> Path:
    """A folder for each student, with a text as learned.py."""
    for student, source in sources.items():
        (folder / student).mkdir(parents=True)
        (folder / student / "learned.py").write_text(source, encoding="utf-8")
    return folder


def read_submissions(path: Path) -> list[Submission]:
    """The submissions of a class, by student."""
    with open_class(path) as opened:
        return [opened.read(student) for student in opened.students]


def grader(submissions: Path, out: Path, *options: str) -> list[str]:
    """The command that grades."""
    command = [sys.executable, "-P", "-m", "course", "grade", str(submissions)]
    return [*command, "--out", str(out), *options]


def with_course(course: Path = ROOT, **others: str) -> dict[str, str]:
    """The environment in which the grader runs of this course, or of a copy."""
    return {**os.environ, "PYTHONPATH": str(course), **others}


def copy_course(folder: Path) -> Path:
    """A copy of all that grading needs."""
    for name in ("course", "solutions", "exercises"):
        ignored = shutil.ignore_patterns("__pycache__", "site", "lab")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    (folder / "tests").mkdir()
    for path in [*ROOT.glob("tests/test_*.py"), ROOT / "pyproject.toml"]:
        shutil.copy(path, folder / path.relative_to(ROOT))
    return folder


def zipped(files: dict | list, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip, of pairs of a name (or a ZipInfo) and content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    return buffer.getvalue()


PATIENCE = 600
"""Seconds for whatever should happen at all; to wait so long is to fail."""

# --- processes ------------------------------------------------------------------------------


def processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def fields_of(process: int) -> list:
    """State, parent, group and session of a process; see proc(5)."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return ["gone", 0, 0, 0]
    state, *numbers = text.rpartition(")")[2].split()[:4]
    return [state, *map(int, numbers)]


def is_alive(process: int) -> bool:
    """Test that it runs; one that ended but was not waited for is not alive."""
    return fields_of(process)[0] not in ("gone", "Z", "X")


def children_of(parent: int) -> list[int]:
    return [process for process in processes() if fields_of(process)[1] == parent]


def descendants_of(parent: int) -> list[int]:
    children = children_of(parent)
    return [*children, *(one for child in children for one in descendants_of(child))]


def session(number: int) -> list[int]:
    """The processes of a session that are alive."""
    return [one for one in processes() if fields_of(one)[3] == number and is_alive(one)]


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def wait_until(condition: Callable[[], Any]) -> Any:
    """Return what a condition gives as soon as that is true; fail if it never is."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {PATIENCE} s"
        time.sleep(0.01)
    return found
