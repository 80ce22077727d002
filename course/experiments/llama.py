"""A published language model on the student's functions, right and broken.

Shapes: B batch, T tokens, H heads, D features of a head, V vocabulary.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from course.core.syllabus import find_lesson
from course.data import data_folder
from course.data.kingdom import kingdom_text
from course.data.published import CHAT, PublishedModel
from course.data.reading import read_text
from course.experiments.gpt import students_code
from course.experiments.writing import write_until
from course.student.exercises import LessonExercises, passing_exercises, passing_exercises_with
from course.testing.source import imported_from_earlier

N_TOKENS = 512
"""Tokens of the text that losses are measured on."""

QUESTION, BEGINNING = "Are dogs real?", "The capital of France is"


@dataclass(frozen=True)
class ChangedModel:
    """A published model with something changed.

    Attributes:
        title: what is different, as the rest of "the model, but ...".
        others: what replaces a function of an earlier lesson, by its name: it takes the right one.
        sizes: arguments of `Llama` that are different.
    """

    title: str
    others: Mapping[str, Callable[[Any, PublishedModel], Any]] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)


RIGHT = ChangedModel("all right")


class _WithoutDrawing(TorchFunctionMode):
    """Leaves new parameters as they are, because those of a file replace all of them."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", "") == "torch.nn.init":
            return kwargs["tensor"] if "tensor" in kwargs else args[0]
        if func is torch.randn:
            kwargs.pop("generator", None)
            func = torch.empty
        return func(*args, **kwargs)


def load(
    published: PublishedModel, variant: ChangedModel = RIGHT
) -> tuple[nn.Module, LessonExercises]:
    """Return the published model in the student's `Llama`, and the exercises that it is made of.

    What does not pass is borrowed.
    """
    others = {name: make(_earlier(name), published) for name, make in variant.others.items()}
    rotary = others.get("RotaryEmbedding") or _earlier("RotaryEmbedding")
    others["RotaryEmbedding"] = _one_for_all(rotary)
    llama = passing_exercises_with("llama", others)
    with _WithoutDrawing():
        model = llama.Llama(**(published.sizes | dict(variant.sizes)))
    heads = published.sizes["n_heads"], published.sizes["n_kv_heads"]
    weights = llama.weights_from_gguf(published.tensors, *heads)
    model.load_state_dict(weights, strict=False, assign=True)
    return model.requires_grad_(False).eval(), llama


def _one_for_all(rotary: type[nn.Module]) -> type[nn.Module]:
    """Return a `RotaryEmbedding` of which all blocks share one, because its table is large."""
    made = cache(rotary)

    class Shared(rotary):
        def __new__(cls, *sizes: Any, **named: Any) -> nn.Module:
            return made(*sizes, **named) if cls is Shared else super().__new__(cls)

    return Shared


def _earlier(name: str) -> Any:
    """Return what lesson 9 imports from an earlier lesson under a name: yours if it passes."""
    imported = imported_from_earlier("llama")
    lesson = next(lesson for lesson, names in imported.items() if name in names)
    return getattr(passing_exercises(lesson), name)


def sources(exercises_of: Callable[[str], LessonExercises] = passing_exercises) -> dict[str, str]:
    """Return whether each exercise that the model is made of is "yours" or "borrowed".

    Args:
        exercises_of: gives the exercises of a lesson, of which it is made.
    """
    names = {before: list(found) for before, found in imported_from_earlier("llama").items()}
    names["gpt"].append("generate")
    names["llama"] = [one.name for one in find_lesson("llama").exercises]
    return {name: exercises_of(stem).source_of(name) for stem in names for name in names[stem]}


def sample_ids(published: PublishedModel, n_tokens: int = N_TOKENS) -> tuple[str, Tensor]:
    """Return a name and the ids (1, T) of the text that losses are measured on.

    It is a scene of Shakespeare if TinyShakespeare was fetched, else the toy kingdom.
    """
    path = data_folder() / "tinyshakespeare.txt"
    name, text = "the toy kingdom", kingdom_text()
    if path.exists():
        whole = read_text(path, "fetch it again with `course data tinyshakespeare`")
        name, text = "Shakespeare", whole[200_000:]
    ids = published.tokenizer.encode(text[: 8 * n_tokens]).ids[:n_tokens]
    return name, torch.tensor([ids])


def loss(model: nn.Module, llama: LessonExercises, ids: Tensor) -> float:
    """Return the loss on ids (1, T), in nats per token, the mean over all positions."""
    return llama.loss_by_position(model, ids).mean().item()


class Conversation:
    """A text that a published model and somebody else write in turns.

    The model reads each token once: what it keeps of earlier turns stays in its caches. It writes
    by lesson 8's `generate`: the student's if it passes.
    """

    def __init__(self, model: nn.Module, published: PublishedModel) -> None:
        self.model, self.published = model, published
        self.caches: list[dict] = [{} for _ in model.blocks]
        self.n_read = 0
        self.unread: list[int] = []

    @property
    def is_cut(self) -> bool:
        """True if the last answer ended before the model's end token."""
        return len(self.unread) > 1

    def answer(
        self,
        ids: list[int],
        n_new: int,
        on_text: Callable[[str], object] = lambda text: None,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[str, float]:
        """Return how the model goes on, up to its end token, and its tokens per second.

        Args:
            ids: of the next turn.
            n_new: the most tokens that it writes.
            on_text: told the text, character by character, as it comes.
            is_stopped: asked after each token whether that was the last one.

        Raises:
            ValueError: the model has not enough positions left for the turn.
            Stopped: the student's code failed.
        """
        prompt, decode = self.unread + ids, self.published.tokenizer.decode
        n_left = self.model.max_seq_len - self.n_read - len(prompt)
        if n_left < 0:
            raise ValueError(
                f"The model has {self.model.max_seq_len:,} positions, too few for "
                f"{self.n_read + len(prompt):,} tokens"
            )
        seen, shown, times = [], "", []

        def told(token: int) -> bool:
            nonlocal shown, is_cut
            times.append(time.perf_counter())
            seen.append(token)
            whole = decode(seen)
            if not whole.endswith("\ufffd"):  # a character of several tokens is not there yet
                on_text(whole[len(shown) :])
                shown = whole
            is_cut = is_stopped() or len(seen) == most
            return is_cut

        generate, end = passing_exercises("gpt").generate, self.published.end
        most, is_cut = min(n_new, n_left + 1), False  # the last one isn't read
        with students_code("The model"):
            new = write_until(end, generate, self.model, prompt, most, told, self.caches)
        self.n_read += len(prompt) + len(new) - is_cut  # one cut short has a token left to read
        self.unread = [*new[-1:], end] if is_cut else [end]
        speed = (len(times) - 1) / (times[-1] - times[0]) if len(times) > 1 else 0.0
        return decode(new), speed


def chat_ids(published: PublishedModel, question: str, is_first: bool = True) -> list[int]:
    """Return the ids of a question, in the form that SmolLM2 was trained on."""
    text = CHAT.format(question=question)
    return published.tokenizer.encode(text if is_first else f"\n{text}").ids


def measure(published: PublishedModel, broken: ChangedModel, ids: Tensor) -> tuple[float, str, str]:
    """Return a broken model's loss on ids (1, T), and what it makes of BEGINNING and QUESTION."""
    model, llama = load(published, broken)
    beginning = published.tokenizer.encode(BEGINNING).ids
    goes_on, _ = Conversation(model, published).answer(beginning, 12)
    answers, _ = Conversation(model, published).answer(chat_ids(published, QUESTION), 12)
    return loss(model, llama, ids), goes_on, answers
