"""The meaning of a file's name: who handed it in, and whether it may be a lesson's module."""

import re
from collections.abc import Iterator
from functools import cache

from course.core.copies import original_name
from course.core.syllabus import lessons
from course.grading.submissions.archives import is_archive

MAX_DEPTH = 30
"""So many folders deep may a module lie; beyond that nobody looks."""
MAX_LENGTH = 255
"""No disk has longer names; a zip may, and to take those apart would take minutes."""

CANVAS = re.compile(
    r"(?P<name>(?:(?!_assignsubmission_)[\w\x80-\U0010ffff])+?)"  # \w is no vowel sign
    r"(?P<late>_LATE)?_(?P<id>\d{3,})_(?:\d{3,}_(?P<file>.+)|(?:text|link)\.html)"
)
_CANVAS_WITHOUT_NAMES = re.compile(
    r"(?P<late>LATE_)?(?P<name>anon_(?P<id>(?!LATE_|\d+_)[^\W_]+))_\d{3,}_(?P<file>.+)"
)
"""Without numbers alone, which a student called Anon has."""
MOODLE = re.compile(r"(?P<name>.+?)(?P<late>)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)")
"""Names that platforms give what an instructor downloads; a student chose `file`, maybe `name`."""
MOODLE_FOLDER = re.compile(
    r"(?P<name>.+)(?P<late>)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>)"
)
"""The last number counts, because a student may write one into the name."""
_OF_BRIGHTSPACE = r"(?P<id>\d+)-\d+ - (?P<name>.+?)(?P<late>) - [^-]*\b\d{4}\b[^-]*"
_BRIGHTSPACE_FOLDER = re.compile(rf"{_OF_BRIGHTSPACE}(?P<file>)")
_BRIGHTSPACE = re.compile(rf"{_OF_BRIGHTSPACE} - (?P<file>.+)")
"""Each attempt has a name of its own: the student's number, the attempt's, the name, the time."""
BLACKBOARD = re.compile(
    r"(?P<id>(?P<name>.+?))(?P<late>)_attempt_\d{4}(?:-\d\d){5}(?:_(?P<file>.+)|\.txt)"
)
"""The assignment and the login, the time of the attempt, and the file; a text tells of the attempt.
Either may have underscores, so that nobody knows where the login begins."""
_LEFT_BEHIND = {"__MACOSX", "__pycache__", "node_modules", "site-packages"}
"""Beside what begins with a dot: nobody writes these, and some hold tens of thousands of files."""


OF_COURSE = {"benchmarks", "course", "data", "exercises", "notebooks", "solutions", "tests"}
"""The folders at the top of a clone of the course."""


def platform_names(name: str, kind: str = "file") -> Iterator[tuple[str, re.Match]]:
    """Yield each way to take a name apart that an LMS gave: the student's name, and the match.

    There may be several, because a student may write numbers into the name, or call a file so.

    >>> [(name, match["id"]) for name, match in platform_names("bob_999_66123_902_work.zip")]
    [('bob', '999'), ('bob_999', '66123')]
    """
    forms = [_CANVAS_WITHOUT_NAMES, CANVAS, MOODLE, _BRIGHTSPACE, BLACKBOARD]
    if kind == "folder":  # Canvas makes none
        forms = [MOODLE_FOLDER, _BRIGHTSPACE_FOLDER]
    for form in forms if len(name) <= MAX_LENGTH else ():
        match = first = form.fullmatch(name)
        while match:
            yield name[first.start("name") : match.end("name")], match
            start = match.start("id")
            match = form.fullmatch(name, start) if start else None


def platform_name(name: str, kind: str = "file") -> re.Match | None:
    """Take a name apart that an LMS gave: `name`, `id`, `late` and `file`."""
    return next((match for _, match in platform_names(name, kind)), None)


def name_of(path: tuple[str, ...]) -> str:
    """Return what a student called a file; at the top, a platform has put more around it."""
    match = platform_name(path[0]) if len(path) == 1 else None
    return (match and match["file"]) or path[-1]


@cache
def stems() -> tuple[str, ...]:
    """Return the names of all lessons' modules, without an ending."""
    return tuple(lesson.stem for lesson in lessons())


def names_lesson(path: tuple[str, ...], stem: str) -> bool:
    """Tell whether a file has a lesson's name in its own, such as rope.docx, and is no test."""
    if stem not in path[-1].lower():  # quick: a zip may hold very many
        return False
    name = name_of(path).lower()
    return stem in name and not name.startswith("test_")


def looks_like(path: tuple[str, ...], stem: str) -> bool:
    """Tell whether a file may be meant as a lesson's module: rope_final.py, 5_rope.ipynb."""
    if not names_lesson(path, stem):
        return False
    name = name_of(path).lower()
    is_text = name.endswith(".txt") and is_renamed(path, stem)
    return ".py" in name or is_notebook((name,)) or is_text


def may_be_module(path: tuple[str, ...]) -> bool:
    """Tell whether a file may be meant as the module of any lesson."""
    return any(looks_like(path, stem) for stem in stems())


def is_module(path: tuple[str, ...], stem: str, ending: str = ".py") -> bool:
    """Tell whether a file is called as a lesson's module; Canvas puts -1, -2 behind it."""
    name = name_of(path).lower()
    if len(path) == 1:
        name = re.sub(rf"-\d+(?={re.escape(ending)}$)", "", name)
    return name == f"{stem}{ending}"


def is_renamed(path: tuple[str, ...], stem: str, ending: str = ".py") -> bool:
    """Tell whether a file is called as a computer calls a copy of it, as 5_rope.py or rope.txt."""
    if stem not in path[-1].lower():  # quick
        return False
    numbered = {f"{lesson.number}_{lesson.stem}" for lesson in lessons()}
    name = original_name(name_of(path))
    name = name.removesuffix(".txt" if ending == ".py" else ending).removesuffix(ending)
    return name == stem or (name in numbered and name.endswith(f"_{stem}"))


def is_unnamed(name: str) -> bool:
    """Tell whether this is the zip that `course submit` makes without a name."""
    return original_name(name) == "submission.zip"


def is_loose_module(name: str, kind: str) -> bool:
    """Tell whether something at the top of a class is called as a module alone, by no student."""
    return kind != "folder" and any(is_renamed(("", name), stem) for stem in stems())


def is_code(path: tuple[str, ...]) -> bool:
    """Tell whether a file is one of Python, or a text, which some editors make of one."""
    return path[-1].lower().endswith((".py", ".txt"))


def is_notebook(path: tuple[str, ...]) -> bool:
    """Tell whether a file is one of Jupyter's."""
    return original_name(path[-1]).endswith(".ipynb")


def is_hidden(name: str) -> bool:
    """Tell what computers leave behind: .git, .venv, .DS_Store, __MACOSX, __pycache__."""
    return (name.startswith(".") and name != "..") or name in _LEFT_BEHIND


def is_wanted(path: tuple[str, ...]) -> bool:
    """Tell what matters: a lesson's file, code, an archive near the top, a link for `exercises`."""
    if len(path) == 1:
        return True
    name = path[-1].lower()
    is_near_the_top = is_archive(name) and len(path) <= 10  # /home/jane/courses/2026/nlp/work.zip
    is_source = name == "exercises" or is_code(path) or is_notebook(path)
    is_of_lesson = any(names_lesson(path, stem) for stem in stems())
    return len(path) <= MAX_DEPTH and (is_near_the_top or is_source or is_of_lesson)
