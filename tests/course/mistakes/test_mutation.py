"""Mutation testing: the graded tests notice every small fault, or it is none."""

import contextlib
import dataclasses
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutants import Mutant, mutants

from course.core.syllabus import Lesson, lessons
from course.testing.case import Case, collect
from course.testing.examine import Examination
from course.testing.executor import Executor
from course.testing.loading import load_module

EXPLAINED = Path(__file__).parent / "equivalent_mutants.toml"
"""The mutants that no test notices, each with the reason why that is right."""

MEMORY = 8 * 2**30
"""Bytes that the process may hold: a mutant may ask for a tensor of any size."""

each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)


@pytest.mark.slow
@each_lesson
def test_graded_tests_notice_every_fault(lesson):
    survivors, listed = survivors_of(lesson), explained(lesson)
    unlisted = [_key(one) for one in survivors if not any(map(one.is_made_by, listed))]
    assert unlisted == [], "a graded test is missing"
    gone = [edit for edit in listed if not any(one.is_made_by(edit) for one in survivors)]
    assert gone == [], "listed, but noticed or gone"


@pytest.mark.slow
@each_lesson
def test_mutants_are_told_apart_by_their_change(lesson):
    changes = Counter(map(_key, _mutants_of(lesson)))
    assert [change for change, count in changes.items() if count > 1] == []


def survivors_of(lesson: Lesson) -> list[Mutant]:
    """The mutants of a lesson that no graded test of their exercise notices."""
    reference = load_module(lesson.module("solutions"))
    cases = _quick_first(lesson)
    with warnings.catch_warnings(action="ignore"), _memory_limit(MEMORY):
        return [
            mutant
            for mutant in _mutants_of(lesson)
            if not _is_noticed(mutant.among(reference), cases[mutant.exercise])
        ]


def explained(lesson: Lesson) -> list[tuple[str, str, str]]:
    """The listed changes of a lesson, each as exercise, old text and new text."""
    entries = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get(lesson.stem, [])
    return [
        (exercise, *edit.split(" -> "))
        for entry in entries
        for exercise in entry.keys() - {"why"}
        for edit in entry[exercise]
    ]


def _mutants_of(lesson: Lesson) -> list[Mutant]:
    return mutants(lesson.module("solutions").read_text(encoding="utf-8"))


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.exercise, mutant.before, mutant.after


def _is_noticed(module, cases: list[Case]) -> bool:
    examination = Examination(Executor(module))
    return any(examination.run(case).status != "passed" for case in cases)


def _quick_first(lesson: Lesson) -> dict[str, list[Case]]:
    """The graded tests by exercise, with more time than the solution takes on a busy machine."""
    reference = load_module(lesson.module("solutions"))
    examination = Examination(Executor(reference))
    findings = sorted(map(examination.run, collect([lesson.tests])), key=lambda one: one.seconds)
    assert {finding.status for finding in findings} == {"passed"}
    cases: dict[str, list[Case]] = {exercise.name: [] for exercise in lesson.exercises}
    for finding in findings:
        limit = 15 + 20 * finding.seconds
        cases[finding.case.exercise].append(dataclasses.replace(finding.case, seconds=limit))
    return cases


@contextlib.contextmanager
def _memory_limit(size: int) -> Iterator[None]:
    """Refuse more memory than this, where the system can (Windows cannot)."""
    try:
        import resource
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
