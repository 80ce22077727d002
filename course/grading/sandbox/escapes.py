"""Escapes: functions that each try to get out of the sandbox, from inside a worker.

Each returns what it got hold of, and raises what refused it. Outside of a sandbox they succeed, and
do no harm; the tests see to that. `self_test.py` makes the attempts.
"""

import contextlib
import ctypes
import errno
import mmap
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import root
from course.grading.sandbox import seccomp
from course.grading.sandbox.sandbox import ENVIRONMENT


@dataclass(frozen=True)
class Attempt:
    """One escape, to be tried.

    Attributes:
        sentence: what is attempted: "to ...".
        act: does it.
        refusal: what `act` raises where it is refused; anything else is a broken attempt.
        endless: `act` never returns; it is refused if nothing is left after a `kill`.
        needs_namespaces: it is tried only where workers live in namespaces, which refuse it.
    """

    sentence: str
    act: Callable[[], str]
    refusal: type[Exception] | tuple[type[Exception], ...] = (PermissionError, FileNotFoundError)
    endless: bool = False
    needs_namespaces: bool = False


ATTEMPTS: list[Attempt] = []


def attempt(sentence: str, **options: Any) -> Callable[[Callable[[], str]], None]:
    """Make a function an attempt, as its decorator."""
    return lambda act: ATTEMPTS.append(Attempt(sentence, act, **options))


# --- files ----------------------------------------------------------------------------------


def _read(path: str | Path) -> str:
    return f"read {len(Path(path).read_bytes())} bytes of {path}"


def _write(folder: str | Path, count: int) -> str:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        return f"wrote {file.write(bytes(count))} bytes to {folder}"


attempt("read the reference solutions")(lambda: _read(root() / "solutions" / "rope.py"))
attempt("read the graded tests")(lambda: _read(root() / "tests" / "test_rope.py"))
attempt("read the grader")(lambda: _read(__file__))
attempt("look around in the root folder")(lambda: f"found {os.listdir('/')}")
attempt("read the list of users")(lambda: _read("/etc/passwd"))
attempt("write to the folder for temporary files")(lambda: _write("/tmp", 1))
attempt("write to the course")(lambda: _write(root(), 1))
attempt("write to shared memory")(lambda: _write("/dev/shm", 1))
attempt("begin to fill the disk")(lambda: _write("/var/tmp", 20_000_000))
attempt("see whether the reference solutions are there", needs_namespaces=True)(
    lambda: f"{os.stat(root() / 'solutions' / 'rope.py').st_size} bytes"
)
attempt("see whether the list of users is there", needs_namespaces=True)(
    lambda: f"{os.stat('/etc/passwd').st_size} bytes"
)
attempt("see when somebody logged in last", needs_namespaces=True)(
    lambda: f"/run was changed at {os.stat('/run').st_mtime}"
)


@attempt("make a file that lives in memory only")
def _memory_file() -> str:
    with open(os.memfd_create("hidden"), "wb") as file:
        return f"wrote {file.write(bytes(1000))} bytes"


@attempt("make a thousand files")
def _thousand() -> str:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        for number in range(1000):
            Path(folder, str(number)).touch()
        return "made them"


@attempt("open a file of the installed Python for writing")
def _tamper() -> str:
    os.close(os.open(os.__file__, os.O_WRONLY | os.O_APPEND))
    return f"opened {os.__file__}"


@attempt("change the permissions of the installed Python")
def _permissions() -> str:
    os.chmod(os.__file__, os.stat(os.__file__).st_mode)
    return f"set those of {os.__file__}"


@attempt("use a file that the fork server had open")
def _inherited() -> str:
    usable = []
    for number in range(4096):
        with contextlib.suppress(OSError):
            os.fstat(number)
            usable.append(number)
    # nothing stands behind the first three; a fourth is the connection
    if len(usable) <= 4:
        raise PermissionError(f"only {len(usable)} are open")
    return f"found {len(usable)} open: {usable}"


# --- other processes ------------------------------------------------------------------------

attempt("list the other processes")(
    lambda: f"found {len([name for name in os.listdir('/proc') if name.isdigit()])}"
)
attempt("see whether another process is there", needs_namespaces=True)(
    lambda: f"process 1 is owned by {os.stat('/proc/1').st_uid}"
)
attempt("read the parent's environment")(lambda: _read(f"/proc/{os.getppid()}/environ"))
attempt("see which folder the parent works in")(lambda: os.readlink(f"/proc/{os.getppid()}/cwd"))
attempt("trace the parent")(
    lambda: _system_call("ptrace", 0x4206, os.getppid(), 0, 0)  # PTRACE_SEIZE: does not stop it
)
attempt("send a signal to the parent")(lambda: f"sent it: {os.kill(os.getppid(), 0)}")
attempt("send a signal to everyone")(lambda: f"sent it: {os.kill(-1, 0)}")


@attempt("learn the number of the parent", needs_namespaces=True)
def _parent() -> str:
    if os.getppid() == 0:
        raise PermissionError("it is outside")
    return f"it is {os.getppid()}"


