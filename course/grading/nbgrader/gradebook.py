"""Enter points in nbgrader's gradebook, where its formgrader and `nbgrader export` find them.

A lesson is an assignment with a notebook of the same name, "5_rope"; an exercise is a grade cell
of that notebook, under the exercise's own name. An instructor's notebook may have that name too:
its other cells, scores given by hand, comments and penalties stay, and the points add up.

nbgrader's own `autograde` enters a score in every cell that it finds, so enter the points again
after it. In a folder of `course nbgrader init` it asks our judge, so there is nothing to enter.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from nbgrader.api import (
    Base,
    BaseCell,
    Grade,
    Gradebook,
    InvalidEntry,
    MissingEntry,
    Notebook,
    SubmittedNotebook,
)
from nbgrader.dbutil import ALEMBIC_DIR
from sqlalchemy import URL, NullPool, create_engine, inspect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from course.grading.judge.grade import GradingError
from course.syllabus import Lesson, lessons
from course.testing.result import LessonResult

KERNEL = '{"name": "python3", "display_name": "Python 3", "language": "python"}'
"""The kernel of a notebook that nbgrader has not seen."""


class GradebookError(GradingError):
    """A reason why points cannot be entered, in one sentence."""


def check_gradebook(database: str) -> bool:
    """Return whether there is a gradebook, and change nothing.

    Args:
        database: its file, or the URL that nbgrader knows it by, "sqlite:///gradebook.db".

    Raises:
        GradebookError: there is something else, or nothing can be entered.
    """
    url = _url(database)
    is_file = url.get_backend_name() == "sqlite"
    if (
        is_file
        and not Path(url.database).exists()
        and Path(url.database).absolute().parent.is_dir()
    ):
        return False
    with _in_a_sentence(database), create_engine(url, poolclass=NullPool).begin() as connection:
        if is_file:
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # fails at once if it is locked
        tables = set(inspect(connection).get_table_names())
    if tables and not tables.issuperset({"assignment", "grade"}):
        raise GradebookError(f"{database} is a database, but not a gradebook of nbgrader")
    return bool(tables)


def enter_points(results: Sequence[LessonResult], database: str) -> None:
    """Enter all results, or none if that fails; make the gradebook if there is none.

    A second time changes nothing but what is different now. Scores given by hand stay, and if the
    points beneath one changed, nbgrader asks to look at it again. What was not graded is left as
    it is, and nobody gets a submission who handed in nothing.

    Args:
        results: of any students and lessons.
        database: see `check_gradebook`.

    Raises:
        GradebookError: they cannot be entered.
    """
    url, there_is_one = _url(database), check_gradebook(database)
    with _in_a_sentence(database):
        if not there_is_one:  # nbgrader's own way takes seconds, and a program on the PATH
            with create_engine(url, poolclass=NullPool).begin() as connection:
                Base.metadata.create_all(connection)
                MigrationContext.configure(connection).stamp(ScriptDirectory(ALEMBIC_DIR), "head")
        with _in_one_step(url) as book:
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
    cells = {cell.name: cell for cell in [*notebook.grade_cells, *notebook.task_cells]}
    for exercise in lesson.exercises:
        known = cells.get(exercise.name)
        if known is None:
            of_cell = {"max_score": exercise.points, "cell_type": "code"}
            cells[exercise.name] = book.add_grade_cell(exercise.name, name, name, **of_cell)
        else:
            known.max_score = exercise.points
    for result in results:
        _enter_result(book, notebook, cells, result)


def _enter_result(
    book: Gradebook, notebook: Notebook, cells: Mapping[str, BaseCell], result: LessonResult
) -> None:
    try:
        submission = book.find_submission(notebook.name, result.student)
    except MissingEntry:
        if not result.handed_in:
            return
        book.update_or_create_student(result.student)
        submission = book.add_submission(notebook.name, result.student)
    of_notebook = [one for one in submission.notebooks if one.notebook_id == notebook.id]
    if not of_notebook:  # the submission is older than the notebook
        of_notebook = [SubmittedNotebook(notebook=notebook, assignment=submission)]
        book.db.add(of_notebook[0])
    grades = {grade.cell_id: grade for grade in of_notebook[0].grades}
    for exercise in result.exercises:
        cell = cells[exercise.name]
        if cell.id not in grades:  # the submission is older than the cell
            grades[cell.id] = Grade(cell_id=cell.id, notebook=of_notebook[0])
            book.db.add(grades[cell.id])
        grade = grades[cell.id]
        if grade.auto_score != exercise.points:
            grade.auto_score = exercise.points
            grade.needs_manual_grade = grade.manual_score is not None


def _url(database: str) -> URL:
    if "://" not in database:
        return URL.create("sqlite", database=database)
    try:
        return make_url(database)
    except ArgumentError:
        raise GradebookError(f"{database} is no URL of a database") from None


@contextmanager
def _in_one_step(url: URL) -> Iterator[Gradebook]:
    """Open nbgrader's gradebook; nothing lasts until the block has ended without an error.

    nbgrader commits after every entry. Here its session works within a transaction around the
    whole, where its commits do no more than send what there is to the database.
    """
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


@contextmanager
def _in_a_sentence(database: str) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        reason = str(error.orig)
        if "locked" in reason:
            reason = "another program is writing to it; try again when it is done"
        if "no such" in reason:
            reason += "; `nbgrader db upgrade` brings a gradebook up to date"
        raise GradebookError(f"{database}: {reason}") from None
    except (SQLAlchemyError, InvalidEntry, ImportError) as error:
        raise GradebookError(f"{database}: {str(error).partition(chr(10))[0]}") from None
