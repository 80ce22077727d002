"""Lesson 6: known mistakes and legitimate alternatives."""

import copy
import csv
import math

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from course.mistakes import entries
from solutions.skipgram import nearest_by_cosine


def _pairs_beside(ids, neighbors):
    """All pairs, in plain Python; `neighbors(i)` are the positions near i."""
    words = ids.tolist()
    pairs = [(words[i], words[j]) for i in range(len(words)) for j in neighbors(i) if j != i]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).unbind(1)


def _beside(neighbors):
    """The edit that returns all pairs of i with the positions `neighbors`, a range."""
    return {"distances = ": f"return _pairs_beside(ids, lambda i: {neighbors})\n    distances = "}


mistake, alternative, error = entries("skipgram_pairs")

mistake(
    {"left + right": "left", "right + left": "right"},
    {"left + right": "right", "right + left": "left"},
    says="skipgram_pairs looks only to one side, so it pairs two words in one direction.",
    look="Does the last word of a text have a neighbor? Does the first?",
    common=True,
)
mistake(
    {"min(window, len(ids) - 1) + 1": "window"},
    {"- 1) + 1)": "- 1))"},
    says="skipgram_pairs stops one word short of the window: the largest distance is missing.",
    look="What is the last number in `range(1, window)`?",
    common=True,
)
mistake(
    {"left + right": "left[: window - 1] + right", "right + left": "right[: window - 1] + left"},
    {"left + right": "left + right[: window - 1]", "right + left": "right + left[: window - 1]"},
    says="skipgram_pairs stops one word short of the window, but on one side only.",
    look="Where does `range(i - window, i + window)` end, and does it include its end?",
)
mistake(
    {"min(window, ": "min(window // 2, "},
    {"min(window, ": "min((window + 1) // 2, "},
    says="skipgram_pairs takes `window` for the width of both sides together.",
    look="How far may a neighbor be on each side if the window is 2?",
)
mistake(
    {"min(window, ": "min(1, "},
    says="skipgram_pairs ignores `window`: it pairs only direct neighbors.",
    look="Where in the body do you use `window`?",
)
mistake(
    {"range(1, ": "range(min(window, len(ids) - 1), "},
    says="skipgram_pairs pairs words only at distance `window`, not at every distance up to it.",
    look="With window 2, what happened to the direct neighbors?",
)
mistake(
    {"left + right": "left + right + [ids]", "right + left": "right + left + [ids]"},
    {"range(1, ": "range(", "ids[:-distance]": "ids[: len(ids) - distance]"},
    says="skipgram_pairs pairs every word with itself, too.",
    look="Is a word its own neighbor? What is the distance of a position to itself?",
    common=True,
)
mistake(
    {"range(1, ": "range("},
    says="skipgram_pairs starts at distance 0, where ids[:-0] is empty and ids[0:] is not.",
    look="What is the smallest distance? Print both slices for it.",
)
mistake(
    {"torch.cat(right + left)": "torch.cat(left + right)"},
    says="skipgram_pairs returns its centers a second time as contexts.",
    look="Compare what the two tensors are joined from.",
)
mistake(
    {
        "return ": "centers, contexts = ",
        " + left)": " + left)\n    different = centers != contexts\n"
        "    return centers[different], contexts[different]",
    },
    says="skipgram_pairs leaves out neighbors that are the same word.",
    look="Are positions compared, or words? Think of the text 5 5 6.",
    common=True,
)
mistake(
    {
        "return ": "centers, contexts = ",
        " + left)": " + left)\n    words = (centers != 0) & (contexts != 0)\n"
        "    return centers[words], contexts[words]",
    },
    {
        "return ": "centers, contexts = ",
        " + left)": " + left)\n    return centers[contexts != 0], contexts[contexts != 0]",
    },
    says="skipgram_pairs leaves out pairs with word 0, as if it were padding.",
    look="Is 0 a word? Which pairs does a text of 0 1 2 have?",
)
mistake(
    {
        "return ": "places = torch.arange(len(ids))\n"
        "    ways = places, places.flip(0)\n"
        "    beyond = [(min(window, 1000) - way).clamp(min=0) for way in ways]\n"
        "    centers = ids.repeat_interleave(sum(beyond) * (len(ids) > 1))\n    return ",
        "torch.cat(left + right)": "torch.cat([*left, *right, centers])",
        "torch.cat(right + left)": "torch.cat([*right, *left, torch.zeros_like(centers)])",
    },
    says="skipgram_pairs pads windows with 0 at the ends of the text, so some pairs have no word.",
    look="How many neighbors does the first word of a text have?",
)
mistake(
    {"return ": "return torch.stack((", " + left)": " + left))).unique(dim=1).unbind()"},
    says="skipgram_pairs returns a pair that occurs several times only once.",
    look="How often is 1 next to 2 in 1 2 1 2? What loses the counts?",
)
mistake(
    {"ids[:-distance]": "ids", "ids[distance:]": "ids.roll(-distance)"},
    says="skipgram_pairs joins the end of the text to its beginning.",
    look="What is to the left of the first word? What do roll and an index of -1 give?",
)
mistake(
    _beside("range(i - window, min(len(ids), i + window + 1))"),
    says="skipgram_pairs reaches beyond the beginning of the text, where -1 is the last word.",
    look="Which word is `ids[-1]`? Where do the neighbors of the first word begin?",
)
mistake(
    {"distances = ": "ids[len(ids)]\n    distances = "},
    {"distances = ": "ids.tolist()[len(ids)]\n    distances = "},
    says="skipgram_pairs reaches beyond the end of the text.",
    look="What is the position of the last word, and how far does its window reach?",
)
mistake(
    _beside("range(i - window, i + window + 1) if i in range(window, len(ids) - window) else ()"),
    says="skipgram_pairs leaves out words near the ends, where the window is not full.",
    look="Which contexts does the very first word have?",
)
mistake(
    _beside("range(max(0, i - window), min(len(ids) - 1, i + window + 1))"),
    says="skipgram_pairs leaves out the last word of a window that the text cuts short.",
    look="Is the end of a slice, or of a range, part of it? Try the last word.",
)
mistake(
    {"distances = ": "window = int(torch.randint(1, window + 1, ()))\n    distances = "},
    says="skipgram_pairs shrinks the window at random, as word2vec does.",
    look="The exercise wants every pair within the window.",
)
mistake(
    *({"min(window, ": f"min(window, {most}, "} for most in (5, 10, 100)),
    says="skipgram_pairs has no pair beyond some distance, however wide the window is.",
    look="Try a window of 200. Is there a number in your code that limits it?",
)
mistake(
    *({"distances = ": f"ids = ids[:{most}]\n    distances = "} for most in (100, 1000)),
    says="skipgram_pairs uses only the beginning of a long text.",
    look="Which pair is your last one in a text of 5,000 words?",
)
mistake(
    {"distances = ": "ids = ids.to(torch.uint8)\n    distances = "},
    {"distances = ": "ids = ids.to(torch.int16)\n    distances = "},
    says="skipgram_pairs changes large ids, which its integers are too short for.",
    look="What is the largest number that int16 can hold?",
)
mistake(
    {"distances = ": "ids = torch.arange(len(ids))\n    distances = "},
    says="skipgram_pairs returns the positions of the words instead of the words.",
    look="Are the numbers that you return ids, or positions in the text?",
)
mistake(
    {"min(window, len(ids) - 1)": "window", "ids[:-distance]": "ids[: len(ids) - distance]"},
    says="skipgram_pairs goes wrong where the window is wider than the text.",
    look="What are len(ids) - distance, and a slice up to it, for a distance beyond the text?",
)
mistake(
    {
        "distances = ": "places = torch.arange(len(ids))\n"
        "    apart = (places[:, None] - places).abs()\n"
        "    left, right = torch.where((apart >= 1) & (apart <= window))\n"
        "    return ids[left], ids[right]\n    distances = "
    },
    says="skipgram_pairs compares every position with every other: N * N pairs fit in no memory.",
    look="How large is a table of 10 ** 6 times 10 ** 6 distances? Do you need them all?",
)
mistake(
    {"return ": "return torch.stack((", " + left)": " + left)), dim=1)"},
    says="skipgram_pairs returns one tensor of pairs, (P, 2), instead of two tensors.",
    look="What is the shape of your result, and which two tensors did the exercise ask for?",
)


@alternative
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


