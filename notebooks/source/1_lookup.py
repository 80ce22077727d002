# %% [markdown]
# # 1. An embedding is a table, not a layer
#
# *What does a word take out of the table, and what comes back to it?*
#
# Every token that a language model reads goes through this table. On the way in, a row is read; in
# training, a gradient comes back to that row. The first is simple. The second decides which words a
# model learns, how fast, and which ones it never learns.

# %%
import torch

from course import figures
from course.data.corpus import load_corpus
from course.data.tokenizers import bpe_tokenizer
from course.figures.play import play
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
# First a look at what it is about: the product that your `one_hot_lookup` computes, for "the cat
# sat on the mat .". `True` means that your `lookup` gives the same rows.

# %%
print(torch.equal(lookup.lookup(table, ids), lookup.one_hot_lookup(table, ids)))
figures.one_hot_times_table(table, ids, words)

# %% [markdown]
# The table's rows that were read are marked. The word "the" reads the same row twice, and "dog" and
# "king" are never asked.
#
# ## How large is the first matrix?

# %% [markdown] tags=["prediction"]
# The whole of GPT-2 small is 124,439,808 numbers, half a gigabyte in float32. Its
# vocabulary has 50,257 tokens, and it reads texts of 1,024 tokens. You write a batch of texts as
# one-hot rows in float32. How many texts does it take until the batch alone is larger than the
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
# Three. One text already takes 205,852,672 bytes, because each of its 1,024 tokens is written with
# 50,257 numbers. If you guessed hundreds: a text looks small, and it is, as ids. Its 1,024 ids take
# 8,192 bytes in int64. The other 205 million say nothing but "not this one".
#
# </details>

# %% [markdown]
# ## What comes back
#
# In training, each output row is told how the loss changes with it. Say that the gradient is 1 in
# all four features of each word's row.

# %% [markdown] tags=["prediction"]
# All seven gradients are (1, 1, 1, 1), except one: the second "the" gets (−1, −1,
# −1, −1). Eight rows are in the table. How many of them receive a gradient that is not zero?

# %% tags=["guess"]
guess = Guess(rows=...)


# %%
def gradients(second_the):
    wishes = torch.ones(7, 4)
    wishes[4] = second_the
    return lookup.lookup_backward(wishes, ids, 8)


def draw(second_the=-1):
    return figures.row_gradients(gradients(second_the), words)


play(draw, second_the=[-2, -1, 0, 1, 2])

# %% tags=["guess"]
guess.compare(rows=int(gradients(-1).any(dim=1).sum()))

# %% [markdown] tags=["slider"]
# Move the slider to 0, to 1 and to −2. What becomes of the row of "the"?

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Five. Six different words were read, but the two wishes of "the" cancel: 1 + (−1) = 0. Its row
# looks exactly like those of "dog" and "king", which were never read. If the second wish is 1 as
# well, the row collects 2 in each feature, twice what any other row gets.
#
# There is one row for "the", wherever it stands. If its first place and its second place want
# different things from it, it can only do the sum. Lessons 2 and 3 are about giving the two places
# something that differs.
#
# </details>

# %% [markdown]
# ## Does a frequent word learn faster?

# %% [markdown] tags=["prediction"]
# A batch holds "the" a hundred times, "cat" once, and "dog" never, and the loss is
# the sum of all rows read. So the gradient of "the" is a hundred times that of "cat". One step at
# learning rate 0.1, once with `SGD`, once with `Adam`, once with `AdamW`: how far does each of the
# three rows move?

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
    before, optimizer = embedding.weight.detach().clone(), kind(embedding.parameters(), lr=0.1)
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
# step. With Adam, both move by 0.1, exactly as far. Adam divides each gradient by the size that the
# gradients of this very number usually have, and after one step "usually" is this one. How often a
# word occurs cancels out. In natural text the commonest word occurs thousands of times as often as
# a rare one, and no single learning rate of SGD suits both. That is one explanation of why language
# models are trained with Adam (Kunstner et al., 2024, arXiv:2402.19449).
#
# And "dog", which nobody read? SGD and Adam leave it alone: its gradient is exactly zero, and it
# never had another. AdamW moves even that row, a little: it shrinks every number by lr · 0.01, here
# by a thousandth, whether or not there was a gradient. (So "the" and "cat" do not move by 0.1 to
# the last digit.)
#
# </details>

# %% [markdown]
# ## Which rows are ever read?
#
# A gradient of ones turns `lookup_backward` into a counter: row $v$ collects a 1 for each of its
# places. The course comes with a tokenizer of 4,096 tokens, as a small GPT would have.

# %% [markdown] tags=["prediction"]
# A model with this tokenizer is trained on the whole corpus, every token of it.
# Which share of the 4,096 rows never receives a gradient, not in one step?

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
# On the kingdom, the small text built into the course, 3,845 of the 4,096 rows are never read, 94 %
# of the table, in 39,701 tokens of text. The tokenizer was made from another text, Shakespeare, and
# most of its words do not occur here. If you fetched TinyShakespeare, it is 449, or 11 %. There the
# tokenizer was made from the very same text, and still some rows are never read. Some are bytes
# that the text does not contain. Others were steps on the way to a longer token: "WARWIC" was
# joined before "WARWICK", and never stands alone again.
#
# This happens to large models, too, where a tokenizer was made from one collection of text and the
# model trained on another. Tokens that occur in the first and not in the second are never trained.
# Nobody notices until somebody types one, and then the model answers with nonsense. The best known
# is " SolidGoldMagikarp"; Land and Bartolo (2024, arXiv:2405.05417) found such tokens in many
# language models.
#
# </details>

# %% [markdown] answer="why-gradients-add" points=2
# ## In your own words: why do they add up?
#
# When an id occurs three times, its row gets the *sum* of the three gradients, not their average
# and not the last one. Explain why, without the word "autograd". (What happens to the loss if you
# change one number of that row a little?)
#
# ### BEGIN SOLUTION
# The row is one set of numbers that is used in three places. If I change one number by a little,
# the output changes in all three places at once, and the loss changes by the three effects
# together: to first order, by their sum. The gradient is by definition this change per unit. In the
# matrix picture: the table's gradient is $O^T G$, and row $v$ of $O^T$ has a one at each of the
# three places, so the product adds three rows of $G$. An average would answer another question (it
# would depend on how often the word occurs), and keeping the last would forget two places where the
# row was used.
#
# *Grading: 2 points for "one shared row, changed in all places at once, effects add" or a correct
# argument with the transposed one-hot matrix; 1 for only stating that the chain rule sums.*
# ### END SOLUTION

# %% [markdown] answer="never-read" points=2
# ## In your own words: the token that never came
#
# A token stands in the vocabulary and never occurs in the training text. What has become of its row
# after training with Adam, and what after a long training with AdamW? What does the model see when
# a user types that token?
#
# ### BEGIN SOLUTION
# Its gradient is exactly zero in every step. Adam never had a gradient for it, so the row is still
# the random one that was drawn at the start, bit for bit. AdamW multiplies every number by (1 − lr
# · decay) in each step, so the row shrinks towards zero. When a user types the token, the model
# gets a vector that no other layer has ever seen: random noise (Adam), or nearly nothing, as if no
# token stood there (AdamW). Either way, what it does with it was never trained. (If the table is
# also the output layer, every token's row gets a gradient as a wrong answer, and even an unread row
# moves: away from what the model produces.)
#
# *Grading: 1 point for the row after Adam and AdamW (unchanged; shrunk), 1 for the consequence: an
# input that later layers were never trained on. The remark on tied output layers is not asked.*
# ### END SOLUTION
