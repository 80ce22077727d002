"""Hints, from a nudge to nearly the line, shown one at a time.

The texts stand in `hints.toml`; how many of an exercise's were shown, in `.course/hints.json`.
"""

import json
import textwrap
import tomllib
from functools import cache, partial

from course import ROOT, progress
from course.choose import closest
from course.files import write_whole
from course.syllabus import Exercise, find_lesson, lessons

FILE = ROOT / ".course" / "hints.json"

KINDS = ("nudge", "approach", "line")


def hints_for(exercise: Exercise) -> tuple[str, ...]:
    """All hints for an exercise, the gentlest first."""
    texts = _texts()[exercise.lesson][exercise.name]
    return tuple(texts[kind] for kind in KINDS)


def shown(exercise: Exercise) -> tuple[str, ...]:
    """The hints for an exercise that were shown so far."""
    count = _load().get(exercise.name)
    return hints_for(exercise)[: max(count, 0)] if type(count) is int else ()


def next_hint(exercise: Exercise) -> tuple[int, str, int] | None:
    """Take the next hint for an exercise, and remember that it was shown.

    Returns:
        Its number from 1, its text, and how many remain after it; None if all were shown.
    """
    texts, number = hints_for(exercise), len(shown(exercise)) + 1
    if number > len(texts):
        return None
    _save(_load() | {exercise.name: number})
    return number, texts[number - 1], len(texts) - number


def start_over(exercise: Exercise) -> None:
    """Forget that hints for an exercise were shown."""
    counts = _load()
    if counts.pop(exercise.name, None) is not None:
        _save(counts)


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
    after = f"next hint: {command}" if remaining else f"that was the last; all again: {command}"
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
    """The hints shown so far, or only one of them, each under its number."""
    total = len(hints_for(exercise))
    return "\n\n".join(
        f"hint {number} of {total}\n{_wrapped(text)}"
        for number, text in enumerate(shown(exercise), start=1)
        if only in (None, number)
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
    """An exercise by its name.

    >>> find_exercise("rotate_half").lesson
    'rope'
    >>> find_exercise("rotate_halb")
    Traceback (most recent call last):
    ValueError: there is no exercise "rotate_halb"; did you mean "rotate_half"?
    """
    exercises = {exercise.name: exercise for lesson in lessons() for exercise in lesson.exercises}
    if name in exercises:
        return exercises[name]
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
    return tomllib.loads((ROOT / "course" / "hints.toml").read_text(encoding="utf-8"))


def _load() -> dict[str, int]:
    try:
        counts = json.loads(FILE.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # lost or damaged: the hints begin anew
        return {}
    return counts if isinstance(counts, dict) else {}


def _save(counts: dict[str, int]) -> None:
    write_whole(FILE, json.dumps(counts, indent=1))
