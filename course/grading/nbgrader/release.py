"""`nbgrader generate_assignment`, which gives students the stub of a module, not the solution.

nbgrader takes solutions out of notebooks alone, and copies all other files as they are.
"""

from pathlib import Path

import nbformat
from nbgrader import converters
from nbgrader.converters.base import NbGraderException
from nbgrader.utils import find_all_files, is_grade, is_solution

from course.grading.nbgrader.assignments import foreign_tests, lesson_of
from course.syllabus import Lesson, stub_from
from course.system.files import write_whole

_SOLUTION = "BEGIN SOLUTION"


class GenerateAssignment(converters.GenerateAssignment):
    """nbgrader's, for assignments that are lessons."""

    def start(self) -> None:
        """Make the student's version of an assignment.

        Raises:
            NbGraderException: something in it would give a solution away, or could not be graded;
                the log says what.
        """
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
                stub_of(path)
            elif path.suffix == ".ipynb":
                cells = nbformat.read(path, as_version=4).cells
                tests = [cell for cell in cells if is_grade(cell) and not is_solution(cell)]
                names = [cell.metadata["nbgrader"]["grade_id"] for cell in tests]
                if trouble := foreign_tests(lesson, names):
                    raise ValueError(f"{path.name}: {trouble}")
            elif _SOLUTION.encode() in path.read_bytes():
                raise ValueError(f"{path.name} holds a solution: move it elsewhere")

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        """Put all files of an assignment but its notebook into `release/`.

        A solution is never there, not even for a moment.
        """
        if lesson_of(assignment_id) is None:
            super().init_assignment(assignment_id, student_id)
            return
        source = Path(self._format_source(assignment_id, student_id))
        release = Path(self._format_dest(assignment_id, student_id))
        ignored = self.coursedir.ignore
        modules = [Path(name) for name in find_all_files(source, ignored) if name.endswith(".py")]
        self.coursedir.ignore = [*ignored, "*.py"]
        try:
            super().init_assignment(assignment_id, student_id)
        finally:
            self.coursedir.ignore = ignored
        for path in modules:
            write_whole(release / path.relative_to(source), stub_of(path))


def stub_of(path: Path) -> str:
    """What students get of a module.

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
