"""Lesson 9: known mistakes and legitimate alternatives."""

import math
import re

import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries, inherit
from course.mistakes.gpt import _hidden as _hidden  # for the edits that are inherited
from solutions.gpt import causal_attention, merge_heads, split_heads
from solutions.learned import tied_logits
from solutions.llama import GatedMLP, GroupedQueryAttention, RMSNorm, repeat_heads
from solutions.lookup import TokenEmbedding
from solutions.rope import RotaryEmbedding, interleaved_to_half

mistake, alternative, error = entries("RMSNorm")

_SQUARE = "mean_square = x.square().mean(dim=-1, keepdim=True)"
_RESULT = "x * torch.rsqrt(mean_square + self.eps) * self.weight"

_ROOT = "torch.rsqrt(mean_square + self.eps)"
_EPS = "self.eps = eps"
_CENTERED = "(x - x.mean(dim=-1, keepdim=True))"

mistake(
    {_SQUARE: f"x = {_CENTERED}\n        {_SQUARE}"},
    {_RESULT: _RESULT.replace("x *", f"{_CENTERED} *")},
    {_RESULT: f"{_CENTERED} / (x.std(dim=-1, keepdim=True) + self.eps) * self.weight"},
    says="RMSNorm subtracts the mean, as layer norm does.",
    look="What is the mean of (3, 4)? Does it appear in the formula?",
    common=True,
)
mistake(
    {_SQUARE: "mean_square = x.var(dim=-1, keepdim=True, unbiased=False)"},
    {_SQUARE: "mean_square = x.var(dim=-1, keepdim=True)"},
    {_ROOT: "(1 / (x.std(dim=-1, keepdim=True) + self.eps))"},
    says="RMSNorm divides by the standard deviation, for which the mean is subtracted.",
    look="What is the standard deviation of (3, 3)? And its root mean square?",
)
mistake(
    *(
        {_ROOT: f"(1 / (mean_square{safe}.sqrt() + self.eps))"}
        for safe in ("", ".clamp(min=1e-30)")
    ),
    says="RMSNorm adds eps outside the root, where it counts for much less.",
    look="Is eps added to the mean of the squares or to their root?",
    common=True,
)
mistake(
    {"x.square()": "(x + self.eps).square()"},
    {"mean_square + self.eps": "mean_square + self.eps**2"},
    says="RMSNorm adds eps in the wrong place, so that another number is added to the mean.",
    look="What exactly is eps added to in the formula: x, its square, or the mean of the squares?",
)
mistake(
    {"* self.weight": "* (1 + self.weight)"},
    says="RMSNorm scales by 1 + weight, but the weight starts at 1 already.",
    look="What comes out for a row of ones with the first weights?",
    common=True,
)
mistake(
    {f"* {_ROOT}": "/ (mean_square + self.eps)"},
    says="RMSNorm divides by the mean square, without the root.",
    look="What do you divide (3, 4) by: 12.5 or 3.54?",
)
mistake(
    {"rsqrt(": "sqrt("},
    says="RMSNorm multiplies by the root mean square instead of dividing by it.",
    look="Should a long row come out longer, or as long as others?",
)
mistake(
    {"x.square().mean(dim=-1, keepdim=True)": "x.mean(dim=-1, keepdim=True).square()"},
    says="RMSNorm squares the mean instead of averaging the squares.",
    look="What is the mean of the squares of (1, -1), and what is the square of their mean?",
)
mistake(
    {_ROOT: "(1 / (x.abs().mean(dim=-1, keepdim=True) + self.eps))"},
    {_ROOT: "(1 / (x.abs().amax(dim=-1, keepdim=True) + self.eps))"},
    {"x.square()": "x.abs()"},
    {"x.square()": "x"},
    {"x.square()": "(x**3)"},
    says="RMSNorm divides by another size of the row than its root mean square.",
    look="What do you divide (3, 4) by?",
)
mistake(
    {"x.square().mean(": "x.square().sum("},
    {_RESULT: "F.normalize(x, dim=-1) * self.weight"},
    {_RESULT: "x / (x.norm(dim=-1, keepdim=True) + self.eps) * self.weight"},
    says="RMSNorm divides by the length of the row, not by its root mean square.",
    look="By which factor do a sum and a mean of C squares differ?",
)
mistake(
    {_RESULT: "F.normalize(x, dim=-1, eps=self.eps) * x.shape[-1] ** 0.5 * self.weight"},
    {_RESULT: "F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight"},
    {_ROOT: "torch.rsqrt(mean_square.clamp(min=self.eps))"},
    {_ROOT: "(1 / mean_square.sqrt().clamp(min=self.eps))"},
    says="RMSNorm adds no eps: small rows become as long as others.",
    look="What becomes of a row whose mean square is as small as eps?",
)
mistake(
    {"mean_square + self.eps": "mean_square.sqrt() ** 2 + self.eps"},
    says="RMSNorm takes a root before eps is added, and its slope at 0 is no finite one.",
    look="What is the gradient of a square root at 0? What is inside of each of your roots?",
)
mistake(
    {"torch.ones(n_embd)": "torch.zeros(n_embd)", "* self.weight": "* (1 + self.weight)"},
    says="RMSNorm starts its weight at 0 and scales by 1 + weight.",
    look="What should the weight of a new norm be?",
)
mistake(
    {"torch.ones(n_embd)": "torch.zeros(n_embd)"},
    {"torch.ones(n_embd)": "torch.randn(n_embd)"},
    {"torch.ones(n_embd)": "torch.randn(n_embd) * 0.02"},
    says="RMSNorm starts with another weight than ones.",
    look="What should a new norm return for a row whose root mean square is 1?",
)
mistake(
    {"dim=-1, keepdim=True": "keepdim=True, dim=tuple(range(x.dim()))"},
    {"dim=-1, keepdim=True": "keepdim=True, dim=tuple(range(min(1, x.dim() - 1), x.dim()))"},
    says="RMSNorm takes the mean over all tokens instead of each token by itself.",
    look="Over which axis is the mean taken?",
)
mistake(
    {" + self.eps": ""},
    says="RMSNorm leaves out eps, so a row of zeros becomes nan.",
    look="What is 0 / 0?",
)
mistake(
    *({_EPS: f"self.eps = {eps}"} for eps in ("1e-5", "1e-6", "1e-8", "torch.finfo().eps")),
    says="RMSNorm uses its own eps, whichever it is given.",
    look="Where does the argument `eps` go?",
)
mistake(
    {" * self.weight": ""},
    says="RMSNorm never multiplies by its weight.",
    look="What does the parameter do in the forward pass?",
)
mistake(
    {_SQUARE: f"x = x * self.weight\n        {_SQUARE}", " * self.weight": ""},
    says="RMSNorm scales before it norms, so that the weights change what a row is divided by.",
    look="Which comes first, dividing or scaling? What is the row of ones with the weights 2, 2?",
)
mistake(
    {
        _EPS: f"{_EPS}\n        self.bias = nn.Parameter(torch.zeros(n_embd))",
        "* self.weight": "* self.weight + self.bias",
    },
    says="RMSNorm has a bias, as layer norm does.",
    look="How many parameters does the docstring list?",
)
mistake(
    {"torch.ones(n_embd)": "torch.ones(1)"},
    {"torch.ones(n_embd)": "torch.ones(())"},
    says="RMSNorm has one scale for all features instead of one each.",
    look="What is the shape of `weight` in the docstring?",
)
mistake(
    {"nn.Parameter(torch.ones(n_embd))": "torch.ones(n_embd)"},
    {"self.weight = nn.Parameter(torch.ones(n_embd))": "pass", " * self.weight": ""},
    says="RMSNorm has no parameter called `weight`.",
    look="Which tensors of a module does `parameters()` list, and by which names?",
)
mistake(
    {"mean_square + self.eps": "mean_square.detach() + self.eps"},
    says="RMSNorm takes what it divides by for a constant: no gradient flows through it.",
    look="Does the root mean square change if x does?",
)
mistake(
    *(
        {"x.square()": f"x.{half}().square()", "keepdim=True)": f"keepdim=True){back}"}
        for half in ("half", "bfloat16")
        for back in (".to(x.dtype)", "")
    ),
    says="RMSNorm squares in 16 bits, which keep three digits or fewer.",
    look="Which dtype do your squares have? How many digits of 0.003 ** 2 does it keep?",
)
alternative({_RESULT: "x / (mean_square + self.eps).sqrt() * self.weight"})
alternative({_RESULT: "F.rms_norm(x, x.shape[-1:], self.weight, self.eps)"})


