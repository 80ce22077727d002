"""A published model: its file is read, and it runs on the functions of a student."""

import re
import signal
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from commands import experiment
from toy_model import SIZES, words, write_toy

from course.core.terminal import Wrapped
from course.data.published import FILE, open_smollm2
from course.data.reading import DataError
from course.experiments import llama, llama_mine
from course.experiments.writing import write_until
from course.lessons.llama.breaks import BREAKS
from course.lessons.longer import measure as far
from course.student.exercises import all_written_exercises, passing_exercises
from course.student.warm.server import SLACK
from solutions.llama import Llama, weights_from_gguf


@pytest.fixture(scope="module")
def toy_file(tmp_path_factory):
    return write_toy(tmp_path_factory.mktemp("gguf") / FILE)


@pytest.fixture
def data(toy_file, tmp_path, monkeypatch):
    """A data folder with the toy model."""
    (tmp_path / FILE).write_bytes(toy_file.read_bytes())
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    return tmp_path


def loaded():
    """The toy model, and the functions that it runs on."""
    published = open_smollm2()
    return published, *llama.load(published)


def test_settings_weights_and_words_are_read(toy_file):
    published = open_smollm2(toy_file)
    assert published.sizes == pytest.approx(SIZES)
    assert published.tensors["blk.1.attn_k.weight"].shape == (16, 48)
    assert all(weight.dtype == torch.float32 for weight in published.tensors.values())
    assert published.end == 259
    encoded = published.tokenizer.encode("the <|im_end|>ü42").ids
    assert encoded[0] == words().index("the") and 259 in encoded
    assert published.tokenizer.decode(encoded) == "the ü42"  # control tokens are no text
    digits = [words().index(digit) for digit in "42"]
    assert encoded[-2:] == digits
    weights = weights_from_gguf(published.tensors, SIZES["n_heads"], SIZES["n_kv_heads"])
    assert set(weights) == {name for name, _ in Llama(**SIZES).named_parameters()}


def test_a_damaged_model_is_refused_with_what_to_do(toy_file, tmp_path):
    whole = toy_file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"PK\x03\x04" + whole, whole[:300]):
        (tmp_path / FILE).write_bytes(damaged)
        with pytest.raises(DataError, match=f"^{re.escape(FILE)}(?s:.*)course data smollm2$"):
            open_smollm2(tmp_path / FILE)


def test_only_distances_count_and_every_other_break_is_noticed(data):
    published = open_smollm2()
    _, ids = llama.sample_ids(published)
    losses = {}
    for broken in BREAKS:
        model, exercises = llama.load(published, broken)
        losses[broken.title] = llama.loss(model, exercises, ids)
    right, moved, *others = losses.values()
    assert moved == pytest.approx(right, abs=1e-3)
    assert all(abs(other - right) > 1e-3 for other in others), losses


def test_the_command_says_what_it_loads_and_what_is_borrowed(data):
    said = experiment("llama", "--ask", "the the")
    assert "parameters in 2 blocks" in said and "tokens per second" in said
    assert "\n> the the" in said
    assert "RMSNorm" in said  # borrowed: nobody has written it
    assert "1,700 positions" in experiment("llama", "--ask", "a" * 1701, status=1)
    said = experiment("llama", "--breaks")
    for broken in BREAKS:
        assert said.count(broken.title) >= 2, broken.title


@pytest.mark.parametrize(
    "options",
    [["--chat", "--ask", "b"], ["--breaks", "--mine"]],
    ids=["chat and ask", "breaks and mine"],
)
def test_options_that_do_not_go_together_are_refused(data, options):
    assert "Traceback" not in experiment("llama", *options, status=2)


def test_without_the_model_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    said = experiment("llama", status=1)
    assert "course data smollm2" in said and said.count("\n") == 1


