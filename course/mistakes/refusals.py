"""The graded tests that refuse each known mistake: found out beforehand, so nobody waits for it.

    python -m course.mistakes.refusals [LESSON ...]

finds them out anew, after graded tests or the catalogue have changed, and writes refusals.json: for
each exercise the names of its tests, and for each of its mistakes a letter per test.
"""

import functools
import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from course.mistakes import Mistake, mistakes
from course.mistakes.replaced import examination_of
from course.syllabus import Lesson, chosen_lessons, lessons
from course.system.files import write_whole
from course.testing.case import Case, by_exercise, collect
from course.testing.outcomes import NotRun, Stopped

_FILE = Path(__file__).with_suffix(".json")

_OUTCOMES = {"p": "passed", "w": "wrong", "n": "not run"}
"""By their letters; what came to no end is not run. A "?" is for what depends on the seed."""

_SEEDS = range(16)
"""Where these agree on a mistake, one more disagrees in 1 of 250 cases (measured)."""


def refusals(mistake: Mistake, lesson: str) -> dict[str, str]:
    """Return how a mistake fares in its exercise's tests, by their names; some may be missing."""
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
    """Return how a mistake fares in all tests of its exercise with one seed, a letter for each."""
    examination = examination_of(mistake, cases[0].lesson, seed)
    if mistake.forget:
        mistake.forget()
    letters = ""
    with warnings.catch_warnings(action="ignore"):
        for case in cases:
            finding = examination.run(case)
            not_run = isinstance(finding.failure, Stopped | NotRun)
            letters += "n" if not_run else finding.status[0]
    return letters


def _of_lesson(lesson: Lesson) -> dict[str, dict]:
    cases = by_exercise(collect([lesson.tests]))
    found = {
        exercise: {"tests": [case.name for case in tests], "mistakes": {}}
        for exercise, tests in cases.items()
    }
    for mistake in mistakes(lesson.stem):
        rows = [letters_of(mistake, cases[mistake.exercise], seed) for seed in _SEEDS]
        letters = (some[0] if len(set(some)) == 1 else "?" for some in zip(*rows, strict=True))
        found[mistake.exercise]["mistakes"][mistake.name] = "".join(letters)
    return found


def main(names: Sequence[str]) -> None:
    """Find out the refusals for these lessons, or for all, and write them down."""
    try:
        chosen = chosen_lessons(names) or lessons()
    except ValueError as error:
        sys.exit(str(error))
    found = {lesson.stem: _of_lesson(lesson) for lesson in chosen}
    text = json.dumps({**_written(), **found}, indent=1, ensure_ascii=False)
    write_whole(_FILE, f"{text}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
