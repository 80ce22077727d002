"""`solutions/` is the one hand-written source; this derives `exercises/` and `notebooks/` from it.

A stub keeps the signature, the docstring and the checks of its solution. What stands between
`### BEGIN SOLUTION` and `### END SOLUTION` becomes one line that says what is to do. The common
mistakes that a lesson's text lists are derived as well, from the catalogue of mistakes, and so are
README's badges, from the address in pyproject.toml.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course import root
from course.building import archive, notebook_files
from course.building.mistakes_text import with_common_mistakes
from course.building.published import with_badges
from course.syllabus import lessons, stub_from
from course.system.files import write_whole


def record() -> Path:
    """Return where the hash of every stub and notebook is kept, as it was built.

    One that still has it was not edited.
    """
    return root() / "exercises" / ".stubs"


class BuildError(Exception):
    """What stops a build, in one sentence."""


@dataclass(frozen=True)
class Product:
    """A file that is derived.

    Attributes:
        text: what it should hold.
        differs: what to say if it does not.
        edited_by_students: whether their work may stand in it.
    """

    path: Path
    text: str
    differs: str
    edited_by_students: bool

    @property
    def is_stale(self) -> bool:
        return _read(self.path) != self.text


def drift() -> list[str]:
    """One sentence for every file that is not what its source gives.

    Raises:
        BuildError: a source is missing or cannot be used.
    """
    return [product.differs for product in _products() if product.is_stale]


def build(force: bool = False) -> list[str]:
    """Write everything that is missing or stale, and say what was done.

    What a student edited is only replaced with `force`, after a copy of it was kept.

    Raises:
        BuildError: an edited file stands in the way, or a source is missing or cannot be used;
            then nothing at all was written.
    """
    products = list(_products())
    stale = [product for product in products if product.is_stale]
    edited = [product for product in stale if _was_edited(product)]
    if edited and not force:
        names = ", ".join(_shown(product.path) for product in edited)
        raise BuildError(
            f"your work in {names} was left alone, as was everything else; "
            "`course build --force` replaces it and keeps a copy"
        )
    report = []
    if edited:
        names = " and ".join(_shown(product.path) for product in edited)
        report.append(f"kept your {names} as {archive.keep(product.path for product in edited)}")
    for product in stale:
        write_whole(product.path, product.text)
        report.append(f"built {_shown(product.path)}")
    hashes = "".join(
        record_line(product.path.name, _encoded(product.text))
        for product in products
        if product.edited_by_students
    )
    if hashes != _read(record()):
        write_whole(record(), hashes)
    return report or ["everything is up to date"]


def start_afresh(*paths: Path) -> str | None:
    """Make modules and notebooks what they were at first.

    Returns:
        The archive of what was there, or None if nothing had been changed.

    Raises:
        BuildError: a source is missing or cannot be used; then nothing was written.
    """
    stale = [one for one in modules_and_notebooks() if one.path in paths and one.is_stale]
    here = [product.path for product in stale if product.path.exists()]
    kept = archive.keep(here) if here else None
    for product in stale:
        write_whole(product.path, product.text)
    return kept


def _products() -> Iterator[Product]:
    yield from modules_and_notebooks()
    for lesson in lessons():
        text = _using(lesson.text, with_common_mistakes, _text_of(lesson.text), lesson)
        differs = f"the common mistakes in {_shown(lesson.text)} are not those of the catalogue"
        yield Product(lesson.text, text, differs, edited_by_students=False)
    readme = root() / "README.md"
    text = _using(readme, with_badges, _text_of(readme))
    differs = "the badges in README.md do not lead where pyproject.toml says"
    yield Product(readme, text, differs, edited_by_students=False)


def modules_and_notebooks() -> Iterator[Product]:
    """What students work on, as it is at first.

    Raises:
        BuildError: a source is missing or cannot be used.
    """
    for lesson in lessons():
        source = lesson.module("solutions")
        yield _derived(lesson.module(), source, stub_from(_text_of(source), lesson.stem))
    from course.building.notebook_text import notebook_from  # takes seconds to import

    for stem in notebook_files.stems():
        source = notebook_files.source_of(stem)
        text = _using(source, notebook_from, _text_of(source), stem)
        yield _derived(notebook_files.notebook_of(stem), source, text)


def _derived(path: Path, source: Path, text: str) -> Product:
    differs = f"{_shown(path)} is not what {_shown(source)} gives"
    return Product(path, text, differs, edited_by_students=True)


def _text_of(source: Path) -> str:
    text = _read(source)
    if text is None:
        raise BuildError(f"{_shown(source)} is missing")
    return text


def _using(source: Path, make: Callable[..., str], *arguments: Any) -> str:
    try:
        return make(*arguments)
    except ValueError as error:
        raise BuildError(f"{_shown(source)} {error}") from None


def _was_edited(product: Product) -> bool:
    current = _read(product.path)
    if current is None or not product.edited_by_students:
        return False
    return record_line(product.path.name, _encoded(current)) not in (_read(record()) or "")


def record_line(name: str, data: bytes) -> str:
    """What the record says of a file that was built, and not of one that was edited since."""
    return f"{hashlib.sha256(data).hexdigest()}  {name}\n"


def _read(path: Path) -> str | None:
    """The text of a file with plain line ends (a checkout may have turned them), or None."""
    try:
        return path.read_bytes().decode("utf-8", errors="surrogateescape").replace("\r\n", "\n")
    except FileNotFoundError:
        return None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


def _shown(path: Path) -> str:
    return path.relative_to(root()).as_posix()
