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
from course.student.update.bring_in import bring_in
from course.student.update.folder import _files_below
from course.student.update.modules import merge_module
from course.student.update.notebooks import merge_notebook
from course.student.update.python_text import Unreadable
from course.syllabus import stub_from

pytestmark = pytest.mark.slow

STEMS = ("lookup", "permutation", "learned", "sinusoidal", "rope", "skipgram")
SOLUTIONS = {
    stem: (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8") for stem in STEMS
}
TO_DO = re.compile(r'^( +)raise NotImplementedError\("TODO \w+\.\w+"\)\n', re.M)


# --- what students do to a module -----------------------------------------------------------


class Student:
    """Edits that leave marks: every line with a mark is the student's, and must be found again."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.n = 0

    def mark(self) -> str:
        self.n += 1
        return f"mark_{self.n:03}_"

    def edit(self, text: str) -> str:
        edits = [self.write_a_body] * 4 + [
            self.add_a_comment,
            self.add_a_helper,
            self.add_a_constant,
            self.add_an_import,
            self.edit_a_docstring,
            self.edit_a_signature,
            self.add_a_method,
            self.remove_something,
            self.write_at_the_end,
            self.spread_out,
            self.turn_the_quotes,
            self.write_on_one_line,
        ]
        for _ in range(self.dice.randint(1, 8)):
            text = self.dice.choice(edits)(text)
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

    def write_a_body(self, text: str) -> str:
        places = list(TO_DO.finditer(text))
        if not places:
            return text
        place = self.dice.choice(places)
        indent = place[1]
        body = "".join(
            self.dice.choice(
                [
                    f"{indent}{self.mark()} = 1\n",
                    f"{indent}# {self.mark()} a note\n",
                    f"{indent}for {self.mark()} in range(3):\n{indent}    {self.mark()} = 2\n",
                    f"{indent}def {self.mark()}(x):\n{indent}    return x\n",
                    f"\n{indent}'''{self.mark()}\n  {self.mark()} text'''\n",
                ]
            )
            for _ in range(self.dice.randint(1, 4))
        )
        return text[: place.start()] + f"{body}{indent}return {self.mark()}\n" + text[place.end() :]

    def add_a_comment(self, text: str) -> str:
        return self._at_a_line(text, lambda indent: f"{indent}# {self.mark()}\n")

    def add_a_helper(self, text: str) -> str:
        helper = f"def {self.mark()}(x):\n    return rotate_half(x)  # {self.mark()}\n\n\n"
        return self._before_a_definition(text, helper)

    def add_a_constant(self, text: str) -> str:
        return self._before_a_definition(text, f"{self.mark()} = (1,\n    {self.mark()}2)\n\n\n")

    def add_an_import(self, text: str) -> str:
        return text.replace("import torch\n", f"import torch\nimport os as {self.mark()}\n", 1)

    def edit_a_docstring(self, text: str) -> str:
        places = [match.end() for match in re.finditer(r"Returns:\n", text)]
        return self._insert(text, places, lambda: f"        {self.mark()} in a docstring\n")

    def edit_a_signature(self, text: str) -> str:
        places = [match.start() for match in re.finditer(r"\) -> Tensor:\n", text)]
        return self._insert(text, places, lambda: f", {self.mark()}=1")

    def add_a_method(self, text: str) -> str:
        places = [match.start() for match in re.finditer(r"    def forward", text)]
        return self._insert(text, places, lambda: f"    def {self.mark()}(self):\n        pass\n\n")

    def remove_something(self, text: str) -> str:
        starts = [match.start() for match in re.finditer(r"^(?:def|class) ", text, re.M)]
        if len(starts) < 3:
            return text
        index = self.dice.randrange(len(starts) - 1)
        gone = text[starts[index] : starts[index + 1]]
        return text if "mark_" in gone else text.replace(gone, "")

    def write_at_the_end(self, text: str) -> str:
        return text + f"\nif __name__ == '__main__':\n    print('{self.mark()}')\n"

    def spread_out(self, text: str) -> str:
        return text.replace("\n\n\n", "\n\n\n\n\n") if '"""\n\n\n' not in text else text

    def turn_the_quotes(self, text: str) -> str:
        return text.replace('"""', "'''")

    def write_on_one_line(self, text: str) -> str:
        return self._before_a_definition(text, f"{self.mark()} = 1; {self.mark()}2 = 2\n\n\n")

    def _at_a_line(self, text: str, new) -> str:
        places = [
            match
            for match in re.finditer(r"^( +)(?:raise|return|if) |^()(?:def|class) ", text, re.M)
        ]
        if not places:
            return text
        place = self.dice.choice(places)
        return text[: place.start()] + new(place[1] or "") + text[place.start() :]

    def _before_a_definition(self, text: str, new: str) -> str:
        places = [match.start() for match in re.finditer(r"^(?:def|class) ", text, re.M)]
        return self._insert(text, places, lambda: new)

    def _insert(self, text: str, places: list[int], new) -> str:
        if not places:
            return text
        place = self.dice.choice(places)
        return text[:place] + new() + text[place:]


def marks_in(text: str | bytes) -> set[str]:
    data = text if isinstance(text, bytes) else text.encode()
    return {mark.decode() for mark in re.findall(rb"mark_\d{3}_\d?", data)}


def marked_lines(data: bytes) -> set[bytes]:
    return {b" ".join(line.split()) for line in data.splitlines() if b"mark_" in line}


# --- what the course does to its solutions --------------------------------------------------


def news(solution: str, dice: random.Random) -> str:
    """A solution after one to four changes upstream."""
    changes = [
        lambda text: _change(text, dice, r"    Returns:\n", "    Hands back:\n"),
        lambda text: _change(text, dice, r"Args:\n", "Args (all of them):\n"),
        lambda text: _change(text, dice, r"\) -> Tensor:\n", ", *, extra: int = 0) -> Tensor:\n"),
        lambda text: _change(
            text, dice, r"    ### BEGIN SOLUTION", "    assert True\n    ### BEGIN SOLUTION"
        ),
        lambda text: _change(text, dice, r"    if ", "    if True and "),
        lambda text: _change(text, dice, r"^# ", "# new: "),
        lambda text: text.replace("import torch\n", "import math\n\nimport torch\n", 1),
        lambda text: text.replace("import Tensor", "import Size, Tensor", 1),
        lambda text: text.replace('"""Lesson', '"""The lesson', 1),
        lambda text: _rename(text, dice),
        lambda text: _add(text, dice),
        lambda text: _drop(text, dice),
    ]
    for _ in range(dice.randint(1, 4)):
        text = dice.choice(changes)(solution)
        with contextlib.suppress(SyntaxError):
            compile(text, "news", "exec")
            solution = text
    return solution


def _change(text: str, dice: random.Random, pattern: str, new: str) -> str:
    places = list(re.finditer(pattern, text, re.M))
    if not places:
        return text
    place = dice.choice(places)
    return text[: place.start()] + new + text[place.end() :]


def _definitions(text: str) -> list[re.Match]:
    return list(re.finditer(r"^(?:def|class) (\w+).*?(?=^(?:def|class) |\Z)", text, re.M | re.S))


def _rename(text: str, dice: random.Random) -> str:
    name = dice.choice(_definitions(text))[1]
    return re.sub(rf"\b{name}\b", f"{name}_new", text)


def _add(text: str, dice: random.Random) -> str:
    place = dice.choice(_definitions(text)).start()
    body = "    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
    name = f"added_{dice.randrange(100)}"
    return f'{text[:place]}def {name}(x: int) -> int:\n    """Added."""\n{body}\n\n{text[place:]}'


def _drop(text: str, dice: random.Random) -> str:
    return text.replace(dice.choice(_definitions(text))[0], "")


# --- merging alone --------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(10))
def test_merging_modules_loses_nothing(part):
    """400 random edits meet random news: all the student's lines stay in the file itself."""
    merged_wholly = 0
    for seed in range(part * 40, part * 40 + 40):
        dice = random.Random(seed)
        stem = dice.choice(STEMS)
        base = stub_from(SOLUTIONS[stem], stem)
        theirs = stub_from(news(SOLUTIONS[stem], dice), stem)
        mine = Student(dice).edit(base)
        try:
            merged = merge_module(base.encode(), theirs.encode(), mine.encode())
        except Unreadable:
            continue  # it stays as it is
        text = merged.data.decode()
        compile(text.removeprefix("\ufeff"), f"seed {seed}", "exec", dont_inherit=True)
        assert marks_in(text) == marks_in(mine), seed
        assert text.count("mark_") == mine.count("mark_"), seed
        assert text.startswith("\ufeff") == mine.startswith("\ufeff")
        if "\r" not in mine:
            assert "\r" not in text
        elif not re.search(r"[^\r]\n", mine):
            assert not re.search(r"[^\r]\n", text), seed
        again = merge_module(base.encode(), theirs.encode(), merged.data)
        assert again.data == merged.data, f"seed {seed}: merging twice is merging once"
        same = merge_module(theirs.encode(), theirs.encode(), merged.data)
        assert same.data == merged.data and not same.conflicts, seed
        assert merge_module(base.encode(), base.encode(), mine.encode()).data == mine.encode(), seed
        merged_wholly += not merged.conflicts
    assert merged_wholly > 15


def new_notebook(dice: random.Random) -> dict:
    """A notebook of the course."""
    cells = []
    for number in range(dice.randint(2, 9)):
        kind = dice.choice(["code", "markdown"])
        words = " ".join(dice.choices(["token", "stands", "where", "what", "angle"], k=8))
        cells.append(
            _cell(kind, f"# {words} {number}\n{dice.choice(['x = 1', '*Your answer*'])}\nend")
        )
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


def edit_notebook(notebook: dict, student: Student) -> dict:
    dice, cells = student.dice, json.loads(json.dumps(notebook))["cells"]
    for _ in range(dice.randint(1, 5)):
        place = dice.randrange(len(cells))
        what = dice.choice(["answer", "rewrite", "append", "add", "run", "move", "drop"])
        cell = cells[place]
        if what == "answer":
            cell["source"] = cell["source"].replace(
                "*Your answer*", f"{student.mark()}\n{student.mark()}"
            )
        elif what == "rewrite" and "mark_" not in cell["source"]:
            cell["source"] = f"{student.mark()} all mine"
        elif what == "append":
            cell["source"] = [*cell["source"].splitlines(keepends=True), f"\n{student.mark()}"]
            cell["source"] = "".join(cell["source"])
        elif what == "add":
            cells.insert(place, {**_cell("code", student.mark()), "id": f"own{student.n}"})
        elif what == "run" and cell["cell_type"] == "code":
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": student.mark()}]
        elif what == "move":
            cells.insert(0, cells.pop(place))
        elif what == "drop" and "mark_" not in json.dumps(cell) and len(cells) > 1:
            cells.remove(cell)
    return {**notebook, "cells": cells}


def _cell(kind: str, source: str) -> dict:
    code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source, **code}


