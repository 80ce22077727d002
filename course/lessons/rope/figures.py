"""Figures of lesson 5."""

import math

import torch
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from course.publishing.figures.charts import chart, curve, log_axis, spread_out
from course.publishing.figures.diagrams import (
    arrow,
    box,
    cells,
    clock,
    diagram,
    dial,
    hand,
    join_by_arc,
    name_column,
    name_row,
    outline,
    sector,
    tip_of,
)
from course.publishing.figures.measured import measured, reference
from course.publishing.figures.palette import (
    ACCENT,
    FAINT,
    KEY,
    QUERY,
    QUIET,
    SECOND,
    SHADE,
    THIRD,
    TINTS,
    VALUE,
    WHAT,
    WHERE,
    WRONG,
    color_of,
    style_of,
)
from course.publishing.figures.picture import Picture
from course.publishing.figures.words import TEXT, Point, listed, note, signed, write

X = torch.tensor([1.0, 2.0, 3.0, 4.0])
"""The vector of the text, also its query."""

KEY_VECTOR = torch.tensor([4.0, -3.0, 2.0, 1.0])

TURN = 2 * math.pi

_PROJECTIONS = torch.randn(2, 8, 8, generator=torch.Generator().manual_seed(3)) / 3
EXAMPLE = {
    "query": (0.6, 1.2, 0.8, 0.7, 0.8, 0.9, 0.5, 0.2),
    "key": (1.0, 1.4, 0.9, 0.8, 0.2, 0.6, -0.3, 0.3),
    "projections": [[[round(x, 2) for x in row] for row in one] for one in _PROJECTIONS.tolist()],
}
"""What the scene begins with."""


def pair_turns() -> Picture:
    cos, sin = reference("rope").rope_tables(4, 4)
    turned = reference("rope").apply_rope(X[None], cos[3:], sin[3:])[0].tolist()
    picture, axes = diagram(
        2.25,
        "Position 3 rotates pair 0 by 3 radians, and pair 1 by 0.03",
        alt="Features 0 to 3 hold 1, 2, 3, 4. Features 0 and 2 are the point (1, 3) on the first "
        "dial; its hand rotates by 3 radians, nearly half a circle. Features 1 and 3 are the point "
        "(2, 4) on the second dial; its hand rotates by 0.03 radians and hardly moves. The tips go "
        f"back to where they were: {', '.join(signed(one, '.3f') for one in turned)}.",
    )
    colors = [ACCENT, SECOND, ACCENT, SECOND]
    before = cells(axes, 1.03, 0.5, X[:, None].tolist(), colors=colors, size=(0.5, 0.38))
    results = [[signed(entry, ".3f")] for entry in turned]
    after = cells(axes, 5.87, 0.5, results, colors=colors, size=(0.8, 0.38))
    for feature, color in enumerate(colors):
        name_row(axes, before, feature, f"feature {feature}", color)
    for pair, (x, color) in enumerate(((2.6, ACCENT), (4.6, SECOND))):
        center, radius = (x, 1.26), 0.66
        start = math.atan2(X[2 + pair], X[pair])
        angle = 3 * 10000 ** (-2 * pair / 4)
        dial(axes, center, radius)
        hand(axes, center, radius, start, QUIET, 1.8)
        hand(axes, center, radius, start + angle, color)
        if pair == 0:
            _arc(axes, center, 0.4, start, start + angle, color)
        write(axes, (x, 0.3), f"pair {pair}", color, align="center", bold=True)
        write(axes, (x, 2.1), f"rotated by {angle:g}", color, align="center")
    arrow(axes, (before.right(1)[0], 1.26), (1.94, 1.26))
    arrow(axes, (5.28, 1.26), (after.x, 1.26))
    name_column(axes, before, 0, "x")
    name_column(axes, after, 0, "at position 3")
    return picture


