"""The tools of the notebooks: your exercises, and their checks.

In a notebook of `notebooks/` the exercises are those of `exercises/`; in a folder that holds both
the notebook and its module, as an assignment does, they are those of that module.
"""

import contextlib
import html
import io
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import display

from course import root
from course.core.syllabus import Lesson, Status, find_exercises, find_lesson
from course.student.exercises import (
    LessonExercises,
    borrowed_from_earlier,
    reference_exercises,
    written_exercises,
)
from course.student.progress import status_of_all
from course.testing.messages.wording import counted
from course.testing.outcomes import Wrong
from course.testing.result import listed
from course.testing.source import names_reached


def exercises(stem: str) -> "Exercises":
    """Return a lesson's exercises: `rope = exercises("rope")`, then `rope.rotate_half(x)`.

    Raises:
        ValueError: there is no such lesson.
    """
    return Exercises(find_lesson(stem))


class Exercises:
    """Exercises of a lesson: yours as soon as you have written them, else the reference's.

    What you save in the module counts from the next cell on. Every cell that uses something
    borrowed shows a banner.
    """

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._source: bytes | None = None
        self._names = LessonExercises({}, {})
        self._trouble = ""
        self._told: set[tuple[int, str]] = set()  # which names were asked for in which cells

    def __getattr__(self, name: str) -> Any:
        if name not in dir(self):
            raise AttributeError(f"no exercise of {self._lesson.stem} is called {name}")
        self._reload()
        self._tell_about(name)
        return getattr(self._names, name)

    def __dir__(self) -> list[str]:
        return [exercise.name for exercise in self._lesson.exercises]

    @property
    def _path(self) -> Path:
        return _folder(self._lesson) / f"{self._lesson.stem}.py"

    def _reload(self) -> None:
        path = self._path
        source = path.read_bytes() if path.exists() else b""
        if source == self._source:
            return
        self._source, self._trouble = source, ""
        try:
            self._names = written_exercises(path, self._lesson)
        except Wrong as wrong:
            self._trouble = str(wrong).partition("\n")[0]
            self._names = reference_exercises(self._lesson)

    def _tell_about(self, name: str) -> None:
        """Say what is odd about a name, or about the whole file; looked at once a cell."""
        cell = getattr(get_ipython(), "execution_count", 0)  # outside of a notebook, there is none
        about = cell, "" if self._trouble else name
        if about not in self._told:
            self._told.add(about)
            if sentence := self._oddity(name):
                display(Banner(sentence))

    def _oddity(self, name: str) -> str:
        if self._trouble:
            return f"The whole lesson is borrowed from the reference: {self._trouble}"
        if self._names.source_of(name) == "borrowed":
            return f"{name} is borrowed from the reference, because you haven't written yours yet."
        reached = names_reached(self._source or b"", name)
        called = [one for one in self.__dir__() if one in reached and one != name]
        lent = [one for one in called if self._names.source_of(one) == "borrowed"]
        lent += [one for one in borrowed_from_earlier(self._lesson.stem) if one in reached]
        is_checked = self._path.parent == root() / "exercises"  # and not beside the notebook
        status = status_of_all() if is_checked else {}
        wrong = [one for one in (name, *called) if status.get(one) == Status.WRONG]
        sentences = [self._names.left_out] if self._names.left_out else []
        if lent:
            sentences.append(f"{name} borrows {listed(lent)}, because yours hasn't passed.")
        if wrong:
            sentences.append(f"This is your own {listed(wrong)}, which the last check found wrong.")
        return " ".join(sentences)


class Banner:
    """A line in a notebook that cannot be overlooked."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        style = (
            "border-left: 4px solid #e69f00; padding: 0.3em 0.8em; "
            "background: rgba(230, 159, 0, 0.15)"
        )
        return f'<div style="{style}">{html.escape(self._text)}</div>'


class Points(int):
    """The points that an exercise earned: in a notebook, a line with them.

    As plain text it is the number, which nbgrader reads.
    """

    def _repr_html_(self) -> str:
        return counted(self, "point")


def check(name: str) -> Points:
    """Run the graded tests of an exercise, as `course check` does; return the points that it earns.

    Raises:
        ValueError: there is no such exercise.
    """
    import pytest

    from course.student.pytest_summary import Results

    exercise, *others = find_exercises(name)
    if others:
        raise ValueError(f"{name} is a whole lesson; name one exercise, such as {others[0].name}")
    lesson, found = find_lesson(exercise.lesson), Results()
    arguments = [
        *("-c", str(root() / "pyproject.toml"), "--rootdir", str(root()), "-q"),
        *("--color=yes", "--capture=sys", f"--exercise={exercise.name}", str(lesson.tests)),
        *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # what the notebook has loaded
    ]
    if _folder(lesson) != root() / "exercises":
        arguments.append(f"--modules={_folder(lesson)}")
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        pytest.main(arguments, plugins=[found])
    print(shown.getvalue().strip())  # in one piece: a notebook keeps every piece apart
    return Points(sum(result.points for result in found.results()))


def _folder(lesson: Lesson) -> Path:
    """Return the folder of the student's module: the notebook's, or `exercises/`."""
    here = Path.cwd()
    return here if (here / f"{lesson.stem}.py").exists() else root() / "exercises"
