"""The `course update` command."""

import click

from course import root


@click.command(short_help="Get the course's latest changes, and keep your work.")
def update() -> None:
    """Update the course's texts, tests, tools and exercises with git.

    Your work in exercises/ and notebooks/ is committed first. If both you and the course changed
    one of these files, your version is kept, and the command says how to see the course's version.

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
