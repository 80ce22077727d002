"""A result as plain text: for tables, for platforms, and for tools that read text alone."""

import textwrap
from functools import partial

from course.core.syllabus import Status
from course.testing.messages import wording
from course.testing.messages.message import commands_for, message_about
from course.testing.result import ExerciseResult, LessonResult

filled = partial(wording.filled, width=80)


def plain_message(result: LessonResult, exercise: ExerciseResult) -> str:
    """Return all there is to say about an exercise; nothing if it passed."""
    if exercise.status == Status.PASSED:
        return ""
    if exercise.status == Status.NOT_RUN:
        return result.trouble or f"{exercise.name} was not tested."
    if exercise.status == Status.TO_DO:
        commands = commands_for(result.lesson, exercise)
        return f"{exercise.name} is still to do.\n\n{_lines(commands)}"
    told = message_about(result, exercise)
    parts = [
        filled(told.advice),
        filled(f"The test “{told.test}” fails: {told.sentence}"),
        textwrap.indent(told.details, "  "),
        wording.filled_paragraphs(told.why, indent="  ", width=80),
        _lines(told.commands),
        filled(f"other tests that fail: {told.also_wrong}" if told.also_wrong else ""),
        f"not run: {told.not_run}" if told.not_run else "",
    ]
    return "\n\n".join(part for part in parts if part)


def _lines(commands: dict[str, str]) -> str:
    return "\n".join(f"{what:<7} {how}" for what, how in commands.items())
