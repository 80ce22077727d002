"""A time limit that works on every platform and leaves the test run alive."""

import contextlib
import ctypes
import functools
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass


class TimeIsUp(BaseException):
    """The interruption of code that runs too long; not an `Exception`, so few handlers catch it.

    Attributes:
        where: the line of the student's file that was running, as "file:line: text", if known.
    """

    where = ""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUp` in this thread if the block has not ended after so many seconds.

    A watching thread asks the interpreter to raise it, and asks again every second in case a
    bare `except:` swallowed it. Python code is interrupted at its next bytecode; one long call
    into C is interrupted when it returns.
    """
    watcher = _watcher_of(os.getpid())
    limit = _Limit(time.monotonic() + seconds, threading.get_ident())
    number, forget = id(limit), watcher.limits.pop
    try:
        watcher.begin(limit)
        yield
    finally:
        forget(number, None)  # one step, so that `TimeIsUp` comes before it or after it
        with watcher.lock, contextlib.suppress(TimeIsUp):
            for _ in range(2):  # one that is still on its way arrives here
                pass


def lift_limits() -> None:
    """Let what runs now take any time: somebody debugs it."""
    _watcher_of(os.getpid()).limits.clear()


@dataclass
class _Limit:
    """The time to raise `TimeIsUp` at, in seconds of `time.monotonic()`, and the thread for it."""

    end: float
    thread: int


class _Watcher:
    """One thread for all limits: to start one for each would take as long as a short test."""

    def __init__(self) -> None:
        self.limits: dict[int, _Limit] = {}
        self.lock = threading.Lock()
        self._wakes = float("inf")
        self._wake = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, limit: _Limit) -> None:
        """Watch over a limit from now on."""
        self.limits[id(limit)] = limit
        if limit.end < self._wakes:
            self._wake.set()

    def _watch(self) -> None:
        while True:
            self._wake.clear()
            with self.lock:
                for number, limit in list(self.limits.items()):
                    if limit.end <= time.monotonic() and number in self.limits:
                        _interrupt(limit.thread)
                        limit.end += 1.0
                ends = [limit.end for limit in list(self.limits.values())]
                self._wakes = min(ends, default=float("inf"))
            self._wake.wait(min(self._wakes - time.monotonic(), _LONGEST_WAIT))


_LONGEST_WAIT = 3600.0
"""Of one wait, in seconds: no system can wait for ever."""


@functools.cache
def _watcher_of(process: int) -> _Watcher:
    """Return the watcher of a process; a forked process needs its own thread."""
    return _Watcher()


def _interrupt(thread: int) -> None:
    """Have the interpreter raise `TimeIsUp` in a thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimeIsUp))
