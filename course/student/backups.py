"""Copies of a student's files, kept in `.course/backups/` before anything replaces them."""

import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from course import root
from course.building.build import modules_and_notebooks
from course.system.files import write_atomically, write_bytes_atomically


def folder() -> Path:
    """Return the folder of all archives."""
    return root() / ".course" / "backups"


def keep(paths: Iterable[Path]) -> str:
    """Copy files of the repository, byte for byte, into an archive; return its name.

    The archive appears in one step, with all files in it.
    """
    folder().mkdir(parents=True, exist_ok=True)
    draft = folder() / f".draft-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    for path in paths:
        copy = draft / path.relative_to(root())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    stamp = name = time.strftime("%Y-%m-%d_%H-%M-%S")
    number = 1
    while (folder() / name).exists():
        number += 1
        name = f"{stamp}_{number}"
    os.rename(draft, folder() / name)
    return name


def kept() -> dict[str, list[Path]]:
    """Return all archives, the oldest first, each with the files that it has copies of."""
    return {
        place.name: [
            root() / path.relative_to(place) for path in sorted(place.rglob("*")) if path.is_file()
        ]
        for place in sorted(folder().glob("[!.]*"))
        if place.is_dir()
    }


def newest() -> str:
    """Return the name of the archive that was made last.

    Raises:
        ValueError: there is none.
    """
    if not kept():
        raise ValueError("nothing was kept so far")
    return list(kept())[-1]


def restore(name: str) -> str | None:
    """Put the files of an archive back in their places; first, keep what is there.

    Returns:
        The archive of what was there, or None if nothing was.

    Raises:
        ValueError: there is no such archive.
    """
    files = kept().get(name)
    if files is None:
        known = ", ".join(kept()) or "none yet"
        raise ValueError(f'there is no archive "{name}"; there are: {known}')
    here = [path for path in files if path.exists()]
    replaced = keep(here) if here else None
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(path, (folder() / name / path.relative_to(root())).read_bytes())
    return replaced


def reset(*paths: Path) -> str | None:
    """Make modules and notebooks what they were at first; first, keep what is there.

    Returns:
        The archive of what was there, or None if nothing had been changed.

    Raises:
        BuildError: a source is missing or cannot be used; then nothing was written.
    """
    stale = [one for one in modules_and_notebooks() if one.path in paths and one.is_stale]
    here = [product.path for product in stale if product.path.exists()]
    kept = keep(here) if here else None
    for product in stale:
        write_atomically(product.path, product.text)
    return kept
