"""Lesson 8: a model of your own. Grades `exercises/gpt.py`.

Shapes: B batch, T tokens, C features of a token, H heads, D = C / H features of a head, V tokens
of the vocabulary; Tq queries and Tk keys.
"""

import math
import re

import pytest
import torch
from torch import nn

from course.testing import exercise, expect

# --- what is expected, in float64 ---------------------------------------------------------------


def attended(q, k, v, bias=0.0):
    """(B, H, Tq, D): softmax(q · k / √D + bias) over the keys that are not later, times v."""
    q_len, k_len = q.shape[2], k.shape[2]
    place = torch.arange(k_len - q_len, k_len)[:, None]
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[3] ** 0.5 + bias
    weights = scores.where(torch.arange(k_len) <= place, -torch.inf).softmax(-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


def rotated(x):
    """(..., T, D): features i and D/2 + i of token t, rotated by t * 10000 ** (-2i / D)."""
    length, width = x.shape[-2:]
    rates = 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    angles = (torch.arange(length)[:, None] * rates).to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


def heads_of(x, n_heads):
    """(B, H, T, D): the features of head h are h * D .. (h + 1) * D - 1."""
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def attention_of(x, weights, n_heads, part="", last=None):
    """(B, T, C): what the four projections in `weights` make of x, or of its last tokens."""
    q, k, v = (heads_of(x @ weights[f"{part}{name}_proj.weight"].T, n_heads) for name in "qkv")
    q = rotated(q)[:, :, -(last or q.shape[2]) :]
    heads = attended(q, rotated(k), v)
    return torch.cat(heads.unbind(1), dim=-1) @ weights[f"{part}out_proj.weight"].T


def normalized(x, weights, norm):
    """(..., C): mean 0 and variance 1 in every token, then scaled and shifted."""
    centered = x - x.mean(-1, keepdim=True)
    scale = (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centered / scale * weights[f"{norm}.weight"] + weights[f"{norm}.bias"]


def even_attention_of(x, weights, n_heads, part=""):
    """(B, T, C): the same for queries that are 0: each token averages all up to itself."""
    sums = (x @ weights[f"{part}v_proj.weight"].T).cumsum(1)
    means = sums / torch.arange(1, x.shape[1] + 1)[:, None]
    return means @ weights[f"{part}out_proj.weight"].T


def block_of(x, weights, n_heads, part="", attention=attention_of):
    """(B, T, C): attention, then the mlp with its exact GELU, each added to what came in."""
    normed = normalized(x, weights, f"{part}norm1")
    y = x + attention(normed, weights, n_heads, f"{part}attention.")
    inner = normalized(y, weights, f"{part}norm2") @ weights[f"{part}mlp, first"].T
    return y + inner * torch.special.ndtr(inner) @ weights[f"{part}mlp, second"].T


def logits_of(ids, weights, n_heads, n_layers, attention=attention_of):
    """(B, T, V): the rows of the ids, the blocks, the norm, and the table once more."""
    x = weights["tokens.weight"][ids]
    for layer in range(n_layers):
        x = block_of(x, weights, n_heads, f"{layer}: ", attention)
    return normalized(x, weights, "norm") @ weights["tokens.weight"].T


def differentiated(function, upstream, *values):
    """The gradients at some tensors, by autograd through one of the formulas above."""
    values = [value.double().requires_grad_() for value in values]
    return [
        one.float() for one in torch.autograd.grad((function(*values) * upstream).sum(), values)
    ]


# --- modules with weights that the tests know ---------------------------------------------------

PROJECTIONS = ["q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight"]

NORMS = ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"]

EITHER_GELU = 0.02
"""What the exact GELU and the one by tanh stay within; other functions and weights do not."""

EVEN = {"q_proj.weight": 0.0, "mlp, second": 0.02}
"""Sizes of weights with which all scores are equal, and both GELUs within 1e-3."""


def names_in_block(parameters, n_embd, prefix="", part=""):
    """The name of each parameter of a block, by what it is for; those in its mlp by their shape."""
    names = {part + name: prefix + name for name in NORMS}
    names |= {f"{part}attention.{name}": f"{prefix}attention.{name}" for name in PROJECTIONS}
    for which, shape in ("first", (4 * n_embd, n_embd)), ("second", (n_embd, 4 * n_embd)):
        found = [
            name
            for name, weight in parameters.items()
            if name.startswith(f"{prefix}mlp.") and tuple(weight.shape) == shape
        ]
        expect.that(len(found) == 1, f"the mlp has {len(found)} weights {shape}, but needs one")
        names[f"{part}mlp, {which}"] = found[0]
    return names


def names_in_gpt(parameters, n_embd, n_layers):
    """The name of each parameter of a GPT, by what it is for."""
    parts = r"(.+?\.)?(?=(norm1|norm2|attention|mlp)\.)"  # the names in an mlp are free
    found = dict.fromkeys(match[0] for name in parameters if (match := re.match(parts, name)))
    expect.that(
        len(found) == n_layers,
        f"norm1, norm2, attention and mlp should be in {n_layers} blocks, each with its own "
        f"parameters; they are in {len(found)} places",
    )
    names = {name: name for name in ("tokens.weight", "norm.weight", "norm.bias")}
    for layer, prefix in enumerate(found):
        names |= names_in_block(parameters, n_embd, prefix, f"{layer}: ")
    return names


def filled(module, draw, names_in, **of_size):
    """Write drawn numbers into the parameters of a module, and return them, in float64.

    `names_in(parameters)` tells the name of each by what it is for; those of a layer are of
    another size if told so.
    """
    parameters = module.shapes
    names, values = names_in(parameters), {}
    sizes = {what: parameters[name].shape for what, name in names.items() if name in parameters}
    numbers = draw.normal(sum(size.numel() for size in sizes.values()))
    drawn = numbers.split([size.numel() for size in sizes.values()])
    for (what, size), one in zip(sizes.items(), drawn, strict=True):
        if "norm" in what:
            one = 0.5 * one + what.endswith("weight")
        elif what != "tokens.weight":
            one = of_size.get(re.sub(".*[.:] ?(?=q_proj|mlp)", "", what), 0.4) * one
        values[what] = one.reshape(size)
    given = {names[what].replace(".", "__"): one for what, one in values.items()}
    missing = {
        name.replace(".", "__"): numbers for what, name in names.items() if what not in sizes
    }
    module.set(**missing, **given)
    return {what: one.double() for what, one in values.items()}


def attention_and_weights(lesson, draw, n_embd, n_heads, max_seq_len):
    """A `CausalSelfAttention` with drawn weights, and these."""
    attention = lesson.CausalSelfAttention(n_embd, n_heads, max_seq_len)
    return attention, filled(attention, draw, lambda _: {name: name for name in PROJECTIONS})


def block_and_weights(lesson, draw, n_embd, n_heads, max_seq_len, **of_size):
    """A `Block` with drawn weights, and these."""
    block = lesson.Block(n_embd, n_heads, max_seq_len)
    return block, filled(block, draw, lambda its: names_in_block(its, n_embd), **of_size)


def gpt_and_weights(lesson, draw, vocab_size, n_embd, n_heads, n_layers, max_seq_len, **of_size):
    """A `GPT` with drawn weights, and these."""
    model = lesson.GPT(vocab_size, n_embd, n_heads, n_layers, max_seq_len)
    return model, filled(model, draw, lambda its: names_in_gpt(its, n_embd, n_layers), **of_size)


class Cache(dict):
    """What a test hands over as a cache: always the same object."""


def caches_of(lesson, n_layers):
    """A cache for each block."""
    return [lesson.prop(Cache) for _ in range(n_layers)]


def expect_reads_in_pieces(lesson, module, text, lengths, want, cache):
    """Expect the same from a text read in pieces with one cache as from the whole, as in use."""
    module.train(False)
    start = 0
    with lesson.no_grad():
        for length in lengths:
            got = module(text[:, start : start + length], cache)
            expect.close(got, want[:, start : start + length], tolerance=1e-4)
            start += length


def expect_seed_repeats(lesson, make):
    """Expect the start to be drawn from PyTorch's global generator, which nobody seeds."""
    starts = []
    for seed in 1, 1, 2:
        lesson.seed(seed)
        starts.append(list(make().parameters.values()))
    expect.equal(starts[1], starts[0])
    same = [one.equal(other) for one, other in zip(starts[0], starts[2], strict=True)]
    expect.that(not all(same), "another seed should give another start")


MANY, FAR = 5_000, 1_060
"""More than limits and windows that somebody may have written down: 4,096, and 1,024 where the
time grows with the square.
"""


def sizes_with_many(axis, *small):
    """Sizes of a tensor that is long along one axis."""
    return [*small[:axis], MANY, *small[axis + 1 :]]


# --- the exercises ------------------------------------------------------------------------------


@exercise("split_heads")
class TestSplitHeads:
    def test_two_tokens_of_two_heads_by_hand(self, lesson):
        """Token (0, 1, 2, 3) deals 0, 1 to head 0 and 2, 3 to head 1; so does the next."""
        x = torch.tensor([[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]])
        want = torch.tensor([[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]])
        expect.equal(lesson.split_heads(x, 2), want)

    @pytest.mark.parametrize(
        "batch, length, n_heads, width",
        [
            (2, 5, 3, 4),
            (1, 1, 1, 6),
            (4, 4, 4, 4),
            (1, 3, FAR, 2),
            *(sizes_with_many(axis, 2, 3, 1, 2) for axis in (0, 1, 3)),
        ],
    )
    def test_head_h_gets_features_from_h_times_d(self, lesson, draw, batch, length, n_heads, width):
        """Features h*D .. (h+1)*D - 1 of every token, whatever the sizes; equal ones must
        not make axes change places.
        """
        x = draw.normal(batch, length, n_heads * width)
        expect.equal(lesson.split_heads(x, n_heads=n_heads), heads_of(x, n_heads))

    def test_gradient_goes_back_to_the_features(self, lesson, draw):
        """Each number of the result is one of x, so its gradient goes there."""
        x, upstream = draw.normal(2, 5, 12), draw.normal(2, 3, 5, 4)
        got = lesson.split_heads.gradients(x, 3, upstream=upstream)
        expect.equal(got[0], torch.cat(upstream.unbind(1), dim=-1))

    def test_heads_of_different_widths_are_refused(self, lesson, draw):
        """7 features are no two heads of the same width."""
        expect.rejects(lesson.split_heads, ValueError, bad=(draw.normal(2, 8, 7), 2))


@exercise("merge_heads")
class TestMergeHeads:
    def test_two_tokens_of_two_heads_by_hand(self, lesson):
        """Head 0 has (0, 1) and (4, 5) for the two tokens, head 1 (2, 3) and (6, 7). Next to
        each other, token 0 is (0, 1, 2, 3).
        """
        x = torch.tensor([[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]])
        want = torch.tensor([[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]])
        expect.equal(lesson.merge_heads(x), want)

    @pytest.mark.parametrize(
        "batch, n_heads, length, width",
        [
            (2, 3, 5, 4),
            (1, 1, 1, 6),
            (4, 4, 4, 4),
            (1, FAR, 3, 2),
            *(sizes_with_many(axis, 2, 1, 3, 2) for axis in (0, 2, 3)),
        ],
    )
    def test_heads_come_back_next_to_each_other(self, lesson, draw, batch, n_heads, length, width):
        """Head h fills the features h*D .. (h+1)*D - 1 of its token. What attention gives has
        its numbers in the order of the axes; what `split_heads` gives is a transposed view.
        """
        x = draw.normal(batch, length, n_heads * width)
        expect.equal(lesson.merge_heads(heads_of(x, n_heads)), x)
        expect.equal(lesson.merge_heads(x.unflatten(-1, (n_heads, width)).transpose(1, 2)), x)

    def test_gradient_goes_back_to_the_heads(self, lesson, draw):
        """Each number of the result is one of x, so its gradient goes there."""
        x, upstream = draw.normal(2, 3, 5, 4), draw.normal(2, 5, 12)
        got = lesson.merge_heads.gradients(x, upstream=upstream)
        expect.equal(got[0], heads_of(upstream, 3))


def drawn_qkv(draw, batch, n_heads, q_len, k_len, width):
    """Queries, keys and values for `causal_attention`."""
    q = draw.normal(batch, n_heads, q_len, width)
    return q, *draw.normal(2, batch, n_heads, k_len, width)


def wanted(q, k, v, bias=0.0):
    """(B, H, Tq, D) in float32."""
    return attended(q.double(), k.double(), v.double(), bias).float()


@exercise("causal_attention")
class TestCausalAttention:
    def test_scores_are_divided_by_the_root_of_the_width(self, lesson):
        """D = 4. The second query scores 2 ln 3 = 2.197 with its own key and 0 with the
        first. Over √4 = 2 that is ln 3 and 0, so their weights are 3/4 and 1/4: of values 8
        and 4 that makes 3/4 * 4 + 1/4 * 8 = 5. The first query has its own value only.
        """
        q = torch.ones(1, 1, 2, 4)
        k = torch.tensor([[[[0.0] * 4, [math.log(3) / 2] * 4]]])
        v = torch.tensor([[[[8.0] * 4, [4.0] * 4]]])
        expect.close(lesson.causal_attention(q, k, v), torch.tensor([[[[8.0] * 4, [5.0] * 4]]]))

    def test_the_queries_are_the_last_positions(self, lesson):
        """Two queries and four keys, all scores 0: the queries are at 2 and 3, and
        average the first three and the first four of the values 0, 3, 6, 11: 3 and 5.
        """
        q, k = torch.zeros(1, 1, 2, 1), torch.zeros(1, 1, 4, 1)
        v = torch.tensor([[[[0.0], [3.0], [6.0], [11.0]]]])
        got = lesson.causal_attention(q, k, v)
        expect.close(got, torch.tensor([[[[3.0], [5.0]]]]))

    @pytest.mark.parametrize(
        "batch, n_heads, q_len, k_len, width",
        [
            (2, 3, 5, 5, 4),
            (2, 3, 2, 5, 4),
            (3, 2, 1, 6, 4),
            (1, 1, 1, 1, 2),
            (FAR, 1, 1, 3, 2),
            (1, FAR, 1, 3, 2),
            *(sizes_with_many(axis, 1, 1, 1, 3, 2) for axis in (3, 4)),
        ],
    )
    def test_every_query_averages_what_is_not_later(
        self, lesson, draw, batch, n_heads, q_len, k_len, width
    ):
        """Query i is at Tk - Tq + i and sees the keys up to there: weights from
        e ** (q · k / √D), for each text and each head by itself.
        """
        q, k, v = drawn_qkv(draw, batch, n_heads, q_len, k_len, width)
        expect.close(lesson.causal_attention(q, k, v), wanted(q, k, v))

    @pytest.mark.parametrize("q_len, k_len", [(3, MANY), (300, 300)])
    def test_no_key_is_too_far_back(self, lesson, draw, q_len, k_len):
        """Queries and keys of 0 give equal scores, so each query averages all values up to its
        own, thousands of them.
        """
        q, k, v = torch.zeros(1, 1, q_len, 1), torch.zeros(1, 1, k_len, 1), 100 * draw.normal(k_len)
        means = v.cumsum(0) / torch.arange(1, k_len + 1)
        want = means[k_len - q_len :].reshape(1, 1, q_len, 1)
        got = lesson.causal_attention(q, k, v.reshape(1, 1, k_len, 1))
        expect.close(got, want, tolerance=1e-4)

    def test_bias_is_added_after_the_division(self, lesson):
        """D = 4, all products 0. A bias of ln 3 on key 0 makes it three times as heavy as
        key 1, undivided: 3/4 * 8 + 1/4 * 4 = 7.
        """
        q, k = torch.ones(1, 1, 2, 4), torch.zeros(1, 1, 2, 4)
        v = torch.tensor([[[[8.0] * 4, [4.0] * 4]]])
        bias = torch.tensor([[0.0, 0.0], [math.log(3), 0.0]])
        got = lesson.causal_attention(q, k, v, bias)
        expect.close(got, torch.tensor([[[[8.0] * 4, [7.0] * 4]]]))

    @pytest.mark.parametrize(
        "q_len, shape",
        [(4, (2, 3, 4, 5)), (4, (4, 5)), (1, (3, 1, 5)), (5, (2, 1, 1, 5)), (1, (FAR,))],
        ids=str,
    )
    def test_bias_of_every_shape_that_broadcasts(self, lesson, draw, q_len, shape):
        """B = 2, H = 3: an axis that is 1, or missing in front, holds for all. A single query has
        a bias, too.
        """
        q, k, v = drawn_qkv(draw, 2, 3, q_len, shape[-1], 6)
        bias = 2 * draw.normal(*shape)
        expect.close(lesson.causal_attention(q, k, v, bias=bias), wanted(q, k, v, bias))

    def test_a_later_key_never_wins_however_high_its_bias(self, lesson):
        """The first two queries have a bias of -100 on what they may see, and of 100 on what is
        later. That is left out, so they average 1, or 1 and 3. The last one sees all three, with
        a bias of 100 each: e ** 100 is too large for float32, its share is not.
        """
        q, v = torch.zeros(1, 1, 3, 1), torch.tensor([[[[1.0], [3.0], [50.0]]]])
        bias = torch.tensor([[-100.0, 100.0, 100.0], [-100.0, -100.0, 100.0], [100.0] * 3])
        got = lesson.causal_attention(q, torch.zeros(1, 1, 3, 1), v, bias)
        expect.close(got, torch.tensor([[[[1.0], [2.0], [18.0]]]]), tolerance=1e-3)

    def test_gradient_reaches_queries_keys_values_and_bias(self, lesson, draw):
        """All four may come from trained weights. Entries of a bias that serve several scores add
        up their gradients, those of later keys get none.
        """
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6)
        bias, upstream = draw.normal(4, 5), draw.normal(2, 3, 4, 6)
        got = lesson.causal_attention.gradients(q, k, v, bias, upstream=upstream)
        for place, want in enumerate(differentiated(attended, upstream, q, k, v, bias)):
            expect.close(got[place], want, tolerance=1e-4)

    def test_each_call_has_its_own_sizes(self, lesson, draw):
        """A mask kept from an earlier call serves only a call with the same Tq and Tk."""
        for q_len, k_len in [(3, 5), (3, 4), (4, 5)]:
            q, k, v = drawn_qkv(draw, 2, 1, q_len, k_len, 4)
            expect.close(lesson.causal_attention(q, k, v), wanted(q, k, v))

    def test_more_queries_than_keys_are_refused(self, lesson, draw):
        """The first query would be before position 0 and see nothing."""
        expect.rejects(lesson.causal_attention, ValueError, bad=drawn_qkv(draw, 1, 2, 3, 2, 4))


@exercise("CausalSelfAttention")
class TestCausalSelfAttention:
    def test_parameters_are_four_projections(self, lesson):
        """C² numbers each, no biases: 4 C² = 576 for C = 12. All are trained."""
        attention = lesson.CausalSelfAttention(12, 3, 16)
        shapes = {name: tuple(weight.shape) for name, weight in attention.shapes.items()}
        expect.equal(shapes, dict.fromkeys(PROJECTIONS, (12, 12)))
        expect.equal(sorted(attention.trainable), sorted(PROJECTIONS))

    def test_a_lone_token_sees_itself(self, lesson):
        """One key takes all, so the result is the value, through two projections: for
        x = (1, 2), value weights that swap, and output weights 3 and 5, (6, 5).
        """
        attention = lesson.CausalSelfAttention(2, 1, 4)
        one, swap = torch.eye(2), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        attention.set(
            q_proj__weight=one,
            k_proj__weight=one,
            v_proj__weight=swap,
            out_proj__weight=torch.diag(torch.tensor([3.0, 5.0])),
        )
        expect.close(attention(torch.tensor([[[1.0, 2.0]]])), torch.tensor([[[6.0, 5.0]]]))

    @pytest.mark.parametrize(
        "batch, length, n_embd, n_heads, max_seq_len",
        [(2, 5, 12, 3, 9), (3, 4, 66, 33, 4), (300, 1, 2, 1, 1)],
    )
    def test_heads_attend_by_rotated_queries_and_keys(
        self, lesson, draw, batch, length, n_embd, n_heads, max_seq_len
    ):
        """Four projections, H heads of width D, RoPE with width D on queries and keys, causal
        attention, heads next to each other, the output projection. Nothing is dropped in training.
        """
        attention, weights = attention_and_weights(lesson, draw, n_embd, n_heads, max_seq_len)
        x = draw.normal(batch, length, n_embd)
        want = attention_of(x.double(), weights, n_heads).float()
        expect.close(attention(x), want, tolerance=1e-4)

    @pytest.mark.parametrize("lengths", [(2, 3, 1, 1), (6, 1)], ids=str)
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths):
        """One cache for all pieces: keys of earlier pieces keep their positions,
        and new positions go on from there.
        """
        attention, weights = attention_and_weights(lesson, draw, 12, 3, 7)
        x = draw.normal(2, 7, 12)
        want = attention_of(x.double(), weights, 3).float()
        expect_reads_in_pieces(lesson, attention, x, lengths, want, lesson.prop(Cache))

    def test_every_text_has_its_own_cache(self, lesson, draw):
        """Two texts read by turns do not see each other, and one without a cache begins at
        position 0: what is kept is kept in the cache.
        """
        attention, weights = attention_and_weights(lesson, draw, 8, 2, 10)
        one, other, first, second = (
            *caches_of(lesson, 2),
            draw.normal(2, 6, 8),
            draw.normal(3, 4, 8),
        )
        steps = [
            (first, 0, 2, one),
            (second, 0, 3, other),
            (first, 2, 6, one),
            (second, 3, 4, other),
        ]
        with lesson.no_grad():
            for text, start, end, cache in steps:
                want = attention_of(text.double(), weights, 2)[:, start:end].float()
                got = attention(text[:, start:end], cache=cache)
                expect.close(got, want, tolerance=1e-4)
            want = attention_of(first.double(), weights, 2).float()
            expect.close(attention(first), want, tolerance=1e-4)

    @pytest.mark.parametrize("lengths", [(FAR,), (300, 300, 300, 159, 1)], ids=str)
    def test_no_token_is_too_far_back(self, lesson, draw, lengths):
        """The last of 1,060 tokens sees all of them, each at its own position, whether they are
        read at once or, with a cache, in pieces.
        """
        attention, weights = attention_and_weights(lesson, draw, 4, 1, FAR)
        x, cache = draw.normal(1, FAR, 4), lesson.prop(Cache) if len(lengths) > 1 else None
        with lesson.no_grad():
            for piece in x.split(lengths, dim=1):
                got = attention(piece, cache)
        want = attention_of(x.double(), weights, 1, last=1).float()
        expect.close(expect.shape(got, *piece.shape)[:, -1:], want, tolerance=1e-4)

    def test_gradient_reaches_all_weights_and_x(self, lesson, draw):
        """By autograd through the formula, in float64."""
        attention, weights = attention_and_weights(lesson, draw, 8, 2, 9)
        x, upstream = draw.normal(2, 4, 8), draw.normal(2, 4, 8)
        got = attention.gradients(x, upstream=upstream)

        def of(x, *values):
            return attention_of(x, dict(zip(PROJECTIONS, values, strict=True)), 2)

        want = differentiated(of, upstream, x, *weights.values())
        for place, gradient in zip([0, *PROJECTIONS], want, strict=True):
            expect.close(got[place], gradient, tolerance=1e-3)

    def test_seed_repeats_the_start(self, lesson):
        """The start is drawn from PyTorch's global generator, which nobody seeds."""
        expect_seed_repeats(lesson, lambda: lesson.CausalSelfAttention(4, 1, 4))


