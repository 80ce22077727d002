"""What a student sees: three outcomes, points, and one clear sentence for whatever goes wrong."""

import contextlib
import io
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from examining import cases_of, findings
from points import line_of_points

from course import ROOT
from course.core.stubs import solution_of, stub_from
from course.core.syllabus import find_lesson
from course.mistakes.variant import reference_text
from course.testing.examine import Examination
from course.testing.executor import Executor
from course.testing.imports import names_defined_by
from course.testing.loading import load_module, run_module
from course.testing.outcomes import Wrong
from course.testing.run import Module
from course.testing.run import run as run_tests
from course.testing.source import sources_of_earlier, used_exercises

SOLUTION = (ROOT / "solutions" / "rope.py").read_text(encoding="utf-8")
IN_ORDER = [exercise.name for exercise in find_lesson("rope").exercises]
EXERCISES = set(IN_ORDER)


TWO = ("--exercise=rotate_half", "--exercise=ntk_base")
"""Options that test two short exercises, where a run of all would show nothing more."""


def points_of(*passed: str) -> str:
    """Return the line of points of one who passes these exercises of rope and no others."""
    return line_of_points("rope", *EXERCISES.difference(passed))


@dataclass
class Run:
    """The exit status and the printed text of one test run, and the folder of the module."""

    status: int
    text: str
    folder: str

    @property
    def flat(self) -> str:
        """The text in one line: sentences are wrapped at 80 columns."""
        return " ".join(self.text.split())

    def paragraph_with(self, fact: str) -> str:
        """The paragraph that holds a word, in one line; the file is the student's."""
        return next(one for one in self.paragraphs if fact in one)

    @property
    def paragraphs(self) -> list[str]:
        """All paragraphs without their titles, each in one line; the file is the student's."""
        without_titles = re.sub(r"^-{3,}.*\n", "", self.text, flags=re.MULTILINE)
        paragraphs = without_titles.replace(self.folder, "exercises/").split("\n\n")
        return [" ".join(one.split()) for one in paragraphs]

    def line_with(self, words: str) -> str:
        return next((line for line in self.text.splitlines() if words in line), "")


@pytest.fixture
def run(tmp_path: Path, few_to_search, monkeypatch):
    """Runs the graded tests of lesson 5 on a module with this text.

    To save time, two mistakes are not tried, and pytest loads no plugins but the course's own.
    """
    monkeypatch.setattr("course.mistakes.diagnosis._one_of_two", lambda *_: None)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run_on(source: str | bytes | None, *options: str) -> Run:
        if source is not None:
            data = source if isinstance(source, bytes) else source.encode("utf-8")
            (tmp_path / "rope.py").write_bytes(data)
        arguments = ["-p", "no:cacheprovider", "--modules", str(tmp_path), *options]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = pytest.main([str(ROOT / "tests" / "test_rope.py"), *arguments])
        return Run(int(status), printed.getvalue(), f"{tmp_path.name}/")

    return run_on


def with_body(name: str, body: str) -> str:
    """The solution with another body for one function, appended so that it wins."""
    return f"{SOLUTION}\n\ndef {name}(*args, **kwargs):\n    {body}\n"


def test_a_stub_is_to_do_and_earns_nothing(run):
    result = run(stub_from(SOLUTION, "rope"))
    assert result.status == 1
    assert points_of() in result.flat
    assert result.text.splitlines()[-1].startswith(f"{len(EXERCISES)} to do in")
    assert "passed" not in result.text.splitlines()[-1]
    assert "wrong" not in result.text.splitlines()[-1]


def test_one_wrong_exercise_costs_its_own_points_only(run):
    result = run(SOLUTION.replace("torch.cat((-x2, x1)", "torch.cat((x2, x1)"))
    assert result.status == 1
    assert line_of_points("rope", "rotate_half") in result.flat
    assert result.line_with("rotate_half  ").split()[1] == "wrong"


