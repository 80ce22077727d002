"""The task of `course watch`: test a lesson's file, and say the first thing that is wrong."""

import gc
from collections.abc import Sequence
from dataclasses import replace

from course.messages.terminal import report
from course.mistakes.diagnosis import KnownMistakes, diagnoser
from course.student.board import next_steps
from course.student.progress import found_in, next_exercise, remember, status_of_all
from course.student.pytest_summary import board_of
from course.student.warm.server import Run
from course.syllabus import Lesson, Status, find_lesson
from course.testing.case import SECONDS_PER_TEST, Case, collect
from course.testing.examine import Examination, Finding
from course.testing.executor import Executor
from course.testing.loading import load_module
from course.testing.run import Diagnosis, open_module
from course.testing.run import run as run_tests

GRACE = 5
"""Seconds beyond a test's own limit, after which it cannot be interrupted but by force."""


def warm_up(lesson: Lesson) -> list[Case]:
    """Load the tests of a lesson, and run them once, so that all that is slow once is done."""
    cases = collect([lesson.tests])
    path = lesson.module("solutions")
    module = load_module(path)
    examination = Examination(Executor(module), path.read_bytes())
    for case in cases:
        examination.run(case)
    KnownMistakes(cases[:1], seed=0)
    gc.freeze()  # or each fork's collector would copy all of this memory, by touching it
    return cases


def perform(run: Run, cases: Sequence[Case], lesson: str, width: int) -> dict[str, str | None]:
    """Test the student's file, as `course check` does, and remember what was found.

    Args:
        width: that of the terminal.

    Returns:
        "verdict", what to show, and "exercise", what to work on next, if anything. Meanwhile it
        tells "testing", the exercise; "" while the file is loaded.
    """
    named = diagnoser(seed=0)
    wrong, told = [], []

    def about_to_test(exercise: str, seconds: float) -> None:
        run.end_after(seconds + GRACE)
        if told[-1:] != [exercise]:
            told.append(exercise)
            run.tell(testing=exercise)

    def name_the_first(findings: Sequence[Finding]) -> Diagnosis | None:
        in_a_corner = all(one.case.corner for one in findings if one.status == Status.WRONG)
        if in_a_corner in wrong:
            return None  # one at a time: the next save comes soon
        wrong.append(in_a_corner)
        about_to_test(findings[0].case.exercise, SECONDS_PER_TEST)
        return named(findings)

    def about_to_run(case: Case) -> None:
        about_to_test(case.exercise, 2 * case.seconds)  # again, with others lent

    about_to_test("", SECONDS_PER_TEST)
    run.printed()
    module = open_module(find_lesson(lesson).module(), 0)
    module = replace(module, printed=run.printed())
    result = run_tests(module, cases, name_the_first, run.printed, about_to_run)
    remember([result])
    statuses = result.statuses
    known = status_of_all() | found_in([result])
    parts = [board_of([result], known), report([result], width, n_wrong=1)]
    first = {status: name for name, status in reversed(statuses.items())}
    first_wrong = first.get(Status.WRONG) or first.get(Status.IDEA_RIGHT)
    if Status.WRONG not in first:
        parts.append(next_steps(known, tuple(statuses)))
    following = next_exercise(known, tuple(statuses))
    return {
        "verdict": "\n\n".join(filter(None, parts)),
        "exercise": first_wrong or (following and following[1].name),
    }
