"""`course experiment gpt`: the count of lines, the training, the cache, and what it prints."""

import dataclasses
import math
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from commands import experiment
from torch import nn

from course import ROOT
from course.core.schemes import ModelSize
from course.data.corpus import Corpus
from course.data.kingdom import kingdom_text
from course.experiments import gpt, processes, writing
from course.experiments.gpt import WITH, WITHOUT, GPTTraining, tally
from course.experiments.training import TrainingSettings
from course.student.exercises import passing_exercises

SMALL = TrainingSettings(
    ModelSize(n_layers=2, n_embd=16, n_heads=2),
    steps=6,
    batch_size=2,
    lr=0.01,
    context=24,
    warm_up=2,
)
CORPUS = Corpus("kingdom", kingdom_text(300))


# --- the count of lines ------------------------------------------------------------------------


def test_lines_that_do_not_end_are_not_counted():
    assert tally(["dog bites man.\ndog bi", "\nman bites"], set()).n_lines == 2
    assert tally([""], set()).share == 0.0


# --- the model ----------------------------------------------------------------------------------


def test_without_positions_only_the_turning_is_missing():
    both = {way: GPTTraining(way, SMALL, CORPUS.text) for way in (WITH, WITHOUT)}
    models = {way: training.model for way, training in both.items()}
    for name, weights in models[WITH].state_dict().items():
        assert torch.equal(weights, models[WITHOUT].state_dict()[name])
    for way, model in models.items():
        one_layer = nn.ModuleList(list(model.blocks)[:1])  # a second one sees how much was read
        nn.init.normal_(one_layer[0].attention.out_proj.weight)
        x = torch.randn(1, 8, 16)
        last, of_swapped = (one_layer[0](some)[:, -1] for some in (x, x[:, [1, 0, *range(2, 8)]]))
        assert torch.allclose(last, of_swapped, atol=1e-5) == (way == WITHOUT)


@pytest.mark.parametrize("n_held_out", [24, 25, 48, 70])
def test_every_held_out_character_is_predicted_once(n_held_out):
    training = GPTTraining(WITH, SMALL, CORPUS.text)
    ids = training.held_out_ids = training.held_out_ids[:n_held_out]
    losses = []
    for place in range(1, n_held_out):
        start = (place - 1) // 23 * 23  # windows of 24 that share a character
        logits = training.model(ids[start:place][None])[0, -1]
        losses.append(F.cross_entropy(logits, ids[place]).item())
    assert training.whole_held_out_loss() == pytest.approx(sum(losses) / len(losses), abs=1e-5)


# --- what is kept -------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The folder where trainings are kept."""
    monkeypatch.setattr(gpt, "kept_in", lambda experiment: tmp_path / "kept")
    return tmp_path / "kept"


def same(first, second):
    return dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)


@pytest.mark.slow
def test_a_training_is_heard_and_is_found_again(kept, monkeypatch):
    monkeypatch.setattr(gpt, "SECONDS_BETWEEN_SAMPLES", 0.0)
    reports = []

    def tell(step, sample=""):
        reports.append((step, sample))

    done = gpt.result_of(WITH, SMALL, CORPUS, tell)
    assert [step for step, _ in reports] == [1, 2, 3, 4, 5, 6]
    assert all(sample for _, sample in reports)
    assert gpt.result_of(WITH, SMALL, CORPUS, tell) == done and len(reports) == 6
    assert gpt.trained(SMALL, CORPUS).whole_held_out_loss() == done.held_out


def test_a_damaged_file_costs_a_training_and_nothing_else(kept):
    first = gpt.result_of(WITHOUT, SMALL, CORPUS)
    (file,) = kept.iterdir()
    file.write_bytes(b"\xff")
    assert same(gpt.result_of(WITHOUT, SMALL, CORPUS), first)


def test_another_seed_another_text_and_another_way_are_other_files(kept, monkeypatch):
    monkeypatch.setattr(gpt, "_trained", lambda *_: {"result": {"lines": None}})
    monkeypatch.setattr(gpt, "TrainedGPT", lambda **fields: None)
    gpt.result_of(WITH, SMALL, CORPUS)
    gpt.result_of(WITHOUT, SMALL, CORPUS)
    gpt.result_of(WITH, dataclasses.replace(SMALL, seed=1), CORPUS)
    gpt.result_of(WITH, SMALL, Corpus("kingdom", CORPUS.text + "\n"))
    assert len([*kept.iterdir()]) == 4


