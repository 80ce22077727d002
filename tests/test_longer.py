"""Lesson 7: positions that reach further. Grades `exercises/longer.py`.

Shapes: B batch, H heads, T positions, D features of a head.
"""

import math

import pytest
import torch

from course.testing import exercise, expect


def rotated(x, base=10000.0, positions=None, direction=1):
    """Features i and D/2 + i as a complex number, times e ** (i angle), at positions, or 0, 1, ..

    A position's angle is position * base ** (-2i / D), in float64.
    """
    length, width = x.shape[-2:]
    rates = [base ** (-2 * i / width) for i in range(width // 2)]
    positions = torch.arange(length) if positions is None else torch.as_tensor(positions)
    angles = torch.outer(positions.double(), torch.tensor(rates, dtype=torch.float64))
    first, second = x.double().tensor_split(2, dim=-1)
    points = torch.complex(first, second) * torch.exp(1j * direction * angles)
    return torch.cat((points.real, points.imag), dim=-1).to(x.dtype)


MANY = 5_000
"""More than limits that somebody may have written down, such as 4,096: no size changes a rule."""


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
    want = torch.tensor(want)
    expect.close(got, want, tolerance=1e-4, any_width=True)
    off = ((got - want).abs() > 1e-4 * want).nonzero().flatten().tolist()
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

    def test_each_bound_has_a_name_and_a_default(self, lesson):
        """100 positions are 15.9155 turns. Between the default of 1 and 16 turns
        14.9155 / 15 = 0.994366 stays, between 10 and the default of 32 turns
        5.9155 / 22 = 0.268886; with a fourth of the rest 0.995775 and 0.451665.
        """
        got = lesson.yarn_frequencies(2, 10000.0, 4.0, 100, beta_fast=16.0)
        expect_frequencies(got, [0.995775])
        got = lesson.yarn_frequencies(2, 10000.0, 4.0, 100, beta_slow=10.0)
        expect_frequencies(got, [0.451665])

    @pytest.mark.parametrize(
        "head_dim, base, factor, trained_length",
        [
            (128, 10000.0, 16.0, 4096),
            (64, 500000.0, 2.5, 65_536),
            (10, 50.0, 8.0, 300),
            (6, 1000.0, 5.0, 6),
            (MANY, 500000.0, 100.0, 131_072),
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
        fast = slow + draw.integer(40, 400) / 10
        want = frequencies(head_dim, base, factor, trained_length, fast, slow)
        got = lesson.yarn_frequencies(head_dim, base, factor, trained_length, fast, slow)
        expect_frequencies(got, want)

    def test_bounds_may_be_wider_than_usual(self, lesson):
        """From 0.1 to 100 turns: pairs of 50 turns and of half a turn are between them."""
        want = frequencies(64, 10000.0, 4.0, 4096, 100.0, 0.1)
        expect_frequencies(lesson.yarn_frequencies(64, 10000.0, 4.0, 4096, 100.0, 0.1), want)

    def test_each_call_is_computed_anew(self, lesson):
        """Every argument counts, so what an earlier call gave serves no other call."""
        for arguments in [
            (6, 1000.0, 2.0, 628, 32.0, 1.0),
            (6, 1000.0, 2.0, 628, 32.0, 2.5),
            (6, 1000.0, 2.0, 628, 16.5, 2.5),
            (6, 1000.0, 2.0, 314, 16.5, 2.5),
            (6, 1000.0, 3.0, 314, 16.5, 2.5),
            (6, 500.0, 3.0, 314, 16.5, 2.5),
            (8, 500.0, 3.0, 314, 16.5, 2.5),
        ]:
            expect_frequencies(lesson.yarn_frequencies(*arguments), frequencies(*arguments))

    def test_what_makes_no_sense_is_refused(self, lesson):
        """An odd width, a factor below 1 (1 itself is fine), and bounds that are equal or
        in the wrong order.
        """
        good = 8, 10000.0, 1.0, 4096
        for bad in (
            (7, 10000.0, 4.0, 4096),
            (8, 10000.0, 0.99, 4096),
            (8, 10000.0, 4.0, 4096, 7.0, 7.0),
            (8, 10000.0, 4.0, 4096, 4.0, 9.0),
        ):
            expect.rejects(lesson.yarn_frequencies, ValueError, good=good, bad=bad)


# --- PartialRotary ------------------------------------------------------------------------------


def turned_in_part(x, rotary_dim, base=10000.0, start=0, direction=1):
    """The first features rotated as a head of that width, at positions start .., the rest as is."""
    positions = torch.arange(start, start + x.shape[-2])
    first = rotated(x[..., :rotary_dim], base, positions, direction)
    return torch.cat((first, x[..., rotary_dim:]), dim=-1)


@exercise("PartialRotary")
class TestPartialRotary:
    def test_first_features_rotate_and_last_stay(self, lesson):
        """At position 1 the point (1, 0) becomes (cos 1, sin 1) = (0.5403, 0.8415);
        3 and 4 carry no position.
        """
        rotary = lesson.PartialRotary(8, 4, 2)
        got = rotary(torch.tensor([[1.0, 0.0, 3.0, 4.0]]), offset=1)
        expect.close(got, torch.tensor([[0.5403, 0.8415, 3.0, 4.0]]), tolerance=1e-4)

    def test_pairs_are_halves_of_the_rotated_part(self, lesson):
        """Of six features four rotate: the points (1, 3) and (2, 4), not (1, 4) and
        (2, 5). With base 100 their rates are 1 and 100 ** (-2 / 4) = 1/10:
        1 cos 1 - 3 sin 1 = -1.9841,     1 sin 1 + 3 cos 1 = 2.4624,
        2 cos .1 - 4 sin .1 = 1.5907,    2 sin .1 + 4 cos .1 = 4.1797.
        """
        rotary = lesson.PartialRotary(8, 6, 4, 100.0)
        got = rotary(torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), 1)
        want = torch.tensor([[-1.9841, 1.5907, 2.4624, 4.1797, 5.0, 6.0]])
        expect.close(got, want, tolerance=1e-4)

    def test_rates_are_those_of_the_rotated_part(self, lesson):
        """D = 16, of which 4 rotate: pair 1 has the rate 10000 ** (-2 / 4) = 1/100, so
        that position 100 rotates it by 1. By D it would be 10000 ** (-2 / 16).
        """
        x, want = torch.zeros(1, 16), torch.zeros(1, 16)
        x[0, 1] = 1.0
        want[0, 1], want[0, 3] = 0.5403, 0.8415
        expect.close(lesson.PartialRotary(101, 16, 4)(x, 100), want, tolerance=1e-3)

    @pytest.mark.parametrize(
        "shape, rotary_dim", [((5, 10), 4), ((2, 3, 12), 2), ((4, 3, 5, 16), 6)], ids=str
    )
    @pytest.mark.parametrize("offset", [0, 30])
    def test_positions_count_from_the_offset(self, lesson, draw, shape, rotary_dim, offset):
        """Row t of the next to last axis is at position offset + t; batch and heads come
        before it.
        """
        x = draw.normal(*shape)
        rotary = lesson.PartialRotary(offset + shape[-2], shape[-1], rotary_dim)
        expect.close(rotary(x, offset), turned_in_part(x, rotary_dim, start=offset), tolerance=1e-4)

    @pytest.mark.parametrize("shape", [(5, 6), (2, 3, 4, 7)], ids=str)
    def test_rotary_dim_0_is_the_identity(self, lesson, draw, shape):
        """No feature rotates, so all come back as they are."""
        x = draw.normal(*shape)
        expect.close(lesson.PartialRotary(9, shape[-1], 0)(x), x)

    def test_all_features_may_rotate(self, lesson, draw):
        """With rotary_dim = D it is lesson 5's RotaryEmbedding."""
        x = draw.normal(2, 5, 6)
        rotary = lesson.PartialRotary(max_seq_len=20, head_dim=6, rotary_dim=6)
        expect.close(rotary(x, 11), rotated(x, positions=range(11, 16)), tolerance=1e-4)

    def test_a_head_of_odd_width_may_rotate_in_part(self, lesson, draw):
        """Of seven features four rotate, in two pairs; three need no partners."""
        x = draw.normal(2, 5, 7)
        expect.close(lesson.PartialRotary(9, 7, 4)(x), turned_in_part(x, 4), tolerance=1e-4)

    def test_token_by_token_is_all_at_once(self, lesson, draw):
        """With a key/value cache token t comes alone, T = 1, with offset t; models write in
        evaluation mode. The next prompt starts at 0 again.
        """
        rotary = lesson.PartialRotary(3, 6, 4)
        rotary.train(False)
        x = draw.normal(2, 3, 6)
        want = turned_in_part(x, 4)
        for t in range(3):
            got = rotary(x[:, t : t + 1], offset=t)
            expect.close(got, want[:, t : t + 1], tolerance=1e-4)
        expect.close(rotary(x), want, tolerance=1e-4)

    def test_modules_share_nothing(self, lesson, draw):
        """Layers with different bases, lengths and numbers of rotated features may live
        side by side.
        """
        x = draw.normal(3, 8)
        sizes = [(5, 4, 500000.0), (5, 4, 40.0), (9, 4, 40.0), (9, 6, 40.0)]
        made = [
            lesson.PartialRotary(max_seq_len=length, head_dim=8, rotary_dim=part, base=base)
            for length, part, base in sizes
        ]
        for rotary, (length, part, base) in zip(made, sizes, strict=True):
            want = turned_in_part(x, part, base, start=length - 3)
            expect.close(rotary(x, offset=length - 3), want, tolerance=1e-4)

    def test_nothing_is_trained(self, lesson):
        """The angles are known, so nothing is left to learn."""
        names = ", ".join(lesson.PartialRotary(8, 6, 4).parameters)
        expect.that(not names, f"the module has parameters ({names}), but nothing to learn")

    def test_gradient_rotates_backwards(self, lesson, draw):
        """The transpose of a rotation is the rotation by minus the angle; what stays
        passes its gradient on as it is.
        """
        x, upstream = draw.normal(2, 3, 4, 10), draw.normal(2, 3, 4, 10)
        gradients = lesson.PartialRotary(8, 10, 6).gradients(x, offset=2, upstream=upstream)
        want = turned_in_part(upstream, 6, start=2, direction=-1)
        expect.close(gradients[0], want, tolerance=1e-4)

    def test_changed_numbers_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(3, 5, 6), draw.normal(3, 5, 6)
        rotary, want = lesson.PartialRotary(8, 6, 4), turned_in_part(after, 4)
        expect.sees_changes(rotary, (before,), (after,), want)

    @pytest.mark.parametrize(
        "shape, rotary_dim, start",
        [
            ((2, MANY), MANY - 2, 9),
            ((MANY, 4), 2, 0),
            ((MANY, 1, 4), 2, 4095),
            ((1, MANY, 1, 4), 2, 4095),
        ],
        ids=str,
    )
    def test_long_texts_wide_heads_and_large_batches(self, lesson, draw, shape, rotary_dim, start):
        """No size changes the rule, and neither does a position as far as 4,096, where the
        angles are large.
        """
        x = draw.normal(*shape)
        got = lesson.PartialRotary(start + shape[-2], shape[-1], rotary_dim)(x, start)
        expect.close(got, turned_in_part(x, rotary_dim, start=start), tolerance=1e-2)

    def test_rotary_dim_is_even_and_fits_the_head(self, lesson):
        """Features rotate in pairs, and a head of six cannot rotate eight."""
        for head_dim, bad in [(8, 5), (8, -2), (6, 8)]:
            expect.rejects(lesson.PartialRotary, ValueError, bad=(8, head_dim, bad))


# --- relative_buckets ---------------------------------------------------------------------------


def steps_to(distance, n_buckets, max_distance):
    """How many shared buckets lie between half and a distance, with a fraction."""
    half = n_buckets // 2
    return math.log(distance / half) / math.log(max_distance / half) * (n_buckets - half)


def bucket(distance, n_buckets=32, max_distance=128):
    """The bucket of one distance that is on no boundary, except `half`."""
    half = n_buckets // 2
    if distance < half:
        return max(distance, 0)
    return min(half + int(steps_to(distance, n_buckets, max_distance)), n_buckets - 1)


def off_boundary(distances, n_buckets=32, max_distance=128):
    """The distances but for those where rounding may decide the bucket."""
    half = n_buckets // 2
    return [
        d
        for d in distances
        if not half < d < max_distance
        or abs((steps_to(d, n_buckets, max_distance) + 0.5) % 1 - 0.5) > 1e-3
    ]


def expect_buckets(got, distances, n_buckets=32, max_distance=128):
    """Expect the bucket of each distance, in the same shape."""
    buckets = [bucket(d, n_buckets, max_distance) for d in distances.flatten().tolist()]
    expect.equal(got, torch.tensor(buckets).reshape(distances.shape))


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
        got = lesson.relative_buckets(torch.tensor([64, 65, 200, 100_000]), 8, 64)
        expect.equal(got, torch.tensor([7, 7, 7, 7]))

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
        [(32, 128), (7, 50), (2, 10), (64, 200_000), (3_000, 11_000)],
    )
    def test_every_distance(self, lesson, n_buckets, max_distance):
        """Near, far and very far ones, but for those where rounding decides."""
        distances = [*range(-9, 401), *range(401, 12_000, 97), 50_000, 190_000]
        distances = torch.tensor(off_boundary(distances, n_buckets, max_distance))
        got = lesson.relative_buckets(distances, n_buckets, max_distance)
        expect_buckets(got, distances, n_buckets, max_distance)

    def test_any_number_of_buckets_and_any_distance(self, lesson, draw):
        """The rule holds from 2 buckets on, for every max_distance above half of them."""
        n_buckets = draw.integer(2, 60)
        max_distance = n_buckets // 2 + draw.integer(1, 500)
        distances = torch.tensor(off_boundary(range(-3, 600), n_buckets, max_distance))
        got = lesson.relative_buckets(distances, n_buckets, max_distance)
        expect_buckets(got, distances, n_buckets, max_distance)

    @pytest.mark.parametrize("shape", [(2, 3, 4), (1100, 1)], ids=str)
    def test_a_bucket_for_every_distance_in_any_shape(self, lesson, draw, shape):
        """The buckets have the shape of the distances."""
        distances = draw.ids(120, *shape) - 20
        expect_buckets(lesson.relative_buckets(distances), distances)

    def test_a_single_distance(self, lesson):
        """A distance of shape () has one bucket, of shape ()."""
        expect.equal(lesson.relative_buckets(torch.tensor(3)), torch.tensor(3))

    def test_each_call_is_computed_anew(self, lesson):
        """What an earlier call gave serves only a call with the same arguments."""
        for n_buckets, max_distance in [(32, 128), (32, 200), (20, 200), (32, 128)]:
            distances = torch.tensor([-2, 3, 12, 20, 50, 100, 150, 250])
            got = lesson.relative_buckets(distances, n_buckets, max_distance)
            expect_buckets(got, distances, n_buckets, max_distance)

    def test_changed_arguments_are_seen(self, lesson):
        """The second call is about other numbers in the same tensor."""
        before, after = torch.tensor([3, 20, -1, 5, 60]), torch.tensor([-4, 100, 7, 20, 300])
        want = torch.tensor([bucket(d) for d in after.tolist()])
        expect.sees_changes(lesson.relative_buckets, (before,), (after,), want)


# --- RelativeBias -------------------------------------------------------------------------------


def bias_holding(lesson, weight, max_distance=128):
    """The student's module with this table in it."""
    n_buckets, n_heads = weight.shape
    module = lesson.RelativeBias(n_heads, n_buckets, max_distance)
    module.set(weight=weight)
    return module


def bias(weight, q_len, k_len, max_distance=128):
    """(H, q_len, k_len): the row of each distance, from the last query's first key to a later one.

    For sizes that put no distance on a boundary.
    """
    back = range(k_len - 1, -q_len, -1)
    per_distance = weight[[bucket(d, len(weight), max_distance) for d in back]]
    rows = [per_distance[q_len - 1 - i :][:k_len] for i in range(q_len)]  # (k_len, H) each
    return torch.stack(rows).permute(2, 0, 1).contiguous()


@exercise("RelativeBias")
class TestRelativeBias:
    def test_weight_is_the_one_parameter(self, lesson):
        """A row per bucket, a column per head: 6 buckets, 4 heads."""
        module = lesson.RelativeBias(4, 6, 20)
        shapes = {name: tuple(one.shape) for name, one in module.shapes.items()}
        expect.equal(shapes, {"weight": (6, 4)})
        expect.equal(module.trainable, ["weight"])

    def test_twelve_heads_have_384_parameters(self, lesson):
        """32 buckets unless told otherwise, 12 numbers in each."""
        parameters = lesson.RelativeBias(12).shapes.values()
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
        fourth: distances 3, 2, 1, 0. Models write in evaluation mode.
        """
        module = bias_holding(lesson, torch.tensor([[1.0, 10.0], [2.0, 20.0]]), 5)
        module.train(False)
        want = torch.tensor([[[2.0, 2.0, 2.0, 1.0]], [[20.0, 20.0, 20.0, 10.0]]])
        expect.close(module(1, 4), want)

    @pytest.mark.parametrize("q_len, k_len", [(7, 7), (5, 25), (1, 9), (1, 1), (4, 5)])
    def test_every_entry(self, lesson, draw, q_len, k_len):
        """Head h, query i, key j: column h of the bucket of k_len - q_len + i - j."""
        weight = draw.normal(6, 3)
        expect.close(bias_holding(lesson, weight, 20)(q_len, k_len), bias(weight, q_len, k_len, 20))

    @pytest.mark.parametrize("n_heads, q_len, k_len", [(1, 300, 302), (1100, 1, 9)])
    def test_long_texts_and_many_heads(self, lesson, draw, n_heads, q_len, k_len):
        """32 buckets up to 128 unless told otherwise: the first keys are in the last bucket."""
        weight = draw.normal(32, n_heads)
        module = lesson.RelativeBias(n_heads)
        module.set(weight=weight)
        expect.close(module(q_len, k_len), bias(weight, q_len, k_len))

    @pytest.mark.parametrize(
        "n_buckets, max_distance, k_len",
        [(7, 50, 60), (32, 50, 60), (2, 10, 60), (9999, 5000, 5000)],
    )
    def test_every_number_of_buckets(self, lesson, draw, n_buckets, max_distance, k_len):
        """Both numbers reach the buckets."""
        weight = draw.normal(n_buckets, 3)
        module = lesson.RelativeBias(max_distance=max_distance, n_buckets=n_buckets, n_heads=3)
        module.set(weight=weight)
        expect.close(module(k_len=k_len, q_len=2), bias(weight, 2, k_len, max_distance))

    def test_calls_may_differ_in_length(self, lesson, draw):
        """What one call computed must not serve another of different lengths."""
        weight = draw.normal(6, 3)
        module = bias_holding(lesson, weight, 20)
        for q_len, k_len in [(4, 4), (4, 9), (2, 9), (9, 9), (4, 4)]:
            expect.close(module(q_len, k_len), bias(weight, q_len, k_len, 20))

    def test_modules_share_nothing(self, lesson, draw):
        """Each layer has its own table and its own buckets."""
        small, large = draw.normal(6, 3), draw.normal(9, 3)
        made = [(small, 20), (large, 20), (small, 50), (-small, 50)]
        modules = [bias_holding(lesson, *one) for one in made]
        for module, (weight, max_distance) in zip(modules, made, strict=True):
            expect.close(module(2, 30), bias(weight, 2, 30, max_distance))

    def test_the_bias_follows_the_table_as_it_learns(self, lesson, draw):
        """Training changes the weights between two calls, so no copy may be kept."""
        module, trained = bias_holding(lesson, draw.normal(6, 3), 20), draw.normal(6, 3)
        module(3, 7)
        module.set(weight=trained)
        expect.close(module(3, 7), bias(trained, 3, 7, 20))

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
        expect.close(got, want)

    def test_weights_are_normal_and_small(self, lesson):
        """40,000 draws from N(0, 0.02²): their standard deviation is 0.02, not their
        variance, and 4.6 % of them lie beyond two of it, or 4.3 % if the tail is cut at three.
        """
        weight = lesson.RelativeBias(200, 200).parameters["weight"].double()
        size, mean = weight.std().item(), weight.mean().item()
        expect.close(mean, 0.0, tolerance=0.03 * size, what="the mean of the weights")
        what = f"whether the standard deviation, {size:.3g}, is 0.02"
        expect.equal(abs(size - 0.02) < 0.0007, True, what=what)
        beyond = (weight.abs() > 0.04).double().mean().item()
        expect.that(
            0.035 < beyond < 0.055,
            f"{beyond:.1%} of the weights lie beyond ±0.04; of N(0, 0.02²) it is 4.6%",
        )
        least = min(weight.std(dim=0).min().item(), weight.std(dim=1).min().item())
        expect.that(least > 0.01, f"a row or column has the standard deviation {least:.2g}")

    def test_the_seed_repeats_the_weights(self, lesson):
        """The draws come from PyTorch's global generator, which nobody seeds."""
        drawn = []
        for seed in 1, 1, 2:
            lesson.seed(seed)
            drawn.append(lesson.RelativeBias(3).parameters["weight"])
        first, again, other = drawn
        expect.that(first.equal(again), "one seed gives different weights")
        expect.that(not first.equal(other), "two seeds give the same weights")

    def test_more_queries_than_keys_are_refused(self, lesson):
        """Each query is at the position of a key; six queries have at least six keys."""
        expect.rejects(lesson.RelativeBias(3, 8, 64), ValueError, bad=(6, 5))


# --- rope_2d ------------------------------------------------------------------------------------


def turned_2d(x, rows, cols, base=10000.0, direction=1):
    """The first half of the features rotated at the rows, the second half at the columns."""
    upper, lower = x.tensor_split(2, dim=-1)
    by_row = rotated(upper, base, rows, direction)
    return torch.cat((by_row, rotated(lower, base, cols, direction)), dim=-1)


def some_places(draw, length, below):
    """Rows and columns from 0 on, below a bound."""
    return draw.ids(below, 2, length)


@exercise("rope_2d")
class TestRope2d:
    def test_the_column_rotates_the_second_half(self, lesson):
        """At row 0 and column 1 the first point (1, 0) stays, and the second becomes
        (cos 1, sin 1) = (0.5403, 0.8415).
        """
        x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
        got = lesson.rope_2d(x, torch.tensor([0]), torch.tensor([1]))
        expect.close(got, torch.tensor([[1.0, 0.0, 0.5403, 0.8415]]), tolerance=1e-4)

    def test_the_row_rotates_the_first_half(self, lesson):
        """At row 2 and column 0 the first point becomes (cos 2, sin 2) =
        (-0.4161, 0.9093).
        """
        x = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
        got = lesson.rope_2d(x, rows=torch.tensor([2]), cols=torch.tensor([0]))
        expect.close(got, torch.tensor([[-0.4161, 0.9093, 1.0, 0.0]]), tolerance=1e-4)

    def test_pairs_are_halves_of_each_half(self, lesson):
        """D = 8, base 100: each half has the rates 1 and 100 ** (-2 / 4) = 1/10. At row
        1 the points (1, 3) and (2, 4) rotate by 1 and 0.1:
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
        10000 ** (-2 / 4) = 1/100, and row 100 rotates it by 1: (0.5403, 0.8415). By a
        width of 8 it would rotate ten times as fast.
        """
        x = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]])
        got = lesson.rope_2d(x, torch.tensor([100]), torch.tensor([0]))
        want = torch.tensor([[0.0, 0.5403, 0.0, 0.8415, 0.0, 0.0, 0.0, 0.0]])
        expect.close(got, want, tolerance=1e-4)

    @pytest.mark.parametrize("shape", [(6, 4), (3, 6, 8), (2, 3, 6, 12)], ids=str)
    def test_a_picture_of_two_by_three(self, lesson, draw, shape):
        """Six patches, row by row; batch and heads come before them."""
        x, rows, cols = draw.normal(*shape), torch.arange(6) // 3, torch.arange(6) % 3
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-4)

    def test_places_in_any_order(self, lesson, draw):
        """Only the numbers in rows and cols count: positions may repeat, be left out, and
        come in any order.
        """
        x, (rows, cols) = draw.normal(2, 9, 8), some_places(draw, 9, 40)
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-4)

    def test_rows_and_columns_differ_in_size(self, lesson, draw):
        """A wide picture has more columns than rows; a tall one the other way round."""
        x, (few, many) = draw.normal(5, 8), (torch.tensor([2, 0, 1, 2, 0]), draw.ids(200, 5) + 100)
        expect.close(lesson.rope_2d(x, few, many), turned_2d(x, few, many), tolerance=1e-3)
        expect.close(lesson.rope_2d(x, many, few), turned_2d(x, many, few), tolerance=1e-3)

    def test_each_call_is_computed_anew(self, lesson, draw):
        """Tables kept from an earlier call serve only a call that needs the same."""
        rows, cols = some_places(draw, 5, 10)
        for width, shift, base in [(8, 0, 5e5), (8, 0, 50.0), (8, 40, 50.0), (16, 40, 50.0)]:
            x, low, high = draw.normal(2, 5, width), rows + shift, cols + 2 * shift
            got = lesson.rope_2d(x, low, high, base)
            expect.close(got, turned_2d(x, low, high, base), tolerance=1e-4)

    def test_scores_depend_on_the_way_alone(self, lesson, draw):
        """Moved by 3 rows and 7 columns, queries and keys give the same dot products:
        only the way from one to the other counts.
        """
        q, k = draw.normal(4, 8), draw.normal(4, 8)
        rows, cols = some_places(draw, 4, 10)
        want = turned_2d(q, rows, cols) @ turned_2d(k, rows, cols).T
        q, k = (lesson.rope_2d(x, rows + 3, cols + 7) for x in (q, k))
        for got in (q, k):
            expect.shape(got, 4, 8)
        expect.close(q @ k.T, want, tolerance=1e-3)

    def test_gradient_rotates_backwards(self, lesson, draw):
        """The transpose of a rotation is the rotation by minus the angle."""
        x, upstream = draw.normal(2, 5, 8), draw.normal(2, 5, 8)
        rows, cols = some_places(draw, 5, 30)
        gradients = lesson.rope_2d.gradients(x, rows, cols, upstream=upstream)
        want = turned_2d(upstream, rows, cols, direction=-1)
        expect.close(gradients[0], want, tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensors."""
        before = draw.normal(3, 4, 8), *some_places(draw, 4, 9)
        after = draw.normal(3, 4, 8), *some_places(draw, 4, 9)
        expect.sees_changes(lesson.rope_2d, before, after, turned_2d(*after))

    @pytest.mark.parametrize(
        "shape, highest",
        [((2, 1100), 300), ((MANY, 4), 4096), ((MANY, 1, 4), 300), ((1, MANY, 1, 4), 300)],
        ids=str,
    )
    def test_far_places_wide_heads_and_large_batches(self, lesson, draw, shape, highest):
        """No size changes the rule, and neither does a position as far as 4,096, where the angles
        are large.
        """
        x, (rows, cols) = draw.normal(*shape), highest - draw.ids(290, 2, shape[-2])
        rows[0], cols[-1] = highest, highest
        expect.close(lesson.rope_2d(x, rows, cols), turned_2d(x, rows, cols), tolerance=1e-2)

    def test_width_must_be_divisible_by_four(self, lesson, draw):
        """Six features would be halves of one pair and a half."""
        positions = torch.tensor([0, 1, 2])
        expect.rejects(lesson.rope_2d, ValueError, bad=(draw.normal(2, 3, 6), positions, positions))

    @pytest.mark.parametrize("n_rows, n_cols", [(4, 5), (5, 1), (6, 6)])
    def test_every_token_needs_a_row_and_a_column(self, lesson, draw, n_rows, n_cols):
        """Five tokens have five rows and five columns, and no single one for all."""
        bad = draw.normal(2, 5, 8), torch.arange(n_rows), torch.arange(n_cols)
        expect.rejects(lesson.rope_2d, ValueError, bad=bad)
