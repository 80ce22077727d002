"""What the pages of a lesson add to its Markdown: numbered figures, and folds that look like what
they hold."""

import re
from itertools import count

_FIGURE = re.compile(
    r"<course-lab.*?</course-lab>|^!\[[^\n]*\]\(figures/[^\n]*\)$", re.DOTALL | re.M
)
_FOLD = re.compile(r"<details>(\s*)<summary>(.*?)</summary>", re.DOTALL)
_DEEPER = re.compile(r"Deeper|Try it|More to read|What to read|Out of scope|Surprises|What it ")
_TROUBLE = re.compile(r"I keep getting|<code>|`")


def with_figure_numbers(text: str, lesson: int) -> str:
    """Return a text whose figures are numbered, so that a class can talk about them.

    What can be played with has no number: its still figure comes again where the text explains it.

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

    return _FIGURE.sub(numbered, text)


def with_kinds_of_folds(text: str) -> str:
    """Return a text whose folds have a class: an `answer`, something `deeper`, or `trouble`.

    >>> with_kinds_of_folds("<details><summary>Deeper: why?</summary>")
    '<details class="deeper"><summary>Deeper: why?</summary>'
    """
    return _FOLD.sub(
        lambda found: f'<details class="{_kind(found[2])}">{found[1]}<summary>{found[2]}</summary>',
        text,
    )


def _kind(summary: str) -> str:
    if _TROUBLE.match(summary):
        return "trouble"
    return "deeper" if _DEEPER.match(summary) else "answer"
