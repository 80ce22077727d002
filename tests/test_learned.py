"""Lesson 3: a second table, indexed by position. Grades `exercises/learned.py`."""

import itertools

import pytest
import torch
from torch import nn

from course.testing import corner, exercise, expect

OTHER_INTEGERS = [torch.int32, torch.int16, torch.int8, torch.uint8]
"""Beside int64, which most tests use."""
OTHER_FLOATS = [torch.float64, torch.bfloat16]
"""Beside float32, which most tests use."""


def shapes(tensors):
    """The shapes in a dictionary of tensors."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def expect_small_normal(weight):
    """Expect 40,000 draws from N(0, 0.02²); right ones miss a bound once in a hundred million."""
    weight = weight.double()
    mean, std = weight.mean().item(), weight.std().item()
    beyond = (weight.abs() > 0.04).double().mean().item()
    expect.that(not weight[1:].equal(weight[:-1]), "all rows of the weights are the same")
    expect.close(std, 0.02, tolerance=0.0005, what="the standard deviation of the weights")
    expect.close(mean, 0.0, tolerance=0.0006, what="the mean of the weights")
    expect.that(
        abs(beyond - 0.0455) < 0.0065,
        f"{beyond:.1%} of the weights lie beyond ±0.04; of N(0, 0.02²) it is 4.6%",
    )
    least = min(weight.std(dim=0).min().item(), weight.std(dim=1).min().item())
    expect.that(least > 0.01, f"a row or a column has the standard deviation {least:.2g}, not 0.02")


def expect_drawn_by_seed(lesson, make):
    """Expect the same weights for the same seed of the global generator, others for another."""
    drawn = []
    for seed in 1, 1, 2:
        lesson.seed(seed)
        parameters = make().parameters
        drawn.append([parameters[name] for name in sorted(parameters)])
    elsewhere = "are they drawn from PyTorch's global generator?"
    for first, again, other in zip(*drawn, strict=True):
        expect.that(first.equal(again), f"one seed gives different weights; {elsewhere}")
        expect.that(not first.equal(other), f"two seeds give the same weights; {elsewhere}")


def expect_not_reseeded(lesson, call):
    """Expect two seeds of the global generator to be told apart after a call."""
    after = []
    for seed in 1, 2:
        lesson.seed(seed)
        call()
        after.append(lesson.random_number())
    expect.that(after[0] != after[1], "the call seeds PyTorch's global generator")


# --- LearnedPositionalEmbedding -----------------------------------------------------------------


def position_table(lesson, weight):
    """The student's module with this table in it."""
    module = lesson.LearnedPositionalEmbedding(*weight.shape)
    if weight.dtype != torch.float32:
        module.to(weight.dtype)
    module.set(weight=weight)
    return module


