"""Lesson 5: known mistakes and legitimate alternatives."""

import functools
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from course.mistakes import entries
from solutions.rope import apply_rope, rope_tables, rotate_half


def _refuse_odd(head_dim):
    if head_dim % 2:
        raise ValueError(f"head_dim must be even, so that features pair up; got {head_dim}")


def _tables(positions, rates):
    """(cos, sin) of all angles, repeated for both halves."""
    angles = torch.outer(positions, rates).repeat(1, 2)
    return angles.cos().float(), angles.sin().float()


def _right_rates(head_dim, base):
    return base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


def _positions(seq_len):
    return torch.arange(seq_len, dtype=torch.float64)


mistake, alternative, error = entries("rope_tables")

mistake(
    {"torch.arange(0, head_dim, 2,": "torch.arange(head_dim // 2,"},
    says="rope_tables uses the exponent -i / D, so every pair but the first turns too fast.",
    look="Pair i stands for two features. What does that make of i in the exponent?",
    common=True,
)
mistake(
    {
        "torch.arange(0, head_dim, 2,": "2 * torch.arange(head_dim,",
        "    angles = torch.cat((angles, angles), dim=-1)": "",
    },
    says="rope_tables gives each feature a rate of its own, instead of each pair.",
    look="How many rates are there for D = 4? Which two columns share one?",
)
mistake(
    {"(-even_numbers / head_dim)": "(-even_numbers / max(head_dim - 2, 1))"},
    says="rope_tables spreads the rates from 1 down to 1 / base, so that they end too low.",
    look="Compute the last rate for D = 4 on paper. Is it 1 / base?",
)
mistake(
    {"(-even_numbers": "(even_numbers"},
    says="rope_tables lets the rates grow from pair to pair instead of falling.",
    look="Which sign does the exponent have? The first pair is the fastest.",
)
mistake(
    {"base ** (": "10000.0 ** ("},
    says="rope_tables computes with 10000, whatever `base` it is given.",
    look="Where in the formula does the argument `base` occur?",
    common=True,
)
mistake(
    {"base: float = 10000.0": "base: float = 1000.0"},
    says="rope_tables uses 1000 for base when none is given.",
    look="Read the default of base in the signature.",
)
mistake(
    {"torch.cat((angles, angles), dim=-1)": "angles.repeat_interleave(2, dim=-1)"},
    says="rope_tables puts the same angle into neighboring columns, as interleaved pairs need it.",
    look="Which two columns belong to pair 0 in split halves?",
    common=True,
)
mistake(
    {"    angles = torch.cat((angles, angles), dim=-1)": ""},
    says="rope_tables returns one column per pair, D/2, instead of one per feature.",
    look="How many columns must a table have to be multiplied with x?",
    common=True,
)
mistake(
    {"angles.cos().float(), angles.sin().float()": "angles.sin().float(), angles.cos().float()"},
    says="rope_tables returns the sines first and the cosines second.",
    look="What is the order of the two tables in the docstring?",
)
mistake(
    {"torch.arange(seq_len,": "torch.arange(1, seq_len + 1,"},
    says="rope_tables counts positions from 1, so that its first row already turns.",
    look="What is the angle at the first position?",
)
mistake(
    {"torch.outer(positions,": "torch.outer(positions / max(seq_len, 1),"},
    says="rope_tables stretches the positions to 0..1, so that angles depend on the length.",
    look="Is row 3 the same in a table of 10 rows and in one of 100?",
)
mistake(
    {"torch.outer(positions,": "torch.outer(positions.clamp(max=2047),"},
    says="rope_tables stops counting at position 2047; later rows repeat it.",
    look="Which row comes after row 2047?",
)
mistake(
    {"torch.outer(positions,": "torch.outer(positions.bfloat16().double(),"},
    says="rope_tables counts positions in bfloat16, which cannot tell 257 from 256.",
    look="In which dtype are the angles formed? How many digits does it keep?",
)
mistake(
    {"base ** (-even_numbers / head_dim)": "(base ** (-even_numbers / head_dim)).half().double()"},
    says="rope_tables rounds its rates to float16, so that far positions are turned wrongly.",
    look="In which dtype are the rates formed? What becomes of a small error 4,000 positions on?",
)
mistake(
    {"-even_numbers / head_dim": "-(even_numbers // head_dim)"},
    says="rope_tables divides whole numbers in its exponent, which leaves only 0.",
    look="What is 2 // 64? What is 2 / 64?",
)
mistake(
    {"torch.outer(positions,": "torch.outer(positions * 2 * math.pi,"},
    says="rope_tables reads the angles as turns, so that position 1 makes a whole one.",
    look="cos and sin take radians. Where does the factor 2 pi come from?",
)
mistake(
    {"angles.cos().float(), angles.sin().float()": "angles.cos(), angles.sin()"},
    says="rope_tables returns float64, which widens every float32 query it meets.",
    look="Which dtype should the tables have when they leave?",
)
mistake(
    {"if head_dim % 2:": "if False:"},
    {"    if head_dim % 2:": "    head_dim -= head_dim % 2\n    if False:"},
    says="rope_tables accepts an odd width.",
    look="What should happen for head_dim = 5?",
)


_kept = {}


@mistake(
    says="rope_tables keeps its tables by length and width, and forgets that base matters too.",
    look="Call it with two bases, one after the other. What is the key of the cache?",
    forget=_kept.clear,
)
def cache_without_the_base(seq_len, head_dim, base=10000.0):
    if (seq_len, head_dim) not in _kept:
        _kept[seq_len, head_dim] = rope_tables(seq_len, head_dim, base)
    return _kept[seq_len, head_dim]


@alternative
def all_in_float32(seq_len, head_dim, base=10000.0):
    _refuse_odd(head_dim)
    rates = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
    angles = torch.einsum("t,d->td", torch.arange(seq_len).float(), rates)
    return torch.cat((angles, angles), dim=-1).cos(), torch.cat((angles, angles), dim=-1).sin()


@alternative
def rates_by_exponential_in_float32(seq_len, head_dim, base=10000.0):
    _refuse_odd(head_dim)
    rates = torch.exp(torch.arange(0, head_dim, 2) * (-math.log(base) / head_dim))
    angles = (torch.arange(seq_len)[:, None] * rates).tile(2)
    return [torch.cos(angles), torch.sin(angles)]


@alternative
def plain_python(seq_len, head_dim, base=10000.0):
    _refuse_odd(head_dim)
    angles = [
        [m * base ** (-2 * (j % (head_dim // 2)) / head_dim) for j in range(head_dim)]
        for m in range(seq_len)
    ]
    cos = [[math.cos(angle) for angle in row] for row in angles]
    sin = [[math.sin(angle) for angle in row] for row in angles]
    return torch.tensor(cos), torch.tensor(sin)


@alternative
def numpy_inside(seq_len, head_dim, base=10000.0):
    _refuse_odd(head_dim)
    angles = np.outer(np.arange(seq_len), base ** (-np.arange(0, head_dim, 2) / head_dim))
    angles = np.hstack((angles, angles))
    return torch.from_numpy(np.cos(angles)).float(), torch.from_numpy(np.sin(angles)).float()


@alternative
def complex_numbers(seq_len, head_dim, base=10000.0):
    _refuse_odd(head_dim)
    angles = torch.outer(_positions(seq_len), _right_rates(head_dim, base))
    turns = torch.polar(torch.ones_like(angles), angles).repeat(1, 2)
    return turns.real.float(), turns.imag.float()


@alternative
@functools.cache
def cache_with_every_argument(seq_len, head_dim, base=10000.0):
    return rope_tables(seq_len, head_dim, base)


@alternative
def widened_without_a_copy(seq_len, head_dim, base=10000.0):
    _refuse_odd(head_dim)
    angles = torch.outer(_positions(seq_len), _right_rates(head_dim, base)).float()
    wide = angles[:, None, :].expand(-1, 2, -1).flatten(1)
    return torch.stack((wide.cos(), wide.sin())).unbind(0)


mistake, alternative, error = entries("rotate_half")


@mistake(
    says="rotate_half negates the first half instead of the second: it turns backwards.",
    look="Which half of the result carries the minus sign?",
    common=True,
)
def minus_on_the_wrong_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x2, -x1), dim=-1)


@mistake(
    says="rotate_half swaps the halves without a minus sign, which mirrors instead of turning.",
    look="Where does the point (3, 4) go in a quarter turn?",
    common=True,
)
def swap_without_a_sign(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x2, x1), dim=-1)


@mistake(
    says="rotate_half negates both halves.",
    look="How many minus signs does a quarter turn have?",
)
def two_minus_signs(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, -x1), dim=-1)


