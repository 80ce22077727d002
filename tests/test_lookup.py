"""Lesson 1: an embedding is a table, not a layer. Grades `exercises/lookup.py`."""

import math

import torch

from course.testing import exercise, expect

SHAPES = [(5,), (1, 1), (2, 3, 4)]
FAR = [(40_000, 1, (1, 2)), (2, 9_001, (2, 2)), (2, 1, (9_001, 1)), (2, 1, (1, 9_001))]
"""V, C and the shape of the ids: many rows, wide ones, many texts and a long one."""


def counting(vocab_size, n_embd):
    """A table whose row r holds C·r, C·r + 1, ..., so that each row says which one it is."""
    return torch.arange(float(vocab_size * n_embd)).reshape(vocab_size, n_embd)


def rows_of_counting(ids, n_embd):
    """The rows of such a table, computed: a number in row r is C·r plus its column."""
    return n_embd * ids[..., None].float() + torch.arange(float(n_embd))


def one_by_one(weight, ids):
    """The rows of a table by Python's own indices."""
    rows = weight.tolist()
    return torch.tensor([[rows[row] for row in text] for text in ids.tolist()])


def sum_of_each_row(grad_output, ids, vocab_size):
    """The gradients that reach each row, added one by one in float64."""
    sums = torch.zeros(vocab_size, grad_output.shape[-1], dtype=torch.float64)
    for place, row in enumerate(ids.flatten().tolist()):
        sums[row] += grad_output.reshape(-1, grad_output.shape[-1])[place].double()
    return sums.float()


def expect_rows(look_up, draw):
    """Expect the row of every id, for ids of several shapes."""
    for shape in SHAPES:
        ids = draw.ids(9, *shape)
        expect.close(look_up(counting(9, 4), ids), rows_of_counting(ids, 4))


def expect_rows_far_out(look_up, draw, sizes=FAR):
    """Expect the same for large tables, many texts and long ones; the last id is V - 1."""
    for vocab_size, n_embd, shape in sizes:
        ids = draw.ids(vocab_size, *shape)
        ids[-1, -1] = vocab_size - 1
        got = look_up(counting(vocab_size, n_embd), ids)
        expect.close(got, rows_of_counting(ids, n_embd))


def expect_changes_seen(function, first, second, want):
    """Expect results for the two arguments as they are now, after one and then the other changed.

    Args:
        first, second: the pair in the first call and in the last.
        want: computes the right result.
    """
    between = second[0], first[1]
    expect.sees_changes(function, first, between, want(*between))
    expect.sees_changes(function, between, second, want(*second))


IDS = torch.tensor([[0, 3, 1, 3, 6, 0], [6, 6, 0, 1, 1, 6]])
"""Of a table with 7 rows: the first and the last one are among them, most of them repeated."""


