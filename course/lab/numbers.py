"""The numbers of the lab: what its page gets from the functions of the course, and in which form.

Exported is what an exercise computes: trained tables, sinusoids, rotations, penalties, for every
width and base that the page offers. Sums, products and softmaxes are left to the page.
"""

import base64
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import torch
from torch import Tensor

from course.lab.training import LONGEST, READ, SENTENCE, kingdom, train
from course.plots.parts import AMOUNT, COLORS, SIGNED
from course.student.borrow import Names, written_in
from course.student.progress import UNCHECKED, WRONG, status_of_all
from course.syllabus import find_lesson
from course.testing.outcomes import Wrong
from course.testing.stage import where

WIDTHS = (4, 8, 16, 32)
BASES = (10, 100, 10_000, 500_000)
N_HEADS = 8
MOST_WORDS = 12

USED = {
    "learned": ("GPTEmbedding", "tied_logits"),
    "sinusoidal": ("inverse_frequencies", "sinusoidal_encoding"),
    "rope": ("rope_tables", "rotate_half", "apply_rope", "alibi_bias"),
}
"""Lesson -> the exercises that the page shows, called here or by one another."""


class LabError(Exception):
    """A student's function gives nothing that could be shown; the message is one sentence."""


def export_numbers(mine: bool = False) -> dict[str, Any]:
    """Everything the page needs, ready for JSON; tensors as `packed` gives them.

    Args:
        mine: use `exercises/` where it is written, right or wrong, instead of the reference.

    Raises:
        LabError: a module of `exercises/` cannot be run, or a function of it raises, or returns
            something of another kind or shape than its contract says.
    """
    lessons = {stem: _Lesson(stem, mine) for stem in USED}
    learned, sinusoidal, rope = lessons.values()
    tokenizer, _ = kingdom()
    return {
        "sentence": SENTENCE,
        "words": tokenizer.words,
        "mostWords": MOST_WORDS,
        "longest": LONGEST,
        "read": READ,
        "widths": WIDTHS,
        "bases": BASES,
        "trained": {width: _trained(learned, width) for width in WIDTHS},
        "frequencies": _for_all(lambda *sizes: _frequencies(sinusoidal, *sizes)),
        "sinusoidal": _for_all(lambda *sizes: _sinusoidal(sinusoidal, *sizes)),
        "rotations": _for_all(lambda *sizes: _rotations(rope, *sizes)),
        "alibi": _alibi(rope),
        "colors": {"signed": _color_map(SIGNED), "amount": _color_map(AMOUNT), "marks": COLORS[:6]},
        "mine": mine,
        "yours": [name for lesson in lessons.values() for name in lesson.own()],
        "borrowed": [name for lesson in lessons.values() for name in lesson.borrowed()],
        "foundWrong": [name for lesson in lessons.values() for name in lesson.own(WRONG)],
        "unchecked": [name for lesson in lessons.values() for name in lesson.own(UNCHECKED)],
    }


def packed(tensor: Tensor) -> dict[str, Any]:
    """A tensor as its shape and the bytes of its numbers: float32, little-endian, in base64.

    >>> packed(torch.tensor([[0.0, 1.0]]))
    {'shape': [1, 2], 'base64': 'AAAAAAAAgD8='}
    """
    numbers = tensor.detach().to("cpu", torch.float32).contiguous().numpy().astype("<f4")
    return {"shape": list(numbers.shape), "base64": base64.b64encode(numbers).decode("ascii")}


class _Lesson:
    """The exercises of a lesson, called so that whatever goes wrong ends in one sentence."""

    def __init__(self, stem: str, mine: bool) -> None:
        self._lesson, self._mine = find_lesson(stem), mine
        try:
            self.names = written_in(self._lesson.module() if mine else None, self._lesson)
        except Wrong as wrong:
            raise LabError(str(wrong).partition("\n")[0]) from None

    def call(self, name: str, function: Callable[[Names], Any], *shapes: Sequence[int]) -> Any:
        """What `function` makes of the exercises: a tensor of the shape, or one for each shape.

        Args:
            name: what to speak of if it fails.
        """
        path = self._lesson.module()
        try:
            results = function(self.names)
        except Exception as error:
            place = where(error, path).partition(": ")[0]
            at = f" (at {place})" if place else ""
            message = str(error).partition("\n")[0]
            raise LabError(
                f"{name} cannot be shown, for it raises {type(error).__name__}: {message}{at}; "
                f"`course check {self._lesson.stem}` says more"
            ) from None
        several = results if len(shapes) > 1 and isinstance(results, tuple) else (results,)
        if [_shape(result) for result in several] != [tuple(shape) for shape in shapes]:
            got = " and ".join(str(_shape(result)) for result in several)
            want = " and ".join(str(tuple(shape)) for shape in shapes)
            raise LabError(
                f"{name} cannot be shown: the page needs the shape {want}, and it gives {got}; "
                f"`course check {self._lesson.stem}` says more"
            )
        return results

    def borrowed(self) -> list[str]:
        """The exercises of the page that are the reference's, because the student's are to do."""
        names = USED[self._lesson.stem] if self._mine else ()
        return [name for name in names if self.names.whose(name) == "borrowed"]

    def own(self, *status: str) -> list[str]:
        """The student's own exercises of the page, or those of which the last check says this."""
        known = status_of_all() if self._mine else {}
        return [
            name
            for name in USED[self._lesson.stem]
            if self.names.whose(name) == "yours"
            and (not status or known[name] in status)
            # a borrowed apply_rope turns by itself
            and (name != "rotate_half" or self.names.whose("apply_rope") == "yours")
        ]


