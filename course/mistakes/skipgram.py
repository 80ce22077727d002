"""Lesson 6: known mistakes and legitimate alternatives."""

import math
import re

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from course.mistakes import entries
from solutions.skipgram import nearest_by_cosine, negative_sampling_loss

# --- skipgram_pairs -------------------------------------------------------------------------


def _check_window(window):
    if window < 1:
        raise ValueError(f"window must be at least 1, or no word has a neighbor; got {window}")


def _pairs_at(ids, distances):
    """Both orders of every two words at these distances."""
    ids = ids.long()
    left = [ids[:0], *(ids[: max(len(ids) - d, 0)] for d in distances)]
    right = [ids[:0], *(ids[d:] for d in distances)]
    return torch.cat(left + right), torch.cat(right + left)


mistake, alternative, error = entries("skipgram_pairs")


@mistake(
    says="skipgram_pairs ignores `window`: it pairs direct neighbors only.",
    look="Where in the body does `window` stand?",
)
def window_ignored(ids, window):
    _check_window(window)
    return _pairs_at(ids, [1])


@mistake(
    says="skipgram_pairs stops one word short of the window: distance `window` is missing.",
    look="Which is the last number of `range(1, window)`?",
    common=True,
)
def window_one_too_narrow(ids, window):
    _check_window(window)
    return _pairs_at(ids, range(1, window))


@mistake(
    says="skipgram_pairs stops one word short of the window, but on one side only.",
    look="Where does `range(i - window, i + window)` end, and does it hold its end?",
)
def window_one_too_narrow_on_the_right(ids, window):
    _check_window(window)
    centers, contexts = _pairs_at(ids, range(1, window))
    before, after = _pairs_at(ids, [window])
    half = len(before) // 2
    return torch.cat((centers, after[:half])), torch.cat((contexts, before[:half]))


@mistake(
    says="skipgram_pairs goes one word beyond the window.",
    look="Which is the largest distance between a center and a context that came back?",
)
def window_one_too_wide(ids, window):
    _check_window(window)
    return _pairs_at(ids, range(1, window + 2))


@mistake(
    says="skipgram_pairs pairs words at distance `window` only, not at all distances up to it.",
    look="With window 2, what has become of the direct neighbors?",
)
def only_the_farthest_neighbor(ids, window):
    _check_window(window)
    return _pairs_at(ids, [window])


@mistake(
    says="skipgram_pairs looks to one side only: each word gets the words after it.",
    look="Does the last word of a text have a neighbor?",
    common=True,
)
def only_the_words_after(ids, window):
    _check_window(window)
    centers, contexts = _pairs_at(ids, range(1, window + 1))
    half = len(centers) // 2
    return centers[:half], contexts[:half]


@mistake(
    says="skipgram_pairs pairs every word with itself, too.",
    look="Is a word its own neighbor? What is the distance of a position to itself?",
    common=True,
)
def paired_with_itself(ids, window):
    _check_window(window)
    centers, contexts = _pairs_at(ids, range(1, window + 1))
    return torch.cat((centers, ids.long())), torch.cat((contexts, ids.long()))


@mistake(
    says="skipgram_pairs leaves out neighbors that are the same word.",
    look="Are positions compared, or words? Think of the text 5 5 6.",
    common=True,
)
def equal_words_left_out(ids, window):
    _check_window(window)
    centers, contexts = _pairs_at(ids, range(1, window + 1))
    return centers[centers != contexts], contexts[centers != contexts]


@mistake(
    says="skipgram_pairs pads the text with 0 and drops every 0 afterwards, also the word 0.",
    look="Is 0 a word? How else can a place beyond the text be told from one in it?",
)
def padded_with_word_zero(ids, window):
    _check_window(window)
    ids, distances = ids.long(), [d for d in range(-window, window + 1) if d]
    padded = F.pad(ids, (window, window))
    contexts = [padded[window + d : window + d + len(ids)] for d in distances]
    centers, contexts = ids.repeat(len(distances)), torch.cat(contexts)
    return centers[contexts != 0], contexts[contexts != 0]


@mistake(
    says="skipgram_pairs returns a pair that occurs several times only once.",
    look="How often does 1 stand beside 2 in 1 2 1 2? What forgets how often?",
)
def repeated_pairs_merged(ids, window):
    _check_window(window)
    pairs = torch.stack(_pairs_at(ids, range(1, window + 1)), dim=1).unique(dim=0)
    return pairs[:, 0], pairs[:, 1]


@mistake(
    says="skipgram_pairs joins the end of the text to its beginning.",
    look="What stands left of the first word? What do roll, and an index of -1, say?",
)
def text_bent_into_a_ring(ids, window):
    _check_window(window)
    shifts = [*range(-window, 0), *range(1, window + 1)]
    return ids.long().repeat(2 * window), torch.cat([ids.long().roll(s) for s in shifts])


def _pairs_from_before_the_beginning(ids, window, words):
    """As loops over positions i and j do that let j be below 0."""
    _check_window(window)
    pairs = [_pairs_at(ids, range(1, min(window, len(ids) - 1) + 1))]
    for i in range(min(window, len(ids))):
        contexts = torch.tensor([words[j] for j in range(i - window, 0)], dtype=torch.int64)
        pairs.append((ids[i].long().repeat(len(contexts)), contexts))
    return tuple(map(torch.cat, zip(*pairs, strict=True)))


@mistake(
    says="skipgram_pairs reaches beyond the beginning of the text, where -1 is the last word.",
    look="Which word is `ids[-1]`? Where do the neighbors of the first word begin?",
)
def reaches_beyond_the_beginning(ids, window):
    return _pairs_from_before_the_beginning(ids, window, ids.long())


@mistake(
    says="skipgram_pairs reaches beyond the beginning of the text, where -1 is the last word.",
    look="Which word is `ids[-1]`? Where do the neighbors of the first word begin?",
)
def reaches_beyond_the_beginning_of_a_list(ids, window):
    return _pairs_from_before_the_beginning(ids, window, ids.tolist())


def _fail_beyond_the_ends(ids, window, words):
    """As loops over positions i and j do that let j be anything; these i are the first to fail."""
    _check_window(window)
    for i in {0, max(len(ids) - window, 0)} if len(ids) else ():
        for j in range(i - window, i + window + 1):
            if j != i:
                words[j]
    return torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)


@mistake(
    says="skipgram_pairs reaches beyond the end of the text.",
    look="Which position has the last word, and how far does its window reach?",
)
def reaches_beyond_the_end(ids, window):
    return _fail_beyond_the_ends(ids, window, ids)


@mistake(
    says="skipgram_pairs reaches beyond the end of the text.",
    look="Which position has the last word, and how far does its window reach?",
)
def reaches_beyond_the_end_of_a_list(ids, window):
    return _fail_beyond_the_ends(ids, window, ids.tolist())


@mistake(
    says="skipgram_pairs leaves out the words near the ends, whose window is not full.",
    look="Which contexts does the very first word have?",
)
def words_at_the_ends_left_out(ids, window):
    _check_window(window)
    ids, pairs = ids.tolist(), []
    for i in range(window, len(ids) - window):
        pairs += [(ids[i], ids[i + d]) for d in range(-window, window + 1) if d]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).unbind(1)


@mistake(
    says="skipgram_pairs leaves out the last word of a window that the text cuts short.",
    look="Is the end of a slice, or of a range, part of it? Try the last word.",
)
def last_word_never_a_context(ids, window):
    _check_window(window)
    ids, centers, contexts = ids.tolist(), [], []
    for i in range(len(ids)):
        for j in range(max(0, i - window), min(len(ids) - 1, i + window + 1)):
            if i != j:
                centers.append(ids[i])
                contexts.append(ids[j])
    return torch.tensor(centers, dtype=torch.int64), torch.tensor(contexts, dtype=torch.int64)


@mistake(
    says="skipgram_pairs returns pairs in the dtype of the ids instead of int64.",
    look="Which dtype comes back for a text of uint8 ids?",
)
def dtype_of_the_ids_kept(ids, window):
    _check_window(window)
    return tuple(words.to(ids.dtype) for words in _pairs_at(ids, range(1, window + 1)))


@mistake(
    says="skipgram_pairs returns float tensors where there is no pair.",
    look="Which dtype does torch.tensor([]) have?",
)
def floats_for_no_pairs(ids, window):
    _check_window(window)
    centers, contexts = _pairs_at(ids, range(1, window + 1))
    return torch.tensor(centers.tolist()), torch.tensor(contexts.tolist())


@mistake(
    says="skipgram_pairs fails on texts that are too short to make a pair.",
    look="What does torch.cat say to an empty list?",
)
def nothing_to_join(ids, window):
    _check_window(window)
    ids, distances = ids.long(), range(1, min(window, len(ids) - 1) + 1)
    left, right = [ids[:-d] for d in distances], [ids[d:] for d in distances]
    return torch.cat(left + right), torch.cat(right + left)


@mistake(
    says="skipgram_pairs fails when the window is wider than the text.",
    look="What are len(ids) - distance, and a slice up to it, for a distance beyond the text?",
)
def slices_beyond_the_text(ids, window):
    _check_window(window)
    ids, count = ids.long(), len(ids)
    left = [ids[:0]] + [ids[torch.arange(count - d)] for d in range(1, window + 1)]
    right = [ids[:0]] + [ids[torch.arange(d, count)] for d in range(1, window + 1)]
    return torch.cat(left + right), torch.cat(right + left)


@mistake(
    says="skipgram_pairs counts positions in the dtype of the ids, where they overflow.",
    look="Up to which number can uint8 count? Texts are longer than that.",
)
def positions_in_the_dtype_of_the_ids(ids, window):
    _check_window(window)
    positions = torch.arange(len(ids)).to(ids.dtype)
    distance = (positions[:, None] - positions).abs()
    left, right = torch.where((distance >= 1) & (distance <= window))
    return ids.long()[left], ids.long()[right]


@mistake(
    says="skipgram_pairs compares every position with every other: N * N of them fit no memory.",
    look="How large is a table of 10 ** 6 times 10 ** 6 distances? Are there only few to look at?",
)
def all_positions_against_all(ids, window):
    _check_window(window)
    positions = torch.arange(len(ids))
    distance = (positions[:, None] - positions).abs()
    left, right = torch.where((distance >= 1) & (distance <= window))
    return ids.long()[left], ids.long()[right]


@mistake(
    says="skipgram_pairs shrinks the window of each word at random, as word2vec does.",
    look="The exercise wants every pair within the window.",
)
def window_shrunk_at_random(ids, window):
    _check_window(window)
    ids, pairs = ids.tolist(), []
    for i, word in enumerate(ids):
        reach = int(torch.randint(1, window + 1, ()))
        around = [j for j in range(max(0, i - reach), min(len(ids), i + reach + 1)) if j != i]
        pairs += [(word, ids[j]) for j in around]
    return torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).unbind(1)


@mistake(
    says="skipgram_pairs returns the positions of the words instead of the words.",
    look="Are the numbers that come back ids, or places in the text?",
)
def positions_instead_of_words(ids, window):
    _check_window(window)
    return _pairs_at(torch.arange(len(ids)), range(1, window + 1))


@mistake(
    says="skipgram_pairs accepts a window below 1.",
    look="What should a window of 0 mean? The check stood in the stub.",
)
def window_unchecked(ids, window):
    return _pairs_at(ids, range(1, window + 1))