@exercise("LearnedPositionalEmbedding")
class TestLearnedPositionalEmbedding:
    def test_weight_is_the_one_parameter(self, lesson):
        """One row per position, one column per feature: 5 rows of 3."""
        module = lesson.LearnedPositionalEmbedding(5, 3)
        expect.equal(shapes(module.parameters), {"weight": (5, 3)})
        expect.equal(module.trainable, ["weight"])

    def test_three_tokens_get_rows_0_1_and_2(self, lesson):
        """The first token is at position 0, so it gets row 0 of the table."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
        expect.equal(position_table(lesson, weight)(3), weight[:3])

    @pytest.mark.parametrize("seq_len", [1, 7])
    def test_any_length_up_to_the_whole_table(self, lesson, draw, seq_len):
        """Length 7 needs positions 0..6, and the table has those."""
        weight = draw.normal(7, 4)
        expect.equal(position_table(lesson, weight)(seq_len), weight[:seq_len])

    def test_beyond_the_table_there_are_no_rows(self, lesson):
        """A learned table ends: of 4 rows `weight[:9]` silently gives 4."""
        expect.rejects(lesson.LearnedPositionalEmbedding(4, 3), Exception, bad=(9,))

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        weight = draw.normal(5, 3)
        module = position_table(lesson, weight)
        for training in (True, False):
            module.train(training)
            expect.equal(module(4), weight[:4])

    def test_the_rows_follow_the_table_as_it_learns(self, lesson, draw):
        """Training changes the weights between two calls, so no copy may be kept."""
        module = position_table(lesson, draw.normal(5, 3))
        module(4)
        trained = draw.normal(5, 3)
        module.set(weight=trained)
        expect.equal(module(4), trained[:4])

    def test_two_tables_share_nothing(self, lesson, draw):
        """Each module has its own table: one has 6 rows, the other 5."""
        one, other = draw.normal(6, 3), draw.normal(5, 3)
        module = position_table(lesson, one)
        position_table(lesson, other)(4)
        expect.equal(module(4), one[:4])

    def test_only_the_rows_in_use_learn(self, lesson, draw):
        """Positions 0..2 pass their gradient to their rows; rows 3..5 get zero."""
        module, upstream = position_table(lesson, draw.normal(6, 4)), draw.normal(3, 4)
        gradients = module.gradients(3, upstream=upstream)
        expect.close(gradients["weight"], torch.cat((upstream, torch.zeros(3, 4))))

    def test_the_table_is_drawn_with_std_002(self, lesson):
        """Mean 0 and standard deviation 0.02, as in GPT-2; so N(0, 0.02²)."""
        module = lesson.LearnedPositionalEmbedding(400, 100)
        expect_small_normal(module.parameters["weight"])


@exercise("LearnedPositionalEmbedding")
@corner
class TestLearnedPositionalEmbeddingCorners:
    def test_a_length_that_the_table_lacks_is_refused(self, lesson):
        """Of 4 rows, `weight[:9]` silently gives 4, and `weight[:-1]` gives 3."""
        module = lesson.LearnedPositionalEmbedding(4, 3)
        for seq_len in 5, 9, -1:
            expect.rejects(module, ValueError, bad=(seq_len,), mentions=((seq_len, 4),))

    def test_no_tokens_get_no_rows(self, lesson, draw):
        """Length 0 is (0, C)."""
        weight = draw.normal(7, 4)
        expect.equal(position_table(lesson, weight)(0), weight[:0])

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=str)
    def test_the_rows_have_the_dtype_of_the_table(self, lesson, draw, dtype):
        """`module.to(dtype)` converts the parameter; what is made of it follows. Positions
        are not rounded to it: bfloat16 cannot tell 257 from 256.
        """
        weight = draw.normal(300, 3, dtype=dtype)
        expect.equal(position_table(lesson, weight)(299), weight[:299])

    def test_the_rows_are_where_the_table_is(self, lesson):
        """With the module on a GPU they are on the GPU; "meta" takes its place here."""
        expect.follows_device(lesson.LearnedPositionalEmbedding(6, 3), 4)

    def test_rows_learn_after_inference_too(self, lesson, draw):
        """Positions made inside `torch.inference_mode()` and kept would be refused. The mode
        of the module does not matter: evaluation changes nothing here.
        """
        module = position_table(lesson, draw.normal(6, 4))
        module.train(False)
        expect.learns_after_inference(module, 3, upstream=draw.normal(3, 4))

    def test_the_seed_decides_the_table(self, lesson):
        """`torch.manual_seed` before the call repeats the draw; another seed does not."""
        expect_drawn_by_seed(lesson, lambda: lesson.LearnedPositionalEmbedding(4, 3))

    def test_nothing_is_reseeded(self, lesson):
        """What the caller draws next still depends on the caller's seed."""
        expect_not_reseeded(lesson, lambda: lesson.LearnedPositionalEmbedding(4, 3)(2))


# --- GPTEmbedding -------------------------------------------------------------------------------


def gpt_embedding(lesson, tok, pos, **options):
    """The student's module with these two tables in it."""
    module = lesson.GPTEmbedding(len(tok), len(pos), tok.shape[1], **options)
    if tok.dtype != torch.float32:
        module.to(tok.dtype)
    module.set(tok_emb__weight=tok, pos_emb__weight=pos)
    return module


def sums(tok, pos, ids):
    """Token row plus position row, entry by entry."""
    rows = [tok[word] + pos[t] for sentence in ids.tolist() for t, word in enumerate(sentence)]
    return torch.stack(rows).view(*ids.shape, -1)


