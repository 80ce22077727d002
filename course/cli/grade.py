"""`course grade`: from a folder of submissions to points, messages and an overview."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from course.core.console import open_closed_streams
from course.core.syllabus import UnknownName, chosen_lessons, lessons

SECONDS_BETWEEN_LINES = 10
"""Of progress, where there is no terminal."""


@click.command(short_help="Grade a class, safe from hostile code.")
@click.argument("submissions", type=click.Path(path_type=Path), required=False)
@click.option(
    "--lesson",
    "chosen",
    multiple=True,
    metavar=f"[{'|'.join(lesson.stem for lesson in lessons())}]",
    help="Grade this lesson only, by name or number; may be repeated.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("graded"),
    show_default=True,
    help="The folder for results and reports.",
)
@click.option(
    "--canvas",
    metavar="EXPORT",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Fill in the points in this export of Canvas's gradebook, and write it to --out.",
)
@click.option(
    "--moodle",
    metavar="WORKSHEET",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Fill in the points in this Moodle grading worksheet, and write it to --out.",
)
@click.option(
    "--column",
    "columns",
    metavar="LESSON=TITLE",
    multiple=True,
    help="The title of a lesson's column in that file; may be repeated.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=os.cpu_count() or 1,
    help="How many judges run in parallel.  [default: one per processor]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Grade on the dask cluster with the scheduler at this address.",
)
@click.option(
    "--seed",
    type=int,
    help="The seed for the test inputs.  [default: the last one in this folder, or a secret one]",
)
@click.option(
    "--resume/--fresh",
    default=True,
    help="Keep results that are up to date, or grade everything again.",
)
@click.option(
    "--compare",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Report who gains or loses points compared with FOLDER, an earlier --out.",
)
@click.option(
    "--questions", is_flag=True, help="Write a page per student with questions about the code."
)
@click.option(
    "--self-test", is_flag=True, help="Try to break out of the sandbox, and report the result."
)
def grade(submissions: Path | None, self_test: bool, **options: Any) -> None:
    """Grade a class. SUBMISSIONS is a folder or zip with a folder, zip or files per student.

    Each module runs in its own sandbox, where it can't see or change anything, and the tests run
    outside it. Work that hasn't changed since the last run isn't graded again.

    \b
    Examples:
      course grade submissions/
      course grade submissions.zip --lesson rope --out rope-graded
      course grade submissions.zip --lesson rope --moodle worksheet.csv
      course grade submissions.zip --canvas export.csv --column rope="RoPE (90121)"
      course grade submissions/ --scheduler tcp://192.168.1.10:8786
      course grade submissions/ --out again --compare graded
      course grade --self-test
    """
    from course.grading.judge.unit import GradingError
    from course.grading.lms.table import ExportError
    from course.grading.sandbox.sandbox import SandboxError
    from course.grading.submissions import SubmissionsError

    expected = ExportError, GradingError, SandboxError, SubmissionsError, UnknownName
    open_closed_streams()
    try:
        if self_test:
            if submissions or options["chosen"]:
                raise click.UsageError(
                    "--self-test doesn't grade: leave out SUBMISSIONS and --lesson"
                )
            sys.exit(_self_test())
        if submissions is None:
            raise click.UsageError("SUBMISSIONS is missing: name the folder or zip to grade")
        sys.exit(_grade(submissions, **options))
    except expected as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        raise click.ClickException(
            "Stopped. The results so far are saved; run the same command again to continue."
        ) from None
    except EOFError:  # click would say "Aborted!"
        raise click.ClickException(
            "One of the grader's processes was killed. The results so far are saved; run the same "
            "command again to continue."
        ) from None
    except BrokenPipeError:  # nobody reads on, as after `| head`: click ends quietly
        raise
    except OSError as error:
        saved = (
            "The results so far are saved; fix"
            if os.path.exists(options["out"] / "seed.txt")  # a path that is too long has none
            else "Fix"
        )
        raise click.ClickException(
            f"{error.filename or options['out']}: {error.strerror or error}. {saved} this, and run "
            "the same command again."
        ) from None


def _grade(
    submissions: Path,
    *,
    chosen: Sequence[str],
    canvas: Path | None,
    moodle: Path | None,
    resume: bool,
    **options: Any,
) -> int:
    from course.grading.run import Request, grade_class
    from course.grading.summary import about_not_graded, summary

    if canvas and moodle:
        raise click.UsageError(
            "choose --canvas or --moodle: only one export can be filled in at a time"
        )
    if options["columns"] and not (canvas or moodle):
        raise click.UsageError("--column names a column in an export, so add --canvas or --moodle")
    request = Request(
        submissions,
        named=chosen_lessons(chosen),
        lms="canvas" if canvas else "moodle",
        export=canvas or moodle,
        fresh=not resume,
        **options,
    )
    outcome = grade_class(request, _Progress())
    for line in summary(outcome, request):
        click.echo(line)
    for line in about_not_graded(outcome):
        click.secho(line, fg="red", err=True)
    return 0 if outcome.is_whole else 1


class _Progress:
    """A bar on a terminal, else a line from time to time."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}
        self._shown_at = time.monotonic()

    def __call__(self, label: str, n_done: int, total: int) -> None:
        """Show how many are done; another label begins another bar."""
        if sys.stderr.isatty():
            if label not in self._bars:
                how = {"length": total, "label": label, "show_pos": True, "file": sys.stderr}
                self._bars[label] = click.progressbar(**how)
            bar = self._bars[label]
            bar.update(n_done - bar.pos)
            if n_done == total:
                bar.render_finish()
        elif time.monotonic() - self._shown_at > SECONDS_BETWEEN_LINES:
            self._shown_at = time.monotonic()
            click.echo(f"{label}: {n_done} of {total}", err=True)


def _self_test() -> int:
    from course.grading.sandbox.escapes import ATTEMPTS
    from course.grading.sandbox.self_test import self_test

    outcomes = self_test()
    for outcome in outcomes:
        mark = "closed" if outcome.closed else click.style("OPEN", fg="red", bold=True)
        click.echo(f"  {mark:<7} {outcome.sentence}")
        if not outcome.closed:
            click.echo(f"          {outcome.detail}")
    n_open = sum(not outcome.closed for outcome in outcomes)
    click.echo(f"{len(outcomes) - n_open} of {len(outcomes)} attempts to escape were blocked")
    if len(outcomes) < len(ATTEMPTS):
        click.echo(
            "Namespaces are not available here, so a module can find out whether a file with a "
            "known name exists, and how large it is."
        )
    return 1 if n_open else 0
