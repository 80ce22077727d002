"""Lesson 2: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries
from solutions.permutation import inverse_permutation


def _normed(weights):
    return weights / weights.sum(dim=-1, keepdim=True)


def _later(x):
    """True where the key comes after the query."""
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(diagonal=1)


mistake, alternative, error = entries("toy_attention")

_SHARES = "scores.softmax(dim=-1)"
_FOURTH_ROOT = "x.shape[-1] ** 0.25"
_WIDTHS = ("2", "3", "4", "5", "6", "8", "10", "12", "16", "32", "64", "128")
"""Widths that somebody may have written down instead of C."""

mistake(
    {"dim=-1": "dim=-2"},
    says="toy_attention takes the softmax over the queries instead of the keys.",
    look="Which weights must sum to one, those in a row or those in a column?",
    common=True,
)
mistake(
    {" / math.sqrt(x.shape[-1])": ""},
    says="toy_attention does not divide the scores by √C.",
    look="How does the size of a dot product grow with C?",
    common=True,
)
mistake(
    {"math.sqrt(x.shape[-1])": "x.shape[-1]"},
    says="toy_attention divides the scores by C instead of its root.",
    look="What is the standard deviation of a sum of C independent terms?",
    common=True,
)
mistake(
    {_SHARES: "_normed(scores.exp())"},
    says="toy_attention computes the softmax with a plain `exp`, which overflows.",
    look="What is `exp(900)` in float32, and what is infinity divided by infinity?",
    common=True,
)
mistake(
    {_SHARES: "_normed((scores - scores.max()).exp())"},
    says="toy_attention subtracts the largest score of all, which leaves some rows all zero.",
    look="For which row is a score the largest, if a batch has many rows?",
)
mistake(
    {_SHARES: "(scores.exp() / scores.exp().sum(dim=-2))"},
    says="toy_attention divides by sums that have lost an axis, so they meet other rows.",
    look="What are the shapes of the weights and of their sums?",
)
mistake(
    {"x.shape[-1]": "x.shape[1]"},
    {"x.shape[-1]": "x.shape[0]"},
    *({"x.shape[-1]": width} for width in _WIDTHS),
    says="toy_attention divides the scores by the root of a number other than C.",
    look="Which axis of x does the dot product run over, and is your number right for every x?",
)
mistake(
    {"/ math": "* math"},
    says="toy_attention multiplies the scores by √C.",
    look="Should the scores of wide tokens become larger or smaller?",
)
mistake(
    {" / math.sqrt(x.shape[-1])": "", "dim=-1)": "dim=-1) / math.sqrt(x.shape[-1])"},
    says="toy_attention divides by √C after the softmax, not before it.",
    look="Do the weights still sum to one?",
)
mistake(
    {"scores.softmax": "scores.clamp(-50, 50).softmax"},
    says="toy_attention clips large scores, so they become equal.",
    look="If two tokens have the scores 600 and 900, which should win?",
)
mistake(
    {_SHARES: "_normed(scores)"},
    {_SHARES: "scores.sigmoid()"},
    {"softmax": "log_softmax"},
    says="toy_attention weights the tokens by something other than a softmax of the scores.",
    look="What turns scores into positive weights that sum to one?",
)
mistake(
    {_SHARES: "F.one_hot(scores.argmax(dim=-1), x.shape[1]).to(x.dtype)"},
    says="toy_attention takes the most similar token instead of an average.",
    look="Does a softmax pick one key, or does it weight them all?",
)
mistake(
    {_SHARES: "torch.full_like(scores, 1 / x.shape[1])"},
    says="toy_attention gives every token the same weight.",
    look="Where do the scores enter?",
)
mistake(
    {"x @ x.transpose(-2, -1)": "F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT"},
    {
        "x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])": "F.normalize(x, dim=-1) "
        "@ F.normalize(x, dim=-1).mT"
    },
    says="toy_attention scales all tokens to length one before it compares them.",
    look="Does a token that is twice as long get another score?",
)
mistake(
    {
        "    scores =": "    shape, x = x.shape, x.reshape(-1, x.shape[-1])\n    scores =",
        "scores.softmax(dim=-1) @ x": "(scores.softmax(dim=-1) @ x).reshape(shape)",
    },
    says="toy_attention lets the sentences of a batch attend to each other.",
    look="What is the shape of the scores?",
)
mistake(
    {"return ": "return 1 / x.shape[1] * "},
    says="toy_attention divides the weighted sum by the number of tokens once more.",
    look="What do the weights of a row sum to before you divide?",
)
mistake(
    {"    scores =": "    x = x.mean(dim=0)\n    scores =", "dim=-1": "dim=1"},
    says="toy_attention returns the result for one sentence, (T, C), not for the whole batch.",
    look="How many axes does x have, and which of them is the batch?",
)
mistake(
    {"return ": "return x + "},
    says="toy_attention adds x to its result.",
    look="Is there a residual connection in this exercise?",
)
mistake(
    {"scores.softmax": "scores.masked_fill(_later(x), -math.inf).softmax"},
    says="toy_attention masks the later tokens.",
    look="Which of the two attentions of this lesson has a mask?",
)
mistake(
    {"scores.softmax": "scores.masked_fill(_later(x).logical_not().triu(), -math.inf).softmax"},
    {
        "scores.softmax": "scores.masked_fill("
        "torch.eye(n := len(x[0]), device=x.device) > (n < 2), -math.inf).softmax"
    },
    says="toy_attention keeps each token from attending to itself.",
    look="Is the diagonal of the scores left out anywhere in the formula?",
)
mistake(
    {"dim=-1)": "dim=-1).detach()"},
    says="toy_attention detaches x somewhere, so its gradient is incomplete.",
    look="How many times does x appear in the formula?",
)
mistake(
    {"transpose(-2, -1)": "reshape(len(x), x.shape[2], -1)"},
    says="toy_attention reshapes x to (B, C, T), which puts its numbers in another order.",
    look="Which token does column j of your reshaped x hold, and which one should it?",
)
mistake(
    {"-1) @ x": "-1)"},
    says="toy_attention returns its weights, (B, T, T), and averages nothing.",
    look="What should you do with the weights after the softmax?",
)
mistake(
    {"    scores =": f"    x = x / {_FOURTH_ROOT}\n    scores =", " / math.sqrt(x.shape[-1])": ""},
    says="toy_attention scales x for the scores and then averages the scaled tokens.",
    look="Which x do the weights multiply?",
)


@alternative
def scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x)


alternative(
    {" / math.sqrt(x.shape[-1])": "", "= x @": "= x * x.shape[-1] ** -0.5 @"},
    {
        "x @ x.transpose(-2, -1)": "torch.einsum('bqc,bkc->bqk', x, x)",
        "scores.softmax(dim=-1) @ x": "torch.einsum('bqk,bkc->bqc', scores.softmax(2), x)",
    },
    {
        "scores.softmax(dim=-1) @ x": "torch.bmm(_normed((scores.double() - "
        "scores.amax(dim=-1, keepdim=True)).exp()), x.double()).to(x.dtype)"
    },
    {_SHARES: "scores.log_softmax(dim=1).exp().mT"},
)


@alternative
def query_by_query(x):
    rows = []
    for t in range(x.shape[1]):
        scores = (x[:, t : t + 1] * x).sum(dim=-1) / x.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=-1)[..., None] * x).sum(dim=1))
    return torch.stack(rows, dim=1)


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


error(
    "RuntimeError: t() expects a tensor with <= 2 dimensions, but self is 3D",
    "Usually x is transposed as if it were a matrix: x is a batch of them, (B, T, C).",
)
error(
    "RuntimeError: self must be a matrix",
    "Usually you used `torch.mm`, which multiplies two matrices: x is a batch of them, (B, T, C).",
)
error(
    "TypeError: sqrt(): argument 'input' (position 1) must be Tensor, not int",
    "Usually you used `torch.sqrt` on a size: a size is a Python number, not a tensor.",
)
error(
    "TypeError: softmax() missing 1 required positional argument",
    "Usually softmax is not told along which axis the weights must sum to one.",
)


mistake, alternative, error = entries("inverse_permutation")


def _written(inverse, perm, places):
    """Write some of the places into an inverse, one after the other."""
    for place in places:
        inverse[perm[place]] = place
    return inverse


_WRONG = "sorted(perm.tolist()) != list(range(len(perm)))"

mistake(
    {".argsort()": ""},
    says="inverse_permutation returns the permutation itself.",
    look="Does shuffling twice bring everything back?",
    common=True,
)
mistake(
    {"perm.argsort()": "perm.flip(0)"},
    says="inverse_permutation reads the permutation backwards.",
    look="Is the inverse of (0, 1, 2) really (2, 1, 0)?",
    common=True,
)
mistake(
    {"argsort()": "sort().values"},
    says="inverse_permutation returns 0, 1, 2, ..., the sorted entries, and not where they were.",
    look="Which numbers do you write, and at which positions? (`sort` returns two things.)",
    common=True,
)
mistake(
    {"perm.argsort()": "perm[perm]"},
    says="inverse_permutation applies the permutation to itself.",
    look="Try your function on a circle of four, (1, 2, 3, 0).",
)
mistake(
    {"perm.argsort()": "len(perm) - 1 - perm"},
    says="inverse_permutation subtracts the entries from T - 1.",
    look="Is the inverse of (0, 1, 2) really (2, 1, 0)?",
)
mistake(
    {"perm.argsort()": "(torch.arange(len(perm)) - perm[0]) % len(perm)"},
    says="inverse_permutation shifts everything by the first entry, which only undoes a rotation.",
    look="Try your function on (1, 0, 2).",
)
mistake(
    {"perm.argsort()": "_written(torch.zeros_like(perm), perm, range(len(perm) - 1))"},
    {"perm.argsort()": "_written(torch.arange(len(perm)), perm, range(len(perm) - 1))"},
    {"perm.argsort()": "_written(torch.arange(len(perm)), perm, range(1, len(perm)))"},
    says="inverse_permutation never writes down where the first or the last entry is.",
    look="Where does your loop begin, and where does it end?",
)
mistake(
    {"argsort()": "argsort().int()"},
    {"return ": "return 1.0 * "},
    says="inverse_permutation returns int32 or floating numbers or a list, not int64.",
    look="What kind of thing is the permutation itself?",
)
mistake(
    {_WRONG: "perm.min() < 0 or perm.max() >= len(perm)"},
    {_WRONG: "max(perm.tolist()) != len(perm) - 1"},
    says="inverse_permutation checks the range of the entries, but not that each occurs once.",
    look="Is (3, 0, 0, 3) a permutation of 0, 1, 2, 3?",
)
mistake(
    {_WRONG: "len(perm.unique()) < len(perm)"},
    says="inverse_permutation checks that no entry occurs twice, but not their range.",
    look="Is (4, 3, 2, 1) a permutation of 0, 1, 2, 3?",
)
mistake(
    {"range(len(perm))": "range(1, len(perm) + 1)"},
    says="inverse_permutation expects the entries 1 to T.",
    look="Which entries does the docstring name?",
)
mistake(
    {"    if ": "    perm = torch.where(perm < 0, perm + len(perm), perm)\n    if "},
    says="inverse_permutation raises no ValueError for -1 as the last position.",
    look="Does `inverse[-1] = 3` complain?",
)


@alternative
def places_written_down(perm):
    in_order = torch.arange(len(perm), device=perm.device)
    if not torch.equal(perm.sort().values, in_order):
        raise ValueError(f"perm must hold each of 0..{len(perm) - 1} once; got {perm.tolist()}")
    inverse = torch.empty_like(perm)
    inverse[perm] = in_order
    return inverse


alternative(
    {"perm.argsort()": "_written(torch.zeros_like(perm), perm, range(1, len(perm)))"},
    {"perm.argsort()": "torch.zeros_like(perm).scatter(0, perm, torch.arange(len(perm)))"},
    {"perm.argsort()": "torch.tensor([perm.tolist().index(i) for i in range(len(perm))])"},
    {"perm.argsort()": "(perm == torch.arange(len(perm))[:, None]).int().argmax(dim=1)"},
)


@alternative
def pure_python_with_a_check_of_its_own(perm):
    entries, seen = perm.tolist(), set()
    for entry in entries:
        if entry in seen or not 0 <= entry < len(entries):
            raise ValueError(f"the entry {entry} is out of place in a permutation")
        seen.add(entry)
    return torch.tensor([entries.index(place) for place in range(len(entries))])


@alternative
def power_of_the_permutation(perm):
    """A permutation brings everything back after enough steps; stop one step earlier."""
    places = inverse_permutation(perm).tolist()
    for token in range(len(perm)):
        places[token] = token
        while perm[places[token]] != token:
            places[token] = int(perm[places[token]])
    return torch.tensor(places)


error(
    "RuntimeError: Index put requires the source and destination dtypes match",
    "Usually the positions are written into `torch.zeros(T)`, which is float32, not int64.",
)
error(
    "RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype",
    "Usually the positions are scattered into `torch.zeros(T)`, which is float32, not int64.",
)
error(
    "TypeError: Tensor.index() missing 1 required positional argument: 'dims'",
    "Often a method of lists is called on a tensor: perm is a tensor, (T,).",
)


mistake, alternative, error = entries("equivariance_gap")

_GAP = "(shuffled_after - shuffled_before).abs().max().item()"


def _train(layer, mode):
    if isinstance(layer, nn.Module):
        layer.train(mode)


mistake(
    {"shuffled_before).abs()": "shuffled_before)"},
    {"shuffled_after - shuffled_before).abs()": "shuffled_before - shuffled_after)"},
    says="equivariance_gap takes the largest difference with its sign, so one sign is lost.",
    look="What happens to an entry that is too small, and to one that is too large?",
    common=True,
)
mistake(
    {".item()": ""},
    says="equivariance_gap returns a tensor instead of a Python float.",
    look="What is the difference between `tensor(1.)` and `1.0`?",
    common=True,
)
mistake(
    {"layer(x)[:, perm]": "layer(x)"},
    says="equivariance_gap does not shuffle the result for the unshuffled tokens.",
    look="Where is the token from position 0 in each of the two results?",
    common=True,
)
mistake(
    {"layer(x)[:, perm]": "layer(x)[perm]", "x[:, perm]": "x[perm]"},
    says="equivariance_gap shuffles the sentences instead of the tokens.",
    look="Which axis of (B, T, C) numbers the tokens?",
    common=True,
)
mistake(
    {"layer(x)[:, perm]": "layer(x)[..., perm]", "x[:, perm]": "x[..., perm]"},
    says="equivariance_gap shuffles the features instead of the tokens.",
    look="Which axis of (B, T, C) numbers the tokens?",
)
mistake(
    {"layer(x)[:, perm]": "layer(x)", "layer(x[:, perm])": "layer(x[:, perm])[:, perm]"},
    {"layer(x[:, perm])": "layer(x[:, perm.argsort()])"},
    {"layer(x[:, perm])": "layer(x)"},
    says="equivariance_gap compares two results with tokens in different orders.",
    look="How often, and by which permutation, are the tokens of each result shuffled?",
)
mistake(
    {"layer(x)[:, perm]": "toy_attention(x)[:, perm]", "layer(x[": "toy_attention(x["},
    {"layer(x)[:, perm]": "x[:, perm]", "layer(x[:, perm])": "x[:, perm]"},
    says="equivariance_gap gives 0, whatever `layer` is.",
    look="Where do you call `layer`, and which order of tokens does it see each time?",
)
mistake(
    {"layer(x)[:, perm]": "layer(x)[:, perm.argsort()]", "x[:, perm]": "x[:, perm.argsort()]"},
    says="equivariance_gap shuffles by the inverse permutation.",
    look="What does `x[:, perm]` put at position 0?",
)
mistake(
    {"max()": "mean()"},
    says="equivariance_gap takes the mean of the differences, not the largest one.",
    look="Which difference does the exercise ask for, if one entry of a thousand is off?",
)
mistake(
    {"max()": "sum()"},
    says="equivariance_gap adds up the differences instead of taking the largest one.",
    look="Should the gap grow with the number of tokens?",
)
mistake(
    {"max()": "min()"},
    {"max()": "std()"},
    {"max()": "median()"},
    {"max()": "amax(dim=0).mean()"},
    {"max()": "amax(dim=1).mean()"},
    {"max()": "amax(dim=-1).mean()"},
    {"max()": "amax(dim=(1, 2)).mean()"},
    {".abs().max()": ".norm()"},
    {"abs()": "square()"},
    says="equivariance_gap summarizes the differences in another way than by the largest one.",
    look="Which difference does the exercise ask for, if one entry is off, or many?",
)
mistake(
    {_GAP: "abs(shuffled_after.abs().max() - shuffled_before.abs().max()).item()"},
    says="equivariance_gap compares the largest values of both results, not entry with entry.",
    look="Can two different tensors have the same maximum?",
)
mistake(
    {_GAP: "float(not torch.allclose(shuffled_after, shuffled_before))"},
    {_GAP: "torch.allclose(shuffled_after, shuffled_before)"},
    says="equivariance_gap says whether there is a gap, not how large it is.",
    look="How large is the gap of a running sum?",
)
mistake(
    {"before).abs()": "before)[0].abs()"},
    {"before).abs()": "before)[:, -1].abs()"},
    {"before).abs()": "before)[:, 0].abs()"},
    says="equivariance_gap looks at only one sentence or one token.",
    look="At how many positions may the results differ?",
)
mistake(
    {"before).abs().max()": "before).abs().max().div(shuffled_after.abs().max().clamp(1e-12))"},
    says="equivariance_gap measures the gap relative to the size of the result.",
    look="Is anything divided in the definition?",
)
mistake(
    {"    with": "    layer.eval()\n    with"},
    says="equivariance_gap calls `layer.eval()`, which a plain function does not have.",
    look="What is the only thing you may do with `layer`?",
)
mistake(
    {"    with": "    _train(layer, False)\n    with"},
    {"    return": "    _train(layer, True)\n    return"},
    says="equivariance_gap leaves the layer in one mode, whichever mode it was in before.",
    look="In which mode was the layer before, and who puts it back?",
)
mistake(
    {"    with": "    getattr(layer, 'requires_grad_', bool)(False)\n    with"},
    says="equivariance_gap freezes the parameters of the layer.",
    look="What in the layer may be different after the call?",
)


@alternative
def shuffled_back_and_compared(layer, x, perm):
    difference = layer(x) - layer(x[:, perm])[:, perm.argsort()]
    return float(difference.detach().abs().max())


alternative(
    {_GAP: "max(map(torch.dist, shuffled_after.flatten(), shuffled_before.flatten())).item()"},
)


@alternative
def numpy_in_float64(layer, x, perm):
    after = layer(x).detach().double().numpy()[:, perm.numpy()]
    before = layer(x[:, perm]).detach().double().numpy()
    return float(np.max(np.abs(after - before)))


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


error(
    "RuntimeError: a Tensor with 30 elements cannot be converted to Scalar",
    "Usually there is still a difference for each entry, (B, T, C): which one do you want?",
)
error(
    "RuntimeError: Can't call numpy() on Tensor that requires grad.",
    "Often a layer with parameters gave the result, which then remembers how it was computed.",
)
error(
    "TypeError: Got unsupported ScalarType BFloat16",
    "Usually a bfloat16 result goes to NumPy, which has no such dtype.",
)


mistake, alternative, error = entries("bag_vector")

_BAG = "layer(x).mean(dim=1)"

_WHICH_AXIS = "Which axis of (B, T, C) numbers the tokens?"

mistake(
    {"dim=1": "dim=-1"},
    says="bag_vector averages over the features instead of the tokens.",
    look=_WHICH_AXIS,
    common=True,
)
mistake(
    {"dim=1": "dim=0"},
    says="bag_vector averages over the sentences instead of the tokens.",
    look=_WHICH_AXIS,
    common=True,
)
mistake(
    {"dim=1": "dim=(1, 2)"},
    says="bag_vector averages over the features as well as the tokens.",
    look=_WHICH_AXIS,
)
mistake(
    {"dim=1": ""},
    says="bag_vector averages over all axes, which leaves one number.",
    look=_WHICH_AXIS,
)
mistake(
    {_BAG: "layer(x).sum(dim=1) / (layer(x) != 0).any(dim=-1).sum(dim=1, keepdim=True).clamp(1)"},
    {_BAG: "layer(x).sum(dim=1) / (x != 0).any(dim=-1).sum(dim=1, keepdim=True).clamp(1)"},
    says="bag_vector does not count tokens of zeros, as if they were padding.",
    look="By which number is the sum divided if one token of three is zero?",
)
mistake(
    {_BAG: "layer(x.mean(dim=1, keepdim=True)).squeeze(1)"},
    {_BAG: "layer(x.mean(dim=1))"},
    {_BAG: "layer(x.mean(dim=1, keepdim=True)).squeeze()"},
    {_BAG: "layer(x.mean(dim=1, keepdim=True))[:, 0]"},
    {_BAG: "layer(x.mean(dim=1, keepdim=True))"},
    says="bag_vector averages first and applies the layer to the average.",
    look="What does the layer get to see?",
    common=True,
)
mistake(
    {"mean": "sum"},
    says="bag_vector does not divide the sum by the number of tokens.",
    look="What is the mean of three equal vectors, and what is their sum?",
)
mistake(
    {"mean(dim=1)": "sum(dim=1) / x.shape[-1]"},
    {"mean(dim=1)": "sum(dim=1) / x.shape[0]"},
    {"mean(dim=1)": "sum(dim=1) / (x.shape[1] - 1)"},
    says="bag_vector divides the sum by a number that is not the number of tokens.",
    look="How many vectors do you add up? Does a token of zeros count?",
)
mistake(
    {"layer(x)": "x"},
    says="bag_vector averages the tokens and never calls the layer.",
    look="Where do you call `layer`?",
)
mistake(
    {"layer(x)": "layer(x)[:, 1:]"},
    {"layer(x)": "layer(x)[:, :-1]"},
    {"layer(x)": "F.pad(layer(x)[:, 1:], (0, 0, 1, 0))"},
    {"layer(x)": "F.pad(layer(x)[:, :-1], (0, 0, 0, 1))"},
    says="bag_vector omits the first or the last token from its sum.",
    look="Where does the sum begin, and where does it end?",
)
mistake(
    {"layer(x)": "toy_attention(x)"},
    says="bag_vector calls `toy_attention` instead of the layer that it is given.",
    look="Where do you call `layer`?",
)
mistake(
    {"layer(x)": "layer(layer(x))"},
    says="bag_vector applies the layer twice.",
    look="How often do you call `layer`?",
)
mistake(
    {"layer(x)": "(x + layer(x))"},
    says="bag_vector adds the tokens themselves to the layer's output.",
    look="Is there a residual connection in this exercise?",
)
mistake(
    {".mean(dim=1)": "[:, 0]"},
    {".mean(dim=1)": "[:, -1]"},
    says="bag_vector returns the vector of a single token instead of the mean.",
    look="Which tokens should count?",
)
mistake(
    {"mean(dim=1)": "amax(dim=1)"},
    says="bag_vector takes the largest value of each feature instead of the mean.",
    look="Which tokens should count?",
)
mistake(
    {"mean(dim=1)": "median(dim=1).values"},
    says="bag_vector takes the median of each feature instead of the mean.",
    look="Which tokens should count?",
)
mistake(
    {_BAG: "layer(x.detach()).mean(dim=1) + 0 * x.mean(dim=1)"},
    says="bag_vector detaches x or its result, so no gradient comes back.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` cut?",
)
mistake(
    {"    return": "    _train(layer, False)\n    return"},
    says="bag_vector switches the layer to evaluation mode and leaves it there.",
    look="In which mode is a layer with dropout after the call?",
)


@alternative
def sum_divided_by_the_length(layer, x):
    return layer(x).sum(1) / x.shape[1]


alternative(
    {_BAG: "torch.einsum('btc->bc', layer(x)) / x.size(1)"},
    {_BAG: "sum(layer(x).unbind(dim=1)) / x.shape[1]"},
    {_BAG: "torch.bmm(x.new_full((len(x), 1, x.shape[1]), 1 / x.shape[1]), layer(x)).squeeze(1)"},
    {_BAG: "F.adaptive_avg_pool1d(layer(x).transpose(1, 2), 1)[..., 0]"},
    {_BAG: "torch.stack([tokens.double().mean(dim=0) for tokens in layer(x)]).to(x.dtype)"},
)


error(
    "AttributeError: 'function' object has no attribute",
    "Often `layer` is treated as a module: it may be any function from (B, T, C) to (B, T, C).",
)
error(
    "IndexError: Dimension out of range",
    "Usually the axes are counted from 1: in (B, T, C) the axes are 0, 1 and 2.",
)
error(
    "RuntimeError: Can't call numpy() on Tensor that requires grad.",
    "Often a layer with parameters gave the result, and the gradient must flow back through it.",
)


mistake, alternative, error = entries("projected_attention")

_PROJECTED = "queries, keys, values = x @ w_q.T, x @ w_k.T, x @ w_v.T"

mistake(
    {_PROJECTED: "queries, keys, values = x @ w_q, x @ w_k, x @ w_v"},
    {"x @ w_q.T, x @ w_k.T": "x @ w_q, x @ w_k"},
    {"x @ w_q.T": "x @ w_q"},
    {"x @ w_k.T": "x @ w_k"},
    {"x @ w_v.T": "x @ w_v"},
    says="projected_attention multiplies by a weight without transposing it.",
    look="In `nn.Linear`, does a row of the weight make one output feature, or a column?",
    common=True,
)
mistake(
    {"queries, keys, values =": "keys, queries, values ="},
    says="projected_attention swaps queries and keys: the keys ask and the queries answer.",
    look="Row t of the scores belongs to token t: which of its projections is in that row?",
    common=True,
)
mistake(
    {"-1) @ values": "-1) @ x"},
    says="projected_attention averages the tokens themselves, not their values.",
    look="Where does w_v enter?",
    common=True,
)
mistake(
    {" / math.sqrt(x.shape[-1])": ""},
    says="projected_attention does not divide the scores by √C.",
    look="How does the size of a dot product grow with C?",
    common=True,
)
mistake(
    {" / math.sqrt(x.shape[-1])": "", "dim=-1)": "dim=-1) / math.sqrt(x.shape[-1])"},
    says="projected_attention divides by √C after the softmax, not before it.",
    look="Do the weights still sum to one?",
)
mistake(
    {"x @ w_v.T": "x @ w_k.T"},
    says="projected_attention averages the keys instead of the values.",
    look="Which of the three projections is averaged, and which matrix makes it?",
)
mistake(
    {"-1) @ values": "-1) @ queries"},
    says="projected_attention averages the queries instead of the values.",
    look="Which of the three projections is averaged, and which matrix makes it?",
)
mistake(
    {"x.shape[-1]": "x.shape[1]"},
    {"x.shape[-1]": "x.shape[0]"},
    {"math.sqrt(x.shape[-1])": "x.shape[-1]"},
    {"/ math": "* math"},
    *({"x.shape[-1]": width} for width in _WIDTHS),
    says="projected_attention divides the scores by something other than √C.",
    look="Which axis does the dot product of query and key run over?",
)
mistake(
    {"queries @ keys.transpose(-2, -1)": "queries @ queries.transpose(-2, -1)"},
    says="projected_attention compares queries with queries, so no key answers.",
    look="Which two projections meet in a score?",
)
mistake(
    {"queries @ keys.transpose(-2, -1)": "keys @ keys.transpose(-2, -1)"},
    says="projected_attention compares keys with keys, so no query asks.",
    look="Which two projections meet in a score?",
)
mistake(
    {"queries @ keys.transpose(-2, -1)": "x @ x.transpose(-2, -1)"},
    says="projected_attention compares the tokens themselves, without queries and keys.",
    look="Where do w_q and w_k enter?",
)
mistake(
    {"x @ w_q.T": "x"},
    says="projected_attention takes the tokens themselves as queries and never uses w_q.",
    look="Which of the three weights does your code never use?",
)
mistake(
    {"x @ w_k.T": "x"},
    says="projected_attention takes the tokens themselves as keys and never uses w_k.",
    look="Which of the three weights does your code never use?",
)
mistake(
    {"scores.softmax": "scores.masked_fill(_later(x), -math.inf).softmax"},
    says="projected_attention masks the later tokens.",
    look="Which attention of this lesson has a mask?",
)
mistake(
    {"scores.softmax(dim=-1)": "_normed(scores.exp())"},
    says="projected_attention computes the softmax with a plain `exp`, which overflows.",
    look="What is `exp(900)` in float32, and what is infinity divided by infinity?",
)
mistake(
    {"return ": "return x + "},
    says="projected_attention adds x to its result.",
    look="Is there a residual connection in this exercise?",
)
mistake(
    {"-1) @ values": "-1)"},
    says="projected_attention returns its weights, (B, T, T), and averages nothing.",
    look="What should you do with the weights after the softmax?",
)
mistake(
    {"dim=-1)": "dim=-1).detach()"},
    {"x @ w_q.T, x @ w_k.T": "x @ w_q.T.detach(), x @ w_k.T.detach()"},
    says="projected_attention detaches a weight or x, so no gradient reaches it.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` cut?",
)
mistake(
    {_PROJECTED: "x.copy_(x @ w_v.T)\n    queries, keys, values = x @ w_q.T, x @ w_k.T, x"},
    {_PROJECTED: f"w_q.copy_(w_q.T.clone())\n    {_PROJECTED.replace('w_q.T', 'w_q')}"},
    says="projected_attention writes into its arguments.",
    look="Does x still hold the tokens after your function has run?",
)


@alternative
def linear_and_scaled_dot_product(x, w_q, w_k, w_v):
    queries, keys, values = (F.linear(x, weight) for weight in (w_q, w_k, w_v))
    return F.scaled_dot_product_attention(queries, keys, values)


alternative(
    {
        _PROJECTED: "weights = torch.stack((w_q, w_k, w_v))\n"
        "    queries, keys, values = torch.einsum('btc,ndc->nbtd', x, weights)"
    },
    {_PROJECTED: "queries, keys, values = (x @ torch.cat((w_q, w_k, w_v)).T).chunk(3, dim=-1)"},
    {
        "scores = queries @ keys.transpose(-2, -1) / math.sqrt(x.shape[-1])": "scores = "
        "torch.baddbmm(x.new_zeros(()), queries, keys.mT, alpha=x.shape[-1] ** -0.5)"
    },
    {"queries @ keys.transpose(-2, -1)": "x @ (w_q.T @ w_k) @ x.transpose(-2, -1)"},
    {"scores.softmax(dim=-1) @ values": "scores.softmax(dim=-1) @ x @ w_v.T"},
)


@alternative
def one_head_of_multi_head_attention(x, w_q, w_k, w_v):
    q, k, v = (F.linear(x, w).unflatten(-1, (1, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / x.shape[-1] ** 0.5
    return (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2)


error(
    "RuntimeError: t() expects a tensor with <= 2 dimensions, but self is 3D",
    "Usually `.t()` is called on the keys, which are a batch of matrices, (B, T, C).",
)
error(
    "TypeError: Linear.__init__() missing 1 required positional argument: 'out_features'",
    "Usually `nn.Linear` is called with a weight: it creates its own; `F.linear` takes yours.",
)


mistake, alternative, error = entries("causal_toy_attention")

_MASKED = "scores.masked_fill(later, -math.inf)"
_MASKED_SHARES = f"{_MASKED}.softmax(dim=-1)"

mistake(
    {"diagonal=1": "diagonal=0"},
    says="causal_toy_attention hides the token itself, too, so the first token sees nothing.",
    look="Where does the mask begin, on the diagonal or above it?",
    common=True,
)
mistake(
    {_MASKED_SHARES: "scores.softmax(dim=-1).masked_fill(later, 0.0)"},
    {_MASKED_SHARES: "scores.softmax(dim=-1).masked_fill(later, -math.inf)"},
    says="causal_toy_attention masks after the softmax, so the weights do not sum to one.",
    look="What do the weights of the first token sum to?",
    common=True,
)
mistake(
    {"-math.inf": "0.0"},
    says="causal_toy_attention sets masked scores to 0, which is a score like any other.",
    look="Which score gets the weight 0 from a softmax?",
    common=True,
)
mistake(
    {_MASKED: "(scores - later.to(x.dtype) * math.inf)"},
    says="causal_toy_attention multiplies a mask by infinity, and 0 times infinity is nan.",
    look="What is below the diagonal of your mask?",
    common=True,
)
mistake(
    {"triu(diagonal=1)": "tril(diagonal=-1)"},
    says="causal_toy_attention hides the earlier tokens instead of the later ones.",
    look="In the scores (query, key), on which side of the diagonal are the later keys?",
)
mistake(
    {"triu(diagonal=1)": "tril()"},
    says="causal_toy_attention hides each token and all before it, so the last one sees nothing.",
    look="Where is the mask true: at the keys to be hidden, or at those to be kept?",
)
mistake(
    {"diagonal=1": "diagonal=2"},
    says="causal_toy_attention lets each token see the next one.",
    look="Where does the mask begin, one above the diagonal or two?",
)
mistake(
    {_MASKED_SHARES: "_normed((scores - scores.amax(dim=-1, keepdim=True)).exp().tril())"},
    says="causal_toy_attention loses a row's whole weight where a hidden token scores far higher.",
    look="Which scores does softmax see, and when do you remove the hidden ones?",
)
mistake(
    {"-math.inf": "-30.0"},
    {_MASKED: "(scores - 100 * later.to(x.dtype))"},
    {_MASKED: "(scores - 1000 * later.to(x.dtype))"},
    says="causal_toy_attention gives later tokens a score that is too high for a weight of 0.",
    look="What is left of a score of 1000 after the mask, and what would be safe for any score?",
)
mistake(
    {_MASKED_SHARES: f"_normed({_MASKED}.exp())"},
    says="causal_toy_attention computes the softmax with a plain `exp`, which overflows.",
    look="What is exp(900) in float32, and what is infinity divided by infinity?",
)
mistake(
    {"scores.masked_fill": "torch.zeros_like(scores).masked_fill"},
    says="causal_toy_attention gives all tokens that it sees the same weight.",
    look="Where do the scores enter?",
)
mistake(
    {"dim=-1": "dim=-2"},
    {"dim=-1)": "dim=-1).mT"},
    says="causal_toy_attention takes the softmax over the queries instead of the keys.",
    look="Which weights must sum to one, those in a row or those in a column?",
)
mistake(
    {" / math.sqrt(n_embd)": "", "dim=-1)": "dim=-1) / math.sqrt(n_embd)"},
    says="causal_toy_attention divides by √C after the softmax, not before it.",
    look="Do the weights still sum to one?",
)
mistake(
    {" / math.sqrt(n_embd)": ""},
    says="causal_toy_attention does not divide the scores by √C.",
    look="How does the size of a dot product grow with C?",
)
mistake(
    {"math.sqrt(n_embd)": "math.sqrt(seq_len)"},
    {"math.sqrt(n_embd)": "n_embd"},
    {"/ math": "* math"},
    *({"math.sqrt(n_embd)": f"math.sqrt({width})"} for width in _WIDTHS),
    says="causal_toy_attention divides the scores by something other than √C.",
    look="Which axis of x does the dot product run over, and how does it grow with its length?",
)
mistake(
    {".transpose(-2, -1)": ""},
    says="causal_toy_attention multiplies x by x without a transpose: (T, C) times (T, C).",
    look="Which two shapes give scores of shape (T, T)?",
)
mistake(
    {"seq_len, n_embd = ": "n_embd, seq_len = "},
    {"x.shape[-2:]": "x.shape[:2]"},
    {"ones(seq_len, seq_len,": "ones(n_embd, n_embd,"},
    says="causal_toy_attention takes T or C from the wrong axis of x.",
    look="Which two numbers does `x.shape` end with?",
)
mistake(
    {"later, -math.inf": "later | later.T.tril(-2), -math.inf"},
    says="causal_toy_attention sees only the token before and itself.",
    look="How far back does token t see?",
)
mistake(
    {"diagonal=1": "diagonal=0", "dim=-1)": "dim=-1).nan_to_num()"},
    says="causal_toy_attention hides the token itself, too, and turns the nan into zeros.",
    look="Why does the first token see nothing, and what should it see?",
)
mistake(
    {_MASKED: "(scores + torch.zeros(later.shape).to(x.device).masked_fill(later, -math.inf))"},
    {
        _MASKED: "(scores + torch.zeros(later.shape).to(x.device).masked_fill(later, -math.inf))",
        ") @ x": ") @ x.to(torch.promote_types(x.dtype, torch.float32))",
    },
    says="causal_toy_attention makes its mask as float32, which turns bfloat16 into float32.",
    look="Which dtype does a sum of bfloat16 and float32 have?",
)
mistake(
    {"dim=-1)": "dim=-1).detach()"},
    says="causal_toy_attention detaches x somewhere, so its gradient is incomplete.",
    look="How many times does x appear in the formula?",
)
mistake(
    {"scores.masked_fill(later": "scores.tril().masked_fill(scores.tril() == 0"},
    says="causal_toy_attention masks every score that is 0, even one that a token should see.",
    look="What does the mask depend on: the positions of the tokens or their scores?",
)
mistake(
    {"ones(seq_len, seq_len,": "ones(256, 256,", "diagonal=1)": "diagonal=1)[:seq_len, :seq_len]"},
    {"ones(seq_len, seq_len,": "ones(128, 128,", "diagonal=1)": "diagonal=1)[:seq_len, :seq_len]"},
    says="causal_toy_attention has a mask of fixed length, which does not fit other sentences.",
    look="Where does the length of the mask come from?",
)


mistake(
    {
        "scores = x @": "x = torch.ones(seq_len, seq_len).tril().to(x) @ x\n    scores = x @",
        "scores.masked_fill(later, -math.inf)": "scores",
    },
    says="causal_toy_attention masks its tokens, summing earlier ones, instead of its scores.",
    look="Which numbers say how much token t takes from token s: those in x or the scores?",
)
mistake(
    {
        "return scores.masked_fill(later, -math.inf)": "return torch.ones(seq_len, seq_len).tril()"
        ".to(x) @ scores"
    },
    says="causal_toy_attention applies its mask to the result, not to the scores.",
    look="What is mixed into a token's result before your mask comes?",
)


_first_mask = []


@mistake(
    says="causal_toy_attention keeps the mask of its first call for sentences of other lengths.",
    look="What does your mask depend on, and when is it made?",
    forget=_first_mask.clear,
)
def mask_of_the_first_call(x):
    if not _first_mask:
        _first_mask.append(_later(x))
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    return scores.masked_fill(_first_mask[0], -math.inf).softmax(dim=-1) @ x


@alternative
def flag_of_scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


alternative(
    {_MASKED: "torch.where(later, torch.finfo(x.dtype).min, scores)"},
    {_MASKED: "(scores + torch.full_like(later, -math.inf, dtype=x.dtype).triu(1))"},
    {_MASKED: "(scores - 1e9 * later.to(x.dtype))"},
    {
        f"return {_MASKED_SHARES} @ x": "scores = scores.masked_fill(later, -math.inf).double()\n"
        "    weights = (scores - scores.amax(dim=-1, keepdim=True)).exp()\n"
        "    return (_normed(weights) @ x.double()).to(x.dtype)"
    },
)


@alternative
def prefix_by_prefix(x):
    rows = []
    for t in range(1, x.shape[1] + 1):
        seen = x[:, :t]
        scores = torch.einsum("bc,bkc->bk", x[:, t - 1], seen) / math.sqrt(x.shape[-1])
        rows.append(torch.einsum("bk,bkc->bc", scores.softmax(dim=-1), seen))
    return torch.stack(rows, dim=1)


error(
    "RuntimeError: masked_fill_ only supports boolean masks, but got mask with dtype float",
    "Usually the mask comes from `torch.ones(...)`, whose numbers are floats.",
)
error(
    "RuntimeError: masked_fill_ only supports a 0-dimensional value tensor",
    "Often a whole tensor (T, T) is passed where one number is filled in.",
)
error(
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (2)",
    "Usually the mask is not (T, T), where the scores are (B, T, T).",
)
error(
    "ValueError: too many values to unpack (expected 2)",
    "Usually a shape of three numbers, (B, T, C), is unpacked into two names.",
)
error(
    "TypeError: sqrt(): argument 'input' (position 1) must be Tensor, not int",
    "Usually you used `torch.sqrt` on a size: a size is a Python number, not a tensor.",
)
