"""Lesson 2: attention cannot see order. Grades `exercises/permutation.py`."""

import math

import pytest
import torch
from torch import nn

from course.testing import corner, exercise, expect
from course.testing.show import show_dtype

SIZES = [(1, 1, 1), (4, 2, 3), (2, 7, 5)]
"""B sentences of T tokens with C features."""

OTHER_FLOATS = [torch.float64, torch.bfloat16]
"""The dtypes next to float32, which most tests use."""


def averages(x, causal=False):
    """Token by token: exp of the scores, divided by their sum, times the tokens; in float64."""
    sentences = []
    for tokens in x.double():
        rows = []
        for t, token in enumerate(tokens):
            seen = tokens[: t + 1] if causal else tokens
            scores = torch.stack([(token * key).sum() for key in seen]) / math.sqrt(len(token))
            shares = torch.exp(scores - scores.max().detach())
            rows.append((shares[:, None] * seen).sum(dim=0) / shares.sum())
        sentences.append(torch.stack(rows))
    return torch.stack(sentences).to(x.dtype)


def gradient_of_averages(x, upstream, causal=False):
    """What arrives at x when `upstream` arrives at the averages, by autograd in float64."""
    wide = x.double().requires_grad_()
    averages(wide, causal).backward(upstream.double())
    return wide.grad.to(x.dtype)


def averages_of_values(x, w_q, w_k, w_v):
    """Query by query: exp of its scores with all keys, divided by their sum, times the values."""
    x, w_q, w_k, w_v = (one.double() for one in (x, w_q, w_k, w_v))
    sentences = []
    for tokens in x:
        queries, keys, values = ([(w * t).sum(dim=1) for t in tokens] for w in (w_q, w_k, w_v))
        rows = []
        for query in queries:
            scores = torch.stack([(query * key).sum() for key in keys]) / math.sqrt(len(query))
            shares = torch.exp(scores - scores.max().detach())
            rows.append((shares[:, None] * torch.stack(values)).sum(dim=0) / shares.sum())
        sentences.append(torch.stack(rows))
    return torch.stack(sentences)


# Layers for the exercises that take one. Their source is sent to where the student's code runs.


def running_sum(x):
    return x.cumsum(dim=1)


def minus(x):
    return -x


def attention_to_the_unlike(x):
    # not toy_attention itself, or it could be kept and called where that is to be written
    scores = -(x @ x.transpose(1, 2))
    return scores.softmax(dim=-1) @ x


def token_by_token(x):
    return torch.tanh(x) + x.square()


def two_sums_of_features(x):
    total = x.cumsum(dim=1).sum(dim=-1, keepdim=True)
    return total.repeat(1, 1, 2)


def a_little_of_the_position(x):
    return x + 1e-9 * torch.arange(x.shape[1], dtype=x.dtype)[:, None]


def square(x):
    return x * x


class OneEntryMoves(nn.Module):
    """Adds 2.5 to a single entry of what it gets."""

    def __init__(self, place):
        super().__init__()
        self.place = tuple(place)

    def forward(self, x):
        y = x.clone()
        y[self.place] += 2.5
        return y


