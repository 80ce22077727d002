# %% [markdown]
# # 4. Positions from a formula
#
# *What does a clock with many hands know about the distance between two times?*
#
# The formula costs nothing, never ends, and was in the first Transformer. Rotary positions, which
# most models use today, use the same clock in a different way. Once you can read this clock, you
# can read both, and you know what the number 10,000 is for.

# %%
import math

import torch

from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

sinusoidal = exercises("sinusoidal")
pe = sinusoidal.sinusoidal_encoding(64, 32)
torch.manual_seed(0)
fresh = torch.randn(64, 32)  # a learned table on its first day

# %% [markdown]
# ## The table
#
# 64 positions, 32 features, so 16 hands:

# %%
figures.position_table(pe, "sinusoidal positions")

# %% [markdown] tags=["prediction"]
# From position 0 to position 63 the hands turn, the first one by one radian per step. How many of
# the 16 hands have made at least one full turn by position 63?

# %% tags=["guess"]
guess = Guess(hands=...)

# %%
turns = 63 * sinusoidal.inverse_frequencies(32) / (2 * math.pi)
print([round(turn, 2) for turn in turns.tolist()])
play(lambda position=20: figures.clock_hands(pe, position), position=range(64))

# %% tags=["guess"]
guess.compare(hands=int((turns >= 1).sum()))

# %%
figures.wave_columns(pe, [4, 5, 8, 16, 31])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Five. The wavelengths grow by a constant factor, 10,000^(1/16) = 1.78, from 6.28 tokens to
# 35,333. So only the first few are shorter than 64, and 11 of the 16 hands haven't made a full
# turn. Six of them haven't even made a twentieth of one. On the right third of the heatmap there
# is almost nothing to see: those sines are near 0 and those cosines near 1, in every row.
#
# Is that a waste? It is what the base 10,000 is for: hands for texts of tens of thousands of
# tokens, used here for 64. You'll turn that knob below.
#
# </details>

# %% [markdown]
# ## How similar are near and far positions?

# %% [markdown] tags=["prediction"]
# Compare position 0 with positions 16, 32 and 63, by the cosine of their rows. Which of the three
# is most similar to position 0? And what is the cosine of 0 and 63: about 0.9, about 0.5, about
# 0, or negative?

# %% tags=["guess"]
guess = Guess(most_like_0=..., cosine_of_0_and_63=...)

# %%
cosines = {k: (sinusoidal.relative_similarity(pe, k)[0] / 16).item() for k in (1, 16, 32, 63)}
print({k: round(cosine, 2) for k, cosine in cosines.items()})
figures.dot_against_offset({"sinusoidal": pe, "learned, fresh": fresh})

# %% tags=["guess"]
guess.compare(most_like_0=max((16, 32, 63), key=cosines.get), cosine_of_0_and_63=cosines[63])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 0.96 for the neighbor, then 0.50, **0.60** and 0.55: position 32 is more similar to position 0
# than position 16 is. (A row has squared length 16, half its width, so the product divided by 16
# is the cosine.) The seven slowest hands have turned by less than 21 degrees even at 63. Each
# adds nearly 1 to the product, 6.9 together, so they contribute 0.43 of the cosine at any
# distance in this table. The ripple comes from the fast hands, which come around again: at 16 the
# first hand has made 2.55 turns and points the other way, at 32 it has made 5.09 and is nearly
# back.
#
# The second thing to see is the band. For the fresh table it is wide: at a given offset, the
# product is anywhere from about −0.5 to 0.5, depending on where you start, and in one case it is
# −0.8. For the sinusoids there is no band at all: wherever you start, the product is the same.
# They are not an even ruler, but they are the same ruler everywhere.
#
# </details>

# %% [markdown]
# ## What is the base for?
#
# If the slow hands are idle, why not use a smaller base? With base 10 the slowest hand needs 54
# tokens for a turn, and in a table of 64 rows all 16 are used.

# %% [markdown] tags=["prediction"]
# Base 10, and a text of 512 tokens. Which positions are most similar to position 0? The
# nearest is 1, the second nearest is 2. Which is third?

# %% tags=["guess"]
guess = Guess(third=...)

# %%
nearest = {}
for base in (10, 10_000):
    rows = sinusoidal.sinusoidal_encoding(512, 32, base)
    nearest[base] = (rows[1:] @ rows[0]).topk(5).indices + 1
    print(base, nearest[base])


def draw(base=10, length=512):
    rows = sinusoidal.sinusoidal_encoding(length, 32, base)
    return figures.dot_against_offset({f"base {base:,}": rows}, anchors=[0])


play(draw, base=[10, 100, 1000, 10_000, 100_000, 1_000_000], length=[64, 512, 2048])

# %% tags=["guess"]
guess.compare(third=int(nearest[10][2]))

# %% [markdown] tags=["slider"]
# Move the sliders. Which base would you choose for a text of 64 tokens, and which for 2,048?

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Position 377, with base 10. Its cosine is 0.37, and that of position 3, the obvious guess, 0.27.
# After 377 tokens the first hand has made 60 turns (60 · 2π = 376.99), and by chance seven of the
# others are nearly back as well. Fast hands tell neighbors apart sharply, but without slow ones
# nothing says that 377 is far away: it is a clock without an hour hand. With base 10,000 the five
# most similar positions are 1, 2, 3, 6 and 5, all of them near.
#
# A small base gives a sharp peak and, beyond it, noise. A large one gives a
# gentle slope that reaches far, and neighbors that differ less. The base should fit the length of
# the texts, and models with long contexts do use larger ones (in the rotary positions of lesson 5).
#
# </details>