@attempt("find the environment that the fork server was started with, in memory")
def _environment_in_memory() -> str:
    libc = ctypes.CDLL(None)
    libc.getauxval.restype = ctypes.c_void_p
    name_of_program = libc.getauxval(31)  # the environment stands right below it on the stack
    strings = ctypes.string_at(name_of_program - 1000, 1000).split(b"\0")
    names = {string.split(b"=")[0].decode(errors="replace") for string in strings if b"=" in string}
    # random bytes stand there, too: by chance they look like a variable with a short name
    unknown = {name for name in names if name.isidentifier() and len(name) > 2} - ENVIRONMENT.keys()
    if not unknown:
        raise PermissionError("nothing but the variables that everyone has")
    return f"found {sorted(unknown)}"


@attempt("open the parent's memory")
def _parents_memory() -> str:
    with open(f"/proc/{os.getppid()}/mem", "rb") as file:
        return f"opened {file.name}"


@attempt("have the kernel send a signal to the parent")
def _signal_by_owner() -> str:
    import fcntl

    with open(os.__file__, "rb") as file:
        fcntl.fcntl(file, fcntl.F_SETOWN, os.getppid())
    return "it would tell the parent about a file"


@attempt("move the parent to another processor")
def _affinity() -> str:
    os.sched_setaffinity(os.getppid(), os.sched_getaffinity(os.getppid()))
    return "placed it"


# --- new processes and programs -------------------------------------------------------------


@attempt("fork")
def _fork() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return f"forked process {child}"


@attempt("leave the session and survive")
def _survive() -> str:
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.alarm(1)
        signal.pause()
    return f"process {child} lives on"


@attempt("start a thread", refusal=RuntimeError)
def _thread() -> str:
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
    return "started it"


@attempt("run a shell")
def _shell() -> str:
    return subprocess.run(["/bin/sh", "-c", "echo $$"], capture_output=True, text=True).stdout


@attempt("become another program")
def _exec() -> str:
    with contextlib.suppress(FileNotFoundError):
        os.execv("/no/such/program", ["program"])
    return "only the program was not found"


# --- the network ----------------------------------------------------------------------------


@attempt("listen, and open a TCP connection")
def _tcp() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=1).close()
        return f"connected to port {server.getsockname()[1]}"


@attempt("send a UDP datagram")
def _udp() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        return f"sent {sender.sendto(b'hello', ('127.0.0.1', 9))} bytes"


@attempt("bind an abstract Unix socket")
def _abstract() -> str:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0escape {os.getpid()}")
        return f"bound {server.getsockname()}"


@attempt("ask the kernel about the network")
def _netlink() -> str:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as asking:
        asking.bind((0, 0))
        return f"bound {asking.getsockname()}"


# --- resources and privileges ---------------------------------------------------------------


@attempt("map 100 GB of memory", refusal=OSError)
def _memory() -> str:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE: as good as free
    with mmap.mmap(-1, 100 * 10**9, flags=flags) as block:
        return f"mapped {len(block)} bytes"


@attempt("raise its own limit on processor time", refusal=ValueError)
def _raise_limit() -> str:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_CPU)[1]
    more = limit if limit == resource.RLIM_INFINITY else limit + 10
    resource.setrlimit(resource.RLIMIT_CPU, (more, more))
    return f"set it to {more}"


attempt("become root of a namespace of its own")(
    lambda: _system_call("unshare", 0x10000000)  # CLONE_NEWUSER
)


@attempt("call what no exercise needs")
def _rare_calls() -> str:
    """Try calls with nonsense arguments, enough to see what is let through; none does anything."""
    let_through = []
    for name in RARE_CALLS.split():
        try:
            _system_call(name, -1, -1, -1, -1, -1)
        except PermissionError:
            continue
        except OSError as error:
            if error.errno == errno.ENOSYS:
                continue
        let_through.append(name)
    if not let_through:
        raise PermissionError("every one of them is refused")
    return f"was let through to {', '.join(let_through)}"


RARE_CALLS = (
    "add_key bpf clone3 execveat fanotify_init inotify_init1 io_uring_setup keyctl "
    "landlock_create_ruleset mknodat mount move_mount move_pages name_to_handle_at open_tree "
    "openat2 perf_event_open pidfd_getfd pidfd_open pidfd_send_signal pipe2 prctl process_madvise "
    "process_vm_readv process_vm_writev request_key rt_sigqueueinfo seccomp setns setpriority "
    "setxattr shmget socketpair splice symlinkat tgkill timer_create truncate userfaultfd utimensat"
)


@attempt("loop for ever, deaf to every signal", endless=True)
def _deaf() -> str:
    _refuse_signals()
    while True:
        sum(range(10**9))  # one long call into C


@attempt("sleep for ever, deaf to every signal", endless=True)
def _asleep() -> str:
    _refuse_signals()
    while True:
        time.sleep(10**6)


def _refuse_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):  # the C library keeps two for itself
            signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def _system_call(name: str, *arguments: int) -> str:
    return f"it returned {seccomp.system_call(name, *arguments)}"
