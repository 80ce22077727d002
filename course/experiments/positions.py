"""The shoot-out: one small model, five ways to know where a token stands, and who reads on.

Each model trains on windows of `CONTEXT` characters and is then asked about longer ones. A training
is a process of its own, notes where it is now and then, and goes on from there when it is started
again; a result is kept with everything that it depends on, and not computed twice.
"""

import dataclasses
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

import torch

from course import root
from course.data.corpus import load_corpus
from course.experiments.character_gpt import ALWAYS, SCHEMES, Size
from course.experiments.kept import fingerprint, load_or_none, whose
from course.experiments.stretch import stretched_losses
from course.experiments.training import QUICK, Settings, Training
from course.system.files import write_whole, write_whole_bytes

LENGTHS = (64, 128, 256)
"""Characters that a model is asked about after its training."""

STEPS_BETWEEN_NOTES = 100


def kept_in() -> Path:
    """Return where its files are kept."""
    return root() / ".course" / "experiments" / "positions"


@dataclass(frozen=True)
class Result:
    """What came of one training.

    Attributes:
        losses: in training, for each step, nats per character.
        held_out: by length, on text that it never saw.
        stretched: RoPE only: the same with its angles changed after the training, by way.
        sample: what it writes.
        whose: by exercise, "yours" or "borrowed".
        seconds: of processor time.
    """

    scheme: str
    settings: Settings
    corpus: str
    losses: list[float]
    held_out: dict[int, float]
    stretched: dict[str, dict[int, float]]
    sample: str
    whose: dict[str, str]
    seconds: float


def shoot_out(
    settings: Settings = QUICK,
    schemes: Sequence[str] = tuple(SCHEMES),
    on_step: Callable[[str, int], object] = lambda scheme, step: None,
    folder: Path | None = None,
) -> list[Result]:
    """Train a model for each scheme, as many at a time as there are processors.

    Args:
        on_step: told now and then how many steps a scheme has done.
        folder: where results and unfinished trainings are kept; `kept_in()` unless given.
    """
    folder = folder or kept_in()
    context = get_context("spawn")
    with context.Manager() as manager:
        steps = manager.dict()
        n_processes = min(len(schemes), os.cpu_count() or 1)
        with ProcessPoolExecutor(n_processes, context, _leave_interrupts_to_the_parent) as pool:
            futures = {s: pool.submit(result_of, s, settings, folder, steps) for s in schemes}
            try:
                for scheme, step in _until_done(futures, steps):
                    on_step(scheme, step)
            except KeyboardInterrupt:
                for process in active_children():  # or the end of the block would wait for them
                    process.terminate()
                raise
            return [future.result() for future in futures.values()]


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _until_done(
    futures: Mapping[str, Future], steps: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Where each training has come to, whenever that changes, until all are done."""
    told: dict[str, int] = {}
    while True:
        are_done = all(future.done() for future in futures.values())
        for scheme, step in steps.items():
            if told.get(scheme) != step:
                told[scheme] = step
                yield scheme, step
        if are_done:
            return
        time.sleep(0.1)


def result_of(
    scheme: str, settings: Settings, folder: Path, steps: dict[str, int] | None = None
) -> Result:
    """The result of one scheme: an earlier one of the same settings, code and text, or a new one.

    Args:
        steps: where to note how many steps are done.
    """
    steps = {} if steps is None else steps
    torch.set_num_threads(1)
    corpus = load_corpus()
    names = (*ALWAYS, *SCHEMES[scheme])
    kept = folder / f"{scheme}-{fingerprint(settings, corpus.text, names)}.json"
    if result := _kept(kept):
        steps[scheme] = settings.steps
        return result
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = kept.with_suffix(".pt")
    training = Training(scheme, settings, corpus.text, load_or_none(unfinished))
    while training.step < settings.steps:
        training.take_step()
        steps[scheme] = training.step
        if training.step % STEPS_BETWEEN_NOTES == 0:
            write_whole_bytes(unfinished, training.noted())
    result = Result(
        scheme=scheme,
        settings=settings,
        corpus=corpus.name,
        losses=training.losses,
        held_out={length: training.held_out_loss(length) for length in LENGTHS},
        stretched=stretched_losses(training, LENGTHS) if scheme == "rope" else {},
        sample=training.sample(),
        whose=whose(names),
        seconds=training.seconds,
    )
    write_whole(kept, json.dumps(dataclasses.asdict(result), indent=1))
    unfinished.unlink(missing_ok=True)
    return result


def smoothed(losses: Sequence[float], span: int = 25) -> list[float]:
    """The mean of each loss and of those before it, up to `span` in all: for a curve to look at.

    >>> smoothed([4.0, 2.0, 3.0], span=2)
    [4.0, 3.0, 2.5]
    """
    windows = (losses[max(0, end - span) : end] for end in range(1, len(losses) + 1))
    return [sum(window) / len(window) for window in windows]


# --- what is kept -----------------------------------------------------------------------------


def _kept(path: Path) -> Result | None:
    """The result that a file holds, or None if there is none."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        settings = fields["settings"]
        settings["size"] = Size(**settings["size"])
        by_length = {int(length): loss for length, loss in fields["held_out"].items()}
        stretched = {
            way: {int(length): loss for length, loss in losses.items()}
            for way, losses in fields["stretched"].items()
        }
        changed = {"settings": Settings(**settings), "held_out": by_length, "stretched": stretched}
        return Result(**(fields | changed))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
