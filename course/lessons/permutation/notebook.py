# %% [markdown]
# # 2. Attention cannot see order
#
# *How would you find out whether a machine knows who bit whom?*
#
# A language model without order is a model of shopping lists. If attention can't see order, no
# amount of training will teach it, and you'd want to know that before you pay for the training.
# Your `equivariance_gap` is the instrument. In this notebook, you point it at real layers.

# %%
import torch
import torch.nn.functional as F
from torch import nn

from course.data.kingdom import NOUNS
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

lookup, permutation = exercises("lookup"), exercises("permutation")
words = ["the", "dog", "bites", "the", "man", "at", "night"]
torch.manual_seed(0)
x = lookup.lookup(0.5 * torch.randn(6, 16), torch.tensor([[0, 1, 2, 0, 3, 4, 5]]))  # (1, 7, 16)
perm = torch.tensor([3, 4, 2, 6, 1, 0, 5])

# %% [markdown]
# ## The two ways round
#
# You can shuffle what comes out, or shuffle what goes in. The third panel is the difference, drawn
# in the colors of the other two:

# %%
before, after = permutation.toy_attention(x)[0], permutation.toy_attention(x[:, perm])[0]
figures.shuffle_panels(before, after, perm, words)

# %% [markdown]
# What's left is rounding. But this is a toy with nothing to learn. Does it also hold for the real
# thing?

# %% [markdown] tags=["prediction"]
# Take PyTorch's own encoder, as in BERT but without positions: six layers with four heads each,
# layer norms, MLPs, random weights. The word "the" is at positions 0 and 3 of our sentence, once
# before "dog" and once before "man". After six layers of attention to its surroundings, how similar
# (cosine) are the two output vectors of "the"? About 0, about 0.5, about 0.9, or 1?

# %% tags=["guess"]
guess = Guess(cosine=...)

# %%
layer = nn.TransformerEncoderLayer(16, nhead=4, dim_feedforward=64, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=6, enable_nested_tensor=False).eval()
with torch.no_grad():
    first, second = encoder(x)[0, 0], encoder(x)[0, 3]
print(f"cosine {F.cosine_similarity(first, second, dim=0).item():.6f}")
print(f"gap of the encoder: {permutation.equivariance_gap(encoder, x, perm):.0e}")

# %% tags=["guess"]
guess.compare(cosine=F.cosine_similarity(first, second, dim=0).item())

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# The cosine is 1: they are the same vector. "Before dog" and "before man" are facts about *order*,
# and nothing in the six layers knows about order. In each layer, both occurrences ask the same
# question of the same set of words, so they get the same answer. The encoder's gap is below
# 0.000001, which is rounding error: it makes no difference whether you shuffle before or after the
# six layers.
#
# If you expected less, it's probably because of the word "context". Attention does mix in the
# context, but without positions, the context of a word is the whole bag of words, and that's the
# same for every word in it.
#
# </details>

# %% [markdown]
# ## Can it be trained away?
#
# Take 20 of the kingdom's nouns and all 380 sentences of the form "A bites B". `bag_vector` turns
# each sentence into one vector of 512 features. On top of it comes a readout with a score for each
# noun: who does the biting? The readout has 512 · 20 = 10,240 weights, and least squares finds the
# weights that fit exactly these 380 sentences best. There are no other sentences to test on, so
# memorizing is allowed.

# %% [markdown] tags=["prediction"]
# The readout has 27 weights for each sentence. What percentage of its own training sentences can
# the best readout get right on top of `toy_attention`? On top of `projected_attention` with random
# queries, keys and values? And on top of `causal_toy_attention`, where each word sees only itself
# and the words before it?

# %% tags=["guess"]
guess = Guess(toy_attention=..., projected_attention=..., causal_toy_attention=...)

# %%
nouns = list(NOUNS)[:20]
rows = lookup.TokenEmbedding(21, 512).weight.detach()  # 20 nouns, and "bites" in row 20
biter, bitten = torch.tensor([(a, b) for a in range(20) for b in range(20) if a != b]).T
sentences = rows[torch.stack((biter, torch.full((380,), 20), bitten), dim=1)]  # (380, 3, 512)
weights = torch.randn(3, 512, 512) / 512**0.5  # W_q, W_k, W_v
layers = {
    "toy_attention": permutation.toy_attention,
    "projected_attention": lambda x: permutation.projected_attention(x, *weights),
    "causal_toy_attention": permutation.causal_toy_attention,
}
percent = {}
for name, layer in layers.items():
    bags = permutation.bag_vector(layer, sentences)  # (380, 512)
    readout = torch.linalg.lstsq(bags, F.one_hot(biter).float(), driver="gelsd").solution
    percent[name] = 100 * ((bags @ readout).argmax(dim=1) == biter).float().mean().item()
    print(f"{name:<20} {percent[name]:.0f}%")

