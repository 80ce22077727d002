"""Lesson 4: positions from a formula. Grades `exercises/sinusoidal.py`."""

import functools
import math

import pytest
import torch

from course.testing import corner, exercise, expect


def frequencies(n_embd, base=10000.0):
    """The formula, pair by pair, in Python's float64."""
    return [base ** (-2 * i / n_embd) for i in range(n_embd // 2)]


@functools.cache
def encoding(positions, n_embd, base=10000.0, dtype=torch.float32):
    """The rows of these positions, entry by entry, in Python's float64."""
    pairs = frequencies(n_embd, base)
    rows = [[f(p * w) for w in pairs for f in (math.sin, math.cos)] for p in positions]
    return torch.tensor(rows, dtype=torch.float64).to(dtype)


def rotation(k, n_embd, base=10000.0):
    """The blocks of the addition theorems, entry by entry."""
    matrix = torch.zeros(n_embd, n_embd, dtype=torch.float64)
    for i, w in enumerate(frequencies(n_embd, base)):
        matrix[2 * i, 2 * i] = matrix[2 * i + 1, 2 * i + 1] = math.cos(k * w)
        matrix[2 * i, 2 * i + 1] = math.sin(k * w)
        matrix[2 * i + 1, 2 * i] = -math.sin(k * w)
    return matrix.float()


# --- inverse_frequencies ------------------------------------------------------------------------


def expect_frequencies(got, want):
    """Expect these frequencies in float32 or float64, each to four digits, the smallest too."""
    double = isinstance(got, torch.Tensor) and got.dtype == torch.float64
    want = torch.tensor(want, dtype=torch.float64 if double else torch.float32)
    expect.close(got, want)
    off = ((got - want).abs() > 1e-4 * want).nonzero().flatten().tolist()
    for i in off[:1]:
        expect.that(False, f"frequency {i} is {got[i]:.6g}, but should be {want[i]:.6g}")


@exercise("inverse_frequencies")
class TestInverseFrequencies:
    def test_each_pair_turns_ten_times_slower(self, lesson):
        """1000 ** (-2i / 6): 1000 ** 0 = 1, 1000 ** (-1/3) = 0.1, then 0.01."""
        expect_frequencies(lesson.inverse_frequencies(6, 1000.0), [1.0, 0.1, 0.01])

    def test_each_pair_turns_half_as_fast(self, lesson):
        """16 ** (-2i / 8): 16 ** (-1/4) = 1/2, then 1/4 and 1/8."""
        expect_frequencies(lesson.inverse_frequencies(8, base=16.0), [1.0, 0.5, 0.25, 0.125])

    def test_a_single_pair_turns_by_one(self, lesson):
        """Width 2 has one pair, and its exponent is 0: base ** 0 = 1."""
        expect_frequencies(lesson.inverse_frequencies(2), [1.0])

    @pytest.mark.parametrize("n_embd", [4, 10, 768])
    def test_every_frequency_at_base_10000(self, lesson, n_embd):
        """10000 ** (-2i / C) for i = 0 .. C/2 - 1; the last one stays above 1/10000."""
        expect_frequencies(lesson.inverse_frequencies(n_embd), frequencies(n_embd))

    @pytest.mark.parametrize("base", [2.0, 500_000.0])
    def test_every_frequency_at_another_base(self, lesson, base):
        """The base sets the slowest pair; the fastest one always turns by 1."""
        expect_frequencies(lesson.inverse_frequencies(12, base), frequencies(12, base))

    def test_every_frequency_at_any_width_and_base(self, lesson, draw):
        """The formula holds for every even width and every base above 1."""
        n_embd, base = 2 * draw.integer(2, 40), float(draw.integer(2, 99_999))
        expect_frequencies(lesson.inverse_frequencies(n_embd, base), frequencies(n_embd, base))

    def test_bases_and_widths_do_not_mix(self, lesson):
        """One call leaves nothing behind for the next one."""
        for n_embd, base in (6, 10000.0), (6, 1000.0), (10, 1000.0):
            got = lesson.inverse_frequencies(n_embd, base)
            expect_frequencies(got, frequencies(n_embd, base))


@exercise("inverse_frequencies")
@corner
class TestInverseFrequenciesCorners:
    @pytest.mark.parametrize("n_embd", [5, 1, 0, -2])
    def test_a_width_without_pairs_is_refused(self, lesson, n_embd):
        """Every sine needs its cosine, and there must be at least one pair."""
        expect.rejects(lesson.inverse_frequencies, ValueError, bad=(n_embd,), mentions=(n_embd,))


# --- sinusoidal_encoding ------------------------------------------------------------------------

BOUND = 1e-4
"""How far an entry of the table may be off."""


@exercise("sinusoidal_encoding")
class TestSinusoidalEncoding:
    def test_position_0_alternates_0_and_1(self, lesson):
        """All angles are 0 there: sin 0 = 0 in even columns, cos 0 = 1 in odd ones."""
        want = torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]])
        expect.close(lesson.sinusoidal_encoding(1, 6), want, tolerance=BOUND)

    def test_position_1_shows_the_frequencies(self, lesson):
        """Base 100, width 4: angles 1 and 100 ** (-2/4) = 0.1, so sin 1 = 0.841471, ..."""
        want = torch.tensor([0.841471, 0.540302, 0.0998334, 0.995004])
        expect.close(lesson.sinusoidal_encoding(2, 4, base=100.0)[1], want, tolerance=BOUND)

    @pytest.mark.parametrize(
        ("length", "n_embd"), [(4, 2), (3, 4), (7, 6), (9, 126), (300, 8)], ids=str
    )
    def test_every_entry(self, lesson, length, n_embd):
        """Columns 2i and 2i + 1: sine and cosine of position · 10000 ** (-2i / C)."""
        got = lesson.sinusoidal_encoding(length, n_embd)
        expect.close(got, encoding(range(length), n_embd), tolerance=BOUND)

    @pytest.mark.parametrize("base", [2.0, 500_000.0])
    def test_every_entry_at_another_base(self, lesson, base):
        """The base reaches the angles."""
        got = lesson.sinusoidal_encoding(11, 8, base)
        expect.close(got, encoding(range(11), 8, base), tolerance=BOUND)

    def test_every_entry_at_any_size(self, lesson, draw):
        """The formula holds for every length, every even width and every base above 1."""
        length, n_embd = draw.integer(2, 60), 2 * draw.integer(1, 20)
        base = float(draw.integer(2, 99_999))
        got = lesson.sinusoidal_encoding(length, n_embd, base)
        expect.close(got, encoding(range(length), n_embd, base), tolerance=BOUND)

    def test_sine_and_cosine_of_an_angle_stand_side_by_side(self, lesson):
        """sin² + cos² = 1 holds for columns 0 and 1, 2 and 3, 4 and 5, in every row."""
        table = lesson.sinusoidal_encoding(20, 6)
        expect.close(
            table[:, 0::2] ** 2 + table[:, 1::2] ** 2, torch.ones(20, 3), tolerance=4 * BOUND
        )

    def test_second_pair_turns_a_hundred_times_slower(self, lesson):
        """Width 4: its frequency is 1/100, so position 100 looks like 1 in pair 0."""
        table = lesson.sinusoidal_encoding(101, 4)
        expect.close(table[100, 2:], table[1, :2], tolerance=2 * BOUND)

    def test_far_positions_go_on_turning(self, lesson):
        """Positions 9,998 to 10,000: nothing repeats, and nothing is clamped."""
        got = lesson.sinusoidal_encoding(10_001, 4)
        expect.shape(got, 10_001, 4)
        expect.close(got[9998:], encoding(range(9998, 10_001), 4), tolerance=0.01)

    def test_lengths_widths_and_bases_do_not_mix(self, lesson):
        """One call leaves nothing behind for the next one."""
        calls = [(5, 6, 10000.0), (5, 6, 100.0), (8, 6, 100.0), (3, 4, 100.0)]
        for length, n_embd, base in calls:
            got = lesson.sinusoidal_encoding(length, n_embd, base)
            expect.close(got, encoding(range(length), n_embd, base), tolerance=BOUND)


