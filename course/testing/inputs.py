"""Fresh inputs for graded tests, drawn from a seed."""

import torch
from torch import Tensor


class Draw:
    """A source of inputs: the same seed gives the same inputs, in the same order.

    Numbers have two decimals, so that a failing case can be redone on paper.
    """

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return standard normal numbers, rounded to two decimals.

        >>> Draw(seed=0).normal(2, 3).shape
        torch.Size([2, 3])
        """
        numbers = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        return ((numbers * 100).round() / 100).to(dtype)

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def ids(self, vocab_size: int, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
        """Return token ids in 0..vocab_size-1."""
        return torch.randint(vocab_size, shape, generator=self.generator).to(dtype)

    def permutation(self, length: int) -> Tensor:
        """Return a permutation of 0..length-1, of 3 or more, that is not its own inverse.

        >>> perm = Draw(seed=0).permutation(5)
        >>> bool((perm[perm] != torch.arange(5)).any())
        True
        """
        while True:
            perm = torch.randperm(length, generator=self.generator)
            if (perm[perm] != torch.arange(length)).any():
                return perm
