"""A graded test, apart from pytest: so the diagnosis and the grader can run it too."""

import contextlib
import hashlib
import inspect
import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SECONDS_PER_TEST = 30
"""How long a test may take that does not say so itself, by `@limit`."""


@dataclass(frozen=True)
class Case:
    """One graded test with the values of its parameters.

    Attributes:
        lesson: the stem of the lesson, "rope".
        exercise: the exercise that it grades.
        name: the test's name with its parameters, "test_first_half[4]".
        function: takes the fixtures and the parameters by name; raises if something is wrong.
        parameters: what `pytest.mark.parametrize` gives it.
        fixtures: "lesson" or "draw" or both.
        seconds: how long it may take.
    """

    lesson: str
    exercise: str
    name: str
    function: Callable[..., None] = field(repr=False, compare=False)
    parameters: dict[str, Any] = field(repr=False, compare=False)
    fixtures: tuple[str, ...]
    seconds: float

    def seed(self, seed_of_run: int, purpose: str) -> int:
        """Return the test's own seed, so that no test depends on another.

        The seed of the run cannot be found from it, nor from the seed for another purpose: what
        the student's process is seeded with tells nothing of the inputs to come.
        """
        about = f"{self.lesson} {self.exercise} {self.name} {purpose}"
        key = hashlib.sha256(str(seed_of_run).encode()).digest()
        digest = hashlib.blake2b(about.encode(), key=key, digest_size=8).digest()
        return int.from_bytes(digest) >> 1  # PyTorch takes 63 bits


def case_of(item: pytest.Item) -> Case | None:
    """Return the graded test behind an item of pytest; None if it is another kind of test."""
    exercise = item.get_closest_marker("exercise")
    if exercise is None:
        return None
    limit = item.get_closest_marker("limit")
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return Case(
        lesson=item.path.stem.removeprefix("test_"),
        exercise=exercise.args[0],
        name=item.name,
        function=item.obj,
        parameters=dict(parameters),
        fixtures=tuple(n for n in inspect.signature(item.obj).parameters if n not in parameters),
        seconds=limit.args[0] if limit else SECONDS_PER_TEST,
    )


def collect(test_files: Iterable[Path]) -> list[Case]:
    """Return all graded tests of some files.

    Raises:
        RuntimeError: they cannot be read; what pytest printed.
    """
    cases: list[Case] = []

    class Collector:
        def pytest_collection_finish(self, session: pytest.Session) -> None:
            cases.extend(case for item in session.items if (case := case_of(item)))

    arguments = [
        *("-o", "addopts=", "-p", "course.testing.plugin", "-p", "no:cacheprovider"),
        *("--import-mode=importlib", "--strict-markers", "--collect-only", "-q"),
        *map(str, test_files),
    ]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main(arguments, plugins=[Collector()])
    if status != pytest.ExitCode.OK:
        raise RuntimeError(printed.getvalue())
    return cases


def by_exercise(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Return graded tests of one lesson, by the name of their exercise, in the order of both."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.exercise, []).append(case)
    return found
