"""Known ways to get each exercise wrong, and right ways that look unlike the reference.

A file per lesson holds both. Most are edits of the reference, `{old text: new text}`; a whole
function or class stands where the idea is another one. Mistakes say what they do instead of what
they should; the graded tests must refuse every one of them, and accept every alternative.
"""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass

from course.mistakes.variant import Edits, Variant, reference_text


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


_mistakes: dict[str, list[Mistake]] = {}
_alternatives: dict[str, list[Alternative]] = {}
_errors: dict[str, list[CommonError]] = {}


def entries(exercise: str) -> tuple[Callable, Callable, Callable]:
    """Return `mistake`, `alternative` and `error`, which enter those of an exercise.

    mistake({old: new}, ..., says=, look=, common=, forget=) enters what each of the edits makes of
    the reference, and as a decorator the function or class below it; so does `alternative`.
    error(message, means) enters an exception that many meet.
    """

    def mistake(
        *edits: Edits,
        says: str,
        look: str,
        common: bool = False,
        forget: Callable[[], None] | None = None,
    ) -> Callable:
        stem, place = _caller()

        def enter(
            definition: Callable | None = None, edits: Edits | None = None
        ) -> Callable | None:
            known = _mistakes.setdefault(stem, [])
            is_listed = common and not any(one.common and one.says == says for one in known)
            variant = Variant(stem, exercise, place, edits or {}, definition)
            known.append(Mistake(exercise, says, look, variant, is_listed, forget))
            return definition

        for some in edits:
            enter(edits=some)
        return enter

    def alternative(*entered: Edits | Callable) -> Callable:
        stem, place = _caller()
        for one in entered:
            edits, definition = ({}, one) if callable(one) else (one, None)
            variant = Variant(stem, exercise, place, edits, definition)
            _alternatives.setdefault(stem, []).append(Alternative(exercise, variant))
        return entered[0]

    def error(message: str, means: str) -> None:
        stem, _ = _caller()
        _errors.setdefault(stem, []).append(CommonError(exercise, message, means))

    return mistake, alternative, error


def inherit(older: str, of: str, exercise: str, written: Edits) -> None:
    """Enter the mistakes of an earlier exercise that the same edits make in this one.

    Args:
        older, of: the lesson and the exercise whose mistakes they are.
        written: how this exercise's reference writes what that one's does.
    """
    stem, place = _caller()
    text = reference_text(stem, exercise)
    for one in mistakes(older):
        if one.exercise != of or one.variant.definition or one.forget:
            continue
        edits = {}
        for both in one.variant.edits.items():
            for old, new in written.items():
                both = tuple(side.replace(old, new) for side in both)
            edits[both[0]] = both[1]
        if all(text.count(old) == 1 for old in edits):
            says = one.says.replace(of, exercise)
            variant = Variant(stem, exercise, place, edits)
            _mistakes.setdefault(stem, []).append(Mistake(exercise, says, one.look, variant))


def _caller() -> tuple[str, str]:
    """Return the lesson whose catalogue calls one of `entries`, and where it does."""
    frame = inspect.currentframe().f_back.f_back
    stem = frame.f_globals["__name__"].rpartition(".")[2]
    return stem, f"course/mistakes/{stem}.py:{frame.f_lineno}"


def mistakes(stem: str) -> list[Mistake]:
    """Return all mistakes of a lesson."""
    importlib.import_module(f"{__name__}.{stem}")
    return _mistakes.get(stem, [])


def alternatives(stem: str) -> list[Alternative]:
    """Return all alternatives of a lesson."""
    importlib.import_module(f"{__name__}.{stem}")
    return _alternatives.get(stem, [])


def errors(stem: str) -> list[CommonError]:
    """Return the common errors of a lesson."""
    importlib.import_module(f"{__name__}.{stem}")
    return _errors.get(stem, [])
