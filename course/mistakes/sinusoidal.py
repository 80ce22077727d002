"""Lesson 4: known mistakes and legitimate alternatives."""

import cmath
import functools
import math

import numpy as np
import torch
from torch import nn

from course.mistakes import entries
from solutions.sinusoidal import (
    SinusoidalPositionalEmbedding,
    check_width,
    inverse_frequencies,
    offset_rotation,
    sinusoidal_encoding,
)

_kept = {}  # what mistakes remember from one call to the next

# --- inverse_frequencies ------------------------------------------------------------------------


mistake, alternative, error = entries("inverse_frequencies")

mistake(
    {"arange(0, n_embd, 2,": "arange(n_embd // 2,"},
    says="inverse_frequencies leaves the 2 out of the exponent: i / C instead of 2i / C.",
    look="What is the exponent of the last pair, close to 1 or close to 1/2?",
    common=True,
)
mistake(
    {"arange(0, n_embd, 2,": "arange(n_embd,"},
    {"torch.arange(0, n_embd, 2,": "2 * torch.arange(n_embd,"},
    {
        "torch.arange(0, n_embd, 2,": "2 * torch.arange(n_embd // 2,",
        "/ n_embd)": "/ n_embd).repeat_interleave(2)",
    },
    {"/ n_embd)": "/ n_embd).repeat(2)"},
    says="inverse_frequencies gives one frequency per column instead of one per pair.",
    look="How many angles are there for C columns?",
    common=True,
)
mistake(
    {"-even_columns": "even_columns"},
    says="inverse_frequencies forgets the minus sign: the frequencies grow.",
    look="Does the second pair turn faster or slower than the first?",
    common=True,
)
mistake(
    {"base **": "10000.0 **"},
    says="inverse_frequencies ignores its argument `base`.",
    look="Where does `base` enter the formula?",
    common=True,
)
mistake(
    {"-even_columns": "-2 * even_columns"},
    says="inverse_frequencies doubles the exponent's step: 4i / C instead of 2i / C.",
    look="What is the exponent of the last pair, close to 1 or close to 2?",
)
mistake(
    {"/ n_embd)": "/ max(n_embd - 2, 1))"},
    says="inverse_frequencies lets the exponent reach 1: 2i / (C - 2) instead of 2i / C.",
    look="What is the exponent of the last pair: exactly 1, or a little less?",
)
mistake(
    {"/ n_embd)": "/ (n_embd - 1))"},
    says="inverse_frequencies divides its exponents by C - 1.",
    look="What is the exponent of the second pair for C = 4?",
)
mistake(
    {" / n_embd)": ")"},
    says="inverse_frequencies does not divide its exponents by C.",
    look="What is the exponent of the second pair for C = 4?",
)
mistake(
    {"arange(0, n_embd, 2,": "arange(2, n_embd + 2, 2,"},
    says="inverse_frequencies counts its pairs from 1.",
    look="What is the first frequency?",
)
mistake(
    {"arange(0, n_embd, 2,": "arange(1, n_embd, 2,"},
    says="inverse_frequencies takes the odd columns for its exponents.",
    look="What is the first frequency?",
)
mistake(
    {"/ n_embd)": "/ n_embd).flip(0)"},
    says="inverse_frequencies lists the slowest pair first.",
    look="What is the first frequency?",
)
mistake(
    {"arange(0, n_embd, 2,": "arange(0, n_embd - 2, 2,"},
    says="inverse_frequencies leaves the last pair out.",
    look="How many pairs have C columns?",
)
mistake(
    {"base ** (-": "-base ** ("},
    says="inverse_frequencies has the minus sign before the power instead of in the exponent.",
    look="What is a power with a negative exponent, written as a fraction?",
)
mistake(
    {"base ** (": "torch.exp("},
    says="inverse_frequencies takes the exponential of the exponent, without base.",
    look="What is base ** x, written with exp and log?",
)
mistake(
    {"base ** (": "torch.exp(math.log10(base) * "},
    {"base ** (": "torch.exp(math.log2(base) * "},
    says="inverse_frequencies takes a logarithm to base 10 or 2 together with exp.",
    look="Which logarithm undoes exp?",
)
mistake(
    {"base ** (-even_columns": "1 / (base * even_columns"},
    {"base ** (": "base * ("},
    says="inverse_frequencies multiplies base by an exponent instead of raising it to that power.",
    look="Is each frequency a constant factor below the one before?",
)
mistake(
    {"/ n_embd": "// n_embd"},
    {"-even_columns / n_embd": "-(even_columns // n_embd)"},
    says="inverse_frequencies divides integers with //, so every exponent is 0 or -1.",
    look="What is 2 // 6, and what is -2 // 6?",
)
mistake(
    {"base **": "2 * math.pi / base **"},
    says="inverse_frequencies gives wavelengths in positions instead of frequencies.",
    look="What is the unit: radians per position, or positions per turn?",
)
mistake(
    {"base **": "0.5 / math.pi * base **"},
    says="inverse_frequencies measures in turns: it divides by 2π.",
    look="How far does the first pair turn per position, in radians?",
)
mistake(
    {"base ** (-even_columns / n_embd)": "(base ** (-even_columns / n_embd)).bfloat16()"},
    {"base ** (-even_columns / n_embd)": "(base ** (-even_columns / n_embd)).bfloat16().float()"},
    {"base ** (-even_columns / n_embd)": "(base ** (-even_columns / n_embd)).half()"},
    says="inverse_frequencies computes in 16 bits, which hold two or three digits.",
    look="Which dtype has the result?",
)
mistake(
    {"/ n_embd)": "/ n_embd)[None]"},
    {"/ n_embd)": "/ n_embd)[:, None]"},
    says="inverse_frequencies gives a matrix of one row or one column.",
    look="Print the shape of the result.",
)
mistake(
    {"base ** (-even_columns / n_embd)": "(base ** (-even_columns / n_embd)).tolist()"},
    {"base ** (-even_columns / n_embd)": "(base ** (-even_columns / n_embd)).numpy()"},
    says="inverse_frequencies gives a list or an array instead of a tensor.",
    look="Print the type of the result.",
)
mistake(
    {"    check_width(n_embd)": ""},
    {"    check_width(n_embd)": "    n_embd -= n_embd % 2"},
    says="inverse_frequencies accepts any width.",
    look="What happens to the sine that has no cosine?",
)
mistake(
    {"check_width(n_embd)": "check_width(2 + n_embd % 2 * (n_embd - 2))"},
    {"check_width(n_embd)": "check_width(n_embd or 2)"},
    {
        "check_width(n_embd)": "check_width(2 + n_embd % 2 * (n_embd - 2))",
        "(0, n_embd, 2,": "(0, max(n_embd, 0), 2,",
    },
    says="inverse_frequencies accepts a width of 0.",
    look="Is 0 an even number?",
)


