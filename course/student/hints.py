"""Hints, from a nudge to nearly the line, shown one at a time.

The texts stand in `hints.toml`; how many of an exercise's were shown, in `.course/hints.json`.
"""

import textwrap
import tomllib
from functools import cache, partial

from course import root
from course.student import notes, progress
from course.syllabus import Exercise, closest, find_lesson, lessons

_NOTES = "hints"

KINDS = ("nudge", "approach", "line")


def hints_for(exercise: Exercise) -> tuple[str, ...]:
    """All hints for an exercise, the gentlest first."""
    texts = _texts()[exercise.lesson][exercise.name]
    return tuple(texts[kind] for kind in KINDS)


def shown(exercise: Exercise) -> tuple[str, ...]:
    """The hints for an exercise that were shown so far."""
    count = notes.load(_NOTES).get(exercise.name)
    return hints_for(exercise)[: max(count, 0)] if type(count) is int else ()


def next_hint(exercise: Exercise) -> tuple[int, str, int] | None:
    """Take the next hint for an exercise, and remember that it was shown.

    Returns:
        Its number from 1, its text, and how many remain after it; None if all were shown.
    """
    texts, number = hints_for(exercise), len(shown(exercise)) + 1
    if number > len(texts):
        return None
    notes.save(_NOTES, notes.load(_NOTES) | {exercise.name: number})
    return number, texts[number - 1], len(texts) - number


def start_over(exercise: Exercise) -> None:
    """Forget that hints for an exercise were shown."""
    counts = notes.load(_NOTES)
    if counts.pop(exercise.name, None) is not None:
        notes.save(_NOTES, counts)


def one_more(exercise: Exercise) -> str:
    """What `course hint` prints: the next hint, or all of them once all were shown."""
    command = f"course hint {exercise.name}"
    taken = next_hint(exercise)
    if taken is None:
        return (
            f"{_heading(exercise)}\n\nAll hints have been shown:\n\n{_list(exercise)}\n\n"
            f"begin anew: {command} --restart"
        )
    number, _, remaining = taken
    was_noted = len(shown(exercise)) == number
    if not was_noted:  # the next call would show it again
        after = "all hints: course/hints.toml"
    elif remaining:
        after = f"next hint: {command}"
    else:
        after = f"that was the last; all again: {command}"
    return f"{_heading(exercise)}\n\n{_list(exercise, number)}\n\n{after}"


def seen_again(exercise: Exercise) -> str:
    """What `course hint --again` prints: the hints shown so far."""
    if not shown(exercise):
        return f"no hint has been shown yet; the first: course hint {exercise.name}"
    return f"{_heading(exercise)}\n\n{_list(exercise)}"


def _heading(exercise: Exercise) -> str:
    text = find_lesson(exercise.lesson).text.name
    return f"{exercise.name}, {exercise.title}\n  read   course/lessons/{text}"


def _list(exercise: Exercise, only: int | None = None) -> str:
    """The hints shown so far, or only one, shown or not, each under its number."""
    texts = hints_for(exercise)
    numbers = [only] if only else range(1, len(shown(exercise)) + 1)
    return "\n\n".join(
        f"hint {number} of {len(texts)}\n{_wrapped(texts[number - 1])}" for number in numbers
    )


def _wrapped(text: str) -> str:
    """Sentences filled to 80 columns; lines of code, indented by four, as they are."""
    fill = partial(
        textwrap.fill,
        width=80,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(
        f"  {line}" if line.startswith("    ") else fill(line) for line in text.splitlines()
    )


def find_exercise(name: str) -> Exercise:
    """An exercise by its name, or by that of its lesson and its own.

    >>> find_exercise("rotate_half").lesson, find_exercise("lookup.lookup").name
    ('rope', 'lookup')
    >>> find_exercise("rotate_halb")
    Traceback (most recent call last):
    ValueError: there is no exercise "rotate_halb"; did you mean "rotate_half"?
    """
    exercises = {exercise.name: exercise for lesson in lessons() for exercise in lesson.exercises}
    qualified = {f"{exercise.lesson}.{exercise.name}": exercise for exercise in exercises.values()}
    if found := exercises.get(name) or qualified.get(name):
        return found
    raise ValueError(f'there is no exercise "{name}"; {_suggestion(name, list(exercises))}')


def next_to_do() -> Exercise | None:
    """The first exercise that has not passed; None when all have."""
    found = progress.next_exercise(progress.status_of_all())
    return found and found[1]


def _suggestion(name: str, names: list[str]) -> str:
    try:
        lesson = find_lesson(name)
    except ValueError:
        return f'did you mean "{closest(name, names, cutoff=0)}"?'
    return f"lesson {lesson.number} has {', '.join(one.name for one in lesson.exercises)}"


@cache
def _texts() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads((root() / "course" / "hints.toml").read_text(encoding="utf-8"))
