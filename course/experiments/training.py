"""Training a character GPT. What comes of it is kept, and nothing is trained twice."""

import hashlib
import io
import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course import root
from course.core import answers, schemes
from course.core.files import write_bytes_atomically
from course.core.schemes import CONTEXT, ModelSize
from course.core.syllabus import Lesson, lessons
from course.data.batches import get_batch, train_val_split
from course.data.tokenizers import CharTokenizer
from course.experiments.character_gpt import CharacterGPT
from course.student.exercises import passing_exercises

N_EVALUATED = 16_384
"""Characters of the held-out text on which a loss is measured."""


@dataclass(frozen=True)
class TrainingSettings:
    """All that a training depends on besides the code and the text.

    Attributes:
        context: characters that a model reads at once while it trains.
        warm_up: steps until the learning rate is `lr`.
        last_rate: the last step's learning rate, as a share of `lr`.
    """

    size: ModelSize
    steps: int
    batch_size: int
    lr: float
    seed: int = 0
    context: int = CONTEXT
    warm_up: int = 30
    last_rate: float = 0.1


QUICK = TrainingSettings(
    ModelSize(n_layers=1, n_embd=64, n_heads=4), steps=600, batch_size=16, lr=4e-3
)
"""Enough to tell the schemes apart."""

LONG = TrainingSettings(
    ModelSize(n_layers=2, n_embd=96, n_heads=4), steps=600, batch_size=32, lr=3e-3
)
"""Larger models, some five times the work."""


class Training:
    """A model on its way.

    Args:
        text: the corpus; its first nine tenths are trained on.
    """

    def __init__(self, scheme: str, settings: TrainingSettings, text: str) -> None:
        self.settings = settings
        self.tokenizer = self.new_tokenizer(text)
        ids = torch.tensor(self.tokenizer.encode(text))
        self.train_ids, self.held_out_ids = train_val_split(ids)
        torch.manual_seed(settings.seed)
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.model = self.new_model(scheme)
        self.optimizer = torch.optim.AdamW(
            trainable(self.model), lr=settings.lr, betas=(0.9, 0.95), weight_decay=0.1
        )
        self.seconds, self.losses = 0.0, []

    def new_tokenizer(self, text: str) -> CharTokenizer:
        """Return what cuts the text into tokens."""
        return CharTokenizer.from_text(text)

    def new_model(self, scheme: str) -> nn.Module:
        """Return an untrained model."""
        return CharacterGPT(self.tokenizer.vocab_size, self.settings.size, scheme)

    @property
    def step(self) -> int:
        """Return the number of steps that are done."""
        return len(self.losses)

    def run(self, tell: Callable[[int], object] = lambda step: None) -> None:
        """Take all steps, and tell after each how many are done."""
        while self.step < self.settings.steps:
            self.take_step()
            tell(self.step)

    def take_step(self) -> None:
        """Learn from one batch."""
        start = time.process_time()
        settings = self.settings
        lr = settings.lr * rate(self.step, settings.steps, settings.warm_up, settings.last_rate)
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        loss = self.batch_loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        self.seconds += time.process_time() - start

    def batch_loss(self) -> Tensor:
        """Return the mean loss over the next batch of windows."""
        settings = self.settings
        inputs, targets = get_batch(
            self.train_ids, settings.context, settings.batch_size, self.generator
        )
        return F.cross_entropy(self.model(inputs).flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def held_out_loss(self, length: int) -> float:
        """Return the mean loss over windows of this length, spread over the held-out text."""
        last = len(self.held_out_ids) - length - 1
        starts = torch.linspace(0, last, N_EVALUATED // length).long()
        places = starts[:, None] + torch.arange(length)
        logits = self.model(self.held_out_ids[places])
        return F.cross_entropy(logits.flatten(0, 1), self.held_out_ids[places + 1].flatten()).item()

    @torch.no_grad()
    def sample(self, n_characters: int = 200) -> str:
        """Return what the model writes after a line break, character by character."""
        generator = torch.Generator().manual_seed(self.settings.seed)
        written = [self.tokenizer.encode("\n")[0]]
        for _ in range(n_characters):
            logits = self.model(torch.tensor([written[-CONTEXT:]]))[0, -1]
            written += torch.multinomial(logits.softmax(-1), 1, generator=generator).tolist()
        return self.tokenizer.decode(written[1:])


def trainable(*modules: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of modules, for an optimizer: their gradients arrive dense.

    The gradient of a table may be sparse, which Adam does not take.
    """

    def make_dense(parameter: nn.Parameter) -> None:
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.to_dense()

    parameters = [parameter for module in modules for parameter in module.parameters()]
    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(make_dense)
    return parameters


def rate(step: int, steps: int, warm_up: int = 30, last: float = 0.1) -> float:
    """Return a step's learning rate, as a share of the highest: up, then down along a cosine.

    >>> [round(rate(step, 600), 2) for step in (0, 29, 300, 599)]
    [0.03, 0.99, 0.55, 0.1]
    """
    down = last + (1 - last) * (1 + math.cos(math.pi * step / steps)) / 2
    return min(1.0, (step + 1) / warm_up) * down


# --- what is kept -------------------------------------------------------------------------------


def kept_in(experiment: str) -> Path:
    """Return where an experiment keeps its files."""
    return root() / ".course" / "experiments" / experiment


def kept_or_made(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return what is kept in a file; if it is missing or damaged, make it, and keep that."""
    with suppress(Exception):  # a damaged file can raise nearly anything
        return torch.load(path, weights_only=True)
    path.parent.mkdir(parents=True, exist_ok=True)  # or else fail now, not after an hour
    kept, data = make(), io.BytesIO()
    torch.save(kept, data)
    write_bytes_atomically(path, data.getvalue())
    return kept


def fingerprint(settings: TrainingSettings, text: str, names: Iterable[str]) -> str:
    """Return a hash of what a training depends on: settings, text, and the code of all it uses.

    Args:
        names: the exercises that it is made of.
    """
    digest = hashlib.sha256(repr(settings).encode("utf-8"))
    digest.update(text.encode("utf-8"))
    for file in (Path(schemes.__file__), *sorted(Path(__file__).parent.glob("*.py"))):
        digest.update(file.read_bytes())
    for name, owner in sources(names).items():
        lesson = _lesson_of(name)
        folders = ("exercises", "solutions") if owner == "yours" else ("solutions",)
        digest.update(f"{name} {owner}".encode())
        for folder in folders:  # yours may call what is borrowed
            digest.update(answers.read(lesson.module(folder)))
    return digest.hexdigest()[:16]


def sources(names: Iterable[str]) -> dict[str, str]:
    """Return for each exercise "yours" or "borrowed"."""
    return {name: passing_exercises(_lesson_of(name).stem).source_of(name) for name in names}


def _lesson_of(name: str) -> Lesson:
    return next(one for one in lessons() if name in [e.name for e in one.exercises])
