"""Find the answers that the course itself publishes: those of the reference.

A finding is something to look at, never a verdict: two people can find the same right answer.

Names of variables, comments and layout don't count. So a short answer proves nothing and is left
out, unless a module has all answers of its lesson word for word, with the comments.

Modules may be hostile, or not Python at all. They are cut into tokens by a regular expression that
takes linear time, and nothing is parsed or run.
"""

import keyword
import re
from collections.abc import Iterator, Mapping

from course.core.syllabus import find_lesson
from course.publishing import showing

MIN_TOKENS = 55
"""The shortest answer that is looked for. Two of 24 natural answers to exercises of this length
were the reference's, and 29 of 77 shorter ones."""
MAX_CHARACTERS = 100_000
"""Of a module that are read; those of the lessons have fewer than 40,000."""

_TOKEN = re.compile(
    r"#.*|[A-Za-z]{1,2}(?=['\"])"
    r"|(?P<kept>(?<=\.)(?<!self\.)[^\W\d]\w*|\d[\w.]*|[^\s(),;\\'\"\w])"  # .chunk, 0.02, =
    r"|(?P<name>[^\W\d]\w*)"
)
"""Comments and what formatters change are left out: quotes, round brackets, commas, line ends."""


def find_published(stem: str, modules: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield each student whose module has published answers of a lesson, and a sentence on them.

    Args:
        stem: the stem of the lesson.
        modules: the source of the module, by student.
    """
    answers = {f"`{one.name}`": showing.answers(one) for one in find_lesson(stem).exercises}
    tokens_of = {name: [*map(_tokens, parts)] for name, parts in answers.items()}
    long_ones = {
        name: parts
        for name, parts in tokens_of.items()
        if sum(len(part.split()) for part in parts) >= MIN_TOKENS
    }
    for student, module in modules.items():
        text = module.decode("utf-8", "replace").replace("\r\n", "\n")
        tokens = _tokens(text[:MAX_CHARACTERS])
        found = [name for name, parts in long_ones.items() if all(one in tokens for one in parts)]
        if all(part in text for parts in answers.values() for part in parts):
            yield student, f"`{stem}.py` contains every answer of the reference, word for word"
        elif found:
            yield student, f"`{stem}.py` has published answers: {', '.join(found)}"


def _tokens(text: str) -> str:
    """Return the tokens of a text between blanks; all names of variables are the same one.

    >>> _tokens("x1, x2 = (x.chunk(2,))  # halves")
    ' name name = name . chunk 2 '
    """
    found = []
    for match in _TOKEN.finditer(text):
        if (name := match["name"]) and not keyword.iskeyword(name):
            found.append("name")
        elif match.lastgroup:
            found.append(match[0])
    return f" {' '.join(found)} "
