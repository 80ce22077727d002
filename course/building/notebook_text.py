"""Notebooks, made from their sources in `solutions/notebooks/`.

A source is Python in jupytext's percent format. Two kinds of cells carry something extra:

    # %% [markdown] answer="why-relative" points=2     a question that a person grades
    # %% [markdown] tags=["prediction"]                a guess to write down first

In an answer, what stands between `### BEGIN SOLUTION` and `### END SOLUTION` is the instructor's.
The head of a notebook, with its links, and a check of every exercise at its end come from the
syllabus; the cell for Google Colab comes from `course/building/colab.py`.
"""

import re

import jupytext
import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from course import root
from course.building.colab import first_cell
from course.syllabus import Exercise, Lesson, lessons, name_for_check

YOUR_ANSWER = "*Your answer goes here; double-click to edit.*"

_BLOCK = re.compile(r"^### BEGIN SOLUTION\n.*?^### END SOLUTION$", re.MULTILINE | re.DOTALL)
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook_from(source: str, stem: str, *, solved: bool = False, linked: bool = True) -> str:
    """The text of a notebook.

    Args:
        source: its source.
        stem: the name of its file, `5_rope`.
        solved: with the instructor's answers, as nbgrader wants its source.
        linked: with links into the repository, and with the cell that fetches it in Google Colab;
            an assignment stands alone.

    Raises:
        ValueError: an answer has no name or no points, or two have the same name.
    """
    cells = jupytext.reads(source, fmt="py:percent").cells
    lesson = next((one for one in lessons() if one.text.stem == stem), None)
    if lesson:
        title, *rest = cells
        cells = [title, _head(lesson, linked), *rest, *_checks(lesson)]
    names = []
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:02}"
        if "answer" in cell.metadata:
            _make_answer(cell, solved)
        if "prediction" in cell.metadata.get("tags", []):
            cell.source = f"**Guess first.** {cell.source}"
        if "nbgrader" in cell.metadata:
            names.append(cell.metadata["nbgrader"]["grade_id"])
    if linked:
        cells.insert(2 if lesson else 1, _colab(stem))
    if len(set(names)) != len(names):
        raise ValueError(f"has two graded cells of the same name among {', '.join(names)}")
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=_METADATA)
    notebook.nbformat_minor = 5
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def _head(lesson: Lesson, linked: bool) -> NotebookNode:
    """What belongs to a notebook: text, module, tests."""
    text, module, tests = (
        path.relative_to(root()).as_posix() for path in (lesson.text, lesson.module(), lesson.tests)
    )
    if not linked:
        module = f"{lesson.stem}.py"
    say = "[{0}](../{0})".format if linked else "`{}`".format
    return new_markdown_cell(
        f"*Read {say(text)}. You write {say(module)}; its tests are in {say(tests)}. This notebook "
        "uses your functions as soon as you have written and saved them, and the reference's until "
        "then; it says which. If your run differs from an explanation, run the checks at the end "
        "first. When you open the notebook again, run it again: sliders need a running kernel.*"
    )


def _colab(stem: str) -> NotebookNode:
    """What fetches the course in Google Colab; folded away, for elsewhere it does nothing."""
    cell = new_code_cell(first_cell(stem).rstrip(), id="colab")
    cell.metadata.update(cellView="form", jupyter={"source_hidden": True}, tags=["colab"])
    return cell


def _checks(lesson: Lesson) -> list[NotebookNode]:
    """One graded cell for each exercise."""
    title = new_markdown_cell(
        "## Your exercises\n\nEach of these cells runs the graded tests of one exercise, on what "
        "you saved last. An instructor's points come from the same tests, run outside of this "
        "notebook."
    )
    imports = new_code_cell("from course.student.notebook import check")
    return [title, imports, *(_check(exercise) for exercise in lesson.exercises)]


def _check(exercise: Exercise) -> NotebookNode:
    cell = new_code_cell(f'check("{name_for_check(exercise)}")')
    cell.metadata["nbgrader"] = _graded(exercise.name, exercise.points, solution=False)
    return cell


def _make_answer(cell: NotebookNode, solved: bool) -> None:
    try:
        name, points = cell.metadata.pop("answer"), int(cell.metadata.pop("points"))
    except (KeyError, ValueError):
        raise ValueError("has an answer without points") from None
    cell.metadata["nbgrader"] = _graded(name, points, solution=True)
    title, end, rest = cell.source.partition("\n")
    cell.source = f"{title} ({points} points){end}{rest}"
    if not solved:
        cell.source = _BLOCK.sub(YOUR_ANSWER, cell.source)


def _graded(name: str, points: int, *, solution: bool) -> dict:
    """What nbgrader wants to know about a cell that earns points."""
    return {
        "grade": True,
        "grade_id": name,
        "locked": not solution,
        "points": points,
        "schema_version": 3,
        "solution": solution,
        "task": False,
    }
