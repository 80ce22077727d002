# %% [markdown]
# # The positions lab
#
# **One sentence, every scheme of the course.** "The cat sat on the mat ." goes through a learned
# table (actually trained, right here), through sinusoids, RoPE and ALiBi, with your own
# functions. You have seen each of them separately. Next to each other, they answer the question
# that matters in practice: what does a score know about *where*, and what happens to it when the
# same sentence appears somewhere else?
#
# *Uses what you wrote in lessons 3, 4 and 5. Nothing here is graded. Guess anyway.*

# %%
import math

import torch
import torch.nn.functional as F
from IPython.display import display

from course.data.batches import get_batch
from course.data.kingdom import kingdom_text
from course.data.tokenizers import WordTokenizer
from course.experiments.training import trainable
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

learned, sinusoidal, rope = map(exercises, ("learned", "sinusoidal", "rope"))
torch.set_num_threads(1)  # batches this small are not worth sharing

C, LONGEST, READ = 32, 64, 16  # features, rows of the position table, tokens read at once
sentence = ["the", "cat", "sat", "on", "the", "mat", "."]
text = kingdom_text() + " ".join(sentence)
tokenizer = WordTokenizer.from_text(text, pattern=r"[a-z]+|\.")
ids = torch.tensor(tokenizer.encode(text))

# %% [markdown]
# ## A table that training wrote
#
# One layer of attention learns to predict the next word of the toy kingdom: your `GPTEmbedding`,
# a query, a key and a value projection, your `tied_logits`. It reads 16 words at a time. The
# position table has 64 rows.

# %%
_ = torch.manual_seed(0)
model = learned.GPTEmbedding(len(tokenizer.words), LONGEST, C)
w_q, w_k, w_v = (torch.randn(C, C).div(math.sqrt(C)).requires_grad_() for _ in range(3))
generator = torch.Generator().manual_seed(0)
optimizer = torch.optim.Adam([*trainable(model), w_q, w_k, w_v], lr=0.01)
losses = []
for _ in range(600):
    inputs, targets = get_batch(ids, READ, 32, generator)
    x = model(inputs)
    seen = F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, is_causal=True)
    logits = learned.tied_logits(x + seen, model.tok_emb.weight)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
w_q, w_k = w_q.detach(), w_k.detach()
tokens = model.tok_emb.weight.detach()[tokenizer.encode(" ".join(sentence))]
table = model.pos_emb.weight.detach()
formula = sinusoidal.sinusoidal_encoding(LONGEST, C)
figures.loss_curve(losses, math.log(len(tokenizer.words)), unit="nats per word", step="step")

# %% [markdown] tags=["prediction"]
# The table started as noise, and nobody told it that position 5 is between 4 and 6. What will the
# similarities of its rows look like now: noise, a diagonal that fades, or stripes as in the
# sinusoidal table? And what about rows 16 to 63? In numbers: how similar (cosine) are rows 9 and
# 10, and how similar are rows 40 and 41?

# %% tags=["guess"]
guess = Guess(rows_9_and_10=..., rows_40_and_41=...)

# %%
for name, rows in {"0 to 15": table[:READ], "16 to 63": table[READ:]}.items():
    print(f"rows {name:<9} standard deviation {rows.std().item():.3f}")
tables = {"learned": table[:24], "sinusoidal": formula[:24]}
display(figures.similarity_of_positions(tables))
figures.dot_against_offset(tables)