# %% [markdown]
# ## One matrix that moves them all

# %% [markdown] tags=["prediction"]
# `offset_rotation(5, 32)` moves every row to the one five positions later. The fresh random table
# gets the same chance: least squares finds the best 32 × 32 matrix for it, fitted to all 59 pairs
# of rows that are five apart. How much of the target rows does each matrix miss? (0% is a perfect
# move, 100% is as bad as answering zero.)

# %% tags=["guess"]
guess = Guess(percent_of_sinusoidal=..., percent_of_fresh=...)

# %%
moved = pe[:-5] @ sinusoidal.offset_rotation(5, 32).to(pe).T
best = torch.linalg.lstsq(fresh[:-5], fresh[5:]).solution
misses, answers = {}, {"sinusoidal": (moved, pe[5:]), "fresh": (fresh[:-5] @ best, fresh[5:])}
for name, (answer, target) in answers.items():
    misses[name] = 100 * ((answer - target).norm() / target.norm()).item()
    print(f"{name:<10} misses {misses[name]:.1f}%")

# %% tags=["guess"]
guess.compare(percent_of_sinusoidal=misses["sinusoidal"], percent_of_fresh=misses["fresh"])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 0.0% and 67.9%. "Five later" is the same rotation for every row of the formula. In the random
# table it means something different in each row, and the fitted matrix can only memorize pairs.
# With 32 features it can memorize some: it captures about 32 / 59 of the squared length of the 59
# pairs, and the root of the remaining 27 / 59 is 0.68.
#
# That is also the catch in such tests. With 59 features or more, the best matrix would miss 0% on
# the random table as well, by memorizing all pairs. Only a table longer than it is wide shows the
# difference.
#
# </details>

# %% [markdown]
# ## The same words at later positions
#
# Seven words at the beginning of a text, and the same seven words 100 positions later. The scores
# of the rows with each other, `pe @ pe.T`, once for positions 0 to 6 and once for 100 to 106:

# %%
rows = sinusoidal.sinusoidal_encoding(107, 32)
positions = {"positions": (rows[:7] @ rows[:7].T, rows[100:] @ rows[100:].T)}
figures.scores_under_shift(positions, shift=100)

# %% [markdown] tags=["prediction"]
# The third panel is blank, because the products depend only on the distance. Now add the token
# rows, as a transformer does, and take the same products. No projections, nothing learned, and
# the same seven words both times. Is the third panel still blank, `True` or `False`?

# %% tags=["guess"]
guess = Guess(blank=...)

# %%
tokens = torch.randn(7, 32)
here, there = tokens + rows[:7], tokens + rows[100:]
figures.scores_under_shift({"tokens + positions": (here @ here.T, there @ there.T)}, shift=100)

# %% tags=["guess"]
guess.compare(blank=torch.allclose(here @ here.T, there @ there.T, atol=0.001))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# No. Each vector is a word's row plus a position's row, so the product has four terms: word times
# word, position times position, and two mixed terms, word times position. The first two did not
# change. The mixed terms did, because the product of a word's row with the row of position 3 is
# not its product with the row of position 103. The largest change here is about 11, and the
# scores themselves go up to 57.
#
# So "the sinusoidal encoding is relative" is true of the table by itself. As soon as it is
# *added* to something, the promise is broken, even before any projection. Lesson 5 keeps the
# promise by rotating instead of adding.
#
# </details>

# %% [markdown] answer="two-numbers" points=2
# ## In your own words: why two numbers per hand?
#
# Somebody drops half of the table and keeps only the sines, each at its own frequency: 32
# frequencies for 32 features. Which of these still hold, and why: (a) every row has the same
# length; (b) the product of two rows depends only on the distance; (c) one matrix moves every row
# by five?
#
# ### BEGIN SOLUTION
# None of them. (a) The squared length is a sum of sin², which changes with the position; only
# with its cosine does each pair add up to 1. (b) sin a · sin b = (cos(a − b) − cos(a + b)) / 2:
# the second term depends on the sum of the two positions, and therefore on where they are. The
# product of the cosines adds (cos(a − b) + cos(a + b)) / 2, and that cancels it. (c) sin(a + θ) =
# cos θ sin a + sin θ cos a needs cos a, which is no longer in the row: from the sine alone you
# cannot tell whether the hand is moving up or down, so you cannot tell where it will be five
# steps later.
#
# *Grading: 2 points for all three with a reason for at least two; 1 for one reason that is right.
# Row 0 as a counterexample (all zeros!) counts as a reason for (a) and (b).*
# ### END SOLUTION

# %% [markdown] answer="relative-or-not" points=2
# ## In your own words: is it relative?
#
# A blog says: "Sinusoidal encodings are relative, because PE(p) · PE(p + k) does not depend on
# p." What is true about this, and what does a real attention score see instead? Name two things
# that come in between.
#
# ### BEGIN SOLUTION
# The product of two rows of the table does depend only on k, so the geometry of the table is the
# same everywhere (and one rotation moves every row by k). But attention never multiplies two rows
# of this table. First, they are added to token rows, and the mixed terms, token times position,
# depend on the position. Second, queries and keys are projected by learned matrices, and uᵀMu'
# depends on k alone only if M commutes with the rotations, which nothing enforces. So the score
# can depend on the absolute position; a model may learn to make it nearly relative, but the
# encoding does not give it that.
#
# *Grading: 1 point for what is true (of the bare table), 1 for the two that come between: the sum
# with token rows (mixed terms), and the projections.*
# ### END SOLUTION
