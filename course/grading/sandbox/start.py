"""Start fork servers, from a process that need not load PyTorch for it."""

import os
import socket
import subprocess
import sys
import threading

from course import root
from course.grading.sandbox.sandbox import (
    ENVIRONMENT,
    ProcessLimits,
    SandboxError,
    require_sandbox,
)

ENDED = (
    "One of the grader's processes was killed. The results so far are saved; run the same "
    "command again to continue."
)
SECONDS_TO_END = 10
"""How long a fork server may take once its judges have gone."""

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])  # another copy of the course may be installed
if int(sys.argv[2]):
    from course.grading.sandbox.namespaces import end_with_parent
    end_with_parent(int(sys.argv[2])) or sys.exit()
import gc
gc.disable()  # nothing is garbage while PyTorch is loaded; to look for some takes half a second
from course.grading.sandbox.fork_server import main
main(*map(int, sys.argv[3:]))
"""


def start_fork_server(limits: ProcessLimits | None) -> tuple[subprocess.Popen, socket.socket]:
    """Start a fork server; it takes seconds, because PyTorch is loaded.

    It inherits neither environment nor import path, and ends with this process.

    Args:
        limits: what one worker may use.

    Returns:
        Its process, and the connection to it: on that, each judge sends one byte, and with it an
        end of its connection.

    Raises:
        SandboxError: this machine cannot confine workers.
    """
    require_sandbox()
    limits = limits or ProcessLimits()
    # it would end with the thread that started it, and that may be another's to end
    is_main = threading.current_thread() is threading.main_thread()
    parent = os.getpid() if is_main else 0
    ours, theirs = socket.socketpair()
    with theirs:
        arguments = [root(), parent, theirs.fileno(), limits.cpu_seconds, limits.memory_bytes]
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, *map(str, arguments)],
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            process_group=0,  # Ctrl+C is for those who started it
        )
    with ours.makefile(encoding="utf-8") as lines:
        said = lines.readline()
    if said != "\n":
        ours.close()
        process.wait()
        raise SandboxError(said.strip() or ENDED)
    return process, ours


def stop_fork_server(process: subprocess.Popen, connection: socket.socket) -> None:
    """End what `start_fork_server` started, after all of its forks."""
    connection.close()
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
