# %% [markdown]
# # 1. An embedding is a table, not a layer
#
# *What does a word read from the table, and what comes back to its row?*
#
# Every token that a language model reads goes through this table. On the way in, the model reads a
# row. In training, a gradient comes back to that row. The first part is simple. The second decides
# which words a model learns, how fast, and which ones it never learns at all.

# %%
import torch

from course.data.corpus import load_corpus
from course.data.tokenizers import bpe_tokenizer
from course.experiments.training import trainable
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

lookup = exercises("lookup")
words = ["the", "cat", "sat", "on", "mat", ".", "dog", "king"]
ids = torch.tensor([0, 1, 2, 3, 0, 4, 5])  # the cat sat on the mat .
torch.manual_seed(0)
table = torch.randn(8, 4)

# %% [markdown]
# ## One row per word
#
# First, look at the product that your `one_hot_lookup` computes for "the cat sat on the mat .". If
# it prints `True`, your `lookup` gives the same rows.

# %%
print(torch.equal(lookup.lookup(table, ids), lookup.one_hot_lookup(table, ids)))
figures.one_hot_times_table(table, ids, words)

# %% [markdown]
# The rows that were read are marked. The word "the" reads the same row twice, and nobody reads the
# rows of "dog" and "king".
#
# ## How large is the first matrix?

# %% [markdown] tags=["prediction"]
# GPT-2 small has 124,439,808 numbers in total, half a gigabyte in float32. Its vocabulary has
# 50,257 tokens, and it reads texts of 1,024 tokens. Suppose that you write a batch of texts as
# one-hot rows in float32. How many texts does it take before the batch alone is larger than the
# whole model?

# %% tags=["guess"]
guess = Guess(texts=...)

# %%
model = 4 * 124_439_808
print("the model:", f"{model:>13,} bytes")
for n_texts in (1, 2, 3, 32, 512):
    print(f"{n_texts:>4} texts:", f"{lookup.one_hot_bytes(50257, n_texts, 1024):>15,} bytes")

