"""Figures of lesson 3."""

import math

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.publishing.figures.charts import chart, curve, log_axis
from course.publishing.figures.colormaps import SIGNED
from course.publishing.figures.diagrams import arrow, box, cells, diagram, name_row
from course.publishing.figures.measured import measured, reference
from course.publishing.figures.palette import ACCENT, QUIET, SECOND, THIRD, TINTS, WHAT, WHERE
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, listed, note, write

WORDS = ["dog", "bites", "man"]
TOKENS = torch.tensor([[10.0, 0], [0, 10], [10, 10]])
POSITIONS = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
"""The numbers of the lesson's text."""

MODELS = {"GPT-2 small": (50257, 1024, 768), "a character-level model": (65, 256, 384)}
"""Name -> tokens, positions and width C; those of the text."""


def token_row_plus_position_row() -> Picture:
    model = reference("learned").GPTEmbedding(len(TOKENS), len(POSITIONS), TOKENS.shape[1])
    model.load_state_dict({"tok_emb.weight": TOKENS, "pos_emb.weight": POSITIONS})
    sentences = ([0, 1, 2], [2, 1, 0])
    sums = [model(torch.tensor([ids]))[0].tolist() for ids in sentences]
    places = [rows[ids.index(0)] for ids, rows in zip(sentences, sums, strict=True)]
    picture, axes = diagram(
        3.25,
        "The same dog at another position is another vector",
        alt="Two sentences. In each, three token rows plus position rows 0, 1 and 2 give what the "
        f"model reads. Dog's token row is 10, 0 in both. In dog bites man its sum is "
        f"{listed(places[0])}, in man bites dog {listed(places[1])}. Bites is at position 1 "
        "in both, and its sum is the same.",
    )
    for ids, rows, y in zip(sentences, sums, (0.45, 1.95), strict=True):
        of_dog, sums_of_dog = ([c if word == 0 else None for word in ids] for c in (WHAT, THIRD))
        left = cells(axes, 1.0, y, TOKENS[ids].tolist(), colors=of_dog)
        middle = cells(axes, 3.25, y, POSITIONS.tolist(), colors=[WHERE] * 3)
        right = cells(axes, 5.2, y, rows, colors=sums_of_dog, size=(0.6, 0.36))
        for row, word in enumerate(ids):
            name_row(axes, left, row, WORDS[word], WHAT if word == 0 else QUIET)
            name_row(axes, middle, row, str(row), WHERE)
        for x, sign in ((2.45, "+"), (4.73, "=")):
            write(axes, (x, left.center(1, 0)[1]), sign, align="center", size=TEXT + 5)
    names = ((left, "token rows"), (middle, "position rows"), (right, "the model reads"))
    for block, name in names:
        write(axes, (block.middle, 0.18), name, QUIET, align="center")
    return picture


def positions_after_training() -> Picture:
    found = measured("learned", "trained")
    trained, cosines = found["trained"], np.array(found["cosines"]) / 100
    n_rows = 2 * len(cosines)
    picture, axes = chart(
        4.9,
        f"Training brought rows 0 to {trained - 1} into an order; the rest is noise",
        alt=f"The cosine of each of {n_rows} position rows with each other, as colors. In the "
        f"corner of rows 0 to {trained - 1} a broad orange diagonal fades smoothly to blue: near "
        "positions have similar rows. Outside of it, where no text of the training reached, there "
        "are only pale stripes and a thin line of ones on the diagonal.",
        x="position",
        y="position",
    )
    extent = (-0.5, n_rows - 0.5, n_rows - 0.5, -0.5)
    how = {"cmap": SIGNED, "vmin": -1, "vmax": 1, "interpolation": "nearest"}
    image = axes.imshow(cosines, extent=extent, **how)
    edge = Rectangle((-0.5, -0.5), trained, trained, fill=False, edgecolor=ACCENT, linewidth=2.4)
    axes.add_patch(edge)
    axes.set(xticks=range(0, n_rows, 32), yticks=range(0, n_rows, 32), xlim=(-0.5, 226))
    axes.spines["bottom"].set_bounds(-0.5, n_rows - 0.5)
    axes.xaxis.set_label_coords(n_rows / 2 / 226, -0.11)
    bar = axes.inset_axes((146, 98, 60, 5), transform=axes.transData)
    scale = picture.colorbar(image, cax=bar, orientation="horizontal", ticks=[-1, 0, 1])
    scale.set_label("cosine of two rows", fontsize=TEXT)
    scale.ax.tick_params(labelsize=TEXT)
    note(axes, "trained: neighbors\nare similar", (trained, 20), (143, 18), ACCENT, ha="left")
    note(axes, "never reached:\nrandom, as at the start", (110, 84), (143, 62), QUIET, ha="left")
    return picture