@alternative
def loops_in_plain_python(ids, window):
    _check_window(window)
    words, centers, contexts = ids.tolist(), [], []
    for i, word in enumerate(words):
        for j in range(max(0, i - window), min(len(words), i + window + 1)):
            if j != i:
                centers.append(word)
                contexts.append(words[j])
    return torch.tensor(centers, dtype=torch.int64), torch.tensor(contexts, dtype=torch.int64)


@alternative
def window_laid_over_a_padded_text(ids, window):
    _check_window(window)
    ids, window = ids.long(), min(window, max(len(ids) - 1, 1))
    padded = F.pad(ids, (window, window), value=-(2**40))
    around = padded.unfold(0, 2 * window + 1, 1) if len(ids) else padded[:0, None]
    keep = around != -(2**40)
    keep[:, keep.shape[1] // 2] = False
    centers = ids[:, None].expand_as(around)
    return centers[keep], around[keep]


@alternative
def slices_in_numpy(ids, window):
    _check_window(window)
    words = ids.cpu().numpy().astype(numpy.int64)
    pairs = [numpy.zeros((2, 0), dtype=numpy.int64)]
    for d in range(1, min(window, len(words) - 1) + 1):
        pairs += [numpy.stack([words[d:], words[:-d]]), numpy.stack([words[:-d], words[d:]])]
    centers, contexts = torch.from_numpy(numpy.concatenate(pairs, axis=1)).to(ids.device)
    return centers, contexts


@alternative
def positions_shifted_and_masked(ids, window):
    _check_window(window)
    reach = min(window, len(ids))
    shifts = torch.cat((torch.arange(-reach, 0), torch.arange(1, reach + 1))).to(ids.device)
    positions = torch.arange(len(ids), device=ids.device)
    there = positions[:, None] + shifts
    inside = (there >= 0) & (there < len(ids))
    return ids.long()[positions[:, None].expand_as(there)[inside]], ids.long()[there[inside]]


# --- noise_distribution ---------------------------------------------------------------------


def _check_counts(counts):
    if counts.min() < 0:
        raise ValueError(f"counts must not be negative; got {counts.min().item()}")
    if counts.max() == 0:
        raise ValueError("counts must hold at least one word that occurs; got all zero")


mistake, alternative, error = entries("noise_distribution")


@mistake(
    says="noise_distribution ignores `power`: it always raises to 0.75.",
    look="Where in the body does `power` stand?",
    common=True,
)
def power_ignored(counts, power=0.75):
    _check_counts(counts)
    weights = counts**0.75
    return weights / weights.sum()


@mistake(
    says="noise_distribution leaves out the power: these are the plain frequencies.",
    look="What should lift the rare words?",
)
def frequencies_without_the_power(counts, power=0.75):
    _check_counts(counts)
    return counts / counts.sum()


@mistake(
    says="noise_distribution is not scaled: the weights do not sum to 1.",
    look="What does the sum of the result have to be?",
)
def not_scaled(counts, power=0.75):
    _check_counts(counts)
    return counts**power


@mistake(
    says="noise_distribution scales first and takes the power then: the sum is no longer 1.",
    look="Which comes last, the power or the division?",
    common=True,
)
def scaled_before_the_power(counts, power=0.75):
    _check_counts(counts)
    return (counts / counts.sum()) ** power


@mistake(
    says="noise_distribution divides by the sum of the counts, not of the weights.",
    look="The sum of what should the weights be divided by?",
)
def divided_by_the_sum_of_counts(counts, power=0.75):
    _check_counts(counts)
    return counts**power / counts.sum()


@mistake(
    says="noise_distribution takes a softmax, which grows with an exponential instead of a power.",
    look="How much more likely is a word that occurs 16 times as often?",
    common=True,
)
def softmax_of_the_counts(counts, power=0.75):
    _check_counts(counts)
    return F.softmax(counts.to(torch.get_default_dtype()) * power, dim=0)


@mistake(
    says="noise_distribution takes a softmax, which grows with an exponential instead of a power.",
    look="How much more likely is a word that occurs 16 times as often?",
)
def softmax_of_the_weights(counts, power=0.75):
    _check_counts(counts)
    return F.softmax(counts**power, dim=0)


@mistake(
    says="noise_distribution takes a softmax, which grows with an exponential instead of a power.",
    look="How much more likely is a word that occurs 16 times as often?",
)
def softmax_of_the_counts_as_floats(counts, power=0.75):
    _check_counts(counts)
    return F.softmax(counts.float(), dim=0)


@mistake(
    says="noise_distribution takes a softmax, which grows with an exponential instead of a power.",
    look="How much more likely is a word that occurs 16 times as often?",
)
def softmax_of_the_counts_as_they_come(counts, power=0.75):
    _check_counts(counts)
    return F.softmax(counts, dim=0)


@mistake(
    says="noise_distribution divides by the length of the weights as a vector, not by their sum.",
    look="What does F.normalize make 1 if it is not told otherwise?",
)
def scaled_to_length_1(counts, power=0.75):
    _check_counts(counts)
    return F.normalize(counts**power, dim=0)


@mistake(
    says="noise_distribution divides by the largest weight, not by their sum.",
    look="Which number should all probabilities together make?",
)
def divided_by_the_largest(counts, power=0.75):
    _check_counts(counts)
    weights = counts**power
    return weights / weights.max()


@mistake(
    says="noise_distribution adds to every count, so that words which never occur are drawn.",
    look="What is 0 ** 0.75? Which probability has a count of 0?",
)
def every_count_smoothed(counts, power=0.75):
    _check_counts(counts)
    weights = (counts + 1) ** power
    return weights / weights.sum()


@mistake(
    says="noise_distribution gives words that never occur a tiny probability instead of 0.",
    look="What does a small number that is added everywhere do to a count of 0?",
)
def zeros_lifted_by_a_little(counts, power=0.75):
    _check_counts(counts)
    weights = (counts + 1e-8) ** power
    return weights / weights.sum()


@mistake(
    says="noise_distribution returns float32, also for float64 counts.",
    look="Which dtype comes back for float64 counts? Only integers need another one.",
)
def always_float32(counts, power=0.75):
    _check_counts(counts)
    weights = counts.float() ** power
    return weights / weights.sum()


@mistake(
    says="noise_distribution writes the weights back as integers, which cuts them off.",
    look="Which dtype have the weights of integer counts?",
)
def weights_cut_to_the_dtype_of_the_counts(counts, power=0.75):
    _check_counts(counts)
    weights = (counts**power).to(counts.dtype)
    return weights / weights.sum()


@mistake(
    says="noise_distribution takes the root instead of the power: 1 / power.",
    look="For power 2, is 9 weighed as 81 or as 3?",
)
def root_instead_of_power(counts, power=0.75):
    _check_counts(counts)
    weights = counts ** (1 / power if power else 0)
    return weights / weights.sum()


@mistake(
    says="noise_distribution cuts the counts off from their gradient.",
    look="Does something detach them, or take them out of their tensor?",
)
def counts_detached(counts, power=0.75):
    _check_counts(counts)
    weights = counts.detach() ** power
    return weights / weights.sum()


@mistake(
    says="noise_distribution changes the counts that it was given.",
    look="Which operations end in an underscore, or stand before `=`?",
)
def counts_changed_in_place(counts, power=0.75):
    _check_counts(counts)
    weights = counts.pow_(power) if counts.is_floating_point() else counts**power
    return weights / weights.sum()


@mistake(
    says="noise_distribution accepts negative counts.",
    look="The check stood in the stub; what does it look at?",
)
def negative_counts_accepted(counts, power=0.75):
    if counts.max() == 0:
        raise ValueError("counts must hold at least one word that occurs; got all zero")
    weights = counts.clamp(min=0) ** power
    return weights / weights.sum()


@mistake(
    says="noise_distribution accepts counts that are all zero, and returns nan.",
    look="What is 0 / 0?",
)
def all_zero_accepted(counts, power=0.75):
    if counts.min() < 0:
        raise ValueError(f"counts must not be negative; got {counts.min().item()}")
    weights = counts**power
    return weights / weights.sum()


@mistake(
    says="noise_distribution refuses counts of zero, although many words may not occur.",
    look="Is one zero among the counts wrong?",
)
def any_zero_refused(counts, power=0.75):
    if counts.min() <= 0:
        raise ValueError(f"counts must be positive, not all zero; got {counts.min().item()}")
    weights = counts**power
    return weights / weights.sum()


@alternative
def softmax_of_the_logarithms(counts, power=0.75):
    _check_counts(counts)
    floats = counts if counts.is_floating_point() else counts.float()
    return (
        F.softmax(power * floats.log(), dim=0) if power else torch.ones_like(floats) / len(counts)
    )


@alternative
def scaled_to_1_in_the_first_norm(counts, power=0.75):
    if (smallest := counts.min()) < 0:
        raise ValueError(f"no count may be negative, but the smallest is {smallest:g}")
    if not counts.any():
        raise ValueError("a distribution needs a positive count, but the counts are all zeros")
    return F.normalize(counts.pow(power), p=1, dim=0, eps=0)


@alternative
def frequencies_first_and_in_float64(counts, power=0.75):
    _check_counts(counts)
    dtype = counts.dtype if counts.is_floating_point() else torch.float32
    frequencies = counts.double() / counts.double().sum()
    return (frequencies**power / (frequencies**power).sum()).to(dtype)


# --- SkipGram -------------------------------------------------------------------------------


class _TwoTables(nn.Module):
    """The parameters of a right `SkipGram`; the variants add a forward, right or wrong."""

    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.center = nn.Embedding(vocab_size, n_embd)
        self.context = nn.Embedding(vocab_size, n_embd)
        nn.init.normal_(self.center.weight, std=0.02)
        nn.init.normal_(self.context.weight, std=0.02)

    def rows(self, centers, contexts):
        """(P, 1, C) and (P, K, C), with K = 1 for contexts (P,)."""
        contexts = contexts.long()[:, None] if contexts.dim() == 1 else contexts.long()
        return self.center(centers.long())[:, None], self.context(contexts)

    def forward(self, centers, contexts):
        center_rows, context_rows = self.rows(centers, contexts)
        return (center_rows * context_rows).sum(dim=-1).reshape(contexts.shape)


mistake, alternative, error = entries("SkipGram")


@mistake(
    says="SkipGram looks the contexts up in the table of the centers.",
    look="Which of the two tables does each row come from?",
)
class contexts_from_the_center_table(_TwoTables):
    def forward(self, centers, contexts):
        center_rows, context_rows = self.center(centers.long()), self.center(contexts.long())
        return torch.einsum("pc,p...c->p...", center_rows, context_rows)


@mistake(
    says="SkipGram swaps its tables: centers are looked up in `context`, contexts in `center`.",
    look="Which of the two tables does each row come from?",
)
class tables_swapped(_TwoTables):
    def rows(self, centers, contexts):
        contexts = contexts.long()[:, None] if contexts.dim() == 1 else contexts.long()
        return self.context(centers.long())[:, None], self.center(contexts)


@mistake(
    says="SkipGram uses one table for both roles of a word.",
    look="How many parameters does the model have?",
    common=True,
)
class one_table_for_both(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.context = self.center


@mistake(
    says="SkipGram holds its tables under other names than `center.weight` and `context.weight`.",
    look="Which names does `model.named_parameters()` list, and which should it?",
)
class tables_under_other_names(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.of_centers, self.of_contexts = _TwoTables(vocab_size, n_embd).children()

    def forward(self, centers, contexts):
        rows = self.of_centers(centers.long()), self.of_contexts(contexts.long())
        return torch.einsum("pc,p...c->p...", *rows)


@mistake(
    says="SkipGram keeps its tables as bare parameters, so that their names lack `.weight`.",
    look="Which names does `model.named_parameters()` list, and which should it?",
)
class tables_without_a_module(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.center = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))
        self.context = nn.Parameter(0.02 * torch.randn(vocab_size, n_embd))

    def forward(self, centers, contexts):
        rows = self.center[centers.long()], self.context[contexts.long()]
        return torch.einsum("pc,p...c->p...", *rows)


@mistake(
    says="SkipGram starts with both tables at zero, where every gradient is zero, too.",
    look="If both rows of a dot product are 0, which gradients do they get?",
)
class both_tables_at_zero(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.zeros_(self.center.weight)
        nn.init.zeros_(self.context.weight)


@mistake(
    says="SkipGram starts with large rows: those of nn.Embedding, with a spread of 1.",
    look="How large are dot products of such rows, and how steep is σ there?",
)
class rows_as_nn_embedding_draws_them(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.center.reset_parameters()
        self.context.reset_parameters()


@mistake(
    says="SkipGram starts with the same number everywhere, so that all words stay alike.",
    look="What tells one row from another before the first step?",
)
class constant_start(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        nn.init.constant_(self.center.weight, 0.01)


@mistake(
    says="SkipGram holds its tables as buffers or plain tensors, which no optimizer trains.",
    look="What makes a tensor of a module a parameter?",
)
class tables_as_buffers(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        for table in self.center, self.context:
            weight = table.weight.detach()
            del table.weight
            table.register_buffer("weight", weight)


@mistake(
    says="SkipGram freezes the context table.",
    look="Which parameters require a gradient?",
)
class contexts_frozen(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        self.context.weight.requires_grad_(False)


@mistake(
    says="SkipGram seeds the global generator while it is made.",
    look="Whose decision is a seed?",
)
class seed_set_inside(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        torch.manual_seed(0)
        super().__init__(vocab_size, n_embd)


@mistake(
    says="SkipGram draws its start from numpy, which torch.manual_seed does not repeat.",
    look="Which generator do the starting values come from?",
)
class start_drawn_by_numpy(_TwoTables):
    def __init__(self, vocab_size, n_embd):
        super().__init__(vocab_size, n_embd)
        start = 0.02 * numpy.random.standard_normal((vocab_size, n_embd))
        self.center.weight.data = torch.tensor(start, dtype=torch.float32)


@mistake(
    says="SkipGram multiplies every center with every context of the batch: (P, P) logits.",
    look="Which axis of the two sets of rows do the pairs lie on, and what does `@` do with it?",
    common=True,
)
class every_center_with_every_context(_TwoTables):
    def forward(self, centers, contexts):
        return self.center(centers.long()) @ self.context(contexts.long()).transpose(-1, -2)


@mistake(
    says="SkipGram lines the centers up with the K axis of the contexts, not with the pairs.",
    look="How does (P, C) broadcast against (P, K, C), and what if P = K?",
)
class centers_along_the_wrong_axis(_TwoTables):
    def forward(self, centers, contexts):
        return (self.center(centers.long()) * self.context(contexts.long())).sum(dim=-1)


@mistake(
    says="SkipGram takes the mean of the products instead of their sum.",
    look="What does a dot product do with the C products?",
)
class mean_of_the_products(_TwoTables):
    def forward(self, centers, contexts):
        center_rows, context_rows = self.rows(centers, contexts)
        return (center_rows * context_rows).mean(dim=-1).reshape(contexts.shape)


@mistake(
    says="SkipGram multiplies the rows, but does not add the products up.",
    look="What does a dot product do with the C products?",
)
class products_not_summed(_TwoTables):
    def forward(self, centers, contexts):
        center_rows, context_rows = self.rows(centers, contexts)
        return (center_rows * context_rows).reshape(*contexts.shape, -1)


@mistake(
    says="SkipGram divides by √C, as attention does; a logit here is the plain dot product.",
    look="Is there a scale in the dot product?",
)
class scaled_as_in_attention(_TwoTables):
    def forward(self, centers, contexts):
        logits = super().forward(centers, contexts)
        return logits / math.sqrt(self.center.weight.shape[1])


@mistake(
    says="SkipGram returns cosines: the rows are scaled to length 1 first.",
    look="Does a logit stop at 1?",
)
class cosines_instead_of_dot_products(_TwoTables):
    def forward(self, centers, contexts):
        return torch.cosine_similarity(*self.rows(centers, contexts), dim=-1).reshape(
            contexts.shape
        )


@mistake(
    says="SkipGram returns probabilities: σ is applied here, and again in the loss.",
    look="The loss expects logits. Who takes the sigmoid?",
    common=True,
)
class sigmoid_taken_already(_TwoTables):
    def forward(self, centers, contexts):
        return super().forward(centers, contexts).sigmoid()


@mistake(
    says="SkipGram squeezes the result, which drops more axes than it should.",
    look="Which axes does `squeeze()` drop if P = 1 or K = 1?",
    common=True,
)
class all_axes_of_one_dropped(_TwoTables):
    def forward(self, centers, contexts):
        center_rows, context_rows = self.rows(centers, contexts)
        return (context_rows @ center_rows.transpose(1, 2)).squeeze()


@mistake(
    says="SkipGram gives (P, 1) for (P,) contexts.",
    look="Which shape should one context a pair lead to?",
)
class one_axis_left_over(_TwoTables):
    def forward(self, centers, contexts):
        center_rows, context_rows = self.rows(centers, contexts)
        return (center_rows * context_rows).sum(dim=-1)


@mistake(
    says="SkipGram uses the first of the K contexts only.",
    look="How many logits does a pair with K contexts have?",
)
class only_the_first_context(_TwoTables):
    def forward(self, centers, contexts):
        center_rows, context_rows = self.rows(centers, contexts)
        return (center_rows * context_rows[:, :1]).sum(dim=-1).expand(-1, context_rows.shape[1])


@mistake(
    says="SkipGram lets no gradient through to the centers.",
    look="What do detach, data and no_grad do?",
)
class centers_detached(_TwoTables):
    def rows(self, centers, contexts):
        center_rows, context_rows = super().rows(centers, contexts)
        return center_rows.detach(), context_rows


@mistake(
    says="SkipGram indexes its tables with uint8 ids as they come, which PyTorch reads as a mask.",
    look="What does a uint8 tensor mean as an index?",
)
class uint8_as_a_mask(_TwoTables):
    def rows(self, centers, contexts):
        contexts = contexts[:, None] if contexts.dim() == 1 else contexts
        return self.center.weight[centers][:, None], self.context.weight[contexts]


@mistake(
    says="SkipGram returns float32, also with float64 tables.",
    look="Which dtype comes back after model.to(torch.float64)?",
)
class logits_always_float32(_TwoTables):
    def forward(self, centers, contexts):
        return super().forward(centers, contexts).float()


@mistake(
    says="SkipGram views the ids, which fails if they lie apart in memory.",
    look="When does view work, and what works always?",
)
class ids_viewed(_TwoTables):
    def forward(self, centers, contexts):
        center_rows = self.center(centers.long())
        context_rows = self.context(contexts.view(-1).long())
        context_rows = context_rows.reshape(*contexts.shape, center_rows.shape[1])
        return torch.einsum("pc,p...c->p...", center_rows, context_rows)


@mistake(
    says="SkipGram fails on an empty batch.",
    look="Which number should -1 stand for when there is nothing to divide?",
)
class empty_batch_not_thought_of(_TwoTables):
    def forward(self, centers, contexts):
        center_rows = self.center(centers.long())
        context_rows = self.context(contexts.long()).view(len(centers), -1, center_rows.shape[1])
        return (center_rows[:, None] * context_rows).sum(dim=-1).view(contexts.shape)


@alternative
class tables_as_raw_parameters(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.center = nn.ParameterDict({"weight": 0.1 * torch.randn(vocab_size, n_embd)})
        self.context = nn.ParameterDict({"weight": torch.zeros(vocab_size, n_embd)})

    def forward(self, centers, contexts):
        center_rows = self.center["weight"].index_select(0, centers.long())
        context_rows = F.embedding(contexts.long(), self.context["weight"])
        if contexts.dim() == 1:
            return torch.linalg.vecdot(center_rows, context_rows)
        return torch.bmm(context_rows, center_rows.unsqueeze(2)).squeeze(2)


@alternative
class sparse_gradients(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.context = nn.Embedding(vocab_size, n_embd, sparse=True)
        self.center = nn.Embedding(vocab_size, n_embd, sparse=True)
        for table in self.center, self.context:
            nn.init.uniform_(table.weight, -0.1, 0.1)

    def forward(self, centers, contexts):
        rows = self.center(centers.long())
        rows = rows.reshape(len(centers), *[1] * (contexts.dim() - 1), rows.shape[1])
        return (rows * self.context(contexts.long())).sum(-1)


@alternative
class picked_from_all_logits(_TwoTables):
    def forward(self, centers, contexts):
        logits = self.center.weight[centers.long()] @ self.context.weight.T  # (P, V)
        wanted = contexts.long().reshape(len(centers), math.prod(contexts.shape[1:]))
        return logits.gather(1, wanted).reshape(contexts.shape)


@alternative
class pair_by_pair_in_python(_TwoTables):
    def forward(self, centers, contexts):
        logits = [
            self.context.weight[j] @ self.center.weight[int(i)]
            for i, j in zip(centers, contexts.long(), strict=True)
        ]
        return torch.stack(logits) if logits else self.center.weight.new_zeros(contexts.shape)


# --- negative_sampling_loss -----------------------------------------------------------------


mistake, alternative, error = entries("negative_sampling_loss")


@mistake(
    says="negative_sampling_loss overflows: for scores far from 0 the loss is inf.",
    look="What is log σ(-1000) in two steps, and is there a function for it in one?",
    common=True,
)
def logarithm_of_sigmoid(positive, negative):
    return -(positive.sigmoid().log() + (-negative).sigmoid().log().sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss adds a small number inside the logarithm: "
    "the loss stops growing, and the gradient vanishes.",
    look="What is the loss of a logit of -1000, and what is log(1e-9)?",
)
def small_number_inside_the_logarithm(positive, negative):
    of_drawn = torch.log((-negative).sigmoid() + 1e-9).sum(dim=1)
    return -(torch.log(positive.sigmoid() + 1e-9) + of_drawn).mean()


@mistake(
    says="negative_sampling_loss clamps the logits: beyond them the loss does not grow.",
    look="What is the loss of a logit of -1000, and which gradient does it get?",
)
def logits_clamped(positive, negative):
    positive, negative = positive.clamp(-30, 30), negative.clamp(-30, 30)
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss applies σ before a cross-entropy, which stops at 100 a logit.",
    look="What is σ(1000) in float32? Is there a cross-entropy that takes logits?",
)
def cross_entropy_of_probabilities(positive, negative):
    positive, negative = positive.sigmoid(), negative.sigmoid()
    of_true = F.binary_cross_entropy(positive, torch.ones_like(positive), reduction="sum")
    of_drawn = F.binary_cross_entropy(negative, torch.zeros_like(negative), reduction="sum")
    return (of_true + of_drawn) / len(positive)


@mistake(
    says="negative_sampling_loss counts each true pair K times, once for each of its negatives.",
    look="Does your sum over K reach the true pair, too? Which shape has what you sum?",
)
def true_pair_counted_k_times(positive, negative):
    return -(F.logsigmoid(positive)[:, None] + F.logsigmoid(-negative)).sum(dim=1).mean()


@mistake(
    says="negative_sampling_loss overflows: for scores far from 0 the loss is inf.",
    look="What is log σ(-1000) in two steps, and is there a function for it in one?",
)
def overflowing_exponential(positive, negative):
    return (torch.log1p(torch.exp(-positive)) + torch.log1p(torch.exp(negative)).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss gives a logit of exactly 0 no gradient: training cannot begin.",
    look="Which derivative do relu and abs have at 0, and which has log σ?",
)
def no_gradient_at_zero(positive, negative):
    def cost(x):
        return F.relu(x) + torch.log1p(torch.exp(-x.abs()))

    return (cost(-positive) + cost(negative).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss rewards high logits of drawn pairs: a minus is missing.",
    look="Should a drawn pair have a high logit or a low one?",
    common=True,
)
def drawn_pairs_as_true_ones(positive, negative):
    return -(F.logsigmoid(positive) + F.logsigmoid(negative).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss has the signs of true and drawn pairs swapped.",
    look="Which of the two should have a high logit?",
)
def signs_swapped(positive, negative):
    return -(F.logsigmoid(-positive) + F.logsigmoid(negative).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss returns the log-likelihood: it should be low when all is right.",
    look="Which sign has the logarithm of a probability, and which has a loss?",
)
def likelihood_instead_of_loss(positive, negative):
    return (F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss divides by the number of negatives once too often.",
    look="How much do five negatives weigh beside one true pair?",
    common=True,
)
def mean_over_negatives(positive, negative):
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative).mean(dim=1)).mean()


@mistake(
    says="negative_sampling_loss averages over all P * (K + 1) logits, not over the P pairs.",
    look="By which number is the sum divided?",
)
def mean_over_all_logits(positive, negative):
    logits = torch.cat((positive[:, None], -negative), dim=1)
    return -F.logsigmoid(logits).mean()


@mistake(
    says="negative_sampling_loss adds the pairs up instead of averaging over them.",
    look="Should the loss double when the batch is twice as long?",
    common=True,
)
def sum_over_pairs(positive, negative):
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1)).sum()


@mistake(
    says="negative_sampling_loss sums the negatives over the pairs: over axis 0 instead of K.",
    look="Which axis of (P, K) do the negatives of one pair lie on?",
)
def sum_along_the_wrong_axis(positive, negative):
    of_drawn = F.logsigmoid(-negative).sum(dim=0)
    return -(F.logsigmoid(positive).mean() + of_drawn.mean())


@mistake(
    says="negative_sampling_loss returns a loss for each pair instead of their mean.",
    look="Which shape has the result?",
)
def a_loss_for_each_pair(positive, negative):
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1))


@mistake(
    says="negative_sampling_loss adds the K logits first and takes one logarithm of the sum.",
    look="Is log σ of a sum the sum of the log σ?",
)
def logits_added_before_the_sigmoid(positive, negative):
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative.sum(dim=1))).mean()


@mistake(
    says="negative_sampling_loss is a softmax over the true pair and its negatives.",
    look="Are the K + 1 logits compared with each other, or each judged for itself?",
)
def softmax_over_the_candidates(positive, negative):
    logits = torch.cat((positive[:, None], negative), dim=1)
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.int64))