@exercise("Block")
class TestBlock:
    def test_parameters_of_the_four_parts(self, lesson):
        """Two norms with 2 C numbers each, four projections with C², and an mlp with
        (4C, C) and (C, 4C): 12 C² + 4 C = 1776 for C = 12. All are trained.
        """
        block = lesson.Block(12, 3, 16)
        shapes = {name: tuple(weight.shape) for name, weight in block.shapes.items()}
        of_mlp = [shapes.pop(name) for name in list(shapes) if name.startswith("mlp.")]
        want = dict.fromkeys(NORMS, (12,))
        want |= {f"attention.{name}": (12, 12) for name in PROJECTIONS}
        expect.equal(shapes, want)
        expect.equal(sorted(of_mlp), [(12, 48), (48, 12)], what="the weights of the mlp, sorted")
        expect.equal(len(block.trainable), 10, what="the number of trained parameters")

    @pytest.mark.parametrize(
        "silent", ["attention.out_proj.weight", "mlp, second"], ids=["mlp alone", "attention alone"]
    )
    def test_a_part_that_gives_nothing_leaves_the_other(self, lesson, draw, silent):
        """With zeros in the last layer of one part, 0 is added for it. What remains is
        x + mlp(norm2(x)), or x + attention(norm1(x)).
        """
        block, weights = block_and_weights(lesson, draw, 12, 3, 9)
        name = names_in_block(block.shapes, 12)[silent]
        weights[silent] = torch.zeros_like(weights[silent])
        block.set(**{name.replace(".", "__"): weights[silent].float()})
        x = 2 * draw.normal(2, 5, 12) + 1
        want = block_of(x.double(), weights, 3).float()
        expect.close(block(x), want, tolerance=EITHER_GELU)

    @pytest.mark.parametrize("batch, length, n_embd, n_heads", [(2, 5, 12, 3), (300, 1, 8, 1)])
    def test_each_part_is_normed_first_and_added(
        self, lesson, draw, batch, length, n_embd, n_heads
    ):
        """y = x + attention(norm1(x)), and the result is y + mlp(norm2(y))."""
        block, weights = block_and_weights(lesson, draw, n_embd, n_heads, length)
        x = 2 * draw.normal(batch, length, n_embd) + 1
        want = block_of(x.double(), weights, n_heads).float()
        expect.close(block(x), want, tolerance=EITHER_GELU)

    def test_no_token_is_too_far_back(self, lesson, draw):
        """Each of 1,060 tokens averages all up to itself, if all scores are equal."""
        block, weights = block_and_weights(lesson, draw, 4, 1, FAR, **EVEN)
        x = 2 * draw.normal(1, FAR, 4) + 1
        want = block_of(x.double(), weights, 1, attention=even_attention_of).float()
        with lesson.no_grad():
            expect.close(block(x), want, tolerance=1e-3)

    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw):
        """The cache is for the attention; norms and mlp look at one token at a time."""
        block, _ = block_and_weights(lesson, draw, 8, 2, 6)
        x = draw.normal(2, 6, 8)
        want = expect.shape(block(x), 2, 6, 8)
        expect_reads_in_pieces(lesson, block, x, (2, 3, 1), want, lesson.prop(Cache))

    def test_gradient_reaches_all_parts_and_x(self, lesson, draw):
        """By autograd through the formula, in float64."""
        block, weights = block_and_weights(lesson, draw, 8, 2, 9)
        x, upstream = draw.normal(2, 3, 8), draw.normal(2, 3, 8)
        got = block.gradients(x, upstream=upstream)

        def of(x, *values):
            return block_of(x, dict(zip(weights, values, strict=True)), 2)

        want = differentiated(of, upstream, x, *weights.values())
        names = names_in_block(block.shapes, 8).values()
        for place, gradient in zip([0, *names], want, strict=True):
            expect.close(got[place], gradient, tolerance=0.1)

    def test_seed_repeats_the_start(self, lesson):
        """The start is drawn from PyTorch's global generator, which nobody seeds."""
        expect_seed_repeats(lesson, lambda: lesson.Block(4, 1, 4))


