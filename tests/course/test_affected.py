"""The tests that a change affects are found by what test files import and name."""

import sys

import pytest

from course import ROOT

sys.path.append(str(ROOT / "tests"))
import affected


@pytest.fixture(scope="module")
def needs():
    files = affected.git("ls-files")
    dependencies = affected.Map(files)
    tests = ("messages", "reports", "glove", "lab", "experiments")
    return {test: dependencies.needs(f"tests/course/test_{test}.py") for test in tests}


@pytest.mark.parametrize(
    ("file", "tests"),
    [
        ("course/messages/plain.py", "messages reports"),  # imported
        ("course/grading/reports/feedback.html", "messages reports"),  # named next to it
        ("course/cli/experiment/gpt.py", "experiments"),
        ("course/lab/trained.py", "lab"),
        ("course/cli/experiment/cache.py", "experiments"),
        ("pyproject.toml", "messages reports glove lab experiments"),
    ],
)
def test_a_file_affects_the_tests_that_reach_it(needs, file, tests):
    assert {test for test in needs if file in needs[test]} == {*tests.split()}


@pytest.mark.parametrize(
    ("file", "near", "far"),
    [
        ("course/messages/message.py", "course/test_messages.py", "course/test_sandbox.py"),
        ("course/mistakes/rope.py", "test_rope.py", "course/test_lms.py"),
        ("course/grading/lms/table.py", "course/test_lms.py", "test_rope.py"),
    ],
)
def test_near_tests_are_those_of_the_change_itself(file, near, far):
    files = affected.git("ls-files")
    dependencies = affected.Map(files)
    tests = {one for one in files if one.startswith("tests/") and "/test_" in one}
    found = {one for one in tests if dependencies.is_near(one, {file})}
    assert f"tests/{near}" in found and f"tests/{far}" not in found
    assert len(found) < len(tests) / 3
