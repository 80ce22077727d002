"""The progress of a student, kept in `.course/` of the repository, which git ignores.

A JSON file each: what the last check found, and how many hints were shown. Losing one costs little:
a check restores the progress, and hints start from the first.
"""

import ast
import hashlib
import json
import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import click

from course import root
from course.core import answers
from course.core.files import write_atomically
from course.core.stubs import stubs_in
from course.core.syllabus import Exercise, Lesson, Status, find_lesson, lessons
from course.testing.result import LessonResult
from course.testing.source import definitions, names_reached

PASSED, WRONG = Status.PASSED, Status.WRONG
TO_DO, UNCHECKED = Status.TO_DO, Status.UNCHECKED

_FOUND = (PASSED, WRONG, TO_DO)
"""The statuses that a check finds."""


def file(name: str) -> Path:
    """Return the file of `progress` or `hints`."""
    return root() / ".course" / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """Return what such a file holds; nothing if it is lost or damaged."""
    try:
        found = json.loads(file(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def save(name: str, content: dict[str, Any]) -> None:
    """Write such a file, or say why not; the rest of the command goes on."""
    try:
        write_atomically(file(name), json.dumps(content, indent=1))
    except OSError as error:
        reason = f"{file(name).parent.name}/ cannot be written: {error.strerror}"
        click.echo(f"(Your progress isn't saved, because {reason}.)", err=True)


# --- status -------------------------------------------------------------------------------------


def status_of_all() -> dict[str, str]:
    """Return the status of every exercise, by name, from its file and the last check of it.

    What still holds its stub is "to do"; what was edited since its last check is "not checked". In
    a file that cannot be loaded, the last check counts.
    """
    return {name: found for one in lessons() for name, found in status_of_lesson(one).items()}


def status_of_lesson(lesson: Lesson) -> dict[str, str]:
    """Return the same for the exercises of one lesson."""
    remembered, status = load("progress"), {}
    source, is_last_known = _source(lesson), cannot_be_loaded(lesson)
    stubs, now = stubs_in(source, lesson), _fingerprints(source, lesson) or {}
    for exercise in lesson.exercises:
        status[exercise.name] = UNCHECKED
        if exercise.name in stubs:
            status[exercise.name] = TO_DO
            continue
        match remembered:  # whatever is damaged in it counts as unknown
            case {exercise.lesson: {exercise.name: {"status": found, "source": str(checked)}}}:
                if found in _FOUND and (is_last_known or checked == now.get(exercise.name)):
                    status[exercise.name] = Status(found)
    return status


def cannot_be_loaded(lesson: Lesson) -> bool:
    """Return whether a lesson's file is not valid Python, or as a check could not load it."""
    source = _source(lesson)
    if _fingerprints(source, lesson) is None:
        return True
    match load("progress"):
        case {lesson.stem: {"not loaded": found}}:
            return found == _hash(source)
    return False


def found_in(results: Iterable[LessonResult]) -> dict[str, Status]:
    """Return the statuses that were found; a file that cannot be loaded has none."""
    loaded = [result for result in results if not result.trouble]
    return {name: status for result in loaded for name, status in result.statuses.items()}


def remember(results: Iterable[LessonResult]) -> None:
    """Keep the status of the exercises of which all tests ran, and which file cannot be loaded."""
    progress = load("progress")
    for result in results:
        lesson, known = find_lesson(result.lesson), progress.get(result.lesson)
        progress[result.lesson] = known if isinstance(known, dict) else {}
        if result.trouble:
            progress[result.lesson]["not loaded"] = _hash(_source(lesson))
            continue
        progress[result.lesson].pop("not loaded", None)
        now = _fingerprints(_source(lesson), lesson) or {}
        for name, status in result.statuses.items():
            if status in _FOUND:
                progress[result.lesson][name] = {"status": status, "source": now.get(name, "")}
    save("progress", progress)


def _source(lesson: Lesson) -> bytes:
    try:
        return answers.read(lesson.module())
    except OSError:
        return b""


@lru_cache(maxsize=32)
def _fingerprints(source: bytes, lesson: Lesson) -> dict[str, str] | None:
    """Return a hash of every exercise that a file defines, and of the code that it needs.

    Comments and layout do not count, nor do imports and helpers that it never uses. None for a file
    that is not valid Python.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # a check tells what Python thinks of it
            body = definitions(source) or ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = {exercise.name for exercise in lesson.exercises}
    dumped = {node: ast.dump(node) for node in body}
    shared = [node for node in body if getattr(node, "name", None) not in names]
    return {
        node.name: _hash(
            "\n".join(dumped[one] for one in (*_needed(shared, source, node.name), node)).encode()
        )
        for node in body
        if getattr(node, "name", None) in names
    }


def _needed(shared: list[ast.stmt], source: bytes, exercise: str) -> list[ast.stmt]:
    """Return the statements that an exercise may depend on."""
    reached = {"*"} | names_reached(source, exercise)
    return [node for node in shared if not (made := _made_by(node)) or made & reached]


def _made_by(node: ast.stmt) -> set[str]:
    """Return the names that a definition or an import makes; none for any other statement."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return {node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()


def _hash(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()


# --- the next exercise --------------------------------------------------------------------------


def next_exercise(
    status: dict[str, str], prefer: tuple[str, ...] = ()
) -> tuple[Lesson, Exercise] | None:
    """Return the first exercise that has not passed, preferred names and their lessons first.

    Lessons beyond the course's total come last, wherever they are.
    """
    left = [
        (lesson, exercise)
        for lesson in lessons()
        for exercise in lesson.exercises
        if status[exercise.name] != PASSED
    ]

    def rank(one: tuple[Lesson, Exercise]) -> tuple[bool, bool, bool]:
        lesson, exercise = one
        is_near = any(other.name in prefer for other in lesson.exercises)
        return exercise.name not in prefer, not is_near, lesson.beyond

    return min(left, key=rank, default=None)  # the first of those with the same rank
