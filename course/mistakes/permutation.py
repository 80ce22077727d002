"""Lesson 2: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries


def _scores(x):
    return x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])


def _later(x):
    """True where the key comes after the query."""
    length = x.shape[-2]
    return torch.ones(length, length, dtype=torch.bool, device=x.device).triu(diagonal=1)


def _masked_scores(x):
    return _scores(x).masked_fill(_later(x), -math.inf)


def _refuse_other_than_a_permutation(perm):
    if sorted(perm.tolist()) != list(range(len(perm))):
        raise ValueError(f"perm must hold each of 0..{len(perm) - 1} once; got {perm.tolist()}")


mistake, alternative, error = entries("toy_attention")


@mistake(
    says="toy_attention takes the softmax over the queries instead of the keys.",
    look="Which weights have to sum to one: those of a row or those of a column?",
    common=True,
)
def softmax_over_the_queries(x):
    return _scores(x).softmax(dim=-2) @ x


@mistake(
    says="toy_attention takes the softmax over the sentences of the batch.",
    look="Which axis of the scores (B, T, T) numbers the keys?",
)
def softmax_over_the_batch(x):
    return _scores(x).softmax(dim=0) @ x


@mistake(
    says="toy_attention does not divide the scores.",
    look="How does the size of a dot product grow with C?",
    common=True,
)
def scores_not_divided(x):
    return (x @ x.mT).softmax(dim=-1) @ x


@mistake(
    says="toy_attention divides the scores by C instead of its root.",
    look="What is the standard deviation of a sum of C independent terms?",
    common=True,
)
def divided_by_the_width(x):
    return (x @ x.mT / x.shape[-1]).softmax(dim=-1) @ x


@mistake(
    says="toy_attention divides the scores by the root of the length T.",
    look="Which axis of x does the dot product run over?",
)
def divided_by_the_root_of_the_length(x):
    return (x @ x.mT / math.sqrt(x.shape[1])).softmax(dim=-1) @ x


@mistake(
    says="toy_attention multiplies the scores by √C.",
    look="Should the scores of wide tokens become larger or smaller?",
)
def multiplied_by_the_root_of_the_width(x):
    return (x @ x.mT * math.sqrt(x.shape[-1])).softmax(dim=-1) @ x


@mistake(
    says="toy_attention divides by √C after the softmax, not before it.",
    look="Do the weights still sum to one?",
)
def divided_after_the_softmax(x):
    return (x @ x.mT).softmax(dim=-1) / math.sqrt(x.shape[-1]) @ x


@mistake(
    says="toy_attention computes the softmax by `exp` as it stands, which overflows.",
    look="What is `exp(900)` in float32, and what is infinity divided by infinity?",
    common=True,
)
def exp_without_a_shift(x):
    weights = _scores(x).exp()
    return weights / weights.sum(dim=-1, keepdim=True) @ x


@mistake(
    says="toy_attention subtracts the largest score of all, which leaves some rows nothing but 0.",
    look="For which row is a score the largest, if a batch has many rows?",
)
def shifted_by_the_largest_of_all(x):
    scores = _scores(x)
    weights = (scores - scores.max()).exp()
    return weights / weights.sum(dim=-1, keepdim=True) @ x


@mistake(
    says="toy_attention cuts large scores off, so that they become equal.",
    look="Which of two tokens should win that have the scores 600 and 900?",
)
def scores_are_clamped(x):
    return _scores(x).clamp(-50, 50).softmax(dim=-1) @ x


@mistake(
    says="toy_attention adds up the tokens by their scores, without a softmax.",
    look="What turns scores into weights that sum to one?",
)
def no_softmax(x):
    return _scores(x) @ x


@mistake(
    says="toy_attention uses a sigmoid, whose weights do not sum to one.",
    look="What turns scores into weights that sum to one?",
)
def sigmoid_for_softmax(x):
    return _scores(x).sigmoid() @ x


@mistake(
    says="toy_attention takes the most similar token instead of an average.",
    look="Does a softmax pick one key, or does it weigh them all?",
)
def the_best_key_only(x):
    return F.one_hot(_scores(x).argmax(dim=-1), x.shape[1]).to(x.dtype) @ x + 0 * x


@mistake(
    says="toy_attention gives every token the same weight.",
    look="Where do the scores enter?",
)
def plain_mean(x):
    return x.mean(dim=1, keepdim=True).expand_as(x).clone()


@mistake(
    says="toy_attention makes all tokens of length one before it compares them.",
    look="Is there a norm in x xᵀ / √C?",
)
def cosines_for_scores(x):
    directions = F.normalize(x, dim=-1)
    return (directions @ directions.mT).softmax(dim=-1) @ x


@mistake(
    says="toy_attention takes the softmax over the queries instead of the keys.",
    look="Which weights have to sum to one: those of a row or those of a column?",
)
def weights_transposed(x):
    return _scores(x).softmax(dim=-1).mT @ x


@mistake(
    says="toy_attention lets the sentences of a batch attend to each other.",
    look="What is the shape of the scores?",
)
def sentences_are_mixed(x):
    tokens = x.reshape(-1, x.shape[-1])
    return (_scores(tokens).softmax(dim=-1) @ tokens).reshape(x.shape)


@mistake(
    says="toy_attention adds x to its result.",
    look="Is there a residual connection in this exercise?",
)
def with_a_residual(x):
    return x + _scores(x).softmax(dim=-1) @ x


@mistake(
    says="toy_attention masks the later tokens.",
    look="Which of the two attentions of this lesson has a mask?",
)
def mask_where_none_belongs(x):
    return _masked_scores(x).softmax(dim=-1) @ x


@mistake(
    says="toy_attention keeps each token from attending to itself.",
    look="Is the diagonal of the scores left out anywhere in the formula?",
)
def token_itself_is_left_out(x):
    itself = torch.eye(x.shape[1], dtype=torch.bool, device=x.device)
    return _scores(x).masked_fill(itself, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="toy_attention cuts the weights off, so that no gradient goes through the scores.",
    look="In how many places does x stand in the formula?",
)
def weights_are_detached(x):
    return _scores(x).softmax(dim=-1).detach() @ x


@mistake(
    says="toy_attention always computes and answers in float32.",
    look="Which dtype does x have?",
)
def attention_in_float32(x):
    return _scores(x.float()).softmax(dim=-1) @ x.float()


@mistake(
    says="toy_attention divides by the root of 2, the width of the example.",
    look="Which of your numbers is true for this C only?",
)
def width_of_the_example(x):
    return (x @ x.mT / math.sqrt(2)).softmax(dim=-1) @ x


@mistake(
    says="toy_attention views x in another shape, which a transposed tensor does not allow.",
    look="When does `.view` fail where `.reshape` works?",
)
def view_of_transposed_tokens(x):
    x = x.view(x.shape[0], -1).view(x.shape)
    return _scores(x).softmax(dim=-1) @ x


@mistake(
    says="toy_attention reshapes x to (B, C, T), which cuts its numbers up in another order.",
    look="Which token does column j of your reshaped x hold, and which one should it?",
)
def reshaped_instead_of_transposed_tokens(x):
    b, t, c = x.shape
    return (x @ x.reshape(b, c, t) / math.sqrt(c)).softmax(dim=-1) @ x


@mistake(
    says="toy_attention multiplies x by `x.T`, which reverses all three axes.",
    look="What are the shapes of x and of `x.T`, and which axis is the batch?",
)
def all_axes_reversed(x):
    scores = x @ x.permute(2, 1, 0) / math.sqrt(x.shape[-1])
    return scores.softmax(dim=-1) @ x


@mistake(
    says="toy_attention multiplies x by x without a transpose: (T, C) times (T, C).",
    look="Which two shapes make scores of the shape (T, T)?",
)
def nothing_transposed(x):
    scores = x @ x / math.sqrt(x.shape[-1])
    return scores.softmax(dim=-1) @ x


@mistake(
    says="toy_attention swaps batch and tokens where it should swap tokens and features.",
    look="Which two axes of (B, T, C) are to be swapped?",
)
def batch_and_tokens_swapped(x):
    scores = x @ x.transpose(0, 1) / math.sqrt(x.shape[-1])
    return scores.softmax(dim=-1) @ x


@mistake(
    says="toy_attention compares directions only, for it normalises the tokens before the product.",
    look="Does a token twice as long get another score?",
)
def cosines_over_the_root_of_the_width(x):
    directions = F.normalize(x, dim=-1)
    return _scores(directions).softmax(dim=-1) @ x


@mistake(
    says="toy_attention returns its weights, (B, T, T), and averages nothing.",
    look="What is done with the weights after the softmax?",
)
def weights_without_the_tokens(x):
    return _scores(x).softmax(dim=-1)


@mistake(
    says="toy_attention scales x for the scores and then averages the scaled tokens.",
    look="Which x do the weights multiply?",
)
def scaled_tokens_are_averaged(x):
    scaled = x / x.shape[-1] ** 0.25
    return (scaled @ scaled.mT).softmax(dim=-1) @ scaled


@alternative
def scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x)


@alternative
def einsum_with_scaled_queries(x):
    queries = x * x.shape[-1] ** -0.5
    weights = torch.softmax(torch.einsum("bqc,bkc->bqk", queries, x), dim=2)
    return torch.einsum("bqk,bkc->bqc", weights, x)


@alternative
def query_by_query(x):
    rows = []
    for t in range(x.shape[1]):
        scores = (x[:, t : t + 1] * x).sum(dim=-1) / x.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=-1)[..., None] * x).sum(dim=1))
    return torch.stack(rows, dim=1)


@alternative
def softmax_by_hand_in_float64(x):
    wide = x.double()
    scores = torch.bmm(wide, wide.mT) / math.sqrt(x.shape[-1])
    weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return (torch.bmm(weights, wide) / weights.sum(dim=-1, keepdim=True)).to(x.dtype)


@alternative
def keys_along_the_second_axis(x):
    scores = (x @ x.mT / math.sqrt(x.shape[-1])).log_softmax(dim=1)
    return scores.exp().mT @ x


@alternative
def keys_one_after_the_other(x):
    """Flash attention's idea: a running maximum, a running sum, nothing of size T by T."""
    top = torch.full_like(x[..., :1], -math.inf)
    total, mixed = torch.zeros_like(top), torch.zeros_like(x)
    for key in x.unbind(dim=1):
        score = (x * key[:, None]).sum(dim=-1, keepdim=True) / math.sqrt(x.shape[-1])
        new_top = torch.maximum(top, score)
        shrink, weight = (top - new_top).exp(), (score - new_top).exp()
        total, mixed = total * shrink + weight, mixed * shrink + weight * key[:, None]
        top = new_top
    return mixed / total


