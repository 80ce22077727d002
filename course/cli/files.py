"""The commands `course open`, `reset`, `submit` and `build`, which handle a lesson's files."""

import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import click

from course.core.console import typed
from course.core.files import write_bytes_atomically
from course.core.syllabus import Exercise, UnknownName, find_exercises, find_lesson, lessons
from course.publishing.building.notebooks import UNGRADED, notebook_of, stems
from course.testing.messages.wording import filled


def _files_of(name: str) -> tuple[Path, ...]:
    """Return what a student edits for a lesson, by any name of it: its module, and its notebook."""
    wanted = Path(name).name.lower().removesuffix(".ipynb")
    for short, stem in UNGRADED.items():
        if wanted in (short, stem):
            return (notebook_of(stem),)
    lesson = find_lesson(name)
    return lesson.module(), lesson.notebook


@click.command(
    short_help="Open a lesson's notebook, or its text.",
    context_settings={"ignore_unknown_options": True},
    options_metavar="",
)
@click.argument(
    "words", nargs=-1, type=click.UNPROCESSED, metavar="[text] [LESSON] [JUPYTER OPTION]..."
)
def open(words: tuple[str, ...]) -> None:
    """Open the notebook of a LESSON, or the notebook `lab` or `shoot-out`, in JupyterLab.

    You can give a LESSON by name or number, or name one of its exercises. The default is the
    lesson you're working on. Any other options go to JupyterLab.

    `course open text` opens the lesson's text in your browser instead. It marks the exercises that
    have passed, and in lessons 3, 4, 5 and 7 the figure at the top draws your own functions.

    \b
    Examples:
      course open rope
      course open text rope
      course open text rotate_half
      course open lab
      course open shoot-out
      course open 5 --no-browser
    """
    from course.student import notebook_server
    from course.student.progress import next_exercise, status_of_all

    is_text = words[:1] == ("text",)
    options = words[1:] if is_text else words
    name, options = (options[0], options[1:]) if _is_name(options) else (None, options)
    if _is_name(options):
        raise click.UsageError(f'open takes one name; "{options[0]}" is one more')
    if is_text:
        return _open_text(name)
    if name is not None:
        path = _files_of(name)[-1]
    else:
        following = next_exercise(status_of_all())
        path = (following[0] if following else lessons()[-1]).notebook
    if not path.exists():
        back = typed(f"course reset notebooks/{path.name}")
        raise click.ClickException(f"notebooks/{path.name} is missing; `{back}` restores it")
    click.echo(f"opening notebooks/{path.name}; Ctrl+C ends JupyterLab")
    sys.exit(notebook_server.wait_for(notebook_server.start(path, *options)))


def _is_name(words: Sequence[str]) -> bool:
    return bool(words) and not words[0].startswith("-")


def _open_text(name: str | None) -> None:
    """Open the text of a lesson, or of the exercise that comes next, at the exercise's card."""
    from course.publishing.site.markup import anchor
    from course.student import texts
    from course.student.progress import next_exercise, status_of_all

    status = status_of_all()
    is_named = name is not None
    exercise = _one_exercise(name) if is_named else (next_exercise(status) or (None, None))[1]
    lesson = find_lesson(exercise.lesson if exercise else name if is_named else lessons()[-1].stem)
    try:
        page = texts.write_texts(status, click.echo) / lesson.stem / "README.html"
    except OSError as error:
        raise click.ClickException(
            f"{error.filename} cannot be written: {error.strerror}"
        ) from None
    except RuntimeError as error:  # the tests cannot be loaded
        raise click.ClickException(str(error)) from None
    address = page.as_uri() + (f"#{anchor(exercise)}" if exercise else "")
    click.echo(f"opening {address}")
    webbrowser.open(address)


@click.command(short_help="Start an exercise or a lesson again; your version is kept.")
@click.argument("name", required=False, metavar="[EXERCISE | LESSON | FILE]")
@click.option("--list", "only_list", is_flag=True, help="List the saved copies.")
@click.option(
    "--restore",
    metavar="[COPY | LESSON]",
    is_flag=False,
    flag_value="",
    help="Restore a copy from the list, a lesson's latest copy or, by default, the latest of all.",
)
def reset(name: str | None, only_list: bool, restore: str | None) -> None:
    """Put an EXERCISE, a LESSON's module and notebook, or a FILE back to its original state.

    Your version is saved first, as a copy named after the date and time. --restore brings it back,
    and saves what it replaces, so you can't lose anything.

    \b
    Examples:
      course reset rotate_half
      course reset rope
      course reset exercises/rope.py
      course reset --list
      course reset --restore
      course reset --restore rope
    """
    from course.publishing.building.build import BuildError
    from course.student import backups

    if [bool(name), only_list, restore is not None].count(True) != 1:
        raise click.UsageError("choose one: a name to reset, --list, or --restore")
    try:
        if only_list:
            lines = [f"{one}  {', '.join(backups.contents(one))}" for one in backups.kept()]
            click.echo("\n".join(lines or ["there are no copies yet"]))
            return
        if restore is not None:
            copy, files = _copy_to_restore(restore)
            kept = backups.restore(copy, files)
            named = [path.name for path in files or backups.kept()[copy]]
            done = f"{copy} has been restored: {', '.join(named)}"
        elif exercise := _one_exercise(name):
            kept, done = backups.reset_exercise(exercise), f"{name} is back to its original state"
        else:
            kept = backups.reset(*_named_files(name))
            done = f"{name} is back to its original state"
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except (BuildError, OSError) as error:
        raise click.ClickException(backups.why_not(error)) from None
    click.echo(done)
    if kept:
        click.echo(f"to get your version back: {typed(f'course reset --restore {kept}')}")


