"""The pages of the site: texts and notebooks of the course, and what follows from its syllabus.

They lie as in the repository, so that the links between lessons, notebooks and modules lead to the
same places on the site as there.
"""

import re
import shutil
from pathlib import Path

import jinja2
import nbformat
from nbformat import NotebookNode

from course import root
from course.core.stubs import stub_from
from course.core.syllabus import Exercise, counted_lessons, find_lesson, lessons
from course.publishing.building.notebooks import YOUR_ANSWER, address, notebook_of
from course.publishing.lab.script import write_lab
from course.publishing.site.executed import executed_notebooks
from course.publishing.site.markup import for_pages
from course.testing.messages.wording import counted

HERE = Path(__file__).parent

_NOT_READ = {"colab", "guess", "slider"}
"""The tags of cells that only work in a notebook that runs."""


_SIDEBAR = """
```{{toctree}}
:hidden:

Exercises </exercises/{lesson.stem}>
Notebook </notebooks/{lesson.notebook.stem}>
```
"""


def write_pages(folder: Path, kept: Path) -> None:
    """Write all that Sphinx makes the site from, and leave alone what is there already.

    Args:
        kept: the folder of notebooks that ran.

    Raises:
        SiteError: a notebook does not run with the reference.
    """
    shutil.copytree(HERE / "source", folder, dirs_exist_ok=True)
    write_lab(folder / "static")
    _write_texts(folder)
    _write_modules(folder)
    for stem, notebook in executed_notebooks(kept).items():
        _write(folder, notebook_of(stem), nbformat.writes(for_reading(notebook, stem)))
    _write(folder, root() / "index.md", _rendered("index.md", **_landing()))


def _write_texts(folder: Path) -> None:
    syllabus = root() / "course" / "lessons" / "README.md"
    every_exercise = _rendered("exercises_of_all_lessons.md")
    _write(folder, syllabus, syllabus.read_text(encoding="utf-8") + every_exercise)
    for lesson in lessons():
        text = lesson.text.read_text(encoding="utf-8")
        text = re.sub(r"\n\*(Previous|Next): [^*]+\*\n", "", text)  # the theme has such links
        _write(folder, lesson.text, for_pages(text, lesson) + _SIDEBAR.format(lesson=lesson))
        for figure in (lesson.room / "figures").glob("*.svg"):
            _write(folder, figure, figure.read_text(encoding="utf-8"))
    course = root() / "course"
    linked = [course / "lessons" / "before_you_start.md", course / "lessons" / "glossary.md"]
    linked += [course / "instructors.md", course / "grading" / "engines" / "classroom.yml"]
    for path in [*linked, *(lesson.tests for lesson in lessons())]:
        _write(folder, path, path.read_text(encoding="utf-8"))


def _write_modules(folder: Path) -> None:
    """Write the stubs, for readers to fetch and for Sphinx to read docstrings, and their pages."""
    for lesson in lessons():
        solution = lesson.solution
        _write(folder, lesson.module(), stub_from(solution, lesson.stem))
        page = _rendered("exercises_of_a_lesson.md", lesson=lesson)
        _write(folder, lesson.module().with_suffix(".md"), page)


def for_reading(notebook: NotebookNode, stem: str) -> NotebookNode:
    """Change a notebook for who only reads it: no cells to work in, a guess before each result.

    Sliders need a running kernel, and a page would fetch scripts for them.
    """
    notebook.metadata.pop("widgets", None)
    title, name = notebook.cells[0], stem.partition("_")[2].removeprefix("positions_")
    title.source = re.sub(r"^# (\d)\. ", r"# Notebook \1. ", title.source)
    notebook.cells = [cell for cell in notebook.cells if not _NOT_READ & tags_of(cell)]
    to_guess = False
    for cell in notebook.cells:
        if "prediction" in tags_of(cell):
            to_guess = True
            question = cell.source.removeprefix("**Guess first.** ")
            cell.source = f"::::{{admonition}} Guess first\n{question}\n::::"
        elif cell.cell_type == "markdown":
            to_guess &= not cell.source.startswith(("<details>", "#"))  # told, or something else
        else:
            is_check = cell.source.startswith("check(")  # the reference's points, not the reader's
            cell.outputs = [one for one in cell.outputs if not (is_check or _is_slider(one))]
            if to_guess and cell.outputs:
                cell.metadata.tags = ["hide-output"]
        cell.source = cell.source.replace(
            YOUR_ANSWER, f"*The place for your answer is your own notebook: `course open {name}`.*"
        )
    return notebook


def tags_of(cell: NotebookNode) -> set[str]:
    return set(cell.metadata.get("tags", []))


def _is_slider(output: NotebookNode) -> bool:
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


def _landing() -> dict:
    """Return what the first page says of the others."""
    readme = (root() / "README.md").read_text(encoding="utf-8")
    lesson = find_lesson("permutation").text.read_text(encoding="utf-8")
    picture = re.search(r"^!\[.*\]\(figures/bag_of_words.svg\)$", lesson, re.MULTILINE)[0]
    return {
        "picture": picture.replace("](", "](course/lessons/permutation/"),
        "address": address(),
        "start": re.search(r"<!-- start -->\n(```.*?```)", readme, re.DOTALL)[1],
        "built": re.search(r"<!-- built -->\n(.*?)<!-- end of built -->", readme, re.DOTALL)[1],
    }


def anchor_of(exercise: Exercise) -> str:
    """Return the name of an exercise's place on its page."""
    return f"exercise-{exercise.name.lower().replace('_', '-')}"


def _rendered(template: str, **values: object) -> str:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["anchor"] = anchor_of
    environment.globals["counted"] = counted
    everything = {
        "lessons": lessons(),
        "points": sum(lesson.points for lesson in counted_lessons()),
        "minutes": sum(lesson.minutes for lesson in counted_lessons()),
    }
    return environment.get_template(template).render(everything | values)


def _write(folder: Path, path: Path, text: str) -> None:
    """Write a text to where a file of the repository lies, but in another folder.

    One that holds it already is not touched: Sphinx skips what is older than its page.
    """
    copy = folder / path.relative_to(root())
    copy.parent.mkdir(parents=True, exist_ok=True)
    if not copy.exists() or copy.read_text(encoding="utf-8") != text:
        copy.write_text(text, encoding="utf-8", newline="\n")
