"""A checkpoint in the other layout: loaded, converted, and read one token at a time with a cache.

The checkpoint is a small character model trained with *interleaved* RoPE, as some that are
published. Your `interleaved_to_half` makes it fit your `RotaryEmbedding`, whose `offset` says
where a token is when the keys before it come from a cache.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.experiments.character_gpt import ALWAYS, Cache, CharacterGPT
from course.experiments.training import (
    CONTEXT,
    Settings,
    Training,
    fingerprint,
    kept_in,
    kept_or_made,
    set_weights,
    weights_of,
)
from course.experiments.writing import first_difference
from course.schemes import LONGEST
from course.student.exercises import passing_exercises

PROMPT = CONTEXT // 2
"""Characters that a model reads at once before it goes on one by one."""


class InterleavedRope(nn.Module):
    """RoPE of the pairs 2i and 2i + 1, as GPT-J and Meta's Llama turn them: (..., T, D).

    Source: Su et al. (2021), arXiv:2104.09864, section 3.4.2, equation 34.
    """

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        frequencies = 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim)
        angles = torch.outer(torch.arange(LONGEST), frequencies)  # (T, D/2)
        self.cos, self.sin = angles.cos(), angles.sin()

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        here = slice(offset, offset + x.shape[-2])
        cos, sin = self.cos[here], self.sin[here]
        first, second = x[..., 0::2], x[..., 1::2]
        turned = (first * cos - second * sin, first * sin + second * cos)
        return torch.stack(turned, dim=-1).flatten(-2)


class Reader:
    """A model that reads a text piece by piece and keeps what its blocks will ask for again.

    Args:
        model: a `CharacterGPT` with RoPE.
        forgets_offset: turn every piece as if it stood at the beginning, to see what happens.

    `read(ids)` takes the next ids, (B, T), and gives the logits after each, (B, T, V).
    """

    def __init__(self, model: CharacterGPT, *, forgets_offset: bool = False) -> None:
        self.model = model
        self.forgets_offset = forgets_offset
        self.n_read = 0
        self.caches = [Cache() for _ in model.blocks]

    @torch.no_grad()
    def read(self, ids: Tensor) -> Tensor:
        n_new, model = ids.shape[1], self.model
        turn = partial(model.turned, offset=0 if self.forgets_offset else self.n_read)
        later = torch.full((n_new, self.n_read + n_new), -torch.inf).triu(self.n_read + 1)
        x = model.tokens(ids)
        for block, cache in zip(model.blocks, self.caches, strict=True):
            x = block(x, later, turn, cache)
        self.n_read += n_new
        return model.tied_logits(model.last_norm(x), model.tokens.weight)


def checkpoint(settings: Settings, text: str) -> Training:
    """Return a training with interleaved RoPE that is at its end: a kept one, or a new one."""
    training = Training("rope", settings, text)
    training.model.turned = InterleavedRope(settings.size.n_embd // settings.size.n_heads)

    def weights() -> dict[str, Tensor]:
        training.run()
        return weights_of(training.model)

    kept = kept_in("cache") / f"interleaved-{fingerprint(settings, text, ALWAYS)}.pt"
    set_weights(training.model, kept_or_made(kept, weights))
    return training


def loaded(published: Training, convert: Callable[[Tensor, int], Tensor]) -> CharacterGPT:
    """Return a checkpoint's weights in a model that turns halves, as your `RotaryEmbedding` does.

    Args:
        convert: changes a query or key projection, (H*D, C), for a number of heads;
            `interleaved_to_half` is the right one.
    """
    model = CharacterGPT(published.tokenizer.vocab_size, published.settings.size, "rope")
    set_weights(model, weights_of(published.model))
    for block in model.blocks:
        queries, keys, values = block.to_qkv.weight.data.chunk(3)  # values are never turned
        both = convert(queries, block.n_heads), convert(keys, block.n_heads)
        block.to_qkv.weight.data = torch.cat((*both, values))
    return model


def ways_to_read(published: Training) -> dict[str, Callable[[], Reader]]:
    """Return ways to read a checkpoint, right and wrong; each makes a new reader."""
    convert = passing_exercises("rope").interleaved_to_half
    right, plain = loaded(published, convert), loaded(published, lambda weight, n_heads: weight)
    as_one_head = loaded(published, lambda weight, n_heads: convert(weight, 1))
    return {
        "as published": partial(Reader, published.model),
        "converted": partial(Reader, right),
        "not converted": partial(Reader, plain),
        "as one head": partial(Reader, as_one_head),
        "offset forgotten": partial(Reader, right, forgets_offset=True),
    }


def loss_after_prompt(new_reader: Callable[[], Reader], ids: Tensor, n_windows: int = 256) -> float:
    """Return the mean loss on the second half of windows: the first is read at once, as a prompt.

    Args:
        ids: held-out text; the windows of `CONTEXT` are spread evenly over it.
    """
    starts = torch.linspace(0, len(ids) - CONTEXT - 1, n_windows).long()
    windows = ids[starts[:, None] + torch.arange(CONTEXT + 1)]  # (B, T + 1)
    reader = new_reader()
    logits = [reader.read(windows[:, :PROMPT])[:, -1:]]
    logits += [reader.read(windows[:, i : i + 1]) for i in range(PROMPT, CONTEXT)]
    targets = windows[:, PROMPT : CONTEXT + 1]
    return F.cross_entropy(torch.cat(logits, 1).flatten(0, 1), targets.flatten()).item()


@torch.no_grad()
def written(
    reader: Reader | CharacterGPT, prompt: Tensor, n_tokens: int, seed: int = 0
) -> tuple[list[int], Tensor, float]:
    """Let a model go on after a prompt (T,), token by token.

    Args:
        reader: what keeps what it has read, or a model, which rereads the whole text for every
            token.

    Returns:
        What it wrote, the logits that this was drawn from, (N, V), and the seconds.
    """
    generator, start = torch.Generator().manual_seed(seed), time.perf_counter()
    ids, drawn, all_logits = prompt, prompt, []
    for _ in range(n_tokens):
        logits = reader.read(drawn[None]) if isinstance(reader, Reader) else reader(ids[None])
        all_logits.append(logits[0, -1])
        drawn = torch.multinomial(all_logits[-1].softmax(-1), 1, generator=generator)
        ids = torch.cat((ids, drawn))
    seconds = time.perf_counter() - start
    return ids[len(prompt) :].tolist(), torch.stack(all_logits), seconds


@dataclass(frozen=True)
class WithAndWithout:
    """A text that was written twice, with the cache and without.

    Attributes:
        n_tokens: how many tokens were written.
        differ: the first place at which the two texts differ; None if they are the same.
        largest: the largest difference of a logit, up to that place.
        seconds: with the cache and without.
    """

    n_tokens: int
    differ: int | None
    largest: float
    seconds: tuple[float, float]


def read_in_every_way(published: Training) -> dict[str, tuple[float, str]]:
    """Return the held-out loss, and how the text goes on, by the way the checkpoint was read."""
    held_out, decode = published.held_out_ids, published.tokenizer.decode
    return {
        way: (
            loss_after_prompt(new_reader, held_out),
            decode(written(new_reader(), held_out[:PROMPT], 40)[0]),
        )
        for way, new_reader in ways_to_read(published).items()
    }


def with_and_without_cache(published: Training) -> WithAndWithout:
    """Return what the converted checkpoint writes until its positions are used up."""
    reader, prompt = ways_to_read(published)["converted"](), published.held_out_ids[:PROMPT]
    n_tokens = LONGEST - PROMPT
    text, logits, seconds = written(reader, prompt, n_tokens)
    other_text, other_logits, other_seconds = written(reader.model, prompt, n_tokens)
    differ = first_difference(text, other_text)
    n_comparable = n_tokens if differ is None else differ + 1  # after that the texts differ
    largest = (logits - other_logits)[:n_comparable].abs().max().item()
    return WithAndWithout(n_tokens, differ, largest, (seconds, other_seconds))
