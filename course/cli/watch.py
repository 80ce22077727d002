"""`course watch`."""

import sys

import click

from course.student.watch.runner import FORKS


@click.command(short_help="Test a lesson each time you save it.")
@click.argument("lesson", required=False)
@click.option("--fork/--no-fork", default=FORKS, hidden=True)
def watch(lesson: str | None, fork: bool) -> None:
    """Test a LESSON, by name or number, each time its file is saved; without one, whichever is.

    It shows the lesson's points and the first thing that is wrong, a moment after you save. Leave
    it running in a terminal beside your editor. Keys: h shows a hint, one more each time, a tests
    all lessons, o opens the lesson's notebook, q ends it, as Ctrl+C does.

    \b
    Examples:
      course watch
      course watch rope
    """
    import signal

    from course.student.watch.loop import Watcher
    from course.syllabus import find_lesson

    for name in ("SIGTERM", "SIGHUP"):  # the terminal's window was closed, or the system goes down
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.default_int_handler)
    try:
        chosen = find_lesson(lesson) if lesson else None
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        status = Watcher(chosen, fork).run()
    except KeyboardInterrupt:
        status = 0
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None
    sys.exit(status)
