"""What pages make of a lesson's Markdown: numbered figures, folds, cards of exercises, formulas."""

import re
from collections.abc import Mapping
from itertools import count

from math_core import LatexToMathML

from course.core.syllabus import Exercise, Lesson, Status, name_for_check
from course.testing.messages.wording import counted

_FIGURE = re.compile(
    r"<course-lab.*?</course-lab>|^!\[[^\n]*\]\(figures/[^\n]*\)$", re.DOTALL | re.M
)
_FOLD = re.compile(r"<details>(\s*)<summary>(.*?)</summary>", re.DOTALL)
_KINDS = {"⚑": "stuck", "<code>": "stuck", "∎": "proof", "◆": "models"}  # else an answer
_AGAIN = "<!-- the first figure again -->"
_LATEX = LatexToMathML(macros={"cr": r"\\"}, fancy_error=False)
_COMMAND = re.compile(r",?\s*`course check ([\w.]+)`")


def for_pages(text: str, lesson: Lesson, status: Mapping[str, str] | None = None) -> str:
    """Return a lesson's text as pages show it; `status` as for `with_cards`."""
    text = with_kinds_of_folds(with_figure_numbers(text, lesson.number))
    return with_cards(text, lesson, status)


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


def with_cards(text: str, lesson: Lesson, status: Mapping[str, str] | None = None) -> str:
    """Return a lesson's text, in Markdown, with a card around each paragraph that asks to write.

    Such a paragraph holds `course check NAME`, once for each exercise.

    Args:
        status: of the exercises, by name; what passed is marked.
    """
    asked = {name_for_check(one): one for one in lesson.exercises}
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        names = [name for name in _COMMAND.findall(paragraph) if name in asked]
        if names and not paragraph.startswith(("#", "<", "`", "|")):
            words = _COMMAND.sub("", paragraph).removeprefix("**Do it.** ")
            commands = "\n".join(f"course check {name}" for name in names)
            card = [
                f'<div class="exercise" role="group" aria-label="Exercise: {", ".join(names)}">',
                *(_head(asked[name], (status or {}).get(asked[name].name, "")) for name in names),
                words,
                f"```sh\n{commands}\n```",
                "</div>",
            ]
            paragraphs[number] = "\n\n".join(card)
    return "\n\n".join(paragraphs)


def anchor(exercise: Exercise) -> str:
    """Return the name of an exercise's card on its page."""
    return f"write-{exercise.name.lower().replace('_', '-')}"


def _head(exercise: Exercise, status: str) -> str:
    mark = ' <strong class="mark">✓ passed</strong>' if status == Status.PASSED else ""
    title = exercise.title[0].upper() + exercise.title[1:]
    cost = f"{exercise.minutes} minutes, {counted(exercise.points, 'point')}"
    return (
        f'<p class="about" id="{anchor(exercise)}"><strong>{title}</strong> '
        f"<code>{exercise.name}</code> <span>{cost}</span>{mark}</p>"
    )


def mathml(tex: str, *, is_display: bool) -> str:
    """Return a formula as browsers draw it without a script, in MathML.

    Raises:
        math_core.LatexError: it is wrong.
    """
    return _LATEX.convert_with_local_state(tex, displaystyle=is_display)
