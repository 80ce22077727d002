"""Lesson 7: known mistakes and legitimate alternatives."""

import math

import torch
from torch import nn

from course.mistakes import entries
from solutions.longer import relative_buckets
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
    {"trained_length * theta": "min(trained_length, 65535) * theta"},
    says="yarn_frequencies takes a very long trained length for a shorter one.",
    look="What is the largest trained length that your code can count with?",
)
mistake(
    {".clamp(0, 1)": ""},
    says="yarn_frequencies does not clamp the share that is kept, so it leaves 0 to 1.",
    look="What is `keep` for a pair of 100 turns, and for one of half a turn?",
    common=True,
)
mistake(
    {"(2 * math.pi)": "2 * math.pi"},
    says="yarn_frequencies divides by 2 and multiplies by pi, instead of dividing by 2 pi.",
    look="In which order does Python divide and multiply?",
)
mistake(
    {"(2 * math.pi)": "math.pi"},
    says="yarn_frequencies counts half turns instead of turns.",
    look="How many radians does a whole turn have?",
)
mistake(
    {_TURNS: "trained_length / (2 * math.pi * theta)"},
    says="yarn_frequencies counts more turns the slower a pair is.",
    look="Which pair makes more turns in the same text, a fast one or a slow one?",
)
mistake(
    {_TURNS: "2 * math.pi / theta"},
    {_TURNS: "2 * math.pi / theta / trained_length"},
    says="yarn_frequencies compares wavelengths with the bounds, which are numbers of turns.",
    look="How many wavelengths fit into the trained text?",
)
mistake(
    {_TURNS: "factor * trained_length * theta / (2 * math.pi)"},
    says="yarn_frequencies counts the turns within the longer text, not the trained one.",
    look="What has the model seen of each pair: the trained text or the longer one?",
)
mistake(
    {_KEEP: "torch.linspace(1, 0, head_dim // 2)"},
    says="yarn_frequencies lets the share fall from the first pair to the last, not by turns.",
    look="Does the number of a pair alone tell whether it made a whole turn?",
)