@exercise("lookup")
class TestLookup:
    def test_id_2_gives_the_third_row(self, lesson):
        """Rows are counted from 0: id 2 is the third row, id 0 the first."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        got = lesson.lookup(weight, torch.tensor([2, 0, 2]))
        expect.equal(got, torch.tensor([[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]))

    def test_result_has_a_row_for_every_id(self, lesson, draw):
        """Ids of shape (...) give (..., C): one axis more, with the row in it."""
        expect_rows(lesson.lookup, draw)

    def test_other_rows_are_not_read(self, lesson):
        """Looking up row 1 reads row 1. Multiplying the other rows by zero
        reads them all, and 0 times infinity or nan is nan."""
        weight = torch.tensor([[math.inf, 1.0], [2.0, 3.0], [math.nan, 4.0]])
        expect.equal(lesson.lookup(weight, torch.tensor([1])), torch.tensor([[2.0, 3.0]]))

    def test_gradient_goes_to_the_rows_looked_up(self, lesson, draw):
        """Each looked-up copy sends its gradient back to its row; copies of
        the same row add up, and a row that was not looked up gets zero."""
        weight, upstream = draw.normal(7, 3), draw.normal(2, 6, 3)
        got = lesson.lookup.gradients(weight, IDS, upstream=upstream)[0]
        expect.close(got, sum_of_each_row(upstream, IDS, 7))

    def test_ids_that_name_no_row_are_rejected(self, lesson):
        """A table of 5 rows has the ids 0 to 4; there is no row 1.5 either, and
        True and False are answers, not numbers of rows."""
        for bad in 5, -1:
            ids = torch.tensor([[0, 4], [bad, 1]])
            expect.rejects(lesson.lookup, IndexError, bad=(counting(5, 3), ids))
        for bad in torch.tensor([0.0, 1.5]), torch.tensor([True, False]):
            expect.rejects(lesson.lookup, TypeError, bad=(counting(5, 3), bad))

    def test_large_tables_and_batches(self, lesson, draw):
        """40000 rows, rows of 9001 numbers, 9001 texts, a text of 9001 tokens; then the last of
        60 001 rows, whose number doesn't fit into 16 bits with a sign.
        """
        expect_rows_far_out(lesson.lookup, draw)
        last = torch.tensor([60_000])
        expect.equal(lesson.lookup(counting(60_001, 1), last), torch.tensor([[60_000.0]]))

    def test_changed_arguments_are_seen(self, lesson, draw):
        """Training changes the table in place; the next rows are the new ones."""
        first, second = [(draw.normal(7, 3), draw.ids(7, 2, 4)) for _ in range(2)]
        expect_changes_seen(lesson.lookup, first, second, one_by_one)


@exercise("one_hot_lookup")
class TestOneHotLookup:
    def test_product_picks_the_row(self, lesson):
        """Id 1 of 3 is the one-hot row (0, 1, 0), and 0 times the first row
        plus 1 times the second plus 0 times the third is the second."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        got = lesson.one_hot_lookup(weight, torch.tensor([1, 0, 1]))
        expect.close(got, torch.tensor([[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]))

    def test_result_has_a_row_for_every_id(self, lesson, draw):
        """One-hot rows (..., V) times the table (V, C) give (..., C)."""
        expect_rows(lesson.one_hot_lookup, draw)

    def test_gradient_goes_to_the_rows_looked_up(self, lesson, draw):
        """The gradient at the table is the one-hot matrix, transposed, times the
        gradient at the result: gradients of the same row add up."""
        weight, upstream = draw.normal(7, 3), draw.normal(2, 6, 3)
        got = lesson.one_hot_lookup.gradients(weight, IDS, upstream=upstream)[0]
        expect.close(got, sum_of_each_row(upstream, IDS, 7))

    def test_large_tables_and_batches(self, lesson, draw):
        """9001 rows, rows of 9001 numbers, 9001 texts, a text of 9001 tokens. A square of more
        rows, as `torch.eye(V)` makes, would fill the memory.
        """
        expect_rows_far_out(lesson.one_hot_lookup, draw, [(9_001, 1, (1, 2)), *FAR[1:]])

    def test_changed_arguments_are_seen(self, lesson, draw):
        """Training changes the table in place; the next rows are the new ones."""
        first, second = [(draw.normal(7, 3), draw.ids(7, 2, 4)) for _ in range(2)]
        expect_changes_seen(lesson.one_hot_lookup, first, second, one_by_one)


@exercise("one_hot_bytes")
class TestOneHotBytes:
    def test_two_sentences_of_three_words(self, lesson):
        """2 sentences of 3 tokens are 6 one-hot rows of 5 numbers: 30 numbers
        of 4 bytes each."""
        expect.equal(lesson.one_hot_bytes(5, 2, 3), 120)

    def test_more_than_any_computer_holds(self, lesson):
        """999 983 tokens each of 64 007 texts, for a vocabulary of 200 003, at one byte.
        A float has no room for the last digit of the product."""
        got = lesson.one_hot_bytes(200_003, 64_007, seq_len=999_983, bytes_per_element=1)
        expect.equal(got, 12_801_374_393_935_643)

    def test_gpt2_needs_six_gigabytes(self, lesson):
        """32 · 1024 · 50257 numbers of 4 bytes each are 6 587 285 504 bytes. One text
        more, one token less, are 33 · 1023 · 50257 numbers: 6 786 504 252 bytes."""
        expect.equal(lesson.one_hot_bytes(50257, 32, 1024), 6_587_285_504)
        expect.equal(lesson.one_hot_bytes(50257, 33, 1023), 6_786_504_252)

    def test_bytes_per_element(self, lesson, draw):
        """V · B · T numbers take one byte each as int8, 2 as bfloat16, 8 as int64."""
        sizes = [draw.integer(7, 99), draw.integer(2, 99), draw.integer(2, 99)]
        for n_bytes in 1, 2, 8:
            want = math.prod(sizes) * n_bytes
            expect.equal(lesson.one_hot_bytes(*sizes, bytes_per_element=n_bytes), want)
            expect.equal(lesson.one_hot_bytes(*sizes, n_bytes), want)


@exercise("lookup_backward")
class TestLookupBackward:
    def test_repeated_ids_add_up(self, lesson):
        """Row 1 was looked up three times: 1 + 10 + 100 = 111. Row 0 was not."""
        grad_output = torch.tensor([[1.0, 2.0], [5.0, 6.0], [10.0, 20.0], [100.0, 200.0]])
        got = lesson.lookup_backward(grad_output, torch.tensor([1, 2, 1, 1]), 3)
        expect.close(got, torch.tensor([[0.0, 0.0], [111.0, 222.0], [5.0, 6.0]]))

    def test_every_gradient_reaches_its_row(self, lesson, draw):
        """Ids (...) with gradients (..., C) give one gradient for the table,
        (V, C): the sum over all places where the row was looked up."""
        for ids in IDS, IDS[:1, :1], IDS[0], IDS.reshape(2, 3, 2):
            grad_output = draw.normal(*ids.shape, 9)
            got = lesson.lookup_backward(grad_output, ids, 7)
            expect.close(got, sum_of_each_row(grad_output, ids, 7))

    def test_rows_not_looked_up_get_exactly_zero(self, lesson, draw):
        """The loss does not depend on a row that nobody looked up. The table
        has V rows, however small the ids in this batch are."""
        got = lesson.lookup_backward(draw.normal(2, 4, 3), draw.ids(4, 2, 4) + 3, 9)
        expect.shape(got, 9, 3)
        expect.equal(got[:3], torch.zeros(3, 3))
        expect.equal(got[7:], torch.zeros(2, 3))

    def test_works_without_autograd(self, lesson, draw):
        """Inside `torch.no_grad()` autograd records nothing, so asking it for the
        gradient of a lookup fails there; adding up needs no help."""
        ids, grad_output = draw.ids(6, 2, 4), draw.normal(2, 4, 3)
        with lesson.no_grad():
            got = lesson.lookup_backward(grad_output, ids, 6)
        expect.close(got, sum_of_each_row(grad_output, ids, 6))

    def test_large_tables_and_batches(self, lesson, draw):
        """Every id names the last row, with the gradient (1, 2, ..., C) each time: its sum
        is as many times as large as there are ids.
        """
        for vocab_size, n_embd, shape in FAR:
            once = torch.arange(float(n_embd)) + 1
            ids = torch.full(shape, vocab_size - 1)
            want = torch.zeros(vocab_size, n_embd)
            want[-1] = ids.numel() * once
            got = lesson.lookup_backward(once.repeat(*shape, 1), ids, vocab_size)
            expect.close(got, want)

    def test_second_call_starts_from_zero(self, lesson, draw):
        """Nothing is kept from one call to the next."""
        first, second = [(draw.normal(2, 4, 3), draw.ids(6, 2, 4)) for _ in range(2)]
        for arguments in first, (second[0], first[1]), second:
            for vocab_size in 6, 8:
                got = lesson.lookup_backward(*arguments, vocab_size)
                expect.close(got, sum_of_each_row(*arguments, vocab_size))
        want = sum_of_each_row(*second, 6)
        expect.sees_changes(lesson.lookup_backward, (*first, 6), (*second, 6), want)


def table_holding(lesson, weight):
    """A `TokenEmbedding` with these rows."""
    table = lesson.TokenEmbedding(*weight.shape)
    table.set(weight=weight)
    return table


@exercise("TokenEmbedding")
class TestTokenEmbedding:
    def test_one_parameter_called_weight(self, lesson):
        """The table is all there is to learn: V rows of C numbers. An
        `nn.Parameter` is what an optimizer finds and a checkpoint holds."""
        table = lesson.TokenEmbedding(7, 3)
        expect.equal(list(table.parameters), ["weight"], what="the names of the parameters")
        expect.equal(table.trainable, ["weight"])
        expect.shape(table.parameters["weight"], 7, 3)

    def test_forward_looks_up_weight(self, lesson):
        """With the rows (1, 2), (3, 4), (5, 6) in `weight`, id 2 gives (5, 6)."""
        table = table_holding(lesson, torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        got = table(torch.tensor([[2, 0, 2]]))
        expect.equal(got, torch.tensor([[[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]]))

    def test_spread_at_the_start_is_002(self, lesson):
        """N(0, 0.02²) has mean 0 and standard deviation 0.02, in every row and every
        column. (Square 0.02 and you have the variance.)"""
        weight = lesson.TokenEmbedding(160, 250).parameters["weight"].double()
        std = weight.std().item()
        expect.close(std, 0.02, tolerance=7e-4, what="the standard deviation of the table")
        expect.close(weight.mean().item(), 0.0, tolerance=6e-4, what="the mean of the table")
        for axis, what in enumerate(("a column", "a row")):
            least = weight.std(dim=axis).min().item()
            said = f"{what} has the standard deviation {least:.2g}, not 0.02"
            expect.that(least > 0.011, said)

    def test_start_is_a_bell_curve(self, lesson):
        """Of normal numbers 2.1 % lie beyond 2.3 standard deviations, however large those are;
        uniform ones never get that far. No two rows are the same."""
        weight = lesson.TokenEmbedding(160, 250).parameters["weight"].double()
        far = (weight - weight.mean()).abs() > 2.3 * weight.std()
        share = far.double().mean().item()
        said = f"{share:.1%} lie beyond 2.3 standard deviations, not 2.1 %"
        expect.that(abs(share - 0.0205) < 0.007, said)
        expect.that(len(weight.unique(dim=0)) == 160, "two rows are the same: each needs its own")

    def test_gradient_goes_to_the_rows_looked_up(self, lesson, draw):
        """Each looked-up copy sends its gradient to its row of `weight`; copies
        of the same row add up; the first and the last row are like any other."""
        table, upstream = lesson.TokenEmbedding(7, 3), draw.normal(2, 6, 3)
        got = table.gradients(IDS, upstream=upstream)["weight"]
        expect.close(got, sum_of_each_row(upstream, IDS, 7))

    def test_result_has_a_row_for_every_id(self, lesson, draw):
        """Ids of shape (...) give (..., C), from 9 rows as from 2300."""

        def look_up(weight, ids):
            return table_holding(lesson, weight)(ids)

        expect_rows(look_up, draw)
        expect_rows_far_out(look_up, draw)

    def test_forward_follows_weight(self, lesson, draw):
        """When an optimizer has changed `weight`, the next call must show it. Another
        module has its own table."""
        one, other, later, ids = *(draw.normal(7, 3) for _ in range(3)), draw.ids(7, 2, 4)
        table, same_ids = table_holding(lesson, one), lesson.kept(ids)
        expect.equal(table_holding(lesson, other)(same_ids), one_by_one(other, ids))
        expect.equal(table(same_ids), one_by_one(one, ids))
        table.set(weight=later)
        expect.equal(table(same_ids), one_by_one(later, ids))

    def test_id_without_a_row_is_an_index_error(self, lesson):
        """A table of 5 rows has the ids 0 to 4."""
        table = lesson.TokenEmbedding(5, 3)
        for bad in 5, -1:
            expect.rejects(table, IndexError, bad=(torch.tensor([[0, 4], [bad, 1]]),))

    def test_numbers_come_from_the_global_generator(self, lesson):
        """`torch.manual_seed` decides the table, and what is drawn after it."""
        drawn, after = [], []
        for seed in 1, 1, 2:
            lesson.seed(seed)
            drawn.append(lesson.TokenEmbedding(7, 3).parameters["weight"])
            after.append(lesson.random_number())
        elsewhere = "are they drawn from PyTorch's global generator?"
        expect.that(drawn[0].equal(drawn[1]), f"one seed gives different numbers; {elsewhere}")
        expect.that(not drawn[0].equal(drawn[2]), f"two seeds give the same numbers; {elsewhere}")
        expect.that(after[0] != after[2], "the global generator was seeded on the way")
