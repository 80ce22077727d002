"""Start nurseries, from a process that need not load PyTorch for it."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from course import root
from course.grading.sandbox.sandbox import ENVIRONMENT, Limits, SandboxError, missing

GRADER = "COURSE_GRADER"
"""The environment variable by which the process that judges come from knows what it ends with."""
SECONDS_TO_END = 10
"""How long a shared nursery may take once its judges have gone."""

_BEGIN = """
import sys
sys.path.insert(0, sys.argv[1])  # another copy of the course may be installed
if int(sys.argv[2]):
    from course.grading.sandbox.namespaces import end_with_parent
    end_with_parent(int(sys.argv[2])) or sys.exit()
"""
_NURSERY = """
import gc
gc.disable()  # nothing is garbage while PyTorch is loaded; to look for some takes half a second
from course.grading.sandbox.nursery import main
main(*map(int, sys.argv[3:]))
"""


def start(program: str, arguments: Sequence[object] = (), **options: Any) -> subprocess.Popen:
    """Start a program of the course's own, which inherits neither environment nor import path.

    Args:
        program: Python; `sys.argv[1]` is the course's folder, and `sys.argv[2]` the number of
            this process, with which that of the program ends.
        options: of `subprocess.Popen`.
    """
    # it would end with the thread that started it, and that may be another's to end
    is_main = threading.current_thread() is threading.main_thread()
    parent = os.getpid() if is_main and sys.platform == "linux" else 0
    command = [sys.executable, "-P", "-c", f"{_BEGIN}\n{program}"]
    command += map(str, [root(), parent, *arguments])
    return subprocess.Popen(command, cwd="/", env=ENVIRONMENT, stdin=subprocess.DEVNULL, **options)


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
    return start(
        _NURSERY,
        [connection.fileno(), *numbers],
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
        with ours.makefile(encoding="utf-8") as lines:
            said = lines.readline()
        if said != "\n":
            raise SandboxError(said.strip() or "The process that starts the workers has ended.")
        yield ours
    finally:
        ours.close()
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
