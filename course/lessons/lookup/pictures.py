"""Figures of lesson 1: the product that picks rows, and the gradient that comes back to them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course.publishing.figures.charts import (
    equation,
    heatmap,
    label,
    largest,
    mark_rows,
    tick_words,
    write_values,
)
from course.publishing.figures.palette import ACCENT
from course.publishing.figures.picture import WIDTH, Picture
from course.publishing.figures.shapes import Sizes


def one_hot_times_table(weight: Any, ids: Any, words: Sequence[str] | None = None) -> Picture:
    """Show that the one-hot matrix times the table is the rows that the ids name.

    Args:
        weight: the table, (V, C).
        ids: row numbers, (T,).
        words: the V words of the vocabulary; without them rows are numbered.

    Look for: a dark cell in column k keeps row k of the table and nothing else. How much of
    the first matrix is zero? The rows with a mark are all that had to be read.
    """
    sizes = Sizes()
    table, ids = sizes.numbers("weight", weight, "V C"), sizes.numbers("ids", ids, "T").astype(int)
    n_tokens, n_words, width = sizes["T"], sizes["V"], sizes["C"]
    if ids.min() < 0 or ids.max() >= n_words:
        raise ValueError(f"ids must be in 0..{n_words - 1}, as rows of weight; got {ids.tolist()}")
    names = sizes.words("words", words or map(str, range(n_words)), "V")
    used = sorted(set(ids.tolist()))
    narrow = max(width, n_words / 3)  # room for a title
    cell = (WIDTH - 2.2) / (1.2 * (n_words + 2 * narrow))  # inches
    picture = Picture(
        min(max(cell * max(n_tokens, n_words) + 1.3, 2.2), 5.5),
        alt=f"Three heatmaps: one-hot rows ({n_tokens}, {n_words}) times the table "
        f"({n_words}, {width}) gives rows ({n_tokens}, {width}). {len(used)} of the table's "
        f"{n_words} rows are marked: those that the ids name.",
    )
    one_hot, whole, rows = equation(picture, (n_words, narrow, narrow), "×=")
    title, limit = f"one-hot ({n_tokens}, {n_words})", largest(table)
    how = {"aspect": "equal", "signed": False, "limit": 1.0}
    ones = heatmap(one_hot, np.eye(n_words)[ids], title, "row of the table", "token", **how)
    title, how = f"table ({n_words}, {width})", {"aspect": "equal", "limit": limit}
    factor = heatmap(whole, table, title, "feature", "row", **how)
    title = f"rows ({n_tokens}, {width})"
    product = heatmap(rows, table[ids], title, "feature", "token", bar="value", **how)
    for image, pattern in ((ones, ".0f"), (factor, ".2g"), (product, ".2g")):
        write_values(image, pattern, cell)
    mark_rows(whole, used, 0)
    looked_up = [names[row] for row in ids]
    for axis, texts in (
        (one_hot.xaxis, names),
        (one_hot.yaxis, looked_up),
        (whole.yaxis, names),
        (rows.yaxis, looked_up),
    ):
        tick_words(axis, texts, inches=cell * len(texts))
    return picture


def row_gradients(grad_weight: Any, words: Sequence[str] | None = None) -> Picture:
    """Draw the gradient that reached a table, and the length of each of its rows.

    Args:
        grad_weight: (V, C).
        words: the V words of the vocabulary; without them rows are numbered.

    Look for: rows without a bar were not looked up, and their gradient is exactly zero. A word
    that occurs several times collects a gradient from each of its places.
    """
    sizes = Sizes()
    gradient = sizes.numbers("grad_weight", grad_weight, "V C")
    n_words, width = sizes["V"], sizes["C"]
    lengths = np.linalg.norm(gradient, axis=1)
    resting = int((gradient == 0).all(axis=1).sum())
    picture = Picture(
        min(max(0.26 * n_words + 1.0, 2.4), 5.0),
        alt=f"The gradient of a table ({n_words}, {width}) as a heatmap, with the length of each "
        f"row as a bar; {resting} of the {n_words} rows are exactly zero.",
    )
    bars, cells = picture.subplots(1, 2, sharey=True, width_ratios=(1, 2.4))
    title = f"gradient of the table ({n_words}, {width})" + (", hatched: zero" if resting else "")
    image = heatmap(cells, gradient, title, "feature", bar="gradient")
    image.set_data(np.ma.masked_equal(gradient, 0.0))
    write_values(image, ".2g", cell=3.6 / width)
    bars.barh(range(n_words), lengths, color=ACCENT, height=0.7)
    bars.margins(y=0)
    label(bars, f"{resting} of {n_words} rows are zero", "length of the row", "row of the table")
    if words is not None:
        tick_words(bars.yaxis, sizes.words("words", words, "V"))
    return picture
