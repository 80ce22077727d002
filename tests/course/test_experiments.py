"""The experiments: what they train is what they say, and nothing is computed twice."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from click.testing import CliRunner

from course.cli import main
from course.data.kingdom import kingdom_text
from course.experiments import block_skipgram, positions
from course.experiments.block_skipgram import train_in_blocks
from course.experiments.character_gpt import LONGEST, SCHEMES, CharacterGPT, Size
from course.experiments.stretch import SqueezedRope, stretched_losses
from course.experiments.training import Settings, Training
from course.experiments.twins import share_of_twins_found, with_twins

SMALL = Settings(Size(n_layers=2, n_embd=16, n_heads=2), steps=6, batch_size=2, lr=0.01)
TEXT = kingdom_text()[:8000]

each_scheme = pytest.mark.parametrize("scheme", SCHEMES)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for results, and a course without fetched texts."""
    monkeypatch.setenv("COURSE_DATA", str(tmp_path / "no data"))
    return tmp_path / "results"


def model(scheme):
    """A model whose blocks do something: fresh ones change nothing yet."""
    torch.manual_seed(1)
    made = CharacterGPT(11, SMALL.size, scheme)
    for parameter in made.blocks.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return made


# --- the models ---------------------------------------------------------------------------------


@each_scheme
def test_a_model_knows_nothing_of_what_comes_later(scheme):
    ids = torch.randint(11, (2, 20))
    changed = ids.clone()
    changed[:, 12:] = (changed[:, 12:] + 1) % 11
    before, after = model(scheme)(ids), model(scheme)(changed)
    torch.testing.assert_close(before[:, :12], after[:, :12])
    assert not torch.allclose(before[:, 12:], after[:, 12:])


@each_scheme
def test_only_without_positions_is_the_order_of_the_past_lost(scheme):
    ids = torch.arange(8)[None]
    swapped = ids[:, [1, 0, 2, 3, 4, 5, 6, 7]]
    one_layer = model(scheme)
    del one_layer.blocks[1]  # a second layer sees how much of the past the first one saw
    same = torch.allclose(one_layer(ids)[:, -1], one_layer(swapped)[:, -1], atol=1e-6)
    assert same == (scheme == "none")


@each_scheme
def test_a_model_reads_texts_up_to_the_longest(scheme):
    assert model(scheme)(torch.zeros(1, LONGEST, dtype=torch.int64)).shape == (1, LONGEST, 11)


def test_rope_squeezed_by_1_is_rope():
    x, turn = torch.randn(2, 3, 10, 8), CharacterGPT(11, SMALL.size, "rope").turned
    torch.testing.assert_close(SqueezedRope(1.0, 8)(x), turn(x))
    torch.testing.assert_close(SqueezedRope(2.0, 8)(x)[:, :, ::2], turn(x[:, :, ::2]))


def test_stretched_rope_is_the_same_where_nothing_is_stretched():
    training = Training("rope", SMALL, TEXT)
    trained, losses = training.model.turned, stretched_losses(training, (64, 128))
    assert training.model.turned is trained
    for way in "ntk", "linear":
        assert losses[way][64] == pytest.approx(training.held_out_loss(64), abs=1e-5)


# --- training and what is kept ------------------------------------------------------------------


def test_training_learns():
    training = Training("alibi", dataclasses.replace(SMALL, steps=60, batch_size=8), TEXT)
    before = training.held_out_loss(64)
    for _ in range(60):
        training.take_step()
    assert training.held_out_loss(64) < before - 0.5


@each_scheme
def test_a_training_that_was_stopped_goes_on_as_if_nothing_had_happened(
    scheme, folder, monkeypatch
):
    monkeypatch.setattr(positions, "STEPS_BETWEEN_NOTES", 2)
    whole = positions.result_of(scheme, SMALL, folder / "whole")
    take_step = Training.take_step

    def stop_at_step_5(training):
        if training.step == 5:
            raise KeyboardInterrupt
        take_step(training)

    with monkeypatch.context() as patched:
        patched.setattr(Training, "take_step", stop_at_step_5)
        with pytest.raises(KeyboardInterrupt):
            positions.result_of(scheme, SMALL, folder)
    taken = []
    monkeypatch.setattr(Training, "take_step", lambda t: taken.append(t.step) or take_step(t))
    resumed = positions.result_of(scheme, SMALL, folder)
    assert taken == [4, 5]
    assert dataclasses.replace(resumed, seconds=0) == dataclasses.replace(whole, seconds=0)
    assert [path.suffix for path in folder.iterdir() if path.is_file()] == [".json"]


def test_a_result_is_found_again(folder, monkeypatch):
    first = positions.result_of("rope", SMALL, folder)
    monkeypatch.setattr(Training, "take_step", None)
    assert positions.result_of("rope", SMALL, folder) == first
    with pytest.raises(TypeError):
        positions.result_of("rope", dataclasses.replace(SMALL, seed=1), folder)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b"[1, 2]"])
def test_a_damaged_file_costs_a_training_and_nothing_else(folder, damage):
    first = positions.result_of("none", SMALL, folder)
    (kept,) = folder.iterdir()
    kept.write_bytes(damage)
    kept.with_suffix(".pt").write_bytes(damage)
    again = positions.result_of("none", SMALL, folder)
    assert dataclasses.replace(again, seconds=0) == dataclasses.replace(first, seconds=0)


