"""A checkpoint in the other layout: loaded, converted, and read one token at a time with a cache.

The checkpoint is a small character model trained with *interleaved* RoPE, as some that are
published. Your `interleaved_to_half` makes it fit your `RotaryEmbedding`, whose `offset` says
where a token stands when the keys before it come from a cache.
"""

import io
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course import root
from course.experiments.character_gpt import ALWAYS, LONGEST, CharacterGPT
from course.experiments.kept import fingerprint, load_or_none
from course.experiments.training import CONTEXT, Settings, Training
from course.student.borrow import names_of
from course.system.files import write_whole_bytes


def kept_in() -> Path:
    """Return where its files are kept."""
    return root() / ".course" / "experiments" / "cache"


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


class Cache:
    """The keys, turned, and the values of all that a block has read: (B, H, T, D) each."""

    def __init__(self) -> None:
        self.keys = self.values = None

    def with_new(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and all values, those of the next tokens at the end."""
        if self.keys is not None:
            keys, values = torch.cat((self.keys, keys), 2), torch.cat((self.values, values), 2)
        self.keys, self.values = keys, values
        return keys, values


# --- the checkpoint ---------------------------------------------------------------------------


def checkpoint(settings: Settings, text: str) -> Training:
    """A training with interleaved RoPE that has come to its end: a kept one, or a new one."""
    training = Training("rope", settings, text)
    training.model.turned = InterleavedRope(settings.size.n_embd // settings.size.n_heads)
    kept = kept_in() / f"interleaved-{fingerprint(settings, text, ALWAYS)}.pt"
    if weights := load_or_none(kept):
        training.model.load_state_dict(weights)
        return training
    while training.step < settings.steps:
        training.take_step()
    kept_in().mkdir(parents=True, exist_ok=True)
    data = io.BytesIO()
    torch.save(training.model.state_dict(), data)
    write_whole_bytes(kept, data.getvalue())
    return training


def loaded(published: Training, convert: Callable[[Tensor, int], Tensor]) -> CharacterGPT:
    """A model with your `RotaryEmbedding` and the weights of a checkpoint.

    Args:
        convert: changes a query or key projection, (H*D, C), for a number of heads;
            `interleaved_to_half` is the right one.
    """
    model = CharacterGPT(published.tokenizer.vocab_size, published.settings.size, "rope")
    model.load_state_dict(published.model.state_dict())
    for block in model.blocks:
        queries, keys, values = block.to_qkv.weight.data.chunk(3)  # values are never turned
        both = convert(queries, block.n_heads), convert(keys, block.n_heads)
        block.to_qkv.weight.data = torch.cat((*both, values))
    return model


def ways_to_read(published: Training) -> dict[str, Callable[[], Reader]]:
    """Ways to read a checkpoint, right and wrong; each makes a reader that has read nothing."""
    convert = names_of("rope").interleaved_to_half
    right, plain = loaded(published, convert), loaded(published, lambda weight, n_heads: weight)
    as_one_head = loaded(published, lambda weight, n_heads: convert(weight, 1))
    return {
        "as published": partial(Reader, published.model),
        "converted": partial(Reader, right),
        "not converted": partial(Reader, plain),
        "as one head": partial(Reader, as_one_head),
        "offset forgotten": partial(Reader, right, forgets_offset=True),
    }


# --- reading and writing ----------------------------------------------------------------------


def loss_after_prompt(new_reader: Callable[[], Reader], ids: Tensor, n_windows: int = 256) -> float:
    """The mean loss on the second half of windows: the first half is read at once, as a prompt.

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


def written_with_cache(
    new_reader: Callable[[], Reader], prompt: Tensor, n_tokens: int, seed: int = 0
) -> tuple[list[int], Tensor, float]:
    """What a model writes after a prompt (T,), the logits it drew from (N, V), and the seconds."""
    reader = new_reader()

    def logits_after(ids: Tensor, n_new: int) -> Tensor:
        return reader.read(ids[None, -n_new:])[0, -1]

    return _written(logits_after, prompt, n_tokens, seed)


@torch.no_grad()
def written_without(
    model: CharacterGPT, prompt: Tensor, n_tokens: int, seed: int = 0
) -> tuple[list[int], Tensor, float]:
    """The same without a cache: for every token the whole text is read anew."""
    return _written(lambda ids, n_new: model(ids[None])[0, -1], prompt, n_tokens, seed)


def _written(
    logits_after: Callable[[Tensor, int], Tensor], prompt: Tensor, n_tokens: int, seed: int
) -> tuple[list[int], Tensor, float]:
    """Write token by token; `logits_after` gets the text so far and how much of it is new."""
    generator, start = torch.Generator().manual_seed(seed), time.perf_counter()
    ids, n_new, all_logits = prompt, len(prompt), []
    for _ in range(n_tokens):
        all_logits.append(logits_after(ids, n_new))
        drawn = torch.multinomial(all_logits[-1].softmax(-1), 1, generator=generator)
        ids, n_new = torch.cat((ids, drawn)), 1
    seconds = time.perf_counter() - start
    return ids[len(prompt) :].tolist(), torch.stack(all_logits), seconds
