"""Known ways to get each exercise wrong, and right ways that look unlike the reference.

A file per lesson holds both, as whole replacements of one exercise. Mistakes say what they do
instead of what they should; the graded tests must refuse every one of them, and accept every
alternative. A replacement may use the lesson's other exercises from `solutions`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """A wrong variant of an exercise.

    Attributes:
        exercise: the name that it replaces.
        name: what to call it, in a few words.
        says: one sentence: what the code does instead of what it should.
        look: where to look; never the answer.
        variant: the function or class itself.
        common: whether many make it; the lesson's text lists these.
        forget: empties what the variant keeps from one call to the next, if it keeps anything.
    """

    exercise: str
    name: str
    says: str
    look: str
    variant: Callable
    common: bool = False
    forget: Callable[[], None] | None = None


@dataclass(frozen=True)
class Alternative:
    """A right variant of an exercise, in another style.

    The first one of an exercise is what `course show` puts beside the reference.
    """

    exercise: str
    name: str
    variant: Callable


_mistakes: dict[str, list[Mistake]] = {}
_alternatives: dict[str, list[Alternative]] = {}


def mistake(
    exercise: str,
    *,
    says: str,
    look: str,
    common: bool = False,
    forget: Callable[[], None] | None = None,
) -> Callable:
    """Enter the decorated function or class as a mistake; its name becomes the short name."""

    def enter(variant: Callable) -> Callable:
        entry = Mistake(exercise, _words(variant), says, look, variant, common, forget)
        _mistakes.setdefault(_stem(variant), []).append(entry)
        return variant

    return enter


def alternative(exercise: str) -> Callable:
    """Enter the decorated function or class as an alternative."""

    def enter(variant: Callable) -> Callable:
        entry = Alternative(exercise, _words(variant), variant)
        _alternatives.setdefault(_stem(variant), []).append(entry)
        return variant

    return enter


def mistakes(stem: str) -> list[Mistake]:
    """Return all mistakes of a lesson."""
    importlib.import_module(f"{__name__}.{stem}")
    return _mistakes.get(stem, [])


def alternatives(stem: str) -> list[Alternative]:
    """Return all alternatives of a lesson."""
    importlib.import_module(f"{__name__}.{stem}")
    return _alternatives.get(stem, [])


def _stem(variant: Callable) -> str:
    return variant.__module__.rpartition(".")[2]


def _words(variant: Callable) -> str:
    return variant.__name__.replace("_", " ").strip()
