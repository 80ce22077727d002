"""One message, three windows: a terminal, plain text and a page say the same."""

import itertools
import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import click
import pytest

from course.core.syllabus import Status
from course.grading.grades import grades_of
from course.grading.judge.unit import GradedResult
from course.grading.reports.feedback import feedback_page
from course.testing.messages.plain import plain_message
from course.testing.messages.terminal import MAX_PRINTED, report
from course.testing.result import (
    ExerciseResult,
    LessonResult,
    TestResult,
    from_text,
    merge_results,
    to_text,
)

MESSAGE = "the values differ\n\n  called  rotate_half([3, 4])\n  got     [4, -3]\n  want    [-4, 3]"
FIRST = "test_one_pair_makes_a_quarter_turn"
WRONG = ExerciseResult(
    name="rotate_half",
    worth=2,
    tests=(
        TestResult("test_is_fine", Status.PASSED),
        TestResult("test_tiny_1e_4[1]", Status.WRONG, "the other message"),
        TestResult("test_tiny_1e_4[2]", Status.WRONG, "the other message"),
        TestResult(FIRST, Status.WRONG, MESSAGE, printed="x is 3\n"),
        TestResult("test_more[1]", Status.NOT_RUN),
        TestResult("test_more[2]", Status.NOT_RUN),
    ),
    n_tests=6,
    says="The minus sign is at the wrong half.",
    look="Which half carries it?",
    shown=FIRST,
    where="exercises/rope.py:31",
)
SAID = {
    "test": "one pair makes a quarter turn",
    "mistake": "The minus sign is at the wrong half. Which half carries it?",
    "sentence": "the values differ",
    "call": "called rotate_half([3, 4])",
    "got": "got [4, -3]",
    "want": "want [-4, 3]",
    "why": "The point (3, 4) rotated by 90 degrees is (-4, 3).",
    "where": "look at exercises/rope.py:31",
    "hint": "hint course hint rotate_half",
    "not run": " 2 tests",
    "others": "tiny 1e-4",
}


def lesson(*exercises: ExerciseResult, **fields: str) -> LessonResult:
    return LessonResult("rope", exercises, **fields)


def on_terminal(result: LessonResult) -> str:
    return click.unstyle(report([result]))


def on_page(result: LessonResult) -> str:
    handed_in = GradedResult(**vars(replace(result)), student="ann", key="some")
    own = grades_of([handed_in], now=datetime.now(UTC))
    page = feedback_page(own.students[0])
    as_text = re.sub(r"</dt>\s*<dd>", " ", page.split("<main", 1)[1])
    text = unescape(re.sub(r"<[^>]+>", " ", as_text))
    return text.replace("not run ", "not run: ").replace("that fail ", "that fail: ")


