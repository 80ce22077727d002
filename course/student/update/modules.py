"""A module of exercises, merged definition by definition.

What the student did not touch becomes the new version. What they wrote keeps its body, and gets
the new signature, docstring and checks where they had not changed these. Helpers of theirs stay.

A text is split into pieces of whole lines, and a merge puts some pieces of the new version in the
place of the student's: every other character of theirs stays. Whether something was changed is
asked of the syntax tree, in which layout does not count.
"""

import ast
import copy
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from course.student.update.merging import Merged, Unreadable, decode, merged

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Part(NamedTuple):
    """A signature or a docstring: what it is, its lines, and the lines between it and those above.

    One that is not there has no shape.
    """

    shape: str = ""
    text: str = ""
    gap: str = ""


@dataclass(frozen=True)
class Node:
    """A module, or a statement with the blank lines and comments above it.

    Attributes:
        shape: what it is, without layout and comments; two nodes are equal if these are.
        key: what it is called, the same in all versions of a file.
        kind: "module", "class", "function" or, of all else, "".
        gap: the lines above.
        signature: up to the docstring; of a simple statement everything.
        docstring: its own docstring.
        body: the statements after the docstring.
        end: the lines after the last statement of a module, the comments after that of another.
    """

    shape: str
    key: tuple = field(compare=False)
    kind: str = field(default="", compare=False)
    gap: str = field(default="", compare=False)
    signature: Part = field(default=Part(), compare=False)
    docstring: Part = field(default=Part(), compare=False)
    body: tuple["Node", ...] = field(default=(), compare=False)
    end: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """Return its lines, without those above."""
        docstring = self.docstring.gap + self.docstring.text
        return self.signature.text + docstring + _lines(self.body) + self.end


def merge_module(base: bytes, theirs: bytes, mine: bytes) -> Merged:
    """Return the student's module with what changed from base to theirs.

    Raises:
        Unreadable: the student's file is not valid Python, or would not be after the merge.
    """
    text, encode = decode(mine)
    whole = text if text.endswith("\n") else f"{text}\n"
    own = read(whole)
    old, new = (read(_indented_as(own, decode(version)[0])) for version in (base, theirs))
    merge = _Merge()
    result = merge.definition(old, new, own, "the module")
    if result == whole:
        return Merged(mine, (), tuple(merge.conflicts), tuple(merge.warnings))
    try:
        read(result)
    except Unreadable:
        raise Unreadable("does not fit the new version") from None
    data = encode(result if whole == text else result.removesuffix("\n"))
    return Merged(data, tuple(merge.notes), tuple(merge.conflicts), tuple(merge.warnings))


class _Conflict(Exception):
    """A part that both sides changed."""


