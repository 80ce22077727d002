"""Find the answers that the course itself publishes: the reference, or its other style.

A finding is something to look at, never a verdict: two people can find the same right answer.

Names of variables, comments and layout don't count. So a short answer proves nothing and is left
out, unless a module has all answers of its lesson word for word, with the comments.

Modules may be hostile: endless, deeply nested, or not Python at all. They are read with regular
expressions that take linear time, and nothing is parsed or run.
"""

import ast
import codecs
import functools
import io
import keyword
import re
import tokenize
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from course.core.syllabus import find_lesson
from course.publishing import showing

MIN_TOKENS = 55
"""The shortest answer that is looked for. Two of 24 natural answers to exercises of this length
were the reference's, and 29 of 77 shorter ones."""
MAX_TOKENS = 5_000
"""The tokens of a module that are read; those of the lessons have fewer than 1,000."""

_SLOW_ENCODINGS = {"punycode", "idna"}
"""Decoding them takes quadratic time."""
_CHECK = re.compile(r"^ *_\w+\(.*\)$", re.MULTILINE)
"""A helper of the catalogue that checks the arguments, as the stub does in its own words."""
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
class Published:
    """Published answers in a student's module.

    Attributes:
        lesson: the stem of the lesson.
        answers: the exercises, each in a few words; empty if the module has all of the
            reference's answers, word for word.
    """

    student: str
    lesson: str
    answers: tuple[str, ...]

    def __str__(self) -> str:
        if not self.answers:
            return f"`{self.lesson}.py` contains every answer of the reference, word for word"
        return f"`{self.lesson}.py` has published answers: {', '.join(self.answers)}"


def find_published(stem: str, modules: Mapping[str, bytes]) -> Iterator[Published]:
    """Yield the published answers of a lesson in each student's module, if it has any.

    Args:
        stem: the stem of the lesson.
        modules: the source of the module, by student.
    """
    answers, verbatim = {}, []
    for exercise in find_lesson(stem).exercises:
        verbatim += showing.answers(exercise)
        answers[f"`{exercise.name}`"] = showing.answers(exercise)
        if other := showing.another_style(exercise):
            answers[f"`{exercise.name}`, the other style"] = _bodies(other[1])
    long_ones = {}
    for name, texts in answers.items():
        parts = [*map(_tokens, texts)]
        if sum(map(len, parts)) >= MIN_TOKENS * array("I").itemsize:
            long_ones[name] = parts
    for student, module in modules.items():
        text = _decoded(module)
        tokens = _tokens(text)
        found = [name for name, parts in long_ones.items() if all(one in tokens for one in parts)]
        if all(part in text for part in verbatim):
            yield Published(student, stem, ())
        elif found:
            yield Published(student, stem, tuple(found))


def _bodies(code: str) -> list[str]:
    """Return the bodies, without checks, of what `course show --solution` prints as well."""
    node, lines = ast.parse(code).body[-1], code.splitlines()
    parts = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [one for one in parts if isinstance(one, ast.FunctionDef)]
    bodies = [lines[one.body[0].lineno - 1 : one.end_lineno] for one in functions]
    return [_CHECK.sub("", "\n".join(body)) for body in bodies]


def _decoded(module: bytes) -> str:
    """Return the text of a module in the encoding that it declares, as Python decodes it."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(module).readline)
        is_slow = codecs.lookup(encoding).name in _SLOW_ENCODINGS
        text = module.decode("utf-8" if is_slow else encoding, "replace")
    except (SyntaxError, LookupError, ValueError):  # not one of Python's text encodings
        text = module.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _tokens(text: str) -> bytes:
    """Return the tokens of a text, the first MAX_TOKENS or a few more, one by one."""
    found = array("I")
    for line in _NOT_CODE.sub(_blank, text).split("\n"):
        if len(found) >= MAX_TOKENS:
            break
        found.extend(_tokens_of(line.strip()))
    return found.tobytes()


def _blank(match: re.Match) -> str:
    """Return the line ends of a docstring, nothing for a comment, and a string as it is."""
    found = match[0]
    if found.startswith(("'''", '"""')):
        return "\n" * found.count("\n")
    return "" if found.startswith("#") else found


@functools.lru_cache(maxsize=1 << 16)
def _tokens_of(line: str) -> tuple[int, ...]:
    """Return a number for each token of a line: one for all names, one for all strings.

    What formatters add and remove, round brackets, commas and line breaks, is no token.

    >>> _tokens_of("x1, x2 = (x.chunk(2,))") == _tokens_of("a,b=c.chunk( 2 )")
    True
    """
    tokens = []
    for match in _TOKEN.finditer(line[:MAX_TOKENS]):
        kind, text = match.lastgroup, match[0]
        if kind == "string" or (kind == "name" and not keyword.iskeyword(text)):
            text = kind
        tokens.append(zlib.crc32(text.encode("utf-8", errors="replace")))
    return tuple(tokens)
