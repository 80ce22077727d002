"""Which exercises does a name on the command line mean?"""

from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path

from course.syllabus import Exercise, lessons


def exercises_called(name: str) -> tuple[Exercise, ...]:
    """One exercise, or all of a lesson: by its name, its number or one of its files.

    `lookup` is a lesson and an exercise; here it is the lesson, and `lookup.lookup` the exercise.

    >>> [exercise.name for exercise in exercises_called("lookup.lookup")]
    ['lookup']
    >>> len(exercises_called("5")), len(exercises_called("tests/test_rope.py"))
    (7, 7)
    >>> exercises_called("rotate_hlaf")
    Traceback (most recent call last):
    ValueError: there is no lesson or exercise "rotate_hlaf"; did you mean "rotate_half"?
    """
    known: dict[str, tuple[Exercise, ...]] = {}
    for lesson in lessons():
        known.update({exercise.name: (exercise,) for exercise in lesson.exercises})
        known.update({f"{lesson.stem}.{one.name}": (one,) for one in lesson.exercises})
    for lesson in lessons():
        known.update(dict.fromkeys((lesson.stem, str(lesson.number)), lesson.exercises))
    path = Path(name)
    wanted = path.stem.removeprefix("test_") if path.suffix == ".py" else name
    if wanted in known:
        return known[wanted]
    close = closest(wanted, known)
    if close and not wanted.isdigit():
        raise ValueError(f'there is no lesson or exercise "{name}"; did you mean "{close}"?')
    numbered = ", ".join(f"{lesson.number} {lesson.stem}" for lesson in lessons())
    raise ValueError(f'there is no lesson or exercise "{name}"; the lessons are {numbered}')


def name_for_check(exercise: Exercise) -> str:
    """The name by which `course check` knows this exercise alone."""
    shared = exercise.name in [lesson.stem for lesson in lessons()]
    return f"{exercise.lesson}.{exercise.name}" if shared else exercise.name


def closest(name: str, names: Collection[str], cutoff: float = 0.6) -> str | None:
    """The name that is meant by a misspelt one; None if none is at least so similar (0 to 1)."""
    lowered = {known.lower(): known for known in names}
    found = get_close_matches(name.lower(), lowered, n=1, cutoff=cutoff)
    return lowered[found[0]] if found else None