@mistake(
    says="rotate_half negates the second half and leaves both where they are.",
    look="In which half of the result does x1 stand?",
)
def halves_not_swapped(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((x1, -x2), dim=-1)


@mistake(
    says="rotate_half negates the first half and leaves both where they are.",
    look="In which half of the result does x1 stand?",
)
def first_half_negated_only(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x1, x2), dim=-1)


@mistake(
    says="rotate_half pairs neighbors, features 2i and 2i + 1, instead of i and D/2 + i.",
    look="Which feature is the partner of feature 0 in this course?",
    common=True,
)
def neighbors_as_pairs(x):
    return torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)


@mistake(
    says="rotate_half splits even from odd features instead of first from second half.",
    look="What are x1 and x2 for four features?",
)
def even_and_odd_as_halves(x):
    return torch.cat((-x[..., 1::2], x[..., 0::2]), dim=-1)


@mistake(
    says="rotate_half mirrors the order of the features, so the pairs are first and last.",
    look="Is the order within a half kept?",
)
def mirrored_features(x):
    signs = torch.ones_like(x)
    signs[..., : x.shape[-1] // 2] = -1
    return x.flip(-1) * signs


@mistake(
    says="rotate_half splits the first axis instead of the last.",
    look="Along which axis do the features lie?",
)
def first_axis_halved(x):
    x1, x2 = x.tensor_split(2, dim=0)
    return torch.cat((-x2, x1), dim=0)


@mistake(
    says="rotate_half splits the first axis instead of the last.",
    look="Along which axis do the features lie?",
)
def first_axis_chunked(x):
    x1, x2 = x.chunk(2)
    return torch.cat((-x2, x1))


@mistake(
    says="rotate_half splits the first axis instead of the last.",
    look="Along which axis do the features lie?",
)
def first_axis_chunked_and_the_last_joined(x):
    x1, x2 = x.chunk(2)
    return torch.cat((-x2, x1), dim=-1)


@mistake(
    says="rotate_half splits the first axis instead of the last.",
    look="Along which axis do the features lie?",
)
def first_axis_sliced(x):
    half = len(x) // 2
    return torch.cat((-x[half:], x[:half]))


@mistake(
    says="rotate_half splits the first axis instead of the last.",
    look="Along which axis do the features lie?",
)
def first_axis_sliced_by_half_the_width(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[half:], x[:half]), dim=-1)


@mistake(
    says="rotate_half joins its halves along the first axis instead of the last.",
    look="Along which axis does `torch.cat` join if nothing is said?",
)
def joined_along_the_first_axis(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1))


@mistake(
    says="rotate_half joins its halves along the first axis instead of the last.",
    look="Along which axis does `torch.cat` join if nothing is said?",
)
def slices_joined_along_the_first_axis(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]))


@mistake(
    says="rotate_half is right for four features only.",
    look="Where does the second half begin for a width of 6?",
)
def halves_of_two(x):
    return torch.cat((-x[..., 2:], x[..., :2]), dim=-1)


@mistake(
    says="rotate_half returns float32, also for a float64 or bfloat16 x.",
    look="Which dtype does the result have for a bfloat16 or a float64 x?",
)
def always_float32(x):
    x1, x2 = x.float().chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


@mistake(
    says="rotate_half writes its result into x, which the caller still needs.",
    look="Which line changes x itself?",
)
def written_into_x(x):
    x1, x2 = x.chunk(2, dim=-1)
    return x.copy_(torch.cat((-x2, x1), dim=-1))


@mistake(
    says="rotate_half cuts the result off from x, so that no gradient reaches the queries.",
    look="What do detach(), .data and no_grad do to a gradient?",
)
def detached_quarter_turn(x):
    x1, x2 = x.detach().chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


@mistake(
    says="rotate_half fills a tensor on the CPU, wherever x is.",
    look="On which device does a new tensor lie if nothing is said?",
)
def filled_on_the_cpu(x):
    half = x.shape[-1] // 2
    result = torch.zeros(x.shape, dtype=x.dtype)
    result[..., :half], result[..., half:] = -x[..., half:], x[..., :half]
    return result


@mistake(
    says="rotate_half reads x in the order of memory, which fails for a transposed x.",
    look="What does view need that reshape does not?",
)
def view_as_rows(x):
    x1, x2 = x.view(-1, x.shape[-1]).chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1).view(x.shape)


@alternative
def rolled_by_half(x):
    half = x.shape[-1] // 2
    signs = torch.ones_like(x)
    signs[..., :half] = -1
    return x.roll(half, dims=-1) * signs


@alternative
def slices(x):
    half = x.shape[-1] // 2
    return torch.cat([x[..., half:].neg(), x[..., :half]], -1)


@alternative
def times_a_matrix(x):
    half = x.shape[-1] // 2
    one = torch.eye(half, dtype=x.dtype, device=x.device)
    zero = torch.zeros_like(one)
    return x @ torch.cat((torch.cat((zero, one), 1), torch.cat((-one, zero), 1)))


@alternative
def times_the_imaginary_unit(x):
    wide = x.double()
    x1, x2 = wide.tensor_split(2, dim=-1)
    turned = torch.complex(x1, x2) * 1j
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


class _NumpyTurn(torch.autograd.Function):
    """A quarter turn with a backward pass of its own, which is the turn back."""

    @staticmethod
    def forward(ctx, x):
        first, second = np.split(x.detach().double().cpu().numpy(), 2, axis=-1)
        return torch.from_numpy(np.concatenate((-second, first), axis=-1)).to(x)

    @staticmethod
    def backward(ctx, upstream):
        return -_NumpyTurn.forward(ctx, upstream)


@alternative
def numpy_with_its_own_backward(x):
    return _NumpyTurn.apply(x)


@alternative
def picked_by_an_index_on_the_cpu(x):  # which may be there for an x on any device
    half = x.shape[-1] // 2
    turned = x[..., (torch.arange(2 * half) + half) % (2 * half)]
    turned[..., :half] *= -1
    return turned


@alternative
def written_into_a_new_tensor(x):
    half = x.shape[-1] // 2
    result = torch.empty_like(x)
    result[..., :half] = -x[..., half:]
    result[..., half:] = x[..., :half]
    return result


@alternative
def column_by_column(x):
    columns = list(x.unbind(-1))
    half = len(columns) // 2
    return torch.stack([-c for c in columns[half:]] + columns[:half], dim=-1)


@alternative
def picked_by_index(x):
    half = x.shape[-1] // 2
    order = [*range(half, 2 * half), *range(half)]
    signs = torch.tensor([-1] * half + [1] * half, dtype=x.dtype, device=x.device)
    return x[..., order] * signs


mistake, alternative, error = entries("apply_rope")


