"""A handout: students work in it as in the whole repository, and meet no answers."""

import os
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from course import ROOT
from course.cli import main
from course.core import answers
from course.core.stubs import solution_of
from course.core.syllabus import lessons
from course.mistakes import alternatives, mistakes
from course.publishing import showing

CODE = {".py", ".md", ".ipynb", ".toml", ".txt"}
USUAL = 41
"""Characters of a line of code; shorter ones, such as a cosine of two tables, others write, too."""
OF_THEIR_OWN = {
    "course/experiments/llama.py": 1,
    "course/experiments/positions.py": 1,
    "course/lessons/gpt/README.md": 1,
    "tests/test_rope.py": 1,
}
"""How many such lines a file has that does, or names, the same: a cache, angles, PyTorch's own."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class") / "handout"
    result = CliRunner().invoke(main, ["handout", str(folder)])
    assert result.exit_code == 0, result.output
    return folder


def run(folder, *command: str) -> str:
    """What a command prints in a folder, with the course that is there."""
    words = [sys.executable, "-m", *command]
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(folder)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, encoding="utf-8")
    return re.sub(r" in \d+\.\d+s", "", done.stdout)


def telling(text: str) -> set[str]:
    """The lines of code that somebody would recognize."""
    lines = {line.partition("  # ")[0].strip() for line in text.splitlines()}
    return {line for line in lines if len(line) >= USUAL}


def test_no_answer_is_there_to_be_read(handout):
    in_stubs = {line for one in lessons() for line in telling(one.module().read_text("utf-8"))}
    code = set()
    for lesson in lessons():
        for exercise in lesson.exercises:
            code |= telling("\n".join(showing.answers(exercise)))
        variants = [one.variant for one in (*mistakes(lesson.stem), *alternatives(lesson.stem))]
        code |= {new.strip() for one in variants for new in one.edits.values() if "\n" not in new}
    code = {line for line in code - in_stubs if len(line) >= USUAL}
    assert len(code) > 500
    found = {}
    for path in handout.rglob("*"):
        name = path.relative_to(handout).as_posix()
        if path.suffix in CODE:
            text = path.read_text(encoding="utf-8")
            if lines := [line for line in code if line in text]:
                found[name] = lines
    assert {name: len(lines) for name, lines in found.items()} == OF_THEIR_OWN


def test_it_is_written_over_itself_and_over_nothing_else(handout, tmp_path):
    stub = handout / "exercises" / "rope.py"
    (handout / "tests" / "test_left_out.py").touch()
    stub.write_text("# tried\n", encoding="utf-8")
    assert CliRunner().invoke(main, ["handout", str(handout)]).exit_code == 0
    assert stub.read_bytes() == (ROOT / "exercises" / "rope.py").read_bytes()
    assert not (handout / "tests" / "test_left_out.py").exists()
    (tmp_path / "thesis.md").touch()
    assert "holds something else" in CliRunner().invoke(main, ["handout", str(tmp_path)]).output


def test_modules_earn_the_same_there_and_mistakes_are_named(handout, tmp_path):
    minus = "torch.cat((-x2, x1), dim=-1)", "torch.cat((x2, -x1), dim=-1)"
    (tmp_path / "rope.py").write_text(solution_of("rope").replace(*minus), encoding="utf-8")
    (tmp_path / "gpt.py").write_text(solution_of("gpt"), encoding="utf-8")
    tests = ["pytest", "-q", "--modules", str(tmp_path), "tests/test_rope.py", "tests/test_gpt.py"]
    there, here = (run(one, *tests) for one in (handout, ROOT))
    assert there == here
    assert "rotate_half negates the first half instead of the second" in there
    assert "apply_rope was tested with a correct rotate_half instead of yours" in there


def test_solutions_come_from_the_packed_file_once_an_exercise_passes(handout):
    module = handout / "exercises" / "rope.py"
    module.write_text(solution_of("rope").replace("base * factor **", "base *"), encoding="utf-8")
    assert "+++++x+" in run(handout, "course", "check", "rope", "--exit-zero")
    shown = run(handout, "course", "show", "rotate_half", "--solution")
    assert "torch.cat((-x2, x1), dim=-1)" in shown and "In another style" in shown
    assert run(handout, "course", "show", "ntk_base", "--i-give-up") == ""
    run(handout, "course", "reset", "rope")
    assert module.read_bytes() == (ROOT / "exercises" / "rope.py").read_bytes()


def test_an_instructor_may_keep_the_solutions(monkeypatch):
    monkeypatch.setattr(answers, "shown", lambda: "never")
    monkeypatch.setattr("course.student.progress.status_of_all", lambda: {"rotate_half": "passed"})
    said = CliRunner().invoke(main, ["show", "rotate_half", "--solution"]).output
    assert "your instructor keeps the solutions" in said
