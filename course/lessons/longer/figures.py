"""Figures of lesson 7."""

import math

import numpy as np
import torch
from matplotlib.patches import Rectangle

from course.core.schemes import SCHEMES
from course.lessons.longer.pictures import means_nearby
from course.publishing.figures.charts import chart, curve, heatmap, log_axis
from course.publishing.figures.diagrams import (
    arrow,
    cells,
    clock,
    diagram,
    join_by_arc,
    name_column,
    name_row,
)
from course.publishing.figures.measured import measured, reference
from course.publishing.figures.palette import ACCENT, INK, QUIET, SECOND, SHADE, THIRD, TINTS, WRONG
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, note, write

HEAD_DIM, BASE, TRAINED, FACTOR = 128, 10000.0, 4096, 4.0
"""Llama 2, for a text four times as long as those of its training."""

PAIRS = range(HEAD_DIM // 2)

EDGE = {"color": QUIET, "linewidth": 1, "linestyle": (0, (5, 4)), "zorder": 0}
"""How a line looks that parts a chart."""


def turns_in_training() -> Picture:
    turns = (TRAINED * _trained() / (2 * math.pi)).tolist()
    fast, slow = sum(n >= 32 for n in turns), sum(n <= 1 for n in turns)
    between = len(turns) - fast - slow
    picture, axes = chart(
        3.7,
        f"In training, pair 0 made {turns[0]:.0f} turns, pair 63 less than 0.1",
        alt="The turns that each of 64 pairs makes in 4,096 positions, on a logarithmic axis: a "
        f"straight line from {turns[0]:.0f} for pair 0 to {turns[-1]:.3f} for pair 63. {fast} "
        f"pairs make 32 turns or more, {slow} at most one, and {between} are in between.",
        x="pair (head of width 128, base 10,000)",
        y="turns in 4,096 positions",
    )
    parts = (
        (range(fast), SECOND, f"{fast} fast pairs:\nkeep", (17, 450)),
        (range(fast, 64 - slow), QUIET, f"{between} between:\na share of each", (40, 125)),
        (range(64 - slow, 64), ACCENT, f"{slow} slow pairs:\ndivide by 4", (56, 5)),
    )
    for pairs, color, name, place in parts:
        axes.plot(pairs, [turns[n] for n in pairs], color=color, marker="o", markersize=4.5)
        write(axes, place, name, color, align="center")
    for count, name in ((32, "32 turns"), (1, "1 turn")):
        axes.axhline(count, **EDGE)
        curve(axes, [0], [count], name, offset=(0, 9))
    log_axis(axes.yaxis, [0.1, 1, 10, 100, 1000])
    axes.set(xlim=(-1, 64), ylim=(0.04, 1200))
    return picture


def three_remedies() -> Picture:
    old = _trained()
    picture, axes = chart(
        3.6,
        "YaRN keeps fast pairs, divides slow ones and blends in between",
        alt="For each of 64 pairs the new frequency as a share of the old one. Divided positions: "
        "a quarter for every pair. ntk_base: a curve that falls from 1 for pair 0 to a quarter "
        "for pair 63. YaRN: 1 up to pair 20, then falling steeply, a quarter from pair 46 on.",
        x="pair",
        y="new / old frequency",
    )
    shares = {name: (new / old).tolist() for name, new in _stretched().items()}
    curve(axes, PAIRS, shares["positions / 4"], color=SECOND)
    curve(axes, PAIRS, shares["ntk_base"], color=THIRD, linestyle="--")
    curve(axes, PAIRS, shares["YaRN"], color=ACCENT)
    note(axes, "YaRN", (25.2, 0.65), (32, 0.86), ACCENT)
    note(axes, "ntk_base", (45, shares["ntk_base"][45]), (53, 0.6), THIRD)
    note(axes, "positions / 4", (8, 0.25), (12, 0.42), SECOND)
    axes.set(xlim=(0, 63), ylim=(0, 1.06))
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "1/4", "1/2", "3/4", "1"])
    return picture


