"""The board remembers what passed, and forgets it as soon as that code is edited."""

from dataclasses import replace

import click
import pytest

from course.core.syllabus import Status, find_lesson, lessons
from course.student import progress
from course.student.board import course_board, next_steps, points_of
from course.testing.result import ExerciseResult, LessonResult, TestResult

SOURCE = """
import torch

SIGN = -1


def helper(x):
    return SIGN * x


def rotate_half(x):
    return helper(x)


def apply_rope(x, cos, sin):
    raise NotImplementedError("TODO rope.apply_rope")


def ntk_base(base, factor, head_dim):
    return base
"""


def found(lesson: str, **statuses: str) -> list[LessonResult]:
    """Return what a check finds for these statuses."""
    exercises = (
        ExerciseResult(name, 1, (TestResult("test", Status(status)),), 1)
        for name, status in statuses.items()
    )
    return [LessonResult(lesson, tuple(exercises))]


@pytest.fixture
def rope(tmp_path, monkeypatch):
    """A repository whose lesson 5 holds this source; returns its file."""
    lessons()  # the syllabus stays that of this repository
    monkeypatch.setattr("course.ROOT", tmp_path)
    path = tmp_path / "exercises" / "rope.py"
    path.parent.mkdir()
    path.write_text(SOURCE, encoding="utf-8")
    progress.remember(found("rope", rotate_half="passed", ntk_base="wrong"))
    return path


def statuses() -> tuple[str, ...]:
    status = progress.status_of_all()
    return tuple(status[name] for name in ("rotate_half", "apply_rope", "ntk_base"))


BEFORE = ("passed", "to do", "wrong")
FIRST = ("not checked", "to do", "wrong")
BOTH = ("not checked", "to do", "not checked")
HELPER = "class Helper:\n    def forward(self, x):\n        return x"
EDITS = {  # the text now, and the statuses
    "nothing": (SOURCE, BEFORE),
    "comments": (f"# mine\n\n{SOURCE}\n# more", BEFORE),
    "an exercise": (SOURCE.replace("return helper(x)", "return None"), FIRST),
    "its helper": (SOURCE.replace("return SIGN * x", "return x"), FIRST),
    "a helper from elsewhere": (f"{SOURCE}\nfrom helpers import helper", FIRST),
    "all of another module": (f"from helpers import *\n{SOURCE}", BOTH),
    "a constant": (SOURCE.replace("SIGN = -1", "SIGN = 1"), BOTH),
    "a class that nothing uses": (f"{HELPER}\n\n{SOURCE}", BEFORE),
    "such a class at the end": (f"{SOURCE}\n\n{HELPER}", BEFORE),
    "an import that nothing uses": (f"import math\n\n{SOURCE}", BEFORE),
    "such a function at the end": (f"{SOURCE}\n\ndef more(): ...", BEFORE),
    "everything is lost": ("", ("not checked",) * 3),
    "something else is there": ("x = 1", ("not checked",) * 3),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_mark_is_forgotten_once_code_that_the_exercise_uses_is_edited(rope, edit):
    text, expected = EDITS[edit]
    rope.write_text(text, encoding="utf-8")
    assert statuses() == expected


def not_loaded() -> LessonResult:
    (result,) = found("rope", rotate_half="wrong", ntk_base="wrong")
    return replace(result, trouble="exercises/rope.py cannot be loaded")


def test_a_file_that_is_no_python_keeps_its_marks_and_says_so(rope):
    """A typing mistake anywhere in it costs nothing."""
    before = progress.status_of_all()
    board = course_board(before)
    assert not progress.cannot_be_loaded(find_lesson("rope"))
    rope.write_text(f"{SOURCE}\ndef broken(:\n", encoding="utf-8")
    assert progress.found_in([not_loaded()]) == {}
    for _ in range(2):  # before a check and after it
        assert progress.status_of_all() == before
        assert progress.cannot_be_loaded(find_lesson("rope"))
        progress.remember([not_loaded()])
    marked, as_before = (
        next(line for line in click.unstyle(text).splitlines() if " rope " in line)
        for text in (course_board(before), board)
    )
    assert marked.replace("? ?", "?  ") == as_before and marked != as_before
    assert click.unstyle(points_of(find_lesson("rope"), before)).endswith("now the file earns 0")
    assert next_steps(before).startswith("first: fix exercises/rope.py")
    rope.write_text(SOURCE, encoding="utf-8")
    assert progress.status_of_all() == before
    assert "cannot be loaded" not in next_steps(before)


def test_a_file_that_fails_when_it_is_loaded_keeps_its_marks_as_well(rope):
    lesson, broken = find_lesson("rope"), f"import nothing_of_this_name\n{SOURCE}"
    rope.write_text(broken, encoding="utf-8")
    assert not progress.cannot_be_loaded(lesson)
    progress.remember([not_loaded()])
    assert statuses() == ("passed", "to do", "wrong")
    assert progress.cannot_be_loaded(lesson)
    rope.write_text(broken.replace("nothing_of_this_name", "math"), encoding="utf-8")
    assert statuses() == ("passed", "to do", "wrong")
    assert not progress.cannot_be_loaded(lesson)
    progress.remember(found("rope", rotate_half="passed"))
    rope.write_text(broken, encoding="utf-8")
    assert not progress.cannot_be_loaded(lesson)  # it may be there by now


DAMAGED = ["{", "[]", '{"rope": 3}', '{"rope": {"rotate_half": "passed"}}', "[" * 9999]
DAMAGED += ["\udc80", '{"rope": {"rotate_half": {"status": [], "source": null}}}']


@pytest.mark.parametrize("damaged", DAMAGED)
def test_damaged_progress_costs_one_check(rope, damaged):
    progress.file("progress").write_bytes(damaged.encode(errors="surrogateescape"))
    assert statuses() == ("not checked", "to do", "not checked")
    progress.remember(found("rope", rotate_half="passed", ntk_base="wrong"))
    assert statuses() == ("passed", "to do", "wrong")


def test_checking_one_exercise_keeps_what_is_known_of_the_others(rope):
    rope.write_text(SOURCE.replace("return base", "return 2 * base"), encoding="utf-8")
    progress.remember(found("rope", rotate_half="wrong"))
    assert statuses() == ("wrong", "to do", "not checked")


def test_next_is_first_what_was_just_worked_on():
    status = {e.name: "to do" for lesson in lessons() for e in lesson.exercises}
    assert progress.next_exercise(status)[1].name == "lookup"
    assert progress.next_exercise(status, prefer=("ntk_base",))[1].name == "ntk_base"
    status["ntk_base"] = "passed"
    assert progress.next_exercise(status, prefer=("ntk_base",))[1].name == "rope_tables"
    assert progress.next_exercise(dict.fromkeys(status, "passed")) is None
