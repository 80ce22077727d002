"""Lesson 6: what the table learns. Grades `exercises/skipgram.py`."""

import math

import pytest
import torch

from course.testing import exercise, expect, limit
from course.testing.show import show


def centers_and_contexts(got):
    """What came back, once it is known to be two tensors (P,) of integers."""
    centers, contexts = expect.tensors(got, "centers", "contexts")
    shapes = tuple(centers.shape), tuple(contexts.shape)
    expect.that(
        centers.dim() == contexts.dim() == 1 and len(centers) == len(contexts),
        f"centers and contexts belong in one shape (P,); these are {shapes[0]} and {shapes[1]}",
    )
    expect.that(
        not (centers.is_floating_point() or contexts.is_floating_point()),
        "the pairs are ids, so they belong in integers",
    )
    return centers, contexts


def expect_pairs(got, want):
    """Expect these pairs, in any order."""
    centers, contexts = centers_and_contexts(got)
    pairs = sorted(zip(centers.tolist(), contexts.tolist(), strict=True))
    expect.equal(pairs, want, what="the pairs (center, context), sorted")


def every_pair(ids, window):
    """All positions against all shifts that stay within the text."""
    shifts = torch.tensor([*range(-window, 0), *range(1, window + 1)])
    there = torch.arange(len(ids))[:, None] + shifts
    left, right = torch.where((there >= 0) & (there < len(ids)))
    return ids[left], ids[there[left, right]]


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

    @pytest.mark.parametrize(("length", "window"), [(2, 1), (6, 5), (17, 3)])
    def test_pairs_are_all_within_the_window(self, lesson, draw, length, window):
        """Every two positions that are 1..window apart, both ways round, shown
        here sorted. Words at the ends of the text have fewer neighbors.
        """
        ids = draw.ids(6, length)
        want = zip(*(some.tolist() for some in every_pair(ids, window)), strict=True)
        expect_pairs(lesson.skipgram_pairs(ids, window), sorted(want))

    @pytest.mark.parametrize("window", [5, 1000])
    def test_window_may_be_wider_than_the_text(self, lesson, window):
        """Five words are at most 4 apart: from window 4 on, each word pairs with
        the four others.
        """
        got = lesson.skipgram_pairs(torch.arange(5), window)
        expect_pairs(got, [(i, j) for i in range(5) for j in range(5) if i != j])

    def test_a_window_may_be_wide(self, lesson):
        """In a text of 300 different words every two that are 1..270 apart are a pair, once
        each way round.
        """
        ids = torch.arange(300)
        centers, contexts = centers_and_contexts(lesson.skipgram_pairs(ids, 270))
        apart = (ids[:, None] - ids).abs()
        counts = torch.bincount(centers.long() * 300 + contexts, minlength=300 * 300)
        want = ((apart >= 1) & (apart <= 270)).long()
        what = "how often each word is paired with each"
        expect.equal(counts.view(-1, 300), want, what=what)

    @limit(60)
    def test_a_very_long_text_is_soon_done(self, lesson, draw):
        """70 001 words have 70 000 neighborhoods, each seen both ways: every word is a
        center twice, but the first and the last only once. Neighbors multiply to the
        sum of ids[:-1] * ids[1:].
        """
        ids = draw.ids(60_000, 70_001)
        centers, contexts = centers_and_contexts(lesson.skipgram_pairs(ids, 1))
        expect.equal((centers.shape, contexts.shape), ((140_000,), (140_000,)))
        times = (2 * ids.sum() - ids[0] - ids[-1]).item()
        products = 2 * (ids[:-1] * ids[1:]).sum().item()
        expect.equal(
            (centers.sum().item(), contexts.sum().item(), (centers.long() * contexts).sum().item()),
            (times, times, products),
        )

    def test_window_below_1_is_refused(self, lesson):
        """No word is at distance 0 from another."""
        expect.rejects(lesson.skipgram_pairs, ValueError, bad=(torch.tensor([1, 2, 3]), 0))


@exercise("noise_distribution")
class TestNoiseDistribution:
    def test_power_is_three_quarters(self, lesson):
        """81 ** 0.75 = 3 ** 3 = 27 and 16 ** 0.75 = 2 ** 3 = 8; 27 + 8 + 1 = 36."""
        got = lesson.noise_distribution(torch.tensor([81.0, 16.0, 1.0]))
        expect.close(got, torch.tensor([27 / 36, 8 / 36, 1 / 36]), any_width=True)

    @pytest.mark.parametrize("power", [0.0, 0.5, 2.0])
    def test_another_power_may_be_asked_for(self, lesson, power):
        """1 would keep the frequencies, 0 makes them equal, 2 favors frequent words.
        With 0.5, counts 9, 4 and 1 weigh 3, 2 and 1.
        """
        weights = [9.0**power, 4.0**power, 1.0]
        got = lesson.noise_distribution(torch.tensor([9.0, 4.0, 1.0]), power)
        want = torch.tensor([weight / sum(weights) for weight in weights])
        expect.close(got, want, any_width=True)

    def test_a_word_may_occur_millions_of_times(self, lesson):
        """(2 ** 24) ** 0.75 = 2 ** 18 = 262 144 and (2 ** 16) ** 0.75 = 2 ** 12 = 4 096."""
        got = lesson.noise_distribution(torch.tensor([16_777_216, 65_536]))
        want = torch.tensor([262_144 / 266_240, 4_096 / 266_240])
        expect.close(got, want, any_width=True)

    def test_a_word_that_never_occurs_is_never_drawn(self, lesson):
        """0 ** 0.75 = 0 exactly, not just a small number."""
        got = lesson.noise_distribution(torch.tensor([16.0, 0.0, 1.0]))
        expect.close(got, torch.tensor([8 / 9, 0, 1 / 9]), any_width=True)
        expect.that(got[1].item() == 0, f"word 1 is drawn with {show(got[1])}, not with 0")

    @pytest.mark.parametrize("size", [1, 300, 40_001])
    def test_each_probability_is_a_share_of_the_whole(self, lesson, draw, size):
        """The weight of one word by that of all, here for counts that are integers, as
        torch.bincount gives them.
        """
        counts = draw.ids(500, size) + 1
        weights = counts.double() ** 0.75
        want = (weights / weights.sum()).float()
        expect.close(lesson.noise_distribution(counts), want, tolerance=1e-6, any_width=True)

    @pytest.mark.parametrize("counts", [[2.0, -0.5], [0.0, 0.0]], ids=["negative", "all zero"])
    def test_counts_of_nothing_are_refused(self, lesson, counts):
        """No word occurs less than never, and nothing can be drawn where nothing occurs."""
        expect.rejects(lesson.noise_distribution, ValueError, bad=(torch.tensor(counts),))


