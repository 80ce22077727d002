"""The file that counts as the module of a lesson, and notes on the others."""

import re
from collections import defaultdict
from collections.abc import Mapping

from course import root
from course.core import answers
from course.core.copies import original_name
from course.core.files import MAX_MODULE_BYTES
from course.core.stubs import stubs_in
from course.core.syllabus import find_lesson
from course.grading.names import shown
from course.grading.submissions.archives import without_ending
from course.grading.submissions.file_names import (
    OF_COURSE,
    is_code,
    is_module,
    is_notebook,
    is_renamed,
    looks_like,
    may_be_module,
    name_of,
    names_lesson,
    stems,
)
from course.grading.submissions.files import File, place, source_of_module
from course.grading.submissions.reading import Reading
from course.testing.result import listed

MAX_NOTEBOOK_BYTES = 20 << 20
MAX_LOOKED_INTO = 64 << 20
"""Bytes of other files that are looked into, to see whether they have exercises in them."""
MAX_COMPARED = 10
"""Copies of a module that are looked into, to see whether they differ."""
MAX_NAMED = 20
"""Files that were not taken, each with a note; beyond that they are counted."""
_CLOSE = 2
"""Seconds: a zip counts in twos, and files that are copied together may differ by as much."""
_NOT_WORK = {"solutions", "mistakes", "figures", "benchmarks"}
"""Folders whose rope.py is the course's, not the student's, where only parts of a clone are."""
_OF_CLONE = OF_COURSE - {"notebooks", "data"}
"""Folders that a clone has and that are not handed in otherwise, but for `exercises`."""
_NOT_MEANT = _NOT_WORK | {"notebooks", "experiments"}
"""Folders where 5_rope.ipynb is in its place, and not there instead of rope.py."""


def without_the_course(files: list[File]) -> tuple[list[File], list[File]]:
    """Return the files without those of the course itself: of a clone only `exercises/` counts.

    A folder is a clone if it has two or more of the course's folders; notebooks are handed in too.

    Returns:
        Those, and the files of the course where a student may have written instead.
    """
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for file in (one for one in files if may_be_module(one.path)):
        for depth in range(1, len(file.path) - 1):
            found[file.path[:depth]].add(file.path[depth])
    clones = {folder for folder, names in found.items() if len(names & _OF_CLONE) > 1}

    def of_course(file: File) -> str:
        inner = [depth for depth in range(1, len(file.path) - 1) if file.path[:depth] in clones]
        return file.path[inner[-1]] if inner else ""

    own = [file for file in files if of_course(file) not in _OF_CLONE - {"exercises"}]
    written = [file for file in files if of_course(file) in ("solutions", "tests")]
    return own, [file for file in written if is_code(file.path) and not _is_as_given_out(file)]


def _is_as_given_out(file: File) -> bool:
    """Tell whether a file of the course is as it is here."""
    try:
        given_out = answers.read(root().joinpath(*file.path[-2:]))
    except OSError:
        return False
    return _is_same(file, given_out)


def choose(stem: str, candidates: list[File], reading: Reading) -> File | None:
    """Return the file that counts as the module of a lesson, of those that may be meant as it.

    Of several it is one with an exercise done, then the one in exercises/, then one in a
    folder called like the lesson, 5_rope, then the nearest to the top. Of those that are left, the
    last counts: "attempt 10" comes after "attempt 9", and what was handed in later on Canvas has
    the higher number there. In its folder there may be a "rope (1).py", too: the newer counts. Only
    if there is no such file does another count that has the lesson in its name.
    """
    placed = [file for file in candidates if not _NOT_WORK.intersection(file.path[1:-1])]
    folders = {file.path[:-1] for file in placed if is_module(file.path, stem)}
    own = [file for file in candidates if is_module(file.path, stem)]
    if own and not folders:
        reading.note(
            own[0].path, "is in a folder of the course, not of the student: it was not read"
        )

    def may_count(file: File) -> bool:
        """Let a renamed file count next to a rope.py, if there is one, but not on Canvas."""
        is_next_to = not folders or (len(file.path) > 1 and file.path[:-1] in folders)
        return is_module(file.path, stem) or (is_renamed(file.path, stem) and is_next_to)

    def rank(file: File) -> tuple:
        *above, name = file.path
        of_lesson = {stem, f"{find_lesson(stem).number}_{stem}"}
        return (
            not any(map(_OLD.search, file.path[1:])),
            above[-1:] == ["exercises"],
            not of_lesson.isdisjoint(without_ending(part.lower()) for part in above[1:]),
            -len(above),
            [_in_order(part) for part in above],
            name == f"{stem}.py",
            _in_order(name),
        )

    work = [file for file in placed if may_count(file)]
    taken = {file.path for file in work}
    others = [file for file in placed if file.path not in taken]  # rope_v2.py, Rope_final.py
    others = [
        file for file in others if original_name(name_of(file.path)).endswith((".py", ".txt"))
    ]
    if others and all(_is_untouched(file, stem) for file in work[:MAX_COMPARED]):
        work = [file for file in others[:MAX_COMPARED] if defines(file, stem)] or work or others
    if 1 < len(work) <= MAX_COMPARED:
        work = [file for file in work if not _is_untouched(file, stem)] or work
        work = [file for file in work if defines(file, stem)] or work
    if len(work) <= 1:  # as nearly always
        return next(iter(work), None)
    best = max(reversed(work), key=rank)
    in_folder = {file.path: file for file in work if file.path[:-1] == best.path[:-1]}
    return max(reversed(_newest([*in_folder.values()])), key=rank)  # as if unpacked: the last


