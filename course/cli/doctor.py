"""`course doctor`: what is missing from a lesson or an exercise."""

import sys

import click


@click.command(short_help="Report what is missing from a lesson.")
@click.argument("lesson", required=False)
def doctor(lesson: str | None) -> None:
    """Report what is missing from a LESSON (a name or number), or from all lessons.

    This is for people who change the course. It checks titles, hints, tests, texts, notebooks and
    so on, and exits with status 1 if anything is missing. It also lists exercises without known
    mistakes, which is not an error.

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
    click.echo("\n".join([*(sentences or ["nothing is missing"]), *notes]))
    sys.exit(1 if sentences else 0)