alternative(
    {
        "distances = range(1, min(window, len(ids) - 1) + 1)": "reach = min(window, len(ids))\n"
        "    shifts = torch.tensor([*range(-reach, 0), *range(1, reach + 1)])\n"
        "    positions = torch.arange(len(ids))[:, None]\n"
        "    there = positions + shifts\n"
        "    inside = (there >= 0) & (there < len(ids))\n"
        "    return ids[positions.expand_as(there)[inside]], ids[there[inside]]"
    },
    {
        "distances = ": "words = ids.numpy()\n    distances = ",
        "left = [ids[:-distance]": "left = [words[:-distance]",
        "right = [ids[distance:]": "right = [words[distance:]",
        "torch.cat(left + right)": "torch.from_numpy(numpy.concatenate(left + right)).int()",
        "torch.cat(right + left)": "torch.from_numpy(numpy.concatenate(right + left)).int()",
    },
)


error(
    "TypeError: expected Tensor as element 0 in argument 0, but got",
    "Often torch.cat is given a list of numbers or of lists; it joins only tensors.",
)
error(
    "RuntimeError: stack expects each tensor to be equal size",
    "Usually pieces of different lengths are stacked: N - 1 pairs at distance 1, N - 2 at 2.",
)
error(
    "TypeError: only integer tensors of a single element can be converted to an index",
    "Often torch.tensor is given a list of tensors, which it treats as numbers.",
)


mistake, alternative, error = entries("noise_distribution")

mistake(
    {"counts**power": "counts**0.75"},
    says="noise_distribution ignores `power`: it always raises to 0.75.",
    look="Where in the body do you use `power`?",
    common=True,
)
mistake(
    {
        "weights = counts**power": "weights = counts / counts.sum()",
        "weights / ": "weights**power",
        "weights.sum()": "",
    },
    says="noise_distribution scales first and takes the power later, so the sum is no longer 1.",
    look="Which comes last, the power or the division?",
    common=True,
)
mistake(
    {"weights / weights.sum()": "F.softmax(weights.float(), dim=0)"},
    {"weights / weights.sum()": "F.softmax(counts.float(), dim=0)"},
    {"weights / weights.sum()": "F.softmax(counts.float() * power, dim=0)"},
    says="noise_distribution takes a softmax, which grows with an exponential instead of a power.",
    look="How much more likely is a word that occurs 16 times as often?",
    common=True,
)
mistake(
    {"counts**power": "counts ** (1 / power)"},
    {"counts**power": "counts ** (1 / power if power else 0)"},
    says="noise_distribution takes the root instead of the power: 1 / power.",
    look="For power 2, is 9 weighted as 81 or as 3?",
)
mistake(
    {"counts**power": "(counts + 1) ** power"},
    says="noise_distribution adds to every count, so words that never occur are drawn.",
    look="What is 0 ** 0.75? Which probability has a count of 0?",
)
mistake(
    {"counts**power": "counts.copy_(counts**power)"},
    says="noise_distribution changes the counts that it was given.",
    look="Which operations end in an underscore, or are on the left of `=`?",
)
mistake(
    {" / weights.sum()": ""},
    says="noise_distribution is not scaled: the weights do not sum to 1.",
    look="What does the sum of the result have to be?",
)
mistake(
    {"weights.sum()": "counts.sum()"},
    says="noise_distribution divides by the sum of the counts, not of the weights.",
    look="Which sum should the weights be divided by?",
)
mistake(
    {"weights.sum()": "weights.max()"},
    says="noise_distribution divides by the largest weight, not by their sum.",
    look="What should all probabilities add up to?",
)
mistake(
    {"weights.sum()": "len(weights)"},
    says="noise_distribution divides by the number of words, not by the sum of their weights.",
    look="What should all probabilities add up to?",
)
mistake(
    {"counts**power": "counts**power + 1e-8"},
    says="noise_distribution gives words that never occur a tiny probability instead of 0.",
    look="What does a small number that is added everywhere do to a count of 0?",
)
mistake(
    {"counts**power": "(counts**power).to(counts.dtype)"},
    says="noise_distribution writes the weights back as integers, which truncates them.",
    look="Which dtype do weights from integer counts have?",
)


@alternative
def powers_by_numpy(counts, power=0.75):
    if counts.min() < 0 or counts.max() == 0:
        raise ValueError("counts must not be negative, nor all zero")
    weights = numpy.power(counts.numpy(), power)
    return torch.from_numpy(weights / weights.sum())


alternative(
    {"weights / weights.sum()": "F.normalize(counts.pow(power), p=1, dim=0, eps=0)"},
    {"counts**power": "(counts.float() / counts.sum()) ** power"},
)


error(
    "AttributeError: 'list' object has no attribute 'sum'",
    "Often the weights are collected in a list; a tensor can be raised to a power as a whole.",
)


_CENTER = "self.center = nn.Embedding(vocab_size, n_embd)"
_CONTEXT = "self.context = nn.Embedding(vocab_size, n_embd)"
_START = "nn.init.uniform_(self.center.weight, -0.5 / n_embd, 0.5 / n_embd)"
_DOT = 'torch.einsum("pc,p...c->p...", center_rows, context_rows)'

mistake, alternative, error = entries("SkipGram")