def both_hands_turn() -> Picture:
    rotary = reference("rope").RotaryEmbedding(512, 4)
    places = ((0, 2), (1, 3), (300, 302), (2, 0))
    scores = [
        (rotary(X[None], offset=m) * rotary(KEY_VECTOR[None], offset=n)).sum().item()
        for m, n in places
    ]
    q, k = (math.atan2(v[2], v[0]) for v in (X, KEY_VECTOR))
    picture, axes = diagram(
        2.75,
        "Both hands rotate, and the angle between them stays",
        alt="Four dials show pair 0 of a query and of a key. With the query at 0 and the key at 2, "
        "at 1 and 3, at 300 and 302, both hands point in new directions each time; the angle from "
        f"query to key is {k + 2 - q:.2f} radians in all three, and the score {scores[0]:.3f}. "
        f"With the query at 2 and the key at 0 the angle is {signed(k - 2 - q, '.2f')}, the score "
        f"{signed(scores[3], '.3f')}.",
    )
    for (m, n), score, x in zip(places, scores, (0.95, 2.6, 4.25, 6.1), strict=True):
        center, radius = (x, 1.28), 0.62
        color = ACCENT if n > m else QUIET
        dial(axes, center, radius)
        sector(axes, center, 0.36, *sorted((q + m, k + n)), color, 1.4)
        for angle, name, of_hand in ((q + m, "q", QUERY), (k + n, "k", KEY)):
            hand(axes, center, radius, angle, of_hand)
            beyond = tip_of(center, radius + 0.16, angle)
            write(axes, beyond, name, of_hand, align="center", bold=True)
        write(axes, (x, 2.23), f"angle {signed(k + n - q - m, '.2f')} rad", color, align="center")
        write(axes, (x, 2.53), f"score {signed(score, '.3f')}", color, align="center", bold=True)
        write(axes, (x, 0.22), f"q at {m}, k at {n}", QUIET, align="center")
    axes.plot((5.18, 5.18), (0.1, 2.65), color=FAINT, linewidth=1.2)
    return picture


def cache_keeps_turned_keys() -> Picture:
    picture, axes = diagram(
        3.5,
        "The cache keeps rotated keys and values; a query is used once",
        alt="A new token at position 3 gives a query, a key and a value. Query and key are "
        "rotated by its position. The key goes behind three rotated keys in the cache, drawn as "
        "hands of a clock at angles 0, 1 and 2, the value behind three values. The query meets all "
        "four keys and is not kept.",
    )
    token = box(axes, 0.12, 1.42, "token 3", WHAT, (0.98, 0.5))
    names = (("query", 0.2, QUERY), ("key", 1.42, KEY), ("value", 2.6, VALUE))
    boxes = [box(axes, 1.55, y, name, color, (0.85, 0.5)) for name, y, color in names]
    outline(axes, (3.92, 1.05), (2.95, 2.33), QUIET, 1.4)
    write(axes, (5.4, 1.3), "cache of this layer", QUIET, align="center", bold=True)
    write(axes, (3.0, 1.06), "rotated by 3", QUIET, align="center")
    write(axes, (5.4, 2.37), "keys, rotated when they came", QUIET, align="center")
    used = box(axes, 3.92, 0.2, "meets all keys, is not kept", QUERY, (2.95, 0.5))
    for one in boxes:
        arrow(axes, token.right(0), one.left(0))
    for one, end, color in ((boxes[0], used.left(0), QUERY), (boxes[1], (3.92, 1.67), KEY)):
        dial = (3.0, one.center(0, 0)[1])
        clock(axes, dial, 0.26, 3.0, color)
        arrow(axes, one.right(0), (dial[0] - 0.26, dial[1]), color)
        arrow(axes, (dial[0] + 0.26, dial[1]), end, color)
    arrow(axes, boxes[2].right(0), (3.92, 2.85), VALUE)
    for position in range(4):
        x, is_new = 4.3 + 0.73 * position, position == 3
        clock(axes, (x, 1.87), 0.26, float(position), KEY if is_new else QUIET)
        cells(axes, x - 0.25, 2.64, [[f"v{position}"]], colors=[VALUE if is_new else QUIET])
        write(axes, (x, 3.18), str(position), WHERE if is_new else QUIET, align="center")
    return picture


