"""A first `class.toml`: a roster, and the rest to fill in."""

import json
import re
from collections.abc import Iterable
from dataclasses import fields

from course.grading.class_file.settings import Person
from course.grading.names import safe_name
from course.syllabus import Lesson, counted_lessons

_HEAD = """\
# The class: who is in it, what is due when, and what you decide by hand. Keep it beside
# the submissions: `course grade` reads it each time, and `course class check` says what is wrong.
# It is applied after grading, so a change takes a moment and no result is judged anew.

# timezone = "Europe/Berlin"     # of dates below; without it, this computer's
"""
_LATE = """\
[late]
# per_day = 10            # percent of the points earned, lost for each day begun
# at_most = 50            # percent lost at most
# grace_minutes = 15
# trust = ["git", "zip"]  # take the word of students' own computers for a time, too

[feedback]                # what students see on their pages
# points = false          # show them later
# messages = true         # what went wrong
# hints = 1               # how many hints, of three, for what is not right yet
# reference_after = 2026-12-24

[extensions]
# "KEY" = { lookup = 2026-10-12 }

# A decision goes before the judge's, and is final: nothing is taken off it for being late.
# [[decision]]
# student = "KEY"
# exercise = "apply_rope"
# points = 2              # or: excused = true
# reason = "for me"
# comment = "for the student"

# [[comment]]
# student = "KEY"
# lesson = "rope"
# text = "for the student"
"""


def first_class_file(people: Iterable[Person], titles: Iterable[str] = ()) -> str:
    """Return the text of a class's file: its roster, and examples of what else it may say.

    Args:
        titles: the columns of Canvas's gradebook; one that names a lesson is the lesson's.
    """
    lessons = "\n".join(
        f"[lessons.{lesson.stem}]\n"
        "# due = 2026-10-05T23:59:00\n"
        f"{_column(lesson, titles)}\n"
        f'# export = "{lesson.stem}.csv"\n'
        for lesson in counted_lessons()
    )
    about = (
        "# Delete the lessons that you do not set. `column` is the title in Canvas's gradebook,\n"
        "# `export` Moodle's grading worksheet or GitHub Classroom's grades of the assignment.\n"
    )
    return "\n".join([_HEAD, about + lessons, _LATE, "[students]", *roster_lines(people), ""])


def _column(lesson: Lesson, titles: Iterable[str]) -> str:
    own = [title for title in titles if lesson.stem in re.split(r"\W+", title.lower())]
    if len(own) == 1:
        return f"column = {_quoted(own[0])}"
    return f'# column = "What and Where {lesson.number}: {lesson.stem}"'


def roster_lines(people: Iterable[Person]) -> list[str]:
    """Return a line of TOML for each student; two of one key get numbers behind it."""
    taken: set[str] = set()
    lines = []
    for person in people:
        key, number = person.key, 1
        while key.casefold() in taken:
            number += 1
            key = f"{person.key}-{number}"
        taken.add(key.casefold())
        facts = [
            f"{one.name} = {_quoted(getattr(person, one.name))}"
            for one in fields(Person)
            if one.name != "key" and getattr(person, one.name)
        ]
        entry = f"{{ {', '.join(facts)} }}" if facts else "{}"
        lines.append(f"{_quoted(key)} = {entry}")
    return lines


def _quoted(text: str) -> str:
    """Return a text as TOML has it: JSON's quotes and escapes are TOML's, too."""
    return re.sub("\x7f", r"\\u007f", json.dumps(text, ensure_ascii=False))


def people_of_folders(names: Iterable[str]) -> list[Person]:
    """Return a roster of those who handed something in, by the names of their folders."""
    return [Person(safe_name(name)) for name in names]


def unknown(people: Iterable[Person], known: Iterable[Person]) -> list[Person]:
    """Return who of a table is not on a roster, by any number or name that both have."""
    marks = {mark for one in known for mark in _marks(one)}
    return [one for one in people if not marks.intersection(_marks(one))]


def _marks(person: Person) -> set[tuple[str, str]]:
    strong = {
        (what, getattr(person, what).casefold())
        for what in ("canvas", "github", "email", "id")
        if getattr(person, what)
    }
    return strong or {("key", person.key.casefold())}
