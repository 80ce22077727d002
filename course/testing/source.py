"""What the text of a module tells: which exercises use which, what is still to do, what to lend."""

import ast
import codecs
import contextlib
import functools
import io
import tokenize

from course.core.stubs import stub_of
from course.core.syllabus import find_lesson, lessons

MAX_BYTES_TO_READ = 2**17
"""A longer module is run, but not taken apart: that takes a thousand times as much memory."""


@functools.lru_cache(maxsize=64)
def used_exercises(source: bytes, lesson: str, exercise: str) -> tuple[str, ...]:
    """Return what may be lent to an exercise, if its text names any of that, itself or by others.

    That is what its own reference calls, and what it `uses` by the syllabus. More would give away
    what it is about: a `one_hot_lookup` that calls a right `lookup` has written nothing.
    """
    called = with_called(lesson, find_lesson(lesson).exercise(exercise).uses)
    called = tuple(dict.fromkeys([*called, *_called_by_reference(lesson, exercise)]))
    return called if names_reached(source, exercise).intersection(called) else ()


@functools.cache
def _called_by_reference(lesson: str, exercise: str) -> tuple[str, ...]:
    """Return the exercises that its reference calls, itself or through what it calls."""
    reached = names_reached(find_lesson(lesson).solution.encode(), exercise)
    names = [one.name for one in find_lesson(lesson).exercises if one.name != exercise]
    return tuple(one for one in names if one in reached)


def names_reached(source: bytes, exercise: str) -> set[str]:
    """Return all names that a definition uses, itself or through definitions that it uses."""
    names_in, reached, to_read = _names_in(source), set(), {exercise, ""}
    while to_read:
        name = to_read.pop()
        reached.add(name)
        to_read |= names_in.get(name, set()) - reached
    return reached


def is_still_a_stub(source: bytes, exercise: str) -> bool:
    """Return whether each function of an exercise can only end where it says that it is to do."""
    node = _definition(source, exercise)
    functions = [one for one in ast.walk(node) if isinstance(one, ast.FunctionDef)] if node else []
    returns = node is not None and any(isinstance(one, ast.Return) for one in ast.walk(node))
    return bool(functions) and not returns and all(_says_to_do(one.body[-1]) for one in functions)


@functools.lru_cache(maxsize=64)
def todo_lines_once_started(source: bytes, lesson: str, exercise: str) -> list[int]:
    """Return the lines where an exercise says that it is to do; none if it is as it was built."""
    of_student, as_built = (_definition(text, exercise) for text in (source, stub_of(lesson)))
    if of_student is None or as_built is None:
        return []
    with contextlib.suppress(RecursionError):  # nobody built what is nested so deeply
        if ast.dump(of_student) == ast.dump(as_built):
            return []
    return sorted(node.lineno for node in ast.walk(of_student) if _says_to_do(node))


def lines_of_definitions(source: bytes, exercise: str) -> list[int]:
    """Return the line of each definition of an exercise; of several definitions the last counts."""
    nodes = definitions(source)
    return [node.lineno for node in nodes if getattr(node, "name", "") == exercise]


def _says_to_do(node: ast.AST) -> bool:
    match node:
        case ast.Raise(
            exc=ast.Call(
                func=ast.Name(id="NotImplementedError"), args=[ast.Constant(value=str(said))]
            )
        ):
            return said.startswith("TODO ")
    return False


def _definition(source: bytes, exercise: str) -> ast.stmt | None:
    """Return the definition of an exercise; of several, the last one is what counts in Python."""
    latest_first = reversed(definitions(source))
    return next((node for node in latest_first if getattr(node, "name", "") == exercise), None)


@functools.lru_cache(maxsize=4)
def definitions(source: bytes) -> list[ast.stmt]:
    """Return a module's statements; none if it is no valid Python or longer than anybody writes."""
    if len(source) > MAX_BYTES_TO_READ:
        return []
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


@functools.lru_cache(maxsize=4)
def _names_in(source: bytes) -> dict[str, set[str]]:
    """Return the names each definition uses; "" stands for what runs when the file is loaded."""
    names_in: dict[str, set[str]] = {}
    for node in definitions(source):
        used = names_in.setdefault(getattr(node, "name", ""), set())
        used.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    return names_in


