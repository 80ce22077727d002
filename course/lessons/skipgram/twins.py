"""A score of word vectors that needs nobody's judgement.

Every frequent word is split: each time it occurs it becomes, at random, one of two *twins*, as if
"king" were written "king 1" or "king 2". The twins occur in the same contexts, so vectors that hold
contexts well make them neighbors. The score is the share of twins whose nearest row is their twin.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize


@dataclass(frozen=True)
class TwinText:
    """A text with twins.

    Attributes:
        ids: (N,), int64, from frequent (0) to rare.
        counts: (V,), how often each occurs.
        twins: (S, 2), the numbers of both halves of each split word.
    """

    ids: Tensor
    counts: Tensor
    twins: Tensor


def with_twins(text: str, split_from: int = 40, min_count: int = 5, seed: int = 0) -> TwinText:
    """Return the words of a text, those that occur `split_from` times or more split in two.

    Words that occur less than `min_count` times, after the split, are left out.
    """
    words = re.findall("[a-z']+", text.lower())
    frequent = {word for word, count in Counter(words).items() if count >= split_from}
    draw = random.Random(seed)
    halves = [(word, draw.randrange(2) if word in frequent else 0) for word in words]
    ranked = [(half, n) for half, n in Counter(halves).most_common() if n >= min_count]
    number = {half: i for i, (half, _) in enumerate(ranked)}
    both = [((word, 0), (word, 1)) for word in sorted(frequent)]
    return TwinText(
        ids=torch.tensor([number[half] for half in halves if half in number]),
        counts=torch.tensor([count for _, count in ranked]),
        twins=torch.tensor([[number[a], number[b]] for a, b in both if {a, b} <= number.keys()]),
    )


def share_of_twins_found(vectors: Tensor, twins: Tensor) -> float:
    """Return how often the nearest of the rows `vectors` (V, C) is the twin, for `twins` (S, 2).

    >>> vectors = torch.tensor([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]])
    >>> share_of_twins_found(vectors, torch.tensor([[0, 1]]))
    1.0
    """
    rows, wanted = torch.cat((twins, twins.flip(1))).unbind(1)
    units = normalize(vectors, dim=1)
    similarities = units[rows] @ units.T
    similarities[torch.arange(len(rows)), rows] = -2.0  # nobody is his own neighbor
    return (similarities.argmax(dim=1) == wanted).double().mean().item()
