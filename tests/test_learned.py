"""Lesson 3: a second table, indexed by position. Grades `exercises/learned.py`."""

import itertools

import torch
from torch import nn

from course.testing import exercise, expect


def shapes(tensors):
    """The shapes in a dictionary of tensors."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def counting(n_rows, n_embd):
    """A table whose row r holds C·r, C·r + 1, ..., so that each row says which one it is."""
    return torch.arange(float(n_rows * n_embd)).reshape(n_rows, n_embd)


def expect_small_normal(weight):
    """Expect 40,000 draws from N(0, 0.02²), of which a tail beyond 0.06 may be cut off."""
    weight = weight.double()
    mean, std = weight.mean().item(), weight.std().item()
    beyond = ((weight - mean).abs() > 2.3 * std).double().mean().item()
    expect.that(not weight[1:].equal(weight[:-1]), "all rows of the weights are the same")
    expect.that(
        abs(beyond - 0.0205) < 0.007,
        f"{beyond:.1%} of the weights lie beyond 2.3 standard deviations; of normal ones it is "
        "2.1%",
    )
    expect.close(std, 0.02, tolerance=7e-4, what="the standard deviation of the weights")
    expect.close(mean, 0.0, tolerance=6e-4, what="the mean of the weights")
    least = min(weight.std(dim=0).min().item(), weight.std(dim=1).min().item())
    expect.that(least > 0.01, f"a row or a column has the standard deviation {least:.2g}, not 0.02")


def expect_global_generator(lesson, make):
    """Expect weights, and what is drawn after them, to depend on the seed of the caller alone."""
    drawn, after = [], []
    for seed in 1, 1, 2:
        lesson.seed(seed)
        parameters = make().parameters
        drawn.append([parameters[name] for name in sorted(parameters)])
        after.append(lesson.random_number())
    elsewhere = "are they drawn from PyTorch's global generator?"
    for first, again, other in zip(*drawn, strict=True):
        expect.that(first.equal(again), f"one seed gives different weights; {elsewhere}")
        expect.that(not first.equal(other), f"two seeds give the same weights; {elsewhere}")
    expect.that(after[0] != after[2], "PyTorch's global generator was seeded on the way")


# --- LearnedPositionalEmbedding -----------------------------------------------------------------


def position_table(lesson, weight):
    """The student's module with this table in it."""
    module = lesson.LearnedPositionalEmbedding(*weight.shape)
    module.set(weight=weight)
    return module


@exercise("LearnedPositionalEmbedding")
class TestLearnedPositionalEmbedding:
    def test_weight_is_the_one_parameter(self, lesson):
        """One row per position, one column per feature: 5 rows of 3."""
        module = lesson.LearnedPositionalEmbedding(5, 3)
        expect.equal(shapes(module.shapes), {"weight": (5, 3)})
        expect.equal(module.trainable, ["weight"])

    def test_three_tokens_get_rows_0_1_and_2(self, lesson):
        """The first token is at position 0, so it gets row 0 of the table."""
        weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
        expect.equal(position_table(lesson, weight)(3), weight[:3])

    def test_any_length_up_to_the_whole_table(self, lesson):
        """Length 7 needs positions 0..6, and a table of 7 rows has those; so it is with 9001
        rows, and with rows of 9001 numbers.
        """
        for n_rows, n_embd, lengths in (7, 4, (1, 7)), (9_001, 2, (9_000, 9_001)), (2, 9_001, (2,)):
            weight = counting(n_rows, n_embd)
            module = position_table(lesson, weight)
            for seq_len in lengths:
                expect.equal(module(seq_len), weight[:seq_len])

    def test_beyond_the_table_there_are_no_rows(self, lesson):
        """A learned table ends: of 4 rows, `weight[:9]` silently gives 4."""
        module = lesson.LearnedPositionalEmbedding(4, 3)
        for seq_len in 5, 9:
            expect.rejects(module, ValueError, bad=(seq_len,))

    def test_only_the_rows_in_use_learn(self, lesson, draw):
        """Positions 0..2 pass their gradient to their rows; rows 3..5 get zero."""
        module, upstream = position_table(lesson, draw.normal(6, 4)), draw.normal(3, 4)
        gradients = module.gradients(3, upstream=upstream)
        expect.close(gradients["weight"], torch.cat((upstream, torch.zeros(3, 4))))

    def test_the_table_is_drawn_with_std_002(self, lesson):
        """Mean 0 and standard deviation 0.02, as in GPT-2; so N(0, 0.02²)."""
        module = lesson.LearnedPositionalEmbedding(400, 100)
        expect_small_normal(module.parameters["weight"])

    def test_the_rows_follow_the_table_as_it_learns(self, lesson, draw):
        """Training changes the weights between two calls, so no copy may be kept. Each
        module has its own table.
        """
        one, other, trained = (draw.normal(5, 3) for _ in range(3))
        module = position_table(lesson, one)
        expect.equal(position_table(lesson, other)(4), other[:4])
        expect.equal(module(4), one[:4])
        module.set(weight=trained)
        expect.equal(module(4), trained[:4])

    def test_the_seed_decides_the_table(self, lesson):
        """`torch.manual_seed` before the call repeats the draw; another seed does not."""
        expect_global_generator(lesson, lambda: lesson.LearnedPositionalEmbedding(4, 3))


