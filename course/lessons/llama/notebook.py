# %% [markdown]
# # 9. A real model on your code
#
# **Does all this hold in a real model?** Here you try out the parts in which a Llama differs from
# your GPT, on small numbers first. At the end, SmolLM2 runs on your functions if you've fetched
# it (`course data smollm2`, 98 MB).
#
# Write your guess into its cell before you run the next one.

# %%
import torch

from course.data import data_folder
from course.data.published import FILE, open_smollm2
from course.publishing import figures
from course.publishing.figures.controls import play
from course.student.guess import Guess
from course.student.notebook import exercises

llama, gpt, rope = exercises("llama"), exercises("gpt"), exercises("rope")
_ = torch.manual_seed(0)

# %% [markdown]
# ## A norm without a mean

# %% [markdown] tags=["prediction"]
# We take 1,000 random tokens with 64 features and normalize them with `nn.LayerNorm` and with
# your `RMSNorm`. Then we add 3 to every feature, and normalize again. By how much does the result
# of each change, at most?

# %% tags=["guess"]
guess = Guess(layer_norm_changes_by=..., rms_norm_changes_by=...)

# %%
x = torch.randn(1000, 64)
changes = {}
with torch.no_grad():
    for name, norm in (("layer norm", torch.nn.LayerNorm(64)), ("RMSNorm", llama.RMSNorm(64))):
        changes[name] = (norm(x + 3) - norm(x)).abs().max().item()
        print(f"{name:<11} changes by {changes[name]:.2g} at most")

# %% tags=["guess"]
guess.compare(layer_norm_changes_by=changes["layer norm"], rms_norm_changes_by=changes["RMSNorm"])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Layer norm subtracts the mean, so adding the same number everywhere changes only the last
# digits. RMSNorm keeps the mean: the row gets longer in that direction, and all its other
# features get smaller when it is divided. A Llama can live with that, because the vectors that
# are added to its stream hardly have a common mean.
#
# </details>

# %% [markdown]
# ## Who shares a key head?

# %% [markdown] tags=["prediction"]
# Nine query heads, three key heads. `repeat_heads` makes the key heads 0 0 0 1 1 1 2 2 2. A
# friend writes `x.repeat(1, 3, 1, 1)`, which makes 0 1 2 0 1 2 0 1 2. How many of the nine query
# heads read the right key head anyway?

# %% tags=["guess"]
guess = Guess(right_anyway=...)

# %%
heads = torch.arange(3.0).reshape(1, 3, 1, 1)
right = llama.repeat_heads(heads, 3).flatten()
tiled = heads.repeat(1, 3, 1, 1).flatten()
print("query head  ", list(range(9)))
print("yours reads ", right.int().tolist())
print("tiled reads ", tiled.int().tolist())


def who_reads(n_kv_heads=3):
    keys, n = torch.arange(n_kv_heads).reshape(1, n_kv_heads, 1, 1), 9 // n_kv_heads
    ways = {"yours": llama.repeat_heads(keys.float(), n), "tiled": keys.repeat(1, n, 1, 1)}
    reads = {
        name: torch.nn.functional.one_hot(heads.flatten().long(), n_kv_heads).float()
        for name, heads in ways.items()
    }
    return figures.matrices(reads, x="key head", y="query head", unit="reads", one_scale=True)


play(who_reads, n_kv_heads=[1, 3, 9])

# %% tags=["guess"]
guess.compare(right_anyway=int((right == tiled).sum()))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Heads 0, 4 and 8. The shapes are the same, the code runs, and two thirds of the heads look for
# their keys in the wrong place. In a model that you train yourself it wouldn't even matter: the
# heads would learn to live with it. It matters once the weights come from somebody else.
#
# </details>

# %% [markdown]
# ## What is in the cache

# %% [markdown] tags=["prediction"]
# Two attentions with C = 72 and H = 9 read a text of 100 tokens with a cache: one has K = 9, the
# other K = 3. How many numbers does each cache contain afterwards?

# %% tags=["guess"]
guess = Guess(nine_key_heads=..., three_key_heads=...)

# %%
held = {}
with torch.no_grad():
    for n_kv_heads in (9, 3):
        attention = llama.GroupedQueryAttention(72, 9, n_kv_heads, 128)
        cache = {}
        for piece in torch.randn(1, 100, 72).split(20, dim=1):
            attention(piece, cache)
        held[n_kv_heads] = sum(one.numel() for one in cache.values() if torch.is_tensor(one))
        print(f"K = {n_kv_heads}: {held[n_kv_heads]:,} numbers")

