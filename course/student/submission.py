"""The zip that a student hands in: the modules and the notebooks, with a manifest.

The zip holds `exercises/rope.py`, `notebooks/5_rope.ipynb` and so on, and `manifest.json`: a hash
of each, and the versions of the course and of Python. It says nothing about the computer, and about
the student only a name, if one is given. The same content gives the same bytes.
"""

import ast
import hashlib
import io
import json
import os
import platform
import stat
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from course import __version__, root
from course.core.copies import original_name
from course.core.files import MANIFEST, MAX_MODULE_BYTES, add_to_zip
from course.core.syllabus import lessons
from course.publishing.building.notebooks import notebook_of, stems

MAX_NOTEBOOK_BYTES = 5 << 20
"""A notebook is only larger if its outputs are; all together stay within what platforms take."""
_COURSE = "What and Where"


class SubmissionError(Exception):
    """A sentence on why nothing was packed."""


def collect() -> tuple[dict[str, bytes], list[str]]:
    """Read the modules and the notebooks as they are now.

    Returns:
        The bytes of each file, by its name in the repository, and a sentence for whatever was left
        out or is damaged.
    """
    files, remarks = {}, []
    modules = [lesson.module() for lesson in lessons()]
    for path in (*modules, *map(notebook_of, stems())):
        name, is_module = path.relative_to(root()).as_posix(), path in modules
        limit = MAX_MODULE_BYTES if is_module else MAX_NOTEBOOK_BYTES
        try:
            if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                remarks.append(f"{name} was left out: it is a link or a device.")
                continue
            data = path.read_bytes()
        except OSError as error:
            remarks.append(f"{name} was left out: {error.strerror}.")
            continue
        if len(data) > limit:
            cure = "" if is_module else "; clear its outputs (Edit menu) and submit again"
            remarks.append(f"{name} was left out: it is larger than {limit >> 20} MB{cure}.")
            continue
        files[name] = data
        if not _is_whole(data, is_module):
            remarks.append(
                f"{name} is not valid Python, so none of its exercises will count."
                if is_module
                else f"{name} is damaged: it's not a notebook anymore."
            )
    return files, remarks + _left_out([*modules, *map(notebook_of, stems())])


def _left_out(wanted: Sequence[Path]) -> list[str]:
    """Return a sentence for each file beside these, or at the top, that may be meant as one."""
    by_name = {path.name.lower(): path.relative_to(root()).as_posix() for path in wanted}
    remarks = []
    for folder in dict.fromkeys([*(path.parent for path in wanted), root()]):
        for path in sorted(folder.iterdir() if folder.is_dir() else ()):
            name, own = path.relative_to(root()).as_posix(), by_name.get(original_name(path.name))
            is_code = path.suffix == ".py" and path.name != "__init__.py"
            if name.lower() != own and (own or (is_code and folder != root())):
                called = own or "as its lesson, like lookup.py,"
                remarks.append(
                    f"{name} was left out: if that is your work, call it {called} and submit again."
                )
    return remarks


def pack(files: Mapping[str, bytes], name: str = "") -> bytes:
    """Return the bytes of a zip of these files; its manifest names the student if that is given."""
    manifest = {
        "course": _COURSE,
        "version": __version__,
        "python": platform.python_version(),
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
        raise SubmissionError(f"{out} must end in .zip, or no grader will open it.")
    if not out.absolute().parent.is_dir():
        raise SubmissionError(f"there is no folder {out.parent}.")
    if os.path.lexists(out) and not _is_ours(out):
        raise SubmissionError(
            f"{out} already exists, and is not a zip that `course submit` wrote, so it won't be "
            "replaced. Choose another name with --out."
        )


def _is_whole(data: bytes, is_module: bool) -> bool:
    """Return whether a module is Python, or a notebook a notebook."""
    try:
        if is_module:
            with warnings.catch_warnings(action="ignore"):
                ast.parse(data)
        else:
            list(json.loads(data)["cells"])
    except (SyntaxError, ValueError, TypeError, LookupError, RecursionError, MemoryError):
        return False
    return True


def _is_ours(path: Path) -> bool:
    """Return whether a file is a zip that was packed here and not changed since."""
    try:
        with zipfile.ZipFile(path) as opened:
            manifest = json.loads(opened.read(MANIFEST))
            hashes = {
                name: hashlib.sha256(opened.read(name)).hexdigest()
                for name in opened.namelist()
                if name != MANIFEST
            }
            return manifest["course"] == _COURSE and manifest["files"] == hashes
    except Exception:  # a damaged zip fails in many ways
        return False
