"""A small GPT over characters whose only open question is how it knows where a token is."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.core.schemes import SCHEMES, ModelSize
from course.student.exercises import LessonExercises, passing_exercises

ALWAYS = ("TokenEmbedding", "tied_logits")
"""The exercises that every model is made of."""


class CharacterGPT(nn.Module):
    """Token rows, some blocks, and the token table once more: `forward` turns (B, T) into logits.

    Args:
        vocab_size: V.
        size: layers, features C and heads H.
        scheme: a key of `SCHEMES`.
        names: gives the exercises of a lesson, by its stem, that the model is made of.

    `forward(ids)` gives (B, T, V). T may be up to `size.longest`.

    Source: Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section
    2.3 (the layout; here with RMS norms and without biases).
    """

    def __init__(
        self,
        vocab_size: int,
        size: ModelSize,
        scheme: str,
        names: Callable[[str], LessonExercises] = passing_exercises,
    ) -> None:
        super().__init__()
        self.tied_logits = names("learned").tied_logits
        self.tokens = names("lookup").TokenEmbedding(vocab_size, size.n_embd)
        self.token_scale = self.bias_scale = 1.0
        self.added = self.turned = self.penalty = self.relative = None
        self.turns_every = 1  # layers
        for name, part in SCHEMES[scheme].parts(names, size).items():
            setattr(self, name, part)
        self.blocks = nn.ModuleList(Block(size) for _ in range(size.n_layers))
        self.last_norm = nn.RMSNorm(size.n_embd)

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self.embedded(ids), self.mask(ids.shape[1])
        for layer, block in enumerate(self.blocks):
            x = block(x, mask, self.turned if layer % self.turns_every == 0 else None)
        return self.tied_logits(self.last_norm(x), self.tokens.weight)

    def embedded(self, ids: Tensor) -> Tensor:
        """Return what enters the first block: (B, T, C)."""
        x = self.token_scale * self.tokens(ids)
        return x if self.added is None else x + self.added(ids.shape[1]).to(x.dtype)

    def mask(self, seq_len: int) -> Tensor:
        """Return what is added to the scores: (T, T), or (H, T, T) with a penalty or a bias."""
        mask = torch.full((seq_len, seq_len), -math.inf).triu(1)
        if self.penalty is not None:
            mask = mask + self.penalty[:, :seq_len, :seq_len]
        if self.relative is not None:
            mask = mask + self.bias_scale * self.relative(seq_len, seq_len)
        return mask


class Block(nn.Module):
    """Attention, then a small network for each token, both added to what comes in: (B, T, C).

    Args:
        size: without `widening` there is no such network.

    `forward(x, mask, turn)`: `turn` rotates queries and keys.
    """

    def __init__(self, size: ModelSize) -> None:
        super().__init__()
        n_embd, self.n_heads, self.widening = size.n_embd, size.n_heads, size.widening
        self.norms = nn.ModuleList((nn.RMSNorm(n_embd), nn.RMSNorm(n_embd)))
        self.to_qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.from_heads = nn.Linear(n_embd, n_embd, bias=False)
        nn.init.zeros_(self.from_heads.weight)  # a block starts by changing nothing
        if self.widening:
            self.widen = nn.Linear(n_embd, self.widening * n_embd, bias=False)
            self.narrow = nn.Linear(self.widening * n_embd, n_embd, bias=False)
            nn.init.zeros_(self.narrow.weight)

    def forward(self, x: Tensor, mask: Tensor, turn: Callable[[Tensor], Tensor] | None) -> Tensor:
        q, k, v = self.heads(x, turn)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.from_heads(seen.transpose(1, 2).flatten(-2))
        if self.widening:
            x = x + self.narrow(F.gelu(self.widen(self.norms[1](x))))
        return x

    def heads(
        self, x: Tensor, turn: Callable[[Tensor], Tensor] | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries and keys, rotated, and values: (B, H, T, D) each."""
        heads = self.to_qkv(self.norms[0](x)).unflatten(-1, (3, self.n_heads, -1))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        return (q, k, v) if turn is None else (turn(q), turn(k), v)
