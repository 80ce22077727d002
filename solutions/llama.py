"""Lesson 9: a real model on your code.

Text: course/lessons/llama. Shapes: B batch, T tokens, C features of a token, H query heads,
K key heads (n_kv_heads), D = C / H features of a head, M hidden features of an MLP, V tokens of
the vocabulary.

No linear layer has a bias. What holds for every exercise: course/lessons/README.md.
"""

import re

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from solutions.gpt import causal_attention, merge_heads, split_heads
from solutions.learned import tied_logits
from solutions.lookup import TokenEmbedding
from solutions.rope import RotaryEmbedding, interleaved_to_half


class RMSNorm(nn.Module):
    """Divide each token's features by their root mean square, then scale every feature.

    Args:
        n_embd: C.
        eps: added to the mean of the squares, so that a row of zeros stays zero.

    Its one parameter is `weight`, (C,), ones at first. `forward(x)` maps (..., C) to (..., C):
    x / sqrt(mean(x²) + eps) * weight, with the mean over the last axis.

    Source: Zhang and Sennrich (2019), arXiv:1910.07467, section 3.

    >>> RMSNorm(n_embd=2)(torch.tensor([3.0, 4.0]))  # divided by sqrt(12.5)
    tensor([0.8485, 1.1314], grad_fn=<MulBackward0>)
    """

    def __init__(self, n_embd: int, eps: float = 1e-5) -> None:
        super().__init__()
        # one parameter, and eps; 2 lines.
        ### BEGIN SOLUTION
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # (..., C); 2 lines.
        ### BEGIN SOLUTION
        mean_square = x.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight
        ### END SOLUTION


def repeat_heads(x: Tensor, n_repeats: int) -> Tensor:
    """Repeat each head so that several query heads can read the same keys or values.

    Args:
        x: (B, K, T, D), keys or values.
        n_repeats: n, how many query heads share a head of x.

    Returns:
        (B, K * n, T, D): head h of the result is head h // n of x.

    Raises:
        ValueError: n_repeats is below 1.

    Source: Ainslie et al. (2023), "GQA", arXiv:2305.13245, section 2.2.

    >>> repeat_heads(torch.tensor([[[[1]], [[2]]]]), n_repeats=2).flatten()
    tensor([1, 1, 2, 2])
    """
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, or no head is left; got {n_repeats}")
    # (B, K * n, T, D); 1 line.
    ### BEGIN SOLUTION
    return x.repeat_interleave(n_repeats, dim=1)
    ### END SOLUTION


