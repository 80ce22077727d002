"""The student's own functions where there are any, the reference's where there are none yet.

Experiments and notebooks say which is which: nothing is borrowed silently.
"""

import contextlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from course.core.stubs import stubs_in
from course.core.syllabus import Lesson, find_lesson
from course.student.progress import PASSED, status_of_all
from course.testing.loading import LEFT_OUT, load_module
from course.testing.outcomes import Wrong
from course.testing.run import load_in_time
from course.testing.source import imported_from_earlier


class LessonExercises:
    """The exercises of a lesson, each an attribute: yours, or the reference's.

    Attributes:
        left_out: why only what your file defines was loaded; empty if all of it was.
    """

    def __init__(self, own: dict[str, Any], borrowed: dict[str, Any], left_out: str = "") -> None:
        self._own = own
        self._borrowed = borrowed
        self.left_out = left_out

    def __getattr__(self, name: str) -> Any:
        if name not in self._own and name not in self._borrowed:
            raise AttributeError(f"no exercise of this lesson is called {name}")
        return self._own[name] if name in self._own else self._borrowed[name]

    def source_of(self, name: str) -> str:
        """Return "yours" or "borrowed"."""
        return "yours" if name in self._own else "borrowed"


@cache
def passing_exercises(stem: str) -> LessonExercises:
    """Return all exercises of a lesson; those that did not pass their last check are borrowed.

    For runs that need right functions to end with numbers that mean something. What is borrowed
    also serves the student's functions that call it. A file of which nothing passed isn't run.
    """
    return passing_exercises_with(stem, {})


def passing_exercises_with(stem: str, others: Mapping[str, Any]) -> LessonExercises:
    """Return the same, with others in place of some that its module imports from earlier lessons.

    Args:
        others: what to import instead, by name: {"RotaryEmbedding": ...}.
    """
    lesson, status = find_lesson(stem), status_of_all()
    passed = {one.name for one in lesson.exercises if status[one.name] == PASSED}
    earlier = {
        before: {name: others.get(name, given) for name, given in names.items()}
        for before, names in _earlier(stem).items()
    }
    with contextlib.suppress(Wrong):  # it could be imported when it passed, but not today
        if passed:
            return _loaded(lesson, lesson.module(), earlier, passed)
    return _loaded(lesson, None, earlier, passed)


def _earlier(stem: str) -> dict[str, dict[str, Any]]:
    """Return what a lesson's module imports from earlier lessons: yours where they pass."""
    return {
        earlier: {name: getattr(passing_exercises(earlier), name) for name in names}
        for earlier, names in imported_from_earlier(stem).items()
    }


def borrowed_from_earlier(stem: str) -> list[str]:
    """Return what a lesson's module imports from earlier lessons and of which yours do not pass."""
    return [
        name
        for earlier, names in imported_from_earlier(stem).items()
        for name in names
        if passing_exercises(earlier).source_of(name) == "borrowed"
    ]


def written_exercises(path: Path, lesson: Lesson) -> LessonExercises:
    """Return all exercises of a lesson; those that are stubs or missing in a file are borrowed.

    For looking at one's own code, right or wrong. What is borrowed also serves the functions of
    the file that call it.

    Raises:
        Wrong: the file cannot be run.
    """
    written = {exercise.name for exercise in lesson.exercises}
    written -= stubs_in(path.read_bytes(), lesson)
    return _loaded(lesson, path, _earlier(lesson.stem), written)


@cache
def all_written_exercises(stem: str) -> LessonExercises:
    """Return the same for a lesson's file here, which also imports what is written in earlier ones.

    Raises:
        Wrong: one of the files cannot be run.
    """
    lesson = find_lesson(stem)
    earlier = {
        before: {name: getattr(all_written_exercises(before), name) for name in names}
        for before, names in imported_from_earlier(stem).items()
    }
    written = {exercise.name for exercise in lesson.exercises}
    written -= stubs_in(lesson.module().read_bytes(), lesson)
    return _loaded(lesson, lesson.module(), earlier, written)


def reference_exercises(lesson: Lesson) -> LessonExercises:
    """Return all exercises of a lesson, borrowed; no file of the student is run."""
    return _loaded(lesson, None, None, set())


def _loaded(
    lesson: Lesson, path: Path | None, earlier: dict[str, dict[str, Any]] | None, theirs: set[str]
) -> LessonExercises:
    """Load a student's module, for those names that are theirs, and the reference for the rest."""
    mine = vars(load_in_time(path, earlier)) if path else {}
    reference = vars(load_module(lesson.module("solutions"), earlier))
    names = [exercise.name for exercise in lesson.exercises]
    own = {name: mine[name] for name in names if name in mine and name in theirs}
    borrowed = {name: reference[name] for name in names if name not in own}
    mine.update(borrowed)  # for those of the student's functions that call them
    return LessonExercises(own, borrowed, mine.get(LEFT_OUT, "").partition("\n")[0])
