"""Lesson 9: a real model on your code. Grades `exercises/llama.py`.

Shapes: B batch, T tokens, C features of a token, H query heads, K key heads, D = C / H features of
a head, M hidden features, V tokens of the vocabulary.
"""

import math

import pytest
import torch
from torch import nn

from course.testing import corner, exercise, expect
from course.testing.show import show_dtype

OTHER_FLOATS = [torch.float64, torch.bfloat16]
# sums whose steps are rounded in another order differ by so much
ROUNDING = {torch.float64: 1e-4, torch.bfloat16: 1e-1}
SMALL_INTEGERS = [torch.int32, torch.int16, torch.int8, torch.uint8]


# --- what is expected, in float64 ---------------------------------------------------------------


def rms_normed(x, weight, eps=1e-5):
    """(..., C): each row over the root of its mean square, then scaled."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


def turned(x, base):
    """(B, H, T, D): features i and D/2 + i of token t, turned by t * base ** (-2i / D)."""
    length, width = x.shape[-2:]
    rates = [base ** (-2 * i / width) for i in range(width // 2)]
    angles = torch.tensor([[t * rate for rate in rates] for t in range(length)]).double()
    a, b = x[..., : width // 2], x[..., width // 2 :]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


def heads_of(x, n_heads):
    """(B, H, T, D): the features of head h are h * D .. (h + 1) * D - 1."""
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=1)


def attention_of(x, weights, n_heads, n_kv_heads, base=10000.0, part=""):
    """(B, T, C): one query head after another, each with its share of the key heads."""
    q = turned(heads_of(x @ weights[f"{part}q_proj.weight"].T, n_heads), base)
    k = turned(heads_of(x @ weights[f"{part}k_proj.weight"].T, n_kv_heads), base)
    v = heads_of(x @ weights[f"{part}v_proj.weight"].T, n_kv_heads)
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    found = []
    for head in range(n_heads):
        shared = head // (n_heads // n_kv_heads)
        scores = q[:, head] @ k[:, shared].transpose(1, 2) / q.shape[-1] ** 0.5
        found.append(scores.masked_fill(later, -torch.inf).softmax(-1) @ v[:, shared])
    return torch.cat(found, dim=-1) @ weights[f"{part}out_proj.weight"].T


def mlp_of(x, weights, part=""):
    """(..., C): the gate decides, by z times the logistic function of z, what passes."""
    z = x @ weights[f"{part}gate.weight"].T
    passed = z / (1 + (-z).exp()) * (x @ weights[f"{part}up.weight"].T)
    return passed @ weights[f"{part}down.weight"].T


def logits_of(ids, weights, sizes, base=10000.0, eps=1e-5):
    """(B, T, V): the rows of the ids, the blocks, the norm, and the table once more."""
    table, x = weights["tokens.weight"], weights["tokens.weight"][ids.long()]
    for layer in range(sizes["n_layers"]):
        part = f"blocks.{layer}."
        heads = sizes["n_heads"], sizes["n_kv_heads"], base, f"{part}attention."
        x = x + attention_of(rms_normed(x, weights[f"{part}norm1.weight"], eps), weights, *heads)
        inner = rms_normed(x, weights[f"{part}norm2.weight"], eps)
        x = x + mlp_of(inner, weights, f"{part}mlp.")
    return rms_normed(x, weights["norm.weight"], eps) @ table.T


def differentiated(function, upstream, *values):
    """The gradients at some float64 tensors, by autograd through one of the formulas above."""
    values = [value.double().requires_grad_() for value in values]
    return torch.autograd.grad(function(*values), values, upstream.double())


# --- modules with weights that the tests know ---------------------------------------------------


def attention_shapes(n_embd, n_heads, n_kv_heads, prefix=""):
    """The shape of each weight of an attention, by its name."""
    of_keys = n_kv_heads * n_embd // n_heads
    rows = {"q_proj": n_embd, "k_proj": of_keys, "v_proj": of_keys, "out_proj": n_embd}
    return {f"{prefix}{name}.weight": (n, n_embd) for name, n in rows.items()}


def mlp_shapes(n_embd, n_hidden, prefix=""):
    """The shape of each weight of an MLP, by its name."""
    shapes = {"gate": (n_hidden, n_embd), "up": (n_hidden, n_embd), "down": (n_embd, n_hidden)}
    return {f"{prefix}{name}.weight": shape for name, shape in shapes.items()}


def llama_shapes(sizes):
    """The shape of each weight of a `Llama`, by its name."""
    width = sizes["n_embd"]
    shapes = {"tokens.weight": (sizes["vocab_size"], width), "norm.weight": (width,)}
    for layer in range(sizes["n_layers"]):
        part = f"blocks.{layer}."
        shapes |= {f"{part}norm1.weight": (width,), f"{part}norm2.weight": (width,)}
        heads = sizes["n_heads"], sizes["n_kv_heads"]
        shapes |= attention_shapes(width, *heads, f"{part}attention.")
        shapes |= mlp_shapes(width, sizes["n_hidden"], f"{part}mlp.")
    return shapes


def drawn_weights(draw, shapes):
    """Numbers for weights of these shapes; those of a norm lie around 1."""
    weights = {name: 0.4 * draw.normal(*shape) for name, shape in shapes.items()}
    return {name: w + 1 if "norm" in name else w for name, w in weights.items()}


def filled(module, draw, shapes):
    """Write drawn numbers into the parameters of a module, and return them, in float64."""
    weights = drawn_weights(draw, shapes)
    module.set(**{name.replace(".", "__"): numbers for name, numbers in weights.items()})
    return {name: numbers.double() for name, numbers in weights.items()}


def sizes_of(vocab_size=11, n_embd=12, n_heads=6, n_kv_heads=2, n_layers=2, n_hidden=20, **others):
    """The arguments of a `Llama`, with 9 positions unless others are named."""
    named = {"vocab_size": vocab_size, "n_embd": n_embd, "n_heads": n_heads}
    named |= {"n_kv_heads": n_kv_heads, "n_layers": n_layers, "n_hidden": n_hidden}
    return named | {"max_seq_len": 9} | others


class Cache(dict):
    """What a test hands over as a cache: always the same object."""


def without_gradients(module):
    """Say that nothing is to be trained: texts are read with a cache when a model is used."""
    module.requires_grad_(False)


def read_in_two_pieces(module, x):
    """Let a module read a text with a cache, two tokens first."""
    cache = {}
    with torch.no_grad():
        return torch.cat((module(x[:, :2], cache), module(x[:, 2:], cache)), dim=1)


def numbers_kept(cache):
    """Count the numbers of all tensors in a cache, also inside of lists, tuples and dicts."""
    seen, rest, found = set(), [cache], 0
    while rest:
        thing = rest.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            found += thing.numel()
        elif isinstance(thing, dict):
            rest += thing.values()
        elif isinstance(thing, list | tuple):
            rest += thing
    return found


def expect_weights(got, want):
    """Expect a dict with these names, in any order, and these numbers."""
    expect.that(isinstance(got, dict), f"a dict of weights belongs here, not {type(got).__name__}")
    expect.equal(sorted(map(str, got)), sorted(want), what="the names of the weights, sorted")
    for name, weight in want.items():
        expect.equal(got[name], weight, what=name)


def expect_device_of_x(function, *args):
    """Expect the result where x is, or of a body that needs the numbers, its new tensors there."""
    if not expect.follows_device(function, *args):
        expect.stays_on_device(function, *args)


# --- the exercises ------------------------------------------------------------------------------


@exercise("RMSNorm")
class TestRMSNorm:
    def test_rows_are_divided_by_their_root_mean_square(self, lesson):
        """(3, 4) has the squares 9 and 16, the mean 12.5 and the root √12.5 = 3.536, so it
        becomes (0.849, 1.131). The mean 3.5 isn't subtracted.
        """
        got = lesson.RMSNorm(2)(torch.tensor([[3.0, 4.0]]))
        expect.close(got, torch.tensor([[3.0, 4.0]]) / math.sqrt(12.5))

    def test_weight_starts_as_ones_and_scales_each_feature(self, lesson):
        """Weights 2 and 10 on the row (1, 1), whose root mean square is 1: (2, 10)."""
        norm = lesson.RMSNorm(2)
        expect_weights(norm.parameters, {"weight": torch.ones(2)})
        norm.set(weight=torch.tensor([2.0, 10.0]))
        expect.close(norm(torch.ones(1, 2)), torch.tensor([[2.0, 10.0]]))

    @pytest.mark.parametrize("shape", [(12,), (5, 12), (2, 5, 12), (2, 3, 5, 12)], ids=str)
    def test_each_row_is_normed_by_itself(self, lesson, draw, shape):
        """The mean runs over the last axis only, whatever axes come before it."""
        norm = lesson.RMSNorm(12)
        weight = draw.normal(12)
        norm.set(weight=weight)
        x = 3 * draw.normal(*shape) + 1
        expect.close(norm(x), rms_normed(x.double(), weight.double()).float())

    @pytest.mark.parametrize("eps", [None, 1e-6, 0.5])
    def test_eps_is_added_to_the_mean_of_the_squares(self, lesson, draw, eps):
        """Rows around 0.003 have a mean square of 1e-5, where each place of eps shows; it's
        1e-5 if you don't name one.
        """
        norm = lesson.RMSNorm(12) if eps is None else lesson.RMSNorm(12, eps=eps)
        x = 0.003 * draw.normal(4, 12)
        want = rms_normed(x.double(), torch.ones(12).double(), 1e-5 if eps is None else eps)
        expect.close(norm(x), want.float())

    def test_gradient_reaches_x_and_the_weight(self, lesson, draw):
        """By autograd through the formula, in float64."""
        norm, weight = lesson.RMSNorm(6), draw.normal(6)
        norm.set(weight=weight)
        x, upstream = draw.normal(2, 5, 6), draw.normal(2, 5, 6)
        got = norm.gradients(x, upstream=upstream)
        want = differentiated(rms_normed, upstream, x, weight)
        expect.close(got[0], want[0].float(), tolerance=1e-4)
        expect.close(got["weight"], want[1].float(), tolerance=1e-4)

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        norm, x = lesson.RMSNorm(12), draw.normal(2, 5, 12)
        for training in (True, False):
            norm.train(training)
            expect.close(norm(x), rms_normed(x.double(), torch.ones(12).double()).float())

    @pytest.mark.parametrize("size", [0.0, 1e-30])
    def test_tiny_rows_stay_finite(self, lesson, size):
        """eps keeps a row of zeros at zero, and its gradient finite: upstream / √eps."""
        norm, x = lesson.RMSNorm(4), torch.full((2, 4), size)
        expect.close(norm(x), x / math.sqrt(1e-5))
        got = norm.gradients(x, upstream=torch.ones(2, 4))
        expect.close(got[0], torch.full((2, 4), 1e5**0.5), tolerance=1e-4)


@exercise("RMSNorm")
@corner
class TestRMSNormCorners:
    def test_result_is_on_the_device_of_x(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.RMSNorm(12), draw.normal(2, 5, 12))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_computes_there(self, lesson, draw, dtype):
        """What comes as bfloat16 leaves as bfloat16, and so for float64."""
        norm, x = lesson.RMSNorm(12), draw.normal(2, 5, 12, dtype=dtype)
        norm.to(dtype)
        want = rms_normed(x.double(), torch.ones(12).double()).to(dtype)
        expect.close(norm(x), want, tolerance=ROUNDING[dtype])


@exercise("repeat_heads")
class TestRepeatHeads:
    def test_neighbors_share_a_head(self, lesson):
        """Two heads, 1 and 2, twice each: query heads 0 and 1 read head 0, so the order is
        1 1 2 2 and not 1 2 1 2.
        """
        x = torch.tensor([1.0, 2.0]).reshape(1, 2, 1, 1)
        want = torch.tensor([1.0, 1.0, 2.0, 2.0]).reshape(1, 4, 1, 1)
        expect.equal(lesson.repeat_heads(x, 2), want)

    @pytest.mark.parametrize(
        "batch, n_heads, length, width, n_repeats",
        [(2, 3, 5, 4, 2), (3, 2, 1, 6, 4), (4, 4, 4, 4, 4), (1, 1, 3, 2, 5), (2, 3, 4, 5, 1)],
    )
    def test_head_h_is_head_h_over_n(self, lesson, draw, batch, n_heads, length, width, n_repeats):
        """Every head n times in a row, for every text and token; once leaves x as it is."""
        x = draw.normal(batch, n_heads, length, width)
        want = torch.stack([x[:, h // n_repeats] for h in range(n_heads * n_repeats)], dim=1)
        expect.equal(lesson.repeat_heads(x, n_repeats=n_repeats), want)

    def test_gradients_of_the_copies_add_up(self, lesson, draw):
        """What three query heads send back to their key head is summed."""
        x, upstream = draw.normal(2, 2, 5, 4), draw.normal(2, 6, 5, 4)
        got = lesson.repeat_heads.gradients(x, 3, upstream=upstream)
        expect.close(got[0], torch.stack([upstream[:, :3].sum(1), upstream[:, 3:].sum(1)], dim=1))


@exercise("repeat_heads")
@corner
class TestRepeatHeadsCorners:
    @pytest.mark.parametrize("n_repeats", [0, -3])
    def test_fewer_than_one_copy_is_refused(self, lesson, draw, n_repeats):
        """No head would be left."""
        x = draw.normal(2, 5, 7, 4)
        expect.rejects(lesson.repeat_heads, ValueError, bad=(x, n_repeats), mentions=(n_repeats,))

    def test_result_is_on_the_device_of_x(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.repeat_heads, draw.normal(2, 3, 5, 4), 2)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_dtype_stays(self, lesson, draw, dtype):
        """Heads are copied, not computed with."""
        x = draw.normal(2, 3, 5, 4, dtype=dtype)
        expect.equal(lesson.repeat_heads(x, 2), x.repeat_interleave(2, dim=1))


@exercise("GroupedQueryAttention")
class TestGroupedQueryAttention:
    @pytest.mark.parametrize("n_embd, n_heads, n_kv_heads", [(12, 6, 2), (12, 3, 3), (16, 4, 1)])
    def test_keys_and_values_have_fewer_rows(self, lesson, n_embd, n_heads, n_kv_heads):
        """Queries have H heads, keys and values K: (K D, C) weights. All are trained."""
        attention = lesson.GroupedQueryAttention(n_embd, n_heads, n_kv_heads, 16)
        shapes = {name: tuple(weight.shape) for name, weight in attention.parameters.items()}
        want = attention_shapes(n_embd, n_heads, n_kv_heads)
        expect.equal(shapes, want)
        expect.equal(sorted(attention.trainable), sorted(want))

    @pytest.mark.parametrize(
        "batch, length, n_embd, n_heads, n_kv_heads",
        [(2, 5, 12, 6, 2), (3, 4, 24, 4, 2), (1, 7, 16, 4, 1), (2, 6, 12, 3, 3), (4, 1, 8, 2, 1)],
    )
    def test_query_head_h_reads_key_head_h_over_the_share(
        self, lesson, draw, batch, length, n_embd, n_heads, n_kv_heads
    ):
        """Neighboring query heads share keys and values; queries and keys are turned, and the
        heads go next to each other through the output projection.
        """
        attention = lesson.GroupedQueryAttention(n_embd, n_heads, n_kv_heads, 9)
        weights = filled(attention, draw, attention_shapes(n_embd, n_heads, n_kv_heads))
        x = draw.normal(batch, length, n_embd)
        want = attention_of(x.double(), weights, n_heads, n_kv_heads).float()
        expect.close(attention(x), want, tolerance=1e-4)

    @pytest.mark.parametrize("base", [10.0, 100000.0])
    def test_base_is_the_one_that_is_given(self, lesson, draw, base):
        """Another base turns the pairs at other rates."""
        attention = lesson.GroupedQueryAttention(24, 2, 1, 40, base=base)
        weights = filled(attention, draw, attention_shapes(24, 2, 1))
        x = draw.normal(1, 30, 24)
        want = attention_of(x.double(), weights, 2, 1, base).float()
        expect.close(attention(x), want, tolerance=1e-4)

    @pytest.mark.parametrize(
        "lengths", [(7,), (4, 3), (1,) * 7, (2, 1, 3, 1)], ids=lambda lengths: str(lengths)
    )
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths):
        """One cache for all pieces, whose positions go on counting."""
        attention = lesson.GroupedQueryAttention(12, 6, 2, 7)
        weights = filled(attention, draw, attention_shapes(12, 6, 2))
        lesson.prop(without_gradients)(attention)
        x, cache, start = draw.normal(2, 7, 12), lesson.prop(Cache), 0
        want = attention_of(x.double(), weights, 6, 2).float()
        for length in lengths:
            got = attention(x[:, start : start + length], cache)
            expect.close(got, want[:, start : start + length], tolerance=1e-4)
            start += length

    def test_the_cache_keeps_key_heads_and_not_query_heads(self, lesson, draw):
        """B = 2, K = 1, D = 8 and 72 positions: 2 * 2 * 1 * 72 * 8 = 2,304 numbers, and 1,024
        more for whatever else is kept. Kept for H = 8 heads, they'd be 18,432; with room for 128
        positions, 4,096.
        """
        attention, cache = lesson.GroupedQueryAttention(64, 8, 1, 72), lesson.prop(Cache)
        lesson.prop(without_gradients)(attention)
        for _ in range(9):
            attention(draw.normal(2, 8, 64), cache)
        kept = lesson.prop(numbers_kept)(cache)
        expect.that(
            kept <= 2304 + 1024,
            f"after 72 tokens of 2 texts the cache holds {kept:,} numbers, where keys and values "
            "of one head are 2,304",
        )

    def test_two_texts_have_a_cache_each(self, lesson, draw):
        """Read in turns, neither text sees the other, and a text without a cache sees none."""
        attention = lesson.GroupedQueryAttention(8, 4, 2, 10)
        weights = filled(attention, draw, attention_shapes(8, 4, 2))
        lesson.prop(without_gradients)(attention)
        texts = draw.normal(2, 3, 6, 8)
        caches = [lesson.prop(Cache) for _ in texts]
        for start, end in [(0, 2), (2, 3), (3, 6)]:
            for text, cache in zip(texts, caches, strict=True):
                want = attention_of(text.double(), weights, 4, 2)[:, start:end].float()
                expect.close(attention(text[:, start:end], cache=cache), want, tolerance=1e-4)
        want = attention_of(texts[0].double(), weights, 4, 2).float()
        expect.close(attention(texts[0]), want, tolerance=1e-4)

    def test_later_tokens_change_nothing(self, lesson, draw):
        """Another token at position 3: what comes before stays."""
        attention = lesson.GroupedQueryAttention(12, 6, 2, 9)
        filled(attention, draw, attention_shapes(12, 6, 2))
        x = draw.normal(2, 5, 12)
        before = expect.tensors(attention(x), "the result")
        x[:, 3] = -x[:, 3]
        after = expect.tensors(attention(x), "the result")
        expect.close(after[:, :3], before[:, :3], what="positions 0 to 2")

    def test_gradient_reaches_all_weights_and_x(self, lesson, draw):
        """A key head gets the sum of what its query heads send back. By autograd, in float64."""
        attention = lesson.GroupedQueryAttention(12, 6, 2, 9)
        weights = filled(attention, draw, attention_shapes(12, 6, 2))
        x, upstream = draw.normal(2, 5, 12), draw.normal(2, 5, 12)
        got = attention.gradients(x, upstream=upstream)

        def of(x, *values):
            return attention_of(x, dict(zip(weights, values, strict=True)), 6, 2)

        want = differentiated(of, upstream, x, *weights.values())
        for place, gradient in zip([0, *weights], want, strict=True):
            expect.close(got[place], gradient.float(), tolerance=1e-4)

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        attention = lesson.GroupedQueryAttention(12, 6, 2, 9)
        weights = filled(attention, draw, attention_shapes(12, 6, 2))
        x = draw.normal(2, 5, 12)
        want = attention_of(x.double(), weights, 6, 2).float()
        for training in (True, False):
            attention.train(training)
            expect.close(attention(x), want, tolerance=1e-4)


@exercise("GroupedQueryAttention")
@corner
class TestGroupedQueryAttentionCorners:
    @pytest.mark.parametrize(
        "n_embd, n_heads, n_kv_heads, named",
        [(14, 4, 2, (14, 4)), (16, 3, 1, (16, 3)), (24, 6, 4, (6, 4)), (16, 2, 4, (2, 4))],
    )
    def test_heads_that_do_not_go_up_are_refused(self, lesson, n_embd, n_heads, n_kv_heads, named):
        """14 features are no four heads, and six query heads can't share four key heads."""
        expect.rejects(
            lesson.GroupedQueryAttention,
            ValueError,
            bad=(n_embd, n_heads, n_kv_heads, 9),
            mentions=named,
        )

    def test_result_is_on_the_device_of_x(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        attention, x = lesson.GroupedQueryAttention(12, 6, 2, 9), draw.normal(2, 5, 12)
        expect_device_of_x(attention, x)
        expect.stays_on_device(lesson.prop(read_in_two_pieces), attention, x)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_turns_as_before(self, lesson, dtype):
        """Only token 5 has a key, in pair 1 of D = 12, which turns 10000 ** (-1/6) = 0.2154
        radians a position. So a query at i has the score 36 cos(0.2154 (i - 5)) / √12 with it
        and 0 with the i others. They are far apart, so rates or positions that `.to(dtype)`
        rounds make another angle; a complex buffer loses its imaginary part.
        """
        attention = lesson.GroupedQueryAttention(12, 1, 1, 1000)
        attention.to(dtype)
        q, k, v = torch.zeros(3, 12, 12, dtype=dtype)
        q[1, 0] = k[1, 1] = 6.0
        v[0, 1] = 1.0
        one = torch.eye(12, dtype=dtype)
        attention.set(q_proj__weight=q, k_proj__weight=k, v_proj__weight=v, out_proj__weight=one)
        x = torch.zeros(1, 1000, 12, dtype=dtype)
        x[0, :, 0] = x[0, 5, 1] = 1.0
        places = torch.arange(960, 1000).double()
        weight = (36 * ((places - 5) * 10000 ** (-1 / 6)).cos() / 12**0.5).exp()
        got = expect.tensors(attention(x), "the result")
        expect.equal(tuple(got.shape), (1, 1000, 12), what="the shape of the result")
        want = (weight / (weight + places)).to(dtype)
        expect.close(got[0, 960:, 0], want, tolerance=0.1, what="the share of token 5")


@exercise("GatedMLP")
class TestGatedMLP:
    def test_parameters_are_three_layers(self, lesson):
        """Two layers that widen, and one that narrows again; no biases. All are trained."""
        mlp = lesson.GatedMLP(12, 20)
        shapes = {name: tuple(weight.shape) for name, weight in mlp.parameters.items()}
        expect.equal(shapes, mlp_shapes(12, 20))
        expect.equal(sorted(mlp.trainable), sorted(shapes))

    def test_the_gate_goes_through_silu_and_lets_the_other_pass(self, lesson):
        """x = 1, gate 2, up 3, down 5: silu(2) = 2 / (1 + e ** -2) = 1.762, times 3, times 5
        is 26.42. With silu on the other branch it'd be 28.58.
        """
        mlp = lesson.GatedMLP(1, 1)
        two, three, five = torch.tensor([[[2.0]], [[3.0]], [[5.0]]])
        mlp.set(gate__weight=two, up__weight=three, down__weight=five)
        expect.close(mlp(torch.ones(1, 1, 1)), torch.full((1, 1, 1), 30 / (1 + math.exp(-2))))

    @pytest.mark.parametrize("shape", [(12,), (5, 12), (2, 5, 12)], ids=str)
    def test_each_token_by_itself(self, lesson, draw, shape):
        """down(silu(gate(x)) * up(x)), for values of both signs, where silu and GELU differ."""
        mlp = lesson.GatedMLP(12, 20)
        weights = filled(mlp, draw, mlp_shapes(12, 20))
        x = 3 * draw.normal(*shape)
        expect.close(mlp(x), mlp_of(x.double(), weights).float(), tolerance=1e-4)

    def test_gradient_reaches_all_weights_and_x(self, lesson, draw):
        """By autograd through the formula, in float64."""
        mlp = lesson.GatedMLP(6, 10)
        weights = filled(mlp, draw, mlp_shapes(6, 10))
        x, upstream = draw.normal(2, 5, 6), draw.normal(2, 5, 6)
        got = mlp.gradients(x, upstream=upstream)

        def of(x, *values):
            return mlp_of(x, dict(zip(weights, values, strict=True)))

        want = differentiated(of, upstream, x, *weights.values())
        for place, gradient in zip([0, *weights], want, strict=True):
            expect.close(got[place], gradient.float(), tolerance=1e-4)

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        mlp, x = lesson.GatedMLP(12, 20), draw.normal(2, 5, 12)
        weights = filled(mlp, draw, mlp_shapes(12, 20))
        for training in (True, False):
            mlp.train(training)
            expect.close(mlp(x), mlp_of(x.double(), weights).float(), tolerance=1e-4)


@exercise("GatedMLP")
@corner
class TestGatedMLPCorners:
    def test_result_is_on_the_device_of_x(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.GatedMLP(12, 20), draw.normal(2, 5, 12))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_computes_there(self, lesson, draw, dtype):
        """What comes as bfloat16 leaves as bfloat16, and so for float64."""
        mlp, x = lesson.GatedMLP(12, 20), draw.normal(2, 5, 12, dtype=dtype)
        weights = filled(mlp, draw, mlp_shapes(12, 20))
        mlp.to(dtype)
        rounded = {name: weight.to(dtype).double() for name, weight in weights.items()}
        want = mlp_of(x.double(), rounded).to(dtype)
        expect.close(mlp(x), want, tolerance=ROUNDING[dtype])


def number_of_blocks(model):
    """Count the blocks of a model in two ways, as `generate` may."""
    return [len(model.blocks), len([block for block in model.blocks])]


@exercise("Llama")
class TestLlama:
    @pytest.mark.parametrize("sizes", [sizes_of(), sizes_of(40, 8, 4, 1, 11, 6)], ids=["2", "11"])
    def test_parameters_have_the_names_of_the_published_weights(self, lesson, sizes):
        """One table, one last norm, and nine weights in each block; none is an output table.
        All are trained.
        """
        model, want = lesson.Llama(**sizes), llama_shapes(sizes)
        shapes = {name: tuple(weight.shape) for name, weight in model.parameters.items()}
        expect.equal(sorted(shapes), sorted(want), what="the names of the parameters, sorted")
        expect.equal(shapes, {name: want[name] for name in shapes})
        expect.equal(sorted(model.trainable), sorted(want))

    def test_table_starts_as_that_of_lesson_1(self, lesson):
        """`TokenEmbedding` draws from N(0, 0.02²); 6 000 numbers show it."""
        table = lesson.Llama(**sizes_of(500)).parameters["tokens.weight"]
        size = table.square().mean().sqrt().item()
        expect.that(0.018 < size < 0.022, f"tokens.weight has the rms {size:.3g}, not 0.02")

    def test_blocks_can_be_counted(self, lesson):
        """`generate` makes a cache for each block: of three, three."""
        model = lesson.Llama(**sizes_of(n_layers=3))
        expect.equal(lesson.prop(number_of_blocks)(model), [3, 3])

    @pytest.mark.parametrize(
        "batch, length, sizes",
        [
            (2, 5, sizes_of()),
            (3, 4, sizes_of(300, 8, 4, 1, 1, 12)),
            (1, 6, sizes_of(7, 16, 2, 2, 3, 10)),
        ],
        ids=["2 blocks", "1 block", "3 blocks"],
    )
    def test_logits_are_products_with_the_rows_of_the_table(
        self, lesson, draw, batch, length, sizes
    ):
        """The row of each id; in every block what is normed first, then added; a last norm; and
        the product with every row of the same table.
        """
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        ids = draw.ids(sizes["vocab_size"], batch, length)
        expect.close(model(ids), logits_of(ids, weights, sizes).float(), tolerance=1e-3)

    @pytest.mark.parametrize("base", [10.0, 100000.0])
    def test_base_reaches_every_attention(self, lesson, draw, base):
        """SmolLM2's base is 100,000. Another one turns queries and keys at other rates."""
        sizes = sizes_of(n_embd=24, n_heads=2, n_kv_heads=1, max_seq_len=32)
        model = lesson.Llama(**sizes, base=base)
        weights = filled(model, draw, llama_shapes(sizes))
        ids = draw.ids(11, 1, 24)
        want = logits_of(ids, weights, sizes, base=base).float()
        expect.close(model(ids), want, tolerance=1e-3)

    @pytest.mark.parametrize("eps", [None, 0.5])
    def test_eps_reaches_every_norm(self, lesson, draw, eps):
        """The rows of a fresh table are so small that eps shows."""
        sizes = sizes_of()
        model = lesson.Llama(**sizes) if eps is None else lesson.Llama(**sizes, eps=eps)
        weights = filled(model, draw, llama_shapes(sizes))
        weights["tokens.weight"] *= 0.01
        model.set(tokens__weight=weights["tokens.weight"].float())
        ids = draw.ids(11, 2, 5)
        want = logits_of(ids, weights, sizes, eps=1e-5 if eps is None else eps).float()
        expect.close(model(ids), want, tolerance=1e-4)

    @pytest.mark.parametrize("lengths", [(5, 2), (1,) * 7], ids=lambda lengths: str(lengths))
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths):
        """Each block has its own cache, the same for all pieces."""
        sizes = sizes_of(n_layers=3, max_seq_len=7)
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        lesson.prop(without_gradients)(model)
        ids, start = draw.ids(11, 2, 7), 0
        want = logits_of(ids, weights, sizes).float()
        caches = [lesson.prop(Cache) for _ in range(3)]
        for length in lengths:
            got = model(ids[:, start : start + length], caches=caches)
            expect.close(got, want[:, start : start + length], tolerance=1e-3)
            start += length

    def test_two_texts_have_their_own_caches(self, lesson, draw):
        """Read in turns, neither text sees the other or counts its positions."""
        sizes = sizes_of(max_seq_len=6)
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        lesson.prop(without_gradients)(model)
        texts = draw.ids(11, 2, 3, 6)
        caches = [[lesson.prop(Cache) for _ in range(2)] for _ in texts]
        for start, end in [(0, 2), (2, 3), (3, 6)]:
            for ids, of_text in zip(texts, caches, strict=True):
                want = logits_of(ids, weights, sizes)[:, start:end].float()
                expect.close(model(ids[:, start:end], caches=of_text), want, tolerance=1e-3)

    def test_later_ids_change_nothing(self, lesson, draw):
        """A model that saw the next token would have nothing to guess."""
        sizes = sizes_of()
        model = lesson.Llama(**sizes)
        filled(model, draw, llama_shapes(sizes))
        ids = draw.ids(11, 2, 5)
        before = expect.tensors(model(ids), "the logits")
        ids[:, 3] = (ids[:, 3] + 1) % 11
        after = expect.tensors(model(ids), "the logits")
        expect.close(after[:, :3], before[:, :3], what="positions 0 to 2")

    def test_gradient_reaches_the_table_twice_and_all_else(self, lesson, draw):
        """The table gets a gradient as input and as output. By autograd, in float64."""
        sizes = sizes_of(7, 8, 4, 2, 2, 6)
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        ids, upstream = draw.ids(5, 2, 5), draw.normal(2, 5, 7)
        got = model.gradients(ids, upstream=upstream)

        def of(*values):
            return logits_of(ids, dict(zip(weights, values, strict=True)), sizes)

        want = differentiated(of, upstream, *weights.values())
        for name, gradient in zip(weights, want, strict=True):
            expect.close(got[name], gradient.float(), tolerance=1e-3)

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and the logits of all positions are returned."""
        sizes = sizes_of()
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        ids = draw.ids(11, 2, 5)
        for training in (True, False):
            model.train(training)
            expect.close(model(ids), logits_of(ids, weights, sizes).float(), tolerance=1e-3)


@exercise("Llama")
@corner
class TestLlamaCorners:
    def test_a_longer_text_is_refused(self, lesson, draw):
        """max_seq_len = 6 positions: six tokens fit, the seventh has none."""
        expect.rejects(
            lesson.Llama(**sizes_of(max_seq_len=6)),
            ValueError,
            good=(draw.ids(11, 2, 6),),
            bad=(draw.ids(11, 2, 7),),
            mentions=((7, 6),),
        )

    @pytest.mark.parametrize("first, more, total", [(6, 1, 7), (2, 9, 11)])
    def test_positions_in_the_caches_count(self, lesson, draw, first, more, total):
        """A piece goes on where the caches end; all positions together are counted."""
        model = lesson.Llama(**sizes_of(max_seq_len=6))
        caches = [lesson.prop(Cache) for _ in range(2)]
        lesson.prop(without_gradients)(model)
        model(draw.ids(11, 3, first), caches)
        expect.rejects(
            model, ValueError, bad=(draw.ids(11, 3, more), caches), mentions=((total, 6),)
        )

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of an id says how it is stored, not which row it names."""
        sizes = sizes_of(300, 8, 4, 2, 1, 6)
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        ids = draw.ids(120, 2, 5, dtype=dtype)
        expect.close(model(ids), logits_of(ids, weights, sizes).float(), tolerance=1e-3)

    def test_result_is_on_the_device_of_the_ids(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.Llama(**sizes_of()), draw.ids(11, 2, 5))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_gives_logits_of_that_dtype(self, lesson, draw, dtype):
        """A model in bfloat16 takes half the memory; its logits are in bfloat16, too."""
        model, ids = lesson.Llama(**sizes_of()), draw.ids(11, 2, 5)
        model.to(dtype)
        got = expect.tensors(model(ids), "the logits")
        expect.equal(got.dtype, dtype, what="the dtype of the logits")


