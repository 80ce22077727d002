"""Lesson 3: known mistakes and legitimate alternatives."""

import functools
import math
import operator

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from course.mistakes.lookup import STANDARD_DEVIATIONS

mistake, alternative, error = entries("LearnedPositionalEmbedding")

_START = "0.02 * torch.randn(max_seq_len, n_embd)"
_ROWS = "self.weight[:seq_len]"

mistake(
    {"[:seq_len]": "[seq_len - 1]"},
    {"seq_len > len(self.weight)": "seq_len >= len(self.weight)", "[:seq_len]": "[seq_len]"},
    says="LearnedPositionalEmbedding returns one row of its table, not the first `seq_len` rows.",
    look="What shape should come back, and how many rows is that?",
    common=True,
)
mistake(
    {"seq_len > len(self.weight)": "False"},
    {
        "seq_len > len(self.weight)": "False",
        "[:seq_len]": "[torch.arange(seq_len) % len(self.weight)]",
    },
    says="LearnedPositionalEmbedding raises nothing for a length that its table does not have.",
    look="What does a slice do when its end is beyond the last row?",
    common=True,
)
mistake(
    {"0.02 * torch.randn": "torch.randn"},
    says="LearnedPositionalEmbedding draws its table with standard deviation 1.",
    look="What does N(0, 0.02²) mean for `torch.randn`?",
    common=True,
)
mistake(
    {"seq_len > len(self.weight)": "seq_len >= len(self.weight)"},
    says="LearnedPositionalEmbedding refuses a length for which its table has just enough rows.",
    look="Which is the longest text that a table of 5 rows has positions for?",
)
mistake(
    {"[:seq_len]": "[1 : seq_len + 1]"},
    {_ROWS: "self.weight.roll(-1, dims=0)[:seq_len]"},
    {_ROWS: "self.weight[torch.arange(1, seq_len + 1)]"},
    {"[:seq_len]": "[len(self.weight) - seq_len :]"},
    says="LearnedPositionalEmbedding does not start with row 0 of its table.",
    look="Which row belongs to the first token? Print `module(1)` next to it.",
)
mistake(
    {"[:seq_len]": "[: seq_len - 1]"},
    {"[:seq_len]": "[: seq_len + 1]"},
    {_ROWS: "self.weight"},
    says="LearnedPositionalEmbedding returns a number of rows other than the one requested.",
    look="How many rows does `weight[:3]` have, and which of them is the last?",
)
mistake(
    {"[:seq_len]": "[:, :seq_len]"},
    says="LearnedPositionalEmbedding takes the first columns of its table, not the first rows.",
    look="Which axis of the table is the position?",
)
mistake(
    {_ROWS: "torch.arange(seq_len)"},
    says="LearnedPositionalEmbedding returns the positions themselves, not their rows.",
    look="What does the table contain, and where do you read it?",
)
mistake(
    *({"raise ValueError": f"raise {kind}"} for kind in ("IndexError", "AssertionError")),
    *({"raise ValueError": f"raise {kind}"} for kind in ("RuntimeError", "TypeError")),
    {"raise ValueError": "return ValueError"},
    {
        "if seq_len > len(self.weight)": "if False",
        _ROWS: "F.embedding(torch.arange(seq_len), self.weight)",
    },
    says="LearnedPositionalEmbedding does not raise the promised ValueError.",
    look="Which exception does the docstring name, and which keyword throws it?",
)
mistake(
    *({"0.02 *": f"{std} *"} for std in (0.02**2, *STANDARD_DEVIATIONS)),
    says="LearnedPositionalEmbedding draws its table with a standard deviation other than 0.02.",
    look="What is the square in N(0, 0.02²), and what is its root?",
)
mistake(
    {"torch.randn": "torch.rand"},
    {_START: "0.04 * torch.rand(max_seq_len, n_embd) - 0.02"},
    {_START: "0.02 * 12**0.5 * (torch.rand(max_seq_len, n_embd) - 0.5)"},
    says="LearnedPositionalEmbedding draws its table from uniform numbers.",
    look="Which distribution does the N in N(0, 0.02²) stand for?",
)
mistake(
    {"torch.randn": "torch.zeros"},
    {"torch.randn": "torch.ones"},
    {"torch.randn(max_seq_len, n_embd)": "torch.randn(1, n_embd).repeat(max_seq_len, 1)"},
    says="LearnedPositionalEmbedding repeats one number or one row throughout its table.",
    look="Do two rows of `module.weight` differ, and two columns?",
)
mistake(
    {"n_embd))": "n_embd, generator=torch.Generator().manual_seed(0)))"},
    says="LearnedPositionalEmbedding chooses the seed itself, so every table is the same.",
    look="Who chooses the seed: the module or its caller?",
)
mistake(
    {"return self.weight[": "return nn.Parameter(self.weight)["},
    {"    def forward": "    @torch.no_grad()\n    def forward"},
    says="LearnedPositionalEmbedding detaches its rows, so the table gets no gradient.",
    look="What do `.detach()`, `.data`, `torch.no_grad()` and a new parameter do to training?",
)
mistake(
    {
        "weight = nn.Parameter(0.02 * torch.randn": "emb = nn.Embedding",
        "n_embd))": "n_embd)\n        nn.init.normal_(self.emb.weight, std=0.02)",
        "seq_len > len(self.weight)": "seq_len > len(self.emb.weight)",
        "return self.weight": "return self.emb.weight",
    },
    {
        "self.weight = nn": "self.table = nn",
        "seq_len > len(self.weight)": "seq_len > len(self.table)",
        "return self.weight": "return self.table",
    },
    says="LearnedPositionalEmbedding stores its table under a name other than `weight`.",
    look="Which name does the parameter have in `module.named_parameters()`?",
)
mistake(
    {
        "super().__init__()": "super().__init__()\n        self.kept = {}",
        _ROWS: "self.kept.setdefault(seq_len, self.weight[:seq_len].clone())",
    },
    says="LearnedPositionalEmbedding keeps the rows of its first call and never looks again.",
    look="What changes between two calls while a model is trained?",
)
mistake(
    {
        "n_embd))": "n_embd))\n        LearnedPositionalEmbedding.latest = self.weight",
        "return self.weight": "return self.latest",
    },
    says="LearnedPositionalEmbedding reads the table of whichever module was made last.",
    look="Is the table stored in `self`, or somewhere that all modules share?",
)
mistake(
    {"[:seq_len]": "[:seq_len] * self.weight.shape[1] ** 0.5"},
    says="LearnedPositionalEmbedding scales its rows by √C.",
    look="Should forward change the rows that it returns?",
)


