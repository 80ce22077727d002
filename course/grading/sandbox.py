"""Where a stranger's code runs: a process that can compute, answer its one connection, and no more.

A *nursery* is a process with a single thread that has imported what workers need and that knows
no secrets. `spawn` forks a worker from it. Before the worker runs anything of a student's, it
gives up for good

- all files but those of the installed Python, to be read: nothing can be written (Landlock, and
  again seccomp);
- all system calls but some seventy: no network, no new process or thread, no signals, no other
  program, nothing that changes the machine (seccomp, and for some again Landlock);
- more memory, processor time and open files than its limits allow (rlimits);
- privileges, the environment, the terminal, and all open files but the connection.

A worker is one process with one thread and stays one, so killing it leaves nothing behind. All of
this works the same for root and for anyone, on a laptop and in a container, without namespaces.
`escapes.py` tries to break out. What it does not hide: whether a file of a known name exists, and
how large it is; and the nursery's own memory, which every worker inherits. Hence the nursery is
*started* with `ENVIRONMENT`, as a process of its own, and never learns anything worth knowing.
"""

import ctypes
import os
import signal
import site
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course.grading import landlock, seccomp

ENVIRONMENT = {
    "HOME": "/",
    "LANG": "C.UTF-8",
    "MALLOC_MMAP_THRESHOLD_": str(2**30),  # memory that is freed is used again, not given
    "MALLOC_TRIM_THRESHOLD_": str(2**30),  # back to be asked for anew, page by page
    "MPLCONFIGDIR": "/tmp",  # or a module that imports Matplotlib could not be loaded
    "OMP_THREAD_LIMIT": "1",  # PyTorch would die of the threads that it cannot start
    "PATH": "/usr/bin:/bin",
    "TORCHDYNAMO_DISABLE": "1",  # there is no compiler here; what it would compile runs as it is
    "TORCHINDUCTOR_CACHE_DIR": "/",  # or importing an optimizer looks for one to write to
}
"""The environment variables to start a nursery with, and all that a worker has."""

_READABLE = (
    "/dev/urandom",
    "/etc/ld.so.cache",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
)
"""What Python and PyTorch read of the system."""

_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES = 1, 4, 38  # prctl(2)
_ENDED, _FAILED, _OUT_OF_MEMORY, _NOT_CONFINED = 0, 1, 77, 78  # exit statuses of a worker


class SandboxError(RuntimeError):
    """There can be no sandbox here; the message says why, in sentences."""


@dataclass(frozen=True)
class Limits:
    """What one worker may use.

    Attributes:
        cpu_seconds: whole seconds of processor time.
        memory_bytes: memory beyond what the nursery had mapped.
        open_files: files open at a time, with the connection.
    """

    cpu_seconds: int = 600  # the judge waits for no lesson so long
    memory_bytes: int = 2 * 10**9
    open_files: int = 64


