"""The `course` command. It stays thin, and imports what a command needs only when it runs."""

import importlib
import sys
from typing import Any

import click

from course import IS_WHOLE, __version__, root
from course.syllabus import UnknownName
from course.system.console import readable_anywhere

_MODULES = {
    **dict.fromkeys(["check", "hint", "next", "show", "watch"], "course.cli.exercises"),
    **dict.fromkeys(["build", "open", "reset", "submit"], "course.cli.files"),
    "data": "course.cli.data",
    "doctor": "course.cli.doctor",
    "experiment": "course.cli.experiment",
    "grade": "course.cli.grade",
    "gradescope": "course.grading.engines.gradescope",
    "lab": "course.cli.lab",
    "nbgrader": "course.cli.nbgrader",
    "site": "course.cli.site",
    "update": "course.cli.update",
}
"""The module of each command, loaded when it is called."""


class _Commands(click.Group):
    """A group whose commands are imported late."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        readable_anywhere()
        if not IS_WHOLE:
            sys.exit(
                f"The exercises are not in {root()}, where this `course` lies: in the folder that "
                "you cloned, run `pip install -e .`"
            )
        return super().main(*arguments, **options)

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(_MODULES)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return getattr(importlib.import_module(_MODULES[name]), name) if name in _MODULES else None

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
    if context.invoked_subcommand is None:
        from course.student.board import course_board, next_steps
        from course.student.progress import status_of_all

        status = status_of_all()
        click.echo(f"{course_board(status)}\n\n{next_steps(status)}")
