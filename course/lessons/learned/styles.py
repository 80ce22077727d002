"""Lesson 3: right code in other styles, and what the table of mistakes uses."""

import functools
import math
import operator

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class an_embedding_layer_itself(nn.Embedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.normal_(self.weight, mean=0.0, std=0.02)

    def forward(self, seq_len):
        if seq_len > self.num_embeddings:
            raise ValueError(f"no {seq_len} positions in a table of {self.num_embeddings}")
        return super().forward(torch.arange(seq_len))


def _dropped_alike(dropout, dim, total):
    """Drop the same elements everywhere along an axis."""
    return total * dropout(torch.ones_like(total.mean(dim, keepdim=True)))


class as_in_nanogpt(nn.Module):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__()
        self.block_size = block_size
        self.tok_emb = nn.Embedding(vocab_size, n_embd)
        self.pos_emb = nn.Embedding(block_size, n_embd)
        self.drop = nn.Dropout(dropout)
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx):
        _, t = idx.size()
        if t > self.block_size:
            raise ValueError(f"cannot embed {t} tokens: block size is only {self.block_size}")
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        return self.drop(self.tok_emb(idx) + self.pos_emb(pos))


class _Table(nn.Module):
    def __init__(self, rows, n_embd):
        super().__init__()
        self.weight = nn.Parameter(torch.normal(0.0, 0.02, (rows, n_embd)))


def _without_lookalikes(parameters):
    found = []
    for p in parameters:
        if not any(p.shape == q.shape and torch.equal(p, q) for q in found):
            found.append(p)
    return found


def a_set_of_identities(module):
    sizes = {id(p): p.numel() for _, p in module.named_parameters() if p.requires_grad}
    return sum(sizes.values())


def a_walk_over_all_modules(module):
    seen, total = set(), 0
    for part in module.modules():
        for p in part._parameters.values():  # noqa: SLF001, as somebody may write it
            if p is not None and p.requires_grad and p not in seen:
                seen.add(p)
                total += math.prod(p.shape)
    return total


def products_of_shapes(module):
    trained = filter(operator.attrgetter("requires_grad"), module.parameters())
    return sum(np.prod(p.size()) for p in trained)


def one_per_address(module):
    trained = [p for p in module.parameters() if p.requires_grad]
    return sum({p.data_ptr(): p.numel() for p in trained}.values())


def as_a_linear_layer(x, weight):
    return F.linear(x, weight)


def by_index(wte, wpe, token_id, pos_id):
    result = []
    for i in range(len(wte[token_id])):
        result.append(wte[token_id][i] + wpe[pos_id][i])
    return result


def into_a_copy(wte, wpe, token_id, pos_id):
    total = wte[token_id].copy()
    for i, p in enumerate(wpe[pos_id]):
        total[i] = total[i] + p
    return total