def cache_offset() -> Picture:
    picture, axes = diagram(
        2.75,
        "The new token comes after the cache, and only the offset tells",
        alt="Five keys in a cache, at positions 0 to 4, each a hand rotated by its position, and a "
        "new token at position 5. With offset=5 the keys are 5, 4, 3, 2 and 1 steps back. With "
        "offset=0 the new token is where the first key is, and the others are 1 to 4 steps "
        "ahead of it.",
    )
    pitch, first, radius, y = 0.9, 1.85, 0.33, 0.9
    outline(axes, (first - 0.5, y - 0.5), (4 * pitch + 1, 1))
    write(axes, (first - 0.45, 0.2), "cache: keys, rotated when they came", QUIET)
    for position in range(6):
        new = position == 5
        center = (first + pitch * position + 0.12 * new, y)
        dial(axes, center, radius)
        hand(axes, center, radius, position, *((ACCENT, 2.4) if new else (QUIET, 1.8)))
    write(axes, (first + 5 * pitch + 0.12, 0.2), "new", ACCENT, align="center", bold=True)
    rows = (
        ("position", [*map(str, range(6))], None, 1.62),
        ("offset=5", [f"{5 - n} back" for n in range(5)] + ["here"], ACCENT, 2.02),
        ("offset=0", ["here", "1 ahead", "2 ahead", "3 ahead", "4 ahead"], WRONG, 2.42),
    )
    for name, entries, color, line in rows:
        write(axes, (0.12, line), name, color or QUIET, bold=bool(color))
        for position, entry in enumerate(entries):
            x = first + pitch * position + 0.12 * (position == 5)
            write(axes, (x, line), entry, color or QUIET, align="center")
    return picture


