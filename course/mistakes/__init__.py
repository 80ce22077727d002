"""Known ways to get each exercise wrong, and right ways that look unlike the reference.

A table per lesson, `mistakes.txt` in its room, has both. Most are edits of the reference; where the
idea is another one, the table names a function or class of `styles.py`. Mistakes say what they do
instead of what they should; the graded tests must refuse every one of them, and accept every
alternative.
"""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from course.core import answers
from course.core.syllabus import find_lesson
from course.mistakes.table import Entry, TableError, read_table
from course.mistakes.variant import Variant, reference_text, styles


@dataclass(frozen=True)
class Mistake:
    """A wrong variant of an exercise.

    Attributes:
        says: one sentence: what the code does instead of what it should. Variants of one mistake
            say the same.
        look: where to look; never the answer.
        common: whether many make it; the lesson's text lists these.
        forget: empties what the variant keeps from one call to the next, if it keeps anything.
        family: the family that it belongs to, if it is none of the lesson's own.
    """

    exercise: str
    says: str
    look: str
    variant: Variant
    common: bool = False
    forget: Callable[[], None] | None = None
    family: str = ""


@dataclass(frozen=True)
class Alternative:
    """A right variant of an exercise, in another style.

    The first one of an exercise is what `course show` puts beside the reference.
    """

    exercise: str
    variant: Variant


@dataclass(frozen=True)
class CommonError:
    """An exception that many meet in an exercise.

    Attributes:
        message: as Python shows it, with its kind: "IndexError: index 7 is out of bounds"; other
            numbers in it are the same error.
        means: what most often raises it here, in a sentence or two; never the answer.
    """

    exercise: str
    message: str
    means: str


@functools.cache
def catalogue(stem: str) -> tuple[list[Mistake], list[Alternative], list[CommonError]]:
    """Return the mistakes, alternatives and errors of a lesson, from its table.

    Raises:
        TableError: the table cannot be read, or names what is not in styles.py.
    """
    text = answers.text(find_lesson(stem).room / "mistakes.txt")
    known: list[Mistake] = []
    others: list[Alternative] = []
    raised: list[CommonError] = []
    for one in read_table(text, f"course/lessons/{stem}/mistakes.txt"):
        common, says, look, forget = one.sentences
        if one.mark == "E":
            raised.append(CommonError(one.exercise, one.name, says))
        elif one.mark == ">":
            of_this = (it for it in known if it.exercise == one.exercise)
            known += _as_well(of_this, one, stem, one.name)
        elif one.mark == "<":
            earlier, _, name = one.name.partition(".")
            of_that = (it for it in mistakes(earlier) if it.exercise == name)
            known += _as_well(of_that, one, stem, one.exercise)
        else:
            definition = None if one.edits else _of_styles(one.name, one, stem)
            variant = Variant(stem, one.exercise, one.place, one.edits, definition)
            if one.mark == "+":
                others.append(Alternative(one.exercise, variant))
                continue
            is_listed = common and not any(it.common and it.says == says for it in known)
            clear = _of_styles(forget, one, stem).clear if forget else None
            known.append(Mistake(one.exercise, says, look, variant, is_listed, clear))
    return known, others, raised


def _of_styles(name: str, entry: Entry, stem: str) -> Any:
    if name not in styles(stem):
        raise TableError(f"{entry.place}: course/lessons/{stem}/styles.py has no {name!r}")
    return styles(stem)[name]


def _as_well(older: Iterable[Mistake], entry: Entry, stem: str, to: str) -> Iterator[Mistake]:
    """Yield the mistakes of another exercise that the same edits make in this one.

    Args:
        older: the mistakes; the entry's edits say how this one's reference writes what theirs does.
        to: this exercise.
    """
    text, (_, unless, *_) = reference_text(stem, to), entry.sentences
    words = unless.removeprefix("unless: ").split(", ") if unless else []
    for one in list(older):
        if one.variant.definition or one.forget or any(word in one.says for word in words):
            continue
        edits = {}
        for both in one.variant.edits.items():
            for old, new in entry.edits.items():
                both = tuple(side.replace(old, new) for side in both)
            edits[both[0]] = both[1]
        if all(text.count(old) == 1 for old in edits):
            says = one.says.replace(one.exercise, to)
            yield Mistake(to, says, one.look, Variant(stem, to, entry.place, edits))


def mistakes(stem: str) -> list[Mistake]:
    """Return all mistakes of a lesson."""
    return catalogue(stem)[0]


def alternatives(stem: str) -> list[Alternative]:
    """Return all alternatives of a lesson."""
    return catalogue(stem)[1]


def errors(stem: str) -> list[CommonError]:
    """Return the common errors of a lesson."""
    return catalogue(stem)[2]
