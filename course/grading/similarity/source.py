"""A module that was handed in, as far as it can be read without Python's parser.

What is read may be hostile: endless, deeply nested, or no Python at all. Regular expressions that
take linear time read it, and nothing is parsed or run.
"""

import functools
import keyword
import re
import zlib
from dataclasses import dataclass

MAX_TOKENS = 5_000
"""Of one module; those of the lessons have fewer than 1,000."""

_NOT_CODE = re.compile(
    r"#.*"
    r"|'''(?:[^'\\]+|\\[\s\S]|'(?!''))*(?:'''|\\?\Z)"
    r'|"""(?:[^"\\]+|\\[\s\S]|"(?!""))*(?:"""|\\?\Z)'
    r"|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?"
)
_TOKEN = re.compile(
    r"(?P<string>[A-Za-z]{0,2}(?:'(?:\\.|[^'\\])*'?|\"(?:\\.|[^\"\\])*\"?))"
    r"|(?P<kept>(?<=\.)(?<!self\.)[^\W\d]\w*|\d[\w.]*)"  # .chunk, 0.02
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>[^\s(),;\\])"
)


@dataclass(frozen=True)
class Source:
    """A module, read.

    Attributes:
        text: all of it, with plain line ends.
        lines: its lines without indentation, comments and docstrings.
    """

    text: str
    lines: list[str]


def read_source(module: bytes) -> Source:
    """Read a module. It need not parse, and where it cannot be decoded, signs stand for that."""
    encoding = "utf-16" if module[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = module.decode(encoding, errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    return Source(text, [line.strip() for line in _NOT_CODE.sub(_blank, text).split("\n")])


def _blank(match: re.Match) -> str:
    """Return line ends in the place of a docstring, nothing for a comment; strings stay."""
    found = match[0]
    if found.startswith(("'''", '"""')):
        return "\n" * found.count("\n")
    return "" if found.startswith("#") else found


@functools.lru_cache(maxsize=1 << 16)
def tokens_of(line: str) -> tuple[int, ...]:
    """Return a number for each token of a line: one for all names, one for all strings.

    What formatters add and remove, round brackets, commas and line breaks, is no token.

    >>> tokens_of("x1, x2 = (x.chunk(2,))") == tokens_of("a,b=c.chunk( 2 )")
    True
    """
    tokens = []
    for match in _TOKEN.finditer(line[:MAX_TOKENS]):
        kind, text = match.lastgroup, match[0]
        if kind == "string" or (kind == "name" and not keyword.iskeyword(text)):
            text = kind
        tokens.append(zlib.crc32(text.encode("utf-8", errors="replace")))
    return tuple(tokens)
