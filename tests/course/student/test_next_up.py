"""`course` says what comes next and why, and `course show` the task and, in time, the solution."""

import ast
import re
import textwrap

import pytest
from commands import course
from examining import cases_of, findings

from course.core.stubs import solution_of
from course.core.syllabus import Exercise, counted_lessons, find_lesson, lessons
from course.mistakes import alternatives
from course.publishing import showing
from course.student import progress
from course.student.progress import PASSED, TO_DO, UNCHECKED, WRONG
from course.student.show import how_it_is_done
from course.testing.loading import load_module

EXERCISES = [exercise for lesson in lessons() for exercise in lesson.exercises]
NAMES = {exercise.name for exercise in EXERCISES}

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)


@pytest.fixture
def status(tmp_path, monkeypatch):
    """The status of every exercise, to be changed; notes are in a separate folder."""
    status = {exercise.name: TO_DO for exercise in EXERCISES}
    monkeypatch.setattr(progress, "status_of_all", lambda: status)
    monkeypatch.setattr(progress, "file", lambda name: tmp_path / ".course" / f"{name}.json")
    return status


def named(name: str) -> Exercise:
    return next(exercise for exercise in EXERCISES if exercise.name == name)


@each_exercise
def test_every_exercise_says_in_one_sentence_why_it_comes(exercise):
    assert re.fullmatch(r"[A-Za-z].{80,240}\.", exercise.why)
    assert ". " not in exercise.why
    assert exercise.why.isascii()  # any console can show it
    named = set(re.findall(r"\w+_\w+|[A-Z]\w*[a-z][A-Z]\w+", exercise.why)) - {"PyTorch", "GloVe"}
    assert named <= NAMES
    others = NAMES.intersection(re.findall(r"\w+", exercise.why)) - {exercise.name}
    assert others or re.search(r"lessons? \d", exercise.why)


def test_next_says_what_to_do_and_why(status):
    status.update(dict.fromkeys(["lookup", "one_hot_lookup"], PASSED))
    said = course().partition("\n\nnext: ")[2]
    points = named("one_hot_bytes").points
    title = named("one_hot_bytes").title
    assert said.startswith(f"one_hot_bytes, {title} ({points} point")
    assert "  check  course check one_hot_bytes\n" in said
    assert f"Why now? {named('one_hot_bytes').why}" in " ".join(said.split())
    assert how_far([one for lesson in counted_lessons() for one in lesson.exercises], 2) in said
    status.update(dict.fromkeys(NAMES, PASSED))
    for words in ("Everything passes. Well done!", "course submit", "course experiment gpt"):
        assert words in course()


def how_far(exercises: list[Exercise], n_passed: int) -> str:
    hours = round(sum(exercise.minutes for exercise in exercises[n_passed:]) / 60)
    return (
        f"{n_passed} of {len(exercises)} exercises have passed; "
        f"the rest will take about {hours} hours."
    )


def test_show_says_what_is_asked_for_and_the_solution_once_it_passed(status):
    asked = named("rotate_half")
    said = course("show", "rotate_half")
    for words in (
        f"rotate_half, a quarter turn of every pair\n  to do, worth {asked.points} points\n",
        "    def rotate_half(x: Tensor) -> Tensor:",
        "Rotate every pair by a quarter turn",
    ):
        assert words in said
    assert "torch.cat" not in said
    for state in (TO_DO, WRONG, UNCHECKED):
        status["rotate_half"] = state
        said = course("show", "rotate_half", "--solution", status=1)
        assert said.startswith("Error: rotate_half ") and "course hint rotate_half" in said
        assert "torch.cat" not in said
    status["rotate_half"] = PASSED
    said = course("show", "rotate_half", "--solution")
    assert "x1, x2 = x.chunk(2, dim=-1)  # (..., D/2) each" in said
    assert "In another style, rolled by half:" in said
    assert "### " not in said


@each_exercise
def test_what_is_shown_is_the_code_of_the_reference_and_its_comments_fit(exercise, monkeypatch):
    """Read back, the solution is the reference without its docstrings' text."""
    [contract] = ast.parse(showing.contract(exercise)).body
    source = find_lesson(exercise.lesson).module("solutions").read_text(encoding="utf-8")
    original = next(n for n in ast.parse(source).body if getattr(n, "name", "") == exercise.name)
    assert ast.get_docstring(contract) == ast.get_docstring(original)
    assert contract.name == exercise.name
    original.body = original.body[1:]
    comments = [line.strip() for line in source.splitlines() if line.strip().startswith("# ")]
    for line in showing.solution(exercise).splitlines():
        assert "###" not in line
        assert not line.strip().startswith("# ") or line.strip() in comments
    for columns in (80, 40):
        monkeypatch.setenv("COLUMNS", str(columns))
        shown = how_it_is_done(exercise).partition("The reference:\n\n")[2]
        shown = textwrap.dedent(shown.partition("\n\nIn another style")[0])
        assert ast.dump(ast.parse(shown).body[0]) == ast.dump(original)
        long = [line for line in shown.splitlines() if "# " in line and len(line) > columns - 4]
        assert long == []


@pytest.mark.slow
@each_exercise
def test_another_style_passes_where_a_student_pastes_it(exercise, tmp_path):
    style = showing.another_style(exercise)
    if style is None:
        assert exercise.name not in [one.exercise for one in alternatives(exercise.lesson)]
        return
    name, code = style
    assert "_" not in name
    assert "from solutions" not in code
    text = solution_of(exercise.lesson)
    node = next(n for n in ast.parse(text).body if getattr(n, "name", "") == exercise.name)
    lines = text.splitlines()
    lines[node.lineno - 1 : node.end_lineno] = code.splitlines()
    path = tmp_path / f"{exercise.lesson}.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = findings(load_module(path), cases_of(exercise.lesson, exercise.name))
    assert [one.text for one in found if one.status != PASSED] == []
