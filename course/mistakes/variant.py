"""An exercise done differently: the reference's definition with edits, or another definition."""

import ast
import contextlib
import difflib
import functools
import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import re
import sys
import textwrap
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from course.core import answers
from course.core.syllabus import find_lesson
from course.testing.loading import load_module
from course.testing.source import with_called

Edits = Mapping[str, str]
"""New text by old text. Each old text is exactly once in the text that is edited."""


class EditError(ValueError):
    """An edit that does not apply; the sentence says where it is entered."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A definition that replaces the reference's.

    Attributes:
        lesson, exercise: whose definition it replaces.
        place: where it is entered, as "course/lessons/rope/mistakes.txt:31".
        edits: what is different from the reference, or from `definition` or `of`, if there is one.
        definition: the function or class itself.
        of: the variant that is edited, if this is two mistakes at once.
        calls: a variant of an exercise that this one calls, if the mistake is in that one.
        also: the edits of another mistake that is made in the same text, where each leaves alone
            the words that the other changes.
    """

    lesson: str
    exercise: str
    place: str
    edits: Edits = field(default_factory=dict)
    definition: Callable | None = None
    of: "Variant | None" = None
    calls: "Variant | None" = None
    also: Edits = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the definition's text.

        Raises:
            EditError: an edit does not apply.
        """
        if self.of:
            text = self.of.text
        elif self.definition:
            text = _text_of(self.definition)
        else:
            text = reference_text(self.lesson, self.exercise)
            if self.calls:
                text = f"{self.calls.text_for(self.exercise)}\n\n{text}"
        spans = _spans(text, self.edits, self.place)
        if self.also:
            both = [*spans, *_spans(text, self.also, self.place)]
            spans = [one for span in both for one in _changed(text, *span)]
        return _edited(text, spans, self.place)

    def text_for(self, exercise: str) -> str:
        """Return this definition, and all others that an exercise of the lesson calls."""
        _, *called = with_called(self.lesson, (exercise,))
        in_order = [one.name for one in find_lesson(self.lesson).exercises if one.name in called]
        texts = [
            self.text if name == self.exercise else reference_text(self.lesson, name)
            for name in in_order
        ]
        return "\n\n".join(texts)

    def and_also(self, other: "Variant") -> "Variant | None":
        """Return this variant with the other's edits too; None if they cannot both be made."""
        made = []
        for one, then in ((self, other), (other, self)):
            if one.calls and then.calls:  # the text of the one has all that is called
                then = then.calls
            if not (then.definition or then.calls):
                made.append(replace(one, edits=then.edits, of=one))
        if not any(one.definition or one.calls for one in (self, other)):
            made.append(replace(self, also=other.edits))
        for both in made:
            with (
                contextlib.suppress(EditError, SyntaxError),
                warnings.catch_warnings(action="ignore"),  # of what nobody wrote
            ):
                _compiled(both.text, both.place)
                return both
        return None

    def module(self) -> types.ModuleType:
        """Return the reference of the lesson with this definition in its place.

        Raises:
            EditError: an edit does not apply.
        """
        original = reference_module(self.lesson)
        module = types.ModuleType(original.__name__)
        module.__dict__.update(vars(original))
        if self.definition and not self.edits:
            module.__dict__[self.exercise] = self.definition
            return module
        names = {**_FOR_FAMILIES, **styles(self.lesson), **vars(original)}
        with warnings.catch_warnings(action="ignore"):  # not about a student's code
            exec(_compiled(self.text, self.place), names)
        made = self.definition.__name__ if self.definition else self.exercise
        module.__dict__[self.exercise] = names[made]
        return module


@functools.lru_cache(maxsize=16)
def _compiled(text: str, place: str) -> types.CodeType:
    """Return what a definition compiles to: two mistakes at once are first tried, then made."""
    return compile(text, place, "exec")


Span = tuple[int, int, str]
"""Where in a text something else comes: from here, to there, and what."""


def _spans(text: str, edits: Edits, place: str) -> list[Span]:
    """Return where edits change a text."""
    spans = []
    for old, new in edits.items():
        n_found = text.count(old)
        if n_found != 1:
            times = "nowhere" if n_found == 0 else f"{n_found} times"
            raise EditError(f"{place}: {old!r} is found {times} in the text it edits, not once")
        start = text.index(old)
        spans.append((start, start + len(old), new))
    return spans