def _numbered(cells: list[dict]) -> dict:
    cells = [{**cell, "id": f"cell-{number:02}"} for number, cell in enumerate(cells)]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def _bytes(notebook: dict) -> bytes:
    return (json.dumps(notebook, indent=1, sort_keys=True) + "\n").encode()


def test_merging_notebooks_loses_nothing():
    for seed in range(500):
        dice = random.Random(seed)
        base = new_notebook(dice)
        theirs, mine = news_in_notebook(base, dice), edit_notebook(base, Student(dice))
        merged = merge_notebook(*map(_bytes, (base, theirs, mine)))
        result = json.loads(merged.data)
        assert _sources(merged.data) == _sources(_bytes(mine)), seed
        ids = [cell["id"] for cell in result["cells"]]
        assert len(ids) == len(set(ids)), seed
        again = merge_notebook(_bytes(base), _bytes(theirs), merged.data)
        assert json.loads(again.data) == result, f"seed {seed}: merging twice is merging once"
        after = merge_notebook(_bytes(theirs), _bytes(theirs), merged.data)
        assert json.loads(after.data) == result and not after.conflicts, seed


# --- whole updates, killed ------------------------------------------------------------------


class Killed(BaseException):
    """The process is gone."""


class Kill:
    """Every change to the disk, counted; the n-th kills."""

    def __init__(self, at: int | None) -> None:
        self.at, self.n = at, 0

    @contextlib.contextmanager
    def armed(self):
        changes = [
            (os, "replace"),
            (os, "rename"),
            (os, "unlink"),
            (os, "rmdir"),
            (os, "mkdir"),
            (os, "chmod"),
            (shutil, "copyfile"),
            (Path, "write_bytes"),
            (subprocess, "run"),
        ]
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
    texts = {f"solutions/{stem}.py": text for stem, text in solutions.items()}
    texts |= {f"exercises/{stem}.py": stub_from(text, stem) for stem, text in solutions.items()}
    texts |= {"solutions/5_rope.json": _bytes(notebook).decode()}
    texts |= {"notebooks/5_rope.ipynb": _bytes(notebook).decode()}
    texts |= {f"course/tool_{n}.py": f"version = {version}\n" for n in range(3)}
    texts |= {f"course/of_version_{version}.py": "x = 1\n", "tests/test_rope.py": f"# {version}\n"}
    first = ROOT.joinpath("course", "__init__.py").read_text(encoding="utf-8")
    texts |= {"course/__init__.py": f"{first}# {version}\n", ".gitignore": "/.course/\n.*.py.*\n"}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())
    students = [*folder.glob("exercises/*.py"), *folder.glob("notebooks/*.ipynb")]
    lines = [f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in students]
    (folder / "exercises" / ".stubs").write_bytes("".join(lines).encode())


