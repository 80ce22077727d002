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

# --- what two exercises take from the frequencies -----------------------------------------------

for exercise in ("sinusoidal_encoding", "offset_rotation"):
    mistake, alternative, error = entries(exercise)

    mistake(
        {", base)": ", 1.0)"},
        says=f"{exercise} turns all pairs at the same speed.",
        look="Where does the number of the pair enter the angle?",
    )


# --- inverse_frequencies ------------------------------------------------------------------------


mistake, alternative, error = entries("inverse_frequencies")

mistake(
    {"arange(0, n_embd, 2,": "arange(n_embd // 2,"},
    says="inverse_frequencies leaves out the 2 in the exponent: i / C instead of 2i / C.",
    look="What is the exponent of the last pair, close to 1 or close to 1/2?",
    common=True,
)
mistake(
    {"arange(0, n_embd, 2,": "arange(n_embd,"},
    {"torch.arange(0, n_embd, 2,": "2 * torch.arange(n_embd,"},
    {"/ n_embd)": "/ n_embd).repeat_interleave(2)"},
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
    {"/ n_embd)": "/ n_embd).flip(0)"},
    says="inverse_frequencies returns the slowest frequency first.",
    look="Which frequency is pair 0's?",
)
mistake(
    *({"return base": "return (base", "/ n_embd)": f"/ n_embd))[:{n}]"} for n in (64, 512)),
    {"n_embd, 2,": "min(n_embd, 1024), 2,"},
    says="inverse_frequencies never returns more than a fixed number of frequencies.",
    look="How many pairs does the widest row have that you tried?",
)
mistake(
    *(
        {"return base": "return (base", "/ n_embd)": f"/ n_embd)).{rounded}.double()"}
        for rounded in ("half()", "bfloat16()", "round(decimals=4)", "round(decimals=3)")
    ),
    says="inverse_frequencies rounds its frequencies too coarsely.",
    look="How many digits are left of the slowest frequency?",
)
mistake(
    {"/ n_embd)": "/ max(n_embd - 2, 1))"},
    says="inverse_frequencies lets the exponent reach 1: 2i / (C - 2) instead of 2i / C.",
    look="What is the exponent of the last pair: exactly 1, or a little less?",
)
mistake(
    {" / n_embd)": ")"},
    {"/ n_embd)": "/ (n_embd - 1))"},
    says="inverse_frequencies does not divide its exponents by C.",
    look="What is the exponent of the second pair for C = 4?",
)
mistake(
    {"arange(0, n_embd, 2,": "arange(2, n_embd + 2, 2,"},
    {"arange(0, n_embd, 2,": "arange(1, n_embd, 2,"},
    says="inverse_frequencies does not start with the exponent 0.",
    look="What is the first frequency?",
)
mistake(
    {"base ** (-": "-base ** ("},
    says="inverse_frequencies has the minus sign before the power instead of in the exponent.",
    look="What is a power with a negative exponent, written as a fraction?",
)
mistake(
    {"base ** (": "torch.exp(math.log10(base) * "},
    {"base ** (": "torch.exp(math.log2(base) * "},
    {"base ** (": "torch.exp("},
    says="inverse_frequencies takes exp without the natural logarithm of base.",
    look="What is base ** x, written with exp and log?",
)
mistake(
    {"base ** (-even_columns": "1 / (base * even_columns"},
    {"base ** (": "base * ("},
    says="inverse_frequencies multiplies base by an exponent instead of raising it to that power.",
    look="Is each frequency a constant factor smaller than the one before?",
)
mistake(
    {"base **": "2 * math.pi / base **"},
    {"base **": "0.5 / math.pi * base **"},
    says="inverse_frequencies gives wavelengths or turns instead of radians per position.",
    look="How far does the first pair turn per position, in radians?",
)


