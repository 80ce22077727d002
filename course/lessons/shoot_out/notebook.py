# %% [markdown]
# # The shoot-out
#
# **Small models, identical except for one thing: how they know where a token is.** Each reads
# text in windows of 64 characters and learns to predict the next character. Then each is tested
# on texts of 128 and 256 characters, longer than any in training. There are many claims about
# which scheme wins. Here you test them. The first cell says what each scheme does.
#
# *Uses what you wrote in lessons 1 to 5 and 7 if it passes its tests; everything borrowed from
# the reference is listed below. Nothing here is graded. Allow a minute or two for the trainings.
# The text is TinyShakespeare if you fetched it (`course data tinyshakespeare`), otherwise the toy
# kingdom; the explanations give the numbers for both.*

# %%
import dataclasses
import math
import textwrap

import torch

from course.core.schemes import CONTEXT, SCHEMES, ModelSize, schemes_for
from course.data.corpus import load_corpus
from course.experiments.positions import RopeAt, frequencies, shoot_out, smoothed
from course.experiments.training import QUICK, Training, rate
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess

torch.set_num_threads(1)  # batches this small are not worth sharing
corpus = load_corpus()
n_characters = len(set(corpus.text))
print(f"{corpus.name}: {len(corpus.text):,} characters, {n_characters} different ones")
loss_of_a_guess = math.log(n_characters)
print(f"a random guess costs ln {n_characters} = {loss_of_a_guess:.2f} nats per character\n")
for scheme in schemes_for(QUICK.size.n_layers):
    print(f"{scheme:<12}{SCHEMES[scheme].sentence}")

# %% [markdown] tags=["prediction"]
# All have one layer, 64 features and four heads, and see the same windows in the same order.
# Which scheme has the lowest loss on held-out text at length 64, the training length? Which one
# at 256? Whose loss explodes, and can any loss become *lower* on longer texts?

# %% tags=["guess"]
guess = Guess(lowest_at_64=..., lowest_at_256=..., highest_at_256=...)

# %%
results = {result.scheme: result for result in shoot_out()}
print(f"loss on held-out text of {corpus.name}, in nats per character")
print(f"{'characters read':<16}" + "".join(f"{length:>8}" for length in (64, 128, 256)))
for scheme, result in results.items():
    print(f"{scheme:<16}" + "".join(f"{loss:>8.2f}" for loss in result.held_out.values()))
sources = {}
for result in results.values():
    sources |= result.sources
borrowed = [name for name in sources if sources[name] == "borrowed"]
borrowed = textwrap.wrap(", ".join(borrowed) or "nothing", width=90)
print("\nborrowed, because yours hasn't passed yet:", *borrowed, sep="\n")

# %%
figures.losses_by_length({scheme: result.held_out for scheme, result in results.items()}, CONTEXT)

# %% tags=["guess"]
at = {
    length: {name: result.held_out[length] for name, result in results.items()}
    for length in (64, 256)
}
guess.compare(
    lowest_at_64=min(at[64], key=at[64].get),
    lowest_at_256=min(at[256], key=at[256].get),
    highest_at_256=max(at[256], key=at[256].get),
)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# | | kingdom: 64 | 128 | 256 | TinyShakespeare: 64 | 128 | 256 |
# |---|---|---|---|---|---|---|
# | none | 1.52 | 1.69 | 1.81 | 2.41 | 2.45 | 2.47 |
# | learned | 0.40 | 2.32 | 3.33 | 2.13 | 2.61 | 2.88 |
# | sinusoidal | 0.87 | 2.18 | 2.96 | 2.29 | 2.60 | 2.83 |
# | RoPE | 0.41 | 0.72 | 1.57 | 2.02 | 2.05 | 2.23 |
# | ALiBi | 0.41 | 0.37 | 0.36 | 2.10 | 2.09 | 2.06 |
# | T5's bias | 0.54 | 0.67 | 1.02 | 2.13 | 2.19 | 2.26 |
# | a quarter rotated | 0.49 | 1.77 | 2.96 | 2.05 | 2.31 | 2.68 |
#
# **At 64** RoPE wins on TinyShakespeare, in agreement with the literature. On the kingdom there
# is no winner: learned, RoPE and ALiBi are within 0.01 of each other for each of three seeds.
# That text is so regular that any clear notion of order is enough.
#
# **At 256** ALiBi wins on both. Its penalty continues as before, and its loss even falls: in a
# longer window, a smaller share of the characters is at the beginning, where little is known yet.
# The learned table has rows up to 255, but no gradient ever reached those after row 63; on the
# kingdom it ends up as bad as random guessing. The sinusoids have a formula for every position,
# but the model never saw those positions in training and cannot use them. RoPE is in between:
# near tokens look the same as before, and far ones are at distances that it has never seen. With
# only a quarter of the features rotated, it is nearly as good at 64 and much worse at 256: see
# surprise 4. T5's bias could learn ALiBi's penalty, but it is behind ALiBi at every length: see
# surprise 5.
#
# </details>

