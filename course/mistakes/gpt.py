"""Lesson 8: known mistakes and legitimate alternatives."""

import functools
import math

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from solutions.gpt import Block, CausalSelfAttention, merge_heads, split_heads
from solutions.learned import tied_logits
from solutions.lookup import TokenEmbedding
from solutions.rope import RotaryEmbedding, apply_rope, rope_tables

mistake, alternative, error = entries("split_heads")

_SPLIT = "x.unflatten(-1, (n_heads, -1)).transpose(1, 2)"

mistake(
    {_SPLIT: "x.reshape(x.shape[0], n_heads, x.shape[1], -1)"},
    says="split_heads splits by a view alone, so that a head gets features of several tokens.",
    look="Which numbers are next to each other in memory? To which heads do they go?",
    common=True,
)
mistake(
    {".transpose(1, 2)": ""},
    says="split_heads leaves the heads behind the tokens, (B, T, H, D).",
    look="Print the shape. Which axis should come second?",
    common=True,
)
mistake(
    {_SPLIT: "x.unflatten(-1, (-1, n_heads)).permute(0, 3, 1, 2)"},
    says="split_heads deals the features out one by one, in turn: head h gets h, h + H, h + 2H.",
    look="Which features does head 0 get? Are they neighbors?",
    common=True,
)
mistake(
    {"(n_heads, -1)": "(-1, n_heads)"},
    says="split_heads makes D heads of H features instead of H heads of D.",
    look="Of the two axes that one becomes, which varies faster?",
)
mistake(
    {_SPLIT: "x.unflatten(1, (n_heads, -1))"},
    says="split_heads splits the tokens instead of the features.",
    look="Which axis of x is divided among the heads?",
)
mistake(
    {_SPLIT: "x.chunk(n_heads, dim=-1)"},
    says="split_heads returns several tensors, one a head, instead of one.",
    look="What does `chunk` return?",
)
mistake(
    {"(n_heads, -1)": "(-1, 4)"},
    says="split_heads is right for heads of four features only.",
    look="Where in the body do you use `n_heads`?",
)
mistake(
    {_SPLIT: f"{_SPLIT}.flatten(0, 1)"},
    {_SPLIT: "torch.cat(x.chunk(n_heads, dim=-1))"},
    says="split_heads makes one axis of texts and heads.",
    look="How many axes has (B, H, T, D)?",
)


@alternative
def heads_by_slices(x, n_heads):
    width, rest = divmod(x.shape[-1], n_heads)
    if rest:
        raise ValueError(f"{x.shape[-1]} features cannot be dealt out to {n_heads} heads")
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=1)


alternative(
    {_SPLIT: "x.view(x.shape[0], x.shape[1], n_heads, -1).permute(0, 2, 1, 3)"},
    {_SPLIT: "torch.stack(x.chunk(n_heads, dim=2), dim=1).contiguous()"},
    {_SPLIT: "torch.einsum('bthd->bhtd', x.reshape(*x.shape[:2], n_heads, x.shape[2] // n_heads))"},
    {_SPLIT: "x.mT.reshape(len(x), n_heads, -1, x.shape[1]).mT"},
)

error(
    "RuntimeError: shape '[2, 3, 5, 5]' is invalid for input of size",
    "Usually the sizes of the four axes do not multiply to the numbers of x: D is C / H.",
)


mistake, alternative, error = entries("merge_heads")

_MERGE = "x.transpose(1, 2).flatten(-2)"

mistake(
    {_MERGE: "x.reshape(x.shape[0], x.shape[2], -1)"},
    says="merge_heads reshapes without a transpose: a token gets what other tokens found.",
    look="In (B, H, T, D), what is next to the last feature of token 0 in memory?",
    common=True,
)
mistake(
    {".flatten(-2)": ".view(x.shape[0], x.shape[2], -1)"},
    says="merge_heads takes a view of a transposed tensor, which has its numbers in another order.",
    look="What does `view` need that `reshape` does not?",
    common=True,
)
mistake(
    {".flatten(-2)": ""},
    says="merge_heads leaves four axes, (B, T, H, D).",
    look="How many axes has (B, T, C), and which two of yours become one?",
)
mistake(
    {_MERGE: "x.permute(0, 2, 3, 1).flatten(-2)"},
    says="merge_heads shuffles the heads into one another: their first features come first.",
    look="Should the features of head 0 stay together? Which axis varies fastest in your result?",
    common=True,
)
mistake(
    {_MERGE: "x.sum(1)"},
    {_MERGE: "x.mean(1)"},
    says="merge_heads adds the heads up instead of putting them side by side.",
    look="How many features should a token have: D, or H times D?",
)
mistake(
    {_MERGE: "x[:, 0]"},
    says="merge_heads returns the first head only.",
    look="What became of the other heads?",
)
mistake(
    {_MERGE: "torch.cat(x.unbind(1), dim=1)"},
    {_MERGE: "torch.cat(x.unbind(1))"},
    says="merge_heads joins the heads along another axis than that of the features.",
    look="Along which axis should `cat` join?",
)
mistake(
    {".flatten(-2)": ".reshape(x.shape[0], x.shape[1], -1)"},
    says="merge_heads takes the number of heads for the number of tokens.",
    look="Which axis of x is T?",
)
mistake(
    {".flatten(-2)": ".flatten(1)"},
    {".flatten(-2)": ".flatten(0, 1)"},
    says="merge_heads joins other axes than those of heads and their features.",
    look="Which axes are left, and which two of yours become one?",
)
mistake(
    {_MERGE: "x.flip(1).transpose(1, 2).flatten(-2)"},
    says="merge_heads puts the heads in the reverse order.",
    look="Which features did head 0 get?",
)


@alternative
def heads_joined_one_by_one(x):
    return torch.cat(x.unbind(1), dim=-1)


alternative(
    {_MERGE: "x.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)"},
    {_MERGE: "x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], -1)"},
    {_MERGE: "x.mT.flatten(1, 2).mT"},
)

error(
    "TypeError: cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "`torch.cat` joins a list or tuple of tensors; `unbind` makes one of an axis.",
)


mistake, alternative, error = entries("causal_attention")

_SCALE = " / q.shape[-1] ** 0.5"
_MASKED = 'scores.masked_fill(seen == 0, float("-inf"))'
_SEEN = "torch.ones(q_len, k_len, device=q.device).tril(diagonal=k_len - q_len)"
_ADD_BIAS = "scores = scores + bias"
_AVERAGE = "return weights @ v"

mistake(
    {_MASKED: 'scores.masked_fill((seen == 0) & (q_len == k_len), float("-inf"))'},
    says="causal_attention masks only where Tq = Tk: in a later piece tokens see later ones.",
    look="Try 2 queries and 4 keys. Which keys may the first query see?",
)
mistake(
    {_SCALE: ""},
    says="causal_attention does not scale the scores.",
    look="By what are the products of queries and keys divided, and why?",
    common=True,
)
mistake(
    {_SCALE: " / (q.shape[1] * q.shape[-1]) ** 0.5"},
    says="causal_attention divides by √C, the root of the width of all heads together.",
    look="How many products does one score sum up, C or D?",
)
mistake(
    {_SCALE: " / q.shape[-1]"},
    says="causal_attention divides by D instead of its root.",
    look="How does the size of a sum of D random products grow with D?",
)
mistake(
    {_SCALE: " * q.shape[-1] ** 0.5"},
    says="causal_attention multiplies by the root of D instead of dividing.",
    look="Should wide heads have larger scores, or scores of the same size?",
)
mistake(
    *({_SCALE: f" / {width} ** 0.5"} for width in (4, 8, 16, 32, 64, 128)),
    says="causal_attention divides by the root of a fixed number, whatever the width of a head is.",
    look="Which number in your code is true for some heads only?",
)
mistake(
    {_SCALE: " / k_len ** 0.5"},
    {_SCALE: " / q_len ** 0.5"},
    says="causal_attention divides by the root of the number of tokens.",
    look="Which axis of q is D?",
)
mistake(
    {"diagonal=k_len - q_len": ""},
    {"diagonal=k_len - q_len": "diagonal=0 if bias is None else k_len - q_len"},
    says="causal_attention puts query i at position i, even when more keys came before: its mask "
    "begins in the wrong corner.",
    look="At which position is the only query of a step, if five tokens are in the cache?",
    common=True,
)
mistake(
    {"diagonal=k_len - q_len": "diagonal=k_len - 1 - q_len"},
    says="causal_attention hides from each query its own key.",
    look="Does a token see itself? What is left for the very first one?",
)
mistake(
    {"diagonal=k_len - q_len": "diagonal=k_len + 1 - q_len"},
    says="causal_attention shows each query the next key, too.",
    look="Which diagonal of the mask is the last that may be seen?",
)
mistake(
    {".tril(": ".triu("},
    says="causal_attention shows the later keys and hides the earlier ones.",
    look="In a table with a row for each query, where do the keys lie that may be seen?",
)
mistake(
    {"seen == 0": "seen == 1"},
    says="causal_attention fills what may be seen and leaves what may not.",
    look="Which entries does masked_fill fill, those with True or those with False?",
)
mistake(
    {f"{_MASKED}.softmax(dim=-1)": "scores.softmax(dim=-1) * seen"},
    says="causal_attention masks after the softmax, so that the shares no longer sum to 1.",
    look="What do the shares of the first query sum to?",
    common=True,
)
mistake(
    {_MASKED: "(scores * seen)"},
    says="causal_attention gives later keys the score 0, which is no small share.",
    look="What is e ** 0?",
)
mistake(
    *({'float("-inf")': number} for number in ("-1.0", "-10.0", "-100.0")),
    {_MASKED: "(scores - 10.0 * (1 - seen))"},
    says="causal_attention makes later keys unlikely, not impossible.",
    look="What share is left for a later key?",
)
mistake(
    {".softmax(dim=-1)": ".softmax(dim=-2)"},
    {".softmax(dim=-1)": ".softmax(dim=1)"},
    says="causal_attention takes the softmax over another axis than that of the keys.",
    look="Which shares should sum to 1: those of one query, or those of one key?",
    common=True,
)
mistake(
    {
        ".softmax(dim=-1)": ".exp()",
        _AVERAGE: "weights = weights / weights.sum(dim=-1, keepdim=True)\n    " + _AVERAGE,
    },
    says="causal_attention takes powers of e as they are, which overflow for large scores.",
    look="What is e ** 1000, and what is it divided by itself?",
)
mistake(
    {f"{_MASKED}.softmax(dim=-1)": f"F.dropout({_MASKED}.softmax(dim=-1), 0.1)"},
    says="causal_attention drops some of the shares at random.",
    look="Does a second call give the same?",
)
mistake(
    {_ADD_BIAS: "scores = scores + bias / q.shape[-1] ** 0.5"},
    {_ADD_BIAS: "scores = scores + bias / q.shape[-1]"},
    says="causal_attention divides the bias as well as the products.",
    look="Which comes first, the division or the bias?",
)
mistake(
    {_ADD_BIAS: "scores = scores + bias * (q_len > 1)"},
    says="causal_attention leaves the bias out where there is a single query.",
    look="Does the last token have a bias if it is the only one that is read?",
)
mistake(
    {_ADD_BIAS: "scores = scores * bias"},
    says="causal_attention multiplies the scores by the bias.",
    look="What should a bias of 0 change?",
)
mistake(
    {
        _ADD_BIAS: "pass",
        _AVERAGE: "if bias is not None:\n        weights = weights + bias\n    " + _AVERAGE,
    },
    says="causal_attention adds the bias to the shares, after the softmax.",
    look="Do the shares still sum to 1?",
)
mistake(
    {_ADD_BIAS: "scores = scores + bias.detach()"},
    says="causal_attention cuts the bias off from its gradient.",
    look="How should a learned bias learn?",
)
mistake(
    {"seen == 0": "(seen == 0) & (bias is None)"},
    says="causal_attention masks only where no bias is given.",
    look="Does a bias hide later keys?",
)
mistake(
    {_AVERAGE: "return weights @ k"},
    says="causal_attention averages the keys instead of the values.",
    look="What are keys for, and what are values for?",
)
mistake(
    {"k.transpose(-2, -1)": "v.transpose(-2, -1)"},
    says="causal_attention compares the queries with the values instead of the keys.",
    look="What are keys for, and what are values for?",
)
mistake(
    {"k.transpose(-2, -1)": "k.reshape(*k.shape[:2], k.shape[3], k.shape[2])"},
    says="causal_attention reshapes the keys where their last two axes should be swapped.",
    look="Do `view` and `reshape` swap axes?",
)
mistake(
    {"scores = q @": "scores = q.detach() @"},
    {"k.transpose(-2, -1)": "k.detach().transpose(-2, -1)"},
    {"weights @ v": "weights.detach() @ v"},
    says="causal_attention cuts queries or keys off from their gradient.",
    look="What do detach(), .data and no_grad do to a gradient?",
)
mistake(
    {"q_len > k_len": "q_len != k_len"},
    says="causal_attention refuses what is right: its check asks for something else.",
    look="How many keys may there be for three queries?",
)

