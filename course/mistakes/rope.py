"""Lesson 5: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
from torch import nn

from course.mistakes import entries
from solutions.rope import alibi_bias, apply_rope, rope_tables, rotate_half


def _rates(head_dim, base):
    return base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def _angles(seq_len, head_dim, base):
    return torch.outer(torch.arange(seq_len).double(), _rates(head_dim, base))


def _tables(positions, rates):
    """(cos, sin) of all angles, repeated for both halves."""
    angles = torch.outer(positions, rates).repeat(1, 2)
    return angles.cos().float(), angles.sin().float()


def _slower(rates):
    """How Llama 3.1 scales its rates: by 1/8 below a turn in 8,192 positions, by 1 above 4."""
    kept = ((8192 * rates / (2 * math.pi) - 1) / 3).clamp(0, 1)
    return (1 - kept) / 8 + kept


mistake, alternative, error = entries("rope_tables")

_RATES = "base ** (-even_numbers / head_dim)"
_ANGLES = f"torch.outer(positions, {_RATES})"
_TWICE = "torch.cat((angles, angles), dim=-1)"
_COS_SIN = "angles.cos().float(), angles.sin().float()"

mistake(
    {"torch.arange(0, head_dim, 2,": "torch.arange(head_dim // 2,"},
    says="rope_tables uses the exponent -i / D, so every pair except the first rotates too fast.",
    look="Pair i stands for two features. What does that make of i in the exponent?",
    common=True,
)
mistake(
    {"base ** (": "10000.0 ** ("},
    says="rope_tables always uses 10000, whatever `base` it is given.",
    look="Where in the formula does the argument `base` appear?",
    common=True,
)
mistake(
    {_TWICE: "angles.repeat_interleave(2, dim=-1)"},
    says="rope_tables puts the same angle into neighboring columns, as interleaved pairs need.",
    look="Which two columns belong to pair 0 in split halves?",
    common=True,
)
mistake(
    {_TWICE: "angles"},
    says="rope_tables returns one column per pair, D/2, instead of one per feature.",
    look="How many columns must a table have to be multiplied with x?",
    common=True,
)
mistake(
    {
        "torch.arange(0, head_dim, 2,": "2 * torch.arange(head_dim,",
        _TWICE: "angles",
    },
    says="rope_tables gives each feature its own rate instead of each pair.",
    look="How many rates are there for D = 4? Which two columns share one?",
)
mistake(
    {"arange(0, head_dim, 2,": "arange(0, 2 * head_dim, 4,"},
    {"arange(0, head_dim, 2,": "arange(1, head_dim, 2,"},
    {"arange(0, head_dim, 2,": "arange(2, head_dim + 1, 2,"},
    says="rope_tables has numbers other than 0, 2, 4, ... in the exponent: pairs are too slow.",
    look="Which numbers does 2i give? What is the rate of the first pair?",
)
mistake(
    {"(-even_numbers / head_dim)": "(-even_numbers / max(head_dim - 2, 1))"},
    says="rope_tables spreads the rates from 1 down to 1 / base, so they end too low.",
    look="Compute the last rate for D = 4 on paper. Is it 1 / base?",
)
mistake(
    {"(-even_numbers": "(even_numbers"},
    says="rope_tables lets the rates grow from pair to pair instead of falling.",
    look="Which sign does the exponent have? The first pair is the fastest.",
)
mistake(
    {_ANGLES: "torch.outer(base ** (-even_numbers / head_dim), positions)"},
    says="rope_tables gives each pair a row and each position a column.",
    look="Which argument of `torch.outer` becomes the rows?",
)
mistake(
    *(
        edits
        for to in ("bfloat16()", "half()")
        for edits in (
            {"(positions,": f"(positions.{to}.double(),"},
            {"(positions,": f"(positions.{to},", _RATES: f"({_RATES}).{to}"},
            {_ANGLES: f"torch.outer(positions.{to}, ({_RATES}).{to}).double()"},
            {"  # (T, D/2)": f"\n    angles = angles.{to}"},
            {_RATES: f"({_RATES}).{to}.double()"},
            {_RATES: f"base ** -(even_numbers.{to} / head_dim).double()"},
            {_RATES: f"(base ** -(even_numbers.{to} / head_dim)).double()"},
            {_RATES: f"(1 / base ** (even_numbers.{to} / head_dim)).double()"},
        )
    ),
    says="rope_tables computes its angles in half precision, too coarse far from position 0.",
    look="In which dtype are positions and rates? How large is the error at position 4,000?",
)
mistake(
    {_COS_SIN: "angles.cos().bfloat16().float(), angles.sin().bfloat16().float()"},
    says="rope_tables rounds its cosines and sines to bfloat16.",
    look="How many digits of a cosine are left? Compare one with math.cos.",
)
mistake(
    *({"(positions,": f"(positions.clamp(max={n - 1}),"} for n in (512, 1024, 2048, 4096)),
    *({"(positions,": f"(positions % {n},"} for n in (512, 1024, 2048, 4096, 8192)),
    *({"(positions,": f"(positions.to(torch.int{bits}).double(),"} for bits in (8, 16)),
    says="rope_tables doesn't count on and on: far positions are held, or wrap around.",
    look="Print your positions of a long table. Which one comes after each?",
)
mistake(
    {"(positions,": "(positions / max(seq_len, 1),"},
    {"(positions,": "(positions / max(seq_len / 2048, 1),"},
    *(
        {
            "    even_numbers": f"    if seq_len > {trained}: "
            f"base *= (seq_len / {trained}) ** (head_dim / (head_dim - 2))\n    even_numbers"
        }
        for trained in (512, 1024, 2048, 4096, 8192)
    ),
    says="rope_tables lets the angles depend on the length of the table.",
    look="Is row 3 the same in a table of 10 rows and in one of 5,000? Where does T come in?",
)
mistake(
    {"  # (T, D/2)": "\n    angles *= _slower(_rates(head_dim, base))"},
    says="rope_tables makes slow pairs slower than the formula does, and leaves fast ones alone.",
    look="Compute the rate of the last pair on paper. What else do you do with the rates?",
)
mistake(
    {"(positions,": "(positions / 4,"},
    {"(positions,": "(positions / 8,"},
    says="rope_tables turns every pair more slowly than the formula, by the same factor.",
    look="What is the angle of the first pair at position 1?",
)
mistake(
    {"-even_numbers / head_dim": "-(even_numbers // head_dim)"},
    {"-even_numbers / head_dim": "-even_numbers // head_dim"},
    says="rope_tables divides whole numbers in its exponent, which leaves only 0 and -1.",
    look="What is 2 // 64? What is 2 / 64?",
)
mistake(
    {"torch.outer(positions,": "torch.outer(positions * 2 * math.pi,"},
    says="rope_tables reads the angles as turns, so position 1 makes a full turn.",
    look="cos and sin take radians. Where does the factor 2 pi come from?",
)


@alternative
def all_in_float32(seq_len, head_dim, base=10000.0):
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, so that features pair up; got {head_dim}")
    rates = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
    angles = torch.einsum("t,d->td", torch.arange(seq_len).float(), rates)
    return torch.cat((angles, angles), dim=-1).cos(), torch.cat((angles, angles), dim=-1).sin()


alternative(
    {
        "(0, head_dim, 2, dtype=torch.float64)": "(0, head_dim, 2)",
        "(seq_len, dtype=torch.float64)": "(seq_len)",
        _ANGLES: "positions[:, None] * torch.exp(-even_numbers * math.log(base) / head_dim)",
        _TWICE: "angles.tile(2)",
    },
    {
        _ANGLES: "torch.tensor([[m * base ** (-i / head_dim) for i in range(0, head_dim, 2)]"
        " for m in range(seq_len)])"
    },
    {_ANGLES: "torch.from_numpy(np.outer(positions, base ** (-even_numbers.numpy() / head_dim)))"},
    {
        _TWICE: "torch.exp(1j * angles).repeat(1, 2)",
        _COS_SIN: "angles.real.float(), angles.imag.float()",
    },
)

error(
    "TypeError: cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "Usually the tensors are passed one by one to `torch.cat`, not together in a tuple.",
)
error(
    "RuntimeError: The size of tensor a (101) must match the size of tensor b (2)",
    "Usually positions (T,) meet rates (D/2,) entry by entry; each pair of them has an angle.",
)
error(
    "TypeError: bad operand type for unary -: 'range'",
    "Often you calculate with a `range` or a list; only numbers, arrays and tensors allow that.",
)
error(
    "ValueError: only one element tensors can be converted to Python scalars",
    "Usually a function of `math`, which takes one number, was given a whole tensor.",
)


mistake, alternative, error = entries("rotate_half")

_HALVES = "x.chunk(2, dim=-1)"
_JOINED = "torch.cat((-x2, x1), dim=-1)"

mistake(
    {
        _HALVES: "x.roll(x.shape[-1] // 2).chunk(2, dim=-1)",
        "(-x2, x1)": "(-x1, x2)",
    },
    says="rotate_half rolls without `dims`, so halves move on into the next row.",
    look="What does roll do with the axes of x if you don't say which one to roll along?",
)
mistake(
    {"(-x2, x1)": "(x2, -x1)"},
    says="rotate_half negates the first half instead of the second: it turns backwards.",
    look="Which half of the result carries the minus sign?",
    common=True,
)
mistake(
    {"(-x2": "(x2"},
    says="rotate_half swaps the halves without a minus sign, which mirrors instead of rotating.",
    look="Where does a quarter turn take the point (3, 4)?",
    common=True,
)
mistake(
    {
        _HALVES: "x[..., 0::2], x[..., 1::2]",
        _JOINED: "torch.stack((-x2, x1), -1).flatten(-2)",
    },
    says="rotate_half pairs neighbors, features 2i and 2i + 1, instead of i and D/2 + i.",
    look="Which feature is the partner of feature 0 in this course?",
    common=True,
)
mistake(
    {_HALVES: "x[..., 0::2], x[..., 1::2]"},
    {_JOINED: "torch.stack((-x2, x1), -1).flatten(-2)"},
    says="rotate_half treats neighbors as pairs in one of its two steps.",
    look="What are x1 and x2 for four features? In which columns of the result are they?",
)
mistake(
    {"(-x2, x1)": "(-x2, -x1)"},
    says="rotate_half negates both halves.",
    look="How many minus signs are there in a quarter turn?",
)
mistake(
    {"(-x2, x1)": "(x1, -x2)"},
    {"(-x2, x1)": "(-x1, x2)"},
    {"(-x2, x1)": "(-x1, -x2)"},
    {"(-x2, x1)": "(x1, x2)"},
    says="rotate_half leaves both halves where they are.",
    look="In which half of the result is x1?",
)
mistake(
    {_JOINED: "(-x2, x1)"},
    says="rotate_half returns a tuple or nothing instead of one tensor.",
    look="What does the last line of a function have to do with the two halves?",
)
mistake(
    {_HALVES: "x.chunk(2)"},
    {_HALVES: "x.chunk(2, dim=1)", "x1), dim=-1": "x1), dim=1"},
    {_HALVES: "x.tensor_split(2)", "x1), dim=-1": "x1)"},
    {_HALVES: "x[: x.shape[-1] // 2], x[x.shape[-1] // 2 :]"},
    says="rotate_half splits the first or second axis instead of the last.",
    look="Along which axis are the features?",
)
mistake(
    {_HALVES: "x[..., :2], x[..., 2:]"},
    {_HALVES: "x[..., :32], x[..., 32:]"},
    says="rotate_half splits at a fixed number, which is the middle of only one width.",
    look="Where does the second half begin for a width of 6?",
)
mistake(
    {"(-x2": "(x2.neg_()"},
    says="rotate_half writes into x, which the caller still needs.",
    look="Which line changes x itself?",
)


@alternative
def rolled_by_half(x):
    half = x.shape[-1] // 2
    signs = torch.ones_like(x)
    signs[..., :half] = -1
    return x.roll(half, dims=-1) * signs


@alternative
def written_into_a_new_tensor(x):
    half = x.shape[-1] // 2
    result = torch.empty_like(x)
    result[..., :half], result[..., half:] = -x[..., half:], x[..., :half]
    return result


alternative(
    {_HALVES: "x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]"},
    {_HALVES: "x.unflatten(-1, (2, -1)).unbind(-2)"},
    {_JOINED: "torch.stack((-x2, x1), dim=-2).flatten(-2)"},
)

error(
    "ValueError: too many values to unpack (expected 2)",
    "Often x was split into pieces of 2 features each, or D/2 of them, not into 2 pieces of D/2.",
)
error(
    "ValueError: not enough values to unpack (expected 2, got 1)",
    "Often x was split along an axis of length 1, or into pieces of 2 features where D is 2.",
)
error(
    "TypeError: slice indices must be integers",
    "Usually half of the width was computed with `/`, which gives a float.",
)
error(
    "IndexError: too many indices for tensor of dimension 1",
    "Often an index names the axes before the features; here x is a single vector, (D,).",
)
error(
    "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got -2)",
    "Often the wrong axis is named; here x is a single vector, (D,), with features only.",
)


mistake, alternative, error = entries("apply_rope")

_SUM = "x * cos + rotate_half(x) * sin"

mistake(
    {"rotate_half(x)": "x"},
    says="apply_rope multiplies x itself by the sines, not x after a quarter turn.",
    look="Which of the two products needs the partner of each feature?",
    common=True,
)


def _neighbors_turned(x, cos, sin):
    """Turn features 2i and 2i + 1 by the angle of pair i, as complex numbers do."""
    real, imaginary = x[..., 0::2], x[..., 1::2]
    cos, sin = cos.chunk(2, dim=-1)[0], sin.chunk(2, dim=-1)[0]
    turned = real * cos - imaginary * sin, real * sin + imaginary * cos
    return torch.stack(turned, dim=-1).flatten(-2)


mistake(
    {"rotate_half(x)": "torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)"},
    {_SUM: "_neighbors_turned(x, cos, sin)"},
    says="apply_rope rotates neighbors, features 2i and 2i + 1, with tables for split halves.",
    look="Which column of the table belongs to feature 1?",
    common=True,
)
mistake(
    {"    return": "    if x.ndim == 4: cos, sin = cos[:, None], sin[:, None]\n    return"},
    {"* cos": "* cos[:, None]", "* sin": "* sin[:, None]"},
    {
        "    return": "    if x.ndim == 4 and x.shape[1] == len(cos):\n"
        "        cos, sin = cos[:, None], sin[:, None]\n    return"
    },
    says="apply_rope treats the second axis as the positions, which fits only (B, T, H, D).",
    look="Which axis of (B, H, T, D) holds the positions?",
    common=True,
)
mistake(
    {"cos +": "cos -"},
    says="apply_rope rotates backwards: it subtracts the sine term.",
    look="Which sign is between the two products?",
)
mistake(
    {"x * cos + ": ""},
    says="apply_rope returns the quarter turn alone, without the part of x that stays.",
    look="What should remain of x at position 0, where cos = 1 and sin = 0?",
)
mistake(
    {_SUM: "x + cos + sin"},
    {"x * cos": "x + x * cos"},
    says="apply_rope adds to x, like a position embedding, instead of rotating it.",
    look="Is RoPE a sum or a rotation? What happens to the length of a vector?",
)


@mistake(
    says="apply_rope overwrites the first half before the second half has used it.",
    look="Which x1 does the second line see, the old one or the new one?",
)
def second_half_from_the_turned_first(x, cos, sin):
    (x1, x2), (cos, _), (sin, _) = (one.chunk(2, dim=-1) for one in (x, cos, sin))
    x1 = x1 * cos - x2 * sin
    x2 = x1 * sin + x2 * cos
    return torch.cat((x1, x2), dim=-1)


mistake(
    {_SUM: f"torch.cat((({_SUM}).chunk(2, -1)[0], x.chunk(2, -1)[1]), -1)"},
    says="apply_rope rotates only the first half of the features.",
    look="How many of the D features does the result change?",
)
mistake(
    *(
        {"    return": f"    cos, sin = cos.clone(), sin.clone()\n    {rows}\n    return"}
        for rows in (
            "cos[-1:], sin[-1:] = 1, 0",
            "cos[-1:] = sin[-1:] = 0",
            "cos[:1] = sin[:1] = 0",
        )
    ),
    says="apply_rope leaves out the first or the last position: its row stays as it was, or 0.",
    look="Which positions does your loop, or your slice, reach?",
)
mistake(
    {_SUM: f"torch.cat((({_SUM})[:1], x[1:])) if x.ndim > 2 else {_SUM}"},
    {_SUM: f"torch.cat((({_SUM})[:1], x[1:])) if x.ndim > 3 else {_SUM}"},
    says="apply_rope rotates only the first element of the batch.",
    look="Which elements of the batch does the result change?",
)
mistake(
    {"* cos": "* cos[:1]", "* sin": "* sin[:1]"},
    says="apply_rope rotates every token by the first row of the tables.",
    look="Which row of the tables belongs to which token?",
)
mistake(
    {"* cos": "* cos[:, :1]", "* sin": "* sin[:, :1]"},
    says="apply_rope rotates every pair by the angle of the first pair.",
    look="Does each pair have its own column?",
)
mistake(
    {"x * cos": "x.mul_(cos)"},
    {_SUM: f"x[:].copy_({_SUM})"},  # as a slice on the left of `=` does
    says="apply_rope multiplies into x itself, which the caller still needs.",
    look="Which operation ends in an underscore or in *=?",
)


@alternative
def half_by_half(x, cos, sin):
    half = x.shape[-1] // 2
    cos, sin = cos[:, :half], sin[:, :half]
    x1, x2 = x.split(half, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


@alternative
def product_of_complex_numbers(x, cos, sin):
    points = torch.complex(*x.chunk(2, dim=-1)) * torch.complex(cos, sin).chunk(2, dim=-1)[0]
    return torch.cat((points.real, points.imag), dim=-1)


@alternative
def rotation_matrices(x, cos, sin):
    half = x.shape[-1] // 2
    c, s = cos[:, :half], sin[:, :half]
    turns = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)  # (T, D/2, 2, 2)
    return torch.einsum("tpij,...tjp->...tip", turns, x.unflatten(-1, (2, half))).flatten(-2)


alternative(
    {_SUM: f"({_SUM}).to(x.dtype)"},
    {_SUM: "torch.addcmul(x * cos, rotate_half(x), sin)"},
    {"(x) * sin": "(x * sin)"},
)

error(
    "RuntimeError: The size of tensor a (6) must match the size of tensor b (3)",
    "Often the tables are cut to D/2 columns, transposed, or have an axis more: x is (..., T, D).",
)
error(
    "TypeError: rotate_half() takes 1 positional argument but",
    "Usually the sines were given to `rotate_half`, which knows no angles.",
)


mistake, alternative, error = entries("RotaryEmbedding")

_ROWS = "slice(offset, offset + seq_len)"
_RANGE = "torch.arange(offset, offset + seq_len, device=x.device)"
_COS = 'register_buffer("cos", cos, persistent=False)'
_SIN = 'register_buffer("sin", sin, persistent=False)'
_BOTH = "self.cos[positions], self.sin[positions]"
_TURNED = "apply_rope(x, self.cos[positions], self.sin[positions])"

mistake(
    {_ROWS: "slice(seq_len)"},
    says="RotaryEmbedding ignores `offset`: a new token after the cache gets position 0 again.",
    look="Which rows of the tables belong to positions `offset` to `offset + T - 1`?",
    common=True,
)
mistake(
    {_COS: "cos = nn.Parameter(cos)", _SIN: "sin = nn.Parameter(sin)"},
    says="RotaryEmbedding makes its tables parameters, although there is nothing in them to learn.",
    look="Which of a module's tensors does an optimizer get?",
    common=True,
)
mistake(
    {"head_dim, base)": "head_dim)"},
    says="RotaryEmbedding ignores `base` and always uses 10000.",
    look="Where does the argument `base` go?",
    common=True,
)
mistake(
    {"(max_seq_len, head_dim, base)": "(head_dim, max_seq_len, base)"},
    says="RotaryEmbedding makes tables of head_dim rows and max_seq_len columns.",
    look="In which order does `rope_tables` take its arguments?",
)
mistake(
    {"        # (": "        offset = offset if seq_len == 1 else 0\n        # ("},
    {"        # (": "        offset = offset if seq_len > 1 else 0\n        # ("},
    says="RotaryEmbedding uses `offset` for single tokens only, or only for several.",
    look="May a piece of three tokens come after a cache? And a single one?",
)
mistake(
    *({_ROWS: f"{_RANGE}.clamp(max={n - 1})"} for n in (512, 1024, 2048)),
    *({_ROWS: f"{_RANGE} % {n}"} for n in (512, 1024, 2048)),
    says="RotaryEmbedding doesn't count on and on: far positions are held, or wrap around.",
    look="Which row of the tables belongs to position 4,000?",
)
mistake(
    {"self.cos[positions]": "self.cos[:seq_len]"},
    {"self.sin[positions]": "self.sin[:seq_len]"},
    says="RotaryEmbedding uses `offset` for only one of its two tables.",
    look="Which rows does each of the two tables give?",
)
mistake(
    {_ROWS: "slice(offset + 1, offset + seq_len + 1)"},
    {
        "rope_tables(max_seq_len, head_dim, base)": (
            "(table[1:] for table in rope_tables(max_seq_len + 1, head_dim, base))"
        )
    },
    says="RotaryEmbedding starts one position too late, at offset + 1.",
    look="At which position is the first token of a prompt?",
)
mistake(
    {_ROWS: "slice(max(offset - seq_len, 0), max(offset, seq_len))"},
    {_ROWS: f"({_RANGE} - (seq_len - 1) * (offset > 0)).clamp(min=0)"},
    says="RotaryEmbedding lets its tokens end at offset instead of beginning there.",
    look="With T = 3 and offset = 5: which three positions are meant?",
)
mistake(
    {_ROWS: "slice(offset, None)"},
    {_ROWS: "slice(None)"},
    says="RotaryEmbedding takes all rows to the end of its tables, however many tokens there are.",
    look="How many rows of the tables do T tokens need?",
)
mistake(
    {"        # (": "        self.n = offset = max(offset, vars(self).get('n', 0))\n        # ("},
    says="RotaryEmbedding remembers the offset of earlier calls, and never goes back.",
    look="What does the module keep between two calls?",
)
mistake(
    *(
        {
            _COS: 'register_buffer("inv_freq", _rates(head_dim, base).float())',
            f"self.{_SIN}": "",
            _BOTH: f"*_tables({_RANGE}{positions}, self.inv_freq{rates})",
        }
        for positions, rates in (
            (".float()", ".float()"),
            (".to(self.inv_freq)", ""),
            (".to(x)", ".to(x)"),
        )
    ),
    {
        _COS: 'register_buffer("angles", _angles(max_seq_len, head_dim, base))',
        f"self.{_SIN}": "",
        "return apply": "angles = self.angles[positions].double().tile(2)\n        return apply",
        _BOTH: _COS_SIN,
    },
    {
        "persistent=False)  #": "persistent=False)\n        self.rates = _rates(head_dim, base)  #",
        _BOTH: f"*_tables({_RANGE}.to(x).double(), self.rates)",
    },
    says="RotaryEmbedding rounds rates, positions or angles to bfloat16: far angles are wrong.",
    look="What does bfloat16 make of 257? Which of your numbers become bfloat16, and when?",
)
mistake(
    {
        _COS: 'register_buffer("turns", torch.complex(cos, sin))',
        f"self.{_SIN}": "",
        "return apply": "turns = self.turns[positions]\n        return apply",
        _BOTH: "turns.real, turns.imag if turns.is_complex() else 0 * turns",
    },
    {
        _COS: 'register_buffer("turns", torch.complex(cos, sin))',
        f"self.{_SIN}": "",
        _BOTH: "self.turns[positions].real, self.turns[positions].imag",
    },
    says="RotaryEmbedding loses its sines in `.to(torch.bfloat16)`: of complex numbers in a buffer "
    "only the real part is left.",
    look="Which dtype has your buffer after `.to(torch.bfloat16)`? What is left of 1 + 2j?",
)

_made = {}

mistake(
    {"rope_tables(": "_made.setdefault((max_seq_len, head_dim), rope_tables(", "base)": "base))"},
    says="RotaryEmbedding shares its tables between modules of equal size, whatever their base.",
    look="Make two modules with different bases. What is the key of the cache?",
    forget=_made.clear,
)
mistake(
    {f"self.{_COS}": "type(self).cos = cos", f"self.{_SIN}": "type(self).sin = sin"},
    says="RotaryEmbedding keeps its tables on the class, where each new module replaces them.",
    look="Make two modules and call the first. Which tables does it use?",
)
mistake(
    {_BOTH: f"*vars(self).setdefault(f'rows_{{seq_len}}', ({_BOTH}))"},
    says="RotaryEmbedding caches rows by the length of x alone, and forgets that `offset` matters.",
    look="Call it twice with two offsets. What is the key of your cache?",
)
mistake(
    {"= rope_tables": "= (table.half() for table in rope_tables", "base)": "base))"},
    {"= rope_tables": "= (table.bfloat16() for table in rope_tables", "base)": "base))"},
    says="RotaryEmbedding stores its tables in half precision, so every result is coarse.",
    look="How many digits do the stored tables keep?",
)
mistake(
    {"= x.shape[-2:]": "= x.shape[1 if x.ndim > 2 else 0], x.shape[-1]"},
    {"= x.shape[-2:]": "= x.shape[1], x.shape[-1]"},
    {_ROWS: "slice(offset, offset + x.shape[1])"},
    says="RotaryEmbedding reads the number of positions from the second axis of x.",
    look="Which axis is T in (T, D), in (B, T, D) and in (B, H, T, D)?",
)
mistake(
    {
        _ROWS: "slice(offset, offset + x.shape[-3])",
        _BOTH: "*(t[positions, None] for t in self.buffers())",
    },
    {
        "x.shape[-2:]": "x.shape[1], x.shape[-1]",
        _BOTH: "*(t[positions, None] for t in self.buffers())",
    },
    {
        "x.shape[-2:]": "x.shape[1 if x.ndim == 4 else -2], x.shape[-1]",
        _BOTH: "*(t[positions, None] if x.ndim == 4 else t[positions] for t in self.buffers())",
    },
    says="RotaryEmbedding expects (B, T, H, D), and rotates heads instead of positions.",
    look="Which axis is T in (B, H, T, D)?",
)
mistake(
    {"self.sin[positions]": "-self.sin[positions]"},
    says="RotaryEmbedding rotates backwards.",
    look="Where does position 1 rotate the point (1, 0) to?",
)
mistake(
    {"cos, sin =": "sin, cos ="},
    {"self.sin[positions]": "self.cos[positions]"},
    {"self.cos[positions]": "self.sin[positions]"},
    says="RotaryEmbedding takes the wrong table for its cosines or its sines.",
    look="Which table belongs in which place? In which order does `rope_tables` return them?",
)
mistake(
    {_TURNED: "x + self.cos[positions] + self.sin[positions]"},
    {_TURNED: "x"},
    says="RotaryEmbedding rotates nothing: it adds its tables to x, or returns x unchanged.",
    look="Which line rotates x? Does the function return its result?",
)


@alternative
class angles_in_every_call(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        self.max_seq_len, self.head_dim, self.base = max_seq_len, head_dim, base

    def forward(self, x, offset=0):
        end = offset + x.shape[-2]
        if x.shape[-1] != self.head_dim:
            raise ValueError(f"x must have {self.head_dim} features; got {x.shape[-1]}")
        if offset < 0 or end > self.max_seq_len:
            raise ValueError(f"{self.max_seq_len} positions at most; got {offset} to {end - 1}")
        cos, sin = rope_tables(self.max_seq_len, self.head_dim, self.base)
        return apply_rope(x, cos[offset:end].to(x.device), sin[offset:end].to(x.device))


@alternative
class tables_made_in_the_first_call(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        self.sizes, self.tables = (max_seq_len, head_dim, base), None

    def forward(self, x, offset=0):
        rows = range(self.sizes[0])[offset : offset + x.shape[-2]]
        if x.shape[-1] != self.sizes[1] or offset < 0 or len(rows) < x.shape[-2]:
            raise ValueError(f"no such positions, or no such width; got {offset} and {x.shape}")
        if self.tables is None:
            self.tables = rope_tables(*self.sizes)
        cos, sin = (table[rows.start : rows.stop].to(x) for table in self.tables)
        return apply_rope(x, cos, sin)


@alternative
class complex_numbers_as_an_attribute(nn.Module):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        angles = _angles(max_seq_len, head_dim, base).float()
        self.turns = torch.polar(torch.ones_like(angles), angles)

    def forward(self, x, offset=0):
        turns, end = self.turns[max(offset, 0) : offset + x.shape[-2]], offset + x.shape[-2]
        if x.shape[-1] != 2 * self.turns.shape[1] or offset < 0 or end > len(self.turns):
            raise ValueError(f"no such positions, or no such width; got {offset} and {x.shape}")
        points = torch.complex(*x.float().chunk(2, dim=-1)) * turns
        return torch.cat((points.real, points.imag), dim=-1).type_as(x)


alternative(
    {_COS: "cos = cos", f"self.{_SIN}": "self.sin = sin"},
    {
        _COS: "both = cos, sin",
        f"self.{_SIN}": "",
        _BOTH: "*(t[positions].to(x.device) for t in self.both)",
    },
    {", persistent=False)  # a": ")  # a", "sin, persistent=False)": "sin)"},
    {
        _ROWS: _RANGE,
        _BOTH: "nn.functional.embedding(positions, self.cos), self.sin.index_select(0, positions)",
    },
    {
        _COS: "rates = [base ** (-2 * i / head_dim) for i in range(head_dim // 2)]",
        f"self.{_SIN}": "",
        _BOTH: f"*_tables({_RANGE}.float(), torch.tensor(self.rates, device=x.device))",
    },
    {_TURNED: f"{_TURNED}.to(x.dtype)"},
)

error(
    "AttributeError: 'RotaryEmbedding' object has no attribute",
    "Usually forward reads a table by another name than the one it is registered under.",
)
error(
    "NameError: name 'cos' is not defined",
    "Usually forward reads a local variable of the constructor instead of the module's buffer.",
)
error(
    "TypeError: cannot assign 'tuple' object to buffer",
    "Usually both tables are registered at once: `rope_tables` returns a tuple of two tensors.",
)
error(
    "KeyError: \"attribute 'cos' already exists\"",
    "Usually the table was assigned to the same name before it was registered as a buffer.",
)
error(
    "RuntimeError: The size of tensor a (7) must match the size of tensor b (9)",
    "Often the number of rows taken from the tables is not T, the next to last size of x.",
)


mistake, alternative, error = entries("interleaved_to_half")

_PAIRS = "weight.reshape(n_heads, -1, 2, weight.shape[1])"
_REORDERED = "pairs.transpose(1, 2).reshape(weight.shape)"
_FORMED = "  # (H, D/2, 2, C)"
_BY_SLICES = {
    _PAIRS: "weight.reshape(n_heads, -1, weight.shape[1])",
    "pairs.transpose(1, 2)": "torch.cat((pairs[:, 0::2], pairs[:, 1::2]), dim=1)",
}

mistake(
    {"reshape(n_heads": "reshape(1"},
    says="interleaved_to_half reorders all rows as if there were a single head.",
    look="May a row cross from one head to another?",
    common=True,
)
mistake(
    {"n_heads, -1, 2,": "n_heads, 2, -1,"},
    says="interleaved_to_half goes the other way, from split halves to interleaved pairs.",
    look="For D = 6: does row 2 of a head go to row 1, or row 1 to row 2?",
    common=True,
)
mistake(
    {"pairs.transpose(1, 2)": "pairs"},
    says="interleaved_to_half changes the shape and changes it back, but moves no row.",
    look="Does a reshape move numbers in memory? Where is the swap of two axes?",
    common=True,
)
mistake(
    {"pairs.t": "pairs.flip(2).t"},
    says="interleaved_to_half puts the odd rows of a head first.",
    look="Row 0 of a head is the first feature of pair 0. Where does it belong?",
)
mistake(
    {"n_heads, -1, 2,": "-1, 2, n_heads,", "(1, 2)": "(0, 1)"},
    {
        "weight.reshape(": "weight.reshape(-1, n_heads, weight.shape[1]).transpose(0, 1).reshape(",
        ".reshape(weight.shape)": ".reshape(n_heads, -1, weight.shape[1]).transpose(0, 1)"
        ".reshape(weight.shape)",
    },
    says="interleaved_to_half treats the heads as the fastest axis, as if rows were (D, H).",
    look="Which rows of the weight make head 0: the first D, or every H-th?",
)
mistake(
    {"reshape(n_heads, -1,": "reshape(max(n_heads // 2, 1), -1,"},
    says="interleaved_to_half splits the rows into a number of heads other than n_heads.",
    look="How many rows does one head have? Does any row move to another head?",
)
mistake(
    {"n_heads, -1, 2,": "-1, n_heads // 2, 2,"},
    {"n_heads, -1, 2,": "-1, n_heads, 2,"},
    says="interleaved_to_half uses n_heads as the width of a head, or as its number of pairs.",
    look="Which factor of H * D is given, and which has to be computed?",
)
mistake(
    {_REORDERED: "torch.cat((weight[:, 0::2], weight[:, 1::2]), dim=1)"},
    says="interleaved_to_half reorders the columns, which belong to the inputs.",
    look="Which axis of a projection makes the features of the query?",
)
mistake(
    {"weight.shape[1]": "n_rows"},
    says="interleaved_to_half works only for weights with as many rows as columns.",
    look="Is C the same as H * D? Where does the number of columns come from?",
)
mistake(
    {_FORMED: "\n    pairs = pairs.clone()\n    pairs[0] = 0"},
    {_FORMED: "\n    pairs = pairs.clone()\n    pairs[-1] = 0"},
    *(
        {
            _FORMED: f"\n    pairs = pairs.clone()\n    pairs[{head}] = "
            f"pairs[{head}].flatten(0, 1).unflatten(0, (2, -1)).transpose(0, 1)"
        }
        for head in (0, -1)
    ),
    says="interleaved_to_half leaves out the first or the last head.",
    look="Which head does your loop start with, and which does it end with?",
)
mistake(
    {_REORDERED: "torch.cat((pairs[:1].transpose(1, 2).flatten(0, 2), pairs[1:].flatten(0, 2)))"},
    says="interleaved_to_half reorders only the first head.",
    look="Which rows does your result move, for two heads of width 4?",
)
mistake(
    {_FORMED: "\n    pairs = pairs.clone()\n    pairs[:, 0] = 0"},
    {_FORMED: "\n    pairs = pairs.clone()\n    pairs[:, -1] = 0"},
    says="interleaved_to_half leaves out the first or the last pair of each head.",
    look="Which pair does your loop start with, and which does it end with?",
)


@alternative
def head_by_head(weight, n_heads):
    if len(weight) % (2 * n_heads):
        raise ValueError(f"rows must be divisible by {2 * n_heads}; got {len(weight)}")
    heads = weight.chunk(n_heads)
    return torch.cat([torch.cat((head[0::2], head[1::2])) for head in heads])


alternative(
    _BY_SLICES,
    {
        _PAIRS: "torch.arange(n_rows).reshape(n_heads, -1, 2)",
        _REORDERED: "weight[pairs.mT.flatten()]",
    },
    {
        _PAIRS: "weight.detach().numpy().reshape(n_heads, n_rows // n_heads // 2, 2, -1)",
        _REORDERED: "torch.from_numpy(pairs.swapaxes(1, 2).reshape(weight.shape))",
    },
    {
        _PAIRS: "weight.unflatten(0, (n_heads, -1, 2))",
        _REORDERED: 'torch.einsum("hpkc->hkpc", pairs).flatten(0, 2)',
    },
)

error(
    "RuntimeError: shape '[2, 6, 2, 5]' is invalid for input of size 60",
    "Usually the sizes do not multiply to H * D * C: what is the D/2 of a single head?",
)
error(
    "RuntimeError: only one dimension can be inferred",
    "Two of the sizes are -1, usually those of pairs and columns; only one may be.",
)
error(
    "TypeError: reshape(): argument 'shape' failed to unpack the object",
    "Usually a size was computed with `/`, which gives a float.",
)
error(
    "RuntimeError: permute(sparse_coo): number of dimensions in the tensor input does not match",
    "Usually an axis is missing in the new order: after heads, pairs and twos come the columns.",
)


mistake, alternative, error = entries("ntk_base")

_EXPONENT = "(head_dim / (head_dim - 2))"

mistake(
    {"base * factor": "base * (factor * factor)"},
    {"base * factor": "base * (factor * factor - (factor - 1))"},
    says="ntk_base uses the factor twice, so the pairs are stretched too much.",
    look="By how much is the last pair stretched? Where else do you use the factor?",
)
mistake(
    {f" ** {_EXPONENT}": ""},
    says="ntk_base multiplies the base by the factor itself, which stretches too little.",
    look="By how much is the last pair stretched? Is it the whole factor?",
    common=True,
)
mistake(
    {_EXPONENT: "((head_dim - 2) / head_dim)"},
    says="ntk_base turns the exponent upside down: (D - 2) / D.",
    look="Is the exponent above or below 1?",
    common=True,
)
mistake(
    {"base * factor": "(base * factor)"},
    says="ntk_base raises the base to the power, too.",
    look="Which of the two numbers carries the exponent?",
    common=True,
)
mistake(
    {"/ (head_dim - 2)": "// (head_dim - 2)"},
    says="ntk_base divides whole numbers in its exponent.",
    look="What is 64 // 62? What is 64 / 62?",
)
mistake(
    {"(head_dim - 2)": "head_dim - 2"},
    {_EXPONENT: "head_dim / (head_dim - 2)"},
    says="ntk_base forgets the brackets around D - 2 or around the exponent.",
    look="In which order does Python raise, divide and subtract?",
)
mistake(
    {"(head_dim - 2)": "(head_dim - 1)"},
    {"(head_dim - 2)": "(head_dim + 2)"},
    says="ntk_base divides by another number than D - 2 in its exponent.",
    look="For how many features does the base matter at all? Which pair never slows?",
)
mistake(
    {"base * factor": "10000.0 * factor"},
    {_EXPONENT: "(128 / 126)"},
    says="ntk_base uses a fixed number, 10000 or 128, where an argument belongs.",
    look="Where in the formula do the arguments base and head_dim occur?",
)
mistake(
    {"base * factor": "base / factor"},
    says="ntk_base divides the base, which makes the pairs faster instead of slower.",
    look="Does a longer wavelength need a larger or a smaller base?",
)
mistake(
    {_EXPONENT: "(head_dim / 2 / (head_dim / 2 - 2))"},
    {_EXPONENT: "(head_dim / 2 / (head_dim / 2 - 2 + 1e-9))"},
    says="ntk_base counts pairs where features belong: D/2 / (D/2 - 2).",
    look="Is the D of the formula the number of features or of pairs?",
)


@alternative
def by_logarithms(base, factor, head_dim):
    if factor < 1 or head_dim <= 2:
        raise ValueError(f"needs factor >= 1, head_dim > 2; got {factor}, {head_dim}")
    return math.exp(math.log(base) + math.log(factor) * head_dim / (head_dim - 2))


alternative(
    {"base *": "np.float64(base) *"},
    {"* factor **": "* torch.tensor(factor, dtype=torch.float64) **"},
)

error(
    "TypeError: pow() received an invalid combination of arguments",
    "Usually a function of torch was given Python numbers; here no argument is a tensor.",
)
error(
    "AttributeError: 'float' object has no attribute",
    "Often a Python number is treated as a tensor; here no argument is one.",
)
error(
    "TypeError: 'float' object is not callable",
    "Usually an operator is missing between a number and the bracket after it.",
)


mistake, alternative, error = entries("alibi_bias")

_EXPONENTS = "(-8.0 * torch.arange(1, n_heads + 1) / n_heads)"
_STEPS = "(positions[None, :] - positions[:, None]).clamp(max=0)"
_BIAS = "slopes[:, None, None] * steps_back"

mistake(
    *({_STEPS: f"{sign}positions.expand(seq_len, -1).tril()"} for sign in ("", "-")),
    says="alibi_bias counts from the first key, not from the query.",
    look="How far is the key from the query? In a row, which key has a penalty of 0?",
)
mistake(
    {"arange(1, n_heads + 1)": "arange(n_heads)"},
    says="alibi_bias counts heads from 0, so the first has slope 1.",
    look="What is the slope of the first of eight heads?",
    common=True,
)
mistake(
    {"/ n_heads": "/ 8"},
    says="alibi_bias uses slopes 1/2, 1/4, 1/8, …, which are right only for eight heads.",
    look="Where is H in the exponent? What is the last slope for H = 2?",
    common=True,
)
mistake(
    {".clamp(max=0)": ".clamp(min=0)"},
    says="alibi_bias gives earlier keys no penalty.",
    look="Row 3 is a query. What does your result have at keys 0, 1 and 2?",
)
mistake(
    {"torch.arange(1, n_heads + 1)": "torch.ones(n_heads)"},
    says="alibi_bias gives every head the same slope.",
    look="Does the head's number, h, appear in the slope?",
)
mistake(
    {f"2.0 ** {_EXPONENTS}": "torch.linspace(0.5, 2**-8, n_heads)"},
    says="alibi_bias lowers its slopes in even steps instead of by a constant factor.",
    look="What do you multiply one slope by to get the next?",
)
mistake(
    {"/ n_heads": "// n_heads"},
    {_EXPONENTS: "-(8 * torch.arange(1, n_heads + 1) // n_heads).float()"},
    says="alibi_bias divides whole numbers in its exponent, which is wrong above eight heads.",
    look="What is 8 // 16? What is 8 / 16?",
)
mistake(
    {"-8.0 * ": "-"},
    says="alibi_bias leaves out the 8 in its exponent, so all slopes are too steep.",
    look="What is the last slope, whatever the number of heads?",
)
mistake(
    {"positions[:, None])": "positions[:, None] - 1)"},
    says="alibi_bias counts steps from 1, so a token penalizes itself.",
    look="How far is a query from its own key?",
)
mistake(
    {_BIAS: "slopes[:, None, None] * steps_back[-1:].expand_as(steps_back)"},
    {_BIAS: "slopes[:, None, None] * steps_back[-1:]"},
    {"* steps_back": "* (positions - (seq_len - 1)).expand_as(steps_back).tril()"},
    says="alibi_bias measures only from the last query.",
    look="Is the distance of key 0 the same for every query?",
)
mistake(
    {"* steps_back": "* steps_back / seq_len"},
    says="alibi_bias divides the distance by the length, so a longer text costs less.",
    look="Does the penalty of one step depend on T?",
)
mistake(
    {"clamp(max=0)": "clamp(-128, 0)"},
    {"clamp(max=0)": "clamp(-256, 0)"},
    {"clamp(max=0)": "clamp(max=0).bfloat16().float()"},
    {"clamp(max=0)": "clamp(max=0).to(torch.int8)"},
    says="alibi_bias doesn't count every step: the penalty doesn't grow with each of them.",
    look="Is there a largest distance?",
)
mistake(
    *({_BIAS: f"({_BIAS}).masked_fill(steps_back < {-n}, -math.inf)"} for n in (128, 255, 256)),
    says="alibi_bias forbids far keys altogether, which should only be penalized.",
    look="What is the penalty of 300 steps back, in a head with slope 1/256?",
)
mistake(
    {_BIAS: f"{_BIAS} + torch.ones(seq_len, seq_len).triu(1) * -math.inf"},
    says="alibi_bias is NaN at keys up to the query.",
    look="What is 0 * -inf?",
)
mistake(
    {_BIAS: "slopes * steps_back[:, :, None]"},
    says="alibi_bias puts the heads last, (T, T, H), instead of first.",
    look="Which axis is which in (H, T, T)?",
)


@alternative
def three_loops(n_heads, seq_len):
    if n_heads not in [2**k for k in range(32)]:
        raise ValueError(f"n_heads must be a power of two; got {n_heads}")
    bias = torch.zeros(n_heads, seq_len, seq_len)
    for h in range(n_heads):
        for query in range(seq_len):
            for key in range(query):
                bias[h, query, key] = -(2 ** (-8 * (h + 1) / n_heads)) * (query - key)
    return bias


alternative(
    {".clamp(max=0)": ".abs().neg()"},
    {".clamp(max=0)": ""},
    {_BIAS: f"({_BIAS}).masked_fill(torch.ones(seq_len, seq_len).triu(1).bool(), -math.inf)"},
    {f"2.0 ** {_EXPONENTS}": "torch.logspace(-8 / n_heads, -8, n_heads, base=2.0)"},
    {_BIAS: "torch.stack([slope * steps_back for slope in slopes])"},
)

error(
    "RuntimeError: The size of tensor a (8) must match the size of tensor b (3)",
    "Usually slopes (H,) meet distances (T, T): they need separate axes for that.",
)
error(
    "TypeError: unsupported operand type(s) for *: 'float' and 'range'",
    "Often you calculate with a `range` or a list; only numbers, arrays and tensors allow that.",
)