def test_a_text_ends_before_the_end_token():
    class Counts(torch.nn.Module):
        """Predicts the next number, and remembers what it read."""

        blocks, max_seq_len = [None], 100

        def forward(self, ids, caches):
            threads.add(torch.get_num_threads())
            caches[0].setdefault("read", []).extend(ids[0].tolist())
            return torch.nn.functional.one_hot(ids + 1, 20).float()

    told, caches, threads, generate = [], [{}], set(), passing_exercises("gpt").generate
    before = torch.get_num_threads()
    assert write_until(8, generate, Counts(), [4, 5], 50, told.append, caches) == [6, 7] == told
    assert caches[0]["read"] == [4, 5, 6, 7]
    assert write_until(99, generate, Counts(), [1], 3, told.append) == [2, 3, 4]
    assert write_until(4, generate, Counts(), [1], 3, told.append) == [2, 3]  # its last one ends it
    assert threads == {1} and torch.get_num_threads() == before


def test_a_second_turn_goes_on_from_the_cache(data):
    published, model, _ = loaded()
    conversation, first, second = llama.Conversation(model, published), [5, 6, 7], [8, 9]
    told = []
    text, speed = conversation.answer(first, 4, told.append)
    assert "".join(told) == text.rstrip("\ufffd") and speed > 0
    answer, _ = conversation.answer(second, 4)
    n_read = conversation.n_read
    whole, ids = llama.Conversation(model, published), list(first)
    new = write_until(published.end, passing_exercises("gpt").generate, model, ids, 4, told.append)
    assert len(new) == 4  # it was cut, so the end token comes before the next turn
    assert whole.answer([*first, *new, published.end, *second], 4)[0] == answer
    assert whole.n_read == n_read
    stopped, cut = (llama.Conversation(model, published) for _ in range(2))
    asked = []  # one that is stopped is as one that was cut
    text, _ = stopped.answer(first, 9, is_stopped=lambda: len(asked) == 2 or asked.append(1))
    assert text == cut.answer(first, 3)[0]
    assert (stopped.n_read, stopped.unread) == (cut.n_read, cut.unread)
    assert stopped.answer(second, 4)[0] == cut.answer(second, 4)[0]


def test_only_an_answer_that_is_cut_says_so(data, monkeypatch):
    monkeypatch.setattr(import_module("course.cli.experiment.llama"), "N_WRITTEN", 3)
    assert "at most 3 tokens" in experiment("llama", "--ask", "the")
    published, model, _ = loaded()
    conversation, new = llama.Conversation(model, published), []
    generate = passing_exercises("gpt").generate
    write_until(published.end, generate, model, [5, 6, 7], 4, new.append)
    conversation.published = replace(published, end=new[2])
    conversation.answer([5, 6, 7], 4)
    assert not conversation.is_cut


def test_a_chat_answers_each_line_until_q_and_refuses_one_that_is_too_long(data, monkeypatch):
    form, first = llama.chat_ids, []
    monkeypatch.setattr(llama, "chat_ids", lambda *given: first.append(given[2]) or form(*given))
    said = experiment("llama", "--chat", lines="a" * 1701 + "\nthe\n\nthe the\nq\nnever read\n")
    assert "1,700 positions" in said and said.count("tokens per second") == 2
    assert "> the the" in said and "never read" not in said
    assert first == [True, True, False]


def test_ctrl_c_ends_an_answer_and_the_chat_goes_on(data, monkeypatch):
    show = Wrapped.__call__

    def interrupting(self, piece):
        show(self, piece)
        if piece and not interrupted:
            interrupted.append(piece)
            signal.raise_signal(signal.SIGINT)

    interrupted, before = [], signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(Wrapped, "__call__", interrupting)
    said = experiment("llama", "--chat", lines="the\nthe the\nq\n")
    assert interrupted and said.count("tokens per second") == 2
    assert said.count("more to say") == 1  # the second one
    assert signal.getsignal(signal.SIGINT) is before
    twice = Mock(side_effect=KeyboardInterrupt)
    monkeypatch.setattr(llama.Conversation, "answer", twice)  # a second one ends the chat
    assert (
        "Stopped" not in experiment("llama", "--chat", lines="the\nthe\n") and twice.call_count == 1
    )


# --- whatever a student has written -------------------------------------------------------------


