"""Lesson 6: what the table learns.

Text: course/lessons/skipgram. Shapes: N tokens of text, V words, C features, P pairs,
K negatives per pair.

What holds for every exercise: course/lessons/README.md.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def skipgram_pairs(ids: Tensor, window: int) -> tuple[Tensor, Tensor]:
    """Every word with each of its neighbors: the training pairs of skip-gram.

    Args:
        ids: a text of at least two words, (N,).
        window: the largest distance to a neighbor, at least 1.

    Returns:
        (centers, contexts), (P,) integers each: every ordered pair of positions that are 1..window
        apart, in any order, even if both hold the same word. A million words at window 5 take
        less than a minute and 4 GB.

    Raises:
        ValueError: window < 1.

    Source: Mikolov et al. (2013), "Efficient Estimation of Word Representations in Vector
    Space", arXiv:1301.3781, section 3.2 (here without its random shrinking of the window).

    >>> skipgram_pairs(torch.tensor([7, 8, 9]), window=1)
    (tensor([7, 8, 8, 9]), tensor([8, 9, 7, 8]))
    """
    if window < 1:
        raise ValueError(f"window must be at least 1, or no word has a neighbor; got {window}")
    # two tensors (P,); about 4 lines.
    ### BEGIN SOLUTION
    distances = range(1, min(window, len(ids) - 1) + 1)
    left = [ids[:-distance] for distance in distances]
    right = [ids[distance:] for distance in distances]
    return torch.cat(left + right), torch.cat(right + left)
    ### END SOLUTION


def noise_distribution(counts: Tensor, power: float = 0.75) -> Tensor:
    """The distribution that negatives are drawn from: word frequencies, made more equal.

    Args:
        counts: how often each word occurs, (V,).
        power: 1 keeps the frequencies, 0 makes them equal, 0.75 lifts the rare words.

    Returns:
        (V,), a probability for each word; they sum to 1.

    Raises:
        ValueError: a count is negative, or all counts are zero.

    Source: Mikolov et al. (2013), "Distributed Representations of Words and Phrases",
    arXiv:1310.4546, section 2.2.

    >>> noise_distribution(torch.tensor([16.0, 1.0, 0.0]))
    tensor([0.8889, 0.1111, 0.0000])
    """
    if counts.min() < 0:
        raise ValueError(f"counts must not be negative; got {counts.min().item()}")
    if counts.max() == 0:
        raise ValueError("counts must hold at least one word that occurs; got all zero")
    # (V,); 2 lines.
    ### BEGIN SOLUTION
    weights = counts**power
    return weights / weights.sum()
    ### END SOLUTION


class SkipGram(nn.Module):
    """Two tables of word vectors, one for the center word and one for its neighbors.

    Args:
        vocab_size: V.
        n_embd: C.

    `center.weight` and `context.weight`, (V, C) each, are its parameters. They start random and
    small, with a root mean square below 0.5; `context` may start at zero.
    `forward(centers, contexts)` returns the dot product of each pair: (P,) with (P,) -> (P,), and
    (P,) with (P, K) -> (P, K).

    Source: Mikolov et al. (2013), arXiv:1310.4546, section 2.

    >>> SkipGram(vocab_size=9, n_embd=4)(torch.tensor([0, 1]), torch.tensor([[2, 3, 4]] * 2)).shape
    torch.Size([2, 3])
    """

    def __init__(self, vocab_size: int, n_embd: int) -> None:
        super().__init__()
        # self.center and self.context, each with a parameter `weight` (V, C); about 4 lines.
        ### BEGIN SOLUTION
        self.center = nn.Embedding(vocab_size, n_embd)
        self.context = nn.Embedding(vocab_size, n_embd)
        nn.init.uniform_(self.center.weight, -0.5 / n_embd, 0.5 / n_embd)
        nn.init.zeros_(self.context.weight)  # only one may start at zero: they move each other
        ### END SOLUTION

    def forward(self, centers: Tensor, contexts: Tensor) -> Tensor:
        # (P,) or (P, K); about 3 lines.
        ### BEGIN SOLUTION
        center_rows = self.center(centers)  # (P, C)
        context_rows = self.context(contexts)  # (P, C) or (P, K, C)
        return torch.einsum("pc,p...c->p...", center_rows, context_rows)
        ### END SOLUTION


def negative_sampling_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """The loss of skip-gram: how badly the scores tell true pairs from drawn ones.

    Args:
        positive: logits of the true pairs, (P,).
        negative: logits of K drawn words for each, (P, K).

    Returns:
        A scalar, in nats: the mean over the pairs; each of a pair's K drawn words counts in full.
        It is finite and right even for logits of ±1000.

    Source: Mikolov et al. (2013), arXiv:1310.4546, section 2.2, equation 4.

    >>> negative_sampling_loss(torch.zeros(2), torch.zeros(2, 5))  # (K + 1) ln 2
    tensor(4.1589)
    """
    # a scalar; about 2 lines.
    ### BEGIN SOLUTION
    log_likelihood = F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=-1)  # (P,)
    return -log_likelihood.mean()
    ### END SOLUTION


def train_skipgram(
    model: SkipGram,
    centers: Tensor,
    contexts: Tensor,
    noise: Tensor,
    *,
    epochs: int = 5,
    batch_size: int = 1024,
    n_negatives: int = 5,
    lr: float = 0.01,
    generator: torch.Generator | None = None,
    on_epoch: Callable[[int, float], object] | None = None,
) -> list[float]:
    """Train a `SkipGram` in place, with fresh negatives at every step.

    Args:
        model: the `SkipGram` to train.
        centers, contexts: the true pairs, (P,) each.
        noise: the distribution of the negatives, (V,); a word with probability 0 is never drawn.
        epochs: passes over all pairs, reshuffled each time.
        batch_size: pairs per step; the last batch of an epoch may be shorter.
        n_negatives: K, the words drawn for each pair, independently and again at each step.
        lr: the learning rate of Adam, or of another optimizer that learns as fast.
        generator: the source of all randomness, on the CPU: the same seed and the same initial
            model give the same result. None means PyTorch's global generator.
        on_epoch: called with (epoch, loss) after each epoch, counted from 0.

    Returns:
        A float for each epoch: the mean `negative_sampling_loss` over its pairs.

    Source: Mikolov et al. (2013), arXiv:1310.4546, section 2.2; Kingma and Ba (2015),
    arXiv:1412.6980 (Adam).

    >>> model = SkipGram(vocab_size=3, n_embd=2)
    >>> centers, contexts = skipgram_pairs(torch.tensor([0, 1, 2, 0, 1, 2]), window=1)
    >>> losses = train_skipgram(model, centers, contexts, torch.ones(3) / 3, epochs=2)
    >>> len(losses)
    2
    """
    # a list of floats; about 12 lines.
    ### BEGIN SOLUTION
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    losses = []
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(centers), generator=generator).split(batch_size):
            # Each step draws new ones: negatives that never change are memorized.
            drawn = torch.multinomial(
                noise, len(batch) * n_negatives, replacement=True, generator=generator
            )
            positive = model(centers[batch], contexts[batch])  # (P,)
            negative = model(centers[batch], drawn.view(len(batch), n_negatives))  # (P, K)
            loss = negative_sampling_loss(positive, negative)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)  # a short last batch counts by its size
        losses.append(total / len(centers))
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    return losses
    ### END SOLUTION


def nearest_by_cosine(query: Tensor, vectors: Tensor, top_k: int = 5) -> tuple[Tensor, Tensor]:
    """The rows that point most nearly in the direction of the query.

    Args:
        query: (C,).
        vectors: (V, C); neither the rows nor the query need to have length 1.
        top_k: how many to return, at most V.

    Returns:
        (indices, similarities), (top_k,) each, best first, with ties in any order. A row of zeros
        has similarity 0.

    Source: Manning, Raghavan and Schütze (2008), "Introduction to Information Retrieval",
    section 6.3.1 (cosine similarity).

    >>> nearest_by_cosine(torch.tensor([2.0, 0.0]), torch.tensor([[0.0, 1.0], [5.0, 0.0]]), top_k=2)
    (tensor([1, 0]), tensor([1., 0.]))
    """
    # two tensors (top_k,); about 3 lines.
    ### BEGIN SOLUTION
    similarities = F.normalize(vectors, dim=-1) @ F.normalize(query, dim=-1)  # (V,); 0/0 is 0 here
    best = similarities.topk(top_k)
    return best.indices, best.values
    ### END SOLUTION


def analogy(a: int, b: int, c: int, vectors: Tensor, top_k: int = 5) -> tuple[Tensor, Tensor]:
    """Answers to "a is to b as c is to ?": the rows nearest to b - a + c.

    Args:
        a, b, c: row numbers, not necessarily different.
        vectors: (V, C); the arithmetic is done on rows scaled to length 1.
        top_k: how many to return, at most the number of the other rows.

    Returns:
        (indices, similarities) as in `nearest_by_cosine`, never rows a, b or c themselves.

    Source: Mikolov, Yih and Zweig (2013), "Linguistic Regularities in Continuous Space Word
    Representations", NAACL, section 4; Levy and Goldberg (2014), CoNLL (as 3CosAdd).

    >>> square = torch.tensor([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0], [-1.0, 1.0]])
    >>> analogy(0, 1, 2, square, top_k=1)[0]
    tensor([3])
    """
    # two tensors (top_k,); about 5 lines.
    ### BEGIN SOLUTION
    unit = F.normalize(vectors, dim=-1)
    similarities = unit @ F.normalize(unit[b] - unit[a] + unit[c], dim=-1)  # (V,)
    similarities[[a, b, c]] = -torch.inf  # the inputs are often nearest, but never an answer
    best = similarities.topk(top_k)
    return best.indices, best.values
    ### END SOLUTION


def parse_glove_line(line: str, n_embd: int) -> tuple[str, Tensor]:
    """One line of a GloVe text file: a word and its vector, separated by single spaces.

    Args:
        line: the text; a line end is ignored. Only a space separates fields: a non-breaking space
            belongs to the word.
        n_embd: C. The last C fields are the numbers. Everything before them is the word,
            unchanged: it may contain spaces (". . ." is one).

    Returns:
        (word, values), values float32, (C,).

    Raises:
        ValueError: there are fewer than C numbers, or one of the fields isn't a number.

    Source: Pennington, Socher and Manning (2014), "GloVe", EMNLP; the format of its files.

    >>> parse_glove_line(". . . 0.5 -1", n_embd=2)
    ('. . .', tensor([ 0.5000, -1.0000]))
    """
    # (word, (C,)); about 4 lines with the check.
    ### BEGIN SOLUTION
    word, *fields = line.rsplit(" ", n_embd)
    if len(fields) < n_embd:
        raise ValueError(f"a line must hold a word and {n_embd} numbers; got {line!r}")
    return word, torch.tensor([float(field) for field in fields])  # float ignores the line end
    ### END SOLUTION
