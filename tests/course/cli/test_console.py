"""The commands in messages can be typed as they are."""

import ast
import codecs
import io
import os
import sys
import sysconfig
from pathlib import Path

import pytest

from course import root
from course.core import console
from course.core.console import PREFIX, replace_unprintable, typed
from course.core.stubs import solution_of
from course.core.syllabus import lessons
from course.testing.messages.wording import STATUS_WORDS

PROGRAM = "course.exe" if sys.platform == "win32" else "course"


@pytest.fixture
def environment(tmp_path, monkeypatch) -> Path:
    """A repository in the current folder with an environment that is not activated."""
    folder = tmp_path / "repository" / ".venv" / "bin"
    install(folder)
    monkeypatch.delenv(PREFIX)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(console, "root", lambda: tmp_path / "repository")
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(folder))
    monkeypatch.chdir(tmp_path / "repository")
    return folder


def install(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / PROGRAM).touch(mode=0o755)


def test_a_program_that_path_does_not_find_has_its_own_path(environment, monkeypatch, tmp_path):
    assert typed("course hint rope") == os.path.join(".venv", "bin", "course hint rope")
    assert typed("python -m this") == os.path.join(".venv", "bin", "python -m this")
    Path("exercises").mkdir()
    monkeypatch.chdir("exercises")
    assert typed("course") == os.path.join("..", ".venv", "bin", "course")
    monkeypatch.setenv("PATH", str(environment))
    assert typed("course") == "course"
    install(tmp_path / "other")  # the program of another environment will not do
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert typed("course") == os.path.join("..", ".venv", "bin", "course")
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert typed("course hint") == f"{environment / 'course'} hint"
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(elsewhere / "bin"))
    install(elsewhere / "bin")  # a path with a blank is in quotes
    assert typed("course hint") == f'"{elsewhere / "bin" / "course"}" hint'


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "sqrt C, 0.02^2, 2 * -1, h hint ?"),
        ("cp1252", "sqrt C, 0.02², 2 · -1, h\xa0hint é"),
        ("utf-8", "√C, 0.02², 2 · −1, h\xa0hint é"),
    ],
)
def test_what_a_console_cannot_show_is_written_in_other_letters(monkeypatch, encoding, shown):
    console_bytes = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(console_bytes, encoding=encoding))
    replace_unprintable()
    print("√C, 0.02², 2 · −1, h\xa0hint é", end="", flush=True)
    assert console_bytes.getvalue().decode(encoding) == shown


def test_no_letter_that_a_student_reads_becomes_a_question_mark():
    """In a console that knows 256 letters; the marks of a status are for pages only."""
    read = ["lessons/**/*.md", "lessons/**/*.t*", "testing/*.py", "messages/*.py"]
    read += ["mistakes/*.py", "lessons/*/styles.py", "cli/**/*.py", "student/**/*.py"]
    files = [path for pattern in read for path in (root() / "course").glob(pattern)]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    for lesson in lessons():
        tree = ast.parse(lesson.tests.read_text(encoding="utf-8"))
        tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        texts[lesson.tests.name] = "".join(ast.get_docstring(node) or "" for node in tests)
        texts[lesson.stem] = solution_of(lesson.stem)
    marks = {words.mark for words in STATUS_WORDS.values()}
    codecs.register_error("in letters", console._in_letters)  # noqa: SLF001
    for name, text in texts.items():
        shown = "".join(set(text) - marks - {"?"}).encode("cp1252", "in letters")
        assert b"?" not in shown, (name, set(text) - set(shown.decode("cp1252")))