@mistake(
    says="inverse_frequencies remembers its result by width alone, so the first base stays.",
    look="On which arguments does the result depend?",
    forget=_kept.clear,
)
def remembers_the_first_base(n_embd, base=10000.0):
    return _kept.setdefault(n_embd, inverse_frequencies(n_embd, base))


@alternative
def exp_of_a_logarithm(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.exp(torch.arange(0, n_embd, 2).float() * (-math.log(base) / n_embd))


_POWER = "base ** (-even_columns / n_embd)"
alternative(
    {"float64": "float32", _POWER: "1.0 / (base ** (even_columns / n_embd))"},
    {_POWER: "torch.tensor([math.pow(base, -2 * i / n_embd) for i in range(n_embd // 2)])"},
    {_POWER: "torch.from_numpy(np.power(base, -np.arange(0, n_embd, 2) / n_embd))"},
    {_POWER: "torch.tensor([1.0] + [base ** (-2 / n_embd)] * (n_embd // 2 - 1)).cumprod(dim=0)"},
    {_POWER: "torch.logspace(0, 2 / n_embd - 1, n_embd // 2, base=base, dtype=torch.float64)"},
)

# --- the width and the default base -------------------------------------------------------------

for exercise in (
    "inverse_frequencies",
    "sinusoidal_encoding",
    "SinusoidalPositionalEmbedding",
    "offset_rotation",
):
    mistake, alternative, error = entries(exercise)

    mistake(
        {"10000.0": "1000.0"},
        {"10000.0": "100000.0"},
        says=f"{exercise} has another default base than 10000.",
        look="How many zeros has the paper's base?",
    )
    mistake(
        {"check_width(n_embd)": "check_width(n_embd := n_embd + n_embd % 2)"},
        says=f"{exercise} accepts an odd width.",
        look="What should happen to a sine that has no cosine?",
    )
    mistake(
        {
            "check_width(n_embd)": "if n_embd < 2 or n_embd % 2: "
            'raise ValueError("the width must be even and positive")'
        },
        says=f"{exercise} refuses a width without naming the rule in words and the width.",
        look="What would you want to read in the message?",
    )
    mistake(
        {"check_width(n_embd)": 'assert n_embd > 0 and n_embd % 2 == 0, f"not even: {n_embd}"'},
        {
            "check_width(n_embd)": "if n_embd < 2 or n_embd % 2: "
            'raise TypeError(f"the width must be even and positive; got {n_embd}")'
        },
        says=f"{exercise} refuses a width with another exception than ValueError.",
        look="Which exception does the contract name? Which one does assert raise?",
    )
    mistake(
        {
            "check_width(n_embd)": "if n_embd < 2 or n_embd % 2: "
            'return ValueError(f"the width must be even and positive; got {n_embd}")'
        },
        says=f"{exercise} returns its ValueError instead of raising it.",
        look="Which statement makes an error stop the caller?",
    )
    alternative(
        {
            "check_width(n_embd)": "if n_embd < 2 or n_embd & 1: "
            'raise ValueError(f"an even width of 2 or more is needed, not {n_embd}")'
        }
    )
