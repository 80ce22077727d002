"""The reference and its alternatives as text: read with `ast`, never run, so at once.

What is shown is what stands in `solutions/` and in the catalogue of alternatives, without the marks
around a solution and without what a student has read already, the docstring.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from course import root
from course.syllabus import Exercise, find_lesson

_Definition = ast.FunctionDef | ast.ClassDef
_MARK = re.compile(r" *### (BEGIN|END) SOLUTION *")
_ANSWER = re.compile(r"### BEGIN SOLUTION\n(.*?) *### END SOLUTION", re.DOTALL)


def contract(exercise: Exercise) -> str:
    """The signature of an exercise and its docstring; of a class, also its methods' signatures."""
    text = _text(_solutions(exercise))
    node = _definitions(text)[exercise.name]
    lines = text.splitlines()
    parts = [lines[node.lineno - 1 : node.body[0].end_lineno]]
    parts += [["", *_signature(lines, method)] for method in _methods(node)]
    return "\n".join(line for part in parts for line in part)


def solution(exercise: Exercise) -> str:
    """The reference's code of an exercise, with its comments."""
    text = _text(_solutions(exercise))
    code = _without_docstring(text, _definitions(text)[exercise.name])
    return "\n".join(line for line in code.splitlines() if not _MARK.fullmatch(line))


def answers(exercise: Exercise) -> list[str]:
    """What the reference has where the stub of an exercise says that something is to do."""
    text = _text(_solutions(exercise))
    node = _definitions(text)[exercise.name]
    within = range(node.lineno, node.end_lineno + 1)
    blocks = _ANSWER.finditer(text)
    return [one[1] for one in blocks if text.count("\n", 0, one.start()) + 1 in within]


def another_style(exercise: Exercise) -> tuple[str, str]:
    """A right variant of an exercise in another style.

    Returns:
        Its name in a few words, and its code with the helpers that it uses.
    """
    path = root() / "course" / "mistakes" / f"{exercise.lesson}.py"
    text = _text(path)
    definitions = _definitions(text)
    node = next(one for one in definitions.values() if _is_alternative_of(exercise, one))
    helpers = sorted(_helpers(node, definitions), key=lambda name: definitions[name].lineno)
    code = [_without_docstring(text, definitions[name]) for name in helpers]
    code.append(re.sub(rf"(?<![.\w]){node.name}\b", exercise.name, _without_docstring(text, node)))
    return node.name.replace("_", " "), "\n\n\n".join(code)


def _is_alternative_of(exercise: Exercise, node: _Definition) -> bool:
    """Whether `@alternative("...")` stands above it, with the name of this exercise."""
    return any(
        isinstance(call, ast.Call)
        and getattr(call.func, "id", "") == "alternative"
        and call.args[0].value == exercise.name
        for call in node.decorator_list
    )


def _helpers(node: _Definition, definitions: dict[str, _Definition]) -> set[str]:
    """What a definition uses of the catalogue's own, directly and through what it uses."""
    found: set[str] = set()
    to_read = [node]
    while to_read:
        names = {n.id for n in ast.walk(to_read.pop()) if isinstance(n, ast.Name)}
        fresh = {name for name in names & definitions.keys() if name.startswith("_")} - found
        found |= fresh
        to_read += [definitions[name] for name in fresh]
    return found


def _without_docstring(text: str, node: _Definition) -> str:
    """A definition's text from `def` or `class` on, without its docstring."""
    lines = text.splitlines()
    head, body = lines[node.lineno - 1 : node.end_lineno], []
    if ast.get_docstring(node) is not None:
        start, end = (n - node.lineno for n in (node.body[0].lineno, node.body[0].end_lineno))
        head, body = head[:start], head[end + 1 :]
        if isinstance(node, ast.ClassDef) and not body[0]:  # the empty line below the docstring
            body = body[1:]
    return "\n".join([*head, *body])


def _methods(node: _Definition) -> Iterator[ast.FunctionDef]:
    if isinstance(node, ast.ClassDef):
        yield from (one for one in node.body if isinstance(one, ast.FunctionDef))


def _signature(lines: list[str], method: ast.FunctionDef) -> list[str]:
    """Its lines from `def` to the colon, and dots for what follows."""
    head = lines[method.lineno - 1 : method.body[0].lineno - 1]
    end = next(number for number, line in enumerate(head) if line.rstrip().endswith(":"))
    return [*head[:end], f"{head[end]} ..."]


def _solutions(exercise: Exercise) -> Path:
    return find_lesson(exercise.lesson).module("solutions")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _definitions(text: str) -> dict[str, _Definition]:
    return {node.name: node for node in ast.parse(text).body if isinstance(node, _Definition)}