mistake(
    {
        _DOT: "(center_rows.repeat(context_rows[0, ..., :1].numel(), 1) * "
        "context_rows.flatten(0, -2)).sum(dim=-1).view(contexts.shape)"
    },
    {
        _DOT: "(center_rows @ context_rows.flatten(0, -2).T).flatten()"
        "[: contexts.numel()].view(contexts.shape)"
    },
    says="SkipGram lets contexts meet the center of another pair.",
    look="With two pairs of three contexts each, which center belongs to the second context?",
)
mistake(
    {"self.context(contexts": "self.center(contexts"},
    says="SkipGram looks up the contexts in the table of the centers.",
    look="Which of the two tables does each row come from?",
)
mistake(
    {
        "self.center(centers": "self.context(centers",
        "self.context(contexts": "self.center(contexts",
    },
    says="SkipGram swaps its tables: centers are looked up in `context`, contexts in `center`.",
    look="Which of the two tables does each row come from?",
)
mistake(
    {_CONTEXT: "self.context = self.center", "nn.init.zeros_(self.context.weight)": "pass"},
    {
        _START: "nn.init.normal_(self.center.weight, std=0.02)",
        "zeros_(self.context.weight)": "normal_(self.context.weight, std=0.02)\n"
        "        self.context = self.center",
    },
    says="SkipGram uses one table for both roles of a word.",
    look="How many parameters does the model have?",
    common=True,
)
mistake(
    {
        "self.center = nn": "self.centers = nn",
        "self.context = nn": "self.contexts = nn",
        "self.center.weight": "self.centers.weight",
        "self.context.weight": "self.contexts.weight",
        "self.center(": "self.centers(",
        "self.context(": "self.contexts(",
    },
    says="SkipGram stores its tables under names other than `center.weight` and `context.weight`.",
    look="Which names does `model.named_parameters()` list, and which should it?",
)
mistake(
    {
        _CENTER: "self.center = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))",
        _CONTEXT: "self.context = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))",
        _START: "pass",
        "nn.init.zeros_(self.context.weight)": "pass",
        "self.center(centers)": "self.center[centers]",
        "self.context(contexts)": "self.context[contexts]",
    },
    says="SkipGram keeps its tables as bare parameters, so their names lack `.weight`.",
    look="Which names does `model.named_parameters()` list, and which should it?",
)
mistake(
    {_START: "nn.init.zeros_(self.center.weight)"},
    says="SkipGram starts with both tables at zero, where every gradient is zero, too.",
    look="If both rows of a dot product are 0, which gradients do they get?",
)
mistake(
    {_START: "pass", "nn.init.zeros_(self.context.weight)": "pass"},
    {_START: "pass"},
    {"nn.init.zeros_(self.context.weight)": "pass"},
    says="SkipGram starts with large rows: those of nn.Embedding, with a spread of 1.",
    look="How large are dot products of such rows, and what is the first loss then?",
)
mistake(
    {_START: "nn.init.constant_(self.center.weight, 0.01)"},
    says="SkipGram starts with the same number everywhere, so all words stay identical.",
    look="What tells one row from another before the first step?",
)
mistake(
    {
        "nn.init.zeros_(self.context.weight)": "for table in self.children():\n"
        "            weight = table.weight.detach()\n"
        "            del table.weight\n"
        '            table.register_buffer("weight", weight)'
    },
    says="SkipGram holds its tables as buffers or plain tensors, which no optimizer trains.",
    look="What makes a tensor of a module a parameter?",
)
mistake(
    {"zeros_(self.context.weight)": "zeros_(self.context.weight).requires_grad_(False)"},
    {"0.5 / n_embd)\n": "0.5 / n_embd).requires_grad_(False)\n"},
    {
        "zeros_(self.context.weight)": "zeros_(self.context.weight).requires_grad_(False)",
        "0.5 / n_embd)\n": "0.5 / n_embd).requires_grad_(False)\n",
    },
    says="SkipGram freezes a table, or both.",
    look="Which parameters require a gradient? What does `from_pretrained` say about it?",
)
mistake(
    {
        _START: "start = 0.02 * numpy.random.standard_normal((vocab_size, n_embd))\n"
        "        self.center.weight.data = torch.tensor(start, dtype=torch.float32)"
    },
    says="SkipGram draws its initial rows from numpy, which torch.manual_seed does not seed.",
    look="Which generator do the starting values come from?",
)
mistake(
    {_DOT: "center_rows @ context_rows.mT"},
    says="SkipGram multiplies every center by every context in the batch: (P, P) logits.",
    look="Along which axis of the two sets of rows are the pairs, and what does `@` do with it?",
    common=True,
)
mistake(
    {_DOT: "(center_rows * context_rows).sum(-1)"},
    says="SkipGram lines the centers up with the K axis of the contexts, not with the pairs.",
    look="How does (P, C) broadcast against (P, K, C), and what if P = K?",
)
mistake(
    {_DOT: "(center_rows[:, None] * context_rows).sum(-1)"},
    says="SkipGram gives the centers an axis for K even if the contexts are (P,) and have none.",
    look="How does (P, 1, C) broadcast against (P, C)?",
)
mistake(
    {"context_rows)": "context_rows) / center_rows.shape[-1]"},
    says="SkipGram takes the mean of the products instead of their sum.",
    look="What does a dot product do with the C products?",
)
mistake(
    {"->p...": "->p...c"},
    says="SkipGram multiplies the rows, but does not sum the products.",
    look="What does a dot product do with the C products?",
)
mistake(
    {"context_rows)": "context_rows) / math.sqrt(center_rows.shape[-1])"},
    says="SkipGram divides by √C, as attention does; a logit here is the plain dot product.",
    look="Is there a scale in the dot product?",
)
mistake(
    {
        "self.center(centers)": "F.normalize(self.center(centers), dim=-1)",
        "self.context(contexts)": "F.normalize(self.context(contexts), dim=-1)",
    },
    says="SkipGram returns cosines: the rows are scaled to length 1 first.",
    look="Does a logit stop at 1?",
)
mistake(
    {"context_rows)": "context_rows).sigmoid()"},
    says="SkipGram returns probabilities: σ is applied here, and again in the loss.",
    look="The loss expects logits. Who takes the sigmoid?",
    common=True,
)
mistake(
    {"context_rows)": "context_rows).squeeze()"},
    {
        "context_rows)": "context_rows).squeeze() if contexts.dim() > 1 else "
        "(center_rows * context_rows).sum(dim=-1)"
    },
    says="SkipGram squeezes the result, which drops more axes than it should.",
    look="Which axes does `squeeze()` drop if P = 1 or K = 1?",
    common=True,
)
mistake(
    {
        "center_rows = ": "contexts = contexts[:, None] if contexts.dim() == 1 else contexts\n"
        "        center_rows = "
    },
    says="SkipGram gives (P, 1) for (P,) contexts.",
    look="Which shape should you return for one context per pair?",
)
mistake(
    {
        "center_rows = ": "if contexts.dim() == 2:\n"
        "            contexts = contexts[:, :1].expand_as(contexts)\n        center_rows = "
    },
    {"self.context(contexts)": "self.context(contexts[:, 0] if contexts.dim() == 2 else contexts)"},
    says="SkipGram uses only the first of the K contexts.",
    look="How many logits does a pair with K contexts have?",
)
mistake(
    {"(contexts)": "(contexts).detach()"},
    says="SkipGram lets no gradient through to one of its tables.",
    look="What do detach, data and no_grad do?",
)
mistake(
    {
        _CENTER: "self.center = nn.Embedding(vocab_size, n_embd, max_norm=1)",
        _CONTEXT: "self.context = nn.Embedding(vocab_size, n_embd, max_norm=1)",
    },
    says="SkipGram shortens rows that are longer than a limit, and writes them back.",
    look="What do the options of nn.Embedding do to a row? May a logit be 23?",
)
mistake(
    {"center_rows = ": "contexts = contexts % 1000\n        center_rows = "},
    {"center_rows = ": "contexts = contexts.clamp(max=999)\n        center_rows = "},
    says="SkipGram looks up another row than a large id names.",
    look="Which row does id 2000 get?",
)
mistake(
    {_CONTEXT: "self.context = nn.Embedding(vocab_size, n_embd, padding_idx=0)"},
    {
        _CENTER: "self.center = nn.Embedding(vocab_size, n_embd, padding_idx=0)",
        _CONTEXT: "self.context = nn.Embedding(vocab_size, n_embd, padding_idx=0)",
    },
    says="SkipGram gives a table padding_idx=0, so word 0 never learns.",
    look="Which row gets no gradient? Is word 0 a word?",
)
mistake(
    {
        _CENTER: "self.center = nn.Embedding(vocab_size, n_embd, scale_grad_by_freq=True)",
        _CONTEXT: "self.context = nn.Embedding(vocab_size, n_embd, scale_grad_by_freq=True)",
    },
    says="SkipGram divides the gradient of a row by how often its word appears in the batch.",
    look="What do the options of nn.Embedding do to the gradient?",
)


@alternative
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


alternative(
    {
        _CENTER: "self.center = nn.Embedding(vocab_size, n_embd, sparse=True)",
        _CONTEXT: "self.context = nn.Embedding(vocab_size, n_embd, sparse=True)",
        "zeros_(self.context.weight": "normal_(self.context.weight, std=0.02",
        "return torch": "if contexts.dim() == 2:\n"
        "            center_rows = center_rows.unsqueeze(1)\n"
        "        return (center_rows * context_rows).sum(-1)\n        return torch",
    },
    {
        _START: "nn.init.xavier_uniform_(self.center.weight)",
        "zeros_(self.context.weight": "xavier_uniform_(self.context.weight",
        "center_rows = ": "rows = self.center(centers[:, None])\n"
        "        others = self.context(contexts.reshape(len(contexts), -1))\n"
        "        return (rows @ others.permute(0, 2, 1)).reshape(contexts.shape)\n"
        "        center_rows = ",
    },
)


error(
    "RuntimeError: batch1 must be a 3D tensor",
    "Usually bmm gets the rows of contexts (P,), which are (P, C); it takes only (P, K, C).",
)
error(
    "RuntimeError: 1D tensors expected, but got 2D",
    "Usually torch.dot gets all rows at once, (P, C); it takes two single rows.",
)
error(
    "RuntimeError: einsum(): the number of subscripts in the equation",
    "Often the equation is written for contexts (P, K); those of shape (P,) have one axis less.",
)
error(
    "AttributeError: cannot assign module before Module.__init__() call",
    "The constructor of nn.Module has to come before the tables.",
)


mistake, alternative, error = entries("negative_sampling_loss")

