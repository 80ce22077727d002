"""Figures of lesson 9."""

import math

import torch

from course.publishing.figures.charts import chart
from course.publishing.figures.diagrams import arrow, box, cells, diagram, dial, hand, name_row
from course.publishing.figures.measured import committed, measured, reference, unpacked
from course.publishing.figures.palette import ACCENT, FAINT, KEY, QUERY, QUIET, SECOND, THIRD, WRONG
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, write

LOOKED_AT = 7
"""Rome, in the text of the head to play with."""

N_HEADS, N_KV_HEADS = 9, 3
"""Of SmolLM2-135M."""


def head_moved() -> Picture:
    found = committed()["llama"]
    query, key = unpacked(found["query"])[None], unpacked(found["keys"])[LOOKED_AT][None]
    last, pairs = len(found["tokens"]) - 1, (0, 8, 12, 16)
    picture, axes = diagram(
        3.4,
        "1,000 positions later: all hands rotated, the score the same",
        alt="Four dials of a head of SmolLM2, twice: a text at positions 0 to 11, and at 1,000 to "
        "1,011. In each dial, a hand of the query of the word of and one of the key of Rome. All "
        "hands point elsewhere, but the angle between the two is the same, and so is the score.",
    )
    write(axes, (2.0, 3.25), "query of “of”", QUERY, bold=True)
    write(axes, (4.0, 3.25), "key of “Rome”", KEY, bold=True)
    tables = reference("rope").rope_tables(2000, query.shape[-1], found["base"])
    scores = []
    for row, shift in enumerate((0, 1000)):
        y = 0.95 + 1.5 * row
        turned = [
            reference("rope").apply_rope(x, *(table[[place + shift]] for table in tables))[0]
            for x, place in ((query, last), (key, LOOKED_AT))
        ]
        scores.append((turned[0] @ turned[1]).item() / math.sqrt(query.shape[-1]))
        write(axes, (0.16, y - 0.12), f"positions\n{shift:,} to {shift + last:,}", QUIET)
        for column, pair in enumerate(pairs):
            center = (2.2 + 1.15 * column, y)
            dial(axes, center, 0.48)
            for vector, color in zip(turned, (QUERY, KEY), strict=True):
                angle = math.atan2(vector[pair + len(vector) // 2], vector[pair])
                hand(axes, center, 0.48, angle, color)
            if not row:
                write(axes, (center[0], 0.25), f"pair {pair}", QUIET, align="center")
        write(axes, (6.2, y), f"score\n{scores[-1]:.2f}", align="left", bold=True)
    return picture


def what_changes() -> Picture:
    picture, axes = diagram(
        3.3,
        "A Llama is your GPT with three other parts",
        alt="A block of lesson 8 and a block of a Llama, side by side. In both a norm comes before "
        "attention and before an MLP. What differs is marked: the layer "
        "norms become RMSNorms, attention with nine key heads becomes grouped-query attention with "
        "three, and the MLP of two layers becomes one of three, with a gate.",
    )
    parts = (
        ("layer norm", "RMSNorm"),
        ("attention, 9 heads", "9 heads ask, 3 answer"),
        ("layer norm", "RMSNorm"),
        ("MLP, 2 layers", "MLP, 3 layers: a gate"),
    )
    for x, name, which, color in ((0.35, "lesson 8", 0, QUIET), (3.85, "a Llama", 1, ACCENT)):
        write(axes, (x + 1.35, 0.15), name, align="center", bold=True)
        for number, part in enumerate(parts):
            y = 0.45 + 0.68 * number
            box(axes, x, y, part[which], color, (2.7, 0.44))
            if number:
                arrow(axes, (x + 1.35, y - 0.24), (x + 1.35, y))
    return picture


def who_shares() -> Picture:
    picture, axes = diagram(
        2.9,
        "Three neighboring query heads share one key head",
        alt="Nine query heads in a row, 0 to 8, and below them three key heads. Lines lead from "
        "query heads 0, 1 and 2 to key head 0, from 3, 4 and 5 to key head 1, and from 6, 7 and 8 "
        "to key head 2.",
    )
    heads = torch.arange(N_KV_HEADS).reshape(1, N_KV_HEADS, 1, 1)
    reads = reference("llama").repeat_heads(heads, N_HEADS // N_KV_HEADS).flatten().tolist()
    queries = cells(axes, 1.3, 0.45, [[*range(N_HEADS)]], colors=[QUERY], size=(0.58, 0.42))
    keys = [
        cells(axes, 1.3 + 0.58 * (3 * head + 1), 2.1, [[head]], colors=[KEY], size=(0.58, 0.42))
        for head in range(N_KV_HEADS)
    ]
    name_row(axes, queries, 0, "query heads", QUERY)
    write(axes, (1.2, 2.31), "key heads", KEY, align="right")
    for head, key in enumerate(reads):
        start, end = queries.below(head), keys[key].above(0)
        axes.plot(*zip(start, end, strict=True), color=KEY, linewidth=1.6)
    return picture


def rows_move() -> Picture:
    picture, axes = diagram(
        2.95,
        "The file interleaves a pair's rows; your rotation wants halves",
        alt="Left, a head of six rows as in the file, with the pairs 0 1, 2 3 and 4 5 in three "
        "colors. Arrows lead to their positions on the right, in split halves, 0 2 4 and 1 3 5, "
        "so that each color has one row in each half.",
    )
    rows = torch.arange(6).reshape(6, 1)
    moved = reference("rope").interleaved_to_half(rows, 1).flatten().tolist()
    colors, blocks = (SECOND, ACCENT, THIRD), []
    for x, name, order in ((1.0, "in the file", [*range(6)]), (4.4, "in your Llama", moved)):
        block = cells(
            axes,
            x,
            0.45,
            [[f"row {row}"] for row in order],
            colors=[colors[row // 2] for row in order],
            size=(1.2, 0.38),
        )
        write(axes, (block.middle, 0.18), name, align="center", bold=True)
        blocks.append(block)
    for place, row in enumerate(moved):
        arrow(axes, blocks[0].right(row), blocks[1].left(place), colors[row // 2])
    write(axes, (5.75, 1.02), "first half", QUIET)
    write(axes, (5.75, 2.16), "second half", QUIET)
    axes.plot([5.6, 6.8], [1.59, 1.59], color=FAINT, linewidth=1.2)
    return picture


def breaks() -> Picture:
    rows = measured("llama", "breaks")["breaks"]
    names, losses = [row[0] for row in rows], [row[1] for row in rows]
    right = losses[0]
    listing = "; ".join(f"{name}: {loss:.2f}" for name, loss in zip(names, losses, strict=True))
    picture, axes = chart(
        5.2,
        "Shifted positions cost nothing, misordered heads the most",
        alt=f"Bars: the loss of SmolLM2 on 512 tokens, right and with one mistake. {listing}.",
        x="loss, nats per token",
    )
    places = range(len(rows))
    colors = [THIRD if loss < right + 0.005 else WRONG for loss in losses]
    axes.barh(places, losses, color=colors, edgecolor="none", height=0.6)
    axes.set_yticks(places, names)
    axes.tick_params(labelsize=TEXT)
    axes.invert_yaxis()
    for place, loss in zip(places, losses, strict=True):
        axes.annotate(
            f"{loss:.2f}",
            (loss, place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=TEXT,
        )
    axes.set_xlim(0, max(losses) * 1.2)
    return picture