# --- inverse_permutation ----------------------------------------------------------------------


mistake, alternative, error = entries("inverse_permutation")


@mistake(
    says="inverse_permutation returns the permutation itself.",
    look="Does shuffling twice bring everything back?",
    common=True,
)
def the_permutation_itself(perm):
    _refuse_other_than_a_permutation(perm)
    return perm.clone()


@mistake(
    says="inverse_permutation shuffles the permutation by itself.",
    look="Try your function on a circle of four, (1, 2, 3, 0).",
)
def shuffled_twice(perm):
    _refuse_other_than_a_permutation(perm)
    return perm[perm]


@mistake(
    says="inverse_permutation reads the permutation backwards.",
    look="Is the inverse of (0, 1, 2) really (2, 1, 0)?",
    common=True,
)
def read_backwards(perm):
    _refuse_other_than_a_permutation(perm)
    return perm.flip(0)


@mistake(
    says="inverse_permutation subtracts the entries from T - 1.",
    look="Is the inverse of (0, 1, 2) really (2, 1, 0)?",
)
def counted_from_the_end(perm):
    _refuse_other_than_a_permutation(perm)
    return len(perm) - 1 - perm


@mistake(
    says="inverse_permutation sorts from the largest entry down.",
    look="Which entry of the permutation tells where token 0 went?",
)
def sorted_downwards(perm):
    _refuse_other_than_a_permutation(perm)
    return perm.argsort(descending=True)


