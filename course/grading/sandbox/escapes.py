"""Escapes from the sandbox, each with what it attempts: "to ...".

`self_test.py` hands this text to a worker, as if it were a student's, and has all attempts made
there. Each returns what it got hold of, or raises what refused it. Outside of a sandbox they
succeed, and do no harm; the tests see to that.
"""

import _thread  # noqa: PLC2701, because `threading` reports its starts
import contextlib
import ctypes
import errno
import importlib
import mmap
import os
import socket
import subprocess
import tempfile
from pathlib import Path

RARE_CALLS = (
    "add_key bpf clone3 execve execveat fanotify_init inotify_init1 io_uring_setup keyctl "
    "landlock_create_ruleset memfd_create mknodat mount move_mount move_pages name_to_handle_at "
    "open_tree openat2 perf_event_open pidfd_getfd pidfd_open pidfd_send_signal pipe2 prctl "
    "process_madvise process_vm_readv process_vm_writev ptrace request_key rt_sigqueueinfo "
    "sched_setaffinity seccomp setns setpriority setxattr shmget socket socketpair splice "
    "symlinkat tgkill timer_create truncate unshare userfaultfd utimensat"
)
"""What no exercise needs."""


def attempt(sentence: str, course: str) -> str:
    """Make an attempt; return what it got hold of.

    Args:
        course: the folder of the course.
    """
    return f"got hold of {str(ATTEMPTS[sentence](course))[:100]}"


def _read(path: str) -> bytes:
    return Path(path).read_bytes()


def _write(folder: str) -> str:
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(b"1")
        return file.name


def _inherited(_: str) -> list[int]:
    usable = []
    for number in range(4096):
        with contextlib.suppress(OSError):
            os.fstat(number)
            usable.append(number)
    # the first three lead nowhere; a fourth is the connection
    if len(usable) <= 4:
        raise PermissionError(f"only {len(usable)} are open")
    return usable


def _environment_in_memory(course: str) -> set[str]:
    known = importlib.import_module("course.grading.sandbox.sandbox").ENVIRONMENT
    libc = ctypes.CDLL(None)
    libc.getauxval.restype = ctypes.c_void_p
    name_of_program = libc.getauxval(31)  # the environment is right below it on the stack
    strings = ctypes.string_at(name_of_program - 1000, 1000).split(b"\0")
    names = {string.split(b"=")[0].decode(errors="replace") for string in strings if b"=" in string}
    # random bytes are there, too: by chance they look like a variable with a short name
    unknown = {name for name in names if name.isidentifier() and len(name) > 2} - {*known}
    if not unknown:
        raise PermissionError("only the variables that everyone has")
    return unknown


def _signal_by_owner(_: str) -> None:
    import fcntl

    with open(os.__file__, "rb") as file:
        fcntl.fcntl(file, fcntl.F_SETOWN, os.getppid())


def _fork(_: str) -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def _start_thread(_: str) -> None:
    _thread.start_new_thread(int, ())


def _tcp(_: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=1).close()


def _memory(_: str) -> int:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE: as good as free
    with mmap.mmap(-1, 100 * 10**9, flags=flags) as block:
        return len(block)


def _raise_limit(_: str) -> None:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_CPU)[1]
    more = limit if limit == resource.RLIM_INFINITY else limit + 10
    resource.setrlimit(resource.RLIMIT_CPU, (more, more))


def _let_through(names: str, *arguments: int) -> list[str]:
    """Try calls with nonsense arguments, enough to see what is let through; none does anything."""
    seccomp = importlib.import_module("course.grading.sandbox.seccomp")
    found = []
    for name in names.split():
        try:
            seccomp.system_call(name, *arguments)
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
                continue
        found.append(name)
    if not found:
        raise PermissionError("every one of them is refused")
    return found


SEE_A_NAME = "see whether a file of a known name is there"
"""What namespaces alone refuse."""

ATTEMPTS = {
    "read the graded tests": lambda course: _read(f"{course}/tests/test_rope.py"),
    "read the grader": lambda course: _read(f"{course}/course/grading/sandbox/sandbox.py"),
    "look around in the root folder": lambda _: os.listdir("/"),
    "read the list of users": lambda _: _read("/etc/passwd"),
    SEE_A_NAME: lambda course: os.stat(f"{course}/tests/test_rope.py"),
    "write to the folder for temporary files": lambda _: _write("/tmp"),
    "write to the course": _write,
    "write to shared memory": lambda _: _write("/dev/shm"),
    "open a file of the installed Python for writing": lambda _: os.close(
        os.open(os.__file__, os.O_WRONLY | os.O_APPEND)
    ),
    "change the permissions of the installed Python": lambda _: os.chmod(
        os.__file__, os.stat(os.__file__).st_mode
    ),
    "use a file that the fork server had open": _inherited,
    "list the other processes": lambda _: os.listdir("/proc"),
    "read the parent's environment": lambda _: _read(f"/proc/{os.getppid()}/environ"),
    "see which folder the parent works in": lambda _: os.readlink(f"/proc/{os.getppid()}/cwd"),
    "find the environment that the fork server was started with": _environment_in_memory,
    "send a signal to the parent": lambda _: os.kill(os.getppid(), 0),
    "have the kernel send a signal to the parent": _signal_by_owner,
    "fork": _fork,
    "start a thread": _start_thread,
    "run a shell": lambda _: subprocess.run(["/bin/sh", "-c", "true"]),
    "listen, and open a TCP connection": _tcp,
    "send out-of-band data": lambda _: _let_through(  # the kernel looks at the flags first
        "sendto recvfrom", -1, 0, 0, socket.MSG_OOB, 0, 0
    ),
    "map 100 GB of memory": _memory,
    "raise its own limit on processor time": _raise_limit,
    "call what no exercise needs": lambda _: _let_through(RARE_CALLS, -1, -1, -1, -1, -1),
}