@exercise("sinusoidal_encoding")
@corner
class TestSinusoidalEncodingCorners:
    @pytest.mark.parametrize("base", [1.5, 5.0])
    def test_error_stays_below_1e_4_up_to_position_10000(self, lesson, base):
        """float32 angles near 10000 are 0.001 apart, too coarse for a sine. With base 1.5
        both pairs turn that far; a frequency rounded to float32 is too coarse as well.
        """
        got = lesson.sinusoidal_encoding(10_001, 4, base=base)
        expect.close(got, encoding(range(10_001), 4, base=base), tolerance=BOUND)

    @pytest.mark.parametrize("n_embd", [5, 1, 0, -2])
    def test_a_width_without_pairs_is_refused(self, lesson, n_embd):
        """Every sine needs its cosine, and there must be at least one pair."""
        expect.rejects(lesson.sinusoidal_encoding, ValueError, bad=(4, n_embd), mentions=(n_embd,))


# --- SinusoidalPositionalEmbedding --------------------------------------------------------------


@exercise("SinusoidalPositionalEmbedding")
class TestSinusoidalPositionalEmbedding:
    def test_three_tokens_get_positions_0_1_and_2(self, lesson):
        """Width 2: (sin 0, cos 0), (sin 1, cos 1), (sin 2, cos 2)."""
        want = torch.tensor([[0.0, 1.0], [0.841471, 0.540302], [0.909297, -0.416147]])
        expect.close(lesson.SinusoidalPositionalEmbedding(5, 2)(3), want, tolerance=BOUND)

    @pytest.mark.parametrize("seq_len", [1, 9, 10])
    def test_shorter_and_longer_than_the_table(self, lesson, seq_len):
        """9 rows are ready; the formula gives any further one."""
        got = lesson.SinusoidalPositionalEmbedding(9, 6)(seq_len)
        expect.close(got, encoding(range(seq_len), 6), tolerance=BOUND)

    @pytest.mark.parametrize("seq_len", [4, 21])
    def test_another_base(self, lesson, seq_len):
        """The base holds for the rows in the table and for those beyond it."""
        got = lesson.SinusoidalPositionalEmbedding(5, 8, base=500_000.0)(seq_len)
        expect.close(got, encoding(range(seq_len), 8, 500_000.0), tolerance=BOUND)

    def test_any_table_and_any_length(self, lesson, draw):
        """Rows from the table or beyond it, at any even width and any base."""
        rows, seq_len, n_embd = draw.integer(1, 30), draw.integer(1, 60), 2 * draw.integer(1, 12)
        base = float(draw.integer(2, 99_999))
        got = lesson.SinusoidalPositionalEmbedding(rows, n_embd, base)(seq_len)
        expect.close(got, encoding(range(seq_len), n_embd, base), tolerance=BOUND)

    def test_the_formula_does_not_run_out(self, lesson):
        """Position 5999 of a table made for 16: nothing repeats, nothing is clamped, and
        5000 rows made ahead are not enough.
        """
        got = lesson.SinusoidalPositionalEmbedding(16, 2)(6000)
        expect.close(got, encoding(range(6000), 2), tolerance=1e-3)

    def test_long_and_short_sequences_in_turn(self, lesson):
        """A long sequence must not change what a short one gets later."""
        module = lesson.SinusoidalPositionalEmbedding(4, 6)
        for seq_len in 3, 12, 7, 2:
            expect.close(module(seq_len), encoding(range(seq_len), 6), tolerance=BOUND)

    def test_two_modules_share_nothing(self, lesson):
        """Each has its own width and base, also for rows beyond its table."""
        one = lesson.SinusoidalPositionalEmbedding(4, 6)
        two = lesson.SinusoidalPositionalEmbedding(4, 6, base=100.0)
        three = lesson.SinusoidalPositionalEmbedding(4, 4)
        for seq_len in 3, 9:
            expect.close(one(seq_len), encoding(range(seq_len), 6), tolerance=BOUND)
            expect.close(two(seq_len), encoding(range(seq_len), 6, 100.0), tolerance=BOUND)
        expect.close(three(9), encoding(range(9), 4), tolerance=BOUND)

    def test_training_and_evaluation_are_the_same(self, lesson):
        """Nothing is dropped at random, and nothing is left out."""
        module = lesson.SinusoidalPositionalEmbedding(5, 6)
        for training in (True, False):
            module.train(training)
            for seq_len in 4, 9:
                expect.close(module(seq_len), encoding(range(seq_len), 6), tolerance=BOUND)

    def test_nothing_is_trained(self, lesson):
        """A parameter would be counted, saved and changed by the optimizer."""
        module = lesson.SinusoidalPositionalEmbedding(5, 4)
        module(9)
        names = ", ".join(module.parameters)
        expect.that(not names, f"the module has parameters: {names}")

    def test_the_table_is_a_buffer(self, lesson):
        """`register_buffer` tells the module to take the tensor along in `.to(...)`."""
        module = lesson.SinusoidalPositionalEmbedding(5, 4)
        expect.that(len(module.buffers) > 0, "the module has no buffer")


