"""Lesson 9: a real model on your code. Grades `exercises/llama.py`.

Shapes: B batch, T tokens, C features of a token, H query heads, K key heads, D = C / H features of
a head, M hidden features, V tokens of the vocabulary.
"""

import math

import pytest
import torch
from torch import nn

from course.testing import exercise, expect

# --- what is expected, in float64 ---------------------------------------------------------------


def rms_normed(x, weight, eps=1e-5):
    """(..., C): each row over the root of its mean square, then scaled."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight


def rotated(x, base):
    """(B, H, T, D): features i and D/2 + i of token t, rotated by t * base ** (-2i / D)."""
    length, width = x.shape[-2:]
    rates = torch.tensor([base ** (-2 * i / width) for i in range(width // 2)]).double()
    angles = torch.arange(length)[:, None] * rates
    cos, sin, (a, b) = angles.cos(), angles.sin(), x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def attention_of(x, weights, n_heads, n_kv_heads, base=10000.0, part="", last=None):
    """(B, T, C): query head h reads key head h // (H / K). Of the last tokens only, if told so."""
    last = last or x.shape[1]
    width = x.shape[-1] // n_heads

    def heads(name):  # (B, heads, T, D): head h has the features h * D .. (h + 1) * D - 1
        return (x @ weights[f"{part}{name}.weight"].T).unflatten(-1, (-1, width)).transpose(1, 2)

    shared = [head // (n_heads // n_kv_heads) for head in range(n_heads)]
    q, k, v = rotated(heads("q_proj"), base), rotated(heads("k_proj"), base), heads("v_proj")
    q = q[:, :, -last:]
    later = torch.ones(last, x.shape[1], dtype=torch.bool).triu(1 + x.shape[1] - last)
    scores = (q @ k[:, shared].mT / width**0.5).masked_fill(later, -torch.inf)
    read = scores.softmax(-1) @ v[:, shared]  # (B, H, T, D)
    return read.transpose(1, 2).flatten(2) @ weights[f"{part}out_proj.weight"].T


def mlp_of(x, weights, part=""):
    """(..., C): the gate decides, by z times the logistic function of z, what passes."""
    z = x @ weights[f"{part}gate.weight"].T
    passed = z / (1 + (-z).exp()) * (x @ weights[f"{part}up.weight"].T)
    return passed @ weights[f"{part}down.weight"].T


def even_attention_of(x, weights, n_heads, n_kv_heads, base, part):
    """(B, T, C): the same for H = K and queries of 0: each token averages all up to itself."""
    sums = (x @ weights[f"{part}v_proj.weight"].T).cumsum(1)
    means = sums / torch.arange(1, x.shape[1] + 1)[:, None]
    return means @ weights[f"{part}out_proj.weight"].T


def logits_of(ids, weights, sizes, base=10000.0, eps=1e-5, attention=attention_of):
    """(B, T, V): the rows of the ids, the blocks, the norm, and the table once more."""
    table, x = weights["tokens.weight"], weights["tokens.weight"][ids]
    for layer in range(sizes["n_layers"]):
        part = f"blocks.{layer}."
        heads = sizes["n_heads"], sizes["n_kv_heads"], base, f"{part}attention."
        x = x + attention(rms_normed(x, weights[f"{part}norm1.weight"], eps), weights, *heads)
        inner = rms_normed(x, weights[f"{part}norm2.weight"], eps)
        x = x + mlp_of(inner, weights, f"{part}mlp.")
    return rms_normed(x, weights["norm.weight"], eps) @ table.T


def differentiated(function, upstream, *values):
    """The gradients at some float64 tensors, by autograd through one of the formulas above."""
    values = [value.double().requires_grad_() for value in values]
    return torch.autograd.grad((function(*values) * upstream.double()).sum(), values)


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


def drawn_weights(draw, shapes, zeros="none"):
    """Numbers for weights of these shapes; those of a norm lie around 1, and some may be 0."""
    numbers = draw.normal(sum(math.prod(shape) for shape in shapes.values())) * 0.4
    sizes = [math.prod(shape) for shape in shapes.values()]
    weights = {
        name: part.reshape(shape)
        for (name, shape), part in zip(shapes.items(), numbers.split(sizes), strict=True)
    }
    return {
        name: w + 1 if "norm" in name else w * (not name.endswith(zeros))
        for name, w in weights.items()
    }


def expect_shapes(module, want):
    """Expect parameters of these names and shapes, and no others."""
    shapes = {name: tuple(weight.shape) for name, weight in module.shapes.items()}
    expect.equal(sorted(shapes.keys() - want), [], what="parameters that shouldn't be there")
    expect.equal(sorted(want.keys() - shapes), [], what="parameters that are missing")
    expect.equal(shapes, want, what="the parameters")


def filled(module, draw, shapes, zeros="none"):
    """Write drawn numbers into the parameters of a module, and return them, in float64."""
    expect_shapes(module, shapes)
    weights = drawn_weights(draw, shapes, zeros)
    module.set(**{name.replace(".", "__"): numbers for name, numbers in weights.items()})
    return {name: numbers.double() for name, numbers in weights.items()}


def sizes_of(vocab_size=11, n_embd=16, n_heads=4, n_kv_heads=2, n_layers=2, n_hidden=12, **others):
    """The arguments of a `Llama`, with 9 positions unless others are named."""
    named = {"vocab_size": vocab_size, "n_embd": n_embd, "n_heads": n_heads}
    named |= {"n_kv_heads": n_kv_heads, "n_layers": n_layers, "n_hidden": n_hidden}
    return named | {"max_seq_len": 9} | others


def expect_logits(lesson, draw, sizes, batch, length, training=True, **named):
    """Expect what a `Llama` of these sizes makes of drawn ids, within 1e-3."""
    model = lesson.Llama(**sizes, **named)
    weights = filled(model, draw, llama_shapes(sizes))
    model.train(training)
    ids = draw.ids(sizes["vocab_size"], batch, length)
    ids[0, 0] = sizes["vocab_size"] - 1
    expect.close(model(ids), logits_of(ids, weights, sizes, **named).float(), tolerance=1e-3)


MANY, FAR = 5_000, 1_060
"""More than limits and windows that somebody may have written down: 4,096, and 1,024 where the
time grows with the square.
"""


def sizes_with_many(axis, *small):
    """Sizes of a tensor that is long along one axis."""
    return [*small[:axis], MANY, *small[axis + 1 :]]


class Cache(dict):
    """What a test hands over as a cache: always the same object."""


def expect_in_pieces(lesson, read, texts, wants, lengths, tolerance, n_blocks=None):
    """Expect pieces of some texts, read in turns, to give what each whole text gives.

    A text has one cache, or a list of one for each block.
    """
    caches, start = [], 0
    for _ in texts:
        of_text = [lesson.prop(Cache) for _ in range(n_blocks or 1)]
        caches.append(of_text if n_blocks else of_text[0])
    with lesson.no_grad():
        for length in lengths:
            end = start + length
            for text, want, cache in zip(texts, wants, caches, strict=True):
                got = read(text[:, start:end], cache)
                expect.close(got, want[:, start:end].float(), tolerance=tolerance)
            start = end


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


def number_of_blocks(model):
    """Count the blocks of a model in two ways, as `generate` may."""
    return [len(model.blocks), len([block for block in model.blocks])]


def expect_weights(got, want):
    """Expect a dict with these names, in any order, and these numbers."""
    expect.that(isinstance(got, dict), f"a dict of weights belongs here, not {type(got).__name__}")
    expect.equal(sorted(map(str, got)), sorted(want), what="the names of the weights, sorted")
    for name, weight in want.items():
        expect.equal(got[name], weight, what=name)


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

    @pytest.mark.parametrize(
        "shape", [(12,), (2, 3, 5, 12), (2, MANY, 3), (MANY, 1, 2), (2, MANY)], ids=str
    )
    def test_each_row_is_normed_by_itself(self, lesson, draw, shape):
        """The mean runs over the last axis only, whatever axes come before it. In training and
        evaluation mode, nothing is dropped.
        """
        norm, weight, x = lesson.RMSNorm(shape[-1]), draw.normal(shape[-1]), draw.normal(*shape)
        norm.set(weight=weight)
        norm.train(len(shape) == 3)
        x = 3 * x + 1
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

    def test_rows_of_zeros_stay_finite(self, lesson):
        """eps keeps a row of zeros at zero, and its gradient finite: upstream / √eps."""
        norm, x = lesson.RMSNorm(4), torch.zeros(2, 4)
        expect.close(norm(x), x)
        got = norm.gradients(x, upstream=torch.ones(2, 4))
        expect.close(got[0], torch.full((2, 4), 1e5**0.5), tolerance=1e-4)


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
        "shape, n_repeats",
        [
            ((2, 3, 5, 4), 2),
            ((1, 1, 1, 2), MANY),
            *((sizes_with_many(axis, 1, 2, 2, 2), 3) for axis in range(4)),
        ],
        ids=str,
    )
    def test_head_h_is_head_h_over_n(self, lesson, draw, shape, n_repeats):
        """Every head n times in a row, for every text and token."""
        x = draw.normal(*shape)
        want = x[:, [h // n_repeats for h in range(shape[1] * n_repeats)]]
        expect.equal(lesson.repeat_heads(x, n_repeats=n_repeats), want)

    def test_gradients_of_the_copies_add_up(self, lesson, draw):
        """What three query heads send back to their key head is summed."""
        x, upstream = draw.normal(2, 2, 5, 4), draw.normal(2, 6, 5, 4)
        got = lesson.repeat_heads.gradients(x, 3, upstream=upstream)
        expect.close(got[0], torch.stack([upstream[:, :3].sum(1), upstream[:, 3:].sum(1)], dim=1))

    def test_zero_copies_are_refused(self, lesson):
        """No head would be left."""
        expect.rejects(lesson.repeat_heads, ValueError, bad=(torch.ones(1, 2, 3, 4), 0))


@exercise("GroupedQueryAttention")
class TestGroupedQueryAttention:
    @pytest.mark.parametrize("n_embd, n_heads, n_kv_heads", [(24, 6, 2), (12, 3, 3), (80, 20, 1)])
    def test_keys_and_values_have_fewer_rows(self, lesson, n_embd, n_heads, n_kv_heads):
        """Queries have H heads, keys and values K: (K D, C) weights."""
        attention = lesson.GroupedQueryAttention(n_embd, n_heads, n_kv_heads, 16)
        expect_shapes(attention, attention_shapes(n_embd, n_heads, n_kv_heads))

    @pytest.mark.parametrize(
        "batch, length, n_embd, n_heads, n_kv_heads",
        [(2, 5, 48, 6, 2), (300, 1, 4, 2, 1), (3, 6, 80, 20, 4), (2, 4, 24, 3, 3)],
    )
    def test_query_head_h_reads_key_head_h_over_the_share(
        self, lesson, draw, batch, length, n_embd, n_heads, n_kv_heads
    ):
        """Neighboring query heads share keys and values; queries and keys are rotated, and the
        heads go next to each other through the output projection.
        """
        attention = lesson.GroupedQueryAttention(n_embd, n_heads, n_kv_heads, 9)
        weights = filled(attention, draw, attention_shapes(n_embd, n_heads, n_kv_heads))
        x = draw.normal(batch, length, n_embd)
        want = attention_of(x.double(), weights, n_heads, n_kv_heads).float()
        expect.close(attention(x), want, tolerance=1e-4)

    def test_base_is_the_one_that_is_given(self, lesson, draw):
        """Another base rotates the pairs at other rates."""
        attention = lesson.GroupedQueryAttention(16, 2, 1, 40, base=10.0)
        weights = filled(attention, draw, attention_shapes(16, 2, 1))
        x = draw.normal(1, 30, 16)
        want = attention_of(x.double(), weights, 2, 1, base=10.0).float()
        expect.close(attention(x), want, tolerance=1e-4)

    @pytest.mark.parametrize("lengths", [(4, 3), (2, 1, 1, 3)], ids=str)
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths):
        """One cache for all pieces, whose positions go on counting."""
        attention = lesson.GroupedQueryAttention(48, 6, 2, 7)
        weights = filled(attention, draw, attention_shapes(48, 6, 2))
        x = draw.normal(2, 7, 48)
        want = attention_of(x.double(), weights, 6, 2)
        expect_in_pieces(lesson, attention, [x], [want], lengths, 1e-4)

    def test_two_texts_have_a_cache_each(self, lesson, draw):
        """Read in turns, neither text sees the other, and a text without a cache sees none."""
        attention = lesson.GroupedQueryAttention(16, 4, 2, 10)
        weights = filled(attention, draw, attention_shapes(16, 4, 2))
        texts = list(draw.normal(2, 3, 6, 16))
        wants = [attention_of(text.double(), weights, 4, 2) for text in texts]
        expect_in_pieces(lesson, attention, texts, wants, (2, 1, 3), 1e-4)
        for text, want in zip(texts, wants, strict=True):
            expect.close(attention(text), want.float(), tolerance=1e-4)

    @pytest.mark.parametrize("lengths", [(FAR,), (300, 300, 300, 159, 1)], ids=str)
    def test_no_token_is_too_far_back(self, lesson, draw, lengths):
        """The last of 1,060 tokens sees all of them, each at its own position, whether they are
        read at once or, with a cache, in pieces.
        """
        attention = lesson.GroupedQueryAttention(4, 1, 1, FAR)
        weights = filled(attention, draw, attention_shapes(4, 1, 1))
        attention.train(False)
        x, cache = draw.normal(1, FAR, 4), lesson.prop(Cache) if len(lengths) > 1 else None
        with lesson.no_grad():
            for piece in x.split(lengths, dim=1):
                got = attention(piece, cache)
        want = attention_of(x.double(), weights, 1, 1, last=1).float()
        expect.close(expect.shape(got, *piece.shape)[:, -1:], want, tolerance=1e-4)

    def test_the_cache_keeps_key_heads_and_not_query_heads(self, lesson, draw):
        """B = 2, K = 1, D = 8 and 72 positions: 2 * 2 * 1 * 72 * 8 = 2,304 numbers, and 1,024
        more for whatever else is kept. Kept for H = 8 heads, they'd be 18,432; with room for 128
        positions, 4,096.
        """
        attention, cache = lesson.GroupedQueryAttention(64, 8, 1, 72), lesson.prop(Cache)
        with lesson.no_grad():
            for length in (60, 11, 1):
                attention(draw.normal(2, length, 64), cache)
        kept = lesson.prop(numbers_kept)(cache)
        expect.that(
            kept <= 2304 + 1024,
            f"after 72 tokens of 2 texts the cache holds {kept:,} numbers, where keys and values "
            "of one head are 2,304",
        )

    @pytest.mark.parametrize("bad", [(12, 5, 5, 9), (12, 6, 4, 9)], ids=["C / H", "H / K"])
    def test_heads_that_do_not_divide_are_refused(self, lesson, bad):
        """12 features don't make five heads, nor can six query heads share four key heads."""
        expect.rejects(lesson.GroupedQueryAttention, ValueError, bad=bad)


@exercise("GatedMLP")
class TestGatedMLP:
    @pytest.mark.parametrize("n_embd, n_hidden", [(12, 20), (1, MANY)])
    def test_parameters_are_three_layers(self, lesson, n_embd, n_hidden):
        """Two layers that widen, and one that narrows again; no biases."""
        expect_shapes(lesson.GatedMLP(n_embd, n_hidden), mlp_shapes(n_embd, n_hidden))

    def test_the_gate_goes_through_silu_and_lets_the_other_pass(self, lesson):
        """x = 1, gate 2, up 3, down 5: silu(2) = 2 / (1 + e ** -2) = 1.762, times 3, times 5
        is 26.42. With silu on the other branch it'd be 28.58.
        """
        mlp = lesson.GatedMLP(1, 1)
        two, three, five = torch.tensor([[[2.0]], [[3.0]], [[5.0]]])
        mlp.set(gate__weight=two, up__weight=three, down__weight=five)
        expect.close(mlp(torch.ones(1, 1, 1)), torch.full((1, 1, 1), 30 / (1 + math.exp(-2))))

    @pytest.mark.parametrize(
        "shape, n_hidden",
        [
            ((12,), 20),
            ((2, 5, 12), 20),
            *(((MANY, 1, 2), 3), ((2, MANY, 2), 3), ((3, 1_100), 1), ((3, 1), MANY)),
        ],
        ids=str,
    )
    def test_each_token_by_itself(self, lesson, draw, shape, n_hidden):
        """down(silu(gate(x)) * up(x)), for values of both signs, where silu and GELU differ. In
        training and evaluation mode, nothing is dropped.
        """
        mlp = lesson.GatedMLP(shape[-1], n_hidden)
        weights = filled(mlp, draw, mlp_shapes(shape[-1], n_hidden))
        mlp.train(shape[0] == 2)
        x = 3 * draw.normal(*shape)
        expect.close(mlp(x), mlp_of(x.double(), weights).float(), tolerance=1e-3)

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


@exercise("Llama")
class TestLlama:
    def test_parameters_have_the_names_of_the_published_weights(self, lesson):
        """One table, one last norm, and nine weights in each block; none is an output table."""
        sizes = sizes_of(40, 8, 4, 1, 11, 6)
        expect_shapes(lesson.Llama(**sizes), llama_shapes(sizes))

    @pytest.mark.parametrize(
        "batch, length, sizes",
        [
            (1, 3, sizes_of(5, 4, 2, 1, 1, 3)),
            (2, 5, sizes_of(n_layers=4)),
            (1, 1, sizes_of(MANY, 8, 2, 1, 1, 6)),
            (300, 1, sizes_of(7, 2, 1, 1, 1, 2)),
        ],
        ids=["1 block", "4 blocks", "5,000 ids", "300 texts"],
    )
    def test_logits_are_products_with_the_rows_of_the_table(
        self, lesson, draw, batch, length, sizes
    ):
        """The row of each id; in every block what is normed first, then added; a last norm; and
        the product with every row of the same table.
        """
        expect_logits(lesson, draw, sizes, batch, length)

    @pytest.mark.parametrize("n_layers, length", [(13, 300), (1, FAR)])
    def test_no_token_is_too_far_back_in_any_block(self, lesson, draw, n_layers, length):
        """In every block each token averages all up to itself, if all scores are equal. In
        evaluation mode, too.
        """
        sizes = sizes_of(5, 4, 1, 1, n_layers, 2, max_seq_len=length)
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes), zeros="q_proj.weight")
        model.train(False)
        ids = draw.ids(5, 1, length)
        want = logits_of(ids, weights, sizes, attention=even_attention_of).float()
        with lesson.no_grad():
            expect.close(model(ids), want, tolerance=1e-3)

    def test_base_reaches_every_attention(self, lesson, draw):
        """SmolLM2's base isn't 10,000. Another one rotates queries and keys at other rates."""
        expect_logits(lesson, draw, sizes_of(7, 16, 2, 1, 1, 6), 2, 9, base=10.0)

    @pytest.mark.parametrize("eps", [None, 0.5])
    def test_eps_reaches_every_norm(self, lesson, draw, eps):
        """The rows of a fresh table are so small that eps shows; it's the table of this call, not
        of an earlier one.
        """
        sizes = sizes_of(11, 8, 2, 1, 1, 6)
        model = lesson.Llama(**sizes) if eps is None else lesson.Llama(**sizes, eps=eps)
        weights = filled(model, draw, llama_shapes(sizes))
        ids = draw.ids(11, 2, 5)
        model(ids)
        weights["tokens.weight"] *= 0.01
        model.set(tokens__weight=weights["tokens.weight"].float())
        want = logits_of(ids, weights, sizes, eps=1e-5 if eps is None else eps).float()
        expect.close(model(ids), want, tolerance=1e-4)

    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw):
        """Each block has its own cache, and so has each text: read in turns, two texts don't see
        each other, and a text without caches sees none.
        """
        sizes = sizes_of(11, 8, 2, 1, max_seq_len=6)
        model = lesson.Llama(**sizes)
        weights = filled(model, draw, llama_shapes(sizes))
        texts = list(draw.ids(11, 2, 2, 6))
        wants = [logits_of(ids, weights, sizes) for ids in texts]
        expect_in_pieces(lesson, model, texts, wants, (3, 1, 2), 1e-3, n_blocks=2)
        for ids, want in zip(texts, wants, strict=True):
            expect.close(model(ids), want.float(), tolerance=1e-3)

    def test_more_than_max_seq_len_positions_are_refused(self, lesson, draw):
        """Nine positions: a tenth token has none, whether the others come along or were read."""
        model, caches = lesson.Llama(**sizes_of(n_layers=1)), [lesson.prop(Cache)]
        expect.rejects(model, ValueError, bad=(draw.ids(11, 1, 10),), good=(draw.ids(11, 1, 9),))
        with lesson.no_grad():
            one = draw.ids(11, 1, 1)
            expect.rejects(model, ValueError, bad=(one, caches), good=(draw.ids(11, 1, 9), caches))

    def test_blocks_can_be_counted(self, lesson):
        """`generate` makes a cache for each block: of three, three."""
        model = lesson.Llama(**sizes_of(7, 4, 2, 1, 3, 2))
        expect.equal(lesson.prop(number_of_blocks)(model), [3, 3])

    def test_table_starts_as_that_of_lesson_1(self, lesson):
        """`TokenEmbedding` draws from N(0, 0.02²); 80,000 numbers show it."""
        table = lesson.Llama(**sizes_of(MANY, n_layers=1)).parameters["tokens.weight"]
        size = table.std().item()
        what = f"whether the standard deviation of tokens.weight, {size:.3g}, is 0.02"
        expect.equal(abs(size - 0.02) < 0.0007, True, what=what)


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


