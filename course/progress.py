"""What the last check found, kept in `.course/progress.json` of the repository."""

import hashlib
import json
import os
import re

from course import ROOT
from course.syllabus import Exercise, Lesson, lessons

FILE = ROOT / ".course" / "progress.json"

PASSED, WRONG, TO_DO, UNCHECKED = "passed", "wrong", "to do", "not checked"


def status_of_all() -> dict[str, str]:
    """The status of every exercise, by name, from its file and the last check of it.

    What still holds its stub is "to do"; what was edited since its last check is "not checked",
    unless it had passed.
    """
    remembered = _load()
    status = {}
    for lesson in lessons():
        stubs = _stubs_in(lesson)
        known = remembered.get(lesson.stem, {})
        fresh = known.get("file") == _fingerprint(lesson)
        for exercise in lesson.exercises:
            last = known.get("exercises", {}).get(exercise.name)
            if exercise.name in stubs:
                status[exercise.name] = TO_DO
            elif last == PASSED or (fresh and last is not None):
                status[exercise.name] = last
            else:
                status[exercise.name] = UNCHECKED
    return status


def remember(found: dict[str, dict[str, str]]) -> None:
    """Keep what a check found: for each lesson the status of the exercises that were run."""
    progress = _load()
    for lesson in lessons():
        if lesson.stem in found:
            entry = progress.setdefault(lesson.stem, {})
            entry["file"] = _fingerprint(lesson)
            entry["exercises"] = entry.get("exercises", {}) | found[lesson.stem]
    FILE.parent.mkdir(exist_ok=True)
    draft = FILE.with_name(f"{FILE.name}.{os.getpid()}")
    draft.write_text(json.dumps(progress, indent=1), encoding="utf-8")
    os.replace(draft, FILE)


def next_exercise(
    status: dict[str, str], prefer: tuple[str, ...] = ()
) -> tuple[Lesson, Exercise] | None:
    """The first exercise that has not passed, preferred lessons first; None when all have."""
    for lesson in sorted(lessons(), key=lambda lesson: lesson.stem not in prefer):
        for exercise in lesson.exercises:
            if status[exercise.name] != PASSED:
                return lesson, exercise
    return None


def _load() -> dict:
    try:
        progress = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # lost or damaged: one check brings it back
        return {}
    return progress if isinstance(progress, dict) else {}


def _source(lesson: Lesson) -> bytes:
    try:
        return lesson.module().read_bytes()
    except OSError:
        return b""


def _fingerprint(lesson: Lesson) -> str:
    return hashlib.sha256(_source(lesson)).hexdigest()


def _stubs_in(lesson: Lesson) -> set[str]:
    text = _source(lesson).decode("utf-8", errors="replace")
    return set(
        re.findall(rf"""^ *raise NotImplementedError\("TODO {lesson.stem}\.(\w+)"\)""", text, re.M)
    )
