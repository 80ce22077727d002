# %% [markdown]
# # 3. A second table, indexed by position
#
# *The rows start out random, and nobody tells the table that row 5 is next to row 6. What does
# training turn them into?*
#
# GPT-2 learned its positions in this way. If you want to use a model on texts longer than those it
# was trained on, what matters is which rows were trained, and what they have become. You can see
# both in a model that trains in a few seconds.

# %%
import math

import torch
import torch.nn.functional as F
from torch import nn

from course.data.batches import get_batch, train_val_split
from course.data.corpus import load_corpus
from course.data.kingdom import kingdom_text
from course.data.tokenizers import CharTokenizer
from course.experiments.training import trainable
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

permutation, learned = exercises("permutation"), exercises("learned")
torch.set_num_threads(1)  # a model as small as this is fastest on one
torch.manual_seed(0)
words = ["the", "cat", "sat", "on", "the", "mat", "."]

# %% [markdown]
# ## The same word at two positions

# %%
gpt = learned.GPTEmbedding(vocab_size=6, block_size=64, n_embd=384)
sentence = torch.tensor([[0, 1, 2, 3, 0, 4, 5]])  # the cat sat on the mat .
tokens, positions = gpt.tok_emb.weight[sentence[0]].detach(), gpt.pos_emb.weight[:7].detach()
figures.token_position_sum(tokens[:, :24], positions[:, :24], words)

# %% [markdown]
# These are the first 24 of 384 features. The marked rows come from the same row of the token table,
# but they are two different rows of the sum.

# %% [markdown] tags=["prediction"]
# `GPTEmbedding` returns a vector for each "the", at positions 0 and 4. How similar (cosine) are the
# two? And how similar are "the" and "cat" if *both* are at position 0, in two sentences?

# %% tags=["guess"]
guess = Guess(the_at_0_and_4=..., the_and_cat_at_0=...)

# %%
swapped = sentence[:, [1, 0, 2, 3, 4, 5, 6]]  # cat the sat on the mat .
x, y = gpt(sentence)[0], gpt(swapped)[0]
print(f"the at 0, the at 4: {F.cosine_similarity(x[0], x[4], dim=0).item():.2f}")
print(f"the at 0, cat at 0: {F.cosine_similarity(x[0], y[0], dim=0).item():.2f}")
print(f"the at 0, cat at 1: {F.cosine_similarity(x[0], x[1], dim=0).item():.2f}")