class Mixer(nn.Module):
    """A layer with parameters that tells its positions apart, and has a dropout of zero."""

    def __init__(self, weight, bias):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.bias = nn.Parameter(bias)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        return self.dropout(x @ self.weight + self.bias)


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

    def test_shuffled_tokens_give_shuffled_results(self, lesson, draw):
        """The average over all tokens doesn't depend on where they are: attention
        alone is blind to order."""
        x, perm = draw.normal(2, 6, 3), draw.permutation(6)
        expect.close(lesson.toy_attention(x[:, perm]), lesson.toy_attention(x)[:, perm])

    def test_sentences_do_not_mix(self, lesson, draw):
        """Each sentence of a batch attends to its own tokens only."""
        x = draw.normal(3, 4, 5)
        alone = lesson.toy_attention(x[1:2])
        expect.close(lesson.toy_attention(x)[1:2], alone)

    def test_gradient_goes_through_scores_and_values(self, lesson, draw):
        """x is query, key and value at once; its gradient comes on all three ways."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 4, 3)
        got = lesson.toy_attention.gradients(x, upstream=upstream)[0]
        expect.close(got, gradient_of_averages(x, upstream), tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(2, 3, 4), draw.normal(2, 3, 4)
        expect.sees_changes(lesson.toy_attention, (before,), (after,), averages(after))


@exercise("toy_attention")
@corner
class TestToyAttentionCorners:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=show_dtype)
    def test_large_scores(self, lesson, dtype):
        """exp(1024) is too large for any float, so what matters is how far a score lies
        below the largest. 32 sees 1024, 992, 0, -1024 and picks 32; 31 sees 992, 961, 0,
        -992 and picks 32, too; 0 sees zeros: the mean, 31 / 4."""
        x = torch.tensor([[[32.0], [31.0], [0.0], [-32.0]]], dtype=dtype)
        want = torch.tensor([[[32.0], [32.0], [7.75], [-32.0]]], dtype=dtype)
        expect.close(lesson.toy_attention(x), want)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_x(self, lesson, draw, dtype):
        """What comes in as bfloat16 or float64 goes out as such."""
        x = draw.normal(2, 5, 3).clamp(-1.5, 1.5).to(dtype)
        expect.close(lesson.toy_attention(x), averages(x))

    def test_transposed_argument(self, lesson, draw):
        """A transposed tensor has its numbers in another order in memory;
        what counts is the order of its indices."""
        x = draw.normal(2, 3, 6).transpose(1, 2)
        expect.close(lesson.toy_attention(x), averages(x))

    def test_result_is_where_x_is(self, lesson, draw):
        """For tokens on the GPU everything has to be made on the GPU."""
        x = draw.normal(2, 4, 3)
        expect.follows_device(lesson.toy_attention, x)


@exercise("inverse_permutation")
class TestInversePermutation:
    def test_four_in_a_circle(self, lesson):
        """Shuffled place 0 shows the token from place 1, so token 1 is found at
        place 0: entry 1 of the inverse is 0. And so on around."""
        got = lesson.inverse_permutation(torch.tensor([1, 2, 3, 0]))
        expect.equal(got, torch.tensor([3, 0, 1, 2]))

    def test_five_by_hand(self, lesson):
        """Where does (3, 0, 4, 1, 2) hold a 0? At 1. A 1? At 3. A 2? At 4.
        A 3? At 0. A 4? At 2."""
        got = lesson.inverse_permutation(torch.tensor([3, 0, 4, 1, 2]))
        expect.equal(got, torch.tensor([1, 3, 4, 0, 2]))

    @pytest.mark.parametrize("length", [8, 300])
    def test_undoes_the_shuffling(self, lesson, draw, length):
        """Shuffle, then pick by the inverse, and everything is back in its place;
        the other way round, too."""
        perm = draw.permutation(length)
        places = torch.empty_like(perm)
        for place, token in enumerate(perm.tolist()):
            places[token] = place
        expect.equal(lesson.inverse_permutation(perm), places)

    @pytest.mark.parametrize("length", [1, 4])
    def test_nothing_shuffled(self, lesson, length):
        """What leaves everything in its place is its own inverse."""
        expect.equal(lesson.inverse_permutation(torch.arange(length)), torch.arange(length))

    def test_every_order_of_three(self, lesson):
        """There are six; the two that turn in a circle undo each other, the other
        four undo themselves."""
        orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]]
        inverses = [*orders[:4], orders[5], orders[4]]
        for order, inverse in zip(orders, inverses, strict=True):
            expect.equal(lesson.inverse_permutation(torch.tensor(order)), torch.tensor(inverse))


@exercise("inverse_permutation")
@corner
class TestInversePermutationCorners:
    def test_every_second_entry_of_a_tensor(self, lesson, draw):
        """A slice with steps is not contiguous in memory; what counts are its
        entries."""
        perm = draw.permutation(7)
        places = torch.tensor([perm.tolist().index(token) for token in range(7)])
        spread = perm.repeat_interleave(2)[::2]
        expect.equal(lesson.inverse_permutation(spread), places)

    @pytest.mark.parametrize(
        "bad, offenders",
        [
            ([0, 2, 2, 1], (2, 3)),
            ([1, 1, 1, 1], (1, 0, 2, 3)),
            ([0, 1, 2, 4], (4, 3)),
            ([0, 1, 2, -1], (-1, 3)),
            ([4, 3, 2, 1], (4, 0)),
            ([3, 0, 0, 3], (0, 3, 1, 2)),
        ],
        ids=["two 2s", "four 1s", "a 4", "a -1", "from 1 to 4", "two 0s and two 3s"],
    )
    def test_other_than_a_permutation_is_a_value_error(self, lesson, bad, offenders):
        """A permutation of four holds each of 0, 1, 2, 3 exactly once; without
        that there is nothing to undo. The message shows what is in the way."""
        expect.rejects(
            lesson.inverse_permutation,
            ValueError,
            bad=(torch.tensor(bad),),
            mentions=(*offenders, str(bad)[1:-1]),
        )


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

    @pytest.mark.parametrize("layer", [minus, token_by_token], ids=lambda layer: layer.__name__)
    def test_token_by_token_has_no_gap(self, lesson, draw, layer):
        """A layer that looks at one token at a time does not notice the others
        changing places: the same numbers, so exactly 0.0."""
        layer, x, perm = lesson.prop(layer), draw.normal(2, 6, 3), draw.permutation(6)
        expect.equal(lesson.equivariance_gap(layer, x, perm), 0.0)

    def test_attention_has_no_gap_but_rounding(self, lesson, draw):
        """Sums in another order round differently, about 1e-7; no more."""
        layer = lesson.prop(attention_to_the_unlike)
        x, perm = draw.normal(2, 6, 3), draw.permutation(6)
        expect.close(lesson.equivariance_gap(layer, x, perm), 0.0, tolerance=1e-5)

    @pytest.mark.parametrize("b, t, c", [(3, 5, 2), (2, 7, 4)])
    def test_running_sum(self, lesson, draw, b, t, c):
        """Both results are (B, T, C), and the gap is the largest of all their
        absolute differences."""
        layer, x, perm = lesson.prop(running_sum), draw.normal(b, t, c), draw.permutation(t)
        gap = (running_sum(x)[:, perm] - running_sum(x[:, perm])).abs().max().item()
        expect.close(lesson.equivariance_gap(layer, x, perm), gap, tolerance=1e-5)

    @pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 2), (2, 4, 1)])
    def test_one_entry_is_enough(self, lesson, draw, place):
        """The layer adds 2.5 to one entry of one sentence. The gap is the largest
        difference, so this entry alone decides."""
        layer, x = lesson.prop(OneEntryMoves, place), draw.normal(3, 5, 4)
        got = lesson.equivariance_gap(layer, x, torch.tensor([1, 2, 3, 4, 0]))
        expect.close(got, 2.5, tolerance=1e-5)

    def test_nothing_shuffled_no_gap(self, lesson, draw):
        """If every token stays, there is nothing to notice."""
        layer, x = lesson.prop(running_sum), draw.normal(2, 5, 3)
        expect.equal(lesson.equivariance_gap(layer, x, torch.arange(5)), 0.0)

    def test_another_width_comes_out(self, lesson, draw):
        """A layer may give (B, T, 2) for (B, T, C); tokens still are axis 1."""
        layer, x, perm = (
            lesson.prop(two_sums_of_features),
            draw.normal(3, 5, 4),
            draw.permutation(5),
        )
        gap = (
            (two_sums_of_features(x)[:, perm] - two_sums_of_features(x[:, perm])).abs().max().item()
        )
        expect.close(lesson.equivariance_gap(layer, x, perm), gap, tolerance=1e-5)

    def test_two_layers_stay_apart(self, lesson, draw):
        """Nothing is kept from one call to the next."""
        x, perm = draw.normal(2, 5, 3), draw.permutation(5)
        gap = (running_sum(x)[:, perm] - running_sum(x[:, perm])).abs().max().item()
        expect.equal(lesson.equivariance_gap(lesson.prop(minus), x, perm), 0.0)
        got = lesson.equivariance_gap(lesson.prop(running_sum), x, perm)
        expect.close(got, gap, tolerance=1e-5)


@exercise("equivariance_gap")
@corner
class TestEquivarianceGapCorners:
    def test_a_billionth_shows_in_float64(self, lesson, draw):
        """The layer adds 1e-9 · position, and the token from place 4 comes to
        place 0: a gap of 4e-9, which float32 or a tolerance would swallow."""
        layer, x = lesson.prop(a_little_of_the_position), draw.normal(2, 5, 3, dtype=torch.float64)
        got = lesson.equivariance_gap(layer, x, torch.tensor([4, 0, 2, 1, 3]))
        expect.close(got, 4e-9, tolerance=1e-14)

    def test_bfloat16(self, lesson):
        """As above: gaps of 3, 4 and 4, all exact in bfloat16."""
        layer, x = lesson.prop(running_sum), torch.tensor([[[1.0], [2.0], [4.0]]])
        got = lesson.equivariance_gap(layer, x.bfloat16(), torch.tensor([2, 0, 1]))
        expect.close(got, 4.0)

    @pytest.mark.parametrize("training", [True, False])
    def test_module_keeps_its_mode(self, lesson, draw, training):
        """Whoever measures a layer in the middle of training wants to go on
        training, and after an evaluation nothing should start to train."""
        weight, bias = draw.normal(3, 3), draw.normal(5, 3)
        layer = lesson.prop(Mixer, weight, bias)
        layer.train(training)
        x, perm = draw.normal(2, 5, 3), draw.permutation(5)
        gap = (bias[perm] - bias).abs().max().item()
        expect.close(lesson.equivariance_gap(layer, x, perm), gap, tolerance=1e-4)
        mode = "training" if training else "evaluation"
        expect.that(layer.training == training, f"the layer is no longer in {mode} mode")

    def test_parameters_stay_as_they_are(self, lesson, draw):
        """Measuring changes nothing: not the numbers, not the dtype, not what
        is trained."""
        weight, bias = draw.normal(3, 3), draw.normal(5, 3)
        layer = lesson.prop(Mixer, weight, bias)
        gap = lesson.equivariance_gap(layer, draw.normal(2, 5, 3), draw.permutation(5))
        expect.that(type(gap) is float, "the gap is not a Python float")
        expect.equal(list(layer.parameters.values()), [weight, bias])
        expect.equal(layer.trainable, ["weight", "bias"])


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

    @pytest.mark.parametrize("b, t, c", SIZES)
    def test_a_vector_for_every_sentence(self, lesson, draw, b, t, c):
        """(B, T, C) gives (B, C): the mean runs over the tokens, axis 1."""
        x = draw.normal(b, t, c)
        total = sum(running_sum(x.double())[:, i] for i in range(t))
        expect.close(lesson.bag_vector(lesson.prop(running_sum), x), (total / t).float())

    def test_blind_to_order_with_a_blind_layer(self, lesson, draw):
        """ "dog bites man" and "man bites dog" hold the same words. If the layer
        cannot see the order, nothing is left in the mean that could."""
        x = draw.normal(2, 3, 5)
        layer = lesson.prop(attention_to_the_unlike)
        dog_bites_man = lesson.bag_vector(layer, x)
        expect.close(lesson.bag_vector(layer, x[:, [2, 1, 0]]), dog_bites_man)
        expect.close(dog_bites_man, attention_to_the_unlike(x).mean(dim=1))

    def test_order_shows_if_the_layer_sees_it(self, lesson):
        """Running sums of (1, 2, 4) are (1, 3, 7), on average 11 / 3; of
        (4, 2, 1) they are (4, 6, 7), on average 17 / 3."""
        x = torch.tensor([[[1.0], [2.0], [4.0]], [[4.0], [2.0], [1.0]]])
        got = lesson.bag_vector(lesson.prop(running_sum), x)
        expect.close(got, torch.tensor([[11 / 3], [17 / 3]]))

    def test_module_as_layer(self, lesson, draw):
        """A layer with weights is called like any other: x W + b here."""
        weight, bias, x = draw.normal(3, 3), draw.normal(5, 3), draw.normal(2, 5, 3)
        got = lesson.bag_vector(lesson.prop(Mixer, weight, bias), x)
        want = (x.double() @ weight.double() + bias.double()).sum(dim=1) / 5
        expect.close(got, want.float())

    def test_gradient_is_shared_by_the_tokens(self, lesson, draw):
        """The mean of squares: each of the T tokens gets 2 x / T of what arrives
        at its sentence."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 3)
        got = lesson.bag_vector.gradients(lesson.prop(square), x, upstream=upstream)[1]
        expect.close(got, 2 * x / 4 * upstream[:, None, :])


