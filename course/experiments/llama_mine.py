"""A published language model on whatever a student has written, right or wrong.

It runs in the warm process, because such code may never end.
"""

import dataclasses
import math
import os
from dataclasses import dataclass
from typing import Any

import torch

from course.core.syllabus import Lesson, find_lesson
from course.data.published import open_smollm2
from course.experiments.gpt import TrainingStopped, students_code
from course.experiments.llama import BEGINNING, loss, sample_ids, sources
from course.experiments.writing import write_until
from course.publishing.figures.measured import measured
from course.student.exercises import all_written_exercises, reference_exercises
from course.student.warm.process import how_it_ended, results
from course.student.warm.server import Run
from course.testing.outcomes import Wrong

SECONDS = 180
"""How long it may take."""

N_WRITTEN = 24
"""Tokens of the sample."""


@dataclass(frozen=True)
class Mine:
    """What a student's code makes of the model.

    Attributes:
        text: the name of the text that the loss is measured on.
        loss: nats per token, by the reference's `loss_by_position`.
        goes_on: what it makes of `BEGINNING`.
        sources: by exercise, "yours" or "borrowed", because nothing is written there yet.
    """

    text: str
    loss: float
    goes_on: str
    sources: dict[str, str]


def measure_mine() -> Mine:
    """Return what the student's code makes of the model, measured in another process.

    Raises:
        TrainingStopped: it failed, or took too long.
        FileNotFoundError: the model is not there.
    """
    open_smollm2()  # it says best here what is wrong with it
    (message,) = results(__name__, [{"lesson": "llama", "seconds": SECONDS}])
    match message:
        case {"done": {"stopped": why}}:
            raise TrainingStopped(why)
        case {"done": found}:
            return Mine(**found)
    doing, file = "While the model ran on your code", find_lesson("llama").module()
    raise TrainingStopped(how_it_ended(message["ended"], message["log"], doing, file))


def losses_of_breaks(text: str) -> dict[str, float]:
    """Return the measured loss of each of the `BREAKS` on a text, by its title."""
    name = "breaks" if text == "Shakespeare" else "breaks_kingdom"
    return {title: loss for title, loss, *_ in measured("llama", name)["breaks"]}


def nearest_break(losses: dict[str, float], loss: float) -> tuple[str, bool]:
    """Return the title of the break whose loss is nearest, and whether it is the same."""
    nearest = min(losses, key=lambda title: abs(losses[title] - loss))
    return nearest, abs(losses[nearest] - loss) < 0.003


def measured_here() -> Mine:
    """Measure it in this process."""
    published = open_smollm2()
    try:
        llama = all_written_exercises("llama")
        generate = all_written_exercises("gpt").generate
    except Wrong as error:
        raise TrainingStopped(str(error).partition("\n")[0]) from None
    reference = reference_exercises(find_lesson("llama"))
    name, ids = sample_ids(published)
    with students_code("The model on your code"):
        model = llama.Llama(**published.sizes)
        heads = published.sizes["n_heads"], published.sizes["n_kv_heads"]
        weights = llama.weights_from_gguf(published.tensors, *heads)
        parameters = {name for name, _ in model.named_parameters()}
        if unknown := sorted(parameters ^ set(weights)):
            shown = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
            raise ValueError(f"Llama and weights_from_gguf use different names: {shown}")
        model.load_state_dict(weights, strict=False, assign=True)
        model.requires_grad_(False).eval()
        found = loss(model, reference, ids)
        beginning = published.tokenizer.encode(BEGINNING).ids
        new = write_until(published.end, generate, model, beginning, N_WRITTEN, lambda token: None)
    of = sources(all_written_exercises)
    of.pop("loss_by_position", None)  # the reference's measures
    return Mine(name, found, published.tokenizer.decode(new), of)


# --- in the warm process ------------------------------------------------------------------------


def warm_up(lesson: Lesson) -> None:
    """Load nothing: there is one run."""


def perform(run: Run, warm: None, lesson: str, seconds: float) -> dict[str, Any]:
    """Return the fields of `Mine`, or {"stopped": why the student's code came to no result}."""
    run.end_after(seconds)
    torch.set_num_threads(os.cpu_count() or 1)
    try:
        found = measured_here()
        if not math.isfinite(found.loss):
            raise TrainingStopped(
                f"The model on your code has a loss of {found.loss}; look for a division by zero"
            )
    except TrainingStopped as error:
        return {"stopped": str(error)}
    return dataclasses.asdict(found)
