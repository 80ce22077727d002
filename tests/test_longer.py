"""Lesson 7: positions that reach further. Grades `exercises/longer.py`.

Shapes: B batch, H heads, T positions, D features of a head.
"""

import math

import pytest
import torch

from course.testing import corner, exercise, expect

OTHER_FLOATS = [torch.float64, torch.bfloat16]
"""Beside float32, which most tests use."""
OTHER_INTEGERS = [torch.int32, torch.int16, torch.int8, torch.uint8]
"""Beside int64, which most tests use."""

ROUNDING = {torch.float32: 1e-4, torch.float64: 1e-4, torch.bfloat16: 1e-1}
"""What every sensible order of operations stays within when it turns a few numbers below 5."""


def turned(x, base=10000.0, places=None, direction=1):
    """Features i and D/2 + i as a complex number, times e ** (i angle), at these places, or 0, 1..

    A place's angle is place * base ** (-2i / D), in float64.
    """
    length, width = x.shape[-2:]
    rates = [base ** (-2 * i / width) for i in range(width // 2)]
    places = range(length) if places is None else places
    angles = torch.tensor([[p * w for w in rates] for p in places], dtype=torch.float64)
    first, second = x.double().tensor_split(2, dim=-1)
    points = torch.complex(first, second) * torch.exp(1j * direction * angles)
    return torch.cat((points.real, points.imag), dim=-1).to(x.dtype)


def expect_device_of_x(make, *args):
    """Expect the result where x is, or of a body that needs the numbers, its new tensors there."""
    if not expect.follows_device(make(), *args):
        expect.stays_on_device(make(), *args)


# --- yarn_frequencies ---------------------------------------------------------------------------


def frequencies(head_dim, base, factor, trained_length, beta_fast=32.0, beta_slow=1.0):
    """The formula, pair by pair, in Python's float64."""
    result = []
    for i in range(head_dim // 2):
        theta = base ** (-2 * i / head_dim)
        turns = trained_length / (2 * math.pi / theta)  # the text, in wavelengths
        if turns >= beta_fast:
            result.append(theta)
        elif turns <= beta_slow:
            result.append(theta / factor)
        else:
            keep = (turns - beta_slow) / (beta_fast - beta_slow)
            result.append(keep * theta + (1 - keep) * theta / factor)
    return result


def expect_frequencies(got, want):
    """Expect these frequencies in float32 or float64, the smallest as exact as the largest."""
    double = isinstance(got, torch.Tensor) and got.dtype == torch.float64
    want = torch.tensor(want, dtype=torch.float64)
    expect.close(got, want if double else want.float())
    off = ((got.double() - want).abs() > 1.1e-5 * want).nonzero().flatten().tolist()
    for i in off[:1]:
        expect.that(False, f"frequency {i} is {got[i]:.6g}, but should be {want[i]:.6g}")


@exercise("yarn_frequencies")
class TestYarnFrequencies:
    def test_a_pair_of_many_turns_keeps_its_frequency(self, lesson):
        """D = 2 has one pair, at 1 radian a position. In 1000 positions it makes
        1000 / 2π = 159 turns, far above 32, so it stays as it is.
        """
        expect_frequencies(lesson.yarn_frequencies(2, 10000.0, 4.0, 1000), [1.0])

    def test_a_pair_of_less_than_a_turn_is_divided(self, lesson):
        """D = 4: the frequencies are 1 and 1/100. In 400 positions the first pair makes
        64 turns and stays; the second makes 0.64, below 1: 1/100 by 8 is 0.00125.
        """
        expect_frequencies(lesson.yarn_frequencies(4, 10000.0, 8.0, 400), [1.0, 0.00125])

    def test_a_pair_between_is_divided_in_part(self, lesson):
        """In 100 positions the pair of D = 2 makes 100 / 2π = 15.9155 turns. From 1 to
        32 turns that is (15.9155 - 1) / 31 = 0.481145 of the way, so this share stays
        and the rest is divided by 4: 0.481145 + 0.518855 / 4 = 0.610859.
        """
        expect_frequencies(lesson.yarn_frequencies(2, 10000.0, 4.0, 100), [0.610859])

    def test_fast_middle_and_slow_side_by_side(self, lesson):
        """D = 6, base 1000: the frequencies are 1, 1/10 and 1/100, which in 628
        positions make 99.95, 9.995 and 0.9995 turns. The first stays and the last is
        halved. The middle one keeps (9.995 - 1) / 31 = 0.290158: with half of the
        rest it is 0.0645079.
        """
        got = lesson.yarn_frequencies(6, 1000.0, 2.0, 628)
        expect_frequencies(got, [1.0, 0.0645079, 0.005])

    def test_the_bounds_may_be_others(self, lesson):
        """1000 positions are 159.155 turns of the pair of D = 2, between 200, given
        first, and 100: 0.59155 stays, and 0.40845 is divided by 4: 0.693663.
        """
        got = lesson.yarn_frequencies(2, 10000.0, 4.0, 1000, 200.0, 100.0)
        expect_frequencies(got, [0.693663])

    def test_each_bound_has_a_name_and_a_default(self, lesson):
        """100 positions are 15.9155 turns. Between the default of 1 and 16 turns
        14.9155 / 15 = 0.994366 stays, between 10 and the default of 32 turns
        5.9155 / 22 = 0.268886; with a fourth of the rest 0.995775 and 0.451665.
        """
        got = lesson.yarn_frequencies(2, 10000.0, 4.0, 100, beta_fast=16.0)
        expect_frequencies(got, [0.995775])
        got = lesson.yarn_frequencies(2, 10000.0, 4.0, 100, beta_slow=10.0)
        expect_frequencies(got, [0.451665])

    def test_a_short_text_divides_every_pair(self, lesson):
        """In 6 positions no pair makes a whole turn: 1, 1/10 and 1/100, each by 5."""
        got = lesson.yarn_frequencies(6, 1000.0, 5.0, 6)
        expect_frequencies(got, [0.2, 0.02, 0.002])

    def test_a_long_text_divides_none(self, lesson):
        """In a million positions 1/10000 radians a position still are 15.9 turns, and
        from 10 turns on a pair stays; at D = 8 and base 1000 the slowest pair makes 895.
        """
        got = lesson.yarn_frequencies(8, 1000.0, 5.0, 1_000_000, beta_fast=10.0)
        expect_frequencies(got, [1.0, 0.177828, 0.0316228, 0.00562341])

    def test_factor_one_changes_nothing(self, lesson):
        """Divided by 1 each frequency is what it was; a factor of exactly 1 is allowed."""
        got = lesson.yarn_frequencies(6, 1000.0, 1.0, 628)
        expect_frequencies(got, [1.0, 0.1, 0.01])

    @pytest.mark.parametrize(
        "head_dim, base, factor, trained_length",
        [
            (128, 10000.0, 16.0, 4096),
            (64, 500000.0, 2.5, 8192),
            (10, 50.0, 8.0, 300),
            (128, 500000.0, 100.0, 131_072),
        ],
    )
    def test_every_pair(self, lesson, head_dim, base, factor, trained_length):
        """Each pair by its own number of turns: some of these heads have a dozen pairs
        between the bounds.
        """
        want = frequencies(head_dim, base, factor, trained_length)
        expect_frequencies(lesson.yarn_frequencies(head_dim, base, factor, trained_length), want)

    def test_any_arguments(self, lesson, draw):
        """The rule holds for every width, base, factor, length and pair of bounds."""
        head_dim, base = 2 * draw.integer(4, 40), float(draw.integer(2, 99_999))
        factor, trained_length = draw.integer(11, 99) / 10, draw.integer(50, 9_999)
        slow = draw.integer(0, 30) / 10
        fast = slow + draw.integer(10, 400) / 10
        want = frequencies(head_dim, base, factor, trained_length, fast, slow)
        got = lesson.yarn_frequencies(head_dim, base, factor, trained_length, fast, slow)
        expect_frequencies(got, want)

    def test_arguments_have_names(self, lesson):
        """As in the signature, in any order."""
        got = lesson.yarn_frequencies(
            beta_slow=0.5,
            trained_length=400,
            factor=3.0,
            head_dim=8,
            beta_fast=20.0,
            base=200.0,
        )
        expect_frequencies(got, frequencies(8, 200.0, 3.0, 400, 20.0, 0.5))

    def test_each_call_is_computed_anew(self, lesson):
        """What an earlier call gave serves only a call with the same six arguments."""
        for arguments in [
            (6, 1000.0, 2.0, 628, 32.0, 1.0),
            (6, 1000.0, 2.0, 628, 32.0, 2.0),
            (6, 1000.0, 2.0, 628, 16.0, 2.0),
            (6, 1000.0, 2.0, 314, 16.0, 2.0),
            (6, 1000.0, 3.0, 314, 16.0, 2.0),
            (6, 500.0, 3.0, 314, 16.0, 2.0),
            (8, 500.0, 3.0, 314, 16.0, 2.0),
        ]:
            expect_frequencies(lesson.yarn_frequencies(*arguments), frequencies(*arguments))


@exercise("yarn_frequencies")
@corner
class TestYarnFrequenciesCorners:
    @pytest.mark.parametrize("odd", [1, 7])
    def test_odd_width_is_refused(self, lesson, odd):
        """Features turn in pairs; with an odd width one would be left over."""
        bad = odd, 10000.0, 4.0, 4096
        expect.rejects(lesson.yarn_frequencies, ValueError, bad=bad, mentions=(odd,))

    @pytest.mark.parametrize("factor", [0.5, 0.99])
    def test_factor_below_one_is_refused(self, lesson, factor):
        """The factor says how many times longer the text gets; below 1 it would get
        shorter.
        """
        bad = 8, 10000.0, factor, 4096
        expect.rejects(lesson.yarn_frequencies, ValueError, bad=bad, mentions=(factor,))

    @pytest.mark.parametrize("fast, slow", [(4.0, 9.0), (7.0, 7.0), (0.25, 1.0)])
    def test_bounds_in_the_wrong_order_are_refused(self, lesson, fast, slow):
        """Between equal bounds there is no way to go, and 0 / 0 has no value."""
        bad = 8, 10000.0, 4.0, 4096, fast, slow
        expect.rejects(lesson.yarn_frequencies, ValueError, bad=bad, mentions=(fast, slow))

    def test_a_trained_length_beyond_int32(self, lesson):
        """Five billion positions are more than an int32 can count."""
        want = frequencies(64, 1e12, 4.0, 5_000_000_000)
        expect_frequencies(lesson.yarn_frequencies(64, 1e12, 4.0, 5_000_000_000), want)


# --- PartialRotary ------------------------------------------------------------------------------


def turned_in_part(x, rotary_dim, base=10000.0, start=0, direction=1):
    """The first features turned as a head of that width, at positions start .., the rest as is."""
    places = range(start, start + x.shape[-2])
    first = turned(x[..., :rotary_dim], base, places, direction)
    return torch.cat((first, x[..., rotary_dim:]), dim=-1)


def expect_the_rest_as_it_was(lesson, x):
    """Expect four of ten features to be turned, and the others to keep every bit."""
    got = expect.tensors(lesson.PartialRotary(8, 10, 4)(x, 2), "x")
    expect.close(got, turned_in_part(x, 4, start=2), tolerance=ROUNDING[x.dtype])
    expect.equal(got[..., 4:], x[..., 4:], what="features 4 to 9")


@exercise("PartialRotary")
class TestPartialRotary:
    def test_first_features_turn_and_last_stay(self, lesson):
        """At position 1 the point (1, 0) becomes (cos 1, sin 1) = (0.5403, 0.8415);
        3 and 4 carry no position.
        """
        rotary = lesson.PartialRotary(8, 4, 2)
        got = rotary(torch.tensor([[1.0, 0.0, 3.0, 4.0]]), offset=1)
        expect.close(got, torch.tensor([[0.5403, 0.8415, 3.0, 4.0]]), tolerance=1e-4)

    def test_pairs_are_halves_of_the_turned_part(self, lesson):
        """Of six features four turn: the points (1, 3) and (2, 4), not (1, 4) and
        (2, 5). With base 100 their rates are 1 and 100 ** (-2 / 4) = 1/10:
        1 cos 1 - 3 sin 1 = -1.9841,     1 sin 1 + 3 cos 1 = 2.4624,
        2 cos .1 - 4 sin .1 = 1.5907,    2 sin .1 + 4 cos .1 = 4.1797.
        """
        rotary = lesson.PartialRotary(8, 6, 4, 100.0)
        got = rotary(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), 1)
        want = torch.tensor([[-1.9841, 1.5907, 2.4624, 4.1797, 5.0, 6.0]])
        expect.close(got, want, tolerance=1e-4)

    @pytest.mark.parametrize(
        "shape, rotary_dim", [((5, 10), 4), ((2, 3, 12), 2), ((4, 3, 5, 16), 6)], ids=str
    )
    def test_positions_count_from_zero(self, lesson, draw, shape, rotary_dim):
        """Row t of the next to last axis is at position t; batch and heads come
        before it. The rates are those of a head of width rotary_dim.
        """
        x = draw.normal(*shape)
        rotary = lesson.PartialRotary(9, shape[-1], rotary_dim)
        expect.close(rotary(x), turned_in_part(x, rotary_dim), tolerance=1e-4)

    def test_rates_are_those_of_the_turned_part(self, lesson):
        """D = 16, of which 4 turn: pair 1 has the rate 10000 ** (-2 / 4) = 1/100, so
        that position 100 turns it by 1. By D it would be 10000 ** (-2 / 16).
        """
        x = torch.zeros(1, 16)
        x[0, 1] = 1.0
        got = expect.tensors(lesson.PartialRotary(101, 16, 4)(x, 100), "x")
        want = torch.zeros(1, 16)
        want[0, 1], want[0, 3] = 0.5403, 0.8415
        expect.close(got, want, tolerance=1e-3)

    @pytest.mark.parametrize("offset", [1, 30])
    def test_positions_count_from_the_offset(self, lesson, draw, offset):
        """Row t is at position offset + t: offset tokens are already in the cache."""
        rotary = lesson.PartialRotary(40, 10, 6)
        x = draw.normal(2, 3, 4, 10)
        want = turned_in_part(x, 6, start=offset)
        expect.close(rotary(x, offset), want, tolerance=1e-4)

    def test_token_by_token_is_all_at_once(self, lesson, draw):
        """With a key/value cache token t comes alone, T = 1, with offset t."""
        rotary = lesson.PartialRotary(3, 6, 4)
        x = draw.normal(2, 3, 6)
        alone = [rotary(x[:, t : t + 1], offset=t) for t in range(3)]
        for one in alone:
            expect.tensors(one, "x")
        expect.close(torch.cat(alone, dim=1), turned_in_part(x, 4), tolerance=1e-4)

    def test_an_offset_is_forgotten_after_its_call(self, lesson, draw):
        """Each call says where its tokens are; the next prompt starts at 0 again."""
        rotary = lesson.PartialRotary(9, 6, 4)
        x = draw.normal(3, 6)
        for offset in (4, 6):
            want = turned_in_part(x, 4, start=offset)
            expect.close(rotary(x, offset=offset), want, tolerance=1e-4)
        expect.close(rotary(x), turned_in_part(x, 4), tolerance=1e-4)

    def test_the_rest_comes_back_bit_for_bit(self, lesson, draw):
        """What carries no position is not computed with, and not rounded."""
        expect_the_rest_as_it_was(lesson, draw.normal(2, 3, 10) / 3)

    @pytest.mark.parametrize("shape", [(5, 6), (2, 3, 4, 7)], ids=str)
    def test_rotary_dim_0_is_the_identity(self, lesson, draw, shape):
        """No feature turns, so all come back bit for bit."""
        x = draw.normal(*shape)
        expect.equal(lesson.PartialRotary(9, shape[-1], 0)(x), x)

    def test_all_features_may_turn(self, lesson, draw):
        """With rotary_dim = D it is lesson 5's RotaryEmbedding."""
        x = draw.normal(2, 5, 6)
        rotary = lesson.PartialRotary(max_seq_len=20, head_dim=6, rotary_dim=6)
        expect.close(rotary(x, 11), turned(x, places=range(11, 16)), tolerance=1e-4)

    def test_a_head_of_odd_width_may_turn_in_part(self, lesson, draw):
        """Of seven features four turn, in two pairs; three need no partners."""
        x = draw.normal(2, 5, 7)
        expect.close(lesson.PartialRotary(9, 7, 4)(x), turned_in_part(x, 4), tolerance=1e-4)

    def test_base_sets_the_rates(self, lesson, draw):
        """Models for long texts have a larger base, such as 500,000; a small one is as
        good.
        """
        x = draw.normal(5, 12)
        for base in (4.0, 500000.0):
            rotary = lesson.PartialRotary(12, 12, 8, base)
            expect.close(rotary(x, 7), turned_in_part(x, 8, base, start=7), tolerance=1e-4)

    def test_modules_share_nothing(self, lesson, draw):
        """Layers with different bases, lengths and numbers of turned features may live
        side by side.
        """
        x = draw.normal(3, 8)
        made = {
            (length, part, base): lesson.PartialRotary(
                max_seq_len=length, head_dim=8, rotary_dim=part, base=base
            )
            for length, part, base in [(5, 4, 10000.0), (5, 4, 40.0), (9, 4, 40.0), (9, 6, 40.0)]
        }
        for (length, part, base), rotary in made.items():
            want = turned_in_part(x, part, base, start=length - 3)
            expect.close(rotary(x, offset=length - 3), want, tolerance=1e-4)

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        rotary, x = lesson.PartialRotary(9, 8, 6), draw.normal(2, 5, 8)
        for training in (True, False):
            rotary.train(training)
            expect.close(rotary(x, 3), turned_in_part(x, 6, start=3), tolerance=1e-4)

    @pytest.mark.parametrize("rotary_dim", [0, 4])
    def test_nothing_is_trained(self, lesson, rotary_dim):
        """Cosines and sines are known. They belong in buffers, not into parameters."""
        names = ", ".join(lesson.PartialRotary(8, 6, rotary_dim).parameters)
        expect.that(not names, f"the module has parameters ({names}), but nothing to learn")

    def test_gradient_turns_backwards(self, lesson, draw):
        """The transpose of a rotation is the rotation by minus the angle; what stays
        passes its gradient on as it is.
        """
        x, upstream = draw.normal(2, 3, 4, 10), draw.normal(2, 3, 4, 10)
        gradients = lesson.PartialRotary(8, 10, 6).gradients(x, offset=2, upstream=upstream)
        want = turned_in_part(upstream, 6, start=2, direction=-1)
        expect.close(gradients[0], want, tolerance=1e-4)

    def test_only_positions_are_limited(self, lesson, draw):
        """Batch and heads may be larger than max_seq_len: T is the next to last axis."""
        x = draw.normal(9, 11, 5, 6)
        expect.close(lesson.PartialRotary(5, 6, 4)(x), turned_in_part(x, 4), tolerance=1e-4)

    def test_changed_numbers_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(3, 5, 6), draw.normal(3, 5, 6)
        rotary, want = lesson.PartialRotary(8, 6, 4), turned_in_part(after, 4)
        expect.sees_changes(rotary, (before,), (after,), want)

    def test_far_positions_are_still_right(self, lesson, draw):
        """Positions 4090 to 4096: the angles are large, and have to be computed in
        float32 or better.
        """
        x = draw.normal(2, 7, 8)
        want = turned_in_part(x, 4, start=4090)
        expect.close(lesson.PartialRotary(4097, 8, 4)(x, 4090), want, tolerance=1e-2)


@exercise("PartialRotary")
@corner
class TestPartialRotaryCorners:
    @pytest.mark.parametrize(
        "head_dim, bad", [(8, 1), (8, 5), (8, -2), (8, -8), (6, 8), (4, 12), (7, 8)]
    )
    def test_rotary_dim_is_even_and_fits_the_head(self, lesson, head_dim, bad):
        """Features turn in pairs, and a head of six cannot turn eight. A slice up to -2
        leaves out two from the end; a number of features does not.
        """
        expect.rejects(lesson.PartialRotary, ValueError, bad=(8, head_dim, bad), mentions=(bad,))

    @pytest.mark.parametrize("length, last", [(3, 5), (1, 7)])
    def test_the_last_position_is_max_seq_len_minus_one(self, lesson, draw, length, last):
        """offset + T may be 8 and no more; without an offset, T may be."""
        x, beyond = draw.normal(2, length, 6), last + 1
        rotary = lesson.PartialRotary(8, 6, 4)
        expect.rejects(rotary, ValueError, good=(x, last), bad=(x, beyond))
        named = (beyond + length + 1, beyond + length, beyond + 1, length)  # or the last position
        expect.rejects(rotary, ValueError, bad=(x, beyond + 1), mentions=named)
        longest, longer = draw.normal(8, 6), draw.normal(9, 6)
        expect.rejects(
            lesson.PartialRotary(8, 6, 4),
            ValueError,
            good=(longest,),
            bad=(longer,),
            mentions=(9, 8),
        )

    def test_negative_offset_is_refused(self, lesson, draw):
        """In Python a negative index counts from the end; a position does not."""
        rotary, x = lesson.PartialRotary(8, 6, 4), draw.normal(2, 6)
        for offset in (-1, -3, -100):
            expect.rejects(rotary, ValueError, bad=(x, offset), mentions=(offset,))

    @pytest.mark.parametrize(
        "dtype, offset, tolerance",
        [(torch.bfloat16, 1003, 1e-1), (torch.float64, 5, 2e-5)],
        ids=str,
    )
    def test_result_has_the_dtype_of_x(self, lesson, draw, dtype, offset, tolerance):
        """The module stays in float32, its input need not. Position 1000 is too much
        for bfloat16, so no angle may be computed in it. A float64 x is turned at least as
        precisely as a float32 one, and what is not turned need not be rounded.
        """
        x = draw.normal(2, 7, 10, dtype=dtype) / 3
        got = lesson.PartialRotary(1010, 10, 6)(x, offset)
        expect.close(got, turned_in_part(x, 6, start=offset), tolerance=tolerance)
        expect_the_rest_as_it_was(lesson, x[:, :3])

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=str)
    def test_moved_to_a_dtype_it_turns_as_before(self, lesson, draw, dtype):
        """`module.to(dtype)` rounds every floating buffer and drops the imaginary part of
        a complex one; no angle may suffer from that.
        """
        rotary = lesson.PartialRotary(4010, 8, 6)
        rotary.to(dtype)
        x = draw.normal(2, 7, 8, dtype=dtype)
        for offset in (3, 254, 4000):
            want = turned_in_part(x, 6, start=offset)
            expect.close(rotary(x, offset), want, tolerance=max(ROUNDING[dtype], 1e-2))

    def test_heads_made_by_a_transpose_are_fine(self, lesson, draw):
        """Attention makes (B, H, T, D) as a transposed (B, T, H, D)."""
        x = draw.normal(2, 4, 3, 10).transpose(1, 2)
        got = lesson.PartialRotary(40, 10, 6)(x, 30)
        expect.close(got, turned_in_part(x, 6, start=30), tolerance=1e-4)

    def test_gradient_comes_after_inference_too(self, lesson, draw):
        """Tables made inside `torch.inference_mode()` and kept would be refused in
        training.
        """
        x, upstream = draw.normal(2, 4, 6), draw.normal(2, 4, 6)
        rotary = lesson.PartialRotary(8, 6, 4)
        expect.learns_after_inference(rotary, x, offset=2, upstream=upstream)

    def test_what_is_kept_follows_to_another_device(self, lesson, draw):
        """After `module.to(device)` everything is where the queries are."""
        expect_device_of_x(lambda: lesson.PartialRotary(8, 6, 4), draw.normal(2, 3, 5, 6), 2)


# --- relative_buckets ---------------------------------------------------------------------------


def bucket(distance, n_buckets=32, max_distance=128):
    """The bucket of one distance, in whole numbers, which are exact.

    A distance d from half on has taken k steps if (d / half) ** n >= (max_distance / half) ** k,
    where n is the number of the shared buckets.
    """
    half = n_buckets // 2
    if distance < half:
        return max(distance, 0)
    shared = n_buckets - half
    return half + sum(
        distance**shared * half**k >= max_distance**k * half**shared for k in range(1, shared)
    )


def on_boundary(distance, n_buckets=32, max_distance=128):
    """Whether rounding may decide the bucket of a distance between half and max_distance."""
    half = n_buckets // 2
    if not half < distance < max_distance:
        return False
    steps = math.log(distance / half) / math.log(max_distance / half) * (n_buckets - half)
    return abs(steps - round(steps)) < 1e-3


def expect_buckets(got, distances, n_buckets=32, max_distance=128):
    """Expect the bucket of each distance, in int64 and in the same shape."""
    buckets = [bucket(d, n_buckets, max_distance) for d in distances.flatten().tolist()]
    expect.equal(got, torch.tensor(buckets, dtype=torch.int64).reshape(distances.shape))


@exercise("relative_buckets")
class TestRelativeBuckets:
    def test_near_distances_have_a_bucket_each(self, lesson):
        """Of 8 buckets half, 4, are for the distances 0, 1, 2 and 3."""
        got = lesson.relative_buckets(torch.tensor([3, 0, 2, 1]), 8, 64)
        expect.equal(got, torch.tensor([3, 0, 2, 1]))

    def test_far_distances_share_buckets_that_grow(self, lesson):
        """8 buckets up to 64: from 4 to 64 is a factor of 16, in 4 steps of 2. So 4 to 7
        have bucket 4, 9 to 15 bucket 5, 17 to 31 bucket 6, 33 to 63 bucket 7.
        """
        distances = torch.tensor([4, 7, 9, 15, 17, 31, 33, 63])
        got = lesson.relative_buckets(distances, 8, 64)
        expect.equal(got, torch.tensor([4, 4, 5, 5, 6, 6, 7, 7]))

    def test_from_max_distance_on_all_share_the_last(self, lesson):
        """64 itself, and whatever lies beyond, even very far."""
        distances = torch.tensor([64, 65, 200, 100_000, 2**40])
        got = lesson.relative_buckets(distances, 8, 64)
        expect.equal(got, torch.tensor([7, 7, 7, 7, 7]))

    def test_max_distance_may_be_far_away(self, lesson):
        """8 buckets up to 2**18: from 4 = 2**2 to 2**18 is a factor of 2**16, in 4 steps of
        2**4, so that 2**5 is still in bucket 4, and 2**17 in 7.
        """
        distances = torch.tensor([3, 2**5, 2**8, 2**9, 2**11, 2**13, 2**15, 2**17, 2**19])
        got = lesson.relative_buckets(distances, 8, 2**18)
        expect.equal(got, torch.tensor([3, 4, 5, 5, 6, 6, 7, 7, 7]))

    def test_later_keys_count_as_distance_0(self, lesson):
        """A key after its query is at a negative distance, which a causal model masks;
        it needs no separate bucket.
        """
        distances = torch.tensor([-1, 0, -3, -40, -1000])
        expect.equal(lesson.relative_buckets(distances, 8, 64), torch.tensor([0, 0, 0, 0, 0]))

    @pytest.mark.parametrize("n_buckets, max_distance", [(8, 64), (7, 50), (2, 10), (32, 17)])
    def test_distance_half_is_the_first_that_is_shared(self, lesson, n_buckets, max_distance):
        """ln(half / half) = 0: half has bucket half, and the one before its own."""
        half = n_buckets // 2
        got = lesson.relative_buckets(torch.tensor([half, half - 1]), n_buckets, max_distance)
        expect.equal(got, torch.tensor([half, half - 1]))

    def test_an_odd_number_of_buckets(self, lesson):
        """Of 5 buckets 2 are for the distances 0 and 1, and 3 are shared, from 2 to 16
        in 3 steps of 2: 2 and 3, then 5 to 7, then 9 and above.
        """
        distances = torch.tensor([0, 1, 2, 3, 5, 7, 9, 15, 16, 40])
        got = lesson.relative_buckets(distances, n_buckets=5, max_distance=16)
        expect.equal(got, torch.tensor([0, 1, 2, 2, 3, 3, 4, 4, 4, 4]))

    def test_thirty_two_buckets_up_to_128_unless_told(self, lesson):
        """T5's: 0 to 15 have one each. Bucket 16 + k begins at 16 * 8 ** (k / 16), so
        that 17 is still in 16; 45 is just below 16 * 8 ** .5 = 45.25, where 24 begins,
        and 112 just below 112.4, where 31 begins.
        """
        distances = torch.tensor([15, 16, 17, 19, 45, 46, 112, 113, 127, 128, 999])
        want = torch.tensor([15, 16, 16, 17, 23, 24, 30, 31, 31, 31, 31])
        expect.equal(lesson.relative_buckets(distances), want)

    @pytest.mark.parametrize(
        "n_buckets, max_distance",
        [(32, 128), (8, 64), (7, 50), (2, 10), (3, 5), (64, 10_000), (40, 21)],
    )
    def test_every_distance(self, lesson, n_buckets, max_distance):
        """Each distance from -9 to 400 but for those where rounding decides."""
        distances = [d for d in range(-9, 401) if not on_boundary(d, n_buckets, max_distance)]
        distances = torch.tensor(distances)
        got = lesson.relative_buckets(distances, n_buckets, max_distance)
        expect_buckets(got, distances, n_buckets, max_distance)

    def test_any_number_of_buckets_and_any_distance(self, lesson, draw):
        """The rule holds from 2 buckets on, for every max_distance above half of them."""
        n_buckets = draw.integer(2, 60)
        max_distance = n_buckets // 2 + draw.integer(1, 500)
        distances = [d for d in range(-3, 600) if not on_boundary(d, n_buckets, max_distance)]
        distances = torch.tensor(distances)
        got = lesson.relative_buckets(distances, n_buckets, max_distance)
        expect_buckets(got, distances, n_buckets, max_distance)

    @pytest.mark.parametrize("shape", [(1,), (2, 3, 4)], ids=str)
    def test_a_bucket_for_every_distance_in_any_shape(self, lesson, draw, shape):
        """The buckets have the shape of the distances."""
        distances = draw.ids(120, *shape) - 20
        expect_buckets(lesson.relative_buckets(distances), distances)

    def test_each_call_is_computed_anew(self, lesson):
        """What an earlier call gave serves only a call with the same arguments."""
        distances = torch.arange(-2, 300)
        for n_buckets, max_distance in [(32, 128), (32, 200), (20, 200), (32, 128)]:
            off = [d for d in distances.tolist() if not on_boundary(d, n_buckets, max_distance)]
            got = lesson.relative_buckets(torch.tensor(off), n_buckets, max_distance)
            expect_buckets(got, torch.tensor(off), n_buckets, max_distance)

    def test_changed_arguments_are_seen(self, lesson):
        """The second call is about other numbers in the same tensor."""
        before, after = torch.tensor([3, 20, -1]), torch.tensor([-4, 100, 7])
        want = torch.tensor([bucket(-4), bucket(100), 7])
        expect.sees_changes(lesson.relative_buckets, (before,), (after,), want)


@exercise("relative_buckets")
@corner
class TestRelativeBucketsCorners:
    @pytest.mark.parametrize("shape", [(), (0,), (2, 0)], ids=str)
    def test_a_single_distance_or_none(self, lesson, draw, shape):
        """A single distance, of shape (), has a single bucket; no distances have none."""
        distances = draw.ids(120, *shape) - 20
        expect_buckets(lesson.relative_buckets(distances), distances)

    def test_memory_order_does_not_matter(self, lesson, draw):
        """A transposed tensor, and every second column of one."""
        distances = draw.ids(120, 4, 6).T[:, ::2] - 20
        expect_buckets(lesson.relative_buckets(distances), distances)

    @pytest.mark.parametrize("dtype", OTHER_INTEGERS, ids=str)
    def test_distances_of_every_integer_dtype(self, lesson, dtype):
        """The buckets are int64, whatever the distances are. int8 has -128, but no
        128; uint8 has 200, but no -1.
        """
        lowest, highest = torch.iinfo(dtype).min, min(torch.iinfo(dtype).max, 5_000)
        distances = torch.tensor([lowest, 0, 3, 16, 40, 100, highest], dtype=dtype)
        expect_buckets(lesson.relative_buckets(distances), distances)

    @pytest.mark.parametrize("dtype", [torch.int8, torch.uint8], ids=str)
    def test_more_buckets_than_the_dtype_can_count(self, lesson, dtype):
        """With 600 buckets all distances below 300 have one each; neither 300 nor 1000
        exists in int8 or uint8.
        """
        highest = torch.iinfo(dtype).max
        distances = torch.tensor([0, 1, 44, 100, highest], dtype=dtype)
        got = lesson.relative_buckets(distances, 600, 1000)
        expect.equal(got, torch.tensor([0, 1, 44, 100, highest]))

    def test_result_stays_on_the_device(self, lesson):
        """Anything made on the way belongs on the device of the distances."""
        expect_device_of_x(lambda: lesson.relative_buckets, torch.tensor([[5, 90, -2]]))


# --- RelativeBias -------------------------------------------------------------------------------


def bias_holding(lesson, weight, max_distance=128):
    """The student's module with this table in it."""
    n_buckets, n_heads = weight.shape
    module = lesson.RelativeBias(n_heads, n_buckets, max_distance)
    if weight.dtype != torch.float32:
        module.to(weight.dtype)
    module.set(weight=weight)
    return module


def bias(weight, q_len, k_len, max_distance=128):
    """(H, q_len, k_len), entry by entry: query i is at position k_len - q_len + i.

    For sizes that put no distance on a boundary.
    """
    n_buckets, n_heads = weight.shape
    want = torch.zeros(n_heads, q_len, k_len, dtype=weight.dtype)
    for i in range(q_len):
        for key in range(k_len):
            distance = k_len - q_len + i - key
            want[:, i, key] = weight[bucket(distance, n_buckets, max_distance)]
    return want


@exercise("RelativeBias")
class TestRelativeBias:
    def test_weight_is_the_one_parameter(self, lesson):
        """A row per bucket, a column per head: 6 buckets, 4 heads."""
        module = lesson.RelativeBias(4, 6, 20)
        shapes = {name: tuple(one.shape) for name, one in module.parameters.items()}
        expect.equal(shapes, {"weight": (6, 4)})
        expect.equal(module.trainable, ["weight"])

    def test_twelve_heads_have_384_parameters(self, lesson):
        """32 buckets unless told otherwise, 12 numbers in each."""
        parameters = lesson.RelativeBias(12).parameters.values()
        expect.equal(sum(one.numel() for one in parameters), 384, what="the parameters")

    def test_own_key_and_all_earlier_ones(self, lesson):
        """2 buckets: distance 0, which later keys count as, too, has bucket 0, and every
        earlier key bucket 1. Two heads hold 1 and 2, and 10 and 20.
        """
        module = bias_holding(lesson, torch.tensor([[1.0, 10.0], [2.0, 20.0]]), 5)
        one = torch.tensor([[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [2.0, 2.0, 1.0]])
        expect.close(module(3, 3), torch.stack((one, 10 * one)))

    def test_distance_counts_back_from_the_query(self, lesson):
        """4 buckets for up to 100: distances 0 and 1 have their own, here 5 and 6; 2 to
        14 share the 7. The last of five queries sees keys 4, 3, 2, 1 and 0 steps back.
        """
        module = bias_holding(lesson, torch.tensor([[5.0], [6.0], [7.0], [8.0]]), 100)
        got = expect.tensors(module(5, 5), "bias")
        expect.equal(got.shape[-1], 5, what="the number of keys")
        expect.close(got[0, -1], torch.tensor([7.0, 7.0, 7.0, 6.0, 5.0]), what="the last query")

    def test_one_query_stands_at_the_last_position(self, lesson):
        """With a cache of 3 keys the next token is the query, and its own key comes
        fourth: distances 3, 2, 1, 0.
        """
        module = bias_holding(lesson, torch.tensor([[1.0, 10.0], [2.0, 20.0]]), 5)
        want = torch.tensor([[[2.0, 2.0, 2.0, 1.0]], [[20.0, 20.0, 20.0, 10.0]]])
        expect.close(module(1, 4), want)

    @pytest.mark.parametrize("q_len, k_len", [(7, 7), (5, 25), (1, 9), (1, 1), (4, 5)])
    def test_every_entry(self, lesson, draw, q_len, k_len):
        """Head h, query i, key j: column h of the bucket of k_len - q_len + i - j."""
        weight = draw.normal(6, 3)
        got = bias_holding(lesson, weight, 20)(q_len, k_len)
        expect.equal(got, bias(weight, q_len, k_len, 20))

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        weight = draw.normal(6, 3)
        module = bias_holding(lesson, weight, 20)
        for training in (True, False):
            module.train(training)
            expect.equal(module(4, 9), bias(weight, 4, 9, 20))

    def test_thirty_two_buckets_up_to_128_unless_told(self, lesson, draw):
        """As in relative_buckets: 150 keys reach the last bucket."""
        weight = draw.normal(32, 2)
        module = lesson.RelativeBias(2)
        module.set(weight=weight)
        expect.equal(module(3, 150), bias(weight, 3, 150))

    @pytest.mark.parametrize("n_buckets, max_distance", [(7, 50), (32, 50), (2, 10), (9, 100)])
    def test_every_number_of_buckets(self, lesson, draw, n_buckets, max_distance):
        """Both numbers reach the buckets."""
        weight = draw.normal(n_buckets, 3)
        got = bias_holding(lesson, weight, max_distance)(2, 60)
        expect.equal(got, bias(weight, 2, 60, max_distance))

    def test_arguments_have_names(self, lesson, draw):
        """As in the signatures."""
        weight = draw.normal(6, 3)
        module = lesson.RelativeBias(max_distance=20, n_buckets=6, n_heads=3)
        module.set(weight=weight)
        expect.equal(module(k_len=9, q_len=4), bias(weight, 4, 9, 20))

    def test_token_by_token_is_all_at_once(self, lesson, draw):
        """Read with a cache, token t comes alone as a query of t + 1 keys; its row is
        the beginning of row t of the whole text's.
        """
        weight = draw.normal(6, 3)
        module, whole = bias_holding(lesson, weight, 20), bias(weight, 4, 4, 20)
        for t in range(4):
            expect.equal(module(1, t + 1), whole[:, t : t + 1, : t + 1])

    def test_calls_may_differ_in_length(self, lesson, draw):
        """What one call computed must not serve another of different lengths."""
        weight = draw.normal(6, 3)
        module = bias_holding(lesson, weight, 20)
        for q_len, k_len in [(4, 4), (4, 9), (2, 9), (9, 9), (4, 4)]:
            expect.equal(module(q_len, k_len), bias(weight, q_len, k_len, 20))

    def test_modules_share_nothing(self, lesson, draw):
        """Each layer has its own table and its own buckets."""
        small, large = draw.normal(6, 3), draw.normal(9, 3)
        made = [(small, 20), (large, 20), (small, 50), (-small, 50)]
        modules = [bias_holding(lesson, *one) for one in made]
        for module, (weight, max_distance) in zip(modules, made, strict=True):
            expect.equal(module(2, 30), bias(weight, 2, 30, max_distance))

    def test_the_bias_follows_the_table_as_it_learns(self, lesson, draw):
        """Training changes the weights between two calls, so no copy may be kept."""
        module, trained = bias_holding(lesson, draw.normal(6, 3), 20), draw.normal(6, 3)
        module(3, 7)
        module.set(weight=trained)
        expect.equal(module(3, 7), bias(trained, 3, 7, 20))

    def test_gradients_add_up_in_their_bucket(self, lesson, draw):
        """Each entry is a copy of one number of the table; what reaches its copies adds
        up, and a bucket without any gets zero.
        """
        weight, upstream = draw.normal(6, 3), draw.normal(3, 2, 5)
        want = torch.zeros(6, 3)
        for i in range(2):
            for key in range(5):
                want[bucket(3 + i - key, 6, 20)] += upstream[:, i, key]
        got = bias_holding(lesson, weight, 20).gradients(2, 5, upstream=upstream)["weight"]
        expect.close(got.to_dense(), want)

    def test_weights_are_normal_and_small(self, lesson):
        """40,000 draws from N(0, 0.02²): their standard deviation is 0.02, not their
        variance, and 4.6 % of them lie beyond two of it. Right ones miss a bound once
        in a hundred million times.
        """
        weight = lesson.RelativeBias(200, 200).parameters["weight"].double()
        expect.that(not weight[1:].equal(weight[:-1]), "all rows of the weights are the same")
        mean, std = weight.mean().item(), weight.std().item()
        expect.close(std, 0.02, tolerance=0.0005, what="the standard deviation of the weights")
        expect.close(mean, 0.0, tolerance=0.0006, what="the mean of the weights")
        beyond = (weight.abs() > 0.04).double().mean().item()
        expect.that(
            abs(beyond - 0.0455) < 0.0065,
            f"{beyond:.1%} of the weights lie beyond ±0.04; of N(0, 0.02²) it is 4.6%",
        )
        least = min(weight.std(dim=0).min().item(), weight.std(dim=1).min().item())
        expect.that(least > 0.01, f"a row or column has the standard deviation {least:.2g}")


@exercise("RelativeBias")
@corner
class TestRelativeBiasCorners:
    def test_more_queries_than_keys_are_refused(self, lesson):
        """Each query is at the position of a key; five queries have at least five keys."""
        for q_len, k_len in [(6, 5), (9, 1)]:
            module = lesson.RelativeBias(3, 8, 64)
            bad = q_len, k_len
            expect.rejects(module, ValueError, bad=bad, mentions=(q_len, k_len))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=str)
    def test_the_bias_has_the_dtype_of_the_table(self, lesson, draw, dtype):
        """`module.to(dtype)` converts the parameter; what is made of it follows. Distances
        are not rounded to it: bfloat16 cannot tell 257 from 256.
        """
        weight = draw.normal(600, 2, dtype=dtype) / 3
        expect.equal(bias_holding(lesson, weight, 900)(2, 290), bias(weight, 2, 290, 900))

    def test_the_bias_is_where_the_table_is(self, lesson):
        """With the module on a GPU it is on the GPU; "meta" takes its place here."""
        expect_device_of_x(lambda: lesson.RelativeBias(3, 6, 20), 4, 9)

    def test_gradient_comes_after_inference_too(self, lesson, draw):
        """Buckets made inside `torch.inference_mode()` and kept would be refused in
        training. Evaluation mode changes nothing.
        """
        module = bias_holding(lesson, draw.normal(6, 3), 20)
        module.train(False)
        expect.learns_after_inference(module, 2, 5, upstream=draw.normal(3, 2, 5))

    def test_the_seed_repeats_the_weights(self, lesson):
        """The draws come from PyTorch's global generator, which nobody seeds."""
        drawn = []
        for seed in 1, 1, 2:
            lesson.seed(seed)
            drawn.append(lesson.RelativeBias(3).parameters["weight"])
        first, again, other = drawn
        expect.that(first.equal(again), "one seed gives different weights")
        expect.that(not first.equal(other), "two seeds give the same weights")


# --- rope_2d ------------------------------------------------------------------------------------


def turned_2d(x, rows, cols, base=10000.0, direction=1):
    """The first half of the features turned at the rows, the second half at the columns."""
    upper, lower = x.tensor_split(2, dim=-1)
    by_row = turned(upper, base, rows.tolist(), direction)
    return torch.cat((by_row, turned(lower, base, cols.tolist(), direction)), dim=-1)


def some_places(draw, length, lowest, highest, dtype=torch.int64):
    """Rows and columns between two numbers, both included."""
    rows, cols = draw.ids(highest - lowest + 1, 2, length) + lowest
    return rows.to(dtype), cols.to(dtype)


@exercise("rope_2d")
class TestRope2d:
    def test_the_column_turns_the_second_half(self, lesson):
        """At row 0 and column 1 the first point (1, 0) stays, and the second becomes
        (cos 1, sin 1) = (0.5403, 0.8415).
        """
        x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
        got = lesson.rope_2d(x, torch.tensor([0]), torch.tensor([1]))
        expect.close(got, torch.tensor([[1.0, 0.0, 0.5403, 0.8415]]), tolerance=1e-4)

    def test_the_row_turns_the_first_half(self, lesson):
        """At row 2 and column 0 the first point becomes (cos 2, sin 2) =
        (-0.4161, 0.9093).
        """
        x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
        got = lesson.rope_2d(x, rows=torch.tensor([2]), cols=torch.tensor([0]))
        expect.close(got, torch.tensor([[-0.4161, 0.9093, 1.0, 0.0]]), tolerance=1e-4)

    def test_corner_zero_changes_nothing(self, lesson, draw):
        """At row 0 and column 0 all angles are 0."""
        x, zero = draw.normal(3, 1, 8), torch.tensor([0])
        expect.close(lesson.rope_2d(x, zero, zero), x)

    def test_pairs_are_halves_of_each_half(self, lesson):
        """D = 8, base 100: each half has the rates 1 and 100 ** (-2 / 4) = 1/10. At row
        1 the points (1, 3) and (2, 4) turn by 1 and 0.1:
        1 cos 1 - 3 sin 1 = -1.9841,     1 sin 1 + 3 cos 1 = 2.4624,
        2 cos .1 - 4 sin .1 = 1.5907,    2 sin .1 + 4 cos .1 = 4.1797;
        at column 2 the points (5, 7) and (6, 8) by 2 and 0.2.
        """
        x = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]])
        got = lesson.rope_2d(x, torch.tensor([1]), torch.tensor([2]), 100.0)
        want = [-1.9841, 1.5907, 2.4624, 4.1797, -8.4458, 4.2910, 1.6335, 9.0326]
        expect.close(got, torch.tensor([want]), tolerance=1e-4)

    def test_slowest_pair_is_that_of_half_a_head(self, lesson):
        """D = 8: the halves have width 4, so their second pair has the rate
        10000 ** (-2 / 4) = 1/100, and row 100 turns it by 1: (0.5403, 0.8415). By a
        width of 8 it would turn ten times as fast.
        """
        x = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
        got = lesson.rope_2d(x, torch.tensor([100]), torch.tensor([0]))
        want = torch.tensor([[0.0, 0.5403, 0.0, 0.8415, 0.0, 0.0, 0.0, 0.0]])
        expect.close(got, want, tolerance=1e-4)

    @pytest.mark.parametrize("shape", [(6, 4), (3, 6, 8), (2, 3, 6, 12), (6, 6, 6, 16)], ids=str)
    def test_a_picture_of_two_by_three(self, lesson, draw, shape):
        """Six patches, row by row; batch and heads come before them."""
        x, rows, cols = draw.normal(*shape), torch.arange(6) // 3, torch.arange(6) % 3
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-4)

    def test_places_in_any_order(self, lesson, draw):
        """Only the numbers in rows and cols count: positions may repeat, be left out, and
        come in any order.
        """
        x, (rows, cols) = draw.normal(2, 9, 8), some_places(draw, 9, 0, 40)
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-4)

    def test_a_negative_place_turns_backwards(self, lesson):
        """(1, 0) turned by -1 is (cos 1, -sin 1) = (0.5403, -0.8415), and by -2
        (-0.4161, -0.9093).
        """
        x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
        got = lesson.rope_2d(x, torch.tensor([-1]), torch.tensor([-2]))
        expect.close(got, torch.tensor([[0.5403, -0.8415, -0.4161, -0.9093]]), tolerance=1e-4)

    @pytest.mark.parametrize("lowest, highest", [(-30, 30), (-30, -5), (-3, 200)])
    def test_places_left_and_right_of_zero(self, lesson, draw, lowest, highest):
        """A grid may be counted from its middle. In Python a negative index counts from
        the end of a table; a place does not.
        """
        x, (rows, cols) = draw.normal(2, 7, 8), some_places(draw, 7, lowest, highest)
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-4)

    def test_rows_and_columns_differ_in_size(self, lesson, draw):
        """A wide picture has more columns than rows; a tall one the other way round."""
        x, (few, _), (many, _) = (
            draw.normal(5, 8),
            some_places(draw, 5, 0, 2),
            some_places(draw, 5, 100, 300),
        )
        expect.close(lesson.rope_2d(x, few, many), turned_2d(x, few, many), tolerance=1e-3)
        expect.close(lesson.rope_2d(x, many, few), turned_2d(x, many, few), tolerance=1e-3)

    @pytest.mark.parametrize("base", [4.0, 500000.0])
    def test_base_sets_the_rates(self, lesson, draw, base):
        """In each half pair i turns base ** (-2i / (D/2)) radians a step."""
        x, (rows, cols) = draw.normal(5, 12), some_places(draw, 5, -9, 30)
        want = turned_2d(x, rows, cols, base)
        expect.close(lesson.rope_2d(x, rows, cols, base=base), want, tolerance=1e-4)

    def test_each_call_is_computed_anew(self, lesson, draw):
        """Tables kept from an earlier call serve only a call that needs the same."""
        rows, cols = some_places(draw, 5, 0, 9)
        for width, shift, base in [(8, 0, 1e4), (8, 0, 50.0), (8, 40, 50.0), (16, 40, 50.0)]:
            x, low, high = draw.normal(2, 5, width), rows + shift, cols - shift
            got = lesson.rope_2d(x, low, high, base)
            expect.close(got, turned_2d(x, low, high, base), tolerance=1e-4)

    def test_scores_depend_on_the_way_alone(self, lesson, draw):
        """Moved by 3 rows and -7 columns, queries and keys give the same dot products:
        only the way from one to the other counts.
        """
        q, k = draw.normal(4, 8), draw.normal(4, 8)
        rows, cols = some_places(draw, 4, 0, 9)
        want = turned_2d(q, rows, cols) @ turned_2d(k, rows, cols).T
        q, k = (lesson.rope_2d(x, rows + 3, cols - 7) for x in (q, k))
        for got in (q, k):
            expect.shape(got, 4, 8)
        expect.close(q @ k.T, want, tolerance=1e-3)

    def test_gradient_turns_backwards(self, lesson, draw):
        """The transpose of a rotation is the rotation by minus the angle."""
        x, upstream = draw.normal(2, 5, 8), draw.normal(2, 5, 8)
        rows, cols = some_places(draw, 5, -9, 30)
        gradients = lesson.rope_2d.gradients(x, rows, cols, upstream=upstream)
        want = turned_2d(upstream, rows, cols, direction=-1)
        expect.close(gradients[0], want, tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensors."""
        before = draw.normal(3, 4, 8), *some_places(draw, 4, -9, 9)
        after = draw.normal(3, 4, 8), *some_places(draw, 4, -9, 9)
        expect.sees_changes(lesson.rope_2d, before, after, turned_2d(*after))

    def test_far_places_are_still_right(self, lesson, draw):
        """4096 either way: the angles are large, and have to be computed in float32 or
        better.
        """
        x = draw.normal(2, 4, 8)
        rows = torch.tensor([4096, -4096, 4095, -4001], dtype=torch.int16)
        cols = torch.tensor([-4090, 17, -1, 4096], dtype=torch.int16)
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-2)


@exercise("rope_2d")
@corner
class TestRope2dCorners:
    @pytest.mark.parametrize("width", [2, 6, 9])
    def test_width_must_be_divisible_by_four(self, lesson, draw, width):
        """Each of the two halves must split into pairs: six features would be halves
        of one pair and a half.
        """
        places = torch.tensor([0, 1, 2])
        bad = draw.normal(2, 3, width), places, places
        expect.rejects(lesson.rope_2d, ValueError, bad=bad, mentions=(width, width / 2))

    @pytest.mark.parametrize(
        "tokens, n_rows, n_cols", [(5, 4, 5), (5, 5, 7), (5, 6, 6), (5, 1, 5), (5, 5, 1), (1, 3, 3)]
    )
    def test_every_token_needs_a_row_and_a_column(self, lesson, draw, tokens, n_rows, n_cols):
        """T tokens have T positions. Without a check, a single position would be broadcast to
        all tokens, and a single token to all positions.
        """
        bad = draw.normal(2, tokens, 8), torch.arange(n_rows), torch.arange(n_cols)
        mentions = tuple({n_rows, n_cols, tokens})
        expect.rejects(lesson.rope_2d, ValueError, bad=bad, mentions=mentions)

    @pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8], ids=str)
    def test_places_of_every_signed_dtype(self, lesson, draw, dtype):
        """The dtype says how places are stored. int8 goes from -128 to 127; there is no
        128 in it, and -(-128) is -128 again.
        """
        x = draw.normal(5, 8)
        rows = torch.tensor([-128, 3, 127, 0, -1], dtype=dtype)
        cols = torch.tensor([127, -128, 2, -5, 100], dtype=dtype)
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-3)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=str)
    def test_result_has_the_dtype_of_x(self, lesson, draw, dtype):
        """Place 1000 is too much for bfloat16, so no angle may be computed in it."""
        x = draw.normal(2, 5, 8, dtype=dtype)
        rows, cols = some_places(draw, 5, 990, 1010)
        want = turned_2d(x, rows, -cols)
        tolerance = max(ROUNDING[dtype], 1e-3)
        expect.close(lesson.rope_2d(x, rows, -cols), want, tolerance=tolerance)

    def test_memory_order_does_not_matter(self, lesson, draw):
        """Heads are made by a transpose, and rows and columns may be those of a table of
        places (T, 2).
        """
        x, places = draw.normal(2, 5, 3, 8).transpose(1, 2), draw.ids(30, 5, 2) - 10
        rows, cols = places[:, 0], places[:, 1]
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-4)

    def test_result_stays_on_the_device(self, lesson, draw):
        """Anything made on the way belongs on the device of x, not on the CPU."""
        places = torch.tensor([2, 0, -3, 1])
        expect_device_of_x(lambda: lesson.rope_2d, draw.normal(2, 4, 8), places, places + 1)
