"""The contract of an exercise, and how the reference does it."""

import re
import textwrap

from course.core import answers
from course.core.console import typed
from course.core.syllabus import Exercise, name_for_check
from course.core.terminal import columns
from course.publishing import showing
from course.testing.messages.wording import counted


def what_it_asks(exercise: Exercise, status: str) -> str:
    """Return the heading of an exercise, its status, and its signature with the docstring."""
    return (
        f"{exercise.name}, {exercise.title}\n"
        f"  {status}, worth {counted(exercise.points, 'point')}\n\n"
        f"{textwrap.indent(showing.contract(exercise), '    ')}"
    )


def how_it_is_done(exercise: Exercise) -> str:
    """Return the reference's code, and the same in another style, if the catalogue has one."""
    if answers.shown() == "never":
        return "In this class, your instructor keeps the solutions; ask there."
    said = (
        f"{exercise.name}, {exercise.title}\n\n"
        f"The reference:\n\n{_indented(showing.solution(exercise))}"
    )
    if other := showing.another_style(exercise):
        name, code = other
        said += f"\n\nIn another style, {name}:\n\n{_indented(code)}"
    return said


def _indented(code: str) -> str:
    """Return code indented by four, with each comment that is too long for its line above it.

    What is still too long goes on in the next line, further in, where Python allows that.
    """
    lines = []
    for line in textwrap.indent(code, "    ").splitlines():
        comment = re.fullmatch(r"( *)(\S.*)  (# .*)", line)
        if comment and len(line) > columns():
            lines.append(f"{comment[1]}{comment[3]}")
            line = f"{comment[1]}{comment[2]}"
        lines.append(line)
    return "\n".join(map(_broken, lines))


def _broken(line: str) -> str:
    """Return a line of code that is too long as several: a comment, or what brackets hold."""
    indent = line[: len(line) - len(line.lstrip())]
    if line.lstrip().startswith("#"):
        return textwrap.fill(line, columns(), subsequent_indent=f"{indent}# ")
    kept, depth = "", 0
    for part in re.split(r'("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[(\[{)\]}]|, )', line):
        depth += part in ("(", "[", "{")
        depth -= part in (")", "]", "}")
        kept += part if part == ", " and depth else part.replace(" ", _NO_BREAK)
    further = f"{indent}        "
    lines = textwrap.wrap(kept, columns(), subsequent_indent=further, **_ONLY_AT_SPACES)
    return "\n".join(lines).replace(_NO_BREAK, " ")


_NO_BREAK = "\0"
_ONLY_AT_SPACES = {"break_long_words": False, "break_on_hyphens": False}


def not_yet(exercise: Exercise) -> str:
    """Return why its solution is not shown, and what to do instead."""
    name = name_for_check(exercise)
    otherwise = "\nYour instructor's copy shows no solution before that."
    if answers.shown() == "always":
        otherwise = f"\n  or     {typed(f'course show {name} --i-give-up')}"
    return (
        f"{exercise.name} hasn't passed yet, and reading the solution would spoil the puzzle.\n"
        f"  hint   {typed(f'course hint {exercise.name}')}\n"
        f"  check  {typed(f'course check {name}')}"
        f"{otherwise}"
    )