def near_and_far() -> Picture:
    ways = {"as trained": _trained()} | _stretched()
    places = torch.logspace(0, math.log10(FACTOR * TRAINED), 60).round().unique()
    drawn = {name: _smoothed(frequencies, places) for name, frequencies in ways.items()}
    lowest = drawn["as trained"][_near(places, TRAINED)]
    picture, axes = chart(
        4.1,
        "Near, YaRN scores as in training; far, as divided positions do",
        alt="The score of a token with itself, against the distance from 1 to 16,384, on a "
        "logarithmic axis. As trained it falls steadily, and beyond the trained 4,096 it falls "
        "into scores that never occurred in training, below a dashed line. With positions divided "
        "the same curve is four times further right. YaRN follows the first up to about twenty "
        "steps, and the second from about four hundred on; both end above the line.",
        x="steps from the query back to the key",
        y="score / its value at 0",
    )
    curve(axes, places, drawn["as trained"], color=QUIET, linewidth=2.2)
    curve(axes, places, drawn["positions / 4"], color=SECOND, linewidth=2.4)
    curve(axes, places, drawn["YaRN"], color=ACCENT, linewidth=3.2)
    axes.axvspan(TRAINED, FACTOR * TRAINED, color=SHADE, linewidth=0)
    axes.axhspan(-0.14, lowest, color=TINTS[WRONG], linewidth=0, zorder=0)
    write(axes, (1.2, lowest - 0.07), "lower than any score of the training", WRONG)
    log_axis(axes.xaxis, [1, 10, 100, 1000, 4096, 16384])
    axes.set(xlim=(1, FACTOR * TRAINED), ylim=(-0.14, 1.04))
    write(axes, (TRAINED * 0.9, 0.97), "never trained →", QUIET, align="right")
    note(axes, "positions / 4", (9, 0.87), (40, 0.9), SECOND)
    note(axes, "YaRN", (45, drawn["YaRN"][_near(places, 45)]), (130, 0.72), ACCENT)
    note(axes, "as trained", (60, drawn["as trained"][_near(places, 60)]), (9, 0.3))
    return picture


def a_part_turns() -> Picture:
    x = torch.arange(1.0, 9.0)
    turned = reference("longer").PartialRotary(8, 8, 4)(x[None], offset=3)[0].tolist()
    shown = [f"{entry:.4g}".replace("-", "−") for entry in turned]
    picture, axes = diagram(
        2.75,
        "Four features rotate; the other four stay as they were",
        alt="A head of eight features, 1 to 8, of which four rotate: features 0 and 2 are pair 0, "
        "features 1 and 3 pair 1. At position 3 they have become "
        f"{', '.join(shown[:4])}. Features 4 to 7 are still 5, 6, 7, 8.",
    )
    colors = [ACCENT, SECOND, ACCENT, SECOND, *[QUIET] * 4]
    size, left = (0.84, 0.42), 0.14
    before = cells(axes, left, 0.85, [list(range(1, 9))], colors=[colors], size=size)
    after = cells(axes, left, 1.95, [shown], colors=[colors], size=size)
    for one, other, height, color in ((0, 2, 0.3, ACCENT), (1, 3, 0.3, SECOND)):
        join_by_arc(axes, before.above(one)[0], before.above(other)[0], 0.8, -height, color)
    write(axes, (before.above(1)[0], 0.28), "pair 0: 3 radians", ACCENT, align="center")
    write(axes, (before.left(0)[0] + 3 * size[0], 0.28), "pair 1: 0.03 radians", SECOND)
    for feature, color in enumerate(colors):
        arrow(axes, before.below(feature), after.above(feature), color)
    for column, name, color in ((2, "rotated by position 3", INK), (6, "not rotated", QUIET)):
        write(axes, (left + column * size[0], 2.58), name, color, align="center", bold=True)
    return picture


