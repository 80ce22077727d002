"""Tasks that need positions: what is asked, what is answered, and what is kept."""

import dataclasses
import re

import pytest
import torch
import torch.nn.functional as F
from commands import experiment

from course.experiments import processes, tasks, training
from course.experiments.tasks import (
    LENGTHS,
    N_SYMBOLS,
    NOT_ASKED,
    QUESTION,
    SEPARATOR,
    SIZE,
    STEPS_BACK,
    TASKS,
    TRAINED,
    Job,
    Muon,
)
from course.lessons.longer import measure

in_every_task = pytest.mark.parametrize("task", TASKS)
at_every_length = pytest.mark.parametrize("length", [4, 8, 28, *LENGTHS])


def examples(task, length):
    return TASKS[task].make(5, length, torch.Generator().manual_seed(length))


def texts(task, length):
    """Return the ids of each text."""
    ids, _ = examples(task, length)
    return ids.tolist()


def result(task, scheme, accuracy, stretched=None, seed=0):
    return tasks.TaskResult(task, scheme, seed, accuracy, stretched or {}, {}, 0.0)


# --- what is asked ------------------------------------------------------------------------------


def followers(ids, half):
    """Of each symbol of the second half, where it is first and what followed it in the first."""
    pairs = dict(zip(ids[:half:2], ids[1:half:2], strict=True))
    return {half + 2 * ids[half::2].index(one): pairs[one] for one in ids[half::2]}


WANTED = {  # all that is asked in a text, by position
    "copy": lambda ids, half: dict(enumerate(ids[:half], half)),
    "reverse": lambda ids, half: dict(enumerate(ids[half - 1 :: -1], half)),
    "back": lambda ids, half: dict(enumerate(ids[:-STEPS_BACK], STEPS_BACK)),
    "induction": followers,
    "needle": lambda ids, half: {len(ids) - 1: max(ids[:-1])},  # it is unlike the noise
}


