"""The syllabus as Python objects, read from `syllabus.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from course import root
from course.core import answers


class Status(StrEnum):
    """The status of a test, or of an exercise."""

    PASSED = "passed"
    WRONG = "wrong"
    TO_DO = "to do"
    NOT_RUN = "not run"
    UNCHECKED = "not checked"


HINTS = ("nudge", "approach", "line")
"""The hints for an exercise, the gentlest first, as the syllabus calls them."""


class UnknownName(ValueError):
    """The sentence that says which lesson or exercise may have been meant."""


@dataclass(frozen=True)
class Exercise:
    """One name that a student writes, with what it earns.

    Attributes:
        lesson: the stem of its lesson.
        title: what it does, in a few words.
        minutes: about how long it takes.
        why: a sentence: what it needs from earlier exercises, and what later needs it.
        hints: from a nudge to nearly the line, as many as `HINTS`.
        uses: other exercises of its lesson that many build it on, though its reference does not.
    """

    lesson: str
    name: str
    title: str
    points: int
    minutes: int
    why: str
    hints: tuple[str, ...]
    uses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lesson:
    """One module of exercises, with its place in the course.

    Attributes:
        beyond: whether it is for those who want more; its points are not in the course's total.
    """

    number: int
    stem: str
    title: str
    exercises: tuple[Exercise, ...]
    beyond: bool

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)

    @property
    def minutes(self) -> int:
        return sum(exercise.minutes for exercise in self.exercises)

    @property
    def room(self) -> Path:
        """The folder of what belongs to this lesson alone."""
        return root() / "course" / "lessons" / self.stem

    @property
    def text(self) -> Path:
        return self.room / "README.md"

    @property
    def notebook(self) -> Path:
        return root() / "notebooks" / f"{self.number}_{self.stem}.ipynb"

    @property
    def tests(self) -> Path:
        return root() / "tests" / f"test_{self.stem}.py"

    def exercise(self, name: str) -> Exercise:
        """Return its exercise of this very name."""
        return next(one for one in self.exercises if one.name == name)

    @property
    def solution(self) -> str:
        """The text of its module in `solutions`."""
        return answers.text(self.module("solutions"))

    def module(self, folder: str = "exercises") -> Path:
        """Return the file of this lesson in `exercises` or `solutions`."""
        return root() / folder / f"{self.stem}.py"


@cache
def lessons() -> tuple[Lesson, ...]:
    """Return all lessons, in order.

    >>> [lesson.stem for lesson in lessons()][:3]
    ['lookup', 'permutation', 'learned']
    """
    syllabus = tomllib.loads(
        (root() / "course" / "lessons" / "syllabus.toml").read_text(encoding="utf-8")
    )

    def exercise(stem: str, fields: dict[str, Any]) -> Exercise:
        words = syllabus.get("exercise", {}).get(fields["name"], {})  # a test says what is missing
        hints = tuple(words.get(kind, "") for kind in HINTS)
        fields = {**fields, "uses": tuple(fields.get("uses", ()))}
        return Exercise(lesson=stem, why=words.get("why", ""), hints=hints, **fields)

    return tuple(
        Lesson(
            number,
            entry["stem"],
            entry["title"],
            tuple(exercise(entry["stem"], fields) for fields in entry["exercises"]),
            entry.get("beyond", False),
        )
        for number, entry in enumerate(syllabus["lesson"], start=1)
    )


def counted_lessons() -> tuple[Lesson, ...]:
    """Return the lessons whose points make the course's total: those that are not beyond it."""
    return tuple(lesson for lesson in lessons() if not lesson.beyond)


@cache
def find_lesson(name: str) -> Lesson:
    """Return the lesson of this name, or of the exercise of this name; see `find_exercises`.

    >>> find_lesson("5").stem, find_lesson("Rope.py").stem, find_lesson("rotate_half").stem
    ('rope', 'rope', 'rope')
    """
    stem = find_exercises(name)[0].lesson
    return next(lesson for lesson in lessons() if lesson.stem == stem)


def chosen_lessons(names: Iterable[str]) -> list[Lesson]:
    """Return the lessons of these names in order, each once, however often it was named.

    >>> [lesson.stem for lesson in chosen_lessons(["rope", "1", "5"])]
    ['lookup', 'rope']
    """
    chosen = {find_lesson(name) for name in names}
    return [lesson for lesson in lessons() if lesson in chosen]


def find_exercises(name: str) -> tuple[Exercise, ...]:
    """Return one exercise by its name, or all of a lesson by its name, number or one of its files.

    `lookup` is a lesson and an exercise; here it is the lesson, and `lookup.lookup` the exercise.
    Capitals count only where they tell two names apart.

    >>> [exercise.name for exercise in find_exercises("lookup.lookup")]
    ['lookup']
    >>> len({find_exercises(name) for name in ("5", "ROPE", "5_rope", "tests/test_rope.py")})
    1
    >>> len(find_exercises("gpt")), len(find_exercises("GPT"))
    (8, 1)
    >>> find_exercises("rotate_hlaf")
    Traceback (most recent call last):
    course.core.syllabus.UnknownName: there is no ... "rotate_hlaf"; did you mean "rotate_half"?
    """
    known: dict[str, tuple[Exercise, ...]] = {}
    for lesson in lessons():
        for one in lesson.exercises:
            known |= {one.name: (one,), f"{lesson.stem}.{one.name}": (one,)}
    for lesson in lessons():  # after all exercises, because `lookup` is the lesson
        files = (lesson.module(), lesson.tests, lesson.notebook)
        names = (
            lesson.stem,
            str(lesson.number),
            lesson.notebook.stem,
            *(file.name for file in files),
        )
        known |= dict.fromkeys(names, lesson.exercises)
    wanted = Path(name).name
    if wanted in known:  # `gpt` is lesson 8, and `GPT` an exercise of it
        return known[wanted]
    in_lower_case = {one.lower(): exercises for one, exercises in known.items()}
    if wanted.lower() in in_lower_case:
        return in_lower_case[wanted.lower()]
    short = [name for name in known if name.isidentifier()]
    meant = "" if name.isdigit() else did_you_mean(wanted, known if "." in wanted else short)
    numbered = ", ".join(f"{lesson.number} {lesson.stem}" for lesson in lessons())
    advice = meant or f"the lessons are {numbered}"
    raise UnknownName(f'there is no lesson or exercise "{name}"; {advice}')


def name_for_check(exercise: Exercise) -> str:
    """Return the name that stands for this exercise alone, not for its lesson."""
    shared = exercise.name in [lesson.stem for lesson in lessons()]
    return f"{exercise.lesson}.{exercise.name}" if shared else exercise.name


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the names that a misspelt or shortened one may mean, if there are any.

    >>> did_you_mean("rotate_hlaf", ["rotate_half", "causal_mask", "causal_toy_attention"])
    'did you mean "rotate_half"?'
    >>> did_you_mean("causal", ["rotate_half", "causal_mask", "causal_toy_attention"])
    'did you mean "causal_mask" or "causal_toy_attention"?'
    """
    lowered = {known.lower(): known for known in names}
    found = [known for known in lowered if len(name) > 1 and name.lower() in known]
    if not 0 < len(found) <= _MOST_MEANT:
        found = get_close_matches(name.lower(), lowered, n=1)
    if not found:
        return ""
    *others, last = (f'"{lowered[one]}"' for one in found)
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


_MOST_MEANT = 6