@mistake(
    says="inverse_permutation returns the sorted entries, not where they were.",
    look="What are the two things that `sort` returns?",
    common=True,
)
def entries_not_their_places(perm):
    _refuse_other_than_a_permutation(perm)
    return perm.sort().values


@mistake(
    says="inverse_permutation turns all places by the first entry, which only undoes a rotation.",
    look="Try your function on (1, 0, 2).",
)
def rotated_back(perm):
    _refuse_other_than_a_permutation(perm)
    return (torch.arange(len(perm)) - perm[0]) % len(perm)


@mistake(
    says="inverse_permutation returns int32 numbers.",
    look="Which dtype does the permutation have?",
)
def places_as_int32(perm):
    _refuse_other_than_a_permutation(perm)
    return perm.argsort().int()


@mistake(
    says="inverse_permutation returns a list.",
    look="What kind of thing is the permutation itself?",
)
def a_list_of_places(perm):
    _refuse_other_than_a_permutation(perm)
    return perm.argsort().tolist()


@mistake(
    says="inverse_permutation accepts anything.",
    look="What would the inverse of (0, 2, 2, 1) be?",
)
def anything_is_accepted(perm):
    return perm.argsort()


@mistake(
    says="inverse_permutation checks the range of the entries, not that each occurs once.",
    look="Is (3, 0, 0, 3) a permutation?",
)
def range_is_checked_only(perm):
    if perm.min() < 0 or perm.max() >= len(perm):
        raise ValueError(f"not a permutation of 0..{len(perm) - 1}: {perm.tolist()}")
    return perm.argsort()


@mistake(
    says="inverse_permutation checks that no entry occurs twice, not what the entries are.",
    look="Is (4, 3, 2, 1) a permutation of 0, 1, 2, 3?",
)
def repetition_is_checked_only(perm):
    if len(perm.unique()) < len(perm):
        raise ValueError(f"not a permutation of 0..{len(perm) - 1}: {perm.tolist()}")
    return perm.argsort()


@mistake(
    says="inverse_permutation checks only that the entries have the right sum.",
    look="Is (3, 0, 0, 3) a permutation?",
)
def sum_is_checked_only(perm):
    if perm.sum() != len(perm) * (len(perm) - 1) // 2:
        raise ValueError(f"not a permutation of 0..{len(perm) - 1}: {perm.tolist()}")
    return perm.argsort()


@mistake(
    says="inverse_permutation takes -1 for the last place.",
    look="Does `inverse[-1] = 3` complain?",
)
def last_place_by_a_negative_number(perm):
    wrapped = [entry % len(perm) if entry < 0 else entry for entry in perm.tolist()]
    _refuse_other_than_a_permutation(torch.tensor(wrapped))
    return torch.tensor(wrapped).argsort()


@mistake(
    says="inverse_permutation says that something is wrong, but not what.",
    look="Could you find the bad entry with the help of this message alone?",
)
def message_without_the_entry(perm):
    if sorted(perm.tolist()) != list(range(len(perm))):
        raise ValueError("perm is not a valid permutation")
    return perm.argsort()


@mistake(
    says="inverse_permutation raises AssertionError instead of ValueError.",
    look="What is `assert` for, and what is `raise`?",
)
def assertion_for_a_bad_argument(perm):
    assert sorted(perm.tolist()) == list(range(len(perm))), f"not a permutation: {perm.tolist()}"
    return perm.argsort()


@alternative
def places_written_down(perm):
    _refuse_other_than_a_permutation(perm)
    inverse = torch.empty_like(perm)
    inverse[perm] = torch.arange(len(perm), device=perm.device)
    return inverse