def dot_products(center, context, centers, contexts):
    """The dot product of every pair, in float64."""
    center_rows = center.double()[centers].unsqueeze(1)  # (P, 1, C)
    context_rows = context.double()[contexts].view(len(contexts), -1, center.shape[1])
    return (center_rows * context_rows).sum(dim=2).view(contexts.shape).float()


def skipgram_of(lesson, center, context):
    """A `SkipGram` that holds these two tables."""
    model = lesson.SkipGram(*center.shape)
    model.set(center__weight=center, context__weight=context)
    return model


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
        shapes = {name: tuple(weight.shape) for name, weight in model.shapes.items()}
        expect.equal(shapes, dict.fromkeys(["center.weight", "context.weight"], (7, 3)))
        expect.equal(sorted(model.trainable), ["center.weight", "context.weight"])

    def test_logit_is_the_dot_product_of_center_and_context(self, lesson):
        """Center 0 is (1, 2), context 1 is (3, 10): 1 * 3 + 2 * 10 = 23. The other way
        round, center 1 is (0, 4) and context 0 is (5, 6): 0 * 5 + 4 * 6 = 24. With a
        table of twice the numbers, both are twice as much.
        """
        center, context = torch.tensor([[1.0, 2], [0, 4]]), torch.tensor([[5.0, 6], [3, 10]])
        model = skipgram_of(lesson, center, context)
        pairs = torch.tensor([0, 1]), torch.tensor([1, 0])
        expect.close(model(*pairs), torch.tensor([23.0, 24.0]))
        model.set(center__weight=2 * center)
        expect.close(model(*pairs), torch.tensor([46.0, 48.0]))

    def test_each_center_meets_its_own_contexts(self, lesson):
        """Row p holds center p with its K contexts. Center 0 is 1 and center 1 is 2,
        the contexts are 3 and 5: 1 * 3, 1 * 5, 1 * 5 and 2 * 5, 2 * 3, 2 * 3.
        """
        model = skipgram_of(lesson, torch.tensor([[1.0], [2]]), torch.tensor([[3.0], [5]]))
        got = model(torch.tensor([0, 1]), torch.tensor([[0, 1, 1], [1, 0, 0]]))
        expect.close(got, torch.tensor([[3.0, 5.0, 5.0], [10.0, 6.0, 6.0]]))

    def test_logits_have_the_shape_of_the_contexts(self, lesson, draw):
        """(P,) with (P,) gives (P,), and (P,) with (P, K) gives (P, K), also for
        P = 1, K = 1 and P = K = C.
        """
        center, context = draw.normal(2, 7, 3)
        model = skipgram_of(lesson, center, context)
        for shape in (5,), (3,), (1,), (5, 4), (5, 4), (3, 3), (1, 3), (4, 1), (1, 1):
            centers, contexts = draw.ids(7, shape[0]), draw.ids(7, *shape)
            expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))

    def test_tables_start_small_and_random(self, lesson):
        """Large rows begin with large random scores: training has to undo them first.
        Rows that start identical stay identical. Only the contexts may start at zero.
        """
        tables = lesson.SkipGram(50, 16).parameters
        for name in "center.weight", "context.weight":
            size = tables[name].square().mean().sqrt().item()
            expect.that(size < 0.5, f"{name} should start small; its rms is {size:.3g}")
            if size > 0 or name == "center.weight":
                expect_varied(tables[name], name)

    def test_start_is_drawn_from_the_global_generator(self, lesson):
        """So whoever runs the program can choose the seed; the model sets none itself."""
        starts, numbers = [], []
        for seed in 1, 1, 2:
            lesson.seed(seed)
            starts.append(lesson.SkipGram(6, 4).parameters["center.weight"])
            numbers.append(lesson.random_number())
        expect.equal(starts[1], starts[0])
        expect.that(not starts[2].equal(starts[0]), "another seed should give another start")
        expect.that(numbers[2] != numbers[0], "SkipGram sets the seed of the global generator")

    def test_gradient_of_a_row_is_the_sum_over_its_pairs(self, lesson, draw):
        """A pair sends its center the context's row, times the gradient at its logit,
        and the other way round. Words that come twice add up, others get 0.
        """
        center, context = draw.normal(2, 6, 3)
        model = skipgram_of(lesson, center, context)
        centers = torch.tensor([0, 3, 1, 0, 3])
        for shape in (5,), (5, 4):
            contexts, upstream = draw.ids(4, *shape), draw.normal(*shape)
            pairs = torch.zeros(6, 6)  # the gradient at the logit of center i with context j
            met = centers.view(-1, *[1] * (len(shape) - 1)).expand(shape)
            pairs.index_put_((met, contexts), upstream, accumulate=True)
            got = model.gradients(centers, contexts, upstream=upstream)
            expect.close(got["center.weight"], pairs @ context)
            expect.close(got["context.weight"], pairs.T @ center)

    @pytest.mark.parametrize(
        ("size", "n_embd", "shape"),
        [(40_001, 2, (9_001, 1)), (2, 1, (2, 9_001)), (2, 9_001, (2, 1))],
    )
    def test_nothing_is_too_large(self, lesson, draw, size, n_embd, shape):
        """9001 words and as many pairs; then 9001 contexts each; then rows of 9001 numbers."""
        center, context = draw.normal(2, size, n_embd) / math.sqrt(n_embd)
        model = skipgram_of(lesson, center, context)
        for some in shape[:1], shape:
            centers, contexts = draw.ids(size, shape[0]), draw.ids(size, *some)
            expect.close(model(centers, contexts), dot_products(center, context, centers, contexts))


