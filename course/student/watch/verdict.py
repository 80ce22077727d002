"""One run: the tests of some lessons on the student's files, and what to say about them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from course.student.board import next_steps
from course.student.progress import next_exercise, status_of_all
from course.student.report import (
    Tally,
    board_of,
    facts_of,
    print_printed,
    print_remarks,
    print_wrong,
)
from course.student.watch.page import Page
from course.syllabus import Lesson, find_lesson
from course.testing.case import SECONDS_PER_TEST, Case
from course.testing.examine import Finding
from course.testing.opened import open_module


def verdict(
    cases: Mapping[Lesson, Sequence[Case]],
    printed: Callable[[], str],
    about_to_test: Callable[[Lesson, str, float], None],
    width: int,
) -> dict[str, Any]:
    """Test the student's files, as `course check` does.

    Args:
        cases: the graded tests of each lesson.
        printed: what was printed since it was last asked.
        about_to_test: is told, before each test, its lesson, its exercise, and how many seconds
            it may take; an empty exercise stands for the loading of the file.
        width: of the terminal.

    Returns:
        In plain values: "text", what to show; "found", what to remember; "exercise", what to work
        on next, None if everything passes.
    """
    tally, findings = Tally(), []
    for lesson, of_lesson in cases.items():
        findings += _examine(lesson, of_lesson, tally, printed, about_to_test)
    wrong = next(iter(tally.wrong()), None)
    if wrong:
        about_to_test(find_lesson(wrong[0]), wrong[1], SECONDS_PER_TEST)
        tally.name_the_mistake(*wrong, findings, seed=0)
    ran = tally.status()
    known = status_of_all() | ran
    preferred = tuple(ran) if len(cases) == 1 else ()
    following = next_exercise(known, preferred)
    page = Page(width)
    page.write_line(board_of(ran, known))
    if wrong:
        print_wrong(page, tally, only=wrong)
    print_remarks(page, tally)
    print_printed(page, tally)
    if not wrong:
        page.write_line(f"\n{next_steps(known, preferred)}")
    exercise = wrong[1] if wrong else following and following[1].name
    return {"text": page.text, "found": tally.found(), "exercise": exercise}


def _examine(
    lesson: Lesson,
    cases: Sequence[Case],
    tally: Tally,
    printed: Callable[[], str],
    about_to_test: Callable[[Lesson, str, float], None],
) -> list[Finding]:
    about_to_test(lesson, "", SECONDS_PER_TEST)
    opened = open_module(lesson.module(), 0, printed)
    tests_of = Counter(case.exercise for case in cases)
    findings = []
    for case in cases:
        found = None
        if opened.examination:
            about_to_test(
                lesson, case.exercise, 2 * case.seconds
            )  # it may run again, with others lent
            found = opened.examination.run(case)
            findings.append(found)
        tally.note(facts_of(case, opened, found, printed(), tests_of[case.exercise]))
    return findings