def test_an_exercise_that_builds_on_a_stub_still_earns_its_points(run):
    stub = stub_from(SOLUTION, "rope")
    body = SOLUTION[SOLUTION.index("def apply_rope") : SOLUTION.index("class RotaryEmbedding")]
    start, end = stub.index("def apply_rope"), stub.index("class RotaryEmbedding")
    result = run(stub[:start] + body + stub[end:])
    assert points_of("apply_rope") in result.flat
    assert "wrong" not in result.flat


BIASED = """
class Block(Block):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.mlp[0] = nn.Linear(*self.mlp[0].weight.shape[::-1])
"""
ON_THE_CPU = """
class LearnedPositionalEmbedding(LearnedPositionalEmbedding):
    def forward(self, seq_len):
        super().forward(seq_len)
        return self.weight[torch.arange(seq_len)]


class GPTEmbedding(GPTEmbedding):
    def __init__(self, vocab_size, block_size, n_embd, dropout=0.0):
        super().__init__(vocab_size, block_size, n_embd, dropout)
        self.pos_emb = LearnedPositionalEmbedding(block_size, n_embd)

    def forward(self, ids):
        return self.dropout(self.tok_emb(ids) + self.pos_emb(ids.shape[1]))
"""
KEYS_FOR_ALL_HEADS = """
class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, cache=None):
        return super().forward(x + 1, cache)
"""


@pytest.mark.parametrize(
    ("stem", "wrong", "exercise", "parts"),
    [
        ("gpt", BIASED, "GPT", {"Block", "CausalSelfAttention"}),
        ("learned", ON_THE_CPU, "GPTEmbedding", {"LearnedPositionalEmbedding"}),
        ("llama", KEYS_FOR_ALL_HEADS, "Llama", {"GroupedQueryAttention", "RMSNorm"}),
    ],
)
def test_what_is_right_earns_its_points_over_a_wrong_part_and_says_so(stem, wrong, exercise, parts):
    text = solution_of(stem) + wrong
    text += "" if f"class {exercise}(" in wrong else reference_text(stem, exercise)
    path = find_lesson(stem).module()
    module = run_module(text.encode(), path, names_defined_by(sources_of_earlier(stem)))
    examination = Examination(Executor(module), text.encode())
    tested = run_tests(Module(path, examination, source=b" "), cases_of(stem, exercise))
    (of_it,) = tested.exercises
    assert of_it.status == "passed", of_it.first_wrong
    assert "with a correct" in of_it.remark and parts <= set(re.findall(r"\w+", of_it.remark))


MEAN_OVER_ALL_LOGITS = """
def negative_sampling_loss(positive, negative):
    logits = torch.cat([positive[:, None], negative], dim=1)
    wanted = torch.zeros_like(logits)
    wanted[:, 0] = 1
    return nn.functional.binary_cross_entropy_with_logits(logits, wanted)
"""


@pytest.mark.parametrize(("trainer", "right"), [("as it is", True), ("without zero_grad", False)])
def test_all_tests_of_an_exercise_pass_in_the_same_company(trainer, right):
    """A wrong trainer passes some tests with a wrong loss, and the others with a right one."""
    source = solution_of("skipgram") + MEAN_OVER_ALL_LOGITS
    if not right:
        assert "optimizer.zero_grad()" in source
        source = source.replace("optimizer.zero_grad()", "pass")
    module = run_module(source.encode(), find_lesson("skipgram").module())
    found = findings(module, cases_of("skipgram", "train_skipgram"), source)
    assert all(one.status == "passed" for one in found) == right


def test_what_is_wrong_and_slow_is_not_waited_for(monkeypatch):
    """But what is right may take its time."""
    monkeypatch.setattr("course.testing.examine.SECONDS_ONCE_WRONG", 0.1)

    def outcomes(result: str) -> list[str]:
        slow = f"def rotate_half(x):\n    time.sleep(0.06)\n    return {result}\n"
        source = f"{SOLUTION}\n\nimport time\n\nturned = rotate_half\n\n\n{slow}"
        module = run_module(source.encode(), ROOT / "exercises" / "rope.py")
        return [one.status for one in findings(module, cases_of("rope", "rotate_half"), source)]

    assert set(outcomes("turned(x)")) == {"passed"}
    wrong = outcomes("x")
    assert wrong[0] == "wrong" and wrong[-3:] == ["not run"] * 3