_OLD = re.compile(r"(?<![a-z])(?:old|alt|backup|bak|draft|previous)(?![a-z])", re.IGNORECASE)
"""What people call what they have replaced."""


def _newest(files: list[File]) -> list[File]:
    """Return the newest of some files in one folder; several, if it is not known which that is."""
    if any(file.modified is None for file in files):
        return files
    last = max(file.modified for file in files)
    return [file for file in files if last - file.modified <= _CLOSE]


def _is_newer(file: File, than: File) -> bool:
    """Tell whether a file is known to be the newer of two in one folder."""
    return file.path[:-1] == than.path[:-1] and _newest([than, file]) == [file]


def _in_order(name: str) -> list:
    """Return a name to sort by: its numbers are compared as numbers; being late does not count.

    >>> sorted(["attempt 10", "attempt 9", "work (1).zip", "work.zip"], key=_in_order)
    ['attempt 9', 'attempt 10', 'work.zip', 'work (1).zip']
    """
    name = _DATE.sub(_as_number, name)
    stem = without_ending(name.replace("LATE_", "").lower()).removesuffix(".py")
    parts = re.split("([0-9]+)", stem)
    parts[1::2] = [(len(digits), digits) for part in parts[1::2] for digits in [part.lstrip("0")]]
    return parts


_DATE = re.compile(r"([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4}) (\d{1,2}):?(\d\d) ([AP])M")
"""As Brightspace writes the time of an attempt: Nov 28, 2026 1159 PM."""


def _as_number(date: re.Match) -> str:
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    month = months.index(date[1]) if date[1] in months else 0
    hour = int(date[4]) % 12 + 12 * (date[6] == "P")
    return f"{date[3]}{month:02}{int(date[2]):02}{hour:02}{date[5]}"


def choose_notebook(name: str, files: list[File]) -> File | None:
    """Return the file that counts as a lesson's notebook: no copy, then the nearest to the top."""
    found = [
        file
        for file in files
        if is_module(file.path, name, ".ipynb") or is_renamed(file.path, name, ".ipynb")
    ]
    return min(
        reversed(found),
        key=lambda file: (not is_module(file.path, name, ".ipynb"), len(file.path)),
        default=None,
    )


def exercises_to_do(stem: str, module: bytes | None) -> set[str]:
    """Return the exercises of a lesson that its module does not define, or leaves to do."""
    lesson, source = find_lesson(stem), module or b""
    return {one.name for one in lesson.exercises} - (_defined(source) - stubs_in(source, lesson))


def files_meant(stem: str, files: list[File], to_do: set[str]) -> list[File]:
    """Return the files that may be meant as a lesson; of any kind, if all of it is to do."""
    is_undone = len(to_do) == len(find_lesson(stem).exercises)
    may_be_meant = names_lesson if is_undone else looks_like
    return [file for file in files if may_be_meant(file.path, stem)]