def scores_that_stay() -> Picture:
    head_dim, rotary_dim, length = 96, 24, 2048
    places = torch.logspace(0, math.log10(length), 60).round().unique()
    whole = _smoothed(_frequencies(head_dim), places)
    part = _smoothed(_frequencies(rotary_dim), places)
    share = rotary_dim / head_dim
    quarter = [share * one + 1 - share for one in part]
    picture, axes = chart(
        3.5,
        "Rotate a quarter: three quarters of a score ignore distance",
        alt="The score of a token with itself against the distance from 1 to 2,048, logarithmic. "
        f"With all 96 features rotated it falls from 1 to {whole[-1]:.2f}; with 24 of 96 rotated "
        f"only to {quarter[-1]:.2f}: the share of the 72 features that don't rotate is 0.75.",
        x="steps from the query back to the key",
        y="score / its value at 0",
    )
    axes.axhline(1 - share, **EDGE)
    log_axis(axes.xaxis, [1, 10, 100, 1000])
    curve(axes, places, quarter, color=ACCENT)
    curve(axes, places, whole, color=SECOND)
    axes.set(xlim=(1, length), ylim=(-0.05, 1.04))
    note(axes, "24 of 96 rotated", (60, quarter[_near(places, 60)]), (250, 0.97), ACCENT)
    note(axes, "all 96 rotated", (60, whole[_near(places, 60)]), (14, 0.35), SECOND)
    write(axes, (1900, 0.66), "the 72 features that don't rotate", QUIET, align="right")
    return picture


def buckets_grow() -> Picture:
    shown = 140
    buckets = reference("longer").relative_buckets(torch.arange(shown + 1)).tolist()
    last = buckets.index(31)
    wide = [place for place, bucket in enumerate(buckets) if bucket == 28]
    picture, axes = chart(
        3.9,
        "Sixteen distances get their own bucket; the rest share sixteen",
        alt="The bucket of each distance from 0 to 140, as stairs. Up to distance 15 each step is "
        "one wide. After that they grow: bucket 16 has distances 16 to 18, bucket 28 has "
        f"{wide[0]} to {wide[-1]}. Bucket 31, the last, begins at {last} and never ends.",
        x="distance: query − key",
        y="bucket",
    )
    curve(axes, range(17), buckets[:17], color=SECOND, drawstyle="steps-post")
    curve(axes, range(16, shown + 1), buckets[16:], color=ACCENT, drawstyle="steps-post")
    note(axes, "one each", (9, 9), (24, 7), SECOND, ha="left")
    note(axes, f"bucket 28: {wide[0]} to {wide[-1]}", (81, 28), (79, 20.5), ACCENT)
    note(axes, f"bucket 31: {last} and\nall beyond", (126, 31), (122, 25.2), ACCENT)
    axes.set(xlim=(0, shown), ylim=(0, 33))
    axes.set_xticks([0, 16, 32, 64, 96, 128])
    axes.set_yticks([0, 8, 16, 24, 31])
    return picture


def last_rows() -> Picture:
    length = 6
    distances = torch.arange(length)[:, None] - torch.arange(length)
    buckets = reference("longer").relative_buckets(distances).tolist()
    picture, axes = diagram(
        3.2,
        "A new token asks for the last row of the bias, not the first",
        alt="The buckets of six queries and six keys: 0 on the diagonal, 1 left of it, and so on; "
        "later keys have 0 as well, in grey. With a cache, one query and six keys: the right row "
        "is the last, 5, 4, 3, 2, 1, 0. The first row, 0 six times, is that of a query at "
        "position 0.",
    )
    size = (0.4, 0.36)
    colors = [[None if key > query else QUIET for key in range(length)] for query in range(length)]
    for color, query in ((WRONG, 0), (ACCENT, length - 1)):
        colors[query] = [color] * length
    x, y = 1.05, 0.62
    whole = cells(axes, x, y, buckets, colors=colors, size=size)
    for place in range(length):
        name_column(axes, whole, place, str(place))
        name_row(axes, whole, place, str(place))
    write(axes, (x + 1.2, 0.14), "key", QUIET, align="center")
    write(axes, (0.14, whole.left(2)[1] + 0.18), "query", QUIET)
    for row, color, name, said in (
        (0, WRONG, "wrong: query at 0", "all keys seem 0 back"),
        (length - 1, ACCENT, "right: query at 5", "keys 5 back to 0 back"),
    ):
        middle = whole.left(row)[1]
        right = cells(axes, 4.25, middle - size[1] / 2, [buckets[row]], colors=[color], size=size)
        arrow(axes, whole.right(row), right.left(0), color)
        write(axes, (4.25, middle - 0.38), name, color, bold=True)
        write(axes, (4.25, middle + 0.38), said, QUIET)
    return picture


