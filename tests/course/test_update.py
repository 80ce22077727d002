"""`course update` on real git histories: what is new comes, what a student wrote stays."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from course.cli import main
from course.student import update

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ROPE, TEXT, TESTS = "exercises/rope.py", "course/lessons/5_rope.md", "tests/test_rope.py"
STUB = "".join(f"line {number}\n" for number in range(30))
MINE, NEWS = STUB.replace("line 3\n", "mine\n"), STUB.replace("line 20\n", "news\n")
CLASH = STUB.replace("line 3\n", "theirs\n")


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x.org"]
    done = subprocess.run([*command, *arguments], capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()


def commit(folder: Path, *paths: str) -> None:
    git(folder, "add", "--all", "--", *(paths or ["."]))
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "work")


class World:
    """An upstream that changes, and a student's clone of it."""

    def __init__(self, place: Path) -> None:
        self.place, self.maker, self.student = place, place / "maker", place / "Ünser Kurs"
        self.maker.mkdir()
        git(self.maker, "init", "--quiet", "--initial-branch=main")
        self.bare = place / "upstream.git"
        git(place, "init", "--quiet", "--bare", "--initial-branch=main", "upstream.git")
        git(self.maker, "remote", "add", "origin", str(self.bare))
        at_first = {ROPE: STUB, "exercises/lookup.py": STUB, "exercises/.stubs": "1\n"}
        others = {"notebooks/5_rope.ipynb": "{}\n", TEXT: STUB, TESTS: STUB, "pyproject.toml": ""}
        self.publish(at_first | others)
        self.clone()

    def clone(self, *options: str) -> None:
        shutil.rmtree(self.student, ignore_errors=True)
        git(self.place, "clone", "--quiet", *options, self.bare.as_uri(), str(self.student))

    def publish(self, files: dict[str, str | None]) -> None:
        for path, text in files.items():
            file = self.maker / path
            if text is None:
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text.encode())
        commit(self.maker)
        git(self.maker, "push", "--quiet", "origin", "main")

    def write(self, path: str, text: str) -> None:
        (self.student / path).write_bytes(text.encode())

    def read(self, path: str = ROPE) -> str:
        return (self.student / path).read_bytes().decode()

    def files(self) -> dict[str, bytes]:
        files = (path for path in self.student.rglob("*") if path.is_file())
        return {str(path): path.read_bytes() for path in files if ".git" not in path.parts}

    def status(self) -> list[str]:
        return git(self.student, "status", "--porcelain").splitlines()

    def update(self, status: int = 0) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("course.ROOT", self.student)
            result = CliRunner().invoke(main, ["update"])
        assert result.exit_code == status, (result.output, result.exception)
        assert not result.exception or isinstance(result.exception, SystemExit)
        assert not any(b"<<<<" in data or b">>>>" in data for data in self.files().values())
        return result.output