@exercise("bag_vector")
@corner
class TestBagVectorCorners:
    @pytest.mark.parametrize("training", [True, False])
    def test_module_keeps_its_mode(self, lesson, draw, training):
        """No function changes its arguments: neither their numbers nor their mode."""
        weight, x = draw.normal(3, 3), draw.normal(2, 5, 3)
        layer = lesson.prop(Mixer, weight, draw.normal(5, 3))
        layer.train(training)
        got = lesson.bag_vector(layer, x)
        expect.that(
            isinstance(got, torch.Tensor) and got.shape == (2, 3), "the result is not (B, C)"
        )
        expect.that(layer.training == training, "the layer is no longer in the mode it was in")

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_x(self, lesson, draw, dtype):
        """What comes in as bfloat16 or float64 goes out as such."""
        x = draw.normal(2, 4, 3, dtype=dtype)
        want = (-x.double().sum(dim=1) / 4).to(dtype)
        expect.close(lesson.bag_vector(lesson.prop(minus), x), want)

    def test_transposed_argument(self, lesson, draw):
        """A transposed tensor has its numbers in another order in memory;
        what counts is the order of its indices."""
        x = draw.normal(2, 3, 6).transpose(1, 2)
        got = lesson.bag_vector(lesson.prop(minus), x)
        expect.close(got, (-x.double().sum(dim=1) / 6).float())

    def test_result_is_where_x_is(self, lesson, draw):
        """For tokens on the GPU everything has to be made on the GPU."""
        x, layer = draw.normal(2, 4, 3), lesson.prop(minus)
        expect.follows_device(lesson.bag_vector, layer, x)


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
        x, weights = draw.normal(b, t, c), [draw.normal(c, c) for _ in range(3)]
        want = averages_of_values(x, *weights).float()
        expect.close(lesson.projected_attention(x, *weights), want, tolerance=1e-5)

    def test_identities_give_toy_attention(self, lesson, draw):
        """A token that asks with itself, answers with itself and hands itself over."""
        x, same = draw.normal(2, 5, 3), torch.eye(3)
        expect.close(lesson.projected_attention(x, same, same, same), averages(x))

    def test_shuffled_tokens_give_shuffled_results(self, lesson, draw):
        """Weights act on each token by itself, so no weights let attention see order."""
        x, perm = draw.normal(2, 6, 3), draw.permutation(6)
        weights = [draw.normal(3, 3) for _ in range(3)]
        got = lesson.projected_attention(x[:, perm], *weights)
        expect.close(got, lesson.projected_attention(x, *weights)[:, perm], tolerance=1e-5)

    def test_sentences_do_not_mix(self, lesson, draw):
        """Each sentence of a batch attends to its own tokens only."""
        x, weights = draw.normal(3, 4, 5), [draw.normal(5, 5) for _ in range(3)]
        alone = lesson.projected_attention(x[1:2], *weights)
        expect.close(lesson.projected_attention(x, *weights)[1:2], alone, tolerance=1e-5)

    def test_gradient_reaches_tokens_and_weights(self, lesson, draw):
        """x enters as query, key and value; each weight enters once. All four learn."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 4, 3)
        weights = [draw.normal(3, 3) for _ in range(3)]
        got = lesson.projected_attention.gradients(x, *weights, upstream=upstream)
        wide = [one.double().requires_grad_() for one in (x, *weights)]
        averages_of_values(*wide).backward(upstream.double())
        names = "x", "w_q", "w_k", "w_v"
        for place, (name, one) in enumerate(zip(names, wide, strict=True)):
            what = f"the gradient of {name}"
            expect.close(got[place], one.grad.float(), tolerance=1e-4, what=what)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensors: training changes weights."""
        before, after = (
            (draw.normal(2, 3, 4), *(draw.normal(4, 4) for _ in range(3))) for _ in range(2)
        )
        want = averages_of_values(*after).float()
        expect.sees_changes(lesson.projected_attention, before, after, want)


