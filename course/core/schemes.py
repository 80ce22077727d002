"""The position schemes of the shoot-out, one record for each.

From this table follow what `course experiment positions` offers and prints, the models that it
trains, and the color and marker of a scheme in every figure.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CONTEXT = 64
"""Characters that a model reads at once while it trains."""

LONGEST = 256
"""The longest text that a model is asked about; it trains on shorter ones."""


@dataclass(frozen=True)
class ModelSize:
    """A model's size: layers, features, heads.

    Attributes:
        context: tokens that it reads at once in training.
        longest: tokens that it can be asked about.
        widening: hidden features per feature in the network after attention; 0 leaves that out.
    """

    n_layers: int
    n_embd: int
    n_heads: int
    context: int = CONTEXT
    longest: int = LONGEST
    widening: int = 4

    @property
    def head_dim(self) -> int:
        """Return D, the features of a head."""
        return self.n_embd // self.n_heads


@dataclass(frozen=True)
class Scheme:
    """A way to tell a small GPT where its tokens are.

    Attributes:
        title: what the field calls it.
        sentence: what it does in the model, for the command's help.
        color: a color of `course/publishing/figures/palette.py`.
        marker: matplotlib's sign for its marker; no two schemes have both in common.
        exercises: what its model is made and measured with.
        parts: given exercises by the stem of their lesson, and the model's size, returns
            attributes of `CharacterGPT`.
        least_layers: below, it is the same as another scheme.
    """

    title: str
    sentence: str
    color: str
    marker: str
    exercises: tuple[str, ...]
    parts: Callable[[Callable[[str], Any], ModelSize], dict[str, Any]]
    least_layers: int = 1


SCHEMES = {
    "none": Scheme(
        title="no positions",
        sentence="has no positions except what the causal mask tells",
        color="quiet",
        marker="P",
        exercises=(),
        parts=lambda lesson, size: {},
    ),
    "learned": Scheme(
        title="learned",
        sentence="adds a trained row for each position",
        color="purple",
        marker="^",
        exercises=("LearnedPositionalEmbedding",),
        parts=lambda lesson, size: {
            "added": lesson("learned").LearnedPositionalEmbedding(size.longest, size.n_embd)
        },
    ),
    "sinusoidal": Scheme(
        title="sinusoidal",
        sentence="adds a row of sines and cosines",
        color="green",
        marker="D",
        exercises=("SinusoidalPositionalEmbedding",),
        parts=lambda lesson, size: {
            "added": lesson("sinusoidal").SinusoidalPositionalEmbedding(size.longest, size.n_embd),
            "token_scale": math.sqrt(size.n_embd),  # Vaswani et al. (2017), section 3.4
        },
    ),
    "rope": Scheme(
        title="RoPE",
        sentence="rotates queries and keys",
        color="vermillion",
        marker="s",
        exercises=("RotaryEmbedding", "apply_rope", "ntk_base", "yarn_frequencies"),
        parts=lambda lesson, size: {
            "turned": lesson("rope").RotaryEmbedding(size.longest, size.head_dim)
        },
    ),
    "alibi": Scheme(
        title="ALiBi",
        sentence="subtracts a penalty from the scores",
        color="blue",
        marker="o",
        exercises=("alibi_bias",),
        parts=lambda lesson, size: {
            "penalty": lesson("rope").alibi_bias(size.n_heads, size.longest)
        },
    ),
    "t5": Scheme(
        title="T5",
        sentence="adds a learned bias to the scores (RelativeBias)",
        color="ink",
        marker="X",
        exercises=("RelativeBias", "relative_buckets"),
        # one for all layers; its buckets end where training does, so that it meets every one
        parts=lambda lesson, size: {
            "relative": lesson("longer").RelativeBias(size.n_heads, max_distance=size.context)
        },
    ),
    "partial": Scheme(
        title="partial RoPE",
        sentence="rotates a quarter of each head's features",
        color="amber",
        marker="v",
        exercises=("PartialRotary", "RotaryEmbedding", "rope_tables", "apply_rope"),
        parts=lambda lesson, size: {
            "turned": lesson("longer").PartialRotary(
                size.longest, size.head_dim, size.head_dim // 4
            )
        },
    ),
    "rnope": Scheme(
        title="RNoPE",
        sentence="is RoPE in every other layer, from the first on",
        color="red",
        marker="*",
        exercises=("RotaryEmbedding",),
        parts=lambda lesson, size: SCHEMES["rope"].parts(lesson, size) | {"turns_every": 2},
        least_layers=2,
    ),
}
"""Name -> scheme. To add one, add an entry."""


def schemes_for(n_layers: int) -> tuple[str, ...]:
    """Return the schemes that differ in a model with so many layers."""
    return tuple(name for name, one in SCHEMES.items() if n_layers >= one.least_layers)
