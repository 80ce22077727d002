"""Figures that compare schemes of positions: their scores, and who reads on beyond training."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from course.figures.parts import heatmap, label, listing, names_at_ends, style_of, words_on
from course.figures.picture import Picture
from course.figures.shapes import Sizes, read_all

MOST_COLUMNS = 3


def schemes_side_by_side(
    scores: Mapping[str, Any],
    words: Sequence[str] | None = None,
    change: Mapping[str, float] | None = None,
) -> Picture:
    """Draw the scores of one sentence under each scheme of positions.

    Args:
        scores: scheme -> (T, T), queries in rows, keys in columns. Each has a color scale of its
            own, which its color bar shows.
        words: the T words.
        change: scheme -> the largest change of a score when the sentence shifts.

    Look for: which matrices repeat along their diagonals? Which schemes change when the
    sentence moves? And what has no positions at all shows equal columns for equal words.
    """
    sizes = Sizes()
    read = read_all("scores", scores, "T T", sizes)
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
        below = f"\nchange by a shift: {change[name]:.2g}" if change and name in change else ""
        heatmap(axes, matrix, name, f"key{below}", "query", bar="score", aspect="equal")
        if words is not None:
            words_on(axes.xaxis, words, inches=4.2 / columns)
            words_on(axes.yaxis, words, inches=4.2 / columns)
    for axes in grid[:, 1:].flat:  # the same words as on the left
        axes.set_yticks([])
        axes.set_ylabel("")
    for axes in grid.flat[len(read) :]:
        axes.axis("off")
    return picture


def losses_by_length(losses: Mapping[str, Mapping[int, float]], trained_on: int) -> Picture:
    """Draw the loss of models on held-out texts of several lengths.

    Args:
        losses: name -> length in characters -> loss in nats per character.
        trained_on: the length that they trained on.

    Look for: to the right of the dashed line nobody has been. Who stays flat, who climbs, and whose
    lines cross?
    """
    if not losses or not all(losses.values()):
        raise ValueError("losses must hold a loss for at least one length of each model")
    unit = "loss (nats per character)"
    told = listing(
        f"{name} " + ", ".join(f"{loss:.2f} at {length}" for length, loss in of_one.items())
        for name, of_one in losses.items()
    )
    picture = Picture(
        max(3.4, 1.2 + 0.22 * len(losses)),
        alt="Loss on held-out text against its length in characters, trained on "
        f"{trained_on}: {told}.",
    )
    axes = picture.subplots()
    axes.set_xscale("log", base=2)
    axes.axvline(trained_on, color="0.5", linestyle="--", linewidth=1)
    for index, (name, of_one) in enumerate(losses.items()):
        axes.plot([*of_one], [*of_one.values()], label=name, **style_of(name, index))
    lengths = sorted({length for of_one in losses.values() for length in of_one})
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    label(axes, f"trained on {trained_on} characters", "characters read at once", unit)
    names_at_ends(axes, "{name}  {last:.2f}")
    return picture
