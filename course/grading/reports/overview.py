"""The page about the class, for the instructor."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from course.grading.reports.classroom import Students, is_graded, points_of
from course.grading.reports.message import late_note
from course.grading.reports.page import render
from course.grading.similarity.answers import Known
from course.grading.similarity.copies import Resemblance
from course.syllabus import Exercise, Lesson, Status, lessons
from course.testing.result import LessonResult

MAX_FREQUENT = 5
"""How many mistakes are worth talking about in class."""
MAX_SENTENCES = 500
"""Of troubles, and of notes; further ones are counted."""
MAX_SENTENCE = 300
"""Its characters."""
MAX_UNEXPLAINED = 20
"""Of the messages about an exercise that no known mistake explains; further ones are counted."""
MAX_NAMES = 50
"""Of students of whom one sentence is said; further ones are counted."""
MAX_FRAGMENTS = 8
"""Of one pair that looks alike; further ones are counted."""


def overview_page(
    students: Students,
    resemblances: Mapping[str, Sequence[Resemblance]],
    known: Sequence[Known] = (),
    concealed: Sequence[tuple[str, str]] = (),
    about_class: Sequence[str] = (),
) -> str:
    """Return the page, as HTML: one file below 2 MB, even for a large class.

    Args:
        students: the results of each.
        resemblances: for the stem of a lesson, the pairs of students to look at.
        known: the modules that hold published answers.
        concealed: sentences on code that may be concealed, each with its student.
        about_class: notes on what no student in particular handed in.
    """
    results = [result for own in students.values() for result in own]
    facts = [
        _lesson_facts(lesson, own)
        for lesson in lessons()
        if (own := [result for result in results if result.lesson == lesson.stem])
    ]
    totalled = [one for one in facts if not one.lesson.beyond] or facts
    mistakes = [
        one for lesson in facts for exercise in lesson.exercises for one in exercise.mistakes
    ]
    mistakes.sort(key=_n_students, reverse=True)
    verbatim = [one for one in known if not one.answers]
    rewritten = [one for one in known if one.answers]
    return render(
        "overview.html",
        rows=_rows(students),
        mean=sum(one.mean for one in totalled),
        worth=sum(one.lesson.points for one in totalled),
        frequent=[one for one in mistakes if len(one.students) > 1][:MAX_FREQUENT],
        lessons=facts,
        troubles=_by_sentence((one.trouble, one.student) for one in results if one.trouble),
        notes=_by_sentence(
            [
                *concealed,
                *((note, one.student) for one in results for note in (*one.notes, *late_note(one))),
            ]
        ),
        about_class=about_class,
        resemblances=[
            (lesson, pairs) for lesson in lessons() if (pairs := resemblances.get(lesson.stem))
        ],
        n_known=len({one.student for one in known}),
        verbatim=_by_sentence((f"`{one.lesson}.py`", one.student) for one in verbatim),
        by_number=_by_number(rewritten),
        by_answer=_by_sentence(
            (answer, one.student) for one in rewritten for answer in one.answers
        ),
        most_sentences=MAX_SENTENCES,
        most_unexplained=MAX_UNEXPLAINED,
        most_names=MAX_NAMES,
        most_fragments=MAX_FRAGMENTS,
    )


# --- sentences ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Said:
    """A sentence, and of whom it is said."""

    sentence: str
    students: list[str]


def _by_sentence(said: Iterable[tuple[str, str]]) -> list[_Said]:
    """Return sentences with their students, the most frequent first; nobody counts twice."""
    students: dict[str, dict[str, None]] = defaultdict(dict)
    for sentence, student in said:
        students[_shortened(sentence)][student] = None
    grouped = [_Said(sentence, list(own)) for sentence, own in students.items()]
    return sorted(grouped, key=_n_students, reverse=True)


def _by_number(known: Sequence[Known]) -> list[_Said]:
    """Return how many published answers students have, the most first."""
    n_answers = Counter()
    for one in known:
        n_answers[one.student] += len(one.answers)
    said = _by_sentence(
        (f"{number} {'answer' if number == 1 else 'answers'}", student)
        for student, number in n_answers.items()
    )
    return sorted(said, key=lambda one: -n_answers[one.students[0]])


def _n_students(said: _Said) -> int:
    return len(said.students)


def _shortened(text: str) -> str:
    first_line = text.strip().partition("\n")[0]
    return first_line if len(first_line) <= MAX_SENTENCE else f"{first_line[: MAX_SENTENCE - 3]}..."


# --- exercises ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ExerciseFacts:
    """The way an exercise ended in the class.

    Attributes:
        counts: the number of students, by outcome.
        mistakes: the known mistakes, the most frequent first, each with whose it is.
        unexplained: what those were told whose mistake is none of these.
    """

    exercise: Exercise
    counts: dict[str, int]
    mistakes: list[_Said]
    unexplained: list[_Said]


@dataclass(frozen=True)
class _LessonFacts:
    """The way a lesson ended in the class.

    Attributes:
        n_results, n_tested: how many students have a result, and how many modules were tested.
        mean: the points that were graded, on average.
    """

    lesson: Lesson
    n_results: int
    n_tested: int
    mean: float
    exercises: list[_ExerciseFacts]


def _lesson_facts(lesson: Lesson, results: Sequence[LessonResult]) -> _LessonFacts:
    graded = [result.points for result in results if is_graded(result)]
    return _LessonFacts(
        lesson=lesson,
        n_results=len(results),
        n_tested=sum(not result.trouble for result in results),
        mean=fmean(graded or [0]),
        exercises=[_exercise_facts(exercise, results) for exercise in lesson.exercises],
    )


def _exercise_facts(exercise: Exercise, results: Sequence[LessonResult]) -> _ExerciseFacts:
    found = [
        (result.student, one)
        for result in results
        for one in result.exercises
        if one.name == exercise.name
    ]
    counts = Counter(one.status for _, one in found)
    wrong = [(student, one) for student, one in found if one.status == Status.WRONG]
    return _ExerciseFacts(
        exercise=exercise,
        counts={
            outcome: counts[outcome]
            for outcome in (Status.PASSED, Status.WRONG, Status.TO_DO, Status.NOT_RUN)
        },
        mistakes=_by_sentence((one.advice, student) for student, one in wrong if one.advice),
        unexplained=_by_sentence(
            (one.first_wrong.message, student) for student, one in wrong if not one.advice
        ),
    )


# --- students -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """A student: the points, and what help may be needed with."""

    student: str
    points: int
    worth: int
    wrong: list[str]
    n_to_do: int
    not_tested: list[str]


def _rows(students: Students) -> list[_Row]:
    """Return all students, those with the fewest points first."""
    rows = [_row(student, results) for student, results in students.items()]
    return sorted(rows, key=lambda row: row.points)


def _row(student: str, results: Sequence[LessonResult]) -> _Row:
    exercises = [exercise for result in results for exercise in result.exercises]
    points, worth = points_of(results)
    return _Row(
        student=student,
        points=points,
        worth=worth,
        wrong=[exercise.name for exercise in exercises if exercise.status == Status.WRONG],
        n_to_do=sum(exercise.status == Status.TO_DO for exercise in exercises),
        not_tested=[result.lesson for result in results if result.trouble],
    )
