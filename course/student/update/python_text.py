"""The text of a module, and where in it everything stands.

A merge changes a few places of a student's text and leaves every other character as it is, so
comments, quotes and line lengths survive. Whether something was changed is asked of the syntax
tree, in which layout does not count.
"""

import ast
import codecs
import io
import re
import tokenize
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Unreadable(Exception):
    """Why a file cannot be merged, as the rest of a sentence."""


@dataclass(frozen=True)
class Layout:
    """What a text loses while it is merged: its byte order mark, and how its lines end."""

    mark: bytes
    end: str

    def encode(self, text: str) -> bytes:
        return self.mark + text.encode("utf-8")


def decode(data: bytes) -> tuple[str, Layout]:
    """The text of a file, its line ends as they are.

    Raises:
        Unreadable: it is not UTF-8.
    """
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8 text") from None
    windows = text.count("\r\n") * 2 > text.count("\n")
    return text, Layout(mark, "\r\n" if windows else "\n")


@dataclass(frozen=True)
class Item:
    """One statement of a block, with the comments right above it.

    Attributes:
        key: what it is called: the same in all versions of a file.
        shape: what it is; layout and comments do not count.
        first: its first line, from 1, with its decorators and the comments right above.
        last: its last line.
        comments: all comments on these lines.
        tangled: it shares a line with another statement.
    """

    key: tuple
    node: ast.stmt
    shape: object = field(repr=False)
    first: int
    last: int
    comments: tuple[str, ...]
    tangled: bool

    @property
    def is_definition(self) -> bool:
        return isinstance(self.node, _DEFINITIONS)

    def is_as(self, other: "Item") -> bool:
        """Whether both are the same, comments included."""
        return (self.shape, self.comments) == (other.shape, other.comments)

    def is_untouched(self, base: "Item") -> bool:
        """Whether nothing was written into it; comments may have been taken away."""
        return self.shape == base.shape and set(self.comments) <= set(base.comments)


class Source:
    """A module's text, its syntax tree, and the way from one to the other.

    Raises:
        Unreadable: it is not valid Python.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            with warnings.catch_warnings():  # of the student's code, not of ours
                warnings.simplefilter("ignore")
                self.tree = ast.parse(text)
            self._tokens = list(tokenize.generate_tokens(io.StringIO(text, newline="").readline))
        except SyntaxError as error:
            raise Unreadable(f"is not valid Python (line {error.lineno or 1})") from None
        except (ValueError, RecursionError, MemoryError, tokenize.TokenError):
            raise Unreadable("is not valid Python") from None
        if re.search("\r(?!\n)|\f", text):
            raise Unreadable("has lines that end in an unusual way")
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._comments = {
            token.start[0]: token.string.rstrip()
            for token in self._tokens
            if token.type == tokenize.COMMENT
        }

    def items(self, body: list[ast.stmt]) -> list[Item]:
        """The statements of a block."""
        found: list[Item] = []
        seen: dict[tuple, int] = {}
        for index, node in enumerate(body):
            first = self._with_comments_above(_first_line(node), body[index - 1] if index else None)
            before = index and body[index - 1].end_lineno >= _first_line(node)
            after = index + 1 < len(body) and _first_line(body[index + 1]) <= node.end_lineno
            inline = not before and self.indent_of(node) is None
            name = _name(node)
            seen[name] = seen.get(name, 0) + 1
            found.append(
                Item(
                    key=(*name, seen[name]),
                    node=node,
                    shape=shape(node),
                    first=first,
                    last=node.end_lineno,
                    comments=tuple(
                        self._comments[line]
                        for line in range(first, node.end_lineno + 1)
                        if line in self._comments
                    ),
                    tangled=bool(before or after or inline),
                )
            )
        return found

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def offset(self, line: int, column: int = 0) -> int:
        """Where a line and a column (in bytes, as a syntax tree counts) are in the text."""
        start = self._starts[line - 1]
        text = self.lines[line - 1]
        return start + (column if text.isascii() else len(text.encode()[:column].decode()))

    def end_of_line(self, line: int) -> int:
        """Where the text of a line ends, before its line end."""
        return self._starts[line - 1] + len(self.lines[line - 1].removesuffix("\r"))

    def after_line(self, line: int) -> int:
        """Where a line is over, with its line end if it has one."""
        return self.offset(line + 1) if line < len(self.lines) else self.end_of_line(line)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where something begins and ends."""
        return (
            self.offset(node.lineno, node.col_offset),
            self.offset(node.end_lineno, node.end_col_offset),
        )

    def whole_lines(self, item: Item) -> tuple[int, int]:
        """Where the lines of a statement begin, and where the last of them ends."""
        return self.offset(item.first), self.end_of_line(item.last)

    def header_span(self, node: Definition) -> tuple[int, int]:
        """From `def` or `class` up to the colon, and with it."""
        depth = 0
        start = self.offset(node.lineno, node.col_offset)
        for token in self._tokens:
            at = self._starts[token.start[0] - 1] + token.start[1]
            if at < start or token.type != tokenize.OP:
                continue
            if token.string == ":" and depth == 0:
                return start, at + 1
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(token.string, 0)
        raise Unreadable("is not valid Python")

    def indent_of(self, node: ast.stmt) -> str | None:
        """The blanks before a statement, or None if something else stands there."""
        before = self.text[self._starts[node.lineno - 1] : self.span(node)[0]]
        return None if before.strip(" \t") else before

    def blank_lines_above(self, item: Item) -> int:
        line = item.first - 1
        while line > 0 and not self.lines[line - 1].strip():
            line -= 1
        return item.first - 1 - line

    def _with_comments_above(self, line: int, previous: ast.stmt | None) -> int:
        lowest = previous.end_lineno if previous else 0
        while line - 1 > lowest and self.lines[line - 2].lstrip().startswith("#"):
            line -= 1
        return line


