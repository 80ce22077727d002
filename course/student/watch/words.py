"""The loop's words: where you are, what to write, what passed."""

import re
from collections.abc import Mapping, Sequence

import click

from course import root
from course.core.console import typed
from course.core.syllabus import Exercise, Lesson, find_lesson
from course.core.terminal import columns, visible_length
from course.publishing import showing
from course.student.board import BEFORE, course_board, points_of
from course.student.progress import PASSED, cannot_be_loaded, next_exercise
from course.student.watch.text import heading
from course.testing.messages.wording import STATUS_WORDS, counted
from course.testing.source import lines_of_definitions

KEYS = {
    "h": "hint",
    "t": "text",
    "s": "show answers",
    "l": "list",
    "n": "next",
    "q": "quit",
}


def keys_line() -> str:
    """Return the keys and what they do, in one line."""
    shown = (f"{click.style(key, bold=True)} {what}" for key, what in KEYS.items())
    return "   ".join(one.replace(" ", "\N{NO-BREAK SPACE}") for one in shown)


def progress_line(lesson: Lesson, status: Mapping[str, str]) -> str:
    """Return the points of a lesson and the sign of each of its exercises."""
    is_old = cannot_be_loaded(lesson)
    signs = "".join(_sign(status[exercise.name], is_old) for exercise in lesson.exercises)
    line = f"{points_of(lesson, status)}  {signs}"
    with_title = f"{line}  {lesson.title}"
    return with_title if visible_length(with_title) <= columns() else line


def _sign(status: str, is_old: bool = False) -> str:
    return click.style(STATUS_WORDS[status].sign, fg=STATUS_WORDS[status].color, dim=is_old or None)


def task(exercise: Exercise, status: Mapping[str, str]) -> str:
    """Return what an exercise asks for, where to write it, and where its text is."""
    parts = [
        f"{click.style(exercise.name, bold=True)}: {exercise.title} "
        f"({counted(exercise.points, 'point')}, about {exercise.minutes} minutes)",
        showing.question(exercise),
        "",
        *([BEFORE] if PASSED not in status.values() else []),
        f"  write  {place(exercise)}",
        where_to_read(exercise),
    ]
    return "\n".join(parts)


def where_to_read(exercise: Exercise) -> str:
    """Return the place of an exercise in its lesson's text."""
    line, title = heading(exercise)
    return f"  read   course/lessons/{exercise.lesson}/README.md:{line}  {title}"


def place(exercise: Exercise) -> str:
    """Return the file of an exercise, with its line where it is known."""
    path = find_lesson(exercise.lesson).module()
    lines = lines_of_definitions(path.read_bytes(), exercise.name) if path.is_file() else []
    return f"{path.relative_to(root()).as_posix()}{f':{lines[-1]}' if lines else ''}"


def passed(exercises: Sequence[Exercise], status: Mapping[str, str]) -> str:
    """Return that exercises passed, why the last one matters, and whether a lesson is done."""
    *others, last = (exercise.name for exercise in exercises)
    names = f"{', '.join(others)} and {last} pass" if others else f"{last} passes"
    why = exercises[-1].why
    if others:  # of which "It" would say nothing
        why = re.sub("^It ", f"{last} ", why)
    said = [f"{click.style(f'+ {names}.', fg='green', bold=True)} {why}"]
    lesson = find_lesson(exercises[-1].lesson)
    if all(status[exercise.name] == PASSED for exercise in lesson.exercises):
        said += ["", _lesson_done(lesson, status)]
    return "\n".join(said)


def _lesson_done(lesson: Lesson, status: Mapping[str, str]) -> str:
    following = next_exercise(dict(status))
    lines = [
        f"{points_of(lesson, status)}. {click.style('Lesson done!', fg='green')}",
        f"  look     {typed(f'course open {lesson.stem}')}, the notebook: your code in pictures",
        "  compare  s shows our answers, and others in a different style",
    ]
    if following and following[0] != lesson:
        coming = following[0]
        lines.append(f"  next     course/lessons/{coming.stem}/README.md, {coming.title}")
    return "\n".join(lines)


def board(lesson: Lesson, status: dict[str, str]) -> str:
    """Return the whole course, and below it the exercises of a lesson."""
    own = "  ".join(
        f"{_sign(status[one.name])}\N{NO-BREAK SPACE}{one.name}" for one in lesson.exercises
    )
    return f"{course_board(status)}\n\n  {own}"