GGUF_NAMES = {
    "attn_norm": "norm1",
    "attn_q": "attention.q_proj",
    "attn_k": "attention.k_proj",
    "attn_v": "attention.v_proj",
    "attn_output": "attention.out_proj",
    "ffn_norm": "norm2",
    "ffn_gate": "mlp.gate",
    "ffn_up": "mlp.up",
    "ffn_down": "mlp.down",
}


def interleaved(weight, n_heads):
    """(H D, C): rows i and D/2 + i of each head, in split halves, next to each other."""
    heads = weight.reshape(n_heads, 2, -1, weight.shape[1])
    return heads.transpose(1, 2).reshape(weight.shape)


def as_in_gguf(weights, n_heads, n_kv_heads):
    """The weights of a `Llama` by GGUF's names, with the rows of q and k interleaved."""
    found = {
        "token_embd.weight": weights["tokens.weight"],
        "output_norm.weight": weights["norm.weight"],
    }
    for gguf, ours in GGUF_NAMES.items():
        for name, weight in weights.items():
            if name.startswith("blocks.") and name.endswith(f".{ours}.weight"):
                if gguf in ("attn_q", "attn_k"):
                    weight = interleaved(weight, n_heads if gguf == "attn_q" else n_kv_heads)
                found[f"blk.{name.split('.')[1]}.{gguf}.weight"] = weight
    return found


