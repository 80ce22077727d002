"""What a student hands in: the modules and the notebooks in one zip, with a manifest.

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
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from course import __version__, root
from course.building.notebooks import notebook_of, stems
from course.syllabus import lessons
from course.system.files import add_to_zip, old_drafts, write_whole_bytes

MANIFEST = "manifest.json"
MAX_MODULE_BYTES = 1 << 20
"""A larger module is not read by the grader."""
USUAL_NOTEBOOK_BYTES = 5 << 20
"""A notebook is only larger if its outputs are."""
MAX_BYTES = 50 << 20
"""Of everything together: what platforms and graders still take."""
_CLEAR = "clear its outputs (menu Edit)"
_COURSE = "What and Where"


class SubmissionError(Exception):
    """Why nothing was packed, in one sentence."""


@dataclass
class Work:
    """What was found to hand in.

    Attributes:
        files: the bytes of each file, by its name in the repository.
        remarks: a sentence for everything that is missing or odd.
        unreadable: the modules that are no Python.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)


def collect() -> Work:
    """Read the six modules and the notebooks as they are now."""
    work = Work()
    modules = [lesson.module() for lesson in lessons()]
    for path in (*modules, *map(notebook_of, stems())):
        name = path.relative_to(root()).as_posix()
        try:
            if not path.exists():
                work.remarks.append(f"{name} is missing.")
            elif not path.is_file():
                work.remarks.append(f"{name} is not a file, and was left out.")
            elif path.stat().st_size > MAX_BYTES:
                work.remarks.append(_left_out(name, path.stat().st_size))
            else:
                work.files[name] = path.read_bytes()
        except OSError as error:
            work.remarks.append(f"{name} cannot be read, and was left out: {error.strerror}.")
    _leave_out_the_largest(work)
    for name, data in work.files.items():
        _look_at(name, data, work)
    return work


def pack(files: Mapping[str, bytes], name: str = "") -> bytes:
    """The bytes of the zip.

    Args:
        files: the bytes of each file, by its name in the zip.
        name: the student's, if it is to be in the manifest.
    """
    manifest = {
        "course": _COURSE,
        "version": __version__,
        "python": platform.python_version(),
        "torch": _version("torch"),
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

    Raises:
        OSError: it cannot be written.
    """
    _remove_old_drafts(out)
    write_whole_bytes(out, data)


def _remove_old_drafts(out: Path) -> None:
    """Remove what runs that were killed while they wrote have left beside it.

    A draft is there for a moment only: one that is older than a minute is nobody's.
    """
    with contextlib.suppress(OSError):  # what cannot be removed is in nobody's way
        for draft in old_drafts(out):
            if time.time() - draft.stat().st_mtime > 60:
                with open(draft, "rb") as file:
                    beginning = file.read(30 + len(MANIFEST))
                if beginning[30:] == MANIFEST.encode()[: len(beginning[30:])]:
                    draft.unlink()


def _leave_out_the_largest(work: Work) -> None:
    """Keep to the limit; a zip that nobody takes would help nobody."""
    while sum(map(len, work.files.values())) > MAX_BYTES:
        largest = max(work.files, key=lambda name: len(work.files[name]))
        work.remarks.append(_left_out(largest, len(work.files.pop(largest))))


def _left_out(name: str, size: int) -> str:
    cure = f": {_CLEAR} and submit again" if name.endswith(".ipynb") else ""
    return f"{name} was left out, because it is too large, {size >> 20} MB{cure}."


def _look_at(name: str, data: bytes, work: Work) -> None:
    """Note what is odd about the content of a file."""
    if name.endswith(".py"):
        trouble = _why_not_python(data)
        if trouble:
            work.unreadable.add(name)
            work.remarks.append(f"{name} {trouble}; as it is, none of its exercises counts.")
        elif len(data) > MAX_MODULE_BYTES:
            work.remarks.append(f"{name} is larger than 1 MB: graders do not read it.")
    elif not _is_notebook(data):
        work.remarks.append(f"{name} is damaged: it is no notebook any more.")
    else:
        if len(data) > USUAL_NOTEBOOK_BYTES:
            work.remarks.append(f"{name} is unusually large, {len(data) >> 20} MB: {_CLEAR}.")
        if any(place in data for place in _places()):
            work.remarks.append(f"{name} names a folder of your computer: {_CLEAR} if you mind.")


def _why_not_python(source: bytes) -> str:
    """What keeps a module from being Python, as the rest of a sentence; empty if nothing does."""
    if b"\0" in source:  # as in UTF-16, which some editors write
        return "is not saved as UTF-8"
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(source)
    except SyntaxError as error:
        return f"is not valid Python{f', line {error.lineno}' if error.lineno else ''}"
    except (ValueError, RecursionError, MemoryError):
        return "is not valid Python"
    return ""


def _is_notebook(data: bytes) -> bool:
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(notebook, dict) and isinstance(notebook.get("cells"), list)


def _places() -> list[bytes]:
    """Folders that tell whose computer it is, as they stand in a notebook."""
    places = {str(root()), os.path.expanduser("~")}
    return [json.dumps(place)[1:-1].encode() for place in places if len(Path(place).parts) > 1]


def _is_ours(path: Path) -> bool:
    """Whether a file is a zip that was packed here and not changed since."""
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


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
