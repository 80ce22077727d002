"""Mistakes that `course experiment llama --breaks` makes in a published model, one at a time.

`measure.py` keeps what each of them does to the loss; `--mine` compares a student's with these.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from course.data.published import PublishedModel
from course.experiments.gpt import Unturned
from course.experiments.llama import RIGHT, ChangedModel

SHIFT = 1000
"""Positions that everything is moved by."""


def _moved(rotary: type[nn.Module], published: PublishedModel) -> type[nn.Module]:
    class Moved(nn.Module):
        """A `RotaryEmbedding` at positions that all begin later."""

        def __init__(self, max_seq_len: int, head_dim: int, base: float) -> None:
            super().__init__()
            self.rotary = rotary(max_seq_len, head_dim, base)

        def forward(self, x: Tensor, offset: int = 0) -> Tensor:
            return self.rotary(x, offset + SHIFT)

    return Moved


def _backwards(rotary: type[nn.Module], published: PublishedModel) -> type[nn.Module]:
    def mirrored(x: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first, -second), dim=-1)

    class Backwards(rotary):
        """A `RotaryEmbedding` that turns the other way, as with a wrong minus in `rotate_half`."""

        def forward(self, x: Tensor, offset: int = 0) -> Tensor:
            return mirrored(super().forward(mirrored(x), offset))

    return Backwards


def _every_third_head(attend: Callable, published: PublishedModel) -> Callable:
    """Return a `causal_attention` in which query head h reads key head h % K, not h // (H / K)."""
    n_heads, n_kv_heads = published.sizes["n_heads"], published.sizes["n_kv_heads"]
    heads = torch.arange(n_heads) % n_kv_heads * (n_heads // n_kv_heads)
    return lambda q, k, v: attend(q, k[:, heads], v[:, heads])


def _reordered_with(heads: Callable[[int, PublishedModel], int | None]) -> Callable[..., Any]:
    """Return a break of `interleaved_to_half`: other numbers of heads; None changes no order."""

    def replaced(reorder: Callable, published: PublishedModel) -> Callable:
        def reordered(weight: Tensor, n_heads: int) -> Tensor:
            n = heads(n_heads, published)
            return weight if n is None else reorder(weight, n)

        return reordered

    return replaced


def _is_q(n_heads: int, published: PublishedModel) -> bool:
    return n_heads == published.sizes["n_heads"]


BREAKS = (
    RIGHT,
    ChangedModel(f"every position + {SHIFT:,}", {"RotaryEmbedding": _moved}),
    ChangedModel("base 10,000 instead of 100,000", sizes={"base": 10000.0}),
    ChangedModel("no rotation", {"RotaryEmbedding": lambda *_: Unturned}),
    ChangedModel("rotated backwards", {"RotaryEmbedding": _backwards}),
    ChangedModel(
        "rows of q and k left interleaved",
        {"interleaved_to_half": _reordered_with(lambda n, _: None)},
    ),
    ChangedModel(
        "only q reordered",
        {"interleaved_to_half": _reordered_with(lambda n, of: n if _is_q(n, of) else None)},
    ),
    ChangedModel(
        "k reordered as if it had one head",
        {"interleaved_to_half": _reordered_with(lambda n, of: n if _is_q(n, of) else 1)},
    ),
    ChangedModel("key heads in the wrong order", {"causal_attention": _every_third_head}),
)
