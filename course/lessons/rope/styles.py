"""Lesson 5: right code in other styles, and what the table of mistakes uses."""

import math

import numpy as np
import torch
from torch import nn

from solutions.rope import apply_rope, rope_tables


def _rates(head_dim, base):
    return base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def _angles(seq_len, head_dim, base):
    return torch.outer(torch.arange(seq_len).double(), _rates(head_dim, base))


def _tables(positions, rates):
    """(cos, sin) of all angles, repeated for both halves."""
    angles = torch.outer(positions, rates).repeat(1, 2)
    return angles.cos().float(), angles.sin().float()


def _slower(rates):
    """How Llama 3.1 scales its rates: by 1/8 below a turn in 8,192 positions, by 1 above 4."""
    kept = ((8192 * rates / (2 * math.pi) - 1) / 3).clamp(0, 1)
    return (1 - kept) / 8 + kept


def all_in_float32(seq_len, head_dim, base=10000.0):
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, so that features pair up; got {head_dim}")
    rates = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
    angles = torch.einsum("t,d->td", torch.arange(seq_len).float(), rates)
    return torch.cat((angles, angles), dim=-1).cos(), torch.cat((angles, angles), dim=-1).sin()


def rolled_by_half(x):
    half = x.shape[-1] // 2
    signs = torch.ones_like(x)
    signs[..., :half] = -1
    return x.roll(half, dims=-1) * signs


def written_into_a_new_tensor(x):
    half = x.shape[-1] // 2
    result = torch.empty_like(x)
    result[..., :half], result[..., half:] = -x[..., half:], x[..., :half]
    return result


def _neighbors_turned(x, cos, sin):
    """Turn features 2i and 2i + 1 by the angle of pair i, as complex numbers do."""
    real, imaginary = x[..., 0::2], x[..., 1::2]
    cos, sin = cos.chunk(2, dim=-1)[0], sin.chunk(2, dim=-1)[0]
    turned = real * cos - imaginary * sin, real * sin + imaginary * cos
    return torch.stack(turned, dim=-1).flatten(-2)


def _neighbors_to_halves(x, cos, sin):
    """What interleaved pairs become, but in split halves."""
    n, first, second = x.shape[-1] // 2, x[..., 0::2], x[..., 1::2]
    cos, sin = cos[..., :n], sin[..., :n]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def second_half_from_the_turned_first(x, cos, sin):
    (x1, x2), (cos, _), (sin, _) = (one.chunk(2, dim=-1) for one in (x, cos, sin))
    x1 = x1 * cos - x2 * sin
    x2 = x1 * sin + x2 * cos
    return torch.cat((x1, x2), dim=-1)


def half_by_half(x, cos, sin):
    half = x.shape[-1] // 2
    cos, sin = cos[:, :half], sin[:, :half]
    x1, x2 = x.split(half, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


def product_of_complex_numbers(x, cos, sin):
    points = torch.complex(*x.chunk(2, dim=-1)) * torch.complex(cos, sin).chunk(2, dim=-1)[0]
    return torch.cat((points.real, points.imag), dim=-1)


def rotation_matrices(x, cos, sin):
    half = x.shape[-1] // 2
    c, s = cos[:, :half], sin[:, :half]
    turns = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)  # (T, D/2, 2, 2)
    return torch.einsum("tpij,...tjp->...tip", turns, x.unflatten(-1, (2, half))).flatten(-2)


_made = {}


class angles_in_every_call(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        self.max_seq_len, self.head_dim, self.base = max_seq_len, head_dim, base

    def forward(self, x, offset=0):
        end = offset + x.shape[-2]
        if x.shape[-1] != self.head_dim:
            raise ValueError(f"x must have {self.head_dim} features; got {x.shape[-1]}")
        if offset < 0 or end > self.max_seq_len:
            raise ValueError(f"{self.max_seq_len} positions at most; got {offset} to {end - 1}")
        cos, sin = rope_tables(self.max_seq_len, self.head_dim, self.base)
        return apply_rope(x, cos[offset:end].to(x.device), sin[offset:end].to(x.device))


class tables_made_in_the_first_call(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        self.sizes, self.tables = (max_seq_len, head_dim, base), None

    def forward(self, x, offset=0):
        rows = range(self.sizes[0])[offset : offset + x.shape[-2]]
        if x.shape[-1] != self.sizes[1] or offset < 0 or len(rows) < x.shape[-2]:
            raise ValueError(f"no such positions, or no such width; got {offset} and {x.shape}")
        if self.tables is None:
            self.tables = rope_tables(*self.sizes)
        cos, sin = (table[rows.start : rows.stop].to(x) for table in self.tables)
        return apply_rope(x, cos, sin)


class complex_numbers_as_an_attribute(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        angles = _angles(max_seq_len, head_dim, base).float()
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x, offset=0):
        turns, end = self.turns[max(offset, 0) : offset + x.shape[-2]], offset + x.shape[-2]
        if x.shape[-1] != 2 * self.turns.shape[1] or offset < 0 or end > len(self.turns):
            raise ValueError(f"no such positions, or no such width; got {offset} and {x.shape}")
        points = torch.complex(*x.float().chunk(2, dim=-1)) * turns
        return torch.cat((points.real, points.imag), dim=-1).type_as(x)


def head_by_head(weight, n_heads):
    if len(weight) % (2 * n_heads):
        raise ValueError(f"rows must be divisible by {2 * n_heads}; got {len(weight)}")
    heads = weight.chunk(n_heads)
    return torch.cat([torch.cat((head[0::2], head[1::2])) for head in heads])


def by_logarithms(base, factor, head_dim):
    if factor < 1 or head_dim <= 2:
        raise ValueError(f"needs factor >= 1, head_dim > 2; got {factor}, {head_dim}")
    return math.exp(math.log(base) + math.log(factor) * head_dim / (head_dim - 2))


def three_loops(n_heads, seq_len):
    if n_heads not in [2**k for k in range(32)]:
        raise ValueError(f"n_heads must be a power of two; got {n_heads}")
    bias = torch.zeros(n_heads, seq_len, seq_len)
    for h in range(n_heads):
        for query in range(seq_len):
            for key in range(query):
                bias[h, query, key] = -(2 ** (-8 * (h + 1) / n_heads)) * (query - key)
    return bias
