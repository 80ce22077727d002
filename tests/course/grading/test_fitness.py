"""The grader examines itself first, and what was graded stays valid as long as it can."""

import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from classes import SOLUTION, STUB, copy_course, grader, slow_in_sandbox, with_course, write_class

from course import ROOT
from course.core.stubs import stub_of
from course.core.syllabus import Status, find_lesson, lessons
from course.grading.judge import grade as grading
from course.grading.judge import unit as units
from course.grading.judge.cache import Cache
from course.grading.judge.grade import (
    GradingError,
    check_units,
    grade_all,
    verify_check,
)
from course.grading.judge.unit import Unit, code_of_judges, key_of, not_graded
from course.grading.reports.changes import changes, changes_csv
from course.testing.result import ExerciseResult, TestResult

pytestmark = pytest.mark.usefixtures("own_cache")
NOT_RUN, PASSED, TO_DO, WRONG = Status.NOT_RUN, Status.PASSED, Status.TO_DO, Status.WRONG

REFERENCE = SOLUTION.encode()


# --- the reference and the stub -------------------------------------------------------------


def result_of(unit: Unit, outcome: str, **others: str):
    """A result in which all exercises ended in the same way, except some."""
    exercises = []
    for one in find_lesson(unit.lesson).exercises:
        ended = others.get(one.name, outcome)
        tests = () if ended == NOT_RUN else (TestResult(f"test_{one.name}", ended),)
        exercises.append(ExerciseResult(one.name, one.points, tests, 1))
    return replace(not_graded(unit, ""), key=key_of(unit, 0), exercises=tuple(exercises))


def test_only_the_reference_with_all_points_and_the_stub_with_none_are_fit():
    reference, stub = check_units("learned")
    assert (reference.source, stub.source) == (REFERENCE, stub_of("learned"))
    verify_check(reference, result_of(reference, PASSED))
    verify_check(stub, result_of(stub, TO_DO))


@pytest.mark.parametrize(
    ("which", "outcome", "of_one", "sentence"),
    [
        (0, PASSED, WRONG, "tied_logits (test_tied_log"),
        (0, PASSED, NOT_RUN, "in tied_logits (which has no test); fix"),
        (1, TO_DO, PASSED, "points of tied_logits"),
    ],
)
def test_what_is_not_fit_is_a_sentence(which, outcome, of_one, sentence):
    unit = check_units("learned")[which]
    with pytest.raises(GradingError, match=r"test_learned\.py") as caught:
        verify_check(unit, result_of(unit, outcome, tied_logits=of_one))
    assert sentence in str(caught.value)