@pytest.mark.parametrize(
    ("slow", "tries"),
    [
        ("def apply_rope(x, cos, sin):\n    rotate_half(x)\n    while True: pass", 1),
        ("def rotate_half(x):\n    while True: pass", 2),
    ],
    ids=["the exercise", "one that it uses"],
)
def test_an_endless_loop_is_not_waited_for_twice(monkeypatch, slow, tries):
    """Unless it is in an exercise that this one uses, and for which it is not to be blamed."""
    cases = cases_of("rope", "apply_rope")
    right = load_module(find_lesson("rope").module("solutions"))
    assert Examination(Executor(right)).run(cases[0]).status == "passed"  # the first time is slow
    source = f"{SOLUTION}\n\n{slow}\n".encode()
    module = run_module(source, ROOT / "exercises" / "rope.py")
    examination = Examination(Executor(module), source)
    lent, attempt = [], Examination.attempt
    monkeypatch.setattr(
        Examination,
        "attempt",
        lambda self, case, others=(): lent.append(others) or attempt(self, case, others),
    )
    finding = examination.run(replace(cases[0], seconds=1))
    assert len(lent) == tries
    assert finding.status == ("wrong" if tries == 1 else "passed")


@pytest.mark.parametrize(
    ("exercise", "body", "used"),
    [
        ("rotate_half", "def rotate_half(x): return x", ()),
        ("apply_rope", "def apply_rope(x): return rotate_half(x)", ("rotate_half",)),
        (
            "RotaryEmbedding",
            "TABLE = rope_tables(1, 2)\nclass RotaryEmbedding: ...",
            ("rope_tables", "rotate_half", "apply_rope"),
        ),
        ("rotate_half", "def rotate_half(x): return apply_rope(x)", ()),
    ],
)
def test_which_earlier_exercises_one_builds_on(exercise, body, used):
    assert used_exercises(body.encode(), "rope", exercise) == used


@pytest.mark.parametrize("option", ["-k", "--exercise"])
def test_choosing_an_exercise_runs_it_and_no_other(run, option):
    result = run(SOLUTION, option, "rotate_half")
    assert points_of("rotate_half") in result.flat
    assert "rope_tables" not in result.flat
    assert re.fullmatch(r"\d+ passed(, \d+ deselected)? in .*", result.text.splitlines()[-1])


def test_a_part_of_an_exercise_earns_nothing_yet(run):
    first = "tests/test_rope.py::TestRotateHalf::"
    listed = run(SOLUTION, "--collect-only", *TWO).text.splitlines()
    result = run(SOLUTION, *TWO, "--deselect", next(line for line in listed if first in line))
    assert points_of("ntk_base") in result.flat


def test_above_a_message_stand_one_letter_for_each_exercise_and_no_noise(run):
    """As in `course check rope`, also in `pytest tests/test_rope.py`, and whatever warns."""
    warns = "import warnings; warnings.warn('old'); return args[0]"
    result = run(with_body("rotate_half", warns), "--verbosity=0")
    row, empty, title, *_ = result.text.splitlines()
    letters = "".join("x" if name == "rotate_half" else "+" for name in IN_ORDER)
    assert re.fullmatch(rf"{re.escape(letters)} +\[100%\]", row)
    assert empty == "" and title.startswith("--") and "rotate_half: " in title
    assert "warning" not in result.text and "collected" not in result.text


def test_what_could_not_be_loaded_is_not_called_wrong(run):
    result = run("def broken(:\n")
    assert "wrong" not in result.text
    assert result.line_with("rotate_half  ").split()[1:3] == ["not", "checked"]
    assert re.fullmatch(r"\d+ not run in .*", result.text.splitlines()[-1])


def test_a_deleted_file_comes_back_alone(repository):
    path = find_lesson("rope").module()
    with pytest.raises(Wrong, match=r"; `course reset exercises/rope\.py` brings it back"):
        load_module(path)


