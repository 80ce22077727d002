"""What a class handed in: read, never run, never unpacked to the disk.

A class is a folder or a zip, in any of these layouts; which one it is, is seen by looking.

    jane/rope.py                               a folder per student, the modules anywhere in it;
    jane/what-and-where/exercises/rope.py      in a clone those in exercises/ count
    jane.zip                                   a zip per student, with the same inside
    submitted/jane/homework/rope.py            nbgrader; the folder above `submitted` will do too
    doejane_LATE_12345_6789_rope.py            Canvas: loose files or zips
    Jane Doe_12345_assignsubmission_file_/     Moodle: a folder per student, or loose files

A submission that is given by itself is a class of one. Nobody who handed something in is left out:
what cannot be read, or should not be, becomes a note.

Of several copies of rope.py one counts, see `_choose`. Where none is called so, a copy under the
name that a computer gave it is taken: "rope (1).py", "rope - Copy.py", "rope.py.txt".
"""

import contextlib
import errno
import hashlib
import io
import itertools
import os
import re
import stat
import string
import unicodedata
import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import BinaryIO

from course.build import stub_of
from course.grading.results import WHOSE
from course.submission import MAX_MODULE_BYTES
from course.syllabus import find_lesson, lessons

MAX_FILES = 20_000
"""In the folder of one student; beyond that nobody looks."""
MAX_DEPTH = 8
MAX_ZIPS = 5
"""Of one student, those within zips too."""
MAX_INNER_ZIP_BYTES = 64 << 20
"""Zips within zips are read into memory: those of one student together."""
MAX_DIRECTORY_BYTES = 16 << 20
"""The directories of a student's zips together: some 100,000 files."""
MAX_CLASS_DIRECTORY_BYTES = 64 << 20
MAX_COMPARED = 10
"""Copies of a module that are looked into, to see whether they differ."""
MAX_NOTES = 20
MAX_NAME_LENGTH = 80

_NOT_WORK = {"solutions", "catalogue", "plots", "benchmarks", "site-packages"}
"""Folders whose rope.py is not the student's: the course's own, and other packages."""
_NOT_MEANT = _NOT_WORK | {"notebooks", "experiments"}
"""Folders where 5_rope.ipynb is in its place, and not there instead of rope.py."""
_OF_COURSE = {"benchmarks", "course", "data", "exercises", "notebooks", "solutions", "tests"}
"""Folders that may lie beside a student's `exercises`: nobody is called so."""
_OF_NBGRADER = {"submitted", "source", "release", "autograded", "feedback", "downloaded", "graded"}
"""Folders that may lie beside nbgrader's `submitted`."""
_SOURCES = {".py", ".ipynb"}
_HANDED_IN = _SOURCES | {".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz"}
"""Loose files that somebody may have handed in, although they cannot be graded as they are."""

_CANVAS = re.compile(
    r"(?P<name>(?:(?!_assignsubmission_)[\w\x80-\U0010ffff])+?)(?:_LATE)?"  # \w is no vowel sign
    r"_(?P<id>\d{3,})_\d{3,}_(?P<file>.+)"
)
_CANVAS_WITHOUT_NAMES = re.compile(r"(?:LATE_)?(?P<name>anon_(?P<id>[^\W_]+))_\d{3,}_(?P<file>.+)")
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)")
"""How platforms call what an instructor downloads; of that, a student chose only `file`."""
_COPY = r"( - copy| copy)?( ?\(\d+\)| \d+|-\d+)?"
"""What a computer puts behind the name of a second file: browsers make "rope (1).py", Canvas
"rope-1.py", Windows "rope - Copy (2).py", a Mac "rope copy 2.py"."""
_RENAMED = re.compile(rf"{_COPY}\.py(\.txt)?")
"""What follows `rope`; some editors put .txt behind what somebody has called rope.py."""
_EVERYBODYS = re.compile(rf"submission{_COPY}\.zip")
"""How `course submit` calls the zip of whoever gives no name."""


class SubmissionsError(Exception):
    """Why there is no class to read, in one sentence."""


