"""Figures of lesson 2."""

import itertools
from collections.abc import Iterable, Sequence

import torch
from matplotlib.patches import Rectangle
from torch import Tensor

from course.publishing.figures.charts import chart, curve
from course.publishing.figures.diagrams import (
    Cells,
    arrow,
    box,
    cells,
    diagram,
    name_column,
    name_row,
)
from course.publishing.figures.measured import reference
from course.publishing.figures.palette import (
    ACCENT,
    KEY,
    QUERY,
    QUIET,
    THIRD,
    TINTS,
    VALUE,
    WHAT,
    WHERE,
)
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, listed, listing, percent, signed, write

VECTORS = {"dog": (1.0, 1, 0, 0), "bites": (1.0, 0, 1, 0), "man": (1.0, -1, 1, 1)}
"""The numbers of the lesson's text."""

COLOR = {"dog": WHAT, "man": THIRD}
"""Word -> its color, in every figure; "bites" rests."""

MEANINGS = {"dog": (1.0, 0, 1, 0), "bites": (0.0, 1, 0, 0), "man": (1.0, 0, 0, 1)}
"""Features of step 5: noun, verb, animal, human."""

DOG_BITES_MAN = ("dog", "bites", "man")
MAN_BITES_DOG = ("man", "bites", "dog")
PERM = [2, 0, 1]

EXAMPLE = {"words": VECTORS}
"""What the scene begins with."""


def in_order_or_at_once() -> Picture:
    picture, axes = diagram(
        3.2,
        "A recurrent network reads in order; attention reads all at once",
        alt="Left a recurrent network: dog, bites and man go into three boxes, step 1, step 2 and "
        "step 3, and an arrow leads from each box to the next. Right attention: dog, bites and man "
        "are joined with one box, in a single step, and no arrow says which word came first.",
    )
    size = (0.86, 0.5)
    write(axes, (1.72, 0.2), "recurrent network", align="center", bold=True)
    write(axes, (5.3, 0.2), "attention", align="center", bold=True)
    states = [box(axes, 0.25 + 1.04 * t, 1.0, f"step {t + 1}", size=size) for t in range(3)]
    layer = box(axes, 3.95, 1.0, "1 step", size=(2.7, size[1]))
    for t, word in enumerate(DOG_BITES_MAN):
        color = COLOR.get(word, QUIET)
        for x, bottom in ((states[t].below(0)[0], 1.5), (layer.middle + (t - 1) * 0.92, 1.5)):
            write(axes, (x, 2.15), word, color, align="center", bold=color != QUIET)
            arrow(axes, (x, 2.0), (x, bottom), color)
    for before, after in itertools.pairwise(states):
        arrow(axes, before.right(0), after.left(0), ACCENT)
    write(axes, (1.72, 0.72), "each waits for the one before", ACCENT, align="center")
    write(axes, (5.3, 0.72), "all together", ACCENT, align="center")
    write(axes, (1.72, 2.65), "knows the order", align="center")
    write(axes, (1.72, 2.95), "1,000 words: 1,000 steps", QUIET, align="center")
    write(axes, (5.3, 2.65), "must be told the order", align="center")
    write(axes, (5.3, 2.95), "1,000 words: 1 step", QUIET, align="center")
    return picture