def two_layouts() -> Picture:
    n_heads, head_dim = 2, 6
    rows = torch.arange(float(n_heads * head_dim))[:, None]
    after = reference("rope").interleaved_to_half(rows, n_heads).flatten().int().tolist()
    picture, axes = diagram(
        3.25,
        "Rows move within their head, so that partners end up D/2 apart",
        alt="Twelve rows, two heads of width 6. Above, interleaved: rows 0 and 1, 2 and 3, 4 and 5 "
        "are pairs, in head 1 likewise. Arrows lead each row to its new position below, where the "
        f"order is {listed(after[:6])} in head 0 and {listed(after[6:])} in head 1. There a pair "
        "is three rows apart. No arrow crosses from one head to the other.",
    )
    width, gap, first, top, bottom = 0.5, 0.4, 0.3, 1.0, 2.1
    of_pair = (ACCENT, SECOND, THIRD)

    def center(place: int) -> float:
        return first + width * (place + 0.5) + gap * (place // head_dim)

    for head in range(n_heads):
        x = first + head * (head_dim * width + gap)
        here = range(head * head_dim, (head + 1) * head_dim)
        for line, order in ((top, list(here)), (bottom, [after[place] for place in here])):
            colors = [[of_pair[row % head_dim // 2] for row in order]]
            cells(axes, x, line, [order], colors=colors, size=(width, 0.38))
        write(axes, (x + 1.5, 0.56), f"head {head}", QUIET, align="center")
        for pair, color in enumerate(of_pair):
            one, other = (center(head * head_dim + 2 * pair + n) for n in (0, 1))
            join_by_arc(axes, one, other, top - 0.03, -0.22, color)
            one, other = (center(head * head_dim + pair + n) for n in (0, head_dim // 2))
            join_by_arc(axes, one, other, bottom + 0.41, 0.3, color)
    write(axes, (first, 0.22), "interleaved: neighbors are a pair", bold=True)
    write(axes, (first, 3.05), "split halves: i and D/2 + i are a pair", bold=True)
    for place, row in enumerate(after):
        color = of_pair[row % head_dim // 2]
        arrow(axes, (center(row), top + 0.38), (center(place), bottom), color)
    return picture


def angles_seen() -> Picture:
    head_dim, trained, factor, shown = 128, 4096, 4, (0, 32, 50, 63)
    base = reference("rope").ntk_base(10000.0, factor, head_dim)
    rates = [10000.0 ** (-2 * i / head_dim) for i in shown]
    slower = [base ** (-2 * i / head_dim) for i in shown]
    ways = (
        ("as it is", rates),
        ("ntk_base", slower),
        ("positions / 4", [rate / factor for rate in rates]),
    )
    degrees = [[math.degrees(rate * trained * n) for n in (1, factor)] for rate in rates]
    after = math.degrees(slower[2] * trained * factor)
    picture, axes = diagram(
        4.6,
        "In longer texts, slow pairs reach angles unseen in training",
        alt="Dials of pairs 0, 32, 50 and 63 of a head of width 128, base 10,000. In training on "
        "4,096 tokens pairs 0 and 32 saw their whole circle, pair 50 saw "
        f"{degrees[2][0]:.0f} degrees, pair 63 {degrees[3][0]:.0f}. With 16,384 tokens pair 50 "
        f"reaches angles all around, pair 63 {degrees[3][1]:.0f} degrees. With ntk_base pair 50 "
        f"reaches {after:.0f} degrees, and pair 63 stays in its arc. With positions divided by 4 "
        "all stay, but pair 0's step from one token to the next shrinks from 1 radian to 0.25.",
    )
    xs, radius = (2.35, 3.65, 4.95, 6.25), 0.5
    for pair, x in zip(shown, xs, strict=True):
        write(axes, (x, 0.2), f"pair {pair}", align="center", bold=True)
    known = [min(rate * trained, TURN) for rate in rates]
    for (name, of_way), y in zip(ways, (1.0, 2.25, 3.5), strict=True):
        write(axes, (0.15, y), name, bold=True)
        for x, rate, old, arc in zip(xs, of_way, rates, known, strict=True):
            dial(axes, (x, y), radius)
            reached = min(rate * trained * factor, TURN)
            sector(axes, (x, y), radius, 0, arc, SECOND, 1.4)
            if reached > arc + 1e-6:
                sector(axes, (x, y), radius, arc, reached, ACCENT, 1.4)
            if old == 1:
                for angle in (0, rate):
                    hand(axes, (x, y), radius, angle, ACCENT if rate < 1 else SECOND)
    write(axes, (xs[2], 0.78), "seen", SECOND, align="center")
    write(axes, (xs[2], 1.22), "new", ACCENT, align="center")
    write(axes, (0.15, 0.2), "reading 16,384", QUIET)
    told = "seen: in training on 4,096 tokens. Lines: a token and the next"
    write(axes, (0.15, 4.35), told, QUIET)
    return picture


def alibi_horizons() -> Picture:
    n_heads = 8
    slopes = (-reference("rope").alibi_bias(n_heads, 2)[:, 1, 0]).tolist()  # per step
    half, hundredth = ([math.log(times) / slope for slope in slopes] for times in (2, 100))
    picture, axes = chart(
        4.0,
        "One formula, eight horizons: steep heads read near, flat ones far",
        alt="A bar for each of eight heads, on a logarithmic axis of steps back. It ends where a "
        f"token keeps 1% of its weight: {hundredth[0]:.0f} steps back in head 0, twice as far in "
        f"each next one, {hundredth[-1]:,.0f} in head 7. A dot on each bar marks half of the "
        f"weight: {half[0]:.1f} steps back in head 0, {half[-1]:.0f} in head 7.",
        x="steps back from the query",
    )
    for head, (near, far) in enumerate(zip(half, hundredth, strict=True)):
        axes.plot((1, far), (head, head), color=color_of("alibi"), linewidth=7, alpha=0.45)
        axes.plot([near], [head], color=color_of("alibi"), marker="o", markersize=9)
        write(axes, (1.12 * far, head), f"{far:,.0f}", color_of("alibi"))
    write(axes, (2300, 0), "dot: half of its weight left", QUIET, align="right")
    write(axes, (2300, 1), "end: 1% left", QUIET, align="right")
    log_axis(axes.xaxis, [1, 10, 100, 1000])
    names = [f"head {head}, slope 1/{1 / slope:.0f}" for head, slope in enumerate(slopes)]
    axes.set_yticks(range(n_heads), names)
    axes.tick_params(axis="y", length=0)
    axes.set(xlim=(1, 2600), ylim=(n_heads - 0.4, -0.6))
    return picture


def score_by_distance() -> Picture:
    head_dim, reach, places = 64, 64, (0, 100, 200, 300, 400)
    made = torch.Generator().manual_seed(5)
    query, key = torch.randn(2, 1, head_dim, generator=made)
    w_q, w_k = torch.randn(2, head_dim, head_dim, generator=made) / math.sqrt(head_dim)
    rope, encoding = (
        reference("rope"),
        reference("sinusoidal").sinusoidal_encoding,
    )
    rows, rotary = encoding(512, head_dim), rope.RotaryEmbedding(512, head_dim)

    def scores(queries: torch.Tensor, keys: torch.Tensor) -> list[float]:
        return ((queries * keys).sum(-1) / math.sqrt(head_dim)).tolist()

    steps = range(reach + 1)
    added = [scores((query + rows[s : s + reach + 1]) @ w_q, (key + rows[s]) @ w_k) for s in places]
    turned = [
        scores(rotary((query @ w_q).expand(reach + 1, -1), s), rotary(key @ w_k, s)) for s in places
    ]
    plain = scores(query @ w_q, key @ w_k)[0]
    bias = rope.alibi_bias(8, 512)[4]
    lowered = [(plain + bias[s : s + reach + 1, s]).tolist() for s in places]
    picture, axes = chart(
        4.0,
        "RoPE and ALiBi score distance alone, wherever the tokens are",
        alt="The score of the same two tokens over 0 to 64 steps back, at five positions. "
        "Sinusoidal rows, added: five different curves. RoPE: the five curves are one, which goes "
        "up and down. ALiBi, slope 1/32: one straight line, falling by 2.",
        x="steps from the query back to the key",
        y="score",
    )
    of_rope, of_alibi, of_sines = map(color_of, ("rope", "alibi", "sinusoidal"))
    for one in added:
        curve(axes, steps, one, color=of_sines, linewidth=1.1)
    for one in turned:
        curve(axes, steps, one, color=of_rope)
    for one in lowered:
        curve(axes, steps, one, color=of_alibi)
    note(axes, "RoPE: one curve", (13.5, 2.2), (24, 2.4), of_rope)
    note(axes, "ALiBi: one line", (44, -1.07), (33, -1.6), of_alibi)
    note(axes, "sinusoidal: five positions,\nfive curves", (55, 1.7), (49, 2.5), of_sines)
    axes.set(xlim=(0, reach), ylim=(-2, 2.9))
    return picture


def where_each_acts() -> Picture:
    picture, axes = diagram(
        3.2,
        "Positions enter at three points: a sum, a rotation, a penalty",
        alt="How tokens pass through a transformer. Learned and sinusoidal rows are added to the "
        "token rows, once. In each layer the sum becomes queries, keys and values. RoPE rotates "
        "queries and keys. Their products are the scores, from which ALiBi subtracts a penalty. "
        "Softmax turns the scores into weights, and the weights mix the values.",
    )
    y, radius = 1.72, 0.25
    outline(axes, (2.0, 0.08), (4.84, 2.98))
    write(axes, (2.15, 0.3), "attention, in each layer", QUIET)
    tokens = box(axes, 0.14, y - 0.3, "token\nrows", size=(0.8, 0.6))
    queries = box(axes, 2.12, y - 0.3, "queries,\nkeys", size=(0.95, 0.6))
    scores = box(axes, 4.02, y - 0.3, "scores", size=(0.85, 0.6))
    weights = box(axes, 5.85, y - 0.3, "weights", size=(0.9, 0.6))
    values = box(axes, 2.12, 2.45, "values", size=(0.95, 0.42))
    mixed = box(axes, 5.85, 2.45, "mix", size=(0.9, 0.42))
    points = (
        (1.4, "+", "sinusoidal", ("learned,", "sinusoidal", "add a row")),
        (3.55, "↺", "rope", ("RoPE", "rotates both")),
        (5.36, "−", "alibi", ("ALiBi", "lowers them")),
    )
    arrow(axes, (1.4 + 0.7 * radius, y + 0.7 * radius), values.left(0))
    ways = [tokens.right(0), queries.left(0), queries.right(0), scores.left(0)]
    ways += [scores.right(0), weights.left(0)]
    for number, (x, sign, scheme, (name, *does)) in enumerate(points):
        color = color_of(scheme)
        start, end = ways[2 * number : 2 * number + 2]
        arrow(axes, start, (x - radius, y), color)
        arrow(axes, (x + radius, y), end, color)
        axes.add_patch(Circle((x, y), radius, facecolor=TINTS[color], edgecolor=color))
        write(axes, (x, y), sign, color, align="center", bold=True, size=TEXT + 6)
        top = 1.2 - 0.24 * len(does)
        write(axes, (x, top), name, color, align="center", bold=True)
        for line, words in enumerate(does, start=1):
            how = {"align": "center", "bold": words == "sinusoidal"}
            write(axes, (x, top + 0.24 * line), words, color, **how)
    arrow(axes, weights.below(0), mixed.above(0))
    arrow(axes, values.right(0), mixed.left(0))
    return picture


def reading_on() -> Picture:
    losses = measured("rope", "reading_on")["losses"]
    lengths = (64, 128, 256)
    picture, axes = chart(
        4.3,
        "RoPE is best at its trained length; beyond, it needs a new base",
        alt="Loss over the length of the text read, 64, 128 and 256 characters, after training on "
        "64. "
        + " ".join(
            f"{name}: {', '.join(f'{loss:.2f}' for loss in of_name)}."
            for name, of_name in losses.items()
        ),
        x="length of the text (characters)",
        y="loss (nats per character)",
    )
    lowest, highest = 1.9, 3.25
    ends = {name: (of_name[-1] - lowest) / (highest - lowest) for name, of_name in losses.items()}
    order = sorted(ends, key=ends.get)
    heights = dict(zip(order, spread_out([ends[name] for name in order], 0.075), strict=True))
    for name, of_name in losses.items():
        told = name.startswith("RoPE")
        how = {"markersize": 7, "linewidth": 2.8} if told else {"markersize": 5, "linewidth": 1.3}
        how |= style_of(name, 0)
        curve(axes, range(len(lengths)), of_name, zorder=3 if told else 2, **how)
        write(
            axes,
            (2.1, lowest + heights[name] * (highest - lowest)),
            f"{name} {of_name[-1]:.2f}",
            how["color"],
            bold=told,
        )
    axes.axvspan(-0.25, 0.22, color=SHADE, linewidth=0)
    write(axes, (-0.2, 3.14), "trained\non 64", QUIET)
    best = losses["RoPE"][0]
    write(axes, (0, best - 0.065), f"{best:.2f}", color_of("rope"), align="center", bold=True)
    axes.set_xticks(range(len(lengths)), [str(length) for length in lengths])
    axes.set(xlim=(-0.25, 3.25), ylim=(lowest, highest), yticks=[2, 2.5, 3])
    axes.spines["bottom"].set_bounds(-0.25, 2)
    return picture


# --- parts ----------------------------------------------------------------------------------


def _arc(axes: Axes, center: Point, radius: float, start: float, end: float, color: str) -> None:
    """Draw an arrow along a circle."""
    angles = torch.linspace(start, end, 40).tolist()
    points = [tip_of(center, radius, angle) for angle in angles]
    axes.plot(*zip(*points[:-1], strict=True), color=color, linewidth=1.6)
    head = {"arrowstyle": "-|>", "color": color, "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", points[-1], points[-4], arrowprops=head)
