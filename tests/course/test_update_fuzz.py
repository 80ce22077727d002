"""No line of a student's is ever lost: random edits, random news, and a kill at any moment.

Each run has a seed, so a failure can be had again. A kill is simulated by an exception that nothing
catches, raised instead of the n-th change to the disk; from then on every other change fails as
well, as it does when a process is gone.
"""

import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from course import ROOT
from course.building import archive, build
from course.student.update.merging import Unreadable
from course.student.update.modules import merge_module
from course.student.update.notebooks import merge_notebook
from course.student.update.update import bring_in
from course.student.update.versions import files_below
from course.syllabus import stub_from

pytestmark = pytest.mark.slow

STEMS = ("lookup", "permutation", "learned", "sinusoidal", "rope", "skipgram")
SOLUTIONS = {
    stem: (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8") for stem in STEMS
}
TO_DO = re.compile(r'^( +)raise NotImplementedError\("TODO \w+\.\w+"\)\n', re.M)
DEFINITION = r"^(?=(?:def|class) )"
INSERTS = [  # what a student writes, and before which places
    (r"^(?=( +)(?:raise|return|if) |()(?:def|class) )", "{i}# {m}\n"),
    (DEFINITION, "def {m}(x):\n    return rotate_half(x)  # {m}\n\n\n"),
    (DEFINITION, "{m} = (1,\n    {m}2)\n\n\n"),
    (DEFINITION, "{m} = 1; {m}2 = 2\n\n\n"),
    (r"(?<=^import torch\n)", "import os as {m}\n"),
    (r"(?<=Returns:\n)", "        {m} in a docstring\n"),
    (r"(?=\) -> Tensor:\n)", ", {m}=1"),
    (r"(?=    def forward)", "    def {m}(self):\n        pass\n\n"),
    (r"\Z", "\nif __name__ == '__main__':\n    print('{m}')\n"),
]
STATEMENTS = [
    "{i}{m} = 1\n",
    "{i}# {m} a note\n",
    "{i}for {m} in range(3):\n{i}    {m} = 2\n",
    "{i}def {m}(x):\n{i}    return x\n",
    "\n{i}'''{m}\n  {m} text'''\n",
]


# --- what students do -----------------------------------------------------------------------


class Student:
    """Edits that leave marks: every line with a mark is the student's, and must be found again."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.n = 0

    def mark(self) -> str:
        self.n += 1
        return f"mark_{self.n:03}_"

    def marked(self, template: str, indent: str = "") -> str:
        text = re.sub(r"\{m\}", lambda _: self.mark(), template)
        return text.replace("{i}", indent)

    def edit(self, text: str) -> str:
        edits = [self.write_a_body] * 4 + [self.remove_something, self.spread_out]
        edits += [lambda text: text.replace('"""', "'''")]
        edits += [partial(self.insert, *insert) for insert in INSERTS]
        for _ in range(self.dice.randint(1, 8)):
            text = self.dice.choice(edits)(text=text)
        for turn, odds in (
            (lambda text: text.replace("\n", "\r\n"), 0.2),
            (lambda text: "\ufeff" + text, 0.1),
            (lambda text: text.rstrip("\r\n"), 0.1),
            (lambda text: text.replace("    ", "\t"), 0.1),
            (lambda text: text.replace("\n", "\r\n", 5), 0.05),
            (lambda text: f"{text}\n{self.mark()} (((", 0.07),
        ):
            if self.dice.random() < odds:
                text = turn(text)
        return text

    def insert(self, pattern: str, template: str, text: str) -> str:
        places = list(re.finditer(pattern, text, re.M))
        if not places:
            return text
        place = self.dice.choice(places)
        indent = next(filter(None, place.groups()), "")
        return text[: place.start()] + self.marked(template, indent) + text[place.start() :]

    def write_a_body(self, text: str) -> str:
        places = list(TO_DO.finditer(text))
        if not places:
            return text
        place = self.dice.choice(places)
        lines = [self.dice.choice(STATEMENTS) for _ in range(self.dice.randint(1, 4))]
        body = self.marked("".join([*lines, "{i}return {m}\n"]), place[1])
        return text[: place.start()] + body + text[place.end() :]

    def remove_something(self, text: str) -> str:
        starts = [match.start() for match in re.finditer(DEFINITION, text, re.M)]
        if len(starts) < 3:
            return text
        index = self.dice.randrange(len(starts) - 1)
        gone = text[starts[index] : starts[index + 1]]
        return text if "mark_" in gone else text.replace(gone, "")

    def spread_out(self, text: str) -> str:
        return text.replace("\n\n\n", "\n\n\n\n\n") if '"""\n\n\n' not in text else text

    def edit_notebook(self, notebook: dict) -> dict:
        dice, cells = self.dice, json.loads(json.dumps(notebook))["cells"]
        for _ in range(dice.randint(1, 5)):
            place = dice.randrange(len(cells))
            what = dice.choice(["answer", "rewrite", "append", "add", "run", "move", "drop"])
            cell = cells[place]
            if what == "answer":
                answer = f"{self.mark()}\n{self.mark()}"
                cell["source"] = cell["source"].replace("*Your answer*", answer)
            elif what == "rewrite" and "mark_" not in cell["source"]:
                cell["source"] = f"{self.mark()} all mine"
            elif what == "append":
                cell["source"] += f"\n{self.mark()}"
            elif what == "add":
                cells.insert(place, {**_cell("code", self.mark()), "id": f"own{self.n}"})
            elif what == "run" and cell["cell_type"] == "code":
                cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": self.mark()}]
            elif what == "move":
                cells.insert(0, cells.pop(place))
            elif what == "drop" and "mark_" not in json.dumps(cell) and len(cells) > 1:
                cells.remove(cell)
        return {**notebook, "cells": cells}


def marks_in(data: bytes) -> set[bytes]:
    """The marks in a file; of a notebook, in what was written, for outputs may go."""
    with contextlib.suppress(ValueError):
        data = "".join("".join(cell["source"]) for cell in json.loads(data)["cells"]).encode()
    return set(re.findall(rb"mark_\d{3}_\d?", data))


def marked_lines(data: bytes) -> set[bytes]:
    return {b" ".join(line.split()) for line in data.splitlines() if b"mark_" in line}


# --- what the course does -------------------------------------------------------------------


def news(solution: str, dice: random.Random) -> str:
    """A solution after one to four changes upstream."""
    name = dice.choice(re.findall(r"^(?:def|class) (\w+)", solution, re.M))
    added = f'def added_{dice.randrange(100)}(x: int) -> int:\n    """Added."""\n'
    added += "    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n\n\n"
    changes = [
        (r"    Returns:\n", "    Hands back:\n"),
        (r"Args:\n", "Args (all of them):\n"),
        (r"\) -> Tensor:\n", ", *, extra: int = 0) -> Tensor:\n"),
        (r"    ### BEGIN SOLUTION", "    assert True\n    ### BEGIN SOLUTION"),
        (r"    if ", "    if True and "),
        (r"^# ", "# new: "),
        (r"^import torch\n", "import math\n\nimport torch\n"),
        (r"import Tensor", "import Size, Tensor"),
        (r'\A"""Lesson', '"""The lesson'),
        (rf"\b{name}\b", f"{name}_new"),
        (DEFINITION, added),
        (r"^(?:def|class) (?s:.*?)(?=^(?:def|class) |\Z)", ""),
    ]
    for _ in range(dice.randint(1, 4)):
        pattern, new = dice.choice(changes)
        places = list(re.finditer(pattern, solution, re.M))
        if not places:
            continue
        place = dice.choice(places)
        text = solution[: place.start()] + new + solution[place.end() :]
        if new == f"{name}_new":  # everywhere
            text = re.sub(pattern, new, solution)
        with contextlib.suppress(SyntaxError):
            compile(text, "news", "exec")
            solution = text
    return solution


def new_notebook(dice: random.Random) -> dict:
    cells = []
    for number in range(dice.randint(2, 9)):
        kind = dice.choice(["code", "markdown"])
        words = " ".join(dice.choices(["token", "stands", "where", "what", "angle"], k=8))
        middle = dice.choice(["x = 1", "*Your answer*"])
        cells.append(_cell(kind, f"# {words} {number}\n{middle}\nend"))
    return _numbered(cells)


def news_in_notebook(notebook: dict, dice: random.Random) -> dict:
    cells = json.loads(json.dumps(notebook))["cells"]
    for _ in range(dice.randint(1, 3)):
        place = dice.randrange(len(cells) + 1)
        what = dice.choice(["add", "change", "drop"])
        if what == "add":
            cells.insert(place, _cell(dice.choice(["code", "markdown"]), f"new {dice.random()}"))
        elif place < len(cells) and what == "change":
            cells[place]["source"] = cells[place]["source"].replace("#", "# Now", 1)
        elif place < len(cells) and len(cells) > 1:
            del cells[place]
    return _numbered(cells)


def _cell(kind: str, source: str) -> dict:
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code}


