"""`course reset`: a lesson starts afresh, and not a byte of what was there is lost."""

import contextlib
import itertools
from functools import partial

import pytest
from click.testing import CliRunner
from killing import Kill, Killed

from course.building.notebooks import LAB
from course.cli import main
from course.student import backups
from course.syllabus import find_lesson

pytestmark = pytest.mark.usefixtures("built")


def reset(*arguments):
    return CliRunner().invoke(main, ["reset", *arguments])


def work(lesson, what):
    """Write something of a student's into both files of a lesson."""
    lesson.module().write_bytes(b"my module\r\n\xff " + what)
    lesson.notebook.write_bytes(b"my notebook " + what)


def files_of(lesson):
    return lesson.module().read_bytes(), lesson.notebook.read_bytes()


def test_a_lesson_starts_afresh_and_comes_back(built, golden):
    rope = find_lesson("rope")
    fresh = files_of(rope)
    work(rope, b"1")
    mine = files_of(rope)
    said = reset("rope").output
    assert files_of(rope) == fresh
    name = said.split()[-1]
    assert said.startswith("rope ") and said.endswith(f": course reset --restore {name}\n")
    golden("reset", {"a lesson": said.replace(name, "NAME")})
    assert reset("--list").output == f"{name}  exercises/rope.py, notebooks/5_rope.ipynb\n"
    work(rope, b"2")
    assert reset("--restore", name).exit_code == 0
    assert files_of(rope) == mine
    assert reset("--restore").output.startswith(f"{list(backups.kept())[1]} is back")
    assert b"my notebook 2" in files_of(rope)[1]
    assert b"my notebook 2" in everything(built / ".course")


@pytest.mark.parametrize("number", [0, 1], ids=["module", "notebook"])
def test_a_file_that_is_named_starts_afresh_alone(built, number):
    """A deleted one comes back so."""
    rope = find_lesson("rope")
    fresh = files_of(rope)
    work(rope, b"")
    mine = files_of(rope)
    path = (rope.module(), rope.notebook)[number]
    path.unlink()
    name = path.relative_to(built).as_posix()
    said = reset(name).output
    assert said.startswith(name) and "--restore" not in said
    assert files_of(rope)[number] == fresh[number]
    assert files_of(rope)[1 - number] == mine[1 - number]
    assert reset(f"notebooks/{LAB}.ipynb").exit_code == 0


def test_archives_of_one_second_do_not_meet(built):
    rope = find_lesson("rope")
    for number in range(5):
        work(rope, b"%d" % number)
        reset("rope")
    kept = [(backups.folder() / name / "notebooks" / "5_rope.ipynb") for name in backups.kept()]
    assert sorted(path.read_bytes() for path in kept) == [b"my notebook %d" % n for n in range(5)]


def test_a_crash_is_one_sentence_and_loses_nothing(built, monkeypatch):
    rope = find_lesson("rope")
    work(rope, b"1")
    mine = files_of(rope)

    def fail(*_, **__):
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fail)
        result = reset("rope")
    assert (result.exit_code, result.output) == (1, "Error: no space\n")
    assert files_of(rope) == mine
    reset("rope")
    assert files_of(rope) != mine


@pytest.mark.slow
@pytest.mark.parametrize("back", [False, True], ids=["reset", "restore"])
def test_it_may_be_killed_at_any_moment(built, back):
    rope = find_lesson("rope")
    paths, fresh = (rope.module(), rope.notebook), files_of(rope)
    work(rope, b"1")
    expected = files_of(rope) if back else fresh
    kept = backups.keep(paths)
    action = partial(backups.restore, kept) if back else partial(backups.reset, *paths)
    for n in itertools.count(1):
        work(rope, b"again %d" % n)
        mine = files_of(rope)
        kill = Kill(n)
        with kill.armed(), contextlib.suppress(Killed):
            action()
        assert {*mine} <= everything(built)
        action()
        assert {*mine} <= everything(built) and files_of(rope) == expected
        if len(kill.changes) < n:
            break
    assert n > 5


def everything(folder):
    """All files, without drafts: half of one is nobody's."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {path.read_bytes() for path in files if ".draft" not in str(path)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "a LESSON, --list, or --restore NAME"),
        (["rope", "--list"], "a LESSON, --list, or --restore NAME"),
        (["roap"], '"roap"; did you mean "rope"?'),
        (["--restore"], "nothing was kept"),
        (["--restore", "x"], 'there is no archive "x"; there are: none yet'),
        (["--restore", "../x"], 'there is no archive "../x"; there are: none yet'),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(built, golden, arguments, sentence):
    result = reset(*arguments)
    assert result.exit_code == 2
    error = result.output.splitlines()[-1]
    assert error.startswith("Error: ") and sentence in error
    golden("reset", {" ".join(arguments) or "nothing": error})
