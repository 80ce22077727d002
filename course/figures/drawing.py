"""Figures for the texts: one style, and the parts of diagrams and charts.

    picture, axes = diagram(1.4, "The id picks a row", alt="...")   # places are inches, y downward
    table = cells(axes, 2.0, 0.1, [[1, 2], [3, 4]], colors=[None, ACCENT])
    arrow(axes, (1.2, 0.3), table.left(1), ACCENT)

    picture, axes = chart(3.0, "The loss falls", alt="...", x="step", y="loss (nats)")
    curve(axes, steps, losses, "RoPE", ACCENT)

The title is the finding, in a sentence. One color, `ACCENT`, says where to look, and grey is the
rest; a second idea gets `SECOND`. Names stand beside what they name, so no legend is needed.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle, Wedge
from matplotlib.text import Text

from course.figures.picture import WIDTH, Picture
from course.figures.svg import FAINT, INK, QUIET, SHADE

TEXT = 13
"""Points of the smallest text: 9 pixels where a phone shows the 700 of a figure on 358."""

ACCENT, SECOND, THIRD = "#C65300", "#0072B2", "#00694D"
"""Vermillion, blue and green of Okabe and Ito, as dark as words need on white (4.5 to 1)."""

TINTS = {ACCENT: "#fbdfcc", SECOND: "#cfe5f4", THIRD: "#cfebe1", QUIET: SHADE}
"""Color -> the pale one behind words."""

_LINE = 0.28  # inches that a line of the title takes
_MARGIN = 0.16  # inches
_ACROSS = 56  # letters of a title that fit

Point = tuple[float, float]


# --- pages ----------------------------------------------------------------------------------


def diagram(height: float, finding: str, alt: str) -> tuple[Picture, Axes]:
    """Return a page for a diagram: places are inches from its top left corner, below the title.

    Args:
        height: in inches, without the title; the width is `WIDTH`.
        finding: the title, a sentence.
        alt: what is to be seen.
    """
    lines = title_lines(finding)
    above = _MARGIN + _LINE * len(lines)
    picture = Picture(above + height, alt)
    picture.set_layout_engine("none")
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, -above))
    axes.axis("off")
    title = {"fontsize": TEXT + 1, "fontweight": "bold", "va": "top"}
    axes.text(_MARGIN, _MARGIN - above, "\n".join(lines), **title)
    return picture, axes


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
    in_text(picture, finding)
    return picture, grid[0, 0] if rows == columns == 1 else grid


def in_text(picture: Picture, finding: str) -> Picture:
    """Put the finding above a picture, make small words legible on a phone, and return it.

    So a picture that a notebook shows stands in a text as well.
    """
    for text in picture.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), TEXT))
    for axes in picture.axes:
        for shown in (axes, *axes.child_axes):
            shown.tick_params(labelsize=TEXT)  # also those that are made later
    lines = "\n".join(title_lines(finding))
    title = {"fontsize": TEXT + 1, "fontweight": "bold", "ha": "left"}
    picture.suptitle(lines, x=_MARGIN / WIDTH, **title)
    picture.get_layout_engine().set(w_pad=_MARGIN, h_pad=_MARGIN)
    return picture


def title_lines(finding: str) -> list[str]:
    """Break a title into lines of about the same length."""
    needed = len(textwrap.wrap(finding, _ACROSS))
    widths = range(len(finding) // needed, _ACROSS + 1)
    return next(lines for width in widths if len(lines := textwrap.wrap(finding, width)) == needed)


# --- words ----------------------------------------------------------------------------------


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
        align: what of the words stands at the place, "left", "center" or "right".
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


# --- diagrams -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """Where a block of cells lies: the places at which arrows begin and end.

    Rows and columns count from 0.
    """

    x: float
    y: float
    size: tuple[float, float]
    rows: int
    columns: int

    def center(self, row: int, column: int) -> Point:
        """Return the middle of a cell."""
        width, height = self.size
        return self.x + (column + 0.5) * width, self.y + (row + 0.5) * height

    @property
    def middle(self) -> float:
        """How far right the middle of the block lies."""
        return self.x + self.columns * self.size[0] / 2

    def left(self, row: int) -> Point:
        """Return the middle of a row's left edge."""
        return self.x, self.center(row, 0)[1]

    def right(self, row: int) -> Point:
        """Return the middle of a row's right edge."""
        return self.x + self.columns * self.size[0], self.center(row, 0)[1]

    def above(self, column: int) -> Point:
        """Return the middle of a column's upper edge."""
        return self.center(0, column)[0], self.y

    def below(self, column: int) -> Point:
        """Return the middle of a column's lower edge."""
        return self.center(0, column)[0], self.y + self.rows * self.size[1]


def cells(
    axes: Axes,
    x: float,
    y: float,
    values: Sequence[Sequence[object]],
    *,
    size: tuple[float, float] = (0.5, 0.36),
    colors: Sequence[Any] | None = None,
    pattern: str = "g",
) -> Cells:
    """Draw values in cells, a row each, from the upper left corner (x, y).

    Args:
        values: numbers, written with `pattern`, or words; None leaves a cell empty.
        size: width and height of a cell.
        colors: a key of `TINTS` for each row, or None where nothing is meant. Instead of a row's
            color there may be a list with one for each cell.
    """
    colors = colors or [None] * len(values)
    width, height = size
    block = Cells(x, y, size, len(values), max(map(len, values)))
    for row, (entries, of_row) in enumerate(zip(values, colors, strict=True)):
        of_cells = of_row if isinstance(of_row, list) else [of_row] * len(entries)
        for column, (entry, color) in enumerate(zip(entries, of_cells, strict=True)):
            corner = (x + column * width, y + row * height)
            fill = TINTS[color] if color else SHADE
            axes.add_patch(Rectangle(corner, width, height, facecolor=fill, edgecolor=FAINT))
            if entry is not None:
                text = entry if isinstance(entry, str) else format(entry, pattern)
                how = {"align": "center", "bold": color not in (None, QUIET)}
                write(axes, block.center(row, column), text, INK if color else QUIET, **how)
    return block


