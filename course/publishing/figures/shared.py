"""Figures of several lessons: matrices, whom a token looks at, and a loss."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course.publishing.figures.charts import (
    finish_scale,
    heatmap,
    largest,
    lines,
    names_at_ends,
    tick_words,
    write_values,
)
from course.publishing.figures.palette import QUIET
from course.publishing.figures.picture import Picture
from course.publishing.figures.shapes import Sizes, read_all
from course.publishing.figures.words import listing

MOST_COLUMNS = 3


def matrices(
    named: Mapping[str, Any],
    words: Sequence[str] | None = None,
    *,
    x: str = "key",
    y: str = "query",
    unit: str = "score",
    change: Mapping[str, float] | None = None,
    one_scale: bool = False,
    limit: float | None = None,
) -> Picture:
    """Draw matrices as heatmaps, three in a row.

    Args:
        named: name -> numbers, (R, C), each of its own size.
        words: what the rows and columns are, the same in all.
        x, y: what columns and rows are called.
        unit: what the numbers are.
        change: name -> the largest change of a number when the sentence shifts.
        one_scale: with one color scale for all, so that equal colors are equal numbers. Otherwise
            each has its own, next to it.
        limit: the scale goes from -limit to limit, for all.

    Look for: which matrices repeat along their diagonals? Which ones change when the sentence
    moves? Equal columns for equal words mean that no position takes part.
    """
    read = read_all("matrices", named, "R C")
    if words is not None:
        for name, values in read.items():
            Sizes(T=len(words)).numbers(name, values, "T T")
    columns = min(len(read), MOST_COLUMNS)
    rows = math.ceil(len(read) / columns)
    tallest = min(max(len(values) / values.shape[1] for values in read.values()), 1.5)
    told = listing(f"{name} ({len(v)} by {v.shape[1]})" for name, v in read.items())
    if change:
        told += ". Largest change when the sentence shifts: "
        told += listing(f"{name} {value:.2g}" for name, value in change.items())
    picture = Picture(
        (5.8 / columns * tallest + 0.6) * rows + 0.5 if columns > 1 else 4.6,
        alt=f"Numbers as colors, the {unit}: {told}.",
    )
    lowest = min(values[np.isfinite(values)].min(initial=0) for values in read.values())
    one_scale = one_scale or limit is not None
    signed, limit = lowest < 0 or limit is not None, limit or largest(*read.values())
    how = {"signed": signed, "limit": limit} if one_scale else {}
    grid = picture.subplots(rows, columns, squeeze=False)
    most = max(map(len, read.values()))
    for number, ((name, values), axes) in enumerate(zip(read.items(), grid.flat, strict=False)):
        below = f"\nchange by a shift: {change[name]:.2g}" if change and name in change else ""
        bar = "" if one_scale else unit
        image = heatmap(axes, values, name, x + below, y, bar=bar, aspect="equal", **how)
        if words is not None:
            tick_words(axes.xaxis, words, inches=4.2 / columns)
            tick_words(axes.yaxis, words, inches=4.2 / columns)
        if number % columns and len(values) == most:  # as on the left
            axes.set_yticks([])
            axes.set_ylabel("")
    for axes in grid.flat[len(read) :]:
        axes.axis("off")
    if one_scale:
        scale = picture.colorbar(image, ax=list(grid.flat), shrink=0.8, aspect=14)
        finish_scale(scale, unit)
    return picture


def attention_weights(weights: Any, words: Sequence[str]) -> Picture:
    """Draw whom each token looks at: a row of weights per query, which sums to 1.

    Args:
        weights: (T, T), queries in rows, keys in columns, from 0 to 1.
        words: the T words.

    Look for: the strongest cell of a row is the token that it takes most from. Equal words have
    equal rows and columns until something tells their places apart. Cells that are exactly zero,
    as a mask makes them, are hatched.
    """
    sizes = Sizes()
    weights = sizes.numbers("weights", weights, "T T")
    words = sizes.words("words", words, "T")
    if weights.min() < 0:
        raise ValueError(f"weights must not be negative; the smallest is {weights.min():.3g}")
    n_zero = int((weights == 0).sum())
    picture = Picture(
        4.6,
        alt=f"A heatmap of attention weights, {sizes['T']} queries by {sizes['T']} keys, the "
        f"largest {weights.max():.2f}; {n_zero} of {weights.size} are exactly zero.",
    )
    axes = picture.subplots()
    title = "attention weights" + (" (hatched: zero)" if n_zero else "")
    how = {"bar": "weight (each row sums to 1)", "signed": False, "aspect": "equal"}
    image = heatmap(axes, weights, title, "key", "query", **how)
    image.set_data(np.ma.masked_equal(weights, 0.0))
    write_values(image, ".2f", cell=3.6 / len(words))
    tick_words(axes.xaxis, words, inches=3.6)
    tick_words(axes.yaxis, words, inches=3.6)
    return picture


def loss_curve(
    losses: Sequence[float] | Mapping[str, Sequence[float]],
    untrained: float | None = None,
    *,
    unit: str = "nats per pair",
    step: str = "epoch",
) -> Picture:
    """Draw the loss as training goes on.

    Args:
        losses: one loss per step, or name -> such a list.
        untrained: the loss of a model that knows nothing.
        unit: of the loss, such as "nats per character".
        step: what is counted to the right; from 0.

    Look for: does it start at the dashed line, and end well below it? A curve that stays on the
    line has learned nothing.
    """
    read = read_all("losses", losses if isinstance(losses, Mapping) else {"": losses}, "N")
    told = listing(
        f"{name} from {curve[0]:.3f} to {curve[-1]:.3f}".strip() for name, curve in read.items()
    )
    lengths = " and ".join(sorted({str(len(curve)) for curve in read.values()}))
    picture = Picture(
        max(3.0, 1.2 + 0.3 * len(read)),
        alt=f"The loss in {unit} over {lengths} {step}s: {told}."
        + (f" A dashed line marks the untrained {untrained:.3f}." if untrained else ""),
    )
    axes = lines(picture, read, f"loss by {step}", step, f"loss ({unit})")
    axes.xaxis.get_major_locator().set_params(integer=True)
    if untrained is not None:
        name = f"untrained, {untrained:.3f}"
        axes.axhline(untrained, color=QUIET, linestyle="--", label=name)
    names_at_ends(axes)
    return picture