@exercise("weights_from_gguf")
class TestWeightsFromGGUF:
    @pytest.mark.parametrize("name, ours", GGUF_NAMES.items())
    def test_each_weight_of_a_block_gets_its_name(self, lesson, draw, name, ours):
        """`blk.3.attn_q.weight` becomes `blocks.3.attention.q_proj.weight`, and so on."""
        shape = (12,) if "norm" in name else (12, 12)
        got = lesson.weights_from_gguf({f"blk.3.{name}.weight": draw.normal(*shape)}, 2, 2)
        names = sorted(map(str, got)) if isinstance(got, dict) else got
        expect.equal(names, [f"blocks.3.{ours}.weight"], what="the names of the weights")

    def test_table_and_last_norm_get_their_names(self, lesson, draw):
        """They belong to no block. An empty dict stays empty."""
        table, norm = draw.normal(11, 12), draw.normal(12)
        got = lesson.weights_from_gguf(
            {"output_norm.weight": norm, "token_embd.weight": table}, 2, 1
        )
        expect_weights(got, {"norm.weight": norm, "tokens.weight": table})
        expect_weights(lesson.weights_from_gguf({}, 2, 1), {})

    def test_rows_of_queries_go_from_pairs_to_halves(self, lesson):
        """One head of six rows: 0 1, 2 3 and 4 5 are pairs in the file; the halves are 0 2 4 and
        1 3 5.
        """
        rows = torch.arange(6.0)[:, None].expand(6, 2)
        got = lesson.weights_from_gguf({"blk.0.attn_q.weight": rows}, 1, 1)
        want = torch.tensor([0.0, 2.0, 4.0, 1.0, 3.0, 5.0])[:, None].expand(6, 2)
        expect_weights(got, {"blocks.0.attention.q_proj.weight": want})

    def test_queries_have_their_heads_and_keys_have_theirs(self, lesson, draw):
        """H = 6, K = 2 and D = 8: q has 48 rows in six heads, k has 16 in two. Rows never move
        from one head to another.
        """
        q, k = draw.normal(48, 5), draw.normal(16, 5)
        given = {
            "blk.1.attn_q.weight": interleaved(q, 6),
            "blk.1.attn_k.weight": interleaved(k, 2),
        }
        got = lesson.weights_from_gguf(given, n_heads=6, n_kv_heads=2)
        want = {"blocks.1.attention.q_proj.weight": q, "blocks.1.attention.k_proj.weight": k}
        expect_weights(got, want)

    @pytest.mark.parametrize("name", sorted(set(GGUF_NAMES) - {"attn_q", "attn_k"}))
    def test_nothing_else_is_reordered(self, lesson, draw, name):
        """Values aren't turned by RoPE, and neither is the output: their rows stay."""
        weight = draw.normal(12) if "norm" in name else draw.normal(12, 12)
        got = lesson.weights_from_gguf({f"blk.0.{name}.weight": weight}, 2, 2)
        expect_weights(got, {f"blocks.0.{GGUF_NAMES[name]}.weight": weight})

    def test_twelve_blocks_in_any_order(self, lesson, draw):
        """`blk.1` isn't the beginning of `blk.10`: all weights of twelve blocks, last first."""
        sizes = sizes_of(n_layers=12, n_embd=12, n_heads=2, n_kv_heads=1)
        weights = drawn_weights(draw, llama_shapes(sizes))
        given = dict(reversed(as_in_gguf(weights, 2, 1).items()))
        got = lesson.weights_from_gguf(given, 2, 1)
        expect_weights(got, weights)


