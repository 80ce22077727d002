"""Hints: three for every exercise, one at a time, and none that gives the answer away."""

import ast
import json
import re
import subprocess
import sys
import tomllib

import pytest
from click.testing import CliRunner

from course import ROOT
from course.cli import main
from course.messages.terminal import write_results
from course.student import hints, notes
from course.student.board import next_steps
from course.student.progress import PASSED, WRONG
from course.syllabus import Status, lessons
from course.testing.result import ExerciseResult, LessonResult, TestResult

EXERCISES = [exercise for lesson in lessons() for exercise in lesson.exercises]
ROTATE_HALF = hints.find_exercise("rotate_half")

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    """What was shown is kept in a folder that is not there yet, not in the repository."""
    monkeypatch.setattr(notes, "file", lambda name: tmp_path / ".course" / f"{name}.json")
    return notes.file("hints")


def hint(*arguments: str, status: int = 0) -> str:
    """What `course hint` prints, errors too, in one line."""
    result = CliRunner().invoke(main, ["hint", *arguments])
    assert result.exit_code == status, result.output
    return " ".join(result.output.split())


def opening(number: int) -> str:
    """The first words of a hint for `rotate_half`."""
    return " ".join(hints.hints_for(ROTATE_HALF)[number - 1].split()[:5])


def code_of(text: str) -> list[str]:
    """The lines of a text without comments, indentation and doubled spaces."""
    return [" ".join(re.sub(r"\s# .*", "", line).split()) for line in text.splitlines()]


# --- the texts ------------------------------------------------------------------------------


def test_every_exercise_has_three_hints_in_order_and_nothing_else_has_any():
    texts = tomllib.loads((ROOT / "course" / "hints.toml").read_text(encoding="utf-8"))
    assert [*texts] == [lesson.stem for lesson in lessons()]
    for lesson in lessons():
        assert [*texts[lesson.stem]] == [exercise.name for exercise in lesson.exercises]
        for texts_of_one in texts[lesson.stem].values():
            assert tuple(texts_of_one) == hints.KINDS


@each_exercise
def test_a_hint_is_short(exercise):
    for text in hints.hints_for(exercise):
        assert text.strip()
        assert len(text) <= 300
        assert all(len(line) <= 80 for line in text.splitlines() if line.startswith("    "))


@each_exercise
def test_names_stand_in_backticks(exercise):
    for text in hints.hints_for(exercise):
        assert text.count("`") % 2 == 0


@each_exercise
def test_no_hint_holds_a_line_of_the_solution(exercise):
    lesson = next(lesson for lesson in lessons() if lesson.stem == exercise.lesson)
    solution = lesson.module("solutions").read_text(encoding="utf-8")
    bodies = re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", solution, re.DOTALL)
    answers = {line for body in bodies for line in code_of(body) if len(line) > 25}
    assert answers
    for text in hints.hints_for(exercise):
        flat = " ".join(" ".join(code_of(text)).split())
        assert [line for line in answers if line in flat] == []


@each_exercise
def test_the_last_hint_leaves_something_to_find(exercise):
    *gentle, line = hints.hints_for(exercise)
    assert "___" in line
    assert "___" not in "".join(gentle)


@each_exercise
def test_code_in_a_hint_is_python(exercise):
    for text in hints.hints_for(exercise):
        code = [line[4:] for line in text.splitlines() if line.startswith("    ")]
        open_end = [f"{' ' * (len(code[-1]) - len(code[-1].lstrip()) + 4)}pass"] if code else []
        source = "\n".join([*code, *(open_end if code[-1:] and code[-1].endswith(":") else [])])
        ast.parse(source)


@each_exercise
def test_a_section_that_a_hint_names_is_in_the_text(exercise):
    lesson = next(lesson for lesson in lessons() if lesson.stem == exercise.lesson)
    text = lesson.text.read_text(encoding="utf-8")
    headings = [line.lstrip("# ") for line in text.splitlines() if line.startswith("##")]
    for text in hints.hints_for(exercise):
        for section in re.findall(r'See "([^"]+)"', text):
            assert section in headings


# --- one at a time --------------------------------------------------------------------------


def test_hints_come_in_order_and_come_to_an_end():
    texts = hints.hints_for(ROTATE_HALF)
    taken = [hints.next_hint(ROTATE_HALF) for _ in range(4)]
    assert taken == [(1, texts[0], 2), (2, texts[1], 1), (3, texts[2], 0), None]
    assert hints.shown(ROTATE_HALF) == texts


def test_each_exercise_counts_for_itself(file):
    hints.next_hint(ROTATE_HALF)
    assert hints.next_hint(hints.find_exercise("ntk_base"))[0] == 1
    assert json.loads(file.read_text(encoding="utf-8")) == {"rotate_half": 1, "ntk_base": 1}
    assert [path.name for path in file.parent.iterdir()] == ["hints.json"]


def test_starting_over_leaves_other_exercises_alone():
    other = hints.find_exercise("ntk_base")
    hints.next_hint(ROTATE_HALF)
    hints.next_hint(other)
    hints.start_over(ROTATE_HALF)
    assert hints.shown(ROTATE_HALF) == ()
    assert len(hints.shown(other)) == 1


@pytest.mark.parametrize(
    "damaged",
    [b"", b"{", b"[1]", b"\xff\xfe"]
    + [b'{"rotate_half": %s}' % value for value in (b'"two"', b"-3", b"null", b"true", b"1.5")],
)
def test_a_damaged_file_means_that_none_was_shown(file, damaged):
    file.parent.mkdir()
    file.write_bytes(damaged)
    assert hints.shown(ROTATE_HALF) == ()
    assert hints.next_hint(ROTATE_HALF)[0] == 1


