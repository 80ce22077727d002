"""Lesson 2: attention cannot see order. Grades `exercises/permutation.py`."""

import math

import pytest
import torch
from torch import nn

from course.testing import exercise, expect, limit

SIZES = [(1, 1, 1), (4, 2, 3), (2, 7, 5)]
"""B sentences of T tokens with C features."""

MANY = [(9_001, 1, 2), (1, 2, 9_001)]
"""Many sentences, and many features."""


def averages(x, *weights, causal=False, tokens=None):
    """Token by token: exp of its query's scores with the keys that it sees, divided by their sum,
    times the values; in float64. Some tokens may be chosen."""
    x = x.double()
    projected = [torch.einsum("dc,btc->btd", one.double(), x) for one in weights]
    queries, keys, values = projected or (x, x, x)
    rows = []
    for t in range(x.shape[1]) if tokens is None else tokens:
        seen = slice(t + 1) if causal else slice(None)
        scores = (keys[:, seen] * queries[:, t, None]).sum(dim=2) / math.sqrt(x.shape[2])
        shares = torch.exp(scores - scores.amax(dim=1, keepdim=True).detach())[..., None]
        rows.append((shares * values[:, seen]).sum(dim=1) / shares.sum(dim=1))
    return torch.stack(rows, dim=1).float()


def gradients_of_averages(*inputs, upstream, causal=False):
    """What arrives at the inputs when `upstream` arrives at the averages, by autograd."""
    wide = [one.double().requires_grad_() for one in inputs]
    (averages(*wide, causal=causal) * upstream).sum().backward()
    return [one.grad.float() for one in wide]


LONG, MIDDLE, SOME = 1_030, 521, range(0, 1_030, 147)
"""Of so many tokens, the one in the middle, and those whose averages are compared."""


def a_long_sentence(draw):
    """Only the token in the middle has a 1 in feature 0, and the last one is zero."""
    x = torch.stack((torch.zeros(LONG), draw.normal(LONG)), dim=1)[None]
    x[0, MIDDLE, 0], x[0, -1, 1] = 1.0, 0.0
    return x


def expect_averages_of_a_long_sentence(got, want):
    """Compare what the last token gets of the one in the middle, then what some get of all."""
    __tracebackhide__ = True
    got = expect.shape(got, 1, LONG, 2)
    share = f"feature 0 of the last token, of {LONG}"
    expect.close(got[0, -1, :1], torch.tensor([1 / LONG]), what=share)
    expect.close(got[:, SOME], want, what="every 147th token")


# Layers for the exercises that take one. Their source is sent to where the student's code runs.


def running_sum(x):
    return x.cumsum(dim=1)


def minus(x):
    return -x


def attention_to_the_unlike(x):
    # not toy_attention itself, or it could be kept and called where that is to be written
    scores = -(x @ x.transpose(1, 2))
    return scores.softmax(dim=-1) @ x


def two_sums_of_features(x):
    total = x.cumsum(dim=1).sum(dim=-1, keepdim=True)
    return total.repeat(1, 1, 2)


def square(x):
    return x * x


class OneEntryMoves(nn.Module):
    """Adds something to a single entry of what it gets."""

    def __init__(self, place, step):
        super().__init__()
        self.place = tuple(place)
        self.step = step

    def forward(self, x):
        y = x.clone()
        y[self.place] += self.step
        return y


