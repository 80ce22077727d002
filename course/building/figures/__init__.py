"""The figures of the lessons' texts: a file for each lesson, a function for each figure.

A function takes nothing, computes with the reference and returns a picture. Its name is that of
the SVG, `course/lessons/figures/<stem>/<name>.svg`, which the lesson's text shows.
"""

import hashlib
import importlib
import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from course import root
from course.syllabus import Lesson

if TYPE_CHECKING:  # brings matplotlib
    from course.plots import Picture

_SHOWN = re.compile(r"!\[(?:\\.|[^\]\\])*\]\((figures/[^)]*\.svg)\)")
_MARKUP = re.compile(r"([\\`*_\[\]<>$~^])")


def module_of(stem: str) -> str:
    """Return where the figures of a lesson are drawn."""
    return f"course/building/figures/{stem}.py"


def path_of(lesson: Lesson, name: str) -> Path:
    """Return where a figure lies, beside the lesson's text."""
    return lesson.text.parent / "figures" / lesson.stem / f"{name}.svg"


def pictures(stem: str) -> dict[str, "Picture"]:
    """Draw the figures of a lesson, by name; none for a lesson without a file of figures.

    Raises:
        ValueError: a figure cannot be drawn.
    """
    found, made_from = {}, _made_from()
    for name, draw in _functions(stem).items():
        try:
            found[name] = _drawn(draw, made_from)
        except Exception as error:
            raise ValueError(f"cannot draw {name}: {type(error).__name__}: {error}") from error
    return found


def with_alts(text: str, lesson: Lesson) -> str:
    """Return a lesson's text with the alt text of each figure between its brackets.

    Raises:
        ValueError: the text shows a figure that is not drawn, or does not show one that is.
    """
    alts = {
        f"figures/{lesson.stem}/{name}.svg": _MARKUP.sub(r"\\\1", picture.alt)
        for name, picture in _of(lesson).items()
    }
    shown = [match[1] for match in _SHOWN.finditer(text)]
    for link in shown:
        if link not in alts:
            raise ValueError(f"shows {link}, which {module_of(lesson.stem)} does not draw")
    for link in alts:
        if link not in shown:
            raise ValueError(
                f"does not show what {module_of(lesson.stem)} draws; it needs the line ![]({link})"
            )
    return _SHOWN.sub(lambda match: f"![{alts[match[1]]}]({match[1]})", text)


def _of(lesson: Lesson) -> dict[str, "Picture"]:
    try:
        return pictures(lesson.stem)
    except ValueError as error:
        raise ValueError(f"needs figures, but {module_of(lesson.stem)} {error}") from None


def _functions(stem: str) -> dict[str, Callable[[], "Picture"]]:
    name = f"{__name__}.{stem}"
    if find_spec(name) is None:
        return {}
    module = importlib.import_module(name)
    return {
        one: function
        for one, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == name and not one.startswith("_")
    }


@lru_cache(maxsize=256)
def _drawn(draw: Callable[[], "Picture"], made_from: str) -> "Picture":
    """Draw a figure, unless it was drawn from the same solutions and measured numbers before."""
    return draw()


def _made_from() -> str:
    """Return a hash of what the functions read."""
    measured = (root() / "course" / "lessons" / "figures").glob("*/*.json")
    files = sorted([*(root() / "solutions").glob("*.py"), *measured])
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
