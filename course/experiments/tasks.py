"""Tasks that nobody can do without positions, learned in short texts and asked in longer ones.

Each model sees texts of up to `TRAINED` tokens of one task, and is then asked the same in texts of
up to `LENGTHS[-1]`. A result is kept as soon as a model is trained.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course.core.schemes import SCHEMES, ModelSize, schemes_for
from course.experiments.character_gpt import ALWAYS, CharacterGPT
from course.experiments.positions import BASE, RopeAt
from course.experiments.training import (
    TrainingSettings,
    fingerprint,
    kept_or_made,
    rate,
    sources,
    trainable,
)
from course.student.exercises import passing_exercises

TRAINED = 32
"""Tokens of the longest text in training."""

LENGTHS = (32, 64, 128, 256, 512)
"""Tokens of the texts that a model is asked about after its training."""

N_SYMBOLS, SEPARATOR, QUESTION = 32, 32, 33
"""Symbols have the ids 0 to 31; then come two signs, which are in no answer."""

NOT_ASKED = -100
"""In place of an answer."""

STEPS_BACK = 3

SEEDS = 3

COMPARED = schemes_for(1)
"""The schemes, without those that mix two."""


# --- the tasks ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        sentence: what a model has to do, for the command's help.
        make: given a number of texts B, their length T and a generator, returns ids (B, T), and as
            many answers: what comes after each token, or `NOT_ASKED`.
        steps: of training, until the schemes that can do it do it.
    """

    sentence: str
    make: Callable[[int, int, torch.Generator], tuple[Tensor, Tensor]]
    steps: int


