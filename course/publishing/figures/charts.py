"""Charts: axes with lines and heatmaps.

    picture, axes = chart(3.0, "The loss falls", alt="...", x="step", y="loss (nats)")
    curve(axes, steps, losses, "RoPE", ACCENT)

In a lesson's text the title is the finding, in a sentence. In a notebook, which a reader changes,
it says what is drawn. Lines have their names at their ends, so no legend is needed.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colorbar import Colorbar
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from course.publishing.figures.colormaps import AMOUNT, SIGNED
from course.publishing.figures.palette import CARD, DARK_CELL, FAINT, LIGHT_CELL, QUIET, style_of
from course.publishing.figures.picture import MARGIN, WIDTH, Picture
from course.publishing.figures.shapes import Array
from course.publishing.figures.words import SMALL, TEXT

# --- in a lesson's text ---------------------------------------------------------------------


def chart(
    height: float,
    finding: str,
    alt: str,
    *,
    x: str = "",
    y: str = "",
    rows: int = 1,
    columns: int = 1,
    **how: Any,
) -> tuple[Picture, Any]:
    """Return a page for data, with axes; for several rows or columns an array of axes.

    Args:
        height: in inches, with the title.
        finding, alt: as for `diagram`.
        x, y: what the axes count, with the unit.
        how: for `subplots`, `sharey=True`.
    """
    picture = Picture(height, alt)
    grid = picture.subplots(rows, columns, squeeze=False, **how)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.tick_params(labelsize=TEXT)  # also those that are made later
    for text in picture.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), TEXT))
    title = {"fontsize": TEXT, "fontweight": "bold", "ha": "left"}
    picture.suptitle(finding, x=MARGIN / WIDTH, **title)
    return picture, grid[0, 0] if rows == columns == 1 else grid


def curve(
    axes: Axes,
    x: Any,
    y: Any,
    name: str = "",
    color: str = QUIET,
    *,
    at: int = -1,
    offset: tuple[float, float] = (6, 0),
    **how: Any,
) -> None:
    """Draw a line with its name next to one of its points, in its color.

    Args:
        at: the number of that point.
        offset: from the point to the name, in points of type.
        how: for `plot` and its line, `linestyle="--"`.
    """
    how = {"color": color, "linewidth": 2.4 if color != QUIET else 1.6} | how
    axes.plot(x, y, **how)
    if name:
        align = "left" if offset[0] >= 0 else "right"
        place = {"xytext": offset, "textcoords": "offset points", "ha": align, "va": "center"}
        axes.annotate(name, (x[at], y[at]), color=how["color"], fontsize=TEXT, **place)


def log_axis(axis: Axis, ticks: Sequence[float], names: Sequence[str] = ()) -> None:
    """Make an axis logarithmic, with ticks at these numbers alone."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_ticks(ticks, names or [f"{tick:,g}" for tick in ticks])
    axis.axes.minorticks_off()


# --- lines ----------------------------------------------------------------------------------


