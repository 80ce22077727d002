"""Words next to the points of a map, where they cover least of each other."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from course.publishing.figures.palette import INK, QUIET
from course.publishing.figures.picture import WIDTH
from course.publishing.figures.shapes import Array
from course.publishing.figures.words import SMALL

_ROUNDS = 6
_NEAR = 8
"""Points between a word and its point: a line joins those that are further apart."""

_CROSSED, _LONGER = 12.0, 0.8
"""Square points that a word would rather cover than a line cross another, or be a point longer."""


def name_points(
    axes: Axes,
    points: Array,
    words: Sequence[str],
    avoid: Array | None = None,
    *,
    size: float = SMALL,
    colors: Sequence[str] | None = None,
    page: Array | None = None,
) -> None:
    """Write a word next to each point, where it covers least of other words, points and `avoid`.

    Args:
        axes, points, words: where, (N, 2), and the N words.
        avoid: more points, (M, 2), to keep free.
        size: of the letters.
        colors: of the words; black if not given.
        page: width and height of the axes, in inches, as far as is known; else those of axes that
            have the figure for themselves.

    A word that finds no room next to its point goes further away, with a thin line back to it.
    Places are chosen in typographic points, before the page is laid out, in a few rounds: in each,
    every word moves to its best place among the others.
    """
    axes.autoscale_view()
    left, right = axes.get_xlim()
    low, high = axes.get_ylim()
    if page is None:
        page = np.array([WIDTH - 0.8, axes.figure.get_figheight() - 1.1])
    page = 72 * page

    def on_page(where: Array) -> Array:
        return (where - (left, low)) / (right - left, high - low) * page

    everything = points if avoid is None else np.vstack((points, avoid))
    dots = np.array([(x - 6, y - 6, x + 6, y + 6) for x, y in on_page(everything)])
    colors = colors or [INK] * len(words)
    places = on_page(points)
    choices = [
        _places_around(point, (0.64 * size * len(word), 1.15 * size))
        for word, point in zip(words, places, strict=True)
    ]
    chosen = np.array([boxes[0] for boxes in choices])
    for _ in range(_ROUNDS):
        for number, boxes in enumerate(choices):
            others = np.vstack((dots, np.delete(chosen, number, axis=0)))
            cost = _covered(boxes, others, page) + _crossed(boxes, places[number], others)
            chosen[number] = boxes[cost.argmin()]
    line = {"arrowstyle": "-", "color": QUIET, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 6}
    for word, color, point, (x, y), box in zip(words, colors, points, places, chosen, strict=True):
        middle = (box[0] + box[2]) / 2 - x, (box[1] + box[3]) / 2 - y
        far = math.dist((x, y), np.clip((x, y), box[:2], box[2:])) > 1.2 * _NEAR
        how = {"textcoords": "offset points", "fontsize": size, "color": color}
        how |= {"ha": "center", "va": "center", "arrowprops": line if far else None}
        axes.annotate(word, point, middle, **how)


def _places_around(point: Array, size: tuple[float, float]) -> Array:
    """Return boxes for a word around a point, (N, 4), the nearest first: right, left, above, ..."""
    (x, y), (width, height) = point, size
    boxes = []
    for away in (6, 16, 26, 36):
        beside = [(away, -height / 2), (-away - width, -height / 2)]
        if away <= _NEAR:  # further away, a line to the next word would cross this one
            beside += [(-width / 2, away), (-width / 2, -away - height)]
        for right, up in ((0.6, 0.6), (0.3, 0.9)):
            across, along = (right * away, -right * away - width), (up * away, -up * away - height)
            beside += [(dx, dy) for dx in across for dy in along]
        boxes += [(x + dx, y + dy, x + dx + width, y + dy + height) for dx, dy in beside]
    return np.array(boxes)


def _covered(boxes: Array, taken: Array, page: Array) -> Array:
    """Return for each box the area that others have taken, or that lies off the page."""
    left, low, right, high = boxes.T[..., None]
    across = np.minimum(right, taken[:, 2]) - np.maximum(left, taken[:, 0])
    along = np.minimum(high, taken[:, 3]) - np.maximum(low, taken[:, 1])
    inside = (np.minimum(right, page[0]) - np.maximum(left, 0)).clip(0)
    inside = inside * (np.minimum(high, page[1]) - np.maximum(low, 0)).clip(0)
    outside = ((right - left) * (high - low) - inside)[:, 0]
    return (across.clip(0) * along.clip(0)).sum(axis=1) + 3 * outside


def _crossed(boxes: Array, point: Array, taken: Array) -> Array:
    """Return what the line from each box to its point costs: its length, and what it crosses."""
    taken = taken[~((taken[:, :2] < point) & (point < taken[:, 2:])).all(axis=1)]
    length = np.linalg.norm(point.clip(boxes[:, :2], boxes[:, 2:]) - point, axis=1)
    to_middle = (boxes[:, :2] + boxes[:, 2:]) / 2 - point
    on_line = point + np.linspace(0.1, 0.9, 12)[:, None, None] * to_middle  # (12, N, 2)
    inside = (on_line[..., None, :] > taken[:, :2]) & (on_line[..., None, :] < taken[:, 2:])
    crossed = inside.all(axis=-1).sum(axis=(0, 2))
    return np.where(length > 1.2 * _NEAR, _CROSSED * crossed + _LONGER * length, 0.05 * length)
