"""The shoot-out: one small model, many ways to know where a token stands, and who reads on.

Each model trains on windows of `CONTEXT` characters and is then asked about longer ones. A training
is a process of its own, notes where it is now and then, and goes on from there when it is started
again; a result is kept with everything that it depends on, and not computed twice.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from course import root
from course.data.corpus import load_corpus
from course.experiments.character_gpt import ALWAYS, CONTEXT, LONGEST, SCHEMES, schemes_for
from course.experiments.processes import side_by_side
from course.experiments.training import (
    QUICK,
    Settings,
    Training,
    fingerprint,
    load_or_none,
    save,
    whose,
)
from course.student.borrow import names_of
from course.system.files import write_whole

LENGTHS = (64, 128, 256)
"""Characters that a model is asked about after its training."""

STEPS_BETWEEN_NOTES = 100


def kept_in() -> Path:
    """Return where its files are kept."""
    return root() / ".course" / "experiments" / "positions"


@dataclass(frozen=True)
class Result:
    """A training's outcome.

    Attributes:
        losses: in training, for each step, nats per character.
        held_out: by length, on text that it never saw.
        stretched: RoPE only: the same with its angles changed after the training, by way.
        sample: what it writes.
        whose: by exercise, "yours" or "borrowed".
        seconds: of processor time.
    """

    scheme: str
    settings: Settings
    corpus: str
    losses: list[float]
    held_out: dict[int, float]
    stretched: dict[str, dict[int, float]]
    sample: str
    whose: dict[str, str]
    seconds: float


def shoot_out(
    settings: Settings = QUICK,
    schemes: Sequence[str] = (),
    on_step: Callable[[str, int], object] = lambda scheme, step: None,
    folder: Path | None = None,
) -> list[Result]:
    """Train a model for each scheme, as many at a time as there are processors.

    Args:
        schemes: keys of `SCHEMES`; all that differ at this size unless given.
        on_step: told how many steps a scheme has done.
        folder: where results and unfinished trainings are kept; `kept_in()` unless given.
    """
    schemes = schemes or schemes_for(settings.size)
    return side_by_side(result_of, schemes, (settings, folder or kept_in()), on_step)


def result_of(
    scheme: str,
    settings: Settings,
    folder: Path,
    tell: Callable[[int], object] = lambda step: None,
) -> Result:
    """Return the result of one scheme: a kept one of the same settings, code and text, or a new.

    Args:
        tell: told how many steps are done.
    """
    torch.set_num_threads(1)
    corpus = load_corpus()
    names = (*ALWAYS, *SCHEMES[scheme])
    kept = folder / f"{scheme}-{fingerprint(settings, corpus.text, names)}.json"
    if result := _kept(kept, settings):
        tell(settings.steps)
        return result
    unfinished = kept.with_suffix(".pt")
    training = Training(scheme, settings, corpus.text, load_or_none(unfinished))
    while training.step < settings.steps:
        training.take_step()
        tell(training.step)
        if training.step % STEPS_BETWEEN_NOTES == 0:
            save(unfinished, training.noted())
    result = Result(
        scheme=scheme,
        settings=settings,
        corpus=corpus.name,
        losses=training.losses,
        held_out={length: training.held_out_loss(length) for length in LENGTHS},
        stretched=stretched_losses(training, LENGTHS) if scheme == "rope" else {},
        sample=training.sample(),
        whose=whose(names),
        seconds=training.seconds,
    )
    write_whole(kept, json.dumps(dataclasses.asdict(result), indent=1))
    unfinished.unlink(missing_ok=True)
    return result


def _kept(path: Path, settings: Settings) -> Result | None:
    """Read the result of these settings from a file; None if it is missing or damaged."""

    def with_lengths(fields: dict) -> dict:  # JSON makes texts of keys
        return {int(key) if key.isdigit() else key: value for key, value in fields.items()}

    try:
        fields = json.loads(path.read_text(encoding="utf-8"), object_hook=with_lengths)
        return Result(**(fields | {"settings": settings}))
    except (OSError, ValueError, TypeError):
        return None


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
    model, rope, size = training.model, names_of("rope"), training.settings.size
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
            by_parts = names_of("longer").yarn_frequencies(
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
    """RoPE with frequencies of its own: `forward` turns (..., T, D).

    Args:
        frequencies: in radians per position, one for each pair; where there are fewer than D/2, the
            first features turn, and the others stay as they are.
    """

    def __init__(self, frequencies: Tensor) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(LONGEST), frequencies.float())
        angles = torch.cat((angles, angles), dim=-1)
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, x: Tensor) -> Tensor:
        seq_len, width = x.shape[-2], self.cos.shape[-1]
        cos, sin = self.cos[:seq_len], self.sin[:seq_len]
        turned = names_of("rope").apply_rope(x[..., :width], cos, sin)
        return torch.cat((turned, x[..., width:]), dim=-1)
