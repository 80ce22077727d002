"""The course on GitHub and in Google Colab, which opens a notebook with nothing beside it.

A notebook's first cell fetches the course, and then `move_in` makes Colab's machine a place to
work. pyproject.toml says where the course is published, as `Repository` under `[project.urls]`.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib

from course import root
from course.syllabus import lessons
from course.system.console import PREFIX

BRANCH = "main"
GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com"

_FIRST_CELL = """\
# %% cellView="form" jupyter={{"source_hidden": true}} tags=["colab"]
# @title Google Colab: run this cell first. Anywhere else it does nothing.
# @markdown Without Drive, what you write is gone when Colab takes its machine back.
import os
import subprocess
import sys

address = "{address}"  # @param {{type: "string"}}
keep_in_drive = True  # @param {{type: "boolean"}}

if "google.colab" in sys.modules:
    folder = "/content/what-and-where"
    if keep_in_drive:
        from google.colab import drive

        drive.mount("/content/drive")
        folder = "/content/drive/MyDrive/what-and-where"
    if not os.path.exists(folder):
        address = address or input("The address of the course on GitHub: ")
        subprocess.run(["rm", "-rf", f"{{folder}}.new"])
        clone = ["git", "clone", "--quiet", address, f"{{folder}}.new"]
        git = subprocess.run(clone, capture_output=True, text=True)
        if git.returncode:
            raise SystemExit(f"The course could not be fetched from {{address}}: {{git.stderr}}")
        os.rename(f"{{folder}}.new", folder)
    sys.path.insert(0, folder)
    from course.building.colab import move_in

    move_in("{stem}")
"""

_NOT_NEEDED = {"jupyterlab", "nbgrader"}
"""Packages that Colab stands in for, or that only instructors use."""


def address() -> str:
    """Return the address of the repository, such as `https://github.com/me/what-and-where`.

    Returns:
        Without a slash or `.git` at its end; empty as long as the course is not published.

    Raises:
        ValueError: what is said is no address of a repository on GitHub.
    """
    project = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = project.get("urls", {}).get("Repository", "")
    url = said.removesuffix("/").removesuffix(".git")
    if said and not re.fullmatch(rf"{re.escape(GITHUB)}[\w.-]+/[\w.-]+", url):
        raise ValueError(
            f'is to link to the repository, but its address in pyproject.toml, "{said}", is not '
            f'like "{GITHUB}OWNER/NAME"'
        )
    return url


def first_cell(stem: str) -> str:
    """Return the cell, folded away, with which a notebook begins; it does nothing but in Colab."""
    return _FIRST_CELL.format(address=address(), stem=stem)


def move_in(stem: str) -> None:
    """Install the course in Colab, go to its notebooks, and say where everything is.

    Nothing that Colab has is replaced, its PyTorch least of all: that would take gigabytes, and a
    restart.
    """
    from IPython.display import Markdown, display
    from packaging.requirements import Requirement

    _pip_install("--no-deps", "--editable", str(root()))
    importlib.invalidate_caches()
    asked = map(Requirement, importlib.metadata.requires("what-and-where") or [])
    needed = {one.name: one for one in asked if not one.marker and one.name not in _NOT_NEEDED}
    if missing := [str(one) for one in needed.values() if _version(one.name) is None]:
        _pip_install(*missing)
    os.chdir(root() / "notebooks")
    os.environ[PREFIX] = "!"  # as a cell needs it before a command
    display(Markdown(_welcome(stem)))
    if _version("torch") not in needed["torch"].specifier:
        print(f"Colab's PyTorch {_version('torch')} is one that the course was not tested with.")


def _pip_install(*what: str) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", *what]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"pip could not install {' '.join(what)}: {done.stderr}")


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _welcome(stem: str) -> str:
    if "MyDrive" in root().parts:
        folder = root().as_posix().partition("MyDrive/")[2]
        kept = (
            "**The course is in your Drive and stays there.** From now on open this notebook from "
            f"[your Drive](https://drive.google.com), `{folder}/notebooks/{stem}.ipynb`: your "
            "answers stay in it as well, and `!course submit` packs them."
        )
    else:
        kept = (
            f"**The course is in `{root().as_posix()}`, and is gone when Colab takes this machine "
            "back.** Before you leave, run `!course submit` and download `submission.zip`, which "
            "holds your modules; this notebook you keep by *File*, *Save a copy in Drive*."
        )
    parts = [kept]
    if lesson := next((one for one in lessons() if one.text.stem == stem), None):
        git = ["git", "-C", str(root()), "remote", "get-url", "origin"]
        fetched_from = subprocess.run(git, capture_output=True, text=True).stdout.strip()
        origin = fetched_from.removesuffix("/").removesuffix(".git")
        text = f"{origin}/blob/{BRANCH}/{lesson.text.relative_to(root()).as_posix()}"
        parts.append(f"Read [the lesson]({text}).")
        parts.append(
            f"Write `{lesson.module().as_posix()}`: the folder symbol on the left leads there, a "
            "double click opens it, and Ctrl+S saves it."
        )
    parts.append("Commands begin with an exclamation mark here: `!course`, `!course update`.")
    return "\n\n".join(parts)