def row_and_column() -> Picture:
    row, column = 2, 3
    picture, axes = diagram(
        2.9,
        "Half of the head rotates by the row, the other half by the column",
        alt="A grid of patches, one of them in row 2 and column 3. Next to it the eight features "
        "of a head: features 0 and 2, 1 and 3 are pairs that rotate by the row, by 2 and 0.02 "
        "radians; features 4 and 6, 5 and 7 rotate by the column, by 3 and 0.03 radians.",
    )
    x, y, side = 0.5, 0.75, 0.34
    grid = cells(axes, x, y, [[None] * 5] * 4, size=(side, side))
    here = {"facecolor": TINTS[ACCENT], "edgecolor": ACCENT, "linewidth": 2, "zorder": 3}
    axes.add_patch(Rectangle((x + column * side, y + row * side), side, side, **here))
    write(axes, (x - 0.1, grid.left(row)[1]), str(row), SECOND, align="right", bold=True)
    write(axes, (grid.above(column)[0], y - 0.2), str(column), THIRD, align="center", bold=True)
    write(axes, (grid.middle, 2.4), "the patch in row 2,", QUIET, align="center")
    write(axes, (grid.middle, 2.66), "column 3", QUIET, align="center")
    names = [f"{n}" for n in range(8)]
    colors = [[SECOND] * 4 + [THIRD] * 4]
    head = cells(axes, 2.85, 0.55, [names], colors=colors, size=(0.49, 0.38))
    halves = (
        (0, SECOND, "by the row", row, ("0 and 2", "1 and 3")),
        (4, THIRD, "by the column", column, ("4 and 6", "5 and 7")),
    )
    for first, color, name, place, pairs in halves:
        center = head.above(first)[0] + 0.735
        write(axes, (center, 0.28), name, color, align="center", bold=True)
        for n, (x_of, pair) in enumerate(zip((center - 0.47, center + 0.47), pairs, strict=True)):
            angle = place * 10000.0 ** (-2 * n / 4)
            clock(axes, (x_of, 1.6), 0.4, angle, color, pair)
            write(axes, (x_of, 2.5), f"{angle:g} rad", color, align="center")
    return picture


def patches() -> Picture:
    side, head_dim, base = 8, 64, 100.0
    longer, rope = reference("longer"), reference("rope")
    rows, cols = torch.arange(side * side) // side, torch.arange(side * side) % side
    ones = torch.ones(side * side, head_dim)
    line = rope.RotaryEmbedding(side * side, head_dim, base)(ones)
    grid = longer.rope_2d(ones, rows, cols, base)
    asked = {
        "one line": (line, 3, 6),
        "grid": (grid, 3, 6),
        "another query": (grid, 6, 1),
    }
    scores = {
        name: (turned @ turned[r * side + c] / head_dim).reshape(side, side)
        for name, (turned, r, c) in asked.items()
    }
    below, edge = ([scores[name][4, c].item() for name in ("one line", "grid")] for c in (6, 0))
    picture, panels = chart(
        3.2,
        "Numbered in a line, opposite edges look close; a grid mends it",
        alt="The score of a patch with all 64 patches of an image, as colors, three times; the "
        "strongest is 1, its score with itself. Numbered in one line, the patch in row 3 and "
        "column 6 scores high along its row and at the left edge of the next one, "
        f"{edge[0]:.2f}, and low with the patch below, {below[0]:.2f}. On a grid it scores high on "
        f"all sides, {below[1]:.2f} below, and {edge[1]:.2f} at that edge. Around another patch "
        "the pattern is the same.",
        columns=3,
        sharey=True,
    )
    for axes, (name, (_, row, column)) in zip(panels[0], asked.items(), strict=True):
        heatmap(axes, scores[name], signed=False, limit=1.0, aspect="equal")
        axes.set_title(name, loc="left", fontsize=TEXT)
        axes.plot([column], [row], marker="o", markersize=7, color=ACCENT)
        axes.set(xticks=[], yticks=[])
    note(panels[0, 0], "the query", (5.8, 3.3), (3.0, 6.0), ACCENT)
    image = panels[0, -1].images[0]
    scale = picture.colorbar(image, ax=panels[0].tolist(), ticks=[0, 0.5, 1], aspect=12, shrink=0.7)
    scale.outline.set_visible(False)
    scale.ax.set_title("score", fontsize=TEXT, color=QUIET, loc="left", pad=12)
    scale.ax.tick_params(labelsize=TEXT)
    return picture


