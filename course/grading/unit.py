"""What a grader works on, one at a time: a lesson of a submission."""

import functools
import hashlib
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
    """

    student: str
    lesson: str
    source: bytes | None
    notes: tuple[str, ...] = ()
    unread: str = ""
    refused: str = ""
    canvas_id: str = ""


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
    )


def key_of(unit: Unit, seed: int) -> str:
    """What a result depends on, as a hash: if it is the same, nothing need be done again."""
    source = b"none" if unit.source is None else b"some " + unit.source
    if unit.unread:  # it was there, so what "none" earned is not its result
        source = b"unread"
    elif unit.source is None and unit.refused:
        source = b"refused " + unit.refused.encode()
    return hashlib.sha256(b"%s %d %s" % (_course_hash(), seed, source)).hexdigest()


_DECIDING = (
    *("tests/test_*.py", "solutions/*.py", "course/syllabus.toml"),
    *("course/*.py", "course/testing/**/*.py", "course/testing/*.json", "course/grading/*.py"),
)


@functools.cache
def _course_hash() -> bytes:
    """All that decides about a grade, as a hash."""
    digest = hashlib.sha256()
    for pattern in _DECIDING:
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.digest()
