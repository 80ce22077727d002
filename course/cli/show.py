"""`course show`: what an exercise asks for, and, when it is time, how the reference does it."""

import textwrap

import click

from course.building import reference
from course.messages.wording import counted
from course.student import given_up, hints
from course.student.progress import PASSED, status_of_all
from course.syllabus import Exercise, find_lesson, name_for_check


@click.command(short_help="Show what an exercise asks for, or its solution.")
@click.argument("exercise", required=False)
@click.option("--solution", is_flag=True, help="Show the reference, once the exercise has passed.")
@click.option("--i-give-up", is_flag=True, help="With --solution: show it before; it is noted.")
def show(exercise: str | None, solution: bool, i_give_up: bool) -> None:
    """Show what an EXERCISE asks for, and how far it is; without a name, the next one to do.

    With --solution it shows the reference's code with its comments, and then the same in another
    style, to compare with what you wrote. That is for afterwards, so the exercise has to pass
    first, or you say --i-give-up.

    \b
    Examples:
      course show rotate_half
      course show rotate_half --solution
      course show rotate_half --solution --i-give-up
    """
    if i_give_up and not solution:
        raise click.UsageError("--i-give-up goes with --solution")
    try:
        chosen = hints.find_exercise(exercise) if exercise else hints.next_to_do()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if chosen is None:
        click.echo("Everything passes; name an exercise to see it all the same.")
        return
    status = status_of_all()[chosen.name]
    if solution and status != PASSED and not i_give_up:
        raise click.ClickException(_not_yet(chosen))
    try:
        click.echo(how_it_is_done(chosen) if solution else what_it_asks(chosen, status))
    except OSError as error:
        raise click.ClickException(f"{error.filename} cannot be read: {error.strerror}") from None
    if solution and status != PASSED:
        given_up.give_up(chosen)


def what_it_asks(exercise: Exercise, status: str) -> str:
    """The heading of an exercise, its facts, and its signature with the docstring."""
    lesson = find_lesson(exercise.lesson)
    facts = {
        "status": status,
        "worth": f"{counted(exercise.points, 'point')}, about {exercise.minutes} minutes",
        "hints": f"{len(hints.shown(exercise))} of {len(hints.KINDS)} seen",
        "read": f"course/lessons/{lesson.text.name}",
        "edit": f"exercises/{lesson.stem}.py",
        "check": f"course check {name_for_check(exercise)}",
    }
    day = given_up.when_given_up(exercise)
    if day and status != PASSED:
        facts["note"] = f"you read its solution on {day}; now write it from memory"
    table = "\n".join(f"  {name:<8}{fact}" for name, fact in facts.items())
    return f"{_heading(exercise)}\n{table}\n\n{_indented(reference.contract(exercise))}"


def how_it_is_done(exercise: Exercise) -> str:
    """The reference's code, and the same in another style."""
    name, code = reference.another_style(exercise)
    return (
        f"{_heading(exercise)}\n\n"
        f"The reference:\n\n{_indented(reference.solution(exercise))}\n\n"
        f"In another style, {name}:\n\n{_indented(code)}"
    )


def _not_yet(exercise: Exercise) -> str:
    shown = f"course show {name_for_check(exercise)} --solution"
    return (
        f"{exercise.name} has not passed yet, and a solution read too early is a puzzle "
        f"lost.\n  hint   course hint {exercise.name}\n"
        f"  check  course check {name_for_check(exercise)}\n"
        f"  or     {shown} --i-give-up"
    )


def _heading(exercise: Exercise) -> str:
    return f"{exercise.name}, {exercise.title}"


def _indented(code: str) -> str:
    return textwrap.indent(code, "    ")
