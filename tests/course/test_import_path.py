"""No process of grading imports anything from a folder that a student can write."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from classes import copy_course, needs_sandbox, with_course
from click.testing import CliRunner

from course import ROOT
from course.cli.grade import grade
from course.grading.judge.import_path import UnsafePlace, safe_import_path

pytestmark = pytest.mark.usefixtures("own_cache")

SHADOWED = (
    *("selectors", "struct", "socket", "signal", "json", "tempfile", "pickle", "fnmatch"),
    *("click", "filelock", "numpy", "pytest", "_pytest", "torch", "sitecustomize", "solutions"),
)
"""What the grader and its helpers import; each is a student's module in the folder below."""


def submissions_with(folder: Path, names: tuple[str, ...], kind: str) -> Path:
    """A class with a stub of ann's, among modules that leave a trace when they are imported."""
    (folder / "ann").mkdir(parents=True)
    stub = (ROOT / "exercises" / "learned.py").read_bytes()
    (folder / "ann" / "learned.py").write_bytes(stub)
    for name in names:
        place = folder / name / "__init__.py" if kind == "folder" else folder / f"{name}.py"
        place.parent.mkdir(exist_ok=True)
        place.write_text(
            textwrap.dedent(f"""
                import sys
                with open({str(folder.parent / f"ran-{name}")!r}, "w") as trace:
                    trace.write("\\n".join(sys.argv))
            """),
            encoding="utf-8",
        )
    return folder


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.parent.glob("ran-*"))


def graded_from_within(folder: Path, how: str) -> str:
    """The table, graded from within the folder of the submissions."""
    out, program = folder.parent / "out", folder.parent / "bin" / "course"
    program.parent.mkdir()
    main = "from course.cli import main\nif __name__ == '__main__':\n    main()\n"
    program.write_text(main, encoding="utf-8")
    start = [str(program)] if how == AS_INSTALLED else ["-m", "course"]
    options = ["--lesson", "learned", "--jobs", "1", "--out", str(out)]
    environment = with_course(os.environ.get("PYTHONPATH", ""))
    done = subprocess.run(
        [sys.executable, *start, "grade", ".", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return (out / "grades.csv").read_text(encoding="utf-8-sig")


AS_INSTALLED = "the program that pip makes"
AS_MODULE = "python -m course"


@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize(
    ("names", "kind", "how"),
    [
        (SHADOWED, "file", AS_INSTALLED),
        (SHADOWED, "folder", AS_MODULE),
        (("course", "solutions", "tests", "exercises"), "folder", AS_INSTALLED),  # a clone
    ],
)
def test_modules_in_the_folder_of_the_submissions_are_not_imported(tmp_path, names, kind, how):
    folder = submissions_with(tmp_path / "class", names, kind)
    if "exercises" in names:
        (folder / "course" / "syllabus.toml").touch()
    table = graded_from_within(folder, how)
    assert "\nann,0,15," in table
    assert ran(folder) == []


def test_what_a_class_must_not_hold_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    for submissions in (".", str(ROOT.parent)):
        result = CliRunner().invoke(grade, [submissions, "--out", str(tmp_path / "out")])
        assert result.exit_code == 1
        assert str(ROOT) in result.output or str(tmp_path) in result.output
        assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_a_library_among_the_submissions_is_refused(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path / "class" / "ann" / "site-packages"))
    with (
        pytest.raises(UnsafePlace, match="from where the grader"),
        safe_import_path(tmp_path / "class"),
    ):
        pass


def test_what_is_started_meanwhile_finds_the_course_and_not_the_current_folder(
    tmp_path, monkeypatch
):
    for name in ("anyones", "own"):
        (tmp_path / name).mkdir()
    (tmp_path / "anyones").chmod(0o777)
    monkeypatch.chdir(tmp_path)
    own = str(tmp_path / "own")
    given = os.pathsep.join(["", ".", str(tmp_path), str(tmp_path / "anyones"), own])
    monkeypatch.setenv("PYTHONPATH", given)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), own, *sys.path])
    before = sys.path[:]
    with safe_import_path(tmp_path / "class"):
        assert sys.path == before[2:]
        show = "import sys; print(sys.path)"
        printed = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True)
        path = eval(printed.stdout)
    assert path[:2] == [str(ROOT), own]
    assert not {"", ".", str(tmp_path), str(tmp_path / "anyones")}.intersection(path)
    assert sys.path == before
    assert os.environ["PYTHONPATH"] == given


@pytest.mark.slow
@needs_sandbox
def test_workers_run_the_course_that_grades_and_not_another_that_is_installed(tmp_path):
    """A worker of a copy says where it was loaded from, next to an installed course."""
    copy = copy_course(tmp_path / "copy")
    source = "import sys\ndef place(): return sys.modules['course.testing.executor'].__file__"
    show = (
        "from course import ROOT\n"
        "from course.grading.sandbox.fork_server import ForkServer\n"
        "from course.grading.sandbox.remote import RemoteExecutor, RemoteModule\n"
        "with ForkServer() as server:\n"
        f"    module = RemoteModule(server, {source.encode()!r}, 'exercises/rope.py')\n"
        "    print(ROOT, RemoteExecutor(module).call('place', (), {})[0])\n"
        "    module.end()"
    )
    printed = subprocess.run(
        [sys.executable, "-P", "-c", show],
        env=with_course(copy),
        cwd="/",
        capture_output=True,
        text=True,
    )
    root, executor = printed.stdout.split()
    assert Path(root) == copy
    assert Path(executor).is_relative_to(copy)
