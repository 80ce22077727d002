"""Figures of lesson 8."""

import math

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Rectangle

from course.publishing.figures.charts import chart, curve
from course.publishing.figures.diagrams import (
    Cells,
    arrow,
    box,
    cells,
    diagram,
    name_column,
    name_row,
    outline,
)
from course.publishing.figures.measured import committed, measured, reference, unpacked
from course.publishing.figures.palette import (
    ACCENT,
    CARD,
    FAINT,
    INK,
    QUIET,
    SECOND,
    THIRD,
    TINTS,
    WRONG,
)
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, Point, note, write

WORDS = ["dog", "bites", "man"]

LOGITS = {"barks": 2.0, "bites": 1.0, "sleeps": 0.0, "flies": -1.0}
"""The scores of the text for the token after "the dog"."""

CHANCES = {"bites": 0.5, "man": 0.25, ".": 0.8}
"""What a model gave to each token that came next, in the text's example."""


def map() -> Picture:
    picture, axes = diagram(
        4.2,
        "You write every part of this; the numbers are lessons",
        alt="A language model from left to right. The token dog picks a row of the token table, "
        "which says what it is. The row runs through a block, which comes several times: "
        "attention, where positions come in and a mask hides what is later, then an MLP, each "
        "added to what came in. At the end the token table serves once more, to score the next "
        "token, bites. An arrow leads it back to the beginning, to be read next.",
    )
    stream, back = 2.95, 4.0
    outline(axes, (2.12, 0.28), (3.27, 3.12), THIRD, 1.4)
    table, again = (
        box(axes, x, stream - 0.35, "token\ntable", SECOND, (0.83, 0.7)) for x in (0.78, 5.5)
    )
    attention = box(axes, 2.26, 0.86, "", ACCENT, (2.15, 1.4))
    mlp = box(axes, 4.56, 1.3, "MLP", THIRD, (0.66, 0.96))
    for x, word in ((0.27, "dog"), (6.66, "bites")):
        write(axes, (x, stream), word, align="center", bold=True)
    sums = [(4.2, stream), (5.06, stream)]
    arrow(axes, (0.46, stream), table.left(0), SECOND)
    arrow(axes, table.right(0), (sums[0][0] - 0.14, stream))
    arrow(axes, (sums[0][0] + 0.14, stream), (sums[1][0] - 0.14, stream))
    arrow(axes, (sums[1][0] + 0.14, stream), again.left(0))
    for part, plus in zip((attention, mlp), sums, strict=True):
        x, bottom = part.left(0)[0] + 0.18, part.below(0)[1]
        arrow(axes, (x, stream + 0.04), (x, bottom))
        arrow(axes, (plus[0], bottom), (plus[0], stream - 0.14))
        axes.add_patch(Circle(plus, 0.14, facecolor=CARD, edgecolor=QUIET, zorder=3))
        axes.text(*plus, "+", ha="center", va="center", fontsize=TEXT + 2, zorder=4)
    write(axes, (3.33, 1.08), "attention", align="center", bold=True)
    write(axes, (0.72, 2.2), "what: row\n(1, 6)", SECOND, bold=True)
    write(axes, (5.5, 2.3), "used again (3)", SECOND)
    write(axes, (2.3, 0.55), "a block (8), one of several", THIRD)
    write(axes, (2.44, 1.5), "where (3, 4, 5, 7)", ACCENT, bold=True)
    write(axes, (2.44, 1.92), "causal mask (2)", INK)
    write(axes, (1.2, back - 0.27), "generate (8): what comes out is read next", THIRD)
    axes.plot([6.66, 6.66, 0.27, 0.27], [stream + 0.2, back, back, stream + 0.5], color=THIRD)
    arrow(axes, (0.27, back), (0.27, stream + 0.14), THIRD)
    return picture