_kept_by_queries, _kept_by_keys = {}, {}

for _by, _masks in ("q_len", "_kept_by_queries"), ("k_len", "_kept_by_keys"):
    mistake(
        {_SEEN: f"{_masks}.setdefault({_by}, {_SEEN})"},
        says="causal_attention keeps its mask by one length, and forgets that the other matters, "
        "too.",
        look="Call it with two numbers of keys, one after the other. What is the key of your mask?",
        forget=globals()[_masks].clear,
    )
mistake(
    {_SCALE: " / q.shape[1] ** 0.5"},
    says="causal_attention divides by the root of the number of heads.",
    look="Which axis of q is D?",
)
mistake(
    *(
        {"seen == 0": f"(seen == 0) | (torch.ones_like(seen).tril(k_len - q_len - {n}) == 1)"}
        for n in (2, 3, 4, 8, 64, 256, 512)
    ),
    {
        "seen == 0": "(seen - torch.ones_like(seen).tril(k_len - q_len - 8).index_fill(1, "
        "torch.arange(min(9, k_len)), 0.0)) < 1"
    },
    says="causal_attention hides some keys that are far back: not all earlier ones are seen.",
    look="Which keys may the last of 300 queries see?",
)
mistake(
    {_MASKED: "scores"},
    says="causal_attention has no mask: queries see later keys.",
    look="Which keys may the first query see?",
)
mistake(
    {_MASKED: "(scores + seen)"},
    {_MASKED: "(scores + (seen == 0))"},
    {_MASKED: "(scores + (seen - 1))"},
    says="causal_attention adds a mask of ones and zeros to the scores, which hides nothing.",
    look="What must a score become, so that its share is 0?",
)
mistake(
    {
        f"{_MASKED}.softmax(dim=-1)": f"F.pad({_MASKED}, (0, 1)).softmax(dim=-1)",
        _AVERAGE: "return weights[..., :-1] @ v",
    },
    says="causal_attention keeps a share for no key at all: those of a query sum to less than 1.",
    look="What do the shares of one query sum to?",
)
mistake(
    {_SCALE: "", "scores = q @": "q /= q.shape[-1] ** 0.5\n    scores = q @"},
    says="causal_attention writes into a tensor of its caller.",
    look="What does `q /= 2` change that `q = q / 2` does not?",
)
mistake(
    {_ADD_BIAS: "scores = scores.masked_fill(bias == 0, -1e9)"},
    {_ADD_BIAS: "scores = scores.masked_fill(bias != 0, -1e9)"},
    says="causal_attention takes the bias for a mask.",
    look="What should a bias of 0.5 do to a score?",
)
mistake(
    {_SCALE: "", ".softmax(dim=-1)": ".softmax(dim=-1) / q.shape[-1] ** 0.5"},
    says="causal_attention divides by the root of D after the softmax.",
    look="What do the shares of one query sum to?",
)
mistake(
    {_AVERAGE: "return weights @ v, weights"},
    says="causal_attention returns the shares as well.",
    look="What does the docstring say under Returns?",
)
mistake(
    {_AVERAGE: "return weights"},
    says="causal_attention returns the shares instead of the average of the values.",
    look="What are the shares for?",
)
mistake(
    {".softmax(dim=-1)": ""},
    {".softmax(dim=-1)": ".sigmoid()"},
    {".softmax(dim=-1)": ".relu()"},
    {_MASKED: "(scores * seen)", ".softmax(dim=-1)": ""},
    says="causal_attention takes no softmax of the scores.",
    look="What should the shares of one query sum to?",
)
mistake(
    {".softmax(dim=-1)": ".softmax(dim=-1).softmax(dim=-1)"},
    {_MASKED: "(scores.softmax(dim=-1)" + _MASKED[6:] + ")"},
    says="causal_attention takes the softmax twice.",
    look="What goes into the softmax, scores or shares?",
)
mistake(
    {"scores = q @": "q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)\n    scores = q @"},
    says="causal_attention scales queries and keys to length 1.",
    look="Which score has a query that is twice as long?",
)
mistake(
    *({_MASKED: f"({n} * torch.tanh(scores / {n})){_MASKED[6:]}"} for n in (5, 20, 30, 50)),
    says="causal_attention sets a limit to its scores.",
    look="What is done to the scores between the products and the softmax?",
)
mistake(
    {_AVERAGE: "return q + weights @ v"},
    says="causal_attention adds the queries to the averages.",
    look="What should come out if all values are 0?",
)
mistake(
    {_AVERAGE: "return (weights @ v)[:1].expand_as(q)"},
    {_AVERAGE: "return (weights @ v)[:, :1].expand_as(q)"},
    {_AVERAGE: "return weights.mean(1, keepdim=True) @ v"},
    says="causal_attention does not compute shares for each text and each head by itself.",
    look="Which of its axes do the shares share?",
)


@alternative
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


@alternative
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


alternative(
    {_SCALE: "", "scores = q @": "scores = (q / math.sqrt(q.shape[-1])) @"},
    {'float("-inf")': "-1e9"},
    {_MASKED: "(scores + (1 - seen) * -1e30)"},
    {_MASKED: "(scores + seen.log())"},
    {_MASKED: "torch.where(seen.bool(), scores, torch.finfo(scores.dtype).min)"},
    {
        f"weights = {_MASKED}.softmax(dim=-1)": f"scores = {_MASKED}\n"
        "    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()",
    },
    {_MASKED: f"(scores if q_len == 1 else {_MASKED})"},
    {".softmax(dim=-1)\n": ".double().softmax(dim=-1).to(v.dtype)\n"},
)

error(
    "RuntimeError: The size of tensor a (5) must match the size of tensor b (4) at non-singleton",
    "Usually a mask (T, T) meets scores (Tq, Tk): after a cache, keys outnumber queries.",
)


mistake, alternative, error = entries("CausalSelfAttention")

_TURN = "q, k = self.rotary(q, offset), self.rotary(k, offset)"
_OFFSET = 'offset = cache["k"].shape[-2] if cache else 0'
_JOIN = 'k, v = torch.cat((cache["k"], k), dim=-2), torch.cat((cache["v"], v), dim=-2)'
_STORE = 'cache["k"], cache["v"] = k, v'
_SPLIT_ONE = "split_heads(project(x), self.n_heads)"
_ATTEND = "causal_attention(q, k, v)"
_OUT = f"self.out_proj(merge_heads({_ATTEND}))"
_ROTARY = "RotaryEmbedding(max_seq_len, n_embd // n_heads)"
_ALL_PROJECTIONS = "(self.q_proj, self.k_proj, self.v_proj)"
_Q_LINE = "self.q_proj = nn.Linear(n_embd, n_embd, bias=False)"
_OUT_LINE = "out_proj = nn.Linear(n_embd, n_embd, "

