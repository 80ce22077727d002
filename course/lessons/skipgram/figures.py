"""Figures of lesson 6."""

import math

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from course.lessons.skipgram.names import name_points
from course.publishing.figures.charts import chart, curve, log_axis, spread_out
from course.publishing.figures.diagrams import arrow, cells, diagram, name_column, name_row
from course.publishing.figures.measured import committed, measured, reference, unpacked
from course.publishing.figures.palette import (
    ACCENT,
    CARD,
    INK,
    PURPLE,
    QUIET,
    SECOND,
    THIRD,
    TINTS,
    WRONG,
)
from course.publishing.figures.picture import Picture
from course.publishing.figures.shapes import Array
from course.publishing.figures.words import TEXT, note, signed, write

WORDS = ["the", "king", "rules", "the", "queen", "rules"]
VOCABULARY = ["the", "king", "rules", "queen"]
IDS = torch.tensor([VOCABULARY.index(word) for word in WORDS])
COUNTS = torch.tensor([90, 9, 1])
N_NEGATIVES = 5
"""The numbers of the lesson's text."""


def kingdom_step() -> Picture:
    trained = committed()["skipgram"]
    words, rows = trained["words"][:8], unpacked(trained["rows"])[:8]
    rows = rows - rows.mean(dim=0)
    flat = rows @ torch.linalg.svd(rows).Vh[:2].T  # (8, 2)
    flat = flat * flat[words.index("king")].sign()  # a direction's sign is free
    at = dict(zip(words, flat.tolist(), strict=True))
    picture, axes = diagram(
        3.4,
        "The step from man to king, taken from woman, ends near queen",
        alt="Eight words of the toy kingdom on a map. An arrow leads from man to king. The same "
        "arrow from woman ends near queen. Two more lead from boy to prince and, the same one, "
        "from girl to a point near princess.",
    )
    low, high = flat.amin(dim=0), flat.amax(dim=0)
    scale = torch.tensor([5.3, 2.5]) / (high - low)
    corner = torch.tensor([0.5, 0.5])
    place = {word: (torch.tensor(xy) - low) * scale + corner for word, xy in at.items()}
    for word, (x, y) in place.items():
        axes.plot(x, y, "o", color=QUIET)
        write(axes, (x, y - 0.2), word, align="center")
    for start, end, other, color in (
        ("man", "king", "woman", ACCENT),
        ("boy", "prince", "girl", SECOND),
    ):
        step = place[end] - place[start]
        arrow(axes, place[start].tolist(), place[end].tolist())
        arrow(axes, place[other].tolist(), (place[other] + step).tolist(), color)
    return picture


def pairs_in_a_window() -> Picture:
    centers, contexts = reference("skipgram").skipgram_pairs(IDS, window=1)
    company = torch.zeros(4, 4, dtype=torch.int64)
    company.index_put_((centers, contexts), torch.tensor(1), accumulate=True)
    colors = {"king": ACCENT, "queen": SECOND}
    picture, axes = diagram(
        3.5,
        "King and queen never meet, yet they keep the same company",
        alt=f"Above, the text {' '.join(WORDS)}, in which curved arrows lead from king and from "
        "queen to the words next to them: the and rules, for both. Below, a table counts how often "
        f"each word meets each other one. The rows of king and queen are equal: "
        f"{company[1].tolist()}.",
    )
    text = cells(axes, 0.5, 0.62, [WORDS], size=(1.0, 0.4), colors=[list(map(colors.get, WORDS))])
    for place, word in enumerate(WORDS):
        if word in colors:
            x, y = text.above(place)
            for side in (-1, 1):
                start, end = (x + 0.12 * side, y), (text.above(place + side)[0], y)
                arrow(axes, start, end, colors[word], bend=-0.45 * side)
    marks = [colors.get(word) for word in VOCABULARY]
    table = cells(axes, 1.9, 1.83, company.tolist(), size=(0.75, 0.36), colors=marks)
    for row, word in enumerate(VOCABULARY):
        name_row(axes, table, row, word, colors.get(word, QUIET))
        name_column(axes, table, row, word)
    write(axes, (0.2, 1.63), "center", QUIET)
    write(axes, (5.02, 1.63), "context", QUIET)
    equal = (table.right(1)[1] + table.right(3)[1]) / 2
    write(axes, (5.15, equal), "equal rows")
    for row in (1, 3):
        arrow(axes, (5.12, equal), table.right(row))
    return picture


