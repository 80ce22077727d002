"""Try the graded tests: do they refuse and name every known mistake, and accept alternatives?

python -m course.mistakes.trial rope                  the whole catalogue of a lesson
python -m course.mistakes.trial rope rotate_half      one exercise of it
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from course.mistakes import Alternative, Mistake, alternatives, mistakes
from course.mistakes.diagnosis import Diagnosis, KnownMistakes, diagnose
from course.syllabus import find_lesson
from course.testing.case import by_exercise, collect
from course.testing.examine import Examination
from course.testing.executor import Executor


@dataclass(frozen=True)
class Verdict:
    """The findings of the graded tests of one exercise in one variant of it."""

    entry: Mistake | Alternative
    passed: tuple[str, ...]
    failed: dict[str, str]
    """The message of each test that failed."""
    diagnosis: Diagnosis | None
    """What a student would have been told."""

    @property
    def as_it_should_be(self) -> bool:
        """Return whether some test refuses the mistake, or no test refuses the alternative."""
        return bool(self.failed) == isinstance(self.entry, Mistake)


def try_all(stem: str, entries: Iterable[Mistake | Alternative]) -> list[Verdict]:
    """Run each entry's tests on the reference with that one name replaced."""
    of_exercise = by_exercise(collect([find_lesson(stem).tests]))
    known = {name: KnownMistakes(of_one, seed=0) for name, of_one in of_exercise.items()}
    verdicts = []
    for entry in entries:
        module = entry.variant.module()
        if isinstance(entry, Mistake) and entry.forget:
            entry.forget()
        examination = Examination(lambda module=module: Executor(module))
        findings = [examination.run(case) for case in of_exercise[entry.exercise]]
        failed = {one.case.name: one.text for one in findings if one.status != "passed"}
        passed = tuple(one.case.name for one in findings if one.status == "passed")
        diagnosis = diagnose(findings, known[entry.exercise])
        verdicts.append(Verdict(entry, passed, failed, diagnosis))
    return verdicts


def main(stem: str, only: str | None = None) -> int:
    """Print a line per variant; the exit status says whether all went as it should."""
    entries = [*mistakes(stem), *alternatives(stem)]
    verdicts = try_all(stem, [entry for entry in entries if only in (None, entry.exercise)])
    for verdict in verdicts:
        entry, n_failed = verdict.entry, len(verdict.failed)
        mark = "ok " if verdict.as_it_should_be else "BAD"
        kind = type(entry).__name__.lower()
        count = f"{n_failed} of {n_failed + len(verdict.passed)} tests failed"
        diagnosis = verdict.diagnosis
        named = f", named: {diagnosis.says}" if diagnosis else ""
        print(f"{mark} {kind:<11} {entry.variant.place} {entry.exercise} ({count}{named})")
        if not verdict.as_it_should_be:
            for test, text in verdict.failed.items():
                print(f"      {test}: {text.partition(chr(10))[0]}")
    bad = sum(not verdict.as_it_should_be for verdict in verdicts)
    refused = [verdict for verdict in verdicts if isinstance(verdict.entry, Mistake)]
    named = sum(verdict.diagnosis is not None for verdict in refused)
    print(f"{bad} of {len(verdicts)} not as they should be; {named} of {len(refused)} named")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
