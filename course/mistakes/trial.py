"""Try the graded tests: do they refuse and name every known mistake, and accept alternatives?

python -m course.mistakes.trial rope                  the whole catalogue of a lesson
python -m course.mistakes.trial rope rotate_half      one exercise of it
python -m course.mistakes.trial rope --pairs 50       50 pairs of mistakes of each exercise
"""

import functools
import itertools
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import click

from course.core.syllabus import Status, UnknownName, find_lesson
from course.mistakes import Alternative, Mistake, alternatives, mistakes
from course.mistakes.diagnosis import KnownMistakes, diagnose
from course.mistakes.table import TableError
from course.mistakes.variant import EditError, Variant
from course.testing.case import Case, by_exercise, collect
from course.testing.examine import Examination, Finding
from course.testing.executor import Executor

_LONG_ENOUGH = 600.0, 5.0
"""Seconds of the processor, in all and for pairs: how fast a machine is should decide nothing."""


@dataclass(frozen=True)
class Verdict:
    """The findings of the graded tests of one exercise in one variant of it.

    Attributes:
        entries: what the variant is, one entry of the catalogue or two mistakes at once.
        failed: the message of each test that failed.
        says: the sentence that a student would have read, had there been time enough; or nothing.
    """

    entries: tuple[Mistake | Alternative, ...]
    passed: tuple[str, ...]
    failed: dict[str, str]
    says: str

    @property
    def place(self) -> str:
        """Return the places of the entries in the catalogue."""
        return " + ".join(entry.variant.place for entry in self.entries)

    @property
    def as_it_should_be(self) -> bool:
        """Return whether tests refuse a mistake and name no other, or accept an alternative."""
        if isinstance(self.entries[0], Alternative):
            return not self.failed
        return bool(self.failed) and self.says in ("", *(one.says for one in self.entries))


def try_all(stem: str, entries: Iterable[Mistake | Alternative]) -> Iterator[Verdict]:
    """Run each entry's tests on the reference with that one definition replaced.

    All are run before any is diagnosed: so how each mistake fares is known, and no time is short.
    """
    cases, known = _cases_and_known(stem)
    tried = []
    for entry in entries:
        if isinstance(entry, Mistake) and entry.forget:
            entry.forget()
        findings = _findings(entry.variant, cases[entry.exercise])
        tried.append((entry, findings))
        for one in known[entry.exercise].singles:
            if one.mistake is entry:
                one.add_findings(findings)
    for entry, findings in tried:
        yield _verdict((entry,), findings, known[entry.exercise])


def try_pairs(stem: str, per_exercise: int, only: str | None = None) -> Iterator[Verdict]:
    """Run the tests of some pairs of mistakes, made at once; always the same pairs."""
    cases, known = _cases_and_known(stem)
    for exercise in cases if only is None else [only]:
        singles = [one for one in mistakes(stem) if one.exercise == exercise and not one.forget]
        pairs = [
            pair for pair in itertools.combinations(singles, 2) if pair[0].says != pair[1].says
        ]
        random.Random(exercise).shuffle(pairs)
        both = ((pair, pair[0].variant.and_also(pair[1].variant)) for pair in pairs)
        # two that meet in one expression may undo each other
        made = ((pair, variant) for pair, variant in both if variant and not variant.also)
        for pair, variant in itertools.islice(made, per_exercise):
            yield _verdict(pair, _findings(variant, cases[exercise]), known[exercise])


@functools.cache
def _cases_and_known(stem: str) -> tuple[dict[str, list[Case]], dict[str, KnownMistakes]]:
    cases = by_exercise(collect([find_lesson(stem).tests]))
    return cases, {name: KnownMistakes(of_one, seed=0) for name, of_one in cases.items()}


def _findings(variant: Variant, cases: list[Case]) -> list[Finding]:
    """Run tests on a variant; what it looks like is known, as of a student's code."""
    examination = Examination(Executor(variant.module()))
    source = variant.text.encode()
    return [replace(examination.run(case), source=source) for case in cases]


def _verdict(
    entries: tuple[Mistake | Alternative, ...], findings: list[Finding], known: KnownMistakes
) -> Verdict:
    failed = [one for one in findings if one.status not in (Status.PASSED, Status.NOT_RUN)]
    diagnosis = diagnose(findings, known, _LONG_ENOUGH)
    return Verdict(
        entries,
        passed=tuple(one.case.name for one in findings if one.status == Status.PASSED),
        failed={one.case.name: one.text for one in failed},
        says=diagnosis.says if diagnosis else "",
    )


@click.command()
@click.argument("stem")
@click.argument("exercise", required=False)
@click.option("--pairs", default=0, help="Try so many pairs of mistakes of each exercise.")
def main(stem: str, exercise: str | None, pairs: int) -> None:
    """Print a line per variant; the exit status says whether all went as it should."""
    try:
        stem = find_lesson(stem).stem
        names = [one.name for one in find_lesson(stem).exercises]
        if exercise and exercise not in names:
            raise click.UsageError(f"{exercise} is no exercise of {stem}: {', '.join(names)}")
        for one in (*mistakes(stem), *alternatives(stem)):
            one.variant.module()  # or raises, if an edit does not apply
    except SyntaxError as error:
        said = f"{error.filename}: what it makes is not valid Python: {error.msg}"
        raise click.UsageError(said) from None
    except (UnknownName, TableError, EditError) as error:
        raise click.UsageError(str(error)) from None
    if pairs:
        verdicts = try_pairs(stem, pairs, exercise)
    else:
        entries = [*mistakes(stem), *alternatives(stem)]
        verdicts = try_all(stem, [one for one in entries if exercise in (None, one.exercise)])
    tried = []
    for verdict in verdicts:
        tried.append(verdict)
        entry, n_failed = verdict.entries[0], len(verdict.failed)
        mark = "ok " if verdict.as_it_should_be else "BAD"
        count = f"{n_failed} of {n_failed + len(verdict.passed)} tests failed"
        kind = type(entry).__name__.lower()
        click.echo(f"{mark} {kind} {entry.exercise} {verdict.place} ({count}) {verdict.says}")
        if not verdict.as_it_should_be:
            for test, text in verdict.failed.items():
                click.echo(f"      {test}: {text.partition(chr(10))[0]}")
    n_bad = sum(not one.as_it_should_be for one in tried)
    n_wrong = sum(isinstance(one.entries[0], Mistake) for one in tried)
    n_named = sum(bool(one.says) for one in tried)
    click.echo(f"{n_bad} of {len(tried)} not as they should be; {n_named} of {n_wrong} named")
    raise SystemExit(1 if n_bad else 0)


if __name__ == "__main__":
    main()
