"""The figures of the lessons' texts: a file for each lesson, a function for each figure.

A function takes nothing, computes with the reference and returns a picture. Its name is that of
the SVG, `course/lessons/figures/<stem>/<name>.svg`, which the lesson's text shows.
"""

import importlib
import inspect
import json
import re
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from course import root

if TYPE_CHECKING:  # brings matplotlib
    from course.plots import Picture

_SHOWN = re.compile(r"!\[(?:\\.|[^\]\\])*\]\((figures/[^)]*\.svg)\)")
_MARKUP = re.compile(r"([\\`*_\[\]<>$~^])")


def module_of(stem: str) -> str:
    """Return where the figures of a lesson are drawn."""
    return f"course/building/figures/{stem}.py"


def pictures(stem: str) -> dict[str, "Picture"]:
    """Draw the figures of a lesson, by name; none for a lesson without a file of figures.

    Raises:
        ValueError: a figure cannot be drawn.
    """
    drawn, module = {}, f"{__name__}.{stem}"
    if find_spec(module) is None:
        return drawn
    for name, draw in inspect.getmembers(importlib.import_module(module), inspect.isfunction):
        if draw.__module__ == module and not name.startswith("_"):
            try:
                drawn[name] = draw()
            except Exception as error:
                said = f"{module_of(stem)} cannot draw {name}: {type(error).__name__}: {error}"
                raise ValueError(said) from error
    return drawn


def with_alts(text: str, stem: str, pictures: dict[str, "Picture"]) -> str:
    """Return a lesson's text with the alt text of each figure between its brackets.

    Raises:
        ValueError: the text shows a figure that is not drawn, or does not show one that is.
    """
    alts = {
        f"figures/{stem}/{name}.svg": _MARKUP.sub(r"\\\1", picture.alt)
        for name, picture in pictures.items()
    }
    shown = _SHOWN.findall(text)
    for link in shown:
        if link not in alts:
            raise ValueError(f"shows {link}, which {module_of(stem)} does not draw")
    for link in alts:
        if link not in shown:
            raise ValueError(
                f"does not show what {module_of(stem)} draws; it needs the line ![]({link})"
            )
    return _SHOWN.sub(lambda match: f"![{alts[match[1]]}]({match[1]})", text)


# --- what figures are made from --------------------------------------------------------------


def reference(stem: str) -> ModuleType:
    """Return `solutions/<stem>.py` as a module.

    Raises:
        Wrong: it cannot be run.
    """
    from course.testing.executor import load_module

    return load_module(root() / "solutions" / f"{stem}.py")


def measured(stem: str, name: str) -> dict:
    """Return what `course/lessons/figures/<stem>/<name>.json` holds: numbers too dear to make anew.

    Its first key, `how`, says how to measure them again.

    Raises:
        ValueError: the file is missing, is no JSON or does not say how.
    """
    path = root() / "course" / "lessons" / "figures" / stem / f"{name}.json"
    shown = path.relative_to(root()).as_posix()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{shown} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{shown} is not JSON: {error}") from None
    if not isinstance(found, dict) or next(iter(found), "") != "how":
        raise ValueError(f'{shown} must begin with "how": the way to measure its numbers again')
    return found
