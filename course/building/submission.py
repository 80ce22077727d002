"""The zip that a student hands in: the modules and the notebooks, with a manifest.

The zip holds `exercises/rope.py`, `notebooks/5_rope.ipynb` and so on, and `manifest.json`: a hash
of each, and the versions of the course, of Python and of PyTorch. It says nothing about the
computer, and about the student only a name, if one is given. The same content gives the same bytes.
"""

import ast
import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course import __version__, root
from course.building.notebooks import notebook_of, stems
from course.syllabus import lessons
from course.system.files import add_to_zip, old_drafts, write_whole_bytes

MANIFEST = "manifest.json"
QUESTIONS = "questions.json"
"""In a zip, what the student asks: a text for each exercise asked about, by its name."""
MAX_QUESTION = 2_000
"""Characters of one question."""
MAX_MODULE_BYTES = 1 << 20
"""A larger module is not read by the grader."""
USUAL_NOTEBOOK_BYTES = 5 << 20
"""A notebook is only larger if its outputs are."""
MAX_BYTES = 50 << 20
"""Of everything together: what platforms and graders still take."""
_CLEAR = "clear its outputs (menu Edit)"
_COURSE = "What and Where"


class SubmissionError(Exception):
    """A sentence on why nothing was packed."""


@dataclass
class Work:
    """The files to hand in.

    Attributes:
        files: the bytes of each file, by its name in the repository.
        remarks: a sentence for everything that is missing or odd.
        unreadable: the modules that are no Python.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)


def collect() -> Work:
    """Read the modules and the notebooks as they are now."""
    work = Work()

    def leave_out(name: str, size: int) -> None:
        cure = f": {_CLEAR} and submit again" if name.endswith(".ipynb") else ""
        work.remarks.append(f"{name} was left out, because it is too large, {size >> 20} MB{cure}.")

    modules = [lesson.module() for lesson in lessons()]
    for path in (*modules, *map(notebook_of, stems())):
        name = path.relative_to(root()).as_posix()
        try:
            if not path.exists():
                work.remarks.append(f"{name} is missing.")
            elif not path.is_file():
                work.remarks.append(f"{name} is not a file, and was left out.")
            elif path.stat().st_size > MAX_BYTES:
                leave_out(name, path.stat().st_size)
            else:
                work.files[name] = path.read_bytes()
        except OSError as error:
            work.remarks.append(f"{name} cannot be read, and was left out: {error.strerror}.")
    while sum(map(len, work.files.values())) > MAX_BYTES:  # a zip that nobody takes helps nobody
        largest = max(work.files, key=lambda name: len(work.files[name]))
        leave_out(largest, len(work.files.pop(largest)))
    for name, data in work.files.items():
        if name.endswith(".py"):
            _look_at_module(name, data, work)
        else:
            work.remarks += _about_notebook(name, data)
    return work


def pack(files: Mapping[str, bytes], name: str = "") -> bytes:
    """Return the bytes of the zip.

    Args:
        files: the bytes of each file, by its name in the zip.
        name: the student's, if it is to be in the manifest.
    """
    torch = None
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        torch = importlib.metadata.version("torch")
    manifest = {
        "course": _COURSE,
        "version": __version__,
        "python": platform.python_version(),
        "torch": torch,
        **({"name": name} if name else {}),
        "files": {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)},
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        add_to_zip(opened, MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
        for path in sorted(files):
            add_to_zip(opened, path, files[path])
    return packed.getvalue()


def refuse_to_replace(out: Path) -> None:
    """Make sure that a zip may be written there.

    Raises:
        SubmissionError: something else is there, or nothing can be.
    """
    if out.suffix.lower() != ".zip":
        raise SubmissionError(f"{out} has to end in .zip, or no grader takes it for one.")
    if not out.absolute().parent.is_dir():
        raise SubmissionError(f"there is no folder {out.parent}.")
    if os.path.lexists(out) and not _is_ours(out):
        raise SubmissionError(
            f"{out} is there already, and is not as `course submit` wrote it: it was left alone. "
            "Give another name with --out."
        )


def write(out: Path, data: bytes) -> None:
    """Write the zip whole: a crash leaves the old one, or none, or this one.

    What runs that were killed while they wrote have left beside it is removed if it is older than
    a minute, so that nobody writes it any more, and begins as the zip does.

    Raises:
        OSError: it cannot be written.
    """
    with contextlib.suppress(OSError):  # what cannot be removed is in nobody's way
        for draft in old_drafts(out):
            if time.time() - draft.stat().st_mtime > 60:
                with open(draft, "rb") as file:
                    start, name = file.read(30)[:4], file.read(len(MANIFEST))
                if b"PK\3\4".startswith(start) and MANIFEST.encode().startswith(name):
                    draft.unlink()
    write_whole_bytes(out, data)


def _look_at_module(name: str, source: bytes, work: Work) -> None:
    """Note what keeps a module from being graded."""
    trouble = ""
    if b"\0" in source:  # as in UTF-16, which some editors write
        trouble = "is not saved as UTF-8"
    else:
        try:
            with warnings.catch_warnings(action="ignore"):
                ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None)
            trouble = f"is not valid Python{f', line {line}' if line else ''}"
    if trouble:
        work.unreadable.add(name)
        work.remarks.append(f"{name} {trouble}; as it is, none of its exercises counts.")
    elif len(source) > MAX_MODULE_BYTES:
        work.remarks.append(f"{name} is larger than 1 MB: graders do not read it.")


def _about_notebook(name: str, data: bytes) -> Iterator[str]:
    """Yield a remark for everything that is odd about a notebook."""
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError):
        notebook = None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        yield f"{name} is damaged: it is no notebook any more."
        return
    if len(data) > USUAL_NOTEBOOK_BYTES:
        yield f"{name} is unusually large, {len(data) >> 20} MB: {_CLEAR}."
    folders = {str(root()), os.path.expanduser("~")}
    private = [json.dumps(one)[1:-1].encode() for one in folders if len(Path(one).parts) > 1]
    if any(folder in data for folder in private):
        yield f"{name} names a folder of your computer: {_CLEAR} if you mind."


def _is_ours(path: Path) -> bool:
    """Tell whether a file is a zip that was packed here and not changed since."""
    try:
        with zipfile.ZipFile(path) as opened:
            manifest = json.loads(opened.read(MANIFEST))
            hashes = {
                name: hashlib.sha256(opened.read(name)).hexdigest()
                for name in opened.namelist()
                if name != MANIFEST
            }
    except Exception:  # a damaged zip fails in many ways
        return False
    return (
        isinstance(manifest, dict)
        and manifest.get("course") == _COURSE
        and manifest.get("files") == hashes
    )
