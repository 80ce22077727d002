"""A student's own functions, right or wrong: their tables, and what the course knows of them.

Each scheme's functions run in a process of their own, for a while at most: what they raise, print,
change or never finish leaves the others as they are.
"""

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course import root
from course.lab.positions import EXERCISES, NotShown, table_of
from course.student import dry_run
from course.student.borrow import written_in
from course.student.progress import stubs_in
from course.syllabus import Lesson, Status, find_lesson
from course.testing.outcomes import Wrong
from course.testing.result import LessonResult

SECONDS = 30
"""How long the functions of one scheme may take, with the start of their process."""


def own_tables(length: int, learned: Tensor) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the table of each scheme, and for each that has none a sentence on why.

    A scheme of which every exercise is still to do has neither.
    """
    begun = [scheme for scheme in EXERCISES if own_exercises(scheme)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        torch.save(learned, Path(scratch) / "learned.pt")
        with ThreadPoolExecutor(2) as threads:
            found = list(threads.map(lambda scheme: _run(scheme, length, Path(scratch)), begun))
    tables = {scheme: one for scheme, one in zip(begun, found, strict=True)}
    return (
        {scheme: one for scheme, one in tables.items() if isinstance(one, Tensor)},
        {scheme: one for scheme, one in tables.items() if isinstance(one, str)},
    )


def own_exercises(scheme: str) -> list[str]:
    """Return the exercises of a scheme that are more than stubs; all if there is no file."""
    stem, names = EXERCISES[scheme]
    lesson = find_lesson(stem)
    try:
        stubs = stubs_in(lesson.module().read_bytes(), lesson)
    except OSError:
        stubs = set()
    return [name for name in names if name not in stubs]


def _run(scheme: str, length: int, scratch: Path) -> Tensor | str:
    module = find_lesson(EXERCISES[scheme][0]).module()
    command = [sys.executable, "-m", __name__, scheme, str(module), str(length), str(scratch)]
    nothing = subprocess.DEVNULL
    names = " and ".join(EXERCISES[scheme][1])
    try:
        subprocess.run(
            command, cwd=root(), stdin=nothing, stdout=nothing, stderr=nothing, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"{names} cannot be shown: after {SECONDS} seconds there was no result."
    said = scratch / f"{scheme}.txt"
    if said.exists():
        return said.read_text(encoding="utf-8")
    try:
        return torch.load(scratch / f"{scheme}.pt", weights_only=True)
    except Exception:  # it was never written, or not to its end
        return f"{names} cannot be shown: the process that called them ended without a result."


def _main(scheme: str, module: str, length: str, scratch: str) -> None:
    lesson, folder = find_lesson(EXERCISES[scheme][0]), Path(scratch)
    try:
        names = written_in(Path(module), lesson)
        learned = torch.load(folder / "learned.pt", weights_only=True)
        torch.save(table_of(scheme, names, int(length), learned).clone(), folder / f"{scheme}.pt")
    except (NotShown, Wrong) as wrong:
        sentence = f"{str(wrong).partition(chr(10))[0].rstrip('.')}."
        (folder / f"{scheme}.txt").write_text(sentence, encoding="utf-8")


# --- what the tests say -------------------------------------------------------------------------


def own_results() -> list[dict[str, Any]]:
    """Return for each exercise of the page whose it is, its status, and the mistake if it is known.

    The graded tests of each lesson that was begun are run.
    """
    modules = {lesson.stem: lesson.module().read_bytes() for lesson in _begun()}
    results, _ = dry_run.run(modules, diagnosed=True)
    return [
        _about(scheme, stem, name, results.get(stem))
        for scheme, (stem, names) in EXERCISES.items()
        for name in names
    ]


def _begun() -> list[Lesson]:
    schemes = [scheme for scheme in EXERCISES if own_exercises(scheme)]
    lessons = {EXERCISES[scheme][0]: find_lesson(EXERCISES[scheme][0]) for scheme in schemes}
    return [lesson for lesson in lessons.values() if lesson.module().is_file()]


def _about(scheme: str, stem: str, name: str, result: LessonResult | None) -> dict[str, Any]:
    found = {one.name: one for one in result.exercises}.get(name) if result else None
    is_own = name in own_exercises(scheme)
    return {
        "name": name,
        "scheme": scheme,
        "lesson": stem,
        "whose": "yours" if is_own else "borrowed",
        "status": str(found.status) if found else str(Status.NOT_RUN),
        "says": found.says if found else "",
        "look": found.look if found else "",
    }


if __name__ == "__main__":
    _main(*sys.argv[1:])