@alternative
class an_embedding_layer_itself(nn.Embedding):
    def __init__(self, max_seq_len, n_embd):
        super().__init__(max_seq_len, n_embd)
        nn.init.normal_(self.weight, mean=0.0, std=0.02)

    def forward(self, seq_len):
        if seq_len > self.num_embeddings:
            raise ValueError(f"no {seq_len} positions in a table of {self.num_embeddings}")
        return super().forward(torch.arange(seq_len))


alternative(
    {_START: "nn.init.trunc_normal_(torch.empty(max_seq_len, n_embd), std=0.02, a=-0.06, b=0.06)"},
    {
        _START: "torch.normal(0.0, 0.02, (max_seq_len, n_embd))",
        _ROWS: "torch.eye(seq_len, len(self.weight)) @ self.weight",
    },
    {
        _START: "torch.empty(max_seq_len, n_embd).normal_(0, 0.02)",
        "super().__init__()": "super().__init__()\n"
        '        self.register_buffer("positions", torch.arange(max_seq_len), persistent=False)',
        _ROWS: "F.embedding(self.positions[:seq_len], self.weight, sparse=True)",
    },
)
error(
    "AttributeError: cannot assign parameters before Module.__init__() call",
    "Usually the first line of `__init__` is gone, or an assignment comes before it.",
)
error(
    "TypeError: embedding(): argument 'indices' (position 2) must be Tensor, not int",
    "Usually the number of positions is looked up; an embedding takes a tensor of positions.",
)
error(
    "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation",
    "Usually a parameter is scaled in place. Where is it still a plain draw?",
)
error(
    "TypeError: cannot assign 'torch.FloatTensor' as parameter 'weight'",
    "Usually `self.weight` is a parameter already, and a plain tensor is assigned to it.",
)


mistake, alternative, error = entries("GPTEmbedding")


def _dropped_alike(dropout, dim, total):
    """Drop the same elements everywhere along an axis."""
    return total * dropout(torch.ones_like(total.mean(dim, keepdim=True)))


BARE_TABLES = {
    "nn.Embedding(vocab_size,": "nn.Parameter(0.02 * torch.randn(vocab_size,",
    "nn.Embedding(block_size,": "nn.Parameter(0.02 * torch.randn(block_size,",
    "n_embd)\n        self.pos_emb": "n_embd))\n        self.pos_emb",
    "n_embd)\n        self.dropout": "n_embd))\n        self.dropout",
    "nn.init.normal_(self.tok_emb.weight, std=0.02)": "",
    "nn.init.normal_(self.pos_emb.weight, std=0.02)": "",
    "self.tok_emb(ids) + self.pos_emb(positions)": "self.tok_emb[ids] + self.pos_emb[positions]",
}
OTHER_NAMES = {
    "self.tok_emb = ": "self.wte = ",
    "self.pos_emb = ": "self.wpe = ",
    "(self.tok_emb.weight, std": "(self.wte.weight, std",
    "(self.pos_emb.weight, std": "(self.wpe.weight, std",
    "self.tok_emb(ids) + self.pos_emb(positions)": "self.wte(ids) + self.wpe(positions)",
}

