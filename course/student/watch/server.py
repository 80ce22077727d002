"""The process that waits with PyTorch and the tests loaded.

    python -m course.student.watch.server FOLDER fork|once LESSON...

It reads requests, a line of JSON each, and writes what happens, a line of JSON each:

    idle      a request may come
    started   a run began, in the process with this number
    testing   the run has come to this exercise
    verdict   the run is over, with this result
    ended     the process of the run ended, with this exit code
    failed    the tests of the course cannot be loaded

With "fork", each run is a fork of this process; with "once", this process itself makes its one
run and ends.
"""

import contextlib
import faulthandler
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TextIO

import torch

from course.mistakes.diagnosis import KnownMistakes
from course.student.watch.verdict import verdict
from course.syllabus import Lesson, find_lesson
from course.testing.case import Case, collect
from course.testing.examine import Examination
from course.testing.executor import Executor, load_module

if sys.platform != "win32":
    import resource

_LINUX = sys.platform == "linux"

GRACE = 5
"""Seconds beyond a test's own limit, after which it cannot be interrupted but by force."""

MEMORY_BYTES = 2 * 10**9
"""What a run may take beyond what is loaded before it begins; as much as when it is graded."""

Tell = Callable[..., None]


def main(folder: Path, forks: bool, stems: list[str]) -> None:
    """Serve requests until nobody is left to ask.

    Args:
        folder: where runs leave their logs.
        forks: whether each run is a fork.
        stems: the lessons that will probably be asked for first.
    """
    torch.set_num_threads(1)  # as in `course check`; and threads do not live on in a fork
    tell = _own_stdout()
    warm: dict[Lesson, list[Case]] = {}
    try:
        _warm_up(warm, stems)
        while True:
            tell(event="idle")
            line = sys.stdin.readline()
            if not line:
                return
            request = json.loads(line)
            _warm_up(warm, request["lessons"])
            if not forks:
                _run(request, warm, folder, tell)
            elif (child := os.fork()) == 0:
                os.setsid()  # so that it can be ended together with all that it starts
                _run(request, warm, folder, tell)
            else:
                _, status = os.waitpid(child, 0)
                code = os.waitstatus_to_exitcode(status)
                tell(event="ended", run=request["run"], code=code)
    except RuntimeError as error:
        tell(event="failed", why=str(error))


def _own_stdout() -> Tell:
    """Keep stdout for what is told: whatever else is printed goes nowhere."""
    pipe = open(os.dup(1), "wb", buffering=0)  # noqa: SIM115
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def tell(**message: object) -> None:
        # the empty line ends what a process may have left unfinished that was killed
        pipe.write(f"\n{json.dumps(message)}\n".encode())

    return tell


def _warm_up(warm: dict[Lesson, list[Case]], stems: list[str]) -> None:
    """Load the tests of these lessons, and run them once, so that all that is slow once is done."""
    for lesson in map(find_lesson, stems):
        if lesson not in warm:
            warm[lesson] = cases = collect([lesson.tests])
            path = lesson.module("solutions")
            module = load_module(path)
            examination = Examination(lambda module=module: Executor(module), path.read_bytes())
            for case in cases:
                examination.run(case)
            KnownMistakes(cases[:1], seed=0)
            gc.freeze()  # or each fork's collector would copy all of this memory, by touching it


# --- a run --------------------------------------------------------------------------------------


def _run(request: dict, warm: dict[Lesson, list[Case]], folder: Path, tell: Tell) -> NoReturn:
    """Test what is asked for, tell the verdict, and end this process."""
    number = request["run"]
    tell(event="started", run=number, pid=os.getpid())
    log = open(folder / f"log-{number}", "w", encoding="utf-8")  # noqa: SIM115
    told = None

    def about_to_test(lesson: Lesson, exercise: str, seconds: float) -> None:
        nonlocal told
        end_after(seconds, log)
        if told != (lesson, exercise):
            told = lesson, exercise
            tell(event="testing", run=number, lesson=lesson.stem, exercise=exercise)

    try:
        faulthandler.enable(log)  # if the interpreter crashes, it says where
        limit_memory()
        printed = _collect_printed(folder / f"printed-{number}")
        cases = {lesson: warm[lesson] for lesson in map(find_lesson, request["lessons"])}
        found = verdict(cases, printed, about_to_test, request["width"])
        tell(event="verdict", run=number, **found)
    except BaseException:  # ours, not the student's
        traceback.print_exc(file=log)
        log.flush()
        os._exit(1)
    os._exit(0)  # to take PyTorch down would take longer than the run


def limit_memory() -> None:
    """Let this process take so much more memory and no more, and dump none of it.

    Elsewhere than on Linux the system itself has to end what takes too much.
    """
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if _LINUX:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        soft = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if hard == resource.RLIM_INFINITY or soft < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def end_after(seconds: float, log: TextIO) -> None:
    """End this process after so many seconds from now, unless this is called again before.

    It works while the interpreter is stuck, inside one long call into C for instance. The file
    then says what was running.
    """
    if _LINUX:  # it begins a thread, also where a test before left no memory for one
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    faulthandler.dump_traceback_later(seconds + GRACE, file=log, exit=True)
    if _LINUX:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _collect_printed(path: Path) -> Callable[[], str]:
    """Put what this process prints from now on into a file, and let it read nothing.

    Returns:
        A function that gives what was printed since it was last called.
    """
    nothing = os.open(os.devnull, os.O_RDWR)
    file = open(path, "w+", encoding="utf-8", errors="replace", newline="\n")  # noqa: SIM115
    os.dup2(nothing, 0)
    os.dup2(file.fileno(), 1)  # for whatever prints without Python
    os.dup2(nothing, 2)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = file
    read_so_far = 0

    def printed() -> str:
        nonlocal read_so_far
        file.flush()
        with open(path, "rb") as written:
            written.seek(read_so_far)
            new = written.read()
        read_so_far += len(new)
        return new.decode("utf-8", errors="replace")

    return printed


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main(Path(sys.argv[1]), sys.argv[2] == "fork", sys.argv[3:])
