"""The step of a lesson's text that an exercise belongs to, for a terminal."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from course.core.syllabus import Exercise, Lesson, find_lesson, name_for_check
from course.publishing.site.markup import with_first_figure_again


def heading(exercise: Exercise) -> tuple[int, str]:
    """Return the line and the words of the heading above an exercise in its lesson's text."""
    lines = _lines(exercise)
    asked = f"`course check {name_for_check(exercise)}`"
    place = next((number for number, line in enumerate(lines) if asked in line), 0)
    start = max(start for start in _starts(lines) if start <= place)
    return start + 1, lines[start].lstrip("# ")


def step_of(exercise: Exercise, further: int = 0) -> str:
    """Return the step as text, a line for each paragraph: figures as links, folds by their summary.

    Args:
        further: how many sections later; after the last one comes the introduction.
    """
    lines, lesson = _lines(exercise), find_lesson(exercise.lesson)
    starts = _starts(lines)
    place = (starts.index(heading(exercise)[0] - 1) + further) % len(starts)
    start, end = [*starts, len(lines)][place : place + 2]
    return "\n\n".join(_blocks("\n".join(lines[start:end]), lesson))


def _lines(exercise: Exercise) -> list[str]:
    text = find_lesson(exercise.lesson).text.read_text(encoding="utf-8")
    return with_first_figure_again(text).splitlines()


def _starts(lines: Sequence[str]) -> list[int]:
    """Return the lines of the introduction and of each heading."""
    return [0, *(number for number, line in enumerate(lines) if line.startswith("## "))]


_FOLD = re.compile(r"^<details.*?<summary>(.*?)</summary>.*?^</details>", re.M | re.DOTALL)
_BLOCK = re.compile(r"^```.*?^```|(?:^(?!```)[^\n]+\n?)+", re.M | re.DOTALL)


def _blocks(text: str, lesson: Lesson) -> Iterator[str]:
    """Yield headings, paragraphs, figures, tables, code, and the summary of what is folded."""
    folded = _FOLD.sub(rf"+ \1 (see `course open text {lesson.number}`)\n", text)
    for block in _BLOCK.findall(folded):
        if block.startswith("```"):
            yield "\n".join(f"    {line}" for line in block.splitlines()[1:-1]).rstrip()
        elif shown := _block(block.splitlines(), lesson.room):
            yield shown


def _block(lines: Sequence[str], folder: Path) -> str:
    text = " ".join(lines)
    if figure := re.fullmatch(r"!\[(.*)\]\((.*?)\)", text):
        about = click.style(_plain(figure[1]), dim=True)
        return f"  figure  {(folder / figure[2]).resolve().as_uri()}\n    {about}"
    if text.startswith("#"):
        return click.style(text.lstrip("# "), bold=True)
    if formula := re.fullmatch(r"\$\$(.*)\$\$", text):
        return f"    {_as_letters(formula[1])}"
    if text.startswith("|"):
        return "\n".join(
            f"    {_plain(line)}" for line in lines if not re.match(r"\|[-:| ]+$", line)
        )
    if re.match(_ITEM, text):
        items = re.sub(rf"\n(?!{_ITEM}) *", " ", "\n".join(lines)).split("\n")
        return "\n".join(f"  {_plain(item)}" for item in items)
    return _plain(text)


_ITEM = r"(?:- |\d+\. )"


def _plain(text: str) -> str:
    """Return text without tags and Markdown's marks; what is bold or in italics stays so."""
    text = re.sub(rf"`[^`]*`|\$([^$]+)\$|{_TAG}", _without_marks, text)
    text = re.sub(r"\[((?:[^\]\\]|\\.)*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\\([\[\]_])", r"\1", text)
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(_EMPHASIS, _styled, text).strip()


_TAG = r"<(?:/?[a-z]|!--)[^>]*>"


def _without_marks(found: re.Match) -> str:
    """Return a formula as letters, code as it is, and nothing for a tag."""
    if found[1]:
        return _as_letters(found[1])
    return found[0] if found[0].startswith("`") else ""


_EMPHASIS = r"`[^`]*`|\*\*(?! )(.+?)(?<! )\*\*|\*(?! )([^*]+)(?<! )\*"


def _styled(found: re.Match) -> str:
    bold, italic = found.groups()
    if bold:
        return click.style(bold, bold=True)
    return click.style(italic, italic=True) if italic else found[0]


# --- formulas, in letters that every console has ----------------------------------------------

_SIZES = re.compile(r"\\(?:left|right|[bB]ig+)(?![a-z])")
_MARKS = {
    r"\cdot": "·",
    r"\dots": "...",
    r"\infty": "infinity",
    r"\langle": "<",
    r"\rangle": ">",
    r"\lfloor": "floor(",
    r"\rfloor": ")",
    r"\begin{pmatrix}": "[",
    r"\end{pmatrix}": "]",
    r"\cr": ";",
    "&": "",
    r"\qquad": " ",
    r"\partial": "d",
    r"\varepsilon": r"\epsilon",
}
_NAMES = r"\\(?:text|mathrm|mathbf)(?:\{([^{}]*)\}| (\w))"
_MIRRORED = r"\\(?:tilde|bar|overline)(?:\{([^{}]*)\}| (\w))"
_FRACTION = r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}"
_RAISED = r"([_^])\{([^{}]*)\}"


def _as_letters(tex: str) -> str:
    r"""Return a formula as one would type it.

    >>> _as_letters(r"\bar u \omega_i = 10000^{-2i/C}")
    "u' omega_i = 10000^(-2i/C)"
    >>> _as_letters(r"\frac{q \cdot k_j}{\sqrt{D}} + \text{bias}_j")
    '(q · k_j) / sqrt(D) + bias_j'
    """
    tex = _SIZES.sub("", tex)
    for command, mark in _MARKS.items():
        tex = tex.replace(command, mark)
    before = ""
    while tex != before:  # from the inside out: what has braces inside waits for the next round
        before = tex
        tex = re.sub(_NAMES, r"\1\2", tex)
        tex = re.sub(_MIRRORED, lambda found: f"{found[2] or f'({found[1]})'}'", tex)
        tex = re.sub(r"\\sqrt\{([^{}]*)\}", r"\\sqrt(\1)", tex)
        tex = re.sub(_RAISED, lambda found: f"{found[1]}{_grouped(found[2])}", tex)
        tex = re.sub(_FRACTION, lambda found: f"{_grouped(found[1])} / {_grouped(found[2])}", tex)
    tex = re.sub(r"(?<=\w)\\", " ", tex).replace("\\", "")  # what is left is a name: sin, theta
    return re.sub(" +", " ", re.sub(r"[{}]", "", tex)).strip()


def _grouped(part: str) -> str:
    is_one = re.fullmatch(r"[A-Za-z]+|-?[\d.]+|\\\w+(\([^()]*\))?|[+-]", part)
    return part if is_one else f"({part})"
