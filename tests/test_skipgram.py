"""Lesson 6: what the table learns. Grades `exercises/skipgram.py`."""

import math

import pytest
import torch
from torch import nn

from course.testing import corner, exercise, expect, limit
from course.testing.show import show, show_dtype

SMALL_INTEGERS = [torch.int8, torch.uint8]
"""What serves with these serves with int32 and int16, too; most tests use int64."""

OTHER_FLOATS = [torch.float64, torch.bfloat16]
"""Beside float32, which most tests use."""


def spelled(text):
    """A name for a test, without backslashes, which pytest doubles when it collects again."""
    return ascii(text).replace("\\", "/")


def in_order(pairs):
    """The pairs as a sorted list, since any order is right."""
    centers, contexts = pairs
    return sorted(zip(centers.tolist(), contexts.tolist(), strict=True))


def centers_and_contexts(got):
    """What came back, once it is known to be two tensors (P,)."""
    centers, contexts = expect.tensors(got, "centers", "contexts")
    shapes = tuple(centers.shape), tuple(contexts.shape)
    expect.that(
        centers.dim() == contexts.dim() == 1 and len(centers) == len(contexts),
        f"centers and contexts belong in one shape (P,); these are {shapes[0]} and {shapes[1]}",
    )
    return centers, contexts


def expect_pairs(got, want):
    """Expect these pairs, in any order."""
    what = "the pairs (center, context), sorted"
    expect.equal(in_order(centers_and_contexts(got)), want, what=what)


def every_pair(ids, window):
    """All positions against all positions, by their distance."""
    places = torch.arange(len(ids))
    distances = (places[:, None] - places).abs()
    left, right = torch.where((distances >= 1) & (distances <= window))
    return in_order((ids[left], ids[right]))


@exercise("skipgram_pairs")
class TestSkipgramPairs:
    def test_window_1_pairs_direct_neighbors(self, lesson):
        """Text 7 8 9: 8 sees 7 and 9, and each of them sees 8. In any order."""
        got = lesson.skipgram_pairs(torch.tensor([7, 8, 9]), 1)
        expect_pairs(got, [(7, 8), (8, 7), (8, 9), (9, 8)])

    def test_window_2_also_pairs_the_next_but_one(self, lesson):
        """Text 6 7 8 9: the six pairs of window 1, and 6-8 and 7-9 both ways."""
        got = lesson.skipgram_pairs(torch.tensor([6, 7, 8, 9]), 2)
        one = [(6, 7), (7, 6), (7, 8), (8, 7), (8, 9), (9, 8)]
        expect_pairs(got, sorted([*one, (6, 8), (8, 6), (7, 9), (9, 7)]))

    def test_equal_words_at_different_places_are_a_pair(self, lesson):
        """5 5 6: the two fives are neighbors, so 5 is a context of 5, twice.
        Only a position is no pair with itself.
        """
        got = lesson.skipgram_pairs(torch.tensor([5, 5, 6]), 1)
        expect_pairs(got, [(5, 5), (5, 5), (5, 6), (6, 5)])

    def test_a_pair_that_occurs_twice_counts_twice(self, lesson):
        """1 2 1 2 has three neighborhoods of a 1 and a 2, each seen both ways."""
        got = lesson.skipgram_pairs(torch.tensor([1, 2, 1, 2]), 1)
        expect_pairs(got, [(1, 2)] * 3 + [(2, 1)] * 3)

    @pytest.mark.parametrize(
        ("length", "window"),
        [(2, 1), (6, 5), (6, 8), (17, 3), (17, 8)],
    )
    def test_pairs_are_all_within_the_window(self, lesson, draw, length, window):
        """Every two positions that are 1..window apart, both ways round, shown
        here sorted. Words at the ends of the text have fewer neighbors.
        """
        ids = draw.ids(6, length)
        expect_pairs(lesson.skipgram_pairs(ids, window), every_pair(ids, window))

    @pytest.mark.parametrize("window", [5, 1000])
    def test_window_may_be_wider_than_the_text(self, lesson, window):
        """Five words are at most 4 apart: from window 4 on, each word pairs with
        the four others.
        """
        got = lesson.skipgram_pairs(torch.arange(5), window)
        expect_pairs(got, [(i, j) for i in range(5) for j in range(5) if i != j])


@exercise("skipgram_pairs")
@corner
class TestSkipgramPairsCorners:
    @pytest.mark.parametrize("window", [0, -1])
    def test_window_below_1_is_refused(self, lesson, window):
        """No word is at distance 0 from another, and no distance is negative."""
        ids = torch.tensor([1, 2, 3])
        expect.rejects(lesson.skipgram_pairs, ValueError, bad=(ids, window), mentions=(window,))

    @pytest.mark.parametrize("length", [0, 1])
    def test_fewer_than_two_words_make_no_pair(self, lesson, length):
        """A pair needs two words. Two empty int64 tensors, (0,) each, can still
        be indexed and joined to others.
        """
        nothing = torch.zeros(0, dtype=torch.int64)
        centers, contexts = centers_and_contexts(lesson.skipgram_pairs(torch.full((length,), 3), 2))
        expect.equal((centers, contexts), (nothing, nothing))

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_pairs_are_int64_for_ids_of_every_dtype(self, lesson, draw, dtype):
        """The text of 260 words is longer than int8 and uint8 can count, the pairs
        are int64 all the same, and hold the same words.
        """
        ids = draw.ids(100, 260, dtype=dtype)
        centers, contexts = centers_and_contexts(lesson.skipgram_pairs(ids, 1))
        expect.that(
            centers.dtype == contexts.dtype == torch.int64,
            f"pairs are int64; these are {show_dtype(centers.dtype)}, {show_dtype(contexts.dtype)}",
        )
        expect_pairs((centers, contexts), every_pair(ids, 1))

    def test_ids_of_a_huge_vocabulary(self, lesson):
        """2 ** 40 and 2 ** 40 + 1 fit neither an int32 nor a float32."""
        high = 2**40
        got = lesson.skipgram_pairs(torch.tensor([high, 7, high + 1]), 1)
        expect_pairs(got, [(7, high), (7, high + 1), (high, 7), (high + 1, 7)])

    def test_ids_may_lie_apart_in_memory(self, lesson, draw):
        """Every second word of a text is a text, too."""
        ids = draw.ids(9, 14)[::2]
        expect_pairs(lesson.skipgram_pairs(ids, 2), every_pair(ids, 2))

    def test_pairs_are_on_the_device_of_the_ids(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect.follows_device(lesson.skipgram_pairs, draw.ids(5, 6), 2)

    @limit(60)
    def test_a_long_text_is_soon_done(self, lesson, draw):
        """100 000 words have 99 999 neighborhoods, each seen both ways: every word is a
        center twice, but the first and the last only once. Neighbors multiply to the
        sum of ids[:-1] * ids[1:].
        """
        ids = draw.ids(1000, 100_000)
        centers, contexts = centers_and_contexts(lesson.skipgram_pairs(ids, 1))
        expect.equal((centers.shape, contexts.shape), ((199_998,), (199_998,)))
        times = (2 * ids.sum() - ids[0] - ids[-1]).item()
        products = 2 * (ids[:-1] * ids[1:]).sum().item()
        expect.equal(
            (centers.sum().item(), contexts.sum().item(), (centers * contexts).sum().item()),
            (times, times, products),
        )


@exercise("noise_distribution")
class TestNoiseDistribution:
    def test_power_is_three_quarters(self, lesson):
        """81 ** 0.75 = 3 ** 3 = 27 and 16 ** 0.75 = 2 ** 3 = 8; 27 + 8 + 1 = 36."""
        got = lesson.noise_distribution(torch.tensor([81.0, 16.0, 1.0]))
        expect.close(got, torch.tensor([27 / 36, 8 / 36, 1 / 36]))

    @pytest.mark.parametrize("power", [0.0, 0.5, 2.0])
    def test_another_power_may_be_asked_for(self, lesson, power):
        """1 would keep the frequencies, 0 makes them equal, 2 favors frequent words.
        With 0.5, counts 9, 4 and 1 weigh 3, 2 and 1.
        """
        weights = [9.0**power, 4.0**power, 1.0]
        got = lesson.noise_distribution(torch.tensor([9.0, 4.0, 1.0]), power)
        expect.close(got, torch.tensor([weight / sum(weights) for weight in weights]))

    @pytest.mark.parametrize("size", [1, 1000])
    def test_probabilities_sum_to_1(self, lesson, draw, size):
        """Each is a share of the whole: the weight of one word by that of all."""
        counts = draw.ids(500, size) + 1
        weights = counts.double() ** 0.75
        want = (weights / weights.sum()).float()
        expect.close(lesson.noise_distribution(counts), want, tolerance=1e-6)

    def test_a_word_that_never_occurs_is_never_drawn(self, lesson):
        """0 ** 0.75 = 0 exactly, not just a small number."""
        got = lesson.noise_distribution(torch.tensor([0.0, 16.0, 0.0, 1.0]))
        expect.close(got, torch.tensor([0, 8 / 9, 0, 1 / 9]))
        expect.equal(got[[0, 2]], torch.zeros(2))

    def test_ten_times_the_text_has_the_same_distribution(self, lesson, draw):
        """10 ** 0.75 is a factor of every weight, and cancels."""
        counts = draw.ids(90, 6) + 1
        of_more = lesson.noise_distribution(10 * counts)
        expect.close(lesson.noise_distribution(counts), of_more)

    def test_gradient_reaches_the_counts(self, lesson):
        """With power 2 and counts 1 and 3, share 0 is 1 / (1 + 9). It changes with
        count 0 by 2 * 9 / 100, with count 1 by -2 * 3 / 100.
        """
        counts, upstream = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 0.0])
        got = lesson.noise_distribution.gradients(counts, 2.0, upstream=upstream)
        expect.close(got[0], torch.tensor([0.18, -0.06]))


