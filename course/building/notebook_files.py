"""Which notebooks there are, and where they lie."""

from pathlib import Path

from course import root
from course.syllabus import lessons

LAB, SHOOT_OUT = "7_positions_lab", "8_shoot_out"

UNGRADED = {"lab": LAB, "shoot-out": SHOOT_OUT}
"""Notebooks that belong to no lesson, by the name that `course open` and `course reset` take."""


def stems() -> list[str]:
    """All notebooks, by the name of their files: `1_lookup` to `6_skipgram`, and the ungraded."""
    return [*(lesson.text.stem for lesson in lessons()), *UNGRADED.values()]


def source_of(stem: str) -> Path:
    """The source of a notebook."""
    return root() / "solutions" / "notebooks" / f"{stem}.py"


def notebook_of(stem: str) -> Path:
    """Where a notebook lies."""
    return root() / "notebooks" / f"{stem}.ipynb"
