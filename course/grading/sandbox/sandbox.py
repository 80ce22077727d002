"""A process for a stranger's code, which can only compute and answer its one connection.

A *fork server* is a process with a single thread that has imported what workers need and that knows
no secrets. `spawn` forks a worker from it. Before the worker runs anything of a student's, it
gives up for good

- all files but those of the installed Python, to be read: nothing can be written (Landlock, and
  again seccomp);
- all system calls but some seventy: no network, no new process or thread, no signals, no other
  program, nothing that changes the machine (seccomp, and for some again Landlock);
- more memory, processor time and open files than its limits allow (rlimits);
- privileges, the environment, the terminal, and all open files but the connection.

A worker is one process with one thread and stays one, so killing it leaves nothing behind. All of
this works the same for root and for anyone, on a laptop and in a container. Where there may be
namespaces, a worker lives in some, too (`namespaces.py`), and does not even learn whether a file of
a known name exists. `self_test.py` tries to break out. What is not hidden: the fork server's own
memory, which every worker inherits. Hence the fork server is *started* with `ENVIRONMENT`, as a
separate process, and never learns anything worth knowing.

The judge, which never runs a student's code but reads its answers, gives up what it does not need
as well: `confine_judge`.
"""

import ctypes
import os
import signal
import site
import socket
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from course.core.memory import available_memory, ran_out_of_memory
from course.grading.sandbox import landlock, namespaces, seccomp

ENVIRONMENT = {
    "HOME": "/",
    "LANG": "C.UTF-8",
    "MALLOC_MMAP_THRESHOLD_": str(2**30),  # memory that is freed is used again, not given
    "MALLOC_TRIM_THRESHOLD_": str(2**30),  # back to be requested again, page by page
    "MPLCONFIGDIR": "/tmp",  # or a module that imports Matplotlib could not be loaded
    "OMP_THREAD_LIMIT": "1",  # PyTorch would die of the threads that it cannot start,
    "OPENBLAS_NUM_THREADS": "1",  # and NumPy would wait for them
    "PATH": "/usr/bin:/bin",
    "USER": "student",  # whoever asks for it
    "TORCHDYNAMO_DISABLE": "1",  # there is no compiler here; what it would compile runs as it is
    "TORCHINDUCTOR_CACHE_DIR": "/",  # or importing an optimizer looks for one to write to
}
"""The environment variables to start a fork server with, and all that a worker has."""

_READABLE = ("/dev/urandom", "/etc/ld.so.cache", "/lib", "/lib64", "/usr/lib", "/usr/lib64")
"""What Python and PyTorch read of the system."""

_SET_DUMPABLE = 4  # prctl(2)
_ENDED, _FAILED, _OUT_OF_MEMORY, _NOT_CONFINED = 0, 1, 77, 78  # exit statuses of a worker
_CONFINED = b"."
"""What a worker says once it is confined, through a pipe that is closed before other code runs."""


class SandboxError(RuntimeError):
    """A reason why nothing can be run in a sandbox; the message is made of sentences."""


@dataclass(frozen=True)
class ProcessLimits:
    """Limits of what one worker may use.

    Attributes:
        cpu_seconds: whole seconds of processor time.
        memory_bytes: memory beyond what the fork server had mapped.
        open_files: files open at a time, with the connection.
    """

    cpu_seconds: int = 900  # the judge waits for no lesson so long
    memory_bytes: int = 2 * 10**9
    open_files: int = 64

    @classmethod
    def for_jobs(cls, jobs: int, available: int | None = None) -> "ProcessLimits":
        """Return limits that this machine can give to so many workers at a time.

        A worker that is killed because the machine has less memory than it was promised would be
        the machine's failure, and a student could choose it.

        Args:
            available: the bytes of memory that are free, if they are not to be asked for.

        Raises:
            SandboxError: there is too little memory for so many jobs.
        """
        try:
            available = available_memory() if available is None else available
        except OSError:
            return cls()
        share = int(0.9 * available / jobs) - _JUDGE_BYTES
        if share < _LEAST_BYTES:
            needed = (_JUDGE_BYTES + _LEAST_BYTES) / 0.9e9
            raise SandboxError(
                f"{available / 1e9:.1f} GB of memory is free, but each of the {jobs} --jobs needs "
                f"{needed:.1f} GB; use fewer jobs, or free some memory."
            )
        return cls(memory_bytes=min(share, cls.memory_bytes))


