"""A student's commands work wherever the repository lies and whatever the console can show.

Windows, macOS and other versions of Python are tested by continuous integration; here is what any
system can pretend: odd paths and consoles, other line ends, no network, no git, nothing writable.
"""

import importlib.metadata
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from course import ROOT
from course.student import progress
from course.syllabus import Status, find_lesson
from course.testing.result import ExerciseResult, LessonResult, TestResult

DAILY = [[], ["next"], ["show", "toy_attention"], ["hint"], ["submit", "--no-check"], ["--help"]]
"""What a student runs that needs no PyTorch."""
_RUN_ALL = """
import json, sys
from course.cli import main
for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments, prog_name="course")
    except SystemExit as end:
        print("exit", end.code or 0, flush=True)
"""


def all_points(stem: str) -> str:
    """Return the line of points of one who passes the whole lesson."""
    lesson = find_lesson(stem)
    return f"{lesson.number} {stem}: {lesson.points} of {lesson.points} points"


def found(lesson: str, **statuses: str) -> list[LessonResult]:
    """Return what a check finds where exercises stand so."""
    exercises = (
        ExerciseResult(name, 1, (TestResult("test", Status(status)),), 1)
        for name, status in statuses.items()
    )
    return [LessonResult(lesson, tuple(exercises))]


def copy_to(place: Path) -> Path:
    """This repository as it is now, without what a student, an instructor or a tool has made."""
    wanted = ["course", "exercises", "notebooks", "solutions", "tests"]
    for name in wanted:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file() and path.suffix != ".zip":
            shutil.copy(path, place)
    return place


def run_all(checkout: Path, commands: list[list[str]], **options) -> subprocess.CompletedProcess:
    """Run commands of `course` one after the other in one process, to save time."""
    return run(checkout, "-c", _RUN_ALL, json.dumps(commands), **options)


def run(checkout: Path, *arguments: str, prefix=(), **options) -> subprocess.CompletedProcess:
    command = [*prefix, sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, cwd=checkout, **options)


def assert_all_fine(result: subprocess.CompletedProcess, n_commands: int, encoding="utf-8") -> str:
    said = result.stdout.decode(encoding)
    complaints = result.stderr.decode(encoding)
    assert "Traceback" not in said + complaints, complaints
    assert said.split("exit ")[1:], complaints
    assert re.findall(r"^exit (\d+)", said, re.M) == ["0"] * n_commands, said + complaints
    return said


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy whose path holds spaces and letters of several scripts."""
    return copy_to(tmp_path / "Zoë's курс 学, what & where (1)")


@pytest.fixture
def half_done(checkout) -> Path:
    """Lesson 1 is solved, in lesson 2 a mistake whose message holds letters beyond cp1252."""
    for stem in ("lookup", "permutation"):
        source = (checkout / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
        wrong = source.replace(" / math.sqrt(", " * math.sqrt(")
        (checkout / "exercises" / f"{stem}.py").write_text(wrong, encoding="utf-8")
    return checkout


# --- systems that have less -----------------------------------------------------------------

_POOR = """
import os, signal, sys

def tell(event, arguments):
    if event.startswith("socket.") and event != "socket.gethostname":
        with open(os.environ["SOCKETS_TOLD"], "a", encoding="utf-8") as told:
            print(event, arguments, sys.argv, file=told)

sys.addaudithook(tell)
for name in os.environ["LACKING"].split():
    sys.modules[name] = None
    vars(os).pop(name, None)
    vars(signal).pop(name, None)
"""
"""What every Python runs first: it notes each socket, and lacks what Windows lacks."""


@pytest.fixture
def poor(tmp_path) -> dict:
    """How to run a command without git, without a network and without what POSIX alone has."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(_POOR, encoding="utf-8")
    told = str(tmp_path / "told")
    own = {"PYTHONPATH": str(tmp_path / "site"), "SOCKETS_TOLD": told, "PATH": str(tmp_path)}
    lacking = "fcntl pwd grp termios fork setsid killpg O_NOFOLLOW"
    return {"env": {**os.environ, **own, "LACKING": lacking}, "timeout": 300}


def test_the_commands_of_every_day_need_little(checkout, poor, tmp_path):
    """No git, no network and nothing that only POSIX has; and a path may hold any letters."""
    run(checkout, "-c", "import socket; socket.socket()", **poor)
    assert "socket.__new__" in (tmp_path / "told").read_text(encoding="utf-8")  # it would be told
    (tmp_path / "told").unlink()
    poor["env"]["LACKING"] += " resource tty pty register_at_fork getuid geteuid"
    poor["env"]["LACKING"] += " SIGKILL SIGALRM SIGUSR1 setitimer alarm"
    said = assert_all_fine(run_all(checkout, DAILY, **poor), len(DAILY))
    assert "packed submission.zip" in said
    assert (checkout / ".course" / "hints.json").exists()
    assert (checkout / "submission.zip").exists()
    assert not (tmp_path / "told").exists(), (tmp_path / "told").read_text(encoding="utf-8")