mistake(
    {"self.pos_emb(positions)": "self.pos_emb(ids)"},
    {"self.pos_emb(positions)": "self.pos_emb(ids % self.block_size)"},
    says="GPTEmbedding adds a position row chosen by the token's id, not by its position.",
    look="What does the second table number: words or positions?",
    common=True,
)
mistake(
    {", device=ids.device": ""},
    {", device=ids.device": "", "self.pos_emb(positions)": "self.pos_emb.weight[positions]"},
    says="GPTEmbedding creates its positions on the default device, not on the device of the ids.",
    look="On which device does `torch.arange` put its numbers by default?",
    common=True,
)
mistake(
    {"return self.dropout": "return F.dropout", "(positions))": "(positions), self.dropout.p)"},
    says="GPTEmbedding drops elements in evaluation mode, too.",
    look="What does `F.dropout` do when its `training` is left at its default?",
    common=True,
)
mistake(
    {"nn.init.normal_(self.pos_emb.weight, std=0.02)": ""},
    {"pos_emb.weight, std=0.02": "pos_emb.weight"},
    {"normal_(self.tok_emb": "normal_(self.pos_emb"},
    {
        "nn.init.normal_(self.tok_emb.weight, std=0.02)": "",
        "nn.init.normal_(self.pos_emb.weight, std=0.02)": "",
    },
    {"tok_emb.weight, std=": "tok_emb.weight, ", "pos_emb.weight, std=": "pos_emb.weight, "},
    says="GPTEmbedding draws a table with standard deviation 1, as `nn.Embedding` does by default.",
    look="Which table is drawn with 0.02? Which parameter of `nn.init.normal_` is that?",
    common=True,
)
mistake(
    *(
        {
            "tok_emb.weight, std=0.02": f"tok_emb.weight, std={std}",
            "pos_emb.weight, std=0.02": f"pos_emb.weight, std={std}",
        }
        for std in (0.02**2, "n_embd**-0.5", *STANDARD_DEVIATIONS)
    ),
    *(
        {
            "normal_(self.tok_emb.weight, std=0.02)": f"{start}_(self.tok_emb.weight)",
            "normal_(self.pos_emb.weight, std=0.02)": f"{start}_(self.pos_emb.weight)",
        }
        for start in ("xavier_normal", "kaiming_normal")
    ),
    says="GPTEmbedding draws a table with a standard deviation other than 0.02.",
    look="What is the square in N(0, 0.02²), and what is its root?",
)
mistake(
    *(
        {
            "normal_(self.tok_emb.weight, std=0.02)": f"{start}_(self.tok_emb.weight)",
            "normal_(self.pos_emb.weight, std=0.02)": f"{start}_(self.pos_emb.weight)",
        }
        for start in ("xavier_uniform", "uniform")
    ),
    {"nn.init.normal_(self.pos_emb.weight, std=0.02)": "nn.init.zeros_(self.pos_emb.weight)"},
    {
        "normal_(self.tok_emb.weight, std=0.02)": "uniform_(self.tok_emb.weight, -0.02, 0.02)",
        "normal_(self.pos_emb.weight, std=0.02)": "uniform_(self.pos_emb.weight, -0.02, 0.02)",
    },
    says="GPTEmbedding fills a table with something other than N(0, 0.02²).",
    look="What do both tables hold before training? Which of mean and deviation is squared?",
)
mistake(
    {"self.pos_emb(positions)": "self.pos_emb.weight[seq_len - 1]"},
    {"self.pos_emb(positions)": "self.pos_emb(torch.tensor(seq_len, device=ids.device))"},
    says="GPTEmbedding adds one position row, that of its length, to every token of a sentence.",
    look="Does the same word get different rows at different positions?",
)
mistake(
    {"torch.arange(seq_len,": "torch.arange(1, seq_len + 1,"},
    {"(positions))": "((positions + 1) % self.block_size))"},
    says="GPTEmbedding counts positions from 1.",
    look="Which row belongs to the first token of a sentence?",
)
mistake(
    {"arange(seq_len,": "arange(ids.numel(),", "(positions)": "(positions.view(ids.shape))"},
    {
        "arange(seq_len,": "arange(ids.numel(),",
        "(positions)": "(positions.view(ids.shape) % self.block_size)",
    },
    says="GPTEmbedding counts positions across the batch, so the second sentence starts later.",
    look="At which position does every sentence start?",
)
mistake(
    {"torch.arange(seq_len, device=ids.device)": "torch.arange(len(ids))"},
    {
        "arange(seq_len,": "arange(len(ids),",
        "(positions)": "(positions[:, None] % self.block_size)",
    },
    says="GPTEmbedding numbers the sentences of the batch, not the tokens of a sentence.",
    look="Which axis of (B, T) is the position?",
)
mistake(
    {"(positions)": "(positions.flip(0))"},
    {"self.pos_emb(positions)": "self.pos_emb.weight[self.block_size - seq_len :]"},
    says="GPTEmbedding counts positions from an end instead of from the start.",
    look="Which row belongs to the first token of a sentence shorter than block_size?",
)
mistake(
    {"torch.arange(seq_len,": "torch.arange(self.block_size,"},
    says="GPTEmbedding adds its whole position table, which fits only block_size tokens.",
    look="How many position rows does a sentence of T tokens need?",
)
mistake(
    {
        "super().__init__()": "super().__init__()\n        self.kept = {}",
        "(positions)": '(self.kept.setdefault("positions", positions))',
    },
    says="GPTEmbedding keeps the positions of its first call for all later ones.",
    look="What happens when the second batch has sentences of another length?",
)
mistake(
    {" + self.pos_emb(positions)": ""},
    {"self.tok_emb(ids) +": "torch.zeros_like(self.tok_emb(ids)) +"},
    says="GPTEmbedding leaves out one of the two rows.",
    look="Does the result change when the same words are in another order?",
)
mistake(
    {"+ self.pos_emb": "* self.pos_emb"},
    {"+ self.pos_emb": "- self.pos_emb"},
    {"(positions))": "(positions)) / 2"},
    {
        "self.tok_emb(ids) + self.pos_emb(positions)": "torch.cat("
        "(self.tok_emb(ids), self.pos_emb(positions.expand_as(ids))), dim=-1)"
    },
    says="GPTEmbedding does something other than adding the two rows.",
    look="How are the two rows put together, and how many features come out?",
)
mistake(
    {"self.tok_emb(ids) +": "self.tok_emb(ids) * self.tok_emb.embedding_dim**0.5 +"},
    {
        "return self": "return F.layer_norm(self",
        "(positions))": "(positions)), self.tok_emb.weight.shape[1:])",
    },
    {
        "(self.tok_emb(ids)": "(F.layer_norm(self.tok_emb(ids)",
        "(positions))": "(positions), self.tok_emb.weight.shape[1:]))",
    },
    says="GPTEmbedding scales or normalizes the rows or their sum.",
    look="What is done to the rows besides the sum and dropout?",
)
mistake(
    {"nn.Dropout(dropout)": "nn.Dropout()"},
    {"nn.Dropout(dropout)": "nn.Dropout(0.1)"},
    {"return self.dropout": "return F.dropout"},
    says="GPTEmbedding ignores its argument dropout.",
    look="Where is dropout applied, and which share does it drop by default?",
)
mistake(
    {"(ids) + self": "(ids)) + self.dropout(self"},
    {"(ids) +": "(ids)) +", "(positions))": "(positions)"},
    {"self.dropout(self.tok_emb(ids) +": "self.tok_emb(ids) + self.dropout("},
    says="GPTEmbedding applies dropout to rows before they are added, not to their sum.",
    look="Which comes first, the sum or dropout?",
)
mistake(
    {"self.tok_emb(ids) +": "self.dropout(self.tok_emb(ids)) +"},
    {"+ self.pos_emb(positions)": "+ self.dropout(self.pos_emb(positions))"},
    {"return self.dropout": "return nn.Sequential(self.dropout, self.dropout)"},
    says="GPTEmbedding applies dropout twice.",
    look="How many chances does an element have of being dropped?",
)
mistake(
    {"return self.dropout(": "return _dropped_alike(self.dropout, 0, "},
    {"nn.Dropout(": "nn.Dropout1d("},
    {"return self.dropout(": "return _dropped_alike(self.dropout, 1, "},
    {"return self.dropout(": "return _dropped_alike(self.dropout, 2, "},
    says="GPTEmbedding drops the same elements in all sentences, tokens or features.",
    look="What is the shape of the mask, and what is the shape of the sum?",
)
mistake(
    {
        "return self.dropout": "total = ",
        "(positions))": "(positions))\n        keep = torch.rand_like(total) >= self.dropout.p\n"
        "        return total * keep if self.training else total",
    },
    says="GPTEmbedding does not scale what dropout keeps.",
    look="What is the mean of an element over many draws, with and without dropout?",
)
mistake(
    {"nn.Dropout(dropout)": "nn.Dropout(1 - dropout)"},
    {"nn.Dropout(dropout)": "nn.Dropout(1 - dropout if dropout else 0.0)"},
    says="GPTEmbedding uses dropout as the share to keep.",
    look="With dropout=0.1, how many of ten elements are zeroed?",
)
mistake(
    {
        "super().__init__()": "super().__init__()\n        self.masks = {}",
        "return self.dropout": "total = ",
        "(positions))": "(positions))\n        if self.training:\n            mask = self.dropout("
        "torch.ones_like(total))\n            total = total * self.masks.setdefault(total.shape, "
        "mask)\n        return total",
    },
    says="GPTEmbedding draws its dropout mask once and keeps it.",
    look="Where is the mask drawn: in __init__ or in forward?",
)
mistake(
    {
        "nn.init.normal_(self.tok_emb.weight, std=0.02)": "draw = 0.02 * torch.randn("
        "max(vocab_size, block_size), n_embd)\n"
        "        self.tok_emb.weight.data = draw[:vocab_size].clone()",
        "nn.init.normal_(self.pos_emb.weight, std=0.02)": "self.pos_emb.weight.data = "
        "draw[:block_size].clone()",
    },
    {"self.pos_emb = nn.Embedding(block_size, n_embd)": "self.pos_emb = self.tok_emb"},
    says="GPTEmbedding starts with the same numbers in both tables.",
    look="Is each table its own table, with its own draw?",
)
mistake(
    {
        "nn.Dropout(dropout)": "nn.Dropout(dropout)\n"
        '        self.register_buffer("positions", torch.arange(block_size))'
    },
    {"nn.Dropout(dropout)": "nn.Dropout(dropout)\n        self.norm = nn.LayerNorm(n_embd)"},
    says="GPTEmbedding has more in its state dict than its two tables.",
    look="Which keys does `module.state_dict()` have, and what keeps a buffer out of it?",
)
mistake(
    BARE_TABLES,
    OTHER_NAMES,
    says="GPTEmbedding stores its tables under names other than tok_emb.weight, pos_emb.weight.",
    look="Which keys does `module.state_dict()` have? Which module keeps its table in `weight`?",
)
mistake(
    {"nn.Embedding(block_size,": "nn.Embedding(block_size + 1,"},
    {"nn.Embedding(vocab_size,": "nn.Embedding(vocab_size + 1,"},
    says="GPTEmbedding makes a table with one more row than requested.",
    look="How many rows have ids 0..V-1?",
)
mistake(
    {"n_embd)\n        self.dropout": "n_embd).requires_grad_(False)\n        self.dropout"},
    says="GPTEmbedding freezes a table that should learn.",
    look="Which parameters require a gradient?",
)
mistake(
    {"self.pos_emb(positions)": "self.pos_emb(positions).detach()"},
    {"self.tok_emb(ids) +": "self.tok_emb(ids).detach() +"},
    says="GPTEmbedding detaches rows from their table, so they never learn.",
    look="What do `.detach()` and `torch.no_grad()` do to training?",
)
mistake(
    {"return self": "with torch.set_grad_enabled(self.training):\n            return self"},
    says="GPTEmbedding passes no gradient back in evaluation mode.",
    look="What does evaluation mode switch off: dropout or gradients?",
)
mistake(
    {"nn.Embedding(vocab_size, n_embd)": "nn.Embedding(vocab_size, n_embd, padding_idx=0)"},
    {"n_embd)\n        self.pos_emb": "n_embd, scale_grad_by_freq=True)\n        self.pos_emb"},
    says="GPTEmbedding sets an option of `nn.Embedding` that changes how its rows learn.",
    look="Which arguments does `nn.Embedding` need here, and what do the others do?",
)
mistake(
    {
        "super().__init__()": "super().__init__()\n        self.kept = {}",
        "return self": "key = ids.shape, *ids.flatten().tolist()\n        return self",
        "(self.tok_emb(ids)": "(self.kept.setdefault(key, self.tok_emb(ids)",
        "(positions))": "(positions)))",
    },
    says="GPTEmbedding keeps the sum of its first call with the same ids.",
    look="What changes between two calls while a model is trained?",
)


