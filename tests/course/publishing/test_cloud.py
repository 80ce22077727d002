"""Starting without a set-up: a dev container, badges, and the first cell of notebooks in Colab."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import nbformat
import pytest

from course import ROOT
from course.core.console import PREFIX
from course.publishing.building import build, notebooks
from course.publishing.building.notebooks import notebook_from, notebook_of, source_of, stems

ADDRESS = "https://github.com/ada/what-and-where"


def test_a_dev_container_runs_the_command_that_readme_gives():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    python = re.fullmatch(r"mcr\.microsoft\.com/devcontainers/python:3\.(\d+)", container["image"])
    assert int(python[1]) >= 11
    for name in container["customizations"]["codespaces"]["openFiles"]:
        assert (ROOT / name).is_file(), name
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"<!-- start -->\n```sh\n(.*)\n```", readme)[1]
    assert container["postCreateCommand"] == command
    folder = "${containerWorkspaceFolder}/.venv/bin"
    assert container["remoteEnv"]["PATH"] == f"{folder}:${{containerEnv:PATH}}"
    editor = container["customizations"]["vscode"]["settings"]
    assert editor["python.defaultInterpreterPath"] == f"{folder}/python"


@pytest.fixture
def said(tmp_path, monkeypatch):
    """Say in another pyproject.toml where the course is published."""
    monkeypatch.setattr("course.ROOT", tmp_path)

    def say(urls: str) -> None:
        text = f'[project]\nname = "what-and-where"\n{urls}'
        (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")

    return say


@pytest.mark.parametrize("end", ["", "/", ".git"])
def test_the_address_is_that_of_pyproject(said, end):
    said(f'[project.urls]\nRepository = "{ADDRESS}{end}"\n')
    assert notebooks.address() == ADDRESS


@pytest.mark.slow
def test_one_line_and_a_build_give_badges_that_lead_to_the_notebooks(repository, said):
    said("")
    build.build()
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "](https://colab" not in readme
    said(f'[project.urls]\nRepository = "{ADDRESS}"\n')
    assert any("README.md" in sentence for sentence in build.drift())
    build.build()
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "](https://codespaces.new/ada/what-and-where)" in readme
    place = "https://colab.research.google.com/github/ada/what-and-where/blob/main/"
    led_to = re.findall(rf"\]\({place}([^)]*)\)", readme)
    assert [repository / path for path in led_to] == [notebook_of(stem) for stem in stems()]
    assert all((repository / path).exists() for path in led_to)
    for stem in stems():
        assert f'address = \\"{ADDRESS}\\"' in notebook_of(stem).read_text(encoding="utf-8")


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


def test_packages_that_colab_lacks_are_installed_by_name():
    in_colab = {"click", "filelock", "ipywidgets", "jinja2", "matplotlib", "numpy", "pillow"}
    in_colab |= {"pytest", "requests", "tokenizers", "torch"}
    not_needed_there = {"jupyterlab", "math-core", "mistune", "nbgrader"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.match(r"[\w-]+", one)[0] for one in project["dependencies"]}
    for name in names - in_colab - not_needed_there:
        assert re.search(rf"%pip install .*\b{name}\b", colab_cell("5_rope").source), name


COLAB = """
import sys, types
from IPython.core.interactiveshell import InteractiveShell

drive = types.SimpleNamespace(mount=lambda place: print("mounts", place))
if sys.argv[1] == "in Colab":
    sys.modules["google"] = types.ModuleType("google")
    sys.modules["google.colab"] = types.SimpleNamespace(drive=drive)
shell = InteractiveShell.instance()
shell.register_magic_function(lambda line: print("pip", line), "line", "pip")
shell.run_cell(sys.stdin.read())
shell.run_cell(f"import os, sys; print(os.getcwd(), sys.path[0], os.environ['{sys.argv[2]}'])")
"""


def run_first_cell(place, where: str, source: str) -> str:
    """What the first cell shows where `place` is Colab's /content."""
    done = subprocess.run(
        [sys.executable, "-c", COLAB, where, PREFIX],
        input=source.replace("/content", place.as_posix()),
        cwd=place,
        env=os.environ | {"IPYTHONDIR": str(place / "ipython"), "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def github(tmp_path) -> str:
    """A small repository in place of the published one."""
    course = tmp_path / "github"
    (course / "notebooks").mkdir(parents=True)
    for name in ("pyproject.toml", "notebooks/README.md"):
        shutil.copy(ROOT / name, course / name)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "The course"]):
        subprocess.run([*git, *command], cwd=course, check=True)
    return course.as_posix()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_it_fetches_the_course_into_drive_once_and_installs_it(tmp_path, github):
    source = colab_cell("5_rope").source.replace('address = ""', f'address = "{github}"')
    folder = tmp_path / "drive" / "MyDrive" / "what-and-where"
    for _ in range(2):
        said = run_first_cell(tmp_path, "in Colab", source)
        assert f"mounts {tmp_path}/drive" in said
        assert f"pip install --quiet --no-deps --editable {folder}" in said
        assert f"{folder}/notebooks {folder} !" in said
        (folder / "pyproject.toml").write_text("mine\n", encoding="utf-8")
    assert (folder / "pyproject.toml").read_text(encoding="utf-8") == "mine\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("where", ["in Colab", "elsewhere"])
def test_where_there_is_no_course_or_no_colab_nothing_is_installed(tmp_path, where):
    source = colab_cell("5_rope").source.replace('address = ""', f'address = "{tmp_path}/nowhere"')
    said = run_first_cell(tmp_path, where, source)
    assert "pip" not in said and not (tmp_path / "drive" / "MyDrive" / "what-and-where").exists()
    assert (f"{tmp_path}/nowhere" in said) == (where == "in Colab")
    assert said.startswith(f"{tmp_path} ") == (where == "elsewhere")
    assert where == "in Colab" or {one.name for one in tmp_path.iterdir()} == {"ipython"}