# %% [markdown]
# ## How they learned
#
# The loss jumps from step to step, because each batch is a different text, so we draw an average
# over 25 steps. Where does the learned table separate from "none", and why not right away?


# %%
def draw(steps_averaged=25):
    curves = {name: smoothed(result.losses, steps_averaged) for name, result in results.items()}
    return figures.loss_curve(
        curves, math.log(n_characters), unit="nats per character", step="step"
    )


play(draw, steps_averaged=[1, 5, 25, 100])

# %% [markdown] tags=["slider"]
# Move the slider to average over fewer or more steps.

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# For more than a hundred steps the learned table is no better than no positions at all. Its rows
# start as noise, and no row knows about its neighbors: each has to be learned before there is an
# order to use. On the kingdom it then catches up. RoPE and ALiBi have distances from the first
# step on and lead from the start. The sinusoids have their positions from the first step, too,
# and still start slowest of all: see surprise 1.
#
# </details>

# %% [markdown]
# Here is what five of them write, in no particular order.

# %%
five = [results[name] for name in ("none", "learned", "sinusoidal", "rope", "alibi")]
shuffled = sorted(five, key=lambda result: result.sample[::-1])
for number, result in enumerate(shuffled, 1):
    print(f"--- {number}\n{result.sample[:150].strip()}\n")

# %% [markdown] tags=["prediction"]
# Which scheme wrote which: "none", "learned", "sinusoidal", "rope" or "alibi"?

# %% tags=["guess"]
guess = Guess(text_1=..., text_2=..., text_3=..., text_4=..., text_5=...)

# %%
wrote = {f"text_{number}": result.scheme for number, result in enumerate(shuffled, 1)}
print(wrote)

# %% tags=["guess"]
guess.compare(**wrote)

# %% [markdown]
# <details><summary>What to look for</summary>
#
# On the kingdom, "none" gives itself away: the right letters, in an order that no word has. The
# sinusoidal model comes next, with words that are nearly words. The other three are hard to tell
# apart, and so are their losses. On TinyShakespeare a model this small spells badly with any
# scheme.
#
# </details>

# %% [markdown]
# ## Surprise 1: the sinusoids drown out the tokens
#
# The sinusoidal model above multiplies its tokens by $\sqrt{C} = 8$ before it adds the positions,
# a line of the 2017 paper that is easy to overlook.

# %% [markdown] tags=["prediction"]
# We leave out the factor. A sine wave has a root mean square of 0.71; a token's row starts at
# 0.02. Training can make the rows larger, so what does leaving it out cost: nothing, a little, or
# so much that the model falls behind the one without positions?

# %% tags=["guess"]
guess = Guess(loss_without_the_factor=...)


# %%
def trained(scheme, settings=QUICK, **changes):
    training = Training(scheme, settings, corpus.text)
    for name, value in changes.items():
        setattr(training.model, name, value)
    while training.step < settings.steps:
        training.take_step()
    return training