def _copy(n_texts: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return strings, a separator and the same strings again."""
    strings = _symbols(n_texts, length // 2, N_SYMBOLS, generator)
    return _followed_by(strings, strings)


def _reverse(n_texts: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return strings, a separator and the strings backwards."""
    strings = _symbols(n_texts, length // 2, N_SYMBOLS, generator)
    return _followed_by(strings, strings.flip(1))


def _followed_by(strings: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    """Return strings (B, n), a separator, and what is asked after it (B, n)."""
    separator = torch.full_like(strings[:, :1], SEPARATOR)
    ids = torch.cat((strings, separator, asked[:, :-1]), dim=1)
    return ids, torch.cat((torch.full_like(strings, NOT_ASKED), asked), dim=1)


def _back(n_texts: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return symbols; the answer is always the one `STEPS_BACK` before."""
    ids = _symbols(n_texts, length, N_SYMBOLS, generator)
    answers = ids.roll(STEPS_BACK, dims=1)
    answers[:, :STEPS_BACK] = NOT_ASKED
    return ids, answers


def _induction(n_texts: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return pairs A B, then the same pairs in another order: what follows A?

    In a text each A has its own B. There are 16 of them, so in texts of more than 64 tokens pairs
    occur several times. In the second half A is asked when it comes up for the first time.
    """
    n_pairs, n_keys = length // 4, N_SYMBOLS // 2
    values = n_keys + torch.randint(n_keys, (n_texts, n_keys), generator=generator)
    first = _symbols(n_texts, n_pairs, n_keys, generator)  # (B, n_pairs)
    second = first.gather(1, torch.rand(n_texts, n_pairs, generator=generator).argsort(-1))
    keys = torch.cat((first, second), dim=1)
    ids = torch.stack((keys, values.gather(1, keys)), dim=-1).flatten(1)
    came_up = (second[:, :, None] == second[:, None, :]).tril(-1).any(-1)
    answers = torch.full_like(ids, NOT_ASKED)
    answers[:, length // 2 :: 2] = torch.where(came_up, NOT_ASKED, values.gather(1, second))
    return ids, answers


def _needle(n_texts: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return noise with one symbol of another kind in it, and a question: which one was it?"""
    kind = N_SYMBOLS // 2
    ids = torch.randint(kind, (n_texts, length), generator=generator)
    place = torch.randint(length - 1, (n_texts, 1), generator=generator)
    needle = kind + torch.randint(kind, (n_texts, 1), generator=generator)
    ids.scatter_(1, place, needle)
    ids[:, -1] = QUESTION
    answers = torch.full_like(ids, NOT_ASKED)
    answers[:, -1:] = needle
    return ids, answers


def _symbols(n_texts: int, n: int, n_kinds: int, generator: torch.Generator) -> Tensor:
    """Return rows of n symbols: no symbol comes again before all kinds have come."""
    n_rounds = -(-n // n_kinds)
    rounds = torch.rand(n_texts, n_rounds, n_kinds, generator=generator).argsort(-1)
    return rounds.flatten(1)[:, :n]


TASKS = {
    "copy": Task("repeats a string", _copy, 800),
    "reverse": Task("writes a string backwards", _reverse, 800),
    "back": Task(f"names the token {STEPS_BACK} back, at every token", _back, 300),
    "induction": Task("sees pairs A B, then A again, and names B", _induction, 800),
    "needle": Task("finds the one symbol of another kind in noise", _needle, 250),
}
"""Name -> task. To add one, add an entry."""


# --- one model ----------------------------------------------------------------------------------

SIZE = ModelSize(n_layers=2, n_embd=64, n_heads=4, context=TRAINED, longest=LENGTHS[-1], widening=0)
"""Attention alone, twice: whatever is found, a head has found it."""


@dataclass(frozen=True)
class Job:
    """One model to train."""

    task: str
    scheme: str
    seed: int


@dataclass(frozen=True)
class TaskResult:
    """A training's outcome.

    Attributes:
        accuracy: by length, the share of right answers.
        stretched: RoPE only: the same with its angles changed after the training, by way.
        sources: by exercise, "yours" or "borrowed".
        seconds: of processor time.
    """

    task: str
    scheme: str
    seed: int
    accuracy: dict[int, float]
    stretched: dict[str, dict[int, float]]
    sources: dict[str, str]
    seconds: float


def trained(job: Job, tell: Callable[[int], object] = lambda step: None) -> CharacterGPT:
    """Return a model that has learned a task from texts of all lengths up to `TRAINED`.

    Args:
        tell: told how many steps are done.
    """
    task, settings = TASKS[job.task], settings_of(job)
    generator = torch.Generator().manual_seed(job.seed)
    model = new_model(job)
    matrices = [w for w in model.blocks.parameters() if w.ndim == 2]
    rest = [w for w in trainable(model) if all(w is not matrix for matrix in matrices)]
    adam, muon = torch.optim.Adam(rest, lr=settings.lr, betas=(0.9, 0.95)), Muon(matrices)
    for step in range(settings.steps):
        share = rate(step, settings.steps, settings.warm_up, settings.last_rate)
        adam.param_groups[0]["lr"] = settings.lr * share
        # short texts first: where there is little to choose from, a head finds what it looks for
        longest = min(TRAINED, 8 + round(2 * TRAINED * step / settings.steps))
        length = 4 * int(torch.randint(1, longest // 4 + 1, (1,), generator=generator))
        ids, answers = task.make(settings.batch_size, length, generator)
        asked = answers != NOT_ASKED
        loss = F.cross_entropy(model(ids)[asked], answers[asked])
        model.zero_grad()
        loss.backward()
        adam.step()
        muon.step(share)
        tell(step + 1)
    return model


def settings_of(job: Job) -> TrainingSettings:
    return TrainingSettings(
        SIZE, TASKS[job.task].steps, 32, lr=4e-3, seed=job.seed, context=TRAINED, last_rate=0.02
    )


def new_model(job: Job) -> CharacterGPT:
    """Return an untrained model that can learn in seconds."""
    learned_rows = job.scheme == "learned"  # one for each position of the training
    size = dataclasses.replace(SIZE, longest=TRAINED) if learned_rows else SIZE
    torch.manual_seed(job.seed)
    model = CharacterGPT(N_SYMBOLS + 2, size, job.scheme)
    model.token_scale = 1.0
    model.bias_scale = 16.0  # or a few hundred steps are too few for T5's numbers to grow
    for table in (model.tokens, model.added if learned_rows else nn.Module()):
        for rows in table.parameters():
            nn.init.normal_(rows)
    nn.init.constant_(model.last_norm.weight, size.n_embd**-0.5)
    for block in model.blocks:
        nn.init.normal_(block.from_heads.weight, std=0.5 * size.n_embd**-0.5)
        # a head begins by looking for what is like its own token: Trockman and Kolter (2023),
        # "Mimetic Initialization of Self-Attention Layers", arXiv:2305.09828
        queries, keys, _ = block.to_qkv.weight.data.chunk(3)
        keys.copy_(0.9 * queries + 0.44 * keys)
    return model


class Muon:
    """An optimizer of square matrices: every direction of a step is as long as every other.

    With Adam, induction is not learned in the same time.

    Source: Jordan et al. (2024), "Muon: An optimizer for hidden layers in neural networks".

    Args:
        weights: (n*C, C) each, taken as n matrices, of the same C.
    """

    def __init__(self, weights: Sequence[Tensor], lr: float = 0.02, momentum: float = 0.95) -> None:
        self.weights, self.lr, self.momentum = weights, lr, momentum
        self.average = 0.0

    @torch.no_grad()
    def step(self, share: float) -> None:
        """Take a step of `share` times the learning rate."""
        width = self.weights[0].shape[1]
        gradient = torch.cat([weight.grad for weight in self.weights]).view(-1, width, width)
        self.average = self.average * self.momentum + (1 - self.momentum) * gradient
        step = gradient.lerp(self.average, self.momentum)  # Nesterov's
        step = step / step.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)
        for _ in range(5):  # Newton and Schulz: singular values come near 1
            product = step @ step.mT
            step = 3.4445 * step + (2.0315 * product @ product - 4.7750 * product) @ step
        sizes = [len(weight) // width for weight in self.weights]
        for weight, change in zip(self.weights, step.split(sizes), strict=True):
            weight -= self.lr * share * change.reshape(weight.shape)


@torch.no_grad()
def accuracy(model: CharacterGPT, task: str, length: int) -> float:
    """Return the share of right answers in texts of this length, the same for every model."""
    generator = torch.Generator().manual_seed(length)
    ids, answers = TASKS[task].make(max(32, 8192 // length), length, generator)
    return (model(ids).argmax(-1) == answers)[answers != NOT_ASKED].float().mean().item()


def stretched_accuracy(model: CharacterGPT, task: str) -> dict[str, dict[int, float]]:
    """Return the accuracy of a trained RoPE model whose angles are changed afterwards.

    Where a text is f times as long as in training, "ntk" enlarges the base by
    `ntk_base(base, f, D)`, and "yarn" takes `yarn_frequencies` with `beta_fast` 4: in 32 tokens the
    fastest pair turns 5 times.
    """
    was, rope, by_parts = model.turned, passing_exercises("rope"), passing_exercises("longer")
    found: dict[str, dict[int, float]] = {"ntk": {}, "yarn": {}}
    for length in LENGTHS:
        factor = length / TRAINED
        base = rope.ntk_base(BASE, factor, SIZE.head_dim)
        slower = by_parts.yarn_frequencies(SIZE.head_dim, BASE, factor, TRAINED, 4.0)
        turns = {
            "ntk": rope.RotaryEmbedding(length, SIZE.head_dim, base),
            "yarn": RopeAt(slower, length),
        }
        for way, model.turned in turns.items():
            found[way][length] = accuracy(model, task, length)
    model.turned = was
    return found


# --- all of them --------------------------------------------------------------------------------


def jobs_for(seed: int) -> list[Job]:
    """Return all models to train: for each task and scheme one for each of some seeds."""
    seeds = range(seed, seed + SEEDS)
    return [Job(task, scheme, one) for task in TASKS for scheme in COMPARED for one in seeds]


def result_of(
    job: Job, folder: Path, tell: Callable[[int], object] = lambda step: None
) -> TaskResult:
    """Return the result of one model: a kept one of the same settings and code, or a new one."""
    torch.set_num_threads(1)
    names = (*ALWAYS, *SCHEMES[job.scheme].exercises)
    settings = settings_of(job)

    def made() -> dict[str, Any]:
        start = time.process_time()
        model = trained(job, tell)
        lengths = LENGTHS if job.scheme != "learned" else (TRAINED,)  # there its table ends
        result = TaskResult(
            **dataclasses.asdict(job),
            accuracy={length: accuracy(model, job.task, length) for length in lengths},
            stretched=stretched_accuracy(model, job.task) if job.scheme == "rope" else {},
            sources=sources(names),
            seconds=time.process_time() - start,
        )
        return dataclasses.asdict(result)

    name = f"{job.task}-{job.scheme}-{job.seed}-{fingerprint(settings, job.task, names)}.pt"
    kept = kept_or_made(folder / name, made)
    tell(settings.steps)
    return TaskResult(**kept)


def table(results: Sequence[TaskResult], task: str) -> dict[str, dict[int, float]]:
    """Return the mean accuracy over seeds, for each scheme, and for each way to stretch RoPE."""
    rows: dict[str, list[dict[int, float]]] = {}
    for one in results:
        if one.task == task:
            rows.setdefault(one.scheme, []).append(one.accuracy)
            for way, found in one.stretched.items():
                rows.setdefault(f"{one.scheme}, {way}", []).append(found)
    return {
        name: {length: sum(one[length] for one in found) / len(found) for length in found[0]}
        for name, found in rows.items()
    }