def loss_by_position() -> Picture:
    found = measured("learned", "trained")
    trained, losses, letters = found["trained"], found["losses"], found["letters"]
    before, after = np.mean(losses[10:trained]), np.mean(losses[trained:])
    picture, axes = chart(
        3.6,
        "At the first row that was never trained, the loss jumps",
        alt=f"The loss at positions 0 to {len(losses) - 1} of unseen text. It is about "
        f"{before:.1f} up to position {trained - 1}, the end of what was trained, and about "
        f"{after:.1f} after it. Counting characters alone gives {letters}, drawn as a dashed line.",
        x="position",
        y="loss (nats per character)",
    )
    axes.axvspan(-0.5, trained - 0.5, color=TINTS[SECOND], linewidth=0)
    curve(axes, range(trained), losses[:trained], color=SECOND)
    curve(axes, range(trained - 1, len(losses)), losses[trained - 1 :], color=ACCENT)
    axes.axhline(letters, color=QUIET, linestyle="--", linewidth=1.4)
    said = f"counting characters: {letters}"
    write(axes, (len(losses) - 1, letters + 0.19), said, QUIET, align="right")
    halves = ((0.5, "read in training", before, SECOND), (1.5, "never reached", after, ACCENT))
    for x, name, loss, color in halves:
        write(axes, (x * trained, 1.55), name, color, align="center")
        write(axes, (x * trained, 1.15), f"about {loss:.1f}", color, align="center", bold=True)
    axes.set(xlim=(-0.5, len(losses) - 0.5), ylim=(0, 3.9), xticks=range(0, len(losses) + 1, 32))
    return picture


def directions_at_right_angles() -> Picture:
    picture, axes = chart(
        3.3,
        "In 384 features, random directions are nearly at right angles",
        alt="How often two random directions have a certain cosine. With 8 features a wide hill "
        f"from -0.9 to 0.9, standard deviation {_spread(8)}; with 384 features a narrow peak at "
        f"0, standard deviation {_spread(384)}.",
        x="cosine of two random directions",
        y="how often (density)",
    )
    cosines = np.linspace(-1, 1, 401)
    for width, color, words in ((8, SECOND, (-0.96, 2.6)), (384, ACCENT, (0.13, 6.5))):
        density = _density(cosines, width)
        axes.fill_between(cosines, density, color=TINTS[color], linewidth=0)
        curve(axes, cosines, density, color=color)
        x, y = words
        write(axes, (x, y), f"{width} features:", color, bold=True)
        write(axes, (x, y - 0.95), f"standard deviation {_spread(width)}", color)
    axes.set(xlim=(-1, 1), ylim=(0, 8.4), xticks=[-1, -0.5, 0, 0.5, 1], yticks=range(0, 9, 2))
    return picture


