"""Measure what mistakes cost when a checkpoint with interleaved RoPE is loaded.

    python course/lessons/rope/measure.py --to course/lessons/rope/figures

writes checkpoint.json, the table under "a whole checkpoint" in lesson 5, in half a minute. It uses
your functions where they pass. `course data tinyshakespeare` fetches one of its two texts.

Shapes: B windows, T tokens, H heads, D features of a head.
"""

import copy
import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course.data import data_folder
from course.data.kingdom import kingdom_text
from course.data.reading import read_text
from course.experiments.training import CONTEXT, QUICK, Training
from course.publishing.figures.measured import measure
from course.student.exercises import passing_exercises

PROMPT = CONTEXT // 2
"""Characters that are read before those that count."""


def interleaved(x: Tensor) -> Tensor:
    """Rotate the pairs 2i and 2i + 1 of x (B, H, T, D), as Meta's Llama does."""
    frequencies = 10000.0 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = torch.outer(torch.arange(x.shape[-2]), frequencies)  # (T, D/2)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@torch.no_grad()
def losses(text: str, quick: bool) -> dict[str, float]:
    """Return the loss on the second half of held-out windows, by how a checkpoint is loaded."""
    settings = dataclasses.replace(QUICK, steps=2) if quick else QUICK
    published, rope = Training("none", settings, text), passing_exercises("rope")
    published.model.turned = interleaved
    with torch.enable_grad():
        published.run()
    n_heads = settings.size.n_heads
    rotate = rope.RotaryEmbedding(CONTEXT, settings.size.head_dim)

    def forgetful(x: Tensor) -> Tensor:  # one by one after the prompt, each at position 0
        return torch.cat((rotate(x[..., :PROMPT, :]), x[..., PROMPT:, :]), dim=-2)

    ids, found = published.held_out_ids, {}
    starts = torch.linspace(0, len(ids) - CONTEXT - 1, 256).long()
    windows = ids[starts[:, None] + torch.arange(CONTEXT + 1)]  # (B, T + 1)
    for way, turned, converted_heads in (
        ("as published", interleaved, 0),
        ("converted", rotate, n_heads),
        ("not converted", rotate, 0),
        ("as one head", rotate, 1),
        ("offset forgotten", forgetful, n_heads),
    ):
        model = copy.deepcopy(published.model)
        model.turned = turned
        for block in model.blocks if converted_heads else ():
            *both, values = block.to_qkv.weight.chunk(3)
            both = [rope.interleaved_to_half(weight, converted_heads) for weight in both]
            block.to_qkv.weight.copy_(torch.cat((*both, values)))
        logits = model(windows[:, :-1])[:, PROMPT - 1 :]
        loss = F.cross_entropy(logits.flatten(0, 1), windows[:, PROMPT:].flatten())
        found[way] = round(loss.item(), 2)
    return found


def checkpoint(quick: bool) -> dict[str, Any]:
    """Return the losses on both texts, in nats per character."""
    torch.set_num_threads(1)  # products this small are not worth sharing
    fetch = "fetch it with: course data tinyshakespeare"
    texts = kingdom_text(), read_text(data_folder() / "tinyshakespeare.txt", fetch)
    kingdom, shakespeare = (losses(text, quick) for text in texts)
    return {"kingdom": kingdom, "Shakespeare": shakespeare}


if __name__ == "__main__":
    measure(__doc__, checkpoint)