def terms_of_the_loss() -> Picture:
    loss = reference("skipgram").negative_sampling_loss
    scores = torch.linspace(-4, 4, 81)
    zero, impossible = torch.tensor([0.0]), torch.full((1, 1), -1000.0)
    true = [loss(score[None], impossible).item() for score in scores]
    drawn = [loss(-1000 * impossible[0], score.reshape(1, 1)).item() for score in scores]
    start = loss(zero, torch.zeros(1, N_NEGATIVES)).item()
    picture, axes = chart(
        3.6,
        f"All scores 0: one true pair and five drawn cost 6 ln 2 = {start:.4f}",
        alt="Two curves of what a pair adds to the loss, against its score from -4 to 4. That of a "
        "true pair falls to zero as its score rises; that of a drawn pair rises from zero. They "
        f"cross at score 0, where each costs ln 2 = {math.log(2):.4f} nats. Training moves a "
        "true pair to the right, a drawn one to the left.",
        x="score of the pair (a dot product)",
        y="cost (nats)",
    )
    curve(axes, scores, true, "a true pair", SECOND, at=8, offset=(10, 4))
    curve(axes, scores, drawn, "a drawn pair", ACCENT, at=72, offset=(-10, 4))
    note(axes, "all scores start here,\nln 2 each", (0, math.log(2)), (0, 2.6))
    axes.plot([0], [math.log(2)], "o", color=QUIET)
    for side, word, color in ((1, "true: up", SECOND), (-1, "drawn: down", ACCENT)):
        arrow(axes, (0.5 * side, -0.75), (1.9 * side, -0.75), color)
        write(axes, (2.1 * side, -0.75), word, color, align="left" if side > 0 else "right")
    axes.set(ylim=(-1.2, 4.2), xlim=(-4.1, 4.1), yticks=range(5))
    return picture


def counts_to_the_power() -> Picture:
    noise = reference("skipgram").noise_distribution
    powers = torch.linspace(0, 1, 21)
    shares = torch.stack([noise(COUNTS, power.item()) for power in powers]).tolist()
    chosen, plain = noise(COUNTS).tolist(), noise(COUNTS, 1.0).tolist()
    gain = chosen[2] / plain[2]
    picture, axes = chart(
        3.7,
        f"With power 0.75, the rare word is drawn {gain:.1f} times as often",
        alt="The probabilities of three words that occur 90, 9 and 1 times, on a log scale, "
        "against the power. At power 0 all are a third; at power 1 they are 0.9, 0.09 and 0.01. A "
        f"line at 0.75 marks {chosen[0]:.4f}, {chosen[1]:.4f} and {chosen[2]:.4f}.",
        x="power",
        y="probability of being drawn",
    )
    words = (("90 times", SECOND), ("9 times", THIRD), ("once", ACCENT))
    for word, (times, color) in enumerate(words):
        curve(axes, powers, [row[word] for row in shares], f"seen {times}", color)
        axes.plot(0.75, chosen[word], "o", color=color)
        place = {"xytext": (8, 9), "textcoords": "offset points", "fontsize": TEXT}
        axes.annotate(f"{chosen[word]:.4f}", (0.75, chosen[word]), color=color, **place)
    axes.axvline(0.75, color=QUIET, linewidth=1, linestyle=":")
    log_axis(axes.yaxis, [0.01, 0.1, 1 / 3, 1], ["0.01", "0.1", "1/3", "1"])
    axes.set(xlim=(0, 1.32), ylim=(0.007, 2), xticks=[0, 0.25, 0.5, 0.75, 1])
    return picture


