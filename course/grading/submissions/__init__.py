"""The work that a class handed in: read, never run, never unpacked to the disk.

A class is a folder or a zip, in any of these layouts; which one it is, is seen by looking.

    jane/rope.py                               a folder per student, the modules anywhere in it;
    jane/what-and-where/exercises/rope.py      in a clone those in exercises/ count
    jane.zip                                   a zip per student, with the same inside
    submitted/jane/homework/rope.py            nbgrader; the folder above `submitted` will do too
    doejane_LATE_12345_6789_rope.py            Canvas: loose files or zips
    Week 4_jdoe_attempt_2026-11-20-23-59-01_rope.py    Blackboard: the same
    Jane Doe_12345_assignsubmission_file_/     Moodle: a folder per student, or loose files

A single submission is a class of one. Nobody who handed something in is left out: a note names what
cannot be read, or should not be. If two have the same name, such as jane.zip and jane/, neither is
read until one is gone.

    owners.py                               the students, and where in a class their work is
    archives.py                             the one place that opens archives
    limits.py                               what one student's files may cost
    files.py, reading.py                    the files of a student, listed and opened safely
    process.py                              a process that reads a class, and can be killed
    choice.py                               which of them counts
    file_names.py                           the meaning of a file's name
"""

import contextlib
import math
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course.grading.names import OWNER_UNCLEAR, shown
from course.grading.submissions.archives import is_archive, members_of
from course.grading.submissions.choice import (
    MAX_NOTEBOOK_BYTES,
    choose,
    choose_notebook,
    exercises_to_do,
    files_meant,
    is_stub,
    note_code_elsewhere,
    note_others,
    without_the_course,
)
from course.grading.submissions.file_names import (
    is_notebook,
    is_unnamed,
    looks_like,
    platform_name,
    stems,
)
from course.grading.submissions.files import (
    Archive,
    File,
    Folder,
    open_regular,
    packed_files,
    place,
    source_of_module,
)
from course.grading.submissions.limits import (
    OverLimit,
    SubmissionLimits,
    Unreadable,
    is_of_this_machine,
    reason,
)
from course.grading.submissions.owners import (
    Sources,
    Student,
    SubmissionsError,
    find_students,
    prefix_of_clones,
    students_of,
)
from course.grading.submissions.reading import Reading

MAX_NOTES = 20
MAX_CLASS_DIRECTORY_BYTES = 64 << 20
"""Of the archive of a class."""


