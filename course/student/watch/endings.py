"""How a run came to an end that gave no verdict, in a sentence."""

import linecache
import re
import signal
from pathlib import Path

from course import root


def how_it_ended(code: int, log: str, exercise: str, module: Path) -> str:
    """What to say of a process that ended before its verdict.

    Args:
        code: its exit code; negative for the signal that ended it.
        log: what it left behind.
        exercise: what it was testing; empty while it loaded the file.
        module: the student's file.
    """
    doing = f"While {exercise} was tested" if exercise else "While it was loaded"
    shown = f"{module.parent.name}/{module.name}"
    return "\n".join([f"{doing}, {shown} {_deed(code, log)}", *_place(log)])


def _deed(code: int, log: str) -> str:
    if log.startswith("Timeout ("):
        return "came to no end and could not be interrupted; it was stopped."
    if log.startswith("Traceback "):
        return f"could not be tested: {log.splitlines()[-1]}"
    if code == -9:
        return "was stopped by the system, probably because it used up the memory."
    if code < 0:
        what = signal.strsignal(-code) or f"signal {-code}"
        return f"crashed the Python process: {what}."
    if code >= 0xC0000000:  # how Windows counts
        return f"crashed the Python process: Windows error {code:#x}."
    return (
        f"ended the whole Python process, with status {code}; take out os._exit, or whatever "
        "else ends a program."
    )


def _place(log: str) -> list[str]:
    """The deepest line of the student's file that was running, if it is known."""
    found = re.search(r'exercises[\\/](\w+\.py)", line (\d+)', log)
    if not found:
        return []
    name, line = found[1], int(found[2])
    path = str(root() / "exercises" / name)
    linecache.checkcache(path)
    return [f"  at      exercises/{name}:{line}: {linecache.getline(path, line).strip()}"]