def test_stopping_at_the_first_that_is_wrong_passes_what_is_to_do(run):
    stub = stub_from(SOLUTION, "rope")
    result = run(f"{stub}\n\ndef apply_rope(x, cos, sin):\n    return x\n", "-x")
    assert result.status == 1
    assert "!!!" not in result.text
    n_before = IN_ORDER.index("apply_rope")
    assert f"{n_before} to do, 1 wrong in" in result.text.splitlines()[-1]


RIGHT_FILES = {
    "declared": f"# coding: latin-1\n'café'\n{SOLUTION}".encode("latin-1"),
    "printing": f"print('hello')\n{SOLUTION}",
    "byte-order-mark": "\ufeff" + SOLUTION,
    "crlf": SOLUTION.replace("\n", "\r\n"),
    "with an import that is not used": (
        "import pandas_x as pd, plotlib_x.pyplot as plt\nfrom einops_x.layers import Rearrange\n"
        "from exercises.lookup import lookup\nfrom . import learned\nfrom exercises import gpt\n"
        "from solutions.rope import alibi_bias as other\n"
        f"{SOLUTION}\ndef draw():\n    plt.plot(pd.DataFrame())\n"
    ),
    "with a dataclass": "from __future__ import annotations\nfrom dataclasses import dataclass\n"
    f"@dataclass\nclass Config:\n    base: float = 1e4\n\n{SOLUTION}",
    "for another device": f"import torch\ntorch.set_default_device('mps')\n{SOLUTION}",
    "seeded": f"{SOLUTION}\ntorch.manual_seed(42)\ntorch.set_default_dtype(torch.float64)\n",
}


@pytest.mark.parametrize("source", RIGHT_FILES.values(), ids=RIGHT_FILES)
def test_a_file_may_be_written_in_many_ways(run, source):
    names = ("rotate_half", "RotaryEmbedding")
    result = run(source, *(f"--exercise={name}" for name in names))
    assert result.status == 0
    assert points_of(*names) in result.flat


def test_a_library_that_may_be_missing_elsewhere_is_named(run):
    result = run(f"import requests\n{SOLUTION}", "--exercise=ntk_base")
    assert result.status == 0
    assert "requests may be missing where this is graded" in result.flat


OLD = sys.version_info < (3, 12)
TO_DO = 'raise NotImplementedError("TODO rope.ntk_base")'