class Story:
    """A course, its next version, and a student's work in between."""

    def __init__(self, seed: int, place: Path) -> None:
        self.dice = random.Random(seed)
        self.old, self.new, self.student = place / "old", place / "new", place / "student"
        solutions = {stem: SOLUTIONS[stem] for stem in ("lookup", "rope")}
        notebook = new_notebook(self.dice)
        write_course(self.old, solutions, notebook, 1)
        solutions = {stem: news(text, self.dice) for stem, text in solutions.items()}
        write_course(self.new, solutions, news_in_notebook(notebook, self.dice), 2)
        self.notebook = notebook

    def work(self) -> None:
        author = Student(self.dice)
        for stem in ("lookup", "rope"):
            path = self.student / "exercises" / f"{stem}.py"
            if self.dice.random() < 0.85:
                path.write_bytes(author.edit(path.read_bytes().decode()).encode())
        if self.dice.random() < 0.7:
            path = self.student / "notebooks" / "5_rope.ipynb"
            path.write_bytes(_bytes(edit_notebook(self.notebook, author)))
        self.before = self.files()

    def files(self) -> dict[str, bytes]:
        """The student's files."""
        paths = [*self.student.glob("exercises/*.py"), *self.student.glob("notebooks/*.ipynb")]
        return {
            path.relative_to(self.student).as_posix(): path.read_bytes()
            for path in paths
            if ".new." not in path.name
        }

    def check_nothing_is_lost(self) -> None:
        """Every line of theirs is in its file, and what the file was is kept, byte for byte."""
        now = self.files()
        backups = self.student / ".course" / "backups"
        for path, data in self.before.items():
            kept = [one.read_bytes() for one in backups.glob(f"[!.]*/{path}")]
            assert data in (now[path], *kept), path
            if path.endswith(".py"):
                assert marked_lines(data) <= _renamed_too(now[path]), path
            sources = [_sources(one) for one in (data, now[path])]
            assert sources[0] <= sources[1], path

    def check_complete(self, expected: dict[str, bytes]) -> None:
        assert self.files() == expected
        for path, file in _files_below(self.new):
            if not path.startswith(("exercises/", "notebooks/")):
                assert (self.student / path).read_bytes() == file.read_bytes(), path
        assert not (self.student / "course" / "of_version_1.py").exists()
        assert not (self.student / ".course" / "update" / "course").exists()
        drafts = [path for path in self.student.rglob(".*.py.*") if ".course" not in path.parts]
        assert not drafts


