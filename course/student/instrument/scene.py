"""The scenes that draw a student's own functions: `own.py` in the lessons' rooms has them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course.core.syllabus import find_lesson, lessons
from course.publishing.figures import of_room
from course.student.exercises import LessonExercises
from course.testing.errors import location

Numbers = dict[str, Tensor]
"""What a scene draws, by the names that its script takes."""

ROUNDING = 1e-3
"""What float32 may leave of numbers next to 1."""


@dataclass(frozen=True)
class OwnScene:
    """A scene that draws a student's own functions.

    Attributes:
        exercises: of its lesson, those that it draws.
        numbers: returns what these give; it raises `NotShown` if that cannot be drawn.
        claims: given the student's numbers and the reference's, returns what the scene claims: each
            a sentence, and one on how the student's break it, or "".
    """

    exercises: tuple[str, ...]
    numbers: Callable[[LessonExercises], Numbers]
    claims: Callable[[Numbers, Numbers], list[tuple[str, str]]]


class NotShown(Exception):
    """A function that gives nothing to show; the message is one sentence."""


@cache
def own_scenes() -> dict[str, tuple[str, OwnScene]]:
    """Return all scenes, by name, each with the stem of its lesson."""
    rooms = {lesson.stem: of_room(lesson.stem, "own") for lesson in lessons()}
    return {
        name: (stem, scene)
        for stem, room in rooms.items()
        for name, scene in getattr(room, "SCENES", {}).items()
    }


def called(name: str, function: Callable[[], Any], *shapes: Sequence[int]) -> Any:
    """Return what an exercise gives, float32: a tensor of the shape, or one for each shape.

    Raises:
        NotShown: it raises, or gives something of another kind or shape.
    """
    try:
        results = function()
    except NotShown:
        raise
    except Exception as error:
        place = location(error, find_lesson(name).module()).partition(": ")[0]
        at = f" at {place}" if place else ""
        message = str(error).partition("\n")[0].rstrip(".")
        raise NotShown(f"{name} raises {type(error).__name__}{at}: {message}.") from None
    several = results if len(shapes) > 1 and isinstance(results, tuple | list) else (results,)
    want, got = [tuple(shape) for shape in shapes], [_shape(result) for result in several]
    if got != want:
        needed, given = (" and ".join(map(str, sizes)) for sizes in (want, got))
        raise NotShown(f"The figure needs the shape {needed}, and {name} returns {given}.")
    if any(result.is_complex() for result in several):
        raise NotShown(f"{name} returns complex numbers.")
    plain = [result.detach().to("cpu", torch.float32) for result in several]
    if not all(result.isfinite().all() for result in plain):
        raise NotShown(f"{name} returns numbers that are infinite or NaN.")
    return plain if len(shapes) > 1 else plain[0]


def _shape(result: Any) -> tuple[int, ...] | str:
    return tuple(result.shape) if isinstance(result, Tensor) else f"a {type(result).__name__}"


def differ(own: Numbers, right: Numbers) -> bool:
    """Return whether a figure of one is another than a figure of the other."""
    return any((own[name] - right[name]).abs().max() > ROUNDING for name in right)
