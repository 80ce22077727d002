"""Lesson 4: right code in other styles, and what the table of mistakes uses."""

import functools
import math

import numpy as np
import torch
from torch import nn

from solutions.sinusoidal import (
    check_width,
    inverse_frequencies,
    offset_rotation,
    sinusoidal_encoding,
)


def exp_of_a_logarithm(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.exp(torch.arange(0, n_embd, 2).float() * (-math.log(base) / n_embd))


def as_in_the_annotated_transformer(length, n_embd, base=10000.0):
    check_width(n_embd)
    pe = torch.zeros(length, n_embd)
    position = torch.arange(0, length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, n_embd, 2) * -(math.log(base) / n_embd))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def divided_by_powers_in_a_batch_of_one(length, n_embd, base=10000.0):
    check_width(n_embd)
    table = torch.zeros(1, length, n_embd)
    exponents = torch.arange(0, n_embd, 2, dtype=torch.float32) / n_embd
    angles = torch.arange(length, dtype=torch.float32).reshape(-1, 1) / torch.pow(base, exponents)
    table[:, :, 0::2], table[:, :, 1::2] = torch.sin(angles), torch.cos(angles)
    return table[0]


class frequencies_as_the_buffer(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.register_buffer("rates", inverse_frequencies(n_embd, base))

    def forward(self, seq_len):
        angles = torch.outer(torch.arange(seq_len).to(self.rates), self.rates)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class persistent_table_that_grows(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.make = functools.partial(sinusoidal_encoding, n_embd=n_embd, base=base)
        self.register_buffer("pe", self.make(max_seq_len).unsqueeze(0))

    def forward(self, seq_len):
        if seq_len > self.pe.size(1):
            self.pe = self.make(2 * seq_len).unsqueeze(0).to(self.pe)
        return self.pe[0, :seq_len]


def blocks_of_two_by_two(k, n_embd, base=10000.0):
    check_width(n_embd)
    blocks = []
    for i in range(n_embd // 2):
        angle = torch.tensor(k / base ** (2 * i / n_embd))
        cos, sin = angle.cos(), angle.sin()
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


def power_of_a_step(k, n_embd, base=10000.0):
    step = offset_rotation(1 if k >= 0 else -1, n_embd, base)
    return torch.linalg.matrix_power(step, abs(k))


_TURN = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)


def diagonal_of_all_pairs(pe, k):
    if not 0 <= k < len(pe):
        raise ValueError(f"no two of {len(pe)} rows are {k} apart")
    return (pe @ pe.T).diagonal(k)
