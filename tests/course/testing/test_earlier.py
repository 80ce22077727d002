"""A lesson that builds on earlier ones: what it imports, and whose that is."""

import sys
from pathlib import Path

import pytest
from classes import needs_sandbox

from course import ROOT
from course.core.stubs import solution_of, stub_of
from course.core.syllabus import Status, find_lesson, lessons
from course.student import exercises, progress
from course.testing import imports, source
from course.testing.loading import load_module, run_module

GPT = ROOT / "exercises" / "gpt.py"
LENT = imports.names_defined_by(source.sources_of_earlier("gpt"))
BUILDING = [lesson.stem for lesson in lessons() if source.imported_from_earlier(lesson.stem)]


def load(text: str, path: Path = GPT):
    return run_module(text.encode(), path, LENT)


@pytest.mark.parametrize(
    "line",
    [
        "from exercises.lookup import TokenEmbedding",
        "from exercises.lookup import TokenEmbedding as Table\nTokenEmbedding = Table",
        "from exercises.lookup import *",
        "import exercises.lookup\nTokenEmbedding = exercises.lookup.TokenEmbedding",
        "from exercises import lookup\nTokenEmbedding = lookup.TokenEmbedding",
        "from .lookup import TokenEmbedding",
    ],
)
def test_what_is_lent_can_be_imported_in_any_way(line):
    before = {name for name in sys.modules if name.startswith("exercises")}
    assert load(f"{line}\n").TokenEmbedding is LENT["lookup"]["TokenEmbedding"]
    after = {name for name in sys.modules if name.startswith("exercises")}
    assert after <= before | {"exercises.gpt"}


def test_a_lesson_gets_what_its_reference_imports_and_no_more():
    assert set(LENT) == {"lookup", "learned", "rope"}
    exercises = {one.name for lesson in lessons() for one in lesson.exercises}
    lent = {name for names in LENT.values() for name in names}
    called_by_those = {"lookup", "rope_tables", "rotate_half", "apply_rope"}
    assert (
        lent & exercises == {"TokenEmbedding", "tied_logits", "RotaryEmbedding"} | called_by_those
    )
    assert BUILDING == ["longer", "gpt", "llama"]
    for line, name in (
        ("from exercises.lookup import one_hot_bytes", "exercises.lookup.one_hot_bytes"),
        ("from exercises.skipgram import SkipGram as one_hot_bytes", "exercises.skipgram"),
        ("import exercises.sinusoidal as one_hot_bytes", "exercises.sinusoidal"),
    ):
        for text in (line, f"def one_hot_bytes():\n    {line}\n"):
            with pytest.raises(ModuleNotFoundError, match=f"{name} is not there where this is"):
                load(text).one_hot_bytes()
    both = load("from exercises.lookup import TokenEmbedding, one_hot_bytes\n")
    assert both.TokenEmbedding is LENT["lookup"]["TokenEmbedding"]


@pytest.mark.parametrize("stem", BUILDING)
def test_the_reference_is_what_a_student_hands_in_who_has_done_everything(stem):
    text = solution_of(stem)
    assert "solutions" not in text
    assert b"from exercises." in stub_of(stem)
    names = [one.name for one in find_lesson(stem).exercises]
    lent = imports.names_defined_by(source.sources_of_earlier(stem))
    built = run_module(text.encode(), ROOT / "exercises" / f"{stem}.py", lent)
    reference = load_module(find_lesson(stem).module("solutions"))
    assert all(callable(vars(module)[name]) for module in (built, reference) for name in names)


def test_yours_is_used_where_it_passes_and_the_rest_is_borrowed(repository, monkeypatch):
    text = solution_of("lookup").replace("0.02", "0.03")
    ran = f"open({str(repository / 'it ran')!r}, 'w')"
    for stem, written in (("lookup", text), ("learned", ""), ("rope", ran), ("gpt", "")):
        path = find_lesson(stem).module()
        path.parent.mkdir(exist_ok=True)
        path.write_text(written or stub_of(stem).decode(), encoding="utf-8")
    status = {one.name: Status.TO_DO for lesson in lessons() for one in lesson.exercises}
    monkeypatch.setattr(exercises, "status_of_all", lambda: status | {"TokenEmbedding": "passed"})
    monkeypatch.setattr(progress, "status_of_all", exercises.status_of_all)
    exercises.passing_exercises.cache_clear()
    try:
        names = exercises.passing_exercises("gpt")
        model = names.GPT(50, 32, 2, 1, 8)
        assert names.source_of("GPT") == "borrowed"
        assert type(model.tokens) is exercises.passing_exercises("lookup").TokenEmbedding
        assert 0.027 < model.tokens.weight.std().item() < 0.033  # yours
        assert exercises.borrowed_from_earlier("gpt") == ["tied_logits", "RotaryEmbedding"]
        assert exercises.passing_exercises("rope").source_of("apply_rope") == "borrowed"
        assert exercises.passing_exercises("longer").source_of("rope_2d") == "borrowed"
    finally:
        exercises.passing_exercises.cache_clear()
    assert not (repository / "it ran").exists()  # a file of which nothing passed


@pytest.mark.slow
@needs_sandbox
def test_in_the_sandbox_it_is_lent_too_and_also_while_a_function_runs():
    from course.grading.judge.judge import Judge
    from course.grading.judge.unit import Unit

    line = "from exercises.learned import tied_logits\n"
    late = solution_of("gpt").replace(line, "")
    late = late.replace("        return tied_", f"        {line}        return tied_")
    assert line in late and "from exercises.lookup import" in late
    thief = "from exercises.lookup import TokenEmbedding\n" + stub_of("learned").decode()
    with Judge() as judge:
        points = [
            judge.grade(Unit("ann", stem, text.encode())).points
            for stem, text in (("gpt", late), ("learned", thief))
        ]
    assert points == [find_lesson("gpt").points, 0]