class _Merge:
    """A merge under way: each method returns text of the student's with what is new in it."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.conflicts: list[str] = []
        self.warnings: list[str] = []

    def block(self, old: Node, new: Node, own: Node, owner: str) -> str:
        """Merge what a module or a class holds; `owner` is the name of the class with a dot."""
        olds, news, owns = ({node.key: node for node in one.body} for one in (old, new, own))
        result = {node.key: node.gap + node.text for node in own.body}
        order = list(result)
        for key, after in news.items():
            if key[0] == "import":
                continue
            before, mine, called = olds.get(key), owns.get(key), _called(key, owner)
            if mine:
                result[key] = self.node(before, after, mine, called)
            elif before is None:
                order.insert(_place(key, list(news), order), key)
                result[key] = after.gap + after.text
                self.notes.append(f"{called} is new")
            elif not _is_as(before, after):
                self.conflicts.append(f"you removed {called}, which the course changed")
        for key, before in olds.items():
            if key in owns and key not in news and key[0] != "import":
                mine, called = owns[key], _called(key, owner)
                if _is_untouched(before, mine):
                    result[key] = mine.gap if _adds_comments(before.gap, mine.gap) else ""
                    self.notes.append(f"{called} is gone")
                else:
                    self.warnings.append(
                        f"the course has no {called} any more; yours stays: if its name changed, "
                        "move your code"
                    )
        texts = [result[key] for key in order]
        if own.kind == "module":  # nothing that is imported is taken away
            have = {*_imports(old), *_imports(own)}
            added = [line for line in _imports(new) if line not in have]
            self.notes += [f"a new import: {line}" for line in added]
            above = len(list(takewhile(lambda key: key[0] == "import", order)))
            texts.insert(above, "".join(f"{line}\n" for line in added))
        return "".join(texts)

    def node(self, old: Node | None, new: Node, own: Node, called: str) -> str:
        """Merge one statement or definition, which the student has."""
        kinds = {new.kind, own.kind}
        if old is None:
            filled_in = kinds != {""} and own.docstring.shape == new.docstring.shape
            if own != new and not filled_in:  # else it came with an update before
                self.conflicts.append(f"the course has a {called} now, and so have you")
        elif _is_as(old, new) or _is_as(own, new):
            pass
        elif _is_untouched(old, own):
            self.notes.append(f"a new {called}")
            keeps = _adds_comments(old.gap, own.gap) or not _adds_comments(own.gap, new.gap)
            return (own.gap if keeps else new.gap) + new.text
        elif own == new:
            pass
        elif kinds | {old.kind} not in ({"function"}, {"class"}):
            self.conflicts.append(f"you and the course both changed {called}")
        else:
            return own.gap + self.definition(old, new, own, called)
        return own.gap + own.text

    def definition(self, old: Node, new: Node, own: Node, called: str) -> str:
        """Merge signature, docstring and body of a definition, each from who changed it."""
        parts, notes, body = [], [], _lines(own.body)
        try:
            for what in ("signature", "docstring"):
                versions = [getattr(node, what) for node in (old, new, own)]
                parts.append(_merged_part(what, *versions))
                notes += [f"a new {what} of {called}"] if parts[-1] != versions[2].text else []
            if own.kind == "function" and (body := _merged_body(old, new, own)) != _lines(own.body):
                notes.append(f"new lines in the body of {called}")
        except _Conflict as conflict:
            self.conflicts.append(f"you and the course both changed the {conflict} of {called}")
            parts, notes = [own.signature.text, own.docstring.text], []
        self.notes += notes
        if own.kind != "function":
            body = self.block(old, new, own, f"{called}." if own.kind == "class" else "")
        return parts[0] + own.docstring.gap + parts[1] + body + own.end


def _merged_part(what: str, old: Part, new: Part, own: Part) -> str:
    if new.shape in ("", old.shape, own.shape):  # an old docstring does no harm
        return own.text
    if not _is_untouched(old, own):
        raise _Conflict(what)
    return new.text


def _merged_body(old: Node, new: Node, own: Node) -> str:
    """Return the body of a function: the course's checks change, the student's lines stay."""
    nodes = own.body if old.body == new.body else merged(old.body, new.body, own.body)
    if nodes is None or _adds_comments(old.text + _lines(nodes), _lines(own.body)):
        raise _Conflict("body")
    return _lines(nodes)


def _place(key: tuple, news: list[tuple], order: list[tuple]) -> int:
    """Return where something new goes: behind what stands before it in the course's version."""
    at = news.index(key)
    for before in reversed(news[:at]):
        if before in order:
            return order.index(before) + 1
    return next((order.index(after) for after in news[at:] if after in order), len(order))


def _called(key: tuple, owner: str) -> str:
    return f"{owner}{key[1]}".split("\n")[0][:60]


def _imports(module: Node) -> list[str]:
    return [line for node in module.body if node.key[0] == "import" for line in node.key[1]]


def _is_as(one: Node, other: Node) -> bool:
    comments = [re.findall(r"#.*", node.gap + node.text) for node in (one, other)]
    return one == other and comments[0] == comments[1]


def _is_untouched(base: Node | Part, own: Node | Part) -> bool:
    """Return whether nothing was written into it; comments may have been taken away."""
    return base.shape == own.shape and not _adds_comments(base.text, own.text)


def _adds_comments(base: str, own: str) -> bool:
    return bool(_comments(own) - _comments(base))


def _comments(text: str) -> set[str]:
    return {comment.rstrip() for comment in re.findall(r"#.*", text)}


def _lines(nodes: list[Node] | tuple[Node, ...]) -> str:
    return "".join(node.gap + node.text for node in nodes)


