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
from course.testing.executor import where
from course.testing.outcomes import Wrong

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
    """A student's function that gives nothing to show; the message is one sentence."""


def export_numbers(mine: bool = False) -> dict[str, Any]:
    """Return everything the page needs, ready for JSON; tensors as `packed` gives them.

    Args:
        mine: use `exercises/` where it is written, right or wrong, instead of the reference.

    Raises:
        LabError: a module of `exercises/` cannot be run, or a function of it raises, or returns
            something of another kind or shape than its contract says.
    """
    lessons = [_Lesson(stem, mine) for stem in USED]
    learned, sinusoidal, rope = lessons
    tokenizer, _ = kingdom()
    whole = (N_HEADS, LONGEST, LONGEST)
    return {
        "sentence": SENTENCE,
        "words": tokenizer.words,
        "mostWords": MOST_WORDS,
        "longest": LONGEST,
        "read": READ,
        "widths": WIDTHS,
        "bases": BASES,
        "trained": {width: _trained(learned, width) for width in WIDTHS},
        "frequencies": _for_all(
            lambda width, base: packed(
                sinusoidal.call("inverse_frequencies", (width // 2,), width, base)
            )
        ),
        "sinusoidal": _for_all(
            lambda width, base: packed(
                sinusoidal.call("sinusoidal_encoding", (LONGEST, width), LONGEST, width, base)
            )
        ),
        "rotations": _for_all(lambda width, base: _rotations(rope, width, base)),
        "alibi": packed(rope.call("alibi_bias", whole, N_HEADS, LONGEST)),
        "colors": {"signed": _color_map(SIGNED), "amount": _color_map(AMOUNT), "marks": COLORS[:6]},
        "mine": mine,
        "yours": [name for lesson in lessons for name in lesson.own()],
        "borrowed": [name for lesson in lessons for name in lesson.borrowed()],
        "foundWrong": [name for lesson in lessons for name in lesson.own(WRONG)],
        "unchecked": [name for lesson in lessons for name in lesson.own(UNCHECKED)],
    }


def packed(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor's shape and the bytes of its numbers: float32, little-endian, in base64.

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

    def call(self, name: str, shape: Sequence[int], *arguments: Any) -> Tensor:
        """Call an exercise that returns a tensor of this shape."""
        return self.checked(name, lambda names: getattr(names, name)(*arguments), shape)

    def checked(self, said: str, function: Callable[[Names], Any], *shapes: Sequence[int]) -> Any:
        """Return what `function` makes of the exercises: a tensor of the shape, or one for each.

        Args:
            said: what to speak of if it fails.
        """
        more = f"`course check {self._lesson.stem}` says more"
        try:
            results = function(self.names)
        except Exception as error:
            place = where(error, self._lesson.module()).partition(": ")[0]
            at = f" (at {place})" if place else ""
            message = str(error).partition("\n")[0]
            raise LabError(
                f"{said} cannot be shown, for it raises {type(error).__name__}: {message}{at}; "
                f"{more}"
            ) from None
        several = results if len(shapes) > 1 and isinstance(results, tuple) else (results,)
        want, got = [tuple(shape) for shape in shapes], [_shape(result) for result in several]
        if got != want:
            needed, given = (" and ".join(map(str, sizes)) for sizes in (want, got))
            raise LabError(
                f"{said} cannot be shown: the page needs the shape {needed}, and it gives "
                f"{given}; {more}"
            )
        return results

    def borrowed(self) -> list[str]:
        """Return the exercises of the page whose own versions are still to do."""
        names = USED[self._lesson.stem] if self._mine else ()
        return [name for name in names if self.names.whose(name) == "borrowed"]

    def own(self, *status: str) -> list[str]:
        """Return the student's own exercises of the page, or those with this status."""
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
    """Return width -> base -> what is exported for them."""
    return {width: {base: export(width, base) for base in BASES} for width in WIDTHS}


def _trained(lesson: _Lesson, width: int) -> dict[str, Any]:
    n_words = kingdom()[0].vocab_size
    shapes = ((n_words, width), (LONGEST, width), (width, width), (width, width))
    said = "what GPTEmbedding and tied_logits learn"
    tokens, positions, w_q, w_k = lesson.checked(said, lambda names: train(names, width), *shapes)
    generator = torch.Generator().manual_seed(0)
    return {
        "tokens": packed(tokens),
        # rows for words that the kingdom does not know, as loud as its own
        "strangers": packed(torch.randn(MOST_WORDS, width, generator=generator) * tokens.std()),
        "positions": packed(positions),
        "wq": packed(w_q),
        "wk": packed(w_k),
    }


def _rotations(lesson: _Lesson, width: int, base: float) -> dict[str, Any]:
    """Return what `apply_rope` does to any x, as the entries of one matrix a position.

    A rotation is linear, so its images of the unit vectors tell everything about it. Nearly all
    entries are zero at every position; the others are `values`, (LONGEST, entries), from feature
    `from` to feature `to`.
    """
    shape = (LONGEST, width)
    cos, sin = lesson.checked(
        "rope_tables", lambda names: names.rope_tables(LONGEST, width, base), shape, shape
    )

    def turned(x: Tensor) -> Tensor:
        return lesson.call("apply_rope", x.shape, x, cos, sin)

    units = torch.eye(width)[:, None].repeat(1, LONGEST, 1)  # (from, position, feature)
    matrices = turned(units).transpose(0, 1)  # (position, from, to)
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
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
    """Return 256 colors from low to high, as "#rrggbb"."""
    return [matplotlib.colors.to_hex(color) for color in matplotlib.colormaps[name](range(256))]