@slow_in_sandbox
def test_with_a_wrong_test_nobody_is_graded(tmp_path, edited):
    """One wants another number, one calls what is not there, and those of an exercise are lost."""
    course, out = copy_course(tmp_path / "course"), tmp_path / "out"
    tests = course / "tests" / "test_learned.py"
    command = grader(write_class(tmp_path / "class", {"ann": STUB}), out, "--jobs", "1")

    def said() -> str:
        done = subprocess.run(command, env=with_course(course), capture_output=True, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        return done.stderr

    edited(tests, "[31.0, 42.0]", "[31.0, 43.0]")
    edited(tests, "lesson.count_parameters(", "lesson.count_params(")
    edited(tests, '@exercise("tied_logits")', '@exercise("count_parameters")')
    sentence = said()
    for found in ("GPTEmbedding (test_t", "count_parameters (test_m", "tied_logits (which"):
        assert "nothing was graded" in sentence and found in sentence
    edited(tests, "import torch\n", "import torch\ndef (\n")
    sentence = said()
    assert "SyntaxError: invalid syntax, " in sentence and "test_learned.py" in sentence
    assert not (out / "grades.csv").exists()


def test_an_unfit_grader_stops_at_once(monkeypatch):
    def judge_units(units, _):
        for unit in units:
            yield unit, result_of(unit, WRONG)

    monkeypatch.setattr(grading, "judge_units", judge_units)
    ann = Unit("ann", "learned", REFERENCE)
    with pytest.raises(GradingError, match="the reference fails"):
        list(grade_all([ann], 0, 1))
    assert Cache().read(ann, key_of(ann, 0)) is None


# --- what a result depends on ---------------------------------------------------------------


@pytest.mark.slow
def test_what_judges_and_workers_import_is_what_a_result_depends_on():
    script = (
        "import sys, course.grading.judge.judge, course.grading.sandbox.fork_server\n"
        "from course.grading.judge.judge import cases\n"
        "from course.mistakes import mistakes\n"
        "cases(), mistakes('rope')\n"
        "own = [one.__file__ for name, one in sys.modules.items() if name.startswith('course')]\n"
        "print(*own, sep='\\n')"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    imported = {Path(file) for file in run.stdout.splitlines()}
    assert ROOT / "course" / "testing" / "expect.py" in imported
    styles = ROOT / "course" / "lessons" / "rope" / "styles.py"
    assert imported <= {*code_of_judges(), styles}


@pytest.fixture
def course_copy(tmp_path, monkeypatch) -> Path:
    copy = copy_course(tmp_path / "course")
    monkeypatch.setattr("course.ROOT", copy)
    yield copy
    monkeypatch.undo()
    forget()


def forget() -> None:
    for cached in (units.judging_key, lessons, find_lesson):
        cached.cache_clear()


def keys() -> dict[str, str]:
    forget()
    return {lesson.stem: key_of(Unit("ann", lesson.stem, b""), 0) for lesson in lessons()}


ALL = {lesson.stem for lesson in lessons()}
IRRELEVANT = [
    *("course/publishing/building/build.py", "course/grading/run.py"),
    *("course/grading/reports/overview.py", "course/lessons/rope/README.md"),
]
OUTDATED = {
    "tests/test_rope.py": {"rope"},
    "solutions/rope.py": {"rope", "longer", "gpt", "llama"},  # those build on it
    "course/lessons/rope/mistakes.txt": {"rope"},
    "course/lessons/rope/styles.py": {"rope"},
    "course/testing/expect.py": ALL,
    "course/grading/sandbox/worker.py": ALL,
}


def test_a_result_is_outdated_by_what_decides_about_it_alone(course_copy, edited, monkeypatch):
    """By files, by the points of its lesson, and by another version of what computes."""
    before = keys()

    def outdated() -> set[str]:
        after = keys()
        return {stem for stem in before if before[stem] != after[stem]}

    def add_a_word(file: str) -> None:
        with open(course_copy / file, "a", encoding="utf-8") as opened:
            opened.write("\n# a word\n")

    for file in IRRELEVANT:
        add_a_word(file)
    assert outdated() == set()
    for file, stems in OUTDATED.items():
        text = (course_copy / file).read_bytes()
        add_a_word(file)
        assert outdated() == stems, file
        (course_copy / file).write_bytes(text)
    points = find_lesson("rope").exercise("rotate_half").points
    syllabus = course_copy / "course" / "lessons" / "syllabus.toml"
    edited(syllabus, f'"rotate_half", points = {points}', '"rotate_half", points = 99')
    assert outdated() == {"rope"}
    monkeypatch.setattr(units, "version", lambda package: "9.9" if package == "torch" else "1")
    assert outdated() == ALL


# --- what changed ---------------------------------------------------------------------------


def test_who_gains_and_who_loses_is_said_with_the_reason(golden):
    unit = Unit("ann", "learned", b"")
    fine, bad = (result_of(unit, PASSED, tied_logits=one) for one in (PASSED, WRONG))
    none = not_graded(unit, "The disk is gone.\nReally.")
    missing = replace(bad, trouble="learned.py was not handed in.", module="none")
    worth_more = tuple(replace(one, worth=one.worth + 1) for one in fine.exercises)
    without = tuple(one for one in bad.exercises if one.name != "tied_logits")
    compare = partial(changes, lessons=["learned"])
    found = {
        "a test refuses it": compare([fine], [bad]),
        "a test passes it": compare([bad], [fine]),
        "another module": compare([bad], [replace(fine, module="other")]),
        "not graded": compare([fine], [none]),
        "no result": compare([], [fine]),
        "not handed in now": compare([fine], [missing]),
        "not handed in before": compare([missing], [fine]),
        "other points": compare([fine], [replace(fine, exercises=worth_more)]),
        "a new exercise": compare([replace(bad, exercises=without)], [bad]),
        "gone": compare([fine], []),
    }
    golden("why points changed", {title: changed[0].why for title, changed in found.items()})
    worth = find_lesson("learned").exercise("tied_logits").points
    (lost,), (gained,) = found["a test refuses it"], found["a test passes it"]
    assert (lost.exercise, lost.before, lost.after, gained.after) == (
        "tied_logits",
        worth,
        0,
        worth,
    )
    assert {one.why for one in found["not graded"]} == {found["not graded"][0].why}
    assert [(one.before, one.after) for one in found["gone"]] == [
        (one.worth, "") for one in fine.exercises
    ]
    assert compare([fine], [fine]) == compare([missing], []) == []
    assert changes([fine], [], lessons=["rope"]) == []
    assert "tied_logits" not in [one.exercise for one in compare([], [bad])]  # 0 points, as before
    assert changes_csv([lost]).startswith("student,lesson,exercise,before,after,why\nann,learned,")
