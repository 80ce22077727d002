"""What each scheme does to positions, as tables of numbers, made by the exercises of the course."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course.lab.training import SIZE
from course.student.exercises import LessonExercises
from course.syllabus import find_lesson
from course.testing.errors import location

HEAD_DIM = SIZE.n_embd // SIZE.n_heads

EXERCISES = {
    "learned": ("learned", ("LearnedPositionalEmbedding",)),
    "sinusoidal": ("sinusoidal", ("inverse_frequencies", "sinusoidal_encoding")),
    "rope": ("rope", ("rope_tables", "rotate_half", "apply_rope")),
    "alibi": ("rope", ("alibi_bias",)),
}
"""Scheme -> the lesson and the exercises that it takes."""


class NotShown(Exception):
    """A function that gives nothing to show; the message is one sentence."""


def table_of(scheme: str, names: LessonExercises, length: int, learned: Tensor) -> Tensor:
    """Return what a scheme does at the first `length` positions.

    Args:
        names: the exercises of the scheme's lesson.
        learned: the trained rows of "learned", (at least `length`, C).

    Returns:
        For "learned" and "sinusoidal" the rows that are added, (length, C); for "rope" one matrix
        a position, which turns x as `x @ matrix`, (length, D, D); for "alibi" what is added to the
        scores, (H, length, length).

    Raises:
        NotShown: a function raises, or gives something of another kind or shape.
    """
    rows = (length, SIZE.n_embd)
    if scheme == "learned":
        return _called("LearnedPositionalEmbedding", lambda: _rows_of(names, learned, length), rows)
    if scheme == "sinusoidal":
        return _called("sinusoidal_encoding", lambda: names.sinusoidal_encoding(*rows), rows)
    if scheme == "alibi":
        shape = (SIZE.n_heads, length, length)
        return _called("alibi_bias", lambda: names.alibi_bias(SIZE.n_heads, length), shape)
    return _rotations(names, length)


def _rows_of(names: LessonExercises, learned: Tensor, length: int) -> Tensor:
    with torch.random.fork_rng(devices=[]):  # it draws its first rows
        module = names.LearnedPositionalEmbedding(*learned.shape)
    tables = [one for one in module.parameters() if one.shape == learned.shape]
    if len(tables) != 1:
        raise NotShown(
            "LearnedPositionalEmbedding cannot be shown: it has no parameter of the shape "
            f"{tuple(learned.shape)} to hold its rows; `course check learned` says more"
        )
    with torch.no_grad():
        tables[0].copy_(learned)
    return module(length)


def _rotations(names: LessonExercises, length: int) -> Tensor:
    """Return what `apply_rope` does to any x: it is linear, so unit vectors tell everything."""
    shape = (length, HEAD_DIM)

    def tables() -> tuple[Tensor, Tensor]:
        return names.rope_tables(length, HEAD_DIM)

    cos, sin = _called("rope_tables", tables, shape, shape)

    def turned(x: Tensor) -> Tensor:
        return _called("apply_rope", lambda: names.apply_rope(x, cos, sin), tuple(x.shape))

    units = torch.eye(HEAD_DIM)[:, None].repeat(1, length, 1)  # (from, position, feature)
    matrices = turned(units).transpose(0, 1)  # (position, from, to)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    as_matrices = (x[:, None] @ matrices)[:, 0]
    if not torch.allclose(turned(x.clone()), as_matrices, rtol=1e-3, atol=1e-3, equal_nan=True):
        raise NotShown(
            "apply_rope cannot be shown because it is not a rotation: its result for a sum is not "
            "the sum of its results for the parts; `course check rope` says more"
        )
    return matrices


def _called(name: str, function: Callable[[], Any], *shapes: Sequence[int]) -> Any:
    """Return what a function gives, float32: a tensor of the shape, or one for each shape."""
    lesson = next(lesson for lesson, exercises in EXERCISES.values() if name in exercises)
    more = f"`course check {lesson}` says more"
    try:
        results = function()
    except NotShown:
        raise
    except Exception as error:
        place = location(error, find_lesson(lesson).module()).partition(": ")[0]
        at = f" (at {place})" if place else ""
        message = str(error).partition("\n")[0]
        raise NotShown(
            f"{name} cannot be shown, for it raises {type(error).__name__}: {message}{at}; {more}"
        ) from None
    several = results if len(shapes) > 1 and isinstance(results, tuple | list) else (results,)
    want, got = [tuple(shape) for shape in shapes], [_shape(result) for result in several]
    if got != want:
        needed, given = (" and ".join(map(str, sizes)) for sizes in (want, got))
        raise NotShown(
            f"{name} cannot be shown: the page needs the shape {needed}, and it gives {given}; "
            f"{more}"
        )
    if any(result.is_complex() for result in several):
        raise NotShown(f"{name} cannot be shown: it gives complex numbers; {more}")
    plain = [result.detach().to("cpu", torch.float32) for result in several]
    return plain if len(shapes) > 1 else plain[0]


def _shape(result: Any) -> tuple[int, ...] | str:
    return tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
