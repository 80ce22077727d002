"""Lesson 1: an embedding is a table, not a layer. Grades `exercises/lookup.py`."""

import itertools
import math

import pytest
import torch

from course.testing import corner, exercise, expect
from course.testing.show import show_dtype

SHAPES = [(2, 3, 4), (1, 5, 1)]
SINGLE_OR_NONE = [(), (0,), (2, 0)]
OTHER_INTEGERS = [torch.int32, torch.int16, torch.int8, torch.uint8]
"""Beside int64, which most tests use."""
SMALL_INTEGERS = [torch.int8, torch.uint8]
"""Where nothing asks for the dtype: what serves with these serves with int32 and int16, too."""
OTHER_FLOATS = [torch.float64, torch.bfloat16]
"""Beside float32, which most tests use."""
OUT_OF_RANGE = [5, 300, 2**32 + 1, -1]
"""Ids that a table of 5 rows does not have; the third is 1 in its lower 32 bits."""


def each_row(weight, ids):
    """The rows one by one, by Python numbers."""
    rows = [weight[row] for row in ids.flatten().tolist()]
    return torch.cat((*rows, weight[0, :0])).reshape(*ids.shape, weight.shape[1])


def sum_of_each_row(grad_output, ids, vocab_size):
    """The gradients that reach each row, added one by one in float64."""
    sums = torch.zeros(vocab_size, grad_output.shape[-1], dtype=torch.float64)
    for place, row in enumerate(ids.flatten().tolist()):
        sums[row] += grad_output.reshape(-1, grad_output.shape[-1])[place].double()
    return sums.to(grad_output.dtype)


def some_ids(dtype):
    """Ids of a table with 300 rows, more than a uint8 can count, as far up as the dtype goes."""
    highest = min(torch.iinfo(dtype).max, 299)
    return torch.tensor([[0, 1, 43, 44, 1], [45, 100, 127, highest, highest - 1]], dtype=dtype)


def table_holding(lesson, weight):
    """A `TokenEmbedding` with these rows."""
    table = lesson.TokenEmbedding(*weight.shape)
    table.set(weight=weight)
    return table


