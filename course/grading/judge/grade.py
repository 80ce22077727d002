"""Grade a whole class: each unit once, on all processors, whatever happens on the way.

A result is kept as soon as it is there, by all that it depends on. So whoever is interrupted begins
again, and only what is missing or out of date is done.
"""

import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from course import root
from course.core.files import private_files, write_atomically
from course.core.stubs import importing_exercises, stub_of
from course.core.syllabus import Status, find_lesson
from course.grading.judge.cache import Cache, read_text
from course.grading.judge.local import local_judges
from course.grading.judge.schedule import judge_units
from course.grading.judge.unit import (
    GradedResult,
    GradingError,
    Unit,
    key_of,
    result_without_text,
)
from course.grading.names import shown
from course.testing.result import from_text, to_text

SEED, RESULTS = "seed.txt", "results.jsonl"
"""The files in the folder of a run that a later run may read."""
MAX_BYTES = 1 << 30
"""Of all results of a class: a hundred kilobytes for each lesson of a thousand students."""


def refuse_to_run_in(submissions: Path) -> None:
    """Refuse to grade from among the submissions: Python might import what a student wrote.

    Raises:
        GradingError: the current folder, the course, Python or its import path is there.
    """
    for place in (Path.cwd(), root(), sys.prefix, *sys.path):
        if Path(os.path.realpath(place)).is_relative_to(os.path.realpath(submissions)):
            raise GradingError(
                f"Python imports from {shown(Path(place).resolve())}, which is in the submissions, "
                f"{shown(submissions)}/: run the grader elsewhere, or name their folder alone"
            )


class Store:
    """The folder that a run writes into."""

    def __init__(self, out: Path) -> None:
        self._out = out

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one that grades into this folder.

        Raises:
            GradingError: another grader is at it, or there are links, which may lead to anyone's.
        """
        inside = (self._out, *self._out.glob("*"))
        if link := next((path for path in inside if path.is_symlink()), None):
            raise GradingError(
                f"{link} is a link, and the grader follows no links: choose another --out"
            )
        self._out.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(self._out / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise GradingError(f"another grader is already using {self._out}") from None
        try:
            yield
        finally:
            lock.release()

    def seed(self, chosen: int | None) -> int:
        """Return the chosen seed, else that of the last time, else a new one.

        Nobody can know a new one beforehand, and prepare answers for its inputs.
        """
        seed = self.kept_seed() if chosen is None else chosen
        if seed is None:
            seed = secrets.randbits(128)  # so many cannot be tried, whatever is seen of the inputs
        with private_files():
            write_atomically(self._out / SEED, f"{seed}\n")
        return seed

    def kept_seed(self) -> int | None:
        """Return the seed of the last time, if there was one."""
        with suppress(OSError, ValueError):
            return int(read_text(self._out / SEED, at_most=100))
        return None

    def results(self) -> list[GradedResult]:
        """Return the results of the last run; none if another version of the grader wrote them."""
        with suppress(OSError, ValueError):
            lines = read_text(self._out / RESULTS, MAX_BYTES).splitlines()
            return [from_text(line, GradedResult) for line in lines]
        return []

    def write_results(self, results: Iterable[GradedResult]) -> None:
        """Write the results of this run, a line each."""
        write_atomically(self._out / RESULTS, "".join(map(to_text, results)))


NOBODY = ""
"""The student of the units that are checks: the reference earns all points, and the stub none.

A graded test that asks for 6 where 5 is right, or calls what does not exist, would cost a whole
class its points without a word.
"""


def check_units(lesson: str) -> list[Unit]:
    """Return the reference and the stub of a lesson, to be judged before anybody's module."""
    solution = find_lesson(lesson).solution
    texts = importing_exercises(solution).encode("utf-8"), stub_of(lesson)
    return [Unit(NOBODY, lesson, text) for text in texts]


def verify_check(unit: Unit, result: GradedResult) -> None:
    """Refuse to grade with tests that judge the reference or the stub wrongly.

    Raises:
        GradingError: the result of a check is not what it must be.
    """
    tests = find_lesson(unit.lesson).tests.name
    if not result.key:
        raise GradingError(f"nothing was graded: the grader failed its own check: {result.trouble}")
    is_stub = unit.source == stub_of(unit.lesson)
    failed = [one for one in result.exercises if (one.status == Status.PASSED) == is_stub]
    if failed and is_stub:
        names = ", ".join(one.name for one in failed)
        raise GradingError(f"nothing was graded: in {tests}, the stub earns the points of {names}")
    if failed:
        refused = [
            f"{one.name} ({', '.join(t.name for t in one.tests if t.status == Status.WRONG)})"
            if one.tests
            else f"{one.name} (which has no test)"
            for one in failed
        ]
        why = f": {result.trouble}" if result.trouble else ""
        raise GradingError(
            f"nothing was graded: the reference fails {tests}{why} in {', '.join(refused)}; fix "
            "the tests or the reference first"
        )


def grade_all(
    units: Iterable[Unit],
    seed: int,
    jobs: int,
    fresh: bool = False,
    scheduler: str | None = None,
) -> Iterator[GradedResult]:
    """Yield the result of each unit as it comes.

    Many students submit the module as it was given out: the same text is graded once.

    Args:
        seed: another one gives the tests other inputs.
        jobs: how many judges work side by side.
        fresh: grade again what is there already.
        scheduler: the address of a dask cluster that judges, instead of this machine.

    Raises:
        GradingError: the graded tests refuse the reference, or accept a stub, among others.
    """
    cache = Cache()
    checked: set[str] = set()
    found: list[GradedResult] = []
    same: dict[str, list[Unit]] = {}  # by key: units with the text of one that is being judged

    def is_missing(unit: Unit) -> bool:
        if unit.source is None:
            found.append(result_without_text(unit))
            return False
        key = key_of(unit, seed)
        known = None if fresh else cache.read(unit, key)
        if known and unit.student == NOBODY:
            verify_check(unit, known)
        elif known:
            found.append(known)
        elif key in same:
            same[key].append(unit)
        else:
            same[key] = []
            return True
        return False

    def missing() -> Iterator[Unit]:
        for unit in units:
            if unit.source is not None and unit.lesson not in checked:
                checked.add(unit.lesson)
                yield from filter(is_missing, check_units(unit.lesson))
            if is_missing(unit):
                yield unit

    start = partial(local_judges, seed, jobs)
    if scheduler is not None:
        from course.grading.judge.cluster import cluster_judges  # with PyTorch

        start = partial(cluster_judges, seed, scheduler)
    for unit, result in judge_units(missing(), start):
        if unit.student == NOBODY:
            verify_check(unit, result)
        cache.write(result)
        for one in [unit, *same.pop(key_of(unit, seed))]:
            if one.student != NOBODY:
                yield from found
                found.clear()
                yield replace(result, student=one.student)
    yield from found
