"""The judge: runs the graded tests on modules that live in workers, never a stranger's code.

Inputs and expected values stay here; a worker gets the inputs and gives answers. An answer that
is forged would have to be right.
"""

import contextlib
import functools
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
import torch._dynamo  # noqa: F401, now: an import that a deadline cuts short would stay broken

from course.core.memory import ran_out_of_memory
from course.core.syllabus import Status, lessons
from course.grading.judge.unit import GradedResult, Unit, key_of, not_graded
from course.grading.names import printable
from course.grading.sandbox.fork_server import ForkServer
from course.grading.sandbox.remote import (
    TOO_LARGE,
    RemoteExecutor,
    RemoteModule,
    Reported,
    WorkerLost,
    quoted,
)
from course.grading.sandbox.sandbox import ProcessLimits, SandboxError
from course.mistakes.diagnosis import PATIENTLY, KnownMistakes, diagnose
from course.mistakes.quiz import questions
from course.testing.case import Case, by_exercise, collect
from course.testing.clock import TimeIsUp
from course.testing.examine import Examination, Finding, drop_tracebacks
from course.testing.loading import OF_NEWER_PYTHON
from course.testing.outcomes import Stopped, StudentError, ToDo, Wrong
from course.testing.result import ExerciseResult
from course.testing.run import Diagnosis, Module, run

SECONDS_PER_EXERCISE = 90
"""How long the tests of one exercise may keep the judge waiting, whatever others took."""

MAX_MESSAGE = 10_000
"""Characters of what is told of the test that is shown."""
MAX_OTHER_MESSAGE = 1_000
"""And of each other test of the exercise: there are up to a hundred."""