unscaled = trained("sinusoidal", token_scale=1.0)
loss_of_unscaled = unscaled.held_out_loss(64)
rows = unscaled.model.tokens.weight.detach()
print(f"tokens times 8   loss {results['sinusoidal'].held_out[64]:.2f}")
print(f"tokens times 1   loss {loss_of_unscaled:.2f}")
print(f"no positions     loss {results['none'].held_out[64]:.2f}")
print(f"after training the rows of the tokens have a root mean square of {rows.std().item():.2f}")

# %% tags=["guess"]
guess.compare(loss_without_the_factor=loss_of_unscaled)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# It falls behind the model without positions: 1.85 against 1.52 on the kingdom, 2.56 against 2.41
# on TinyShakespeare. (With the factor: 0.87 and 2.29.) After 600 steps the rows have grown to
# 0.12 and 0.10, still far below 0.71. *Where* drowns out *what*, and the layer norm before
# attention keeps the proportion as it is. The factor of 8 raises 0.02 to 0.16 right away, and it
# multiplies the effect of each optimizer step on a row by eight, too.
#
# So "add positions, they can only help" is wrong. A model has to be able to hear both.
#
# </details>

# %% [markdown]
# ## Surprise 2: it learns without being told the order
#
# "None" is far from useless: compare it with the dashed line above, which is the loss of
# guessing. How much of that comes from the last character alone, and how much from the characters
# before it? And does their order matter?

# %% [markdown] tags=["prediction"]
# We predict the character after 64 others, and then again with the first 63 shuffled (the 64th
# stays where it is). We do this for a model with one layer and one with two, both trained half as
# long as those above. By how much does shuffling raise the loss of each?

# %% tags=["guess"]
guess = Guess(one_layer=..., two_layers=...)


# %%
@torch.no_grad()
def loss_of_last(training, order):
    ids = training.held_out_ids
    starts = torch.linspace(0, len(ids) - 65, 1024).long()[:, None]
    past, following = ids[starts + order], ids[starts[:, 0] + 64]
    return torch.nn.functional.cross_entropy(training.model(past)[:, -1], following).item()


in_order = torch.arange(64)
mixed = torch.cat((torch.randperm(63, generator=torch.Generator().manual_seed(0)), in_order[63:]))
raised = {}
for n_layers in (1, 2):
    training = trained(
        "none", dataclasses.replace(QUICK, size=ModelSize(n_layers, 64, 4), steps=300)
    )
    before, after = loss_of_last(training, in_order), loss_of_last(training, mixed)
    raised[n_layers] = after - before
    print(f"{n_layers} layer(s): {before:.3f} in order, {after:.3f} shuffled")
follows = torch.full((n_characters, n_characters), 0.01)  # how often which follows which
follows.index_put_(
    (training.train_ids[:-1], training.train_ids[1:]), torch.ones(()), accumulate=True
)
shares = follows / follows.sum(1, keepdim=True)
held_out = training.held_out_ids
bigrams = -shares[held_out[:-1], held_out[1:]].log().mean().item()
print(f"counting only which character follows which: {bigrams:.2f}")

# %% tags=["guess"]
guess.compare(one_layer=raised[1], two_layers=raised[2])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With one layer, shuffling changes nothing at all. To the last token, which is the query, the
# others are a bag: it knows which characters occurred, and how often. That is all that "none" has
# besides the last character, and it is worth something: 1.86 against 1.99 for counting on the
# kingdom, 2.42 against 2.49 on TinyShakespeare. The longer the text, the more the bag contains,
# and the less it says about the current position. So the loss of "none" climbs with the length,
# although it has no positions that could be new.
#
# With two layers, shuffling *does* hurt: 1.68 becomes 2.29 on the kingdom, and 2.41 becomes 2.51
# on TinyShakespeare. The causal mask lets token 5 see five others and token 50 see fifty, so what
# the first layer writes into a token depends on what came before it, and the second layer can
# read that. A causal model can tell order without being told. But it gains little: after 600
# steps, with one layer, RoPE is at 0.41 and 2.02.
#
# </details>