def test_a_count_beyond_the_end_means_that_all_were_shown(file):
    file.parent.mkdir()
    file.write_text('{"rotate_half": 99}', encoding="utf-8")
    assert hints.shown(ROTATE_HALF) == hints.hints_for(ROTATE_HALF)
    assert hints.next_hint(ROTATE_HALF) is None


# --- the command ----------------------------------------------------------------------------


def test_one_call_shows_one_hint_and_how_to_get_the_next():
    for number in (1, 2, 3):
        printed = hint("rotate_half")
        assert f"hint {number} of 3 {opening(number)}" in printed
        assert printed.count(" of 3 ") == 1
        assert printed.endswith("course hint rotate_half")
        assert ("next hint: " in printed) == (number < 3)


def test_after_the_third_it_repeats_them_all():
    for _ in range(3):
        hint("rotate_half")
    for _ in range(2):
        printed = hint("rotate_half")
        assert "All hints have been shown" in printed
        assert all(f"hint {n} of 3 {opening(n)}" in printed for n in (1, 2, 3))
        assert printed.endswith("course hint rotate_half --restart")


def test_again_shows_those_seen_and_takes_no_new_one(file):
    assert "no hint has been shown yet" in hint("rotate_half", "--again")
    assert not file.exists()
    hint("rotate_half")
    hint("rotate_half")
    printed = hint("rotate_half", "--again")
    assert opening(1) in printed
    assert opening(2) in printed
    assert "hint 3 of 3" in hint("rotate_half")


def test_restart_begins_anew():
    hint("rotate_half")
    hint("rotate_half")
    assert "hint 1 of 3" in hint("rotate_half", "--restart")
    assert "hint 2 of 3" in hint("rotate_half")


def test_code_keeps_its_lines():
    for _ in range(2):
        hint("skipgram_pairs")
    printed = CliRunner().invoke(main, ["hint", "skipgram_pairs"]).output
    assert "\n          left.append(ids[:-d])\n" in printed


@pytest.mark.parametrize(("passed", "expected"), [((), "lookup"), (("lookup",), "one_hot_lookup")])
def test_without_a_name_it_is_the_next_exercise_to_do(monkeypatch, passed, expected):
    status = {one.name: PASSED if one.name in passed else WRONG for one in EXERCISES}
    monkeypatch.setattr("course.student.progress.status_of_all", lambda: status)
    assert hint().startswith(f"{expected}, ")


def test_without_a_name_and_without_anything_to_do(monkeypatch):
    status = {one.name: PASSED for one in EXERCISES}
    monkeypatch.setattr("course.student.progress.status_of_all", lambda: status)
    assert hint().startswith("Everything passes")


def test_lookup_is_the_exercise_not_the_lesson():
    assert hint("lookup").startswith("lookup, pick rows of a table by number")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rotate_halb"], 'there is no exercise "rotate_halb"; did you mean "rotate_half"?'),
        (["tokenembedding"], 'did you mean "TokenEmbedding"?'),
        (["rope"], 'there is no exercise "rope"; lesson 5 has rope_tables, rotate_half, '),
        (["rotate_half", "--again", "--restart"], "--again and --restart exclude each other"),
    ],
)
def test_a_wrong_name_is_one_sentence(file, arguments, sentence):
    assert sentence in hint(*arguments, status=2)
    assert not file.exists()


def test_where_nothing_can_be_written_a_hint_is_shown_all_the_same(file):
    file.parent.write_text("a file where the folder should be", encoding="utf-8")
    for _ in range(2):
        said = hint("rotate_half")
        assert said.count("is not remembered") == 1
        assert "hint 1 of 3" in said
        assert said.endswith("all hints: course/hints.toml")


def test_help_has_an_example():
    assert "course hint rotate_half" in hint("--help")


def test_it_answers_without_torch(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from course.student import notes\n"
        "from course.cli import main\n"
        "notes.file = lambda name: pathlib.Path(sys.argv[1]) / 'hints.json'\n"
        "for arguments in (['hint'], ['hint', 'rotate_half']):\n"
        "    try: main(arguments)\n"
        "    except SystemExit as end: assert not end.code\n"
        "print(sorted({'torch', 'pytest', 'requests', 'numpy'} & set(sys.modules)))"
    )
    command = [sys.executable, "-X", "utf8", "-c", code, str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=ROOT)
    assert "hint 1 of 3" in result.stdout
    assert result.stdout.splitlines()[-1] == "[]", result.stderr


# --- where it is offered --------------------------------------------------------------------


def test_the_board_offers_a_hint_for_what_comes_next():
    status = {one.name: WRONG for one in EXERCISES}
    assert "\n  hint   course hint rope_tables" in next_steps(status, prefer=("rope_tables",))


@pytest.mark.parametrize(
    ("sentence", "offered"),
    [
        ("the values are not the ones they should be", ["  hint    course hint rotate_half"]),
        ("exercises/rope.py is not valid Python: invalid syntax, line 3", []),
    ],
)
def test_a_wrong_exercise_offers_a_hint_and_a_broken_file_does_not(sentence, offered):
    terminal = Terminal()
    test = TestResult("test_keeps_the_shape", Status.WRONG, sentence)
    exercise = ExerciseResult("rotate_half", 2, (test,), 1)
    trouble = "" if offered else sentence
    write_results(terminal, [LessonResult("rope", (exercise,), trouble)])
    assert [line for line in terminal.lines if "course hint" in line] == offered


class Terminal:
    """What a report is written to."""

    hasmarkup = False

    def __init__(self) -> None:
        self.lines = []

    def write_line(self, line: str, **markup: bool) -> None:
        self.lines.append(line)

    def write_sep(self, sep: str, title: str, **markup: bool) -> None:
        self.lines.append(title)
