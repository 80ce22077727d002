"""Figures of lesson 4. A hand points to the right at angle 0, and turns counterclockwise."""

import math

import torch

from course.lessons.sinusoidal.pictures import rounded
from course.publishing.figures.charts import chart, curve, log_axis
from course.publishing.figures.diagrams import (
    cells,
    diagram,
    dial,
    hand,
    name_column,
    name_row,
    sector,
    tip_of,
)
from course.publishing.figures.measured import reference
from course.publishing.figures.palette import ACCENT, FAINT, INK, QUIET, SECOND, THIRD, TINTS, WHERE
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, note, write


def hands_of_three_positions() -> Picture:
    width, first, others = 8, 7, (8, 51)
    rates = reference("sinusoidal").inverse_frequencies(width).tolist()
    turns = [rounded(2 * math.pi / rate) for rate in rates]
    next_to_it, far = ([math.degrees(rate * (other - first)) for rate in rates] for other in others)
    picture, axes = diagram(
        4.2,
        "The fast hand tells 7 from 8; slower hands tell 7 from 51",
        alt="Four clocks for each of the positions 7, 8 and 51, from a fast hand that turns once "
        f"in {turns[0]} positions to a slow one that takes {turns[-1]}. From 7 to 8 the first hand "
        f"has moved by {next_to_it[0]:.0f} degrees, the others hardly. At 51 the first hand is "
        f"back where it was at 7, and the second has moved by {far[1]:.0f} degrees, the third by "
        f"{far[2]:.0f}.",
    )
    radius, columns = 0.47, [2.0, 3.45, 4.9, 6.35]
    write(axes, (0.16, 0.46), "steps per turn", QUIET)
    for pair, (x, turn) in enumerate(zip(columns, turns, strict=True)):
        write(axes, (x, 0.2), f"hand {pair}", align="center", bold=True)
        write(axes, (x, 0.46), turn, QUIET, align="center")
    for row, position in enumerate((first, *others)):
        y = 1.2 + 1.16 * row
        write(axes, (0.16, y), f"position {position}", bold=True)
        for x, rate in zip(columns, rates, strict=True):
            dial(axes, (x, y), radius)
            if row:
                turned = (position - first) * rate
                moved = abs(math.remainder(turned, 2 * math.pi)) > 0.2
                start = first * rate
                hand(axes, (x, y), radius, start, FAINT)
                if moved:
                    end = start + math.fmod(turned, 2 * math.pi)
                    sector(axes, (x, y), radius, start, end, ACCENT)
            color = QUIET if row == 0 or not moved else ACCENT
            hand(axes, (x, y), radius, position * rate, color)
    return picture