# %% [markdown]
# ## Surprise 3: YaRN loses
#
# Lessons [5](../course/lessons/rope/README.md) and [7](../course/lessons/longer/README.md)
# describe three changes that let a trained RoPE model read longer texts. All were measured on the
# model above, after its training. Linear interpolation divides every position by the factor of the
# length, so that no angle is larger than in training. NTK-aware scaling enlarges the base. YaRN's
# frequencies leave fast pairs unchanged and divide slow ones. A pair is fast if it makes
# `beta_fast` turns within the trained text: 32 turns in the paper ("yarn 32"), or only 4 ("yarn
# 4").

# %% [markdown] tags=["prediction"]
# At 256 characters the factor is 4. Which of the four are better than plain RoPE, and by how
# much? Which ones are worse? The loss of plain RoPE is in the table above.

# %% tags=["guess"]
guess = Guess(ntk=..., linear=..., yarn_32=..., yarn_4=...)

# %%
of_rope = results["rope"]
losses = {"rope": of_rope.held_out}
losses |= {f"rope, {way}": by_length for way, by_length in of_rope.stretched.items()}
for name, by_length in losses.items():
    print(f"{name:<14}" + "".join(f"{loss:>8.2f}" for loss in by_length.values()))
figures.losses_by_length(losses | {"alibi": results["alibi"].held_out}, CONTEXT)

# %% tags=["guess"]
stretched = of_rope.stretched.items()
guess.compare(**{way.replace(" ", "_"): by_length[256] for way, by_length in stretched})

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# | at 256 | kingdom | TinyShakespeare |
# |---|---|---|
# | plain | 1.57 | 2.23 |
# | NTK | 1.02 | 2.07 |
# | linear | 3.68 | 3.15 |
# | YaRN, 32 turns | 3.14 | 2.78 |
# | YaRN, 4 turns | 1.56 | 2.18 |
#
# NTK repairs a lot, without any training. It hardly changes the fast pairs, which tell neighbors
# apart, and slows the slow ones, which would reach new angles. Linear interpolation slows all
# pairs equally. The previous character is now at distance 1/4, where no character ever was in
# training, and it is the one that a small model needs most. On the kingdom this is worse than
# random guessing.
#
# That doesn't contradict the paper: its authors continued training for some steps after dividing,
# and say that this is necessary. We didn't, so that all four are compared under the same
# conditions.
#
# YaRN's 32 turns are a setting for long texts. In 4,096 positions, with 64 pairs per head, 21
# pairs make 32 turns or more and don't change. In our 64 characters the fastest pair makes ten
# turns, so YaRN slows all pairs. With 4 turns it leaves that one alone and is about as good as
# plain RoPE (with seed 1: 2.21 against 2.18). It stays behind NTK, although its authors found it
# ahead even without further training. Why?
#
# </details>

# %% [markdown]
# ### Which pairs does the model read?
#
# We train the RoPE model once more. Then we divide the frequency of *one* of its eight pairs by 4
# and test at 64 characters, where no angle is new.

# %% [markdown] tags=["prediction"]
# The loss rises by whatever the model read from this pair at its old speed. For how many of the
# eight pairs does it rise by more than 0.01?

# %% tags=["guess"]
guess = Guess(pairs_that_matter=...)

# %%
of_rope, own = trained("rope"), frequencies(16)
costs = []
for pair in range(8):
    slowed = torch.where(torch.arange(8) == pair, own / 4, own)
    of_rope.model.turned = RopeAt(slowed)
    costs.append(of_rope.held_out_loss(64) - results["rope"].held_out[64])
    turns = CONTEXT * own[pair].item() / (2 * math.pi)
    print(f"pair {pair}: {turns:6.3f} turns in 64 characters, costs {costs[-1]:+.3f}")