# %% tags=["guess"]
guess.compare(nine_key_heads=held[9], three_key_heads=held[3])

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# There are keys and values for 100 tokens, with K · D numbers each and D = 8: 2 · 100 · 72 =
# 14,400, and 4,800. The queries still have nine heads, so the model asks as many questions as
# before. It just keeps fewer answers.
#
# </details>

# %% [markdown]
# ## Rows in the wrong order

# %% [markdown] tags=["prediction"]
# A head of 16 features was trained with interleaved pairs. We move its rows to split halves with
# your `interleaved_to_half`, or forget to, and look at the attention from one query to twelve
# tokens. The scores at distance 0 don't depend on any rotation. Which other
# distances are still right in the unmoved version?

# %% tags=["guess"]
guess = Guess(how_many_distances_are_right=...)

# %%
D, T = 16, 12
w_q, w_k = torch.randn(2, D, D)
x = torch.randn(1, D).expand(T, D)  # the same token twelve times: only positions differ
turn = rope.RotaryEmbedding(64, D)


def scores(reorder):
    q, k = (turn(x @ reorder(weight).T) for weight in (w_q, w_k))
    return (q @ k.T).detach()


right = scores(lambda weight: rope.interleaved_to_half(weight, 1))
unmoved = scores(lambda weight: weight)
same = ((right[-1] - unmoved[-1]).abs() < 1e-3).flip(0)
print("distances with the right score:", same.nonzero().flatten().tolist())
figures.matrices({"rows moved": right, "rows left as they were": unmoved}, one_scale=True)

# %% tags=["guess"]
guess.compare(how_many_distances_are_right=int(same.sum()))

# %% [markdown]
# <details><summary>What happened, and why</summary>
#
# Only distance 0. Without rotation both versions are equal, since the same rows are multiplied,
# just in another order. From distance 1 on, features that don't belong together are rotated as a
# pair. Both versions run without an error and look like attention.
#
# </details>

# %% [markdown]
# ## The real one

# %%
if (data_folder() / FILE).exists():
    published = open_smollm2()
    model = llama.Llama(**published.sizes)
    heads = published.sizes["n_heads"], published.sizes["n_kv_heads"]
    weights = llama.weights_from_gguf(published.tensors, *heads)
    model.load_state_dict(weights, strict=False, assign=True)
    model.requires_grad_(False)
    ids = torch.tensor([published.tokenizer.encode("The capital of France is").ids])
    text = gpt.generate(model, ids, 8, temperature=0)
    print(published.tokenizer.decode(text[0].tolist()))
else:
    print("SmolLM2 isn't here. Fetch it with: course data smollm2")

# %% [markdown] answer="where-eps-belongs" points=2
# ## In your own words: where eps belongs
#
# A colleague writes `x / (x.square().mean(-1, keepdim=True).sqrt() + eps)`. With most inputs you
# see no difference. When do you see one, and what happens to the gradient of a row of zeros in
# each version?
#
# ### BEGIN SOLUTION
# When rows are so small that eps matters. Inside the root, eps = 1e-5 acts like a row of size
# 0.003; outside, like one of size 0.00001. So quiet rows come out much louder in the colleague's
# version. A row of zeros gives 0 in both, but the root itself has no finite slope at 0: the
# colleague's gradient is nan there, and the right one is 1 / sqrt(eps).
#
# *Grading: 1 point for "with small rows, because eps matters at a different size", 1 for the
# gradient at zero (nan against finite).*
# ### END SOLUTION

# %% [markdown] answer="what-a-first-word-proves" points=2
# ## In your own words: what a first word proves
#
# Your model answers "Paris" to "The capital of France is". A friend says that this proves the
# weights are loaded correctly. Name two mistakes that survive this test, and a better test.
#
# ### BEGIN SOLUTION
# For example a wrong base (10,000 instead of 100,000), or no rotation at all: the words of the
# prompt alone make Paris the most probable answer, in nearly any order. A better test is the loss
# on a longer text, compared with that of a correct implementation, or the logits themselves,
# number by number. (A shift of all positions also survives, but that is no mistake: only
# distances count.)
#
# *Grading: 1 point for two real mistakes, 1 for the loss on a text or a comparison of logits.*
# ### END SOLUTION
