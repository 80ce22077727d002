"""Start nurseries, from a process that need not load PyTorch for it."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from course import ROOT
from course.grading.sandbox import ENVIRONMENT, Limits, SandboxError, missing

SECONDS_TO_END = 10
"""How long a shared nursery may take once its judges have gone."""

_PROGRAM = """
import gc, sys
gc.disable()  # nothing is garbage while PyTorch is loaded; to look for some takes half a second
from course.grading.nursery import main
main(*map(int, sys.argv[1:]))
"""


def start_nursery(
    connection: socket.socket, limits: Limits | None, confined: bool, shared: bool = False
) -> subprocess.Popen:
    """Start a nursery.

    Args:
        connection: its end of the connection to its judge.
        limits: what one worker may use.
        confined: whether workers are confined.
        shared: whether it is one for several judges; on the connection, each of them sends one
            byte, and with it an end of a connection of its own.

    Raises:
        SandboxError: this machine cannot confine workers.
    """
    if confined and (lacking := missing()):
        raise SandboxError(" ".join(lacking))
    limits = limits or Limits()
    numbers = [limits.cpu_seconds, limits.memory_bytes, int(confined), int(shared)]
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, *map(str, [connection.fileno(), *numbers])],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        pass_fds=[connection.fileno()],
        process_group=0,  # Ctrl+C is for those who started it
    )


@contextmanager
def shared_nursery(limits: Limits | None, confined: bool) -> Iterator[socket.socket]:
    """Have a nursery for several judges, who get in touch with it by this connection."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = start_nursery(theirs, limits, confined, shared=True)
    try:
        yield ours
    finally:
        ours.close()
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