@exercise("SinusoidalPositionalEmbedding")
@corner
class TestSinusoidalPositionalEmbeddingCorners:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
    def test_rows_follow_to_a_dtype(self, lesson, dtype):
        """8 rows are in the table; those beyond it must follow, too."""
        module = lesson.SinusoidalPositionalEmbedding(8, 6)
        module.to(dtype)
        tolerance = BOUND if dtype == torch.float64 else None
        for seq_len in 8, 30:
            want = encoding(range(seq_len), 6, dtype=dtype)
            expect.close(module(seq_len), want, tolerance=tolerance)

    def test_rows_follow_to_a_dtype_after_a_long_sequence(self, lesson):
        """Whatever a call of length 30 left behind has to follow as well."""
        module = lesson.SinusoidalPositionalEmbedding(8, 6)
        module(30)
        module.to(torch.float64)
        for seq_len in 5, 30:
            want = encoding(range(seq_len), 6, dtype=torch.float64)
            expect.close(module(seq_len), want, tolerance=BOUND)

    def test_bfloat16_rounds_the_values_not_the_angles(self, lesson):
        """Above 256 bfloat16 skips integers, so angles made in it would be far off; a
        frequency rounded to it is off by up to 1/500, and at 4000 so is every angle.
        """
        module = lesson.SinusoidalPositionalEmbedding(300, 6)
        module.to(torch.bfloat16)
        for seq_len in 290, 4001:
            want = encoding(range(seq_len), 6, dtype=torch.bfloat16)
            expect.close(module(seq_len), want)

    @pytest.mark.parametrize("seq_len", [8, 30])
    def test_rows_follow_to_a_device(self, lesson, seq_len):
        """On a GPU they must be on the GPU, whatever an earlier call left behind; the
        "meta" device takes its place here. 8 rows are in the table, the others beyond it.
        """
        expect.follows_device(lesson.SinusoidalPositionalEmbedding(8, 6), seq_len)

    @pytest.mark.parametrize("n_embd", [5, 1, 0, -2])
    def test_a_width_without_pairs_is_refused(self, lesson, n_embd):
        """Every sine needs its cosine, and there must be at least one pair."""
        make = lesson.SinusoidalPositionalEmbedding
        expect.rejects(make, ValueError, bad=(4, n_embd), mentions=(n_embd,))


