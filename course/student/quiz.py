"""Questions about the student's own code; it runs in the warm process."""

from collections.abc import Sequence
from typing import Any

from course.core.syllabus import Lesson, find_lesson
from course.mistakes.quiz import Question, questions
from course.student.warm.process import how_it_ended, results
from course.student.warm.server import Run
from course.testing.case import Case, collect
from course.testing.executor import Executor
from course.testing.imports import names_defined_by
from course.testing.loading import run_module
from course.testing.source import sources_of_earlier

_SECONDS = 120
"""How long all edited modules may take."""


def ask(lesson: Lesson, names: Sequence[str]) -> list[Question]:
    """Return three questions about exercises that pass.

    Raises:
        RuntimeError: they cannot be made.
    """
    (message,) = results(__name__, [{"lesson": lesson.stem, "names": list(names)}])
    if "done" not in message:
        doing = "While an edited version ran"
        raise RuntimeError(how_it_ended(message["ended"], message["log"], doing, lesson.module()))
    return [Question(*one) for one in message["done"]]


def warm_up(lesson: Lesson) -> list[Case]:
    """Load the tests of a lesson."""
    return collect([lesson.tests])


def perform(run: Run, cases: Sequence[Case], lesson: str, names: Sequence[str]) -> list[Any]:
    """Make the questions."""
    run.end_after(_SECONDS)
    path, earlier = find_lesson(lesson).module(), names_defined_by(sources_of_earlier(lesson))
    return questions(
        path.read_bytes(), names, cases, lambda text: Executor(run_module(text, path, earlier))
    )