@exercise("lookup")
class TestLookup:
    def test_id_2_gives_the_third_row(self, lesson):
        """Rows are counted from 0: id 2 is the third row, id 0 the first."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        got = lesson.lookup(weight, torch.tensor([2, 0, 2]))
        expect.equal(got, torch.tensor([[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]))

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_result_has_a_row_for_every_id(self, lesson, draw, shape):
        """Ids of shape (...) give (..., C): one axis more, with the row in it."""
        weight, ids = draw.normal(7, 5), draw.ids(7, *shape)
        expect.equal(lesson.lookup(weight, ids), each_row(weight, ids))

    def test_other_rows_are_not_read(self, lesson):
        """Looking up row 1 reads row 1. Multiplying the other rows by zero
        reads them all, and 0 times infinity or nan is nan."""
        weight = torch.tensor([[math.inf, 1.0], [2.0, 3.0], [math.nan, 4.0]])
        expect.equal(lesson.lookup(weight, torch.tensor([1])), torch.tensor([[2.0, 3.0]]))

    def test_gradient_goes_to_the_rows_looked_up(self, lesson, draw):
        """Each looked-up copy sends its gradient back to its row; copies of
        the same row add up, and a row that was not looked up gets zero."""
        weight, upstream = draw.normal(7, 3), draw.normal(2, 6, 3)
        ids = torch.tensor([[0, 3, 1, 3, 4, 0], [4, 4, 0, 1, 1, 4]])
        got = lesson.lookup.gradients(weight, ids, upstream=upstream)[0]
        expect.close(got, sum_of_each_row(upstream, ids, 7))

    def test_two_tables_stay_apart(self, lesson, draw):
        """Nothing is kept from one call to the next."""
        ids = draw.ids(7, 2, 4)
        for weight in draw.normal(7, 3), draw.normal(7, 3):
            expect.equal(lesson.lookup(weight, ids), each_row(weight, ids))

    def test_changed_arguments_are_seen(self, lesson, draw):
        """Training changes the table in place; the next rows are the new ones."""
        before, after = (
            (draw.normal(7, 3), draw.ids(7, 2, 4)),
            (draw.normal(7, 3), draw.ids(7, 2, 4)),
        )
        expect.sees_changes(lesson.lookup, before, after, each_row(*after))


@exercise("lookup")
@corner
class TestLookupCorners:
    def test_ids_that_name_no_row_are_refused(self, lesson, draw):
        """A table of 5 rows has the ids 0 to 4. An id of -1 is no shorthand for
        the last row: it is a mistake that would go unnoticed. There is no row 1.5
        either, and True and False are answers, not numbers of rows."""
        weight = draw.normal(5, 3)
        for row in OUT_OF_RANGE:
            bad = torch.tensor([[0, 4, 2], [1, row, 0]])
            expect.rejects(lesson.lookup, IndexError, bad=(weight, bad), mentions=((row, 5),))
        bad = torch.tensor([1, 9, -2])
        expect.rejects(lesson.lookup, IndexError, bad=(weight, bad), mentions=((9, 5), (-2, 5)))
        for dtype, row in (torch.int8, -3), (torch.uint8, 200):
            bad = torch.tensor([0, row, 4], dtype=dtype)
            expect.rejects(lesson.lookup, IndexError, bad=(weight, bad), mentions=((row, 5),))
        for dtype in torch.float32, *OTHER_FLOATS, torch.bool:
            bad = torch.tensor([1, 0, 1], dtype=dtype)
            names = ("bool", "True") if dtype == torch.bool else ("float", "1.")
            expect.rejects(lesson.lookup, TypeError, bad=(weight, bad), mentions=names)

    def test_tables_and_ids_of_every_dtype(self, lesson, draw):
        """The dtype of the ids only says how they are stored, not which rows they
        name: PyTorch reads uint8 as a mask, and the table may have more rows than
        that dtype can count. A row is copied, not computed: its dtype stays, and so
        does every bit."""
        weight = draw.normal(300, 3)
        mask = torch.tensor([0, 1, 1], dtype=torch.uint8)
        for ids in mask, *map(some_ids, OTHER_INTEGERS):
            expect.equal(lesson.lookup(weight, ids), each_row(weight, ids))
        ids = torch.tensor([[0, 256, 257], [299] * 3])  # bfloat16 cannot tell 257 from 256
        for dtype in OTHER_FLOATS:
            weight = draw.normal(300, 3, dtype=dtype) / 3
            expect.equal(lesson.lookup(weight, ids), each_row(weight, ids))

    def test_ids_and_tables_of_every_form(self, lesson, draw):
        """A single id, of shape (), gives a single row, (C,), and no ids, (2, 0), give
        no rows, (2, 0, C). A transposed tensor has its numbers in another order in
        memory; what counts is the order of its indices. A table on the GPU gives rows
        on the GPU."""
        weight = draw.normal(3, 7).T
        for ids in draw.ids(7), draw.ids(7, 0), draw.ids(7, 2, 0), draw.ids(7, 4, 2).T:
            expect.equal(lesson.lookup(weight, ids), each_row(weight, ids))
        expect.follows_device(lesson.lookup, draw.normal(7, 3), draw.ids(7, 2, 4))


@exercise("one_hot_lookup")
class TestOneHotLookup:
    def test_product_picks_the_row(self, lesson):
        """Id 1 of 3 is the one-hot row (0, 1, 0), and 0 times the first row
        plus 1 times the second plus 0 times the third is the second."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        got = lesson.one_hot_lookup(weight, torch.tensor([1, 0, 1]))
        expect.close(got, torch.tensor([[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]))

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_result_has_a_row_for_every_id(self, lesson, draw, shape):
        """One-hot rows (..., V) times the table (V, C) give (..., C)."""
        weight, ids = draw.normal(5, 7), draw.ids(5, *shape)
        expect.close(lesson.one_hot_lookup(weight, ids), each_row(weight, ids))

    def test_two_tables_stay_apart(self, lesson, draw):
        """One-hot rows are as long as the table in this call has rows."""
        for vocab_size in 9, 4:
            weight, ids = draw.normal(vocab_size, 3), draw.ids(vocab_size, 2, 5)
            expect.close(lesson.one_hot_lookup(weight, ids), each_row(weight, ids))

    def test_gradient_goes_to_the_rows_looked_up(self, lesson, draw):
        """The gradient at the table is the one-hot matrix, transposed, times the
        gradient at the result: gradients of the same row add up."""
        weight, upstream = draw.normal(7, 3), draw.normal(2, 6, 3)
        ids = torch.tensor([[0, 3, 1, 3, 4, 0], [4, 4, 0, 1, 1, 4]])
        got = lesson.one_hot_lookup.gradients(weight, ids, upstream=upstream)[0]
        expect.close(got, sum_of_each_row(upstream, ids, 7))

    def test_changed_arguments_are_seen(self, lesson, draw):
        """Training changes the table in place; the next rows are the new ones."""
        before, after = (
            (draw.normal(7, 3), draw.ids(7, 2, 4)),
            (draw.normal(7, 3), draw.ids(7, 2, 4)),
        )
        expect.sees_changes(lesson.one_hot_lookup, before, after, each_row(*after))


@exercise("one_hot_lookup")
@corner
class TestOneHotLookupCorners:
    @pytest.mark.parametrize("shape", SINGLE_OR_NONE, ids=str)
    def test_a_single_id_or_none(self, lesson, draw, shape):
        """A single id, of shape (), gives a single row, (C,), and (2, 0) one-hot rows
        times the table are (2, 0) rows: (2, 0, C)."""
        weight, ids = draw.normal(7, 3), draw.ids(7, *shape)
        expect.close(lesson.one_hot_lookup(weight, ids), each_row(weight, ids))

    def test_result_has_the_dtype_of_the_table(self, lesson, draw):
        """Ones and zeros are exact in every dtype, so nothing need be rounded.
        (Ids are not: bfloat16 cannot tell 257 from 256.)"""
        weight = draw.normal(300, 3, dtype=torch.bfloat16) / 3
        ids = torch.tensor([[0, 299, 256], [257, 258, 298]])
        expect.close(lesson.one_hot_lookup(weight, ids), each_row(weight, ids))

    def test_float64_stays_as_fine_as_it_was(self, lesson):
        """1 + 1e-12 has no room in a float32: the product must be in float64."""
        weight = torch.tensor([[1000.0], [1.0 + 1e-12]], dtype=torch.float64)
        got = lesson.one_hot_lookup(weight, torch.tensor([1]))
        expect.close(got, weight[1:], tolerance=1e-14)

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of the ids only says how they are stored, not which rows
        they name; the table may have more rows than that dtype can count."""
        weight, ids = draw.normal(300, 3), some_ids(dtype)
        expect.close(lesson.one_hot_lookup(weight, ids), each_row(weight, ids))

    def test_uint8_ids_are_numbers_not_a_mask(self, lesson):
        """Three ids give three rows. PyTorch reads a uint8 index as a mask:
        0, 1, 1 would then mean "leave out the first row"."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        got = lesson.one_hot_lookup(weight, torch.tensor([0, 1, 1], dtype=torch.uint8))
        expect.close(got, torch.tensor([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]))

    def test_transposed_arguments(self, lesson, draw):
        """A transposed tensor has its numbers in another order in memory;
        what counts is the order of its indices."""
        weight, ids = draw.normal(3, 7).T, draw.ids(7, 4, 2).T
        expect.close(lesson.one_hot_lookup(weight, ids), each_row(weight, ids))

    def test_result_is_where_the_table_is(self, lesson, draw):
        """One-hot rows for a table on the GPU have to be made on the GPU."""
        weight, ids = draw.normal(7, 3), draw.ids(7, 2, 4)
        expect.follows_device(lesson.one_hot_lookup, weight, ids)


@exercise("one_hot_bytes")
class TestOneHotBytes:
    def test_two_sentences_of_three_words(self, lesson):
        """2 sentences of 3 tokens are 6 one-hot rows of 5 numbers: 30 numbers
        of 4 bytes each."""
        expect.equal(lesson.one_hot_bytes(5, 2, 3), 120)

    def test_gpt2_needs_six_gigabytes(self, lesson):
        """32 · 1024 · 50257 numbers of 4 bytes each are 6 587 285 504 bytes."""
        expect.equal(lesson.one_hot_bytes(50257, 32, 1024), 6_587_285_504)

    @pytest.mark.parametrize("size", [1, 2, 8])
    def test_bytes_per_element(self, lesson, size):
        """7 · 2 · 3 = 42 numbers take 42 bytes as int8, 84 as bfloat16 and
        336 as int64."""
        expect.equal(lesson.one_hot_bytes(7, 2, 3, bytes_per_element=size), 42 * size)
        expect.equal(lesson.one_hot_bytes(7, 2, 3, size), 42 * size)

    def test_every_side_counts(self, lesson, draw):
        """A box of B by T by V numbers: twice as long on one side is twice as
        large, whichever side it is."""
        b, t, v = draw.integer(2, 9), draw.integer(10, 99), draw.integer(100, 999)
        want = sum(4 * t * v for _ in range(b))
        expect.equal(lesson.one_hot_bytes(v, b, t), want)
        expect.equal(lesson.one_hot_bytes(vocab_size=v, batch_size=2 * b, seq_len=t), 2 * want)
        expect.equal(lesson.one_hot_bytes(v, b, 2 * t), 2 * want)
        expect.equal(lesson.one_hot_bytes(2 * v, b, t), 2 * want)


@exercise("one_hot_bytes")
@corner
class TestOneHotBytesCorners:
    def test_no_byte_is_lost(self, lesson):
        """(10**8 + 1) (10**8 - 1) = 10**16 - 1, times 4 bytes; a float rounds that up,
        because it has no odd numbers beyond 2**53."""
        expect.equal(lesson.one_hot_bytes(10**8 + 1, 10**8 - 1, 1), 39_999_999_999_999_996)
        expect.equal(lesson.one_hot_bytes(10**8 + 1, 1, 10**8 - 1, 1), 9_999_999_999_999_999)

    def test_more_bytes_than_int64_can_count(self, lesson):
        """2**31 · 2**20 · 2**12 numbers of 8 = 2**3 bytes are 2**66 bytes. An int64 ends
        at 2**63 and starts again; Python's int does not."""
        expect.equal(lesson.one_hot_bytes(2**31, 2**20, 2**12, 8), 2**66)
        expect.equal(lesson.one_hot_bytes(2**31 - 1, 2**20, 2**12, 8), 2**66 - 2**35)


@exercise("lookup_backward")
class TestLookupBackward:
    def test_repeated_ids_add_up(self, lesson):
        """Row 1 was looked up three times: 1 + 10 + 100 = 111. Row 0 was not."""
        grad_output = torch.tensor([[1.0, 2.0], [5.0, 6.0], [10.0, 20.0], [100.0, 200.0]])
        got = lesson.lookup_backward(grad_output, torch.tensor([1, 2, 1, 1]), 3)
        expect.close(got, torch.tensor([[0.0, 0.0], [111.0, 222.0], [5.0, 6.0]]))

    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_every_gradient_reaches_its_row(self, lesson, draw, shape):
        """Ids (...) with gradients (..., C) give one gradient for the table,
        (V, C): the sum over all places where the row was looked up."""
        ids, grad_output = draw.ids(6, *shape), draw.normal(*shape, 9)
        got = lesson.lookup_backward(grad_output, ids, 7)
        expect.close(got, sum_of_each_row(grad_output, ids, 7))

    def test_rows_not_looked_up_get_exactly_zero(self, lesson, draw):
        """The loss does not depend on a row that nobody looked up. The table
        has V rows, however small the ids in this batch are."""
        got = lesson.lookup_backward(draw.normal(2, 4, 3), draw.ids(4, 2, 4) + 3, 9)
        expect.shape(got, 9, 3)
        expect.equal(got[:3], torch.zeros(3, 3))
        expect.equal(got[7:], torch.zeros(2, 3))

    def test_second_call_starts_from_zero(self, lesson, draw):
        """Nothing is kept from one call to the next."""
        for _ in range(2):
            ids, grad_output = draw.ids(6, 2, 4), draw.normal(2, 4, 3)
            got = lesson.lookup_backward(grad_output, ids, 6)
            expect.close(got, sum_of_each_row(grad_output, ids, 6))

    def test_works_without_autograd(self, lesson, draw):
        """Inside `torch.inference_mode()` autograd records nothing, so asking it
        for the gradient of a lookup fails there; adding up needs no help."""
        ids, grad_output = draw.ids(6, 2, 4), draw.normal(2, 4, 3)
        with lesson.inference_mode():
            got = lesson.lookup_backward(grad_output, ids, 6)
        expect.close(got, sum_of_each_row(grad_output, ids, 6))

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensors."""
        before = (draw.normal(2, 4, 3), draw.ids(7, 2, 4), 7)
        after = (draw.normal(2, 4, 3), draw.ids(7, 2, 4), 7)
        expect.sees_changes(lesson.lookup_backward, before, after, sum_of_each_row(*after))


@exercise("lookup_backward")
@corner
class TestLookupBackwardCorners:
    @pytest.mark.parametrize("shape", SINGLE_OR_NONE, ids=str)
    def test_a_single_id_or_none(self, lesson, draw, shape):
        """A single id, of shape (), sends its gradient, (C,), to one row. Of no ids no
        row gets anything: (V, C) zeros."""
        ids, grad_output = draw.ids(4, *shape), draw.normal(*shape, 3)
        got = lesson.lookup_backward(grad_output, ids, 4)
        expect.close(got, sum_of_each_row(grad_output, ids, 4))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_the_gradient(self, lesson, draw, dtype):
        """Gradients come in the dtype of the table and go back in it. (Whole
        numbers here, so that each dtype adds them without rounding.) Ids are not rounded
        to it: bfloat16 cannot tell 257 from 256."""
        ids, grad_output = draw.ids(4, 3, 5) + 255, draw.ids(9, 3, 5, 2).to(dtype)
        got = lesson.lookup_backward(grad_output, ids, 300)
        expect.equal(got, sum_of_each_row(grad_output, ids, 300))

    def test_float64_stays_as_fine_as_it_was(self, lesson):
        """1 + 1e-12 has no room in a float32: the sums must be in float64."""
        grad_output = torch.tensor([[1.0], [1e-12], [1.0]], dtype=torch.float64)
        got = lesson.lookup_backward(grad_output, torch.tensor([0, 0, 1]), 2)
        want = torch.tensor([[1.0 + 1e-12], [1.0]], dtype=torch.float64)
        expect.close(got, want, tolerance=1e-14)

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of the ids only says how they are stored, not which rows
        they name; the table may have more rows than that dtype can count."""
        ids, grad_output = some_ids(dtype), draw.normal(2, 5, 3)
        got = lesson.lookup_backward(grad_output, ids, 300)
        expect.close(got, sum_of_each_row(grad_output, ids, 300))

    def test_uint8_ids_are_numbers_not_a_mask(self, lesson):
        """Row 0 gets the first gradient, row 1 the other two: 2 + 3 = 5.
        PyTorch reads a uint8 index as a mask."""
        ids = torch.tensor([0, 1, 1], dtype=torch.uint8)
        got = lesson.lookup_backward(torch.tensor([[1.0], [2.0], [3.0]]), ids, 3)
        expect.close(got, torch.tensor([[1.0], [5.0], [0.0]]))

    def test_transposed_arguments(self, lesson, draw):
        """A transposed tensor has its numbers in another order in memory;
        what counts is the order of its indices."""
        ids, grad_output = draw.ids(6, 4, 2).T, draw.normal(3, 4, 2).permute(2, 1, 0)
        got = lesson.lookup_backward(grad_output, ids, 6)
        expect.close(got, sum_of_each_row(grad_output, ids, 6))

    def test_expanded_gradient(self, lesson, draw):
        """The gradient of a sum is a single 1 that `expand` shows everywhere:
        each row gets 1 for every time that it was looked up."""
        ids = draw.ids(5, 3, 4)
        counts = [float((ids == row).sum()) for row in range(5)]
        got = lesson.lookup_backward(torch.ones(()).expand(3, 4, 2), ids, 5)
        expect.close(got, torch.tensor(counts)[:, None].repeat(1, 2))

    def test_result_is_where_the_gradient_is(self, lesson, draw):
        """For a gradient on the GPU the sums have to be made on the GPU."""
        grad_output, ids = draw.normal(2, 4, 3), draw.ids(7, 2, 4)
        expect.follows_device(lesson.lookup_backward, grad_output, ids, 7)


@exercise("TokenEmbedding")
class TestTokenEmbedding:
    def test_one_parameter_called_weight(self, lesson):
        """The table is all there is to learn: V rows of C numbers, float32.
        An `nn.Parameter` is what an optimizer finds and a checkpoint holds."""
        table = lesson.TokenEmbedding(7, 3)
        parameters = table.parameters
        expect.equal(list(parameters), ["weight"], what="the names of the parameters")
        expect.equal(table.trainable, ["weight"])
        expect.equal(parameters["weight"] * 0, torch.zeros(7, 3))

    def test_forward_looks_up_weight(self, lesson):
        """With the rows (1, 2), (3, 4), (5, 6) in `weight`, id 2 gives (5, 6)."""
        table = table_holding(lesson, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        got = table(torch.tensor([[2, 0, 2]]))
        expect.equal(got, torch.tensor([[[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]]))

    def test_forward_follows_weight(self, lesson, draw):
        """When an optimizer has changed `weight`, the next call must show it."""
        table, ids = lesson.TokenEmbedding(7, 3), draw.ids(7, 2, 4)
        table(ids)
        weight = draw.normal(7, 3)
        table.set(weight=weight)
        expect.equal(table(ids), each_row(weight, ids))

    def test_result_has_a_row_for_every_id(self, lesson, draw):
        """Ids of shape (...) give (..., C): one axis more, with the row in it."""
        weight = draw.normal(7, 5)
        table = table_holding(lesson, weight)
        for shape in SHAPES:
            ids = draw.ids(7, *shape)
            expect.equal(table(ids), each_row(weight, ids))

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        table, weight, ids = lesson.TokenEmbedding(7, 3), draw.normal(7, 3), draw.ids(7, 2, 5)
        table.set(weight=weight)
        for training in (True, False):
            table.train(training)
            expect.equal(table(ids), each_row(weight, ids))

    def test_spread_at_the_start_is_002(self, lesson, draw):
        """N(0, 0.02²) has mean 0 and standard deviation 0.02, whatever the sizes
        of the table are. (Square 0.02 and you have the variance.)"""
        lesson.seed(draw.integer(0, 10**6))
        weight = lesson.TokenEmbedding(160, 250).parameters["weight"].double()
        expect.close(
            weight.std().item(), 0.02, tolerance=5e-4, what="the standard deviation of the table"
        )
        expect.close(weight.mean().item(), 0.0, tolerance=6e-4, what="the mean of the table")

    def test_every_row_is_drawn_alike(self, lesson, draw):
        """No row is special, the first one neither: 2500 numbers each, all with
        mean 0 and standard deviation 0.02."""
        lesson.seed(draw.integer(0, 10**6))
        weight = lesson.TokenEmbedding(12, 2500).parameters["weight"].double()
        mean, std = torch.zeros(12).double(), torch.full((12,), 0.02).double()
        expect.close(weight.mean(dim=1), mean, tolerance=0.0032, what="the mean of each row")
        expect.close(
            weight.std(dim=1), std, tolerance=0.0023, what="the standard deviation of each row"
        )
        for a, b in itertools.combinations(range(12), 2):
            same = torch.equal(weight[a], weight[b])
            expect.that(not same, f"rows {a} and {b} are the same: each token needs its own")

    def test_start_is_a_bell_curve(self, lesson, draw):
        """Of normal numbers 4.55 % lie beyond two standard deviations and 0.27 %
        beyond three; uniform ones never get that far."""
        lesson.seed(draw.integer(0, 10**6))
        weight = lesson.TokenEmbedding(160, 250).parameters["weight"].double()
        beyond = [(weight.abs() > k * 0.02).double().mean().item() for k in (2, 3)]
        expect.that(abs(beyond[0] - 0.0455) < 0.006, f"{beyond[0]:.1%} lie beyond ±0.04, not 4.6 %")
        expect.that(
            abs(beyond[1] - 0.0027) < 0.0015, f"{beyond[1]:.2%} lie beyond ±0.06, not 0.27 %"
        )

    def test_two_tables_stay_apart(self, lesson, draw):
        """Each module has its own table."""
        one, other, ids = draw.normal(7, 3), draw.normal(7, 3), draw.ids(7, 2, 4)
        table = table_holding(lesson, one)
        table_holding(lesson, other)(ids)
        expect.equal(table(ids), each_row(one, ids))

    def test_gradient_goes_to_the_rows_looked_up(self, lesson, draw):
        """Each looked-up copy sends its gradient to its row of `weight`; copies
        of the same row add up; the first and the last row are like any other."""
        table, upstream = lesson.TokenEmbedding(7, 3), draw.normal(2, 6, 3)
        ids = torch.tensor([[0, 6, 1, 6, 5, 0], [5, 5, 0, 1, 1, 5]])
        got = table.gradients(ids, upstream=upstream)["weight"]
        expect.close(got, sum_of_each_row(upstream, ids, 7))

    def test_looking_up_leaves_the_table_alone(self, lesson, draw):
        """Reading is not learning: even long rows stay as long as they are."""
        weight = 100 * draw.normal(7, 3)
        table = table_holding(lesson, weight)
        table(torch.arange(7))
        expect.equal(table.parameters["weight"], weight)


@exercise("TokenEmbedding")
@corner
class TestTokenEmbeddingCorners:
    def test_a_single_id_or_none(self, lesson, draw):
        """A single id, of shape (), gives a single row, (C,). No id is out of range if
        there is none: (2, 0) gives (2, 0, C)."""
        weight = draw.normal(7, 3)
        table = table_holding(lesson, weight)
        for shape in SINGLE_OR_NONE:
            ids = draw.ids(7, *shape)
            expect.equal(table(ids), each_row(weight, ids))

    def test_transposed_ids(self, lesson, draw):
        """They are in another order in memory, which `.view` refuses."""
        weight, ids = draw.normal(7, 3), draw.ids(7, 2, 5).T
        expect.equal(table_holding(lesson, weight)(ids), each_row(weight, ids))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_the_table(self, lesson, draw, dtype):
        """`table.to(dtype)` converts the parameters; the rows are theirs. Ids are not
        rounded to it: bfloat16 cannot tell 257 from 256."""
        table, weight, ids = (
            lesson.TokenEmbedding(300, 3),
            draw.normal(300, 3, dtype=dtype),
            torch.tensor([0, 256, 257, 258, 299]),
        )
        table.to(dtype)
        table.set(weight=weight)
        expect.equal(table(ids), each_row(weight, ids))

    def test_ids_of_every_integer_dtype(self, lesson, draw):
        """The dtype of the ids only says how they are stored, not which rows
        they name; the table may have more rows than that dtype can count."""
        weight = draw.normal(300, 3)
        table = table_holding(lesson, weight)
        for dtype in OTHER_INTEGERS:
            ids = some_ids(dtype)
            expect.equal(table(ids), each_row(weight, ids))

    def test_uint8_ids_are_numbers_not_a_mask(self, lesson):
        """Three ids give three rows. PyTorch reads a uint8 index as a mask:
        0, 1, 1 would then mean "leave out the first row"."""
        table = table_holding(lesson, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        got = table(torch.tensor([0, 1, 1], dtype=torch.uint8))
        expect.equal(got, torch.tensor([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]]))

    def test_id_without_a_row_is_an_index_error(self, lesson):
        """A table of 5 rows has the ids 0 to 4; the same errors as `lookup`."""
        table = lesson.TokenEmbedding(5, 3)
        for row in OUT_OF_RANGE:
            bad = torch.tensor([[0, 4], [row, 1]])
            expect.rejects(table, IndexError, bad=(bad,), mentions=((row, 5),))

    def test_other_than_integers_are_a_type_error(self, lesson):
        """Floats and bools number no rows; the same errors as `lookup`."""
        table = lesson.TokenEmbedding(5, 3)
        for dtype in torch.float32, *OTHER_FLOATS, torch.bool:
            bad = torch.tensor([1, 0, 1], dtype=dtype)
            names = ("bool", "True") if dtype == torch.bool else ("float", "1.")
            expect.rejects(table, TypeError, bad=(bad,), mentions=names)

    def test_manual_seed_repeats_the_start(self, lesson):
        """The numbers come from PyTorch's global generator, so a run can be
        repeated by `torch.manual_seed`; another seed gives another start."""
        start = []
        for seed in 1, 1, 2:
            lesson.seed(seed)
            start.append(lesson.TokenEmbedding(7, 3).parameters["weight"])
        elsewhere = "are they drawn from PyTorch's global generator?"
        same, other = torch.equal(start[1], start[0]), torch.equal(start[2], start[0])
        expect.that(same, f"one seed gives different numbers; {elsewhere}")
        expect.that(not other, f"two seeds give the same numbers; {elsewhere}")

    def test_global_generator_is_not_reseeded(self, lesson):
        """Whoever seeds inside of a module makes all random numbers after it
        the same in every run."""
        after = []
        for seed in 1, 2:
            lesson.seed(seed)
            lesson.TokenEmbedding(7, 3)(torch.tensor([1]))
            after.append(lesson.random_number())
        expect.that(after[0] != after[1], "the global generator was seeded on the way")

    def test_result_is_where_the_table_is(self, lesson, draw):
        """A table moved to the GPU gives rows on the GPU."""
        table, ids = lesson.TokenEmbedding(7, 3), draw.ids(7, 2, 4)
        expect.follows_device(table, ids)
