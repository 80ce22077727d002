"""Look for what a lesson or one of its exercises still lacks, in the files that people write.

An exercise works without known mistakes: they are noted one by one, as students make them.

Files are read as text and nothing is imported or run, so that a gap is told in a sentence before it
is a KeyError somewhere else. Whether what is there is right is for the tests to say, and whether
what is derived is there for `course build --check`.
"""

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from course import root

SYLLABUS = "course/lessons/syllabus.toml"
CATALOGUE = "course/lessons/{stem}/mistakes.txt"
TESTS = "tests/test_{stem}.py"

_FIELDS = {
    "title": "what it does, in a few words",
    "points": "a whole number from 1 on",
    "minutes": "a whole number from 1 on",
}
_WORDS = {
    "why": "what it needs from earlier exercises, and what later needs it",
    "nudge": "what to think about, the first hint",
    "approach": "how to go about it, the second hint",
    "line": "nearly the line, the third hint",
}

_OF_LESSON = {  # file -> pattern, how often it is there at least, what it is
    "course/lessons/{stem}/README.md": [("^## ", 1, "its question, a heading (##),")],
    "course/lessons/{stem}/notebook.py": [
        (r'tags=\["prediction"\]', 3, "guesses"),
        ("answer=", 2, "answers"),
        (r"\bfigures\.\w+\(", 1, "a figure of course.figures"),
    ],
}
_OF_EXERCISE = {  # file -> what begins the part of an exercise; what it is; what is in it, as above
    "solutions/{stem}.py": (
        r"^(?:def|class) (\w+)",
        "its definition",
        [
            ("### BEGIN SOLUTION\n(?s:.*?)### END SOLUTION\n", 1, "its ### BEGIN and END SOLUTION"),
            (">>> ", 1, "an example (>>>)"),
            ("Source: ", 1, "a source (Source:)"),
        ],
    ),
    TESTS: (r'^@exercise\("(\w+)"\)', 'a class below @exercise("{name}")', []),
    CATALOGUE: (
        r"^== (\w+)$",
        "== {name}",
        [
            ("^! ", 4, "mistakes (!)"),
            (r"^    \* ", 2, "common mistakes (*)"),
            (r"^\+ ", 2, "alternatives (+)"),
        ],
    ),
}
_OF_TESTS = [("def test_", 2, "tests of what it is about")]


def lacks(name: str | None = None) -> list[str]:
    """Return a sentence for all that the lessons lack, or only one, by its stem or number.

    Raises:
        ValueError: there is no such lesson, or the syllabus cannot be read at all.
    """
    entries, words, chosen = _chosen(name)
    found = [said for n in chosen for said in _of_lesson(n + 1, entries[n], words)]
    counted = Counter(one for entry in entries for one in _names(entry))
    twice = (one for one, count in counted.items() if count > 1)
    found += [f"two exercises are called {one} in {SYLLABUS}: names are unique" for one in twice]
    return found + _strangers(SYLLABUS, words, "any lesson", [*counted])


def without_mistakes(name: str | None = None) -> list[str]:
    """Return a sentence for each exercise, of all lessons or one, that has no known mistake.

    Raises:
        ValueError: as in `lacks`.
    """
    entries, _, chosen = _chosen(name)
    begin, _, _ = _OF_EXERCISE[CATALOGUE]
    found = []
    for entry in (entries[n] for n in chosen):
        path = CATALOGUE.format(stem=entry.get("stem"))
        known = re.findall(begin, _read(path) or "", re.MULTILINE)
        found += [
            f"{one} has no known mistakes in {path}: a wrong answer is shown, and no mistake named"
            for one in _names(entry)
            if one not in known
        ]
    return found