def label(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Write what is drawn, and what the axes count."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=SMALL + 1.5)
    axes.set_xlabel(x, fontsize=SMALL + 0.5)
    axes.set_ylabel(y, fontsize=SMALL + 0.5)
    axes.tick_params(labelsize=SMALL)


def line(axes: Axes, index: int, x: Any, y: Any, name: str = "") -> None:
    """Draw the line with this number, with at most about 16 markers."""
    how = {"markersize": 4.5, "linewidth": 1.6, "markevery": math.ceil(len(y) / 16)}
    axes.plot(x, y, label=name or None, **how, **style_of(name, index))


def lines(picture: Picture, named: Mapping[str, Array], title: str, x: str, y: str) -> Axes:
    """Draw a line for each name, against 0, 1, 2, ...."""
    axes = picture.subplots()
    for index, (name, values) in enumerate(named.items()):
        line(axes, index, np.arange(len(values)), values, name)
    label(axes, title, x, y)
    return axes


def names_at_ends(axes: Axes, pattern: str = "{name}", inches: float | None = None) -> None:
    """Write the name of each line to the right of the axes, as high as its end as far as they fit.

    To be called when all lines are drawn: the limits of y stay as they are now.

    Args:
        pattern: what is written, of a line's `name` and its `last` value.
        inches: the height of the axes; that of the figure, less its title and ticks, by default.
    """
    lines = [one for one in axes.get_lines() if not one.get_label().startswith("_")]
    lines.sort(key=lambda one: one.get_ydata()[-1])
    axes.set_ylim(*axes.get_ylim())
    scaled = axes.yaxis.get_transform().transform
    low, high = scaled(axes.get_ylim())
    ends = [float((scaled(one.get_ydata()[-1]) - low) / (high - low)) for one in lines]
    inches = inches or axes.figure.get_figheight() - 1  # about 1 for title and ticks
    for one, place in zip(lines, spread_out(ends, 1.25 * SMALL / 72 / inches), strict=True):
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


def spread_out(places: Sequence[float], gap: float) -> list[float]:
    """Move places, in ascending order, as little as needed for a gap between each two, within 0..1.

    >>> [round(place, 2) for place in spread_out([0.1, 0.5, 0.5, 0.97], gap=0.1)]
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


# --- heatmaps -------------------------------------------------------------------------------


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
    """Draw a matrix as colors: from -limit to limit if signed, else from 0.

    Cells with inf or nan, as a mask makes them, are hatched.

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
    axes.spines[:].set_visible(False)
    axes.patch.set(facecolor=CARD, edgecolor=FAINT, hatch="////", linewidth=0)  # behind the masked
    if bar:
        scale = axes.figure.colorbar(image, cax=axes.inset_axes((1 + gap, 0, 0.05, 1)))
        finish_scale(scale, bar)
    return image


def finish_scale(scale: Colorbar, name: str) -> None:
    """Write what the numbers of a color scale are, and few of them."""
    scale.set_label(name, fontsize=SMALL)
    scale.ax.tick_params(labelsize=SMALL)
    scale.locator = MaxNLocator(5, steps=(1, 2, 5, 10))
    scale.outline.set_visible(False)


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


def difference(after: Array, before: Array) -> Array:
    """Return after - before, where a score that a mask made -inf in both has not changed.

    >>> difference(np.array([2.0, -np.inf]), np.array([0.5, -np.inf]))
    array([1.5, 0. ])
    """
    return np.subtract(after, before, out=np.zeros_like(after), where=after != before)


def largest(*arrays: Array) -> float:
    """Return the largest absolute value that is finite, to end a color scale; 1 if all is zero.

    >>> largest(np.array([1.0, -3.0]), np.array([2.0, -np.inf]))
    3.0
    """
    finite = np.concatenate([array[np.isfinite(array)] for array in arrays])
    return float(np.abs(finite).max(initial=0)) or 1.0


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
        color = LIGHT_CELL if is_dark else DARK_CELL
        image.axes.text(column, row, format(value, pattern), color=color, **style)


def mark_rows(axes: Axes, rows: Sequence[int], index: int) -> None:
    """Draw the marker with this number to the right of some rows of a heatmap."""
    across = axes.get_yaxis_transform()  # x counts widths of the panel, y rows
    style = style_of("", index) | {"linestyle": "none", "markersize": 6}
    axes.plot([1.05] * len(rows), rows, transform=across, clip_on=False, **style)


def tick_words(axis: Axis, words: Sequence[str], inches: float = 4.5) -> None:
    """Write a word per row or column of a heatmap; every n-th if the axis is too short."""
    step = math.ceil(0.17 * len(words) / inches)
    tilt = axis.axis_name == "x" and max(map(len, words)) > 2
    how = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if tilt else {}
    axis.set_ticks(range(0, len(words), step), words[::step], **how)


def equation(picture: Picture, widths: Sequence[float], signs: str) -> list[Axes]:
    """Return axes in a row with a sign between each two, as in A × B = C."""
    gap = 0.05 * sum(widths)
    ratios = [width for each in widths for width in (each, gap)][:-1]
    axes = picture.subplots(1, len(ratios), width_ratios=ratios)
    for between, sign in zip(axes[1::2], signs, strict=True):
        between.axis("off")
        between.text(0.5, 0.5, sign, ha="center", va="center", fontsize=18)
    return list(axes[::2])


def evenly(count: int, at_most: int) -> list[int]:
    """Return numbers of 0..count-1, evenly spread, the first and the last among them.

    >>> evenly(3, at_most=8), evenly(16, at_most=4)
    ([0, 1, 2], [0, 5, 10, 15])
    """
    return [round(place) for place in np.linspace(0, count - 1, min(count, at_most))]