def _indented_as(own: Node, text: str) -> str:
    """Return a text of the course, each four blanks replaced by what the student indents by."""
    inner = "".join(node.docstring.text + _lines(node.body) for node in own.body)
    found = re.search(r"^[ \t]+(?=\S)", inner, re.M)
    indent = found[0] if found else "    "
    return re.sub(r"^(?: {4})+", lambda four: indent * (len(four[0]) // 4), text, flags=re.M)


# --- a text, split --------------------------------------------------------------------------


def read(text: str) -> Node:
    """Split a module, whose last line ends.

    Raises:
        Unreadable: it is not valid Python.
    """
    if re.search("\r(?!\n)", text):
        raise Unreadable("has lines that end in an unusual way")
    try:
        with warnings.catch_warnings():  # of the student's code, not of ours
            warnings.simplefilter("ignore")
            return _split_module(text)
    except SyntaxError as error:
        raise Unreadable(f"is not valid Python (line {error.lineno or 1})") from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("is not valid Python") from None


def _split_module(text: str) -> Node:
    tree = ast.parse(text)
    for node in ast.walk(tree):  # how a docstring is indented is layout too
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and ast.get_docstring(node, False):
            docstring = node.body[0].value
            lines = docstring.value.strip().split("\n")
            docstring.value = "\n".join(line.strip() for line in lines)
    lines = [f"{line}\n" for line in text.split("\n")[:-1]]
    part, nodes, end = _split_body(lines, tree.body, 0)
    return Node(ast.dump(tree), (), "module", "", Part(), part, nodes, "".join(lines[end:]))


def _split_body(
    lines: list[str], body: list[ast.stmt], end: int
) -> tuple[Part, tuple[Node, ...], int]:
    """Split a block that begins after line `end` into its docstring and its statements.

    Returns:
        Both, and the last line that belongs to them.
    """
    groups: list[list[ast.stmt]] = []
    for node in body:
        if groups and _first(node) <= groups[-1][-1].end_lineno:
            groups[-1].append(node)  # it shares a line with the one before
        else:
            groups.append([node])
    part, nodes, seen = Part(), [], Counter()
    for group in groups:
        first, last = _first(group[0]) - 1, group[-1].end_lineno
        gap = "".join(lines[end:first])
        end = last
        while re.match(rf"[ \t]{{{group[0].col_offset + 1},}}#", "".join(lines[end : end + 1])):
            end += 1  # a comment that is still inside
        value = group[0].value if isinstance(group[0], ast.Expr) else None
        if group == body[:1] and isinstance(value, ast.Constant) and isinstance(value.value, str):
            part, end = Part(f"docstring {value.value}", "".join(lines[first:last]), gap), last
            continue
        name = _name(group)
        seen[name] += 1
        nodes.append(_split(lines, group, end, (*name, seen[name]), gap))
    return part, tuple(nodes), end


def _split(lines: list[str], group: list[ast.stmt], end: int, key: tuple, gap: str) -> Node:
    """Make a node of statements that begin on one line; `end` is the last that belongs to it."""
    node, first = group[0], _first(group[0]) - 1
    shape = "; ".join(map(ast.dump, group))
    if key[0] != "definition":
        return Node(shape, key, "", gap, Part(shape, "".join(lines[first:end])))
    kind = "class" if isinstance(node, ast.ClassDef) else "function"
    inner = node.body[0]
    if lines[inner.lineno - 1][: inner.col_offset].strip():  # all on one line
        return Node(shape, key, kind, gap, Part(shape, "".join(lines[first:end])))
    start = _first(inner) - 1
    while not lines[start - 1].strip() or lines[start - 1].lstrip().startswith("#"):
        start -= 1
    head = copy.copy(node)
    head.body = []
    signature = Part(ast.dump(head), "".join(lines[first:start]))
    docstring, body, inner_end = _split_body(lines, node.body, start)
    tail = "".join(lines[inner_end:end])
    return Node(shape, key, kind, gap, signature, docstring, body, tail)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])


def _name(group: list[ast.stmt]) -> tuple:
    """Return what statements are called: definitions and constants by name, others by shape."""
    node = group[0]
    if len(group) == 1 and isinstance(node, _DEFINITIONS):
        return "definition", node.name
    if len(group) == 1 and isinstance(node, ast.Import | ast.ImportFrom):
        single = [copy.copy(node) for _ in node.names]
        for one, name in zip(single, node.names, strict=True):
            one.names = [name]
        return "import", tuple(map(ast.unparse, single))
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    assigned = isinstance(node, ast.Assign | ast.AnnAssign) and len(group) == len(targets) == 1
    if assigned and isinstance(targets[0], ast.Name):
        return "constant", targets[0].id
    return "statement", "; ".join(map(ast.unparse, group))