def number_of_blocks(model):
    """Count the blocks of a model in two ways, as `generate` may."""
    return [len(model.blocks), len([block for block in model.blocks])]


@exercise("GPT")
class TestGPT:
    def test_parameters_are_one_table_blocks_and_a_norm(self, lesson):
        """V C for the one table, 12 C² + 4 C for each block, 2 C for the last norm. All
        are trained. `generate` makes a cache for each block: of three, three.
        """
        blocks = lesson.prop(number_of_blocks)(lesson.GPT(40, 8, 2, 3, 16))
        expect.equal(blocks, [3, 3], what="the number of blocks")
        model = lesson.GPT(40, 8, 2, 3, 16)  # a call of its own, for a message about parameters
        parameters = model.shapes
        names = names_in_gpt(parameters, 8, 3)
        expect.equal(sorted(parameters), sorted(names.values()), what="the parameters, sorted")
        table, numbers = parameters["tokens.weight"], sum(w.numel() for w in parameters.values())
        expect.equal(tuple(table.shape), (40, 8), what="the shape of tokens.weight")
        expect.equal(numbers, 320 + 3 * 800 + 16, what="the number of parameters")
        expect.equal(sorted(model.trainable), sorted(parameters))

    @pytest.mark.parametrize(
        "batch, length, vocab_size, n_heads, n_layers",
        [(1, 3, 5, 1, 1), (2, 5, 11, 2, 4), (1, 1, 40_000, 4, 1), (300, 1, 11, 1, 1)],
    )
    def test_logits_are_products_with_the_rows_of_the_table(
        self, lesson, draw, batch, length, vocab_size, n_heads, n_layers
    ):
        """The row of each id, through all blocks, each with its own weights, and the norm; then
        its product with every row of the same table.
        """
        model, weights = gpt_and_weights(lesson, draw, vocab_size, 8, n_heads, n_layers, 9)
        ids = draw.ids(vocab_size, batch, length)
        ids[0, 0] = vocab_size - 1
        want = logits_of(ids, weights, n_heads, n_layers).float()
        expect.close(model(ids), want, tolerance=EITHER_GELU)

    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw):
        """Each block has its own cache, the same one for all pieces."""
        model, _ = gpt_and_weights(lesson, draw, 11, 4, 1, 5, 9)
        ids = draw.ids(11, 2, 5)
        want = expect.shape(model(ids), 2, 5, 11)
        expect_reads_in_pieces(lesson, model, ids, (3, 2), want, caches_of(lesson, 5))

    def test_every_text_has_its_own_caches(self, lesson, draw):
        """Read by turns, and the first once more without caches, none sees another."""
        model, _ = gpt_and_weights(lesson, draw, 11, 4, 1, 1, 6)
        texts = [draw.ids(11, 2, 6), draw.ids(11, 3, 6)]
        caches = [caches_of(lesson, 1) for _ in texts]
        with lesson.no_grad():
            wants = [expect.shape(model(text), len(text), 6, 11) for text in texts]
            for start, end in [(0, 5), (5, 6)]:
                for text, its, want in zip(texts, caches, wants, strict=True):
                    got = model(text[:, start:end], caches=its)
                    expect.close(got, want[:, start:end], tolerance=1e-4)
            expect.close(model(texts[0]), wants[0], tolerance=1e-4)

    def test_gradient_reaches_the_table_twice_and_all_else(self, lesson, draw):
        """The table gets a gradient as input and as output. By autograd, in float64."""
        model, weights = gpt_and_weights(lesson, draw, 7, 4, 1, 2, 9)
        ids, upstream = draw.ids(5, 2, 3), draw.normal(2, 3, 7)
        got = model.gradients(ids, upstream=upstream)

        def of(*values):
            return logits_of(ids, dict(zip(weights, values, strict=True)), 1, 2)

        want = differentiated(of, upstream, *weights.values())
        for name, gradient in zip(names_in_gpt(model.shapes, 4, 2).values(), want, strict=True):
            expect.close(got[name], gradient, tolerance=0.1)

    def test_a_longer_text_is_refused(self, lesson, draw):
        """max_seq_len = 6 positions: six tokens fit, the seventh has none."""
        model = lesson.GPT(11, 4, 1, 1, 6)
        good, bad = draw.ids(11, 2, 6), draw.ids(11, 2, 7)
        expect.rejects(model, ValueError, good=(good,), bad=(bad,))

    def test_positions_in_the_caches_count(self, lesson, draw):
        """A piece goes on where the caches end; all positions together are counted."""
        model, caches = lesson.GPT(11, 4, 1, 1, 6), caches_of(lesson, 1)
        with lesson.no_grad():
            model(draw.ids(11, 3, 4), caches)
            expect.rejects(model, ValueError, bad=(draw.ids(11, 3, 3), caches))

    def test_the_start_is_drawn_and_the_table_is_that_of_lesson_1(self, lesson):
        """From PyTorch's global generator, which nobody seeds. `TokenEmbedding` draws from
        N(0, 0.02²); 40,000 numbers show it.
        """
        expect_seed_repeats(lesson, lambda: lesson.GPT(5, 2, 1, 1, 4))
        size = lesson.GPT(MANY, 8, 2, 1, 8).parameters["tokens.weight"].std().item()
        what = f"whether the standard deviation of tokens.weight, {size:.3g}, is 0.02"
        expect.equal(abs(size - 0.02) < 0.0007, True, what=what)

    @pytest.mark.parametrize("n_layers, length", [(13, 300), (1, FAR)])
    def test_no_token_is_too_far_back_in_any_block(self, lesson, draw, n_layers, length):
        """In every block each token averages all up to itself, if all scores are equal."""
        model, weights = gpt_and_weights(lesson, draw, 5, 4, 1, n_layers, length, **EVEN)
        ids = draw.ids(5, 1, length)
        want = logits_of(ids, weights, 1, n_layers, even_attention_of).float()
        with lesson.no_grad():
            expect.close(model(ids), want, tolerance=1e-3)


