"""What every lesson and every exercise has: the report says what is missing, and where.

Files are read as text, so that a gap is told before it is an error somewhere else. Whether what is
there is right is for other tests, and whether what is derived is there for `course build --check`.
"""

import re
import shutil
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from course import ROOT

SYLLABUS = "course/lessons/syllabus.toml"
CATALOGUE = "course/lessons/{stem}/mistakes.txt"
OF_A_LESSON = ("stem", "title", "exercises")
OF_AN_EXERCISE = ("name", "title", "points", "minutes")
WORDS = ("why", "nudge", "approach", "line")
FILES = {  # file -> how an exercise's part begins; how often at least what is in it, by its pattern
    "course/lessons/{stem}/README.md": ("", [(1, "question, a heading (##)", "^## ")]),
    "course/lessons/{stem}/notebook.py": (
        "",
        [
            (3, "guesses", r'tags=\["prediction"\]'),
            (2, "answers", "answer="),
            (1, "figure of course.publishing.figures", r"\bfigures\.\w+\("),
        ],
    ),
    "solutions/{stem}.py": (
        r"^(?:def|class) (\w+)",
        [
            (1, "### BEGIN and END SOLUTION", "### BEGIN SOLUTION\n(?s:.*?)### END SOLUTION\n"),
            (1, "example (>>>)", ">>> "),
            (1, "source (Source:)", "Source: "),
        ],
    ),
    "tests/test_{stem}.py": (r'^@exercise\("(\w+)"\)', [(2, "tests", "def test_")]),
    CATALOGUE: (  # an exercise may have none yet; if it has any, so many
        r"^== (\w+)$",
        [
            (4, "mistakes (!)", "^! "),
            (2, "common mistakes (*)", r"^    \* "),
            (2, "alternatives (+)", r"^\+ "),
        ],
    ),
    "course/lessons/{stem}/styles.py": ("", [(1, "alternative", r"^(?:def|class) ")]),
}


def lacks(root: Path, number: int) -> Iterator[str]:
    """Yield a sentence for all that a lesson lacks, or that belongs to none of its exercises."""
    syllabus = tomllib.loads((root / SYLLABUS).read_text(encoding="utf-8"))
    lesson = syllabus["lesson"][number - 1]
    stem, names = lesson.get("stem"), [one.get("name") for one in lesson["exercises"]]
    yield from fields(f"lesson {number}", lesson, OF_A_LESSON, ("beyond",))
    for name, one in zip(names, lesson["exercises"], strict=True):
        yield from fields(f"exercise {name}", one, OF_AN_EXERCISE, ("uses",))
        yield from fields(f"exercise.{name}", syllabus["exercise"].get(name, {}), WORDS)
    for pattern, (begin, wanted) in FILES.items():
        path = root / pattern.format(number=number, stem=stem)
        file = path.relative_to(root).as_posix()
        if not path.exists():
            yield f"{file} is missing"
            continue
        text = path.read_text(encoding="utf-8")
        parts = split(text, begin) if begin else {stem: text}
        for name in names if begin else [stem]:
            if name not in parts and pattern != CATALOGUE:
                yield f"{file} has no {name}"
            for least, what, pattern_of_it in wanted if name in parts else []:
                count = len(re.findall(pattern_of_it, parts[name], re.MULTILINE))
                if count < least:
                    yield f"{file}: {name} has {count} of at least {least} {what}"
        if begin and not file.startswith("solutions/"):  # which has helpers
            yield from (f"{file} has {one}, no exercise" for one in parts if one not in names)


def fields(who: str, given: dict, wanted: tuple[str, ...], also: tuple[str, ...] = ()):
    yield from (f"{SYLLABUS}: {who} has no `{one}`" for one in wanted if not given.get(one))
    strangers = (one for one in given if one not in wanted + also)
    yield from (f"{SYLLABUS}: {who} has `{one}`, which means nothing" for one in strangers)


def split(text: str, begin: str) -> dict[str, str]:
    """Return the part of each exercise; several parts of one are joined."""
    _, *pieces = re.split(begin, text, flags=re.MULTILINE)
    parts = {}
    for name, piece in zip(pieces[::2], pieces[1::2], strict=True):
        parts[name] = parts.get(name, "") + piece
    return parts


TABLE = tomllib.loads((ROOT / SYLLABUS).read_text(encoding="utf-8"))
STEMS = [lesson.get("stem", "") for lesson in TABLE["lesson"]]


@pytest.mark.parametrize("number", range(1, len(STEMS) + 1), ids=STEMS)
def test_nothing_is_missing(number):
    if said := [*lacks(ROOT, number)]:
        pytest.fail("\n".join(said), pytrace=False)


def test_names_are_unique_and_words_are_about_exercises():
    names = Counter(one.get("name") for lesson in TABLE["lesson"] for one in lesson["exercises"])
    assert [name for name, count in names.items() if count > 1] == []
    assert [name for name in TABLE["exercise"] if name not in names] == []


def test_each_gap_is_a_sentence(golden, tmp_path):
    number = STEMS.index("rope") + 1
    _text, notebook, solution, tests, catalogue, styles = (
        pattern.format(number=number, stem="rope") for pattern in FILES
    )
    for path in (SYLLABUS, notebook, solution, tests, catalogue, styles):  # and no text
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    for path, old, new in [
        (SYLLABUS, r'("rotate_half", points = \d+, )minutes', r"\1minuts"),
        (SYLLABUS, r"(\[exercise\.ntk_base\]\n)why", r"\1wy"),
        (notebook, r"\bfigures\.", ""),
        (solution, r">>> (?=rotate_half)", ""),
        (solution, r"(def rotate_half.*?)### END SOLUTION", r"\1#"),
        (tests, r'@exercise\("rotate_half"', '@exercise("rotate"'),
        (tests, r"(class TestNtkBase:\n).*?(?=    def test_one_pair)", r"\1"),
        (catalogue, r"(== rotate_half\n).*?\n\n(?===)", r"\1! a => b\n\n"),
        (catalogue, "== ntk_base\n", "== ntk_baes\n"),
    ]:
        before = (tmp_path / path).read_text(encoding="utf-8")
        after, count = re.subn(old, new, before, flags=re.DOTALL)
        assert count
        (tmp_path / path).write_text(after, encoding="utf-8")
    golden("gaps in a lesson", {"rope": "\n".join(lacks(tmp_path, number))})