# %% tags=["guess"]
guess.compare(
    the_at_0_and_4=F.cosine_similarity(x[0], x[4], dim=0).item(),
    the_and_cat_at_0=F.cosine_similarity(x[0], y[0], dim=0).item(),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# About 0.5 in both cases. Token rows and position rows are drawn with the same spread, so each
# contributes half of a vector's squared length. Two "the" share the first half, and two words at
# position 0 share the second. So to an untrained model, "the same word elsewhere" is no more
# similar than "another word here". If you guessed 0.9 for the first, you thought of the position as
# a small mark on a word. It's half of the vector.
#
# (The numbers aren't exactly 0.5, because two random rows of 384 features aren't exactly at right
# angles: their cosine scatters by $1/\sqrt{384} = 0.05$.)
#
# </details>

# %% [markdown]
# ## A small GPT, in seconds
#
# The model has your `GPTEmbedding` at one end, your `tied_logits` at the other, and one transformer
# block from PyTorch with a causal mask in between. It reads 32 characters of the kingdom's text and
# predicts the next character at each of the 32 positions. The position table has 48 rows, so the
# last 16 are never used. (The notebook uses the kingdom even if you downloaded TinyShakespeare,
# which takes longer to learn.)

# %%
tokenizer = CharTokenizer.from_text(kingdom_text())
text = torch.tensor(tokenizer.encode(kingdom_text()))
gpt = learned.GPTEmbedding(tokenizer.vocab_size, block_size=48, n_embd=64)
layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
block = nn.TransformerEncoder(layer, 1, norm=nn.LayerNorm(64), enable_nested_tensor=False)


def losses(ids, targets):  # (B, T) each -> (B, T), nats per character
    mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
    logits = learned.tied_logits(block(gpt(ids), mask, is_causal=True), gpt.tok_emb.weight)
    return F.cross_entropy(logits.mT, targets, reduction="none")


# %% [markdown] tags=["prediction"]
# The texts start at random points, so an "e" is as likely at position 5 as at position 25. After
# 400 steps, how similar (cosine) are the rows of neighboring positions, such as 15 and 16? And
# those of 0 and 31? At the start, both are near 0.

# %% tags=["guess"]
guess = Guess(neighbors=..., ends=...)

# %%
optimizer = torch.optim.Adam(trainable(gpt, block), lr=0.003)
tables = {0: gpt.pos_emb.weight.detach().clone()}
for step in range(1, 401):
    loss = losses(*get_batch(text, block_size=32, batch_size=16)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in (25, 50, 100, 200, 400):
        tables[step] = gpt.pos_emb.weight.detach().clone()
print(f"loss {loss.item():.2f} nats per character; knowing nothing: {math.log(27):.2f}")

# %%
rows = F.normalize(tables[400][:32])
neighbors, ends = (rows[1:] * rows[:-1]).sum(dim=1).mean().item(), (rows[0] @ rows[31]).item()
print(f"neighbors, on average: {neighbors:.2f}, 0 and 31: {ends:.2f}")
play(
    lambda step=400: figures.similarity_of_positions({f"after {step} steps": tables[step]}),
    step=list(tables),
)

# %% tags=["guess"]
guess.compare(neighbors=neighbors, ends=ends)

# %% [markdown] tags=["slider"]
# Move the slider from 0 to 400. When does the picture start to glow, and where does it start?

# %%
figures.dot_against_offset({"fresh": tables[0][:32], "after 400 steps": tables[400][:32]})

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Neighbors have become similar, with a cosine of about 0.8, and the two ends point in opposite
# directions, at about −0.8. At step 0 you see only the diagonal, and around step 100 the picture
# starts to glow. Nobody told the table that 15 is next to 16. Our explanation is that neighboring
# positions do similar work: they look a few characters back and predict the next one, so their
# gradients point in similar directions. The agreement isn't perfect. In twelve measurements (three
# seeds, steps 50 to 200), the gradients of neighbors had a cosine of 0.4 on average, from 0.15 to
# 0.54, and those of positions 24 apart had 0.1. But it adds up over hundreds of steps. The order in
# the table is a trace of the work that was done with it.
#
# In the second figure, the band of the trained table is wide. Its products depend on where you
# start, not only on the distance. Training makes a table smooth, but nothing makes it *relative*.
# The bottom right corner of the first figure, positions 32 to 47, hasn't changed since the start.
#
# </details>

# %% [markdown]
# ## Past the end of training
#
# The table has 48 rows, so the model accepts texts of 48 characters without an error. It was
# trained on 32.

# %% [markdown] tags=["prediction"]
# From position 4 to position 31, the loss is about 0.7 nats per character. A model that knows
# nothing has ln 27 = 3.30. What is the loss at position 47? Still about 0.7, about 1, about 2,
# about 3.3, or more?

# %% tags=["guess"]
guess = Guess(loss=...)

# %%
batch = get_batch(text, block_size=48, batch_size=256, generator=torch.Generator().manual_seed(1))
with torch.no_grad():
    curves = {"as trained": losses(*batch).mean(dim=0)}
print("the tail is as it was drawn:", torch.equal(tables[0][32:], gpt.pos_emb.weight[32:]))
figures.loss_curve(curves, untrained=math.log(27), unit="nats per character", step="position")

# %% tags=["guess"]
guess.compare(loss=curves["as trained"][47].item())

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# More: about 4, *worse than knowing nothing*. Rows 32 to 47 never got a gradient, and Adam leaves
# such rows alone (lesson 1), so they still hold their initial random numbers. The block gets
# vectors unlike any that it was trained on. That doesn't make it unsure. It makes it confident and
# wrong.
#
# At position 32, the damage is smaller, because only its own row is strange, and everything it
# looks back at is familiar. Two or three positions later, the surroundings are strange as well. (At
# the left end, positions 0 to 3 are hard for an honest reason: there's nothing to look back at
# yet.)
#
# </details>

# %% [markdown]
# ## Can it be repaired without training?
#
# Here are three ideas for rows 32 to 47, none of which trains anything. *Repeat*: use rows 16 to 31
# a second time. *Last*: copy row 31 into all of them. *Stretch*: stretch the 32 trained rows over
# 48 positions by linear interpolation, so that almost every position gets a mixture of two rows.

# %% [markdown] tags=["prediction"]
# Which is best, and which is worst? Stretching changes the rows of *all* positions, including those
# where nothing was wrong and the loss is 0.7. What will their loss be after stretching?

# %% tags=["guess"]
guess = Guess(best=..., worst=..., loss_where_nothing_was_wrong=...)

# %%
trained = tables[400][:32]
repairs = {
    "repeat": torch.cat((trained, trained[16:])),
    "last": torch.cat((trained, trained[31:].expand(16, 64))),
    "stretch": F.interpolate(trained.T[None], 48, mode="linear", align_corners=True)[0].T,
}
for name, rows in repairs.items():
    with torch.no_grad():
        gpt.pos_emb.weight.copy_(rows)
        curves[name] = losses(*batch).mean(dim=0)
gpt.pos_emb.weight.data.copy_(tables[400])
figures.loss_curve(curves, untrained=math.log(27), unit="nats per character", step="position")

# %% tags=["guess"]
tail = {name: curves[name][32:].mean().item() for name in repairs}
guess.compare(
    best=min(tail, key=tail.get),
    worst=max(tail, key=tail.get),
    loss_where_nothing_was_wrong=curves["stretch"][4:32].mean().item(),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Stretching wins by far. Averaged over positions 32 to 47, the loss is 3.9 as trained, 3.7 with
# *repeat*, 2.1 with *last*, and 0.8 with *stretch*. The price is small: where nothing was wrong,
# the loss goes from 0.7 to 0.8.
#
# It works because neighbors are similar. A mixture of two trained rows is almost a trained row, and
# "three to the left" is still in the same direction. In an untrained table, the mixture would be
# halfway between two unrelated rows. Vision transformers are adapted to larger images in the same
# way (Dosovitskiy et al., 2021, arXiv:2010.11929, section 3.2).
#
# The two ideas that leave the trained rows where they were lose. With *last*, the model can't tell
# the new positions apart, and the more of them there are, the worse it gets. With *repeat*, the row
# at position 32 says 16, and the row at position 31 says 31, so the previous character seems to be
# fifteen positions *ahead*.
#
# </details>

# %% [markdown]
# ## What would a long table cost?

# %% [markdown] tags=["prediction"]
# In GPT-2 small, the positions take 0.63% of the parameters, for 1,024 positions. Some of today's
# models read a million tokens. With a learned table for 1,000,000 positions at GPT-2's width of
# 768, how many parameters would the table alone have, measured in whole GPT-2s (124,439,808)?

# %% tags=["guess"]
guess = Guess(GPT_2s=...)

# %%
table = learned.LearnedPositionalEmbedding(1_000, 768)  # a thousandth: the whole has 3 GB
n_parameters = 1_000 * learned.count_parameters(table)
print(f"{n_parameters:,} parameters, {n_parameters / 124_439_808:.1f} times GPT-2 small")

# %% tags=["guess"]
guess.compare(GPT_2s=n_parameters / 124_439_808)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Six. And each row learns only from texts that are long enough to reach it, which are rare. The
# last rows of such a table would look like the tail that you just saw. A formula has neither
# problem, and that's the next lesson.
#
# </details>

# %% [markdown]
# ## From a text to the first attention
#
# This is the whole input path, once, on your functions: text, ids, a batch, token rows plus
# position rows, an RMS norm as in MicroGPT, and one attention with random weights. If a shape or a
# dtype is wrong anywhere, you see it here. (It uses TinyShakespeare if you downloaded it, and the
# toy kingdom otherwise.)

# %%
corpus = load_corpus()
characters = CharTokenizer.from_text(corpus.text)
train, held_out = train_val_split(torch.tensor(characters.encode(corpus.text)))
inputs, targets = get_batch(train)  # (64, 256) each
summed = learned.GPTEmbedding(characters.vocab_size, block_size=256, n_embd=384)(inputs)
stream = F.rms_norm(summed, (384,))
attended = permutation.projected_attention(stream, *(0.02 * torch.randn(3, 384, 384)))
print(f"{corpus.name}: {len(corpus.text):,} characters, {characters.vocab_size} different ones")
print(f"reads {characters.decode(inputs[0, :8].tolist())!r}, then guesses", end=" ")
print(repr(characters.decode(targets[0, 7:8].tolist())))
stages = {"train": train, "inputs": inputs, "sum": summed, "norm": stream, "attention": attended}
for name, tensor in stages.items():
    first = [round(number, 4) for number in tensor.flatten()[:4].tolist()]
    print(f"{name:<10} {tensor.shape!s:<28} {tensor.dtype!s:<14} {first}")

# %% [markdown] answer="why-neighbors" points=2
# ## In your own words: why do neighbors become similar?
#
# Suppose that the positions were numbered in a secret, scrambled order: the first character gets
# row 17, the second row 4, and so on, in the same way in every text, in training and afterwards.
# Would the model learn worse? What would the similarity picture look like? What does your answer
# say about what the table knows?
#
# ### BEGIN SOLUTION
# It would learn just as well. The rows are all random at the start, so it doesn't matter which one
# is used for which position. The rows of neighboring positions would become similar again, because
# those positions do similar work and get similar gradients. But those rows would now be far apart
# in the table, so it would be the same picture with rows and columns scrambled: no smooth diagonal.
# The table knows nothing about the numbers of its rows. The similarity comes from the jobs of the
# positions, through the gradients.
#
# *Grading: 1 point for "learns as well, same picture scrambled", 1 for the reason: similar work
# gives similar gradients, and row numbers mean nothing to the table.*
# ### END SOLUTION

# %% [markdown] answer="untrained-tail" points=2
# ## In your own words: the tail
#
# Someone trains with texts of 512 tokens and a table of 2,048 rows, "so that the model can read
# longer texts later". The program runs without an error on 2,048 tokens. Explain what's wrong, why
# no error warns you, and one thing that would help.
#
# ### BEGIN SOLUTION
# Rows 512 to 2,047 never received a gradient, because a row learns only from texts that reach its
# position. They still hold their initial random numbers (or, with weight decay, almost zeros). No
# shape is wrong, so nothing raises an error, but from position 512 on, the model gets inputs unlike
# any in training, and those positions also spoil what later ones look back at. The loss can be
# worse than guessing. What helps: train on some texts of full length (as BERT did in the last 10%
# of its steps), or stretch the trained rows and train a little more, or use a scheme without a
# table, or reject texts longer than 512.
#
# *Grading: 1 point for "no gradient, still random, and no error because the shapes fit", 1 for a
# remedy that gives those positions meaningful rows or avoids them.*
# ### END SOLUTION