@dataclass(frozen=True)
class Submission:
    """What one student handed in.

    Attributes:
        student: a name that no other student of the class has, in letters, digits, spaces and
            `-_.,'+@()~` alone: safe in a terminal, a table or a file name.
        modules: the source of each lesson that was found, by the lesson's stem, as it came.
        notes: a sentence for everything that is odd.
        unread: by the lesson's stem, why this machine could not read what may be there. That is
            not the student's fault, so such a lesson is not graded.
        canvas_id: the student's number on Canvas, if the class came from there.
    """

    student: str
    modules: Mapping[str, bytes]
    notes: tuple[str, ...]
    unread: Mapping[str, str] = field(default_factory=dict)
    canvas_id: str = ""


def content_hash(module: bytes) -> str:
    """The name of a source: the same bytes have the same, whoever handed them in.

    >>> content_hash(b"import torch")[:8]
    'cf1070d3'
    """
    return hashlib.sha256(module).hexdigest()


def read_submissions(path: str | Path) -> Iterator[Submission]:
    """The submissions of a class, by student, each read when its turn comes.

    The class must not be changed meanwhile.

    Args:
        path: a folder or a zip, in one of the layouts above.

    Raises:
        SubmissionsError: at once, if it is neither or if nobody handed anything in.
    """
    with contextlib.ExitStack() as stack:
        try:
            path = Path(path).resolve()
            source = _open_class(path, stack)
            source, names = _find_students(source, path)
            owners = _owners(names)
        except OSError as error:
            raise SubmissionsError(f"{_shown(path)} cannot be read: {error.strerror}") from None
        if not owners:
            raise SubmissionsError(f"{_shown(path)} holds no submissions")
        return _read_all(source, owners, stack.pop_all())


# --- files in a folder and in a zip ---------------------------------------------------------


@dataclass(frozen=True)
class _File:
    """Something that may be read, or a reason why it is not.

    Attributes:
        path: its parts, from the class on: the first is the student's folder, zip or file.
        open: opens it.
        odd: why it must not be opened, as the rest of a sentence; empty if it may.
        error: of a folder, why it could not be looked into.
    """

    path: tuple[str, ...]
    open: Callable[[], BinaryIO] | None = None
    odd: str = ""
    error: OSError | None = None


class _Unreadable(Exception):
    """Why a file is not read, as the rest of a sentence."""


class _Folder:
    """A folder on the disk. No link is followed, nothing but regular files is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> dict[str, str]:
        """What lies in it: "folder", "file", or "odd" for what is neither."""
        return {entry.name: _kind(entry) for entry in self._entries(self.path)}

    def inside(self, name: str) -> "_Folder":
        return _Folder(self.path / name)

    def below(self, name: str) -> Iterator[_File]:
        """The file of that name, or the files in the folder of that name, nearest first."""
        mode = os.lstat(self.path / name).st_mode
        kind = "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "odd"
        if kind != "folder":
            yield self._file((name,), kind)
            return
        folders, left = deque([(name,)]), MAX_FILES
        while folders:
            folder = folders.popleft()
            try:
                entries = self._entries(self.path.joinpath(*folder), at_most=left + 1)
            except OSError as error:
                yield _File(folder, error=error)
                continue
            left -= len(entries)
            if left < 0:
                yield _File((name,), odd=f"holds more than {MAX_FILES:,} files; some were not seen")
                return
            for entry in entries:
                path, kind = (*folder, entry.name), _kind(entry)
                if kind == "folder":
                    folders.extend([path] if len(path) < MAX_DEPTH else [])
                elif _is_wanted(path) or (kind == "odd" and len(path) == 2):
                    yield self._file(path, kind)

    def _file(self, path: tuple[str, ...], kind: str) -> _File:
        if kind == "odd":
            return _File(path, odd="is a link or a device, and was left alone")
        return _File(path, partial(_open_regular, self.path.joinpath(*path)))

    @staticmethod
    def _entries(folder: Path, at_most: int | None = None) -> list[os.DirEntry]:
        with os.scandir(folder) as entries:
            seen = list(itertools.islice(entries, at_most))
        seen.sort(key=lambda entry: entry.name)
        return [entry for entry in seen if not _is_hidden(entry.name)]


class _Archive:
    """A zip, or a folder in it. Names are only compared, so none can lead anywhere."""

    def __init__(self, files: Iterable[_File]) -> None:
        self.files = defaultdict(list)
        for file in files:
            self.files[file.path[0]].append(file)

    @classmethod
    def read(cls, opened: zipfile.ZipFile) -> "_Archive":
        return cls(file for info in opened.infolist() if (file := _member(opened, info)))

    def names(self) -> dict[str, str]:
        return {name: self._kind(files) for name, files in self.files.items()}

    @staticmethod
    def _kind(files: list[_File]) -> str:
        if any(len(file.path) > 1 for file in files):
            return "folder"
        return "odd" if files[-1].odd else "file"

    def inside(self, name: str) -> "_Archive":
        inner = (file for file in self.files[name] if len(file.path) > 1)
        return _Archive(_File(file.path[1:], file.open, file.odd) for file in inner)

    def below(self, name: str) -> Iterator[_File]:
        return (file for file in self.files[name] if file.odd or _is_wanted(file.path))


def _kind(entry: os.DirEntry) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "odd"


def _is_hidden(name: str) -> bool:
    """What computers leave behind: .git, .DS_Store, __MACOSX, __pycache__."""
    return (name.startswith(".") and name != "..") or name in ("__MACOSX", "__pycache__")


def _is_wanted(path: tuple[str, ...]) -> bool:
    """Whether a file matters: a lesson's, a zip near the top, a link in place of `exercises`."""
    name = path[-1].lower()
    is_zip = name.endswith(".zip") and len(path) <= 3
    return len(path) == 1 or is_zip or name == "exercises" or _may_be_module(path)


