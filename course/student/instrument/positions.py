"""What the scenes of lessons 3, 4, 5 and 7 draw, as numbers, made by the course's exercises."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from course.core.syllabus import find_lesson
from course.publishing.lab.script import examples
from course.student.exercises import LessonExercises
from course.testing.errors import location

EXERCISES = {
    "learned": ("learned", ("LearnedPositionalEmbedding",)),
    "clock": ("sinusoidal", ("inverse_frequencies", "sinusoidal_encoding")),
    "rope": ("rope", ("rope_tables", "rotate_half", "apply_rope")),
    "longer": ("longer", ("yarn_frequencies",)),
}
"""Scene -> the lesson and the exercises that it draws."""

LENGTH = 64
"""Positions of the scenes of lessons 4 and 5."""

HEAD_DIM, TRAINED = 16, 512
"""The head of lesson 7's scene, and the length that it was trained on."""

FACTORS = [32 / share for share in range(32, 3, -1)]
"""How many times longer the text gets there: YaRN is linear in one divided by this."""


class NotShown(Exception):
    """A function that gives nothing to show; the message is one sentence."""


def numbers_of(scene: str, names: LessonExercises, learned: Tensor) -> dict[str, Tensor]:
    """Return what a scene draws.

    Args:
        names: the exercises of the scene's lesson.
        learned: the trained rows of lesson 3, (T, C).

    Returns:
        For "learned" the "rows" that are added, (T, C). For "clock" a position's hands, and for
        "rope" those of the "query" and the "key": (T, D), all that is to the right, then all that
        is up. For "longer" the frequencies by "yarn", (factors, D/2).

    Raises:
        NotShown: a function raises, or gives something of another kind or shape.
    """
    if scene == "learned":
        return {
            "rows": _called(
                "LearnedPositionalEmbedding", lambda: _rows_of(names, learned), learned.shape
            )
        }
    if scene == "longer":
        of = [
            _called(
                "yarn_frequencies",
                lambda: names.yarn_frequencies(HEAD_DIM, 10000.0, factor, TRAINED),  # noqa: B023
                (HEAD_DIM // 2,),
            )
            for factor in FACTORS
        ]
        return {"yarn": torch.stack(of)}
    query, key = examples()["query"], examples()["key"]
    shape = (LENGTH, len(query))
    if scene == "clock":
        rows = _called("sinusoidal_encoding", lambda: names.sinusoidal_encoding(*shape), shape)
        return {"hands": torch.cat((rows[:, 1::2], rows[:, ::2]), dim=-1)}
    cos, sin = _called("rope_tables", lambda: names.rope_tables(*shape), shape, shape)

    def turned(word: Sequence[float]) -> Tensor:
        x = torch.tensor(word).repeat(LENGTH, 1)
        return _called("apply_rope", lambda: names.apply_rope(x, cos, sin), shape)

    return {"query": turned(query), "key": turned(key)}


def _rows_of(names: LessonExercises, learned: Tensor) -> Tensor:
    with torch.random.fork_rng(devices=[]):  # it draws its first rows
        module = names.LearnedPositionalEmbedding(*learned.shape)
    tables = [one for one in module.parameters() if one.shape == learned.shape]
    if len(tables) != 1:
        raise NotShown(
            "LearnedPositionalEmbedding has no parameter of the shape "
            f"{tuple(learned.shape)} to hold its rows."
        )
    with torch.no_grad():
        tables[0].copy_(learned)
    return module(len(learned))


def _called(name: str, function: Callable[[], Any], *shapes: Sequence[int]) -> Any:
    """Return what a function gives, float32: a tensor of the shape, or one for each shape."""
    try:
        results = function()
    except NotShown:
        raise
    except Exception as error:
        lesson = next(stem for stem, exercises in EXERCISES.values() if name in exercises)
        place = location(error, find_lesson(lesson).module()).partition(": ")[0]
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


# --- what the figures claim -----------------------------------------------------------------------

ROUNDING = 1e-3
"""What float32 may leave of numbers next to 1."""


def differ(own: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    """Return whether a figure of one is another than a figure of the other."""
    return any((own[name] - right[name]).abs().max() > ROUNDING for name in right)


def claims_on(
    scene: str, own: dict[str, Tensor], right: dict[str, Tensor]
) -> list[tuple[str, str]]:
    """Return what a scene claims: each a sentence, and one on how `own` breaks it, or "".

    Args:
        own, right: the numbers of the student's functions and of the reference.
    """
    if scene == "learned":
        return [("Position p gets row p of the table.", _wrong_row(own["rows"], right["rows"]))]
    if scene == "longer":
        claim = "Fast pairs keep their frequency, and slow ones are divided by the factor."
        return [(claim, _wrong_frequency(own["yarn"], right["yarn"]))]
    first, last = next(iter(own)), [*own][-1]
    hands, wanted = _hands(own[first]), _hands(right[first])
    what = "The dot product" if first == last else "The score"
    return [
        ("Later positions turn the hands counterclockwise.", _wrong_way(hands)),
        ("Each pair turns at its speed.", _wrong_speed(hands, wanted)),
        ("A hand keeps its length.", _wrong_length(hands, wanted)),
        (f"{what} depends on the distance only.", _drift(own[first] @ own[last].T)),
    ]


def _hands(rows: Tensor) -> Tensor:
    """Return the tips of hands as complex numbers, (T, D/2)."""
    return torch.complex(*rows.double().chunk(2, dim=-1))


def _turns(hands: Tensor) -> Tensor:
    """Return by how many degrees each pair turns from position 0 to 1, counterclockwise."""
    return (hands[1] * hands[0].conj()).angle().rad2deg()


def _wrong_way(hands: Tensor) -> str:
    turns = _turns(hands)
    still, back = (turns.abs() < ROUNDING), turns < -ROUNDING
    for pairs, what in (still, "don't turn"), (back, "turn clockwise"):
        if pairs.any():
            some = "" if pairs.all() else f" on pair {pairs.int().argmax()}"
            return f"Later positions should turn the hands counterclockwise; yours {what}{some}."
    return ""


def _wrong_speed(hands: Tensor, wanted: Tensor) -> str:
    got, want = _turns(hands), _turns(wanted)
    off = ((got - want).abs() > 0.01 * want.abs()).nonzero().flatten().tolist()
    if not off:
        return ""
    pair = off[0]
    return (
        f"The hand of pair {pair} should turn by {want[pair]:.3g}° from one position to the next; "
        f"yours turns by {got[pair]:.3g}°."
    )


def _wrong_length(hands: Tensor, wanted: Tensor) -> str:
    share = ((hands.abs() - wanted.abs()) / wanted.abs()).abs().max().item()
    return f"A hand should keep its length; yours is off by up to {share:.0%}." * (share > 0.005)


def _drift(scores: Tensor) -> str:
    """Say by how much scores of the same distance differ from one pair of positions to the next."""
    change = (scores[1:, 1:] - scores[:-1, :-1]).abs().max().item()
    if change <= ROUNDING * max(scores.abs().max().item(), 1):
        return ""
    return (
        "Two words with the same distance should get the same product anywhere; from one position "
        f"to the next, yours changes by up to {change:.2g}."
    )


def _wrong_row(rows: Tensor, table: Tensor) -> str:
    off = ((rows - table).abs().amax(dim=-1) > ROUNDING).nonzero().flatten().tolist()
    if not off:
        return ""
    distances = (table - rows[off[0]]).abs().amax(dim=-1)
    nearest = distances.argmin().item()
    what = f"row {nearest}" if distances[nearest] < ROUNDING else "other numbers"
    return f"Position {off[0]} should get row {off[0]} of the table; yours gets {what}."


def _wrong_frequency(got: Tensor, want: Tensor) -> str:
    off = ((got - want).abs() > 0.01 * want).nonzero().tolist()
    if not off:
        return ""
    factor, pair = off[-1]
    return (
        f"In a text {FACTORS[factor]:g} times as long, pair {pair} should turn by "
        f"{want[factor, pair].rad2deg():.3g}° a position; yours turns by "
        f"{got[factor, pair].rad2deg():.3g}°."
    )
