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

# --- inverse_frequencies ------------------------------------------------------------------------


mistake, alternative, error = entries("inverse_frequencies")


@mistake(
    says="inverse_frequencies leaves the 2 out of the exponent: i / C instead of 2i / C.",
    look="What is the exponent of the last pair, close to 1 or close to 1/2?",
    common=True,
)
def exponent_i_over_c(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-torch.arange(n_embd // 2) / n_embd)


@mistake(
    says="inverse_frequencies doubles the exponent's step: 4i / C instead of 2i / C.",
    look="What is the exponent of the last pair, close to 1 or close to 2?",
)
def exponent_4i_over_c(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-2 * torch.arange(0, n_embd, 2) / n_embd)


@mistake(
    says="inverse_frequencies lets the exponent reach 1: 2i / (C - 2) instead of 2i / C.",
    look="What is the exponent of the last pair: exactly 1, or a little less?",
)
def exponent_reaches_one(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-torch.arange(0, n_embd, 2, dtype=torch.float64) / max(n_embd - 2, 1))


@mistake(
    says="inverse_frequencies counts its pairs from 1.",
    look="What is the first frequency?",
)
def pairs_from_one(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-torch.arange(2, n_embd + 2, 2) / n_embd)


@mistake(
    says="inverse_frequencies gives one frequency per column instead of one per pair.",
    look="How many angles are there for C columns?",
    common=True,
)
def one_per_column(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-torch.arange(n_embd) / n_embd)


@mistake(
    says="inverse_frequencies gives one frequency per column instead of one per pair.",
    look="How many angles are there for C columns?",
)
def one_per_column_with_the_exponents_of_pairs(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-2 * torch.arange(n_embd) / n_embd)


@mistake(
    says="inverse_frequencies gives each frequency twice, once per column.",
    look="How many angles are there for C columns?",
)
def each_one_twice(n_embd, base=10000.0):
    return inverse_frequencies(n_embd, base).repeat_interleave(2)


@mistake(
    says="inverse_frequencies forgets the minus sign: the frequencies grow.",
    look="Does the second pair turn faster or slower than the first?",
    common=True,
)
def growing_frequencies(n_embd, base=10000.0):
    return 1 / inverse_frequencies(n_embd, base)


@mistake(
    says="inverse_frequencies lists the slowest pair first.",
    look="What is the first frequency?",
)
def slowest_first(n_embd, base=10000.0):
    return inverse_frequencies(n_embd, base).flip(0)


@mistake(
    says="inverse_frequencies ignores its argument `base`.",
    look="Where does `base` enter the formula?",
    common=True,
)
def base_always_10000(n_embd, base=10000.0):
    return inverse_frequencies(n_embd)


@mistake(
    says="inverse_frequencies has 1000 for its default base.",
    look="How many zeros has the paper's base?",
)
def default_base_1000(n_embd, base=1000.0):
    return inverse_frequencies(n_embd, base)


@mistake(
    says="inverse_frequencies takes the exponential of the exponent, without base.",
    look="What is base ** x, written with exp and log?",
)
def exponential_without_base(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.exp(-torch.arange(0, n_embd, 2) / n_embd)


@mistake(
    says="inverse_frequencies uses the logarithm to base 10 together with exp.",
    look="Which logarithm undoes exp?",
)
def common_logarithm(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.exp(-torch.arange(0, n_embd, 2) / n_embd * math.log10(base))


@mistake(
    says="inverse_frequencies multiplies base by 2i / C instead of raising it to that power.",
    look="Is each frequency a constant factor below the one before?",
)
def multiplies_base(n_embd, base=10000.0):
    check_width(n_embd)
    return 1 / (base * torch.arange(0, n_embd, 2) / n_embd)


@mistake(
    says="inverse_frequencies divides integers with //, so every exponent is 0 or -1.",
    look="What is 2 // 6, and what is -2 // 6?",
)
def floor_division(n_embd, base=10000.0):
    check_width(n_embd)
    return base ** (-torch.arange(0, n_embd, 2) // n_embd).float()


@mistake(
    says="inverse_frequencies gives wavelengths in positions instead of frequencies.",
    look="What is the unit: radians per position, or positions per turn?",
)
def wavelengths(n_embd, base=10000.0):
    return 2 * math.pi / inverse_frequencies(n_embd, base)


@mistake(
    says="inverse_frequencies measures in turns: it divides by 2π.",
    look="How far does the first pair turn per position, in radians?",
)
def in_turns(n_embd, base=10000.0):
    return inverse_frequencies(n_embd, base) / (2 * math.pi)


@mistake(
    says="inverse_frequencies accepts an odd width.",
    look="What happens to the sine that has no cosine?",
)
def odd_widths_pass(n_embd, base=10000.0):
    if n_embd <= 0:
        raise ValueError(f"the width must be positive; got {n_embd}")
    return base ** (-torch.arange(0, n_embd, 2) / n_embd)


@mistake(
    says="inverse_frequencies accepts a width of 0 or less.",
    look="Is 0 an even number?",
)
def empty_widths_pass(n_embd, base=10000.0):
    if n_embd % 2:
        raise ValueError(f"the width must be even; got {n_embd}")
    return base ** (-torch.arange(0, max(n_embd, 0), 2) / n_embd)


@mistake(
    says="inverse_frequencies refuses a width without naming the rule in words and the width.",
    look="What would you want to read in the message?",
)
def message_without_the_width(n_embd, base=10000.0):
    if n_embd <= 0 or n_embd % 2:
        raise ValueError("the width must be even and positive")
    return inverse_frequencies(n_embd, base)


@mistake(
    says="inverse_frequencies checks the width with assert.",
    look="Which exception does the contract name?",
)
def asserts_the_width(n_embd, base=10000.0):
    assert n_embd > 0 and n_embd % 2 == 0, f"the width must be even; got {n_embd}"
    return inverse_frequencies(n_embd, base)


@mistake(
    says="inverse_frequencies computes in bfloat16, which has two or three digits.",
    look="Which dtype has the result?",
)
def in_bfloat16(n_embd, base=10000.0):
    return inverse_frequencies(n_embd, base).bfloat16().float()


@functools.cache
def _kept_by_width(n_embd):
    return {}


@mistake(
    says="inverse_frequencies remembers its result by width alone, so the first base stays.",
    look="On which arguments does the result depend?",
    forget=_kept_by_width.cache_clear,
)
def remembers_the_first_base(n_embd, base=10000.0):
    return _kept_by_width(n_embd).setdefault("kept", inverse_frequencies(n_embd, base))


@alternative
def exp_of_a_logarithm(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.exp(torch.arange(0, n_embd, 2).float() * (-math.log(base) / n_embd))


@alternative
def reciprocal_of_a_power(n_embd, base=10000.0):
    check_width(n_embd)
    return 1.0 / (base ** (torch.arange(0, n_embd, 2, dtype=torch.float32) / n_embd))


@alternative
def in_plain_python(n_embd, base=10000.0):
    if n_embd < 2 or n_embd & 1:
        raise ValueError(f"an even width of 2 or more is needed, not {n_embd}")
    return torch.tensor([math.pow(base, -2 * i / n_embd) for i in range(n_embd // 2)])


@alternative
def in_numpy(n_embd, base=10000.0):
    check_width(n_embd)
    return torch.from_numpy(np.power(base, -np.arange(0, n_embd, 2) / n_embd))


@alternative
def step_by_step(n_embd, base=10000.0):
    check_width(n_embd)
    ratio = torch.full((n_embd // 2,), base ** (-2 / n_embd))
    ratio[0] = 1
    return ratio.cumprod(dim=0)


@alternative
def logspace(n_embd, base=10000.0):
    check_width(n_embd)
    pairs = n_embd // 2
    return torch.logspace(0, 2 / n_embd - 1, pairs, base=base, dtype=torch.float64)


# --- sinusoidal_encoding ------------------------------------------------------------------------


def _angles(length, n_embd, base=10000.0):
    return torch.outer(torch.arange(length).double(), inverse_frequencies(n_embd, base))


def _side_by_side(angles):
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).float()


mistake, alternative, error = entries("sinusoidal_encoding")


@mistake(
    says="sinusoidal_encoding puts all sines first and all cosines after them.",
    look="Which columns hold the sine and the cosine of one angle?",
    common=True,
)
def sines_then_cosines(length, n_embd, base=10000.0):
    angles = _angles(length, n_embd, base)
    return torch.cat((angles.sin(), angles.cos()), dim=-1).float()


@mistake(
    says="sinusoidal_encoding puts the cosine before the sine.",
    look="What is the first row: 0, 1, 0, 1, … or 1, 0, 1, 0, …?",
)
def cosine_before_sine(length, n_embd, base=10000.0):
    angles = _angles(length, n_embd, base)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).flatten(-2).float()


@mistake(
    says="sinusoidal_encoding uses sines in all columns.",
    look="What is the first row?",
)
def sines_alone(length, n_embd, base=10000.0):
    angles = _angles(length, n_embd, base)
    return torch.stack((angles.sin(), angles.sin()), dim=-1).flatten(-2).float()


@mistake(
    says="sinusoidal_encoding gives each column a frequency of its own, not each pair.",
    look="Which angle do columns 2i and 2i + 1 share?",
    common=True,
)
def a_frequency_per_column(length, n_embd, base=10000.0):
    check_width(n_embd)
    angles = torch.outer(
        torch.arange(length).double(), base ** (-torch.arange(n_embd).double() / n_embd)
    )
    angles[:, 0::2], angles[:, 1::2] = angles[:, 0::2].sin(), angles[:, 1::2].cos()
    return angles.float()


@mistake(
    says="sinusoidal_encoding divides 2 · column by C, so its exponents run to 2.",
    look="Is i the number of the column or of the pair?",
)
def column_taken_for_pair(length, n_embd, base=10000.0):
    check_width(n_embd)
    rates = base ** (-2 * torch.arange(0, n_embd, 2).double() / n_embd)
    return _side_by_side(torch.outer(torch.arange(length).double(), rates))


@mistake(
    says="sinusoidal_encoding leaves the 2 out of the exponent: i / C instead of 2i / C.",
    look="How slowly does the last pair turn?",
)
def halved_exponent(length, n_embd, base=10000.0):
    return _side_by_side(_angles(length, n_embd, base**0.5))


@mistake(
    says="sinusoidal_encoding divides the exponent by C - 2, so the last one is 1.",
    look="What is the exponent of the last pair: exactly 1, or a little less?",
)
def exponent_up_to_one(length, n_embd, base=10000.0):
    check_width(n_embd)
    rates = base ** (-torch.arange(0, n_embd, 2).double() / max(n_embd - 2, 1))
    return _side_by_side(torch.outer(torch.arange(length).double(), rates))


@mistake(
    says="sinusoidal_encoding lets the frequencies grow from pair to pair.",
    look="Does the second pair turn faster or slower than the first?",
)
def multiplies_by_wavelengths(length, n_embd, base=10000.0):
    positions = torch.arange(length).double()
    return _side_by_side(torch.outer(positions, 1 / inverse_frequencies(n_embd, base)))


@mistake(
    says="sinusoidal_encoding turns all pairs at the same speed.",
    look="Where does the number of the pair enter the angle?",
)
def no_decay(length, n_embd, base=10000.0):
    return _side_by_side(_angles(length, n_embd, 1.0))


@mistake(
    says="sinusoidal_encoding ignores its argument base.",
    look="Is base passed on?",
)
def base_not_passed_on(length, n_embd, base=10000.0):
    return sinusoidal_encoding(length, n_embd)


@mistake(
    says="sinusoidal_encoding has 1000 for its default base.",
    look="How many zeros has the paper's base?",
)
def default_of_1000(length, n_embd, base=1000.0):
    return sinusoidal_encoding(length, n_embd, base)


@mistake(
    says="sinusoidal_encoding counts positions from 1.",
    look="What is the first row?",
)
def starts_at_position_one(length, n_embd, base=10000.0):
    return sinusoidal_encoding(length + 1, n_embd, base)[1:]


@mistake(
    says="sinusoidal_encoding turns backwards: the sines have the wrong sign.",
    look="Is sin 1 positive?",
)
def turns_backwards(length, n_embd, base=10000.0):
    return _side_by_side(-_angles(length, n_embd, base))


@mistake(
    says="sinusoidal_encoding reads its angles as degrees.",
    look="Which unit does torch.sin expect?",
)
def angles_in_degrees(length, n_embd, base=10000.0):
    return _side_by_side(torch.deg2rad(_angles(length, n_embd, base)))


@mistake(
    says="sinusoidal_encoding counts whole turns: position 1 is back at the start.",
    look="How far does the first pair turn per position, in radians?",
)
def angles_in_turns(length, n_embd, base=10000.0):
    return _side_by_side(2 * math.pi * _angles(length, n_embd, base))


@mistake(
    says="sinusoidal_encoding takes sine and cosine of float32 angles: too coarse far out.",
    look="How far apart are two float32 numbers near 10,000?",
    common=True,
)
def angles_in_float32(length, n_embd, base=10000.0):
    rates = inverse_frequencies(n_embd, base).float()
    return _side_by_side(torch.outer(torch.arange(length).float(), rates))


@mistake(
    says="sinusoidal_encoding rounds its frequencies to float32 before it multiplies.",
    look="What does position 10 000 do to an error of one part in ten million?",
)
def frequencies_rounded_to_float32(length, n_embd, base=10000.0):
    rates = inverse_frequencies(n_embd, base).float().double()
    return _side_by_side(torch.outer(torch.arange(length).double(), rates))


@mistake(
    says="sinusoidal_encoding takes sine and cosine of float32 angles: too coarse far out.",
    look="How far apart are two float32 numbers near 10,000?",
)
def angles_rounded_to_float32(length, n_embd, base=10000.0):
    return _side_by_side(_angles(length, n_embd, base).float())


@mistake(
    says="sinusoidal_encoding gives back float64 instead of float32.",
    look="Which dtype do the layers behind it expect?",
    common=True,
)
def stays_in_float64(length, n_embd, base=10000.0):
    angles = _angles(length, n_embd, base)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


@mistake(
    says="sinusoidal_encoding gives back (C, T).",
    look="Print the shape for 3 positions and 4 features.",
)
def features_first(length, n_embd, base=10000.0):
    return sinusoidal_encoding(length, n_embd, base).T


@mistake(
    says="sinusoidal_encoding puts a batch axis in front.",
    look="What shape does the contract promise?",
)
def batch_axis_in_front(length, n_embd, base=10000.0):
    return sinusoidal_encoding(length, n_embd, base)[None]


@mistake(
    says="sinusoidal_encoding mixes rows up: it reshapes (C/2, T, 2) into (T, C).",
    look="Does `reshape` move numbers, or only rename their places?",
)
def reshaped_across_rows(length, n_embd, base=10000.0):
    angles = _angles(length, n_embd, base).T
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(length, n_embd).float()


@mistake(
    says="sinusoidal_encoding gives one row more than asked for.",
    look="Which positions are there in a table of length T?",
)
def one_row_more(length, n_embd, base=10000.0):
    return sinusoidal_encoding(length + 1, n_embd, base)


@mistake(
    says="sinusoidal_encoding stops at position 4095 and repeats that row.",
    look="Is there a largest position?",
)
def clamped_at_4096(length, n_embd, base=10000.0):
    table = sinusoidal_encoding(length, n_embd, base)
    return table[torch.arange(length).clamp(max=4095)]


@mistake(
    says="sinusoidal_encoding scales its rows to length 1.",
    look="What is sin² + cos² of one pair?",
)
def rows_of_length_one(length, n_embd, base=10000.0):
    return nn.functional.normalize(sinusoidal_encoding(length, n_embd, base), dim=-1)


@mistake(
    says="sinusoidal_encoding accepts an odd width; its last sine has no cosine.",
    look="What should happen to a sine that has no cosine?",
)
def last_sine_without_a_cosine(length, n_embd, base=10000.0):
    if n_embd % 2 == 0:
        return sinusoidal_encoding(length, n_embd, base)
    table = sinusoidal_encoding(length, max(n_embd, 1) + 1, base)
    return table[:, :n_embd]


_tables = {}


@mistake(
    says="sinusoidal_encoding remembers its table by length and width, so the first base stays.",
    look="On which arguments does the table depend?",
    forget=_tables.clear,
)
def remembers_without_base(length, n_embd, base=10000.0):
    if (length, n_embd) not in _tables:
        _tables[length, n_embd] = sinusoidal_encoding(length, n_embd, base)
    return _tables[length, n_embd]


@alternative
def as_in_the_textbook(length, n_embd, base=10000.0):
    check_width(n_embd)
    pe = torch.zeros(length, n_embd, dtype=torch.float64)
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, n_embd, 2).double() * (-math.log(base) / n_embd))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe.float()


@alternative
def as_complex_numbers(length, n_embd, base=10000.0):
    angles = _angles(length, n_embd, base)
    turned = torch.polar(torch.ones_like(angles), math.pi / 2 - angles)  # sin a + i cos a
    return torch.view_as_real(turned).reshape(length, n_embd).to(torch.float32)


@alternative
def entry_by_entry(length, n_embd, base=10000.0):
    check_width(n_embd)
    rows = []
    for position in range(length):
        row = []
        for column in range(n_embd):
            angle = position / base ** ((column - column % 2) / n_embd)
            row.append(math.cos(angle) if column % 2 else math.sin(angle))
        rows.append(row)
    return torch.tensor(rows)


@alternative
def cosine_as_a_shifted_sine(length, n_embd, base=10000.0):
    check_width(n_embd)
    column = np.arange(n_embd)
    angle = np.arange(length)[:, None] / np.power(base, column // 2 * 2 / n_embd)
    return torch.from_numpy(np.sin(angle + np.pi / 2 * (column % 2)).astype(np.float32))


@alternative
def turned_from_row_to_row(length, n_embd, base=10000.0):
    check_width(n_embd)
    step = [cmath.exp(1j * base ** (-2 * i / n_embd)) for i in range(n_embd // 2)]
    hands, rows = [1 + 0j] * len(step), []
    for _ in range(length):
        rows.append([part for hand in hands for part in (hand.imag, hand.real)])
        hands = [hand * turn for hand, turn in zip(hands, step, strict=True)]
    return torch.tensor(rows, dtype=torch.float32)


@functools.cache
def _remembered(length, n_embd, base):
    angles = _angles(length, n_embd, base)
    table = angles.repeat_interleave(2, dim=1)
    even = torch.arange(n_embd) % 2 == 0
    return torch.where(even, table.sin(), table.cos()).float()


@alternative
def remembered_by_all_arguments(length, n_embd, base=10000.0):
    check_width(n_embd)
    return _remembered(length, n_embd, base)


# --- SinusoidalPositionalEmbedding --------------------------------------------------------------


mistake, alternative, error = entries("SinusoidalPositionalEmbedding")


@mistake(
    says="SinusoidalPositionalEmbedding makes its table a parameter instead of a buffer.",
    look="What does `module.parameters()` list, and is there anything to learn here?",
)
class table_is_a_parameter(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.n_embd, self.base = n_embd, base
        self.table = nn.Parameter(sinusoidal_encoding(max_seq_len, n_embd, base))

    def forward(self, seq_len):
        if seq_len <= len(self.table):
            return self.table[:seq_len]
        return sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.table)


@mistake(
    says="SinusoidalPositionalEmbedding makes its table a parameter instead of a buffer.",
    look="What does `module.parameters()` list, and is there anything to learn here?",
    common=True,
)
class table_is_a_frozen_parameter(table_is_a_parameter):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__(max_seq_len, n_embd, base)
        self.table.requires_grad_(False)


@mistake(
    says="SinusoidalPositionalEmbedding holds no table that `.to` could move.",
    look="Which tensors does `module.to(...)` know about?",
    common=True,
)
class table_is_a_plain_attribute(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.n_embd, self.base = n_embd, base
        self.table = sinusoidal_encoding(max_seq_len, n_embd, base)

    def forward(self, seq_len):
        if seq_len <= len(self.table):
            return self.table[:seq_len]
        return sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.table)


@mistake(
    says="SinusoidalPositionalEmbedding has a buffer, but answers from a table of its own.",
    look="Which of its tensors does forward use?",
)
class buffer_for_show(table_is_a_plain_attribute):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__(max_seq_len, n_embd, base)
        self.register_buffer("copy", self.table.clone())


@mistake(
    says="SinusoidalPositionalEmbedding holds no table that `.to` could move.",
    look="Which tensors does `module.to(...)` know about?",
)
class no_table_at_all(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        check_width(n_embd)
        self.n_embd, self.base = n_embd, base

    def forward(self, seq_len):
        return sinusoidal_encoding(seq_len, self.n_embd, self.base)


class _Sinusoidal(SinusoidalPositionalEmbedding):
    """Mistakes beyond the table: `beyond` gives all rows of a sequence longer than it."""

    def forward(self, seq_len):
        return self.table[:seq_len] if seq_len <= len(self.table) else self.beyond(seq_len)


@mistake(
    says="SinusoidalPositionalEmbedding gives no more rows than its table has.",
    look="What does a slice do when its end lies beyond the last row?",
    common=True,
)
class table_runs_out(_Sinusoidal):
    def beyond(self, seq_len):
        return self.table


@mistake(
    says="SinusoidalPositionalEmbedding makes 5000 rows ahead, and gives no more than these.",
    look="What does `forward` give for a sequence longer than any table you made?",
)
class five_thousand_rows_ahead(_Sinusoidal):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__(max(max_seq_len, 5000), n_embd, base)

    def beyond(self, seq_len):
        return self.table


@mistake(
    says="SinusoidalPositionalEmbedding refuses a sequence longer than its table.",
    look="Does the formula run out?",
)
class long_sequences_refused(_Sinusoidal):
    def beyond(self, seq_len):
        raise ValueError(f"at most {len(self.table)} positions; got {seq_len}")


@mistake(
    says="SinusoidalPositionalEmbedding repeats its last row for all positions beyond the table.",
    look="Do two positions beyond the table differ?",
)
class last_row_repeated(_Sinusoidal):
    def beyond(self, seq_len):
        return self.table[torch.arange(seq_len).clamp(max=len(self.table) - 1)]


@mistake(
    says="SinusoidalPositionalEmbedding starts its table again when it is used up.",
    look="Do two positions beyond the table differ from the first ones?",
)
class table_starts_again(_Sinusoidal):
    def beyond(self, seq_len):
        return self.table[torch.arange(seq_len) % len(self.table)]


@mistake(
    says="SinusoidalPositionalEmbedding fills the rows beyond its table with zeros.",
    look="What does the formula give for those positions?",
)
class zeros_beyond_the_table(_Sinusoidal):
    def beyond(self, seq_len):
        rows = self.table.new_zeros(seq_len - len(self.table), self.n_embd)
        return torch.cat((self.table, rows))


@mistake(
    says="SinusoidalPositionalEmbedding leaves the rows beyond its table in float32 on the CPU.",
    look="What did `module.to(...)` do to the table, and who does it for the rows made later?",
    common=True,
)
class later_rows_stay_behind(_Sinusoidal):
    def beyond(self, seq_len):
        return sinusoidal_encoding(seq_len, self.n_embd, self.base)


@mistake(
    says="SinusoidalPositionalEmbedding moves the rows beyond its table to the right device, but "
    "not to the right dtype.",
    look="What does `.to(...)` take besides a device?",
)
class later_rows_keep_their_dtype(_Sinusoidal):
    def beyond(self, seq_len):
        return sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.table.device)


@mistake(
    says="SinusoidalPositionalEmbedding gives rows beyond its table the right dtype on the CPU.",
    look="What does `.to(...)` take besides a dtype?",
)
class later_rows_keep_their_device(_Sinusoidal):
    def beyond(self, seq_len):
        return sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.table.dtype)


@mistake(
    says="SinusoidalPositionalEmbedding forgets its base for positions beyond the table.",
    look="Which arguments of __init__ does forward need?",
)
class later_rows_forget_the_base(_Sinusoidal):
    def beyond(self, seq_len):
        return sinusoidal_encoding(seq_len, self.n_embd).to(self.table)


@mistake(
    says="SinusoidalPositionalEmbedding starts again at position 0 behind its table.",
    look="Which position is the first one behind a table of T rows?",
)
class later_rows_from_zero(_Sinusoidal):
    def beyond(self, seq_len):
        more = sinusoidal_encoding(seq_len - len(self.table), self.n_embd, self.base)
        return torch.cat((self.table, more.to(self.table)))


@mistake(
    says="SinusoidalPositionalEmbedding gives only the rows beyond its table.",
    look="How many rows should come back?",
)
class later_rows_alone(_Sinusoidal):
    def beyond(self, seq_len):
        all_rows = sinusoidal_encoding(seq_len, self.n_embd, self.base)
        return all_rows[len(self.table) :].to(self.table)


@mistake(
    says="SinusoidalPositionalEmbedding grows into a plain attribute, which `.to` misses.",
    look="What happens to the longer table when the module moves later?",
)
class grows_into_an_attribute(_Sinusoidal):
    def beyond(self, seq_len):
        if len(getattr(self, "longer", ())) < seq_len:
            longer = sinusoidal_encoding(seq_len, self.n_embd, self.base)
            self.longer = longer.to(self.table)
        return self.longer[:seq_len]


@mistake(
    says="SinusoidalPositionalEmbedding gives the whole table, whatever the length.",
    look="How many rows should come back?",
)
class whole_table(SinusoidalPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(max(seq_len, len(self.table)))


@mistake(
    says="SinusoidalPositionalEmbedding keeps what a long sequence needed and gives it to all.",
    look="What does a short sequence get after a long one?",
)
class stays_long(_Sinusoidal):
    def beyond(self, seq_len):
        self.table = sinusoidal_encoding(seq_len, self.n_embd, self.base).to(self.table)
        return self.table

    def forward(self, seq_len):
        self.longest = max(seq_len, getattr(self, "longest", 0))
        return super().forward(self.longest)


@mistake(
    says="SinusoidalPositionalEmbedding ignores its argument base.",
    look="Is base passed on?",
)
class base_is_ignored(SinusoidalPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__(max_seq_len, n_embd)


@mistake(
    says="SinusoidalPositionalEmbedding takes rows 1 to seq_len; position 0 is left out.",
    look="What is the first row?",
)
class positions_from_one(SinusoidalPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len + 1)[1:]


@mistake(
    says="SinusoidalPositionalEmbedding takes the last rows of its table.",
    look="What is the first row?",
)
class last_rows_of_the_table(SinusoidalPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(max(seq_len, len(self.table)))[-seq_len:]


@mistake(
    says="SinusoidalPositionalEmbedding looks up the single row number seq_len.",
    look="What shape should come back, and how many rows is that?",
)
class single_row(SinusoidalPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len)[-1]


@mistake(
    says="SinusoidalPositionalEmbedding puts a batch axis in front of its rows.",
    look="What shape does the contract promise, and who adds the batch axis later?",
)
class rows_with_a_batch_axis(SinusoidalPositionalEmbedding):
    def forward(self, seq_len):
        return super().forward(seq_len)[None]


@mistake(
    says="SinusoidalPositionalEmbedding keeps frequencies in a buffer, so `.to(bfloat16)` rounds "
    "them before the angles are made.",
    look="What is rounded to bfloat16: the angles or their sines?",
)
class frequencies_follow_to_bfloat16(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.register_buffer("rates", inverse_frequencies(n_embd, base).float())

    def forward(self, seq_len):
        positions = torch.arange(seq_len, device=self.rates.device).to(self.rates.dtype)
        angles = torch.outer(positions, self.rates)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


@mistake(
    says="SinusoidalPositionalEmbedding puts all sines first and all cosines after them.",
    look="Which columns hold the sine and the cosine of one angle?",
)
class halves_instead_of_pairs(SinusoidalPositionalEmbedding):
    def forward(self, seq_len):
        rows = super().forward(seq_len)
        return torch.cat((rows[:, 0::2], rows[:, 1::2]), dim=1)


@mistake(
    says="SinusoidalPositionalEmbedding accepts an odd width and cuts the last column off.",
    look="What should happen to a sine that has no cosine?",
)
class odd_widths_are_cut(SinusoidalPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__(max_seq_len, n_embd + n_embd % 2, base)
        self.width = n_embd

    def forward(self, seq_len):
        return super().forward(seq_len)[:, : self.width]


@mistake(
    says="SinusoidalPositionalEmbedding refuses a width without naming the rule and the width.",
    look="What would you want to read in the message?",
)
class error_without_the_width(SinusoidalPositionalEmbedding):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        if n_embd <= 0 or n_embd % 2:
            raise ValueError("this width does not split into pairs")
        super().__init__(max_seq_len, n_embd, base)


_shared = {}


@mistake(
    says="SinusoidalPositionalEmbedding shares its longest table with modules of another base.",
    look="On which arguments does a table depend?",
    forget=_shared.clear,
)
class shares_long_tables(_Sinusoidal):
    def beyond(self, seq_len):
        longest = _shared.get(self.n_embd, ())
        if len(longest) < seq_len:
            longest = sinusoidal_encoding(seq_len, self.n_embd, self.base)
            _shared[self.n_embd] = longest
        return longest[:seq_len].to(self.table)


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


@alternative
class rows_appended_when_needed(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.register_buffer("rows", sinusoidal_encoding(max_seq_len, n_embd, base))
        self.base = base

    def forward(self, seq_len):
        have, width = self.rows.shape
        if seq_len <= have:
            return self.rows.narrow(0, 0, seq_len).clone()
        more = [
            [
                (math.sin, math.cos)[c % 2](p / self.base ** ((c - c % 2) / width))
                for c in range(width)
            ]
            for p in range(have, seq_len)
        ]
        return torch.cat((self.rows, self.rows.new_tensor(more)))


@alternative
class an_empty_buffer_as_compass(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        if n_embd % 2 or n_embd < 1:
            raise ValueError(f"n_embd={n_embd} is not an even positive number")
        self.settings = n_embd, base
        self.register_buffer("here", torch.zeros(()), persistent=False)

    def forward(self, seq_len):
        table = sinusoidal_encoding(seq_len, *self.settings)
        return table.to(device=self.here.device, dtype=self.here.dtype)


@alternative
class width_read_from_a_buffer(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        self.base = base
        self.register_buffer("table", sinusoidal_encoding(max_seq_len, n_embd, base))
        self.register_buffer("n_embd", torch.tensor(n_embd))

    def forward(self, seq_len):
        if seq_len <= len(self.table):
            return self.table[:seq_len]
        return sinusoidal_encoding(seq_len, self.n_embd.item(), self.base).to(self.table)


@alternative
class float32_angles_on_the_spot(nn.Module):
    def __init__(self, max_seq_len, n_embd, base=10000.0):
        super().__init__()
        check_width(n_embd)
        self.n_embd, self.base = n_embd, base
        self.register_buffer("table", self.rows(max_seq_len))

    def rows(self, length, device=None):
        pair = torch.arange(self.n_embd // 2, device=device)
        rates = torch.exp(pair * (-2 * math.log(self.base) / self.n_embd))
        angles = torch.arange(length, device=device)[:, None] * rates
        return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(length, self.n_embd)

    def forward(self, seq_len):
        if seq_len > len(self.table):
            return self.rows(seq_len, self.table.device).to(self.table.dtype)
        return nn.functional.embedding(torch.arange(seq_len, device=self.table.device), self.table)


# --- offset_rotation ----------------------------------------------------------------------------


mistake, alternative, error = entries("offset_rotation")


@mistake(
    says="offset_rotation gives the transpose: it moves back by k.",
    look="Which sign has the sine in the first row?",
    common=True,
)
def transposed_rotation(k, n_embd, base=10000.0):
    return offset_rotation(k, n_embd, base).T


@mistake(
    says="offset_rotation is symmetric: both sines have the same sign, so it mirrors.",
    look="What does cos(a + b) look like, written out?",
)
def both_sines_positive(k, n_embd, base=10000.0):
    rotated = offset_rotation(k, n_embd, base)
    rotated[1::2, 0::2] *= -1
    return rotated


@mistake(
    says="offset_rotation swaps sine and cosine.",
    look="What should the matrix be for k = 0?",
)
def sine_and_cosine_swapped(k, n_embd, base=10000.0):
    angles = k * inverse_frequencies(n_embd, base)
    cos, sin = angles.sin(), angles.cos()
    blocks = torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), -2)
    return torch.block_diag(*blocks).float()


@mistake(
    says="offset_rotation pairs column i with C/2 + i, but the table pairs neighbors.",
    look="Which columns hold the sine and the cosine of one angle?",
    common=True,
)
def halves_paired(k, n_embd, base=10000.0):
    angles = k * inverse_frequencies(n_embd, base)
    cos, sin = angles.cos().diag(), angles.sin().diag()
    return torch.cat((torch.cat((cos, sin), 1), torch.cat((-sin, cos), 1))).float()


@mistake(
    says="offset_rotation turns every pair by the same angle.",
    look="Which angle belongs to the second block?",
)
def one_angle_for_all(k, n_embd, base=10000.0):
    check_width(n_embd)
    block = offset_rotation(k, 2, base)
    return torch.block_diag(*[block] * (n_embd // 2))


@mistake(
    says="offset_rotation builds its blocks for the slowest pair first.",
    look="Which pair does the upper left block turn?",
)
def blocks_in_reverse(k, n_embd, base=10000.0):
    return offset_rotation(k, n_embd, base).flip(0, 1).T


@mistake(
    says="offset_rotation ignores its argument k and always moves by one.",
    look="Where does k enter the angle?",
)
def always_one_step(k, n_embd, base=10000.0):
    return offset_rotation(1, n_embd, base)


@mistake(
    says="offset_rotation loses the sign of k.",
    look="Compare the matrices for 3 and -3.",
)
def sign_of_k_lost(k, n_embd, base=10000.0):
    return offset_rotation(abs(k), n_embd, base)


@mistake(
    says="offset_rotation is off by one: it moves by k + 1.",
    look="What should the matrix be for k = 0?",
)
def one_step_too_far(k, n_embd, base=10000.0):
    return offset_rotation(k + 1, n_embd, base)


@mistake(
    says="offset_rotation ignores its argument base.",
    look="Is base passed on?",
)
def base_left_out(k, n_embd, base=10000.0):
    return offset_rotation(k, n_embd)


@mistake(
    says="offset_rotation makes its angles in float32, too coarse for offsets of a thousand.",
    look="How far apart are two float32 numbers near 1,000?",
    common=True,
)
def float32_angles(k, n_embd, base=10000.0):
    angles = k * inverse_frequencies(n_embd, base).float()
    cos, sin = angles.cos(), angles.sin()
    blocks = torch.stack((torch.stack((cos, sin), -1), torch.stack((-sin, cos), -1)), -2)
    return torch.block_diag(*blocks)


@mistake(
    says="offset_rotation multiplies one float32 step k times, and the error piles up.",
    look="How large is the error after a thousand products?",
)
def power_of_a_float32_step(k, n_embd, base=10000.0):
    step = offset_rotation(1 if k >= 0 else -1, n_embd, base)
    result = torch.eye(n_embd)
    for _ in range(abs(k)):
        result = result @ step
    return result


@mistake(
    says="offset_rotation gives the blocks, (C/2, 2, 2), not the matrix.",
    look="Print the shape of the result.",
)
def blocks_not_a_matrix(k, n_embd, base=10000.0):
    whole = offset_rotation(k, n_embd, base)
    return torch.stack([whole[i : i + 2, i : i + 2] for i in range(0, n_embd, 2)])


@mistake(
    says="offset_rotation gives back float64.",
    look="Which dtype has a table of positions?",
)
def rotation_in_float64(k, n_embd, base=10000.0):
    return offset_rotation(k, n_embd, base).double()


@mistake(
    says="offset_rotation fills the places outside of its blocks, too.",
    look="Does a pair depend on any other pair?",
)
def not_block_diagonal(k, n_embd, base=10000.0):
    cos, sin = (f(k * inverse_frequencies(n_embd, base)).float() for f in (torch.cos, torch.sin))
    matrix = torch.zeros(n_embd, n_embd)
    matrix[0::2, 0::2] = matrix[1::2, 1::2] = cos
    matrix[0::2, 1::2], matrix[1::2, 0::2] = sin, -sin
    return matrix


@mistake(
    says="offset_rotation takes a negative k for 0.",
    look="What does it mean to move by -3?",
)
def negative_offsets_are_zero(k, n_embd, base=10000.0):
    return offset_rotation(max(k, 0), n_embd, base)


@mistake(
    says="offset_rotation refuses a negative k.",
    look="What does a negative k mean?",
)
def negative_offsets_refused(k, n_embd, base=10000.0):
    if k < 0:
        raise ValueError(f"k must not be negative; got {k}")
    return offset_rotation(k, n_embd, base)


@mistake(
    says="offset_rotation accepts an odd width and leaves the last column alone.",
    look="What should happen to a sine that has no cosine?",
)
def odd_widths_turn_all_but_one(k, n_embd, base=10000.0):
    if n_embd % 2 == 0 or n_embd < 2:
        return offset_rotation(k, n_embd, base)
    return torch.block_diag(offset_rotation(k, n_embd - 1, base), torch.eye(1))


_rotations = {}


@mistake(
    says="offset_rotation remembers its matrix by k and width, so the first base stays.",
    look="On which arguments does the matrix depend?",
    forget=_rotations.clear,
)
def rotation_remembered_without_base(k, n_embd, base=10000.0):
    return _rotations.setdefault((k, n_embd), offset_rotation(k, n_embd, base))


@alternative
def blocks_written_in_place(k, n_embd, base=10000.0):
    check_width(n_embd)
    matrix = torch.eye(n_embd)
    for i in range(0, n_embd, 2):
        angle = k / base ** (i / n_embd)
        c, s = math.cos(angle), math.sin(angle)
        matrix[i : i + 2, i : i + 2] = torch.tensor([[c, s], [-s, c]])
    return matrix


@alternative
def exponential_of_a_generator(k, n_embd, base=10000.0):
    rates = inverse_frequencies(n_embd, base).double()
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    angles = torch.remainder(k * rates, 2 * math.pi)
    return torch.linalg.matrix_exp(torch.kron(angles.diag(), turn)).float()


@alternative
def diagonals_of_cosines_and_sines(k, n_embd, base=10000.0):
    angles = k * inverse_frequencies(n_embd, base).double()
    sines = torch.stack((angles.sin(), torch.zeros_like(angles)), dim=-1).flatten()[:-1]
    matrix = angles.cos().repeat_interleave(2).diag() + sines.diag(1) - sines.diag(-1)
    return matrix.to(torch.float32)


@alternative
def solved_from_two_positions_a_pair(k, n_embd, base=10000.0):
    check_width(n_embd)
    result = np.zeros((n_embd, n_embd), dtype=np.float32)
    for i in range(n_embd // 2):
        turn = cmath.exp(1j * k * base ** (-2 * i / n_embd))
        pair = slice(2 * i, 2 * i + 2)
        result[pair, pair] = [[turn.real, turn.imag], [-turn.imag, turn.real]]
    return torch.from_numpy(result)


# --- relative_similarity ------------------------------------------------------------------------


def _check_distance(pe, k):
    if not 0 <= k < len(pe):
        raise ValueError(f"k must lie in 0..{len(pe) - 1}; got {k}")


mistake, alternative, error = entries("relative_similarity")


@mistake(
    says="relative_similarity multiplies the rows, but does not add the products up.",
    look="What is a dot product?",
)
def products_not_summed(pe, k):
    _check_distance(pe, k)
    return pe[: len(pe) - k] * pe[k:]


@mistake(
    says="relative_similarity takes the mean of the products instead of their sum.",
    look="What is a dot product?",
)
def mean_instead_of_sum(pe, k):
    return products_not_summed(pe, k).mean(dim=-1)


@mistake(
    says="relative_similarity adds up over positions instead of features.",
    look="Which axis is left over?",
)
def summed_over_positions(pe, k):
    return products_not_summed(pe, k).sum(dim=0)


@mistake(
    says="relative_similarity adds everything up to one number.",
    look="How many pairs of rows are k apart?",
)
def one_number_for_all(pe, k):
    return products_not_summed(pe, k).sum()


@mistake(
    says="relative_similarity compares directions: it divides by the lengths of the rows.",
    look="Is the dot product asked for, or the cosine?",
)
def cosines_of_positions(pe, k):
    _check_distance(pe, k)
    return torch.cosine_similarity(pe[: len(pe) - k], pe[k:], dim=-1)


@mistake(
    says="relative_similarity compares every row with row 0.",
    look="Which two rows belong together for p = 1?",
    common=True,
)
def always_against_row_zero(pe, k):
    _check_distance(pe, k)
    return (pe[0] * pe[k:]).sum(dim=-1)


@mistake(
    says="relative_similarity compares the first pair and repeats it, which is right for a "
    "formula table only.",
    look="Which two rows belong together for p = 1?",
)
def first_pair_repeated(pe, k):
    _check_distance(pe, k)
    return (pe[0] * pe[k]).sum().repeat(len(pe) - k)


@mistake(
    says="relative_similarity slices with `[:-k]`, which is empty for k = 0.",
    look="What is `pe[:-0]`?",
    common=True,
)
def empty_slice_for_zero(pe, k):
    _check_distance(pe, k)
    return (pe[:-k] * pe[k:]).sum(dim=-1)


@mistake(
    says="relative_similarity lets positions wrap round the end of the table.",
    look="How many numbers should come back?",
    common=True,
)
def wraps_round(pe, k):
    _check_distance(pe, k)
    return (pe * pe.roll(-k, dims=0)).sum(dim=-1)


@mistake(
    says="relative_similarity wraps round the end, and then keeps the wrong T - k numbers.",
    look="Which positions p have a partner p + k?",
)
def keeps_the_wrapped_ones(pe, k):
    _check_distance(pe, k)
    return (pe * pe.roll(-k, dims=0)).sum(dim=-1)[k:]


@mistake(
    says="relative_similarity is off by one: its rows are k + 1 apart.",
    look="Which two rows belong together for p = 0?",
)
def one_row_too_far(pe, k):
    _check_distance(pe, k)
    return (pe * pe.roll(-k - 1, dims=0)).sum(dim=-1)[: len(pe) - k]


@mistake(
    says="relative_similarity gives its numbers in reverse order.",
    look="Which pair of rows does the first number belong to?",
)
def reversed_order(pe, k):
    return products_not_summed(pe, k).sum(dim=-1).flip(0)


@mistake(
    says="relative_similarity gives all dot products, (T, T), instead of those k apart.",
    look="Which entries of the T × T matrix are k apart?",
)
def all_pairs(pe, k):
    _check_distance(pe, k)
    return pe @ pe.T


@mistake(
    says="relative_similarity multiplies every row with every other, (T - k, T - k).",
    look="How many numbers should come back, and which entries of your matrix are they?",
)
def all_pairs_of_the_two_slices(pe, k):
    _check_distance(pe, k)
    return pe[: len(pe) - k] @ pe[k:].T


@mistake(
    says="relative_similarity multiplies every row with every other, (T - k, T - k).",
    look="How many numbers should come back, and which entries of your matrix are they?",
)
def all_pairs_of_slices_counted_from_the_end(pe, k):
    _check_distance(pe, k)
    return pe[:-k] @ pe[k:].T


@mistake(
    says="relative_similarity gives a column, (T - k, 1).",
    look="Print the shape of the result.",
)
def gives_a_column(pe, k):
    return products_not_summed(pe, k).sum(dim=-1, keepdim=True)


@mistake(
    says="relative_similarity scales by √C, as attention does.",
    look="Does the definition contain a scale?",
)
def scaled_similarity(pe, k):
    return products_not_summed(pe, k).sum(dim=-1) / pe.shape[-1] ** 0.5


@mistake(
    says="relative_similarity gives distances instead of dot products.",
    look="What is a dot product?",
)
def distances(pe, k):
    _check_distance(pe, k)
    return (pe[: len(pe) - k] - pe[k:]).norm(dim=-1)


@mistake(
    says="relative_similarity cuts one of the two rows off from the gradient.",
    look="Does each row learn from both of its partners?",
)
def half_detached(pe, k):
    _check_distance(pe, k)
    return (pe[: len(pe) - k].detach() * pe[k:]).sum(dim=-1)


@mistake(
    says="relative_similarity collects Python numbers, which carry no gradient.",
    look="What does `.item()` do to training?",
)
def collects_numbers(pe, k):
    _check_distance(pe, k)
    numbers = [torch.dot(pe[p], pe[p + k]).item() for p in range(len(pe) - k)]
    return torch.tensor(numbers, dtype=pe.dtype, device=pe.device)


@mistake(
    says="relative_similarity answers in float32, whatever the table is kept in.",
    look="Which dtype has the result for a float64 table?",
)
def float32_similarity(pe, k):
    return products_not_summed(pe, k).sum(dim=-1).float()


@mistake(
    says="relative_similarity lets k = T through and gives an empty result.",
    look="How far apart can two of T rows be at most?",
)
def distance_t_passes(pe, k):
    if not 0 <= k <= len(pe):
        raise ValueError(f"k must lie in 0..{len(pe)}; got {k}")
    return (pe[: len(pe) - k] * pe[k:]).sum(dim=-1)


@mistake(
    says="relative_similarity takes a negative k for its absolute value.",
    look="Which k does the contract allow?",
)
def negative_distance_passes(pe, k):
    return products_not_summed(pe, abs(k)).sum(dim=-1)


@mistake(
    says="relative_similarity refuses the largest distance, T - 1.",
    look="How far apart are the first and the last of T rows?",
)
def largest_distance_refused(pe, k):
    if not 0 <= k < max(len(pe) - 1, 1):
        raise ValueError(f"k must be below {len(pe) - 1}; got {k}")
    return (pe[: len(pe) - k] * pe[k:]).sum(dim=-1)


@mistake(
    says="relative_similarity refuses k without naming the rule in words and the k it got.",
    look="What would you want to read in the message?",
)
def message_without_k(pe, k):
    if not 0 <= k < len(pe):
        raise ValueError("there are no rows so far apart")
    return (pe[: len(pe) - k] * pe[k:]).sum(dim=-1)


@mistake(
    says="relative_similarity raises IndexError where ValueError is promised.",
    look="Which exception does the contract name?",
)
def index_error_for_k(pe, k):
    if not 0 <= k < len(pe):
        raise IndexError(f"k must lie in 0..{len(pe) - 1}; got {k}")
    return (pe[: len(pe) - k] * pe[k:]).sum(dim=-1)


@alternative
def diagonal_of_all_pairs(pe, k):
    _check_distance(pe, k)
    return (pe @ pe.mT).diagonal(k)


@alternative
def by_einsum(pe, k):
    _check_distance(pe, k)
    return torch.einsum("tc,tc->t", pe[k:], pe.narrow(0, 0, len(pe) - k))


@alternative
def row_by_row(pe, k):
    if k < 0 or k >= pe.size(0):
        raise ValueError(f"no two of {pe.size(0)} rows are {k} apart")
    return torch.stack([pe[p].dot(pe[p + k]) for p in range(pe.size(0) - k)])


@alternative
def batched_in_float64(pe, k):
    _check_distance(pe, k)
    left, right = pe[: len(pe) - k, None].double(), pe[k:, :, None].double()
    return torch.bmm(left, right).view(-1).to(pe.dtype)


@alternative
def rolled_and_cut(pe, k):
    _check_distance(pe, k)
    return torch.sum(pe * torch.roll(pe, -k, 0), 1)[: pe.shape[0] - k]


@alternative
def gathered_rows(pe, k):
    _check_distance(pe, k)
    p = torch.arange(len(pe) - k, device=pe.device)
    return torch.linalg.vecdot(pe.index_select(0, p), pe.index_select(0, p + k))