def _may_be_module(path: tuple[str, ...]) -> bool:
    return any(_looks_like(path, stem) for stem in _stems())


def _looks_like(path: tuple[str, ...], stem: str) -> bool:
    """Whether a file may be meant as the module of a lesson: rope_final.py, 5_rope.ipynb."""
    name = _name(path).lower()
    is_source = ".py" in name or name.endswith(".ipynb")
    return stem in name and is_source and not name.startswith("test_")


def _is_module(path: tuple[str, ...], stem: str) -> bool:
    """Whether a file is called as the module of a lesson; Canvas puts -1, -2 behind it."""
    name = _name(path).lower()
    return (re.sub(r"-\d+(?=\.py$)", "", name) if len(path) == 1 else name) == f"{stem}.py"


def _is_renamed(path: tuple[str, ...], stem: str) -> bool:
    """Whether a file is called as a computer calls a second module of a lesson."""
    name = _name(path).lower()
    return name.startswith(stem) and _RENAMED.fullmatch(name[len(stem) :]) is not None


def _name(path: tuple[str, ...]) -> str:
    """What a student called a file; at the top, a platform has put more around it."""
    match = _platform_name(path[0]) if len(path) == 1 else None
    return match["file"] if match else path[-1]


@cache
def _stems() -> tuple[str, ...]:
    return tuple(lesson.stem for lesson in lessons())