# --- GPTEmbedding -------------------------------------------------------------------------------


def gpt_embedding(lesson, tok, pos, **options):
    """The student's module with these two tables in it."""
    module = lesson.GPTEmbedding(len(tok), len(pos), tok.shape[1], **options)
    module.set(tok_emb__weight=tok, pos_emb__weight=pos)
    return module


def sums(tok, pos, ids):
    """Token row plus position row, entry by entry."""
    rows = [tok[word] + pos[t] for text in ids.tolist() for t, word in enumerate(text)]
    return torch.stack(rows).view(*ids.shape, -1)


def positive(draw, *shape):
    """Numbers of 1 and more, so that a zero in a result was put there."""
    return draw.normal(*shape).abs() + 1


def call_with_new_tensors_elsewhere(module, ids):
    """Call a module with new tensors on "meta", unless told, and raise where a GPU would.

    A body that moves them to the ids, which "meta" does not allow, is let off.
    """
    may_mix = "to", "type_as", "expand_as", "view_as"

    class TwoDevices(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            tensors = [one for one in args if isinstance(one, torch.Tensor) and one.dim()]
            devices = {one.device.type for one in tensors}
            if len(devices) > 1 and function.__name__ not in may_mix:
                raise RuntimeError("a tensor on the default device meets one on that of the ids")
            return function(*args, **(kwargs or {}))

    try:
        with torch.device("meta"), TwoDevices():
            module(ids)
    except RuntimeError as error:
        if "meta" not in str(error):
            raise


@exercise("GPTEmbedding")
class TestGPTEmbedding:
    def test_two_tables_are_saved_and_nothing_else(self, lesson):
        """V = 7 rows and block_size = 5 rows of C = 3: what GPT-2 calls wte and wpe."""
        module = lesson.GPTEmbedding(7, 5, 3, dropout=0.1)
        want = {"tok_emb.weight": (7, 3), "pos_emb.weight": (5, 3)}
        expect.equal(shapes(module.state_dict), want)
        expect.equal(sorted(module.trainable), sorted(want))

    def test_token_row_plus_position_row(self, lesson):
        """Token 2 at position 0: [5, 6] + [10, 20]; token 0 at 1: [1, 2] + [30, 40]."""
        tok = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        pos = torch.tensor([[10.0, 20.0], [30.0, 40.0]])
        got = gpt_embedding(lesson, tok, pos)(torch.tensor([[2, 0]]))
        expect.close(got, torch.tensor([[[15.0, 26.0], [31.0, 42.0]]]))

    def test_any_length_up_to_the_block(self, lesson, draw):
        """One module reads short and long texts in turn, up to block_size, each from position
        0; also a single token, as when a model writes.
        """
        tok, pos = draw.normal(9, 2), draw.normal(6, 2)
        module = gpt_embedding(lesson, tok, pos)
        for shape in (2, 3), (3, 6), (2, 1), (1, 1):
            ids = draw.ids(9, *shape)
            expect.close(module(ids), sums(tok, pos, ids))

    def test_long_texts_and_many_of_them(self, lesson, draw):
        """A number in row r is C·r plus its column, so the sum for token v at t is
        C·(v + t) plus twice the column: for 9001 words, positions, texts and features.
        """
        for vocab_size, n_embd, shape in (
            (9_001, 1, (1, 2)),
            (2, 1, (1, 9_001)),
            (2, 2, (9_001, 1)),
            (2, 9_001, (1, 2)),
        ):
            tables = counting(vocab_size, n_embd), counting(shape[1], n_embd)
            ids = draw.ids(vocab_size, *shape)
            ids[0, 0] = vocab_size - 1
            rows = (ids + torch.arange(shape[1]))[..., None]
            want = float(n_embd) * rows + 2 * torch.arange(n_embd)
            expect.close(gpt_embedding(lesson, *tables)(ids), want)

    def test_repeated_tokens_and_positions_add_their_gradients(self, lesson, draw):
        """A token row gets the sum over its places, a position row over texts.

        In evaluation mode, too: that rests dropout, not the gradients.
        """
        ids, upstream = torch.tensor([[5, 0, 5], [4, 5, 0]]), draw.normal(2, 3, 4)
        module = gpt_embedding(lesson, draw.normal(6, 4), draw.normal(5, 4))
        module.train(False)
        gradients = module.gradients(ids, upstream=upstream)
        tok = torch.stack([upstream[ids == word].sum(dim=0) for word in range(6)])
        expect.close(gradients["tok_emb.weight"], tok)
        pos = torch.cat((upstream.sum(dim=0), torch.zeros(2, 4)))
        expect.close(gradients["pos_emb.weight"], pos)

    def test_both_tables_are_drawn_with_std_002(self, lesson):
        """Mean 0 and standard deviation 0.02; `nn.Embedding` alone draws with 1. Each is
        drawn separately, even if their shapes agree.
        """
        tables = list(lesson.GPTEmbedding(400, 400, 100).parameters.values())
        for table in tables:
            expect_small_normal(table)
        expect.that(not tables[0].equal(tables[-1]), "the two tables hold the same numbers")

    def test_dropout_rests_in_evaluation_mode(self, lesson, draw):
        """`module.eval()` is for predicting: nothing is dropped, nothing scaled."""
        tok, pos, ids = draw.normal(9, 40), draw.normal(8, 40), draw.ids(9, 5, 8)
        module = gpt_embedding(lesson, tok, pos, dropout=0.5)
        module.train(False)
        expect.close(module(ids), sums(tok, pos, ids))

    def test_dropout_zeroes_or_scales_each_sum(self, lesson, draw):
        """In training an element is 0 or (token + position) / (1 - p), here 4 times that;
        of 6,400 elements a share p is 0 (right code misses at 6 σ).
        """
        tok, pos, ids = positive(draw, 9, 80), positive(draw, 20, 80), draw.ids(9, 4, 20)
        for p in 0.1, 0.75:
            got = gpt_embedding(lesson, tok, pos, dropout=p)(ids)
            expect.close(got, (got != 0) * sums(tok, pos, ids) / (1 - p))
            share = (got == 0).double().mean().item()
            said = f"dropout={p} zeroed {share:.1%} of the elements, not {p:.0%}"
            expect.that(abs(share - p) < 0.033, said)

    def test_dropout_decides_for_each_element(self, lesson, draw):
        """No text, token or feature shares its fate with the next one, and two passes
        over the same ids lose different elements.
        """
        tok, pos, ids = positive(draw, 9, 70), positive(draw, 30, 70), draw.ids(9, 4, 30)
        module = gpt_embedding(lesson, tok, pos, dropout=0.5)
        kept = module(ids) != 0
        for dim, what in enumerate(["texts", "tokens", "features"]):
            same = kept.eq(kept.select(dim, 0).unsqueeze(dim)).all().item()
            expect.that(not same, f"all {what} lose the same elements")
        expect.that(not kept.equal(module(ids) != 0), "two calls lose the same elements")

    def test_positions_are_made_where_the_ids_are(self, lesson):
        """A `torch.arange` without a device is on the default one, also when the ids and the
        tables are on another. Here the default is "meta", and they are on the CPU.
        """
        call = lesson.prop(call_with_new_tensors_elsewhere)
        call(lesson.GPTEmbedding(7, 5, 3), torch.tensor([[6, 0, 1], [2, 3, 4]]))

    def test_the_result_follows_the_tables_as_they_learn(self, lesson, draw):
        """Training changes both tables between two calls, so no copy may be kept."""
        module = gpt_embedding(lesson, draw.normal(7, 3), draw.normal(5, 3))
        ids = draw.ids(7, 2, 4)
        same_ids = lesson.kept(ids)
        module(same_ids)
        tok, pos = draw.normal(7, 3), draw.normal(5, 3)
        module.set(tok_emb__weight=tok, pos_emb__weight=pos)
        expect.close(module(same_ids), sums(tok, pos, ids))

    def test_what_has_no_row_is_refused(self, lesson, draw):
        """With block_size 4 there is no row for position 4; 5 words have rows 0..4, and
        row -1 would silently be the last one.
        """
        module = lesson.GPTEmbedding(5, 4, 3)
        expect.rejects(module, ValueError, bad=(draw.ids(5, 2, 5),))
        for word in 5, -1:
            expect.rejects(module, IndexError, bad=(torch.tensor([[0, 1], [word, 4]]),))

    def test_the_seed_decides_both_tables(self, lesson):
        """`torch.manual_seed` before the call repeats the draw; another seed does not."""
        expect_global_generator(lesson, lambda: lesson.GPTEmbedding(4, 5, 3))


# --- count_parameters ---------------------------------------------------------------------------


class Affine(nn.Module):
    """A matrix, a bias and a scale; 3 · 2 + 2 + 1 = 9 elements."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3, 2))
        self.bias = nn.Parameter(torch.zeros(2))
        self.scale = nn.Parameter(torch.zeros(()))


class Table(nn.Module):
    def __init__(self, rows, columns, frozen):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(rows, columns))
        self.frozen = nn.Parameter(torch.zeros(frozen), requires_grad=False)


class Frozen(nn.Module):
    """Of 4 · 3 + 2 · 3 · 2 + 1 + n elements n are trainable."""

    def __init__(self, n):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(4, 3), requires_grad=False)
        self.kernel = nn.Parameter(torch.zeros(2, 3, 2), requires_grad=False)
        self.scale = nn.Parameter(torch.zeros(()), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(n))


class Buffered(nn.Module):
    """A parameter of 7 elements and buffers of 10 and 3."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(7))
        self.register_buffer("table", torch.zeros(2, 5))
        self.register_buffer("mask", torch.ones(3), persistent=False)


class Tied(nn.Module):
    """One table of 6 · C elements, used at both ends, and a bias of 6."""

    def __init__(self, n_embd):
        super().__init__()
        self.embedding = nn.Embedding(6, n_embd)
        self.head = nn.Linear(n_embd, 6)
        self.head.weight = self.embedding.weight


class Twins(nn.Module):
    """Two separate parameters that happen to be equal: 2 · 3 · C elements."""

    def __init__(self, n_embd):
        super().__init__()
        self.one = nn.Parameter(torch.ones(3, n_embd))
        self.other = nn.Parameter(torch.ones(3, n_embd))


class Thawing(nn.Module):
    """6 elements that are trained in training mode only."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3))

    def train(self, mode=True):
        self.weight.requires_grad_(mode)
        return super().train(mode)


class Deep(nn.Module):
    """Token and position tables, and layers in layers, one of them used twice."""

    def __init__(self, vocab_size):
        super().__init__()
        self.tok_emb, self.pos_emb = nn.Embedding(vocab_size, 2), nn.Embedding(3, 2)  # 2 V + 6
        shared = nn.Linear(4, 2)  # 4 · 2 + 2
        inner = nn.ModuleList([nn.Linear(1, 1), nn.Dropout(0.5)])  # 1 + 1
        self.stack = nn.Sequential(shared, nn.ModuleDict({"in": nn.Sequential(*inner)}))
        self.again = shared
        self.extra = nn.ParameterList([torch.zeros(2, 3, 1)])  # 6
        self.blocks = nn.ModuleList([nn.Linear(3, 3, bias=False) for _ in range(30)])  # 30 · 9


@exercise("count_parameters")
class TestCountParameters:
    def test_matrix_vector_and_number(self, lesson):
        """3 · 2 of a matrix, 2 of a vector, 1 of a single number: 9."""
        expect.equal(lesson.count_parameters(lesson.prop(Affine)), 9)

    def test_a_table_of_any_size(self, lesson, draw):
        """Rows times columns; other, frozen parameters don't count."""
        rows, columns, frozen = draw.integer(9_000, 9_999), draw.integer(2, 9), draw.integer(1, 99)
        table = lesson.prop(Table, rows, columns, frozen)
        expect.equal(lesson.count_parameters(table), rows * columns)

    def test_millions_are_counted_one_by_one(self, lesson):
        """4097² is 16 785 409; above 2**24 = 16 777 216, float32 has no odd numbers."""
        expect.equal(lesson.count_parameters(lesson.prop(Table, 4_097, 4_097, 1)), 16_785_409)

    def test_frozen_parameters_do_not_count(self, lesson, draw):
        """A matrix, three axes and a number have requires_grad=False; a bias is left, also
        when they are counted again.
        """
        n = draw.integer(5, 99)
        module = lesson.prop(Frozen, n)
        expect.equal(lesson.count_parameters(module), n)
        expect.equal(lesson.count_parameters(module), n)

    def test_buffers_do_not_count(self, lesson):
        """A buffer is saved and moved, but never trained; 7 elements are."""
        expect.equal(lesson.count_parameters(lesson.prop(Buffered)), 7)

    def test_a_tied_table_counts_once(self, lesson, draw):
        """The head's weight is the embedding's: 6 · C once, and a bias of 6."""
        n_embd = draw.integer(4, 99)
        expect.equal(lesson.count_parameters(lesson.prop(Tied, n_embd)), 6 * n_embd + 6)

    def test_equal_parameters_are_not_the_same_parameter(self, lesson, draw):
        """Two tables of ones learn apart, so both count: 2 · 3 · C."""
        n_embd = draw.integer(4, 99)
        expect.equal(lesson.count_parameters(lesson.prop(Twins, n_embd)), 2 * 3 * n_embd)

    def test_layers_within_layers_count(self, lesson, draw):
        """2 V + 6 of two tables, 4 · 2 + 2 of a layer that is used twice, 2 inside, 6 in a
        list, and 30 layers of 9.
        """
        vocab_size = draw.integer(5, 99)
        got = lesson.count_parameters(lesson.prop(Deep, vocab_size))
        expect.equal(got, 2 * vocab_size + 6 + 10 + 2 + 6 + 270)

    def test_each_call_counts_anew(self, lesson):
        """6 elements, and 0 after they were frozen."""
        module = lesson.prop(Thawing)
        expect.equal(lesson.count_parameters(module), 6)
        module.train(False)
        expect.equal(lesson.count_parameters(module), 0)


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

    def test_every_token_against_every_row(self, lesson, draw):
        """(B, T, C) and (V, C) give (B, T, V), a dot product in each place; also for 9001
        texts, tokens, features or words.
        """
        for n_batch, length, width, vocab_size in [
            (2, 3, 5, 7),
            (3, 1, 4, 2),
            (4, 4, 4, 4),
            (9_001, 1, 1, 2),
            (1, 9_001, 1, 2),
            (1, 1, 9_001, 1),
            (1, 1, 1, 9_001),
        ]:
            x, weight = draw.normal(n_batch, length, width), draw.normal(vocab_size, width)
            expect.close(lesson.tied_logits(x, weight), dot_products(x, weight), tolerance=1e-4)

    def test_both_arguments_learn(self, lesson, draw):
        """The table learns here as well as where it is looked up."""
        x, weight, upstream = draw.normal(2, 3, 4), draw.normal(5, 4), draw.normal(2, 3, 5)
        gradients = lesson.tied_logits.gradients(x, weight, upstream=upstream)
        expect.close(gradients[0], torch.einsum("btv,vc->btc", upstream, weight), tolerance=1e-4)
        expect.close(gradients[1], torch.einsum("btv,btc->vc", upstream, x), tolerance=1e-4)

    def test_changed_arguments_are_seen(self, lesson, draw):
        """Training changes the table in place; the next scores are those of the new one."""
        x, weight = draw.normal(2, 3, 4), draw.normal(5, 4)
        for after in (x, draw.normal(5, 4)), (draw.normal(2, 3, 4), weight):
            want = dot_products(*after)
            expect.sees_changes(lesson.tied_logits, (x, weight), after, want)


# --- scalar_embedding ---------------------------------------------------------------------------


@exercise("scalar_embedding")
class TestScalarEmbedding:
    def test_token_row_plus_position_row(self, lesson):
        """Row 2 of the first table and row 1 of the second: 5 + 0.25 and 6 + 8."""
        wte, wpe = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[0.5, 7.0], [0.25, 8.0]]
        expect.equal(lesson.scalar_embedding(wte, wpe, 2, 1), [5.25, 14.0])

    def test_every_pair_of_rows(self, lesson, draw):
        """Each sum adds its own two rows, of 1 number or of 300; tables may be long, too."""
        for n_tokens, n_positions, width, pairs in (
            (4, 3, 2, [(0, 2), (3, 0), (1, 1)]),
            (1, 2, 300, [(0, 1)]),
            (300, 299, 1, [(299, 298)]),
        ):
            wte, wpe = (draw.normal(n, width).tolist() for n in (n_tokens, n_positions))
            for token_id, pos_id in pairs:
                want = [wte[token_id][i] + wpe[pos_id][i] for i in range(width)]
                expect.close(lesson.scalar_embedding(wte, wpe, token_id, pos_id), want)

    def test_ids_may_be_named(self, lesson):
        """Token 0, position 2: 1 + 300."""
        got = lesson.scalar_embedding([[1.0]], [[100.0], [200.0], [300.0]], pos_id=2, token_id=0)
        expect.equal(got, [301.0])

    def test_whatever_adds_is_added(self, lesson):
        """Two texts are joined by t + p, the token's first; 1 + 0.5 is 1.5, as usual."""
        got = lesson.scalar_embedding([["a", "b"], ["the", 1]], [["-0", 0.5]], 1, 0)
        expect.equal(got, ["the-0", 1.5])

    def test_numbers_that_learn_keep_their_gradients(self, lesson, draw):
        """Each entry of the two rows gets the gradient of its sum, all others zero."""
        wte, wpe = number_tensors(draw.normal(3, 2)), number_tensors(draw.normal(4, 2))
        upstream = draw.normal(2)
        gradients = lesson.scalar_embedding.gradients(wte, wpe, 1, 2, upstream=list(upstream))
        for table, rows in enumerate((wte, wpe)):
            for row, column in itertools.product(range(len(rows)), range(2)):
                want = upstream[column] if row == (1, 2)[table] else torch.tensor(0.0)
                expect.close(gradients.get((table, row, column)), want)


def number_tensors(table):
    """A table as a list of lists of tensors that hold one number each."""
    return [list(row) for row in table]