@exercise("projected_attention")
@corner
class TestProjectedAttentionCorners:
    def test_large_scores(self, lesson):
        """With three identities it is `toy_attention`, for scores of ±1024 too: 32 and 31 pick
        32, 0 sees zeros and takes the mean, 31 / 4."""
        x, same = torch.tensor([[[32.0], [31.0], [0.0], [-32.0]]]), torch.eye(1)
        want = torch.tensor([[[32.0], [32.0], [7.75], [-32.0]]])
        expect.close(lesson.projected_attention(x, same, same, same), want)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_x(self, lesson, draw, dtype):
        """What comes in as bfloat16 or float64 goes out as such."""
        x = draw.normal(2, 5, 3).clamp(-1.5, 1.5).to(dtype)
        weights = [draw.normal(3, 3).clamp(-0.5, 0.5).to(dtype) for _ in range(3)]
        want = averages_of_values(x, *weights).to(dtype)
        tolerance = 0.03 if dtype is torch.bfloat16 else None
        expect.close(lesson.projected_attention(x, *weights), want, tolerance=tolerance)

    def test_transposed_arguments(self, lesson, draw):
        """A transposed tensor has its numbers in another order in memory;
        what counts is the order of its indices."""
        x = draw.normal(2, 3, 6).transpose(1, 2)
        weights = [draw.normal(3, 3).T for _ in range(3)]
        want = averages_of_values(x, *weights).float()
        expect.close(lesson.projected_attention(x, *weights), want, tolerance=1e-5)

    def test_result_is_where_the_arguments_are(self, lesson, draw):
        """For tokens and weights on the GPU everything has to be made on the GPU."""
        weights = [draw.normal(3, 3) for _ in range(3)]
        expect.follows_device(lesson.projected_attention, draw.normal(2, 4, 3), *weights)


