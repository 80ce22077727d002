"""The shoot-out: one small model, many ways to know where a token is, on longer and longer texts.

Each model trains on windows of `CONTEXT` characters and is then asked about longer ones. A training
is a separate process, and a result is kept with everything that it depends on.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course.core.schemes import CONTEXT, LONGEST, SCHEMES, schemes_for
from course.data.corpus import load_corpus
from course.experiments.character_gpt import ALWAYS
from course.experiments.processes import side_by_side
from course.experiments.training import (
    QUICK,
    Training,
    TrainingSettings,
    fingerprint,
    kept_in,
    kept_or_made,
    sources,
)
from course.student.exercises import passing_exercises

LENGTHS = (64, 128, 256)
"""Characters that a model is asked about after its training."""


@dataclass(frozen=True)
class SchemeResult:
    """A training's outcome.

    Attributes:
        losses: in training, for each step, nats per character.
        held_out: by length, on text that it never saw.
        stretched: RoPE only: the same with its angles changed after the training, by way.
        sample: what it writes.
        sources: by exercise, "yours" or "borrowed".
        seconds: of processor time.
    """

    scheme: str
    corpus: str
    losses: list[float]
    held_out: dict[int, float]
    stretched: dict[str, dict[int, float]]
    sample: str
    sources: dict[str, str]
    seconds: float


def shoot_out(
    settings: TrainingSettings = QUICK,
    schemes: Sequence[str] = (),
    on_step: Callable[[str, int], object] = lambda scheme, step: None,
) -> list[SchemeResult]:
    """Train a model for each scheme, as many at a time as there are processors.

    Args:
        schemes: keys of `SCHEMES`; all that differ at this size unless given.
        on_step: told how many steps a scheme has done.
    """
    schemes = schemes or schemes_for(settings.size.n_layers)
    return side_by_side(result_of, schemes, (settings, kept_in("positions")), on_step)


def result_of(
    scheme: str,
    settings: TrainingSettings,
    folder: Path,
    tell: Callable[[int], object] = lambda step: None,
) -> SchemeResult:
    """Return the result of one scheme: a kept one of the same settings, code and text, or a new.

    Args:
        tell: told how many steps are done.
    """
    torch.set_num_threads(1)
    corpus = load_corpus()
    names = (*ALWAYS, *SCHEMES[scheme].exercises)

    def made() -> dict[str, Any]:
        training = Training(scheme, settings, corpus.text)
        training.run(tell)
        result = SchemeResult(
            scheme=scheme,
            corpus=corpus.name,
            losses=training.losses,
            held_out={length: training.held_out_loss(length) for length in LENGTHS},
            stretched=stretched_losses(training, LENGTHS) if scheme == "rope" else {},
            sample=training.sample(),
            sources=sources(names),
            seconds=training.seconds,
        )
        return dataclasses.asdict(result)

    kept = folder / f"{scheme}-{fingerprint(settings, corpus.text, names)}.pt"
    return SchemeResult(**kept_or_made(kept, made))


def smoothed(losses: Sequence[float], span: int = 25) -> list[float]:
    """Return the mean of each loss and of those before it, up to `span` in all, for a curve.

    >>> smoothed([4.0, 2.0, 3.0], span=2)
    [4.0, 3.0, 2.5]
    """
    windows = (losses[max(0, end - span) : end] for end in range(1, len(losses) + 1))
    return [sum(window) / len(window) for window in windows]


# --- RoPE, its angles changed after the training ------------------------------------------------

BASE = 10000.0

YARN_TURNS = (32.0, 4.0)
"""Turns from which on "yarn" leaves a pair as it is: the paper's for Llama, and fewer.

In 64 characters the fastest pair turns 10 times, the next one 3: with 32, no pair is left as it is.
"""


def stretched_losses(training: Training, lengths: Sequence[int]) -> dict[str, dict[int, float]]:
    """Return the held-out losses of a trained RoPE model whose angles are changed afterwards.

    Where a text is f times as long as those of the training, "ntk" enlarges the base by
    `ntk_base(base, f, D)`, "linear" divides every position by f, and "yarn 32" and "yarn 4" take
    `yarn_frequencies` with these `beta_fast`, without the temperature that YaRN adds to them.

    Source: Peng et al. (2023), "YaRN", arXiv:2309.00071, sections 3.1 and 3.2; Chen et al. (2023),
    "Extending Context Window of Large Language Models via Positional Interpolation",
    arXiv:2306.15595.
    """
    model, rope, size = training.model, passing_exercises("rope"), training.settings.size
    trained, head_dim = model.turned, size.n_embd // size.n_heads
    losses: dict[str, dict[int, float]] = {}
    for length in lengths:
        factor = length / CONTEXT
        larger = rope.ntk_base(BASE, factor, head_dim)
        turns = {
            "ntk": rope.RotaryEmbedding(LONGEST, head_dim, larger),
            "linear": RopeAt(frequencies(head_dim) / factor),
        }
        for beta_fast in YARN_TURNS:
            by_parts = passing_exercises("longer").yarn_frequencies(
                head_dim, BASE, factor, CONTEXT, beta_fast
            )
            turns[f"yarn {beta_fast:g}"] = RopeAt(by_parts)
        for way, model.turned in turns.items():
            losses.setdefault(way, {})[length] = training.held_out_loss(length)
    model.turned = trained
    return losses


def frequencies(width: int) -> Tensor:
    """Return RoPE's angles per position for this many features: (width / 2,)."""
    return BASE ** (-torch.arange(0, width, 2) / width)


class RopeAt(nn.Module):
    """A `RotaryEmbedding` with other frequencies: `forward` turns (..., T, D).

    Args:
        frequencies: in radians per position, one for each pair; where there are fewer than D/2, the
            first features turn, and the others stay as they are.
        longest: offset + T is at most this.
    """

    def __init__(self, frequencies: Tensor, longest: int = LONGEST) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(longest).double(), frequencies.double()).repeat(1, 2)
        self.cos, self.sin = angles.cos().float(), angles.sin().float()

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        positions, width = slice(offset, offset + x.shape[-2]), self.cos.shape[-1]
        cos, sin = self.cos[positions], self.sin[positions]
        turned = passing_exercises("rope").apply_rope(x[..., :width], cos, sin)
        return torch.cat((turned, x[..., width:]), dim=-1)
