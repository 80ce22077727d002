# %% [markdown]
# # 5. Rotate queries and keys
#
# **Can a token know where it is if nothing is added to it?** RoPE says yes: rotate the query,
# rotate the key, and let the dot product do the rest. Most open models do this, and when
# something goes wrong, it goes wrong silently: no error, no warning, just worse text. So it pays
# to have seen each mistake once. Here you make them all on purpose.
#
# Write your guess into its cell before you run the next one. A wrong guess is worth more than a
# right one.

# %%
import math

import torch

from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

rope, sinusoidal = exercises("rope"), exercises("sinusoidal")

D = 64  # the width of the head
words = ["the", "cat", "sat", "on", "the", "mat", "."]
_ = torch.manual_seed(0)
rows = {word: torch.randn(D) for word in dict.fromkeys(words)}
x = torch.stack([rows[word] for word in words])  # (7, D); both "the" are the same row
w_q, w_k = torch.randn(2, D, D) / math.sqrt(D)  # used as x @ w_q


def score(queries, keys):
    return queries @ keys.T / math.sqrt(D)


# %% [markdown]
# ## What rotates, and how far

# %% [markdown] tags=["prediction"]
# A vector of width 8 has four pairs. From one position to the next, they rotate by 1, 0.1, 0.01
# and 0.001 radians. At position 710 the first pair has rotated by 710 radians, which is 113 full
# turns.
#
# How far from its starting point does it end up, and could a model mistake position 710 for
# position 0?

# %% tags=["guess"]
guess = Guess(radians_of_pair_0=..., same_as_position_0=...)

# %%
vector = torch.randn(8)
rotated = rope.RotaryEmbedding(1024, 8)(vector.expand(1024, 8))  # one vector at 1,024 positions
figures.turned_pairs(vector, rotated[[1, 3, 710]], [1, 3, 710])

