"""The syllabus as Python objects, read from `syllabus.toml`."""

import ast
import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from course import root


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
        return root() / "course" / "lessons" / f"{self.number}_{self.stem}.md"

    @property
    def notebook(self) -> Path:
        return root() / "notebooks" / f"{self.text.stem}.ipynb"

    @property
    def tests(self) -> Path:
        return root() / "tests" / f"test_{self.stem}.py"

    def module(self, folder: str = "exercises") -> Path:
        """The file of this lesson in `exercises` or `solutions`."""
        return root() / folder / f"{self.stem}.py"


@cache
def lessons() -> tuple[Lesson, ...]:
    """All lessons, in order.

    >>> [lesson.stem for lesson in lessons()][:3]
    ['lookup', 'permutation', 'learned']
    """
    text = (root() / "course" / "syllabus.toml").read_text(encoding="utf-8")
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
    stems = [lesson.stem for lesson in lessons()]
    close = closest(name, stems)
    return f'did you mean "{close}"?' if close else f"the lessons are {', '.join(stems)}"


def exercises_called(name: str) -> tuple[Exercise, ...]:
    """One exercise, or all of a lesson: by its name, its number or one of its files.

    `lookup` is a lesson and an exercise; here it is the lesson, and `lookup.lookup` the exercise.

    >>> [exercise.name for exercise in exercises_called("lookup.lookup")]
    ['lookup']
    >>> exercises_called("5") == exercises_called("tests/test_rope.py")
    True
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


# --- stubs -------------------------------------------------------------------------------------

_BLOCK = re.compile(
    r"^(?P<indent> *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION\n", re.MULTILINE | re.DOTALL
)


def stub_from(solution: str, stem: str) -> str:
    r"""The stub of a solution's text.

    >>> solution = "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION\n"
    >>> print(stub_from(solution, "rope"))
    def f():
        raise NotImplementedError("TODO rope.f")
    <BLANKLINE>
    """
    owners = [
        (node.lineno, node.end_lineno, node.name)
        for node in ast.parse(solution).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]

    def replace(block: re.Match) -> str:
        line = solution.count("\n", 0, block.start()) + 1
        name = next(name for first, last, name in owners if first <= line <= last)
        return f'{block["indent"]}raise NotImplementedError("TODO {stem}.{name}")\n'

    return _BLOCK.sub(replace, solution)


@cache
def stub_of(stem: str) -> bytes:
    """The module of a lesson as it is given out."""
    solution = find_lesson(stem).module("solutions").read_text(encoding="utf-8")
    return stub_from(solution, stem).encode("utf-8")
