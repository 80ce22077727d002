"""Words that several commands and pages use."""

import textwrap
from dataclasses import dataclass

from course.core.syllabus import Status
from course.core.terminal import columns


@dataclass(frozen=True)
class StatusWords:
    """The words and signs of a status.

    Attributes:
        label: its name in tables.
        one, several: what one exercise, and several, did, as the end of a sentence.
        mark, css_class: its sign on a page for a class, and its class in the style.
        sign, color: the same on a terminal.
    """

    label: str
    one: str
    several: str
    mark: str
    css_class: str
    sign: str
    color: str | None


STATUS_WORDS = {
    Status.PASSED: StatusWords("passed", "passed", "passed", "✓", "p", "+", "green"),
    Status.WRONG: StatusWords(
        "wrong", "is not right yet", "are not right yet", "✗", "w", "x", "red"
    ),
    Status.TO_DO: StatusWords("to do", "is still to do", "are still to do", "○", "t", "o", None),
    Status.NOT_RUN: StatusWords(
        "not tested", "could not be tested", "could not be tested", "–", "n", "-", "yellow"
    ),
    Status.UNCHECKED: StatusWords(
        "not checked", "was not checked", "were not checked", "–", "n", "?", "yellow"
    ),
}


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "point"), counted(2, "point")
    ('1 point', '2 points')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def filled_paragraphs(text: str, indent: str = "", width: int | None = None) -> str:
    """Fill each of the paragraphs that empty lines separate."""
    return "\n\n".join(filled(one, indent, width) for one in text.split("\n\n"))


def filled(text: str, indent: str = "", width: int | None = None) -> str:
    """Fill text into lines of a width, the terminal's by default, and never break a word."""
    return textwrap.fill(
        text,
        width or columns(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