def loss_by_formula(logits, ids):
    """Minus the logarithm of the next token's share, averaged."""
    weights = logits.softmax(-1)[:, :-1].gather(2, ids[:, 1:, None])
    return -weights.log().mean()


@exercise("next_token_loss")
class TestNextTokenLoss:
    def test_a_model_that_knows_nothing_pays_ln_v(self, lesson, draw):
        """Equal logits give each of V tokens the probability 1 / V, and -ln(1 / V) = ln V."""
        got = lesson.next_token_loss(torch.zeros(3, 4, 7), draw.ids(7, 3, 4))
        expect.close(got, torch.tensor(math.log(7)))

    def test_logits_at_t_are_about_the_token_at_t_plus_1(self, lesson):
        """Text 0 1 0. At t = 0, token 1 has logit ln 3 and probability 3/4, which costs
        ln 4/3; at t = 1, token 0 has 1/4, which costs ln 4. The last logits are about no
        token. On average (ln 4/3 + ln 4) / 2 = 0.837.
        """
        logits = torch.tensor([[[0.0, math.log(3)], [0.0, math.log(3)], [50.0, 0.0]]])
        got = lesson.next_token_loss(logits, torch.tensor([[0, 1, 0]]))
        expect.close(got, torch.tensor((math.log(4 / 3) + math.log(4)) / 2))

    @pytest.mark.parametrize(
        "batch, length, vocab_size",
        [(2, 5, 7), (1, 2, 3), (4, 4, 4), (FAR, 2, 3), (1, MANY, 3), (2, 3, 40_000)],
    )
    def test_all_next_tokens_of_all_texts_are_averaged(
        self, lesson, draw, batch, length, vocab_size
    ):
        """B (T - 1) of them, each counts as one: 4 * 3 = 12 of four texts of four tokens."""
        logits = 2 * draw.normal(batch, length, vocab_size)
        ids = draw.ids(vocab_size, batch, length)
        want = loss_by_formula(logits.double(), ids).float()
        expect.close(lesson.next_token_loss(logits, ids), want)

    def test_gradient_is_how_wrong_each_probability_is(self, lesson, draw):
        """Probability minus 1 for the token that came, minus 0 for the others, over the
        number of tokens, B (T - 1) = 6; nothing at the last position. Times the gradient
        at the loss.
        """
        logits, ids = draw.normal(2, 4, 5), draw.ids(5, 2, 4)
        came = torch.eye(5)[ids[:, 1:]]
        want = torch.zeros(2, 4, 5)
        want[:, :3] = 1.7 * (logits[:, :3].softmax(-1) - came) / 6
        got = lesson.next_token_loss.gradients(logits, ids, upstream=torch.tensor(1.7))
        expect.close(got[0], want)

    def test_fewer_than_two_tokens_are_refused(self, lesson, draw):
        """Of one token, none comes next; a mean over nothing is nan."""
        bad = draw.normal(3, 1, 5), draw.ids(5, 3, 1)
        expect.rejects(lesson.next_token_loss, ValueError, bad=bad)