mistake(
    {_TURN: "q, k, v = (self.rotary(one, offset) for one in (q, k, v))"},
    says="CausalSelfAttention turns the values as well.",
    look="What do the angles of RoPE have to meet in? Do values meet anything?",
    common=True,
)
mistake(
    {
        _SPLIT_ONE: "project(x)",
        _TURN: f"{_TURN}\n        q, k, v = (split_heads(one, self.n_heads) for one in (q, k, v))",
        _ROTARY: "RotaryEmbedding(max_seq_len, n_embd)",
    },
    {
        _SPLIT_ONE: "project(x)",
        _TURN: "q, k, v = (split_heads(self.rotary(one, offset), self.n_heads) "
        "for one in (q, k, v))",
        _ROTARY: "RotaryEmbedding(max_seq_len, n_embd)",
    },
    says="CausalSelfAttention turns queries and keys before they are split, at width C.",
    look="How wide is what RoPE turns: a token, or a head of it?",
)
mistake(
    {_TURN: "q, k = self.rotary(q), self.rotary(k)"},
    says="CausalSelfAttention turns every piece as if it began at position 0.",
    look="At which position does the second piece begin? Who is told?",
    common=True,
)
mistake(
    {_TURN: "q, k = self.rotary(q), self.rotary(k, offset)"},
    {_TURN: "q, k = self.rotary(q, offset), self.rotary(k)"},
    says="CausalSelfAttention turns only one of queries and keys from where the piece begins.",
    look="Which positions do the queries of a second piece have, and which do its keys?",
)
mistake(
    {_JOIN: _JOIN.replace('cache["k"]', 'self.rotary(cache["k"])')},
    says="CausalSelfAttention turns the keys in the cache again with every piece.",
    look="Are the keys in your cache turned already? What happens to them in the next call?",
)
mistake(
    {
        _TURN: f"raw, k_before = k, cache['k'] if cache else k[:, :, :0]\n        {_TURN}",
        _STORE: 'cache["k"], cache["v"] = torch.cat((k_before, raw), dim=-2), v',
    },
    says="CausalSelfAttention keeps keys as they were before the turn and uses them so later.",
    look="Are the keys that come out of your cache turned?",
)
mistake(
    {_TURN: "pass"},
    {
        _SPLIT_ONE: "project(x).unflatten(-1, (self.n_heads, -1))",
        _TURN: f"{_TURN}\n        q, k, v = (one.transpose(1, 2) for one in (q, k, v))",
        _ROTARY: "RotaryEmbedding(max_seq_len + n_heads, n_embd // n_heads)",
    },
    says="CausalSelfAttention does not turn queries and keys by their position: it sees no order.",
    look="Where do positions come in? Which axis does RoPE take for them?",
)
mistake(
    {_TURN: "q = self.rotary(q, offset)"},
    {_TURN: "k = self.rotary(k, offset)"},
    says="CausalSelfAttention turns only one of queries and keys.",
    look="A score depends on the difference of two angles. Which two?",
)
mistake(
    {"if cache is not None:": "if cache:"},
    {_JOIN: "pass"},
    says="CausalSelfAttention lets no piece see those before it: the cache is not filled or not "
    "joined.",
    look="What is the truth of an empty dict? How many keys does the second piece meet?",
    common=True,
)
mistake(
    {
        _STORE: "pass",
        "        if cache is not None:\n": "        if cache is not None:\n"
        '            new = {"k": k, "v": v}\n',
        "  # keys are kept turned: their positions never change": "\n            cache.update(new)",
    },
    {
        'cache["k"].shape[-2] if': 'cache["seen"] if',
        _STORE: "pass",
        "        if cache is not None:\n": "        if cache is not None:\n"
        '            new = {"k": k, "v": v, "seen": offset + x.shape[1]}\n',
        "  # keys are kept turned: their positions never change": "\n            cache.update(new)",
    },
    says="CausalSelfAttention keeps the last piece only, and forgets what came before it.",
    look="After three pieces, how many keys should the cache hold?",
)
mistake(
    {_STORE: "cache.setdefault('k', k), cache.setdefault('v', v)"},
    says="CausalSelfAttention keeps the first piece only.",
    look="What should the second call add to the cache?",
)
mistake(
    {_JOIN: 'k, v = torch.cat((k, cache["k"]), dim=-2), torch.cat((v, cache["v"]), dim=-2)'},
    {'torch.cat((cache["k"], k)': 'torch.cat((k, cache["k"])'},
    {'torch.cat((cache["v"], v)': 'torch.cat((v, cache["v"])'},
    says="CausalSelfAttention puts new keys and values before those of the cache.",
    look="Which keys should come first, for the causal mask to hide the right ones?",
)
mistake(
    {_JOIN: 'k = torch.cat((cache["k"], k), dim=-2)'},
    {_JOIN: 'v = torch.cat((cache["v"], v), dim=-2)'},
    says="CausalSelfAttention joins only one of keys and values to those in the cache.",
    look="How many keys and how many values does the second piece meet?",
)
mistake(
    *({_JOIN: _JOIN.replace("dim=-2", f"dim={axis}")} for axis in (0, 1, 3)),
    says="CausalSelfAttention joins new keys and values along another axis than the tokens.",
    look="Which axis of (B, H, T, D) grows from piece to piece?",
)
mistake(
    {'cache["k"].shape[-2] if cache else 0': 'cache["k"].shape[0] if cache else 0'},
    {'cache["k"].shape[-2] if cache else 0': 'cache["k"].shape[1] if cache else 0'},
    {'cache["k"].shape[-2] if cache else 0': "len(cache) if cache else 0"},
    {'cache["k"].shape[-2] if cache else 0': "1 if cache else 0"},
    {
        _OFFSET: 'offset = cache["n"] if cache else 0',
        _STORE: f'{_STORE}\n            cache["n"] = x.shape[1]',
    },
    says="CausalSelfAttention counts something else than the tokens that its cache holds.",
    look="Which axis of the cached keys counts tokens?",
)
mistake(
    *(
        {
            _OFFSET: 'offset = cache["n"] if cache else 0',
            _STORE: f'{_STORE}\n            cache["n"] = offset + x.shape[1] * {times}',
            _ROTARY: "RotaryEmbedding(2 * max_seq_len, n_embd // n_heads)",
        }
        for times in ("2", "(1 if offset else 2)")
    ),
    says="CausalSelfAttention counts the tokens of a piece twice: later pieces begin too far on.",
    look="After a piece of 6 tokens, what is the position of the next one?",
)
mistake(
    *(
        {
            _TURN: f"end = offset + x.shape[1] * ({counted})\n"
            "        q, k = self.rotary(q, end), self.rotary(k, end)"
        }
        for counted in ("cache is not None", "offset > 0")
    ),
    says="CausalSelfAttention counts a piece before it is turned: it begins where it ends.",
    look="Is the number of tokens read so far counted up before the turn, or after?",
)
mistake(
    {
        _OFFSET: 'offset = cache["calls"] if cache else 0',
        _STORE: f'{_STORE}\n            cache["calls"] = offset + 1',
    },
    says="CausalSelfAttention counts the pieces read before, not their tokens.",
    look="By how much should the position grow with a piece of three tokens?",
)
mistake(
    {
        'cache["k"].shape[-2] if cache else 0': 'cache["k"].shape[-2] - 1 if cache else 0',
        "if offset:": "if cache:",
    },
    says="CausalSelfAttention lets a piece begin at the last position of the one before.",
    look="Five tokens are in the cache. Which positions do they have, and which is the next?",
)
mistake(
    *(
        {_OFFSET: f'offset = cache["k"].shape[-2] % {n} if cache else 0', "if offset:": "if cache:"}
        for n in (128, 256, 512, 1024)
    ),
    says="CausalSelfAttention counts its positions from 0 again after many tokens.",
    look="At which position is the next token if a thousand were read?",
)
mistake(
    {_OFFSET: 'offset = cache["k"].shape[-2] if cache and x.shape[1] == 1 else 0'},
    says="CausalSelfAttention goes on from its cache only if a single token comes.",
    look="May a second piece hold three tokens?",
)
mistake(
    {
        f"        {_OFFSET}": "        if cache is not None:\n"
        f"            cache = self.__dict__.setdefault('kept', {{}})\n        {_OFFSET}",
    },
    {
        _OFFSET: 'offset = cache["n"] if cache else 0',
        _JOIN: "k, v = (torch.cat(both, -2) for both in zip(self.kept, (k, v)))",
        "if offset:": "if offset:\n"
        "                self.kept = [one[:, :, :offset] for one in self.kept]",
        _STORE: "self.kept, cache['n'] = (k, v), k.shape[-2]",
    },
    says="CausalSelfAttention keeps keys and values in the module, not in the cache it is given.",
    look="What happens when two texts are read by turns?",
)

_shared = {}

