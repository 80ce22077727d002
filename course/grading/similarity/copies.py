"""Possible copies in a class: pairs of modules that share code which few others have.

What is found is something to look at, never a verdict: two students may have read the same page,
or worked together where that is welcome.

Sources are compared by their runs of ten tokens, k-grams as in section 2 of Schleimer, Wilkerson
and Aiken (2003), "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD: comments,
layout and the names of variables do not count, so that renaming, reordering and reformatting hide
nothing. Nor does what everybody has: the lines of the stub, the code of the reference, and what
more than a quarter of the class wrote, and more than a few students.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from course.grading.similarity.source import MAX_TOKENS, Source, read_source, tokens_of
from course.syllabus import find_lesson, stub_of

RUN = 10
"""The k of the paper, in tokens: anything shorter may be a coincidence."""
COMMON = 0.25
"""What a larger share of the class has is common ground,"""
FEW = 5
"""unless it is no more students than this: a small class has groups that copy, too."""
DOUBT = 14
"""So many runs are taken to differ before any is compared: little code proves little."""
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
        score: how much of the smaller module's uncommon code the other one has too, 0 to 1.
            The fewer students have a piece of code, the more it counts.
        fragments: the shared lines, in the order of the first student's module.
    """

    first: str
    second: str
    score: float
    fragments: tuple[Fragment, ...]


_Runs = list[tuple[int, tuple[int, int]]]
"""Runs of tokens: the hash of each, and the lines on which it begins and ends."""


def find_resemblances(
    stem: str, modules: Iterable[tuple[str, Source]], at_most: int = 100
) -> list[Resemblance]:
    """Return pairs of a class to look at, the most alike first.

    Args:
        stem: the lesson.
        modules: each student with the module. Only the runs are kept, so that a large class may
            be read one by one.
        at_most: how many pairs; the memory for all scores is 20 bytes a pair.
    """
    reference = read_source(find_lesson(stem).module("solutions").read_bytes()).lines
    stub = frozenset(read_source(stub_of(stem)).lines)
    common = {value for value, _ in _runs(reference) + _runs(reference, stub)}
    students, runs = [], []
    for student, module in modules:
        students.append(student)
        runs.append([run for run in _runs(module.lines, stub) if run[0] not in common])
    weights = _weights(runs)
    return [
        Resemblance(students[i], students[j], score, _fragments(runs[i], runs[j], weights))
        for score, i, j in _alike(runs, weights)[:at_most]
    ]


def _runs(lines: list[str], without: Collection[str] = ()) -> _Runs:
    """Return all runs of tokens in a definition, but for lines that the stub has."""
    tokens, places, part = [], [], 0
    for number, line in enumerate(lines, start=1):
        is_left_out = line != "" and line in without
        part += is_left_out or line.startswith(("def ", "class "))
        if not is_left_out and len(tokens) < MAX_TOKENS:
            own = tokens_of(line)
            tokens += own
            places += [(number, part)] * len(own)
    runs = zip(*(tokens[i:] for i in range(RUN)), strict=False)
    return [
        (value, (first, last))
        for value, (first, first_part), (last, last_part) in zip(
            map(hash, runs), places, places[RUN - 1 :], strict=False
        )
        if first_part == last_part
    ]


def _weights(runs: list[_Runs]) -> dict[int, float]:
    """Return the weight of each run that is not common: the fewer students have it, the more."""
    n_owners = Counter(value for own in runs for value in dict(own))
    at_most = max(FEW, int(COMMON * len(runs)))
    return {v: math.log((len(runs) + 1) / n) for v, n in n_owners.items() if n <= at_most}


def _alike(runs: list[_Runs], weights: dict[int, float]) -> list[tuple[float, int, int]]:
    """Return (score, i, j) of all pairs i < j that share enough, the highest score first."""
    n = len(runs)
    if n < 2:
        return []
    owners = defaultdict(list)
    own = np.full(n, DOUBT * math.log((n + 1) / 2))
    for i, one in enumerate(runs):
        for value in dict(one).keys() & weights.keys():
            owners[value].append(i)
            own[i] += weights[value]
    shared = np.zeros((n, n), np.float32)
    for value, students in owners.items():
        if len(students) > 1:
            shared[np.ix_(students, students)] += weights[value]
    score = np.triu(shared / np.minimum(own[:, None], own), k=1)
    found = [(float(score[i, j]), int(i), int(j)) for i, j in np.argwhere(score >= MIN_SCORE)]
    return sorted(found, key=lambda pair: (-pair[0], pair[1:]))


def _fragments(first: _Runs, second: _Runs, weights: dict[int, float]) -> tuple[Fragment, ...]:
    """Return the lines of all shared runs, those that meet on both sides as one."""
    places = dict(second)
    fragments: list[Fragment] = []
    for value, here in first:
        if value in weights and value in places:
            there = places[value]
            last = fragments[-1] if fragments else None
            if last and _meet(last.first, here) and _meet(last.second, there):
                fragments.pop()
                here, there = _union(last.first, here), _union(last.second, there)
            fragments.append(Fragment(here, there))
    return tuple(fragments)


def _meet(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] <= b[1] + 1 and b[0] <= a[1] + 1


def _union(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return min(a[0], b[0]), max(a[1], b[1])
