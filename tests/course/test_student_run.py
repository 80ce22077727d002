"""What a student sees: three outcomes, points, and one clear sentence for whatever goes wrong."""

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

import pytest

from course import ROOT
from course.build import stub_from

SOLUTION = (ROOT / "solutions" / "rope.py").read_text(encoding="utf-8")


@dataclass
class Run:
    """The exit status and the printed text of one test run."""

    status: int
    text: str

    @property
    def flat(self) -> str:
        """The text in one line: sentences are wrapped at 80 columns."""
        return " ".join(self.text.split())

    def line_with(self, words: str) -> str:
        return next((line for line in self.text.splitlines() if words in line), "")


@pytest.fixture
def run(tmp_path: Path):
    """Runs the graded tests of lesson 5 on a module with this text."""

    def run_on(source: str | bytes | None, *options: str) -> Run:
        if source is not None:
            data = source if isinstance(source, bytes) else source.encode("utf-8")
            (tmp_path / "rope.py").write_bytes(data)
        arguments = ["-q", "-p", "no:cacheprovider", "--modules", str(tmp_path), *options]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = pytest.main([str(ROOT / "tests" / "test_rope.py"), *arguments])
        return Run(int(status), printed.getvalue())

    return run_on


def with_body(name: str, body: str) -> str:
    """The solution with another body for one function, appended so that it wins."""
    return f"{SOLUTION}\n\ndef {name}(*args, **kwargs):\n    {body}\n"


def test_the_solution_passes_and_earns_everything(run):
    result = run(SOLUTION)
    assert result.status == 0
    assert "5 rope: 20 of 20 points" in result.flat


def test_a_stub_is_to_do_and_earns_nothing(run):
    result = run(stub_from(SOLUTION, "rope"))
    assert result.status == 1
    assert "5 rope: 0 of 20 points" in result.flat
    assert "to do in" in result.text.splitlines()[-1]
    assert "passed" not in result.text.splitlines()[-1]
    assert "wrong" not in result.text.splitlines()[-1]


def test_one_wrong_exercise_costs_its_own_points_only(run):
    result = run(SOLUTION.replace("torch.cat((-x2, x1)", "torch.cat((x2, x1)"))
    assert result.status == 1
    assert "5 rope: 18 of 20 points" in result.flat
    assert result.line_with("rotate_half  ").split()[1] == "wrong"


def test_an_exercise_that_builds_on_a_stub_still_earns_its_points(run):
    stub = stub_from(SOLUTION, "rope")
    body = SOLUTION[SOLUTION.index("def apply_rope") : SOLUTION.index("class RotaryEmbedding")]
    start, end = stub.index("def apply_rope"), stub.index("class RotaryEmbedding")
    result = run(stub[:start] + body + stub[end:])
    assert "5 rope: 3 of 20 points" in result.flat
    assert "wrong" not in result.flat


def test_choosing_by_name_runs_one_exercise(run):
    result = run(SOLUTION, "-k", "rotate_half")
    assert "5 rope: 2 of 20 points" in result.flat
    assert "rope_tables" not in result.flat


def test_a_part_of_an_exercise_earns_nothing_yet(run):
    first = "tests/test_rope.py::TestRotateHalf::"
    names = [line for line in run(SOLUTION, "--collect-only").text.splitlines() if first in line]
    result = run(SOLUTION, "--deselect", names[0])
    assert "5 rope: 18 of 20 points" in result.flat


def test_stopping_at_the_first(run):
    result = run(stub_from(SOLUTION, "rope"), "-x")
    assert result.text.splitlines()[-1].startswith("1 to do")


def test_a_syntax_error_is_one_sentence(run):
    result = run(SOLUTION.replace("return torch.cat((-x2, x1), dim=-1)", "return torch.cat((-x2,"))
    assert result.status == 1
    assert result.flat.count("rope.py is not valid Python") == 1
    assert "Traceback" not in result.flat


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (None, "rope.py does not exist"),
        (b"\xff\xfe\x00", "rope.py is not valid Python"),
        ("import nowhere_to_be_found", "No module named 'nowhere_to_be_found'"),
        ("raise SystemExit(0)", "rope.py calls sys.exit while it is imported"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("\ufeff" + SOLUTION, "5 rope: 20 of 20 points"),
        (SOLUTION.replace("\n", "\r\n"), "5 rope: 20 of 20 points"),
    ],
    ids=["missing", "binary", "import", "exit", "error", "byte-order-mark", "crlf"],
)
def test_a_file_that_does_not_load_is_one_sentence(run, source, sentence):
    result = run(source)
    assert result.flat.count(sentence) == 1
    assert "Traceback" not in result.flat


def test_an_exercise_that_prints_is_told_so(run):
    result = run(with_body("rotate_half", "print('x is', args[0].shape)\n    " + _ROTATE))
    assert result.flat.count("but prints; take the print out") == 1
    assert "5 rope: 18 of 20 points" in result.flat


def test_an_exercise_that_exits_is_told_so(run):
    result = run(with_body("rotate_half", "import sys; sys.exit(0)"))
    assert result.status == 1
    assert result.flat.count("rotate_half called sys.exit(0)") == 1
    assert "5 rope: 18 of 20 points" in result.flat


def test_an_endless_loop_is_cut_off_once(run, monkeypatch):
    monkeypatch.setattr("course.testing.case.SECONDS_PER_TEST", 1)
    result = run(with_body("rotate_half", "while True:\n        try: pass\n        except: pass"))
    assert result.flat.count("rotate_half did not come to an end in 1 s") == 1
    assert "5 rope: 18 of 20 points" in result.flat


def test_an_endless_import_is_cut_off(run, monkeypatch):
    monkeypatch.setattr("course.testing.plugin.SECONDS_PER_TEST", 1)
    result = run("while True: pass")
    assert result.flat.count("did not finish its import in 1 s") == 1


def test_a_shadowed_name_is_pointed_out(run):
    result = run("\n".join([SOLUTION, "torch = 3"]))
    assert "rope.py gives the name torch to an int" in result.flat


def test_a_deleted_function_is_named(run):
    start, end = SOLUTION.index("def rotate_half"), SOLUTION.index("def apply_rope")
    result = run(SOLUTION[:start] + SOLUTION[end:])
    assert result.flat.count("rope.py has no rotate_half; was it renamed or deleted?") == 1
    assert "5 rope: 18 of 20 points" in result.flat


def test_a_function_that_returns_nothing_is_told_so(run):
    result = run(with_body("rotate_half", "pass"))
    assert "nothing (None) came back where a tensor belongs" in result.flat


def test_an_exception_shows_the_line_of_the_student(run):
    result = run(with_body("rotate_half", "return args[0].chunk(2, dim=7)"))
    assert "rotate_half raised IndexError: Dimension out of range" in result.flat
    assert "return args[0].chunk(2, dim=7)" in result.flat


def test_a_message_that_cannot_be_shown_does_no_harm(run):
    class_text = "\nclass Odd(Exception):\n    def __str__(self): raise ValueError\n"
    result = run(with_body("rotate_half", "raise Odd()") + class_text)
    assert "rotate_half raised Odd: (its message cannot be shown)" in result.flat


_ROTATE = "x1, x2 = args[0].chunk(2, -1); return torch.cat((-x2, x1), dim=-1)"