@exercise("GPTEmbedding")
class TestGPTEmbedding:
    def test_two_tables_are_saved_and_nothing_else(self, lesson):
        """V = 7 rows and block_size = 5 rows of C = 3: what GPT-2 calls wte and wpe."""
        module = lesson.GPTEmbedding(7, 5, 3, dropout=0.1)
        want = {"tok_emb.weight": (7, 3), "pos_emb.weight": (5, 3)}
        expect.equal(shapes(module.state_dict), want)
        expect.equal(sorted(module.trainable), sorted(want))

    def test_parameters_number_vocabulary_plus_block_times_width(self, lesson):
        """(65 + 256) · 384 = 123,264, and (4096 + 64) · 128 = 532,480."""
        for sizes, count in [((65, 256, 384), 123_264), ((4096, 64, 128), 532_480)]:
            embedding = lesson.GPTEmbedding(*sizes)
            embedding.to("meta")  # the shapes will do
            expect.equal(sum(p.numel() for p in embedding.parameters.values()), count)

    def test_token_row_plus_position_row(self, lesson):
        """Token 2 at position 0: [5, 6] + [10, 20]; token 0 at 1: [1, 2] + [30, 40]."""
        tok = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        pos = torch.tensor([[10.0, 20.0], [30.0, 40.0]])
        got = gpt_embedding(lesson, tok, pos)(torch.tensor([[2, 0]]))
        expect.close(got, torch.tensor([[[15.0, 26.0], [31.0, 42.0]]]))

    def test_every_sentence_starts_at_position_0(self, lesson, draw):
        """3 sentences of 5 tokens: each uses position rows 0..4."""
        tok, pos, ids = draw.normal(11, 4), draw.normal(8, 4), draw.ids(11, 3, 5)
        expect.close(gpt_embedding(lesson, tok, pos)(ids), sums(tok, pos, ids))

    def test_any_length_up_to_the_block(self, lesson, draw):
        """One module reads short and long sentences in turn, up to block_size; also a single
        token, as when a model writes.
        """
        tok, pos = draw.normal(9, 2), draw.normal(6, 2)
        module = gpt_embedding(lesson, tok, pos)
        for shape in (2, 3), (2, 6), (2, 1), (1, 1):
            ids = draw.ids(9, *shape)
            expect.close(module(ids), sums(tok, pos, ids))

    def test_the_result_follows_the_tables_as_they_learn(self, lesson, draw):
        """Training changes both tables between two calls, so no copy may be kept."""
        module = gpt_embedding(lesson, draw.normal(7, 3), draw.normal(5, 3))
        ids = draw.ids(7, 2, 4)
        module(ids)
        tok, pos = draw.normal(7, 3), draw.normal(5, 3)
        module.set(tok_emb__weight=tok, pos_emb__weight=pos)
        expect.close(module(ids), sums(tok, pos, ids))

    def test_repeated_tokens_and_positions_add_their_gradients(self, lesson, draw):
        """A token row gets the sum over its places, a position row over sentences.

        In evaluation mode, too: that rests dropout, not the gradients.
        """
        ids, upstream = torch.tensor([[2, 0, 2], [4, 2, 0]]), draw.normal(2, 3, 4)
        module = gpt_embedding(lesson, draw.normal(6, 4), draw.normal(5, 4))
        module.train(False)
        gradients = module.gradients(ids, upstream=upstream)
        tok = torch.stack([upstream[ids == word].sum(dim=0) for word in range(6)])
        expect.close(gradients["tok_emb.weight"], tok)
        pos = torch.cat((upstream.sum(dim=0), torch.zeros(2, 4)))
        expect.close(gradients["pos_emb.weight"], pos)

    @pytest.mark.parametrize("table", ["tok_emb.weight", "pos_emb.weight"])
    def test_both_tables_are_drawn_with_std_002(self, lesson, table):
        """Mean 0 and standard deviation 0.02; `nn.Embedding` alone draws with 1."""
        expect_small_normal(lesson.GPTEmbedding(400, 400, 100).parameters[table])

    def test_the_two_tables_differ(self, lesson):
        """Each is drawn separately, even if their shapes agree."""
        drawn = lesson.GPTEmbedding(6, 6, 3).parameters
        same = drawn["tok_emb.weight"].equal(drawn["pos_emb.weight"])
        expect.that(not same, "the two tables hold the same numbers")

    # --- dropout

    def test_dropout_rests_by_default(self, lesson, draw):
        """dropout=0.0 drops nothing, in training mode neither, in which a module begins."""
        tok, pos, ids = draw.normal(9, 40), draw.normal(8, 40), draw.ids(9, 5, 8)
        expect.close(gpt_embedding(lesson, tok, pos)(ids), sums(tok, pos, ids))

    def test_dropout_rests_in_evaluation_mode(self, lesson, draw):
        """`module.eval()` is for predicting: nothing is dropped, nothing scaled."""
        tok, pos, ids = draw.normal(9, 40), draw.normal(8, 40), draw.ids(9, 5, 8)
        module = gpt_embedding(lesson, tok, pos, dropout=0.5)
        module.train(False)
        expect.close(module(ids), sums(tok, pos, ids))

    def test_dropout_zeroes_or_scales_each_sum(self, lesson, draw):
        """In training an element is 0 or (token + position) / (1 - p), here 4 times that."""
        tok, pos, ids = positive(draw, 9, 40), positive(draw, 8, 40), draw.ids(9, 5, 8)
        module = gpt_embedding(lesson, tok, pos, dropout=0.75)
        module.train(False)
        module(ids)
        module.train()
        got = module(ids)
        expect.close(got, (got != 0) * sums(tok, pos, ids) * 4)

    @pytest.mark.parametrize("p", [0.1, 0.8])
    def test_dropout_drops_this_share(self, lesson, draw, p):
        """Of 20,000 elements about p · 20,000 are zero (right code misses at 7 σ)."""
        tok, pos, ids = positive(draw, 9, 100), positive(draw, 50, 100), draw.ids(9, 4, 50)
        module = gpt_embedding(lesson, tok, pos, dropout=p)
        share = (module(ids) == 0).double().mean().item()
        expect.that(
            abs(share - p) < 0.025, f"dropout={p} zeroed {share:.1%} of the elements, not {p:.0%}"
        )

    def test_dropout_decides_for_each_element(self, lesson, draw):
        """No sentence, token or feature shares its fate with the next one."""
        tok, pos, ids = positive(draw, 9, 70), positive(draw, 30, 70), draw.ids(9, 4, 30)
        module = gpt_embedding(lesson, tok, pos, dropout=0.5)
        kept = module(ids) != 0
        for dim, what in enumerate(["sentences", "tokens", "features"]):
            same = kept.eq(kept.select(dim, 0).unsqueeze(dim)).all().item()
            expect.that(not same, f"all {what} lose the same elements")

    def test_dropout_is_drawn_anew_for_each_call(self, lesson, draw):
        """Two passes over the same ids lose different elements."""
        tok, pos, ids = positive(draw, 9, 70), positive(draw, 8, 70), draw.ids(9, 4, 8)
        module = gpt_embedding(lesson, tok, pos, dropout=0.5)
        first, second = module(ids), module(ids)
        expect.that(not first.equal(second), "two calls lose the same elements")

    def test_dropped_elements_teach_nothing(self, lesson, draw):
        """An element passes back 0 or upstream / (1 - p), the same to both tables."""
        ids, upstream = torch.tensor([[3, 0, 4, 2]]), positive(draw, 1, 4, 40)
        module = gpt_embedding(lesson, positive(draw, 5, 40), positive(draw, 4, 40), dropout=0.5)
        gradients = module.gradients(ids, upstream=upstream)
        pos = gradients["pos_emb.weight"]
        expect.close(pos, (pos != 0) * upstream[0] / 0.5)
        expect.that(0 < (pos == 0).sum().item() < 160, "all elements pass a gradient, or none")
        expect.close(gradients["tok_emb.weight"][ids[0]], pos)


