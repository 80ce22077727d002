"""The benchmarks: they start, and they refuse to time wrong answers."""

import builtins
import dataclasses
import dis
import importlib
import runpy
import subprocess
import sys
import types

import numpy as np
import pytest
import torch

from benchmarks import formulations, glove_open, llama
from course import ROOT
from course.core.syllabus import lessons
from course.testing.imports import names_defined_by
from course.testing.loading import run_module
from course.testing.source import sources_of_earlier

PROGRAMS = sorted(
    path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "measuring"
)


@pytest.mark.slow
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one != "llama"])  # it has its own
def test_every_program_runs(program):
    if program == "grading" and sys.platform != "linux":
        pytest.skip("classes are graded on Linux")
    command = [sys.executable, f"benchmarks/{program}.py", "--quick"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "|--" in ran.stdout or "|:--" in ran.stdout, ran.stdout


def test_a_bad_option_gets_a_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["formulations.py", "--rounds", "0"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "benchmarks" / "formulations.py"), run_name="__main__")
    assert end.value.code == 2
    assert "0 is not a whole number" in capsys.readouterr().err


@pytest.mark.parametrize("problem", formulations.small_problems(), ids=lambda one: one.title)
@torch.no_grad()
def test_all_formulations_agree_with_ours_and_a_wrong_one_is_refused(problem, monkeypatch):
    assert len(problem.ways) >= 4
    formulations.check(dataclasses.replace(problem, tolerance=1e-6))
    ours = problem.ways[0]
    wrong = formulations.Formulation("the wrong one", lambda: ours.run() * 1.01)
    monkeypatch.setattr(formulations, "in_turns", lambda *_, **__: pytest.fail("it was timed"))
    with pytest.raises(SystemExit, match="the wrong one"):
        formulations.report(dataclasses.replace(problem, ways=[ours, wrong]), rounds=1)


def test_all_ways_open_the_same_and_a_reader_that_loses_a_word_is_refused(tmp_path):
    """Of words that readers of tables take for something else."""

    def lossy(path):
        words, vectors = glove_open.naive_loop(path)
        return ["" if word == "nan" else word for word in words], vectors

    text = tmp_path / "glove.6B.2d.txt"
    text.write_text('" 1 2\nnan 0.5 -1\nnull -0.25 3\n# 1e-05 7\n', encoding="utf-8", newline="\n")
    words, vectors = glove_open.check_opened(glove_open.ways_to_open(), text)
    assert words == ['"', "nan", "null", "#"]
    assert vectors.tolist() == np.float32([[1, 2], [0.5, -1], [-0.25, 3], [1e-05, 7]]).tolist()
    with pytest.raises(SystemExit, match="lossy reads other words"):
        glove_open.check_opened({"lossy": lossy}, text)


@pytest.mark.slow
def test_our_model_has_the_logits_of_transformers(monkeypatch, capsys):
    from course.data import data_folder
    from course.data.published import FILE

    pytest.importorskip("transformers", reason="transformers is not installed (extra bench)")
    if not (data_folder() / FILE).exists():
        pytest.skip(f"{FILE} was not fetched (course data smollm2)")
    monkeypatch.setattr(sys, "argv", ["llama.py", "--quick"])
    runpy.run_path(str(ROOT / "benchmarks" / "llama.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "same first choice 100.00%" in said
    assert said.count("\n| ") >= 3


@torch.no_grad()
def test_another_model_is_not_timed(capsys):
    class Wrapped(torch.nn.Embedding):
        def forward(self, ids):
            return types.SimpleNamespace(logits=super().forward(ids))

    table, ids = torch.nn.Embedding(5, 5), torch.tensor([[0, 3, 1]])
    same = Wrapped.from_pretrained(table.weight)
    llama.compare(table, same, ids)
    assert "100.00%" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="another model"):
        llama.compare(table, Wrapped.from_pretrained(table.weight + 0.1), ids)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="classes are graded on Linux")
@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_what_a_made_up_student_hands_in_lacks_no_name(lesson):
    grading = importlib.import_module("benchmarks.grading")
    earlier = names_defined_by(sources_of_earlier(lesson.stem))
    for number in range(0, 24, 2):  # right ones and wrong ones
        name = f"{grading.KINDS[number % len(grading.KINDS)]}-{number:05}"
        text = grading.module_of(name, number, lesson)
        module = run_module(text.encode("utf-8"), lesson.module(), earlier)
        known = vars(module).keys() | vars(builtins).keys()
        assert global_names(compile(text, name, "exec")) <= known, name


def global_names(code):
    """The global names that a module's code reads, in its functions as well."""
    read = {one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    inner = [one for one in code.co_consts if isinstance(one, types.CodeType)]
    return read.union(*map(global_names, inner))