def _chosen(name: str | None) -> tuple[list[dict], dict[str, dict], list[int]]:
    """Return the syllabus's lessons, the words of its exercises, and which lessons are meant."""
    try:
        syllabus = tomllib.loads(_read(SYLLABUS) or "")
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{SYLLABUS} cannot be read: {error}") from None
    entries = syllabus.get("lesson", [])
    stems = [entry.get("stem", "") for entry in entries]
    chosen = [
        n for n, stem in enumerate(stems) if name is None or name.lower() in (f"{n + 1}", stem)
    ]
    if not chosen:
        raise ValueError(f'there is no lesson "{name}"; the lessons are {", ".join(stems)}')
    return entries, syllabus.get("exercise", {}), chosen


def _of_lesson(number: int, entry: dict[str, Any], words: dict[str, dict]) -> Iterator[str]:
    stem, names = entry.get("stem"), _names(entry)
    if not stem:
        yield f"lesson {number} lacks `stem` in {SYLLABUS}: the name of its files"
        return
    if not entry.get("title"):
        yield f"{stem} lacks `title` in {SYLLABUS}: what it teaches, in a few words"
    for exercise in _tables(entry):
        name = exercise.get("name", f"an exercise of {stem}")
        if "name" not in exercise:
            yield f"{name} lacks `name` in {SYLLABUS}"
        yield from _fields(name, exercise, _FIELDS, SYLLABUS, also={"name", "uses"})
    for name in names:
        place = f"[exercise.{name}] in {SYLLABUS}"
        yield from _fields(name, words.get(name, {}), _WORDS, place)
    for pattern, wanted in _OF_LESSON.items():
        path = pattern.format(number=number, stem=stem)
        text = _read(path)
        yield from [f"{stem} lacks {path}"] if text is None else _parts(stem, text, wanted, path)
    for pattern, (begin, what, wanted) in _OF_EXERCISE.items():
        path = pattern.format(stem=stem)
        text = _read(path)
        if text is None:
            yield f"{stem} lacks {path}"
            continue
        parts = defaultdict(str)
        _, *pieces = re.split(begin, text, flags=re.MULTILINE)
        for name, part in zip(pieces[::2], pieces[1::2], strict=True):
            parts[name] += part
        for name in names:
            if name in parts:
                yield from _parts(name, parts[name], wanted, path)
                if pattern == TESTS:
                    yield from _parts(name, parts[name], _OF_TESTS, path)
            elif pattern != CATALOGUE:
                yield f"{name} lacks {what.format(name=name)} in {path}"
        if not path.startswith("solutions/"):  # which has helpers
            yield from _strangers(path, parts, stem, names)


def _tables(entry: dict[str, Any]) -> list[dict]:
    return [one if isinstance(one, dict) else {} for one in entry.get("exercises", [])]


def _names(entry: dict[str, Any]) -> list[str]:
    return [one["name"] for one in _tables(entry) if "name" in one]


def _fields(
    who: str, fields: dict, wanted: dict[str, str], place: str, also: set[str] = frozenset()
) -> Iterator[str]:
    """Yield a sentence for each field that is missing or empty, and for each that means nothing."""
    for field, meaning in wanted.items():
        if not fields.get(field):
            yield f"{who} lacks `{field}` under {place}: {meaning}"
    for field in fields.keys() - wanted.keys() - also:
        yield f"{who} has `{field}` under {place}, which means nothing there"


def _parts(who: str, text: str, wanted: list, path: str) -> Iterator[str]:
    for pattern, least, what in wanted:
        count = len(re.findall(pattern, text, re.MULTILINE))
        if count < least:
            of = f": {count} of at least {least}" if least > 1 else ""
            yield f"{who} lacks {what} in {path}{of}"


def _strangers(path: str, found: dict, stem: str, names: list[str]) -> list[str]:
    """Return a sentence for every name in a file that the syllabus does not know."""
    strangers = [name for name in found if name not in names]
    return [f"{path} speaks of {name}, which is no exercise of {stem}" for name in strangers]


def _read(path: str) -> str | None:
    file = root() / path
    return file.read_text(encoding="utf-8") if file.exists() else None
