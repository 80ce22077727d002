"""Which graded test refuses which known mistake: found out beforehand, so that nobody waits for it.

    python -m course.testing.refusals [LESSON ...]

finds it out anew, after graded tests or the catalogue have changed, and writes refusals.json: for
each exercise the names of its tests, and for each of its mistakes a letter per test.
"""

import contextlib
import functools
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from course.syllabus import find_lesson, lessons
from course.testing.case import Case, collect
from course.testing.catalogue import Mistake, mistakes
from course.testing.examine import Examination
from course.testing.outcomes import NotRun, Stopped
from course.testing.replaced import with_replaced
from course.testing.stage import Stage

_FILE = Path(__file__).with_suffix(".json")

_OUTCOMES = {"p": "passed", "w": "wrong", "n": "not run"}
"""By their letters; what came to no end is not run. A "?" is for what depends on the seed."""

_SEEDS = range(16)
"""Where these agree on a mistake, one more disagrees in 1 of 250 cases (measured)."""


def refusals(mistake: Mistake, lesson: str) -> dict[str, str]:
    """How a mistake fares in the tests of its exercise, by their names; some may be missing."""
    known = _written().get(lesson, {}).get(mistake.exercise, {"tests": [], "mistakes": {}})
    letters = known["mistakes"].get(mistake.name, "")
    return {
        test: _OUTCOMES[letter]
        for test, letter in zip(known["tests"], letters, strict=False)
        if letter in _OUTCOMES
    }


@functools.cache
def _written() -> dict:
    return json.loads(_FILE.read_text(encoding="utf-8")) if _FILE.exists() else {}


def letters_of(mistake: Mistake, cases: Sequence[Case], seed: int) -> str:
    """How a mistake fares in all tests of its exercise with one seed, a letter for each."""
    module = with_replaced(cases[0].lesson, mistake.exercise, mistake.variant)
    examination = Examination(lambda: Stage(module, contextlib.nullcontext), seed=seed)
    if mistake.forget:
        mistake.forget()
    letters = ""
    with warnings.catch_warnings(action="ignore"):
        for case in cases:
            finding = examination.run(case)
            not_run = isinstance(finding.failure, Stopped | NotRun)
            letters += "n" if not_run else finding.outcome[0]
    return letters


def _of_lesson(stem: str) -> dict[str, dict]:
    cases: dict[str, list[Case]] = {}
    for case in collect([find_lesson(stem).tests]):
        cases.setdefault(case.exercise, []).append(case)
    found = {
        exercise: {"tests": [case.name for case in tests], "mistakes": {}}
        for exercise, tests in cases.items()
    }
    for mistake in mistakes(stem):
        rows = [letters_of(mistake, cases[mistake.exercise], seed) for seed in _SEEDS]
        letters = (some[0] if len(set(some)) == 1 else "?" for some in zip(*rows, strict=True))
        found[mistake.exercise]["mistakes"][mistake.name] = "".join(letters)
    return found


def main(stems: Sequence[str]) -> None:
    """Find it out for these lessons, or for all, and write it down."""
    found = {stem: _of_lesson(stem) for stem in stems or [one.stem for one in lessons()]}
    text = json.dumps({**_written(), **found}, indent=1, ensure_ascii=False)
    _FILE.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
