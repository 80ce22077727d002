"""Measure what mistakes do to SmolLM2, and read the numbers of the figure to play with from it.

    python course/lessons/llama/measure.py --to course/lessons/llama/figures

writes breaks.json, breaks_kingdom.json and to_play_with.json, in a few minutes. `course data
smollm2` fetches the model, `course data tinyshakespeare` one of its two texts.
"""

from typing import Any

import torch
from torch import Tensor

from course.data.kingdom import kingdom_text
from course.data.published import PublishedModel, open_smollm2
from course.experiments import llama
from course.lessons.llama.breaks import BREAKS
from course.publishing.figures.measured import measure, packed

SENTENCE = "Paris is the capital of France. Rome is the capital of"
LAYER, HEAD = 23, 4
"""In this head the last word looks at Rome."""


def breaks(quick: bool) -> dict[str, Any]:
    """Return what each mistake does to the model, on Shakespeare: its loss, and two answers."""
    published = open_smollm2()
    return _breaks(published, *llama.sample_ids(published), quick)


def breaks_kingdom(quick: bool) -> dict[str, Any]:
    """Return the same on the text that is there without `course data tinyshakespeare`."""
    published = open_smollm2()
    ids = published.tokenizer.encode(kingdom_text()).ids[: llama.N_TOKENS]
    return _breaks(published, "the toy kingdom", torch.tensor([ids]), quick)


def _breaks(published: PublishedModel, text: str, ids: Tensor, quick: bool) -> dict[str, Any]:
    rows = []
    for broken in BREAKS[: 2 if quick else None]:
        loss, *answers = llama.measure(published, broken, ids)
        rows.append([broken.title, round(loss, 3), *answers])
    return {"text": text, "breaks": rows}


def to_play_with(quick: bool) -> dict[str, Any]:
    """Return the query of a real head's last word, and its keys, before they are rotated."""
    published = open_smollm2()
    model, _ = llama.load(published)
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
    measure(__doc__, breaks, breaks_kingdom, to_play_with)
