"""`nbgrader autograde`, in which the judge grades and no notebook is run.

First the modules of all students are judged, each result kept as `course grade` keeps it. Then
each student's scores are saved and, last, the notebook is written. So whoever is interrupted runs
the command again, and a submission counts as graded only if it is.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import converters
from nbgrader.api import Gradebook, MissingEntry, Notebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades
from nbgrader.utils import parse_utc, rmtree

from course.grading.nbgrader.notebook import judged_notebook, missing_answers, name_of
from course.grading.nbgrader.release import check_tests, lesson_of
from course.grading.nbgrader.submissions import Unreadable, read_handed_in, submitted
from course.syllabus import Lesson
from course.system.files import write_whole
from course.testing.result import LessonResult


class Autograde(converters.Autograde):
    """The `Autograde` of nbgrader, for assignments that are lessons."""

    def start(self) -> None:
        """Grade what was handed in and is not graded yet; with `force`, all of it.

        Raises:
            NbGraderException: something could not be graded; the log says what, and why.
        """
        from course.grading.judge.grade import GradingError  # it brings PyTorch along
        from course.grading.judge.import_path import UnsafePlace, safe_import_path
        from course.grading.sandbox.sandbox import SandboxError, missing

        assignment = self.coursedir.assignment_id
        lesson = lesson_of(assignment)
        if lesson is None:
            self.log.warning(
                "%s is no lesson of the course: nbgrader runs its notebooks in your account",
                assignment,
            )
            super().start()
            return
        try:
            if lacking := missing():
                raise SandboxError(" ".join(lacking))
            with safe_import_path(Path(self.coursedir.root, self.coursedir.submitted_directory)):
                self._grade(lesson)
        except (GradingError, SandboxError, UnsafePlace, OSError, ValueError) as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from None

    def _grade(self, lesson: Lesson) -> None:
        released = self._released(lesson)
        folders, failed = self._submitted()
        for student, result in self._judged(lesson, folders).items():
            try:
                if not result.key:
                    raise NbGraderException(result.trouble)
                self._enter(lesson, folders[student], released, result)
            except Exception as error:  # the others are not to pay for it
                self.log.error("%s was not graded: %s", student, error)
                failed.append(f"{student} was not graded")
        if failed:
            raise NbGraderException("; ".join(failed))

    def _released(self, lesson: Lesson) -> dict[str, list[NotebookNode]]:
        """Return the cells of each notebook that students got, with the gradebook's points."""
        assignment = self.coursedir.assignment_id
        folder = self.coursedir.format_path(self.coursedir.release_directory, ".", assignment)
        notebooks = {}
        try:
            with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
                for notebook in book.find_assignment(assignment).notebooks:
                    if notebook.source_cells:
                        path = Path(folder, f"{notebook.name}.ipynb")
                        notebooks[notebook.name] = nbformat.read(path, as_version=4).cells
                        _overwrite(notebooks[notebook.name], notebook)
        except (MissingEntry, FileNotFoundError, KeyError):
            notebooks = {}
        if not notebooks:
            raise ValueError(f"run `nbgrader generate_assignment {assignment}` first")
        for name, cells in notebooks.items():
            check_tests(lesson, name, cells)
        return notebooks

    def _submitted(self) -> tuple[dict[str, Path], list[str]]:
        """Return the folders that were handed in, by student, and who is left out, in sentences."""
        ids, assignment = self.coursedir.student_id, self.coursedir.assignment_id
        folders, left_out = submitted(self.coursedir, ids, assignment)
        for student in self.coursedir.student_id_exclude.split(","):
            folders.pop(student, None)
        for sentence in left_out:
            self.log.error("%s", sentence)
        if not folders:
            raise ValueError(f"nothing of {assignment} was handed in by {ids}")
        return folders, left_out

    def _judged(self, lesson: Lesson, folders: Mapping[str, Path]) -> dict[str, LessonResult]:
        """Return the result of each student, from the judge or, if nothing changed, as kept."""
        from course.grading.judge.grade import Settings, Store, grade_all
        from course.grading.judge.unit import Unit

        def units() -> Iterator[Unit]:
            for student, folder in folders.items():
                try:
                    yield Unit(student, lesson.stem, read_handed_in(folder, lesson).module)
                except Unreadable as why:
                    yield Unit(student, lesson.stem, None, unread=str(why))

        store = Store(Path(self.coursedir.root) / "graded")
        results = {}
        with store.locked():
            settings = Settings(store.seed(None))
            jobs = min(os.cpu_count() or 1, len(folders))
            for result, _ in grade_all(units(), store, settings, jobs, self.force):
                results[result.student] = result
                self.log.info("%s: %d of %d points", result.student, result.points, result.worth)
        return {student: results[student] for student in folders}

    def _enter(
        self,
        lesson: Lesson,
        folder: Path,
        released: Mapping[str, list[NotebookNode]],
        result: LessonResult,
    ) -> None:
        """Save the scores of a student and write the notebooks that show them."""
        student, assignment = result.student, self.coursedir.assignment_id
        handed_in = read_handed_in(folder, lesson, released)
        remarks = handed_in.remarks + [
            f"{name}.ipynb has no cell {answer}: find what was answered and grade it by hand."
            for name, cells in released.items()
            for answer in missing_answers(handed_in.notebooks[name], cells)
        ]
        for remark in remarks:
            self.log.warning("%s: %s", student, remark)
        module = (handed_in.module or b"").decode("utf-8", errors="replace")
        notebooks = {
            name: judged_notebook(handed_in.notebooks[name], cells, result, remarks, module)
            for name, cells in released.items()
        }
        files = handed_in.texts | {
            f"{name}.ipynb": nbformat.writes(notebook) + "\n"
            for name, notebook in notebooks.items()
        }
        done = Path(
            self.coursedir.format_path(self.coursedir.autograded_directory, student, assignment)
        )
        if not self.force and self._is_entered(student, done, files):
            return
        if done.exists():
            rmtree(done)
        self._save(student, notebooks, handed_in.texts.get("timestamp.txt"))
        for name, text in files.items():
            write_whole(done / name, text)
        self.set_permissions(assignment, student)

    def _is_entered(self, student: str, done: Path, files: Mapping[str, str]) -> bool:
        """Return whether the gradebook knows a submission, and a folder holds these files alone."""
        try:
            with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
                book.find_submission(self.coursedir.assignment_id, student)
            return {path.name: path.read_text("utf-8") for path in done.iterdir()} == files
        except (MissingEntry, OSError, UnicodeError):
            return False

    def _save(self, student: str, notebooks: Mapping[str, NotebookNode], time: str | None) -> None:
        """Let nbgrader save the scores, as it does."""
        assignment, db_url = self.coursedir.assignment_id, self.coursedir.db_url
        timestamp = {"timestamp": parse_utc(time)} if time else {}
        with Gradebook(db_url, self.coursedir.course_id) as book:
            book.update_or_create_student(student)
            # nbgrader reads while it makes a submission, which SQLAlchemy would save, half made
            with book.db.no_autoflush:
                book.update_or_create_submission(assignment, student, **timestamp)
        for name, notebook in notebooks.items():
            about = {"notebook": name, "assignment": assignment, "student": student}
            for step in (SaveAutoGrades(parent=self), AssignLatePenalties(parent=self)):
                step.preprocess(notebook, {"nbgrader": {**about, "db_url": db_url}})


def _overwrite(cells: list[NotebookNode], notebook: Notebook) -> None:
    """Let the cells of a released notebook be what the gradebook knows of them."""
    released = {name_of(cell): cell for cell in cells}
    points = {cell.name: cell.max_score for cell in [*notebook.grade_cells, *notebook.task_cells]}
    for known in notebook.source_cells:
        cell = released[known.name]
        cell.source, cell.metadata.nbgrader.checksum = known.source, known.checksum
        if known.name in points:
            cell.metadata.nbgrader.points = points[known.name]
