"""Figures of lesson 2: a layer that does not see order, and whom a token looks at."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course.figures.parts import (
    difference,
    heatmap,
    in_words,
    largest,
    outer_ticks,
    with_difference,
    words_on,
    write_values,
)
from course.figures.picture import Picture
from course.figures.shapes import Sizes


def shuffle_panels(before: Any, after: Any, perm: Any, words: Sequence[str]) -> Picture:
    """Shuffle the output of a layer, or the input: are the results the same?

    Args:
        before: what the layer gives for the words in their order, (T, C).
        after: what it gives for the shuffled words, (T, C).
        perm: the shuffle, (T,): place t gets the word from place perm[t].
        words: the T words in their original order.

    Look for: two equal panels and a blank third one, drawn on the same color scale. Then the layer
    knows *which* words there are and not *where* they stand. With positions, or a mask, the third
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
        f"difference\n{in_words(change, largest(shuffled, after))}",
    )
    y = "word, in the shuffled order"
    with_difference(panels, shuffled, after, titles, "feature", y, "value")
    outer_ticks(panels[None])
    words_on(panels[0].yaxis, [words[place] for place in order])
    return picture


def attention_weights(weights: Any, words: Sequence[str]) -> Picture:
    """Draw whom each token looks at: a row of weights per query, which sums to 1.

    Args:
        weights: (T, T), queries in rows, keys in columns, from 0 to 1.
        words: the T words.

    Look for: the brightest cell of a row is the token that it takes most from. Equal words have
    equal rows and columns until something tells their places apart. Cells that are exactly zero,
    as a mask makes them, are blank.
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
    title = "attention weights" + (" (blank: zero)" if n_zero else "")
    how = {"bar": "weight (each row sums to 1)", "signed": False, "aspect": "equal"}
    image = heatmap(axes, weights, title, "key", "query", **how)
    image.set_data(np.ma.masked_equal(weights, 0.0))
    write_values(image, ".2f", cell=3.6 / len(words))
    words_on(axes.xaxis, words, inches=3.6)
    words_on(axes.yaxis, words, inches=3.6)
    return picture
