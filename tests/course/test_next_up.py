"""`course next` says why, and `course show` shows a solution when it is time."""

import ast
import re

import pytest
from click.testing import CliRunner

from course.building import reference
from course.cli import main
from course.student import hints, progress
from course.student.board import next_steps_and_why
from course.student.progress import PASSED, TO_DO, UNCHECKED, WRONG, when_given_up
from course.syllabus import Exercise, counted_lessons, find_lesson, lessons

EXERCISES = [exercise for lesson in lessons() for exercise in lesson.exercises]
NAMES = {exercise.name for exercise in EXERCISES}

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)


@pytest.fixture
def status(tmp_path, monkeypatch):
    """The status of every exercise, to be changed; what is noted lies in a folder of its own."""
    status = {exercise.name: TO_DO for exercise in EXERCISES}
    monkeypatch.setattr(progress, "status_of_all", lambda: status)
    monkeypatch.setattr(progress, "file", lambda name: tmp_path / ".course" / f"{name}.json")
    return status


def named(name: str) -> Exercise:
    return next(exercise for exercise in EXERCISES if exercise.name == name)


def course(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output
    return result.output


# --- why ------------------------------------------------------------------------------------


@each_exercise
def test_every_exercise_says_in_one_sentence_why_it_comes(exercise):
    assert re.fullmatch(r"[A-Za-z].{80,240}\.", exercise.why)
    assert ". " not in exercise.why
    assert exercise.why.isascii()  # any console can show it
    named = set(re.findall(r"\w+_\w+|[A-Z]\w*[a-z][A-Z]\w+", exercise.why)) - {"PyTorch", "GloVe"}
    assert named <= NAMES
    others = NAMES.intersection(re.findall(r"\w+", exercise.why)) - {exercise.name}
    assert others or re.search(r"lessons? \d", exercise.why)


def test_whatever_calls_another_exercise_is_said_by_one_of_the_two():
    for lesson in lessons():
        tree = ast.parse(lesson.module("solutions").read_text(encoding="utf-8"))
        of_lesson = {exercise.name: exercise for exercise in lesson.exercises}
        for node in tree.body:
            caller = of_lesson.get(getattr(node, "name", None))
            used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & of_lesson.keys()
            for name in used - {getattr(node, "name", None)} if caller else ():
                said = re.search(rf"\b{name}\b", caller.why)
                assert said or caller.name in of_lesson[name].why, (caller.name, name)


# --- next -----------------------------------------------------------------------------------


def test_next_says_what_to_do_and_why(status):
    status.update(dict.fromkeys(["lookup", "one_hot_lookup"], PASSED))
    said = course("next")
    points = named("one_hot_bytes").points
    assert said.startswith(
        f"next: one_hot_bytes, what the one-hot tensor would weigh ({points} point"
    )
    assert "  check  course check one_hot_bytes\n" in said
    assert f"Why now? {named('one_hot_bytes').why}" in " ".join(said.split())
    assert how_far([one for lesson in counted_lessons() for one in lesson.exercises], 2) in said
    assert course("next", "5").startswith("next: rope_tables, ")
    assert course("next", "rope").startswith("next: rope_tables, ")
    assert course("next", "ntk_base").startswith("next: ntk_base, ")


def how_far(exercises: list[Exercise], n_passed: int) -> str:
    points = sum(exercise.points for exercise in exercises[:n_passed])
    hours = round(sum(exercise.minutes for exercise in exercises[n_passed:]) / 60)
    return (
        f"{n_passed} of {len(exercises)} exercises have passed, {points} points; "
        f"what is left takes about {hours} hours."
    )


def test_what_is_beyond_counts_once_the_rest_has_passed(status):
    counted = [one.name for lesson in counted_lessons() for one in lesson.exercises]
    status.update(dict.fromkeys(counted, PASSED))
    said = course("next")
    assert said.startswith(f"next: {EXERCISES[len(counted)].name}, ")
    assert how_far(EXERCISES, len(counted)) in said


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (WRONG, "Its last check found something wrong; check it again to see what."),
        (UNCHECKED, "It was edited since its last check, if it had one: check it first."),
    ],
)
def test_next_says_what_is_known_of_it(status, state, sentence):
    said = course("next")
    assert sentence not in said and "hints" not in said
    status["lookup"] = state
    hints.one_more(EXERCISES[0])
    assert sentence in course("next")
    assert "You have seen 1 of its 3 hints." in course("next")


def test_at_the_end_next_says_what_else_there_is(status):
    status.update(dict.fromkeys(NAMES, PASSED))
    said = course("next")
    assert said.startswith("Everything passes. Well done.")
    assert "course submit" in said
    assert "course experiment gpt" in said


def test_once_lesson_8_passes_next_names_what_trains_it(status):
    assert "course experiment gpt" not in course("next")
    status.update(dict.fromkeys([one.name for one in find_lesson("gpt").exercises], PASSED))
    assert "`course experiment gpt` trains your own GPT." in course("next")