def rewritten(text: str, edits: Iterable[tuple[int, int, str]], end: str) -> str:
    """A text with some places replaced; what is new gets the text's own line ends.

    Edits at the same place are made in the order given.
    """
    pieces, done = [], 0
    for start, stop, new in sorted(edits, key=lambda edit: edit[0]):
        if start < done:
            raise Unreadable("would need two changes at the same place")
        pieces += [text[done:start], new.replace("\r\n", "\n").replace("\n", end)]
        done = stop
    return "".join([*pieces, text[done:]])


def reindented(text: str, old: str, new: str) -> str:
    """Lines that were indented by `old`, indented by `new`; with tabs, if those are tabs."""
    if old == new:
        return text

    def move(line: str) -> str:
        if not line.startswith(old) or not line.strip():
            return line
        rest = line[len(old) :]
        if "\t" in new:
            deeper = (len(rest) - len(rest.lstrip(" "))) // 4
            rest = "\t" * deeper + rest[4 * deeper :]
        return new + rest

    return "\n".join(map(move, text.split("\n")))


def shape(node: ast.stmt) -> object:
    """What a statement is, without its layout; for a docstring its indentation is layout too."""
    if not isinstance(node, _DEFINITIONS):
        return ast.dump(node)
    decorators = tuple(map(ast.dump, node.decorator_list))
    inner = tuple(map(shape, without_docstring(node)))
    return type(node).__name__, node.name, signature(node), decorators, docstring(node), inner


def signature(node: Definition) -> tuple[str, ...]:
    """What a function takes and returns, or what a class is derived from."""
    kind = type(node).__name__
    parameters = [ast.dump(one) for one in getattr(node, "type_params", [])]
    if isinstance(node, ast.ClassDef):
        return kind, *map(ast.dump, [*node.bases, *node.keywords]), *parameters
    returns = ast.dump(node.returns) if node.returns else ""
    return kind, ast.dump(node.args), returns, *parameters


def docstring(node: Definition | ast.Module) -> str | None:
    """A docstring as a reader sees it: indentation and blanks at the ends of lines do not count."""
    text = ast.get_docstring(node, clean=False)
    if text is None:
        return None
    return "\n".join(line.strip() for line in text.strip().split("\n"))


def without_docstring(node: Definition | ast.Module) -> list[ast.stmt]:
    """The statements of a body, after the docstring."""
    return node.body if docstring(node) is None else node.body[1:]


def _name(node: ast.stmt) -> tuple[str, str]:
    """What a statement is called: definitions and constants by name, others by their shape."""
    if isinstance(node, _DEFINITIONS):
        return "definition", node.name
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    assigned = isinstance(node, ast.Assign | ast.AnnAssign) and len(targets) == 1
    if assigned and isinstance(targets[0], ast.Name):
        return "constant", targets[0].id
    return "statement", ast.dump(node)


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
