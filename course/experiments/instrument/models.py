"""The small models of the figures to play with, trained on the toy kingdom's words.

They are the shoot-out's, a layer each, made of the reference's parts alone.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from course import root
from course.core import answers
from course.core.syllabus import find_lesson
from course.data import kingdom as kingdom_module
from course.data.batches import get_batch, train_val_split
from course.data.kingdom import kingdom_text
from course.data.tokenizers import WordTokenizer
from course.experiments import character_gpt
from course.experiments import training as experiments_training
from course.experiments.character_gpt import CharacterGPT, ModelSize
from course.experiments.training import load_or_none, rate, save
from course.student.exercises import LessonExercises, reference_exercises

SIZE = ModelSize(n_layers=1, n_embd=32, n_heads=4)
READ = 16
"""Words that a model reads at once while it trains."""
STEPS = 1000


@cache
def corpus() -> tuple[WordTokenizer, Tensor, Tensor]:
    """Return a tokenizer of the kingdom's words, the ids to train on, and those held out."""
    text = kingdom_text()
    tokenizer = WordTokenizer.from_text(text, pattern=r"[a-z]+|\.")
    return tokenizer, *train_val_split(torch.tensor(tokenizer.encode(text)))


@cache
def reference_parts(stem: str) -> LessonExercises:
    """Return the exercises of a lesson, all of them the reference's."""
    return reference_exercises(find_lesson(stem))


def trained(scheme: str) -> CharacterGPT:
    """Return a scheme's model at the end of its training: a kept one, or a new one.

    The same code gives the same numbers. PyTorch's generator is left as it was.
    """
    kept = root() / ".course" / "lab" / f"{scheme}-{fingerprint()}.pt"
    with _repeatable():
        model = CharacterGPT(corpus()[0].vocab_size, SIZE, scheme, reference_parts)
        if weights := load_or_none(kept):
            model.load_state_dict(weights)
        else:
            _train(model)
            with contextlib.suppress(OSError):  # then the next page takes as long as this one
                save(kept, model.state_dict())
    return model.requires_grad_(False)


def _train(model: CharacterGPT) -> None:
    _, train_ids, _ = corpus()
    generator = torch.Generator().manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = 1e-2 * rate(step, STEPS)
        inputs, targets = get_batch(train_ids, READ, 32, generator)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def fingerprint() -> str:
    """Return a hash of all that the weights depend on."""
    digest = hashlib.sha256(f"{torch.__version__} {STEPS}".encode())
    modules = [__file__, kingdom_module.__file__]
    modules += [character_gpt.__file__, experiments_training.__file__]
    for stem in ("lookup", "learned", "sinusoidal", "rope"):
        modules.append(str(find_lesson(stem).module("solutions")))
    for module in modules:
        digest.update(answers.read(Path(module)))
    return digest.hexdigest()[:16]


@contextlib.contextmanager
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
