"""The small files in `.course/` in which the course notes what a student has done.

They lie in the repository and git ignores them, so installing anew does not touch them. Losing one
costs little: a check brings the progress back, hints begin anew.
"""

import json
from pathlib import Path
from typing import Any

import click

from course import root
from course.system.files import write_whole


def file(name: str) -> Path:
    """Return where the notes of this name are kept."""
    return root() / ".course" / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """What was noted; nothing if the file is lost or damaged."""
    try:
        notes = json.loads(file(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return notes if isinstance(notes, dict) else {}


def save(name: str, notes: dict[str, Any]) -> None:
    """Note it, or say that it cannot be noted: whoever asked for something else gets that."""
    try:
        write_whole(file(name), json.dumps(notes, indent=1))
    except OSError as error:
        reason = f"{file(name).parent.name}/ cannot be written: {error.strerror}"
        click.echo(f"(What you do here is not remembered, because {reason}.)", err=True)
