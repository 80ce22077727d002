"""A repository for students in which reading or searching shows no solution."""

import io
import re
import shutil
import zipfile
from pathlib import Path

from course import root
from course.core import answers
from course.core.files import add_to_zip, write_bytes_atomically
from course.core.syllabus import lessons
from course.publishing.building.build import modules_and_notebooks, record, record_of

_COPIED = (".gitignore", ".gitattributes", ".devcontainer/*", ".github/*.md", "*.md", "LICENSE")
_COPIED += ("pyproject.toml", "datasets.sh", "course/**/*", "notebooks/*.md")
_LEFT_OUT = {"CONTRIBUTING.md", "course/mistakes/README.md"}
"""They explain, by examples, how mistakes are written."""
_NOT_IN_README = (
    r"^## For contributors\n.*?(?=^## )",
    r"^You need this second command .*?^```sh\n.*?^```\n\n",
    r"^(solutions|benchmarks|tests/course)/[^\n]*\n",
)
"""What is about other files than those."""


def write_handout(folder: Path, shown: str) -> int:
    """Write a repository for students, in place of an earlier one; return its number of files.

    Args:
        shown: what `course show` may show in it: "never", "passed" or "always".

    Raises:
        BuildError: an exercise or a notebook cannot be made.
        ValueError: the folder has something else in it.
    """
    if answers.pack().exists():
        raise ValueError("this is a handout already: run the command in your full repository")
    files = _files()
    files[answers.pack().relative_to(root()).as_posix()] = _packed(shown)
    if folder.is_dir() and any(one.name != ".git" for one in folder.iterdir()):
        if not (folder / answers.pack().relative_to(root())).is_file():
            raise ValueError(f"{folder} holds something else: name a new or empty folder")
        for old in ("course", "exercises", "notebooks", "tests"):
            shutil.rmtree(folder / old, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_bytes_atomically(folder / name, data)
    (folder / "datasets.sh").chmod(0o755)
    return len(files)


def _files() -> dict[str, bytes]:
    """Return all files but the packed one, by their names: the exercises as they are at first."""
    paths = {path for pattern in _COPIED for path in root().glob(pattern)}
    paths |= {lesson.tests for lesson in lessons()}
    paths -= set(_to_pack())
    names = {path.relative_to(root()).as_posix(): path for path in sorted(paths)}
    files = {
        name: path.read_bytes()
        for name, path in names.items()
        if path.is_file() and "__pycache__" not in name and name not in _LEFT_OUT
    }
    readme = files["README.md"].decode("utf-8")
    for part in _NOT_IN_README:
        readme = re.sub(part, "", readme, flags=re.DOTALL | re.MULTILINE)
    files["README.md"] = readme.encode("utf-8")
    made = list(modules_and_notebooks())
    for path, data in [(one.path, one.text) for one in made] + [(record(), record_of(made))]:
        files[path.relative_to(root()).as_posix()] = data.encode("utf-8")
    return files


def _to_pack() -> list[Path]:
    return sorted(path for pattern in answers.FILES for path in root().glob(pattern))


def _packed(shown: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        add_to_zip(opened, answers.SHOWN, shown.encode())
        add_to_zip(opened, "solutions/", b"")  # to be imported from here
        for path in _to_pack():
            add_to_zip(opened, path.relative_to(root()).as_posix(), answers.read(path))
    return packed.getvalue()
