"""Training data for a language model: the split, and random windows of it."""

import torch
from torch import Tensor


def train_val_split(ids: Tensor, fraction: float = 0.9) -> tuple[Tensor, Tensor]:
    """Return the first `fraction` of `ids` `(N,)` and the rest: cut by position, not shuffled.

    Shuffled tokens would put half of each held-out sentence into the training text.

    >>> train_val_split(torch.arange(10), 0.7)
    (tensor([0, 1, 2, 3, 4, 5, 6]), tensor([7, 8, 9]))
    """
    n_train = int(fraction * len(ids))
    return ids[:n_train], ids[n_train:]


def get_batch(
    ids: Tensor,
    block_size: int = 256,
    batch_size: int = 64,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw random windows of `ids` `(N,)` and what follows each of their tokens.

    Returns:
        inputs `(batch_size, block_size)` and targets of the same shape, int64, where
        targets are the inputs one step later. Windows may overlap; every one is equally likely.

    Raises:
        ValueError: `ids` has fewer than `block_size + 1` entries.

    >>> inputs, targets = get_batch(torch.arange(4), block_size=3, batch_size=1)
    >>> inputs, targets
    (tensor([[0, 1, 2]]), tensor([[1, 2, 3]]))
    """
    if len(ids) < block_size + 1:
        raise ValueError(
            f"ids must hold at least block_size + 1 = {block_size + 1} tokens, "
            f"a window and the token after it; got {len(ids)}"
        )
    starts = torch.randint(len(ids) - block_size, (batch_size, 1), generator=generator)
    positions = (starts + torch.arange(block_size)).to(ids.device)  # (batch_size, block_size)
    return ids[positions].long(), ids[positions + 1].long()