def far() -> Picture:
    found = measured("longer", "far")
    trained, piece, losses = found["trained"], found["piece"], found["losses"]
    ends = [piece * (number + 1) for number in range(len(losses["as trained"]))]
    last = {way: of_way[-1] for way, of_way in losses.items()}
    listing = ", ".join(f"{way} {loss:.2f}" for way, loss in last.items())
    picture, axes = chart(
        3.8,
        "SmolLM2 copes with 2,000 extra tokens, then needs a remedy",
        alt=f"The loss of SmolLM2 in {ends[-1]:,} tokens of Shakespeare, a mean for each {piece}, "
        f"as trained, with ntk_base and with YaRN. Up to {trained:,}, the length of its training, "
        "and on to 10,000 the three lines coincide. Then the first one rises. At the "
        f"end: {listing}.",
        x="tokens read",
        y="loss, nats per token",
    )
    curve(axes, ends, losses["as trained"], color=WRONG)
    curve(axes, ends, losses["ntk_base"], color=THIRD, linestyle="--")
    curve(axes, ends, losses["YaRN"], color=ACCENT, linewidth=1.4)
    axes.axvline(trained, **EDGE)
    write(axes, (trained - 150, 4.05), "trained up to here", QUIET, align="right")
    note(axes, "as trained", (ends[-3], losses["as trained"][-3]), (9300, 3.85), WRONG)
    note(axes, "ntk_base\nand YaRN", (ends[-2], losses["YaRN"][-2]), (11000, 2.68), THIRD)
    axes.set(xlim=(0, ends[-1] + 200), ylim=(2.3, 4.2))
    axes.set_xticks([0, 2048, 4096, 6144, 8192, 10240, 12288])
    axes.xaxis.set_major_formatter("{x:,.0f}")
    return picture


AFTERWARDS = {"rope, ntk": "+ ntk_base", "rope, yarn": "+ YaRN"}
"""What is done to RoPE after its training, and how the figure calls it."""


def who_can() -> Picture:
    found = measured("longer", "tasks")
    lengths, tasks = found["lengths"], found["accuracy"]
    names = [*tasks["copy"]]
    picture, grid = chart(
        6.9,
        "Trained on 32 tokens, T5's bias works on longer texts than RoPE",
        alt="Right answers in five tasks, for each scheme and texts of 32 to 512 tokens, after "
        "training on 32, as colors. "
        + " ".join(
            f"{task}: T5 {rows['t5'][0]}% at 32 and {rows['t5'][-1]}% at 512, RoPE "
            f"{rows['rope'][0]}% and {rows['rope'][-1]}%, ALiBi {rows['alibi'][0]}% and "
            f"{rows['alibi'][-1]}%, no positions {rows['none'][0]}% and {rows['none'][-1]}%."
            for task, rows in tasks.items()
        )
        + " Learned rows end at 32; beyond, cells are hatched.",
        rows=2,
        columns=3,
    )
    titles = [AFTERWARDS.get(name) or SCHEMES[name].title for name in names]
    for number, (axes, (task, rows)) in enumerate(zip(grid.flat, tasks.items(), strict=False)):
        shares = [[*rows[name], *[math.nan] * (len(lengths) - len(rows[name]))] for name in names]
        heatmap(axes, np.array(shares), signed=False, limit=100)
        axes.set_title(task, fontsize=TEXT)
        axes.tick_params(length=0)
        below = lengths if number > 1 else []  # under the lowest panel of each column
        axes.set_xticks(range(len(below)), below, rotation=90, fontsize=TEXT)
        if number % 3:
            axes.set_yticks([])
        else:
            axes.set_yticks(range(len(names)), titles, fontsize=TEXT)
    last = grid.flat[-1]
    last.axis("off")
    image = grid[0, 0].images[0]
    scale = picture.colorbar(image, cax=last.inset_axes((0.1, 0.1, 0.12, 0.8)))
    scale.set_ticks([0, 50, 100], labels=["0%", "50%", "100%"])
    scale.ax.tick_params(labelsize=TEXT)
    write(last, (0.1, 0.98), "right answers", QUIET)
    picture.supxlabel("length of the text (tokens)", fontsize=TEXT)
    return picture