FILES = {  # a file, what is said about it, and what earns its points nevertheless
    "missing": (None, "rope.py"),
    "binary": (b"\xff\xfe\x00", "UTF-8"),
    "latin-1": (f"{SOLUTION}\n'café'\n".encode("latin-1"), "UTF-8"),
    "latin-1 in a comment": (f"{SOLUTION}\n# café\n".encode("latin-1"), "UTF-8"),
    "large": (f"{SOLUTION}\n#{1_100_000 * ' '}\n", "larger than 1 MB"),
    "a link": ("https://example.org/drive/1aBcD?usp=sharing\n", "hand in the file itself"),
    "syntax": (SOLUTION.replace("(-x2, x1), dim=-1)", "(-x2,"), "return torch.cat((-x2,"),
    "null": (SOLUTION + "\0\n", "null"),
    "empty": ("", "rope.py"),
    "import": ("import nowhere_to_be_found\n\nnowhere_to_be_found.go()", "nowhere_to_be_found"),
    "a typo": ("import troch\nfrom troch import nn\n", "'torch'"),
    "exit": ("raise SystemExit(0)", "sys.exit"),
    "error": ("1 / 0", "ZeroDivisionError: division by zero"),
    "input": ("input('? ')", "input"),
    "skip": ("import pytest; pytest.skip('later', allow_module_level=True)", "Skipped: later"),
    "open": ("rows = open('rows.txt').read()\n", "rows.txt"),
    "conflict": (
        f"{SOLUTION}\n<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> upstream/main\n",
        "git",
    ),
    "magic": (f"%matplotlib inline\n{SOLUTION}", "a notebook's command"),
    "shell": (f"!pip install einops\n{SOLUTION}", "a notebook's command"),
    "fence": (f"```python\n{SOLUTION}\n```\n", "three backticks"),
    "typographic quotes": (f"KIND = “rope”\n{SOLUTION}", "must be straight"),
    "notebook": ('{"cells": [{"cell_type": "code"}], "nbformat": 4}', "out of its cells"),
    "zip": (b"PK\3\4\x14\0\0\0", "a zip: unpack it"),
    "gzip": (b"\x1f\x8b\x08\0rope", "a gzip archive"),
    "web page": ("<!DOCTYPE html>\n<html lang='en'>", "a web page"),
    "3.12": ("def first[T](x: list[T]) -> T: return x[0]\n", "3.12" if OLD else "to do"),
    "quotes": ('def told(x): return f"{x["a"]}"\n', "3.12" if OLD else "to do"),
    "3.14": (
        "try:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
        "3.14" if OLD else "to do",
    ),
    "no such name": ("from typing import overrides\n", "typing, which has no such name in Python"),
    "another module": (
        "import jaxtyping\n@jaxtyping.jaxtyped()\ndef f(): pass",
        "which is not there; the standard library",
    ),
    "debugger": ("import bdb; raise bdb.BdbQuit", "calls a debugger"),
    "answers from the solutions": (
        with_body(
            "rotate_half", "from solutions.rope import rotate_half; return rotate_half(*args)"
        ),
        "solutions.rope has answers that are not yours",
        "ntk_base",
    ),
    "an answer imported at run time": (
        f"import importlib; importlib.import_module('solutions.rope')\n{SOLUTION}",
        "solutions",
    ),
    "answers read as a file": (
        f"import pathlib\nROOT = pathlib.Path({str(ROOT)!r})\n"
        'exec(compile(open(ROOT / "snoitulos"[::-1] / "rope.py").read(), "friend", "exec"))',
        "solutions/",
    ),
    "the course's own tools": (
        "from course.testing import expect\n"
        + with_body("rotate_half", "return expect.run(*args)"),
        "course.testing is not there where this is graded",
        "ntk_base",
    ),
    "another lesson": (  # it costs what uses it alone
        with_body("rotate_half", "from exercises.lookup import lookup; return lookup(*args)"),
        "exercises.lookup is not there where this is graded, and no exercise needs it",
        "ntk_base",
    ),
    "another lesson, by a dot": (
        "from . import lookup\n" + with_body("rotate_half", "return lookup.lookup(*args)"),
        "exercises.lookup is not there where this is graded, and no exercise needs it",
        "ntk_base",
    ),
    "a missing library": (  # it costs what uses it alone
        "from einops_x import rearrange\n\n\n"
        + with_body("rotate_half", "return rearrange(args[0], 'a -> b')"),
        "einops_x is not there where this is graded, and no exercise needs it",
        "ntk_base",
    ),
    "a deleted function": (
        SOLUTION.replace("def rotate_half", "def rotated_half"),
        "rope.py has no rotate_half",
        "ntk_base",
    ),
    "results kept by identity": (
        SOLUTION.replace("def rotate_half", "import functools\n@functools.cache\ndef rotate_half"),
        "rotate_half: changed arguments",
        "ntk_base",
    ),
    "a stub below finished code": (
        stub_from(SOLUTION, "rope").replace(f"    {TO_DO}", f"    a_line = 1\n    {TO_DO}"),
        "still to do: ",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_what_is_odd_about_a_file_is_one_sentence(run, golden, monkeypatch, case):
    for name in ("solutions", "solutions.rope"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    source, fact, *earned = FILES[case]
    result = run(source, *TWO)
    assert result.status == 1
    assert fact in result.flat and points_of(*earned) in result.flat
    assert "Traceback" not in result.flat and "INTERNALERROR" not in result.text
    _dots, *said, _points, _summary = result.paragraphs
    golden("files that cannot be tested", {case: "\n\n".join(said)})


ROTATE = "x1, x2 = args[0].chunk(2, -1); return torch.cat((-x2, x1), dim=-1)"
BODIES = {
    "prints": (f"print('x is', args[0].shape)\n    {ROTATE}", "print"),
    "hides what is above": ("return args[0]", "rotate_half on lines"),
    "calls itself": (
        "return other(*args)\n\n\ndef other(x):\n    return rotate_half(x)",
        "return other(*args), where rotate_half and other",
    ),
    "equals everything": (
        "class Yes:\n"
        "        __eq__ = lambda *_: True\n"
        "        __getattr__ = lambda self, name: self\n"
        "    return Yes()",
        "Yes",
    ),
    "a number that equals everything": (
        "return type('Yes', (float,), {'__eq__': lambda *_: True})()",
        "rotate_half",
    ),
    "a tensor that equals everything": (
        "yes = classmethod(lambda *_, **__: torch.tensor(True))\n"
        "    Yes = type('Yes', (torch.Tensor,), {'__torch_function__': yes})\n"
        "    return torch.zeros(2).as_subclass(Yes)",
        "rotate_half",
    ),
    "ends the process": ("import os; os._exit(3)", "called os._exit(3)"),
    "exits": ("import sys; sys.exit(0)", "sys.exit(0)"),
    "asks": ("input('? ')", "input(...)"),
    "debugs": ("import bdb; raise bdb.BdbQuit", "`course check rotate_half`"),
    "nothing": ("pass", "None"),
    "error": ("return args[0].chunk(2, dim=7)", "IndexError: Dimension out of range"),
    "gradient": (
        "x1, x2 = args[0].chunk(2, -1); return torch.cat((-x2, x1.detach()), dim=-1)",
        "gradient at argument 1",
    ),
    "no message": ("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})", "Odd"),
    "skip": ("import pytest; pytest.skip('later')", "Skipped: later"),
    "unusual": ("raise BaseException('unusual')", "BaseException: unusual"),
}


@pytest.mark.parametrize("case", BODIES)
def test_what_an_exercise_does_is_one_sentence(run, golden, case):
    """And the run goes on: the next exercise earns its points."""
    body, fact = BODIES[case]
    result = run(with_body("rotate_half", body), *TWO)
    is_right = body.endswith(ROTATE)
    assert result.status == (0 if is_right else 1)
    assert fact in result.flat
    assert "OSError" not in result.flat
    earned = ("rotate_half", "ntk_base") if is_right else ("ntk_base",)
    assert points_of(*earned) in result.flat
    golden("what an exercise does", {case: result.paragraph_with(fact)})


def test_the_readme_shows_what_is_printed(run):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```\n(-+ rotate_half: .*?)```", readme, re.DOTALL)[1]
    assert shown in run(SOLUTION.replace("(-x2, x1)", "(x2, -x1)"), *TWO).text


@pytest.mark.slow
def test_an_endless_loop_is_cut_off_once(run, monkeypatch):
    monkeypatch.setattr("course.testing.case.SECONDS_PER_TEST", 5)
    result = run(with_body("rotate_half", "while True:\n        try: pass\n        except: pass"))
    assert result.flat.count("rotate_half did not") == result.flat.count(" 5 s") == 1
    assert line_of_points("rope", "rotate_half") in result.flat
    assert "at rope.py:" in result.flat.replace(result.folder, "")
    assert re.search(r"not run: \d+ tests", result.flat)
    assert "other tests that fail" not in result.flat
    assert re.search(r"\d+ passed, 1 wrong, \d+ not run", result.text.splitlines()[-1])
    assert result.line_with("rotate_half  ").split()[1] == "wrong"


def test_an_endless_import_is_cut_off(run, monkeypatch):
    monkeypatch.setattr("course.testing.run.SECONDS_PER_TEST", 1)
    result = run("while True: pass", *TWO)
    assert result.flat.count(" 1 s") == 1
    assert "while True: pass look at" in result.flat and "rope.py:1 " in result.flat


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("def forward", "def foward", "RotaryEmbedding has no method forward"),
        ("super().__init__()", "pass", "super().__init__()"),
    ],
)
def test_what_pytorch_says_of_a_module_is_said_simply(run, right, wrong, words):
    assert right in SOLUTION
    assert words in run(SOLUTION.replace(right, wrong), "--exercise", "RotaryEmbedding").flat