@exercise("GPTEmbedding")
@corner
class TestGPTEmbeddingCorners:
    def test_a_sentence_longer_than_the_block_is_refused(self, lesson, draw):
        """With block_size 4 there is no row for position 4."""
        module = lesson.GPTEmbedding(7, 4, 3)
        for length in 5, 9:
            bad = draw.ids(7, 2, length)
            expect.rejects(module, ValueError, bad=(bad,), mentions=((length, 4),))

    def test_an_id_without_a_row_is_refused(self, lesson):
        """5 words have rows 0..4; row -1 would silently be the last one."""
        module = lesson.GPTEmbedding(5, 4, 3)
        words = {5: torch.int64, 2**32: torch.int64, -1: torch.int64, 255: torch.uint8}
        for word, dtype in words.items():
            bad = torch.tensor([[0, 1, 2], [3, word, 4]])
            expect.rejects(module, IndexError, bad=(bad.to(dtype),))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=str)
    def test_the_result_has_the_dtype_of_the_tables(self, lesson, draw, dtype):
        """`module.to(dtype)` converts both tables; their sum follows. Ids and positions are
        not rounded to it: bfloat16 cannot tell 257 from 256.
        """
        tok, pos = draw.normal(300, 3, dtype=dtype), draw.normal(300, 3, dtype=dtype)
        ids = draw.ids(300, 2, 299)
        expect.close(gpt_embedding(lesson, tok, pos)(ids), sums(tok, pos, ids))

    def test_ids_may_be_any_integers(self, lesson, draw):
        """Datasets are kept in small integers; uint8 must not be read as a mask."""
        tok, pos = draw.normal(300, 3), draw.normal(4, 3)
        module = gpt_embedding(lesson, tok, pos)
        for dtype in OTHER_INTEGERS:
            largest = min(torch.iinfo(dtype).max, 299)
            ids = torch.tensor([[0, largest, 1, 100], [largest, 44, largest - 1, 0]])
            expect.close(module(ids.to(dtype)), sums(tok, pos, ids))

    def test_small_ids_may_stand_in_a_long_sentence(self, lesson, draw):
        """Position 299 does not fit the dtype of the ids."""
        tok, pos, ids = draw.normal(9, 2), draw.normal(300, 2), draw.ids(9, 2, 300)
        module = gpt_embedding(lesson, tok, pos)
        for dtype in torch.int8, torch.uint8:
            expect.close(module(ids.to(dtype)), sums(tok, pos, ids))

    def test_ids_may_be_a_transposed_view(self, lesson, draw):
        """`ids.T` has its rows scattered in memory, and is as good as any ids."""
        tok, pos, ids = draw.normal(7, 2), draw.normal(5, 2), draw.ids(7, 4, 3).T
        expect.close(gpt_embedding(lesson, tok, pos)(ids), sums(tok, pos, ids))

    def test_no_ids_give_no_rows(self, lesson):
        """Ids (B, T) with B or T of 0 give an empty (B, T, C)."""
        module = lesson.GPTEmbedding(7, 5, 3)
        for shape in (0, 4), (2, 0):
            expect.equal(module(torch.zeros(shape, dtype=torch.int64)), torch.zeros(*shape, 3))

    def test_positions_are_made_where_the_ids_are(self, lesson, draw):
        """A `torch.arange` without a device is not on the GPU when the ids are.

        Here the ids are on the CPU, and new tensors go to "meta" unless told.
        """
        tok, pos, ids = draw.normal(7, 3), draw.normal(5, 3), draw.ids(7, 2, 4)
        expect.stays_on_device(gpt_embedding(lesson, tok, pos), ids)

    def test_tables_learn_after_inference_too(self, lesson, draw):
        """Positions made inside `torch.inference_mode()` and kept would be refused."""
        module = gpt_embedding(lesson, draw.normal(6, 4), draw.normal(5, 4))
        expect.learns_after_inference(module, draw.ids(6, 2, 3), upstream=draw.normal(2, 3, 4))

    def test_the_seed_decides_both_tables(self, lesson):
        """`torch.manual_seed` before the call repeats the draw; another seed does not."""
        expect_drawn_by_seed(lesson, lambda: lesson.GPTEmbedding(4, 5, 3))

    def test_nothing_is_reseeded(self, lesson, draw):
        """What the caller draws next still depends on the caller's seed."""
        ids = draw.ids(4, 2, 3)
        expect_not_reseeded(lesson, lambda: lesson.GPTEmbedding(4, 5, 3, dropout=0.5)(ids))


