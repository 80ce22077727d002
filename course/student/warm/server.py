"""The process that waits with PyTorch loaded.

    python -m course.student.warm.server fork|once TASK LESSON

TASK is the name of a module with two functions. `warm_up(lesson)` loads what is slow to load, once
for each lesson; `perform(run, warm, **request)` is given that and a request, which has a `lesson`.
A third one, `rehearse(warm)`, is optional: an iterator that does, step by step, what a run will do.

It reads requests, a line of JSON each, and writes what happens, a line of JSON each:

    {"pid": 4711}               a run has begun, in this process
    {"testing": "rope_tables"}  anything that the task tells meanwhile
    {"done": {...}}             what the task returned
    {"ended": -11}              the run ended before, with this exit code

With "fork", each run is a fork of this process; with "once", this process itself makes its one
run and ends. LESSON is the one that will probably be asked for first.

A fork is made, and rehearses, before it is asked for: a fifth of a short run goes into copying the
memory that it changes.
"""

import contextlib
import faulthandler
import importlib
import json
import os
import select
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NoReturn, TextIO

import torch

from course.core.syllabus import Lesson, find_lesson

EXIT_DONE = 99
"""The exit status of a run that told its result; a student's code may end it with 0."""

SLACK = 1.0
"""Seconds by which a process may end late. To set its time again starts a thread, which takes as
long as many a test."""


@dataclass
class Run:
    """What a task may do in the process in which it runs.

    Attributes:
        tell: tells the process that asked, by keywords.
        printed: returns what was printed since it was last called.
    """

    tell: Callable[..., None]
    printed: Callable[[], str]
    log: TextIO
    _end: float = float("-inf")

    def end_after(self, seconds: float) -> None:
        """Set the time after which this process ends, even if it is stuck in one long call."""
        end = time.monotonic() + seconds
        if not self._end <= end <= self._end + SLACK:
            self._end = end
            faulthandler.dump_traceback_later(seconds + SLACK, file=self.log, exit=True)


def main(forks: bool, task: ModuleType, likely: Lesson) -> None:
    """Serve requests until nobody is left to ask."""
    torch.set_num_threads(1)  # as in `course check`; and threads do not live on in a fork
    tell = _own_stdout()
    warm = {likely: task.warm_up(likely)}
    ready = _Fork(likely, task, warm[likely], tell) if forks else None
    while line := sys.stdin.readline():
        lesson = find_lesson(json.loads(line)["lesson"])
        if lesson not in warm:
            warm[lesson] = task.warm_up(lesson)
        if ready is None:
            _run(lambda run: task.perform(run, warm[lesson], **json.loads(line)), tell)  # noqa: B023
        if ready.lesson != lesson:
            ready.ask("")
            ready = _Fork(lesson, task, warm[lesson], tell)
        code = ready.ask(line)
        if code != EXIT_DONE:
            tell(ended=code)
        ready = _Fork(lesson, task, warm[lesson], tell)


class _Fork:
    """A fork of this process, which waits for a request to perform."""

    def __init__(
        self, lesson: Lesson, task: ModuleType, warm: Any, tell: Callable[..., None]
    ) -> None:
        self.lesson = lesson
        asked, self._ask = os.pipe()
        self._pid = os.fork()
        if self._pid:
            os.close(asked)
            return
        try:
            os.close(self._ask)  # so that it is told if the process that asks has ended
            rehearse = getattr(task, "rehearse", lambda _: ())
            for _ in rehearse(warm):
                if select.select([asked], [], [], 0)[0]:
                    break
            with open(asked, encoding="utf-8") as lines:
                line = lines.readline()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        if not line:
            os._exit(0)
        os.setsid()  # so that it can be ended together with all that it starts
        _run(lambda run: task.perform(run, warm, **json.loads(line)), tell)

    def ask(self, line: str) -> int:
        """Give it its request, or none, and return with which exit code it has ended."""
        with open(self._ask, "w", encoding="utf-8") as pipe:
            pipe.write(line)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _own_stdout() -> Callable[..., None]:
    """Keep stdout for what is told: whatever else is printed goes nowhere."""
    pipe = open(os.dup(1), "wb", buffering=0)  # noqa: SIM115
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def tell(**message: object) -> None:
        # the empty line ends what a process may have left unfinished that was killed
        pipe.write(f"\n{json.dumps(message)}\n".encode())

    return tell


def _run(perform: Callable[[Run], Any], tell: Callable[..., None]) -> NoReturn:
    """Perform a task, tell its result, and end this process."""
    log = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115
    os.ftruncate(2, 0)
    os.lseek(2, 0, os.SEEK_SET)
    try:
        faulthandler.enable(log)  # if the interpreter crashes, it says where
        tell(pid=os.getpid())
        tell(done=perform(Run(tell, _collect_printed(), log)))
    except BaseException:  # ours, not the student's
        traceback.print_exc(file=log)
        log.flush()
        os._exit(1)
    os._exit(EXIT_DONE)  # to take PyTorch down would take longer than the run


def _collect_printed() -> Callable[[], str]:
    """Put what this process prints from now on into a file, and let it read nothing.

    Returns:
        A function that gives what was printed since it was last called.
    """
    file = tempfile.TemporaryFile(  # noqa: SIM115
        "w+", encoding="utf-8", errors="replace", newline="\n"
    )
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, into in ((0, nothing), (1, file.fileno()), (2, nothing)):
        os.dup2(into, descriptor)  # for whatever reads or prints without Python
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = file

    def printed() -> str:
        file.flush()
        if os.lseek(file.fileno(), 0, os.SEEK_CUR) == 0:
            return ""
        file.seek(0)
        text = file.read()
        file.seek(0)
        file.truncate()
        return text

    return printed


if __name__ == "__main__":
    try:
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
            main(
                sys.argv[1] == "fork",
                importlib.import_module(sys.argv[2]),
                find_lesson(sys.argv[3]),
            )
    except RuntimeError as error:  # the tests cannot be loaded
        sys.exit(str(error))
