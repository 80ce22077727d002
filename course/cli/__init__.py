"""The `course` command. It stays thin, and imports what a command needs only when it runs."""

import importlib
import keyword
import os
import sys
from typing import Any

import click

from course import IS_WHOLE, __version__, root
from course.syllabus import UnknownName, closest
from course.system.console import replace_unprintable, typed

_GROUPS = {
    "To learn": {
        **dict.fromkeys(["next", "show", "check", "watch", "hint"], "course.cli.exercises"),
        **dict.fromkeys(["reset", "submit"], "course.cli.files"),
    },
    "To look at": {
        "open": "course.cli.files",
        "lab": "course.cli.lab",
        "experiment": "course.cli.experiment",
        "site": "course.cli.site",
    },
    "For a class": {
        "grade": "course.cli.grade",
        "nbgrader": "course.cli.nbgrader",
        "gradescope": "course.grading.engines.gradescope",
    },
    "To maintain": {
        "update": "course.cli.update",
        "data": "course.cli.data",
        "build": "course.cli.files",
        "doctor": "course.cli.doctor",
    },
}
"""The commands as the help groups them, each with its module, loaded when it is called."""

_MODULES = {name: module for group in _GROUPS.values() for name, module in group.items()}


class _Commands(click.Group):
    """A group whose commands are imported late."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        replace_unprintable()
        if not IS_WHOLE:
            sys.exit(
                f"The exercises are not in {root()}, where this `course` lies: in the folder that "
                "you cloned, run `pip install -e .`"
            )
        return super().main(*arguments, **{**options, "prog_name": typed("course")})

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_MODULES)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _MODULES))
        for title, names in _GROUPS.items():
            with formatter.section(title):
                commands = {name: self.get_command(context, name) for name in names}
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(formatter.width))
                        for name, command in commands.items()
                    ]
                )

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _MODULES:
            return None
        called = f"{name}_" if keyword.iskeyword(name) else name
        return getattr(importlib.import_module(_MODULES[name]), called)

    def resolve_command(self, context: click.Context, words: list[str]) -> Any:
        try:
            return super().resolve_command(context, words)
        except click.UsageError as error:
            if meant := closest(words[0], _MODULES):
                error.message = f'{error.message.rstrip(".")}; did you mean "{meant}"?'
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
    """What and Where: how a transformer knows what a token is and where it stands.

    Alone, it shows the board: what is passed, what is to do, and what comes next.

    Wherever a command takes a lesson or an exercise, give its name, a lesson's number or one of
    its files; `lookup.lookup` is the exercise of lesson 1 that is called like it.

    \b
    Example:
      course
    """
    if os.environ.get("NO_COLOR"):
        context.color = False
    if context.invoked_subcommand is None:
        from course.student.board import course_board, next_steps
        from course.student.progress import status_of_all

        status = status_of_all()
        click.echo(f"{course_board(status)}\n\n{next_steps(status)}")
