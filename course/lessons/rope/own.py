"""What the figure to play with draws of a student's own rotation: a query and a key, turned."""

from collections.abc import Sequence

import torch

from course.lessons.sinusoidal.own import LENGTH, claims
from course.publishing.lab.script import examples
from course.student.exercises import LessonExercises
from course.student.instrument.scene import Numbers, OwnScene, called


def numbers(names: LessonExercises) -> Numbers:
    """Return the "query" and the "key" at each position, (T, D), as lesson 4's hands."""
    words = {name: examples()[name] for name in ("query", "key")}
    shape = (LENGTH, len(words["query"]))
    cos, sin = called("rope_tables", lambda: names.rope_tables(*shape), shape, shape)

    def turned(word: Sequence[float]) -> torch.Tensor:
        x = torch.tensor(word).repeat(LENGTH, 1)
        return called("apply_rope", lambda: names.apply_rope(x, cos, sin), shape)

    return {name: turned(word) for name, word in words.items()}


SCENES = {"rope": OwnScene(("rope_tables", "rotate_half", "apply_rope"), numbers, claims)}
