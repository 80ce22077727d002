"""Lesson 4: positions from a formula.

Text: course/lessons/sinusoidal. Shapes: T positions, C features, in C/2 pairs (sine, cosine).

What holds for every exercise: course/lessons/README.md.
"""

import torch
from torch import Tensor, nn


def check_width(n_embd: int) -> None:
    """Reject a width that does not split into pairs (given; nothing to do here).

    >>> check_width(5)
    Traceback (most recent call last):
    ValueError: n_embd must be even and positive, so that every sine has its cosine; got 5
    """
    if n_embd <= 0 or n_embd % 2:
        raise ValueError(
            f"n_embd must be even and positive, so that every sine has its cosine; got {n_embd}"
        )


def inverse_frequencies(n_embd: int, base: float = 10000.0) -> Tensor:
    """How far each pair turns from one position to the next, in radians: its frequency.

    Args:
        n_embd: C, even.
        base: sets the slowest pair.

    Returns:
        (C/2,), from 1 downwards, float32 or float64.

    Raises:
        ValueError: an odd or non-positive width.

    Source: Vaswani et al. (2017), "Attention Is All You Need", arXiv:1706.03762, section 3.5.

    >>> inverse_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    check_width(n_embd)
    # (C/2,); 1 or 2 lines.
    raise NotImplementedError("TODO sinusoidal.inverse_frequencies")


def sinusoidal_encoding(length: int, n_embd: int, base: float = 10000.0) -> Tensor:
    """The table of sinusoidal positions: sines in even columns, cosines in odd ones.

    Args:
        length: T, the number of positions, from 0.
        n_embd: C, even.
        base: as in `inverse_frequencies`.

    Returns:
        (T, C), float32 or float64: columns 2i and 2i + 1 are the sine and cosine of the angle by
        which pair i has turned since position 0.

    Raises:
        ValueError: an odd or non-positive width.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.5.

    >>> sinusoidal_encoding(length=2, n_embd=4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 0.9999]])
    """
    check_width(n_embd)
    # (T, C); about 3 lines.
    raise NotImplementedError("TODO sinusoidal.sinusoidal_encoding")


class SinusoidalPositionalEmbedding(nn.Module):
    """The sinusoidal table as a module: nothing to learn, and no maximum length.

    Args:
        max_seq_len: how many rows to keep ready.
        n_embd: C, even.
        base: as in `inverse_frequencies`.

    It has no parameters. `forward(seq_len)` returns (seq_len, C), even for
    `seq_len > max_seq_len`, because the formula never runs out. The table is a buffer, so all rows,
    including those beyond max_seq_len, follow the module when `.to(...)` moves it.

    Raises:
        ValueError: an odd or non-positive width.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.5.

    >>> SinusoidalPositionalEmbedding(max_seq_len=2, n_embd=4)(3).shape
    torch.Size([3, 4])
    """

    def __init__(self, max_seq_len: int, n_embd: int, base: float = 10000.0) -> None:
        super().__init__()
        check_width(n_embd)
        # what `forward` needs; about 3 lines.
        raise NotImplementedError("TODO sinusoidal.SinusoidalPositionalEmbedding")

    def forward(self, seq_len: int) -> Tensor:
        # (seq_len, C); about 3 lines.
        raise NotImplementedError("TODO sinusoidal.SinusoidalPositionalEmbedding")


def offset_rotation(k: int, n_embd: int, base: float = 10000.0) -> Tensor:
    """The rotation that moves every position by k: pe[p + k] == R @ pe[p] for every p.

    Args:
        k: the offset; a negative one moves back.
        n_embd: C, even.
        base: as in `inverse_frequencies`.

    Returns:
        R, (C, C): C/2 blocks of 2 × 2 on the diagonal, zeros elsewhere.

    Raises:
        ValueError: an odd or non-positive width.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.5 ("a linear function of PE_pos").

    >>> offset_rotation(1, n_embd=2)
    tensor([[ 0.5403,  0.8415],
            [-0.8415,  0.5403]])
    """
    check_width(n_embd)
    # (C, C); about 5 lines.
    raise NotImplementedError("TODO sinusoidal.offset_rotation")


def relative_similarity(pe: Tensor, k: int) -> Tensor:
    """The dot products of positions that are k apart: pe[p] · pe[p + k] for every p.

    Args:
        pe: a table of positions, (T, C).
        k: the distance, 0 <= k < T.

    Returns:
        (T - k,); all are equal for a sinusoidal table.

    Raises:
        ValueError: k is outside 0..T-1.

    Source: Yan et al. (2019), "TENER", arXiv:1911.04474, section 3 (the dot product depends only
    on the distance).

    >>> relative_similarity(torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]]), k=1)
    tensor([2., 3.])
    """
    if not 0 <= k < len(pe):
        raise ValueError(f"k must be in 0..{len(pe) - 1}, because pe has {len(pe)} rows; got {k}")
    # (T - k,); 1 line.
    raise NotImplementedError("TODO sinusoidal.relative_similarity")