mistake(
    {"cache: dict | None = None": "cache: dict | None = _shared"},
    says="CausalSelfAttention has a dict for default, which is made once and kept for all calls.",
    look="When is the value behind `=` in a signature made?",
    forget=_shared.clear,
)
mistake(
    {_OUT: f"merge_heads({_ATTEND})"},
    says="CausalSelfAttention leaves out the output projection.",
    look="Where in forward do you use `out_proj`?",
)
mistake(
    {_OUT: f"x + {_OUT}"},
    says="CausalSelfAttention adds x to its result.",
    look="Whose task is the sum with x?",
)
mistake(
    {
        _Q_LINE: "self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)",
        "        self.k_proj = nn.Linear(n_embd, n_embd, bias=False)\n": "",
        "        self.v_proj = nn.Linear(n_embd, n_embd, bias=False)\n": "",
        f"{_SPLIT_ONE}\n            for project in {_ALL_PROJECTIONS}": "split_heads(one, "
        "self.n_heads)\n            for one in self.qkv(x).chunk(3, dim=-1)",
    },
    says="CausalSelfAttention makes queries, keys and values by one matrix instead of three.",
    look="Which four parameters does the docstring name?",
)
mistake(
    {_SPLIT_ONE: "project(x)[:, None]", _ROTARY: "RotaryEmbedding(max_seq_len, n_embd)"},
    says="CausalSelfAttention has a single head, whatever `n_heads` is.",
    look="Where does a text get its heads?",
)
mistake(
    {_OUT: f"self.out_proj({_ATTEND}.reshape(x.shape))"},
    says="CausalSelfAttention merges its heads by a reshape alone, which mixes tokens.",
    look="Which of your functions makes (B, T, C) of (B, H, T, D)?",
)
mistake(
    {_ALL_PROJECTIONS: "(self.q_proj, self.q_proj, self.v_proj)"},
    {_ALL_PROJECTIONS: "(self.q_proj, self.k_proj, self.k_proj)"},
    {_ALL_PROJECTIONS: "(self.q_proj, self.v_proj, self.v_proj)"},
    {_ALL_PROJECTIONS: "(self.k_proj, self.q_proj, self.v_proj)"},
    {_ALL_PROJECTIONS: "(self.q_proj, self.v_proj, self.k_proj)"},
    says="CausalSelfAttention takes one projection for another.",
    look="Which projection makes the queries, which the keys, which the values?",
)
mistake(
    {_ATTEND: "F.scaled_dot_product_attention(q, k, v, is_causal=False)"},
    says="CausalSelfAttention has no mask: tokens see later ones.",
    look="Which tokens does the first one see?",
)
mistake(
    {_ATTEND: "F.scaled_dot_product_attention(q, k, v, is_causal=True)"},
    {_ATTEND: "F.scaled_dot_product_attention(q, k, v, is_causal=x.shape[1] > 1)"},
    says="CausalSelfAttention masks as if every piece began at position 0: once a cache is there, "
    "the mask begins in the wrong corner.",
    look="Where does PyTorch put query 0 if there are more keys than queries?",
    common=True,
)
mistake(
    {_ATTEND: "F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)"},
    {_ATTEND: "F.scaled_dot_product_attention(q, k, v, is_causal=self.training)"},
    says="CausalSelfAttention does not mask in evaluation mode with a cache.",
    look="May the second token of a piece be seen by the first one?",
)
mistake(
    {_ATTEND: "F.scaled_dot_product_attention(q, k, v, is_causal=offset == 0)"},
    says="CausalSelfAttention masks the first piece only: tokens of later ones see one another.",
    look="In a second piece of three tokens, what may the first of them see?",
)
mistake(
    {_ATTEND: "causal_attention(q / self.n_heads**0.5, k, v)"},
    says="CausalSelfAttention divides its scores by √C in all.",
    look="How many products does one score sum up, C or D?",
)
mistake(
    {_ATTEND: "causal_attention(q / q.shape[-1] ** 0.5, k, v)"},
    says="CausalSelfAttention divides by D instead of its root.",
    look="What does causal_attention do to the scores already?",
)
mistake(
    *(
        {_ROTARY: f"RotaryEmbedding(max_seq_len, n_embd // n_heads, {base})"}
        for base in (100.0, 1000.0, 100_000.0, 500_000.0)
    ),
    says="CausalSelfAttention turns with another base than 10000.",
    look="Which base does RotaryEmbedding take if none is given?",
)
mistake(
    {_TURN: f"{_TURN}\n        k, v = k.detach(), v.detach()"},
    says="CausalSelfAttention cuts keys or values off from their gradient.",
    look="What do detach(), .data and no_grad do to a gradient?",
)
mistake(
    {_OUT: f"F.dropout({_OUT}, 0.1)"},
    says="CausalSelfAttention drops some of its result at random.",
    look="Does a second call give the same?",
)
mistake(
    *(
        {
            _OFFSET: 'offset = cache["n"] if cache else 0',
            _STORE: f"window = max({window}, x.shape[1])\n"
            "            k, v = k[:, :, -window:], v[:, :, -window:]\n"
            "            cache.update(k=k, v=v, n=offset + x.shape[1])",
        }
        for window in ("self.rotary.max_seq_len // 2", "4", "8", "64", "128", "256")
    ),
    {
        _OFFSET: 'offset = cache["n"] if cache else 0',
        _STORE: "cache.update(k=k[:, :, -1:], v=v[:, :, -1:], n=offset + x.shape[1])",
    },
    says="CausalSelfAttention forgets the oldest keys of its cache.",
    look="How many keys should be in the cache after the whole text?",
)


def _hidden(q, k, n):
    """Return a bias that hides all but the last n keys from each query."""
    far = torch.ones(q.shape[2], k.shape[2]).tril(k.shape[2] - q.shape[2] - n)
    return far.masked_fill(far == 1, -torch.inf)


mistake(
    *(
        {_ATTEND: f"causal_attention(q, k, v, _hidden(q, k, {n}))"}
        for n in (2, 3, 4, 16, 64, 128, 256, 512)
    ),
    says="CausalSelfAttention hides some tokens that are far back: not all earlier ones are seen.",
    look="Which tokens may the last of 300 see?",
)
mistake(
    {"return self.out_proj": "return cache, self.out_proj"},
    {_OUT: f"({_OUT}, cache)"},
    says="CausalSelfAttention returns its cache as well as the result.",
    look="Who keeps the cache already? What does the docstring say that `forward` gives?",
)
mistake(
    {_STORE: 'cache["k"], cache["v"] = v, k'},
    says="CausalSelfAttention takes keys for values, and values for keys, in its cache.",
    look="Follow a key from one call to the next. What is it called when it comes back?",
)
mistake(
    {
        _TURN: f"{_TURN}\n"
        "        if cache is not None:\n"
        "            n = self.rotary.max_seq_len - x.shape[1]\n"
        "            k = split_heads(self.k_proj(x), self.n_heads)\n"
        "            k = self.rotary(k, min(offset + x.shape[1], n))"
    },
    says="CausalSelfAttention turns keys as if their piece began where it ends.",
    look="Is the number of tokens read so far counted up before the keys are turned, or after?",
)
mistake(
    {
        _TURN: "q, k = (self.rotary(torch.cat((one[..., 0::2], one[..., 1::2]), dim=-1), offset) "
        "for one in (q, k))"
    },
    says="CausalSelfAttention turns neighboring features together, not those of two halves.",
    look="Which feature is the partner of feature 0 in lesson 5?",
)
mistake(
    {_TURN: f"q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)\n        {_TURN}"},
    says="CausalSelfAttention scales queries and keys to length 1.",
    look="Which steps are between the projections and the scores?",
)
mistake(
    *(
        {"        q, k, v = (\n": f"        x = x[:, -{n}:]\n        q, k, v = (\n"}
        for n in (64, 128)
    ),
    *(
        {"        q, k, v = (\n": f"        x = x[:, :{n}]\n        q, k, v = (\n"}
        for n in (64, 128)
    ),
    says="CausalSelfAttention cuts a long text.",
    look="How many tokens come out if 300 go in?",
)
mistake(
    {"if cache is not None:": "if cache is not None and x.shape[1] > 1:"},
    {"if cache is not None:": "if cache is not None and (x.shape[1] == 1 or not cache):"},
    says="CausalSelfAttention uses its cache for pieces of some lengths only.",
    look="Which pieces go past the cache?",
)
mistake(
    {'cache["k"].shape[-2] if cache else 0': 'cache["k"].shape[-2] + 1 if cache else 0'},
    says="CausalSelfAttention leaves out a position between two pieces.",
    look="Five tokens are in the cache. Which positions do they have, and which is the next?",
)


@alternative
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


@alternative
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


@alternative
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


alternative(
    {
        _OFFSET: "before = cache.get('before', []) if cache is not None else []\n"
        "        offset = sum(one.shape[-2] for one, _ in before)",
        "if offset:": "if True:",
        _JOIN: "before = cache['before'] = [*before, (k, v)]",
        _STORE: "k, v = (torch.cat(parts, dim=-2) for parts in zip(*before, strict=True))",
    },
    {_STORE: "cache.update(k=k.detach(), v=v.detach())"},
)

error(
    "ValueError: x must have 12 features (head_dim); got 4",
    "RotaryEmbedding was made for another width than that of what it turns, which is one head.",
)
error(
    "ValueError: offset + T must be at most 7 (max_seq_len); got 5 + 3",
    "Usually the offset counts more than the tokens read before: the piece too, or another text.",
)
error(
    "KeyError: 'k'",
    "Usually the cache is read before the first call has filled it: an empty dict has no keys.",
)


mistake, alternative, error = entries("Block")

_ATTENTION = "x = x + self.attention(self.norm1(x), cache)"
_MLP = "return x + self.mlp(self.norm2(x))"
_GELU = "nn.GELU()"
_UP = "nn.Linear(n_embd, 4 * n_embd, bias=False)"
_DOWN = "nn.Linear(4 * n_embd, n_embd, bias=False)"

