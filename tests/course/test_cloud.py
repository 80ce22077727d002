"""Starting without a set-up: a dev container, badges, and notebooks that Colab opens alone."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import types
import venv
from pathlib import Path

import nbformat
import pytest

from course import ROOT
from course.building import build, colab
from course.building.notebooks import notebook_from, notebook_of, source_of, stems
from course.syllabus import counted_lessons
from course.system.console import PREFIX

ADDRESS = "https://github.com/ada/what-and-where"

like_colab = pytest.mark.skipif(
    shutil.which("git") is None or os.name == "nt", reason="Colab has git, and is not Windows"
)


# --- the dev container ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def container() -> dict:
    return json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))


def test_a_dev_container_has_a_python_that_will_do_and_opens_what_is_there(container):
    python = re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:3\.(\d+)", container["image"])
    assert int(python[1]) >= 11
    for name in container["customizations"]["codespaces"]["openFiles"]:
        assert (ROOT / name).is_file(), name


def test_a_dev_container_runs_the_command_that_readme_gives(container):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"<!-- start -->\n```sh\n(.*)\n```", readme)[1]
    assert container["postCreateCommand"] == command
    folder = "${containerWorkspaceFolder}/.venv/bin"
    assert container["remoteEnv"]["PATH"] == f"{folder}:${{containerEnv:PATH}}"
    editor = container["customizations"]["vscode"]["settings"]
    assert editor["python.defaultInterpreterPath"] == f"{folder}/python"


# --- where the course is published ----------------------------------------------------------


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Say in a pyproject.toml of its own where the course is published."""
    monkeypatch.setattr("course.ROOT", tmp_path)

    def say(urls: str) -> None:
        text = f'[project]\nname = "what-and-where"\n{urls}'
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")

    return say


@pytest.mark.parametrize("end", ["", "/", ".git"])
def test_the_address_is_that_of_pyproject(said, end):
    said(f'[project.urls]\nRepository = "{ADDRESS}{end}"\n')
    assert colab.address() == ADDRESS


def test_a_course_that_is_not_published_has_no_badges(said):
    said("")
    begin, end = build.BADGES
    text = f"a\n{begin}old\n{end}b\n"
    assert colab.address() == ""
    assert build.with_badges(text) == f"a\n{begin}{end}b\n"


@pytest.mark.parametrize(
    "wrong",
    ["what-and-where", "https://github.com/ada", "https://example.org/ada/x", ADDRESS + "/tree/x"],
)
def test_what_is_no_address_stops_a_build_before_anything_is_written(repository, said, wrong):
    said(f'[project.urls]\nRepository = "{wrong}"\n')
    with pytest.raises(build.BuildError, match=rf'"{wrong}", is not like'):
        build.build()
    assert not [*repository.glob("notebooks/*.ipynb")]


def test_one_line_and_a_build_give_badges_that_lead_to_the_notebooks(repository, said):
    said("")
    build.build()
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "](https://colab" not in readme
    said(f'[project.urls]\nRepository = "{ADDRESS}"\n')
    assert "the badges in README.md do not lead where pyproject.toml says" in build.drift()
    build.build()
    assert build.drift() == []
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "](https://codespaces.new/ada/what-and-where)" in readme
    place = "https://colab.research.google.com/github/ada/what-and-where/blob/main/"
    led_to = re.findall(rf"\]\({place}([^)]*)\)", readme)
    assert [repository / path for path in led_to] == [notebook_of(stem) for stem in stems()]
    assert all((repository / path).exists() for path in led_to)
    for stem in stems():
        assert f'address = \\"{ADDRESS}\\"' in notebook_of(stem).read_text(encoding="utf-8")


# --- a notebook in Colab --------------------------------------------------------------------


