# %% [markdown]
# # 8. A model of your own
#
# **What is left to write, once a model knows what and where?** Attention, a small network, two
# plus signs and a loop. Here you put your own parts together and look inside: a model with a
# single block learns the toy kingdom in a few seconds, and it is small enough to see what its
# heads look at.
#
# Write your guess into its cell before you run the next one. The numbers in the explanations are
# the reference's; a module that draws its initial weights in another order gets slightly
# different ones.

# %%
import math
import time
from functools import partial
from itertools import pairwise

import torch

from course.data.batches import get_batch, train_val_split
from course.data.kingdom import kingdom_text
from course.data.tokenizers import WordTokenizer
from course.experiments.training import trainable
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

gpt, rope, learned = exercises("gpt"), exercises("rope"), exercises("learned")
torch.set_num_threads(1)  # a model as small as this is fastest on one

tokenizer = WordTokenizer.from_text(kingdom_text(), pattern=r"[a-z]+|\.")
ids, held_out = train_val_split(torch.tensor(tokenizer.encode(kingdom_text())))
held_out = held_out[: len(held_out) // 24 * 24].view(-1, 24)  # (B, 24)
V, C, H = tokenizer.vocab_size, 64, 4
print(f"{V} words; {len(ids):,} to train on, {held_out.numel():,} held out")

# %% [markdown]
# ## Heads

# %% [markdown] tags=["prediction"]
# Six tokens with twelve features become three heads with four. Each head should contain all six
# tokens, with a third of their features. A friend writes `x.view(1, 3, 6, 4)`, which has the
# right shape.
#
# How many different tokens does head 0 contain then? And how many of the 72 numbers are where
# `split_heads` puts them?

# %% tags=["guess"]
guess = Guess(tokens_in_head_0=..., numbers_in_their_place=...)

# %%
x = 100 * torch.arange(1, 7)[None, :, None] + torch.arange(12)  # token 3 has 300, 301, ...
right, wrong = gpt.split_heads(x, 3), x.view(1, 3, 6, 4)
print("tokens in head 0, split and swapped:", (right[0, 0, :, 0] // 100).tolist())
print("tokens in head 0, by view alone:    ", (wrong[0, 0, :, 0] // 100).tolist())

# %% tags=["guess"]
guess.compare(
    tokens_in_head_0=len((wrong[0, 0] // 100).unique()),
    numbers_in_their_place=int((right == wrong).sum()),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Two tokens, and 8 of the 72 numbers. Memory holds one token after another, and `view` cuts it
# into three equal pieces, so head 0 gets all twelve features of the first two tokens. Only a
# piece at the start and one at the end happen to be right. Attention runs on it without an
# error, treating the three thirds of one token as three tokens.
#
# </details>

# %% [markdown]
# ## A model, counted

# %% [markdown] tags=["prediction"]
# The model has one block, 64 features, 4 heads and 172 words. How many parameters does it have,
# and what share of them is the token table? (The formula is in the text; it takes a minute on
# paper.)

# %% tags=["guess"]
guess = Guess(parameters=..., share_of_the_table=...)

# %%
torch.manual_seed(0)
model = gpt.GPT(V, C, H, n_layers=1, max_seq_len=128)
n_parameters, n_table = learned.count_parameters(model), learned.count_parameters(model.tokens)
print(f"{n_parameters:,} parameters, {n_table:,} of them in the token table")
print("by the formula:", V * C + 12 * C**2 + 4 * C + 2 * C)

# %% tags=["guess"]
guess.compare(parameters=n_parameters, share_of_the_table=n_table / n_parameters)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 60,544, and 18% of them are the table: 172 · 64 = 11,008. It is used at both ends and counted
# once. Attention has $4C^2 = 16{,}384$, and the MLP twice as many. No number in the model says
# where a token is.
#
# </details>

# %% [markdown]
# ## Before and after training

# %% [markdown] tags=["prediction"]
# Guess three losses on held-out text, in nats per word: before training, when guessing by word
# frequencies, and after 300 steps. You can compute the first. For the third, remember that the
# kingdom's grammar leaves a choice at only a few words of each sentence.

# %% tags=["guess"]
guess = Guess(untrained=..., by_frequency=..., trained=...)


# %%
def loss_of(texts):
    with torch.no_grad():
        return gpt.next_token_loss(model(texts), texts).item()


untrained = loss_of(held_out)
shares = torch.bincount(ids, minlength=V) / len(ids)
by_frequency = -shares[held_out].log().mean().item()

optimizer, losses = torch.optim.AdamW(trainable(model), lr=0.004), []
for _ in range(300):
    texts, _ = get_batch(ids, block_size=24, batch_size=16)
    loss = gpt.next_token_loss(model(texts), texts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
trained = loss_of(held_out)
print(f"untrained {untrained:.2f}, by frequency {by_frequency:.2f}, trained {trained:.2f}")
figures.loss_curve(losses, math.log(V), unit="nats per word", step="step")

# %% tags=["guess"]
guess.compare(untrained=untrained, by_frequency=by_frequency, trained=trained)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 5.13, where ln 172 = 5.15; 4.21; and 1.16. If you see 5.15 before the first step, you know that
# rows, norms and logits have the right size. About ten steps later the model knows the
# frequencies, and from then on it uses the words that come before.
#
# It cannot reach 0. After "the" the grammar itself draws from many nouns and adjectives, and
# nobody can know which one. `exp(1.16)` is 3.2: on average, the model is effectively choosing
# among three words.
#
# </details>

# %% [markdown]
# ## What a head looks at
#
# `causal_attention` returns an average of values. If the values are rows of an identity matrix,
# that average *is* the weights. So we compute queries and keys as the model does, and pass such
# values.

# %% [markdown] tags=["prediction"]
# The model reads ". the loyal dog fetched a stick .", and at "a" it has to predict what comes
# next. "a" itself says little: a bone, a mouse, a spell? Which word does the model have to look
# at? What is the largest weight that any of the four heads gives to that word, at "a"? And what
# probability does "stick" get?

# %% tags=["guess"]
guess = Guess(word=..., weight=..., probability_of_stick=...)

# %%
words = [".", "the", "loyal", "dog", "fetched", "a", "stick", "."]
T, text = len(words), torch.tensor([tokenizer.encode(" ".join(words))])
block, turn = model.blocks[0], rope.RotaryEmbedding(128, C // H)
with torch.no_grad():
    x = block.norm1(model.tokens(text))
    q, k = (
        turn(gpt.split_heads(x @ project.weight.T, H))
        for project in (block.attention.q_proj, block.attention.k_proj)
    )
    rows = torch.eye(T, C // H).expand(1, H, T, C // H)  # D is 16, and T is 8
    weights = gpt.causal_attention(q, k, rows)[0, :, :, :T]  # (H, T, T)
    next_words = model(text)[0].softmax(-1)
at = words.index("a")
play(lambda head=0: figures.attention_weights(weights[head], words), head=list(range(H)))

# %% tags=["guess"]
guess.compare(
    word=words[int(weights[:, at, :at].max(dim=0).values.argmax())],
    weight=weights[:, at, :at].max().item(),
    probability_of_stick=next_words[at, tokenizer.id_of["stick"]].item(),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# "fetched", with a weight of 1.00 in one head, and "stick" gets 0.96. Nobody told that head to
# look at the verb. In another head "loyal" and "dog" look back at "the", and many words only look
# at themselves. Heads don't divide the work cleanly; they do whatever lowers the loss.
#
# The upper right is hatched in every head: the mask.
#
# </details>

# %% [markdown] tags=["slider"]
# Move the slider from head to head. Which one looks at the previous word? Which ones seem to be
# of little use?

# %% [markdown]
# ## In pieces

# %% [markdown] tags=["prediction"]
# The model reads the held-out texts of 24 words in eight pieces of 3: once with one list of
# caches for all eight pieces, and once with *new* caches for each piece, which raises no error.
# Read in one call, the texts have the loss 1.16. What is the loss in these two cases?

# %% tags=["guess"]
guess = Guess(one_list_of_caches=..., new_caches_each_time=...)


# %%
def read_in_pieces(keep):
    caches, logits = [{} for _ in model.blocks], []
    for piece in held_out.split(3, dim=1):
        logits.append(model(piece, caches if keep else [{} for _ in model.blocks]))
    return torch.cat(logits, dim=1)


with torch.no_grad():
    whole, kept, lost = model(held_out), read_in_pieces(True), read_in_pieces(False)
in_pieces, forgetful = (gpt.next_token_loss(one, held_out).item() for one in (kept, lost))
print(f"logits, whole and in pieces, differ by {(whole - kept).abs().max():.1g} at most")

# %% tags=["guess"]
guess.compare(one_list_of_caches=in_pieces, new_caches_each_time=forgetful)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 1.16 as before, with logits that differ only by rounding, and 1.31. With new caches, each word
# is predicted from one to three words, at positions 0 to 2. The loss isn't worse because of the
# kingdom: even so few words give away most of a sentence. It also shows
# why this mistake is hard to notice: the text still looks good, and only a comparison with the
# whole text reveals it.
#
# </details>

# %% [markdown] tags=["prediction"]
# Now the model writes 100 words after a full stop. `generate` uses caches. For comparison, a
# plain loop passes the whole text to the model for every word. How many tokens does the model
# read in each case?

# %% tags=["guess"]
guess = Guess(with_caches=..., without=...)

# %%
start, counts = torch.tensor([tokenizer.encode(".")]), []
count = model.norm.register_forward_hook(lambda _, __, normed: counts.append(normed.shape[1]))


def plain(text, n_new):
    for _ in range(n_new):
        text = torch.cat((text, model(text)[:, -1:].argmax(-1)), dim=1)
    return text


n_read, written = {}, {}
with torch.no_grad():
    for name in ("with caches", "without"):
        counts.clear()
        since = time.perf_counter()
        write = plain if name == "without" else partial(gpt.generate, model, temperature=0)
        written[name] = write(start, n_new=100)
        seconds, n_read[name] = time.perf_counter() - since, sum(counts)
        print(f"{name:<12} {n_read[name]:5,} tokens read, {100 / seconds:4.0f} words a second")
count.remove()
print("the same words:", torch.equal(*written.values()))

# %% tags=["guess"]
guess.compare(with_caches=n_read["with caches"], without=n_read["without"])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 100 and 5,050: the full stop and 99 words once each, against 1 + 2 + … + 100. The clock shows a
# smaller difference, because a model as small as this one spends its time on function calls,
# not on numbers. The difference grows with the model and with the text.
#
# </details>

# %% [markdown]
# ## Three temperatures

# %% [markdown] tags=["prediction"]
# The model writes 100 texts of 23 words at each of three temperatures. As a measure of nonsense,
# we count pairs of neighboring words that never occur in the kingdom, such as "queen barked". At
# temperature 1 it is 2% of the pairs. What is it at 0.5, and at 2? And at 0, how many different
# texts are there among the 100?

# %% tags=["guess"]
guess = Guess(percent_at_half=..., percent_at_2=..., different_at_0=...)

# %%
spelled = [tokenizer.words[i] for i in tokenizer.encode(kingdom_text())]
known, percent, texts = set(pairwise(spelled)), {}, {}
for temperature in (0, 0.5, 1, 2):
    draws = torch.Generator().manual_seed(0)
    new = gpt.generate(model, start.repeat(100, 1), 23, temperature, generator=draws)
    texts[temperature] = [tokenizer.decode(one) for one in new]
    pairs = [pair for one in texts[temperature] for pair in pairwise(one.split())]
    percent[temperature] = 100 * sum(pair not in known for pair in pairs) / len(pairs)
    print(f"{temperature:>3}: {percent[temperature]:4.1f} %  {texts[temperature][0][:75]}")

# %% tags=["guess"]
guess.compare(
    percent_at_half=percent[0.5], percent_at_2=percent[2], different_at_0=len(set(texts[0]))
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 0.1% at 0.5, 34% at 2, and a single text at 0: without a random draw there is only one way to
# continue. A low temperature makes few mistakes and says the same things again and again. A high
# one flattens the probabilities even where the model is sure, such as after "fetched a", and then
# one wrong word leads to the next.
#
# Temperature 1 samples what the model has learned, with all its doubts. Try `top_k=5` at 2.
#
# </details>

# %% [markdown] answer="keys-in-the-cache" points=2
# ## In your own words: keys in the cache
#
# One colleague caches keys *before* the rotation and rotates all of them again at each step.
# Another caches rotated keys, as you do, but by mistake rotates all cached keys once more at each
# step. One of the two models writes what it should. Which one, and why? What goes wrong in the
# other, and what does the right one cost?
#
# ### BEGIN SOLUTION
# The first is right: a key's rotation depends only on its own position, so rotating it now or
# when it arrived gives the same key, as long as each is rotated once, by its own position (0, 1,
# 2, ...). The cost is work: all earlier keys are rotated at each step instead of one. (This is
# even necessary if the base changes with the length of the text.) In the second, a key from
# position j is rotated again at every step, so its angle grows: scores depend on how long ago it
# arrived and how often the cache was used, not on the distance as in training. Within a single
# pass over a prompt nothing is wrong, so it shows only when the model continues.
#
# *Grading: 1 point for "the first, because each key is rotated once by its own position, at the
# cost of more work", 1 for what happens to keys that are rotated again (wrong angles, growing
# with each step, not visible on the prompt).*
# ### END SOLUTION

# %% [markdown] answer="too-good-a-loss" points=2
# ## In your own words: too good to be true
#
# A friend trains on this kingdom, and after 150 steps the loss is 0.02. The model writes "the the
# the the". Name two mistakes, each of which lets the loss fall so low. Which experiment, in a few
# lines and without reading the code, tells them apart?
#
# ### BEGIN SOLUTION
# The model can see what it has to predict. Either the loss isn't shifted: logits at t are
# compared with the token at t, which the model has just read, so it learns to repeat its input.
# Or the mask is missing (or wrong), and attention reads the next token. To tell them apart,
# change a later token of a text and see whether logits at earlier positions change. If they do,
# the mask is wrong. If they don't, it is the shift, and the logits at t have their maximum at
# token t itself. (The output doesn't tell: with either mistake, a model with one block writes
# "the the the". Without a mask it has nothing to copy from when it reads the last token.)
#
# *Grading: 1 point for both causes (no shift, no mask), 1 for an experiment that separates
# them.*
# ### END SOLUTION
