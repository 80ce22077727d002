"""Read far beyond the length of a training: with SmolLM2, and with small models in five tasks.

    python course/lessons/longer/measure.py --to course/lessons/longer/figures

writes far.json, in 6 minutes on idle cores, with 2.6 GB of memory, and tasks.json, in 4. It uses
your functions where they pass. `course data smollm2` and `course data tinyshakespeare` fetch what
far.json is about.

Shapes: B batch, T tokens, H heads, D features of a head, V vocabulary.
"""

import dataclasses
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.data.published import PublishedModel, open_smollm2
from course.experiments.character_gpt import CharacterGPT
from course.experiments.llama import ChangedModel, load, sample_ids
from course.experiments.positions import RopeAt
from course.experiments.processes import side_by_side
from course.experiments.tasks import (
    LENGTHS,
    NOT_ASKED,
    SIZE,
    TASKS,
    TRAINED,
    Job,
    TaskResult,
    jobs_for,
    result_of,
    table,
    trained,
)
from course.experiments.training import kept_in
from course.publishing.figures.measured import measure
from course.student.exercises import passing_exercises

FACTOR = 1.5
"""How many times longer than in its training the text is."""

PIECE = 512
"""Tokens that are read at once, and that a loss is the mean of."""


def far(quick: bool) -> dict[str, Any]:
    """Return the loss of each piece of a text: as trained, with `ntk_base` and with YaRN."""
    published = open_smollm2()
    text, ids = sample_ids(published, (2 * PIECE if quick else n_tokens(published)) + 1)
    losses = {way.title: losses_far(published, way, ids) for way in ways(published)}
    return {
        "text": text,
        "trained": published.sizes["max_seq_len"],
        "piece": PIECE,
        "losses": {way: [round(loss, 3) for loss in of_way] for way, of_way in losses.items()},
    }


def n_tokens(published: PublishedModel) -> int:
    """Return how many tokens are read."""
    return round(FACTOR * published.sizes["max_seq_len"])


def ways(published: PublishedModel) -> tuple[ChangedModel, ...]:
    """Return the model with its trained base, with that of `ntk_base`, and with YaRN."""
    sizes, trained = published.sizes, published.sizes["max_seq_len"]
    head_dim, base = sizes["n_embd"] // sizes["n_heads"], sizes["base"]
    frequencies = passing_exercises("longer").yarn_frequencies(head_dim, base, FACTOR, trained)

    class Stretched(RopeAt):
        def __init__(self, max_seq_len: int, head_dim: int, base: float) -> None:
            super().__init__(frequencies, max_seq_len)

    lean, longest = {"causal_attention": lambda *_: _with_little_memory}, n_tokens(published)
    stretched = passing_exercises("rope").ntk_base(base, FACTOR, head_dim)
    return (
        ChangedModel("as trained", lean, {"max_seq_len": longest}),
        ChangedModel("ntk_base", lean, {"max_seq_len": longest, "base": stretched}),
        ChangedModel(
            "YaRN", {**lean, "RotaryEmbedding": lambda *_: Stretched}, {"max_seq_len": longest}
        ),
    )


def _with_little_memory(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute `causal_attention` without ever holding all scores of a piece."""
    seen = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - q.shape[-2])
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def losses_far(published: PublishedModel, variant: ChangedModel, ids: Tensor) -> list[float]:
    """Return the mean loss of each `PIECE` tokens of ids (1, T), in nats per token."""
    model, llama = load(published, variant)
    reader, losses = ReadInPieces(model), []
    for start in range(0, ids.shape[1] - 1, PIECE):
        piece = ids[:, start : start + PIECE + 1]
        losses.append(llama.loss_by_position(reader, piece).mean().item())
    return losses


class ReadInPieces(nn.Module):
    """A model with one cache for all that it is called with, as `loss_by_position` calls it.

    The last token of a piece is only asked for: the next piece reads it.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.caches: list[dict[str, Any]] = [{} for _ in model.blocks]

    def forward(self, ids: Tensor) -> Tensor:
        logits = self.model(ids[:, :-1], self.caches)  # (B, T - 1, V)
        return F.pad(logits, (0, 0, 0, 1))  # (B, T, V)


# --- tasks --------------------------------------------------------------------------------------

SEED = 0


def tasks(quick: bool) -> dict[str, Any]:
    """Return the accuracy of each scheme in each task in %, by length, and two heads of a model."""
    results = _after_two_steps() if quick else _as_the_command_trains()
    accuracy = {
        task: {
            name: [round(100 * share) for share in row.values()]
            for name, row in table(results, task).items()
        }
        for task in TASKS
    }
    return {"lengths": LENGTHS, "accuracy": accuracy, **two_heads()}


def _as_the_command_trains() -> list[TaskResult]:
    return side_by_side(result_of, jobs_for(SEED), (kept_in("tasks"),))


def _after_two_steps() -> list[TaskResult]:
    """Return one result for each task and scheme; none is kept."""
    TASKS.update({name: dataclasses.replace(task, steps=2) for name, task in TASKS.items()})
    with TemporaryDirectory() as folder:
        return [result_of(job, Path(folder)) for job in jobs_for(SEED) if job.seed == SEED]


def two_heads() -> dict[str, list]:
    """Return a text of induction, and where two heads of a model with T5's bias look in it.

    In layer 1 it is the head that looks most at the token before, in layer 2 the one that looks
    most at the answer.
    """
    torch.set_num_threads(1)
    model = trained(Job("induction", "t5", SEED))
    many, answers = TASKS["induction"].make(64, TRAINED, torch.Generator().manual_seed(0))
    weights = attention_weights(model, many)  # (layers, B, H, T, T)
    before = weights[0].diagonal(-1, -2, -1).mean((0, 2))  # (H,)
    # the answer is the token after the first one that is the same
    places = (many[:, :, None] == many[:, None, :]).byte().argmax(-1) + 1
    shares = weights[1].gather(-1, places[:, None, :, None].expand(-1, SIZE.n_heads, -1, -1))
    at_answer = shares[..., 0].transpose(1, 2)[answers != NOT_ASKED].mean(0)  # (H,)
    ids, _ = TASKS["induction"].make(1, 16, torch.Generator().manual_seed(1))
    maps = [
        [[round(weight, 2) for weight in row] for row in of_layer[head].tolist()]
        for head, of_layer in zip(
            (before.argmax(), at_answer.argmax()), attention_weights(model, ids)[:, 0], strict=True
        )
    ]
    return {"ids": ids[0].tolist(), "layer 1": maps[0], "layer 2": maps[1]}


@torch.no_grad()
def attention_weights(model: CharacterGPT, ids: Tensor) -> Tensor:
    """Return how much each token looks at each one before it: (layers, B, H, T, T)."""
    x, mask, weights = model.embedded(ids), model.mask(ids.shape[1]), []
    for block in model.blocks:
        q, k, _ = block.heads(x, model.turned)
        weights.append((q @ k.mT / math.sqrt(q.shape[-1]) + mask).softmax(-1))
        x = block(x, mask, model.turned)
    return torch.stack(weights)


if __name__ == "__main__":
    measure(__doc__, far, tasks)
