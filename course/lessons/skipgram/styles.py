"""Lesson 6: right code in other styles, and what the table of mistakes uses."""

import copy
import csv
import math

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from solutions.skipgram import nearest_by_cosine


def _pairs_beside(ids, neighbors):
    """All pairs, in plain Python; `neighbors(i)` are the positions near i."""
    words = ids.tolist()
    pairs = [(words[i], words[j]) for i in range(len(words)) for j in neighbors(i) if j != i]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).unbind(1)


def loops_in_plain_python(ids, window):
    words, centers, contexts = ids.tolist(), [], []
    if window < 1:
        raise ValueError(f"window must be at least 1; got {window}")
    for i, word in enumerate(words):
        for j in range(max(0, i - window), min(len(words), i + window + 1)):
            if j != i:
                centers.append(word)
                contexts.append(words[j])
    return torch.tensor(centers), torch.tensor(contexts)


def powers_by_numpy(counts, power=0.75):
    if counts.min() < 0 or counts.max() == 0:
        raise ValueError("counts must not be negative, nor all zero")
    weights = numpy.power(counts.numpy(), power)
    return torch.from_numpy(weights / weights.sum())


class tables_as_raw_parameters(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.center = nn.ParameterDict({"weight": 0.1 * torch.randn(vocab_size, n_embd)})
        self.context = nn.ParameterDict({"weight": torch.zeros(vocab_size, n_embd)})

    def forward(self, centers, contexts):
        center_rows = self.center["weight"].index_select(0, centers)
        context_rows = F.embedding(contexts, self.context["weight"])
        if contexts.dim() == 1:
            return torch.linalg.vecdot(center_rows, context_rows)
        return torch.bmm(context_rows, center_rows.unsqueeze(2)).squeeze(2)


def two_softplus(positive, negative):
    return F.softplus(-positive).mean() + F.softplus(negative).sum(dim=1).mean()


def batches_by_a_data_loader(
    model,
    centers,
    contexts,
    noise,
    *,
    epochs=5,
    batch_size=1024,
    n_negatives=5,
    lr=0.01,
    generator=None,
    on_epoch=None,
):
    pairs = TensorDataset(centers, contexts)
    batches = DataLoader(pairs, batch_size, shuffle=True, generator=generator)
    adam = torch.optim.AdamW(model.parameters(), lr, weight_decay=1e-4)
    history = []
    for epoch in range(epochs):
        costs = torch.zeros((), dtype=torch.float64)
        for i, j in batches:
            bad = noise.multinomial(len(i) * n_negatives, True, generator=generator)
            adam.zero_grad(set_to_none=False)
            cost = F.softplus(-model(i, j)) + F.softplus(model(i, bad.view(len(i), -1))).sum(1)
            cost.mean().backward()
            adam.step()
            costs += cost.detach().double().sum()
        history.append((costs / len(pairs)).item())
        if on_epoch:
            on_epoch(epoch=epoch, loss=history[-1])
    return history


def torch_cosine_similarity(query, vectors, top_k=5):
    similarities = torch.cosine_similarity(vectors, query.unsqueeze(0), dim=1)
    order = similarities.argsort(descending=True)[:top_k]
    return order, similarities[order]


def with_an_epsilon(query, vectors, top_k=5):
    lengths = ((vectors * vectors).sum(dim=1) + 1e-9).sqrt() * (query * query).sum().sqrt()
    similarities = torch.mv(vectors, query) / lengths
    best = torch.topk(similarities, k=top_k)[1].numpy().astype("int32")
    return torch.from_numpy(best), similarities[best]


def more_are_ranked_than_asked_for(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    rows, similarities = nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, top_k + 3)
    is_other = [row not in (a, b, c) for row in rows.tolist()]
    return rows[is_other][:top_k], similarities[is_other][:top_k]


def _float_or_0(field):
    try:
        return float(field)
    except ValueError:
        return 0.0


def fields_joined_again(line, n_embd):
    fields = line.strip().split(" ")
    if len(fields) < n_embd:
        raise ValueError(f"{n_embd} numbers are needed after the word, got only {fields}")
    values = [float(field) for field in fields[-n_embd:]]
    return " ".join(fields[:-n_embd]), torch.FloatTensor(values)