@exercise("weights_from_gguf")
@corner
class TestWeightsFromGGUFCorners:
    @pytest.mark.parametrize(
        "name",
        [
            "output.weight",
            "blk.0.attn_q.bias",
            "blk.0.attn_qkv.weight",
            "blk.x.attn_q.weight",
            "rope_freqs.weight",
            "blk.2.ffn_gate_inp.weight",
        ],
    )
    def test_an_unknown_name_is_refused(self, lesson, draw, name):
        """A weight that is ignored silently would be missing in the model."""
        good = {"blk.0.ffn_up.weight": draw.normal(8, 4)}
        expect.rejects(
            lesson.weights_from_gguf,
            ValueError,
            good=(good, 2, 1),
            bad=(good | {name: draw.normal(8, 4)}, 2, 1),
            mentions=(name,),
        )

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_dtype_stays(self, lesson, draw, dtype):
        """Names and the order of rows change, nothing else."""
        up, query = draw.normal(8, 4, dtype=dtype), draw.normal(2, 4, dtype=dtype)
        weights = {"blk.0.ffn_up.weight": up, "blk.0.attn_q.weight": query}
        want = {"blocks.0.mlp.up.weight": up, "blocks.0.attention.q_proj.weight": query}
        expect_weights(lesson.weights_from_gguf(weights, 1, 1), want)


