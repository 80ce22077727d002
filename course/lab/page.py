"""The page of the lab, put together from the files in this folder and the numbers."""

import json
from collections.abc import Callable
from pathlib import Path

from course.lab.numbers import export_numbers
from course.system.files import expect_writable, write_atomically

SCRIPTS = (
    *("maths.js", "shapes.js"),  # which the lessons' live figures share
    *("model.js", "state.js", "plot.js"),
    *("words.js", "next.js", "matrix.js", "hands.js", "shift.js", "free.js"),  # the views
    *("mine.js", "story.js"),
    "page.js",  # which starts it all
)


def write_page(
    path: Path, mine: bool = False, tell: Callable[[str], object] = lambda what: None
) -> dict:
    """Write the lab as one HTML file that needs nothing else.

    Args:
        path: where to; what is there is replaced, in one step.
        mine: with the functions in `exercises/` next to the reference's.
        tell: told what is being done, a few times.

    Returns:
        The numbers of `export_numbers`, which also say what is whose.

    Raises:
        OSError: the file cannot be written.
    """
    expect_writable(path)
    numbers = export_numbers(mine, tell)
    write_atomically(path, page_with(numbers))
    return numbers


def page_with(numbers: dict) -> str:
    """Return the page that shows these numbers."""
    # "<" is written as an escape, so that no text among the numbers can end the script
    data = json.dumps(numbers, separators=(",", ":")).replace("<", r"\u003c")
    page = _text("page.html")
    page = page.replace("/* page.css */", _text("page.css"))
    page = page.replace("/* scripts */", "\n".join(map(_text, SCRIPTS)))
    return page.replace("/* numbers */", data)


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8").strip()
