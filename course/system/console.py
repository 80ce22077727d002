"""What a console can show, and the commands that can be typed there.

A Windows console whose output goes to a file or a pipe often knows 256 characters only. There σ is
written out instead of stopping the program.
"""

import codecs
import io
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from course import root

_SPELLED = {
    **{"σ": "sigma", "Σ": "sum", "√": "sqrt ", "π": "pi", "α": "alpha", "λ": "lambda"},
    **{"θ": "theta", "∞": "inf", "ᵀ": "^T", "−": "-", "×": "x", "·": "*", "±": "+-", "°": " deg"},
    **{"≤": "<=", "≥": ">=", "≈": "about ", "→": "->", "…": "...", "–": "-", "—": "-", "∎": "."},
    **{"¹": "^1", "²": "^2", "³": "^3", "⁰": "0", "⁵": "5", "⁶": "6", "⁸": "8", "⁻": "^-"},
    **{"‘": "'", "’": "'", "“": '"', "”": '"', "│": "|", "─": "-", "█": "#"},
}


def readable_anywhere() -> None:
    """Write what the console cannot show, from now on, in letters that it has.

    >>> print("σ".encode("cp1252", errors="spelled").decode())
    sigma
    """
    codecs.register_error("spelled", _spelled)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not where a notebook or a test took its place
            stream.reconfigure(errors="spelled")


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_SPELLED.get(letter, "?") for letter in unknown), error.end


# --- commands -----------------------------------------------------------------------------------

PREFIX = "COURSE_COMMAND_PREFIX"
"""The environment variable with what stands before each command, for whom another process shows
what this one says; if it is not set, the prefix is found out."""


def typed(command: str) -> str:
    """Return a command of this environment as it is to be typed, whether it is activated or not.

    `course hint rope` stays as it is where PATH finds this environment's `course`. Else the path
    stands before it, from the current folder: `.venv/bin/course hint rope`.
    """
    program, *words = command.split(" ", 1)
    program = f"{command_prefix()}{program}"
    return " ".join([f'"{program}"' if " " in program else program, *words])


def command_prefix() -> str:
    """Return what has to stand before the name of a program of this environment."""
    if PREFIX in os.environ:
        return os.environ[PREFIX]
    scripts = Path(sysconfig.get_path("scripts"))
    on_path = shutil.which("course")
    try:
        own = shutil.which("course", path=str(scripts))
        if own is None or (on_path and os.path.samefile(on_path, own)):
            return ""
        folder, here = scripts.resolve(), Path.cwd().resolve()
    except OSError:  # the current folder was deleted, for instance
        return os.path.join(scripts, "")
    if here.is_relative_to(root()) and folder.is_relative_to(root()):
        folder = Path(os.path.relpath(folder, here))
    prefix = os.path.join(folder, "")
    return f".{os.sep}" if folder == Path() else prefix
