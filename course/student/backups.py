"""Copies of a student's files, kept in `.course/backups/` before anything replaces them."""

import ast
import os
import shutil
import time
from collections.abc import Collection, Iterable
from pathlib import Path

from course import root
from course.core.console import typed
from course.core.files import write_atomically, write_bytes_atomically
from course.core.stubs import stub_of, stubs_in
from course.core.syllabus import Exercise, find_lesson, lessons
from course.publishing.building.build import modules_and_notebooks
from course.testing.messages.wording import counted


def folder() -> Path:
    """Return the folder of all archives."""
    return root() / ".course" / "backups"


def keep(paths: Iterable[Path], why: str = "") -> str:
    """Copy files of the repository, byte for byte, into an archive; return its name.

    The archive appears in one step, with all files in it.

    Args:
        why: the end of its name.
    """
    folder().mkdir(parents=True, exist_ok=True)
    draft = folder() / f".draft-{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    try:
        for path in paths:
            copy = draft / path.relative_to(root())
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    except OSError:  # the disk may be full
        shutil.rmtree(draft, ignore_errors=True)
        raise
    stamp = name = time.strftime("%Y-%m-%d_%H-%M-%S") + why
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


REPLACED = "_replaced"
"""The end of the name of what --restore replaced: a second --restore does not take it for work."""


def newest(among: Collection[Path] = ()) -> str:
    """Return the name of the archive that was made last, by anything but --restore.

    Args:
        among: files of which it has at least one; none for any.

    Raises:
        ValueError: there is none.
    """
    for name, files in reversed(kept().items()):
        if REPLACED not in name and (not among or set(files).intersection(among)):
            return name
    if among:
        raise ValueError(f"there is no copy of {min(among).relative_to(root()).as_posix()} yet")
    raise ValueError("there are no copies yet")


def restore(name: str, among: Collection[Path] = ()) -> str | None:
    """Put the files of an archive back in their places; first, keep what is there.

    Args:
        among: which of its files; none for all.

    Returns:
        The archive of what was there, or None if nothing else was.

    Raises:
        ValueError: there is no such archive.
    """
    files = kept().get(name)
    if files is None:
        known = f"these exist: {', '.join(kept())}" if kept() else "there are no copies yet"
        raise ValueError(f'there is no copy "{name}"; {known}')
    copies = {
        path: (folder() / name / path.relative_to(root())).read_bytes()
        for path in files
        if not among or path in among
    }
    others = [path for path, data in copies.items() if path.exists() and path.read_bytes() != data]
    replaced = keep(others, REPLACED) if others else None
    for path, data in copies.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(path, data)
    return replaced


def contents(name: str) -> list[str]:
    """Return what is in an archive: its files, of a module also what is written in it."""
    described = []
    for path in kept()[name]:
        shown = path.relative_to(root()).as_posix()
        for lesson in lessons():
            if path == lesson.module():
                to_do = stubs_in((folder() / name / shown).read_bytes(), lesson)
                n_written = len(lesson.exercises) - len(to_do)
                shown += f" ({n_written} of {counted(len(lesson.exercises), 'exercise')} written)"
        described.append(shown)
    return described


def reset_exercise(exercise: Exercise) -> str | None:
    """Make one exercise in its module what it was at first; first, keep the module.

    Returns:
        The archive of the module, or None if nothing had been changed.

    Raises:
        ValueError: the module is not valid Python, so that nobody knows where the exercise ends.
    """
    path = find_lesson(exercise.lesson).module()
    if not path.exists():
        return reset(path)
    written = path.read_bytes()
    fresh = _with_first(exercise, written)
    if fresh == written:
        return None
    kept = keep([path])
    write_bytes_atomically(path, fresh)
    return kept


def _with_first(exercise: Exercise, source: bytes) -> bytes:
    """Return a module with one exercise as it was at first."""
    path = find_lesson(exercise.lesson).module()
    try:
        nodes = ast.parse(source, path.name).body
        text = source.decode("utf-8-sig").replace("\r\n", "\n")
    except (SyntaxError, ValueError) as error:
        raise ValueError(
            f"{path.parent.name}/{path.name} is not valid Python: {error}. So you can't reset one "
            f"exercise; `{typed(f'course reset {path.parent.name}/{path.name}')}` resets all of it"
        ) from None
    stub = stub_of(exercise.lesson).decode("utf-8")
    lines, fresh = text.split("\n"), _definitions(ast.parse(stub).body, exercise.name)[0]
    own = _definitions(nodes, exercise.name) or [range(len(lines), len(lines))]
    for place in reversed(own):  # of several definitions, the first gives the place
        new = stub.split("\n")[fresh.start : fresh.stop] if place == own[0] else []
        lines[place.start : place.stop] = new
    if "\n".join(lines) == text:
        return source
    ends = "\r\n" if b"\r\n" in source else "\n"
    return ends.join(lines).encode("utf-8")


def why_not(error: Exception) -> str:
    """Return in a sentence why a file was not replaced."""
    if not isinstance(error, OSError):
        return str(error)
    where = f"{error.filename} cannot be written: " if error.filename else ""
    return f"{where}{error.strerror or error}. Nothing is lost."


def _definitions(nodes: Iterable[ast.stmt], name: str) -> list[range]:
    """Return the lines of each definition of a name, with its decorators."""
    found = [node for node in nodes if getattr(node, "name", "") == name]
    return [
        range(min(one.lineno for one in (node, *node.decorator_list)) - 1, node.end_lineno)
        for node in found
    ]


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