def dog_averages_all() -> Picture:
    scores = (_tokens(DOG_BITES_MAN) @ _tokens(DOG_BITES_MAN).T / 2)[0].tolist()
    weights = _weights(DOG_BITES_MAN)[0].tolist()
    new = _attended(DOG_BITES_MAN)[0].tolist()
    parts = " + ".join(
        f"{weight:.2f} {word}" for weight, word in zip(weights, VECTORS, strict=True)
    )
    picture, axes = diagram(
        2.6,
        "Dog's new vector is an average of all words, half of it dog",
        alt="The vectors of dog, bites and man below each other. Next to each are its score with "
        f"dog, {listed(scores)}, and its weight as a bar, {listed(weights, '.2f')}. Below is "
        f"the average by these weights, the new vector of dog: {listed(new, '.2f')}.",
    )
    rows, colors = [_entries(VECTORS[word], "g") for word in VECTORS], list(map(COLOR.get, VECTORS))
    block = cells(axes, 1.05, 0.5, rows, colors=colors, size=(0.58, 0.36))
    for row, (word, score, weight) in enumerate(zip(VECTORS, scores, weights, strict=True)):
        x, y = block.right(row)
        color = COLOR.get(word, QUIET)
        name_row(axes, block, row, word, color)
        write(axes, (x + 0.75, y), f"{score:g}", align="center")
        bar = Rectangle((4.85, y - 0.13), 2.6 * weight, 0.26, facecolor=color, linewidth=0)
        axes.add_patch(bar)
        write(axes, (4.93 + 2.6 * weight, y), f"{weight:.2f}", color, bold=True)
    for x, name in ((2.21, "vectors"), (4.12, "score of dog"), (5.4, "weight")):
        write(axes, (x, 0.24), name, QUIET, align="center")
    result = cells(axes, 1.05, 2.08, [_entries(new)], colors=[WHAT], size=(0.58, 0.36))
    name_row(axes, result, 0, "new dog", WHAT)
    for column in range(4):
        arrow(axes, block.below(column), result.above(column))
    write(axes, (3.5, result.left(0)[1]), f"= {parts}")
    return picture


def winner_takes_most() -> Picture:
    draw = torch.Generator().manual_seed(0)
    query, keys = (torch.randn(4000, n, 64, generator=draw) for n in (1, 16))
    raw = (query * keys).sum(dim=-1)  # 4,000 queries, 16 scores each
    ranked = {
        name: scores.softmax(dim=-1).sort(descending=True).values.mean(dim=0).tolist()
        for name, scores in (("scores as they are", raw), ("scores divided by √64 = 8", raw / 8))
    }
    before, after = (weights[0] for weights in ranked.values())
    picture, grid = chart(
        3.3,
        "Undivided, one key of 16 dominates; divided, all have a say",
        alt="Two bar charts of the weights of 16 keys, the largest first, on average over 4,000 "
        f"random queries with 64 features. Undivided the first has {before:.2f}; divided by 8 it "
        f"has {after:.2f}, and the others follow in small steps.",
        x="key, largest weight first",
        columns=2,
        sharey=True,
    )
    for axes, (name, weights) in zip(grid[0], ranked.items(), strict=True):
        axes.set_title(name, loc="left", fontsize=TEXT)
        axes.bar(range(1, 17), weights, color=[ACCENT] + [QUIET] * 15)
        write(axes, (1.7, weights[0] + 0.02), f"{weights[0]:.2f}", ACCENT, bold=True)
        axes.set_xticks([1, 4, 8, 12, 16])
    grid[0, 0].set(ylabel="weight", ylim=(0, 1), yticks=[0, 0.5, 1])
    return picture


def same_vectors_moved() -> Picture:
    picture, axes = diagram(
        3.6,
        "Swap dog and man: their new vectors swap, and nothing else",
        alt="Left the sentence dog bites man, right the sentence man bites dog; above the vectors "
        "that go into attention, below those that come out. Lines join each word with itself: "
        "they cross in the same way above and below. Dog comes out as "
        f"{listed(_attended(DOG_BITES_MAN)[0].tolist(), '.2f')} in both sentences.",
    )
    blocks = []
    for x, words in ((0.75, DOG_BITES_MAN), (3.85, MAN_BITES_DOG)):
        colors = [COLOR.get(word) for word in words]
        before = [_entries(VECTORS[word], "g") for word in words]
        after = [_entries(row) for row in _attended(words).tolist()]
        size = (0.6, 0.34)
        upper = cells(axes, x, 0.45, before, colors=colors, size=size)
        layer = box(axes, x, 1.76, "attention", size=(2.4, 0.4))
        lower = cells(axes, x, 2.45, after, colors=colors, size=size)
        write(axes, (x + 1.2, 0.22), " ".join(words), align="center", bold=True)
        arrow(axes, (x + 1.2, upper.below(0)[1]), layer.above(0))
        arrow(axes, layer.below(0), (x + 1.2, lower.y))
        blocks.append((upper, lower))
    for left, right in zip(*blocks, strict=True):
        for row, word in enumerate(DOG_BITES_MAN):
            color = COLOR.get(word, QUIET)
            other = MAN_BITES_DOG.index(word)
            arrow(axes, left.right(row), right.left(other), color)
            name_row(axes, left, row, word, color)
            x, y = right.right(other)
            write(axes, (x + 0.1, y), word, color)
    return picture


