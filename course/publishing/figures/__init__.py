"""The figures of the course: a function each, from plain data to a picture.

    from course.publishing import figures

    figures.position_table(pe)          the last line of a notebook's cell: the picture is shown
    figures.position_table(pe).savefig("table.png")
    figures.position_table(pe).alt      the same in words

Nothing here computes what a lesson asks for: a figure draws what your own code made. Those of one
lesson are in its room: in `pictures.py` for its notebook, in `figures.py` for its text.
"""

import importlib
import inspect
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from course.core.syllabus import lessons
from course.publishing.figures.picture import Picture
from course.publishing.figures.shared import (
    attention_weights,
    loss_curve,
    matrices,
)

__all__ = ["Picture", "attention_weights", "loss_curve", "matrices"]


def of_room(stem: str, part: str) -> ModuleType | None:
    """Return a part of a lesson's room, "figures" or "pictures"; None if it has none."""
    name = f"course.lessons.{stem}.{part}"
    return importlib.import_module(name) if find_spec(name) else None


def public_functions(module: ModuleType | None) -> dict[str, Callable]:
    """Return the functions that a module defines for others, by name."""
    found = inspect.getmembers(module, inspect.isfunction)
    return {
        name: one for name, one in found if one.__module__ == module.__name__ and name[0] != "_"
    }


@cache
def _of_notebooks() -> dict[str, Callable[..., Picture]]:
    rooms = (public_functions(of_room(lesson.stem, "pictures")) for lesson in lessons())
    return {
        name: draw
        for room in rooms
        for name, draw in room.items()
        if draw.__annotations__["return"] is Picture
    }


def __getattr__(name: str) -> Callable[..., Picture]:
    is_module = not name.startswith("_") and find_spec(f"{__name__}.{name}")
    if name.startswith("_") or is_module or name not in _of_notebooks():
        raise AttributeError(f"no figure is called {name}")
    return _of_notebooks()[name]


def __dir__() -> list[str]:
    return [*__all__, *_of_notebooks()]