@exercise("weights_from_gguf")
class TestWeightsFromGGUF:
    def test_each_weight_of_a_block_gets_its_name(self, lesson):
        """`blk.3.attn_q.weight` becomes `blocks.3.attention.q_proj.weight`, and so on."""
        given = {f"blk.3.{name}.weight": torch.ones(2, 3) for name in GGUF_NAMES}
        got = lesson.weights_from_gguf(given, 1, 1)
        expect.that(isinstance(got, dict), f"a dict belongs here, not {type(got).__name__}")
        want = sorted(f"blocks.3.{ours}.weight" for ours in GGUF_NAMES.values())
        expect.equal(sorted(map(str, got)), want, what="the names of the weights, sorted")

    def test_each_name_gets_its_weight(self, lesson, draw):
        """Nine different weights. A head of two rows has one pair, so none is reordered here."""
        weights = {name: draw.normal(2, 3) for name in GGUF_NAMES}
        given = {f"blk.3.{name}.weight": weight for name, weight in weights.items()}
        want = {f"blocks.3.{GGUF_NAMES[name]}.weight": weights[name] for name in weights}
        expect_weights(lesson.weights_from_gguf(given, 1, 1), want)

    def test_table_and_last_norm_get_their_names(self, lesson, draw):
        """They belong to no block."""
        table, norm = draw.normal(11, 12), draw.normal(12)
        got = lesson.weights_from_gguf(
            {"output_norm.weight": norm, "token_embd.weight": table}, 2, 1
        )
        expect_weights(got, {"norm.weight": norm, "tokens.weight": table})

    def test_rows_of_queries_go_from_pairs_to_halves(self, lesson):
        """One head of six rows: 0 1, 2 3 and 4 5 are pairs in the file; the halves are 0 2 4 and
        1 3 5.
        """
        rows = torch.arange(6.0)[:, None].expand(6, 2)
        got = lesson.weights_from_gguf({"blk.0.attn_q.weight": rows}, 1, 1)
        want = torch.tensor([0.0, 2.0, 4.0, 1.0, 3.0, 5.0])[:, None].expand(6, 2)
        expect_weights(got, {"blocks.0.attention.q_proj.weight": want})

    @pytest.mark.parametrize(
        "n_heads, n_kv_heads, width, n_embd", [(4, 2, 8, 5), (FAR, 530, 12, 1), (1, 1, 6, MANY)]
    )
    @pytest.mark.parametrize("name", ["q", "k"])
    def test_queries_have_their_heads_and_keys_have_theirs(
        self, lesson, draw, name, n_heads, n_kv_heads, width, n_embd
    ):
        """H = 4, K = 2 and D = 8: q has 32 rows in four heads, k has 16 in two. Rows never move
        from one head to another.
        """
        its_heads = n_heads if name == "q" else n_kv_heads
        weight = draw.normal(its_heads * width, n_embd)
        given = {f"blk.1.attn_{name}.weight": interleaved(weight, its_heads)}
        got = lesson.weights_from_gguf(given, n_heads=n_heads, n_kv_heads=n_kv_heads)
        expect_weights(got, {f"blocks.1.attention.{name}_proj.weight": weight})

    @pytest.mark.parametrize("name", sorted(set(GGUF_NAMES) - {"attn_q", "attn_k"}))
    def test_nothing_else_is_reordered(self, lesson, draw, name):
        """Values aren't rotated by RoPE, and neither is the output: their rows stay."""
        weight = draw.normal(12) if "norm" in name else draw.normal(12, 12)
        got = lesson.weights_from_gguf({f"blk.0.{name}.weight": weight}, 2, 2)
        expect_weights(got, {f"blocks.0.{GGUF_NAMES[name]}.weight": weight})

    @pytest.mark.parametrize(
        "numbers", [[10, 20], [12_345, *range(300, -1, -1)]], ids=["two", "last first"]
    )
    def test_blocks_in_any_order(self, lesson, draw, numbers):
        """`blk.1` isn't the beginning of `blk.10`, nor `blk.11` of `blk.119`."""
        rows = draw.normal(len(numbers), 1, 2)
        given = {f"blk.{i}.ffn_up.weight": row for i, row in zip(numbers, rows, strict=True)}
        want = {f"blocks.{i}.mlp.up.weight": row for i, row in zip(numbers, rows, strict=True)}
        expect_weights(lesson.weights_from_gguf(given, 2, 1), want)

    def test_unknown_names_are_refused(self, lesson):
        """A weight that is skipped leaves random numbers in the model; nobody would notice."""
        for name in (
            "blk.0.attn_qkv.weight",
            "output.weight",
            "blk.0.attn_q.bias",
            "rope_freqs.weight",
        ):
            bad = {"output_norm.weight": torch.ones(4), name: torch.ones(4)}
            expect.rejects(lesson.weights_from_gguf, ValueError, bad=(bad, 1, 1))