def gather_and_scatter() -> Picture:
    letters, perm = "abc", PERM
    inverse = reference("permutation").inverse_permutation(torch.tensor(perm)).tolist()
    read = [letters[place] for place in perm]
    back = [read[place] for place in inverse]
    picture, axes = diagram(
        2.45,
        "Gather reads from the positions in perm; scatter writes to them",
        alt=f"Left a, b, c at positions 0, 1, 2. In the middle {', '.join(read)}, each next to "
        f"its entry of perm, {listed(perm)}. Right {', '.join(back)} again. Arrows lead from the "
        "left position that perm names to the middle, and from there to the right position that "
        "perm names. The letter c goes from position 2 to position 0 and back to position 2.",
    )
    y, size = 0.62, (0.5, 0.4)
    colors = {letter: WHAT if letter == "c" else None for letter in letters}
    start = cells(axes, 1.1, y, list(letters), colors=[colors[c] for c in letters], size=size)
    middle = cells(axes, 3.65, y, read, colors=[colors[c] for c in read], size=size)
    end = cells(axes, 5.75, y, back, colors=[colors[c] for c in back], size=size)
    for row, place in enumerate(perm):
        color = colors[read[row]] or QUIET
        x, height = middle.left(row)
        arrow(axes, start.right(place), (x - 0.5, height), color)
        write(axes, (x - 0.3, height), f"{place}", color, align="center", bold=color == WHAT)
        arrow(axes, middle.right(row), end.left(place), color)
        name_row(axes, start, row, f"position {row}")
    for x, name in ((1.35, "x"), (3.35, "perm"), (3.9, "y"), (6.0, "z")):
        write(axes, (x, 0.4), name, align="center")
    for x, name, code in ((2.38, "gather", "y = x[perm]"), (4.95, "scatter", "z[perm] = y")):
        write(axes, (x, 0.12), name, WHAT, align="center", bold=True)
        write(axes, (x, 2.15), code, align="center")
    return picture


def scores_shuffled_alike() -> Picture:
    orders = (DOG_BITES_MAN, tuple(DOG_BITES_MAN[place] for place in PERM))
    picture, axes = diagram(
        2.6,
        "Rows and columns move in the same way: dog keeps its scores",
        alt="Two tables of scores, of dog bites man and of man dog bites. The row of dog is "
        "marked: 1, 0.5, 0 in the first table; 0, 1, 0.5 in the second, one row lower. The sum of "
        "the exponentials is 5.37 in both.",
    )
    blocks = []
    names = ("scores of x", "scores of x[perm]")
    for x, words, name in zip((1.0, 4.55), orders, names, strict=True):
        scores = _tokens(words) @ _tokens(words).T / 2
        colors = [WHAT if word == "dog" else None for word in words]
        block = cells(axes, x, 0.62, scores.tolist(), colors=colors, size=(0.6, 0.42))
        for place, word in enumerate(words):
            color = WHAT if word == "dog" else QUIET
            name_row(axes, block, place, word, color)
            name_column(axes, block, place, word, color)
        row = scores[words.index("dog")]
        terms = " + ".join(f"e^{{{score:g}}}" for score in row.tolist())
        total = row.exp().sum().item()
        write(axes, (x + 0.9, 2.25), f"${terms} = {total:.2f}$", WHAT, align="center")
        write(axes, (x + 0.9, 0.12), name, QUIET, align="center")
        blocks.append((block, words.index("dog")))
    (left, row), (right, other) = blocks
    x, y = right.left(other)
    arrow(axes, left.right(row), (x - 0.5, y), WHAT)
    return picture