@alternative
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


alternative(
    {
        "nn.Embedding(block_size,": "LearnedPositionalEmbedding(block_size,",
        "self.pos_emb(positions)": "self.pos_emb(seq_len)",
    },
    {
        "nn.Embedding(vocab_size,": "_Table(vocab_size,",
        "nn.Embedding(block_size,": "_Table(block_size,",
        "return self.dropout(self.tok_emb(ids) + self.pos_emb(positions))": "rows = "
        "self.tok_emb.weight.index_select(0, ids.flatten()).unflatten(0, ids.shape)\n"
        "        total, keep = rows + self.pos_emb.weight[:seq_len], 1 - self.dropout.p\n"
        "        kept = torch.where(torch.rand_like(total) < keep, total / keep, 0)\n"
        "        return kept if self.training and keep < 1 else total",
    },
    {
        "nn.Embedding(vocab_size,": "_Table(vocab_size,",
        "self.tok_emb(ids)": "F.one_hot(ids, self.vocab_size).float() @ self.tok_emb.weight",
        "return self.dropout(": "total = (",
        "(positions))": "(positions))\n        if self.training:\n"
        "            keep = 1 - self.dropout.p\n"
        "            total = total * torch.bernoulli(torch.full_like(total, keep)) / keep\n"
        "        return total",
    },
    {
        "nn.Embedding(vocab_size, n_embd)": "nn.Embedding.from_pretrained("
        "torch.randn(vocab_size, n_embd) * 0.02, freeze=False)",
        "nn.Dropout(dropout)": "nn.Sequential(nn.Identity(), nn.Dropout(dropout))\n"
        '        self.register_buffer("place", torch.arange(block_size), persistent=False)',
        "torch.arange(seq_len, device=ids.device)": "self.place[:seq_len].expand(ids.shape)",
    },
    {"torch.arange(seq_len, device=ids.device)": "torch.ones_like(ids).cumsum(dim=1) - 1"},
    {
        "torch.arange(seq_len, device=ids.device)": "self.vocab_size + torch.arange(seq_len)"
        ".to(ids.device)\n"
        "        both = torch.cat((self.tok_emb.weight, self.pos_emb.weight))",
        "self.tok_emb(ids) + self.pos_emb(positions)": "both[ids] + both[positions]",
    },
)
error(
    "RuntimeError: The size of tensor a (5) must match the size of tensor b (3) at non-singleton",
    "Often token rows (B, T, C) meet position rows that are not (T, C). What are the two sizes?",
)
error(
    "TypeError: embedding(): argument 'indices' (position 2) must be Tensor, not",
    "Usually the number of positions is looked up; an embedding takes a tensor of positions.",
)
error(
    "IndexError: index out of range in self",
    "Usually a position or an id is beyond the last row of its table. What are the sizes?",
)
error(
    "AttributeError: cannot assign module before Module.__init__() call",
    "Usually the first line of `__init__` is gone, or an assignment comes before it.",
)
error(
    "AttributeError: 'GPTEmbedding' object has no attribute",
    "Usually `__init__` and `forward` call a part by different names.",
)


