"""Lesson 5: rotate queries and keys. Grades `exercises/rope.py`.

Shapes: B batch, H heads, T positions, D features of a head, C inputs of a projection.
"""

import functools
import math

import pytest
import torch

from course.testing import exercise, expect


@functools.cache
def angles(length, head_dim, base=10000.0, start=0):
    """(T, D/2): position * base ** (-2i / D), in float64."""
    rates = [base ** (-2 * i / head_dim) for i in range(head_dim // 2)]
    positions = torch.arange(start, start + length, dtype=torch.float64)
    return positions[:, None] * torch.tensor(rates, dtype=torch.float64)


def tables(length, head_dim, base=10000.0, start=0):
    """(cos, sin) of positions start .. start + length - 1, each (T, D)."""
    twice = angles(length, head_dim, base, start).repeat(1, 2)
    return twice.cos().float(), twice.sin().float()


def rotated(x, base=10000.0, start=0, direction=1):
    """Features i and D/2 + i as a complex number, times e ** (i angle)."""
    first, second = x.double().tensor_split(2, dim=-1)
    turn = torch.exp(1j * direction * angles(*x.shape[-2:], base, start))
    points = torch.complex(first, second) * turn
    return torch.cat((points.real, points.imag), dim=-1).float()


def turned_interleaved(x):
    """Features 2i and 2i + 1 as a complex number, times e ** (i angle)."""
    points = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.exp(1j * angles(*x.shape[-2:]))
    return torch.view_as_real(points).flatten(-2)


MANY = [(9_001, 1, 1, 2), (1, 9_001, 1, 2)]
"""Many texts, and many heads."""


@exercise("rope_tables")
class TestRopeTables:
    def test_position_zero_is_not_rotated(self, lesson):
        """All its angles are 0, and cos 0 = 1, sin 0 = 0. The cosines come first."""
        expect.close(lesson.rope_tables(1, 4), (torch.ones(1, 4), torch.zeros(1, 4)))

    def test_first_pair_rotates_one_radian_a_position(self, lesson):
        """With D = 2 the only angle at position m is m: cos 1 = 0.5403, sin 1 =
        0.8415, cos 2 = -0.4161, sin 2 = 0.9093; the same in both columns.
        """
        cos = torch.tensor([[1.0, 1.0], [0.5403, 0.5403], [-0.4161, -0.4161]])
        sin = torch.tensor([[0.0, 0.0], [0.8415, 0.8415], [0.9093, 0.9093]])
        expect.close(lesson.rope_tables(3, 2), (cos, sin), tolerance=1e-3)

    def test_the_last_pair_stops_short_of_the_base(self, lesson):
        """D = 6, base 1000: the rates are 1, 1000 ** (-2 / 6) = 1/10 and
        1000 ** (-4 / 6) = 1/100. Row 1 has the sines of 1, 0.1 and 0.01.
        """
        _, sin = expect.tensors(lesson.rope_tables(2, 6, 1000.0), "cos", "sin")
        want = torch.tensor([0.8415, 0.0998, 0.0100])
        expect.close(sin[1, :3], want, tolerance=1e-3, what="sin[1, :3]")

    def test_all_pairs_come_once_and_then_again(self, lesson):
        """Features i and D/2 + i form pair i, so columns i and D/2 + i hold the same
        angle: the rates 1, 1/10, 1/100, and again 1, 1/10, 1/100.
        """
        cos, sin = expect.tensors(lesson.rope_tables(7, 6, 1000.0), "cos", "sin")
        expect.close(cos[:, 3:], cos[:, :3], what="cos[:, 3:]")
        expect.close(sin[:, 3:], sin[:, :3], what="sin[:, 3:]")
        want = torch.tensor([0.2837, 0.8776, 0.9988])
        expect.close(cos[5, :3], want, tolerance=1e-3, what="cos[5, :3]")

    @pytest.mark.parametrize(
        "length, head_dim, base", [(9, 6, 500000.0), (300, 10, 50.0), (3, 9_002, 500000.0)]
    )
    def test_base_sets_the_rates(self, lesson, draw, length, head_dim, base):
        """Pair i rotates base ** (-2i / D) radians a position, whatever the base."""
        length, base = length + draw.integer(0, 99), base + draw.integer(0, 99_999)
        want = tables(length, head_dim, base)
        expect.close(lesson.rope_tables(length, head_dim, base), want, tolerance=1e-3)

    def test_each_call_makes_tables_of_its_own(self, lesson):
        """Tables of an earlier call serve only the same length, width and base."""
        for length, head_dim, base in [(5, 4, 1e4), (5, 4, 100.0), (7, 4, 100.0), (7, 8, 100.0)]:
            got = lesson.rope_tables(seq_len=length, head_dim=head_dim, base=base)
            expect.close(got, tables(length, head_dim, base), tolerance=1e-3)

    @pytest.mark.parametrize("length, head_dim", [(4130, 8), (20, 64), (3, 9_002)])
    def test_every_pair_is_right_up_to_position_4096(self, lesson, length, head_dim):
        """Every angle is position * 10000 ** (-2i / D), for each of the D/2 pairs.
        bfloat16 cannot tell position 257 from 256.
        """
        want = tables(length, head_dim)
        expect.close(lesson.rope_tables(length, head_dim), want, tolerance=1e-3)

    def test_the_formula_never_ends(self, lesson):
        """Row 40,000 is as good as row 4. Its angles are larger, so float32 rounds more."""
        cos, sin = expect.tensors(lesson.rope_tables(40_300, 4), "cos", "sin")
        want_cos, want_sin = tables(300, 4, start=40_000)
        expect.close(cos[40_000:], want_cos, tolerance=1e-2, what="cos[40000:]")
        expect.close(sin[40_000:], want_sin, tolerance=1e-2, what="sin[40000:]")

    def test_odd_width_is_refused(self, lesson):
        """Features rotate in pairs; with an odd width one would be left over."""
        expect.rejects(lesson.rope_tables, ValueError, bad=(4, 5))


@exercise("rotate_half")
class TestRotateHalf:
    def test_one_pair_makes_a_quarter_turn(self, lesson):
        """The point (3, 4) rotated by 90 degrees is (-4, 3)."""
        expect.close(lesson.rotate_half(torch.tensor([3.0, 4.0])), torch.tensor([-4.0, 3.0]))

    def test_first_half_becomes_minus_the_second(self, lesson):
        """The halves (1, 2) and (3, 4) become (-3, -4) and (1, 2): points (1, 3) and
        (2, 4), each rotated by 90 degrees.
        """
        got = lesson.rotate_half(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        expect.close(got, torch.tensor([-3.0, -4.0, 1.0, 2.0]))

    def test_halves_may_have_an_odd_width(self, lesson):
        """The halves of six features are (1, 2, 3) and (4, 5, 6)."""
        got = lesson.rotate_half(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]))
        expect.close(got, torch.tensor([[-4.0, -5.0, -6.0, 1.0, 2.0, 3.0]]))

    @pytest.mark.parametrize(
        "shape", [(4, 3, 2), (2, 1, 3, 4, 6), (9_001, 1, 2), (1, 9_001, 2), (1, 9_002)], ids=str
    )
    def test_only_the_last_axis_is_halved(self, lesson, draw, shape):
        """Whatever comes before it (batch, heads, positions) stays as it is."""
        x, half = draw.normal(*shape), shape[-1] // 2
        expect.close(lesson.rotate_half(x), torch.cat((-x[..., half:], x[..., :half]), dim=-1))

    def test_gradient_makes_the_quarter_turn_backwards(self, lesson, draw):
        """Result (-x2, x1), upstream (g1, g2): x1 receives g2, and x2 receives -g1."""
        x, upstream = draw.normal(2, 3, 8), draw.normal(2, 3, 8)
        gradients = lesson.rotate_half.gradients(x, upstream=upstream)
        expect.close(gradients[0], torch.cat((upstream[..., 4:], -upstream[..., :4]), dim=-1))

    def test_changed_arguments_are_seen(self, lesson):
        """The second call is about other numbers in the same tensor."""
        before, after = torch.tensor([5.0, 6.0]), torch.tensor([3.0, 4.0])
        want = torch.tensor([-4.0, 3.0])
        expect.sees_changes(lesson.rotate_half, (before,), (after,), want)


@exercise("apply_rope")
class TestApplyRope:
    def test_position_zero_changes_nothing(self, lesson, draw):
        """With cos = 1 and sin = 0 only x itself remains."""
        x = draw.normal(3, 1, 6)
        expect.close(lesson.apply_rope(x, torch.ones(1, 6), torch.zeros(1, 6)), x)

    def test_point_one_zero_shows_the_angle(self, lesson):
        """(1, 0) rotated by the angle m is (cos m, sin m): at positions 1 and 2 these
        are (0.5403, 0.8415) and (-0.4161, 0.9093).
        """
        cos, sin = tables(2, 2, start=1)
        got = lesson.apply_rope(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), cos, sin)
        expect.close(got, torch.tensor([[0.5403, 0.8415], [-0.4161, 0.9093]]), tolerance=1e-4)

    def test_two_pairs_rotated_by_hand(self, lesson):
        """Position 3 rotates the point (1, 3) by 3 and the point (2, 4) by 0.03:
        1 cos 3 - 3 sin 3 = -1.413      1 sin 3 + 3 cos 3 = -2.829
        2 cos .03 - 4 sin .03 = 1.879   2 sin .03 + 4 cos .03 = 4.058
        """
        got = lesson.apply_rope(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), *tables(1, 4, start=3))
        expect.close(got, torch.tensor([[-1.4134, 1.8791, -2.8289, 4.0582]]), tolerance=1e-4)

    @pytest.mark.parametrize("length, head_dim", [(5, 6), (2, 9_002), (9_001, 2)])
    def test_every_pair_rotates_by_its_own_angle(self, lesson, draw, length, head_dim):
        """Features i and D/2 + i of row t rotate by the angle in row t, columns i and
        D/2 + i.
        """
        x = draw.normal(length, head_dim)
        got = lesson.apply_rope(x, *tables(length, head_dim, start=11))
        expect.close(got, rotated(x, start=11), tolerance=1e-4)

    @pytest.mark.parametrize(
        "shape", [(2, 5, 6), (4, 4, 4), (5, 5, 5, 8), (3, 1, 2, 5, 4), *MANY], ids=str
    )
    def test_positions_are_the_next_to_last_axis(self, lesson, draw, shape):
        """Batch and heads come before it and share the angles. Equal sizes must not
        make the axes change places.
        """
        x = draw.normal(*shape)
        got = lesson.apply_rope(x, *tables(*shape[-2:], base=50.0, start=1))
        expect.close(got, rotated(x, base=50.0, start=1), tolerance=1e-4)

    def test_gradient_rotates_backwards(self, lesson, draw):
        """The transpose of a rotation is the rotation by minus the angle."""
        x, upstream = draw.normal(2, 3, 4, 8), draw.normal(2, 3, 4, 8)
        cos, sin = tables(4, 8, start=3)
        gradients = lesson.apply_rope.gradients(x, cos=cos, sin=sin, upstream=upstream)
        want = rotated(upstream, start=3, direction=-1)
        expect.close(gradients[0], want, tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(3, 5, 6), draw.normal(3, 5, 6)
        tables_of_five = tables(5, 6)
        expect.sees_changes(
            lesson.apply_rope, (before, *tables_of_five), (after, *tables_of_five), rotated(after)
        )


@exercise("RotaryEmbedding")
class TestRotaryEmbedding:
    def test_offset_one_is_the_first_rotated_position(self, lesson):
        """(1, 0) at position 1 becomes (cos 1, sin 1) = (0.5403, 0.8415)."""
        rotary = lesson.RotaryEmbedding(8, 2)
        got = rotary(torch.tensor([[1.0, 0.0]]), offset=1)
        expect.close(got, torch.tensor([[0.5403, 0.8415]]), tolerance=1e-4)

    @pytest.mark.parametrize(
        "shape", [(7, 64), (2, 3, 4), (5, 5, 5, 6), (9_001, 2), (2, 9_002)], ids=str
    )
    def test_positions_count_from_zero(self, lesson, draw, shape):
        """Row t of the next to last axis is at position t; batch and heads come
        before it.
        """
        rotary = lesson.RotaryEmbedding(shape[-2] + 2, shape[-1])
        x = draw.normal(*shape)
        expect.close(rotary(x), rotated(x), tolerance=1e-3)

    @pytest.mark.parametrize("offset", [1, 30, 4090, 40_000])
    def test_positions_count_from_the_offset(self, lesson, draw, offset):
        """Row t is at position offset + t: offset tokens are already in the cache."""
        rotary = lesson.RotaryEmbedding(offset + 7, 6)
        x = draw.normal(2, 3, 4, 6)
        expect.close(rotary(x, offset), rotated(x, start=offset), tolerance=1e-2)

    def test_token_by_token_is_all_at_once(self, lesson, draw):
        """With a key/value cache token t comes alone, T = 1, with offset t."""
        rotary = lesson.RotaryEmbedding(3, 4)
        x = draw.normal(2, 3, 4)
        alone = [rotary(x[:, t : t + 1], offset=t) for t in range(3)]
        expect.close(torch.cat(alone, dim=1), rotated(x), tolerance=1e-4)

    def test_an_offset_is_forgotten_after_its_call(self, lesson, draw):
        """Each call says where its tokens are; the next prompt starts at 0 again."""
        rotary = lesson.RotaryEmbedding(9, 4)
        for length, offset in [(3, 4), (3, 6), (3, 4), (3, 0), (5, 0)]:
            x = draw.normal(length, 4)
            expect.close(rotary(x, offset=offset), rotated(x, start=offset), tolerance=1e-4)

    def test_base_sets_the_rates(self, lesson, draw):
        """Models for long texts have a larger base, such as 500,000; a small one, even
        one below the number of positions, is as good.
        """
        for base, width in (4.0, 8), (500000.0, 8), (500000.0, 9_002):
            x = draw.normal(2, width)
            rotary = lesson.RotaryEmbedding(9, width, base)
            expect.close(rotary(x, 7), rotated(x, base, start=7), tolerance=1e-4)

    def test_modules_do_not_share_their_tables(self, lesson, draw):
        """Two layers may have different bases or lengths, and live side by side."""
        x = draw.normal(3, 6)
        made = {
            (length, base): lesson.RotaryEmbedding(max_seq_len=length, head_dim=6, base=base)
            for length, base in [(5, 10000.0), (5, 40.0), (9, 40.0)]
        }
        for (length, base), rotary in made.items():
            want = rotated(x, base, start=length - 3)
            expect.close(rotary(x, offset=length - 3), want, tolerance=1e-4)

    def test_moved_to_bfloat16_it_rotates_by_the_right_angles(self, lesson, draw):
        """`.to(torch.bfloat16)` rounds what a module holds. A rounded cosine is off by
        0.002; a rounded rate or position makes another angle: 257 becomes 256, and
        4000 * 0.1 becomes 4000 * 0.1001.
        """
        rotary = lesson.RotaryEmbedding(4097, 8)
        rotary.to(torch.bfloat16)
        for offset in (3, 254, 1003, 4090):
            x = draw.normal(2, 7, 8).clamp(-1, 1).bfloat16()
            got = rotary(x, offset)
            expect.close(got, rotated(x, start=offset), tolerance=5e-2, any_width=True)

    def test_evaluation_is_no_different(self, lesson, draw):
        """Nothing is dropped at random in training, and nothing is left out afterwards."""
        rotary, x = lesson.RotaryEmbedding(9, 6), draw.normal(2, 5, 6)
        rotary.train(False)
        expect.close(rotary(x, 3), rotated(x, start=3), tolerance=1e-4)

    def test_nothing_is_trained(self, lesson):
        """Cosines and sines are known; as parameters an optimizer would change them."""
        names = ", ".join(lesson.RotaryEmbedding(8, 4).parameters)
        expect.that(not names, f"the module trains {names}, but there is nothing to learn")

    def test_scores_depend_on_the_distance_alone(self, lesson, draw):
        """A key two positions after its query scores the same at 0 and 2 as at 30 and
        32.
        """
        rotary = lesson.RotaryEmbedding(40, 6)
        q, k = draw.normal(1, 6), draw.normal(1, 6)
        want = (q * rotated(k, start=2)).sum()
        score = (rotary(q, offset=30) * rotary(k, offset=32)).sum()
        expect.close(score, want, tolerance=1e-4)

    def test_gradient_rotates_backwards(self, lesson, draw):
        """The transpose of a rotation is the rotation by minus the angle. Queries are
        made by trained weights, so the gradient has to pass.
        """
        x, upstream = draw.normal(2, 3, 4, 6), draw.normal(2, 3, 4, 6)
        gradients = lesson.RotaryEmbedding(8, 6).gradients(x, offset=2, upstream=upstream)
        want = rotated(upstream, start=2, direction=-1)
        expect.close(gradients[0], want, tolerance=1e-4)

    def test_only_positions_are_limited(self, lesson, draw):
        """Batch and heads may be larger than max_seq_len: T is the next to last axis."""
        for shape in MANY:
            x = draw.normal(*shape)
            got = lesson.RotaryEmbedding(2, 2)(x, 1)
            expect.close(got, rotated(x, start=1), tolerance=1e-4)

    def test_the_last_position_is_max_seq_len_minus_one(self, lesson, draw):
        """offset + T may be at most 8. Slicing alone would not complain: it returns
        fewer rows.
        """
        x = draw.normal(2, 3, 4)
        expect.rejects(lesson.RotaryEmbedding(8, 4), ValueError, good=(x, 5), bad=(x, 6))

    def test_negative_offset_is_refused(self, lesson, draw):
        """In Python a negative index counts from the end; a position does not."""
        expect.rejects(lesson.RotaryEmbedding(8, 4), ValueError, bad=(draw.normal(2, 4), -3))

    def test_another_head_width_is_refused(self, lesson, draw):
        """head_dim is 6: rates for a width of 6 are wrong for 4."""
        expect.rejects(lesson.RotaryEmbedding(8, 6), ValueError, bad=(draw.normal(2, 4),))


def rows_before(n_heads, head_dim):
    """For each row of the result its row before: in every head first the even, then the odd."""
    within = [*range(0, head_dim, 2), *range(1, head_dim, 2)]
    return [head * head_dim + row for head in range(n_heads) for row in within]


@exercise("interleaved_to_half")
class TestInterleavedToHalf:
    def test_first_features_of_all_pairs_come_first(self, lesson):
        """Pairs (0, 1), (2, 3), (4, 5) become pairs of features i and 3 + i: first
        come 0, 2, 4, then their partners 1, 3, 5.
        """
        rows = torch.tensor([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
        want = torch.tensor([[0.0], [2.0], [4.0], [1.0], [3.0], [5.0]])
        expect.close(lesson.interleaved_to_half(rows, 1), want)

    def test_heads_stay_apart(self, lesson):
        """Two heads of width 4: each reorders its own rows, 0 2 1 3 and 4 6 5 7."""
        rows = torch.tensor([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]).T
        want = torch.tensor([[0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]]).T
        expect.close(lesson.interleaved_to_half(rows, n_heads=2), want)

    def test_one_pair_is_the_same_in_both_layouts(self, lesson, draw):
        """D = 2: the pair (0, 1) is both 2i, 2i + 1 and i, D/2 + i for i = 0."""
        weight = draw.normal(6, 5)
        expect.close(lesson.interleaved_to_half(weight, 3), weight)

    @pytest.mark.parametrize(
        "n_heads, head_dim, n_inputs",
        [(3, 6, 18), (5, 4, 1), (1_100, 4, 1), (1, 4_480, 1), (1, 2, 9_001)],
    )
    def test_every_row_moves_as_a_whole(self, lesson, draw, n_heads, head_dim, n_inputs):
        """In each head row 2i goes to i, and row 2i + 1 to D/2 + i. Columns belong to
        the inputs and stay.
        """
        weight = draw.normal(n_heads * head_dim, n_inputs)
        want = weight[rows_before(n_heads, head_dim)]
        expect.close(lesson.interleaved_to_half(weight, n_heads), want)

    def test_attention_scores_stay_the_same(self, lesson, draw):
        """Interleaved weights rotated in interleaved pairs, and reordered weights
        rotated in split halves, must give the same dot products of queries and keys.
        """
        n_heads, head_dim = 3, 8
        x = draw.normal(7, 5)
        wq, wk = draw.normal(2, n_heads * head_dim, 5)

        def scores(wq, wk, turn):
            heads = [(x @ w.T).unflatten(1, (n_heads, head_dim)).transpose(0, 1) for w in (wq, wk)]
            q, k = map(turn, heads)  # (H, T, D)
            return q @ k.mT / math.sqrt(head_dim)

        wq_half = expect.shape(lesson.interleaved_to_half(wq, n_heads), 24, 5)
        wk_half = lesson.interleaved_to_half(wk, n_heads)
        want = scores(wq, wk, turned_interleaved).float()
        expect.close(scores(wq_half, wk_half, rotated), want, tolerance=1e-4)

    def test_rows_must_split_into_heads_of_even_width(self, lesson, draw):
        """6 rows for 2 heads would be heads of width 3, a pair and a half."""
        expect.rejects(lesson.interleaved_to_half, ValueError, bad=(draw.normal(6, 3), 2))


@exercise("ntk_base")
class TestNtkBase:
    def test_width_four_squares_the_factor(self, lesson):
        """D / (D - 2) = 4 / 2 = 2, so factor 2 gives 10000 * 2 ** 2."""
        expect.close(lesson.ntk_base(10000.0, 2.0, 4), 40000.0, tolerance=1e-5)

    def test_the_exponent_need_not_be_whole(self, lesson):
        """D / (D - 2) = 6 / 4 = 1.5, so factor 4 gives 500 * 4 ** 1.5 = 500 * 8."""
        expect.close(lesson.ntk_base(500.0, 4.0, 6), 4000.0, tolerance=1e-5)

    @pytest.mark.parametrize(
        "base, factor, head_dim",
        [(10000.0, 1.5, 64), (1e6, 32.0, 128), (40.0, 9_001.0, 9_002)],
    )
    def test_slowest_pair_is_stretched_by_the_factor(self, lesson, base, factor, head_dim):
        """The wavelength of the last pair, 2 pi * base ** ((D - 2) / D), grows by exactly
        the factor if the base grows by factor ** (D / (D - 2)).
        """
        want = base * math.exp(math.log(factor) * head_dim / (head_dim - 2))
        got = lesson.ntk_base(base=base, factor=factor, head_dim=head_dim)
        expect.close(got, want, tolerance=1e-5)

    def test_any_base_factor_and_width(self, lesson, draw):
        """base * factor ** (D / (D - 2)), for every even width from 4 on."""
        base, factor = float(draw.integer(2, 99_999)), draw.integer(10, 99) / 10
        head_dim = 2 * draw.integer(2, 64)
        want = base * factor ** (head_dim / (head_dim - 2))
        expect.close(lesson.ntk_base(base, factor, head_dim), want, tolerance=1e-5)

    def test_factor_one_stretches_nothing(self, lesson):
        """1 to any power is 1: the base stays. A factor of exactly 1 is allowed."""
        expect.close(lesson.ntk_base(1234.5, 1.0, 64), 1234.5, tolerance=1e-5)

    def test_factor_below_one_is_refused(self, lesson):
        """The factor says how many times longer the text gets, not shorter."""
        expect.rejects(lesson.ntk_base, ValueError, bad=(10000.0, 0.5, 8))

    def test_one_pair_cannot_be_slowed(self, lesson):
        """Pair 0 rotates 1 radian a position whatever the base, and D - 2 = 0 cannot be
        divided by.
        """
        expect.rejects(lesson.ntk_base, ValueError, bad=(10000.0, 2.0, 2))


def up_to_the_query(bias, n_heads, length):
    """A bias as the causal mask leaves it: 0 at later keys, where nothing but a finite
    number or -inf may be.
    """
    later = expect.shape(bias, n_heads, length, length).triu(1)
    cannot_be_masked = later.isnan() | (later == math.inf)
    expect.that(not cannot_be_masked.any(), "at later keys is NaN or inf, which no mask can hide")
    return bias.tril()


def penalties(n_heads, length):
    """(H, T, T): -(2 ** (-8 h / H)) * (query - key) for keys up to the query, else 0."""
    slopes = torch.tensor([2 ** (-8 * h / n_heads) for h in range(1, n_heads + 1)])
    positions = torch.arange(length)
    return (slopes[:, None, None] * (positions - positions[:, None])).tril()


@exercise("alibi_bias")
class TestAlibiBias:
    def test_second_of_eight_heads_by_hand(self, lesson):
        """Head h = 2 of H = 8 has slope 2 ** (-8 * 2 / 8) = 1/4. Rows are queries:
        query 2 looks back two steps to key 0, one to key 1.
        """
        want = torch.tensor([[0.0, 0.0, 0.0], [-0.25, 0.0, 0.0], [-0.5, -0.25, 0.0]])
        bias = up_to_the_query(lesson.alibi_bias(8, 3), 8, 3)
        expect.close(bias[1], want, what="bias[1], later keys masked")

    @pytest.mark.parametrize("n_heads", [1, 2, 8, 1024])
    def test_slopes_fall_from_head_to_head(self, lesson, n_heads):
        """Head h = 1..H has slope 2 ** (-8 h / H). The last one always has 2 ** -8 =
        1/256; eight heads have 1/2, 1/4, ..., 1/256.
        """
        got = expect.shape(lesson.alibi_bias(n_heads, 2), n_heads, 2, 2)
        slopes = [0.5 ** (8 * h / n_heads) for h in range(1, n_heads + 1)]
        expect.close(got[:, 1, 0], -torch.tensor(slopes), what="bias[:, 1, 0]")

    @pytest.mark.parametrize("n_heads, length", [(1, 1), (2, 5), (4, 3), (16, 9)])
    def test_penalty_grows_with_the_distance(self, lesson, draw, n_heads, length):
        """Each step back costs a slope: -slope * (query - key)."""
        length += draw.integer(0, 99)
        got = up_to_the_query(lesson.alibi_bias(n_heads, length), n_heads, length)
        expect.close(got, penalties(n_heads, length), what="the bias, later keys masked")

    def test_penalty_never_stops_growing(self, lesson):
        """One head has the slope 1/256. The last of 530 queries is 529 steps from key 0, ...,
        1 step from key 528: penalties of 529/256, ..., 1/256, 0.
        """
        got = expect.shape(lesson.alibi_bias(1, 530), 1, 530, 530)
        expect.close(got[0, -1], torch.arange(-529, 1) / 256, what="the last row of bias[0]")

    def test_each_call_makes_a_bias_of_its_own(self, lesson):
        """A bias kept from an earlier call serves only a call with the same sizes."""
        for n_heads, length in [(2, 3), (2, 5), (4, 5)]:
            got = up_to_the_query(lesson.alibi_bias(n_heads, length), n_heads, length)
            expect.close(got, penalties(n_heads, length), what="the bias, later keys masked")

    def test_only_powers_of_two_are_accepted(self, lesson):
        """For other numbers of heads the paper mixes two sets of slopes."""
        expect.rejects(lesson.alibi_bias, ValueError, bad=(6, 3))
