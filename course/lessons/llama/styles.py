"""Lesson 9: right code in other styles, and what the table of mistakes uses."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course.lessons.gpt.styles import _hidden as _hidden
from solutions.gpt import merge_heads, split_heads
from solutions.llama import GatedMLP, GroupedQueryAttention, RMSNorm
from solutions.lookup import TokenEmbedding
from solutions.rope import RotaryEmbedding, interleaved_to_half


class by_the_length_of_the_row(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.eps = eps

    def forward(self, x):
        squares = torch.linalg.vecdot(x, x)[..., None]  # (..., 1)
        return self.weight * x / torch.sqrt(squares / x.shape[-1] + self.eps)


def by_an_axis_of_copies(x, n_repeats):
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1; got {n_repeats}")
    batch, heads, length, width = x.shape
    copies = x[:, :, None].expand(batch, heads, n_repeats, length, width)
    return copies.reshape(batch, heads * n_repeats, length, width)


def _read(q, k, v, of_scores=lambda scores: scores, weigh=lambda scores: scores.softmax(-1)):
    """Return what causal attention reads, with other scores or other weights."""
    scores = of_scores(q @ k.mT / q.shape[-1] ** 0.5)
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + k.shape[-2] - q.shape[-2])
    return weigh(scores.masked_fill(later, -torch.inf)) @ v


def _with_sink(scores):
    """Return weights by a softmax in which one more score, 0, takes its share."""
    return torch.cat((scores, torch.zeros_like(scores[..., :1])), -1).softmax(-1)[..., :-1]


def _with_zeros(scores):
    """Return weights by a softmax in which later keys have the score 0."""
    return scores.nan_to_num(neginf=0.0).softmax(-1)


_shared: dict = {}


class with_an_axis_for_the_group(nn.Module):
    def __init__(self, n_embd, n_heads, n_kv_heads, max_seq_len, base=10000.0):
        super().__init__()
        if n_embd % n_heads or n_heads % n_kv_heads:
            raise ValueError(f"{n_embd} features, {n_heads} heads and {n_kv_heads} do not go up")
        self.shape, width = (n_kv_heads, n_heads // n_kv_heads), n_embd // n_heads
        self.q_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, n_kv_heads * width, bias=False)
        self.v_proj = nn.Linear(n_embd, n_kv_heads * width, bias=False)
        self.out_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.rotary = RotaryEmbedding(max_seq_len, width, base)

    def forward(self, x, cache=None):
        n_groups, n_queries = self.shape
        q = split_heads(self.q_proj(x), n_groups * n_queries)
        k, v = (split_heads(project(x), n_groups) for project in (self.k_proj, self.v_proj))
        offset = cache["k"].shape[2] if cache else 0
        q, k = self.rotary(q, offset), self.rotary(k, offset)
        if cache is not None:
            if offset:
                k, v = torch.cat((cache["k"], k), 2), torch.cat((cache["v"], v), 2)
            cache.update(k=k, v=v)
        q = q.unflatten(1, (n_groups, n_queries))  # (B, K, H / K, T, D)
        scores = q @ k[:, :, None].transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device)
        later = later.triu(1 + k.shape[2] - q.shape[3])
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.out_proj(merge_heads((weights @ v[:, :, None]).flatten(1, 2)))


class by_complex_numbers(nn.Module):
    """Each pair is a complex number, turned by e ** (i angle); heads stay behind the tokens."""

    def __init__(self, n_embd, n_heads, n_kv_heads, max_seq_len, base=10000.0):
        super().__init__()
        if n_embd % n_heads or n_heads % n_kv_heads:
            raise ValueError(f"{n_embd} features, {n_heads} heads and {n_kv_heads} do not go up")
        self.q_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, n_kv_heads * (n_embd // n_heads), bias=False)
        self.v_proj = nn.Linear(n_embd, n_kv_heads * (n_embd // n_heads), bias=False)
        self.out_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.width, self.n_repeats = n_embd // n_heads, n_heads // n_kv_heads
        rates = base ** (-torch.arange(0, self.width, 2) / self.width)
        angles = torch.outer(torch.arange(max_seq_len).float(), rates)
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x, cache=None):
        start = cache.get("read", 0) if cache is not None else 0
        turns = self.turns[start : start + x.shape[1], None]  # (T, 1, D / 2)
        q, k, v = (
            project(x).unflatten(-1, (-1, self.width))  # (B, T, heads, D)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = (torch.complex(*one.chunk(2, dim=-1)) * turns for one in (q, k))
        q, k = (torch.cat((one.real, one.imag), dim=-1) for one in (q, k))
        if cache is not None:
            pieces = cache.setdefault("pieces", [])
            pieces.append((k, v))
            k, v = (torch.cat(parts, dim=1) for parts in zip(*pieces, strict=True))
            cache["read"] = k.shape[1]
        k, v = (one.repeat_interleave(self.n_repeats, dim=2).transpose(1, 2) for one in (k, v))
        seen = torch.ones(x.shape[1], k.shape[2], dtype=torch.bool).tril(start)
        heads = F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=seen)
        return self.out_proj(heads.transpose(1, 2).flatten(2))


class by_the_formula_of_silu(nn.Module):
    def __init__(self, n_embd, n_hidden):
        super().__init__()
        self.gate, self.up = (nn.Linear(n_embd, n_hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(n_hidden, n_embd, bias=False)

    def forward(self, x):
        z = self.gate(x)
        return self.down(z * z.sigmoid() * self.up(x))


class with_dictionaries_of_parts(nn.Module):
    def __init__(
        self,
        vocab_size,
        n_embd,
        n_heads,
        n_kv_heads,
        n_layers,
        n_hidden,
        max_seq_len,
        base=10000.0,
        eps=1e-5,
    ):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.tokens = TokenEmbedding(vocab_size, n_embd)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm1": RMSNorm(n_embd, eps),
                    "attention": GroupedQueryAttention(
                        n_embd, n_heads, n_kv_heads, max_seq_len, base
                    ),
                    "norm2": RMSNorm(n_embd, eps),
                    "mlp": GatedMLP(n_embd, n_hidden),
                }
            )
            for _ in range(n_layers)
        )
        self.norm = RMSNorm(n_embd, eps)

    def forward(self, ids, caches=None):
        total = ids.shape[1]
        if caches and caches[0]:
            total += caches[0]["k"].shape[2]
        if total > self.max_seq_len:
            raise ValueError(f"at most {self.max_seq_len} positions; got {total}")
        x = self.tokens(ids)
        for number, block in enumerate(self.blocks):
            cache = caches[number] if caches is not None else None
            x = x + block["attention"](block["norm1"](x), cache)
            x = x + block["mlp"](block["norm2"](x))
        return self.norm(x) @ self.tokens.weight.T


def by_replacing_parts(tensors, n_heads, n_kv_heads):
    parts = {
        "blk.": "blocks.",
        "attn_norm": "norm1",
        "attn_output": "attention.out_proj",
        "ffn_norm": "norm2",
        "ffn_": "mlp.",
        "attn_": "attention.",
        "attention.q.": "attention.q_proj.",
        "attention.k.": "attention.k_proj.",
        "attention.v.": "attention.v_proj.",
        "token_embd": "tokens",
        "output_norm": "norm",
    }
    found = {}
    for name, tensor in tensors.items():
        if name.split(".")[0] not in ("blk", "token_embd", "output_norm"):
            raise ValueError(f"unknown weight: {name}")
        if "attn_q." in name or "attn_k." in name:
            heads = n_heads if "attn_q." in name else n_kv_heads
            tensor = interleaved_to_half(tensor, heads)
        for old, new in parts.items():
            name = name.replace(old, new)
        found[name] = tensor
    return found


def by_splitting_the_names(tensors, n_heads, n_kv_heads):
    names = {
        "attn_norm": "norm1",
        "attn_output": "attention.out_proj",
        "ffn_norm": "norm2",
        **{f"attn_{one}": f"attention.{one}_proj" for one in "qkv"},
        **{f"ffn_{one}": f"mlp.{one}" for one in ("gate", "up", "down")},
    }
    found = {}
    for name, tensor in tensors.items():
        fields = name.split(".")
        if name == "token_embd.weight":
            found["tokens.weight"] = tensor
        elif name == "output_norm.weight":
            found["norm.weight"] = tensor
        elif (
            len(fields) == 4
            and fields[0] == "blk"
            and fields[1].isdecimal()
            and fields[2] in names
            and fields[3] == "weight"
        ):
            if fields[2] == "attn_q":
                tensor = interleaved_to_half(tensor, n_heads)
            if fields[2] == "attn_k":
                tensor = interleaved_to_half(tensor, n_kv_heads)
            found[f"blocks.{fields[1]}.{names[fields[2]]}.weight"] = tensor
        else:
            raise ValueError(f"unknown weight: {name}")
    return found


def by_the_logarithms_of_shares(model, ids):
    if ids.shape[1] < 2:
        raise ValueError(f"a text needs two tokens or more; got {ids.shape[1]}")
    mode = model.training
    try:
        model.eval()
        with torch.no_grad():
            shares = model(ids).log_softmax(dim=-1)  # (B, T, V)
    finally:
        model.train(mode)
    following = ids[:, 1:, None]
    return -shares[:, :-1].gather(2, following)[..., 0].mean(dim=0)