class GroupedQueryAttention(nn.Module):
    """Causal attention in which several query heads share one head of keys and values.

    Args:
        n_embd: C, divisible by H.
        n_heads: H, divisible by K; C / H is even.
        n_kv_heads: K. Query head h reads key head h // (H / K).
        max_seq_len: how many positions there are.
        base: of RoPE, which rotates queries and keys.

    Its parameters are `q_proj.weight` and `out_proj.weight`, (C, C), `k_proj.weight` and
    `v_proj.weight`, (K * D, C), and no others. `forward(x, cache=None)` maps (B, T, C) to
    (B, T, C).

    `cache` is a dict, empty at first, as in `CausalSelfAttention`. It keeps keys and values of K
    heads, not of H: that is what sharing them is for.

    Raises:
        ValueError: C is not divisible by H, or H not by K.

    Source: Ainslie et al. (2023), "GQA", arXiv:2305.13245, section 2.2.

    >>> attention = GroupedQueryAttention(n_embd=8, n_heads=4, n_kv_heads=2, max_seq_len=16)
    >>> [tuple(weight.shape) for weight in attention.parameters()]
    [(8, 8), (4, 8), (4, 8), (8, 8)]
    """

    def __init__(
        self,
        n_embd: int,
        n_heads: int,
        n_kv_heads: int,
        max_seq_len: int,
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        if n_embd % n_heads:
            raise ValueError(
                f"n_embd must be divisible by n_heads; got {n_embd} features and {n_heads} heads"
            )
        if n_heads % n_kv_heads:
            raise ValueError(
                "n_heads must be divisible by n_kv_heads, so that each key head serves equally "
                f"many query heads; got {n_heads} and {n_kv_heads}"
            )
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        # four linear layers and what rotates; about 6 lines.
        ### BEGIN SOLUTION
        head_dim = n_embd // n_heads
        self.q_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.k_proj = nn.Linear(n_embd, n_kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(n_embd, n_kv_heads * head_dim, bias=False)
        self.out_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.rotary = RotaryEmbedding(max_seq_len, head_dim, base)
        ### END SOLUTION

    def forward(self, x: Tensor, cache: dict | None = None) -> Tensor:
        # (B, T, C); about 12 lines.
        ### BEGIN SOLUTION
        q = split_heads(self.q_proj(x), self.n_heads)  # (B, H, T, D)
        k = split_heads(self.k_proj(x), self.n_kv_heads)  # (B, K, T, D)
        v = split_heads(self.v_proj(x), self.n_kv_heads)  # (B, K, T, D)
        offset = cache["k"].shape[-2] if cache else 0  # how many tokens were read before
        q, k = self.rotary(q, offset), self.rotary(k, offset)
        if cache is not None:
            if offset:
                k, v = torch.cat((cache["k"], k), dim=-2), torch.cat((cache["v"], v), dim=-2)
            cache["k"], cache["v"] = k, v  # K heads: they are repeated only to be read
        n_repeats = self.n_heads // self.n_kv_heads
        heads = causal_attention(q, repeat_heads(k, n_repeats), repeat_heads(v, n_repeats))
        return self.out_proj(merge_heads(heads))
        ### END SOLUTION


class GatedMLP(nn.Module):
    """A network for every token, in which one layer decides how much of another one passes.

    Args:
        n_embd: C.
        n_hidden: M.

    Its parameters are `gate.weight` and `up.weight`, (M, C), and `down.weight`, (C, M), and no
    others. `forward(x)` maps (..., C) to (..., C): down(silu(gate(x)) * up(x)).

    Source: Shazeer (2020), "GLU Variants Improve Transformer", arXiv:2002.05202, section 2
    (SwiGLU).

    >>> GatedMLP(n_embd=4, n_hidden=6)(torch.zeros(1, 3, 4)).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, n_embd: int, n_hidden: int) -> None:
        super().__init__()
        # three linear layers; 3 lines.
        ### BEGIN SOLUTION
        self.gate = nn.Linear(n_embd, n_hidden, bias=False)
        self.up = nn.Linear(n_embd, n_hidden, bias=False)
        self.down = nn.Linear(n_hidden, n_embd, bias=False)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        # (..., C); 1 line.
        ### BEGIN SOLUTION
        return self.down(F.silu(self.gate(x)) * self.up(x))
        ### END SOLUTION


class Llama(nn.Module):
    """A language model of the Llama family: lesson 8's GPT with the parts of this lesson.

    Args:
        vocab_size: V.
        n_embd: C.
        n_heads: H.
        n_kv_heads: K.
        n_layers: how many blocks.
        n_hidden: M.
        max_seq_len: the most positions it can tell apart.
        base: of RoPE.
        eps: of every norm.

    Its parts are `tokens` (your `TokenEmbedding`), `blocks` and `norm`; the table of `tokens` also
    makes the logits. Each block has `norm1`, `attention`, `norm2` and `mlp` and computes
    y + mlp(norm2(y)) with y = x + attention(norm1(x), cache). The names of the parameters are those
    that `weights_from_gguf` gives. `forward(ids, caches=None)` maps (B, T) to (B, T, V), with
    `caches` a list of dicts, one for each block, so that `generate` of lesson 8 runs on it.

    Raises:
        ValueError: more positions than max_seq_len, those in the caches counted: `RotaryEmbedding`
            raises it.

    Source: Touvron et al. (2023), "LLaMA", arXiv:2302.13971, section 2.2; Allal et al. (2025),
    "SmolLM2", arXiv:2502.02737, section 6.

    >>> model = Llama(vocab_size=11, n_embd=8, n_heads=4, n_kv_heads=2, n_layers=2, n_hidden=12,
    ...               max_seq_len=16)
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 11])
    """

    def __init__(
        self,
        vocab_size: int,
        n_embd: int,
        n_heads: int,
        n_kv_heads: int,
        n_layers: int,
        n_hidden: int,
        max_seq_len: int,
        base: float = 10000.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.max_seq_len = max_seq_len
        # three parts; about 14 lines.
        ### BEGIN SOLUTION
        self.tokens = TokenEmbedding(vocab_size, n_embd)
        self.blocks = nn.ModuleList()
        for _ in range(n_layers):
            block = nn.Module()
            block.norm1 = RMSNorm(n_embd, eps)
            block.attention = GroupedQueryAttention(n_embd, n_heads, n_kv_heads, max_seq_len, base)
            block.norm2 = RMSNorm(n_embd, eps)
            block.mlp = GatedMLP(n_embd, n_hidden)
            self.blocks.append(block)
        self.norm = RMSNorm(n_embd, eps)
        ### END SOLUTION

    def forward(self, ids: Tensor, caches: list[dict] | None = None) -> Tensor:
        # (B, T, V); about 5 lines.
        ### BEGIN SOLUTION
        x = self.tokens(ids)  # (B, T, C)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = x + block.attention(block.norm1(x), cache)
            x = x + block.mlp(block.norm2(x))
        return tied_logits(self.norm(x), self.tokens.weight)
        ### END SOLUTION


def weights_from_gguf(
    tensors: dict[str, Tensor], n_heads: int, n_kv_heads: int
) -> dict[str, Tensor]:
    """Translate the weights of a GGUF file into those of `Llama`.

    llama.cpp stores the rows of q and k of Llama models in interleaved pairs: they are reordered
    to split halves, q with H heads and k with K. Nothing else changes. Each name ends in `.weight`;
    the rest becomes:

        token_embd              tokens
        output_norm             norm
        blk.i.attn_norm         blocks.i.norm1
        blk.i.attn_q            blocks.i.attention.q_proj    (and k and v)
        blk.i.attn_output       blocks.i.attention.out_proj
        blk.i.ffn_norm          blocks.i.norm2
        blk.i.ffn_gate          blocks.i.mlp.gate            (and up and down)

    Args:
        tensors: weights by GGUF's names, (rows, columns) or (C,); any of them, in any order.
        n_heads: H.
        n_kv_heads: K.

    Returns:
        The weights by the names of `Llama`, as a new dict, which may share their memory.

    Raises:
        ValueError: a name is none of these.

    Source: the GGUF specification, in llama.cpp's repository (names of tensors).

    >>> list(weights_from_gguf({"blk.10.ffn_up.weight": torch.zeros(6, 4)}, 2, 1))
    ['blocks.10.mlp.up.weight']
    """
    # a dict; about 25 lines.
    ### BEGIN SOLUTION
    parts = {
        "attn_norm": "norm1",
        "attn_q": "attention.q_proj",
        "attn_k": "attention.k_proj",
        "attn_v": "attention.v_proj",
        "attn_output": "attention.out_proj",
        "ffn_norm": "norm2",
        "ffn_gate": "mlp.gate",
        "ffn_up": "mlp.up",
        "ffn_down": "mlp.down",
    }
    heads = {"attn_q": n_heads, "attn_k": n_kv_heads}
    whole = {"token_embd.weight": "tokens.weight", "output_norm.weight": "norm.weight"}
    weights = {}
    for name, tensor in tensors.items():
        found = re.fullmatch(r"blk\.(\d+)\.(\w+)\.weight", name)
        if name in whole:
            weights[whole[name]] = tensor
        elif found and found[2] in parts:
            number, part = found.groups()
            reordered = interleaved_to_half(tensor, heads[part]) if part in heads else tensor
            weights[f"blocks.{number}.{parts[part]}.weight"] = reordered
        else:
            raise ValueError(f"no weight of a Llama is called {name!r}")
    return weights
    ### END SOLUTION


def loss_by_position(model: nn.Module, ids: Tensor) -> Tensor:
    """Measure how surprised a model is by each next token, by position.

    Args:
        model: maps ids (B, T) to logits (B, T, V).
        ids: (B, T).

    Returns:
        (T - 1,): at t the cross entropy of the logits at t for the id at t + 1, in nats, the mean
        over the batch. The model runs in evaluation mode, without gradients, and is left in the
        mode that it was in.

    Raises:
        ValueError: T is below 2.

    Source: Press et al. (2022), "Train Short, Test Long", arXiv:2108.12409, section 2.2.

    >>> uniform = nn.Embedding.from_pretrained(torch.zeros(4, 4))  # all four equally likely
    >>> loss_by_position(uniform, torch.tensor([[0, 1, 2]]))  # ln 4
    tensor([1.3863, 1.3863])
    """
    if ids.shape[1] < 2:
        raise ValueError(f"there must be at least 2 tokens, or none comes next; got {ids.shape[1]}")
    # (T - 1,); about 7 lines.
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(ids)[:, :-1].transpose(1, 2)  # (B, V, T - 1)
        losses = F.cross_entropy(logits, ids[:, 1:], reduction="none")  # (B, T - 1)
    model.train(was_training)
    return losses.mean(dim=0)
    ### END SOLUTION
