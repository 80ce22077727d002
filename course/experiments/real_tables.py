"""What the tables of published models look like, by the lessons' own functions.

    python -m course.experiments.real_tables lookup|learned|skipgram

prints the numbers of a lesson's figure as JSON. `course data smollm2` and `course data minilm`
fetch the models, `course data glove` the word vectors.

Shapes: V tokens, C features, T positions.
"""

import json
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from course.data import data_folder
from course.data.glove import open_glove
from course.data.published import open_smollm2
from course.data.reading import DataError
from course.figures.texts import as_measured
from course.student.exercises import reference_exercises
from course.syllabus import find_lesson
from course.system.console import typed

MINILM = "all-MiniLM-L6-v2.safetensors"

ASKED = ("k", "7", " king")
"""Tokens of which the neighbors are shown."""

QUESTIONS = (
    ("man", "king", "woman", "queen"),
    ("France", "Paris", "Italy", "Rome"),
    ("big", "bigger", "small", "smaller"),
    ("walk", "walked", "play", "played"),
    ("Germany", "German", "Spain", "Spanish"),
    ("good", "better", "bad", "worse"),
    ("dog", "dogs", "cat", "cats"),
    ("brother", "sister", "uncle", "aunt"),
)


def safetensor(name: str) -> Tensor:
    """Return one of MiniLM's weights, in float32.

    Raises:
        FileNotFoundError: it was not fetched.
        DataError: it is damaged, or has no weight of that name.
    """
    path, fetch = data_folder() / MINILM, f"fetch it with: {typed('course data minilm')}"
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; {fetch}")
    try:
        with path.open("rb") as file:
            (n_bytes,) = struct.unpack("<Q", file.read(8))
            entry = json.loads(file.read(n_bytes)).get(name)
            if entry and entry["dtype"] == "F32":
                start, end = entry["data_offsets"]
                file.seek(8 + n_bytes + start)
                numbers = np.frombuffer(file.read(end - start), dtype="<f4")
                return torch.from_numpy(numbers.reshape(entry["shape"]).copy())
    except (struct.error, ValueError, KeyError, OverflowError, MemoryError) as error:
        raise DataError(f"{path.name} is damaged ({error}); delete it, then {fetch}") from None
    raise DataError(f"{path.name} has no weight {name} in float32")


def lookup() -> dict[str, Any]:
    """Return what SmolLM2's table weighs, and which rows are near some others."""
    smol = open_smollm2()
    table, decode = smol.tensors["token_embd.weight"], smol.tokenizer.decode
    nearest = reference_exercises(find_lesson("skipgram")).nearest_by_cosine
    neighbors = {}
    for word in ASKED:
        (token,) = smol.tokenizer.encode(word).ids
        order, cosines = nearest(table[token], table, top_k=min(7, len(table)))
        pairs = zip(order[1:].tolist(), cosines[1:].tolist(), strict=True)
        neighbors[word] = [[decode([near]), round(cosine, 2)] for near, cosine in pairs]
    units = F.normalize(table, dim=-1)
    rows = {name: units[smol.tokenizer.encode(name).ids[0]] for name in ("k", "K", "7")}
    cosines = {name: round((rows["k"] @ rows[name]).item(), 2) for name in ("K", "7")}
    sample = torch.randint(len(units), (2, 100_000), generator=torch.Generator().manual_seed(0))
    random = (units[sample[0]] * units[sample[1]]).sum(dim=1)
    return {
        "rows": list(table.shape),
        "float32": table.numel() * 4,
        "q8_0": table.numel() * 34 // 32,  # 32 numbers of a byte, and a factor of two bytes
        "neighbors": neighbors,
        "cosine_of_k_with": cosines,
        "cosine_of_two_random_rows": round(random.mean().item(), 2),
    }


def learned() -> dict[str, Any]:
    """Return what 512 trained positions look like in MiniLM, next to its token table."""
    positions = safetensor("embeddings.position_embeddings.weight")  # (T, C)
    tokens = safetensor("embeddings.word_embeddings.weight")  # (V, C)
    units = F.normalize(positions, dim=-1)
    cosines = units @ units.T  # (T, T)
    distances = range(1, 65)
    by_distance = {d: cosines.diagonal(d) for d in distances}
    directions = torch.linalg.svd(positions - positions.mean(0), full_matrices=False).Vh[:10]

    def share(table: Tensor) -> float:
        centered = table - table.mean(0)
        return ((centered @ directions.T).square().sum() / centered.square().sum()).item()

    return {
        "shape": list(positions.shape),
        "cosine_by_distance": [round(by_distance[d].mean().item(), 3) for d in distances],
        "ten_directions": {
            "of positions": round(share(positions), 3),
            "of tokens": round(share(tokens), 4),
            "by chance": round(10 / positions.shape[1], 3),
        },
    }


def skipgram() -> dict[str, Any]:
    """Return the answers of a language model's table and of GloVe to some analogies."""
    smol, glove = open_smollm2(), open_glove()
    analogy = reference_exercises(find_lesson("skipgram")).analogy
    token = smol.tokenizer.token_to_id

    def of_smol(*words: str) -> list[tuple[str, float]]:
        ids = [token(f"Ġ{word}") for word in words]
        best, cosines = analogy(*ids, smol.tensors["token_embd.weight"], top_k=3)
        texts = [smol.tokenizer.decode([i]) for i in best.tolist()]
        return list(zip(texts, cosines.tolist(), strict=True))

    def of_glove(*words: str) -> list[tuple[str, float]]:
        ids = [glove.index[word.lower()] for word in words]
        best, cosines = analogy(*ids, glove.tensor(), top_k=3)
        return [(glove.words[i], c) for i, c in zip(best.tolist(), cosines.tolist(), strict=True)]

    answers = [
        {
            "asked": [*asked],
            "right": right,
            "SmolLM2": [[text, round(c, 2)] for text, c in of_smol(*asked)],
            "GloVe": [[text, round(c, 2)] for text, c in of_glove(*asked)],
        }
        for *asked, right in QUESTIONS
    ]
    return {"glove": len(glove), "answers": answers}


TABLES: dict[str, Callable[[], dict[str, Any]]] = {
    "lookup": lookup,
    "learned": learned,
    "skipgram": skipgram,
}


def main() -> None:
    """Print the numbers of the figure of a lesson."""
    if len(sys.argv) != 2 or sys.argv[1] not in TABLES:
        sys.exit(f"say which lesson: {', '.join(TABLES)}")
    how = f"python -m course.experiments.real_tables {sys.argv[1]}"
    try:
        print(as_measured(how, **TABLES[sys.argv[1]]()))
    except (FileNotFoundError, DataError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
