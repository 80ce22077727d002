"""The script and the style sheet of the figures to play with, one file each for all pages."""

import json
import re
from functools import cache
from pathlib import Path

from course.core.syllabus import lessons
from course.publishing.figures import of_room, palette
from course.publishing.figures.measured import committed
from course.publishing.figures.palette import ON_DARK, TINTS

_HERE = Path(__file__).parent

_SHARED = ("draw", "grip", "numbers", "element")
"""The scripts of this folder, in order; those of lessons come after them."""

_FOR_AUTHORS = re.compile(r"^\s*/\*([^*]|\*(?!/))*\*/\n|^\s*//.*\n|^\s+", re.MULTILINE)
"""Lines of comments, and indentation."""

LOOKS = ("what", "where", "query", "key", "value", "wrong", "third", "ink", "quiet")
"""Classes of shapes: each has the color of that name in the palette, and its tint."""

_ROOM = re.compile(r"^SCENES\.(\w+) = .*?^room: \[(\d+), (\d+)\],$", re.DOTALL | re.MULTILINE)


def write_lab(folder: Path) -> None:
    """Write `lab.js`, `lab.css` and `lab-numbers.js` into a folder."""
    numbers = f"window.COURSE_NUMBERS = {json.dumps(committed())};\n"
    for name, text in (("lab.js", script()), ("lab.css", styles()), ("lab-numbers.js", numbers)):
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
    """Return what scenes begin with: `EXAMPLE` in the figures of each lesson."""
    found = {}
    for lesson in lessons():
        found |= getattr(of_room(lesson.stem, "figures"), "EXAMPLE", {})
    return found


def rooms() -> dict[str, tuple[str, str]]:
    """Return how high each scene is on a phone and on a desktop, in pixels: its `room`.

    So what follows doesn't move when the scene takes its still picture's place.
    """
    return {scene: (phone, desktop) for scene, phone, desktop in _ROOM.findall(script())}


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
        for scene, (phone, desktop) in rooms().items()
    ]
    rules = (_HERE / "lab.css").read_text(encoding="utf-8")
    return "\n".join([f"course-lab {{ {' '.join(colors)} }}", *looks, *room, rules])


def _color(name: str) -> str:
    return getattr(palette, name.upper())


def _both(color: str) -> str:
    return f"light-dark({color}, {ON_DARK[color]})"
