"""Lesson 8: a model of your own. Grades `exercises/gpt.py`.

Shapes: B batch, T tokens, C features of a token, H heads, D = C / H features of a head, V tokens
of the vocabulary; Tq queries and Tk keys.
"""

import math
import re

import pytest
import torch
from torch import nn

from course.testing import corner, exercise, expect
from course.testing.show import show_dtype

OTHER_FLOATS = [torch.float64, torch.bfloat16]
"""Beside float32, which most tests use."""

ROUNDING = {torch.float32: 2e-5, torch.float64: 1e-6, torch.bfloat16: 1e-1}
"""What every sensible order of operations stays within when it averages a few numbers below 4."""


# --- what is expected, in float64 ---------------------------------------------------------------


def attended(q, k, v, bias=None):
    """(B, H, Tq, D): causal attention, one query after another."""
    n_later, shape = k.shape[2] - q.shape[2], (*q.shape[:3], k.shape[2])
    bias = torch.zeros(shape) if bias is None else bias
    q, k, v, bias = q.double(), k.double(), v.double(), bias.double().broadcast_to(shape)
    found = []
    for i in range(q.shape[2]):
        end = n_later + i + 1  # its own key is the last that query i sees
        products = (q[:, :, i, None] * k[:, :, :end]).sum(-1)
        scores = products / q.shape[3] ** 0.5 + bias[:, :, i, :end]
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        shares = weights / weights.sum(-1, keepdim=True)
        found.append((shares[..., None] * v[:, :, :end]).sum(-2))
    return torch.stack(found, dim=2)


