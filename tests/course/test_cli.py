"""The `course` command, run as a student runs it."""

import subprocess
import sys

import pytest

from course import ROOT, __version__


def course(*arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "course", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT, **options
    )


def test_alone_it_shows_the_board_and_what_comes_next():
    result = course()
    assert result.returncode == 0
    assert result.stdout.startswith("What and Where: ")
    assert "skipgram" in result.stdout
    assert "next: " in result.stdout or "Everything passes" in result.stdout


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",), ("check", "--help")])
def test_without_torch_it_answers_at_once(arguments):
    """No torch, no pytest, no requests: these are what would cost seconds."""
    code = (
        "import sys\n"
        "from course.cli import main\n"
        f"try: main({list(arguments)})\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'pytest', 'requests', 'numpy'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", cwd=ROOT
    )
    assert result.stdout.splitlines()[-1] == "[]"


def test_version():
    assert course("--version").stdout == f"course {__version__}\n"


@pytest.mark.parametrize("command", ["check", "build", "data"])
def test_every_help_has_an_example(command):
    assert f"\n  course {command}" in course(command, "--help").stdout.replace("    ", "  ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("check", "roap"), 'there is no lesson "roap"; did you mean "rope"?'),
        (("check", "7"), 'there is no lesson "7"; the lessons are lookup, permutation'),
        (("chek",), "No such command 'chek'"),
    ],
)
def test_a_wrong_name_is_one_sentence(arguments, sentence):
    result = course(*arguments)
    assert result.returncode == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_check_of_a_lesson_passes_options_on():
    result = course("check", "rope", "--", "--solutions", "-k", "rotate_half")
    assert result.returncode == 0
    assert "5 rope: 2 of 20 points" in result.stdout


def test_a_check_works_from_any_folder(tmp_path):
    command = [sys.executable, "-m", "course", "check", "5", "--", "--solutions", "-k", "ntk_base"]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=tmp_path)
    assert "5 rope: 1 of 20 points" in result.stdout


def test_the_exit_status_tells_whether_everything_passed(tmp_path):
    (tmp_path / "rope.py").write_text("", encoding="utf-8")
    wrong = ("--", "--modules", str(tmp_path), "-k", "ntk_base")
    assert course("check", "rope", *wrong).returncode == 1
    assert course("check", "rope", "--exit-zero", *wrong).returncode == 0