def positive(draw, *shape):
    """Numbers of 1 and more, so that a zero in a result was put there."""
    return draw.normal(*shape).abs() + 1


# --- count_parameters ---------------------------------------------------------------------------


class Table(nn.Module):
    def __init__(self, rows, columns, frozen):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, columns))
        self.frozen = nn.Parameter(torch.zeros(frozen), requires_grad=False)


class Affine(nn.Module):
    """A matrix, a bias and a scale; 3 · 2 + 2 + 1 = 9 elements."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 2))
        self.bias = nn.Parameter(torch.zeros(2))
        self.scale = nn.Parameter(torch.zeros(()))


class Frozen(nn.Module):
    """Of 4 · 3 + 2 · 3 · 2 + 1 + 5 elements 5 are trainable."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(4, 3), requires_grad=False)
        self.kernel = nn.Parameter(torch.zeros(2, 3, 2), requires_grad=False)
        self.scale = nn.Parameter(torch.zeros(()), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(5))


class Buffered(nn.Module):
    """A parameter of 7 elements and buffers of 10 and 3."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(7))
        self.register_buffer("table", torch.zeros(2, 5))
        self.register_buffer("mask", torch.ones(3), persistent=False)


class Tied(nn.Module):
    """One table of 6 · 4 elements, used at both ends, and a bias of 6."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6)
        self.head.weight = self.embedding.weight


