"""`self_test` tries to get out of the sandbox by many ways, on the machine that will grade."""

import functools
import json
import os
import select
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from course.grading.sandbox.sandbox import SandboxError, Worker, enter_namespaces, missing, spawn
from course.grading.sandbox.start import start
from course.grading.sandbox.ways_out import ATTEMPTS, Attempt

ENOUGH_SECONDS = 5
"""Who has not answered by then is killed."""


@dataclass(frozen=True)
class Outcome:
    """How one attempt ended.

    Attributes:
        sentence: what was attempted.
        closed: whether the sandbox held.
        detail: what refused the attempt, or what it got hold of.
    """

    sentence: str
    closed: bool
    detail: str


def self_test() -> list[Outcome]:
    """Make all attempts, each in a worker of a nursery that is started like the real one.

    Raises:
        SandboxError: there is no sandbox to test; why, in sentences.
    """
    if lacking := missing():
        raise SandboxError(" ".join(lacking))
    program = f"from {__name__} import main; main()"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with start(program, **pipes) as nursery:
        printed, complaints = nursery.communicate()
    if nursery.returncode != 0:
        raise SandboxError(f"The self-test could not be run: {complaints.strip()}")
    return [Outcome(**fields) for fields in json.loads(printed)]


def try_inside(attempt: Attempt) -> Outcome:
    """Make an attempt in a worker, in the nursery."""
    with spawn(lambda connection: _report(attempt, connection)) as worker:
        seconds = 0.2 if attempt.endless else ENOUGH_SECONDS
        messages = list(_messages(worker, seconds))
    if not messages:
        raise SandboxError(f"No worker came to life: the code {worker.why_it_died()}.")
    if left := _processes_of_session(worker.pid):
        return Outcome(attempt.sentence, False, f"processes {left} were left behind")
    if len(messages) == 1:
        return Outcome(attempt.sentence, attempt.endless, f"it {worker.why_it_died()}")
    return Outcome(attempt.sentence, **json.loads(messages[1]))


def try_here(attempt: Attempt) -> Outcome:
    """Make an attempt in this very process, confined or not."""
    try:
        return Outcome(attempt.sentence, False, attempt.act())
    except Exception as error:
        refused = isinstance(error, attempt.refusal)
        return Outcome(attempt.sentence, refused, f"{type(error).__name__}: {error}")


def _report(attempt: Attempt, connection: socket.socket) -> None:
    connection.sendall(b"confined\n")
    outcome = try_here(attempt)
    fields = {"closed": outcome.closed, "detail": outcome.detail}
    connection.sendall(json.dumps(fields).encode() + b"\n")


def _messages(worker: Worker, seconds: float) -> Iterator[bytes]:
    """The lines that a worker sends, until it ends or is silent for so long."""
    buffer = b""
    while select.select([worker.connection], [], [], seconds)[0]:
        received = worker.connection.recv(65536)
        if not received:
            return
        *lines, buffer = (buffer + received).split(b"\n")
        yield from lines


def _processes_of_session(session: int) -> list[int]:
    """All processes that still belong to a worker's session, whose number is the worker's."""
    found = []
    for number in map(int, filter(str.isdigit, os.listdir(_processes()))):
        try:
            if os.getsid(number) == session:
                found.append(number)
        except ProcessLookupError:  # it ended meanwhile
            continue
    return found


@functools.cache
def _processes() -> int:
    """Return /proc, opened: in namespaces it is gone."""
    return os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)


def main() -> None:
    """Be the nursery of a self-test: make all attempts, print their outcomes."""
    _processes()
    with open(__file__, "rb"):  # for the attempt that looks for open files
        has_namespaces = enter_namespaces()
        outcomes = [
            asdict(try_inside(attempt))
            for attempt in ATTEMPTS
            if has_namespaces or not attempt.needs_namespaces
        ]
    print(json.dumps(outcomes))
