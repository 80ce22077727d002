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
        ("course/lab/hands.js", "lab"),  # named by a command's module
        ("course/cli/experiment/cache.py", "experiments"),
        ("pyproject.toml", "messages reports glove lab experiments"),
    ],
)
def test_a_file_affects_the_tests_that_reach_it(needs, file, tests):
    assert {test for test in needs if file in needs[test]} == {*tests.split()}