@alternative
def exp_of_a_logarithm(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.exp(torch.arange(0, n_embd, 2).float() * (-math.log(base) / n_embd))


_POWER = "base ** (-even_columns / n_embd)"
alternative(
    {", dtype=torch.float64": ""},
    {"float64": "float32", _POWER: "1.0 / (base ** (even_columns / n_embd))"},
    {_POWER: "torch.tensor([math.pow(base, -2 * i / n_embd) for i in range(n_embd // 2)])"},
    {_POWER: "torch.from_numpy(np.power(base, -np.arange(0, n_embd, 2) / n_embd))"},
    {_POWER: "torch.tensor([1.0] + [base ** (-2 / n_embd)] * (n_embd // 2 - 1)).cumprod(dim=0)"},
    {_POWER: "torch.logspace(0, 2 / n_embd - 1, n_embd // 2, base=base, dtype=torch.float64)"},
)

error(
    "TypeError: bad operand type for unary -: '",
    "Often a range or a list is used where a formula needs a tensor: torch.arange makes one.",
)
error(
    "ValueError: only one element tensors can be converted to Python scalars",
    "Often math.exp or math.pow meets a tensor: torch has functions that take one.",
)
error(
    "TypeError: log(): argument 'input' (position 1) must be Tensor, not float",
    "Often torch.log meets the plain number base: math.log takes numbers.",
)
error(
    "TypeError: 'float' object cannot be interpreted as an integer",
    "Often a width divided by / counts something: even 6 / 2 is a float.",
)


# --- sinusoidal_encoding ------------------------------------------------------------------------


mistake, alternative, error = entries("sinusoidal_encoding")

_FREQUENCIES = "inverse_frequencies(n_embd, base)"
_TABLE = "torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)"
_BY_COLUMN = "torch.where(torch.arange(n_embd) % 2 == 0, angles.sin(), angles.cos())"

mistake(
    {"torch.stack(": "torch.cat(", ".flatten(-2)": ""},
    says="sinusoidal_encoding puts all sines first and all cosines after them.",
    look="Which columns hold the sine and the cosine of one angle?",
    common=True,
)
mistake(
    {_FREQUENCIES: "base ** (-torch.arange(n_embd).double() / n_embd)", _TABLE: _BY_COLUMN},
    {_FREQUENCIES: "base ** (torch.arange(n_embd) * (-2.0 / n_embd))", _TABLE: _BY_COLUMN},
    says="sinusoidal_encoding gives each column its own frequency, not each pair.",
    look="Which angle do columns 2i and 2i + 1 share?",
    common=True,
)
mistake(
    {"angles.sin(), angles.cos()": "angles.cos(), angles.sin()"},
    says="sinusoidal_encoding puts the cosine before the sine.",
    look="What is the first row: 0, 1, 0, 1, … or 1, 0, 1, 0, …?",
)
mistake(
    {"angles.cos()": "angles.sin()"},
    {"angles.sin()": "angles.cos()"},
    says="sinusoidal_encoding fills its odd columns like the even ones.",
    look="What is the first row? Into which columns does each of your assignments write?",
)
mistake(
    {"angles.cos()": "torch.zeros_like(angles)"},
    {"angles.sin(), angles.cos()": "angles.cos(), torch.zeros_like(angles)"},
    says="sinusoidal_encoding leaves its odd columns at 0.",
    look="What is the first row? Into which columns does each of your assignments write?",
)
mistake(
    {"(positions": "(positions / max(length, 1)"},
    {"(positions": "(positions / max(length - 1, 1)"},
    says="sinusoidal_encoding stretches the positions to 0..1, so its rows depend on T.",
    look="Is row 3 the same in a table of 10 rows and in one of 100?",
)
mistake(
    {"(positions": "(positions.clamp(max=511)"},
    {"(positions": "(positions.clamp(max=4095)"},
    {"(positions": "(positions % 512"},
    {"(positions": "(positions % 4096"},
    says="sinusoidal_encoding gives several distant positions the same row.",
    look="Print a late row of a long table, and the rows before it. Does it occur twice?",
)
mistake(
    {"arange(length,": "arange(1000,", "return ": "return (", "(-2)": "(-2))[:length]"},
    {"arange(length,": "arange(5000,", "return ": "return (", "(-2)": "(-2))[:length]"},
    says="sinusoidal_encoding never returns more than a fixed number of rows.",
    look="What does a slice do when its end is beyond the last row?",
)
mistake(
    *({"base))": f"base)).{half}()"} for half in ("bfloat16", "half")),
    *(
        {"length, dtype=torch.float64)": f"length).{half}().double()"}
        for half in ("half", "bfloat16")
    ),
    *({", base)": f", base).{half}().double()"} for half in ("half", "bfloat16")),
    *(
        {"(positions": f"(positions.{half}()", ", base)": f", base).{half}()"}
        for half in ("half", "bfloat16")
    ),
    {".float()": ".half().float()"},
    {".float()": ".bfloat16().float()"},
    says="sinusoidal_encoding rounds to half precision on the way.",
    look="How many digits do bfloat16 and float16 keep of 301 or of 4,097?",
)
mistake(
    {"torch.outer": "-torch.outer"},
    says="sinusoidal_encoding turns backwards: the sines have the wrong sign.",
    look="Is sin 1 positive?",
)
mistake(
    {"torch.outer": "2 * math.pi * torch.outer"},
    {"torch.outer": "math.pi / 180 * torch.outer"},
    says="sinusoidal_encoding converts its angles, which are radians already.",
    look="Which unit does torch.sin expect, and which one does the formula give?",
)
mistake(
    {".flatten(-2)": ""},
    {_TABLE: "torch.cat((angles.sin(), angles.cos()))"},
    {_TABLE: "angles.sin()"},
    says="sinusoidal_encoding returns a shape other than (T, C).",
    look="Print the shape for 3 positions and 4 features.",
)
mistake(
    {"base))": "base)).T", "flatten(-2)": "reshape(length, n_embd)"},
    {"dim=-1).flatten(-2)": "dim=0).reshape(length, n_embd)"},
    {"base))": "base)).T"},
    says="sinusoidal_encoding mixes up rows: T is not the first axis of what it flattens.",
    look="Does `reshape` move numbers, or only relabel their positions?",
)
mistake(
    {"return ": "return n_embd**-0.5 * "},
    {"return ": "return n_embd**0.5 * "},
    says="sinusoidal_encoding scales its rows.",
    look="What is sin² + cos² of one pair?",
)


@alternative
def as_in_the_annotated_transformer(length, n_embd, base=10000.0):
    check_width(n_embd)
    pe = torch.zeros(length, n_embd)
    position = torch.arange(0, length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, n_embd, 2) * -(math.log(base) / n_embd))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