# %% tags=["guess"]
guess.compare(texts=model // lookup.one_hot_bytes(50257, 1, 1024) + 1)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Three. A single text already takes 205,852,672 bytes, because each of its 1,024 tokens is written
# as 50,257 numbers. If you guessed hundreds: a text looks small, and as ids it is. Its 1,024 ids
# take 8,192 bytes in int64. The other 205 million bytes only say "not this one".
#
# </details>

# %% [markdown]
# ## What comes back
#
# In training, each output row gets a gradient, which says how the loss changes with that row.
# Suppose that the gradient is 1 in all four features of each word's row.

# %% [markdown] tags=["prediction"]
# All seven gradients are (1, 1, 1, 1), except that the second "the" gets (−1, −1, −1, −1). The
# table has eight rows. How many of them receive a gradient that isn't zero?

# %% tags=["guess"]
guess = Guess(rows=...)


# %%
def gradients(second_the):
    incoming = torch.ones(7, 4)
    incoming[4] = second_the
    return lookup.lookup_backward(incoming, ids, 8)


def draw(second_the=-1):
    return figures.row_gradients(gradients(second_the), words)


play(draw, second_the=[-2, -1, 0, 1, 2])

# %% tags=["guess"]
guess.compare(rows=int(gradients(-1).any(dim=1).sum()))

# %% [markdown] tags=["slider"]
# Move the slider to 0, to 1 and to −2. What happens to the row of "the"?

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Five. Six different words were read, but the two gradients of "the" cancel: 1 + (−1) = 0. Its row
# looks exactly like those of "dog" and "king", which were never read. If the second gradient is 1,
# too, the row collects 2 in each feature, twice as much as any other row.
#
# There is only one row for "the", wherever it appears. If its two positions pull the row in
# different directions, the row can only follow their sum. Lessons 2 and 3 are about giving the two
# positions something that differs.
#
# </details>

# %% [markdown]
# ## Does a frequent word learn faster?

# %% [markdown] tags=["prediction"]
# A batch contains "the" a hundred times, "cat" once, and "dog" never, and the loss is the sum of
# all the rows that are read. So the gradient of "the" is a hundred times that of "cat". We take one
# step with learning rate 0.1, using `SGD`, `Adam` and `AdamW`. How far does each of the three rows
# move?

# %% tags=["guess"]
guess = Guess(
    the_with_SGD=...,
    cat_with_SGD=...,
    the_with_Adam=...,
    cat_with_Adam=...,
    dog_with_Adam=...,
    dog_with_AdamW=...,
)

# %%
batch, moves = torch.tensor([0] * 100 + [1]), {}
for kind in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
    torch.manual_seed(0)
    embedding = lookup.TokenEmbedding(8, 4)
    before, optimizer = embedding.weight.detach().clone(), kind(trainable(embedding), lr=0.1)
    embedding(batch).sum().backward()
    optimizer.step()
    moved = (embedding.weight.detach() - before).abs().max(dim=1).values
    moves[kind.__name__] = moved.tolist()
    print(f"{kind.__name__:<6}", *(f"{words[i]} {moved[i].item():.6f}   " for i in (0, 1, 6)))

# %% tags=["guess"]
guess.compare(
    the_with_SGD=moves["SGD"][0],
    cat_with_SGD=moves["SGD"][1],
    the_with_Adam=moves["Adam"][0],
    cat_with_Adam=moves["Adam"][1],
    dog_with_Adam=moves["Adam"][6],
    dog_with_AdamW=moves["AdamW"][6],
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With SGD, "the" moves by 10 and "cat" by 0.1: a hundred times the gradient, a hundred times the
# step. With Adam, both move by exactly the same distance, 0.1. Adam divides each gradient by the
# typical size of that number's gradients, and after one step, the only one it has seen is this one.
# So it makes no difference how often a word occurs. In natural text, the most common word occurs
# thousands of times as often as a rare one, and no single learning rate for SGD suits both. That is
# one explanation of why language models are trained with Adam (Kunstner et al., 2024,
# arXiv:2402.19449).
#
# And "dog", which nobody read? SGD and Adam leave it alone, because its gradient is exactly zero
# and always was. AdamW moves even that row a little: it shrinks every number by lr · 0.01, here by
# a thousandth, whether or not there was a gradient. (That's also why "the" and "cat" don't move by
# 0.1 to the last digit.)
#
# </details>

# %% [markdown]
# ## Which rows are ever read?
#
# With a gradient of ones, `lookup_backward` becomes a counter: row $v$ collects a 1 each time the
# token occurs. The course comes with a tokenizer of 4,096 tokens, about what a small GPT would
# have.

# %% [markdown] tags=["prediction"]
# You train a model with this tokenizer on every token of the corpus. What share of the 4,096 rows
# never receives a gradient, not in a single step?

# %% tags=["guess"]
guess = Guess(percent=...)

# %%
corpus, tokenizer = load_corpus(), bpe_tokenizer()
text = torch.tensor(tokenizer.encode(corpus.text))
counts = lookup.lookup_backward(torch.ones(len(text), 1), text, 4096).flatten()
print(f"{corpus.name}: {len(text):,} tokens, {int((counts == 0).sum()):,} of 4,096 rows never read")
for i in counts.topk(3).indices.tolist():
    print(repr(tokenizer.decode([i])), f"read {int(counts[i]):,} times")

# %% tags=["guess"]
guess.compare(percent=100 * (counts == 0).double().mean().item())

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# In the kingdom, the small text that comes with the course, 3,845 of the 4,096 rows are never read.
# That's 94% of the table, in a text of 39,701 tokens. The tokenizer was made from a different text,
# Shakespeare, and most of its words don't occur here. If you downloaded TinyShakespeare, you see
# 449 rows, or 11%. The tokenizer was made from that very text, and still some rows are never read.
# Some of them are bytes that the text doesn't contain. Others were only steps on the way to a
# longer token: "WARWIC" was merged before "WARWICK", and it never occurs without its K.
#
# The same thing happens to large models if the tokenizer was made from one collection of texts and
# the model was trained on another. A token that occurs only in the first collection is never
# trained. Nobody notices until somebody types it and the model answers with nonsense. The
# best-known example is " SolidGoldMagikarp". Land and Bartolo (2024, arXiv:2405.05417) found such
# tokens in many language models.
#
# </details>

# %% [markdown] answer="why-gradients-add" points=2
# ## In your own words: why do they add up?
#
# If an id occurs three times, its row gets the *sum* of the three gradients, not their average and
# not the last one. Explain why, without the word "autograd". (What happens to the loss if you
# change one number in that row a little?)
#
# ### BEGIN SOLUTION
# The row is one set of numbers that is used in three places. If I change one number a little, the
# output changes in all three places at once, and the loss changes by the three effects together: to
# first order, by their sum. The gradient is by definition this change per unit. In terms of
# matrices, the table's gradient is $O^T G$, and row $v$ of $O^T$ has a one at each of the three
# places, so the product adds three rows of $G$. An average would answer a different question (it
# would depend on how often the word occurs), and keeping only the last gradient would ignore two
# positions where the row was used.
#
# *Grading: 2 points for "one shared row, changed in all places at once, effects add up" or a
# correct argument with the transposed one-hot matrix; 1 point for only stating that the chain rule
# sums.*
# ### END SOLUTION

# %% [markdown] answer="never-read" points=2
# ## In your own words: the token that never came
#
# A token is in the vocabulary but never occurs in the training text. What does its row look like
# after training with Adam, and after long training with AdamW? What does the model see when a user
# types that token?
#
# ### BEGIN SOLUTION
# Its gradient is exactly zero in every step. Adam never gets a gradient for it, so the row is still
# the random one that was drawn at the start, bit for bit. AdamW multiplies every number by (1 − lr
# · decay) in each step, so the row shrinks towards zero. When a user types the token, the model
# gets a vector that no other layer has ever seen: random noise (Adam), or almost nothing, as if
# there were no token (AdamW). Either way, the model was never trained to use it. (If the table is
# also the output layer, every token's row gets a gradient as a wrong answer, so even an unread row
# moves: away from what the model produces.)
#
# *Grading: 1 point for the row after Adam and AdamW (unchanged; shrunk), 1 for the consequence: an
# input that later layers were never trained on. The remark on tied output layers isn't required.*
# ### END SOLUTION
