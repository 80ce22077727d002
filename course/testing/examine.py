"""Run graded tests on a module, one after another, and return the finding of each."""

import re
import time
from dataclasses import dataclass, field
from typing import Any

from course.core.syllabus import Status
from course.testing import expect
from course.testing.case import Case
from course.testing.clock import TimeIsUp
from course.testing.door import Door, Outline, excerpt
from course.testing.errors import asks_for_input
from course.testing.executor import Executor
from course.testing.inputs import Draw
from course.testing.outcomes import NotRun, Stopped, StudentError, TimedOut, ToDo, Wrong
from course.testing.show import GOT, labeled, show
from course.testing.source import (
    definitions,
    is_still_a_stub,
    reference_source,
    used_exercises,
)

SECONDS_ONCE_WRONG = 10
"""How long the tests of an exercise may have taken for more of them to be run after one failed."""


_MOST_CALLS = 50
"""How many calls of a test are remembered."""


@dataclass(frozen=True, eq=False)
class Finding:
    """The outcome of one test.

    Attributes:
        failure: the exception behind it, if it did not pass.
        text: the message for the student: a sentence, then the details.
        trace: what came back through the door while the test ran, in order.
        mismatches: the value that did not compare as it should, and within which tolerance.
        calls: the calls that it made, in order: the last ones, if there were many.
        seconds: how long it took.
        source: the text of the module.
    """

    case: Case
    status: Status
    failure: Exception | None
    text: str
    trace: list[Any] = field(default_factory=list)
    mismatches: list[tuple[Any, float]] = field(default_factory=list)
    calls: list[Outline] = field(default_factory=list)
    seconds: float = 0.0
    source: bytes = b""


def drop_tracebacks(finding: Finding) -> None:
    """Drop the frames that its errors passed through, which keep all tensors of a test alive."""
    for error in [finding.failure, *finding.trace]:
        while isinstance(error, BaseException):
            before = error.__cause__ or error.__context__
            error.__traceback__ = error.__cause__ = error.__context__ = None
            error = before


class Examination:
    """Tests of one module. What comes to no end, or is wrong and slow, is not waited for again.

    Args:
        executor: has the module; each test gets a fresh one.
        source: the text of the module, to see which exercises use which.
        seed: another one gives the tests other inputs.
    """

    def __init__(self, executor: Executor, source: bytes = b"", seed: int = 0) -> None:
        self.seed = seed
        self._executor = executor
        self._source = source
        self._stopped: set[str] = set()
        self._failed: set[str] = set()
        self._seconds: dict[str, float] = {}
        self._to_do: dict[str, ToDo] = {}
        self._passed: dict[str, list[Case]] = {}
        self._lent: dict[str, tuple[str, ...]] = {}
        self._settled: set[str] = set()

    def run(self, case: Case) -> Finding:
        """Run a test with the exercises that this one uses, and if it fails with those lent.

        So nobody loses the points of an exercise because of another one that it calls. All tests
        of an exercise have to pass in the same way: all with its own, or all with those lent.
        """
        if case.exercise in self._stopped or self._is_wrong_and_slow(case.exercise):
            return Finding(case, *_outcome(NotRun(case.exercise), case.exercise))
        if case.exercise in self._to_do:
            return Finding(case, *_outcome(self._to_do[case.exercise], case.exercise))
        start = time.perf_counter()
        finding = self._find(case)
        spent = time.perf_counter() - start
        self._seconds[case.exercise] = self._seconds.get(case.exercise, 0.0) + spent
        if finding.status == Status.WRONG:
            self._failed.add(case.exercise)
        if isinstance(finding.failure, Stopped):
            self._stopped.add(case.exercise)
        elif _is_its_own_stub(finding) and is_still_a_stub(self._source, case.exercise):
            self._to_do[case.exercise] = finding.failure
        return finding

    def _is_wrong_and_slow(self, exercise: str) -> bool:
        return exercise in self._failed and self._seconds[exercise] > SECONDS_ONCE_WRONG

    def _find(self, case: Case) -> Finding:
        """Return how a test ends, with its own or those lent: first in the likelier way to pass."""
        # the text is read only if that can matter, for it takes as long as many a test
        used = self._used_by(case) if self._stopped or self._failed else ()
        if self._stopped.intersection(used):
            return self.attempt(case, used)
        likelier = used if self._failed.intersection(used) else ()
        lent = self._lent.setdefault(case.exercise, likelier)
        finding = self.attempt(case, lent)
        passed = self._passed.setdefault(case.exercise, [])
        if finding.failure is None:
            passed.append(case)
            return finding
        if case.exercise in self._settled or _is_its_own_stub(finding):
            return finding
        used = self._used_by(case)
        if not used or self._is_endless_without(used, finding):
            return finding
        self._settled.add(case.exercise)  # whatever is found out now holds for all its tests
        other = () if lent else used
        in_other = self.attempt(case, other)
        if in_other.failure is not None:  # with those lent, it is its own fault
            self._lent[case.exercise] = used
            return finding if lent else in_other
        if any(self.attempt(one, other).failure for one in passed):
            return finding
        self._lent[case.exercise] = other
        return in_other

    def _is_endless_without(self, used: tuple[str, ...], finding: Finding) -> bool:
        """Return whether a test came to no end in a line outside all exercises that it uses."""
        where = getattr(finding.failure, "where", "")
        lines = re.findall(r"(?:^|, in )[^:]+\.py:(\d+): ", where)
        if not isinstance(finding.failure, TimedOut) or not lines:
            return False
        line = int(lines[-1])
        names = [
            getattr(node, "name", "")
            for node in definitions(self._source)
            if node.lineno <= line <= node.end_lineno
        ]
        return not set(names).intersection(used)

    def lent_to(self, exercise: str) -> tuple[str, ...]:
        """Return the exercises that this one was tested with, correct ones instead of its own."""
        return self._lent.get(exercise, ())

    def _used_by(self, case: Case) -> tuple[str, ...]:
        return used_exercises(self._source, case.lesson, case.exercise)

    def attempt(self, case: Case, lent: tuple[str, ...] = (), trace: list | None = None) -> Finding:
        """Run a test once, with these exercises lent.

        Args:
            trace: what takes down what comes back; it may raise to end the test.
        """
        start = time.perf_counter()
        expect.calls.clear()
        expect.mismatches.clear()
        executor = self._executor.fresh()
        door = Door(executor, expect.calls, trace)
        failure = self._failure(case, lent, executor, door)
        refused = expect.mismatches if failure else []
        mismatches = [(excerpt(one), tolerance) for one, tolerance in refused]
        outcome = _outcome(failure, case.exercise)
        calls = [one.outline for one in expect.calls[-_MOST_CALLS:]]
        seconds = time.perf_counter() - start
        return Finding(case, *outcome, door.trace, mismatches, calls, seconds, source=self._source)

    def _failure(
        self, case: Case, lent: tuple[str, ...], executor: Executor, door: Door
    ) -> Exception | None:
        given = dict(case.parameters)
        if "draw" in case.fixtures:
            given["draw"] = Draw(case.seed(self.seed, "inputs"))
        if "lesson" in case.fixtures:
            given["lesson"] = door
        try:
            with executor.limited(case.seconds):
                # random weights are the same in every run
                executor.seed(case.seed(self.seed, "module"))
                if lent:
                    executor.lend(reference_source(case.lesson, lent), lent)
                case.function(**given)
        except TimeIsUp as error:
            sentence = f"{case.exercise} did not come to an end in {case.seconds} s"
            where = [labeled("at", error.where)] if error.where else []
            return TimedOut(expect.message(sentence, expect.last_call(), *where), error.where)
        except Exception as failure:
            return failure
        finally:
            executor.take_back()
        return None


