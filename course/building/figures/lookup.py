"""Figures of lesson 1."""

import math
from collections.abc import Iterable

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course.building.figures.sources import reference
from course.plots import Picture
from course.plots.drawing import (
    ACCENT,
    QUIET,
    SECOND,
    TEXT,
    TINTS,
    Cells,
    arrow,
    cells,
    chart,
    diagram,
    note,
    write,
)

TABLE = torch.arange(1.0, 13.0).reshape(4, 3)
IDS = torch.tensor([2, 0, 2])
GRADIENTS = torch.tensor([[1.0, 2, 3], [4, 5, 6], [10, 20, 30]])
"""The numbers of the lesson's text."""

COLOR = {0: SECOND, 2: ACCENT}
"""Id -> its color, in every figure; the other rows rest."""

OF_IDS = [COLOR[row] for row in IDS.tolist()]
OF_ROWS = [COLOR.get(row) for row in range(len(TABLE))]


def ids_pick_rows() -> Picture:
    rows = reference("lookup").lookup(TABLE, IDS).tolist()
    picture, axes = diagram(
        2.2,
        "Each id is replaced by its row of the table",
        alt=f"The ids {_listed(IDS)} stand left of a table with rows 0 to 3. An arrow leads from "
        "each id to the row with its number, and from there to the result: row 2, row 0, row 2 "
        "again. Rows 1 and 3 are not read.",
    )
    ids = cells(axes, 0.5, 0.58, IDS[:, None].tolist(), colors=OF_IDS)
    table = cells(axes, 2.6, 0.4, TABLE.tolist(), colors=OF_ROWS)
    result = cells(axes, 5.3, 0.58, rows, colors=OF_IDS)
    for row, color in enumerate(OF_ROWS):
        _beside(axes, table, row, f"row {row}", color or QUIET)
    for n, row in enumerate(IDS.tolist()):
        x, y = table.left(row)
        arrow(axes, ids.right(n), (x - 0.7, y), COLOR[row])
        arrow(axes, table.right(row), result.left(n), COLOR[row])
    for block, name in ((ids, "ids (3,)"), (table, "table W (4, 3)"), (result, "result (3, 3)")):
        _above(axes, block, name)
    return picture


def one_hot_product() -> Picture:
    one_hot = torch.nn.functional.one_hot(IDS, len(TABLE)).tolist()
    rows = reference("lookup").one_hot_lookup(TABLE, IDS).tolist()
    picture, axes = diagram(
        2.0,
        "A one-hot row keeps one row of the table, and multiplies all others by zero",
        alt=f"One-hot rows of the ids {_listed(IDS)}, times the table with rows 0 to 3, gives rows "
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
    for block, name in (
        (left, "one-hot (3, 4)"),
        (table, "table W (4, 3)"),
        (result, "result (3, 3)"),
    ):
        _above(axes, block, name)
    return picture


def bytes_of_a_batch() -> Picture:
    vocab_size, batch_size, seq_len, n_embd = 50257, 32, 1024, 768  # GPT-2's
    n_tokens = batch_size * seq_len
    one_hot = reference("lookup").one_hot_bytes(vocab_size, batch_size, seq_len)
    ids, rows = 8 * n_tokens, 4 * n_embd * n_tokens
    picture, axes = diagram(
        2.75,
        f"One-hot takes {one_hot / ids:,.1f} times the memory of the ids, and says the same",
        alt="Three squares with areas to scale, for one batch of GPT-2, 32 texts of 1,024 tokens: "
        f"a large one for the one-hot tensor in float32, {_size(one_hot)}; a small one for the "
        f"rows that the lookup returns, {_size(rows)}; and hardly a dot for the ids in int64, "
        f"{_size(ids)}.",
    )
    ground, largest = 2.5, 2.3
    for x, n_bytes, color in ((0.35, one_hot, ACCENT), (3.1, rows, QUIET), (5.2, ids, SECOND)):
        side = largest * math.sqrt(n_bytes / one_hot)
        fill = TINTS[color] if color == ACCENT else color
        square = Rectangle((x, ground - side), side, side, facecolor=fill, edgecolor=color)
        square.set_linewidth(1 if color == ACCENT else 0)  # an edge would make a dot larger
        axes.add_patch(square)
    write(axes, (1.5, 1.2), "one-hot", ACCENT, align="center", bold=True)
    write(axes, (1.5, 1.5), _size(one_hot), ACCENT, align="center", bold=True)
    write(axes, (3.1, 1.7), "rows returned", QUIET)
    write(axes, (3.1, 2.0), _size(rows), QUIET)
    write(axes, (5.6, 1.7), "ids", SECOND)
    note(axes, _size(ids), (5.21, ground - 0.02), (5.6, 2.0), SECOND, ha="left")
    write(axes, (3.1, 0.4), "areas to scale, one batch", QUIET)
    write(axes, (3.1, 0.7), "of 32 × 1,024 tokens", QUIET)
    return picture


def gradients_add_up() -> Picture:
    gradient = reference("lookup").lookup_backward(GRADIENTS, IDS, len(TABLE)).tolist()
    received = "; ".join(map(_listed, GRADIENTS.tolist()))
    picture, axes = diagram(
        2.0,
        "Gradients go back to the row they came from, and add up there",
        alt=f"Left the gradients of the output rows 0, 1 and 2: {received}. Arrows lead from "
        "output rows 0 and 2 to row 2 of the table's gradient, where they add up to "
        f"{_listed(gradient[2])}, and from output row 1 to row 0. No arrow leads to rows 1 and 3: "
        "they are zero.",
    )
    incoming = cells(axes, 1.1, 0.58, GRADIENTS.tolist(), colors=OF_IDS)
    table = cells(axes, 4.4, 0.4, gradient, colors=OF_ROWS)
    for n, row in enumerate(IDS.tolist()):
        _beside(axes, incoming, n, f"output {n}", COLOR[row])
        x, y = table.left(row)
        arrow(axes, incoming.right(n), (x - 0.7, y), COLOR[row])
    for row, color in enumerate(OF_ROWS):
        _beside(axes, table, row, f"row {row}", color or QUIET)
        x, y = table.right(row)
        said = "added up" if row == 2 else "" if color else "all zero"
        write(axes, (x + 0.12, y), said, color or QUIET)
    _above(axes, incoming, "gradient of the output")
    _above(axes, table, "gradient of the table")
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


def _above(axes: Axes, block: Cells, name: str) -> None:
    x = (block.left(0)[0] + block.right(0)[0]) / 2
    write(axes, (x, 0.2), name, QUIET, align="center")


def _beside(axes: Axes, block: Cells, row: int, name: str, color: str) -> None:
    x, y = block.left(row)
    write(axes, (x - 0.1, y), name, color, align="right")


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{float(number):g}" for number in numbers)


def _size(n_bytes: int) -> str:
    """Return a number of bytes with the largest unit of 1,024 that leaves at least 1."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:.3g} {unit}"
    return f"{n_bytes} bytes"