class Mixer(nn.Module):
    """A layer with parameters that tells its positions apart."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)

    def forward(self, x):
        return x @ self.weight + self.bias


@exercise("toy_attention")
class TestToyAttention:
    def test_two_tokens_by_hand(self, lesson):
        """C = 1. The first token has the scores 1 and 0, which makes
        e / (e + 1) = 0.7311 of itself; the second has 0 and 0: the mean, 1/2."""
        got = lesson.toy_attention(torch.tensor([[[1.0], [0.0]]]))
        expect.close(got, torch.tensor([[[0.7310586], [0.5]]]))

    def test_scores_are_divided_by_the_root_of_the_width(self, lesson):
        """C = 4, so √C = 2: the first token has the score 4 / 2 = 2 with itself
        and 0 with the second, which makes e² / (e² + 1) = 0.8808."""
        got = lesson.toy_attention(torch.tensor([[[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]]))
        expect.close(got, torch.tensor([[[0.8807971] * 4, [0.5] * 4]]))

    @pytest.mark.parametrize("b, t, c", SIZES)
    def test_every_token_averages_all(self, lesson, draw, b, t, c):
        """Row i of the result is Σ_j w_ij x_j, with w_ij = exp(s_ij) / Σ_k exp(s_ik)
        and s_ij = x_i · x_j / √C: weights over the keys, summing to one."""
        x = draw.normal(b, t, c)
        expect.close(lesson.toy_attention(x), averages(x))

    @limit(60)  # for code that goes through all pairs of tokens, number by number
    def test_last_token_of_many_averages_all(self, lesson, draw):
        """The last of 1030 tokens is zero, so all its scores are 0: it takes 1/1030 of every
        token, however far away. Only token 521 has a 1 in feature 0."""
        x = a_long_sentence(draw)
        want = averages(x, tokens=SOME)
        expect_averages_of_a_long_sentence(lesson.toy_attention(x), want)

    @pytest.mark.parametrize("b, t, c", MANY)
    def test_many_sentences_and_wide_tokens(self, lesson, draw, b, t, c):
        """The formula is the same for every B and C. The numbers are small, so that no token
        outweighs the other."""
        x = 0.1 * draw.normal(b, t, c)
        expect.close(lesson.toy_attention(x), averages(x))

    def test_large_scores(self, lesson):
        """exp(1024) is too large for any float, so what matters is how far a score is below the
        largest of its row. 32 sees 1024, 992, 0, -1024 and picks 32; 31 sees 992, 961, 0, -992
        and picks 32, too; 0 sees zeros: the mean, 31 / 4."""
        got = lesson.toy_attention(torch.tensor([[[32.0], [31.0], [0.0], [-32.0]]]))
        expect.close(got, torch.tensor([[[32.0], [32.0], [7.75], [-32.0]]]))

    def test_shuffled_tokens_give_shuffled_results(self, lesson, draw):
        """The average over all tokens doesn't depend on where they are: attention
        alone is blind to order."""
        x, perm = draw.normal(2, 6, 3), draw.permutation(6)
        expect.close(lesson.toy_attention(x[:, perm]), lesson.toy_attention(x)[:, perm])

    def test_gradient_goes_through_scores_and_values(self, lesson, draw):
        """x is query, key and value at once; its gradient comes on all three ways."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 4, 3)
        got = lesson.toy_attention.gradients(x, upstream=upstream)[0]
        expect.close(got, gradients_of_averages(x, upstream=upstream)[0], tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(2, 3, 4), draw.normal(2, 3, 4)
        expect.sees_changes(lesson.toy_attention, (before,), (after,), averages(after))


@exercise("inverse_permutation")
class TestInversePermutation:
    def test_four_in_a_circle(self, lesson):
        """Shuffled position 0 shows the token from position 1, so token 1 is found at
        position 0: entry 1 of the inverse is 0. And so on around."""
        got = lesson.inverse_permutation(torch.tensor([1, 2, 3, 0]))
        expect.equal(got, torch.tensor([3, 0, 1, 2]))

    def test_five_by_hand(self, lesson):
        """Where does (3, 0, 4, 1, 2) hold a 0? At 1. A 1? At 3. A 2? At 4.
        A 3? At 0. A 4? At 2."""
        got = lesson.inverse_permutation(torch.tensor([3, 0, 4, 1, 2]))
        expect.equal(got, torch.tensor([1, 3, 4, 0, 2]))

    def test_undoes_the_shuffling(self, lesson, draw):
        """Shuffle, then pick by the inverse, and everything is back where it was:
        entry perm[t] of the inverse is t."""
        for length in 8, 8, 2_100:
            perm = draw.permutation(length)
            positions = torch.empty_like(perm)
            positions[perm] = torch.arange(length)
            expect.equal(lesson.inverse_permutation(perm), positions)

    def test_a_single_token_stays(self, lesson):
        """There is one permutation of one token, and it undoes itself."""
        expect.equal(lesson.inverse_permutation(torch.tensor([0])), torch.tensor([0]))

    @pytest.mark.parametrize("bad", [[3, 0, 0, 3], [4, 3, 2, 1]], ids=["twice", "from 1"])
    def test_other_than_a_permutation_is_a_value_error(self, lesson, bad):
        """A permutation of four holds each of 0, 1, 2, 3 exactly once; without
        that there is nothing to undo."""
        expect.rejects(lesson.inverse_permutation, ValueError, bad=(torch.tensor(bad),))


@exercise("equivariance_gap")
class TestEquivarianceGap:
    @pytest.mark.parametrize("sign", [1, -1])
    def test_running_sum_by_hand(self, lesson, sign):
        """Running sums of (1, 2, 4) are (1, 3, 7), shuffled to (7, 1, 3).
        Shuffled first, (4, 1, 2) gives (4, 5, 7). The gaps are 3, 4 and 4,
        and the same for (-1, -2, -4)."""
        layer, perm = lesson.prop(running_sum), torch.tensor([2, 0, 1])
        x = sign * torch.tensor([[[1.0], [2.0], [4.0]]])
        expect.close(lesson.equivariance_gap(layer, x, perm), 4.0)

    def test_token_by_token_has_no_gap(self, lesson, draw):
        """A layer that looks at one token at a time does not notice the others
        changing places: the same numbers, so exactly 0."""
        layer, x, perm = lesson.prop(minus), draw.normal(2, 6, 3), draw.permutation(6)
        expect.equal(lesson.equivariance_gap(layer, x, perm), 0.0)

    def test_attention_has_no_gap_but_rounding(self, lesson, draw):
        """Sums in another order round differently, about 1e-7; no more."""
        layer = lesson.prop(attention_to_the_unlike)
        x, perm = draw.normal(2, 6, 3), draw.permutation(6)
        expect.close(lesson.equivariance_gap(layer, x, perm), 0.0, tolerance=1e-5)

    def test_running_sum(self, lesson, draw):
        """Both results are (B, T, C), and the gap is the largest of all their
        absolute differences."""
        layer, x, perm = lesson.prop(running_sum), draw.normal(3, 5, 2), draw.permutation(5)
        gap = (running_sum(x)[:, perm] - running_sum(x[:, perm])).abs().max().item()
        expect.close(lesson.equivariance_gap(layer, x, perm), gap, tolerance=1e-5)

    @pytest.mark.parametrize(
        "sizes, place, step",
        [
            ((3, 4, 5), (0, 1, 0), 2.5),
            ((3, 4, 5), (1, 2, 3), 0.00012345),
            ((9_001, 2, 1), (9_000, 1, 0), 2.5),
            ((1, 4_300, 1), (0, 4_280, 0), 2.5),
            ((1, 2, 9_001), (0, 1, 9_000), 2.5),
        ],
        ids=str,
    )
    def test_one_entry_is_enough(self, lesson, draw, sizes, place, step):
        """The layer adds to one entry of one sentence. The gap is the largest
        difference, so this entry alone decides, wherever it is and however small."""
        layer, x = lesson.prop(OneEntryMoves, place, step), draw.normal(*sizes)
        got = lesson.equivariance_gap(layer, x, torch.arange(sizes[1]).roll(1))
        expect.close(got, step, tolerance=1e-5)

    def test_a_single_token_cannot_be_shuffled(self, lesson):
        """If every token stays, there is nothing to notice."""
        layer, x = lesson.prop(running_sum), torch.tensor([[[1.0, 2.0]]])
        expect.equal(lesson.equivariance_gap(layer, x, torch.tensor([0])), 0.0)

    def test_another_width_comes_out(self, lesson, draw):
        """A layer may give (B, T, 2) for (B, T, C); tokens still are axis 1."""
        layer, x = lesson.prop(two_sums_of_features), draw.normal(3, 5, 4)
        perm = draw.permutation(5)
        gap = two_sums_of_features(x)[:, perm] - two_sums_of_features(x[:, perm])
        gap = gap.abs().max().item()
        expect.close(lesson.equivariance_gap(layer, x, perm), gap, tolerance=1e-5)

    def test_two_layers_stay_apart(self, lesson, draw):
        """Nothing is kept from one call to the next."""
        x, perm = draw.normal(2, 5, 3), draw.permutation(5)
        gap = (running_sum(x)[:, perm] - running_sum(x[:, perm])).abs().max().item()
        expect.equal(lesson.equivariance_gap(lesson.prop(minus), x, perm), 0.0)
        got = lesson.equivariance_gap(lesson.prop(running_sum), x, perm)
        expect.close(got, gap, tolerance=1e-5)

    @pytest.mark.parametrize("training", [True, False])
    def test_module_stays_as_it_is(self, lesson, draw, training):
        """Measuring a layer in the middle of its training doesn't end the training, and
        measuring it afterwards doesn't start it again."""
        weight, bias = draw.normal(3, 3), draw.normal(5, 3)
        layer, perm = lesson.prop(Mixer, weight, bias), draw.permutation(5)
        layer.train(training)
        gap = (bias[perm] - bias).abs().max().item()
        got = lesson.equivariance_gap(layer, draw.normal(2, 5, 3), perm)
        expect.close(got, gap, tolerance=1e-4)
        mode = "training" if training else "evaluation"
        expect.that(layer.training == training, f"the layer is no longer in {mode} mode")


@exercise("bag_vector")
class TestBagVector:
    def test_mean_of_what_the_layer_gives(self, lesson):
        """The layer turns the tokens (1, 2), (3, 6) into (-1, -2), (-3, -6);
        their mean is (-2, -4)."""
        x = torch.tensor([[[1.0, 2.0], [3.0, 6.0]]])
        expect.close(lesson.bag_vector(lesson.prop(minus), x), torch.tensor([[-2.0, -4.0]]))

    def test_layer_comes_before_the_mean(self, lesson):
        """The squares of 1 and 3 are 1 and 9, on average 5; the square of the
        average 2 would be 4."""
        x = torch.tensor([[[1.0], [3.0]]])
        expect.close(lesson.bag_vector(lesson.prop(square), x), torch.tensor([[5.0]]))

    def test_a_token_of_zeros_counts(self, lesson):
        """(0, 0) and (2, 4) have the mean (1, 2): zeros are numbers, too."""
        x = torch.tensor([[[0.0, 0.0], [2.0, 4.0]]])
        expect.close(lesson.bag_vector(lesson.prop(minus), x), torch.tensor([[-1.0, -2.0]]))

    @pytest.mark.parametrize("b, t, c", [*SIZES, *MANY, (1, 9_001, 2)])
    def test_a_vector_for_every_sentence(self, lesson, draw, b, t, c):
        """(B, T, C) gives (B, C): the mean runs over all tokens, axis 1."""
        x = draw.normal(b, t, c)
        total = running_sum(x.double()).sum(dim=1)
        got = lesson.bag_vector(lesson.prop(running_sum), x)
        expect.close(got, (total / t).float(), tolerance=1e-4)

    def test_blind_to_order_with_a_blind_layer(self, lesson, draw):
        """ "dog bites man" and "man bites dog" hold the same words. If the layer
        cannot see the order, nothing is left in the mean that could."""
        x = draw.normal(2, 3, 5)
        layer = lesson.prop(attention_to_the_unlike)
        dog_bites_man = lesson.bag_vector(layer, x)
        expect.close(lesson.bag_vector(layer, x[:, [2, 1, 0]]), dog_bites_man)
        expect.close(dog_bites_man, attention_to_the_unlike(x).mean(dim=1))

    def test_module_as_layer(self, lesson, draw):
        """A layer with weights is called like any other, x W + b here, and stays in training
        mode if it was."""
        weight, bias, x = draw.normal(3, 3), draw.normal(5, 3), draw.normal(2, 5, 3)
        layer = lesson.prop(Mixer, weight, bias)
        want = (x.double() @ weight.double() + bias.double()).sum(dim=1) / 5
        expect.close(lesson.bag_vector(layer, x), want.float())
        expect.that(layer.training, "the layer is no longer in training mode")

    def test_gradient_is_shared_by_the_tokens(self, lesson, draw):
        """The mean of squares: each of the T tokens gets 2 x / T of what arrives
        at its sentence."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 3)
        got = lesson.bag_vector.gradients(lesson.prop(square), x, upstream=upstream)[1]
        expect.close(got, 2 * x / 4 * upstream[:, None, :])


@exercise("projected_attention")
class TestProjectedAttention:
    def test_two_tokens_by_hand(self, lesson):
        """C = 1, with the weights 2, 1 and 3. The first token asks 2 of the keys 1 and 0: scores 2
        and 0, weights 0.8808 and 0.1192, and the values 3 and 0 make 2.6424. The second one
        asks 0, which makes the mean, 3/2."""
        x, w_q, w_k, w_v = (torch.tensor(n) for n in ([[[1.0], [0.0]]], [[2.0]], [[1.0]], [[3.0]]))
        got = lesson.projected_attention(x, w_q, w_k, w_v)
        expect.close(got, torch.tensor([[[2.6423912], [1.5]]]))

    def test_row_of_a_weight_makes_a_feature(self, lesson):
        """Queries of 0 give both tokens the same weight. The first row of w_v, (0, 1), picks
        feature 1 of (1, 2) and (3, 6) into feature 0: the values (2, 0) and (6, 0), on average
        (4, 0)."""
        x, w_v = torch.tensor([[[1.0, 2.0], [3.0, 6.0]]]), torch.tensor([[0.0, 1.0], [0.0, 0.0]])
        got = lesson.projected_attention(x, torch.zeros(2, 2), torch.eye(2), w_v)
        expect.close(got, torch.tensor([[[4.0, 0.0], [4.0, 0.0]]]))

    def test_queries_ask_and_keys_answer(self, lesson):
        """Feature 0 asks, feature 1 answers. The first token asks √2 ln 3; the keys are 0 and 1,
        the scores over √2 are 0 and ln 3, the weights 1/4 and 3/4. The second asks 0: halves."""
        loud = math.sqrt(2) * math.log(3)
        x = torch.tensor([[[loud, 0.0], [0.0, 1.0]]])
        w_q, w_k = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.tensor([[0.0, 1.0], [0.0, 0.0]])
        got = lesson.projected_attention(x, w_q, w_k, torch.eye(2))
        expect.close(got, torch.tensor([[[loud / 4, 3 / 4], [loud / 2, 1 / 2]]]))

    @pytest.mark.parametrize("b, t, c", SIZES)
    def test_every_query_averages_all_values(self, lesson, draw, b, t, c):
        """Row i of the result is Σ_j w_ij v_j, with w_ij = exp(s_ij) / Σ_k exp(s_ik)
        and s_ij = q_i · k_j / √C: weights over the keys, summing to one."""
        x, weights = draw.normal(b, t, c), draw.normal(3, c, c)
        want = averages(x, *weights)
        expect.close(lesson.projected_attention(x, *weights), want, tolerance=1e-5)

    @limit(60)  # for code that goes through all pairs of tokens, number by number
    def test_last_token_of_many_averages_all(self, lesson, draw):
        """The last of 1030 tokens is zero, so its query is, too: it takes 1/1030 of every
        value, however far away. Only token 521 has a 1 in feature 0."""
        x, weights = a_long_sentence(draw), (*draw.normal(2, 2, 2), torch.eye(2))
        want = averages(x, *weights, tokens=SOME)
        expect_averages_of_a_long_sentence(lesson.projected_attention(x, *weights), want)

    @pytest.mark.parametrize("b, t, c", [(9_001, 1, 2), (1, 2, 300)])
    def test_many_sentences_and_wide_tokens(self, lesson, draw, b, t, c):
        """The formula is the same for every B and C. The weights are small, so that no token
        outweighs the other."""
        x, weights = draw.normal(b, t, c), draw.normal(3, c, 1) * draw.normal(3, 1, c) / 20
        expect.close(lesson.projected_attention(x, *weights), averages(x, *weights), tolerance=1e-4)

    def test_identities_give_toy_attention_for_large_scores_too(self, lesson):
        """A token that asks with itself, answers with itself and hands itself over. Scores of
        ±1024: 32 and 31 pick 32, 0 sees zeros and takes the mean, 31 / 4."""
        x, same = torch.tensor([[[32.0], [31.0], [0.0], [-32.0]]]), torch.eye(1)
        want = torch.tensor([[[32.0], [32.0], [7.75], [-32.0]]])
        expect.close(lesson.projected_attention(x, same, same, same), want)

    def test_shuffled_tokens_give_shuffled_results(self, lesson, draw):
        """Weights act on each token by itself, so no weights let attention see order."""
        x, perm, weights = draw.normal(2, 6, 3), draw.permutation(6), draw.normal(3, 3, 3)
        got = lesson.projected_attention(x[:, perm], *weights)
        expect.close(got, lesson.projected_attention(x, *weights)[:, perm], tolerance=1e-5)

    def test_gradient_reaches_tokens_and_weights(self, lesson, draw):
        """x enters as query, key and value; each weight enters once. All four learn."""
        x, upstream, weights = draw.normal(2, 4, 3), draw.normal(2, 4, 3), draw.normal(3, 3, 3)
        got = lesson.projected_attention.gradients(x, *weights, upstream=upstream)
        want = gradients_of_averages(x, *weights, upstream=upstream)
        for place, name in enumerate(("x", "w_q", "w_k", "w_v")):
            what = f"the gradient of {name}"
            expect.close(got[place], want[place], tolerance=1e-4, what=what)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensors: training changes weights."""
        before, after = ((draw.normal(2, 3, 4), *draw.normal(3, 4, 4)) for _ in range(2))
        expect.sees_changes(lesson.projected_attention, before, after, averages(*after))


@exercise("causal_toy_attention")
class TestCausalToyAttention:
    def test_three_tokens_by_hand(self, lesson):
        """C = 1. 1 sees itself: 1. The first 0 has the scores 0 and 0: the mean
        of 1 and 0. The second has 0, 0, 0: the mean of 1, 0 and 0."""
        got = lesson.causal_toy_attention(torch.tensor([[[1.0], [0.0], [0.0]]]))
        expect.close(got, torch.tensor([[[1.0], [1 / 2], [1 / 3]]]))

    def test_scores_are_divided_by_the_root_of_the_width(self, lesson):
        """C = 4, so √C = 2: the second token has the score 4 / 2 = 2 with itself
        and 0 with the first, which makes e² / (e² + 1) = 0.8808."""
        x = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]])
        expect.close(lesson.causal_toy_attention(x), torch.tensor([[[0.0] * 4, [0.8807971] * 4]]))

    def test_loud_later_token_stays_hidden(self, lesson):
        """The first token scores 1 with itself and 1000 with the second, which it
        must not see at all, however high the score."""
        x = torch.tensor([[[1.0], [1000.0]]])
        expect.close(lesson.causal_toy_attention(x)[:, 0], x[:, 0])

    @pytest.mark.parametrize("b, t, c", SIZES)
    def test_every_token_averages_those_up_to_itself(self, lesson, draw, b, t, c):
        """Row i of the result is Σ_{j≤i} w_ij x_j, with w_ij = exp(s_ij) / Σ_{k≤i}
        exp(s_ik): the weights of what is seen sum to one."""
        x = draw.normal(b, t, c)
        expect.close(lesson.causal_toy_attention(x), averages(x, causal=True))

    @limit(60)  # for code that goes through all pairs of tokens, number by number
    def test_last_token_of_many_averages_all(self, lesson, draw):
        """The last of 1030 tokens is zero, so all its scores are 0: it takes 1/1030 of every
        token, however long ago. Only token 521 has a 1 in feature 0."""
        x = a_long_sentence(draw)
        want = averages(x, causal=True, tokens=SOME)
        expect_averages_of_a_long_sentence(lesson.causal_toy_attention(x), want)

    @pytest.mark.parametrize("b, t, c", MANY)
    def test_many_sentences_and_wide_tokens(self, lesson, draw, b, t, c):
        """The formula is the same for every B and C. The numbers are small, so that no token
        outweighs the other."""
        x = 0.1 * draw.normal(b, t, c)
        expect.close(lesson.causal_toy_attention(x), averages(x, causal=True))

    def test_large_scores(self, lesson):
        """31 sees itself. 32 has the scores 992 and 1024 and picks itself. 0 has
        zeros: the mean of 31, 32 and 0. -32 has -992, -1024, 0 and 1024: itself."""
        got = lesson.causal_toy_attention(torch.tensor([[[31.0], [32.0], [0.0], [-32.0]]]))
        expect.close(got, torch.tensor([[[31.0], [32.0], [21.0], [-32.0]]]))

    def test_gradient_goes_through_scores_and_values(self, lesson, draw):
        """x is query, key and value at once; its gradient comes on all three ways,
        and none from tokens that do not see it."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 4, 3)
        got = lesson.causal_toy_attention.gradients(x, upstream=upstream)[0]
        want = gradients_of_averages(x, upstream=upstream, causal=True)[0]
        expect.close(got, want, tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(2, 3, 4), draw.normal(2, 3, 4)
        want = averages(after, causal=True)
        expect.sees_changes(lesson.causal_toy_attention, (before,), (after,), want)