class Remembering(nn.Module):
    """A model that notes how it is called.

    Its logits are a row of the table: that of the sum of all ids so far, modulo V. It keeps these
    in its caches.
    """

    def __init__(self, table, n_layers, max_seq_len):
        super().__init__()
        self.table = nn.Parameter(table)
        self.blocks = nn.ModuleList(nn.Dropout() for _ in range(n_layers))
        self.max_seq_len = max_seq_len
        self.read = []
        self.complaints = []

    def forward(self, ids, caches=None):
        self.read.append(ids.clone())
        given, n_blocks = list(caches or []), len(self.blocks)
        complaints = {
            "in training mode": any(part.training for part in self.modules()),
            "with gradients": torch.is_grad_enabled(),
            "without caches": caches is None,
            f"with {len(given)} caches for {n_blocks} blocks": len(given) not in (0, n_blocks),
            "with the same cache for several blocks": len(set(map(id, given))) < len(given),
            "with caches that were not empty at first": len(self.read) == 1 and any(given),
        }
        for said, holds in complaints.items():
            if holds and said not in self.complaints:  # once, however often it is called
                self.complaints.append(said)
        earlier = given[0]["ids"] if given and given[0] else ids[:, :0]
        so_far = torch.cat((earlier, ids), dim=1)
        for cache in given:
            cache["ids"] = so_far
        sums = so_far.cumsum(dim=1)[:, earlier.shape[1] :]
        return self.table[sums % len(self.table)]

    @property
    def modes(self):
        """Whether each part is in training mode, the model itself first."""
        return [part.training for part in self.modules()]


