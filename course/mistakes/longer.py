"""Lesson 7: known mistakes and legitimate alternatives."""

import bisect
import functools
import math

import numpy as np
import torch
from torch import nn

from course.mistakes import entries
from solutions.longer import relative_buckets, yarn_frequencies
from solutions.rope import apply_rope, rope_tables

mistake, alternative, error = entries("yarn_frequencies")

_TURNS = "trained_length * theta / (2 * math.pi)"
_KEEP = "((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1)"
_MIXED = "theta * (keep + (1 - keep) / factor)"

mistake(
    {_MIXED: "theta / factor"},
    says="yarn_frequencies divides every frequency by the factor, those of fast pairs too.",
    look="What should become of a pair that made a hundred turns within the trained text?",
    common=True,
)
mistake(
    {"/ factor": "/ factor**0.5"},
    {"/ factor": "/ factor**2"},
    says="yarn_frequencies divides slow pairs by a power of the factor, not by the factor itself.",
    look="How many times as long is the longest wavelength afterwards?",
)
mistake(
    {_MIXED: "theta * (1 - keep + keep / factor)"},
    says="yarn_frequencies keeps the slow pairs and divides the fast ones.",
    look="Which share is divided when `keep` is 1? Which pairs have that?",
    common=True,
)
mistake(
    {"/ (2 * math.pi)": ""},
    says="yarn_frequencies counts radians instead of turns.",
    look="How far does the angle of a pair go in one turn?",
    common=True,
)
mistake(
    {"trained_length * theta": "min(trained_length, 32767) * theta"},
    says="yarn_frequencies cuts a long trained length off.",
    look="How long is the longest text whose length your number can hold?",
)
mistake(
    {".clamp(0, 1)": ""},
    says="yarn_frequencies does not clamp the share that is kept, so it leaves 0 to 1.",
    look="What is `keep` for a pair of 100 turns, and for one of half a turn?",
    common=True,
)
mistake(
    {"(2 * math.pi)": "2 * math.pi"},
    says="yarn_frequencies divides by 2 and multiplies with pi, for want of brackets.",
    look="In which order does Python divide and multiply?",
)
mistake(
    {"(2 * math.pi)": "math.pi"},
    says="yarn_frequencies counts half turns instead of turns.",
    look="How many radians does a whole turn have?",
)
mistake(
    {_TURNS: "trained_length / (2 * math.pi * theta)"},
    says="yarn_frequencies takes the turns for larger the slower a pair is.",
    look="Which pair makes more turns in the same text, a fast one or a slow one?",
)
mistake(
    {_TURNS: "2 * math.pi / theta"},
    {_TURNS: "2 * math.pi / theta / trained_length"},
    {
        _KEEP: "((1 / max(beta_slow, 1e-9) - 1 / turns)"
        " / (1 / max(beta_slow, 1e-9) - 1 / beta_fast)).clamp(0, 1)"
    },
    says="yarn_frequencies compares wavelengths with the bounds, which are numbers of turns.",
    look="How many wavelengths fit into the trained text?",
)
mistake(
    {_TURNS: "factor * trained_length * theta / (2 * math.pi)"},
    says="yarn_frequencies counts the turns within the longer text, not the trained one.",
    look="What has the model seen of each pair: the trained text or the longer one?",
)
mistake(
    {_TURNS: "trained_length * theta / factor / (2 * math.pi)"},
    says="yarn_frequencies counts the turns of frequencies that are divided already.",
    look="Which frequencies did the model have on the trained text?",
)
mistake(
    {_TURNS: "4096 * theta / (2 * math.pi)"},
    {_TURNS: "2048 * theta / (2 * math.pi)"},
    says="yarn_frequencies counts turns without the trained length it is given.",
    look="Where in the formula does the argument `trained_length` occur?",
)
mistake(
    {_KEEP: "torch.linspace(1, 0, head_dim // 2, dtype=torch.float64)"},
    says="yarn_frequencies lets the share fall from the first pair to the last, not by turns.",
    look="Does the number of a pair alone tell whether it made a whole turn?",
)


def _ramp_of_numbers(turns, beta_fast, beta_slow):
    """The ramp straight in the number of the pair, between those where it begins and ends."""
    numbers = torch.arange(len(turns), dtype=torch.float64)
    low = (turns >= beta_fast).sum() - 1
    high = (turns > beta_slow).sum()
    return ((high - numbers) / (high - low)).clamp(0, 1)