@in_every_task
@at_every_length
def test_what_is_asked_is_what_the_task_says(task, length):
    all_ids, all_answers = examples(task, length)
    assert all_ids.shape == all_answers.shape == (5, length)
    for ids, answers in zip(all_ids.tolist(), all_answers.tolist(), strict=True):
        asked = {at: answer for at, answer in enumerate(answers) if answer != NOT_ASKED}
        assert asked == WANTED[task](ids, length // 2) != {}
        assert all(0 <= answer < N_SYMBOLS for answer in asked.values())


@at_every_length
def test_a_text_has_the_form_of_its_task(length):
    half = length // 2
    for task in ("copy", "reverse"):
        for ids in texts(task, length):
            again = WANTED[task](ids, half).values()
            assert ids[half:] == [SEPARATOR, *again][:half]
            assert len({*again}) == min(half, N_SYMBOLS)
    for ids in texts("induction", length):
        pairs = [*zip(ids[::2], ids[1::2], strict=True)]
        assert sorted(pairs[: half // 2]) == sorted(pairs[half // 2 :])
    for ids in texts("needle", length):
        assert sum(one >= N_SYMBOLS // 2 for one in ids[:-1]) == 1 and ids[-1] == QUESTION


# --- a model ------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch):
    """Trainings of three steps."""
    short = {name: dataclasses.replace(task, steps=3) for name, task in TASKS.items()}
    monkeypatch.setattr(tasks, "TASKS", short)


@pytest.mark.parametrize("scheme", tasks.COMPARED)
def test_weights_of_attention_are_those_that_the_model_mixes_by(scheme):
    model = tasks.new_model(Job("copy", scheme, 0))
    ids, seen = torch.randint(N_SYMBOLS, (2, 12)), []
    model.blocks[1].from_heads.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    model.blocks[1].register_forward_pre_hook(
        lambda block, given: seen.append(block.heads(*given[::2]))
    )
    model(ids)
    (_, _, values), mixed = seen
    wanted = measure.attention_weights(model, ids)[1] @ values
    torch.testing.assert_close(mixed, wanted.transpose(1, 2).flatten(-2))


def test_accuracy_counts_what_is_asked_and_nothing_else(monkeypatch):
    """Four are asked, and a model that always says 5 is right twice."""
    answers = torch.tensor([[NOT_ASKED, 5, 6, NOT_ASKED], [5, NOT_ASKED, NOT_ASKED, 7]])
    made = torch.full((2, 4), 5), answers
    fixed = tasks.Task("", lambda n_texts, length, generator: made, 1)
    monkeypatch.setattr(tasks, "TASKS", {"fixed": fixed})
    five = F.one_hot(torch.tensor(5), N_SYMBOLS).float()
    assert tasks.accuracy(lambda ids: five.expand(*ids.shape, -1), "fixed", 4) == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "least", "most"), [("t5", 0.95, 1.0), ("none", 0.0, 0.3)])
def test_three_back_is_learned_from_positions_alone(scheme, least, most):
    model = tasks.trained(Job("back", scheme, 0))
    assert least <= tasks.accuracy(model, "back", TRAINED) <= most


def test_learned_rows_end_where_training_does_and_are_not_asked_beyond(quick, tmp_path):
    result = tasks.result_of(Job("needle", "learned", 0), tmp_path)
    assert [*result.accuracy] == [TRAINED]
    rows = tasks.table([result], "needle")
    assert [*rows["learned"]] == [TRAINED]


def test_a_step_of_muon_turns_every_direction_by_as_much():
    weight = torch.zeros(8, 4, requires_grad=True)
    weight.grad = torch.diag(torch.tensor([1.0, 5.0, 25.0, 125.0])).repeat(2, 1)
    Muon([weight], lr=0.1).step(share=0.5)
    for half in weight.detach().split(4):
        changes = half.diagonal()
        assert torch.all((changes < -0.05 * 0.6) & (changes > -0.05 * 1.3))
        torch.testing.assert_close(half, torch.diag(changes))


def test_rope_is_also_asked_with_other_angles_and_is_as_before_afterwards(quick):
    model = tasks.trained(Job("back", "rope", 0))
    before = tasks.accuracy(model, "back", 64)
    found = tasks.stretched_accuracy(model, "back")
    assert tasks.accuracy(model, "back", 64) == before
    plain = tasks.accuracy(model, "back", TRAINED)
    assert {way: by[TRAINED] for way, by in found.items()} == {"ntk": plain, "yarn": plain}
    assert all([*by] == [*LENGTHS] for by in found.values())


# --- all of them --------------------------------------------------------------------------------


def test_what_is_trained_is_kept_and_a_run_that_was_stopped_continues(quick, tmp_path, monkeypatch):
    jobs = [Job("needle", "none", seed) for seed in (4, 5, 6)]
    first = [tasks.result_of(job, tmp_path) for job in jobs[:2]]
    told, trained = [], tasks.trained
    monkeypatch.setattr(tasks, "trained", lambda job, tell: told.append(job) or trained(job, tell))
    steps = []
    again = [tasks.result_of(job, tmp_path, steps.append) for job in jobs]
    assert again[:2] == first and told == jobs[2:]
    assert steps == [3, 3, 1, 2, 3, 3]  # what is kept counts as done
    assert [(one.scheme, one.seed) for one in again] == [("none", 4), ("none", 5), ("none", 6)]
    assert {"TokenEmbedding", "tied_logits"} <= again[0].sources.keys()


def test_the_table_is_the_mean_over_seeds():
    results = [
        result("copy", "rope", {32: 1.0}, {"ntk": {32: 0.5}}),
        result("copy", "rope", {32: 0.5}, {"ntk": {32: 0.0}}),
        result("back", "rope", {32: 0.0}),
    ]
    assert tasks.table(results, "copy") == {"rope": {32: 0.75}, "rope, ntk": {32: 0.25}}


def test_the_numbers_of_the_figures_are_the_table_and_two_heads(monkeypatch):
    """In layer 1, head 1 looks one back; in layer 2, head 2 looks at what followed the same."""

    def weights(model, ids):
        found = torch.zeros(2, *ids.shape[:1], SIZE.n_heads, ids.shape[1], ids.shape[1])
        found[0, :, 1].diagonal(-1, -2, -1).fill_(0.123)
        for text, of_text in zip(ids.tolist(), found[1, :, 2], strict=True):
            for at, token in enumerate(text):
                of_text[at, min(text.index(token) + 1, len(text) - 1)] = 0.456
        return found

    results = [
        result(task, "t5", {32: share}, seed=seed)
        for task in TASKS
        for seed, share in ((0, 0.5), (1, 1.0))
    ]
    monkeypatch.setattr(measure, "trained", tasks.new_model)
    monkeypatch.setattr(measure, "_as_the_command_trains", lambda: results)
    monkeypatch.setattr(measure, "attention_weights", weights)
    found = measure.tasks(quick=False)
    assert found["lengths"] == LENGTHS
    assert found["accuracy"] == {task: {"t5": [75]} for task in TASKS}
    assert len(found["ids"]) == 16
    assert sum(row.count(0.12) for row in found["layer 1"]) == 15
    assert sum(row.count(0.46) for row in found["layer 2"]) == 16


def test_all_tasks_and_schemes_are_compared_three_times():
    jobs = tasks.jobs_for(seed=7)
    assert len({*jobs}) == len(jobs) == len(TASKS) * len(tasks.COMPARED) * 3
    assert {one.seed for one in jobs} == {7, 8, 9}
    assert "rnope" not in tasks.COMPARED  # in one layer, it is another one


def test_a_seed_that_cannot_be_used_is_refused_in_a_sentence():
    assert "Error: Invalid value" in experiment("tasks", "--seed", "-1", status=2)


@pytest.mark.slow
def test_the_command_asks_each_task_and_says_what_is_borrowed(tmp_path, monkeypatch):
    short = {"copy": dataclasses.replace(TASKS["copy"], steps=2)}
    monkeypatch.setattr(tasks, "TASKS", short)
    monkeypatch.setattr(
        processes,
        "side_by_side",
        lambda work, names, given, tell: [
            work(name, *given, lambda *what, name=name: tell(name, *what)) for name in names
        ],
    )  # here, where three steps are enough
    monkeypatch.setattr(training, "kept_in", lambda experiment: tmp_path)
    said = experiment("tasks")
    rows = dict(re.findall(r"^ *(\w+)((?: +(?:\d+|–)){5})$", said, re.MULTILINE))
    assert rows.keys() == {"tokens", *tasks.COMPARED, "ntk", "yarn"}
    assert rows["tokens"].split() == [*map(str, LENGTHS)]
    assert rows["learned"].split()[1:] == ["–"] * 4
    assert "Borrowed" in said or "your own code" in said
    assert len([*tmp_path.glob("copy-*.pt")]) == 3 * len(tasks.COMPARED)