def two_heads() -> Picture:
    found = measured("longer", "tasks")
    ids = found["ids"]
    pairs = [*dict.fromkeys(zip(ids[::2], ids[1::2], strict=True))]
    names = {
        one: sign
        for pair, signs in zip(pairs, ("Ap", "Bq", "Cr", "Ds"), strict=True)
        for one, sign in zip(pair, signs, strict=True)
    }
    signs = [names[one] for one in ids]
    maps = [np.array(found[layer]) for layer in ("layer 1", "layer 2")]
    picture, grid = chart(
        4.8,
        "One head looks one token back, so the next finds what followed",
        alt=f"How much each token of the text {' '.join(signs)} looks at each one before it, in "
        "two heads of a model with T5's bias. In layer 1 the weight is on the line one token back, "
        f"{np.diagonal(maps[0], -1).mean():.2f} on average. In layer 2 each capital letter of the "
        "second half looks at the small letter that followed it in the first.",
        columns=2,
    )
    for axes, shares, title in zip(grid.flat, maps, ("layer 1", "layer 2"), strict=True):
        heatmap(axes, shares, signed=False, limit=1, aspect="equal")
        axes.set_title(title, fontsize=TEXT)
        axes.tick_params(length=0)
        axes.set_xticks(range(len(signs)), signs, fontsize=TEXT)
        axes.set_yticks(range(len(signs)), signs, fontsize=TEXT)
        axes.set_xlabel("key", fontsize=TEXT)
    grid.flat[0].set_ylabel("query", fontsize=TEXT)
    return picture


# --- parts ----------------------------------------------------------------------------------


def _frequencies(head_dim: int, base: float = BASE) -> torch.Tensor:
    return reference("sinusoidal").inverse_frequencies(head_dim, base).double()


def _trained() -> torch.Tensor:
    return _frequencies(HEAD_DIM)


def _stretched() -> dict[str, torch.Tensor]:
    """Return the frequencies of the three ways to read a text `FACTOR` times as long."""
    base = reference("rope").ntk_base(BASE, FACTOR, HEAD_DIM)
    yarn = reference("longer").yarn_frequencies(HEAD_DIM, BASE, FACTOR, TRAINED)
    return {
        "positions / 4": _trained() / FACTOR,
        "ntk_base": _frequencies(HEAD_DIM, base),
        "YaRN": yarn.double(),
    }


def _smoothed(frequencies: torch.Tensor, places: torch.Tensor) -> list[float]:
    """Return the score of a token with itself, a mean of cosines, averaged over near distances."""
    distances = torch.arange(1, int(places.max() * 7 / 6) + 1, dtype=torch.float64)
    scores = torch.outer(distances, frequencies).cos().mean(dim=1)
    return means_nearby(scores.numpy(), places.int().tolist())


def _near(places: torch.Tensor, place: float) -> int:
    """Return which of the places is nearest."""
    return int((places - place).abs().argmin())