def where_a_score_rests() -> Picture:
    n_true, n_drawn = 12, 15
    scores = torch.linspace(-3, 3, 121)
    logs = torch.nn.functional.logsigmoid
    cost = -n_true * logs(scores) - n_drawn * logs(-scores)
    rest = math.log(n_true / n_drawn)
    lowest = (-n_true * logs(torch.tensor(rest)) - n_drawn * logs(torch.tensor(-rest))).item()
    picture, axes = chart(
        3.4,
        f"Pulled up 12 times and down 15, a score rests at {signed(rest, '.4f')}",
        alt="The part of the loss that holds the score of one pair, which is true 12 times and "
        f"drawn 15 times. It is a valley with its lowest point at {rest:.4f}.",
        x="score of word and context",
        y="loss (nats)",
    )
    curve(axes, scores, cost, color=SECOND)
    axes.plot(rest, lowest, "o", color=ACCENT, markersize=8)
    said = "12 true pairs pull up as hard\nas 15 drawn ones push down"
    note(axes, said, (rest, lowest + 0.4), (rest, 30), ACCENT)
    axes.set(ylim=(16, 50))
    return picture


def scores_and_pmi() -> Picture:
    found = measured("skipgram", "scores_and_pmi")
    at_least = found["at_least"]
    colors = {"kingdom, 171": SECOND, "Shakespeare, 64": ACCENT, "Shakespeare, 16": QUIET}
    told = "; ".join(
        f"{name} numbers per word: from {found[name][0]:.2f} to {found[name][-1]:.2f}"
        for name in reversed(colors)
    )
    picture, axes = chart(
        4.0,
        "For words that meet often, the score is close to PMI − log K",
        alt="How far scores are from PMI - log K, in nats, against how often the pair meets, from "
        f"less than once to 100 times and more. {told}.",
        x="how often the pair meets, at least",
        y="distance (nats)",
    )
    places, highest = range(len(at_least)), 2.5
    heights = spread_out([found[name][-1] / highest for name in colors], 0.085)
    for (name, color), height in zip(colors.items(), heights, strict=True):
        curve(axes, places, found[name], color=color, linewidth=2.4, marker="o", markersize=5)
        write(axes, (places[-1] + 0.25, height * highest), name, color)
    words = (places[-1] + 0.25, heights[-1] * highest + 0.42)
    write(axes, words, "text, and numbers\nper word", QUIET)
    axes.set_xticks(places, [f"{count:g}" for count in at_least])
    axes.set(xlim=(-0.25, places[-1] + 2.9), ylim=(0, highest), yticks=[0, 1, 2])
    axes.spines["bottom"].set_bounds(-0.25, places[-1])
    return picture


