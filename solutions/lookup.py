"""Lesson 1: an embedding is a table, not a layer.

Text: course/lessons/lookup. Shapes: V words in the vocabulary, C features each.

What holds for every exercise: course/lessons/README.md.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def check_ids(ids: Tensor, vocab_size: int) -> None:
    """Reject ids that name no row of a table with `vocab_size` rows (given; nothing to do here).

    Raises:
        TypeError: the ids are not integers.
        IndexError: an id is outside 0..V-1.

    >>> check_ids(torch.tensor([0, 3]), vocab_size=3)
    Traceback (most recent call last):
    IndexError: ids must be in 0..2, because the table has 3 rows; got 3
    """
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(f"ids must be integers, because they number rows; got {ids.dtype}")
    outside = ids[(ids < 0) | (ids >= vocab_size)]
    if outside.numel():
        raise IndexError(
            f"ids must be in 0..{vocab_size - 1}, because the table has {vocab_size} rows; "
            f"got {outside[0].item()}"
        )


def lookup(weight: Tensor, ids: Tensor) -> Tensor:
    """Return the rows of an embedding table that the ids name.

    Args:
        weight: the table, (V, C).
        ids: row numbers, (...).

    Returns:
        (..., C): row `ids[...]` of `weight`, unchanged, whatever the other rows contain.

    Raises (already written, in `check_ids`):
        TypeError: the ids are floats or bools, not integers.
        IndexError: an id is negative, or V or more.

    Source: Bengio et al. (2003), "A Neural Probabilistic Language Model", JMLR 3, section 2.

    >>> lookup(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([2, 0]))
    tensor([[5., 6.],
            [1., 2.]])
    """
    check_ids(ids, vocab_size=len(weight))
    # (..., C); 1 line.
    ### BEGIN SOLUTION
    return weight[ids]  # F.embedding(ids, weight) is the same
    ### END SOLUTION


def one_hot_lookup(weight: Tensor, ids: Tensor) -> Tensor:
    """The same rows, found the expensive way: by a matrix product with one-hot rows.

    Args:
        weight: the table, (V, C), all of its numbers finite.
        ids: row numbers, (...), each in 0..V-1.

    Returns:
        (..., C), the values of `lookup(weight, ids)`.

    Source: Mikolov et al. (2013), arXiv:1301.3781, section 2.1 (the one-hot input layer).

    >>> one_hot_lookup(torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([2, 0]))
    tensor([[5., 6.],
            [1., 2.]])
    """
    # (..., C); 2 lines.
    ### BEGIN SOLUTION
    one_hot = F.one_hot(ids, num_classes=len(weight))  # (..., V), integers
    return one_hot.float() @ weight
    ### END SOLUTION


def one_hot_bytes(
    vocab_size: int, batch_size: int, seq_len: int, bytes_per_element: int = 4
) -> int:
    """The memory that the one-hot tensor of a batch takes, in bytes.

    Args:
        vocab_size, batch_size, seq_len: its three sides, (B, T, V).
        bytes_per_element: 4 for float32, 2 for bfloat16, 8 for int64.

    Returns:
        The number of bytes, an int.

    Source: arithmetic; the sizes of the example are GPT-2's (Radford et al., 2019, section 2.3).

    >>> one_hot_bytes(50257, 32, 1024)
    6587285504
    """
    # an int; 1 line.
    ### BEGIN SOLUTION
    return batch_size * seq_len * vocab_size * bytes_per_element
    ### END SOLUTION


def lookup_backward(grad_output: Tensor, ids: Tensor, vocab_size: int) -> Tensor:
    """The gradient that `lookup` sends to its table, computed without autograd.

    It works inside `torch.no_grad()`, where autograd records nothing.

    Args:
        grad_output: the gradient of the loss at the output of `lookup`, (..., C).
        ids: the row numbers that were looked up, (...), each in 0..V-1.
        vocab_size: V.

    Returns:
        (V, C). If a row was looked up several times, its gradients add up; if it was never
        looked up, it gets exactly zero.

    Source: the chain rule; PyTorch's `embedding_backward` computes the same.

    >>> lookup_backward(torch.tensor([[1.0, 2.0], [10.0, 20.0]]), torch.tensor([1, 1]), 3)
    tensor([[ 0.,  0.],
            [11., 22.],
            [ 0.,  0.]])
    """
    # (V, C); about 3 lines.
    ### BEGIN SOLUTION
    n_embd = grad_output.shape[-1]
    grad_weight = torch.zeros(vocab_size, n_embd)
    return grad_weight.index_add(0, ids.flatten(), grad_output.reshape(-1, n_embd))
    ### END SOLUTION


class TokenEmbedding(nn.Module):
    """A trainable table of V rows, one per token: `lookup` as a module.

    Args:
        vocab_size: V.
        n_embd: C, the features of a row.

    Its only parameter is `weight`, (V, C), drawn from N(0, 0.02²). `forward(ids)` maps (...) to
    (..., C); it raises the same errors as `lookup` (already written).

    Source: Radford et al. (2018), "Improving Language Understanding by Generative
    Pre-Training", section 4.1 (the 0.02).

    >>> TokenEmbedding(vocab_size=65, n_embd=4)(torch.tensor([[1, 0, 64]])).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, vocab_size: int, n_embd: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size  # for the check in forward
        # self.weight, a parameter (V, C); 1 line.
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))
        ### END SOLUTION

    def forward(self, ids: Tensor) -> Tensor:
        check_ids(ids, self.vocab_size)
        # (..., C); 1 line.
        ### BEGIN SOLUTION
        return lookup(self.weight, ids)
        ### END SOLUTION