mistake, alternative, error = entries("count_parameters")

mistake(
    {" if p.requires_grad": ""},
    says="count_parameters counts frozen parameters, too.",
    look="Which attribute of a parameter says whether it is trained?",
    common=True,
)
mistake(
    {"module.parameters() if p.requires_grad": "module.state_dict().values()"},
    {"sum(": "sum(b.numel() for b in module.buffers()) + sum("},
    says="count_parameters counts buffers along with the parameters.",
    look="Is everything in a state dict trained? Does an optimizer ever change a buffer?",
    common=True,
)
mistake(
    {
        "return sum(": "return sum(map(count_parameters, module.children())) + sum(",
        "ers()": "ers(recurse=False)",
    },
    {"p in module.parameters()": "part in module.modules() for p in part.parameters(False)"},
    says="count_parameters counts a shared parameter once for each place that shares it.",
    look="How many numbers does a tied table hold?",
    common=True,
)
mistake(
    {"p in module.parameters()": "part in module.modules() for p in part.parameters()"},
    says="count_parameters counts a parameter once for each module around it.",
    look="Which parameters does `part.parameters()` return: its own, or those inside it, too?",
)
mistake(
    {"p in module.parameters()": "part in module.children() for p in part.parameters()"},
    says="count_parameters leaves out parameters of the module itself, not of a module inside it.",
    look="Which parameters does a module without children have?",
)
mistake(
    {"p.numel()": "1"},
    {"p.numel()": "len(p)"},
    {"p.numel()": "(len(p) if p.dim() else 1)"},
    {"p.numel()": "p.shape[-1]"},
    {"p.numel()": "p.dim()"},
    {"p.numel()": "sum(p.shape)"},
    {"p.numel()": "p.numel() * p.element_size()"},
    says="count_parameters counts tensors, axes, rows or bytes, not elements.",
    look="How many numbers are there in a 3 × 2 matrix?",
)
mistake(
    {"if p.requires_grad": "if not p.requires_grad"},
    says="count_parameters counts only frozen parameters.",
    look="What does `requires_grad` say?",
)
mistake(
    {"p.requires_grad": "p.grad is not None"},
    says="count_parameters counts nothing in a module that was never trained.",
    look="Which parameters meet your condition before the first backward?",
)
mistake(
    {"module.parameters()": "module.parameters(recurse=False)"},
    {
        "module.parameters()": "{p for part in (module, *module.children()) "
        "for p in part.parameters(recurse=False)}"
    },
    says="count_parameters does not look into all modules within the module.",
    look="Where does a Sequential keep its parameters? What about a list in a block?",
)


