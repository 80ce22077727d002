"""The benchmarks: they start, they refuse to time wrong answers, and their report is whole."""

import dataclasses
import runpy
import sys

import numpy as np
import pytest
import torch

from benchmarks import __main__ as everything
from benchmarks import formulations, glove_open, measuring
from course import ROOT

PROGRAMS = sorted(
    path.stem for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "measuring"
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_says_how_it_is_used(program, monkeypatch, capsys):
    if program == "grading" and sys.platform != "linux":
        pytest.skip("classes are graded on Linux")
    monkeypatch.setattr(sys, "argv", [f"{program}.py", "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "benchmarks" / f"{program}.py"), run_name="__main__")
    assert end.value.code == 0
    assert "--quick" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("program", "options", "complaint"),
    [
        ("formulations", ["--rounds", "0"], "0 is not a whole number from 1 on"),
        ("glove_open", ["missing.txt"], "there is no text missing.txt"),
        ("loop", ["--lesson", "lokup"], 'there is no lesson or exercise "lokup"'),
    ],
)
def test_bad_options_get_a_sentence(program, options, complaint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{program}.py", *options])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "benchmarks" / f"{program}.py"), run_name="__main__")
    assert end.value.code == 2
    assert complaint in capsys.readouterr().err


def test_all_runs_every_program():
    assert sorted(everything.PROGRAMS) == [name for name in PROGRAMS if name != "__main__"]


# --- formulations ---------------------------------------------------------------------------

small_problems = pytest.mark.parametrize(
    "problem",
    formulations.small_problems(),
    ids=lambda problem: problem.title.split("(")[0].strip(),
)


@small_problems
@torch.no_grad()
def test_all_formulations_agree_with_ours(problem):
    found = formulations.differences(problem)
    assert len(found) == len(problem.ways) >= 4
    assert max(found.values()) < 1e-6


@small_problems
@torch.no_grad()
def test_a_wrong_formulation_is_refused(problem, monkeypatch):
    ours = problem.ways[0]
    wrong = formulations.Formulation("the wrong one", lambda: ours.run() * 1.01)
    monkeypatch.setattr(formulations, "in_turns", lambda *_, **__: pytest.fail("it was timed"))
    with pytest.raises(SystemExit, match="the wrong one differs from ours by"):
        formulations.report(dataclasses.replace(problem, ways=[ours, wrong]), rounds=1)


# --- GloVe ----------------------------------------------------------------------------------


@pytest.fixture
def text(tmp_path):
    """A text with words that readers of tables take for something else."""
    path = tmp_path / "glove.6B.2d.txt"
    path.write_text('" 1 2\nnan 0.5 -1\nnull -0.25 3\n# 1e-05 7\n', encoding="utf-8", newline="\n")
    return path


def test_all_ways_open_the_same(text):
    words, vectors = glove_open.check_opened(glove_open.ways_to_open(), text)
    assert words == ['"', "nan", "null", "#"]
    assert vectors.tolist() == np.float32([[1, 2], [0.5, -1], [-0.25, 3], [1e-05, 7]]).tolist()


def test_a_reader_that_loses_a_word_is_refused(text):
    def lossy(path):
        words, vectors = glove_open.naive_loop(path)
        return ["" if word == "nan" else word for word in words], vectors

    with pytest.raises(SystemExit, match="lossy reads other words"):
        glove_open.check_opened({"lossy": lossy}, text)


def test_all_queries_find_the_same_rows():
    vectors = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    vectors[:20] *= 100  # a dot product without lengths would prefer these
    words = [str(row) for row in range(len(vectors))]
    ways = glove_open.ways_to_query(vectors[30], words, vectors)
    found = {name: sorted(map(int, find())) for name, (find, _) in ways.items()}
    assert len(found) >= 4
    assert len({tuple(rows) for rows in found.values()}) == 1
    assert 30 in next(iter(found.values()))


# --- measuring ------------------------------------------------------------------------------


def test_allocated_peak_counts_temporaries_and_the_result():
    x = torch.zeros(1000)  # 4,000 bytes
    assert measuring.allocated_peak(lambda: x.clone()) == 4000
    assert measuring.allocated_peak(lambda: x[:10]) == 0
    assert 8000 <= measuring.allocated_peak(lambda: x.neg().abs()) < 8100


# --- all of them ----------------------------------------------------------------------------


@pytest.fixture
def programs(monkeypatch, tmp_path):
    """programs(name=source, ...): benchmarks made up, in the place of ours."""

    def use(**sources):
        folder = tmp_path / "benchmarks"
        folder.mkdir()
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.setattr(everything, "PROGRAMS", {name: f"About {name}" for name in sources})
        monkeypatch.setattr(everything, "ROOT", tmp_path)

    return use


def run_all(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["benchmarks", *options])
    everything.main()


def test_the_report_names_what_cannot_run(programs, monkeypatch, tmp_path):
    lacking = (
        f"import sys\nsys.exit(print('No data here.', file=sys.stderr) or {measuring.CANNOT_RUN})"
    )
    programs(good="print('| 1.5 |')", poor=lacking)
    run_all(monkeypatch, "--out", str(tmp_path / "report.md"))
    report = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "## About good" in report
    assert "| 1.5 |" in report
    assert "Not run: No data here." in report


def test_nothing_is_written_when_a_benchmark_fails(programs, monkeypatch, tmp_path):
    programs(good="print('| 1.5 |')", bad="raise SystemExit('ours is mistaken')")
    with pytest.raises(SystemExit, match=r"(?s)benchmarks\.bad.*failed.*ours is mistaken"):
        run_all(monkeypatch, "--out", str(tmp_path / "report.md"))
    assert not (tmp_path / "report.md").exists()
