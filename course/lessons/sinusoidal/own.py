"""What the figure to play with draws of a student's own encoding: the hands of clocks."""

import torch
from torch import Tensor

from course.publishing.lab.script import examples
from course.student.exercises import LessonExercises
from course.student.instrument.scene import ROUNDING, Numbers, OwnScene, called

LENGTH = 64
"""Positions of the scene, and of lesson 5's."""


def numbers(names: LessonExercises) -> Numbers:
    """Return the "hands" of positions, (T, D): all that is to the right, then all that is up."""
    shape = (LENGTH, len(examples()["query"]))
    rows = called("sinusoidal_encoding", lambda: names.sinusoidal_encoding(*shape), shape)
    return {"hands": torch.cat((rows[:, 1::2], rows[:, ::2]), dim=-1)}


def claims(own: Numbers, right: Numbers) -> list[tuple[str, str]]:
    """Return what holds for the hands of each position, also for lesson 5's query and key."""
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


SCENES = {"clock": OwnScene(("inverse_frequencies", "sinusoidal_encoding"), numbers, claims)}
