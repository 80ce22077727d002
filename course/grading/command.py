"""`course grade`: from a folder of submissions to points, messages and an overview."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from course.grading.results import LessonResult
from course.syllabus import Lesson, chosen_lessons, lessons


@click.command(short_help="Grade a class, safe from hostile code.")
@click.argument("submissions", type=click.Path(path_type=Path), required=False)
@click.option("--lesson", "chosen", multiple=True, help="Grade this lesson only; may be repeated.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("graded"),
    show_default=True,
    help="Where results and reports go.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 256),
    default=os.cpu_count() or 1,
    help="Judges side by side.  [default: one per processor]",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Let a dask cluster grade, whose scheduler has this address.",
)
@click.option(
    "--gradebook",
    metavar="FILE",
    help="Enter the points in this gradebook of nbgrader, a file or a URL.",
)
@click.option(
    "--seed",
    type=int,
    help="Decides what inputs are drawn.  [default: as the last time in this folder, else secret]",
)
@click.option(
    "--resume/--fresh", default=True, help="Keep results that are up to date, or grade all anew."
)
@click.option("--self-test", is_flag=True, help="Try to break out of the sandbox, and report.")
@click.option("--unsandboxed", is_flag=True, help="Grade without a sandbox. Only code you trust.")
def grade(
    submissions: Path | None,
    chosen: tuple[str, ...],
    out: Path,
    jobs: int,
    scheduler: str | None,
    gradebook: str | None,
    seed: int | None,
    resume: bool,
    self_test: bool,
    unsandboxed: bool,
) -> None:
    """Grade the SUBMISSIONS of a class: a folder or a zip with a folder, a zip or files each.

    Each module runs in a process of its own that can neither see nor change anything; the tests
    run outside of it. What was graded before and did not change is not graded again.

    \b
    Examples:
      course grade submissions/
      course grade submissions.zip --lesson rope --out rope-graded
      course grade submissions/ --gradebook gradebook.db
      course grade submissions/ --scheduler tcp://192.168.1.10:8786
      course grade --self-test
    """
    from course.grading.sandbox import SandboxError

    try:
        if self_test and (submissions or chosen):
            raise click.UsageError("--self-test grades nothing: leave the rest out")
        if self_test:
            sys.exit(_self_test())
        if submissions is None:
            raise click.UsageError("name the folder, or the zip, that holds the SUBMISSIONS")
        how = (jobs, seed, not resume, not unsandboxed, scheduler)
        sys.exit(_grade(submissions, chosen, out, *how, gradebook))
    except SandboxError as error:
        raise click.ClickException(
            f"{error} Strangers' code is not run without a sandbox; `--unsandboxed` grades code "
            "that you trust as your own."
        ) from None
    except KeyboardInterrupt:
        raise click.ClickException(
            "Stopped. What was graded so far is kept: run the same command again to go on."
        ) from None
    except BrokenPipeError:  # nobody reads on, as after `| head`: click ends quietly
        raise
    except OSError as error:
        raise click.ClickException(
            f"{error.filename or out}: {error.strerror}. Nothing that was graded is lost: run the "
            "same command again when that is mended."
        ) from None


def _grade(
    submissions: Path,
    chosen: tuple[str, ...],
    out: Path,
    jobs: int,
    seed: int | None,
    fresh: bool,
    confined: bool,
    scheduler: str | None,
    gradebook: str | None,
) -> int:
    from course.grading.grade import GradingError, Settings, Store, grade_all
    from course.grading.reports import pages_of_others, write_reports
    from course.grading.sandbox import SandboxError, missing
    from course.grading.submissions import SubmissionsError

    if confined and not scheduler and (lacking := missing()):
        raise SandboxError(" ".join(lacking))
    if not confined:
        click.secho("No sandbox: what is graded can do all that you can.", fg="red", err=True)
    try:
        if gradebook:
            from course.grading.gradebook import check_gradebook, enter_points

            is_new = not check_gradebook(gradebook)  # before the work, not after it
        wanted = chosen_lessons(chosen) or _lessons_in(submissions)
        if out.resolve().is_relative_to(submissions.resolve()):
            raise click.UsageError(
                f"--out {out} lies within {submissions}, where it would be taken for a student's; "
                "choose a folder outside"
            )
        n_students = sum(1 for _ in _submissions(submissions))
        store = Store(out)
        with store.locked():
            settings = Settings(store.seed(seed), confined=confined)
            units = _units(submissions, wanted)
            total = n_students * len(wanted)
            jobs = max(1, min(jobs, total))
            graded = grade_all(units, store, settings, jobs, fresh, scheduler)
            results = _with_progress(graded, total)
            written = write_reports(results, _resemblances(submissions, wanted), out)
        if gradebook:
            enter_points(results, gradebook)
    except (GradingError, SubmissionsError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    _say(submissions, results, written)
    if gradebook:
        click.echo(f"  {gradebook}{' (there was none, so it was made)' if is_new else ''}")
    if others := pages_of_others(results, out):
        click.echo(
            f"Older pages of students who are not among these are in there: {len(others)}, such as "
            f"{others[0]}."
        )
    click.echo(f"The inputs were drawn with --seed {settings.seed}.")
    not_graded = [f"{result.student}'s {result.lesson}" for result in results if not result.key]
    if not_graded:
        click.secho(
            f"Not graded, and left out of the totals: {', '.join(not_graded[:5])}"
            f"{' and others' if len(not_graded) > 5 else ''}. Their pages say why.",
            fg="red",
            err=True,
        )
    return 1 if not_graded else 0


def _submissions(path: Path) -> Iterator:
    from course.grading.submissions import read_submissions

    return iter(read_submissions(path))


def _lessons_in(path: Path) -> list[Lesson]:
    """The lessons of which anybody handed something in; all of them if nobody did."""
    found: set[str] = set()
    for submission in _submissions(path):
        found.update(submission.modules)
    return [lesson for lesson in lessons() if lesson.stem in found] or list(lessons())


def _units(path: Path, wanted: list[Lesson]) -> Iterator:
    from course.grading.unit import Unit

    for submission in _submissions(path):
        for lesson in wanted:
            source = submission.modules.get(lesson.stem)
            unread = submission.unread.get(lesson.stem, "")
            yield Unit(
                student=submission.student,
                lesson=lesson.stem,
                source=source,
                notes=submission.notes,
                unread=unread,
                refused=submission.refused.get(lesson.stem, ""),
                canvas_id=submission.canvas_id,
            )


def _resemblances(path: Path, wanted: list[Lesson]) -> dict:
    from course.grading.copies import find_resemblances

    modules: dict[str, list] = {lesson.stem: [] for lesson in wanted}
    for submission in _submissions(path):
        for stem in modules.keys() & submission.modules.keys():
            modules[stem].append((submission.student, submission.modules[stem]))
    return {stem: find_resemblances(stem, own) for stem, own in modules.items()}


def _with_progress(graded: Iterator[tuple[LessonResult, bool]], total: int) -> list[LessonResult]:
    """All results, in the order of students and lessons, with a bar while they come."""
    start, results, done_now = time.monotonic(), [], 0

    def rate(_: object) -> str:
        return f"{done_now / (time.monotonic() - start):.1f} a second" if done_now else ""

    with click.progressbar(
        graded, length=total, label="Grading", show_pos=True, show_eta=True, item_show_func=rate
    ) as bar:
        for result, was_there in bar:
            results.append(result)
            done_now += not was_there
    order = {lesson.stem: lesson.number for lesson in lessons()}
    return sorted(results, key=lambda result: (result.student, order[result.lesson]))


def _say(submissions: Path, results: list[LessonResult], written: list[Path]) -> None:
    students = {result.student for result in results}
    missing = sum(not result.handed_in for result in results)
    troubles = sum(bool(result.trouble) for result in results) - missing
    click.echo(
        f"students: {len(students)}, results: {len(results)}; "
        f"modules not handed in: {missing}, with trouble: {troubles}"
    )
    if len(students) == 1 and (submissions / min(students)).is_dir():
        name = min(students)
        click.echo(
            f"one student, {name}: if that is a folder of several, grade {submissions / name}"
        )
    if noted := {result.student for result in results if result.notes}:
        click.echo(f"students with notes on what they handed in: {len(noted)}; index.html has them")
    for path in written:
        click.echo(f"  {path}")


def _self_test() -> int:
    from course.grading.escapes import self_test

    outcomes = self_test()
    for outcome in outcomes:
        mark = "closed" if outcome.closed else click.style("OPEN", fg="red", bold=True)
        click.echo(f"  {mark:<7} {outcome.sentence}")
        if not outcome.closed:
            click.echo(f"          {outcome.detail}")
    n_open = sum(not outcome.closed for outcome in outcomes)
    click.echo(f"{len(outcomes) - n_open} of {len(outcomes)} ways out are closed")
    return 1 if n_open else 0
