"""What a picture was made from: its words, its colors and the data of all that is drawn.

It is kept in each SVG. Two machines draw the same numbers with other bytes, and compute them with
other last bits; so pictures are compared by their records, and numbers within a tolerance. A hash
of rounded numbers would not do: what is at the edge is rounded up here and down there.
"""

import base64
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.category import StrCategoryFormatter, StrCategoryLocator
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FixedFormatter, FixedLocator

TOLERANCE = 0.002
"""How far two numbers may be apart and still be the same, in widths of the axis or color scale."""

_MOST = 48  # rows and columns of an image that are kept: of a larger one some, evenly spread
_NO_NUMBER = -9.0  # stands for inf and nan

Record = list[tuple[str, list[float]]]
"""For each thing drawn its words and colors, and its numbers."""


def record_of(figure: Figure) -> Record:
    """Return the record of a figure that was not drawn yet: drawing it settles its layout."""
    found: Record = [("figure", [float(inches) for inches in figure.get_size_inches()])]
    found += (_entry(text) for text in figure.texts)
    for axes in figure.axes:
        found += _of_axes(axes)
    return found


def encoded(record: Record) -> str:
    """Return a record as text for the metadata of an SVG."""
    data = json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    return base64.b64encode(zlib.compress(data, 9)).decode("ascii")


def decoded(svg: str) -> Record | None:
    """Return the record that an SVG holds, or None if it holds none that can be read."""
    kept = re.search(r"<metadata>([^<]*)</metadata>", svg)
    try:
        return json.loads(zlib.decompress(base64.b64decode(kept[1]))) if kept else None
    except (ValueError, zlib.error):
        return None


def same(one: Record | None, other: Record | None) -> bool:
    """Return whether two records have the same words and, within the tolerance, numbers."""
    if one is None or other is None or [words for words, _ in one] != [words for words, _ in other]:
        return False
    return all(
        len(a) == len(b) and np.allclose(a, b, rtol=0, atol=TOLERANCE * np.abs([*a, *b, 0]).max())
        for (_, a), (_, b) in zip(one, other, strict=True)
    )


def _of_axes(axes: Axes) -> Iterator[tuple[str, list[float]]]:
    limits = [*axes.get_xlim(), *axes.get_ylim()]  # also settles them, before data are scaled
    yield f"axes {axes.get_xscale()} {axes.get_yscale()}", _rounded(limits)
    for axis in (axes.xaxis, axes.yaxis):
        formatter, locator = axis.get_major_formatter(), axis.get_major_locator()
        chosen = isinstance(locator, FixedLocator | StrCategoryLocator)
        places = list(locator()) if chosen else []  # others depend on the room there is
        named = isinstance(formatter, FixedFormatter | StrCategoryFormatter)
        words = formatter.format_ticks(places) if named else []
        yield " | ".join([axis.get_label_text(), *words]), _rounded(places)
    yield " | ".join(axes.get_title(place) for place in ("left", "center", "right")), []
    legend = axes.get_legend()
    artists = (*axes.images, *axes.collections, *axes.patches, *axes.lines, *axes.texts)
    for artist in (*artists, *(legend.get_texts() if legend else ())):
        yield _entry(artist, axes)
    for child in axes.child_axes:
        yield from _of_axes(child)


def _entry(artist: Artist, axes: Axes | None = None) -> tuple[str, list[float]]:
    """Return the words and numbers of one artist; places count widths and heights of its axes."""
    kind = type(artist).__name__
    match artist:
        case Text():
            words = f"{artist.get_text()} {_hex([artist.get_color()])}"
            return f"{kind} {words}", _rounded(_places_of_text(artist, axes))
        case AxesImage():
            low, high = artist.get_clim()
            values = np.ma.filled(np.ma.masked_invalid(artist.get_array()).astype(float), np.nan)
            rows, columns = (
                np.unique(np.linspace(0, size - 1, _MOST).round().astype(int))
                for size in values.shape[:2]
            )
            kept = (values[np.ix_(rows, columns)] - low) / ((high - low) or 1)
            words = f"{_hex(artist.get_cmap()(np.linspace(0, 1, 5)))} {values.shape}"
            return f"{kind} {words}", _rounded([low, high]) + _rounded(kept)
        case Line2D():
            words = f"{_hex([artist.get_color()])} {artist.get_linestyle()} {artist.get_marker()}"
            return f"{kind} {words}", _places(artist.get_path().vertices, artist, axes)
        case Collection():
            words = _hex([*artist.get_facecolor(), *artist.get_edgecolor()])
            paths = [path.vertices for path in artist.get_paths()]
            offsets = np.ma.filled(artist.get_offsets(), np.nan)
            if len(offsets) > 1 or offsets.any():
                places = _transformed(offsets, artist.get_offset_transform(), axes)
                return f"{kind} {words}", _rounded(places)
            return f"{kind} {words}", _places(np.concatenate(paths or [offsets]), artist, axes)
        case FancyArrowPatch():
            return f"{kind} {_hex([artist.get_edgecolor()])}", []  # an annotation tells its ends
        case Patch():
            words = _hex([artist.get_facecolor(), artist.get_edgecolor()])
            return f"{kind} {words}", _places(artist.get_path().vertices, artist, axes)
    return kind, []


def _places_of_text(text: Text, axes: Axes | None) -> Any:
    """Return the place of a text and, of an annotation, what it points to."""
    if not isinstance(text, Annotation):
        place = text.get_unitless_position()
        return _transformed(place, text.get_transform(), axes) if axes else place
    places = ((text.xy, text.xycoords), (text.xyann, text.anncoords))
    return [
        _transformed(place, axes.transData, axes)[0] if axes and unit == "data" else place
        for place, unit in places
    ]


def _hex(colors: Iterable[Any]) -> str:
    return " ".join(dict.fromkeys(to_hex(color, keep_alpha=True) for color in colors))


def _places(vertices: Any, artist: Artist, axes: Axes) -> list[float]:
    return _rounded(_transformed(vertices, artist.get_transform(), axes))


def _transformed(vertices: Any, transform: Any, axes: Axes) -> Any:
    return (transform - axes.transAxes).transform(np.asarray(vertices, float).reshape(-1, 2))


def _rounded(numbers: Any) -> list[float]:
    """Return numbers with the digits that the tolerance needs."""
    flat = np.asarray(numbers, float).ravel()
    flat = np.where(np.isfinite(flat), flat, _NO_NUMBER)
    largest = float(np.abs(flat).max(initial=0))
    digits = 4 - int(np.floor(np.log10(largest))) if largest else 0
    return [round(float(number), digits) for number in flat]
