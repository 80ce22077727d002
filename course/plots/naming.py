"""Words beside their points on a map, so that few of them cover each other."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from course.plots.parts import SMALL
from course.plots.picture import WIDTH
from course.plots.shapes import Array


def name_points(
    axes: Axes, points: Array, words: Sequence[str], avoid: Array | None = None
) -> None:
    """A word beside each point, where it covers the least of other words, points and `avoid`.

    For each word in turn, eight places around its point are tried. Distances are estimated in
    typographic points, before the page is laid out; good enough to keep words apart.
    """
    axes.autoscale_view()
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    page = 72 * np.array([WIDTH - 0.8, axes.figure.get_figheight() - 1.1])

    def on_page(where: Array) -> Array:
        return (where - (left, low)) / (right - left, high - low) * page

    everything = points if avoid is None else np.vstack((points, avoid))
    taken = [(x - 3, y - 3, x + 3, y + 3) for x, y in on_page(everything)]
    for word, point, (x, y) in zip(words, points, on_page(points), strict=True):
        width, height = 0.58 * SMALL * len(word), 1.15 * SMALL
        boxes = [
            (x + dx, y + dy, x + dx + width, y + dy + height)
            for dx in (5, -width / 2, -width - 5)
            for dy in (-height / 2, 5, -height - 5)
            if (dx, dy) != (-width / 2, -height / 2)
        ]
        best = min(boxes, key=partial(_covered, taken=np.array(taken), page=page))
        taken.append(best)
        axes.annotate(
            word,
            point,
            (best[0] - x, best[1] - y),
            textcoords="offset points",
            fontsize=SMALL,
        )


def _covered(box: tuple[float, ...], taken: Array, page: Array) -> float:
    """The area of a box that others have taken, or that lies off the page."""
    left, low, right, high = taken.T
    across = np.minimum(box[2], right) - np.maximum(box[0], left)
    along = np.minimum(box[3], high) - np.maximum(box[1], low)
    inside = (min(box[2], page[0]) - max(box[0], 0)) * (min(box[3], page[1]) - max(box[1], 0))
    area = (box[2] - box[0]) * (box[3] - box[1])
    return float((across.clip(0) * along.clip(0)).sum() + area - inside)