class Judge(contextlib.AbstractContextManager):
    """A judge of one unit after another. Use it in a `with` block, or `close` it.

    Args:
        seed: another one gives the tests other inputs.
        limits: what one worker may use.
        fork_server: the connection to one that others use, too, instead of one of its own.
    """

    def __init__(
        self,
        seed: int = 0,
        limits: ProcessLimits | None = None,
        fork_server: socket.socket | None = None,
    ) -> None:
        torch.set_num_threads(1)
        self.seed = seed
        self.fork_server = ForkServer(limits, fork_server)
        self.cases = cases()
        self._known_mistakes = functools.cache(  # tried on the tests once for all submissions
            lambda lesson, exercise: KnownMistakes(self.cases[lesson][exercise], seed)
        )

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all that was started."""
        self.fork_server.close()

    def grade(self, unit: Unit) -> GradedResult:
        """Return the result of a unit that has a text, whatever its code does.

        Raises:
            SandboxError: nothing more can be graded here.
        """
        if unit.ask:
            return self._questions(unit)
        try:
            with contextlib.suppress(WorkerLost):
                return self._grade(unit)
            return self._grade(unit)
        except SandboxError:
            raise
        except WorkerLost as lost:
            return not_graded(unit, f"The grader tried twice and couldn't run it: the code {lost}.")
        except Exception as error:  # a flaw of the grader's: the class is not to pay for it
            said = printable(f"{type(error).__name__}: {error}"[:MAX_MESSAGE])
            return not_graded(unit, f"The grader itself failed: {said}")

    def _questions(self, unit: Unit) -> GradedResult:
        """Return questions about a module, or why there are none."""
        opened: list[RemoteModule] = []
        begun = time.monotonic()

        def start(text: bytes) -> RemoteExecutor:
            if time.monotonic() - begun > SECONDS_PER_EXERCISE:
                raise Stopped("its questions take too long")
            for one in opened:
                one.end()  # if it is asked again, there will be another worker
            opened.append(RemoteModule(self.fork_server, text, f"exercises/{unit.lesson}.py"))
            opened[-1].allow(SECONDS_PER_EXERCISE)
            opened[-1].load()
            return RemoteExecutor(opened[-1])

        cases = [case for own in self.cases[unit.lesson].values() for case in own]
        try:
            asked = tuple(questions(unit.source, unit.ask, cases, start))
            trouble = "" if asked else "no call of it fits into a line, or its tests take seconds"
        except SandboxError:
            raise
        except (Stopped, TimeIsUp):
            asked, trouble = (), "its code takes too long"
        except Exception:
            asked, trouble = (), "its text is too long, or gives what cannot be shown"
        finally:
            for one in opened:
                one.end()
        return replace(not_graded(unit, trouble), questions=asked)

    def _grade(self, unit: Unit) -> GradedResult:
        start = time.monotonic()
        result = self._result(unit)
        if f"exercises/{unit.lesson}.py {OF_NEWER_PYTHON} " in result.trouble:
            return not_graded(unit, result.trouble)  # another machine can read it
        seconds = round(time.monotonic() - start, 3)
        return replace(result, key=key_of(unit, self.seed), module=unit.module, seconds=seconds)

    def _result(self, unit: Unit) -> GradedResult:
        name, cases = f"exercises/{unit.lesson}.py", self.cases[unit.lesson]
        remote = RemoteModule(self.fork_server, unit.source, name)

        def allow_time(case: Case) -> None:
            if case is cases[case.exercise][0]:
                remote.allow(SECONDS_PER_EXERCISE)

        trouble = ""
        try:
            remote.load()
            every = [case for own in cases.values() for case in own]
            examination = RemoteExamination(RemoteExecutor(remote), unit.source, self.seed)
            module = Module(Path(name), examination, source=unit.source)
            found = run(module, every, self._diagnose, about_to_run=allow_time)
        except Wrong as wrong:
            trouble = printable(str(wrong))
        finally:
            remote.end()
        result = not_graded(unit, trouble)
        if trouble:
            return result
        ran = {one.name: one for one in found.exercises}  # what has no test earns nothing
        exercises = (_shortened(ran.get(one.name, one)) for one in result.exercises)
        left_out = printable(remote.left_out[:MAX_MESSAGE])
        return replace(result, exercises=tuple(exercises), left_out=left_out)

    def _diagnose(self, findings: Sequence[Finding]) -> Diagnosis | None:
        case = findings[0].case
        with contextlib.suppress(Exception):  # odd values cost the advice, never the result
            return diagnose(findings, self._known_mistakes(case.lesson, case.exercise), PATIENTLY)
        return None


class RemoteExamination(Examination):
    """An examination of a module in a worker."""

    def run(self, case: Case) -> Finding:
        """Run a test; what the worker reports as wrong is marked as its words."""
        finding = super().run(case)
        if isinstance(finding.failure, Reported):
            said = f"{case.exercise} was refused; {quoted(finding.text)}"
            return replace(finding, text=said)
        return finding

    def attempt(self, case: Case, lent: tuple[str, ...] = ()) -> Finding:
        """Run a test once, with these exercises lent.

        A test is stopped if it exhausts the memory of this process, which needs little of it, or
        if its message cannot be made: strangers return odd values.

        Raises:
            SandboxError, WorkerLost: the machine failed, not the student's code.
        """
        try:
            finding = super().attempt(case, lent)
        except MemoryError:
            return _stopped(case, TOO_LARGE)
        except Exception:
            return _stopped(case, "the code gave an answer that cannot be shown")
        if isinstance(finding.failure, SandboxError | WorkerLost):
            raise finding.failure
        is_workers = isinstance(finding.failure, Wrong | ToDo | StudentError)
        if finding.failure and not is_workers and ran_out_of_memory(finding.failure):
            return _stopped(case, TOO_LARGE)
        drop_tracebacks(finding)
        return finding


def _stopped(case: Case, why: str) -> Finding:
    return Finding(case, Status.WRONG, Stopped(why), why)


def cases() -> dict[str, dict[str, list[Case]]]:
    """Return the graded tests, by lesson and exercise.

    Raises:
        RuntimeError: they cannot be read.
    """
    found, trouble = collect_once()
    if trouble:
        raise RuntimeError(trouble)
    return {
        lesson.stem: by_exercise(case for case in found if case.lesson == lesson.stem)
        for lesson in lessons()
    }


@functools.cache
def collect_once() -> tuple[list[Case], str]:
    """Return all graded tests, or why there are none; a second try would find some of them."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):  # which could leave tests out
        os.environ.pop(name, None)
    try:
        return collect(lesson.tests for lesson in lessons()), ""
    except RuntimeError as error:
        return [], str(error)


def _shortened(result: ExerciseResult) -> ExerciseResult:
    """Return a result whose messages can be kept and shown."""
    tests = []
    for test in result.tests:
        longest = MAX_MESSAGE if test == result.first_wrong else MAX_OTHER_MESSAGE
        tests.append(replace(test, message=printable(test.message[:longest])))
    return replace(result, tests=tuple(tests), about_file=result.about_file[:MAX_OTHER_MESSAGE])
