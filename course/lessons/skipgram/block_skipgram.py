"""Skip-gram as fast as plain PyTorch goes: dense products of blocks of text, no pairs, no autograd.

`solutions/skipgram.py` is the one to read first; this one learns the same two tables. Shapes: V
words, C features, B blocks at a time of L tokens each, M drawn words.
"""

from collections.abc import Callable

import torch
from torch import Tensor


def train_in_blocks(
    ids: Tensor,
    counts: Tensor,
    n_embd: int = 64,
    *,
    epochs: int = 3,
    window: int = 5,
    block: int = 32,
    blocks_per_step: int = 32,
    n_drawn: int = 128,
    n_negatives: int = 5,
    lr: float = 0.2,
    generator: torch.Generator | None = None,
    on_epoch: Callable[[int, Tensor, Tensor], object] | None = None,
) -> tuple[Tensor, Tensor]:
    """Train the two tables of skip-gram on a text.

    Args:
        ids: the text, (N,), integers; of its tail, less than a block is left out in each epoch.
        counts: how often each word occurs, (V,).
        window: the largest distance of a neighbour; a near one counts more, down to 1 / window.
        block: L; pairs across the edge of a block are lost, so it should be longer than the window.
        n_drawn: M, the words drawn for a whole step; they stand for `n_negatives` of each pair.
        lr: Adagrad's learning rate.
        on_epoch: called with (epoch, center, context) after each epoch, counted from 0; the tables
            are those that the next epoch goes on with.

    Returns:
        (center, context), each (V, C).

    Raises:
        ValueError: a text shorter than two blocks.

    Source: Mikolov et al. (2013), arXiv:1310.4546, section 2.2 (the loss); Ji et al. (2016),
    arXiv:1604.04661 (negatives shared, so that dots become products of matrices); Duchi et al.
    (2011), "Adaptive Subgradient Methods" (Adagrad, here with one rate for a row).

    >>> center, context = train_in_blocks(torch.arange(99) % 3, torch.ones(3), n_embd=2)
    >>> center.shape
    torch.Size([3, 2])
    """
    if len(ids) < 2 * block:
        raise ValueError(f"ids must hold two blocks of {block} words or more; got {len(ids)}")
    center = (torch.rand(len(counts), n_embd, generator=generator) - 0.5) / n_embd
    context = torch.zeros(len(counts), n_embd)
    squares = torch.zeros(2, len(counts))  # Adagrad's memory: how far each row was moved before
    noise = (counts.double() ** 0.75).cumsum(0)  # a number below noise[-1] falls to a word
    distance = (torch.arange(block)[:, None] - torch.arange(block)).abs()
    pairs = (1 - (distance - 1) / window).clamp(min=0) * (distance > 0)  # (L, L), weights
    per_drawn = pairs.sum(1, keepdim=True) * n_negatives / n_drawn  # (L, 1)
    for epoch in range(epochs):
        start = torch.randint(block, (), generator=generator)  # the edges lie elsewhere each time
        blocks = ids[start : len(ids) - (len(ids) - start) % block].view(-1, block)
        for step in torch.randperm(len(blocks), generator=generator).split(blocks_per_step):
            words = blocks[step]  # (B, L)
            draws = torch.rand(n_drawn, generator=generator) * noise[-1]
            drawn = torch.searchsorted(noise, draws, right=True)  # (M,)
            a, b, c = center[words], context[words], context[drawn]  # (B, L, C) twice, (M, C)
            # The gradient of -log σ(s) is σ(s) - 1, that of -log σ(-s) is σ(s).
            true = (torch.sigmoid(a @ b.mT) - 1) * pairs  # (B, L, L)
            false = torch.sigmoid(a @ c.T) * per_drawn  # (B, L, M)
            _move(center, squares[0], words, true @ b + false @ c, lr)
            _move(context, squares[1], words, true.mT @ a, lr)
            _move(context, squares[1], drawn, false.flatten(0, 1).T @ a.flatten(0, 1), lr)
        if on_epoch is not None:
            on_epoch(epoch, center, context)
    return center, context


def _move(table: Tensor, squares: Tensor, words: Tensor, gradient: Tensor, lr: float) -> None:
    """Take a step of Adagrad for the rows of these words, which may occur more than once."""
    words, gradient = words.flatten(), gradient.reshape(-1, table.shape[1])
    squares.index_add_(0, words, gradient.square().mean(1))
    rates = lr / (squares[words].sqrt() + 1e-8)
    table.index_add_(0, words, -rates[:, None] * gradient)
