"""Words in figures: written, pointing somewhere, next to points, and as parts of a sentence."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from course.figures.palette import INK, QUIET
from course.figures.picture import WIDTH
from course.figures.shapes import Array

TEXT = 13
"""Points of the smallest text of a lesson: 9 pixels on a phone, 358 pixels wide."""

SMALL = 9
"""Points of the smallest text in a notebook."""

Point = tuple[float, float]


def write(
    axes: Axes,
    place: Point,
    text: str,
    color: str = INK,
    *,
    align: str = "left",
    bold: bool = False,
    size: float = TEXT,
) -> None:
    """Write words; their middle line is as high as the place.

    Args:
        align: which part of the words is at the place, "left", "center" or "right".
    """
    weight = "bold" if bold else "normal"
    how = {"ha": align, "va": "center", "fontsize": size, "fontweight": weight}
    axes.text(*place, text, color=color, **how)


def note(axes: Axes, text: str, at: Point, words: Point, color: str = QUIET, **how: Any) -> None:
    """Write words with a thin arrow from them to a place.

    Args:
        at, words: in the units of the data.
        how: for `annotate`, `ha="right"`.
    """
    thin = {"arrowstyle": "->", "color": color, "linewidth": 1.1, "shrinkB": 4}
    how = {"ha": "center", "va": "center", "fontsize": TEXT} | how
    axes.annotate(text, at, words, color=color, arrowprops=thin, **how)


def name_points(
    axes: Axes,
    points: Array,
    words: Sequence[str],
    avoid: Array | None = None,
    *,
    size: float = SMALL,
    colors: Sequence[str] | None = None,
    page: Array | None = None,
) -> None:
    """Write a word next to each point, where it covers least of other words, points and `avoid`.

    Args:
        axes, points, words: where, (N, 2), and the N words.
        avoid: more points, (M, 2), to keep free.
        size: of the letters.
        colors: of the words; black if not given.
        page: width and height of the axes, in inches, as far as is known; else those of axes that
            have the figure for themselves.

    For each word in turn, eight places around its point are tried. Distances are estimated in
    typographic points, before the page is laid out; good enough to keep words apart.
    """
    axes.autoscale_view()
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    if page is None:
        page = np.array([WIDTH - 0.8, axes.figure.get_figheight() - 1.1])
    page = 72 * page

    def on_page(where: Array) -> Array:
        return (where - (left, low)) / (right - left, high - low) * page

    everything = points if avoid is None else np.vstack((points, avoid))
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in on_page(everything)]
    colors = colors or [INK] * len(words)
    for word, color, point, (x, y) in zip(words, colors, points, on_page(points), strict=True):
        width, height = 0.58 * size * len(word), 1.15 * size
        boxes = [
            (x + dx, y + dy, x + dx + width, y + dy + height)
            for dx in (5, -width / 2, -width - 5)
            for dy in (-height / 2, 5, -height - 5)
            if (dx, dy) != (-width / 2, -height / 2)
        ]
        best = min(boxes, key=partial(_covered, taken=np.array(taken), page=page))
        taken.append(best)
        offset = (best[0] - x, best[1] - y)
        how = {"textcoords": "offset points", "fontsize": size, "color": color}
        axes.annotate(word, point, offset, **how)


def _covered(box: tuple[float, ...], taken: Array, page: Array) -> float:
    """Return the area of a box that others have taken, or that lies off the page."""
    left, low, right, high = taken.T
    across = np.minimum(box[2], right) - np.maximum(box[0], left)
    along = np.minimum(box[3], high) - np.maximum(box[1], low)
    inside = (min(box[2], page[0]) - max(box[0], 0)) * (min(box[3], page[1]) - max(box[1], 0))
    area = (box[2] - box[0]) * (box[3] - box[1])
    return float((across.clip(0) * along.clip(0)).sum() + area - inside)


# --- in a sentence --------------------------------------------------------------------------


def listing(names: Iterable[object]) -> str:
    """Join names as in a sentence.

    >>> listing("abc"), listing(["one"])
    ('a, b and c', 'one')
    """
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def signed(value: float, pattern: str = "g") -> str:
    """Write a number, with a minus sign in place of a hyphen.

    >>> signed(-0.5), signed(2, ".1f")
    ('−0.5', '2.0')
    """
    return format(value, pattern).replace("-", "−")


def listed(values: Iterable[float], pattern: str = "g") -> str:
    """Write numbers with commas between them.

    >>> listed([1, -2.25], ".1f")
    '1.0, −2.2'
    """
    return ", ".join(signed(value, pattern) for value in values)


def rounded(value: float) -> str:
    """Write a number above 0 with three digits or more, as far as they tell something.

    >>> rounded(6.2832), rounded(62.83), rounded(6283.2)
    ('6.28', '62.8', '6,283')
    """
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


def percent(share: float, digits: int = 0) -> str:
    """Write a share in percent.

    >>> percent(0.314)
    '31%'
    """
    return f"{100 * share:.{digits}f}%"


def size_of_change(change: float, limit: float) -> str:
    """Write how large a change is, next to numbers up to `limit`.

    >>> size_of_change(0.5, 2.0), size_of_change(4.8e-07, 2.0)
    ('largest 0.5', 'rounding only')
    """
    return "rounding only" if 0 < change < 1e-5 * limit else f"largest {change:.2g}"