mistake(
    {
        _ATTENTION: "x = self.norm1(x + self.attention(x, cache))",
        _MLP: "return self.norm2(x + self.mlp(x))",
    },
    says="Block norms after each sum (post-norm) instead of before each part.",
    look="What goes through the norm: the input of a part, or the sum with its result?",
    common=True,
)
mistake(
    {
        _ATTENTION: "x = x + self.norm1(self.attention(x, cache))",
        _MLP: "return x + self.norm2(self.mlp(x))",
    },
    {_ATTENTION: "x = x + self.norm1(self.attention(x, cache))"},
    {_MLP: "return x + self.norm2(self.mlp(x))"},
    says="Block norms what a part gives instead of what it gets.",
    look="Which comes first, the norm or the part?",
)
mistake(
    {_ATTENTION: "x = self.attention(self.norm1(x), cache)"},
    {_MLP: "return self.mlp(self.norm2(x))"},
    {
        _ATTENTION: "x = self.attention(self.norm1(x), cache)",
        _MLP: "return self.mlp(self.norm2(x))",
    },
    says="Block forgets a residual: a part replaces what came in instead of adding to it.",
    look="What remains of x if attention and mlp give 0?",
    common=True,
)
mistake(
    {_ATTENTION: "x = self.norm1(x)\n        x = x + self.attention(x, cache)"},
    {_MLP: "x = self.norm2(x)\n        return x + self.mlp(x)"},
    {
        _ATTENTION: "x = self.norm1(x)\n        x = x + self.attention(x, cache)",
        _MLP: "x = self.norm2(x)\n        return x + self.mlp(x)",
    },
    says="Block adds to the normed x instead of to x itself.",
    look="Which x is on the left of the plus sign?",
    common=True,
)
mistake(
    {"(self.norm1(x), cache)": "(self.norm1(x))"},
    says="Block does not hand the cache to its attention.",
    look="Who fills the cache?",
    common=True,
)
mistake(
    {"self.attention(self.norm1(x), cache)": "self.attention(x, cache)"},
    {"self.mlp(self.norm2(x))": "self.mlp(x)"},
    says="Block leaves out a norm.",
    look="How many norms does a block have, and where is each?",
)
mistake(
    {"self.mlp(self.norm2(x))": "self.mlp(self.norm1(x))"},
    {"self.attention(self.norm1(x), cache)": "self.attention(self.norm2(x), cache)"},
    says="Block uses one norm twice and the other not at all.",
    look="Which norm goes with which part?",
)
mistake(
    {"self.norm2 = nn.LayerNorm(n_embd)": "self.norm2 = self.norm1"},
    says="Block has one norm for both parts.",
    look="How many numbers do two norms have?",
)
mistake(
    {
        _ATTENTION: "attended = self.attention(self.norm1(x), cache)",
        _MLP: "return x + attended + self.mlp(self.norm2(x))",
    },
    {
        _ATTENTION: "h = self.norm1(x)",
        _MLP: "return x + self.attention(h, cache) + self.mlp(h)",
    },
    says="Block gives attention and mlp the same x, side by side instead of one after the other.",
    look="Does the mlp see what attention has found?",
)
mistake(
    {
        _ATTENTION: "x = x + self.mlp(self.norm2(x))",
        _MLP: "return x + self.attention(self.norm1(x), cache)",
    },
    says="Block has the mlp first and attention second.",
    look="In which order are the two parts in the formula?",
)
mistake(
    {
        _MLP: "up = self.mlp[0](self.norm2(x))\n"
        "        return x + self.mlp[2](up * torch.sigmoid(1.702 * up))"
    },
    says="Block takes the approximation of GELU by a sigmoid.",
    look="Which function is between the layers, and which should be?",
)
mistake(
    {_GELU: "nn.ReLU()"},
    {_GELU: "nn.SiLU()"},
    {_GELU: "nn.Identity()"},
    {_GELU: "nn.Tanh()"},
    says="Block has something else than GELU between the two layers of its mlp.",
    look="What is the output of your mlp for a very negative input, and for one of -1?",
)
mistake(
    {f"{_GELU},\n": "", f"{_DOWN},": f"{_DOWN},\n            {_GELU},"},
    {f"{_DOWN},": f"{_DOWN},\n            {_GELU},"},
    says="Block has a GELU behind the second layer of the mlp.",
    look="What comes between two linear layers, so that they are not one?",
)
mistake(
    {_UP: "nn.Linear(n_embd, n_embd, bias=False)", _DOWN: "nn.Linear(n_embd, n_embd, bias=False)"},
    {
        _UP: "nn.Linear(n_embd, 2 * n_embd, bias=False)",
        _DOWN: "nn.Linear(2 * n_embd, n_embd, bias=False)",
    },
    says="Block has an mlp of another width than 4 C.",
    look="How wide is the mlp between its two layers?",
)
mistake(
    *(
        {f"self.{norm} = nn.LayerNorm(n_embd)": f"self.{norm} = nn.LayerNorm(n_embd, {option})"}
        for norm, option in (
            ("norm1", "elementwise_affine=False"),
            ("norm1", "bias=False"),
            ("norm2", "bias=False"),
        )
    ),
    {
        f"self.{norm} = nn.LayerNorm(n_embd)": f"self.{norm} = nn.RMSNorm(n_embd)"
        for norm in ("norm1", "norm2")
    },
    says="Block has a norm without its scale or shift.",
    look="Which parameters does nn.LayerNorm(n_embd) have?",
)
mistake(
    {f"{_DOWN},": f"{_DOWN},\n            nn.Dropout(0.1),"},
    says="Block drops some of its result at random.",
    look="Does a second call give the same?",
)
mistake(
    {
        _ATTENTION: "y = x + self.attention(self.norm1(x), cache)",
        _MLP: "return x + self.mlp(self.norm2(y))",
    },
    says="Block loses what attention found, except for what the mlp makes of it.",
    look="To what is the result of the mlp added?",
)
mistake(
    {_ATTENTION: "x += self.attention(self.norm1(x), cache)"},
    {
        _ATTENTION: "x += self.attention(self.norm1(x), cache)",
        _MLP: "x += self.mlp(self.norm2(x))\n        return x",
    },
    says="Block writes into the tensor of its caller.",
    look="What does `x += y` change that `x = x + y` does not?",
)
mistake(
    {_ATTENTION: f"{_ATTENTION} + x"},
    {_MLP: f"{_MLP} + x"},
    says="Block adds what came in twice.",
    look="How often does x come into each sum?",
)
mistake(
    {_MLP: "return x + self.mlp(self.norm2(x)), cache"},
    says="Block returns the cache as well as the result.",
    look="Who keeps the cache already?",
)
mistake(
    {_MLP: "return x"},
    says="Block leaves out the mlp.",
    look="Where in forward do you use `mlp`?",
)
mistake(
    {_ATTENTION: "pass"},
    says="Block leaves out the attention.",
    look="Where in forward do you use `attention`?",
)
mistake(
    {"self.attention(self.norm1(x), cache)": "self.norm1(self.attention(self.norm1(x), cache))"},
    {"self.mlp(self.norm2(x))": "self.norm2(self.mlp(self.norm2(x)))"},
    {_MLP: "return self.norm2(x + self.mlp(self.norm2(x)))"},
    says="Block norms more than what its two parts get.",
    look="How often is each norm used?",
)
mistake(
    {
        "self.attention(self.norm1(x), cache)": "self.attention(self.norm2(x), cache)",
        "self.mlp(self.norm2(x))": "self.mlp(self.norm1(x))",
    },
    says="Block takes its first norm for the second, and the second for the first.",
    look="Which norm goes with which part?",
)
mistake(
    {"self.attention(self.norm1(x), cache)": "self.attention(self.norm1(x), cache).detach()"},
    {"self.attention(self.norm1(x), cache)": "self.attention(self.norm1(x).detach(), cache)"},
    {"self.mlp(self.norm2(x))": "self.mlp(self.norm2(x)).detach()"},
    {"self.mlp(self.norm2(x))": "self.mlp(self.norm2(x).detach())"},
    says="Block cuts a part off from its gradient.",
    look="What do detach(), .data and no_grad do to a gradient?",
)
mistake(
    {_ATTENTION: "x = x[:, -128:]\n        " + _ATTENTION},
    {_ATTENTION: "x = x[:, :128]\n        " + _ATTENTION},
    says="Block cuts a long text.",
    look="How many tokens come out if 300 go in?",
)
mistake(
    {_ATTENTION: _ATTENTION.replace("+ ", "+ 0.5 * "), _MLP: _MLP.replace("+ ", "+ 0.5 * ")},
    {_ATTENTION: _ATTENTION.replace("+ ", "+ 0.5 * ")},
    {_MLP: _MLP.replace("+ ", "+ 0.5 * ")},
    says="Block adds only a half of what a part gives.",
    look="What is done to the result of a part before it is added?",
)


