"""What pages add to a lesson's Markdown: numbers of figures, and kinds of folds."""

import re
from itertools import count

_FIGURE = re.compile(
    r"<course-lab.*?</course-lab>|^!\[[^\n]*\]\(figures/[^\n]*\)$", re.DOTALL | re.M
)
_FOLD = re.compile(r"<details>(\s*)<summary>(.*?)</summary>", re.DOTALL)
_KINDS = {"⚑": "stuck", "<code>": "stuck", "∎": "proof", "◆": "models"}  # else an answer
_AGAIN = "<!-- the first figure again -->"


def with_figure_numbers(text: str, lesson: int) -> str:
    """Return a text whose figures are numbered, so that a class can talk about them.

    What can be played with has no number.

    >>> print(with_figure_numbers("![A dial.](figures/rope/dial.svg)", lesson=5))
    <figure id="figure-5-1">
    <BLANKLINE>
    ![A dial.](figures/rope/dial.svg)
    <BLANKLINE>
    <figcaption>Figure 5.1</figcaption>
    </figure>
    """
    numbers = count(1)

    def numbered(found: re.Match[str]) -> str:
        if found[0].startswith("<"):
            return found[0]
        number = next(numbers)
        return (
            f'<figure id="figure-{lesson}-{number}">\n\n{found[0]}\n\n'
            f"<figcaption>Figure {lesson}.{number}</figcaption>\n</figure>"
        )

    return _FIGURE.sub(numbered, with_first_figure_again(text))


def with_first_figure_again(text: str) -> str:
    """Return a text with its first figure again where the text explains it."""
    still = re.search(r"^!\[.*\)$", text, re.M)
    return text.replace(_AGAIN, still[0] if still else "")


def with_kinds_of_folds(text: str) -> str:
    """Return a text whose folds have a class: `answer`, `stuck`, `proof`, or in real `models`.

    >>> with_kinds_of_folds("<details><summary>∎ <b>Proof:</b> why?</summary>")
    '<details class="proof"><summary>∎ <b>Proof:</b> why?</summary>'
    """
    return _FOLD.sub(
        lambda found: f'<details class="{_kind(found[2])}">{found[1]}<summary>{found[2]}</summary>',
        text,
    )


def _kind(summary: str) -> str:
    return next((kind for sign, kind in _KINDS.items() if summary.startswith(sign)), "answer")
