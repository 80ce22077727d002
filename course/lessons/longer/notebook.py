# %% [markdown]
# # 7. Positions that reach further
#
# **Can a model read longer texts than it was trained on?** Here you look at what your functions
# do to a score: far beyond the trained length, with features that don't rotate, with distances in
# buckets, during generation, and on an image.
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

rope, sinusoidal, longer = exercises("rope"), exercises("sinusoidal"), exercises("longer")

D, BASE, TRAINED = 128, 10_000.0, 4096  # Llama 2
trained = sinusoidal.inverse_frequencies(D).double()
_ = torch.manual_seed(0)

# %% [markdown]
# ## Pair by pair

# %% [markdown] tags=["prediction"]
# A model with heads of width 128, base 10,000 and 4,096 trained positions has to read texts four
# times as long. How many of its 64 pairs does `yarn_frequencies` leave unchanged, and how many
# does it divide by the full 4?

# %% tags=["guess"]
guess = Guess(left_alone=..., divided=...)


# %%
def remedies(factor):
    return {
        "positions divided": trained / factor,
        "ntk_base": sinusoidal.inverse_frequencies(D, rope.ntk_base(BASE, factor, D)).double(),
        "YaRN": longer.yarn_frequencies(D, BASE, factor, TRAINED).double(),
    }


ratios = {name: frequencies / trained for name, frequencies in remedies(4.0).items()}
figures.frequency_ratios(trained, remedies(4.0))

