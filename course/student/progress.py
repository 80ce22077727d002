"""What the last check found, kept in `.course/progress.json` of the repository."""

import ast
import hashlib
import re
import warnings
from collections.abc import Iterable

from course.student import notes
from course.syllabus import Exercise, Lesson, Status, find_lesson, lessons
from course.testing.result import LessonResult

_NOTES = "progress"

PASSED, WRONG, TO_DO, UNCHECKED = Status.PASSED, Status.WRONG, Status.TO_DO, Status.UNCHECKED


def status_of_all() -> dict[str, str]:
    """The status of every exercise, by name, from its file and the last check of it.

    What still holds its stub is "to do"; what was edited since its last check is "not checked".
    """
    remembered = notes.load(_NOTES)
    status = {}
    for lesson in lessons():
        stubs, now = stubs_in(_source(lesson), lesson), _fingerprints(lesson)
        for exercise in lesson.exercises:
            found, source = _last(remembered, exercise)
            if exercise.name in stubs:
                status[exercise.name] = TO_DO
            elif exercise.name in now and source == now[exercise.name]:
                status[exercise.name] = found
            else:
                status[exercise.name] = UNCHECKED
    return status


def _last(remembered: dict, exercise: Exercise) -> tuple[str, str | None]:
    """What the last check found, and a hash of what it checked; whatever is damaged is unknown."""
    match remembered:
        case {exercise.lesson: {exercise.name: {"status": status, "source": str(source)}}}:
            if status in (PASSED, WRONG, TO_DO):
                return Status(status), source
    return UNCHECKED, None


def remember(results: Iterable[LessonResult]) -> None:
    """Keep the status of the exercises of which all tests ran."""
    progress, is_new = notes.load(_NOTES), False
    for result in results:
        now, known = _fingerprints(find_lesson(result.lesson)), progress.get(result.lesson)
        progress[result.lesson] = known if isinstance(known, dict) else {}
        for name, status in result.statuses.items():
            if status in (PASSED, WRONG, TO_DO):
                progress[result.lesson][name] = {"status": status, "source": now.get(name, "")}
                is_new = True
    if is_new:
        notes.save(_NOTES, progress)


def stubs_in(source: bytes, lesson: Lesson) -> set[str]:
    """The exercises of a lesson that are still to do in the text of a module."""
    text = source.decode("utf-8", errors="replace")
    return set(
        re.findall(rf"""^ *raise NotImplementedError\("TODO {lesson.stem}\.(\w+)"\)""", text, re.M)
    )


def next_exercise(
    status: dict[str, str], prefer: tuple[str, ...] = ()
) -> tuple[Lesson, Exercise] | None:
    """The first exercise that has not passed, preferred names and their lessons first."""
    open_ones = [
        (exercise.name not in prefer, not any(e.name in prefer for e in lesson.exercises), index)
        for index, (lesson, exercise) in enumerate(_all())
        if status[exercise.name] != PASSED
    ]
    return _all()[min(open_ones)[-1]] if open_ones else None


def _all() -> list[tuple[Lesson, Exercise]]:
    return [(lesson, exercise) for lesson in lessons() for exercise in lesson.exercises]


def _source(lesson: Lesson) -> bytes:
    try:
        return lesson.module().read_bytes()
    except OSError:
        return b""


def _fingerprints(lesson: Lesson) -> dict[str, str]:
    """For every exercise that the file defines, a hash of its code and of the code all share.

    Comments, docstrings and layout do not count. A file that is not valid Python has no exercises.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # a check tells what Python thinks of it
            body = ast.parse(_source(lesson)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    names = {exercise.name for exercise in lesson.exercises}
    shared = [_code(node) for node in body if getattr(node, "name", None) not in names]
    return {
        node.name: hashlib.sha256("\n".join([*shared, _code(node)]).encode()).hexdigest()
        for node in body
        if getattr(node, "name", None) in names
    }


def _code(statement: ast.stmt) -> str:
    """What a statement does, whatever is said about it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return "" if _is_text(statement) else ast.dump(statement)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
