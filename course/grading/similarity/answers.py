"""Modules that hold an answer that the course itself publishes: the reference, or its other style.

That is something to look at, never a verdict: a right answer may be found twice. Two modules that
hold the reference are no pair of `copies`, for the reference is common ground there.

Names of variables, comments and layout do not count, as in `copies`. So a short answer proves
nothing, and is left out. All answers of a lesson word for word, with the comments, are another
matter, however short.
"""

import ast
import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from course.building import reference
from course.grading.similarity.source import MAX_TOKENS, Source, read_source, tokens_of
from course.syllabus import find_lesson

MIN_TOKENS = 55
"""Of an answer that is looked for. Of 24 natural answers to such
exercises two were the reference's; of 77 to shorter ones, 29."""

_CHECK = re.compile(r"^ *_\w+\(.*\)$", re.MULTILINE)
"""A helper of the catalogue that checks the arguments, as the stub does in its own words."""


@dataclass(frozen=True)
class Known:
    """Published answers that a module holds.

    Attributes:
        student, lesson: whose, and the stem of the lesson.
        answers: of which exercises, each in a few words; empty where the module has all of the
            reference's answers, word for word.
    """

    student: str
    lesson: str
    answers: tuple[str, ...]


def find_known(stem: str, modules: Iterable[tuple[str, Source]]) -> Iterator[Known]:
    """Yield what each student's module holds of a lesson's published answers, if anything."""
    answers, verbatim = {}, []
    for exercise in find_lesson(stem).exercises:
        verbatim += reference.answers(exercise)
        answers[f"`{exercise.name}`"] = reference.answers(exercise)
        if other := reference.another_style(exercise):
            answers[f"`{exercise.name}`, the other style"] = _bodies(other[1])
    long_ones = {}
    for what, texts in answers.items():
        parts = [_tokens(read_source(text.encode()).lines) for text in texts]
        if sum(map(len, parts)) >= MIN_TOKENS * array("I").itemsize:
            long_ones[what] = parts
    for student, module in modules:
        tokens = _tokens(module.lines)
        found = [what for what, parts in long_ones.items() if all(one in tokens for one in parts)]
        if all(text in module.text for text in verbatim):
            yield Known(student, stem, ())
        elif found:
            yield Known(student, stem, tuple(found))


def _bodies(code: str) -> list[str]:
    """Return the bodies, without checks, of what `course show --solution` prints as well."""
    node, lines = ast.parse(code).body[-1], code.splitlines()
    parts = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [one for one in parts if isinstance(one, ast.FunctionDef)]
    bodies = [lines[one.body[0].lineno - 1 : one.end_lineno] for one in functions]
    return [_CHECK.sub("", "\n".join(body)) for body in bodies]


def _tokens(lines: Iterable[str]) -> bytes:
    """Return the tokens of some lines, the first MAX_TOKENS or a few more, one by one."""
    found = array("I")
    for line in lines:
        if len(found) >= MAX_TOKENS:
            break
        found.extend(tokens_of(line))
    return found.tobytes()