def _without_lookalikes(parameters):
    found = []
    for p in parameters:
        if not any(p.shape == q.shape and torch.equal(p, q) for q in found):
            found.append(p)
    return found


mistake(
    {"module.parameters()": "_without_lookalikes(module.parameters())"},
    says="count_parameters treats different parameters as the same one because they look the same.",
    look="What makes two parameters the same?",
)
mistake(
    {"p.numel()": "p.shape[0] * p.shape[1]"},
    {"p.numel()": "p.shape[0] * p.shape[-1]", "p.requires_grad": "p.requires_grad and p.dim()"},
    says="count_parameters multiplies rows and columns, which only a matrix has.",
    look="What are the shapes of a bias and of a single number?",
)
mistake(
    {"p.numel()": "int(p.count_nonzero())"},
    says="count_parameters counts the elements that differ from zero.",
    look="Is a weight that happens to be zero trained?",
)
mistake(
    {"grad)": "grad) / 1e6"},
    says="count_parameters counts in millions.",
    look="What is the unit of the result?",
)
mistake(
    {
        "return sum(": "count = sum(",
        "grad)": "grad)\n    module.requires_grad_(True)\n    return count",
    },
    {"p.requires_grad": "p.requires_grad_()"},
    says="count_parameters unfreezes the whole module.",
    look="What should the module look like after you count it?",
)
mistake(
    {"p in module.p": "name, p in module.named_p", "if": 'if name.endswith("weight") and'},
    {"p in module.p": "name, p in module.named_p", "if": 'if "pos_emb" not in name and'},
    says="count_parameters leaves out parameters because of their names.",
    look="Which parameters does an optimizer change?",
)


@alternative
def a_set_of_identities(module):
    sizes = {id(p): p.numel() for _, p in module.named_parameters() if p.requires_grad}
    return sum(sizes.values())


@alternative
def a_walk_over_all_modules(module):
    seen, total = set(), 0
    for part in module.modules():
        for p in part._parameters.values():  # noqa: SLF001, as somebody may write it
            if p is not None and p.requires_grad and p not in seen:
                seen.add(p)
                total += math.prod(p.shape)
    return total


@alternative
def products_of_shapes(module):
    trained = filter(operator.attrgetter("requires_grad"), module.parameters())
    return sum(np.prod(p.size()) for p in trained)


@alternative
def one_per_address(module):
    trained = [p for p in module.parameters() if p.requires_grad]
    return sum({p.data_ptr(): p.numel() for p in trained}.values())


alternative({"p.numel() for": "torch.tensor(p.numel()) for"})
error(
    "TypeError: unsupported operand type(s) for +: 'int' and 'builtin_function_or_method'",
    "Usually a method is named but not called.",
)
error(
    "TypeError: unsupported operand type(s) for +: 'int' and 'torch.Size'",
    "Usually shapes are added. How many numbers does a tensor of this shape hold?",
)
error(
    "TypeError: object of type 'generator' has no len()",
    "Usually it is `parameters()`, which yields them one by one. How large is each?",
)
error(
    "AttributeError: 'tuple' object has no attribute",
    "Usually a loop over `named_parameters()` treats name and parameter together as one.",
)


