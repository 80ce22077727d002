"""A guess in a notebook: written before a cell is run, and then compared with the result."""

import html
import math
from typing import Any


class Guess:
    """What you expect to come out, by name; `...` is what you did not guess.

    It is code in the notebook, so it is saved with it and needs no widget.

    >>> guess = Guess(loss=2.5, steps=..., winner="RoPE")
    >>> guess.compare(loss=1.84, steps=100, winner="ALiBi")
    loss: your guess 2.5, result 1.84, too high
    steps: your guess none yet, result 100
    winner: your guess RoPE, result ALiBi
    """

    def __init__(self, **guesses: Any) -> None:
        self._guesses = guesses

    def compare(self, **results: Any) -> "Comparison":
        """Put each guess next to the result of the same name."""
        rows = []
        for name, result in results.items():
            guess = self._guesses.get(name, ...)
            verdict = _verdict(guess, result)
            rows.append((name.replace("_", " "), _text(guess), _text(result), verdict))
        return Comparison(rows)


class Comparison:
    """Guesses next to results: a table in a notebook, a line each elsewhere."""

    def __init__(self, rows: list[tuple[str, str, str, str]]) -> None:
        self._rows = rows

    def __repr__(self) -> str:
        lines = (
            f"{name}: your guess {guess}, result {result}, {verdict}"
            for name, guess, result, verdict in self._rows
        )
        return "\n".join(line.removesuffix(", ") for line in lines)

    def _repr_html_(self) -> str:
        rows = (f"<td>{'<td>'.join(map(html.escape, row))}" for row in self._rows)
        head = "<th><th>your guess<th>result<th>"
        return f"<table><tr>{head}<tr>{'<tr>'.join(rows)}</table>"


def _text(value: Any) -> str:
    if value is ...:
        return "none yet"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _verdict(guess: Any, result: Any) -> str:
    """Return how a guess compares; a number within a tenth of the result is right."""
    numbers = isinstance(guess, int | float) and isinstance(result, int | float)
    if numbers and not isinstance(result, bool):
        if math.isclose(guess, result, rel_tol=0.1, abs_tol=0.01):
            return "right"
        return "too high" if guess > result else "too low"
    return "right" if _text(guess).strip().lower() == _text(result).lower() else ""
