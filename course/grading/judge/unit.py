"""The unit that a grader works on, one at a time: a lesson of a submission."""

import functools
import hashlib
import platform
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from course import root
from course.core import answers
from course.core.syllabus import find_lesson
from course.testing.result import ExerciseResult, LessonResult
from course.testing.source import imported_from_earlier


class GradingError(Exception):
    """The reason why grading cannot go on, in one sentence."""


@dataclass(frozen=True)
class Unit:
    """A unit of the work of grading: one lesson of one submission.

    Attributes:
        source: the text of the module, or None if none was handed in.
        unread: why the grader could not read what was handed in, in a sentence; or nothing.
        ask: the exercises to make questions about, instead of grading; they passed.
    """

    student: str
    lesson: str
    source: bytes | None
    unread: str = ""
    ask: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """Return a hash of the text."""
        return _hash_of(self.source)


NO_TEXT = "no text"
NOT_HANDED_IN = "was not handed in."
"""The trouble of a lesson without a module, after the name of its file."""


@dataclass(frozen=True)
class GradedResult(LessonResult):
    """The result of a unit.

    Attributes:
        seconds: how long it took.
        student: whose it is.
        key: a hash of all that the result depends on, or NO_TEXT; empty if it was not graded.
        module: see `Unit`; empty if nothing was judged.
        questions: about the module, if that was asked for.
    """

    seconds: float = 0.0
    student: str = ""
    key: str = ""
    module: str = ""
    questions: tuple[tuple[str, str, str], ...] = ()

    @property
    def handed_in(self) -> bool:
        """Return whether there was a module; what a module says of itself does not count."""
        return self.trouble != f"{self.lesson}.py {NOT_HANDED_IN}"

    @property
    def failed_here(self) -> bool:
        """Return whether it is this machine that failed, not what was handed in."""
        return not self.key and self.trouble.startswith(OF_MACHINE)


OF_MACHINE = "The grader "
"""Begins the trouble of a result if the machine failed."""


def not_graded(unit: Unit, trouble: str) -> GradedResult:
    """Return what stands for a result where there is none; it has no key, so it is never kept."""
    exercises = find_lesson(unit.lesson).exercises
    earned = tuple(ExerciseResult(one.name, one.points) for one in exercises)
    return GradedResult(unit.lesson, earned, trouble, student=unit.student)


def result_without_text(unit: Unit) -> GradedResult:
    """Return the result of a unit without a text: there is nothing to judge."""
    if unit.unread:  # it was there, so that it earned nothing is not its result
        return not_graded(unit, unit.unread)
    return replace(not_graded(unit, f"{unit.lesson}.py {NOT_HANDED_IN}"), key=NO_TEXT)


def key_of(unit: Unit, seed: int) -> str:
    """Return what a result depends on, as a hash: if it is the same, nothing need be done again."""
    return _hash_of(judging_key(unit.lesson, seed), unit.source)


@functools.cache
def judging_key(lesson: str, seed: int) -> str:
    """Return a hash of all that decides about the results of a lesson, except the module."""
    of_lesson = find_lesson(lesson)
    worth = [(exercise.name, exercise.points) for exercise in of_lesson.exercises]
    files = [
        *code_of_judges(),
        of_lesson.tests,
        of_lesson.room / "styles.py",
        of_lesson.room / "mistakes.txt",
        answers.pack(),
        of_lesson.module("solutions"),
        *(find_lesson(earlier).module("solutions") for earlier in imported_from_earlier(lesson)),
    ]
    texts = (path.read_bytes().replace(b"\r\n", b"\n") for path in files if path.exists())
    versions = platform.python_version(), version("torch"), version("numpy")
    return _hash_of(str(seed), str(worth), str(versions), *texts)


def code_of_judges() -> list[Path]:
    """Return the files of the course that judges and workers run, and those next to them."""
    course = root() / "course"
    folders = ("core", "testing", "mistakes", "grading/judge", "grading/sandbox")
    files = [file for folder in folders for file in (course / folder).rglob("*.py")]
    packages = [course / "__init__.py", course / "grading" / "__init__.py"]
    return sorted([*files, *packages, course / "grading" / "names.py"])


def _hash_of(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d " % len(data))
        digest.update(data)
    return digest.hexdigest()
