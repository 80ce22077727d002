"""`course doctor`: what a lesson or an exercise still lacks."""

import sys

import click


@click.command(short_help="Say what a lesson or its exercises still lack.")
@click.argument("lesson", required=False)
def doctor(lesson: str | None) -> None:
    """Report what a LESSON (by name or number) and its exercises still lack, or all lessons.

    For people who change the course. It checks titles, hints, tests, texts, notebooks and so on,
    and exits with 1 if anything is missing. An exercise without known mistakes works, but is
    reported, too.

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