@exercise("noise_distribution")
@corner
class TestNoiseDistributionCorners:
    @pytest.mark.parametrize(
        ("counts", "smallest"),
        [([4, -1, 0, -5, 8], -5), ([2.0, -0.5], -0.5)],
        ids=str,
    )
    def test_negative_counts_are_refused(self, lesson, counts, smallest):
        """No word occurs less than never; (-2) ** 0.75 is no real number."""
        expect.rejects(
            lesson.noise_distribution,
            ValueError,
            bad=(torch.tensor(counts),),
            mentions=(smallest,),
        )

    @pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=show_dtype)
    def test_all_zero_counts_are_refused(self, lesson, dtype):
        """Nothing can be drawn where nothing occurs; 0 / 0 would be nan."""
        expect.rejects(
            lesson.noise_distribution,
            ValueError,
            bad=(torch.zeros(3, dtype=dtype),),
            mentions=("all zero", "all-zero", 0, 0.0),
        )

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_integer_counts_give_float32(self, lesson, dtype):
        """Counts are whole numbers, their shares are not: 3 ** 3 = 27 of 63."""
        got = lesson.noise_distribution(torch.tensor([81, 16, 81, 1], dtype=dtype))
        expect.close(got, torch.tensor([27 / 63, 8 / 63, 27 / 63, 1 / 63]))

    def test_counts_of_a_large_text(self, lesson):
        """2 ** 40 words do not fit an int32; (2 ** 40) ** 0.75 is 2 ** 30."""
        got = lesson.noise_distribution(torch.tensor([2**40, 2**36, 1]))
        expect.close(got, torch.tensor([8 / 9, 1 / 9, 0.0]))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_floating_counts_keep_their_dtype(self, lesson, dtype):
        """What comes as float64 leaves as float64, and so for the others."""
        got = lesson.noise_distribution(torch.tensor([16, 81, 0, 1], dtype=dtype))
        expect.close(got, torch.tensor([8 / 36, 27 / 36, 0, 1 / 36], dtype=dtype))


def dot_products(center, context, centers, contexts):
    """The dot product of every pair, in float64."""
    center_rows = center.double()[centers.long()].unsqueeze(1)  # (P, 1, C)
    context_rows = context.double()[contexts.long()].view(len(contexts), -1, center.shape[1])
    return (center_rows * context_rows).sum(dim=2).view(contexts.shape).to(center.dtype)


def tables_and_model(lesson, draw, vocab_size, n_embd):
    """Two drawn tables, and a `SkipGram` that holds them."""
    center, context = draw.normal(vocab_size, n_embd), draw.normal(vocab_size, n_embd)
    model = lesson.SkipGram(vocab_size, n_embd)
    model.set(center__weight=center, context__weight=context)
    return center, context, model


def expect_varied(table, name):
    """Expect every row, and every column, of a table to hold different numbers."""
    for dim, line in (1, "row"), (0, "column"):
        same = (table.std(dim=dim) == 0).nonzero().flatten().tolist()
        for i in same[:1]:
            sentence = f"{line} {i} of {name} starts with one number over and over"
            expect.that(False, sentence)


@exercise("SkipGram")
class TestSkipGram:
    def test_parameters_are_two_tables(self, lesson):
        """A row for each word in each: one for the word as center, one as context."""
        model = lesson.SkipGram(7, 3)
        shapes = {name: tuple(weight.shape) for name, weight in model.parameters.items()}
        expect.equal(shapes, dict.fromkeys(["center.weight", "context.weight"], (7, 3)))
        expect.equal(sorted(model.trainable), ["center.weight", "context.weight"])

    def test_centers_start_small_and_random(self, lesson):
        """Large rows begin with large random scores: training has to undo them first.
        Rows that start identical stay identical.
        """
        rows = lesson.SkipGram(50, 16).parameters["center.weight"]
        size = rows.square().mean().sqrt().item()
        expect.that(1e-5 < size < 0.5, f"center.weight should start small; its rms is {size:.3g}")
        expect_varied(rows, "center.weight")

    def test_contexts_start_small_random_or_at_zero(self, lesson):
        """One table may start at zero: the other's rows are its first gradients."""
        rows = lesson.SkipGram(50, 16).parameters["context.weight"]
        size = rows.square().mean().sqrt().item()
        expect.that(size < 0.5, f"context.weight should start small; its rms is {size:.3g}")
        if size > 0:
            expect_varied(rows, "context.weight")

    def test_logit_is_the_dot_product_of_center_and_context(self, lesson):
        """Center 0 is (1, 2), context 1 is (3, 10): 1 * 3 + 2 * 10 = 23. The other way
        round, center 1 is (0, 4) and context 0 is (5, 6): 0 * 5 + 4 * 6 = 24.
        """
        model = lesson.SkipGram(2, 2)
        center, context = torch.tensor([[1.0, 2], [0, 4]]), torch.tensor([[5.0, 6], [3, 10]])
        model.set(center__weight=center, context__weight=context)
        got = model(torch.tensor([0, 1]), torch.tensor([1, 0]))
        expect.close(got, torch.tensor([23.0, 24.0]))

    def test_each_center_meets_its_own_contexts(self, lesson):
        """Row p holds center p with its K contexts. Center 0 is 1 and center 1 is 2,
        the contexts are 3 and 5: 1 * 3, 1 * 5, 1 * 5 and 2 * 5, 2 * 3, 2 * 3.
        """
        model = lesson.SkipGram(2, 1)
        center, context = torch.tensor([[1.0], [2]]), torch.tensor([[3.0], [5]])
        model.set(center__weight=center, context__weight=context)
        got = model(torch.tensor([0, 1]), torch.tensor([[0, 1, 1], [1, 0, 0]]))
        expect.close(got, torch.tensor([[3.0, 5.0, 5.0], [10.0, 6.0, 6.0]]))

    @pytest.mark.parametrize(
        ("vocab_size", "n_embd", "shapes"),
        [
            (7, 3, [(5,), (3,), (1,)]),
            (7, 3, [(5, 4), (3, 3), (1, 3), (4, 1)]),
            (9, 1, [(4,), (2, 3)]),
        ],
        ids=str,
    )
    def test_logits_have_the_shape_of_the_contexts(self, lesson, draw, vocab_size, n_embd, shapes):
        """(P,) with (P,) gives (P,), and (P,) with (P, K) gives (P, K), also for
        P = 1, K = 1, C = 1 and P = K.
        """
        center, context, model = tables_and_model(lesson, draw, vocab_size, n_embd)
        for shape in shapes:
            centers, contexts = draw.ids(vocab_size, shape[0]), draw.ids(vocab_size, *shape)
            expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))

    def test_gradient_of_a_row_is_the_sum_over_its_pairs(self, lesson, draw):
        """A pair sends its center the context's row, times the gradient at its logit,
        and the other way round. Words that come twice add up, others get 0.
        """
        center, context, model = tables_and_model(lesson, draw, 6, 3)
        centers = torch.tensor([0, 3, 1, 0, 3])
        for shape in (5,), (5, 4):
            contexts = draw.ids(4, *shape)
            upstream = draw.normal(*shape)
            got = model.gradients(centers, contexts, upstream=upstream)
            want_center, want_context = torch.zeros(6, 3), torch.zeros(6, 3)
            for p, i in enumerate(centers.tolist()):
                each = zip(contexts[p].reshape(-1).tolist(), upstream[p].reshape(-1), strict=True)
                for j, g in each:
                    want_center[i] += g * context[j]
                    want_context[j] += g * center[i]
            expect.close(got["center.weight"], want_center)
            expect.close(got["context.weight"], want_context)

    def test_two_models_share_nothing(self, lesson):
        """What is written into one model is not found in the other."""
        first, second = lesson.SkipGram(4, 2), lesson.SkipGram(4, 2)
        first.set(center__weight=torch.ones(4, 2), context__weight=torch.ones(4, 2))
        second.set(center__weight=torch.zeros(4, 2), context__weight=torch.zeros(4, 2))
        expect.close(first(torch.tensor([1, 3]), torch.tensor([0, 2])), torch.tensor([2.0, 2.0]))


