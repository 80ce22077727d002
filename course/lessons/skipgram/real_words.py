"""Word vectors of a text that nobody built: trained by skip-gram, or counted and factorized.

Shapes: N words of text, V different ones, C features.
"""

import time
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import normalize

from course.data.tokenizers import WordTokenizer, bpe_tokenizer
from course.lessons.skipgram.block_skipgram import train_in_blocks
from course.lessons.skipgram.shifted_pmi import cooccurrences, shifted_pmi, svd_vectors
from course.lessons.skipgram.twins import TwinText

SIZE = 64
"""Features of a word, C."""

EPOCHS = (1, 3, 10)


@dataclass(frozen=True)
class Words:
    """The words of a text, or its tokens, from frequent (0) to rare.

    Attributes:
        words: the V different ones.
        ids: the text, (N,), int64.
        counts: how often each occurs, (V,).
    """

    words: list[str]
    ids: Tensor
    counts: Tensor


def words_of(text: str, min_count: int = 5) -> Words:
    """Return the words of a text; those that occur less than `min_count` times are left out."""
    tokenizer = WordTokenizer.from_text(text, min_count)
    ids, counts = torch.tensor(tokenizer.encode(text)), torch.tensor(tokenizer.counts)
    return Words(tokenizer.words, ids, counts)


def tokens_of(text: str) -> Words:
    """Return the byte-pair tokens of a text; those of the 4,096 that never occur are left out."""
    tokenizer = bpe_tokenizer()
    ids = torch.tensor(tokenizer.encode(text))
    counts = ids.bincount(minlength=tokenizer.vocab_size)
    kept = counts.argsort(descending=True, stable=True)[: (counts > 0).sum()]
    rank = torch.zeros_like(counts)
    rank[kept] = torch.arange(len(kept))
    return Words([tokenizer.decode([i]) for i in kept], rank[ids], counts[kept])


@dataclass(frozen=True)
class Tables:
    """What skip-gram has learned.

    Attributes:
        center, context: (V, C) each.
        seconds: of the processor, since the training began.
    """

    center: Tensor
    context: Tensor
    seconds: float


def trained(
    text: Words | TwinText,
    epochs: tuple[int, ...] = EPOCHS,
    seed: int = 0,
    n_embd: int = SIZE,
    blocks_per_step: int = 32,
) -> dict[int, Tables]:
    """Return the tables after each of some numbers of epochs, all of one training.

    A small text learns faster by smaller steps: 8 `blocks_per_step` suit the kingdom.
    """
    tables, start = {}, time.process_time()

    def note(epoch: int, center: Tensor, context: Tensor) -> None:
        if epoch + 1 in epochs:
            seconds = time.process_time() - start
            tables[epoch + 1] = Tables(center.clone(), context.clone(), seconds)

    generator = torch.Generator().manual_seed(seed)
    options = {"epochs": max(epochs), "blocks_per_step": blocks_per_step, "on_epoch": note}
    train_in_blocks(text.ids, text.counts, n_embd, generator=generator, **options)
    return tables


def against_pmi(text: Words, center: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the score, PMI - log K and how often they meet, (P,) each, of all pairs that do."""
    together, noise = _counted(text)
    wanted, scores = shifted_pmi(together, noise), center @ context.T
    meet = together > 0
    return scores[meet], wanted[meet], together[meet]


def counted_vectors(
    text: Words | TwinText, n_negatives: int = 1, n_embd: int = SIZE
) -> tuple[Tensor, float]:
    """Return rows (V, C) without any training, and how many processor seconds they took.

    They are the truncated SVD of shifted PPMI: of PMI - log K, with 0 where that is negative.
    """
    start = time.process_time()
    rows = svd_vectors(shifted_pmi(*_counted(text), n_negatives), n_embd)
    return rows, time.process_time() - start


def _counted(text: Words | TwinText) -> tuple[Tensor, Tensor]:
    """Return how often each two words meet, (V, V), and the distribution of negatives, (V,)."""
    weights = text.counts**0.75
    return cooccurrences(text.ids, len(text.counts)), weights / weights.sum()


def every_way(text: Words | TwinText, seed: int = 0) -> dict[str, tuple[Tensor, float]]:
    """Return rows (V, C) and the processor seconds that they took, by how they were made."""
    ways = {
        f"skip-gram, {n} epoch{'s' * (n > 1)}": (tables.center, tables.seconds)
        for n, tables in trained(text, seed=seed).items()
    }
    ways["SVD of shifted PPMI"] = counted_vectors(text, n_negatives=5)
    ways["SVD of PPMI"] = counted_vectors(text, n_negatives=1)
    return ways


def n_right(rows: Tensor, words: list[str], questions: list[list[str]]) -> tuple[int, int]:
    """Return how many analogies rows (V, C) answer, the inputs left out, and how many were asked.

    Only those are asked whose four words are all among the V words.

    >>> square = torch.tensor([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, 1.0]])
    >>> n_right(square, ["man", "king", "woman", "queen"], [["man", "king", "woman", "queen"]])
    (1, 1)
    """
    row = {word: number for number, word in enumerate(words)}
    asked = [[row[word] for word in one] for one in questions if row.keys() >= set(one)]
    if not asked:
        return 0, 0
    units, ids = normalize(rows, dim=1), torch.tensor(asked)  # (V, C), (Q, 4)
    a, b, c = units[ids[:, :3]].unbind(1)
    scores = ((b - a + c) @ units.T).scatter(1, ids[:, :3], -torch.inf)
    return int((scores.argmax(1) == ids[:, 3]).sum()), len(asked)


def shared_neighbors(one: Tensor, other: Tensor, top_k: int = 10, n_words: int = 1000) -> float:
    """Return which share of their nearest rows two tables (V, C) have in common.

    It is the mean over the first `n_words`, of the `top_k` nearest of each.

    >>> one = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> shared_neighbors(one, one[[0, 2, 1, 3]], top_k=1), shared_neighbors(one, -one, top_k=1)
    (0.0, 1.0)
    """
    nearest = []
    for table in (one, other):
        units = normalize(table, dim=1)
        similarities = units[:n_words] @ units.T
        similarities.fill_diagonal_(-2.0)  # nobody is his own neighbor
        nearest.append(similarities.topk(top_k).indices)
    first, second = nearest
    return (first[:, :, None] == second[:, None]).any(2).double().mean().item()