@alternative
def divided_by_powers_in_a_batch_of_one(length, n_embd, base=10000.0):
    check_width(n_embd)
    table = torch.zeros(1, length, n_embd)
    exponents = torch.arange(0, n_embd, 2, dtype=torch.float32) / n_embd
    angles = torch.arange(length, dtype=torch.float32).reshape(-1, 1) / torch.pow(base, exponents)
    table[:, :, 0::2], table[:, :, 1::2] = torch.sin(angles), torch.cos(angles)
    return table[0]


alternative(
    {".float()": ""},
    {"length, dtype=torch.float64": "length", ", base)": ", base).float()"},
    {"base))": "base)).repeat_interleave(2, dim=1)", _TABLE: _BY_COLUMN},
    {_TABLE: "(angles.repeat_interleave(2, 1) + torch.arange(n_embd) % 2 * (math.pi / 2)).sin()"},
    {_TABLE: "torch.tensor([[f(a) for a in row for f in (math.sin, math.cos)] for row in angles])"},
    {
        "return ": "angles = angles.numpy()\n    return ",
        _TABLE: "torch.from_numpy(np.stack((np.sin(angles), np.cos(angles)), -1)).flatten(-2)",
    },
    {_TABLE: "torch.view_as_real(torch.polar(angles**0, math.pi / 2 - angles)).flatten(-2)"},
)


