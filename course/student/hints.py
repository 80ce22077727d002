"""Hints, from a nudge to nearly the line, shown one at a time.

How many of an exercise's were shown stands in `.course/hints.json`.
"""

import textwrap
from collections.abc import Iterable

from course.student import progress
from course.syllabus import HINTS, Exercise, find_lesson
from course.system.console import typed


def n_shown(exercise: Exercise) -> int:
    """Return how many hints for an exercise were shown so far."""
    count = progress.load("hints").get(exercise.name)
    return min(max(count, 0), len(HINTS)) if type(count) is int else 0


def start_over(exercise: Exercise) -> None:
    """Forget that hints for an exercise were shown."""
    counts = progress.load("hints")
    if counts.pop(exercise.name, None) is not None:
        progress.save("hints", counts)


def one_more(exercise: Exercise) -> str:
    """Return the next hint, and remember that it was shown; or all of them, if all were."""
    command = typed(f"course hint {exercise.name}")
    number = n_shown(exercise) + 1
    if number > len(HINTS):
        after = f"begin anew: {command} --restart"
        return _page(exercise, range(1, number), "All hints have been shown:\n\n", after)
    progress.save("hints", progress.load("hints") | {exercise.name: number})
    if n_shown(exercise) < number:  # it could not be noted, so the next call would show it again
        after = "all hints: course/syllabus.toml"
    elif number < len(HINTS):
        after = f"next hint: {command}"
    else:
        after = f"that was the last; all again: {command}"
    return _page(exercise, [number], "", after)


def seen_again(exercise: Exercise) -> str:
    """Return the hints that were shown so far."""
    if not n_shown(exercise):
        first = typed(f"course hint {exercise.name}")
        return f"no hint has been shown yet; the first: {first}"
    return _page(exercise, range(1, n_shown(exercise) + 1), "", "").rstrip()


def _page(exercise: Exercise, numbers: Iterable[int], before: str, after: str) -> str:
    """Return a heading, and below it hints under their numbers."""
    shown = "".join(
        f"hint {n} of {len(HINTS)}\n{_wrapped(exercise.hints[n - 1])}\n\n" for n in numbers
    )
    text = find_lesson(exercise.lesson).text.name
    heading = f"{exercise.name}, {exercise.title}\n  read   course/lessons/{text}"
    return f"{heading}\n\n{before}{shown}{after}"


def _wrapped(text: str) -> str:
    """Fill sentences to 80 columns; leave lines of code, indented by four, as they are."""
    fill = textwrap.TextWrapper(
        80,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    ).fill
    return "\n".join(
        f"  {line}" if line.startswith("    ") else fill(line) for line in text.splitlines()
    )
