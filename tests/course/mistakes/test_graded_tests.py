"""The tests are tested: known mistakes are refused by their own exercise, alternatives accepted."""

import ast
import sys
import warnings

import pytest

from course.core.syllabus import lessons
from course.mistakes import alternatives, errors, mistakes
from course.mistakes.trial import try_all, try_pairs

each_lesson = pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)


@each_lesson
def test_graded_tests_import_pytorch_and_course_testing_alone(lesson):
    """And no exercise: that is what the `lesson` fixture is for. Import-linter has no such rule."""
    allowed = {"torch", "pytest", "course.testing", *sys.stdlib_module_names}
    for node in ast.walk(ast.parse(lesson.tests.read_text(encoding="utf-8"))):
        names = [alias.name for alias in getattr(node, "names", []) if isinstance(node, ast.Import)]
        names += [node.module] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            packages = {".".join(name.split(".")[:depth]) for depth in (1, 2)}
            assert packages & allowed, f"line {node.lineno}: {name}"


@each_lesson
def test_every_mistake_is_explained_in_a_sentence(lesson):
    for mistake in mistakes(lesson.stem):
        assert mistake.says.strip().endswith("."), mistake
        assert len(mistake.look.split()) >= 3, mistake
    for error in errors(lesson.stem):
        assert error.exercise in [one.name for one in lesson.exercises]
        assert error.message.partition(":")[0].endswith("Error"), error
        assert len(error.means.split()) >= 5, error


@each_lesson
def test_every_edit_applies_and_no_warning_about_it_reaches_a_student(lesson):
    with warnings.catch_warnings(action="error"):
        for entry in [*mistakes(lesson.stem), *alternatives(lesson.stem)]:
            entry.variant.module()


@pytest.mark.slow
@each_lesson
def test_mistakes_are_refused_and_named_and_alternatives_accepted(lesson):
    """In one test, for pairs of mistakes are compared with how each fared alone."""
    verdicts = list(try_all(lesson.stem, [*mistakes(lesson.stem), *alternatives(lesson.stem)]))
    assert [(one.place, list(one.failed)) for one in verdicts if not one.as_it_should_be] == []
    refused = [verdict for verdict in verdicts if verdict.failed]
    unnamed = [verdict.place for verdict in refused if not verdict.says]
    assert len(unnamed) <= 0.01 * len(refused), unnamed

    verdicts = list(try_pairs(lesson.stem, per_exercise=2))
    assert [one.place for one in verdicts if not one.failed] == []
    most = max(1, 0.15 * len(verdicts))  # of 50 pairs of each exercise, one in twenty
    unnamed = [one.place for one in verdicts if not one.says]
    assert len(unnamed) <= most, unnamed
    # two others, made at once, may give the same in all tests
    others = [(one.place, one.says) for one in verdicts if not one.as_it_should_be]
    assert len(others) <= most, others
