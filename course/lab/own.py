"""A student's own functions, right or wrong: their tables, and what the course knows of them.

They run in the warm process, one run for each scheme and a limited time: what they raise, print,
change or never finish doesn't affect the other schemes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course.lab.positions import EXERCISES, NotShown, table_of
from course.mistakes.diagnosis import diagnoser
from course.student.exercises import written_exercises
from course.student.progress import stubs_in
from course.student.warm.process import how_it_ended, results
from course.student.warm.server import Run
from course.syllabus import Lesson, Status, find_lesson
from course.testing import run as testing
from course.testing.case import Case, collect
from course.testing.outcomes import Wrong

SECONDS = 30
"""How long the functions of one scheme may take."""


def own_tables(length: int, learned: Tensor) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the table of each scheme, and for each that has none a sentence on why.

    A scheme of which every exercise is still to do has neither.
    """
    begun = [scheme for scheme in EXERCISES if own_exercises(scheme)]
    given = {"length": length, "learned": learned[:length].tolist(), "seconds": SECONDS}
    requests = [_request(EXERCISES[scheme][0], scheme=scheme, **given) for scheme in begun]
    tables, troubles = {}, {}
    for scheme, message in zip(begun, results(__name__, requests), strict=True):
        match message:
            case {"done": {"table": table}}:
                tables[scheme] = torch.tensor(table)
            case {"done": {"trouble": trouble}}:
                troubles[scheme] = trouble
            case {"ended": code, "log": log}:
                stem, names = EXERCISES[scheme]
                doing = f"While the page called {' and '.join(names)}"
                ended = how_it_ended(code, log, doing, find_lesson(stem).module())
                troubles[scheme] = " ".join(ended.split())
    return tables, troubles


def own_exercises(scheme: str) -> list[str]:
    """Return the exercises of a scheme that are more than stubs; all if there is no file."""
    stem, names = EXERCISES[scheme]
    lesson = find_lesson(stem)
    try:
        stubs = stubs_in(lesson.module().read_bytes(), lesson)
    except OSError:
        stubs = set()
    return [name for name in names if name not in stubs]


def own_results() -> list[dict[str, Any]]:
    """Return for each exercise of the page its source, its status, and the mistake if it is known.

    The graded tests of each lesson that was begun are run.
    """
    stems = dict.fromkeys(EXERCISES[scheme][0] for scheme in EXERCISES if own_exercises(scheme))
    begun = [stem for stem in stems if find_lesson(stem).module().is_file()]
    found = zip(begun, results(__name__, map(_request, begun)), strict=True)
    tested = {stem: message.get("done", {}) for stem, message in found}
    return [
        {
            "name": name,
            "scheme": scheme,
            "lesson": stem,
            "source": "yours" if name in own_exercises(scheme) else "borrowed",
            **tested.get(stem, {}).get(name, {"status": Status.NOT_RUN, "says": "", "look": ""}),
        }
        for scheme, (stem, names) in EXERCISES.items()
        for name in names
    ]


def _request(stem: str, **given: Any) -> dict[str, Any]:
    return {"lesson": stem, "module": str(find_lesson(stem).module()), **given}


# --- in the warm process ------------------------------------------------------------------------


def warm_up(lesson: Lesson) -> list[Case]:
    """Return the tests of a lesson."""
    return collect([lesson.tests])


def perform(
    run: Run, cases: Sequence[Case], lesson: str, module: str, scheme: str = "", **given: Any
) -> dict[str, Any]:
    """Return the table of a scheme, or its trouble; without a scheme what all tests say."""
    path = Path(module)
    if not scheme:
        return _tested(run, cases, path)
    run.end_after(given["seconds"])
    try:
        names = written_exercises(path, find_lesson(lesson))
        learned = torch.tensor(given["learned"])
        return {"table": table_of(scheme, names, given["length"], learned).tolist()}
    except (NotShown, Wrong) as wrong:
        return {"trouble": f"{str(wrong).partition(chr(10))[0].rstrip('.')}."}


def _tested(run: Run, cases: Sequence[Case], path: Path) -> dict[str, dict[str, str]]:
    run.end_after(10 * SECONDS)
    module = testing.open_module(path, 0)
    found = testing.run(module, cases, diagnoser(seed=0), run.printed)
    return {
        one.name: {"status": one.status, "says": one.says, "look": one.look}
        for one in found.exercises
    }
