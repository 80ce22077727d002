"""`course update` on real git histories: what the course changed comes, what is mine stays."""

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from killing import Kill, Killed

from course import ROOT
from course.building.notebooks import notebook_from
from course.cli import main
from course.student.update import bring_in, files_of, is_students
from course.syllabus import stub_from

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ROPE, NOTEBOOK = "exercises/rope.py", "notebooks/5_rope.ipynb"
SOLUTION, NOTEBOOK_SOURCE = "solutions/rope.py", "notebooks/source/5_rope.py"
STUB = '    # (..., D); 2 lines.\n    raise NotImplementedError("TODO rope.rotate_half")\n'
BODY = "    a, b = x.chunk(2, dim=-1)  # mine\n    return torch.cat([-b, a], dim=-1)\n"
DOCSTRING = {SOLUTION: ("Every pair turned by a quarter, from", "A quarter turn, from")}


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
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


def rebuild(folder: Path, pattern: str = "*") -> None:
    """Do what `course build` does, for files that no student has touched."""
    with course_in(folder):
        for source in folder.glob(f"solutions/{pattern}.py"):
            built = folder / "exercises" / source.name
            built.parent.mkdir(exist_ok=True)
            text = stub_from(source.read_text(encoding="utf-8"), source.stem)
            built.write_bytes(text.encode())
        for source in folder.glob(f"notebooks/source/{pattern}.py"):
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
    for path in ("solutions", "notebooks/source", "course/lessons"):
        left_out = shutil.ignore_patterns("__pycache__", "figures")
        shutil.copytree(ROOT / path, maker / path, ignore=left_out)
    for path in ("course/__init__.py", "course/syllabus.toml", ".gitignore", "pyproject.toml"):
        shutil.copy(ROOT / path, maker / path)
    (maker / "README.md").write_bytes(b"read me\n")
    (maker / "datasets.sh").write_bytes(b"#!/bin/sh\n")
    os.chmod(maker / "datasets.sh", 0o755)
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
            if path.startswith(("solutions/", "notebooks/source/")):
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
        replace_in(self.student / ROPE, STUB, body)

    def undo(self, said: str) -> None:
        """Say what an update said to say to have everything back."""
        with course_in(self.student):
            arguments = re.search(r"as they were: course (.*)", said)[1].split()
            assert CliRunner().invoke(main, arguments).exit_code == 0

    def files(self) -> dict[str, bytes]:
        return files_of(self.student)

    def status(self) -> list[str]:
        return git(self.student, "status", "--porcelain").splitlines()

    def archived(self) -> list[bytes]:
        """All files that were kept."""
        places = (self.student / ".course" / "backups").glob("[!.]*/**/*")
        return [file.read_bytes() for file in places if file.is_file()]


@pytest.fixture
def world(template, tmp_path, monkeypatch) -> World:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    shutil.copytree(template, tmp_path / "w")
    return World(tmp_path / "w")


# --- what comes -----------------------------------------------------------------------------


def test_what_was_not_edited_is_simply_new(world):
    others = {"course/lessons/5_rope.md": "x\n", "tests/a.py": "", "README.md": None}
    world.publish({**DOCSTRING, **others, "datasets.sh": "#!/bin/bash\n"})
    world.update()
    assert world.read() == world.new()
    assert world.status() == [], "nor is datasets.sh another kind of file"


@pytest.mark.parametrize("layout", [str, lambda text: text.replace("\n", "\r\n")])
def test_a_module_that_was_edited_stays_and_the_new_one_lies_beside(world, layout):
    new = world.publish({**DOCSTRING, "tests/test_rope.py": "# better tests\n"})
    world.work()
    world.write(ROPE, layout(world.read()))
    world.write("exercises/lookup.py", layout(world.read("exercises/lookup.py")))
    world.write("exercises/rope.new.txt", "notes in an older one\n")
    mine = world.read()
    said = world.update()
    assert f"exercises/rope.new.txt: the new version of {ROPE}; yours stays" in said
    assert world.read() == mine
    assert world.read("exercises/rope.new.txt") == world.new()
    assert world.read("tests/test_rope.py") == "# better tests\n"
    assert git(world.student, "rev-parse", "HEAD").strip() == new
    assert world.update() == "nothing new: you have what origin/main has\n"
    world.undo(said)
    assert world.read("exercises/rope.new.txt") == "notes in an older one\n"