@alternative
class by_the_length_of_the_row(nn.Module):
    def __init__(self, n_embd, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.eps = eps

    def forward(self, x):
        squares = torch.linalg.vecdot(x, x)[..., None]  # (..., 1)
        return self.weight * x / torch.sqrt(squares / x.shape[-1] + self.eps)


alternative({_SQUARE: "mean_square = (x * x).sum(-1, keepdim=True) / x.shape[-1]"})
alternative({_SQUARE: _SQUARE.replace("x.", "x.float()."), _RESULT: f"({_RESULT}).type_as(x)"})


mistake, alternative, error = entries("repeat_heads")

_REPEAT = "x.repeat_interleave(n_repeats, dim=1)"

mistake(
    {_REPEAT: "x.repeat(1, n_repeats, 1, 1)"},
    {_REPEAT: "x.repeat(n_repeats, 1, 1, 1).reshape(len(x), -1, *x.shape[2:])"},
    says="repeat_heads repeats the whole list of heads (0 1 0 1), not each head (0 0 1 1).",
    look="Which key head does query head 1 read if two share one?",
    common=True,
)
mistake(
    *({_REPEAT: f"x.repeat_interleave(n_repeats, dim={axis})"} for axis in (2, 0, 3)),
    *(
        {_REPEAT: f"x.repeat({of_axes})"}
        for of_axes in ("1, 1, n_repeats, 1", "n_repeats, 1, 1, 1")
    ),
    {_REPEAT: "x.repeat_interleave(n_repeats)"},
    says="repeat_heads repeats along another axis than that of the heads.",
    look="Which axis of (B, K, T, D) counts the heads?",
    common=True,
)
mistake(
    {_REPEAT: "x.repeat_interleave(n_repeats, dim=2).reshape(len(x), -1, *x.shape[2:])"},
    says="repeat_heads repeats tokens and then cuts the result into heads, which mixes the tokens.",
    look="Which tokens does head 0 of your result have?",
)
mistake(
    {_REPEAT: "torch.stack([x] + [x.detach()] * (n_repeats - 1), dim=2).flatten(1, 2)"},
    says="repeat_heads lets the gradient flow back through the first copy only.",
    look="Which of the copies of a key head take part in the loss?",
)
mistake(
    {_REPEAT: "x[:, :, None].expand(-1, -1, n_repeats, -1, -1)"},
    {_REPEAT: "x[:, None].expand(-1, n_repeats, -1, -1, -1)"},
    {_REPEAT: "torch.stack([x] * n_repeats)"},
    says="repeat_heads leaves the copies on their own axis, next to that of the heads.",
    look="How many axes should your result have, and how many does it have?",
)
mistake(
    {_REPEAT: "x.repeat_interleave(n_repeats + 1, dim=1)"},
    {_REPEAT: "x.repeat_interleave(n_repeats - 1, dim=1)"},
    {_REPEAT: "x.repeat_interleave(2, dim=1)"},
    {_REPEAT: "x.repeat_interleave(x.shape[1], dim=1)"},
    {_REPEAT: "x.repeat_interleave(n_repeats // x.shape[1], dim=1)"},
    says="repeat_heads makes another number of copies than n_repeats.",
    look="How many heads should your result have, if x has two and n_repeats is 3?",
)
alternative({_REPEAT: "x[:, :, None].expand(-1, -1, n_repeats, -1, -1).flatten(1, 2)"})
alternative({_REPEAT: "x[:, torch.arange(x.shape[1] * n_repeats, device=x.device) // n_repeats]"})
alternative({_REPEAT: "torch.stack([x] * n_repeats, dim=2).flatten(1, 2)"})


@alternative
def by_an_axis_of_copies(x, n_repeats):
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1; got {n_repeats}")
    batch, heads, length, width = x.shape
    copies = x[:, :, None].expand(batch, heads, n_repeats, length, width)
    return copies.reshape(batch, heads * n_repeats, length, width)


mistake, alternative, error = entries("GroupedQueryAttention")

_K = "repeat_heads(k, n_repeats)"
_V = "repeat_heads(v, n_repeats)"
_KEEP = 'cache["k"], cache["v"] = k, v'
_TURN = "q, k = self.rotary(q, offset), self.rotary(k, offset)"
_COUNTED = 'cache["k"].shape[-2] if cache else 0'
_JOIN = 'k, v = torch.cat((cache["k"], k), dim=-2), torch.cat((cache["v"], v), dim=-2)'
_READ = f"causal_attention(q, {_K}, {_V})"
_OUT = "self.out_proj(merge_heads(heads))"
_ROTARY = "RotaryEmbedding(max_seq_len, head_dim, base)"
_OF_KEYS = "n_kv_heads * head_dim"
_ROWS = {"q_proj": "n_embd", "k_proj": _OF_KEYS, "v_proj": _OF_KEYS, "out_proj": "n_embd"}
_LAYER = {
    name: f"self.{name} = nn.Linear(n_embd, {rows}, bias=False)" for name, rows in _ROWS.items()
}
_SPLIT = {one: f"{one} = split_heads(self.{one}_proj(x), self.n_kv_heads)" for one in "kv"}
_HEADS_OF = {"q": "self.n_heads", "k": "self.n_kv_heads", "v": "self.n_kv_heads"}
_SPLIT["q"] = "q = split_heads(self.q_proj(x), self.n_heads)"
_TURN_AFTER = {
    _TURN: "pass",
    "n_repeats = self.n_heads": f"{_TURN}\n        n_repeats = self.n_heads",
}


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


_SHARED = f", {_K}, {_V}"

inherit(
    *("gpt", "CausalSelfAttention", "GroupedQueryAttention"),
    {
        "self.out_proj(merge_heads(causal_attention(q, k, v)))": _OUT,
        "attention(q, k, v": f"attention(q{_SHARED}",
        "0.5, k, v)": f"0.5{_SHARED})",
        "  # keys are kept turned: their positions never change": "  # K heads: they are repeated "
        "only to be read",
        "self.k_proj(x), self.n_heads": "self.k_proj(x), self.n_kv_heads",
        "n_embd // n_heads)": "head_dim, base)",
        "n_embd // n_heads,": "head_dim,",
    },
    unless=("gradient",),
)
mistake(
    {_K: "k.repeat(1, n_repeats, 1, 1)", _V: "v.repeat(1, n_repeats, 1, 1)"},
    {_K: "k.repeat(1, n_repeats, 1, 1)"},
    {_V: "v.repeat(1, n_repeats, 1, 1)"},
    says="GroupedQueryAttention gives query head h the key head h % K instead of h // (H / K).",
    look="Which query heads should share a key head: neighbors, or every third?",
    common=True,
)
mistake(
    {
        _TURN: f"{_TURN}\n        k = repeat_heads(k, self.n_heads // self.n_kv_heads)"
        "\n        v = repeat_heads(v, self.n_heads // self.n_kv_heads)",
        _K: "k",
        _V: "v",
    },
    says="GroupedQueryAttention repeats keys before it caches them, so the cache holds H heads.",
    look="How many heads of keys does the cache need?",
    common=True,
)
mistake(
    {_ROTARY: "RotaryEmbedding(max_seq_len, head_dim)"},
    says="GroupedQueryAttention ignores `base` and rotates with 10,000.",
    look="Who has to be told the base?",
    common=True,
)
mistake(
    *(
        {_READ: f"_read(q, {_K}, {_V}, lambda scores: {c} * (scores / {c}).tanh())"}
        for c in ("50.0",)
    ),
    says="GroupedQueryAttention limits its scores with tanh.",
    look="What happens between your scores and their softmax?",
)
mistake(
    {_READ: f"_read(q, {_K}, {_V}, weigh=_with_sink)"},
    says="GroupedQueryAttention has weights that add up to less than 1: something takes a share.",
    look="What is the sum of the weights of a query? What does the first token read?",
)
mistake(
    {
        _TURN: f"{_TURN}\n        q, k = (F.rms_norm(one, one.shape[-1:], eps=1e-6) "
        "for one in (q, k))"
    },
    says="GroupedQueryAttention norms queries and keys before they are scored.",
    look="What happens to q and k between their projections and their scores?",
)
mistake(
    {
        _ROTARY: "RotaryEmbedding(max_seq_len, head_dim // 2, base)",
        _TURN: "half = q.shape[-1] // 2\n"
        "        q, k = (torch.cat((self.rotary(one[..., :half], offset), one[..., half:]), -1)"
        " for one in (q, k))",
    },
    says="GroupedQueryAttention rotates only half of each head's features.",
    look="How wide is a head, and how wide is what you rotate?",
)
mistake(
    {
        _SPLIT["q"]: "q = self.q_proj(x)",
        _SPLIT["k"]: "k = self.k_proj(x)",
        _TURN: "q, k = split_heads(self.rotary(q, offset), self.n_heads), "
        "split_heads(self.of_keys(k, offset), self.n_kv_heads)",
        _ROTARY: "RotaryEmbedding(max_seq_len, n_embd, base)\n"
        f"        self.of_keys = RotaryEmbedding(max_seq_len, {_OF_KEYS}, base)",
    },
    {
        _SPLIT["q"]: "q = self.q_proj(x)",
        _SPLIT["k"]: "k = self.k_proj(x)",
        _TURN: "q, k = self.rotary(q, offset), self.rotary(k, offset)\n        "
        "q, k = split_heads(q, self.n_heads), split_heads(k, self.n_kv_heads)",
    },
    says="GroupedQueryAttention rotates queries and keys before they are split into heads.",
    look="How wide is what RoPE rotates: a token, or a head of it?",
)
mistake(
    {
        _SPLIT["q"]: "q = self.q_proj(x).unflatten(-1, (self.n_heads, -1))",
        _SPLIT["k"]: "k = self.k_proj(x).unflatten(-1, (self.n_kv_heads, -1))",
        _TURN: f"{_TURN}\n        q, k = q.transpose(1, 2), k.transpose(1, 2)",
    },
    says="GroupedQueryAttention rotates along the axis of the heads, not that of the tokens.",
    look="Which axis does RoPE take for the positions? What is on it at that moment?",
)
mistake(
    {
        _TURN: "pass",
        "n_repeats = self.n_heads": "q, k = self.rotary(q, offset), self.rotary(k)\n"
        "        if cache is not None:\n            cache['k'] = k\n"
        "        n_repeats = self.n_heads",
    },
    says="GroupedQueryAttention turns the keys in the cache again with every piece.",
    look="Are the keys in your cache rotated already? What happens to them in the next call?",
)
mistake(
    {_KEEP: f"{_KEEP}\n        k = self.rotary(k)"},
    {_KEEP: f"{_KEEP}\n        q, k = self.rotary(q, offset), self.rotary(k)"},
    says="GroupedQueryAttention rotates keys twice.",
    look="How often does a key go through your rotation before it meets a query?",
)
mistake(
    {
        _COUNTED: "cache['n'] if cache else 0",
        _JOIN: "k, v = torch.cat((k, k), dim=-2), torch.cat((v, v), dim=-2)",
        _KEEP: "cache.update(k=k[:, :, -x.shape[1] :], v=v[:, :, -x.shape[1] :])\n"
        "            cache['n'] = x.shape[1]",
    },
    says="GroupedQueryAttention writes a piece into its cache before it is joined, and joins it to "
    "itself.",
    look="What does the cache hold at the moment when you join?",
)
mistake(
    {**_TURN_AFTER},
    says="GroupedQueryAttention joins its keys with the cached ones first, and rotates all of them "
    "from where the new piece begins.",
    look="Which position does the oldest key in the cache have?",
)

_shared: dict = {}

mistake(
    {"cache: dict | None = None": "cache: dict | None = _shared"},
    says="GroupedQueryAttention has a dict as default, which is made once and kept for all calls.",
    look="When is the value behind `=` in a signature made?",
    forget=_shared.clear,
)
mistake(
    *(
        {
            _COUNTED: "cache['n'] if cache else 0",
            "if offset:": "if not offset:",
            _JOIN: "cache['k'], cache['v'] = (one.new_zeros(*one.shape[:2], "
            "self.rotary.max_seq_len, one.shape[3]) for one in (k, v))",
            _KEEP: "cache['n'] = offset + x.shape[1]\n"
            "            cache['k'][:, :, offset : cache['n']] = k\n"
            "            cache['v'][:, :, offset : cache['n']] = v\n"
            "            k, v = cache['k'], cache['v']",
            _READ: read,
        }
        for read in (
            _READ,
            f"F.scaled_dot_product_attention(q, {_K}, {_V}, None if x.shape[1] == 1 else "
            "torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(offset))",
        )
    ),
    says="GroupedQueryAttention reads the empty rows of its cache as if they were keys.",
    look="How many rows of your cache are filled after one piece? Which are read?",
)
mistake(
    *(
        {
            _COUNTED: 'cache["n"] if cache else 0',
            'torch.cat((cache["k"], k), dim=-2)': 'torch.cat((cache["k"][:, :, :offset], k), 2)',
            'torch.cat((cache["v"], v), dim=-2)': 'torch.cat((cache["v"][:, :, :offset], v), 2)',
            _KEEP: f"room = {room} - k.shape[2]\n"
            "            cache['k'], cache['v'] = (F.pad(one, (0, 0, 0, room)) for one in (k, v))\n"
            "            cache['n'] = k.shape[2]",
        }
        for room in ("(1 << (k.shape[2] - 1).bit_length())", "2 * self.rotary.max_seq_len")
    ),
    says="GroupedQueryAttention keeps more room in its cache than max_seq_len positions need.",
    look="How many positions does your cache have room for when the text is complete?",
)
mistake(
    *(
        {line: line.replace(", bias=False", "") for name, line in _LAYER.items() if name in names}
        for names in ({"q_proj"}, {"q_proj", "k_proj", "v_proj"}, {"out_proj"}, set(_LAYER))
    ),
    says="GroupedQueryAttention gives a projection a bias.",
    look="Which parameters does the docstring list?",
)
mistake(
    {_LAYER[name]: _LAYER[name].replace(_OF_KEYS, "n_embd") for name in ("k_proj", "v_proj")},
    *({_LAYER[name]: _LAYER[name].replace(_OF_KEYS, "n_embd")} for name in ("k_proj", "v_proj")),
    *(
        {_LAYER[name]: _LAYER[name].replace(_OF_KEYS, rows) for name in ("k_proj", "v_proj")}
        for rows in ("n_kv_heads", "head_dim", "n_embd // n_kv_heads")
    ),
    {"head_dim = n_embd // n_heads": "head_dim = n_embd // n_kv_heads"},
    {_LAYER["out_proj"]: "self.out_proj = nn.Linear(n_kv_heads * head_dim, n_embd, bias=False)"},
    says="GroupedQueryAttention has a projection with another number of rows or columns.",
    look="How many heads do q_proj, k_proj and v_proj make, and how wide is each?",
)
mistake(
    {
        _LAYER["q_proj"]: f"self.qkv = nn.Linear(n_embd, n_embd + 2 * {_OF_KEYS}, bias=False)",
        _LAYER["k_proj"]: "pass",
        _LAYER["v_proj"]: "pass",
        _SPLIT["q"]: "n = self.n_heads + 2 * self.n_kv_heads\n        "
        "q, k, v = split_heads(self.qkv(x), n).split((self.n_heads, *[self.n_kv_heads] * 2), 1)",
        _SPLIT["k"]: "pass",
        _SPLIT["v"]: "pass",
    },
    says="GroupedQueryAttention makes queries, keys and values by one matrix instead of three.",
    look="Which four parameters does the docstring name?",
)
mistake(
    *(
        {_SPLIT[one]: _SPLIT[one].replace("n_kv_heads", "n_heads") for one in some}
        for some in ("kv", "k", "v")
    ),
    says="GroupedQueryAttention splits keys or values into H heads instead of K.",
    look="How many heads do the rows of k_proj make?",
)
mistake(
    {"self.n_heads // self.n_kv_heads": "self.n_kv_heads"},
    {"self.n_heads // self.n_kv_heads": "self.n_heads"},
    {_K: "k"},
    {_V: "v"},
    {_K: "k", _V: "v"},
    says="GroupedQueryAttention does not repeat keys and values H / K times each.",
    look="How many query heads share a key head if there are 6 and 2? How many heads has your k?",
)
mistake(
    *(
        {
            _SPLIT[one]: f"{one} = self.{one}_proj(x).reshape(len(x), {n}, x.shape[1], -1)"
            for one, n in _HEADS_OF.items()
            if one in some
        }
        for some in ("qkv", "q", "kv")
    ),
    says="GroupedQueryAttention splits heads by a view alone, which mixes tokens.",
    look="Which of your functions makes (B, H, T, D) of (B, T, C)?",
)
mistake(
    {_SPLIT["v"]: _SPLIT["v"].replace("v_proj", "k_proj")},
    {_SPLIT["k"]: _SPLIT["k"].replace("k_proj", "v_proj")},
    {
        _SPLIT["k"]: _SPLIT["k"].replace("k_proj", "v_proj"),
        _SPLIT["v"]: _SPLIT["v"].replace("v_proj", "k_proj"),
    },
    {_READ: f"causal_attention({_K}, q, {_V})"},
    says="GroupedQueryAttention takes one of queries, keys and values for another.",
    look="Which projection makes the queries, which the keys, which the values?",
)
mistake(
    {_READ: f"_read(q, {_K}, {_V}, lambda scores: scores * q.shape[-1] ** 0.5)"},
    says="GroupedQueryAttention does not divide its scores by √D.",
    look="How large does a sum of D products become?",
)
mistake(
    *(
        {
            _READ: f"(q @ {_K}.mT / q.shape[-1] ** 0.5).masked_fill(torch.ones(q.shape[2], "
            f"k.shape[2], dtype=torch.bool).{hidden}, -torch.inf).softmax(-1) @ {_V}"
        }
        for hidden in (
            "tril(k.shape[2] - q.shape[2])",
            "triu(k.shape[2] - q.shape[2])",
            "triu(2 + k.shape[2] - q.shape[2])",
        )
    ),
    says="GroupedQueryAttention hides other keys than the later ones.",
    look="Print the mask for three tokens. What does token 0 see, and what does token 2?",
)
mistake(
    {_READ: f"_read(q, {_K}, {_V}, weigh=_with_zeros)"},
    {
        _READ: f"_read(q, {_K}, {_V}, weigh=lambda scores: "
        f"(q @ {_K}.mT / q.shape[-1] ** 0.5).softmax(-1) * scores.isfinite())"
    },
    says="GroupedQueryAttention has weights for later keys, or weights that don't add up to 1.",
    look="What should be masked, scores or weights? And what does a score of 0 become in softmax?",
)
mistake(
    *(
        {_READ: f"_read(q, {_K}, {_V}, weigh=lambda scores: scores.softmax({axis}))"}
        for axis in (1, 2)
    ),
    says="GroupedQueryAttention takes the softmax along another axis than the keys.",
    look="Which weights of a score matrix should add up to 1?",
)
mistake(
    *({_ROTARY: f"RotaryEmbedding({n}, head_dim, base)"} for n in (128, 256)),
    says="GroupedQueryAttention has room for another number of positions than max_seq_len.",
    look="Which number of positions does your rotation get?",
)
alternative(
    {
        f"heads = causal_attention(q, {_K}, {_V})": (
            f"k, v = {_K}, {_V}\n"
            "        later = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool)\n"
            "        later = later.triu(1 + k.shape[2] - q.shape[2]).to(q.device)\n"
            "        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5\n"
            '        heads = scores.masked_fill(later, float("-inf")).softmax(-1) @ v'
        )
    }
)
alternative(
    {
        'cache["k"].shape[-2] if cache else 0': 'cache["n"] if cache else 0',
        _KEEP: 'cache["k"], cache["v"], cache["n"] = k, v, k.shape[-2]',
    }
)


@alternative
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


@alternative
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


error(
    "ValueError: offset + T must be at most 7 (max_seq_len); got 5 + 3",
    "Usually the offset counts more than the tokens read before: the piece too, or another text.",
)


mistake, alternative, error = entries("GatedMLP")

_GATED = "F.silu(self.gate(x)) * self.up(x)"
_FIRST = "self.gate = nn.Linear(n_embd, n_hidden, bias=False)"
_LAYERS = [
    _FIRST,
    _FIRST.replace("gate", "up"),
    "self.down = nn.Linear(n_hidden, n_embd, bias=False)",
]

mistake(
    {_GATED: "self.gate(x) * F.silu(self.up(x))"},
    says="GatedMLP applies silu to the other branch: the gate is not the one that is switched.",
    look="Which of the two wide layers goes through silu?",
    common=True,
)
mistake(
    {"F.silu(": "F.gelu("},
    says="GatedMLP uses GELU where the gate has silu.",
    look="What is silu(-2), and what is gelu(-2)?",
    common=True,
)
mistake(
    {"F.silu(": "F.sigmoid("},
    says="GatedMLP passes the gate through the logistic function alone, without z itself.",
    look="silu(z) is z times what?",
)
mistake(
    {"F.silu(": "F.relu("},
    says="GatedMLP uses ReLU where the gate has silu.",
    look="What does silu do to small negative numbers?",
)
mistake(
    {_GATED: "F.silu(self.gate(x) * self.up(x))"},
    says="GatedMLP multiplies first and applies silu to the product.",
    look="What exactly goes through silu?",
)
mistake(
    {"return ": "return x + "},
    says="GatedMLP adds x to its result, which the block around it does.",
    look="Where is the residual connection: in the mlp, or where the mlp is called?",
)
mistake(
    {_GATED: "F.silu(self.gate(x))"},
    {_GATED: "self.gate(x)"},
    {_GATED: "F.silu(self.gate(x)) * self.gate(x)"},
    {_GATED: "F.silu(self.gate(x)) ** 2"},
    says="GatedMLP never uses `up`.",
    look="How many of the three layers does the forward pass use?",
)
mistake(
    *(
        {_FIRST: f"n_hidden = {rounded}\n        {_FIRST}"}
        for rounded in (
            *(
                f"{size} * ((n_hidden + {size - 1}) // {size})"
                for size in (8, 16, 32, 64, 128, 256)
            ),
            "int(2 * n_hidden / 3)",
            "2 * n_hidden",
            "4 * n_embd",
        )
    ),
    says="GatedMLP makes its hidden layers wider or narrower than `n_hidden`.",
    look="Who decides how wide the hidden layers are?",
)
mistake(
    {_GATED: "F.silu(self.gate(x)) + self.up(x)"},
    {_GATED: "F.silu(self.gate(x)) - self.up(x)"},
    {_GATED: "self.gate(x) + F.silu(self.up(x))"},
    {_GATED: "self.gate(x) + self.up(x)"},
    says="GatedMLP adds or subtracts the two branches instead of multiplying them.",
    look="How does a gate of 0 keep a feature from passing?",
)
mistake(
    {_GATED: "F.silu(self.gate(x)) * F.silu(self.up(x))"},
    says="GatedMLP applies silu to both branches.",
    look="How often is silu in the formula?",
)
mistake(
    {_GATED: "self.gate(x) * self.up(x)"},
    says="GatedMLP applies no silu at all.",
    look="What should a gate of -10 let pass?",
)
mistake(
    {_GATED: "F.silu(self.up(x))"},
    {_GATED: "self.up(x)"},
    says="GatedMLP never uses `gate`.",
    look="How many of the three layers does the forward pass use?",
)
mistake(
    {f"self.down({_GATED})": "F.silu(self.down(self.gate(x) * self.up(x)))"},
    {f"self.down({_GATED})": f"F.silu(self.down({_GATED}))"},
    says="GatedMLP applies silu to what comes out of `down`.",
    look="What exactly goes through silu?",
)
mistake(
    {_GATED: "self.gate(x) * torch.sigmoid(1.702 * self.gate(x)) * self.up(x)"},
    {"F.silu(self.gate(x))": "F.gelu(self.gate(x), approximate='tanh')"},
    {"F.silu(self.gate(x))": "F.relu(self.gate(x)).square()"},
    {"F.silu(self.gate(x))": "self.gate(x).tanh()"},
    {"F.silu(self.gate(x))": "F.softplus(self.gate(x))"},
    {"F.silu(self.gate(x))": "F.mish(self.gate(x))"},
    {"F.silu(self.gate(x))": "F.hardswish(self.gate(x))"},
    {"F.silu(self.gate(x))": "F.elu(self.gate(x))"},
    {"F.silu(self.gate(x))": "F.leaky_relu(self.gate(x))"},
    {"F.silu(self.gate(x))": "F.softmax(self.gate(x), dim=-1)"},
    {_GATED: "-F.silu(-self.gate(x)) * self.up(x)"},
    says="GatedMLP has another function than silu at its gate.",
    look="What does your function make of 2 and of -2? silu makes 1.76 and -0.24.",
)
mistake(
    *(
        {line: line.replace(", bias=False", "") for line in lines}
        for lines in (_LAYERS, _LAYERS[:2], _LAYERS[2:])
    ),
    says="GatedMLP gives a layer a bias.",
    look="Which parameters does the docstring list?",
)
mistake(
    {
        line: line.replace("Linear(n_embd, n_hidden", "Linear(n_hidden, n_embd")
        for line in _LAYERS[:2]
    },
    {_LAYERS[2]: _LAYERS[2].replace("n_hidden, n_embd", "n_embd, n_hidden")},
    {_LAYERS[2]: _LAYERS[2].replace("n_hidden, n_embd", "n_hidden, n_hidden")},
    says="GatedMLP swaps the two widths of a layer.",
    look="Which layers widen, and which one narrows? What comes first in nn.Linear?",
)
mistake(
    {
        _LAYERS[0]: "self.gate = nn.Linear(n_embd, 2 * n_hidden, bias=False)",
        _LAYERS[1]: "pass",
        _GATED: "F.silu(self.gate(x).chunk(2, -1)[0]) * self.gate(x).chunk(2, -1)[1]",
    },
    says="GatedMLP makes gate and up by one layer instead of two.",
    look="Which parameters does the docstring list?",
)
mistake(
    {_GATED: f"F.dropout({_GATED}, 0.1, self.training)"},
    says="GatedMLP drops some of its numbers at random in training.",
    look="Does a second call give the same?",
)
alternative({_GATED: "self.gate(x) * torch.sigmoid(self.gate(x)) * self.up(x)"})
alternative({_GATED: "nn.SiLU()(self.gate(x)).mul(self.up(x))"})


@alternative
class by_the_formula_of_silu(nn.Module):
    def __init__(self, n_embd, n_hidden):
        super().__init__()
        self.gate, self.up = (nn.Linear(n_embd, n_hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(n_hidden, n_embd, bias=False)

    def forward(self, x):
        z = self.gate(x)
        return self.down(z * z.sigmoid() * self.up(x))


mistake, alternative, error = entries("Llama")

_ATTEND = "x = x + block.attention(block.norm1(x), cache)"
_MLP = "x = x + block.mlp(block.norm2(x))"
_NORM = "self.norm = RMSNorm(n_embd, eps)"
_LOGITS = "tied_logits(self.norm(x), self.tokens.weight)"
_ROWS = "x = self.tokens(ids)"
_EACH = "caches or [None] * len(self.blocks)"
_HEADS = "GroupedQueryAttention(n_embd, n_heads, n_kv_heads, max_seq_len, base)"
_GATE = "block.mlp = GatedMLP(n_embd, n_hidden)"
_NORMS = [f"block.{norm} = RMSNorm(n_embd, eps)" for norm in ("norm1", "norm2")]


inherit(
    *("gpt", "Block", "Llama"),
    {
        **{f"self.{part}": f"block.{part}" for part in ("attention", "norm1", "norm2", "mlp")},
        "nn.LayerNorm(n_embd)": "RMSNorm(n_embd, eps)",
        "return ": "x = ",
        "\n        ": "\n            ",
    },
    unless=("gradient", "shift", "writes", "returns", "GELU", "cuts"),
)
inherit(
    *("gpt", "GPT", "Llama"),
    {"self.norm = nn.LayerNorm(n_embd)": "self.norm = RMSNorm(n_embd, eps)"},
    unless=("gradient", "shift", "cuts"),
)
mistake(
    {_NORM: "pass", "self.norm(x)": "x"},
    says="Llama forgets the norm after the last block.",
    look="What happens between the last block and the table?",
    common=True,
)
mistake(
    *({_ROWS: f"x = self.tokens(ids[:, -{n} :])"} for n in (128, 256, 512)),
    says="Llama cuts off the beginning of a long text.",
    look="How many logits should come back, and what should happen if there are too many tokens?",
)

mistake(
    {_HEADS: _HEADS.replace(", base", "")},
    says="Llama does not pass `base` on to its attention.",
    look="Which part rotates, and with which base?",
    common=True,
)
mistake(
    *({norm: norm.replace(", eps", "") for norm in some} for some in ([_NORM], _NORMS)),
    *({norm: norm.replace(", eps", "")} for norm in _NORMS),
    {norm: norm.replace(", eps", "") for norm in [*_NORMS, _NORM]},
    says="Llama does not pass `eps` on to all of its norms.",
    look="How many norms are there, and which eps do they have?",
    common=True,
)
mistake(
    {_NORM: f"self.blocks = nn.ModuleList([self.blocks[0]] * n_layers)\n        {_NORM}"},
    says="Llama uses one block several times instead of several blocks.",
    look="What does `[block] * 3` hold?",
)
mistake(
    {"nn.ModuleList()": "[]"},
    says="Llama keeps its blocks in a plain list, where PyTorch does not see them.",
    look="Are the parameters of the blocks among those of the model?",
)
mistake(
    {"range(n_layers)": "range(n_layers - 1)"},
    {"range(n_layers)": "range(n_layers + 1)"},
    {"range(n_layers)": "range(1)"},
    says="Llama has another number of blocks than n_layers.",
    look="How many blocks are made?",
)
mistake(
    {_EACH: "caches[:1] * len(self.blocks) if caches else [None] * len(self.blocks)"},
    says="Llama lets all its blocks share one cache.",
    look="How many dicts are in `caches`, and which block gets which?",
)
mistake(
    {_EACH: "(caches or [None])[:1] + [None] * (len(self.blocks) - 1)"},
    says="Llama does not hand each block its cache.",
    look="Which blocks have attention, and which of them get a cache?",
)
mistake(
    {
        _ATTEND: "y = x + block.attention(block.norm1(x), cache)",
        _MLP: "x = x + y + block.mlp(block.norm2(y))",
    },
    says="Llama adds to each block what came in, as the block itself does.",
    look="How often is x added to what a block's two parts give?",
)
mistake(
    *({"zip(self.blocks": f"zip(self.blocks[:{n}]", ", strict=True": ""} for n in (1, 5)),
    says="Llama goes through the first of its blocks only.",
    look="Which blocks does your loop reach?",
)
mistake(
    {_MLP: f"{_MLP}\n            x = self.norm(x)", "self.norm(x)": "x"},
    says="Llama norms after every block with the last norm.",
    look="How often is the last norm used?",
)
mistake(
    {_HEADS: _HEADS.replace("max_seq_len", "4 * max_seq_len")},
    {_HEADS: _HEADS.replace("max_seq_len", "8192")},
    {_ROWS: "x = self.tokens(ids[:, -self.max_seq_len :])"},
    says="Llama does not refuse more than max_seq_len tokens.",
    look="How many positions does your attention have, and what happens to a text with one more?",
)
mistake(
    {_HEADS: _HEADS.replace("n_kv_heads", "n_heads")},
    {_HEADS: _HEADS.replace("n_heads, n_kv_heads", "n_kv_heads, n_kv_heads")},
    {_HEADS: _HEADS.replace("n_heads, n_kv_heads", "n_kv_heads, n_heads")},
    {_HEADS: _HEADS.replace("max_seq_len, base", "max_seq_len, eps")},
    {_GATE: "block.mlp = GatedMLP(n_embd, 4 * n_embd)"},
    {_GATE: "block.mlp = GatedMLP(n_hidden, n_embd)"},
    says="Llama gives a part of its blocks other arguments than it should.",
    look="Which arguments do your attention and your mlp get, and in which order?",
)
mistake(
    {
        _GATE: "block.mlp = nn.Sequential(nn.Linear(n_embd, n_hidden, bias=False), nn.GELU(), "
        "nn.Linear(n_hidden, n_embd, bias=False))"
    },
    says="Llama has the mlp of lesson 8, without a gate.",
    look="Which three weights does an mlp have here?",
)
mistake(
    *(
        {old: old.replace("RMSNorm(n_embd, eps)", new) for old in [*_NORMS, _NORM]}
        for new in ("nn.LayerNorm(n_embd, eps)", "nn.LayerNorm(n_embd, eps, bias=False)")
    ),
    {old: old.replace("RMSNorm", "nn.LayerNorm") for old in _NORMS},
    says="Llama has layer norms instead of RMSNorms.",
    look="Which norm does this lesson write?",
)
mistake(
    {
        _ATTEND: "last = x + block.attention(block.norm1(x), cache)",
        _MLP: "last = last + block.mlp(block.norm2(last))",
        "self.norm(x)": "self.norm(last)",
    },
    {_LOGITS: "tied_logits(self.norm(self.tokens(ids)), self.tokens.weight)"},
    says="Llama does not hand what a block found to the next one.",
    look="Which x goes into the second block?",
)
alternative(
    {"tied_logits(self.norm(x), self.tokens.weight)": "self.norm(x) @ self.tokens.weight.T"}
)


@alternative
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


mistake, alternative, error = entries("weights_from_gguf")

_OF_HEADS = 'heads = {"attn_q": n_heads, "attn_k": n_kv_heads}'
_REORDERED = "interleaved_to_half(tensor, heads[part]) if part in heads else tensor"
_REFUSE = 'raise ValueError(f"no weight of a Llama is called {name!r}")'

mistake(
    {_REORDERED: "tensor"},
    says="weights_from_gguf leaves the rows of q and k interleaved.",
    look="In which order does your rotation expect the rows of a pair?",
    common=True,
)
mistake(
    {_OF_HEADS: 'heads = {"attn_q": n_heads, "attn_k": n_heads}'},
    says="weights_from_gguf reorders the rows of k with the heads of q.",
    look="How many heads do the rows of attn_k belong to?",
    common=True,
)
mistake(
    {_OF_HEADS: 'heads = {"attn_q": n_heads, "attn_k": n_kv_heads, "attn_v": n_kv_heads}'},
    says="weights_from_gguf reorders the rows of v as well, which nothing rotates.",
    look="Which two weights feed the rotation?",
    common=True,
)
mistake(
    {_OF_HEADS: 'heads = {"attn_q": n_heads}'},
    {_OF_HEADS: 'heads = {"attn_k": n_kv_heads}'},
    says="weights_from_gguf reorders the rows of only one of q and k.",
    look="Which two weights feed the rotation?",
)
mistake(
    {_OF_HEADS: 'heads = {"attn_q": n_heads, "attn_k": 1}'},
    says="weights_from_gguf reorders the rows of k as if they were one head.",
    look="How many heads do the rows of attn_k belong to?",
)
mistake(
    {_OF_HEADS: 'heads = {"attn_q": 1, "attn_k": 1}'},
    {_OF_HEADS: 'heads = {"attn_q": 1, "attn_k": n_kv_heads}'},
    {_OF_HEADS: 'heads = {"attn_q": n_kv_heads, "attn_k": n_heads}'},
    {_OF_HEADS: 'heads = {"attn_q": n_kv_heads, "attn_k": n_kv_heads}'},
    says="weights_from_gguf reorders the rows of q with another number of heads than H.",
    look="How many heads do the rows of attn_q belong to? What should happen to those of attn_k?",
)
mistake(
    {_OF_HEADS: 'heads = {"attn_q": n_heads, "attn_k": n_kv_heads, "attn_output": n_heads}'},
    {_OF_HEADS: 'heads = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), n_heads)'},
    {_OF_HEADS: 'heads = {"attn_v": n_kv_heads}'},
    says="weights_from_gguf reorders rows that nothing rotates.",
    look="Which two weights feed the rotation?",
)
mistake(
    {_REORDERED: "interleaved_to_half(tensor.T, heads[part]).T if part in heads else tensor"},
    {_REORDERED: "tensor.T if part in heads else tensor"},
    {_REORDERED: "tensor.T if tensor.dim() == 2 else tensor"},
    {_REORDERED: "interleaved_to_half(tensor, heads[part]).T if part in heads else tensor.T"},
    says="weights_from_gguf transposes weights, or reorders columns instead of rows.",
    look="What is on the rows of a weight (rows, columns), and what on its columns?",
)
mistake(
    {_REFUSE: "continue"},
    {_REFUSE: "weights[name] = tensor"},
    {_REFUSE: "print('unknown', name)"},
    {_REFUSE: "return weights"},
    {r'\.weight", name': r'\.\w+", name'},
    *(
        {
            "for name, tensor in tensors.items():": "for name, tensor in tensors.items():\n"
            f"        if {which}:\n            continue"
        }
        for which in ("'rope' in name", "not name.endswith('.weight')", "name[0] in 'or'")
    ),
    says="weights_from_gguf raises no ValueError for some name that it does not know.",
    look="What does your code do with `output.weight`, `rope_freqs.weight`, `blk.0.attn_q.bias`?",
    common=True,
)
mistake(
    {_REFUSE: "raise KeyError(name)"},
    {_REFUSE: "raise NameError(name)"},
    {_REFUSE: "raise AssertionError(name)"},
    {_REFUSE: "raise RuntimeError(name)"},
    {_REFUSE: "raise Exception(name)"},
    says="weights_from_gguf raises another error than ValueError for a name that it does not know.",
    look="Which exception does the docstring name?",
)
mistake(
    *(
        {"reordered\n": f"{one}\n", "= tensor\n": f"= {other}\n"}
        for one, other in (
            ("reordered.half()", "tensor.half()"),
            ("reordered.bfloat16()", "tensor.bfloat16()"),
            ("reordered.half()", "tensor"),
            ("reordered.bfloat16()", "tensor"),
            ("reordered.half().float()", "tensor.half().float()"),
            ("reordered.double()", "tensor.double()"),
        )
    ),
    says="weights_from_gguf returns weights in another precision than they came in.",
    look="Which dtype do the weights have before, and which afterwards?",
)
mistake(
    {
        "for name, tensor in tensors.items():": "for name, tensor in tensors.items():\n"
        "        if name[:4] == 'blk.' and name[5] != '.':\n            continue"
    },
    says="weights_from_gguf leaves out the blocks from number 10 on.",
    look="How many blocks does SmolLM2 have?",
)
mistake(
    {r"blk\.(\d+)": r"blk\.(\d)"},
    says="weights_from_gguf does not know blocks whose number has two digits.",
    look="How many blocks does SmolLM2 have, and what does `\\d` match?",
)
mistake(
    {
        "weights = {}": "weights, order = {}, {}",
        "number, part = found.groups()": "number, part = found.groups()\n"
        "            number = order.setdefault(number, len(order))",
    },
    says="weights_from_gguf numbers the blocks in the order in which they come.",
    look="Which number does `blk.3` get if it comes first?",
)
mistake(
    {
        _REORDERED: "tensor.unflatten(0, (heads[part], 2, -1)).transpose(1, 2)"
        ".reshape(tensor.shape) if part in heads else tensor"
    },
    says="weights_from_gguf reorders rows the other way, from split halves to interleaved pairs.",
    look="Which row of a head should come second: row 1 or row 2 of the file?",
)
mistake(
    {
        _REORDERED: "tensor.copy_(interleaved_to_half(tensor, heads[part]))"
        " if part in heads else tensor"
    },
    says="weights_from_gguf reorders the rows in the tensors that it was given.",
    look="Which of your operations end in an underscore, or assign to rows?",
)
mistake(
    {
        "for name, tensor in tensors.items():": "for name in list(tensors):\n"
        "        tensor = tensors.pop(name)"
    },
    says="weights_from_gguf takes the tensors out of the dict that it was given.",
    look="What does the caller's dict hold after the call?",
)
mistake(
    {r"blk\.(\d+)": r"blk\.(\d)\d*"},
    {
        r"blk\.(\d+)": r"blk\.(\d)\d*",
        'weights[f"blocks.{number}.{parts[part]}.weight"] = reordered': "weights.setdefault("
        'f"blocks.{number}.{parts[part]}.weight", reordered)',
    },
    says="weights_from_gguf reads only the first digit of a block's number: 10 becomes 1.",
    look="How many blocks does SmolLM2 have, and which number has two digits?",
)
mistake(
    {
        '"ffn_gate": "mlp.gate"': '"ffn_gate": "mlp.up"',
        '"ffn_up": "mlp.up"': '"ffn_up": "mlp.gate"',
    },
    says="weights_from_gguf mixes up gate and up.",
    look="Which of the two goes through silu in the file's model?",
)
mistake(
    {
        '.{parts[part]}.weight"': '.{parts[part]}"',
        '"norm.weight"}': '"norm"}',
        '"tokens.weight"': '"tokens"',
    },
    {'.{parts[part]}.weight"': '.{parts[part]}"'},
    {'"norm.weight"}': '"norm"}', '"tokens.weight"': '"tokens"'},
    {"blocks.{number}": "blocks.{int(number) + 1}"},
    {"blocks.{number}": "blocks.{int(number) - 1}"},
    {'f"blocks.{number}': 'f"blk.{number}'},
    {'f"blocks.{number}': 'f"block.{number}'},
    {'f"blocks.{number}': 'f"layers.{number}'},
    {'f"blocks.{number}': 'f"{number}'},
    *(
        {f'"{old}': f'"{new}'}
        for old, new in (
            ("attention.out_proj", "attention.o_proj"),
            ("attention.out_proj", "attention.output_proj"),
            ("tokens.weight", "tokens.embedding.weight"),
            ("tokens.weight", "tok_emb.weight"),
            ("tokens.weight", "token_embd.weight"),
            ("norm.weight", "output_norm.weight"),
            ("norm1", "attention_norm"),
        )
    ),
    {
        '"attention.q_proj"': '"attention.q"',
        '"attention.k_proj"': '"attention.k"',
        '"attention.v_proj"': '"attention.v"',
    },
    says="weights_from_gguf gives weights other names than the docstring's list.",
    look="Print the names that your result has, and those of the parameters of a Llama.",
)
mistake(
    {'"attn_norm": "norm1"': '"attn_norm": "norm2"', '"ffn_norm": "norm2"': '"ffn_norm": "norm1"'},
    says="weights_from_gguf mixes up the two norms of a block.",
    look="Which part does norm1 come before?",
)


@mistake(
    says="weights_from_gguf raises no ValueError for some name that it does not know.",
    look="What does your code do with `output.weight`, `rope_freqs.weight`, `blk.0.attn_q.bias`?",
)
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


@alternative
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


alternative(
    {
        _REORDERED: (
            "tensor.unflatten(0, (heads[part], -1, 2)).transpose(1, 2).reshape(tensor.shape)"
            " if part in heads else tensor"
        )
    }
)


mistake, alternative, error = entries("loss_by_position")

_LOGITS = "logits = model(ids)[:, :-1].transpose(1, 2)"
_LOSSES = 'F.cross_entropy(logits, ids[:, 1:], reduction="none")'

mistake(
    {"model(ids)[:, :-1]": "model(ids)", "ids[:, 1:]": "ids"},
    {"model(ids)[:, :-1]": "model(ids)[:, 1:]"},
    {"ids[:, 1:]": "ids[:, :-1]"},
    {"model(ids)[:, :-1]": "model(ids)[:, 1:]", "ids[:, 1:]": "ids[:, :-1]"},
    says="loss_by_position asks for a token that was read already instead of the next one.",
    look="Which id are the logits at t about?",
    common=True,
)
mistake(
    *(
        {"model(ids)": f"torch.cat([model(piece) for piece in ids.split({n}, dim=1)], dim=1)"}
        for n in (1, 2, 16, 32, 64, 100, 128, 256, "max(1, ids.shape[1] // 2)")
    ),
    *(
        {
            "model(ids)": "torch.stack([model(ids[:, max(0, t - "
            f"{n}) : t + 1])[:, -1] for t in range(ids.shape[1])], dim=1)"
        }
        for n in (1, 16, 32, 64, 128)
    ),
    says="loss_by_position lets the model read less than all that comes before a position.",
    look="How many tokens has the model read when it guesses the last one?",
    common=True,
)
mistake(
    {"model(ids)": "model(ids.flip(1)).flip(1)"},
    {"model(ids)": "model(ids.flip(1))"},
    says="loss_by_position lets the model read the text backwards.",
    look="Which token does the model read first?",
)
mistake(
    {"model(ids)": "model(ids.reshape(1, -1)).reshape(*ids.shape, -1)"},
    {"model(ids)": "model(ids.T.reshape(1, -1)).reshape(*ids.shape, -1)"},
    {"model(ids)": "model(ids.T).transpose(0, 1)"},
    says="loss_by_position mixes the texts: the model reads them as if they were one.",
    look="What has the model read before the first token of the second text?",
)
mistake(
    {"model(ids)[:, :-1]": "model(ids[:, 1:])"},
    {"model(ids)[:, :-1]": "model(ids[:, 1:].contiguous().roll(1, 1))"},
    says="loss_by_position lets the model read other tokens than those before a position.",
    look="Which tokens does the model read, and which one does it guess from them?",
)
mistake(
    {"losses.mean(dim=0)": "losses.mean()"},
    {', reduction="none"': "", "losses.mean(dim=0)": "losses"},
    says="loss_by_position averages over the positions too, which leaves one number.",
    look="Over which axis do you average?",
    common=True,
)
mistake(
    {"losses.mean(dim=0)": "losses.sum(dim=0)"},
    says="loss_by_position adds the losses of the texts instead of averaging them.",
    look="What should two equal texts give?",
)
mistake(
    {"losses.mean(dim=0)": "losses.mean(dim=1)"},
    {"losses.mean(dim=0)": "losses.mean(dim=-1, keepdim=True)"},
    says="loss_by_position averages over the positions and keeps the texts.",
    look="How many numbers should come back: one for each text, or one for each position?",
)
mistake(
    {"losses.mean(dim=0)": "losses"},
    {"losses.mean(dim=0)": "losses[0]"},
    {"losses.mean(dim=0)": "losses[-1]"},
    {"losses.mean(dim=0)": "losses.median(dim=0).values"},
    says="loss_by_position takes no mean over the texts.",
    look="What should come back for two texts?",
)
mistake(
    {".transpose(1, 2)": ""},
    {".transpose(1, 2)": ".reshape(len(ids), -1, ids.shape[1] - 1)"},
    {".transpose(1, 2)": ".transpose(0, 1)"},
    says="loss_by_position gives cross_entropy its logits with the axes in the wrong order.",
    look="Which axis of the logits is V, and where does PyTorch expect it?",
)
mistake(
    {"F.cross_entropy(logits": "F.cross_entropy(logits.softmax(1)"},
    {"F.cross_entropy(logits": "F.nll_loss(logits"},
    {"F.cross_entropy(logits": "F.nll_loss(logits.softmax(1)"},
    {"F.cross_entropy(logits": "F.cross_entropy(logits.softmax(-1)"},
    says="loss_by_position takes a softmax too many, or a logarithm too few.",
    look="What does F.cross_entropy do to the logits itself?",
)
mistake(
    {"    model.eval()\n": ""},
    {"    model.eval()\n": "    model.train()\n"},
    says="loss_by_position does not measure in evaluation mode.",
    look="What do dropout layers do in training mode?",
)
mistake(
    *({"losses.mean(dim=0)": f"losses.mean(dim=0)[:{n}]"} for n in (1, 16, 64, 100, 128, 256, -1)),
    {"losses.mean(dim=0)": "losses.mean(dim=0)[1:]"},
    says="loss_by_position leaves out some positions.",
    look="How many numbers should come back for a text of 300 tokens?",
)
mistake(
    {"losses.mean(dim=0)": "(logits.argmax(1) == ids[:, 1:]).float().mean(dim=0)"},
    {"losses.mean(dim=0)": "(logits.argmax(1) != ids[:, 1:]).float().mean(dim=0)"},
    {"losses.mean(dim=0)": "-logits.log_softmax(1).amax(1).mean(dim=0)"},
    says="loss_by_position measures something else than the cross entropy of the next id.",
    look="Which logarithm does the loss take: of the probability of which id?",
)
mistake(
    {"losses.mean(dim=0)": "F.pad(losses.mean(dim=0), (0, 1))"},
    {"losses.mean(dim=0)": "F.pad(losses.mean(dim=0), (1, 0))"},
    says="loss_by_position has T numbers, although the last token has no successor.",
    look="How many of T tokens have a next one?",
)
mistake(
    {"losses.mean(dim=0)": "losses.mean(dim=0) / math.log(2)"},
    says="loss_by_position counts in bits instead of nats.",
    look="What does a model pay that knows nothing about four tokens?",
)
mistake(
    {"    model.train(was_training)\n": ""},
    says="loss_by_position leaves the model in evaluation mode.",
    look="In which mode was the model before?",
)
mistake(
    *(
        {
            "losses.mean(dim=0)": f"torch.stack([one.mean(dim=0) for one in losses.split({size})])"
            ".mean(dim=0)"
        }
        for size in (2, 4, 8, 16, 32)
    ),
    says="loss_by_position averages the means of batches: a short last one counts like a full one.",
    look="How many texts does each of your means stand for?",
)
mistake(
    {'reduction="none"': 'reduction="none", ignore_index=0'},
    says="loss_by_position leaves out the id 0, as if it were padding.",
    look="Which id is no token?",
)
mistake(
    {"losses.mean(dim=0)": "losses.reshape(losses.shape[::-1]).mean(dim=1)"},
    says="loss_by_position reads its losses as (T - 1, B), although they are (B, T - 1).",
    look="Which two losses are next to each other in memory: of one text, or of one position?",
)
mistake(
    {"losses.mean(dim=0)": "losses.mean(dim=0).exp()"},
    says="loss_by_position returns perplexities, e to the loss, instead of the loss.",
    look="What does a nat measure: a loss, or how many tokens seem equally likely?",
)
mistake(
    {"losses.mean(dim=0)": "-(-losses).exp().mean(dim=0).log()"},
    says="loss_by_position averages the probabilities and takes the logarithm afterwards.",
    look="Which comes first, the logarithm or the mean?",
)
mistake(
    {
        "model.train(was_training)": "model.train(was_training)\n"
        "    losses = losses.cumsum(1) / torch.arange(1, ids.shape[1])"
    },
    says="loss_by_position averages over all positions up to t.",
    look="Which losses belong to position 3?",
)
mistake(
    {"model.train(was_training)": "model.train()"},
    says="loss_by_position leaves the model in training mode, even if it was not.",
    look="In which mode was the model before?",
)
mistake(
    {"with torch.no_grad():": "if True:"},
    says="loss_by_position runs the model with gradients.",
    look="What does a measurement need no graph for?",
)
alternative(
    {
        f"{_LOGITS}  # (B, V, T - 1)": "logits = model(ids)[:, :-1].log_softmax(-1)",
        _LOSSES: "-logits.gather(2, ids[:, 1:, None])[..., 0]",
    }
)
alternative({"with torch.no_grad():": "with torch.inference_mode():"})


@alternative
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