def king_man_woman() -> Picture:
    found = measured("skipgram", "king_man_woman")
    products = np.array(found["dot_products"])
    man, king, woman, queen = range(4)
    across = math.sqrt(2 - 2 * products[man, woman])  # the distance of two unit rows
    corner_squared = 3 + 2 * (products[king, woman] - products[king, man] - products[man, woman])
    with_queen = products[king, queen] - products[man, queen] + products[woman, queen]
    to_queen = math.sqrt(corner_squared + 1 - 2 * with_queen)
    picture, grid = chart(
        3.9,
        "Nearest to king − man + woman is king; a rule makes queen win",
        alt="Left, man, woman, king and queen in the plane of the first three. The fourth corner "
        f"of their parallelogram, king - man + woman, is {across:.2f} from king. Queen looks "
        f"nearer on paper, but is {to_queen:.2f} away, most of it out of the page. Right, the "
        "cosine of the fourth corner with the nearest words: "
        + ", ".join(f"{word} {cosine:.4f}" for word, cosine in found["nearest"].items())
        + ". King is an input, so the rule leaves it out.",
        columns=2,
        width_ratios=[1.15, 1],
    )

    def along(word: int, other: int) -> float:
        """Return (word - man) · (other - man), from the dot products."""
        return products[word, other] - products[word, man] - products[man, other] + 1

    def place(word: int) -> tuple[float, float]:
        x = along(word, woman) / across
        up_x = along(king, woman) / across
        up_y = math.sqrt(along(king, king) - up_x**2)
        return x, (along(word, king) - x * up_x) / up_y

    at = {name: place(word) for name, word in zip(found["words"], range(4), strict=True)}
    corner = (at["king"][0] + across, at["king"][1])
    axes = grid[0, 0]
    axes.set_title("distances in 50 numbers", loc="left", fontsize=TEXT)
    for start, end in ((at["man"], at["woman"]), (at["man"], at["king"])):
        arrow(axes, start, end)
    for start, end in ((at["king"], corner), (at["woman"], corner)):
        axes.plot(*zip(start, end, strict=True), color=QUIET, linestyle="--", linewidth=1.2)
    for name, (x, y) in at.items():
        color = {"king": ACCENT, "queen": SECOND}.get(name, QUIET)
        axes.plot(x, y, "o", color=color)
        if name in ("king", "queen"):
            write(axes, (x - 0.06, y), name, color, align="right")
        else:
            write(axes, (x, y - 0.1), name, color, align="center")
    axes.plot(*corner, "D", color=INK, markersize=7)
    write(axes, (corner[0] + 0.06, corner[1] + 0.06), "king − man + woman")
    halfway = (at["king"][0] + corner[0]) / 2
    write(axes, (halfway, corner[1] + 0.1), f"{across:.2f}", ACCENT, align="center")
    axes.plot(*zip(at["queen"], corner, strict=True), color=SECOND, linestyle=":")
    x, y = corner[0] + 0.06, (corner[1] + at["queen"][1]) / 2
    write(axes, (x, y), f"{to_queen:.2f}, most of it", SECOND)
    write(axes, (x, y - 0.13), "out of the page", SECOND)
    axes.set(xticks=[], yticks=[], xlim=(-0.25, 1.15), ylim=(-0.2, 1.15), aspect="equal")
    axes.spines[:].set_visible(False)
    _bars(grid[0, 1], found["nearest"])
    return picture


