"""Modules that may hold code which nobody can see: text or numbers that are made code as they run.

Such code is compared with nobody's: of `exec(zlib.decompress(...))` neither `copies` nor `answers`
sees what it runs. Honest modules have no need of it, but may have a reason: so it is something to
look at. Not every way is known here.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from course.grading.similarity.source import Source, read_source
from course.syllabus import stub_of

LONG = 200
"""Characters of text that looks encoded, all together."""
MANY = 100
"""Small whole numbers, one after another."""
MIN_WORD, MIN_VARIETY = 40, 8
"""A word of text that looks encoded is longer than words are, and no line of dashes."""

_EVALUATES = re.compile(
    r"(?<!def )(?<![\w.])(exec|eval|compile|marshal|builtins|__builtins__|__import__)\b(?! *=[^=])"
)
_STRING = re.compile(r"([A-Za-z]{0,2})('(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?)")
_ENCODED = re.compile(r"[A-Za-z0-9+/=\\]+")
_NUMBERS = re.compile(r"(?:(?:\d{1,3}|0x[0-9a-fA-F]{1,2})\s*+,\s*+)++")
_DECLARED = re.compile(r"(?:.*\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]{1,40})", re.ASCII)
_USUAL = ("utf-8", "utf8", "utf_8", "ascii", "us-ascii", "latin-1", "iso-8859-1", "cp1252")


def find_concealment(stem: str, modules: Iterable[tuple[str, Source]]) -> Iterator[tuple[str, str]]:
    """Yield a sentence for each module in which code may be concealed, and its student."""
    stub = read_source(stub_of(stem))
    known = {*stub.lines, *stub.docstrings}
    for student, module in modules:
        if signs := list(_signs(module, known)):
            yield (
                f"`{stem}.py` has {' and '.join(signs)}: what code it may make of that is compared "
                "with nobody's.",
                student,
            )


def _signs(module: Source, known: set[str]) -> Iterator[str]:
    code = "\n".join(line for line in module.lines if line not in known)
    plain = unicodedata.normalize("NFKC", code)  # as Python does to names
    for name in sorted(set(_EVALUATES.findall(_STRING.sub(_evaluated, plain)))):
        yield f"`{name}`"
    literals = [found[2] for found in _STRING.finditer(code)]
    literals += [text for text in module.docstrings if text not in known]
    if sum(map(_n_encoded, literals)) >= LONG:
        yield "a long text that looks encoded"
    if code.count(",") >= MANY and any(
        numbers.count(",") >= MANY for numbers in _NUMBERS.findall(code)
    ):
        yield "a long list of numbers"
    declared = _DECLARED.match(module.text)
    if declared and declared[1].lower() not in _USUAL:
        yield f"the encoding `{declared[1]}`"


def _evaluated(string: re.Match) -> str:
    """Return what of a string is code: in an f-string, the expressions in braces."""
    return " ".join(re.findall(r"\{([^{}]*)", string[2])) if "f" in string[1].lower() else "''"


def _n_encoded(literal: str) -> int:
    """Count the characters that look encoded: words too long for words, but no addresses."""
    words = (word.strip("'\"") for word in literal.split() if len(word) >= MIN_WORD)
    return sum(
        len(word)
        for word in words
        if len(set(word)) > MIN_VARIETY
        and "://" not in word
        and (_ENCODED.fullmatch(word) or (word.isascii() and len(word) >= LONG))
    )