def _numbered(cells: list[dict]) -> dict:
    cells = [{**cell, "id": f"cell-{number:02}"} for number, cell in enumerate(cells)]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _bytes(notebook: dict) -> bytes:
    return (json.dumps(notebook, indent=1, sort_keys=True) + "\n").encode()


# --- merging alone --------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(5))
def test_merging_modules_loses_nothing(part):
    """200 random edits meet random news: all the student's lines stay in the file itself."""
    merged_wholly = 0
    for seed in range(part * 40, part * 40 + 40):
        dice = random.Random(seed)
        stem = dice.choice(STEMS)
        base = stub_from(SOLUTIONS[stem], stem)
        theirs = stub_from(news(SOLUTIONS[stem], dice), stem).encode()
        mine = Student(dice).edit(base).encode()
        base = base.encode()
        try:
            merged = merge_module(base, theirs, mine)
        except Unreadable as error:
            assert "not valid Python" in str(error), seed
            continue  # it stays as it is
        data = merged.data
        compile(data, f"seed {seed}", "exec", dont_inherit=True)
        assert marked_lines(mine) <= marked_lines(data), seed
        assert marks_in(data) == marks_in(mine), seed
        assert data.count(b"mark_") == mine.count(b"mark_"), seed
        assert data.startswith(b"\xef\xbb\xbf") == mine.startswith(b"\xef\xbb\xbf")
        if b"\r" not in mine:
            assert b"\r" not in data
        elif not re.search(rb"[^\r]\n", mine):
            assert not re.search(rb"[^\r]\n", data), seed
        again = merge_module(base, theirs, data)
        assert again.data == data, f"seed {seed}: merging twice is merging once"
        same = merge_module(theirs, theirs, data)
        assert same.data == data and not same.conflicts, seed
        assert merge_module(base, base, mine).data == mine, seed
        merged_wholly += not merged.conflicts
    assert merged_wholly > 25