# %% tags=["guess"]
guess.compare(pairs_that_matter=sum(cost > 0.01 for cost in costs))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Four of the eight, on both texts. On TinyShakespeare the first four cost 0.61, 0.11, 0.06 and
# 0.04, and on the kingdom 1.38, 0.52, 0.34 and 0.12. The last four cost at most 0.002.
#
# Pairs 2 and 3 make one turn and a third of a turn in 64 characters. YaRN treats them as slow and
# divides them by 4. But this model reads them, and it only ever saw near tokens: YaRN loses
# nearby what it gains far away. NTK divides the two by only 1.5 and 1.8. If the training text has
# 4,096 positions, a pair that makes one turn in it moves by 0.0015 radians per token and can
# hardly tell neighbors apart. Here it moves by 0.1.
#
# If that is the reason, YaRN should gain from a smaller `beta_slow`. It does: with 0.25 instead
# of 1, which divides pair 2 by 2.5, the loss at 256 falls from 2.18 to 2.1 on TinyShakespeare.
# YaRN's settings have to fit the model. This doesn't explain why NTK, which slows nearly all
# pairs a little, loses so little.
#
# </details>

# %% [markdown]
# ## Surprise 4: rotating a quarter doesn't work on longer texts
#
# GPT-NeoX rotates a quarter of a head's features. A quarter of our 16 is 4, which is two pairs.
# One rotates by one radian per character, the other by a hundredth of a radian. Within 64
# characters the slow one reaches 0.64 radians, and within 256 it reaches 2.56.

# %% [markdown] tags=["prediction"]
# After training we divide the frequency of the slow pair by 4, as YaRN would, so that at 256 it
# reaches 0.64 radians again. What is the loss at 256 then? And what is it at 64 if the slow pair
# doesn't rotate at all?

# %% tags=["guess"]
guess = Guess(slowed_at_256=..., stopped_at_64=...)

# %%
of_partial, own = trained("partial"), frequencies(4)
by_change = {"as trained": results["partial"].held_out}
for name, factor in {"slowed": 1 / 4, "stopped": 0}.items():
    of_partial.model.turned = RopeAt(own * torch.tensor([1, factor]))
    by_change[name] = {length: of_partial.held_out_loss(length) for length in (64, 128, 256)}
for name, by_length in by_change.items():
    print(f"{name:<12}" + "".join(f"{loss:>8.2f}" for loss in by_length.values()))

# %% tags=["guess"]
guess.compare(slowed_at_256=by_change["slowed"][256], stopped_at_64=by_change["stopped"][64])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# | | kingdom: 64 | 256 | TinyShakespeare: 64 | 256 |
# |---|---|---|---|---|
# | as trained | 0.49 | 2.96 | 2.05 | 2.68 |
# | slow pair slowed | 1.27 | 1.48 | 2.21 | 2.22 |
# | slow pair stopped | 2.28 | 3.19 | 2.50 | 2.70 |
#
# With the slow pair slowed down, the model does about as well on longer texts as full RoPE (1.57
# and 2.23). So it was the slow pair's new angles that broke it. (At 64, slowing only hurts,
# because nothing was new there.) And the model relies on that pair: stopping it costs 0.45 at 64
# on TinyShakespeare. It has to rely on it, because the fast pair makes a turn every 6.3
# characters, so "one back" and "seven back" look almost the same to it. In full RoPE the pairs in
# between help.
#
# Here YaRN's picture is right: one fast pair, one slow pair, nothing in between. And a quarter is
# not the same everywhere: in GPT-NeoX-20B it is 24 of 96 features, 12 pairs. With half of our 16
# features rotated, the loss is 2.01 at 64 and 2.47 at 256.
#
# </details>

# %% [markdown]
# ## Surprise 5: T5's bias was only slow
#
# T5's bias can be any function of the distance, including ALiBi's penalty. So why is it behind
# ALiBi, and why does it fail on longer texts? Its weights start near 0 and have 600 steps to
# move.