@pytest.mark.slow
def test_so_do_a_check_a_submission_a_build_and_a_reset(half_done, poor, tmp_path):
    commands = [["check", "lookup"], ["check", "1", "2", "--exit-zero"], ["submit"]]
    commands += [["build", "--check"], ["build", "--force"], ["reset", "lookup"], []]
    result = run_all(half_done, commands, **poor)
    assert "Traceback" not in result.stderr.decode()
    said = result.stdout.decode("utf-8")
    statuses = re.findall(r"^exit (\d+)", said, re.M)
    assert statuses == ["0", "0", "0", "1", "0", "0", "0"], result.stderr.decode()
    assert all_points("lookup") in said
    assert "What and Where: " in said
    assert "lookup is as it was at first" in said
    assert not (tmp_path / "told").exists(), (tmp_path / "told").read_text(encoding="utf-8")


# --- consoles -------------------------------------------------------------------------------

CONSOLES = {
    "cp1252": {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"},
    "cp437": {"PYTHONIOENCODING": "cp437", "PYTHONUTF8": "0"},
}


@pytest.mark.parametrize("console", CONSOLES)
def test_a_console_that_knows_few_letters_shows_everything_readably(checkout, console):
    environment = {**os.environ, **CONSOLES[console]}
    commands = [*DAILY, ["show", "offset_rotation"], ["show", "lookup", "--solution"]]
    commands += [[*commands[-1], "--i-give-up"]]
    result = run_all(checkout, commands, env=environment)
    said = result.stdout.decode(console)
    assert re.findall(r"^exit (\d)", said, re.M) == ["0"] * (len(commands) - 2) + ["1", "0"]
    assert "Traceback" not in said + result.stderr.decode(console)
    assert f"blocks of 2 {'×' if console == 'cp1252' else 'x'} 2 on the diagonal" in said
    assert "\\u" not in said


@pytest.mark.slow
def test_such_a_console_shows_what_is_wrong_as_well(half_done):
    """Through `course` and through pytest itself, also what a student wrote."""
    (half_done / "exercises" / "lookup.py").write_text("x = 'Привет", encoding="utf-8")
    environment = {**os.environ, **CONSOLES["cp1252"]}
    files = ["tests/test_lookup.py", "tests/test_permutation.py"]
    for command in (["course", "check", "1", "2"], ["pytest", "-q", *files]):
        result = run(half_done, "-m", *command, env=environment, timeout=300)
        said = result.stdout.decode("cp1252")
        assert "Traceback" not in said + result.stderr.decode("cp1252")
        assert "exercises/lookup.py is not valid Python" in said
        assert "x = '" in said  # the line as far as the console can show it
        assert "toy_attention multiplies the scores by sqrt C." in " ".join(said.split())
        assert "\\n" not in said and "\\u" not in said


# --- line ends ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_clone_of_git_with_other_line_ends_is_checked_and_built(tmp_path):
    origin = copy_to(tmp_path / "origin")
    who = ("user.name=A", "user.email=a@example.org", "init.defaultBranch=m")
    git = ["git", *(word for one in who for word in ("-c", one))]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "The course"]):
        subprocess.run([*git, *command], cwd=origin, check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-c", "core.autocrlf=true", origin, clone], check=True)
    assert b"\r\n" in (clone / "exercises" / "rope.py").read_bytes()
    assert b"\r\n" not in (clone / "datasets.sh").read_bytes()  # bash takes no other line ends
    commands = [["build", "--check"], ["build"], ["check", "2", "--exit-zero"], *DAILY]
    said = assert_all_fine(run_all(clone, commands, timeout=300), len(commands))
    assert "\n    def toy_attention(x: Tensor) -> Tensor:" in said.replace("\r\n", "\n")
    source = (clone / "solutions" / "rope.py").read_bytes()
    assert b"\r\n" in source
    (clone / "exercises" / "rope.py").write_bytes(source)
    commands = [["check", "rope"], ["submit"], ["show", "ntk_base", "--solution"]]
    commands += [["reset", "rope"]]
    said = assert_all_fine(run_all(clone, commands, timeout=300), len(commands))
    assert all_points("rope") in said
    with zipfile.ZipFile(clone / "submission.zip") as opened:
        assert opened.read("exercises/rope.py") == source


# --- nothing writable -----------------------------------------------------------------------


@pytest.fixture
def as_anybody() -> dict:
    """How to run a command that may not write what is locked: root may write anything."""
    if os.name == "nt":
        pytest.skip("folders are locked in another way on Windows")
    if os.geteuid() != 0:
        return {}
    if shutil.which("setpriv") is None:
        pytest.skip("root may write anything, and there is no setpriv to take that away")
    return {"prefix": ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]}