def test_merging_notebooks_loses_nothing():
    for seed in range(500):
        dice = random.Random(seed)
        base = new_notebook(dice)
        versions = news_in_notebook(base, dice), Student(dice).edit_notebook(base)
        base, theirs, mine = map(_bytes, (base, *versions))
        data = merge_notebook(base, theirs, mine).data
        assert marks_in(data) == marks_in(mine), seed
        ids = [cell["id"] for cell in json.loads(data)["cells"]]
        assert len(ids) == len(set(ids)), seed
        assert merge_notebook(base, theirs, data).data == data, f"seed {seed}: twice is once"
        after = merge_notebook(theirs, theirs, data)
        assert after.data == data and not after.conflicts, seed


# --- whole updates, killed ------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


class Kill:
    """Every change to the disk, counted; the n-th kills."""

    def __init__(self, at: int | None) -> None:
        self.at, self.n = at, 0

    @contextlib.contextmanager
    def armed(self):
        names = ("replace", "rename", "unlink", "rmdir", "mkdir", "chmod")
        changes = [(os, name) for name in names]
        changes += [(shutil, "copyfile"), (Path, "write_bytes"), (subprocess, "run")]
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in changes:
                patch.setattr(owner, name, self.counted(getattr(owner, name), name))
            yield

    def counted(self, change, name):
        def counted_change(*arguments, **options):
            self.n += 1
            if self.at is None or self.n < self.at:
                return change(*arguments, **options)
            if self.n == self.at and name == "write_bytes":  # killed in the middle of a file
                change(arguments[0], arguments[1][: len(arguments[1]) // 2])
            if self.n == self.at and name == "run" and self.at % 2:  # git was through already
                change(*arguments, **options)
            raise Killed

        return counted_change


@contextlib.contextmanager
def course_in(folder: Path):
    """Take a folder for the course's repository: two modules and a notebook."""

    def products():
        for stem in ("lookup", "rope"):
            text = (folder / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
            path = folder / "exercises" / f"{stem}.py"
            yield build.Product(path, stub_from(text, stem), "", True)
        text = (folder / "solutions" / "5_rope.json").read_text(encoding="utf-8")
        yield build.Product(folder / "notebooks" / "5_rope.ipynb", text, "", True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "modules_and_notebooks", products)
        patch.setattr("course.ROOT", folder)
        yield


def write_course(folder: Path, solutions: dict[str, str], notebook: dict, version: int) -> None:
    """A course as it is published."""
    first = ROOT.joinpath("course", "__init__.py").read_text(encoding="utf-8")
    texts = {
        **{f"solutions/{stem}.py": text for stem, text in solutions.items()},
        **{f"exercises/{stem}.py": stub_from(text, stem) for stem, text in solutions.items()},
        "solutions/5_rope.json": _bytes(notebook).decode(),
        "notebooks/5_rope.ipynb": _bytes(notebook).decode(),
        **{f"course/tool_{n}.py": f"version = {version}\n" for n in range(3)},
        f"course/of_version_{version}.py": "x = 1\n",
        "tests/test_rope.py": f"# {version}\n",
        "course/__init__.py": f"{first}# {version}\n",
        ".gitignore": "/.course/\n.*.py.*\n",
    }
    texts["exercises/.stubs"] = "".join(
        f"{hashlib.sha256(text.encode()).hexdigest()}  {Path(path).name}\n"
        for path, text in texts.items()
        if path.startswith(("exercises/", "notebooks/"))
    )
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


class Story:
    """A course, its next version, and a student's work in between."""

    def __init__(self, seed: int, place: Path) -> None:
        self.dice = random.Random(seed)
        self.old, self.new, self.student = place / "old", place / "new", place / "student"
        self.twin = place / "twin"
        solutions = {stem: SOLUTIONS[stem] for stem in ("lookup", "rope")}
        self.notebook = new_notebook(self.dice)
        write_course(self.old, solutions, self.notebook, 1)
        solutions = {stem: news(text, self.dice) for stem, text in solutions.items()}
        write_course(self.new, solutions, news_in_notebook(self.notebook, self.dice), 2)

    def work(self) -> None:
        author = Student(self.dice)
        for stem in ("lookup", "rope"):
            path = self.student / "exercises" / f"{stem}.py"
            if self.dice.random() < 0.85:
                path.write_bytes(author.edit(path.read_bytes().decode()).encode())
        if self.dice.random() < 0.7:
            path = self.student / "notebooks" / "5_rope.ipynb"
            path.write_bytes(_bytes(author.edit_notebook(self.notebook)))
        self.before = self.files()

    def files(self) -> dict[str, bytes]:
        """The student's files."""
        paths = [*self.student.glob("exercises/*.py"), *self.student.glob("notebooks/*.ipynb")]
        return {
            path.relative_to(self.student).as_posix(): path.read_bytes()
            for path in paths
            if ".new." not in path.name
        }

    def update_and_kill(self, folder: Path | None, more_kills: int) -> None:
        """Update a twin at one go and this after kills, and see that it makes no difference."""
        shutil.copytree(self.student, self.twin)
        whole = Kill(None)
        with course_in(self.twin), whole.armed():
            bring_in(self.twin, folder)
        expected = {path: (self.twin / path).read_bytes() for path in self.before}
        with course_in(self.student):
            with Kill(self.dice.randint(1, whole.n)).armed(), pytest.raises(Killed):
                bring_in(self.student, folder)
            self.check_nothing_is_lost()
            for _ in range(more_kills):
                kill = Kill(self.dice.randint(1, whole.n))
                with kill.armed(), contextlib.suppress(Killed):
                    bring_in(self.student, folder)
                self.check_nothing_is_lost()
            bring_in(self.student, folder)
        self.check_nothing_is_lost()
        assert self.files() == expected
        for path, file in files_below(self.new):
            if not path.startswith(("exercises/", "notebooks/")):
                assert (self.student / path).read_bytes() == file.read_bytes(), path
        assert not (self.student / "course" / "of_version_1.py").exists()
        assert not (self.student / ".course" / "update" / "course").exists()
        drafts = [path for path in self.student.rglob(".*.py.*") if ".course" not in path.parts]
        assert not drafts

    def check_nothing_is_lost(self) -> None:
        """Every line of theirs is in its file, and what the file was is kept, byte for byte."""
        now = self.files()
        backups = self.student / ".course" / "backups"
        for path, data in self.before.items():
            kept = [one.read_bytes() for one in backups.glob(f"[!.]*/{path}")]
            assert data in (now[path], *kept), path
            assert marks_in(data) <= marks_in(now[path]), path
            if path.endswith(".py"):
                assert marked_lines(data) <= marked_lines(now[path]), path


@pytest.mark.parametrize("part", range(4))
def test_an_update_from_a_folder_may_be_killed_at_any_moment(part, tmp_path):
    """80 updates, each killed at random changes, up to three times, then done again."""
    for seed in range(part * 20, part * 20 + 20):
        place = tmp_path / str(seed)
        story = Story(seed, place)
        shutil.copytree(story.old, story.student)
        story.work()
        story.update_and_kill(story.new, story.dice.randrange(3))
        with course_in(story.student):
            again = bring_in(story.student, story.new)
            still = [line for line in again if "so yours stays as it is" in line]
            assert again[0].startswith("nothing new") or still, again
            kept = {name: files for name, files in archive.kept().items() if files}
            if kept:
                first = min(kept)
                archive.put_back(first)
                now = story.files()
                for path in kept[first]:
                    inside = path.relative_to(story.student).as_posix()
                    assert now.get(inside) == story.before.get(inside)
        shutil.rmtree(place)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("part", range(2))
def test_an_update_from_git_may_be_killed_at_any_moment(part, tmp_path, monkeypatch):
    """20 updates of clones with committed and other work, each killed, then done again."""
    for name, value in {"CONFIG_GLOBAL": os.devnull, "CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(f"GIT_{name}", value)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "x")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "x@x.org")

    def git(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, check=True
        )
        return done.stdout.decode()

    for seed in range(1000 + part * 10, 1000 + part * 10 + 10):
        place = tmp_path / str(seed)
        story = Story(seed, place)
        git(place, "init", "--quiet", "--initial-branch=main", "old")
        git(story.old, "add", "--all")
        git(story.old, "commit", "--quiet", "-m", "1")
        git(place, "clone", "--quiet", "old", "student")
        shutil.move(story.old / ".git", story.new / ".git")
        git(story.new, "add", "--all")
        git(story.new, "commit", "--quiet", "-m", "2")
        git(story.student, "remote", "set-url", "origin", str(story.new))
        if story.dice.random() < 0.5:
            story.work()
        if story.dice.random() < 0.5:
            (story.student / "notes.md").write_bytes(b"mine")
            git(story.student, "add", "--all")
            git(story.student, "commit", "--quiet", "-m", "mine")
            if story.dice.random() < 0.5:
                path = story.student / "exercises" / "rope.py"
                path.write_bytes(path.read_bytes() + b"\n# mark_900_\n")
        story.before = story.files()
        own = git(story.student, "rev-parse", "HEAD").strip()
        story.update_and_kill(None, 0)
        head = git(story.student, "log", "--format=%H").split()
        assert own in head and git(story.new, "rev-parse", "HEAD").strip() in head
        for question in (("status", "--porcelain"), ("rev-parse", "HEAD^{tree}")):
            assert git(story.student, *question) == git(story.twin, *question)
        shutil.rmtree(place)


@pytest.mark.parametrize("part", range(2))
def test_a_reset_may_be_killed_at_any_moment(part, tmp_path):
    """100 resets and restores, each killed at a random change, then done again."""
    for seed in range(2000 + part * 50, 2000 + part * 50 + 50):
        place = tmp_path / str(seed)
        story = Story(seed, place)
        shutil.copytree(story.old, story.student)
        story.work()
        paths = [story.student / path for path in ("exercises/rope.py", "notebooks/5_rope.ipynb")]
        with course_in(story.student):
            for back in (False, True):
                if back and not archive.kept():
                    continue
                name = min(archive.kept(), default="")
                action = partial(archive.put_back, name)
                action = action if back else partial(build.start_afresh, *paths)
                dry = Kill(None)
                aside = place / "aside"
                shutil.copytree(story.student, aside)
                with dry.armed():
                    action()
                shutil.rmtree(story.student)
                shutil.move(aside, story.student)
                if dry.n:
                    kill = Kill(story.dice.randint(1, dry.n))
                    with kill.armed(), pytest.raises(Killed):
                        action()
                check_all_is_there(story)
                action()
                check_all_is_there(story)
                for path in paths:
                    fresh = (story.old / path.relative_to(story.student)).read_bytes()
                    mine = story.before[path.relative_to(story.student).as_posix()]
                    assert path.read_bytes() in (fresh, mine)
                    assert back or path.read_bytes() == fresh
        shutil.rmtree(place)


def check_all_is_there(story: Story) -> None:
    """Every file of theirs can be found, byte for byte; half a draft is nobody's."""
    everything = [
        path.read_bytes()
        for path in story.student.rglob("*")
        if path.is_file() and ".draft" not in str(path) and not path.name.startswith(".")
    ]
    assert all(data in everything for data in story.before.values())
