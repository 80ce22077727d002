"""Notebooks, made from their sources: `notebook.py` in each room of `course/lessons/`.

A source is Python in jupytext's percent format. Some cells carry something extra:

    # %% [markdown] answer="why-relative" points=2     a question that a person grades
    # %% [markdown] tags=["prediction"]                what to guess, before the next cells are run
    # %% tags=["guess"]                                the guess, and its comparison with the result
    # %% tags=["slider"]                               what needs a kernel: not on the site

In an answer, the lines from `### BEGIN SOLUTION` to `### END SOLUTION` are the instructor's.
The head of a notebook, with its links, and a check of every exercise at its end come from the
syllabus, the cell for Google Colab from the address in pyproject.toml.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from course import root
from course.core.syllabus import Lesson, lessons, name_for_check

if TYPE_CHECKING:
    from nbformat import NotebookNode

LAB, SHOOT_OUT = "positions_lab", "shoot_out"

UNGRADED = {"lab": LAB, "shoot-out": SHOOT_OUT}
"""Notebooks that belong to no lesson, by the name that `course open` and `course reset` take."""

YOUR_ANSWER = "*Your answer goes here; double-click to edit.*"

_BLOCK = re.compile(r"^### BEGIN SOLUTION\n.*?^### END SOLUTION$", re.MULTILINE | re.DOTALL)
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
COLAB = """\
# @title Google Colab: run this cell first. Anywhere else it does nothing.
# @markdown It puts the course into your Google Drive, in `what-and-where`, where all you write
# @markdown stays. From then on open this notebook there, and type `!course` for `course`.
import os
import sys

if "google.colab" in sys.modules:
    from google.colab import drive

    drive.mount("/content/drive")
    folder = "/content/drive/MyDrive/what-and-where"
    if not os.path.exists(f"{folder}/pyproject.toml"):
        address = "ADDRESS"
        address = address or input("The address of the course on GitHub: ")
        !git clone --quiet {address} {folder}
    if not os.path.exists(f"{folder}/pyproject.toml"):
        raise SystemExit(f"The course could not be fetched from {address}.")
    %cd -q {folder}/notebooks
    %pip install --quiet --no-deps --editable {folder}
    %pip install --quiet jupytext gguf pooch remotezip
    sys.path.insert(0, folder)
    os.environ["COURSE_COMMAND_PREFIX"] = "!"
"""
"""The first cell of a notebook. Colab has all packages that students need, except one."""

_FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["colab"]}
_HEAD = (
    "# %% [markdown]\n"
    "# *Read {text}. You write {module}; its tests are in {tests}. This notebook uses your "
    "functions as soon as you have written and saved them, and the reference's until then; it "
    "says which. If your run differs from an explanation, run the checks at the end first. When "
    "you open the notebook again, run it again.*\n\n"
)
_HOW_TO_GUESS = "# your guess in place of ..., words in quotes; then run this cell and the next"
_CHECKS = (
    "# %% [markdown]\n"
    "# ## Your exercises\n"
    "#\n"
    "# Each of these cells runs the graded tests of one exercise, on what you saved last. An "
    "instructor's points come from the same tests, run outside of this notebook.\n\n"
    "# %%\n"
    "from course.student.notebook import check\n"
)


def address() -> str:
    """Return where the course is published, such as `https://github.com/me/what-and-where`.

    It is `Repository` under `[project.urls]` in pyproject.toml; empty if that is not there.
    """
    project = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project.get("urls", {}).get("Repository", "").removesuffix("/").removesuffix(".git")


def stems() -> list[str]:
    """Return all notebooks by the names of their files: `1_lookup` to `8_gpt`, then the others."""
    return [*(lesson.notebook.stem for lesson in lessons()), *UNGRADED.values()]


def source_of(stem: str) -> Path:
    """Return where the source of a notebook lies."""
    room = stem.lstrip("0123456789_")
    return root() / "course" / "lessons" / room / "notebook.py"


def notebook_of(stem: str) -> Path:
    """Return where a notebook lies."""
    return root() / "notebooks" / f"{stem}.ipynb"


def notebook_from(source: str, stem: str, *, solved: bool = False, linked: bool = True) -> str:
    """Return the text of a notebook.

    Args:
        source: its source.
        stem: the name of its file, `5_rope`.
        solved: with the instructor's answers, as nbgrader wants its source.
        linked: with links into the repository, and with the cell that fetches it in Google Colab;
            an assignment comes alone.

    Raises:
        ValueError: an answer has no name or no points, or two have the same name.
    """
    import nbformat  # both take seconds to import
    from jupytext import reads

    cells = reads(source, fmt="py:percent").cells
    lesson = next((one for one in lessons() if one.notebook.stem == stem), None)
    if lesson:
        head, *checks = reads(_head(lesson, linked) + _checks(lesson), fmt="py:percent").cells
        cells[1:] = [head, *cells[1:], *checks]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02}"
        if "answer" in cell.metadata:
            _make_answer(cell, solved)
        if "prediction" in cell.metadata.get("tags", []):
            cell.source = f"**Guess first.** {cell.source}"
        if cell.source.startswith("guess = Guess("):
            cell.source = f"{_HOW_TO_GUESS}\n{cell.source}"
    names = [cell.metadata["nbgrader"]["grade_id"] for cell in cells if "nbgrader" in cell.metadata]
    if len(set(names)) != len(names):
        raise ValueError(f"has two graded cells of the same name among {', '.join(names)}")
    if linked:
        colab = COLAB.strip().replace("ADDRESS", address())
        cell = nbformat.v4.new_code_cell(colab, id="colab", metadata=_FOLDED)
        cells.insert(2 if lesson else 1, cell)
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=_METADATA)
    notebook.nbformat_minor = 5
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _head(lesson: Lesson, linked: bool) -> str:
    """Write the cell that names text, module and tests."""
    paths = {"text": lesson.text, "module": lesson.module(), "tests": lesson.tests}
    names = {kind: path.relative_to(root()).as_posix() for kind, path in paths.items()}
    if not linked:
        names["module"] = f"{lesson.stem}.py"
    say = "[{0}](../{0})".format if linked else "`{}`".format
    return _HEAD.format(**{kind: say(name) for kind, name in names.items()})


def _checks(lesson: Lesson) -> str:
    """Write one graded cell for each exercise."""
    cells = []
    for one in lesson.exercises:
        graded = json.dumps(_graded(one.name, one.points, solution=False))
        cells.append(f'\n# %% nbgrader={graded}\ncheck("{name_for_check(one)}")\n')
    return _CHECKS + "".join(cells)


def _make_answer(cell: "NotebookNode", solved: bool) -> None:
    try:
        name, points = cell.metadata.pop("answer"), int(cell.metadata.pop("points"))
    except (KeyError, ValueError):
        raise ValueError("has an answer without points") from None
    cell.metadata["nbgrader"] = _graded(name, points, solution=True)
    title, end, rest = cell.source.partition("\n")
    cell.source = f"{title} ({points} points, given by your instructor){end}{rest}"
    if not solved:
        cell.source = _BLOCK.sub(YOUR_ANSWER, cell.source)


def _graded(name: str, points: int, *, solution: bool) -> dict:
    """Return what nbgrader wants to know about a cell that earns points."""
    return {
        "grade": True,
        "grade_id": name,
        "locked": not solution,
        "points": points,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
