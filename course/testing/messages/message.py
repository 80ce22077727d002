"""The message to a student about an exercise: made once of a result, shown in three ways.

`course.student.report` writes it to a console, `plain_message` as text for tables, platforms and
tools; the pages for a class have it as HTML.
"""

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from course.core.syllabus import Status, find_lesson, name_for_check
from course.testing.messages.wording import counted, filled, filled_paragraphs
from course.testing.result import ExerciseResult, LessonResult


@dataclass(frozen=True)
class Message:
    """All there is to say about an exercise that is wrong, the most telling first.

    Attributes:
        says, look: the known mistake that was recognized, and where to look; or nothing.
        test: the test that shows it, in words.
        sentence: what it found.
        details: the call, what it gave, what it should have given: lines to be kept as they are.
        why: what the test says for itself.
        printed: what the student's code printed meanwhile.
        commands: the place of the exercise, and commands that help, by purpose.
        also_wrong: the other wrong tests, in words; or nothing.
        not_run: which tests were left out, and why; or nothing.
    """

    says: str
    look: str
    test: str
    sentence: str
    details: str
    why: str
    printed: str
    commands: dict[str, str]
    also_wrong: str
    not_run: str

    @property
    def found(self) -> str:
        """Return the sentence; nothing where a mistake is named and the details show the values."""
        is_shown = self.details and re.fullmatch(_DIFFERENT, self.sentence)
        return "" if self.says and is_shown else self.sentence

    @property
    def advice(self) -> str:
        """Return what there is to say about the mistake that was recognized."""
        return f"{self.says} {self.look}".strip()


_DIFFERENT = r"the values? (is|are) not the ones? (it|they) should be"


def message_about(result: LessonResult, exercise: ExerciseResult) -> Message:
    """Return the message about an exercise that is wrong."""
    first = exercise.first_wrong
    sentence, _, details = first.message.partition("\n")
    wrong = [in_words(test.name) for test in exercise.tests if test.status == Status.WRONG]
    also_wrong = dict.fromkeys(one for one in wrong if one != in_words(first.name))
    n_not_run = sum(test.status == Status.NOT_RUN for test in exercise.tests)
    return Message(
        says=exercise.says,
        look=f"{exercise.look} {_FIRST}" if exercise.another else exercise.look,
        test=in_words(first.name),
        sentence=sentence,
        details=textwrap.dedent(details).strip("\n"),
        why=reasons_of(result.lesson).get((exercise.name, first.name.partition("[")[0]), ""),
        printed=first.printed,
        commands=commands_for(result.lesson, exercise),
        also_wrong=_three_of(list(also_wrong)),
        not_run=f"{counted(n_not_run, 'test')}, because others took too long" if n_not_run else "",
    )


def plain_message(result: LessonResult, exercise: ExerciseResult) -> str:
    """Return all there is to say about an exercise, as text alone; nothing if it passed."""
    if exercise.status == Status.PASSED:
        return ""
    if exercise.status == Status.NOT_RUN:
        return result.trouble or f"{exercise.name} was not tested."
    if exercise.status == Status.TO_DO:
        commands = commands_for(result.lesson, exercise)
        return f"{exercise.name} is still to do.\n\n{_lines(commands)}"
    told = message_about(result, exercise)
    parts = [
        filled(told.advice, width=80),
        filled(f"The test “{told.test}” fails: {told.sentence}", width=80),
        textwrap.indent(told.details, "  "),
        filled_paragraphs(told.why, indent="  ", width=80),
        _lines(told.commands),
        filled(f"other tests that fail: {told.also_wrong}" if told.also_wrong else "", width=80),
        f"not run: {told.not_run}" if told.not_run else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _lines(commands: dict[str, str]) -> str:
    return "\n".join(f"{what:<7} {how}" for what, how in commands.items())


def _three_of(tests: Sequence[str]) -> str:
    """Return three tests at most and how many more there are: one mistake fails many.

    >>> _three_of(["empty ids", "a single id", "large ids", "no ids", "uint8 ids"])
    'empty ids, a single id, large ids, and 2 more'
    """
    n_more = len(tests) - 3
    return ", ".join([*tests[:3], *([f"and {n_more} more"] if n_more > 0 else [])])


_FIRST = "Fix this first: there may be another mistake as well."


def commands_for(lesson: str, exercise: ExerciseResult) -> dict[str, str]:
    """Return the place of an exercise, and commands that help, by purpose."""
    return {
        "look at": exercise.where or f"exercises/{lesson}.py",
        "hint": f"course hint {exercise.name}",
        "check": f"course check {name_for_check(find_lesson(lesson).exercise(exercise.name))}",
    }


@cache
def in_words(test: str) -> str:
    """Return the name of a test as words; a name has no room for the signs of a number.

    >>> in_words("test_error_is_below_1e_4[7-3]"), in_words("test_std_is_002")
    ('error is below 1e-4', 'std is 0.02')
    """
    words = test.partition("[")[0].removeprefix("test_").replace("_", " ")
    words = re.sub(r"\b0(\d+)\b", r"0.\1", words)
    return re.sub(r"\b1e (\d)", r"1e-\1", words)


@cache
def reasons_of(lesson: str) -> dict[tuple[str, str], str]:
    """Return what each graded test says for itself, by its exercise and its name."""
    reasons = {}
    for node in ast.parse(find_lesson(lesson).tests.read_text(encoding="utf-8")).body:
        for mark in getattr(node, "decorator_list", []):
            match mark:
                case ast.Call(func=ast.Name(id="exercise"), args=[ast.Constant(value=exercise)]):
                    for test in ast.walk(node):
                        if isinstance(test, ast.FunctionDef):
                            reasons[exercise, test.name] = ast.get_docstring(test) or ""
    return reasons