def colab_cell(stem: str) -> nbformat.NotebookNode:
    cells = nbformat.reads(notebook_of(stem).read_text(encoding="utf-8"), 4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [cell.id for cell in code if "google.colab" in cell.source] == ["colab"]
    return code[0]


@pytest.mark.parametrize("stem", stems())
def test_the_first_code_of_a_notebook_is_folded_and_not_graded_and_not_in_assignments(stem):
    cell = colab_cell(stem)
    assert cell.metadata == {
        "cellView": "form",
        "jupyter": {"source_hidden": True},
        "tags": ["colab"],
    }
    source = source_of(stem).read_text(encoding="utf-8")
    assert "google.colab" not in notebook_from(source, stem, linked=False)


def test_elsewhere_it_does_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", None)
    path = list(sys.path)
    exec(colab_cell("5_rope").source, {})
    assert (Path.cwd(), sys.path, list(tmp_path.iterdir())) == (tmp_path, path, [])
    assert capsys.readouterr() == ("", "")


@like_colab
def test_what_cannot_be_fetched_is_one_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    (tmp_path / "what-and-where.new").mkdir()  # as an interrupted run leaves it
    monkeypatch.setattr("builtins.input", lambda question: f"{tmp_path}/nowhere")
    form = {"address": '""', "keep_in_drive": "False"}
    with pytest.raises(SystemExit, match=r"The course could not be fetched from .*/nowhere: "):
        exec(filled_in(colab_cell("5_rope").source, tmp_path, **form), {})
    assert list(tmp_path.iterdir()) == []


REQUIRED = ["ipywidgets>=8", "jupyterlab>=4", "jupytext>=1.16", "nbgrader>=0.9.5"]
REQUIRED += ["torch<2.14,>=2.4", 'ruff>=0.8; extra == "dev"']


@pytest.mark.parametrize(
    ("torch", "is_tested"), [("2.9.0+cu126", True), ("2.3.1", False), ("2.14.0+cu130", False)]
)
def test_what_colab_has_is_not_replaced_and_what_it_lacks_is_added(
    monkeypatch, capsys, torch, is_tested
):
    asked, installed = [], {"torch": torch, "ipywidgets": "7.7.1"}
    monkeypatch.setattr(colab, "_pip_install", lambda *what: asked.append(what))
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setenv(PREFIX, "")  # it sets another, for cells
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: REQUIRED)
    monkeypatch.setattr(colab, "_version", installed.get)
    colab.move_in("5_rope")
    assert asked == [("--no-deps", "--editable", str(ROOT)), ("jupytext>=1.16",)]
    warning = f"Colab's PyTorch {torch} is one that the course was not tested with."
    assert (warning in capsys.readouterr().out) != is_tested


@pytest.fixture(scope="module")
def colab_machine(tmp_path_factory) -> dict[str, Path]:
    """A machine like Colab's: Python with packages, a Drive, and nothing of the course.

    A clone of this repository, as it is on the disk, stands in for GitHub.
    """
    place = tmp_path_factory.mktemp("colab")
    github = place / "github"
    for name in ("course", "exercises", "notebooks", "solutions", "tests"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, github / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, github)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "The course"]):
        subprocess.run([*git, *command], cwd=github, check=True)
    home = place / "environment"
    venv.create(home, with_pip=True)
    packages = next(home.rglob("site-packages"))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "others.pth").write_text("\n".join(others), encoding="utf-8")
    (packages / "google" / "colab").mkdir(parents=True)
    (packages / "google" / "colab" / "__init__.py").touch()
    (packages / "google" / "colab" / "drive.py").write_text(DRIVE, encoding="utf-8")
    return {"place": place, "github": github, "bin": home / "bin"}


DRIVE = """
import os

def mount(place):
    os.makedirs(f"{place}/MyDrive", exist_ok=True)
"""

SHOWN = """
import google.colab, IPython.display
IPython.display.display = lambda text: print(text.data)
"""


def filled_in(source: str, content: Path, **form: str) -> str:
    """The cell with another folder for Colab's, and with what was put into its form."""
    source = source.replace("/content", str(content))
    for name, value in form.items():
        source = re.sub(rf"^{name} = \S+", f"{name} = {value}", source, flags=re.M)
    return source


def said_by_first_cell(machine: dict[str, Path], content: Path, **form: str) -> str:
    """What the first cell of lesson 1's notebook shows, alone in `content`."""
    content.mkdir(exist_ok=True)
    form = {"address": f'"{machine["github"]}"', **form}
    source = filled_in(colab_cell("1_lookup").source, content, **form)
    command = [machine["bin"] / "python", "-c", SHOWN + source]
    done = subprocess.run(command, cwd=content, capture_output=True, text=True, check=True)
    return done.stdout


@like_colab
@pytest.mark.slow
def test_a_notebook_alone_fetches_the_course_and_the_next_machine_finds_it(colab_machine):
    content = colab_machine["place"] / "content"
    said = said_by_first_cell(colab_machine, content)
    folder = content / "drive" / "MyDrive" / "what-and-where"
    assert "in your Drive and stays there" in said
    assert f"{folder}/exercises/lookup.py" in said
    assert f"{colab_machine['github']}/blob/main/course/lessons/1_lookup.md" in said
    assert not list(folder.parent.glob("*.new"))
    command = colab_machine["bin"] / "course"
    result = subprocess.run([command], cwd=content, capture_output=True, text=True, check=True)
    total = sum(lesson.points for lesson in counted_lessons())
    assert f"What and Where: 0 of {total} points" in result.stdout
    (folder / "exercises" / "lookup.py").write_text("mine\n", encoding="utf-8")
    assert said_by_first_cell(colab_machine, content, address='"nowhere"') == said
    assert (folder / "exercises" / "lookup.py").read_text(encoding="utf-8") == "mine\n"


@like_colab
@pytest.mark.slow
def test_without_drive_it_says_what_will_be_lost(colab_machine):
    content = colab_machine["place"] / "without drive"
    said = said_by_first_cell(colab_machine, content, keep_in_drive="False")
    assert "gone when Colab takes this machine back" in said
    assert (content / "what-and-where" / "exercises" / "lookup.py").exists()
    assert not (content / "drive").exists()