error(
    "RuntimeError: The size of tensor a (11) must match the size of tensor b (4) at non-singleton",
    "Often positions (T,) and frequencies (C/2,) are multiplied entry by entry; every position "
    "meets every frequency only in a table, (T, C/2).",
)
error(
    "RuntimeError: inconsistent tensor size, expected tensor [11] and src [4]",
    "Often `@` is used between positions (T,) and frequencies (C/2,): it forms a dot product.",
)
error(
    "RuntimeError: The expanded size of the tensor (2) must match the existing size (4)",
    "Often angles are assigned to columns that are more or fewer: compare the shape of the slice, "
    "its step too, with (T, C/2).",
)
error(
    "ValueError: only one element tensors can be converted to Python scalars",
    "Often math.sin meets a tensor, or torch.tensor a list of tensors.",
)
error(
    "TypeError: sin(): argument 'input' (position 1) must be Tensor, not",
    "Often torch.sin meets a plain number: make the angles a tensor first.",
)


# --- SinusoidalPositionalEmbedding --------------------------------------------------------------


mistake, alternative, error = entries("SinusoidalPositionalEmbedding")

_REGISTERED = 'self.register_buffer("table", table, persistent=False)'
_BEYOND = "sinusoidal_encoding(seq_len, self.n_embd, self.base)[len(self.table) :]"
_LONGER = "sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.table)"

mistake(
    {_REGISTERED: "self.table = nn.Parameter(table, requires_grad=False)"},
    says="SinusoidalPositionalEmbedding makes its table a parameter instead of a buffer.",
    look="What does `module.parameters()` list, and is there anything to learn here?",
    common=True,
)
mistake(
    {_REGISTERED: "self.table = table"},
    says="SinusoidalPositionalEmbedding holds no table that `.to` could move.",
    look="Which tensors does `module.to(...)` know about?",
    common=True,
)
mistake(
    *(
        edits
        for by in ("* n_embd**0.5", "/ n_embd**0.5")
        for edits in (
            {"n_embd, base)\n        self.reg": f"n_embd, base) {by}\n        self.reg"},
            {
                "table[:seq_len]": f"table[:seq_len] {by.replace('n_', 'self.n_')}",
                _LONGER: f"{_LONGER} {by.replace('n_', 'self.n_')}",
            },
        )
    ),
    says="SinusoidalPositionalEmbedding scales its rows by √C or its inverse.",
    look="What is sin² + cos² of one pair of a row?",
)
mistake(
    {_LONGER: "self.table"},
    {"seq_len <= len(self.table)": "True", "(max_seq_len, n": "(max(max_seq_len, 5000), n"},
    {"seq_len <= len(self.table)": "True", "(max_seq_len, n": "(2 * max_seq_len, n"},
    says="SinusoidalPositionalEmbedding returns no more rows than its table has.",
    look="What does a slice do when its end is beyond the last row?",
    common=True,
)
mistake(
    {"(seq_len, self.n_embd, self.base)": "(seq_len, self.n_embd)"},
    {
        _LONGER: "torch.cat((self.table, sinusoidal_encoding(seq_len, self.n_embd)"
        "[len(self.table) :].to(self.table)))"
    },
    says="SinusoidalPositionalEmbedding forgets `base` in the rows beyond its table.",
    look="Which base do the rows have that forward computes?",
)
mistake(
    {".to(self.table)": ""},
    {_LONGER: f"self.__dict__.setdefault(f'rows_{{seq_len}}', {_LONGER})"},
    says="SinusoidalPositionalEmbedding does not move the rows beyond its table along.",
    look="What did `module.to(...)` do to the table, and what does it for the later rows?",
    common=True,
)
mistake(
    *(
        {
            "        if seq_len": f"        if seq_len {above} len(self.table):\n"
            f"            raise {kind}(f'{got}')\n        if seq_len"
        }
        for kind in ("ValueError", "IndexError")
        for above in (">", ">=")
        for got in ("too long", "too long: {seq_len}", "{len(self.table)}")
    ),
    {_LONGER: "self.table[torch.arange(seq_len)]"},
    {"        if seq_len": "        assert seq_len <= len(self.table)\n        if seq_len"},
    says="SinusoidalPositionalEmbedding raises an error for a sequence longer than its table.",
    look="Does the formula run out?",
)
mistake(
    *(
        {_REGISTERED: _REGISTERED.replace("table,", f"table.{half}(),")}
        for half in ("half", "bfloat16")
    ),
    says="SinusoidalPositionalEmbedding keeps its table in half precision.",
    look="Which dtype do your rows have before anything is moved?",
)
mistake(
    {_REGISTERED: 'self.table = table; self.register_buffer("copy", table.clone())'},
    says="SinusoidalPositionalEmbedding has a buffer, but returns rows of another table.",
    look="Which of its tensors does forward use?",
)
mistake(
    {_LONGER: "self.table[torch.arange(seq_len).clamp(max=len(self.table) - 1)]"},
    {_LONGER: "nn.functional.pad(self.table, (0, 0, 0, seq_len - len(self.table)))"},
    says="SinusoidalPositionalEmbedding repeats its last row, or fills up with zeros.",
    look="What does the formula give for those positions?",
)
mistake(
    {_LONGER: "self.table[torch.arange(seq_len) % len(self.table)]"},
    {
        "(max_seq_len, n_": "(max(max_seq_len, 4096), n_",
        _LONGER: "self.table[torch.arange(seq_len) % len(self.table)]",
    },
    {_LONGER: f"torch.cat((self.table, {_LONGER}[: seq_len - len(self.table)]))"},
    says="SinusoidalPositionalEmbedding starts again at position 0 after its table ends.",
    look="Which position comes first after a table of T rows?",
)
mistake(
    {"self.table[:seq_len]": "self.table"},
    {".to(self.table)": "[len(self.table) :].to(self.table)"},
    {"<= len(self.table)": "<= len(self.table) + 1"},
    {"[:seq_len]": "[seq_len]"},
    {"[:seq_len]": "[None, :seq_len]"},
    {", table,": ", table[None],"},
    says="SinusoidalPositionalEmbedding returns a shape other than (seq_len, C).",
    look="How many rows should come back, and who adds the batch axis later?",
)
mistake(
    {"if seq": "seq_len = self.n = max(seq_len, getattr(self, 'n', 0))\n        if seq"},
    says="SinusoidalPositionalEmbedding returns the rows of a long sequence to shorter ones, too.",
    look="What does a short sequence get after a long one?",
)
mistake(
    {"[:seq_len]": "[1 : seq_len + 1]", ".to(self.table)": "[1:].to(self.table)"},
    {"[:seq_len]": "[1 : seq_len + 1]"},
    {"if seq": "seq_len += 1\n        if seq", "[:s": "[1:s", ".to(": "[1:].to("},
    {"[:seq_len]": "[-seq_len:]"},
    says="SinusoidalPositionalEmbedding does not start with row 0 of its table.",
    look="What is the first row?",
)