def remembering(lesson, table, n_layers=2, max_seq_len=20):
    """A `Remembering` on the other side of the door, in evaluation mode."""
    model = lesson.prop(Remembering, table, n_layers, max_seq_len)
    model.train(False)
    return model


def drawn_table(draw, vocab_size):
    """(V, V) logits, in each row 0, 1e-5, 2e-5, ... in some order: close, but all different."""
    order = draw.permutation(vocab_size)
    return torch.stack([order.roll(i) for i in range(vocab_size)]) / 100_000


def most_probable(table, ids, n_new):
    """The prompt and what it is continued with at temperature 0."""
    for _ in range(n_new):
        logits = table[ids.sum(dim=1) % len(table)]
        ids = torch.cat((ids, logits.argmax(dim=1)[:, None]), dim=1)
    return ids


N_TEXTS = 3500
"""So many draws at once that no share is off by 0.05 in a million tests."""


def continuation(got, ids, n_new, vocab_size):
    """(B, n_new) int64: what follows the prompt, once it is known to be ids."""
    got = expect.shape(got, len(ids), ids.shape[1] + n_new)
    expect.that(not got.is_floating_point(), "ids are integers, not floats")
    got = got.long()
    expect.equal(got[:, : ids.shape[1]], ids, what="the prompt, which comes first")
    new = got[:, ids.shape[1] :]
    in_range = bool(((new >= 0) & (new < vocab_size)).all())
    expect.that(in_range, f"the new tokens should be in 0..{vocab_size - 1}")
    return new


