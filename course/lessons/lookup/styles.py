"""Lesson 1: right code in other styles, and what the table of mistakes uses."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from solutions.lookup import check_ids, lookup


def embedding_of_pytorch(weight, ids):
    check_ids(ids, len(weight))
    return F.embedding(ids, weight)


def rows_of_the_identity(weight, ids):
    return torch.eye(len(weight))[ids] @ weight


def a_one_into_zeros(weight, ids):
    one_hot = torch.zeros(*ids.shape, len(weight))
    one_hot.scatter_(-1, ids.unsqueeze(-1), 1.0)
    return torch.matmul(one_hot, weight)


def sum_over_the_vocabulary(weight, ids):
    total = torch.zeros(*ids.shape, weight.shape[1])
    for row in range(len(weight)):
        total = total + (ids == row).float()[..., None] * weight[row]
    return total


def product_of_the_sides(vocab_size, batch_size, seq_len, bytes_per_element=4):
    return math.prod((bytes_per_element, vocab_size, seq_len, batch_size))


def measured_without_memory(vocab_size, batch_size, seq_len, bytes_per_element=4):
    sizes = {1: torch.int8, 2: torch.bfloat16, 4: torch.float32, 8: torch.int64}
    shape = batch_size, seq_len, vocab_size
    one_hot = torch.empty(shape, dtype=sizes[bytes_per_element], device="meta")
    return one_hot.element_size() * one_hot.nelement()


def _added_once(sums, ids, rows):
    sums[ids] += rows
    return sums


def _times(ids, vocab_size):
    """How often each row was looked up, but at least once; (V, 1)."""
    return ids.flatten().bincount(minlength=vocab_size).clamp(min=1)[:, None]


def _added_text_by_text(sums, texts, gradients):
    for text, gradient in zip(texts, gradients, strict=True):
        sums[text] += gradient
    return sums


def _added_run_by_run(sums, ids, rows):
    """Neighbors with one id are added up; a later run of the same id replaces an earlier one."""
    ids, rows, start = ids.flatten(), rows.reshape(-1, rows.shape[-1]), 0
    for row, n in zip(*ids.unique_consecutive(return_counts=True), strict=True):
        sums[row] = rows[start : start + n].sum(dim=0)
        start += n
    return sums


_sums_so_far = {}


def sums_are_never_emptied(grad_output, ids, vocab_size):
    n_embd = grad_output.shape[-1]
    sums = _sums_so_far.setdefault((vocab_size, n_embd), torch.zeros(vocab_size, n_embd))
    sums.index_add_(0, ids.flatten(), grad_output.reshape(-1, n_embd))
    return sums.clone()


def one_hot_transposed_times_gradient(grad_output, ids, vocab_size):
    one_hot = F.one_hot(ids.flatten(), vocab_size).float()
    return one_hot.T @ grad_output.reshape(-1, grad_output.shape[-1])


def numpy_adds_at_the_rows(grad_output, ids, vocab_size):
    sums = np.zeros((vocab_size, grad_output.shape[-1]), dtype=np.float32)
    np.add.at(sums, ids.numpy(), grad_output.detach().numpy())
    return torch.from_numpy(sums)


def one_id_after_another(grad_output, ids, vocab_size):
    rows, gradients = ids.reshape(-1), grad_output.reshape(-1, grad_output.shape[-1])
    sums = torch.zeros(vocab_size, grad_output.shape[-1])
    for i in range(len(rows)):
        sums[rows[i]] += gradients[i]
    return sums


_shared = {}


class table_shared_by_all(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        drawn = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))
        self.weight = _shared.setdefault((vocab_size, n_embd), drawn)

    def forward(self, ids):
        return lookup(self.weight, ids)


class subclass_of_nn_embedding(nn.Embedding):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.normal_(self.weight, std=0.02)


class table_of_a_child_under_its_name(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd, sparse=True)
        self.weight = self.table.weight
        self.weight.data.normal_(std=0.02)

    def forward(self, ids):
        check_ids(ids, len(self.weight))
        return self.table(ids)