@exercise("causal_toy_attention")
class TestCausalToyAttention:
    def test_three_tokens_by_hand(self, lesson):
        """C = 1. 1 sees itself: 1. The first 0 has the scores 0 and 0: the mean
        of 1 and 0. The second has 0, 0, 0: the mean of 1, 0 and 0."""
        got = lesson.causal_toy_attention(torch.tensor([[[1.0], [0.0], [0.0]]]))
        expect.close(got, torch.tensor([[[1.0], [1 / 2], [1 / 3]]]))

    def test_first_token_sees_itself_only(self, lesson, draw):
        """An average over a single token is that token."""
        x = draw.normal(3, 4, 5)
        expect.close(lesson.causal_toy_attention(x)[:, 0], x[:, 0])

    def test_loud_later_token_stays_hidden(self, lesson):
        """The first token scores 1 with itself and 1000 with the second, which it
        must not see at all, however high the score."""
        x = torch.tensor([[[1.0], [1000.0]]])
        expect.close(lesson.causal_toy_attention(x)[:, 0], x[:, 0])

    def test_later_token_weighs_nothing_at_all(self, lesson):
        """The first token scores 0 with itself, so a later one that is hidden by a score
        of -30 still weighs exp(-30) = 9e-14: the second token is large enough to show it."""
        x = torch.tensor([[[0.0], [1e18]]])
        expect.close(lesson.causal_toy_attention(x)[:, 0], x[:, 0])

    def test_scores_are_divided_by_the_root_of_the_width(self, lesson):
        """C = 4, so √C = 2: the second token has the score 4 / 2 = 2 with itself
        and 0 with the first, which makes e² / (e² + 1) = 0.8808."""
        x = torch.tensor([[[0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]])
        expect.close(lesson.causal_toy_attention(x), torch.tensor([[[0.0] * 4, [0.8807971] * 4]]))

    @pytest.mark.parametrize("b, t, c", SIZES)
    def test_every_token_averages_those_up_to_itself(self, lesson, draw, b, t, c):
        """Row i of the result is Σ_{j≤i} w_ij x_j, with w_ij = exp(s_ij) / Σ_{k≤i}
        exp(s_ik): the weights of what is seen sum to one."""
        x = draw.normal(b, t, c)
        expect.close(lesson.causal_toy_attention(x), averages(x, causal=True))

    def test_later_tokens_change_nothing(self, lesson, draw):
        """Token t does not attend to t + 1: whatever is there, the results
        up to t stay the same."""
        x, other = draw.normal(2, 6, 3), draw.normal(2, 6, 3)
        before = lesson.causal_toy_attention(x)
        for t in 1, 4:
            mixed = torch.cat((x[:, :t], other[:, t:]), dim=1)
            expect.close(lesson.causal_toy_attention(mixed)[:, :t], before[:, :t])

    def test_mask_fits_every_length(self, lesson, draw):
        """Nothing is kept from one call to the next, and no mask has a length of its
        own. Of 260 tokens, a 1 and then zeros, each averages those up to itself."""
        long = torch.zeros(1, 260, 1)
        long[0, 0] = 1.0
        means = (1 / torch.arange(1.0, 261.0)).view(1, 260, 1)
        short, other = draw.normal(2, 3, 3), draw.normal(2, 9, 3)
        expect.close(lesson.causal_toy_attention(short), averages(short, causal=True))
        expect.close(lesson.causal_toy_attention(long), means)
        expect.close(lesson.causal_toy_attention(other), averages(other, causal=True))

    def test_gradient_goes_through_scores_and_values(self, lesson, draw):
        """x is query, key and value at once; its gradient comes on all three ways,
        and none from tokens that do not see it."""
        x, upstream = draw.normal(2, 4, 3), draw.normal(2, 4, 3)
        got = lesson.causal_toy_attention.gradients(x, upstream=upstream)[0]
        expect.close(got, gradient_of_averages(x, upstream, causal=True), tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """The second call is about other numbers in the same tensor."""
        before, after = draw.normal(2, 3, 4), draw.normal(2, 3, 4)
        want = averages(after, causal=True)
        expect.sees_changes(lesson.causal_toy_attention, (before,), (after,), want)


@exercise("causal_toy_attention")
@corner
class TestCausalToyAttentionCorners:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=show_dtype)
    def test_large_scores(self, lesson, dtype):
        """31 sees itself. 32 has the scores 992 and 1024 and picks itself. 0 has
        zeros: the mean of 31, 32 and 0. -32 has -992, -1024, 0 and 1024: itself."""
        x = torch.tensor([[[31.0], [32.0], [0.0], [-32.0]]], dtype=dtype)
        want = torch.tensor([[[31.0], [32.0], [21.0], [-32.0]]], dtype=dtype)
        expect.close(lesson.causal_toy_attention(x), want)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_x(self, lesson, draw, dtype):
        """What comes in as bfloat16 or float64 goes out as such."""
        x = draw.normal(2, 5, 3).clamp(-1.5, 1.5).to(dtype)
        expect.close(lesson.causal_toy_attention(x), averages(x, causal=True))

    def test_transposed_argument(self, lesson, draw):
        """A transposed tensor has its numbers in another order in memory;
        what counts is the order of its indices."""
        x = draw.normal(2, 3, 6).transpose(1, 2)
        expect.close(lesson.causal_toy_attention(x), averages(x, causal=True))

    def test_gradient_comes_after_inference_too(self, lesson, draw):
        """A mask that was made inside `torch.inference_mode()` and kept would be refused
        in training."""
        x, upstream = draw.normal(1, 13, 3), draw.normal(1, 13, 3)
        expect.learns_after_inference(lesson.causal_toy_attention, x, upstream=upstream)

    def test_result_is_where_x_is(self, lesson, draw):
        """For tokens on the GPU the mask has to be made on the GPU."""
        x = draw.normal(2, 4, 3)
        expect.follows_device(lesson.causal_toy_attention, x)