# %% tags=["guess"]
guess.compare(
    rows_9_and_10=F.cosine_similarity(table[9], table[10], dim=0).item(),
    rows_40_and_41=F.cosine_similarity(table[40], table[41], dim=0).item(),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Neighboring rows have become similar, and the similarity fades with the distance. Neighboring
# positions do nearly the same job, so they get nearly the same row. Late rows differ less than
# early ones: positions 1 and 2 are less similar than positions 10 and 12. So it is not a copy of
# the formula. The wide band says the same: its products also depend on the position. (Where the
# band touches 0, one of the rows is untrained.)
#
# Rows 16 to 63 are still the noise they started as, with a standard deviation of 0.02. The model
# never read more than 16 words, so no gradient ever reached them.
#
# </details>

# %% [markdown] tags=["prediction"]
# Now look at the scores that positions alone would get, without any token: the learned rows
# through the trained `w_q` and `w_k`. Which of the two formulas will they resemble, "sinusoidal"
# (products of rows) or "ALiBi" (a penalty)? Remember that the model had a causal mask, and that a
# softmax follows.

# %% tags=["guess"]
guess = Guess(resembles=...)

# %%
position_scores = (table[:READ] @ w_q) @ (table[:READ] @ w_k).T / math.sqrt(C)
alibi = rope.alibi_bias(8, READ)[0]
figures.matrices(
    {
        "learned, through $W_q$ $W_k$": position_scores,
        "sinusoidal": formula[:READ] @ formula[:READ].T / math.sqrt(C),
        "ALiBi, head 1 of 8": alibi,
    }
)

# %% [markdown]
# At first sight, neither. But a softmax doesn't notice if all scores of a row change by the same
# amount. So subtract from each row the score of the query with itself, and leave out what the
# mask hides:

# %%
own = position_scores.diagonal()[:, None]
hidden = torch.full((READ, READ), -math.inf).triu(1)
for name, matrix in {"learned": position_scores, "ALiBi": alibi}.items():
    last = (matrix + hidden).softmax(-1)[-1, -4:]
    print(f"{name:<8} weights of the last four keys: {[round(w, 2) for w in last.tolist()]}")
figures.matrices(
    {"learned, less its own score": (position_scores - own).tril(), "ALiBi, head 1 of 8": alibi}
)

# %% tags=["guess"]
below = torch.ones(READ, READ).tril(-1).bool()
formulas = {"sinusoidal": formula[:READ] @ formula[:READ].T, "ALiBi": alibi}
alike = {
    name: torch.corrcoef(torch.stack((matrix[below], (position_scores - own)[below])))[0, 1].item()
    for name, matrix in formulas.items()
}
print("correlation with the learned ones:", {name: round(r, 2) for name, r in alike.items()})
guess.compare(resembles=max(alike, key=alike.get))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Training has found ALiBi. Each step back costs about 0.5 (0.44 to 0.60), and ALiBi's steepest
# head of eight subtracts 0.5. In this text the last few words say most about the next one, so the
# model needs a penalty for distance, and a learned table can build one: the key's row says "I am
# late in the text", and every query likes that. The query's own position cancels in the softmax.
#
# But it cannot continue. ALiBi's line goes on at position 16; the table's ends there.
#
# </details>

# %% [markdown]
# ## Which schemes add something to a token

# %% [markdown] tags=["prediction"]
# Both "the" have the same row, with cosine 1. After adding learned rows (trained), or sinusoids,
# they differ. Sinusoids are louder: 0.71 per feature, against 0.39 for the tokens and 0.18 for
# the learned rows here. With which of the two will the sums for "the" and "the" be less similar?

# %% tags=["guess"]
guess = Guess(less_alike=...)

# %%
cosines = {}
for name, rows in {"learned": table[:7], "sinusoidal": formula[:7]}.items():
    cosines[name] = F.cosine_similarity(*(tokens + rows)[[0, 4]], dim=0).item()
    print(f"the + {name:<11} against the + {name:<11} cosine {cosines[name]:.2f}")
display(figures.token_position_sum(tokens, table[:7], sentence))
display(figures.token_position_sum(tokens, formula[:7], sentence))

# %% tags=["guess"]
guess.compare(less_alike=min(cosines, key=cosines.get))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With the sinusoids, but only slightly: 0.79 against 0.84. They are four times as loud as the
# learned rows, but most of rows 0 and 4 is the same, because their slow pairs have hardly moved;
# look at the right two thirds of the second picture. Loud is not the same as clear.
#
# RoPE and ALiBi have no picture here: they add nothing to a token.
#
# </details>

# %% [markdown]
# ## The same sentence at another position


# %%
def scores(start, head=1, base=10_000, w_q=w_q, w_k=w_k):
    """The scores of the sentence at positions start, start + 1, ..., under each scheme."""
    here, turn = slice(start, start + 7), rope.RotaryEmbedding(LONGEST, C, base)

    def meet(x, change=lambda features: features):
        return change(x @ w_q) @ change(x @ w_k).T / math.sqrt(C)

    return {
        "no positions": meet(tokens),
        "learned": meet(tokens + table[here]),
        "sinusoidal": meet(tokens + sinusoidal.sinusoidal_encoding(LONGEST, C, base)[here]),
        "RoPE": meet(tokens, lambda features: turn(features, start)),
        "ALiBi": meet(tokens) + rope.alibi_bias(8, LONGEST)[head - 1, here, here],
    }


def change(shift, **settings):
    """The largest change of a score when the whole sentence shifts."""
    before, after = scores(0, **settings), scores(shift, **settings)
    return {name: (after[name] - before[name]).abs().max().item() for name in before}


# %% [markdown] tags=["prediction"]
# We shift the whole sentence by 9 tokens, once with the trained `w_q` and `w_k` and once without
# (with the identity instead). This time the tokens are added. For which of the five schemes will
# the largest change be 0, and in which of the two cases? How many schemes is that in each case?

# %% tags=["guess"]
guess = Guess(unchanged_without=..., unchanged_with=...)

# %%
bare = change(9, w_q=torch.eye(C), w_k=torch.eye(C))
through = change(9)
print(f"{'':<14}{'without W_q, W_k':>18}{'with':>10}")
for name in through:
    print(f"{name:<14}{bare[name]:>18.6f}{through[name]:>10.6f}")
positions = formula @ formula.T / math.sqrt(C)
moved = (positions[9:16, 9:16] - positions[:7, :7]).abs().max()
print(f"sinusoidal positions alone, without tokens and projections: {moved:.6f}")
figures.matrices(scores(0), sentence, change=through)

# %% tags=["guess"]
guess.compare(
    unchanged_without=sum(change < 0.001 for change in bare.values()),
    unchanged_with=sum(change < 0.001 for change in through.values()),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Without positions nothing can change, and with RoPE and ALiBi nothing does, with or without
# projections. With learned rows, scores change both times, by 0.31 and by 9.
#
# The trap is the sinusoidal row. By themselves, its positions are perfectly relative: the last
# line says 0. Add tokens, and even without projections the scores change by 1.0, because a token
# times a position depends on the position. With projections it is 18. So no model ever sees this
# nice property of the formula. RoPE uses the same angles and has the property where it counts: in
# the score.
#
# </details>

# %% [markdown] tags=["prediction"]
# At shift 32 the sentence uses rows 32 to 38 of the learned table, which were never trained. What
# will its scores look like: "an error", "wild numbers", or the scores of another scheme above,
# and which one? And which of the three below change with a smaller base?

# %% tags=["guess"]
guess = Guess(like=...)


# %%
def draw(shift=9, base=10_000):
    now, moved = scores(shift, base=base), change(shift, base=base)
    shown = ("learned", "sinusoidal", "RoPE")
    return figures.matrices({name: now[name] for name in shown}, sentence, change=moved)


play(draw, shift=[0, 1, 4, 9, 16, 32, 57], base=[10, 100, 10_000, 500_000])

# %% tags=["guess"]
far = scores(32)
away = {name: (far[name] - far["learned"]).abs().max().item() for name in far if name != "learned"}
guess.compare(like=min(away, key=away.get))

# %% [markdown] tags=["slider"]
# Move the sliders. Which of the three changes with the base, and which with the shift?

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Like "no positions": from a shift of 16 on, no learned score differs from those by more than
# 0.5. Untrained rows are small, so the sum is nearly the token alone. There is no error. The
# model has become blind to order and carries on. (After row 63 there is an error, which is the
# kinder case.)
#
# The base changes the sinusoids and RoPE. RoPE's matrix changes with the base, but never with the
# shift.
#
# </details>
#
# ALiBi is the same at every shift and different in every head. Here are its weights, with a
# causal mask and without projections.

# %% [markdown] tags=["prediction"]
# The second "the" looks at the first one, an exact copy of itself, four positions back. Their
# content is equal, so without a penalty both get the same weight. Relative to the second "the",
# how much weight does the first one get in head 1 (slope 1/2), and in head 3 (slope 1/8)?

# %% tags=["guess"]
guess = Guess(head_1=..., head_3=...)


# %%
def weights(head):
    bare = scores(0, head, w_q=torch.eye(C), w_k=torch.eye(C))["ALiBi"]
    return (bare + hidden[:7, :7]).softmax(-1)


def draw(head=1):
    return figures.attention_weights(weights(head), sentence)


play(draw, head=range(1, 9))

# %% tags=["guess"]
ratios = {head: (weights(head)[4, 0] / weights(head)[4, 4]).item() for head in (1, 3)}
guess.compare(head_1=ratios[1], head_3=ratios[3])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 0.14 in head 1 and 0.61 in head 3: the softmax turns a difference of scores into a ratio of
# weights, and the difference is the slope times 4. $e^{-4/2} = 0.14$, $e^{-4/8} = 0.61$. In head
# 8 it is 0.98, so there the sentence is practically a bag of words. Subtracting from a score
# multiplies a weight.
#
# </details>

# %% [markdown]
# ## How sharply can a formula tell positions apart?

# %% [markdown] tags=["prediction"]
# The same word is at every position of a text, and RoPE rotates it. How high is its score with
# its copy 100 positions away, relative to its score with itself: about 0, 0.3, 0.6? And what
# about the sinusoids of lesson 4, position against position? (Width 64, base 10,000.) What if the
# width were 2, a single pair?

# %% tags=["guess"]
guess = Guess(RoPE=..., sinusoidal=...)


# %%
def encodings(width, base):
    copies = torch.randn(1, width, generator=torch.Generator().manual_seed(0)).expand(200, width)
    turned = rope.RotaryEmbedding(200, width, base)(copies)
    return {
        "sinusoidal": sinusoidal.sinusoidal_encoding(200, width, base),
        "RoPE, one word": turned,
    }


def draw(width=64, base=10_000):
    return figures.dot_against_offset(encodings(width, base))


play(draw, width=[2, 4, 8, 16, 64, 256], base=[10, 100, 10_000, 500_000])

# %% tags=["guess"]
at_100 = {
    name: F.cosine_similarity(rows[0], rows[100], dim=0).item()
    for name, rows in encodings(64, 10_000).items()
}
guess.compare(RoPE=at_100["RoPE, one word"], sinusoidal=at_100["sinusoidal"])

# %% [markdown] tags=["slider"]
# Move the sliders to a width of 2. How do the two curves differ now?

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 0.56 for the sinusoids and 0.64 for RoPE: neither forgets. The slow half of the 32 pairs has
# turned by at most one radian after 100 positions and still says "same position". With base 10
# there are no slow pairs: the product falls to 0 within a few tokens and comes back in waves.
# With base 500,000 it stays higher still.
#
# The curves look similar because both are sums of the same cosines: the sinusoids with equal
# weights, RoPE weighted by the word's length in each pair, $\sum_i r_i^2 \cos(k\theta_i)$. At
# width 2 there is only one weight, and the curves are the same wave for any base. (This is a word
# that meets its own copy. With $W_q$ and $W_k$, query and key differ, and the score can peak at
# any distance: RoPE by itself doesn't make near tokens loud. ALiBi does.)
#
# There is no band in either curve: no position is special.
#
# </details>

# %% [markdown]
# ## Summary
#
# | | where it acts | what the score knows | on rows it never trained on |
# |---|---|---|---|
# | learned | added | the position | silent blindness, then an error |
# | sinusoidal | added | the position, once projected | new angles, no error |
# | RoPE | rotates queries and keys | the distance | new angles for slow pairs, no error |
# | ALiBi | added to scores | the distance | the same line, continued |