def _open_regular(path: Path) -> BinaryIO:
    """Open a regular file with one name, without waiting for anyone and following nothing."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_nlink <= 1:
        return file
    file.close()
    raise _Unreadable("is linked to another place, so that it may be another's: copy it to read it")


def _name_in_zip(info: zipfile.ZipInfo) -> str:
    """The name of a member: some programs write UTF-8 and do not say so."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> _File | None:
    """A member of a zip; of those that do not matter, only that there is a folder, or None."""
    name = _name_in_zip(info).replace("\\", "/")
    path = tuple(part for part in name.split("/") if part not in ("", "."))
    if not path or any(map(_is_hidden, path)):
        return None
    if name.startswith("/") or ".." in path or path[0].endswith(":"):
        return _File(path, odd="has a name that leads elsewhere, and was left alone")
    if name.endswith("/") or not _may_matter(path):
        return _File((*path[:2], ""))
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        return _File(path, odd="is a link or a device, and was left alone")
    if info.flag_bits & 0x1:
        return _File(path, odd="is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Python unpacks the others without any limit on what comes out.
        return _File(path, odd="is compressed in another way than zips usually are")
    return _File(path, partial(opened.open, info))


def _may_matter(path: tuple[str, ...]) -> bool:
    """`_is_wanted` wherever in the zip the class begins."""
    return len(path) <= MAX_DEPTH and any(_is_wanted(path[first:]) for first in range(3))


class _Bounded(io.BufferedReader):
    """A zip as a file that refuses to be read whole: `zipfile` reads the directory in one go."""

    def __init__(self, file: BinaryIO, at_most: int) -> None:
        super().__init__(file)
        self.at_most = at_most
        self.largest = 0

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self.at_most:
            raise _Unreadable("holds too many files")
        self.largest = max(self.largest, size or 0)
        return super().read(size)


def _open_zip(file: _Bounded, stack: contextlib.ExitStack) -> zipfile.ZipFile:
    """Open a zip until the stack is closed.

    Raises:
        _Unreadable: it is none, it is damaged or too large.
        OSError: the disk cannot be read.
    """
    try:
        return stack.enter_context(zipfile.ZipFile(file))
    except Exception as error:
        cause = error.__context__ or error  # `zipfile` takes what cannot be read for no zip
        if _is_of_this_machine(cause):
            raise cause from None
        is_none = isinstance(error, zipfile.BadZipFile)
        raise _Unreadable("is damaged, or is no zip" if is_none else _reason(error)) from None


# --- who is who -----------------------------------------------------------------------------


def _open_class(path: Path, stack: contextlib.ExitStack) -> _Folder | _Archive:
    if path.is_dir():
        return _Folder(path)
    if not os.path.lexists(path):
        raise SubmissionsError(f"there is nothing at {_shown(path)}")
    if not path.is_file() or path.suffix.lower() != ".zip":
        raise SubmissionsError(f"{_shown(path)} is neither a folder nor a zip")
    try:
        file = stack.enter_context(_open_regular(path))
        opened = _open_zip(_Bounded(file, MAX_CLASS_DIRECTORY_BYTES), stack)
    except _Unreadable as error:
        raise SubmissionsError(f"{_shown(path)} {error}") from None
    return _Archive.read(opened)


def _find_students(
    source: _Folder | _Archive, path: Path
) -> tuple[_Folder | _Archive, dict[str, str]]:
    """The folder that holds the students' work, and the names in it that are theirs."""
    if _is_work(source):
        kind = "folder" if isinstance(source, _Folder) else "file"
        return _Folder(path.parent), {path.name: kind}
    if isinstance(source, _Archive):
        source = _without_wrapping(source)
    names = source.names()
    if names.get("submitted") == "folder" and not _holds_others(names, _OF_NBGRADER):
        source = source.inside("submitted")
    elif names.keys() >= {"submitted", "gradebook.db"}:
        raise SubmissionsError(
            f"{_shown(path)} holds other folders than nbgrader's: grade its folder `submitted`"
        )
    return source, source.names()


def _without_wrapping(zipped: _Archive) -> _Archive:
    """Who zips a folder gets a zip that holds only that folder: go into it."""
    names = zipped.names()
    if len(names) == 1 and "folder" in names.values() and "submitted" not in names:
        inner = zipped.inside(*names)
        a_class = len(_owners(inner.names())) > 1 or "submitted" in inner.names()
        if a_class and not _is_work(inner):
            return inner
    return zipped


def _is_work(source: _Folder | _Archive) -> bool:
    """Whether this is the work of one student, with nothing beside it that may be another's."""
    names = source.names()
    place = source.inside("exercises").names() if names.get("exercises") == "folder" else names
    is_there = any(name.lower() == f"{stem}.py" for name in place for stem in _stems())
    return is_there and not _holds_others(names, _OF_COURSE)


def _holds_others(names: Mapping[str, str], own: set[str]) -> bool:
    """Whether anything may be another student's, beside some folders and sources without owner."""
    return any(
        name not in own
        and _owner(name, kind)
        and (kind != "file" or _platform_name(name) or Path(name).suffix.lower() not in _SOURCES)
        for name, kind in names.items()
    )


@dataclass(frozen=True)
class _Owner:
    """Who handed something in: two that are equal are one student.

    Attributes:
        shown: the name, safe to show.
        name: the name as it is, or nothing if a platform has given a number.
        number: the platform's.
        is_on_canvas: whether that is Canvas, and the number the one that it knows a student by.
    """

    shown: str
    name: str
    number: str = ""
    is_on_canvas: bool = False


def _owners(names: Mapping[str, str]) -> dict[_Owner, list[str]]:
    """Who handed in which of the names at the top of a class."""
    owners = defaultdict(list)
    for name, kind in names.items():
        if owner := _owner(name, kind):
            owners[owner].append(name)
    return owners


def _owner(name: str, kind: str) -> _Owner | None:
    if match := _platform_name(name, kind):
        return _Owner(_safe(match["name"]), "", match["id"], match.re is _CANVAS)
    stem, suffix = os.path.splitext(name)
    if kind != "folder" and suffix.lower() == ".zip":
        return _Owner(_safe(stem), stem)
    if kind != "file" or suffix.lower() in _HANDED_IN:
        return _Owner(_safe(name), name)
    return None  # a list of grades, a readme


def _platform_name(name: str, kind: str = "file") -> re.Match | None:
    of_canvas = [] if kind == "folder" else [_CANVAS_WITHOUT_NAMES, _CANVAS]  # which makes none
    return next((match for form in [*of_canvas, _MOODLE] if (match := form.fullmatch(name))), None)


def _students(owners: Iterable[_Owner]) -> Iterator[tuple[str, _Owner, bool]]:
    """(name, owner, whether another's name looks the same) of each.

    The name is as shown. Where two look the same, only one that is called exactly so keeps it; the
    others get what tells them apart.
    """
    alike = defaultdict(list)
    for owner in owners:
        alike[owner.shown.casefold()].append(owner)
    for namesakes in alike.values():
        exact = [owner for owner in namesakes if owner.name == owner.shown]
        for owner in namesakes:
            keeps = len(namesakes) == 1 or exact == [owner]
            name = owner.shown if keeps else f"{owner.shown}~{_tag(owner.number or owner.name)}"
            yield name, owner, len(namesakes) > 1


def _tag(identity: str) -> str:
    """The number that a platform gave, or a hash."""
    if re.fullmatch("[0-9]{1,20}", identity):
        return identity
    return hashlib.sha256(identity.encode("utf-8", errors="surrogatepass")).hexdigest()[:12]


def _safe(name: str) -> str:
    """A name without what is unsafe to show, to put into a table or to call a file.

    >>> _safe("<b>Zoë</b>"), _safe("..")
    ('_b_Zoë__b_', 'unnamed')
    """
    return _plain(name, " -_.,'+@()").lstrip(" .-+@'").rstrip(" .") or "unnamed"


def _shown(*path: str | Path) -> str:
    """A path for a sentence."""
    return _plain("/".join(map(str, path)), " -_.,'+@()/:")


def _exact(name: str) -> str:
    """A name by which two that look alike can be told apart: what is unusual has its code."""
    usual = string.ascii_letters + string.digits + " -_.,'"
    return "".join(c if c in usual else f"(U+{ord(c):04X})" for c in name)


def _plain(text: str, also: str) -> str:
    """Letters, marks and digits of any script and the characters of `also`; `_` for others."""
    text = unicodedata.normalize("NFC", text)
    if len(text) > MAX_NAME_LENGTH:
        text = f"{text[: MAX_NAME_LENGTH - 3]}..."
    return "".join(c if c in also or unicodedata.category(c)[0] in "LMN" else "_" for c in text)


# --- reading --------------------------------------------------------------------------------


def _read_all(
    source: _Folder | _Archive, owners: Mapping[_Owner, list[str]], stack: contextlib.ExitStack
) -> Iterator[Submission]:
    with stack:
        for student, owner, is_alike in sorted(_students(owners), key=lambda one: one[0]):
            names = owners[owner]
            notes = []
            if is_alike:
                notes.append(f"{WHOSE}: {_exact(names[0])}; another student's name looks the same")
            if any(_EVERYBODYS.fullmatch(name.lower()) for name in names):
                notes.append(
                    f"{WHOSE}, is open: `course submit` calls everybody's zip {_shown(names[0])}"
                )
            read = _read(student, source, names, notes)
            yield replace(read, canvas_id=owner.number) if owner.is_on_canvas else read


@dataclass
class _Reading:
    """What is found out while the work of one student is read.

    Attributes:
        stack: closes what was opened.
        notes: see `Submission`.
        closed: places that this machine could not look into, as the rest of a sentence.
        met: what lies at the top of its zips, whatever it is, to say if there is no lesson.
        n_zips: how many were met,
        n_bytes: how large those are together that were read into memory,
        n_directory_bytes: and the directories of all of them.
    """

    stack: contextlib.ExitStack
    notes: list[str]
    closed: list[str] = field(default_factory=list)
    met: list[str] = field(default_factory=list)
    n_zips: int = 0
    n_bytes: int = 0
    n_directory_bytes: int = 0

    def note(self, path: tuple[str, ...], says: str) -> None:
        self.notes.append(f"{_place(path)} {says}")

    def note_error(self, path: tuple[str, ...], error: Exception) -> None:
        self.note(path, _reason(error))
        if _is_of_this_machine(error):
            self.closed.append(_closed(path, error))

    def in_memory(self, zipped: zipfile.ZipExtFile) -> BinaryIO:
        """A zip within a zip."""
        left = MAX_INNER_ZIP_BYTES - self.n_bytes
        data = zipped.read(left + 1)
        if len(data) > left:
            together = ", together with the zips before it" if self.n_bytes else ""
            raise _Unreadable(f"is larger than {MAX_INNER_ZIP_BYTES >> 20} MB{together}")
        self.n_bytes += len(data)
        return io.BytesIO(data)


def _read(
    student: str, source: _Folder | _Archive, names: list[str], notes: list[str]
) -> Submission:
    modules: dict[str, bytes] = {}
    unread: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        reading, files = _Reading(stack, notes), []
        try:
            files.extend(_files(source, names, reading))
        except OSError as error:
            reading.note_error(tuple(names), error)
        for stem in _stems():
            alike = [file for file in files if _looks_like(file.path, stem)]
            if chosen := _choose(stem, alike, reading):
                try:
                    modules[stem] = _bytes(chosen)
                except Exception as error:
                    reading.note(chosen.path, _reason(error))
                    if _is_of_this_machine(error):
                        unread[stem] = f"{_closed(chosen.path, error)}."
            if stem not in modules and reading.closed:
                unread.setdefault(stem, f"{reading.closed[0]}, where {stem}.py may be.")
            _note_others(stem, alike, chosen, modules.get(stem), reading)
    if not modules and not notes:
        for name in names:
            with contextlib.suppress(OSError):  # it is no folder
                reading.met += source.inside(name).names()
        notes.append(f"there is no lesson to grade{_only(reading.met)}")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES - 1 :] = [f"and {len(notes) - MAX_NOTES + 1:,} notes more"]
    return Submission(student, modules, tuple(notes), unread)


