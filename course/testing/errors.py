"""What an exception of a student's code tells: its message, and the lines it passed through."""

import builtins
import difflib
import dis
import linecache
import re
import sys
import sysconfig
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

DID_YOU = ". Did you "
"""Begins what Python's message is followed by where a name is not known."""


CANNOT_IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)' \(.*\)")
"""Python's message where a module does not have a name."""


def message_of(error: BaseException) -> str:
    """Return the message of an exception, whatever its class does; of a name, what was meant."""
    try:
        message = str(error)
    except Exception:
        return "(its message cannot be shown)"
    try:
        meant = _meant(error)
    except Exception:  # a student's class decides what its objects have
        meant = ""
    return f"{message}{DID_YOU}{meant}?" if meant else message


_IMPORTS = {
    "F": "import torch.nn.functional as F",
    "nn": "from torch import nn",
    "np": "import numpy as np",
    "torch": "import torch",
    "Tensor": "from torch import Tensor",
}


def _meant(error: BaseException) -> str:
    """Return what may have been meant by a name that is not there, as the end of a question."""
    name = getattr(error, "name", None)
    if isinstance(error, ImportError) and name:
        if found := CANNOT_IMPORT.match(str(error)):
            return _closest(found[1], dir(sys.modules[name]))
        meant = _closest(name, _modules_next_to(name))
        return "" if meant[len("mean '") : -1] in name else meant  # jaxtyping is no typing
    if type(error) is AttributeError and name:
        return _closest(name, dir(error.obj))
    if type(error) is not NameError or not name or not error.__traceback__:
        return ""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    if hasattr(frame.f_locals.get("self"), name):
        return f"mean self.{name}"
    if name in _IMPORTS or name in sys.stdlib_module_names:
        return f"forget `{_IMPORTS.get(name, f'import {name}')}`"
    return _closest(name, [*frame.f_locals, *frame.f_globals, *vars(builtins)])


def _modules_next_to(name: str) -> list[str]:
    """Return the modules that a student can import from the package that a name is in."""
    if package := name.rpartition(".")[0]:
        if package.partition(".")[0] in ("course", "exercises", "solutions"):
            return []
        return [known for known in sys.modules if known.rpartition(".")[0] == package]
    return ["torch", "numpy", *sys.stdlib_module_names]


def _closest(name: str, names: list[str]) -> str:
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
    return f"mean '{found[0]}'" if found and found[0] != name else ""


def asks_for_input(message: str) -> bool:
    """Return whether an exception says that `input()` was called where nobody can answer."""
    return message.startswith(("pytest: reading from stdin", "EOF when reading a line"))


def short_path(path: Path) -> str:
    """Return a path as a student knows it: the last folder and the file."""
    return f"{path.parent.name}/{path.name}"


def location(error: BaseException, path: Path) -> str:
    """Return the lines of a file that an exception passed through, as "file:line: text".

    The line that began it, then the deepest if that is another one: "f.py:60: print(lookup(w, x)),
    in f.py:27: raise IndexError(". Of an endless recursion the line at which it comes round.
    """
    passed = list(_passed(error, path))
    if not passed:
        return ""
    if isinstance(error, RecursionError) and (turn := _turn(passed)):
        names = " and ".join(dict.fromkeys(code.co_qualname for code, _ in turn))
        what = "calls itself" if len(turn) == 1 else "call each other"
        return f"{_line(path, turn[0][1])}, where {names} {what}"
    lines = dict.fromkeys((passed[0][1], passed[-1][1]))
    return ", in ".join(_line(path, line) for line in lines)


def is_raised_by_hand(error: BaseException) -> bool:
    """Return whether a `raise` statement outside of the libraries raised an exception."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames:  # a class may have a traceback of its own making
        return False
    code, last = frames[-1].f_code, frames[-1].f_lasti
    is_of_library = code.co_filename.startswith(_LIBRARIES)
    return dis.opname[code.co_code[last]] == "RAISE_VARARGS" and not is_of_library


_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")})


def _passed(error: BaseException, path: Path) -> Iterator[tuple[types.CodeType, int]]:
    """Yield the functions of a file that an exception passed through, each with the line there."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == str(path):
            yield frame.f_code, line


def _turn(passed: list[tuple[types.CodeType, int]]) -> list[tuple[types.CodeType, int]]:
    """Return one turn of a recursion: from a function to where it is reached again, or nothing."""
    first_at: dict[types.CodeType, int] = {}
    for place, (code, _) in enumerate(passed):
        if code in first_at:
            return passed[first_at[code] : place]
        first_at[code] = place
    return []


def _line(path: Path, number: int) -> str:
    linecache.checkcache(str(path))
    return f"{short_path(path)}:{number}: {linecache.getline(str(path), number).strip()}"
