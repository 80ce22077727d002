"""`nbgrader generate_assignment`, which gives students the stub of a module, not the solution.

nbgrader takes solutions out of notebooks alone, and copies all other files as they are.
"""

from collections.abc import Iterable
from pathlib import Path

import nbformat
from nbgrader import converters
from nbgrader.converters.base import NbGraderException
from nbgrader.utils import find_all_files, is_grade, is_solution

from course.syllabus import Lesson, lessons, stub_from
from course.system.files import write_whole


def lesson_of(assignment: str) -> Lesson | None:
    """Return the lesson that an assignment is, by its name.

    >>> lesson_of("5_rope").stem
    'rope'
    >>> lesson_of("homework")
    """
    return next((lesson for lesson in lessons() if lesson.text.stem == assignment), None)


def check_tests(lesson: Lesson, notebook: str, cells: Iterable[nbformat.NotebookNode]) -> None:
    """Refuse cells that are to be graded by tests but are no exercise, so that nobody could.

    Raises:
        ValueError: there are some.
    """
    exercises = {exercise.name for exercise in lesson.exercises}
    tests = [cell.metadata.nbgrader.grade_id for cell in cells if is_test(cell)]
    if foreign := [name for name in tests if name not in exercises]:
        raise ValueError(
            f"{notebook}.ipynb: no exercise of {lesson.stem} is called {' or '.join(foreign)}, so "
            "there are no tests for a cell of that name: let it be graded by hand"
        )


def is_test(cell: nbformat.NotebookNode) -> bool:
    """Return whether the points of a cell come from tests."""
    return is_grade(cell) and not is_solution(cell)


class GenerateAssignment(converters.GenerateAssignment):
    """The `GenerateAssignment` of nbgrader, for assignments that are lessons."""

    def start(self) -> None:
        """Make the student's version of an assignment.

        Raises:
            NbGraderException: something in it would give a solution away, or could not be graded;
                the log says what.
        """
        self._stubs: dict[Path, str] = {}
        lesson = lesson_of(self.coursedir.assignment_id)
        source = self._format_source(self.coursedir.assignment_id, ".")
        try:
            for path in map(Path, find_all_files(source, self.coursedir.ignore) if lesson else ()):
                if path.suffix == ".ipynb":
                    if path.stem != lesson.text.stem:
                        raise ValueError(f"a lesson has one notebook, {lesson.text.stem}.ipynb")
                    check_tests(lesson, path.stem, nbformat.read(path, as_version=4).cells)
                    continue
                text = path.read_bytes().decode("utf-8", errors="replace")
                if path.suffix == ".py":
                    text = self._stubs[path.relative_to(source)] = stub_from(text, path.stem)
                if "BEGIN SOLUTION" in text:
                    raise ValueError("it would show a solution: end each, or move it elsewhere")
        except (SyntaxError, ValueError) as error:
            self.log.error("%s: %s", path.name, error)
            raise NbGraderException(f"{path.name}: {error}") from None
        super().start()

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Put all files of an assignment but its notebook into `release/`.

        A solution is never there, not even for a moment.
        """
        ignored = self.coursedir.ignore
        if self._stubs:
            self.coursedir.ignore = [*ignored, "*.py"]
        try:
            super().init_assignment(assignment_id, student_id)
        finally:
            self.coursedir.ignore = ignored
        for name, stub in self._stubs.items():
            write_whole(Path(self._format_dest(assignment_id, student_id), name), stub)
