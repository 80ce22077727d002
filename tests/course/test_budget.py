"""How large each part may be, in lines. When a part shrinks, lower its number; none ever grows.

A corner case needs a person who met it, a demand a lesson that teaches it, and a wing a user who
would miss it.
"""

import pytest

from course import ROOT

BUDGETS = {
    "course/building": 935,
    "course/cli": 1_710,
    "course/data": 1_540,
    "course/experiments": 2_780,
    "course/figures": 2_760,
    "course/grading": 8_590,
    "course/lab": 2_065,
    "course/messages": 355,
    "course/mistakes": 2_490,
    "course/site": 1_225,
    "course/student": 2_585,
    "course/system": 385,
    "course/testing": 3_500,
    "course/lessons/*/mistakes.txt": 5_395,
    "course/lessons/*/styles.py": 1_475,
    "tests/test_*.py": 5_505,
    "tests/course": 21_730,
}
CODE = {".py", ".js", ".css", ".html", ".toml", ".txt"}


@pytest.mark.parametrize(("part", "most"), BUDGETS.items(), ids=BUDGETS)
def test_no_part_is_larger_than_its_budget(part, most):
    places = list(ROOT.glob(part))
    found = [path for one in places for path in (one.rglob("*") if one.is_dir() else [one])]
    code = [path for path in found if path.suffix in CODE and "golden" not in path.parts]
    n_lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in code)
    assert 0 < n_lines <= most


def test_every_package_has_a_budget():
    folders = {path.parent.name for path in ROOT.glob("course/*/__init__.py")}
    assert folders <= {part.removeprefix("course/") for part in BUDGETS}
