"""The board: what is passed, wrong and to do, in points, and what comes next."""

from collections.abc import Collection

import click

from course.messages.wording import counted
from course.student.progress import PASSED, TO_DO, UNCHECKED, WRONG, next_exercise
from course.syllabus import Lesson, lessons, name_for_check

_MARK = {PASSED: "+", WRONG: "x", TO_DO: "o", UNCHECKED: "?"}
_COLOR = {PASSED: "green", WRONG: "red", TO_DO: None, UNCHECKED: "yellow"}


def course_board(status: dict[str, str]) -> str:
    """The whole course, a line per lesson."""
    earned = sum(_earned(lesson, status) for lesson in lessons())
    total = sum(lesson.points for lesson in lessons())
    lines = [click.style(f"What and Where: {earned} of {total} points", bold=True), ""]
    lines += [_lesson_line(lesson, status) for lesson in lessons()]
    lines += ["", "  + passed   x wrong   o to do   ? not checked since it was edited"]
    return "\n".join(lines)


def lesson_board(lesson: Lesson, status: dict[str, str], shown: Collection[str]) -> str:
    """One lesson: its points, and a line for each exercise to be shown."""
    earned = _earned(lesson, status)
    lines = [
        click.style(f"{lesson.number} {lesson.stem}: {earned} of {lesson.points} points", bold=True)
    ]
    for exercise in lesson.exercises:
        state = status.get(exercise.name)
        if state is not None and exercise.name in shown:
            points = exercise.points if state == PASSED else 0
            word = click.style(f"{state:<11}", fg=_COLOR[state])
            lines.append(f"  {exercise.name:<30} {word} {points} of {exercise.points}")
    return "\n".join(lines)


def next_steps(status: dict[str, str], prefer: tuple[str, ...] = ()) -> str:
    """What to do now, with the exact command for it; preferred names first."""
    found = next_exercise(status, prefer)
    if found is None:
        return "Everything passes. Well done."
    lesson, exercise = found
    lines = [
        f"next: {exercise.name}, {exercise.title} "
        f"({counted(exercise.points, 'point')}, about {exercise.minutes} minutes)",
        f"  read   course/lessons/{lesson.text.name}",
        f"  edit   exercises/{lesson.stem}.py",
        f"  check  course check {name_for_check(exercise)}",
        f"  hint   course hint {exercise.name}",
    ]
    return "\n".join(lines)


def _earned(lesson: Lesson, status: dict[str, str]) -> int:
    return sum(e.points for e in lesson.exercises if status.get(e.name) == PASSED)


def _lesson_line(lesson: Lesson, status: dict[str, str]) -> str:
    states = [status.get(exercise.name, UNCHECKED) for exercise in lesson.exercises]
    marks = "".join(click.style(_MARK[state], fg=_COLOR[state]) for state in states)
    padding = " " * (10 - len(states))
    points = f"{_earned(lesson, status):>3} of {lesson.points}"
    return f"  {lesson.number}  {lesson.stem:<13}{marks}{padding}{points}   {lesson.title}"