@mistake(
    says="negative_sampling_loss forgets the negatives.",
    look="What keeps all logits from growing without end?",
)
def negatives_forgotten(positive, negative):
    return -F.logsigmoid(positive).mean()


@mistake(
    says="negative_sampling_loss sends no gradient to the negatives.",
    look="What do detach and no_grad do?",
)
def negatives_detached(positive, negative):
    return -(F.logsigmoid(positive) + F.logsigmoid(-negative.detach()).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss is a plain number, from which no gradient flows back.",
    look="What does item() leave behind?",
)
def loss_taken_out_of_its_tensor(positive, negative):
    loss = -(F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1)).mean()
    return torch.tensor(loss.item(), dtype=positive.dtype)


@mistake(
    says="negative_sampling_loss uses logarithms to base 2.",
    look="How many ln 2 does an untrained model cost?",
)
def logarithm_to_base_2(positive, negative):
    loss = -(F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=1)).mean()
    return loss / math.log(2)


@mistake(
    says="negative_sampling_loss returns float32, also for float64 logits.",
    look="Which dtype comes back for float64 logits?",
)
def loss_always_float32(positive, negative):
    return -(F.logsigmoid(positive.float()) + F.logsigmoid(-negative.float()).sum(dim=1)).mean()


@mistake(
    says="negative_sampling_loss divides by the number of negatives once too often.",
    look="How much do five negatives weigh beside one true pair?",
)
def all_means_of_cross_entropy(positive, negative):
    of_true = F.binary_cross_entropy_with_logits(positive, torch.ones_like(positive))
    of_drawn = F.binary_cross_entropy_with_logits(negative, torch.zeros_like(negative))
    return of_true + of_drawn