mistake(
    {
        "F.logsigmoid(positive)": "positive.sigmoid().log()",
        "F.logsigmoid(-negative)": "(-negative).sigmoid().log()",
    },
    says="negative_sampling_loss overflows: for scores far from 0 the loss is inf.",
    look="What is log σ(-1000) in two steps, and is there a function for it in one step?",
    common=True,
)
mistake(
    *(
        {
            "F.logsigmoid(positive)": f"(positive.sigmoid() + {little}).log()",
            "F.logsigmoid(-negative)": f"((-negative).sigmoid() + {little}).log()",
        }
        for little in ("1e-5", "1e-9", "1e-12")
    ),
    says="negative_sampling_loss adds a small number inside the logarithm, which bounds the loss.",
    look="What is the loss of a logit of -1000, and what is log(1e-9)?",
)
mistake(
    *(
        {"(positive)": f"(positive.clamp({to}))", "(-negative)": f"(-negative.clamp({to}))"}
        for to in ("-10, 10", "-30, 30")
    ),
    says="negative_sampling_loss clamps the logits: beyond them the loss does not grow.",
    look="What is the loss of a logit of -1000, and which gradient does it get?",
)
mistake(
    {
        "= F.logsigmoid(positive)": "= -F.binary_cross_entropy("
        "positive.sigmoid(), torch.ones_like(positive), reduction='none')",
        "F.logsigmoid(-negative)": "-F.binary_cross_entropy("
        "negative.sigmoid(), torch.zeros_like(negative), reduction='none')",
    },
    says="negative_sampling_loss applies σ before a cross-entropy, which stops at 100 per logit.",
    look="What is σ(1000) in float32? Is there a cross-entropy that takes logits?",
)
mistake(
    {
        "= F.logsigmoid(positive)": "= (F.logsigmoid(positive)[:, None]",
        "(-negative)": "(-negative))",
    },
    says="negative_sampling_loss counts each true pair K times, once for each of its negatives.",
    look="Does your sum over K reach the true pair, too? What is the shape of what you sum?",
)
mistake(
    {
        "F.logsigmoid(positive)": "-(F.relu(-positive) + torch.log1p(torch.exp(-positive.abs())))",
        "F.logsigmoid(-negative)": "-(F.relu(negative) + torch.log1p(torch.exp(-negative.abs())))",
    },
    says="negative_sampling_loss gives a logit of exactly 0 no gradient, so training cannot start.",
    look="What are the derivatives of relu and abs at 0, and what is that of log σ?",
)
mistake(
    {"(-negative)": "(negative)"},
    says="negative_sampling_loss rewards high logits for drawn pairs: a minus sign is missing.",
    look="Should a drawn pair have a high logit or a low one?",
    common=True,
)
mistake(
    {"F.logsigmoid(-negative)": "-F.logsigmoid(negative)"},
    {"+ F.logsigmoid(-negative)": "- F.logsigmoid(-negative)"},
    {"F.logsigmoid(-negative)": "(1 - F.logsigmoid(negative))"},
    says="negative_sampling_loss has the minus sign of the negatives outside the logarithm.",
    look="Is log σ(-x) the same as -log σ(x)? Try x = 0. Which sign does each term have?",
)
mistake(
    {"(positive)": "(-positive)", "(-negative)": "(negative)"},
    says="negative_sampling_loss has the signs of true and drawn pairs swapped.",
    look="Which of the two should have a high logit?",
)
mistake(
    {".sum(dim=-1)": ".mean(dim=-1)"},
    says="negative_sampling_loss divides by the number of negatives one time too many.",
    look="How much do five negatives weigh compared with one true pair?",
    common=True,
)
mistake(
    {"log_likelihood.mean()": "log_likelihood.sum() / (positive.numel() + negative.numel())"},
    says="negative_sampling_loss averages over all P * (K + 1) logits, not over the P pairs.",
    look="Which number do you divide the sum by?",
)
mistake(
    {"log_likelihood.mean()": "log_likelihood.sum()"},
    says="negative_sampling_loss sums over the pairs instead of averaging.",
    look="Should the loss double when the batch is twice as long?",
    common=True,
)
mistake(
    {"F.logsigmoid(positive) ": "F.logsigmoid(positive).mean() ", "dim=-1": "dim=0"},
    {"dim=-1": "dim=0"},
    says="negative_sampling_loss sums the negatives over the pairs: over axis 0 instead of K.",
    look="Along which axis of (P, K) are the negatives of one pair?",
)
mistake(
    {"(-negative).sum(dim=-1)": "(-negative.sum(dim=-1))"},
    says="negative_sampling_loss adds the K logits first and takes one logarithm of the sum.",
    look="Is log σ of a sum the sum of the log σ?",
)
mistake(
    {
        "-log_likelihood.mean()": "F.cross_entropy(torch.cat((positive[:, None], negative), 1), "
        "torch.zeros(len(positive), dtype=torch.int64))"
    },
    says="negative_sampling_loss is a softmax over the true pair and its negatives.",
    look="Are the K + 1 logits compared with each other, or each judged for itself?",
)
mistake(
    {" + F.logsigmoid(-negative).sum(dim=-1)": ""},
    says="negative_sampling_loss forgets the negatives.",
    look="What keeps all logits from growing without end?",
)
mistake(
    {"F.logsigmoid(positive) + ": ""},
    says="negative_sampling_loss forgets the true pairs.",
    look="What keeps all logits from falling without end?",
)
mistake(
    {
        "F.logsigmoid(positive)": "positive.sigmoid()",
        "F.logsigmoid(-negative)": "(-negative).sigmoid()",
    },
    says="negative_sampling_loss forgets the logarithm: it adds up probabilities.",
    look="What does a pair at logit 0 cost: 1/2, or ln 2?",
)
mistake(
    {"(positive)": "(positive.sigmoid())", "(-negative)": "(-negative.sigmoid())"},
    says="negative_sampling_loss applies σ twice: log σ takes logits.",
    look="What does logsigmoid do before it takes the logarithm?",
)
mistake(
    {"log_likelihood.mean()": "log_likelihood.mean().item()"},
    says="negative_sampling_loss is a plain number, from which no gradient flows back.",
    look="What do item() and detach() leave behind?",
)
mistake(
    {"log_likelihood.mean()": "log_likelihood.mean() / math.log(2)"},
    says="negative_sampling_loss uses logarithms to base 2.",
    look="How many times ln 2 is the loss of an untrained model?",
)


@alternative
def two_softplus(positive, negative):
    return F.softplus(-positive).mean() + F.softplus(negative).sum(dim=1).mean()


alternative(
    {
        "log_likelihood = ": "logits = torch.cat((positive.unsqueeze(1), negative), dim=1)\n"
        "    is_true = torch.zeros_like(logits)\n"
        "    is_true[:, 0] = 1\n"
        '    total = F.binary_cross_entropy_with_logits(logits, is_true, reduction="sum")\n'
        "    return total / len(positive)\n    log_likelihood = "
    },
    {
        "F.logsigmoid(positive)": "-torch.logaddexp(-positive, positive.new_zeros(()))",
        "F.logsigmoid(-negative)": "-torch.logaddexp(negative, negative.new_zeros(()))",
    },
)


error(
    "RuntimeError: The size of tensor a (5) must match the size of tensor b (3)",
    "Usually (P,) and (P, K) are added as they are: K numbers per pair meet P numbers.",
)
error(
    "RuntimeError: Tensors must have same number of dimensions: got 1 and 2",
    "Often (P,) and (P, K) are joined directly: the true logits lack an axis.",
)
error(
    "ValueError: only one element tensors can be converted to Python scalars",
    "Often a function of math gets a whole tensor of logits; torch has its own.",
)


_DRAWING = """\
            drawn = torch.multinomial(
                noise, len(batch) * n_negatives, replacement=True, generator=generator
            )"""
"""How the reference draws negatives: what mistakes replace that draw in another way."""


def _drawing(negatives):
    """The edit that draws negatives in another way, of any shape that holds batch * K words."""
    return {_DRAWING: f"            drawn = {negatives}"}


_EACH = "            # Each step"
_IF_SHORT = "            if len(batch) < batch_size"