def turned(x):
    """(..., T, D): features i and D/2 + i of token t, turned by t * 10000 ** (-2i / D)."""
    length, width = x.shape[-2:]
    rates = [10000.0 ** (-2 * i / width) for i in range(width // 2)]
    angles = torch.tensor([[t * rate for rate in rates] for t in range(length)]).double()
    a, b = x[..., : width // 2], x[..., width // 2 :]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


def heads_of(x, n_heads):
    """(B, H, T, D): the features of head h are h * D .. (h + 1) * D - 1."""
    width = x.shape[-1] // n_heads
    return torch.stack([x[..., h * width : (h + 1) * width] for h in range(n_heads)], dim=1)


def attention_of(x, weights, n_heads, part=""):
    """(B, T, C): what the four projections in `weights` make of x."""
    q, k, v = (heads_of(x @ weights[f"{part}{name}_proj.weight"].T, n_heads) for name in "qkv")
    heads = attended(turned(q), turned(k), v)
    side_by_side = torch.cat([heads[:, h] for h in range(n_heads)], dim=-1)
    return side_by_side @ weights[f"{part}out_proj.weight"].T


def normalized(x, weights, norm):
    """(..., C): mean 0 and variance 1 in every token, then scaled and shifted."""
    centered = x - x.mean(-1, keepdim=True)
    scale = (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    return centered / scale * weights[f"{norm}.weight"] + weights[f"{norm}.bias"]


def gelu(x):
    """x times the share of a standard normal distribution below x."""
    return x * (1 + torch.erf(x / 2**0.5)) / 2


def block_of(x, weights, n_heads, part=""):
    """(B, T, C): attention, then the mlp, each added to what came in."""
    y = x + attention_of(
        normalized(x, weights, f"{part}norm1"), weights, n_heads, f"{part}attention."
    )
    inner = gelu(normalized(y, weights, f"{part}norm2") @ weights[f"{part}mlp, first"].T)
    return y + inner @ weights[f"{part}mlp, second"].T


def logits_of(ids, weights, n_heads, n_layers):
    """(B, T, V): the rows of the ids, the blocks, the norm, and the table once more."""
    table = weights["tokens.weight"]
    x = table[ids.long()]
    for layer in range(n_layers):
        x = block_of(x, weights, n_heads, f"{layer}: ")
    return normalized(x, weights, "norm") @ table.T


def differentiated(function, upstream, *values):
    """The gradients at some float64 tensors, by autograd through one of the formulas above."""
    values = [value.double().requires_grad_() for value in values]
    return torch.autograd.grad(function(*values), values, upstream.double())


# --- modules with weights that the tests know ---------------------------------------------------

PROJECTIONS = ["q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight"]

NORMS = ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"]


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


def filled(module, draw, names_in):
    """Write drawn numbers into the parameters of a module, and return them, in float64.

    `names_in(parameters)` tells the name of each by what it is for.
    """
    parameters = module.parameters
    names, values = names_in(parameters), {}
    for what, name in names.items():
        numbers = draw.normal(*parameters[name].shape) if name in parameters else draw.normal(1)
        if "norm" in what:
            numbers = 0.5 * numbers + what.endswith("weight")
        elif what != "tokens.weight":
            numbers = 0.4 * numbers
        values[what] = numbers
    module.set(**{name.replace(".", "__"): values[what] for what, name in names.items()})
    return {what: numbers.double() for what, numbers in values.items()}


def attention_and_weights(lesson, draw, n_embd, n_heads, max_seq_len):
    """A `CausalSelfAttention` with drawn weights, and these."""
    attention = lesson.CausalSelfAttention(n_embd, n_heads, max_seq_len)
    return attention, filled(attention, draw, lambda _: {name: name for name in PROJECTIONS})


def block_and_weights(lesson, draw, n_embd, n_heads, max_seq_len):
    """A `Block` with drawn weights, and these."""
    block = lesson.Block(n_embd, n_heads, max_seq_len)
    return block, filled(block, draw, lambda its: names_in_block(its, n_embd))


def gpt_and_weights(lesson, draw, vocab_size, n_embd, n_heads, n_layers, max_seq_len):
    """A `GPT` with drawn weights, and these."""
    model = lesson.GPT(vocab_size, n_embd, n_heads, n_layers, max_seq_len)
    return model, filled(model, draw, lambda its: names_in_gpt(its, n_embd, n_layers))


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


def expect_reads_in_pieces(lesson, module, text, lengths, want):
    """Expect the same from a text read in pieces with one cache as from the whole."""
    lesson.prop(without_gradients)(module)
    cache, start = lesson.prop(Cache), 0
    for length in lengths:
        got = module(text[:, start : start + length], cache)
        expect.close(got, want[:, start : start + length].float(), tolerance=1e-4)
        start += length


def expect_seed_repeats(lesson, make):
    """Expect the start to be drawn from PyTorch's global generator, and not to be seeded."""
    starts, numbers = [], []
    for seed in 1, 1, 2:
        lesson.seed(seed)
        starts.append(list(make().parameters.values()))
        numbers.append(lesson.random_number())
    expect.equal(starts[1], starts[0])
    same = [one.equal(other) for one, other in zip(starts[0], starts[2], strict=True)]
    expect.that(not all(same), "another seed should give another start")
    expect.that(numbers[0] != numbers[2], "it sets the seed of the global generator")


def expect_device_of_x(function, *args):
    """Expect the result where x is, or of a body that needs the numbers, its new tensors there."""
    if not expect.follows_device(function, *args):
        expect.stays_on_device(function, *args)


# --- the exercises ------------------------------------------------------------------------------


@exercise("split_heads")
class TestSplitHeads:
    def test_two_tokens_of_two_heads_by_hand(self, lesson):
        """Token (0, 1, 2, 3) deals 0, 1 to head 0 and 2, 3 to head 1; so does the next."""
        x = torch.tensor([[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]])
        want = torch.tensor([[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]])
        expect.close(lesson.split_heads(x, 2), want)

    @pytest.mark.parametrize(
        "batch, length, n_heads, width",
        [(2, 5, 3, 4), (3, 1, 2, 6), (2, 4, 4, 4), (4, 3, 1, 5), (1, 2, 6, 1)],
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
        expect.equal(got[0], torch.cat([upstream[:, h] for h in range(3)], dim=-1))


@exercise("split_heads")
@corner
class TestSplitHeadsCorners:
    @pytest.mark.parametrize("n_embd, n_heads", [(7, 2), (4, 8), (10, 4)])
    def test_heads_of_different_widths_are_refused(self, lesson, draw, n_embd, n_heads):
        """7 features are no two heads of the same width."""
        x = draw.normal(2, 8, n_embd)
        expect.rejects(lesson.split_heads, ValueError, bad=(x, n_heads), mentions=(n_embd, n_heads))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_dtype_stays(self, lesson, draw, dtype):
        """Numbers move; none changes."""
        x = draw.normal(2, 5, 12, dtype=dtype)
        expect.equal(lesson.split_heads(x, 3), heads_of(x, 3))

    def test_memory_order_does_not_matter(self, lesson, draw):
        """A transposed or expanded tensor is a tensor, too."""
        x = draw.normal(12, 5, 2).transpose(0, 2)
        expect.equal(lesson.split_heads(x, 3), heads_of(x, 3))
        x = draw.normal(5, 12).expand(2, 5, 12)
        expect.equal(lesson.split_heads(x, 3), heads_of(x, 3))

    def test_result_stays_on_the_device(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.split_heads, draw.normal(2, 5, 12), 3)


@exercise("merge_heads")
class TestMergeHeads:
    def test_two_tokens_of_two_heads_by_hand(self, lesson):
        """Head 0 has (0, 1) and (4, 5) for the two tokens, head 1 (2, 3) and (6, 7). Side
        by side, token 0 is (0, 1, 2, 3).
        """
        x = torch.tensor([[[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0], [6.0, 7.0]]]])
        want = torch.tensor([[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]])
        expect.close(lesson.merge_heads(x), want)

    @pytest.mark.parametrize(
        "batch, n_heads, length, width",
        [(2, 3, 5, 4), (3, 2, 1, 6), (2, 4, 4, 4), (4, 1, 3, 5), (1, 6, 2, 1)],
    )
    def test_heads_stand_side_by_side(self, lesson, draw, batch, n_heads, length, width):
        """Head h fills the features h*D .. (h+1)*D - 1 of its token."""
        x = draw.normal(batch, n_heads, length, width)
        want = torch.cat([x[:, h] for h in range(n_heads)], dim=-1)
        expect.equal(lesson.merge_heads(x), want)

    def test_a_split_is_undone(self, lesson, draw):
        """What was dealt out to four heads comes back as it was."""
        x = draw.normal(2, 4, 8)
        expect.equal(lesson.merge_heads(heads_of(x, 4)), x)

    def test_gradient_goes_back_to_the_heads(self, lesson, draw):
        """Each number of the result is one of x, so its gradient goes there."""
        x, upstream = draw.normal(2, 3, 5, 4), draw.normal(2, 5, 12)
        got = lesson.merge_heads.gradients(x, upstream=upstream)
        expect.equal(got[0], heads_of(upstream, 3))


@exercise("merge_heads")
@corner
class TestMergeHeadsCorners:
    def test_memory_order_does_not_matter(self, lesson, draw):
        """Heads usually come from a transpose, so their numbers are in another order in
        memory than those of a view.
        """
        of_a_transpose = draw.normal(2, 5, 3, 4).transpose(1, 2)
        expanded = draw.normal(2, 1, 5, 4).expand(2, 3, 5, 4)
        for x in of_a_transpose, expanded, draw.normal(4, 5, 3, 2).permute(3, 2, 1, 0):
            expect.equal(lesson.merge_heads(x), torch.cat([x[:, h] for h in range(3)], dim=-1))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_dtype_stays(self, lesson, draw, dtype):
        """Numbers move; none changes."""
        x = draw.normal(2, 3, 5, 4, dtype=dtype)
        expect.equal(lesson.merge_heads(x), torch.cat([x[:, h] for h in range(3)], dim=-1))

    def test_result_stays_on_the_device(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.merge_heads, draw.normal(2, 3, 5, 4))


def drawn_qkv(draw, batch, n_heads, q_len, k_len, width, dtype=torch.float32):
    """Queries, keys and values for `causal_attention`."""
    q = draw.normal(batch, n_heads, q_len, width, dtype=dtype)
    return q, *draw.normal(2, batch, n_heads, k_len, width, dtype=dtype)


@exercise("causal_attention")
class TestCausalAttention:
    def test_scores_are_divided_by_the_root_of_the_width(self, lesson):
        """D = 4. The second query scores 2 ln 3 = 2.197 with its own key and 0 with the
        first. Over √4 = 2 that is ln 3 and 0, so their shares are 3/4 and 1/4: of values 8
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
        [(2, 3, 5, 5, 4), (2, 3, 2, 5, 4), (3, 2, 1, 6, 4), (4, 4, 4, 4, 4), (1, 2, 6, 7, 1)],
    )
    def test_every_query_averages_what_is_not_later(
        self, lesson, draw, batch, n_heads, q_len, k_len, width
    ):
        """Query i is at Tk - Tq + i and sees the keys up to there: shares from
        e ** (q · k / √D), for each text and each head by itself.
        """
        q, k, v = drawn_qkv(draw, batch, n_heads, q_len, k_len, width)
        expect.close(lesson.causal_attention(q, k, v), attended(q, k, v).float())

    def test_one_after_another_gives_what_all_at_once_give(self, lesson, draw):
        """The last query alone, with all keys, is the last row of the whole."""
        q, k, v = drawn_qkv(draw, 2, 3, 6, 6, 4)
        want = attended(q, k, v).float()
        for n_queries in (1, 4, 6):
            got = lesson.causal_attention(q[:, :, -n_queries:], k, v)
            expect.close(got, want[:, :, -n_queries:])

    def test_later_tokens_change_nothing(self, lesson, draw):
        """Other keys and values from position 3 on: what comes before stays exactly."""
        q, k, v = drawn_qkv(draw, 2, 3, 5, 5, 4)
        before = expect.tensors(lesson.causal_attention(q, k, v), "the averages")
        k[:, :, 3:], v[:, :, 3:] = 30.0, 1e6
        after = expect.tensors(lesson.causal_attention(q, k, v), "the averages")
        expect.close(after[:, :, :3], before[:, :, :3], what="positions 0 to 2")

    def test_a_later_key_never_wins_however_low_the_others_are(self, lesson):
        """All scores of the first two queries are -20 000 with a bias, those of later
        keys too. What is later is left out, so each averages 1, or 1 and 3. Logarithms of
        shares are rounded to 0.001 there.
        """
        q, v = torch.zeros(1, 1, 3, 1), torch.tensor([[[[1.0], [3.0], [50.0]]]])
        bias = torch.tensor([[-20_000.0] * 3] * 2 + [[0.0] * 3])
        got = lesson.causal_attention(q, torch.zeros(1, 1, 3, 1), v, bias)
        expect.close(got, torch.tensor([[[[1.0], [2.0], [18.0]]]]), tolerance=1e-2)

    def test_a_later_key_never_wins_however_high_it_is_or_low_the_own(self, lesson):
        """The first two queries have one key left, at a score of -1e30: that is low, but no
        number is as low as minus infinity, so it still gets all.
        """
        q, v = torch.zeros(1, 1, 3, 1), torch.tensor([[[[1.0], [3.0], [50.0]]]])
        bias = torch.tensor([[-1e30, 0.0, 1e30], [-torch.inf, -1e30, 0.0], [0.0] * 3])
        got = lesson.causal_attention(q, torch.zeros(1, 1, 3, 1), v, bias)
        expect.close(got, torch.tensor([[[[1.0], [3.0], [18.0]]]]))

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
        "shape",
        [(2, 3, 4, 5), (3, 4, 5), (4, 5), (3, 1, 5), (2, 1, 1, 5), (1, 1, 4, 5), (5,), (3, 4, 1)],
        ids=str,
    )
    def test_bias_of_every_shape_that_broadcasts(self, lesson, draw, shape):
        """B = 2, H = 3, Tq = 4, Tk = 5: an axis that is 1, or missing in front, holds for
        all.
        """
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6)
        bias = 2 * draw.normal(*shape)
        got = lesson.causal_attention(q, k, v, bias=bias)
        expect.close(got, attended(q, k, v, bias).float())

    def test_bias_counts_for_a_single_query_too(self, lesson, draw):
        """With a cache one query reads all keys: no mask is needed, but a bias is."""
        q, k, v = drawn_qkv(draw, 2, 3, 1, 5, 6)
        bias = 2 * draw.normal(3, 1, 5)
        got = lesson.causal_attention(q, k, v, bias)
        expect.close(got, attended(q, k, v, bias).float())

    def test_bias_can_close_a_key(self, lesson, draw):
        """A bias of minus infinity leaves a share of 0; each row keeps its own key."""
        q, k, v = drawn_qkv(draw, 2, 3, 4, 4, 6)
        bias = torch.zeros(2, 1, 4, 4)
        bias[0, 0, 1:, 0] = bias[1, 0, 3, 1:3] = -torch.inf
        got = lesson.causal_attention(q, k, v, bias)
        expect.close(got, attended(q, k, v, bias).float())

    def test_gradient_reaches_queries_keys_and_values(self, lesson, draw):
        """All three come from trained weights. By autograd through a loop, in float64."""
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6)
        upstream = draw.normal(2, 3, 4, 6)
        got = lesson.causal_attention.gradients(q, k, v, upstream=upstream)
        for place, want in enumerate(differentiated(attended, upstream, q, k, v)):
            expect.close(got[place], want.float(), tolerance=1e-4)

    @pytest.mark.parametrize("shape", [(4, 5), (3, 1, 5)], ids=str)
    def test_gradient_reaches_the_bias(self, lesson, draw, shape):
        """A bias can be learned: entries that serve several scores add up their gradients,
        those of later keys get none.
        """
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6)
        bias, upstream = draw.normal(*shape), draw.normal(2, 3, 4, 6)
        got = lesson.causal_attention.gradients(q, k, v, bias, upstream=upstream)
        want = differentiated(attended, upstream, q, k, v, bias)[3]
        expect.close(got[3], want.float(), tolerance=1e-4)

    def test_each_call_has_its_own_sizes(self, lesson, draw):
        """A mask kept from an earlier call serves only a call with the same Tq and Tk."""
        for q_len, k_len in [(3, 5), (3, 3), (5, 5), (1, 5), (3, 5), (2, 3)]:
            q, k, v = drawn_qkv(draw, 2, 1, q_len, k_len, 4)
            expect.close(lesson.causal_attention(q, k, v), attended(q, k, v).float())


@exercise("causal_attention")
@corner
class TestCausalAttentionCorners:
    @pytest.mark.parametrize("q_len, k_len", [(3, 2), (5, 1)])
    def test_more_queries_than_keys_are_refused(self, lesson, draw, q_len, k_len):
        """The first query would be before position 0 and see nothing."""
        bad = drawn_qkv(draw, 2, 7, q_len, k_len, 4)
        expect.rejects(lesson.causal_attention, ValueError, bad=bad, mentions=(q_len, k_len))

    def test_large_scores_stay_finite(self, lesson):
        """D = 4, q = ±500 everywhere, so scores are 4 * 500 / 2 = ±1000 times the key.
        e ** 1000 is infinite, but a key 1 takes all from a key 0, and a key 0 from a key -1.
        """
        q = torch.tensor([500.0, 500.0, -500.0])[:, None].expand(1, 1, 3, 4)
        k = torch.tensor([0.0, 1.0, -1.0])[:, None].expand(1, 1, 3, 4)
        v = torch.tensor([1.0, 2.0, 3.0])[:, None].expand(1, 1, 3, 4)
        expect.close(lesson.causal_attention(q, k, v), v)

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_result_has_the_dtype_of_the_queries(self, lesson, draw, dtype):
        """What comes as bfloat16 leaves as bfloat16, and so for float64."""
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6, dtype=dtype)
        want = attended(q, k, v).to(dtype)
        expect.close(lesson.causal_attention(q, k, v), want, tolerance=ROUNDING[dtype])

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_bias_does_not_change_the_dtype(self, lesson, draw, dtype):
        """A bias has the dtype of the queries, and so has the result."""
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6, dtype=dtype)
        bias = draw.normal(3, 4, 5, dtype=dtype)
        want = attended(q, k, v, bias).to(dtype)
        expect.close(lesson.causal_attention(q, k, v, bias), want, tolerance=ROUNDING[dtype])

    def test_heads_made_by_a_transpose_are_fine(self, lesson, draw):
        """Their numbers are not in the order of the axes in memory."""
        q, k, v = draw.normal(3, 2, 5, 3, 4).transpose(2, 3)
        expect.close(lesson.causal_attention(q, k, v), attended(q, k, v).float())

    def test_gradient_comes_after_inference_too(self, lesson, draw):
        """A mask that was made inside `torch.inference_mode()` and kept would be refused
        in training.
        """
        qkv, upstream = drawn_qkv(draw, 1, 2, 3, 11, 4), draw.normal(1, 2, 3, 4)
        expect.learns_after_inference(lesson.causal_attention, *qkv, upstream=upstream)

    def test_result_is_on_the_device_of_the_queries(self, lesson, draw):
        """What is made on the way belongs there, too; the "meta" device takes
        the place of a GPU.
        """
        q, k, v = drawn_qkv(draw, 2, 3, 4, 5, 6)
        expect_device_of_x(lesson.causal_attention, q, k, v)
        expect_device_of_x(lesson.causal_attention, q, k, v, draw.normal(3, 4, 5))


@exercise("CausalSelfAttention")
class TestCausalSelfAttention:
    def test_parameters_are_four_projections(self, lesson):
        """C² numbers each, no biases: 4 C² = 576 for C = 12. All are trained."""
        attention = lesson.CausalSelfAttention(12, 3, 16)
        shapes = {name: tuple(weight.shape) for name, weight in attention.parameters.items()}
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
        [(2, 5, 12, 3, 9), (3, 4, 6, 1, 4), (1, 7, 8, 4, 20), (4, 4, 16, 4, 5)],
    )
    def test_heads_attend_by_turned_queries_and_keys(
        self, lesson, draw, batch, length, n_embd, n_heads, max_seq_len
    ):
        """Four projections, H heads of width D, RoPE with width D on queries and keys,
        causal attention, heads side by side, the output projection.
        """
        attention, weights = attention_and_weights(lesson, draw, n_embd, n_heads, max_seq_len)
        x = draw.normal(batch, length, n_embd)
        want = attention_of(x.double(), weights, n_heads).float()
        expect.close(attention(x), want, tolerance=1e-4)

    @pytest.mark.parametrize(
        "lengths", [(7,), (4, 3), (1,) * 7, (2, 1, 3, 1), (1, 6)], ids=lambda lengths: str(lengths)
    )
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths):
        """One cache for all pieces: keys of earlier pieces keep their positions,
        and new positions go on from there.
        """
        attention, weights = attention_and_weights(lesson, draw, 12, 3, 7)
        x = draw.normal(2, 7, 12)
        want = attention_of(x.double(), weights, 3)
        expect_reads_in_pieces(lesson, attention, x, lengths, want)

    def test_two_texts_have_a_cache_each(self, lesson, draw):
        """Read by turns, neither text sees the other: what is kept is kept in the cache,
        not in the module.
        """
        attention, weights = attention_and_weights(lesson, draw, 8, 2, 10)
        lesson.prop(without_gradients)(attention)
        texts = draw.normal(2, 3, 6, 8)
        caches = [lesson.prop(Cache) for _ in texts]
        for start, end in [(0, 2), (2, 3), (3, 6)]:
            for text, cache in zip(texts, caches, strict=True):
                want = attention_of(text.double(), weights, 2)[:, start:end].float()
                expect.close(attention(text[:, start:end], cache=cache), want, tolerance=1e-4)

    def test_a_new_cache_begins_a_new_text(self, lesson, draw):
        """Also of another batch size, and after a text that was longer."""
        attention, weights = attention_and_weights(lesson, draw, 8, 2, 10)
        lesson.prop(without_gradients)(attention)
        for batch, length in [(2, 6), (3, 4), (1, 9)]:
            x, cache = draw.normal(batch, length, 8), lesson.prop(Cache)
            want = attention_of(x.double(), weights, 2).float()
            for start, end in [(0, length - 1), (length - 1, length)]:
                got = attention(x[:, start:end], cache)
                expect.close(got, want[:, start:end], tolerance=1e-4)

    def test_without_a_cache_nothing_is_kept(self, lesson, draw):
        """Every call begins at position 0, also after one with a cache."""
        attention, weights = attention_and_weights(lesson, draw, 8, 2, 10)
        lesson.prop(without_gradients)(attention)
        attention(draw.normal(2, 3, 8), lesson.prop(Cache))
        for length in (4, 2, 4):
            x = draw.normal(2, length, 8)
            want = attention_of(x.double(), weights, 2).float()
            expect.close(attention(x), want, tolerance=1e-4)

    def test_later_tokens_change_nothing(self, lesson, draw):
        """Another token at position 3: what comes before stays."""
        attention, _ = attention_and_weights(lesson, draw, 12, 3, 9)
        x = draw.normal(2, 5, 12)
        before = expect.tensors(attention(x), "the result")
        x[:, 3] = -x[:, 3]
        after = expect.tensors(attention(x), "the result")
        expect.close(after[:, :3], before[:, :3], what="positions 0 to 2")

    def test_gradient_reaches_all_weights_and_x(self, lesson, draw):
        """By autograd through a loop over the queries, in float64."""
        attention, weights = attention_and_weights(lesson, draw, 12, 3, 9)
        x, upstream = draw.normal(2, 5, 12), draw.normal(2, 5, 12)
        got = attention.gradients(x, upstream=upstream)

        def of(x, *values):
            return attention_of(x, dict(zip(PROJECTIONS, values, strict=True)), 3)

        want = differentiated(of, upstream, x, *weights.values())
        for place, gradient in zip([0, *PROJECTIONS], want, strict=True):
            expect.close(got[place], gradient.float(), tolerance=1e-4)

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random, and nothing is left out."""
        attention, weights = attention_and_weights(lesson, draw, 12, 3, 9)
        x = draw.normal(2, 5, 12)
        for training in (True, False):
            attention.train(training)
            want = attention_of(x.double(), weights, 3).float()
            expect.close(attention(x), want, tolerance=1e-4)


@exercise("CausalSelfAttention")
@corner
class TestCausalSelfAttentionCorners:
    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_turns_as_before(self, lesson, dtype):
        """Only token 5 has a key, in pair 1 of D = 12, which turns 10000 ** (-1/6) = 0.2154
        radians a position. So a query at i has the score 36 cos(0.2154 (i - 5)) / √12 with it
        and 0 with the i others. They are far apart, so rates or positions that `.to(dtype)`
        rounds make another angle; a complex buffer loses its imaginary part.
        """
        attention = lesson.CausalSelfAttention(12, 1, 1000)
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

    def test_memory_order_does_not_matter(self, lesson, draw):
        """A transposed tensor is a tensor, too."""
        attention, weights = attention_and_weights(lesson, draw, 12, 3, 9)
        x = draw.normal(12, 5, 2).transpose(0, 2)
        want = attention_of(x.double(), weights, 3).float()
        expect.close(attention(x), want, tolerance=1e-4)

    def test_gradient_comes_after_inference_too(self, lesson, draw):
        """Masks and angles made inside `torch.inference_mode()` and kept would be refused
        in training. Evaluation mode changes nothing.
        """
        attention, x = lesson.CausalSelfAttention(12, 3, 9), draw.normal(2, 5, 12)
        attention.train(False)
        expect.learns_after_inference(attention, x, upstream=draw.normal(2, 5, 12))

    def test_seed_repeats_the_start(self, lesson):
        """The start is drawn from PyTorch's global generator, which nobody seeds."""
        expect_seed_repeats(lesson, lambda: lesson.CausalSelfAttention(12, 3, 16))

    def test_result_is_on_the_device_of_x(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.CausalSelfAttention(12, 3, 9), draw.normal(2, 5, 12))

    def test_what_a_cache_holds_is_on_the_device_of_x(self, lesson, draw):
        """Room for keys and values belongs where they are."""
        attention = lesson.CausalSelfAttention(12, 3, 9)
        expect.stays_on_device(lesson.prop(read_in_two_pieces), attention, draw.normal(2, 5, 12))


@exercise("Block")
class TestBlock:
    def test_parameters_of_the_four_parts(self, lesson):
        """Two norms with 2 C numbers each, four projections with C², and an mlp with
        (4C, C) and (C, 4C): 12 C² + 4 C = 1776 for C = 12. All are trained.
        """
        block = lesson.Block(12, 3, 16)
        shapes = {name: tuple(weight.shape) for name, weight in block.parameters.items()}
        of_mlp = [shapes.pop(name) for name in list(shapes) if name.startswith("mlp.")]
        want = dict.fromkeys(NORMS, (12,))
        want |= {f"attention.{name}": (12, 12) for name in PROJECTIONS}
        expect.equal(shapes, want)
        expect.equal(sorted(of_mlp), [(12, 48), (48, 12)], what="the weights of the mlp, sorted")
        expect.equal(len(block.trainable), 10, what="the number of trained parameters")

    def test_parts_that_give_nothing_leave_x(self, lesson, draw):
        """With zeros in the output projection and at the end of the mlp, 0 is added
        twice.
        """
        block, _ = block_and_weights(lesson, draw, 12, 3, 9)
        last = names_in_block(block.parameters, 12)["mlp, second"]
        block.set(
            attention__out_proj__weight=torch.zeros(12, 12),
            **{last.replace(".", "__"): torch.zeros(12, 48)},
        )
        x = draw.normal(2, 5, 12)
        expect.close(block(x), x)

    @pytest.mark.parametrize(
        "batch, length, n_embd, n_heads, max_seq_len",
        [(2, 5, 12, 3, 9), (3, 1, 8, 2, 4), (1, 6, 8, 1, 6)],
    )
    def test_each_part_is_normed_first_and_added(
        self, lesson, draw, batch, length, n_embd, n_heads, max_seq_len
    ):
        """y = x + attention(norm1(x)), and the result is y + mlp(norm2(y))."""
        block, weights = block_and_weights(lesson, draw, n_embd, n_heads, max_seq_len)
        x = 2 * draw.normal(batch, length, n_embd) + 1
        want = block_of(x.double(), weights, n_heads).float()
        expect.close(block(x), want, tolerance=1e-4)

    def test_gelu_is_exact(self, lesson, draw):
        """x Φ(x), not its approximation by tanh, which is off by up to 0.0005: large
        weights at the end of the mlp show it. (And other things hardly.)
        """
        block, weights = block_and_weights(lesson, draw, 12, 3, 9)
        last = names_in_block(block.parameters, 12)["mlp, second"]
        weights["mlp, second"] *= 50
        block.set(**{last.replace(".", "__"): weights["mlp, second"].float()})
        x = draw.normal(2, 5, 12)
        expect.close(block(x), block_of(x.double(), weights, 3).float(), tolerance=2e-3)

    def test_norms_have_the_epsilon_of_layernorm(self, lesson, draw):
        """Tokens as quiet as 0.003 have a variance of 1e-5, as small as the epsilon that
        `nn.LayerNorm` adds to it.
        """
        block, weights = block_and_weights(lesson, draw, 12, 3, 9)
        x = 0.003 * draw.normal(2, 5, 12)
        expect.close(block(x), block_of(x.double(), weights, 3).float(), tolerance=1e-4)

    @pytest.mark.parametrize("lengths", [(4, 3), (1,) * 7], ids=lambda lengths: str(lengths))
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths):
        """The cache is for the attention; norms and mlp look at one token at a time."""
        block, weights = block_and_weights(lesson, draw, 12, 3, 7)
        x = draw.normal(2, 7, 12)
        expect_reads_in_pieces(lesson, block, x, lengths, block_of(x.double(), weights, 3))

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random."""
        block, weights = block_and_weights(lesson, draw, 12, 3, 9)
        x = draw.normal(2, 5, 12)
        for training in (True, False):
            block.train(training)
            expect.close(block(x), block_of(x.double(), weights, 3).float(), tolerance=1e-4)

    def test_gradient_reaches_all_parts_and_x(self, lesson, draw):
        """By autograd through the formula, in float64."""
        block, weights = block_and_weights(lesson, draw, 8, 2, 9)
        x, upstream = draw.normal(2, 5, 8), draw.normal(2, 5, 8)
        got = block.gradients(x, upstream=upstream)

        def of(x, *values):
            return block_of(x, dict(zip(weights, values, strict=True)), 2)

        want = differentiated(of, upstream, x, *weights.values())
        names = names_in_block(block.parameters, 8).values()
        for place, gradient in zip([0, *names], want, strict=True):
            expect.close(got[place], gradient.float(), tolerance=1e-4)


@exercise("Block")
@corner
class TestBlockCorners:
    def test_seed_repeats_the_start(self, lesson):
        """The start is drawn from PyTorch's global generator, which nobody seeds."""
        expect_seed_repeats(lesson, lambda: lesson.Block(12, 3, 16))

    def test_result_is_on_the_device_of_x(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.Block(12, 3, 9), draw.normal(2, 5, 12))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_computes_there(self, lesson, draw, dtype):
        """Models are often run in bfloat16, and checked in float64."""
        block = lesson.Block(12, 3, 9)
        block.to(dtype)
        got = block(draw.normal(2, 5, 12, dtype=dtype))
        expect.equal(got.dtype, dtype, what="the dtype of the result")


def number_of_blocks(model):
    """Count the blocks of a model in two ways, as `generate` may."""
    return [len(model.blocks), len([block for block in model.blocks])]


@exercise("GPT")
class TestGPT:
    @pytest.mark.parametrize(
        "vocab_size, n_embd, n_heads, n_layers, count",
        [(11, 12, 3, 2, 132 + 2 * 1776 + 24), (40, 8, 1, 3, 320 + 3 * 800 + 16)],
    )
    def test_parameters_are_one_table_blocks_and_a_norm(
        self, lesson, vocab_size, n_embd, n_heads, n_layers, count
    ):
        """V C for the one table, 12 C² + 4 C for each block, 2 C for the last norm. All
        are trained.
        """
        model = lesson.GPT(vocab_size, n_embd, n_heads, n_layers, 16)
        parameters = model.parameters
        names = names_in_gpt(model.parameters, n_embd, n_layers)
        expect.equal(sorted(parameters), sorted(names.values()), what="the parameters, sorted")
        table, numbers = parameters["tokens.weight"], sum(w.numel() for w in parameters.values())
        expect.equal(tuple(table.shape), (vocab_size, n_embd), what="the shape of tokens.weight")
        expect.equal(numbers, count, what="the number of parameters")
        expect.equal(sorted(model.trainable), sorted(parameters))

    def test_table_starts_as_that_of_lesson_1(self, lesson):
        """`TokenEmbedding` draws from N(0, 0.02²); 6 400 numbers show it."""
        table = lesson.GPT(400, 16, 2, 1, 8).parameters["tokens.weight"]
        size = table.square().mean().sqrt().item()
        expect.that(0.018 < size < 0.022, f"tokens.weight has the rms {size:.3g}, not 0.02")

    def test_blocks_can_be_counted(self, lesson):
        """`generate` makes a cache for each block: of three, three."""
        expect.equal(lesson.prop(number_of_blocks)(lesson.GPT(11, 8, 2, 3, 16)), [3, 3])

    @pytest.mark.parametrize(
        "batch, length, vocab_size, n_embd, n_heads, n_layers, max_seq_len",
        [(2, 5, 11, 12, 3, 2, 9), (3, 4, 300, 8, 2, 1, 4), (1, 6, 7, 8, 1, 3, 20)],
    )
    def test_logits_are_products_with_the_rows_of_the_table(
        self, lesson, draw, batch, length, vocab_size, n_embd, n_heads, n_layers, max_seq_len
    ):
        """The row of each id, through all blocks and the norm; then its product with every
        row of the same table.
        """
        sizes = vocab_size, n_embd, n_heads, n_layers
        model, weights = gpt_and_weights(lesson, draw, *sizes, max_seq_len)
        ids = draw.ids(vocab_size, batch, length)
        want = logits_of(ids, weights, n_heads, n_layers).float()
        expect.close(model(ids), want, tolerance=1e-4)

    def test_last_norm_has_the_epsilon_of_layernorm(self, lesson, draw):
        """Rows as quiet as 0.003 have a variance of 1e-5, as small as the epsilon that
        `nn.LayerNorm` adds to it; here the only block adds nothing to them.
        """
        model, weights = gpt_and_weights(lesson, draw, 11, 8, 2, 1, 9)
        names = names_in_gpt(model.parameters, 8, 1)
        quiet = {"0: attention.out_proj.weight": 0.0, "0: mlp, second": 0.0, "tokens.weight": 0.003}
        for what, factor in quiet.items():
            weights[what] = (factor * weights[what]).float().double()
            model.set(**{names[what].replace(".", "__"): weights[what].float()})
        ids = draw.ids(11, 2, 5)
        want = logits_of(ids, weights, 2, 1).float()
        expect.close(1000 * model(ids), 1000 * want, tolerance=1e-3, what="logits times 1000")

    @pytest.mark.parametrize("lengths", [(5, 2), (1,) * 7, (7,)], ids=lambda lengths: str(lengths))
    @pytest.mark.parametrize("by_name", [True, False], ids=["by name", "by position"])
    def test_a_text_in_pieces_gives_what_the_whole_gives(self, lesson, draw, lengths, by_name):
        """Each block has its own cache, the same one for all pieces."""
        model, weights = gpt_and_weights(lesson, draw, 11, 8, 2, 3, 7)
        lesson.prop(without_gradients)(model)
        ids, start = draw.ids(11, 2, 7), 0
        want = logits_of(ids, weights, 2, 3).float()
        caches = [lesson.prop(Cache) for _ in range(3)]
        for length in lengths:
            piece = ids[:, start : start + length]
            got = model(piece, caches=caches) if by_name else model(piece, caches)
            expect.close(got, want[:, start : start + length], tolerance=1e-4)
            start += length

    def test_two_texts_have_caches_of_their_own(self, lesson, draw):
        """Read by turns, and the first once more without caches, none sees another."""
        model, weights = gpt_and_weights(lesson, draw, 11, 8, 2, 2, 6)
        lesson.prop(without_gradients)(model)
        texts = draw.ids(11, 2, 3, 6)
        caches = [[lesson.prop(Cache) for _ in range(2)] for _ in texts]
        for start, end in [(0, 4), (4, 6)]:
            for text, its in zip(texts, caches, strict=True):
                want = logits_of(text, weights, 2, 2)[:, start:end].float()
                expect.close(model(text[:, start:end], its), want, tolerance=1e-4)
        expect.close(model(texts[0]), logits_of(texts[0], weights, 2, 2).float(), tolerance=1e-4)

    def test_later_ids_change_nothing(self, lesson, draw):
        """A model that saw the next token would have nothing to guess."""
        model, _ = gpt_and_weights(lesson, draw, 11, 8, 2, 2, 9)
        ids = draw.ids(11, 2, 5)
        before = expect.tensors(model(ids), "the logits")
        ids[:, 3] = (ids[:, 3] + 1) % 11
        after = expect.tensors(model(ids), "the logits")
        expect.close(after[:, :3], before[:, :3], what="positions 0 to 2")

    def test_training_and_evaluation_are_the_same(self, lesson, draw):
        """Nothing is dropped at random."""
        model, weights = gpt_and_weights(lesson, draw, 11, 8, 2, 2, 9)
        ids = draw.ids(11, 2, 5)
        for training in (True, False):
            model.train(training)
            expect.close(model(ids), logits_of(ids, weights, 2, 2).float(), tolerance=1e-4)

    def test_gradient_reaches_the_table_twice_and_all_else(self, lesson, draw):
        """The table gets a gradient as input and as output. By autograd, in float64."""
        model, weights = gpt_and_weights(lesson, draw, 7, 8, 2, 2, 9)
        ids, upstream = draw.ids(5, 2, 5), draw.normal(2, 5, 7)
        got = model.gradients(ids, upstream=upstream)

        def of(*values):
            return logits_of(ids, dict(zip(weights, values, strict=True)), 2, 2)

        want = differentiated(of, upstream, *weights.values())
        for name, gradient in zip(names_in_gpt(model.parameters, 8, 2).values(), want, strict=True):
            expect.close(got[name], gradient.float(), tolerance=1e-3)


@exercise("GPT")
@corner
class TestGPTCorners:
    def test_a_longer_text_is_refused(self, lesson, draw):
        """max_seq_len = 6 positions: six tokens fit, the seventh has none."""
        expect.rejects(
            lesson.GPT(11, 8, 2, 2, 6),
            ValueError,
            good=(draw.ids(11, 2, 6),),
            bad=(draw.ids(11, 2, 7),),
            mentions=((7, 6),),
        )

    @pytest.mark.parametrize("first, more, total", [(6, 1, 7), (2, 9, 11)])
    def test_positions_in_the_caches_count(self, lesson, draw, first, more, total):
        """A piece goes on where the caches end; all positions together are counted."""
        model, caches = lesson.GPT(11, 8, 2, 2, 6), [lesson.prop(Cache) for _ in range(2)]
        lesson.prop(without_gradients)(model)
        model(draw.ids(11, 3, first), caches)
        expect.rejects(
            model, ValueError, bad=(draw.ids(11, 3, more), caches), mentions=((total, 6),)
        )

    @pytest.mark.parametrize(
        "dtype", [torch.int32, torch.int16, torch.int8, torch.uint8], ids=show_dtype
    )
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of an id says how it is stored, not which row it names."""
        model, weights = gpt_and_weights(lesson, draw, 300, 8, 2, 1, 9)
        ids = draw.ids(120, 2, 5, dtype=dtype)
        expect.close(model(ids), logits_of(ids, weights, 2, 1).float(), tolerance=1e-4)

    def test_ids_may_lie_apart_in_memory(self, lesson, draw):
        """A transposed tensor is a tensor, too."""
        model, weights = gpt_and_weights(lesson, draw, 11, 8, 2, 2, 9)
        ids = draw.ids(11, 5, 3).T
        expect.close(model(ids), logits_of(ids, weights, 2, 2).float(), tolerance=1e-4)

    def test_gradient_comes_after_inference_too(self, lesson, draw):
        """Whatever is made inside `torch.inference_mode()` and kept would be refused in
        training.
        """
        model, ids = lesson.GPT(11, 8, 2, 2, 9), draw.ids(11, 2, 5)
        model.train(False)
        expect.learns_after_inference(model, ids, upstream=draw.normal(2, 5, 11))

    def test_seed_repeats_the_start(self, lesson):
        """The start is drawn from PyTorch's global generator, which nobody seeds."""
        expect_seed_repeats(lesson, lambda: lesson.GPT(11, 8, 2, 2, 16))

    def test_result_is_on_the_device_of_the_ids(self, lesson, draw):
        """Moved to a GPU, it computes there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.GPT(11, 8, 2, 2, 9), draw.ids(11, 2, 5))

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_moved_to_a_dtype_it_gives_logits_of_that_dtype(self, lesson, draw, dtype):
        """A model in bfloat16 takes half the memory; its logits are in bfloat16, too."""
        model, ids = lesson.GPT(11, 8, 2, 2, 9), draw.ids(11, 2, 5)
        model.to(dtype)
        got = expect.tensors(model(ids), "the logits")
        expect.equal(got.dtype, dtype, what="the dtype of the logits")


def loss_by_formula(logits, ids):
    """ln Σ e ** logit - the logit of the next token, averaged, in float64, one after another."""
    losses = []
    for row, text in zip(logits.double(), ids.tolist(), strict=True):
        for t, following in enumerate(text[1:]):
            highest = row[t].max()
            losses.append(highest + (row[t] - highest).exp().sum().log() - row[t, following])
    return torch.stack(losses).mean()


@exercise("next_token_loss")
class TestNextTokenLoss:
    @pytest.mark.parametrize("batch, length, vocab_size", [(1, 2, 3), (3, 4, 7)])
    def test_a_model_that_knows_nothing_pays_ln_v(self, lesson, draw, batch, length, vocab_size):
        """Equal logits give each of V tokens the probability 1 / V, and -ln(1 / V) = ln V."""
        ids = draw.ids(vocab_size, batch, length)
        got = lesson.next_token_loss(torch.zeros(batch, length, vocab_size), ids)
        expect.close(got, torch.tensor(math.log(vocab_size)))

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
        [(2, 5, 7), (3, 2, 5), (4, 4, 4), (1, 6, 3), (5, 3, 300), (1, 38, 3), (37, 2, 3)],
    )
    def test_all_next_tokens_of_all_texts_are_averaged(
        self, lesson, draw, batch, length, vocab_size
    ):
        """B (T - 1) of them, each for one. 37 are no multiple of any number that is computed at
        once: the last ones count as much as the others.
        """
        logits = 2 * draw.normal(batch, length, vocab_size)
        ids = draw.ids(vocab_size, batch, length)
        got = lesson.next_token_loss(logits, ids)
        expect.close(got, loss_by_formula(logits, ids).float())

    def test_the_last_logits_do_not_count(self, lesson, draw):
        """No token comes after the last one, so its logits cost nothing."""
        logits, ids = draw.normal(2, 4, 5), draw.ids(5, 2, 4)
        want = loss_by_formula(logits, ids).float()
        logits[:, -1] = 1000 * draw.normal(2, 5)
        expect.close(lesson.next_token_loss(logits, ids), want)

    def test_the_first_token_does_not_count(self, lesson, draw):
        """Nothing was said about it."""
        logits, ids = draw.normal(2, 4, 5), draw.ids(5, 2, 4)
        want = loss_by_formula(logits, ids).float()
        ids[:, 0] = (ids[:, 0] + 2) % 5
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


@exercise("next_token_loss")
@corner
class TestNextTokenLossCorners:
    @pytest.mark.parametrize("length", [1, 0])
    def test_fewer_than_two_tokens_are_refused(self, lesson, length):
        """Of one token, none comes next; a mean over nothing is nan."""
        expect.rejects(
            lesson.next_token_loss,
            ValueError,
            bad=(torch.zeros(3, length, 5), torch.zeros(3, length, dtype=torch.int64)),
            mentions=(length,),
        )

    def test_sure_and_wrong_costs_the_logit(self, lesson):
        """-ln of e ** -1000 is 1000, although e ** -1000 is rounded to 0. The other token
        was sure and right, and costs 0.
        """
        logits = torch.tensor([[[1000.0, 0.0], [0.0, 0.0]], [[0.0, 1000.0], [0.0, 0.0]]])
        got = lesson.next_token_loss(logits, torch.tensor([[0, 1], [0, 1]]))
        expect.close(got, torch.tensor(500.0))

    def test_sure_and_right_costs_nothing(self, lesson):
        """e ** 1000 is infinite, but its share is 1, and -ln 1 = 0."""
        logits = torch.tensor([[[0.0, 1000.0], [0.0, 0.0]], [[1000.0, 0.0], [0.0, 0.0]]])
        got = lesson.next_token_loss(logits, torch.tensor([[0, 1], [1, 0]]))
        expect.close(got, torch.tensor(0.0))

    @pytest.mark.parametrize(
        "dtype", [torch.int32, torch.int16, torch.int8, torch.uint8], ids=show_dtype
    )
    def test_ids_of_every_integer_dtype(self, lesson, draw, dtype):
        """The dtype of an id says how it is stored, not which token it names."""
        logits, ids = draw.normal(2, 4, 120), draw.ids(120, 2, 4, dtype=dtype)
        got = lesson.next_token_loss(logits, ids)
        expect.close(got, loss_by_formula(logits, ids).float())

    @pytest.mark.parametrize("dtype", OTHER_FLOATS, ids=show_dtype)
    def test_loss_has_the_dtype_of_the_logits(self, lesson, draw, dtype):
        """What comes as bfloat16 leaves as bfloat16, and so for float64."""
        logits, ids = draw.normal(2, 4, 7, dtype=dtype), draw.ids(7, 2, 4)
        want = loss_by_formula(logits, ids).to(dtype)
        expect.close(lesson.next_token_loss(logits, ids), want, tolerance=ROUNDING[dtype])

    def test_memory_order_does_not_matter(self, lesson, draw):
        """A transposed tensor is a tensor, too."""
        logits, ids = draw.normal(7, 4, 2).transpose(0, 2), draw.ids(7, 4, 2).T
        got = lesson.next_token_loss(logits, ids)
        expect.close(got, loss_by_formula(logits, ids).float())

    def test_loss_is_on_the_device_of_the_logits(self, lesson, draw):
        """What comes from a GPU stays there; the "meta" device takes its place here."""
        expect_device_of_x(lesson.next_token_loss, draw.normal(2, 4, 5), draw.ids(5, 2, 4))


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
        self.read.append(ids.tolist())
        given, n_blocks = list(caches or []), len(self.blocks)
        complaints = {
            "in training mode": any(part.training for part in self.modules()),
            "with gradients": torch.is_grad_enabled(),
            "without caches": caches is None,
            f"with {len(given)} caches for {n_blocks} blocks": len(given) not in (0, n_blocks),
            "with the same cache for several blocks": len(set(map(id, given))) < len(given),
            "with caches that were not empty at first": len(self.read) == 1 and any(given),
        }
        self.complaints += [said for said, holds in complaints.items() if holds]
        earlier = given[0]["ids"] if given and given[0] else ids[:, :0]
        so_far = torch.cat((earlier.long(), ids.long()), dim=1)
        for cache in given:
            cache["ids"] = so_far
        sums = so_far.cumsum(dim=1)[:, earlier.shape[1] :]
        return self.table[sums % len(self.table)]

    @property
    def modes(self):
        """Whether each part is in training mode, the model itself first."""
        return [part.training for part in self.modules()]


def remembering(lesson, table, n_layers=3, max_seq_len=20):
    """A `Remembering` on the other side of the door, in evaluation mode."""
    model = lesson.prop(Remembering, table, n_layers, max_seq_len)
    model.train(False)
    return model


def most_probable(table, ids, n_new):
    """The prompt and what it is continued with at temperature 0."""
    text = ids.long()
    for _ in range(n_new):
        logits = table[text.sum(dim=1) % len(table)]
        text = torch.cat((text, logits.argmax(dim=1)[:, None]), dim=1)
    return text


def drawn_table(draw, vocab_size):
    """(V, V) logits, in each row 0, 0.01, 0.02, ... in some order: close, but all different."""
    return torch.stack([draw.permutation(vocab_size) for _ in range(vocab_size)]) / 100


N_TEXTS = 3500
"""So many draws at once that no share is off by 0.05 in a million tests."""


def shares_drawn(lesson, logits, n_new=1, **options):
    """(n_new, V): how often each token was drawn, of `N_TEXTS` texts of two tokens."""
    table = logits.expand(len(logits), -1)
    ids = torch.arange(2 * N_TEXTS).reshape(N_TEXTS, 2) % len(logits)
    got = lesson.generate(remembering(lesson, table), ids, n_new, **options)
    new = continuation(got, ids, len(logits))
    return torch.stack([new[:, i].bincount(minlength=len(logits)) for i in range(n_new)]) / N_TEXTS


def continuation(got, ids, vocab_size):
    """(B, n_new) int64: what follows the prompt, once it is known to be ids."""
    got = expect.tensors(got, "the text")
    expect.that(
        got.dim() == 2 and len(got) == len(ids) and got.shape[1] >= ids.shape[1],
        f"a text (B, T + n_new) belongs here, not a tensor {tuple(got.shape)}",
    )
    expect.that(
        not got.is_floating_point() and not got.dtype.is_complex and got.dtype != torch.bool,
        f"ids are integers, not {show_dtype(got.dtype)}",
    )
    got = got.long()
    expect.equal(got[:, : ids.shape[1]], ids.long(), what="the prompt, which comes first")
    new = got[:, ids.shape[1] :]
    in_range = bool(((new >= 0) & (new < vocab_size)).all())
    expect.that(in_range, f"the new tokens should be in 0..{vocab_size - 1}")
    return new


@exercise("generate")
class TestGenerate:
    @pytest.mark.parametrize("batch, length, n_new", [(2, 4, 5), (3, 1, 2), (1, 3, 1)])
    def test_temperature_0_takes_the_most_probable(self, lesson, draw, batch, length, n_new):
        """The logits at the last position decide, in every step and for every text
        separately. The prompt comes first.
        """
        table, ids = drawn_table(draw, 7), draw.ids(7, batch, length)
        got = lesson.generate(remembering(lesson, table), ids, n_new, temperature=0)
        want = most_probable(table, ids, n_new)
        expect.equal(continuation(got, ids, 7), want[:, length:], what="the new tokens")

    def test_every_token_is_read_once(self, lesson, draw):
        """Three new tokens, three calls: the prompt, then the first two new ones, one at a
        time. The last one is not read.
        """
        table, ids = drawn_table(draw, 7), draw.ids(7, 2, 4)
        model, text = remembering(lesson, table), most_probable(table, ids, 3)
        lesson.generate(model, ids, 3, 0.0)
        want = [text[:, :4].tolist(), text[:, 4:5].tolist(), text[:, 5:6].tolist()]
        expect.equal(model.attribute("read"), want, what="what the model read, call by call")

    @pytest.mark.parametrize("n_layers", [1, 3])
    def test_model_is_called_with_a_cache_for_each_block(self, lesson, draw, n_layers):
        """Empty at first, the same ones in every call; in evaluation mode, without
        gradients.
        """
        model = remembering(lesson, drawn_table(draw, 7), n_layers)
        model.train()
        lesson.generate(model, draw.ids(7, 2, 4), 3)
        complaints = model.attribute("complaints")
        expect.that(not complaints, f"the model was called {', '.join(dict.fromkeys(complaints))}")

    def test_two_texts_begin_anew(self, lesson, draw):
        """Caches belong to one call; the next one begins with empty ones."""
        table = drawn_table(draw, 7)
        model = remembering(lesson, table)
        for batch, length in [(2, 4), (3, 2)]:
            ids = draw.ids(7, batch, length)
            got = lesson.generate(model, ids, 3, temperature=0)
            want = most_probable(table, ids, 3)[:, length:]
            expect.equal(continuation(got, ids, 7), want, what="the new tokens")

    def test_tokens_are_drawn_with_their_probabilities(self, lesson, draw):
        """Logits ln 1, ln 2, ln 5 and ln 2 are probabilities 0.1, 0.2, 0.5 and 0.2, for
        the first new token as for the second; temperature 1 is the default.
        """
        logits, want = torch.tensor([1.0, 2.0, 5.0, 2.0]).log(), torch.tensor([0.1, 0.2, 0.5, 0.2])
        got = shares_drawn(lesson, logits, n_new=2)
        what = f"the shares of the tokens in {N_TEXTS} draws"
        expect.close(got, want.expand(2, 4), tolerance=0.05, what=what)

    @pytest.mark.parametrize("temperature", [0.5, 2.0])
    def test_temperature_divides_the_logits(self, lesson, temperature):
        """Probabilities p become p ** (1 / temperature), scaled to a sum of 1: of 1, 4
        and 9, temperature 1/2 makes 1, 16 and 81, and 2 makes 1, 2 and 3.
        """
        weights = torch.tensor([1.0, 4.0, 9.0])
        want = weights ** (1 / temperature)
        got = shares_drawn(lesson, weights.log(), temperature=temperature)
        what = f"the shares of the tokens in {N_TEXTS} draws"
        expect.close(got[0], want / want.sum(), tolerance=0.05, what=what)

    def test_a_low_temperature_divides_as_well(self, lesson):
        """At temperature 0.01 a logit that is ln 3 / 100 higher makes a token three times as
        probable: 3/4 and 1/4.
        """
        got = shares_drawn(lesson, torch.tensor([math.log(3) / 100, 0.0]), temperature=0.01)
        what = f"the shares of the tokens in {N_TEXTS} draws"
        expect.close(got[0], torch.tensor([0.75, 0.25]), tolerance=0.05, what=what)

    @pytest.mark.parametrize("top_k, kept", [(1, [2]), (2, [2, 3]), (3, [1, 2, 3])])
    def test_top_k_draws_from_the_most_probable(self, lesson, top_k, kept):
        """Weights 1, 2, 6 and 3: the two most probable are 6 and 3, with shares 2/3 and
        1/3. No other is ever drawn.
        """
        weights, want = torch.tensor([1.0, 2.0, 6.0, 3.0]), torch.zeros(4)
        want[kept] = weights[kept] / weights[kept].sum()
        got = shares_drawn(lesson, weights.log(), top_k=top_k)[0]
        what = f"the shares of the tokens in {N_TEXTS} draws"
        expect.close(got, want, tolerance=0.05, what=what)
        expect.equal(got[want == 0], want[want == 0], what="the shares of those not kept")

    def test_top_k_keeps_the_most_probable_however_low(self, lesson, draw):
        """Logits of -2e30 and less: one that is left out is at minus infinity, not at some
        low number, which would be higher than these.
        """
        table, ids = torch.tensor([[-3e30, -2e30, -5e30, -4e30]] * 4), draw.ids(4, 9, 2)
        got = lesson.generate(remembering(lesson, table), ids, 2, top_k=1)
        expect.equal(continuation(got, ids, 4), torch.ones(9, 2).long(), what="the new tokens")

    def test_top_k_and_temperature_go_together(self, lesson):
        """Weights 6, 3 and 1, of which two stay, at temperature 1/2: 36 and 9, which are
        0.8 and 0.2.
        """
        logits = torch.tensor([3.0, 1.0, 6.0]).log()
        got = shares_drawn(lesson, logits, temperature=0.5, top_k=2)
        what = f"the shares of the tokens in {N_TEXTS} draws"
        expect.close(got[0], torch.tensor([0.2, 0.0, 0.8]), tolerance=0.05, what=what)

    @pytest.mark.parametrize("top_k", [4, 5, 1000])
    def test_top_k_of_all_or_more_keeps_all(self, lesson, top_k):
        """There are four tokens; more cannot be kept."""
        weights = torch.tensor([2.0, 1.0, 4.0, 3.0])
        got = shares_drawn(lesson, weights.log(), top_k=top_k)
        what = f"the shares of the tokens in {N_TEXTS} draws"
        expect.close(got[0], weights / 10, tolerance=0.05, what=what)

    @pytest.mark.parametrize("top_k", [1, 3])
    def test_temperature_0_takes_the_most_probable_of_the_kept(self, lesson, draw, top_k):
        """It is kept, however few are."""
        table, ids = drawn_table(draw, 7), draw.ids(7, 2, 4)
        got = lesson.generate(remembering(lesson, table), ids, 3, 0.0, top_k)
        want = most_probable(table, ids, 3)[:, 4:]
        expect.equal(continuation(got, ids, 7), want, what="the new tokens")

    def test_each_text_keeps_its_own_most_probable(self, lesson):
        """Row 0 of the table favors 1 and 2, row 1, whose logits are all lower, 0 and 2: with
        top_k = 2, texts that sum to 0 go on with 1 or 2, those that sum to 1 with 0 or 2.
        """
        table = torch.tensor([[4.0, 5.0, 4.5], [-4.5, -6.0, -5.0], [0.0, 0.0, 9.0]])
        ids = torch.tensor([[0], [1]]).repeat(100, 1)
        got = lesson.generate(remembering(lesson, table), ids, 1, top_k=2)
        new = continuation(got, ids, 3)[:, 0]
        found = [sorted(set(new[start::2].tolist())) for start in (0, 1)]
        for start, kept in enumerate([[1, 2], [0, 2]]):
            expect.equal(found[start], kept, what=f"tokens that follow texts of sum {start}")

    def test_new_tokens_of_a_text_are_drawn_one_by_one(self, lesson):
        """Two tokens, equally probable: the second is the same as the first in half of
        all texts, and the next text's as well.
        """
        ids = torch.arange(2 * N_TEXTS).reshape(N_TEXTS, 2) % 2
        model = remembering(lesson, torch.zeros(2, 2))
        got = lesson.generate(model, ids, 2, generator=lesson.generator(5))
        new = continuation(got, ids, 2)
        expect.equal(tuple(new.shape), (N_TEXTS, 2), what="the shape of what is new")
        same = [new[:, 0] == new[:, 1], new[1:, 0] == new[:-1, 0]]
        shares = [(one.sum() / len(one)).item() for one in same]
        what = "how often two draws are the same, in a text and in two neighbors"
        expect.close(shares, [0.5, 0.5], tolerance=0.05, what=what)

    @pytest.mark.parametrize("length, n_new", [(4, 3), (6, 1), (6, 0)])
    def test_the_last_new_token_needs_no_position(self, lesson, draw, length, n_new):
        """max_seq_len = 6: since the last one is not read, T + n_new may be 7."""
        table, ids = drawn_table(draw, 7), draw.ids(7, 2, length)
        got = lesson.generate(remembering(lesson, table, max_seq_len=6), ids, n_new, 0.0)
        want = most_probable(table, ids, n_new)[:, length:]
        expect.equal(continuation(got, ids, 7), want, what="the new tokens")


@exercise("generate")
@corner
class TestGenerateCorners:
    @pytest.mark.parametrize("length, n_new", [(4, 4), (1, 20), (8, 0)])
    def test_more_than_the_positions_are_refused(self, lesson, draw, length, n_new):
        """max_seq_len = 6: with T + n_new = 8, seven tokens have to be read."""
        expect.rejects(
            lesson.generate,
            ValueError,
            bad=(remembering(lesson, drawn_table(draw, 7), 2, 6), draw.ids(7, 2, length), n_new),
            mentions=(length + n_new, length, n_new, 6, 7),
        )

    @pytest.mark.parametrize("temperature", [-1.0, -0.01])
    def test_negative_temperature_is_refused(self, lesson, draw, temperature):
        """It would make the least probable the most probable."""
        model, ids = remembering(lesson, drawn_table(draw, 7)), draw.ids(7, 2, 4)
        expect.rejects(
            lesson.generate, ValueError, bad=(model, ids, 2, temperature), mentions=(temperature,)
        )

    @pytest.mark.parametrize("top_k", [0, -1])
    def test_top_k_below_1_is_refused(self, lesson, draw, top_k):
        """Then no token is left to draw."""
        model, ids = remembering(lesson, drawn_table(draw, 7)), draw.ids(7, 2, 4)
        expect.rejects(
            lesson.generate, ValueError, bad=(model, ids, 2, 1.0, top_k), mentions=(top_k,)
        )

    def test_nothing_new_is_the_prompt(self, lesson, draw):
        """n_new = 0: the model is not asked."""
        model, ids = remembering(lesson, drawn_table(draw, 7)), draw.ids(7, 2, 4)
        got = lesson.generate(model, ids, 0)
        expect.equal(continuation(got, ids, 7).shape, (2, 0), what="the shape of what is new")
        expect.equal(model.attribute("read"), [], what="what the model read")

    def test_a_low_temperature_is_nearly_0(self, lesson):
        """Logits 6, 8 and 0 at temperature 0.02 are 300, 400 and 0: e ** 400 is infinite,
        but its share is 1.
        """
        got = shares_drawn(lesson, torch.tensor([6.0, 8.0, 0.0]), temperature=0.02)
        expect.close(got[0], torch.tensor([0.0, 1.0, 0.0]), what="the shares of the tokens")

    @pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
    @pytest.mark.parametrize("n_new", [2, 0])
    def test_model_is_left_in_its_mode(self, lesson, draw, training, n_new):
        """Whoever lets a model write in the middle of training wants to go on training,
        all parts of it.
        """
        model = remembering(lesson, drawn_table(draw, 7))
        model.train(training)
        lesson.generate(model, draw.ids(7, 2, 4), n_new)
        expect.equal(
            model.attribute("modes"),
            [training] * 5,
            what="training, of the model and each part",
        )

    @pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int8], ids=show_dtype)
    def test_prompt_of_every_integer_dtype(self, lesson, draw, dtype):
        """New tokens may have numbers that the dtype of the prompt cannot hold."""
        table, ids = torch.arange(300.0).expand(300, 300), draw.ids(100, 2, 4, dtype=dtype)
        got = lesson.generate(remembering(lesson, table), ids, 2, temperature=0)
        expect.equal(continuation(got, ids, 300), torch.full((2, 2), 299), what="the new tokens")

    @pytest.mark.parametrize("top_k", [None, 3])
    def test_a_generator_repeats_the_draws(self, lesson, top_k):
        """The same seed gives the same tokens, whatever else is drawn; another seed gives
        others.
        """
        model, ids = remembering(lesson, torch.zeros(5, 5) + torch.arange(5) / 9), torch.ones(9, 2)
        texts = []
        for seed_of_all, seed in [(1, 3), (2, 3), (2, 4)]:
            lesson.seed(seed_of_all)
            got = lesson.generate(
                model, ids.long(), 6, top_k=top_k, generator=lesson.generator(seed)
            )
            texts.append(continuation(got, ids, 5))
        expect.equal(texts[1], texts[0], what="the new tokens of the same generator")
        expect.that(not texts[2].equal(texts[0]), "another generator should give other tokens")

    def test_a_generator_leaves_the_global_one_alone(self, lesson, draw):
        """What is drawn elsewhere does not depend on it."""
        model, ids = remembering(lesson, drawn_table(draw, 5)), draw.ids(5, 2, 3)
        lesson.seed(8)
        want = lesson.random_number()
        lesson.seed(8)
        lesson.generate(model, ids, 4, generator=lesson.generator(3))
        expect.equal(lesson.random_number(), want, what="the next number of the global generator")

    def test_without_a_generator_the_global_one_is_used(self, lesson):
        """Its seed repeats the tokens, and nobody sets that seed."""
        model, ids = remembering(lesson, torch.zeros(5, 5)), torch.ones(9, 2).long()
        texts = []
        for seed in (1, 1, 2):
            lesson.seed(seed)
            texts.append(continuation(lesson.generate(model, ids, 6), ids, 5))
        expect.equal(texts[1], texts[0], what="the new tokens after the same seed")
        expect.that(not texts[2].equal(texts[0]), "another seed should give other tokens")

    def test_new_tokens_are_on_the_device_of_the_prompt(self, lesson, draw):
        """Room for new tokens belongs where the prompt is."""
        model = remembering(lesson, drawn_table(draw, 7))
        expect.stays_on_device(lesson.generate, model, draw.ids(7, 2, 4), 3, 0.0)
