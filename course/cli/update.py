"""The `course update` command."""

from pathlib import Path

import click

from course import root


@click.command(short_help="Bring in what changed in the course, keeping your work.")
@click.option(
    "--from",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A newer copy of the course, instead of git's upstream.",
)
def update(folder: Path | None) -> None:
    """Bring in what changed in the course's texts, tests, tools and exercises.

    What you wrote stays: of a module or a notebook that you edited, the new version is written
    beside yours. What else you had changed is kept, and `course reset --restore` brings it back.

    \b
    Examples:
      course update
      course update --from Downloads/what-and-where-main
    """
    from course.student.update import UpdateError, bring_in

    try:
        lines = bring_in(root(), folder)
    except UpdateError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise click.ClickException(f"{place}{error.strerror or error}") from None
    click.echo("\n".join(lines))