def _files(source: _Folder | _Archive, names: list[str], reading: _Reading) -> Iterator[_File]:
    """The files of one student that may be a lesson's, those in zips too; notes on the others."""
    for file in itertools.chain.from_iterable(map(source.below, names)):
        if file.error:
            reading.note_error(file.path, file.error)
        elif file.odd:
            reading.note(file.path, file.odd)
        elif file.path[-1].lower().endswith(".zip"):
            yield from _files_in_zip(file, reading)
        else:
            yield from _unless_alone(file, reading)


def _only(met: list[str]) -> str:
    """What there is instead of a lesson, as the end of a sentence.

    >>> _only(["Essay.docx"]), _only(["a", "b", "c", "d", "e"]), _only([])
    (', only Essay.docx', ', only a, b, c and 2 more', '')
    """
    if not met:
        return ""
    more = f" and {len(met) - 3:,} more" if len(met) > 3 else ""
    return f", only {', '.join(map(_shown, met[:3]))}{more}"


def _unless_alone(file: _File, reading: _Reading) -> Iterator[_File]:
    if len(file.path) == 1 and not _platform_name(file.path[0]):
        place = _place(file.path)
        reading.notes.append(f"{WHOSE}, is open: {place} lies beside the students' folders")
    elif len(file.path) > 1 or _may_be_module(file.path):
        yield file
    else:
        reading.note(file.path, "is neither a lesson nor a zip: it was not read")


