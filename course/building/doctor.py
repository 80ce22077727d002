"""Look for what a lesson or one of its exercises still lacks.

Files are read as text and nothing is imported or run, so that a gap is told in a sentence before
it is a KeyError somewhere else. Whether what is there is right is for the tests to say.
"""

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from typing import Any

from course import root
from course.building import build

MISTAKES, COMMON, ALTERNATIVES = 4, 2, 2
"""How many of each an exercise has in the catalogue, at least."""

_FIELDS = {
    "title": "what it does, in a few words",
    "points": "a whole number from 1 on",
    "minutes": "a whole number from 1 on",
}
_ASKED = {"guesses": 3, "answers": 2}
"""How many of each a notebook asks for, at least."""

_WORDS = {
    "why": "what it needs from earlier exercises, and what later needs it",
    "nudge": "what to think about, the first hint",
    "approach": "how to go about it, the second hint",
    "line": "nearly the line, the third hint",
}
_SYLLABUS, _CONTENTS, _FIGURES = (
    "course/syllabus.toml",
    "course/lessons/README.md",
    "course/plots/__init__.py",
)


def lacks(name: str | None = None) -> list[str]:
    """Return a sentence for all that the lessons lack, or only one, by its stem or number.

    Raises:
        ValueError: there is no such lesson, or a file cannot be read at all.
    """
    syllabus = _toml(_SYLLABUS)
    entries = dict(enumerate(map(_table, syllabus.get("lesson", [])), start=1))
    words = {name: _table(said) for name, said in _table(syllabus.get("exercise")).items()}
    stems = {number: entry.get("stem", "") for number, entry in entries.items()}
    chosen = [n for n, stem in stems.items() if name is None or name.lower() in (str(n), stem)]
    if not chosen:
        known = ", ".join(filter(None, stems.values()))
        raise ValueError(f'there is no lesson "{name}"; the lessons are {known}')
    found = [sentence for n in chosen for sentence in _of_lesson(n, entries[n], words)]
    counted = Counter(one for entry in entries.values() for one in _names(entry))
    for twice in (one for one, count in counted.items() if count > 1):
        found.append(f"two exercises are called {twice} in {_SYLLABUS}: names are unique")
    found += _strangers(_SYLLABUS, words, "any lesson", list(counted))
    return found


def _of_lesson(number: int, entry: dict[str, Any], words: dict[str, dict]) -> Iterator[str]:
    stem, names = entry.get("stem"), _names(entry)
    if not stem:
        yield f"lesson {number} lacks `stem` in {_SYLLABUS}: the name of its files"
        return
    if not _is_filled(entry.get("title"), "title"):
        yield f"{stem} lacks `title` in {_SYLLABUS}: what it teaches, in a few words"
    if not names:
        yield f"{stem} lacks exercises in {_SYLLABUS}"
    yield from _in_syllabus(stem, entry, words)
    yield from _in_solution(stem, names)
    yield from _in_tests(stem, names)
    yield from _in_catalogue(stem, names)
    yield from _in_text(stem, f"{number}_{stem}.md")
    yield from _in_notebook(stem, f"{number}_{stem}")


def _in_syllabus(stem: str, entry: dict[str, Any], words: dict[str, dict]) -> Iterator[str]:
    for number, fields in enumerate(map(_table, entry.get("exercises", [])), start=1):
        who = fields.get("name") or f"exercise {number} of {stem}"
        if who != fields.get("name"):
            yield f"{who} lacks `name` in {_SYLLABUS}"
        for field, meaning in _FIELDS.items():
            if not _is_filled(fields.get(field), field):
                yield f"{who} lacks `{field}` in {_SYLLABUS}: {meaning}"
        for field in fields.keys() - _FIELDS.keys() - {"name", "own"}:
            yield f"{who} has `{field}` in {_SYLLABUS}, which means nothing there"
        if who not in _names(entry):
            continue
        said, place = words.get(who, {}), f"under [exercise.{who}] in {_SYLLABUS}"
        for field, meaning in _WORDS.items():
            if not _is_filled(said.get(field), field):
                yield f"{who} lacks `{field}` {place}: {meaning}"
        for field in said.keys() - _WORDS.keys():
            yield f"{who} has `{field}` {place}, which means nothing there"


def _in_solution(stem: str, names: list[str]) -> Iterator[str]:
    path = f"solutions/{stem}.py"
    source = _read(path)
    if source is None:
        yield f"{stem} lacks {path}"
        return
    begin, end = "### BEGIN SOLUTION\n", "### END SOLUTION\n"
    if source.count(begin) != source.count(end):
        yield f"{stem} lacks a line {begin.strip()} or {end.strip()} in {path}"
    definitions = {getattr(node, "name", ""): node for node in _tree(path, source).body}
    for name in names:
        node = definitions.get(name)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{name} lacks its definition in {path}"
            continue
        if begin not in (ast.get_source_segment(source, node) or ""):
            yield f"{name} lacks what to leave out, below {begin.strip()}, in {path}"
        docstring = ast.get_docstring(node) or ""
        for part, what in {">>> ": "an example (>>>)", "Source: ": "a source (Source:)"}.items():
            if part not in docstring:
                yield f"{name} lacks {what} in its docstring in {path}"
    if _read(f"exercises/{stem}.py") is None:
        yield f"{stem} lacks exercises/{stem}.py; `course build` makes it"


