"""Word vectors of a real text, compared with what counting alone gives."""

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from course.data.kingdom import ANALOGIES, kingdom_text
from course.experiments.real_words import (
    SIZE,
    Words,
    against_pmi,
    every_way,
    n_right,
    shared_neighbors,
    trained,
    words_of,
)
from course.experiments.shifted_pmi import Fit, fits
from course.experiments.twins import share_of_twins_found, with_twins
from course.student.exercises import passing_exercises

Ways = dict[str, tuple[Tensor, float]]
"""Rows (V, C) and the processor seconds that they took, by how they were made."""


@dataclass(frozen=True)
class Quality:
    """The cost of a way to word vectors, and how good its rows are.

    Attributes:
        seconds: processor seconds.
        twins: the share of split words whose other half is the nearest row.
        analogies: how many were answered and how many were asked, by where they are from.
        shared: the share of nearest rows that another seed's rows have as well.
    """

    seconds: float
    twins: float
    analogies: dict[str, tuple[int, int]]
    shared: float


def nearest_words(text: Words, rows: Tensor, word: str, n: int = 5) -> list[str]:
    """Return the words with the nearest rows, by the student's `nearest_by_cosine`."""
    nearest_by_cosine = passing_exercises("skipgram").nearest_by_cosine
    found, _ = nearest_by_cosine(rows[text.words.index(word)], rows, n + 1)
    return [text.words[one] for one in found.tolist()[1:]]


def fits_to_pmi(text: Words, name: str, seed: int) -> Iterator[tuple[str, int, Fit]]:
    """Yield how close scores get to PMI - log K: the text, the numbers a word, and the fit."""
    kingdom = words_of(kingdom_text())
    for of, words, n_embd, how in (
        ("kingdom", kingdom, len(kingdom.words), {"epochs": (30,), "blocks_per_step": 8}),
        (name, text, SIZE // 4, {"epochs": (10,)}),
        (name, text, SIZE, {"epochs": (10,)}),
    ):
        (tables,) = trained(words, seed=seed, n_embd=n_embd, **how).values()
        for fit in fits(*against_pmi(words, tables.center, tables.context)):
            yield of, n_embd, fit


def qualities(
    text: Words, corpus: str, ways: Ways, questions: list[list[str]], seed: int
) -> dict[str, Quality]:
    """Return the quality of each way.

    Args:
        corpus: what `text` was made from.
        questions: analogies to ask besides the kingdom's.
    """
    kingdom, twins = words_of(kingdom_text()), with_twins(corpus)
    asked = {"kingdom": (kingdom.words, every_way(kingdom, seed), [*map(list, ANALOGIES)])}
    if questions:
        asked["Google's"] = text.words, ways, questions
    of_twins, other = every_way(twins, seed), trained(text, (10,), seed + 1)[10].center
    return {
        way: Quality(
            seconds,
            share_of_twins_found(of_twins[way][0], twins.twins),
            {
                name: n_right(made[way][0], words, each)
                for name, (words, made, each) in asked.items()
            },
            shared_neighbors(rows, other),
        )
        for way, (rows, seconds) in ways.items()
    }
