"""seccomp: the Linux kernel lets a process give up, for good, all system calls but a few.

The list has what arithmetic in Python and PyTorch needs; everything else, and whatever a
later kernel invents, is refused as "Operation not permitted". The filter is put together by
libseccomp (https://github.com/seccomp/libseccomp), which knows the numbers of the calls on every
architecture and closes the side doors (32-bit calls, x32).
"""

import ctypes
import os
from functools import cache

MEMORY = "brk madvise mmap mprotect mremap munmap"
FILES = (
    "access close dup dup2 dup3 faccessat faccessat2 fstat getcwd getdents64 lseek lstat "
    "newfstatat pread64 preadv read readlink readlinkat readv stat statx write writev"
)
CONNECTION = "poll ppoll pselect6 select shutdown"
TIME = "clock_getres clock_gettime clock_nanosleep gettimeofday nanosleep time"
ABOUT_ITSELF = (
    "getcpu getegid geteuid getgid getpid getppid getrandom getrlimit getrusage gettid getuid "
    "sched_getaffinity sched_yield sysinfo times uname"
)
RUNNING = (
    "arch_prctl exit exit_group futex membarrier restart_syscall rseq rt_sigaction "
    "rt_sigprocmask rt_sigreturn set_robust_list sigaltstack"
)
REFUSED_TO_JUDGE = (
    "accept accept4 add_key bind bpf chmod chown chroot connect execve execveat fchmod fchmodat "
    "fchown fchownat fsetxattr futimesat init_module io_uring_setup kexec_load keyctl kill lchown "
    "listen lsetxattr mount move_mount open_tree perf_event_open pidfd_getfd pidfd_send_signal "
    "pivot_root process_vm_readv process_vm_writev ptrace reboot request_key rt_sigqueueinfo "
    "setns setxattr socket tkill umount2 unshare userfaultfd utime utimensat utimes"
)
"""Network, programs, other processes, and what Landlock does not know of files."""

_EQUAL, _MASKED_EQUAL = 4, 7
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 + 1  # 1 is EPERM


class _Condition(ctypes.Structure):
    """A condition: the call is allowed if its argument of this number, masked, has this value."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("comparison", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def missing() -> list[str]:
    """Return what this machine lacks, in sentences."""
    sentences = []
    if ctypes.CDLL(None).prctl(21, 0, 0, 0, 0) < 0:  # PR_GET_SECCOMP
        sentences.append("The kernel has no seccomp, which blocks system calls.")
    try:
        libseccomp()
    except OSError:
        sentences.append(
            "The library libseccomp.so.2 is not installed; "
            "on Debian and Ubuntu: apt install libseccomp2."
        )
    return sentences


def prepare() -> ctypes.c_void_p:
    """Put the filter together.

    Returns:
        The filter, for `enter`.

    Raises:
        OSError: libseccomp refused.
    """
    import fcntl
    import termios

    filter_ = ctypes.c_void_p(libseccomp().seccomp_init(_REFUSE))
    for names in (MEMORY, FILES, CONNECTION, TIME, ABOUT_ITSELF, RUNNING):
        for name in names.split():
            _add(filter_, _ALLOW, name)
    # Files are opened to be read. A filter sees no names of files: those are Landlock's.
    changing = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC
    _add(filter_, _ALLOW, "openat", _Condition(2, _MASKED_EQUAL, changing, os.O_RDONLY))
    # fcntl could make the kernel send signals (F_SETOWN) or lock files that others need.
    for name in ["DUPFD", "DUPFD_CLOEXEC", "GETFD", "SETFD", "GETFL", "SETFL"]:
        _add(filter_, _ALLOW, "fcntl", _Condition(1, _EQUAL, getattr(fcntl, f"F_{name}")))
    for command in (termios.TCGETS, termios.FIOCLEX, termios.FIONCLEX, termios.FIONBIO):
        _add(filter_, _ALLOW, "ioctl", _Condition(1, _EQUAL, command))
    # No flags, such as MSG_OOB, for which the wire has no use, and no address but the other end.
    _add(filter_, _ALLOW, "recvfrom", _Condition(3, _EQUAL, 0))
    _add(filter_, _ALLOW, "sendto", _Condition(3, _EQUAL, 0), _Condition(4, _EQUAL, 0))
    # Its own limits are to be read: with less, it would end as if the machine had ended it.
    _add(filter_, _ALLOW, "prlimit64", _Condition(0, _EQUAL, 0), _Condition(2, _EQUAL, 0))
    return filter_


def prepare_judge() -> ctypes.c_void_p:
    """Put the filter of a judge together, which refuses some calls and allows all others.

    Returns, raises: as `prepare`.
    """
    filter_ = ctypes.c_void_p(libseccomp().seccomp_init(_ALLOW))
    for name in REFUSED_TO_JUDGE.split():
        _add(filter_, _REFUSE, name)
    return filter_


def enter(filter_: ctypes.c_void_p) -> None:
    """Give up every other system call, for ever.

    Raises:
        OSError: the kernel refused.
    """
    libseccomp().seccomp_load(filter_)


def number(name: str) -> int:
    """Return the number of a system call on this architecture; negative if it has none."""
    return libseccomp().seccomp_syscall_resolve_name(name.encode())


def system_call(call: int | str, *arguments: object) -> int:
    """Make a system call, of this number or name; return what it returns.

    Raises:
        OSError: it was refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    values = [number(call) if isinstance(call, str) else call, *arguments]
    wide = [ctypes.c_long(each) if isinstance(each, int) else each for each in values]
    result = libc.syscall(*wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _add(filter_: ctypes.c_void_p, action: int, name: str, *conditions: _Condition) -> None:
    if number(name) < 0:
        return  # an old call that this architecture never had, or one that is newer than libseccomp
    array = (_Condition * len(conditions))(*conditions)
    libseccomp().seccomp_rule_add_array(filter_, action, number(name), len(conditions), array)


def _checked(result: int, function: object, arguments: tuple) -> int:
    """Raise the `OSError` that a call of libseccomp returned, if it returned one."""
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result


@cache
def libseccomp() -> ctypes.CDLL:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = pointer = ctypes.c_void_p
    library.seccomp_init.argtypes = [ctypes.c_uint32]
    library.seccomp_load.argtypes = [pointer]
    add = library.seccomp_rule_add_array
    add.argtypes = [pointer, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, pointer]
    add.errcheck = library.seccomp_load.errcheck = _checked
    return library
