"""The `course` command, run as a student runs it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner
from points import line_of_points

from course import ROOT, __version__
from course.cli import main
from course.core.syllabus import counted_lessons, find_lesson, lessons
from course.publishing.building.notebooks import UNGRADED
from course.student import notebook_server


def course(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "course", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", cwd=cwd, timeout=200
    )


def earned(stem: str, *names: str) -> str:
    """Return the line of points of one who passes these exercises of a lesson and no others."""
    every = [exercise.name for exercise in find_lesson(stem).exercises]
    return line_of_points(stem, *(name for name in every if name not in names))


def test_alone_it_shows_the_board_and_what_comes_next():
    result = course()
    assert result.returncode == 0
    assert result.stdout.startswith("What and Where: ")
    assert "skipgram" in result.stdout
    assert "next: " in result.stdout or "Everything passes" in result.stdout
    assert course("--version").stdout == f"course {__version__}\n"


@pytest.mark.parametrize("command", ["", "show rope"])
def test_who_wants_no_color_gets_none(command):
    colored = CliRunner().invoke(main, command.split(), color=True, env={"NO_COLOR": ""})
    assert ("\x1b[" in colored.output) == (not command)
    plain = CliRunner().invoke(main, command.split(), color=True, env={"NO_COLOR": "1"})
    assert plain.output == click.unstyle(colored.output)


def every_command(command: click.Command) -> list[click.Command]:
    """Return a command, and those below it."""
    context = click.Context(command)
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    below = (every_command(command.get_command(context, name)) for name in names)
    return [command, *(one for some in below for one in some)]


def test_git_ignores_what_a_command_writes_by_default_and_what_is_noted_of_a_student():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    params = [param for command in every_command(main) for param in command.params]
    written = [str(param.default) for param in params if isinstance(param.default, Path)]
    assert {"submission.zip", "autograder.zip"} <= set(written)
    # a folder that is not there yet is a file for git
    names = [name for name in written if "." in name]
    names += [".course/progress.json", ".course/backups/2026-09-30_18-25-00/exercises/rope.py"]
    command = ["git", "check-ignore", "--no-index", *names]
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert {*found.stdout.split()} == {*names}


def test_without_torch_it_answers_at_once(tmp_path):
    """Nor is anything else loaded that would cost seconds."""
    commands = [[], ["--help"], ["--version"], ["hint", "rotate_half"], ["show", "5"]]
    commands += [["show", "lookup", "--i-give-up"], ["check", "--help"]]
    commands += [["site", "--help"], ["watch", "--help"], ["submit", "--help"]]
    commands += [["submit", "--out", str(tmp_path / "mine.zip")], ["data", "--help"]]
    code = (
        "import json, pathlib, sys\n"
        "from course.cli import main\n"
        "from course.student import progress\n"
        "progress.file = lambda name: pathlib.Path(sys.argv[1]) / f'{name}.json'\n"
        "for arguments in json.loads(sys.argv[2]):\n"
        "    try: main(arguments)\n"
        "    except SystemExit as end: assert not end.code, arguments\n"
        "import course.student.watch.loop, course.publishing.building.build\n"
        "heavy = {'torch', 'pytest', 'requests', 'numpy', 'jupytext', 'matplotlib', 'IPython'}\n"
        "heavy |= {'pooch', 'remotezip', 'filelock'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    command = [sys.executable, "-X", "utf8", "-c", code, str(tmp_path), json.dumps(commands)]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert "hint 1 of 3" in result.stdout
    assert result.stdout.splitlines()[-1] == "[]", result.stderr


def screens() -> dict[str, str]:
    """Return the help of every command, and of each command of a group."""
    found = {"course": CliRunner().invoke(main, ["--help"]).output}
    for name in main.list_commands(None):
        opened = main.get_command(None, name)
        for words in [[name], *([name, one] for one in getattr(opened, "commands", ()))]:
            result = CliRunner().invoke(main, [*words, "--help"])
            found[" ".join(["course", *words])] = result.output
    return found


def test_the_words_of_the_help_fit_a_narrow_terminal(golden, monkeypatch):
    shown = screens()
    monkeypatch.setenv("COLUMNS", "40")
    narrow = CliRunner().invoke(main, ["--help"]).output
    assert max(map(len, narrow.splitlines())) <= 40 and "..." not in narrow.replace("]...", "")
    golden("help", shown)
    assert all(re.search(rf"\b{name}\b", shown["course"]) for name in main.list_commands(None))


UNKNOWN = {  # a name, and what is said of it
    "roap": '"roap"; did you mean "rope"?',
    "causal": '"causal"; did you mean "causal_toy_attention", "causal_attention" or "CausalSelf',
    "99": '"99"; the lessons are 1 lookup, 2 permutation, 3 learned, 4 sinusoidal, 5 rope, 6 sk',
}
COMMANDS = ("check", "check rope", "hint", "show", "watch", "open", "reset")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *(([*one.split(), name], said) for one in COMMANDS for name, said in UNKNOWN.items()),
        *(
            ([*one.split(), ""], "there is no lesson")
            for one in (*COMMANDS[:4], "open", "open text")
        ),
        (["chek"], "'chek'"),
        (["chek"], '"check"?'),
        (["check", "-1"], '"-1"'),
        (["open", "rope", "lookup"], '"lookup"'),
        (["open", "text", "rope", "lookup"], '"lookup"'),
        (["open", "text", "lab"], '"lab"'),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_everywhere(arguments, words):
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert words in result.output.splitlines()[-1]


POINTS = find_lesson("permutation").points + find_lesson("lookup").exercise("one_hot_bytes").points
OF_TWO_LESSONS = (
    f"What and Where: {POINTS} of {sum(lesson.points for lesson in counted_lessons())} points"
)


@pytest.fixture
def check(few_to_search):
    """Run `course check` in this process: PyTorch is here already."""
    return lambda *arguments: CliRunner().invoke(main, ["check", *arguments])


@pytest.mark.parametrize(
    ("names", "line"),
    [
        (["lookup.lookup"], earned("lookup", "lookup")),
        (["lookup"], line_of_points("lookup")),
        (["rotate_half", "ntk_base"], earned("rope", "rotate_half", "ntk_base")),
        (["tests/test_rope.py"], line_of_points("rope")),
        (["2", "one_hot_bytes"], OF_TWO_LESSONS),
        (["ROPE"], line_of_points("rope")),
        (["-x", "one_hot_bytes"], earned("lookup", "one_hot_bytes")),
    ],
)
def test_a_check_takes_exercises_and_lessons(check, names, line):
    result = check(*names, "--solutions")
    assert result.exit_code == 0
    assert line in result.output


def test_the_exit_status_tells_whether_everything_passed(tmp_path, check):
    (tmp_path / "rope.py").write_text("", encoding="utf-8")
    for options, status in (((), 1), (("--exit-zero",), 0)):
        wrong = check("rope", *options, "--", "--modules", str(tmp_path), "-k", "ntk_base")
        assert wrong.exit_code == status


@pytest.mark.slow
def test_a_check_passes_options_on_works_from_any_folder_and_waits_for_no_thread(tmp_path):
    endless = "import threading, time\nthreading.Thread(target=time.sleep, args=(1e6,)).start()\n"
    source = find_lesson("rope").module("solutions").read_text(encoding="utf-8")
    (tmp_path / "rope.py").write_text(source + endless, encoding="utf-8")
    options = ("--", "--modules", str(tmp_path), "-k", "ntk_base")
    result = course("check", "5", *options, cwd=tmp_path)
    assert result.returncode == 0 and "start threads" in result.stdout
    assert earned("rope", "ntk_base") in result.stdout


@pytest.mark.parametrize(
    ("arguments", "opened"),
    [
        (["rope"], "5_rope"),
        (["Rotate_Half"], "5_rope"),
        *(([str(lesson.number)], lesson.notebook.stem) for lesson in lessons()),
        *(([short], stem) for short, stem in UNGRADED.items()),
        *(([stem], stem) for stem in UNGRADED.values()),
        ([], "3_learned"),
    ],
)
def test_open_starts_jupyterlab_with_the_notebook(monkeypatch, arguments, opened):
    started, ended = [], Mock(wait=Mock(return_value=0))
    monkeypatch.setattr(notebook_server, "start", lambda *what: started.append(what) or ended)
    status = {exercise.name: "to do" for lesson in lessons() for exercise in lesson.exercises}
    done = [exercise.name for lesson in lessons()[:2] for exercise in lesson.exercises]
    monkeypatch.setattr(
        "course.student.progress.status_of_all", lambda: status | dict.fromkeys(done, "passed")
    )
    result = CliRunner().invoke(main, ["open", *arguments, "--no-browser"])
    assert result.exit_code == 0, result.output
    assert started == [(ROOT / "notebooks" / f"{opened}.ipynb", "--no-browser")]


@pytest.mark.parametrize("hears", [True, False])
def test_ctrl_c_ends_jupyterlab_whether_that_hears_it_or_not(hears):
    too_late = [] if hears else [subprocess.TimeoutExpired("jupyterlab", 1)]
    server = Mock(wait=Mock(side_effect=[KeyboardInterrupt, *too_late, 0]))
    assert notebook_server.wait_for(server) == 0
    assert server.terminate.called != hears