# --- when the student's code fails --------------------------------------------------------------


def test_what_a_student_s_code_raises_becomes_a_sentence_that_names_it(kept, monkeypatch):
    def broken(self, x):
        raise ValueError("seven\nlines")

    attention = passing_exercises("gpt").GPT(11, 16, 2, 1, 24).blocks[0].attention
    monkeypatch.setattr(type(attention.out_proj), "forward", broken)
    with pytest.raises(gpt.TrainingStopped, match=r"ValueError: seven; .* Causal") as stopped:
        gpt.result_of(WITH, SMALL, CORPUS)
    assert "course check" in str(stopped.value) and "\n" not in str(stopped.value)


def test_a_loss_that_is_no_number_is_a_sentence(kept, monkeypatch):
    names = {name: getattr(passing_exercises("gpt"), name) for name in ("GPT", "generate")}
    without_number = SimpleNamespace(
        **names, next_token_loss=lambda logits, _: logits.sum() * math.nan
    )
    monkeypatch.setattr(gpt, "exercises_of", lambda way: without_number)
    with pytest.raises(gpt.TrainingStopped, match=r"the loss is nan"):
        gpt.result_of(WITH, SMALL, CORPUS)


# --- writing ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    made = passing_exercises("gpt").GPT(11, 16, 2, 2, 24)
    for weights in made.blocks.parameters():
        nn.init.normal_(weights, std=0.3)
    return made


@pytest.mark.parametrize(("n_prompt", "n_new"), [(1, 0), (1, 60), (12, 13), (13, 12), (40, 1)])
def test_a_text_goes_on_beyond_the_positions_that_there_are(model, n_prompt, n_new):
    ids, told = torch.arange(n_prompt)[None] % 11, []
    generate, generator = passing_exercises("gpt").generate, torch.Generator().manual_seed(0)
    text = writing.go_on(generate, model, ids, n_new, 1.0, generator, told.append)
    assert torch.equal(text[:, :n_prompt], ids)
    assert text.shape == (1, n_prompt + n_new)
    assert told == text[0, n_prompt:].tolist()


def test_with_the_cache_and_without_the_same_is_written(model):
    found = writing.tokens_per_second(passing_exercises("gpt").generate, model, first=3, n_rounds=1)
    (text, speed), (other, slower) = found["with the cache"], found["without"]
    assert text == other and len(text) == model.max_seq_len and len({*text}) > 3
    assert speed > 0 and slower > 0


def test_each_token_is_told_once_also_where_the_last_one_is_read(model):
    """Reading it is right, and of no use."""

    def generate(model, ids, n_new, *_, **__):
        caches = [{} for _ in model.blocks]
        for _ in range(n_new):
            logits = model(ids[:, -1:] if caches[0] else ids, caches)
            ids = torch.cat((ids, logits[:, -1:].argmax(dim=-1)), dim=1)
        model(ids[:, -1:], caches)
        return ids

    told, prompt = [], torch.tensor([[1, 2, 3]])
    with torch.no_grad():
        text = writing.go_on(generate, model, prompt, 60, 0.0, torch.Generator(), told.append)
    assert told == text[0, 3:].tolist() and len(told) == 60


def test_without_a_cache_the_whole_text_is_read_each_time(model):
    lengths = []
    seen = model.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    passing_exercises("gpt").generate(writing.WithoutCache(model), torch.tensor([[1, 2, 3]]), 4)
    passing_exercises("gpt").generate(model, torch.tensor([[1, 2, 3]]), 4)
    seen.remove()
    assert lengths == [3, 4, 5, 6, 3, 1, 1, 1]


# --- processes ----------------------------------------------------------------------------------

PATIENCE = 300
"""Seconds for whatever should happen at all; to wait so long is to fail."""