@alternative
def scattered_places(perm):
    counts = torch.bincount(perm.clamp(min=0), minlength=len(perm))
    if perm.numel() and (perm.min() < 0 or len(counts) > len(perm) or counts.max() > 1):
        raise ValueError(f"each number below {len(perm)} must occur once, but perm is {perm}")
    return torch.zeros_like(perm).scatter(0, perm, torch.arange(len(perm)))


@alternative
def pure_python(perm):
    entries, seen = perm.tolist(), set()
    for entry in entries:
        if entry in seen or not 0 <= entry < len(entries):
            raise ValueError(f"the entry {entry} is out of place in a permutation")
        seen.add(entry)
    return torch.tensor([entries.index(place) for place in range(len(entries))])


@alternative
def permutation_matrix(perm):
    is_entry = perm[:, None] == torch.arange(len(perm))
    for entry in perm.tolist():
        if entry < 0 or entry >= len(perm) or is_entry[:, entry].sum() > 1:
            raise ValueError(f"{entry} occurs too often or lies outside of the {len(perm)} places")
    return is_entry.T.long().argmax(dim=1)


@alternative
def argsort_of_numpy(perm):
    entries = perm.numpy()
    if not np.array_equal(np.sort(entries), np.arange(len(entries))):
        raise ValueError(f"this is no permutation: {entries.tolist()}")
    return torch.from_numpy(np.argsort(entries, kind="stable")).to(torch.int64)


@alternative
def power_of_the_permutation(perm):
    """A permutation brings everything back after enough steps; stop one step earlier."""
    _refuse_other_than_a_permutation(perm)
    places = []
    for token in range(len(perm)):
        place = token
        while perm[place] != token:
            place = int(perm[place])
        places.append(place)
    return torch.tensor(places)


def _two_ways(layer, x, perm):
    with torch.no_grad():
        return layer(x)[:, perm], layer(x[:, perm])


mistake, alternative, error = entries("equivariance_gap")


@mistake(
    says="equivariance_gap calls `layer.eval()`, which a plain function does not have.",
    look="What is all that you may do with `layer`?",
)
def eval_of_a_function(layer, x, perm):
    layer.eval()
    after, before = _two_ways(layer, x, perm)
    return (after - before).abs().max().item()


@mistake(
    says="equivariance_gap switches the layer to evaluation mode and leaves it there.",
    look="In which mode was the layer before, and who puts it back?",
)
def left_in_evaluation_mode(layer, x, perm):
    if isinstance(layer, nn.Module):
        layer.eval()
    after, before = _two_ways(layer, x, perm)
    return (after - before).abs().max().item()


@mistake(
    says="equivariance_gap leaves the layer in training mode, whatever its mode was.",
    look="In which mode was the layer before?",
)
def left_in_training_mode(layer, x, perm):
    if isinstance(layer, nn.Module):
        layer.eval()
    after, before = _two_ways(layer, x, perm)
    if isinstance(layer, nn.Module):
        layer.train()
    return (after - before).abs().max().item()


@mistake(
    says="equivariance_gap freezes the parameters of the layer.",
    look="What should the caller find changed in the layer?",
)
def parameters_are_frozen(layer, x, perm):
    if isinstance(layer, nn.Module):
        layer.requires_grad_(False)
    after, before = _two_ways(layer, x, perm)
    return (after - before).abs().max().item()


@mistake(
    says="equivariance_gap averages the differences.",
    look="Which difference is asked for, if a single entry is off?",
)
def mean_difference(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before).abs().mean().item()


@mistake(
    says="equivariance_gap adds up the differences.",
    look="Which difference is asked for, if many entries are off?",
)
def sum_of_the_differences(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before).abs().sum().item()


@mistake(
    says="equivariance_gap takes the root of the squares' sum.",
    look="Which difference is asked for, if many entries are off?",
)
def length_of_the_difference(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before).norm().item()


@mistake(
    says="equivariance_gap takes the largest difference with its sign, so -4 counts less than 3.",
    look="What becomes of an entry that is too small?",
    common=True,
)
def difference_with_its_sign(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before).max().item()


