"""The numbers of the lab: what its page gets from the models and the functions of the course.

Sums, products and softmaxes are left to the page.
"""

import base64
from collections.abc import Callable
from typing import Any

import matplotlib
import torch
from torch import Tensor

from course.experiments.character_gpt import CharacterGPT
from course.figures.palette import SIGNED
from course.lab.own import own_results, own_tables
from course.lab.positions import EXERCISES, Added, Turned, table_of
from course.lab.training import BINNED, FARTHEST, READ, SCHEMES, SIZE, corpus, losses, reference
from course.lab.training import trained as trained_model

SENTENCE = "paris rang its bells . rome closed its"
SWAPPED = (1, 6)
"""The places of its two verbs: only their order tells what comes next."""
LONGEST = 64
"""Positions of which the page has the numbers."""
MOST_WORDS = 12


def export_numbers(
    mine: bool = False, tell: Callable[[str], object] = lambda what: None
) -> dict[str, Any]:
    """Return everything the page needs, ready for JSON; tensors as `packed` gives them.

    Args:
        mine: with the tables of the functions in `exercises/`, right or wrong, next to the
            reference's.
        tell: told what is being done, a few times.
    """
    models = {}
    for scheme in SCHEMES:
        tell(f"a model with {scheme if scheme != 'none' else 'no positions'}")
        models[scheme] = trained_model(scheme)
    learned = models["learned"].added(FARTHEST).detach()
    tables = {
        scheme: table_of(scheme, reference(stem), LONGEST, learned)
        for scheme, (stem, _) in EXERCISES.items()
    }
    own = None
    if mine:
        tell("your functions, and their tests")
        own = _own(models, learned)
    return {
        "sentence": SENTENCE,
        "swapped": SWAPPED,
        "words": corpus()[0].words,
        "mostWords": MOST_WORDS,
        "read": READ,
        "longest": LONGEST,
        "farthest": FARTHEST,
        "binned": BINNED,
        "width": SIZE.n_embd,
        "heads": SIZE.n_heads,
        "schemes": SCHEMES,
        "models": {scheme: _weights(model) for scheme, model in models.items()},
        "positions": {scheme: _table(scheme, table) for scheme, table in tables.items()},
        "colors": _color_map(SIGNED),
        "mine": own,
    }


def packed(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor's shape and the bytes of its numbers: float32, little-endian, in base64.

    >>> packed(torch.tensor([[0.0, 1.0]]))
    {'shape': [1, 2], 'base64': 'AAAAAAAAgD8='}
    """
    numbers = tensor.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4")
    return {"shape": list(numbers.shape), "base64": base64.b64encode(numbers).decode("ascii")}


def _weights(model: CharacterGPT) -> dict[str, Any]:
    (block,) = model.blocks
    norms = torch.stack([norm.weight for norm in (*block.norms, model.last_norm)])
    return {
        "loudness": model.token_scale,
        "tokens": packed(model.tokens.weight),
        "qkv": packed(block.to_qkv.weight),
        "out": packed(block.from_heads.weight),
        "widen": packed(block.widen.weight),
        "narrow": packed(block.narrow.weight),
        "norms": packed(norms),
        "losses": losses(model),
    }


def _table(scheme: str, table: Tensor) -> dict[str, Any]:
    """Pack a table; of RoPE's matrices only entries that are not zero at every position."""
    if scheme != "rope":
        return packed(table)
    sources, targets = (table != 0).any(dim=0).nonzero(as_tuple=True)
    return {
        "from": sources.tolist(),
        "to": targets.tolist(),
        "values": packed(table[:, sources, targets]),
    }


def _own(models: dict[str, CharacterGPT], learned: Tensor) -> dict[str, Any]:
    tables, troubles = own_tables(FARTHEST, learned)
    own_losses = {
        scheme: _losses_with(models[scheme], scheme, one) for scheme, one in tables.items()
    }
    first = {
        scheme: table[:, :LONGEST, :LONGEST] if scheme == "alibi" else table[:LONGEST]
        for scheme, table in tables.items()
    }
    return {
        "positions": {scheme: _table(scheme, table) for scheme, table in first.items()},
        "troubles": troubles,
        "losses": {
            # what is no number is none in JSON either
            scheme: [None if loss != loss else loss for loss in found]
            for scheme, found in own_losses.items()
        },
        "exercises": own_results(),
    }


def _losses_with(model: CharacterGPT, scheme: str, table: Tensor) -> list[float]:
    """Return the losses of a trained model that gets its positions from this table."""
    before = (model.added, model.turned, model.penalty)
    if scheme in ("learned", "sinusoidal"):
        model.added = Added(table)
    elif scheme == "rope":
        model.turned = Turned(table)
    else:
        model.penalty = table
    try:
        return losses(model)
    finally:
        model.added, model.turned, model.penalty = before


def _color_map(name: str) -> list[str]:
    """Return 256 colors from low to high, as "#rrggbb"."""
    return [matplotlib.colors.to_hex(color) for color in matplotlib.colormaps[name](range(256))]