def _bars(axes: Axes, nearest: dict[str, float]) -> None:
    axes.set_title("cosine with that corner", loc="left", fontsize=TEXT)
    for row, (word, cosine) in enumerate(nearest.items()):
        color = {"king": ACCENT, "queen": SECOND}.get(word, QUIET)
        axes.barh(row, cosine, color=color, height=0.62)
        write(axes, (-0.03, row), word, color, align="right")
        write(axes, (cosine + 0.02, row), f"{cosine:.4f}", color)
    write(axes, (0.03, 0), "left out", CARD)
    write(axes, (0.03, 1), "the answer", CARD)
    axes.set(xlim=(-0.42, 1.22), ylim=(len(nearest) - 0.4, -0.6), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def glove_map() -> Picture:
    return _map(
        "glove_map",
        "Nobody told GloVe what a day is: company alone sorts words",
        {"days": SECOND, "countries": THIRD, "royals": ACCENT, "animals": QUIET},
    )


def shakespeare_map() -> Picture:
    colors = {"Romeo and Juliet": ACCENT, "kings and queens": SECOND}
    return _map(
        "shakespeare_map",
        "Company sorts Shakespeare's words, but kin and body overlap",
        colors | {"kin": QUIET, "thou": THIRD, "body": PURPLE},
    )


def _map(name: str, finding: str, colors: dict[str, str]) -> Picture:
    """Draw measured places of words; `colors` has one for each kind."""
    found = measured("skipgram", name)
    places = found["places"]
    picture, axes = chart(
        4.9,
        finding,
        alt="A map of words: "
        + "; ".join(f"{kind}: {', '.join(words)}" for kind, words in places.items())
        + f". Most groups are apart. The two axes hold {found['share_of_variance']:.0%} of the "
        "variance.",
    )
    words = {word: kind for kind, of_kind in places.items() for word in of_kind}
    points = np.array([places[kind][word] for word, kind in words.items()])
    across, up = 6.6, 4.0  # inches that are left for the points: one scale for both axes
    low, high = points.min(0), points.max(0)
    half = max((high - low) / (across, up)) * 1.22 / 2 * np.array([across, up])
    middle = (low + high) / 2
    axes.set(xticks=[], yticks=[])
    (left, bottom), (right, top) = middle - half, middle + half
    axes.set(xlim=(left, right), ylim=(bottom, top))
    axes.spines[:].set_visible(False)
    inch = 2 * half[0] / across
    titles = []
    for kind, of_kind in places.items():
        group = np.array(list(of_kind.values()))
        from_middle = group - group.mean(0)
        corners = group[np.arctan2(*from_middle.T).argsort()]
        around = {"facecolor": TINTS[colors[kind]], "edgecolor": TINTS[colors[kind]]}
        axes.add_patch(Polygon(corners, linewidth=30, joinstyle="round", alpha=0.6, **around))
        axes.plot(*group.T, "o", color=colors[kind], markersize=6)
        x, wide = group[:, 0].mean(), 0.06 * len(kind) * inch
        above, below = group[:, 1].max() + 0.34 * inch, group[:, 1].min() - 0.34 * inch
        y = min((above, below), key=lambda y: _near_others(points, (x, y), (2 * wide, 0.4 * inch)))
        write(axes, (x, y), kind, colors[kind], align="center", bold=True)
        beyond = math.copysign(0.2 * inch, y - group[:, 1].mean())  # no word there, and no line
        titles += [
            (x + wide * share, y + row * beyond)
            for share in np.linspace(-1, 1, 9)
            for row in range(3)
        ]
    of_words = [colors[kind] for kind in words.values()]
    name_points(
        axes,
        points,
        list(words),
        np.array(titles),
        size=TEXT,
        colors=of_words,
        page=np.array([across, up]),
    )
    return picture


def _near_others(points: Array, middle: tuple[float, float], size: tuple[float, float]) -> int:
    """Return how many points are in a rectangle."""
    return int((np.abs(points - middle) < size).all(axis=1).sum())


def two_tables() -> Picture:
    answers = measured("skipgram", "two_tables")["answers"]
    tables = ("SmolLM2", "GloVe")
    rows = [("{} : {} = {} :".format(*one["asked"]), one["right"]) for one in answers]
    firsts = [[one[table][0][0] for table in tables] for one in answers]
    spoken = [[first.replace(" ", "\u2423") for first in row] for row in firsts]
    is_right = [
        [first.strip().lower() == right.lower() for first in row]
        for row, (_, right) in zip(firsts, rows, strict=True)
    ]
    n_right = [sum(column) for column in zip(*is_right, strict=True)]
    listing = "; ".join(
        f"{question} {right}, {one}, {other}"
        for (question, right), (one, other) in zip(rows, spoken, strict=True)
    )
    picture, axes = diagram(
        3.75,
        f"Of {len(rows)} questions, SmolLM2's table answers {n_right[0]} and GloVe {n_right[1]}",
        alt="A table of questions, the right answer, and the first answers of SmolLM2's token "
        f"table and of GloVe. {listing}.",
    )
    for x, name in ((2.95, "right"), (4.2, tables[0]), (5.45, tables[1])):
        write(axes, (x + 0.6, 0.15), name, QUIET, align="center", bold=True)
    for number, ((question, right), said, good) in enumerate(
        zip(rows, spoken, is_right, strict=True)
    ):
        y = 0.36 + 0.41 * number
        write(axes, (2.85, y + 0.17), question, align="right")
        cells(axes, 2.95, y, [[right]], size=(1.2, 0.35))
        for x, word, is_good in zip((4.2, 5.45), said, good, strict=True):
            color = THIRD if is_good else WRONG
            cells(axes, x, y, [[word]], colors=[color], size=(1.2, 0.35))
    return picture