# --- offset_rotation ----------------------------------------------------------------------------


@exercise("offset_rotation")
class TestOffsetRotation:
    def test_two_steps_turn_a_pair_by_two_radians(self, lesson):
        """sin(p + 2) = cos 2 · sin p + sin 2 · cos p is the first row.

        cos(p + 2) = -sin 2 · sin p + cos 2 · cos p is the second.
        """
        want = torch.tensor([[-0.416147, 0.909297], [-0.909297, -0.416147]])
        expect.close(lesson.offset_rotation(2, 2), want)

    def test_no_step_turns_nothing(self, lesson):
        """pe[p + 0] is pe[p], so R is the identity."""
        expect.close(lesson.offset_rotation(0, 6), torch.eye(6))

    @pytest.mark.parametrize("k", [1, -1, 7, -40])
    def test_position_p_becomes_position_p_plus_k(self, lesson, k):
        """R @ pe[p] == pe[p + k] for all p; a column vector, so pe @ R.T for a table."""
        matrix = expect.shape(lesson.offset_rotation(k, 6), 6, 6)
        before, after = encoding(range(1000, 1020), 6), encoding(range(1000 + k, 1020 + k), 6)
        expect.close(before @ matrix.T, after, tolerance=1e-4)

    def test_every_entry_at_any_offset(self, lesson, draw):
        """Forwards or backwards, at any even width and any base."""
        k, n_embd = draw.integer(-30, 30), 2 * draw.integer(1, 12)
        base = float(draw.integer(2, 99_999))
        expect.close(lesson.offset_rotation(k, n_embd, base), rotation(k, n_embd, base))

    @pytest.mark.parametrize(("k", "n_embd"), [(3, 2), (-1, 4), (3, 64)])
    def test_every_entry(self, lesson, k, n_embd):
        """A 2 × 2 block per pair on the diagonal, each with its own angle; else 0."""
        got = lesson.offset_rotation(k, n_embd)
        expect.close(got, rotation(k, n_embd), tolerance=1e-5)

    @pytest.mark.parametrize("base", [2.0, 500_000.0])
    def test_another_base(self, lesson, base):
        """The base sets the angle of each block."""
        expect.close(lesson.offset_rotation(-9, 8, base), rotation(-9, 8, base), tolerance=1e-5)

    def test_back_by_k_undoes_on_by_k(self, lesson):
        """R(-k) @ R(k) = R(0), the identity."""
        there, back = lesson.offset_rotation(13, 6), lesson.offset_rotation(-13, 6)
        expect.close(there, rotation(13, 6))
        expect.close(back, rotation(-13, 6))
        expect.close(back @ there, torch.eye(6), tolerance=1e-4)

    def test_offsets_widths_and_bases_do_not_mix(self, lesson):
        """One call leaves nothing behind for the next one."""
        for k, n_embd, base in (2, 4, 10000.0), (2, 4, 100.0), (3, 4, 100.0), (2, 6, 100.0):
            got = lesson.offset_rotation(k, n_embd, base)
            expect.close(got, rotation(k, n_embd, base))