mistake, alternative, error = entries("train_skipgram")
mistake(
    {
        "losses = []": "losses, kept = [], {}",
        "            drawn = torch.multinomial(": "            if len(batch) not in kept:\n"
        "                kept[len(batch)] = torch.multinomial(",
        "drawn.view(": "kept[len(batch)].view(",
    },
    _drawing("once[: len(batch) * n_negatives]")
    | {
        "losses = []": "losses = []\n    size = min(batch_size, len(centers)) * n_negatives\n"
        "    once = torch.multinomial(noise, size, replacement=True, generator=generator)"
    },
    says="train_skipgram draws its negatives once, so the same ones come up in every epoch.",
    look="Before or inside which loop do you draw the negatives?",
    common=True,
)
mistake(
    {
        "total = 0.0": "total, kept = 0.0, {}",
        "            drawn = torch.multinomial(": "            if len(batch) not in kept:\n"
        "                kept[len(batch)] = torch.multinomial(",
        "drawn.view(": "kept[len(batch)].view(",
    },
    _drawing("once[: len(batch) * n_negatives]")
    | {
        "total = 0.0": "total = 0.0\n        size = min(batch_size, len(centers)) * n_negatives\n"
        "        once = torch.multinomial(noise, size, replacement=True, generator=generator)"
    },
    says="train_skipgram draws negatives once per epoch and reuses them at every step.",
    look="Before or inside which loop do you draw the negatives?",
)
mistake(
    _drawing("fixed.view(len(centers), n_negatives)[batch]")
    | {
        "losses = []": "losses, size = [], len(centers) * n_negatives\n"
        "    fixed = torch.multinomial(noise, size, replacement=True, generator=generator)"
    },
    says="train_skipgram gives each pair its negatives once and for all.",
    look="Does a pair meet other negatives in the next epoch?",
)
mistake(
    {
        "noise, len(batch) * n": "noise, n",
        "drawn.view(len(batch), n_negatives)": "drawn.expand(len(batch), -1)",
    },
    says="train_skipgram draws K words for a whole batch, and all of its pairs share them.",
    look="What is the shape of what you draw, (K,) or (batch, K)?",
)
mistake(
    {"noise, len(batch)": "torch.ones_like(noise), len(batch)"},
    _drawing("torch.randint(len(noise), (len(batch), n_negatives), generator=generator)"),
    says="train_skipgram draws all words equally often, whatever `noise` says.",
    look="What does `noise` do in the body?",
)
mistake(
    {"noise, len(batch)": "noise**0.75, len(batch)"},
    says="train_skipgram raises the noise to a power again, though it is a distribution already.",
    look="Where was the power of 0.75 taken?",
)
mistake(
    _drawing(
        "contexts[torch.randint(len(contexts), (len(batch), n_negatives), generator=generator)]"
    ),
    says="train_skipgram takes other pairs' contexts as negatives instead of drawing from `noise`.",
    look="What does `noise` do in the body?",
)
mistake(
    {"noise, len(batch)": "noise + 1e-3, len(batch)"},
    says="train_skipgram adds a little to every probability, so every word can be drawn.",
    look="How likely is a word of probability 0?",
)
mistake(
    _drawing("torch.multinomial(noise.expand(len(batch), -1), n_negatives, generator=generator)"),
    says="train_skipgram draws negatives without replacement.",
    look="May one word be drawn twice? What is multinomial's default?",
)
mistake(
    {"len(batch) * n": "batch_size * n"},
    says="train_skipgram draws as many negatives for a short batch as for a full one.",
    look="How many pairs does the last batch have?",
)
mistake(
    {"drawn.view(len(batch), n_negatives)": "drawn"},
    {"drawn.view(len(batch), n_negatives)": "drawn.view(n_negatives, len(batch))"},
    says="train_skipgram gives its negatives a shape other than (P, K).",
    look="Which shapes does the model take? Print the shape of the drawn words.",
)
mistake(
    {"split(batch_size)": "split(1)"},
    says="train_skipgram makes one step for each pair, whatever `batch_size` says.",
    look="Where in the body do you use `batch_size`?",
)
mistake(
    {", lr=lr": ""},
    says="train_skipgram ignores `lr`.",
    look="Where in the body do you use `lr`?",
)
mistake(
    {"optim.Adam": "optim.SGD"},
    says="train_skipgram steps with plain SGD, which at this learning rate hardly moves.",
    look="How far does a step of lr times the gradient go, with a gradient divided by the batch?",
)
mistake(
    {"            optimizer.zero_grad()": ""},
    says="train_skipgram never resets the gradients, so every step repeats all earlier ones.",
    look="What does `backward` do with a gradient that is already there?",
    common=True,
)
mistake(
    {
        "total = 0.0": "total = 0.0\n        optimizer.zero_grad()",
        "            optimizer.zero_grad()": "",
    },
    says="train_skipgram resets the gradients once per epoch, so they add up until then.",
    look="Before or inside which loop do you reset the gradients?",
)
mistake(
    {"            loss.backward()": ""},
    says="train_skipgram computes the losses, but no weight ever changes.",
    look="In which order do the calls of a training step come, and is one missing?",
)
mistake(
    {"model.parameters()": "[model.context.weight]"},
    {"model.parameters()": "[model.center.weight]"},
    says="train_skipgram trains only one table.",
    look="Which parameters does the optimizer know?",
)
mistake(
    {"optimizer = ": "model = copy.deepcopy(model)\n    optimizer = "},
    says="train_skipgram trains a copy, and the model that was passed in stays as it was.",
    look="Whose parameters does the optimizer change?",
)
mistake(
    {
        "losses = []": "losses = []\n    for parameter in model.parameters():\n"
        "        nn.init.normal_(parameter, std=0.02, generator=generator)"
    },
    says="train_skipgram redraws the weights before it starts.",
    look="Should training decide where the model starts?",
)
mistake(
    {"(centers[batch], drawn": "(contexts[batch], drawn"},
    says="train_skipgram pairs the negatives with the contexts instead of the centers.",
    look="A true pair is center and context. Which of the two stays when a word is drawn?",
)
mistake(
    {
        "total = 0.0": "total = 0.0\n"
        "        contexts = contexts[torch.randperm(len(contexts), generator=generator)]"
    },
    {
        "contexts[batch])": "contexts["
        "torch.randperm(len(contexts), generator=generator)][: len(batch)])"
    },
    says="train_skipgram shuffles centers and contexts apart: the pairs are torn.",
    look="Are both put into the same order?",
)
mistake(
    *({"losses = []": f"losses, n_negatives = [], min(n_negatives, {most})"} for most in (5, 20)),
    {"losses = []": "losses, n_negatives = [], 5"},
    says="train_skipgram draws fewer negatives than `n_negatives` says.",
    look="Where in the body do you use `n_negatives`?",
)
mistake(
    {"losses = []": "losses, centers, contexts = [], centers[:1024], contexts[:1024]"},
    {"split(batch_size)": "split(batch_size)[:2]"},
    says="train_skipgram uses only some of the pairs in an epoch.",
    look="How many steps does an epoch of 1,100 pairs have, in batches of 100?",
)
mistake(
    {"torch.randperm(len(centers), generator=generator)": "torch.arange(len(centers))"},
    says="train_skipgram never shuffles: the pairs come in the same order in every epoch.",
    look="Which order do the pairs of the second epoch have?",
)
mistake(
    {
        "losses = []": "losses = []\n    order = torch.randperm(len(centers), generator=generator)",
        "torch.randperm(len(centers), generator=generator)": "order",
    },
    says="train_skipgram shuffles once, before the first epoch, instead of in each.",
    look="Before or inside the loop over epochs?",
)
mistake(
    {
        "total = 0.0": "total, fixed = 0.0, torch.arange(len(centers)).split(batch_size)",
        "torch.randperm(len(centers), generator=generator).split(batch_size)": "["
        "fixed[i] for i in torch.randperm(len(fixed), generator=generator)]",
    },
    says="train_skipgram shuffles the batches, but each of them always holds the same pairs.",
    look="What is put into a new order, pairs or batches?",
)
mistake(
    {"torch.randperm(len(centers), ": "torch.randint(len(centers), (len(centers),), "},
    says="train_skipgram draws pairs with replacement, so an epoch has some twice, others never.",
    look="Does every pair come up once per epoch?",
)
mistake(
    {_EACH: f"{_IF_SHORT} <= len(centers):\n                break\n{_EACH}"},
    {
        _EACH: f"{_IF_SHORT} <= len(centers):\n                break\n{_EACH}",
        "total / len(centers)": "total / (len(centers) // batch_size * batch_size or len(centers))",
    },
    {_EACH: f"{_IF_SHORT}:\n                break\n{_EACH}"},
    {
        _EACH: f"{_IF_SHORT}:\n                break\n{_EACH}",
        "total / len(centers)": "total / (len(centers) // batch_size * batch_size)",
    },
    says="train_skipgram leaves out the last batch of an epoch if it is short.",
    look="What happens to the fifth pair in batches of two?",
)
mistake(
    {"loss.item() * len(batch)": "loss.item() * batch_size"},
    says="train_skipgram counts a short batch as `batch_size` pairs, so its loss is too high.",
    look="How many pairs does each batch's loss stand for?",
)
mistake(
    {
        "loss.item() * len(batch)": "loss.item()",
        "total / len(centers)": "total / math.ceil(len(centers) / batch_size)",
    },
    says="train_skipgram averages over batches, so a short last batch counts like a full one.",
    look="How many pairs does each batch's loss stand for?",
    common=True,
)
mistake(
    {"loss.item() * len(batch)": "loss.item()"},
    says="train_skipgram adds up one loss for each batch, and divides by the number of pairs.",
    look="How many pairs does each batch's loss stand for?",
)
mistake(
    {"total += loss.item() * len(batch)": "total = loss.item()", "total / len(centers)": "total"},
    says="train_skipgram returns the loss of the last batch as the loss of the epoch.",
    look="What is the loss of an epoch the mean of?",
)
mistake(
    {"loss.item() * len(batch)": "loss.item()", "total / len(centers)": "total"},
    says="train_skipgram sums the losses of the batches instead of averaging.",
    look="What is the loss of an epoch the mean of?",
)
mistake(
    {"total / len(centers)": "total"},
    says="train_skipgram returns the sum over the pairs instead of their mean.",
    look="What is the loss of an epoch the mean of?",
)
mistake(
    {"total / len(centers)": "total / batch_size"},
    says="train_skipgram divides the sum over all pairs by the size of a batch.",
    look="How many pairs' losses are in the sum?",
)
mistake(
    {"        total = 0.0": "", "losses = []": "losses, total = [], 0.0"},
    says="train_skipgram keeps adding to the total of the previous epochs.",
    look="Where is the total set to 0?",
)
mistake(
    {"return losses": "return losses[-1:]"},
    {"return losses": "return losses[-1] if losses else losses"},
    says="train_skipgram returns only the last loss, not one for each epoch.",
    look="How many numbers should five epochs give?",
)
mistake(
    {
        "total += loss.item() * len(batch)": "losses.append(loss.item())",
        "        losses.append(total / len(centers))": "",
    },
    says="train_skipgram returns a loss for each step, not one for each epoch.",
    look="How many numbers should five epochs give? Inside which loop is one appended?",
)
mistake(
    {"range(epochs)": "range(1, epochs + 1)"},
    {"on_epoch(epoch, losses[-1])": "on_epoch(epoch, loss.item())"},
    {"on_epoch(epoch, losses[-1])": "on_epoch(epoch, total)"},
    {"on_epoch(epoch, losses[-1])": "on_epoch(losses[-1], epoch)"},
    says="train_skipgram calls on_epoch with numbers other than the epoch, from 0, and its loss.",
    look="What is the number of the first epoch, and which loss do you return for it?",
)
mistake(
    {
        "        if on_epoch is not None:": "    "
        "for epoch, loss in enumerate(on_epoch and losses or ()):",
        "losses[-1]": "loss",
    },
    says="train_skipgram calls on_epoch only when all epochs are over.",
    look="Inside or after the loop over epochs?",
)
mistake(
    {"if on_epoch is not None": "if True"},
    says="train_skipgram calls on_epoch even if it is None.",
    look="What if nobody wants to know?",
)
mistake(
    {"True, generator=generator": "True"},
    says="train_skipgram draws negatives with the global generator instead of `generator`.",
    look="Which calls draw, and which generator does each draw from?",
    common=True,
)
mistake(
    _drawing(
        "torch.from_numpy(numpy.random.choice(len(noise), (len(batch), n_negatives), "
        "p=noise.double().numpy() / noise.double().sum().item()))"
    ),
    says="train_skipgram draws negatives with numpy, which knows nothing about `generator`.",
    look="Which calls draw, and where do they draw from?",
)
mistake(
    {
        "losses = []": "losses = []\n    if generator is not None:\n"
        "        torch.manual_seed(generator.initial_seed())",
        "(len(centers), generator=generator)": "(len(centers))",
        "True, generator=generator": "True",
    },
    says="train_skipgram seeds the global generator from `generator` and draws from that one.",
    look="What has happened to the global stream after the call?",
)
mistake(
    {"losses = []": "losses, generator = [], (generator or torch.Generator()).manual_seed(0)"},
    says="train_skipgram seeds the generator itself, so every training is the same.",
    look="Who decides on the seed?",
)
mistake(
    {
        "        if on_epoch": "        if epoch and losses[-1] > losses[-2] - 1e-3:\n"
        "            break\n        if on_epoch"
    },
    says="train_skipgram stops as soon as an epoch is no better than the one before.",
    look="How many epochs should there be, and how many losses come back?",
)