def _in_tests(stem: str, names: list[str]) -> Iterator[str]:
    path = f"tests/test_{stem}.py"
    source = _read(path)
    if source is None:
        yield f"{stem} lacks {path}"
        return
    graded = [
        call.args[0].value
        for call in ast.walk(_tree(path, source))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "exercise"
    ]
    for name in (name for name in names if name not in graded):
        yield f'{name} lacks tests in {path}: a class below @exercise("{name}")'
    yield from _strangers(path, graded, stem, names)


def _in_catalogue(stem: str, names: list[str]) -> Iterator[str]:
    path = f"course/mistakes/{stem}.py"
    source = _read(path)
    if source is None:
        yield f"{stem} lacks {path}"
        return
    count, common, styles = _entered(_tree(path, source))
    for name in names:
        if count[name] < MISTAKES:
            yield f"{name} lacks mistakes in {path}: {count[name]} of at least {MISTAKES}"
        if common[name] < COMMON:
            yield f"{name} lacks common=True in {path}: {common[name]} of at least {COMMON}"
        if styles[name] < ALTERNATIVES:
            yield f"{name} lacks alternatives in {path}: {styles[name]} of at least {ALTERNATIVES}"
    yield from _strangers(path, [*count, *styles], stem, names)


def _in_text(stem: str, file: str) -> Iterator[str]:
    path = f"course/lessons/{file}"
    text = _read(path)
    if f"({file})" not in (_read(_CONTENTS) or ""):
        yield f"{stem} lacks its row in {_CONTENTS}; `course build` writes it"
    if text is None:
        yield f"{stem} lacks {path}"
        return
    for begin, end in (build.HEAD, build.MISTAKES):
        if re.findall(f"{begin}|{end}", text) != [begin, end]:
            yield f"{stem} lacks the lines {begin.strip()} and {end.strip()} in {path}, once each"
    if not re.search(rf"^{build.HEAD[1]}\n*## ", text, re.MULTILINE):
        yield f"{stem} lacks its question in {path}: a heading (##) below {build.HEAD[1].strip()}"


def _in_notebook(stem: str, number_and_stem: str) -> Iterator[str]:
    path, built = f"solutions/notebooks/{number_and_stem}.py", f"notebooks/{number_and_stem}.ipynb"
    source = _read(path)
    if source is None:
        yield f"{stem} lacks {path}, the source of its notebook"
        return
    asked = {"guesses": source.count('tags=["prediction"]'), "answers": source.count("answer=")}
    for kind, least in _ASKED.items():
        if asked[kind] < least:
            yield f"{stem} lacks {kind} in {path}: {asked[kind]} of at least {least}"
    drawn = sorted(set(re.findall(r"\bplots\.(\w+)\(", source)))
    if not drawn:
        yield f"{stem} lacks a figure: {path} draws none of course.plots"
    figures = _read(_FIGURES) or ""
    for name in (name for name in drawn if not re.search(rf"\b{name}\b", figures)):
        yield f"{stem} lacks the figure {name} in {_FIGURES}; {path} draws it"
    if _read(built) is None:
        yield f"{stem} lacks {built}; `course build` makes it"


def _strangers(path: str, found: Any, stem: str, names: list[str]) -> Iterator[str]:
    """Yield a sentence for every name in a file that the syllabus does not know."""
    for name in sorted(set(found) - set(names)):
        yield f"{path} speaks of {name}, which is no exercise of {stem}"


def _names(entry: dict[str, Any]) -> list[str]:
    fields = map(_table, entry.get("exercises", []))
    return [one["name"] for one in fields if isinstance(one.get("name"), str)]


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_filled(value: Any, field: str) -> bool:
    if field in ("points", "minutes"):
        return type(value) is int and value > 0
    return isinstance(value, str) and bool(value.strip())


def _entered(tree: ast.Module) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Return how many mistakes, common ones among them, and alternatives each exercise has."""
    exercise, mistakes, common, alternatives = "", Counter(), Counter(), Counter()
    for node in tree.body:
        for one in (getattr(node, "value", None), *getattr(node, "decorator_list", ())):
            match one:
                case ast.Call(func=ast.Name(id="entries"), args=[ast.Constant(value=str(name))]):
                    exercise = name
                case ast.Call(func=ast.Name(id="mistake")):
                    mistakes[exercise] += max(len(one.args), 1)
                    common[exercise] += any(keyword.arg == "common" for keyword in one.keywords)
                case ast.Call(func=ast.Name(id="alternative")):
                    alternatives[exercise] += len(one.args)
                case ast.Name(id="alternative"):
                    alternatives[exercise] += 1
    return mistakes, common, alternatives


def _read(path: str) -> str | None:
    file = root() / path
    return file.read_text(encoding="utf-8") if file.exists() else None


def _toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path) or "")
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def _tree(path: str, source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{path} is no Python, line {error.lineno}: {error.msg}") from None