def bag_of_words() -> Picture:
    lesson = reference("permutation")
    means: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for words in itertools.permutations(DOG_BITES_MAN):
        mean = lesson.bag_vector(lesson.toy_attention, _tokens(words)[None])[0]
        means.setdefault(tuple(_entries(mean.tolist())), []).append(words)
    (mean, orders), *others = means.items()
    if others:
        raise ValueError(f"there should be one mean vector; there are {len(means)}")
    picture, axes = diagram(
        2.5,
        "Six orders of three words go in, and one vector comes out",
        alt=f"The six orders of dog, bites and man as sentences. From each an arrow leads to the "
        f"same mean vector: {', '.join(mean)}.",
    )
    middle = 0.25 + 0.38 * 2.5
    result = cells(axes, 4.15, middle - 0.2, [list(mean)], colors=[WHAT], size=(0.66, 0.4))
    write(axes, (5.47, middle - 0.4), "mean of the outputs", align="center")
    for row, words in enumerate(orders):
        y = 0.25 + 0.38 * row
        color = {DOG_BITES_MAN: WHAT, MAN_BITES_DOG: THIRD}.get(words, QUIET)
        write(axes, (0.35, y), " ".join(words), color, bold=color != QUIET)
        arrow(axes, (1.9, y), result.left(0), color)
    write(axes, (5.47, middle + 0.4), "who bit whom is lost", QUIET, align="center")
    return picture


def asks_answers_hands_over() -> Picture:
    tokens = torch.tensor([MEANINGS[word] for word in DOG_BITES_MAN])[None]
    w_q, w_k, w_v = torch.zeros(3, 4, 4)
    w_q[0, 1], w_k[0, 0], w_v[0, 2], w_v[1, 3] = 4, 1, 1, 1
    queries, keys, values = ((tokens @ weight.T)[0] for weight in (w_q, w_k, w_v))
    scores = queries[1] @ keys.T / 2
    weights = scores.softmax(dim=-1).tolist()
    new = reference("permutation").projected_attention(tokens, w_q, w_k, w_v)[0, 1].tolist()
    picture, axes = diagram(
        3.3,
        "Bites asks for nouns; dog and man answer with who they are",
        alt=f"The query of bites is {listed(queries[1].tolist())}. Below, for dog, bites and man, "
        f"the key, the score {listed(scores.tolist())}, the weight {listed(weights, '.2f')} and "
        f"the value. The weighted values add up to the new bites: {listed(new, '.2f')}, that is "
        "animal and human.",
    )
    size = (0.4, 0.36)

    def row(x: float, y: float, numbers: Sequence[float], color: str, pattern: str = "g") -> Cells:
        marks = [color if number else None for number in numbers]
        return cells(axes, x, y, [_entries(numbers, pattern)], colors=[marks], size=size)

    asked = row(0.85, 0.1, queries[1].tolist(), QUERY)
    name_row(axes, asked, 0, "bites", QUERY)
    write(axes, (2.6, 0.28), "asks", QUERY, bold=True)
    for x, name, color in ((1.65, "answers", KEY), (3.0, "score", QUIET), (3.85, "weight", QUIET)):
        write(axes, (x, 0.83), name, color, align="center", bold=color == KEY)
    write(axes, (5.6, 0.83), "hands over", VALUE, align="center", bold=True)
    for place, word in enumerate(DOG_BITES_MAN):
        y = 1.02 + 0.46 * place
        key = row(0.85, y, keys[place].tolist(), KEY)
        name_row(axes, key, 0, word, COLOR.get(word, QUIET))
        row(4.8, y, values[place].tolist(), VALUE)
        write(axes, (3.0, y + 0.18), f"{scores[place]:g}", align="center")
        write(axes, (3.85, y + 0.18), f"{weights[place]:.2f}", align="center", bold=True)
        write(axes, (4.45, y + 0.18), "×", QUIET, align="center")
    y = 2.72
    marks = [VALUE if number else None for number in new]
    total = cells(axes, 4.4, y, [_entries(new)], colors=[marks], size=(0.6, 0.4))
    name_row(axes, total, 0, "new bites: animal and human", VALUE)
    arrow(axes, (5.6, 2.36), (5.6, y), VALUE)
    return picture