@alternative
class frequencies_as_the_buffer(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.register_buffer("rates", inverse_frequencies(n_embd, base))

    def forward(self, seq_len):
        angles = torch.outer(torch.arange(seq_len).to(self.rates), self.rates)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


@alternative
class persistent_table_that_grows(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.make = functools.partial(sinusoidal_encoding, n_embd=n_embd, base=base)
        self.register_buffer("pe", self.make(max_seq_len).unsqueeze(0))

    def forward(self, seq_len):
        if seq_len > self.pe.size(1):
            self.pe = self.make(2 * seq_len).unsqueeze(0).to(self.pe)
        return self.pe[0, :seq_len]


_MADE = "sinusoidal_encoding(max_seq_len, n_embd, base)"
alternative(
    {
        _LONGER: f"torch.cat((self.table, {_BEYOND}.to(self.table)))",
        "[:seq_len]": "[:seq_len].clone()",
    },
    {_MADE: "torch.zeros(())", "seq_len <= len(self.table)": "False"},
    {
        "= n_embd, base": "= n_embd, base; self.register_buffer('n', torch.tensor(n_embd))",
        "self.n_embd, self.base)": "self.n.item(), self.base)",
    },
    {_MADE: f"{_MADE}.double()"},
)

error(
    "AttributeError: cannot assign buffer before Module.__init__() call",
    "Usually __init__ does not begin with super().__init__().",
)
error(
    "KeyError: \"attribute 'table' already exists\"",
    "Often the table has been made an attribute before register_buffer makes it one.",
)
error(
    "AttributeError: 'SinusoidalPositionalEmbedding' object has no attribute '",
    "Often forward reads something from self that __init__ did not store there.",
)
error(
    "NameError: name 'n_embd' is not defined",
    "Often forward reads an argument of __init__, which is gone when __init__ ends.",
)


# --- offset_rotation ----------------------------------------------------------------------------


mistake, alternative, error = entries("offset_rotation")

_ALL_BLOCKS = "torch.block_diag(*torch.stack((sine_row, cosine_row), dim=-2))"

mistake(
    {"= k *": "= -k *"},
    says="offset_rotation gives the transpose: it moves back by k.",
    look="Which sign does the sine have in the first row?",
    common=True,
)
mistake(
    {
        _ALL_BLOCKS: "torch.vstack((torch.hstack((cos, sin)), torch.hstack((-sin, cos))))",
        "angles.cos(), angles.sin()": "angles.cos().diag(), angles.sin().diag()",
    },
    says="offset_rotation pairs column i with C/2 + i, but the table pairs neighbors.",
    look="Which columns hold the sine and the cosine of one angle?",
    common=True,
)
mistake(
    {"(-sin, cos)": "(sin, cos)"},
    {"(cos, sin)": "(cos, -sin)"},
    says="offset_rotation is symmetric: both sines have the same sign, so it mirrors.",
    look="What does cos(a + b) look like, written out?",
)
mistake(
    {"cos, sin =": "sin, cos ="},
    {"(sine_row, cosine_row)": "(cosine_row, sine_row)"},
    {"(cos, sin)": "(sin, cos)", "(-sin, cos)": "(cos, -sin)"},
    says="offset_rotation puts its cosines off the diagonal of its blocks.",
    look="What should the matrix be for k = 0?",
)
mistake(
    {"(cos, sin)": "(cos, 0 * sin)", "(-sin, cos)": "(0 * sin, cos)"},
    says="offset_rotation leaves the sines out.",
    look="What is sin(a + b), written out? What is next to the diagonal?",
)
mistake(
    {"dim=-2)": "dim=-2)[:1]"},
    {"dim=-2)": "dim=-2)[:1], torch.eye(n_embd - 2)"},
    says="offset_rotation has a block only for the first pair.",
    look="How many blocks does a width of 6 need?",
)
mistake(
    {"= k *": "= abs(k) *"},
    {"= k *": "= max(k, 0) *"},
    {"    angles": "    if k < 0: raise ValueError(f'k must be 0 or more, got {k}')\n    angles"},
    {"    angles": "    assert k >= 0\n    angles"},
    says="offset_rotation does not go back for a negative k.",
    look="What does a negative k mean? Compare the matrices for 3 and -3.",
)
mistake(
    {"= k *": "= max(-512, min(k, 512)) *"},
    {"= k *": "= math.fmod(k, 100) *"},
    says="offset_rotation gives the same matrix for several distant offsets.",
    look="Does the rotation for 900 differ from that for 1,000?",
)
mistake(
    *(
        {"    sine_row": f"    cos[{n}:], sin[{n}:] = 1, 0\n    sine_row"}
        for n in (32, 64, 128, 256)
    ),
    says="offset_rotation turns no more than a fixed number of pairs.",
    look="How many blocks does a width of 600 need?",
)
mistake(
    *({", base)": f", base).{half}().double()"} for half in ("half", "bfloat16")),
    *({"# (C/2,)": f"\n    angles = angles.{half}().double()"} for half in ("half", "bfloat16")),
    says="offset_rotation rounds to half precision on the way.",
    look="How many digits do bfloat16 and float16 keep of an angle of 1,000 radians?",
)
mistake(
    {"= k *": "= (k + 1) *"},
    {"= k *": "= (k - 1) *"},
    says="offset_rotation is off by one: it moves by k + 1 or k - 1.",
    look="What should the matrix be for k = 0?",
)
mistake(
    {"= k *": "= 2 * math.pi * k *"},
    says="offset_rotation counts whole turns: k = 1 turns the first pair back to the start.",
    look="How far does the first pair turn per position, in radians?",
)
mistake(
    {"torch.block_diag(*": "("},
    {"torch.block_diag(*": "torch.block_diag("},
    {", dim=-2)": ")"},
    {"torch.block_diag(*": "torch.hstack((*", "dim=-2)": "dim=-2),)).repeat(n_embd // 2, 1"},
    says="offset_rotation has something other than C/2 blocks of 2 × 2 along its diagonal.",
    look="Print the shape of the result, and of what you give to block_diag.",
)


@alternative
def blocks_of_two_by_two(k, n_embd, base=10000.0):
    check_width(n_embd)
    blocks = []
    for i in range(n_embd // 2):
        angle = torch.tensor(k / base ** (2 * i / n_embd))
        cos, sin = angle.cos(), angle.sin()
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]]))
    return torch.block_diag(*blocks)


