"""Notice student code that would pass without being right: it ends the run, or borrows answers.

This is no sandbox. Whoever is determined gets around it, in a process of their own and for a board
that only they see; it keeps accidents from looking like an honest pass. What counts for a grade
runs elsewhere.
"""

import contextlib
import errno
import functools
import inspect
import os
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import torch

from course import root
from course.core import answers
from course.testing.outcomes import Wrong


class Borrowed(Wrong):
    """A use of answers that are not the student's."""


@contextlib.contextmanager
def guarded(who: str, loaded: str = "") -> Iterator[None]:
    """Keep the process alive, and the solutions closed, while a student's code runs.

    Args:
        who: what runs, as messages call it.
        loaded: the file that is loaded, if one is.

    Raises:
        Wrong: the code tried to end the process, or loaded the solutions.
    """
    _watch_files()
    n_modules = len(sys.modules)
    _watched.append((who, os.path.realpath(loaded)))
    leave, process = os._exit, os.getpid()

    def stay(status: int) -> None:
        if os.getpid() != process:  # a child process may leave
            leave(status)
        raise Wrong(f"{who} called os._exit({status}), which ends the whole run; take that out")

    os._exit = stay
    try:
        yield
    finally:
        _watched.pop()
        os._exit = leave
    if len(sys.modules) > n_modules:
        loaded = list(sys.modules)[n_modules:]  # in the order of loading
        if any(name.partition(".")[0] == "solutions" for name in loaded):
            raise Borrowed(_BORROWS.format(who))


_watched: list[tuple[str, str]] = []
"""Whose code is running, the innermost last, and the file that is loaded."""


student_files: set[str] = set()
"""The files that were loaded as a student's, as their code names them."""


@functools.cache
def _watch_files() -> None:
    """Refuse from now on to student code what it gets wherever it may be graded.

    That is: to open a file with answers, and what the sandbox refuses. So what passes here passes
    there. Libraries may do what they like while they are imported.
    """
    os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")  # nothing is compiled there: it runs as it is
    places = os.path.realpath(root() / "solutions") + os.sep, os.path.realpath(answers.pack())

    def refuse(event: str, args: tuple) -> None:
        if not _watched:
            return
        if event == "open":
            if not isinstance(args[0], str | bytes | os.PathLike):
                return
            (who, loaded), path = _watched[-1], os.path.realpath(os.fsdecode(args[0]))
            if (path + os.sep).startswith(places) and path != loaded:
                raise Borrowed(_BORROWS.format(who))
            if _is_missed(path, *args[1:3]) and _is_of_student():
                raise FileNotFoundError(errno.ENOENT, NO_FILES, args[0])
            if not _writes(*args[1:3]):
                return
        elif event not in _REFUSED and not event.startswith("socket."):
            return
        if _is_of_student():
            raise PermissionError(REFUSED)

    sys.addaudithook(refuse)
    for place, what in _UNREPORTED.items():
        _report(*place.rsplit(".", 1), *what)


def _report(owner: str, name: str, event: str, mode: str = "") -> None:
    """Have a function report its calls: Python reports nothing of what happens in C++."""
    of_owner = pkgutil.resolve_name(owner)
    function = getattr(of_owner, name, None)
    if function is None:  # on Windows
        return

    @functools.wraps(function)
    def reporting(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        files = [one for one in given if isinstance(one, str | os.PathLike)]
        is_shared = any(one is True for one in given)  # what is written goes to the file
        if files or not mode:
            sys.audit(event, *files[:1], "wb" if is_shared else mode, 0)
        return function(*args, **kwargs)

    setattr(of_owner, name, reporting)


REFUSED = (
    "code may not change files, run programs, start threads, use the network or send signals "
    "where it is graded"
)
NO_FILES = "No such file where it is graded"

_REFUSED = {
    *("_thread.start_new_thread", "os.chmod", "os.exec", "os.fork", "os.forkpty", "os.kill"),
    *("os.killpg", "os.link", "os.listdir", "os.mkdir", "os.posix_spawn", "os.remove"),
    *("os.rename", "os.rmdir", "os.scandir", "os.symlink", "os.system", "os.truncate", "os.utime"),
    *("signal.pthread_kill", "sqlite3.connect", "subprocess.Popen"),
}
"""Events that Python reports: https://docs.python.org/3/library/audit_events.html."""

_UNREPORTED = {
    "torch._C.PyTorchFileWriter": ("open", "wb"),  # of `torch.save` and `torch.export.save`
    "torch._C.ScriptModule.save": ("open", "wb"),  # of `torch.jit.save`
    "torch.from_file": ("open", "rb"),
    "torch.UntypedStorage.from_file": ("open", "rb"),
    "os.mkfifo": ("open", "wb"),
    "_thread.start_new_thread": ("_thread.start_new_thread",),  # Python 3.11 does not report it
    "threading._start_new_thread": ("_thread.start_new_thread",),
}
"""What Python does not report, and what is reported for it: the event, and the mode of a file."""


def _writes(mode: str | None, flags: int) -> bool:
    if mode is not None:
        return bool(set(mode).intersection("wax+"))
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND))


def _is_missed(path: str, mode: str | None, flags: int) -> bool:
    """Return whether a file beside the course's code would not be there where that is graded."""
    here, installed = (os.path.realpath(one) + os.sep for one in (root(), sys.prefix))
    if not path.startswith(here) or path.startswith(installed) or _writes(mode, flags):
        return False
    is_code = path.endswith(".pyc") or path in map(os.path.realpath, student_files)
    return not is_code and os.path.isfile(path)


def _is_of_student() -> bool:
    """Return whether it is a student's code that wants something, and no import of a library."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file in student_files:
            return True
        if file.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return False


_BORROWS = "{} takes its answers from solutions/; what you write yourself is what counts"


# --- settings of PyTorch --------------------------------------------------------------------


@contextlib.contextmanager
def settings_unchanged(who: str) -> Iterator[None]:
    """Expect a block to leave alone what all of PyTorch shares; what it changed is changed back.

    Args:
        who: what runs, as messages call it.

    Raises:
        Wrong: the seed, the default dtype or the recording of gradients was changed.
    """
    before = seed, dtype, gradients = _settings()
    yield
    if (after := _settings()) == before:
        return
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(gradients)
    if after[0] != seed:
        raise Wrong(
            f"{who} calls torch.manual_seed; leave the seed to the caller, or everything drawn "
            "afterwards is the same each time"
        )
    raise Wrong(f"{who} changes a setting of PyTorch (default dtype or gradients) for everyone")


@contextlib.contextmanager
def settings_restored() -> Iterator[None]:
    """Undo what a block changes of what all of PyTorch shares, also what it draws."""
    _, dtype, gradients = _settings()
    drawn, n_threads = torch.get_rng_state(), torch.get_num_threads()
    device = torch.get_default_device()
    try:
        yield
    finally:
        try:
            is_other = torch.get_default_device() != device
        except (AssertionError, RuntimeError):  # one that is not here
            is_other = True
        if is_other:
            torch.set_default_device(None)
        torch.set_rng_state(drawn)
        torch.set_grad_enabled(gradients)
        if torch.get_default_dtype() is not dtype:
            torch.set_default_dtype(dtype)
        if torch.get_num_threads() != n_threads:
            torch.set_num_threads(n_threads)


def _settings() -> tuple[int, torch.dtype, bool]:
    """Return the seed, the default dtype, and whether gradients are recorded."""
    return torch.initial_seed(), torch.get_default_dtype(), torch.is_grad_enabled()
