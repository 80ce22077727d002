"""Figures of lesson 6: the loss, and what the table has learned."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from course.lessons.skipgram.names import name_points
from course.publishing.figures.charts import evenly, label
from course.publishing.figures.palette import ACCENT, INK, QUIET, SECOND, THIRD, style_of
from course.publishing.figures.picture import Picture
from course.publishing.figures.shapes import Array, Sizes
from course.publishing.figures.words import SMALL, listing


def word_map(
    vectors: Any, words: Sequence[str], groups: Mapping[str, str] | None = None
) -> Picture:
    """Draw word vectors on paper: their first two principal components.

    Args:
        vectors: (N, C).
        words: the N words.
        groups: word -> the name of its group, for color and marker; others are black.

    Look for: words that occur among similar words lie together. But two of many dimensions are
    left: neighbors on paper may be far apart in truth, and the axes mean nothing by themselves.
    """
    sizes = Sizes()
    vectors = sizes.numbers("vectors", vectors, "N C")
    words = sizes.words("words", words, "N")
    plane, share = _principal_plane(vectors)
    picture = Picture(
        5.2,
        alt=f"A map of {sizes['N']} words: the first two principal components of their "
        f"{sizes['C']} features, which hold {share:.0%} of the variance.",
    )
    axes = picture.subplots()
    _draw_map(axes, (vectors - vectors.mean(axis=0)) @ plane, words, groups)
    title, component = f"{sizes['N']} words, {share:.0%} of the variance", "principal component"
    label(axes, title, f"first {component}", f"second {component}")
    if axes.get_legend_handles_labels()[1]:
        picture.legend(fontsize=SMALL, loc="outside lower center", ncols=6, frameon=False)
    return picture


def word_maps(
    tables: Mapping[str, Any], words: Sequence[str], groups: Mapping[str, str] | None = None
) -> Picture:
    """Draw the same words as two tables have them, side by side and on one scale.

    Args:
        tables: name -> vectors, (N, C), of two tables; C may differ. Rows are scaled to length 1,
            and the second map is turned, or mirrored, to lie as near to the first as it can.
        words: the N words.
        groups: word -> the name of its group, for color and marker; others are black.

    Look for: who stays with its group in both, and who changes company? One scale means that a
    group which is wider in one map is wider in truth, as far as paper shows it.
    """
    sizes = Sizes()
    if len(tables) != 2:
        raise ValueError(f"tables must hold two tables; got {len(tables)}")
    words, points, shares = sizes.words("words", words, "N"), [], []
    for name, table in tables.items():
        vectors = sizes.numbers(name, table, f"N C{len(points)}")
        units = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        plane, share = _principal_plane(units)
        points.append((units - units.mean(axis=0)) @ plane)
        shares.append(share)
    first, second = points
    left, _, right = np.linalg.svd(second.T @ first)  # the best turn: orthogonal Procrustes
    points[1] = second @ left @ right
    told = listing(f"{name} ({share:.0%})" for name, share in zip(tables, shares, strict=True))
    everything = np.vstack(points)
    low, high = everything.min(axis=0), everything.max(axis=0)
    across, most = 2.95, 4.4  # inches: the width of a panel, and the largest height
    per_inch = 1.15 * float(max((high - low) / (across, most))) or 1.0  # for both axes of both maps
    page = np.array([across, max(1.15 * float(high[1] - low[1]) / per_inch, 1.5)])
    picture = Picture(
        page[1] + 1.5,
        alt=f"Two maps of the same {sizes['N']} words, each in the plane of its two principal "
        f"components, with the share of the variance that it holds: {told}.",
    )
    grid = picture.subplots(1, 2, sharex=True, sharey=True)
    corners = (low + high) / 2 + per_inch * page / 2 * np.array([[-1], [1]])
    for axes, name, where, share in zip(grid, tables, points, shares, strict=True):
        axes.set(xlim=corners[:, 0], ylim=corners[:, 1], aspect="equal")
        _draw_map(axes, where, words, groups, page)
        label(axes, f"{name}\n{share:.0%} of the variance", "first axis", "second axis")
        axes.label_outer()
    handles = grid[0].get_legend_handles_labels()
    if handles[1]:
        picture.legend(*handles, fontsize=SMALL, loc="outside lower center", ncols=6, frameon=False)
    return picture


def _draw_map(
    axes: Axes,
    points: Array,
    words: Sequence[str],
    groups: Mapping[str, str] | None,
    page: Array | None = None,
) -> None:
    """Draw points (N, 2) with their words; `page` as in `name_points`."""
    kinds = [groups.get(word, "") if groups else "" for word in words]
    for index, kind in enumerate(dict.fromkeys(sorted(kinds, key=bool, reverse=True))):
        members = [row for row, other in enumerate(kinds) if other == kind]
        how = style_of("", index) if kind else {"color": INK, "marker": "."}
        axes.plot(*points[members].T, label=kind or None, **(how | {"linestyle": "none"}))
    axes.margins(0.1, 0.06)
    name_points(axes, points, words, page=page)


def scores_against_pmi(
    tables: Mapping[str, tuple[Any, Any, Any]], edges: tuple[float, float] = (2, 20)
) -> Picture:
    """Draw the scores of pairs of words against PMI - log K, by how often the pairs meet.

    Args:
        tables: name -> (scores, PMI - log K, how often the two meet), (P,) each, for the P pairs
            that meet at all; P may differ from table to table.
        edges: how often the pairs of the second and of the third column meet at least.

    Look for: points on the dashed diagonal, where a score has come to rest at PMI - log K. A cloud
    that lies flat does not know how often its pairs meet. At most 200 pairs of a panel are drawn,
    chosen evenly; r, the correlation, is that of all of them.
    """
    if not tables:
        raise ValueError("tables must hold at least one table; got none")
    low, high = edges
    columns = {
        f"met less than {low:g} times": (0, low),
        f"met {low:g} to {high:g} times": (low, high),
        f"met {high:g} times or more": (high, np.inf),
    }
    picture = Picture(1.0 + 2.1 * len(tables), alt="")
    grid = picture.subplots(len(tables), 3, sharex=True, sharey=True, squeeze=False)
    told = []
    for number, (name, arrays) in enumerate(tables.items()):
        sizes, kinds = Sizes(), ("scores", "PMI - log K", "meetings")
        scores, wanted, together = (
            sizes.numbers(f"{kind} of {name}", one, "P")
            for kind, one in zip(kinds, arrays, strict=True)
        )
        for axes, (column, (least, most)) in zip(grid[number], columns.items(), strict=True):
            among = np.flatnonzero((together >= least) & (together < most))
            r = "no correlation"
            if len(among) > 2:
                r = f"r = {np.corrcoef(wanted[among], scores[among])[0, 1]:.2f}"
            shown = among[evenly(len(among), 200)] if len(among) else among
            axes.plot(wanted[shown], scores[shown], ".", color=SECOND, markersize=3, alpha=0.5)
            axes.axline((0, 0), slope=1, color=QUIET, linestyle="--", linewidth=1)
            head = f"{column}\n" if number == 0 else ""
            label(axes, f"{head}{r}, {len(among):,} pairs", "PMI − log K", f"{name}\nscore")
            axes.label_outer()
            told.append(f"{name}, {column}: {r}")
    picture.alt = (
        "Scores of pairs of words against PMI - log K, with a dashed diagonal on which both are "
        f"the same. {'; '.join(told)}."
    )
    return picture


def analogy_arrows(
    vectors: Any, words: Sequence[str], a: str, b: str, c: str, answer: str
) -> Picture:
    """Draw "a is to b as c is to answer" as two arrows, in the plane that shows the words best.

    Args:
        vectors: (V, C); as for the arithmetic of the lesson, rows are scaled to length 1.
        words: the V words.
        a, b, c, answer: four of them.

    Look for: two arrows that are parallel and equally long form a parallelogram, and then
    b - a + c, the cross, falls on the answer. How far off is it? Is c nearer to it?
    """
    sizes = Sizes()
    vectors = sizes.numbers("vectors", vectors, "V C")
    words = sizes.words("words", words, "V")
    names = (a, b, c, answer)
    if unknown := [word for word in names if word not in words]:
        raise ValueError(f"{unknown[0]!r} is not among the {len(words)} words")
    rows = [words.index(word) for word in names]
    four = vectors[rows] / np.maximum(np.linalg.norm(vectors[rows], axis=1, keepdims=True), 1e-12)
    first, second, third, _ = four
    target = second - first + third
    plane, share = _principal_plane(four)
    points = (np.vstack((four, target)) - four.mean(axis=0)) @ plane
    sum_name = f"{b} − {a} + {c}"
    picture = Picture(
        4.2,
        alt=f"Arrows from {a} to {b} and from {c} to {answer}, and the point {sum_name}, in the "
        f"plane that holds {share:.0%} of the four words' variance.",
    )
    axes = picture.subplots()
    for start, end, color in ((0, 1, SECOND), (2, 3, ACCENT)):
        how = {"arrowstyle": "-|>", "color": color, "linewidth": 2, "shrinkB": 4}
        axes.annotate("", points[end], points[start], arrowprops=how)
    axes.plot(*points[[2, 4]].T, color=SECOND, linestyle=":", linewidth=1.5)
    axes.plot(*points[:4].T, "o", color=INK)
    axes.plot(*points[4], "X", color=THIRD, markersize=11)
    x = f"first principal component of the four ({share:.0%} of the variance in the plane)"
    label(axes, f"{a} is to {b} as {c} is to {answer}", x, "second principal component")
    axes.margins(0.2)
    axes.set_aspect("equal", adjustable="datalim")
    steps = np.linspace(0.1, 0.9, 9)[:, None]
    ends = ((0, 1), (2, 3), (2, 4))
    lines = [points[start] + steps * (points[end] - points[start]) for start, end in ends]
    name_points(axes, points, [*names, sum_name], avoid=np.vstack(lines))
    return picture


def _principal_plane(vectors: Array) -> tuple[Array, float]:
    """Return the two directions (C, 2) of the largest variance, and the share that they hold."""
    _, strengths, directions = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    plane = np.zeros((vectors.shape[1], 2))  # one word, or one feature, leaves a direction empty
    plane[:, : len(directions[:2])] = directions[:2].T
    plane *= np.where(plane.sum(axis=0) < 0, -1, 1)  # the sign is free: always the same one
    variances = strengths**2
    return plane, float(variances[:2].sum() / (variances.sum() or 1.0))


def neighbors_by_cosine(similarities: Any, words: Sequence[str]) -> Picture:
    """Draw the nearest words of a word, with their cosine.

    Args:
        similarities: cosines, best first, (K,).
        words: the K words.

    Look for: the step from one bar to the next. A neighbor that stands out is a friend; a slow
    slope means that the word has none.
    """
    sizes = Sizes()
    cosines = sizes.numbers("similarities", similarities, "K")
    words = sizes.words("words", words, "K")
    picture = Picture(
        min(0.3 * sizes["K"] + 0.9, 6.0),
        alt=f"A bar for each of the {sizes['K']} nearest words: "
        f"{listing(f'{word} {cosine:.2f}' for word, cosine in zip(words, cosines, strict=True))}.",
    )
    axes = picture.subplots()
    bars = axes.barh(range(len(words)), cosines, color=SECOND, height=0.7)
    axes.bar_label(bars, fmt="%.2f", padding=3, fontsize=SMALL)
    axes.set_yticks(range(len(words)), words)
    axes.invert_yaxis()
    axes.set_xlim(min(0.0, 1.2 * cosines.min()), 1.08)
    label(axes, "nearest words", "cosine", "word")
    return picture
