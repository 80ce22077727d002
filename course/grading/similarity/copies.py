"""Possible copies in a class: pairs of modules that share code which few others have.

What is found is something to look at, never a verdict: two students may have read the same page,
or worked together where that is welcome.

Sources are compared by the fingerprints of Schleimer, Wilkerson and Aiken (2003), "Winnowing:
Local Algorithms for Document Fingerprinting", SIGMOD, sections 2 and 3, over tokens: comments,
layout and the names of variables do not count, so that renaming, reordering and reformatting hide
nothing. Nor does what everybody has: the lines of the stub, the code of the reference, and what
more than a quarter of the class wrote, and more than a few students.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from course.grading.similarity.source import MAX_TOKENS, TOKEN, Source, read_source, tokens_of
from course.syllabus import find_lesson, stub_of

NOISE = 10
"""The k of the paper, in tokens: anything shorter may be a coincidence."""
WINDOW = 4
"""The w of the paper: a shared run of NOISE + WINDOW - 1 tokens, about a line, is always found."""
COMMON = 0.25
"""What a larger share of the class has is common ground,"""
FEW = 5
"""unless it is no more students than this: a small class has groups that copy, too."""
DOUBT = 10
"""So many fingerprints are taken to differ before any is compared: little code proves little."""
MIN_SCORE = 0.5
"""Below this a pair is not worth a look."""


@dataclass(frozen=True)
class Fragment:
    """Lines that two modules share, from 1, first and last included."""

    first: tuple[int, int]
    second: tuple[int, int]


@dataclass(frozen=True)
class Resemblance:
    """Two students whose modules are worth a look, side by side.

    Attributes:
        first, second: the students.
        score: how much of the smaller module's uncommon code the other one has too, 0 to 1.
            The fewer students have a piece of code, the more it counts.
        fragments: the shared lines, in the order of the first student's module.
    """

    first: str
    second: str
    score: float
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True)
class _Prints:
    """Runs of tokens in a module: their hashes, and the lines on which each begins and ends."""

    hashes: np.ndarray
    lines: np.ndarray


def find_resemblances(
    stem: str, modules: Iterable[tuple[str, Source]], at_most: int = 100
) -> list[Resemblance]:
    """Pairs of a class to look at, the most alike first.

    Args:
        stem: the lesson.
        modules: each student with the module. Only the fingerprints are kept, so that a large
            class may be read one by one.
        at_most: how many pairs; the memory for all scores is 20 bytes a pair.
    """
    reference = read_source(find_lesson(stem).module("solutions").read_bytes()).lines
    stub = frozenset(read_source(stub_of(stem)).lines)
    common = {*_runs(reference).hashes.tolist(), *_runs(reference, stub).hashes.tolist()}
    students, prints = [], []
    for student, module in modules:
        students.append(student)
        prints.append(_winnow(_runs(module.lines, stub)))
    weights = _weights(prints, common)
    return [
        Resemblance(students[i], students[j], score, _fragments(prints[i], prints[j], weights))
        for score, i, j in _alike(prints, weights)[:at_most]
    ]


# --- from a source to fingerprints ----------------------------------------------------------


def _runs(lines: list[str], without: frozenset[str] = frozenset()) -> _Prints:
    """All runs of NOISE tokens in a definition, but for lines that the stub has."""
    kept, sizes, places = [], [], []
    part = n_tokens = 0
    for number, line in enumerate(lines, start=1):
        is_left_out = line != "" and line in without
        part += is_left_out or line.startswith(("def ", "class "))
        if line and not is_left_out and n_tokens < MAX_TOKENS:
            kept.append(tokens_of(line[:MAX_TOKENS]))
            sizes.append(len(kept[-1]) // TOKEN)
            places.append((number, part))
            n_tokens += sizes[-1]
    ids = np.frombuffer(b"".join(kept), np.uint32).astype(np.uint64) + np.uint64(1)
    where = np.array(places, np.int64).reshape(-1, 2).repeat(sizes, axis=0)
    n_runs, last = max(len(ids) - NOISE + 1, 0), NOISE - 1
    hashes = np.zeros(n_runs, np.uint64)
    for i in range(NOISE if n_runs else 0):
        hashes = _mix(hashes + ids[i : i + n_runs])
    (first_lines, first_parts), (last_lines, last_parts) = where[:n_runs].T, where[last:].T
    unbroken = first_parts == last_parts
    return _Prints(hashes[unbroken], np.stack((first_lines, last_lines), axis=1)[unbroken])


def _winnow(runs: _Prints) -> _Prints:
    """Of every WINDOW runs the one with the least hash, the rightmost of several."""
    if len(runs.hashes) <= WINDOW:
        return runs
    windows = np.lib.stride_tricks.sliding_window_view(runs.hashes, WINDOW)
    least = WINDOW - 1 - windows[:, ::-1].argmin(axis=1)
    chosen = np.unique(np.arange(len(windows)) + least)
    return _Prints(runs.hashes[chosen], runs.lines[chosen])


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Numbers of 64 bits in which every bit depends on many: the steps of splitmix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


# --- from fingerprints to pairs -------------------------------------------------------------


def _weights(prints: list[_Prints], common: set[int]) -> dict[int, float]:
    """What each uncommon fingerprint counts: the fewer students have it, the more."""
    n_owners = Counter(value for one in prints for value in set(one.hashes.tolist()))
    at_most = max(FEW, int(COMMON * len(prints)))
    return {
        value: _rarity(n, len(prints))
        for value, n in n_owners.items()
        if n <= at_most and value not in common
    }


def _rarity(n_owners: int, n_students: int) -> float:
    return math.log((n_students + 1) / n_owners)


def _alike(prints: list[_Prints], weights: dict[int, float]) -> list[tuple[float, int, int]]:
    """(score, i, j) of all pairs i < j that share enough, the highest score first."""
    if len(prints) < 2:
        return []
    owners = defaultdict(list)
    own = np.full(len(prints), DOUBT * _rarity(2, len(prints)))
    for i, one in enumerate(prints):
        for value in set(one.hashes.tolist()) & weights.keys():
            owners[value].append(i)
            own[i] += weights[value]
    shared = np.zeros((len(prints), len(prints)), np.float32)
    for value, students in owners.items():
        if len(students) > 1:
            shared[np.ix_(students, students)] += weights[value]
    score = np.triu(shared / np.minimum(own[:, None], own), k=1)
    found = [(float(score[i, j]), int(i), int(j)) for i, j in np.argwhere(score >= MIN_SCORE)]
    return sorted(found, key=lambda pair: (-pair[0], pair[1:]))


def _fragments(first: _Prints, second: _Prints, weights: dict[int, float]) -> tuple[Fragment, ...]:
    """The lines of all shared fingerprints, those that meet on both sides as one."""
    places = dict(zip(second.hashes.tolist(), second.lines.tolist(), strict=True))
    fragments: list[Fragment] = []
    for value, here in zip(first.hashes.tolist(), first.lines.tolist(), strict=True):
        if value in weights and value in places:
            there = places[value]
            last = fragments[-1] if fragments else None
            if last and _meet(last.first, here) and _meet(last.second, there):
                fragments.pop()
                here, there = _union(last.first, here), _union(last.second, there)
            fragments.append(Fragment(tuple(here), tuple(there)))
    return tuple(fragments)


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] <= b[1] + 1 and b[0] <= a[1] + 1


def _union(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])
