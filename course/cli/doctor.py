"""`course doctor`: what a lesson or an exercise still lacks."""

import sys

import click


@click.command(short_help="Say what a lesson or its exercises still lack.")
@click.argument("lesson", required=False)
def doctor(lesson: str | None) -> None:
    """Say what a LESSON and its exercises still lack, by name or number; without one, all lessons.

    For whoever changes the course: title, why, hints, tests, mistakes, text, notebook and so on.
    The exit status is 1 if anything lacks.

    \b
    Examples:
      course doctor
      course doctor rope
    """
    from course.building.doctor import lacks

    try:
        sentences = lacks(lesson)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(sentences) or "nothing lacks")
    sys.exit(1 if sentences else 0)