def loss_by_formula(positive, negative):
    """-log σ(x) is log(1 + e ** -x): summed over K, in float64, then the mean over P."""
    of_true = torch.log1p(torch.exp(-positive.double()))
    of_drawn = torch.log1p(torch.exp(negative.double()))
    return ((of_true + of_drawn.sum(dim=1)).sum() / len(positive)).float()


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

    @pytest.mark.parametrize(
        ("n_pairs", "n_negatives"), [(5, 4), (4, 4), (1, 6), (6, 1), (9_001, 1), (1, 9_001)]
    )
    def test_negatives_add_up_and_pairs_are_averaged(self, lesson, draw, n_pairs, n_negatives):
        """Each pair pays for its true logit and for all of its K drawn ones; the loss
        is what a pair pays on average, so it is divided by P, not by P * K.
        """
        positive, negative = 2 * draw.normal(n_pairs), 2 * draw.normal(n_pairs, n_negatives)
        got = lesson.negative_sampling_loss(positive, negative)
        expect.close(got, loss_by_formula(positive, negative))

    @pytest.mark.parametrize("logit", [120.0, 1000.0])
    def test_sure_and_wrong_costs_the_logit(self, lesson, logit):
        """-log σ(-1000) = log(1 + e ** 1000) = 1000, although σ(-1000) is rounded to
        0: here one true pair and two drawn ones, all wrong.
        """
        positive, negative = torch.tensor([-logit]), torch.tensor([[logit, logit]])
        got = lesson.negative_sampling_loss(positive, negative)
        expect.close(got, torch.tensor(3 * logit))
        right = lesson.negative_sampling_loss(-positive, -negative)
        expect.close(right, torch.tensor(0.0))

    def test_gradient_is_how_wrong_each_logit_is(self, lesson, draw):
        """(σ(positive) - 1) / P at a true pair, σ(negative) / P at a drawn one; here
        times the gradient at the loss. σ(-1000) is 0 and σ(1000) is 1.
        """
        positive, negative = draw.normal(5) + 0.005, draw.normal(5, 3) + 0.005  # none is 0
        positive[:2] = negative[:2, 0] = torch.tensor([-1000.0, 1000.0])
        upstream = torch.tensor(1.7)
        got = lesson.negative_sampling_loss.gradients(positive, negative, upstream=upstream)
        expect.close(got[0], 1.7 * (positive.sigmoid() - 1) / 5)
        expect.close(got[1], 1.7 * negative.sigmoid() / 5)

    def test_logits_of_zero_can_be_trained(self, lesson):
        """Training may begin with all logits at 0: some of them must have a gradient."""
        got = lesson.negative_sampling_loss.gradients(
            torch.zeros(2), torch.zeros(2, 3), upstream=torch.tensor(1.0)
        )
        moved = max(got[0].abs().max().item(), got[1].abs().max().item())
        expect.that(moved > 0.1, f"no gradient is above {moved:.3g} where all logits are 0")


STANDSTILL = 1e-12
"""A learning rate at which no weight moves, so that a loss can be computed on paper."""


class Recorder:
    """Called after each epoch: notes what it is told, and the centers and their gradients then."""

    def __init__(self, model):
        self.model = model
        self.told = []
        self.centers = []
        self.gradients = []

    def __call__(self, epoch, loss):
        centers = dict(self.model.named_parameters())["center.weight"]
        self.told.append((epoch, loss))
        self.centers.append(centers.detach().clone())
        gradient = torch.zeros(1) if centers.grad is None else centers.grad.to_dense()
        self.gradients.append(gradient.abs().max().item())


def model_of_logits(lesson, *logits):
    """A model in which word j has this logit as a context, whatever the center."""
    context = torch.tensor(logits)[:, None]
    return skipgram_of(lesson, torch.ones_like(context), context)


