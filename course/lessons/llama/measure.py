"""Read from SmolLM2 the query and the keys of the figure to play with.

    python course/lessons/llama/measure.py --to course/lessons/llama/figures

writes to_play_with.json, in a few seconds. `course data smollm2` fetches the model.
"""

from typing import Any

import torch

from course.data.published import open_smollm2
from course.experiments.llama import load
from course.publishing.figures.measured import measure, packed

SENTENCE = "Paris is the capital of France. Rome is the capital of"
LAYER, HEAD = 23, 4
"""In this head the last word looks at Rome."""


def to_play_with(quick: bool) -> dict[str, Any]:
    """Return the query of a real head's last word, and its keys, before they are rotated."""
    published = open_smollm2()
    model, _ = load(published)
    layer, head = (0, 0) if quick else (LAYER, HEAD)
    ids = published.tokenizer.encode(SENTENCE).ids
    (attention,) = (one for one in model.blocks[layer].modules() if hasattr(one, "q_proj"))
    found = {}
    for name in ("q_proj", "k_proj"):
        part = getattr(attention, name)
        part.register_forward_hook(lambda _, __, out, name=name: found.update({name: out[0]}))
    with torch.no_grad():
        model(torch.tensor([ids]))
    n_heads, n_kv_heads = (published.sizes[name] for name in ("n_heads", "n_kv_heads"))
    width = published.sizes["n_embd"] // n_heads
    keys = found["k_proj"].unflatten(-1, (n_kv_heads, width))[:, head * n_kv_heads // n_heads]
    return {
        "tokens": [published.tokenizer.decode([token]).strip() for token in ids],
        "base": published.sizes["base"],
        "layer": layer,
        "head": head,
        "query": packed(found["q_proj"].unflatten(-1, (n_heads, width))[-1, head]),
        "keys": packed(keys),
    }


if __name__ == "__main__":
    measure(__doc__, to_play_with)