@mistake(
    says="apply_rope turns backwards: it subtracts the sine term.",
    look="Which sign stands between the two products?",
)
def turned_backwards(x, cos, sin):
    return (x * cos - rotate_half(x) * sin).to(x.dtype)


@mistake(
    says="apply_rope multiplies x with the sines, not x after a quarter turn.",
    look="Which of the two products needs the partner of each feature?",
    common=True,
)
def no_quarter_turn(x, cos, sin):
    return (x * cos + x * sin).to(x.dtype)


@mistake(
    says="apply_rope uses the cosines where the sines belong and the other way round.",
    look="What should remain of x at position 0, where cos = 1 and sin = 0?",
)
def cos_and_sin_swapped(x, cos, sin):
    return (x * sin + rotate_half(x) * cos).to(x.dtype)


@mistake(
    says="apply_rope lets float32 tables widen a bfloat16 x, and the result comes out float32.",
    look="Which dtype has bfloat16 times float32? Which dtype should come back?",
    common=True,
)
def widened_by_the_tables(x, cos, sin):
    return x * cos + rotate_half(x) * sin


@mistake(
    says="apply_rope returns the dtype of the tables, so that float64 and bfloat16 are lost.",
    look="Whose dtype decides: that of x or that of the tables?",
)
def dtype_of_the_tables(x, cos, sin):
    return (x * cos + rotate_half(x) * sin).to(cos.dtype)


@mistake(
    says="apply_rope turns neighbors, features 2i and 2i + 1, with tables for split halves.",
    look="Which column of the table belongs to feature 1?",
    common=True,
)
def neighbors_turned(x, cos, sin):
    partner = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return (x * cos + partner * sin).to(x.dtype)


@mistake(
    says="apply_rope overwrites the first half before the second half has used it.",
    look="Which x1 does the second line see, the old one or the new one?",
)
def second_half_from_the_turned_first(x, cos, sin):
    half = x.shape[-1] // 2
    x1, x2, cos, sin = x[..., :half], x[..., half:], cos[:, :half], sin[:, :half]
    x1 = x1 * cos - x2 * sin
    x2 = x1 * sin + x2 * cos
    return torch.cat((x1, x2), dim=-1).to(x.dtype)


@mistake(
    says="apply_rope turns only the first half of the features.",
    look="How many of the D features does the result change?",
)
def only_the_first_half_turned(x, cos, sin):
    half = x.shape[-1] // 2
    whole = (x * cos + rotate_half(x) * sin).to(x.dtype)
    return torch.cat((whole[..., :half], x[..., half:]), dim=-1)


@mistake(
    says="apply_rope takes the second axis for the positions, which fits (B, T, H, D) only.",
    look="Where do the positions stand in (B, H, T, D)?",
    common=True,
)
def second_axis_as_positions(x, cos, sin):
    if x.ndim == 4:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


@mistake(
    says="apply_rope adds a heads axis to the tables, so that equal B and T change places.",
    look="What is the shape of cos[:, None]? Against which axes of x does it stand?",
)
def axis_inserted_when_it_fits(x, cos, sin):
    if x.ndim >= 3 and x.shape[-3] == x.shape[-2]:
        cos, sin = cos[:, None], sin[:, None]
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


@mistake(
    says="apply_rope works for exactly four axes, (B, H, T, D).",
    look="What happens for an x of shape (T, D)?",
)
def four_axes_only(x, cos, sin):
    batch, heads, _, _ = x.shape
    cos, sin = cos.expand(batch, heads, -1, -1), sin.expand(batch, heads, -1, -1)
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


@mistake(
    says="apply_rope turns every token by the first row of the tables.",
    look="Which row of the tables belongs to which token?",
)
def one_angle_for_all(x, cos, sin):
    return (x * cos[:1] + rotate_half(x) * sin[:1]).to(x.dtype)


@mistake(
    says="apply_rope turns every pair by the angle of the first pair.",
    look="Does each pair have a column of its own?",
)
def one_rate_for_all(x, cos, sin):
    return (x * cos[:, :1] + rotate_half(x) * sin[:, :1]).to(x.dtype)


@mistake(
    says="apply_rope forms the quarter turn after the cosines were multiplied in.",
    look="Of what is rotate_half taken: of x or of x * cos?",
)
def quarter_turn_of_the_product(x, cos, sin):
    x_cos = x * cos
    return (x_cos + rotate_half(x_cos) * sin).to(x.dtype)


@mistake(
    says="apply_rope adds the turned x to x, as one adds a position embedding.",
    look="Is RoPE a sum or a turn? What happens to the length of a vector?",
)
def added_instead_of_turned(x, cos, sin):
    return (x + x * cos + rotate_half(x) * sin).to(x.dtype)


@mistake(
    says="apply_rope multiplies into x itself, which the caller still needs.",
    look="Which operation ends in an underscore or in *=?",
)
def multiplied_in_place(x, cos, sin):
    turned = rotate_half(x) * sin
    x *= cos.to(x.dtype)
    return (x + turned).to(x.dtype)


@mistake(
    says="apply_rope is computed under no_grad, so that no gradient reaches the queries.",
    look="The tables need no gradient. Does x?",
)
@torch.no_grad()
def without_a_gradient(x, cos, sin):
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


@mistake(
    says="apply_rope lets the gradient through the cosines only.",
    look="Which of the two products is detached from x?",
)
def quarter_turn_detached(x, cos, sin):
    return (x * cos + rotate_half(x.detach()) * sin).to(x.dtype)


@mistake(
    says="apply_rope reads x in the order of memory, which fails for transposed heads.",
    look="What does view need that reshape does not?",
)
def view_as_batch(x, cos, sin):
    flat = x.view(-1, *x.shape[-2:])
    return (flat * cos + rotate_half(flat) * sin).to(x.dtype).view(x.shape)


@alternative
def half_by_half(x, cos, sin):
    half = x.shape[-1] // 2
    cos, sin = cos[:, :half], sin[:, :half]
    x1, x2 = x.split(half, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).type_as(x)


@alternative
def always_in_float32(x, cos, sin):
    x1, x2 = x.float().chunk(2, dim=-1)
    partner = torch.cat((-x2, x1), dim=-1)
    return (x.float() * cos.float() + partner * sin.float()).type_as(x)


@alternative
def tables_in_the_dtype_of_x(x, cos, sin):
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    x1, x2 = x.tensor_split(2, dim=-1)
    return x * cos + torch.cat((-x2, x1), dim=-1) * sin


@alternative
def product_of_complex_numbers(x, cos, sin):
    x1, x2 = x.double().chunk(2, dim=-1)
    half = x.shape[-1] // 2
    turns = torch.complex(cos[:, :half].double(), sin[:, :half].double())
    points = torch.complex(x1, x2) * turns
    return torch.cat((points.real, points.imag), dim=-1).to(x.dtype)


@alternative
def rotation_matrices(x, cos, sin):
    half = x.shape[-1] // 2
    c, s = cos[:, :half].to(x.dtype), sin[:, :half].to(x.dtype)
    turns = torch.stack((torch.stack((c, -s), -1), torch.stack((s, c), -1)), -2)  # (T, D/2, 2, 2)
    points = x.unflatten(-1, (2, half))
    return torch.einsum("tpij,...tjp->...tip", turns, points).flatten(-2)


@alternative
def position_by_position(x, cos, sin):
    rows = []
    for t, row in enumerate(x.unbind(-2)):
        x1, x2 = row.chunk(2, dim=-1)
        rows.append(row * cos[t] + torch.cat((-x2, x1), dim=-1) * sin[t])
    return torch.stack(rows, dim=-2).to(x.dtype)


@alternative
def nothing_to_do_where_all_angles_are_0(x, cos, sin):
    if bool((sin == 0).all() and (cos == 1).all()):
        return x.clone()
    return (x * cos + rotate_half(x) * sin).to(x.dtype)


