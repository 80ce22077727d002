"""The color maps of heatmaps, each in two versions: for light pages and for dark ones."""

import io
import math

import numpy as np
from matplotlib.colors import Colormap, LinearSegmentedColormap
from numpy.typing import NDArray
from PIL import Image

from course.publishing.figures.palette import SCALES


def _maps(page: int) -> dict[str, Colormap]:
    return {
        name: LinearSegmentedColormap.from_list(name, colors[page], N=255)  # one is zero's
        for name, colors in SCALES.items()
    }


_LIGHT, _DARK = _maps(0), _maps(1)
"""Name -> color map."""

SIGNED, AMOUNT = _LIGHT["signed"], _LIGHT["amount"]
"""The color maps of values of both signs, and of values from zero upwards."""


def for_both_pages(png: bytes) -> tuple[bytes, bytes]:
    """Return the image of a heatmap for light pages, and in the colors of dark ones."""
    pixels = np.array(Image.open(io.BytesIO(png)).convert("RGBA"))
    colors, places = np.unique(pixels.view(np.uint32).squeeze(-1), return_inverse=True)
    light = np.ascontiguousarray(colors).view(np.uint8).reshape(-1, 4)
    places = places.reshape(pixels.shape[:2])
    return _as_png(light, places), _as_png(_on_dark(light), places)


def _on_dark(light: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the colors (N, 4) of a heatmap on a dark page; a color scale has some in between."""
    far, found = math.inf, light
    for name, colors in _LIGHT.items():
        steps = np.arange(colors.N)
        apart = np.abs(light[:, None, :3] - colors(steps, bytes=True)[:, :3].astype(int)).sum(-1)
        if (away := apart.min(axis=1)[light[:, 3] > 0].sum()) < far:
            dark = _DARK[name](steps, bytes=True)[apart.argmin(axis=1)]
            far, found = away, np.where(light[:, 3:] > 0, dark, light)
    return found.astype(np.uint8)


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
