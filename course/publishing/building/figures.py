"""The figures of the lessons' texts, drawn and named for `course build`.

`course/lessons/<stem>/figures.py` draws them, a function each, without arguments; its name is that
of the SVG in `course/lessons/<stem>/figures/`.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # brings matplotlib
    from course.publishing.figures import Picture

_SHOWN = re.compile(r"!\[(?:\\.|[^\]\\])*\]\((figures/[^)]*\.svg)\)")
_MARKUP = re.compile(r"([\\`*_\[\]<>$~^])")


def module_of(stem: str) -> str:
    """Return where the figures of a lesson are drawn."""
    return f"course/lessons/{stem}/figures.py"


def pictures(stem: str) -> dict[str, "Picture"]:
    """Draw the figures of a lesson, by name; none for a lesson without a file of figures.

    Raises:
        ValueError: a figure cannot be drawn.
    """
    from course.publishing.figures import of_room, public_functions  # with Matplotlib

    drawn = {}
    for name, draw in public_functions(of_room(stem, "figures")).items():
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
        f"figures/{name}.svg": _MARKUP.sub(r"\\\1", picture.alt)
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
