"""Try the graded tests: do they refuse every known mistake, and accept every alternative?

python -m course.testing.trial rope                  the whole catalogue of a lesson
python -m course.testing.trial rope rotate_half      one exercise of it
"""

import contextlib
import io
import sys
from dataclasses import dataclass

import pytest

from course.syllabus import find_lesson
from course.testing.catalogue import alternatives, mistakes
from course.testing.report import Tally
from course.testing.stage import load_module


@dataclass(frozen=True)
class Verdict:
    """What the graded tests of one exercise found in one variant of it."""

    passed: tuple[str, ...]
    failed: dict[str, str]
    """The message of each test that failed."""


def try_variant(stem: str, exercise: str, variant: object) -> Verdict:
    """Run an exercise's own tests on the reference with one name replaced."""
    lesson = find_lesson(stem)
    module = load_module(lesson.module("solutions"))
    setattr(module, exercise, variant)
    stand_in = _StandIn(module)
    arguments = [str(lesson.tests), "-q", "-p", "no:cacheprovider", "--solutions"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(arguments, plugins=[stand_in, _Only(exercise)])
    tests = stand_in.tally.tests.get((stem, exercise), [])
    if not tests:
        raise RuntimeError(f"no graded test of {stem}.{exercise} ran")
    return Verdict(
        passed=tuple(test["test"] for test in tests if test["outcome"] == "passed"),
        failed={test["test"]: test["text"] for test in tests if test["outcome"] != "passed"},
    )


class _StandIn:
    """Puts a ready-made module where the student's module would be loaded."""

    def __init__(self, module) -> None:
        self.module = module

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        from pathlib import Path

        from course.testing.plugin import MODULES

        config.stash[MODULES].use(Path(self.module.__file__), self.module)
        self.tally = next(p for p in config.pluginmanager.get_plugins() if isinstance(p, Tally))


class _Only:
    """Keeps the tests of one exercise."""

    def __init__(self, exercise: str) -> None:
        self.exercise = exercise

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if any(mark.args[0] == self.exercise for mark in item.iter_markers("exercise"))
        ]


def main(stem: str, only: str | None = None) -> int:
    """Print a line per variant; the exit status says whether all went as it should."""
    bad = 0
    for kind, entries in ("mistake", mistakes(stem)), ("alternative", alternatives(stem)):
        for entry in entries:
            if only in (None, entry.exercise):
                verdict = try_variant(stem, entry.exercise, entry.variant)
                good = bool(verdict.failed) == (kind == "mistake")
                bad += not good
                failed = (
                    f"{len(verdict.failed)} of {len(verdict.failed) + len(verdict.passed)} failed"
                )
                mark = "ok " if good else "BAD"
                print(f"{mark} {kind:<11} {entry.exercise}: {entry.name} ({failed})")
                if not good:
                    print(
                        "\n".join(
                            f"      {t}: {m.splitlines()[0]}" for t, m in verdict.failed.items()
                        )
                    )
    print(f"{bad} not as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