def some_pairs(draw, count, vocab_size=8):
    """Pairs of different words: context = center + 1 or + 2. The last word is in none."""
    centers = draw.ids(vocab_size - 3, count)
    return centers, centers + 1 + draw.ids(2, count)


def only(word, vocab_size):
    """The distribution that draws this word and no other."""
    return torch.eye(vocab_size)[word]


def trained(lesson, start, *args, **options):
    """What a training returns, and the two tables afterwards, from this start."""
    model = skipgram_of(lesson, *start)
    losses = losses_of(lesson, model, *args, **options)
    weights = model.parameters
    return losses, torch.stack([weights["center.weight"], weights["context.weight"]])


def losses_of(lesson, *args, **options):
    """What a training returns, once it is known to be a float for each epoch."""
    losses = lesson.train_skipgram(*args, **options)
    return expect.floats(losses, options.get("epochs", 5))


def different_trainings(lesson, start, seeds, enough, *args, **options):
    """How many different lists of losses the seeds lead to; once there are enough, so many."""
    found = []
    for seed in range(seeds):
        if len(found) == enough:
            break
        generator = lesson.generator(seed)
        losses = trained(lesson, start, *args, **options, generator=generator)[0]
        losses = torch.tensor(losses)
        if not any(torch.allclose(losses, other, rtol=0, atol=1e-4) for other in found):
            found.append(losses)
    return len(found)


