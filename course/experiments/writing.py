"""A text that a trained model goes on with: token by token, with its caches and without.

`generate` is the student's, of lesson 8. It calls a model with the prompt and then with one token
at a time; the models here are between the two.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor, nn

Generate = Callable[..., Tensor]
"""The exercise of lesson 8."""


class Streamed(nn.Module):
    """A model that tells of each token as soon as `generate` has drawn it.

    Args:
        model: the one that computes.
        on_token: told each id as it is read, but those of the prompt; the last need not be read.
        caches: used instead of those of `generate`, so that a later call can go on from there.
    """

    def __init__(
        self, model: nn.Module, on_token: Callable[[int], object], caches: list[dict] | None = None
    ) -> None:
        super().__init__()
        self.model, self.blocks, self.max_seq_len = model, model.blocks, model.max_seq_len
        self.on_token, self.caches = on_token, caches
        self.n_told = -1  # before the prompt is read

    def forward(self, ids: Tensor, caches: Any = None) -> Tensor:
        self.n_told += 1
        if self.n_told:
            self.on_token(ids.item())
        return self.model(ids, caches if self.caches is None else self.caches)

    def tell_rest(self, new: Tensor) -> None:
        """Tell what was drawn and not read, of all ids (N,) that `generate` has drawn."""
        for token in new[self.n_told :].tolist():
            self.on_token(token)


class WithoutCache(nn.Module):
    """A model that keeps the text instead of keys and values, and reads all of it each time."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model, self.blocks, self.max_seq_len = model, model.blocks, model.max_seq_len
        self.text = torch.empty(1, 0, dtype=torch.int64)

    def forward(self, ids: Tensor, caches: Any = None) -> Tensor:
        self.text = torch.cat((self.text, ids), dim=1)
        return self.model(self.text)


def go_on(
    generate: Generate,
    model: nn.Module,
    ids: Tensor,
    n_new: int,
    temperature: float,
    generator: torch.Generator,
    on_token: Callable[[int], object] = lambda token: None,
) -> Tensor:
    """Return a text (1, T) and `n_new` more tokens, more of them than the model has positions for.

    When its positions are used up, it reads the last half of them again and continues from there.

    Args:
        temperature, generator: as in `generate`.
        on_token: told each new id as soon as it is drawn.
    """
    n_left, most = n_new, model.max_seq_len
    while n_left > 0:
        prompt = ids if ids.shape[1] <= most // 2 else ids[:, -(most // 2) :]
        n_now = min(n_left, most - prompt.shape[1])  # the last token may be read, too
        streamed = Streamed(model, on_token)
        text = generate(streamed, prompt, n_now, temperature, generator=generator)
        streamed.tell_rest(text[0, prompt.shape[1] :])
        ids = torch.cat((ids, text[:, prompt.shape[1] :]), dim=1)
        n_left -= n_now
    return ids


class _Ended(Exception):
    """Raised through `generate` once the end token is drawn."""


def write_until(
    end: int,
    generate: Generate,
    model: nn.Module,
    ids: list[int],
    n_new: int,
    on_token: Callable[[int], object],
    caches: list[dict] | None = None,
) -> list[int]:
    """Return the `n_new` most probable tokens after some ids, or those before the end token.

    Args:
        end: the id that ends a text.
        on_token, caches: as in `Streamed`; the text also ends where `on_token` returns True.
    """
    new: list[int] = []

    def told(token: int) -> None:
        if token == end:
            raise _Ended
        new.append(token)
        if on_token(token) is True:
            raise _Ended

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # threads wait for each other, on a busy machine ten times as long
    try:
        with suppress(_Ended):
            streamed, prompt = Streamed(model, told, caches), torch.tensor([ids])
            text = generate(streamed, prompt, n_new, temperature=0)
            streamed.tell_rest(text[0, prompt.shape[1] :])
    finally:
        torch.set_num_threads(n_threads)
    return new


def tokens_per_second(
    generate: Generate, model: nn.Module, first: int, n_rounds: int = 3
) -> dict[str, tuple[list[int], float]]:
    """Return what a model writes after a token until its last position, and how fast.

    Returns:
        By "with the cache" and "without": the ids, from the same draws, and the tokens written in a
        second of the clock, in the best of some rounds in which both take turns.
    """
    prompt, n_new = torch.tensor([[first]]), model.max_seq_len - 1  # the last may be read, too
    ways = {"with the cache": lambda: model, "without": lambda: WithoutCache(model)}
    found: dict[str, tuple[list[int], float]] = {}
    for _ in range(n_rounds):
        for way, reader in ways.items():
            generator, start = torch.Generator().manual_seed(0), time.perf_counter()
            text = generate(reader(), prompt, n_new, generator=generator)
            speed = n_new / (time.perf_counter() - start)
            found[way] = text[0].tolist(), max(speed, found.get(way, ([], 0.0))[1])
    return found
