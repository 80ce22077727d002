"""Judges side by side, in processes of their own; one that comes to an end is replaced.

They are forked from one process that has loaded what they need, and so are their nurseries, from
one that knows nothing of the tests. Ctrl+C reaches all of these; it is for the first process only.
"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from itertools import chain, islice
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import TYPE_CHECKING, Any

from course.grading.judge.unit import Unit, not_graded
from course.grading.sandbox.namespaces import end_with_parent
from course.grading.sandbox.sandbox import SandboxError, confine_judge, mapped_bytes
from course.grading.sandbox.start import GRADER, shared_nursery
from course.testing.result import LessonResult

if TYPE_CHECKING:
    from course.grading.judge.grade import Settings
    from course.grading.judge.judge import Judge

UNITS_AHEAD = 60
"""How many units for each judge are looked at in advance: ten students with all their lessons."""

MAX_BYTES = 3 * 10**9
"""Of memory for one judge, beyond what it begins with: ten times what it needs."""


def judged(
    units: Iterator[Unit], settings: "Settings", jobs: int
) -> Iterator[tuple[Unit, LessonResult]]:
    """Every unit with its result, as they come.

    Args:
        jobs: how many judges work side by side.
    """
    suspicious: list[Unit] = []  # those that judges were busy with when one was lost
    for unit in units:
        suspicious += yield from _with_judges(chain([unit], units), settings, jobs)
    for unit in suspicious:  # one by one, so that it is clear whose fault it is
        if lost := (yield from _with_judges(iter([unit]), settings, 1)):
            yield lost[0], not_graded(unit, "The grader itself was killed twice while grading it.")


def _with_judges(
    units: Iterator[Unit], settings: "Settings", jobs: int
) -> Generator[tuple[Unit, LessonResult], None, list[Unit]]:
    """Grade all units; return those that were with a judge that came to an end."""
    waiting, lost = _Waiting(units, UNITS_AHEAD * jobs), []
    busy: dict[Future, tuple[int, ProcessPoolExecutor, Unit]] = {}
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["course.grading.judge.preloaded"])
    _start_server()
    asked_to_end, until_closed = context.Pipe(duplex=False)
    with asked_to_end, until_closed, ExitStack() as processes:
        nursery = processes.enter_context(shared_nursery(settings.limits, settings.confined))

        def appoint() -> ProcessPoolExecutor:
            judge = ProcessPoolExecutor(1, context, _begin, (settings, nursery, asked_to_end))
            return processes.enter_context(judge)

        def employ(number: int) -> None:
            """Give a judge its next unit, if there is one."""
            if unit := waiting.next_for(number):
                try:
                    future = _without_interruption(judges[number].submit, _grade, unit)
                except BrokenProcessPool:  # it ended while it had nothing to do
                    judges[number] = appoint()
                    future = _without_interruption(judges[number].submit, _grade, unit)
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
        except BaseException:  # the user has had enough: nobody waits for what was begun
            until_closed.close()
            for judge in judges:
                judge.shutdown(wait=False, cancel_futures=True)
            raise
    return lost


class _Waiting:
    """The next units. A judge gets a lesson that it knows, rather than one that another one knows.

    For what it has seen of a lesson, the answers of others and how the known mistakes fare, makes
    the next unit of that lesson cheaper, and no judge knows what another one has seen. Of those
    lessons it gets the unit that has waited longest.
    """

    def __init__(self, units: Iterator[Unit], at_most: int) -> None:
        self._units = enumerate(units)
        self._room = at_most
        self._by_lesson: dict[str, deque[tuple[int, Unit]]] = {}
        self._judges_of: dict[str, set[int]] = {}

    def next_for(self, judge: int) -> Unit | None:
        """A unit for this judge, or None if there are no more."""
        self._fill()
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

    def _fill(self) -> None:
        for place, unit in islice(self._units, self._room):
            self._by_lesson.setdefault(unit.lesson, deque()).append((place, unit))
            self._room -= 1


def _without_interruption(act: Callable[..., Any], *arguments: object) -> Any:
    """Do something that Ctrl+C must not stop halfway; if it came, it counts afterwards."""
    if threading.current_thread() is not threading.main_thread():
        return act(*arguments)
    came: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        return act(*arguments)
    finally:
        signal.signal(signal.SIGINT, handler)
        for number in came[:1]:
            signal.raise_signal(number)


def _start_server() -> None:
    """Start the process that judges are forked from. All of them ignore Ctrl+C, as it does."""
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited
    if sys.platform == "linux":
        os.environ[GRADER] = str(os.getpid())
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop(GRADER, None)
        signal.signal(signal.SIGINT, handler)


class UnableToJudge(Exception):
    """Why no judge can grade anything here, in a sentence."""


_judge: "Judge | None" = None
"""The judge of this process,"""
_trouble = ""
"""and why it must not grade, if so."""


def _begin(settings: "Settings", nursery: socket.socket, asked_to_end: Connection) -> None:
    global _judge, _trouble
    warnings.simplefilter("ignore")  # of PyTorch, about the answers of strangers
    _trouble = _bound_memory()
    threading.Thread(target=_end_when_asked, args=[asked_to_end], daemon=True).start()
    from course.grading.judge.judge import Judge  # with PyTorch, which nobody else needs here

    try:
        _judge = Judge(settings.seed, settings.limits, settings.confined, nursery)
        if settings.confined:
            end_with_parent(os.getppid())
            confine_judge()
    except PermissionError as error:
        _trouble = f"A judge could not be confined: {error}."
    except (OSError, SandboxError):  # the nursery has ended; what was to be graded here is told so
        _leave(1)
    except RuntimeError as error:
        found = [line[1:].strip() for line in str(error).splitlines() if line.startswith("E ")]
        place = [line.partition(" ")[2] for line in found if line.startswith("File ")]
        _trouble = f"The graded tests cannot be read: {', '.join(found[-1:] + place[-1:])}."


def _bound_memory() -> str:
    """Bound the memory of a judge; return why it has too little for that, or nothing.

    Two answers of a few bytes may stand for millions of numbers, and a test multiplies them.
    """
    if sys.platform != "linux":
        return ""
    import resource

    most, (_, hard) = mapped_bytes() + MAX_BYTES, resource.getrlimit(resource.RLIMIT_AS)
    if resource.RLIM_INFINITY != hard < most:
        return f"`ulimit -H -v` says {hard:,}, and a judge may need {most:,} bytes of memory."
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return ""


def _end_when_asked(asked_to_end: Connection) -> None:
    """A pool's processes would finish their unit first, and wait for ever for a killed parent.

    The workers of a judge are ended by its nursery.
    """
    wait_for([multiprocessing.parent_process().sentinel, asked_to_end])
    _leave(1)


_leave = os._exit
"""Bound now: while the reference is loaded, `os._exit` refuses to end the process."""


def _grade(unit: Unit) -> LessonResult:
    if _trouble:
        raise UnableToJudge(_trouble)
    return _judge.grade(unit)
