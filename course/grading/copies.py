"""Possible copies in a class: pairs of modules that share code which few others have.

What is found is something to look at, never a verdict: two students may have read the same page,
or worked together where that is welcome.

Sources are compared by the fingerprints of Schleimer, Wilkerson and Aiken (2003), "Winnowing:
Local Algorithms for Document Fingerprinting", SIGMOD, sections 2 and 3, over tokens: comments,
layout and the names of variables do not count, so that renaming, reordering and reformatting hide
nothing. Nor does what everybody has: the lines of the stub, the code of the reference, and what
more than a quarter of the class wrote, and more than a few students.
"""

import functools
import keyword
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from course.build import stub_of
from course.syllabus import find_lesson

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
MAX_TOKENS = 5_000
"""Of one module; those of the lessons have fewer than 1,000."""

_NOT_CODE = re.compile(
    r"#.*"
    r"|'''(?:[^'\\]+|\\[\s\S]|'(?!''))*(?:'''|\\?\Z)"
    r'|"""(?:[^"\\]+|\\[\s\S]|"(?!""))*(?:"""|\\?\Z)'
    r"|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?"
)
_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<string>[A-Za-z]{0,2}(?:'(?:\\.|[^'\\])*'?|\"(?:\\.|[^\"\\])*\"?))"
    r"|(?P<kept>(?<=\.)(?<!self\.)[^\W\d]\w*|\d[\w.]*)"  # .chunk, 0.02
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>.)"
)


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
    stem: str, modules: Iterable[tuple[str, bytes]], at_most: int = 100
) -> list[Resemblance]:
    """Pairs of a class to look at, the most alike first.

    Args:
        stem: the lesson.
        modules: each student with the bytes of the module. They need not parse. Only the
            fingerprints are kept, so that a large class may be read one by one.
        at_most: how many pairs; the memory for all scores is 20 bytes a pair.
    """
    reference = find_lesson(stem).module("solutions").read_bytes()
    stub = frozenset(_lines(stub_of(stem)))
    common = {*_runs(reference).hashes.tolist(), *_runs(reference, stub).hashes.tolist()}
    students, prints = [], []
    for student, module in modules:
        students.append(student)
        prints.append(_winnow(_runs(module, stub)))
    weights = _weights(prints, common)
    return [
        Resemblance(students[i], students[j], score, _fragments(prints[i], prints[j], weights))
        for score, i, j in _alike(prints, weights)[:at_most]
    ]


# --- from a source to fingerprints ----------------------------------------------------------


def _runs(module: bytes, without: frozenset[str] = frozenset()) -> _Prints:
    """All runs of NOISE tokens in a definition, but for lines that the stub has."""
    ids, lines, parts = [], [], []
    part = 0
    for number, line in enumerate(_lines(module), start=1):
        is_left_out = line != "" and line in without
        part += is_left_out or line.startswith(("def ", "class "))
        if not is_left_out and len(ids) < MAX_TOKENS:
            tokens = _token_ids(line[:MAX_TOKENS])
            ids += tokens
            lines += [number] * len(tokens)
            parts += [part] * len(tokens)
    n_runs, last = max(len(ids) - NOISE + 1, 0), NOISE - 1
    numbers, hashes = np.array(ids, np.uint64), np.zeros(n_runs, np.uint64)
    for i in range(NOISE if n_runs else 0):
        hashes = _mix(hashes + numbers[i : i + n_runs])
    spans = np.array([lines[:n_runs], lines[last:]], np.int64).reshape(2, n_runs).T
    unbroken = np.array(parts[:n_runs]) == np.array(parts[last:])
    return _Prints(hashes[unbroken], spans[unbroken])


def _winnow(runs: _Prints) -> _Prints:
    """Of every WINDOW runs the one with the least hash, the rightmost of several."""
    if len(runs.hashes) <= WINDOW:
        return runs
    windows = np.lib.stride_tricks.sliding_window_view(runs.hashes, WINDOW)
    least = WINDOW - 1 - windows[:, ::-1].argmin(axis=1)
    chosen = np.unique(np.arange(len(windows)) + least)
    return _Prints(runs.hashes[chosen], runs.lines[chosen])


def _lines(module: bytes) -> list[str]:
    """The lines of a source, without indentation, comments and docstrings."""
    encoding = "utf-16" if module[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = module.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return [line.strip() for line in _NOT_CODE.sub(_blank, text).split("\n")]


def _blank(match: re.Match) -> str:
    """Line ends in the place of a docstring, nothing in that of a comment; strings stay."""
    text = match[0]
    if text.startswith(("'''", '"""')):
        return "\n" * text.count("\n")
    return "" if text.startswith("#") else text


@functools.lru_cache(maxsize=1 << 16)
def _token_ids(line: str) -> tuple[int, ...]:
    """A number for each token of a line: one for all names, one for all strings.

    >>> _token_ids("x1, x2 = x.chunk(2)") == _token_ids("a,b=c.chunk( 2 )")
    True
    """
    ids = []
    for match in _TOKEN.finditer(line):
        kind, text = match.lastgroup, match[0]
        if kind == "space":
            continue
        if kind == "string" or (kind == "name" and not keyword.iskeyword(text)):
            text = kind
        ids.append(zlib.crc32(text.encode("utf-8", errors="replace")) + 1)
    return tuple(ids)


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
