"""One function or class: its signature, its docstring and its body, each from who changed it."""

import ast
from dataclasses import dataclass, field

from course.student.update.python_text import (
    Definition,
    Item,
    Source,
    docstring,
    reindented,
    rewritten,
    shape,
    signature,
    without_docstring,
)
from course.student.update.sequences import changes_for

Edit = tuple[int, int, str]
"""Where something begins and ends in a text, and what takes its place."""


@dataclass
class Draft:
    """The student's text, and what is to be done to it.

    Attributes:
        end: how its lines end.
        edits: what goes where.
        notes: what came in, a few words each.
        conflicts: what could not be merged, the start of a sentence each.
        warnings: what was merged and may not fit, a sentence each.
    """

    mine: Source
    end: str
    edits: list[Edit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def text(self) -> str:
        return rewritten(self.mine.text, self.edits, self.end)


class _Conflict(Exception):
    """What both sides changed."""


@dataclass(frozen=True)
class Three:
    """The three versions of a file, read."""

    base: Source
    theirs: Source
    draft: Draft

    @property
    def mine(self) -> Source:
        return self.draft.mine


def merge_definition(three: Three, base: Item, theirs: Item, mine: Item, called: str) -> None:
    """Bring into a function of the student's what changed in the course's, or note a conflict.

    Of a class this is its head alone: its members are merged one by one.
    """
    parts = {
        "decorators": _decorators,
        "a new signature": _signature,
        "a new docstring": _docstring,
        "new lines in the body": _body,
    }
    if isinstance(mine.node, ast.ClassDef):
        del parts["new lines in the body"]
    draft, edits, notes = three.draft, [], []
    try:
        if mine.tangled:
            raise _Conflict("layout")
        for note, part in parts.items():
            new = part(three, base.node, theirs.node, mine.node)
            edits += new
            notes += [note] if new else []
    except _Conflict as conflict:
        draft.conflicts.append(f"you and the course both changed the {conflict} of {called}")
        return
    draft.edits += edits
    draft.notes += [f"{note} of {called}" for note in notes]
    if "a new signature" in notes:
        _warn_of_parameters(draft, base.node, theirs.node, mine.node, called)


def _warn_of_parameters(
    draft: Draft, base: Definition, theirs: Definition, mine: Definition, called: str
) -> None:
    """Say where the student's body uses what is no longer passed."""
    lost = _parameters(base).keys() - _parameters(theirs)
    used = {node.id for node in ast.walk(mine) if isinstance(node, ast.Name)}
    if missing := sorted(lost & used):
        takes = ", ".join(_parameters(theirs)) or "nothing"
        draft.warnings.append(
            f"{called} no longer takes {' and '.join(missing)}, which your body uses: "
            f"it takes {takes} now"
        )


def _decorators(three: Three, base: Definition, theirs: Definition, mine: Definition) -> list[Edit]:
    """What is above a definition is merged by hand: it is rare."""
    shapes = [list(map(ast.dump, one.decorator_list)) for one in (base, theirs, mine)]
    if shapes[0] != shapes[1] != shapes[2]:
        raise _Conflict("decorators")
    return []


def _signature(three: Three, base: Definition, theirs: Definition, mine: Definition) -> list[Edit]:
    """What it takes and returns."""
    if not _differs(signature(base), signature(theirs), signature(mine), "signature"):
        return []
    start, end = three.theirs.header_span(theirs)
    header = reindented(
        three.theirs.text[start:end], _indent(three.theirs, theirs), _indent(three.mine, mine)
    )
    return [(*three.mine.header_span(mine), header)]


def _docstring(three: Three, base: Definition, theirs: Definition, mine: Definition) -> list[Edit]:
    """What it says about itself."""
    if not _differs(docstring(base), docstring(theirs), docstring(mine), "docstring"):
        return []
    if docstring(theirs) is None:
        return []  # the old one does no harm
    start, end = three.theirs.span(theirs.body[0])
    text = three.theirs.text[start:end]
    old = _indent(three.theirs, theirs.body[0])
    first = mine.body[0]
    new = _indent(three.mine, first)
    if docstring(mine) is not None:
        return [(*three.mine.span(first), reindented(text, old, new))]
    at = three.mine.header_span(mine)[1]
    at = three.mine.end_of_line(three.mine.text.count("\n", 0, at) + 1)
    return [(at, at, f"\n{new}{reindented(text, old, new)}")]


def _body(three: Three, base: Definition, theirs: Definition, mine: Definition) -> list[Edit]:
    """What it does: the course's checks change, and the student's statements stay."""
    bases, new, own = (
        source.items(without_docstring(node))
        for source, node in ((three.base, base), (three.theirs, theirs), (three.mine, mine))
    )
    keys = [[shape(item.node) for item in items] for items in (bases, new, own)]
    if keys[0] == keys[1] or keys[2] == keys[1]:
        return []
    changes = changes_for(*keys)
    if changes is None or any(item.tangled for item in own):
        raise _Conflict("body")
    comments = {comment for item in bases for comment in item.comments}
    edits = []
    for first, end, their_first, their_end in changes:
        replaced = own[first:end]
        if any(set(item.comments) - comments for item in replaced):
            raise _Conflict("body")
        text = _lines_of(three.theirs, new[their_first:their_end])
        indent = _indent(three.mine, own[0].node) if own else None
        if indent is None:
            raise _Conflict("body")
        text = reindented(text, _indent(three.theirs, theirs.body[0]), indent)
        if replaced and text:
            span = three.mine.offset(replaced[0].first), three.mine.end_of_line(replaced[-1].last)
            edits.append((*span, text))
        elif replaced:
            edits.append((*_with_line_end(three.mine, replaced), ""))
        elif first < len(own):
            at = three.mine.offset(own[first].first)
            edits.append((at, at, f"{text}\n"))
        else:
            at = three.mine.end_of_line(own[-1].last)
            edits.append((at, at, f"\n{text}"))
    return edits


def _differs(base: object, theirs: object, mine: object, what: str) -> bool:
    """Whether theirs is to be taken.

    Raises:
        _Conflict: both changed it, and not alike.
    """
    if theirs in (base, mine):
        return False
    if mine != base:
        raise _Conflict(what)
    return True


def _indent(source: Source, node: ast.stmt) -> str:
    indent = source.indent_of(node)
    if indent is None:
        raise _Conflict("layout")
    return indent


def _lines_of(source: Source, items: list[Item]) -> str:
    if not items:
        return ""
    start, end = source.offset(items[0].first), source.end_of_line(items[-1].last)
    return source.text[start:end]


def _with_line_end(source: Source, items: list[Item]) -> tuple[int, int]:
    return source.offset(items[0].first), source.after_line(items[-1].last)


def _parameters(node: ast.stmt) -> dict[str, None]:
    """The names that a function takes, in order."""
    if isinstance(node, ast.ClassDef):
        return {}
    every = [*node.args.posonlyargs, *node.args.args, node.args.vararg, *node.args.kwonlyargs]
    return dict.fromkeys(one.arg for one in [*every, node.args.kwarg] if one)
