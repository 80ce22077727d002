"""Attempts by a module that no exercise needs and the sandbox refuses, for the instructor.

Python itself tells of it, by audit events (PEP 578). The module runs in the same process and can
keep an attempt from being noted, so this is a hint; it is the sandbox that protects.
"""

import inspect
import os
import sys
from collections.abc import Callable

PROGRAM, NETWORK, FILES, SIGNAL = (
    "run a program",
    "use the network",
    "write, move or delete files",
    "send a signal",
)
KINDS = (PROGRAM, NETWORK, FILES, SIGNAL)

_EVENTS = {
    PROGRAM: (
        "os.exec os.fork os.forkpty os.posix_spawn os.spawn os.system pty.spawn subprocess.Popen"
    ),
    NETWORK: "socket.bind socket.connect socket.getaddrinfo socket.gethostbyname socket.sendto",
    FILES: (
        "os.chmod os.chown os.link os.mkdir os.remove os.rename os.rmdir os.symlink os.truncate "
        "shutil.rmtree"
    ),
    SIGNAL: "os.kill os.killpg",
}
_KIND_OF = {event: kind for kind, events in _EVENTS.items() for event in events.split()}

_CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def note_attempts(path: str, note: Callable[[str], object]) -> None:
    """Call `note` with the kind of each attempt that the code in a file makes, from now on.

    What a library does while it is imported does not count: some look for a place for a cache.
    """

    def hook(event: str, arguments: tuple) -> None:
        kind = FILES if _opens_for_writing(event, arguments) else _KIND_OF.get(event)
        if kind and _is_called_from(path):
            note(kind)

    sys.addaudithook(hook)


def _opens_for_writing(event: str, arguments: tuple) -> bool:
    if event != "open":
        return False
    path, mode, flags = arguments
    changes = set(mode) & set("wax+") if isinstance(mode, str) else flags & _CHANGING
    return bool(changes) and path != os.devnull


def _is_called_from(path: str) -> bool:
    """Return whether the running code was called from a file, and not by way of an import."""
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename != path:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return False
        frame = frame.f_back
    return frame is not None
