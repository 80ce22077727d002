"""The wording of things for a terminal."""

import textwrap


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "point"), counted(2, "point")
    ('1 point', '2 points')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def filled(text: str, indent: str = "") -> str:
    """Fill text into lines of 80 columns, with names and commands in one piece."""
    return textwrap.fill(
        text,
        80,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
