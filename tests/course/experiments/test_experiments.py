"""The experiments: what they train is what they say, and nothing is computed twice."""

import dataclasses

import pytest
import torch
from commands import experiment

from course.core.schemes import LONGEST, SCHEMES, ModelSize
from course.data.kingdom import kingdom_text
from course.experiments import positions, training
from course.experiments.character_gpt import ALWAYS, CharacterGPT
from course.experiments.positions import RopeAt, frequencies, stretched_losses
from course.experiments.training import Training, TrainingSettings
from course.lessons.skipgram.block_skipgram import train_in_blocks
from course.lessons.skipgram.twins import share_of_twins_found, with_twins

SMALL = TrainingSettings(
    ModelSize(n_layers=2, n_embd=16, n_heads=2), steps=6, batch_size=2, lr=0.01
)
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
@torch.no_grad()
def test_a_model_sees_all_that_came_before_and_nothing_that_comes_later(scheme):
    made, ids = model(scheme), torch.arange(10)[None]
    logits = made(ids)
    for changed in range(10):
        other = ids.clone()
        other[0, changed] = 10
        differs = (made(other) - logits).abs().amax(-1)[0] > 1e-5
        assert differs.tolist() == [False] * changed + [True] * (10 - changed)
    assert made(torch.zeros(1, LONGEST, dtype=torch.int64)).shape == (1, LONGEST, 11)


@each_scheme
def test_only_without_positions_is_the_order_of_the_past_lost(scheme):
    ids = torch.arange(8)[None]
    swapped = ids[:, [1, 0, 2, 3, 4, 5, 6, 7]]
    one_layer = model(scheme)
    del one_layer.blocks[1]  # a second layer sees how much of the past the first one saw
    same = torch.allclose(one_layer(ids)[:, -1], one_layer(swapped)[:, -1], atol=1e-6)
    assert same == (scheme == "none")


@pytest.mark.parametrize(("scheme", "n_turned"), [("rope", 8), ("partial", 2)])
def test_rope_at_the_frequencies_of_a_scheme_is_that_scheme(scheme, n_turned):
    x, turn = torch.randn(2, 3, 10, 8), CharacterGPT(11, SMALL.size, scheme).turned
    torch.testing.assert_close(RopeAt(frequencies(n_turned))(x), turn(x))
    slower = RopeAt(frequencies(n_turned) / 2)(x)
    torch.testing.assert_close(slower[:, :, ::2], turn(x[:, :, ::2]))


def test_stretched_rope_is_the_same_where_nothing_is_stretched():
    done = Training("rope", SMALL, TEXT)
    done.model = model("rope")  # fresh blocks do nothing, whatever turns
    done.model.tokens = type(done.model.tokens)(done.tokenizer.vocab_size, 16)
    trained, losses = done.model.turned, stretched_losses(done, (64, 128))
    assert done.model.turned is trained
    assert [*losses] == ["ntk", "linear", "yarn 32", "yarn 4"]
    plain = {length: done.held_out_loss(length) for length in (64, 128)}
    for of_way in losses.values():
        assert of_way[64] == pytest.approx(plain[64], abs=1e-5)
        assert abs(of_way[128] - plain[128]) > 1e-5


@pytest.mark.parametrize(
    ("scheme", "wanted"),
    [("rnope", [0, "turn", "turn", 1]), ("rope", [0, "turn", "turn", 1, "turn", "turn"])],
)
def test_which_layers_turn_their_queries_and_keys(scheme, wanted):
    made, seen = model(scheme), []
    for layer, block in enumerate(made.blocks):
        block.register_forward_pre_hook(lambda *_, layer=layer: seen.append(layer))
    made.turned.register_forward_hook(lambda *_: seen.append("turn"))
    made(torch.randint(11, (2, 20)))
    assert seen == wanted


# --- training and what is kept ------------------------------------------------------------------