@exercise("offset_rotation")
@corner
class TestOffsetRotationCorners:
    @pytest.mark.parametrize("k", [1000, -1000])
    @pytest.mark.parametrize("base", [2.0, 10000.0, 500_000.0])
    def test_entries_are_within_1e_5_up_to_offset_1000(self, lesson, k, base):
        """float32 angles near 1000 are 0.00006 apart, too coarse for a cosine."""
        got = lesson.offset_rotation(k, 16, base)
        expect.close(got, rotation(k, 16, base), tolerance=1e-5)

    @pytest.mark.parametrize("n_embd", [5, 1, 0, -2])
    def test_a_width_without_pairs_is_refused(self, lesson, n_embd):
        """Every sine needs its cosine, and there must be at least one pair."""
        expect.rejects(lesson.offset_rotation, ValueError, bad=(3, n_embd), mentions=(n_embd,))


# --- relative_similarity ------------------------------------------------------------------------


def similarities(pe, k):
    """The k-th diagonal of all dot products, in float64, as pe's dtype."""
    return torch.einsum("pc,qc->pq", pe.double(), pe.double()).diagonal(k).to(pe.dtype)


@exercise("relative_similarity")
class TestRelativeSimilarity:
    def test_neighbors_are_multiplied_and_summed(self, lesson):
        """1·3 + 2·4 = 11, 3·5 + 4·6 = 39, 5·(-1) + 6·0 = -5."""
        pe = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [-1.0, 0.0]])
        expect.close(lesson.relative_similarity(pe, 1), torch.tensor([11.0, 39.0, -5.0]))

    def test_distance_0_gives_squared_lengths(self, lesson):
        """A row with itself: 3·3 + 4·4 = 25, 0·0 + 2·2 = 4."""
        pe = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
        expect.close(lesson.relative_similarity(pe, 0), torch.tensor([25.0, 4.0]))

    @pytest.mark.parametrize("k", [0, 1, 2, 5])
    def test_every_distance_in_any_table(self, lesson, draw, k):
        """6 rows have 6 - k pairs of rows that are k apart."""
        pe = draw.normal(6, 4)
        expect.close(lesson.relative_similarity(pe, k), similarities(pe, k))

    def test_a_formula_table_knows_the_distance_alone(self, lesson):
        """sin a sin b + cos a cos b = cos(a - b): the same for every p."""
        got = lesson.relative_similarity(encoding(range(30), 6), 4)
        want = sum(math.cos(4 * w) for w in frequencies(6))
        expect.close(got, torch.full((26,), want))

    @pytest.mark.parametrize("shape", [(1, 4), (2, 2), (9, 32)], ids=str)
    def test_any_table_size(self, lesson, draw, shape):
        """T rows of C features, tall or wide."""
        pe, k = draw.normal(*shape), shape[0] // 2
        expect.close(lesson.relative_similarity(pe, k), similarities(pe, k))

    @pytest.mark.parametrize("k", [0, 2])
    def test_a_table_that_learns_gets_its_gradient(self, lesson, draw, k):
        """Row p gets its partners p + k and p - k, each times its upstream."""
        pe, upstream = draw.normal(6, 4), draw.normal(6 - k)
        want = torch.zeros(6, 4)
        for p in range(6 - k):
            want[p] += upstream[p] * pe[p + k]
            want[p + k] += upstream[p] * pe[p]
        gradients = lesson.relative_similarity.gradients(pe, k, upstream=upstream)
        expect.close(gradients[0], want)


