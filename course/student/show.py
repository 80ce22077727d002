"""The contract of an exercise, and how the reference does it."""

import textwrap

from course.building import reference
from course.messages.wording import counted
from course.student import hints
from course.syllabus import Exercise, find_lesson, name_for_check
from course.system.console import typed


def what_it_asks(exercise: Exercise, status: str) -> str:
    """Return the heading of an exercise, its facts, and its signature with the docstring."""
    lesson = find_lesson(exercise.lesson)
    facts = {
        "status": status,
        "worth": f"{counted(exercise.points, 'point')}, about {exercise.minutes} minutes",
        "hints": f"{hints.n_shown(exercise)} of {len(exercise.hints)} seen",
        "read": f"course/lessons/{lesson.text.name}",
        "edit": f"exercises/{lesson.stem}.py",
        "check": typed(f"course check {name_for_check(exercise)}"),
    }
    table = "\n".join(f"  {name:<8}{fact}" for name, fact in facts.items())
    contract = textwrap.indent(reference.contract(exercise), "    ")
    return f"{exercise.name}, {exercise.title}\n{table}\n\n{contract}"


def how_it_is_done(exercise: Exercise) -> str:
    """Return the reference's code, and the same in another style."""
    name, code = reference.another_style(exercise)
    return (
        f"{exercise.name}, {exercise.title}\n\n"
        f"The reference:\n\n{textwrap.indent(reference.solution(exercise), '    ')}\n\n"
        f"In another style, {name}:\n\n{textwrap.indent(code, '    ')}"
    )


def not_yet(exercise: Exercise) -> str:
    """Return why its solution is not shown, and what to do instead."""
    name = name_for_check(exercise)
    return (
        f"{exercise.name} has not passed yet, and a solution read too early is a puzzle lost.\n"
        f"  hint   {typed(f'course hint {exercise.name}')}\n"
        f"  check  {typed(f'course check {name}')}\n"
        f"  or     {typed(f'course show {name} --solution --i-give-up')}"
    )