@alternative
def two_softplus(positive, negative):
    return F.softplus(-positive).mean() + F.softplus(negative).sum(dim=1).mean()


@alternative
def binary_cross_entropy(positive, negative):
    logits = torch.cat((positive.unsqueeze(1), negative), dim=1)
    is_true = torch.zeros_like(logits)
    is_true[:, 0] = 1
    total = F.binary_cross_entropy_with_logits(logits, is_true, reduction="sum")
    return total / len(positive)


@alternative
def logarithm_of_e_to_the_0_plus_e_to_the_x(positive, negative):
    x = torch.cat((-positive.unsqueeze(1), negative), dim=1).double()
    return torch.logaddexp(x, torch.zeros_like(x)).sum(1).mean(0).to(positive.dtype)


@alternative
def a_pair_at_a_time(positive, negative):
    costs = [
        -F.logsigmoid(positive[p]) - sum(F.logsigmoid(-negative[p, k]) for k in range(len(row)))
        for p, row in enumerate(negative)
    ]
    return torch.stack(costs).mean()


# --- train_skipgram -------------------------------------------------------------------------


def _shuffled(count, generator):
    return torch.randperm(count, generator=generator)


def _drawn(noise, count, n_negatives, generator):
    words = torch.multinomial(noise, count * n_negatives, replacement=True, generator=generator)
    return words.view(count, n_negatives)


def _loss(model, centers, contexts, drawn):
    return negative_sampling_loss(model(centers, contexts), model(centers, drawn))


def _step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def _mean_over_pairs(losses, sizes):
    total = sum(loss * size for loss, size in zip(losses, sizes, strict=True))
    return total / sum(sizes)


def _train(
    model,
    centers,
    contexts,
    noise,
    *,
    epochs=5,
    batch_size=1024,
    n_negatives=5,
    lr=0.01,
    generator=None,
    on_epoch=None,
    make_optimizer=torch.optim.Adam,
    shuffle=_shuffled,
    draw=_drawn,
    loss_of=_loss,
    step=_step,
    summary=_mean_over_pairs,
):
    """A right `train_skipgram`, of which every part can be replaced."""
    optimizer = make_optimizer(model.parameters(), lr=lr)
    losses = []
    for epoch in range(epochs):
        of_batches, sizes = [], []
        for batch in shuffle(len(centers), generator).split(batch_size):
            drawn = draw(noise, len(batch), n_negatives, generator)
            loss = loss_of(model, centers[batch], contexts[batch], drawn)
            of_batches.append(step(optimizer, loss))
            sizes.append(len(batch))
        losses.append(summary(of_batches, sizes))
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    return losses


mistake, alternative, error = entries("train_skipgram")


@mistake(
    says="train_skipgram draws its negatives once: the same ones come in every epoch.",
    look="Before or inside which loop are the negatives drawn?",
    common=True,
)
def negatives_drawn_before_the_epochs(model, centers, contexts, noise, **options):
    kept = {}

    def draw(noise, count, n_negatives, generator):
        if count not in kept:
            kept[count] = _drawn(noise, count, n_negatives, generator)
        return kept[count]

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram draws negatives once an epoch and uses them again at every step.",
    look="Before or inside which loop are the negatives drawn?",
)
def negatives_drawn_once_an_epoch(model, centers, contexts, noise, **options):
    kept = {}

    def shuffle(count, generator):
        kept.clear()
        return _shuffled(count, generator)

    def draw(noise, count, n_negatives, generator):
        if count not in kept:
            kept[count] = _drawn(noise, count, n_negatives, generator)
        return kept[count]

    return _train(model, centers, contexts, noise, shuffle=shuffle, draw=draw, **options)


@mistake(
    says="train_skipgram gives each pair its negatives once and for all.",
    look="Does a pair meet other negatives in the next epoch?",
)
def each_pair_keeps_its_negatives(
    model, centers, contexts, noise, *, n_negatives=5, generator=None, **options
):
    fixed = _drawn(noise, len(centers), n_negatives, generator)
    order = []

    def shuffle(count, generator):
        order[:] = _shuffled(count, generator).tolist()
        return torch.tensor(order)

    def draw(noise, count, n_negatives, generator):
        rows, order[:count] = order[:count], []
        return fixed[rows]

    options |= {"n_negatives": n_negatives, "generator": generator}
    return _train(model, centers, contexts, noise, shuffle=shuffle, draw=draw, **options)


@mistake(
    says="train_skipgram draws K words for a whole batch, and all of its pairs share them.",
    look="Which shape has what you draw, (K,) or (batch, K)?",
)
def negatives_shared_by_the_batch(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        return _drawn(noise, 1, n_negatives, generator).expand(count, -1)

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram draws all words equally often, whatever `noise` says.",
    look="What does `noise` do in the body?",
)
def noise_ignored(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, torch.ones_like(noise), **options)


@mistake(
    says="train_skipgram draws all words equally often, whatever `noise` says.",
    look="What does `noise` do in the body?",
)
def noise_is_only_counted(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        return torch.randint(len(noise), (count, n_negatives), generator=generator)

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram raises the noise to a power again, though it is a distribution already.",
    look="Where was the power of 0.75 taken?",
)
def power_taken_twice(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise**0.75, **options)


@mistake(
    says="train_skipgram takes other pairs' contexts as negatives instead of drawing from `noise`.",
    look="What does `noise` do in the body?",
)
def negatives_from_the_batch(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        return contexts[torch.randint(len(contexts), (count, n_negatives), generator=generator)]

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram adds a little to every probability, so that every word can be drawn.",
    look="How likely is a word of probability 0?",
)
def every_word_can_be_drawn(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise + 1e-3, **options)


@mistake(
    says="train_skipgram draws the negatives of a pair without putting them back.",
    look="May one pair have the same negative twice? What is multinomial's default?",
)
def negatives_all_different(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        return torch.multinomial(noise.expand(count, -1), n_negatives, generator=generator)

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram always draws 5 negatives, whatever `n_negatives` says.",
    look="Where in the body does `n_negatives` stand?",
)
def five_negatives_always(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise, **options | {"n_negatives": 5})


@mistake(
    says="train_skipgram ignores `batch_size`.",
    look="Where in the body does `batch_size` stand?",
)
def batches_of_1024_always(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise, **options | {"batch_size": 1024})


@mistake(
    says="train_skipgram makes one step for each pair, whatever `batch_size` says.",
    look="Where in the body does `batch_size` stand?",
)
def batches_of_one_always(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise, **options | {"batch_size": 1})


