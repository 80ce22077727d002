"""Lesson 9: known mistakes and legitimate alternatives."""

import math
import re

import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries, inherit
from solutions.gpt import causal_attention, merge_heads, split_heads
from solutions.learned import tied_logits
from solutions.llama import GatedMLP, GroupedQueryAttention, RMSNorm, repeat_heads
from solutions.lookup import TokenEmbedding
from solutions.rope import RotaryEmbedding, interleaved_to_half

mistake, alternative, error = entries("RMSNorm")

_SQUARE = "mean_square = x.square().mean(dim=-1, keepdim=True)"
_RESULT = "x * torch.rsqrt(mean_square + self.eps) * self.weight"

mistake(
    {_SQUARE: f"x = x - x.mean(dim=-1, keepdim=True)\n        {_SQUARE}"},
    {_SQUARE: "mean_square = x.var(dim=-1, keepdim=True, unbiased=False)"},
    says="RMSNorm subtracts the mean, as layer norm does.",
    look="What is the mean of (3, 4)? Does it appear in the formula?",
    common=True,
)
mistake(
    *(
        {"torch.rsqrt(mean_square + self.eps)": f"(1 / (mean_square{safe}.sqrt() + self.eps))"}
        for safe in ("", ".clamp(min=1e-30)")
    ),
    says="RMSNorm adds eps outside the root, where it counts for much less.",
    look="Is eps added to the mean of the squares or to their root?",
    common=True,
)
mistake(
    {"* self.weight": "* (1 + self.weight)"},
    says="RMSNorm scales by 1 + weight, but the weight starts at 1 already.",
    look="What comes out for a row of ones with the first weights?",
    common=True,
)
mistake(
    {"* torch.rsqrt(mean_square + self.eps)": "/ (mean_square + self.eps)"},
    says="RMSNorm divides by the mean square, without the root.",
    look="What do you divide (3, 4) by: 12.5 or 3.54?",
)
mistake(
    {"x.square().mean(": "x.square().sum("},
    {_RESULT: "F.normalize(x, dim=-1) * self.weight"},
    says="RMSNorm divides by the length of the row, not by its root mean square.",
    look="By which factor do a sum and a mean of C squares differ?",
)
mistake(
    {_RESULT: "F.normalize(x, dim=-1, eps=self.eps) * x.shape[-1] ** 0.5 * self.weight"},
    {_RESULT: "F.normalize(x, dim=-1) * x.shape[-1] ** 0.5 * self.weight"},
    {"torch.rsqrt(mean_square + self.eps)": "torch.rsqrt(mean_square.clamp(min=self.eps))"},
    {"torch.rsqrt(mean_square + self.eps)": "(1 / mean_square.sqrt().clamp(min=self.eps))"},
    says="RMSNorm adds no eps: small rows become as long as others.",
    look="What becomes of a row whose mean square is as small as eps?",
)
mistake(
    {"mean_square + self.eps": "mean_square.sqrt() ** 2 + self.eps"},
    says="RMSNorm takes a root before eps is added, and its slope at 0 is infinite.",
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
    {"self.eps = eps": "self.eps = 1e-5"},
    {"self.eps = eps": "self.eps = 1e-6"},
    says="RMSNorm uses its own eps, whichever it is given.",
    look="Where does the argument `eps` go?",
)
mistake(
    {"* self.weight": ""},
    says="RMSNorm never multiplies by its weight.",
    look="What does the parameter do in the forward pass?",
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


mistake, alternative, error = entries("repeat_heads")

_REPEAT = "x.repeat_interleave(n_repeats, dim=1)"

mistake(
    {_REPEAT: "x.repeat(1, n_repeats, 1, 1)"},
    says="repeat_heads repeats the whole list of heads (0 1 0 1), not each head (0 0 1 1).",
    look="Which key head does query head 1 read if two share one?",
    common=True,
)
mistake(
    {_REPEAT: "x.repeat_interleave(n_repeats, dim=2)"},
    {_REPEAT: "x.repeat_interleave(n_repeats, dim=0)"},
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
_OF_KEYS = "n_kv_heads * head_dim"
_ROWS = {"q_proj": "n_embd", "k_proj": _OF_KEYS, "v_proj": _OF_KEYS, "out_proj": "n_embd"}

mistake(
    {_K: "k.repeat(1, n_repeats, 1, 1)", _V: "v.repeat(1, n_repeats, 1, 1)"},
    says="GroupedQueryAttention gives query head h the key head h % K instead of h // (H / K).",
    look="Which query heads should share a key head: neighbors, or every third?",
    common=True,
)
mistake(
    {"self.n_heads // self.n_kv_heads": "self.n_kv_heads"},
    says="GroupedQueryAttention repeats each key head K times instead of H / K times.",
    look="How many query heads share a key head if there are 6 and 2?",
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
    {"RotaryEmbedding(max_seq_len, head_dim, base)": "RotaryEmbedding(max_seq_len, head_dim)"},
    says="GroupedQueryAttention ignores `base` and rotates with 10,000.",
    look="Who has to be told the base?",
    common=True,
)
mistake(
    {
        "self.q_proj = nn.Linear(n_embd, n_embd, bias=False)": (
            "self.q_proj = nn.Linear(n_embd, n_embd)"
        )
    },
    *(
        {
            f"self.{name} = nn.Linear(n_embd, {rows}, bias=False)": (
                f"self.{name} = nn.Linear(n_embd, {rows})"
            )
            for name, rows in _ROWS.items()
            if name in names
        }
        for names in ({"q_proj", "k_proj", "v_proj"}, set(_ROWS))
    ),
    says="GroupedQueryAttention gives a projection a bias.",
    look="Which parameters does the docstring list?",
)
mistake(
    {"if n_heads % n_kv_heads:": "if n_heads < n_kv_heads:"},
    says="GroupedQueryAttention raises no ValueError for key heads that cannot be shared evenly.",
    look="Can six query heads share four key heads?",
)
mistake(
    *(
        {
            'cache["k"].shape[-2] if cache else 0': 'cache["n"] if cache else 0',
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
inherit(
    "gpt",
    "CausalSelfAttention",
    "GroupedQueryAttention",
    {
        "attention(q, k, v": f"attention(q, {_K}, {_V}",
        "** 0.5, k, v)": f"** 0.5, {_K}, {_V})",
        "**0.5, k, v)": f"**0.5, {_K}, {_V})",
        "n_embd // n_heads)": "head_dim, base)",
        "n_embd // n_heads, 1000.0)": "head_dim, base / 10)",
    },
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


mistake, alternative, error = entries("GatedMLP")

_GATED = "F.silu(self.gate(x)) * self.up(x)"
_FIRST = "self.gate = nn.Linear(n_embd, n_hidden, bias=False)"

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
        )
    ),
    says="GatedMLP makes its hidden layers wider or narrower than `n_hidden`.",
    look="Who decides how wide the hidden layers are?",
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

mistake(
    {
        _ATTEND: "x = block.norm1(x + block.attention(x, cache))",
        _MLP: "x = block.norm2(x + block.mlp(x))",
    },
    says="Llama norms after each sum (post-norm) instead of before each part.",
    look="What goes through norm1: the input of attention, or the sum?",
    common=True,
)
mistake(
    {
        "self.norm = RMSNorm(n_embd, eps)": (
            "self.norm = RMSNorm(n_embd, eps)\n"
            "        self.output = nn.Linear(n_embd, vocab_size, bias=False)"
        ),
        "tied_logits(self.norm(x), self.tokens.weight)": "self.output(self.norm(x))",
    },
    says="Llama has a separate output table instead of using the token table twice.",
    look="How many tables (V, C) are among the published weights?",
    common=True,
)
mistake(
    {"n_kv_heads, max_seq_len, base)": "n_kv_heads, max_seq_len)"},
    says="Llama does not pass `base` on to its attention.",
    look="Which part rotates, and with which base?",
    common=True,
)
mistake(
    {"block.norm1 = RMSNorm(n_embd, eps)": "block.norm1 = RMSNorm(n_embd)"},
    {"block.norm2 = RMSNorm(n_embd, eps)": "block.norm2 = RMSNorm(n_embd)"},
    {"self.norm = RMSNorm(n_embd, eps)": "self.norm = RMSNorm(n_embd)"},
    {
        f"block.{norm} = RMSNorm(n_embd, eps)": f"block.{norm} = RMSNorm(n_embd)"
        for norm in ("norm1", "norm2")
    },
    says="Llama does not pass `eps` on to all of its norms.",
    look="How many norms are there, and which eps do they have?",
)
mistake(
    {_NORM: f"self.blocks = nn.ModuleList([self.blocks[0]] * n_layers)\n        {_NORM}"},
    says="Llama uses one block several times instead of several blocks.",
    look="What does `[block] * 3` hold?",
)
mistake(
    {"block.norm2 = RMSNorm(n_embd, eps)": "block.norm2 = block.norm1"},
    says="Llama has one norm for both parts of a block.",
    look="How many numbers do two norms have?",
)
inherit("gpt", "GPT", "Llama", {"self.norm = nn.LayerNorm(n_embd)": _NORM})
inherit(
    "gpt",
    "Block",
    "Llama",
    {
        **{f"self.{part}": f"block.{part}" for part in ("norm1", "norm2", "attention", "mlp")},
        "return ": "x = ",
        "\n        ": "\n            ",
    },
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

_HEADS = 'heads = {"attn_q": n_heads, "attn_k": n_kv_heads}'
_REORDERED = "interleaved_to_half(tensor, heads[part]) if part in heads else tensor"

mistake(
    {_REORDERED: "tensor"},
    says="weights_from_gguf leaves the rows of q and k interleaved.",
    look="In which order does your rotation expect the rows of a pair?",
    common=True,
)
mistake(
    {_HEADS: 'heads = {"attn_q": n_heads, "attn_k": n_heads}'},
    says="weights_from_gguf reorders the rows of k with the heads of q.",
    look="How many heads do the rows of attn_k belong to?",
    common=True,
)
mistake(
    {_HEADS: 'heads = {"attn_q": n_heads, "attn_k": n_kv_heads, "attn_v": n_kv_heads}'},
    says="weights_from_gguf reorders the rows of v as well, which nothing rotates.",
    look="Which two weights feed the rotation?",
    common=True,
)
mistake(
    {_HEADS: 'heads = {"attn_q": n_heads}'},
    says="weights_from_gguf reorders the rows of q only.",
    look="Which two weights feed the rotation?",
)
mistake(
    {_HEADS: 'heads = {"attn_q": n_heads, "attn_k": 1}'},
    says="weights_from_gguf reorders the rows of k as if they were one head.",
    look="How many heads do the rows of attn_k belong to?",
)
mistake(
    {'raise ValueError(f"no weight of a Llama is called {name!r}")': "continue"},
    says="weights_from_gguf skips a name it does not know without a word.",
    look="What would a model be worth whose weights are partly missing?",
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
    {r'\.weight", name': r'\.\w+", name'},
    says="weights_from_gguf takes every name that ends otherwise, as `.bias`, for a weight.",
    look="How does each name end that the docstring lists?",
)
mistake(
    {
        '"output_norm.weight": "norm.weight"}': '"output_norm.weight": "norm.weight", '
        '"output.weight": "output.weight"}'
    },
    says="weights_from_gguf translates `output.weight`, the table of another kind of model.",
    look="Which tables does the docstring list?",
)
mistake(
    {r"blk\.(\d+)": r"blk\.(\d)\d*"},
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
    {'"attn_norm": "norm1"': '"attn_norm": "norm2"', '"ffn_norm": "norm2"': '"ffn_norm": "norm1"'},
    says="weights_from_gguf mixes up the two norms of a block.",
    look="Which part does norm1 come before?",
)


@mistake(
    says="weights_from_gguf replaces parts of names, and lets names through that it does not know.",
    look="Which part of your code refuses `blk.0.attn_qkv.weight`?",
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
_LOSSES = 'F.cross_entropy(logits, ids[:, 1:].long(), reduction="none")'

mistake(
    {"model(ids)[:, :-1]": "model(ids)", "ids[:, 1:].long()": "ids.long()"},
    {"model(ids)[:, :-1]": "model(ids)[:, 1:]"},
    {"ids[:, 1:]": "ids[:, :-1]"},
    says="loss_by_position asks for the token that was just read instead of the next one.",
    look="Which id are the logits at t about?",
    common=True,
)
mistake(
    {"losses.mean(dim=0)": "losses.mean()"},
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
        _LOSSES: "-logits.gather(2, ids[:, 1:, None].long())[..., 0]",
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
    following = ids[:, 1:, None].long()
    return -shares[:, :-1].gather(2, following)[..., 0].mean(dim=0)