# --- what is lent -----------------------------------------------------------------------------


@functools.cache
def reference_source(lesson: str, names: tuple[str, ...]) -> str:
    """Return the reference's text of these exercises, with whatever is no exercise around them.

    It includes the exercises of earlier lessons that they import.
    """
    return ast.unparse(_reference_of(lesson, names))


def _reference_of(lesson: str, names: tuple[str, ...]) -> ast.Module:
    tree = ast.parse(find_lesson(lesson).solution)
    left_out = {one.name for one in find_lesson(lesson).exercises} - set(names)
    body = [node for node in tree.body if getattr(node, "name", "") not in left_out]
    for earlier in [node for node in body if _earlier_lesson(node)]:
        place, stem = body.index(earlier), _earlier_lesson(earlier)
        body[place : place + 1] = _reference_of(stem, with_called(stem, _imported(earlier))).body
    return ast.Module(body, type_ignores=[])


@functools.cache
def sources_of_earlier(lesson: str) -> dict[str, str]:
    """Return what a lesson's module imports from earlier ones: by lesson, the reference's text."""
    return {
        stem: reference_source(stem, with_called(stem, names))
        for stem, names in imported_from_earlier(lesson).items()
    }


@functools.cache
def imported_from_earlier(lesson: str) -> dict[str, tuple[str, ...]]:
    """Return the exercises of earlier lessons that a lesson's module imports, by lesson.

    >>> imported_from_earlier("longer")
    {'rope': ('RotaryEmbedding', 'apply_rope', 'rope_tables')}
    """
    if lesson not in [one.stem for one in lessons()]:
        return {}
    body = definitions(find_lesson(lesson).solution.encode())
    return {stem: _imported(node) for node in body if (stem := _earlier_lesson(node))}


def _earlier_lesson(node: ast.stmt) -> str:
    """Return the lesson that a statement of a solution imports from; "" if it imports none."""
    package, _, stem = (getattr(node, "module", "") or "").partition(".")
    return stem if package == "solutions" else ""


def _imported(node: ast.stmt) -> tuple[str, ...]:
    return tuple(alias.name for alias in node.names)


def with_called(lesson: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return exercises of a lesson, and those that their references call."""
    called = [one for name in names for one in _called_by_reference(lesson, name)]
    return tuple(dict.fromkeys([*names, *called]))


# --- what is no module -------------------------------------------------------------------------

NOT_UTF_8 = "is not saved as UTF-8; choose that encoding in your editor"

_OTHER_FILES = {
    b"pk\3\4": "a zip: unpack it",
    b"\x1f\x8b": "a gzip archive: unpack it",
    b"version https://git-lfs": "a pointer of Git LFS: run `git lfs pull`",
    b"{\\rtf": "a text of a word processor: save it as plain text",
    b"<!doctype": "a web page: download the file itself",
    b"<html": "a web page: download the file itself",
    b"{": "a notebook: copy your code out of its cells",
}
"""What is sometimes saved under a module's name, by its first bytes in small letters."""


def why_no_module(source: bytes) -> str:
    """Return what a source is instead of a module, as the rest of a sentence; or nothing.

    >>> why_no_module(b"<html>"), why_no_module("# café".encode("latin-1"))
    ('is no module, but a web page: download the file itself', \
'is not saved as UTF-8; choose that encoding in your editor')
    """
    start = source[:4000].removeprefix(codecs.BOM_UTF8).strip()[:2000].lower()
    for begins, what in _OTHER_FILES.items():
        if start.startswith(begins) and (begins != b"{" or b'"cell' in start):
            return f"is no module, but {what}"
    if b"://" in start and b"\n" not in start and not start.startswith(b"#"):
        return "is no module, but a link: hand in the file itself"
    try:
        source.decode("utf-8")
    except UnicodeDecodeError:
        named = ""
        with contextlib.suppress(SyntaxError):
            named, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        if named in ("", "utf-8", "utf-8-sig"):
            return NOT_UTF_8
    return ""