def _ramp_between_numbers(head_dim, base, trained_length, bounds, whole):
    """The same between broken numbers, or between whole ones around them, as in released code."""
    low, high = (
        head_dim * math.log(trained_length / (turns * 2 * math.pi)) / (2 * math.log(base))
        if turns > 0
        else head_dim
        for turns in bounds
    )
    if whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    numbers = torch.arange(head_dim // 2, dtype=torch.float64)
    return 1 - ((numbers - low) / max(high - low, 0.001)).clamp(0, 1)


mistake(
    {_KEEP: "_ramp_of_numbers(turns, beta_fast, beta_slow)"},
    *(
        {
            _KEEP: "_ramp_between_numbers(head_dim, base, trained_length, (beta_fast, beta_slow), "
            f"whole={whole})"
        }
        for whole in (True, False)
    ),
    {
        _KEEP: "((turns.log() - math.log(max(beta_slow, 1e-9)))"
        " / (math.log(beta_fast) - math.log(max(beta_slow, 1e-9)))).clamp(0, 1)"
    },
    says="yarn_frequencies draws its ramp straight in the number of the pair, not in its turns.",
    look="Between the bounds, what falls linearly with what?",
)
mistake(
    {_KEEP: "(turns > beta_slow).double()"},
    {_KEEP: "(turns > beta_fast).double()"},
    {_KEEP: "((turns - beta_slow) / (beta_fast - beta_slow)).clamp(0, 1).round()"},
    says="yarn_frequencies keeps a pair or divides it, with no ramp between.",
    look="What should become of a pair halfway between the bounds?",
)
mistake(
    {"(turns - beta_slow)": "turns"},
    says="yarn_frequencies lets its ramp begin at 0 turns instead of at `beta_slow`.",
    look="What is `keep` for a pair of exactly `beta_slow` turns?",
)
mistake(
    {"(beta_fast - beta_slow)": "beta_fast"},
    says="yarn_frequencies lets its ramp end too high, because it divides by `beta_fast` alone.",
    look="What is `keep` for a pair of exactly `beta_fast` turns?",
)
mistake(
    {_KEEP: "((turns - 1.0) / (32.0 - 1.0)).clamp(0, 1)"},
    says="yarn_frequencies uses 1 or 32 turns as its bounds, whatever it is given.",
    look="Where in the formula do the arguments `beta_fast` and `beta_slow` occur?",
)
mistake(
    {
        "    beta_fast: float = 32.0": "    beta_slow: float = 1.0",
        "    beta_slow: float = 1.0": "    beta_fast: float = 32.0",
    },
    says="yarn_frequencies takes its bounds in the other order, or with each other's defaults.",
    look="Which of the two bounds comes first in the signature, and what are their defaults?",
)
mistake(
    {_MIXED: "theta * keep + (1 - keep) / factor"},
    {_MIXED: "theta * (keep + (1 - keep / factor))"},
    says="yarn_frequencies mixes kept and divided frequencies with brackets in other places.",
    look="Put `keep` = 0 and `keep` = 1 into your last line. What remains of each?",
)
mistake(
    {_MIXED: "theta * (keep + (1 - keep) / factor) * (0.1 * math.log(factor) + 1)"},
    says="yarn_frequencies multiplies by 0.1 ln(factor) + 1, which belongs to cosines and sines.",
    look="What should be the frequency of a pair with `keep` = 1?",
)
mistake(
    {"(2 * math.pi)\n": "(2 * math.pi)\n    turns = turns.floor()\n"},
    {"(2 * math.pi)\n": "(2 * math.pi)\n    turns = turns.round()\n"},
    says="yarn_frequencies counts whole turns only.",
    look="What does a pair keep that made one and a half turns?",
)
mistake(
    {_MIXED: "theta * keep"},
    says="yarn_frequencies leaves out the divided part, so slow pairs don't move at all.",
    look="What should be the frequency of a pair with `keep` = 0?",
)
mistake(
    {_MIXED: "theta / (keep + (1 - keep) * factor)"},
    says="yarn_frequencies mixes wavelengths instead of frequencies.",
    look="Of what are the shares `keep` and `1 - keep` taken: of frequencies or of their inverses?",
)
mistake(
    {"(1 - keep) / factor": "(1 - keep) * factor"},
    says="yarn_frequencies multiplies slow frequencies with the factor: they become faster.",
    look="Does a longer text need faster or slower turns?",
)
mistake(
    {_MIXED: "1 / theta * (keep + (1 - keep) * factor)"},
    {_MIXED: "2 * math.pi / theta * (keep + (1 - keep) * factor)"},
    {_MIXED: "1 / (theta * (keep + (1 - keep) / factor))"},
    {_MIXED: "2 * math.pi / (theta * (keep + (1 - keep) / factor))"},
    says="yarn_frequencies returns wavelengths instead of frequencies.",
    look="Is the result in radians per position? Is the first pair the fastest?",
)
mistake(
    {_MIXED: "(base * factor ** (head_dim / max(head_dim - 2, 1))) ** (-even_numbers / head_dim)"},
    says="yarn_frequencies changes the base, as `ntk_base` does, instead of mixing pair by pair.",
    look="Does the formula change the base of theta?",
)
mistake(
    {"torch.arange(0, head_dim, 2,": "torch.arange(head_dim // 2,"},
    says="yarn_frequencies uses the exponent -i / D, so every pair but the first turns too fast.",
    look="Pair i stands for two features. What does that make of i in the exponent?",
)
mistake(
    {"base ** (": "10000.0 ** ("},
    says="yarn_frequencies computes with 10000, whatever `base` it is given.",
    look="Where in the formula does the argument `base` occur?",
)
mistake(
    {"/ factor)).float()": "/ factor)).float().repeat(2)"},
    says="yarn_frequencies returns a number per feature, D, instead of one per pair.",
    look="How many pairs has a head of D features?",
)
mistake(
    {"beta_fast <= beta_slow": "beta_fast == beta_slow"},
    says="yarn_frequencies raises no ValueError for bounds that are equal, or in the wrong order.",
    look="What is the width of the ramp for `beta_fast` = `beta_slow`, and what below?",
)
mistake(
    {"beta_fast <= beta_slow": "beta_fast >= beta_slow"},
    says="yarn_frequencies refuses the bounds that are right.",
    look="Which of the bounds should be the larger one?",
)


@alternative
def pair_by_pair(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    if head_dim % 2 or factor < 1 or beta_fast <= beta_slow:
        raise ValueError(
            "head_dim must be even, factor at least 1 and beta_fast above beta_slow; "
            f"got {head_dim}, {factor}, {beta_fast}, {beta_slow}"
        )
    result = []
    for i in range(head_dim // 2):
        wavelength = 2 * math.pi * base ** (2 * i / head_dim)
        turns = trained_length / wavelength
        frequency = 2 * math.pi / wavelength
        if turns < beta_slow:
            frequency /= factor
        elif turns < beta_fast:
            kept = (turns - beta_slow) / (beta_fast - beta_slow)
            frequency *= kept + (1 - kept) / factor
        result.append(frequency)
    return torch.tensor(result)


@alternative
def in_float32_by_where(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    if head_dim % 2:
        raise ValueError(f"head_dim must be even; got {head_dim}")
    if factor < 1:
        raise ValueError(f"factor must be at least 1; got {factor}")
    if not beta_fast > beta_slow:
        raise ValueError(f"beta_fast must be above {beta_slow}; got {beta_fast}")
    theta = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
    turns = trained_length * theta / (2 * torch.pi)
    share = (turns - beta_slow) / (beta_fast - beta_slow)
    between = torch.lerp(theta / factor, theta, share)
    between = torch.where(turns >= beta_fast, theta, between)
    return torch.where(turns <= beta_slow, theta / factor, between)


alternative(
    {").float()": ")"},
    {_KEEP: "1 - ((beta_fast - turns) / (beta_fast - beta_slow)).clamp(min=0, max=1)"},
    {
        "base ** (-even_numbers / head_dim)": "(-even_numbers / head_dim * math.log(base)).exp()",
        _MIXED: "theta / factor + keep * (theta - theta / factor)",
    },
    {
        "torch.arange(0, head_dim, 2, dtype=torch.float64)": "np.arange(0, head_dim, 2)",
        _KEEP: "np.clip((turns - beta_slow) / (beta_fast - beta_slow), 0, 1)",
        "(theta * (keep + (1 - keep) / factor)).float()": f"torch.from_numpy({_MIXED})",
    },
    functools.cache(yarn_frequencies),
)

error(
    "TypeError: clamp() received an invalid combination of arguments",
    "Usually `torch.clamp` was given a Python number, or both bounds in one tuple.",
)
error(
    "AttributeError: 'float' object has no attribute 'clamp'",
    "Usually a single pair is computed with Python numbers; `clamp` belongs to tensors.",
)
error(
    "ValueError: only one element tensors can be converted to Python scalars",
    "Usually a function of `math`, which takes one number, was given a whole tensor.",
)


mistake, alternative, error = entries("PartialRotary")

_MADE = "RotaryEmbedding(max_seq_len, rotary_dim, base)"
_FIRST = "x[..., : self.rotary_dim]"
_REST = "x[..., self.rotary_dim :]"
_JOINED = "torch.cat((turned, x[..., self.rotary_dim :]), dim=-1)"
_FORWARD = f"turned = self.rotary({_FIRST}, offset)"
_BAD_PART = "rotary_dim % 2 or not 0 <= rotary_dim <= head_dim"

mistake(
    {
        _FIRST: "x[..., -self.rotary_dim :]",
        "(turned, " + _REST: "(x[..., : -self.rotary_dim], turned",
    },
    {
        _FIRST: "x[..., x.shape[-1] - self.rotary_dim :]",
        "(turned, " + _REST: "(x[..., : x.shape[-1] - self.rotary_dim], turned",
    },
    says="PartialRotary rotates the last features instead of the first.",
    look="Which end of a head does the docstring name?",
    common=True,
)


def _partly_turned(x, rotary_dim, offset, base, whole_rates):
    """x with pairs i and D/2 + i of the whole head turned, as far as rotary_dim goes."""
    width = x.shape[-1] if whole_rates else max(rotary_dim, 1)
    half, rest = x.shape[-1] // 2, x.shape[-1] % 2
    rates = base ** (-torch.arange(0, 2 * half, 2, dtype=torch.float64, device=x.device) / width)
    rates[rotary_dim // 2 :] = 0
    places = torch.arange(offset, offset + x.shape[-2], dtype=torch.float64, device=x.device)
    angles = torch.outer(places, rates).repeat(1, 2)
    turned = apply_rope(x[..., : 2 * half], angles.cos().float(), angles.sin().float())
    return torch.cat((turned, x[..., 2 * half :]), dim=-1) if rest else turned


mistake(
    *(
        {
            "        # what": "        self.base = base\n        # what",
            _JOINED: "_partly_turned(x, self.rotary_dim, offset, self.base, whole_rates="
            f"{whole_rates})",
        }
        for whole_rates in (False, True)
    ),
    says="PartialRotary pairs feature i with D/2 + i of the whole head, not of the rotated part.",
    look="If four of sixteen features rotate, which is the partner of feature 0?",
    common=True,
)

mistake(
    {
        _MADE: "RotaryEmbedding(max_seq_len, head_dim, base)",
        _FORWARD: "turned = self.rotary(x, offset)[..., : self.rotary_dim]",
    },
    {
        _MADE: "RotaryEmbedding(max_seq_len, head_dim - head_dim % 2, base)",
        _FORWARD: "even = x[..., : x.shape[-1] // 2 * 2]\n"
        "        turned = self.rotary(even, offset)[..., : self.rotary_dim]",
    },
    says="PartialRotary rotates the whole head, and takes the first features of the result.",
    look="If four of sixteen features rotate, which is the partner of feature 0?",
)
mistake(
    {_MADE: "RotaryEmbedding(max_seq_len, rotary_dim, base ** (rotary_dim / head_dim))"},
    says="PartialRotary takes its rates from a head of width D instead of `rotary_dim`.",
    look="Which width is in the exponent of the rates?",
    common=True,
)
mistake(
    {", offset)": ")"},
    says="PartialRotary ignores the offset, so a token after the cache is at position 0 again.",
    look="Which positions does the inner RoPE get?",
    common=True,
)
mistake(
    {_JOINED: "turned"},
    says="PartialRotary returns the rotated features only, `rotary_dim` of them.",
    look="How many features should come back?",
)
mistake(
    {
        _JOINED: "torch.cat((turned, *[turned] * (x.shape[-1] // max(self.rotary_dim, 1))), dim=-1)"
        "[..., : x.shape[-1]]"
    },
    says="PartialRotary repeats the rotated features where the others belong.",
    look="From which tensor do the last features of the result come?",
)
mistake(
    {_REST: "torch.zeros_like(x[..., self.rotary_dim :])"},
    says="PartialRotary returns zeros where the other features belong.",
    look="From which tensor do the last features of the result come?",
)
mistake(
    {f"(turned, {_REST})": f"({_REST}, turned)"},
    says="PartialRotary puts the rotated features behind the others.",
    look="In which order should the two parts be in the result?",
)
mistake(
    {_JOINED: "self.rotary.__class__(offset + x.shape[-2], x.shape[-1] // 2 * 2)(x, offset)"},
    {
        _MADE: "RotaryEmbedding(max_seq_len, head_dim - head_dim % 2, base)",
        _FORWARD: "",
        _JOINED: "self.rotary(x, offset)",
    },
    says="PartialRotary rotates all features, however many `rotary_dim` allows.",
    look="Which features should come back as they were?",
)
mistake(
    {
        _FORWARD: f"turned = torch.cat([self.rotary({_FIRST}[..., t : t + 1, :], offset) "
        "for t in range(x.shape[-2])], dim=-2)"
    },
    says="PartialRotary gives all tokens of a call the same position, offset.",
    look="Are two tokens of one call at the same position?",
)
mistake(
    {_FORWARD: f"turned = self.rotary({_FIRST}.transpose(-3, -2), offset).transpose(-3, -2)"},
    says="PartialRotary expects (B, T, H, D), and rotates heads instead of positions.",
    look="Which axis is T in (B, H, T, D)?",
)
mistake(
    {
        _FORWARD: f"pairs = {_FIRST}"
        "\n        if self.rotary_dim:"
        "\n            pairs = pairs.unflatten(-1, (-1, 2)).mT.flatten(-2)"
        "\n        turned = self.rotary(pairs, offset)"
        "\n        if self.rotary_dim:"
        "\n            turned = turned.unflatten(-1, (2, -1)).mT.flatten(-2)"
    },
    says="PartialRotary rotates neighbors, features 2i and 2i + 1, instead of split halves.",
    look="Which feature is the partner of feature 0 in this course?",
)
mistake(
    {_FORWARD: f"x[..., : self.rotary_dim] = self.rotary({_FIRST}, offset)", _JOINED: "x"},
    says="PartialRotary writes into x, which the caller still needs.",
    look="Which line changes x itself?",
)
mistake(
    {_REST: "x[..., self.rotary_dim - x.shape[-1] :]"},
    says="PartialRotary counts the other features from the end, and takes all where none are left.",
    look="What is x[..., -0:]?",
)
mistake(
    {_FIRST: "x[..., : -(x.shape[-1] - self.rotary_dim)]"},
    says="PartialRotary counts the rotated features from the end, and takes none where all rotate.",
    look="What is x[..., :-0]?",
)
mistake(
    {_FIRST: "x[..., -self.rotary_dim :]"},
    says="PartialRotary rotates the last features and puts them where the first belong.",
    look="Which features go into the RoPE, and which ones are put behind them?",
)
mistake(
    {_FIRST: f"({_FIRST} if self.rotary_dim else x)"},
    {_MADE: f"{_MADE} if rotary_dim else RotaryEmbedding(max_seq_len, head_dim, base)"},
    {"self.rotary_dim = rotary_dim": "self.rotary_dim = rotary_dim = rotary_dim or head_dim"},
    says="PartialRotary takes a `rotary_dim` of 0 for all features, or fails for it.",
    look="What is `x` when no feature should rotate? Is 0 true in Python?",
)
mistake(
    {_REST: "x[..., self.rotary_dim :].float()"},
    says="PartialRotary returns float32, also for a float64 or bfloat16 x.",
    look="Which dtype does the result have for a bfloat16 or a float64 x?",
)
mistake(
    {_REST: "x[..., self.rotary_dim :].bfloat16().to(x.dtype)"},
    {_REST: "x[..., self.rotary_dim :].half().to(x.dtype)"},
    says="PartialRotary rounds the features that it should leave alone.",
    look="What does a trip through a smaller dtype do to a number?",
)
mistake(
    {
        "        # what": "        self.scale = nn.Parameter(torch.ones(()))\n        # what",
        ", offset)": ", offset) * self.scale.to(x.dtype)",
    },
    {
        "        # what": "        self.learned = nn.Parameter(torch.zeros(rotary_dim))\n"
        "        # what",
    },
    {
        "        # what": "        self.kept = nn.Parameter(torch.ones(2), requires_grad=False)\n"
        "        # what",
    },
    says="PartialRotary has parameters, although there is nothing to learn in it.",
    look="Which of a module's tensors does an optimizer get?",
)
mistake(
    {"0 <= rotary_dim <= head_dim": "0 <= rotary_dim <= head_dim + 2"},
    {"        if rotary": "        rotary_dim = min(rotary_dim, head_dim)\n        if rotary"},
    says="PartialRotary raises no ValueError for more features to rotate than there are.",
    look="What should happen for rotary_dim = 8 with head_dim = 6?",
)
mistake(
    {"0 <= rotary_dim <= head_dim": "0 <= rotary_dim < head_dim"},
    {_BAD_PART: f"head_dim % 2 or {_BAD_PART}"},
    says="PartialRotary refuses what is allowed: none, all, or some features of an odd head.",
    look="Which numbers of features may rotate? Does the width of the head itself have to be even?",
)
mistake(
    {_MADE: "RotaryEmbedding(2 * max_seq_len, rotary_dim, base)"},
    {_FIRST + ", offset": f"{_FIRST}, max(offset, 0)"},
    says="PartialRotary raises no ValueError for positions below 0 or from max_seq_len on.",
    look="Who refuses an offset, and what is it told about the number of positions?",
)


@alternative
class tables_of_its_own(nn.Module):
    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        if rotary_dim not in range(0, head_dim + 1, 2):
            raise ValueError(f"rotary_dim must be even, 0 to {head_dim}; got {rotary_dim}")
        self.sizes = rotary_dim, head_dim - rotary_dim
        if rotary_dim:
            self.register_buffer("both", torch.stack(rope_tables(max_seq_len, rotary_dim, base)))

    def forward(self, x, offset=0):
        if not self.sizes[0]:
            return x
        end = offset + x.shape[-2]
        if offset < 0 or end > self.both.shape[1]:
            raise ValueError(f"positions must be 0 to {self.both.shape[1]}; got {offset} to {end}")
        to_turn, rest = x.split(self.sizes, dim=-1)
        cos, sin = self.both[:, offset:end]
        return torch.cat((apply_rope(to_turn, cos, sin), rest), dim=-1)


@alternative
class ones_and_zeros_for_the_rest(nn.Module):
    """Half by half, with tables filled up, so that the others turn by nothing."""

    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        if rotary_dim % 2:
            raise ValueError(f"rotary_dim must be even; got {rotary_dim}")
        if rotary_dim < 0 or rotary_dim > head_dim:
            raise ValueError(f"rotary_dim must be 0 to head_dim; got {rotary_dim}")
        cos, sin = torch.ones(max_seq_len, head_dim), torch.zeros(max_seq_len, head_dim)
        cos[:, :rotary_dim], sin[:, :rotary_dim] = rope_tables(max_seq_len, rotary_dim, base)
        half = rotary_dim // 2
        partners = [*range(half, rotary_dim), *range(half), *range(rotary_dim, head_dim)]
        self.register_buffer("cos", cos)
        self.register_buffer("sin", torch.cat((-sin[:, :half], sin[:, half:]), dim=1))
        self.partners = partners

    def forward(self, x, offset=0):
        end = offset + x.shape[-2]
        if not 0 <= offset <= end <= len(self.cos):
            raise ValueError(f"offset and T must fit into {len(self.cos)}; got {offset}, {end}")
        both = x * self.cos[offset:end] + x[..., self.partners] * self.sin[offset:end]
        return both.to(x.dtype)


alternative(
    {
        _MADE: f"{_MADE} if rotary_dim else None",
        _FORWARD: f"if self.rotary is None:\n            return x.clone()\n        {_FORWARD}",
    },
    {
        _MADE: f"{_MADE} if rotary_dim else nn.Identity()",
        _FORWARD: "if self.rotary_dim == 0:\n            return self.rotary(x)\n"
        f"        result = x.clone()\n        result[..., : self.rotary_dim] = "
        f"self.rotary({_FIRST}, offset=offset)",
        _JOINED: "result",
    },
    {
        _FORWARD: "to_turn, rest = x.tensor_split((self.rotary_dim,), dim=-1)\n"
        "        turned = self.rotary(to_turn, offset)",
        _REST: "rest",
    },
    {_JOINED: "torch.cat([turned, x[..., self.rotary_dim : x.shape[-1]]], dim=x.ndim - 1)"},
    {"rotary_dim % 2 or not": "not"},  # the RotaryEmbedding within refuses an odd width
)

error(
    "ValueError: x must have 4 features (head_dim); got 10",
    "Usually the RoPE within gets all features, or with a slice such as [:-0] none of them.",
)
error(
    "AttributeError: 'PartialRotary' object has no attribute",
    "Usually forward reads what the constructor keeps under another name, or does not keep.",
)
error(
    "TypeError: cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "Usually the tensors are passed to `torch.cat` one by one, not together in a tuple.",
)


mistake, alternative, error = entries("relative_buckets")

_HALF = "half = n_buckets // 2"
_NEAR = "distances.long().clamp(min=0)"
_STEPS = "(near.clamp(min=half).double() / half).log() / math.log(max_distance / half)"
_FAR = "half + (steps * (n_buckets - half)).long()"
_BUCKETS = "torch.where(near < half, near, far.clamp(max=n_buckets - 1))"

mistake(
    {".clamp(min=0)": ".abs()"},
    says="relative_buckets takes later keys for keys as far before the query.",
    look="Which bucket has a distance of -3, and which one 3?",
    common=True,
)
mistake(
    {_HALF: "half = 16"},
    {
        _HALF: "half = 16\n"
        "    if min(n_buckets, max_distance) <= half:\n"
        "        return distances.long().clamp(0, n_buckets - 1)"
    },
    says="relative_buckets gives 16 distances their own bucket, whatever `n_buckets` is.",
    look="How many of 8 buckets are for one distance each?",
)
mistake(
    {".clamp(max=n_buckets - 1)": ""},
    {"far.clamp(max=n_buckets - 1)": "far.clamp(max=n_buckets)"},
    says="relative_buckets lets far distances go beyond the last bucket, n_buckets - 1.",
    look="Which numbers do n_buckets buckets have? Which one has a distance of 1000?",
    common=True,
)
mistake(
    {"(steps * (n_buckets - half)).long()": "(steps * (n_buckets - half)).round().long()"},
    {
        _FAR: "near.clamp(min=half).double()\n"
        "    scale = (n_buckets - half) / math.log(max_distance / half)\n"
        "    far = half + ((far / half).log() * scale).round().long()"
    },
    says="relative_buckets rounds to the nearest bucket instead of down.",
    look="Which whole number does floor make of 1.7?",
    common=True,
)
mistake(
    {"(steps * (n_buckets - half)).long()": "(steps * (n_buckets - half)).ceil().long()"},
    says="relative_buckets rounds up instead of down.",
    look="Which whole number does floor make of 1.7?",
)
mistake(
    {_STEPS: "(near.clamp(min=half).double() / half).log2() / math.log(max_distance / half)"},
    {_STEPS: "(near.clamp(min=half).double() / half).log() / math.log2(max_distance / half)"},
    {_STEPS: "(near.clamp(min=half).double() / half).log() / math.log10(max_distance / half)"},
    {_STEPS: "(near.clamp(min=half).double() / half).log10() / math.log(max_distance / half)"},
    says="relative_buckets divides logarithms of two different bases.",
    look="What is the quotient of the two logarithms for d = max_distance?",
    common=True,
)
mistake(
    {_STEPS: "(near.clamp(min=half).double() / half).log()"},
    says="relative_buckets does not divide by the logarithm of max_distance / half.",
    look="Which bucket does d = max_distance get from your formula?",
)
mistake(
    {_BUCKETS: f"(distances < 0).long() * half + {_BUCKETS}"},
    {
        _HALF: "n_buckets //= 2\n    half = n_buckets // 2",
        _NEAR: "distances.long().abs()",
        _BUCKETS: f"(distances < 0) * n_buckets + {_BUCKETS}",
    },
    {
        _HALF: "n_buckets //= 2\n    half = max(n_buckets // 2, 1)",
        _NEAR: "distances.long().abs()",
        _BUCKETS: f"(distances < 0) * n_buckets + {_BUCKETS}",
    },
    {
        _HALF: "n_buckets //= 2\n    half = max(n_buckets // 2, 1)",
        _NEAR: "distances.long().abs()",
        _BUCKETS: f"(distances > 0) * n_buckets + {_BUCKETS}",
    },
    says="relative_buckets keeps buckets for later keys, as T5's encoder does.",
    look="May a causal model look at later keys? Do they need buckets?",
)
mistake(
    {"distances.long()": "(-distances.long())"},
    says="relative_buckets takes distances for key minus query.",
    look="Which sign has the distance of an earlier key?",
)
mistake(
    {_HALF: "half = max(n_buckets // 4, 1)"},
    {_HALF: "half = n_buckets // 2 + 1"},
    {_HALF: "half = max(n_buckets // 2 - 1, 1)"},
    {_HALF: "half = (n_buckets + 1) // 2"},
    says="relative_buckets gives another number of distances than n_buckets // 2 their own bucket.",
    look="How many of 8 buckets, and how many of 7, are for a single distance?",
)
mistake(
    {"(n_buckets - half)": "half"},
    {"(n_buckets - half)": "(n_buckets - half - 1)"},
    {"(n_buckets - half)": "n_buckets"},
    says="relative_buckets shares another number of buckets than n_buckets - half.",
    look="How many buckets remain for the far distances, if n_buckets is 8, or 5?",
)
mistake(
    {"math.log(max_distance / half)": "math.log(max_distance)"},
    {"math.log(max_distance / half)": "math.log(max_distance) / half"},
    {"double() / half)": "double())", "(max_distance / half)": "(max_distance)"},
    {"math.log(max_distance / half)": "math.log(max_distance - half + 1)"},
    says="relative_buckets measures distance or max_distance otherwise than by multiples of half.",
    look="What are d / half and max_distance / half at the two ends of the shared buckets?",
)
mistake(
    {
        _STEPS: "(near.clamp(min=half).double() / half).log2()",
        "(steps * (n_buckets - half))": "steps",
    },
    says="relative_buckets makes each shared bucket twice as wide as the one before it.",
    look="Where do `n_buckets` and `max_distance` decide how wide the shared buckets are?",
)
mistake(
    {"max_distance / half": "n_buckets / half"},
    says="relative_buckets ignores `max_distance`.",
    look="Where in the formula does the argument `max_distance` occur?",
)
mistake(
    {_HALF: "n_buckets, max_distance, half = 32, 128, 16"},
    says="relative_buckets makes 32 buckets up to 128, whatever numbers it is given.",
    look="Where in the formula do the arguments `n_buckets` and `max_distance` occur?",
)
mistake(
    {_FAR: "(steps * (n_buckets - half)).long()"},
    says="relative_buckets counts the shared buckets from 0, where the near ones are already.",
    look="Which bucket has the first distance that is shared?",
)
mistake(
    {_FAR: "half + 1 + (steps * (n_buckets - half)).long()"},
    says="relative_buckets begins its shared buckets at half + 1.",
    look="Which bucket has the distance half itself?",
)
mistake(
    {_FAR: "half + ((near - half).double() / (max_distance - half) * (n_buckets - half)).long()"},
    says="relative_buckets gives all shared buckets the same width, without a logarithm.",
    look="How much wider is each shared bucket than the one before?",
)
mistake(
    {_BUCKETS: "far.clamp(max=n_buckets - 1)"},
    says="relative_buckets puts near distances into the first bucket of the far ones.",
    look="Which distances have their own bucket?",
)
mistake(
    {_HALF: "half = n_buckets"},
    says="relative_buckets gives each distance its own bucket until all are used up.",
    look="Which distances share a bucket?",
)
mistake(
    {_BUCKETS: "torch.where(near < half, near, far.clamp(max=n_buckets - 1) * 0 + n_buckets - 1)"},
    says="relative_buckets puts all far distances into the last bucket.",
    look="From which distance on do all share the last bucket?",
)
mistake(
    {"near < half": "near < max_distance"},
    {"near < half": "near < n_buckets"},
    says="relative_buckets gives each distance above half its own bucket.",
    look="Up to which distance does each have its own bucket?",
)
mistake(
    {"near, far.clamp(max=n_buckets - 1)": "far.clamp(max=n_buckets - 1), near"},
    says="relative_buckets takes near buckets for far distances and the other way round.",
    look="Which of the two values does `torch.where` take where its condition holds?",
)
mistake(
    {"far.clamp(max=n_buckets - 1)": "far % n_buckets"},
    says="relative_buckets begins again at bucket 0 behind the last one.",
    look="Which bucket has a distance of 1000?",
)
mistake(
    {"near < half, near": "distances < half, near"},
    says="relative_buckets computes in the dtype of the distances, where numbers may not fit.",
    look="What are 300 and 128 in uint8 and int8? Which dtype does the result have?",
)
mistake(
    {"n_buckets - 1))": "n_buckets - 1)).int()"},
    {"n_buckets - 1))": "n_buckets - 1)).to(distances.dtype)"},
    says="relative_buckets returns another dtype than int64.",
    look="Which dtype can index a table? What does `floor` return?",
)
mistake(
    {_BUCKETS: f"torch.atleast_1d({_BUCKETS})"},
    says="relative_buckets returns its buckets in another shape than the distances.",
    look="Which shape should a single distance, or a table of them, come back in?",
)
mistake(
    {"distances.long().clamp(min=0)": "distances.clamp_(min=0).long()"},
    says="relative_buckets changes the distances, which the caller still needs.",
    look="Which operation ends in an underscore?",
)


_bucket_of = {}


@mistake(
    says="relative_buckets keeps its buckets, and forgets what they depend on.",
    look="Call it with two numbers of buckets, one after the other. What is the key of the cache?",
    forget=_bucket_of.clear,
)
def table_kept_without_its_sizes(distances, n_buckets=32, max_distance=128):
    half, result = n_buckets // 2, []
    for d in distances.flatten().tolist():
        if d not in _bucket_of:
            steps = math.log(max(d, half) / half) / math.log(max_distance / half)
            far = half + int(steps * (n_buckets - half))
            _bucket_of[d] = max(d, 0) if d < half else min(far, n_buckets - 1)
        result.append(_bucket_of[d])
    return torch.tensor(result, dtype=torch.int64, device=distances.device).view(distances.shape)


@alternative
def one_by_one(distances, n_buckets=32, max_distance=128):
    half, result = n_buckets // 2, []
    for d in distances.flatten().tolist():
        if d < half:
            result.append(max(d, 0))
        else:
            share = math.log(d / half) / math.log(max_distance / half)
            result.append(min(half + math.floor(share * (n_buckets - half)), n_buckets - 1))
    made = torch.tensor(result, dtype=torch.int64, device=distances.device)
    return made.reshape(distances.shape)


@alternative
def in_float32_as_t5_does(distances, n_buckets=32, max_distance=128):
    distances = torch.max(distances.long(), torch.zeros_like(distances.long()))
    exact = n_buckets // 2
    is_small = distances < exact
    large = exact + (
        torch.log(distances.float() / exact) / math.log(max_distance / exact) * (n_buckets - exact)
    ).to(torch.long)
    large = torch.min(large, torch.full_like(large, n_buckets - 1))
    return torch.where(is_small, distances, large)


def _bounds(n_buckets, max_distance):
    """The first distance of each shared bucket but the first, not rounded."""
    half = n_buckets // 2
    shared = n_buckets - half
    return [half * (max_distance / half) ** (k / shared) for k in range(1, shared)]


alternative(
    {
        _STEPS: "torch.bucketize(near.double().contiguous(), torch.tensor("
        "_bounds(n_buckets, max_distance), device=near.device).double(), right=True)",
        _FAR: "half + steps",
    },
    {
        _STEPS: "[bisect.bisect(_bounds(n_buckets, max_distance), d)"
        " for d in near.flatten().tolist()]",
        _FAR: "half + torch.tensor(steps, dtype=torch.int64, device=near.device).view(near.shape)",
    },
    {
        _NEAR: "np.maximum(distances.detach().cpu().numpy().astype(np.int64), 0)",
        _STEPS: "np.log(np.maximum(near, half) / half) / np.log(max_distance / half)",
        _FAR: "half + np.floor(steps * (n_buckets - half)).astype(np.int64)",
        _BUCKETS: "torch.from_numpy(np.where(near < half, near, np.minimum(far, n_buckets - 1)))"
        ".to(distances.device)",
    },
    {".double()": "", ".long()\n    return": ".int()\n    return"},
    {
        _STEPS: "(near.clamp(min=half).double().log() - math.log(half))"
        " / (math.log(max_distance) - math.log(half))",
        _FAR: "half + (steps.clamp(min=0) * (n_buckets - half) + 1e-9).floor().long()",
        _BUCKETS: "near * (near < half) + far.clamp(max=n_buckets - 1) * (near >= half)",
    },
)

error(
    "RuntimeError: value cannot be converted to type int8_t without overflow",
    "Usually a small integer dtype is computed in; 128 and more do not exist in int8.",
)
error(
    "RuntimeError: Index put requires the source and destination dtypes match",
    "Usually logarithms, which are floats, or int32 are written into a tensor of int64.",
)
error(
    "TypeError: log(): argument 'input' (position 1) must be Tensor, not float",
    "Usually `torch.log` was given a Python number; `math.log` takes one.",
)
error(
    "TypeError: minimum(): argument 'other' (position 2) must be Tensor, not int",
    "Usually `torch.minimum` was given a number; it takes two tensors.",
)


mistake, alternative, error = entries("RelativeBias")

_DRAWN = "0.02 * torch.randn(n_buckets, n_heads)"
_KEYS = "torch.arange(k_len, device=self.weight.device)"
_QUERIES = "keys[k_len - q_len :]"
_DISTANCES = "queries[:, None] - keys"
_SIZES = "self.n_buckets, self.max_distance)\n"
_OF = f"relative_buckets({_DISTANCES}, self.n_buckets, self.max_distance)"
_BIAS = "self.weight[buckets].permute(2, 0, 1)"

mistake(
    {_DISTANCES: "keys - queries[:, None]"},
    says="RelativeBias takes key minus query, so that all earlier keys count as later ones.",
    look="Which sign should the distance of an earlier key have?",
    common=True,
)
mistake(
    {_QUERIES: "keys[:q_len]"},
    says="RelativeBias lets the queries start at position 0, as if nothing were in the cache.",
    look="With three keys in the cache, at which position is the next token?",
    common=True,
)
mistake(
    {".permute(2, 0, 1)": ""},
    says="RelativeBias puts the heads last, (q_len, k_len, H), instead of first.",
    look="Which axis is which in (H, q_len, k_len)?",
    common=True,
)
mistake(
    {"0.02 *": "0.02**2 *"},
    says="RelativeBias draws with standard deviation 0.0004, the variance, instead of 0.02.",
    look="What does `randn` get multiplied by, the variance or the standard deviation?",
    common=True,
)
mistake(
    {"0.02 *": "0.02**0.5 *"},
    says="RelativeBias draws with variance 0.02 instead of standard deviation 0.02.",
    look="Of which number do you take the root, and is it a variance?",
)
mistake(
    {_DRAWN: "0.02 * torch.randn(n_heads, n_buckets)", _BIAS: "self.weight[:, buckets]"},
    {_DRAWN: "0.02 * torch.randn(n_heads, n_buckets)"},
    says="RelativeBias has a row per head instead of one per bucket.",
    look="What do rows and columns of `weight` stand for?",
)
mistake(
    {"(2, 0, 1)": "(1, 2, 0)"},
    {".permute(2, 0, 1)": ".view(-1, q_len, k_len)"},
    says="RelativeBias orders the axes of its result wrongly, or reads them off in memory.",
    look="Name the three axes of `weight[buckets]`. Which one has to come first?",
)
mistake(
    {_OF: f"relative_buckets({_DISTANCES}, max_distance=self.max_distance)"},
    {_OF: f"relative_buckets({_DISTANCES})"},
    says="RelativeBias finds its buckets by 32 or 128, whatever numbers it was made with.",
    look="Which arguments does `relative_buckets` get?",
)
mistake(
    {_SIZES: "self.max_distance, self.n_buckets)\n"},
    says="RelativeBias hands the number of buckets and the largest distance over in wrong order.",
    look="In which order does `relative_buckets` take its arguments?",
)
mistake(
    {_QUERIES: "keys[k_len - q_len :] + 1"},
    {_QUERIES: "keys[k_len - q_len :] - 1"},
    says="RelativeBias is one position off: a query and its own key are not at distance 0.",
    look="How far is a query from its own key?",
)
mistake(
    {_QUERIES: "keys[-1:].expand(q_len)"},
    {_QUERIES: "keys[-1:]"},
    {_QUERIES: "keys[k_len - q_len : k_len - q_len + 1].expand(q_len)"},
    says="RelativeBias gives all queries the same position.",
    look="Are two queries of one call at the same position?",
)
mistake(
    {_QUERIES: "keys"},
    says="RelativeBias has a row for every key, however many queries there are.",
    look="How many rows should the result have for one query and four keys?",
)
mistake(
    {_OF: "queries[:, None] - keys"},
    {_OF: "(queries[:, None] - keys).clamp(0, self.n_buckets - 1)"},
    says="RelativeBias takes distances for buckets.",
    look="Who turns a distance into a bucket?",
)
mistake(
    {_BIAS: f"{_BIAS}.masked_fill(queries[:, None] < keys, 0.0)"},
    {_BIAS: f"{_BIAS}.masked_fill(queries[:, None] < keys, -math.inf)"},
    says="RelativeBias masks later keys, which is not its task.",
    look="Which bucket does a key after its query get? Which function applies the mask?",
)
mistake(
    {"0.02 *": ""},
    {"0.02 *": "0.1 *"},
    {_DRAWN: "torch.zeros(n_buckets, n_heads)"},
    says="RelativeBias draws its weights with another standard deviation than 0.02.",
    look="How large are the weights just after the module was made?",
)
mistake(
    {"torch.randn(n_buckets, n_heads)": "torch.rand(n_buckets, n_heads)"},
    {_DRAWN: "0.02 * 12**0.5 * (torch.rand(n_buckets, n_heads) - 0.5)"},
    {_DRAWN: "0.02 + 0.02 * torch.randn(n_buckets, n_heads)"},
    says="RelativeBias does not draw each of its weights for itself from a normal distribution.",
    look="What is the mean of `rand`? Does every bucket and every head get its own number?",
)
mistake(
    {_DRAWN: "0.02 * torch.randn(n_buckets, n_heads, generator=torch.Generator().manual_seed(0))"},
    says="RelativeBias seeds its random numbers, so all layers start identical.",
    look="Make two modules. Do they hold the same numbers?",
)
mistake(
    {_BIAS: 'self.__dict__.setdefault("kept", self.weight[buckets].permute(2, 0, 1).detach())'},
    {
        _BIAS: "self.__dict__.setdefault((q_len, k_len), "
        "self.weight[buckets].permute(2, 0, 1).detach())"
    },
    {_BIAS: 'self.__dict__.setdefault("kept", self.weight[buckets].permute(2, 0, 1))'},
    says="RelativeBias keeps a result from an earlier call, though table and lengths may change.",
    look="What does the second call give if the weights have changed between?",
)
mistake(
    {
        "return self.weight[buckets]": "table = torch.zeros(self.weight.shape)\n"
        "        table = table + self.weight\n        return table[buckets]"
    },
    {
        "return self.weight[buckets]": "hot = torch.zeros(*buckets.shape, self.n_buckets)"
        ".scatter(-1, buckets[..., None], 1.0)\n        return (hot @ self.weight)"
    },
    says="RelativeBias creates a tensor on the CPU, or in float32, wherever its table is.",
    look="Which device and dtype does a new tensor have by default?",
)
mistake(
    {"if q_len > k_len:": "if q_len < k_len:"},
    says="RelativeBias refuses as many queries as keys, or fewer.",
    look="Which lengths does the docstring refuse?",
)


class _Drawn(nn.Embedding):
    def reset_parameters(self):
        nn.init.normal_(self.weight, std=0.02)


mistake(
    {
        f"self.weight = nn.Parameter({_DRAWN})": "self.table = _Drawn(n_buckets, n_heads)",
        _KEYS: "torch.arange(k_len, device=self.table.weight.device)",
        "self.weight[buckets]": "self.table(buckets)",
    },
    {
        f"self.weight = nn.Parameter({_DRAWN})": f"self.bias = nn.Parameter({_DRAWN})",
        _KEYS: "torch.arange(k_len, device=self.bias.device)",
        "self.weight[buckets]": "self.bias[buckets]",
    },
    says="RelativeBias calls its parameter something else than `weight`.",
    look="Under which name would a checkpoint look for the table?",
)


@alternative
class an_embedding_itself(nn.Embedding):
    def __init__(self, n_heads, n_buckets=32, max_distance=128):
        super().__init__(n_buckets, n_heads)
        nn.init.normal_(self.weight, std=0.02)
        self.max_distance = max_distance

    def forward(self, q_len, k_len):
        if q_len > k_len:
            raise ValueError(f"q_len must be at most k_len, {k_len}; got {q_len}")
        distances = [[k_len - q_len + i - j for j in range(k_len)] for i in range(q_len)]
        distances = torch.tensor(distances, device=self.weight.device)
        buckets = relative_buckets(distances, self.num_embeddings, self.max_distance)
        looked_up = super().forward(buckets)
        return torch.einsum("qkh->hqk", looked_up)


@alternative
class a_diagonal_for_every_distance(nn.Module):
    def __init__(self, n_heads, n_buckets=32, max_distance=128):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads).normal_(0, 0.02))
        self.sizes = n_buckets, max_distance

    def forward(self, q_len, k_len):
        if q_len > k_len:
            raise ValueError(f"{q_len} queries need as many keys; got {k_len}")
        device = self.weight.device
        distances = torch.arange(k_len - 1, -k_len, -1, device=device)  # all there can be
        per_distance = self.weight.T[:, relative_buckets(distances, *self.sizes)]
        rows = [
            per_distance[:, k_len - 1 - place : 2 * k_len - 1 - place] for place in range(k_len)
        ]
        return torch.stack(rows[k_len - q_len :], dim=1)


alternative(
    {
        _DRAWN: "torch.normal(0.0, 0.02, (n_buckets, n_heads))",
        _BIAS: "nn.functional.embedding(buckets, self.weight).movedim(-1, 0)",
    },
    {_KEYS: "torch.arange(k_len)"},  # an index on the CPU is no fault
    {
        _QUERIES: "torch.arange(q_len, device=keys.device) + (k_len - q_len)",
        _BIAS: "self.weight.T[:, buckets]",
    },
    {
        _BIAS: "(nn.functional.one_hot(buckets, self.n_buckets).to(self.weight.dtype)"
        " @ self.weight).permute(2, 0, 1)"
    },
    {
        _BIAS: "torch.stack([head[buckets] for head in self.weight.unbind(1)])",
    },
    {
        _BIAS: "self.weight.index_select(0, buckets.flatten()).T.reshape(-1, q_len, k_len)",
    },
)

error(
    "IndexError: index 32 is out of bounds for dimension 0 with size 32",
    "Usually a bucket, or a distance that is none yet, is larger than the last row of `weight`.",
)
error(
    "IndexError: tensors used as indices must be long, int, byte or bool tensors",
    "Usually the buckets are floats; rows are numbered by integers.",
)
error(
    "AttributeError: 'RelativeBias' object has no attribute 'weight'",
    "Usually the constructor keeps the table under another name, or nowhere.",
)
error(
    "RuntimeError: The size of tensor a (5) must match the size of tensor b (25)",
    "Usually queries (q_len,) meet keys (k_len,) entry by entry; each pair has a distance.",
)


mistake, alternative, error = entries("rope_2d")

_PAIRED = "in (first, rows), (second, cols):"
_ABSOLUTE = "places.long().abs()"
_LENGTH = "max(steps.tolist(), default=0) + 1"
_TURNED = "apply_rope(half, cos[steps], places.sign()[:, None] * sin[steps])"
_TWO = "torch.cat(halves, dim=-1)"
_BY_FORMULA = "apply_rope(half, *_tables_at(places, half.shape[-1], base))"


def _tables_at(places, width, base):
    """(cos, sin) of any places, each (T, width)."""
    even_numbers = torch.arange(0, width, 2, dtype=torch.float64, device=places.device)
    angles = torch.outer(places.double(), base ** (-even_numbers / width)).repeat(1, 2)
    return angles.cos().float(), angles.sin().float()


def _axes_in_turn(x, rows, cols, rates):
    """Turn the pairs of the whole head by rows and columns in turn."""
    places = torch.stack((rows, cols), dim=-1).double().repeat(1, x.shape[-1] // 4)  # (T, D/2)
    angles = (places * rates).repeat(1, 2)
    return apply_rope(x, angles.cos().float(), angles.sin().float())


_EACH_RATE = "base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)"
_EACH_RATE_TWICE = "(base ** (-torch.arange(0, head_dim, 4).double() / (head_dim // 2)))"

mistake(
    {"    halves = []": f"    return _axes_in_turn(x, rows, cols, {_EACH_RATE})\n    halves = []"},
    {
        "    halves = []": "    return _axes_in_turn(x, rows, cols, "
        f"{_EACH_RATE_TWICE}.repeat_interleave(2))\n    halves = []"
    },
    says="rope_2d rotates pairs by rows and columns in turn, not one half of the features by each.",
    look="Which features does `rows` rotate in the docstring, and which ones `cols`?",
)
mistake(
    {_PAIRED: "in (first, cols), (second, rows):"},
    says="rope_2d rotates the first half by the columns and the second by the rows.",
    look="Which half of the features belongs to the rows?",
    common=True,
)
_BOTH_ENDS = "max(rows.abs().tolist() + cols.abs().tolist(), default=0) + 1"

mistake(
    *(
        {_ABSOLUTE: "places.long()", _LENGTH: length, "places.sign()[:, None] * ": ""}
        for length in (
            _BOTH_ENDS,
            "2 * max(map(abs, steps.tolist()), default=0) + 1",
            "max(map(abs, steps.tolist()), default=0) + 1",
            "max(max(steps.tolist(), default=0), 0) + 1",
            *("4097", "5000", "8192", "10000"),
        )
    ),
    {_ABSOLUTE: "places.long()", "places.sign()[:, None] * ": ""},
    says="rope_2d looks up negative positions in a table, where they count from the end.",
    look="Which row of a table is row -1? What is the angle at position -1?",
    common=True,
)
mistake(
    {"places.sign()[:, None] * ": ""},
    says="rope_2d rotates negative positions as if they were positive.",
    look="Which way does position -1 rotate? Which of cos and sin changes its sign?",
    common=True,
)
mistake(
    {
        "rope_tables(length, head_dim // 2, base))": "rope_tables(length, head_dim, base))\n"
        "        cos, sin = (t[:, : head_dim // 4].repeat(1, 2) for t in (cos, sin))"
    },
    says="rope_2d takes its rates from a head of width D instead of D/2.",
    look="Each half is rotated like a head. How wide is that head?",
    common=True,
)
mistake(
    {
        "rope_tables(length, head_dim // 2, base))": "rope_tables(length, head_dim, base))\n"
        "        cos, sin = cos[:, : head_dim // 2], sin[:, : head_dim // 2]"
    },
    says="rope_2d cuts columns out of the tables of a whole head, which are not those of a half.",
    look="Which two columns of a table belong to one pair? Are both among those you took?",
)
mistake(
    {_ABSOLUTE: "places.long().abs().sort().values"},
    {_TURNED: "apply_rope(half, cos[: x.shape[-2]], sin[: x.shape[-2]])"},
    {"steps = places.long().abs()": "steps = places = torch.arange(len(places), device=x.device)"},
    says="rope_2d assumes that the positions are 0, 1, 2, ... or sorted.",
    look="May two tokens be in the same row? In which order may positions come?",
)
mistake(
    {
        "    halves = []": "    halves = []\n    head = x\n    x = x.unflatten(-1, (-1, 2)).mT"
        ".flatten(-2)",
        _TWO: "torch.cat(halves, dim=-1).unflatten(-1, (2, -1)).mT.flatten(-2)",
    },
    says="rope_2d gives even features to the rows and odd ones to the columns.",
    look="Where do the features lie that belong to the rows?",
)
mistake(
    {
        _TURNED: "apply_rope(half.unflatten(-1, (-1, 2)).mT.flatten(-2), cos[steps],"
        " places.sign()[:, None] * sin[steps]).unflatten(-1, (2, -1)).mT.flatten(-2)"
    },
    says="rope_2d rotates neighbors, features 2i and 2i + 1 of each half, instead of split halves.",
    look="Which feature is the partner of the first one within a half?",
)
mistake(
    {
        "    halves = []": "    halves = []\n"
        "    x = x.unflatten(-1, (2, 2, -1)).transpose(-3, -2).flatten(-3)",
        _TWO: f"{_TWO}.unflatten(-1, (2, 2, -1)).transpose(-3, -2).flatten(-3)",
    },
    says="rope_2d pairs a feature of the first half with one of the second.",
    look="Is the partner of feature 0 in the same half of the head?",
)
mistake(
    {_TURNED: "apply_rope(half, cos[steps], -places.sign()[:, None] * sin[steps])"},
    says="rope_2d rotates backwards.",
    look="Where does position 1 rotate the point (1, 0)?",
)
mistake(
    {"cos, sin =": "sin, cos ="},
    {"cos[steps], places.sign()[:, None] * sin[steps]": "sin[steps], cos[steps]"},
    says="rope_2d takes the sines for cosines and the other way round.",
    look="In which order does `rope_tables` return its tables?",
)
mistake(
    {_PAIRED: "in (first, rows), (second, rows):"},
    {_PAIRED: "in (first, cols), (second, cols):"},
    {_PAIRED: "in (first, rows + cols), (second, rows + cols):"},
    says="rope_2d rotates both halves by the same positions.",
    look="Which half knows the row, and which one the column?",
)
mistake(
    {_PAIRED: "in (first, rows), (first, cols):"},
    {_PAIRED: "in (second, rows), (second, cols):"},
    {_PAIRED: "in (second, rows), (first, cols):"},
    says="rope_2d rotates the wrong half of the features, or one of them twice.",
    look="From which half of x does each half of the result come?",
)
mistake(
    {_PAIRED: "in [(first, rows)]:", _TWO: "torch.cat((*halves, second), dim=-1)"},
    {_PAIRED: "in [(second, cols)]:", _TWO: "torch.cat((first, *halves), dim=-1)"},
    says="rope_2d rotates one half and leaves the other as it came.",
    look="How many of the features does the result change, if row and column are not 0?",
)
mistake(
    {_PAIRED: "in (first, rows), (second, cols * (max(rows.tolist(), default=0) + 1)):"},
    {_PAIRED: "in (first, rows), (second, cols - min(cols.tolist(), default=0)):"},
    {_PAIRED: "in (first, rows - min(rows.tolist(), default=0)), (second, cols):"},
    {
        _PAIRED: "in (first, rows - min(rows.tolist(), default=0)),"
        " (second, cols - min(cols.tolist(), default=0)):"
    },
    {_PAIRED: "in (first, rows.clamp(min=0)), (second, cols.clamp(min=0)):"},
    says="rope_2d moves, stretches or cuts the positions before it rotates.",
    look="Is the angle of a position the same whatever the other positions are?",
)
mistake(
    {"base: float = 10000.0": "base: float = 100.0"},
    says="rope_2d uses another base than 10000 when none is given.",
    look="Read the default of base in the signature.",
)
mistake(
    {_ABSOLUTE: "(places * places.sign()).long()"},
    {_ABSOLUTE: "places.abs().to(torch.uint8).long()"},
    says="rope_2d computes in the positions' small dtype, in which some numbers do not exist.",
    look="What is the absolute value of -128 in int8?",
)
mistake(
    {_LENGTH: "x.shape[-2]"},
    {_LENGTH: "1024"},
    {_LENGTH: "max(steps.tolist(), default=0)"},
    says="rope_2d makes its tables too short for the positions.",
    look="How many rows must a table have, so that it has a row for the largest position?",
)
mistake(
    {_LENGTH: "4096", _ABSOLUTE: "places.long().abs().clamp(max=4095)"},
    {_LENGTH: "128", _ABSOLUTE: "places.long().abs().clamp(max=127)"},
    says="rope_2d stops counting at the end of its table; places beyond turn no further.",
    look="Up to which place is the result to be right?",
)
mistake(
    *(
        {_TURNED: f"apply_rope(half, *(t.{to}() for t in _tables_at(places, {width}, base)))"}
        for to, width in (("bfloat16", "head_dim // 2"), ("half", "head_dim // 2"))
    ),
    {_TURNED: "apply_rope(half, *_tables_at(places.to(x.dtype), head_dim // 2, base))"},
    says="rope_2d computes places or tables in half precision, or in the dtype of x.",
    look="Which places can bfloat16 tell apart around 1000?",
)
mistake(
    {_TWO: "torch.cat(halves[::-1], dim=-1)"},
    {_TWO: "torch.stack(halves, dim=-1).flatten(-2)"},
    says="rope_2d puts its two halves together in another order.",
    look="Where are the first D/2 features in the result?",
)
mistake(
    {_TWO: "torch.cat(halves)"},
    {_TWO: "torch.cat(halves, dim=-2)"},
    {_TWO: "torch.stack(halves)"},
    {_TWO: "halves[0] + halves[1]"},
    says="rope_2d joins its halves along another axis than that of the features, or adds them.",
    look="Along which axis were the halves taken apart?",
)
mistake(
    {_TURNED: f"half.copy_({_TURNED})"},
    says="rope_2d writes into x, which the caller still needs.",
    look="Which line changes x itself?",
)
mistake(
    {"rows.shape != (seq_len,) or cols.shape != (seq_len,)": "rows.shape != cols.shape"},
    {
        "rows.shape != (seq_len,) or": "rows.shape != (seq_len,) and",
    },
    says="rope_2d raises no ValueError where rows or columns are not as many as the tokens.",
    look="Which two lengths should be compared with T? What does a single place broadcast to?",
)


_tables_kept = {}

mistake(
    {
        _TURNED: "apply_rope(half, *(t[steps] if t is cos else places.sign()[:, None] * t[steps]"
        " for t in (cos, sin)))",
        "rope_tables(length, head_dim // 2, base))": "rope_tables(length, head_dim // 2, base))\n"
        "        kept = _tables_kept.setdefault((head_dim, length), (cos, sin))\n"
        "        cos, sin = kept",
    },
    says="rope_2d keeps its tables by their width, and forgets that base matters too.",
    look="Call it with two bases, one after the other. What is the key of the cache?",
    forget=_tables_kept.clear,
)


@alternative
def by_the_formula(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4 != 0:
        raise ValueError(f"the width must be divisible by 4; got {head_dim}")
    if len(rows) != seq_len or len(cols) != seq_len:
        raise ValueError(f"{seq_len} tokens need as many places; got {len(rows)}, {len(cols)}")
    width = head_dim // 2
    rates = base ** (-torch.arange(0, width, 2, device=x.device).float() / width)
    result = []
    for part, places in zip(x.split(width, dim=-1), (rows, cols), strict=True):
        angles = places[:, None].float() * rates
        result.append(apply_rope(part, angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)))
    return torch.cat(result, dim=-1)


@alternative
def four_quarters_as_complex_numbers(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4:
        raise ValueError(f"D must be divisible by 4; got {head_dim}")
    for places in (rows, cols):
        if len(places) != seq_len:
            raise ValueError(f"there must be {seq_len} places; got {len(places)}")
    quarters = x.double().unflatten(-1, (2, 2, -1))  # half, member of the pair, pair
    points = torch.complex(quarters[..., 0, :], quarters[..., 1, :])
    rates = torch.tensor([base ** (-4 * i / head_dim) for i in range(head_dim // 4)])
    places = torch.stack((rows, cols), dim=-1).to(rates)
    turns = torch.exp(1j * places.double()[..., None] * rates.double()).to(x.device)
    points = points * turns
    return torch.stack((points.real, points.imag), dim=-2).flatten(-3).to(x.dtype)


@alternative
def token_by_token(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4:
        raise ValueError(f"D must be divisible by 4; got {head_dim}")
    if not len(rows) == len(cols) == seq_len:
        raise ValueError(f"T, rows and cols must agree; got {seq_len}, {len(rows)}, {len(cols)}")
    turned, half = [], head_dim // 2
    for t, where in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
        token = x[..., t : t + 1, :]
        parts = []
        for part, place in zip((token[..., :half], token[..., half:]), where, strict=True):
            cos, sin = rope_tables(abs(place) + 1, half, base)
            cos, sin = cos[-1:].to(x.device), sin[-1:].to(x.device)
            parts.append(apply_rope(part, cos, sin if place >= 0 else -sin))
        turned.append(torch.cat(parts, dim=-1))
    return torch.cat(turned, dim=-2)


alternative(
    {_TURNED: _BY_FORMULA},
    {
        _ABSOLUTE: "places.long() - min(places.tolist(), default=0)",
        "(t.to(x.device) for t in rope_tables(length, head_dim // 2, base))": "("
        "t.to(x.device) for t in _tables_at(torch.arange(length) + min(places.tolist(),"
        " default=0), head_dim // 2, base))",
        "places.sign()[:, None] * ": "",
    },
    {
        _ABSOLUTE: "places.int().abs().tolist()",
        _LENGTH: "1 + max(steps)",
        "sin[steps])": "sin[steps].to(cos))",
    },
    {
        "places.sign()[:, None] * sin[steps]": "torch.where(places[:, None] < 0, -sin[steps],"
        " sin[steps])"
    },
    {_LENGTH: "5000", "(t.to": "(nn.functional.pad(t, (0, 0, 0, 1)).to"},
)

error(
    "IndexError: index 40 is out of bounds for dimension 0 with size 9",
    "Usually the tables have as many rows as there are tokens; places may be larger.",
)
error(
    "IndexError: tensors used as indices must be long, int, byte or bool tensors",
    "Usually a table is indexed by int8, int16 or floats; int64 serves everywhere.",
)
error(
    "RuntimeError: upper bound and lower bound inconsistent with step sign",
    "Usually tables are made as long as the largest place tells, which may be negative.",
)
error(
    "RuntimeError: The size of tensor a (4) must match the size of tensor b (8)",
    "Often a half of the features meets tables for a whole head, or the other way round.",
)
error(
    "TypeError: cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "Usually the halves are passed to `torch.cat` one by one, not together in a tuple.",
)