WINDOWS = {
    "terminal": on_terminal,
    "plain text": lambda result: plain_message(result, result.exercises[0]),
    "page": on_page,
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("part", SAID)
def test_every_window_says_it_once(window, part):
    said = " ".join(WINDOWS[window](lesson(WRONG)).split())
    assert said.count(SAID[part]) == 1


@pytest.mark.parametrize("window", ["terminal", "page"])
def test_that_values_differ_is_said_only_where_nothing_else_says_it(window):
    differ, shown = "the values are not the ones they should be", WINDOWS[window]
    first = replace(WRONG.tests[3], message=MESSAGE.replace("the values differ", differ))
    named = replace(WRONG, tests=(*WRONG.tests[:3], first))
    assert differ not in shown(lesson(named))
    assert differ in shown(lesson(replace(named, says="")))
    without_values = replace(named, tests=(replace(first, message=differ),))
    assert differ in shown(lesson(without_values))


def test_the_words_of_each_outcome(golden):
    outcomes = {
        "wrong": lesson(WRONG),
        "maybe a second mistake": lesson(replace(WRONG, another=True)),
        "no known mistake": lesson(replace(WRONG, says="", look="")),
        "a common error": lesson(replace(WRONG, says="", look="Most often a half is missing.")),
        "not loaded": lesson(WRONG, trouble="exercises/rope.py cannot be loaded"),
    }
    golden("messages", {title: on_terminal(result) for title, result in outcomes.items()})


@pytest.mark.parametrize("window", WINDOWS)
def test_no_window_speaks_of_what_is_not_there(window):
    alone = replace(WRONG, tests=WRONG.tests[:1] + WRONG.tests[3:4], n_tests=2, says="", look="")
    said = WINDOWS[window](lesson(alone))
    assert "other tests" not in said
    assert "not run" not in said
    assert "None" not in said


@pytest.mark.parametrize("window", WINDOWS)
def test_of_two_mistakes_the_one_to_fix_first_is_told_as_such(window):
    first = "Fix this first"
    both = " ".join(WINDOWS[window](lesson(replace(WRONG, another=True))).split())
    assert f"{SAID['mistake']} {first}" in both
    assert first not in " ".join(WINDOWS[window](lesson(WRONG)).split())


@pytest.mark.parametrize("width", [40, 80])
def test_what_a_test_says_for_itself_has_lines_of_one_length(monkeypatch, width):
    """In its file it has lines of another length."""
    monkeypatch.setenv("COLUMNS", str(width))
    name = "test_scores_depend_on_the_distance_alone"
    wrong = ExerciseResult("RotaryEmbedding", 1, (TestResult(name, Status.WRONG, MESSAGE),), 1)
    lines = click.unstyle(report([LessonResult("rope", (wrong,))])).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("  A key two positions"))
    why = list(itertools.takewhile(bool, lines[first:]))
    assert len(why) > 1 and max(map(len, why)) <= width
    for line, following in itertools.pairwise(why):
        assert len(f"{line} {following.split()[0]}") > width


@pytest.mark.parametrize("window", WINDOWS)
def test_what_most_often_raises_an_error_is_said_beside_it(window):
    raised = replace(WRONG, says="", look="A half is missing.")
    said = " ".join(WINDOWS[window](lesson(raised)).split())
    assert said.count("A half is missing.") == said.count(SAID["sentence"]) == 1


def test_of_the_wrong_tests_the_one_that_is_explained_is_shown():
    assert WRONG.first_wrong.name == FIRST
    assert replace(WRONG, shown="").first_wrong.name == "test_tiny_1e_4[1]"


def test_a_terminal_shows_what_was_printed_but_not_all_of_it():
    assert " printed\n    x is 3" in on_terminal(lesson(WRONG))
    many = replace(WRONG.tests[3], printed="x\n" * (MAX_PRINTED + 5))
    long = replace(WRONG, tests=(many,), n_tests=1)
    assert "... and 5 more lines" in on_terminal(lesson(long))


def test_a_file_that_cannot_be_loaded_is_told_of_once():
    both = (replace(WRONG, name=name) for name in ("rotate_half", "apply_rope"))
    said = on_terminal(lesson(*both, trouble="rope.py is broken"))
    assert said.count("rope.py is broken") == 1


# --- results --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statuses", "n_tests", "status"),
    [
        ("passed passed", 2, "passed"),
        ("passed", 2, "not checked"),
        ("passed wrong", 2, "wrong"),
        ("to do wrong", 2, "wrong"),
        ("passed to do", 2, "to do"),
        ("passed not run", 2, "not run"),
        ("", 2, "not run"),
    ],
)
def test_an_exercise_passed_only_if_all_its_tests_did(statuses, n_tests, status):
    found = re.findall("passed|wrong|to do|not run", statuses)
    tests = tuple(TestResult("test", Status(one)) for one in found)
    exercise = ExerciseResult("rotate_half", 2, tests, n_tests)
    assert exercise.status == status
    assert exercise.points == (2 if status == "passed" else 0)


def test_a_result_comes_back_from_its_text():
    result = lesson(WRONG, ExerciseResult("apply_rope", 3))
    assert from_text(to_text(result)) == result
    assert to_text(result).count("\n") == 1


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 1}', '{"version": 2, "x": 1}', "9" * 9999]
)
def test_a_damaged_text_is_no_result(text):
    with pytest.raises(ValueError):
        from_text(text)


def test_parts_of_a_result_are_merged_in_order():
    parts = [lesson(replace(WRONG, tests=(test,))) for test in WRONG.tests]
    assert merge_results(parts) == [lesson(WRONG)]
    assert merge_results([]) == []
