"""A student's commands work wherever the repository lies and whatever the console can show.

Windows, macOS and other versions of Python are tested by continuous integration; here is what any
system can pretend: odd paths and consoles, other line ends, no network, no git.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from points import line_of_points

from course import ROOT

DAILY = [[], ["show", "toy_attention"], ["hint"], ["submit"], ["--help"]]
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


def copy_to(place: Path) -> Path:
    """This repository as it is now, without what a student, an instructor or a tool has made."""
    wanted = ["course", "exercises", "notebooks", "solutions", "tests"]
    for name in wanted:
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file() and path.suffix != ".zip" and path.name != ".git":  # of a worktree
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
    return {"env": {**os.environ, **own, "LACKING": lacking}, "timeout": 900}


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
    commands += [["build", "--force"], ["reset", "lookup"], []]
    said = assert_all_fine(run_all(half_done, commands, **poor), len(commands))
    assert line_of_points("lookup") in said
    assert "What and Where: " in said
    assert "lookup" in said
    assert not (tmp_path / "told").exists(), (tmp_path / "told").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_console_that_knows_few_letters_shows_everything(half_done):
    """Through `course` and through pytest itself, also what a student wrote."""
    (half_done / "exercises" / "lookup.py").write_text("x = 'Привет", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0"}
    shown = [["show", "offset_rotation"], ["check", "1", "2", "--exit-zero"]]
    said = assert_all_fine(run_all(half_done, shown, env=environment, timeout=900), 2, "cp1252")
    assert "blocks of 2 × 2 on the diagonal" in said
    files = ["tests/test_lookup.py", "tests/test_permutation.py"]
    by_pytest = run(half_done, "-m", "pytest", "-q", *files, env=environment, timeout=900)
    for page in (said, by_pytest.stdout.decode("cp1252")):
        assert "exercises/lookup.py" in page
        assert "x = '??????" in page  # the line as far as the console can show it
        assert "toy_attention multiplies the scores by sqrt C." in " ".join(page.split())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_in_a_clone_of_git_with_other_line_ends_nothing_is_built_anew(tmp_path):
    origin = copy_to(tmp_path / "origin")
    who = ("user.name=A", "user.email=a@example.org", "init.defaultBranch=m")
    git = ["git", *(word for one in who for word in ("-c", one))]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "The course"]):
        subprocess.run([*git, *command], cwd=origin, check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-c", "core.autocrlf=true", origin, clone], check=True)
    assert b"\r\n" in (clone / "exercises" / "rope.py").read_bytes()
    assert b"\r\n" not in (clone / "datasets.sh").read_bytes()  # bash takes no other line ends
    commands = [["build", "--check"], ["check", "2", "--exit-zero"], *DAILY]
    said = assert_all_fine(run_all(clone, commands, timeout=900), len(commands))
    assert "\n    def toy_attention(x: Tensor) -> Tensor:" in said.replace("\r\n", "\n")
    source = (clone / "solutions" / "rope.py").read_bytes()
    assert b"\r\n" in source
    (clone / "exercises" / "rope.py").write_bytes(source)
    commands = [["check", "rope"], ["submit"], ["show", "ntk_base", "--solution"]]
    commands += [["reset", "rope"]]
    said = assert_all_fine(run_all(clone, commands, timeout=900), len(commands))
    assert line_of_points("rope") in said
    with zipfile.ZipFile(clone / "submission.zip") as opened:
        assert opened.read("exercises/rope.py") == source