HELPERS = """
import os, time
from pathlib import Path
from course.core.files import write_atomically

def work(name, folder, tell):
    for step in range(1_000_000):
        tell(step)
        write_atomically(Path(folder, name), str(os.getpid()))
        if name == "fails" and step == 3:
            raise ValueError("three")
        if name == "vanishes" and step == 3:
            os._exit(1)
        if name.startswith("ends") and step == 3:
            return name.upper()
        time.sleep(0.01)

if __name__ == "__main__":
    import sys
    from course.experiments.processes import side_by_side
    side_by_side(work, ("endless", "longer"), (sys.argv[1],))
"""


@pytest.fixture
def helpers(tmp_path, monkeypatch):
    """A module that other processes can import."""
    (tmp_path / "work_for_processes.py").write_text(HELPERS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    import work_for_processes

    yield work_for_processes
    del sys.modules["work_for_processes"]


def test_results_come_in_the_order_of_the_names(helpers, tmp_path):
    told = []
    names = ("ends", "ends too", "ends at last")
    results = processes.side_by_side(
        helpers.work, names, (str(tmp_path),), lambda *report: told.append(report)
    )
    assert results == [name.upper() for name in names]
    for name in names:
        assert [step for teller, step in told if teller == name] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [("fails", ValueError, "three"), ("vanishes", ChildProcessError, "vanishes ended without")],
)
def test_when_one_fails_the_others_end(helpers, tmp_path, name, error, said):
    with pytest.raises(error, match=said):
        processes.side_by_side(helpers.work, ("endless", name), (str(tmp_path),))
    ends(tmp_path / "endless")


def ends(note: Path):
    """See that the process that wrote its number into a file ends; the file may not be there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(int(note.read_text(encoding="utf-8")), 0)
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.05)
    pytest.fail("it is still at work")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_no_process_outlives_the_one_that_started_it(helpers, tmp_path, how):
    starter = subprocess.Popen([sys.executable, tmp_path / "work_for_processes.py", tmp_path])
    deadline = time.monotonic() + PATIENCE
    while not all((tmp_path / name).exists() for name in ("endless", "longer")):
        assert time.monotonic() < deadline and starter.poll() is None
        time.sleep(0.05)
    starter.send_signal(getattr(signal, how))
    starter.wait()
    ends(tmp_path / "endless")
    ends(tmp_path / "longer")


# --- the command --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for what is kept, small settings, no fetched texts and no other processes."""

    def one_by_one(work, names, arguments, on_report):
        return [work(name, *arguments, partial(on_report, name)) for name in names]

    monkeypatch.setattr(processes, "side_by_side", one_by_one)
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "no data"))
    monkeypatch.setattr(gpt, "kept_in", lambda experiment: tmp_path / "kept")
    monkeypatch.setattr(gpt, "SHORT", SMALL)
    monkeypatch.setattr(gpt, "LONG", SMALL)
    return tmp_path


@pytest.mark.slow
def test_the_command_trains_both_and_then_finds_them_again(folder):
    said = experiment("gpt", "--seed", "3")
    assert "16 features, 2 heads and" in said and "seed 3" in said
    rows = re.findall(
        r"^(with\w*) positions +(\d\.\d\d) +\d+ +\d+\.\d% +\d+ +\d+\.\d s$", said, re.M
    )
    assert [row[0] for row in rows] == ["without", "with"]
    assert said.count("it writes:") == 3
    gone_on = experiment("gpt", "--seed", "3", "--prompt", "the old king")
    assert "\nthe old king" in gone_on and "Both write the same" in gone_on
    assert re.search(r"with the cache, [\d,]+ without", gone_on)
    assert "Borrowed" in said or "your own code" in said
    assert experiment("gpt", "--seed", "3").endswith(said[said.index("A GPT") :])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prompt", "the König"], ["'K'", "--long"]),
        (["--long"], ["tinyshakespeare.txt is missing", "course data tinyshakespeare"]),
    ],
    ids=["a character that the text lacks", "Shakespeare was not fetched"],
)
def test_what_cannot_be_trained_is_one_sentence_before_anything_was(folder, options, words):
    said = experiment("gpt", *options, status=1)
    assert said.count("\n") == 1 and all(word in said for word in words)
    assert not (folder / "kept").exists()
    (folder / "kept").write_text("a file", encoding="utf-8")
    said = experiment("gpt", status=1)
    assert "kept" in said and "step 1" not in said