@alternative
def power_of_a_step(k, n_embd, base=10000.0):
    step = offset_rotation(1 if k >= 0 else -1, n_embd, base)
    return torch.linalg.matrix_power(step, abs(k))


_TURN = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
alternative(
    {".float()": ""},
    {", base)": ", base).float()"},
    {_ALL_BLOCKS: "(torch.kron(cos.diag(), torch.eye(2)) + torch.kron(sin.diag(), _TURN))"},
    {_ALL_BLOCKS: "torch.matrix_exp(torch.kron((angles % (2 * math.pi)).diag(), _TURN))"},
)


error(
    "RuntimeError: torch.block_diag: Input tensors must have 2 or fewer dimensions",
    "Often all blocks come as one tensor, (C/2, 2, 2), where each has to be a separate argument.",
)
error(
    "ValueError: only one element tensors can be converted to Python scalars",
    "Often torch.tensor or math.cos is given cosines of all pairs, (C/2,), in place of a number.",
)
error(
    "TypeError: cos(): argument 'input' (position 1) must be Tensor, not",
    "Often torch.cos meets a plain number, as k is.",
)
error(
    "IndexError: index 3 is out of bounds for dimension 0 with size 3",
    "Often a column number, up to C, is used as a pair number, up to C/2.",
)


# --- relative_similarity ------------------------------------------------------------------------


