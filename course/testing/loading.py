"""Load a student's file as a module, or say in one sentence why that is not possible.

What fails outside of functions and classes costs nothing: then a file is loaded once more with its
imports, constants, functions and classes alone.
"""

import __future__

import ast
import builtins
import codecs
import contextlib
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

from course import root
from course.core import answers
from course.core.console import typed
from course.core.files import MAX_MODULE_BYTES
from course.core.memory import ran_out_of_memory
from course.core.stubs import importing_exercises
from course.testing.clock import TimeIsUp
from course.testing.errors import (
    CANNOT_IMPORT,
    DID_YOU,
    asks_for_input,
    location,
    message_of,
    short_path,
)
from course.testing.fair_play import (
    REFUSED,
    Borrowed,
    guarded,
    settings_restored,
    student_files,
)
from course.testing.imports import Earlier, Imports, Missing, imports_of, names_defined_by
from course.testing.outcomes import Wrong
from course.testing.source import NOT_UTF_8, sources_of_earlier, why_no_module

DEFINITIONS, LEAST = 1, 2
"""Less than all of a file: what it defines, and that without constants that call anything."""

LEFT_OUT = "__left_out__"
"""The name in a module of why it was loaded by its definitions alone; of nothing, if it was not."""


def load_module(path: Path, earlier: Earlier | None = None, less: int = 0) -> types.ModuleType:
    """Run a student's file as a module; or the reference.

    Args:
        earlier: what it can import from earlier lessons; the reference's, unless given.
        less: see `run_module`.

    Raises:
        Wrong: in one sentence, why it cannot be run.
    """
    try:
        source = answers.read(path)
    except FileNotFoundError:
        back = typed(f"course reset {short_path(path)}")
        advice = f"; `{back}` brings it back" if path.parent == root() / "exercises" else ""
        raise Wrong(f"{short_path(path)} does not exist{advice}") from None
    except OSError as error:
        raise Wrong(f"{short_path(path)} cannot be read: {error.strerror}") from None
    if path.parent == root() / "solutions":  # its lines stay where they are
        source = importing_exercises(source.decode("utf-8")).encode("utf-8")
    if earlier is None:
        earlier = names_defined_by(sources_of_earlier(path.stem))
    return run_module(source, path, earlier, less)


def run_module(
    source: bytes, path: Path, earlier: Earlier | None = None, less: int = 0
) -> types.ModuleType:
    """Run the text of a student's file as a module; `path` says what to call it.

    Args:
        earlier: what it can import from earlier lessons.
        less: 0 to run all of it, and if anything outside of its imports, constants, functions and
            classes fails, those alone; `DEFINITIONS` to run those at once; `LEAST` to leave out
            constants that call anything, too.

    Raises:
        Wrong: in one sentence, why it cannot be run.
    """
    shown = short_path(path)
    if trouble := _trouble_with_text(source):
        raise Wrong(f"{shown} {trouble}")
    try:
        code = compile(source, str(path), "exec")
    except SyntaxError as error:
        raise Wrong(f"{shown} {_trouble_with_syntax(error, shown)}") from None
    except (MemoryError, RecursionError, ValueError) as error:
        raise Wrong(f"{shown} {_why_not_imported(error, path)}") from None
    student_files.add(str(path))
    module = types.ModuleType(f"{path.parent.name}.{path.stem}")
    module.__file__ = str(path)
    if path.parent.name != "solutions":
        sys.modules[module.__name__] = module  # where dataclasses and pickle look for it
    module.__builtins__ = vars(builtins) | {"__import__": Imports(earlier or {})}
    given, failure = dict(module.__dict__), None
    with settings_restored():
        try:
            if not less:
                with _in_one_sentence(path):
                    _execute(code, module)
        except Borrowed:
            raise
        except Wrong as wrong:
            failure = wrong
            module.__dict__.clear()
            module.__dict__.update(given)
        is_incomplete = less or failure
        if is_incomplete and not _define(source, code, path, module, less or DEFINITIONS):
            raise failure or Wrong(f"{shown} defines nothing")
    module.__dict__[LEFT_OUT] = str(failure or "")
    return module