def test_training_learns():
    learning = Training(
        "alibi", dataclasses.replace(SMALL, steps=60, batch_size=8, context=64), TEXT
    )
    before = learning.held_out_loss(64)
    for _ in range(60):
        learning.take_step()
    assert learning.held_out_loss(64) < before - 0.5


@pytest.mark.slow
def test_a_result_is_found_again(folder, monkeypatch):
    first = positions.result_of("rope", SMALL, folder)
    monkeypatch.setattr(Training, "take_step", None)
    assert positions.result_of("rope", SMALL, folder) == first
    with pytest.raises(TypeError):
        positions.result_of("rope", dataclasses.replace(SMALL, seed=1), folder)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff"])
def test_what_is_kept_is_not_made_again_unless_it_is_damaged(tmp_path, damage):
    path, made = tmp_path / "new folder" / "kept.pt", []

    def make():
        made.append(torch.ones(len(made)))
        return {"result": made[-1]}

    for _ in range(2):
        assert len(training.kept_or_made(path, make)["result"]) == 0
    path.write_bytes(damage)
    assert len(training.kept_or_made(path, make)["result"]) == 1
    assert len(made) == 2


def test_who_wrote_an_exercise_decides_which_result_is_found(monkeypatch):
    def found():
        return {
            name: training.fingerprint(SMALL, TEXT, (*ALWAYS, *scheme.exercises))
            for name, scheme in SCHEMES.items()
        }

    before, sources = found(), training.sources

    def mine(names):
        return sources(names) | ({"RotaryEmbedding": "yours"} if "RotaryEmbedding" in names else {})

    monkeypatch.setattr(training, "sources", mine)
    after = found()
    depend_on_it = [name for name, one in SCHEMES.items() if "RotaryEmbedding" in one.exercises]
    assert [scheme for scheme in SCHEMES if after[scheme] != before[scheme]] == depend_on_it
    assert "rope" in depend_on_it and "alibi" not in depend_on_it


# --- the command --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_compares(folder, monkeypatch):
    monkeypatch.setattr(positions, "kept_in", lambda experiment: folder)
    monkeypatch.setattr(training, "QUICK", SMALL)
    results, shoot_out = [], positions.shoot_out
    monkeypatch.setattr(
        positions, "shoot_out", lambda *options: results.extend(shoot_out(*options)) or results
    )
    said = experiment("positions", "rope", "none", "--seed", "3")
    assert "kingdom" in said and "seed 3" in said
    assert [result.scheme for result in results] == ["rope", "none"]
    for result in results:
        for loss in result.held_out.values():
            assert f"{loss:.2f}" in said


def test_a_scheme_that_needs_two_layers_is_refused_in_a_sentence():
    said = experiment("positions", "rope", "rnope", status=2)
    assert "Error: rnope " in said and "--long" in said


# --- skip-gram in blocks ------------------------------------------------------------------------


@pytest.fixture
def drawn(monkeypatch):
    """The words that were drawn as negatives."""
    drawn, search = [], torch.searchsorted
    monkeypatch.setattr(
        torch, "searchsorted", lambda *a, **k: drawn.append(search(*a, **k)) or drawn[-1]
    )
    return drawn


def test_words_that_do_not_occur_are_never_drawn(drawn):
    ids = torch.tensor([1, 3] * 200)
    train_in_blocks(ids, torch.tensor([0, 200, 0, 200, 0]), 4)
    assert set(torch.cat(drawn).tolist()) == {1, 3}
    with pytest.raises(ValueError, match=r"32.*63"):  # shorter than two blocks
        train_in_blocks(torch.zeros(63, dtype=torch.int64), torch.ones(1))


@pytest.mark.slow
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


def test_twins_share_the_occurrences_of_their_word():
    text = with_twins("a b " * 100 + "c " * 10 + "d", split_from=50, min_count=5)
    assert len(text.ids) == 210
    assert sorted(text.counts.tolist())[0] == 10 and len(text.counts) == 5
    assert text.counts[text.twins].sum(1).tolist() == [100, 100]
    assert torch.equal(text.ids.bincount(), text.counts)