def _files_in_zip(file: _File, reading: _Reading, within: str = "") -> Iterator[_File]:
    """The files in a zip that may be a lesson's, and in the zips in it, but no deeper."""
    reading.n_zips += 1
    if reading.n_zips > MAX_ZIPS:
        reading.note(file.path, f"was not opened: more than {MAX_ZIPS} zips")
        return
    try:
        opened = reading.stack.enter_context(file.open())
        if isinstance(opened, zipfile.ZipExtFile):
            opened = reading.in_memory(opened)
        bounded = _Bounded(opened, MAX_DIRECTORY_BYTES - reading.n_directory_bytes)
        inner = _Archive.read(_open_zip(bounded, reading.stack))
        reading.n_directory_bytes += bounded.largest
    except Exception as error:
        reading.note_error(file.path, error)
        return
    reading.met += inner.names()
    for name in inner.names():
        for found in inner.below(name):
            path = (*file.path, *found.path)
            if found.odd:
                reading.note(path, found.odd)
            elif not found.path[-1].lower().endswith(".zip"):
                yield _File(path, found.open)
            elif within:
                reading.note(path, f"is a zip{within} within a zip: it was not opened")
            else:
                yield from _files_in_zip(_File(path, found.open), reading, " within a zip")


def _choose(stem: str, alike: list[_File], reading: _Reading) -> _File | None:
    """The file that counts as the module of a lesson.

    Of several it is one that is more than the stub, then the one in exercises/, then one in a
    folder called like the lesson, 5_rope, then the nearest to the top. Of those that are left, the
    last counts: "attempt 10" comes after "attempt 9", and what was handed in later on Canvas has
    the higher number there.
    """
    own = [file for file in alike if _is_module(file.path, stem)]
    work = [file for file in own if not _NOT_WORK.intersection(file.path[1:-1])]
    if own and not work:
        reading.note(own[0].path, "is not the student's own place: it was not read")
    if not work:
        renamed = (file for file in alike if _is_renamed(file.path, stem))
        work = [file for file in renamed if not _NOT_WORK.intersection(file.path[1:-1])]
    if 1 < len(work) <= MAX_COMPARED:
        work = [file for file in work if not _is_same(file, stub_of(stem))] or work
    folders = {stem, f"{find_lesson(stem).number}_{stem}"}

    def rank(file: _File) -> tuple:
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


