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
"""

import contextlib
import hashlib
import io
import itertools
import os
import re
import stat
import unicodedata
import zipfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from course.submission import MAX_MODULE_BYTES
from course.syllabus import lessons

MAX_FILES = 20_000
"""In the folder of one student; beyond that nobody looks."""
MAX_DEPTH = 8
MAX_ZIPS = 5
"""Of one student."""
MAX_INNER_ZIP_BYTES = 64 << 20
"""A student's zip within the zip of the class is read into memory."""
MAX_DIRECTORY_BYTES = 16 << 20
"""The directory of a student's zip: some 100,000 files."""
MAX_CLASS_DIRECTORY_BYTES = 64 << 20
MAX_NOTES = 20
MAX_NAME_LENGTH = 80

_NOT_WORK = {"solutions", "catalogue", "site-packages"}
"""Folders whose rope.py is not the student's: the reference, known mistakes, other packages."""
_OF_COURSE = {"benchmarks", "course", "data", "exercises", "notebooks", "solutions", "tests"}
"""Folders that may lie beside a student's `exercises`: nobody is called so."""
_OF_NBGRADER = {"submitted", "source", "release", "autograded", "feedback", "downloaded", "graded"}
"""Folders that may lie beside nbgrader's `submitted`."""
_SOURCES = {".py", ".ipynb"}
_HANDED_IN = _SOURCES | {".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz"}
"""Loose files that somebody may have handed in, although they cannot be graded as they are."""

_CANVAS = [
    re.compile(r"(?:LATE_)?(?P<name>anon_(?P<id>[^\W_]+))_\d{3,}_(?P<file>.+)"),
    re.compile(
        r"(?P<name>(?:(?!_assignsubmission_)\w)+?)(?:_LATE)?_(?P<id>\d{3,})_\d{3,}_(?P<file>.+)"
    ),
]
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)")
"""How platforms call what an instructor downloads; of that, a student chose only `file`."""


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
    """

    student: str
    modules: Mapping[str, bytes]
    notes: tuple[str, ...]


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
    """

    path: tuple[str, ...]
    open: Callable[[], BinaryIO] | None = None
    odd: str = ""


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
                yield _File(folder, odd=f"cannot be read: {error.strerror}")
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
    may_be_module = any(_looks_like(path, stem) for stem in _stems().values())
    return len(path) == 1 or is_zip or may_be_module or name == "exercises"


def _looks_like(path: tuple[str, ...], stem: str) -> bool:
    """Whether a file may be the module of a lesson, if under another name: rope_final.py."""
    name = path[-1].lower()
    return stem in name and ".py" in name and not name.startswith("test_")


def _stems() -> dict[str, str]:
    """The lessons' stems by the names of their files."""
    return {f"{lesson.stem}.py": lesson.stem for lesson in lessons()}


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


