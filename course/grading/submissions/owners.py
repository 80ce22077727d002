"""The students of a class, their names, and where their work is."""

import hashlib
import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from course.grading.names import first_few, safe_name, shown
from course.grading.submissions.archives import is_archive, without_ending
from course.grading.submissions.choice import defines
from course.grading.submissions.file_names import (
    BLACKBOARD,
    CANVAS,
    MOODLE,
    MOODLE_FOLDER,
    OF_COURSE,
    is_code,
    is_loose_module,
    is_notebook,
    is_renamed,
    may_be_module,
    names_lesson,
    platform_name,
    platform_names,
    stems,
)
from course.grading.submissions.files import Archive, Folder

_OF_NBGRADER = {"submitted", "source", "release", "autograded", "feedback", "downloaded", "graded"}
"""Folders that may be next to nbgrader's `submitted`."""

Sources = Mapping[str, str]
"""Names at the top of a class, each with "folder", "file", or "odd" for what is neither."""


class SubmissionsError(Exception):
    """A sentence on why there is no class to read."""


@dataclass(frozen=True)
class Student:
    """One who handed something in.

    Attributes:
        name: safe to show, and no other student's.
        sources: all that came from this student.
        canvas_id: the number by which Canvas knows the student, if the class came from there.
        moodle_id: the number that Moodle gave the student in this assignment, if from there.
        unclear: why the owner of this work is not known, as a sentence; empty if it is known.
    """

    name: str
    sources: Sources
    canvas_id: str
    moodle_id: str
    unclear: str


class _Owner(NamedTuple):
    """The identity of a student: as it is shown, and the exact name or a platform's number."""

    shown: str
    name: str
    number: str = ""
    form: re.Pattern | None = None  # of the platform's names


def students_of(names: Sources, prefix: str = "", numbers: Collection[str] = ()) -> list[Student]:
    """Return who handed in which of the names at the top of a class, by name.

    A name that is safe to show is never changed. One that is not, or that a platform gave, gets
    what tells it apart if it looks like another's as it is shown.

    Args:
        prefix: what all names begin with, and is no part of the students'.
        numbers: those of the students in a platform's export; empty if they are not known.
    """
    owners: dict[_Owner, dict[str, str]] = defaultdict(dict)
    whose = {name: _owners_of(name.removeprefix(prefix), kind) for name, kind in names.items()}
    whose, of_several = _of_several(_likely(whose, numbers))
    for name, kind in names.items():
        for owner in whose[name]:
            owners[owner][name] = kind
    loose = {
        owner: f"{shown(name)} is not in a folder with its student's name: put it into one."
        for owner, sources in owners.items()
        for name, kind in sources.items()
        if _is_loose(name, kind)
    }
    unclear = _claimed_twice(owners) | loose | of_several
    n_owners = Counter(owner.shown.casefold() for owner in owners)
    students: dict[str, Student] = {}
    for owner, sources in owners.items():
        is_shared = n_owners[owner.shown.casefold()] > 1
        keeps = not is_shared or owner.name == owner.shown
        name = owner.shown if keeps else f"{owner.shown}~{_tag(owner.number or owner.name)}"
        if name in students:
            name = f"{name}~{_digest(next(iter(sources)))}"
        of_canvas = owner.number if owner.form is CANVAS else ""
        of_moodle = owner.number if owner.form is MOODLE else ""
        students[name] = Student(name, sources, of_canvas, of_moodle, unclear.get(owner, ""))
    return sorted(students.values(), key=lambda student: student.name)


def prefix_of_clones(source: Folder | Archive, names: Sources) -> str:
    """Return what the names of a class's clones begin with, if GitHub Classroom made their folder.

    It calls each of them by the assignment and the login: rope-jane and rope-bob, in a folder
    rope-submissions.
    """
    prefix = source.path.name.removesuffix("submissions") if isinstance(source, Folder) else ""
    clones = [name for name, kind in names.items() if kind == "folder"]
    is_so_called = prefix.endswith("-") and all(name.startswith(prefix) for name in clones)
    return prefix if is_so_called else ""


def _owners_of(name: str, kind: str) -> list[_Owner]:
    """Return who may have handed something in: several if its name can be taken apart in ways."""
    owners = [
        _Owner(safe_name(own), "", match["id"], MOODLE if match.re is MOODLE_FOLDER else match.re)
        for own, match in platform_names(name, kind)
    ]
    if any(one.form is BLACKBOARD for one in owners) and not platform_name(name)["file"]:
        return []  # its text about an attempt
    if owners:
        is_work = kind == "folder" or is_code((name,)) or is_notebook((name,)) or is_archive(name)
        return owners if is_work else owners[:1]  # a screenshot has numbers in its name
    if kind != "folder" and is_archive(name):
        name = without_ending(name)
    elif kind == "file" and not _is_loose(name, kind):
        return []  # a list of grades, a readme
    return [_Owner(safe_name(name), unicodedata.normalize("NFC", name))]


def _likely(whose: Mapping[str, list[_Owner]], numbers: Collection[str]) -> dict[str, list[_Owner]]:
    """Return who may have handed in what, without owners that something else speaks against.

    That is an export that doesn't have their number, or that files with one owner only are all of
    another platform, or give their number to another name.
    """
    clear = {owner for owners in whose.values() if len(owners) == 1 for owner in owners}
    forms = {owner.form for owner in clear} - {None}
    taken = {owner.number for owner in clear}

    def may_be(owner: _Owner) -> bool:
        return (
            (not numbers or owner.number in numbers)
            and (not forms or owner.form in forms)
            and (owner.number not in taken or owner in clear)
        )

    return {
        name: [*filter(may_be, owners)] or owners if len(owners) > 1 else owners
        for name, owners in whose.items()
    }


