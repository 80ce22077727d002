"""A table of positions that training wrote: the model of the lab's notebook, at any width."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from course.data.batches import get_batch
from course.data.kingdom import kingdom_text
from course.data.tokenizers import WordTokenizer
from course.student.borrow import Names

SENTENCE = "the cat sat on the mat ."
LONGEST = 64  # rows of the position table
READ = 16  # tokens read at once in training: no later row ever gets a gradient
STEPS = 600


class Trained(NamedTuple):
    """The weights of a trained model, for V words, `LONGEST` positions and C features.

    Attributes:
        tokens: (V, C).
        positions: (LONGEST, C).
        w_q, w_k: (C, C) each, used as `x @ w_q`.
    """

    tokens: Tensor
    positions: Tensor
    w_q: Tensor
    w_k: Tensor


@cache
def kingdom() -> tuple[WordTokenizer, Tensor]:
    """Return the tokenizer and the ids of the toy kingdom's text, `SENTENCE` at its end."""
    text = kingdom_text() + SENTENCE
    tokenizer = WordTokenizer.from_text(text, pattern=r"[a-z]+|\.")
    return tokenizer, torch.tensor(tokenizer.encode(text))


def train(learned: Names, width: int) -> Trained:
    """Train one layer of attention to predict the kingdom's next word.

    Args:
        learned: the exercises of lesson 3.
        width: C.

    The same exercises and the same width give the same numbers; at width 32 they are those of
    notebooks/positions_lab.ipynb.
    """
    tokenizer, ids = kingdom()
    with _repeatable():
        model = learned.GPTEmbedding(tokenizer.vocab_size, LONGEST, width)
        w_q, w_k, w_v = (
            torch.randn(width, width).div(math.sqrt(width)).requires_grad_() for _ in range(3)
        )
        optimizer = torch.optim.Adam([*model.parameters(), w_q, w_k, w_v], lr=0.01)
        generator = torch.Generator().manual_seed(0)
        for _ in range(STEPS):
            inputs, targets = get_batch(ids, READ, 32, generator)
            x = model(inputs)
            seen = F.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, is_causal=True)
            logits = learned.tied_logits(x + seen, model.tok_emb.weight)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    written = (model.tok_emb.weight, model.pos_emb.weight, w_q, w_k)
    return Trained(*(tensor.detach() for tensor in written))


@contextmanager
def _repeatable() -> Iterator[None]:
    """Set seed 0 and one thread, and afterwards put both back."""
    threads = torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        torch.set_num_threads(1)  # batches this small are not worth sharing
        try:
            yield
        finally:
            torch.set_num_threads(threads)
