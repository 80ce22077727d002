"""Read the work of a class in another process, which is killed if a student's takes too long.

That process also bounds the cost of a student's files, so it is rarely killed. When it is, nobody
else waits: another process goes on with the next student.
"""

import contextlib
import math
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from course import root
from course.grading.submissions import (
    Submission,
    SubmissionsError,
    limits,
    open_class,
    unread_submission,
)
from course.grading.submissions.limits import OverLimit, Unreadable

try:
    import resource
except ImportError:  # Windows has none
    resource = None

MAX_WAIT = 60
"""Seconds by the clock for one student; `limits.MAX_SECONDS` are the processor's."""
MAX_MEMORY = 2 << 30
"""Bytes of memory that the process may have, where the system can bound it."""

_SIGXCPU = getattr(signal, "SIGXCPU", 0)

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])  # another copy of the course may be installed
from course.grading.submissions.process import send_class
send_class(sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5].split())
"""


def read_class(
    path: str | Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    notebook: str = "",
    numbers: Collection[str] = (),
) -> list[Submission]:
    """Return the submissions of a class, by student.

    Args:
        path: see `open_class`.
        progress: called after each student, with how many were read, and of how many.
        notebook: see `SubmittedClass.read`.
        numbers: see `students_of`.

    Raises:
        SubmissionsError: there is no class.
    """
    found: list[Submission] = []
    names = []
    while not names or len(found) < len(names):
        for message in _messages(path, len(found), notebook, numbers):
            match message:
                case SubmissionsError():
                    raise message
                case Submission():
                    found.append(message)
                    progress(len(found), len(names))
                    if len(found) == len(names):
                        return found
                case Unreadable() if not names:
                    raise SubmissionsError(f"{path} {message}")
                case Unreadable():  # perhaps not by the student's fault
                    found.append(unread_submission(names[len(found)], message))
                case _:
                    names = message
    return found


def _messages(
    path: str | Path, first: int, notebook: str, numbers: Collection[str]
) -> Iterator[Any]:
    """Yield what `send_class` sends; at last an exception if it did not come to its end."""
    arguments = [str(root()), str(path), str(first), notebook, " ".join(numbers)]
    program = [sys.executable, "-P", "-E", "-c", PROGRAM, *arguments]
    messages: queue.Queue = queue.Queue()
    with subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        threading.Thread(target=_receive, args=[process.stdout, messages], daemon=True).start()
        try:
            while message := messages.get(timeout=MAX_WAIT):
                yield message
            if process.wait() == -_SIGXCPU:
                yield OverLimit(f"takes more than {limits.MAX_SECONDS:g} seconds to read")
            elif process.returncode:
                yield Unreadable(
                    "was not read: the process that reads it was killed; run the same command again"
                )
        except queue.Empty:
            yield Unreadable(f"takes more than {MAX_WAIT} seconds to read")
        finally:
            process.kill()


def _receive(stream: BinaryIO, messages: queue.Queue) -> None:
    """Put each message into a queue, and None at the end."""
    with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError, ValueError):
        while True:
            messages.put(pickle.load(stream))
    messages.put(None)


# --- in the other process ---------------------------------------------------------------------


def send_class(path: str, first: int, notebook: str, numbers: Collection[str]) -> None:
    """Write the names of a class's students, then their submissions, to stdout.

    Args:
        first: the number of the first student to read, from 0.
        notebook: see `SubmittedClass.read`.
        numbers: see `students_of`.
    """

    def send(message: object) -> None:
        pickle.dump(message, sys.stdout.buffer)
        sys.stdout.buffer.flush()

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the process that kills this one
    _bound(MAX_WAIT)
    try:
        with open_class(path, numbers) as opened:
            send([student.name for student in opened.students])
            for student in opened.students[first:]:
                _bound(2 * limits.MAX_SECONDS)
                send(opened.read(student, notebook))
    except SubmissionsError as error:
        send(error)


def _bound(seconds: float) -> None:
    """Bound the memory of this process, and let the system end it after some processor's time."""
    if resource:
        end = math.ceil(time.process_time() + seconds)
        for limit, most in ((resource.RLIMIT_AS, MAX_MEMORY), (resource.RLIMIT_CPU, end)):
            _, hard = resource.getrlimit(limit)
            resource.setrlimit(limit, (most if hard < 0 else min(most, hard), hard))
