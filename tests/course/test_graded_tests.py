"""The tests are tested: known mistakes are refused by their own exercise, alternatives accepted."""

import json
from collections import Counter

import pytest

from course import ROOT
from course.mistakes import alternatives, mistakes
from course.mistakes.refusals import refusals
from course.mistakes.trial import try_all
from course.syllabus import lessons
from course.testing.case import by_exercise, collect

each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)


@each_lesson
def test_every_mistake_is_explained_in_a_sentence(lesson):
    for mistake in mistakes(lesson.stem):
        assert mistake.says.strip().endswith("."), mistake
        assert len(mistake.look.split()) >= 3, mistake
    names = Counter((mistake.exercise, mistake.name) for mistake in mistakes(lesson.stem))
    assert max(names.values()) == 1


@each_lesson
def test_the_table_of_refusals_is_complete(lesson):
    """`python -m course.mistakes.refusals` writes it anew."""
    file = ROOT / "course/mistakes/refusals.json"
    table = json.loads(file.read_text(encoding="utf-8"))[lesson.stem]
    cases = by_exercise(collect([lesson.tests]))
    assert table.keys() == cases.keys()
    for exercise, row in table.items():
        assert row["tests"] == [case.name for case in cases[exercise]]
        known = {mistake.name for mistake in mistakes(lesson.stem) if mistake.exercise == exercise}
        assert row["mistakes"].keys() == known
        assert {len(letters) for letters in row["mistakes"].values()} == {len(row["tests"])}


@pytest.mark.slow
@each_lesson
def test_mistakes_are_refused_and_alternatives_accepted(lesson):
    verdicts = try_all(lesson.stem, [*mistakes(lesson.stem), *alternatives(lesson.stem)])
    wrong_verdicts = [
        f"{type(verdict.entry).__name__} {verdict.entry.exercise}, {verdict.entry.name}: "
        f"failed {list(verdict.failed)}"
        for verdict in verdicts
        if not verdict.as_it_should_be
    ]
    assert wrong_verdicts == []
    refused = [verdict for verdict in verdicts if verdict.failed]
    unnamed = [verdict.entry.name for verdict in refused if verdict.diagnosis is None]
    assert len(unnamed) <= 0.03 * len(refused), unnamed
    said_of_others = [  # two mistakes that no test tells apart say the same
        (verdict.entry.name, verdict.diagnosis.mistake)
        for verdict in refused
        if verdict.diagnosis and verdict.diagnosis.says != verdict.entry.says
    ]
    assert said_of_others == []
    outdated = []
    for verdict in refused:
        known = refusals(verdict.entry, lesson.stem)
        passing = {test for test, outcome in known.items() if outcome == "passed"}
        failing = known.keys() - passing  # wrong, or not run
        if not known or passing - set(verdict.passed) or failing - verdict.failed.keys():
            outdated.append(verdict.entry.name)
    assert outdated == [], "python -m course.mistakes.refusals"
