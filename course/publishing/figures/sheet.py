"""A sheet to look at a figure of a text: on a light page, on a dark one, and on a phone.

    python -m course.publishing.figures.sheet rope/pair_turns

prints the path of a PNG.
"""

import io
import sys
from pathlib import Path

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Patch
from PIL import Image

from course import root
from course.core.files import write_bytes_atomically
from course.publishing.figures import of_room
from course.publishing.figures.colormaps import DARK
from course.publishing.figures.palette import CARD, ON_DARK
from course.publishing.figures.picture import SHARPNESS, Picture

PHONE = 358
"""Pixels that a phone gives to a figure."""

_GAP = 20  # pixels
_COLORS = ("color", "facecolor", "edgecolor", "markerfacecolor", "markeredgecolor")


def sheet(name: str) -> Path:
    """Draw a figure three times onto one image, and return its path.

    Args:
        name: lesson and figure, "rope/pair_turns".

    Raises:
        ValueError: there is no such figure.
    """
    stem, _, figure = name.partition("/")
    try:
        module = of_room(stem, "figures")
        light, dark = (Image.open(io.BytesIO(one)) for one in _both(getattr(module, figure)()))
    except (ModuleNotFoundError, AttributeError):
        raise ValueError(f"there is no figure {name!r}; name it like rope/pair_turns") from None
    narrow = light.resize((PHONE * SHARPNESS, light.height * PHONE * SHARPNESS // light.width))
    images = [light, dark, narrow]
    size = sum(one.width + _GAP for one in images), light.height
    whole, x = Image.new("RGB", size, CARD), 0
    for one in images:
        whole.paste(one, (x, 0))
        x += one.width + _GAP
    path, file = root() / ".course" / "figures" / f"{stem}-{figure}.png", io.BytesIO()
    whole.save(file, "png")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomically(path, file.getvalue())
    return path


def _both(picture: Picture) -> tuple[bytes, bytes]:
    """Return the image for a light page, and the one for a dark page."""
    light = picture.png()
    for artist in picture.findobj():
        arrow = getattr(artist, "arrow_patch", None)
        for one in (artist, arrow) if arrow else (artist,):
            _darken(one)
    return light, picture.png()


def _darken(artist: object) -> None:
    """Put the colors of a dark page in place of those of a light one."""
    if isinstance(artist, ScalarMappable) and artist.get_cmap().name in DARK:
        artist.set_cmap(DARK[artist.get_cmap().name])
    fields = _COLORS[1:] if isinstance(artist, Patch) else _COLORS
    for field in fields:
        try:
            value = getattr(artist, f"get_{field}")()
            value = value[0] if np.ndim(value) == 2 else value  # of filled areas a list
            before = to_hex(value) if to_rgba(value)[3] else "none"
        except (AttributeError, IndexError, ValueError):  # has no such color
            continue
        if before in ON_DARK:
            getattr(artist, f"set_{field}")(ON_DARK[before])


if __name__ == "__main__":
    try:
        print(sheet(" ".join(sys.argv[1:])))
    except ValueError as error:
        sys.exit(str(error))