_JUDGE_BYTES = 400 * 10**6
"""What a judge uses next to its worker."""
_LEAST_BYTES = 600 * 10**6
"""What the references need, with room to spare."""


@dataclass
class Worker(AbstractContextManager):
    """A confined process, seen from the fork server; after `with spawn(...) as worker:` it is gone.

    Attributes:
        pid: its number.
        connection: our end of its one connection.
    """

    pid: int
    connection: socket.socket
    _limits: ProcessLimits
    _confined: int
    _was_confined: bool = False  # as far as to run other code, which can choose how it ends
    _code: int | None = None  # its exit status, or the signal that ended it, negative
    _is_spent: bool = False  # its processor time
    _was_stopped: bool = False

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self, seconds: float = 0.0) -> None:
        """Stop it, if it does not end by itself in so many seconds, and wait until it is gone."""
        self.connection.close()
        end = time.monotonic() + seconds
        while not self._has_ended(os.WNOHANG) and time.monotonic() < end:
            time.sleep(0.001)
        if not self._has_ended(os.WNOHANG):
            self._was_stopped = True
            os.kill(self.pid, signal.SIGKILL)  # not yet waited for, so the number is still its own
            self._has_ended()

    def why_it_ended(self) -> str:
        """Say what ended it, after a `kill`: the rest of a sentence that begins "The code"."""
        number = -self._code
        if self._code == _OUT_OF_MEMORY:
            return f"needed more than {self._limits.memory_bytes / 1e9:g} GB of memory"
        if self._code >= 0 and self._was_confined:
            return f"left its process (exit status {self._code})"
        if self._code >= 0:
            return (
                "was not run: its process could not be confined; if this machine's own limits are "
                "too low, `ulimit -H -a` shows that"
            )
        if number == signal.SIGXCPU or (number == signal.SIGKILL and self._is_spent):
            return f"used more than {self._limits.cpu_seconds} s of processor time"
        if number != signal.SIGKILL:
            return f"crashed: {signal.strsignal(number)} (signal {number})"
        if self._was_stopped:
            return "did not finish and was stopped"
        return "was killed by the system, most likely because the machine ran out of memory"

    @property
    def was_lost(self) -> bool:
        """Test that the machine ended it, or never confined it; its code did nothing for that."""
        was_killed = self._code == -signal.SIGKILL and not (self._was_stopped or self._is_spent)
        return was_killed or not self._was_confined

    def _has_ended(self, options: int = 0) -> bool:
        if self._code is None:
            pid, status, usage = os.wait4(self.pid, options)
            if pid == self.pid:
                self._code = os.waitstatus_to_exitcode(status)
                self._is_spent = usage.ru_utime + usage.ru_stime >= self._limits.cpu_seconds
                self._was_confined = os.read(self._confined, 1) == _CONFINED
                os.close(self._confined)
        return self._code is not None


def missing() -> list[str]:
    """Return what this machine lacks for a sandbox, in sentences."""
    if sys.platform != "linux":
        return ["The sandbox needs Linux, and this is another system."]
    return [*landlock.missing(), *seccomp.missing()]


def require_sandbox() -> None:
    """Make sure that there can be a sandbox: without one, nobody's code is run.

    Raises:
        SandboxError: this machine lacks something for it.
    """
    if lacking := missing():
        raise SandboxError(f"{' '.join(lacking)} Without a sandbox, no student's code is run.")


def spawn(run: Callable[[socket.socket], None], limits: ProcessLimits | None = None) -> Worker:
    """Fork a worker that is confined first and then calls `run` with its end of a connection.

    When `run` returns or raises, the worker ends. What it prints goes nowhere. If memory runs out
    where nobody handles it, `why_it_ended` says so.

    Raises:
        SandboxError: this machine lacks something for a sandbox.
    """
    limits = limits or ProcessLimits()
    rules = rules_for_workers()
    parent = 0 if _in_namespaces else os.getpid()  # as the worker sees it
    ours, theirs = socket.socketpair()
    confined_here, confined_there = os.pipe()
    pid = os.fork()
    if pid == 0:
        ours.close()  # or the worker would not notice when the other side hangs up
        _live(run, theirs, limits, rules, parent, confined_there)
    theirs.close()
    os.close(confined_there)
    return Worker(pid, ours, limits, confined_here)