def _note_others(
    stem: str,
    alike: list[_File],
    chosen: _File | None,
    module: bytes | None,
    reading: _Reading,
) -> None:
    """Notes on what was taken for a lesson where that may surprise, and on what was not."""
    name, compared = f"{stem}.py", False
    others = [
        file
        for file in alike
        if file is not chosen and not _NOT_MEANT.intersection(file.path[1:-1])
    ]
    if module is not None:
        others = [file for file in others if not _is_notebook(file)]
        if compared := len(others) <= MAX_COMPARED:
            others = [file for file in others if not _is_same(file, module)]
    if chosen:
        is_so_called = _is_module if _is_module(chosen.path, stem) else _is_renamed
        copies = [file for file in others if is_so_called(file.path, stem)]
        others = [file for file in others if not is_so_called(file.path, stem)]
        if copies:
            copies_of = f"{len(copies) + 1} {'different ' if compared else ''}copies of {name}"
            reading.notes.append(f"{copies_of}: {_shown(*chosen.path)} was taken")
        elif _name(chosen.path) != name and (len(chosen.path) > 1 or is_so_called is _is_renamed):
            reading.note(chosen.path, f"was taken for {name}")
    for file in others:
        if module is not None:
            why = f"{_place(chosen.path)} counts"
        elif _is_notebook(file):
            why = f"it is a notebook, and {name} is graded"
        else:
            why = f"it is not called {name}"
        reading.note(file.path, f"was not read: {why}")


def _is_notebook(file: _File) -> bool:
    return file.path[-1].lower().endswith(".ipynb")


def _is_same(file: _File, module: bytes) -> bool:
    try:
        return _bytes(file).splitlines() == module.splitlines()
    except Exception:  # see `_reason`
        return False


def _bytes(file: _File) -> bytes:
    """What is in a file.

    Raises:
        _Unreadable: it is too large. Any error: see `_reason`.
    """
    with file.open() as opened:
        module = opened.read(MAX_MODULE_BYTES + 1)
    if len(module) > MAX_MODULE_BYTES:
        raise _Unreadable(f"is larger than {MAX_MODULE_BYTES >> 20} MB")
    return module


def _place(path: tuple[str, ...]) -> str:
    """Where something lies in what the student handed in."""
    return _shown(*(path[1:] or path))


def _reason(error: Exception) -> str:
    """Why a file could not be read, as the rest of a sentence.

    Any error is expected: a forged zip fails in as many ways as its numbers can be misread.
    """
    if isinstance(error, _Unreadable):
        return str(error)
    if _is_of_this_machine(error):
        return f"cannot be read: {error.strerror}"
    return "is damaged"


def _is_of_this_machine(error: Exception) -> bool:
    """Whether a file was not read for a reason that lies not in it. A forged zip is a reason."""
    return isinstance(error, OSError) and bool(error.strerror) and error.errno != errno.EINVAL


def _closed(path: tuple[str, ...], error: Exception) -> str:
    return f"The grader could not read {_place(path)} ({error.strerror})"
