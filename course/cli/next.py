"""`course next`: what to do now, and why it comes now."""

import click

from course.messages.wording import filled
from course.student import given_up, hints
from course.student.board import next_steps
from course.student.progress import PASSED, UNCHECKED, WRONG, next_exercise, status_of_all
from course.syllabus import Exercise, Lesson, lessons


@click.command(short_help="Say what to do now, and why it comes now.")
def next() -> None:
    """Say what to do now, and why it comes now.

    It is the first exercise that has not passed. The lessons build on one another, but every
    exercise is checked by itself: you may take another one first.

    \b
    Example:
      course next
    """
    click.echo(what_is_next(status_of_all()))


def what_is_next(status: dict[str, str]) -> str:
    """What `course next` prints, given the status of every exercise by name."""
    found = next_exercise(status)
    if found is None:
        return (
            "Everything passes. Well done.\n"
            "  look   course open lab, all position schemes side by side\n"
            "  play   course lab export --mine, the same as a page, on a sentence of your own\n"
            "  run    python -m course.experiments.wireup, text to attention, with yours\n"
            "  pack   course submit, what your instructor needs in one zip"
        )
    lesson, exercise = found
    return "\n\n".join(
        [
            next_steps(status),
            *(filled(sentence) for sentence in _sentences(lesson, exercise, status)),
            _how_far(status),
        ]
    )


def _sentences(lesson: Lesson, exercise: Exercise, status: dict[str, str]) -> list[str]:
    """Why it comes now, and what is known about it already."""
    sentences = [f"Why now? {exercise.why}"]
    state = status[exercise.name]
    if state == WRONG:
        sentences.append("Its last check found something wrong; check it again to see what.")
    elif state == UNCHECKED:
        sentences.append("It was edited since its last check, if it had one: check it first.")
    seen = len(hints.shown(exercise))
    if seen:
        sentences.append(f"You have seen {seen} of its {len(hints.KINDS)} hints.")
    if given_up.when_given_up(exercise):
        sentences.append(
            "You have read its solution, which is a fair way to learn: close it and write yours "
            f"from memory. {_or_go_on(lesson, exercise, status)}"
        )
    return sentences


def _or_go_on(lesson: Lesson, exercise: Exercise, status: dict[str, str]) -> str:
    """What else can be done, since nothing else needs this one to pass."""
    after = next_exercise({**status, exercise.name: PASSED}, prefer=(exercise.name,))
    if after is None:
        return "It is the last one."
    return f"Or come back to it later and go on with {after[1].name}; it is checked by itself."


def _how_far(status: dict[str, str]) -> str:
    every = [exercise for lesson in lessons() for exercise in lesson.exercises]
    left = [exercise for exercise in every if status[exercise.name] != PASSED]
    hours = sum(exercise.minutes for exercise in left) / 60
    points = sum(exercise.points for exercise in every) - sum(one.points for one in left)
    passed = f"{len(every) - len(left)} of {len(every)} exercises have passed, {points} points"
    return f"{passed}; what is left takes about {_shown(hours)}."


def _shown(hours: float) -> str:
    if hours < 1:
        return f"{round(hours * 60)} minutes"
    return "an hour" if round(hours) == 1 else f"{round(hours)} hours"
