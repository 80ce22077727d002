"""`course submit`: everything an instructor needs, in one zip, after a look at what it is worth."""

import textwrap
from pathlib import Path

import click

from course import root
from course.building import submission
from course.building.notebooks import stems
from course.building.submission import SubmissionError, Work
from course.student import dry_run
from course.student.progress import PASSED, TO_DO, UNCHECKED, WRONG, stubs_in
from course.syllabus import Lesson, lessons


@click.command(short_help="Pack what your instructor needs into one zip.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("submission.zip"),
    show_default=True,
    help="The zip to write.",
)
@click.option("--name", default="", help="Your name, if it shall stand in the manifest.")
@click.option("--no-check", is_flag=True, help="Pack at once, without running the tests before.")
def submit(out: Path, name: str, no_check: bool) -> None:
    """Pack your six modules and your notebooks into one zip, to be handed in.

    First it runs the tests, and says what is missing, wrong or not begun. It packs in any case:
    what counts is up to your instructor. You may submit as often as you like; the same work gives
    the same zip. Your files are only read.

    \b
    Examples:
      course submit
      course submit --name "Ada Lovelace" --out ada.zip
      course submit --no-check
    """
    try:
        submission.refuse_to_replace(out)
        work = submission.collect()
        if not work.files:
            raise SubmissionError("there is nothing to hand in: no module and no notebook is here.")
        click.echo("\n".join(_findings(work, not no_check)))
        for remark in work.remarks:
            click.secho(_wrapped(remark), fg="yellow")
        data = submission.pack(work.files, name)
        submission.write(out, data)
    except SubmissionError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(
            f"{out} cannot be written: {error.strerror}. Give another place with --out."
        ) from None
    n_modules = sum(path.endswith(".py") for path in work.files)
    n_notebooks = len(work.files) - n_modules
    click.echo(
        f"\npacked {out}: {n_modules} of {len(lessons())} modules, "
        f"{n_notebooks} of {len(stems())} notebooks, {len(data) / 1000:,.0f} kB"
    )
    if not Path.cwd().is_relative_to(root()):  # another clone of the course may lie here
        click.echo(f"all of them from {root()}")


def _findings(work: Work, check: bool) -> list[str]:
    """A line for each lesson: its points, and what is not right yet."""
    begun = {
        lesson.stem: source
        for lesson in lessons()
        if (source := work.files.get(_module(lesson.stem))) is not None
        and _is_begun(lesson, source)
    }
    runnable = {stem: begun[stem] for stem in begun if _module(stem) not in work.unreadable}
    statuses: dict[str, str] = {}
    if check and runnable:
        n_lessons = "one lesson" if len(runnable) == 1 else f"{len(runnable)} lessons"
        click.echo(f"Checking {n_lessons} before packing; --no-check would not.\n")
        try:
            statuses, came_to_end = dry_run.run(runnable)
        except OSError as error:
            work.remarks.append(f"The checks could not be run: {error.strerror}.")
            came_to_end = True
        if not came_to_end:
            work.remarks.append("The checks were cut short before they had seen everything.")
    lines = []
    for lesson in lessons():
        if _module(lesson.stem) not in work.files:
            said = "missing"
        elif lesson.stem not in begun:
            said = "not begun"
        elif lesson.stem not in runnable:
            said = "not valid Python"
        else:
            said = _said(lesson, statuses) if check else "not checked"
        points = sum(one.points for one in lesson.exercises if statuses.get(one.name) == PASSED)
        earned = f"{points:>2} of {lesson.points}" if check else ""
        line = f"  {lesson.number}  {lesson.stem:<12} {earned:<9} {said}".rstrip()
        lines.append(textwrap.fill(line, 80, subsequent_indent=" " * 28, break_long_words=False))
    return lines


def _said(lesson: Lesson, statuses: dict[str, str]) -> str:
    """What of a lesson has not passed, by name."""
    if dry_run.NOT_LOADED in {statuses.get(exercise.name) for exercise in lesson.exercises}:
        return f"{dry_run.NOT_LOADED}: course check {lesson.stem} says why"
    parts = []
    for state in (WRONG, TO_DO, UNCHECKED):
        names = [e.name for e in lesson.exercises if statuses.get(e.name, UNCHECKED) == state]
        if names:
            parts.append(f"{state}: {', '.join(names)}")
    return "; ".join(parts)


def _is_begun(lesson: Lesson, source: bytes) -> bool:
    """Whether anything in it is not a stub any more."""
    return stubs_in(source, lesson) != {exercise.name for exercise in lesson.exercises}


def _module(stem: str) -> str:
    """What the module of a lesson is called in the zip."""
    return f"exercises/{stem}.py"


def _wrapped(remark: str) -> str:
    return textwrap.fill(
        remark, 80, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