def test_a_notebook_that_only_ran_becomes_the_new_one(world):
    notebook = json.loads(world.read(NOTEBOOK))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    code[1]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": "mine\n"}]
    code[1]["execution_count"] = 7
    mine = json.dumps(notebook)
    world.write(NOTEBOOK, mine)
    world.publish({NOTEBOOK_SOURCE: ("D = 64", "D = 32")})
    world.update()
    assert world.read(NOTEBOOK) == world.new(NOTEBOOK)
    assert mine.encode() in world.archived(), "its outputs are not lost either"


@pytest.mark.parametrize(("old", "new"), [("D = 64", "D = 128"), ('"cells"', '"no cells"')])
def test_an_edited_notebook_stays_and_the_new_one_lies_beside(world, old, new):
    replace_in(world.student / NOTEBOOK, old, new)
    mine = world.read(NOTEBOOK)
    world.publish({NOTEBOOK_SOURCE: ("D = 64", "D = 32")})
    assert f"the new version of {NOTEBOOK}; yours stays" in world.update()
    assert world.read(NOTEBOOK) == mine
    assert world.read("notebooks/5_rope.new.ipynb") == world.new(NOTEBOOK)


@pytest.mark.skipif(sys.platform != "linux", reason="classes are graded on Linux")
def test_the_name_beside_means_nothing_to_graders(world):
    from course.grading.submissions import read_submissions

    world.write("notebooks/5_rope.new.ipynb", "new\n")
    world.write("exercises/rope.new.txt", "new\n")
    for path in world.student.iterdir():
        if path.name not in ("exercises", "notebooks", ".git"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert [one.notes for one in read_submissions(world.student)] == [()]


# --- git ------------------------------------------------------------------------------------


def test_edits_of_the_courses_files(world):
    """Those that the course changed as well are kept in the archive, the others stay."""
    world.publish({**DOCSTRING, "tests/test_rope.py": "new\n", "mine.txt": "theirs\n"})
    for path in ("course/lessons/1_lookup.md", "tests/test_rope.py", "mine.txt"):
        world.write(path, f"my {path}\n")
    said = world.update()
    assert "tests/test_rope.py: new; what you had changed in it is in the archive" in said
    assert world.read("tests/test_rope.py") == "new\n"
    assert world.read("course/lessons/1_lookup.md") == "my course/lessons/1_lookup.md\n"
    assert {b"my tests/test_rope.py\n", b"my mine.txt\n"} <= {*world.archived()}
    assert world.status() == [" M course/lessons/1_lookup.md"]


def test_a_lesson_that_is_gone_stays_if_somebody_worked_on_it(world):
    world.work()
    mine = world.read()
    world.publish({ROPE: None, "exercises/lookup.py": None})
    said = world.update()
    assert f"{ROPE}: no longer part of the course; yours stays" in said
    assert "exercises/lookup.py: removed, for you had not edited it" in said
    assert world.read() == mine
    assert not (world.student / "exercises" / "lookup.py").exists()


def staged(world):
    world.write("README.md", "mine\n")
    git(world.student, "add", "README.md")


def part_of_another(world):
    shutil.rmtree(world.student / ".git")
    git(world.student.parent, "init", "--quiet")


def without_git(world):
    os.environ["PATH"] = ""


def said_to_git(*arguments):
    return lambda world: git(world.student, *arguments)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (said_to_git("checkout", "--quiet", "--detach"), "HEAD does not point to a branch"),
        (said_to_git("branch", "--unset-upstream"), "no upstream configured for branch 'main'"),
        (
            said_to_git("remote", "set-url", "origin", "http://127.0.0.1:9/x"),
            "unable to access 'http://127.0.0.1:9/x/'",
        ),
        (staged, "something is staged in git: `git reset` takes that back"),
        (lambda world: commit(world.student), "you have commits of your own"),
        (lambda world: shutil.rmtree(world.student / ".git"), "not a git repository"),
        (part_of_another, "git takes this folder for a part of another one"),
        (without_git, "git was not found"),
    ],
)
def test_where_git_has_no_news(world, monkeypatch, spoil, sentence):
    monkeypatch.setenv("PATH", os.environ["PATH"])
    world.publish(DOCSTRING)
    world.work()
    spoil(world)
    before = world.files()
    said = world.update(status=1)
    assert said.startswith("Error: ") and sentence in said and said.count("\n") == 1
    assert world.files() == before