def row_notes_the_tips() -> Picture:
    width, position = 4, 1
    row = reference("sinusoidal").sinusoidal_encoding(position + 1, width)[position].tolist()
    rates = reference("sinusoidal").inverse_frequencies(width).tolist()
    picture, axes = diagram(
        3.75,
        "A row records each hand's tip: cosine to the right, sine up",
        alt="Two clocks for position 1 and C = 4, above the four numbers of row 1. Hand 0 has "
        f"turned by 1 radian: its tip is {row[0]:.4f} up, drawn as a bar at the side, and "
        f"{row[1]:.4f} to the right, drawn as a bar below. Hand 1 has turned by 0.01: its tip is "
        f"{row[2]:.4f} up, too little to see, and {row[3]:.4f} to the right.",
    )
    left, cell, radius, y = 1.3, 1.3, 0.88, 1.35
    names = [f"{name} {position * rate:g}" for rate in rates for name in ("sin", "cos")]
    colors = [WHERE, SECOND] * (width // 2)
    block = cells(axes, left, 3.18, [row], size=(cell, 0.42), pattern=".4f", colors=[colors])
    write(axes, (0.16, block.left(0)[1]), f"row {position}", bold=True)
    for pair, angle in enumerate(position * rate for rate in rates):
        x = left + (2 * pair + 1) * cell - 0.1
        tip = tip_of((x, y), radius, angle)
        side, below = x + radius + 0.14, y + radius + 0.14
        write(axes, (x, 0.2), f"hand {pair}", align="center", bold=True)
        dial(axes, (x, y), radius)
        for end in ((side, tip[1]), (tip[0], below)):
            axes.plot(*zip(tip, end, strict=True), color=QUIET, linewidth=1, linestyle=":")
        axes.plot([x, x], [y, below], color=QUIET, linewidth=1, linestyle=":")
        axes.plot([x, side], [y, y], color=QUIET, linewidth=1, linestyle=":")
        hand(axes, (x, y), radius, angle, INK)
        axes.plot([side, side], [y, tip[1]], color=WHERE, linewidth=5)
        axes.plot([x, tip[0]], [below, below], color=SECOND, linewidth=5)
        write(axes, (side + 0.08, (y + tip[1]) / 2), names[2 * pair], WHERE)
        write(axes, ((x + tip[0]) / 2, below + 0.2), names[2 * pair + 1], SECOND, align="center")
    for column, (name, color) in enumerate(zip(names, colors, strict=True)):
        name_column(axes, block, column, name, color)
    return picture


def columns_slow_down_like_bits() -> Picture:
    length, width, shown = 32, 16, 5
    cosines = reference("sinusoidal").sinusoidal_encoding(length, width)[:, 1::2]
    digits = torch.arange(length)[:, None] >> torch.arange(shown) & 1
    picture, grid = chart(
        5.4,
        "Hands slow down one after another, like the bits of a counter",
        alt=f"Ten curves over the numbers 0 to {length - 1}. Left the {shown} bits of each number: "
        "the first flips at every step, the next at every second, the fifth only once. Right the "
        f"cosines of the first {shown} hands at these positions: hand 0 goes from 1 to -1 and back "
        "five times, the next ones more and more slowly, and hand 4 hardly leaves 1.",
        rows=shown,
        columns=2,
        sharex=True,
    )
    for row, (left, right) in enumerate(grid):
        left.step(range(length), digits[:, row], where="mid", color=SECOND, linewidth=2.2)
        right.plot(range(length), cosines[:, row], color=ACCENT, linewidth=2.2, marker=".")
        left.set(ylim=(-0.3, 1.3), yticks=[0, 1])
        right.set(ylim=(-1.3, 1.3), yticks=[-1, 1], yticklabels=["−1", "1"])
        for axes, name in ((left, f"digit for {2**row}"), (right, f"cosine of hand {row}")):
            axes.set_title(name, loc="left", fontsize=TEXT, pad=2)
            axes.spines["bottom"].set_visible(row == shown - 1)
            axes.tick_params(axis="x", length=0)
    for axes, name in zip(grid[-1], ("number", "position"), strict=True):
        axes.set_xlabel(name, fontsize=TEXT)
    grid[-1, 0].set_xticks([0, 8, 16, 24, 31])
    return picture


def slow_hands_never_go_round() -> Picture:
    width, trained, limit, top = 384, 256, 10000 * 2 * math.pi, 200_000
    turns = (2 * math.pi / reference("sinusoidal").inverse_frequencies(width)).tolist()
    seen = sum(turn <= trained for turn in turns)
    unseen = len(turns) - seen
    picture, axes = chart(
        4.1,
        f"In {trained} positions, {unseen} of the {len(turns)} hands do not go round once",
        alt=f"The wavelengths of {len(turns)} hands on a logarithmic axis: a straight line from "
        f"{turns[0]:.2f} positions for hand 0 to {turns[-1]:,.0f} for hand {len(turns) - 1}, just "
        f"below the limit of {limit:,.0f}. The trained length of {trained} crosses it after hand "
        f"{seen - 1}: the hands after it have not completed a turn.",
        x="hand",
        y="wavelength (positions)",
    )
    log_axis(axes.yaxis, [10, 100, 1000, 10_000, 100_000])
    axes.set(xlim=(-6, 240), ylim=(3, top), xticks=[0, 50, 100, 150, len(turns) - 1])
    axes.axhspan(trained, top, facecolor=TINTS[ACCENT], linewidth=0)
    axes.axhline(limit, color=QUIET, linewidth=1.3, linestyle="--")
    axes.plot(range(seen), turns[:seen], color=SECOND, linewidth=4)
    axes.plot(range(seen, len(turns)), turns[seen:], color=ACCENT, linewidth=4)
    write(axes, (0, limit * 1.7), f"the limit, {limit:,.0f}, is not reached")
    write(axes, (0, 3000), f"not once round by {trained}:", ACCENT, bold=True)
    write(axes, (0, 1300), f"{unseen} hands", ACCENT, bold=True)
    write(axes, (238, 160), f"trained: {trained} positions", QUIET, align="right")
    write(axes, (85, 20), f"{seen} hands have gone round", SECOND)
    write(axes, (7, turns[0] * 0.85), f"{turns[0]:.2f}", SECOND)
    write(axes, (196, turns[-1] * 0.5), f"{turns[-1]:,.0f}", ACCENT)
    return picture


def equal_steps_are_equal_turns() -> Picture:
    width, k, starts = 8, 3, (2, 20, 40)
    rates = reference("sinusoidal").inverse_frequencies(width).tolist()[:2]
    picture, axes = diagram(
        3.4,
        f"{k} positions later is the same turn, wherever one starts",
        alt=f"Two rows of three clocks: from position {starts[0]}, {starts[1]} and {starts[2]} to "
        f"{k} later. Hand 0 sweeps {math.degrees(k * rates[0]):.0f} degrees counterclockwise "
        f"each time, hand 1 {math.degrees(k * rates[1]):.0f} degrees.",
    )
    radius = 0.62
    for pair, rate in enumerate(rates):
        y = 1.1 + 1.45 * pair
        write(axes, (0.16, y - 0.14), f"hand {pair}", bold=True)
        write(axes, (0.16, y + 0.14), f"{k * rate:.2g} radians", ACCENT)
        for column, start in enumerate(starts):
            center = (2.4 + 1.75 * column, y)
            if pair == 0:
                write(axes, (center[0], 0.2), f"{start} to {start + k}", align="center", bold=True)
            dial(axes, center, radius)
            begin, end = (place * rate for place in (start, start + k))
            sector(axes, center, radius, begin, end, ACCENT)
            hand(axes, center, radius, begin, QUIET)
            hand(axes, center, radius, end, ACCENT)
    return picture


def product_depends_on_the_distance() -> Picture:
    width, reach = 384, 100
    starts = {100: (ACCENT, "o"), 700: (SECOND, "s"), 1500: (INK, "D")}
    table = reference("sinusoidal").sinusoidal_encoding(max(starts) + reach + 1, width).double()
    offsets = list(range(-reach, reach + 1))
    products = {p: [float(table[p] @ table[p + k]) for k in offsets] for p in starts}
    at = dict(zip(offsets, products[min(starts)], strict=True))
    picture, grid = chart(
        4.2,
        "The dot product ripples down with distance, from any position",
        alt=f"Left the dot products of positions 100, 700 and 1500 with those up to {reach} before "
        f"and behind, for C = {width}: all are on one curve, which falls from {at[0]:.0f} at "
        f"distance 0 to {at[5]:.1f} at 5 and {at[reach]:.1f} at {reach}, the same on both sides. "
        f"Right a part of it, enlarged: it falls in steps that are about 6 positions long.",
        columns=2,
        width_ratios=(1.7, 1),
    )
    wide, near = grid[0]
    curve(wide, offsets, products[min(starts)], color=FAINT, linewidth=5)
    for n, (start, (color, marker)) in enumerate(starts.items()):
        some = slice(4 * n, None, 12)
        wide.plot(offsets[some], products[start][some], marker, color=color, markersize=6)
        y = 190 - 17 * n
        wide.plot([22], [y], marker, color=color, markersize=6)
        write(wide, (30, y - 1), f"from {start:,}", color)
    wide.plot([-5, 5], [at[5]] * 2, "o", color=ACCENT, markersize=9, markerfacecolor="none")
    note(wide, f"{at[5]:.1f}", (-7, at[5]), (-50, at[5] + 12), ACCENT)
    wide.set(xlim=(-106, 106), ylim=(60, 202), xticks=[-100, -50, 0, 50, 100])
    wide.set(xlabel="positions back or ahead", ylabel="dot product")
    part = list(range(12, 39))
    curve(near, part, [at[k] for k in part], color=ACCENT, marker="o", markersize=3.5)
    near.set_title("a part, enlarged", loc="left", fontsize=TEXT)
    near.set(xlabel="positions ahead", xticks=[12, 18, 24, 30, 36])
    note(near, "25 is not\nlower than 24", (25, at[25]), (29.5, at[25] + 8.5))
    return picture


def projection_brings_back_the_place() -> Picture:
    width, length, k = 384, 512, 5
    rates = reference("sinusoidal").inverse_frequencies(width).double()
    angles = torch.outer(torch.arange(length).double(), rates)
    table = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
    how = {"dtype": torch.float64, "generator": torch.Generator().manual_seed(0)}
    w_q, w_k = torch.randn(2, width, width, **how) / math.sqrt(width)
    raw = (table @ table.T).diagonal(k)
    same = ((table @ w_q) @ (table @ w_q).T).diagonal(k)
    projected = ((table @ w_q) @ (table @ w_k).T).diagonal(k)
    (low, high), (least, most) = (
        (round(products.min().item()), round(products.max().item()))
        for products in (projected, same)
    )
    said = f"{low} to {high}".replace("-", "−")
    picture, axes = chart(
        3.7,
        f"Projected, rows {k} apart give another product at each position",
        alt=f"Dot products of rows p and p + {k}, for p from 0 to {length - k - 1}. For the bare "
        f"rows a level line at {raw[0]:.1f}. After the same random projection for queries and keys "
        f"a jagged line around it, between {least} and {most}. After two unrelated projections a "
        f"jagged line around 0, between {low} and {high}.",
        x=f"position p, compared with p + {k}",
        y="dot product",
    )
    axes.axhline(0, color=FAINT, linewidth=1)
    places = range(length - k)
    curve(axes, places, same, color=THIRD, linewidth=1.6)
    curve(axes, places, raw, color=SECOND, linewidth=3)
    curve(axes, places, projected, color=ACCENT, linewidth=1.6)
    write(axes, (4, 176), f"bare rows: {raw[0]:.1f} everywhere", SECOND, bold=True)
    write(axes, (4, 94), f"the same projection for both: {least} to {most}", THIRD, bold=True)
    write(axes, (4, 38), f"two unrelated projections: {said}", ACCENT, bold=True)
    axes.set(xlim=(-4, 512), ylim=(-45, 190), yticks=[0, 50, 100, 150])
    return picture


def biases_follow_diagonals() -> Picture:
    length, largest = 6, 3
    picture, axes = diagram(
        3.25,
        "A relative bias is the same along each diagonal",
        alt=f"A square of {length} by {length} cells, a row for each query and a column for each "
        "key. A cell names the bias of its distance: b(0) on the diagonal, b(−1) below it, b(1) "
        f"above it. From distance {largest} on, all cells share b(−{largest}) or b({largest}).",
    )
    meant = {-1: ACCENT, -largest: SECOND, largest: SECOND}
    words, colors = [], []
    for query in range(length):
        distances = [max(-largest, min(largest, key - query)) for key in range(length)]
        words.append([f"b({distance})".replace("-", "−") for distance in distances])
        colors.append([meant.get(distance) for distance in distances])
    block = cells(axes, 1.72, 0.42, words, size=(0.84, 0.4), colors=colors)
    left, right = block.x, block.right(0)[0]
    above, below = 0.2, block.below(0)[1] + 0.2
    write(axes, (left, above), "key at 0, 1, 2, …", QUIET)
    write(axes, (right, above), f"b({largest}): three or more on", SECOND, align="right")
    write(axes, (left, below), f"b(−{largest}): three or more back", SECOND)
    write(axes, (right, below), "b(−1): one back", ACCENT, align="right", bold=True)
    for row, name in enumerate(("query at 0", "1", "2", "…")):
        name_row(axes, block, row, name)
    return picture


def formulas_agree_at_first() -> Picture:
    width, top, closest = 512, 8e9, "2i/(C − 2)"
    hands = torch.arange(width // 2, dtype=torch.float64)
    paper = (2 * math.pi / reference("sinusoidal").inverse_frequencies(width)).tolist()
    others = {
        "i/C": hands / width,
        "4i/C": 4 * hands / width,
        closest: 2 * hands / (width - 2),
    }
    turns = {name: (2 * math.pi * 10000**exponent).tolist() for name, exponent in others.items()}
    ends = {name: some[-1] for name, some in turns.items()}
    picture, axes = chart(
        3.9,
        "Four formulas agree on the first hand, so look at the last",
        alt=f"Wavelengths on a logarithmic axis, for C = {width}. All four lines start at 6.28. "
        f"The paper's ends at {paper[-1]:,.0f}, that of {closest} on top of it at "
        f"{ends[closest]:,.0f}, that of i/C at {ends['i/C']:,.0f} and that of 4i/C at "
        f"{ends['4i/C'] / 1e6:.0f} million.",
        x="hand",
        y="wavelength (positions)",
    )
    last, names = len(hands) - 1, ["10", "1,000", "100,000", "10 million", "1 billion"]
    log_axis(axes.yaxis, [10, 1000, 1e5, 1e7, 1e9], names)
    axes.set(xlim=(-6, last + 130), ylim=(3, top), xticks=[0, 50, 100, 150, 200, last])
    for name, some in turns.items():
        dashed = {"linestyle": "--", "color": SECOND, "zorder": 3} if name == closest else {}
        curve(axes, hands, some, **dashed)
    curve(axes, hands, paper, color=ACCENT, linewidth=4)
    right = last + 7
    write(axes, (right, ends["4i/C"]), f"4i/C: {ends['4i/C'] / 1e6:.0f} million", QUIET)
    write(axes, (right, ends[closest] * 4), f"{closest}: {ends[closest]:,.0f}", SECOND)
    write(axes, (right, paper[-1] / 2.5), f"2i/C: {paper[-1]:,.0f}", ACCENT, bold=True)
    write(axes, (right, ends["i/C"]), f"i/C: {ends['i/C']:,.0f}", QUIET)
    return picture
