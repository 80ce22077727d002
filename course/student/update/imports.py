"""The imports of the student and of the course, united."""

import ast
import itertools

from course.student.update.definitions import Three
from course.student.update.python_text import Item


def unite_imports(three: Three, base: list[Item], theirs: list[Item], mine: list[Item]) -> None:
    """Add to the student's module what the course imports newly; nothing is taken away."""
    had, have = _names(base), _names(mine)
    old = {_module(item.node): item for item in filter(is_import, base)}
    own = {_module(item.node): item for item in filter(is_import, mine)}
    added = []
    for item in filter(is_import, theirs):
        missing = [one for one in _names([item]) if one not in had and one not in have]
        if not missing:
            continue
        source, module = item.node, _module(item.node)
        same = module in old and module in own and own[module].shape == old[module].shape
        if same and not own[module].tangled and isinstance(source, ast.ImportFrom):
            text = three.theirs.text[slice(*three.theirs.span(source))]
            three.draft.edits.append((*three.mine.span(own[module].node), text))
        else:
            added.append(_statement(source, missing))
        three.draft.notes.append(f"a new import of {', '.join(one[-1] for one in missing)}")
    if added:
        _insert(three, mine, added)


def is_import(item: Item) -> bool:
    return isinstance(item.node, ast.Import | ast.ImportFrom)


def _names(items: list[Item]) -> list[tuple]:
    """What is imported: (module, name, name here, shown)."""
    return [
        (_module(item.node), one.name, one.asname or one.name)
        for item in filter(is_import, items)
        for one in item.node.names
    ]


def _module(node: ast.stmt) -> str | None:
    """Where names are imported from; None for `import torch`."""
    return "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else None


def _statement(node: ast.stmt, missing: list[tuple]) -> str:
    names = ", ".join(name if name == here else f"{name} as {here}" for _, name, here in missing)
    if isinstance(node, ast.ImportFrom):
        return f"from {_module(node)} import {names}"
    return "\n".join(f"import {name}" for name in names.split(", "))


def _insert(three: Three, mine: list[Item], added: list[str]) -> None:
    """After the imports at the top; without any, after the docstring."""
    source, text = three.mine, "\n".join(added)
    above = list(itertools.takewhile(is_import, mine))
    if above and not above[-1].tangled and "__future__" not in text:
        at = source.end_of_line(above[-1].last)
        edit = (at, at, f"\n{text}")
    elif mine and not mine[0].tangled:
        at = source.offset(mine[0].first)
        edit = (at, at, f"{text}\n" if above else f"{text}\n\n")
    else:
        at = len(source.text)
        edit = (at, at, f"\n{text}\n")
    three.draft.edits.append(edit)