class _Perceptron(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.up = nn.Parameter(torch.randn(4 * n_embd, n_embd) / n_embd**0.5)
        self.down = nn.Parameter(torch.randn(n_embd, 4 * n_embd) / n_embd**0.5)

    def forward(self, x):
        inner = torch.einsum("btc,fc->btf", x, self.up)
        return (inner * torch.special.ndtr(inner)) @ self.down.T


@alternative
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


alternative(
    {
        "self.mlp = nn.Sequential(\n            " + _UP: "self.mlp = nn.ModuleDict({\n"
        f"            'up': {_UP}",
        f"            {_GELU},\n": "",
        f"{_DOWN},\n        )": f"'down': {_DOWN},\n        }})",
        _MLP: "inner = F.gelu(self.mlp['up'](self.norm2(x)))\n"
        "        return self.mlp['down'](inner).add_(x)",
    },
    {_ATTENTION: "h = self.norm1(x)\n        x = x + self.attention(h, cache=cache)"},
    {_GELU: "nn.GELU(approximate='tanh')"},
    {
        f"self.{norm} = nn.LayerNorm(n_embd)": f"self.{norm} = nn.LayerNorm(n_embd, eps=1e-12)"
        for norm in ("norm1", "norm2")
    },
)


class _MlpInAnMlp(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.mlp = nn.ModuleList(
            nn.Linear(size, to, bias=False)
            for size, to in ((n_embd, 4 * n_embd), (4 * n_embd, n_embd))
        )

    def forward(self, x):
        return self.mlp[1](F.gelu(self.mlp[0](x)))


@alternative
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


error(
    "TypeError: CausalSelfAttention.forward() missing 1 required positional argument",
    "Usually the class is used where an object of it belongs, or forward lacks its default.",
)


mistake, alternative, error = entries("GPT")

_BLOCKS = "nn.ModuleList(Block(n_embd, n_heads, max_seq_len) for _ in range(n_layers))"
_LOGITS = "tied_logits(self.norm(x), self.tokens.weight)"
_ROWS = "x = self.tokens(ids)"
_NORM = "self.norm = nn.LayerNorm(n_embd)"
_CACHE = "caches[i] if caches else None"

_default: list[dict] = []
_ONE_DEFAULT = {
    "caches: list[dict] | None = None": "caches: list[dict] | None = _default",
    _ROWS: "if caches is not None:\n"
    f"            caches += [{{}} for _ in self.blocks[len(caches) :]]\n        {_ROWS}",
}

mistake(
    _ONE_DEFAULT,
    says="GPT has a list for default, which is made once and kept for all calls.",
    look="When is the value behind `=` in a signature made?",
    forget=_default.clear,
)
mistake(
    {
        _NORM: f"{_NORM}\n        self.head = nn.Linear(n_embd, vocab_size, bias=False)",
        _LOGITS: "self.head(self.norm(x))",
    },
    {
        _NORM: f"{_NORM}\n        self.head = nn.Parameter(self.tokens.weight.detach().clone())",
        _LOGITS: "self.norm(x) @ self.head.T",
    },
    says="GPT has a separate output table instead of using the token table twice.",
    look="How many tables (V, C) does it have, and how many should it have?",
    common=True,
)
mistake(
    {_LOGITS: "tied_logits(x, self.tokens.weight)"},
    says="GPT forgets the norm after the last block.",
    look="What happens between the last block and the table?",
    common=True,
)
mistake(
    {_CACHE: "caches[0] if caches else None"},
    says="GPT lets all its blocks share one cache.",
    look="How many dicts are in `caches`, and which block gets which?",
)
mistake(
    {_ROWS: f"caches = caches or [{{}}] * len(self.blocks)\n        {_ROWS}"},
    says="GPT makes one cache for all its blocks where none are given.",
    look="What does `[{}] * 3` hold?",
)
mistake(
    *(
        {_CACHE: f"caches[i] if caches and {some} else None"}
        for some in (
            "i == 0",
            "i < 2",
            "i < 4",
            "i < len(self.blocks) // 2",
            "i % 2 == 0",
            "i > 0",
            "i == len(self.blocks) - 1",
        )
    ),
    {_CACHE: "None"},
    says="GPT does not hand every block its cache.",
    look="Which blocks have attention?",
)
mistake(
    {_BLOCKS: "nn.ModuleList([Block(n_embd, n_heads, max_seq_len)] * n_layers)"},
    says="GPT uses one block several times instead of several blocks.",
    look="What does `[block] * 3` hold?",
    common=True,
)
mistake(
    {_BLOCKS: "[Block(n_embd, n_heads, max_seq_len) for _ in range(n_layers)]"},
    says="GPT keeps its blocks in a plain list, where PyTorch does not see them.",
    look="Are the parameters of the blocks among those of the model?",
    common=True,
)
mistake(
    {"TokenEmbedding(vocab_size, n_embd)": "nn.Embedding(vocab_size, n_embd)"},
    says="GPT starts the table of its tokens with a standard deviation other than 0.02.",
    look="Which class of lesson 1 should `tokens` be? What else sets its numbers?",
)
mistake(
    {_LOGITS: f"{_LOGITS}.softmax(dim=-1)"},
    {_LOGITS: f"{_LOGITS}.log_softmax(dim=-1)"},
    {_LOGITS: f"{_LOGITS}.sigmoid()"},
    says="GPT returns probabilities or their logarithms instead of logits.",
    look="What do `next_token_loss` and `generate` expect?",
)
mistake(
    {_LOGITS: f"{_LOGITS}[:, -1:]"},
    {_LOGITS: f"{_LOGITS}[:, -1]"},
    says="GPT returns the logits of the last position only.",
    look="About how many tokens can a text of T teach?",
)
mistake(
    {_LOGITS: f"{_LOGITS} / x.shape[-1] ** 0.5"},
    says="GPT scales its logits by √C.",
    look="What happens to the products with the table?",
)
mistake(
    {_LOGITS: "tied_logits(self.norm(x), self.tokens.weight.detach())"},
    {_ROWS: f"{_ROWS}.detach()"},
    says="GPT cuts one of the two uses of its table off from the gradient.",
    look="From where should the table get its gradient?",
)
mistake(
    {_ROWS: f"{_ROWS}\n        x = x * x.shape[-1] ** 0.5"},
    says="GPT multiplies the rows of its table by √C.",
    look="What comes in as x?",
)
mistake(
    {
        _NORM: f"{_NORM}\n        self.positions = nn.Embedding(max_seq_len, n_embd)",
        _ROWS: f"{_ROWS} + self.positions.weight[: ids.shape[1]]",
    },
    {_ROWS: f"{_ROWS} + torch.arange(ids.shape[1])[:, None]"},
    says="GPT adds positions to its rows, although RoPE is there.",
    look="How many tables does it have, and what tells it where a token is?",
)
mistake(
    {"x = block(x,": "x = x + block(x,"},
    says="GPT adds to each block what came in, as the block itself does.",
    look="Where are the residuals?",
)
mistake(
    {"x = block(x,": "last = block(x,"},
    says="GPT throws away what its blocks give.",
    look="Which x goes into the second block?",
)
mistake(
    {_ROWS: "rows = x = self.tokens(ids)", "x = block(x,": "x = block(rows,"},
    says="GPT gives every block the rows of the table, not what the block before it found.",
    look="Which x goes into the second block?",
)
mistake(
    {_ROWS: "x = self.norm(self.tokens(ids))", "self.norm(x)": "x"},
    {_ROWS: "x = self.norm(self.tokens(ids))"},
    {_ROWS: "x = F.rms_norm(self.tokens(ids), (self.tokens.weight.shape[1],))"},
    {_ROWS: "x = F.layer_norm(self.tokens(ids), (self.tokens.weight.shape[1],))"},
    says="GPT norms the rows before the blocks.",
    look="Where is `norm`: before the blocks or after them?",
)
mistake(
    {
        f"block(x, {_CACHE})": f"self.norm(block(x, {_CACHE}))",
        _LOGITS: "tied_logits(x, self.tokens.weight)",
    },
    {"x = block(x,": "x = block(self.norm(x),"},
    says="GPT uses its last norm at every block.",
    look="How often is the last norm used?",
)
mistake(
    {"for _ in range(n_layers))": "for _ in range(n_layers - 1))"},
    {"for _ in range(n_layers))": "for _ in range(1))"},
    {"for _ in range(n_layers))": "for _ in range(n_layers + 1))"},
    says="GPT has another number of blocks than n_layers.",
    look="How many blocks are made?",
)
mistake(
    {_ROWS: "x = F.dropout(self.tokens(ids), 0.1, self.training)"},
    says="GPT drops some of its rows at random in training.",
    look="Does a second call give the same?",
)
mistake(
    {_ROWS: "x = self.tokens(ids[:, -self.max_seq_len :])"},
    *({_ROWS: f"x = self.tokens(ids[:, -{n} :])"} for n in (64, 128, 256)),
    says="GPT cuts a long text and reads its end only.",
    look="What should happen to a text with more tokens than there are positions?",
)
mistake(
    {_BLOCKS: _BLOCKS.replace("max_seq_len", "4 * max_seq_len")},
    {
        _BLOCKS: _BLOCKS.replace("max_seq_len", "4 * max_seq_len"),
        _ROWS: "if ids.shape[1] > self.max_seq_len:\n            raise ValueError(ids.shape)\n"
        f"        {_ROWS}",
    },
    says="GPT goes beyond max_seq_len, at least where caches are filled.",
    look="How many positions are taken when the caches hold six tokens and one comes?",
)
mistake(
    *(
        {
            _ROWS: f"self.n_read = (self.__dict__.get('n_read', 0) if {some} else 0) + "
            "ids.shape[1]\n        if self.n_read > self.max_seq_len:\n"
            f"            raise ValueError({told})\n        {_ROWS}",
        }
        for some in ("caches", "caches and caches[0]")
        for told in ("self.n_read", "'too long'")
    ),
    says="GPT counts the tokens read in the model, not in the caches it is given.",
    look="Where does a second text with new caches begin?",
)
mistake(
    *(
        {
            _NORM: f"{_NORM}\n        for i, block in enumerate(self.blocks):\n"
            f"            if {some}:\n"
            "                block.attention.rotary.register_forward_hook("
            "lambda rotary, args, turned: args[0])"
        }
        for some in (
            "i % 4 == 3",
            "i % 4 != 3",
            "i % 2 == 1",
            "i % 2 == 0",
            "i == 0",
            "i > 0",
            "i == n_layers - 1",
        )
    ),
    says="GPT has blocks in which queries and keys are not turned.",
    look="What tells each of the blocks where a token is?",
)
mistake(
    {
        _NORM: f"{_NORM}\n        for i, block in enumerate(self.blocks):\n"
        "            block.attention.q_proj.register_forward_hook(\n"
        "                lambda layer, args, q, i=i: q / (i + 1)\n            )"
    },
    says="GPT divides the scores by more than the root of D, depending on the block.",
    look="Do all blocks compute the same from the same weights?",
)
mistake(
    {"enumerate(self.blocks)": "enumerate(reversed(self.blocks))"},
    says="GPT goes through its blocks from the last to the first.",
    look="Which block reads the rows of the table?",
)
mistake(
    {"enumerate(self.blocks)": "enumerate(self.blocks[:-1])"},
    {"enumerate(self.blocks)": "enumerate(self.blocks[1:])"},
    *({"enumerate(self.blocks)": f"enumerate(self.blocks[:{n}])"} for n in (1, 2, 3, 4)),
    says="GPT leaves out some of its blocks.",
    look="Through which blocks does x go?",
)
mistake(
    {_LOGITS: f"{_LOGITS}, None"},
    {_LOGITS: f"{_LOGITS}, caches"},
    says="GPT returns something besides the logits.",
    look="What does `next_token_loss` expect of a model?",
)
mistake(
    {_LOGITS: f"30 * torch.tanh({_LOGITS} / 30)"},
    {_LOGITS: f"15 * torch.tanh({_LOGITS} / 15)"},
    says="GPT sets a limit to its logits.",
    look="What happens to the products with the table?",
)
mistake(
    {"return tied_logits(": "return (", ", self.tokens.weight)": ")"},
    says="GPT returns the normed features, not their products with the table.",
    look="Which shape has the result?",
)
mistake(
    {
        _ROWS: "if caches is None:\n"
        "            caches = self.__dict__.setdefault('kept', [{} for _ in self.blocks])\n"
        f"        {_ROWS}"
    },
    says="GPT remembers texts that were read without caches.",
    look="Does a second call with the same ids give the same?",
)
mistake(
    {
        _NORM: f"{_NORM}\n        self.bias = nn.Parameter(torch.zeros(vocab_size))",
        _LOGITS: f"{_LOGITS} + self.bias",
    },
    says="GPT adds a bias to its logits.",
    look="Which parameters does it have in addition to the table, the blocks and the norm?",
)
mistake(
    *(
        {
            _ROWS: "n_read = sum(one['k'].shape[-2] for one in caches or [] if one)\n"
            "        if n_read + ids.shape[1] > self.max_seq_len:\n"
            f"            raise ValueError({told})\n        {_ROWS}"
        }
        for told in ("n_read", "'too long'")
    ),
    says="GPT counts the tokens in its caches once for each block.",
    look="How many tokens were read, if each of three caches holds five?",
)
mistake(
    {_LOGITS: f"{_LOGITS} if self.training else {_LOGITS}[:, -1:]"},
    says="GPT returns the logits of the last position only, when it does not train.",
    look="Who needs the other logits while a model is only used?",
)
mistake(
    *(
        {
            _ROWS: f"if ids.shape[1] > self.max_seq_len:\n            raise {kind}(ids.shape)\n"
            f"        {_ROWS}"
        }
        for kind in ("AssertionError", "IndexError", "RuntimeError")
    ),
    says="GPT refuses a text that is too long with another exception than ValueError.",
    look="Which exception does the docstring name?",
)
mistake(
    {_NORM: "self.norm = nn.LayerNorm(n_embd, elementwise_affine=False)"},
    {_NORM: "self.norm = nn.LayerNorm(n_embd, bias=False)"},
    {_NORM: "self.norm = nn.RMSNorm(n_embd)"},
    says="GPT has a last norm without its scale or shift.",
    look="Which parameters does nn.LayerNorm(n_embd) have?",
)
mistake(
    {_ROWS: "x = self.tokens(ids[:1].expand_as(ids))"},
    {_LOGITS: f"{_LOGITS}[:1]"},
    says="GPT reads the first text only.",
    look="What becomes of the batch?",
)


@alternative
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


alternative(
    {_LOGITS: "self.norm(x) @ self.tokens.weight.T"},
    {_LOGITS: "torch.einsum('btc,vc->btv', self.norm(x), self.tokens.weight)"},
    {_CACHE: "caches[-1 - i] if caches is not None else None"},
    {
        "enumerate(self.blocks)": "zip(caches or [None] * len(self.blocks), self.blocks)",
        _CACHE: "i",
    },
    {
        _NORM: f"{_NORM}\n        for name, weight in self.named_parameters():\n"
        "            if 'norm' not in name:\n                nn.init.normal_(weight, std=0.02)"
    },
    {_NORM: "self.norm = nn.LayerNorm(n_embd, eps=1e-6)"},
    {_LOGITS: f"{_LOGITS}.float()"},
)


@alternative
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


error(
    "TypeError: 'NoneType' object is not subscriptable",
    "Usually `caches[0]` is asked for where no caches were given.",
)
error(
    "AttributeError: 'list' object has no attribute 'shape'",
    "Often the whole list of caches goes to each block; a block takes one dict.",
)


mistake, alternative, error = entries("next_token_loss")

_NEXT = "ids[:, 1:]"
_BEFORE = "logits[:, :-1]"
_CE = "F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())"

mistake(
    {_NEXT: "ids", _BEFORE: "logits"},
    says="next_token_loss does not shift: it asks for the token that was just read.",
    look="Which token are the logits at t about?",
    common=True,
)
mistake(
    {_NEXT: "ids[:, :-1]", _BEFORE: "logits[:, 1:]"},
    says="next_token_loss shifts the wrong way: it asks for the token before.",
    look="Of ids and logits, which loses its first entry and which its last?",
    common=True,
)
mistake(
    {_NEXT: "ids[:, :-1]"},
    {_BEFORE: "logits[:, 1:]"},
    says="next_token_loss cuts ids and logits at the same end, so it asks for the same token.",
    look="Of ids and logits, which loses its first entry and which its last?",
)
mistake(
    {_NEXT: "ids.roll(-1, dims=1)", _BEFORE: "logits"},
    says="next_token_loss asks after the last token for the first one.",
    look="What does `roll` put in the last place?",
)
mistake(
    {
        _BEFORE: "logits",
        ".flatten(0, 1)": ".flatten(0, 1)[:-1]",
        "ids[:, 1:].flatten()": "ids.flatten()[1:]",
    },
    says="next_token_loss shifts over the ends of texts: a text's last token asks for the first "
    "of the next text.",
    look="Which comes first, the shift or the flattening?",
)
mistake(
    {_NEXT: "ids[:, 2:]", _BEFORE: "logits[:, :-2]"},
    {
        "return ": "if ids.shape[1] > 2:\n        logits, ids = logits[:, :-1], ids[:, 1:]\n"
        "    return "
    },
    says="next_token_loss asks for the next token but one.",
    look="How far are ids and logits shifted?",
)
mistake(
    {_NEXT: "ids[:, -1:]", _BEFORE: "logits[:, -2:-1]"},
    says="next_token_loss asks for the last token only.",
    look="How many tokens come after another one?",
)
mistake(
    {_CE: _CE[:-1] + ", reduction='sum')"},
    says="next_token_loss adds up instead of averaging.",
    look="Is the loss of a text the same when it comes twice in the batch?",
)
mistake(
    {_CE: _CE[:-1] + ", reduction='sum') / len(ids)"},
    says="next_token_loss averages over texts, but adds up over their tokens.",
    look="By how many is the sum divided?",
)
mistake(
    {_CE: _CE[:-1] + ", reduction='sum') / ids.numel()"},
    says="next_token_loss divides by all B T tokens, also those that nothing was said about.",
    look="How many tokens come after another one?",
)
mistake(
    {_CE: _CE[:-1] + ", reduction='sum') / (ids.shape[1] - 1)"},
    {_CE: _CE[:-1] + ", reduction='sum') / ids.shape[1]"},
    says="next_token_loss averages over the tokens of a text, but adds up over the texts.",
    look="By how many is the sum divided?",
)
mistake(
    {_CE: _CE[:-1] + ", reduction='none')"},
    says="next_token_loss returns a loss for each token.",
    look="Which shape has a scalar?",
)
mistake(
    {_CE: f"{_CE} / math.log(2)"},
    {_CE: f"{_CE} / math.log(10)"},
    says="next_token_loss counts in another unit than nats.",
    look="Which logarithm makes ln V of a model that knows nothing?",
)
mistake(
    {_CE: f"{_CE}.exp()"},
    says="next_token_loss returns the perplexity, e to the power of the loss.",
    look="What does a model that knows nothing pay: V, or ln V?",
)
mistake(
    {".flatten(0, 1)": ".flatten(0, 1).softmax(dim=-1)"},
    says="next_token_loss takes the softmax before `cross_entropy`, which takes it again.",
    look="What does `F.cross_entropy` expect, logits or probabilities?",
    common=True,
)
mistake(
    {_CE: "F.cross_entropy(logits[:, :-1], ids[:, 1:])"},
    says="next_token_loss leaves V in the last axis, where `cross_entropy` looks for tokens.",
    look="Which axis does `F.cross_entropy` take for the classes?",
)
mistake(
    {_CE: "F.cross_entropy(logits[:, :-1].reshape(len(ids), logits.shape[2], -1), ids[:, 1:])"},
    says="next_token_loss reshapes logits where two of their axes should be swapped.",
    look="Do `view` and `reshape` swap axes?",
)
mistake(
    {".flatten(0, 1)": ".view(-1, logits.shape[-1])"},
    says="next_token_loss takes a view of what is cut out of the logits.",
    look="What does `view` need that `reshape` does not?",
    common=True,
)
_OF_NEXT = ".gather(2, ids[:, 1:, None]).mean()"
mistake(
    {_CE: f"-logits[:, :-1]{_OF_NEXT}"},
    says="next_token_loss forgets the normalization: it averages the logits themselves.",
    look="What makes probabilities of logits?",
)
mistake(
    {_CE: f"-logits[:, :-1].log_softmax(dim=1){_OF_NEXT}"},
    says="next_token_loss takes the softmax over the tokens of a text, not over the vocabulary.",
    look="Which probabilities should sum to 1?",
)
mistake(
    {_CE: "F.cross_entropy(logits[0, :-1], ids[0, 1:])"},
    says="next_token_loss counts the first text only.",
    look="What became of the batch?",
)
mistake(
    {_CE: _CE[:-1] + ", ignore_index=0)"},
    says="next_token_loss leaves out the token 0, as if it were padding.",
    look="Is 0 a token?",
)
mistake(
    {_CE: _CE[:-1] + ", label_smoothing=0.1)"},
    says="next_token_loss smooths: it asks for a share of every token.",
    look="What does a sure and right model pay?",
)
mistake(
    {"ids.shape[1] < 2": "ids.shape[0] < 2"},
    says="next_token_loss refuses what is right: its check asks for something else.",
    look="How many tokens must a text have, and which axis counts them?",
)
mistake(
    {_CE: f"1 - logits[:, :-1].softmax(dim=-1){_OF_NEXT}"},
    {_CE: f"-logits[:, :-1].softmax(dim=-1){_OF_NEXT}"},
    says="next_token_loss takes no logarithm of the shares.",
    look="What does a model pay that gives the next token a share of 1/V?",
)
mistake(
    {_CE: f"-logits[:, :-1].softmax(dim=-1){_OF_NEXT}.log()"},
    says="next_token_loss takes the logarithm of the mean instead of the mean of the logarithms.",
    look="Which comes first, the mean or the logarithm?",
)
mistake(
    {_CE: "(F.one_hot(ids[:, 1:], logits.shape[2]) - logits[:, :-1].softmax(-1)).square().mean()"},
    says="next_token_loss squares errors instead of taking logarithms.",
    look="What is cross entropy?",
)
mistake(
    {_CE: "(logits[:, :-1].argmax(-1) != ids[:, 1:]).float().mean()"},
    {_CE: "(logits[:, :-1].argmax(-1) == ids[:, 1:]).float().mean()"},
    says="next_token_loss counts how often the most probable token is right or wrong.",
    look="Does it matter how probable the next token was?",
)
mistake(
    {_CE: f"2 * {_CE}"},
    {_CE: f"{_CE} / 2"},
    says="next_token_loss returns twice the mean, or a half of it.",
    look="What does a model pay that knows nothing?",
)


@alternative
def picked_from_log_probabilities(logits, ids):
    if ids.size(1) < 2:
        raise ValueError(f"a text of {ids.size(1)} tokens has no next one")
    log_probabilities = logits.log_softmax(dim=-1)[:, :-1]
    return -log_probabilities.gather(-1, ids[:, 1:, None].long()).mean()


@alternative
def text_by_text(logits, ids):
    n_texts, length = ids.shape
    if length < 2:
        raise ValueError(f"length {length} is below 2")
    total = logits.new_zeros(())
    for b in range(n_texts):
        for t in range(length - 1):
            total = total + logits[b, t].logsumexp(0) - logits[b, t, ids[b, t + 1].long()]
    return total / (n_texts * (length - 1))


alternative(
    {_CE: "F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:])"},
    {_CE: _CE[:-1] + ", reduction='sum') / (ids.numel() - len(ids))"},
    {_CE: f"-logits[:, :-1].softmax(dim=-1).log(){_OF_NEXT}"},
    {_CE: f"(logits[:, :-1].exp().sum(-1, keepdim=True).log() - logits[:, :-1]){_OF_NEXT}"},
    {_BEFORE: "logits.float()[:, :-1]"},
    {_CE: "F.cross_entropy(logits.flatten(0, 1), F.pad(ids[:, 1:], (0, 1), value=-100).flatten())"},
)

error(
    "ValueError: Expected input batch_size (8) to match target batch_size (6).",
    "Logits and ids were cut to different lengths, or only one of them was.",
)


mistake, alternative, error = entries("generate")

_ASK = "model(unread, caches)[:, -1]"
_SHARES = "(logits / temperature).softmax(dim=-1)"
_LEAST = "least = logits.topk(top_k).values[:, -1:]"
_KEEP = 'logits = logits.masked_fill(logits < least, float("-inf"))'
_DRAW = "torch.multinomial(probabilities, 1, generator=generator)"
_CACHES = "[{} for _ in model.blocks]"
_RESTORE = "    model.train(was_training)\n"
_GROW = "text = torch.cat((text, unread), dim=1)"

mistake(
    {_SHARES: "logits.softmax(dim=-1) / temperature"},
    says="generate ignores the temperature, except 0: it divides after the softmax, or never.",
    look="What does a factor change that all probabilities share?",
    common=True,
)
mistake(
    {_SHARES: "(logits.softmax(dim=-1) / temperature).softmax(dim=-1)"},
    {_SHARES: f"{_SHARES}.softmax(dim=-1)"},
    says="generate takes a softmax of probabilities.",
    look="How many softmaxes are there, and what goes into each?",
)
mistake(
    {_SHARES: "(logits / temperature).exp()"},
    says="generate takes powers of e as they are, which overflow at a low temperature.",
    look="What is e ** 400?",
)
mistake(
    {
        _LEAST: "least = logits.sort().values[:, top_k - 1, None]",
        _KEEP: 'logits = logits.masked_fill(logits > least, float("-inf"))',
    },
    says="generate keeps the top_k least probable tokens.",
    look="In which order does `sort` sort? Which tokens should remain?",
)
mistake(
    {"logits < least": "logits > least"},
    says="generate takes out the most probable tokens and keeps the others.",
    look="Which logits are set to minus infinity?",
)
mistake(
    {".values[:, -1:]": ".values[:, :1]"},
    says="generate keeps the most probable token only, whatever top_k is.",
    look="Which of the top_k values is the least?",
)
mistake(
    {"topk(top_k)": "topk(min(top_k + 1, logits.shape[-1]))"},
    {"logits < least": "logits <= least"},
    says="generate keeps one token too many or too few.",
    look="With top_k = 1, how many tokens can be drawn?",
)
mistake(
    {'float("-inf"))\n': "0.0)\n"},
    says="generate gives tokens that are not kept the logit 0, which is no small share.",
    look="What is e ** 0?",
)
mistake(
    {".values[:, -1:]": ".values.min()"},
    {".values[:, -1:]": ".values[0, -1]"},
    {
        ".values[:, -1:]": ".values[0, -1]",
        "logits < least": "(logits < least) & (logits < logits.amax(-1, True))",
    },
    says="generate compares all texts of the batch with one least logit.",
    look="Are the most probable tokens the same in every text?",
)
mistake(
    {_LEAST: "logits = logits.topk(top_k).values", f"{_KEEP}\n": "pass\n"},
    says="generate draws a place among the top_k and takes it for a token.",
    look="Which token is at index 0 of the sorted ones?",
    common=True,
)
mistake(
    {_RESTORE: ""},
    {_RESTORE: "    model.training = was_training\n"},
    says="generate leaves the model, or parts of it, in evaluation mode.",
    look="In which mode was the model, and in which are its parts afterwards?",
    common=True,
)
mistake(
    {_RESTORE: "    model.train()\n"},
    says="generate leaves the model in training mode, also if it was not.",
    look="In which mode was the model?",
)
mistake(
    {"with torch.no_grad():": "if True:"},
    says="generate keeps gradients while it writes.",
    look="What does PyTorch remember of every step, if it is not told otherwise?",
)
mistake(
    {"model(unread, caches)": "model(text)"},
    says="generate reads the whole text again for every token, without caches.",
    look="What are the caches for?",
    common=True,
)
mistake(
    {"model(unread, caches)": "model(text, caches)"},
    says="generate reads into its caches once more what they hold already.",
    look="What do the caches know before the second call?",
)
mistake(
    {"model(unread, caches)": f"model(text, {_CACHES})"},
    {"model(unread, caches)": f"model(unread, {_CACHES})"},
    says="generate begins with empty caches for every token.",
    look="Where are the caches made: before the loop, or in it?",
)
mistake(
    {"model(unread, caches)": "model(unread)"},
    says="generate reads one token after another without caches: each knows nothing of the others.",
    look="How does the model know what came before?",
)
mistake(
    {_CACHES: "[{}] * len(model.blocks)"},
    says="generate gives all blocks one and the same cache.",
    look="What does `[{}] * 3` hold?",
)
mistake(
    {_CACHES: "[{}]"},
    {_CACHES: "[{}, {}]"},
    says="generate makes another number of caches than the model has blocks.",
    look="How many blocks does the model have?",
)
mistake(
    {"generator=generator": "generator=generator or torch.Generator()"},
    {"generator=generator": "generator=generator or torch.Generator().manual_seed(0)"},
    says="generate creates a generator when none is given, so it draws the same every time.",
    look="Where does `multinomial` draw from if it is given None?",
)
mistake(
    {
        "generator=generator": "generator=generator and torch.Generator().manual_seed("
        "generator.initial_seed())"
    },
    says="generate begins with the same seed for every token.",
    look="Are two tokens of one text drawn one by one?",
)
mistake(
    {_DRAW: "torch.multinomial(probabilities[:1], 1, generator=generator).repeat(len(ids), 1)"},
    says="generate draws for the first text and gives that token to all.",
    look="How many tokens are drawn in a step?",
)
mistake(
    {".argmax(dim=-1, keepdim=True)": "[:1].argmax(dim=-1, keepdim=True).expand(len(ids), 1)"},
    says="generate gives all texts the most probable token of the first one.",
    look="How many tokens are chosen in a step at temperature 0?",
)
mistake(
    {"if temperature == 0:": "if True:"},
    says="generate always takes the most probable token.",
    look="When is a token drawn?",
)
mistake(
    {"if temperature == 0:": "if False:"},
    says="generate divides by a temperature of 0.",
    look="What is 1 / 0, and which token should come out?",
)
mistake(
    {".argmax(": ".argmin("},
    says="generate takes the least probable token at temperature 0.",
    look="Which logit is the largest?",
)
mistake(
    {_ASK: "model(unread, caches)[:, 0]"},
    says="generate goes on from the logits of the first position.",
    look="Which position knows the whole text?",
)
mistake(
    {_ASK: "model(unread, caches).mean(dim=1)"},
    says="generate averages the logits of all positions.",
    look="Which position knows the whole text?",
)
mistake(
    {"text = unread = ids": "text, unread = ids[:, :0], ids"},
    says="generate returns the new tokens without the prompt.",
    look="What should come before the new tokens?",
)
mistake(
    {_GROW: "text = torch.cat((unread, text), dim=1)"},
    says="generate puts new tokens before the text.",
    look="In which order does `cat` join?",
)
mistake(
    {"return text": "return unread"},
    says="generate returns the last token only.",
    look="What should come before the last token?",
)
mistake(
    {"if temperature == 0:": "temperature = max(temperature, 0.01)\n            if False:"},
    says="generate draws at a low temperature instead of taking the most probable token at 0.",
    look="Is the result at temperature 0 the same in every call, also if two logits are close?",
)
mistake(
    *(
        {_GROW: f"{_GROW}\n            if {end}:\n                break"}
        for end in (
            "(unread == 0).all()",
            "(unread == 0).any()",
            "(unread == text.new_tensor(logits.shape[-1] - 1)).all()",
            "(unread == 2).all()",
            "(unread == 1).all()",
        )
    ),
    says="generate stops early: it adds fewer than n_new tokens to some texts.",
    look="What ends the loop besides n_new?",
)
mistake(
    {"range(n_new)": "range(n_new - 1)"},
    {"range(n_new)": "range(n_new + 1)"},
    {"range(n_new)": "range(max(n_new, 1))"},
    says="generate adds another number of tokens than n_new.",
    look="How many tokens should be added, if n_new is 1?",
)
mistake(
    {"text = unread = ids": "text, unread = ids, ids[:, -1:]"},
    says="generate lets the model read only the end of the prompt.",
    look="How does the model know what came before?",
)
mistake(
    {"range(n_new)": "range(n_new - ids.shape[1])"},
    says="generate takes n_new for the number of all tokens, those of the prompt too.",
    look="How many tokens does the result have?",
)
mistake(
    {"return text": "return text, caches"},
    says="generate returns more than the text.",
    look="What does the docstring say under Returns?",
)
mistake(
    {"return text": "return text[:1].expand_as(text)"},
    says="generate returns the first text for all.",
    look="What becomes of the batch?",
)
mistake(
    {_SHARES: "(logits / temperature**0.5).softmax(dim=-1)"},
    says="generate divides by the root of the temperature.",
    look="Which number is each logit divided by?",
)
mistake(
    *({"if temperature == 0:": f"if temperature < {n}:"} for n in (0.02, 0.1, 0.6)),
    says="generate takes the most probable token at low temperatures, too.",
    look="At which temperatures is nothing drawn?",
)


@alternative
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


@alternative
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


alternative(
    {
        _KEEP: "kept = logits >= least",
        _SHARES: f"{_SHARES}\n"
        "                if top_k is not None:\n"
        "                    probabilities = probabilities * kept",
    },
    {
        _DRAW: "((probabilities.double().cumsum(dim=-1) < probabilities.double().sum(-1, True) "
        "* torch.rand(len(probabilities), 1, generator=generator, dtype=torch.float64))"
        ".sum(dim=-1, keepdim=True))"
    },
    {_RESTORE: f"        model(unread, caches)\n{_RESTORE}"},
    {
        "    with torch.no_grad():\n": "    with torch.no_grad():\n"
        "        for t in range(ids.shape[1] - 1 if n_new else 0):\n"
        "            model(text[:, t : t + 1], caches)\n"
        "        unread = text[:, -1:]\n"
    },
    {'float("-inf"))\n': "-1e10)\n"},
)

error(
    "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
    "Usually a temperature of 0 was divided by, or every logit was set to minus infinity.",
)
error(
    "RuntimeError: Tensors must have same number of dimensions: got 2 and 1",
    "Usually new tokens (B,) are joined to a text (B, T); they need a separate axis.",
)
