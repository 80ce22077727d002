"""`course reset`: a lesson starts afresh, and not a byte of what was there is lost."""

import contextlib
import errno
import itertools
import re
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from killing import Kill, Killed

from course import root
from course.cli import main
from course.core.syllabus import find_lesson
from course.publishing.building.build import Product, modules_and_notebooks
from course.publishing.building.notebooks import LAB
from course.student import backups


@cache
def made_once() -> list[tuple[Path, Product]]:
    return [(one.path.relative_to(root()), one) for one in modules_and_notebooks()]


@pytest.fixture(autouse=True)
def quickly_made(built, monkeypatch):
    """Each reset makes all notebooks, which takes seconds: here they are made once."""
    here = [replace(product, path=built / name) for name, product in made_once()]
    monkeypatch.setattr(backups, "modules_and_notebooks", lambda: here)


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
    n = len(rope.exercises)
    assert reset("--list").output == (
        f"{name}  exercises/rope.py ({n} of {n} exercises written), notebooks/5_rope.ipynb\n"
    )
    work(rope, b"2")
    assert reset("--restore", name).exit_code == 0
    assert files_of(rope) == mine
    for again in ([], ["rope"]):  # the same once more, and not what the first one replaced
        said = f"{name} has been restored: rope.py, 5_rope.ipynb\n"
        assert reset("--restore", *again).output == said
        assert files_of(rope) == mine
    assert b"my notebook 2" in everything(built / ".course")


def test_copies_of_one_second_do_not_meet_and_a_lesson_alone_comes_back(built):
    rope, lookup = find_lesson("rope"), find_lesson("lookup")
    for number in range(5):  # within a second
        work(rope, b"%d" % number)
        backups.keep([rope.notebook])
    kept = [(backups.folder() / name / "notebooks" / "5_rope.ipynb") for name in backups.kept()]
    assert sorted(path.read_bytes() for path in kept) == [b"my notebook %d" % n for n in range(5)]
    work(rope, b"1")
    work(lookup, b"1")
    mine = files_of(rope), files_of(lookup)
    backups.keep([rope.module(), lookup.module()])
    reset("rope")
    reset("lookup")
    fresh = files_of(lookup)
    assert reset("--restore", "exercises/rope.py").exit_code == 0
    assert (files_of(rope)[0], files_of(lookup)) == (mine[0][0], fresh)
    result = reset("--restore", "gpt")
    assert result.exit_code == 2 and "no copy of exercises/gpt.py" in result.output


@pytest.mark.parametrize("ends", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_an_exercise_alone_starts_afresh(built, ends):
    rope = find_lesson("rope")
    fresh, notebook = files_of(rope)
    own = b"\n\ndef mine():\n    return 1  # kept\n\n\ndef rotate_half(x):\n    return x\n"
    written = fresh.replace(
        b'    raise NotImplementedError("TODO rope.rotate_half")', b"    return 2"
    )
    written = (written + own).replace(b"\n", ends)
    assert written != fresh
    rope.module().write_bytes(written)
    said = reset("rotate_half").output
    assert said.startswith("rotate_half is back")
    now = rope.module().read_bytes().replace(b"\r\n", b"\n")
    assert now.startswith(fresh.rstrip()) and b"# kept" in now and b"return x" not in now
    assert (ends in rope.module().read_bytes()) and rope.notebook.read_bytes() == notebook
    assert "--restore" not in reset("rotate_half").output  # there was nothing to do
    reset("--restore")
    assert rope.module().read_bytes() == written
    rope.module().write_bytes(b"def (")  # no Python: it is left alone
    result = reset("rotate_half")
    assert result.exit_code == 2 and "rope.py" in result.output
    assert rope.module().read_bytes() == b"def ("


def fail(*names):
    raise OSError(errno.EROFS, "Read-only file system", str(names[0]))


def read_only_drive(monkeypatch):
    monkeypatch.setattr("course.core.files.open", lambda *names, **_: fail(*names), raising=False)


def no_room_for_a_copy(monkeypatch):
    monkeypatch.setattr("shutil.copyfile", lambda file, copy: fail(copy))


@pytest.mark.parametrize(
    ("words", "forbid"),
    [
        ("rope", read_only_drive),
        ("rotate_half", read_only_drive),
        ("--restore", read_only_drive),
        ("rope", no_room_for_a_copy),
    ],
)
def test_where_nothing_can_be_written_it_is_one_sentence(built, monkeypatch, words, forbid):
    rope = find_lesson("rope")
    module = rope.module().read_bytes()
    rope.module().write_bytes(b"mine = 1\n")
    backups.keep([rope.module()])
    rope.module().write_bytes(module + b"mine = 2\n\n\ndef rotate_half(x):\n    return x\n")
    mine = files_of(rope)
    with monkeypatch.context() as patch:
        forbid(patch)
        result = reset(words)
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: .*rope\.py.* Nothing is lost\.\n", result.output)
    assert files_of(rope) == mine
    drafts = [*rope.module().parent.glob(".rope*"), *backups.folder().glob(".*")]
    assert not drafts
    assert reset(words).exit_code == 0
    assert files_of(rope) != mine


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
        if kill.n_changes < n:
            break
    assert n > 5


def everything(folder):
    """All files, without drafts: half of one is nobody's."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name[0] != "."]
    return {path.read_bytes() for path in files if ".draft" not in str(path)}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "--list"),
        (["rope", "--list"], "--list"),
        (["roap"], '"roap"; did you mean "rope"?'),
        (["--restore"], "no copies"),
        (["--restore", "x"], 'no copy "x"'),
        (["--restore", "../x"], 'no copy "../x"'),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(built, golden, arguments, sentence):
    result = reset(*arguments)
    assert result.exit_code == 2
    error = result.output.splitlines()[-1]
    assert error.startswith("Error: ") and sentence in error
    golden("reset", {" ".join(arguments) or "nothing": error})
