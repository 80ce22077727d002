"""Two clones and one environment: the folder decides whose exercises are tested."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course import ROOT
from course.system.clone import other_clone

INSTALLED = "import sys; from course.cli import main; sys.argv = ['course', *sys.argv[1:]]; main()"


@pytest.fixture(scope="module")
def second(tmp_path_factory) -> Path:
    """A second clone, in which `lookup` is wrong."""
    clone = tmp_path_factory.mktemp("second clone") / "course"
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb", "golden", "grading", "figures")
    for name in ("course", "exercises", "solutions", "tests"):
        shutil.copytree(ROOT / name, clone / name, ignore=ignored if name != "course" else None)
    (clone / "notebooks").mkdir()
    shutil.copy(ROOT / "pyproject.toml", clone)
    module = clone / "exercises" / "lookup.py"
    text = module.read_text(encoding="utf-8")
    stub = 'raise NotImplementedError("TODO lookup.lookup")'
    module.write_text(text.replace(stub, "return weight[ids + 1]"), encoding="utf-8")
    return clone


def run(*words: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run with this clone's environment."""
    command = [sys.executable, "-P", *words]  # so that the current folder isn't imported from
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, encoding="utf-8"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (["-c", INSTALLED, "check", "lookup.lookup"], "notebooks"),
        (["-c", INSTALLED], "."),
        (["-m", "pytest", "-q", "tests/test_lookup.py"], "."),
    ],
    ids=["check", "board", "pytest"],
)
def test_the_exercises_of_the_folder_are_tested_and_a_line_says_so(second, words, folder):
    if words == ["-c", INSTALLED]:
        run("-c", INSTALLED, "check", "lookup.lookup", cwd=second)
    done = run(*words, cwd=second / folder)
    assert "wrong" in done.stdout or "xoooo" in done.stdout, done.stderr
    assert done.returncode == (0 if words == ["-c", INSTALLED] else 1)
    [line] = done.stderr.strip().splitlines()
    assert str(second) in line and str(ROOT) in line
    here = run("-c", INSTALLED, "--version", cwd=ROOT / "notebooks")
    assert (here.returncode, here.stderr) == (0, "")


def test_a_notebook_of_another_clone_is_refused_in_a_sentence(second):
    done = run("-c", "import course.student.notebook", cwd=second / "notebooks")
    error = done.stderr.strip().splitlines()[-1]
    assert error.startswith("ImportError: ") and str(second) in error and str(ROOT) in error


@pytest.mark.parametrize("command", ["grade", "nbgrader", "gradescope"])
def test_no_command_that_grades_runs_code_of_the_folder(tmp_path, command):
    for name in ("course", "exercises"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("open('ran', 'w').close()", encoding="utf-8")
    (tmp_path / "course" / "syllabus.toml").touch()
    assert other_clone(tmp_path) == tmp_path
    done = run("-c", INSTALLED, command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "ran").exists()
    run("-c", INSTALLED, "hint", cwd=tmp_path)
    assert (tmp_path / "ran").exists()  # so the test would notice
