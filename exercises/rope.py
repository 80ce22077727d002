"""Lesson 5: rotate queries and keys.

Text: course/lessons/rope. Shapes: T positions, D features of a head, H heads, C inputs.

Convention: split halves, as in GPT-NeoX and the Llama of `transformers`. Feature i is paired
with feature D/2 + i; the RoFormer paper pairs 2i with 2i + 1 (see `interleaved_to_half`).

What holds for every exercise: course/lessons/README.md.
"""

import torch
from torch import Tensor, nn


def rope_tables(seq_len: int, head_dim: int, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    """The cosines and sines of all rotation angles, for every pair at every position.

    Args:
        seq_len: T, the number of positions, from 0.
        head_dim: D, even.
        base: sets the slowest pair.

    Returns:
        (cos, sin), each (T, D), float32: the D/2 angles of a position, repeated for both halves.
        Within 1e-3 up to position 4096, so half precision is too coarse for the angles.

    Raises:
        ValueError: an odd width.

    Source: Su et al. (2021), "RoFormer", arXiv:2104.09864, section 3.2.2 (the angles) and
    section 3.4.2, equation 34 (the two tables).

    >>> cos, sin = rope_tables(seq_len=2, head_dim=4)
    >>> sin
    tensor([[0.0000, 0.0000, 0.0000, 0.0000],
            [0.8415, 0.0100, 0.8415, 0.0100]])
    """
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, so that features pair up; got {head_dim}")
    # two tensors (T, D); about 5 lines.
    raise NotImplementedError("TODO rope.rope_tables")


def rotate_half(x: Tensor) -> Tensor:
    """Rotate every pair by a quarter turn, from its first feature towards its second.

    Args:
        x: (..., D), D even.

    Returns:
        (..., D).

    Source: Su et al. (2021), arXiv:2104.09864, section 3.4.2, equation 34, in split halves.

    >>> rotate_half(torch.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([-3., -4.,  1.,  2.])
    """
    # (..., D); 2 lines.
    raise NotImplementedError("TODO rope.rotate_half")


def apply_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate every pair of every token by the angle for its position.

    Args:
        x: queries or keys, (..., T, D).
        cos, sin: tables from `rope_tables`, (T, D).

    Returns:
        (..., T, D).

    Source: Su et al. (2021), arXiv:2104.09864, section 3.4.2, equation 34.

    >>> cos, sin = rope_tables(seq_len=2, head_dim=2)
    >>> apply_rope(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), cos, sin)
    tensor([[1.0000, 0.0000],
            [0.5403, 0.8415]])
    """
    # (..., T, D); 1 line.
    raise NotImplementedError("TODO rope.apply_rope")


class RotaryEmbedding(nn.Module):
    """RoPE as a module: it rotates the queries or keys of a head, starting at any position.

    It has no parameters. `forward(x, offset=0)` rotates (..., T, D) at positions offset ..
    offset + T - 1: with a key/value cache, the next token is not at position 0. After
    `.to(torch.bfloat16)` the angles are still right: rounded cosines do no harm, but rounded
    frequencies, positions or angles do.

    Args:
        max_seq_len: offset + T is at most this.
        head_dim: D, even.
        base: as in `rope_tables`.

    Raises:
        ValueError: offset < 0, offset + T > max_seq_len, or an x of another width.

    Source: Su et al. (2021), arXiv:2104.09864, section 3.2.

    >>> RotaryEmbedding(max_seq_len=8, head_dim=2)(torch.tensor([[1.0, 0.0]]), offset=1)
    tensor([[0.5403, 0.8415]])
    """

    def __init__(self, max_seq_len: int, head_dim: int, base: float = 10000.0) -> None:
        super().__init__()
        self.max_seq_len, self.head_dim = max_seq_len, head_dim
        # what `forward` needs; 3 lines.
        raise NotImplementedError("TODO rope.RotaryEmbedding")

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        seq_len, head_dim = x.shape[-2:]
        if head_dim != self.head_dim:
            raise ValueError(f"x must have {self.head_dim} features (head_dim); got {head_dim}")
        if offset < 0:
            raise ValueError(f"offset must be 0 or more, because it is a position; got {offset}")
        if offset + seq_len > self.max_seq_len:
            raise ValueError(
                f"offset + T must be at most {self.max_seq_len} (max_seq_len); "
                f"got {offset} + {seq_len}"
            )
        # (..., T, D); 2 lines.
        raise NotImplementedError("TODO rope.RotaryEmbedding")


def interleaved_to_half(weight: Tensor, n_heads: int) -> Tensor:
    """Reorder the rows of a query or key projection from interleaved pairs to split halves.

    When both projections are reordered, `apply_rope` gives the attention scores that the model
    had when it rotated interleaved pairs.

    Args:
        weight: (H*D, C), rows in the interleaved layout (pairs 2i, 2i + 1).
        n_heads: H.

    Returns:
        (H*D, C), the same rows in a new order; none moves to another head.

    Raises:
        ValueError: the rows do not split into H heads of even width.

    Source: Su et al. (2021), arXiv:2104.09864, equation 34, for the one layout; GPT-NeoX-20B
    (Black et al., 2022, arXiv:2204.06745) for the other.

    >>> interleaved_to_half(torch.tensor([[0.0], [1.0], [2.0], [3.0]]), n_heads=1).flatten()
    tensor([0., 2., 1., 3.])
    """
    n_rows = len(weight)
    if n_rows % (2 * n_heads):
        raise ValueError(
            f"the rows must split into {n_heads} heads of even width, so their number must be "
            f"divisible by {2 * n_heads}; got {n_rows}"
        )
    # (H*D, C); about 2 lines.
    raise NotImplementedError("TODO rope.interleaved_to_half")


def ntk_base(base: float, factor: float, head_dim: int) -> float:
    """The base that stretches the slowest wavelength by `factor` and leaves the fastest alone.

    Args:
        base: the base that the model was trained with.
        factor: how many times longer the context will be, at least 1.
        head_dim: D, above 2.

    Raises:
        ValueError: factor < 1 or head_dim <= 2.

    Source: bloc97 (2023), "NTK-Aware Scaled RoPE"; Peng et al. (2023), "YaRN",
    arXiv:2309.00071, section 3.1.

    >>> round(ntk_base(10000.0, factor=2.0, head_dim=4))
    40000
    """
    if factor < 1:
        raise ValueError(f"factor must be at least 1, because it lengthens; got {factor}")
    if head_dim <= 2:
        raise ValueError(f"head_dim must be above 2: one pair alone never slows; got {head_dim}")
    # a float; 1 line.
    raise NotImplementedError("TODO rope.ntk_base")


def alibi_bias(n_heads: int, seq_len: int) -> Tensor:
    """ALiBi's alternative to rotating: a penalty on the scores that grows with the distance.

    Args:
        n_heads: H, a power of two; each head has its own slope.
        seq_len: T.

    Returns:
        (H, T, T), with a row per query and a column per key: minus slope times distance for keys
        up to the query. What is at later keys doesn't matter, because the causal mask hides it.

    Raises:
        ValueError: n_heads is not a power of two.

    Source: Press et al. (2022), "Train Short, Test Long", arXiv:2108.12409, section 3.

    >>> alibi_bias(n_heads=8, seq_len=3)[0]
    tensor([[ 0.0000,  0.0000,  0.0000],
            [-0.5000,  0.0000,  0.0000],
            [-1.0000, -0.5000,  0.0000]])
    """
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError(f"n_heads must be a power of two (1, 2, 4, ...); got {n_heads}")
    # (H, T, T); about 4 lines.
    raise NotImplementedError("TODO rope.alibi_bias")
