"""A student's file, opened for an examination: it is loaded once, whatever comes of it."""

import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from course.testing.case import SECONDS_PER_TEST
from course.testing.clock import TimeIsUp, time_limit
from course.testing.examine import Examination
from course.testing.outcomes import Wrong
from course.testing.stage import Stage, load_module, where


@dataclass(frozen=True)
class Opened:
    """A file that was loaded, or could not be.

    Attributes:
        examination: runs tests on the module; None if the file could not be loaded.
        refusal: why it could not, in a sentence; empty if it could.
        printed: what it printed while it was loaded.
    """

    path: Path
    examination: Examination | None
    refusal: str
    printed: str


def open_module(path: Path, seed: int, printed: Callable[[], str]) -> Opened:
    """Load a student's file; `printed` gives what was printed since it was last asked."""
    printed()
    try:
        module = _load(path)
    except Wrong as wrong:
        return Opened(path, None, str(wrong), printed())
    examination = Examination(lambda: Stage(module), path.read_bytes(), seed)
    return Opened(path, examination, "", printed())


def _load(path: Path) -> types.ModuleType:
    try:
        with time_limit(SECONDS_PER_TEST):
            return load_module(path)
    except TimeIsUp as error:
        raise Wrong(
            f"{path.parent.name}/{path.name} did not finish its import in {SECONDS_PER_TEST} s; "
            f"is there a loop outside of a function?\n  {where(error, path)}"
        ) from None
