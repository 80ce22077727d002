"""How much a mistake looks like what a student wrote.

It decides only in which order mistakes are tried: those whose edits put words into the reference
that the student wrote too, or take out what the student does not have, come first.
"""

import functools
import re
from collections.abc import Callable

from course.mistakes.variant import Variant, reference_text
from course.testing.source import definitions, names_reached

Words = frozenset[tuple[str, ...]]
"""Words and signs that follow one another, up to three."""


def likeness(source: bytes, exercise: str) -> Callable[[Variant], float]:
    """Return what tells how much a variant of an exercise looks like a module's: -1 to 1."""
    reached = names_reached(source, exercise)
    lines = source.decode("utf-8", "replace").splitlines()
    written = _words(
        "\n".join(
            re.sub(r"#.*", "", line)
            for node in definitions(source)
            if getattr(node, "name", None) in reached
            for line in lines[node.lineno - 1 : node.end_lineno]
        )
    )

    def of(variant: Variant) -> float:
        added, removed = _difference(variant.calls or variant)
        n_added, n_removed = len(added & written), len(removed - written)
        return (4 * n_added - 2 * len(added) + 2 * n_removed - len(removed)) / (
            2 * len(added) + len(removed) + 4
        )

    return of


@functools.lru_cache(maxsize=4096)
def _difference(variant: Variant) -> tuple[Words, Words]:
    """Return what a variant adds to the reference, and what it removes."""
    if variant.edits:
        old, new = (_words("\n".join(texts)) for texts in (variant.edits, variant.edits.values()))
    else:
        old, new = _words(reference_text(variant.lesson, variant.exercise)), _words(variant.text)
    return new - old, old - new


def _words(text: str) -> Words:
    words = re.findall(r"\w+|[^\w\s]", text)
    return frozenset(
        run for n in (1, 2, 3) for run in zip(*(words[i:] for i in range(n)), strict=False)
    )
