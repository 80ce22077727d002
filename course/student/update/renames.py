"""Exercises that got another name: the body goes along, and so do the calls in the file."""

import ast
import re
from difflib import SequenceMatcher

from course.student.update.python_text import Definition, Source, docstring, rewritten

ALIKE = 0.6
"""How much of docstring and parameters must be the same, from 0 to 1."""


def renames(base: Source, theirs: Source) -> dict[str, str]:
    """The new names of exercises, by their old ones."""
    before, after = _definitions(base), _definitions(theirs)
    gone = [node for name, node in before.items() if name not in after]
    new = [node for name, node in after.items() if name not in before]
    alike = sorted(
        ((_likeness(old, node), old.name, node.name) for old in gone for node in new),
        key=lambda pair: -pair[0],
    )
    found: dict[str, str] = {}
    for likeness, old, name in alike:
        if likeness >= ALIKE and old not in found and name not in found.values():
            found[old] = name
    return found


def renamed(source: Source, names: dict[str, str]) -> Source:
    """A module in which exercises are called otherwise: where defined, called and to do.

    A name stays where it is somebody else's: a parameter or a variable of a function.
    """
    defined = {name for name in _definitions(source)}
    names = {old: new for old, new in names.items() if old in defined and new not in defined}
    if not names:
        return source
    edits = list(_edits(source, source.tree, names))
    return Source(rewritten(source.text, edits, "\n" if "\r\n" not in source.text else "\r\n"))


def _edits(source: Source, node: ast.AST, names: dict[str, str]):
    """Every place where a name stands that means the exercise."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        names = {old: new for old, new in names.items() if old not in _own_names(node)}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and child.id in names:
            yield (*source.span(child), names[child.id])
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            to_do = re.fullmatch(r"TODO \w+\.(\w+)", child.value)
            if to_do and to_do[1] in names:
                start, end = source.span(child)
                text = source.text[start:end]
                yield start, end, text.replace(f".{to_do[1]}", f".{names[to_do[1]]}")
        elif isinstance(node, ast.Module) and getattr(child, "name", None) in names:
            start, end = source.header_span(child)
            at = start + re.search(rf"\b{child.name}\b", source.text[start:end]).start()
            yield at, at + len(child.name), names[child.name]
        yield from _edits(source, child, names)


def _own_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Parameters and variables of a function."""
    named = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    return named | {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def _definitions(source: Source) -> dict[str, Definition]:
    return {
        item.node.name: item.node for item in source.items(source.tree.body) if item.is_definition
    }


def _likeness(old: Definition, new: Definition) -> float:
    """How much of two definitions is the same, but for the name."""
    if type(old) is not type(new):
        return 0.0
    words = [_words(node, old.name, new.name) for node in (old, new)]
    return SequenceMatcher(None, *words, False).ratio()


def _words(node: Definition, old: str, new: str) -> list[str]:
    text = re.sub(rf"\b{old}\b", new, docstring(node) or "")
    parameters = [one.arg for one in ast.walk(node) if isinstance(one, ast.arg)]
    return [*parameters, *text.split()]
