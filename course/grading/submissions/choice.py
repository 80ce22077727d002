"""Which of a student's files counts as the module of a lesson, and what is said of the others."""

import re

from course.grading.names import shown
from course.grading.submissions.file_names import is_module, is_notebook, is_renamed, name_of
from course.grading.submissions.files import File, place, read_bytes
from course.grading.submissions.own_files import Reading
from course.syllabus import find_lesson, stub_of

MAX_COMPARED = 10
"""Copies of a module that are looked into, to see whether they differ."""
_CLOSE = 2
"""Seconds: a zip counts in twos, and what is copied together may differ by as much."""
_NOT_WORK = {"solutions", "mistakes", "plots", "benchmarks"}
"""Folders whose rope.py is not the student's, but the course's."""
_NOT_MEANT = _NOT_WORK | {"notebooks", "experiments"}
"""Folders where 5_rope.ipynb is in its place, and not there instead of rope.py."""


def choose(stem: str, alike: list[File], reading: Reading) -> File | None:
    """The file that counts as the module of a lesson.

    Of several it is one that is more than the stub, then the one in exercises/, then one in a
    folder called like the lesson, 5_rope, then the nearest to the top. Of those that are left, the
    last counts: "attempt 10" comes after "attempt 9", and what was handed in later on Canvas has
    the higher number there. In its folder there may be a "rope (1).py", too: the newer counts.
    """
    own = [file for file in alike if is_module(file.path, stem)]
    placed = [file for file in alike if not _NOT_WORK.intersection(file.path[1:-1])]
    folders_of_own = {file.path[:-1] for file in placed if is_module(file.path, stem)}
    if own and not folders_of_own:
        reading.note(own[0].path, "is not the student's own place: it was not read")
    work = [
        file
        for file in placed
        if is_module(file.path, stem)
        or (is_renamed(file.path, stem) and _lies_in(file, folders_of_own))
    ]
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

    if len(work) <= 1:  # as nearly always
        return next(iter(work), None)
    best = max(reversed(work), key=rank)
    beside = {file.path: file for file in work if file.path[:-1] == best.path[:-1]}
    return max(reversed(_newest([*beside.values()])), key=rank)  # of one name the last, as unpacked


def _lies_in(renamed: File, folders: set[tuple[str, ...]]) -> bool:
    """Whether a renamed file may count: beside a rope.py, if there is one. On Canvas all are so."""
    return not folders or (len(renamed.path) > 1 and renamed.path[:-1] in folders)


def _newest(files: list[File]) -> list[File]:
    """The newest of some files in one folder; several, if it is not known which that is."""
    if any(file.modified is None for file in files):
        return files
    last = max(file.modified for file in files)
    return [file for file in files if last - file.modified <= _CLOSE]


def _is_newer(file: File, than: File) -> bool:
    """Whether a file is known to be the newer of two in one folder."""
    return file.path[:-1] == than.path[:-1] and _newest([than, file]) == [file]


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
            is_newest = all(_is_newer(chosen, than=copy) for copy in copies)
            newest = ", the newest" if is_newest else ""
            reading.notes.append(f"{copies_of}: {shown(*chosen.path)} was taken{newest}")
        elif name_of(chosen.path) != name and (len(chosen.path) > 1 or is_so_called is is_renamed):
            reading.note(chosen.path, f"was taken for {name}")
    for file in others:
        if module is not None:
            why = f"{place(chosen.path)} {_why_it_counts(stem, chosen, file)}"
        elif is_notebook(file.path):
            why = f"it is a notebook, and {name} is graded"
        else:
            why = f"it is not called {name}"
        reading.note(file.path, f"was not read: {why}")


def _why_it_counts(stem: str, chosen: File, other: File) -> str:
    """Why a module counts and not another file, as the rest of a sentence."""
    is_like_it = is_renamed(other.path, stem) and chosen.path[:-1] == other.path[:-1]
    if len(other.path) == 1 or not is_like_it or _is_same(other, stub_of(stem)):
        return "counts"
    return "is newer" if _is_newer(chosen, other) else "counts, and which is newer is not known"


def _is_same(file: File, module: bytes) -> bool:
    try:
        return read_bytes(file).splitlines() == module.splitlines()
    except Exception:  # see `reason`
        return False