@mistake(
    says="equivariance_gap subtracts the other way round and looks at one sign only.",
    look="What becomes of an entry that is too large?",
)
def the_other_sign_only(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (before - after).max().item()


@mistake(
    says="equivariance_gap compares the largest values of both results, not entry with entry.",
    look="Can two different tensors have the same maximum?",
)
def difference_of_the_maxima(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return abs(after.abs().max().item() - before.abs().max().item())


@mistake(
    says="equivariance_gap returns a tensor instead of a Python float.",
    look="What is the difference between `tensor(1.)` and `1.0`?",
    common=True,
)
def gap_as_a_tensor(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before).abs().max()


@mistake(
    says="equivariance_gap says whether there is a gap, not how large it is.",
    look="How large is the gap of a running sum?",
)
def yes_or_no(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return float(not torch.allclose(after, before))


@mistake(
    says="equivariance_gap loses a gap that is small, but there.",
    look="What is left of a gap of 4e-9, and who should decide whether that is small?",
)
def small_gaps_are_zero(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    gap = (after - before).abs().max().item()
    return gap if gap > 1e-6 else 0.0


@mistake(
    says="equivariance_gap loses a gap that is small, but there.",
    look="What is left of a gap of 4e-9, and who should decide whether that is small?",
)
def compared_in_float32(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after.float() - before.float()).abs().max().item()


@mistake(
    says="equivariance_gap does not shuffle the result for the unshuffled tokens.",
    look="Where does the token from place 0 stand in each of the two results?",
    common=True,
)
def one_side_is_not_shuffled(layer, x, perm):
    with torch.no_grad():
        return (layer(x) - layer(x[:, perm])).abs().max().item()


@mistake(
    says="equivariance_gap compares two results whose tokens stand in different orders.",
    look="How often, and by which permutation, are the tokens of each result shuffled?",
)
def one_side_is_shuffled_twice(layer, x, perm):
    with torch.no_grad():
        return (layer(x) - layer(x[:, perm])[:, perm]).abs().max().item()


@mistake(
    says="equivariance_gap compares two results whose tokens stand in different orders.",
    look="How often, and by which permutation, are the tokens of each result shuffled?",
)
def one_side_is_shuffled_by_the_inverse(layer, x, perm):
    with torch.no_grad():
        return (layer(x)[:, perm] - layer(x[:, perm.argsort()])).abs().max().item()


@mistake(
    says="equivariance_gap shuffles by the inverse permutation.",
    look="What does `x[:, perm]` put into place 0?",
)
def shuffled_by_the_inverse(layer, x, perm):
    after, before = _two_ways(layer, x, perm.argsort())
    return (after - before).abs().max().item()


@mistake(
    says="equivariance_gap shuffles the sentences, not the tokens.",
    look="Which axis of (B, T, C) numbers the tokens?",
    common=True,
)
def sentences_are_shuffled(layer, x, perm):
    with torch.no_grad():
        return (layer(x)[perm] - layer(x[perm])).abs().max().item()


@mistake(
    says="equivariance_gap shuffles the features, not the tokens.",
    look="Which axis of (B, T, C) numbers the tokens?",
)
def features_are_shuffled(layer, x, perm):
    with torch.no_grad():
        return (layer(x)[..., perm] - layer(x[..., perm])).abs().max().item()


@mistake(
    says="equivariance_gap looks at the first sentence only.",
    look="How many sentences has the batch?",
)
def first_sentence_only(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before)[0].abs().max().item()


@mistake(
    says="equivariance_gap looks at the last token only.",
    look="At how many places may the results differ?",
)
def last_token_only(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return (after - before)[:, -1].abs().max().item()


@mistake(
    says="equivariance_gap shuffles back and forth, which gives 0 for every layer.",
    look="Which order of tokens does the layer see in each of the two calls?",
)
def shuffled_back_before_the_layer(layer, x, perm):
    with torch.no_grad():
        return (layer(x) - layer(x[:, perm][:, perm.argsort()])).abs().max().item()


@mistake(
    says="equivariance_gap measures the gap relative to the size of the result.",
    look="Is anything divided in the definition?",
)
def relative_gap(layer, x, perm):
    after, before = _two_ways(layer, x, perm)
    return ((after - before).abs().max() / after.abs().max().clamp(min=1e-12)).item()


@alternative
def shuffled_back_and_compared(layer, x, perm):
    difference = layer(x) - layer(x[:, perm])[:, perm.argsort()]
    return float(difference.detach().abs().max())


@alternative
def evaluation_mode_for_a_while(layer, x, perm):
    was_training = getattr(layer, "training", None)
    if was_training:
        layer.eval()
    try:
        with torch.inference_mode():
            gap = torch.dist(layer(x).index_select(1, perm), layer(x[:, perm]), p=math.inf)
    finally:
        if was_training:
            layer.train()
    return float(gap)


@alternative
def entry_by_entry(layer, x, perm):
    places = perm.tolist()
    straight, shuffled = layer(x).tolist(), layer(x[:, perm]).tolist()
    return max(
        abs(a - b)
        for one, other in zip(straight, shuffled, strict=True)
        for place, token in enumerate(other)
        for a, b in zip(one[places[place]], token, strict=True)
    )


@alternative
def numpy_in_float64(layer, x, perm):
    after = layer(x).detach().double().numpy()[:, perm.numpy()]
    before = layer(x[:, perm]).detach().double().numpy()
    return float(np.max(np.abs(after - before)))


@alternative
def sentence_by_sentence(layer, x, perm):
    after, before = layer(x), layer(x.gather(1, perm[None, :, None].expand_as(x)))
    gaps = [
        F.l1_loss(a[perm], b, reduction="none").amax() for a, b in zip(after, before, strict=True)
    ]
    return torch.stack(gaps).max().item()


# --- bag_vector -------------------------------------------------------------------------------


mistake, alternative, error = entries("bag_vector")


@mistake(
    says="bag_vector averages over the features.",
    look="Which axis of (B, T, C) numbers the tokens?",
    common=True,
)
def mean_of_the_features(layer, x):
    return layer(x).mean(dim=-1)


@mistake(
    says="bag_vector averages over the sentences.",
    look="Which axis of (B, T, C) numbers the tokens?",
)
def mean_of_the_sentences(layer, x):
    return layer(x).mean(dim=0)


@mistake(
    says="bag_vector averages over tokens and features at once.",
    look="What is the shape of one vector for each sentence?",
)
def mean_of_everything(layer, x):
    return layer(x).mean(dim=(1, 2))


@mistake(
    says="bag_vector adds the tokens up without dividing by their number.",
    look="What happens to your vector if the sentence is twice as long?",
)
def sum_of_the_tokens(layer, x):
    return layer(x).sum(dim=1)


@mistake(
    says="bag_vector divides by the number of features.",
    look="How many vectors do you add up?",
)
def divided_by_the_features(layer, x):
    return layer(x).sum(dim=1) / x.shape[-1]


@mistake(
    says="bag_vector keeps the axis of the tokens, (B, 1, C).",
    look="What is the shape of one vector for each sentence?",
)
def axis_is_kept(layer, x):
    return layer(x).mean(dim=1, keepdim=True)


@mistake(
    says="bag_vector drops every axis of length 1.",
    look="What does `squeeze` do to a batch of one sentence?",
)
def all_axes_of_length_1_are_dropped(layer, x):
    return layer(x).mean(dim=1, keepdim=True).squeeze()


@mistake(
    says="bag_vector averages first and applies the layer to the average.",
    look="What does the layer get to see?",
    common=True,
)
def mean_before_the_layer(layer, x):
    return layer(x.mean(dim=1, keepdim=True)).squeeze(1)


@mistake(
    says="bag_vector averages first and applies the layer to the average.",
    look="What does the layer get to see?",
)
def mean_without_an_axis_before_the_layer(layer, x):
    return layer(x.mean(dim=1))


@mistake(
    says="bag_vector averages first and applies the layer to the average.",
    look="What does the layer get to see?",
)
def mean_before_the_layer_then_all_axes_of_1_dropped(layer, x):
    return layer(x.mean(dim=1, keepdim=True)).squeeze()


@mistake(
    says="bag_vector averages first and applies the layer to the average.",
    look="What does the layer get to see?",
)
def mean_before_the_layer_then_its_first_token(layer, x):
    return layer(x.mean(dim=1, keepdim=True))[:, 0]


@mistake(
    says="bag_vector averages first and applies the layer to the average.",
    look="What does the layer get to see?",
)
def mean_before_the_layer_with_the_axis_kept(layer, x):
    return layer(x.mean(dim=1, keepdim=True))


@mistake(
    says="bag_vector averages the tokens and never asks the layer.",
    look="Where do you call `layer`?",
)
def layer_is_not_called(layer, x):
    return x.mean(dim=1)


@mistake(
    says="bag_vector applies the layer twice.",
    look="How often do you call `layer`?",
)
def layer_is_called_on_its_result(layer, x):
    return layer(layer(x)).mean(dim=1)


@mistake(
    says="bag_vector adds the tokens themselves to what the layer gives.",
    look="Is there a residual connection in this exercise?",
)
def mean_with_a_residual(layer, x):
    return (x + layer(x)).mean(dim=1)


@mistake(
    says="bag_vector takes the first token instead of the mean.",
    look="Which tokens should have a say?",
)
def first_token(layer, x):
    return layer(x)[:, 0]


@mistake(
    says="bag_vector takes the last token instead of the mean.",
    look="Which tokens should have a say?",
)
def last_token(layer, x):
    return layer(x)[:, -1]


@mistake(
    says="bag_vector takes the largest value of each feature instead of the mean.",
    look="Which tokens should have a say?",
)
def largest_value(layer, x):
    return layer(x).amax(dim=1)


@mistake(
    says="bag_vector cuts its result off, so that no gradient comes back.",
    look="What do `.detach()` and `torch.no_grad()` cut?",
)
@torch.no_grad()
def mean_without_gradient(layer, x):
    return layer(x).mean(dim=1)


@mistake(
    says="bag_vector cuts x off before the layer, so that no gradient reaches it.",
    look="What do `.detach()` and `.data` cut?",
)
def layer_gets_a_detached_copy(layer, x):
    return layer(x.detach()).mean(dim=1) + 0 * x.mean(dim=1)


@mistake(
    says="bag_vector always answers in float32.",
    look="Which dtype does x have?",
)
def mean_in_float32(layer, x):
    return layer(x).float().mean(dim=1)


@mistake(
    says="bag_vector scales every vector to length 1.",
    look="Is there a norm in a mean?",
)
def mean_of_length_one(layer, x):
    return F.normalize(layer(x).mean(dim=1), dim=-1)


@alternative
def sum_divided_by_the_length(layer, x):
    return layer(x).sum(1) / x.shape[1]


@alternative
def einsum_of_the_tokens(layer, x):
    return torch.einsum("btc->bc", layer(x)) / x.size(1)


@alternative
def token_after_token(layer, x):
    tokens = layer(x).unbind(dim=1)
    total = tokens[0]
    for token in tokens[1:]:
        total = total + token
    return total / len(tokens)


@alternative
def product_with_equal_weights(layer, x):
    weights = x.new_full((x.shape[0], 1, x.shape[1]), 1 / x.shape[1])
    return torch.bmm(weights, layer(x)).squeeze(1)


@alternative
def pooled_over_the_tokens(layer, x):
    return F.adaptive_avg_pool1d(layer(x).transpose(1, 2), 1)[..., 0]


@alternative
def sentence_after_sentence_in_float64(layer, x):
    return torch.stack([tokens.double().mean(dim=0) for tokens in layer(x)]).to(x.dtype)


@mistake(
    says="bag_vector divides by the number of sentences.",
    look="How many vectors do you add up?",
)
def divided_by_the_sentences(layer, x):
    return layer(x).sum(dim=1) / x.shape[0]


mistake, alternative, error = entries("causal_toy_attention")


@mistake(
    says="causal_toy_attention hides nothing: no mask reaches the softmax.",
    look="Which tokens may the first token see? If you call `masked_fill`, who gets its result?",
)
def no_mask(x):
    return _scores(x).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention hides the earlier tokens instead of the later ones.",
    look="In the scores (query, key), on which side of the diagonal are the later keys?",
)
def earlier_tokens_are_hidden(x):
    return _scores(x).masked_fill(_later(x).T, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention hides the token itself, too, so that the first one sees nothing.",
    look="Where does the mask begin, on the diagonal or above it?",
    common=True,
)
def token_itself_is_hidden(x):
    length = x.shape[1]
    hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(diagonal=0)
    return _scores(x).masked_fill(hidden, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention hides each token and all before it: the last one sees nothing.",
    look="Where is the mask true: at the keys to be hidden, or at those to be kept?",
)
def mask_is_the_other_way_round(x):
    return _scores(x).masked_fill(~_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention lets each token see the next one.",
    look="Where does the mask begin, one above the diagonal or two?",
)
def next_token_is_seen(x):
    length = x.shape[1]
    hidden = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(diagonal=2)
    return _scores(x).masked_fill(hidden, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention masks after the softmax, so that the weights do not sum to one.",
    look="What do the weights of the first token sum to?",
    common=True,
)
def masked_after_the_softmax(x):
    return _scores(x).softmax(dim=-1).tril() @ x


@mistake(
    says="causal_toy_attention has nothing left in a row where a hidden token scores far higher.",
    look="Which scores does softmax see, and when are the hidden ones taken out?",
)
def masked_and_divided_by_the_rest(x):
    weights = _scores(x).softmax(dim=-1).tril()
    return weights / weights.sum(dim=-1, keepdim=True) @ x


@mistake(
    says="causal_toy_attention sets the scores of later tokens to 0, which is a score like others.",
    look="Which score becomes the weight 0 in a softmax?",
    common=True,
)
def score_0_for_later_tokens(x):
    return _scores(x).tril().softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention lowers the scores of later tokens by 100, which may not suffice.",
    look="What is left of a score of 600 that was lowered by 100?",
)
def lowered_by_a_hundred(x):
    return (_scores(x) - 100.0 * _later(x).to(x.dtype)).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention multiplies a mask by infinity, and 0 times infinity is nan.",
    look="What stands below the diagonal of your mask?",
    common=True,
)
def zero_times_infinity(x):
    return (_scores(x) - _later(x).to(x.dtype) * math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention gives all tokens that it sees the same weight.",
    look="Where do the scores enter?",
)
def running_mean(x):
    counts = torch.arange(1, x.shape[1] + 1, dtype=x.dtype, device=x.device)
    return x.cumsum(dim=1) / counts[:, None]


@mistake(
    says="causal_toy_attention takes the softmax over the queries instead of the keys.",
    look="Which weights have to sum to one: those of a row or those of a column?",
)
def masked_softmax_over_the_queries(x):
    return _masked_scores(x).softmax(dim=-2) @ x


@mistake(
    says="causal_toy_attention does not divide the scores.",
    look="How does the size of a dot product grow with C?",
)
def masked_scores_not_divided(x):
    return (x @ x.mT).masked_fill(_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention divides the scores by the root of the length T.",
    look="Which axis of x does the dot product run over?",
)
def masked_scores_divided_by_the_length(x):
    scores = x @ x.mT / math.sqrt(x.shape[1])
    return scores.masked_fill(_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention divides the scores by C instead of its root.",
    look="How does the size of a dot product grow with C?",
)
def masked_scores_divided_by_the_width(x):
    scores = x @ x.mT / x.shape[-1]
    return scores.masked_fill(_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention multiplies x by `x.T`, which reverses all three axes.",
    look="What are the shapes of x and of `x.T`, and which axis is the batch?",
)
def masked_with_all_axes_reversed(x):
    scores = x @ x.permute(2, 1, 0) / math.sqrt(x.shape[-1])
    return scores.masked_fill(_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention multiplies x by x without a transpose: (T, C) times (T, C).",
    look="Which two shapes make scores of the shape (T, T)?",
)
def masked_with_nothing_transposed(x):
    scores = x @ x / math.sqrt(x.shape[-1])
    return scores.masked_fill(_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention swaps batch and tokens where it should swap tokens and features.",
    look="Which two axes of (B, T, C) are to be swapped?",
)
def masked_with_batch_and_tokens_swapped(x):
    scores = x @ x.transpose(0, 1) / math.sqrt(x.shape[-1])
    return scores.masked_fill(_later(x), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention computes the softmax by `exp` as it stands, which overflows.",
    look="What is exp(900) in float32, and what is infinity divided by infinity?",
)
def masked_exp_without_a_shift(x):
    weights = _masked_scores(x).exp()
    return weights / weights.sum(dim=-1, keepdim=True) @ x


@mistake(
    says="causal_toy_attention has nothing left in a row where a hidden token scores far higher.",
    look="Which scores does softmax see, and when are the hidden ones taken out?",
)
def shifted_by_a_hidden_score(x):
    scores = _scores(x)
    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp().tril()
    return weights / weights.sum(dim=-1, keepdim=True) @ x


@mistake(
    says="causal_toy_attention sees only the token before and itself.",
    look="How far back does token t see?",
)
def two_tokens_at_a_time(x):
    hidden = _later(x) | _later(x).T.tril(diagonal=-2)
    return _scores(x).masked_fill(hidden, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention zeroes the first token, which sees no other.",
    look="What is the average over a single token?",
)
def first_token_is_zero(x):
    y = _masked_scores(x).softmax(dim=-1) @ x
    return torch.cat((torch.zeros_like(y[:, :1]), y[:, 1:]), dim=1)


@mistake(
    says="causal_toy_attention uses a mask on the CPU, wherever x is.",
    look="Where does `torch.ones(...)` put a tensor if you do not say?",
)
def mask_on_the_cpu(x):
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(diagonal=1)
    return _scores(x).masked_fill(later, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention makes its mask as float32, which turns bfloat16 into float32.",
    look="Which dtype does a sum of bfloat16 and float32 have?",
)
def mask_in_float32(x):
    mask = torch.zeros(x.shape[1], x.shape[1], device=x.device).masked_fill(_later(x), -math.inf)
    wide = torch.promote_types(x.dtype, mask.dtype)
    return (_scores(x) + mask).softmax(dim=-1) @ x.to(wide)


_first_mask = []


@mistake(
    says="causal_toy_attention keeps the mask of its first call for sentences of other lengths.",
    look="What does your mask depend on, and when is it made?",
)
def mask_of_the_first_call(x):
    if not _first_mask:
        _first_mask.append(torch.ones(5, 5, dtype=torch.bool).triu(diagonal=1))
    later = F.pad(_first_mask[0], (0, 9, 0, 9))[: x.shape[1], : x.shape[1]]
    return _scores(x).masked_fill(later.to(x.device), -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention cuts the weights off, so that no gradient goes through the scores.",
    look="In how many places does x stand in the formula?",
)
def masked_weights_are_detached(x):
    return _masked_scores(x).softmax(dim=-1).detach() @ x


@mistake(
    says="causal_toy_attention masks every score that is 0, also one that a token should see.",
    look="Where does the mask come from: the places of the tokens or their scores?",
)
def scores_of_zero_are_masked(x):
    scores = _scores(x).tril()
    return scores.masked_fill(scores == 0, -math.inf).softmax(dim=-1) @ x


@mistake(
    says="causal_toy_attention has a mask of 256 tokens, which longer sentences do not fit.",
    look="Where does the length of the mask come from?",
)
def mask_of_a_fixed_length(x):
    later = torch.ones(256, 256, dtype=torch.bool, device=x.device).triu(diagonal=1)
    later = later[: x.shape[1], : x.shape[1]]
    return _scores(x).masked_fill(later, -math.inf).softmax(dim=-1) @ x


@alternative
def flag_of_scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


@alternative
def prefix_by_prefix(x):
    rows = []
    for t in range(1, x.shape[1] + 1):
        seen = x[:, :t]
        scores = torch.einsum("bc,bkc->bk", x[:, t - 1], seen) / math.sqrt(x.shape[-1])
        rows.append(torch.einsum("bk,bkc->bc", scores.softmax(dim=-1), seen))
    return torch.stack(rows, dim=1)


@alternative
def smallest_number_for_infinity(x):
    places = torch.arange(x.shape[1], device=x.device)
    seen = places[:, None] >= places
    scores = torch.where(seen, _scores(x), torch.finfo(x.dtype).min)
    return torch.softmax(scores, dim=2) @ x


@alternative
def added_mask_of_minus_infinity(x):
    mask = torch.full((x.shape[1], x.shape[1]), -math.inf, dtype=x.dtype, device=x.device)
    return torch.baddbmm(mask.triu(1), x, x.mT, alpha=x.shape[-1] ** -0.5).softmax(-1).bmm(x)


@alternative
def softmax_by_hand_with_a_shift_of_what_is_seen(x):
    scores = _masked_scores(x.double())
    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()
    return (weights / weights.sum(dim=-1, keepdim=True) @ x.double()).to(x.dtype)


@alternative
def lowered_by_a_billion(x):
    return (_scores(x) - 1e9 * _later(x).to(x.dtype)).softmax(dim=-1) @ x


mistake, alternative, error = entries("bag_vector")


@mistake(
    says="bag_vector switches the layer to evaluation mode and leaves it there.",
    look="In which mode is a layer with dropout after the call?",
)
def layer_left_in_evaluation_mode(layer, x):
    if isinstance(layer, torch.nn.Module):
        layer.eval()
    return layer(x).mean(dim=1)


mistake, alternative, error = entries("causal_toy_attention")


@mistake(
    says="causal_toy_attention lowers later scores by 1000, which a score of 1000 outweighs.",
    look="What is left of a score of 1000 after the mask, and what would be safe for any score?",
)
def lowered_by_a_thousand(x):
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    scores = scores - 1000 * torch.ones_like(scores).triu(diagonal=1)
    return scores.softmax(dim=-1) @ x