class Bigram(nn.Module):
    """A model whose logits are the row of each id, and which notes how it is called."""

    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)
        self.inner = nn.Dropout(0.5)
        self.complaints = []

    def forward(self, ids):
        if self.training or self.inner.training:
            self.complaints.append("in training mode")
        if torch.is_grad_enabled():
            self.complaints.append("with gradients")
        return self.table[ids.long()]

    @property
    def modes(self):
        """Whether each part is in training mode, the model itself first."""
        return [part.training for part in self.modules()]


def losses_of(table, ids):
    """(T - 1,): ln Σ e ** logit minus the logit of the next id, in float64, averaged."""
    logits, ids = table.double()[ids.long()], ids.long()
    highest = logits.amax(-1, keepdim=True)
    total = (logits - highest).exp().sum(-1).log() + highest[..., 0]
    chosen = logits[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
    return (total[:, :-1] - chosen).mean(0).float()


@exercise("loss_by_position")
class TestLossByPosition:
    def test_loss_at_t_is_about_the_id_at_t_plus_1(self, lesson):
        """Text 0 1 0. After 0, id 1 has the probability 3/4 and costs ln 4/3; after 1, id 0 has
        1/4 and costs ln 4.
        """
        table = torch.tensor([[0.0, math.log(3)], [0.0, math.log(3)]])
        got = lesson.loss_by_position(lesson.prop(Bigram, table), torch.tensor([[0, 1, 0]]))
        expect.close(got, torch.tensor([math.log(4 / 3), math.log(4)]), tolerance=1e-3)

    @pytest.mark.parametrize(
        "batch, length, vocab_size", [(1, 2, 3), (3, 5, 7), (4, 4, 4), (37, 3, 5)]
    )
    def test_each_position_is_averaged_over_the_texts(
        self, lesson, draw, batch, length, vocab_size
    ):
        """T - 1 numbers, each the mean over the batch, in nats. 37 texts are no multiple of any
        number of texts that is read at once: the last ones count as much as the others.
        """
        table, ids = 2 * draw.normal(vocab_size, vocab_size), draw.ids(vocab_size, batch, length)
        got = lesson.loss_by_position(lesson.prop(Bigram, table), ids)
        expect.close(got, losses_of(table, ids), tolerance=1e-3)

    @pytest.mark.parametrize("training", [True, False])
    def test_the_model_is_only_measured(self, lesson, draw, training):
        """In evaluation mode and without gradients; afterwards its mode is what it was."""
        model = lesson.prop(Bigram, draw.normal(5, 5))
        model.train(training)
        lesson.loss_by_position(model, draw.ids(5, 2, 4))
        expect.equal(model.attribute("complaints"), [], what="how the model was called")
        expect.equal(
            model.attribute("modes"), [training] * 2, what="the modes of the model afterwards"
        )


@exercise("loss_by_position")
@corner
class TestLossByPositionCorners:
    @pytest.mark.parametrize("length", [1, 0])
    def test_fewer_than_two_tokens_are_refused(self, lesson, draw, length):
        """Of one token, none comes next."""
        model = lesson.prop(Bigram, draw.normal(5, 5))
        expect.rejects(
            lesson.loss_by_position,
            ValueError,
            bad=(model, torch.zeros(3, length, dtype=torch.int64)),
            mentions=(length,),
        )

    def test_sure_and_wrong_costs_the_logit(self, lesson):
        """-ln of e ** -1000 is 1000, although e ** -1000 is rounded to 0."""
        table = torch.tensor([[1000.0, 0.0], [0.0, 1000.0]])
        got = lesson.loss_by_position(lesson.prop(Bigram, table), torch.tensor([[0, 1, 1]]))
        expect.close(got, torch.tensor([1000.0, 0.0]), tolerance=1e-3)

    @pytest.mark.parametrize("dtype", SMALL_INTEGERS, ids=show_dtype)
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of an id says how it is stored, not which token it names."""
        table, ids = draw.normal(120, 120), draw.ids(120, 2, 4, dtype=dtype)
        got = lesson.loss_by_position(lesson.prop(Bigram, table), ids)
        expect.close(got, losses_of(table, ids), tolerance=1e-3)
