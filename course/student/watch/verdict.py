"""One run: the tests of some lessons on the student's files, and what to say about them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course.messages.terminal import report
from course.mistakes.diagnosis import diagnoser
from course.student.board import next_steps
from course.student.progress import found_in, next_exercise, status_of_all
from course.student.summary import board_of
from course.syllabus import Lesson, Status
from course.testing.case import SECONDS_PER_TEST, Case
from course.testing.examine import Finding
from course.testing.result import to_text
from course.testing.run import Diagnosis, open_module, run


def verdict(
    cases: Mapping[Lesson, Sequence[Case]],
    printed: Callable[[], str],
    about_to_test: Callable[[Lesson, str, float], None],
    width: int,
) -> dict[str, Any]:
    """Test the student's files, as `course check` does.

    Args:
        cases: the graded tests of each lesson.
        printed: gives what was printed since it was last asked.
        about_to_test: is told, before each test, its lesson, its exercise, and how many seconds
            it may take; an empty exercise stands for the loading of the file.
        width: of the terminal.

    Returns:
        In plain values: "text", what to show; "results", what to remember, as texts; "exercise",
        what to work on next, None if everything passes.
    """
    named = diagnoser(seed=0)
    results, wrong = [], []
    for lesson, of_lesson in cases.items():
        about_to_test(lesson, "", SECONDS_PER_TEST)

        def name_the_first(findings: Sequence[Finding], lesson=lesson) -> Diagnosis | None:
            if wrong:
                return None  # one at a time: the next save comes soon
            wrong.append(findings[0].case.exercise)
            about_to_test(lesson, wrong[0], SECONDS_PER_TEST)
            return named(findings)

        def about_to_run(case: Case, lesson=lesson) -> None:
            about_to_test(lesson, case.exercise, 2 * case.seconds)  # again, with others lent

        module = open_module(lesson.module(), 0, printed)
        results.append(run(module, of_lesson, name_the_first, printed, about_to_run))
    ran = {name: status for result in results for name, status in result.statuses.items()}
    first_wrong = next((name for name, status in ran.items() if status == Status.WRONG), None)
    known = status_of_all() | found_in(results)
    preferred = tuple(ran) if len(cases) == 1 else ()
    following = next_exercise(known, preferred)
    parts = [board_of(results, known), report(results, width, n_wrong=1)]
    if first_wrong is None:
        parts.append(next_steps(known, preferred))
    return {
        "text": "\n\n".join(filter(None, parts)),
        "results": [to_text(result) for result in results],
        "exercise": first_wrong or (following and following[1].name),
    }
