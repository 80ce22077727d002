"""Read far beyond the trained length of a published model, SmolLM2.

    python course/lessons/longer/measure.py --to course/lessons/longer/figures

writes far.json, in 6 minutes on idle cores, with 2.6 GB of memory. It uses your functions where
they pass. `course data smollm2` and `course data tinyshakespeare` fetch what it reads.

Shapes: B batch, T tokens, H heads, D features of a head, V vocabulary.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.data.published import PublishedModel, open_smollm2
from course.experiments.llama import ChangedModel, load, sample_ids
from course.experiments.positions import RopeAt
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


if __name__ == "__main__":
    measure(__doc__, far)
