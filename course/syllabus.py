"""The syllabus as Python objects, read from `syllabus.toml`."""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course import ROOT


@dataclass(frozen=True)
class Exercise:
    """One name that a student writes, with what it earns.

    Attributes:
        lesson: the stem of its lesson.
        title: what it does, in a few words.
        minutes: about how long it takes.
        why: a sentence: what it needs from earlier exercises, and what later needs it.
    """

    lesson: str
    name: str
    title: str
    points: int
    minutes: int
    why: str


@dataclass(frozen=True)
class Lesson:
    """One module of exercises, with its place in the course."""

    number: int
    stem: str
    title: str
    exercises: tuple[Exercise, ...]

    @property
    def points(self) -> int:
        return sum(exercise.points for exercise in self.exercises)

    @property
    def minutes(self) -> int:
        return sum(exercise.minutes for exercise in self.exercises)

    @property
    def text(self) -> Path:
        return ROOT / "course" / "lessons" / f"{self.number}_{self.stem}.md"

    @property
    def notebook(self) -> Path:
        return ROOT / "notebooks" / f"{self.text.stem}.ipynb"

    @property
    def tests(self) -> Path:
        return ROOT / "tests" / f"test_{self.stem}.py"

    def module(self, folder: str = "exercises") -> Path:
        """The file of this lesson in `exercises` or `solutions`."""
        return ROOT / folder / f"{self.stem}.py"


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in order.

    >>> [lesson.stem for lesson in lessons()]
    ['lookup', 'permutation', 'learned', 'sinusoidal', 'rope', 'skipgram']
    >>> sum(lesson.points for lesson in lessons())
    100
    """
    text = (ROOT / "course" / "syllabus.toml").read_text(encoding="utf-8")
    return tuple(
        Lesson(
            number,
            entry["stem"],
            entry["title"],
            tuple(
                Exercise(lesson=entry["stem"], why=entry["why"][fields["name"]], **fields)
                for fields in entry["exercises"]
            ),
        )
        for number, entry in enumerate(tomllib.loads(text)["lesson"], start=1)
    )


@cache
def find_lesson(name: str) -> Lesson:
    """A lesson by its stem, its number, or the name of one of its files.

    >>> find_lesson("5").stem, find_lesson("Rope.py").stem, find_lesson("5_rope").stem
    ('rope', 'rope', 'rope')
    >>> find_lesson("roap")
    Traceback (most recent call last):
    ValueError: there is no lesson "roap"; did you mean "rope"?
    """
    wanted = Path(name.lower()).stem
    for lesson in lessons():
        if wanted in (lesson.stem, str(lesson.number), lesson.text.stem):
            return lesson
    raise ValueError(f'there is no lesson "{name}"; {_suggestion(name)}')


def chosen_lessons(names: Iterable[str]) -> list[Lesson]:
    """The lessons of these names in order, each once, however often it was named.

    >>> [lesson.stem for lesson in chosen_lessons(["rope", "1", "5"])]
    ['lookup', 'rope']
    """
    chosen = {find_lesson(name) for name in names}
    return [lesson for lesson in lessons() if lesson in chosen]


def _suggestion(name: str) -> str:
    from difflib import get_close_matches

    stems = [lesson.stem for lesson in lessons()]
    close = get_close_matches(name, stems, n=1)
    return f'did you mean "{close[0]}"?' if close else f"the lessons are {', '.join(stems)}"
