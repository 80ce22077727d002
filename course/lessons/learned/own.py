"""What the figure to play with draws of a student's own table: trained rows, read by it."""

import torch

from course.publishing.figures.measured import measured, unpacked
from course.student.exercises import LessonExercises
from course.student.instrument.scene import ROUNDING, NotShown, Numbers, OwnScene, called

TRAINED = unpacked(measured("learned", "to_play_with")["positions"])
"""The rows of a trained table, (T, C)."""


def numbers(names: LessonExercises) -> Numbers:
    """Return the "rows" that are added, (T, C)."""
    name = "LearnedPositionalEmbedding"

    def read() -> torch.Tensor:
        with torch.random.fork_rng(devices=[]):  # it draws its first rows
            module = names.LearnedPositionalEmbedding(*TRAINED.shape)
        tables = [one for one in module.parameters() if one.shape == TRAINED.shape]
        if len(tables) != 1:
            shape = tuple(TRAINED.shape)
            raise NotShown(f"{name} has no parameter of the shape {shape} to hold its rows.")
        with torch.no_grad():
            tables[0].copy_(TRAINED)
        return module(len(TRAINED))

    return {"rows": called(name, read, TRAINED.shape)}


def claims(own: Numbers, right: Numbers) -> list[tuple[str, str]]:
    """Return that each position gets its row."""
    return [("Position p gets row p of the table.", _wrong_row(own["rows"], right["rows"]))]


def _wrong_row(rows: torch.Tensor, table: torch.Tensor) -> str:
    off = ((rows - table).abs().amax(dim=-1) > ROUNDING).nonzero().flatten().tolist()
    if not off:
        return ""
    distances = (table - rows[off[0]]).abs().amax(dim=-1)
    nearest = distances.argmin().item()
    what = f"row {nearest}" if distances[nearest] < ROUNDING else "other numbers"
    return f"Position {off[0]} should get row {off[0]} of the table; yours gets {what}."


SCENES = {"learned": OwnScene(("LearnedPositionalEmbedding",), numbers, claims)}
