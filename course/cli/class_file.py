"""`course class`: the class's own file."""

from pathlib import Path

import click

from course.grading.class_file.settings import NAME
from course.messages.wording import counted


@click.group("class", short_help="Who is in the class, what is due when.")
def class_() -> None:
    """Begin and check class.toml: the roster, dates, extensions, decisions of your own."""


@class_.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path(NAME),
    show_default=True,
    help="The file to begin.",
)
def init(source: Path, out: Path) -> None:
    """Begin class.toml from SOURCE: an export of Canvas, Moodle or GitHub Classroom, or a folder.

    A folder, or a zip, is that of the submissions: its students become the roster. Where there is
    a class.toml already it is left alone, and the lines of those who are not in it are printed.

    \b
    Examples:
      course class init 2026-10-01_Grades-CS1.csv
      course class init submissions/
    """
    from course.grading.class_file.beginning import (
        first_class_file,
        people_of_folders,
        roster_lines,
        unknown,
    )
    from course.grading.class_file.exports import ExportError, read_export
    from course.grading.class_file.reading import ClassFileError, read_class_file
    from course.grading.submissions import SubmissionsError, read_submissions
    from course.system.files import write_whole

    try:
        if source.is_dir() or source.suffix.lower() == ".zip":
            people, titles = people_of_folders(one.student for one in read_submissions(source)), []
        else:
            export = read_export(source)
            people, titles = [row.person for row in export.rows()], export.header
        if not people:
            raise click.ClickException(f"{source} names no student")
        if out.exists():
            missing = unknown(people, read_class_file(out).people.values())
            click.echo(
                f"{out} is there already, and stays as it is. "
                f"{len(missing)} of {len(people)} students in {source} are not on its roster."
            )
            if missing:
                click.echo("Lines for its [students]:\n")
                click.echo("\n".join(roster_lines(missing)))
            return
        write_whole(out, first_class_file(people, titles))
        read_class_file(out)
    except (ClassFileError, ExportError, SubmissionsError) as error:
        raise click.ClickException(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename or out}: {error.strerror}") from None
    click.echo(
        f"{out}: {counted(len(people), 'student')}. Fill in dates, then: course class check {out}"
    )


@class_.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False), default=Path(NAME))
def check(path: Path) -> None:
    """Check class.toml, and say in numbers what is in it.

    \b
    Examples:
      course class check
      course class check fall/class.toml
    """
    from course.grading.class_file.exports import ExportError, read_export
    from course.grading.class_file.members import Roster
    from course.grading.class_file.reading import ClassFileError, read_class_file

    try:
        found = read_class_file(path)
        click.echo(
            f"{path}: {counted(len(found.people), 'student')}{_sections(found.people.values())}"
        )
        for stem, one in found.assignments.items():
            n = sum(lesson == stem for _, lesson in found.extensions)
            due = f"{one.due:%a %d %b %Y %H:%M %z}" if one.due else "no date"
            click.echo(f"  {stem:<12} {due}{f', {n} extended' if n else ''}")
            if one.export:
                export = read_export(one.export)
                roster = Roster(found, {stem: export}, "")
                rows = list(export.rows())
                known = sum(roster.person_in(row) is not None for row in rows)
                click.echo(
                    f"{'':<15}{one.export.name}: {export.platform}, {known} of {len(rows)} rows "
                    "are of students on the roster"
                )
        decided = f"decisions: {len(found.decisions)}, comments: {len(found.comments)}"
        click.echo(f"  {decided}")
    except (ClassFileError, ExportError) as error:
        raise click.ClickException(str(error)) from None


def _sections(people) -> str:
    names = sorted({one.section for one in people if one.section})
    return f" in {counted(len(names), 'section')}: {', '.join(names)}" if names else ""