@alternative
def fused_multiply_and_add(x, cos, sin):
    half = x.shape[-1] // 2
    partner = x.roll(half, dims=-1) * torch.where(torch.arange(2 * half) < half, -1, 1).to(x.device)
    cos, sin = (table.to(x.dtype).expand_as(x) for table in (cos, sin))
    return torch.addcmul(x * cos, partner, sin)


class _Rotary(nn.Module):
    """A right module in small parts; each mistake replaces one of them."""

    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__()
        self.max_seq_len, self.head_dim, self.base = max_seq_len, head_dim, base
        self.keep(*rope_tables(max_seq_len, head_dim, base))

    def keep(self, cos, sin):
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def check(self, x, offset):
        self.check_width(x)
        self.check_offset(offset)
        self.check_end(offset + x.shape[-2])

    def check_width(self, x):
        if x.shape[-1] != self.head_dim:
            raise ValueError(f"x must have {self.head_dim} features; got {x.shape[-1]}")

    def check_offset(self, offset):
        if offset < 0:
            raise ValueError(f"offset must be 0 or more; got {offset}")

    def check_end(self, end):
        if end > self.max_seq_len:
            raise ValueError(f"offset + T must be at most {self.max_seq_len}; got {end}")

    def rows(self, x, offset):
        return slice(offset, offset + x.shape[-2])

    def turn(self, x, rows):
        return apply_rope(x, self.cos[rows], self.sin[rows])

    def forward(self, x, offset=0):
        self.check(x, offset)
        return self.turn(x, self.rows(x, offset))


mistake, alternative, error = entries("RotaryEmbedding")


@mistake(
    says="RotaryEmbedding ignores `offset`: a token from the cache stands at position 0 again.",
    look="Which rows of the tables belong to positions `offset` to `offset + T - 1`?",
    common=True,
)
class offset_ignored(_Rotary):
    def rows(self, x, offset):
        return slice(0, x.shape[-2])


@mistake(
    says="RotaryEmbedding starts one position too late, at offset + 1.",
    look="At which position does the first token of a prompt stand?",
)
class offset_plus_one(_Rotary):
    def rows(self, x, offset):
        rows = torch.arange(offset + 1, offset + 1 + x.shape[-2], device=x.device)
        return rows.clamp(max=self.max_seq_len - 1)


@mistake(
    says="RotaryEmbedding takes offset for the last position instead of the first.",
    look="With T = 3 and offset = 5: which three positions are meant?",
)
class offset_as_the_end(_Rotary):
    def rows(self, x, offset):
        return (torch.arange(x.shape[-2]) + offset - (x.shape[-2] - 1) * (offset > 0)).clamp(min=0)


@mistake(
    says="RotaryEmbedding takes the rows up to T: it is right for offset 0 only.",
    look="At which row do T rows end that begin at `offset`?",
)
class rows_end_at_the_length(_Rotary):
    def rows(self, x, offset):
        return slice(offset, x.shape[-2])


@mistake(
    says="RotaryEmbedding takes all rows from `offset` on, however many tokens there are.",
    look="How many rows of the tables do T tokens need?",
)
class rows_to_the_end_of_the_table(_Rotary):
    def rows(self, x, offset):
        return slice(offset, None)


@mistake(
    says="RotaryEmbedding takes its whole tables, however many tokens there are.",
    look="How many rows of the tables do T tokens need, and from where on?",
)
class whole_tables(_Rotary):
    def rows(self, x, offset):
        return slice(None)


@mistake(
    says="RotaryEmbedding remembers the offset of earlier calls and adds it to the next one.",
    look="What does the module keep between two calls?",
)
class offset_remembered(_Rotary):
    so_far = 0

    def rows(self, x, offset):
        self.so_far = max(self.so_far, offset)
        return slice(self.so_far, self.so_far + x.shape[-2])


@mistake(
    says="RotaryEmbedding gives all tokens of a call the same position, offset.",
    look="Do two tokens of one call stand at the same place?",
)
class one_position_for_all(_Rotary):
    def rows(self, x, offset):
        return slice(offset, offset + 1)


@mistake(
    says="RotaryEmbedding does not check the end, so that slicing quietly runs short of rows.",
    look="How many rows has table[7:9] if the table has 8?",
)
class end_not_checked(_Rotary):
    def check_end(self, end):
        pass


@mistake(
    says="RotaryEmbedding compares T alone with max_seq_len, and forgets the offset.",
    look="Where does the last token stand if the first stands at offset?",
)
class offset_left_out_of_the_check(_Rotary):
    def check(self, x, offset):
        self.check_width(x)
        self.check_offset(offset)
        self.check_end(x.shape[-2])


@mistake(
    says="RotaryEmbedding refuses the last position that its tables hold.",
    look="May offset + T be equal to max_seq_len? Which position is then the last?",
)
class last_position_refused(_Rotary):
    def check_end(self, end):
        super().check_end(end + 1)


@mistake(
    says="RotaryEmbedding accepts a position that its tables do not hold.",
    look="Which row number is the last one in the tables?",
)
class one_position_too_many(_Rotary):
    def check_end(self, end):
        super().check_end(end - 1)

    def rows(self, x, offset):
        rows = torch.arange(offset, offset + x.shape[-2], device=x.device)
        return rows.clamp(max=self.max_seq_len - 1)


@mistake(
    says="RotaryEmbedding accepts a position that its tables do not hold.",
    look="Which row number is the last one in the tables?",
)
class late_positions_clamped(_Rotary):
    def check_end(self, end):
        pass

    def rows(self, x, offset):
        rows = torch.arange(offset, offset + x.shape[-2], device=x.device)
        return rows.clamp(max=self.max_seq_len - 1)


@mistake(
    says="RotaryEmbedding begins again at position 0 when its tables end.",
    look="What should happen to a text that is too long?",
)
class late_positions_wrapped(_Rotary):
    def check_end(self, end):
        pass

    def rows(self, x, offset):
        return torch.arange(offset, offset + x.shape[-2], device=x.device) % self.max_seq_len


@mistake(
    says="RotaryEmbedding accepts a negative offset, which Python counts from the end.",
    look="What is table[-3:-1]? What should a position of -3 mean?",
)
class negative_offset_accepted(_Rotary):
    def check_offset(self, offset):
        pass


@mistake(
    says="RotaryEmbedding does not check the width of x, and leaves the error to the broadcast.",
    look="Which error does an x of another width raise? Which should it be?",
)
class width_not_checked(_Rotary):
    def check_width(self, x):
        pass


@mistake(
    says="RotaryEmbedding refuses wider heads only, and turns narrower ones with foreign rates.",
    look="The rates depend on D. Are the first columns right for a smaller D?",
)
class narrower_heads_accepted(_Rotary):
    def check_width(self, x):
        if x.shape[-1] > self.head_dim:
            super().check_width(x)

    def turn(self, x, rows):
        width = x.shape[-1]
        return apply_rope(x, self.cos[rows, :width], self.sin[rows, :width])


@mistake(
    says="RotaryEmbedding makes its tables parameters, although nothing in them is to be learned.",
    look="Which of a module's tensors does an optimizer get? What else moves with .to(...)?",
    common=True,
)
class tables_as_parameters(_Rotary):
    def keep(self, cos, sin):
        self.cos, self.sin = nn.Parameter(cos), nn.Parameter(sin)


@mistake(
    says="RotaryEmbedding makes its tables parameters, although nothing in them is to be learned.",
    look="Which of a module's tensors does an optimizer get? What else moves with .to(...)?",
)
class tables_as_frozen_parameters(_Rotary):
    def keep(self, cos, sin):
        self.cos = nn.Parameter(cos, requires_grad=False)
        self.sin = nn.Parameter(sin, requires_grad=False)


