"""The script and the style sheet of the figures to play with, one file each for all pages."""

import json
import re
from functools import cache
from pathlib import Path

import torch

from course.core.syllabus import lessons
from course.publishing.figures import of_room, palette
from course.publishing.figures.palette import ON_DARK, TINTS
from course.publishing.lab.trained import committed

_HERE = Path(__file__).parent

QUERY = (0.6, 1.2, 0.8, 0.7, 0.8, 0.9, 0.5, 0.2)
KEY = (1.0, 1.4, 0.9, 0.8, 0.2, 0.6, -0.3, 0.3)
"""The query and the key of lesson 5's scene, (D,)."""

_SHARED = (
    *("draw", "grip", "numbers", "element", "language_model"),
    *("scenes/hands", "scenes/sentence"),
)
"""The scripts of this folder, in order; those of lessons come after them."""

_FOR_AUTHORS = re.compile(r"^\s*/\*([^*]|\*(?!/))*\*/\n|^\s*//.*\n|^\s+", re.MULTILINE)
"""Lines of comments, and indentation."""

LOOKS = ("what", "where", "query", "key", "value", "wrong", "third", "ink", "quiet")
"""Classes of shapes: each has the color of that name in the palette, and its tint."""

ROOM = {
    "order": (418, 319),
    "lookup": (540, 519),
    "permutation": (586, 559),
    "learned": (714, 663),
    "clock": (568, 581),
    "rope": (669, 655),
    "skipgram": (596, 564),
    "longer": (601, 369),
    "heads": (530, 375),
    "llama": (620, 403),
    "cache": (533, 437),
    "window": (480, 453),
}
"""How high a scene is on a phone and on a desktop, in pixels: what follows doesn't move when it
takes its still picture's place."""


def write_lab(folder: Path) -> None:
    """Write `lab.js`, `lab.css` and `lab-numbers.js` into a folder."""
    numbers = f"window.COURSE_NUMBERS = {json.dumps(committed())};\n"
    for name, text in (
        ("lab.js", script()),
        ("lab.css", styles()),
        ("lab-numbers.js", numbers),
    ):
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


@cache
def script() -> str:
    """Return the script. Nothing in it has a name that another script of a page could meet."""
    files = [_HERE / f"{name}.js" for name in _SHARED]
    files += [path for lesson in lessons() for path in sorted(lesson.room.glob("*.js"))]
    parts = [_FOR_AUTHORS.sub("", path.read_text(encoding="utf-8")) for path in files]
    example = f"const EXAMPLE = {json.dumps(examples())};"
    begin = 'customElements.define("course-lab", CourseLab);\nonceRead(addPhrases);'
    return "\n".join(["(() => {", '"use strict";', example, *parts, begin, "})();", ""])


def examples() -> dict:
    """Return the small vectors that scenes begin with: `EXAMPLE` in the figures of lessons, too."""
    generator = torch.Generator().manual_seed(3)
    projections = torch.randn(2, len(QUERY), len(QUERY), generator=generator) / 3
    found = {
        "query": QUERY,
        "key": KEY,
        "projections": [
            [[round(x, 2) for x in row] for row in one] for one in projections.tolist()
        ],
    }
    for lesson in lessons():
        found |= getattr(of_room(lesson.stem, "figures"), "EXAMPLE", {})
    return found


def styles() -> str:
    """Return the style sheet."""
    colors = [f"--{name}: {_both(_color(name))};" for name in (*LOOKS, "faint", "card")]
    colors.append(f"--shade: {_both(palette.SHADE)};")
    colors.append("--focus: light-dark(#0b5ed7, #86bdf5);")
    looks = [
        f".lab .{name} {{ --look: var(--{name}); }}\n"
        f".lab .of-{name} {{ --tint: {_both(TINTS[_color(name)])}; }}"
        for name in LOOKS
    ]
    room = [
        f'course-lab[scene="{scene}"] {{ --room: {desktop}px; --room-on-a-phone: {phone}px; }}'
        for scene, (phone, desktop) in ROOM.items()
    ]
    return "\n".join(
        [
            f"course-lab {{ {' '.join(colors)} }}",
            *looks,
            *room,
            (_HERE / "lab.css").read_text(encoding="utf-8"),
        ]
    )


def _color(name: str) -> str:
    return getattr(palette, name.upper())


def _both(color: str) -> str:
    return f"light-dark({color}, {ON_DARK[color]})"
