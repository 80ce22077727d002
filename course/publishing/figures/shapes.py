"""Plain data read and checked: tensors and lists as arrays of the shape that a figure needs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Sizes(dict[str, int]):
    """The sizes that the letters of shapes stand for, as the arguments tell them one by one.

    >>> sizes = Sizes()
    >>> sizes.numbers("table", torch.zeros(5, 4), "T C").shape
    (5, 4)
    >>> sizes.numbers("other", torch.zeros(5, 3), "T C")
    Traceback (most recent call last):
    ValueError: other must have the shape (T, C) = (5, 4), none of them 0; got (5, 3)
    """

    def numbers(self, name: str, values: Any, letters: str) -> Array:
        """Return a tensor or a list as an array of this shape, "T C" for (T, C)."""
        if isinstance(values, torch.Tensor):
            values = values.detach().cpu()  # first: not every device has float64
        array = torch.as_tensor(values, dtype=torch.float64).numpy()
        self._learn(name, array.shape, letters.split())
        return array

    def words(self, name: str, words: Iterable[str], letter: str) -> list[str]:
        """Return a list of words, as many as the letter says."""
        words = list(words)
        self._learn(name, (len(words),), [letter])
        return words

    def _learn(self, name: str, shape: tuple[int, ...], letters: list[str]) -> None:
        known = dict(self)
        fits = len(shape) == len(letters) and all(
            size > 0 and size == known.setdefault(letter, size)
            for letter, size in zip(letters, shape, strict=True)
        )
        if not fits:
            wanted = _tuple(letters)
            if any(letter in self for letter in letters):
                wanted += f" = {_tuple(self.get(letter, letter) for letter in letters)}"
            raise ValueError(
                f"{name} must have the shape {wanted}, none of them 0; got {_tuple(shape)}"
            )
        self.update(known)


def read_all(
    what: str, given: Mapping[str, Any], letters: str, sizes: Sizes | None = None
) -> dict[str, Array]:
    """Return tensors by name as arrays; without `sizes` each has its own."""
    return {
        name: (Sizes() if sizes is None else sizes).numbers(name or what, values, letters)
        for name, values in given.items()
    }


def _tuple(entries: Iterable[object]) -> str:
    """Return (T,) or (5, 4), as Python writes it but without quotes."""
    texts = [str(entry) for entry in entries]
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
