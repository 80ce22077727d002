"""Figures of lesson 1."""

import math

import torch
from matplotlib.patches import Circle, Rectangle

from course.publishing.figures.charts import chart
from course.publishing.figures.diagrams import arrow, box, cells, diagram, name_row
from course.publishing.figures.measured import measured, reference
from course.publishing.figures.palette import ACCENT, QUIET, SECOND, THIRD, TINTS, WHAT
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, listed, note, percent, write

TABLE = torch.arange(1.0, 13.0).reshape(4, 3)
IDS = torch.tensor([2, 0, 2])
GRADIENTS = torch.tensor([[1.0, 2, 3], [4, 5, 6], [10, 20, 30]])
"""The numbers of the lesson's text."""

COLOR = {0: THIRD, 2: WHAT}
"""Id -> its color, in every figure; the other rows rest."""

OF_IDS = [COLOR[row] for row in IDS.tolist()]
OF_ROWS = [COLOR.get(row) for row in range(len(TABLE))]

SENTENCE = ["the", "cat", "saw", "the", "dog"]
WORDS = ["cat", "dog", "saw", "the"]
MEANINGS = torch.tensor(
    [[0.3, -1.2, 0.8, 0.1], [0.4, -0.9, -0.7, 0.2], [-1.1, 0.6, 0.5, -0.3], [0.9, 0.2, -0.4, 1.3]]
)
"""A vocabulary, each word's id its place, and a table for it."""

_MOON = [-0.6, 0.7, -0.2, 0.9]  # a row that no word of the sentence picks
EXAMPLE = {
    "lookup": {
        "names": [*WORDS, "moon"],
        "table": [*[[round(x, 1) for x in row] for row in MEANINGS.tolist()], _MOON],
        "ids": [WORDS.index(word) for word in SENTENCE],
    }
}
"""What the scene begins with."""


def words_become_rows() -> Picture:
    ids = torch.tensor([WORDS.index(word) for word in SENTENCE])
    rows = reference("lookup").lookup(MEANINGS, ids).tolist()
    picture, axes = diagram(
        3.1,
        "A word becomes an id, and the id becomes a row of numbers",
        alt=f"The sentence '{' '.join(SENTENCE)}' in three steps from top to bottom: its five "
        f"tokens, their ids {listed(ids)}, and below each id a column of four numbers, its row "
        "of the table. The two tokens 'the' have the same id and the same four numbers.",
    )
    for y, name in ((0.42, "tokens"), (1.17, "ids"), (2.22, "rows of\nthe table")):
        write(axes, (0.16, y), name, QUIET)
    for n, (word, row, numbers) in enumerate(zip(SENTENCE, ids.tolist(), rows, strict=True)):
        color = WHAT if word == "the" else QUIET
        x = 1.45 + 1.1 * n
        box(axes, x, 0.22, word, color, size=(0.9, 0.4))
        number = cells(axes, x + 0.2, 0.98, [[row]], size=(0.5, 0.36), colors=[color])
        shown = [[f"{entry:.1f}".replace("-", "−")] for entry in numbers]
        vector = cells(axes, x + 0.07, 1.68, shown, size=(0.76, 0.32), colors=[color] * len(shown))
        arrow(axes, (number.middle, 0.62), number.above(0), color)
        arrow(axes, number.below(0), vector.above(0), color)
    return picture


def ids_pick_rows() -> Picture:
    rows = reference("lookup").lookup(TABLE, IDS).tolist()
    picture, axes = diagram(
        2.05,
        "Each id is replaced by its row of the table",
        alt=f"The ids {listed(IDS)} are left of a table with rows 0 to 3. An arrow leads from "
        "each id to the row with its number, and from there to the result: row 2, row 0, row 2 "
        "again. Rows 1 and 3 are not read.",
    )
    ids = cells(axes, 0.5, 0.58, IDS[:, None].tolist(), colors=OF_IDS)
    table = cells(axes, 2.6, 0.4, TABLE.tolist(), colors=OF_ROWS)
    result = cells(axes, 5.3, 0.58, rows, colors=OF_IDS)
    for row, color in enumerate(OF_ROWS):
        name_row(axes, table, row, f"row {row}", color or QUIET)
    for n, row in enumerate(IDS.tolist()):
        x, y = table.left(row)
        arrow(axes, ids.right(n), (x - 0.7, y), COLOR[row])
        arrow(axes, table.right(row), result.left(n), COLOR[row])
    for block, name in ((ids, "ids (3,)"), (table, "table W (4, 3)"), (result, "result (3, 3)")):
        write(axes, (block.middle, 0.2), name, QUIET, align="center")
    return picture


