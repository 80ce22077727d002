"""The numbers of the figures to play with that come from training, made for `trained.json`.

`python -m course.experiments.instrument` makes them in half a minute; lesson 9's numbers stay as
they are unless SmolLM2 was fetched. The small models are the shoot-out's, a layer each, made of the
reference's parts alone and trained on the toy kingdom's words.
"""

import base64
import json
from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from course.core.schemes import ModelSize
from course.core.syllabus import find_lesson
from course.data import data_folder
from course.data.kingdom import NOUNS, kingdom_text
from course.data.published import open_smollm2
from course.data.tokenizers import WordTokenizer
from course.experiments.character_gpt import CharacterGPT
from course.experiments.llama import load
from course.experiments.training import Training, TrainingSettings
from course.publishing.lab.trained import FILE, committed
from course.student.exercises import LessonExercises, reference_exercises

SIZE = ModelSize(n_layers=1, n_embd=32, n_heads=4)
READ = 16
"""Words that a model reads at once while it trains."""
SETTINGS = TrainingSettings(SIZE, steps=1000, batch_size=32, lr=1e-2, context=READ)

SENTENCE = "Paris is the capital of France. Rome is the capital of"
LAYER, HEAD = 23, 4
"""Of SmolLM2: in this head the last word looks at Rome."""

SHOWN = 64
"""Rows of the learned table."""


def tokenizer_of_words() -> WordTokenizer:
    """Return a tokenizer of the kingdom's words and full stops."""
    return WordTokenizer.from_text(kingdom_text(), pattern=r"[a-z]+|\.")


@cache
def reference_parts(stem: str) -> LessonExercises:
    """Return the exercises of a lesson, all of them the reference's."""
    return reference_exercises(find_lesson(stem))


class _WordTraining(Training):
    """The training of a model that is made of the reference's parts, on words."""

    def new_tokenizer(self, text: str) -> WordTokenizer:
        return tokenizer_of_words()

    def new_model(self, scheme: str) -> CharacterGPT:
        size = self.settings.size
        return CharacterGPT(self.tokenizer.vocab_size, size, scheme, reference_parts)


def trained(scheme: str) -> CharacterGPT:
    """Return a scheme's model at the end of its training; the same code gives the same numbers."""
    training = _WordTraining(scheme, SETTINGS, kingdom_text())
    training.run()
    return training.model.requires_grad_(False)


def packed(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor in a quarter of its bytes.

    >>> packed(torch.tensor([[0.0, 1.0]]))
    {'shape': [1, 2], 'scale': 0.007874, 'base64': 'AH8='}
    """
    scale = max(round(tensor.abs().max().item() / 127, 6), 1e-6)
    whole = (tensor.detach() / scale).round().clamp(-127, 127).to(torch.int8).contiguous().numpy()
    coded = base64.b64encode(whole.tobytes()).decode("ascii")
    return {"shape": list(tensor.shape), "scale": scale, "base64": coded}


def made() -> dict[str, Any]:
    """Return the numbers, from new trainings on one thread: batches this small share no more."""
    torch.set_num_threads(1)
    learned = trained("learned")
    return {
        "words": tokenizer_of_words().words,
        "heads": SIZE.n_heads,
        "models": {scheme: _weights(trained(scheme)) for scheme in ("none", "rope")},
        "learned": {
            "positions": packed(learned.added(SHOWN)),
            "tokens": packed(learned.token_scale * learned.tokens.weight),
        },
        "skipgram": _skipgram(),
        "llama": _llama(),
    }


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
    }


def _skipgram() -> dict[str, Any]:
    """Return the kingdom's nouns and their rows, of length 1, trained as in notebook 6."""
    skipgram = reference_parts("skipgram")
    tokenizer = WordTokenizer.from_text(kingdom_text())
    ids, counts = torch.tensor(tokenizer.encode(kingdom_text())), torch.tensor(tokenizer.counts)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = skipgram.SkipGram(len(counts), 16)
    noise = skipgram.noise_distribution(counts, 0.75)
    generator = torch.Generator().manual_seed(0)
    pairs = skipgram.skipgram_pairs(ids, 2)
    skipgram.train_skipgram(model, *pairs, noise, epochs=10, generator=generator)
    nouns = list(NOUNS)
    rows = F.normalize(model.center.weight.detach(), dim=-1)
    return {"words": nouns, "rows": packed(rows[[tokenizer.id_of[noun] for noun in nouns]])}


def _llama() -> dict[str, Any]:
    """Return the query of a real head's last word, and its keys, before they are rotated."""
    if not any(data_folder().glob("SmolLM2*.gguf")):
        return committed()["llama"]
    published = open_smollm2()
    model, _ = load(published)
    ids = published.tokenizer.encode(SENTENCE).ids
    (attention,) = (one for one in model.blocks[LAYER].modules() if hasattr(one, "q_proj"))
    found = {}
    for name in ("q_proj", "k_proj"):
        layer = getattr(attention, name)
        layer.register_forward_hook(lambda _, __, out, name=name: found.update({name: out[0]}))
    with torch.no_grad():
        model(torch.tensor([ids]))
    n_heads, n_kv_heads = (published.sizes[name] for name in ("n_heads", "n_kv_heads"))
    width = published.sizes["n_embd"] // n_heads
    keys = found["k_proj"].unflatten(-1, (n_kv_heads, width))[:, HEAD * n_kv_heads // n_heads]
    return {
        "tokens": [published.tokenizer.decode([token]).strip() for token in ids],
        "base": published.sizes["base"],
        "layer": LAYER,
        "head": HEAD,
        "query": packed(found["q_proj"].unflatten(-1, (n_heads, width))[-1, HEAD]),
        "keys": packed(keys),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), indent=1) + "\n", encoding="utf-8", newline="\n")
