"""Grades: judged results, with what the class's own file says of them.

A judged result never changes. A grade holds both: what was judged, and what counts.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from course.grading.class_file.settings import (
    ClassFile,
    Comment,
    Decision,
    Feedback,
    LateRule,
    Person,
)
from course.grading.submissions.times import OWN_WORD, HandedIn
from course.syllabus import Lesson, lessons
from course.testing.result import LessonResult

GRADED = "graded"
NOT_GRADED = "not graded"
"""The machine could not: it is nobody's zero."""
NOT_HANDED_IN = "not handed in"
NOT_DUE = "not due"
"""Nothing was handed in, and there is time left."""
EXCUSED = "excused"


@dataclass(frozen=True)
class Question:
    """A question of a student's about an exercise, handed in by `course submit --question`."""

    student: str
    lesson: str
    exercise: str
    text: str


@dataclass(frozen=True)
class ExerciseGrade:
    """What one exercise counts.

    Attributes:
        judged: the points that the judge gave; None if nothing was judged.
        points: the points that count before lateness; None if it counts neither way.
        decision: the instructor's word, if there is one.
    """

    name: str
    worth: int
    judged: int | None
    points: float | None
    decision: Decision | None = None


@dataclass(frozen=True)
class Lateness:
    """How late a lesson was handed in.

    Attributes:
        due: until when it was due for this student, if a date was set.
        handed_in: when it came, and who says so; None if that is not known.
        is_late: True, False, or None: nobody knows, or there is no date.
        days: days begun after the date, grace allowed for; None if not known.
        percent: the share of the points that this costs.
    """

    due: datetime | None = None
    handed_in: HandedIn | None = None
    is_late: bool | None = None
    days: int | None = None
    percent: float = 0


@dataclass(frozen=True)
class LessonGrade:
    """What one lesson counts.

    Attributes:
        status: GRADED, NOT_GRADED, NOT_HANDED_IN, NOT_DUE or EXCUSED.
        result: what was judged, if anything was.
        comments: the instructor's words to the student.
    """

    lesson: Lesson
    status: str
    result: LessonResult | None
    exercises: tuple[ExerciseGrade, ...]
    lateness: Lateness = Lateness()
    comments: tuple[Comment, ...] = ()

    @property
    def counted(self) -> list[ExerciseGrade]:
        """Return the exercises that count."""
        return [one for one in self.exercises if one.points is not None]

    @property
    def worth(self) -> int:
        """Return what could be earned; 0 if nothing of it counts."""
        return sum(one.worth for one in self.counted)

    @property
    def lost(self) -> float:
        """Return the points lost for being late; what was decided by hand loses nothing."""
        judged = sum(one.points for one in self.counted if one.decision is None)
        return _rounded(judged * self.lateness.percent / 100)

    @property
    def points(self) -> float:
        """Return the points that count, lateness taken off."""
        return _rounded(sum(one.points for one in self.counted) - self.lost)

    @property
    def judged(self) -> int | None:
        """Return the points that the judge gave; None if nothing was judged."""
        given = [one.judged for one in self.exercises if one.judged is not None]
        return sum(given) if given else None


@dataclass(frozen=True)
class StudentGrade:
    """All grades of a student.

    Attributes:
        student: the key on the roster, else the name under which the work came.
        person: who that is; None if there is no roster, or the student is not on it.
        lessons: in the order of the course.
    """

    student: str
    person: Person | None
    lessons: tuple[LessonGrade, ...]

    @property
    def questions(self) -> list[Question]:
        """Return what the student asks, in the order of the lessons."""
        return [
            Question(self.student, one.lesson.stem, exercise, text)
            for one in self.lessons
            if one.result
            for exercise, text in one.result.questions
        ]

    @property
    def shown(self) -> str:
        """Return the name for a page."""
        return (self.person and self.person.name) or self.student

    @property
    def results(self) -> list[LessonResult]:
        """Return what was judged, in the order of the course."""
        return [one.result for one in self.lessons if one.result is not None]

    @property
    def in_total(self) -> list[LessonGrade]:
        """Return the lessons that make the total: those beyond the course's only if alone."""
        counted = [one for one in self.lessons if one.worth]
        return [one for one in counted if not one.lesson.beyond] or counted

    @property
    def points(self) -> float:
        """Return the points of all lessons that count."""
        return _rounded(sum(one.points for one in self.in_total))

    @property
    def worth(self) -> int:
        """Return what these points are of."""
        return sum(one.worth for one in self.in_total)


@dataclass(frozen=True)
class Grades:
    """The grades of a class.

    Attributes:
        students: by the name that pages show; those not on a roster last.
        lessons: of which anything is graded or due, in the order of the course.
        class_file: what the class's own file says; None if there is none.
        now: when these were made.
    """

    students: tuple[StudentGrade, ...]
    lessons: tuple[Lesson, ...]
    now: datetime
    class_file: ClassFile | None = None

    @property
    def feedback(self) -> Feedback:
        """Return what students see."""
        return self.class_file.feedback if self.class_file else Feedback()

    @property
    def results(self) -> list[LessonResult]:
        """Return all that was judged."""
        return [result for student in self.students for result in student.results]


