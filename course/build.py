"""`solutions/` is the one hand-written source; this derives `exercises/` from it.

A stub keeps the signature, the docstring and the checks of its solution. What stands between
`### BEGIN SOLUTION` and `### END SOLUTION` becomes one line that says what is to do. The common
mistakes that a lesson's text lists are derived as well: from the catalogue of mistakes.
"""

import ast
import hashlib
import re
import time
from pathlib import Path

from course import ROOT
from course.files import write_whole
from course.mistakes_text import with_common_mistakes
from course.syllabus import Lesson, lessons

RECORD = ROOT / "exercises" / ".stubs"
"""The hash of every stub as it was built: a file that still has it was not edited."""

_BLOCK = re.compile(
    r"^(?P<indent> *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION\n", re.MULTILINE | re.DOTALL
)


class BuildError(Exception):
    """What stops a build, in one sentence."""


def stub_from(solution: str, stem: str) -> str:
    r"""The stub of a solution's text.

    >>> solution = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
    >>> print(stub_from(solution, "rope"))
    def f():
        raise NotImplementedError("TODO rope.f")
    <BLANKLINE>
    """
    owners = [
        (node.lineno, node.end_lineno, node.name)
        for node in ast.parse(solution).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]

    def replace(block: re.Match) -> str:
        line = solution.count("\n", 0, block.start()) + 1
        name = next(name for first, last, name in owners if first <= line <= last)
        return f'{block["indent"]}raise NotImplementedError("TODO {stem}.{name}")\n'

    return _BLOCK.sub(replace, solution)


def drift() -> list[str]:
    """One sentence for every file that is not what its source gives.

    Raises:
        BuildError: a solution or a lesson's text is missing, or a text lacks its markers.
    """
    modules = [
        f"{_shown(lesson.module())} is not what {_shown(lesson.module('solutions'))} gives"
        for lesson in lessons()
        if _read(lesson.module()) != _stub_of(lesson)
    ]
    texts = [
        f"the common mistakes in {_shown(lesson.text)} are not those of the catalogue"
        for lesson in lessons()
        if _read(lesson.text) != _text_of(lesson)
    ]
    return modules + texts


def build(force: bool = False) -> list[str]:
    """Write everything that is missing or stale, and say what was done.

    An exercise that a student edited is only replaced with `force`, after a copy of it was kept.

    Raises:
        BuildError: an edited exercise stands in the way, or a source is missing or lacks its
            markers; then nothing at all was written.
    """
    stale = [lesson for lesson in lessons() if _read(lesson.module()) != _stub_of(lesson)]
    stale_texts = [lesson for lesson in lessons() if _read(lesson.text) != _text_of(lesson)]
    edited = [lesson for lesson in stale if _was_edited(lesson)]
    if edited and not force:
        names = ", ".join(_shown(lesson.module()) for lesson in edited)
        raise BuildError(
            f"your work in {names} was left alone, as was everything else; "
            "`course build --force` replaces it and keeps a copy"
        )
    report = [_back_up(lesson.module()) for lesson in edited]
    for lesson in stale:
        write_whole(lesson.module(), _stub_of(lesson))
        report.append(f"built {_shown(lesson.module())}")
    for lesson in stale_texts:
        write_whole(lesson.text, _text_of(lesson))
        report.append(f"built the common mistakes in {_shown(lesson.text)}")
    record = "".join(f"{_hash(_stub_of(lesson))}  {lesson.stem}.py\n" for lesson in lessons())
    if record != _read(RECORD):
        write_whole(RECORD, record)
    return report or ["everything is up to date"]


def _stub_of(lesson: Lesson) -> str:
    solution = _read(lesson.module("solutions"))
    if solution is None:
        raise BuildError(f"{_shown(lesson.module('solutions'))} is missing")
    return stub_from(solution, lesson.stem)


def _text_of(lesson: Lesson) -> str:
    text = _read(lesson.text)
    if text is None:
        raise BuildError(f"{_shown(lesson.text)} is missing")
    try:
        return with_common_mistakes(text, lesson)
    except ValueError as error:
        raise BuildError(f"{_shown(lesson.text)} {error}") from None


def _was_edited(lesson: Lesson) -> bool:
    current = _read(lesson.module())
    return current is not None and f"{_hash(current)}  {lesson.stem}.py" not in (
        _read(RECORD) or ""
    )


def _back_up(path: Path) -> str:
    """Copy a file, byte for byte, to a name that is not taken; say where."""
    stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
    folder = ROOT / ".course" / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"{path.stem}_{stamp}.py"
    while copy.exists():
        copy = copy.with_stem(f"{copy.stem}_")
    copy.write_bytes(path.read_bytes())
    return f"kept your {_shown(path)} as {_shown(copy)}"


def _read(path: Path) -> str | None:
    """The text of a file with plain line ends (a checkout may have turned them), or None."""
    try:
        return path.read_bytes().decode("utf-8", errors="surrogateescape").replace("\r\n", "\n")
    except FileNotFoundError:
        return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