mistake, alternative, error = entries("tied_logits")


mistake(
    {"weight.T": "weight"},
    {"weight.T": "(weight if weight.shape[0] == x.shape[-1] else weight.T)"},
    says="tied_logits multiplies by the table untransposed, which fits only if V = C.",
    look="Which axis of the table is summed over, and which if V = C?",
    common=True,
)
mistake(
    {"x @ weight.T": "(x @ weight.T).softmax(dim=-1)"},
    {"x @ weight.T": "(x @ weight.T).softmax(dim=1)"},
    says="tied_logits applies a softmax, so it returns probabilities instead of scores.",
    look="Are logits taken before or after the softmax?",
    common=True,
)
mistake(
    {"return ": "return torch.log_softmax(", "weight.T": "weight.T, dim=-1)"},
    says="tied_logits returns the logarithms of probabilities instead of scores.",
    look="Are logits taken before or after the softmax?",
)
mistake(
    {"return x @ weight.T": "scores = x @ weight.T\n    return torch.sigmoid(scores)"},
    says="tied_logits applies a sigmoid to the scores.",
    look="Between which numbers can a logit be?",
)
mistake(
    {"weight.T": "weight.reshape(weight.shape[1], -1)"},
    says="tied_logits reads the table's memory as (C, V) instead of transposing it.",
    look="Does `view` move numbers, or only relabel their positions?",
    common=True,
)
mistake(
    {"x @": "x / x.shape[-1] ** 0.5 @"},
    says="tied_logits divides the scores by √C, as attention does.",
    look="Does the definition of a dot product contain a scale?",
)
mistake(
    {"x @": "x * x.shape[-1] ** 0.5 @"},
    says="tied_logits multiplies the scores by √C.",
    look="Does the definition of a dot product contain a scale?",
)
mistake(
    {"x @": "x / x.shape[-1] @"},
    says="tied_logits divides the scores by the width, C.",
    look="Does the definition of a dot product contain a scale?",
)
mistake(
    {"x @": "x / len(weight) @"},
    {"x @": "x / len(weight) ** 0.5 @"},
    says="tied_logits divides the scores by the number of words or its root.",
    look="Does the definition of a dot product contain a quotient?",
)
mistake(
    {"x @": "x / x.shape[1] @"},
    says="tied_logits divides the scores by the number of tokens.",
    look="Does the definition of a dot product contain a quotient?",
)
mistake(
    {"weight.": "F.normalize(weight, dim=-1)."},
    {"x @": "F.normalize(x, dim=-1) @"},
    {"x @ weight": "F.normalize(x, dim=-1) @ F.normalize(weight, dim=-1)"},
    {"x @ weight.T": "-torch.cdist(x, weight)"},
    says="tied_logits compares directions or distances instead of taking dot products.",
    look="Does a row that is twice as long give another score?",
)
mistake(
    {"return x": "return x[:, -1:]"},
    says="tied_logits scores only the last token of each sentence.",
    look="For how many tokens does a model make a prediction during training?",
)
mistake(
    {"return x @ weight.T": "scores = x @ weight.T\n    return scores.argmax(dim=-1)"},
    says="tied_logits returns the best word of each token, not the scores of all.",
    look="Print the shape of the result next to the one in the docstring.",
)
mistake(
    {"x @ weight.T": "(weight @ x.flatten(0, 1).T).view(*x.shape[:2], -1)"},
    says="tied_logits reshapes its result into (B, T, V) instead of moving the axes.",
    look="Does `view` move numbers, or only relabel their positions?",
)
mistake(
    {"x @ weight.T": "nn.Linear(weight.shape[1], weight.shape[0], bias=False).to(weight)(x)"},
    says="tied_logits makes a new Linear with random weights instead of using the table.",
    look="Where do the numbers of the output projection come from?",
)
mistake(
    {"x @ weight.T": "x @ weight.T - (x @ weight.T).mean(dim=-1, keepdim=True)"},
    says="tied_logits subtracts the mean score of each token.",
    look="What is done to the scores after the product?",
)
mistake(
    {"def ": "@functools.cache\ndef "},
    says="tied_logits keeps the scores of its first call with the same tensors.",
    look="What changes in a table from step to step, although it stays the same tensor?",
)


@alternative
def as_a_linear_layer(x, weight):
    return F.linear(x, weight)


alternative(
    {"x @ weight.T": 'torch.einsum("btc, vc -> btv", x, weight)'},
    {"x @ weight.T": "(x[:, :, None, :] * weight[None, None]).sum(-1)"},
    {"x @ weight.T": "torch.bmm(x, weight.mT.expand(len(x), -1, -1))"},
    {
        "x @ weight.T": "torch.stack([(x.double() * row).sum(dim=-1) for row in weight.double()], "
        "dim=-1).to(x.dtype)"
    },
)
error(
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (7) at non-singleton",
    "Usually x (B, T, C) and the table (V, C) are multiplied entry by entry.",
)
error(
    "RuntimeError: batch2 must be a 3D tensor",
    "Usually `torch.bmm` gets the table, which has no batch axis.",
)
error(
    "RuntimeError: einsum(): subscript",
    "Usually one letter names two axes of different sizes: compare with (B, T, C) and (V, C).",
)


