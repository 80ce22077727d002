"""Measure what the token table of SmolLM2 weighs, and which of its rows are near some others.

    python course/lessons/lookup/measure.py --to course/lessons/lookup/figures

writes real_table.json, in a few seconds. `course data smollm2` fetches the model.
"""

from typing import Any

import torch
import torch.nn.functional as F

from course.data.published import open_smollm2
from course.publishing.figures.measured import measure, reference

ASKED = ("k", "7", " king")
"""Tokens of which the neighbors are shown."""


def real_table(quick: bool) -> dict[str, Any]:
    """Return the table's size, some neighbors, and cosines of two rows."""
    smol = open_smollm2()
    table, decode = smol.tensors["token_embd.weight"], smol.tokenizer.decode  # (V, C)
    neighbors = {}
    for word in ASKED:
        token = smol.tokenizer.encode(word).ids[0]
        order, cosines = reference("skipgram").nearest_by_cosine(table[token], table, top_k=7)
        pairs = zip(order[1:].tolist(), cosines[1:].tolist(), strict=True)
        neighbors[word] = [[decode([near]), round(cosine, 2)] for near, cosine in pairs]
    units = F.normalize(table, dim=-1)
    rows = {name: units[smol.tokenizer.encode(name).ids[0]] for name in ("k", "K", "7")}
    sample = torch.randint(len(units), (2, 100_000), generator=torch.Generator().manual_seed(0))
    random = (units[sample[0]] * units[sample[1]]).sum(dim=1)
    return {
        "rows": list(table.shape),
        "float32": table.numel() * 4,
        "q8_0": table.numel() * 34 // 32,  # 32 numbers of a byte, and a factor of two bytes
        "neighbors": neighbors,
        "cosine_of_k_with": {n: round((rows["k"] @ rows[n]).item(), 2) for n in ("K", "7")},
        "cosine_of_two_random_rows": round(random.mean().item(), 2),
    }


if __name__ == "__main__":
    measure(__doc__, real_table)
