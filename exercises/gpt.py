"""Lesson 8: a model of your own.

Text: course/lessons/gpt. Shapes: B batch, T tokens, C features of a token, H heads,
D = C / H features of a head, V tokens of the vocabulary; Tq queries and Tk keys.

No linear layer has a bias. What holds for every exercise: course/lessons/README.md.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from exercises.learned import tied_logits
from exercises.lookup import TokenEmbedding
from exercises.rope import RotaryEmbedding


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """The features of every token, dealt out to heads: the first D to head 0, the next to head 1.

    Args:
        x: (B, T, C).
        n_heads: H.

    Returns:
        (B, H, T, D).

    Raises:
        ValueError: C is not divisible by H.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.2.

    >>> split_heads(torch.arange(8).reshape(1, 2, 4), n_heads=2)[0, 1]  # head 1 of both tokens
    tensor([[2, 3],
            [6, 7]])
    """
    if x.shape[-1] % n_heads:
        raise ValueError(
            f"C must be divisible by n_heads, so that all heads are the same; "
            f"got {x.shape[-1]} features and {n_heads} heads"
        )
    # (B, H, T, D); 1 line.
    raise NotImplementedError("TODO gpt.split_heads")


def merge_heads(x: Tensor) -> Tensor:
    """What the heads of every token found, side by side again: it undoes `split_heads`.

    Args:
        x: (B, H, T, D), usually a transposed view, whose numbers are in another order in memory.

    Returns:
        (B, T, C).

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.2 (the concatenation).

    >>> merge_heads(torch.tensor([[[[1, 2]], [[3, 4]]]]))  # two heads of one token
    tensor([[[1, 2, 3, 4]]])
    """
    # (B, T, C); 1 line.
    raise NotImplementedError("TODO gpt.merge_heads")


def causal_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None) -> Tensor:
    """For every query an average of the values that are not later, weighted by their keys.

    The queries are the last Tq of the Tk positions: query i is at Tk - Tq + i, key j at j.

    Args:
        q: (B, H, Tq, D).
        k, v: (B, H, Tk, D).
        bias: added to the scores before the softmax, broadcastable to (B, H, Tq, Tk).

    Returns:
        (B, H, Tq, D).

    Raises:
        ValueError: Tq is above Tk.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.1 and 3.2.3.

    >>> q = k = torch.zeros(1, 1, 2, 1)  # all scores equal
    >>> causal_attention(q, k, v=torch.tensor([[[[2.0], [4.0]]]])).flatten()
    tensor([2., 3.])
    """
    q_len, k_len = q.shape[-2], k.shape[-2]
    if q_len > k_len:
        raise ValueError(
            f"there must be a key for every query, its own; got {q_len} queries and {k_len} keys"
        )
    # (B, H, Tq, D); about 6 lines.
    raise NotImplementedError("TODO gpt.causal_attention")


class CausalSelfAttention(nn.Module):
    """Attention of a text to itself in H heads, with queries and keys rotated by RoPE.

    Args:
        n_embd: C, divisible by H.
        n_heads: H; C / H is even.
        max_seq_len: how many positions there are.

    Its parameters are `q_proj.weight`, `k_proj.weight`, `v_proj.weight` and `out_proj.weight`,
    (C, C) each, and no others. `forward(x, cache=None)` maps (B, T, C) to (B, T, C).

    `cache` is a dict, empty at first, in which the call keeps whatever the next one needs. A text
    read in pieces, with the same dict for each, gives what reading it whole gives.

    Source: Vaswani et al. (2017), arXiv:1706.03762, section 3.2.2; Su et al. (2021),
    arXiv:2104.09864, section 3.2 (the rotation).

    >>> attention = CausalSelfAttention(n_embd=8, n_heads=2, max_seq_len=16)
    >>> sum(weights.numel() for weights in attention.parameters())  # 4 C²
    256
    """

    def __init__(self, n_embd: int, n_heads: int, max_seq_len: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        # four linear layers and what rotates; 5 lines.
        raise NotImplementedError("TODO gpt.CausalSelfAttention")

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        # (B, T, C); about 10 lines.
        raise NotImplementedError("TODO gpt.CausalSelfAttention")


class Block(nn.Module):
    """Attention, then a small network for every token, each added to what came in.

    Args:
        n_embd, n_heads, max_seq_len: as in `CausalSelfAttention`.

    Its parts are `norm1` and `norm2` (`nn.LayerNorm`), `attention` (`CausalSelfAttention`) and
    `mlp`: a linear layer C -> 4C, a GELU, a linear layer 4C -> C. `forward(x, cache=None)` gives
    y + mlp(norm2(y)) with y = x + attention(norm1(x), cache), (B, T, C).

    Source: Radford et al. (2019), "Language Models are Unsupervised Multitask Learners",
    section 2.3 (norms first); Xiong et al. (2020), arXiv:2002.04745, figure 1b.

    >>> Block(n_embd=8, n_heads=2, max_seq_len=16)(torch.zeros(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, n_embd: int, n_heads: int, max_seq_len: int) -> None:
        super().__init__()
        # four parts; about 8 lines.
        raise NotImplementedError("TODO gpt.Block")

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        # (B, T, C); 2 lines.
        raise NotImplementedError("TODO gpt.Block")


class GPT(nn.Module):
    """A language model: token rows, blocks, a norm, and the token table once more for the logits.

    Args:
        vocab_size: V.
        n_embd: C.
        n_heads: H.
        n_layers: how many blocks.
        max_seq_len: the most positions it can tell apart.

    Its parts are `tokens` (your `TokenEmbedding`), `blocks` and `norm` (`nn.LayerNorm`); the table
    of `tokens` also makes the logits. `forward(ids, caches=None)` maps (B, T) to (B, T, V).
    `caches` is a list with a dict for each block, as `CausalSelfAttention` takes it.

    Raises:
        ValueError: more positions than max_seq_len, those in the caches counted (`RotaryEmbedding`
            raises it).

    Source: Radford et al. (2019), section 2.3; Press and Wolf (2017), arXiv:1608.05859 (one table).

    >>> model = GPT(vocab_size=11, n_embd=8, n_heads=2, n_layers=2, max_seq_len=16)
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 11])
    """

    def __init__(
        self, vocab_size: int, n_embd: int, n_heads: int, n_layers: int, max_seq_len: int
    ) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len
        # three parts; about 5 lines.
        raise NotImplementedError("TODO gpt.GPT")

    def forward(self, ids: Tensor, caches: list[dict] | None = None) -> Tensor:
        # (B, T, V); about 4 lines.
        raise NotImplementedError("TODO gpt.GPT")


def next_token_loss(logits: Tensor, ids: Tensor) -> Tensor:
    """The mean cross entropy of every token's successor: what training makes small.

    Args:
        logits: (B, T, V); those at t are about the token at t + 1.
        ids: (B, T).

    Returns:
        A scalar, in nats: the mean over all B (T - 1) tokens that come after another one.

    Raises:
        ValueError: T is below 2.

    Source: Bengio et al. (2003), "A Neural Probabilistic Language Model", section 2.

    >>> logits = torch.zeros(1, 3, 2)  # two tokens, both thought equally likely
    >>> next_token_loss(logits, torch.tensor([[0, 1, 1]]))  # ln 2
    tensor(0.6931)
    """
    if ids.shape[1] < 2:
        raise ValueError(f"there must be at least 2 tokens, or none comes next; got {ids.shape[1]}")
    # a scalar; 1 line.
    raise NotImplementedError("TODO gpt.next_token_loss")


def generate(
    model: nn.Module,
    ids: Tensor,
    n_new: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    generator: torch.Generator | None = None,
) -> Tensor:
    """A text and its continuation, token by token.

    Each new token is drawn from softmax(logits / temperature) at the last position; with `top_k`
    only from so many of the most probable, with temperature 0 it is the most probable. The model
    reads the text once, then each new token once, with caches; the last one need not be read. It
    runs in evaluation mode, without gradients, and is left in the mode that it was in.

    Args:
        model: a `GPT`, or what has its `forward(ids, caches)`, `blocks` and `max_seq_len`.
        ids: the text, (B, T).
        n_new: how many tokens to add.
        temperature: 0 or more.
        top_k: 1 to V.
        generator: what draws, if it is given.

    Returns:
        (B, T + n_new).

    Raises:
        ValueError: temperature < 0, top_k < 1 or T + n_new > max_seq_len + 1.

    Source: Fan et al. (2018), arXiv:1805.04833, section 5.4 (top k).

    >>> model = GPT(vocab_size=11, n_embd=8, n_heads=2, n_layers=1, max_seq_len=16)
    >>> generate(model, torch.tensor([[3, 1, 4]]), n_new=5).shape
    torch.Size([1, 8])
    """
    if temperature < 0:
        raise ValueError(f"temperature must be 0 or more; got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, or no token is left; got {top_k}")
    if ids.shape[1] + n_new > model.max_seq_len + 1:
        raise ValueError(
            f"T + n_new must be at most {model.max_seq_len + 1} (max_seq_len + 1, because the last "
            f"token is not read); got {ids.shape[1]} + {n_new} = {ids.shape[1] + n_new}"
        )
    # (B, T + n_new); about 17 lines.
    raise NotImplementedError("TODO gpt.generate")
