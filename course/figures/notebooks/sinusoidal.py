"""Figures of lesson 4: positions as waves, as clocks, and as products that know the distance."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from course.figures.parts import (
    COLORS,
    SMALL,
    heatmap,
    label,
    legend,
    line,
    line_style,
    lines,
    listing,
    spread,
)
from course.figures.picture import Picture
from course.figures.shapes import Array, Sizes, read_all

MOST_CLOCKS = 8
TRACE = 6
"""Earlier positions that a clock still shows, faintly."""


def position_table(table: Any, title: str = "a table of positions") -> Picture:
    """Draw a table of positions as a heatmap: a row per position.

    Args:
        table: sinusoidal, learned or any other, (T, C).
        title: what kind of table it is.

    Look for: in a sinusoidal table the left columns flicker and the right ones hardly change;
    each pair of columns is a wave. A fresh learned table is noise: no row resembles its neighbor.
    """
    sizes = Sizes()
    table = sizes.numbers("table", table, "T C")
    picture = Picture(
        3.6,
        alt=f"A heatmap, {title}: {sizes['T']} positions by {sizes['C']} features, "
        f"values from {table.min():.2g} to {table.max():.2g}.",
    )
    heatmap(picture.subplots(), table, title, "feature", "position (tokens)", bar="value")
    return picture


def wave_columns(table: Any, columns: Sequence[int]) -> Picture:
    """Draw a few columns of a table of positions, each as a wave.

    Args:
        table: (T, C).
        columns: the numbers of the columns.

    Look for: columns 2i and 2i + 1 are one wave, shifted by a quarter of its length. Further
    columns are slower, and the slowest look like straight lines.
    """
    sizes = Sizes()
    table = sizes.numbers("table", table, "T C")
    outside = [column for column in columns if not 0 <= column < sizes["C"]]
    if outside or not columns:
        raise ValueError(f"columns must name some of 0..{sizes['C'] - 1}; got {list(columns)}")
    picture = Picture(
        3.0,
        alt=f"Features {listing(columns)} of a table of {sizes['T']} positions by "
        f"{sizes['C']} features, each as a curve against the position.",
    )
    waves = {f"feature {column}": table[:, column] for column in columns}
    lines(picture, waves, "columns of the table", "position (tokens)", "value")
    picture.legend(fontsize=SMALL, loc="outside right upper")
    return picture


def clock_hands(table: Any, position: int, base: float = 10000.0) -> Picture:
    """Draw one row of a sinusoidal table as clocks: a hand per pair, sine to the right, cosine up.

    Args:
        table: sines in even columns, cosines in odd ones, (T, C).
        position: the row to show, in tokens.
        base: what the table was made with; it tells the wavelengths.

    Look for: move the position by one. The first hand jumps by a radian, the last hardly moves:
    fast hands tell neighbors apart, slow ones tell far places apart.
    """
    sizes = Sizes()
    table = sizes.numbers("table", table, "T C")
    width = sizes["C"]
    if width % 2:
        raise ValueError(f"table must have an even number of columns, a pair per hand; got {width}")
    if not 0 <= position < sizes["T"]:
        raise ValueError(f"position must lie in 0..{sizes['T'] - 1}; got {position}")
    pairs = spread(width // 2, at_most=MOST_CLOCKS)
    rows = math.ceil(len(pairs) / 4)
    picture = Picture(
        2.35 * rows + 0.3,
        alt=f"Clock faces for pairs {listing(pairs)} of a table of {sizes['T']} positions by "
        f"{width} features, their hands as they stand at position {position}.",
    )
    picture.suptitle(f"position {position}", fontsize=SMALL + 2)
    faces = picture.subplots(rows, min(len(pairs), 4), squeeze=False).flat
    for pair, face in zip(pairs, faces, strict=False):
        tips = table[max(0, position - TRACE) : position + 1, 2 * pair : 2 * pair + 2]
        _draw_clock(face, tips)
        wavelength = 2 * math.pi * base ** (2 * pair / width)
        label(face, f"pair {pair}", f"turn: {wavelength:,.{1 if wavelength < 100 else 0}f} tokens")
    for face in list(faces):
        face.axis("off")
    return picture


def _draw_clock(face: Axes, tips: Array) -> None:
    """Draw a face with a hand to the last of the tips, and the earlier ones fading."""
    face.add_patch(Circle((0, 0), 1, fill=False, edgecolor="0.6"))
    for hour in np.arange(12) * math.pi / 6:
        reach = np.array([0.92, 1.0])
        face.plot(reach * math.sin(hour), reach * math.cos(hour), color="0.6", linewidth=1)
    for age, (sine, cosine) in enumerate(tips[:-1][::-1], start=1):
        fading = 0.5 * (1 - age / (TRACE + 1))
        face.plot([0, sine], [0, cosine], color=COLORS[5], alpha=fading, linewidth=2)
    sine, cosine = tips[-1]
    face.plot([0, sine], [0, cosine], color=COLORS[0], linewidth=2.5, solid_capstyle="round")
    face.plot(sine, cosine, "o", color=COLORS[1])
    face.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal", xticks=[], yticks=[])
    face.spines[:].set_visible(False)


def dot_against_offset(tables: Mapping[str, Any], anchors: Sequence[int] | None = None) -> Picture:
    """Draw the likeness of positions k apart, and how far it depends on where one starts.

    Args:
        tables: name -> (T, C).
        anchors: the positions p to start from; by default the first half. Offsets go as far as
            every anchor can reach.

    A line is the mean of pe[p] · pe[p + k] over the anchors p, divided by its value at k = 0; a
    band goes from the smallest to the largest.

    Look for: the band. Where it is too thin to be seen, the product knows the distance alone: the
    table is relative. Where it is wide, the product depends on the place as well.
    """
    tables = read_all("tables", tables, "T C")
    shapes = [f"{name} ({len(table)}, {table.shape[1]})" for name, table in tables.items()]
    picture = Picture(
        3.2,
        alt=f"The mean dot product of positions k apart against k, for {listing(shapes)}, each "
        "with a band from the smallest to the largest product.",
    )
    draw_offsets(picture.subplots(), tables, anchors)
    return picture


def draw_offsets(
    axes: Axes, tables: Mapping[str, Array], anchors: Sequence[int] | None = None
) -> None:
    """Draw lines and bands of `dot_against_offset`."""
    for index, (name, table) in enumerate(tables.items()):
        last = len(table) - 1
        starts = np.arange((last + 1) // 2 or 1) if anchors is None else np.array(anchors)
        if starts.size == 0 or starts.min() < 0 or starts.max() > last:
            raise ValueError(f"anchors must name some of 0..{last}; got {starts.tolist()}")
        offsets = np.arange(last - starts.max() + 1)
        products = (table @ table.T)[starts[:, None], starts[:, None] + offsets]  # (anchors, k)
        products = products / (products[:, 0].mean() or 1.0)
        line(axes, index, offsets, products.mean(axis=0), name)
        band = {"color": line_style(index)["color"], "alpha": 0.2, "linewidth": 0}
        axes.fill_between(offsets, products.min(axis=0), products.max(axis=0), **band)
    axes.axhline(0, color="0.6", linewidth=0.8)
    title = "mean dot product, with a band from the smallest to the largest"
    if anchors is not None and len(anchors) == 1:
        title = f"dot product of position {anchors[0]} with position {anchors[0]} + k"
    label(axes, title, "offset k (tokens)", "pe[p] · pe[p + k],\nrelative to k = 0")
    legend(axes)


def similarity_of_positions(table: Any) -> Picture:
    """Draw the cosine of every position with every other.

    Args:
        table: (T, C).

    Look for: stripes along the diagonal mean that the similarity depends on the distance alone. A
    fresh learned table has a diagonal and nothing else.
    """
    sizes = Sizes()
    table = sizes.numbers("table", table, "T C")
    picture = Picture(
        4.4,
        alt=f"A heatmap of the cosine similarity of {sizes['T']} positions with each other, from "
        f"{sizes['C']} features each.",
    )
    draw_similarity(picture.subplots(), table, "cosine of two positions", bar="cosine")
    return picture


def draw_similarity(axes: Axes, table: Array, title: str, bar: str) -> None:
    """Draw the heatmap of `similarity_of_positions`; a row of zeros has similarity 0."""
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    directions = table / np.where(lengths == 0, 1.0, lengths)
    cosines, places = directions @ directions.T, ["position (tokens)"] * 2
    heatmap(axes, cosines, title, *places, bar=bar, limit=1.0, aspect="equal")
