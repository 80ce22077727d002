"""Messages to students about what they handed in, safe to show whatever they wrote."""

from collections.abc import Iterable
from dataclasses import replace

from course.grading.names import WHOSE, printable
from course.messages import plain
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


def notes_about(results: Iterable[LessonResult]) -> list[str]:
    """Return what was noted about all that a student handed in, each sentence once."""
    notes = (note for one in results for note in (*notes_for_student(one), *late_note(one)))
    return list(dict.fromkeys(notes))


def late_note(result: LessonResult) -> list[str]:
    """Return that a lesson was late, if it was, as a note."""
    return [f"{result.lesson}.py was handed in late, says Canvas"] if result.late else []
