"""The `course update` command."""

import click

from course import root


@click.command(short_help="Bring in what changed in the course, keeping your work.")
def update() -> None:
    """Update the course's texts, tests, tools and exercises with git.

    It commits your work in exercises/ and notebooks/ first. If you and the course both changed one
    of these files, your version stays, and the command prints its name and how to see the course's
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