def _member(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> _File | None:
    """A member of a zip; of those that do not matter, only that there is a folder, or None."""
    name = info.filename.replace("\\", "/")
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

    def read(self, size: int | None = -1) -> bytes:
        if size is not None and size > self.at_most:
            raise _Unreadable("holds too many files")
        return super().read(size)


def _open_zip(file: BinaryIO, max_directory: int, stack: contextlib.ExitStack) -> zipfile.ZipFile:
    """Open a zip until the stack is closed.

    Raises:
        _Unreadable: it is none, it is damaged or too large.
    """
    try:
        if isinstance(file, zipfile.ZipExtFile):
            data = file.read(MAX_INNER_ZIP_BYTES + 1)
            if len(data) > MAX_INNER_ZIP_BYTES:
                raise _Unreadable(f"is larger than {MAX_INNER_ZIP_BYTES >> 20} MB")
            file = io.BytesIO(data)
        return stack.enter_context(zipfile.ZipFile(_Bounded(file, max_directory)))
    except zipfile.BadZipFile:
        raise _Unreadable("is damaged, or is no zip") from None
    except Exception as error:
        raise _Unreadable(_reason(error)) from None


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
        opened = _open_zip(file, MAX_CLASS_DIRECTORY_BYTES, stack)
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
    is_there = any(name.lower() in _stems() for name in place)
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
    """

    shown: str
    name: str
    number: str = ""


def _owners(names: Mapping[str, str]) -> dict[_Owner, list[str]]:
    """Who handed in which of the names at the top of a class."""
    owners = defaultdict(list)
    for name, kind in names.items():
        if owner := _owner(name, kind):
            owners[owner].append(name)
    return owners


def _owner(name: str, kind: str) -> _Owner | None:
    if match := _platform_name(name, kind):
        return _Owner(_safe(match["name"]), "", match["id"])
    stem, suffix = os.path.splitext(name)
    if kind != "folder" and suffix.lower() == ".zip":
        return _Owner(_safe(stem), stem)
    if kind != "file" or suffix.lower() in _HANDED_IN:
        return _Owner(_safe(name), name)
    return None  # a list of grades, a readme


def _platform_name(name: str, kind: str = "file") -> re.Match | None:
    forms = [_MOODLE] if kind == "folder" else [*_CANVAS, _MOODLE]  # Canvas makes no folders
    return next((match for form in forms if (match := form.fullmatch(name))), None)


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
            alike = f"another student's name looks the same: this one handed in {_shown(names[0])}"
            yield _read(student, source, names, [alike] if is_alike else [])


def _read(
    student: str, source: _Folder | _Archive, names: list[str], notes: list[str]
) -> Submission:
    modules: dict[str, bytes] = {}
    with contextlib.ExitStack() as stack:
        found = defaultdict(list)
        try:
            for file in _files(source, names, stack, notes):
                found[_stem(file.path)].append(file)
        except OSError as error:
            notes.append(f"{_shown(*names)} {_reason(error)}")
        for lesson in lessons():
            if chosen := _choose(f"{lesson.stem}.py", found[lesson.stem], notes):
                module = _bytes(chosen, notes)
                if module is not None:
                    modules[lesson.stem] = module
    missing = [lesson.stem for lesson in lessons() if lesson.stem not in modules]
    for file in found[None]:
        meant = [f"{stem}.py" for stem in missing if _looks_like(file.path, stem)]
        notes.extend(f"{_place(file.path)} was not read: it is not called {name}" for name in meant)
    if missing:
        names_of_missing = ", ".join(f"{stem}.py" for stem in missing)
        notes.append(f"missing: {names_of_missing}" if modules else "there is no lesson to grade")
    if len(notes) > MAX_NOTES:
        notes[MAX_NOTES - 1 :] = [f"and {len(notes) - MAX_NOTES + 1:,} notes more"]
    return Submission(student, modules, tuple(notes))


def _files(
    source: _Folder | _Archive, names: list[str], stack: contextlib.ExitStack, notes: list[str]
) -> Iterator[_File]:
    """The files of one student that may be a lesson's, those in zips too; notes on the others."""
    n_zips = 0
    for file in itertools.chain.from_iterable(map(source.below, names)):
        if file.odd:
            notes.append(f"{_place(file.path)} {file.odd}")
        elif not file.path[-1].lower().endswith(".zip"):
            yield from _unless_alone(file, notes)
        elif (n_zips := n_zips + 1) > MAX_ZIPS:
            notes.append(f"{_place(file.path)} was not opened: more than {MAX_ZIPS} zips")
        else:
            yield from _files_in_zip(file, stack, notes)


def _unless_alone(file: _File, notes: list[str]) -> Iterator[_File]:
    if len(file.path) > 1 or _stem(file.path):
        yield file
    elif _platform_name(file.path[0]):
        notes.append(f"{_place(file.path)} is neither a lesson nor a zip: it was not read")
    else:
        notes.append(f"{_place(file.path)} lies beside the students' folders: whose it is, is open")


def _files_in_zip(file: _File, stack: contextlib.ExitStack, notes: list[str]) -> Iterator[_File]:
    try:
        inner = _Archive.read(
            _open_zip(stack.enter_context(file.open()), MAX_DIRECTORY_BYTES, stack)
        )
    except Exception as error:
        notes.append(f"{_place(file.path)} {_reason(error)}")
        return
    for name in inner.names():
        for found in inner.below(name):
            path = (*file.path, *found.path)
            if found.odd:
                notes.append(f"{_place(path)} {found.odd}")
            elif found.path[-1].lower().endswith(".zip"):
                notes.append(f"{_place(path)} is a zip within a zip: it was not opened")
            else:
                yield _File(path, found.open)


def _stem(path: tuple[str, ...]) -> str | None:
    """The lesson whose module a file is, by its name; a platform has put more around it."""
    name = path[-1]
    if len(path) == 1:
        match = _platform_name(name)
        name = re.sub(r"-\d+(?=\.py$)", "", match["file"]) if match else ""
    return _stems().get(name.lower())


def _choose(name: str, files: list[_File], notes: list[str]) -> _File | None:
    """The one of several copies that counts: in exercises/, nearest to the top, last in a zip."""
    work = [file for file in files if not _NOT_WORK.intersection(file.path[1:-1])]
    if not work:
        if files:
            notes.append(f"{_place(files[0].path)} is not the student's own place: it was not read")
        return None

    def rank(file: _File) -> tuple:
        in_exercises = len(file.path) > 1 and file.path[-2] == "exercises"
        return not in_exercises, len(file.path), file.path[-1] != name, file.path

    chosen = min(reversed(work), key=rank)  # of equals, the last: so do all that unpack a zip
    if len(work) > 1:
        notes.append(f"{len(work)} copies of {name}: {_shown(*chosen.path)} was taken")
    elif len(chosen.path) > 1 and chosen.path[-1] != name:
        notes.append(f"{_place(chosen.path)} was taken for {name}")
    return chosen


def _bytes(file: _File, notes: list[str]) -> bytes | None:
    try:
        with file.open() as opened:
            module = opened.read(MAX_MODULE_BYTES + 1)
    except Exception as error:
        notes.append(f"{_place(file.path)} {_reason(error)}")
        return None
    if len(module) > MAX_MODULE_BYTES:
        notes.append(f"{_place(file.path)} is larger than {MAX_MODULE_BYTES >> 20} MB")
        return None
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
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror}"
    return "is damaged"
