"""The numbers of the figures to play with: a student's own, and those that come from training."""

import os

import numpy as np
import pytest
import torch

from course import ROOT
from course.lab import numbers, own, training
from course.lab.numbers import LONGEST, own_numbers
from course.lab.positions import HEAD_DIM, NotShown, table_of
from course.lab.trained import committed, made, unpacked
from course.lab.training import FARTHEST, SIZE
from course.stubs import stub_from
from course.student.exercises import passing_exercises
from course.testing.loading import load_module

STEMS = ("learned", "sinusoidal", "rope")
LEARNED = torch.randn(FARTHEST, SIZE.n_embd, generator=torch.Generator().manual_seed(1))


def reference(stem):
    return load_module(ROOT / "solutions" / f"{stem}.py")


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


# --- all of a student's functions at once --------------------------------------------------------


@pytest.mark.slow
def test_one_function_that_fails_leaves_the_others(student, monkeypatch):
    """One is right, one is not, one never ends, and one is to do."""
    monkeypatch.setattr(own, "SECONDS", 5)
    student(
        learned=("return self.weight[:seq_len]", "while True: pass"),
        sinusoidal=AS_IT_IS,
        rope=("torch.cat((-x2, x1)", "torch.cat((x2, x1)"),
    )
    monkeypatch.setattr(numbers, "own_results", list)
    found = own_numbers()
    assert set(found["positions"]) == {"sinusoidal", "rope", "alibi"}
    assert list(found["troubles"]) == ["learned"]
    assert "LearnedPositionalEmbedding" in found["troubles"]["learned"]
    assert "came to no end" in found["troubles"]["learned"]
    rows = reference("sinusoidal").sinusoidal_encoding(LONGEST, SIZE.n_embd)
    torch.testing.assert_close(unpacked(found["positions"]["sinusoidal"]), rows, rtol=0, atol=0.004)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("def (", "exercises/rope.py"),
        ("import nowhere", "exercises/rope.py imports nowhere"),
        ("import os\nos.kill(os.getpid(), 9)", "exercises/rope.py was killed by the system"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_for_its_schemes(student, text, sentence):
    student(rope=text)
    found = own_numbers()
    assert list(found["troubles"]) == ["rope", "alibi"]
    assert sentence in found["troubles"]["rope"] and found["positions"] == {}


def test_no_module_of_a_student_runs_in_this_process(student, tmp_path):
    ran_in = tmp_path / "ran in"
    ran_in.touch()
    student(rope=f"import os\nopen({str(ran_in)!r}, 'a').write(f'{{os.getpid()}}\\n')")
    own_numbers()
    assert ran_in.read_text() and str(os.getpid()) not in ran_in.read_text().split()


def test_what_the_course_knows_of_a_mistake_comes_along(student):
    student(rope=("torch.cat((-x2, x1)", "torch.cat((x2, x1)"))
    about = {one["name"]: one for one in own_numbers()["exercises"]}
    assert about["rotate_half"]["status"] == "wrong"
    assert "minus sign" in about["rotate_half"]["says"] and about["rotate_half"]["look"]
    assert about["rope_tables"]["status"] == "passed" and about["rope_tables"]["says"] == ""
    assert about["sinusoidal_encoding"]["source"] == "borrowed"


def test_numbers_that_are_not_finite_are_a_trouble(monkeypatch):
    nothing = torch.full((LONGEST, SIZE.n_embd), torch.nan)
    monkeypatch.setattr(numbers, "own_tables", lambda *_: ({"sinusoidal": nothing}, {}))
    monkeypatch.setattr(numbers, "own_results", list)
    found = own_numbers()
    assert found["positions"] == {} and list(found["troubles"]) == ["sinusoidal"]


# --- the numbers that come from training ----------------------------------------------------------


@pytest.mark.slow
def test_the_committed_numbers_are_those_of_a_new_training():
    def close(one, other):
        if isinstance(one, dict) and "base64" in one:
            kept, new = unpacked(one), unpacked(other)
            torch.testing.assert_close(kept, new, rtol=0, atol=0.1 * new.abs().max().item())
        elif isinstance(one, dict):
            assert one.keys() == other.keys()
            for name in one:
                close(one[name], other[name])
        else:
            assert one == other

    close(committed(), made())