def what_against_where() -> Picture:
    sizes = {name: _parameters(*shape) for name, shape in MODELS.items()}
    (of_tokens, of_positions), small = sizes.values()
    times = (of_tokens / of_positions, small[1] / small[0])
    picture, axes = diagram(
        2.75,
        f"GPT-2 spends {times[0]:.0f} times as much on what as on where",
        alt="Two bars, each 100% of a model's two tables. "
        + " ".join(
            f"{name}: {tokens:,} numbers for tokens, {positions:,} for positions."
            for name, (tokens, positions) in sizes.items()
        )
        + f" In the character model, positions take {times[1]:.0f} times as much as tokens.",
    )
    left, full, height = 0.16, 6.68, 0.5
    for y, (name, both) in zip((0.5, 1.9), sizes.items(), strict=True):
        n_tokens, n_positions, width = MODELS[name]
        write(axes, (left, y - 0.3), name, bold=True)
        shape = f"({n_tokens:,} + {n_positions:,}) rows of {width}"
        write(axes, (left + full, y - 0.3), shape, QUIET, align="right")
        x = left
        for size, color in zip(both, (WHAT, WHERE), strict=True):
            wide = full * size / sum(both)
            fill = TINTS[color] if wide > 1 else color
            axes.add_patch(Rectangle((x, y), wide, height, facecolor=fill, edgecolor=color))
            x += wide
        write(axes, (left, y + height + 0.19), f"what: {both[0]:,}", WHAT)
        write(axes, (left + full, y + height + 0.19), f"where: {both[1]:,}", WHERE, align="right")
    return picture


def table_used_twice() -> Picture:
    x = torch.tensor([[[-0.2, 0.5]]])
    scores = reference("learned").tied_logits(x, TOKENS)[0, 0].tolist()
    best = scores.index(max(scores))
    picture, axes = diagram(
        2.45,
        "One table, both ends: a row goes in, dot products come out",
        alt="From left to right: the id 2, man, picks row 10, 10 of the token table. That goes "
        f"through the blocks, which give {listed(x[0, 0].tolist())}. The same table once more: its "
        f"dot products with that are the scores {listed(scores)} of dog, "
        f"bites and man. {WORDS[best].capitalize()} has the highest.",
    )
    size, y = (0.42, 0.36), 0.6
    middle = y + 1.5 * size[1]
    ids = cells(axes, 0.2, y + 2 * size[1], [["2"]], colors=[SECOND], size=size)
    first = cells(axes, 1.0, y, TOKENS.tolist(), colors=[None, None, SECOND], size=size)
    blocks = box(axes, 2.16, middle - 0.36, "blocks", size=(0.74, 0.72))
    hidden = cells(axes, 3.2, middle - 0.18, x[0].tolist(), colors=[THIRD])
    second = cells(axes, 4.56, y, TOKENS.tolist(), colors=[WHAT] * 3, size=size)
    marks = [THIRD if word == best else None for word in range(len(WORDS))]
    out = cells(axes, 5.8, y, [[score] for score in scores], colors=marks, size=size)
    arrow(axes, ids.right(0), first.left(2), SECOND)
    arrow(axes, first.right(2), (2.16, middle + 0.15), SECOND)
    arrow(axes, blocks.right(0), hidden.left(0), THIRD)
    arrow(axes, hidden.right(0), second.left(1), THIRD)
    for row, word in enumerate(WORDS):
        color = THIRD if row == best else QUIET
        arrow(axes, second.right(row), out.left(row), color)
        end = out.right(row)
        write(axes, (end[0] + 0.08, end[1]), word, color)
    blocks = {"pick a row": first, "x": hidden, "x · each row": second, "scores": out}
    for name, block in blocks.items():
        write(axes, (block.middle, 0.3), name, QUIET, align="center")
    write(axes, (0.41, y + 0.5), "man", SECOND, align="center")
    _same(axes, first.below(0)[0] + 0.21, second.below(0)[0] + 0.21, y + 3 * size[1])
    return picture


def _parameters(n_tokens: int, n_positions: int, width: int) -> tuple[int, int]:
    """Return how many numbers are in a token table and in a position table."""
    with torch.device("meta"):  # shapes without memory
        model = reference("learned").GPTEmbedding(n_tokens, n_positions, width)
    count = reference("learned").count_parameters
    return count(model.tok_emb), count(model.pos_emb)