def beside(axes: Axes, block: Cells, row: int, name: str, color: str = QUIET) -> None:
    """Write a name left of a row of a block."""
    x, y = block.left(row)
    write(axes, (x - 0.1, y), name, color, align="right")


def over(axes: Axes, block: Cells, column: int, name: str, color: str = QUIET) -> None:
    """Write a name above a column of a block."""
    x, y = block.above(column)
    write(axes, (x, y - 0.2), name, color, align="center")


def box(
    axes: Axes, x: float, y: float, text: str, color: str = QUIET, size: Point = (1.5, 0.5)
) -> Cells:
    """Draw words in a rounded box from its upper left corner, and return it as a single cell."""
    block = Cells(x, y, size, 1, 1)
    round_by = f"round,pad=0,rounding_size={min(size) / 4}"
    how = {"facecolor": TINTS[color], "edgecolor": color}
    axes.add_patch(FancyBboxPatch((x, y), *size, boxstyle=round_by, **how))
    write(axes, block.center(0, 0), text, align="center")
    return block


def arrow(axes: Axes, start: Point, end: Point, color: str = QUIET, bend: float = 0.0) -> None:
    """Draw an arrow between two places, bent by a share of its length."""
    style = {
        "arrowstyle": "-|>,head_width=0.22,head_length=0.45",
        "connectionstyle": f"arc3,rad={bend}",
        "color": color,
        "linewidth": 2.0 if color != QUIET else 1.3,
        "shrinkA": 3,
        "shrinkB": 3,
    }
    axes.annotate("", end, start, arrowprops=style)


def bow(axes: Axes, left: float, right: float, y: float, height: float, color: str) -> None:
    """Join two places by a bow below them, or above with a negative height."""
    shares = np.linspace(0, 1, 30)
    xs, ys = left + (right - left) * shares, y + height * np.sin(np.pi * shares).clip(0) ** 0.6
    axes.plot(xs, ys, color=color, linewidth=1.8)


def frame(axes: Axes, corner: Point, size: Point, color: str = QUIET, width: float = 1) -> None:
    """Draw a dashed line around a part of a diagram, from its upper left corner."""
    how = {"boxstyle": "round,pad=0,rounding_size=0.15", "facecolor": "none", "linestyle": "--"}
    axes.add_patch(FancyBboxPatch(corner, *size, edgecolor=color, linewidth=width, **how))


# --- clocks: angles are in radians and grow counterclockwise from the right ---------------------


def dial(axes: Axes, center: Point, radius: float) -> None:
    """Draw the face of a clock."""
    axes.add_patch(Circle(center, radius, facecolor=SHADE, edgecolor=FAINT))


def tip_of(center: Point, radius: float, angle: float) -> Point:
    """Return a place on a circle in a diagram, where y grows downward."""
    return center[0] + radius * math.cos(angle), center[1] - radius * math.sin(angle)


def hand(
    axes: Axes, center: Point, radius: float, angle: float, color: str, width: float = 2.4
) -> None:
    """Draw a hand with a dot at its tip."""
    tip = tip_of(center, radius, angle)
    axes.plot(*zip(center, tip, strict=True), color=color, linewidth=width, zorder=3)
    axes.plot(*tip, marker="o", markersize=6, color=color, zorder=3)


def clock(
    axes: Axes, center: Point, radius: float, angle: float, color: str = ACCENT, name: str = ""
) -> None:
    """Draw a dial with a hand, and its name below."""
    dial(axes, center, radius)
    hand(axes, center, radius, angle, color)
    write(axes, (center[0], center[1] + radius + 0.2), name, align="center")


def sector(
    axes: Axes, center: Point, radius: float, start: float, end: float, color: str, edge: float = 0
) -> None:
    """Fill what lies between two angles, with an edge so many points wide."""
    turns = (-math.degrees(end), -math.degrees(start))  # matplotlib counts the other way here
    how = {"facecolor": TINTS[color], "edgecolor": color if edge else "none", "linewidth": edge}
    axes.add_patch(Wedge(center, radius, *turns, **how))


# --- charts ---------------------------------------------------------------------------------


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
    """Draw a line with its name beside one of its points, in its own color.

    Args:
        at: the number of that point.
        offset: from the point to the name, in points of type.
        how: for `plot` and its line, `linestyle="--"`.
    """
    axes.plot(x, y, **({"color": color, "linewidth": 2.4 if color != QUIET else 1.6} | how))
    if name:
        align = "left" if offset[0] >= 0 else "right"
        place = {"xytext": offset, "textcoords": "offset points", "ha": align, "va": "center"}
        axes.annotate(name, (x[at], y[at]), color=color, fontsize=TEXT, **place)


def log_axis(axis: Axis, ticks: Sequence[float], names: Sequence[str] = ()) -> None:
    """Make an axis logarithmic, with ticks at these numbers alone."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_ticks(ticks, names or [f"{tick:,g}" for tick in ticks])
    axis.axes.minorticks_off()
