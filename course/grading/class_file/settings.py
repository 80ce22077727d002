"""Settings of a class, as its file `class.toml` has them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

NAME = "class.toml"
"""What the file is called; it lies beside the submissions."""


@dataclass(frozen=True)
class Person:
    """A student on the roster.

    Attributes:
        key: what tables and pages call the student; no other has it.
        name, id, email, login, section: as the roster has them; any may be empty.
        canvas: the student's number there, which stands in the names of files from there.
        github: the user name there, with which a repository's name ends.
        folder: the name of the student's folder or zip, if it is not the key.
    """

    key: str
    name: str = ""
    id: str = ""
    email: str = ""
    login: str = ""
    section: str = ""
    canvas: str = ""
    github: str = ""
    folder: str = ""


@dataclass(frozen=True)
class Assignment:
    """A lesson that the class has to hand in.

    Attributes:
        lesson: its stem.
        due: until when; None if no date was set.
        column: the title of its column in Canvas's gradebook, if it is not ours.
        export: the platform's table of this assignment, from which times come: Moodle's grading
            worksheet or GitHub Classroom's grades.
    """

    lesson: str
    due: datetime | None = None
    column: str = ""
    export: Path | None = None


@dataclass(frozen=True)
class LateRule:
    """The points that late work loses.

    Attributes:
        per_day: percent of what was earned, for each day begun after the date; 0 takes nothing.
        at_most: percent that are lost at most.
        grace_minutes: so late is not late yet.
        trust: times that students' own computers wrote and that count all the same: of "git" and
            "zip". Others are shown, and nothing is taken for them.
    """

    per_day: float = 0
    at_most: float = 100
    grace_minutes: float = 0
    trust: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Decision:
    """A word of the instructor's that goes before the judge's.

    Attributes:
        student, lesson: whose, and of which lesson.
        exercise: its name; empty if the whole lesson is excused.
        points: what it earns instead; None if it is excused, and counts neither way.
        reason: for the instructor's own pages.
        comment: for the student's page.
    """

    student: str
    lesson: str
    exercise: str
    points: float | None
    reason: str
    comment: str = ""


@dataclass(frozen=True)
class Comment:
    """A word to a student about a lesson."""

    student: str
    lesson: str
    text: str


@dataclass(frozen=True)
class Feedback:
    """A choice of what students see on their pages.

    Attributes:
        points: whether they see points; without, they see what passes and what does not.
        messages: whether they see what went wrong.
        hints: how many of an exercise's three hints they see where it is not right yet.
        reference_after: from when on they see the reference's solution; None is never.
    """

    points: bool = True
    messages: bool = True
    hints: int = 0
    reference_after: datetime | None = None


@dataclass(frozen=True)
class ClassFile:
    """All that a class's file says.

    Attributes:
        path: where it lies.
        people: the roster, by key, in the order of the file.
        assignments: what is due, by the stem of the lesson, in the order of the course.
        extensions: another date for one student and lesson.
        zone: where times without a zone are meant; None is this computer's.
    """

    path: Path
    people: Mapping[str, Person] = field(default_factory=dict)
    assignments: Mapping[str, Assignment] = field(default_factory=dict)
    extensions: Mapping[tuple[str, str], datetime] = field(default_factory=dict)
    late: LateRule = LateRule()
    decisions: tuple[Decision, ...] = ()
    comments: tuple[Comment, ...] = ()
    feedback: Feedback = Feedback()
    zone: tzinfo | None = None

    def due(self, student: str, lesson: str) -> datetime | None:
        """Return until when a lesson is due for a student, if a date was set."""
        assignment = self.assignments.get(lesson)
        return self.extensions.get((student, lesson), assignment.due if assignment else None)
