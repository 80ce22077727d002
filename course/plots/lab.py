"""The figure of the lab: every scheme of the course, side by side."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from course.plots.parts import color_bar, heatmap, label, listing, words_on
from course.plots.picture import Picture
from course.plots.shapes import Sizes

MOST_COLUMNS = 3


def schemes_side_by_side(
    scores: Mapping[str, Any],
    words: Sequence[str] | None = None,
    change: Mapping[str, float] | None = None,
) -> Picture:
    """The scores of one sentence under each scheme of positions.

    Args:
        scores: scheme -> (T, T), queries in rows, keys in columns. Each has a color scale of its
            own, which its color bar shows.
        words: the T words.
        change: scheme -> the largest change of a score when the sentence shifts.

    Look for: which matrices repeat along their diagonals? Which schemes change when the
    sentence moves? And what has no positions at all shows equal columns for equal words.
    """
    sizes = Sizes()
    read = {name: sizes.numbers(name, matrix, "T T") for name, matrix in scores.items()}
    if not read:
        raise ValueError("scores must hold at least one matrix; got none")
    words = sizes.words("words", words, "T") if words is not None else None
    columns = min(len(read), MOST_COLUMNS)
    rows = math.ceil(len(read) / columns)
    told = ""
    if change:
        told = " Largest change when the sentence shifts: "
        told += listing(f"{name} {value:.2g}" for name, value in change.items()) + "."
    picture = Picture(
        (6.2 / columns + 0.4) * rows if columns > 1 else 4.6,
        alt=f"The scores of {sizes['T']} queries by {sizes['T']} keys as heatmaps, for "
        f"{listing(read)}.{told}",
    )
    grid = picture.subplots(rows, columns, squeeze=False)
    for (name, matrix), axes in zip(read.items(), grid.flat, strict=False):
        image = heatmap(axes, matrix, aspect="equal")
        below = f"\nchange by a shift: {change[name]:.2g}" if change and name in change else ""
        label(axes, name, f"key{below}", "query")
        color_bar(image, "score")
        if words is not None:
            words_on(axes.xaxis, words, inches=4.2 / columns)
            words_on(axes.yaxis, words, inches=4.2 / columns)
    for axes in grid[:, 1:].flat:  # the same words as on the left
        axes.set_yticks([])
        axes.set_ylabel("")
    for axes in grid.flat[len(read) :]:
        axes.axis("off")
    return picture
