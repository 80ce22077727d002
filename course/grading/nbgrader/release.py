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

_SOLUTION = "BEGIN SOLUTION"


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
        try:
            if lesson is not None:
                self._check(lesson)
        except ValueError as error:
            self.log.error("%s", error)
            raise NbGraderException(str(error)) from None
        super().start()

    def _check(self, lesson: Lesson) -> None:
        source = self._format_source(self.coursedir.assignment_id, ".")
        for path in map(Path, find_all_files(source, self.coursedir.ignore)):
            if path.suffix == ".py":
                self._stubs[path.relative_to(source)] = stub_of(path)
            elif path.suffix == ".ipynb":
                check_tests(lesson, path.stem, nbformat.read(path, as_version=4).cells)
            elif _SOLUTION.encode() in path.read_bytes():
                raise ValueError(f"{path.name} holds a solution: move it elsewhere")

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


def stub_of(path: Path) -> str:
    """Return what students get of a module.

    Raises:
        ValueError: there would be something of a solution in it.
    """
    try:
        stub = stub_from(path.read_text(encoding="utf-8"), path.stem)
    except (SyntaxError, UnicodeError) as error:
        raise ValueError(f"{path.name} is no Python: {error}") from None
    if _SOLUTION in stub:
        raise ValueError(f"{path.name}: a solution has no END SOLUTION line of its own")
    return stub