# %% [markdown] tags=["prediction"]
# We multiply the bias by 16 before adding it to the scores, and change nothing else. Adam's steps
# don't depend on the size of a gradient, so the bias moves 16 times as fast. Is the loss higher
# or lower than T5's above, at 64 and at 256?

# %% tags=["guess"]
guess = Guess(at_64=..., at_256=...)

# %%
fast = trained("t5", bias_scale=16.0)
by_length = {length: fast.held_out_loss(length) for length in (64, 128, 256)}
for name, losses in {"t5": results["t5"].held_out, "t5, times 16": by_length}.items():
    print(f"{name:<14}" + "".join(f"{loss:>8.2f}" for loss in losses.values()))
steps = sum(QUICK.lr * rate(step, QUICK.steps) for step in range(QUICK.steps))
print(f"all learning rates add up to {steps:.2f}")
bias = fast.model.bias_scale * fast.model.relative(1, CONTEXT)[:, 0].flip(-1)  # (H, T)
shown = [0, 1, 2, 3, 4, 8, 16, 32, 63]
print(f"{'characters back':<16}" + "".join(f"{distance:>7}" for distance in shown))
for head, of_head in enumerate(bias[:, shown].tolist(), 1):
    print(f"bias of head {head:<3}" + "".join(f"{value:>7.1f}" for value in of_head))

# %% tags=["guess"]
guess.compare(at_64=by_length[64], at_256=by_length[256])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Lower, and lower than every other row: 1.94, 1.94 and 1.91 at the three lengths on
# TinyShakespeare, 0.35, 0.31 and 0.29 on the kingdom. With seed 1 it is the same.
#
# Adam moves a number by about the learning rate in each step, and over 600 steps the rates add up
# to 1.26. Without the factor, the largest entry of the bias ended at 1.20: it was still growing
# when training ended. With the factor, some entries reach -8, so the model ignores distant tokens
# and works on longer texts, like the model with ALiBi. It can even express what ALiBi cannot: on
# TinyShakespeare head 1 wants the character one back (3.5) and three back (1.3), but not the one
# in between (-2.1).
#
# So the table at the top didn't compare ALiBi with T5's bias, but with a bias that had no time to
# learn. The same caution applies now: with twice the learning rate, RoPE improves from 2.02 to
# 1.97. This is not a ranking of T5 and RoPE. It shows that you always compare schemes *as they
# were trained*: a scheme that learns its positions needs steps for that, and one that is given
# them doesn't. T5 itself was trained for half a million steps, with a different optimizer.
#
# </details>

# %% [markdown]
# ## Claims and what we measured
#
# | the claim | at this size |
# |---|---|
# | RoPE is better than learned positions | by 0.11 on TinyShakespeare; on the kingdom they tie |
# | sinusoids allow longer texts than in training | no: +0.54 and +2.10 at four times the length |
# | a causal model needs no positions | it learns, but far less than with them |
# | RoPE is relative, so it works on longer texts | on TinyShakespeare, 2 times longer, not 4 |
# | NTK-aware scaling needs no training | it helps right away, but doesn't reach ALiBi |
# | YaRN is better still | not here: its settings are made for longer texts |
# | rotating a quarter is enough | at 64, nearly (+0.03); not on longer texts |
# | ALiBi: train short, test long | yes, on both texts |
# | T5's bias works on longer texts | if it has learned enough; then it is the best of all |
#
# One layer, 600 steps and characters are enough to see that the schemes differ, but too little to
# rank them for a large model. ALiBi's rule, "the nearer the better", suits characters, because
# the next one depends on the last few. It would have a harder time with a task that needs
# something far back.
#
# Next: `course experiment positions --long` trains larger models with two layers, and one more
# scheme, "rnope", which has RoPE only in every other layer. On TinyShakespeare it reaches 1.91,
# 1.93 and 2.00, and RoPE in both layers reaches 1.85, 1.91 and 2.15. `--seed 1` uses different
# random numbers, and `course data tinyshakespeare` fetches the other text.
