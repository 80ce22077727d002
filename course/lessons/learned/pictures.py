"""A figure of lesson 3: token row plus position row."""

from collections.abc import Sequence
from typing import Any

from course.publishing.figures.charts import equation, heatmap, largest, mark_rows, tick_words
from course.publishing.figures.picture import Picture
from course.publishing.figures.shapes import Sizes


def token_position_sum(tokens: Any, positions: Any, words: Sequence[str]) -> Picture:
    """Draw token rows plus position rows: what enters a transformer.

    Args:
        tokens: the rows of the words, (T, C).
        positions: the rows of the places, (T, C).
        words: the T words.

    Look for: a word that occurs twice carries the same marker twice. Its rows are equal in the
    first panel and different in the last.
    """
    sizes = Sizes()
    tokens = sizes.numbers("tokens", tokens, "T C")
    positions = sizes.numbers("positions", positions, "T C")
    words = sizes.words("words", words, "T")
    repeated = [word for word in dict.fromkeys(words) if words.count(word) > 1]
    picture = Picture(
        min(max(0.26 * len(words) + 1.2, 2.4), 5.5),
        alt=f"Three heatmaps of {sizes['T']} words by {sizes['C']} features: token rows plus "
        f"position rows gives their sum. Repeated words, marked: "
        f"{', '.join(repeated) or 'none'}.",
    )
    panels = equation(picture, (1, 1, 1), "+=")
    summed = tokens + positions
    limit = largest(tokens, positions, summed)
    matrices = {"token rows": tokens, "position rows": positions, "sum": summed}
    for axes, (title, values) in zip(panels, matrices.items(), strict=True):
        y = "position (tokens)" if values is positions else "word"
        bar = "value" if values is summed else ""  # next to the marks
        heatmap(axes, values, title, "feature", y, bar=bar, gap=0.14, limit=limit)
        for index, word in enumerate(repeated):
            mark_rows(axes, [row for row, other in enumerate(words) if other == word], index)
    tick_words(panels[0].yaxis, words)
    tick_words(panels[2].yaxis, words)
    return picture
