"""Hints: three for every exercise, one at a time, and none that gives the answer away."""

import ast
import re

import pytest
from commands import course

from course.core.stubs import stub_of
from course.core.syllabus import find_exercises, find_lesson, lessons
from course.student import progress
from course.student.progress import PASSED, WRONG

EXERCISES = [exercise for lesson in lessons() for exercise in lesson.exercises]
[ROTATE_HALF] = find_exercises("rotate_half")

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """What was shown is kept in a folder that is not there yet, not in the repository."""
    monkeypatch.setattr(progress, "file", lambda name: tmp_path / ".course" / f"{name}.json")
    return progress.file("hints")


def hint(*arguments: str) -> str:
    """What `course hint` prints, in one line."""
    return " ".join(course("hint", *arguments).split())


def opening(number: int) -> str:
    """The first words of a hint for `rotate_half`."""
    return " ".join(ROTATE_HALF.hints[number - 1].split()[:5])


def code_of(text: str) -> list[str]:
    """The lines of a text without comments, indentation and doubled spaces."""
    return [" ".join(re.sub(r"\s# .*", "", line).split()) for line in text.splitlines()]


@each_exercise
def test_a_hint_is_short_and_its_code_is_python(exercise):
    *gentle, line = exercise.hints
    assert "___" in line  # something is left to find
    assert "___" not in "".join(gentle)
    for text in (*gentle, line):
        assert len(text.strip()) > 0 and len(text) <= 300
        assert text.count("`") % 2 == 0  # names are in backticks
        code = [line[4:] for line in text.splitlines() if line.startswith("    ")]
        assert all(len(line) <= 76 for line in code)
        open_end = [f"{' ' * (len(code[-1]) - len(code[-1].lstrip()) + 4)}pass"] if code else []
        ast.parse("\n".join([*code, *(open_end if code and code[-1].endswith(":") else [])]))


@each_exercise
def test_no_hint_holds_a_line_of_the_solution(exercise):
    solution = find_lesson(exercise.lesson).module("solutions").read_text(encoding="utf-8")
    bodies = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", solution, re.DOTALL)
    assert bodies
    answers = {line for body in bodies for line in code_of(body) if len(line) > 25}
    for text in exercise.hints:
        flat = " ".join(" ".join(code_of(text)).split())
        assert [line for line in answers if line in flat] == []


@pytest.mark.parametrize("lesson", lessons(), ids=lambda one: one.stem)
def test_above_what_is_to_do_stands_what_it_gives_and_its_length_but_no_way_to_it(lesson):
    stub = stub_of(lesson.stem).decode("utf-8")
    comments = re.findall(r"^ *(.*)\n *raise NotImplementedError", stub, re.MULTILINE)
    assert len(comments) >= len(lesson.exercises)
    for comment in comments:
        length = r"(about )?\d+( (or|to) \d+)? lines?( with the checks?)?"
        assert re.fullmatch(rf"# [^;:]+; {length}\.", comment), comment


@each_exercise
def test_a_section_that_a_hint_names_is_in_the_text(exercise):
    text = find_lesson(exercise.lesson).text.read_text(encoding="utf-8")
    headings = re.findall(r"^##+ (?:\d+\. )?(.+)", text, re.MULTILINE)
    for text in exercise.hints:
        for section in re.findall(r'See "(?:\d+\. )?([^"]+)"', text):
            assert section in headings


def test_one_call_shows_one_hint_and_at_the_end_all(file):
    assert "seen a hint yet" in hint("rotate_half", "--again")
    assert not file.exists()
    for number in (1, 2, 3):
        printed = hint("rotate_half")
        assert f"hint {number} of 3 {opening(number)}" in printed
        assert printed.count(" of 3 ") == 1
        assert printed.endswith("course hint rotate_half")
        assert ("next hint: " in printed) == (number < 3)
        before = file.read_bytes()
        assert all(opening(n) in hint("rotate_half", "--all") for n in (1, 2, 3))
        assert file.read_bytes() == before  # who looks at all of them changes nothing
        again = hint("rotate_half", "--again")
        assert [n for n in (1, 2, 3) if opening(n) in again] == list(range(1, number + 1))
    for _ in range(2):
        printed = hint("rotate_half")
        assert all(f"hint {n} of 3 {opening(n)}" in printed for n in (1, 2, 3))


def test_a_damaged_file_means_that_none_was_shown_and_without_one_a_hint_is_shown_as_well(file):
    file.parent.mkdir()
    for damaged in (b"{", b'{"rotate_half": "two"}', b'{"rotate_half": -3}'):
        file.write_bytes(damaged)
        assert "hint 1 of 3" in hint("rotate_half")
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("a file where the folder should be", encoding="utf-8")
    for _ in range(2):
        said = hint("rotate_half")
        assert said.count("progress isn't saved") == 1 and "hint 1 of 3" in said


@pytest.mark.parametrize(
    ("named", "passed", "expected"),
    [
        ([], [], "lookup, "),
        ([], [one.name for one in EXERCISES], "Everything passes"),
        (["rope"], ["rope_tables"], "rotate_half, "),
        (["rope"], [one.name for one in find_lesson("rope").exercises], "Everything in rope pass"),
        (["lookup"], ["lookup"], "lookup, "),
    ],
)
def test_without_an_exercise_it_is_the_next_one(monkeypatch, named, passed, expected):
    status = {one.name: PASSED if one.name in passed else WRONG for one in EXERCISES}
    monkeypatch.setattr(progress, "status_of_all", lambda: status)
    assert hint(*named).startswith(expected)
