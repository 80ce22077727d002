"""What a student is told about an exercise: alike in every report, and as in the terminal."""

import ast
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from course.grading.names import printable
from course.grading.results import (
    NOT_RUN,
    PASSED,
    TO_DO,
    WRONG,
    ExerciseResult,
    LessonResult,
)
from course.messages.wording import counted, filled
from course.syllabus import Exercise, find_lesson, name_for_check


@dataclass(frozen=True)
class Message:
    """What there is to say about an exercise that is wrong, the most telling first.

    Attributes:
        advice: the known mistake that was recognized, and where to look; or nothing.
        test: the first test that is wrong, in words.
        sentence: what it found.
        details: the call, what it gave, what it should have given: lines to be kept as they are.
        why: what the test says for itself.
        also_wrong: the other wrong tests, in words.
        n_not_run: how many tests were left out because others took too long.
    """

    advice: str
    test: str
    sentence: str
    details: str
    why: str
    also_wrong: tuple[str, ...]
    n_not_run: int


def message_about(lesson: str, exercise: ExerciseResult) -> Message:
    """The message about a wrong exercise of a lesson, given by its stem."""
    first = exercise.first_wrong
    sentence, _, details = first.message.partition("\n")
    wrong = [in_words(test.name) for test in exercise.tests if test.outcome == WRONG]
    return Message(
        advice=exercise.advice,
        test=in_words(first.name),
        sentence=sentence,
        details=textwrap.dedent(details).strip("\n"),
        why=_reasons(lesson).get((exercise.name, first.name.partition("[")[0]), ""),
        also_wrong=tuple(dict.fromkeys(wrong))[1:],
        n_not_run=sum(test.outcome == NOT_RUN for test in exercise.tests),
    )


def plain_message(result: LessonResult, exercise: ExerciseResult) -> str:
    """All there is to say about an exercise, as lines of text; nothing if it passed."""
    if exercise.outcome == PASSED:
        return ""
    if exercise.outcome == NOT_RUN:
        return printable(trouble_of(result)) or f"{exercise.name} was not tested."
    if exercise.outcome == TO_DO:
        return f"{exercise.name} is still to do.\n\n{_commands(result.lesson, exercise.name)}"
    told = message_about(result.lesson, exercise)
    parts = [
        filled(told.advice),
        filled(f"{told.test}: {told.sentence}"),
        textwrap.indent(told.details, "  "),
        textwrap.indent(told.why, "  "),
        _commands(result.lesson, exercise.name),
        filled(f"other tests that fail: {', '.join(told.also_wrong)}" if told.also_wrong else ""),
        f"not run: {tests_left_out(told.n_not_run)}" if told.n_not_run else "",
    ]
    return printable("\n\n".join(part for part in parts if part))


def trouble_of(result: LessonResult) -> str:
    """Why nothing of a lesson could be tested, for its student.

    Where something is odd about what was handed in, the module may have been among it.
    """
    if result.handed_in or not result.notes_for_student:
        return result.trouble
    return f"No {result.lesson}.py that can be graded was handed in."


def notes_about(results: Iterable[LessonResult]) -> list[str]:
    """What was noted about all that a student handed in, each sentence once."""
    notes = (note for one in results for note in (*one.notes_for_student, *late_note(one)))
    return list(dict.fromkeys(notes))


def late_note(result: LessonResult) -> list[str]:
    """That a lesson was late, if it was, as a note."""
    return [f"{result.lesson}.py was handed in late, says Canvas"] if result.late else []


def commands(lesson: str, exercise: str) -> dict[str, str]:
    """What to do about an exercise: where it stands, and the commands that help."""
    return {
        "look at": f"exercises/{lesson}.py",
        "hint": f"course hint {exercise}",
        "check": f"course check {name_for_check(in_syllabus(lesson, exercise))}",
    }


def in_syllabus(lesson: str, exercise: str) -> Exercise:
    """An exercise, with its title, by its names."""
    return next(one for one in find_lesson(lesson).exercises if one.name == exercise)


def tests_left_out(number: int) -> str:
    """How many tests were not run, and why."""
    return f"{counted(number, 'test')}, because others took too long"


@cache
def in_words(test: str) -> str:
    """The name of a test as words; a name has no room for the signs that a number needs.

    >>> in_words("test_error_is_below_1e_4[7-3]"), in_words("test_std_is_002")
    ('error is below 1e-4', 'std is 0.02')
    """
    words = test.partition("[")[0].removeprefix("test_").replace("_", " ")
    words = re.sub(r"\b0(\d+)\b", r"0.\1", words)
    return re.sub(r"\b1e (\d)", r"1e-\1", words)


def _commands(lesson: str, exercise: str) -> str:
    lines = [f"{what:<7} {how}" for what, how in commands(lesson, exercise).items()]
    return "\n".join(lines)


@cache
def _reasons(lesson: str) -> dict[tuple[str, str], str]:
    """What each graded test says for itself, by its exercise and its name."""
    reasons = {}
    for node in ast.parse(find_lesson(lesson).tests.read_text(encoding="utf-8")).body:
        for mark in getattr(node, "decorator_list", []):
            match mark:
                case ast.Call(func=ast.Name(id="exercise"), args=[ast.Constant(value=exercise)]):
                    for test in ast.walk(node):
                        if isinstance(test, ast.FunctionDef):
                            reasons[exercise, test.name] = ast.get_docstring(test) or ""
    return reasons