@pytest.fixture
def locked(checkout) -> Iterator[Path]:
    """A repository in which nobody may write; lesson 1 is solved in it."""
    shutil.copy(checkout / "solutions" / "lookup.py", checkout / "exercises")
    entries = [checkout, *checkout.rglob("*")]
    for entry in entries:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    yield checkout
    for entry in entries:
        entry.chmod(stat.S_IRWXU)


NOT_REMEMBERED = "(What you do here is not remembered, because .course/ cannot be written:"


def test_where_nothing_can_be_written_commands_still_show(locked, as_anybody):
    commands = [[], ["next"], ["show", "lookup"], ["hint"]]
    result = run_all(locked, commands, **as_anybody)
    said = assert_all_fine(result, len(commands))
    assert "hint 1 of 3" in said
    assert "all hints: course/syllabus.toml" in said
    assert result.stderr.decode().count(NOT_REMEMBERED) == 1
    result = run(locked, "-m", "course", "submit", "--no-check", **as_anybody)
    assert result.returncode == 1
    complaint = result.stderr.decode()
    assert complaint.startswith("Error: submission.zip cannot be written: Permission denied.")
    assert complaint.count("\n") == 1


@pytest.mark.slow
def test_where_nothing_can_be_written_lessons_are_checked(locked, as_anybody, tmp_path):
    result = run(locked, "-m", "course", "check", "lookup", timeout=300, **as_anybody)
    assert result.returncode == 0, result.stderr.decode()
    assert all_points("lookup") in result.stdout.decode()
    assert result.stderr.decode().count(NOT_REMEMBERED) == 1
    assert "Traceback" not in (result.stdout + result.stderr).decode()
    assert "Warning" not in (result.stdout + result.stderr).decode()
    for command in (["reset", "lookup"], ["build", "--force"]):
        result = run(locked, "-m", "course", *command, timeout=300, **as_anybody)
        assert result.returncode == 1
        assert result.stderr.decode().startswith("Error: ")
        assert result.stderr.decode().count("\n") == 1


def test_a_package_that_was_copied_without_its_exercises_says_so(tmp_path):
    shutil.copytree(ROOT / "course", tmp_path / "course")
    result = run(tmp_path, "-m", "course", "check")
    assert result.returncode == 1
    assert result.stderr.decode().startswith("The exercises are not in ")
    assert result.stderr.decode().count("\n") == 1


# --- continuous integration ------------------------------------------------------------------


def test_continuous_integration_tests_every_python_on_every_system():
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))
    matrix = workflow["jobs"]["tests"]["strategy"]["matrix"]
    assert [name.partition("-")[0] for name in matrix["system"]] == ["ubuntu", "macos", "windows"]
    assert matrix["python"] == ["3.11", "3.12", "3.13", "3.14"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"


# --- what was done is kept ------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_leaves_alone_what_a_student_has_noted(checkout):
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    names = [".course/progress.json", ".course/hints.json", ".course/given_up.json"]
    names += [".course/backups/2026-09-30_18-25-00/exercises/rope.py", "submission.zip"]
    result = subprocess.run(["git", "check-ignore", *names], cwd=checkout, capture_output=True)
    assert result.stdout.decode().split() == names


def test_nothing_that_is_installed_lies_where_progress_does():
    """So that neither pip nor the removal of an environment can touch it."""
    assert progress.file("progress").parent == ROOT / ".course"
    try:
        installed = importlib.metadata.files("what-and-where") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the course runs from its folder here, without being installed")
    places = {Path(str(file.locate())).resolve() for file in installed}
    assert not any(place.is_relative_to(ROOT / ".course") for place in places)
    assert not any(place.is_relative_to(ROOT / "exercises") for place in places)


DAMAGED = ["", "{", "[]", "null", '{"rope": 3}', '{"rope": {"rotate_half": "passed"}}', "[" * 9999]
DAMAGED += ["\udc80"]
DAMAGED += [
    json.dumps({"rope": {"rotate_half": {"status": odd, "source": odd}}}) for odd in ("x", None, [])
]


@pytest.mark.parametrize("damaged", DAMAGED)
def test_damaged_progress_costs_one_check(tmp_path, monkeypatch, damaged):
    monkeypatch.setattr(progress, "file", lambda name: tmp_path / ".course" / f"{name}.json")
    progress.file("progress").parent.mkdir()
    progress.file("progress").write_bytes(damaged.encode(errors="surrogateescape"))
    assert set(progress.status_of_all().values()) <= {progress.TO_DO, progress.UNCHECKED}
    names = [exercise.name for exercise in find_lesson("rope").exercises]
    progress.remember(found("rope", **dict.fromkeys(names, "wrong")))
    kept = json.loads(progress.file("progress").read_text(encoding="utf-8"))
    assert kept["rope"].keys() == set(names)
