"""The `course` command. It stays thin, and imports what a command needs only when it runs."""

import importlib
import keyword
import os
import sys
from typing import Any

import click

from course import IS_WHOLE, __version__, root
from course.core.console import replace_unprintable, typed
from course.core.syllabus import UnknownName, did_you_mean
from course.core.terminal import columns, is_terminal

_MAIN = {
    "check": "course.cli.exercises",
    "hint": "course.cli.exercises",
    "open": "course.cli.files",
    "experiment": "course.cli.experiment",
    "submit": "course.cli.files",
    "data": "course.cli.data",
    "grade": "course.cli.grade",
}
"""The commands that the help explains, each with its module, loaded when it is called."""

_MORE = {
    "watch": "course.cli.exercises",
    "show": "course.cli.exercises",
    "quiz": "course.cli.exercises",
    "reset": "course.cli.files",
    "site": "course.cli.site",
    "nbgrader": "course.cli.nbgrader",
    "gradescope": "course.grading.engines.gradescope",
    "build": "course.cli.files",
    "handout": "course.cli.files",
}
"""The commands that it only names."""

_MODULES = _MAIN | _MORE


class _Commands(click.Group):
    """A group whose commands are imported late."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        replace_unprintable()
        if not IS_WHOLE:
            sys.exit(
                f"This `course` is installed in {root()}, but the exercises aren't there. Run "
                "`pip install -e .` in the folder that you cloned."
            )
        own = {"prog_name": typed("course"), "terminal_width": columns()}
        return super().main(*arguments, **{**options, **own})

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_MODULES)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            rows = [("course", "Work on the next exercise (without a terminal: show your points).")]
            for name in _MAIN:
                command = self.get_command(context, name)
                rows.append((f"course {name}", command.get_short_help_str(80)))
            formatter.write_dl(rows)
        with formatter.section("More, each with its own --help"):
            formatter.write_text(", ".join(_MORE))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _MODULES:
            return None
        called = f"{name}_" if keyword.iskeyword(name) else name
        return getattr(importlib.import_module(_MODULES[name]), called)

    def resolve_command(self, context: click.Context, words: list[str]) -> Any:
        try:
            return super().resolve_command(context, words)
        except click.UsageError as error:
            if meant := did_you_mean(words[0], _MODULES):
                error.message = f"{error.message.rstrip('.')}; {meant}"
            raise

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except UnknownName as error:
            raise click.UsageError(str(error)) from None


@click.group(cls=_Commands, invoke_without_command=True)
@click.version_option(__version__, prog_name="course", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """What and Where: how a transformer knows what a token is and where it is.

    Run `course` without a command to work on the next exercise. It tests the exercise each time
    you save its file, and moves on when it passes.

    You can refer to an exercise by its name, and to a lesson by its name, its number or one of
    its files. `lookup` means lesson 1; for the exercise with the same name, use `lookup.lookup`.

    \b
    Example:
      course
    """
    if os.environ.get("NO_COLOR"):
        context.color = False
    if context.invoked_subcommand is None:
        if is_terminal():
            from course.cli.exercises import run_loop

            run_loop(None)
            return
        from course.student.board import course_board, next_steps_and_why
        from course.student.progress import status_of_all

        status = status_of_all()
        click.echo(f"{course_board(status)}\n\n{next_steps_and_why(status)}")
