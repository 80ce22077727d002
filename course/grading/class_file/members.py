"""Members of the class: whose a submission is, by the roster."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from course.grading.class_file.exports import MOODLE, Export, Row, time_of
from course.grading.class_file.settings import ClassFile, Person
from course.grading.names import WHOSE, safe_name
from course.grading.submissions import Submission
from course.grading.submissions.times import HandedIn


def by_member(
    submissions: Iterable[Submission],
    class_file: ClassFile,
    exports: Mapping[str, Export],
    place: str,
) -> tuple[list[Submission], list[str]]:
    """Return the submissions, each called by its student's key, and who is not on the roster.

    A student is found by the platform's number, then by the name of the folder, then by that of
    the repository. Several submissions of one student are put together; where two of them hold
    the same lesson, nobody knows which counts, and neither is graded.

    Args:
        exports: the platforms' tables, by the stem of the lesson.
        place: the name of the folder that the submissions lie in; `gh classroom` makes
            `rope-submissions` for the assignment `rope`.
    """
    roster = Roster(class_file, exports, place)
    found: dict[str, list[Submission]] = {}
    strangers = []
    for one in submissions:
        person = roster.person_of(one)
        if person is None:
            strangers.append(one.student)
            if one.student in class_file.people:
                one = replace(one, student=f"{one.student} (not on the roster)")
        else:  # the roster has told whose it is
            notes = tuple(note for note in one.notes if not note.startswith(WHOSE))
            one = replace(one, notes=notes)
        found.setdefault(person.key if person else one.student, []).append(one)
    return [_together(key, own) for key, own in found.items()], strangers


def with_times(
    submissions: Iterable[Submission], class_file: ClassFile, exports: Mapping[str, Export]
) -> tuple[list[Submission], list[str]]:
    """Return the submissions with the times that platforms' tables give, and notes on the tables.

    A platform's word goes before what stands in a file's name, in a zip or in git.
    """
    roster = Roster(class_file, exports, "")
    said: dict[tuple[str, str], HandedIn] = {}
    notes = []
    for stem, export in exports.items():
        unread = []
        for row in export.rows():
            person = roster.person_in(row)
            if person and row.time:
                at = time_of(row.time, class_file.zone)
                if at is None:
                    unread.append(row.time)
                else:
                    said[person.key, stem] = HandedIn(at, export.platform)
        if unread:
            notes.append(
                f"{class_file.assignments[stem].export.name}: {len(unread)} times cannot be read, "
                f'such as "{unread[0]}", and are unknown; export it in English.'
            )
    timed = []
    for one in submissions:
        times = {
            stem: said.get((one.student, stem))
            for stem in (*one.modules, *one.refused, *one.unread)
        }
        known = {stem: time for stem, time in times.items() if time}
        timed.append(replace(one, times={**one.times, **known}))
    return timed, notes


class Roster:
    """Ways to find a person."""

    def __init__(self, class_file: ClassFile, exports: Mapping[str, Export], place: str) -> None:
        people = class_file.people.values()
        self.by_canvas = {one.canvas: one for one in people if one.canvas}
        self.by_github = {one.github.casefold(): one for one in people if one.github}
        self.by_email = _unique(people, lambda one: one.email.casefold())
        self.by_id = _unique(people, lambda one: one.id)
        self.by_name = _unique(people, lambda one: _letters(one.name))
        self.by_folder = {safe_name(one.folder or one.key).casefold(): one for one in people}
        self.assignment = place.removesuffix("-submissions").casefold()
        self.by_moodle: dict[str, list[Row]] = {}
        self.by_repository: dict[str, Person] = {}
        for export in exports.values():
            for row in export.rows():
                if export.platform == MOODLE and row.number:
                    self.by_moodle.setdefault(row.number, []).append(row)
                if row.repository and (person := self.person_in(row)):
                    self.by_repository[row.repository.casefold()] = person

    def person_in(self, row: Row) -> Person | None:
        """Return who a row of a platform's table is about."""
        own = row.person
        return (
            self.by_canvas.get(own.canvas)
            or self.by_github.get(own.github.casefold())
            or self.by_email.get(own.email.casefold())
            or self.by_id.get(own.id)
            or self.by_name.get(_letters(own.name))
        )

    def person_of(self, one: Submission) -> Person | None:
        """Return whose a submission is."""
        if one.canvas_id:
            return self.by_canvas.get(one.canvas_id)
        name = one.student.casefold()
        if one.moodle_id:
            letters = _letters(name.removesuffix(f"~{one.moodle_id}"))
            for row in self.by_moodle.get(one.moodle_id, ()):
                # a number is of one assignment: another's may have the same
                if letters.endswith(_letters(row.person.name)):
                    return self.person_in(row)
            return self.by_name.get(letters)
        repository = name.removeprefix(f"{self.assignment}-") if self.assignment else ""
        return (
            self.by_folder.get(name)
            or self.by_repository.get(name)
            or self.by_github.get(name)
            or (self.by_github.get(repository) if repository != name else None)
        )


def _letters(name: str) -> str:
    """Return the letters and digits of a name: platforms drop other signs in names of files."""
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFC", name)).casefold()


def _unique(people: Iterable[Person], what) -> dict[str, Person]:
    """Return people by what only one of them has."""
    found: dict[str, list[Person]] = {}
    for one in people:
        found.setdefault(what(one), []).append(one)
    return {value: own[0] for value, own in found.items() if value and len(own) == 1}


def _together(key: str, own: Sequence[Submission]) -> Submission:
    """Return the submissions of one student as one."""
    if len(own) == 1:
        return replace(own[0], student=key)
    stems = {stem for one in own for stem in (*one.modules, *one.refused, *one.unread)}
    modules, refused, unread, times = {}, {}, {}, {}
    for stem in stems:
        holding = [one for one in own if stem in one.modules or stem in one.refused]
        if len(holding) > 1:
            names = " and ".join(one.student for one in holding)
            unread[stem] = f"{names} both hold {stem}.py of {key}: keep one."
        for one in own if len(holding) != 1 else holding:
            if stem in one.modules and stem not in unread:
                modules[stem] = one.modules[stem]
            for whole, part in ((refused, one.refused), (unread, one.unread), (times, one.times)):
                if stem in part:
                    whole.setdefault(stem, part[stem])
    return replace(
        own[0],
        student=key,
        modules=modules,
        notes=tuple(dict.fromkeys(note for one in own for note in one.notes)),
        refused=refused,
        unread=unread,
        times=times,
        questions={name: text for one in own for name, text in one.questions.items()},
    )
