"""Judges of this machine: processes, side by side; one that comes to an end is replaced.

They are forked from one process that has loaded what they need, and so are their fork servers,
from one that knows nothing of the tests. Ctrl+C reaches all of these; it is for the first alone.
"""

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from course import root
from course.grading.judge.schedule import Judges
from course.grading.judge.unit import GradedResult, GradingError, Unit
from course.grading.sandbox.namespaces import end_with_parent
from course.grading.sandbox.sandbox import ProcessLimits, SandboxError, confine_judge, mapped_bytes
from course.grading.sandbox.start import ENDED, start_fork_server, stop_fork_server

if TYPE_CHECKING:
    from course.grading.judge.judge import Judge

MAX_BYTES = 3 * 10**9
"""Of memory for one judge, beyond what it begins with: ten times what it needs."""


@contextmanager
def local_judges(seed: int, jobs: int) -> Iterator[Judges]:
    """Start so many judges, each when it gets its first unit."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["course.grading.judge.preloaded"])
    _start_server()
    asked_to_end, until_closed = context.Pipe(duplex=False)
    with asked_to_end, until_closed, ExitStack() as processes:
        process, fork_server = start_fork_server(ProcessLimits.for_jobs(jobs))
        processes.callback(stop_fork_server, process, fork_server)

        def new_judge() -> ProcessPoolExecutor:
            judge = ProcessPoolExecutor(1, context, _begin, (seed, fork_server, asked_to_end))
            return processes.enter_context(judge)

        def submit(number: int, unit: Unit) -> Future:
            try:
                with suppress(BrokenProcessPool):  # it has ended
                    return uninterrupted(judges[number].submit, _grade, unit)
                judges[number] = new_judge()
                return uninterrupted(judges[number].submit, _grade, unit)
            except (EOFError, ConnectionError, FileNotFoundError):  # what judges are forked from
                raise SandboxError(ENDED) from None

        judges = [new_judge() for _ in range(jobs)]
        try:
            # one unit in advance, so that no judge waits
            yield Judges(submit, jobs, capacity=lambda: 2, losses=(BrokenProcessPool,))
        except BaseException:  # the user has had enough: nobody waits for what was begun
            until_closed.close()
            for judge in judges:
                judge.shutdown(wait=False, cancel_futures=True)
            raise


def uninterrupted(act: Callable[..., Any], *arguments: object) -> Any:
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


_MAX_TEMPORARY = 60
"""Bytes of a folder that may hold a socket: the path of one has 107 at most."""


def _start_server() -> None:
    """Start the process that judges are forked from. Ctrl+C is blocked in all of them."""
    here = os.path.realpath(os.curdir)  # nbgrader imports from there
    if here != os.path.realpath(root()):
        sys.path[:] = [place for place in sys.path if os.path.realpath(place) != here]
    if len(tempfile.gettempdir()) > _MAX_TEMPORARY and os.access("/tmp", os.W_OK):
        tempfile.tempdir = "/tmp"
    # without it they would import from the current folder first, which may be a student's
    given, os.environ["PYTHONSAFEPATH"] = os.environ.get("PYTHONSAFEPATH"), "1"
    try:
        resource_tracker.ensure_running()  # or else it is started below, and unblocks
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # what comes now, waits
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        del os.environ["PYTHONSAFEPATH"]
        if given is not None:
            os.environ["PYTHONSAFEPATH"] = given


# --- in the process of a judge --------------------------------------------------------------

_judge: "Judge | None" = None
"""The judge of this process,"""
_trouble = ""
"""and why it must not grade, if so."""

leave_process = os._exit
"""Bound now: while the reference is loaded, `os._exit` refuses to end the process."""


def _begin(seed: int, fork_server: socket.socket, asked_to_end: Connection) -> None:
    global _judge, _trouble
    warnings.simplefilter("ignore")  # of PyTorch, about the answers of strangers
    _trouble = bound_memory()
    threading.Thread(target=_end_when_asked, args=[asked_to_end], daemon=True).start()
    from course.grading.judge.judge import Judge  # with PyTorch, which nobody else needs here

    try:
        _judge = Judge(seed, fork_server=fork_server)
        end_with_parent(os.getppid())
        confine_judge()
    except PermissionError as error:
        _trouble = f"A judge could not be confined: {error}."
    except (OSError, SandboxError):  # the fork server has ended: another judge takes this place
        leave_process(1)
    except RuntimeError as error:
        found = [line[1:].strip() for line in str(error).splitlines() if line.startswith("E ")]
        place = [line.partition(" ")[2] for line in found if line.startswith("File ")]
        _trouble = f"The graded tests cannot be read: {', '.join(found[-1:] + place[-1:])}."


def bound_memory() -> str:
    """Bound the memory of a judge; return why it has too little for that, or nothing.

    Two answers of a few bytes may stand for millions of numbers, and a test multiplies them.
    """
    import resource

    most, (_, hard) = mapped_bytes() + MAX_BYTES, resource.getrlimit(resource.RLIMIT_AS)
    if resource.RLIM_INFINITY != hard < most:
        return f"`ulimit -H -v` is {hard:,}, but a judge may need {most:,} bytes of memory."
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    return ""


def _end_when_asked(asked_to_end: Connection) -> None:
    """End this process, and not only when its unit is done or, if the parent was killed, never.

    The workers of a judge are ended by its fork server.
    """
    wait([multiprocessing.parent_process().sentinel, asked_to_end])
    leave_process(1)


def _grade(unit: Unit) -> GradedResult:
    if _trouble:
        raise GradingError(f"nothing can be graded here: {_trouble}")
    try:
        return _judge.grade(unit)
    except SandboxError:  # its fork server has ended: another judge takes its place
        leave_process(1)