def _is_its_own_stub(finding: Finding) -> bool:
    """Return whether the exercise itself is to do, which no other one could change."""
    case, failure = finding.case, finding.failure
    return isinstance(failure, ToDo) and failure.name == f"{case.lesson}.{case.exercise}"


def _outcome(failure: Exception | None, exercise: str) -> tuple[Status, Exception | None, str]:
    """Return the status, the failure, and its message."""
    if failure is None:
        return Status.PASSED, None, ""
    for kind, status in _STATUS_OF.items():
        if isinstance(failure, kind):
            return status, failure, str(failure)
    last_call = expect.last_call()
    if isinstance(failure, StudentError):
        where = [labeled("at", failure.where)] if failure.where else []
        sentence = _in_plain_words(failure, exercise) or f"{exercise} raised {failure}".rstrip()
        return Status.WRONG, failure, expect.message(sentence, last_call, *where)
    got = [labeled(GOT, show(last_call.result))] if last_call else []
    sentence = f"the test could not go on with what {exercise} returned"
    reason = f"because {type(failure).__name__}: {failure}"
    return Status.WRONG, failure, expect.message(sentence, last_call, *got, reason)


_STATUS_OF = {
    ToDo: Status.TO_DO,
    NotRun: Status.NOT_RUN,
    Wrong: Status.WRONG,
}


def _in_plain_words(error: StudentError, exercise: str) -> str | None:
    """Return a sentence for an exception that does not say itself what to do."""
    if asks_for_input(error.message):
        return f"{exercise} asks for input, which no test can type; take the input(...) out"
    if "BdbQuit" in error.kinds:
        return f"{exercise} calls a debugger; to use it, run `course check {exercise}`"
    if found := re.search(
        r"Module \[(\w+)\] is missing the required \"forward\"|_forward_unimplemented\(\) got",
        error.message,
    ):
        return (
            f"{found[1] or exercise} has no method forward; is its name misspelled, its def not "
            "indented as far as that of __init__, or another class above it?"
        )
    if re.match(
        r"cannot assign \w+ before Module.__init__\(\) call|'\w+' object has no attribute "
        r"'_(parameters|buffers|modules|(forward|backward)_(pre_)?hooks)'",
        error.message,
    ):
        return f"{exercise} raised {error}; begin __init__ with super().__init__()"
    return None