def _sources(data: bytes) -> set[str]:
    """The marks in a file; of a notebook, in what was written, for outputs may go."""
    try:
        cells = json.loads(data)["cells"]
    except ValueError:
        return marks_in(data)
    return {mark for cell in cells for mark in marks_in("".join(cell["source"]))}


def _renamed_too(data: bytes) -> set[bytes]:
    """The marked lines, also as they were before an exercise that they call got another name."""
    lines = marked_lines(data)
    return lines | {line.replace(b"rotate_half_new", b"rotate_half") for line in lines}


@pytest.mark.parametrize("part", range(10))
def test_an_update_from_a_folder_may_be_killed_at_any_moment(part, tmp_path):
    """200 updates, each killed at random changes, up to three times, then done again."""
    for seed in range(part * 20, part * 20 + 20):
        place = tmp_path / str(seed)
        story = Story(seed, place)
        shutil.copytree(story.old, story.student)
        story.work()
        twin = place / "twin"
        shutil.copytree(story.student, twin)
        whole = Kill(None)
        with course_in(twin), whole.armed():
            bring_in(twin, story.new)
        expected = {path: (twin / path).read_bytes() for path in story.before}
        with course_in(story.student):
            with Kill(story.dice.randint(1, whole.n)).armed(), pytest.raises(Killed):
                bring_in(story.student, story.new)
            story.check_nothing_is_lost()
            for _ in range(story.dice.randrange(3)):
                kill = Kill(story.dice.randint(1, whole.n))
                with kill.armed(), contextlib.suppress(Killed):
                    bring_in(story.student, story.new)
                story.check_nothing_is_lost()
            bring_in(story.student, story.new)
            story.check_nothing_is_lost()
            story.check_complete(expected)
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
@pytest.mark.parametrize("part", range(4))
def test_an_update_from_git_may_be_killed_at_any_moment(part, tmp_path, monkeypatch):
    """40 updates of clones with committed and other work, each killed, then done again."""
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
        else:
            story.before = story.files()
        if story.dice.random() < 0.5:
            (story.student / "notes.md").write_bytes(b"mine")
            git(story.student, "add", "--all")
            git(story.student, "commit", "--quiet", "-m", "mine")
            if story.dice.random() < 0.5:
                path = story.student / "exercises" / "rope.py"
                path.write_bytes(path.read_bytes() + b"\n# mark_900_\n")
                story.before = story.files()
        own = git(story.student, "rev-parse", "HEAD").strip()
        twin = place / "twin"
        shutil.copytree(story.student, twin)
        whole = Kill(None)
        with course_in(twin), whole.armed():
            bring_in(twin, None)
        expected = {
            path: (twin / path).read_bytes() for path in story.before if (twin / path).exists()
        }
        with course_in(story.student):
            with Kill(story.dice.randint(1, whole.n)).armed(), pytest.raises(Killed):
                bring_in(story.student, None)
            story.check_nothing_is_lost()
            bring_in(story.student, None)
            story.check_nothing_is_lost()
            story.check_complete(expected)
        head = git(story.student, "log", "--format=%H").split()
        new = git(story.new, "rev-parse", "HEAD").strip()
        assert own in head and new in head
        assert git(story.student, "status", "--porcelain") == git(twin, "status", "--porcelain")
        assert git(story.student, "rev-parse", "HEAD^{tree}") == git(
            twin, "rev-parse", "HEAD^{tree}"
        )
        shutil.rmtree(place)


