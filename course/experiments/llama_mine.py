"""A published language model on whatever a student has written, right or wrong.

Run as a module, in its own process, because such code may never end: what it measured is its last
line. Run from elsewhere by `measure_mine`.
"""

import dataclasses
import json
import math
import subprocess
import sys
from dataclasses import dataclass

from course import root
from course.data.published import open_smollm2
from course.experiments.gpt import Stopped, students_code
from course.experiments.llama import BEGINNING, RIGHT, loss, sample_ids, sources
from course.experiments.writing import write_until
from course.figures.texts import measured
from course.student.exercises import all_written_exercises, reference_exercises
from course.syllabus import find_lesson
from course.system.console import typed
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
        Stopped: it failed, or took too long.
        FileNotFoundError: the model is not there.
    """
    open_smollm2()  # it says best here what is wrong with it
    command = [sys.executable, "-m", __name__]
    try:
        ran = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=SECONDS, cwd=root()
        )
    except subprocess.TimeoutExpired:
        raise Stopped(
            f"The model on your code took longer than {SECONDS} seconds, so it was stopped; is "
            f"there an endless loop? Try {typed('course check llama')}"
        ) from None
    try:
        found = json.loads(ran.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise Stopped(
            f"The model on your code ended without a result (exit status {ran.returncode}); "
            f"it may have run out of memory. Try {typed('course check llama')}"
        ) from None
    if "stopped" in found:
        raise Stopped(found["stopped"])
    return Mine(**found)


@dataclass(frozen=True)
class Resemblance:
    """The measured break that comes nearest to a loss.

    Attributes:
        title, loss: of the break.
        right: the loss of the right model.
        is_close: whether the loss is that of the break.
    """

    title: str
    loss: float
    right: float
    is_close: bool


def resemblance(mine: Mine) -> Resemblance:
    """Return what the model on a student's code resembles."""
    name = "breaks" if mine.text == "Shakespeare" else "breaks_kingdom"
    losses = {title: loss for title, loss, *_ in measured("llama", name)["breaks"]}
    title = min(losses, key=lambda title: abs(losses[title] - mine.loss))
    is_close = abs(losses[title] - mine.loss) < 0.003
    return Resemblance(title, losses[title], losses[RIGHT.title], is_close)


def measured_here() -> Mine:
    """Measure it in this process."""
    published = open_smollm2()
    try:
        llama = all_written_exercises("llama")
        generate = all_written_exercises("gpt").generate
    except Wrong as error:
        raise Stopped(str(error).partition("\n")[0]) from None
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


def main() -> None:
    """Print what was measured, or why it stopped, as a last line of JSON."""
    try:
        found = dataclasses.asdict(measured_here())
        if not math.isfinite(found["loss"]):
            raise Stopped(
                f"The model on your code has a loss of {found['loss']}; look for a division by zero"
            )
    except Stopped as error:
        found = {"stopped": str(error)}
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