class Bigram(nn.Module):
    """A model whose logits are the row of each id, and which notes how it is called."""

    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)
        self.complaints = []

    def forward(self, ids):
        complaints = {"in training mode": self.training, "with gradients": torch.is_grad_enabled()}
        for said, holds in complaints.items():
            if holds and said not in self.complaints:  # once, however often it is called
                self.complaints.append(said)
        return self.table[ids % len(self.table)]


class Reader(nn.Module):
    """A model whose logits depend on all ids up to each one, and on where each of them stands."""

    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)

    def forward(self, ids):
        places = torch.arange(1, ids.shape[1] + 1)[:, None]
        return (self.table[ids] * places.cos()).cumsum(1) / places.sqrt()


def losses_of(logits, ids):
    """(T - 1,): ln Σ e ** logit minus the logit of the next id, in float64, averaged."""
    logits = logits.double()
    chosen = logits[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
    return (logits.logsumexp(-1)[:, :-1] - chosen).mean(0).float()


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
        "batch, length, vocab_size",
        [(1, 2, 3), (4, 4, 4), (37, 5, 7), *(sizes_with_many(axis, 3, 2, 3) for axis in range(3))],
    )
    def test_each_position_is_averaged_over_the_texts(
        self, lesson, draw, batch, length, vocab_size
    ):
        """T - 1 numbers, each the mean over the batch, in nats. 37 texts are no multiple of any
        number of texts that is read at once: the last ones count as much as the others.
        """
        table, ids = 2 * draw.normal(7, vocab_size), draw.ids(vocab_size, batch, length)
        got = lesson.loss_by_position(lesson.prop(Bigram, table), ids)
        expect.close(got, losses_of(table[ids % 7], ids), tolerance=1e-3)

    def test_the_model_reads_all_that_comes_before(self, lesson, draw):
        """5,000 tokens, the logits at each the sum of what all tokens so far say: whoever reads
        pieces, or another order, gets other losses.
        """
        table, ids = 2 * draw.normal(3, 3), draw.ids(3, 2, MANY)
        got = lesson.loss_by_position(lesson.prop(Reader, table), ids)
        expect.close(got, losses_of(Reader(table).requires_grad_(False)(ids), ids), tolerance=1e-3)

    @pytest.mark.parametrize("training", [True, False])
    def test_the_model_is_only_measured(self, lesson, draw, training):
        """In evaluation mode and without gradients; afterwards its mode is what it was."""
        model = lesson.prop(Bigram, draw.normal(5, 5))
        model.train(training)
        lesson.loss_by_position(model, draw.ids(5, 2, 4))
        expect.equal(model.attribute("complaints"), [], what="how the model was called")
        expect.equal(model.training, training, what="whether the model is in training mode after")

    def test_a_single_token_is_refused(self, lesson, draw):
        """No token comes after it."""
        model = lesson.prop(Bigram, draw.normal(5, 5))
        expect.rejects(lesson.loss_by_position, ValueError, bad=(model, draw.ids(5, 2, 1)))