@dataclass(frozen=True)
class Submission:
    """The work that one student handed in.

    Attributes:
        student: a name that no other student of the class has, in letters, digits, spaces and
            `-_.,'+@()~` alone: safe in a terminal, a table or a file name.
        modules: the source of each lesson that was found, by the lesson's stem, as it came.
        notes: a sentence for everything that is odd.
        unread: by the lesson's stem, why nobody could read what may be there, such as a damaged
            zip, or why the owner is unclear. Such a lesson is not graded, and is nobody's zero.
        named: the stems of the lessons that a file is called by, read or not.
        canvas_id: the student's number on Canvas, if the class came from there.
        moodle_id: the number that Moodle gave the student in this assignment, if from there.
        late: the stems of the lessons whose file Canvas marks as late.
        notebook: the bytes of the notebook that was looked for, if it was found.
    """

    student: str
    modules: Mapping[str, bytes]
    notes: tuple[str, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    canvas_id: str = ""
    moodle_id: str = ""
    late: frozenset[str] = frozenset()
    notebook: bytes | None = None


@dataclass(frozen=True)
class SubmittedClass:
    """The work of a class, open to be read.

    Attributes:
        students: who handed something in, by name.
    """

    students: list[Student]
    _source: Folder | Archive

    def read(self, student: Student, notebook: str = "") -> Submission:
        """Return what a student handed in.

        Args:
            notebook: the name, without an ending, of a notebook to look for as well.
        """
        if student.unclear:
            return Submission(
                student.name,
                {},
                (),
                dict.fromkeys(stems(), student.unclear),
                canvas_id=student.canvas_id,
                moodle_id=student.moodle_id,
            )
        with contextlib.ExitStack() as stack:
            reading = Reading(stack)
            try:
                submission = _read(student, self._source, reading, notebook)
                reading.limits.spend()  # it may be exceeded where any error means damage
            except OverLimit as why:
                return unread_submission(student.name, why)
            except MemoryError:
                return unread_submission(student.name, "needs too much memory to read")
            return submission


def unread_submission(student: str, why: object) -> Submission:
    """Return the submission of a student of which nothing is read.

    Args:
        why: what is wrong with it, as the rest of a sentence.
    """
    note = f"nothing was graded, because the submission {why}"
    return Submission(student, {}, (note,), dict.fromkeys(stems(), f"The submission {why}."))


@contextlib.contextmanager
def open_class(path: str | Path, numbers: Collection[str] = ()) -> Iterator[SubmittedClass]:
    """Open the work of a class, which must not be changed meanwhile.

    Args:
        path: a folder or an archive, in one of the layouts above.
        numbers: see `students_of`.

    Raises:
        SubmissionsError: it is neither, or nobody handed anything in.
    """
    with contextlib.ExitStack() as stack:
        source, names = _find_class(Path(path), stack)
        students = students_of(names, prefix_of_clones(source, names), numbers)
        if not students:
            raise SubmissionsError(f"{shown(path)} has no submissions in it")
        yield SubmittedClass(students, source)


def _find_class(path: Path, stack: contextlib.ExitStack) -> tuple[Folder | Archive, Sources]:
    if not os.path.lexists(path):
        raise SubmissionsError(f"{shown(path)} does not exist")
    try:
        if path.is_dir():
            return find_students(Folder(path.resolve()), path.resolve())
        if not path.is_file() or not is_archive(path.name):
            raise SubmissionsError(f"{shown(path)} is neither a folder nor a zip")
        file = stack.enter_context(open_regular(path.resolve()))
        limits = SubmissionLimits(math.inf, math.inf, MAX_CLASS_DIRECTORY_BYTES)
        members = members_of(file, limits, stack)
        return find_students(Archive(packed_files(members)), path.resolve())
    except OSError as error:
        raise SubmissionsError(f"{shown(path)} cannot be read: {error.strerror}") from None
    except Unreadable as error:
        raise SubmissionsError(f"{shown(path)} {error}") from None
    except MemoryError:
        why = "needs too much memory to read: unpack it, and grade the folder"
        raise SubmissionsError(f"{shown(path)} {why}") from None


def _read(
    student: Student, source: Folder | Archive, reading: Reading, notebook: str
) -> Submission:
    notes = reading.notes
    files, changed = without_the_course(list(reading.files(source, student.sources)))
    for name in filter(is_unnamed, student.sources):
        hint = f"; its manifest names {reading.named}" if reading.named else ""
        zips = f"`course submit` gives every zip the name {shown(name)}{hint}"
        notes.insert(0, f"{OWNER_UNCLEAR}: {zips}")
    modules, unread, named, late = {}, {}, set(), set()
    to_do, meant = {}, {}
    for stem in stems():
        similar = [file for file in files if looks_like(file.path, stem)]
        if chosen := choose(stem, similar, reading):
            top = chosen.path[0]
            of_platform = platform_name(top, student.sources[top])
            if of_platform and of_platform["late"]:
                late.add(stem)
            try:
                modules[stem] = source_of_module(chosen.read())
            except Exception as error:
                reading.note(chosen.path, reason(error))
                unread[stem] = f"{_could_not_read(chosen.path, error)}."
        if chosen or any(looks_like(path, stem) for path, _ in reading.failed):
            named.add(stem)
        holding = [(path, why) for path, why in reading.failed if _may_hold(path, why, stem)]
        to_do[stem] = exercises_to_do(stem, modules.get(stem))
        meant[stem] = files_meant(stem, files, to_do[stem])
        is_undone = holding and (stem not in modules or is_stub(modules[stem], stem))
        if is_undone and stem not in unread:
            path, error = holding[0]
            may_hold = f", which may contain {stem}.py" if is_of_this_machine(error) else ""
            unread[stem] = f"{_could_not_read(path, error)}{may_hold}."
        elif stem not in modules and stem not in unread:
            others = [one.path for one in meant[stem] if not is_notebook(one.path)]
            if others:
                unread[stem] = f"{place(others[0])} was not read: it is not called {stem}.py."
        note_others(stem, meant[stem], chosen, modules.get(stem), reading)
        if stem in unread:
            modules.pop(stem, None)
    note_code_elsewhere(files, changed, to_do, meant, reading)
    found_notebook = _notebook(choose_notebook(notebook, files), reading) if notebook else None
    if not modules and not notes:
        notes.append(
            f"there is no lesson to grade{_only(source, student.sources, reading.top_names)}"
        )
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES - 1 :] = [f"and {len(notes) - MAX_NOTES + 1:,} more notes"]
    return Submission(
        student.name,
        modules,
        tuple(notes),
        unread,
        frozenset(named),
        canvas_id=student.canvas_id,
        moodle_id=student.moodle_id,
        late=frozenset(late),
        notebook=found_notebook,
    )


def _notebook(chosen: File | None, reading: Reading) -> bytes | None:
    try:
        return chosen.read(MAX_NOTEBOOK_BYTES) if chosen else None
    except Exception as error:
        reading.note(chosen.path, reason(error))
        return None


def _may_hold(path: tuple[str, ...], error: Exception, stem: str) -> bool:
    """Tell whether something that was not read may be a lesson, or hold it."""
    is_folder = "." not in path[-1] or is_of_this_machine(error) or isinstance(error, OverLimit)
    return is_folder or is_archive(path[-1]) or looks_like(path, stem)


def _could_not_read(path: tuple[str, ...], error: Exception) -> str:
    if is_of_this_machine(error):
        return f"The grader could not read {place(path)} ({error.strerror})"
    return f"{place(path)} {reason(error)}"


def _only(source: Folder | Archive, names: Sources, top_names: list[str]) -> str:
    """Return what there is instead of a lesson, as the end of a sentence."""
    for name in names:
        with contextlib.suppress(OSError):  # it is no folder
            top_names += source.inside(name).names()
    more = f" and {len(top_names) - 3:,} more" if len(top_names) > 3 else ""
    return f", only {', '.join(map(shown, top_names[:3]))}{more}" if top_names else ""
