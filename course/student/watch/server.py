"""The process that waits with PyTorch and the tests loaded.

    python -m course.student.watch.server fork|once LESSON

It reads lines, each with a lesson and the width of the terminal, and writes what happens, a line of
JSON each:

    {"testing": "rotate_half", "pid": 4711}     the run, in this process, has come to an exercise
    {"verdict": "...", "exercise": "..."}       what to show, and what to work on next, if anything
    {"ended": -11}                              the run ended before, with this exit code

With "fork", each run is a fork of this process; with "once", this process itself makes its one
run and ends.
"""

import contextlib
import faulthandler
import gc
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from typing import NoReturn

import torch

from course.messages.terminal import report
from course.mistakes.diagnosis import KnownMistakes, diagnoser
from course.student.board import next_steps
from course.student.progress import found_in, next_exercise, remember, status_of_all
from course.student.summary import board_of
from course.syllabus import Lesson, Status, find_lesson
from course.testing.case import SECONDS_PER_TEST, Case, collect
from course.testing.examine import Examination, Finding
from course.testing.executor import Executor
from course.testing.loading import load_module
from course.testing.run import Diagnosis, open_module, run

GRACE = 5
"""Seconds beyond a test's own limit, after which it cannot be interrupted but by force."""

TOLD = 99
"""The exit status of a run that told its verdict; a student's code may end it with 0."""


def main(forks: bool, likely: str) -> None:
    """Serve requests until nobody is left to ask.

    Args:
        forks: whether each run is a fork.
        likely: the lesson that will probably be asked for first.
    """
    torch.set_num_threads(1)  # as in `course check`; and threads do not live on in a fork
    tell = _own_stdout()
    warm = {}
    _warm_up(warm, find_lesson(likely))
    while line := sys.stdin.readline():
        stem, width = line.split()
        lesson = find_lesson(stem)
        _warm_up(warm, lesson)
        if not forks or (child := os.fork()) == 0:
            if forks:
                os.setsid()  # so that it can be ended together with all that it starts
            _run(lesson, warm[lesson], int(width), tell)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code != TOLD:
            tell(ended=code)


def _own_stdout() -> Callable[..., None]:
    """Keep stdout for what is told: whatever else is printed goes nowhere."""
    pipe = open(os.dup(1), "wb", buffering=0)  # noqa: SIM115
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def tell(**message: object) -> None:
        # the empty line ends what a process may have left unfinished that was killed
        pipe.write(f"\n{json.dumps(message)}\n".encode())

    return tell


def _warm_up(warm: dict[Lesson, list[Case]], lesson: Lesson) -> None:
    """Load the tests of a lesson, and run them once, so that all that is slow once is done."""
    if lesson not in warm:
        warm[lesson] = cases = collect([lesson.tests])
        path = lesson.module("solutions")
        module = load_module(path)
        examination = Examination(lambda: Executor(module), path.read_bytes())
        for case in cases:
            examination.run(case)
        KnownMistakes(cases[:1], seed=0)
        gc.freeze()  # or each fork's collector would copy all of this memory, by touching it


def _run(lesson: Lesson, cases: Sequence[Case], width: int, tell: Callable[..., None]) -> NoReturn:
    """Test what is asked for, tell the verdict, and end this process."""
    log = open(os.dup(2), "w", encoding="utf-8")  # noqa: SIM115
    os.ftruncate(2, 0)
    os.lseek(2, 0, os.SEEK_SET)
    told = None

    def about_to_test(exercise: str, seconds: float) -> None:
        nonlocal told
        # It works while the interpreter is stuck inside one long call, and says what was running.
        faulthandler.dump_traceback_later(seconds + GRACE, file=log, exit=True)
        if told != exercise:
            told = exercise
            tell(testing=exercise, pid=os.getpid())

    try:
        faulthandler.enable(log)  # if the interpreter crashes, it says where
        tell(**_verdict(lesson, cases, width, _collect_printed(), about_to_test))
    except BaseException:  # ours, not the student's
        traceback.print_exc(file=log)
        log.flush()
        os._exit(1)
    os._exit(TOLD)  # to take PyTorch down would take longer than the run


def _verdict(
    lesson: Lesson,
    cases: Sequence[Case],
    width: int,
    printed: Callable[[], str],
    about_to_test: Callable[[str, float], None],
) -> dict[str, str | None]:
    """Test the student's file, as `course check` does, and remember what was found."""
    named = diagnoser(seed=0)
    wrong = []

    def name_the_first(findings: Sequence[Finding]) -> Diagnosis | None:
        if wrong:
            return None  # one at a time: the next save comes soon
        wrong.append(findings[0].case.exercise)
        about_to_test(wrong[0], SECONDS_PER_TEST)
        return named(findings)

    def about_to_run(case: Case) -> None:
        about_to_test(case.exercise, 2 * case.seconds)  # again, with others lent

    about_to_test("", SECONDS_PER_TEST)
    module = open_module(lesson.module(), 0, printed)
    result = run(module, cases, name_the_first, printed, about_to_run)
    remember([result])
    statuses = result.statuses
    known = status_of_all() | found_in([result])
    parts = [board_of([result], known), report([result], width, n_wrong=1)]
    first_wrong = next((name for name in statuses if statuses[name] == Status.WRONG), None)
    if first_wrong is None:
        parts.append(next_steps(known, tuple(statuses)))
    following = next_exercise(known, tuple(statuses))
    return {
        "verdict": "\n\n".join(filter(None, parts)),
        "exercise": first_wrong or (following and following[1].name),
    }


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
        file.seek(0)
        text = file.read()
        file.seek(0)
        file.truncate()
        return text

    return printed


if __name__ == "__main__":
    try:
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
            main(sys.argv[1] == "fork", sys.argv[2])
    except RuntimeError as error:  # the tests cannot be loaded
        sys.exit(str(error))