def _shape(result: Any) -> tuple[int, ...] | str:
    return tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__


def _for_all(export: Callable[[int, float], Any]) -> dict[int, dict[int, Any]]:
    """Width -> base -> what is exported for them."""
    return {width: {base: export(width, base) for base in BASES} for width in WIDTHS}


def _trained(lesson: _Lesson, width: int) -> dict[str, Any]:
    n_words = kingdom()[0].vocab_size
    shapes = ((n_words, width), (LONGEST, width), (width, width), (width, width))
    tokens, positions, w_q, w_k = lesson.call(
        "what GPTEmbedding and tied_logits learn",
        lambda names: tuple(vars(train(names, width)).values()),
        *shapes,
    )
    generator = torch.Generator().manual_seed(0)
    strangers = torch.randn(MOST_WORDS, width, generator=generator) * tokens.std()
    tensors = {
        "tokens": tokens,
        "strangers": strangers,  # rows for words that the kingdom does not know, as loud as its own
        "positions": positions,
        "wq": w_q,
        "wk": w_k,
    }
    return {name: packed(tensor) for name, tensor in tensors.items()}


def _frequencies(lesson: _Lesson, width: int, base: float) -> dict[str, Any]:
    frequencies = lesson.call(
        "inverse_frequencies",
        lambda names: names.inverse_frequencies(width, base),
        (width // 2,),
    )
    return packed(frequencies)


def _sinusoidal(lesson: _Lesson, width: int, base: float) -> dict[str, Any]:
    table = lesson.call(
        "sinusoidal_encoding",
        lambda names: names.sinusoidal_encoding(LONGEST, width, base),
        (LONGEST, width),
    )
    return packed(table)


def _alibi(lesson: _Lesson) -> dict[str, Any]:
    bias = lesson.call(
        "alibi_bias",
        lambda names: names.alibi_bias(N_HEADS, LONGEST),
        (N_HEADS, LONGEST, LONGEST),
    )
    return packed(bias)


def _rotations(lesson: _Lesson, width: int, base: float) -> dict[str, Any]:
    """What `apply_rope` does to any x at each position, as the entries of one matrix a position.

    A rotation is linear, so its images of the unit vectors tell everything about it. Nearly all
    entries are zero at every position; the others are `values`, (LONGEST, entries), from feature
    `from` to feature `to`.
    """
    cos, sin = lesson.call(
        "rope_tables",
        lambda names: names.rope_tables(LONGEST, width, base),
        *((LONGEST, width), (LONGEST, width)),
    )

    def turned(x: Tensor) -> Tensor:
        shape = tuple(x.shape)
        return lesson.call("apply_rope", lambda names: names.apply_rope(x, cos, sin), shape)

    units = torch.eye(width)[:, None].repeat(1, LONGEST, 1)  # (from, position, feature)
    matrices = turned(units).transpose(0, 1)  # (position, from, to)
    x = torch.randn(LONGEST, width, generator=torch.Generator().manual_seed(0))
    as_matrices = (x[:, None] @ matrices)[:, 0]
    if not torch.allclose(turned(x.clone()), as_matrices, rtol=1e-3, atol=1e-3, equal_nan=True):
        raise LabError(
            "apply_rope cannot be shown, for it does not turn: what it makes of a sum is not the "
            "sum of what it makes of the parts; `course check rope` says more"
        )
    sources, targets = (matrices != 0).any(dim=0).nonzero(as_tuple=True)
    return {
        "from": sources.tolist(),
        "to": targets.tolist(),
        "values": packed(matrices[:, sources, targets]),
    }


def _color_map(name: str) -> list[str]:
    """256 colors from low to high, as "#rrggbb"."""
    return [matplotlib.colors.to_hex(color) for color in matplotlib.colormaps[name](range(256))]
