"""Figures of lesson 2: a layer that does not see order, and whom a token looks at."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course.publishing.figures.charts import (
    difference,
    largest,
    tick_words,
    with_difference,
)
from course.publishing.figures.picture import Picture
from course.publishing.figures.shapes import Sizes
from course.publishing.figures.words import size_of_change


def shuffle_panels(before: Any, after: Any, perm: Any, words: Sequence[str]) -> Picture:
    """Shuffle the output of a layer, or the input: are the results the same?

    Args:
        before: what the layer gives for the words in their order, (T, C).
        after: what it gives for the shuffled words, (T, C).
        perm: the shuffle, (T,): place t gets the word from place perm[t].
        words: the T words in their original order.

    Look for: two equal panels and a blank third one, drawn on the same color scale. Then the layer
    knows *which* words there are and not *where* they are. With positions, or a mask, the third
    panel fills.
    """
    sizes = Sizes()
    before = sizes.numbers("before", before, "T C")
    after = sizes.numbers("after", after, "T C")
    order = sizes.numbers("perm", perm, "T").astype(int)
    words = sizes.words("words", words, "T")
    if sorted(order) != list(range(len(words))):
        raise ValueError(f"perm must hold each of 0..{len(words) - 1} once; got {order.tolist()}")
    shuffled = before[order]
    change = np.abs(difference(after, shuffled)).max()
    picture = Picture(
        min(max(0.24 * len(words) + 1.3, 2.4), 5.5),
        alt=f"Three heatmaps of {sizes['T']} words by {sizes['C']} features: the shuffled output, "
        f"the output of the shuffled input, and their difference, at most {change:.2g}.",
    )
    panels = picture.subplots(1, 3)
    titles = (
        "shuffled output\nlayer(x)[perm]",
        "output of the shuffle\nlayer(x[perm])",
        f"difference\n{size_of_change(change, largest(shuffled, after))}",
    )
    y = "word, in the shuffled order"
    with_difference(panels, shuffled, after, titles, "feature", y, "value")
    for axes in panels:
        axes.label_outer(remove_inner_ticks=True)
    tick_words(panels[0].yaxis, [words[place] for place in order])
    return picture