def test_a_disk_that_cannot_be_written(world, monkeypatch):
    world.publish(DOCSTRING)
    world.work()
    mine, head = world.read(), git(world.student, "rev-parse", "HEAD")

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        said = world.update(status=1)
    assert said.startswith("Error: ") and said.endswith(": Permission denied\n")
    assert said.count("\n") == 1
    assert world.read() == mine and git(world.student, "rev-parse", "HEAD") == head
    world.update()
    assert world.read("exercises/rope.new.txt") == world.new()


# --- another folder -------------------------------------------------------------------------


@pytest.fixture
def unzipped(world) -> Path:
    """A course without git, some work in it, and a newer copy in a folder."""
    lookup = {"solutions/lookup.py": ("Lesson 1", "Lesson one")}
    world.publish({**DOCSTRING, **lookup, "tests/test_rope.py": "new\n"})
    shutil.rmtree(world.student / ".git")
    copy = world.student.parent / "what-and-where-main"
    shutil.copytree(world.maker, copy, ignore=shutil.ignore_patterns(".git"))
    world.work()
    return copy


def test_from_a_folder(world, unzipped):
    mine = world.read()
    world.write("course/old.py", "old\n")
    world.write("tests/test_mine.py", "mine\n")
    world.update("--from", str(unzipped))
    assert world.read() == mine
    assert world.read("exercises/rope.new.txt") == world.new()
    assert world.read("tests/test_rope.py") == "new\n"
    assert world.read("exercises/lookup.py") == world.new("exercises/lookup.py")
    assert world.read("tests/test_mine.py") == "mine\n"
    assert not (world.student / "course" / "old.py").exists(), "the new copy has it no more"
    assert world.update("--from", str(unzipped)).startswith("nothing new")
    assert b"old\n" in world.archived()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda copy: (copy / ROPE).write_bytes(b"somebody's\n"), "in that folder was edited"),
        (lambda copy: shutil.rmtree(copy / "course"), "is no copy of the course"),
        (shutil.rmtree, "is no copy of the course"),
    ],
)
def test_folders_that_will_not_do(world, unzipped, spoil, sentence):
    spoil(unzipped)
    before = world.files()
    assert sentence in world.update("--from", str(unzipped), status=1)
    assert "is this course itself" in world.update("--from", str(world.student), status=1)
    assert world.files() == before


# --- an update that is killed ---------------------------------------------------------------

MARK = re.compile(rb"mark_\d+")


@pytest.mark.slow
@pytest.mark.parametrize("way", ["git", "folder"])
def test_an_update_may_be_killed_at_any_moment(world, way):
    """A rerun gives what an update gives that is not killed."""
    dice = random.Random(way)
    notebook = {NOTEBOOK_SOURCE: ("D = 64", "D = 32"), "tests/new.py": "x", "README.md": None}
    world.publish({**DOCSTRING, **notebook})
    world.work("    return x  # mark_1\n")
    replace_in(world.student / NOTEBOOK, "D = 64", "D = mark_9")
    folder = None if way == "git" else world.maker
    mine = {path: data for path, data in world.files().items() if is_students(path)}
    untouched, whole = world.student.with_name("untouched"), Kill()
    shutil.copytree(world.student, untouched)
    with course_in(world.student), whole.armed():
        bring_in(world.student, folder)
    expected, status = world.files(), world.status()
    for n in dice.sample(whole.one_of_each_kind(dice), 4):
        shutil.rmtree(world.student)
        shutil.copytree(untouched, world.student)
        with course_in(world.student):
            for at in (n, dice.randint(1, n)):
                with contextlib.suppress(Killed), Kill(at).armed():
                    bring_in(world.student, folder)
                check_nothing_is_lost(world, mine)
            bring_in(world.student, folder)
        check_nothing_is_lost(world, mine)
        drafts = re.compile(r"(.*/)?\.[^/]*\.\d+")  # which a killed write leaves behind
        files = {path: data for path, data in world.files().items() if not drafts.fullmatch(path)}
        assert files == expected, (n, whole.changes[n - 1])
        assert [line for line in world.status() if not drafts.fullmatch(line[3:])] == status


def check_nothing_is_lost(world: World, mine: dict[str, bytes]) -> None:
    """All work is in its file, and what that was is there or in the archive, byte for byte."""
    now, archived = world.files(), world.archived()
    for path, data in mine.items():
        assert {*MARK.findall(data)} <= {*MARK.findall(now[path])}, path
        is_fresh = not MARK.search(data)
        assert is_fresh or data in (now[path], *archived), path