@mistake(
    says="RotaryEmbedding keeps its tables as plain attributes, which `.to(...)` leaves behind.",
    look="How does a module learn that a tensor belongs to it?",
    common=True,
)
class tables_as_plain_attributes(_Rotary):
    def keep(self, cos, sin):
        self.cos, self.sin = cos, sin


@mistake(
    says="RotaryEmbedding copies its tables to the device anew in every call.",
    look="How does a module learn that a tensor belongs to it?",
)
class tables_moved_in_every_call(_Rotary):
    def keep(self, cos, sin):
        self.cos, self.sin = cos, sin

    def turn(self, x, rows):
        return apply_rope(x, self.cos[rows].to(x), self.sin[rows].to(x))


@mistake(
    says="RotaryEmbedding registers only one of its two tables; the other stays behind.",
    look="Are both tables among the buffers?",
)
class one_table_registered(_Rotary):
    def keep(self, cos, sin):
        self.cos = cos
        self.register_buffer("sin", sin)


@alternative
class complex_buffer(_Rotary):
    def keep(self, cos, sin):
        self.register_buffer("turns", torch.complex(cos, sin))

    def turn(self, x, rows):
        return apply_rope(x, self.turns[rows].real, self.turns[rows].imag)


@mistake(
    says="RotaryEmbedding ignores `base` and always computes with 10000.",
    look="Where does the argument `base` go?",
    common=True,
)
class base_not_passed_on(_Rotary):
    def __init__(self, max_seq_len, head_dim, base=10000.0):
        super().__init__(max_seq_len, head_dim)


_tables_by_shape = {}


@mistake(
    says="RotaryEmbedding shares its tables between modules of equal size, whatever their base.",
    look="Make two modules with different bases. What is the key of the cache?",
    forget=_tables_by_shape.clear,
)
class tables_shared_without_the_base(_Rotary):
    def keep(self, cos, sin):
        super().keep(*_tables_by_shape.setdefault(cos.shape, (cos, sin)))


@mistake(
    says="RotaryEmbedding keeps its tables on the class, where each new module replaces them.",
    look="Make two modules and call the first. Whose tables does it use?",
)
class tables_of_the_latest_module(_Rotary):
    def keep(self, cos, sin):
        super().keep(cos, sin)
        type(self).latest = cos, sin

    def turn(self, x, rows):
        cos, sin = (table.to(x.device) for table in self.latest)
        return apply_rope(x, cos[rows], sin[rows])


@mistake(
    says="RotaryEmbedding keeps the rows of an earlier call, in the dtype of that call.",
    look="Call it with bfloat16, then with float32. Which rows does the second call use?",
)
class rows_of_an_earlier_call(_Rotary):
    def turn(self, x, rows):
        kept = self.__dict__.setdefault("kept", {})
        place = rows.start, rows.stop
        if place not in kept:
            kept[place] = self.cos[rows].to(x.dtype), self.sin[rows].to(x.dtype)
        return apply_rope(x, *kept[place])


@mistake(
    says="RotaryEmbedding lets its float32 tables widen a bfloat16 x.",
    look="Which dtype has bfloat16 times float32? Which dtype should come back?",
)
class dtype_widened(_Rotary):
    def turn(self, x, rows):
        return x * self.cos[rows] + rotate_half(x) * self.sin[rows]


@mistake(
    says="RotaryEmbedding returns float32, also for a float64 or bfloat16 x.",
    look="Whose dtype should the result have?",
)
class float32_returned(_Rotary):
    def turn(self, x, rows):
        return super().turn(x, rows).float()


@mistake(
    says="RotaryEmbedding computes its angles in the dtype of x, which is too coarse in bfloat16.",
    look="Which positions can bfloat16 tell apart around 1000?",
)
class angles_in_the_dtype_of_x(_Rotary):
    def turn(self, x, rows):
        positions = torch.arange(rows.start, rows.stop, dtype=x.dtype, device=x.device)
        rates = _right_rates(self.head_dim, self.base).to(x)
        angles = torch.outer(positions, rates).repeat(1, 2)
        return apply_rope(x, angles.cos(), angles.sin())


@mistake(
    says="RotaryEmbedding stores its tables in float16, so that every float32 result is coarse.",
    look="How many digits do the stored tables keep?",
)
class tables_in_float16(_Rotary):
    def keep(self, cos, sin):
        super().keep(cos.half(), sin.half())


@mistake(
    says="RotaryEmbedding reads the number of positions from the second axis of x.",
    look="Which axis is T in (T, D), in (B, T, D) and in (B, H, T, D)?",
)
class second_axis_counted(_Rotary):
    def forward(self, x, offset=0):
        length = x.shape[1] if x.ndim > 2 else x.shape[0]
        self.check_width(x)
        self.check_offset(offset)
        self.check_end(offset + length)
        return self.turn(x, slice(offset, offset + length))


@mistake(
    says="RotaryEmbedding reads the number of positions from the second axis of x.",
    look="Which axis is T in (T, D), in (B, T, D) and in (B, H, T, D)?",
)
class second_axis_counted_after_the_checks(_Rotary):
    def rows(self, x, offset):
        return slice(offset, offset + x.shape[1])


@mistake(
    says="RotaryEmbedding expects (B, T, H, D), and turns heads instead of positions.",
    look="Which axis is T in (B, H, T, D)?",
)
class heads_before_features(_Rotary):
    def forward(self, x, offset=0):
        if x.ndim < 4:
            return super().forward(x, offset)
        return super().forward(x.transpose(-2, -3), offset).transpose(-2, -3)


@mistake(
    says="RotaryEmbedding views x as (B*H, T, D), which fails for heads made by a transpose.",
    look="What does `view` need of a tensor in memory, and which function does not need it?",
)
class heads_viewed_as_a_batch(_Rotary):
    def turn(self, x, rows):
        return super().turn(x.view(-1, *x.shape[-2:]), rows).view(x.shape)


@mistake(
    says="RotaryEmbedding turns neighbors, features 2i and 2i + 1, instead of i and D/2 + i.",
    look="Which feature is the partner of feature 0 in this course?",
)
class interleaved_pairs(_Rotary):
    def turn(self, x, rows):
        halves = torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)
        x1, x2 = super().turn(halves, rows).chunk(2, dim=-1)
        return torch.stack((x1, x2), dim=-1).flatten(-2)


@mistake(
    says="RotaryEmbedding turns backwards.",
    look="Into what does position 1 turn the point (1, 0)?",
)
class backwards(_Rotary):
    def turn(self, x, rows):
        return apply_rope(x, self.cos[rows], -self.sin[rows])


@mistake(
    says="RotaryEmbedding adds the tables to x, as a position embedding, and turns nothing.",
    look="Is the length of x the same before and after?",
)
class tables_added(_Rotary):
    def turn(self, x, rows):
        return (x + self.cos[rows] + self.sin[rows]).to(x.dtype)


@mistake(
    says="RotaryEmbedding works under no_grad, so that no gradient reaches the queries.",
    look="The tables need no gradient. Does x?",
)
class gradient_stopped(_Rotary):
    @torch.no_grad()
    def turn(self, x, rows):
        return super().turn(x, rows)


@alternative
class persistent_buffers_with_leading_axes(_Rotary):
    def keep(self, cos, sin):
        self.register_buffer("cos_cached", cos[None, None])
        self.register_buffer("sin_cached", sin[None, None])

    def turn(self, x, rows):
        return apply_rope(x, self.cos_cached[0, 0, rows], self.sin_cached[0, 0, rows])


