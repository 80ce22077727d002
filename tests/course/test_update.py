"""`course update` on real git histories: what the course changed comes, what is mine stays."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from filelock import FileLock

from course import ROOT
from course.building.notebooks import YOUR_ANSWER, notebook_from
from course.cli import main
from course.student.update.merging import Unreadable
from course.student.update.modules import merge_module, read
from course.student.update.notebooks import merge_notebook
from course.student.update.versions import files_below
from course.syllabus import stub_from

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ROPE, NOTEBOOK = "exercises/rope.py", "notebooks/5_rope.ipynb"
STUB = '    # (..., D); 2 lines.\n    raise NotImplementedError("TODO rope.rotate_half")\n'
BODY = "    a, b = x.chunk(2, dim=-1)  # mine\n    return torch.cat([-b, a], dim=-1)\n"


# --- a course, its upstream, and a student's clone ------------------------------------------


@contextlib.contextmanager
def course_in(folder: Path):
    """Take a folder for the course's repository."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("course.ROOT", folder)
        yield


def git(folder: Path, *arguments: str) -> str:
    names = {
        f"GIT_{who}_{what}": f"{who}@x.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        capture_output=True,
        env={**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def replace_in(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_bytes(text.replace(old, new).encode())


def commit(folder: Path, message: str = "work") -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def rebuild(folder: Path, pattern: str = "*") -> None:
    """Do what `course build` does, for files that no student has touched."""
    with course_in(folder):
        for source in folder.glob(f"solutions/{pattern}.py"):
            built = folder / "exercises" / source.name
            built.parent.mkdir(exist_ok=True)
            text = stub_from(source.read_text(encoding="utf-8"), source.stem)
            built.write_bytes(text.encode())
        for source in folder.glob(f"solutions/notebooks/{pattern}.py"):
            built = folder / "notebooks" / f"{source.stem}.ipynb"
            built.parent.mkdir(exist_ok=True)
            text = notebook_from(source.read_text(encoding="utf-8"), source.stem)
            built.write_bytes(text.encode())
    products = [*folder.glob("exercises/*.py"), *folder.glob("notebooks/*.ipynb")]
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in products]
    (folder / "exercises" / ".stubs").write_bytes("".join(lines).encode())


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """A small course, a bare repository of it, and a clone."""
    place = tmp_path_factory.mktemp("template")
    maker = place / "maker"
    for path in ("solutions", "course/lessons"):
        copied = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / path, maker / path, ignore=copied)
    for path in ("course/__init__.py", "course/syllabus.toml", ".gitignore", "pyproject.toml"):
        shutil.copy(ROOT / path, maker / path)
    (maker / "README.md").write_bytes(b"read me\n")
    (maker / "tests").mkdir()
    (maker / "tests" / "test_rope.py").write_bytes(b"# the tests\n")
    rebuild(maker)
    git(place, "init", "--quiet", "--initial-branch=main", "maker")
    commit(maker, "the course")
    git(place, "clone", "--quiet", "--bare", "maker", "upstream.git")
    git(maker, "remote", "add", "origin", "../upstream.git")
    git(place, "clone", "--quiet", "upstream.git", "Ünser Kurs")
    return place


class World:
    """An upstream that changes, and a student's clone of it."""

    def __init__(self, place: Path) -> None:
        self.maker = place / "maker"
        self.bare = place / "upstream.git"
        self.student = place / "Ünser Kurs"
        git(self.student, "remote", "set-url", "origin", self.bare.as_uri())

    def clone(self, *options: str) -> None:
        shutil.rmtree(self.student, ignore_errors=True)
        git(self.bare, "clone", "--quiet", *options, self.bare.as_uri(), str(self.student))

    def publish(self, changes: dict[str, tuple[str, str] | str | None]) -> str:
        """Change files upstream: replace one text by another, write it anew, or remove it."""
        for path, change in changes.items():
            file = self.maker / path
            if change is None:
                file.unlink()
                continue
            if isinstance(change, tuple):
                replace_in(file, *change)
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(change.encode())
            if path.startswith("solutions/"):
                rebuild(self.maker, file.stem)
        new = commit(self.maker, "news")
        git(self.maker, "push", "--quiet", "origin", "main")
        return new

    def update(self, *options: str, status: int = 0) -> str:
        with course_in(self.student):
            result = CliRunner().invoke(main, ["update", *options])
        assert result.exit_code == status, (result.output, result.exception)
        assert not result.exception or isinstance(result.exception, SystemExit)
        assert result.output.isascii() or "Ünser" in result.output
        return result.output

    def read(self, path: str = ROPE) -> str:
        return (self.student / path).read_bytes().decode()

    def new(self, path: str = ROPE) -> str:
        return (self.maker / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        (self.student / path).write_bytes(text.encode())

    def work(self, body: str = BODY) -> None:
        """The student writes `rotate_half`."""
        text = self.read()
        assert STUB in text
        self.write(ROPE, text.replace(STUB, body))

    def undo(self, said: str) -> None:
        """Say what an update said to say to have everything back."""
        with course_in(self.student):
            arguments = re.search(r"as they were: course (.*)", said)[1].split()
            assert CliRunner().invoke(main, arguments).exit_code == 0

    def files(self) -> dict[str, bytes]:
        return {path: file.read_bytes() for path, file in files_below(self.student)}

    def is_clean(self) -> bool:
        return git(self.student, "status", "--porcelain") == ""


@pytest.fixture
def world(template, tmp_path, monkeypatch) -> World:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    shutil.copytree(template, tmp_path / "w")
    return World(tmp_path / "w")


def archived(world: World) -> list[bytes]:
    """All files that were kept."""
    places = (world.student / ".course" / "backups").rglob("*")
    return [file.read_bytes() for file in places if file.is_file()]


DOCSTRING = {"solutions/rope.py": ("Every pair turned by a quarter, from", "A quarter turn, from")}


# --- what comes -----------------------------------------------------------------------------


def test_a_docstring_comes_and_the_body_stays(world):
    new = world.publish({**DOCSTRING, "tests/test_rope.py": "# better tests\n"})
    world.work()
    said = world.update()
    assert world.read() == world.new().replace(STUB, BODY)
    assert world.read("tests/test_rope.py") == "# better tests\n"
    assert "merged with yours\n    a new docstring of rotate_half\n" in said
    assert git(world.student, "rev-parse", "HEAD").strip() == new
    assert git(world.student, "status", "--porcelain") == f" M {ROPE}\n"
    assert world.update() == "nothing new: you have what origin/main has\n"


def test_what_was_not_edited_is_simply_new(world):
    world.publish({**DOCSTRING, "course/lessons/5_rope.md": "new text\n"})
    said = world.update()
    assert f"{ROPE}: the new one, for you had not edited it" in said
    assert world.read() == world.new()
    assert world.is_clean()


def test_undo(world):
    """The restored file is merged rightly by the next update."""
    world.publish(DOCSTRING)
    world.work()
    mine = world.read()
    world.undo(world.update())
    assert world.read() == mine
    world.update()
    assert world.read() == world.new().replace(STUB, BODY)


def test_dry_run_writes_nothing(world):
    world.publish({**DOCSTRING, "new.txt": "new\n"})
    world.work()
    before, head = world.files(), git(world.student, "rev-parse", "HEAD")
    said = world.update("--dry-run")
    assert "a new docstring of rotate_half" in said and "nothing was written" in said
    assert (before, head) == (world.files(), git(world.student, "rev-parse", "HEAD"))
    assert not (world.student / ".course").exists()


NEW = 'def halves(x: Tensor):\n    """New."""\n'
CHECK = "    if not len(x):\n        raise ValueError(x)\n"
KINDS = {
    "a new signature of rotate_half": (
        "def rotate_half(x: Tensor)",
        "def rotate_half(x: Tensor, *, dim: int = -1)",
        "def rotate_half(x: Tensor, *, dim: int = -1) -> Tensor:",
    ),
    "new lines in the body of rotate_half": ("    # (..., D); 2 lines.\n", CHECK, CHECK + BODY),
    "a new import: import math": ("import torch\n", "import math\nimport torch\n", "import math\n"),
    "a new import: from torch import optim": (
        "from torch import Tensor, nn",
        "from torch import Tensor, nn, optim",
        "from torch import Tensor, nn\nfrom torch import optim\n",
    ),
    "a new docstring of the module": ("Lesson 5: rotate", "Lesson 5: turn", '"""Lesson 5: turn'),
    "halves is new": (
        f"{STUB}\n\n",
        f"{STUB}\n\n{NEW}\n\n",
        f"{BODY}\n\n{NEW}\n\ndef ",
    ),
    "a new RotaryEmbedding": ("offset: int = 0", "offset: int = 1", "offset: int = 1"),
}


@pytest.mark.parametrize("note", KINDS)
def test_each_kind_of_change(note):
    old, new, expected = KINDS[note]
    base = stub_of("rope")
    assert old in base
    text, merged = merge(base, base.replace(old, new), base.replace(STUB, BODY))
    assert merged.notes == (note,)
    assert expected in text and BODY in text
    assert not merged.conflicts and not merged.warnings


def test_a_renamed_exercise_is_a_new_one_and_the_old_body_stays(world):
    world.publish({"solutions/rope.py": ("rotate_half", "quarter_turn")})
    world.work()
    said = world.update()
    assert "quarter_turn is new" in said
    assert (
        "the course has no rotate_half any more; yours stays: if its name changed, move your code"
    ) in said
    assert "def rotate_half(x: Tensor)" in world.read() and BODY in world.read()
    assert 'raise NotImplementedError("TODO rope.quarter_turn")' in world.read()
    assert world.update().startswith("nothing new")


@pytest.mark.slow
def test_an_exercise_that_is_gone_goes_if_nobody_wrote_it(world):
    solution = world.new("solutions/rope.py")
    start = solution.index("def rotate_half")
    end = solution.index("\ndef ", start) + 1
    world.publish({"solutions/rope.py": solution[:start] + solution[end:]})
    before = world.read()
    world.update()
    assert world.read() == world.new() != before


def test_what_both_changed_stays_and_the_new_one_lies_beside(world):
    world.publish({"solutions/rope.py": DOCSTRING["solutions/rope.py"]})
    world.work()
    world.write(
        ROPE, world.read().replace("Every pair turned by a quarter, from", "My own words, from")
    )
    mine = world.read()
    said = world.update()
    assert "you and the course both changed the docstring of rotate_half, so yours stays" in said
    assert "exercises/rope.new.txt" in said
    assert world.read() == mine
    assert world.read("exercises/rope.new.txt") == world.new()
    assert world.update().startswith("nothing new")


def test_what_is_not_python_is_merged_after_it_was_mended(world):
    world.publish(DOCSTRING)
    world.work(BODY + "    return (\n")
    mine = world.read()
    said = world.update()
    assert "exercises/rope.py is not valid Python (line " in said
    assert "mend yours and say `course update` again" in said
    assert world.read() == mine and world.read("exercises/rope.new.txt") == world.new()
    assert "is not valid Python" in world.update(), "it is still to do"
    assert len(list((world.student / ".course").glob("backups/*"))) == 0, "nothing was replaced"
    world.write(ROPE, mine.replace("    return (\n", ""))
    world.update()
    assert world.read() == world.new().replace(STUB, BODY)
    assert world.update().startswith("nothing new")


# --- how a student's file may look ----------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "back"),
    [
        (lambda text: text.replace("\n", "\r\n"), lambda text: text.replace("\r\n", "\n")),
        (lambda text: "\ufeff" + text, lambda text: text.removeprefix("\ufeff")),
        (lambda text: text.rstrip("\n"), lambda text: text + "\n"),
        (lambda text: text.replace('"""', "'''"), lambda text: text.replace("'''", '"""')),
        (
            lambda text: text.replace("\n\n\n", "\n\n\n\n"),
            lambda text: text.replace("\n\n\n\n", "\n\n\n"),
        ),
    ],
    ids=["CRLF", "BOM", "no newline at the end", "other quotes", "blank lines"],
)
def test_the_layout_stays(turn, back):
    base = stub_of("rope")
    theirs = base.replace("cosines and sines of all rotation", "cosines and sines of the")
    to_do = '    raise NotImplementedError("TODO rope.rope_tables")\n'
    mine = base.replace(STUB, BODY).replace(to_do, "    return 1, 2  # mine\n")
    text, merged = merge(base, theirs, turn(mine))
    expected = mine.replace("cosines and sines of all rotation", "cosines and sines of the")
    if turn('"""') != "'''":  # the new docstring comes with its own quotes
        assert text == turn(expected)
    assert back(text) == expected
    assert not merged.conflicts


def stub_of(stem: str) -> str:
    return stub_from((ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8"), stem)


def merge(base: str, theirs: str, mine: str):
    merged = merge_module(base.encode(), theirs.encode(), mine.encode())
    again = merge_module(base.encode(), theirs.encode(), merged.data)
    assert again.data == merged.data, "merging twice is merging once"
    return merged.data.decode(), merged


CLASS = '''\
class Table:
    """A table."""

    def __init__(self, n):
        """Make it."""
        raise NotImplementedError("TODO x.Table")

    def forward(self, i):
        raise NotImplementedError("TODO x.Table")
'''


def test_a_class_is_merged_method_by_method():
    theirs = CLASS.replace("A table.", "A better one.").replace("(self, n)", "(self, n, m=1)")
    theirs += "\n    def extra(self):\n        if self:\n            return 1\n"
    mine = CLASS.replace(
        '        raise NotImplementedError("TODO x.Table")\n', "        self.n = n\n", 1
    )
    mine += "\n    def own(self):\n        return 2\n"
    text, merged = merge(CLASS, theirs, mine)
    assert text == (
        'class Table:\n    """A better one."""\n\n    def __init__(self, n, m=1):\n'
        '        """Make it."""\n        self.n = n\n\n    def forward(self, i):\n'
        '        raise NotImplementedError("TODO x.Table")\n\n    def extra(self):\n'
        "        if self:\n            return 1\n\n    def own(self):\n        return 2\n"
    )
    assert not merged.conflicts


def test_tabs_stay():
    mine = CLASS.replace("    ", "\t").replace(
        'raise NotImplementedError("TODO x.Table")', "pass # 1", 1
    )
    theirs = CLASS.replace('"""Make it."""', '"""Make\n        it\n            well."""')
    theirs += "\n    def extra(self):\n        if self:\n            return 1\n"
    text, _ = merge(CLASS, theirs, mine)
    assert '\t\t"""Make\n\t\tit\n\t\t\twell."""\n\t\tpass # 1\n' in text
    assert text.endswith("\n\tdef extra(self):\n\t\tif self:\n\t\t\treturn 1\n")
    assert "    " not in text


@pytest.mark.parametrize(
    ("mine", "conflict"),
    [
        ("def f(a):\n    '''Mine.'''\n    return 1\n", "the docstring of f"),
        ("def f(a, b):\n    '''Do.'''\n    return 1\n", "the signature of f"),
        ("def f(a): return 1\n", "the signature of f"),
        ("x = 1; f = 2\n", "you removed f"),
        ("class f:\n    pass\n", "both changed f"),
        ("if 1:\n    def f(a):\n        '''Do.'''\n        return 1\n", "you removed f"),
    ],
)
def test_conflicts_leave_the_text_alone(mine, conflict):
    base = "def f(a):\n    '''Do.'''\n    raise NotImplementedError\n"
    theirs = "def f(a, *, c):\n    '''Do it.'''\n    raise NotImplementedError\n"
    text, merged = merge(base, theirs, mine)
    assert text == mine
    assert len(merged.conflicts) == 1 and conflict in merged.conflicts[0]


def test_a_second_definition_below_the_stub_stays():
    """Who writes the function anew and leaves the stub has both."""
    base = 'def f(x):\n    """Do."""\n    raise NotImplementedError("TODO x.f")\n'
    own = "\n\ndef f(x):\n    return 1  # mine\n"
    text, merged = merge(base, base.replace("Do.", "Do it."), base + own)
    assert text == base.replace("Do.", "Do it.") + own
    assert not merged.conflicts


def test_comments_in_a_stub_are_work():
    base = 'def f():\n    # hint\n    raise NotImplementedError("TODO x.f")\n'
    mine = base.replace("# hint\n", "# hint\n    # my idea: a loop\n")
    text, _ = merge(base, base.replace("def f():", "def f(a=1):").replace("hint", "hint 2"), mine)
    assert text == mine.replace("def f():", "def f(a=1):")


@pytest.mark.parametrize(
    "mine",
    [b"\xff\xfe", b"x = 1\rf = 2\n", b"x = (\n", b"\0", b"(" * 5000, b"x = 1" + b" + 1" * 5000],
)
def test_what_cannot_be_read_is_said(mine):
    with pytest.raises(Unreadable):
        merge_module(b"x = 1\n", b"x = 2\n", mine)


@pytest.mark.slow
@pytest.mark.parametrize(
    "style",
    [
        ("--line-length=60", "--config=format.indent-style='tab'"),
        ("--line-length=200", "--config=format.quote-style='single'"),
    ],
)
def test_a_reformatted_file_is_merged_like_any_other(style):
    """What a formatter did to the file is no edit, and stays."""
    pytest.importorskip("ruff")
    for stem in ("lookup", "permutation", "learned", "sinusoidal", "rope", "skipgram"):
        base, solution = stub_of(stem), ROOT / "solutions" / f"{stem}.py"
        mine = re.sub(r" *### (BEGIN|END) SOLUTION\n", "", solution.read_text(encoding="utf-8"))
        formatted = subprocess.run(
            [sys.executable, "-m", "ruff", "format", "--isolated", *style, "-"],
            input=mine.encode(),
            capture_output=True,
            check=True,
        ).stdout.decode()
        theirs = base.replace("\n\n    Source:", "\n\n    More.\n\n    Source:")
        theirs = theirs.replace(") -> Tensor:", ", *, extra: int = 0) -> Tensor:")
        theirs = theirs.replace("    if ", "    if True and ")
        text, merged = merge(base, theirs, formatted)
        plainly, as_written = merge(base, theirs, mine)
        assert merged.notes == as_written.notes and not merged.conflicts
        assert read(text) == read(plainly)
        assert ("\n\t" in text) == ("tab" in style[1])


# --- git ------------------------------------------------------------------------------------


def test_committed_work_gets_a_merge_commit_on_top(world):
    new = world.publish(DOCSTRING)
    world.work()
    (world.student / "notes.md").write_bytes(b"my notes")
    own = commit(world.student)
    mine = world.read()
    world.update()
    assert world.read() == world.new().replace(STUB, BODY)
    assert git(world.student, "rev-parse", "HEAD^1", "HEAD^2").split() == [own, new]
    assert git(world.student, "show", f"HEAD:{ROPE}") == mine, "the merge of theirs is an edit"
    assert git(world.student, "show", "HEAD:solutions/rope.py") == world.new("solutions/rope.py")
    assert git(world.student, "show", "HEAD:notes.md") == "my notes"
    assert git(world.student, "status", "--porcelain") == f" M {ROPE}\n"
    assert git(world.student, "branch", "--show-current") == "main\n"
    commit(world.student)
    world.publish({"solutions/rope.py": ("Lesson 5: rotate", "Lesson 5: turn")})
    world.update()
    assert world.read() == world.new().replace(STUB, BODY)


def test_local_commits_on_other_files_stay(world):
    world.publish({**DOCSTRING, "README.md": "new readme\n", "tests/test_rope.py": "new\n"})
    world.write("README.md", "my readme\n")
    world.write("course/lessons/5_rope.md", "my text\n")
    own = commit(world.student)
    said = world.update()
    assert "README.md: the course's version took the place of yours" in said
    assert world.read("README.md") == "new readme\n"
    assert world.read("course/lessons/5_rope.md") == "my text\n", "the course did not change it"
    assert git(world.student, "show", f"{own}:README.md") == "my readme\n"
    assert own in git(world.student, "log", "--format=%H")
    assert b"my readme\n" in archived(world)
    assert world.is_clean()


def test_dirty_and_staged_other_files_stay(world):
    world.publish({**DOCSTRING, "tests/test_rope.py": "new\n", "mine.txt": "theirs\n"})
    world.write("course/lessons/1_lookup.md", "dirty\n")
    world.write("course/lessons/2_permutation.md", "staged\n")
    git(world.student, "add", "course/lessons/2_permutation.md")
    world.write("tests/test_rope.py", "my dirty tests\n")
    world.write("mine.txt", "my own file\n")
    said = world.update()
    assert "mine.txt, tests/test_rope.py: the course's version took the place of yours" in said
    assert git(world.student, "status", "--porcelain").splitlines() == [
        " M course/lessons/1_lookup.md",
        "M  course/lessons/2_permutation.md",
    ]
    kept = archived(world)
    assert b"my dirty tests\n" in kept and b"my own file\n" in kept


@pytest.mark.slow
def test_files_that_are_new_or_gone(world):
    world.publish({"course/lessons/new/8.md": "new", "tests/test_rope.py": None})
    world.update()
    assert world.read("course/lessons/new/8.md") == "new"
    assert not (world.student / "tests").exists()
    assert world.is_clean()


@pytest.mark.slow
def test_a_lesson_that_is_gone_stays_if_somebody_worked_on_it(world):
    world.work()
    for path in (ROPE, "exercises/lookup.py"):
        (world.maker / path).unlink()
    commit(world.maker)
    git(world.maker, "push", "--quiet", "origin", "main")
    mine = world.read()
    said = world.update()
    assert "exercises/rope.py is no longer part of the course; yours stays" in said
    assert "exercises/lookup.py: removed, for you had not edited it" in said
    assert world.read() == mine
    assert not (world.student / "exercises" / "lookup.py").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--depth", "1"), ("-c", "core.autocrlf=true")])
def test_kinds_of_clones(world, options):
    world.clone(*options)
    world.publish({**DOCSTRING, "tests/test_rope.py": "new\n"})
    crlf = "autocrlf" in options[1]
    assert ("\r\n" in world.read()) == crlf
    world.write(
        ROPE,
        world.read()
        .replace("\r\n", "\n")
        .replace(STUB, BODY)
        .replace("\n", "\r\n" if crlf else "\n"),
    )
    world.update()
    expected = world.new().replace(STUB, BODY)
    assert world.read() == (expected.replace("\n", "\r\n") if crlf else expected)
    status = subprocess.run(
        ["git", "-C", str(world.student), "status", "--porcelain"], capture_output=True
    )
    assert status.stdout == f" M {ROPE}\n".encode()


@pytest.mark.slow
def test_programs_stay_programs(world):
    (world.maker / "run.sh").write_bytes(b"#!/bin/sh\n")
    os.chmod(world.maker / "run.sh", 0o755)
    world.publish({})
    world.update()
    assert os.name != "posix" or os.access(world.student / "run.sh", os.X_OK)
    assert world.is_clean()


def under_way(world):
    (world.student / ".git" / "MERGE_HEAD").write_text(git(world.student, "rev-parse", "HEAD"))


def unrelated(world):
    git(world.maker, "checkout", "--quiet", "--orphan", "other")
    commit(world.maker)
    git(world.maker, "push", "--quiet", "--force", "origin", "other:main")


def gone(world):
    git(world.bare, "branch", "-m", "other")
    git(world.student, "fetch", "--quiet", "--prune")


def empty(world):
    git(world.student, "stash", "--quiet")
    git(world.student, "switch", "--quiet", "--orphan", "empty")


def said_to_git(*arguments):
    return lambda world: git(world.student, *arguments)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (said_to_git("checkout", "--quiet", "--detach"), "no branch is checked out"),
        (said_to_git("branch", "--unset-upstream"), "nowhere to look for news"),
        (
            said_to_git("remote", "set-url", "origin", "http://127.0.0.1:9/x"),
            "origin could not be reached",
        ),
        (empty, "follows no other"),
        (under_way, "a git merge is under way: finish it first"),
        (unrelated, "have no history in common"),
        (gone, "the branch that main follows is gone from origin"),
        (
            lambda world: shutil.rmtree(world.student / ".git"),
            "this folder is no git clone: unpack",
        ),
    ],
)
def test_where_git_has_no_news(world, spoil, sentence):
    world.publish(DOCSTRING)
    world.work()
    spoil(world)
    before = world.files()
    said = world.update(status=1)
    assert said.startswith("Error: ") and sentence in said and said.count("\n") == 1
    assert world.files() == before


def test_without_git(world, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert "git was not found: install it" in world.update(status=1)


@pytest.mark.parametrize("what", ["replace", "rename"])
def test_a_disk_that_cannot_be_written(world, monkeypatch, what):
    world.publish(DOCSTRING)
    world.work()
    mine, head = world.read(), git(world.student, "rev-parse", "HEAD")

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, what, refuse)
        said = world.update(status=1)
    assert said.startswith("Error: ") and said.endswith(": Permission denied\n")
    assert said.count("\n") == 1
    assert world.read() == mine and git(world.student, "rev-parse", "HEAD") == head
    world.update()
    assert world.read() == world.new().replace(STUB, BODY)


def test_one_update_at_a_time(world):
    (world.student / ".course").mkdir()
    with FileLock(world.student / ".course" / "update.lock"):
        assert world.update(status=1) == "Error: another `course update` is running\n"
    assert world.update().startswith("nothing new")


# --- another folder -------------------------------------------------------------------------


@pytest.fixture
def unzipped(world) -> Path:
    """A course without git, some work in it, and a newer copy in a folder within a folder."""
    world.publish(
        {
            **DOCSTRING,
            "tests/test_rope.py": "new\n",
            "solutions/lookup.py": ("Lesson 1", "Lesson one"),
        }
    )
    shutil.rmtree(world.student / ".git")
    copy = world.student.parent / "Downloads" / "what-and-where-main"
    shutil.copytree(world.maker, copy, ignore=shutil.ignore_patterns(".git"))
    world.work()
    return copy.parent


def test_from_a_folder_and_back(world, unzipped):
    before = world.files()
    said = world.update("--from", str(unzipped))
    after = world.files()
    assert world.read() == world.new().replace(STUB, BODY)
    assert world.read("tests/test_rope.py") == "new\n"
    assert world.read("exercises/lookup.py") == world.new("exercises/lookup.py")
    assert "look at" not in said
    assert world.update("--from", str(unzipped)).startswith("nothing new")
    world.undo(said)
    assert world.files() == before
    world.update("--from", str(unzipped))
    assert world.files() == after


@pytest.mark.slow
def test_what_the_new_copy_has_no_more_goes_from_the_courses_own_folders(world, unzipped):
    world.write("course/old.py", "old\n")
    world.write("tests/test_mine.py", "mine\n")
    world.update("--from", str(unzipped))
    assert not (world.student / "course" / "old.py").exists()
    assert world.read("tests/test_mine.py") == "mine\n"
    assert [file.read_bytes() for file in world.student.rglob("old.py")] == [b"old\n"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda copy: (copy / ROPE).write_bytes(b"somebody's\n"),
            "exercises/rope.py in that folder was edited",
        ),
        (lambda copy: shutil.rmtree(copy / "course"), "holds no copy of the course"),
        (lambda copy: shutil.rmtree(copy), "holds no copy of the course"),
        (lambda copy: shutil.rmtree(copy.parent), "there is no folder"),
        (
            lambda copy: shutil.copytree(copy, copy.with_name("another")),
            "holds more than one copy of the course",
        ),
    ],
)
def test_folders_that_will_not_do(world, unzipped, spoil, sentence):
    spoil(unzipped / "what-and-where-main")
    mine = world.read()
    assert sentence in world.update("--from", str(unzipped), status=1)
    assert world.read() == mine
    assert "is this course itself" in world.update("--from", str(world.student), status=1)


