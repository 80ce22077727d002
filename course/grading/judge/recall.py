"""Tests whose end is known, because they were given the same answers before.

A graded test draws its inputs from a seed, so it depends on nothing but the answers that it gets:
what it asks first is always the same; what it asks next, and how it ends, follows from what it was
answered. A judge keeps this as a tree. Where a module answers as another one did, the judge need
not run the test; where it does not, the test runs, and the tree has one branch more.
"""

import functools
import hashlib
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import torch

from course.grading.sandbox.remote import (
    TOO_LARGE,
    Conversation,
    RemoteExecutor,
    RemoteModule,
    WorkerLost,
)
from course.grading.sandbox.sandbox import SandboxError
from course.syllabus import Status
from course.system.memory import ran_out_of_memory
from course.testing.case import Case
from course.testing.clock import TimeIsUp
from course.testing.examine import Examination, Finding, forget_frames
from course.testing.outcomes import Stopped, StudentError, ToDo, Wrong

MAX_BYTES = 64 * 2**20
"""About so much a judge remembers; beyond that, it forgets all and begins anew."""


class Flaw(Exception):
    """A flaw of the course's own, for which no student is to pay."""


@dataclass(slots=True)
class Point:
    """A point in the course of a test: what it asks there, or how it ends there.

    Attributes:
        request: the message of what it asks; empty if it asks nothing more, or nobody got here.
        after: the next point, by the digest of the answer.
    """

    request: bytes = b""
    end: Finding | None = None
    after: dict[bytes, "Point"] = field(default_factory=dict)


class Memory:
    """A memory of the courses that the tests of a judge can take.

    Attributes:
        results: what is made of findings, by whatever they are about; forgotten with them.
    """

    def __init__(self) -> None:
        self.results: dict[Hashable, Any] = {}
        self._beginnings: dict[tuple[Case, tuple[str, ...]], Point] = {}
        self._bytes = 0

    def beginning(self, case: Case, lent: tuple[str, ...]) -> Point:
        """Return where a test begins, with these exercises lent."""
        return self._beginnings.setdefault((case, lent), Point())

    def count(self, n_bytes: int) -> None:
        """Count so many bytes more that are remembered."""
        self._bytes += n_bytes
        if self._bytes > MAX_BYTES:
            self._beginnings.clear()
            self.results.clear()
            self._bytes = 0


class RecallingExamination(Examination):
    """An examination of a module in a worker, by a judge with a memory.

    Args:
        seed: has to be the same for all that share a memory.
    """

    def __init__(self, module: RemoteModule, source: bytes, seed: int, memory: Memory) -> None:
        super().__init__(self._new_executor, source, seed)
        self._module = module
        self._memory = memory
        self._known = _KnownCourse(module, Point(), seconds=0.0)

    def attempt(self, case: Case, lent: tuple[str, ...] = ()) -> Finding:
        beginning = self._memory.beginning(case, lent)
        self._known = _KnownCourse(self._module, beginning, case.seconds)
        self._known.follow()
        if self._known.point.end:
            return self._known.point.end
        finding = self._attempt_in_memory(case, lent)
        if isinstance(finding.failure, SandboxError | Flaw | WorkerLost):
            raise finding.failure
        finding = _to_keep(finding)
        if not self._known.is_broken:
            self._known.point.end = finding
        kept = [finding.trace, finding.refused, finding.text]
        self._memory.count(self._known.n_bytes + _bytes_in(kept))
        return finding

    def _attempt_in_memory(self, case: Case, lent: tuple[str, ...]) -> Finding:
        """Say how a test ends; if the memory of this process, which needs little, ran out: stopped.

        So is one that ends in an answer that cannot be told of: strangers make up odd ones.
        """
        said = TOO_LARGE
        try:
            finding = super().attempt(case, lent)
            if not _ran_out_of_memory(finding.failure):
                return finding
        except MemoryError:
            pass
        except Exception:
            said = "the code gave an answer that cannot be shown"
        self._known.is_broken = True
        return Finding(case, Status.WRONG, Stopped(said), said)

    def _new_executor(self) -> RemoteExecutor:
        return RemoteExecutor(self._known)


class _KnownCourse(Conversation):
    """A conversation that goes as far as it is known before the test is there to lead it.

    Attributes:
        point: where it has come to.
        is_broken: whether it ended otherwise than by an answer; such an end is not remembered.
        n_bytes: about the memory that the points take that are new.
    """

    def __init__(self, module: RemoteModule, beginning: Point, seconds: float) -> None:
        super().__init__(module, seconds)
        self.point = beginning
        self.n_bytes = 0
        self._ahead: deque[tuple[bytes, tuple[bytes, bytes] | BaseException]] = deque()

    def follow(self) -> None:
        """Ask what is known to be asked, for as long as the answers are known ones."""
        while request := self.point.request:
            try:
                answer = self._ask(request)
            except (TimeIsUp, Exception) as error:  # the test is to meet it
                answer = error
            self._ahead.append((request, answer))
            if isinstance(answer, BaseException):
                return

    def answer_to(self, request: bytes) -> tuple[bytes, bytes]:
        """Return the answer to what the test asks: one that is there already, or a new one."""
        if not self._ahead:
            self.point.request = request
            self.n_bytes += len(request) + _BYTES_OF_POINT
            return self._ask(request)
        asked, answer = self._ahead.popleft()
        if asked != request:
            raise Flaw("a graded test asks otherwise than it did before")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _ask(self, request: bytes) -> tuple[bytes, bytes]:
        text, memory = super().answer_to(request)
        self.point = self.point.after.setdefault(_digest(text, memory), Point())
        return text, memory


_BYTES_OF_POINT = 500


def _ran_out_of_memory(failure: Exception | None) -> bool:
    """Test that it was this process that did, not a worker that tells of it."""
    told = isinstance(failure, Wrong | ToDo | StudentError)
    return failure is not None and not told and ran_out_of_memory(failure)


def _to_keep(finding: Finding) -> Finding:
    """Return a finding without what nobody looks at: a judge keeps thousands of them."""
    if finding.status == Status.PASSED:
        return _passed(finding.case)
    forget_frames(finding)
    return finding


@functools.cache
def _passed(case: Case) -> Finding:
    """Return the one pass of a test, so that what is made of it is one, too."""
    return Finding(case, Status.PASSED, None, "")


def _bytes_in(value: Any) -> int:
    """Return about the memory that a plain value takes."""
    if isinstance(value, torch.Tensor):
        return 500 + value.untyped_storage().nbytes()  # of which it may show a few numbers
    if isinstance(value, dict):
        return 200 + _bytes_in(list(value)) + _bytes_in(list(value.values()))
    if isinstance(value, list | tuple):
        return 100 + 8 * len(value) + sum(map(_bytes_in, value))
    return 50 + (len(value) if isinstance(value, str | bytes) else 0)


def _digest(text: bytes, memory: bytes) -> bytes:
    of = hashlib.sha256(len(text).to_bytes(8, "big"))
    of.update(text)
    of.update(memory)
    return of.digest()