mistake, alternative, error = entries("scalar_embedding")

mistake(
    {
        "[t + p for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]": "wte[token_id] "
        "+ wpe[pos_id]"
    },
    says="scalar_embedding joins the two rows into one long list.",
    look="What does `+` do between two lists?",
    common=True,
)
mistake(
    {"return [": "wte[token_id][:] = [", "True)]": "True)]\n    return wte[token_id]"},
    says="scalar_embedding adds into the token table itself, so the word changes permanently.",
    look="Is the row a copy, or is it the table's own?",
    common=True,
)
mistake(
    {"wte[token_id], wpe[pos_id]": "wpe[token_id], wte[pos_id]"},
    {"token_id: int, pos_id: int": "pos_id: int, token_id: int"},
    {"wpe[pos_id]": "wpe[token_id]"},
    {"wte[token_id]": "wte[pos_id]"},
    says="scalar_embedding reads a table with the id that belongs to the other table.",
    look="Which id numbers words, and which numbers positions?",
)
mistake(
    {"wpe[pos_id]": "wpe[0]"},
    says="scalar_embedding ignores the position and always takes row 0.",
    look="What changes when the same word appears elsewhere?",
)
mistake(
    {"wpe[pos_id]": "wpe[pos_id - 1]"},
    says="scalar_embedding counts positions from 1.",
    look="Which row belongs to position 0?",
)
mistake(
    {"wpe[pos_id]": "wpe[pos_id + 1]"},
    {"wte[token_id]": "wte[token_id + 1]"},
    {"wte[token_id]": "wte[token_id - 1]"},
    says="scalar_embedding reads the row next to the one that an id names.",
    look="Which row is number 0?",
)
mistake(
    {"t + p": "t"},
    {"t + p": "p"},
    says="scalar_embedding leaves out one of the two rows.",
    look="Which rows are added?",
)
mistake(
    {"t + p": "t * p"},
    {"t + p": "(t + p) / 2"},
    {"t + p": "t - p"},
    says="scalar_embedding does something other than adding the numbers.",
    look="How are the two rows put together?",
)
mistake(
    {"t + p": "p + t"},
    says="scalar_embedding adds in the order p + t.",
    look="For what kind of objects does the order of a sum matter?",
)
mistake(
    {"t + p": "sum((t, p))"},
    says="scalar_embedding adds with `sum`, which starts from the number 0.",
    look="What does `sum` add the first of your two elements to?",
)
mistake(
    {"t + p": "float(t + p)"},
    {
        "[t + p for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]": "(torch.tensor("
        "wte[token_id]) + torch.tensor(wpe[pos_id])).tolist()"
    },
    {
        "[t + p for t, p in zip(wte[token_id], wpe[pos_id], strict=True)]": "np.add("
        "wte[token_id], wpe[pos_id]).tolist()"
    },
    says="scalar_embedding makes new floats of the entries, which autograd cannot follow.",
    look="What is lost when a scalar that learns becomes a float?",
)
mistake(
    {"return [": "return (", "True)]": "True))"},
    {"return [": "return map(operator.add, ", "t + p for t, p in zip(": "", ", strict=True)]": ")"},
    says="scalar_embedding returns an iterator, which is empty after one pass.",
    look="What does `map` or a generator expression make?",
)
mistake(
    {
        "[t + p for": "[t[token_id] + p[pos_id] for",
        "wte[token_id], wpe[pos_id], strict=True": "wte, wpe, strict=False",
    },
    says="scalar_embedding takes a column of each table instead of a row.",
    look="What does the first index of a list of lists select?",
)
mistake(
    {"t, p in zip(wte": "t in wte", ", wpe[": " for p in wpe[", ", strict=True)": ""},
    {"return [": "return sum(", "True)]": "True))"},
    says="scalar_embedding adds numbers that are not at the same position.",
    look="How many numbers should come back?",
)
mistake(
    {"True)]": "True)][:-1]"},
    {"True)]": "True)][1:]"},
    says="scalar_embedding leaves out one of the numbers.",
    look="Where does the loop begin, and where does it end?",
)


@alternative
def by_index(wte, wpe, token_id, pos_id):
    result = []
    for i in range(len(wte[token_id])):
        result.append(wte[token_id][i] + wpe[pos_id][i])
    return result


@alternative
def into_a_copy(wte, wpe, token_id, pos_id):
    total = wte[token_id].copy()
    for i, p in enumerate(wpe[pos_id]):
        total[i] = total[i] + p
    return total


alternative(
    {
        "return [": "return list(map(operator.add, ",
        "t + p for t, p in zip(": "",
        ", strict=True)]": "))",
    },
    {"return [t + p": "return tuple(t + p", "True)]": "True))"},
)
error(
    "IndexError: list index out of range",
    "Usually a loop counts the rows of a table, V, instead of the numbers of a row, C.",
)
error(
    "TypeError: list indices must be integers or slices",
    "Usually a list is indexed with one of its numbers, or with two indices at once like a tensor.",
)
error(
    "TypeError: can only concatenate list (not",
    "Usually a whole row is added to a single number: count the indices on both sides.",
)
error(
    "AttributeError: 'list' object has no attribute",
    "Usually a row is used like a tensor. Both tables are plain lists of lists.",
)
