"""What a console can show, and the commands that can be typed there.

A Windows console whose output goes to a file or a pipe often knows 256 characters only.
"""

import codecs
import io
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from course import root

_SIGNS = {"−": "-", "–": "-", "·": "*", "×": "x", "±": "+-", "≤": "<=", "…": "...", "\xa0": " "}
_MATHS = {"√": "sqrt ", "²": "^2", "³": "^3", "∞": "infinity", "°": " degrees", "∎": "", "Σ": "sum"}
_GREEK = {"α": "alpha", "θ": "theta", "π": "pi", "σ": "sigma", "Φ": "Phi", "ω": "omega"}
_IN_LETTERS = _SIGNS | _MATHS | _GREEK | {"“": '"', "”": '"', "␣": "_", "⚑": "!", "◆": "*"}
"""What replaces letters that a console cannot show; it is "?" for all others."""


def replace_unprintable() -> None:
    """Write what the console cannot show in other letters, from now on, instead of stopping."""
    codecs.register_error("in letters", _in_letters)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # not where a notebook or a test took its place
            stream.reconfigure(errors="in letters")


def _in_letters(error: UnicodeError) -> tuple[str, int]:
    letters = error.object[error.start : error.end]
    return "".join(_IN_LETTERS.get(one, "?") for one in letters), error.end


def open_closed_streams() -> None:
    """Open the standard streams that are closed (`>&-`): the next file would take their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")


# --- commands -----------------------------------------------------------------------------------

PREFIX = "COURSE_COMMAND_PREFIX"
"""The environment variable with the prefix of commands, set by a process that shows the output of
this one; without it, the prefix is computed."""


def typed(command: str) -> str:
    """Return a command of this environment as it is to be typed, whether it is activated or not.

    `course hint rope` stays as it is where PATH finds this environment's `course`. Else the path
    comes before it, from the current folder: `.venv/bin/course hint rope`.
    """
    program, *words = command.split(" ", 1)
    program = f"{command_prefix()}{program}"
    return " ".join([f'"{program}"' if " " in program else program, *words])


def command_prefix() -> str:
    """Return the path that makes the name of a program of this environment a command."""
    if PREFIX in os.environ:
        return os.environ[PREFIX]
    scripts = Path(sysconfig.get_path("scripts"))
    own, on_path = shutil.which("course", path=str(scripts)), shutil.which("course")
    if own is None or (on_path and os.path.samefile(on_path, own)):
        return ""
    folder = scripts.resolve()
    try:
        here = Path.cwd().resolve()
    except OSError:  # the current folder was deleted
        here = folder.root
    if root() in folder.parents and Path(here).is_relative_to(root()):
        folder = os.path.relpath(folder, here)
    return os.path.join(folder, "")
