"""The step of a lesson's text that an exercise belongs to, for a terminal."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from course.student.watch.formula import as_letters
from course.syllabus import Exercise, find_lesson, name_for_check


def heading(exercise: Exercise) -> tuple[int, str]:
    """Return the line and the words of the heading above an exercise in its lesson's text."""
    lines = _lines(exercise)
    asked = f"`course check {name_for_check(exercise)}`"
    place = next((number for number, line in enumerate(lines) if asked in line), 0)
    above = [number for number in range(place + 1) if lines[number].startswith("## ")]
    return (above[-1] + 1, lines[above[-1]].removeprefix("## ")) if above else (1, "")


def step_of(exercise: Exercise) -> str:
    """Return the step as text, a line for each paragraph; figures are links to their files.

    Parts that are folded in the lesson's text are only named.
    """
    first, title = heading(exercise)
    lines = _lines(exercise)[first:]
    end = next((n for n, line in enumerate(lines) if line.startswith("## ")), len(lines))
    blocks = _blocks(lines[:end], find_lesson(exercise.lesson).text.parent)
    return "\n\n".join([click.style(title, bold=True), *blocks])


def _lines(exercise: Exercise) -> list[str]:
    return find_lesson(exercise.lesson).text.read_text(encoding="utf-8").splitlines()


def _blocks(lines: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield paragraphs, figures, tables, code, and what is folded by its summary."""
    block: list[str] = []
    depth, is_code = 0, False
    for line in [*lines, ""]:
        if line.startswith("<details"):
            depth += 1
        if depth:
            if depth == 1 and (summary := re.search("<summary>(.*)</summary>", line)):
                yield f"+ {_plain(summary[1])} (folded in the text)"
            depth -= line.startswith("</details")
        elif line.startswith("```"):
            if is_code:
                yield "\n".join(f"    {one}" for one in block).rstrip()
            block, is_code = [], not is_code
        elif line or is_code:
            block.append(line)
        elif block:
            yield _block(block, folder)
            block = []


def _block(lines: Sequence[str], folder: Path) -> str:
    text = " ".join(lines)
    if figure := re.fullmatch(r"!\[(.*)\]\((.*?)\)", text):
        about = click.style(_plain(figure[1]), dim=True)
        return f"  figure  {(folder / figure[2]).resolve().as_uri()}\n    {about}"
    if text.startswith("### "):
        return click.style(text.removeprefix("### "), bold=True)
    if formula := re.fullmatch(r"\$\$(.*)\$\$", text):
        return f"    {as_letters(formula[1])}"
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
    """Return text without Markdown's marks; what is bold or in italics stays so."""
    text = re.sub(
        r"`[^`]*`|\$([^$]+)\$",
        lambda found: as_letters(found[1]) if found[1] else found[0],
        text,
    )
    text = re.sub(r"\[((?:[^\]\\]|\\.)*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\\([\[\]_])", r"\1", re.sub(r"</?[a-z]+>", "", text))
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(_EMPHASIS, _styled, text)


_EMPHASIS = r"`[^`]*`|\*\*(?! )(.+?)(?<! )\*\*|\*(?! )([^*]+)(?<! )\*"


def _styled(found: re.Match) -> str:
    bold, italic = found.groups()
    if bold:
        return click.style(bold, bold=True)
    return click.style(italic, italic=True) if italic else found[0]
