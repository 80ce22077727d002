"""A GPT made of the student's own exercises, trained with positions and without.

Both models are identical, start with the same numbers and read the same windows, but one of them
doesn't rotate queries and keys. A trained model is kept with its result.
"""

import dataclasses
import math
import time
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.core.console import typed
from course.core.schemes import ModelSize
from course.core.syllabus import find_lesson
from course.data.batches import get_batch
from course.data.corpus import Corpus, load_corpus
from course.data.kingdom import kingdom_text, language
from course.experiments.training import (
    Training,
    TrainingSettings,
    fingerprint,
    kept_in,
    kept_or_made,
    sources,
)
from course.experiments.writing import go_on, tokens_per_second
from course.student.exercises import LessonExercises, passing_exercises, passing_exercises_with
from course.testing.source import imported_from_earlier

WITH, WITHOUT = "with positions", "without positions"

SHORT = TrainingSettings(
    ModelSize(n_layers=2, n_embd=64, n_heads=4),
    steps=1600,
    batch_size=8,
    lr=2e-2,
    context=128,
    warm_up=50,
    last_rate=0.0,
)
"""Enough for the toy kingdom's grammar."""

LONG = TrainingSettings(
    ModelSize(n_layers=4, n_embd=128, n_heads=4),
    steps=2000,
    batch_size=16,
    lr=2e-3,
    context=64,
    warm_up=100,
    last_rate=0.0,
)
"""For Shakespeare."""

TEMPERATURE = 0.5
"""At which the models write: surer of themselves than in training, for one letter spoils a line."""

SECONDS_BETWEEN_SAMPLES = 5.0
"""So often a model in training is heard."""

N_TEXTS = 96
"""Texts that a trained model writes for its lines to be counted."""


class TrainingStopped(Exception):
    """What a student's code raised in a training; the message is one sentence."""


class Unturned(nn.Module):
    """Replacement for `RotaryEmbedding` in a model without positions: it changes nothing."""

    def __init__(self, max_seq_len: int, head_dim: int, base: float = 10000.0) -> None:
        super().__init__()

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return x


@cache
def exercises_of(way: str) -> LessonExercises:
    """Return the exercises of lesson 8, those that pass yours: with positions, or without."""
    return (
        passing_exercises("gpt")
        if way == WITH
        else passing_exercises_with("gpt", {"RotaryEmbedding": Unturned})
    )


def all_names() -> list[str]:
    """Return the names of the exercises that it is made of: lesson 8 and what that imports."""
    earlier = [name for names in imported_from_earlier("gpt").values() for name in names]
    return [*earlier, *(exercise.name for exercise in find_lesson("gpt").exercises)]


