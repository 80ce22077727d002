"""Try the graded tests: do they refuse and name every known mistake, and accept alternatives?

python -m course.testing.trial rope                  the whole catalogue of a lesson
python -m course.testing.trial rope rotate_half      one exercise of it
"""

import contextlib
import functools
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from course.syllabus import find_lesson
from course.testing.catalogue import Alternative, Mistake, alternatives, mistakes
from course.testing.diagnosis import diagnose, observe, with_replaced
from course.testing.plugin import MODULES, TIMED_OUT, exercise_of
from course.testing.stage import load_module


@dataclass(frozen=True)
class Verdict:
    """What the graded tests of one exercise found in one variant of it."""

    entry: Mistake | Alternative
    passed: tuple[str, ...]
    failed: dict[str, str]
    """The message of each test that failed."""
    named: Mistake | None
    """The mistake that a student would have been told of."""

    @property
    def as_it_should_be(self) -> bool:
        """A mistake is refused by some test, an alternative by none."""
        return bool(self.failed) == isinstance(self.entry, Mistake)


def try_all(stem: str, entries: Iterable[Mistake | Alternative]) -> list[Verdict]:
    """Run each entry's tests on the reference with that one name replaced."""
    trial = _Trial(stem, entries)
    arguments = [str(find_lesson(stem).tests), "-q", "-p", "no:cacheprovider", "--solutions"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main(arguments, plugins=[trial])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(printed.getvalue())
    return trial.verdicts


class _Trial:
    """Takes the place of pytest's loop: collects once, then runs the tests on every variant."""

    def __init__(self, stem: str, entries: Iterable[Mistake | Alternative]) -> None:
        self.path = find_lesson(stem).module("solutions")
        self.reference = load_module(self.path)
        self.entries = entries
        self.verdicts: list[Verdict] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for entry in self.entries:
            items = [item for item in session.items if exercise_of(item) == entry.exercise]
            if not items:
                raise RuntimeError(f"no graded test of {entry.exercise} was found")
            self.verdicts.append(self._verdict(session, entry, items))
        return True

    def _verdict(
        self, session: pytest.Session, entry: Mistake | Alternative, items: list[pytest.Item]
    ) -> Verdict:
        session.stash[TIMED_OUT] = set()
        put_in_place = functools.partial(session.config.stash[MODULES].use, self.path)
        put_in_place(with_replaced(self.reference, entry.exercise, entry.variant))
        seen = [observe(item) for item in items]
        failed = {one.item.name: one.text for one in seen if one.outcome != "passed"}
        named = diagnose(seen, entry.exercise, self.reference, put_in_place) if failed else None
        return Verdict(
            entry, tuple(one.item.name for one in seen if one.outcome == "passed"), failed, named
        )


def main(stem: str, only: str | None = None) -> int:
    """Print a line per variant; the exit status says whether all went as it should."""
    entries = [*mistakes(stem), *alternatives(stem)]
    verdicts = try_all(stem, [entry for entry in entries if only in (None, entry.exercise)])
    for verdict in verdicts:
        entry, n_failed = verdict.entry, len(verdict.failed)
        mark = "ok " if verdict.as_it_should_be else "BAD"
        kind = type(entry).__name__.lower()
        count = f"{n_failed} of {n_failed + len(verdict.passed)} tests failed"
        named = f", named: {verdict.named.name}" if verdict.named else ""
        print(f"{mark} {kind:<11} {entry.exercise}: {entry.name} ({count}{named})")
        if not verdict.as_it_should_be:
            for test, text in verdict.failed.items():
                print(f"      {test}: {text.partition(chr(10))[0]}")
    bad = sum(not verdict.as_it_should_be for verdict in verdicts)
    refused = [verdict for verdict in verdicts if isinstance(verdict.entry, Mistake)]
    named = sum(verdict.named is not None for verdict in refused)
    print(f"{bad} of {len(verdicts)} not as they should be; {named} of {len(refused)} named")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
