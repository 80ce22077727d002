"""The submissions of a class, one after the other."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from course.grading.names import exact_name, shown
from course.grading.reports.message import WHOSE
from course.grading.submissions.choice import choose, note_others
from course.grading.submissions.file_names import (
    EVERYBODYS,
    is_late,
    is_loose_module,
    is_module,
    looks_like,
    stems,
)
from course.grading.submissions.files import (
    Archive,
    Folder,
    could_not_read,
    is_of_this_machine,
    read_bytes,
    reason,
)
from course.grading.submissions.layout import SubmissionsError, find_students, open_class
from course.grading.submissions.own_files import Reading, files_of
from course.grading.submissions.owners import Owner, Sources, ambiguous, owners_of, told_apart

MAX_NOTES = 20


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        student: a name that no other student of the class has, in letters, digits, spaces and
            `-_.,'+@()~` alone: safe in a terminal, a table or a file name.
        modules: the source of each lesson that was found, by the lesson's stem, as it came.
        notes: a sentence for everything that is odd.
        unread: by the lesson's stem, why this machine could not read what may be there, or whose
            it is is not known. That is not the student's fault, so such a lesson is not graded.
        refused: by the lesson's stem, why what was handed in is no module to grade, as the rest
            of a sentence. That earns nothing.
        canvas_id: the student's number on Canvas, if the class came from there.
        late: the stems of the lessons whose file Canvas has marked as late.
    """

    student: str
    modules: Mapping[str, bytes]
    notes: tuple[str, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    canvas_id: str = ""
    late: frozenset[str] = frozenset()


def read_submissions(path: str | Path) -> Iterator[Submission]:
    """The submissions of a class, by student, each read when its turn comes.

    The class must not be changed meanwhile.

    Args:
        path: a folder or a zip, in one of the layouts above.

    Raises:
        SubmissionsError: at once, if it is neither or if nobody handed anything in.
    """
    with contextlib.ExitStack() as stack:
        source, names = _found(Path(path).resolve(), stack)
        owners = owners_of(names)
        if not owners:
            raise SubmissionsError(f"{shown(path)} holds no submissions")
        return _read_all(source, owners, stack.pop_all())


def modules_beside(path: str | Path) -> list[str]:
    """The modules that lie beside the students' folders: whose they are, no name says.

    Raises:
        SubmissionsError: there is no class.
    """
    with contextlib.ExitStack() as stack:
        _, names = _found(Path(path).resolve(), stack)
        return [shown(name) for name, kind in names.items() if is_loose_module(name, kind)]


def _found(path: Path, stack: contextlib.ExitStack) -> tuple[Folder | Archive, Sources]:
    try:
        return find_students(open_class(path, stack), path)
    except OSError as error:
        raise SubmissionsError(f"{shown(path)} cannot be read: {error.strerror}") from None


def _read_all(
    source: Folder | Archive, owners: Mapping[Owner, Sources], stack: contextlib.ExitStack
) -> Iterator[Submission]:
    unclear = ambiguous(owners)
    with stack:
        for student, owner, is_alike in sorted(told_apart(owners), key=lambda one: one[0]):
            if owner in unclear:
                yield Submission(student, {}, (), dict.fromkeys(stems(), unclear[owner]))
                continue
            notes = []
            if is_alike:
                exact = exact_name(next(iter(owners[owner])))
                notes.append(f"{WHOSE}: {exact}; another student's name looks the same")
            read = _read(student, source, owners[owner], notes)
            yield replace(read, canvas_id=owner.number) if owner.is_on_canvas else read


def _read(student: str, source: Folder | Archive, names: Sources, notes: list[str]) -> Submission:
    marked = {name for name, kind in names.items() if is_late(name, kind)}
    late: set[str] = set()
    modules: dict[str, bytes] = {}
    unread: dict[str, str] = {}
    refused: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        reading, files = Reading(stack, notes), []
        try:
            files.extend(files_of(source, names, reading))
        except OSError as error:
            reading.note_error(tuple(names), error)
        for name in names:
            if EVERYBODYS.fullmatch(name.lower()):
                named = f"; its manifest names {reading.named}" if reading.named else ""
                zips = f"`course submit` calls everybody's zip {shown(name)}{named}"
                notes.insert(0, f"{WHOSE}, is open: {zips}")
        for stem in stems():
            alike = [file for file in files if looks_like(file.path, stem)]
            refused.update((stem, file.odd) for file in reading.odd if is_module(file.path, stem))
            if chosen := choose(stem, alike, reading):
                late.update([stem] if chosen.path[0] in marked else [])
                try:
                    modules[stem] = read_bytes(chosen)
                except Exception as error:
                    reading.note(chosen.path, reason(error))
                    refused[stem] = reason(error)
                    if is_of_this_machine(error):
                        unread[stem] = f"{could_not_read(chosen.path, error)}."
            if stem not in modules and reading.closed:
                unread.setdefault(stem, f"{reading.closed[0]}, where {stem}.py may be.")
            note_others(stem, alike, chosen, modules.get(stem), reading)
    if not modules and not notes:
        for name in names:
            with contextlib.suppress(OSError):  # it is no folder
                reading.met += source.inside(name).names()
        notes.append(f"there is no lesson to grade{_only(reading.met)}")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES - 1 :] = [f"and {len(notes) - MAX_NOTES + 1:,} notes more"]
    return Submission(student, modules, tuple(notes), unread, refused, late=frozenset(late))


def _only(met: list[str]) -> str:
    """What there is instead of a lesson, as the end of a sentence.

    >>> _only(["Essay.docx"]), _only(["a", "b", "c", "d", "e"]), _only([])
    (', only Essay.docx', ', only a, b, c and 2 more', '')
    """
    if not met:
        return ""
    more = f" and {len(met) - 3:,} more" if len(met) > 3 else ""
    return f", only {', '.join(map(shown, met[:3]))}{more}"
