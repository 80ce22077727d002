"""The scheduler: gives units to judges, takes their results, and does again what was lost.

Judges are processes of this machine or the workers of a cluster: executors, whose `submit` returns
a future of `concurrent.futures`.
"""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain, islice

from course.grading.judge.unit import GradedResult, Unit, not_graded
from course.grading.sandbox.sandbox import SandboxError

UNITS_AHEAD = 60
"""How many units for each executor are looked at in advance: ten students with all lessons."""


@dataclass(frozen=True)
class Judges:
    """Executors that judge units.

    Attributes:
        submit: gives a unit to the executor of this number.
        count: how many executors there are.
        capacity: returns how many units an executor may have at a time.
        losses: what a future raises whose judge came to an end.
        seconds: how long to wait for a result before `check` is called, if it is to be.
        check: raises a `GradingError` if no result can come.
    """

    submit: Callable[[int, Unit], Future]
    count: int
    capacity: Callable[[], int]
    losses: tuple[type[Exception], ...]
    seconds: float | None = None
    check: Callable[[], object] = lambda: None


def judge_units(
    units: Iterator[Unit], start: Callable[[], AbstractContextManager[Judges]]
) -> Iterator[tuple[Unit, GradedResult]]:
    """Yield every unit with its result, as they come.

    Args:
        start: starts the judges; not called if there is no unit.
    """
    lost: list[Unit] = []
    for unit in units:
        lost += [one for one, _ in (yield from _judge_units(chain([unit], units), start))]
    for unit in lost:  # one by one, so that it is clear whose fault it is
        for _, why in (yield from _judge_units(iter([unit]), start)):
            yield unit, not_graded(unit, f"It could not be graded: {why}.")


def _judge_units(
    units: Iterator[Unit], start: Callable[[], AbstractContextManager[Judges]]
) -> Generator[tuple[Unit, GradedResult], None, list[tuple[Unit, str]]]:
    """Judge all units; return those that were with a judge that came to an end, and why."""
    lost: list[tuple[Unit, str]] = []
    busy: dict[Future, tuple[int, Unit]] = {}
    load: Counter[int] = Counter()
    with start() as judges:
        waiting = UnitQueue(units, UNITS_AHEAD * judges.count)
        while True:
            for most in range(1, judges.capacity() + 1):  # one for each, then another one for each
                for number in range(judges.count):
                    if load[number] < most and (unit := waiting.next_for(number)):
                        busy[judges.submit(number, unit)] = number, unit
                        load[number] += 1
            if not busy:
                return lost
            done = wait(busy, judges.seconds, FIRST_COMPLETED).done
            if not done:
                judges.check()
            for future in done:
                number, unit = busy.pop(future)
                load[number] -= 1
                try:
                    result = future.result()
                except judges.losses as error:
                    is_told = isinstance(error, SandboxError)
                    lost.append((unit, str(error) if is_told else "whatever judged it was killed"))
                else:
                    yield unit, result


class UnitQueue:
    """A queue. A judge gets units of a lesson that it knows, rather than of one that another knows.

    A judge tries the known mistakes of a lesson once, so each unit of a lesson makes the next one
    cheaper, for that judge alone. Of the lessons that it knows it gets the unit that has waited
    longest.
    """

    def __init__(self, units: Iterator[Unit], at_most: int) -> None:
        self._units = enumerate(units)
        self._room = at_most
        self._by_lesson: dict[str, deque[tuple[int, Unit]]] = {}
        self._judges_of: dict[str, set[int]] = {}

    def next_for(self, judge: int) -> Unit | None:
        """Return a unit for this judge, or None if there are no more."""
        for place, unit in islice(self._units, self._room):
            self._by_lesson.setdefault(unit.lesson, deque()).append((place, unit))
            self._room -= 1
        lessons = [lesson for lesson, units in self._by_lesson.items() if units]
        if not lessons:
            return None

        def preference(lesson: str) -> tuple[bool, bool, int]:
            judges, units = self._judges_of.get(lesson, set()), self._by_lesson[lesson]
            if judge in judges:
                return True, True, -units[0][0]
            return False, not judges, len(units)

        lesson = max(lessons, key=preference)
        self._judges_of.setdefault(lesson, set()).add(judge)
        self._room += 1
        return self._by_lesson[lesson].popleft()[1]