@exercise("SkipGram")
@corner
class TestSkipGramCorners:
    def test_seed_repeats_the_start(self, lesson):
        """The start is drawn from PyTorch's global generator, and so repeatable."""
        starts = []
        for seed in 1, 1, 2:
            lesson.seed(seed)
            starts.append(lesson.SkipGram(6, 4).parameters["center.weight"])
        expect.equal(starts[1], starts[0])
        expect.that(not starts[2].equal(starts[0]), "another seed should give another start")

    def test_making_one_does_not_seed(self, lesson):
        """Seeding is up to the program, not to a model."""
        numbers = []
        for seed in 1, 2:
            lesson.seed(seed)
            lesson.SkipGram(6, 4)
            numbers.append(lesson.random_number())
        expect.that(numbers[0] != numbers[1], "SkipGram sets the seed of the global generator")

    def test_no_pairs_have_no_logits(self, lesson):
        """Nothing in, nothing out, in the shape of the contexts."""
        model, no_centers = lesson.SkipGram(5, 3), torch.zeros(0, dtype=torch.int64)
        for shape in (0,), (0, 4):
            got = model(no_centers, torch.zeros(shape, dtype=torch.int64))
            expect.equal(got, torch.zeros(shape))

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of an id says how it is stored, not which row it names; PyTorch
        alone would read uint8 as a mask.
        """
        center, context, model = tables_and_model(lesson, draw, 300, 3)
        for shape in (6,), (6, 3):
            centers, contexts = draw.ids(120, 6, dtype=dtype), draw.ids(120, *shape, dtype=dtype)
            expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))

    def test_ids_may_lie_apart_in_memory(self, lesson, draw):
        """A transposed tensor is a tensor, too."""
        center, context, model = tables_and_model(lesson, draw, 7, 3)
        centers, contexts = draw.ids(7, 8)[::2], draw.ids(7, 5, 4).T
        expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_logits_follow_the_dtype_of_the_tables(self, lesson, draw, dtype):
        """A model that was moved to float64 or bfloat16 computes in it. Ids are not
        rounded to it: bfloat16 cannot tell 257 from 256.
        """
        center, context = draw.normal(2, 300, 3).to(dtype) / 2
        model = lesson.SkipGram(300, 3)
        model.to(dtype)
        model.set(center__weight=center, context__weight=context)
        for shape in (5,), (5, 2):
            centers, contexts = 257 + draw.ids(7, shape[0]), 257 + draw.ids(7, *shape)
            expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        model, center, context = lesson.SkipGram(7, 3), *draw.normal(2, 7, 3)
        model.set(center__weight=center, context__weight=context)
        centers, contexts = draw.ids(7, 5), draw.ids(7, 5, 2)
        for training in (True, False):
            model.train(training)
            expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))

    def test_logits_are_on_the_device_of_the_tables(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect.follows_device(lesson.SkipGram(7, 3), draw.ids(7, 4), draw.ids(7, 4, 2))


def loss_by_formula(positive, negative):
    """-log σ(x) is log(1 + e ** -x): summed over K, in float64, then the mean over P."""
    of_true = torch.log1p(torch.exp(-positive.double()))
    of_drawn = torch.log1p(torch.exp(negative.double()))
    return ((of_true + of_drawn.sum(dim=1)).sum() / len(positive)).to(positive.dtype)


@exercise("negative_sampling_loss")
class TestNegativeSamplingLoss:
    @pytest.mark.parametrize(("n_pairs", "n_negatives"), [(1, 1), (3, 5)])
    def test_untrained_loss_is_k_plus_1_times_ln_2(self, lesson, n_pairs, n_negatives):
        """σ(0) = 1/2: a true pair and each of its K drawn ones cost ln 2 = 0.6931."""
        got = lesson.negative_sampling_loss(torch.zeros(n_pairs), torch.zeros(n_pairs, n_negatives))
        expect.close(got, torch.tensor((n_negatives + 1) * math.log(2)))

    def test_sure_and_right_costs_less_than_sure_and_wrong(self, lesson):
        """σ(ln 3) = 3/4 and σ(-ln 3) = 1/4. A true pair at ln 3 costs ln(4/3), a drawn
        one at ln 3 costs ln 4, a drawn one at -ln 3 costs ln(4/3).
        """
        high = math.log(3)
        right = lesson.negative_sampling_loss(torch.tensor([high]), torch.tensor([[-high]]))
        expect.close(right, torch.tensor(math.log(4 / 3) + math.log(4 / 3)))
        wrong = lesson.negative_sampling_loss(torch.tensor([high]), torch.tensor([[high]]))
        expect.close(wrong, torch.tensor(math.log(4 / 3) + math.log(4)))

    @pytest.mark.parametrize(("n_pairs", "n_negatives"), [(5, 4), (4, 4), (1, 6), (6, 1), (37, 2)])
    def test_negatives_add_up_and_pairs_are_averaged(self, lesson, draw, n_pairs, n_negatives):
        """Each pair pays for its true logit and for all of its K drawn ones; the loss
        is what a pair pays on average, so it is divided by P, not by P * K.
        """
        positive, negative = 2 * draw.normal(n_pairs), 2 * draw.normal(n_pairs, n_negatives)
        got = lesson.negative_sampling_loss(positive, negative)
        expect.close(got, loss_by_formula(positive, negative))

    def test_the_same_pairs_twice_cost_the_same(self, lesson, draw):
        """A mean over pairs does not grow with their number."""
        positive, negative = draw.normal(4), draw.normal(4, 3)
        twice = lesson.negative_sampling_loss(positive.repeat(2), negative.repeat(2, 1))
        expect.close(twice, loss_by_formula(positive, negative))

    def test_gradient_is_how_wrong_each_logit_is(self, lesson, draw):
        """(σ(positive) - 1) / P at a true pair, σ(negative) / P at a drawn one; here
        times the gradient at the loss.
        """
        positive, negative = draw.normal(5), draw.normal(5, 3)
        positive[0], negative[0, 0] = 0.0, 0.0  # where training begins
        upstream = torch.tensor(1.7)
        got = lesson.negative_sampling_loss.gradients(positive, negative, upstream=upstream)
        expect.close(got[0], 1.7 * (1 / (1 + torch.exp(-positive)) - 1) / 5)
        expect.close(got[1], 1.7 / (1 + torch.exp(-negative)) / 5)


@exercise("negative_sampling_loss")
@corner
class TestNegativeSamplingLossCorners:
    @pytest.mark.parametrize(
        ("logit", "dtype"),
        [(120.0, torch.float32), (1000.0, torch.float32), (1000.0, torch.bfloat16)],
        ids=lambda value: str(value) if type(value) is float else show_dtype(value),
    )
    def test_sure_and_wrong_costs_the_logit(self, lesson, logit, dtype):
        """-log σ(-1000) = log(1 + e ** 1000) = 1000, although σ(-1000) is rounded to
        0: here one true pair and two drawn ones, all wrong.
        """
        positive = torch.tensor([-logit], dtype=dtype)
        negative = torch.tensor([[logit, logit]], dtype=dtype)
        got = lesson.negative_sampling_loss(positive, negative)
        expect.close(got, torch.tensor(3 * logit, dtype=dtype))

    @pytest.mark.parametrize("logit", [120.0, 1000.0])
    def test_sure_and_right_costs_nothing(self, lesson, logit):
        """-log σ(1000) = log(1 + e ** -1000) = 0."""
        got = lesson.negative_sampling_loss(torch.tensor([logit]), torch.tensor([[-logit] * 2]))
        expect.close(got, torch.tensor(0.0))

    def test_gradient_is_right_at_zero_and_far_out(self, lesson):
        """σ(-1000) = 0, σ(0) = 1/2, σ(1000) = 1: a logit that is as wrong as can be
        gets the gradient ±1, never nan; one of 0, where training begins, gets ±1/2.
        Three pairs, each times 3 here, which is the gradient at the loss.
        """
        positive, sigmoid = torch.tensor([-1000.0, 0.0, 1000.0]), torch.tensor([0.0, 0.5, 1.0])
        negative = positive[:, None].repeat(1, 2)
        upstream = torch.tensor(3.0)
        got = lesson.negative_sampling_loss.gradients(positive, negative, upstream=upstream)
        expect.close(got[0], sigmoid - 1)
        expect.close(got[1], sigmoid[:, None].repeat(1, 2))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_loss_keeps_the_dtype(self, lesson, draw, dtype):
        """What comes as float64 leaves as float64, and so for the others."""
        positive, negative = draw.normal(5, dtype=dtype), draw.normal(5, 3, dtype=dtype)
        got = lesson.negative_sampling_loss(positive, negative)
        expect.close(got, loss_by_formula(positive, negative))

    def test_logits_may_lie_apart_in_memory(self, lesson, draw):
        """A transposed tensor is a tensor, too."""
        positive, negative = draw.normal(8)[::2], draw.normal(3, 4).T
        got = lesson.negative_sampling_loss(positive, negative)
        expect.close(got, loss_by_formula(positive, negative))

    def test_loss_is_on_the_device_of_the_logits(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect.follows_device(lesson.negative_sampling_loss, draw.normal(4), draw.normal(4, 3))


STANDSTILL = 1e-12
"""A learning rate at which no weight moves, so that a loss can be computed on paper."""


class PlainSkipGram(nn.Module):
    """What `train_skipgram` gets to train: two tables and their dot products."""

    def __init__(self, center, context):
        super().__init__()
        self.center = nn.Embedding.from_pretrained(center, freeze=False)
        self.context = nn.Embedding.from_pretrained(context, freeze=False)

    def forward(self, centers, contexts):
        rows = self.center(centers.long())
        if contexts.dim() == 2:
            rows = rows[:, None]  # each center meets K contexts
        return (rows * self.context(contexts.long())).sum(dim=-1)


class Recorder:
    """Called after each epoch: notes what it is told, and where the centers are by then."""

    def __init__(self, model):
        self.model = model
        self.told = []
        self.centers = []

    def __call__(self, epoch, loss):
        self.told.append((epoch, loss))
        self.centers.append(self.model.center.weight.detach().clone())


def model_of(lesson, center, context):
    """A model that holds these two tables."""
    return lesson.prop(PlainSkipGram, center, context)


def model_of_logits(lesson, *logits):
    """A model in which word j has this logit as a context, whatever the center."""
    context = torch.tensor(logits)[:, None]
    return model_of(lesson, torch.ones_like(context), context)


def drawn_model(lesson, draw, vocab_size=8, n_embd=3):
    """A model with small random tables."""
    return model_of(lesson, *(0.3 * draw.normal(2, vocab_size, n_embd)))


def some_pairs(draw, count, vocab_size=8):
    """Pairs of different words: context = center + 1 or + 2."""
    centers = draw.ids(vocab_size - 2, count)
    return centers, centers + 1 + draw.ids(2, count)


def only(word, vocab_size):
    """The distribution that draws this word and no other."""
    return torch.eye(vocab_size)[word]


def weights_after(lesson, start, *args, **kwargs):
    """The trained tables, one below the other, from this start."""
    model = model_of(lesson, *start)
    lesson.train_skipgram(model, *args, **kwargs)
    return torch.cat(list(model.parameters.values()))


def losses_of(lesson, *args, **options):
    """What a training returns, once it is known to be a float for each epoch."""
    losses = lesson.train_skipgram(*args, **options)
    return expect.floats(losses, options.get("epochs", 5))


def expect_loss_of_the_pairs(lesson, draw, dtype):
    """Expect the loss that 12 pairs have by the formula, and a lower one after an epoch."""
    center, context = 0.3 * draw.normal(2, 300, 3)
    centers, contexts = some_pairs(draw, 12, vocab_size=120)
    losses = losses_of(
        lesson,
        model_of(lesson, center, context),
        centers.to(dtype),
        contexts.to(dtype),
        only(299, 300),
        epochs=2,
    )
    positive = (center[centers] * context[contexts]).sum(dim=1)
    negative = (center[centers] @ context[299])[:, None].expand(-1, 5)
    want = loss_by_formula(positive, negative).item()
    expect.close(losses[:1], [want], tolerance=1e-4, what="the loss of the first epoch")
    expect.that(losses[1] < losses[0], f"the loss does not fall: {show(losses)}")


def expect_negatives_as_frequent(lesson, noise):
    """Expect 500 negatives of this noise to cost 250 on average: 0 for word 1, 10 for word 2."""
    losses = losses_of(
        lesson,
        model_of_logits(lesson, 40.0, -40.0, 10.0),
        torch.zeros(16, dtype=torch.int64),
        torch.zeros(16, dtype=torch.int64),
        noise,
        epochs=1,
        n_negatives=500,
        lr=STANDSTILL,
        generator=lesson.generator(5),
    )
    expect.close(losses, [250.0], tolerance=0.3, what="the loss of an epoch")


def different_trainings(lesson, start, seeds, enough, *args, **kwargs):
    """How many different lists of losses the seeds lead to; once there are enough, so many."""
    found = []
    for seed in range(seeds):
        if len(found) == enough:
            break
        losses = torch.tensor(
            losses_of(
                lesson,
                model_of(lesson, *start),
                *args,
                **kwargs,
                generator=lesson.generator(seed),
            )
        )
        if not any(torch.allclose(losses, other, rtol=0, atol=1e-4) for other in found):
            found.append(losses)
    return len(found)


@exercise("train_skipgram")
class TestTrainSkipgram:
    def test_a_loss_for_each_epoch(self, lesson, draw):
        """A list of floats: plain numbers can be plotted and saved. epochs=5 is the
        default.
        """
        losses_of(lesson, drawn_model(lesson, draw), *some_pairs(draw, 6), torch.ones(8) / 8)

    @pytest.mark.parametrize("options", [{"n_negatives": 1}, {}], ids=["1", "default"])
    def test_loss_of_a_blind_model_is_k_plus_1_times_ln_2(self, lesson, draw, options):
        """With all contexts zero every logit is 0: ln 2 = 0.6931 for the true pair,
        and ln 2 for each of its K negatives. n_negatives=5 is the default.
        """
        model = model_of(lesson, draw.normal(8, 3), torch.zeros(8, 3))
        losses = losses_of(
            lesson,
            model,
            *some_pairs(draw, 10),
            torch.ones(8) / 8,
            epochs=1,
            lr=STANDSTILL,
            **options,
        )
        want = [(options.get("n_negatives", 5) + 1) * math.log(2)]
        expect.close(losses, want, tolerance=1e-4, what="the loss of an epoch")

    @pytest.mark.parametrize("batch_size", [2, 3, 8])
    def test_epoch_loss_is_the_mean_over_its_pairs(self, lesson, batch_size):
        """Two pairs at logit 40 cost 0, the third, at -20, costs 20; three negatives
        at logit 0 cost ln 2 each; nothing moves. So 20 / 3 + 3 ln 2 = 8.75 in every
        epoch, however the three fall into batches: a short one counts by its size.
        """
        model = model_of_logits(lesson, 9.0, 9.0, 40.0, -20.0, 0.0)
        losses = losses_of(
            lesson,
            model,
            torch.tensor([0, 1, 0]),
            torch.tensor([2, 2, 3]),
            only(4, 5),
            epochs=2,
            batch_size=batch_size,
            n_negatives=3,
            lr=STANDSTILL,
        )
        want = [20 / 3 + 3 * math.log(2)] * 2
        expect.close(losses, want, tolerance=1e-4, what="the loss of an epoch")

    def test_a_center_meets_its_context_and_the_negatives(self, lesson, draw):
        """All pairs are one batch, and word 299 is every negative: the first loss is that
        of the pairs as they were given, and the second is lower, since they have learned.
        """
        expect_loss_of_the_pairs(lesson, draw, torch.int64)

    def test_words_of_probability_0_are_never_drawn(self, lesson, draw):
        """Only words 3 and 150 can be drawn, at logit 0, for ln 2; each other word has
        the logit 50, and drawn once in 10 * 500 times it would show.
        """
        logits = torch.full((200,), 50.0)
        logits[[3, 150]] = 0.0
        noise = torch.zeros(200)
        noise[[3, 150]] = torch.tensor([0.25, 0.75])
        losses = losses_of(
            lesson,
            model_of_logits(lesson, *logits.tolist()),
            draw.ids(200, 10),
            torch.full((10,), 77),
            noise,
            epochs=1,
            n_negatives=500,
            lr=STANDSTILL,
        )
        expect.close(losses, [500 * math.log(2)], tolerance=1e-4, what="the loss of an epoch")

    def test_negatives_are_as_frequent_as_the_noise_says(self, lesson):
        """Word 1, at logit -40, costs 0 and word 2, at 10, costs 10. Word 2 has the
        probability 0.05, so 500 negatives cost 500 * 0.05 * 10 = 250 on average, here
        over 16 * 500 draws; anything from 175 to 325 will do.
        """
        expect_negatives_as_frequent(lesson, torch.tensor([0, 0.95, 0.05]))

    def test_negatives_are_fresh_at_every_step(self, lesson):
        """Five steps of one pair, which costs 0, with one negative: words 1 to 16 cost
        10, 100, ..., 10 ** 16, and each has probability 1/16. One and the same word
        five times costs one of these numbers, the mean of different words none.
        """
        costs = [10.0**power for power in range(1, 17)]
        losses = losses_of(
            lesson,
            model_of_logits(lesson, 40.0, *costs),
            torch.zeros(5, dtype=torch.int64),
            torch.zeros(5, dtype=torch.int64),
            torch.tensor([0] + [1 / 16] * 16),
            epochs=1,
            batch_size=1,
            n_negatives=1,
            lr=STANDSTILL,
            generator=lesson.generator(6),
        )
        expect.that(
            not any(math.isclose(losses[0], cost, rel_tol=1e-3) for cost in costs),
            f"all five steps cost the same, {show(losses[0])}: their negatives were the same",
        )

    def test_negatives_are_fresh_in_every_epoch(self, lesson, draw):
        """No weight moves, so the losses differ only by the words that were drawn.
        Negatives that never change would be memorized. Each of the 16 pairs has its own
        two: if all had the same two, the loss would be the cost of these.
        """
        logits = 3 * draw.normal(50, 1)
        centers, contexts = some_pairs(draw, 16, vocab_size=50)
        losses = losses_of(
            lesson,
            model_of(lesson, torch.ones(50, 1), logits),
            centers,
            contexts,
            torch.ones(50) / 50,
            epochs=3,
            n_negatives=2,
            lr=STANDSTILL,
            generator=lesson.generator(7),
        )
        expect.that(
            max(losses) - min(losses) > 1e-3,
            f"all three epochs cost the same, {show(losses)}: their negatives were the same",
        )
        of_drawn, of_pairs = (
            nn.functional.softplus(some) for some in (logits[:, 0], -logits[contexts, 0])
        )
        of_two_words = of_drawn[:, None] + of_drawn + of_pairs.mean()
        near = [(of_two_words - loss).abs().min().item() < 2e-5 for loss in losses]
        expect.that(
            not all(near),
            "all 16 pairs of a batch were given the same two negatives, not each its own",
        )

    def test_trains_both_tables_in_place(self, lesson, draw):
        """The model that was passed in is the one that learns."""
        start = 0.3 * draw.normal(2, 8, 3)
        model = model_of(lesson, *start)
        lesson.train_skipgram(model, *some_pairs(draw, 20), torch.ones(8) / 8, epochs=1)
        for (name, after), before in zip(model.parameters.items(), start, strict=True):
            expect.that(
                not torch.allclose(after, before, atol=1e-4),
                f"{name} is what it was before the training",
            )

    def test_starts_where_the_model_stands(self, lesson, draw):
        """At a learning rate of next to 0 the weights stay what they were; nothing
        draws them anew, and `lr` is what says how far a step goes.
        """
        start = 0.3 * draw.normal(2, 8, 3)
        after = weights_after(
            lesson, start, *some_pairs(draw, 20), torch.ones(8) / 8, epochs=1, lr=STANDSTILL
        )
        expect.close(after, torch.cat(list(start)), tolerance=1e-6)

    def test_smaller_batches_make_more_steps(self, lesson, draw):
        """Every batch is a step: with batches of 2 the 4 pairs make 2 steps in an
        epoch, in one batch they make a single one, and end elsewhere.
        """
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 4)
        two_steps, one_step = (
            weights_after(lesson, start, *pairs, only(7, 8), epochs=1, batch_size=size, lr=0.1)
            for size in (2, 4)
        )
        moved = (two_steps - one_step).abs().max().item()
        expect.that(moved > 1e-3, "batch_size=2 and batch_size=4 lead to the same weights")

    def test_batch_size_and_lr_are_as_written(self, lesson, draw):
        """batch_size=1024 and lr=0.01, said aloud or not, lead to the same weights: two
        steps from 1025 pairs, and how far each of them goes.
        """
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 1025)

        def weights(**options):
            given = {"n_negatives": 1, "generator": lesson.generator(1), **options}
            return weights_after(lesson, start, *pairs, torch.ones(8) / 8, epochs=1, **given)

        silent, aloud = weights(), weights(batch_size=1024, lr=0.01)
        if torch.allclose(silent, aloud, atol=2e-5):
            return
        expect.that(
            torch.allclose(aloud, weights(batch_size=1024, lr=0.01), atol=2e-5),
            "the same training twice, by generators of the same seed, leads to different weights",
        )
        expect.that(
            False, "without batch_size and lr the weights become others than with 1024 and 0.01"
        )

    def test_learns_which_words_are_neighbors(self, lesson, draw):
        """Words 0-15 have words 16-31 as contexts, each those of its group of two.
        The best logits lead to a loss of about 1.08; an untrained model has 6 ln 2 =
        4.16, and one that only knows which words are frequent about 2.70.
        """
        centers = draw.ids(16, 300)
        contexts = 16 + centers // 2 * 2 + draw.ids(2, 300)
        model = model_of(lesson, 0.3 * draw.normal(32, 32), torch.zeros(32, 32))
        losses = losses_of(
            lesson,
            model,
            centers,
            contexts,
            (torch.arange(32) >= 16) / 16,
            epochs=3,
            batch_size=30,
            lr=0.055,
            generator=lesson.generator(draw.integer(0, 10**6)),
        )
        expect.that(losses[-1] < 2.3, f"the last of 3 epochs has the loss {losses[-1]:.2f}")
        weights = model.parameters
        logits = weights["center.weight"][:16] @ weights["context.weight"][16:].T
        near = torch.arange(16)[:, None] // 2 == torch.arange(16) // 2
        gap = (logits[near].mean() - logits[~near].mean()).item()
        expect.that(gap > 1.5, f"the logits of neighbors are only {gap:.2f} above the others")

    def test_on_epoch_is_told_number_and_loss(self, lesson, draw):
        """Epochs are counted from 0, and the losses are those that are returned."""
        model = drawn_model(lesson, draw)
        recorder = lesson.prop(Recorder, model)
        losses = losses_of(
            lesson,
            model,
            *some_pairs(draw, 6),
            torch.ones(8) / 8,
            epochs=2,
            batch_size=4,
            on_epoch=recorder,
        )
        expect.close(recorder.attribute("told"), list(enumerate(losses)))

    def test_on_epoch_is_called_when_the_epoch_ends(self, lesson, draw):
        """Who watches a training wants to see the model of that moment: the last time
        it is the finished one, the first time it is not.
        """
        model = drawn_model(lesson, draw)
        recorder = lesson.prop(Recorder, model)
        lesson.train_skipgram(
            model,
            *some_pairs(draw, 6),
            torch.ones(8) / 8,
            epochs=2,
            on_epoch=recorder,
        )
        seen, finished = recorder.attribute("centers"), model.parameters["center.weight"]
        expect.equal(seen[-1], finished)
        expect.that(
            not torch.allclose(seen[0], finished, atol=1e-4),
            "when on_epoch is called for the first time, all epochs are over",
        )

    def test_every_epoch_has_an_order_of_its_own(self, lesson):
        """Two pairs in steps of one: 2 orders an epoch, 4 in two epochs, and the order
        shows in the losses, since the second pair finds what the first one moved. A
        single shuffle leaves 2 outcomes, none leaves 1.
        """
        start = torch.tensor([[0.5, 0.3, 0.2, 0.1], [0.4, -0.2, 0.3, -0.5]])[..., None]
        pairs = torch.tensor([0, 0]), torch.tensor([1, 2])
        count = different_trainings(
            lesson, start, 24, 3, *pairs, only(3, 4), epochs=2, batch_size=1, lr=0.1
        )
        expect.that(count == 3, f"24 seeds lead to only {count} different lists of losses")

    def test_batches_are_mixed_not_only_moved(self, lesson):
        """Six pairs in two batches: 20 ways to choose the first. Fixed batches in a
        random order leave 2.
        """
        center = torch.tensor([0.5, -0.3, 0.2, 0.1, 0.2, 0.3, -0.4, 0.6])
        context = torch.tensor([0.4, -0.2, 0.3, -0.5, 0.1, 0.6, 0.9, -0.8])
        start = center[:, None], context[:, None]
        pairs = torch.tensor([0, 1, 0, 1, 0, 1]), torch.tensor([1, 2, 3, 4, 5, 6])
        count = different_trainings(
            lesson, start, 14, 3, *pairs, only(7, 8), epochs=1, batch_size=3, lr=0.1
        )
        expect.that(count == 3, f"14 seeds lead to only {count} different losses")


@exercise("train_skipgram")
@corner
class TestTrainSkipgramCorners:
    def test_no_epochs_change_nothing(self, lesson, draw):
        """epochs=0 makes no step, has no loss to return and none to report."""
        start = 0.3 * draw.normal(2, 8, 3)
        model = model_of(lesson, *start)
        recorder = lesson.prop(Recorder, model)
        losses = losses_of(
            lesson, model, *some_pairs(draw, 6), torch.ones(8) / 8, epochs=0, on_epoch=recorder
        )
        expect.equal(losses, [])
        expect.equal(recorder.attribute("told"), [])
        expect.equal(list(model.parameters.values()), list(start))

    def test_generator_repeats_the_training(self, lesson, draw):
        """All randomness comes from it: the global seed is another one each time, and
        neither the losses nor the weights know.
        """
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 12)
        runs = []
        for seed in 1, 2:
            model = model_of(lesson, *start)
            lesson.seed(seed)
            losses = losses_of(
                lesson,
                model,
                *pairs,
                torch.ones(8) / 8,
                epochs=1,
                batch_size=8,
                generator=lesson.generator(3),
            )
            runs.append((losses, *model.parameters.values()))
        expect.close(runs[1], runs[0])

    def test_another_generator_gives_another_training(self, lesson, draw):
        """A generator that is never used, or reseeded, gives the same every time."""
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 12)
        losses = [
            losses_of(
                lesson,
                model_of(lesson, *start),
                *pairs,
                torch.ones(8) / 8,
                epochs=1,
                generator=lesson.generator(seed),
            )
            for seed in (1, 2)
        ]
        expect.that(
            losses[0] != losses[1],
            f"two generators with different seeds lead to the same losses: {show(losses)}",
        )

    def test_global_generator_is_left_alone(self, lesson, draw):
        """With its own generator, training takes no number from the global stream, and
        doesn't seed it.
        """
        model, pairs = drawn_model(lesson, draw), some_pairs(draw, 12)
        lesson.seed(4)
        next_number = lesson.random_number()
        lesson.seed(4)
        noise, generator = torch.ones(8) / 8, lesson.generator(1)
        lesson.train_skipgram(model, *pairs, noise, epochs=1, generator=generator)
        expect.that(
            lesson.random_number() == next_number,
            "the training draws from PyTorch's global generator, or seeds it",
        )

    def test_without_a_generator_the_global_one_serves(self, lesson, draw):
        """generator=None is PyTorch's own way to say "the global one"."""
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 12)
        losses = []
        for seed in 1, 1, 2:
            model = model_of(lesson, *start)
            lesson.seed(seed)
            losses.append(losses_of(lesson, model, *pairs, torch.ones(8) / 8, epochs=1))
        expect.close(losses[1], losses[0])
        expect.that(losses[2] != losses[0], "another global seed leads to the same losses")

    def test_noise_may_be_float64(self, lesson):
        """As counts in float64 make it; that of the other tests is float32."""
        noise = torch.tensor([0, 0.95, 0.05], dtype=torch.float64)
        expect_negatives_as_frequent(lesson, noise)

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of an id says how it is stored, not which word it names."""
        expect_loss_of_the_pairs(lesson, draw, dtype)


def cosine_with_each(query, vectors):
    """The cosine of the query with every row, in float64; 0 where one of them is zero."""
    lengths = vectors.double().norm(dim=1) * query.double().norm()
    return torch.where(lengths > 0, vectors.double() @ query.double() / lengths, 0.0)


def expect_nearest(got, cosines, count, dtype=torch.float32):
    """Expect the rows of the highest cosines; rows that are equally near may swap places."""
    indices, similarities = expect.tensors(got, "indices", "similarities")
    order = cosines.argsort(descending=True)[:count]
    expect.close(similarities, cosines[order].to(dtype))
    of_rows = cosines[indices.long()]
    expect.that(
        torch.allclose(of_rows, cosines[order], atol=4e-2 if dtype == torch.bfloat16 else 1e-5),
        f"the nearest rows are {show(order)}, not {show(indices)}",
    )


def rows_and_similarities(got):
    """What came back; the rows as a list, since their dtype is free."""
    indices, similarities = expect.tensors(got, "indices", "similarities")
    return indices.tolist(), similarities


def expect_ranking(got, want, tolerance=None):
    """Expect these rows, as a list, with these similarities."""
    names = ("indices", "similarities")
    expect.close(rows_and_similarities(got), want, tolerance=tolerance, what=names)


@exercise("nearest_by_cosine")
class TestNearestByCosine:
    def test_best_first_by_direction(self, lesson):
        """Query (3, 0): row 4, (7, 0), points the same way. Row 3, (8, -6), has the
        cosine 8/10, row 1 0.6; row 0 is at a right angle, row 2 opposite.
        """
        rows = torch.tensor([[0.0, 2.0], [0.6, 0.8], [-5.0, 0.0], [8.0, -6.0], [7.0, 0.0]])
        got = lesson.nearest_by_cosine(torch.tensor([3.0, 0.0]), rows)
        want = [4, 3, 1, 0, 2], torch.tensor([1, 0.8, 0.6, 0, -1])
        expect_ranking(got, want)

    @pytest.mark.parametrize(
        ("size", "n_embd", "top_k"),
        [(5, 5, 5), (12, 4, 1), (30, 8, 29), (1, 3, 1)],
    )
    def test_similarity_is_the_cosine(self, lesson, draw, size, n_embd, top_k):
        """The dot product over both lengths; the top_k highest, in falling order."""
        query, vectors = draw.normal(n_embd), draw.normal(size, n_embd)
        got = lesson.nearest_by_cosine(query, vectors, top_k)
        expect_nearest(got, cosine_with_each(query, vectors), top_k)

    def test_length_does_not_matter(self, lesson, draw):
        """A cosine knows directions only: here rows are from 0.1 to 1000 long, and the
        query 100 times as long as before.
        """
        query, vectors = draw.normal(4), draw.normal(6, 4)
        scales = torch.tensor([[1.0], [1000.0], [0.1], [30.0], [0.3], [5.0]])
        got = lesson.nearest_by_cosine(100 * query, scales * vectors, 6)
        expect_nearest(got, cosine_with_each(query, vectors), 6)

    def test_short_rows_are_not_zero(self, lesson):
        """Rows of length 0.001, and a query of that length: row 1 points the same way,
        row 0 is at a right angle, row 2 opposite. A number that is added to keep
        the division safe must be far below their lengths.
        """
        rows = 0.001 * torch.tensor([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
        got = lesson.nearest_by_cosine(torch.tensor([0.001, 0.0]), rows)
        want = [1, 0, 2], torch.tensor([1.0, 0.0, -1.0])
        expect_ranking(got, want, tolerance=2e-4)

    def test_five_rows_unless_asked_otherwise(self, lesson, draw):
        """top_k=5 is the default."""
        query, vectors = draw.normal(4), draw.normal(9, 4)
        got = lesson.nearest_by_cosine(query, vectors)
        expect_nearest(got, cosine_with_each(query, vectors), 5)

    def test_never_more_than_all_rows(self, lesson, draw):
        """A table of 3 rows has 3 nearest ones, however many are asked for."""
        query, vectors = draw.normal(4), draw.normal(3, 4)
        got = lesson.nearest_by_cosine(query, vectors, 4)
        expect_nearest(got, cosine_with_each(query, vectors), 3)

    def test_default_of_five_suits_a_small_table(self, lesson, draw):
        """Two rows, and five asked for by default: two."""
        query, vectors = draw.normal(4), draw.normal(2, 4)
        got = lesson.nearest_by_cosine(query, vectors)
        expect_nearest(got, cosine_with_each(query, vectors), 2)

    def test_gradient_reaches_query_and_rows(self, lesson):
        """The cosine of (3, 4) and (1, 0) is 3/5. It changes with the query by
        ((1, 0) - 3/5 (3/5, 4/5)) / 5 = (0.128, -0.096), and with the row by
        (3/5, 4/5) - 3/5 (1, 0) = (0, 0.8).
        """
        query, rows = torch.tensor([3.0, 4.0]), torch.tensor([[0.0, -1.0], [1.0, 0.0]])
        upstream = None, torch.tensor([1.0])
        got = lesson.nearest_by_cosine.gradients(query, rows, 1, upstream=upstream)
        expect.close(got[0], torch.tensor([0.128, -0.096]))
        expect.close(got[1], torch.tensor([[0.0, 0.0], [0.0, 0.8]]))


@exercise("nearest_by_cosine")
@corner
class TestNearestByCosineCorners:
    def test_a_row_of_zeros_ranks_with_similarity_0(self, lesson):
        """It points nowhere: farther than any row on the query's side, nearer than any
        on the other. 0 / 0 would be nan, which ranks anywhere.
        """
        rows = torch.tensor([[-1.0, 1.0], [0.0, 0.0], [4.0, 3.0]])
        got = lesson.nearest_by_cosine(torch.tensor([2.0, 0.0]), rows)
        expect_ranking(got, ([2, 1, 0], torch.tensor([0.8, 0, -0.7071])))

    def test_a_query_of_zeros_is_similar_to_nothing(self, lesson, draw):
        """All similarities are 0, never nan; the rows come in any order."""
        rows, similarities = rows_and_similarities(
            lesson.nearest_by_cosine(torch.zeros(4), draw.normal(3, 4))
        )
        expect.equal(sorted(rows), [0, 1, 2], what="indices, sorted")
        expect.equal(similarities.abs(), torch.zeros(3))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_similarities_keep_the_dtype(self, lesson, draw, dtype):
        """What comes as float64 leaves as float64, and so for the others."""
        query, vectors = draw.normal(4, dtype=dtype), draw.normal(6, 4, dtype=dtype)
        got = lesson.nearest_by_cosine(query, vectors, 4)
        expect_nearest(got, cosine_with_each(query, vectors), 4, dtype)

    def test_rows_may_lie_apart_in_memory(self, lesson, draw):
        """A transposed table is a table, too."""
        query, vectors = draw.normal(8)[::2], draw.normal(4, 6).T
        got = lesson.nearest_by_cosine(query, vectors, 4)
        expect_nearest(got, cosine_with_each(query, vectors), 4)

    def test_result_is_on_the_device_of_the_rows(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect.follows_device(lesson.nearest_by_cosine, draw.normal(4), draw.normal(6, 4), 3)


def analogy_cosines(a, b, c, vectors):
    """The cosine of every row with b - a + c of the unit rows; -9 for the inputs."""
    unit = torch.nn.functional.normalize(vectors.double(), dim=1)
    cosines = cosine_with_each(unit[b] - unit[a] + unit[c], unit)
    cosines[[a, b, c]] = -9.0
    return cosines


ROYAL = torch.tensor(
    [[1, 0, 0], [0, 1, 0], [0.6, 0, 0.8], [0, 0.6, 0.8], [0, 0, -1]],
)
"""Rows 0 man, 1 woman, 2 king, 3 queen, 4 beggar, by the features male, female, royal."""


@exercise("analogy")
class TestAnalogy:
    def test_man_is_to_king_as_woman_is_to_queen(self, lesson):
        """king - man + woman = (0.6 - 1, 1, 0.8) = (-0.4, 1, 0.8), of length 1.3416.
        Times queen, row 3: 0.6 + 0.64 = 1.24, cosine 0.9242. Times beggar, row 4:
        -0.8, cosine -0.5963. No other row is left.
        """
        got = lesson.analogy(0, 2, 1, ROYAL)
        expect_ranking(got, ([3, 4], torch.tensor([0.92424, -0.59628])))

    def test_king_is_to_man_as_queen_is_to_woman(self, lesson):
        """man - king + queen = (1 - 0.6, 0.6, 0) = (0.4, 0.6, 0), of length 0.7211.
        Times woman, row 1: 0.6, cosine 0.8321. Times beggar, row 4: 0.
        """
        got = lesson.analogy(2, 0, 3, ROYAL)
        expect_ranking(got, ([1, 4], torch.tensor([0.83205, 0.0])))

    @pytest.mark.parametrize("scales", [(9, 1, 0.2, 3, 1), (0.2, 50, 1, 7, 0.5)], ids=str)
    def test_length_of_a_row_does_not_matter(self, lesson, scales):
        """A frequent word may have a long row. Scaled to length 1 the rows are those
        of "king - man + woman" again, with queen (3) at 0.9242.
        """
        rows = ROYAL * torch.tensor(scales)[:, None]
        got = lesson.analogy(0, 2, 1, rows)
        expect_ranking(got, ([3, 4], torch.tensor([0.92424, -0.59628])))

    @pytest.mark.parametrize(("size", "n_embd", "top_k"), [(7, 3, 2), (9, 9, 6), (30, 8, 10)])
    def test_nearest_rows_to_b_minus_a_plus_c(self, lesson, draw, size, n_embd, top_k):
        """The arithmetic is done on rows of length 1, and the answers are the rows
        nearest in cosine, in falling order, without a, b and c.
        """
        vectors = draw.normal(size, n_embd)
        a, b, c = draw.permutation(size)[:3].tolist()
        got = lesson.analogy(a, b, c, vectors, top_k)
        expect_nearest(got, analogy_cosines(a, b, c, vectors), top_k)

    def test_inputs_are_no_answers_even_if_nearest(self, lesson):
        """Rows 0, 2 and 3 point almost the same way, and so does 2 - 0 + 3; the answer
        is yet one of the two rows that point elsewhere.
        """
        rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [1.0, 0.2], [-1.0, 0.5]])
        got, _ = rows_and_similarities(lesson.analogy(0, 2, 3, rows, 1))
        expect.equal(got, [1], what="indices")

    @pytest.mark.parametrize("c", [0, 2])
    def test_inputs_are_no_answers_even_if_the_other_row_is_opposite(self, lesson, c):
        """ "c is to c as c is to ?": the other rows point the opposite way, so their cosine is
        -1, which no number of a row that is left out may reach.
        """
        rows = torch.tensor([[-0.3, -0.4], [-0.6, -0.8], [-3.0, -4.0]])
        rows[c] *= -1
        got, similarities = rows_and_similarities(lesson.analogy(c, c, c, rows, 2))
        expect.equal(sorted(got), [row for row in range(3) if row != c], what="indices, sorted")
        expect.close(similarities, torch.tensor([-1.0, -1.0]), what="similarities")

    @pytest.mark.parametrize("top_k", [4, 50])
    def test_all_other_rows_at_most(self, lesson, draw, top_k):
        """Of 6 rows, 3 are inputs; 3 can be answers, however many are asked for."""
        vectors = draw.normal(6, 4)
        got = lesson.analogy(4, 0, 3, vectors, top_k)
        expect_nearest(got, analogy_cosines(4, 0, 3, vectors), 3)

    def test_five_answers_unless_asked_otherwise(self, lesson, draw):
        """top_k=5 is the default."""
        vectors = draw.normal(11, 4)
        got = lesson.analogy(7, 2, 0, vectors)
        expect_nearest(got, analogy_cosines(7, 2, 0, vectors), 5)

    @pytest.mark.parametrize(
        ("inputs", "others"), [((1, 1, 4), 4), ((1, 4, 1), 4), ((4, 1, 1), 4), ((2, 2, 2), 5)]
    )
    def test_a_row_may_be_given_twice(self, lesson, draw, inputs, others):
        """ "1 is to 1 as 4 is to ?" asks for the neighbors of 4. It names 2 different
        rows, so 4 of 6 can be answers.
        """
        vectors = draw.normal(6, 4)
        got = lesson.analogy(*inputs, vectors, 6)
        expect_nearest(got, analogy_cosines(*inputs, vectors), others)

    def test_the_twin_of_an_input_may_answer(self, lesson):
        """Row 5 has the numbers of row 1, woman, but is another word. (-0.4, 1, 0.8)
        by its length has the cosine 0.7454 with it.
        """
        got = lesson.analogy(0, 2, 1, torch.cat((ROYAL, ROYAL[1:2])))
        want = [3, 5, 4], torch.tensor([0.92424, 0.74536, -0.59628])
        expect_ranking(got, want)

    def test_gradient_reaches_inputs_and_answers(self, lesson, draw):
        """The similarities depend on the rows a, b, c and on those that answer; the
        gradient runs through both, and through the scaling to length 1.
        """
        vectors, upstream = draw.normal(5, 4), draw.normal(2)
        got = lesson.analogy.gradients(1, 4, 2, vectors, 2, upstream=(None, upstream))
        rows = vectors.double().requires_grad_()
        unit = rows / rows.norm(dim=1, keepdim=True)
        target = unit[4] - unit[1] + unit[2]
        best = torch.cosine_similarity(target, rows[[0, 3]]).sort(descending=True).values
        (want,) = torch.autograd.grad(best, rows, upstream.double())
        expect.close(got[3], want.float(), tolerance=1e-4)


@exercise("analogy")
@corner
class TestAnalogyCorners:
    def test_a_row_of_zeros_ranks_with_similarity_0(self, lesson):
        """It points nowhere: between queen, at 0.9242, and beggar, at -0.5963."""
        got = lesson.analogy(0, 2, 1, torch.cat((ROYAL, torch.zeros(1, 3))))
        want = [3, 5, 4], torch.tensor([0.92424, 0.0, -0.59628])
        expect_ranking(got, want)

    def test_three_rows_leave_no_answer(self, lesson, draw):
        """All rows are inputs: two empty tensors."""
        rows, similarities = rows_and_similarities(lesson.analogy(2, 0, 1, draw.normal(3, 4)))
        expect.equal(rows, [], what="indices")
        expect.equal(similarities, torch.zeros(0))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_similarities_keep_the_dtype(self, lesson, dtype):
        """What comes as float64 leaves as float64, and so for the others."""
        got = lesson.analogy(0, 2, 1, 3 * ROYAL.to(dtype))
        expect_nearest(got, analogy_cosines(0, 2, 1, ROYAL), 2, dtype)

    def test_rows_may_lie_apart_in_memory(self, lesson, draw):
        """A transposed table is a table, too."""
        vectors = draw.normal(4, 8).T
        got = lesson.analogy(3, 1, 6, vectors, 4)
        expect_nearest(got, analogy_cosines(3, 1, 6, vectors), 4)

    def test_result_is_on_the_device_of_the_rows(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect.follows_device(lesson.analogy, 0, 1, 2, draw.normal(6, 4))


@exercise("parse_glove_line")
class TestParseGloveLine:
    def test_a_word_and_its_numbers(self, lesson):
        """The fields are separated by single spaces: the word, then C numbers."""
        got = lesson.parse_glove_line("king 0.5 -1.25 3", 3)
        expect.equal(got, ("king", torch.tensor([0.5, -1.25, 3.0])))

    def test_every_digit_counts(self, lesson):
        """GloVe's files give five or six digits after the point."""
        got = lesson.parse_glove_line("king 0.418012 -0.000037", 2)
        expect.close(got, ("king", torch.tensor([0.418012, -0.000037])), tolerance=1e-7)

    @pytest.mark.parametrize("n_embd", [1, 300])
    def test_values_of_any_width(self, lesson, draw, n_embd):
        """A float32 tensor (C,), in the order of the line."""
        values = draw.normal(n_embd)
        line = " ".join(["king", *(f"{value:.2f}" for value in values.tolist())])
        expect.close(lesson.parse_glove_line(line, n_embd), ("king", values))

    @pytest.mark.parametrize("word", [". . .", "new york"])
    def test_a_word_may_hold_spaces(self, lesson, word):
        """Count from the end: the last two fields are the numbers, all before them is
        the word. The file of 840 billion tokens has words such as ". . .".
        """
        got = lesson.parse_glove_line(f"{word} 0.5 -1", 2)
        expect.equal(got, (word, torch.tensor([0.5, -1.0])))

    @pytest.mark.parametrize(
        "word",
        ["1\u00a01/2", "\u00a0x", "x\u00a0", "a\u2028b", "a\tb"],
        ids=spelled,
    )
    def test_only_the_space_separates(self, lesson, word):
        """Other white space, such as the non-breaking space U+00A0, belongs to the
        word, also at its beginning and end; these words are shown by their codes.
        """
        got = lesson.parse_glove_line(f"{word} 0.5 -1", 2)
        expect.equal(got, (word, torch.tensor([0.5, -1.0])))

    @pytest.mark.parametrize("word", ['"', "'", '"king"', ",", "#", "\\n", "Ελλάδα", "ﬁ"])
    def test_the_word_comes_as_it_is(self, lesson, word):
        """No character has a special meaning, quotes are just characters, and capitals
        stay.
        """
        got = lesson.parse_glove_line(f"{word} 0.5 -1", 2)
        expect.equal(got, (word, torch.tensor([0.5, -1.0])))

    @pytest.mark.parametrize("word", ["-0.25", "1 2 3", "nan", "route 66"])
    def test_a_number_may_be_a_word(self, lesson, word):
        """Only the last two fields are values, whatever the others look like."""
        got = lesson.parse_glove_line(f"{word} 0.5 0.5", 2)
        expect.equal(got, (word, torch.tensor([0.5, 0.5])))

    @pytest.mark.parametrize("end", ["\n", "\r\n"], ids=spelled)
    def test_line_end_is_ignored(self, lesson, end):
        """Lines read from a file end in \\n, or in \\r\\n if it was written on Windows."""
        got = lesson.parse_glove_line(f"king 0.5 -1{end}", 2)
        expect.equal(got, ("king", torch.tensor([0.5, -1.0])))

    def test_numbers_in_scientific_notation(self, lesson):
        """1e-3 is 0.001, -2.5E+2 is -250."""
        got = lesson.parse_glove_line("king 1e-3 -2.5E+2 4e0", 3)
        expect.close(got, ("king", torch.tensor([0.001, -250.0, 4.0])))