def _claimed_twice(owners: Mapping[_Owner, Sources]) -> dict[_Owner, str]:
    """Return the owners whose name several sources claim, with a sentence that names them.

    Anybody may call a zip like another's folder, so neither may take the place of the other.
    """
    claims = defaultdict(list)
    for owner in owners:
        if not owner.number:  # forms that a disk, a keyboard or a packer may change
            name = unicodedata.normalize("NFD", owner.name).casefold()
            while is_archive(name):
                name = without_ending(name)
            claims[unicodedata.normalize("NFD", name)].append(owner)
    found = {}
    for rivals in claims.values():
        sources = sorted(source for owner in rivals for source in owners[owner].items())
        if len(sources) > 1:
            *called, last = (f"{shown(name)}{'/' * (kind == 'folder')}" for name, kind in sources)
            all_claim = f"{', '.join(called)} and {last} {'all' if called[1:] else 'both'} claim"
            found |= dict.fromkeys(rivals, f"{all_claim} the name {rivals[0].shown}: keep one.")
    return found


def _of_several(
    whose: Mapping[str, list[_Owner]],
) -> tuple[dict[str, list[_Owner]], dict[_Owner, str]]:
    """Return the owners of what may be another's, too, with a sentence that names both.

    A student whose name ends in another's number could take that one's place. Of a name with many
    numbers, only those who handed in something else are kept, and one that stands for the rest.

    Returns:
        Who may have handed in what, and the sentences.
    """
    clear = {owner for owners in whose.values() if len(owners) == 1 for owner in owners}
    kept, found = dict(whose), {}
    for name, owners in whose.items():
        if len(owners) > 1:
            called = first_few([f"{owner.shown} ({owner.number})" for owner in owners], " or ")
            sentence = (
                f"{shown(name)} may be from {called}: take the other one's number out of its name, "
                "or let `course grade` read an export (--canvas, --moodle) that has only one of "
                "these numbers."
            )
            if len(owners) > _MOST_READINGS:
                kept[name] = [*clear.intersection(owners), _Owner(safe_name(name), name)]
            found |= dict.fromkeys(kept[name], sentence)
    return kept, found


_MOST_READINGS = 3
"""Of one name, that each get a row."""


def _is_loose(name: str, kind: str) -> bool:
    """Tell whether something may be work of which nothing but its own name says whose it is.

    Google Classroom gives such names ("Jane Doe - rope.py"), but a student may choose them, too.
    """
    ending = Path(name).suffix.lower()
    names_any = any(names_lesson((name,), stem) for stem in stems())
    is_work = ending in (".py", ".ipynb") or (names_any and ending not in (".csv", ".xlsx"))
    return kind != "folder" and is_work and not platform_name(name)


def _tag(identity: str) -> str:
    """Return the number that a platform gave, or a hash."""
    if re.fullmatch("[0-9]{1,20}", identity):
        return identity
    return _digest(identity)[:12]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


# --- where their work is --------------------------------------------------------------------


def find_students(source: Folder | Archive, path: Path) -> tuple[Folder | Archive, Sources]:
    """Return the folder that holds the students' work, and the names in it."""
    if _is_work(source):
        kind = "folder" if isinstance(source, Folder) else "file"
        return Folder(path.parent), {path.name: kind}
    if isinstance(source, Archive):
        source = _without_wrapping(source)
    names = source.names()
    if names.get("submitted") == "folder" and not _holds_others(names, _OF_NBGRADER):
        source = source.inside("submitted")
        return source, source.names()
    if names.keys() >= {"submitted", "gradebook.db"}:
        raise SubmissionsError(
            f"{shown(path)} has other folders next to nbgrader's: grade its folder `submitted`"
        )
    return source, names


def _without_wrapping(zipped: Archive) -> Archive:
    """Go into the only folder of a zip, as there is if a folder was zipped."""
    names = zipped.names()
    is_a_folder = [*names.values()] == ["folder"]
    if is_a_folder and "submitted" not in names and not platform_name(*names, "folder"):
        inner = zipped.inside(*names)
        kinds = inner.names()
        theirs = [name for name in kinds if _owners_of(name, kinds[name])]
        if (len(theirs) > 1 or "submitted" in kinds) and not _is_work(inner):
            return inner
    return zipped


def _is_work(source: Folder | Archive) -> bool:
    """Tell whether this is the work of one student, with nothing of another's next to it."""
    names = source.names()
    is_clone = names.get("exercises") == "folder"
    place = source.inside("exercises").names() if is_clone else names
    if _holds_others(names, OF_COURSE) or not any(
        itertools.starmap(is_loose_module, place.items())
    ):
        return False
    return is_clone or not _may_be_of_several(source, names)


def _holds_others(names: Sources, own: set[str]) -> bool:
    """Tell whether anything may be another student's, except loose files."""
    return any(
        name not in own and _owners_of(name, kind) and not _is_loose(name, kind)
        for name, kind in names.items()
    )


def _may_be_of_several(source: Folder | Archive, names: Sources) -> bool:
    """Tell whether loose files may be of several students, as Google Drive delivers those.

    That is so if two are called as the module of one lesson, or one with an exercise in it, or with
    a lesson's name, has more in its name: lookup (1).py, Jane Doe - lookup.py, jane.py.
    """
    loose = [name for name, kind in names.items() if _is_loose(name, kind)]
    own = [stem for stem in stems() for name in loose if is_renamed(("", name), stem)]
    others = [
        name
        for name in loose
        if not any(
            is_renamed(("", name), stem, end) for stem in stems() for end in (".py", ".ipynb")
        )
    ]
    return len({*own}) < len(own) or any(
        may_be_module((name,)) or (is_code((name,)) and defines(file, stem))
        for name in others
        for file in source.below(name)
        for stem in stems()
    )
