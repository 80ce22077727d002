"""What is said of results and grades, safe to show whatever a student wrote."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from course.grading.class_file.grades import ExerciseGrade, LessonGrade
from course.grading.names import WHOSE, printable
from course.messages import plain
from course.messages.wording import counted
from course.testing.result import ExerciseResult, LessonResult


def plain_message(result: LessonResult, exercise: ExerciseResult) -> str:
    """Return all there is to say about an exercise, as lines of text; nothing if it passed."""
    return printable(plain.plain_message(replace(result, trouble=trouble_of(result)), exercise))


def trouble_of(result: LessonResult) -> str:
    """Return why nothing of a lesson could be tested, for its student.

    Where something is odd about what was handed in, the module may have been among it.
    """
    if result.handed_in or not notes_for_student(result):
        return result.trouble
    return f"No {result.lesson}.py that can be graded was handed in."


def notes_for_student(result: LessonResult) -> tuple[str, ...]:
    """Return the notes without those that are for the instructor alone."""
    return tuple(note for note in result.notes if not note.startswith(WHOSE))


def notes_about(grades: Iterable[LessonGrade]) -> list[str]:
    """Return what was noted about all that a student handed in, each sentence once."""
    notes = (note for one in grades if one.result for note in notes_for_student(one.result))
    return list(dict.fromkeys(notes))


def number(points: float | None) -> str:
    """Return points without needless zeros; nothing for what does not count.

    >>> number(3.0), number(2.5), number(None)
    ('3', '2.5', '')
    """
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


def decided(exercise: ExerciseGrade, points: bool = True) -> str:
    """Say what was decided by hand, with both points or in words alone."""
    counts = exercise.decision.points
    if not points:
        return "Excused." if counts is None else "Counts by the instructor's decision."
    judged = "nothing" if exercise.judged is None else number(exercise.judged)
    if counts is None:
        return f"Excused: judged {judged}, counts neither way."
    return f"Judged {judged}, counts {number(counts)} of {number(exercise.worth)}."


def times_in_words(grade: LessonGrade, points: bool = True) -> str:
    """Say when a lesson was due, when it came, whose word that is, and what it cost."""
    lateness = grade.lateness
    due, handed_in = lateness.due, lateness.handed_in
    said = [f"due {_moment(due)}"] if due else []
    if grade.result is None or not grade.result.handed_in:
        return ", ".join(said)
    if handed_in is None or handed_in.at is None:
        if lateness.is_late is not None:
            when = f"{'late' if lateness.is_late else 'in time'}, says {handed_in.says}"
        elif not due:
            return ""
        else:
            when = "at an unknown time"
        return ", ".join([*said, f"handed in {when}"])
    at = handed_in.at.astimezone(due.tzinfo) if due else handed_in.at
    said.append(f"handed in {_moment(at)}, says {handed_in.says}")
    if lateness.is_late is None and due:
        said.append("which is not taken for certain")
    elif lateness.is_late:
        said.append(f"{counted(lateness.days or 0, 'day')} late")
    if points and lateness.percent:
        said.append(f"which costs {number(lateness.percent)} %")
    return ", ".join(said)


def _moment(at: datetime) -> str:
    return f"{at.day} {at:%b %Y %H:%M}"
