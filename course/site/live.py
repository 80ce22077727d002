"""The script that makes figures of the lessons live, in one file: numbers of the reference, the
Lab's modules for matrices and shapes, and the scenes (`live.js`)."""

import json
from pathlib import Path

from course import lab
from course.figures.palette import (
    ACCENT,
    CARD,
    FAINT,
    INK,
    KEY,
    ON_DARK,
    QUERY,
    QUIET,
    SHADE,
    THIRD,
    TINTS,
    WHAT,
)
from course.figures.texts import reference
from course.figures.texts.permutation import VECTORS
from course.figures.texts.rope import KEY_VECTOR, X
from course.lab.numbers import packed

WIDTH, BASE, POSITIONS = 8, 10_000, 100
"""Of the clocks with many hands."""

FARTHEST, APART = 300, 6
"""The last position of a query, and how far after it a key may be in the text."""

COLORS = {"ink": INK, "quiet": QUIET, "faint": FAINT, "card": CARD, "shade": SHADE}
COLORS |= {"accent": ACCENT, "what": WHAT, "third": THIRD, "query": QUERY, "key": KEY}
COLORS |= {f"{name}-tint": TINTS[COLORS[name]] for name in ("accent", "what", "third")}


def write_live(path: Path) -> None:
    """Write the script. Nothing in it has a name that another script of a page could meet."""
    of_lab = Path(lab.__file__).parent
    files = [of_lab / "maths.js", of_lab / "shapes.js", Path(__file__).with_suffix(".js")]
    numbers = f"const NUMBERS = {json.dumps(live_numbers())};"
    parts = [path.read_text(encoding="utf-8") for path in files]
    script = "\n".join(["(() => {", '"use strict";', numbers, *parts, "})();", ""])
    path.write_text(script, encoding="utf-8", newline="\n")


def live_numbers() -> dict:
    """Return what the functions of the reference give."""
    sinusoidal, rope = reference("sinusoidal"), reference("rope")
    rotary = rope.RotaryEmbedding(FARTHEST + APART + 1, len(X))
    of_positions = sinusoidal.sinusoidal_encoding(POSITIONS, WIDTH, BASE)
    rates = sinusoidal.inverse_frequencies(WIDTH, BASE)
    return {
        "vectors": VECTORS,
        "rows": packed(of_positions),
        "rates": packed(rates),
        "queries": packed(rotary(X.repeat(FARTHEST + 1, 1))),
        "keys": packed(rotary(KEY_VECTOR.repeat(FARTHEST + APART + 1, 1))),
        "colors": {name: [color, ON_DARK[color]] for name, color in COLORS.items()},
    }
