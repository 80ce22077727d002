"""The self-test: tries all escapes from the sandbox, on the machine that will grade."""

import functools
import json
import os
import select
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from course.grading.sandbox.escapes import ATTEMPTS, Attempt
from course.grading.sandbox.sandbox import SandboxError, Worker, enter_namespaces, missing, spawn
from course.grading.sandbox.start import start

ENOUGH_SECONDS = 5
"""Who has not answered by then is killed."""


@dataclass(frozen=True)
class Outcome:
    """An end of an attempt.

    Attributes:
        sentence: what was attempted.
        closed: whether the sandbox held.
        detail: what refused the attempt, or what it got hold of.
    """

    sentence: str
    closed: bool
    detail: str


def self_test() -> list[Outcome]:
    """Make all attempts, each in a worker of a fork server that is started like the real one.

    Raises:
        SandboxError: there is no sandbox to test; why, in sentences.
    """
    if lacking := missing():
        raise SandboxError(" ".join(lacking))
    program = f"from {__name__} import main; main()"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    with start(program, **pipes) as fork_server:
        printed, complaints = fork_server.communicate()
    if fork_server.returncode != 0:
        raise SandboxError(f"The self-test could not be run: {complaints.strip()}")
    return [Outcome(**fields) for fields in json.loads(printed)]


def main() -> None:
    """Be the fork server of a self-test: make all attempts, print their outcomes."""
    _processes()
    with open(__file__, "rb"):  # for the attempt that looks for open files
        has_namespaces = enter_namespaces()
        outcomes = [
            asdict(try_inside(attempt))
            for attempt in ATTEMPTS
            if has_namespaces or not attempt.needs_namespaces
        ]
    print(json.dumps(outcomes))


def try_inside(attempt: Attempt) -> Outcome:
    """Make an attempt in a worker, in the fork server."""
    with spawn(lambda connection: report(attempt, connection)) as worker:
        seconds = 0.2 if attempt.endless else ENOUGH_SECONDS
        messages = list(_messages(worker, seconds))
    if not messages:
        raise SandboxError(f"No worker came to life: the code {worker.why_it_died()}.")
    if left := _processes_of_session(worker.pid):
        return Outcome(attempt.sentence, False, f"processes {left} were left behind")
    if len(messages) == 1:
        return Outcome(attempt.sentence, attempt.endless, f"it {worker.why_it_died()}")
    return Outcome(**json.loads(messages[1]))


def report(attempt: Attempt, connection: socket.socket) -> None:
    """Make an attempt in this very process, confined or not, and tell its outcome."""
    connection.sendall(b"confined\n")
    try:
        outcome = Outcome(attempt.sentence, False, attempt.act())
    except Exception as error:
        is_refused = isinstance(error, attempt.refusal)
        outcome = Outcome(attempt.sentence, is_refused, f"{type(error).__name__}: {error}")
    connection.sendall(json.dumps(asdict(outcome)).encode() + b"\n")


def _messages(worker: Worker, seconds: float) -> Iterator[bytes]:
    """Yield the lines that a worker sends, until it ends or is silent for so long."""
    buffer = b""
    while select.select([worker.connection], [], [], seconds)[0]:
        received = worker.connection.recv(65536)
        if not received:
            return
        *lines, buffer = (buffer + received).split(b"\n")
        yield from lines


def _processes_of_session(session: int) -> list[int]:
    """Return all processes of a session; that of a worker has the worker's number."""
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