class Twins(nn.Module):
    """Two separate parameters that happen to be equal: 2 · 3 · 4 elements."""

    def __init__(self):
        super().__init__()
        self.one = nn.Parameter(torch.ones(3, 4))
        self.other = nn.Parameter(torch.ones(3, 4))


class Views(nn.Module):
    """Two separate parameters that share memory: 2 · 2 · 2 elements."""

    def __init__(self):
        super().__init__()
        self.one = nn.Parameter(torch.ones(2, 2))
        self.other = nn.Parameter(self.one.data)


class Positions(nn.Module):
    """A token and a position table, called as GPTs call them: 5 · 2 + 3 · 2 elements."""

    def __init__(self):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(5, 2), nn.Embedding(3, 2)


class Thawing(nn.Module):
    """6 elements that are trained in training mode only."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3))

    def train(self, mode=True):
        self.weight.requires_grad_(mode)
        return super().train(mode)


class Nested(nn.Module):
    """Layers within layers, one of them used twice: 10 + 2 + 6 elements."""

    def __init__(self):
        super().__init__()
        shared = nn.Linear(4, 2)  # 4 · 2 + 2
        inner = nn.ModuleList([nn.Linear(1, 1), nn.Dropout(0.5)])  # 1 + 1
        self.stack = nn.Sequential(shared, nn.ModuleDict({"in": nn.Sequential(*inner)}))
        self.again = shared
        self.extra = nn.ParameterList([torch.zeros(2, 3, 1)])


class Empty(nn.Module):
    """Nothing to train."""


class Huge(nn.Module):
    """2³² + 1 elements, on the "meta" device, where they need no memory."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2**20, 2**12, device="meta"))
        self.bias = nn.Parameter(torch.empty(1, device="meta"))


@exercise("count_parameters")
class TestCountParameters:
    def test_matrix_vector_and_number(self, lesson):
        """3 · 2 of a matrix, 2 of a vector, 1 of a single number: 9."""
        expect.equal(lesson.count_parameters(lesson.prop(Affine)), 9)

    def test_a_table_of_any_size(self, lesson, draw):
        """Rows times columns; other, frozen parameters don't count."""
        rows, columns, frozen = draw.integer(2, 99), draw.integer(2, 99), draw.integer(1, 99)
        table = lesson.prop(Table, rows, columns, frozen)
        expect.equal(lesson.count_parameters(table), rows * columns)

    def test_frozen_parameters_do_not_count(self, lesson):
        """A matrix, three axes and a number have requires_grad=False; 5 are left."""
        expect.equal(lesson.count_parameters(lesson.prop(Frozen)), 5)

    def test_buffers_do_not_count(self, lesson):
        """A buffer is saved and moved, but never trained; 7 elements are."""
        expect.equal(lesson.count_parameters(lesson.prop(Buffered)), 7)

    def test_a_tied_table_counts_once(self, lesson):
        """The head's weight is the embedding's: 6 · 4 once, and a bias of 6."""
        expect.equal(lesson.count_parameters(lesson.prop(Tied)), 30)

    def test_equal_parameters_are_not_the_same_parameter(self, lesson):
        """Two tables of ones learn apart, so both count: 2 · 12."""
        expect.equal(lesson.count_parameters(lesson.prop(Twins)), 24)

    def test_shared_memory_is_not_the_same_parameter(self, lesson):
        """An optimizer would step both, so both count: 2 · 4."""
        expect.equal(lesson.count_parameters(lesson.prop(Views)), 8)

    def test_position_tables_count(self, lesson):
        """What is called pos_emb is trained like the rest: 10 + 6."""
        expect.equal(lesson.count_parameters(lesson.prop(Positions)), 16)

    def test_each_call_counts_anew(self, lesson):
        """6 elements, and 0 after they were frozen."""
        module = lesson.prop(Thawing)
        expect.equal(lesson.count_parameters(module), 6)
        module.train(False)
        expect.equal(lesson.count_parameters(module), 0)

    def test_layers_within_layers_count(self, lesson):
        """4 · 2 + 2 for a layer that is used twice, 2 inside, 6 in a list."""
        expect.equal(lesson.count_parameters(lesson.prop(Nested)), 18)


