"""Lesson 7: positions that reach further.

Text: course/lessons/longer. Shapes: T positions, D features of a head, H heads.

Pairs are split halves, as in lesson 5: feature i of a head rotates with feature D/2 + i.

What holds for every exercise: course/lessons/README.md.
"""

import math

import torch
from torch import Tensor, nn

from solutions.rope import RotaryEmbedding, apply_rope, rope_tables


def yarn_frequencies(
    head_dim: int,
    base: float,
    factor: float,
    trained_length: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
) -> Tensor:
    """The frequency of every pair, for a text `factor` times longer than the trained one.

    Pair i turned `trained_length * theta_i / 2π` times within the trained text, with
    theta_i = base ** (-2i / D). A pair that made `beta_fast` turns or more keeps its frequency, one
    that made `beta_slow` turns or fewer has it divided by `factor`; in between the share that is
    kept falls linearly with the number of turns.

    Args:
        head_dim: D, even.
        base: the base that the model was trained with.
        factor: how many times as long the text may become, at least 1.
        trained_length: the positions that the model was trained on.
        beta_fast, beta_slow: numbers of turns, the first above the second.

    Returns:
        (D/2,), in radians per position.

    Raises:
        ValueError: an odd width, factor < 1 or beta_fast <= beta_slow.

    Source: Peng et al. (2023), "YaRN", arXiv:2309.00071, section 3.2 ("NTK-by-parts").

    >>> yarn_frequencies(head_dim=4, base=10000.0, factor=4.0, trained_length=628)
    tensor([1.0000, 0.0025])
    """
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, so that features pair up; got {head_dim}")
    if factor < 1:
        raise ValueError(f"factor must be at least 1, because it lengthens; got {factor}")
    if beta_fast <= beta_slow:
        raise ValueError(
            f"beta_fast must be above beta_slow, because fast pairs turn more often; "
            f"got {beta_fast} and {beta_slow}"
        )
    # (D/2,); about 4 lines.
    ### BEGIN SOLUTION
    theta = base ** (-torch.arange(0, head_dim, 2) / head_dim)  # (D/2,)
    turns = trained_length * theta / (2 * math.pi)
    keep = ((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1)
    return theta * (keep + (1 - keep) / factor)
    ### END SOLUTION


class PartialRotary(nn.Module):
    """RoPE on the first features of a head only; the others carry no position.

    Args:
        max_seq_len: how many positions there are.
        head_dim: D.
        rotary_dim: how many features rotate, even, from 0 (none) to D (all).
        base: as in `rope_tables`, for a head of width rotary_dim.

    It has no parameters. `forward(x, offset=0)` rotates the first rotary_dim features of
    (..., T, D) as lesson 5's `RotaryEmbedding` of that width does, at positions
    offset .. offset + T - 1, and returns the others unchanged.

    Raises:
        ValueError: rotary_dim is odd, negative or above head_dim.

    Source: GPT-NeoX-20B (Black et al., 2022, arXiv:2204.06745), section 2.1.1, rotates a quarter.

    >>> rotary = PartialRotary(max_seq_len=8, head_dim=4, rotary_dim=2)
    >>> rotary(torch.tensor([[1.0, 0.0, 3.0, 4.0]]), offset=1)
    tensor([[0.5403, 0.8415, 3.0000, 4.0000]])
    """

    def __init__(
        self, max_seq_len: int, head_dim: int, rotary_dim: int, base: float = 10000.0
    ) -> None:
        super().__init__()
        if rotary_dim % 2 or not 0 <= rotary_dim <= head_dim:
            raise ValueError(
                f"rotary_dim must be even and from 0 to {head_dim} (head_dim); got {rotary_dim}"
            )
        self.rotary_dim = rotary_dim
        # what rotates; 1 line.
        ### BEGIN SOLUTION
        self.rotary = RotaryEmbedding(max_seq_len, rotary_dim, base)
        ### END SOLUTION

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        # (..., T, D); 2 lines.
        ### BEGIN SOLUTION
        rotated = self.rotary(x[..., : self.rotary_dim], offset)
        return torch.cat((rotated, x[..., self.rotary_dim :]), dim=-1)
        ### END SOLUTION


def relative_buckets(distances: Tensor, n_buckets: int = 32, max_distance: int = 128) -> Tensor:
    """The bucket of every distance: near ones have their own, far ones share.

    With half = n_buckets // 2, a distance below half is its own bucket. A larger distance d has
    bucket half + floor(ln(d / half) / ln(max_distance / half) * (n_buckets - half)), at most
    n_buckets - 1. Negative distances, keys later than the query, count as 0.

    Args:
        distances: query minus key, (...).
        n_buckets: at least 2.
        max_distance: from here on all share the last bucket; above half.

    Returns:
        (...), int64.

    Source: Raffel et al. (2020), "T5", arXiv:1910.10683, section 2.1 (in its causal form).

    >>> relative_buckets(torch.tensor([-3, 0, 1, 3, 4, 20, 99]), n_buckets=8, max_distance=64)
    tensor([0, 0, 1, 3, 4, 6, 7])
    """
    # (...), int64; about 5 lines.
    ### BEGIN SOLUTION
    half = n_buckets // 2
    near = distances.clamp(min=0)
    steps = (near.clamp(min=half) / half).log() / math.log(max_distance / half)
    far = half + (steps * (n_buckets - half)).long()
    return torch.where(near < half, near, far.clamp(max=n_buckets - 1))
    ### END SOLUTION


class RelativeBias(nn.Module):
    """T5's bias: for each head a learned number per bucket of distances, added to the scores.

    Args:
        n_heads: H.
        n_buckets, max_distance: as in `relative_buckets`.

    Its one parameter is `weight`, (n_buckets, H), drawn from N(0, 0.02²). `forward(q_len, k_len)`
    gives (H, q_len, k_len): for query i and key j the entry of the bucket of their distance. Key j
    is at position j; the queries are the last q_len of the k_len positions.

    Raises:
        ValueError: q_len is above k_len.

    Source: Raffel et al. (2020), "T5", arXiv:1910.10683, section 2.1.

    >>> RelativeBias(n_heads=12)(q_len=1, k_len=5).shape
    torch.Size([12, 1, 5])
    """

    def __init__(self, n_heads: int, n_buckets: int = 32, max_distance: int = 128) -> None:
        super().__init__()
        self.n_buckets, self.max_distance = n_buckets, max_distance
        # the weights; 1 line.
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(0.02 * torch.randn(n_buckets, n_heads))
        ### END SOLUTION

    def forward(self, q_len: int, k_len: int) -> Tensor:
        if q_len > k_len:
            raise ValueError(
                f"q_len must be at most k_len, because every query is at a key's position; "
                f"got {q_len} and {k_len}"
            )
        # (H, q_len, k_len); about 4 lines.
        ### BEGIN SOLUTION
        keys = torch.arange(k_len)
        queries = keys[k_len - q_len :]
        buckets = relative_buckets(queries[:, None] - keys, self.n_buckets, self.max_distance)
        return self.weight[buckets].permute(2, 0, 1)  # (q_len, k_len, H) -> (H, q_len, k_len)
        ### END SOLUTION


def rope_2d(x: Tensor, rows: Tensor, cols: Tensor, base: float = 10000.0) -> Tensor:
    """RoPE on a grid: half of the features rotated by the row, half by the column.

    Args:
        x: queries or keys, (..., T, D), D divisible by 4.
        rows, cols: where each token is, (T,) each, from 0, in any order.
        base: as in `rope_tables`, for a head of width D/2.

    Returns:
        (..., T, D): the first D/2 features rotated by `rows`, the last D/2 by `cols`, each half
        as `apply_rope` rotates a head of width D/2.

    Raises:
        ValueError: D is not divisible by 4, or rows and cols are not T numbers each.

    Source: Heo et al. (2024), "Rotary Position Embedding for Vision Transformer",
    arXiv:2403.13298, section 3.2 (axial frequency).

    >>> x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    >>> rope_2d(x, rows=torch.tensor([0]), cols=torch.tensor([1]))
    tensor([[1.0000, 0.0000, 0.5403, 0.8415]])
    """
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4:
        raise ValueError(
            f"D must be divisible by 4, for pairs in each half; got {head_dim} features"
        )
    if rows.shape != (seq_len,) or cols.shape != (seq_len,):
        raise ValueError(
            f"rows and cols must hold a number for each of the {seq_len} tokens; "
            f"got {tuple(rows.shape)} and {tuple(cols.shape)}"
        )
    # (..., T, D); about 5 lines.
    ### BEGIN SOLUTION
    rotated = []
    for half, positions in zip(x.chunk(2, dim=-1), (rows, cols), strict=True):
        cos, sin = rope_tables(int(positions.max()) + 1, head_dim // 2, base)
        rotated.append(apply_rope(half, cos[positions], sin[positions]))
    return torch.cat(rotated, dim=-1)
    ### END SOLUTION