@alternative
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


alternative(
    # one forward for true and drawn words
    _drawing(
        "torch.searchsorted(edges, edges[-1] * torch.rand("
        "len(batch), n_negatives, generator=generator, dtype=torch.float64), right=True)"
    )
    | {
        "optim.Adam": "optim.Adagrad",
        "losses = []": "losses, edges = [], noise.double().cumsum(0)",
        "torch.randperm(len(centers), generator=generator)": "torch.rand("
        "len(centers), generator=generator).argsort()",
        "positive = model(centers[batch], contexts[batch])": "words = torch.cat("
        "(contexts[batch, None], drawn), 1)",
        "negative = model(centers[batch], drawn.view(len(batch), n_negatives))": "logits = model("
        "centers[batch], words)",
        "(positive, negative)": "(logits[:, 0], logits[:, 1:])",
    },
    # a draw for each pair
    _drawing(
        "torch.cat([torch.multinomial(noise, n_negatives, True, generator=generator) "
        "for _ in batch]).int()"
    )
    | {"optim.Adam": "optim.NAdam"},
)


error(
    "TypeError: multinomial(): argument 'num_samples' (position 2) must be int",
    "multinomial takes one number of draws, not a shape; you can reshape the result afterwards.",
)
error(
    "RuntimeError: shape '[1024, 5]' is invalid for input of size 60",
    "Usually a short last batch is reshaped like a full one.",
)
error(
    "AttributeError: 'float' object has no attribute 'backward'",
    "Usually the loss was taken out of its tensor before the step: backward needs the tensor.",
)


_ROWS = "F.normalize(vectors, dim=-1)"
_QUERY = "F.normalize(query, dim=-1)"

mistake, alternative, error = entries("nearest_by_cosine")

