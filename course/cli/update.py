"""The `course update` command."""

import click

from course import root


@click.command(short_help="Bring in what changed in the course, keeping your work.")
def update() -> None:
    """Bring in what changed in the course's texts, tests, tools and exercises, with git.

    It commits your work in exercises/ and notebooks/ first. A file there that you and the course
    both changed stays as you have it; its name is printed, with the command that shows the course's
    version.

    \b
    Example:
      course update
    """
    from course.student.update import UpdateError
    from course.student.update import update as bring_in

    try:
        lines = bring_in(root())
    except UpdateError as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(lines))
