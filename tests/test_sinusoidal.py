"""Lesson 4: positions from a formula. Grades `exercises/sinusoidal.py`."""

import functools
import math

import pytest
import torch

from course.testing import exercise, expect

BOUND = 1e-4
"""How far a sine or cosine may be off near position 0: half precision is further off."""


def frequencies(n_embd, base=10000.0):
    """The formula, pair by pair, in Python's float64."""
    return [base ** (-2 * i / n_embd) for i in range(n_embd // 2)]


@functools.cache
def encoding(positions, n_embd, base=10000.0):
    """The rows of these positions, a column at a time, in float64."""
    positions = torch.tensor(list(positions), dtype=torch.float64)
    columns = [f(positions * w) for w in frequencies(n_embd, base) for f in (torch.sin, torch.cos)]
    return torch.stack(columns, dim=1)


def rotation(k, n_embd, base=10000.0):
    """The blocks of the addition theorems: cosines on the diagonal, sines next to it."""
    matrix = torch.zeros(n_embd, n_embd, dtype=torch.float64)
    cosines, sines = encoding(range(k, k + 1), n_embd, base)[0].unflatten(0, (-1, 2)).T.flip(0)
    matrix.diagonal()[0::2] = matrix.diagonal()[1::2] = cosines
    matrix.diagonal(1)[0::2], matrix.diagonal(-1)[0::2] = sines, -sines
    return matrix


def expect_close(got, want, tolerance=BOUND):
    """Expect these values in float32 or float64."""
    is_double = isinstance(got, torch.Tensor) and got.dtype == torch.float64
    expect.close(got, want.float(), tolerance=tolerance, any_width=is_double)


FAR = 9_001
"""How many rows a long table has."""


def expect_far_rows(got, n_embd):
    """Expect the first and the last rows of a long table; float32 rounds far angles more."""
    got = expect.shape(got, FAR, n_embd)
    expect_close(got[:6001], encoding(range(6001), n_embd), tolerance=1e-3)
    expect_close(got[-300:], encoding(range(FAR - 300, FAR), n_embd), tolerance=1e-2)


# --- inverse_frequencies ------------------------------------------------------------------------


def expect_frequencies(got, want):
    """Expect these frequencies, each to four digits, the smallest too."""
    want = torch.tensor(want, dtype=torch.float64)
    expect_close(got, want)
    off = ((got - want).abs() > 1e-4 * want).nonzero().flatten().tolist()
    for i in off[:1]:
        expect.that(False, f"frequency {i} is {got[i]:.6g}, but should be {want[i]:.6g}")


@exercise("inverse_frequencies")
class TestInverseFrequencies:
    def test_each_pair_turns_ten_times_slower(self, lesson):
        """1000 ** (-2i / 6): 1000 ** 0 = 1, 1000 ** (-1/3) = 0.1, then 0.01."""
        expect_frequencies(lesson.inverse_frequencies(6, 1000.0), [1.0, 0.1, 0.01])

    def test_a_single_pair_turns_by_one(self, lesson):
        """Width 2 has one pair, and its exponent is 0: base ** 0 = 1."""
        expect_frequencies(lesson.inverse_frequencies(2), [1.0])

    @pytest.mark.parametrize("n_embd", [4, 10, 9_002])
    def test_every_frequency_at_base_10000(self, lesson, n_embd):
        """10000 ** (-2i / C) for i = 0 .. C/2 - 1; the last one stays above 1/10000."""
        expect_frequencies(lesson.inverse_frequencies(n_embd), frequencies(n_embd))

    def test_every_frequency_at_any_width_and_base(self, lesson, draw):
        """The formula holds for every even width and every base above 1."""
        n_embd, base = 2 * draw.integer(2, 40), float(draw.integer(2, 99_999))
        expect_frequencies(lesson.inverse_frequencies(n_embd, base), frequencies(n_embd, base))

    def test_bases_and_widths_do_not_mix(self, lesson):
        """One call leaves nothing behind for the next one."""
        for n_embd, base in (6, 10000.0), (6, 500_000.0), (10, 500_000.0):
            got = lesson.inverse_frequencies(n_embd, base)
            expect_frequencies(got, frequencies(n_embd, base))

    def test_a_width_without_pairs_is_refused(self, lesson):
        """Every sine needs its cosine, and there must be at least one pair."""
        for n_embd in 5, 0, -2:
            expect.rejects(lesson.inverse_frequencies, ValueError, bad=(n_embd,))


# --- sinusoidal_encoding ------------------------------------------------------------------------


@exercise("sinusoidal_encoding")
class TestSinusoidalEncoding:
    def test_position_0_alternates_0_and_1(self, lesson):
        """All angles are 0 there: sin 0 = 0 in even columns, cos 0 = 1 in odd ones."""
        want = torch.tensor([[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]])
        expect_close(lesson.sinusoidal_encoding(1, 6), want)

    def test_position_1_shows_the_frequencies(self, lesson):
        """Base 100, width 4: angles 1 and 100 ** (-2/4) = 0.1, so sin 1 = 0.841471, ..."""
        want = torch.tensor([[0.0, 1.0, 0.0, 1.0], [0.841471, 0.540302, 0.0998334, 0.995004]])
        expect_close(lesson.sinusoidal_encoding(2, 4, base=100.0), want)

    @pytest.mark.parametrize(("length", "n_embd"), [(4, 2), (3, 6), (300, 8), (3, 9_002)], ids=str)
    def test_every_entry(self, lesson, length, n_embd):
        """Columns 2i and 2i + 1: sine and cosine of position · 10000 ** (-2i / C)."""
        got = lesson.sinusoidal_encoding(length, n_embd)
        expect_close(got, encoding(range(length), n_embd))

    def test_every_entry_at_any_size(self, lesson, draw):
        """The formula holds for every length, every even width and every base above 1."""
        length, n_embd = draw.integer(2, 60), 2 * draw.integer(1, 20)
        base = float(draw.integer(2, 99_999))
        got = lesson.sinusoidal_encoding(length, n_embd, base)
        expect_close(got, encoding(range(length), n_embd, base))

    def test_far_positions_go_on_turning(self, lesson):
        """Nothing repeats, and nothing is clamped; float32 angles are right within 0.001 at
        position 6000, and within 0.01 at position 9000.
        """
        expect_far_rows(lesson.sinusoidal_encoding(FAR, 4), 4)

    def test_lengths_widths_and_bases_do_not_mix(self, lesson):
        """One call leaves nothing behind for the next one."""
        calls = [(5, 6, 10000.0), (5, 6, 500_000.0), (8, 6, 500_000.0), (3, 4, 500_000.0)]
        for length, n_embd, base in calls:
            got = lesson.sinusoidal_encoding(length, n_embd, base)
            expect_close(got, encoding(range(length), n_embd, base))

    def test_a_width_without_pairs_is_refused(self, lesson):
        """Every sine needs its cosine, and there must be at least one pair."""
        for n_embd in 5, 0, -2:
            expect.rejects(lesson.sinusoidal_encoding, ValueError, bad=(4, n_embd))


# --- SinusoidalPositionalEmbedding --------------------------------------------------------------


@exercise("SinusoidalPositionalEmbedding")
class TestSinusoidalPositionalEmbedding:
    def test_three_tokens_get_positions_0_1_and_2(self, lesson):
        """Width 2: (sin 0, cos 0), (sin 1, cos 1), (sin 2, cos 2)."""
        want = torch.tensor([[0.0, 1.0], [0.841471, 0.540302], [0.909297, -0.416147]])
        expect_close(lesson.SinusoidalPositionalEmbedding(5, 2)(3), want)

    @pytest.mark.parametrize("seq_len", [1, 9, 10])
    def test_shorter_and_longer_than_the_table(self, lesson, seq_len):
        """9 rows are ready; the formula gives any further one."""
        got = lesson.SinusoidalPositionalEmbedding(9, 6)(seq_len)
        expect_close(got, encoding(range(seq_len), 6))

    @pytest.mark.parametrize("seq_len", [3, 7])
    def test_another_base(self, lesson, seq_len):
        """The base holds for the rows in the table and for those beyond it, in all columns."""
        got = lesson.SinusoidalPositionalEmbedding(5, 9_002, base=500_000.0)(seq_len)
        expect_close(got, encoding(range(seq_len), 9_002, 500_000.0))

    def test_any_table_and_any_length(self, lesson, draw):
        """Rows from the table or beyond it, at any even width and any base."""
        rows, seq_len, n_embd = draw.integer(1, 30), draw.integer(1, 60), 2 * draw.integer(1, 12)
        base = float(draw.integer(2, 99_999))
        got = lesson.SinusoidalPositionalEmbedding(rows, n_embd, base)(seq_len)
        expect_close(got, encoding(range(seq_len), n_embd, base))

    @pytest.mark.parametrize("rows", [16, FAR])
    def test_the_formula_does_not_run_out(self, lesson, rows):
        """Position 9000: nothing repeats, nothing is clamped, and 5000 rows made ahead are
        not enough.
        """
        expect_far_rows(lesson.SinusoidalPositionalEmbedding(rows, 2)(FAR), 2)

    def test_nothing_is_trained(self, lesson):
        """A parameter would be counted, saved and changed by the optimizer."""
        module = lesson.SinusoidalPositionalEmbedding(5, 4)
        module(9)
        names = ", ".join(module.parameters)
        expect.that(not names, f"the module has parameters: {names}")

    def test_the_table_is_a_buffer(self, lesson):
        """`register_buffer` tells the module to take the tensor along in `.to(...)`."""
        module = lesson.SinusoidalPositionalEmbedding(5, 4)
        module(4)
        expect.that(len(module.buffers) > 0, "the module has no buffer")

    def test_all_rows_follow_the_module(self, lesson):
        """Moved to float64, it returns float64: 8 rows from the table, 30 from beyond it, and
        whatever an earlier long sequence left behind.
        """
        module, used = (lesson.SinusoidalPositionalEmbedding(8, 6) for _ in range(2))
        used(30)
        for one in module, used:
            one.to(torch.float64)
            for seq_len in 8, 30:
                expect.close(one(seq_len), encoding(range(seq_len), 6), tolerance=BOUND)

    def test_long_and_short_sequences_in_turn(self, lesson):
        """A long sequence must not change what a short one gets later."""
        module = lesson.SinusoidalPositionalEmbedding(4, 6)
        for seq_len in 3, 12, 7, 2:
            expect_close(module(seq_len), encoding(range(seq_len), 6))

    def test_two_modules_share_nothing(self, lesson):
        """Each has its own width and base, also for rows beyond its table."""
        one = lesson.SinusoidalPositionalEmbedding(4, 6)
        two = lesson.SinusoidalPositionalEmbedding(4, 6, base=100.0)
        three = lesson.SinusoidalPositionalEmbedding(4, 4)
        for seq_len in 3, 9:
            expect_close(one(seq_len), encoding(range(seq_len), 6))
            expect_close(two(seq_len), encoding(range(seq_len), 6, 100.0))
        expect_close(three(9), encoding(range(9), 4))

    def test_training_and_evaluation_are_the_same(self, lesson):
        """Nothing is dropped at random, and nothing is left out."""
        module = lesson.SinusoidalPositionalEmbedding(5, 6)
        for training in (True, False):
            module.train(training)
            for seq_len in 4, 9:
                expect_close(module(seq_len), encoding(range(seq_len), 6))

    def test_a_width_without_pairs_is_refused(self, lesson):
        """Every sine needs its cosine, and there must be at least one pair."""
        for n_embd in 5, 0, -2:
            expect.rejects(lesson.SinusoidalPositionalEmbedding, ValueError, bad=(4, n_embd))


# --- offset_rotation ----------------------------------------------------------------------------


@exercise("offset_rotation")
class TestOffsetRotation:
    def test_two_steps_turn_a_pair_by_two_radians(self, lesson):
        """sin(p + 2) = cos 2 · sin p + sin 2 · cos p is the first row.

        cos(p + 2) = -sin 2 · sin p + cos 2 · cos p is the second.
        """
        want = torch.tensor([[-0.416147, 0.909297], [-0.909297, -0.416147]])
        expect_close(lesson.offset_rotation(2, 2), want)

    def test_no_step_turns_nothing(self, lesson):
        """pe[p + 0] is pe[p], so R is the identity."""
        expect_close(lesson.offset_rotation(0, 6), torch.eye(6))

    @pytest.mark.parametrize("k", [1, -1, 7, -40])
    def test_position_p_becomes_position_p_plus_k(self, lesson, k):
        """R @ pe[p] == pe[p + k] for all p; a column vector, so pe @ R.T for a table."""
        matrix = expect.shape(lesson.offset_rotation(k, 6), 6, 6)
        before, after = encoding(range(1000, 1020), 6), encoding(range(1000 + k, 1020 + k), 6)
        expect.close(before @ matrix.double().T, after, tolerance=2 * BOUND)

    @pytest.mark.parametrize(("k", "n_embd"), [(-1, 4), (3, 600)])
    def test_every_entry(self, lesson, k, n_embd):
        """A 2 × 2 block per pair on the diagonal, each with its own angle; else 0."""
        expect_close(lesson.offset_rotation(k, n_embd), rotation(k, n_embd))

    def test_every_entry_at_any_offset(self, lesson, draw):
        """Forwards or backwards, at any even width and any base."""
        k, n_embd = draw.integer(-30, 30), 2 * draw.integer(1, 12)
        base = float(draw.integer(2, 99_999))
        expect_close(lesson.offset_rotation(k, n_embd, base), rotation(k, n_embd, base))

    @pytest.mark.parametrize("k", [1000, -1000])
    def test_a_thousand_steps_at_once(self, lesson, k):
        """Far away the angles go on growing; in float32 the entries are right within 0.0001."""
        expect_close(lesson.offset_rotation(k, 16), rotation(k, 16))

    @pytest.mark.parametrize("k", [40_000, -40_000])
    def test_the_formula_does_not_run_out(self, lesson, k):
        """Nothing repeats, and nothing is clamped; float32 angles are right within 0.01."""
        expect_close(lesson.offset_rotation(k, 4), rotation(k, 4), tolerance=1e-2)

    def test_offsets_widths_and_bases_do_not_mix(self, lesson):
        """One call leaves nothing behind for the next one."""
        for k, n_embd, base in (2, 4, 10000.0), (2, 4, 5e5), (3, 4, 5e5), (2, 6, 5e5):
            got = lesson.offset_rotation(k, n_embd, base)
            expect_close(got, rotation(k, n_embd, base))

    def test_a_width_without_pairs_is_refused(self, lesson):
        """Every sine needs its cosine, and there must be at least one pair."""
        for n_embd in 5, 0, -2:
            expect.rejects(lesson.offset_rotation, ValueError, bad=(3, n_embd))


# --- relative_similarity ------------------------------------------------------------------------


def similarities(pe, k):
    """The dot product of every row with the one k rows later, in float64."""
    return torch.einsum("tc,tc->t", pe.double()[: len(pe) - k], pe.double()[k:]).float()


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
        got = lesson.relative_similarity(encoding(range(30), 6).float(), 4)
        want = sum(math.cos(4 * w) for w in frequencies(6))
        expect.close(got, torch.full((26,), want))

    @pytest.mark.parametrize(
        ("rows", "n_embd", "k"),
        [(1, 4, 0), (2, 9_001, 1), (2_300, 2, 3), (2_300, 2, 2_280)],
        ids=str,
    )
    def test_tables_of_any_size(self, lesson, draw, rows, n_embd, k):
        """T rows of C features, tall or wide."""
        pe = draw.normal(rows, n_embd)
        expect.close(lesson.relative_similarity(pe, k), similarities(pe, k), tolerance=1e-4)

    def test_a_distance_that_no_two_rows_have_is_refused(self, lesson, draw):
        """5 rows are at most 4 apart; a negative k would slice from the end."""
        pe = draw.normal(5, 4)
        for k in 5, -1:
            expect.rejects(lesson.relative_similarity, ValueError, bad=(pe, k))
