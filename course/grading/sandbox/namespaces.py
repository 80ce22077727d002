"""Linux namespaces: a view of the machine with no other processes, no network and few files in it.

They take away what Landlock and seccomp leave: what `stat` tells of a file of a known name, and
what /proc tells of others. Where an ordinary user may not make any, as in many containers, the
sandbox does without. What is used here: namespaces(7), user_namespaces(7), pivot_root(2).
"""

import ctypes
import os
import signal
from collections.abc import Iterable

from course.grading.sandbox import seccomp

_MOUNTS, _IPC, _USER, _PROCESSES, _NETWORK = 0x20000, 1 << 27, 1 << 28, 1 << 29, 1 << 30
_ALL_BUT_USER = _MOUNTS | _IPC | _PROCESSES | _NETWORK
_BIND, _RECURSIVE, _PRIVATE = 1 << 12, 1 << 14, 1 << 18
_DETACH = 2  # of umount2(2)
_NEW_ROOT = "/proc"
"""Where the new root is put together: it must contain no file that is needed."""


def enter(readable: Iterable[str]) -> bool:
    """Enter new namespaces, in which these files and folders are all that there is.

    Processes that are started from now on see one another alone. This process must have a single
    thread.

    Returns:
        Whether that was possible; if not, all is as it was.
    """
    places = sorted({path for given in readable for path in (given, os.path.realpath(given))})
    places = [*filter(os.path.exists, places), os.devnull]
    for flags in (_ALL_BUT_USER, _ALL_BUT_USER | _USER):  # the first is for root
        if _works(flags, places):
            unshare_and_mount(flags, places)
            _start_first_process()
            return True
    return False


def _works(flags: int, places: list[str]) -> bool:
    """Test it in a process that is thrown away."""
    pid = os.fork()
    if pid == 0:
        try:
            unshare_and_mount(flags, places)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def unshare_and_mount(flags: int, places: list[str]) -> None:
    user, group = os.geteuid(), os.getegid()
    seccomp.system_call("unshare", flags)
    if flags & _USER:
        for file, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{file}", "w", encoding="ascii") as opened:
                opened.write(text)
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _mount("none", _NEW_ROOT, "tmpfs", 0, "size=1m,mode=755")
    for place in places:
        inside = f"{_NEW_ROOT}{place}"
        if os.path.isdir(place):
            os.makedirs(inside, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(inside), exist_ok=True)
            os.close(os.open(inside, os.O_CREAT | os.O_RDONLY))
        _mount(place, inside, None, _BIND | _RECURSIVE)
    os.makedirs(f"{_NEW_ROOT}/tmp", exist_ok=True)  # Matplotlib asks for it, and gets no further
    old = f"{_NEW_ROOT}/old"
    os.mkdir(old)
    seccomp.system_call("pivot_root", _NEW_ROOT.encode(), old.encode())
    os.chdir("/")
    seccomp.system_call("umount2", b"/old", _DETACH)
    os.rmdir("/old")


def _start_first_process() -> None:
    """Start the process with which the namespace of processes begins; it ends with this one."""
    ended, _ = os.pipe()  # the other end is open as long as this process lives
    if os.fork() == 0:
        os.closerange(0, ended)
        os.closerange(ended + 1, MAX_OPEN)
        os.read(ended, 1)
        os._exit(0)
    os.close(ended)


MAX_OPEN = 1 << 16
"""No process of grading has a file with a higher number."""


def end_with_parent(parent: int) -> bool:
    """Have the kernel kill this process when its parent ends.

    Args:
        parent: its number, as this process sees it.

    Returns:
        Whether it still lives: it may just have ended.
    """
    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
    return os.getppid() == parent


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    seccomp.system_call("mount", *texts[:3], flags, texts[3])