@exercise("count_parameters")
@corner
class TestCountParametersCorners:
    def test_nothing_to_train_is_0(self, lesson):
        """A module without parameters has the int 0 of them."""
        expect.equal(lesson.count_parameters(lesson.prop(Empty)), 0)

    def test_a_model_larger_than_memory(self, lesson):
        """2³² + 1 elements: counting needs shapes only, and whole numbers."""
        expect.equal(lesson.count_parameters(lesson.prop(Huge)), 2**32 + 1)

    def test_counting_changes_nothing(self, lesson):
        """What was frozen stays frozen, and what trained still does."""
        module = lesson.prop(Frozen)
        lesson.count_parameters(module)
        expect.equal(module.trainable, ["bias"])
        expect.equal(lesson.count_parameters(module), 5)


# --- tied_logits --------------------------------------------------------------------------------


def dot_products(x, weight):
    """Every token with every row, in float64, as x's dtype."""
    return torch.einsum("btc,vc->btv", x.double(), weight.double()).to(x.dtype)


@exercise("tied_logits")
class TestTiedLogits:
    def test_one_score_per_word(self, lesson):
        """1·3 + 2·1 = 5, 1·0 + 2·2 = 4, 1·(-1) + 2·0 = -1."""
        weight = torch.tensor([[3.0, 1.0], [0.0, 2.0], [-1.0, 0.0]])
        got = lesson.tied_logits(torch.tensor([[[1.0, 2.0]]]), weight)
        expect.close(got, torch.tensor([[[5.0, 4.0, -1.0]]]))

    def test_a_square_table_is_transposed_too(self, lesson):
        """With V = C the shapes hide a forgotten transposition: 1·1 + 2·2 = 5."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        got = lesson.tied_logits(torch.tensor([[[1.0, 2.0]]]), weight)
        expect.close(got, torch.tensor([[[5.0, 11.0]]]))

    @pytest.mark.parametrize("sizes", [(2, 3, 5, 7), (3, 1, 4, 2), (4, 4, 4, 4)])
    def test_every_token_against_every_row(self, lesson, draw, sizes):
        """(B, T, C) and (V, C) give (B, T, V), a dot product in each place."""
        n_batch, length, width, vocab_size = sizes
        x, weight = draw.normal(n_batch, length, width), draw.normal(vocab_size, width)
        expect.close(lesson.tied_logits(x, weight), dot_products(x, weight))

    def test_scores_are_neither_scaled_nor_normalized(self, lesson, draw):
        """Logits are plain dot products: twice the vector, twice the scores."""
        x, weight = draw.normal(2, 3, 4), 10 * draw.normal(5, 4)
        got = lesson.tied_logits(20 * x, weight)
        # terms of several hundred may cancel: what is left is as exact as they were
        expect.close(got, 20 * dot_products(x, weight), tolerance=1e-3)

    def test_both_arguments_learn(self, lesson, draw):
        """The table learns here as well as where it is looked up."""
        x, weight, upstream = draw.normal(2, 3, 4), draw.normal(5, 4), draw.normal(2, 3, 5)
        gradients = lesson.tied_logits.gradients(x, weight, upstream=upstream)
        expect.close(gradients[0], torch.einsum("btv,vc->btc", upstream, weight), tolerance=1e-4)
        expect.close(gradients[1], torch.einsum("btv,btc->vc", upstream, x), tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """Training changes the table in place; the next scores are those of the new one."""
        before = draw.normal(2, 3, 4), draw.normal(5, 4)
        after = draw.normal(2, 3, 4), draw.normal(5, 4)
        expect.sees_changes(lesson.tied_logits, before, after, dot_products(*after))


@exercise("tied_logits")
@corner
class TestTiedLogitsCorners:
    @pytest.mark.parametrize(
        ("dtype", "tolerance"), [(torch.float64, 1e-6), (torch.bfloat16, 0.1)], ids=str
    )
    def test_the_result_has_the_dtype_of_x(self, lesson, draw, dtype, tolerance):
        """float64 stays float64, and bfloat16 stays bfloat16."""
        x, weight = draw.normal(2, 3, 4, dtype=dtype), draw.normal(5, 4, dtype=dtype)
        got = lesson.tied_logits(x, weight)
        expect.close(got, dot_products(x, weight), tolerance=tolerance)

    def test_views_are_as_good_as_copies(self, lesson, draw):
        """Both arguments are transposed here: their rows are scattered in memory."""
        x, weight = draw.normal(4, 3, 2).transpose(0, 2), draw.normal(4, 5).T
        expect.close(lesson.tied_logits(x, weight), dot_products(x, weight))

    def test_the_scores_are_where_x_is(self, lesson, draw):
        """With x on a GPU they are on the GPU; "meta" takes its place here."""
        x, weight = draw.normal(2, 3, 4), draw.normal(5, 4)
        expect.follows_device(lesson.tied_logits, x, weight)
        expect.stays_on_device(lesson.tied_logits, x, weight)


# --- scalar_embedding ---------------------------------------------------------------------------


@exercise("scalar_embedding")
class TestScalarEmbedding:
    def test_token_row_plus_position_row(self, lesson):
        """Row 2 of the first table and row 1 of the second: 5 + 0.25 and 6 + 8."""
        wte, wpe = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0.5, 7.0], [0.25, 8.0]]
        expect.equal(lesson.scalar_embedding(wte, wpe, 2, 1), [5.25, 14.0])

    def test_a_list_comes_back(self, lesson):
        """A list, not a tuple, an iterator or a tensor."""
        got = lesson.scalar_embedding([[1.0, 2.0, 4.0]], [[8.0, 16.0, 32.0]], 0, 0)
        expect.equal(got, [9.0, 18.0, 36.0])
        expect.that(isinstance(got, list), "the numbers come back in a tuple, not in a list")

    @pytest.mark.parametrize("width", [1, 20])
    def test_every_pair_of_rows(self, lesson, draw, width):
        """Of 4 tokens and 3 positions, each sum adds its own two rows."""
        wte, wpe = draw.normal(4, width).tolist(), draw.normal(3, width).tolist()
        for token_id, pos_id in (0, 2), (3, 0), (1, 1):
            want = [wte[token_id][i] + wpe[pos_id][i] for i in range(width)]
            expect.close(lesson.scalar_embedding(wte, wpe, token_id, pos_id), want)

    def test_ids_may_be_named(self, lesson):
        """Token 0, position 2: 1 + 300."""
        got = lesson.scalar_embedding([[1.0]], [[100.0], [200.0], [300.0]], pos_id=2, token_id=0)
        expect.equal(got, [301.0])

    @pytest.mark.parametrize(
        ("wte", "wpe", "want"),
        [
            ([[1, 2], [3, 4]], [[10, 20]], [13, 24]),
            ([[1, 2], [3, 4]], [[0.5, 0.25]], [3.5, 4.25]),
            ([[0j], [1j]], [[2 + 3j]], [2 + 4j]),
            ([[[1], [2]], [[3], [4]]], [[[5], [6, 7]]], [[3, 5], [4, 6, 7]]),
        ],
        ids=["int", "int and float", "complex", "list"],
    )
    def test_whatever_adds_is_added(self, lesson, wte, wpe, want):
        """t + p of two integers is an integer; of two lists, the first and then the
        second. Nothing else is done with them."""
        expect.equal(lesson.scalar_embedding(wte, wpe, 1, 0), want)

    def test_numbers_that_learn_keep_their_gradients(self, lesson, draw):
        """Each entry of the two rows gets the gradient of its sum, all others zero."""
        wte, wpe = number_tensors(draw.normal(3, 2)), number_tensors(draw.normal(4, 2))
        upstream = draw.normal(2)
        gradients = lesson.scalar_embedding.gradients(wte, wpe, 1, 2, upstream=list(upstream))
        for table, rows in enumerate((wte, wpe)):
            for row, column in itertools.product(range(len(rows)), range(2)):
                want = upstream[column] if row == (1, 2)[table] else torch.tensor(0.0)
                expect.close(gradients.get((table, row, column)), want)


@exercise("scalar_embedding")
@corner
class TestScalarEmbeddingCorners:
    def test_floats_keep_their_16_digits(self, lesson):
        """Python's floats are float64: 0.1 + 0.2 is 0.30000000000000004."""
        expect.equal(lesson.scalar_embedding([[0.1]], [[0.2]], 0, 0), [0.1 + 0.2])


def number_tensors(table):
    """A table as a list of lists of tensors that hold one number each."""
    return [list(row) for row in table]