class GPTTraining(Training):
    """The training of a student's `GPT`, by the student's `next_token_loss`.

    Args:
        scheme: `WITH` or `WITHOUT`.
        settings, text: as in `Training`.
    """

    def new_model(self, scheme: str) -> nn.Module:
        size, self.exercises = self.settings.size, exercises_of(scheme)
        model = self.exercises.GPT(
            self.tokenizer.vocab_size,
            size.n_embd,
            size.n_heads,
            size.n_layers,
            self.settings.context,
        )
        for block in model.blocks:  # each starts by changing nothing, which lets it learn faster
            nn.init.zeros_(block.attention.out_proj.weight)
            for weight in block.mlp.parameters():
                if weight.shape == (size.n_embd, 4 * size.n_embd):
                    nn.init.zeros_(weight)
        return model

    def batch_loss(self) -> Tensor:
        settings = self.settings
        ids, _ = get_batch(self.train_ids, settings.context, settings.batch_size, self.generator)
        loss = self.exercises.next_token_loss(self.model(ids), ids)
        if not math.isfinite(loss.item()):
            raise FloatingPointError(f"the loss is {loss.item()}")
        return loss

    @torch.no_grad()
    def whole_held_out_loss(self) -> float:
        """Return the mean loss, in nats, over every character of the held-out text but its first.

        The text is cut into windows of `context` characters, the last one shorter, each of which
        begins with the last character of the one before it. So each character is predicted once,
        from those before it in its window.
        """
        ids, length = self.held_out_ids, self.settings.context
        windows = [ids[at : at + length] for at in range(0, len(ids) - 1, length - 1)]
        whole = [window for window in windows if len(window) == length]
        batches = [*torch.stack(whole).split(64)] if whole else []
        batches += [window[None] for window in windows if len(window) < length]
        total = 0.0
        for batch in batches:
            logits = self.model(batch)[:, :-1].flatten(0, 1)
            total += F.cross_entropy(logits, batch[:, 1:].flatten(), reduction="sum").item()
        return total / (len(ids) - 1)

    @property
    def first_line(self) -> list[int]:
        """Return the ids of a line that was not trained on, with its line break.

        What is written goes on from there. A line break alone would be a rare beginning: few
        windows of the training begin with a line.
        """
        text = self.tokenizer.decode(self.held_out_ids[: 4 * self.settings.context])
        lines = text.splitlines(keepends=True)[1:-1]  # the first one may have begun before
        whole = (line for line in lines if 1 < len(line) <= self.settings.context // 2)
        return self.tokenizer.encode(next(whole, "\n"))

    def written(self, n_texts: int = 1, seed: int = 0) -> list[str]:
        """Return what the model writes after the first line, until its context is full."""
        line = self.first_line
        ids = self.exercises.generate(
            self.model,
            torch.tensor([line] * n_texts),
            self.settings.context - len(line),  # so that the last token may be read, too
            TEMPERATURE,
            generator=torch.Generator().manual_seed(seed),
        )
        return [self.tokenizer.decode(row) for row in ids[:, len(line) :]]

    def sample(self, n_characters: int = 300) -> str:
        """Return what the model writes after the first line, also beyond its context."""
        line, generator = self.first_line, torch.Generator().manual_seed(self.settings.seed)
        start, generate = torch.tensor([line]), self.exercises.generate
        ids = go_on(generate, self.model, start, n_characters, TEMPERATURE, generator)
        return self.tokenizer.decode(ids[0, len(line) :])


# --- a training, from beginning to end ----------------------------------------------------------


@dataclass(frozen=True)
class Tally:
    """What the lines of some texts are worth.

    Attributes:
        n_lines: lines that end; a last one without a line break is left out.
        n_grammatical: those of them that the toy kingdom's grammar can write.
        n_new: those of the grammatical ones that the training text does not hold.
    """

    n_lines: int
    n_grammatical: int
    n_new: int

    @property
    def share(self) -> float:
        """Return the share of lines that are grammatical, 0 to 1."""
        return self.n_grammatical / max(1, self.n_lines)


def tally(texts: Collection[str], known: Collection[str]) -> Tally:
    """Count the lines of some texts; `known` are those of the training text.

    >>> tally(["dog bites man.\\nman bites boy.\\nboy bites.\\nma"], known={"dog bites man."})
    Tally(n_lines=3, n_grammatical=2, n_new=1)
    """
    lines = [line for text in texts for line in text.split("\n")[:-1]]
    grammatical = [line for line in lines if line in language()]
    return Tally(len(lines), len(grammatical), sum(line not in known for line in grammatical))


@dataclass(frozen=True)
class TrainedGPT:
    """A training's outcome.

    Attributes:
        n_parameters: of the model.
        held_out: nats per character, over the whole held-out text.
        untrained: what the model wrote before its first step.
        sample: what it writes.
        lines: what the lines of the toy kingdom that it writes are worth.
        sources: by exercise, "yours" or "borrowed".
        seconds: of processor time, for the steps.
    """

    n_parameters: int
    held_out: float
    untrained: str
    sample: str
    lines: Tally | None
    sources: dict[str, str]
    seconds: float


def corpus_for(is_long: bool) -> Corpus:
    """Return the text to train on: the toy kingdom, or TinyShakespeare.

    Raises:
        FileNotFoundError: TinyShakespeare was not fetched; the message says how to.
    """
    if not is_long:
        return Corpus("kingdom", kingdom_text())
    corpus = load_corpus()
    if corpus.name == "kingdom":
        raise FileNotFoundError(
            "tinyshakespeare.txt is missing; fetch it (1 MB) with: "
            f"{typed('course data tinyshakespeare')}"
        )
    return corpus


def result_of(
    way: str,
    settings: TrainingSettings,
    corpus: Corpus,
    tell: Callable[..., object] = lambda step, sample="": None,
) -> TrainedGPT:
    """Return the result of one training: the kept one, or that of a new one, kept from now on.

    Args:
        tell: told how many steps are done and, now and then, what the model writes.

    Raises:
        TrainingStopped: the student's code failed.
        OSError: the file cannot be written.
    """
    fields = _kept(way, settings, corpus, tell)["result"]
    return TrainedGPT(**{**fields, "lines": Tally(**fields["lines"]) if fields["lines"] else None})


def trained(settings: TrainingSettings, corpus: Corpus) -> GPTTraining:
    """Return the training with positions at its end."""
    training = GPTTraining(WITH, settings, corpus.text)
    training.model.load_state_dict(_kept(WITH, settings, corpus)["model"], strict=False)
    return training


def _kept(
    way: str,
    settings: TrainingSettings,
    corpus: Corpus,
    tell: Callable[..., object] = lambda step, sample="": None,
) -> dict[str, Any]:
    """Return a model's weights and the fields of its `TrainedGPT`."""
    torch.set_num_threads(1)  # the other model has the other processor

    def made() -> dict[str, Any]:
        with students_code(f"The training {way}"):
            return _trained(way, settings, corpus, tell)

    name = f"{way.replace(' ', '-')}-{fingerprint(settings, corpus.text, all_names())}.pt"
    return kept_or_made(kept_in("gpt") / name, made)


def _trained(
    way: str, settings: TrainingSettings, corpus: Corpus, tell: Callable[..., object]
) -> dict[str, Any]:
    training = GPTTraining(way, settings, corpus.text)
    untrained, told_at = training.written()[0], time.monotonic()

    def after(step: int) -> None:
        nonlocal told_at
        sample = ""
        if time.monotonic() - told_at > SECONDS_BETWEEN_SAMPLES:
            sample, told_at = training.written(seed=step)[0], time.monotonic()
        tell(step, sample)

    training.run(after)
    known = set(training.tokenizer.decode(training.train_ids).split("\n"))
    lines = tally(training.written(N_TEXTS), known) if corpus.name == "kingdom" else None
    result = TrainedGPT(
        n_parameters=sum(weights.numel() for weights in training.model.parameters()),
        held_out=training.whole_held_out_loss(),
        untrained=untrained,
        sample=training.sample(),
        lines=lines,
        sources=sources(all_names()),
        seconds=training.seconds,
    )
    # not the buffers: which of them a student's module has, and of which shape, is free
    weights = {name: one.detach() for name, one in training.model.named_parameters()}
    return {"model": weights, "result": dataclasses.asdict(result)}


def write_on(
    training: GPTTraining, ids: list[int], n_new: int, on_token: Callable[[int], object]
) -> dict[str, tuple[list[int], float]]:
    """Continue a text, and return what `tokens_per_second` does for its last token.

    Args:
        on_token: called with each new id as soon as it is drawn.

    Raises:
        TrainingStopped: the student's code raised something.
    """
    generate, model = training.exercises.generate, training.model
    generator = torch.Generator().manual_seed(training.settings.seed)
    with students_code("Writing"):
        go_on(generate, model, torch.tensor([ids]), n_new, TEMPERATURE, generator, on_token)
        return tokens_per_second(generate, model, ids[-1])


@contextmanager
def students_code(what: str) -> Iterator[None]:
    """Turn what a student's code raises into one sentence that says where to look.

    Raises:
        TrainingStopped: something was raised.
    """
    try:
        yield
    except (OSError, TrainingStopped):  # of the disk, or nobody hears of it; or it is one already
        raise
    except Exception as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        names = [
            frame.f_code.co_qualname.partition(".")[0]
            for frame in frames
            if Path(frame.f_code.co_filename).parent.name in ("exercises", "solutions")
        ]
        said = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}".rstrip(".")
        look = f"it was raised in {names[-1]}" if names else "look at what your modules return"
        raise TrainingStopped(
            f"{what} stopped: {said}; {look}. Try {typed('course check')}"
        ) from None