def test_who_wrote_an_exercise_decides_which_result_is_found(folder, monkeypatch):
    before = {scheme: positions._fingerprint(scheme, SMALL, TEXT) for scheme in SCHEMES}
    exercise = positions._exercise

    def mine(name):
        return "yours" if name == "RotaryEmbedding" else "borrowed", exercise(name)[1]

    monkeypatch.setattr(positions, "_exercise", mine)
    assert positions._fingerprint("rope", SMALL, TEXT) != before
    assert positions._fingerprint("none", SMALL, TEXT) == positions._fingerprint(
        "none", SMALL, TEXT
    )


# --- the command --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_compares_and_draws(folder, monkeypatch):
    monkeypatch.setattr(positions, "FOLDER", folder)
    monkeypatch.setattr("course.experiments.training.QUICK", SMALL)
    results = []
    monkeypatch.setattr(
        positions,
        "shoot_out",
        lambda settings, schemes, on_step: (
            results.extend(SHOOT_OUT(settings, schemes, on_step, folder)) or results
        ),
    )
    ran = CliRunner().invoke(main, ["experiment", "positions", "rope", "none", "--seed", "3"])
    assert ran.exit_code == 0, ran.output
    assert "held-out text of kingdom" in ran.output and "seed 3" in ran.output
    for result in results:
        for loss in result.held_out.values():
            assert f"{loss:.2f}" in ran.output
    assert sorted(path.name for path in folder.glob("*.png")) == ["lengths.png", "training.png"]


SHOOT_OUT = positions.shoot_out


def test_an_unknown_scheme_is_refused():
    ran = CliRunner().invoke(main, ["experiment", "positions", "roap"])
    assert ran.exit_code == 2
    assert "roap" in ran.output


# --- skip-gram in blocks ------------------------------------------------------------------------


def test_a_step_follows_the_gradient_of_the_loss(monkeypatch):
    """What is moved by hand is what autograd says of the loss that the text gives."""
    ids, counts = torch.randint(7, (64,)), torch.ones(7)
    moved, drawn = [], []
    search = torch.searchsorted
    monkeypatch.setattr(
        torch, "searchsorted", lambda *a, **k: drawn.append(search(*a, **k)) or drawn[-1]
    )
    tables = []

    def note(table, squares, words, gradient, lr):
        tables.append(table.clone())
        rows = torch.zeros_like(table)
        rows.index_add_(0, words.flatten(), gradient.reshape(-1, table.shape[1]))
        moved.append(rows)
        table += 0.1 * torch.arange(table.numel()).view_as(table).sin()  # so that nothing is 0

    monkeypatch.setattr(block_skipgram, "_move", note)
    generator = torch.Generator().manual_seed(0)
    options = {"window": 3, "block": 8, "n_drawn": 5, "n_negatives": 2, "generator": generator}
    train_in_blocks(ids, counts, 4, epochs=2, blocks_per_step=100, **options)
    replay = torch.Generator().manual_seed(0)
    torch.rand(7, 4, generator=replay)
    for epoch in range(2):
        start = torch.randint(8, (), generator=replay)
        blocks = ids[start : 64 - (64 - start) % 8].view(-1, 8)
        torch.randperm(len(blocks), generator=replay)
        torch.rand(5, generator=replay)
        center = tables[3 * epoch].requires_grad_()
        context = tables[3 * epoch + 1].clone().requires_grad_()
        loss = torch.zeros(())
        for block in blocks:
            for i, word in enumerate(block):
                for j, neighbor in enumerate(block):
                    if i != j and abs(i - j) <= 3:
                        weight = 1 - (abs(i - j) - 1) / 3
                        loss = loss - weight * F.logsigmoid(center[word] @ context[neighbor])
                        shared = -F.logsigmoid(-context[drawn[epoch]] @ center[word]).sum()
                        loss = loss + weight * 2 / 5 * shared
        loss.backward()
        torch.testing.assert_close(moved[3 * epoch], center.grad)
        torch.testing.assert_close(moved[3 * epoch + 1] + moved[3 * epoch + 2], context.grad)


def test_words_that_do_not_occur_are_never_drawn(monkeypatch):
    drawn = []
    search = torch.searchsorted
    monkeypatch.setattr(
        torch, "searchsorted", lambda *a, **k: drawn.append(search(*a, **k)) or drawn[-1]
    )
    ids = torch.tensor([1, 3] * 200)
    train_in_blocks(ids, torch.tensor([0, 200, 0, 200, 0]), 4)
    assert set(torch.cat(drawn).tolist()) == {1, 3}


def test_it_finds_twins_and_repeats_itself():
    text = with_twins(kingdom_text(), split_from=40)
    tables = [
        train_in_blocks(
            text.ids, text.counts, 16, epochs=20, generator=torch.Generator().manual_seed(2)
        )
        for _ in range(2)
    ]
    torch.testing.assert_close(tables[0], tables[1], rtol=0, atol=0)
    found = share_of_twins_found(tables[0][0], text.twins)
    by_chance = share_of_twins_found(torch.randn(len(text.counts), 16), text.twins)
    assert found > 0.4 and found > by_chance + 0.3


def test_a_text_shorter_than_two_blocks_is_refused():
    with pytest.raises(ValueError, match="two blocks of 32 words or more; got 63"):
        train_in_blocks(torch.zeros(63, dtype=torch.int64), torch.ones(1))


def test_twins_share_the_occurrences_of_their_word():
    text = with_twins("a b " * 100 + "c " * 10 + "d", split_from=50, min_count=5)
    assert len(text.ids) == 210
    assert sorted(text.counts.tolist())[0] == 10 and len(text.counts) == 5
    assert text.counts[text.twins].sum(1).tolist() == [100, 100]
    assert torch.equal(text.ids.bincount(), text.counts)
