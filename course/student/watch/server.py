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
import gc
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import torch

from course.mistakes.diagnosis import known_mistakes
from course.student.watch.limits import end_after, limit_memory, write_crashes_to
from course.student.watch.printed import collect_printed
from course.student.watch.verdict import verdict
from course.syllabus import Lesson, find_lesson
from course.testing.case import Case, collect
from course.testing.examine import Examination
from course.testing.stage import Stage, load_module

Tell = Callable[..., None]


def main(folder: Path, forks: bool, stems: list[str]) -> None:
    """Be that process."""
    torch.set_num_threads(1)  # as in `course check`; and threads do not live on in a fork
    tell = _way_out()
    warm: dict[Lesson, list[Case]] = {}
    try:
        _warm_up(warm, stems)
        while True:
            tell(event="idle")
            line = sys.stdin.readline()
            if not line:  # nobody is left to ask
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


def _way_out() -> Tell:
    """What is told goes to whoever started this process; nothing else shall go there."""
    pipe = open(os.dup(1), "wb", buffering=0)  # noqa: SIM115
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)

    def tell(**message: object) -> None:
        # the empty line ends what a process may have left unfinished that was killed
        pipe.write(f"\n{json.dumps(message)}\n".encode())

    return tell


def _warm_up(warm: dict[Lesson, list[Case]], stems: list[str]) -> None:
    """Load what the tests of these lessons need, and let all that happens once happen now."""
    for lesson in map(find_lesson, stems):
        if lesson not in warm:
            warm[lesson] = collect([lesson.tests])
            _try_out(lesson, warm[lesson])
            gc.freeze()  # or each fork's collector would copy all of this memory, by touching it


def _try_out(lesson: Lesson, cases: list[Case]) -> None:
    path = lesson.module("solutions")
    module = load_module(path)
    examination = Examination(lambda: Stage(module), path.read_bytes())
    for case in cases:
        examination.run(case)
    known_mistakes(cases[:1], seed=0)


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
        write_crashes_to(log)
        limit_memory()
        printed = collect_printed(folder / f"printed-{number}")
        cases = {lesson: warm[lesson] for lesson in map(find_lesson, request["lessons"])}
        found = verdict(cases, printed, about_to_test, request["width"])
        tell(event="verdict", run=number, **found)
    except BaseException:  # ours, not the student's
        traceback.print_exc(file=log)
        log.flush()
        os._exit(1)
    os._exit(0)  # to take PyTorch down would take longer than the run


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main(Path(sys.argv[1]), sys.argv[2] == "fork", sys.argv[3:])