@pytest.fixture
def world(tmp_path, monkeypatch) -> World:
    """Git knows nothing about the student, not even a name."""
    (tmp_path / "config").write_text("[user]\nuseConfigOnly = true\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return World(tmp_path)


# --- what comes, and what stays -------------------------------------------------------------


def test_without_edits_everything_is_as_the_course_has_it(world):
    world.publish({ROPE: NEWS, TEXT: NEWS, TESTS: None, "tests/new.py": "x"})
    assert "4 files" in world.update()
    assert (world.read(), world.read(TEXT), world.read("tests/new.py")) == (NEWS, NEWS, "x")
    assert not (world.student / TESTS).exists() and world.status() == []
    head = git(world.student, "rev-parse", "HEAD")
    assert head == git(world.maker, "rev-parse", "HEAD"), "no commit of the student's"
    world.publish({TEXT: CLASH})
    assert "1 file " in world.update()


def test_where_nothing_is_new_nothing_is_committed(world):
    world.write(ROPE, MINE)
    assert "nothing new" in world.update()
    assert world.status() == ["M exercises/rope.py"]


@pytest.mark.parametrize("how", ["uncommitted", "staged", "committed"])
@pytest.mark.parametrize("news", [NEWS, CLASH])
def test_a_module_that_both_changed_stays_whole_and_is_named(world, how, news):
    world.publish({ROPE: news, TEXT: NEWS, "exercises/.stubs": "2\n"})
    world.write(ROPE, MINE)
    world.write("exercises/mine.py", "x")
    if how != "uncommitted":
        git(world.student, "add", ROPE)
    if how == "committed":
        commit(world.student, "exercises")
    said = world.update()
    assert world.read() == MINE and world.read("exercises/mine.py") == "x"
    assert world.read(TEXT) == NEWS and world.read("exercises/.stubs") == "2\n"
    command = f"show origin/main:{ROPE}"
    assert command in said and git(world.student, *command.split()) == news.strip()
    assert TEXT not in said and "pip" not in said
    assert world.status() == []
    assert "nothing new" in world.update()


def test_line_ends_of_windows(world):
    git(world.student, "config", "core.autocrlf", "true")
    mine = MINE.replace("\n", "\r\n")
    world.write(ROPE, mine)
    world.write("exercises/lookup.py", STUB.replace("\n", "\r\n"))  # which is no edit
    world.publish({ROPE: NEWS, "exercises/lookup.py": NEWS})
    assert "lookup" not in world.update()
    assert world.read() == mine
    assert world.read("exercises/lookup.py") == NEWS.replace("\n", "\r\n")


def test_a_lesson_that_is_gone_stays_where_somebody_worked_on_it(world):
    world.publish({ROPE: None, "exercises/lookup.py": None})
    world.write(ROPE, MINE)
    assert f"{ROPE}: kept your version" in world.update()
    assert world.read() == MINE
    assert not (world.student / "exercises" / "lookup.py").exists()


def test_a_module_that_a_student_removed_comes_back_when_it_is_new(world):
    world.publish({ROPE: NEWS})
    (world.student / ROPE).unlink()
    world.update()
    assert world.read() == NEWS


def test_a_new_lesson_under_the_name_of_a_file_of_mine(world):
    world.publish({"exercises/new.py": NEWS})
    world.write("exercises/new.py", MINE)
    assert "exercises/new.py: kept your version" in world.update()
    assert world.read("exercises/new.py") == MINE


@pytest.mark.parametrize("news", [NEWS, CLASH])
def test_committed_edits_elsewhere_are_merged_and_named(world, news):
    world.publish({TEXT: news, "pyproject.toml": "x"})
    world.write(TEXT, MINE)
    commit(world.student)
    said = world.update()
    assert "mine\n" in world.read(TEXT) and ("news\n" in world.read(TEXT)) == (news == NEWS)
    assert f"show origin/main:{TEXT}" in said and "pip install" in said


def test_a_shallow_clone(world):
    world.publish({TEXT: NEWS})
    world.clone("--depth=1")
    world.publish({ROPE: NEWS, TESTS: NEWS})
    world.write(ROPE, MINE)
    world.update()
    assert (world.read(), world.read(TESTS)) == (MINE, NEWS)


def test_in_a_fork_the_news_come_from_the_course(world):
    git(world.place, "clone", "--quiet", "--bare", str(world.bare), "fork.git")
    git(world.student, "remote", "rename", "origin", "upstream")
    git(world.student, "remote", "add", "origin", str(world.place / "fork.git"))
    world.publish({TEXT: NEWS})
    world.write(ROPE, MINE)
    world.update()
    assert (world.read(), world.read(TEXT)) == (MINE, NEWS)


def test_edits_elsewhere_that_are_not_committed_stay_where_the_course_changed_nothing(world):
    world.publish({ROPE: NEWS})
    world.write(ROPE, MINE)
    world.write(TEXT, MINE)
    world.update()
    assert (world.read(), world.read(TEXT)) == (MINE, MINE)


# --- what cannot be done --------------------------------------------------------------------


def merging(world):
    world.write(TEXT, MINE)
    commit(world.student)
    git(world.student, "fetch", "--quiet")
    git(world.student, "merge", "--quiet", "--no-commit", "-X", "ours", "origin/main")


def in_another_clone(world):
    shutil.rmtree(world.student / ".git")
    git(world.place, "init", "--quiet")


def unrelated(world):
    shutil.rmtree(world.student / ".git")
    git(world.student, "init", "--quiet", "--initial-branch=main")
    commit(world.student)
    git(world.student, "remote", "add", "upstream", world.bare.as_uri())


def edited(path, then=lambda world: None):
    def spoil(world):
        world.write(path, MINE)
        then(world)

    return spoil


def git_says(*arguments):
    return lambda world: git(world.student, *arguments)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (git_says("checkout", "--quiet", "--detach"), "git switch main"),
        (git_says("branch", "--unset-upstream"), "upstream"),
        (git_says("remote", "set-url", "origin", "http://127.0.0.1:9/x"), "127.0.0.1:9"),
        (merging, "git merge --abort"),
        (unrelated, "no history in common"),
        (lambda world: shutil.rmtree(world.student / ".git"), "git repository"),
        (in_another_clone, "another git repository"),
        (lambda world: os.environ.update(PATH=""), "git was not found"),
        (edited(TEXT), TEXT),
        (edited(TESTS, git_says("add", TESTS)), TESTS),
        (edited("mine.txt"), "mine.txt"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_all_files(world, monkeypatch, spoil, word):
    monkeypatch.setenv("PATH", os.environ["PATH"])
    world.publish({ROPE: NEWS, TEXT: NEWS, "mine.txt": "theirs\n"})
    world.write(ROPE, MINE)
    spoil(world)
    before = world.files()
    said = world.update(status=1)
    assert said.startswith("Error: ") and word in said and said.count("\n") == 1
    assert world.files() == before


@pytest.mark.parametrize("error", [update.UpdateError("no"), KeyboardInterrupt()])
def test_half_a_merge_is_taken_back(world, monkeypatch, error):
    world.publish({ROPE: NEWS, TEXT: NEWS})
    world.write(ROPE, MINE)
    ask = update.run_git

    def fail_at_checkout(root, *arguments, **options):
        if "checkout" in arguments:
            raise error
        return ask(root, *arguments, **options)

    before = world.files()
    with monkeypatch.context() as patch:
        patch.setattr(update, "run_git", fail_at_checkout)
        world.update(status=1)
    assert world.files() == before
    assert not (world.student / ".git" / "MERGE_HEAD").exists() and world.status() == []
    world.update()
    assert (world.read(), world.read(TEXT)) == (MINE, NEWS)
