"""Enter points in nbgrader's gradebook, where its formgrader and `nbgrader export` find them.

A lesson is an assignment with a notebook of the same name, "5_rope"; an exercise is a grade cell
of that notebook, under the exercise's own name. An instructor's notebook may have that name too:
its other cells, scores given by hand, comments and penalties stay, and the points add up. Two
rules of nbgrader's hold then. `nbgrader generate_assignment` comes first, for it refuses to change
a notebook that has submissions; if the notebook has cells with the names of the exercises, it may
be run again later. And `nbgrader autograde` enters a score in every cell that it finds, so enter
the points again after it. In a folder of `course nbgrader init` it asks our judge, so there is
nothing to enter.

The formgrader lists an assignment only if there is a folder of it, `source/5_rope`.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from nbgrader.api import (
    BaseCell,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from nbgrader.dbutil import ALEMBIC_DIR
from sqlalchemy import URL, create_engine, inspect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from course.grading.judge.grade import GradingError
from course.syllabus import Lesson, lessons
from course.testing.result import LessonResult

KERNEL = '{"name": "python3", "display_name": "Python 3", "language": "python"}'
"""What nbgrader wants to know about a notebook that it has not seen."""


class GradebookError(GradingError):
    """Why points cannot be entered, in one sentence."""


def check_gradebook(database: str) -> bool:
    """See whether points can be entered in a database, and change nothing.

    Args:
        database: the file, or the URL that nbgrader knows it by, "sqlite:///gradebook.db". If
            there is no such file, it can be made.

    Returns:
        Whether there is such a database.

    Raises:
        GradebookError: they cannot.
    """
    url = _url(database)
    if _is_missing(url):
        folder = Path(url.database).absolute().parent
        if not folder.is_dir():
            raise GradebookError(f"there is no folder {folder} for the gradebook")
        return False
    with _in_a_sentence(database):
        engine = create_engine(url)
        with engine.connect() as connection:
            if url.get_backend_name() == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")  # fails if it cannot be written
            tables = set(inspect(connection).get_table_names())
            revision = MigrationContext.configure(connection).get_current_revision()
        engine.dispose()
    if tables and not tables.issuperset({"assignment", "grade"}):
        raise GradebookError(f"{database} is a database, but not a gradebook of nbgrader")
    if tables and revision != ScriptDirectory(ALEMBIC_DIR).get_current_head():
        raise GradebookError(
            f"{database} was made by another version of nbgrader; `nbgrader db upgrade` brings it "
            "up to date"
        )
    return True


def enter_points(results: Sequence[LessonResult], database: str) -> None:
    """Enter all results, or none if that fails.

    A second time changes nothing but what is different now. Scores given by hand stay, and if the
    points beneath one changed, nbgrader asks to look at it again. What was not graded is left as
    it is, and nobody gets a submission who handed in nothing.

    Args:
        results: of any students and lessons.
        database: see `check_gradebook`.

    Raises:
        GradebookError: they cannot be entered.
    """
    check_gradebook(database)
    with _in_a_sentence(database), _in_one_step(_url(database)) as book:
        for lesson in lessons():
            of_lesson = [one for one in results if one.lesson == lesson.stem and one.key]
            if of_lesson:
                _enter_lesson(book, lesson, of_lesson)


def _enter_lesson(book: Gradebook, lesson: Lesson, results: Sequence[LessonResult]) -> None:
    name = lesson.text.stem
    book.update_or_create_assignment(name)
    try:
        notebook = book.find_notebook(name, name)
    except MissingEntry:
        notebook = book.add_notebook(name, name, kernelspec=KERNEL)
    cells = _cells(book, lesson, notebook)
    for result in results:
        submission = _submission(book, name, result)
        if submission is not None:
            _enter_result(book, _submitted(book, submission, notebook), cells, result)


def _cells(book: Gradebook, lesson: Lesson, notebook: Notebook) -> dict[str, BaseCell]:
    """The cells of the exercises; they are made if the notebook does not have them."""
    cells = {cell.name: cell for cell in [*notebook.grade_cells, *notebook.task_cells]}
    for exercise in lesson.exercises:
        if exercise.name in cells:
            cells[exercise.name].max_score = exercise.points
        else:
            cells[exercise.name] = book.add_grade_cell(
                exercise.name,
                notebook.name,
                notebook.name,
                max_score=exercise.points,
                cell_type="code",
            )
    return cells


def _submission(book: Gradebook, name: str, result: LessonResult) -> SubmittedAssignment | None:
    try:
        return book.find_submission(name, result.student)
    except MissingEntry:
        if not result.handed_in:
            return None
        book.update_or_create_student(result.student)
        return book.add_submission(name, result.student)


def _submitted(
    book: Gradebook, submission: SubmittedAssignment, notebook: Notebook
) -> SubmittedNotebook:
    """The notebook in a submission; it is made in one that is older than the notebook."""
    for submitted in submission.notebooks:
        if submitted.notebook_id == notebook.id:
            return submitted
    made = SubmittedNotebook(notebook=notebook, assignment=submission)
    book.db.add(made)
    return made


def _enter_result(
    book: Gradebook,
    submitted: SubmittedNotebook,
    cells: dict[str, BaseCell],
    result: LessonResult,
) -> None:
    grades = {grade.cell_id: grade for grade in submitted.grades}
    for exercise in result.exercises:
        cell = cells[exercise.name]
        grade = grades.get(cell.id)
        if grade is None:  # the submission is older than the cell
            grade = Grade(cell_id=cell.id, notebook=submitted)
            book.db.add(grade)
        if grade.auto_score != exercise.points:
            grade.auto_score = exercise.points
            grade.needs_manual_grade = grade.manual_score is not None


# --- the database ---------------------------------------------------------------------------


def _url(database: str) -> URL:
    if "://" not in database:
        return URL.create("sqlite", database=database)
    try:
        return make_url(database)
    except ArgumentError:
        raise GradebookError(f"{database} is no URL of a database") from None


def _is_missing(url: URL) -> bool:
    return url.get_backend_name() == "sqlite" and not Path(url.database).exists()


@contextmanager
def _in_one_step(url: URL) -> Iterator[Gradebook]:
    """nbgrader's gradebook, in which nothing lasts until the block has ended without an error.

    nbgrader commits after every entry. Here its session works within a transaction around the
    whole, where its commits do no more than send what there is to the database.
    """
    if _is_missing(url):
        _create(url)
    with Gradebook(url) as book, book.engine.connect() as connection, connection.begin():
        book.db.remove()
        book.db.configure(
            bind=connection,
            join_transaction_mode="rollback_only",
            autoflush=False,
            expire_on_commit=False,
        )
        yield book
        book.db.commit()


def _create(url: URL) -> None:
    """Make an empty gradebook, in one step as well."""
    path = Path(url.database)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    programs = os.environ.get("PATH", "")
    # nbgrader runs `alembic`, which lies beside our Python and need not be on the path
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), programs])
    try:
        Gradebook(url.set(database=str(draft))).close()
    finally:
        os.environ["PATH"] = programs
    os.replace(draft, path)


@contextmanager
def _in_a_sentence(database: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        reason = str(error.orig)
        if "locked" in reason:
            reason = "another program is writing to it; try again when it is done"
        raise GradebookError(f"{database}: {reason}") from None
    except (SQLAlchemyError, InvalidEntry, ImportError) as error:
        raise GradebookError(f"{database}: {str(error).partition(chr(10))[0]}") from None
