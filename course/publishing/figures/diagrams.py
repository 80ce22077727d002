"""Diagrams: cells, boxes, arrows and dials on a page; places are inches, y downward.

    picture, axes = diagram(1.4, "The id picks a row", alt="...")
    table = cells(axes, 2.0, 0.1, [[1, 2], [3, 4]], colors=[None, ACCENT])
    arrow(axes, (1.2, 0.3), table.left(1), ACCENT)

The title is the finding, in a sentence. One color says where to look, and grey is the rest. Names
are next to what they name. Angles are in radians, 0 to the right, and grow counterclockwise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch, Rectangle, Wedge

from course.publishing.figures.palette import ACCENT, FAINT, INK, QUIET, SHADE, TINTS
from course.publishing.figures.picture import MARGIN, WIDTH, Picture
from course.publishing.figures.words import TEXT, Point, signed, write

_TITLE = MARGIN + 0.28  # inches that the title takes


def diagram(height: float, finding: str, alt: str) -> tuple[Picture, Axes]:
    """Return a page for a diagram: places are inches from its top left corner, below the title.

    Args:
        height: in inches, without the title; the width is `WIDTH`.
        finding: the title, a sentence that fits in one line.
        alt: what is to be seen.
    """
    picture = Picture(_TITLE + height, alt)
    picture.set_layout_engine("none")
    axes = picture.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, -_TITLE))
    axes.axis("off")
    title = {"fontsize": TEXT, "fontweight": "bold", "va": "top"}
    axes.text(MARGIN, MARGIN - _TITLE, finding, **title)
    return picture, axes


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
                text = entry if isinstance(entry, str) else signed(entry, pattern)
                how = {"align": "center", "bold": color not in (None, QUIET)}
                write(axes, block.center(row, column), text, INK if color else QUIET, **how)
    return block


def name_row(axes: Axes, block: Cells, row: int, name: str, color: str = QUIET) -> None:
    """Write a name left of a row of a block."""
    x, y = block.left(row)
    write(axes, (x - 0.1, y), name, color, align="right")


def name_column(axes: Axes, block: Cells, column: int, name: str, color: str = QUIET) -> None:
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


def join_by_arc(axes: Axes, left: float, right: float, y: float, height: float, color: str) -> None:
    """Join two places by a bow below them, or above with a negative height."""
    shares = np.linspace(0, 1, 30)
    xs, ys = left + (right - left) * shares, y + height * np.sin(np.pi * shares).clip(0) ** 0.6
    axes.plot(xs, ys, color=color, linewidth=1.8)


def outline(axes: Axes, corner: Point, size: Point, color: str = QUIET, width: float = 1) -> None:
    """Draw a dashed line around a part of a diagram, from its upper left corner."""
    how = {"boxstyle": "round,pad=0,rounding_size=0.15", "facecolor": "none", "linestyle": "--"}
    axes.add_patch(FancyBboxPatch(corner, *size, edgecolor=color, linewidth=width, **how))


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
