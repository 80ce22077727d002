"""The `course` command. It stays thin, and imports what a command needs only when it runs."""

import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import click

from course import IS_WHOLE, __version__, root
from course.system.console import readable_anywhere

_ELSEWHERE = {
    "data": "course.cli.data",
    "doctor": "course.cli.doctor",
    "experiment": "course.cli.experiment",
    "grade": "course.cli.grade",
    "gradescope": "course.grading.engines.gradescope",
    "lab": "course.cli.lab",
    "nbgrader": "course.cli.nbgrader",
    "next": "course.cli.next",
    "show": "course.cli.show",
    "site": "course.cli.site",
    "submit": "course.cli.submit",
    "update": "course.cli.update",
    "watch": "course.cli.watch",
}
"""Commands that live in modules of their own, loaded when they are called."""


class _Commands(click.Group):
    """A group in which some commands are imported late."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        readable_anywhere()
        if not IS_WHOLE:
            sys.exit(
                f"The exercises are not in {root()}, where this `course` lies: in the folder that "
                "you cloned, run `pip install -e .`"
            )
        return super().main(*arguments, **options)

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted([*super().list_commands(context), *_ELSEWHERE])

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in _ELSEWHERE:
            return getattr(importlib.import_module(_ELSEWHERE[name]), name)
        return super().get_command(context, name)


@click.group(cls=_Commands, invoke_without_command=True)
@click.version_option(__version__, prog_name="course", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """What and Where: how a transformer knows what a token is and where it stands.

    Alone, it shows the board: what is passed, what is to do, and what comes next.

    \b
    Example:
      course
    """
    if context.invoked_subcommand is None:
        from course.student.board import course_board, next_steps
        from course.student.progress import status_of_all

        status = status_of_all()
        click.echo(f"{course_board(status)}\n\n{next_steps(status)}")


@main.command(
    short_help="Check an exercise, a lesson, or all.",
    context_settings={"ignore_unknown_options": True},
    options_metavar="[--exit-zero]",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[NAME]... [PYTEST OPTION]...")
@click.option("--exit-zero", is_flag=True, help="Exit with status 0 whatever the check finds.")
def check(words: tuple[str, ...], exit_zero: bool) -> None:
    """Check exercises by NAME, or lessons by name or number; without a NAME, all.

    `lookup` is lesson 1; its exercise of the same name is `lookup.lookup`. Options after the names
    go to pytest. The exit status is 0 only when everything passed.

    \b
    Examples:
      course check
      course check rope
      course check rotate_half -x
      course check 5 lookup.lookup
    """
    from course.syllabus import exercises_called, find_lesson, lessons

    names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    try:
        chosen = [exercise for name in names for exercise in exercises_called(name)]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    import pytest

    stems = dict.fromkeys(exercise.lesson for exercise in chosen)
    graded = [find_lesson(stem) for stem in stems] if names else lessons()
    status = pytest.main(
        [
            *("-c", str(root() / "pyproject.toml"), "--rootdir", str(root()), "-q"),
            *(f"--exercise={exercise.name}" for exercise in chosen),
            *words[len(names) :],
            *(str(lesson.tests) for lesson in graded),
        ]
    )
    sys.exit(0 if exit_zero and status == 1 else int(status))


@main.command(short_help="Show a hint for an exercise, one more each time.")
@click.argument("exercise", required=False)
@click.option("--again", is_flag=True, help="Show those seen so far, and no new one.")
@click.option("--restart", is_flag=True, help="Begin anew with the first.")
def hint(exercise: str | None, again: bool, restart: bool) -> None:
    """Show a hint for an EXERCISE; without a name, for the next one to do.

    There are three: what to think about, how to go about it, and nearly the line. Each call
    shows one more.

    \b
    Examples:
      course hint
      course hint rotate_half
      course hint rotate_half --again
    """
    from course.student import hints

    if again and restart:
        raise click.UsageError("--again and --restart exclude each other")
    try:
        chosen = hints.find_exercise(exercise) if exercise else hints.next_to_do()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if chosen is None:
        click.echo("Everything passes; name an exercise to see its hints all the same.")
        return
    if restart:
        hints.start_over(chosen)
    click.echo(hints.seen_again(chosen) if again else hints.one_more(chosen))


@main.command(
    "open",
    short_help="Open a lesson's notebook.",
    context_settings={"ignore_unknown_options": True},
    options_metavar="",
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[LESSON] [JUPYTER OPTION]...")
def open_notebook(words: tuple[str, ...]) -> None:
    """Start JupyterLab with the notebook of a LESSON, by name or number, or `lab` or `shoot-out`.

    Without a LESSON, it is the one that comes next. Options after it go to JupyterLab.

    \b
    Examples:
      course open rope
      course open lab
      course open shoot-out
      course open 5 --no-browser
    """
    import subprocess

    from course.student.progress import next_exercise, status_of_all
    from course.syllabus import lessons

    named = words[:1] if words and not words[0].startswith("-") else ()
    lesson, options = "".join(named), words[len(named) :]
    try:
        if lesson:
            path = _files_of(lesson)[-1]
        else:
            following = next_exercise(status_of_all())
            path = (following[0] if following else lessons()[-1]).notebook
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if not path.exists():
        raise click.ClickException(f"{path.name} is missing; `course build` makes it")
    click.echo(f"opening notebooks/{path.name}; Ctrl+C ends JupyterLab")
    # served from the root, because a notebook links to its text and its module
    start = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={root()}", str(path)]
    sys.exit(subprocess.call([*start, *options], cwd=root()))


def _files_of(lesson: str) -> tuple[Path, ...]:
    """What a student edits for a lesson, by its name or number: its module, and its notebook.

    Raises:
        ValueError: there is no such lesson.
    """
    from course.building.notebook_files import UNGRADED, notebook_of
    from course.syllabus import find_lesson

    for name, stem in UNGRADED.items():
        if lesson in (name, stem.partition("_")[0], stem):
            return (notebook_of(stem),)
    found = find_lesson(lesson)
    return found.module(), found.notebook


@main.command(short_help="Start a lesson afresh, keeping what you have.")
@click.argument("lesson", required=False)
@click.option("--list", "only_list", is_flag=True, help="Show what was kept, and when.")
@click.option(
    "--restore",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    help="Put back what was kept under this NAME; without a NAME, what was kept last.",
)
def reset(lesson: str | None, only_list: bool, restore: str | None) -> None:
    """Make the module and the notebook of a LESSON what they were at first.

    What you had is kept, under a name with the date and time, and --restore puts it back. Nothing
    is ever thrown away: what --restore replaces is kept as well.

    \b
    Examples:
      course reset rope
      course reset --list
      course reset --restore
      course reset --restore 2026-09-30_18-25-00
    """
    from course.building import archive
    from course.building.build import BuildError, start_afresh

    if [bool(lesson), only_list, restore is not None].count(True) != 1:
        raise click.UsageError("say just one of these: a LESSON, --list, or --restore NAME")
    try:
        if only_list:
            for name, files in archive.kept().items():
                theirs = [path for path in files if root() / ".course" not in path.parents]
                shown = ", ".join(path.relative_to(root()).as_posix() for path in theirs)
                click.echo(f"{name}  {shown}")
            if not archive.kept():
                click.echo("nothing was kept so far")
            return
        if restore is not None:
            name = restore or archive.newest()
            kept, done = archive.put_back(name), f"{name} is back in its place"
        else:
            kept = start_afresh(*_files_of(lesson))
            done = f"{lesson} is as it was at first"
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except (BuildError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(done)
    if kept:
        click.echo(f"what you had is kept: course reset --restore {kept}")


@main.command(short_help="Make exercises/ and notebooks/ from solutions/.")
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail if files drifted.")
@click.option("--force", is_flag=True, help="Replace edited files too, keeping a copy of each.")
def build(only_check: bool, force: bool) -> None:
    """Make exercises/ and notebooks/ from solutions/: what is marked as solution becomes a TODO.

    A file that you edited is never replaced, unless you say --force; then a copy of it is kept
    and its name printed.

    \b
    Examples:
      course build
      course build --check
    """
    from course.building.build import BuildError, drift
    from course.building.build import build as build_all

    try:
        report = drift() if only_check else build_all(force)
    except (BuildError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(report or ["exercises/ and notebooks/ are what solutions/ gives"]))
    if any(line.startswith("kept your") for line in report):
        click.echo("`course reset --list` shows what was kept, and how to have it back.")
    sys.exit(1 if only_check and report else 0)