def test_the_time_that_is_left_is_said_in_words(status):
    status.update(dict.fromkeys(NAMES, PASSED))
    for names, words in ((["ntk_base"], "5 minutes"), (["alibi_bias"], "15 minutes")):
        assert words in next_steps_and_why({**status, **dict.fromkeys(names, TO_DO)})
    rope = [exercise.name for exercise in find_lesson("rope").exercises]
    assert "about an hour" in next_steps_and_why({**status, **dict.fromkeys(rope, TO_DO)})


# --- show -----------------------------------------------------------------------------------


def test_show_says_what_is_asked_for(status):
    asked = named("rotate_half")
    hints.one_more(asked)
    said = course("show", "rotate_half")
    for words in (
        "rotate_half, a quarter turn of every pair",
        "status  to do",
        f"worth   {asked.points} points, about {asked.minutes} minutes",
        "hints   1 of 3 seen",
        "check   course check rotate_half",
        "    def rotate_half(x: Tensor) -> Tensor:",
        "Every pair turned by a quarter",
    ):
        assert words in said
    assert "torch.cat" not in said


def test_show_without_a_name_takes_the_next_one(status):
    assert course("show").startswith("lookup, ")
    assert course("show", "lookup.lookup") == course("show", "lookup")
    status["rope_tables"] = PASSED
    assert course("show", "5").startswith("rotate_half, ")
    assert course("show", "rope_tables").startswith("rope_tables, ")
    status.update(dict.fromkeys(NAMES, PASSED))
    assert course("show").startswith("Everything passes")
    assert course("show", "5").startswith("Everything of 5 passes")


@pytest.mark.parametrize("state", [TO_DO, WRONG, UNCHECKED])
def test_a_solution_is_not_shown_before_its_time(status, state):
    status["rotate_half"] = state
    said = course("show", "rotate_half", "--solution", code=1)
    assert said.startswith("Error: rotate_half has not passed yet")
    assert "course hint rotate_half" in said
    assert "torch.cat" not in said
    assert not progress.file("given_up").exists()


def test_a_solution_is_shown_after_its_exercise_passed(status):
    status["rotate_half"] = PASSED
    said = course("show", "rotate_half", "--solution")
    assert "x1, x2 = x.chunk(2, dim=-1)  # (..., D/2) each" in said
    assert "In another style, rolled by half:" in said
    assert "### " not in said
    assert not progress.file("given_up").exists()


def test_giving_up_is_noted_kindly_and_passes_nothing(status, monkeypatch):
    said = course("show", "lookup", "--solution", "--i-give-up")
    assert "return weight[ids.long()]" in said
    day = when_given_up(named("lookup"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    monkeypatch.setattr("time.strftime", lambda _: "2999-01-01")
    course("show", "lookup", "--solution", "--i-give-up")
    assert when_given_up(named("lookup")) == day
    assert status["lookup"] == TO_DO
    assert f"you read its solution on {day}; now write it from memory" in course("show", "lookup")
    assert when_given_up(named("one_hot_bytes")) is None
    next_said = " ".join(course("next").split())
    assert next_said.startswith("next: lookup,")
    assert "You have read its solution, which is a fair way to learn" in next_said
    assert "go on with one_hot_lookup; it is checked by itself" in next_said
    status["lookup"] = PASSED
    assert "you read its solution" not in course("show", "lookup")


def test_a_damaged_note_is_no_accident(status):
    progress.file("given_up").parent.mkdir()
    for damaged in ("{", "[]", '{"lookup": 3}', "", "\udcff"):
        progress.file("given_up").write_bytes(damaged.encode(errors="surrogateescape"))
        assert when_given_up(named("lookup")) is None
        course("show", "lookup")


def test_giving_up_without_a_solution_is_one_sentence():
    said = course("show", "rotate_half", "--i-give-up", code=2)
    assert "--i-give-up goes with --solution" in said


@each_exercise
def test_what_is_shown_is_the_code_that_stands_in_the_files(exercise):
    """Read back, the solution is the reference without its docstrings' text."""
    [contract] = ast.parse(reference.contract(exercise)).body
    [shown] = ast.parse(reference.solution(exercise)).body
    source = find_lesson(exercise.lesson).module("solutions").read_text(encoding="utf-8")
    original = next(n for n in ast.parse(source).body if getattr(n, "name", "") == exercise.name)
    assert ast.get_docstring(contract) == ast.get_docstring(original)
    assert contract.name == exercise.name
    original.body = original.body[1:]
    assert ast.dump(shown) == ast.dump(original)
    comments = [line.strip() for line in source.splitlines() if line.strip().startswith("# ")]
    for line in reference.solution(exercise).splitlines():
        assert "###" not in line
        assert not line.strip().startswith("# ") or line.strip() in comments


@each_exercise
def test_another_style_is_complete(exercise):
    name, code = reference.another_style(exercise)
    assert "_" not in name
    body = ast.parse(code).body
    assert body[-1].name == exercise.name
    defined = {node.name for node in body}
    used = {n.id for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Name)}
    assert {name for name in used if re.match("_[a-zA-Z]", name)} <= defined
    of_others = {n.attr for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Attribute)}
    assert exercise.name not in of_others  # an exercise that is called like a function of PyTorch