def heads_are_slices() -> Picture:
    picture, axes = diagram(
        2.55,
        "A head is a slice of the width: two heads, two averages",
        alt="Rows of dog, bites and man, eight features wide, cut into two slices of four. Head 0 "
        "takes features 0 to 3 of all three words, head 1 takes features 4 to 7. Each slice goes "
        "through its own attention, and the two results are next to each other again, eight "
        "features wide.",
    )
    colors, size = (WHAT, THIRD), (0.26, 0.32)
    marks = [[colors[feature // 4] for feature in range(8)] for _ in range(3)]
    before = cells(axes, 0.75, 0.7, [[None] * 8] * 3, colors=marks, size=size)
    after = cells(axes, 4.78, 0.7, [[None] * 8] * 3, colors=marks, size=size)
    for place, word in enumerate(DOG_BITES_MAN):
        name_row(axes, before, place, word)
    for head, (color, y) in enumerate(zip(colors, (0.15, 1.51), strict=True)):
        layer = box(axes, 3.12, y, f"head {head}", color, size=(1.3, 0.5))
        arrow(axes, (before.right(0)[0], 0.95 + 0.46 * head), layer.left(0), color)
        arrow(axes, layer.right(0), (after.left(0)[0], 0.95 + 0.46 * head), color)
    for block, name in ((before, "queries, keys, values"), (after, "results")):
        write(axes, (block.middle, 0.45), name, QUIET, align="center")
        for head, color in enumerate(colors):
            x = block.x + (4 * head + 2) * size[0]
            write(axes, (x, 1.9), "D = 4", color, align="center")
        write(axes, (block.middle, 2.25), "C = 8", QUIET, align="center")
    return picture


def mask_stays_in_place() -> Picture:
    picture, axes = diagram(
        3.05,
        "The mask stays put: first, dog sees one word; last, all three",
        alt="Two triangles of attention weights under a causal mask, a row for each word, above "
        "the diagonal all hidden. In dog bites man dog's row holds a single 1. In man bites dog "
        "dog is last, and its row holds three weights. So dog's new vector is "
        f"{listed(_attended(DOG_BITES_MAN, causal=True)[0].tolist(), '.2f')} in the first and "
        f"{listed(_attended(MAN_BITES_DOG, causal=True)[2].tolist(), '.2f')} in the second.",
    )
    for x, words in ((0.98, DOG_BITES_MAN), (4.5, MAN_BITES_DOG)):
        weights = _weights(words, causal=True).tolist()
        size = (0.68, 0.44)
        shown = [[f"{row[key]:.2f}" for key in range(t + 1)] for t, row in enumerate(weights)]
        colors = [WHAT if word == "dog" else None for word in words]
        block = cells(axes, x, 0.7, shown, colors=colors, size=size)
        write(axes, (x + 1.02, 0.16), " ".join(words), align="center", bold=True)
        for place, word in enumerate(words):
            color = WHAT if word == "dog" else QUIET
            name_row(axes, block, place, word, color)
            name_column(axes, block, place, word, color)
        write(axes, (block.above(2)[0], block.left(0)[1]), "hidden", QUIET, align="center")
        new = _attended(words, causal=True)[words.index("dog")].tolist()
        result = cells(axes, x, 2.42, [_entries(new)], colors=[WHAT], size=(0.57, 0.4))
        name_row(axes, result, 0, "new dog", WHAT)
    return picture


def second_layer_sees_order() -> Picture:
    layer = reference("permutation").causal_toy_attention
    orders = (DOG_BITES_MAN, ("bites", "dog", "man"))
    outputs, shares = [_tokens(words)[None] for words in orders], []
    for _ in range(2):
        outputs = [layer(tokens) for tokens in outputs]
        shares.append([_shares(tokens[0, 2]) for tokens in outputs])
    told = [
        [listing(f"{percent(share)} {word}" for word, share in one.items()) for one in both]
        for both in shares
    ]
    picture, axes = diagram(
        2.35,
        "Swap dog and bites: one layer leaves man as it was, two do not",
        alt="Bars: how much of dog, bites and man is in the new vector of man, last in dog bites "
        f"man and last in bites dog man, under a causal mask. After one layer the bars are equal: "
        f"{told[0][0]}. After two layers they differ: {told[1][0]}, against {told[1][1]}.",
    )
    colors, wide, lefts = {"dog": WHAT, "bites": QUIET, "man": THIRD}, 2.35, (1.5, 4.5)
    for words, left in zip(orders, lefts, strict=True):
        for word, share in zip(words, (0.2, 0.51, 0.82), strict=True):
            how = {"align": "center", "bold": True}
            write(axes, (left + share * wide, 0.15), word, colors[word], **how)
    for row, both in enumerate(shares):
        y, is_same = 0.42 + 1.0 * row, _is_same(*both)
        name, color = ("1 layer", "2 layers")[row], QUIET if is_same else ACCENT
        write(axes, (0.16, y + 0.22), f"man after\n{name}", color)
        sign = "=" if is_same else "≠"
        write(axes, (4.175, y + 0.22), sign, color, align="center", bold=True, size=TEXT + 7)
        for one, left in zip(both, lefts, strict=True):
            x = left
            for word, share in one.items():
                part = {"facecolor": TINTS[colors[word]], "edgecolor": colors[word]}
                axes.add_patch(Rectangle((x, y), share * wide, 0.44, **part))
                place = (x + share * wide / 2, y + 0.6)
                write(axes, place, percent(share), colors[word], align="center")
                x += share * wide
    return picture


def _shares(vector: torch.Tensor) -> dict[str, float]:
    """Return how much of each word a vector is: the outputs are averages of the words."""
    solved = torch.linalg.lstsq(_tokens(DOG_BITES_MAN).T, vector[:, None]).solution[:, 0]
    return dict(zip(DOG_BITES_MAN, solved.tolist(), strict=True))


def _is_same(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(abs(one[word] - other[word]) < 1e-5 for word in one)


def mask_numbers_the_places() -> Picture:
    lesson, n_places = reference("permutation"), 10
    marker = torch.zeros(1, n_places, 1)
    marker[0, 0] = 1.0
    masked = lesson.causal_toy_attention(marker).flatten().tolist()
    open_ = lesson.toy_attention(marker).flatten().tolist()
    picture, grid = chart(
        3.5,
        "With the mask, every position gets its own number",
        alt=f"Two charts of the outputs of {n_places} tokens, the first marked with a 1. With the "
        f"mask they fall as 1, 1/2, 1/3 to 1/{n_places}. Without it the first is {open_[0]:.2f}, "
        f"and all others are {open_[1]:.2f}.",
        x="position of the token",
        columns=2,
        sharey=True,
    )
    dots = {"marker": "o", "linestyle": "", "markersize": 7}
    panels = (("with the causal mask", masked, WHERE), ("without a mask", open_, QUIET))
    for axes, (name, outputs, color) in zip(grid[0], panels, strict=True):
        axes.set_title(name, loc="left", fontsize=TEXT, color=color, fontweight="bold")
        curve(axes, range(n_places), outputs, color=color, **dots)
        axes.set_xticks(range(0, n_places, 3))
    left, right = grid[0]
    for place in (1, 2, n_places - 1):
        words = (place + 0.5, masked[place] + 0.1)
        write(left, words, f"1/{place + 1}", WHERE, align="center")
    write(right, (0.4, open_[0] + 0.04), f"{open_[0]:.2f}", QUIET)
    write(right, (5.5, open_[1] + 0.1), f"all others {open_[1]:.2f}", QUIET, align="center")
    left.set(ylabel="output", ylim=(0, 1.08), yticks=[0, 0.25, 0.5, 0.75, 1])
    return picture


def _tokens(words: Iterable[str]) -> Tensor:
    """Return the vectors of the words, (T, 4)."""
    return torch.tensor([VECTORS[word] for word in words], dtype=torch.float64)


def _attended(words: Sequence[str], causal: bool = False) -> Tensor:
    """Return what attention makes of the words, (T, 4)."""
    lesson = reference("permutation")
    layer = lesson.causal_toy_attention if causal else lesson.toy_attention
    return layer(_tokens(words)[None])[0]


def _weights(words: Sequence[str], causal: bool = False) -> Tensor:
    """Return the weights, (T, T), that make the outputs of the words: there is one way only."""
    return _attended(words, causal) @ torch.linalg.pinv(_tokens(words))


def _entries(values: Iterable[float], pattern: str = ".2f") -> list[str]:
    return [signed(one, pattern) for one in values]