def one_hot_product() -> Picture:
    one_hot = torch.nn.functional.one_hot(IDS, len(TABLE)).tolist()
    rows = reference("lookup").one_hot_lookup(TABLE, IDS).tolist()
    picture, axes = diagram(
        2.0,
        "A one-hot row keeps one row and multiplies the others by zero",
        alt=f"One-hot rows of the ids {listed(IDS)}, times the table with rows 0 to 3, gives rows "
        "2, 0 and 2 of the table. Each one-hot row has its single 1 in the column of its id.",
    )
    ones = [
        [color if entry else None for entry in row]
        for color, row in zip(OF_IDS, one_hot, strict=True)
    ]
    left = cells(axes, 0.35, 0.58, one_hot, colors=ones, size=(0.42, 0.36))
    table = cells(axes, 2.7, 0.4, TABLE.tolist(), colors=OF_ROWS)
    result = cells(axes, 5.15, 0.58, rows, colors=OF_IDS)
    for x, sign in ((2.37, "×"), (4.67, "=")):
        write(axes, (x, table.y + 0.72), sign, align="center", size=TEXT + 5)
    blocks = {"one-hot (3, 4)": left, "table W (4, 3)": table, "result (3, 3)": result}
    for name, block in blocks.items():
        write(axes, (block.middle, 0.2), name, QUIET, align="center")
    return picture


def bytes_of_a_batch() -> Picture:
    vocab_size, batch_size, seq_len, n_embd = 50257, 32, 1024, 768  # GPT-2's
    n_tokens = batch_size * seq_len
    one_hot = reference("lookup").one_hot_bytes(vocab_size, batch_size, seq_len)
    ids, rows = 8 * n_tokens, 4 * n_embd * n_tokens
    picture, axes = diagram(
        3.1,
        f"One-hot takes {round(one_hot / ids, -3):,.0f} times the memory of the ids",
        alt="Three squares with areas to scale, for one batch of GPT-2, 32 texts of 1,024 tokens: "
        f"a large one for the one-hot tensor in float32, {_size(one_hot)}; a small one for the "
        f"rows that the lookup returns, {_size(rows)}; and hardly a dot for the ids in int64, "
        f"{_size(ids)}.",
    )
    ground, largest = 2.9, 2.75
    for x, n_bytes, color in ((0.3, one_hot, ACCENT), (3.6, rows, QUIET), (5.6, ids, SECOND)):
        side = largest * math.sqrt(n_bytes / one_hot)
        fill = TINTS[color] if color == ACCENT else color
        square = Rectangle((x, ground - side), side, side, facecolor=fill, edgecolor=color)
        square.set_linewidth(1 if color == ACCENT else 0)  # an edge would make a dot larger
        axes.add_patch(square)
    dot = (5.6 + side / 2, ground - side / 2)
    axes.add_patch(Circle(dot, 0.13, facecolor="none", edgecolor=SECOND, linewidth=1.1))
    middle = 0.3 + largest / 2
    write(axes, (middle, 1.4), "one-hot", ACCENT, align="center", bold=True)
    write(axes, (middle, 1.7), _size(one_hot), ACCENT, align="center", bold=True)
    write(axes, (3.6, 2.0), "rows returned", QUIET)
    write(axes, (3.6, 2.3), _size(rows), QUIET)
    write(axes, (5.5, 2.0), "ids", SECOND, bold=True)
    write(axes, (5.5, 2.3), _size(ids), SECOND, bold=True)
    write(axes, (3.6, 0.4), "areas to scale, one batch", QUIET)
    write(axes, (3.6, 0.7), "of 32 × 1,024 tokens", QUIET)
    return picture


