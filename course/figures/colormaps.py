"""The color maps of heatmaps, each in two versions: for light pages and for dark ones."""

import io

import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap
from numpy.typing import NDArray
from PIL import Image

from course.figures.palette import SCALES


def _maps(page: int) -> dict[str, Colormap]:
    return {
        name: LinearSegmentedColormap.from_list(name, colors[page], N=255)  # one is zero's
        for name, colors in SCALES.items()
    }


_LIGHT, DARK = _maps(0), _maps(1)
"""Name -> color map."""

SIGNED, AMOUNT = _LIGHT["signed"], _LIGHT["amount"]
"""The color maps of values of both signs, and of values from zero upwards."""


def for_both_pages(png: bytes) -> tuple[bytes, bytes]:
    """Return the image of a heatmap for light pages, and in the colors of dark ones."""
    pixels = np.array(Image.open(io.BytesIO(png)).convert("RGBA"))
    colors, places = np.unique(pixels.view(np.uint32).squeeze(-1), return_inverse=True)
    light = np.ascontiguousarray(colors).view(np.uint8).reshape(-1, 4)
    dark = np.array([_ON_DARK.get(tuple(color), color) for color in light.tolist()], np.uint8)
    places = places.reshape(pixels.shape[:2])
    return _as_png(light, places), _as_png(dark, places)


def _as_png(colors: NDArray[np.uint8], places: NDArray[np.int64]) -> bytes:
    """Return an image (H, W) of these colors (N, 4), with a palette where they fit in one."""
    if len(colors) <= 256:
        image = Image.fromarray(places.astype(np.uint8)).convert("P")
        image.putpalette(colors.tobytes(), "RGBA")
    else:
        image = Image.fromarray(colors[places])
    file = io.BytesIO()
    image.save(file, "png", optimize=True)
    return file.getvalue()


def _steps(maps: dict[str, Colormap]) -> list[tuple[int, ...]]:
    return [
        tuple(color.tolist())
        for one in maps.values()
        for color in one(np.arange(one.N), bytes=True)
    ]


_ON_DARK = dict(zip(_steps(_LIGHT), _steps(DARK), strict=True))
