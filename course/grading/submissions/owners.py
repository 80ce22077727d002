"""Who is who in a class: whose a folder, a zip or a file is, and what each student is called."""

import hashlib
import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from course.grading.names import exact_name, safe_name, shown
from course.grading.submissions.file_names import (
    CANVAS,
    SOURCES,
    is_loose_module,
    platform_name,
)

_HANDED_IN = SOURCES | {".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz"}
"""Loose files that somebody may have handed in, although they cannot be graded as they are."""

Sources = Mapping[str, str]
"""What lies at the top of a class, by its name: "folder", "file", or "odd" for what is neither."""


@dataclass(frozen=True)
class Owner:
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


def owners_of(names: Sources) -> dict[Owner, Sources]:
    """Who handed in which of the names at the top of a class."""
    owners = defaultdict(dict)
    for name, kind in names.items():
        if owner := owner_of(name, kind):
            owners[owner][name] = kind
    return owners


def owner_of(name: str, kind: str) -> Owner | None:
    if match := platform_name(name, kind):
        return Owner(safe_name(match["name"]), "", match["id"], match.re is CANVAS)
    if is_loose_module(name, kind):
        return None
    stem, suffix = os.path.splitext(name)
    if kind != "folder" and suffix.lower() == ".zip":
        return _owner_called(stem)
    if kind != "file" or suffix.lower() in _HANDED_IN:
        return _owner_called(name)
    return None  # a list of grades, a readme


def _owner_called(name: str) -> Owner:
    return Owner(safe_name(name), unicodedata.normalize("NFC", name))


def ambiguous(owners: Mapping[Owner, Sources]) -> dict[Owner, str]:
    """The owners whose name several sources claim, and why it is not known whose work that is.

    Anybody may call a zip like another's folder, so neither may take the place of the other.
    """
    claims = defaultdict(list)
    for owner in owners:
        if not owner.number:
            claims[_claimed(owner)].append(owner)
    found = {}
    for rivals in claims.values():
        sources = [source for owner in rivals for source in owners[owner].items()]
        if len(sources) > 1:
            found |= dict.fromkeys(rivals, _all_claim(sources, rivals[0].shown))
    return found


def _claimed(owner: Owner) -> str:
    """A name without what a disk, a keyboard or a packer may have changed about it."""
    name = unicodedata.normalize("NFD", unicodedata.normalize("NFD", owner.name).casefold())
    return re.sub(r"(\.zip)+$", "", name)


def _all_claim(sources: list[tuple[str, str]], name: str) -> str:
    """Which sources claim a name, as a sentence.

    >>> _all_claim([("jane", "folder"), ("jane.zip", "file")], "jane")
    'jane/ and jane.zip both claim the name jane: keep one.'
    """
    said = {shown(source) for source, _ in sources}
    as_text = shown if len(said) == len(sources) else exact_name
    called = [f"{as_text(one)}{'/' * (kind == 'folder')}" for one, kind in sorted(sources)]
    n_all = "both" if len(called) == 2 else "all"
    return f"{', '.join(called[:-1])} and {called[-1]} {n_all} claim the name {name}: keep one."


def told_apart(owners: Iterable[Owner]) -> Iterator[tuple[str, Owner, bool]]:
    """(name, owner, whether another's name looks the same) of each.

    A name that is safe to show is never changed. One that is not, or that a platform gave, gets
    what tells it apart if it looks like another's as it is shown.
    """
    alike = defaultdict(list)
    for owner in owners:
        alike[owner.shown.casefold()].append(owner)
    for namesakes in alike.values():
        for owner in namesakes:
            keeps = len(namesakes) == 1 or owner.name == owner.shown
            name = owner.shown if keeps else f"{owner.shown}~{_tag(owner.number or owner.name)}"
            yield name, owner, len(namesakes) > 1


def _tag(identity: str) -> str:
    """The number that a platform gave, or a hash."""
    if re.fullmatch("[0-9]{1,20}", identity):
        return identity
    return hashlib.sha256(identity.encode("utf-8", errors="surrogatepass")).hexdigest()[:12]
