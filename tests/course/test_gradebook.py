"""Points in nbgrader's gradebook: entered once, beside what an instructor has there."""

import contextlib
import csv
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from nbgrader.api import Gradebook

from course.cli.grade import grade
from course.grading.nbgrader.gradebook import GradebookError, check_gradebook, enter_points
from course.grading.sandbox.sandbox import missing
from course.syllabus import Status, find_lesson, stub_from
from course.testing.result import NOT_HANDED_IN, ExerciseResult, LessonResult, TestResult

PASSED, WRONG, NOT_RUN = Status.PASSED, Status.WRONG, Status.NOT_RUN

ROPE = {exercise.name: exercise.points for exercise in find_lesson("rope").exercises}


def result(student: str, lesson: str, n_passed: int | None, key: str = "some") -> LessonResult:
    """One whose first exercises pass; with None, nothing could be run."""
    outcomes = {
        exercise: NOT_RUN if n_passed is None else PASSED if number < n_passed else WRONG
        for number, exercise in enumerate(find_lesson(lesson).exercises)
    }
    exercises = tuple(
        ExerciseResult(exercise.name, exercise.points, (TestResult("test", outcome),), 1)
        for exercise, outcome in outcomes.items()
    )
    return LessonResult(lesson, exercises, student=student, key=key)


def points(lesson: str, n_passed: int | None = None) -> int:
    """Return what the first exercises of a lesson earn; without a number, all of them."""
    return sum(exercise.points for exercise in find_lesson(lesson).exercises[:n_passed])


@pytest.fixture
def database(tmp_path) -> str:
    """A gradebook without anything in it."""
    path = str(tmp_path / "gradebook.db")
    enter_points([], path)
    return path


def opened(database: str) -> Gradebook:
    return Gradebook(f"sqlite:///{database}")


def scores(database: str) -> dict[tuple[str, str], float]:
    with opened(database) as book:
        return {
            (submission.student.id, assignment.name): submission.score
            for assignment in book.assignments
            for submission in assignment.submissions
        }


def run(folder: Path, *arguments: str) -> None:
    """An nbgrader command in a course folder."""
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr


def exported(database: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Score and maximum, by student and assignment, as `nbgrader export` says."""
    folder = Path(database).parent
    run(folder, "export", "--to", "all.csv")
    with (folder / "all.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["student_id"], row["assignment"]): (float(row["score"]), float(row["max_score"]))
            for row in csv.DictReader(file)
        }


@pytest.mark.slow
def test_nbgrader_exports_the_points(database):
    enter_points([result("ann", "rope", 2), result("ann", "lookup", 99)], database)
    enter_points([result("bob", "rope", 99)], f"sqlite:///{database}")
    assert exported(database) == {
        ("ann", "1_lookup"): (points("lookup"), points("lookup")),
        ("ann", "5_rope"): (points("rope", 2), points("rope")),
        ("bob", "1_lookup"): (0, points("lookup")),
        ("bob", "5_rope"): (points("rope"), points("rope")),
    }
    with opened(database) as book:
        submissions = book.assignment_submissions("5_rope")
        grades = [grade for one in submissions for grade in one.notebooks[0].grades]
        assert len(grades) == 2 * len(ROPE)
        assert not any(grade.needs_manual_grade for grade in grades)
        assert {grade.name: grade.max_score for grade in grades} == ROPE


def contents(database: str) -> dict[str, list]:
    """All rows of all tables."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        tables = connection.execute("select name from sqlite_master where type = 'table'")
        return {
            name: sorted(connection.execute(f"select * from {name}"), key=repr)
            for (name,) in tables.fetchall()
        }


def test_a_second_run_changes_only_what_is_different(database):
    enter_points([result("ann", "rope", 2), result("bob", "rope", 2)], database)
    before = contents(database)
    enter_points([result("ann", "rope", 2), result("bob", "rope", 2)], database)
    assert contents(database) == before
    enter_points([result("ann", "rope", 3)], database)
    two = points("rope", 2)
    assert scores(database) == {("ann", "5_rope"): points("rope", 3), ("bob", "5_rope"): two}
    after = contents(database)
    assert [len(rows) for rows in after.values()] == [len(rows) for rows in before.values()]


def test_scores_given_by_hand_stay(database):
    enter_points([result("ann", "rope", 1)], database)
    with opened(database) as book:
        for name in ("rope_tables", "rotate_half"):
            grade = book.find_grade(name, "5_rope", "5_rope", "ann")
            grade.manual_score, grade.extra_credit = 1.5, 0.5
        book.db.commit()
    enter_points([result("ann", "rope", 2)], database)
    with opened(database) as book:
        for name in ("rope_tables", "rotate_half"):
            grade = book.find_grade(name, "5_rope", "5_rope", "ann")
            assert (grade.auto_score, grade.manual_score) == (ROPE[name], 1.5)
            assert grade.extra_credit == 0.5
            assert grade.needs_manual_grade is (name == "rotate_half")  # which changed


def test_what_was_not_graded_or_not_handed_in_is_not_a_zero_and_what_does_not_load_is(database):
    enter_points([result("ann", "rope", 2)], database)
    nothing = replace(result("bob", "rope", None), trouble=f"rope.py {NOT_HANDED_IN}")
    enter_points([result("ann", "rope", None, key=""), nothing], database)
    assert scores(database) == {("ann", "5_rope"): points("rope", 2)}
    broken = replace(result("bob", "rope", None), trouble="rope.py is not valid Python")
    enter_points([result("ann", "rope", None), broken], database)
    assert scores(database) == {("ann", "5_rope"): 0, ("bob", "5_rope"): 0}


# --- an instructor's own notebook -----------------------------------------------------------


def grade_by_hand(database: str, student: str, score: float, notebook: str = "5_rope") -> None:
    with opened(database) as book:
        grade = book.find_grade("question", notebook, "5_rope", student)
        grade.manual_score, grade.needs_manual_grade = score, False
        book.db.commit()


@pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own
@pytest.mark.parametrize("notebook", ["5_rope", "essay"])
def test_points_meet_those_of_an_instructors_notebook(database, notebook):
    with opened(database) as book:  # as `nbgrader generate_assignment` does, and a submission
        book.add_assignment("5_rope")
        book.add_notebook(notebook, "5_rope")
        book.add_grade_cell("question", notebook, "5_rope", max_score=6, cell_type="markdown")
        book.add_student("ann", first_name="Ann")
        book.add_submission("5_rope", "ann")
    grade_by_hand(database, "ann", 4, notebook)
    enter_points([result("ann", "rope", 2), result("bob", "rope", 99)], database)
    grade_by_hand(database, "bob", 1, notebook)
    enter_points([result("ann", "rope", 2), result("bob", "rope", 99)], database)
    expected = {("ann", "5_rope"): points("rope", 2) + 4, ("bob", "5_rope"): points("rope") + 1}
    assert scores(database) == expected
    with opened(database) as book:
        assert book.find_student("ann").first_name == "Ann"


# --- what can go wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holds", "name", "sentence"),
    [
        ("no database at all, " * 50, "gradebook.db", "file is not a database"),
        (None, "", "unable to open database file"),  # a folder
        (None, "nowhere/gradebook.db", "unable to open database file"),
        (None, "sqlite//gradebook.db://", "is no URL of a database"),
        (None, "nosuchdatabase://host/name", "nosuchdatabase"),
        (["songs"], "gradebook.db", "is a database, but not a gradebook of nbgrader"),
    ],
)
def test_what_is_no_gradebook_is_a_sentence_and_stays_as_it_is(holds, name, sentence, tmp_path):
    database, path = name if "://" in name else str(tmp_path / name), tmp_path / "gradebook.db"
    if isinstance(holds, str):
        path.write_text(holds, encoding="utf-8")
    elif holds:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            for table in holds:
                connection.execute(f"create table {table} (id text)")
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    for attempt in (check_gradebook, lambda name: enter_points([result("a", "rope", 1)], name)):
        with pytest.raises(GradebookError, match=f"^[^\n]*{sentence}[^\n]*$"):
            attempt(database)
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before