@contextlib.contextmanager
def _in_one_sentence(path: Path) -> Iterator[None]:
    """Say in one sentence why a file, or a part of it, cannot be run."""
    shown = short_path(path)
    try:
        with guarded(shown, str(path)):
            yield
    except (Wrong, TimeIsUp, KeyboardInterrupt):
        raise
    except SystemExit:
        raise Wrong(f"{shown} calls sys.exit while it is imported; take that out") from None
    except BaseException as error:  # also what pytest.skip raises
        why, place = _why_not_imported(error, path), location(error, path)
        raise Wrong(f"{shown} {why}\n  {place}") from error


def _define(
    source: bytes, code: types.CodeType, path: Path, module: types.ModuleType, less: int
) -> bool:
    """Run what a file defines, a statement at a time, and nothing else.

    A constant that fails is not there; a function or class that fails raises why when it is called.

    Returns:
        Whether any function or class did not fail.
    """
    flags = code.co_flags & __future__.annotations.compiler_flag
    worked = set()
    for node in _definitions(ast.parse(source).body, less):
        part = compile(ast.Module([node], []), str(path), "exec", flags, dont_inherit=True)
        is_named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        try:
            with _in_one_sentence(path):
                _execute(part, module)
            worked.add(is_named)
        except Borrowed:
            raise
        except Wrong as wrong:
            if is_named:
                module.__dict__[node.name] = _failing(wrong.__cause__ or wrong)
    return True in worked


def _calls(node: ast.stmt) -> bool:
    return any(isinstance(one, ast.Call) for one in ast.walk(node))


def _definitions(nodes: list[ast.stmt], less: int) -> list[ast.stmt]:
    """Return the statements that define something; of each `if` and `try` what defines in it."""
    constants = ast.Assign | ast.AnnAssign
    kinds = ast.Import | ast.ImportFrom | constants | ast.FunctionDef | ast.ClassDef

    def defines(node: ast.stmt) -> bool:
        if isinstance(node, ast.If | ast.Try):
            return _keep_definitions(node, less)
        may_take_long = less == LEAST and isinstance(node, constants) and _calls(node)
        return isinstance(node, kinds) and not may_take_long

    return [*filter(defines, nodes)]


def _keep_definitions(branching: ast.If | ast.Try, less: int) -> bool:
    """Take out of all its branches what defines nothing; return whether anything is left."""
    is_any = False
    for part in (branching, *getattr(branching, "handlers", [])):
        for name in ("body", "orelse", "finalbody"):
            if inner := getattr(part, name, None):
                kept = _definitions(inner, less)
                setattr(part, name, kept or [ast.copy_location(ast.Pass(), inner[0])])
                is_any = is_any or bool(kept)
    return is_any


def _failing(error: BaseException) -> Callable[..., NoReturn]:
    """Return what raises an exception again, from where it was raised first."""
    raised_at = error.__traceback__

    def fail(*_: object, **__: object) -> NoReturn:
        raise error.with_traceback(raised_at)

    return fail


def _execute(code: types.CodeType, module: types.ModuleType) -> None:
    """Run a module's code; a library that is missing is one only for what uses it."""
    given, missing = dict(module.__dict__), imports_of(module).missing
    failed: ModuleNotFoundError | None = None
    while True:
        try:
            return exec(code, module.__dict__)
        except ModuleNotFoundError as error:
            is_known = not error.name or error.name in missing
            if is_known or DID_YOU in message_of(error):
                raise failed or error from None
            failed = failed or error
            missing[error.name] = Missing(error.name)
        except Exception:
            if failed:
                raise failed from None
            raise
        module.__dict__.clear()
        module.__dict__.update(given)


def _trouble_with_syntax(error: SyntaxError, shown: str) -> str:
    """Return why a source is not valid Python, as the rest of a sentence, and where."""
    if "'utf-8' codec" in error.msg:  # it names no other encoding
        return NOT_UTF_8
    text = error.text.strip() if error.text else ""
    line = error.lineno
    where = f", line {line}\n  {shown}:{line}{f': {text}' if text else ''}" if line else ""
    why = _why_no_python(text) or f"is not valid Python: {error.msg}"
    if re.search("invalid character '[“”‘’]'", error.msg):  # pasted from a PDF or from Word
        why = "has typographic quotes, which must be straight (\" or ')"
    return f"{why}{where}"