mistake(
    {_ROWS: "vectors", _QUERY: "query"},
    says="nearest_by_cosine ranks by dot products, so long rows win.",
    look="What do you divide a dot product by to get a cosine?",
    common=True,
)
mistake(
    {_QUERY: "query"},
    says="nearest_by_cosine does not divide by the length of the query.",
    look="Which two lengths do you divide a dot product by to get a cosine?",
)
mistake(
    {_ROWS: "vectors"},
    says="nearest_by_cosine does not divide by the lengths of the rows.",
    look="Which two lengths do you divide a dot product by to get a cosine?",
)
mistake(
    {_ROWS: "vectors / vectors.norm()"},
    says="nearest_by_cosine scales by the length of the whole table, not of each row.",
    look="Over which axis is the norm taken?",
)
mistake(
    {"(vectors, dim=-1)": "(vectors, p=1, dim=-1)", "(query, dim=-1)": "(query, p=1, dim=-1)"},
    says="nearest_by_cosine divides by sums of absolute values instead of lengths.",
    look="What is the length of (3, 4)?",
)
mistake(
    {
        _ROWS: "vectors / vectors.square().sum(-1, True).clamp(min=1e-12)",
        _QUERY: "(query / query.square().sum().clamp(min=1e-12))",
    },
    {_ROWS: "vectors / vectors.square().sum(-1, True).clamp(min=1e-12)"},
    says="nearest_by_cosine divides by squared lengths: the root is missing.",
    look="What is the length of (3, 4)?",
)
mistake(
    {_ROWS: "vectors / vectors.norm(dim=-1, keepdim=True)", _QUERY: "(query / query.norm())"},
    {_ROWS: "vectors / vectors.norm(dim=-1, keepdim=True)"},
    says="nearest_by_cosine divides a row of zeros by its length: 0 / 0 is NaN.",
    look="Which rows have no direction, and what should their similarity be?",
    common=True,
)
mistake(
    {"similarities = ": "vectors = vectors[vectors.norm(dim=-1) > 0]\n    similarities = "},
    says="nearest_by_cosine leaves out rows of zeros, which shifts the numbers of the others.",
    look="Do the row numbers refer to the table that was passed in?",
)
mistake(
    *(
        {"best = ": f"similarities[vectors.norm(dim=-1) == 0] = {least}\n    best = "}
        for least in ("-1.0", "-torch.inf")
    ),
    says="nearest_by_cosine ranks rows of zeros last instead of with similarity 0.",
    look="Which row is less similar: one at a right angle, or one that points the other way?",
)
mistake(
    {_ROWS: "vectors", _QUERY: "query / (vectors.norm(dim=-1) * query.norm() + 1e-2)"},
    {_ROWS: "vectors", _QUERY: "query / (vectors.norm(dim=-1) * query.norm() + 1)"},
    says="nearest_by_cosine adds so much to the divisor that all similarities become smaller.",
    look="How large is the number that is added, next to the lengths?",
)
mistake(
    {"topk(top_k)": "topk(len(vectors))"},
    says="nearest_by_cosine returns all rows.",
    look="Where in the body do you use `top_k`?",
)
mistake(
    {"topk(top_k)": "topk(min(top_k, 10))"},
    {"topk(top_k)": "topk(min(top_k, len(query)))"},
    {"topk(top_k)": "topk(min(top_k, len(vectors) - 1))"},
    says="nearest_by_cosine sometimes returns fewer rows than `top_k` says.",
    look="What else than `top_k` limits the number of rows in your code?",
)
mistake(
    {
        "topk(top_k)": "topk(min(top_k + 1, len(vectors)))",
        "best.indices, best.values": "best.indices[1:], best.values[1:]",
    },
    says="nearest_by_cosine leaves out the best row, as if it were the query itself.",
    look="Is the query one of the rows?",
)
mistake(
    {
        "best = similarities.topk(top_k)": "near = (vectors - query).norm(dim=1).argsort()[:top_k]",
        "best.indices, best.values": "near, similarities[near]",
    },
    says="nearest_by_cosine ranks by distance in space, not by direction.",
    look="Does the length of a row matter to its cosine?",
)
mistake(
    {f"{_ROWS} @ {_QUERY}": "-(vectors - query).norm(dim=1)"},
    {f"{_ROWS} @ {_QUERY}": "(vectors - query).norm(dim=1)", "top_k)": "top_k, largest=False)"},
    says="nearest_by_cosine returns distances in space, where the length of a row counts, too.",
    look="Which number should a row in the query's direction have?",
)
mistake(
    {
        "similarities = ": "with torch.no_grad():\n"
        "        vectors /= vectors.norm(dim=1, keepdim=True).clamp(min=1e-12)\n    similarities = "
    },
    says="nearest_by_cosine scales the table that it was given in place.",
    look="Which operations end in an underscore, or in `/=`?",
)
mistake(
    {"topk(top_k)": "topk(top_k, largest=False)"},
    says="nearest_by_cosine returns the least similar rows.",
    look="In which order does argsort sort?",
)
mistake(
    {"best.indices, best.values": "best.values, best.indices"},
    says="nearest_by_cosine returns similarities first and indices second.",
    look="In which order does `topk` return its results, and in which order should you?",
    common=True,
)
mistake(
    {"best = similarities": "best = similarities.abs()"},
    {
        "best = similarities": "best = similarities.abs()",
        "best.values": "similarities[best.indices]",
    },
    says="nearest_by_cosine takes the absolute value, so rows that point away count as near.",
    look="What is the cosine of a row that points the other way?",
)
mistake(
    {"best = similarities": "best = similarities.clamp(min=0)"},
    says="nearest_by_cosine clips negative similarities at 0.",
    look="What is the cosine of a row that points the other way?",
)
mistake(
    {"best.values": "1 - best.values"},
    says="nearest_by_cosine returns distances, 1 minus the cosine.",
    look="Which number should a row in the query's direction have?",
)
mistake(
    {"best.values": "best.values.softmax(dim=-1)"},
    {"best = similarities": "best = similarities.softmax(dim=-1)"},
    says="nearest_by_cosine returns shares from a softmax instead of cosines.",
    look="Do the similarities have to sum to anything?",
)


@alternative
def torch_cosine_similarity(query, vectors, top_k=5):
    similarities = torch.cosine_similarity(vectors, query.unsqueeze(0), dim=1)
    order = similarities.argsort(descending=True)[:top_k]
    return order, similarities[order]


alternative(
    {
        f"{_ROWS} @ {_QUERY}": "("
        'torch.einsum("vc,c->v", vectors, query) / lengths.masked_fill(lengths == 0, 1))',
        "similarities = ": "lengths = torch.linalg.vector_norm(vectors, dim=1)"
        " * torch.linalg.vector_norm(query)\n    similarities = ",
        "similarities.topk(top_k)": "similarities.sort(descending=True)",
        "best.indices, best.values": "[best.indices[:top_k].int(), best.values[:top_k]]",
    }
)


@alternative
def with_an_epsilon(query, vectors, top_k=5):
    lengths = ((vectors * vectors).sum(dim=1) + 1e-9).sqrt() * (query * query).sum().sqrt()
    similarities = torch.mv(vectors, query) / lengths
    best = torch.topk(similarities, k=top_k)[1].numpy().astype("int32")
    return torch.from_numpy(best), similarities[best]


error(
    "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)",
    "Usually the length of the query is taken along axis 1: the query is (C,) and has one axis.",
)
error(
    "RuntimeError: The size of tensor a (4) must match the size of tensor b (6)",
    "Usually (V, C) is divided by lengths of shape (V,), which line up with the columns.",
)


_TARGET = "F.normalize(unit[b] - unit[a] + unit[c], dim=-1)"
_LEFT_OUT = "similarities[[a, b, c]] = -torch.inf"


def _filtering(ranked, kept):
    """The edit that ranks some rows, and then keeps some of those that are no inputs."""
    return {
        _LEFT_OUT: f"order = similarities.topk(min({ranked}, len(unit))).indices.tolist()\n"
        f"    rows = {kept}\n"
        f"    return torch.tensor(rows), similarities[rows]"
    }


mistake, alternative, error = entries("analogy")

mistake(
    {"unit[b] - unit[a] + unit[c]": "vectors[b] - vectors[a] + vectors[c]"},
    {"F.normalize(vectors, dim=-1)": "vectors"},
    says="analogy uses the rows without scaling, so long rows decide where the sum points.",
    look="Which length should the rows have before they are added?",
    common=True,
)
mistake(
    {"unit[b] - unit[a]": "unit[a] - unit[b]"},
    says="analogy takes the difference the wrong way round: a - b + c.",
    look="Man is to king as woman is to ...: which row do you subtract?",
    common=True,
)
mistake(
    *(
        {"unit[b] - unit[a] + unit[c]": some}
        for some in ("unit[b] - unit[a]", "unit[b] + unit[c]", "unit[c]")
    ),
    says="analogy forgets one or two of its three rows.",
    look="Which rows does b - a + c contain?",
)
mistake(
    {_LEFT_OUT: "pass"},
    says="analogy returns its own inputs, which are among the nearest rows.",
    look="Which rows are usually nearest to b - a + c?",
    common=True,
)
mistake(
    *({"[[a, b, c]]": some} for some in ("[[c]]", "[[b, c]]", "[[a, b]]", "[[a, c]]")),
    says="analogy leaves out only some of its three inputs.",
    look="Which rows may not be answers?",
)
mistake(
    *(
        _filtering(ranked, "[row for row in order if row not in (a, b, c)][:top_k]")
        for ranked in ("top_k", "top_k + 1", "top_k + 2")
    ),
    says="analogy ranks too few rows before it drops the inputs, so too few are left.",
    look="How many rows are left when the inputs are dropped?",
    common=True,
)
mistake(
    _filtering("top_k + 3", "[row for row in order if row not in (a, b, c)]"),
    says="analogy returns more than `top_k` rows if some inputs are not among the nearest.",
    look="How many rows are left when only one input was among the ranked rows?",
)
mistake(
    _filtering("top_k + 3", "order[3:]"),
    _filtering("top_k + 1", "order[1:]"),
    says="analogy always skips the first rows of the ranking, whatever they are.",
    look="Are the inputs always the nearest?",
)
mistake(
    {"-torch.inf": "0"},
    says="analogy gives the inputs the similarity 0, which is more than many rows have.",
    look="What is the cosine of a row that points the other way, above 0 or below?",
)
mistake(
    {"-torch.inf": "-1"},
    says="analogy gives the inputs the similarity -1, which an opposite row has, too.",
    look="Which number is below every cosine?",
)
mistake(
    {
        _LEFT_OUT: "rest = [row for row in range(len(unit)) if row not in (a, b, c)]\n"
        "    similarities = similarities[rest]"
    },
    says="analogy removes the inputs from the table, which shifts the numbers of other rows.",
    look="Do the row numbers refer to the table that was passed in?",
)
mistake(
    {"F.normalize(vectors, dim=-1)": "vectors.div_(vectors.norm(dim=-1, keepdim=True))"},
    says="analogy scales the table that it was given in place.",
    look="Which operations end in an underscore, or in `/=`?",
)
mistake(
    {"[[a, b, c]]": "[(torch.cdist(unit, unit[[a, b, c]]) <= 1e-6).any(dim=1)]"},
    says="analogy leaves out rows that look like an input, not only the inputs.",
    look="Do you compare rows by number or by content?",
)
mistake(
    {"similarities = unit @": "similarities = vectors @"},
    says="analogy ranks by dot products with the unscaled rows.",
    look="Do you rank the rows of length 1?",
)
mistake(
    {_TARGET: "(unit[b] - unit[a] + unit[c])"},
    says="analogy does not divide by the length of b - a + c, so these are not cosines.",
    look="Does the sum of three rows of length 1 have length 1?",
)
mistake(
    {
        f"similarities = unit @ {_TARGET}": "near = (unit @ unit[[a, b, c]].T + 1) / 2\n"
        "    similarities = near[:, 1] * near[:, 2] / (near[:, 0] + 1e-3)"
    },
    says="analogy multiplies similarities (3CosMul) where it should add rows.",
    look="Which vector are the answers near?",
)
mistake(
    {"topk(top_k)": "topk(min(top_k, 10))"},
    says="analogy never returns more than some number of rows, whatever `top_k` says.",
    look="What else than `top_k` limits the number of rows in your code?",
)