def note_code_elsewhere(
    files: list[File],
    changed: list[File],
    to_do: Mapping[str, set[str]],
    meant: Mapping[str, list[File]],
    reading: Reading,
) -> None:
    """Note exercises that are to do in one lesson's module, and defined in another file.

    Args:
        changed: files of the course that are not as they were given out.
        to_do: the exercises that a lesson's module leaves to do, by its stem.
        meant: see `files_meant`; by the stem.
    """
    files = sorted(files, key=lambda file: len(file.path))
    notebooks = [file for file in files if is_notebook(file.path)]
    texts = [file for file in files if is_code(file.path) and not is_notebook(file.path)]
    texts = [file for file in texts if not _NOT_MEANT.intersection(file.path[1:-1])] + changed
    texts.sort(key=lambda file: not file.path[-1].lower().endswith(".py"))
    left = min(MAX_LOOKED_INTO, reading.limits.left // 2)
    for file in texts[:MAX_NAMED] + notebooks[:MAX_NAMED]:
        at_most = min(left, MAX_NOTEBOOK_BYTES if is_notebook(file.path) else MAX_MODULE_BYTES)
        try:
            source = file.read(at_most)
        except Exception:  # see `reason`
            left -= at_most
            continue
        left -= len(source)
        defined = _defined(source)
        for stem, names in to_do.items():
            if names.isdisjoint(defined) or _is_told(file, stem, meant[stem]):
                continue
            lesson = find_lesson(stem)
            here = names & (defined - stubs_in(source, lesson))
            if written := [one.name for one in lesson.exercises if one.name in here]:
                where = f"{stem}.py"
                if file.path[-1] == where:
                    where = f"exercises/{where}"
                says = f"has code for {listed(written)}, which counts only in {where}"
                reading.note(file.path, says)


def _is_told(file: File, stem: str, meant: list[File]) -> bool:
    """Tell whether other notes tell of a file, or it is a notebook of another lesson."""
    if is_notebook(file.path):
        others = set(stems()) - {stem}
        return any(is_renamed(file.path, other, ".ipynb") for other in others)
    return file in meant


_DEFINED = re.compile(rb'(?:^|"|\\n)(?:def|class) +(\w+)', re.MULTILINE)
"""In the text of a module or a notebook, where a line or a cell begins with a quote or `\\n`."""


def _defined(source: bytes) -> set[str]:
    """Return the names of the functions and classes in the text of a module or notebook."""
    return {name.decode() for name in _DEFINED.findall(source)}


def note_others(
    stem: str, candidates: list[File], chosen: File | None, module: bytes | None, reading: Reading
) -> None:
    """Note what was taken for a lesson where that may surprise, and what was not taken.

    Args:
        module: what is in the chosen file, if it could be read.
    """
    name, different = f"{stem}.py", ""
    others = [
        file
        for file in candidates
        if file is not chosen and not _NOT_MEANT.intersection(file.path[1:-1])
    ]
    if module is not None:
        others = [file for file in others if not is_notebook(file.path)]
        if len(others) <= MAX_COMPARED:
            others = [file for file in others if not _is_same(file, module)]
            different = "different "
    if chosen and module is not None:
        is_so_called = is_module if is_module(chosen.path, stem) else is_renamed
        copies = [file for file in others if is_so_called(file.path, stem)]
        others = [file for file in others if not is_so_called(file.path, stem)]
        if copies:
            is_newest = all(_is_newer(chosen, than=copy) for copy in copies)
            reading.notes.append(
                f"{len(copies) + 1} {different}copies of {name}: {shown(*chosen.path)} was graded"
                f"{', the newest' if is_newest else ''}"
            )
        elif name_of(chosen.path) != name and (len(chosen.path) > 1 or is_so_called is is_renamed):
            reading.note(chosen.path, f"was graded as {name}")
    if len(others) > MAX_NAMED:
        reading.notes.append(f"{len(others):,} files that may be meant as {name} were not graded")
        return
    for file in others:
        if chosen:
            why = f"{place(chosen.path)} {_why_it_counts(stem, chosen, file)}"
        elif is_notebook(file.path):
            why = f"it is a notebook, but {name} is what counts"
        else:
            why = f"it is not called {name}"
        reading.note(file.path, f"was not read: {why}")


def _why_it_counts(stem: str, chosen: File, other: File) -> str:
    """Return why a module counts and not another file, as the rest of a sentence."""
    is_like_it = is_renamed(other.path, stem) and chosen.path[:-1] == other.path[:-1]
    if len(other.path) == 1 or not is_like_it or _is_untouched(other, stem):
        return "counts"
    return "is newer" if _is_newer(chosen, other) else "counts, and it isn't known which is newer"


def defines(file: File, stem: str) -> bool:
    """Tell whether a file defines any exercise of a lesson, or could not be read."""
    names = "|".join(one.name for one in find_lesson(stem).exercises)
    try:
        source = source_of_module(file.read())
        return re.search(rf"\b(def|class)\s+({names})\b".encode(), source) is not None
    except Exception:  # see `reason`
        return True


def _is_untouched(file: File, stem: str) -> bool:
    try:
        return is_stub(file.read(), stem)
    except Exception:  # see `reason`
        return False


def is_stub(source: bytes, stem: str) -> bool:
    """Tell whether this is a stub in which no exercise was done, whatever else was changed."""
    has_any = bool(stubs_in(source, find_lesson(stem)))
    return has_any and exercises_to_do(stem, source) == exercises_to_do(stem, None)


def _is_same(file: File, module: bytes) -> bool:
    try:
        return file.read().splitlines() == module.splitlines()
    except Exception:  # see `reason`
        return False
