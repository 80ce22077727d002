"""Words in figures: written, pointing somewhere, and as parts of a sentence."""

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes

from course.publishing.figures.palette import INK, QUIET

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