def tables_of_models() -> Picture:
    models = measured("lookup", "models")["models"]
    shares = {model["name"]: _in_tables(model) / model["parameters"] for model in models}
    first, *later = shares.values()
    seen = "; ".join(
        f"{model['name']}, {model['vocab_size']:,} × {model['n_embd']:,}, "
        f"{'one table' if model['tied'] else 'two tables'}, {percent(shares[model['name']])}"
        for model in models
    )
    picture, axes = diagram(
        3.85,
        f"Tables: {percent(first)} of GPT-2 small, {percent(min(later))} to "
        f"{percent(max(later))} of later models",
        alt=f"Five bars of equal length, each 100 % of one model's numbers, and how much of it are "
        f"tables of tokens. {seen}.",
    )
    left, whole = 3.0, 3.1
    write(axes, (left, 0.22), "each bar: 100 % of one model's numbers", QUIET)
    for n, model in enumerate(models):
        y = 0.5 + 0.66 * n
        share = shares[model["name"]]
        n_tables = 1 if model["tied"] else 2
        write(axes, (0.16, y + 0.1), model["name"], bold=True)
        tables = "1 table" if model["tied"] else "2 tables"
        sizes = f"{tables}, {model['vocab_size']:,} × {model['n_embd']:,}"
        write(axes, (0.16, y + 0.37), sizes, QUIET)
        rest = {"facecolor": TINTS[QUIET], "edgecolor": QUIET, "linewidth": 0.8}
        axes.add_patch(Rectangle((left, y), whole, 0.44, **rest))
        width = whole * share / n_tables
        table = {"facecolor": TINTS[ACCENT], "edgecolor": ACCENT, "linewidth": 1.4}
        for part in range(n_tables):
            axes.add_patch(Rectangle((left + part * width, y), width, 0.44, **table))
        write(axes, (left + whole + 0.12, y + 0.22), percent(share), ACCENT, bold=True)
        words = (left + whole * share + 0.12, y + 0.22)
        write(axes, words, f"of {_short(model['parameters'])}", QUIET)
    return picture


def gradients_add_up() -> Picture:
    gradient = reference("lookup").lookup_backward(GRADIENTS, IDS, len(TABLE)).tolist()
    received = "; ".join(map(listed, GRADIENTS.tolist()))
    picture, axes = diagram(
        2.0,
        "Gradients go back to the row they came from, and add up there",
        alt=f"Left the gradients of the output rows 0, 1 and 2: {received}. Arrows lead from "
        "output rows 0 and 2 to row 2 of the table's gradient, where they add up to "
        f"{listed(gradient[2])}, and from output row 1 to row 0. No arrow leads to rows 1 and 3: "
        "they are zero.",
    )
    incoming = cells(axes, 1.1, 0.58, GRADIENTS.tolist(), colors=OF_IDS)
    table = cells(axes, 4.4, 0.4, gradient, colors=OF_ROWS)
    for n, row in enumerate(IDS.tolist()):
        name_row(axes, incoming, n, f"output {n}", COLOR[row])
        x, y = table.left(row)
        arrow(axes, incoming.right(n), (x - 0.7, y), COLOR[row])
    for row, color in enumerate(OF_ROWS):
        name_row(axes, table, row, f"row {row}", color or QUIET)
        x, y = table.right(row)
        said = "added up" if row == 2 else "" if color else "all zero"
        write(axes, (x + 0.12, y), said, color or QUIET)
    for block, of in ((incoming, "output"), (table, "table")):
        write(axes, (block.middle, 0.2), f"gradient of the {of}", QUIET, align="center")
    return picture


