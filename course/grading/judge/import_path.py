"""The places that grading imports from: never a folder that a student can write.

Python puts the current folder first on the import path of most programs that it starts, and
`multiprocessing` starts its helpers so. A student's `struct.py` there would run as the grader. An
empty entry of `LD_LIBRARY_PATH` is the current folder as well. And `PYTEST_ADDOPTS` could leave
out graded tests, so that wrong code would earn points.
"""

import contextlib
import os
import stat
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from course import root
from course.grading.names import shown


class UnsafePlace(Exception):
    """A reason why nothing can be graded from here, in one sentence."""


@contextlib.contextmanager
def safe_import_path(submissions: Path | None = None) -> Iterator[None]:
    """Import nothing from the current folder, in this process and all that it starts meanwhile.

    Args:
        submissions: what is to be graded; it must not contain code of the grader.

    Raises:
        UnsafePlace: some does.
    """
    if submissions is not None:
        _expect_outside(submissions)
    path, environment = sys.path[:], {name: os.environ.pop(name, None) for name in _VARIABLES}
    sys.path[:] = filter(_is_safe, path)
    given = _safe_entries(environment["PYTHONPATH"])
    os.environ["PYTHONPATH"] = os.pathsep.join([str(root()), *given])
    os.environ["PYTHONSAFEPATH"] = "1"
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(_safe_entries(environment["LD_LIBRARY_PATH"]))
    try:
        yield
    finally:
        sys.path[:] = path
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_VARIABLES = (
    *("PYTHONPATH", "PYTHONSAFEPATH", "LD_LIBRARY_PATH"),
    *("PYTEST_ADDOPTS", "PYTEST_PLUGINS"),
)


def _safe_entries(path: str | None) -> list[str]:
    return [entry for entry in (path or "").split(os.pathsep) if _is_safe(entry)]


def _is_safe(entry: str) -> bool:
    """Test that this is the course's or Python's own, or neither the current folder nor anyone's.

    A relative entry follows the current folder.
    """
    if not os.path.isabs(entry):
        return False
    place = os.path.realpath(entry)
    if place in _own():
        return True
    try:
        is_anyones = bool(os.stat(place).st_mode & stat.S_IWOTH)
    except OSError:  # such as a zip that is not there: nothing is imported from it now
        return True
    return place != os.getcwd() and not is_anyones


def _own() -> set[str]:
    installed = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib"))
    return {os.path.realpath(place) for place in (root(), *filter(None, installed))}


def _expect_outside(submissions: Path) -> None:
    for own in (root(), sys.prefix, *filter(_is_safe, sys.path)):
        if Path(own).resolve().is_relative_to(submissions.resolve()):
            raise UnsafePlace(
                f"{shown(own)}, from where the grader runs, is in {shown(submissions)}, where a "
                "student could write to it: keep it elsewhere, or name the folder of the "
                "submissions alone"
            )