def heads_read_differently() -> Picture:
    words = ["paris", "rang", "its", "bells", ".", "rome", "closed", "its"]
    weights = {head: _read_by(head, words) for head in (0, 3)}
    told = "; ".join(
        f"head {head}: " + ", ".join(f"{word} {w:.0%}" for word, w in zip(words, row, strict=True))
        for head, row in weights.items()
    )
    picture, axes = diagram(
        2.45,
        "Head 0 reads all words about equally, head 3 the verb",
        alt=f"How much the last word of {' '.join(words)} reads each word, as bars. {told}.",
    )
    for row, (head, shares) in enumerate(weights.items()):
        ground = 0.65 + 1.4 * row
        write(axes, (0.16, ground - 0.12), f"head {head}", bold=True)
        for column, (word, share) in enumerate(zip(words, shares, strict=True)):
            x, color = 1.25 + 0.75 * column, ACCENT if share == max(shares) else QUIET
            axes.add_patch(Rectangle((x - 0.16, ground), 0.32, -0.75 * share, facecolor=color))
            write(axes, (x, ground - 0.75 * share - 0.15), f"{share:.0%}", color, align="center")
            write(axes, (x, ground + 0.15), word, align="center")
    return picture


def heads_of_tokens() -> Picture:
    x = torch.tensor([[[10 * token + feature for feature in range(4)] for token in range(1, 4)]])
    right = reference("gpt").split_heads(x, 2)[0]
    wrong = x.view(1, 2, 3, 2)[0]
    colors = {1: SECOND, 2: ACCENT, 3: THIRD}
    picture, axes = diagram(
        3.4,
        "A head gets a part of every token; view alone mixes up tokens",
        alt="Three tokens of four features: 10 to 13, 20 to 23 and 30 to 33. Split and "
        "transposed, head 0 holds 10 11, 20 21, 30 31 and head 1 the rest, 12 13, 22 23, 32 33. "
        "With view alone head 0 holds 10 11, 12 13, 20 21, all of token 1 and a half of token 2.",
    )

    def draw(place: Point, rows: torch.Tensor) -> Cells:
        marks = [[colors[number // 10] for number in row] for row in rows.tolist()]
        return cells(axes, *place, rows.tolist(), colors=marks, size=(0.48, 0.36))

    whole = draw((0.9, 1.3), x[0])
    for row in range(3):
        name_row(axes, whole, row, f"token {row + 1}", colors[row + 1])
    write(axes, (whole.middle, 1.1), "x", QUIET, align="center")
    ways = ((right, 0.45, "split C, then swap T and H"), (wrong, 2.15, "view (B, H, T, D) alone"))
    for heads, y, name in ways:
        write(axes, (3.44, y - 0.27), name, bold=True)
        for head, left in enumerate((4.15, 5.92)):
            name_row(axes, draw((left, y), heads[head]), 1, f"head {head}")
        end = (3.36, y + 0.54)
        arrow(axes, whole.right(1), end, QUIET if y > 1 else INK)
    return picture


def mask_of_last_queries() -> Picture:
    length, new = 5, 2
    picture, axes = diagram(
        3.3,
        "Two new queries are the last two rows, not the first two",
        alt="Left a square of five queries by five keys, in which each query sees its own key and "
        "earlier ones; its last two rows are marked. Above right the same two rows, for queries 3 "
        "and 4: the first sees keys 0 to 3, the second all five. Below right the mask that begins "
        "in the left corner: query 3 sees key 0 only, and query 4 keys 0 and 1.",
    )
    whole = _mask(axes, (0.95, 0.75), 0, length, 0, new)
    last = _mask(axes, (4.65, 0.75), length - new, length, length - new, new)
    first = _mask(axes, (4.65, 2.3), length - new, length, 0, new, WRONG)
    for block, y, name in (
        (whole, 0.15, "read at once"),
        (last, 0.15, "read after a cache of 3"),
        (first, 2.02, "the wrong corner"),
    ):
        write(axes, (block.middle, y), name, align="center", bold=True)
    for block in (whole, last):
        write(axes, (block.x - 0.1, 0.55), "key", QUIET, align="right")
        for key in range(length):
            name_column(axes, block, key, str(key))
    write(axes, (0.16, 3.1), "filled: the query sees the key", QUIET)
    start, end = whole.right(3), last.left(0)
    arrow(axes, (start[0], start[1] + 0.21), (end[0] - 0.85, end[1] + 0.21), ACCENT)
    return picture


def sums_let_depth_learn() -> Picture:
    found = measured("gpt", "sums")
    losses, frequencies = found["losses"], found["frequencies"]
    added, replaced = losses["added"], losses["not added"]
    picture, axes = chart(
        3.5,
        "Without the two sums, eight blocks learn only word frequencies",
        alt=f"The loss over 300 steps on the toy kingdom's words, for eight blocks. With both sums "
        f"it falls from {added[0]:.1f} to {added[-1]:.1f}. Where each part replaces what came in "
        f"it stays at {replaced[-1]:.1f}, on a dashed line at {frequencies}: what guessing by "
        "frequency gives.",
        x="step",
        y="loss (nats per word)",
    )
    steps = range(5, 300, 10)
    axes.axhline(frequencies, color=QUIET, linestyle="--", linewidth=1.4)
    curve(axes, steps, replaced, color=SECOND)
    curve(axes, steps, added, color=ACCENT)
    write(axes, (298, 3.75), f"guessing by frequency: {frequencies}", QUIET, align="right")
    write(axes, (298, 4.72), "each part replaces its input", SECOND, align="right")
    write(axes, (150, 2.3), "each part is added to its input", ACCENT)
    axes.set(xlim=(0, 300), ylim=(0, 5.2), xticks=range(0, 301, 50))
    return picture


def targets_one_later() -> Picture:
    tokens = ["dog", *CHANCES]
    losses = [-math.log(chance) for chance in CHANCES.values()]
    mean = sum(losses) / len(losses)
    told = ", ".join(f"{chance:g} for {word}" for word, chance in CHANCES.items())
    picture, axes = diagram(
        2.7,
        "The logits at t are judged by the token at t + 1",
        alt=f"Four tokens: {', '.join(tokens)}. An arrow leads from the logits at each of the "
        "first three to the token after it. The probabilities that those tokens got are "
        f"{told}; minus their logarithms are {', '.join(f'{loss:.2f}' for loss in losses)}, "
        f"with the mean {mean:.2f}. The logits at the last token have no arrow.",
    )
    left, pitch = 1.75, 1.4
    for name, y in (("token", 0.33), ("logits at", 1.3), ("it gets", 1.92), ("−ln", 2.42)):
        write(axes, (0.15, y), name, QUIET)
    chances = [*CHANCES.values(), None]
    for place, (word, chance) in enumerate(zip(tokens, chances, strict=True)):
        x, color = left + place * pitch, ACCENT if chance else QUIET
        box(axes, x - 0.42, 0.1, word, SECOND if place else QUIET, (0.84, 0.46))
        box(axes, x - 0.42, 1.07, f"t = {place}", color, (0.84, 0.46))
        if chance is None:
            write(axes, (x, 1.92), "no token", QUIET, align="center")
            continue
        arrow(axes, (x + 0.1, 1.07), (x + pitch - 0.1, 0.56), ACCENT)
        write(axes, (x, 1.92), f"{chance:g}", ACCENT, align="center", bold=True)
        write(axes, (x, 2.42), f"{-math.log(chance):.2f}", align="center", bold=True)
    write(axes, (left + 3 * pitch, 2.42), f"mean {mean:.2f}", ACCENT, align="center", bold=True)
    return picture


def three_temperatures() -> Picture:
    logits = torch.tensor([*LOGITS.values()])
    ways = {f"{t:g}": (logits / t).softmax(-1).tolist() for t in (0.5, 1, 2)}
    kept = logits.masked_fill(logits < logits.topk(2).values[-1], -math.inf)
    ways["top_k=2"] = kept.softmax(-1).tolist()
    told = "; ".join(f"{n}: {', '.join(_share(p) for p in shares)}" for n, shares in ways.items())
    picture, axes = diagram(
        2.6,
        "Low temperatures favor the best, high ones level, top_k cuts",
        alt="The probabilities of barks, bites, sleeps and flies as bars, at temperatures 0.5, 1 "
        f"and 2, and at 1 with the two best only. {told}.",
    )
    write(axes, (1.23, 0.2), "temperature", QUIET, align="right")
    for x, (name, shares) in zip((1.38, 2.83, 4.28, 5.73), ways.items(), strict=True):
        color = SECOND if name.startswith("top") else ACCENT
        write(axes, (x, 0.2), name, color, bold=True)
        for row, share in enumerate(shares):
            y = 0.6 + 0.48 * row
            size = (max(0.85 * share, 0.012), 0.32)
            axes.add_patch(Rectangle((x, y), *size, facecolor=color, linewidth=0))
            write(axes, (x + size[0] + 0.07, y + 0.16), _share(share), color)
    for row, word in enumerate(LOGITS):
        write(axes, (1.23, 0.76 + 0.48 * row), word, QUIET, align="right")
    return picture


def tokens_read() -> Picture:
    longest = 256
    with_caches = [_read_by_generate(n) for n in (1, longest)]
    lengths = range(1, longest + 1)
    without = [n * (n + 1) // 2 for n in lengths]
    picture, axes = chart(
        3.6,
        f"{longest} new tokens: with caches {with_caches[1]} reads, without {without[-1]:,}",
        alt=f"Tokens that the model reads against tokens that it writes, from 1 to {longest}, "
        f"after a prompt of one. Reading the whole text again each time grows as a parabola to "
        f"{without[-1]:,}. With caches it is a line that hardly leaves the bottom, "
        f"{with_caches[1]} at the end.",
        x="tokens written, after a prompt of one",
        y="tokens read",
    )
    curve(axes, lengths, without, color=QUIET)
    curve(axes, (1, longest), with_caches, color=ACCENT)
    write(axes, (100, 17500), "the whole text,\nagain for each: T²/2", QUIET, align="center")
    note(axes, "with caches: T", (200, 200), (190, 6000), ACCENT)
    axes.set(xlim=(0, longest), ylim=(0, 35000), xticks=range(0, longest + 1, 64))
    axes.yaxis.set_major_formatter(lambda n, _: f"{n:,.0f}")
    return picture


# --- parts ----------------------------------------------------------------------------------


def _read_by(head: int, words: list[str]) -> list[float]:
    """Return how much the last word reads each word, in the small model that rotates."""
    numbers = committed()["gpt"]
    model = {name: unpacked(numbers["models"]["rope"][name]) for name in ("tokens", "qkv", "norms")}
    rows = model["tokens"][[numbers["words"].index(word) for word in words]]  # (T, C)
    rows = numbers["models"]["rope"]["loudness"] * rows
    norm = torch.nn.functional.rms_norm(rows, rows.shape[-1:], model["norms"][0])
    q, k = (norm @ part.T for part in model["qkv"].chunk(3)[:2])
    q, k = (x.view(len(words), numbers["heads"], -1)[:, head] for x in (q, k))  # (T, D)
    tables = reference("rope").rope_tables(*q.shape)
    q, k = (reference("rope").apply_rope(x, *tables) for x in (q, k))
    return torch.softmax(q[-1] @ k.T / math.sqrt(q.shape[-1]), dim=-1).tolist()


class _CountingModel(torch.nn.Module):
    """What `generate` takes for a model; it counts the tokens that it reads."""

    def __init__(self, max_seq_len: int) -> None:
        super().__init__()
        self.max_seq_len, self.blocks, self.n_read = max_seq_len, [], 0

    def forward(self, ids: torch.Tensor, caches: list[dict]) -> torch.Tensor:
        self.n_read += ids.shape[1]
        return torch.zeros(*ids.shape, 2)


def _read_by_generate(n_new: int) -> int:
    """Return how many tokens the reference reads to write so many after a prompt of one."""
    model = _CountingModel(n_new)
    reference("gpt").generate(model, torch.zeros(1, 1, dtype=torch.long), n_new, temperature=0)
    return model.n_read


def _mask(
    axes: Axes,
    place: Point,
    first: int,
    n_keys: int,
    diagonal: int,
    marked: int,
    color: str = ACCENT,
) -> Cells:
    """Draw which keys the queries from `first` on see; the last `marked` rows in color."""
    seen = torch.ones(n_keys - first, n_keys).tril(diagonal).bool().tolist()
    block = cells(axes, *place, [[None] * n_keys] * len(seen), size=(0.42, 0.42))
    for row, of_row in enumerate(seen):
        mine = row >= len(seen) - marked
        for column, sees in enumerate(of_row):
            fill = (TINTS[color] if mine else FAINT) if sees else CARD
            corner = (place[0] + 0.42 * column, place[1] + 0.42 * row)
            axes.add_patch(Rectangle(corner, 0.42, 0.42, facecolor=fill, edgecolor=QUIET))
        name_row(axes, block, row, f"query {first + row}", color if mine else QUIET)
    return block


def _share(share: float) -> str:
    """Return a probability in percent, or that it is 0."""
    percent = 100 * share
    return "never" if share == 0 else f"{percent:.0f}%" if percent >= 1 else f"{percent:.1f}%"