class Worker:
    """A confined process, seen from the nursery; after `with spawn(...) as worker:` it is gone.

    Attributes:
        pid: its number.
        connection: our end of its one connection.
    """

    def __init__(self, pid: int, connection: socket.socket, limits: Limits) -> None:
        self.pid = pid
        self.connection = connection
        self._limits = limits
        self._ending: tuple[int, float] | None = None  # status, seconds of processor time
        self._was_stopped = False

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """Stop it now, if it has not ended, and wait until it is gone."""
        self.connection.close()
        if not self._has_ended(os.WNOHANG):
            self._was_stopped = True
            os.kill(self.pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
            self._has_ended()

    def why_it_died(self) -> str:
        """What ended it, once `kill` was called: the rest of a sentence that begins "The code"."""
        status, cpu_seconds = self._ending
        if os.WIFEXITED(status):
            return self._why_it_left(os.WEXITSTATUS(status))
        number = os.WTERMSIG(status)
        spent = number == signal.SIGKILL and cpu_seconds >= self._limits.cpu_seconds
        if spent or number == signal.SIGXCPU:
            return f"used more than {self._limits.cpu_seconds} s of processor time"
        if number != signal.SIGKILL:
            return f"crashed: {signal.strsignal(number)} (signal {number})"
        if self._was_stopped:
            return "did not end by itself and was stopped"
        return "was killed by the system, most likely because the machine ran out of memory"

    def _why_it_left(self, code: int) -> str:
        if code == _OUT_OF_MEMORY:
            return f"needed more than {self._limits.memory_bytes / 1e9:g} GB of memory"
        if code == _NOT_CONFINED:
            return "was not run: its process could not be confined"
        return f"left its process (exit status {code})"

    def _has_ended(self, options: int = 0) -> bool:
        if self._ending is None:
            pid, status, usage = os.wait4(self.pid, options)
            if pid == self.pid:
                self._ending = status, usage.ru_utime + usage.ru_stime
        return self._ending is not None


def missing() -> list[str]:
    """What this machine lacks for a sandbox, in sentences; nothing is missing if it is empty."""
    if sys.platform != "linux":
        return ["The sandbox is made of Linux's own means; this is another system."]
    return [*landlock.missing(), *seccomp.missing()]


def spawn(
    run: Callable[[socket.socket], None], limits: Limits | None = None, confined: bool = True
) -> Worker:
    """Fork a worker that is confined first and then calls `run` with its end of a connection.

    When `run` returns or raises, the worker ends. What it prints goes nowhere. If memory runs out
    where nobody handles it, `why_it_died` says so.

    Args:
        confined: False for code that one trusts as one's own, where there is no sandbox.

    Raises:
        SandboxError: it is to be confined, and this machine lacks something for that.
    """
    limits = limits or Limits()
    rules = _rules() if confined else None
    nursery = os.getpid()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()  # or the worker would not notice when the other side hangs up
        _live(run, theirs, limits, rules, nursery)
    theirs.close()
    return Worker(pid, ours, limits)


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether this is Python's or PyTorch's way to say so."""
    said = str(error)
    by_pytorch = "can't allocate memory" in said or "std::bad_alloc" in said
    return isinstance(error, MemoryError) or by_pytorch


@dataclass(frozen=True)
class _Rules:
    files: int
    system_calls: ctypes.c_void_p


@cache
def _rules() -> _Rules:
    """What all workers of this nursery are held to, prepared once."""
    if lacking := missing():
        raise SandboxError(" ".join(lacking))
    return _Rules(landlock.prepare([*_READABLE, *_installation()]), seccomp.prepare())


def _installation() -> Iterator[str]:
    """The folders of Python's library, of what it links to, and of the installed packages."""
    yield sysconfig.get_path("stdlib")
    yield sysconfig.get_config_var("LIBDIR")
    yield from site.getsitepackages()
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()


def _live(
    run: Callable[[socket.socket], None],
    connection: socket.socket,
    limits: Limits,
    rules: _Rules | None,
    nursery: int,
) -> None:
    """The whole life of a worker, which never returns."""
    code = _NOT_CONFINED
    try:
        if rules is not None:
            _confine(connection.fileno(), limits, rules, nursery)
        code = _FAILED
        run(connection)
        code = _ENDED
    except BaseException as error:
        if code == _FAILED and ran_out_of_memory(error):
            code = _OUT_OF_MEMORY
    finally:
        os._exit(code)


def _confine(connection: int, limits: Limits, rules: _Rules, nursery: int) -> None:
    """Give everything up but computing and one connection."""
    import resource

    libc = ctypes.CDLL(None, use_errno=True)
    os.setsid()  # no terminal, and its Ctrl-C is not for a worker
    _succeed(libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0))
    if os.getppid() != nursery:
        os._exit(_NOT_CONFINED)  # it died just before

    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    _close_all_but(0, 1, 2, connection, rules.files)  # looking for them takes one more

    memory = mapped_bytes() + limits.memory_bytes
    for name, soft, hard in (
        ("RLIMIT_AS", memory, memory),
        ("RLIMIT_CPU", limits.cpu_seconds, limits.cpu_seconds + 1),  # soft can be ignored
        ("RLIMIT_NOFILE", limits.open_files, limits.open_files),
        ("RLIMIT_FSIZE", 0, 0),
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_NPROC", 0, 0),  # does not bind root; seccomp does
    ):
        resource.setrlimit(getattr(resource, name), (soft, hard))

    _succeed(libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    landlock.enter(rules.files)
    os.close(rules.files)
    _drop_capabilities(libc)
    _succeed(libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0))  # no core dump, whoever collects them
    seccomp.enter(rules.system_calls)


def mapped_bytes() -> int:
    """The address space of this process: PyTorch maps gigabytes that it never touches."""
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _close_all_but(*kept: int) -> None:
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor not in kept:
            with suppress(OSError):  # the one that listed them is closed already
                os.close(descriptor)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Root without capabilities is anyone; see capset(2)."""
    version_and_process = (ctypes.c_uint32 * 2)(0x20080522, 0)
    none = (ctypes.c_uint32 * 6)()
    _succeed(libc.capset(version_and_process, none))


def _succeed(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