# %% tags=["guess"]
guess.compare(**percent)

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# 50%, 50% and 100%. The usual rule that "enough weights can memorize anything" has a condition: the
# inputs must differ. "Dog bites man" and "man bites dog" arrive as the same vector, with two
# different right answers. Whatever the readout says, it's right for one and wrong for the other:
# 190 of 380. More data, more layers and more training don't change that. Neither do the
# projections, because they act on each word by itself.
#
# (On our own first try, all three got 100%. The readout was computed in float64, which is precise
# enough to memorize the *rounding errors* of the float32 bags, which differ in the eighth digit. To
# see it, put `.double()` after both `bag_vector(...)` and `F.one_hot(...)`.)
#
# The mask has no weights at all, and yet it lets order in. The first word is part of all three
# averages, the last word only of one. So the biter counts for more in the sum than the bitten, and
# a readout can see that.
#
# </details>

# %% [markdown]
# ## How far does a swap reach?

# %% [markdown] tags=["prediction"]
# Now for the mask, with the seven words "the dog bites the man at night". Exchange the words at
# positions 0 and 2: "bites dog the the man at night". Each word can see what comes before it, so
# "man", "at" and "night" all see both exchanged words. At how many of the seven positions does the
# word's output change? With one layer of attention, and with two?

# %% tags=["guess"]
guess = Guess(positions_with_one_layer=..., positions_with_two_layers=...)


# %%
def exchanged(swap_0_with, layers):
    perm = torch.arange(7)
    perm[[0, swap_0_with]] = perm[[swap_0_with, 0]]
    before, after = x, x[:, perm]
    for _ in range(layers):
        before, after = map(permutation.causal_toy_attention, (before, after))
    return before[0], after[0], perm


def draw(swap_0_with=2, layers=1):
    return figures.shuffle_panels(*exchanged(swap_0_with, layers), words)


play(draw, swap_0_with=range(1, 7), layers=[1, 2, 3])


# %% tags=["guess"]
def n_changed(layers):
    before, after, perm = exchanged(2, layers)
    return int(((after - before[perm]).abs().amax(dim=1) > 1e-5).sum())


guess.compare(positions_with_one_layer=n_changed(1), positions_with_two_layers=n_changed(2))

# %% [markdown] tags=["slider"]
# Move the sliders. Exchange positions 0 and 3, which are both "the". Does any output change?

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# With one layer, it changes at three positions, 0 to 2, from the first exchanged word to the
# second. "The man at night" after them is blank in the third panel. A word sees the words before it
# as a *set*, and the set is the same. The mask hides the future, but it doesn't put the past in
# order.
#
# With two layers, all seven change. Positions 0 to 2 leave the first layer with different outputs,
# and the second layer passes these on to all later words.
#
# If you exchange positions 0 and 3 instead, which are both "the", the sentence stays the same, and
# "dog" and "bites" between them notice nothing. But the two "the" differ from each other. With the
# mask, the same word gets a different output at a different position.
#
# So a model with a mask can find out about order, but it costs a layer. It's cheaper to hand it the
# positions, and that's what the next lessons do.
#
# </details>

# %% [markdown] answer="two-the" points=2
# ## In your own words: the two "the"
#
# A colleague says: "Our encoder without positions can't tell the two *the* apart because it has
# only six layers and wasn't trained. With twelve layers and enough data, it will." What's wrong
# with that, and what would have to change instead?
#
# ### BEGIN SOLUTION
# Depth and training change the weights, but the argument holds for all weights. The two words enter
# as the same vector. In every layer, equal vectors ask with equal queries, meet the same set of
# keys and values, and so get equal outputs. The layer norms, the MLP and the residual connection
# work on each token alone and map equal to equal. By induction, they are equal after any number of
# layers. Training can't separate them either, because every weight acts on both in the same way.
# Something that depends on the position must come in: positions added to the inputs (or to queries
# and keys), or a causal mask.
#
# *Grading: 1 point for "equal inputs stay equal in each layer, for any weights", 1 for naming what
# breaks it (a position, or a mask).*
# ### END SOLUTION

# %% [markdown] answer="mask-step" points=2
# ## In your own words: where the proof breaks
#
# The proof of the lesson has three steps: scores, softmax, average. Which of them fails with the
# causal mask, and why? And why does the last word of a sentence, with one masked layer, still not
# notice the order of the words before it?
#
# ### BEGIN SOLUTION
# The softmax. The scores are shuffled together with the words, $P X X^T P^T$, but the mask stays
# where it is: it belongs to positions, not to words. After a shuffle it cuts away other pairs of
# words, so the sum of a row no longer has the same terms, and $S(P M P^T) = P S(M) P^T$ fails. The
# last word is the exception, because its row of the mask cuts nothing: it averages over all words,
# with weights that depend on the words alone, and an average over the same set is the same in any
# order. From the second layer on, the words before it carry outputs that already depend on order.
#
# *Grading: 1 point for "the softmax step, because the mask belongs to positions and is not shuffled
# along", 1 for "the last word sees the whole set, and an average does not know its order".*
# ### END SOLUTION