# %% tags=["guess"]
guess.compare(
    radians_of_pair_0=((rotated[710] - vector)[[0, 4]].norm() / vector[[0, 4]].norm()).item(),
    same_as_position_0=torch.allclose(rotated[710], vector, atol=0.01),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Pair 0 is back where it began, to within 0.00006 radians: 710 is almost exactly $113 \cdot 2\pi$
# (this is the old fraction 355/113 for π). To pair 0 alone, positions 0 and 710 look the same.
# But pair 1 has rotated by 71 radians, 11.3 turns, and pair 2 by 7.1, so together they leave no
# doubt. The fast pairs tell neighbors apart, and the slow ones count the laps.
#
# All hands of a pair lie on one circle, because a rotation preserves length.
#
# </details>

# %% [markdown] tags=["slider"]
# Run the next cell and move its slider. Which pair tells 0 from 1? Which tells 11 from 710? At
# which positions does pair 0 point the other way?


# %% tags=["slider"]
def draw(position=1):
    return figures.turned_pairs(vector, rotated[[position]], [position])


play(draw, position=[0, 1, 2, 3, 6, 11, 22, 44, 100, 300, 355, 710])

# %% [markdown]
# ## Which scores are relative, and which only look relative

# %% [markdown] tags=["prediction"]
# We compute the scores of seven tokens at positions 0 to 6, and again at 100 to 106. Which of
# these score matrices change?
#
# 1. sinusoidal rows times sinusoidal rows: `pe @ pe.T`
# 2. the same rows, projected with `w_q` and `w_k` first
# 3. RoPE on the bare tokens
# 4. RoPE on tokens projected with `w_q` and `w_k`

# %% tags=["guess"]
guess = Guess(changing=...)

# %%
shift, rotate = 100, rope.RotaryEmbedding(2048, D)
pe = sinusoidal.sinusoidal_encoding(2048, D).float()
here, there = pe[:7], pe[shift : shift + 7]
q, k = x @ w_q, x @ w_k
cases = {
    "sinusoidal, raw": (score(here, here), score(there, there)),
    "sinusoidal, $W_q$ $W_k$": (score(here @ w_q, here @ w_k), score(there @ w_q, there @ w_k)),
    "RoPE, raw": (score(rotate(x), rotate(x)), score(rotate(x, shift), rotate(x, shift))),
    "RoPE, $W_q$ $W_k$": (score(rotate(q), rotate(k)), score(rotate(q, shift), rotate(k, shift))),
}
figures.scores_under_shift(cases, shift)

# %% tags=["guess"]
guess.compare(
    changing=[
        number
        for number, (first, moved) in enumerate(cases.values(), start=1)
        if not torch.allclose(first, moved, atol=0.001)
    ]
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Only the second changes, by up to 0.79, while its largest score is only 0.64. The other three
# change by less than 0.000002, which is rounding.
#
# The first row is the surprise. The raw products of sinusoidal positions are just as relative as
# RoPE's: $\sin a \sin b + \cos a \cos b = \cos(a - b)$. If you compare the two schemes without
# projections, you find no difference at all. But a model never multiplies raw positions. $W_q$
# and $W_k$ come between them and the score, and nothing separates what they have mixed. (If you
# add tokens, as a model does, even the raw scores change, because a token times a position
# depends on the position.)
#
# In row 4, RoPE uses the same two matrices. They do no harm, because they come *before* the
# rotation.
#
# </details>

# %% [markdown] tags=["prediction"]
# A colleague wants to save work: "I rotate `x` once, at the bottom of the model, and project
# afterwards. A rotation is a matrix and a projection is a matrix. What difference can the order
# make?"
#
# By how much can the scores change under the same shift: not at all, about as little as the
# sinusoidal ones (0.79), or more than that?

# %% tags=["guess"]
guess = Guess(largest_change=...)

# %%
early, late = rotate(x), rotate(x, shift)
rotated_first = {"rotated first": (score(early @ w_q, early @ w_k), score(late @ w_q, late @ w_k))}
figures.scores_under_shift(rotated_first, shift)

# %% tags=["guess"]
guess.compare(
    largest_change=(score(late @ w_q, late @ w_k) - score(early @ w_q, early @ w_k))
    .abs()
    .max()
    .item()
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# They change by up to 2.5, which is as large as the scores themselves. With $R$ for the rotation,
# a score is now $R(m)x \cdot M  R(n)y$ where $M$ combines both projections. The two rotations
# don't meet, because $M$ is between them, and $R(m)^T M R(n)$ is a function of $n - m$ only if
# $M$ commutes with rotations. Matrices rarely commute. That is the whole difference between
# lesson 4 and lesson 5: not the sines, but the order.
#
# </details>

# %% [markdown] answer="why-relative" points=2
# ## In your own words: the same angles
#
# Sinusoidal positions and RoPE use the same angles. Without projections, both give scores that
# depend only on the distance. In a trained model, one of them is certain to keep this property
# and the other is not. Which one is it, and what in the order of the operations decides it? What
# would $W_q$ and $W_k$ have to be like for the other one to keep it, too?
#
# ### BEGIN SOLUTION
# RoPE keeps it. It projects first and rotates last, so the two rotations meet directly in the dot
# product: R(m)q · R(n)k = q · R(n − m)k, whatever q and k are, and therefore for all W_q and W_k.
# Sinusoidal positions are added before the projections; the score is R(m)u · M R(n)u with M = W_q
# W_kᵀ in between, and R(m)ᵀ M R(n) is a function of n − m only if M commutes with the rotations
# (for instance if M is the identity, which is the raw case). Training may find such an M, but
# nothing forces it to. In addition, adding the tokens brings in products of a token with a
# position, which depend on the position.
#
# Grading: 1 point for the order (project, then rotate: nothing between the rotation and the dot
# product), 1 point for what comes between in the other case, and when it would do no harm (if it
# commutes, or is the identity).
# ### END SOLUTION

# %% [markdown]
# ## Two layouts
#
# Suppose a checkpoint was made for interleaved pairs (features 0 and 1, 2 and 3, ...), and your
# code rotates split halves. Here are 16 tokens and the scores that the checkpoint intends. Each
# pair is read as a complex number, so a rotation is a product.

# %%
tokens = torch.randn(16, D)
cos, sin = rope.rope_tables(16, D)
turns = torch.complex(cos, sin)[:, : D // 2]  # one for each pair


def interleaved(features):
    pairs = torch.view_as_complex(features.reshape(16, -1, 2))
    return torch.view_as_real(pairs * turns).flatten(1)


meant = score(interleaved(tokens @ w_q.T), interleaved(tokens @ w_k.T))

# %% [markdown] tags=["prediction"]
# We run your code with both matrices converted by `interleaved_to_half`, with neither, and with
# only `w_q` converted (a typo in the loop over the layers). How well do the scores correlate with
# the intended ones, from 1 (right) to 0 (noise)? Which scores, if any, are right in "neither"?

# %% tags=["guess"]
guess = Guess(both=..., neither=..., W_q_alone=...)

# %%
new_q, new_k = (rope.interleaved_to_half(matrix, 1) for matrix in (w_q, w_k))
pairs = {"both": (new_q, new_k), "neither": (w_q, w_k), "W_q alone": (new_q, w_k)}
errors, found = {}, {}
for name, (one, other) in pairs.items():
    queries, keys = (rope.apply_rope(tokens @ matrix.T, cos, sin) for matrix in (one, other))
    errors[name] = score(queries, keys) - meant
    r = torch.corrcoef(torch.stack((score(queries, keys).flatten(), meant.flatten())))[0, 1]
    own, found[name] = errors[name].diagonal().abs().max(), r.item()
    print(f"{name:<10} correlation {r:5.2f}   error at distance 0 up to {own:.2f}")
figures.matrices({f"error: {name}": errors[name] for name in ("neither", "W_q alone")})

# %% tags=["guess"]
guess.compare(both=found["both"], neither=found["neither"], W_q_alone=found["W_q alone"])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With both converted, you get the intended scores. With neither, the correlation is 0.62, and one
# line of the matrix is exactly right: the diagonal. There the distance is 0, so query and key are
# rotated by the same angle and the pairing doesn't matter. Close to it the error is small,
# because most pairs have hardly moved. A test with one token, or with a few, may find nothing.
#
# With half a conversion the correlation is about 0, and the diagonal is gone as well: the dot
# product multiplies features that don't belong together, even before any rotation. Half a
# conversion is worse than none.
#
# </details>

# %% [markdown]
# ## A cache

# %% [markdown] tags=["prediction"]
# A model has read "the cat sat on the" in one call and cached the rotated keys. Then "mat" and
# "." arrive, one at a time. Whoever wrote the loop forgot `offset`, so both are rotated as if
# they were at position 0.
#
# Which word of the prompt does "mat" now see at its own position, and which one does it see
# farthest away? The two new rows have 6 + 7 = 13 scores. How many of them are wrong?

# %% tags=["guess"]
guess = Guess(wrong_scores=...)


# %%
def one_by_one(mat, stop):  # the positions of the last two words
    parts = [(slice(0, 5), 0), (slice(5, 6), mat), (slice(6, 7), stop)]
    queries, keys = (torch.cat([rotate(one[part], at) for part, at in parts]) for one in (q, k))
    return score(queries, keys).tril()


at_once, kept, forgotten = score(rotate(q), rotate(k)).tril(), one_by_one(5, 6), one_by_one(0, 0)
for name, scores in {"offset kept": kept, "offset forgotten": forgotten}.items():
    print(f"{name:<17} wrong: {int(((scores - at_once).abs() > 1e-4).sum())}")
figures.matrices(
    {"all at once": at_once, "offset forgotten": forgotten, "error": forgotten - at_once}, words
)

# %% tags=["guess"]
guess.compare(wrong_scores=int(((forgotten - at_once).abs() > 1e-4).sum()))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# "Mat" is on top of the *first* "the", at position 0. Its neighbor, the last word of the prompt,
# is the farthest away, and it is ahead: to "mat", the whole prompt is now in the future. "." is
# at the same position, on top of "mat".
#
# 11 of the 13 scores are wrong. The two right ones are each word's score with itself, at distance
# 0. The rows of the prompt haven't changed, so every test with a single pass succeeds. The
# mistake shows only in what the model writes, and the longer the prompt, the worse it gets.
#
# </details>

# %% [markdown]
# ## A longer text

# %% [markdown] tags=["prediction"]
# Llama 2 has heads of width 128 and base 10,000, and it read 4,096 tokens in training. 18 of its
# 64 pairs don't finish a turn within 4,096 tokens, so the model knows only part of their circle.
# We want to read 16,384 tokens, and `ntk_base` gives a base that stretches the slowest pair by 4.
#
# How many of these 18 pairs stay within the angles that they reached in training?

# %% tags=["guess"]
guess = Guess(pairs=...)

# %%
trained = sinusoidal.inverse_frequencies(128).double()
stretched = sinusoidal.inverse_frequencies(128, rope.ntk_base(10_000.0, 4, 128)).double()
unfinished, inside = 4096 * trained < 2 * math.pi, {}
for name, angles in {
    "base 10,000": 16_384 * trained,
    "ntk_base": 16_384 * stretched,
    "positions / 4": 16_384 / 4 * trained,
}.items():
    inside[name] = int(((angles <= 4096 * trained * (1 + 1e-9)) & unfinished).sum())
    print(f"{name:<14} {inside[name]:2} of {int(unfinished.sum())}")

# %% tags=["guess"]
guess.compare(pairs=inside["ntk_base"])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# One. A text four times as long needs every pair to rotate four times as slowly. `ntk_base` slows
# pair $i$ down by $4^{2i/126}$, which is 4 only for the last pair. So the other 17 still rotate
# past the angles of training, though not as far as with the old base, where all 18 do. Dividing
# positions by 4 keeps all 18 inside, but it also slows down the fast pairs: neighbors are then a
# quarter of a radian apart instead of one.
#
# You can't have both, which is why YaRN treats fast and slow pairs differently. To bring all 18
# inside with the base alone, it has to be about 69,000, as if the factor were 6.7. Peng et al.
# (2023) note that in practice the factor is set higher than the ratio of the lengths.
#
# </details>

# %% [markdown] tags=["slider"]
# Run the next cell and move its slider. The left end doesn't move, whatever you do. How many
# pairs are above the line, and why doesn't that number alone measure quality? (At base 10,000 it
# is the smallest.)


# %% tags=["slider"]
def draw(base=40_890):
    context, slow = 16_384, sinusoidal.inverse_frequencies(128, float(base))
    return figures.wavelengths({"base 10,000": trained, f"base {base:,}": slow}, context)


play(draw, base=[10_000, 20_000, 40_890, 69_000, 160_000, 500_000])

# %% [markdown] answer="a-larger-base" points=2
# ## In your own words: a larger base
#
# A model was trained with base 10,000 on 4,096 tokens. A friend
# sets the base to 500,000 without training it further and feeds it texts of 4,000 tokens: "No
# angle is larger than it was in training, and scores still know only the distance. So nothing can
# go wrong." What is right about this, and what does go wrong?
#
# ### BEGIN SOLUTION
# Both premises are right: angles only shrink, so none lies outside the trained range, and RoPE is
# relative for every base. But it is a different function of the distance. The pair that rotated
# by d·θ_i at distance d now rotates by less, the slow pairs by up to almost 50 times less, and
# W_q and W_k were trained to read the old angles: a head that looked for "20 back" now finds that
# angle farther away, and at a different distance for each pair, so the pairs no longer agree. The
# model has to be trained further with its new base (as was done for long Llama models).
#
# Grading: 1 point for granting the premises (range and relativity), 1 point for "the same
# distance now has different angles from those W_q and W_k were trained on".
# ### END SOLUTION

# %% [markdown]
# ## No angle, only a penalty

# %% [markdown] tags=["prediction"]
# ALiBi subtracts from each score a penalty that grows with the distance, here in eight heads over
# 64 tokens. Suppose all tokens are equally interesting. In how many of the eight heads does the
# token 63 positions back still get at least a tenth of the weight that the last token gives
# itself?

# %% tags=["guess"]
guess = Guess(heads=...)

# %%
bias = rope.alibi_bias(8, 64)
far = (bias[:, -1, 0] - bias[:, -1, -1]).exp()  # what a softmax makes of the difference
print("  ".join(f"head {head}: {ratio:.2g}" for head, ratio in enumerate(far.tolist(), start=1)))
figures.alibi_heads(bias)

# %% tags=["guess"]
guess.compare(heads=int((far >= 0.1).sum()))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# In four: heads 5 to 8, with 0.14, 0.37, 0.61 and 0.78. In head 1 it is 0.00000000000002. One
# formula, $e^{-63 \cdot 2^{-h}}$ for head $h$, makes eight different pairs of glasses. The steep
# heads read the last few words, and the flat ones see 64 tokens almost equally. The two matrices
# have the same pattern; look at their color bars.
#
# Where in the text is the sentence? The bias can't tell: each diagonal has a single value, so a
# shift changes nothing. ALiBi is as relative as RoPE. But it can only say "near", not "two before
# me".
#
# </details>