def _rounded(points: float) -> float:
    """Return points with two decimals, as an integer where they are whole."""
    rounded = round(points + 1e-9, 2)
    return int(rounded) if rounded == int(rounded) else rounded


def grades_of(
    results: Iterable[LessonResult], class_file: ClassFile | None = None, *, now: datetime
) -> Grades:
    """Return the grades of a class.

    Args:
        results: what was judged, at most one per student and lesson; a student on the roster is
            called by the key there.
        class_file: what the class's own file says, if there is one.
        now: whether something is due yet is seen by it.
    """
    judged = {(one.student, one.lesson): one for one in results}
    people = class_file.people if class_file else {}
    names = sorted({student for student, _ in judged} - people.keys(), key=_by_name)
    wanted = _wanted(judged.values(), class_file, now)
    students = []
    for student in (*people, *names):
        own = [
            _lesson_grade(lesson, student, judged.get((student, lesson.stem)), class_file, now)
            for lesson in wanted
        ]
        given = tuple(one for one in own if one is not None)
        students.append(StudentGrade(student, people.get(student), given))
    return Grades(tuple(students), wanted, now, class_file)


def _by_name(student: str) -> tuple[str, str]:
    return student.casefold(), student


def _wanted(
    judged: Iterable[LessonResult], class_file: ClassFile | None, now: datetime
) -> tuple[Lesson, ...]:
    """Return the lessons to grade: those judged, of those that the class's file names if it does.

    One that it names and nobody handed in is among them once it was due.
    """
    found = {one.lesson for one in judged}
    if class_file and class_file.assignments:
        over = {stem for stem, one in class_file.assignments.items() if one.due and one.due < now}
        found = (found & class_file.assignments.keys()) | over
    return tuple(lesson for lesson in lessons() if lesson.stem in found)


def _lesson_grade(
    lesson: Lesson,
    student: str,
    result: LessonResult | None,
    class_file: ClassFile | None,
    now: datetime,
) -> LessonGrade | None:
    """Return the grade of a lesson; None if there is neither a result nor a roster."""
    if class_file is None:
        if result is None:
            return None
        due, decisions, comments = None, {}, ()
    else:
        due = class_file.due(student, lesson.stem)
        own = [one for one in class_file.decisions if one.student == student]
        decisions = {one.exercise: one for one in own if one.lesson == lesson.stem}
        comments = tuple(
            one
            for one in class_file.comments
            if (one.student, one.lesson) == (student, lesson.stem)
        )
    status = _status(result, due, decisions, now)
    exercises = tuple(
        _exercise_grade(one.name, one.points, result, status, decisions) for one in lesson.exercises
    )
    lateness = Lateness(due)
    if result is not None and result.handed_in:
        lateness = lateness_of(due, _handed_in(result), class_file)
    return LessonGrade(lesson, status, result, exercises, lateness, comments)


def _status(
    result: LessonResult | None,
    due: datetime | None,
    decisions: Mapping[str, Decision],
    now: datetime,
) -> str:
    if "" in decisions:
        return EXCUSED
    if result is None or not result.handed_in:
        return NOT_DUE if due and now <= due else NOT_HANDED_IN
    return GRADED if result.key else NOT_GRADED


def _exercise_grade(
    name: str,
    worth: int,
    result: LessonResult | None,
    status: str,
    decisions: Mapping[str, Decision],
) -> ExerciseGrade:
    judged = None
    if result is not None and result.key:
        found = {one.name: one for one in result.exercises}
        # an earlier version of the course may have lacked it, or given it other points
        judged = found[name].points if name in found else None
        worth = found[name].worth if name in found else worth
    points: float | None = judged
    if status == NOT_HANDED_IN:
        points = 0
    elif status in (NOT_DUE, NOT_GRADED, EXCUSED):
        points = None
    decision = decisions.get(name) or decisions.get("")
    if decision is not None:
        points = decision.points
    return ExerciseGrade(name, worth, judged, points, decision)


def _handed_in(result: LessonResult) -> HandedIn | None:
    if not result.says:
        return None
    at = datetime.fromisoformat(result.handed_in_at) if result.handed_in_at else None
    return HandedIn(at, result.says, None if at else result.late)


def lateness_of(
    due: datetime | None, handed_in: HandedIn | None, class_file: ClassFile | None
) -> Lateness:
    """Return how late something is.

    A time of which nobody knows is never "on time", and nothing is taken off for one that the
    class's file does not trust, nor for a mark without a time.
    """
    rule = class_file.late if class_file else LateRule()
    if handed_in is None:
        return Lateness(due)
    if handed_in.at is None:
        return Lateness(due, handed_in, handed_in.marked_late)
    if due is None or (handed_in.says in OWN_WORD and handed_in.says not in rule.trust):
        return Lateness(due, handed_in)
    over = handed_in.at - due - timedelta(minutes=rule.grace_minutes)
    if over <= timedelta(0):
        return Lateness(due, handed_in, False, 0)
    days = math.ceil(over / timedelta(days=1))
    return Lateness(due, handed_in, True, days, min(rule.per_day * days, rule.at_most))
