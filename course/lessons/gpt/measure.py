"""Train the two small models of the figures to play with.

    python course/lessons/gpt/measure.py --to course/lessons/gpt/figures

writes to_play_with.json, in half a minute.
"""

from typing import Any

import torch

from course.experiments.character_gpt import CharacterGPT
from course.lessons.gpt.word_models import SIZE, tokenizer_of_words, trained
from course.publishing.figures.measured import measure, packed


def to_play_with(quick: bool) -> dict[str, Any]:
    """Return the weights of a model without positions, and of one that rotates."""
    return {
        "words": tokenizer_of_words().words,
        "heads": SIZE.n_heads,
        "models": {scheme: weights(trained(scheme, quick)) for scheme in ("none", "rope")},
    }


def weights(model: CharacterGPT) -> dict[str, Any]:
    """Return a model's weights, packed."""
    (block,) = model.blocks
    norms = torch.stack([norm.weight for norm in (*block.norms, model.last_norm)])
    return {
        "loudness": model.token_scale,
        "tokens": packed(model.tokens.weight),
        "qkv": packed(block.to_qkv.weight),
        "out": packed(block.from_heads.weight),
        "widen": packed(block.widen.weight),
        "narrow": packed(block.narrow.weight),
        "norms": packed(norms),
    }


if __name__ == "__main__":
    measure(__doc__, to_play_with)
