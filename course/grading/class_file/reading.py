"""The class's file, read and checked.

Whatever is wrong with it is said in one sentence that names the line and the key, before anything
is graded.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date, datetime, time, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from course.grading.class_file.settings import (
    Assignment,
    ClassFile,
    Comment,
    Decision,
    Feedback,
    LateRule,
    Person,
)
from course.grading.names import MAX_NAME_LENGTH, printable, safe_name
from course.grading.submissions.times import OWN_WORD
from course.syllabus import Exercise, Lesson, closest, lessons

Path_ = tuple[str | int, ...]
"""The way to a value: keys, and numbers from 0 in an array of tables."""

_SECOND = "Cannot overwrite a value"
"""What `tomllib` says of a key that the table has already."""


class ClassFileError(Exception):
    """A sentence on what is wrong with the file, and where."""


def read_class_file(path: Path) -> ClassFile:
    """Return what a class's file says.

    Raises:
        ClassFileError: it cannot be read, or something in it is not as it has to be.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
        found = tomllib.loads(text)
    except OSError as error:
        raise ClassFileError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ClassFileError(f"{path} is not saved as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        why, _, where = str(error).rpartition(" (at ")
        line = re.search(r"line (\d+)", where)
        if not line:
            raise ClassFileError(f"{path}: {error}") from None
        written = printable(text.split("\n")[int(line[1]) - 1].strip()[:80])
        why = "stands there for the second time" if why == _SECOND else f"is no TOML: {why}"
        raise ClassFileError(f"{path.name}, line {line[1]}, {written}: {why}") from None
    if not found:
        raise ClassFileError(f"{path} is empty: `course class init` begins one")
    return _Reader(path, text, found).read()


class _Reader:
    """One file on its way to be a `ClassFile`."""

    def __init__(self, path: Path, text: str, found: dict[str, Any]) -> None:
        self.path, self.text, self.found = path, text, found
        self.zone: tzinfo | None = None

    def read(self) -> ClassFile:
        parts = {
            "timezone": self.timezone,
            "students": self.people,
            "lessons": self.assignments,
            "extensions": dict,
            "late": self.late,
            "feedback": self.feedback,
            "decision": list,
            "comment": list,
        }
        self.known((), self.found, parts)
        self.zone = self.timezone()
        people, assignments = self.people(), self.assignments()
        self.students = people
        return ClassFile(
            self.path,
            people,
            assignments,
            self.extensions(assignments),
            self.late(),
            self.decisions(),
            self.comments(),
            self.feedback(),
            self.zone,
        )

    # --- parts of the file ------------------------------------------------------------------

    def timezone(self) -> tzinfo | None:
        name = self.found.get("timezone")
        if name is None:
            return None
        try:
            return ZoneInfo(name)
        except Exception:  # of many kinds, for what is no text or no name
            raise self.wrong(
                ("timezone",), 'has to be the name of a time zone, such as "Europe/Berlin"'
            ) from None

    def people(self) -> dict[str, Person]:
        people: dict[str, Person] = {}
        keys = [one.name for one in fields(Person) if one.name != "key"]
        taken: dict[tuple[str, str], str] = {}
        for key, entry in self.table("students").items():
            at = ("students", key)
            if safe_name(key) != key or len(key) > MAX_NAME_LENGTH:
                raise self.wrong(
                    at, "is no key: use letters, digits and -_.,+@ (the name goes into `name`)"
                )
            self.known(at, self.expect(at, entry, dict, "a table such as {name = ...}"), keys)
            for name, value in entry.items():
                if isinstance(value, bool) or not isinstance(value, str | int):
                    raise self.wrong((*at, name), "has to be a text")
            texts = {name: str(value).strip() for name, value in entry.items()}
            person = Person(key, **texts)
            for what in ("key", "id", "canvas", "github", "folder"):
                value = getattr(person, what).casefold()
                if value and (what, value) in taken:
                    raise self.wrong(at, f"has the {what} of {taken[what, value]}")
                taken[what, value] = key
            people[key] = person
        return people

    def assignments(self) -> dict[str, Assignment]:
        found = {}
        for name, entry in self.table("lessons").items():
            at = ("lessons", name)
            lesson = self.lesson(at, name)
            entry = self.expect(at, entry, dict, "a table such as {due = 2026-10-05}")
            self.known(at, entry, ("due", "column", "export"))
            export = self.value((*at, "export"), entry, str, "a path, in quotes")
            if export and not (self.path.parent / export).is_file():
                raise self.wrong((*at, "export"), f"there is no file {export} beside it")
            found[lesson.stem] = Assignment(
                lesson.stem,
                self.date((*at, "due"), entry["due"]) if "due" in entry else None,
                self.value((*at, "column"), entry, str, "a title, in quotes") or "",
                self.path.parent / export if export else None,
            )
        return {one.stem: found[one.stem] for one in lessons() if one.stem in found}

    def extensions(self, assignments: Mapping[str, Assignment]) -> dict:
        found = {}
        for student, entry in self.table("extensions").items():
            at = ("extensions", student)
            self.student(at, student)
            for name, value in self.expect(at, entry, dict, "a table of lessons").items():
                stem = self.lesson((*at, name), name).stem
                until = self.date((*at, name), value)
                due = assignments[stem].due if stem in assignments else None
                if due is None:
                    raise self.wrong((*at, name), f"has nothing to extend: {stem} has no date")
                if until < due:
                    raise self.wrong((*at, name), f"is earlier than the date of all, {due:%F %R}")
                found[student, stem] = until
        return found

    def late(self) -> LateRule:
        entry, at = self.table("late"), ("late",)
        self.known(at, entry, [one.name for one in fields(LateRule)])
        numbers = {
            name: self.number((*at, name), entry[name], most)
            for name, most in (("per_day", 100), ("at_most", 100), ("grace_minutes", 10_000))
            if name in entry
        }
        trust = entry.get("trust", [])
        if not isinstance(trust, list) or not all(one in OWN_WORD for one in trust):
            raise self.wrong((*at, "trust"), f"has to be a list of some of {', '.join(OWN_WORD)}")
        return LateRule(**numbers, trust=frozenset(trust))

    def feedback(self) -> Feedback:
        entry, at = self.table("feedback"), ("feedback",)
        self.known(at, entry, [one.name for one in fields(Feedback)])
        found: dict[str, Any] = {}
        for name in ("points", "messages"):
            if name in entry:
                found[name] = self.value((*at, name), entry, bool, "true or false")
        if "hints" in entry:
            found["hints"] = self.number((*at, "hints"), entry["hints"], 3, int)
        if "reference_after" in entry:
            after = (*at, "reference_after")
            found["reference_after"] = self.date(after, entry["reference_after"])
        return Feedback(**found)

    def decisions(self) -> tuple[Decision, ...]:
        found: dict[tuple[str, str, str], Decision] = {}
        for at, entry in self.array("decision"):
            known = ("student", "exercise", "lesson", "points", "excused", "reason", "comment")
            self.known(at, entry, known)
            student = self.student((*at, "student"), self.needed(at, entry, "student"))
            excused = self.value((*at, "excused"), entry, bool, "true or false")
            if ("points" in entry) == bool(excused):
                raise self.wrong(at, "needs either points or excused = true")
            if "exercise" in entry:
                lesson, exercise = self.exercise((*at, "exercise"), entry)
            elif excused:
                lesson, exercise = self.lesson((*at, "lesson"), entry.get("lesson")), None
            else:
                raise self.wrong(at, "needs an exercise; a whole lesson can only be excused")
            points = None
            if exercise and not excused:
                points = self.number((*at, "points"), entry["points"], exercise.points)
            name = exercise.name if exercise else ""
            if (student, lesson.stem, name) in found:
                raise self.wrong(at, f"is the second for {student} and {name or lesson.stem}")
            found[student, lesson.stem, name] = Decision(
                student,
                lesson.stem,
                name,
                points,
                self.needed(at, entry, "reason"),
                self.value((*at, "comment"), entry, str, "a text, in quotes") or "",
            )
        return tuple(found.values())

    def comments(self) -> tuple[Comment, ...]:
        found = []
        for at, entry in self.array("comment"):
            self.known(at, entry, ("student", "lesson", "text"))
            student = self.student((*at, "student"), self.needed(at, entry, "student"))
            lesson = self.lesson((*at, "lesson"), entry.get("lesson"))
            found.append(Comment(student, lesson.stem, self.needed(at, entry, "text")))
        return tuple(found)

    # --- kinds of values --------------------------------------------------------------------

    def table(self, name: str) -> dict[str, Any]:
        return self.expect((name,), self.found.get(name, {}), dict, f"a table: [{name}]")

    def array(self, name: str) -> Iterable[tuple[Path_, dict[str, Any]]]:
        entries = self.expect((name,), self.found.get(name, []), list, f"written [[{name}]]")
        for index, entry in enumerate(entries):
            at = (name, index)
            yield at, self.expect(at, entry, dict, f"written [[{name}]]")

    def known(self, at: Path_, entry: Mapping[str, Any], keys: Iterable[str]) -> None:
        for key in entry:
            if key not in keys:
                near = closest(key, keys)
                meant = f"; did you mean {near}?" if near else f": only {', '.join(keys)} are"
                raise self.wrong((*at, key), f"is not known here{meant}")

    def expect(self, at: Path_, value: Any, kind: type, what: str) -> Any:
        if not isinstance(value, kind):
            raise self.wrong(at, f"has to be {what}")
        return value

    def value(self, at: Path_, entry: Mapping[str, Any], kind: type, what: str) -> Any:
        name = at[-1]
        return self.expect(at, entry[name], kind, what) if name in entry else None

    def needed(self, at: Path_, entry: Mapping[str, Any], name: str) -> str:
        if not str(entry.get(name, "")).strip():
            raise self.wrong(at, f"needs a {name}")
        return self.expect((*at, name), entry[name], str, "a text, in quotes")

    def number(self, at: Path_, value: Any, most: float, kind: Any = float) -> Any:
        kinds = int if kind is int else int | float
        if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value <= most:
            whole = "whole number" if kind is int else "number"
            raise self.wrong(at, f"has to be a {whole} from 0 to {most}; it is {value}")
        return value

    def date(self, at: Path_, value: Any) -> datetime:
        """Return a time with its zone; a date alone lasts until the end of its day."""
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time(23, 59, 59))
        value = self.expect(at, value, datetime, "a date without quotes, such as 2026-10-05")
        if value.tzinfo is None:
            return value.replace(tzinfo=self.zone) if self.zone else value.astimezone()
        return value

    def student(self, at: Path_, key: str) -> str:
        return key if key in self.students else self.no(at, "student", key, self.students)

    def lesson(self, at: Path_, name: Any) -> Lesson:
        found = {lesson.stem: lesson for lesson in lessons()}
        return found[name] if name in found else self.no(at, "lesson", name, found)

    def exercise(self, at: Path_, entry: Mapping[str, Any]) -> tuple[Lesson, Exercise]:
        found = {one.name: (lesson, one) for lesson in lessons() for one in lesson.exercises}
        name = entry["exercise"]
        return found[name] if name in found else self.no(at, "exercise", name, found)

    def no(self, at: Path_, what: str, name: Any, names: Iterable[str]) -> Any:
        near = closest(name, names) if isinstance(name, str) else None
        meant = f"; did you mean {near}?" if near else ""
        named = f"there is no {what} {name}" if name is not None else f"a {what} has to be named"
        raise self.wrong(at, f"{named}{meant}")

    def wrong(self, at: Path_, why: str) -> ClassFileError:
        key = ".".join(str(part) for part in at if not isinstance(part, int))
        line = line_of(self.text, at)
        return ClassFileError(f"{self.path.name}, line {line}, {key}: {why}")


def line_of(text: str, at: Path_) -> int:
    """Return the line where a value stands, or what it stands in; for a message.

    >>> line_of('[late]\\nper_day = 10\\n\\n[[decision]]\\npoints = 1', ("decision", 0, "points"))
    5
    """
    best, best_length = 1, 0
    table: Path_ = ()
    arrays: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(#.*)?$", line)
        if header:
            table = _parts(header[2])
            if header[1] == "[[":
                arrays[header[2]] = arrays.get(header[2], -1) + 1
                table = (*table, arrays[header[2]])
            place = table
        elif key := re.match(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[^=\s]+)*)\s*=""", line):
            place = (*table, *_parts(key[1]))
        else:
            continue
        if place == at[: len(place)] and len(place) > best_length:
            best, best_length = number, len(place)
    return best


def _parts(dotted: str) -> Path_:
    found = re.findall(r""""([^"]*)"|'([^']*)'|([^\s.'"]+)""", dotted)
    return tuple(next(filter(None, one), "") for one in found)
