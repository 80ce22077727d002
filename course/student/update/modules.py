"""A module of exercises, merged definition by definition.

What the student did not touch becomes the new version. What they wrote keeps its body, and gets
the new docstring and signature where they had not changed these. Helpers of theirs stay.
"""

import ast

from course.student.update.definitions import Draft, Three, merge_definition
from course.student.update.imports import is_import, unite_imports
from course.student.update.merged import Merged
from course.student.update.python_text import (
    Item,
    Source,
    Unreadable,
    decode,
    docstring,
    reindented,
    without_docstring,
)
from course.student.update.renames import renamed, renames


def merge_module(base: bytes, theirs: bytes, mine: bytes) -> Merged:
    """The student's module with what changed from base to theirs.

    Raises:
        Unreadable: the student's file is not valid Python, or would not be after the merge.
    """
    text, layout = decode(mine)
    old, new = (Source(_plain(version)) for version in (base, theirs))
    names = renames(old, new)
    three = Three(renamed(old, names), new, Draft(renamed(Source(text), names), layout.end))
    draft = three.draft
    if draft.mine.text != text:
        draft.notes += [f"{old_name} is called {name} now" for old_name, name in names.items()]
    _merge_module_docstring(three)
    _merge_block(three, three.base.tree, new.tree, draft.mine.tree, "")
    result = draft.text()
    if result != text:
        Source(result)
    return Merged(
        layout.encode(result), tuple(draft.notes), tuple(draft.conflicts), tuple(draft.warnings)
    )


def _merge_module_docstring(three: Three) -> None:
    trees = [source.tree for source in (three.base, three.theirs, three.mine)]
    base, theirs, mine = map(docstring, trees)
    if theirs in (base, mine) or theirs is None:
        return
    if mine != base or mine is None:
        three.draft.conflicts.append("you and the course both changed the text at the top")
        return
    start, end = three.theirs.span(trees[1].body[0])
    span = three.mine.span(trees[2].body[0])
    three.draft.edits.append((*span, three.theirs.text[start:end]))
    three.draft.notes.append("a new text at the top")


def _merge_block(
    three: Three,
    base: ast.Module | ast.ClassDef,
    theirs: ast.Module | ast.ClassDef,
    mine: ast.Module | ast.ClassDef,
    owner: str,
) -> None:
    """Merge what a module or a class holds; `owner` is the name of the class with a dot."""
    blocks = [
        source.items(without_docstring(node))
        for source, node in ((three.base, base), (three.theirs, theirs), (three.mine, mine))
    ]
    if not owner:
        unite_imports(three, *blocks)
    olds, news, owns = (
        {item.key: item for item in items if not is_import(item)} for items in blocks
    )
    for key, new in news.items():
        old, own = olds.get(key), owns.get(key)
        called = _called(new, owner)
        if own is None and old is None:
            _insert(three, new, news, owns, mine, owner)
            three.draft.notes.append(f"{called} is new")
        elif own is None:
            if not new.is_as(old):
                three.draft.conflicts.append(f"you removed {called}, which the course changed")
        elif old and (new.is_as(old) or own.is_as(new)):
            continue
        elif old and own.is_untouched(old) and not own.tangled:
            _replace(three, new, own)
            three.draft.notes.append(f"a new {called}")
        elif own.shape == new.shape:
            continue
        elif old is None:
            _two_of_a_name(three, new, own, called)
        else:
            _merge_item(three, old, new, own, called)
    for key, old in olds.items():
        if key in owns and key not in news:
            _remove(three, old, owns[key], _called(old, owner))


def _merge_item(three: Three, old: Item, new: Item, own: Item, called: str) -> None:
    kinds = {type(item.node) for item in (old, new, own)}
    if kinds == {ast.ClassDef}:
        merge_definition(three, old, new, own, called)
        _merge_block(three, old.node, new.node, own.node, f"{own.node.name}.")
    elif kinds <= {ast.FunctionDef, ast.AsyncFunctionDef}:
        merge_definition(three, old, new, own, called)
    else:
        three.draft.conflicts.append(f"you and the course both changed {called}")


def _two_of_a_name(three: Three, new: Item, own: Item, called: str) -> None:
    """Something new in the course that the student has already, otherwise."""
    heads = [
        (docstring(item.node), type(item.node)) if item.is_definition else item.shape
        for item in (new, own)
    ]
    if heads[0] != heads[1]:  # else it came with an update before, and was filled in since
        three.draft.conflicts.append(f"the course has a {called} now, and so have you")


def _replace(three: Three, new: Item, own: Item) -> None:
    text = three.theirs.text[slice(*three.theirs.whole_lines(new))]
    indents = three.theirs.indent_of(new.node), three.mine.indent_of(own.node)
    three.draft.edits.append((*three.mine.whole_lines(own), reindented(text, *indents)))


def _remove(three: Three, old: Item, own: Item, called: str) -> None:
    """What the course has no more goes if the student did nothing with it."""
    if not own.is_untouched(old) or own.tangled:
        three.draft.warnings.append(f"the course has no {called} any more; yours stays")
        return
    source, last = three.mine, own.last
    while last < len(source.lines) - 1 and not source.lines[last].strip():
        last += 1
    three.draft.edits.append((source.offset(own.first), source.after_line(last), ""))
    three.draft.notes.append(f"{called} is gone")


def _insert(
    three: Three,
    new: Item,
    news: dict[tuple, Item],
    owns: dict[tuple, Item],
    block: ast.Module | ast.ClassDef,
    owner: str,
) -> None:
    """Put something new behind what stands before it in the course's version."""
    source, theirs, keys = three.mine, three.theirs, list(news)
    text = theirs.text[slice(*theirs.whole_lines(new))]
    if owner:
        own_indent = source.indent_of(block.body[-1])
        if own_indent is None:
            raise Unreadable(f"has {owner[:-1]} written in an unusual way")
        text = reindented(text, theirs.indent_of(new.node), own_indent)
    position = keys.index(new.key)
    before = next((owns[key] for key in reversed(keys[:position]) if key in owns), None)
    after = next((owns[key] for key in keys[position:] if key in owns), None)
    blank = "\n" * theirs.blank_lines_above(new)
    if before:
        at = source.end_of_line(before.last)
        edit = (at, at, f"\n{blank}{text}")
    elif after:
        at = source.offset(after.first)
        gap = "\n" * (theirs.blank_lines_above(news[after.key]))
        edit = (at, at, f"{text}\n{gap}")
    else:
        at = source.end_of_line(block.body[-1].end_lineno) if block.body else len(source.text)
        edit = (at, at, f"\n{blank}{text}" if block.body else f"{text}\n")
    three.draft.edits.append(edit)


def _called(item: Item, owner: str) -> str:
    kind, name, _ = item.key
    return f"{owner}{name}" if kind != "statement" else f"line {item.node.lineno}"


def _plain(version: bytes) -> str:
    return decode(version)[0].replace("\r\n", "\n")