def _same(axes: Axes, left: float, right: float, y: float) -> None:
    """Join two tables below: they are one."""
    how = {"color": SECOND, "linewidth": 1.6, "linestyle": "--"}
    axes.plot([left, left, right, right], [y + 0.08, y + 0.35, y + 0.35, y + 0.08], **how)
    write(axes, ((left + right) / 2, y + 0.6), "one table, stored once", SECOND, align="center")


def _density(cosines: np.ndarray, width: int) -> np.ndarray:
    """Return the density of the cosine of two random directions: of the power (C - 3) / 2."""
    total = math.sqrt(math.pi) * math.exp(math.lgamma((width - 1) / 2) - math.lgamma(width / 2))
    return (1 - cosines**2) ** ((width - 3) / 2) / total


def _spread(width: int) -> str:
    return f"{1 / math.sqrt(width):.2f}"


def real_positions() -> Picture:
    cosines = measured("learned", "real_positions")["cosine_by_distance"]
    picture, axes = chart(
        3.6,
        "Nearby rows are similar; with distance the cosine makes waves",
        alt="The mean cosine of two rows of MiniLM's position table against their distance, 1 to "
        f"{len(cosines)}: {cosines[0]:.2f} at distance 1, {cosines[2]:.2f} at 3, {cosines[5]:.2f} "
        f"at 6, {cosines[8]:.2f} at 9, {cosines[11]:.2f} at 12, then smaller waves down to "
        f"{cosines[-1]:.2f}.",
        x="distance of two positions",
        y="cosine, mean",
    )
    curve(axes, range(1, len(cosines) + 1), cosines, color=WHERE)
    for distance in (1, 6, 12):
        axes.plot([distance], [cosines[distance - 1]], "o", color=WHERE)
        write(axes, (distance + 1, cosines[distance - 1] + 0.03), str(distance), WHERE)
    axes.set(xlim=(0, len(cosines) + 1), ylim=(0, 1))
    return picture


def first_loss() -> Picture:
    found = measured("learned", "first_loss")
    sigmas, losses = found["sigma"], found["loss"]
    knows_nothing = math.log(50257)
    loss_at = dict(zip(sigmas, losses, strict=True))
    picture, axes = chart(
        3.7,
        "Drawn at 0.02 a table starts at a guess's loss, at 1 far above",
        alt="The loss to expect before training, for GPT-2's sizes and a separate output table, "
        f"against the standard deviation of the table's rows, from {sigmas[0]:g} to 1. Up to 0.02 "
        f"it is on the line ln 50,257 = {knows_nothing:.1f}; at 0.1 it is {loss_at[0.1]:.0f}, and "
        f"at 1, as nn.Embedding draws, about {loss_at[1]:.0f}.",
        x="standard deviation σ of the first rows",
        y="expected loss",
    )
    axes.axhline(knows_nothing, color=QUIET, linewidth=1.3, linestyle="--")
    curve(axes, sigmas, losses, color=ACCENT)
    for sigma, color in ((0.02, SECOND), (1, ACCENT)):
        axes.plot(sigma, loss_at[sigma], "o", markersize=9, color=color)
    note(axes, f"GPT-2: 0.02, loss {loss_at[0.02]:.0f}", (0.02, loss_at[0.02]), (0.02, 45), SECOND)
    words = f"nn.Embedding: 1, loss about {loss_at[1]:.0f}"
    note(axes, words, (1, loss_at[1]), (0.5, loss_at[1]), ACCENT, ha="right")
    write(axes, (0.0011, knows_nothing + 8), f"ln 50,257 = {knows_nothing:.1f}", QUIET)
    log_axis(axes.xaxis, [0.001, 0.01, 0.1, 1])
    axes.set(xlim=(0.001, 1.3), ylim=(0, 135))
    return picture
