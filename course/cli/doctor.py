"""`course doctor`: what a lesson or an exercise still lacks."""

import sys

import click


@click.command(short_help="Say what a lesson or its exercises still lack.")
@click.argument("lesson", required=False)
def doctor(lesson: str | None) -> None:
    """Say what a LESSON and its exercises still lack, by name or number; without one, all lessons.

    For whoever changes the course: title, why, hints, tests, text, notebook and so on. The exit
    status is 1 if anything lacks. An exercise without known mistakes works, and is named as well.

    \b
    Examples:
      course doctor
      course doctor rope
    """
    from course.building.doctor import lacks, without_mistakes

    try:
        sentences, notes = lacks(lesson), without_mistakes(lesson)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join([*(sentences or ["nothing lacks"]), *notes]))
    sys.exit(1 if sentences else 0)
