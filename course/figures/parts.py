"""The parts of figures: heatmaps, words on an axis, lines that differ."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from course.figures.picture import Picture
from course.figures.shapes import Array

SIGNED = "coolwarm"
"""For values of both signs: its ends stay apart for color-blind readers."""

AMOUNT = "viridis"
"""For values from zero upwards."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255")
"""Okabe and Ito's palette, with Tol's wine for its yellow, which is too faint on white."""

MARKERS = "osD^vPX*"
LINES = ("-", "--", "-.", ":")
DASHES = ("--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)))

SCHEMES = {  # name -> its number in COLORS and MARKERS
    "none": 6,
    "learned": 3,
    "sinusoidal": 2,
    "rope": 1,
    "alibi": 0,
    "t5": 5,
    "partial": 4,
    "rnope": 7,
}
"""The schemes of positions: each has one color and one marker in all figures."""

VARIANTS = ("ntk", "linear", "yarn 32", "yarn 4")
"""Ways to change RoPE's angles after the training: each has one marker and dashes of its own."""

SMALL = 9  # points: the smallest text of a figure


def label(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Write what is drawn, and what the axes count."""
    axes.set_title(title, fontsize=SMALL + 1.5)
    axes.set_xlabel(x, fontsize=SMALL + 0.5)
    axes.set_ylabel(y, fontsize=SMALL + 0.5)
    axes.tick_params(labelsize=SMALL)


def legend(axes: Axes, **how: Any) -> None:
    """Name the lines."""
    axes.legend(fontsize=SMALL, framealpha=0.85, **how)


def line_style(index: int) -> dict[str, Any]:
    """Return color, dashes and marker of the line with this number: each tells it apart."""
    return {
        "color": COLORS[index % len(COLORS)],
        "linestyle": LINES[index % len(LINES)],
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 4.5,
        "linewidth": 1.6,
    }


def style_of(name: str, index: int) -> dict[str, Any]:
    """Return the style of a named line: a scheme's own, or that of a number.

    Args:
        name: "rope", or "rope, ntk" for a variant: it has its scheme's color, and other dashes.
        index: the number, for lines that are no schemes.
    """
    scheme, _, variant = name.partition(", ")
    if scheme not in SCHEMES:
        return line_style(index)
    style = line_style(SCHEMES[scheme]) | {"linestyle": "-"}
    if variant:
        number = VARIANTS.index(variant) if variant in VARIANTS else index
        dashes, marker = DASHES[number % len(DASHES)], MARKERS[number % len(MARKERS)]
        style |= {"linestyle": dashes, "marker": marker, "markerfacecolor": "white"}
    return style


def line(axes: Axes, index: int, x: Any, y: Any, name: str = "") -> None:
    """Draw the line with this number, with at most about 16 markers."""
    every = math.ceil(len(y) / 16)
    axes.plot(x, y, label=name or None, markevery=every, **style_of(name, index))


def lines(
    picture: Picture, named: Mapping[str, Array], title: str, x: str, y: str, places: Any = None
) -> Axes:
    """Draw a line for each name, against 0, 1, 2, ... or against places."""
    axes = picture.subplots()
    for index, (name, values) in enumerate(named.items()):
        line(axes, index, np.arange(len(values)) if places is None else places, values, name)
    label(axes, title, x, y)
    return axes


def names_at_ends(axes: Axes, pattern: str = "{name}") -> None:
    """Write the name of each line to the right of the axes, as high as its end as far as they fit.

    To be called when all lines are drawn: the limits of y stay as they are now.

    Args:
        pattern: what is written, of a line's `name` and its `last` value.
    """
    lines = [one for one in axes.get_lines() if not one.get_label().startswith("_")]
    lines.sort(key=lambda one: one.get_ydata()[-1])
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    ends = [float((one.get_ydata()[-1] - low) / (high - low)) for one in lines]
    inches = axes.figure.get_size_inches()[1] - 1  # about 1 for title and ticks
    for one, place in zip(lines, apart(ends, 1.25 * SMALL / 72 / inches), strict=True):
        x, last = one.get_xdata()[-1], one.get_ydata()[-1]
        thin = {"arrowstyle": "-", "color": one.get_color(), "linewidth": 1, "relpos": (0, 0.5)}
        axes.annotate(
            pattern.format(name=one.get_label(), last=last),
            (x, last),
            (1.06, place),
            xycoords=one.get_transform(),
            textcoords="axes fraction",
            va="center",
            fontsize=SMALL,
            arrowprops=thin | {"shrinkA": 1, "shrinkB": 3},
        )


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Move places, in ascending order, as little as needed for a gap between each two, within 0..1.

    >>> [round(place, 2) for place in apart([0.1, 0.5, 0.5, 0.97], gap=0.1)]
    [0.1, 0.45, 0.55, 0.97]
    """
    groups: list[list[float]] = []  # of places that touch, each less the gaps before it
    for number, place in enumerate(places):
        groups.append([place - number * gap])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    room = max(0.0, 1 - (len(places) - 1) * gap)
    means = [min(max(float(np.mean(group)), 0.0), room) for group in groups for _ in group]
    return [mean + number * gap for number, mean in enumerate(means)]


def largest(*arrays: Array) -> float:
    """Return the largest absolute value that is finite, to end a color scale; 1 if all is zero.

    >>> largest(np.array([1.0, -3.0]), np.array([2.0, -np.inf]))
    3.0
    """
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return float(np.abs(finite).max(initial=0)) or 1.0


def difference(after: Array, before: Array) -> Array:
    """Return after - before, where a score that a mask made -inf in both has not changed.

    >>> difference(np.array([2.0, -np.inf]), np.array([0.5, -np.inf]))
    array([1.5, 0. ])
    """
    return np.subtract(after, before, out=np.zeros_like(after), where=after != before)


def in_words(change: float, limit: float) -> str:
    """Return how large a change is, beside numbers up to `limit`.

    >>> in_words(0.5, 2.0), in_words(4.8e-07, 2.0)
    ('largest 0.5', 'none but rounding')
    """
    return "none but rounding" if 0 < change < 1e-5 * limit else f"largest {change:.2g}"


def heatmap(
    axes: Axes,
    values: Array,
    title: str = "",
    x: str = "",
    y: str = "",
    *,
    bar: str = "",
    gap: float = 0.05,
    signed: bool = True,
    limit: float | None = None,
    aspect: str = "auto",
) -> AxesImage:
    """Draw a matrix as colors: from -limit to limit if signed, else from 0; blank for inf and nan.

    Args:
        title, x, y: for `label`.
        bar: what the numbers are; with it there is a color scale, as high as the image.
        gap: from the image to its color scale, in widths of the image.
    """
    limit = limit or largest(values)
    image = axes.imshow(
        np.ma.masked_invalid(values),
        cmap=SIGNED if signed else AMOUNT,
        vmin=-limit if signed else 0,
        vmax=limit,
        aspect=aspect,
        interpolation="nearest",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    label(axes, title, x, y)
    if bar:
        scale = axes.figure.colorbar(image, cax=axes.inset_axes((1 + gap, 0, 0.05, 1)))
        scale.set_label(bar, fontsize=SMALL)
        scale.ax.tick_params(labelsize=SMALL)
        scale.locator = MaxNLocator(5, steps=(1, 2, 5, 10))
    return image


def with_difference(
    panels: Iterable[Axes],
    before: Array,
    after: Array,
    titles: Sequence[str],
    x: str,
    y: str,
    bar: str,
    aspect: str = "auto",
) -> None:
    """Draw two matrices and their difference on one color scale, with titles for all three."""
    matrices, limit = (before, after, difference(after, before)), largest(before, after)
    for axes, values, title, scale in zip(panels, matrices, titles, ("", "", bar), strict=True):
        heatmap(axes, values, title, x, y, bar=scale, limit=limit, aspect=aspect)


def write_values(image: AxesImage, pattern: str, cell: float) -> None:
    """Write the numbers themselves, if all fit into cells so many inches wide."""
    values = np.ma.filled(image.get_array(), np.nan)
    shown = {place: value for place, value in np.ndenumerate(values) if np.isfinite(value)}
    longest = max((len(format(value, pattern)) for value in shown.values()), default=0)
    if longest * SMALL / 110 > cell:
        return
    for (row, column), value in shown.items():
        red, green, blue, _ = image.cmap(image.norm(value))
        is_dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        style = {"ha": "center", "va": "center", "fontsize": SMALL}
        # neither is black or white exactly: a cell's color is the same on a dark page
        color = "#fdfdfd" if is_dark else "#111111"
        image.axes.text(column, row, format(value, pattern), color=color, **style)


def mark_rows(axes: Axes, rows: Sequence[int], index: int) -> None:
    """Draw the marker with this number to the right of some rows of a heatmap."""
    across = axes.get_yaxis_transform()  # x counts widths of the panel, y rows
    style = line_style(index) | {"linestyle": "none", "markersize": 6}
    axes.plot([1.05] * len(rows), rows, transform=across, clip_on=False, **style)


def words_on(axis: Axis, words: Sequence[str], inches: float = 4.5) -> None:
    """Write a word per row or column of a heatmap; every n-th if the axis is too short."""
    step = math.ceil(0.17 * len(words) / inches)
    tilt = axis.axis_name == "x" and max(map(len, words)) > 2
    how = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if tilt else {}
    axis.set_ticks(range(0, len(words), step), words[::step], **how)


def outer_ticks(grid: Array) -> None:
    """Leave ticks on the left and below only, in a grid (rows, columns) of like panels."""
    for axes in grid[:, 1:].flat:
        axes.set_yticks([])
        axes.set_ylabel("")
    for axes in grid[:-1].flat:
        axes.set_xticks([])
        axes.set_xlabel("")


def equation(picture: Picture, widths: Sequence[float], signs: str) -> list[Axes]:
    """Return axes in a row with a sign between each two, as in A × B = C."""
    gap = 0.05 * sum(widths)
    ratios = [width for each in widths for width in (each, gap)][:-1]
    axes = picture.subplots(1, len(ratios), width_ratios=ratios)
    for between, sign in zip(axes[1::2], signs, strict=True):
        between.axis("off")
        between.text(0.5, 0.5, sign, ha="center", va="center", fontsize=18)
    return list(axes[::2])


def spread(count: int, at_most: int) -> list[int]:
    """Return numbers of 0..count-1, evenly spread, the first and the last among them.

    >>> spread(3, at_most=8), spread(16, at_most=4)
    ([0, 1, 2], [0, 5, 10, 15])
    """
    return [round(place) for place in np.linspace(0, count - 1, min(count, at_most))]


def listing(names: Iterable[object]) -> str:
    """Join names as in a sentence.

    >>> listing("abc"), listing(["one"])
    ('a, b and c', 'one')
    """
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last