@exercise("parse_glove_line")
@corner
class TestParseGloveLineCorners:
    @pytest.mark.parametrize(
        ("line", "n_embd"),
        [
            *[("king", 1), ("king 0.5\n", 2), ("", 1)],
            # the word may be a number, but not be missing
            *[("7 0.5", 3), ("7 0.5", 2)],
        ],
        ids=spelled,
    )
    def test_too_few_numbers_are_refused(self, lesson, line, n_embd):
        """A short line is a broken file, or one of another width; the message shows
        it. The first field belongs to the word: "7 0.5" has one number, not two.
        """
        expect.rejects(
            lesson.parse_glove_line,
            ValueError,
            bad=(line, n_embd),
            mentions=(line.strip(), line.split(" ")[0], "0.5"),
        )

    def test_a_word_with_spaces_does_not_make_up_for_numbers(self, lesson):
        """ ". . 0.5" has three fields, but only one number; "." is none."""
        expect.rejects(lesson.parse_glove_line, ValueError, bad=(". . 0.5", 2))

    @pytest.mark.parametrize(
        ("line", "field"),
        [
            *[("king {} 0.5", field) for field in ("x1", "0,5", "1.2.3")],
            *[("king 0.5 {}\n", field) for field in ("x1", "0.5-1")],
        ],
        ids=spelled,
    )
    def test_unreadable_numbers_are_refused(self, lesson, line, field):
        """The message holds the line, or the field that is no number."""
        expect.rejects(
            lesson.parse_glove_line,
            ValueError,
            bad=(line.format(field), 2),
            mentions=(field,),
        )
