"""What a grader works on, one at a time: a lesson of a submission."""

import functools
import hashlib
import json
from dataclasses import dataclass

from course import ROOT
from course.grading.results import NOT_RUN, ExerciseResult, LessonResult
from course.syllabus import find_lesson


@dataclass(frozen=True)
class Unit:
    """The work of grading: one lesson of one submission.

    Attributes:
        source: the text of the module, or None if none was handed in.
        unread: why the grader could not read what was handed in, in a sentence; or nothing.
        refused: why what was handed in is no module, as the rest of a sentence; or nothing.
        canvas_id: the student's number on Canvas, if the class came from there.
        late: whether Canvas has marked it as late.
    """

    student: str
    lesson: str
    source: bytes | None
    notes: tuple[str, ...] = ()
    unread: str = ""
    refused: str = ""
    canvas_id: str = ""
    late: bool = False


def not_graded(unit: Unit, trouble: str) -> LessonResult:
    """What stands for a result where there is none; it has no key, so it is never kept."""
    lesson = find_lesson(unit.lesson)
    exercises = (
        ExerciseResult(one.name, NOT_RUN, 0, one.points, None, "", ()) for one in lesson.exercises
    )
    return LessonResult(
        student=unit.student,
        lesson=unit.lesson,
        key="",
        exercises=tuple(exercises),
        trouble=trouble,
        notes=unit.notes,
        seconds=0.0,
        canvas_id=unit.canvas_id,
        late=unit.late,
    )


def key_of(unit: Unit, seed: int) -> str:
    """Return what a result depends on, as a hash: if it is the same, nothing need be done again."""
    return _hash_of(judging_key(unit.lesson, seed), module_key(unit))


def module_key(unit: Unit) -> str:
    """Return a hash of what was handed in for a lesson."""
    if unit.unread:  # it was there, so what "none" earned is not its result
        return _hash_of("unread")
    if unit.source is None:
        return _hash_of("refused", unit.refused) if unit.refused else _hash_of("none")
    return _hash_of("some", unit.source)


@functools.cache
def judging_key(lesson: str, seed: int) -> str:
    """Return a hash of all that decides about the results of a lesson, but for the module."""
    of_lesson = find_lesson(lesson)
    worth = [(exercise.name, exercise.points) for exercise in of_lesson.exercises]
    files = [
        of_lesson.tests,
        of_lesson.module("solutions"),
        ROOT / "course" / "testing" / "catalogue" / f"{lesson}.py",
        *(ROOT / "course" / f"{name.replace('.', '/')}.py" for name in _JUDGING),
    ]
    texts = (path.read_bytes().replace(b"\r\n", b"\n") for path in files if path.exists())
    return _hash_of(str(seed), str(worth), json.dumps(_refusals().get(lesson)), *texts)


@functools.cache
def _refusals() -> dict:
    path = ROOT / "course" / "testing" / "refusals.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


_JUDGING = (
    *("memory", "syllabus", "testing.__init__", "testing.catalogue.__init__"),
    *("testing.case", "testing.clock", "testing.diagnosis", "testing.door"),
    *("testing.draw", "testing.examine", "testing.expect", "testing.honesty"),
    *("testing.outcomes", "testing.plain", "testing.refusals", "testing.replaced"),
    *("testing.show", "testing.stage", "testing.telling", "grading.judge"),
    *("grading.landlock", "grading.names", "grading.namespaces", "grading.nursery"),
    *("grading.patience", "grading.recall", "grading.remote", "grading.results"),
    *("grading.sandbox", "grading.seccomp", "grading.start", "grading.unit"),
    *("grading.wire", "grading.worker"),
)
"""The modules that judges and workers run; a test compares them with what these import."""


def _hash_of(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(b"%d " % len(data))
        digest.update(data)
    return digest.hexdigest()
