"""Grade a whole class: each unit once, on all processors, whatever happens on the way.

A result is a file, written whole as soon as it is there, under a name that says whose it is; in
it stands what it depends on. So whoever is interrupted begins again, and only what is missing or
out of date is done.
"""

import multiprocessing
import os
import secrets
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from course.files import write_whole
from course.grading.names import file_stem
from course.grading.results import LessonResult, from_text, to_text
from course.grading.sandbox import Limits, SandboxError
from course.grading.unit import Unit, key_of, not_graded

if TYPE_CHECKING:
    from course.grading.judge import Judge


UNITS_AHEAD = 60
"""How many units for each judge are looked at in advance: ten students with all their lessons."""


class GradingError(Exception):
    """Why grading cannot go on, in one sentence."""


@dataclass(frozen=True)
class Settings:
    """How to grade.

    Attributes:
        seed: another one gives the tests other inputs.
        limits: what one worker may use, if it is not the usual.
        confined: whether workers are confined; only ever False for code that one trusts.
    """

    seed: int = 0
    limits: Limits | None = None
    confined: bool = True


class Store:
    """The folder of the results."""

    def __init__(self, out: Path) -> None:
        self._out = out

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only one that grades into this folder.

        Raises:
            GradingError: another grader is at it.
        """
        self._out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._out / ".lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise GradingError(f"another grader is at work in {self._out}") from None
        try:
            yield
        finally:
            lock.release()

    def seed(self, chosen: int | None) -> int:
        """The seed to grade with: the chosen one, else that of the last time, else a new one.

        Nobody can know a new one beforehand, and prepare answers for its inputs.
        """
        file = self._out / "seed.txt"
        seed = secrets.randbelow(2**31) if chosen is None else chosen
        if chosen is None and file.exists():
            try:
                seed = int(file.read_text(encoding="utf-8"))
            except ValueError:
                raise GradingError(
                    f"{file} should hold a whole number; name one by --seed"
                ) from None
        write_whole(file, f"{seed}\n")
        return seed

    def find(self, unit: Unit, key: str) -> LessonResult | None:
        """The result of a unit, if it is there, whole and up to date."""
        try:
            result = from_text(self._file(unit).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = (result.student, result.lesson, result.key) == (unit.student, unit.lesson, key)
        return replace(result, notes=unit.notes) if same else None

    def keep(self, unit: Unit, result: LessonResult) -> None:
        """Write a result."""
        write_whole(self._file(unit), to_text(result))

    def _file(self, unit: Unit) -> Path:
        return self._out / "results" / unit.lesson / f"{file_stem(unit.student)}.json"


def grade_all(
    units: Iterable[Unit],
    store: Store,
    settings: Settings,
    jobs: int,
    fresh: bool = False,
    scheduler: str | None = None,
) -> Iterator[tuple[LessonResult, bool]]:
    """The result of each unit as it comes, and whether it was there already.

    Args:
        jobs: how many judges work side by side.
        fresh: grade again what is there already.
        scheduler: the address of a dask cluster that judges, instead of this machine.
    """

    def missing() -> Iterator[Unit]:
        for unit in units:
            known = None if fresh else store.find(unit, key_of(unit, settings.seed))
            if known is None:
                yield unit
            else:
                found.append(known)

    found: list[LessonResult] = []
    for unit, result in _judges(settings, jobs, scheduler)(missing()):
        yield from ((known, True) for known in found)
        found.clear()
        if result.key:
            store.keep(unit, result)
        yield result, False
    yield from ((known, True) for known in found)


def _judges(
    settings: Settings, jobs: int, scheduler: str | None
) -> Callable[[Iterator[Unit]], Iterator[tuple[Unit, LessonResult]]]:
    """Who grades: processes of this machine, or a cluster."""
    if scheduler is None:
        return partial(_judged, settings=settings, jobs=jobs)
    from course.grading.engines.cluster import judged_on_cluster

    return partial(judged_on_cluster, settings=settings, address=scheduler)


def _judged(
    units: Iterator[Unit], settings: Settings, jobs: int
) -> Iterator[tuple[Unit, LessonResult]]:
    """Every unit with its result, from judges in processes of their own."""
    suspicious = yield from _with_judges(units, settings, jobs)
    for unit in suspicious:  # one by one, so that it is clear whose fault it is
        if lost := (yield from _with_judges(iter([unit]), settings, 1)):
            yield lost[0], not_graded(unit, "The grader itself was killed twice while grading it.")


def _with_judges(
    units: Iterator[Unit], settings: Settings, jobs: int
) -> Generator[tuple[Unit, LessonResult], None, list[Unit]]:
    """Grade with several judges; return those units that were with one that came to an end."""
    waiting, lost = _Waiting(units, UNITS_AHEAD * jobs), []
    busy: dict[Future, tuple[int, ProcessPoolExecutor, Unit]] = {}
    with ExitStack() as processes:

        def appoint() -> ProcessPoolExecutor:
            context = multiprocessing.get_context("spawn")
            return processes.enter_context(ProcessPoolExecutor(1, context, _begin, (settings,)))

        def employ(number: int) -> None:
            """Give a judge its next unit, if there is one."""
            if unit := waiting.next_for(number):
                try:
                    future = _uninterrupted(judges[number].submit)(_grade, unit)
                except BrokenProcessPool:  # it ended while it had nothing to do
                    judges[number] = appoint()
                    future = _uninterrupted(judges[number].submit)(_grade, unit)
                busy[future] = number, judges[number], unit

        judges = [appoint() for _ in range(jobs)]
        try:
            for number in [*range(jobs), *range(jobs)]:  # one in advance, so that nobody waits
                employ(number)
            while busy:
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    number, judge, unit = busy.pop(future)
                    try:
                        result = future.result()
                    except (BrokenProcessPool, SandboxError):
                        lost.append(unit)
                        if judges[number] is judge:
                            judges[number] = appoint()
                    else:
                        yield unit, result
                    employ(number)
        except BaseException:  # the user has had enough: only what was begun is brought to its end
            for judge in judges:
                judge.shutdown(wait=False, cancel_futures=True)
            raise
    return lost


class _Waiting:
    """The next units. A judge gets a lesson that it knows, rather than one that another one knows.

    For what it has seen of a lesson, the answers of others and how the known mistakes fare, makes
    the next unit of that lesson cheaper, and no judge knows what another one has seen.
    """

    def __init__(self, units: Iterator[Unit], at_most: int) -> None:
        self._units = units
        self._room = at_most
        self._by_lesson: dict[str, deque[Unit]] = {}
        self._judges_of: dict[str, set[int]] = {}

    def next_for(self, judge: int) -> Unit | None:
        """A unit for this judge, or None if there are no more."""
        self._fill()
        lessons = [lesson for lesson, units in self._by_lesson.items() if units]
        if not lessons:
            return None

        def is_better(lesson: str) -> tuple[bool, bool, int]:
            judges = self._judges_of.get(lesson, set())
            return judge in judges, not judges, len(self._by_lesson[lesson])

        lesson = max(lessons, key=is_better)
        self._judges_of.setdefault(lesson, set()).add(judge)
        self._room += 1
        return self._by_lesson[lesson].popleft()

    def _fill(self) -> None:
        for unit in islice(self._units, self._room):
            self._by_lesson.setdefault(unit.lesson, deque()).append(unit)
            self._room -= 1


def _uninterrupted(submit: Callable[..., Future]) -> Callable[..., Future]:
    """Have processes started such that Ctrl+C, which reaches them too, stops only this one."""

    def call(*arguments: object) -> Future:
        if threading.current_thread() is not threading.main_thread():
            return submit(*arguments)
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited by what starts now
        try:
            return submit(*arguments)
        finally:
            signal.signal(signal.SIGINT, handler)

    return call


_judge: "Judge | None" = None
"""The judge of this process, in a pool."""


def _begin(settings: Settings) -> None:
    global _judge
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from course.grading.judge import Judge  # with PyTorch, which nobody else needs here

    _judge = Judge(settings.seed, settings.limits, settings.confined)


def _end_with_parent() -> None:
    """A pool's processes would wait for ever for a parent that was killed."""
    wait_for([multiprocessing.parent_process().sentinel])
    _leave(1)


_leave = os._exit
"""Bound now: while a known mistake is tried out, `os._exit` refuses to end the process."""


def _grade(unit: Unit) -> LessonResult:
    return _judge.grade(unit)