def test_a_gradebook_that_is_being_written_is_left_alone(database):
    enter_points([result("ann", "rope", 1)], database)
    with contextlib.closing(sqlite3.connect(database)) as other:
        other.execute("begin immediate")
        with pytest.raises(GradebookError, match="another program is writing to it; try again"):
            enter_points([result("ann", "rope", 7)], f"sqlite:///{database}?timeout=0.1")
    assert scores(database) == {("ann", "5_rope"): points("rope", 1)}


@pytest.mark.filterwarnings("ignore:Column 'student.id'")
def test_if_it_breaks_off_nothing_was_entered(database):
    enter_points([result("ann", "rope", 1)], database)
    before = contents(database)
    strange = replace(result("bob", "rope", 1), student=None)
    with pytest.raises(GradebookError):
        enter_points([result("ann", "rope", 7), result("zoe", "lookup", 2), strange], database)
    assert contents(database) == before


# --- the command ----------------------------------------------------------------------------


@pytest.mark.skipif(bool(missing()), reason=" ".join(missing()))
@pytest.mark.slow
def test_the_command_enters_the_points(database, tmp_path):
    solution = find_lesson("learned").module("solutions").read_text(encoding="utf-8")
    for student, source in {"ann": solution, "bob": stub_from(solution, "learned")}.items():
        (tmp_path / "class" / student).mkdir(parents=True)
        (tmp_path / "class" / student / "learned.py").write_text(source, encoding="utf-8")
    options = ["--out", str(tmp_path / "out"), "--jobs", "1", "--gradebook"]
    other = str(tmp_path / "another.db")
    for name, said in {database: "", other: " (there was none, so it was made)"}.items():
        done = CliRunner().invoke(grade, [str(tmp_path / "class"), *options, name])
        assert done.exit_code == 0, done.output
        assert f"  {name}{said}\n" in done.output
        assert scores(name) == {("ann", "3_learned"): points("learned"), ("bob", "3_learned"): 0}


def test_the_command_looks_at_the_gradebook_before_it_grades(tmp_path):
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "gradebook.db").write_text("no database", encoding="utf-8")
    options = ["--out", str(tmp_path / "out"), "--unsandboxed"]
    options += ["--gradebook", str(tmp_path / "gradebook.db")]
    done = CliRunner().invoke(grade, [str(tmp_path / "class"), *options])
    assert (done.exit_code, (tmp_path / "out").exists()) == (1, False)
    assert "file is not a database" in done.output
