"""Lesson 2: known mistakes and legitimate alternatives."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from course.mistakes import entries, inherit


def _normed(weights):
    return weights / weights.sum(dim=-1, keepdim=True)


def _later(scores):
    """True where the key comes after the query."""
    return torch.ones(scores.shape[-2:]).triu(diagonal=1) == 1


# --- attention: what goes wrong in all three ------------------------------------------------

mistake, alternative, error = entries("toy_attention")

_SHARES = "scores.softmax(dim=-1)"
_FOURTH_ROOT = "x.shape[-1] ** 0.25"

mistake(
    {"dim=-1": "dim=1"},
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
    {_SHARES: "_normed((scores - scores.amax(dim=(1, 2), keepdim=True)).exp())"},
    says="toy_attention subtracts one maximum from many rows, which leaves some rows all zero.",
    look="For which row is a score the largest, if there are many rows?",
)
mistake(
    {"x.shape[-1]": "x.shape[1]"},
    {"x.shape[-1]": "x.shape[0]"},
    {"math.sqrt(x.shape[-1])": "x.shape[1]"},
    {"math.sqrt(x.shape[-1])": "x.shape[0]"},
    *({"x.shape[-1]": str(width)} for width in (2, 3, 4, 8, 16, 32, 64, 128, 512)),
    says="toy_attention divides the scores by a number that is neither √C nor C.",
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
    {"dim=-1)": "dim=-1).detach()"},
    says="toy_attention cuts the gradient that should flow through its weights.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` cut?",
)
mistake(
    {"return ": "return x + "},
    says="toy_attention adds x to its result.",
    look="Is there a residual connection in this exercise?",
)
mistake(
    *(
        {
            "    scores = x @ x.": "    key = torch.arange(x.shape[1])\n"
            "    query = key[:, None]\n    scores = x @ x.",
            "scores.softmax": f"scores.masked_fill({is_hidden}, -math.inf).softmax",
        }
        for is_hidden in (
            *(f"(query - key).abs() >= {window}" for window in (8, 2, 3, 4)),
            *(f"(query - key >= {window}) & (key >= 1)" for window in (2, 3)),
            *(f"query // {size} != key // {size}" for size in (2, 4)),
            *(f"(query - key) % {stride} != 0" for stride in (2, 4)),
        )
    ),
    says="toy_attention gives no weight at all to some tokens that it should see.",
    look="Take a long text: which tokens does the last one average? Does it matter where they are?",
)

mistake(
    {"scores.softmax": "scores.clamp(-50, 50).softmax"},
    says="toy_attention clips large scores, so they become equal.",
    look="If two tokens have the scores 600 and 900, which should win?",
)

inherit("permutation", "toy_attention", "causal_toy_attention", {})

# what causal_toy_attention should do, or does otherwise

mistake(
    {"scores.softmax": "scores.masked_fill(_later(scores), -math.inf).softmax"},
    says="toy_attention masks the later tokens.",
    look="Which of the two attentions of this lesson has a mask?",
)
mistake(
    {"scores.softmax": "scores.masked_fill(torch.eye(x.shape[1]) == 1, -math.inf).softmax"},
    says="toy_attention keeps each token from attending to itself.",
    look="Is the diagonal of the scores left out anywhere in the formula?",
)
mistake(
    {"-1) @ x": "-1)"},
    says="toy_attention returns its weights, (B, T, T), and averages nothing.",
    look="What should you do with the weights after the softmax?",
)

inherit(
    *("permutation", "toy_attention", "projected_attention"),
    {"x @ x.": "queries @ keys.", ") @ x": ") @ values"},
)


# --- toy_attention --------------------------------------------------------------------------

mistake(
    {_SHARES: "_normed(scores)"},
    {_SHARES: "scores.sigmoid()"},
    {"softmax": "log_softmax"},
    {_SHARES: "(scores.exp() / scores.exp().sum(dim=-2))"},
    {_SHARES: "F.one_hot(scores.argmax(dim=-1), x.shape[1]).to(x.dtype)"},
    {_SHARES: "torch.full_like(scores, 1 / x.shape[1])"},
    says="toy_attention weights the tokens by something other than a softmax of the scores.",
    look="What turns scores into positive weights that sum to one?",
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
    {"transpose(-2, -1)": "reshape(len(x), x.shape[2], -1)"},
    says="toy_attention reshapes x to (B, C, T), which puts its numbers in another order.",
    look="Which token does column j of your reshaped x hold, and which one should it?",
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
    {_SHARES: "_normed((scores - scores.amax(dim=-1, keepdim=True)).exp())"},
    {_SHARES: "scores.log_softmax(dim=1).exp().mT"},
)


@alternative
def query_by_query(x):
    rows = []
    for t in range(x.shape[1]):
        scores = (x[:, t : t + 1] * x).sum(dim=-1) / x.shape[-1] ** 0.5
        rows.append((scores.softmax(dim=-1)[..., None] * x).sum(dim=1))
    return torch.stack(rows, dim=1)


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


# --- inverse_permutation --------------------------------------------------------------------

mistake, alternative, error = entries("inverse_permutation")


def _written(inverse, perm, places):
    """Write some of the places into an inverse, one after the other."""
    for place in places:
        inverse[perm[place]] = place
    return inverse


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
    {"perm.argsort()": "_written(torch.zeros_like(perm), perm, range(len(perm) - 1))"},
    {"perm.argsort()": "_written(torch.arange(len(perm)), perm, range(len(perm) - 1))"},
    {"perm.argsort()": "_written(torch.arange(len(perm)), perm, range(1, len(perm)))"},
    says="inverse_permutation never writes down where the first or the last entry is.",
    look="Where does your loop begin, and where does it end?",
)
mistake(
    {"argsort()": "to(torch.uint8).argsort()"},
    {"argsort()": "to(torch.int8).argsort()"},
    says="inverse_permutation is right for short permutations only.",
    look="Try your function on a random permutation of 300, and look for the first wrong entry.",
)


@alternative
def by_writing_each_place(perm):
    if sorted(perm.tolist()) != list(range(len(perm))):
        raise ValueError(f"perm must hold each of 0..{len(perm) - 1} exactly once")
    inverse = torch.empty_like(perm)
    inverse[perm] = torch.arange(len(perm))
    return inverse


alternative(
    {"perm.argsort()": "_written(torch.zeros_like(perm), perm, range(1, len(perm)))"},
    {"perm.argsort()": "torch.tensor([perm.tolist().index(i) for i in range(len(perm))])"},
    {"perm.argsort()": "(perm == torch.arange(len(perm))[:, None]).int().argmax(dim=1)"},
)


error(
    "RuntimeError: Index put requires the source and destination dtypes match",
    "Usually the positions are written into `torch.zeros(T)`, which is float32, not int64.",
)
error(
    "RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype",
    "Usually the positions are scattered into `torch.zeros(T)`, which is float32, not int64.",
)
# --- equivariance_gap -----------------------------------------------------------------------

mistake, alternative, error = entries("equivariance_gap")

_DIFFERENCE = "layer(x)[:, perm] - layer(x[:, perm])"
_GAP = "difference.abs().max()"

mistake(
    {"difference.abs()": "difference"},
    {"difference.abs()": "(-difference)"},
    says="equivariance_gap takes the largest difference with its sign, so one sign is lost.",
    look="What happens to an entry that is too small, and to one that is too large?",
    common=True,
)
mistake(
    {"layer(x)[:, perm]": "layer(x)"},
    says="equivariance_gap does not shuffle the result for the unshuffled tokens.",
    look="Where is the token from position 0 in each of the two results?",
    common=True,
)
mistake(
    {_DIFFERENCE: "layer(x)[perm] - layer(x[perm])"},
    says="equivariance_gap shuffles the sentences instead of the tokens.",
    look="Which axis of (B, T, C) numbers the tokens?",
    common=True,
)
mistake(
    {_DIFFERENCE: "layer(x)[..., perm] - layer(x[..., perm])"},
    says="equivariance_gap shuffles the features instead of the tokens.",
    look="Which axis of (B, T, C) numbers the tokens?",
)
mistake(
    {_DIFFERENCE: "layer(x) - layer(x[:, perm])[:, perm]"},
    {"layer(x[:, perm])": "layer(x[:, perm.argsort()])"},
    {"layer(x[:, perm])": "layer(x)"},
    says="equivariance_gap compares two results with tokens in different orders.",
    look="How often, and by which permutation, are the tokens of each result shuffled?",
)
mistake(
    {_DIFFERENCE: "toy_attention(x)[:, perm] - toy_attention(x[:, perm])"},
    {_DIFFERENCE: "x[:, perm] - x[:, perm]"},
    says="equivariance_gap gives 0, whatever `layer` is.",
    look="Where do you call `layer`, and which order of tokens does it see each time?",
)
mistake(
    {_DIFFERENCE: "layer(x)[:, perm.argsort()] - layer(x[:, perm.argsort()])"},
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
    {".abs().max()": ".norm()"},
    {".abs().max()": ".square().mean().sqrt()"},
    {"abs()": "square()"},
    {"abs()": "mean(dim=-1).abs()"},
    {"abs()": "sum(dim=-1).abs()"},
    says="equivariance_gap summarizes the differences in another way than by the largest one.",
    look="Which difference does the exercise ask for, if one entry is off, or many?",
)
mistake(
    {_DIFFERENCE: "layer(x).abs().max() - layer(x[:, perm]).abs().max()"},
    {_DIFFERENCE: "layer(x).sort(dim=1).values - layer(x[:, perm]).sort(dim=1).values"},
    says="equivariance_gap compares the results as a whole, not token with token.",
    look="Can two different tensors have the same maximum, or the same sorted entries?",
)
mistake(
    {f"{_GAP}.item()": "float(not torch.allclose(difference, torch.zeros(())))"},
    {f"{_GAP}.item()": "torch.allclose(difference, torch.zeros(()))"},
    {f"{_GAP}.item()": "not torch.allclose(difference, torch.zeros(()))"},
    says="equivariance_gap says whether there is a gap, not how large it is.",
    look="How large is the gap of a running sum?",
)
mistake(
    {"difference.abs()": "difference[0].abs()"},
    {"difference.abs()": "difference[-1].abs()"},
    {"difference.abs()": "difference[:, -1].abs()"},
    {"difference.abs()": "difference[:, 0].abs()"},
    {"difference.abs()": "difference[..., 0].abs()"},
    {"difference.abs()": "difference[:, :8].abs()"},
    {"difference.abs()": "difference[..., :8].abs()"},
    says="equivariance_gap looks at only a part of the differences.",
    look="In how many sentences, tokens and features may the results differ?",
)
mistake(
    {"    difference =": "    layer.eval()\n    difference ="},
    says="equivariance_gap calls `layer.eval()`, which a plain function does not have.",
    look="What is the only thing you may do with `layer`?",
)
mistake(
    {
        "    difference =": "    if isinstance(layer, nn.Module):\n"
        "        layer.eval()\n    difference ="
    },
    {"    return": "    if isinstance(layer, nn.Module):\n        layer.train()\n    return"},
    says="equivariance_gap leaves the layer in one mode, whichever mode it was in before.",
    look="In which mode was the layer before, and who puts it back?",
)


@alternative
def shuffled_back_and_compared(layer, x, perm):
    difference = layer(x) - layer(x[:, perm])[:, perm.argsort()]
    return float(difference.detach().abs().max())


alternative(
    {".item()": ""},
    {f"{_GAP}.item()": "np.abs(difference.detach().numpy()).max()"},
    {f"{_GAP}.item()": "max(difference.max().item(), (-difference).max().item())"},
)


@alternative
def evaluation_mode_for_a_while(layer, x, perm):
    was_training = getattr(layer, "training", None)
    if was_training:
        layer.eval()
    with torch.no_grad():
        gap = torch.dist(layer(x).index_select(1, perm), layer(x[:, perm]), p=math.inf)
    if was_training:
        layer.train()
    return gap


error(
    "RuntimeError: a Tensor with 30 elements cannot be converted to Scalar",
    "Usually there is still a difference for each entry, (B, T, C): which one do you want?",
)
error(
    "RuntimeError: Can't call numpy() on Tensor that requires grad.",
    "Often a layer with parameters gave the result, which then remembers how it was computed.",
)


# --- bag_vector -----------------------------------------------------------------------------

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
    {_BAG: "layer(x).sum(dim=1) / (layer(x) != 0).any(dim=-1).sum(dim=1, keepdim=True).clamp(1)"},
    {_BAG: "layer(x).sum(dim=1) / (x != 0).any(dim=-1).sum(dim=1, keepdim=True).clamp(1)"},
    says="bag_vector does not count tokens of zeros, as if they were padding.",
    look="By which number is the sum divided if one token of three is zero?",
)
mistake(
    {_BAG: "layer(x.mean(dim=1, keepdim=True)).squeeze(1)"},
    {_BAG: "layer(x.mean(dim=1))"},
    {_BAG: "layer(x.mean(dim=1, keepdim=True)).squeeze()"},
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
    *({"layer(x)": f"layer(x)[:, :{most}]"} for most in (8, 16, 32, 64, 100, 128, 256)),
    *({"layer(x)": f"layer(x[:, :{most}])"} for most in (8, 16, 32, 64, 100, 128, 256)),
    says="bag_vector is right for a few tokens, but of many it averages only the first ones.",
    look="Is there a number in your code that limits how long a sentence may be?",
)
mistake(
    {"layer(x)": "toy_attention(x)"},
    says="bag_vector calls `toy_attention` instead of the layer that it is given.",
    look="Where do you call `layer`?",
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
    look="Which tokens should count, and how much each?",
)
mistake(
    {"    return": "    if isinstance(layer, nn.Module):\n        layer.eval()\n    return"},
    says="bag_vector switches the layer to evaluation mode and leaves it there.",
    look="In which mode is a layer with dropout after the call?",
)


@alternative
def sum_divided_by_the_length(layer, x):
    return layer(x).sum(1) / x.shape[1]


@alternative
def masked_mean_with_a_mask_of_ones(layer, x):
    vectors = layer(x)
    mask = torch.ones(vectors.shape[:2])[..., None]
    return (vectors * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1e-9)


alternative(
    {_BAG: "torch.einsum('btc->bc', layer(x)) / x.size(1)"},
    {_BAG: "sum(layer(x).unbind(dim=1)) / x.shape[1]"},
    {_BAG: "F.adaptive_avg_pool1d(layer(x).transpose(1, 2), 1)[..., 0]"},
    {_BAG: "torch.stack([layer(tokens[None])[0].mean(dim=0) for tokens in x])"},
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


# --- projected_attention: what is not in every attention ------------------------------------

mistake, alternative, error = entries("projected_attention")

_PROJECTED = "queries, keys, values = x @ w_q.T, x @ w_k.T, x @ w_v.T"
_SCORES = "queries @ keys.transpose(-2, -1)"

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
    {"x @ w_q.T, x @ w_k.T": "x @ w_q.T.detach(), x @ w_k.T.detach()"},
    {"x @ w_q.T": "x @ w_q.T.detach()"},
    {"x @ w_k.T": "x @ w_k.T.detach()"},
    {"x @ w_v.T": "x @ w_v.T.detach()"},
    says="projected_attention detaches a weight, so no gradient reaches it.",
    look="What do `.detach()`, `.data` and `torch.no_grad()` cut?",
)


mistake(
    {"x @ w_v.T": "x @ w_k.T"},
    {"-1) @ values": "-1) @ queries"},
    says="projected_attention averages the keys or the queries instead of the values.",
    look="Which of the three projections is averaged, and which matrix makes it?",
)
mistake(
    {_SCORES: "queries @ queries.transpose(-2, -1)"},
    {_SCORES: "keys @ keys.transpose(-2, -1)"},
    says="projected_attention compares queries with queries, or keys with keys.",
    look="Which two projections meet in a score?",
)
mistake(
    {_SCORES: "x @ x.transpose(-2, -1)"},
    {"x @ w_q.T": "x"},
    {"x @ w_k.T": "x"},
    says="projected_attention never uses w_q, w_k or both: it compares the tokens themselves.",
    look="Which of the three weights does your code never use?",
)


@alternative
def linear_and_scaled_dot_product(x, w_q, w_k, w_v):
    queries, keys, values = (F.linear(x, weight) for weight in (w_q, w_k, w_v))
    return F.scaled_dot_product_attention(queries, keys, values)


alternative(
    {_PROJECTED: "queries, keys, values = (x @ torch.cat((w_q, w_k, w_v)).T).chunk(3, dim=-1)"},
    {_SCORES: "x @ (w_q.T @ w_k) @ x.transpose(-2, -1)"},
    {"scores.softmax(dim=-1) @ values": "scores.softmax(dim=-1) @ x @ w_v.T"},
)


error(
    "RuntimeError: t() expects a tensor with <= 2 dimensions, but self is 3D",
    "Usually `.t()` is called on the keys, which are a batch of matrices, (B, T, C).",
)
error(
    "TypeError: Linear.__init__() missing 1 required positional argument: 'out_features'",
    "Usually `nn.Linear` is called with a weight: it creates its own; `F.linear` takes yours.",
)


# --- causal_toy_attention: the mask ---------------------------------------------------------

mistake, alternative, error = entries("causal_toy_attention")

_FILL = "    scores = scores.masked_fill(later, -math.inf)\n"
_FILLED = "scores.masked_fill(later, -math.inf)"
_WEIGHTS = f"{_FILL}    return {_SHARES}"

mistake(
    {"diagonal=1": "diagonal=0"},
    says="causal_toy_attention hides the token itself, too, so the first token sees nothing.",
    look="Where does the mask begin, on the diagonal or above it?",
    common=True,
)
mistake(
    {_WEIGHTS: "    return scores.softmax(dim=-1).masked_fill(later, 0.0)"},
    {_WEIGHTS: "    return scores.softmax(dim=-1).masked_fill(later, -math.inf)"},
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
    {_FILLED: "scores - later.float() * math.inf"},
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
    {_FILL: ""},
    {_FILLED: "scores"},
    says="causal_toy_attention hides nothing: each token sees the later ones, too.",
    look="What is done with your mask once you have made it? (`masked_fill` returns a new tensor.)",
)
mistake(
    {_WEIGHTS: f"    return _normed({_SHARES}.masked_fill(later, 0.0))"},
    {_WEIGHTS: f"    return F.normalize({_SHARES}.masked_fill(later, 0.0), p=1, dim=-1)"},
    {
        _WEIGHTS: "    weights = scores.softmax(dim=-1).tril()\n"
        "    return weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)"
    },
    says="causal_toy_attention masks after the softmax, so a loud later token leaves nothing.",
    look="Which scores does softmax see, and when do you remove the hidden ones?",
)
mistake(
    {_FILLED: "scores - 100 * later.float()"},
    {_FILLED: "scores - 500 * later.float()"},
    says="causal_toy_attention subtracts too little from the scores of later tokens.",
    look="What is left of a score of 1000 after the mask, and what would be safe for any score?",
)
mistake(
    {".transpose(-2, -1)": ""},
    says="causal_toy_attention multiplies x by x without a transpose: (T, C) times (T, C).",
    look="Which two shapes give scores of shape (T, T)?",
)
mistake(
    {"seq_len = x.shape[1]": "seq_len = x.shape[0]"},
    {"seq_len = x.shape[1]": "seq_len = x.shape[2]"},
    says="causal_toy_attention takes T from the wrong axis of x.",
    look="What does each number in `x.shape` count?",
)
mistake(
    {"diagonal=1": "diagonal=0", "dim=-1)": "dim=-1).nan_to_num()"},
    says="causal_toy_attention hides the token itself, too, and turns the nan into zeros.",
    look="Why does the first token see nothing, and what should it see?",
)
mistake(
    {_FILLED: "scores.tril().masked_fill(scores.tril() == 0, -math.inf)"},
    says="causal_toy_attention masks every score that is 0, even one that a token should see.",
    look="What does the mask depend on: the positions of the tokens or their scores?",
)
mistake(
    *(
        {
            "ones(seq_len, seq_len)": f"ones({most}, {most})",
            "(later,": "(later[:seq_len, :seq_len],",
        }
        for most in (8, 16, 32, 64, 100, 128, 256, 500, 512)
    ),
    says="causal_toy_attention has a mask of fixed length, which does not fit other sentences.",
    look="Where does the length of the mask come from?",
)
mistake(
    {
        "scores = x @": "x = torch.ones(seq_len, seq_len).tril() @ x\n    scores = x @",
        _FILL: "",
    },
    says="causal_toy_attention masks its tokens, summing earlier ones, instead of its scores.",
    look="Which numbers say how much token t takes from token s: those in x or the scores?",
)
mistake(
    {_FILL: "", "return ": "return torch.ones(seq_len, seq_len).tril() @ "},
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
    scores = x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])
    if not _first_mask:
        _first_mask.append(_later(scores))
    return scores.masked_fill(_first_mask[0], -math.inf).softmax(dim=-1) @ x


@alternative
def flag_of_scaled_dot_product_attention(x):
    return F.scaled_dot_product_attention(x, x, x, is_causal=True)


alternative(
    {"-math.inf": "-1e9"},
    {"triu(diagonal=1) == 1": "tril() == 0"},
    {"triu(diagonal=1) == 1": "triu(diagonal=1).bool()"},
    {_FILLED: "torch.where(later, torch.finfo(x.dtype).min, scores)"},
    {_FILLED: "scores + torch.log(torch.ones(seq_len, seq_len).tril())"},
    {_FILLED: "scores - 1e4 * later.float()"},
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
