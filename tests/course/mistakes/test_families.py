"""Mistakes that any exercise can have, and what tells calls that raise from those that run."""

import ast
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from examining import cases_of, findings

from course.core.syllabus import Status, find_lesson, lessons
from course.mistakes import diagnosis
from course.mistakes.contrast import contrast, outgrown
from course.mistakes.diagnosis import KnownMistakes, diagnose
from course.mistakes.families import families
from course.mistakes.variant import Variant
from course.testing.door import Call
from course.testing.loading import run_module
from course.testing.outcomes import StudentError


def said_of(old: str, new: str) -> str:
    """The message for an edit of alibi_bias."""
    cases = cases_of("rope", "alibi_bias")
    seen = findings(Variant("rope", "alibi_bias", "here", {old: new}).module(), cases)
    found = diagnose(seen, KnownMistakes(cases, seed=0), seconds=(30, 1))
    return found.says if found else ""


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_families_find_room_in_every_exercise_and_make_python(lesson):
    for exercise in lesson.exercises:
        found = list(families(lesson.stem, exercise.name))
        assert len({one.says for one in found}) >= 4
        for one in found:
            assert one.family
            if one.variant.edits:
                compile(one.variant.text, one.variant.place, "exec")
    texts = [one.variant.text for one in families("llama", "GatedMLP") if "bias" in one.says]
    assert any("bias=" not in text for text in texts)  # a keyword is left out in all places


RESULT = "slopes[:, None, None] * steps_back"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("/ n_heads", "/ 8", "only for eight heads"),  # the lesson lists it: that wins
        (RESULT, f"({RESULT})[None]", "axis too many"),
        (RESULT, f"({RESULT}).flip(0)", "reverse order"),
        (RESULT, f"({RESULT}).cos()", ""),
    ],
)
def test_a_family_names_a_mistake_that_no_lesson_lists(monkeypatch, old, new, words):
    if old == RESULT:
        monkeypatch.setattr(diagnosis, "mistakes", lambda lesson: [])
    said = said_of(old, new)
    assert words in said and bool(said) == bool(words)


@pytest.mark.parametrize(
    ("lesson", "exercise", "old", "new", "words"),
    [
        ("permutation", "toy_attention", "softmax(dim=-1)", "softmax(dim=1)", "its softmax along"),
        ("rope", "rotate_half", "chunk(2, dim=-1)", "chunk(2, dim=0)", "splits along"),
        (
            "permutation",
            "projected_attention",
            "queries @ keys.transpose(-2, -1)",
            "(queries * keys)",
            "number by number",
        ),
        (
            "sinusoidal",
            "SinusoidalPositionalEmbedding",
            "table[:seq_len]",
            "table[: seq_len - 1]",
            "Embedding ends one too early",
        ),
    ],
)
def test_a_family_says_which_step_is_along_another_axis_and_which_end_is_off(
    lesson, exercise, old, new, words
):
    made = _program(Variant(lesson, exercise, "", {old: new}).text)
    known = [one for one in families(lesson, exercise) if one.variant.edits]
    assert any(words in one.says for one in known if _program(one.variant.text) == made)


def _program(text: str) -> str:
    """A text without comments, in one layout."""
    return ast.unparse(ast.parse(text))


def test_causes_that_explain_the_same_are_not_told_apart_by_their_order():
    def named(*known: tuple[str, str]) -> str:
        mistakes = [SimpleNamespace(family=family, says=says, look="") for family, says in known]
        known = [SimpleNamespace(mistake=mistake) for mistake in mistakes]
        found = diagnosis._named(diagnosis._preferred(known), [], another=False)  # noqa: SLF001
        return found.says if found else ""

    cause, other, seen = ("_counting", "a"), ("_arithmetic", "b"), ("_results", "c")
    assert named(cause, other) == ""
    assert named(cause, ("_arithmetic", "a")) == "a"
    assert named(cause, seen, other) == "c"
    assert named(seen, ("_ignored", "d")) == ""
    assert named(cause, seen, ("", "e")) == "e"


def _finding(*arguments: object, raised: bool, wrong: bool = False) -> SimpleNamespace:
    case = SimpleNamespace(lesson="rope", exercise="rotate_half")
    failure = StudentError(("RuntimeError", "Exception"), "sizes 3 and 5", "") if raised else None
    call = Call("rotate_half", arguments, {}, raised=raised)
    status = "wrong" if raised or wrong else "passed"
    return SimpleNamespace(case=case, failure=failure, calls=[call.outline], status=status)


def test_what_tells_a_call_that_raises_from_one_that_runs_is_said():
    flat, deep, wide = torch.zeros(2, 4), torch.zeros(2, 4, 4), torch.zeros(2, 3, 5, 4)
    ran, raised = _finding(deep, raised=False), _finding(flat, raised=True)
    said = contrast([ran, raised])
    assert "`x`" in said and "3 axes" in said and "2 axes" in said and "?." not in said
    said = contrast([_finding(torch.zeros(2, 3, 3, 4), raised=False), _finding(wide, raised=True)])
    assert "`x`" in said and "axes 1 and 2" in said and "(2, 3, 5, 4)" in said
    assert "3 axes" in contrast([raised, ran, _finding(flat, raised=False, wrong=True)])
    assert contrast([_finding(flat, raised=False), raised]) == contrast([raised]) == ""
    both = [_finding(flat, flat, raised=False), _finding(deep, deep, raised=True)]
    for one in both:
        one.case = SimpleNamespace(lesson="lookup", exercise="lookup")
    assert "3 axes in `weight` and `ids`" in contrast(both)


WINDOW = """
import math, torch

def toy_attention(x):
    scores = x @ x.mT / x.shape[-1] ** 0.5
    far = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])).abs() > 250
    return scores.masked_fill(far, -math.inf).softmax(dim=-1) @ x
"""


def test_what_is_right_for_small_inputs_alone_is_said_to_be_so():
    module = run_module(WINDOW.encode(), find_lesson("permutation").module())
    found = findings(module, cases_of("permutation", "toy_attention"), WINDOW)
    said = outgrown(found)
    assert re.search(r"`x` has at most \d\d? entries along axis 1, and wrong .* has 1030 ", said)
    for kind in (Status.PASSED, Status.WRONG):  # nothing to compare with
        assert outgrown([one for one in found if one.status == kind]) == ""
    assert outgrown([*found, replace(found[0], status=Status.WRONG)]) == ""
    fives = [_finding(torch.zeros(2, 5), raised=False)] * 3
    for size in 9, 10:  # what is not twice as large may be so by chance
        said = outgrown([*fives, _finding(torch.zeros(2, size), raised=False, wrong=True)])
        assert ("at most 5" in said) == (size == 10)
