"""The board: what is passed, wrong and to do, in points, and what comes next."""

from collections.abc import Collection, Mapping

import click

from course.core.console import typed
from course.core.syllabus import Lesson, Status, counted_lessons, lessons, name_for_check
from course.core.terminal import columns
from course.student.progress import cannot_be_loaded, next_exercise
from course.testing.messages.wording import STATUS_WORDS, counted, filled

BEFORE = "  first  course/lessons/before_you_start.md, if PyTorch is new to you"


def course_board(status: dict[str, str]) -> str:
    """Return the whole course, a line per lesson."""
    earned = sum(_earned(lesson, status) for lesson in counted_lessons())
    total = sum(lesson.points for lesson in counted_lessons())
    lines = [click.style(f"What and Where: {earned} of {total} points", bold=True), ""]
    in_order = sorted(lessons(), key=lambda lesson: lesson.beyond)
    for lesson in in_order:
        if lesson == next((one for one in in_order if one.beyond), None):
            lines += ["", f"  beyond the {total} points, if you want more:"]
        states = [status.get(exercise.name, Status.UNCHECKED) for exercise in lesson.exercises]
        words = [STATUS_WORDS[state] for state in states]
        is_old = cannot_be_loaded(lesson)
        marks = "".join(click.style(one.sign, fg=one.color, dim=is_old or None) for one in words)
        points = f"{_earned(lesson, status):>3} of {lesson.points}"
        lines.append(
            f"  {lesson.number}  {lesson.stem:<13}{marks}{' ?' if is_old else '  '}"
            f"{' ' * (8 - len(states))}"
            f"{points}{f'   {lesson.title}' if columns() >= 70 else ''}"
        )
    shown = (Status.PASSED, Status.WRONG, Status.TO_DO, Status.UNCHECKED)
    legend = "  ".join(f"{STATUS_WORDS[one].sign} {STATUS_WORDS[one].label}" for one in shown)
    lines += ["", f"  {legend} since the last edit"]
    return "\n".join(lines)


def lesson_board(lesson: Lesson, status: dict[str, str], shown: Collection[str]) -> str:
    """Return one lesson: its points, and a line for each exercise to be shown."""
    lines = [points_of(lesson, status)]
    for exercise in lesson.exercises:
        state = status.get(exercise.name)
        if state is not None and exercise.name in shown:
            points = exercise.points if state == Status.PASSED else 0
            word = click.style(f"{state:<11}", fg=STATUS_WORDS[state].color)
            lines.append(f"  {exercise.name:<30} {word} {points} of {exercise.points}")
    return "\n".join(lines)


def points_of(lesson: Lesson, status: Mapping[str, str]) -> str:
    """Return a lesson's name, its points, and whether they are those of an earlier check."""
    points = f"{_earned(lesson, status)} of {lesson.points} points"
    said = click.style(f"{lesson.number} {lesson.stem}: {points}", bold=True)
    return f"{said} at its last check; now the file earns 0" if cannot_be_loaded(lesson) else said


def _earned(lesson: Lesson, status: Mapping[str, str]) -> int:
    return sum(e.points for e in lesson.exercises if status.get(e.name) == Status.PASSED)


def next_steps(status: dict[str, str], prefer: tuple[str, ...] = ()) -> str:
    """Return what to do now, with the exact command for it; preferred names first."""
    mend, found = _mend_first(), next_exercise(status, prefer)
    if found is None:
        return "\n".join(mend) or "Everything passes. Well done!"
    lesson, exercise = found
    lines = [
        *mend,
        f"next: {exercise.name}, {exercise.title} "
        f"({counted(exercise.points, 'point')}, about {exercise.minutes} minutes)",
        *([BEFORE] if Status.PASSED not in status.values() else []),
        f"  read   course/lessons/{lesson.stem}/README.md",
        f"  edit   exercises/{lesson.stem}.py",
        f"  check  {typed(f'course check {name_for_check(exercise)}')}",
        f"  hint   {typed(f'course hint {exercise.name}')}",
    ]
    return "\n".join(lines)


def _mend_first() -> list[str]:
    """Return which files cannot be loaded, as nothing in them can be tested meanwhile."""
    return [
        f"first: fix exercises/{lesson.stem}.py, which cannot be loaded; "
        f"{typed(f'course check {lesson.stem}')} says why"
        for lesson in lessons()
        if cannot_be_loaded(lesson)
    ]


def next_steps_and_why(status: dict[str, str]) -> str:
    """Return what to do now, why it comes now, and how much is left."""
    steps, found = next_steps(status), next_exercise(status)
    if found is None:
        return steps if _mend_first() else everything_passes()
    _, exercise = found
    return "\n\n".join([steps, filled(f"Why now? {exercise.why}"), _how_far(status)])


def everything_passes() -> str:
    """Return what else there is when nothing is left to write."""
    return (
        f"{click.style('Everything passes. Well done!', fg='green', bold=True)}\n"
        f"  train  {typed('course experiment gpt')}, your own GPT, with and without positions\n"
        f"  look   {typed('course open lab')}, all position schemes side by side\n"
        f"  pack   {typed('course submit')}, a zip with everything that your instructor needs"
    )


def _how_far(status: dict[str, str]) -> str:
    every = [exercise for lesson in counted_lessons() for exercise in lesson.exercises]
    if all(status[exercise.name] == Status.PASSED for exercise in every):  # what is left is beyond
        every = [exercise for lesson in lessons() for exercise in lesson.exercises]
    left = [exercise for exercise in every if status[exercise.name] != Status.PASSED]
    hours = max(1, round(sum(exercise.minutes for exercise in left) / 60))
    done = f"{len(every) - len(left)} of {len(every)} exercises have passed"
    return f"{done}; the rest will take about {counted(hours, 'hour')}."