mistake, alternative, error = entries("relative_similarity")

_LEFT = "pe[: len(pe) - k]"
_SUMS = "(pe[: len(pe) - k] * pe[k:]).sum(dim=-1)"

mistake(
    {_LEFT: "pe[0]"},
    {_SUMS: "pe @ pe[k]"},
    {_SUMS: "pe[: len(pe) - k] @ pe[k]"},
    {_LEFT: "pe[0]", "pe[k:]": "pe[k]", ".sum(dim=-1)": ".sum().repeat(len(pe) - k)"},
    says="relative_similarity takes the same row for every p, where each p has its own.",
    look="Which two rows belong together for p = 1?",
    common=True,
)
mistake(
    {_LEFT: "pe[:-k]"},
    {_SUMS: "(pe[:-k] * pe[k:][: len(pe[:-k])]).sum(dim=-1)"},
    says="relative_similarity slices with `[:-k]`, which is empty for k = 0.",
    look="What is `pe[:-0]`?",
    common=True,
)
mistake(
    {"pe[k:]": "pe.roll(k, dims=0)[: len(pe) - k]"},
    says="relative_similarity takes row p - k instead of p + k: the first rows meet the last.",
    look="Does `roll(k)` bring row k to the top, or row 0 to place k?",
)
mistake(
    {_LEFT: "pe", "pe[k:]": "pe.roll(-k, dims=0)"},
    {_LEFT: "pe", "pe[k:]": "pe.roll(-k, dims=0)", "dim=-1)": "dim=-1)[k:]"},
    says="relative_similarity lets positions wrap around at the end of the table.",
    look="Which positions p have a partner p + k?",
    common=True,
)
mistake(
    {".sum(": ".mean("},
    {".sum(dim=-1)": ".sum(dim=-1) / pe.shape[-1] ** 0.5"},
    {".sum(dim=-1)": ".sum(dim=-1) / (pe.shape[-1] / 2)"},
    says="relative_similarity scales its dot products.",
    look="What is a dot product? Does it contain a scale?",
)
mistake(
    {_LEFT: "pe[k:]"},
    {"pe[k:]": _LEFT},
    {_SUMS: "(pe @ pe.T).diagonal()"},
    says="relative_similarity compares each row with itself.",
    look="Which two rows belong together for p = 1?",
)
mistake(
    {_LEFT: "pe[:k]"},
    says="relative_similarity takes the first k rows instead of the first T - k.",
    look="How many rows have a partner k rows later?",
)
mistake(
    {_LEFT: "pe[:, : pe.shape[1] - k]", "pe[k:]": "pe[:, k:]"},
    says="relative_similarity shifts features instead of positions.",
    look="Along which axis are the positions?",
)
mistake(
    {_LEFT: "pe[: len(pe) - k - 1]", "pe[k:]": "pe[k + 1 :]"},
    {"pe[k:]": "pe.roll(-k - 1, dims=0)[: len(pe) - k]"},
    says="relative_similarity is off by one: its rows are k + 1 apart.",
    look="Which two rows belong together for p = 0?",
)
mistake(
    {_SUMS: "pe @ pe.T"},
    {"(pe[:": "pe[:", "* pe[k:]).sum(dim=-1)": "@ pe[k:].T"},
    {_SUMS: "pe[:-k] @ pe[k:].T"},
    says="relative_similarity multiplies every row by every other.",
    look="How many numbers should come back, and which entries of your matrix are they?",
)
mistake(
    *({"return (": f"pe = pe[:{n}]\n    return ("} for n in (128, 512)),
    *({"return (": f"pe = pe[:, :{n}]\n    return ("} for n in (64, 256, 512)),
    says="relative_similarity ignores rows or features beyond a fixed number.",
    look="Which parts of a table of 600 rows, or of 600 features, does your code read?",
)
mistake(
    {" * ": " - ", ".sum(dim": ".norm(dim"},
    {" * ": " - ", ".sum(dim": ".square().sum(dim"},
    {"return (": "return nn.CosineSimilarity(-1)(", " * pe[k:]).sum(dim=-1)": ", pe[k:])"},
    says="relative_similarity returns distances or cosines instead of dot products.",
    look="What is a dot product?",
)