@alternative
def more_are_ranked_than_asked_for(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    rows, similarities = nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, top_k + 3)
    is_other = [row not in (a, b, c) for row in rows.tolist()]
    return rows[is_other][:top_k], similarities[is_other][:top_k]


alternative(
    {
        _LEFT_OUT: "ranking = sorted(enumerate(similarities.tolist()), key=lambda one: -one[1])\n"
        "    best = [one for one in ranking if one[0] not in {a, b, c}][:top_k]\n"
        "    return torch.tensor([row for row, _ in best]), torch.tensor([one for _, one in best])"
    }
)


error(
    "RuntimeError: The size of tensor a (6) must match the size of tensor b (3)",
    "Often all ranked rows are compared with the three inputs entry by entry, (k,) with (3,).",
)


_WORD_AND_FIELDS = 'word, *fields = line.rsplit(" ", n_embd)'
_NUMBERS = "[float(field) for field in fields]"


def _taken_apart(fields, word, numbers):
    """The edit that splits a line and then chooses what is the word and what are the numbers."""
    return {_WORD_AND_FIELDS: f"fields = {fields}\n    word, fields = {word}, {numbers}"}


def _float_or_0(field):
    try:
        return float(field)
    except ValueError:
        return 0.0


mistake, alternative, error = entries("parse_glove_line")

mistake(
    {'.rsplit(" ", n_embd)': '.split(" ")'},
    {'.rsplit(" ", n_embd)': '.split(" ")', "len(fields) < n_embd": "len(fields) != n_embd"},
    {'.rsplit(" ", n_embd)': '.split(" ")', "in fields]": "in fields[:n_embd]]"},
    {'.rsplit(" ", n_embd)': ".split()"},
    says="parse_glove_line takes the first field as the word, and everything after it as numbers.",
    look="Words may contain spaces. From which end of the line is it safe to count?",
    common=True,
)
mistake(
    {'.rsplit(" ", n_embd)': '.split(" ")', "in fields]": "in fields[-n_embd:]]"},
    says="parse_glove_line loses the part of a word that comes after its first space.",
    look="What is between the first field and the last C fields?",
)
mistake(
    _taken_apart("line.split()", '" ".join(fields[:-n_embd])', "fields[1:][-n_embd:]"),
    says="parse_glove_line splits at every kind of white space, even at a non-breaking space.",
    look="What does `split()` without an argument split at? See U+00A0.",
    common=True,
)
mistake(
    {"line.rsplit": "line[:-1].rsplit"},
    says="parse_glove_line cuts off the last character, whether it ends the line or not.",
    look="Does every line end with a newline? What is the last character of the others?",
)
mistake(
    {"return word,": "return word.strip('\"'),"},
    says="parse_glove_line removes quotes around a word.",
    look="Does any character of a word have a special meaning?",
)
mistake(
    _taken_apart(
        r'next(csv.reader([line.rstrip("\r\n")], delimiter=" "), [])',
        '" ".join(fields[:-n_embd])',
        "fields[1:][-n_embd:]",
    ),
    says="parse_glove_line reads the line as CSV, where a quote opens a field.",
    look="Does any character of a word have a special meaning?",
)
mistake(
    {"return word,": "return word.lower(),"},
    says="parse_glove_line writes the word in lower case.",
    look="Does the word come back exactly as it is in the file?",
)
mistake(
    {
        _WORD_AND_FIELDS: 'word, *fields = line.split(" ")\n'
        "    while len(fields) > n_embd and not fields[0].strip('-.').isdigit():\n"
        '        word = f"{word} {fields.pop(0)}"'
    },
    says="parse_glove_line ends the word at the first number; a number may be in a word, too.",
    look="What tells a value from the 66 in route 66?",
)
mistake(
    _taken_apart('line.split(" ")', '"".join(fields[:-n_embd])', "fields[1:][-n_embd:]"),
    says="parse_glove_line joins the fields of a word without the spaces between them.",
    look="What was between the fields of the word?",
)
mistake(
    {'" ", n_embd)': '" ", 2)', "len(fields) < n_embd": "len(fields) < 2"},
    says="parse_glove_line ignores `n_embd`: it is right only for vectors of length 2.",
    look="Where in the body do you use `n_embd`?",
)
mistake(
    {'" ", n_embd)': '" ", n_embd + 1)'},
    says="parse_glove_line splits off one field too many, the last of a word with spaces.",
    look="How many pieces does rsplit(..., n) give?",
)
mistake(
    {"in fields]": "in reversed(fields)]"},
    says="parse_glove_line returns the values from last to first.",
    look="In which order are the numbers in the line?",
)
mistake(
    {f"torch.tensor({_NUMBERS})": _NUMBERS},
    says="parse_glove_line returns the values as a list.",
    look="What type should the second part of the result have?",
)
mistake(
    {_NUMBERS: "fields"},
    says="parse_glove_line passes fields to torch.tensor as text, which it cannot convert.",
    look="What is the type of a field after the line is split?",
)
mistake(
    {_NUMBERS: f"{_NUMBERS}, dtype=torch.float64"},
    says="parse_glove_line returns float64 values.",
    look="Which dtype do numpy and double make of Python's floats?",
)
mistake(
    {"float(field) for": "round(float(field), 4) for"},
    says="parse_glove_line rounds the values to four digits.",
    look="How many digits do the numbers of the file have, and how many does a float32 keep?",
)
mistake(
    {"len(fields) < n_embd": "False"},
    {
        **_taken_apart('line.split(" ")', '" ".join(fields[:-n_embd])', "fields[-n_embd:]"),
        "len(fields) < n_embd": "False",
    },
    says="parse_glove_line raises no ValueError for a line with too few numbers.",
    look="What should happen to a line that was cut short?",
    common=True,
)
mistake(
    {"float(field) for": "_float_or_0(field) for"},
    says="parse_glove_line returns 0 where it cannot read a number.",
    look="What should happen to a broken line?",
)
mistake(
    {
        "    return word": '    if any("e" in field.lower() for field in fields):\n'
        "        raise ValueError(line)\n    return word"
    },
    says="parse_glove_line cannot read numbers such as 1e-3.",
    look="In which ways can a number be written?",
)
mistake(
    {"raise ValueError(": "return ValueError("},
    says="parse_glove_line returns a ValueError instead of raising it.",
    look="Which statement stops a function with an error?",
)


@alternative
def fields_joined_again(line, n_embd):
    fields = line.strip().split(" ")
    if len(fields) < n_embd:
        raise ValueError(f"{n_embd} numbers are needed after the word, got only {fields}")
    values = [float(field) for field in fields[-n_embd:]]
    return " ".join(fields[:-n_embd]), torch.FloatTensor(values)


alternative(
    {
        "word, *fields = line": r'word, *fields = line.rstrip("\r\n")',
        f"torch.tensor({_NUMBERS})": "torch.from_numpy(numpy.array(fields, dtype=numpy.float32))",
    }
)


error(
    "ValueError: too many values to unpack (expected 2)",
    "Usually the line's pieces are unpacked into two names; with C numbers there are C + 1.",
)
error(
    "ValueError: could not convert string to float: 'king'",
    "Usually part of the word is read as a number: too many fields are, not only the last C.",
)
