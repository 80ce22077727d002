"""`course doctor`: each thing that lacks has its sentence, and nothing lacks in the course."""

import re
import shutil

import pytest
from click.testing import CliRunner

from course import root
from course.building.doctor import lacks, without_mistakes
from course.cli import main
from course.syllabus import lessons

READ = [
    *("course/lessons/*.toml", "course/lessons/*/mistakes.txt", "course/lessons/*/README.md"),
    *("solutions/*.py", "course/lessons/*/notebook.py", "tests/test_*.py"),
]
SYLLABUS = "course/lessons/syllabus.toml"
SOLUTION, TESTS = "solutions/rope.py", "tests/test_rope.py"
CATALOGUE, TEXT = "course/lessons/rope/mistakes.txt", "course/lessons/rope/README.md"
NOTEBOOK = "course/lessons/rope/notebook.py"
MINUTES = r'("rotate_half", points = \d+, )minutes'


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """What `course doctor` reads, in a separate folder."""
    for path in (path for pattern in READ for path in root().glob(pattern) if path.is_file()):
        target = tmp_path / path.relative_to(root())
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    monkeypatch.setattr("course.ROOT", tmp_path)
    return tmp_path


def edit(path, old: str, new: str = "") -> None:
    """Replace every match of a pattern in a file, and there is one."""
    text, count = re.subn(old, new, path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert count
    path.write_text(text, encoding="utf-8")


def test_nothing_lacks_in_any_lesson():
    assert lacks() == []
    assert [lacks(name) for name in (lessons()[0].stem, "1")] == [[], []]


@pytest.mark.parametrize(
    ("path", "old", "new", "sentence"),
    [
        (SYLLABUS, r'stem = "rope"', "", "lesson 5 lacks `stem` in"),
        (SYLLABUS, r'title = "Rotate queries and keys"', "", "rope lacks `title` in"),
        (SYLLABUS, r'name = "ntk_base", ', "", " of rope lacks `name` in"),
        (SYLLABUS, r'{ name = "rotate_half".*?}', '"rotate_half"', " of rope lacks `name` in"),
        (SYLLABUS, r'("ntk_base", points = )\d+', r"\g<1>0", "ntk_base lacks `points` under"),
        (SYLLABUS, MINUTES, r"\1minuts", "rotate_half lacks `minutes` under"),
        (SYLLABUS, MINUTES, r"\1minuts", "rotate_half has `minuts` under"),
        (SYLLABUS, r"(\[exercise.ntk_base\]\n)why", r"\1wy", "ntk_base lacks `why` under"),
        (SYLLABUS, r"(\[exercise.ntk_base\]\n)why", r"\1wy", "ntk_base has `wy` under"),
        (SYLLABUS, r'"ntk_base"', '"lookup"', "lookup in"),
        (SYLLABUS, r"exercise\.ntk_base", "exercise.ntk_baes", "speaks of ntk_baes, which is no"),
        (SOLUTION, r"def rotate_half", "def other", "rotate_half lacks its definition in"),
        (SOLUTION, r"### BEGIN SOLUTION(?=\n    x1, x2)", "#", "rotate_half lacks its ### BEGIN"),
        (
            SOLUTION,
            r"(?<=-x2, x1\), dim=-1\)\n    )### END SOLUTION",
            "#",
            "rotate_half lacks its ### BEGIN",
        ),
        (SOLUTION, r">>> (?=rotate_half)", "", "rotate_half lacks an example (>>>) in"),
        (SOLUTION, r"Source:(?=[^\n]*split halves)", "", "rotate_half lacks a source"),
        (TESTS, r'@exercise\("rotate_half"\)\n', "", 'a class below @exercise("rotate_half")'),
        (TESTS, r'@exercise\("rotate_half"', '@exercise("rotate"', "of rotate,"),
        (TESTS, r"(class TestNtkBase:\n).*?(?=    def test_one_pair)", r"\1", "about in"),
        (CATALOGUE, r"\n! ", "\n# ", "rotate_half lacks mistakes (!) in"),
        (CATALOGUE, r"    \* ", "    ", "rotate_half lacks common mistakes (*) in"),
        (CATALOGUE, r"\n\+ ", "\n# ", "rotate_half lacks alternatives (+) in"),
        (TEXT, r"\n## ", "\n# ", "rope lacks its question"),
        (NOTEBOOK, r"figures\.", "", "rope lacks a figure "),
        (NOTEBOOK, r"prediction", "", "rope lacks guesses in"),
        (NOTEBOOK, r"answer=", "", "rope lacks answers in"),
    ],
)
def test_what_lacks_is_said_in_a_sentence(copy, golden, path, old, new, sentence):
    edit(copy / path, old, new)
    assert sentence in "\n".join(lacks("5"))
    golden("doctor", {f"{path}: {old.strip()}": "\n".join(lacks("5"))})


@pytest.mark.parametrize("path", [SOLUTION, TESTS, CATALOGUE, TEXT, NOTEBOOK])
def test_a_file_that_lacks_is_named(copy, path):
    (copy / path).unlink()
    assert lacks("rope") == [f"rope lacks {path}"]


def test_an_exercise_without_known_mistakes_is_named_and_lacks_nothing(copy):
    before = without_mistakes("rope")
    edit(copy / CATALOGUE, r"== rotate_half\n.*?(?=\n== )")
    assert lacks("rope") == []
    [said] = [one for one in without_mistakes("rope") if one not in before]
    assert said.startswith("rotate_half ") and CATALOGUE in said
    result = CliRunner().invoke(main, ["doctor"])
    assert (result.exit_code, said in result.output) == (0, True)


def test_the_command_ends_with_1_if_anything_lacks(copy):
    def doctor(*arguments):
        result = CliRunner().invoke(main, ["doctor", *arguments])
        return result.exit_code, result.output

    status, said = doctor()
    assert (status, said.startswith("nothing is missing\n")) == (0, True)
    edit(copy / SYLLABUS, r"\[exercise\.ntk_base\].*?(?=\n\[)")
    status, said = doctor("rope")
    assert (status, said.count("under [exercise.ntk_base] in")) == (1, 4)
    assert doctor("lookup") == (0, "nothing is missing\n")
    status, said = doctor("roap")
    assert (status, said.startswith("Error: ") and '"roap"' in said) == (1, True)
    edit(copy / SYLLABUS, r'stem = "rope"', 'stem = "rope')
    assert "course/lessons/syllabus.toml cannot be read" in doctor()[1]