def _copy_to_restore(name: str) -> tuple[str, tuple[Path, ...]]:
    """Return the copy that is meant, and which files of it; no files for all."""
    from course.student import backups

    if not name or name in backups.kept() or not _is_known(name):
        return name or backups.newest(), ()
    return backups.newest(_named_files(name)), _named_files(name)


def _is_known(name: str) -> bool:
    try:
        return bool(_files_of(name))
    except UnknownName:
        return False


def _one_exercise(name: str) -> Exercise | None:
    """Return the exercise if the name is one of an exercise alone."""
    if len(_files_of(name)) == 2 and len(find_exercises(name)) == 1:
        return find_exercises(name)[0]
    return None


def _named_files(name: str) -> tuple[Path, ...]:
    """Return the file of this name, or the files of a lesson."""
    files = _files_of(name)
    return tuple(path for path in files if path.name == Path(name).name) or files


@click.command(short_help="Pack what your instructor needs into one zip.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("submission.zip"),
    show_default=True,
    help="The zip to write.",
)
@click.option("--name", default="", help="Your name, for the manifest.")
def submit(out: Path, name: str) -> None:
    """Pack your modules and notebooks into one zip to hand in.

    It shows your points from the last `course check`, warns about missing or damaged files, and
    packs everything anyway: your instructor decides what counts. You can submit as often as you
    like, and the same work gives the same zip. Your files are never changed.

    \b
    Examples:
      course submit
      course submit --name "Ada Lovelace" --out ada.zip
    """
    from course.student import submission
    from course.student.board import course_board
    from course.student.progress import UNCHECKED, cannot_be_loaded, status_of_all

    try:
        submission.refuse_to_replace(out)
        files, remarks = submission.collect()
        if not files:
            raise click.ClickException(
                "there is nothing to hand in: no modules or notebooks were found."
            )
        data = submission.pack(files, name)
        write_bytes_atomically(out, data)
    except submission.SubmissionError as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(
            f"{out} cannot be written: {error.strerror}. Choose another file with --out."
        ) from None
    status = status_of_all()
    click.echo(f"{course_board(status)}\n")
    if UNCHECKED in status.values() or any(map(cannot_be_loaded, lessons())):
        remarks.append(f"Some of your work hasn't been checked; run `{typed('course check')}`.")
    for remark in remarks:
        click.secho(filled(remark), fg="yellow")
    n_modules = sum(path.endswith(".py") for path in files)
    click.echo(
        f"packed {out}: {n_modules} of {len(lessons())} modules, "
        f"{len(files) - n_modules} of {len(stems())} notebooks, "
        f"{len(data) / 1000:,.0f} kB"
    )


@click.command(short_help="Make a repository for students, without solutions.")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--show",
    type=click.Choice(["never", "passed", "always"]),
    default="passed",
    show_default=True,
    help="When `course show` shows a solution: never, once the exercise passed, or on giving up.",
)
def handout(folder: Path, show: str) -> None:
    """Write a copy of this repository for students to FOLDER, without solutions.

    All commands for students, the tests and the notebooks work in it, and your changes come along.
    What gives answers away is packed into one file, course/answers.zip, so reading or searching
    shows no solution. That's a curtain, not a lock: the graded tests stay readable, too, and
    compute some answers in their own way. Run it again to renew FOLDER.

    \b
    Examples:
      course handout ../what-and-where-2027
      course handout ../what-and-where-2027 --show never
    """
    from course.publishing.building.build import BuildError
    from course.publishing.handout import write_handout

    try:
        n_files = write_handout(folder, show)
    except (BuildError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{folder}: {n_files} files; now run `git init` there, commit, and publish it")


@click.command(short_help="Generate exercises/ and notebooks/ from solutions/.")
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; fail if a file is out of date."
)
@click.option("--force", is_flag=True, help="Replace edited files too, keeping a copy of each.")
def build(only_check: bool, force: bool) -> None:
    """Generate exercises/ and notebooks/ from solutions/, with a TODO in place of each solution.

    It doesn't replace a file that you edited unless you add --force. Then it saves a copy first,
    and prints its name.

    \b
    Examples:
      course build
      course build --check
    """
    from course.publishing.building import build as building
    from course.student import backups

    try:
        report = building.drift() if only_check else building.build(backups.keep if force else None)
    except (building.BuildError, OSError) as error:
        raise click.ClickException(str(error)) from None
    click.echo("\n".join(report or ["exercises/ and notebooks/ are up to date"]))
    if any(line.startswith("kept your") for line in report):
        click.echo(
            f"`{typed('course reset --list')}` lists the saved copies; --restore brings one back."
        )
    sys.exit(1 if only_check and report else 0)