@exercise("relative_similarity")
@corner
class TestRelativeSimilarityCorners:
    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.bfloat16, 0.1)], ids=str
    )
    def test_the_result_has_the_dtype_of_the_table(self, lesson, draw, dtype, tolerance):
        """float64 stays float64, and bfloat16 stays bfloat16."""
        pe = draw.normal(7, 4, dtype=dtype)
        expect.close(lesson.relative_similarity(pe, 2), similarities(pe, 2), tolerance=tolerance)

    def test_the_table_may_be_a_view(self, lesson, draw):
        """A transposed table has its rows scattered in memory."""
        pe = draw.normal(4, 7).T
        expect.close(lesson.relative_similarity(pe, 3), similarities(pe, 3))

    def test_the_result_is_where_the_table_is(self, lesson, draw):
        """With pe on a GPU it is on the GPU; "meta" takes its place here."""
        expect.follows_device(lesson.relative_similarity, draw.normal(6, 4), 2)

    @pytest.mark.parametrize("k", [5, 8, -1])
    def test_a_distance_that_no_two_rows_have_is_refused(self, lesson, draw, k):
        """5 rows are at most 4 apart; a negative k would slice from the end."""
        pe = draw.normal(5, 4)
        expect.rejects(lesson.relative_similarity, ValueError, bad=(pe, k), mentions=(k,))
