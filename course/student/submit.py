"""The report of `course submit` on the work before it packs it."""

import textwrap
from collections.abc import Iterator

from course.building.submission import Work
from course.student import dry_run
from course.student.progress import stubs_in
from course.syllabus import Lesson, Status, lessons
from course.system.console import typed
from course.testing.result import LessonResult


def findings(work: Work, check: bool) -> Iterator[str]:
    """Give a line for each lesson: its points, and what is not right yet.

    Args:
        work: is given further remarks if the checks do not come to their end.
        check: whether to run the tests.
    """
    begun = {}
    for lesson in lessons():
        source = work.files.get(f"exercises/{lesson.stem}.py")
        stubs = {exercise.name for exercise in lesson.exercises}
        if source is not None and stubs_in(source, lesson) != stubs:
            begun[lesson.stem] = source
    runnable = {
        stem: begun[stem] for stem in begun if f"exercises/{stem}.py" not in work.unreadable
    }
    results: dict[str, LessonResult] = {}
    if check and runnable:
        n_lessons = "one lesson" if len(runnable) == 1 else f"{len(runnable)} lessons"
        yield f"Checking {n_lessons} before packing; --no-check would not.\n"
        try:
            results, came_to_end = dry_run.run(runnable)
            if not came_to_end:
                work.remarks.append("The checks were cut short before they had seen everything.")
        except OSError as error:
            work.remarks.append(f"The checks could not be run: {error.strerror}.")
    for lesson in lessons():
        if f"exercises/{lesson.stem}.py" not in work.files:
            said = "missing"
        elif lesson.stem not in begun:
            said = "not begun"
        elif lesson.stem not in runnable:
            said = "not valid Python"
        else:
            said = _not_passed(lesson, results.get(lesson.stem)) if check else Status.UNCHECKED
        points = results[lesson.stem].points if lesson.stem in results else 0
        earned = f"{points:>2} of {lesson.points}" if check else ""
        line = f"  {lesson.number}  {lesson.stem:<12} {earned:<9} {said}".rstrip()
        yield textwrap.fill(line, 80, subsequent_indent=" " * 28, break_long_words=False)


def _not_passed(lesson: Lesson, result: LessonResult | None) -> str:
    """Say what of a lesson has not passed, by name."""
    if result and result.trouble:
        return f"cannot be loaded: {typed(f'course check {lesson.stem}')} says why"
    found = result.statuses if result else {}
    parts = []
    for status in (Status.WRONG, Status.TO_DO, Status.UNCHECKED):
        own = [one for one in lesson.exercises if found.get(one.name, Status.UNCHECKED) == status]
        if own:
            parts.append(f"{status}: {', '.join(one.name for one in own)}")
    return "; ".join(parts)
