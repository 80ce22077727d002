"""The contract of an exercise, and how the reference does it."""

import re
import textwrap
from collections.abc import Iterator

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
    """Return a line of code that is too long as several: a comment, or what brackets hold."""
    indent = line[: len(line) - len(line.lstrip())]
    if line.lstrip().startswith("#"):
        return textwrap.fill(line, columns(), subsequent_indent=f"{indent}# ")
    further, lines, depth = f"{indent}        ", [], 0
    while len(line) > columns():
        places = {place: n for place, n in _commas(line, depth) if len(further) < place}
        if not places:
            break
        fitting = [place for place in places if place <= columns() + 1]
        place = max(fitting, default=min(places))
        depth = places[place]
        lines.append(line[:place].rstrip())
        line = further + line[place:]
    return "\n".join([*lines, line])


def _commas(line: str, depth: int) -> Iterator[tuple[int, int]]:
    """Yield where a line may be broken: after each comma in brackets, with how many are open."""
    for found in re.finditer(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[(\[{]|[)\]}]|, ', line):
        depth += (found[0] in "([{") - (found[0] in ")]}")
        if found[0] == ", " and depth:
            yield found.end(), depth


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