# --- notebooks ------------------------------------------------------------------------------

SOURCE = "solutions/notebooks/5_rope.py"


def cells(text: str) -> list[dict]:
    return json.loads(text)["cells"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def answered(notebook: dict, answer: str) -> str:
    """Answer the first question of a notebook, and return its title."""
    cell = next(cell for cell in notebook["cells"] if YOUR_ANSWER in source(cell))
    cell["source"] = source(cell).replace(YOUR_ANSWER, answer)
    return source(cell).partition("\n")[0]


def test_a_notebook_is_merged_cell_by_cell(world):
    notebook = json.loads(world.read(NOTEBOOK))
    n = len(notebook["cells"])
    answered(notebook, "Because!")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code[1]["source"] = "print('mine')"
    output = {"name": "stdout", "output_type": "stream", "text": "mine\n"}
    for cell in code:
        cell["outputs"], cell["execution_count"] = [output], 7
    mine = {**code[1], "id": "abc", "source": "my_own = 1"}
    notebook["cells"].insert(4, mine)
    world.write(NOTEBOOK, json.dumps(notebook))
    title = "## What is turned, and how far"
    world.publish({SOURCE: (f"# {title}\n", f"# {title}, and why\n\n# %%\n1 + 1\n")})
    said = world.update()
    merged = cells(world.read(NOTEBOOK))
    texts = [source(cell) for cell in merged]
    assert len(merged) == n + 2
    assert texts[texts.index(f"{title}, and why") + 1] in ("1 + 1", "my_own = 1")
    assert "print('mine')" in texts and "my_own = 1" in texts
    assert sum("Because!" in text for text in texts) == 1
    assert all(cell["outputs"] == [output] for cell in merged if source(cell) == "print('mine')")
    assert len({cell["id"] for cell in merged}) == len(merged)
    known = {source(cell): cell["id"] for cell in cells(world.new(NOTEBOOK))}
    assert all(known.get(source(cell), cell["id"]) == cell["id"] for cell in merged)
    assert "load it again before you save it" in said
    assert world.update().startswith("nothing new")


def test_a_question_changes_around_the_answer(world):
    notebook = json.loads(world.read(NOTEBOOK))
    stem = answered(notebook, "My\nanswer.").rpartition(" (")[0]
    world.write(NOTEBOOK, json.dumps(notebook))
    world.publish({SOURCE: (f"# {stem}\n", f"# {stem} Really\n")})
    world.update()
    found = [source(cell) for cell in cells(world.read(NOTEBOOK)) if "My\nanswer." in source(cell)]
    assert len(found) == 1 and " Really" in found[0]


@pytest.mark.slow
def test_a_cell_that_both_changed_stays(world):
    notebook = json.loads(world.read(NOTEBOOK))
    code = next(cell for cell in notebook["cells"] if "D = 64" in source(cell))
    code["source"] = source(code).replace("D = 64", "D = 128")
    world.write(NOTEBOOK, json.dumps(notebook))
    world.publish({SOURCE: ("D = 64", "D = 32")})
    said = world.update()
    assert "you and the course both changed the cell" in said
    assert "D = 128" in world.read(NOTEBOOK) and "D = 32" not in world.read(NOTEBOOK)
    assert world.read("notebooks/5_rope.new.ipynb") == world.new(NOTEBOOK)


@pytest.mark.parametrize("text", ["{", "[]", '{"nbformat": 3}', '{"nbformat": 4, "cells": [1]}'])
def test_what_is_no_notebook_is_said(text):
    base = notebook_from((ROOT / SOURCE).read_text(encoding="utf-8"), "5_rope").encode()
    with pytest.raises(Unreadable):
        merge_notebook(base, base.replace(b"D = 64", b"D = 32"), text.encode())


@pytest.mark.skipif(sys.platform != "linux", reason="classes are graded on Linux")
def test_the_name_beside_means_nothing_to_tests_and_graders(world):
    """Neither pytest nor the grader takes the new version for work."""
    from course.grading.submissions import read_submissions

    world.write("notebooks/5_rope.new.ipynb", "new\n")
    world.write("exercises/rope.new.txt", "new\n")
    for path in world.student.iterdir():
        if path.name not in ("exercises", "notebooks"):
            shutil.rmtree(path) if path.is_dir() and path.name != ".git" else None
    assert [one.notes for one in read_submissions(world.student)] == [()]
    (world.student / ROPE).unlink()
    assert [one.notes for one in read_submissions(world.student)] == [()]
    git(world.student, "checkout", "--quiet", ".")
    assert not world.is_clean(), "git shows it, as a reminder"


# --- the course's own code ------------------------------------------------------------------


@pytest.mark.slow
def test_half_replaced_code_completes_its_own_update(tmp_path):
    """Old and new code do not fit together, and a killed update leaves both: it still runs."""
    maker, student = tmp_path / "maker", tmp_path / "student"
    for path, file in files_below(ROOT):
        if path.startswith(("course/", "solutions/", "exercises/", "notebooks/", "pyproject")):
            (maker / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, maker / path)
    rebuild(maker)
    shutil.copytree(maker, student)
    changed = []
    for file in (maker / "course").rglob("*.py"):  # a function of the tools has a new name
        if "write_whole_bytes" in file.read_text(encoding="utf-8"):
            replace_in(file, "write_whole_bytes", "write_everything")
            changed.append(file.relative_to(maker))
    replace_in(maker / "solutions" / "rope.py", *DOCSTRING["solutions/rope.py"])
    rebuild(maker, "rope")
    replace_in(student / ROPE, STUB, BODY)
    expected = (maker / ROPE).read_text(encoding="utf-8").replace(STUB, BODY)
    shutil.copytree(student, tmp_path / "untouched")
    kill = (
        "import os, sys; from course.cli import main; n = 0; replace = os.replace\n"
        "def dying(*a):\n"
        "    global n; n += 1\n"
        "    os._exit(9) if n == int(sys.argv[1]) else replace(*a)\n"
        "os.replace = dying; main(['update', '--from', '../maker'])\n"
    )

    def run(*arguments: str) -> int:
        return subprocess.run([sys.executable, *arguments], cwd=student).returncode

    mixed = []
    for n in range(1, 100, 3):
        shutil.rmtree(student)
        shutil.copytree(tmp_path / "untouched", student)
        status = run("-c", kill, str(n))
        if status != 9:
            assert status == 0
            break
        code = [(student / path).read_text(encoding="utf-8") for path in changed]
        mixed.append(len({"write_everything" in text for text in code}) == 2)
        assert (student / ROPE).read_text(encoding="utf-8").count(BODY) == 1
        assert run("-m", "course", "update", "--from", "../maker") == 0
        assert (student / ROPE).read_text(encoding="utf-8") == expected
        for path in (*changed, Path("course/__init__.py")):
            assert (student / path).read_bytes() == (maker / path).read_bytes()
    assert sum(mixed) > 1 and n > 8, "the kills were spread over the whole update"
