"""Measure what trained positions look like: 512 of MiniLM, and those of a figure to play with.

    python course/lessons/learned/measure.py --to course/lessons/learned/figures

writes real_positions.json and to_play_with.json, in half a minute. Before that, save MiniLM's file
model.safetensors, which Hugging Face has under sentence-transformers/all-MiniLM-L6-v2, as
data/all-MiniLM-L6-v2.safetensors.
"""

import json
import struct
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from course.data import data_folder
from course.data.reading import DataError
from course.lessons.gpt.word_models import tokenizer_of_words, trained
from course.publishing.figures.measured import measure, packed

FILE = "all-MiniLM-L6-v2.safetensors"

SHOWN = 64
"""Rows of the table to play with."""


def minilm_weight(name: str) -> Tensor:
    """Return one of MiniLM's weights, in float32.

    The file begins with 8 bytes: the length of the JSON that says where each weight is.
    """
    path = data_folder() / FILE
    if not path.exists():
        raise DataError(f"{path} is missing: it is all-MiniLM-L6-v2's model.safetensors")
    with path.open("rb") as file:
        (n_bytes,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(n_bytes))[name]
        start, end = entry["data_offsets"]
        file.seek(8 + n_bytes + start)
        numbers = np.frombuffer(file.read(end - start), dtype="<f4")
    return torch.from_numpy(numbers.reshape(entry["shape"]).copy())


def real_positions(quick: bool) -> dict[str, Any]:
    """Return cosines of positions by distance, and the variance along their ten main directions."""
    positions = minilm_weight("embeddings.position_embeddings.weight")  # (T, C)
    tokens = minilm_weight("embeddings.word_embeddings.weight")  # (V, C)
    units = F.normalize(positions, dim=-1)
    cosines = units @ units.T  # (T, T)
    directions = torch.linalg.svd(positions - positions.mean(0), full_matrices=False).Vh[:10]

    def share(table: Tensor) -> float:
        centered = table - table.mean(0)
        return ((centered @ directions.T).square().sum() / centered.square().sum()).item()

    return {
        "shape": list(positions.shape),
        "cosine_by_distance": [round(cosines.diagonal(d).mean().item(), 3) for d in range(1, 65)],
        "ten_directions": {
            "of positions": round(share(positions), 3),
            "of tokens": round(share(tokens), 4),
            "by chance": round(10 / positions.shape[1], 3),
        },
    }


def to_play_with(quick: bool) -> dict[str, Any]:
    """Return the tables of a small model that adds a learned row for each position."""
    model = trained("learned", quick)
    return {
        "words": tokenizer_of_words().words,
        "positions": packed(model.added(SHOWN)),
        "tokens": packed(model.token_scale * model.tokens.weight),
    }


if __name__ == "__main__":
    measure(__doc__, real_positions, to_play_with)
