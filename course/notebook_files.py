"""Which notebooks there are, and where they lie."""

from pathlib import Path

from course import ROOT
from course.syllabus import lessons

LAB = "7_positions_lab"


def stems() -> list[str]:
    """All notebooks, by the name of their files: `1_lookup` to `6_skipgram`, and the lab."""
    return [*(lesson.text.stem for lesson in lessons()), LAB]


def source_of(stem: str) -> Path:
    """The source of a notebook."""
    return ROOT / "solutions" / "notebooks" / f"{stem}.py"


def notebook_of(stem: str) -> Path:
    """Where a notebook lies."""
    return ROOT / "notebooks" / f"{stem}.ipynb"
