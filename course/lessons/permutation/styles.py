"""Lesson 2: right code in other styles, and what the table of mistakes uses."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def _normed(weights):
    return weights / weights.sum(dim=-1, keepdim=True)


def _later(scores):
    """True where the key comes after the query."""
    return torch.ones(scores.shape[-2:]).triu(diagonal=1) == 1


def scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x)


def query_by_query(x):
    rows = []
    for t in range(x.shape[1]):
        scores = (x[:, t : t + 1] * x).sum(dim=-1) / x.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=-1)[..., None] * x).sum(dim=1))
    return torch.stack(rows, dim=1)


def _written(inverse, perm, places):
    """Write some of the places into an inverse, one after the other."""
    for place in places:
        inverse[perm[place]] = place
    return inverse


def by_writing_each_place(perm):
    if sorted(perm.tolist()) != list(range(len(perm))):
        raise ValueError(f"perm must hold each of 0..{len(perm) - 1} exactly once")
    inverse = torch.empty_like(perm)
    inverse[perm] = torch.arange(len(perm))
    return inverse


def shuffled_back_and_compared(layer, x, perm):
    difference = layer(x) - layer(x[:, perm])[:, perm.argsort()]
    return float(difference.detach().abs().max())


def evaluation_mode_for_a_while(layer, x, perm):
    was_training = getattr(layer, "training", None)
    if was_training:
        layer.eval()
    with torch.no_grad():
        gap = torch.dist(layer(x).index_select(1, perm), layer(x[:, perm]), p=math.inf)
    if was_training:
        layer.train()
    return gap


def sum_divided_by_the_length(layer, x):
    return layer(x).sum(1) / x.shape[1]


def masked_mean_with_a_mask_of_ones(layer, x):
    vectors = layer(x)
    mask = torch.ones(vectors.shape[:2])[..., None]
    return (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1e-9)


def linear_and_scaled_dot_product(x, w_q, w_k, w_v):
    queries, keys, values = (F.linear(x, weight) for weight in (w_q, w_k, w_v))
    return F.scaled_dot_product_attention(queries, keys, values)


_first_mask = []


def mask_of_the_first_call(x):
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    if not _first_mask:
        _first_mask.append(_later(scores))
    return scores.masked_fill(_first_mask[0], -math.inf).softmax(dim=-1) @ x


def flag_of_scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


def prefix_by_prefix(x):
    rows = []
    for t in range(1, x.shape[1] + 1):
        seen = x[:, :t]
        scores = torch.einsum("bc,bkc->bk", x[:, t - 1], seen) / math.sqrt(x.shape[-1])
        rows.append(torch.einsum("bk,bkc->bc", scores.softmax(dim=-1), seen))
    return torch.stack(rows, dim=1)
