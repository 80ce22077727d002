"""The task of the loop: test a lesson's file, and say what is wrong with one exercise."""

import gc
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from course.core.syllabus import Lesson, find_lesson
from course.mistakes.diagnosis import KnownMistakes, diagnoser
from course.student.progress import UNCHECKED, remember, status_of_lesson
from course.student.report import report
from course.student.warm.server import Run
from course.testing.case import SECONDS_PER_TEST, Case, by_exercise, collect
from course.testing.examine import Examination, Finding
from course.testing.executor import Executor
from course.testing.loading import load_module
from course.testing.messages.message import reasons_of
from course.testing.run import Diagnosis, open_module
from course.testing.run import run as run_tests

GRACE = 5
"""Seconds beyond a test's own limit, after which it cannot be interrupted but by force."""


def warm_up(lesson: Lesson) -> list[Case]:
    """Load the tests of a lesson, and run them once, so that all that is slow once is done."""
    cases = collect([lesson.tests])
    for _ in rehearse(cases):
        pass
    KnownMistakes(cases[:1], seed=0)
    reasons_of(lesson.stem)
    gc.freeze()  # or each fork's collector would copy all of this memory, by touching it
    return cases


def rehearse(cases: Sequence[Case]) -> Iterator[None]:
    """Do with the reference what is done with a student's file; yield after each test."""
    lesson = find_lesson(cases[0].lesson)
    status_of_lesson(lesson)
    path = lesson.module("solutions")
    examination = Examination(Executor(load_module(path)), lesson.solution.encode())
    for case in cases:
        examination.run(case)
        yield


def perform(
    run: Run, cases: Sequence[Case], lesson: str, exercise: str, columns: int
) -> dict[str, object]:
    """Test the student's file, as `course check` does, and remember what was found.

    Args:
        exercise: the one that the student is at.
        columns: the width of the terminal.

    Returns:
        "statuses", of each exercise if the file can be loaded; "edited", the exercises that were
        not checked as they are now; "wrong", one of these or the student's that is wrong, if one
        is; "report", what to say about it. Meanwhile it tells "testing", the exercise; "" while
        the file is loaded.
    """
    os.environ["COLUMNS"] = str(columns)
    named = diagnoser(seed=0)
    is_named, testing = False, []
    before = status_of_lesson(find_lesson(lesson))
    edited = [name for name, status in before.items() if status == UNCHECKED]
    at = [exercise] if exercise in before else []
    looked_at = dict.fromkeys([*at, *edited] if exercise in edited else [*edited, *at])

    def about_to_test(exercise: str, seconds: float) -> None:
        run.end_after(seconds + GRACE)
        if testing[-1:] != [exercise]:
            testing.append(exercise)
            run.tell(testing=exercise)

    def name_the_first(findings: Sequence[Finding]) -> Diagnosis | None:
        nonlocal is_named
        name = findings[0].case.exercise
        if is_named or name not in looked_at:
            return None  # one at a time: the next save comes soon
        is_named = True
        about_to_test(name, SECONDS_PER_TEST)
        return named(findings)

    def about_to_run(case: Case) -> None:
        about_to_test(case.exercise, 2 * case.seconds)  # again, with others lent

    about_to_test("", SECONDS_PER_TEST)
    run.printed()
    module = open_module(find_lesson(lesson).module(), 0)
    module = replace(module, printed=run.printed())
    cases_of = by_exercise(cases)
    in_order = [case for name in looked_at | dict.fromkeys(cases_of) for case in cases_of[name]]
    result = run_tests(module, in_order, name_the_first, run.printed, about_to_run)
    remember([result])
    about = [one for one in result.exercises if result.trouble or one.name in looked_at]
    wrong = [one for one in about if one.first_wrong]
    shown = next(iter(wrong), None)
    told = tuple(one for one in about if one is shown or one not in wrong)
    return {
        "statuses": {} if result.trouble else result.statuses,
        "edited": edited,
        "wrong": shown and shown.name,
        "report": report([replace(result, exercises=told)], in_loop=True),
    }