@mistake(
    says="train_skipgram ignores `lr`.",
    look="Where in the body does `lr` stand?",
)
def learning_rate_ignored(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise, **options | {"lr": 0.01})


@mistake(
    says="train_skipgram steps with plain SGD, which at this learning rate hardly moves.",
    look="How far does a step of lr times the gradient go, with a gradient divided by the batch?",
)
def plain_sgd(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise, make_optimizer=torch.optim.SGD, **options)


@mistake(
    says="train_skipgram never resets the gradients, so that every step repeats all before it.",
    look="What does `backward` do with a gradient that is there already?",
    common=True,
)
def gradients_pile_up(model, centers, contexts, noise, **options):
    def step(optimizer, loss):
        loss.backward()
        optimizer.step()
        return loss.item()

    return _train(model, centers, contexts, noise, step=step, **options)


@mistake(
    says="train_skipgram resets the gradients once an epoch, so that its steps add up until then.",
    look="Before or inside which loop are the gradients reset?",
)
def gradients_reset_once_an_epoch(model, centers, contexts, noise, **options):
    def shuffle(count, generator):
        model.zero_grad()
        return _shuffled(count, generator)

    def step(optimizer, loss):
        loss.backward()
        optimizer.step()
        return loss.item()

    return _train(model, centers, contexts, noise, shuffle=shuffle, step=step, **options)


@mistake(
    says="train_skipgram computes the losses, but no weight ever changes.",
    look="In which order do the calls of a training step come, and is none missing?",
)
def gradients_reset_too_early(model, centers, contexts, noise, **options):
    def step(optimizer, loss):
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        return loss.item()

    return _train(model, centers, contexts, noise, step=step, **options)


@mistake(
    says="train_skipgram computes the losses, but no weight ever changes.",
    look="In which order do the calls of a training step come, and is none missing?",
)
def no_step_made(model, centers, contexts, noise, **options):
    def step(optimizer, loss):
        return loss.item()

    return _train(model, centers, contexts, noise, step=step, **options)


@mistake(
    says="train_skipgram trains the context table only.",
    look="Which parameters does the optimizer know?",
)
def centers_not_trained(model, centers, contexts, noise, **options):
    def of_contexts(parameters, lr):
        return torch.optim.Adam([model.context.weight], lr=lr)

    return _train(model, centers, contexts, noise, make_optimizer=of_contexts, **options)


@mistake(
    says="train_skipgram trains a copy, and the model that was passed in stays as it was.",
    look="Whose parameters does the optimizer change?",
)
def copy_trained(model, centers, contexts, noise, **options):
    import copy

    return _train(copy.deepcopy(model), centers, contexts, noise, **options)


@mistake(
    says="train_skipgram draws the weights anew before it begins.",
    look="Is it for the training to say where the model starts?",
)
def weights_drawn_anew(model, centers, contexts, noise, *, generator=None, **options):
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02, generator=generator)
    return _train(model, centers, contexts, noise, generator=generator, **options)


@mistake(
    says="train_skipgram swaps centers and contexts.",
    look="In which order does the model take its two arguments?",
)
def centers_and_contexts_swapped(model, centers, contexts, noise, **options):
    return _train(model, contexts, centers, noise, **options)


@mistake(
    says="train_skipgram shuffles centers and contexts apart: the pairs are torn.",
    look="Are both put into the same order?",
)
def pairs_torn_by_the_shuffle(model, centers, contexts, noise, *, generator=None, **options):
    contexts = contexts[torch.randperm(len(contexts), generator=generator)]
    return _train(model, centers, contexts, noise, generator=generator, **options)


@mistake(
    says="train_skipgram never shuffles: the pairs come in the same order in every epoch.",
    look="Which order do the pairs of the second epoch have?",
)
def never_shuffled(model, centers, contexts, noise, **options):
    def shuffle(count, generator):
        return torch.arange(count)

    return _train(model, centers, contexts, noise, shuffle=shuffle, **options)


@mistake(
    says="train_skipgram shuffles once, before the first epoch, instead of in each.",
    look="Before or inside the loop over epochs?",
)
def shuffled_once(model, centers, contexts, noise, *, generator=None, **options):
    order = torch.randperm(len(centers), generator=generator)

    def shuffle(count, generator):
        return torch.arange(count)

    pairs = centers[order], contexts[order]
    return _train(model, *pairs, noise, shuffle=shuffle, generator=generator, **options)


@mistake(
    says="train_skipgram shuffles the batches, but each of them always holds the same pairs.",
    look="What is put into a new order, pairs or batches?",
)
def batches_moved_but_not_mixed(model, centers, contexts, noise, *, batch_size=1024, **options):
    def shuffle(count, generator):
        batches = torch.arange(count).split(batch_size)
        return torch.cat([batches[i] for i in torch.randperm(len(batches), generator=generator)])

    options |= {"shuffle": shuffle, "batch_size": batch_size}
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram draws pairs with replacement: an epoch holds some twice, others never.",
    look="Does every pair come once an epoch?",
)
def pairs_drawn_with_replacement(model, centers, contexts, noise, **options):
    def shuffle(count, generator):
        return torch.randint(count, (count,), generator=generator)

    return _train(model, centers, contexts, noise, shuffle=shuffle, **options)


@mistake(
    says="train_skipgram leaves out the last batch of an epoch if it is short.",
    look="What becomes of the fifth pair in batches of two?",
)
def short_batch_left_out(model, centers, contexts, noise, *, batch_size=1024, **options):
    def shuffle(count, generator):
        full = count - count % batch_size if count > batch_size else count
        return _shuffled(count, generator)[:full]

    options |= {"shuffle": shuffle, "batch_size": batch_size}
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram leaves out the last batch of an epoch if it is short.",
    look="What becomes of the fifth pair in batches of two?",
)
def short_batch_left_out_of_the_mean_over_all(
    model, centers, contexts, noise, *, batch_size=1024, **options
):
    def shuffle(count, generator):
        full = count - count % batch_size if count > batch_size else count
        return _shuffled(count, generator)[:full]

    def summary(losses, sizes):
        return _mean_over_pairs(losses, sizes) * sum(sizes) / len(centers)

    options |= {"shuffle": shuffle, "summary": summary, "batch_size": batch_size}
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram counts a short batch as `batch_size` pairs, so that its loss is too high.",
    look="How many pairs does each batch's loss stand for?",
)
def short_batch_counted_as_full(model, centers, contexts, noise, *, batch_size=1024, **options):
    def summary(losses, sizes):
        return sum(losses) * batch_size / sum(sizes)

    options |= {"summary": summary, "batch_size": batch_size}
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram averages over batches: a short last batch weighs as much as a full one.",
    look="How many pairs does each batch's loss stand for?",
    common=True,
)
def mean_over_batches(model, centers, contexts, noise, **options):
    def summary(losses, sizes):
        return sum(losses) / len(losses)

    return _train(model, centers, contexts, noise, summary=summary, **options)


@mistake(
    says="train_skipgram returns the loss of the last batch as that of the epoch.",
    look="Over what is the loss of an epoch a mean?",
)
def loss_of_the_last_batch(model, centers, contexts, noise, **options):
    def summary(losses, sizes):
        return losses[-1]

    return _train(model, centers, contexts, noise, summary=summary, **options)


@mistake(
    says="train_skipgram adds the losses of the batches up instead of averaging.",
    look="Over what is the loss of an epoch a mean?",
)
def sum_over_batches(model, centers, contexts, noise, **options):
    def summary(losses, sizes):
        return sum(losses)

    return _train(model, centers, contexts, noise, summary=summary, **options)


@mistake(
    says="train_skipgram returns the sum over the pairs instead of their mean.",
    look="Over what is the loss of an epoch a mean?",
)
def loss_of_an_epoch_not_averaged(model, centers, contexts, noise, **options):
    def summary(losses, sizes):
        return _mean_over_pairs(losses, sizes) * sum(sizes)

    return _train(model, centers, contexts, noise, summary=summary, **options)


@mistake(
    says="train_skipgram keeps adding to the total of the epochs before.",
    look="Where is the total set to 0?",
)
def total_never_reset(model, centers, contexts, noise, **options):
    total = [0.0]

    def summary(losses, sizes):
        total[0] += _mean_over_pairs(losses, sizes)
        return total[0]

    return _train(model, centers, contexts, noise, summary=summary, **options)


@mistake(
    says="train_skipgram returns tensors instead of floats.",
    look="What takes the number out of a tensor?",
)
def losses_as_tensors(model, centers, contexts, noise, **options):
    def summary(losses, sizes):
        return torch.tensor(_mean_over_pairs(losses, sizes))

    return _train(model, centers, contexts, noise, summary=summary, **options)


@mistake(
    says="train_skipgram returns the last loss only, not one for each epoch.",
    look="How many numbers should five epochs give?",
)
def only_the_last_loss(model, centers, contexts, noise, **options):
    return _train(model, centers, contexts, noise, **options)[-1:]


@mistake(
    says="train_skipgram counts its epochs from 1 when it calls on_epoch.",
    look="Which number does the first epoch have?",
)
def epochs_counted_from_1(model, centers, contexts, noise, *, on_epoch=None, **options):
    def later(epoch, loss):
        if on_epoch is not None:
            on_epoch(epoch + 1, loss)

    return _train(model, centers, contexts, noise, on_epoch=later, **options)


@mistake(
    says="train_skipgram never calls on_epoch.",
    look="Where in the body does `on_epoch` stand?",
)
def on_epoch_forgotten(model, centers, contexts, noise, *, on_epoch=None, **options):
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram calls on_epoch only when all epochs are over.",
    look="Inside or after the loop over epochs?",
)
def on_epoch_after_the_training(model, centers, contexts, noise, *, on_epoch=None, **options):
    losses = _train(model, centers, contexts, noise, **options)
    for epoch, loss in enumerate(losses):
        if on_epoch is not None:
            on_epoch(epoch, loss)
    return losses


@mistake(
    says="train_skipgram calls on_epoch even if it is None.",
    look="What if nobody wants to be told?",
)
def on_epoch_taken_for_granted(model, centers, contexts, noise, *, on_epoch=None, **options):
    def call(epoch, loss):
        on_epoch(epoch, loss)

    return _train(model, centers, contexts, noise, on_epoch=call, **options)


@mistake(
    says="train_skipgram ignores `generator`: everything is drawn from the global one.",
    look="Which calls draw, and where do they draw from?",
)
def generator_ignored(model, centers, contexts, noise, *, generator=None, **options):
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram shuffles with the global generator instead of `generator`.",
    look="Which calls draw, and where do they draw from?",
)
def shuffled_by_the_global_generator(model, centers, contexts, noise, **options):
    def shuffle(count, generator):
        return torch.randperm(count)

    return _train(model, centers, contexts, noise, shuffle=shuffle, **options)


