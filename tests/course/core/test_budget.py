"""How large each part may be, in lines: when one shrinks, lower its number. Content may grow.

A corner case needs a person who met it, a demand a lesson that teaches it, and a wing a user who
would miss it.
"""

from pathlib import Path

import pytest

from course import ROOT

BUDGETS = {
    "course/cli": 1_658,
    "course/core": 927,
    "course/data": 1_135,
    "course/experiments": 1_783,
    "course/grading": 8_173,
    "course/mistakes": 2_663,
    "course/publishing": 4_265,
    "course/student": 2_998,
    "course/testing": 3_976,
    "course/lessons/*/mistakes.txt": 5_950,
    "course/lessons/*/styles.py": 1_550,
    "tests/test_*.py": 6_300,
    "tests/course": 19_069,
}
CODE = {".py", ".js", ".css", ".html", ".toml", ".txt"}


@pytest.mark.parametrize(("part", "most"), BUDGETS.items(), ids=BUDGETS)
def test_no_part_is_larger_than_its_budget(part, most):
    places = list(ROOT.glob(part))
    found = [path for one in places for path in (one.rglob("*") if one.is_dir() else [one])]
    code = [path for path in found if path.suffix in CODE and "golden" not in path.parts]
    n_lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in code)
    assert n_lines
    advice = f"shorten it, or raise the number in {Path(__file__).name}, if it is worth that"
    assert n_lines <= most, f"{part} has {n_lines:,} lines, {n_lines - most} too many: {advice}"


def test_every_package_has_a_budget():
    folders = {path.parent.name for path in ROOT.glob("course/*/__init__.py")}
    assert folders <= {part.removeprefix("course/") for part in BUDGETS}
