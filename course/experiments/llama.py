"""A published language model on the student's functions: right, and broken in known ways.

Shapes: B batch, T tokens, V vocabulary.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from course.data import data_folder
from course.data.kingdom import kingdom_text
from course.data.published import CHAT, PublishedModel
from course.data.reading import read_text
from course.experiments.gpt import Unturned
from course.student.exercises import (
    LessonExercises,
    borrowed_from_earlier,
    passing_exercises,
    passing_exercises_with,
)
from course.syllabus import find_lesson
from course.testing.source import imported_from_earlier

N_TOKENS = 512
"""Tokens of the text that losses are measured on."""

SHIFT = 1000
"""Positions that everything is moved by."""

QUESTION, BEGINNING = "Are dogs real?", "The capital of France is"


@dataclass(frozen=True)
class Break:
    """A way to get a published model wrong.

    Attributes:
        title: what is different, as the rest of "the model, but ...".
        others: what replaces a function of an earlier lesson, by its name: it takes the right one.
        sizes: arguments of `Llama` that are different.
    """

    title: str
    others: Mapping[str, Callable[[Any, PublishedModel], Any]] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)


def _moved(rotary: type[nn.Module], published: PublishedModel) -> type[nn.Module]:
    class Moved(nn.Module):
        """A `RotaryEmbedding` at positions that all begin later."""

        def __init__(self, max_seq_len: int, head_dim: int, base: float) -> None:
            super().__init__()
            self.rotary = rotary(max_seq_len, head_dim, base)

        def forward(self, x: Tensor, offset: int = 0) -> Tensor:
            return self.rotary(x, offset + SHIFT)

    return Moved


def _reordered_with(heads: Callable[[int, PublishedModel], int | None]) -> Callable[..., Any]:
    """Return a break of `interleaved_to_half`: other numbers of heads; None changes no order."""

    def replaced(reorder: Callable, published: PublishedModel) -> Callable:
        def reordered(weight: Tensor, n_heads: int) -> Tensor:
            n = heads(n_heads, published)
            return weight if n is None else reorder(weight, n)

        return reordered

    return replaced


def _is_q(n_heads: int, published: PublishedModel) -> bool:
    return n_heads == published.sizes["n_heads"]


RIGHT = Break("all right")
BREAKS = (
    RIGHT,
    Break(f"every position + {SHIFT:,}", {"RotaryEmbedding": _moved}),
    Break("base 10,000 instead of 100,000", sizes={"base": 10000.0}),
    Break("no rotation", {"RotaryEmbedding": lambda *_: Unturned}),
    Break(
        "rows of q and k left interleaved",
        {"interleaved_to_half": _reordered_with(lambda n, _: None)},
    ),
    Break(
        "only q reordered",
        {"interleaved_to_half": _reordered_with(lambda n, of: n if _is_q(n, of) else None)},
    ),
    Break(
        "k reordered as if it had one head",
        {"interleaved_to_half": _reordered_with(lambda n, of: n if _is_q(n, of) else 1)},
    ),
)


def load(published: PublishedModel, broken: Break = RIGHT) -> tuple[nn.Module, LessonExercises]:
    """Return the published model in the student's `Llama`, and the exercises that it is made of.

    What does not pass is borrowed.
    """
    llama = passing_exercises("llama")
    if broken.others:
        right = {name: _earlier(name) for name in broken.others}
        others = {name: make(right[name], published) for name, make in broken.others.items()}
        llama = passing_exercises_with("llama", others)
    model = llama.Llama(**(published.sizes | dict(broken.sizes)))
    heads = published.sizes["n_heads"], published.sizes["n_kv_heads"]
    weights = llama.weights_from_gguf(published.tensors, *heads)
    model.load_state_dict(weights, strict=False, assign=True)
    return model.requires_grad_(False).eval(), llama


def _earlier(name: str) -> Any:
    """Return an exercise of lesson 5: yours if it passes."""
    return getattr(passing_exercises("rope"), name)


def sources() -> dict[str, str]:
    """Return whether each exercise that the model is made of is "yours" or "borrowed"."""
    llama = passing_exercises("llama")
    own = {one.name: llama.source_of(one.name) for one in find_lesson("llama").exercises}
    earlier = [name for names in imported_from_earlier("llama").values() for name in names]
    not_passed = borrowed_from_earlier("llama")
    return {name: "borrowed" if name in not_passed else "yours" for name in earlier} | own


def sample_ids(published: PublishedModel) -> tuple[str, Tensor]:
    """Return a name and the ids (1, T) of the text that losses are measured on.

    It is a scene of Shakespeare if TinyShakespeare was fetched, else the toy kingdom.
    """
    path = data_folder() / "tinyshakespeare.txt"
    name, text = "the toy kingdom", kingdom_text()
    if path.exists():
        whole = read_text(path, "fetch it again with `course data tinyshakespeare`")
        name, text = "Shakespeare", whole[200_000:202_400]
    ids = published.tokenizer.encode(text[:20_000]).ids[:N_TOKENS]
    return name, torch.tensor([ids])


def loss(model: nn.Module, llama: LessonExercises, ids: Tensor) -> float:
    """Return the loss on ids (1, T), in nats per token, the mean over all positions."""
    return llama.loss_by_position(model, ids).mean().item()


def answer(
    model: nn.Module,
    published: PublishedModel,
    ids: list[int],
    n_new: int,
    on_text: Callable[[str], object] = lambda text: None,
) -> tuple[str, float]:
    """Return how a model goes on from some ids, always with the most probable token, and its speed.

    It ends at the end token, or after `n_new`. The text is told piece by piece as it comes.

    Returns:
        The text, and tokens per second without the prompt.
    """
    decode, caches = published.tokenizer.decode, [{} for _ in model.blocks]
    new: list[int] = []
    unread, shown, started = torch.tensor([ids]), "", 0.0
    with torch.no_grad():
        while len(new) < n_new:
            token = int(model(unread, caches)[0, -1].argmax())
            started = started or time.perf_counter()
            if token == published.end:
                break
            new.append(token)
            unread = torch.tensor([[token]])
            whole = decode(new)
            if not whole.endswith("\ufffd"):  # a character of several tokens is not there yet
                on_text(whole[len(shown) :])
                shown = whole
    seconds = time.perf_counter() - started
    return decode(new), max(len(new) - 1, 0) / seconds if seconds else 0.0


def chat_ids(published: PublishedModel, question: str) -> list[int]:
    """Return the ids of a question, in the form that SmolLM2 was trained on."""
    return published.tokenizer.encode(CHAT.format(question=question)).ids


@dataclass(frozen=True)
class BreakResult:
    """What a break does to the model.

    Attributes:
        title: what is different.
        loss: nats per token.
        goes_on, answers: what it makes of `BEGINNING` and of `QUESTION`.
    """

    title: str
    loss: float
    goes_on: str
    answers: str


def measure(published: PublishedModel, broken: Break, ids: Tensor) -> BreakResult:
    """Return what a break does to the model."""
    model, llama = load(published, broken)
    beginning = published.tokenizer.encode(BEGINNING).ids
    goes_on, _ = answer(model, published, beginning, 12)
    answers, _ = answer(model, published, chat_ids(published, QUESTION), 12)
    return BreakResult(broken.title, loss(model, llama, ids), goes_on, answers)


def as_json(results: list[BreakResult], text: str) -> str:
    """Return results as the lesson's figures read them."""
    how = "course experiment llama --breaks --json, with TinyShakespeare"
    rows = [[one.title, round(one.loss, 3), one.goes_on, one.answers] for one in results]
    return json.dumps({"how": how, "text": text, "breaks": rows}, indent=1, ensure_ascii=False)
