"""Lesson 2: attention cannot see order.

Text: course/lessons/permutation. Shapes: B sentences, T tokens each, C features each.

What holds for every exercise: course/lessons/README.md.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor


def toy_attention(x: Tensor) -> Tensor:
    """Self-attention with nothing to learn: every token averages all, weighting similar ones most.

    Args:
        x: (B, T, C).

    Returns:
        (B, T, C): for each token, an average of all tokens, with weights that sum to 1. Finite
        even when scores reach ±1000.

    Source: Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.2.1,
    with queries = keys = values = x.

    >>> toy_attention(torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]))
    tensor([[[1., 0.],
             [1., 0.]]])
    """
    # (B, T, C); about 2 lines.
    raise NotImplementedError("TODO permutation.toy_attention")


def inverse_permutation(perm: Tensor) -> Tensor:
    """The permutation that undoes another: `x[perm][inverse]` is x again.

    Args:
        perm: int64, (T,), each of 0..T-1 exactly once.

    Returns:
        int64, (T,).

    Raises:
        ValueError: perm is not a permutation of 0..T-1.

    Source: Knuth, "The Art of Computer Programming" vol. 1, section 1.3.3 (inverses).

    >>> inverse_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if sorted(perm.tolist()) != list(range(len(perm))):
        raise ValueError(
            f"perm must hold each of 0..{len(perm) - 1} exactly once; got {perm.tolist()}"
        )
    # (T,); 1 to 3 lines.
    raise NotImplementedError("TODO permutation.inverse_permutation")


def equivariance_gap(layer: Callable[[Tensor], Tensor], x: Tensor, perm: Tensor) -> float:
    """How much a layer depends on order: 0 if shuffling its input only shuffles its output.

    Args:
        layer: any deterministic callable that takes (B, T, C); if it's a module, its mode and its
            weights stay as they are.
        x: (B, T, C).
        perm: int64, (T,), the order of the shuffled tokens.

    Returns:
        The largest absolute difference between the layer's output, shuffled, and its output for
        the shuffled tokens.

    Source: Lee et al. (2019), "Set Transformer", arXiv:1810.00825, section 2 (equivariance).

    >>> equivariance_gap(lambda x: x.cumsum(dim=1), torch.ones(1, 2, 1), torch.tensor([1, 0]))
    1.0
    """
    # a number; about 2 lines.
    raise NotImplementedError("TODO permutation.equivariance_gap")


def bag_vector(layer: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """One vector for a whole sentence: the mean of the layer's output over the tokens.

    If the layer can't see order, "dog bites man" and "man bites dog" get the same vector.

    Args:
        layer: a callable from (B, T, C) to (B, T, C).
        x: (B, T, C).

    Returns:
        (B, C).

    Source: Zaheer et al. (2017), "Deep Sets", arXiv:1703.06114, section 2.2 (sum pooling).

    >>> bag_vector(torch.neg, torch.tensor([[[1.0, 0.0], [3.0, 2.0]]]))
    tensor([[-2., -1.]])
    """
    # (B, C); 1 line.
    raise NotImplementedError("TODO permutation.bag_vector")


def projected_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
    """Self-attention with one head: queries ask, keys answer, and values are passed on.

    Args:
        x: (B, T, C).
        w_q: (C, C), as `nn.Linear` keeps its weight: one row per feature of the query.
        w_k: (C, C), the same for keys.
        w_v: (C, C), the same for values.

    Returns:
        (B, T, C): for each token, an average of all values. With three identity matrices, it is
        the same as `toy_attention`.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.1, with W_q, W_k and W_v as in
    section 3.2.2 for a single head.

    >>> w_q, w_k, w_v = torch.zeros(2, 2), torch.eye(2), torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    >>> projected_attention(torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), w_q, w_k, w_v)
    tensor([[[4., 0.],
             [4., 0.]]])
    """
    # (B, T, C); about 3 lines.
    raise NotImplementedError("TODO permutation.projected_attention")


def causal_toy_attention(x: Tensor) -> Tensor:
    """`toy_attention`, except that token t attends only to tokens 0..t.

    Args:
        x: (B, T, C).

    Returns:
        (B, T, C): for each token, an average of itself and those before it, with weights that sum
        to 1. The first token can only return itself, so the mask alone tells it apart.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.3 (the mask);
    Haviv et al. (2022), arXiv:2203.16634 (what it reveals).

    >>> causal_toy_attention(torch.tensor([[[1.0, 0.0], [1.0, 2.0]]]))[0, 0]
    tensor([1., 0.])
    """
    # (B, T, C); about 4 lines.
    raise NotImplementedError("TODO permutation.causal_toy_attention")