@pytest.mark.parametrize("part", range(4))
def test_a_reset_may_be_killed_at_any_moment(part, tmp_path):
    """200 resets and restores, each killed at a random change, then done again."""
    for seed in range(2000 + part * 50, 2000 + part * 50 + 50):
        place = tmp_path / str(seed)
        story = Story(seed, place)
        shutil.copytree(story.old, story.student)
        story.work()
        paths = [story.student / path for path in ("exercises/rope.py", "notebooks/5_rope.ipynb")]
        with course_in(story.student):
            for back in (False, True):
                action = _put_back_first if back else partial(build.start_afresh, *paths)
                dry = Kill(None)
                if back and not archive.kept():
                    continue
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
                everything = _everything(story.student)
                for path, data in story.before.items():
                    assert any(data == one for one in everything), (seed, path)
                action()
                everything = _everything(story.student)
                for path, data in story.before.items():
                    assert any(data == one for one in everything), (seed, path)
                for path in paths:
                    fresh = (story.old / path.relative_to(story.student)).read_bytes()
                    mine = story.before[path.relative_to(story.student).as_posix()]
                    assert path.read_bytes() in (fresh, mine)
                    assert back or path.read_bytes() == fresh
        shutil.rmtree(place)


def _put_back_first() -> None:
    archive.put_back(min(archive.kept()))


def _everything(folder: Path) -> list[bytes]:
    """All files that a student can find; half a draft is nobody's."""
    return [
        path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".draft" not in str(path) and not path.name.startswith(".")
    ]
