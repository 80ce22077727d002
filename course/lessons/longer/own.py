"""What the figure to play with draws of a student's own YaRN: frequencies for longer texts."""

import torch

from course.student.exercises import LessonExercises
from course.student.instrument.scene import Numbers, OwnScene, called

HEAD_DIM, TRAINED = 16, 512
"""The head of the scene, and the length that it was trained on."""

FACTORS = [32 / share for share in range(32, 3, -1)]
"""How many times longer the text gets: YaRN is linear in one divided by this."""


def numbers(names: LessonExercises) -> Numbers:
    """Return the frequencies by "yarn", (factors, D/2)."""

    def at(factor: float) -> torch.Tensor:
        return called(
            "yarn_frequencies",
            lambda: names.yarn_frequencies(HEAD_DIM, 10000.0, factor, TRAINED),
            (HEAD_DIM // 2,),
        )

    return {"yarn": torch.stack([at(factor) for factor in FACTORS])}


def claims(own: Numbers, right: Numbers) -> list[tuple[str, str]]:
    """Return what YaRN does to fast pairs and to slow ones."""
    claim = "Fast pairs keep their frequency, and slow ones are divided by the factor."
    return [(claim, _wrong_frequency(own["yarn"], right["yarn"]))]


def _wrong_frequency(got: torch.Tensor, want: torch.Tensor) -> str:
    off = ((got - want).abs() > 0.01 * want).nonzero().tolist()
    if not off:
        return ""
    factor, pair = off[-1]
    return (
        f"In a text {FACTORS[factor]:g} times as long, pair {pair} should turn by "
        f"{want[factor, pair].rad2deg():.3g}° a position; yours turns by "
        f"{got[factor, pair].rad2deg():.3g}°."
    )


SCENES = {"longer": OwnScene(("yarn_frequencies",), numbers, claims)}
