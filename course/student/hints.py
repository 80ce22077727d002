"""Hints, from a nudge to nearly the line, shown one at a time.

`.course/hints.json` says how many of an exercise's hints were shown.
"""

from collections.abc import Iterable

from course.core.console import typed
from course.core.syllabus import HINTS, Exercise
from course.student import progress
from course.testing.messages.wording import filled


def n_shown(exercise: Exercise) -> int:
    """Return how many hints for an exercise were shown so far."""
    count = progress.load("hints").get(exercise.name)
    return min(max(count, 0), len(HINTS)) if type(count) is int else 0


def one_more(exercise: Exercise) -> str:
    """Return the next hint, and remember that it was shown; or all of them, if all were."""
    number = n_shown(exercise) + 1
    if number > len(HINTS):
        return seen_again(exercise)
    progress.save("hints", progress.load("hints") | {exercise.name: number})
    after = "next hint" if number < len(HINTS) else "that was the last one; to see all of them"
    command = typed(f"course hint {exercise.name}")
    return f"{_page(exercise, [number])}\n\n{after}: {command}"


def seen_again(exercise: Exercise) -> str:
    """Return the hints that were shown so far."""
    if n_shown(exercise) == 0:
        first = typed(f"course hint {exercise.name}")
        return f"you haven't seen a hint yet; for the first one: {first}"
    return _page(exercise, range(1, n_shown(exercise) + 1))


def every_one(exercise: Exercise) -> str:
    """Return all hints, for whoever helps: what the student sees next stays the same."""
    return _page(exercise, range(1, len(HINTS) + 1))


def one_more_on_top(exercise: Exercise) -> str:
    """Return all hints that were shown, and above them one more: a small screen shows the top.

    After the last one, say that there are no more.
    """
    before = n_shown(exercise)
    one_more(exercise)
    page = _page(exercise, range(n_shown(exercise), 0, -1))
    return page if before < len(HINTS) else f"There are no more hints.\n\n{page}"


def _page(exercise: Exercise, numbers: Iterable[int]) -> str:
    """Return a heading, and below it hints under their numbers."""
    text = f"course/lessons/{exercise.lesson}/README.md"
    heading = f"{exercise.name}, {exercise.title}\n  read   {text}"
    shown = (f"hint {n} of {len(HINTS)}\n{_wrapped(exercise.hints[n - 1])}" for n in numbers)
    return "\n\n".join([heading, *shown])


def _wrapped(text: str) -> str:
    """Fill sentences to lines; leave lines of code, indented by four, as they are."""
    return "\n".join(
        f"  {line}" if line.startswith("    ") else filled(line, indent="  ")
        for line in text.splitlines()
    )
