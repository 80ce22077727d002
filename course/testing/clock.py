"""A time limit that works on every platform and leaves the test run alive."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator


class TimeIsUp(BaseException):
    """Raised inside code that runs too long; not an `Exception`, so few handlers catch it.

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
    thread = ctypes.c_ulong(threading.get_ident())
    done = threading.Event()

    def watch() -> None:
        waiting_time = seconds
        while not done.wait(waiting_time):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TimeIsUp))
            waiting_time = 1.0

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, None)  # one that is still on its way