@alternative
def diagonal_of_all_pairs(pe, k):
    if not 0 <= k < len(pe):
        raise ValueError(f"no two of {len(pe)} rows are {k} apart")
    return (pe @ pe.T).diagonal(k)


alternative(
    {_SUMS: 'torch.einsum("tc,tc->t", pe[k:], pe.narrow(0, 0, len(pe) - k))'},
    {_SUMS: "torch.tensor([pe[p].dot(pe[p + k]).item() for p in range(len(pe) - k)])"},
    {_LEFT: "pe", "pe[k:]": "pe.roll(-k, dims=0)", ".sum(dim=-1)": ".sum(dim=-1)[: len(pe) - k]"},
    {_SUMS: "torch.linalg.vecdot(pe[torch.arange(len(pe) - k)], pe[k:])"},
)


error(
    "RuntimeError: 1D tensors expected, but got 2D and 2D tensors",
    "Often torch.dot is given whole tables: it takes two rows at a time.",
)
error(
    "RuntimeError: The size of tensor a (6) must match the size of tensor b (4) at non-singleton",
    "Often all T rows meet the T - k rows from k on: both sides need the same number.",
)
error(
    "IndexError: index 6 is out of bounds for dimension 0 with size 6",
    "Often p runs over all T rows, and the last ones have no partner k rows later.",
)