@alternative
class one_buffer_for_both(_Rotary):
    def keep(self, cos, sin):
        half = self.head_dim // 2
        self.register_buffer("table", torch.stack((cos[:, :half], sin[:, :half]), dim=-1))

    def turn(self, x, rows):
        cos, sin = self.table[rows].to(x.dtype).unbind(-1)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)


@alternative
class rates_as_the_buffer(_Rotary):
    def keep(self, cos, sin):
        self.register_buffer("inv_freq", _right_rates(self.head_dim, self.base).float())

    def turn(self, x, rows):
        positions = torch.arange(rows.start, rows.stop, device=x.device).float()
        angles = torch.outer(positions, self.inv_freq.float()).repeat(1, 2)
        return apply_rope(x, angles.cos(), angles.sin())


@alternative
class angles_as_the_buffer(_Rotary):
    def keep(self, cos, sin):
        positions, rates = _positions(self.max_seq_len), _right_rates(self.head_dim, self.base)
        self.register_buffer("angles", torch.outer(positions, rates))

    def turn(self, x, rows):
        angles = self.angles[rows].double()
        x1, x2 = x.double().chunk(2, dim=-1)
        points = torch.complex(x1, x2) * torch.exp(1j * angles)
        return torch.cat((points.real, points.imag), dim=-1).to(x.dtype)


@alternative
class rows_by_embedding(_Rotary):
    def keep(self, cos, sin):
        self.register_buffer("cos_and_sin", torch.cat((cos, sin), dim=1).double())

    def turn(self, x, rows):
        positions = torch.arange(rows.start, rows.stop, device=x.device)
        cos, sin = F.embedding(positions, self.cos_and_sin).chunk(2, dim=-1)
        return apply_rope(x.double(), cos, sin).to(x.dtype)


@alternative
class rows_by_narrow(_Rotary):
    def turn(self, x, rows):
        cos, sin = (t.narrow(0, rows.start, x.shape[-2]) for t in (self.cos, self.sin))
        flat = x.reshape(-1, *x.shape[-2:])
        return torch.stack([apply_rope(one, cos, sin) for one in flat]).reshape(x.shape)


@alternative
class complex_numbers_stored_as_real(_Rotary):
    def keep(self, cos, sin):
        half = self.head_dim // 2
        turns = torch.complex(cos[:, :half], sin[:, :half])
        self.register_buffer("turns", torch.view_as_real(turns))

    def turn(self, x, rows):
        turns = torch.view_as_complex(self.turns[rows].float().contiguous())
        points = torch.complex(*x.float().chunk(2, dim=-1)) * turns
        return torch.cat((points.real, points.imag), dim=-1).to(x.dtype)


@alternative
class tables_in_a_submodule(_Rotary):
    def keep(self, cos, sin):
        self.cache = nn.Module()
        self.cache.register_buffer("both", torch.stack((cos, sin)))

    def turn(self, x, rows):
        return apply_rope(x, *self.cache.both[:, rows])


@functools.cache
def _shared_tables(max_seq_len, head_dim, base):
    return rope_tables(max_seq_len, head_dim, base)


@alternative
class tables_shared_by_every_argument(_Rotary):
    def keep(self, cos, sin):
        super().keep(*_shared_tables(self.max_seq_len, self.head_dim, self.base))


def _refuse_half_pairs(weight, n_heads):
    if len(weight) % (2 * n_heads):
        raise ValueError(f"rows must be divisible by {2 * n_heads}; got {len(weight)}")


mistake, alternative, error = entries("interleaved_to_half")


