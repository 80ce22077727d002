"""The figures of the lessons' texts: a file for each lesson, a function for each figure.

A function takes no arguments, computes with the reference and returns a picture. Its name is the
name of the SVG, `course/lessons/figures/<stem>/<name>.svg`, which the lesson's text shows.
"""

import json
from types import ModuleType

from course import root
from course.testing.loading import load_module


def reference(stem: str) -> ModuleType:
    """Return `solutions/<stem>.py` as a module.

    Raises:
        Wrong: it cannot be run.
    """
    return load_module(root() / "solutions" / f"{stem}.py")


def measured(stem: str, name: str) -> dict:
    """Return `course/lessons/figures/<stem>/<name>.json`: numbers too expensive to recompute.

    Its first key, `how`, says how to measure them again.

    Raises:
        ValueError: the file is missing, is no JSON or does not say how.
    """
    path = root() / "course" / "lessons" / "figures" / stem / f"{name}.json"
    shown = path.relative_to(root()).as_posix()
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{shown} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{shown} is not JSON: {error}") from None
    if not isinstance(found, dict) or next(iter(found), "") != "how":
        raise ValueError(f'{shown} must begin with "how": the way to measure its numbers again')
    return found


def as_measured(how: str, **numbers: object) -> str:
    """Return the text of a file for `measured`, a line for each key.

    Args:
        how: the command that measures the numbers.
    """
    entries = {"how": how, **numbers}.items()
    lines = [
        f" {json.dumps(key)}: {json.dumps(of_key, ensure_ascii=False)}" for key, of_key in entries
    ]
    return "{\n" + ",\n".join(lines) + "\n}"
