"""Figures of lesson 5: rotated pairs, and scores that know the distance alone."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course.publishing.figures.charts import (
    difference,
    evenly,
    heatmap,
    label,
    largest,
    line,
    lines,
    names_at_ends,
    with_difference,
)
from course.publishing.figures.diagrams import diagram, dial, hand
from course.publishing.figures.palette import QUIET, SERIES
from course.publishing.figures.picture import WIDTH, Picture
from course.publishing.figures.shapes import Sizes, read_all
from course.publishing.figures.words import SMALL, listing, size_of_change, write

MOST_PAIRS = 4
RADIUS = 0.72  # inches


def turned_pairs(before: Any, after: Any, positions: Sequence[int]) -> Picture:
    """Draw pairs of features as hands of clocks, before and after they are rotated.

    Args:
        before: a query or key, (D,); feature i is paired with feature D/2 + i.
        after: the same, turned at each of the positions, (P, D).
        positions: the P positions, in tokens.

    Look for: all hands end on the rim, because a rotation keeps the length. The first pair turns by
    a radian per position, the last hardly moves.
    """
    sizes = Sizes()
    before = sizes.numbers("before", before, "D")
    after = sizes.numbers("after", after, "P D")
    places = sizes.numbers("positions", positions, "P").astype(int)
    half, odd = divmod(sizes["D"], 2)
    if odd:
        raise ValueError(f"before must have an even number of features; got {sizes['D']}")
    pairs = evenly(half, at_most=MOST_PAIRS)
    picture, axes = diagram(
        2.6,
        "pairs of features, as hands",
        alt=f"Pairs {listing(pairs)} of a vector of {sizes['D']} features as hands of clocks, "
        f"before and after being rotated at positions {listing(places)}.",
    )
    rows = [("before", QUIET, 4.5, before)]
    for number, (place, row) in enumerate(zip(places, after, strict=True)):
        rows.append((f"at {place}", SERIES[(number + 1) % len(SERIES)], 1.8, row))
    for number, pair in enumerate(pairs):
        center = (WIDTH / len(pairs) * (number + 0.5), 1.12)
        dial(axes, center, RADIUS)
        length = math.hypot(before[pair], before[half + pair]) or 1.0
        for _, color, width, row in rows:
            x, y = row[pair], row[half + pair]
            hand(axes, center, RADIUS * math.hypot(x, y) / length, math.atan2(y, x), color, width)
        for below, text in ((-0.93, f"pair {pair}"), (0.9, f"features {pair}, {half + pair}")):
            write(axes, (center[0], center[1] + below), text, align="center", size=SMALL + 1)
    for number, (name, color, *_) in enumerate(rows):
        x = WIDTH / len(rows) * (number + 0.5)
        write(axes, (x, 2.4), name, color, align="center", size=SMALL + 1)
    return picture


def scores_under_shift(panels: Mapping[str, tuple[Any, Any]], shift: int) -> Picture:
    """Draw the scores of one sentence at two positions of a text, and their difference, in rows.

    Args:
        panels: name -> (scores, shifted), (T, T) each, queries in rows, keys in columns: of tokens
            at positions 0, 1, ... and of the same tokens at positions shift, shift + 1, ...
        shift: in tokens.

    Look for: a blank third panel, drawn on the same color scale. Then the score depends on the
    distance between two tokens and not on where the sentence begins. A projection between the
    positions and the score spoils what the sinusoids promise; it cannot spoil a rotation that
    comes after it.
    """
    if not panels:
        raise ValueError("panels must hold at least one pair of score matrices; got none")
    read, changes = {}, {}
    for name, pair in panels.items():
        sizes, kinds = Sizes(), (f"scores of {name}", f"shifted of {name}")
        early, late = (sizes.numbers(*one, "T T") for one in zip(kinds, pair, strict=True))
        read[name], changes[name] = (early, late), np.abs(difference(late, early)).max()
    told = listing(f"{name} {change:.2g}" for name, change in changes.items())
    size = " and ".join(sorted({f"{len(early)} by {len(early)}" for early, _ in read.values()}))
    picture = Picture(
        1.85 * len(read) + 0.85,
        alt=f"Score matrices ({size}) at positions from 0, at positions from {shift}, and their "
        f"difference, a row of heatmaps each. Largest change: {told}.",
    )
    grid = picture.subplots(len(read), 3, squeeze=False)
    for row, (name, (early, late)) in zip(grid, read.items(), strict=True):
        change = size_of_change(changes[name], largest(early, late))
        titles = ("from position 0", f"from position {shift:,}", f"difference: {change}")
        with_difference(row, early, late, titles, "key", "query", "score", "equal")
        row[0].set_ylabel(f"{name}\n\nquery")
    for axes in grid.flat:
        axes.label_outer(remove_inner_ticks=True)
    for axes in grid[1:, :2].flat:
        axes.set_title("")
    return picture


def wavelengths(frequencies: Mapping[str, Any], context: int | None = None) -> Picture:
    """Draw the number of tokens that a full turn of each pair takes.

    Args:
        frequencies: name -> inverse frequencies in radians per token, (P,).
        context: the length of text that the model was trained on, in tokens.

    Look for: pairs above the line do not complete a turn within the context. Go beyond it, and
    they reach angles that training never showed them. A larger base lifts the right end.
    """
    read = read_all("frequencies", frequencies, "P")
    if min(values.min() for values in read.values()) <= 0:
        raise ValueError("frequencies must hold numbers above 0")
    turns = {name: 2 * np.pi / values for name, values in read.items()}
    told = listing(f"{name} ({len(turn)} pairs)" for name, turn in turns.items())
    longest = max(turn.max() for turn in turns.values())
    picture = Picture(
        3.2,
        alt=f"The wavelength of each pair on a logarithmic scale, for {told}; the longest is "
        f"{longest:,.0f} tokens." + (f" A line marks {context:,} tokens." if context else ""),
    )
    axes = lines(picture, turns, "how long a turn takes", "pair", "wavelength (tokens)")
    if context is not None:
        axes.axhline(context, color=QUIET, linestyle="--", label=f"context {context:,}")
    axes.set_yscale("log")
    names_at_ends(axes)
    return picture


def alibi_heads(bias: Any) -> Picture:
    """Draw the penalty that ALiBi adds to the scores, head by head.

    Args:
        bias: (H, T, T), queries in rows, keys in columns; the first and the last head are shown
            as matrices too.

    Look for: steep heads see near tokens only, flat ones look far. On each diagonal the bias
    is the same: it knows the distance alone. The zeros above it are not a mask.
    """
    sizes = Sizes()
    bias = sizes.numbers("bias", bias, "H T T")
    n_heads, length = sizes["H"], sizes["T"]
    shown = dict.fromkeys((1, n_heads))
    picture = Picture(
        5.2,
        alt=f"The bias of {n_heads} heads over {length} tokens: a line per head against the "
        f"distance, down to {bias.min():.3g}, and heads {listing(shown)} as heatmaps.",
    )
    matrices = [f"head {head}" for head in shown]
    axes = picture.subplot_mosaic([["lines"] * len(matrices), matrices], height_ratios=(1, 1.25))
    for index, last_query in enumerate(bias[:, -1]):
        line(axes["lines"], index, np.arange(length), last_query[::-1], f"head {index + 1}")
    label(axes["lines"], "bias of the last query", "distance (tokens)", "bias of the score")
    names_at_ends(axes["lines"], inches=1.7)
    limit, last = largest(bias), matrices[-1]
    for head, name in zip(shown, matrices, strict=True):
        places = ("key (position)", "query (position)")
        how = {"bar": "bias, one scale" if name == last else "", "aspect": "equal", "limit": limit}
        heatmap(axes[name], bias[head - 1], name, *places, **how)
    return picture