@pytest.fixture
def written(built, data):
    """`written(stem, {old: new})`: a student's file, the solution of a lesson with some edits."""

    def write(stem, edits):
        source = (built / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
        for old, new in edits.items():
            assert old in source
            source = source.replace(old, new)
        path = built / "exercises" / f"{stem}.py"
        path.write_text(source.replace("from solutions", "from exercises"), encoding="utf-8")

    all_written_exercises.cache_clear()
    yield write
    all_written_exercises.cache_clear()


def mine():
    run = SimpleNamespace(end_after=lambda seconds: None)
    return llama_mine.perform(run, None, "llama", llama_mine.SECONDS)


def loss_of(title):
    published = open_smollm2()
    variant = next(one for one in BREAKS if one.title == title)
    model, exercises = llama.load(published, variant)
    return llama.loss(model, exercises, llama.sample_ids(published)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stem", "edits", "title"),
    [
        ("rope", {"(-x2, x1)": "(x2, -x1)"}, "rotated backwards"),
        (
            "llama",
            {"x.repeat_interleave(n_repeats, dim=1)": "x.repeat(1, n_repeats, 1, 1)"},
            "key heads in the wrong order",
        ),
        (
            "rope",
            {"return pairs.transpose(1, 2).reshape(weight.shape)": "return weight"},
            "rows of q and k left interleaved",
        ),
    ],
    ids=["wrong minus", "repeat", "interleaved"],
)
def test_a_likely_mistake_is_the_break_that_it_is_named_by(written, stem, edits, title):
    written(stem, edits)
    found = mine()
    assert found["loss"] == pytest.approx(loss_of(title), abs=1e-4)
    wrong = {"rope": "interleaved_to_half", "llama": "repeat_heads"}[stem]
    assert found["sources"][wrong] == "yours" and "borrowed" in found["sources"].values()


@pytest.mark.parametrize(
    ("stem", "edits", "says"),
    [
        ("llama", {"return x.repeat_interleave(n_repeats, dim=1)": "return x[9]"}, "repeat_heads"),
        ("llama", {"self.gate =": "self.gates ="}, "mlp.gates.weight"),
        ("gpt", {"def causal_attention": "def causal_attention("}, "gpt.py"),
        ("llama", {"* self.weight\n": "* self.weight / 0\n"}, "ZeroDivisionError|nan"),
    ],
    ids=["raises", "another name", "no Python", "no number"],
)
def test_what_fails_on_a_students_code_is_one_sentence(written, stem, edits, says):
    written(stem, edits)
    stopped = mine()["stopped"]
    assert any(part in stopped for part in says.split("|")), stopped
    assert "\n" not in stopped


@pytest.mark.slow
def test_the_code_runs_in_another_process(data):
    """In this repository, where it may all be borrowed."""
    found = llama_mine.measure_mine()
    assert 0 < found.loss < 10 and found.goes_on
    assert {*found.sources.values()} <= {"yours", "borrowed"}


@pytest.mark.slow
def test_code_that_never_ends_is_stopped(data, monkeypatch):
    monkeypatch.setattr(llama_mine, "SECONDS", 0.01 - SLACK)  # no code is so fast
    assert "didn't finish" in experiment("llama", "--mine", status=1)


@pytest.mark.parametrize(
    ("loss", "title", "is_close"),
    [
        (3.381, "all right", True),
        (5.424, "rows of q and k left interleaved", True),
        (6.5, "rows of q and k left interleaved", False),
        (5.134, "rotated backwards", True),
        (5.141, "no rotation", True),
    ],
)
def test_a_loss_resembles_the_nearest_break(loss, title, is_close):
    known = llama_mine.losses_of_breaks("Shakespeare")
    assert llama_mine.nearest_break(known, loss) == (title, is_close)


# --- far beyond the trained length --------------------------------------------------------------


def test_pieces_give_the_losses_of_the_whole_text(data, monkeypatch):
    monkeypatch.setattr(far, "PIECE", 100)
    published, model, exercises = loaded()
    _, ids = llama.sample_ids(published, 251)
    way, *others = far.ways(published)
    whole = exercises.loss_by_position(model, ids)
    means = [piece.mean().item() for piece in whole.split(100)]
    assert far.losses_far(published, way, ids) == pytest.approx(means, abs=1e-4)
    _, ids = llama.sample_ids(published, 65)
    begin = [far.losses_far(published, one, ids)[0] for one in (way, *others)]
    assert len(set(begin)) == 3 and max(begin) - min(begin) < 0.1  # other frequencies, but alike
