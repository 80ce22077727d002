"""What trainings leave behind: files whose names say all that they depend on."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from course.student.borrow import names_of
from course.syllabus import Lesson, lessons


def fingerprint(settings: Any, text: str, names: Iterable[str]) -> str:
    """What a training depends on, as a hash: settings, text, and the code of all it uses.

    Args:
        names: the exercises that it is made of.
    """
    digest = hashlib.sha256(repr(settings).encode("utf-8"))
    digest.update(text.encode("utf-8"))
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    for name, owner in whose(names).items():
        folder = "exercises" if owner == "yours" else "solutions"
        digest.update(f"{name} {owner}".encode() + _lesson_of(name).module(folder).read_bytes())
    return digest.hexdigest()[:16]


def whose(names: Iterable[str]) -> dict[str, str]:
    """Of each exercise, whether it is "yours" or "borrowed"."""
    return {name: names_of(_lesson_of(name).stem).whose(name) for name in names}


def load_or_none(path: Path) -> dict[str, Any] | None:
    """What `torch.save` wrote into a file, or None if it is missing or damaged."""
    if not path.exists():
        return None
    try:
        return torch.load(path, weights_only=True)
    except Exception:  # a damaged file can raise nearly anything here
        return None


def _lesson_of(name: str) -> Lesson:
    return next(one for one in lessons() if name in [e.name for e in one.exercises])
