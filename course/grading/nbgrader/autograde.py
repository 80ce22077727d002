"""`nbgrader autograde`, in which the judge grades and no notebook is run.

Each module is judged, and the result kept as `course grade` keeps it; then the student's scores are
saved and, last, the notebook is written. So whoever is interrupted runs the command again, and a
submission counts as graded only if it is.
"""

import fnmatch
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import converters
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import AssignLatePenalties, OverwriteCells, SaveAutoGrades
from nbgrader.utils import parse_utc, rmtree

from course.core.files import write_atomically
from course.core.syllabus import Lesson
from course.grading.judge.unit import GradedResult, Unit
from course.grading.nbgrader.notebook import (
    NOT_FOUND,
    count_own_words,
    find_answers,
    is_test,
    judged_notebook,
    name_of,
)
from course.grading.nbgrader.submissions import TIME, HandedIn, lesson_of, read_handed_in, submitted
from course.testing.messages.wording import counted
from course.testing.result import listed


class Autograde(converters.Autograde):
    """The `Autograde` of nbgrader, for assignments that are lessons."""

    def start(self) -> None:
        """Grade what was handed in and is not graded yet; with `force`, all of it.

        Raises:
            NbGraderException: something could not be graded; the log says what, and why.
        """
        from course.grading.judge.grade import GradingError, refuse_to_run_in
        from course.grading.sandbox.sandbox import SandboxError, require_sandbox

        assignment = self.coursedir.assignment_id
        lesson = lesson_of(assignment)
        if lesson is None:
            self.log.warning(
                "%s is not a lesson of the course: nbgrader runs its notebooks in your account",
                assignment,
            )
            super().start()
            return
        try:
            require_sandbox()
            refuse_to_run_in(Path(self.coursedir.root, self.coursedir.submitted_directory))
            self._grade(lesson)
        except (GradingError, SandboxError, OSError, ValueError) as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from None

    def _grade(self, lesson: Lesson) -> None:
        from course.grading.judge.grade import Store, grade_all

        released = self._released(lesson)
        given_out = nbformat.read(lesson.notebook, as_version=4).cells  # in a clone
        folders, failed = self.submitted()

        def units() -> Iterator[Unit]:
            for student, folder in folders.items():
                try:
                    yield Unit(student, lesson.stem, read_handed_in(folder, lesson).module)
                except OSError as why:
                    yield Unit(student, lesson.stem, None, unread=f"It cannot be read: {why}.")

        store = Store(Path(self.coursedir.root) / "graded")
        jobs = min(os.cpu_count() or 1, len(folders))
        with store.locked():
            for result in grade_all(units(), store.seed(None), jobs, self.force):
                student = result.student
                why = "".join(f": {line}" for line in result.trouble.splitlines()[:1])
                try:
                    if not result.key:
                        raise NbGraderException(result.trouble)
                    self.log.info(
                        "%s: %d of %d points%s", student, result.points, result.worth, why
                    )
                    handed_in = read_handed_in(folders[student], lesson)
                    self._enter(handed_in, released, given_out, result)
                except Exception as error:  # the others are not to pay for it
                    self.log.error("%s was not graded: %s", student, error)
                    failed.append(f"{student} was not graded")
        if failed:
            raise NbGraderException("; ".join(failed))

    def _released(self, lesson: Lesson) -> NotebookNode:
        """Return the notebook that students got, its cells and points as the gradebook has them."""
        assignment = self.coursedir.assignment_id
        folder = self.coursedir.format_path(self.coursedir.release_directory, ".", assignment)
        try:
            notebook = nbformat.read(Path(folder, f"{assignment}.ipynb"), as_version=4)
            with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
                cells = book.find_notebook(assignment, assignment).source_cells
                others = len(book.find_assignment(assignment).notebooks) - 1
            if {cell.name for cell in cells} != {*map(name_of, notebook.cells)} - {""}:
                raise MissingEntry
        except (MissingEntry, FileNotFoundError):
            raise ValueError(f"run `nbgrader generate_assignment {assignment}` first") from None
        if others:
            raise ValueError(f"{assignment} must have exactly one notebook, {assignment}.ipynb")
        OverwriteCells(parent=self).preprocess(notebook, self._resources())
        exercises = {exercise.name for exercise in lesson.exercises}
        if foreign := {*map(name_of, filter(is_test, notebook.cells))} - exercises:
            raise ValueError(
                f"{lesson.stem} has no exercise called {' or '.join(sorted(foreign))}, so there "
                "are no tests for a cell with that name: make it manually graded"
            )
        return notebook

    def submitted(self) -> tuple[dict[str, Path], list[str]]:
        """Return the folders that were handed in, by student, and who is left out, in sentences."""
        wanted, assignment = self.coursedir.student_id, self.coursedir.assignment_id
        without = self.coursedir.student_id_exclude.split(",")
        found, left_out = submitted(self.coursedir, assignment)
        named = fnmatch.filter(found, wanted)
        folders = {student: found[student] for student in named if student not in without}
        for sentence in left_out:
            self.log.error("%s", sentence)
        if not folders:
            raise ValueError(f"nobody handed in {assignment} (looked for: {wanted})")
        return folders, left_out

    def _enter(
        self,
        handed_in: HandedIn,
        released: NotebookNode,
        given_out: Sequence[NotebookNode],
        result: GradedResult,
    ) -> None:
        """Save the scores of a student and write the notebook that shows them.

        Args:
            given_out: the cells of the course's own notebook, which may be handed in instead.
        """
        student, assignment = result.student, self.coursedir.assignment_id
        answers = find_answers(handed_in.cells, released.cells)
        remarks = handed_in.remarks + result.remarks
        missing = [name for name, answer in answers.items() if answer == NOT_FOUND]
        if missing and handed_in.cells:
            called = f"cell{'s' * (len(missing) > 1)} called {listed(missing)}"
            remarks.append(f"The notebook has no {called}, where an answer should be.")
        if n_own := count_own_words(handed_in.cells, [*released.cells, *given_out]):
            cells = counted(n_own, "cell")
            remarks.append(f"The student added or changed {cells} of words: look in submitted/.")
        for remark in remarks:
            self.log.warning("%s: %s", student, remark)
        module = (handed_in.module or b"").decode("utf-8", errors="replace")
        notebook = judged_notebook(released, answers, result, remarks, module)
        files = handed_in.texts | {f"{assignment}.ipynb": nbformat.writes(notebook) + "\n"}
        place = self.coursedir.autograded_directory
        done = Path(self.coursedir.format_path(place, student, assignment))
        if not self.force and _holds(done, files):
            return
        if done.exists():
            rmtree(done)
        self._save(student, notebook, handed_in.texts.get(TIME))
        for name, text in files.items():
            write_atomically(done / name, text)
        self.set_permissions(assignment, student)

    def _save(self, student: str, notebook: NotebookNode, time: str | None) -> None:
        """Let nbgrader save the scores, as it does."""
        timestamp = {"timestamp": parse_utc(time)} if time else {}
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            book.update_or_create_student(student)
            # nbgrader reads while it makes a submission, which SQLAlchemy would save, half made
            with book.db.no_autoflush:
                book.update_or_create_submission(self.coursedir.assignment_id, student, **timestamp)
        for step in (SaveAutoGrades(parent=self), AssignLatePenalties(parent=self)):
            step.preprocess(notebook, self._resources(student))

    def _resources(self, student: str = "") -> dict[str, dict[str, str]]:
        """Return what nbgrader's steps want to know."""
        assignment, db_url = self.coursedir.assignment_id, self.coursedir.db_url
        about = {"notebook": assignment, "assignment": assignment, "student": student}
        return {"nbgrader": {**about, "db_url": db_url}}


def _holds(folder: Path, files: Mapping[str, str]) -> bool:
    """Return whether a folder holds these files alone."""
    try:
        return {path.name: path.read_text("utf-8") for path in folder.iterdir()} == files
    except (OSError, UnicodeError):
        return False