_in_namespaces = False


def enter_namespaces() -> bool:
    """Let all workers to come live in namespaces, where this machine has some for them.

    Returns:
        Whether it has.
    """
    global _in_namespaces
    rules_for_workers()  # what they need of /proc is not there afterwards
    _in_namespaces = namespaces.enter([*_READABLE, *_installation()])
    return _in_namespaces


@dataclass(frozen=True)
class _Rules:
    """Rules for all workers of a fork server, and the memory that they begin with."""

    files: int
    system_calls: ctypes.c_void_p
    mapped_bytes: int


@cache
def rules_for_workers() -> _Rules:
    """Prepare the rules for all workers of this fork server, once.

    Raises:
        SandboxError: this machine lacks something for a sandbox.
    """
    require_sandbox()
    files = landlock.prepare([*_READABLE, *_installation()])
    return _Rules(files, seccomp.prepare(), mapped_bytes())


def _installation() -> Iterator[str]:
    """Yield the folders of Python's library, of what it links to, and of the installed packages."""
    yield sysconfig.get_path("stdlib")
    yield sysconfig.get_config_var("LIBDIR")
    yield from site.getsitepackages()
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()
    for name in ("torch", "numpy"):  # PYTHONPATH or a .pth file may lead elsewhere
        yield str(Path(find_spec(name).origin).parents[1])


def _live(
    run: Callable[[socket.socket], None],
    connection: socket.socket,
    limits: ProcessLimits,
    rules: _Rules,
    parent: int,
    confined: int,
) -> None:
    """Live the whole life of a worker, and never return."""
    code = _NOT_CONFINED
    try:
        _confine((connection.fileno(), confined), limits, rules, parent)
        os.write(confined, _CONFINED)
        os.close(confined)
        code = _FAILED
        run(connection)
        code = _ENDED
    except BaseException as error:
        if code == _FAILED and ran_out_of_memory(error):
            code = _OUT_OF_MEMORY
    finally:
        os._exit(code)


def _confine(kept: tuple[int, ...], limits: ProcessLimits, rules: _Rules, parent: int) -> None:
    """Give everything up but computing, and these open files."""
    import resource

    os.setsid()  # no terminal, and its Ctrl-C is not for a worker
    if not namespaces.end_with_parent(parent):
        os._exit(_NOT_CONFINED)

    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    os.chdir("/")
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    _close_all_but(0, 1, 2, *kept, rules.files)

    memory = rules.mapped_bytes + limits.memory_bytes
    for name, soft, hard in (
        ("RLIMIT_AS", memory, memory),
        ("RLIMIT_CPU", limits.cpu_seconds, limits.cpu_seconds + 1),  # soft can be ignored
        ("RLIMIT_NOFILE", limits.open_files, limits.open_files),
        ("RLIMIT_FSIZE", 0, 0),
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_NPROC", 0, 0),  # does not bind root; seccomp does
    ):
        resource.setrlimit(getattr(resource, name), (soft, hard))

    landlock.enter(rules.files)
    _drop_capabilities()
    # no core dump for programs that collect them
    seccomp.system_call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)
    seccomp.enter(rules.system_calls)


def confine_judge() -> None:
    """Give up, for good, to change any file, to use the network and to run another program.

    Raises:
        OSError: the kernel refused.
    """
    landlock.enter(landlock.prepare())
    _drop_capabilities()
    seccomp.enter(seccomp.prepare_judge())


def mapped_bytes() -> int:
    """Return the address space of this process: PyTorch maps gigabytes that it never touches."""
    pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _close_all_but(*kept: int) -> None:
    first = 0
    for descriptor in [*sorted(kept), namespaces.MAX_OPEN]:
        if first < descriptor:  # an empty range would be taken for an endless one
            os.closerange(first, descriptor)
        first = descriptor + 1


def _drop_capabilities() -> None:
    """Give up all capabilities, for root without them is anyone; see capset(2)."""
    version_and_process = (ctypes.c_uint32 * 2)(0x20080522, 0)
    none = (ctypes.c_uint32 * 6)()
    seccomp.system_call("capset", version_and_process, none)
