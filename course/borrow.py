"""The student's own functions where they pass, the reference's where they do not yet.

Whoever uses this (the wire-up, the notebooks) says which is which: nothing is borrowed silently.
"""

from functools import cache
from typing import Any

from course.progress import PASSED, status_of_all
from course.syllabus import find_lesson
from course.testing.outcomes import Wrong
from course.testing.stage import load_module


class Names:
    """The exercises of a lesson, each an attribute: yours if it passed, else the reference's."""

    def __init__(self, own: dict[str, Any], borrowed: dict[str, Any]) -> None:
        self._own = own
        self._borrowed = borrowed
        self.used: list[str] = []
        """The names that were asked for so far."""

    def __getattr__(self, name: str) -> Any:
        if name not in self._own and name not in self._borrowed:
            raise AttributeError(f"no exercise of this lesson is called {name}")
        self.used.append(name)
        return self._own[name] if name in self._own else self._borrowed[name]

    def whose(self, name: str) -> str:
        """ "yours" or "borrowed"."""
        return "yours" if name in self._own else "borrowed"


@cache
def names_of(stem: str) -> Names:
    """All exercises of a lesson; those that did not pass their last check are borrowed."""
    lesson, status = find_lesson(stem), status_of_all()
    try:
        mine = vars(load_module(lesson.module()))
    except Wrong:  # a file that cannot be imported: all of it is borrowed
        mine = {}
    reference = vars(load_module(lesson.module("solutions")))
    names = [exercise.name for exercise in lesson.exercises]
    own = {name: mine[name] for name in names if status[name] == PASSED and name in mine}
    return Names(own, {name: reference[name] for name in names if name not in own})
