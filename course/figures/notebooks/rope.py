"""Figures of lesson 5: turned pairs, and scores that know the distance alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from course.figures.parts import (
    AMOUNT,
    SMALL,
    difference,
    heatmap,
    in_words,
    label,
    largest,
    legend,
    line,
    lines,
    listing,
    outer_ticks,
    spread,
    with_difference,
)
from course.figures.picture import Picture
from course.figures.shapes import Array, Sizes, read_all

MOST_PAIRS = 4


def turned_pairs(before: Any, after: Any, positions: Sequence[int]) -> Picture:
    """Draw pairs of features as arrows in the plane, before and after they are turned.

    Args:
        before: a query or key, (D,); feature i is paired with feature D/2 + i.
        after: the same, turned at each of the positions, (P, D).
        positions: the P positions, in tokens.

    Look for: all arrows end on one circle, for a turn keeps the length. The first pair turns by a
    radian per position, the last hardly moves.
    """
    sizes = Sizes()
    before = sizes.numbers("before", before, "D")
    after = sizes.numbers("after", after, "P D")
    places = sizes.numbers("positions", positions, "P").astype(int)
    half, odd = divmod(sizes["D"], 2)
    if odd:
        raise ValueError(f"before must have an even number of features; got {sizes['D']}")
    pairs = spread(half, at_most=MOST_PAIRS)
    rows = 2 if len(pairs) == 4 else 1
    picture = Picture(
        2.6 * rows + 0.7,
        alt=f"Pairs {listing(pairs)} of a vector of {sizes['D']} features as arrows, before and "
        f"after being turned at positions {listing(places)}.",
    )
    colors = matplotlib.colormaps[AMOUNT](np.linspace(0, 0.85, len(places)))
    planes = picture.subplots(rows, len(pairs) // rows, squeeze=False)
    for plane, pair in zip(planes.flat, pairs, strict=True):
        radius = float(np.hypot(before[pair], before[half + pair])) or 1.0
        plane.add_patch(Circle((0, 0), radius, fill=False, edgecolor="0.8"))
        _arrow(plane, before[[pair, half + pair]], color="0.55", width=4.5, name="before")
        for place, row, color in zip(places, after, colors, strict=True):
            _arrow(plane, row[[pair, half + pair]], color, width=1.6, name=f"at {place}")
        reach = 1.25 * max(radius, largest(after[:, [pair, half + pair]]))
        plane.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        plane.locator_params(nbins=3)
        plane.axhline(0, color="0.9", zorder=0)
        plane.axvline(0, color="0.9", zorder=0)
        label(plane, f"pair {pair}", f"feature {pair}", f"feature {half + pair}")
    handles, names = planes[0, 0].get_legend_handles_labels()
    picture.legend(
        handles, names, fontsize=SMALL, loc="outside lower center", ncols=min(len(names), 8)
    )
    return picture


def _arrow(plane: Axes, tip: Array, color: Any, width: float, name: str) -> None:
    """Draw an arrow from the origin: a line, and a dot for its tip that shows where arrows meet."""
    x, y = tip
    dot = {"marker": "o", "markevery": [1], "markersize": 3 + width}
    plane.plot([0, x], [0, y], color=color, linewidth=width, label=name, **dot)


def scores_under_shift(scores: Any, shifted: Any, shift: int) -> Picture:
    """Draw the scores of one sentence at two places of a text, and their difference.

    Args:
        scores: (T, T), the tokens at positions 0, 1, ...; queries in rows, keys in columns.
        shifted: (T, T), the same tokens at positions shift, shift + 1, ...
        shift: in tokens.

    Look for: a blank third panel, drawn on the same color scale. Then the score depends on the
    distance between two tokens and not on where the sentence begins.
    """
    sizes = Sizes()
    scores = sizes.numbers("scores", scores, "T T")
    shifted = sizes.numbers("shifted", shifted, "T T")
    change = np.abs(difference(shifted, scores)).max()
    picture = Picture(
        2.7,
        alt=f"Three heatmaps of the scores of {sizes['T']} queries by {sizes['T']} keys: at "
        f"positions from 0, at positions from {shift}, and their difference, at most {change:.2g}.",
    )
    panels = picture.subplots(1, 3)
    said = in_words(change, largest(scores, shifted))
    titles = ("from position 0", f"from position {shift:,}", f"difference\n{said}")
    with_difference(panels, scores, shifted, titles, "key", "query", "score", "equal")
    for axes in panels[:2]:
        label(axes, axes.get_title(), "key (position)", "query (position)")
    for axis in (panels[1].xaxis, panels[1].yaxis):
        axis.set_major_formatter(lambda place, _: f"{place + shift:.0f}")
    return picture


def raw_and_projected(panels: Mapping[str, tuple[Any, Any]]) -> Picture:
    """Draw `scores_under_shift` for several schemes, a row for each.

    Args:
        panels: name -> (scores, shifted), (T, T) each, such as "sinusoidal, raw".

    Look for: which rows have a blank third panel? A projection between the positions and the
    score spoils what the sinusoids promise; it cannot spoil a turn that comes after it.
    """
    if not panels:
        raise ValueError("panels must hold at least one pair of score matrices; got none")
    read = {}
    for name, (scores, shifted) in panels.items():
        sizes = Sizes()
        read[name] = (
            sizes.numbers(f"scores of {name}", scores, "T T"),
            sizes.numbers(f"shifted of {name}", shifted, "T T"),
        )
    changes = {name: np.abs(difference(late, early)).max() for name, (early, late) in read.items()}
    told = listing(f"{name} {change:.2g}" for name, change in changes.items())
    size = " and ".join(sorted({f"{len(scores)} by {len(scores)}" for scores, _ in read.values()}))
    picture = Picture(
        1.85 * len(read) + 0.5,
        alt=f"Score matrices ({size}) at two places of a text and their difference, a row of "
        f"heatmaps per scheme. Largest change: {told}.",
    )
    grid = picture.subplots(len(read), 3, squeeze=False)
    for row, (name, (scores, shifted)) in zip(grid, read.items(), strict=True):
        said = in_words(changes[name], largest(scores, shifted))
        titles = ("from position 0", "shifted", f"change: {said}")
        with_difference(row, scores, shifted, titles, "key", "query", "score", "equal")
        row[0].set_ylabel(f"{name}\n\nquery")
    outer_ticks(grid)
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
        axes.axhline(context, color="0.3", linestyle=(0, (6, 3)), label=f"context {context:,}")
    axes.set_yscale("log")
    legend(axes)
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
    axes["lines"].legend(fontsize=SMALL, loc="center left", bbox_to_anchor=(1, 0.5))
    limit, last = largest(bias), matrices[-1]
    for head, name in zip(shown, matrices, strict=True):
        places = ("key (position)", "query (position)")
        how = {"bar": "bias, one scale" if name == last else "", "aspect": "equal", "limit": limit}
        heatmap(axes[name], bias[head - 1], name, *places, **how)
    return picture
