"""Modules that hold an answer that the course itself publishes: the reference, or its other style.

That is something to look at, never a verdict: a right answer may be found twice. Two modules that
hold the reference are no pair of `copies`, for the reference is common ground there.

Names of variables, comments and layout do not count, as in `copies`, nor do line breaks, brackets
and commas, which formatters add and remove. So a short answer proves nothing, and is left out. All
answers of a lesson word for word, with the comments, are another matter, however short.
"""

import ast
import functools
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from course.building import reference
from course.grading.similarity.source import MAX_TOKENS, TOKEN, Source, read_source, tokens_of
from course.syllabus import Exercise, find_lesson

MIN_TOKENS = 55
"""Of an answer that is looked for, without brackets and commas. Of 24 natural answers to such
exercises two were the reference's; of 77 to shorter ones, 29."""

_LAYOUT = frozenset(array("I", b"".join(map(tokens_of, "(),;\\"))))
_CHECK = re.compile(r"^ *_\w+\(.*\)$", re.MULTILINE)
"""A helper of the catalogue that checks the arguments, as the stub does in its own words."""


@dataclass(frozen=True)
class Known:
    """What a module holds of the answers that are published.

    Attributes:
        student, lesson: whose, and the stem of the lesson.
        answers: of which exercises, each in a few words; empty where the module has all of the
            reference's answers, word for word.
    """

    student: str
    lesson: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class _Answer:
    """A published answer.

    Attributes:
        what: of which exercise, in a few words.
        parts: the tokens of each piece, all of which a module must hold.
    """

    what: str
    parts: tuple[bytes, ...]


def find_known(stem: str, modules: Iterable[tuple[str, Source]]) -> Iterator[Known]:
    """The modules that hold published answers.

    Args:
        stem: the lesson.
        modules: each student with the module.
    """
    answers = _answers(stem)
    exercises = find_lesson(stem).exercises
    verbatim = [text for exercise in exercises for text in reference.answers(exercise)]
    for student, module in modules:
        tokens = _tokens(module.lines)
        found = [one.what for one in answers if all(part in tokens for part in one.parts)]
        if all(text in module.text for text in verbatim):
            yield Known(student, stem, ())
        elif found:
            yield Known(student, stem, tuple(found))


def _answers(stem: str) -> list[_Answer]:
    """The answers of a lesson that are long enough."""
    found = []
    for exercise in find_lesson(stem).exercises:
        for style, texts in (
            ("", reference.answers(exercise)),
            (", the other style", _other_style(exercise)),
        ):
            parts = tuple(_tokens(read_source(text.encode()).lines) for text in texts)
            if sum(map(len, parts)) >= MIN_TOKENS * TOKEN:
                found.append(_Answer(f"`{exercise.name}`{style}", parts))
    return found


def _other_style(exercise: Exercise) -> list[str]:
    """The bodies, without checks, of what `course show --solution` prints beside the reference."""
    _, code = reference.another_style(exercise)
    node, lines = ast.parse(code).body[-1], code.splitlines()
    parts = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [one for one in parts if isinstance(one, ast.FunctionDef)]
    bodies = [lines[one.body[0].lineno - 1 : one.end_lineno] for one in functions]
    return [_CHECK.sub("", "\n".join(body)) for body in bodies]


def _tokens(lines: Iterable[str]) -> bytes:
    """The tokens of lines that hold code, the first MAX_TOKENS or a few more."""
    found, size = [], 0
    for line in lines:
        if size >= MAX_TOKENS * TOKEN:
            break
        if line:
            found.append(_tokens_but_layout(line[:MAX_TOKENS]))
            size += len(found[-1])
    return b"".join(found)


@functools.lru_cache(maxsize=1 << 16)
def _tokens_but_layout(line: str) -> bytes:
    tokens = array("I", tokens_of(line))
    return array("I", [token for token in tokens if token not in _LAYOUT]).tobytes()