def _changed(text: str, start: int, end: int, new: str) -> list[Span]:
    """Return the spans of the words that differ between a part of a text and what comes there."""
    old = text[start:end]
    (of_old, words), (of_new, new_words) = _words_and_ends(old), _words_and_ends(new)
    if old[of_old[-1] :] != new[of_new[-1] :]:
        return [(start, end, new)]
    if len(words) == len(new_words):  # `b - a` from `a - b`: two words change, and none moves
        changes = [(at, at + 1, at, at + 1) for at in range(len(words))]
    else:
        matcher = difflib.SequenceMatcher(None, words, new_words, autojunk=False)
        changes = [place for _, *place in matcher.get_opcodes()]
    return [
        (start + of_old[a], start + of_old[b], new[of_new[c] : of_new[d]])
        for a, b, c, d in changes
        if words[a:b] != new_words[c:d]
    ]


def _words_and_ends(text: str) -> tuple[list[int], list[str]]:
    """Return where each word or sign ends, from 0 on, and the words; a new line is one, too."""
    found = list(re.finditer(r"\n *|\w+|[^\w\s]", text))
    return [0, *(one.end() for one in found)], [one[0] for one in found]


def _edited(text: str, spans: Sequence[Span], place: str) -> str:
    """Return a text with all changes made at once, so that none is in what another one wrote."""
    spans = sorted(spans)
    for (start, end, _), (later, its_end, _) in itertools.pairwise(spans):
        if later < end or start == end == later == its_end:
            raise EditError(f"{place}: two of its edits overlap")
    for start, end, new in reversed(spans):
        text = text[:start] + new + text[end:]
    return text


@functools.cache
def reference_text(lesson: str, exercise: str) -> str:
    """Return what edits apply to: the reference's definition without docstrings and marks."""
    text = find_lesson(lesson).solution
    lines = text.splitlines()
    node = next(one for one in ast.parse(text).body if getattr(one, "name", "") == exercise)
    dropped = set()
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(one) is not None:
            dropped.update(range(one.body[0].lineno, one.body[0].end_lineno + 1))
    kept = [
        lines[number - 1]
        for number in range(node.lineno, node.end_lineno + 1)
        if number not in dropped and not lines[number - 1].lstrip().startswith("### ")
    ]
    return "\n".join(kept)


@functools.cache
def _text_of(definition: Callable) -> str:
    """Return a definition's text, without its decorators."""
    text = textwrap.dedent(inspect.getsource(inspect.unwrap(definition)))
    node = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[node.lineno - 1 :])


@functools.cache
def styles(lesson: str) -> dict[str, Any]:
    """Return what styles.py of a lesson defines and imports: new text of edits may use it, too."""
    path, pack = find_lesson(lesson).room / "styles.py", str(answers.pack())
    if os.path.exists(pack) and pack not in sys.path:
        sys.path.insert(0, pack)  # it has the `solutions` that styles import
    name = f"course.lessons.{lesson}.styles"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Loader(name, str(path)))
    sys.modules[name] = module = importlib.util.module_from_spec(spec)  # `inspect` looks there
    with contextlib.suppress(FileNotFoundError):  # a lesson may do without
        spec.loader.exec_module(module)
    return vars(module)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module that may be packed; `inspect` then finds its text, too."""

    def get_data(self, path: str) -> bytes:
        return answers.read(Path(path)) if path.endswith(".py") else super().get_data(path)


@functools.cache
def reference_module(lesson: str) -> types.ModuleType:
    """Return the reference of a lesson as a module."""
    return load_module(find_lesson(lesson).module("solutions"))


# --- what the edits of families call --------------------------------------------------------


def each(function: Callable, result: Any) -> Any:
    """Return a function's value for a result, or for both if it is two."""
    return tuple(map(function, result)) if isinstance(result, tuple) else function(result)


def zeroed(tensor: torch.Tensor, axis: int, at: int) -> torch.Tensor:
    """Return a tensor with zeros in the first or the last entry along an axis."""
    index = torch.tensor([at % tensor.shape[axis]], device=tensor.device)
    return tensor.index_fill(axis, index, 0)


_FOR_FAMILIES = {
    "torch": torch,
    "nn": torch.nn,
    **{one.__name__: one for one in (each, zeroed)},
}
