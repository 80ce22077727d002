"""The files of the course that a file imports, itself or through others; found without running any.

So the process that grades can tell what a verdict depends on, although it never loads PyTorch.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from course import root

_IMPORT = re.compile(
    r"^\s*(?:from (course[.\w]*) import (\([^)]*\)|.*)|import (course[.\w]*))", re.MULTILINE
)


def with_imported(files: Iterable[Path]) -> list[Path]:
    """Return these files, those that are there, and what they import from `course`, sorted."""
    found: set[Path] = set()
    to_read = set(filter(Path.is_file, files))
    while to_read:
        file = to_read.pop()
        found.add(file)
        to_read |= set(_imported_by(file)) - found
    return sorted(found)


def _imported_by(file: Path) -> Iterator[Path]:
    for module, names, alone in _IMPORT.findall(file.read_text(encoding="utf-8")):
        yield from _files_of(alone or module)
        for name in re.findall(r"\w+", names):  # some are modules
            yield from _files_of(f"{module}.{name}")


def _files_of(module: str) -> Iterator[Path]:
    """Yield the file of a module and those of the packages around it, if there is such a module."""
    parts = module.split(".")
    inits = (root().joinpath(*parts[:depth], "__init__.py") for depth in range(1, len(parts) + 1))
    yield from filter(Path.is_file, (root().joinpath(*parts).with_suffix(".py"), *inits))