def _why_not_imported(error: BaseException, path: Path) -> str:
    """Return why a file could not be run, as the rest of a sentence that begins with its name."""
    message = message_of(error)
    _, did_you, meant = message.partition(DID_YOU)
    # code that is nested too deeply wants memory as well, but before it runs
    if ran_out_of_memory(error) and location(error, path):
        return "needs more memory than there is while it is imported"
    if isinstance(error, ModuleNotFoundError) and error.name:
        advice = f"{did_you}{meant}" or (
            "; the standard library, torch and numpy are, and all that an exercise needs"
        )
        return f"imports {error.name}, which is not there{advice}"
    if isinstance(error, ImportError) and (found := CANNOT_IMPORT.match(message)):
        name, where = found[1], found[2]
        here = f" in {_PYTHON}" if where in sys.stdlib_module_names else ""
        return f"imports {name} from {where}, which has no such name{here}{did_you}{meant}"
    if isinstance(error, NameError) and error.name == "get_ipython":
        return "has a notebook's command, which no module understands; take that out"
    if type(error).__name__ == "BdbQuit":
        return "calls a debugger while it is imported; take that out"
    if asks_for_input(message):
        return "asks for input while it is imported; take that out"
    kind = type(error).__name__
    if message == REFUSED:
        return f"goes too far while it is imported: {REFUSED}"
    if isinstance(error, OSError) and error.filename:
        return (
            f"cannot open {error.filename} while it is imported ({kind}: {error.strerror}); it is "
            "graded where there are no files of yours; take that out"
        )
    return f"cannot be imported: {kind}: {message}" if message else f"cannot be imported: {kind}"


_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
_NEWER = {
    r"(async )?(def|class) \w+\[|type \w+(\[.*\])? = ": (3, 12),
    r""".*\bf(["'])((?!\1)[^{])*\{((?!\1)[^}])*\1((?!\1).)*\1[^}]*\}.*\1""": (3, 12),
    r"except\*? [\w.]+(, [\w.]+)+:": (3, 14),
}
"""What a line looks like that an older Python refuses, and where it came from."""


OF_NEWER_PYTHON = "is written for Python"


def _why_no_python(line: str) -> str:
    """Return why a line is not valid, as the rest of a sentence."""
    if line.startswith(("%", "!")):
        return "has a notebook's command, which no module understands"
    if line.startswith("```"):
        return "has a fence of three backticks, which is no Python"
    newer = [since for looks, since in _NEWER.items() if re.match(looks, line)]
    if newer and newer[0] > sys.version_info:
        return f"{OF_NEWER_PYTHON} {newer[0][0]}.{newer[0][1]}, and this is {_PYTHON}"
    return ""


def _trouble_with_text(source: bytes) -> str:
    """Return why a source cannot be a module, whatever its code is, as the rest of a sentence."""
    lines = source.removeprefix(codecs.BOM_UTF8).splitlines()
    if all(line.strip()[:1] in (b"", b"#") for line in lines):
        return "is empty; was it saved?"
    for number, line in enumerate(lines, start=1):
        if line.startswith((b"<<<<<<< ", b">>>>>>> ")):
            return (
                f"holds two versions that git could not merge, line {number}: keep one of them "
                "and delete the lines that begin with <<<<<<<, ======= and >>>>>>>"
            )
    if len(source) > MAX_MODULE_BYTES:
        return f"is larger than {MAX_MODULE_BYTES >> 20} MB, so nobody would grade it"
    if what := why_no_module(source):
        return what
    if b"\0" not in source:
        return ""
    with contextlib.suppress(UnicodeDecodeError):
        source.decode("utf-8")
        if source.count(b"\0") < len(source) // 4:
            number = next(n for n, line in enumerate(lines, start=1) if b"\0" in line)
            return f"is not valid Python: a null character, line {number}; rewrite that line"
    return NOT_UTF_8  # but UTF-16, which some editors write
