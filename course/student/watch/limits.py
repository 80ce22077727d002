"""What keeps a run within bounds that nothing in the student's code can lift by accident."""

import contextlib
import faulthandler
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

GRACE = 5
"""Seconds beyond a test's own limit, after which it cannot be interrupted but by force."""

MEMORY_BYTES = 2 * 10**9
"""What a run may take beyond what is loaded before it begins; as much as when it is graded."""


def write_crashes_to(log: TextIO) -> None:
    """If the interpreter crashes, say into this file where, instead of dumping all its memory."""
    faulthandler.enable(log)
    with contextlib.suppress(ImportError):  # Windows
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_after(seconds: float, log: TextIO) -> None:
    """End this process after so many seconds from now, unless this is called again before.

    It works while the interpreter is stuck, inside one long call into C for instance. The file
    then says what was running.
    """
    with _no_memory_limit():  # it begins a thread, also where a test before left no room for one
        faulthandler.dump_traceback_later(seconds + GRACE, file=log, exit=True)


def limit_memory() -> None:
    """Let this process take so much more memory and no more, where the system can see to it.

    Elsewhere than on Linux nothing happens: the system itself has to end what takes too much.
    """
    if sys.platform != "linux":
        return
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    soft = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextlib.contextmanager
def _no_memory_limit() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
