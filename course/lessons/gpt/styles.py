"""Lesson 8: right code in other styles, and what the table of mistakes uses."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from solutions.gpt import Block, CausalSelfAttention
from solutions.learned import tied_logits
from solutions.lookup import TokenEmbedding
from solutions.rope import RotaryEmbedding, apply_rope, rope_tables


def heads_by_slices(x, n_heads):
    width, rest = divmod(x.shape[-1], n_heads)
    if rest:
        raise ValueError(f"{x.shape[-1]} features cannot be dealt out to {n_heads} heads")
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=1)


def heads_joined_one_by_one(x):
    return torch.cat(x.unbind(1), dim=-1)


_kept_by_queries, _kept_by_keys = {}, {}


def the_one_of_pytorch(q, k, v, bias=None):
    q_len, k_len = q.shape[-2], k.shape[-2]
    if q_len > k_len:
        raise ValueError(f"at most one query for each key: {q_len} > {k_len}")
    queries = torch.arange(k_len - q_len, k_len, device=q.device)
    seen = torch.arange(k_len, device=q.device) <= queries[:, None]
    if bias is None:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
    mask = bias.to(q.dtype).masked_fill(~seen, -torch.inf)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def one_query_after_another(q, k, v, bias=None):
    batch, n_heads, q_len, width = q.shape
    k_len = k.shape[2]
    if q_len > k_len:
        raise ValueError(f"{q_len} queries need {q_len} keys or more; got {k_len}")
    if bias is None:
        bias = q.new_zeros(())
    bias = bias.expand(batch, n_heads, q_len, k_len)
    results = []
    for i, end in enumerate(range(k_len - q_len + 1, k_len + 1)):
        scores = torch.einsum("bhd,bhkd->bhk", q[:, :, i], k[:, :, :end]) / math.sqrt(width)
        weights = F.softmax(scores + bias[:, :, i, :end], dim=-1).to(q.dtype)
        results.append(torch.einsum("bhk,bhkd->bhd", weights, v[:, :, :end]))
    return torch.stack(results, dim=2)


def masked_by_the_flag_of_pytorch(q, k, v, bias=None):
    if q.shape[-2] > k.shape[-2]:
        raise ValueError("more queries than keys")
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, is_causal=bias is None)


_shared = {}


def _hidden(q, k, n):
    """Return a bias that hides all but the last n keys from each query."""
    far = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2] - n)
    return far.masked_fill(far == 1, -torch.inf)


class RoomForAllKeys(nn.Module):
    """Caches of full length, written in place, and a mask that was made beforehand."""

    def __init__(self, n_embd, n_heads, max_seq_len):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(n_embd, n_embd, bias=False))
        self.shape = n_heads, n_embd // n_heads
        self.rope = RotaryEmbedding(max_seq_len, n_embd // n_heads)
        seen = torch.ones(max_seq_len, max_seq_len, dtype=torch.bool).tril()
        self.register_buffer("seen", seen, persistent=False)

    def forward(self, x, cache=None):
        batch, length, n_embd = x.shape
        q, k, v = (
            one(x).reshape(batch, length, *self.shape).permute(0, 2, 1, 3)
            for one in (self.q_proj, self.k_proj, self.v_proj)
        )
        start = cache.get("end", 0) if cache is not None else 0
        end = start + length
        q, k = self.rope(q, start), self.rope(k, start)
        if cache is not None:
            if not cache:
                room = x.new_zeros(2, batch, self.shape[0], len(self.seen), self.shape[1])
                cache["room"] = room
            cache["room"][0, :, :, start:end] = k
            cache["room"][1, :, :, start:end] = v
            cache["end"] = end
            k, v = cache["room"][:, :, :, :end]
        mask = self.seen[start:end, :end]
        found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out_proj(found.transpose(1, 2).reshape(batch, length, n_embd))


class KeysTurnedAnewInEveryCall(nn.Module):
    """The cache holds what came in; all of it is projected and turned in each call."""

    def __init__(self, n_embd, n_heads, max_seq_len):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(n_embd, n_embd, bias=False) for _ in range(4)
        )
        self.n_heads = n_heads
        cos, sin = rope_tables(max_seq_len, n_embd // n_heads)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, x, cache=None):
        length = x.shape[1]
        if cache is not None:
            cache[0] = x = torch.cat([*cache.values(), x], dim=1)
        n_all, width = x.shape[1], x.shape[2] // self.n_heads
        cos, sin = self.cos[:n_all], self.sin[:n_all]
        heads = []
        for h in range(self.n_heads):
            rows = slice(h * width, (h + 1) * width)
            q = apply_rope(x @ self.q_proj.weight[rows].T, cos, sin)
            k = apply_rope(x @ self.k_proj.weight[rows].T, cos, sin)
            scores = torch.einsum("bid,bjd->bij", q, k) / width**0.5
            later = torch.ones_like(scores, dtype=torch.bool).triu(1)
            weights = scores.masked_fill(later, -torch.inf).softmax(-1)
            heads.append(weights @ (x @ self.v_proj.weight[rows].T))
        return self.out_proj(torch.cat(heads, dim=-1))[:, n_all - length :]


class TurnedAsComplexNumbers(nn.Module):
    """RoPE as a product of complex numbers, keys and values in a list, a mask of -1e9."""

    def __init__(self, n_embd, n_heads, max_seq_len):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(n_embd, n_embd, bias=False) for _ in range(4)
        )
        self.n_heads, width = n_heads, n_embd // n_heads
        rates = 10000.0 ** (-torch.arange(0, width, 2).float() / width)
        angles = torch.outer(torch.arange(max_seq_len).float(), rates)
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x, cache=None):
        batch, length, n_embd = x.shape
        past = cache.setdefault("past", []) if cache is not None else []
        n_past = sum(k.shape[2] for k, _ in past)
        q, k, v = (
            project(x).view(batch, length, self.n_heads, -1).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        turned = []
        for one in (q, k):
            pairs = torch.complex(*one.contiguous().chunk(2, dim=-1))
            pairs = pairs * self.turns[n_past : n_past + length]
            turned.append(torch.cat((pairs.real, pairs.imag), dim=-1))
        q, k = turned
        past.append((k, v))
        k, v = (torch.cat(parts, dim=2) for parts in zip(*past, strict=True))
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        seen = torch.tril(torch.ones(n_past + length, n_past + length))[n_past:]
        weights = F.softmax(scores.masked_fill(seen == 0, -1e9), dim=-1)
        y = (weights @ v).transpose(1, 2).contiguous().view(batch, length, n_embd)
        return self.out_proj(y)


class _Perceptron(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.up = nn.Parameter(torch.randn(4 * n_embd, n_embd) / n_embd**0.5)
        self.down = nn.Parameter(torch.randn(n_embd, 4 * n_embd) / n_embd**0.5)

    def forward(self, x):
        inner = torch.einsum("btc,fc->btf", x, self.up)
        return (inner * torch.special.ndtr(inner)) @ self.down.T


class NormsByHand(nn.Module):
    """Its mlp has its own weights, and GELU is x Φ(x)."""

    def __init__(self, n_embd, n_heads, max_seq_len):
        super().__init__()
        self.attention = CausalSelfAttention(n_embd, n_heads, max_seq_len)
        self.mlp = _Perceptron(n_embd)
        self.norm1, self.norm2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)

    def forward(self, x, cache=None):
        attended = self.attention(self.norm1(x), cache=cache) + x
        return torch.add(attended, self.mlp(self.norm2(attended)))


class _MlpInAnMlp(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.mlp = nn.ModuleList(
            nn.Linear(size, to, bias=False)
            for size, to in ((n_embd, 4 * n_embd), (4 * n_embd, n_embd))
        )

    def forward(self, x):
        return self.mlp[1](F.gelu(self.mlp[0](x)))


class NamesTwice(nn.Module):
    """Its mlp has a part named mlp."""

    def __init__(self, n_embd, n_heads, max_seq_len):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attention = CausalSelfAttention(n_embd, n_heads, max_seq_len)
        self.mlp = _MlpInAnMlp(n_embd)

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.mlp(self.norm2(x))


_default: list[dict] = []


class TiedLayer(nn.Module):
    """A linear layer that holds the same parameter, and blocks that can be called in a row."""

    def __init__(self, vocab_size, n_embd, n_heads, n_layers, max_seq_len):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.tokens = TokenEmbedding(vocab_size, n_embd)
        self.blocks = nn.Sequential(*[Block(n_embd, n_heads, max_seq_len) for _ in range(n_layers)])
        self.norm = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids, caches=None):
        n_before = caches[0].get("n", 0) if caches else 0
        n_all = n_before + ids.size(1)
        if n_all > self.max_seq_len:
            raise ValueError(f"a text may have {self.max_seq_len} tokens at most, not {n_all}")
        x = self.tokens(ids)
        for layer, block in enumerate(self.blocks):
            if caches is None:
                x = block(x)
            else:
                held = {key: value for key, value in caches[layer].items() if key != "n"}
                x = block(x, held)
                caches[layer].update(held)
        if caches:
            caches[0]["n"] = n_all
        return self.head(self.norm(x))


class BlocksByName(nn.Module):
    """Each block is an attribute; `blocks` lists them."""

    def __init__(self, vocab_size, n_embd, n_heads, n_layers, max_seq_len):
        super().__init__()
        self.n_layers, self.max_seq_len = n_layers, max_seq_len
        self.tokens = TokenEmbedding(vocab_size, n_embd)
        for layer in range(n_layers):
            setattr(self, f"block_{layer}", Block(n_embd, n_heads, max_seq_len))
        self.norm = nn.LayerNorm(n_embd)

    @property
    def blocks(self):
        return [getattr(self, f"block_{layer}") for layer in range(self.n_layers)]

    def forward(self, ids, caches=None):
        n_before = caches[0]["k"].shape[2] if caches and caches[0] else 0
        n_all = n_before + ids.shape[1]
        if n_all > self.max_seq_len:
            raise ValueError(f"a text may have {self.max_seq_len} tokens at most, not {n_all}")
        x = self.tokens(ids)
        for layer, block in enumerate(self.blocks):
            x = block(x, caches[layer] if caches else None)
        return tied_logits(self.norm(x), self.tokens.weight)


def picked_from_log_probabilities(logits, ids):
    if ids.size(1) < 2:
        raise ValueError(f"a text of {ids.size(1)} tokens has no next one")
    log_probabilities = logits.log_softmax(dim=-1)[:, :-1]
    return -log_probabilities.gather(-1, ids[:, 1:, None].long()).mean()


def text_by_text(logits, ids):
    n_texts, length = ids.shape
    if length < 2:
        raise ValueError(f"length {length} is below 2")
    total = logits.new_zeros(())
    for b in range(n_texts):
        for t in range(length - 1):
            total = total + logits[b, t].logsumexp(0) - logits[b, t, ids[b, t + 1].long()]
    return total / (n_texts * (length - 1))


def drawn_by_adding_noise(model, ids, n_new, temperature=1.0, top_k=None, generator=None):
    """The largest of logits plus Gumbel noise is a draw from their softmax."""
    too_many = ids.shape[1] + n_new - model.max_seq_len - 1
    if temperature < 0 or too_many > 0 or (top_k is not None and top_k < 1):
        raise ValueError(
            f"temperature {temperature} >= 0, top_k {top_k} >= 1 and T + n_new "
            f"{ids.shape[1] + n_new} <= {model.max_seq_len + 1} are needed"
        )
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    caches, pieces = [dict() for _ in range(len(model.blocks))], [ids.to(torch.int64)]
    while len(pieces) <= n_new:
        with torch.inference_mode():
            logits = model(pieces[-1], caches=caches)[:, -1, :].double()
        if top_k is not None and top_k < logits.shape[1]:
            worst = logits.argsort(dim=1)[:, : logits.shape[1] - top_k]
            logits = logits.scatter(1, worst, -torch.inf)
        if temperature > 0:
            noise = torch.rand(logits.shape, generator=generator, dtype=torch.float64)
            logits = logits / temperature - (-noise.clamp(min=1e-300).log()).log()
        pieces.append(logits.argmax(dim=1)[:, None])
    for part, mode in modes:
        part.training = mode
    return torch.cat(pieces, dim=1)


def continued_text_by_text(model, ids, n_new, temperature=1.0, top_k=None, generator=None):
    """Each text has its own caches and is continued to its end before the next one begins."""
    rest = n_new, temperature, top_k, generator
    return torch.cat([drawn_among_the_sorted(model, text[None], *rest) for text in ids])


@torch.no_grad()
def drawn_among_the_sorted(model, ids, n_new, temperature=1.0, top_k=None, generator=None):
    """A place among the top_k is drawn, then looked up; the result is filled from the left."""
    n_all = ids.shape[1] + n_new
    if n_all > model.max_seq_len + 1:
        raise ValueError(f"{n_all} tokens are more than max_seq_len + 1")
    if temperature < 0:
        raise ValueError(f"a temperature below 0: {temperature}")
    if top_k is not None and top_k <= 0:
        raise ValueError(f"nothing is left with top_k = {top_k}")
    training = model.training
    model.train(False)
    try:
        text = torch.empty(len(ids), n_all, dtype=torch.int64, device=ids.device)
        text[:, : ids.shape[1]] = ids
        caches = [{} for _ in model.blocks]
        piece = ids
        for at in range(ids.shape[1], n_all):
            logits, tokens = model(piece, caches)[:, -1].sort(dim=-1, descending=True)
            if temperature == 0:
                place = torch.zeros_like(tokens[:, :1])
            else:
                shares = torch.softmax(logits[:, :top_k] / temperature, dim=-1)
                place = shares.multinomial(1, generator=generator)
            piece = tokens.gather(1, place)
            text[:, at : at + 1] = piece
    finally:
        model.train(training)
    return text
