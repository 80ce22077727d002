"""The contract of an exercise, and how the reference does it."""

import re
import textwrap

from course.building import reference
from course.messages.wording import counted
from course.syllabus import Exercise, name_for_check
from course.system.console import typed
from course.system.terminal import columns


def what_it_asks(exercise: Exercise, status: str) -> str:
    """Return the heading of an exercise, its status, and its signature with the docstring."""
    return (
        f"{exercise.name}, {exercise.title}\n"
        f"  {status}, worth {counted(exercise.points, 'point')}\n\n"
        f"{textwrap.indent(reference.contract(exercise), '    ')}"
    )


def how_it_is_done(exercise: Exercise) -> str:
    """Return the reference's code, and the same in another style, if the catalogue has one."""
    said = (
        f"{exercise.name}, {exercise.title}\n\n"
        f"The reference:\n\n{_indented(reference.solution(exercise))}"
    )
    if other := reference.another_style(exercise):
        name, code = other
        said += f"\n\nIn another style, {name}:\n\n{_indented(code)}"
    return said


def _indented(code: str) -> str:
    """Return code indented by four, with each comment that is too long for its line above it.

    What is still too long goes on in the next line, further in than what follows.
    """
    indented = textwrap.indent(code, "    ")
    apart = re.sub(
        r"^( *)(\S.*)  (# .*)$",
        lambda line: (
            line[0] if len(line[0]) <= columns() else f"{line[1]}{line[3]}\n{line[1]}{line[2]}"
        ),
        indented,
        flags=re.MULTILINE,
    )
    return "\n".join(map(_broken, apart.splitlines()))


def _broken(line: str) -> str:
    """Return a line of code that is too long as several."""
    indent = line[: len(line) - len(line.lstrip())]
    is_comment = line.lstrip().startswith("#")
    return textwrap.fill(
        line,
        columns(),
        subsequent_indent=f"{indent}# " if is_comment else f"{indent}        ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def not_yet(exercise: Exercise) -> str:
    """Return why its solution is not shown, and what to do instead."""
    name = name_for_check(exercise)
    return (
        f"{exercise.name} hasn't passed yet, and reading the solution would spoil the puzzle.\n"
        f"  hint   {typed(f'course hint {exercise.name}')}\n"
        f"  check  {typed(f'course check {name}')}\n"
        f"  or     {typed(f'course show {name} --i-give-up')}"
    )