# %% tags=["guess"]
guess.compare(
    left_alone=int((ratios["YaRN"] > 0.99999).sum()),
    divided=int((ratios["YaRN"] < 0.25001).sum()),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 21 stay, 18 are divided by 4, and 25 are on the ramp. The 18 are those of lesson 5, which never
# finished a turn in 4,096 positions. The 21 made 32 turns or more, so each of them repeats within
# 128 positions.
#
# The ramp looks curved, but it is linear in the number of *turns*, which falls by 13% from pair
# to pair. Pair 33, in the middle of the ramp, made 5.6 turns, which is much nearer to 1 than to
# 32.
#
# </details>

# %% [markdown] tags=["slider"]
# Run the next cell and move its slider. The left end of YaRN never moves, whatever the factor
# is. Where does the curve of `ntk_base` begin and end?


# %% tags=["slider"]
def draw(factor=4):
    return figures.frequency_ratios(trained, remedies(float(factor)))


play(draw, factor=[1, 2, 4, 8, 16, 40])

# %% [markdown]
# ## A score far away

# %% [markdown] tags=["prediction"]
# The query and the key are the same vector, with pairs of equal length. At distance 0 they score
# 1. With the trained frequencies, the score at distance 3 is 0.815.
#
# What is the score at distance 3 if positions are divided by 4, and what is it with YaRN?

# %% tags=["guess"]
guess = Guess(positions_divided=..., YaRN=...)

# %%
distances = torch.arange(1, 4 * TRAINED + 1).double()


def score(frequencies):  # each pair adds the cosine of its angle
    return torch.outer(distances, frequencies).cos().mean(dim=1)


ways = {"as trained": trained} | remedies(4.0)
scores = {name: score(frequencies) for name, frequencies in ways.items() if name != "ntk_base"}
print("  ".join(f"{name}: {of_name[2]:.3f}" for name, of_name in scores.items()))
figures.score_by_distance(scores, TRAINED)

# %% tags=["guess"]
guess.compare(
    positions_divided=scores["positions divided"][2].item(), YaRN=scores["YaRN"][2].item()
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Divided: 0.983. The token three back now looks as if it were 0.75 back, nearer than any neighbor
# in training. YaRN: 0.816, almost unchanged.
#
# Far away it is the other way around: there YaRN agrees with the divided positions and stays
# within the range of scores that occurred in training. With the trained frequencies, scores keep
# falling. Here are the means:
#
# </details>

# %%
for name, of_name in scores.items():
    near, old, new = (of_name[a:b].mean() for a, b in ((0, 8), (2048, 4096), (8192, 16_384)))
    print(f"{name:<18} 1 to 8: {near:5.2f}   2,049 to 4,096: {old:5.2f}   beyond 8,192: {new:5.2f}")

# %% [markdown]
# The first column should stay at its value in training, 0.80, and the last should not fall below
# 0.06, the lowest value that occurred in training. Only YaRN manages both.

# %% [markdown] answer="which-pairs" points=2
# ## In your own words: the other way around
#
# Somebody swaps the two ends of the ramp: fast pairs are divided by the factor, and slow pairs
# keep their frequency. The code runs, and scores still depend only on the distance. What goes
# wrong nearby, and what goes wrong far away?
#
# ### BEGIN SOLUTION
# Nearby: the fast pairs tell neighbors apart. Divided by 4, they rotate by a quarter of a radian
# per step instead of one, so the angles between neighbors differ from those in training, and
# neighbors look similar. This harms short texts, too. Far away: the slow pairs didn't finish a
# turn in training. Unchanged, they leave their trained arc as soon as the text is longer than in
# training. So you get both of lesson 5's problems at once, and gain nothing.
#
# Grading: 1 point for the fast pairs (neighbors, untrained steps), 1 point for the slow pairs
# (angles beyond the trained arc).
# ### END SOLUTION

# %% [markdown]
# ## Features that don't rotate

# %% [markdown] tags=["prediction"]
# A head has 96 features. `PartialRotary` rotates none, 24 or all of them. The query and the key
# are all ones, so they score 96 at distance 0. What do they score at distance 2,000 in each case?

# %% tags=["guess"]
guess = Guess(none_rotated=..., of_24_rotated=..., all_rotated=...)

# %%
far = {}
for rotary_dim in (0, 24, 96):
    rotary = longer.PartialRotary(2048, 96, rotary_dim)
    turned = rotary(torch.ones(2048, 96))
    far[rotary_dim] = turned @ turned[0]  # query at 0, keys at all positions
curves = {f"{name} of 96 rotated": of_name[1:] for name, of_name in far.items()}
figures.score_by_distance(curves)

# %% tags=["guess"]
guess.compare(
    none_rotated=far[0][2000].item(),
    of_24_rotated=far[24][2000].item(),
    all_rotated=far[96][2000].item(),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 96, 72 and 13. The 72 features that don't rotate contribute 72 at every distance; only the
# contribution of the other 24 changes. So a head can find "the same token, wherever it was" and
# "two back" in one score, each in its own features.
#
# </details>

# %% [markdown]
# ## Buckets

# %% [markdown] tags=["prediction"]
# `relative_buckets` puts all distances into 32 buckets, with `max_distance` 128. What is the
# bucket of distance 64? At which distance does the last bucket, 31, begin?

# %% tags=["guess"]
guess = Guess(bucket_of_64=..., last_begins_at=...)

# %%
distances = torch.arange(160)
buckets = longer.relative_buckets(distances)
figures.bucket_of_distance({"32 buckets up to 128": buckets})

# %% tags=["guess"]
guess.compare(bucket_of_64=int(buckets[64]), last_begins_at=int((buckets < 31).sum()))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 26, and 113. From 16 to 128 there are three doublings and 16 buckets, so a doubling takes five
# and a third buckets: 64 is two doublings after 16, and $16 + 10.67$ rounds down to 26. The last
# bucket begins before `max_distance`, because it is the last sixteenth of the way from 16 to 128
# in logarithms, not its end point.
#
# </details>

# %% [markdown] tags=["slider"]
# Run the next cell and move its sliders. What do few buckets with a large `max_distance` look
# like? What happens to the short distances?


# %% tags=["slider"]
def draw(n_buckets=32, max_distance=128):
    rule = {"rule": longer.relative_buckets(distances, n_buckets, max_distance)}
    return figures.bucket_of_distance(rule)


play(draw, n_buckets=[4, 8, 16, 32, 64], max_distance=[40, 64, 128, 256, 1024])

# %% [markdown]
# ## A step of generation

# %% [markdown] tags=["prediction"]
# A model with T5's bias has six tokens in its cache and reads the seventh. For head 0, the bias
# of that step is one row of seven numbers. Somebody numbers the queries from 0 instead. In how
# many of the seven entries does their row differ from the right one?

# %% tags=["guess"]
guess = Guess(places=...)

# %%
bias = longer.RelativeBias(n_heads=4)
_ = torch.nn.init.normal_(bias.weight, std=1.0)  # as after some training: numbers that differ
whole, step = bias(7, 7)[0].detach(), bias(1, 7)[0].detach()
counted_from_0 = whole[:1]
rows = {"all seven at once": whole, "the step": step, "counted from 0": counted_from_0}
figures.matrices(rows, unit="bias", one_scale=True)

# %% tags=["guess"]
guess.compare(places=int((step != counted_from_0).sum()))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# In six. The right row is the last of the matrix. The row counted from 0 is its first row: the
# number for distance 0, seven times, so only the token itself gets the right value. The matrix is
# constant along its diagonals, because the bias depends only on the distance. Everything above
# the main diagonal is bucket 0, and a causal mask will hide it.
#
# </details>

# %% [markdown] answer="far-tokens" points=2
# ## In your own words: three ways to look far
#
# Three models read a text much longer than those they were trained on: one with plain RoPE, one
# with ALiBi, one with T5's bias. How does each of them treat two tokens that are 1,000 and 2,000
# tokens back? Which of them can tell the two apart, and which can look "exactly three back"?
#
# ### BEGIN SOLUTION
# RoPE: the two have different angles, so in principle it can tell them apart; but if both are
# beyond the trained length, slow pairs are at angles that were never trained, and the scores mean
# nothing in particular. ALiBi: both get a penalty in proportion to the distance, twice as much
# for the farther one: it can tell them apart, though only as "nearer" and "farther", and steep
# heads see neither. T5's bias: both are in the last bucket and get the same number, so one layer
# cannot tell them apart, but it doesn't meet anything untrained either. "Exactly three back":
# RoPE can (angles), T5 can (distance 3 has its own bucket), ALiBi cannot (its penalty only
# grows).
#
# Grading: 1 point for what happens at 1,000 and 2,000 (T5: the same; ALiBi: more penalty;
# RoPE: new angles), 1 point for "three back" (RoPE and T5 yes, ALiBi no).
# ### END SOLUTION

# %% [markdown]
# ## An image

# %% [markdown] tags=["prediction"]
# Take an image of 8 by 8 patches. The query is the patch in row 3 at the right edge, column 7,
# and all patches have the same vector. Look at the two of the other 63 patches that score
# highest. How many of those two touch the query, first when all patches are numbered in one line,
# then on the grid?

# %% tags=["guess"]
guess = Guess(in_one_line=..., on_the_grid=...)

# %%
side = 8
rows, cols = torch.arange(side * side) // side, torch.arange(side * side) % side
patches = torch.ones(side * side, 64)
in_line = rope.RotaryEmbedding(side * side, 64, base=100.0)(patches)
on_grid = longer.rope_2d(patches, rows, cols, base=100.0)
query = 3 * side + 7
scores, touching = {}, {}
for name, turned in {"one line": in_line, "grid": on_grid}.items():
    scores[name] = turned @ turned[query] / 64
    best = scores[name].topk(3).indices[1:]  # the first is the query itself
    beside = (rows[best] - 3).abs() + (cols[best] - 7).abs() == 1
    touching[name] = int(beside.sum())
pictures = {name: of_name.reshape(side, side) for name, of_name in scores.items()}
figures.matrices(pictures, x="column", y="row", one_scale=True)

# %% tags=["guess"]
guess.compare(in_one_line=touching["one line"], on_the_grid=touching["grid"])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# One, and two. In one line, the neighbors of number 31 are 30 and 32, and number 32 starts the
# next row, at the other edge of the image. On the grid, the patches above, below and to the left
# get the same score, and all of them touch it.
#
# Move the whole image, by 40 rows and 7 columns, and every score stays the same:
#
# </details>

# %%
moved = longer.rope_2d(patches, rows + 40, cols + 7, base=100.0)
change = (moved @ moved.T - on_grid @ on_grid.T).abs().max().item()
print(f"largest change of a score: {change:.6f}, where scores go up to {patches.shape[1]}")
assert math.isclose(change, 0.0, abs_tol=1e-3)
