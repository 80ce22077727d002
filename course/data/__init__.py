"""The course's data: where it lies, how it gets there and how it is read."""

import os
from pathlib import Path

import course


def data_folder() -> Path:
    """Return the folder of the datasets: `$COURSE_DATA`, else `data/` in the course repository."""
    chosen = os.environ.get("COURSE_DATA")
    return Path(chosen) if chosen else course.root() / "data"
