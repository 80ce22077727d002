"""`nbgrader autograde`, in which the judge grades and no notebook is run.

First the modules of all students are judged, each result kept as `course grade` keeps it. Then
each student's scores are saved and, last, the notebook is written. So whoever is interrupted runs
the command again, and a submission counts as graded only if it is.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader import converters
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import AssignLatePenalties, SaveAutoGrades
from nbgrader.utils import parse_utc, rmtree

from course.grading.nbgrader.assignments import foreign_tests, lesson_of
from course.grading.nbgrader.handed_in import HandedIn, read_handed_in
from course.grading.nbgrader.judged import (
    graded_cells,
    is_test,
    judged_notebook,
    missing_answers,
)
from course.grading.nbgrader.students import submitted
from course.syllabus import Lesson
from course.system.files import write_whole
from course.testing.result import LessonResult


@dataclass(frozen=True)
class Released:
    """A notebook of an assignment: the cells that the gradebook knows, and those of its file."""

    graded: dict[str, NotebookNode]
    cells: list[NotebookNode]


class Autograde(converters.Autograde):
    """nbgrader's, for assignments that are lessons."""

    def start(self) -> None:
        """Grade what was handed in and is not graded yet; with `force`, all of it.

        Raises:
            NbGraderException: something could not be graded; the log says what, and why.
        """
        from course.grading.judge.grade import GradingError  # it brings PyTorch along
        from course.grading.judge.import_path import UnsafePlace, safe_import_path
        from course.grading.sandbox.sandbox import SandboxError, missing

        lesson = lesson_of(self.coursedir.assignment_id)
        if lesson is None:
            self.log.warning(
                "%s is no lesson of the course: nbgrader runs its notebooks in your account",
                self.coursedir.assignment_id,
            )
            super().start()
            return
        try:
            if lacking := missing():
                raise SandboxError(" ".join(lacking))
            handed_in = Path(self.coursedir.root, self.coursedir.submitted_directory)
            with safe_import_path(handed_in):
                self._grade(lesson)
        except (GradingError, SandboxError, UnsafePlace, OSError) as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from None

    def _grade(self, lesson: Lesson) -> None:
        released = self._released(lesson)
        students, failed = self._students()
        results = self._judge(lesson, students)
        for student, folder in students.items():
            result = results[student]
            try:
                if not result.key:
                    raise NbGraderException(result.trouble)
                self._enter(read_handed_in(student, folder, lesson, released), released, result)
            except Exception as error:  # the others are not to pay for it
                self.log.error("%s was not graded: %s", student, error)
                failed.append(f"{student} was not graded")
        if failed:
            raise NbGraderException("; ".join(failed))

    def _released(self, lesson: Lesson) -> dict[str, Released]:
        """The notebooks of the assignment, by name."""
        assignment = self.coursedir.assignment_id
        folder = self.coursedir.format_path(self.coursedir.release_directory, ".", assignment)
        notebooks = {}
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            try:
                known = book.find_assignment(assignment).notebooks
            except MissingEntry:
                known = []
            for notebook in known:
                path = Path(folder, f"{notebook.name}.ipynb")
                cells = nbformat.read(path, as_version=4).cells if path.exists() else []
                if graded := graded_cells(notebook, cells):
                    notebooks[notebook.name] = Released(graded, cells)
        if not notebooks:
            raise _trouble(f"run `nbgrader generate_assignment {assignment}` first")
        for name, released in notebooks.items():
            tests = [test for test, cell in released.graded.items() if is_test(cell)]
            if trouble := foreign_tests(lesson, tests):
                raise _trouble(f"{name}.ipynb: {trouble}")
        return notebooks

    def _students(self) -> tuple[dict[str, Path], list[str]]:
        """The folders that were handed in, by student, and who is left out, in sentences."""
        ids, assignment = self.coursedir.student_id, self.coursedir.assignment_id
        folders, left_out = submitted(self.coursedir, ids, assignment)
        for student in self.coursedir.student_id_exclude.split(","):
            folders.pop(student, None)
        for sentence in left_out:
            self.log.error("%s", sentence)
        if not folders:
            raise _trouble(f"nothing of {assignment} was handed in by {ids}")
        return folders, left_out

    def _judge(self, lesson: Lesson, students: dict[str, Path]) -> dict[str, LessonResult]:
        """The result of each student, from the judge or, if nothing changed, as it was kept."""
        from course.grading.judge.grade import Settings, Store, grade_all
        from course.grading.judge.unit import Unit

        def units() -> Iterator[Unit]:
            for student, folder in students.items():
                yield Unit(student, lesson.stem, read_handed_in(student, folder, lesson).module)

        store = Store(Path(self.coursedir.root) / "graded")
        results = {}
        with store.locked():
            settings = Settings(store.seed(None))
            jobs = min(os.cpu_count() or 1, len(students))
            for result, _ in grade_all(units(), store, settings, jobs, self.force):
                results[result.student] = result
                self.log.info("%s: %d of %d points", result.student, result.points, result.worth)
        return results

    def _enter(
        self, handed_in: HandedIn, released: dict[str, Released], result: LessonResult
    ) -> None:
        """Save the scores of a student and write the notebooks that show them."""
        remarks = [*handed_in.remarks, *_missing(handed_in, released)]
        for remark in remarks:
            self.log.warning("%s: %s", handed_in.student, remark)
        files = {"timestamp.txt": handed_in.timestamp, "submission_secret.txt": handed_in.secret}
        notebooks = {
            name: judged_notebook(
                handed_in.notebooks[name],
                one.graded,
                one.cells,
                result,
                remarks,
                (handed_in.module or b"").decode("utf-8", errors="replace"),
            )
            for name, one in released.items()
        }
        files |= {f"{name}.ipynb": nbformat.writes(one) + "\n" for name, one in notebooks.items()}
        files = {name: text for name, text in files.items() if text}
        assignment = self.coursedir.assignment_id
        folder = Path(
            self.coursedir.format_path(
                self.coursedir.autograded_directory, handed_in.student, assignment
            )
        )
        if not self.force and self._is_known(handed_in.student) and _holds(folder, files):
            return
        if folder.exists():
            rmtree(folder)
        self._save(handed_in, notebooks)
        for name, text in files.items():
            write_whole(folder / name, text)
        self.set_permissions(assignment, handed_in.student)

    def _is_known(self, student: str) -> bool:
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            try:
                book.find_submission(self.coursedir.assignment_id, student)
            except MissingEntry:
                return False
        return True

    def _save(self, handed_in: HandedIn, notebooks: dict[str, NotebookNode]) -> None:
        """Let nbgrader save the scores, as it does."""
        student, assignment = handed_in.student, self.coursedir.assignment_id
        time = {"timestamp": parse_utc(handed_in.timestamp)} if handed_in.timestamp else {}
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            book.update_or_create_student(student)
            # nbgrader reads while it makes a submission, which SQLAlchemy would save, half made
            with book.db.no_autoflush:
                book.update_or_create_submission(assignment, student, **time)
        for name, notebook in notebooks.items():
            about = {"notebook": name, "assignment": assignment, "student": student}
            resources = {"nbgrader": {**about, "db_url": self.coursedir.db_url}}
            SaveAutoGrades(parent=self).preprocess(notebook, resources)
            AssignLatePenalties(parent=self).preprocess(notebook, resources)


def _missing(handed_in: HandedIn, released: dict[str, Released]) -> list[str]:
    """A sentence for each notebook in which answers were not found."""
    missing = {
        name: missing_answers(handed_in.notebooks[name], one.graded)
        for name, one in released.items()
    }
    return [
        f"{name}.ipynb has no cell {' and no cell '.join(answers)}: find what was answered and "
        "grade it by hand."
        for name, answers in missing.items()
        if answers
    ]


def _holds(folder: Path, files: dict[str, str]) -> bool:
    """Whether a folder holds exactly these files."""
    try:
        return {path.name: path.read_text("utf-8") for path in folder.iterdir()} == files
    except (OSError, UnicodeError):
        return False


def _trouble(sentence: str) -> Exception:
    from course.grading.judge.grade import GradingError

    return GradingError(sentence)
