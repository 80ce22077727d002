"""The positions lab as a page: what is exported, from whose code, and what is said if it fails."""

import base64
import json
import re

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from course import ROOT
from course.cli import main
from course.lab import numbers, training
from course.lab.numbers import BASES, LONGEST, MOST_WORDS, N_HEADS, export_numbers
from course.lab.page import page_with, write_page
from course.student import progress
from course.syllabus import Status, find_lesson, stub_from
from course.testing.executor import load_module
from course.testing.result import ExerciseResult, LessonResult, TestResult

WIDTH = 4


def found(lesson: str, **statuses: str) -> list[LessonResult]:
    """Return what a check finds where exercises stand so."""
    exercises = (
        ExerciseResult(name, 1, (TestResult("test", Status(status)),), 1)
        for name, status in statuses.items()
    )
    return [LessonResult(lesson, tuple(exercises))]


def tensor(packed):
    floats = np.frombuffer(base64.b64decode(packed["base64"]), "<f4").reshape(packed["shape"])
    return torch.from_numpy(floats.copy())


def reference(stem):
    return load_module(ROOT / "solutions" / f"{stem}.py")


def in_page(text):
    """The numbers that a page carries."""
    return json.loads(re.search(r'id="numbers">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture(autouse=True)
def one_width_and_little_training(monkeypatch):
    """What is trained, and how long, does not matter here; test_lab_in_browser has it all."""
    monkeypatch.setattr(numbers, "WIDTHS", (WIDTH,))
    monkeypatch.setattr(training, "STEPS", 20)


@pytest.fixture
def student(repository, monkeypatch):
    """`student(rope=("return x1", "return x2"))` writes modules; others are stubs.

    A module is the reference with one text replaced by another, or given as a whole.
    """

    def write(**modules):
        (repository / "exercises").mkdir(exist_ok=True)
        for stem in ("learned", "sinusoidal", "rope"):
            text = (repository / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
            change = modules.get(stem)
            if change is None:
                text = stub_from(text, stem)
            elif isinstance(change, str):
                text = change
            else:
                assert text.count(change[0]) >= 1
                text = text.replace(*change)
            (repository / "exercises" / f"{stem}.py").write_text(text, encoding="utf-8")

    write()
    return write


AS_IT_IS = ("", "")


# --- what is exported -----------------------------------------------------------------------------


def test_tables_are_what_the_exercises_give():
    found, sinusoidal, rope = export_numbers(), reference("sinusoidal"), reference("rope")
    for base in BASES:
        waves = tensor(found["sinusoidal"][WIDTH][base])
        assert torch.equal(waves, sinusoidal.sinusoidal_encoding(LONGEST, WIDTH, base))
        turns = tensor(found["frequencies"][WIDTH][base])
        assert torch.equal(turns, sinusoidal.inverse_frequencies(WIDTH, base).float())
    assert torch.equal(tensor(found["alibi"]), rope.alibi_bias(N_HEADS, LONGEST))


@pytest.mark.parametrize("base", BASES)
def test_the_entries_of_a_rotation_turn_any_vector_as_rope_does(base):
    rotation, rope = export_numbers()["rotations"][WIDTH][base], reference("rope")
    matrices = torch.zeros(LONGEST, WIDTH, WIDTH)
    matrices[:, rotation["from"], rotation["to"]] = tensor(rotation["values"])
    x = torch.randn(LONGEST, WIDTH)
    want = rope.apply_rope(x, *rope.rope_tables(LONGEST, WIDTH, base))
    torch.testing.assert_close((x[:, None] @ matrices)[:, 0], want)
    assert len(rotation["from"]) == 2 * WIDTH  # each feature meets itself and its partner


def test_what_was_learned_is_exported_as_it_is_and_strangers_are_as_loud():
    found = {name: tensor(one) for name, one in export_numbers()["trained"][WIDTH].items()}
    trained = training.train(numbers.written_in(None, find_lesson("learned")), WIDTH)
    wanted = dict(zip(("tokens", "positions", "wq", "wk"), trained, strict=True))
    for name, want in wanted.items():
        assert torch.equal(found[name], want), name
    assert wanted["tokens"].shape == (training.kingdom()[0].vocab_size, WIDTH)
    assert found["strangers"].shape == (MOST_WORDS, WIDTH)
    loudness = found["strangers"].square().mean().sqrt() / wanted["tokens"].square().mean().sqrt()
    assert 0.8 < loudness < 1.25
    rows = wanted["positions"]  # those that were read have learned, and no others
    assert rows[: training.READ].std() > 2 * rows[training.READ :].std()


def test_at_full_length_it_is_the_training_of_the_notebook(monkeypatch):
    """The notebook says: a shift by 9 changes its learned scores by 9, sinusoidal ones by 18."""
    monkeypatch.setattr(training, "STEPS", 600)
    learned, sinusoidal = numbers.written_in(None, find_lesson("learned")), reference("sinusoidal")
    trained = training.train(learned, 32)
    ids = training.kingdom()[0].encode(training.SENTENCE)

    def change(table):
        def scores(start):
            x = trained.tokens[ids] + table[start : start + 7]
            return (x @ trained.w_q) @ (x @ trained.w_k).T / 32**0.5

        return (scores(9) - scores(0)).abs().max().item()

    assert round(change(trained.positions)) == 9
    assert round(change(sinusoidal.sinusoidal_encoding(LONGEST, 32))) == 18


def test_the_same_code_gives_the_same_page_and_leaves_torch_as_it_was(tmp_path):
    write_page(tmp_path / "first.html")
    torch.rand(1)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    write_page(tmp_path / "second.html")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_the_page_needs_nothing_beside_itself_and_no_text_can_end_its_script():
    found = export_numbers() | {"sentence": "</script><b>"}
    page = page_with(found)
    assert "</script><b>" not in page
    assert in_page(page)["sentence"] == "</script><b>"
    without_numbers = re.sub(r'id="numbers">.*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(r"https?:|\bsrc=|@import|url\(|/\* (numbers|scripts|page\.css) \*/", page)
    assert len(without_numbers) < 60_000
    assert re.findall(r'href="([^"]*)"', page) == ["data:,"]


# --- from the student's own code ------------------------------------------------------------------


def test_what_is_to_do_is_borrowed_and_named(student):
    student(sinusoidal=AS_IT_IS)
    found = export_numbers(mine=True)
    assert found["borrowed"] == [
        *("GPTEmbedding", "tied_logits"),
        *("rope_tables", "rotate_half", "apply_rope", "alibi_bias"),
    ]
    reference = export_numbers()
    assert reference["borrowed"] == []
    for name in ("trained", "sinusoidal", "rotations", "alibi"):
        assert found[name] == reference[name]


def test_sines_and_cosines_in_each_others_place_are_exported_so(student):
    student(sinusoidal=("(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"))
    rows = tensor(export_numbers(mine=True)["sinusoidal"][WIDTH][10_000])
    assert rows[0].tolist() == [1, 0, 1, 0]


def test_a_rotate_half_that_turns_backwards_is_seen_in_the_rotations(student):
    student(rope=("torch.cat((-x2, x1)", "torch.cat((x2, -x1)"))
    mine, right = (export_numbers(mine)["rotations"][WIDTH][10] for mine in (True, False))
    matrix = {
        name: dict(zip(zip(one["from"], one["to"], strict=True), values, strict=True))
        for name, one in {"mine": mine, "right": right}.items()
        for values in [tensor(one["values"])[1].tolist()]
    }
    assert matrix["right"][0, 2] == pytest.approx(np.sin(1))
    assert matrix["mine"][0, 2] == pytest.approx(-np.sin(1))


def test_positions_that_are_never_added_are_seen_in_the_learned_table(student):
    student(learned=("self.tok_emb(ids) + self.pos_emb(positions)", "self.tok_emb(ids)"))
    rows = tensor(export_numbers(mine=True)["trained"][WIDTH]["positions"])
    assert rows.std() < 0.03  # as it was drawn


def test_slopes_of_the_wrong_heads_are_exported_so(student):
    student(rope=("torch.arange(1, n_heads + 1)", "torch.arange(n_heads)"))
    assert tensor(export_numbers(mine=True)["alibi"])[0, 1, 0] == -1


def test_what_was_never_checked_or_found_wrong_is_named(student):
    student(rope=AS_IT_IS)
    mine = export_numbers(mine=True)
    assert mine["unchecked"] == mine["yours"] == [*numbers.USED["rope"]]
    progress.remember(found("rope", rotate_half="wrong", rope_tables="passed"))
    assert export_numbers(mine=True)["foundWrong"] == ["rotate_half"]
    assert export_numbers()["foundWrong"] == []


def test_what_a_borrowed_function_does_not_call_is_not_said_to_be_shown(student):
    line = "    return (x * cos + rotate_half(x) * sin).to(x.dtype)\n"
    student(rope=(line, '    raise NotImplementedError("TODO rope.apply_rope")\n'))
    found = export_numbers(mine=True)
    assert "rotate_half" not in found["yours"] + found["borrowed"] + found["unchecked"]
    assert "rope_tables" in found["yours"] and "apply_rope" in found["borrowed"]


# --- one sentence, and no file --------------------------------------------------------------------


def fails_with(sentence, *options):
    result = CliRunner().invoke(main, ["lab", "export", *options])
    assert result.exit_code == 1
    (told,) = result.output.splitlines()[1:]  # below what is said at the start
    assert told.startswith("Error: ") and sentence in told


@pytest.mark.parametrize(
    ("modules", "sentence"),
    [
        ({"rope": "def ("}, "exercises/rope.py is not valid Python"),
        ({"rope": "import nowhere"}, "exercises/rope.py imports nowhere, which is not there"),
        (
            {"rope": ("x1, x2 = x.chunk(2, dim=-1)", "x1, x2 = x.chunk(1, dim=-1)")},
            "apply_rope cannot be shown, for it raises ",
        ),
        (
            {"sinusoidal": ("dim=-1).flatten(-2).float()", "dim=-1).flatten(-2).T")},
            "the page needs the shape (64, 4), and it gives (4, 64); "
            "`course check sinusoidal` says more",
        ),
        (
            {"rope": ("return angles.cos().float(), angles.sin().float()", "return angles")},
            "the page needs the shape (64, 4) and (64, 4), and it gives (64, 4)",
        ),
        ({"sinusoidal": ("return base **", "return None **")}, "raises TypeError"),
        ({"rope": ("return (x * cos", "return (x * x * cos")}, "for it does not turn"),
        ({"learned": ("self.pos_emb = nn.", "self.positions = nn.")}, "raises AttributeError"),
        (
            {"learned": ("return x @ weight.T", "return x @ weight")},
            "what GPTEmbedding and tied_logits learn cannot be shown, for it raises RuntimeError",
        ),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:30],
)
def test_code_that_cannot_be_shown_gets_one_sentence(student, tmp_path, modules, sentence):
    student(**modules)
    out = tmp_path / "lab.html"
    out.write_text("what was there before", encoding="utf-8")
    fails_with(sentence, "--mine", "--out", str(out))
    assert out.read_text(encoding="utf-8") == "what was there before"
    assert list(tmp_path.glob(".lab*")) == []


def test_a_missing_module_or_place_to_write_gets_one_sentence(student, repository, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    fails_with("cannot be written", "--out", str(tmp_path / "file" / "lab.html"))
    (repository / "exercises" / "rope.py").unlink()
    fails_with("exercises/rope.py does not exist", "--mine", "--out", str(tmp_path / "x"))


def test_the_command_says_where_the_page_is_and_what_was_borrowed(student, tmp_path):
    out = tmp_path / "a folder" / "lab.html"
    result = CliRunner().invoke(main, ["lab", "export", "--mine", "--out", str(out)])
    assert result.exit_code == 0
    assert f"{out} is written" in result.output
    assert "borrowed from the reference: GPTEmbedding, tied_logits, inverse_freq" in result.output
    assert in_page(out.read_text(encoding="utf-8"))["mine"] is True
