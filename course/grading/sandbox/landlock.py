"""Landlock: the Linux kernel lets a process give up, for good, all files but those that it names.

It needs no privileges. See https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from course.grading.sandbox import seccomp

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture

_READ_FILE = 1 << 2
_READ_DIR = 1 << 3
_SET_NO_NEW_PRIVILEGES = 38  # prctl(2)


class _Ruleset(ctypes.Structure):
    """A bit for each kind of access that is forbidden unless a rule allows it."""

    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("other_processes", ctypes.c_uint64),
    )


class _Rule(ctypes.Structure):
    """A rule: the access that stays allowed in a folder and all beneath it, or for one file."""

    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("folder", ctypes.c_int32))


def missing() -> list[str]:
    """Return what this machine lacks, in sentences."""
    if _version() > 0:
        return []
    return [
        "The kernel has no Landlock, which blocks access to files. It needs Linux 5.13 or newer, "
        "with landlock among its security modules, and a container that allows its calls."
    ]


def prepare(readable: Iterable[str | Path] | None = None) -> int:
    """Write the rules down: these files and folders may be read, and nothing else may be opened.

    Args:
        readable: if there are none given, all files may be read.

    Returns:
        A file descriptor, for `enter`.

    Raises:
        OSError: the kernel refused.
    """
    allowed = _READ_FILE | _READ_DIR if readable is None else 0
    version = _version()  # newer kernels know more kinds of access
    kinds_of_files = 13 + (version >= 2) + (version >= 3) + (version >= 5)
    forbidden = _Ruleset(
        files=((1 << kinds_of_files) - 1) & ~allowed,
        network=0b11 if version >= 4 else 0,  # to bind and to connect TCP sockets
        other_processes=0b11 if version >= 6 else 0,  # abstract sockets and signals
    )
    ruleset = seccomp.system_call(
        _CREATE_RULESET, ctypes.byref(forbidden), ctypes.sizeof(forbidden), 0
    )
    for path in filter(os.path.exists, readable or ()):
        _allow_reading(ruleset, path)
    return ruleset


def enter(ruleset: int) -> None:
    """Give up what the rules forbid, for ever, and any privileges that programs would give.

    Raises:
        OSError: the kernel refused.
    """
    seccomp.system_call("prctl", _SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    seccomp.system_call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow_reading(ruleset: int, path: str | Path) -> None:
    access = _READ_FILE | _READ_DIR if os.path.isdir(path) else _READ_FILE
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = _Rule(access=access, folder=opened)
        seccomp.system_call(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
    finally:
        os.close(opened)


def _version() -> int:
    """Return the version of Landlock in this kernel, 0 if there is none."""
    try:
        return seccomp.system_call(_CREATE_RULESET, None, 0, 1)
    except OSError:
        return 0
