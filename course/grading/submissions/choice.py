"""Which of a student's files counts as the module of a lesson, and what is said of the others."""

import re

from course.build import stub_of
from course.grading.names import shown
from course.grading.submissions.file_names import is_module, is_notebook, is_renamed, name_of
from course.grading.submissions.files import File, place, read_bytes
from course.grading.submissions.own_files import Reading
from course.syllabus import find_lesson

MAX_COMPARED = 10
"""Copies of a module that are looked into, to see whether they differ."""
_NOT_WORK = {"solutions", "catalogue", "plots", "benchmarks", "site-packages"}
"""Folders whose rope.py is not the student's: the course's own, and other packages."""
_NOT_MEANT = _NOT_WORK | {"notebooks", "experiments"}
"""Folders where 5_rope.ipynb is in its place, and not there instead of rope.py."""


def choose(stem: str, alike: list[File], reading: Reading) -> File | None:
    """The file that counts as the module of a lesson.

    Of several it is one that is more than the stub, then the one in exercises/, then one in a
    folder called like the lesson, 5_rope, then the nearest to the top. Of those that are left, the
    last counts: "attempt 10" comes after "attempt 9", and what was handed in later on Canvas has
    the higher number there.
    """
    own = [file for file in alike if is_module(file.path, stem)]
    work = [file for file in own if not _NOT_WORK.intersection(file.path[1:-1])]
    if own and not work:
        reading.note(own[0].path, "is not the student's own place: it was not read")
    if not work:
        renamed = (file for file in alike if is_renamed(file.path, stem))
        work = [file for file in renamed if not _NOT_WORK.intersection(file.path[1:-1])]
    if 1 < len(work) <= MAX_COMPARED:
        work = [file for file in work if not _is_same(file, stub_of(stem))] or work
    folders = {stem, f"{find_lesson(stem).number}_{stem}"}

    def rank(file: File) -> tuple:
        *above, name = file.path
        return (
            above[-1:] == ["exercises"],
            not folders.isdisjoint(part.lower().removesuffix(".zip") for part in above[1:]),
            -len(above),
            [_in_order(part) for part in above],
            name == f"{stem}.py",
            _in_order(name),
        )

    return max(reversed(work), key=rank, default=None)  # of equals the last, as who unpacks a zip


def _in_order(name: str) -> list:
    """A name to sort by: numbers in it are compared as numbers; who is late is not last for it.

    >>> sorted(["attempt 10", "attempt 9", "work (1).zip", "work.zip"], key=_in_order)
    ['attempt 9', 'attempt 10', 'work.zip', 'work (1).zip']
    """
    stem = name.replace("LATE_", "").lower().removesuffix(".zip").removesuffix(".py")
    parts = re.split("([0-9]+)", stem)
    parts[1::2] = [(len(digits), digits) for part in parts[1::2] for digits in [part.lstrip("0")]]
    return parts


def note_others(
    stem: str,
    alike: list[File],
    chosen: File | None,
    module: bytes | None,
    reading: Reading,
) -> None:
    """Notes on what was taken for a lesson where that may surprise, and on what was not."""
    name, compared = f"{stem}.py", False
    others = [
        file
        for file in alike
        if file is not chosen and not _NOT_MEANT.intersection(file.path[1:-1])
    ]
    if module is not None:
        others = [file for file in others if not is_notebook(file.path)]
        if compared := len(others) <= MAX_COMPARED:
            others = [file for file in others if not _is_same(file, module)]
    if chosen:
        is_so_called = is_module if is_module(chosen.path, stem) else is_renamed
        copies = [file for file in others if is_so_called(file.path, stem)]
        others = [file for file in others if not is_so_called(file.path, stem)]
        if copies:
            copies_of = f"{len(copies) + 1} {'different ' if compared else ''}copies of {name}"
            reading.notes.append(f"{copies_of}: {shown(*chosen.path)} was taken")
        elif name_of(chosen.path) != name and (len(chosen.path) > 1 or is_so_called is is_renamed):
            reading.note(chosen.path, f"was taken for {name}")
    for file in others:
        if module is not None:
            why = f"{place(chosen.path)} counts"
        elif is_notebook(file.path):
            why = f"it is a notebook, and {name} is graded"
        else:
            why = f"it is not called {name}"
        reading.note(file.path, f"was not read: {why}")


def _is_same(file: File, module: bytes) -> bool:
    try:
        return read_bytes(file).splitlines() == module.splitlines()
    except Exception:  # see `reason`
        return False
