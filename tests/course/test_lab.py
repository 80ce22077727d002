"""The positions lab as a page: what is exported, from which code, and the message if it fails."""

import base64
import json
import os
import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from click.testing import CliRunner

from course import ROOT
from course.cli import main
from course.lab import numbers, own, training
from course.lab.numbers import LONGEST, SENTENCE, SWAPPED, export_numbers
from course.lab.page import page_with, write_page
from course.lab.positions import HEAD_DIM, NotShown, table_of
from course.lab.training import FARTHEST, SIZE
from course.stubs import stub_from
from course.student.exercises import passing_exercises
from course.testing.loading import load_module

STEMS = ("learned", "sinusoidal", "rope")
LEARNED = torch.randn(FARTHEST, SIZE.n_embd, generator=torch.Generator().manual_seed(1))


def tensor(packed):
    floats = np.frombuffer(base64.b64decode(packed["base64"]), "<f4").reshape(packed["shape"])
    return torch.from_numpy(floats.copy())


def reference(stem):
    return load_module(ROOT / "solutions" / f"{stem}.py")


def in_page(text):
    """The numbers that a page carries."""
    return json.loads(re.search(r'id="numbers">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture(autouse=True)
def little_training(monkeypatch):
    """How long it trains does not matter here; test_lab_in_browser has models at their end."""
    monkeypatch.setattr(training, "STEPS", 5)
    monkeypatch.setattr(training, "N_WINDOWS", 8)


@pytest.fixture
def student(repository):
    """`student(rope=("return x1", "return x2"))` writes modules; others are stubs.

    A module is the reference with one text replaced by another, or given as a whole. Nothing is
    loaded yet: what an earlier test loaded does not count.
    """
    for loaded in (training.reference, passing_exercises):
        loaded.cache_clear()

    def write(**modules):
        (repository / "exercises").mkdir(exist_ok=True)
        for stem in STEMS:
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
    waves = tensor(found["positions"]["sinusoidal"])
    assert torch.equal(waves, sinusoidal.sinusoidal_encoding(LONGEST, SIZE.n_embd))
    assert torch.equal(tensor(found["positions"]["alibi"]), rope.alibi_bias(SIZE.n_heads, LONGEST))
    rows = training.trained("learned").added(LONGEST)
    assert torch.equal(tensor(found["positions"]["learned"]), rows)


def test_the_entries_of_a_rotation_turn_any_vector_as_rope_does():
    rotation, rope = export_numbers()["positions"]["rope"], reference("rope")
    matrices = torch.zeros(LONGEST, HEAD_DIM, HEAD_DIM)
    matrices[:, rotation["from"], rotation["to"]] = tensor(rotation["values"])
    x = torch.randn(LONGEST, HEAD_DIM)
    want = rope.apply_rope(x, *rope.rope_tables(LONGEST, HEAD_DIM))
    torch.testing.assert_close((x[:, None] @ matrices)[:, 0], want)
    assert len(rotation["from"]) == 2 * HEAD_DIM  # each feature meets itself and its partner


def test_each_model_has_weights_of_its_own_and_losses_that_belong_to_them():
    models = export_numbers()["models"]
    assert list(models) == list(training.SCHEMES)
    assert len({one["qkv"]["base64"] for one in models.values()}) == 5
    _, _, held_out = training.corpus()
    starts = torch.linspace(0, len(held_out) - FARTHEST - 1, 8).long().tolist()
    for scheme, exported in models.items():
        model = training.trained(scheme)
        assert torch.equal(tensor(exported["tokens"]), model.tokens.weight)
        per_word = []
        for start in starts:
            window = held_out[start : start + FARTHEST + 1]
            logits = model(window[None, :-1])[0]
            per_word.append(F.cross_entropy(logits, window[1:], reduction="none"))
        want = torch.stack(per_word).mean(0).view(-1, 4).mean(1)
        assert exported["losses"] == pytest.approx(want.tolist(), abs=1e-3)


def test_a_new_training_gives_the_weights_that_were_kept():
    kept = training.trained("rope").state_dict()
    (ROOT / ".course" / "lab" / f"rope-{training.fingerprint()}.pt").unlink()
    again = training.trained("rope").state_dict()
    assert all(torch.equal(kept[name], again[name]) for name in kept)


def test_the_same_code_gives_the_same_page_and_leaves_torch_as_it_was(tmp_path):
    write_page(tmp_path / "first.html")
    torch.rand(1)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    write_page(tmp_path / "second.html")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_the_page_needs_nothing_beside_itself_and_no_text_can_end_its_script():
    page = page_with(export_numbers() | {"sentence": "</script><b>"})
    assert "</script><b>" not in page
    assert in_page(page)["sentence"] == "</script><b>"
    without_numbers = re.sub(r'id="numbers">.*?</script>', "", page, flags=re.DOTALL)
    assert not re.search(r"\bsrc=|@import|url\(|/\* (numbers|scripts|page\.css) \*/", page)
    addresses = set(re.findall(r"https?://[^\"' ]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, which nobody looks up
    assert len(without_numbers) < 110_000 and len(page) < 1_500_000
    assert set(re.findall(r'href="([^"]*)"', page)) == {"data:,", *(f"#{n}" for n in range(1, 8))}


def test_the_scripts_ask_only_for_parts_that_the_page_has():
    page = page_with({})
    parts = set(re.findall(r'\bid="([\w-]+)"', page))
    assert set(re.findall(r'\$\("([\w-]+)"\)', page)) <= parts


def test_only_the_order_of_two_words_tells_what_comes_next():
    words, known = SENTENCE.split(), training.corpus()[0].words
    assert set(words) <= set(known)
    assert [words[place] for place in SWAPPED] == ["rang", "closed"]


# --- a student's tables ---------------------------------------------------------------------------


def mine(scheme, module):
    """The table of a scheme from a module of a student's."""
    stem, _ = own.EXERCISES[scheme]
    names = vars(load_module(module(stem)))
    return table_of(scheme, type("LessonExercises", (), names), LONGEST, LEARNED)


@pytest.fixture
def module(student, repository):
    return lambda stem: repository / "exercises" / f"{stem}.py"


def test_a_table_is_made_by_the_functions_as_they_are(student, module):
    student(
        sinusoidal=("(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"),
        rope=("torch.cat((-x2, x1)", "torch.cat((x2, -x1)"),
        learned=AS_IT_IS,
    )
    assert mine("sinusoidal", module)[0, :4].tolist() == [1, 0, 1, 0]
    first = mine("rope", module)[1]
    assert first[0, HEAD_DIM // 2].item() == pytest.approx(-np.sin(1))  # it turns backwards
    assert torch.equal(mine("learned", module), LEARNED[:LONGEST])


@pytest.mark.parametrize(
    ("scheme", "change", "sentence"),
    [
        ("rope", ("x1, x2 = x.chunk(2, dim=-1)", "x1, x2 = x.chunk(1, dim=-1)"), "raises Value"),
        (
            "sinusoidal",
            ("dim=-1).flatten(-2).float()", "dim=-1).flatten(-2).T"),
            "(64, 32), and it gives (32, 64)",
        ),
        (
            "rope",
            ("return angles.cos().float(), angles.sin().float()", "return angles"),
            "(64, 8) and (64, 8), and it gives (64, 8)",
        ),
        ("sinusoidal", ("return base **", "return None **"), "raises TypeError"),
        ("rope", ("return (x * cos", "return (x * x * cos"), "not a rotation"),
        (
            "sinusoidal",
            ("dim=-1).flatten(-2).float()", "dim=-1).flatten(-2) * 1j"),
            "it gives complex numbers",
        ),
    ],
)
def test_what_cannot_be_shown_gets_one_sentence(student, module, golden, scheme, change, sentence):
    student(**{own.EXERCISES[scheme][0]: change})
    with pytest.raises(NotShown) as told:
        mine(scheme, module)
    assert sentence in str(told.value) and "\n" not in str(told.value)
    golden("tables that the Lab cannot show", {f"{scheme}: {change[1]}": str(told.value)})


def test_rows_in_no_table_get_one_sentence(student, module):
    student(learned=("torch.randn(max_seq_len, n_embd)", "torch.randn(max_seq_len + 1, n_embd)"))
    with pytest.raises(NotShown, match=r"\(128, 32\)"):
        mine("learned", module)


# --- the command ----------------------------------------------------------------------------------


def export(tmp_path, *options):
    out = tmp_path / "a folder" / "lab.html"
    result = CliRunner().invoke(main, ["lab", "export", "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    assert f"wrote {out}" in result.output
    return result.output, in_page(out.read_text(encoding="utf-8"))


def test_the_reference_alone(student, tmp_path):
    student(rope="raise SystemExit")
    output, found = export(tmp_path)
    assert found["mine"] is None and "borrowed" not in output


@pytest.mark.slow
def test_one_function_that_fails_leaves_the_others(student, tmp_path, monkeypatch):
    """One is right, one is not, one never ends, and one is to do."""
    monkeypatch.setattr(own, "SECONDS", 5)
    student(
        learned=("return self.weight[:seq_len]", "while True: pass"),
        sinusoidal=AS_IT_IS,
        rope=("torch.cat((-x2, x1)", "torch.cat((x2, x1)"),
    )
    monkeypatch.setattr(numbers, "own_results", list)
    output, found = export(tmp_path, "--mine")
    yours = found["mine"]
    assert set(yours["positions"]) == {"sinusoidal", "rope", "alibi"}
    assert list(yours["troubles"]) == ["learned"]
    assert "LearnedPositionalEmbedding" in yours["troubles"]["learned"]
    assert "came to no end" in yours["troubles"]["learned"]
    assert "came to no end" in output
    assert yours["positions"]["sinusoidal"] == found["positions"]["sinusoidal"]
    assert yours["positions"]["rope"] != found["positions"]["rope"]
    assert yours["losses"]["alibi"] == found["models"]["alibi"]["losses"]
    assert yours["losses"]["rope"] != found["models"]["rope"]["losses"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def (", "exercises/rope.py"),
        ("import nowhere", "exercises/rope.py imports nowhere"),
        ("import os\nos.kill(os.getpid(), 9)", "exercises/rope.py was killed by the system"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_for_its_schemes(student, tmp_path, text, sentence):
    student(rope=text)
    output, found = export(tmp_path, "--mine")
    assert list(found["mine"]["troubles"]) == ["rope", "alibi"]
    assert sentence in found["mine"]["troubles"]["rope"] and sentence in output
    assert found["mine"]["positions"] == {}


@pytest.mark.parametrize("options", [[], ["--mine"]])
def test_no_module_of_a_student_runs_in_this_process(student, tmp_path, options):
    """Not even in the shoot-out's models, which build on lessons that import earlier ones."""
    ran_in = tmp_path / "ran in"
    ran_in.touch()
    student(rope=f"import os\nopen({str(ran_in)!r}, 'a').write(f'{{os.getpid()}}\\n')")
    export(tmp_path, *options)
    assert str(os.getpid()) not in ran_in.read_text().split()


def test_what_the_course_knows_of_a_mistake_stands_on_the_page(student, tmp_path):
    student(rope=("torch.cat((-x2, x1)", "torch.cat((x2, x1)"))
    output, found = export(tmp_path, "--mine")
    about = {one["name"]: one for one in found["mine"]["exercises"]}
    assert about["rotate_half"]["status"] == "wrong"
    assert "minus sign" in about["rotate_half"]["says"] and about["rotate_half"]["look"]
    assert about["rope_tables"]["status"] == "passed" and about["rope_tables"]["says"] == ""
    assert about["sinusoidal_encoding"]["source"] == "borrowed"
    assert "wrong: rotate_half" in output
    assert "yours: rope_tables, rotate_half, apply_rope, alibi_bias" in output


def test_a_place_that_cannot_be_written_gets_one_sentence(tmp_path, monkeypatch):
    """Before anything is trained."""
    monkeypatch.setattr("course.lab.page.export_numbers", None)
    (tmp_path / "file").write_text("", encoding="utf-8")
    out = tmp_path / "file" / "lab.html"
    result = CliRunner().invoke(main, ["lab", "export", "--out", str(out)])
    assert result.exit_code == 1
    assert result.output.splitlines()[-1].startswith(f"Error: {out} cannot be written: ")


def test_numbers_that_are_none_become_nothing_in_json(monkeypatch):
    nothing = torch.full((FARTHEST, SIZE.n_embd), torch.nan)
    monkeypatch.setattr(numbers, "own_tables", lambda *_: ({"sinusoidal": nothing}, {}))
    monkeypatch.setattr(numbers, "own_results", list)
    found = export_numbers(mine=True)
    assert set(found["mine"]["losses"]["sinusoidal"]) == {None}
    assert "NaN" not in json.dumps(found)
