"""Figures of lesson 4: positions as waves, as clocks, and as products that know the distance."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course.publishing.figures.charts import evenly, heatmap, label, line, lines, names_at_ends
from course.publishing.figures.diagrams import diagram, dial, hand
from course.publishing.figures.palette import ACCENT, FAINT, style_of
from course.publishing.figures.picture import WIDTH, Picture
from course.publishing.figures.shapes import Sizes, read_all
from course.publishing.figures.shared import matrices
from course.publishing.figures.words import SMALL, listing, write

MOST_CLOCKS = 8
RADIUS = 0.64  # inches
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
    axes = lines(picture, waves, "columns of the table", "position (tokens)", "value")
    names_at_ends(axes)
    return picture


def clock_hands(table: Any, position: int, base: float = 10000.0) -> Picture:
    """Draw one row of a sinusoidal table as clocks: a hand per pair, cosine to the right, sine up.

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
        raise ValueError(f"position must be in 0..{sizes['T'] - 1}; got {position}")
    pairs = evenly(width // 2, at_most=MOST_CLOCKS)
    picture, axes = diagram(
        1.95 * math.ceil(len(pairs) / 4),
        f"position {position}",
        alt=f"Clock faces for pairs {listing(pairs)} of a table of {sizes['T']} positions by "
        f"{width} features, with their hands at position {position}.",
    )
    earlier = range(max(0, position - TRACE), position)
    for number, pair in enumerate(pairs):
        center = (WIDTH / 4 * (number % 4 + 0.5), 0.98 + 1.95 * (number // 4))
        dial(axes, center, RADIUS)
        for place in (*earlier, position):
            sine, cosine = table[place, 2 * pair : 2 * pair + 2]
            color, width_of_line = (ACCENT, 2.4) if place == position else (FAINT, 1.6)
            angle, length = math.atan2(sine, cosine), RADIUS * math.hypot(sine, cosine)
            hand(axes, center, length, angle, color, width_of_line)
        turn = rounded(2 * math.pi * base ** (2 * pair / width))
        for above, text in ((0.83, f"pair {pair}"), (-0.83, f"turn: {turn} tokens")):
            write(axes, (center[0], center[1] - above), text, align="center", size=SMALL + 1)
    return picture


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
    axes = picture.subplots()
    for index, (name, table) in enumerate(tables.items()):
        last = len(table) - 1
        starts = np.arange((last + 1) // 2 or 1) if anchors is None else np.array(anchors)
        if starts.size == 0 or starts.min() < 0 or starts.max() > last:
            raise ValueError(f"anchors must name some of 0..{last}; got {starts.tolist()}")
        offsets = np.arange(last - starts.max() + 1)
        products = (table @ table.T)[starts[:, None], starts[:, None] + offsets]  # (anchors, k)
        products = products / (products[:, 0].mean() or 1.0)
        line(axes, index, offsets, products.mean(axis=0), name)
        band = {"color": style_of(name, index)["color"], "alpha": 0.2, "linewidth": 0}
        axes.fill_between(offsets, products.min(axis=0), products.max(axis=0), **band)
    axes.axhline(0, color=FAINT, linewidth=0.8)
    title = "mean dot product, with a band from the smallest to the largest"
    if anchors is not None and len(anchors) == 1:
        title = f"dot product of position {anchors[0]} with position {anchors[0]} + k"
    label(axes, title, "offset k (tokens)", "pe[p] · pe[p + k],\nrelative to k = 0")
    names_at_ends(axes)
    return picture


def similarity_of_positions(tables: Mapping[str, Any]) -> Picture:
    """Draw the cosine of every position with every other, for one table or several.

    Args:
        tables: name -> (T, C).

    Look for: stripes along the diagonal mean that the similarity depends on the distance alone. A
    fresh learned table has a diagonal and nothing else. A diagonal that fades slowly means that
    positions near each other got similar rows.
    """
    cosines = {}
    for name, table in read_all("tables", tables, "T C").items():
        lengths = np.linalg.norm(table, axis=1, keepdims=True)
        directions = table / np.where(lengths == 0, 1.0, lengths)  # a row of zeros: cosine 0
        cosines[name] = directions @ directions.T
    places = "position (tokens)"
    return matrices(cosines, x=places, y=places, unit="cosine", limit=1.0)


def rounded(value: float) -> str:
    """Write a number above 0 with three digits or more, as far as they tell something.

    >>> rounded(6.2832), rounded(62.83), rounded(6283.2)
    ('6.28', '62.8', '6,283')
    """
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"
