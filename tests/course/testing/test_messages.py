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
from course.student.report import MAX_PRINTED, report
from course.testing.messages.message import plain_message
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


def lesson(*exercises: ExerciseResult, **fields: str) -> LessonResult:
    return LessonResult("rope", exercises, **fields)


def on_terminal(result: LessonResult) -> str:
    return click.unstyle(report([result]))


def on_page(result: LessonResult) -> str:
    handed_in = GradedResult(**vars(replace(result)), student="ann", key="some")
    own = grades_of([handed_in], now=datetime.now(UTC))
    page = feedback_page(own.students[0])
    text = unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</dt>\s*<dd>", " ", page)))
    text = text.partition("Not right yet")[2].partition("Lessons")[0]
    return text.replace("not run ", "not run: ").replace("that fail ", "that fail: ")


WINDOWS = {
    "terminal": on_terminal,
    "plain text": lambda result: plain_message(result, result.exercises[0]),
    "page": on_page,
}


DIFFER = "the values are not the ones they should be"
UNNAMED = replace(WRONG, says="", look="")


def with_message(exercise: ExerciseResult, message: str) -> ExerciseResult:
    """The exercise with one wrong test, that says this, and one that passed."""
    first = replace(WRONG.tests[3], message=message, printed="")
    return replace(exercise, tests=(WRONG.tests[0], first), n_tests=2)


OUTCOMES = {
    "wrong": lesson(WRONG),
    "maybe a second mistake": lesson(replace(WRONG, another=True)),
    "no known mistake": lesson(UNNAMED),
    "a common error": lesson(replace(UNNAMED, look="Most often a half is missing.")),
    "one test is wrong": lesson(with_message(UNNAMED, MESSAGE)),
    # that values differ is said only where nothing else says it
    "named, and values differ": lesson(
        with_message(WRONG, MESSAGE.replace("the values differ", DIFFER))
    ),
    "values differ": lesson(with_message(UNNAMED, MESSAGE.replace("the values differ", DIFFER))),
    "named, without values": lesson(with_message(WRONG, DIFFER)),
    "not loaded": lesson(
        WRONG,
        replace(WRONG, name="apply_rope"),
        trouble="exercises/rope.py cannot be loaded",
    ),
}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_words_of_each_outcome(golden, outcome):
    texts = {name: window(OUTCOMES[outcome]) for name, window in WINDOWS.items()}
    in_one_line = {name: " ".join(text.split()) for name, text in texts.items()}
    shown = in_one_line | {"terminal": texts["terminal"]}
    golden("messages", {f"{outcome}: {name}": text for name, text in shown.items()})


def test_of_what_was_printed_a_terminal_shows_the_beginning_and_of_wrong_tests_the_explained_one():
    many = replace(WRONG.tests[3], printed="x\n" * (MAX_PRINTED + 5))
    assert "... and 5 more lines" in on_terminal(lesson(replace(WRONG, tests=(many,), n_tests=1)))
    assert WRONG.first_wrong.name == FIRST
    assert replace(WRONG, shown="").first_wrong.name == "test_tiny_1e_4[1]"


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


def test_a_result_comes_back_from_its_text_and_parts_of_one_are_merged_in_order():
    result = lesson(WRONG, ExerciseResult("apply_rope", 3))
    assert from_text(to_text(result)) == result
    assert to_text(result).count("\n") == 1
    for damaged in ("", "[]", "{}", '{"version": 1}', '{"version": 2, "x": 1}', "9" * 9999):
        with pytest.raises(ValueError):
            from_text(damaged)
    parts = [lesson(replace(WRONG, tests=(test,))) for test in WRONG.tests]
    assert merge_results(parts) == [lesson(WRONG)]
    assert merge_results([]) == []