def _as_released(head_dim, base, trained_length, beta_fast, beta_slow):
    """The share that is kept by the code published with the paper."""
    low, high = (
        head_dim
        * math.log(trained_length / (max(turns, 1e-3) * 2 * math.pi))
        / (2 * math.log(base))
        for turns in (beta_fast, beta_slow)
    )
    low, high = max(math.floor(low), 0), min(math.ceil(high), head_dim - 1)
    return 1 - ((torch.arange(head_dim // 2) - low) / max(high - low, 0.001)).clamp(0, 1)


mistake(
    {_KEEP: "_as_released(head_dim, base, trained_length, beta_fast, beta_slow)"},
    {
        _KEEP: "((turns.log() - math.log(max(beta_slow, 1e-9)))"
        " / (math.log(beta_fast) - math.log(max(beta_slow, 1e-9)))).clamp(0, 1)"
    },
    says="yarn_frequencies draws its ramp straight in the number of the pair, not in its turns.",
    look="Between the bounds, what falls linearly with what?",
)
mistake(
    {_KEEP: "(turns > beta_slow).float()"},
    {_KEEP: "(turns > beta_fast).float()"},
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
    says="yarn_frequencies lets its ramp end too high: its width is `beta_fast`.",
    look="What is `keep` for a pair of exactly `beta_fast` turns?",
)
mistake(
    {_KEEP: "((turns - 1.0) / (32.0 - 1.0)).clamp(0, 1)"},
    says="yarn_frequencies uses 1 and 32 turns as its bounds, whatever it is given.",
    look="Where in the formula do the arguments `beta_fast` and `beta_slow` occur?",
)
mistake(
    {
        "    beta_fast: float = 32.0": "    beta_slow: float = 1.0",
        "    beta_slow: float = 1.0": "    beta_fast: float = 32.0",
    },
    says="yarn_frequencies takes its bounds in the other order.",
    look="Which of the two bounds comes first in the signature?",
)
mistake(
    {_MIXED: "theta * keep + (1 - keep) / factor"},
    {_MIXED: "theta * (keep + (1 - keep / factor))"},
    says="yarn_frequencies mixes kept and divided frequencies with brackets in other places.",
    look="Put `keep` = 0 and `keep` = 1 into your last line. What remains of each?",
)
mistake(
    {_MIXED: f"{_MIXED} * (0.1 * math.log(factor) + 1)"},
    says="yarn_frequencies multiplies by 0.1 ln(factor) + 1, which belongs to cosines and sines.",
    look="What should be the frequency of a pair with `keep` = 1?",
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
    {_MIXED: f"1 / ({_MIXED})"},
    {_MIXED: f"2 * math.pi / ({_MIXED})"},
    says="yarn_frequencies returns wavelengths instead of frequencies.",
    look="Is the result in radians per position? Is the first pair the fastest?",
)
mistake(
    {
        _MIXED: "(base * factor ** (head_dim / max(head_dim - 2, 1)))"
        " ** (-torch.arange(0, head_dim, 2.0) / head_dim)"
    },
    says="yarn_frequencies changes the base, as `ntk_base` does, instead of mixing pair by pair.",
    look="Does the formula change the base of theta?",
)
mistake(
    {"torch.arange(0, head_dim, 2)": "torch.arange(head_dim // 2)"},
    says="yarn_frequencies uses the exponent -i / D, so every pair but the first turns too fast.",
    look="Pair i stands for two features. What does that make of i in the exponent?",
)
mistake(
    {"base ** (": "10000.0 ** ("},
    says="yarn_frequencies computes with 10000, whatever `base` it is given.",
    look="Where in the formula does the argument `base` occur?",
)
mistake(
    {_MIXED: f"({_MIXED}).repeat(2)"},
    says="yarn_frequencies returns a number per feature, D, instead of one per pair.",
    look="How many pairs has a head of D features?",
)


@alternative
def pair_by_pair(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    if head_dim % 2 or factor < 1 or beta_fast <= beta_slow:
        raise ValueError("head_dim must be even, factor at least 1, beta_fast above beta_slow")
    result = []
    for i in range(head_dim // 2):
        frequency = base ** (-2 * i / head_dim)
        turns = trained_length * frequency / (2 * math.pi)
        if turns < beta_slow:
            frequency /= factor
        elif turns < beta_fast:
            kept = (turns - beta_slow) / (beta_fast - beta_slow)
            frequency *= kept + (1 - kept) / factor
        result.append(frequency)
    return torch.tensor(result)


@alternative
def by_wavelength_and_where(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    if head_dim % 2 or factor < 1 or beta_fast <= beta_slow:
        raise ValueError("head_dim must be even, factor at least 1, beta_fast above beta_slow")
    theta = 1.0 / (base ** (torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim))
    turns = trained_length / (2 * torch.pi / theta)
    share = (turns - beta_slow) / (beta_fast - beta_slow)
    between = torch.lerp(theta / factor, theta, share)
    between = torch.where(turns >= beta_fast, theta, between)
    return torch.where(turns <= beta_slow, theta / factor, between)


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
_WHOLE = "RotaryEmbedding(max_seq_len, head_dim - head_dim % 2, base)"
_FIRST = "x[..., : self.rotary_dim]"
_REST = "x[..., self.rotary_dim :]"
_JOINED = f"torch.cat((turned, {_REST}), dim=-1)"
_TURNED = f"self.rotary({_FIRST}, offset)"

mistake(
    {
        _FIRST: "x[..., x.shape[-1] - self.rotary_dim :]",
        f"(turned, {_REST})": "(x[..., : x.shape[-1] - self.rotary_dim], turned)",
    },
    {
        _FIRST: "x[..., -self.rotary_dim :]",
        f"(turned, {_REST})": "(x[..., : -self.rotary_dim], turned)",
    },
    says="PartialRotary rotates the last features instead of the first.",
    look="Which end of a head does the docstring name?",
    common=True,
)


def _partners_of_the_whole(x, rotary_dim, offset, base, width):
    """x with pairs i and D/2 + i of the whole head rotated, for the first rotary_dim / 2 pairs."""
    half = x.shape[-1] // 2
    rates = base ** (-torch.arange(0, 2 * half, 2) / max(width, 1))
    rates[rotary_dim // 2 :] = 0
    angles = torch.outer(torch.arange(offset, offset + x.shape[-2]), rates).repeat(1, 2)
    turned = apply_rope(x[..., : 2 * half], angles.cos(), angles.sin())
    return torch.cat((turned, x[..., 2 * half :]), dim=-1)


mistake(
    *(
        {
            "        # what": "        self.base = base\n        # what",
            _JOINED: f"_partners_of_the_whole(x, self.rotary_dim, offset, self.base, {width})",
        }
        for width in ("self.rotary_dim", "x.shape[-1]")
    ),
    {_MADE: _WHOLE, _TURNED: "self.rotary(x, offset)[..., : self.rotary_dim]"},
    {
        _MADE: _WHOLE,
        _TURNED: "self.rotary(x[..., : x.shape[-1] // 2 * 2], offset)[..., : self.rotary_dim]",
    },
    says="PartialRotary pairs feature i with D/2 + i of the whole head, not of the rotated part.",
    look="If four of sixteen features rotate, which is the partner of feature 0?",
    common=True,
)
mistake(
    {_MADE: "RotaryEmbedding(max_seq_len, rotary_dim, base ** (rotary_dim / head_dim))"},
    says="PartialRotary takes its rates from a head of width D instead of `rotary_dim`.",
    look="Which width is in the exponent of the rates?",
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
    {f"(turned, {_REST})": f"({_REST}, turned)"},
    says="PartialRotary puts the rotated features behind the others.",
    look="In which order should the two parts be in the result?",
)
mistake(
    {_MADE: _WHOLE, f"turned = {_TURNED}": "", _JOINED: "self.rotary(x, offset)"},
    {
        _MADE: "RotaryEmbedding(max_seq_len, head_dim, base) if rotary_dim else None",
        f"turned = {_TURNED}": "",
        _JOINED: "self.rotary(x, offset) if self.rotary else x",
    },
    says="PartialRotary rotates the whole head, not only its first `rotary_dim` features.",
    look="Which features should come back as they were?",
    common=True,
)
mistake(
    {
        _TURNED: f"torch.cat([self.rotary({_FIRST}[..., t : t + 1, :], offset)"
        " for t in range(x.shape[-2])], dim=-2)"
    },
    says="PartialRotary gives all tokens of a call the same position, offset.",
    look="Are two tokens of one call at the same position?",
)
mistake(
    {_TURNED: f"self.rotary({_FIRST}.transpose(-3, -2), offset).transpose(-3, -2)"},
    says="PartialRotary expects (B, T, H, D), and rotates heads instead of positions.",
    look="Which axis is T in (B, H, T, D)?",
)
mistake(
    {
        _TURNED: "self.rotary(torch.cat((x[..., : self.rotary_dim : 2],"
        " x[..., 1 : self.rotary_dim : 2]), dim=-1), offset)"
        "[..., [i // 2 + i % 2 * (self.rotary_dim // 2) for i in range(self.rotary_dim)]]"
    },
    says="PartialRotary rotates neighbors, features 2i and 2i + 1, instead of split halves.",
    look="Which feature is the partner of feature 0 in this course?",
)
mistake(
    {_REST: "x[..., self.rotary_dim - x.shape[-1] :]"},
    says="PartialRotary counts the other features from the end, and takes all where none are left.",
    look="What is x[..., -0:]?",
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
    {_REST: "x[..., self.rotary_dim :].bfloat16().float()"},
    {_REST: "x[..., self.rotary_dim :].half().float()"},
    says="PartialRotary rounds the features that it should leave alone.",
    look="What does a trip through a smaller dtype do to a number?",
)
mistake(
    {
        "        # what": "        self.scale = nn.Parameter(torch.ones(()))\n        # what",
        ", offset)": ", offset) * self.scale",
    },
    {"        # what": "        self.unused = nn.Parameter(torch.zeros(2))\n        # what"},
    says="PartialRotary has parameters, although there is nothing to learn in it.",
    look="Which of a module's tensors does an optimizer get?",
)
mistake(
    {_TURNED: f"torch.cat(({_TURNED}[..., :128, :], x[..., 128:, : self.rotary_dim]), dim=-2)"},
    {_TURNED: f"torch.cat(({_TURNED}[:32], x[32:, ..., : self.rotary_dim]))"},
    says="PartialRotary works up to a certain size only; what is beyond does not rotate.",
    look="Which number in your code should depend on the shape of `x`?",
)


@alternative
class tables_of_its_own(nn.Module):
    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        if rotary_dim not in range(0, head_dim + 1, 2):
            raise ValueError(f"rotary_dim must be even, 0 to {head_dim}; got {rotary_dim}")
        self.sizes = rotary_dim, head_dim - rotary_dim
        cos, sin = rope_tables(max_seq_len, rotary_dim, base)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def forward(self, x, offset=0):
        first, rest = x.split(self.sizes, dim=-1)
        positions = slice(offset, offset + x.shape[-2])
        return torch.cat(
            (apply_rope(first, self.cos[positions], self.sin[positions]), rest), dim=-1
        )


@alternative
class as_complex_numbers(nn.Module):
    def __init__(self, max_seq_len, head_dim, rotary_dim, base=10000.0):
        super().__init__()
        if rotary_dim % 2 or rotary_dim < 0 or rotary_dim > head_dim:
            raise ValueError(f"rotary_dim must be even, 0 to {head_dim}; got {rotary_dim}")
        self.half, self.base = rotary_dim // 2, base

    def forward(self, x, offset=0):
        if not self.half:
            return x
        rates = self.base ** (-torch.arange(self.half) / self.half)
        angles = torch.outer(torch.arange(offset, offset + x.shape[-2]), rates)
        real, imaginary, rest = x.tensor_split((self.half, 2 * self.half), dim=-1)
        turned = torch.complex(real, imaginary) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat((turned.real, turned.imag, rest), dim=-1)


alternative(
    {
        _MADE: f"{_MADE} if rotary_dim else nn.Identity()",
        f"turned = {_TURNED}": "if self.rotary_dim == 0:\n            return self.rotary(x)\n"
        f"        result = x.clone()\n        result[..., : self.rotary_dim] = {_TURNED}",
        _JOINED: "result",
    },
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
_NEAR = "distances.clamp(min=0)"
_STEPS = "(near.clamp(min=half) / half).log() / math.log(max_distance / half)"
_SHARED = "(steps * (n_buckets - half)).long()"
_FAR = f"half + {_SHARED}"
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
        _HALF: "half = 16\n    if min(n_buckets, max_distance) <= half:\n"
        "        return distances.clamp(0, n_buckets - 1)"
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
    {_SHARED: "(steps * (n_buckets - half)).round().long()"},
    {_SHARED: "(steps * (n_buckets - half)).ceil().long()"},
    says="relative_buckets rounds up, or to the nearest bucket, instead of down.",
    look="Which whole number does floor make of 1.7?",
    common=True,
)
mistake(
    {".log() /": ".log2() /"},
    {".log() /": ".log10() /"},
    {"math.log(": "math.log2("},
    {"math.log(": "math.log10("},
    says="relative_buckets divides logarithms of two different bases.",
    look="What is the quotient of the two logarithms for d = max_distance?",
    common=True,
)
mistake(
    {" / math.log(max_distance / half)": ""},
    says="relative_buckets does not divide by the logarithm of max_distance / half.",
    look="Which bucket does d = max_distance get from your formula?",
)
mistake(
    {_BUCKETS: f"(distances < 0).long() * half + {_BUCKETS}"},
    *(
        {
            _HALF: "n_buckets //= 2\n    half = max(n_buckets // 2, 1)",
            _NEAR: "distances.abs()",
            _BUCKETS: f"(distances {sign} 0) * n_buckets + {_BUCKETS}",
        }
        for sign in "<>"
    ),
    says="relative_buckets keeps buckets for later keys, as T5's encoder does.",
    look="May a causal model look at later keys? Do they need buckets?",
)
mistake(
    {_NEAR: "(-distances).clamp(min=0)"},
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
    {"(min=half) / half)": "(min=half))", "(max_distance / half)": "(max_distance)"},
    says="relative_buckets measures distance or max_distance otherwise than by multiples of half.",
    look="What are d / half and max_distance / half at the two ends of the shared buckets?",
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
    {_FAR: _SHARED},
    says="relative_buckets counts the shared buckets from 0, where the near ones are already.",
    look="Which bucket has the first distance that is shared?",
)
mistake(
    {_FAR: f"half + 1 + {_SHARED}"},
    says="relative_buckets begins its shared buckets at half + 1.",
    look="Which bucket has the distance half itself?",
)
mistake(
    {_FAR: "half + ((near - half) / (max_distance - half) * (n_buckets - half)).long()"},
    says="relative_buckets gives all shared buckets the same width, without a logarithm.",
    look="How much wider is each shared bucket than the one before?",
)
mistake(
    {_BUCKETS: "far.clamp(max=n_buckets - 1)"},
    says="relative_buckets puts near distances into the first bucket of the far ones.",
    look="Which distances have their own bucket?",
)
mistake(
    {_BUCKETS: "torch.where(near < half, near, n_buckets - 1)"},
    says="relative_buckets puts all far distances into the last bucket.",
    look="From which distance on do all share the last bucket?",
)
mistake(
    {"near < half": "near < max_distance"},
    {"near < half": "near < n_buckets"},
    says="relative_buckets gives distances from half on their own bucket, too.",
    look="Up to which distance does each have its own bucket?",
)
mistake(
    {"near, far.clamp(max=n_buckets - 1)": "far.clamp(max=n_buckets - 1), near"},
    says="relative_buckets takes near buckets for far distances and the other way round.",
    look="Which of the two values does `torch.where` take where its condition holds?",
)
mistake(
    {_SHARED: "(steps * (n_buckets - half)).floor()"},
    says="relative_buckets returns its buckets as floats, which cannot index a table.",
    look="Which dtype can index a table? What does `floor` return?",
)
mistake(
    {_BUCKETS: f"torch.atleast_1d({_BUCKETS})"},
    {_BUCKETS: f"{_BUCKETS}.flatten()"},
    says="relative_buckets returns its buckets in another shape than the distances.",
    look="Which shape should a single distance, or a table of them, come back in?",
)
mistake(
    {"distances.clamp(": "distances.clamp_("},
    says="relative_buckets changes the distances, which the caller still needs.",
    look="Which operation ends in an underscore?",
)


@alternative
def one_by_one(distances, n_buckets=32, max_distance=128):
    half, result = n_buckets // 2, []
    for d in distances.flatten().tolist():
        if d < half:
            result.append(max(d, 0))
        else:
            share = math.log(d / half) / math.log(max_distance / half)
            result.append(min(half + math.floor(share * (n_buckets - half)), n_buckets - 1))
    return torch.tensor(result).reshape(distances.shape)


@alternative
def as_t5_does(distances, n_buckets=32, max_distance=128):
    distances = -torch.min(-distances, torch.zeros_like(distances))
    exact = n_buckets // 2
    is_small = distances < exact
    large = exact + (
        torch.log(distances.float() / exact) / math.log(max_distance / exact) * (n_buckets - exact)
    ).to(torch.long)
    large = torch.min(large, torch.full_like(large, n_buckets - 1))
    return torch.where(is_small, distances, large)


@alternative
def far_ones_written_by_a_mask(distances, n_buckets=32, max_distance=128):
    half = n_buckets // 2
    result = distances.clamp(min=0)
    is_far = result >= half
    share = (result[is_far].double() / half).log() / math.log(max_distance / half)
    result[is_far] = (half + share * (n_buckets - half)).long().clamp(max=n_buckets - 1)
    return result


alternative(
    {
        _STEPS: "torch.bucketize(near / half, (max_distance / half)"
        " ** (torch.arange(1, n_buckets - half) / (n_buckets - half)), right=True)",
        _FAR: "half + steps",
    },
)

error(
    "RuntimeError: Index put requires the source and destination dtypes match",
    "Usually logarithms, which are floats, are written into a tensor of integers.",
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
    says="RelativeBias draws its weights with another standard deviation than 0.02.",
    look="What does `randn` get multiplied by, the variance or the standard deviation?",
    common=True,
)
mistake(
    {_DRAWN: "0.02 * torch.randn(n_heads, n_buckets)", _BIAS: "self.weight[:, buckets]"},
    {_DRAWN: "0.02 * torch.randn(n_heads, n_buckets)"},
    says="RelativeBias has a row per head instead of one per bucket.",
    look="What do rows and columns of `weight` stand for?",
)
mistake(
    {"(2, 0, 1)": "(1, 2, 0)"},
    {"(2, 0, 1)": "(2, 1, 0)"},
    {".permute(2, 0, 1)": ".view(-1, q_len, k_len)"},
    says="RelativeBias orders the axes of its result wrongly, or reads them off in memory.",
    look="Name the three axes of `weight[buckets]`. Which one has to come first?",
)
mistake(
    {_OF: f"relative_buckets({_DISTANCES}, max_distance=self.max_distance)"},
    {_OF: f"relative_buckets({_DISTANCES}, self.n_buckets)"},
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
    {_OF: _DISTANCES},
    {_OF: f"({_DISTANCES}).clamp(0, self.n_buckets - 1)"},
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
    {_OF: f"relative_buckets(({_DISTANCES}).clamp(max=100), self.n_buckets, self.max_distance)"},
    {_BIAS: f"nn.functional.pad({_BIAS}[:, :128], (0, 0, 0, max(q_len - 128, 0)))"},
    {_BIAS: f"{_BIAS} * (torch.arange(self.weight.shape[1]) < 32)[:, None, None]"},
    says="RelativeBias works up to a certain length, or number of heads, only.",
    look="Which number in your code should depend on an argument?",
)
mistake(
    {"torch.randn(n_buckets, n_heads)": "torch.rand(n_buckets, n_heads)"},
    {_DRAWN: "0.02 * 12**0.5 * (torch.rand(n_buckets, n_heads) - 0.5)"},
    {_DRAWN: "0.02 + 0.02 * torch.randn(n_buckets, n_heads)"},
    says="RelativeBias does not draw its weights from a normal distribution around 0.",
    look="What is the mean of `rand`? What is its largest number?",
)
mistake(
    {_BIAS: f'self.__dict__.setdefault("kept", {_BIAS}.detach())'},
    says="RelativeBias keeps a result from an earlier call, though table and lengths may change.",
    look="What does the second call give if the weights have changed between?",
)
mistake(
    {_DRAWN: "0.02 * torch.randn(n_buckets, n_heads, generator=torch.Generator().manual_seed(0))"},
    says="RelativeBias seeds its random numbers, so all layers start identical.",
    look="Make two modules. Do they hold the same numbers?",
)


class _Drawn(nn.Embedding):
    def reset_parameters(self):
        nn.init.normal_(self.weight, std=0.02)


mistake(
    {
        f"self.weight = nn.Parameter({_DRAWN})": "self.table = _Drawn(n_buckets, n_heads)",
        "self.weight[buckets]": "self.table(buckets)",
    },
    {
        f"self.weight = nn.Parameter({_DRAWN})": f"self.bias = nn.Parameter({_DRAWN})",
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
        queries = torch.arange(q_len).view(-1, 1) + k_len - q_len
        distances = queries - torch.arange(k_len).view(1, -1)
        buckets = relative_buckets(distances, self.num_embeddings, self.max_distance)
        return torch.einsum("qkh->hqk", super().forward(buckets))


@alternative
class a_diagonal_for_every_distance(nn.Module):
    def __init__(self, n_heads, n_buckets=32, max_distance=128):
        super().__init__()
        self.weight = nn.Parameter(nn.init.trunc_normal_(torch.empty(n_buckets, n_heads), std=0.02))
        self.sizes = n_buckets, max_distance

    def forward(self, q_len, k_len):
        if q_len > k_len:
            raise ValueError(f"{q_len} queries need as many keys; got {k_len}")
        distances = torch.arange(k_len - 1, -q_len, -1)  # all there can be
        per_distance = self.weight.T[:, relative_buckets(distances, *self.sizes)]
        return per_distance.unfold(1, k_len, 1).flip(1)


alternative(
    {
        _BIAS: "(nn.functional.one_hot(buckets, self.n_buckets).float() @ self.weight)"
        ".permute(2, 0, 1)"
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

_HALVES = "x.chunk(2, dim=-1), (rows, cols)"
_LENGTH = "int(places.max()) + 1"
_TABLES = f"rope_tables({_LENGTH}, head_dim // 2, base)"
_ROTATED = "apply_rope(half, cos[places], sin[places])"
_TWO = "torch.cat(turned, dim=-1)"


def _axes_in_turn(x, rows, cols, rates):
    """Turn the pairs of the whole head by rows and columns in turn."""
    places = torch.stack((rows, cols), dim=-1).repeat(1, x.shape[-1] // 4)  # (T, D/2)
    angles = (places * rates).repeat(1, 2)
    return apply_rope(x, angles.cos(), angles.sin())


mistake(
    *(
        {"    turned = []": f"    return _axes_in_turn(x, rows, cols, {rates})\n    turned = []"}
        for rates in (
            "base ** (-torch.arange(0, head_dim, 2) / head_dim)",
            "(base ** (-torch.arange(0, head_dim, 4) / head_dim)).repeat_interleave(2)",
        )
    ),
    says="rope_2d rotates pairs by rows and columns in turn, not one half of the features by each.",
    look="Which features does `rows` rotate in the docstring, and which ones `cols`?",
)
mistake(
    {"(rows, cols), strict": "(cols, rows), strict"},
    says="rope_2d rotates the first half by the columns and the second by the rows.",
    look="Which half of the features belongs to the rows?",
    common=True,
)
mistake(
    {
        _TABLES: f"rope_tables({_LENGTH}, head_dim, base)\n"
        "        cos, sin = (t[:, : head_dim // 4].repeat(1, 2) for t in (cos, sin))"
    },
    says="rope_2d takes its rates from a head of width D instead of D/2.",
    look="Each half is rotated like a head. How wide is that head?",
    common=True,
)
mistake(
    {_TABLES: f"(t[:, : head_dim // 2] for t in rope_tables({_LENGTH}, head_dim, base))"},
    says="rope_2d cuts columns out of the tables of a whole head, which are not those of a half.",
    look="Which two columns of a table belong to one pair? Are both among those you took?",
)
mistake(
    {"cos[places], sin[places]": "cos[places.sort().values], sin[places.sort().values]"},
    {_TABLES: "rope_tables(seq_len, head_dim // 2, base)", _ROTATED: "apply_rope(half, cos, sin)"},
    says="rope_2d assumes that the positions are 0, 1, 2, ... or sorted.",
    look="May two tokens be in the same row? In which order may positions come?",
    common=True,
)
mistake(
    {
        _ROTATED: "apply_rope(half.unflatten(-1, (-1, 2)).mT.flatten(-2), cos[places], sin[places])"
        ".unflatten(-1, (2, -1)).mT.flatten(-2)"
    },
    says="rope_2d rotates neighbors, features 2i and 2i + 1 of each half, instead of split halves.",
    look="Which feature is the partner of the first one within a half?",
)
mistake(
    {
        _HALVES: "x.unflatten(-1, (2, 2, -1)).transpose(-3, -2).flatten(-3).chunk(2, dim=-1),"
        " (rows, cols)",
        _TWO: f"{_TWO}.unflatten(-1, (2, 2, -1)).transpose(-3, -2).flatten(-3)",
    },
    says="rope_2d pairs a feature of the first half with one of the second.",
    look="Is the partner of feature 0 in the same half of the head?",
)
mistake(
    {"cos[places], sin[places]": "cos[places], -sin[places]"},
    says="rope_2d rotates backwards.",
    look="Where does position 1 rotate the point (1, 0)?",
)
mistake(
    {"cos, sin =": "sin, cos ="},
    says="rope_2d takes the sines for cosines and the other way round.",
    look="In which order does `rope_tables` return its tables?",
)
mistake(
    {"(rows, cols), strict": "(rows, rows), strict"},
    {"(rows, cols), strict": "(cols, cols), strict"},
    {"(rows, cols), strict": "(rows + cols, rows + cols), strict"},
    says="rope_2d rotates both halves by the same positions.",
    look="Which half knows the row, and which one the column?",
)
mistake(
    {"x.chunk(2, dim=-1)": "2 * (x.chunk(2, dim=-1)[0],)"},
    {"x.chunk(2, dim=-1)": "2 * (x.chunk(2, dim=-1)[1],)"},
    {"x.chunk(2, dim=-1)": "x.chunk(2, dim=-1)[::-1]"},
    says="rope_2d rotates the wrong half of the features, or one of them twice.",
    look="From which half of x does each half of the result come?",
)
mistake(
    {"(rows, cols), strict": "(rows, cols * (rows.max() + 1)), strict"},
    {"(rows, cols), strict": "(rows - rows.min(), cols - cols.min()), strict"},
    says="rope_2d moves or stretches the positions before it rotates.",
    look="Is the angle of a position the same whatever the other positions are?",
)
mistake(
    {"base: float = 10000.0": "base: float = 100.0"},
    says="rope_2d uses another base than 10000 when none is given.",
    look="Read the default of base in the signature.",
)
mistake(
    {_TWO: "torch.cat((turned[0], x[..., head_dim // 2 :]), dim=-1)"},
    {_TWO: "torch.cat((x[..., : head_dim // 2], turned[1]), dim=-1)"},
    says="rope_2d rotates one half and leaves the other as it came.",
    look="How many of the features does the result change, if row and column are not 0?",
)
mistake(
    {_LENGTH: "x.shape[-2]"},
    {_LENGTH: "1024"},
    {_LENGTH: "int(places.max())"},
    {_LENGTH: "len(places.unique())"},
    says="rope_2d makes its tables too short for the positions.",
    look="How many rows must a table have, so that it has a row for the largest position?",
    common=True,
)
mistake(
    *(
        {"cos[places], sin[places]": f"cos[places.clamp(max={n})], sin[places.clamp(max={n})]"}
        for n in (127, 255, 1023, 4095)
    ),
    says="rope_2d stops counting at some position; those beyond turn no further.",
    look="Up to which position is the result to be right?",
)
mistake(
    {"cos[places], sin[places]": "cos[places].bfloat16().float(), sin[places].bfloat16().float()"},
    {"cos[places], sin[places]": "cos[places.bfloat16().long()], sin[places.bfloat16().long()]"},
    says="rope_2d rounds positions, angles or tables to half precision.",
    look="Which positions can bfloat16 tell apart around 1000?",
)
mistake(
    {_TWO: "torch.cat(turned[::-1], dim=-1)"},
    {_TWO: "torch.stack(turned, dim=-1).flatten(-2)"},
    says="rope_2d puts its two halves together in another order.",
    look="Where are the first D/2 features in the result?",
)
mistake(
    {_TWO: "torch.cat(turned)"},
    {_TWO: "torch.cat(turned, dim=-2)"},
    {_TWO: "torch.stack(turned)"},
    {_TWO: "turned[0] + turned[1]"},
    says="rope_2d joins its halves along another axis than that of the features, or adds them.",
    look="Along which axis were the halves taken apart?",
)
mistake(
    {_TWO: "torch.cat((torch.cat(turned, dim=-1)[..., :256, :], x[..., 256:, :]), dim=-2)"},
    {_TWO: "torch.cat((torch.cat(turned, dim=-1)[:32], x[32:]))"},
    {_TWO: "torch.cat((torch.cat(turned, dim=-1)[..., :64], x[..., 64:]), dim=-1)"},
    says="rope_2d works up to a certain size only; what is beyond does not rotate.",
    look="Which number in your code should depend on the shape of `x`?",
)


@alternative
def by_the_formula(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4 or len(rows) != seq_len or len(cols) != seq_len:
        raise ValueError(f"D must be divisible by 4, and there must be {seq_len} rows and columns")
    width = head_dim // 2
    rates = base ** (-torch.arange(0, width, 2) / width)

    def rotated(half, places):
        angles = torch.outer(places, rates).repeat(1, 2)
        return apply_rope(half, angles.cos(), angles.sin())

    return torch.cat((rotated(x[..., :width], rows), rotated(x[..., width:], cols)), dim=-1)


@alternative
def four_quarters_as_complex_numbers(x, rows, cols, base=10000.0):
    seq_len, head_dim = x.shape[-2:]
    if head_dim % 4 or len(rows) != seq_len or len(cols) != seq_len:
        raise ValueError(f"D must be divisible by 4, and there must be {seq_len} rows and columns")
    quarters = x.unflatten(-1, (2, 2, -1))  # half, member of the pair, pair
    points = torch.complex(quarters[..., 0, :], quarters[..., 1, :])
    rates = base ** (-torch.arange(head_dim // 4) / (head_dim // 4))
    angles = torch.stack((rows, cols), dim=-1)[..., None] * rates
    points = points * torch.polar(torch.ones_like(angles), angles)
    return torch.stack((points.real, points.imag), dim=-2).flatten(-3)


alternative(
    {_LENGTH: "max(rows.max(), cols.max()) + 1"},
    {_LENGTH: "4097"},
)

error(
    "IndexError: index 40 is out of bounds for dimension 0 with size 9",
    "Usually the tables have as many rows as there are tokens; positions may be larger.",
)
error(
    "RuntimeError: The size of tensor a (4) must match the size of tensor b (8)",
    "Often a half of the features meets tables for a whole head, or the other way round.",
)
error(
    "TypeError: cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "Usually the halves are passed to `torch.cat` one by one, not together in a tuple.",
)