@mistake(
    says="train_skipgram draws negatives with the global generator instead of `generator`.",
    look="Which calls draw, and which generator does each draw from?",
    common=True,
)
def drawn_by_the_global_generator(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        return _drawn(noise, count, n_negatives, None)

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram draws negatives with numpy, which knows nothing of `generator`.",
    look="Which calls draw, and where do they draw from?",
)
def drawn_by_numpy(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        probabilities = noise.double().numpy() / noise.double().sum().item()
        words = numpy.random.choice(len(noise), (count, n_negatives), p=probabilities)
        return torch.from_numpy(words)

    return _train(model, centers, contexts, noise, draw=draw, **options)


@mistake(
    says="train_skipgram seeds the global generator from `generator` and draws from that one.",
    look="What has become of the global stream after the call?",
)
def global_generator_seeded(model, centers, contexts, noise, *, generator=None, **options):
    if generator is not None:
        torch.manual_seed(generator.initial_seed())
    return _train(model, centers, contexts, noise, **options)


@mistake(
    says="train_skipgram seeds the generator itself: every training is the same.",
    look="Whose decision is a seed?",
)
def generator_seeded_inside(model, centers, contexts, noise, *, generator=None, **options):
    generator = (generator or torch.Generator()).manual_seed(0)
    return _train(model, centers, contexts, noise, generator=generator, **options)


@mistake(
    says="train_skipgram makes a generator of its own if none is given, with a seed of its own.",
    look="What does generator=None mean to PyTorch's functions?",
)
def own_generator_by_default(model, centers, contexts, noise, *, generator=None, **options):
    generator = generator or torch.Generator().manual_seed(0)
    return _train(model, centers, contexts, noise, generator=generator, **options)


@mistake(
    says="train_skipgram makes 10 epochs by default, not 5.",
    look="Did the signature change?",
)
def other_defaults(model, centers, contexts, noise, *, epochs=10, **options):
    return _train(model, centers, contexts, noise, epochs=epochs, **options)


@mistake(
    says="train_skipgram stops as soon as an epoch is no better than the one before.",
    look="How many epochs should there be, and how many losses come back?",
)
def stopped_early(model, centers, contexts, noise, *, epochs=5, **options):
    losses = _train(model, centers, contexts, noise, epochs=epochs, **options)
    worse = [i for i in range(1, len(losses)) if losses[i] > losses[i - 1] - 1e-3]
    return losses[: worse[0]] if worse else losses


@mistake(
    says="train_skipgram makes an epoch even if epochs=0.",
    look="What does a loop that asks only at its end do at least once?",
)
def one_epoch_at_least(model, centers, contexts, noise, *, epochs=5, **options):
    return _train(model, centers, contexts, noise, epochs=max(epochs, 1), **options)


@alternative
def batches_by_a_data_loader(
    model,
    centers,
    contexts,
    noise,
    *,
    epochs=5,
    batch_size=1024,
    n_negatives=5,
    lr=0.01,
    generator=None,
    on_epoch=None,
):
    pairs = TensorDataset(centers, contexts)
    batches = DataLoader(pairs, batch_size, shuffle=True, generator=generator)
    adam = torch.optim.AdamW(model.parameters(), lr, weight_decay=1e-4)
    history = []
    for epoch in range(epochs):
        costs = torch.zeros((), dtype=torch.float64)
        for i, j in batches:
            bad = noise.multinomial(len(i) * n_negatives, True, generator=generator)
            adam.zero_grad(set_to_none=False)
            cost = F.softplus(-model(i, j)) + F.softplus(model(i, bad.view(len(i), -1))).sum(1)
            cost.mean().backward()
            adam.step()
            costs += cost.detach().double().sum()
        history.append((costs / len(pairs)).item())
        if on_epoch:
            on_epoch(epoch=epoch, loss=history[-1])
    return history


@alternative
def all_negatives_of_an_epoch_at_once(
    model,
    centers,
    contexts,
    noise,
    *,
    epochs=5,
    batch_size=1024,
    n_negatives=5,
    lr=0.01,
    generator=None,
    on_epoch=None,
):
    optimizer, history = torch.optim.RMSprop(model.parameters(), lr=lr), []
    for epoch in range(epochs):
        order = torch.rand(len(centers), generator=generator).argsort()
        where = torch.rand(len(centers), n_negatives, generator=generator, dtype=torch.float64)
        edges = noise.double().cumsum(0)
        drawn = torch.searchsorted(edges, where * edges[-1], right=True)
        costs = []
        for start in range(0, len(order), batch_size):
            some = order[start : start + batch_size]
            words = torch.cat((contexts[some, None].long(), drawn[start : start + batch_size]), 1)
            logits = model(centers[some], words)
            loss = negative_sampling_loss(logits[:, 0], logits[:, 1:])
            costs += [_step(optimizer, loss)] * len(some)
        history.append(math.fsum(costs) / len(costs))
        if on_epoch is not None:
            on_epoch(epoch, history[-1])
    return history


@alternative
def adam_and_gradients_by_hand(
    model,
    centers,
    contexts,
    noise,
    *,
    epochs=5,
    batch_size=1024,
    n_negatives=5,
    lr=0.01,
    generator=None,
    on_epoch=None,
):
    tables = [model.center.weight.data, model.context.weight.data]
    moments = [(torch.zeros_like(table), torch.zeros_like(table)) for table in tables]
    losses, steps, pairs = [], 0, torch.stack((centers.long(), contexts.long()), 1)
    for epoch in range(epochs):
        total = 0.0
        for batch in pairs[torch.randperm(len(pairs), generator=generator)].split(batch_size):
            size, steps = len(batch), steps + 1
            drawn = torch.multinomial(noise, n_negatives * size, True, generator=generator)
            words = torch.cat((batch[:, 1:], drawn.view(n_negatives, size).T), dim=1)
            rows, others = tables[0][batch[:, 0]], tables[1][words]
            logits = (others @ rows[:, :, None])[:, :, 0]
            is_true = (torch.arange(n_negatives + 1) == 0).float()
            total += F.softplus(torch.where(is_true == 1, -logits, logits)).sum().item()
            error = (logits.sigmoid() - is_true) / size
            gradients = [torch.zeros_like(table) for table in tables]
            gradients[0].index_add_(0, batch[:, 0], (error[:, None] @ others)[:, 0])
            of_words = error[..., None] * rows[:, None]
            gradients[1].index_add_(0, words.flatten(), of_words.flatten(0, 1))
            for table, gradient, (m, v) in zip(tables, gradients, moments, strict=True):
                m.lerp_(gradient, 0.1)
                v.lerp_(gradient**2, 0.001)
                corrected = m / (1 - 0.9**steps), v / (1 - 0.999**steps)
                table -= lr * corrected[0] / (corrected[1].sqrt() + 1e-8)
        losses.append(total / len(pairs))
        if on_epoch is not None:
            on_epoch(epoch, losses[-1])
    return losses


@alternative
def words_drawn_pair_by_pair(model, centers, contexts, noise, **options):
    def draw(noise, count, n_negatives, generator):
        fresh = [_drawn(noise, n_negatives, 1, generator) for _ in range(count)]
        return torch.stack(fresh).view(count, n_negatives).int()

    return _train(
        model, centers, contexts, noise, draw=draw, make_optimizer=torch.optim.NAdam, **options
    )


# --- nearest_by_cosine ----------------------------------------------------------------------


def _best(similarities, top_k):
    best = similarities.topk(min(top_k, len(similarities)))
    return best.indices, best.values


def _cosines(query, vectors):
    return F.normalize(vectors, dim=-1) @ F.normalize(query, dim=-1)


mistake, alternative, error = entries("nearest_by_cosine")


@mistake(
    says="nearest_by_cosine ranks by dot products: long rows win.",
    look="By what is a dot product divided to become a cosine?",
    common=True,
)
def dot_products(query, vectors, top_k=5):
    return _best(vectors @ query, top_k)


@mistake(
    says="nearest_by_cosine does not divide by the length of the query.",
    look="By which two lengths is a dot product divided to become a cosine?",
)
def length_of_the_query_forgotten(query, vectors, top_k=5):
    return _best(F.normalize(vectors, dim=-1) @ query, top_k)


@mistake(
    says="nearest_by_cosine does not divide by the lengths of the rows.",
    look="By which two lengths is a dot product divided to become a cosine?",
)
def lengths_of_the_rows_forgotten(query, vectors, top_k=5):
    return _best(vectors @ F.normalize(query, dim=-1), top_k)


@mistake(
    says="nearest_by_cosine scales the columns of the table to length 1 instead of its rows.",
    look="Along which axis is the length of a row?",
)
def columns_scaled(query, vectors, top_k=5):
    return _best(F.normalize(vectors, dim=0) @ F.normalize(query, dim=0), top_k)


@mistake(
    says="nearest_by_cosine scales by the length of the whole table, not row by row.",
    look="Over which axis is the norm taken?",
)
def whole_table_scaled(query, vectors, top_k=5):
    return _best(vectors / vectors.norm() @ query / query.norm(), top_k)


@mistake(
    says="nearest_by_cosine divides a row of zeros by its length: 0 / 0 is NaN.",
    look="Which rows have no direction, and what should their similarity be?",
    common=True,
)
def nan_for_zeros(query, vectors, top_k=5):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    return _best(unit @ (query / query.norm()), top_k)


@mistake(
    says="nearest_by_cosine gives nan for a query of zeros.",
    look="Which lengths can be 0?",
)
def nan_for_a_query_of_zeros(query, vectors, top_k=5):
    return _best(F.normalize(vectors, dim=1) @ (query / query.norm()), top_k)


@mistake(
    says="nearest_by_cosine ranks rows of zeros last instead of with similarity 0.",
    look="Is nothing less alike than a row that points the other way?",
)
def zeros_ranked_last(query, vectors, top_k=5):
    similarities = _cosines(query, vectors)
    return _best(torch.where(vectors.norm(dim=1) > 0, similarities, -1.0), top_k)


@mistake(
    says="nearest_by_cosine leaves rows of zeros out, which shifts the numbers of the others.",
    look="Do the row numbers belong to the table that came in?",
)
def zeros_left_out(query, vectors, top_k=5):
    return _best(_cosines(query, vectors[vectors.norm(dim=1) > 0]), top_k)


@mistake(
    says="nearest_by_cosine adds so much to each length that short rows look less alike.",
    look="How long are the shortest rows beside the number that is added?",
)
def much_added_to_the_lengths(query, vectors, top_k=5):
    unit = vectors / (vectors.norm(dim=1, keepdim=True) + 1e-3)
    return _best(unit @ (query / (query.norm() + 1e-3)), top_k)


@mistake(
    says="nearest_by_cosine returns the rows that are least alike.",
    look="In which order does argsort sort?",
)
def worst_first(query, vectors, top_k=5):
    similarities, indices = _cosines(query, vectors).sort()
    return indices[:top_k], similarities[:top_k]


@mistake(
    says="nearest_by_cosine returns the best rows, but not the best one first.",
    look="In which order do they come?",
)
def best_last(query, vectors, top_k=5):
    indices, similarities = _best(_cosines(query, vectors), top_k)
    return indices.flip(0), similarities.flip(0)


@mistake(
    says="nearest_by_cosine returns similarities first and indices second.",
    look="In which order does `topk` return, and in which should this?",
    common=True,
)
def values_before_indices(query, vectors, top_k=5):
    return _best(_cosines(query, vectors), top_k)[::-1]


@mistake(
    says="nearest_by_cosine returns the indices only.",
    look="Which two tensors should come back?",
)
def indices_only(query, vectors, top_k=5):
    return _best(_cosines(query, vectors), top_k)[0]


@mistake(
    says="nearest_by_cosine leaves the best row out, as if it were the query itself.",
    look="Is the query one of the rows?",
)
def best_row_left_out(query, vectors, top_k=5):
    indices, similarities = _best(_cosines(query, vectors), top_k + 1)
    return indices[1:], similarities[1:]


@mistake(
    says="nearest_by_cosine ignores `top_k`: it always returns 5 rows.",
    look="Where in the body does `top_k` stand?",
)
def five_rows_always(query, vectors, top_k=5):
    return _best(_cosines(query, vectors), 5)


@mistake(
    says="nearest_by_cosine returns all rows.",
    look="Where in the body does `top_k` stand?",
)
def all_rows_always(query, vectors, top_k=5):
    return _best(_cosines(query, vectors), len(vectors))


@mistake(
    says="nearest_by_cosine fails when more rows are asked for than there are.",
    look="What does `topk` say to a k above V?",
    common=True,
)
def more_than_all_rows_fails(query, vectors, top_k=5):
    similarities, indices = _cosines(query, vectors).topk(top_k)
    return indices, similarities


@mistake(
    says="nearest_by_cosine takes the absolute value: rows that point away count as near.",
    look="Which cosine has a row that points the other way?",
)
def sign_dropped(query, vectors, top_k=5):
    return _best(_cosines(query, vectors).abs(), top_k)


@mistake(
    says="nearest_by_cosine cuts negative similarities off at 0.",
    look="Which cosine has a row that points the other way?",
)
def negative_similarities_cut_off(query, vectors, top_k=5):
    return _best(_cosines(query, vectors).clamp(min=0), top_k)


@mistake(
    says="nearest_by_cosine ranks by distance: nearness in space, not in direction.",
    look="Does the length of a row matter to its cosine?",
)
def distances_instead_of_cosines(query, vectors, top_k=5):
    indices = (vectors - query).norm(dim=1).argsort()[:top_k]
    return indices, _cosines(query, vectors)[indices]


@mistake(
    says="nearest_by_cosine returns distances in space, in which the length of a row counts, too.",
    look="Which number should a row in the query's direction have?",
)
def distances_smallest_first(query, vectors, top_k=5):
    distances, indices = (vectors - query).norm(dim=1).sort()
    return indices[:top_k], distances[:top_k]


@mistake(
    says="nearest_by_cosine returns distances in space, in which the length of a row counts, too.",
    look="Which number should a row in the query's direction have?",
)
def distances_with_a_minus(query, vectors, top_k=5):
    return _best(-(vectors - query).norm(dim=1), top_k)


@mistake(
    says="nearest_by_cosine returns distances in space, in which the length of a row counts, too.",
    look="Which number should a row in the query's direction have?",
)
def squared_distances(query, vectors, top_k=5):
    distances, indices = (vectors - query).square().sum(dim=1).sort()
    return indices[:top_k], distances[:top_k]


@mistake(
    says="nearest_by_cosine returns distances, 1 minus the cosine.",
    look="Which number should a row in the query's direction have?",
)
def one_minus_the_cosine(query, vectors, top_k=5):
    indices, similarities = _best(_cosines(query, vectors), top_k)
    return indices, 1 - similarities


@mistake(
    says="nearest_by_cosine returns float32, also for float64 rows.",
    look="Which dtype comes back for float64 rows?",
)
def similarities_always_float32(query, vectors, top_k=5):
    return _best(_cosines(query.float(), vectors.float()), top_k)


@mistake(
    says="nearest_by_cosine cuts the similarities off from their gradient.",
    look="What do detach, numpy() and no_grad do?",
)
def similarities_detached(query, vectors, top_k=5):
    return _best(_cosines(query, vectors).detach(), top_k)


@mistake(
    says="nearest_by_cosine treats the lengths as constants: their gradient is missing.",
    look="Does the cosine change when a row grows longer?",
)
def lengths_detached(query, vectors, top_k=5):
    lengths = vectors.norm(dim=1) * query.norm()
    return _best(vectors @ query / lengths.detach().clamp(min=1e-12), top_k)


@mistake(
    says="nearest_by_cosine scales the table that it was given in place.",
    look="Which operations end in an underscore, or in `/=`?",
)
def rows_scaled_in_place(query, vectors, top_k=5):
    with torch.no_grad():
        vectors /= vectors.norm(dim=1, keepdim=True).clamp(min=1e-12)
    return _best(_cosines(query, vectors), top_k)


@alternative
def torch_cosine_similarity(query, vectors, top_k=5):
    similarities = torch.cosine_similarity(vectors, query.unsqueeze(0), dim=1)
    order = similarities.argsort(descending=True)[:top_k]
    return order, similarities[order]


@alternative
def product_by_both_lengths(query, vectors, top_k=5):
    lengths = torch.linalg.vector_norm(vectors, dim=1) * torch.linalg.vector_norm(query)
    similarities = torch.einsum("vc,c->v", vectors, query) / lengths.masked_fill(lengths == 0, 1)
    similarities, indices = similarities.sort(descending=True, stable=True)
    return [indices[:top_k].int(), similarities[:top_k]]


@alternative
def row_by_row_in_python(query, vectors, top_k=5):
    def cosine(row):
        length = row.double().norm() * query.double().norm()
        return row.double() @ query.double() / length if length > 0 else row.double().sum() * 0

    cosines = [cosine(row).to(vectors.dtype) for row in vectors]
    best = sorted(range(len(cosines)), key=lambda v: -cosines[v].item())[:top_k]
    return torch.tensor(best), torch.stack([cosines[v] for v in best])


# --- analogy --------------------------------------------------------------------------------


def _answers(target, vectors, inputs, top_k):
    """The nearest rows to a target, without the inputs."""
    rows, similarities = nearest_by_cosine(target, vectors, len(vectors))
    others = ~torch.isin(rows, torch.tensor(inputs))
    return rows[others][:top_k], similarities[others][:top_k]


mistake, alternative, error = entries("analogy")


@mistake(
    says="analogy computes with the rows as they are: long rows decide where the sum points.",
    look="Which length should the rows have before they are added?",
    common=True,
)
def rows_not_scaled(a, b, c, vectors, top_k=5):
    return _answers(vectors[b] - vectors[a] + vectors[c], vectors, [a, b, c], top_k)


@mistake(
    says="analogy takes the difference the wrong way round: a - b + c.",
    look="From king to queen as from man to ...: which is subtracted?",
    common=True,
)
def difference_the_wrong_way(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers(unit[a] - unit[b] + unit[c], unit, [a, b, c], top_k)


@mistake(
    says="analogy subtracts c instead of a.",
    look="a is to b as c is to ?: which of the three is taken away?",
)
def c_subtracted(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers(unit[a] + unit[b] - unit[c], unit, [a, b, c], top_k)


@mistake(
    says="analogy adds all three rows.",
    look="Which of the three is taken away?",
)
def all_added(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers(unit[a] + unit[b] + unit[c], unit, [a, b, c], top_k)


@mistake(
    says="analogy returns its own inputs, which are among the nearest rows.",
    look="Which rows are nearest to b - a + c as a rule?",
    common=True,
)
def inputs_among_the_answers(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, top_k)


@mistake(
    says="analogy leaves out only c of its three inputs.",
    look="Which rows may not be answers?",
)
def only_c_left_out(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers(unit[b] - unit[a] + unit[c], unit, [c], top_k)


@mistake(
    says="analogy leaves out b and c, but not a.",
    look="Which rows may not be answers?",
)
def a_not_left_out(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers(unit[b] - unit[a] + unit[c], unit, [b, c], top_k)


@mistake(
    says="analogy takes the `top_k` rows first and drops the inputs then: too few are left.",
    look="How many rows are left when the inputs are dropped?",
    common=True,
)
def inputs_dropped_too_late(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    rows, similarities = nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, top_k)
    others = ~torch.isin(rows, torch.tensor([a, b, c]))
    return rows[others], similarities[others]


@mistake(
    says="analogy always skips the first three rows of the ranking, whatever they are.",
    look="Are the inputs always the three nearest?",
)
def first_three_skipped(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    rows, similarities = nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, top_k + 3)
    return rows[3:], similarities[3:]


@mistake(
    says="analogy sets the inputs to -1 or less, but returns them when all others are used up.",
    look="How many answers can there be at most?",
)
def inputs_ranked_last(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    similarities = _cosines(unit[b] - unit[a] + unit[c], unit)
    away = torch.zeros_like(similarities)
    away[[a, b, c]] = -torch.inf
    return _best(similarities + away, top_k)


@mistake(
    says="analogy counts an input that is given twice as two: an answer is missing.",
    look="How many different rows are a, b and c, if two are the same?",
)
def repeated_inputs_counted_twice(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    target = unit[b] - unit[a] + unit[c]
    return _answers(target, unit, [a, b, c], min(top_k, len(vectors) - 3))


@mistake(
    says="analogy removes the inputs from the table, which shifts the numbers of other rows.",
    look="Do the row numbers belong to the table that came in?",
)
def row_numbers_shifted(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    keep = [row for row in range(len(vectors)) if row not in (a, b, c)]
    return nearest_by_cosine(unit[b] - unit[a] + unit[c], unit[keep], top_k)


@mistake(
    says="analogy leaves out rows that look like an input, not only the inputs.",
    look="Are rows compared by their number or by what they hold?",
)
def twins_left_out(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    rows, similarities = nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, len(unit))
    others = (torch.cdist(unit[rows], unit[[a, b, c]]) > 1e-6).all(dim=1)
    return rows[others][:top_k], similarities[others][:top_k]


@mistake(
    says="analogy ranks by dot products with the unscaled rows.",
    look="Is it the rows of length 1 that are ranked?",
)
def ranked_by_dot_products(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    similarities = vectors @ (unit[b] - unit[a] + unit[c])
    similarities, rows = similarities.sort(descending=True)
    others = ~torch.isin(rows, torch.tensor([a, b, c]))
    return rows[others][:top_k], similarities[others][:top_k]


@mistake(
    says="analogy does not divide by the length of b - a + c: these are no cosines.",
    look="Has the sum of three rows of length 1 the length 1?",
)
def target_not_scaled(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    similarities, rows = (unit @ (unit[b] - unit[a] + unit[c])).sort(descending=True)
    others = ~torch.isin(rows, torch.tensor([a, b, c]))
    return rows[others][:top_k], similarities[others][:top_k]


@mistake(
    says="analogy ignores `top_k`: it always returns 5 rows.",
    look="Where in the body does `top_k` stand?",
)
def five_answers_always(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers(unit[b] - unit[a] + unit[c], unit, [a, b, c], 5)


@mistake(
    says="analogy multiplies similarities (3CosMul) where it should add rows.",
    look="Which vector is it that the answers are near to?",
)
def similarities_multiplied(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    near = (unit @ unit[[a, b, c]].T + 1) / 2
    similarities, rows = (near[:, 1] * near[:, 2] / (near[:, 0] + 1e-3)).sort(descending=True)
    others = ~torch.isin(rows, torch.tensor([a, b, c]))
    return rows[others][:top_k], similarities[others][:top_k]


@mistake(
    says="analogy sends no gradient to the rows a, b and c, only to the answers.",
    look="Which rows do the similarities depend on?",
)
def target_detached(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    return _answers((unit[b] - unit[a] + unit[c]).detach(), unit, [a, b, c], top_k)


@mistake(
    says="analogy divides a row of zeros by its length: nan.",
    look="Which rows have no direction?",
)
def nan_for_a_row_of_zeros(a, b, c, vectors, top_k=5):
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    similarities, rows = (unit @ F.normalize(unit[b] - unit[a] + unit[c], dim=0)).sort(
        descending=True
    )
    others = ~torch.isin(rows, torch.tensor([a, b, c]))
    return rows[others][:top_k], similarities[others][:top_k]


@alternative
def inputs_set_to_minus_infinity(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors, dim=1)
    similarities = torch.cosine_similarity(unit, unit[b] - unit[a] + unit[c], dim=1)
    similarities = similarities.scatter(0, torch.tensor([a, b, c], device=unit.device), -torch.inf)
    best = similarities.topk(min(top_k, len(vectors) - len({a, b, c})))
    return best.indices, best.values


@alternative
def others_chosen_beforehand(a, b, c, vectors, top_k=5):
    lengths = vectors.norm(dim=1, keepdim=True)
    unit = vectors / torch.where(lengths > 0, lengths, 1.0)
    others = torch.arange(len(vectors), device=vectors.device)
    others = torch.cat(
        [others[v : v + 1] for v in others.tolist() if v not in (a, b, c)] or [others[:0]]
    )
    similarities = unit[others] @ F.normalize(unit[b] - unit[a] + unit[c], dim=0)
    order = similarities.argsort(descending=True)[:top_k]
    return others[order], similarities[order]


@alternative
def answers_collected_one_by_one(a, b, c, vectors, top_k=5):
    unit = F.normalize(vectors.double(), dim=1)
    ranking = zip(*nearest_by_cosine(unit[b] - unit[a] + unit[c], unit, len(unit)), strict=True)
    best = [(row, cosine) for row, cosine in ranking if int(row) not in (a, b, c)][:top_k]
    rows = torch.tensor([int(row) for row, _ in best], dtype=torch.int64)
    cosines = [cosine.to(vectors.dtype) for _, cosine in best]
    return rows, torch.stack(cosines) if cosines else vectors.new_zeros(0)


# --- parse_glove_line -----------------------------------------------------------------------


def _values(fields, n_embd, line):
    if len(fields) != n_embd:
        raise ValueError(f"a line must hold a word and {n_embd} numbers; got {line!r}")
    try:
        return torch.tensor([float(field) for field in fields])
    except ValueError:
        raise ValueError(f"the last {n_embd} fields must be numbers; got {line!r}") from None


def _values_or_the_line(fields, n_embd, line):
    """As `_values`, but what is raised holds no number beside those of the line."""
    try:
        return _values(fields, n_embd, line)
    except ValueError:
        raise ValueError(f"this line cannot be read: {line!r}") from None


mistake, alternative, error = entries("parse_glove_line")


@mistake(
    says="parse_glove_line takes the first field as the word; words may hold spaces.",
    look="Which side of the line is it safe to count from?",
    common=True,
)
def first_field_is_the_word(line, n_embd):
    word, *fields = line.rstrip("\r\n").split(" ")
    return word, _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line takes the first field as the word; words may hold spaces.",
    look="Which side of the line is it safe to count from?",
)
def first_field_is_the_word_and_all_others_are_numbers(line, n_embd):
    word, *fields = line.rstrip("\r\n").split(" ")
    return word, _values_or_the_line(fields, max(n_embd, len(fields)), line)


@mistake(
    says="parse_glove_line takes the first field as the word and all others as numbers.",
    look="How many fields are numbers, and from which side of the line is it safe to count them?",
)
def first_field_is_the_word_and_nothing_is_counted(line, n_embd):
    fields = line.split(" ")
    return fields[0], torch.tensor([float(field) for field in fields[1:]])


@mistake(
    says="parse_glove_line takes the first field as the word and all others as numbers.",
    look="How many fields are numbers, and from which side of the line is it safe to count them?",
)
def first_field_at_any_white_space_is_the_word(line, n_embd):
    fields = line.split()
    return fields[0], torch.tensor([float(field) for field in fields[1:]])


@mistake(
    says="parse_glove_line takes the first field as the word and the last ones as numbers: "
    "the rest of a word with spaces is lost.",
    look="What stands between the first field and the last C of them?",
)
def middle_of_the_word_lost(line, n_embd):
    fields = line.rstrip("\r\n").split(" ")
    return fields[0], _values(fields[1:][-n_embd:], n_embd, line)


@mistake(
    says="parse_glove_line splits at every kind of white space, also at a non-breaking space.",
    look="What does `split()` without an argument split at? See U+00A0.",
    common=True,
)
def split_at_all_white_space(line, n_embd):
    fields = line.split()
    return " ".join(fields[:-n_embd]), _values(fields[1:][-n_embd:], n_embd, line)


@mistake(
    says="parse_glove_line splits at every kind of white space, also at a non-breaking space.",
    look="What does `split()` without an argument split at? See U+00A0.",
)
def split_at_all_white_space_with_another_message(line, n_embd):
    fields = line.split()
    return " ".join(fields[:-n_embd]), _values_or_the_line(fields[1:][-n_embd:], n_embd, line)


@mistake(
    says="parse_glove_line splits from the end at every kind of white space.",
    look="What does rsplit(None, n) split at, and what does it strip? See U+00A0.",
)
def split_from_the_end_at_all_white_space(line, n_embd):
    word, *fields = line.rsplit(None, n_embd) or [""]
    return word, _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line strips the line, and with it the white space of a word.",
    look="What may stand at the beginning of a line? See U+00A0.",
)
def line_stripped(line, n_embd):
    word, *fields = line.strip().rsplit(" ", n_embd)
    return word, _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line strips the word; white space other than the space belongs to it.",
    look="What may stand at the beginning and the end of a word? See U+00A0.",
)
def word_stripped(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return word.strip(), _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line takes the first of several lines, where a word holds a line separator.",
    look="At which characters does splitlines split?",
)
def first_line_of_several(line, n_embd):
    word, *fields = (line.splitlines() or [""])[0].rsplit(" ", n_embd)
    return word, _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line takes off the quotes of a word.",
    look="Has any character of a word a meaning of its own?",
)
def quotes_taken_off(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return word.strip('"'), _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line reads the line as CSV, where a quote opens a field.",
    look="Has any character of a word a meaning of its own?",
)
def read_as_csv(line, n_embd):
    import csv

    fields = next(csv.reader([line.rstrip("\r\n")], delimiter=" "), [])
    return " ".join(fields[:-n_embd]), _values(fields[1:][-n_embd:], n_embd, line)


@mistake(
    says="parse_glove_line writes the word in lower case.",
    look="Does the word come back as it stands in the file?",
)
def word_in_lower_case(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return word.lower(), _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line replaces characters of the word by others that look alike.",
    look="Does the word come back as it stands in the file?",
)
def word_normalised(line, n_embd):
    import unicodedata

    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return unicodedata.normalize("NFKC", word), _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line takes every number of the line as a value; a word may be one, too.",
    look="What tells a value from a word such as 1?",
)
def numbers_are_never_words(line, n_embd):
    fields = line.rstrip("\r\n").split(" ")
    cut = len(fields)
    while cut > 1 and re.fullmatch(r"[-+.\deE]+", fields[cut - 1]):
        cut -= 1
    return " ".join(fields[:cut]), _values(fields[cut:], n_embd, line)


@mistake(
    says="parse_glove_line joins the fields of a word without the spaces between them.",
    look="What stood between the fields of the word?",
)
def word_joined_without_spaces(line, n_embd):
    fields = line.rstrip("\r\n").split(" ")
    return "".join(fields[:-n_embd]), _values(fields[1:][-n_embd:], n_embd, line)


@mistake(
    says="parse_glove_line ignores `n_embd`: it is right for vectors of 2 only.",
    look="Where in the body does `n_embd` stand?",
)
def two_numbers_always(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", 2)
    return word, _values(fields, 2, line)


@mistake(
    says="parse_glove_line returns the values as a list.",
    look="What should the second part of the result be?",
)
def values_as_a_list(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return word, _values(fields, n_embd, line).tolist()


@mistake(
    says="parse_glove_line returns float64 values.",
    look="Which dtype do numpy and double make of Python's floats?",
)
def values_in_float64(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return word, _values(fields, n_embd, line).double()


@mistake(
    says="parse_glove_line accepts a line with too few numbers.",
    look="What should become of a line that was cut short?",
    common=True,
)
def too_few_accepted(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    return word, _values(fields, len(fields), line)


@mistake(
    says="parse_glove_line accepts a line without a word: it counts all fields as numbers.",
    look="How many fields does a line with a word and two numbers have at least?",
)
def line_without_a_word_accepted(line, n_embd):
    fields = line.removesuffix("\n").removesuffix("\r").split(" ")
    return " ".join(fields[:-n_embd]), _values(fields[-n_embd:], n_embd, line)


@mistake(
    says="parse_glove_line reads 0 where a number cannot be read.",
    look="What should happen to a broken line?",
)
def zero_for_unreadable(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    good = [
        field if re.fullmatch(r"[-+]?[\d.]+([eE][-+]?\d+)?", field) else "0" for field in fields
    ]
    return word, _values(good, n_embd, line)


@mistake(
    says="parse_glove_line refuses a broken line without showing it.",
    look="What would one want to know about a file with a broken line?",
)
def line_not_shown(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    if len(fields) != n_embd:
        raise ValueError("the line holds too few numbers")
    return word, _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line cannot read numbers such as 1e-3.",
    look="In which ways can a number be written?",
)
def no_scientific_notation(line, n_embd):
    word, *fields = line.rstrip("\r\n").rsplit(" ", n_embd)
    if any("e" in field.lower() for field in fields):
        raise ValueError(f"the fields must be numbers; got {line!r}")
    return word, _values(fields, n_embd, line)


@mistake(
    says="parse_glove_line keeps the line end: it is part of the last field.",
    look="What does the last field look like when the line came from a file?",
)
def line_end_kept(line, n_embd):
    match = re.fullmatch(rf"(.*?)((?: \S+){{{n_embd}}})", line, re.DOTALL)
    if match is None:
        raise ValueError(f"a line must hold a word and {n_embd} numbers; got {line!r}")
    return match[1], _values(match[2].split(" ")[1:], n_embd, line)


@alternative
def fields_joined_again(line, n_embd):
    if line.endswith("\n"):
        line = line[:-1]
    fields = line.rstrip("\r").split(" ")
    if len(fields) <= n_embd:
        raise ValueError(f"{n_embd} numbers are needed after the word, got only {fields}")
    values = [float(field) for field in fields[-n_embd:]]
    return " ".join(fields[:-n_embd]), torch.FloatTensor(values)


@alternative
def read_by_numpy(line, n_embd):
    cut = len(line)
    text = re.sub(r"\r?\n\Z", "", line)
    for _ in range(n_embd):
        cut = text.rfind(" ", 0, cut)
        if cut < 0:
            raise ValueError(f"too few numbers in the line {text!r}")
    fields = numpy.array(text[cut + 1 :].split(" "))
    return text[:cut], torch.from_numpy(fields.astype(numpy.float32))


@alternative
def matched_by_a_regular_expression(line, n_embd):
    number = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
    match = re.fullmatch(rf"(.*?)((?: {number}){{{n_embd}}})(?:\r?\n)?", line, re.DOTALL)
    if match is None:
        raise ValueError(f"the line does not end in {n_embd} numbers: {line}")
    return match[1], torch.tensor([float(field) for field in match[2].split()])


@mistake(
    says="parse_glove_line rounds the values to four digits.",
    look="How many digits do the numbers of the file have, and how many does a float32 keep?",
)
def rounded_to_four_digits(line, n_embd):
    word, *fields = line.removesuffix("\n").removesuffix("\r").rsplit(" ", n_embd)
    if len(fields) < n_embd:
        raise ValueError(f"a line must hold a word and {n_embd} numbers; got {line!r}")
    try:
        return word, torch.tensor([round(float(field), 4) for field in fields])
    except ValueError:
        raise ValueError(f"the last {n_embd} fields must be numbers; got {line!r}") from None
