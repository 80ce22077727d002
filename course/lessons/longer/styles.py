"""Lesson 7: right code in other styles, and what the table of mistakes uses."""

import math

import torch
from torch import nn

from solutions.longer import relative_buckets
from solutions.rope import apply_rope, rope_tables


def _as_released(head_dim, base, trained_length, beta_fast, beta_slow):
    """The share that is kept by the code published with the paper."""
    low, high = (
        head_dim
        * math.log(trained_length / (max(turns, 1e-3) * 2 * math.pi))
        / (2 * math.log(base))
        for turns in (beta_fast, beta_slow)
    )
    low, high = max(math.floor(low), 0), min(math.ceil(high), head_dim - 1)
    return 1 - ((torch.arange(head_dim // 2) - low) / max(high - low, 0.001)).clamp(0, 1)


def pair_by_pair(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    if head_dim % 2 or factor < 1 or beta_fast <= beta_slow:
        raise ValueError("head_dim must be even, factor at least 1, beta_fast above beta_slow")
    result = []
    for i in range(head_dim // 2):
        frequency = base ** (-2 * i / head_dim)
        turns = trained_length * frequency / (2 * math.pi)
        if turns < beta_slow:
            frequency /= factor
        elif turns < beta_fast:
            kept = (turns - beta_slow) / (beta_fast - beta_slow)
            frequency *= kept + (1 - kept) / factor
        result.append(frequency)
    return torch.tensor(result)


def by_wavelength_and_where(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    if head_dim % 2 or factor < 1 or beta_fast <= beta_slow:
        raise ValueError("head_dim must be even, factor at least 1, beta_fast above beta_slow")
    theta = 1.0 / (base ** (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim))
    turns = trained_length / (2 * torch.pi / theta)
    share = (turns - beta_slow) / (beta_fast - beta_slow)
    between = torch.lerp(theta / factor, theta, share)
    between = torch.where(turns >= beta_fast, theta, between)
    return torch.where(turns <= beta_slow, theta / factor, between)


def _partners_of_the_whole(x, rotary_dim, offset, base, width):
    """x with pairs i and D/2 + i of the whole head rotated, for the first rotary_dim / 2 pairs."""
    half = x.shape[-1] // 2
    rates = base ** (-torch.arange(0, 2 * half, 2) / max(width, 1))
    rates[rotary_dim // 2 :] = 0
    angles = torch.outer(torch.arange(offset, offset + x.shape[-2]), rates).repeat(1, 2)
    turned = apply_rope(x[..., : 2 * half], angles.cos(), angles.sin())
    return torch.cat((turned, x[..., 2 * half :]), dim=-1)


class tables_of_its_own(nn.Module):
    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        if rotary_dim not in range(0, head_dim + 1, 2):
            raise ValueError(f"rotary_dim must be even, 0 to {head_dim}; got {rotary_dim}")
        self.sizes = rotary_dim, head_dim - rotary_dim
        cos, sin = rope_tables(max_seq_len, rotary_dim, base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, x, offset=0):
        first, rest = x.split(self.sizes, dim=-1)
        positions = slice(offset, offset + x.shape[-2])
        return torch.cat(
            (apply_rope(first, self.cos[positions], self.sin[positions]), rest), dim=-1
        )


class as_complex_numbers(nn.Module):
    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        if rotary_dim % 2 or rotary_dim < 0 or rotary_dim > head_dim:
            raise ValueError(f"rotary_dim must be even, 0 to {head_dim}; got {rotary_dim}")
        self.half, self.base = rotary_dim // 2, base

    def forward(self, x, offset=0):
        if not self.half:
            return x
        rates = self.base ** (-torch.arange(self.half) / self.half)
        angles = torch.outer(torch.arange(offset, offset + x.shape[-2]), rates)
        real, imaginary, rest = x.tensor_split((self.half, 2 * self.half), dim=-1)
        turned = torch.complex(real, imaginary) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat((turned.real, turned.imag, rest), dim=-1)


def one_by_one(distances, n_buckets=32, max_distance=128):
    half, result = n_buckets // 2, []
    for d in distances.flatten().tolist():
        if d < half:
            result.append(max(d, 0))
        else:
            share = math.log(d / half) / math.log(max_distance / half)
            result.append(min(half + math.floor(share * (n_buckets - half)), n_buckets - 1))
    return torch.tensor(result).reshape(distances.shape)


def as_t5_does(distances, n_buckets=32, max_distance=128):
    distances = -torch.min(-distances, torch.zeros_like(distances))
    exact = n_buckets // 2
    is_small = distances < exact
    large = exact + (
        torch.log(distances.float() / exact) / math.log(max_distance / exact) * (n_buckets - exact)
    ).to(torch.long)
    large = torch.min(large, torch.full_like(large, n_buckets - 1))
    return torch.where(is_small, distances, large)


def far_ones_written_by_a_mask(distances, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    result = distances.clamp(min=0)
    is_far = result >= half
    share = (result[is_far].double() / half).log() / math.log(max_distance / half)
    result[is_far] = (half + share * (n_buckets - half)).long().clamp(max=n_buckets - 1)
    return result


class _Drawn(nn.Embedding):
    def reset_parameters(self):
        nn.init.normal_(self.weight, std=0.02)


class an_embedding_itself(nn.Embedding):
    def __init__(self, n_heads, n_buckets=32, max_distance=128):
        super().__init__(n_buckets, n_heads)
        nn.init.normal_(self.weight, std=0.02)
        self.max_distance = max_distance

    def forward(self, q_len, k_len):
        if q_len > k_len:
            raise ValueError(f"q_len must be at most k_len, {k_len}; got {q_len}")
        queries = torch.arange(q_len).view(-1, 1) + k_len - q_len
        distances = queries - torch.arange(k_len).view(1, -1)
        buckets = relative_buckets(distances, self.num_embeddings, self.max_distance)
        return torch.einsum("qkh->hqk", super().forward(buckets))


class a_diagonal_for_every_distance(nn.Module):
    def __init__(self, n_heads, n_buckets=32, max_distance=128):
        super().__init__()
        self.weight = nn.Parameter(nn.init.trunc_normal_(torch.empty(n_buckets, n_heads), std=0.02))
        self.sizes = n_buckets, max_distance

    def forward(self, q_len, k_len):
        if q_len > k_len:
            raise ValueError(f"{q_len} queries need as many keys; got {k_len}")
        distances = torch.arange(k_len - 1, -q_len, -1)  # all there can be
        per_distance = self.weight.T[:, relative_buckets(distances, *self.sizes)]
        return per_distance.unfold(1, k_len, 1).flip(1)


def _axes_in_turn(x, rows, cols, rates):
    """Turn the pairs of the whole head by rows and columns in turn."""
    places = torch.stack((rows, cols), dim=-1).repeat(1, x.shape[-1] // 4)  # (T, D/2)
    angles = (places * rates).repeat(1, 2)
    return apply_rope(x, angles.cos(), angles.sin())


def by_the_formula(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4 or len(rows) != seq_len or len(cols) != seq_len:
        raise ValueError(f"D must be divisible by 4, and there must be {seq_len} rows and columns")
    width = head_dim // 2
    rates = base ** (-torch.arange(0, width, 2) / width)

    def rotated(half, places):
        angles = torch.outer(places, rates).repeat(1, 2)
        return apply_rope(half, angles.cos(), angles.sin())

    return torch.cat((rotated(x[..., :width], rows), rotated(x[..., width:], cols)), dim=-1)


def four_quarters_as_complex_numbers(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4 or len(rows) != seq_len or len(cols) != seq_len:
        raise ValueError(f"D must be divisible by 4, and there must be {seq_len} rows and columns")
    quarters = x.unflatten(-1, (2, 2, -1))  # half, member of the pair, pair
    points = torch.complex(quarters[..., 0, :], quarters[..., 1, :])
    rates = base ** (-torch.arange(head_dim // 4) / (head_dim // 4))
    angles = torch.stack((rows, cols), dim=-1)[..., None] * rates
    points = points * torch.polar(torch.ones_like(angles), angles)
    return torch.stack((points.real, points.imag), dim=-2).flatten(-3)