@exercise("train_skipgram")
class TestTrainSkipgram:
    @pytest.mark.parametrize("options", [{"epochs": 1, "n_negatives": 1}, {}], ids=["1", "default"])
    def test_loss_of_a_blind_model_is_k_plus_1_times_ln_2(self, lesson, draw, options):
        """With all contexts zero every logit is 0: ln 2 = 0.6931 for the true pair,
        and ln 2 for each of its K negatives. n_negatives=5 and epochs=5 are the defaults.
        """
        start = draw.normal(8, 3), torch.zeros(8, 3)
        pairs = some_pairs(draw, 10)
        losses, _ = trained(lesson, start, *pairs, only(7, 8), lr=STANDSTILL, **options)
        want = [(options.get("n_negatives", 5) + 1) * math.log(2)] * len(losses)
        expect.close(losses, want, tolerance=1e-4, what="the losses of the epochs")

    @pytest.mark.parametrize("batch_size", [2, 8])
    def test_epoch_loss_is_the_mean_over_its_pairs(self, lesson, batch_size):
        """Two pairs at logit 40 cost 0, the third, at -20, costs 20; three negatives
        at logit 0 cost ln 2 each; nothing moves. So 20 / 3 + 3 ln 2 = 8.75 in every
        epoch, however the three fall into batches: a short one counts by its size.
        """
        losses = losses_of(
            lesson,
            model_of_logits(lesson, 0.0, 9.0, 40.0, -20.0, 9.0),
            torch.tensor([0, 1, 0]),
            torch.tensor([2, 2, 3]),
            only(0, 5),  # word 0 is a word like the others
            epochs=2,
            batch_size=batch_size,
            n_negatives=3,
            lr=STANDSTILL,
        )
        want = [20 / 3 + 3 * math.log(2)] * 2
        expect.close(losses, want, tolerance=1e-4, what="the loss of an epoch")

    def test_a_center_meets_its_context_and_the_negatives(self, lesson, draw):
        """All pairs are one batch, and word 7 is every negative: the first loss is that
        of the pairs as they were given, and the second is lower, since they have learned.
        """
        start, (centers, contexts) = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 12)
        losses, _ = trained(lesson, start, centers, contexts, only(7, 8), epochs=2)
        positive = (start[0, centers] * start[1, contexts]).sum(dim=1)
        negative = (start[0, centers] @ start[1, 7])[:, None].expand(-1, 5)
        want = loss_by_formula(positive, negative).item()
        expect.close(losses[:1], [want], tolerance=1e-4, what="the loss of the first epoch")
        expect.that(losses[1] < losses[0], f"the loss does not fall: {show(losses)}")

    def test_learns_which_words_are_neighbors(self, lesson, draw):
        """Words 0-15 have words 16-31 as contexts, each those of its group of two. At the
        defaults, 15 epochs end well below the 6 ln 2 = 4.16 of an untrained model.
        """
        centers = draw.ids(16, 100)
        contexts = 16 + centers // 2 * 2 + draw.ids(2, 100)
        start = torch.stack([0.3 * draw.normal(32, 64), torch.zeros(32, 64)])
        noise, generator = (torch.arange(32) >= 16) / 16, lesson.generator(8)
        losses, (center, context) = trained(
            lesson, start, centers, contexts, noise, epochs=15, generator=generator
        )
        expect.that(losses[-1] < 3.6, f"the last of 15 epochs has the loss {losses[-1]:.2f}")
        logits = center[:16] @ context[16:].T
        near = torch.arange(16)[:, None] // 2 == torch.arange(16) // 2
        gap = (logits[near].mean() - logits[~near].mean()).item()
        expect.that(gap > 0.2, f"the logits of neighbors are only {gap:.2f} above the others")

    def test_trains_every_pair_from_where_the_model_is(self, lesson, draw):
        """Three pairs of different words, in batches of 2: after an epoch all their rows
        have moved, those of the short last batch, too. At a learning rate of next to 0
        they stay what they were: nothing draws them anew.
        """
        start, pairs = (
            0.3 * draw.normal(2, 7, 3),
            (torch.tensor([0, 2, 4]), torch.tensor([1, 3, 5])),
        )
        options = {"epochs": 1, "batch_size": 2}
        _, still = trained(lesson, start, *pairs, only(6, 7), lr=STANDSTILL, **options)
        expect.close(still, start, tolerance=1e-6, what="the tables after steps of length 0")
        _, after = trained(lesson, start, *pairs, only(6, 7), **options)
        for i, name in enumerate(["center.weight", "context.weight"]):
            for row in pairs[i].tolist():
                expect.that(
                    not torch.allclose(after[i, row], start[i, row], atol=1e-4),
                    f"row {row} of {name} is what it was before the training",
                )

    def test_negatives_are_as_frequent_as_the_noise_says(self, lesson):
        """Of 3000 words two can be drawn: 2100, at logit -40, costs 0, and 2900, at 10,
        costs 10. Word 2900 has the probability 0.05, so 500 negatives cost 500 * 0.05 * 10
        = 250 on average, here over 16 * 500 draws; anything from 175 to 325 will do.
        """
        logits, noise = torch.full((3000,), 40.0), torch.zeros(3000)
        logits[[2100, 2900]] = torch.tensor([-40.0, 10.0])
        noise[[2100, 2900]] = torch.tensor([0.95, 0.05])
        zeros = torch.zeros(16, dtype=torch.int64)
        losses = losses_of(
            lesson,
            model_of_logits(lesson, *logits.tolist()),
            *(zeros, zeros, noise),
            epochs=1,
            n_negatives=500,
            lr=STANDSTILL,
            generator=lesson.generator(5),
        )
        expect.close(losses, [250.0], tolerance=0.3, what="the loss of an epoch")

    def test_many_words_pairs_and_negatives(self, lesson, draw):
        """4200 of 9001 words are a context once, word j at logit 5 - 0.01 j, and cost what
        their logits say. The 4801 words that can be drawn have logit 0, for ln 2 each.
        """
        logits, can_be_drawn = 5 - 0.01 * torch.arange(9001.0), torch.arange(9001) >= 4200
        logits[can_be_drawn] = 0.0
        words = draw.permutation(4200)
        losses = losses_of(
            lesson,
            model_of_logits(lesson, *logits.tolist()),
            *(words.flip(0), words, can_be_drawn / 4801),
            epochs=1,
            batch_size=1300,
            n_negatives=7,
            lr=STANDSTILL,
        )
        want = torch.log1p(torch.exp(-logits[words])).mean().item() + 7 * math.log(2)
        expect.close(losses, [want], tolerance=1e-4, what="the loss of an epoch")

    def test_negatives_are_fresh_at_every_step(self, lesson):
        """Five steps of one pair, which costs 0, with one negative: words 1 to 16 cost
        10, 100, ..., 10 ** 16, and each has probability 1/16. One and the same word
        five times costs one of these numbers, the mean of different words none.
        """
        costs = [10.0**power for power in range(1, 17)]
        zeros = torch.zeros(5, dtype=torch.int64)
        losses = losses_of(
            lesson,
            model_of_logits(lesson, 40.0, *costs),
            *(zeros, zeros, torch.tensor([0] + [1 / 16] * 16)),
            epochs=1,
            batch_size=1,
            n_negatives=1,
            lr=STANDSTILL,
            generator=lesson.generator(6),
        )
        expect.that(
            not any(math.isclose(losses[0], cost, rel_tol=1e-3) for cost in costs),
            f"all five steps cost the same, {show(losses[0])}, as if their negatives were the same",
        )

    def test_each_pair_draws_its_own_negatives_in_every_epoch(self, lesson):
        """Two pairs draw 5 words each of words 1 to 5, which cost 20, 20 * 11, 20 * 11 ** 2
        and so on: the loss, times 2 and by 20, tells in base 11 how often each was drawn.
        Words that never change would be memorized.
        """
        zeros = torch.zeros(2, dtype=torch.int64)
        losses = losses_of(
            lesson,
            model_of_logits(lesson, 40.0, *(20.0 * 11**power for power in range(5))),
            *(zeros, zeros, torch.tensor([0] + [0.2] * 5)),
            epochs=7,
            lr=STANDSTILL,
            generator=lesson.generator(7),
        )
        times = [[round(loss / 10) // 11**power % 11 for power in range(5)] for loss in losses]
        expect.that(
            any(one != times[0] for one in times),
            f"all epochs cost the same, {show(losses[0])}, as if their negatives were the same",
        )
        for n, sentence in (
            (5, "each pair was given one and the same word five times"),
            (2, "both pairs were given the same five words, or neither draws a word twice"),
        ):
            expect.that(any(count % n for one in times for count in one), sentence)

    def test_every_epoch_has_its_own_order(self, lesson):
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
        random order leave 2, a random beginning leaves 6.
        """
        center = torch.tensor([0.5, -0.3, 0.2, 0.1, 0.2, 0.3, -0.4, 0.6])
        context = torch.tensor([0.4, -0.2, 0.3, -0.5, 0.1, 0.6, 0.9, -0.8])
        start = torch.stack([center, context])[..., None]
        pairs = torch.tensor([0, 1, 0, 1, 0, 1]), torch.tensor([1, 2, 3, 4, 5, 6])
        count = different_trainings(
            lesson, start, 40, 7, *pairs, only(7, 8), epochs=1, batch_size=3, lr=0.1
        )
        expect.that(count == 7, f"40 seeds lead to only {count} different losses")

    def test_each_step_has_a_gradient_of_its_own(self, lesson):
        """Three equal pairs in steps of one. The logits are 0, so a center's gradient is
        -1/2 of the true context, 4, and +1/2 of the drawn one, -4: it is -4 at every
        step. Gradients that are never reset would add up to -24 in two epochs.
        """
        table = torch.tensor([0.0, 0, 0]), torch.tensor([0.0, 4, -4])
        model = skipgram_of(lesson, *(column[:, None] for column in table))
        recorder = lesson.prop(Recorder, model)
        losses_of(
            lesson,
            model,
            *(torch.tensor([0] * 3), torch.tensor([1] * 3), only(2, 3)),
            epochs=2,
            batch_size=1,
            n_negatives=1,
            lr=STANDSTILL,
            on_epoch=recorder,
        )
        most = max(recorder.attribute("gradients"))
        expect.that(most < 6, f"after steps of the gradient -4, a gradient of {most:g} is left")

    def test_smaller_batches_make_more_steps(self, lesson, draw):
        """Every batch is a step: with batches of 2 the 4 pairs make 2 steps in an
        epoch, in one batch they make a single one, and end elsewhere.
        """
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 4)
        options = {"epochs": 1, "lr": 0.1}
        two_steps, one_step = (
            trained(lesson, start, *pairs, only(7, 8), batch_size=size, **options)[1]
            for size in (2, 4)
        )
        moved = (two_steps - one_step).abs().max().item()
        expect.that(moved > 1e-3, "batch_size=2 and batch_size=4 lead to the same weights")

    def test_batch_size_and_lr_are_as_written(self, lesson, draw):
        """batch_size=1024 and lr=0.01, said aloud or not, lead to the same weights: two
        steps from 1025 pairs, and how far each of them goes.
        """
        start, pairs = 0.3 * draw.normal(2, 8, 1), some_pairs(draw, 1025)

        def weights(**options):
            given = {"n_negatives": 1, "epochs": 1, "generator": lesson.generator(1), **options}
            return trained(lesson, start, *pairs, only(7, 8), **given)[1]

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

    def test_on_epoch_is_told_when_an_epoch_ends(self, lesson, draw):
        """Epochs are counted from 0, and the losses are those that are returned. The
        last time the model is the finished one, the first time it is not.
        """
        model = skipgram_of(lesson, *(0.3 * draw.normal(2, 8, 3)))
        recorder = lesson.prop(Recorder, model)
        losses = losses_of(
            lesson,
            model,
            *some_pairs(draw, 6),
            only(7, 8),
            epochs=2,
            batch_size=4,
            on_epoch=recorder,
        )
        expect.close(recorder.attribute("told"), list(enumerate(losses)))
        seen, finished = recorder.attribute("centers"), model.parameters["center.weight"]
        expect.equal(seen[-1], finished)
        expect.that(
            not torch.allclose(seen[0], finished, atol=1e-4),
            "when on_epoch is called for the first time, all epochs are over",
        )

    def test_all_randomness_comes_from_the_generator(self, lesson, draw):
        """The same seed gives the same losses and weights, another one does not, and
        PyTorch's global generator is neither used nor seeded.
        """
        start, pairs = 0.3 * draw.normal(2, 8, 3), some_pairs(draw, 12)
        model, runs = skipgram_of(lesson, *start), []
        for seed in 3, 3, 4:
            model.set(center__weight=start[0], context__weight=start[1])
            lesson.seed(len(runs))
            generator = lesson.generator(seed)
            options = {"epochs": 1, "batch_size": 8, "generator": generator}
            losses = losses_of(lesson, model, *pairs, torch.ones(8) / 8, **options)
            drawn = lesson.random_number()
            lesson.seed(len(runs))
            expect.that(
                lesson.random_number() == drawn,
                "the training draws from PyTorch's global generator, or seeds it",
            )
            runs.append((losses, *model.parameters.values()))
        expect.close(runs[1], runs[0])
        expect.that(
            runs[2][0] != runs[0][0],
            f"two generators with different seeds lead to the same losses: {show(runs[0][0])}",
        )


def cosine_with_each(query, vectors):
    """The cosine of the query with every row, in float64; 0 where one of them is zero."""
    lengths = vectors.double().norm(dim=1) * query.double().norm()
    return torch.where(lengths > 0, vectors.double() @ query.double() / lengths, 0.0)


def expect_nearest(got, cosines, count):
    """Expect the rows of the highest cosines; rows that are equally near may swap places."""
    indices, similarities = expect.tensors(got, "indices", "similarities")
    order = cosines.argsort(descending=True)[:count]
    want = cosines[order].float()
    expect.close(similarities, want, tolerance=1e-4, what="similarities", any_width=True)
    expect.that(
        indices.shape == order.shape and not indices.is_floating_point(),
        f"the indices should be {count} integers; these are {show(indices)}",
    )
    of_rows = cosines[indices.long().clamp(0, len(cosines) - 1)]
    expect.that(
        torch.allclose(of_rows, cosines[order], atol=1e-4) and indices.unique().numel() == count,
        f"the nearest rows are {show(order)}, not {show(indices)}",
    )


def expect_ranking(got, want):
    """Expect these rows, as a list, with these similarities."""
    indices, similarities = expect.tensors(got, "indices", "similarities")
    names = ("indices", "similarities")
    got = indices.tolist(), similarities
    expect.close(got, want, tolerance=1e-4, what=names, any_width=True)


@exercise("nearest_by_cosine")
class TestNearestByCosine:
    def test_best_first_by_direction(self, lesson):
        """Query (3, 0): row 4, (7, 0), points the same way. Row 3, (8, -6), has the
        cosine 8/10, row 1 0.6; row 0 is at a right angle, row 2 opposite. top_k=5 is
        the default.
        """
        rows = torch.tensor([[0.0, 2.0], [0.6, 0.8], [-5.0, 0.0], [8.0, -6.0], [7.0, 0.0]])
        got = lesson.nearest_by_cosine(torch.tensor([3.0, 0.0]), rows)
        expect_ranking(got, ([4, 3, 1, 0, 2], torch.tensor([1, 0.8, 0.6, 0, -1])))

    @pytest.mark.parametrize(
        ("size", "n_embd", "top_k"),
        [(5, 5, 5), (12, 4, 1), (30, 8, 29), (1, 3, 1), (40_001, 2, 9_200), (2, 9_001, 2)],
    )
    def test_similarity_is_the_cosine(self, lesson, draw, size, n_embd, top_k):
        """The dot product over both lengths; the top_k highest, in falling order."""
        query, vectors = draw.normal(n_embd), draw.normal(size, n_embd)
        got = lesson.nearest_by_cosine(query, vectors, top_k)
        expect_nearest(got, cosine_with_each(query, vectors), top_k)

    def test_length_does_not_matter(self, lesson, draw):
        """A cosine knows directions only: here rows are from 0.3 to 1000 long, and the
        query 100 times as long as before.
        """
        query, vectors = draw.normal(4), draw.normal(6, 4)
        scales = torch.tensor([[1.0], [1000.0], [0.3], [30.0], [0.5], [5.0]])
        got = lesson.nearest_by_cosine(100 * query, scales * vectors, 6)
        expect_nearest(got, cosine_with_each(query, vectors), 6)

    def test_five_rows_unless_asked_otherwise(self, lesson, draw):
        """top_k=5 is the default."""
        query, vectors = draw.normal(4), draw.normal(6, 4)
        got = lesson.nearest_by_cosine(query, vectors)
        expect_nearest(got, cosine_with_each(query, vectors), 5)

    def test_a_row_of_zeros_ranks_with_similarity_0(self, lesson):
        """It points nowhere: farther than any row on the query's side, nearer than any
        on the other. 0 / 0 would be nan, which ranks anywhere.
        """
        rows = torch.tensor([[-1.0, 1.0], [0.0, 0.0], [4.0, 3.0]])
        got = lesson.nearest_by_cosine(torch.tensor([2.0, 0.0]), rows, 3)
        expect_ranking(got, ([2, 1, 0], torch.tensor([0.8, 0, -0.7071])))


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
        got = lesson.analogy(0, 2, 1, ROYAL, 2)
        expect_ranking(got, ([3, 4], torch.tensor([0.92424, -0.59628])))

    def test_king_is_to_man_as_queen_is_to_woman(self, lesson):
        """man - king + queen = (1 - 0.6, 0.6, 0) = (0.4, 0.6, 0), of length 0.7211.
        Times woman, row 1: 0.6, cosine 0.8321. Times beggar, row 4: 0.
        """
        got = lesson.analogy(2, 0, 3, ROYAL, 2)
        expect_ranking(got, ([1, 4], torch.tensor([0.83205, 0.0])))

    @pytest.mark.parametrize("scales", [(9, 1, 0.2, 3, 1), (0.2, 50, 1, 7, 0.5)], ids=str)
    def test_length_of_a_row_does_not_matter(self, lesson, scales):
        """A frequent word may have a long row. Scaled to length 1 the rows are those
        of "king - man + woman" again, with queen (3) at 0.9242.
        """
        rows = ROYAL * torch.tensor(scales)[:, None]
        got = lesson.analogy(0, 2, 1, rows, 2)
        expect_ranking(got, ([3, 4], torch.tensor([0.92424, -0.59628])))

    @pytest.mark.parametrize(
        ("size", "n_embd", "top_k"),
        [(7, 3, 2), (9, 9, 6), (30, 8, 10), (40_001, 2, 9_200), (5, 9_001, 2)],
    )
    def test_nearest_rows_to_b_minus_a_plus_c(self, lesson, draw, size, n_embd, top_k):
        """The arithmetic is done on rows of length 1, and the answers are the rows
        nearest in cosine, in falling order, without a, b and c.
        """
        vectors = draw.normal(size, n_embd)
        a, b, c = draw.permutation(size)[:3].tolist()
        got = lesson.analogy(a, b, c, vectors, top_k)
        expect_nearest(got, analogy_cosines(a, b, c, vectors), top_k)

    def test_inputs_are_no_answers_even_if_nearest(self, lesson):
        """Rows 0, 2 and 3 point almost the same way, and so does 2 - 0 + 3; the answers
        are the two rows that point elsewhere: 2 - 0 + 3 is (0.985, 0.296), and rows 1 and
        4 are at the cosines 0.2876 and -0.7277.
        """
        rows = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [1.0, 0.2], [-1.0, 0.5]])
        expect_nearest(lesson.analogy(0, 2, 3, rows, 2), analogy_cosines(0, 2, 3, rows), 2)

    @pytest.mark.parametrize("inputs", [(0, 1, 2), (2, 3, 4)])
    def test_inputs_are_no_answers_even_if_the_others_are_opposite(self, lesson, inputs):
        """The inputs all point up, and so does b - a + c. The other two rows point down, so
        their cosine is -1, which no number of a row that is left out may reach.
        """
        rows = torch.tensor([[0.0, -1.0], [0.0, -2.0], [0.0, -3.0], [0.0, -4.0], [0.0, -5.0]])
        rows[[*inputs]] *= -1
        got = lesson.analogy(*inputs, rows, 2)
        expect_nearest(got, analogy_cosines(*inputs, rows), 2)

    def test_five_answers_unless_asked_otherwise(self, lesson, draw):
        """top_k=5 is the default."""
        vectors = draw.normal(11, 4)
        got = lesson.analogy(7, 2, 0, vectors)
        expect_nearest(got, analogy_cosines(7, 2, 0, vectors), 5)

    @pytest.mark.parametrize("inputs", [(1, 1, 4), (1, 4, 1), (4, 1, 1), (2, 2, 2)])
    def test_a_row_may_be_given_twice(self, lesson, draw, inputs):
        """ "1 is to 1 as 4 is to ?" asks for the neighbors of 4."""
        vectors = draw.normal(8, 4)
        got = lesson.analogy(*inputs, vectors, 5)
        expect_nearest(got, analogy_cosines(*inputs, vectors), 5)

    def test_the_twin_of_an_input_may_answer(self, lesson):
        """Row 5 has the numbers of row 1, woman, but is another word. (-0.4, 1, 0.8)
        by its length has the cosine 0.7454 with it.
        """
        got = lesson.analogy(0, 2, 1, torch.cat((ROYAL, ROYAL[1:2])), 3)
        expect_ranking(got, ([3, 5, 4], torch.tensor([0.92424, 0.74536, -0.59628])))


@exercise("parse_glove_line")
class TestParseGloveLine:
    def test_a_word_and_its_numbers(self, lesson):
        """The fields are separated by single spaces: the word, then C numbers."""
        got = lesson.parse_glove_line("king 0.5 -1.25 3", 3)
        expect.equal(got, ("king", torch.tensor([0.5, -1.25, 3.0])))

    @pytest.mark.parametrize("word", [". . .", "new york", "1 2 3", "route 66"])
    def test_a_word_may_hold_spaces(self, lesson, word):
        """Count from the end: the last two fields are the numbers, all before them is
        the word, whatever it looks like. The file of 840 billion tokens has words such
        as ". . .".
        """
        got = lesson.parse_glove_line(f"{word} 0.5 -1", 2)
        expect.equal(got, (word, torch.tensor([0.5, -1.0])))

    def test_a_non_breaking_space_does_not_separate(self, lesson):
        """One word of GloVe holds a U+00A0, which looks like a space and is none; its
        code is written \\xa0 here. `split()` would split there.
        """
        got = lesson.parse_glove_line("1\u00a01/2 0.5 -1", 2)
        expect.equal(got, ("1\u00a01/2", torch.tensor([0.5, -1.0])))

    @pytest.mark.parametrize("word", ['"', "#", "King", "Ελλάδα", "-0.25", "nan"])
    def test_the_word_comes_as_it_is(self, lesson, word):
        """No character has a special meaning, capitals stay, and a number may be a word."""
        got = lesson.parse_glove_line(f"{word} 0.5 0.5", 2)
        expect.equal(got, (word, torch.tensor([0.5, 0.5])))

    @pytest.mark.parametrize("n_embd", [1, 1_100])
    def test_values_of_any_width(self, lesson, draw, n_embd):
        """A float32 tensor (C,), in the order of the line."""
        values = draw.normal(n_embd)
        line = " ".join(["king", *(f"{value:.2f}" for value in values.tolist())])
        expect.close(lesson.parse_glove_line(line, n_embd), ("king", values))

    def test_every_digit_counts(self, lesson):
        """GloVe's files give five or six digits; 1e-3 is 0.001."""
        got = lesson.parse_glove_line("king 0.418012 -0.000037 1e-3", 3)
        want = torch.tensor([0.418012, -0.000037, 0.001])
        expect.close(got, ("king", want), tolerance=1e-7)

    @pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["/n", "/r/n"])
    def test_line_end_is_ignored(self, lesson, end):
        """Lines read from a file end in \\n, or in \\r\\n if it was written on Windows."""
        got = lesson.parse_glove_line(f"king 0.5 -1{end}", 2)
        expect.equal(got, ("king", torch.tensor([0.5, -1.0])))

    @pytest.mark.parametrize(
        ("line", "n_embd"), [("king", 1), ("king 0.5\n", 2), ("7 0.5", 3), (". . 0.5", 2)]
    )
    def test_too_few_numbers_are_refused(self, lesson, line, n_embd):
        """A short line is a broken file, or one of another width."""
        expect.rejects(lesson.parse_glove_line, ValueError, bad=(line, n_embd))

    @pytest.mark.parametrize("field", ["x1", "0,5"])
    def test_unreadable_numbers_are_refused(self, lesson, field):
        """What is no number must not become one."""
        expect.rejects(lesson.parse_glove_line, ValueError, bad=(f"king {field} 0.5", 2))