def expect_shares(lesson, logits, want, n_new=1, **options):
    """Expect how often each token is drawn in `N_TEXTS` texts, to one decimal.

    Other ways to draw with the same probabilities give the same weights, so rounded.
    """
    size = len(logits)
    ids = torch.arange(2 * N_TEXTS).reshape(N_TEXTS, 2) % size
    got = lesson.generate(remembering(lesson, logits.expand(size, -1)), ids, n_new, **options)
    new = continuation(got, ids, n_new, size)
    weights = torch.stack([one.bincount(minlength=size) for one in new.T]) / N_TEXTS
    weights = (10 * weights).round() / 10
    what = f"the weights of the tokens in {N_TEXTS} draws, rounded"
    expect.close(weights, torch.tensor([want] * n_new).float(), what=what)


@exercise("generate")
class TestGenerate:
    @pytest.mark.parametrize(
        "batch, length, n_new, top_k",
        [(2, 4, 3, None), (3, 1, 66, 2), (2, MANY, 2, None), (1, 3, 0, 1)],
    )
    def test_temperature_0_takes_the_most_probable(self, lesson, draw, batch, length, n_new, top_k):
        """The logits at the last position decide, in every step and for every text separately.
        The prompt comes first; with n_new = 0 there is nothing else. The last token is not
        read, so max_seq_len may be T + n_new - 1.
        """
        table, ids = drawn_table(draw, 7), draw.ids(7, batch, length)
        model = remembering(lesson, table, 6, length + n_new - 1)
        got = lesson.generate(model, ids, n_new, 0, top_k)
        want = most_probable(table, ids, n_new)[:, length:]
        expect.equal(continuation(got, ids, n_new, 7), want, what="the new tokens")

    def test_no_token_is_read_twice(self, lesson, draw):
        """The prompt, then the first two of three new tokens. The last one need not be read.
        Of one text, so that code that continues text by text is right, too.
        """
        table, ids = drawn_table(draw, 7), draw.ids(7, 1, 4)
        model, text = remembering(lesson, table), most_probable(table, ids, 3)
        lesson.generate(model, ids, 3, 0.0)
        read = torch.cat(model.attribute("read"), dim=1)
        end = max(6, min(read.shape[1], 7))
        expect.equal(read, text[:, :end], what="what the model read, in all its calls")

    def test_model_is_called_with_a_cache_for_each_block(self, lesson, draw):
        """Empty at first, the same ones in every call; in evaluation mode, without gradients."""
        model = remembering(lesson, drawn_table(draw, 7), 33)
        model.train()
        lesson.generate(model, draw.ids(7, 2, 4), 3)
        complaints = model.attribute("complaints")
        expect.that(not complaints, f"the model was called {', '.join(complaints)}")

    @pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
    def test_model_is_left_in_its_mode(self, lesson, draw, training):
        """Whoever lets a model write in the middle of training wants to go on training,
        all parts of it.
        """
        model = remembering(lesson, drawn_table(draw, 7))
        model.train(training)
        lesson.generate(model, draw.ids(7, 2, 4), 2)
        what = "training, of the model and each part"
        expect.equal(model.attribute("modes"), [training] * 4, what=what)

    @pytest.mark.parametrize("start", [0, 1])
    def test_the_text_goes_on_whatever_token_was_drawn(self, lesson, start):
        """After ids that sum to s comes 2 s modulo 7. From 0 on all are 0; from 1 on they are
        2, 6, 4, 5, 1 and 3. None of them ends the text.
        """
        table, ids = torch.eye(7)[2 * torch.arange(7) % 7], torch.tensor([[start]])
        got = lesson.generate(remembering(lesson, table), ids, 6, 0.0)
        want = torch.tensor([[0] * 6 if start == 0 else [2, 6, 4, 5, 1, 3]])
        expect.equal(continuation(got, ids, 6, 7), want, what="the new tokens")

    def test_two_texts_begin_anew(self, lesson, draw):
        """Caches belong to one call; the next one begins with empty ones."""
        table = drawn_table(draw, 7)
        model = remembering(lesson, table)
        for batch, length in [(2, 4), (3, 2)]:
            ids = draw.ids(7, batch, length)
            got = lesson.generate(model, ids, 3, temperature=0)
            want = most_probable(table, ids, 3)[:, length:]
            expect.equal(continuation(got, ids, 3, 7), want, what="the new tokens")

    def test_tokens_are_drawn_with_their_probabilities(self, lesson):
        """Logits ln 1, ln 2, ln 5 and ln 2 are probabilities 0.1, 0.2, 0.5 and 0.2, for
        the first new token as for the second; temperature 1 is the default.
        """
        logits = torch.tensor([1.0, 2.0, 5.0, 2.0]).log()
        expect_shares(lesson, logits, [0.1, 0.2, 0.5, 0.2], n_new=2)

    @pytest.mark.parametrize("temperature", [0.5, 2.0, 0.01])
    def test_temperature_divides_the_logits(self, lesson, temperature):
        """Logits that are ln 1, ln 2 and ln 7 times the temperature give 0.1, 0.2 and 0.7, also
        if all are higher by 2: e ** (2 / 0.01) is too large for float32, its share is not.
        """
        logits = temperature * torch.tensor([1.0, 2.0, 7.0]).log() + 2
        expect_shares(lesson, logits, [0.1, 0.2, 0.7], temperature=temperature)

    @pytest.mark.parametrize(
        "top_k, weights, want",
        [
            (1, [2, 1, 6, 4], [0, 0, 1, 0]),
            (2, [2, 1, 6, 4], [0, 0, 0.6, 0.4]),
            (3, [2, 1, 5, 3], [0.2, 0, 0.5, 0.3]),
            (4, [2, 1, 4, 3], [0.2, 0.1, 0.4, 0.3]),
        ],
        ids=["1", "2", "3", "all 4"],
    )
    def test_top_k_draws_from_the_most_probable(self, lesson, top_k, weights, want):
        """Of the weights 2, 1, 6 and 4 the two largest make weights of 0.6 and 0.4."""
        expect_shares(lesson, torch.tensor(weights).log(), want, top_k=top_k)

    @pytest.mark.parametrize("vocab_size, top_k", [(40_000, 26_000), (4_000, None)])
    def test_top_k_may_be_large(self, lesson, vocab_size, top_k):
        """Of 40,000 tokens the last 26,000 are the most probable, all nearly equally: of 20 draws,
        none finds another one, and some the less probable half of them.
        """
        first = vocab_size - (top_k or vocab_size)
        logits = torch.arange(vocab_size) / 1_000_000
        model, ids = remembering(lesson, logits[None]), torch.zeros(20, 1).long()
        got = lesson.generate(model, ids, 1, top_k=top_k, generator=lesson.generator(3))
        new, half = continuation(got, ids, 1, vocab_size), (first + vocab_size) // 2
        expect.that(new.min().item() >= first, f"token {new.min()} is not among the {top_k}")
        expect.that(new.min().item() < half, "none of the less probable half was drawn")

    def test_top_k_and_temperature_go_together(self, lesson):
        """Weights 2, 1 and 8 at temperature 1/2, if their logits are half as large; two stay."""
        logits = 0.5 * torch.tensor([2.0, 1.0, 8.0]).log()
        expect_shares(lesson, logits, [0.2, 0.0, 0.8], temperature=0.5, top_k=2)

    def test_each_text_keeps_its_own_most_probable(self, lesson):
        """Row 0 of the table favors 1 and 2, row 1, whose logits are all lower, 0 and 2: with
        top_k = 2, texts that sum to 0 go on with 1 or 2, those that sum to 1 with 0 or 2.
        """
        table = torch.tensor([[4.0, 5.0, 4.5], [-4.5, -6.0, -5.0], [0.0, 0.0, 9.0]])
        ids = torch.tensor([[0], [1]]).repeat(100, 1)
        got = lesson.generate(remembering(lesson, table), ids, 1, top_k=2)
        new = continuation(got, ids, 1, 3)[:, 0]
        found = [sorted(set(new[start::2].tolist())) for start in (0, 1)]
        expect.equal(
            found, [[1, 2], [0, 2]], what="the tokens that follow texts of sum 0, and of 1"
        )

    def test_new_tokens_of_a_text_are_drawn_one_by_one(self, lesson):
        """Two tokens, equally probable: the second is the same as the first in half of
        all texts, and the next text's as well.
        """
        ids = torch.arange(2 * N_TEXTS).reshape(N_TEXTS, 2) % 2
        model = remembering(lesson, torch.zeros(2, 2))
        got = lesson.generate(model, ids, 2, generator=lesson.generator(5))
        new = continuation(got, ids, 2, 2)
        same = [new[:, 0] == new[:, 1], new[1:, 0] == new[:-1, 0]]
        weights = [round((one.sum() / len(one)).item(), 1) for one in same]
        what = "how often two draws are the same, in a text and in two neighbors, rounded"
        expect.equal(weights, [0.5, 0.5], what=what)

    def test_a_generator_alone_decides_what_is_drawn(self, lesson):
        """The same seed gives the same tokens, whatever else is drawn; another seed gives
        others. And what is drawn elsewhere does not depend on it.
        """
        model, ids = remembering(lesson, torch.zeros(5, 5)), torch.ones(9, 2).long()
        texts, numbers = [], []
        for seed_of_all, seed in [(1, 3), (2, 3), (2, 4)]:
            lesson.seed(seed_of_all)
            got = lesson.generate(model, ids, 6, generator=lesson.generator(seed))
            texts.append(continuation(got, ids, 6, 5))
            numbers.append(lesson.random_number())
        expect.that(texts[1].equal(texts[0]), "the same generator should give the same tokens")
        expect.that(not texts[2].equal(texts[0]), "another generator should give other tokens")
        lesson.seed(2)
        untouched = lesson.random_number() == numbers[1] == numbers[2]
        expect.that(untouched, "with a generator, nothing should be drawn from the global one")

    def test_without_a_generator_the_global_one_is_used(self, lesson):
        """Its seed repeats the tokens, and nobody sets that seed."""
        model, ids = remembering(lesson, torch.zeros(5, 5)), torch.ones(9, 2).long()
        texts = []
        for seed in (1, 1, 2):
            lesson.seed(seed)
            texts.append(continuation(lesson.generate(model, ids, 6), ids, 6, 5))
        expect.that(texts[1].equal(texts[0]), "the same global seed should give the same tokens")
        expect.that(not texts[2].equal(texts[0]), "another seed should give other tokens")

    @pytest.mark.parametrize(
        "bad",
        [(2, -0.5), (2, 1.0, 0), (18,)],
        ids=["temperature below 0", "top_k below 1", "more than the positions"],
    )
    def test_what_cannot_be_done_is_refused(self, lesson, draw, bad):
        """A temperature of -0.5, no token to choose from, and T + n_new = 22 tokens for 20
        positions, of which the last one alone need not be read.
        """
        model, ids = remembering(lesson, drawn_table(draw, 7)), draw.ids(7, 2, 4)
        expect.rejects(lesson.generate, ValueError, bad=(model, ids, *bad))
