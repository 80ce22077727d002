"""The tools of the notebooks: your exercises, and their checks.

In a notebook of `notebooks/` the exercises are those of `exercises/`; in a folder that holds both
the notebook and its module, as an assignment does, they are those of that module.
"""

import contextlib
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import display

from course import root
from course.student.borrow import Names, borrowed_from_earlier, written_in
from course.student.progress import status_of_all
from course.syllabus import Lesson, Status, exercises_called, find_lesson, name_for_check
from course.system.console import typed
from course.testing.outcomes import Wrong
from course.testing.source import names_reached


def exercises(stem: str) -> "Exercises":
    """Return a lesson's exercises: `rope = exercises("rope")`, then `rope.rotate_half(x)`.

    Raises:
        ValueError: there is no such lesson.
    """
    opened = Exercises(find_lesson(stem))
    if shell := get_ipython():
        _opened[stem] = opened
        shell.set_custom_exc((Exception,), _explain)
    return opened


class Exercises:
    """Names of a lesson: yours as soon as you have written them, the reference's until then.

    What you save in the module counts from the next cell on. Every cell that uses something
    borrowed says so.
    """

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._source: bytes | None = None
        self._names = Names({}, {})
        self._trouble = ""
        self._told: set[tuple[int, str]] = set()
        """Which names were asked for in which cells."""

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
            self._names = written_in(path, self._lesson)
        except Wrong as wrong:
            self._trouble = str(wrong).partition("\n")[0]
            self._names = written_in(None, self._lesson)

    def _tell_about(self, name: str) -> None:
        """Say what is odd about a name, or about the whole file; looked at once a cell."""
        about = _cell(), "" if self._trouble else name
        if about not in self._told:
            self._told.add(about)
            if sentence := self._oddity(name):
                display(Banner(sentence))

    def _oddity(self, name: str) -> str:
        if self._trouble:
            return f"{self._trouble}. So all of it is borrowed from the reference."
        if self._names.whose(name) == "borrowed":
            return f"{name} is borrowed from the reference: yours is still to do."
        called = self._called_by(name)
        lent = [one for one in called if self._names.whose(one) == "borrowed"]
        lent += self._borrowed_of_earlier(name)
        status = self._status()
        wrong = [one for one in (name, *called) if status.get(one) == Status.WRONG]
        sentences = []
        if lent:
            sentences.append(f"{name} builds on {_list(lent)}, borrowed: yours has not passed.")
        if wrong:
            sentences.append(f"{_list(wrong)}: yours, and found wrong by the last check.")
        return " ".join(sentences)

    def _borrowed_of_earlier(self, name: str) -> list[str]:
        """Return what an exercise takes from earlier lessons that is not yours."""
        reached = names_reached(self._source or b"", name)
        return [one for one in borrowed_from_earlier(self._lesson.stem) if one in reached]

    def _status(self) -> dict[str, str]:
        """Return what the last checks found; nothing is known of a module beside the notebook."""
        return status_of_all() if self._path.parent == root() / "exercises" else {}

    def _called_by(self, name: str) -> list[str]:
        """Return the other exercises that one of yours calls, itself or through what it calls."""
        reached = names_reached(self._source or b"", name)
        return [one for one in self.__dir__() if one in reached and one != name]

    def _without_a_pass(self) -> list[str]:
        """Return what this cell has used that is yours and passed no check."""
        asked = {name for cell, name in self._told if cell == _cell() and name}
        used = asked.union(*map(self._called_by, asked))
        status = self._status()
        return [
            name
            for name in self.__dir__()  # as they build on one another
            if name in used
            and self._names.whose(name) == "yours"
            and status.get(name) != Status.PASSED
        ]


def _cell() -> int:
    """Return the number of the cell that runs."""
    return get_ipython().execution_count if get_ipython() else 0


def _list(names: Sequence[str]) -> str:
    """Return names as one says them.

    >>> _list(["a"]), _list(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


_opened: dict[str, Exercises] = {}
"""What the cells of this notebook use, by lesson."""


def _explain(shell, kind, error: Exception, traceback, tb_offset=None) -> None:
    """Show an error in a cell, and below it the student's functions that may be behind it.

    One that returns another shape than it should is noticed late, in a figure perhaps, whose
    traceback would tell nobody which function it was.
    """
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)
    if isinstance(error, NameError | SyntaxError | ImportError):
        return
    for opened in _opened.values():
        if names := opened._without_a_pass():
            first = name_for_check(opened._lesson.exercise(names[0]))
            said = f"The reason may lie in what is yours and not known to pass: {_list(names)}."
            display(Banner(f"{said} `{typed(f'course check {first}')}` tells."))


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


def check(name: str) -> int:
    """Run the graded tests of an exercise, as `course check` does; return the points that it earns.

    Raises:
        ValueError: there is no such exercise.
    """
    import pytest

    from course.student.summary import Results

    exercise, *others = exercises_called(name)
    if others:
        raise ValueError(f"{name} is a whole lesson; name one exercise, such as {others[0].name}")
    lesson, found = find_lesson(exercise.lesson), Results()
    arguments = [
        *("-c", str(root() / "pyproject.toml"), "--rootdir", str(root()), "-q"),
        *("--color=yes", "--capture=sys", f"--exercise={exercise.name}", str(lesson.tests)),
    ]
    if _folder(lesson) != root() / "exercises":
        arguments.append(f"--modules={_folder(lesson)}")
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        pytest.main(arguments, plugins=[found])
    print(shown.getvalue().strip())  # in one piece: a notebook keeps every piece apart
    return sum(result.points for result in found.results())


def _folder(lesson: Lesson) -> Path:
    """Return the folder of the student's module: beside the notebook, or `exercises/`."""
    beside = Path.cwd()
    return beside if (beside / f"{lesson.stem}.py").exists() else root() / "exercises"
