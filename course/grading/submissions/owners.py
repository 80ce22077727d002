"""Who is who in a class: whose a folder, a zip or a file is, and what each student is called."""

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from course.grading.names import safe_name
from course.grading.submissions.file_names import CANVAS, SOURCES, platform_name

_HANDED_IN = SOURCES | {".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz"}
"""Loose files that somebody may have handed in, although they cannot be graded as they are."""


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


def owners_of(names: Mapping[str, str]) -> dict[Owner, list[str]]:
    """Who handed in which of the names at the top of a class."""
    owners = defaultdict(list)
    for name, kind in names.items():
        if owner := owner_of(name, kind):
            owners[owner].append(name)
    return owners


def owner_of(name: str, kind: str) -> Owner | None:
    if match := platform_name(name, kind):
        return Owner(safe_name(match["name"]), "", match["id"], match.re is CANVAS)
    stem, suffix = os.path.splitext(name)
    if kind != "folder" and suffix.lower() == ".zip":
        return Owner(safe_name(stem), stem)
    if kind != "file" or suffix.lower() in _HANDED_IN:
        return Owner(safe_name(name), name)
    return None  # a list of grades, a readme


def told_apart(owners: Iterable[Owner]) -> Iterator[tuple[str, Owner, bool]]:
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
