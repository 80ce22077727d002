"""Results on a terminal: what is wrong, in full but without repetition."""

import textwrap
from collections.abc import Iterable, Iterator

import click

from course.core.console import typed
from course.core.syllabus import Status
from course.core.terminal import columns
from course.testing.messages.message import Message, message_about
from course.testing.messages.wording import STATUS_WORDS, filled, filled_paragraphs
from course.testing.result import ExerciseResult, LessonResult

MAX_PRINTED = 20
"""Lines that are shown of what the student's code printed."""


def report(results: Iterable[LessonResult], in_loop: bool = False) -> str:
    """Return one wrong test of each exercise in full, and what else there is to know.

    Args:
        in_loop: whether a key shows hints, so that their command need not be named.
    """
    results, parts = list(results), []
    for result, exercise in _wrong(results):
        if result.trouble:
            parts.append(_trouble(result))
        else:
            parts.append(_message(exercise, message_about(result, exercise), in_loop))
    parts += map(filled, (*_remarks(results), *_about_printing(results)))
    return "\n\n".join(parts)


def _wrong(results: Iterable[LessonResult]) -> Iterator[tuple[LessonResult, ExerciseResult]]:
    """Yield the wrong exercises, of one message the first."""
    wrong = [(result, one) for result in results for one in result.exercises if one.first_wrong]
    said = set()
    for result, exercise in wrong:
        if exercise.first_wrong.message not in said:
            said.add(exercise.first_wrong.message)
            yield result, exercise


def _trouble(result: LessonResult) -> str:
    """Return why a whole file could not be loaded: no single test can add to it."""
    sentence, *details = result.trouble.split("\n")
    where = details.pop().strip() if details else ""
    place, _, code = where.partition(": ")
    details = [textwrap.fill(line, columns(), subsequent_indent="    ") for line in details]
    parts = [
        "\n".join([_rule(result.lesson, Status.WRONG), _first(sentence, Status.WRONG), *details]),
        f"    {code}" if code else "",
        f"  look at {place}" if place else "",
    ]
    return "\n\n".join(filter(None, parts))


def _rule(about: str, status: Status) -> str:
    return click.style(f" {about} ".center(columns(), "-"), fg=STATUS_WORDS[status].color)


def _message(exercise: ExerciseResult, told: Message, in_loop: bool) -> str:
    title = _rule(f"{exercise.name}: {told.test}", exercise.status)
    # where no mistake is named, `look` says what raises this error
    first = [title, _first(told.says or told.sentence, exercise.status), filled(told.look)]
    commands = [
        f"  look at {told.commands['look at']}",
        "" if in_loop else f"  hint    {typed(told.commands['hint'])}",
        filled(f"not run: {told.not_run}", "  ") if told.not_run else "",
        filled(f"other tests that fail: {told.also_wrong}", "  ") if told.also_wrong else "",
    ]
    parts = [
        "\n".join(filter(None, first)),
        filled(told.found, indent="  ") if told.says else "",
        textwrap.indent(told.details, "  "),
        filled_paragraphs(told.why, indent="  "),
        _printed(told.printed),
        "\n".join(filter(None, commands)),
    ]
    return "\n\n".join(filter(None, parts))


def _first(sentence: str, status: Status) -> str:
    return click.style(filled(sentence), fg=STATUS_WORDS[status].color, bold=True)


def _printed(text: str) -> str:
    lines = text.splitlines()
    if len(lines) > MAX_PRINTED:
        lines[MAX_PRINTED:] = [f"... and {len(lines) - MAX_PRINTED} more lines"]
    return "\n    ".join(["  your code printed", *lines]) if lines else ""


def _remarks(results: Iterable[LessonResult]) -> list[str]:
    of_exercises = {one.remark for result in results for one in result.exercises}
    return sorted((of_exercises | {result.remark for result in results}) - {""})


def _about_printing(results: Iterable[LessonResult]) -> list[str]:
    """Return a sentence for each file that prints when it is loaded, or in a right exercise."""
    printed: dict[tuple[str, str], str] = {}
    for result in results:
        for exercise in result.exercises:  # a wrong one shows what it printed with its test
            file = exercise.where.partition(":")[0]
            printed[file, " when it is loaded"] = result.printed
            if exercise.status == Status.PASSED:
                text = "".join(test.printed for test in exercise.tests)
                if text:
                    printed.setdefault((file, " while it is tested"), text)
    return [
        f'{file} prints "{lines[0][:60]}"{when}; that costs no points, but take it out '
        "when you are done"
        for (file, when), text in printed.items()
        if (lines := text.strip().splitlines())
    ]