@mistake(
    says="interleaved_to_half reorders all rows as if there were a single head.",
    look="May a row cross from one head to another?",
    common=True,
)
def one_big_head(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    return torch.cat((weight[0::2], weight[1::2]))


@mistake(
    says="interleaved_to_half goes the other way, from split halves to interleaved pairs.",
    look="For D = 6: does row 2 of a head go to row 1, or row 1 to row 2?",
    common=True,
)
def the_other_direction(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    halves = weight.reshape(n_heads, 2, -1, weight.shape[1])
    return halves.transpose(1, 2).reshape(weight.shape)


@mistake(
    says="interleaved_to_half puts the odd rows of a head first.",
    look="Row 0 of a head is the first feature of pair 0. Where does it belong?",
)
def odd_rows_first(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(n_heads, -1, 2, weight.shape[1])
    return pairs.flip(2).transpose(1, 2).reshape(weight.shape)


@mistake(
    says="interleaved_to_half swaps the heads with the pairs instead of the pairs with their two.",
    look="Name the axes of the reshaped weight. Which two have to be swapped?",
)
def heads_swapped_with_pairs(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(n_heads, -1, 2, weight.shape[1])
    return pairs.transpose(0, 1).reshape(weight.shape)


@mistake(
    says="interleaved_to_half takes the heads for the fastest axis, as if rows were (D, H).",
    look="Which rows of the weight make head 0: the first D, or every H-th?",
)
def heads_on_the_inside(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(-1, 2, n_heads, weight.shape[1])
    return pairs.transpose(0, 1).reshape(weight.shape)


@mistake(
    says="interleaved_to_half takes n_heads for the width of a head.",
    look="Which factor of H * D is given, and which has to be computed?",
)
def heads_taken_for_the_width(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    heads = weight.split(n_heads + n_heads % 2)
    return torch.cat([torch.cat((head[0::2], head[1::2])) for head in heads])


@mistake(
    says="interleaved_to_half only changes the shape there and back, and moves no row.",
    look="Does a reshape move numbers in memory? Where is the swap of two axes?",
    common=True,
)
def reshaped_only(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(n_heads, -1, 2, weight.shape[1])
    return pairs.reshape(n_heads, 2, -1, weight.shape[1]).reshape(weight.shape)


@mistake(
    says="interleaved_to_half mirrors the second half of every head.",
    look="Row 1 of a head is the partner of row 0. Where is it in the result?",
)
def second_half_mirrored(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    heads = weight.tensor_split(n_heads)
    return torch.cat([torch.cat((head[0::2], head[1::2].flip(0))) for head in heads])


@mistake(
    says="interleaved_to_half reorders the columns, which belong to the inputs.",
    look="Which axis of a projection makes the features of the query?",
)
def columns_reordered(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    return torch.cat((weight[:, 0::2], weight[:, 1::2]), dim=1)


@mistake(
    says="interleaved_to_half fits weights with as many rows as columns only.",
    look="Is C the same as H * D? Where does the number of columns come from?",
)
def square_weights_only(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(n_heads, -1, 2, len(weight))
    return pairs.transpose(1, 2).reshape(weight.shape)


@mistake(
    says="interleaved_to_half uses view, which fails for a transposed weight.",
    look="What does view need that reshape does not?",
)
def view_of_the_weight(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    even, odd = weight.view(n_heads, -1, 2 * weight.shape[1]).chunk(2, dim=-1)
    return torch.cat((even, odd), dim=1).reshape(weight.shape)


@mistake(
    says="interleaved_to_half accepts heads of an odd width, with a feature that has no partner.",
    look="By what must the number of rows be divisible: by n_heads, or by more?",
)
def odd_heads_accepted(weight, n_heads):
    if len(weight) % n_heads:
        _refuse_half_pairs(weight, n_heads)
    heads = weight.tensor_split(n_heads)
    return torch.cat([torch.cat((head[0::2], head[1::2])) for head in heads])


@mistake(
    says="interleaved_to_half asks for an even number of rows, whatever the number of heads.",
    look="Can 6 rows make 2 heads of whole pairs?",
)
def even_rows_are_enough(weight, n_heads):
    _refuse_half_pairs(weight, 1)
    heads = weight.tensor_split(n_heads)
    return torch.cat([torch.cat((head[0::2], head[1::2])) for head in heads])


@mistake(
    says="interleaved_to_half sorts the rows within the weight it was given.",
    look="Which line changes weight itself?",
)
def sorted_in_place(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(n_heads, -1, 2, weight.shape[1]).clone()
    return weight.copy_(pairs.transpose(1, 2).reshape(weight.shape))


@mistake(
    says="interleaved_to_half copies the numbers out of the graph, so that no gradient returns.",
    look="What do detach(), .data and no_grad do to a gradient?",
)
def rows_without_a_gradient(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.detach().reshape(n_heads, -1, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape)


@mistake(
    says="interleaved_to_half fills a float32 tensor on the CPU, whatever weight is.",
    look="Which dtype and device does torch.empty choose if nothing is said?",
)
def rows_into_a_float32_tensor(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.reshape(n_heads, -1, 2, weight.shape[1])
    result = torch.empty(weight.shape)
    result[:] = pairs.transpose(1, 2).reshape(weight.shape)
    return result


@alternative
def head_by_head(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    heads = weight.chunk(n_heads)
    return torch.cat([torch.cat((head[0::2], head[1::2])) for head in heads])


@alternative
def rows_by_a_list(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    width = len(weight) // n_heads
    within = [*range(0, width, 2), *range(1, width, 2)]
    return weight[[head * width + row for head in range(n_heads) for row in within]]


@alternative
def slices_of_heads(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    heads = weight.unflatten(0, (n_heads, -1))
    return torch.cat((heads[:, ::2], heads[:, 1::2]), dim=1).flatten(0, 1)


@alternative
def permutation_matrix(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    rows = torch.arange(len(weight), device=weight.device)
    order = rows.reshape(n_heads, -1, 2).transpose(1, 2).flatten()
    return F.one_hot(order, len(weight)).to(weight.dtype) @ weight if len(weight) else weight


@alternative
def scattered_to_their_places(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    width = len(weight) // n_heads
    rows = torch.arange(len(weight), device=weight.device)
    head, row = rows // width, rows % width
    places = head * width + row // 2 + (row % 2) * (width // 2)
    return torch.zeros_like(weight).index_copy(0, places, weight)


@alternative
def gathered(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    order = torch.arange(len(weight), device=weight.device).view(n_heads, -1, 2).mT.reshape(-1, 1)
    return weight.gather(0, order.expand_as(weight))


@alternative
def einsum_as_transpose(weight, n_heads):
    _refuse_half_pairs(weight, n_heads)
    pairs = weight.unflatten(0, (n_heads, -1, 2))
    return torch.einsum("hpkc->hkpc", pairs).flatten(0, 2)


def _refuse_ntk(factor, head_dim):
    if factor < 1:
        raise ValueError(f"factor must be at least 1; got {factor}")
    if head_dim <= 2:
        raise ValueError(f"head_dim must be above 2; got {head_dim}")


mistake, alternative, error = entries("ntk_base")


@mistake(
    says="ntk_base multiplies the base with the factor itself, which stretches too little.",
    look="By how much is the last pair stretched? Is it the whole factor?",
    common=True,
)
def no_exponent(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return float(base * factor)


@mistake(
    says="ntk_base turns the exponent upside down: (D - 2) / D.",
    look="Is the exponent above or below 1?",
    common=True,
)
def exponent_upside_down(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return base * factor ** ((head_dim - 2) / head_dim)


@mistake(
    says="ntk_base divides whole numbers in its exponent.",
    look="What is 64 // 62? What is 64 / 62?",
)
def floor_division(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return float(base * factor ** (head_dim // (head_dim - 2)))


@mistake(
    says="ntk_base forgets the brackets around D - 2.",
    look="In which order does Python divide and subtract?",
)
def missing_brackets(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return base * factor ** (head_dim / head_dim - 2)


@mistake(
    says="ntk_base raises the base to the power, too.",
    look="Which of the two numbers carries the exponent?",
    common=True,
)
def base_raised_too(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return (base * factor) ** (head_dim / (head_dim - 2))


@mistake(
    says="ntk_base starts from 10000 whatever base the model was trained with.",
    look="Where in the formula does the argument base occur?",
)
def base_of_10000(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return 10000.0 * factor ** (head_dim / (head_dim - 2))


@mistake(
    says="ntk_base is made for heads of width 128.",
    look="Where in the formula does the argument head_dim occur?",
)
def width_of_128(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return base * factor ** (128 / 126)


@mistake(
    says="ntk_base divides the base, which makes the pairs faster instead of slower.",
    look="Does a longer wavelength need a larger or a smaller base?",
)
def divided_base(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return base / factor ** (head_dim / (head_dim - 2))


@mistake(
    says="ntk_base counts pairs where features belong: D/2 / (D/2 - 2).",
    look="Is the D of the formula the number of features or of pairs?",
)
def pairs_in_the_exponent(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    pairs = head_dim / 2
    return base * factor ** (pairs / (pairs - 2 + 1e-9))


@mistake(
    says="ntk_base returns a tensor instead of a Python number.",
    look="What is the type of the result? How does one number leave a tensor?",
)
def tensor_returned(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return torch.tensor(base * factor ** (head_dim / (head_dim - 2)))


@mistake(
    says="ntk_base rounds the new base to a whole number.",
    look="What is the type of the result? Does a base have to be whole?",
)
def rounded_base(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return float(round(base * factor ** (head_dim / (head_dim - 2))))


@mistake(
    says="ntk_base refuses a factor of exactly 1, which only means: no longer.",
    look="Which factors does the docstring refuse? Is 1 among them?",
)
def factor_one_refused(base, factor, head_dim):
    if factor <= 1:
        raise ValueError(f"factor must be above 1; got {factor}")
    _refuse_ntk(factor, head_dim)
    return base * factor ** (head_dim / (head_dim - 2))


@mistake(
    says="ntk_base shortens quietly when the factor is below 1.",
    look="What should happen for factor = 0.5?",
)
def small_factor_accepted(base, factor, head_dim):
    _refuse_ntk(1, head_dim)
    return base * factor ** (head_dim / (head_dim - 2))


@mistake(
    says="ntk_base divides by zero for a single pair instead of refusing it.",
    look="What is D - 2 for D = 2? Which error is raised, and which should be?",
)
def single_pair_divides_by_zero(base, factor, head_dim):
    _refuse_ntk(factor, head_dim + 1)
    return base * factor ** (head_dim / (head_dim - 2))


@alternative
def by_logarithms(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return math.exp(math.log(base) + math.log(factor) * head_dim / (head_dim - 2))


@alternative
def from_the_slowest_pair(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    last = (head_dim - 2) / head_dim
    return (factor * base**last) ** (1 / last)


@alternative
def by_numpy(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    return np.float64(base) * np.power(factor, head_dim / (head_dim - 2))


@alternative
def by_torch_in_float64(base, factor, head_dim):
    _refuse_ntk(factor, head_dim)
    factor = torch.tensor(factor, dtype=torch.float64)
    return (base * factor ** (head_dim / (head_dim - 2))).item()


def _refuse_heads(n_heads):
    if n_heads < 1 or n_heads & (n_heads - 1):
        raise ValueError(f"n_heads must be a power of two; got {n_heads}")


def _bias(slopes, seq_len, steps_back=lambda back: back.clamp(min=0)):
    """-slope * steps, from the slopes (H,) and how far back each key lies."""
    positions = torch.arange(seq_len)
    back = steps_back(positions[:, None] - positions)  # (query, key)
    return -slopes[:, None, None] * back


def _right_slopes(n_heads):
    return 2.0 ** (-8.0 * torch.arange(1, n_heads + 1) / n_heads)


mistake, alternative, error = entries("alibi_bias")


@mistake(
    says="alibi_bias counts heads from 0, so that the first has slope 1.",
    look="What is the slope of the first of eight heads?",
    common=True,
)
def heads_from_zero(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(2.0 ** (-8.0 * torch.arange(n_heads) / n_heads), seq_len)


@mistake(
    says="alibi_bias uses slopes 1/2, 1/4, 1/8, …, which are those of eight heads only.",
    look="Where does H stand in the exponent? What is the last slope for H = 2?",
    common=True,
)
def slopes_of_eight_heads(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(0.5 ** torch.arange(1, n_heads + 1).float(), seq_len)


@mistake(
    says="alibi_bias gives the steepest slope to the last head.",
    look="Which head is the steepest?",
)
def slopes_in_reverse(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads).flip(0), seq_len)


@mistake(
    says="alibi_bias gives every head the same slope.",
    look="Does the number of the head, h, occur in the slope?",
)
def one_slope_for_all(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(torch.full((n_heads,), 2.0 ** (-8 / n_heads)), seq_len)


@mistake(
    says="alibi_bias lets its slopes fall in even steps instead of by a constant factor.",
    look="By what is one slope multiplied to get the next?",
)
def slopes_in_even_steps(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(torch.linspace(0.5, 2**-8, n_heads), seq_len)


@mistake(
    says="alibi_bias divides whole numbers in its exponent, which is wrong above eight heads.",
    look="What is 8 // 16? What is 8 / 16?",
)
def floor_division_in_the_slopes(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(2.0 ** -(8 * torch.arange(1, n_heads + 1) // n_heads).float(), seq_len)


@mistake(
    says="alibi_bias rewards far keys instead of penalizing them.",
    look="Which sign has the bias of a far key?",
)
def reward_for_distance(n_heads, seq_len):
    _refuse_heads(n_heads)
    return -_bias(_right_slopes(n_heads), seq_len)


@mistake(
    says="alibi_bias takes rows for keys and columns for queries.",
    look="In which rows of a (query, key) matrix are the earlier keys?",
)
def rows_as_keys(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len).mT


@mistake(
    says="alibi_bias penalizes later keys as well.",
    look="What stands above the diagonal?",
    common=True,
)
def later_keys_penalized(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len, torch.abs)


@mistake(
    says="alibi_bias rewards later keys, because query - key is negative there.",
    look="What does your formula give above the diagonal, and what should stand there?",
    common=True,
)
def later_keys_rewarded(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len, lambda back: back)


@mistake(
    says="alibi_bias masks later keys with -inf, which is not its task.",
    look="What stands above the diagonal? Whose task is the mask?",
)
def later_keys_masked(n_heads, seq_len):
    _refuse_heads(n_heads)
    mask = torch.full((seq_len, seq_len), -math.inf).triu(1)
    return _bias(_right_slopes(n_heads), seq_len) + mask


@mistake(
    says="alibi_bias counts steps from 1, so that a token penalizes itself.",
    look="How far is a query from its own key?",
)
def steps_from_one(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len, lambda back: (back + 1).clamp(min=0))


@mistake(
    says="alibi_bias measures from the last query only, and repeats that row for all.",
    look="Is the distance of key 0 the same for every query?",
)
def the_last_row_for_all(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len, lambda back: back[-1:].expand_as(back))


@mistake(
    says="alibi_bias divides the distance by the length, so that a longer text costs less.",
    look="Does the penalty of one step depend on T?",
)
def distance_as_a_share(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len) / seq_len


@mistake(
    says="alibi_bias stops counting at 128 steps.",
    look="Is there a largest distance?",
)
def distance_cut_off(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len, lambda back: back.clamp(0, 128))


@mistake(
    says="alibi_bias puts the heads last, (T, T, H), instead of first.",
    look="Which axis is which in (H, T, T)?",
)
def heads_last(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len).permute(1, 2, 0)


@mistake(
    says="alibi_bias returns float64.",
    look="Which dtype should a result have that has no floating input?",
)
def float64_bias(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads).double(), seq_len)


@mistake(
    says="alibi_bias accepts any number of heads.",
    look="What should happen for n_heads = 6?",
)
def any_number_of_heads(n_heads, seq_len):
    if n_heads < 1:
        _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len)


@mistake(
    says="alibi_bias takes every even number of heads for a power of two.",
    look="Is 6 a power of two?",
)
def even_numbers_of_heads(n_heads, seq_len):
    if n_heads < 1 or (n_heads > 1 and n_heads % 2):
        _refuse_heads(3)
    return _bias(_right_slopes(n_heads), seq_len)


@mistake(
    says="alibi_bias takes 0 for a power of two, because 0 & -1 is 0.",
    look="What should happen for n_heads = 0?",
)
def zero_heads_accepted(n_heads, seq_len):
    if n_heads:
        _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads) if n_heads else torch.zeros(0), seq_len)


@mistake(
    says="alibi_bias refuses a single head, although 1 is a power of two.",
    look="What is 2 ** 0?",
)
def single_head_refused(n_heads, seq_len):
    if n_heads == 1:
        raise ValueError(f"n_heads must be a power of two; got {n_heads}")
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len)


_biases = {}


@mistake(
    says="alibi_bias keeps its result by the number of heads, and forgets that T matters too.",
    look="Call it for two lengths, one after the other. What is the key of the cache?",
    forget=_biases.clear,
)
def cache_without_the_length(n_heads, seq_len):
    _refuse_heads(n_heads)
    kept = _biases.setdefault(n_heads, _bias(_right_slopes(n_heads), seq_len))
    return kept[:, :seq_len, :seq_len]


@alternative
def three_loops(n_heads, seq_len):
    _refuse_heads(n_heads)
    bias = torch.zeros(n_heads, seq_len, seq_len)
    for h in range(n_heads):
        for query in range(seq_len):
            for key in range(query):
                bias[h, query, key] = -(2 ** (-8 * (h + 1) / n_heads)) * (query - key)
    return bias


@alternative
def slopes_by_a_ratio(n_heads, seq_len):
    _refuse_heads(n_heads)
    ratio = 2.0 ** (-8 / n_heads)
    slopes = torch.tensor([ratio * ratio**h for h in range(n_heads)])
    return torch.einsum("h,qk->hqk", slopes, -_bias(-torch.ones(1), seq_len)[0])


@alternative
def lower_triangle(n_heads, seq_len):
    _refuse_heads(n_heads)
    positions = torch.arange(seq_len, dtype=torch.float64)
    back = (positions - positions[:, None]).tril()
    return (_right_slopes(n_heads).double().view(-1, 1, 1) * back).float()


@alternative
def steps_counted_by_cumsum(n_heads, seq_len):
    _refuse_heads(n_heads)
    back = torch.ones(seq_len, seq_len).tril(-1).flip(-1).cumsum(-1).flip(-1).tril()
    return -torch.logspace(-8 / n_heads, -8, n_heads, base=2.0)[:, None, None] * back


@alternative
def by_numpy_and_where(n_heads, seq_len):
    _refuse_heads(n_heads)
    query, key = np.indices((seq_len, seq_len))
    back = np.where(key <= query, query - key, 0)
    slopes = 2.0 ** (-8 * np.arange(1, n_heads + 1) / n_heads)
    return torch.from_numpy(np.multiply.outer(-slopes, back).astype(np.float32))


@alternative
def power_of_two_by_logarithm(n_heads, seq_len):
    if n_heads < 1 or not math.log2(n_heads).is_integer():
        raise ValueError(f"the number of heads must be a power of two, not {n_heads}")
    positions = torch.arange(seq_len)
    heads = [(positions - positions[:, None]).clamp(max=0) * s for s in _right_slopes(n_heads)]
    return torch.stack(heads)


@alternative
@functools.cache
def kept_by_every_argument(n_heads, seq_len):
    _refuse_heads(n_heads)
    return _bias(_right_slopes(n_heads), seq_len)