def adam_moves_resting_rows() -> Picture:
    paths = {name: _two_steps(getattr(torch.optim, name)) for name in ("SGD", "Adam")}
    ends = {name: path[-1][0] for name, path in paths.items()}
    picture, grid = chart(
        3.7,
        "Step 2 looks up row 1 alone, and Adam moves row 0 again",
        alt="Two charts of a table of three rows over two steps. Step 1 looks up row 0, step 2 "
        f"row 1. With SGD row 0 stays at {ends['SGD']:.2f} in step 2; with Adam it goes on to "
        f"{ends['Adam']:.2f}. Row 2 is never looked up and stays at 1 in both.",
        x="steps done",
        columns=2,
        sharey=True,
    )
    for axes, (name, path) in zip(grid[0], paths.items(), strict=True):
        axes.set_title(name, loc="left", fontsize=TEXT)
        for row, color in ((2, QUIET), (1, SECOND), (0, ACCENT)):
            values = [table[row] for table in path]
            axes.plot(range(3), values, color=color, marker="osD"[row], linewidth=2.2)
            aside = {0: -0.008, 1: 0.008}.get(row, 0)  # for with SGD two of them end at one place
            write(axes, (2.1, values[-1] + aside), f"row {row}", color)
        axes.set(xticks=range(3), xlim=(-0.1, 2.85), ylim=(0.815, 1.01))
        axes.set_yticks([0.85, 0.9, 0.95, 1.0])
    grid[0, 0].set_ylabel("entry of the row")
    grid[0, 1].set_ylabel("")
    note(grid[0, 1], "not looked up", (1.5, 0.868), (0.65, 0.838), ACCENT)
    return picture


def _in_tables(model: dict) -> int:
    """Return how many of a model's parameters are in its tables of tokens."""
    return model["vocab_size"] * model["n_embd"] * (1 if model["tied"] else 2)


def _short(number: int) -> str:
    """Return a large number with three digits and a word."""
    for word, factor in (("billion", 10**9), ("million", 10**6)):
        if number >= factor:
            return f"{number / factor:.3g} {word}"
    return f"{number:,}"


def _two_steps(optimizer: type[torch.optim.Optimizer]) -> list[list[float]]:
    """Return a table of three rows before training, after row 0 was looked up, and after row 1."""
    table = torch.nn.Parameter(torch.ones(3, 1))
    steps, tables = optimizer([table], lr=0.1), [table.flatten().tolist()]
    for row in (0, 1):
        steps.zero_grad()
        reference("lookup").lookup(table, torch.tensor([row])).sum().backward()
        steps.step()
        tables.append(table.flatten().tolist())
    return tables


def _size(n_bytes: int) -> str:
    """Return a number of bytes with the largest unit of 1,024 that leaves at least 1."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes} bytes"


def real_neighbors() -> Picture:
    found = measured("lookup", "real_table")
    n_rows, n_features = found["rows"]
    shown = {
        word.replace(" ", "\u2423"): [
            [near.replace(" ", "\u2423"), cosine] for near, cosine in row[:5]
        ]
        for word, row in found["neighbors"].items()
    }
    listing = "; ".join(
        f"{word}: " + ", ".join(f"{near} {cosine:.2f}" for near, cosine in row)
        for word, row in shown.items()
    )
    picture, axes = diagram(
        2.75,
        "In a trained table, tokens with similar uses are neighbors",
        alt=f"Three rows of SmolLM2's table of {n_rows:,} × {n_features}, and for each the five "
        f"rows with the highest cosine. \u2423 is a space. {listing}.",
    )
    for number, (word, row) in enumerate(shown.items()):
        y = 0.15 + 0.88 * number
        block = cells(axes, 0.2, y, [[word]], colors=[WHAT], size=(0.9, 0.4))
        arrow(axes, block.right(0), (1.42, block.right(0)[1]))
        near = cells(axes, 1.5, y, [[near for near, _ in row]], size=(1.06, 0.4))
        for column, (_, cosine) in enumerate(row):
            x, below = near.below(column)
            write(axes, (x, below + 0.17), f"{cosine:.2f}", QUIET, align="center")
    return picture
