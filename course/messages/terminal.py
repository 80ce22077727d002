"""Results on a terminal: what is wrong, in full but without repetition."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator
from typing import Protocol

import click

from course.messages.message import Message, message_about
from course.messages.wording import filled
from course.syllabus import Status
from course.system.console import typed
from course.testing.result import ExerciseResult, LessonResult

MAX_PRINTED = 20
"""Lines that are shown of what the student's code printed."""


class Terminal(Protocol):
    """The two kinds of lines that a report is made of, as pytest's terminal has them."""

    def write_line(self, line: str, **markup: bool) -> None:
        """Write a line, or several."""

    def write_sep(self, sep: str, title: str, **markup: bool) -> None:
        """Write a title in the middle of a line of signs."""


class Page:
    """A `Terminal` that collects its lines; `text` is what was written."""

    hasmarkup = True

    def __init__(self, width: int) -> None:
        self._width = width
        self._lines: list[str] = []

    @property
    def text(self) -> str:
        return "\n".join(self._lines)

    def write_line(self, line: str, red: bool = False, bold: bool = False) -> None:
        styled = click.style(line, fg="red" if red else None, bold=bold or None)
        self._lines.append(styled if red or bold else line)

    def write_sep(self, sep: str, title: str, red: bool = False) -> None:
        side = sep * max((self._width - len(title) - 2) // 2, 1)
        self.write_line(f"{side} {title} {side}".ljust(self._width, sep), red=red)


def write_results(
    terminal: Terminal, results: Iterable[LessonResult], n_wrong: int | None = None
) -> None:
    """Write one wrong test of each exercise in full, and what else there is to know.

    Args:
        n_wrong: of how many wrong exercises; all, if it is None.
    """
    results = list(results)
    for result, exercise in itertools.islice(_wrong(results), n_wrong):
        if result.trouble:
            _write_trouble(terminal, result.trouble)
        else:
            _write_message(terminal, exercise, message_about(result, exercise))
    for sentence in (*_remarks(results), *_about_printing(results)):
        terminal.write_line("")
        terminal.write_line(filled(sentence))


def _wrong(results: Iterable[LessonResult]) -> Iterator[tuple[LessonResult, ExerciseResult]]:
    """Yield the wrong exercises; of those with one and the same message, the first."""
    said = set()
    for result in results:
        for exercise in result.exercises:
            if exercise.status == Status.WRONG and exercise.first_wrong.message not in said:
                said.add(exercise.first_wrong.message)
                yield result, exercise


def _write_trouble(terminal: Terminal, trouble: str) -> None:
    """Write why a whole file could not be loaded: no single test can add to it."""
    sentence, _, details = trouble.partition("\n")
    terminal.write_line("")
    terminal.write_line(filled(sentence), red=True, bold=True)
    for line in details.splitlines():
        terminal.write_line(textwrap.fill(line, 80, subsequent_indent="    "))


def _write_message(terminal: Terminal, exercise: ExerciseResult, told: Message) -> None:
    terminal.write_line("")
    terminal.write_sep("-", f"{exercise.name}: {told.test}", red=True)
    if told.says:
        terminal.write_line(filled(told.says), red=True, bold=True)
        terminal.write_line(filled(told.look))
        terminal.write_line("")
        terminal.write_line(filled(told.sentence, indent="  "))
    else:
        terminal.write_line(filled(told.sentence), red=True, bold=True)
        if told.look:  # what most often raises this error
            terminal.write_line(filled(told.look))
    if told.details:
        terminal.write_line("")
        terminal.write_line(textwrap.indent(told.details, "  "))
    if told.why:
        terminal.write_line("")
        terminal.write_line(textwrap.indent(told.why, "  "))
    if told.printed:
        lines = told.printed.splitlines()
        if len(lines) > MAX_PRINTED:
            lines[MAX_PRINTED:] = [f"... and {len(lines) - MAX_PRINTED} more lines"]
        terminal.write_line("\n  your code printed")
        terminal.write_line(textwrap.indent("\n".join(lines), "    "))
    terminal.write_line("")
    terminal.write_line(f"  look at {told.commands['look at']}")
    terminal.write_line(f"  hint    {typed(told.commands['hint'])}")  # how to check is known by now
    if told.not_run:
        terminal.write_line(filled(f"not run: {told.not_run}", indent="  "))
    if told.also_wrong:
        others = f"other tests that fail: {', '.join(told.also_wrong)}"
        terminal.write_line(filled(others, indent="  "))


def _remarks(results: Iterable[LessonResult]) -> list[str]:
    return sorted({one.remark for result in results for one in result.exercises} - {""})


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
