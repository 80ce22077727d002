"""`course nbgrader init`: a folder in which nbgrader's own commands grade this course."""

import os
import shutil
from pathlib import Path

import click

_CONFIG = '''"""The settings of nbgrader in this folder. Put yours below `configure`."""

c = get_config()
try:
    from course.grading.nbgrader import configure

    configure(c)
except Exception as error:  # nbgrader would log it and go on without us
    raise SystemExit(
        f"Without the course's judge, nbgrader would run students' notebooks: {error}"
    ) from None
c.CourseDirectory.course_id = "what-and-where"
'''


@click.group(short_help="Grade with nbgrader, safe from hostile code.")
def nbgrader() -> None:
    """Use nbgrader's gradebook, formgrader, feedback and exchange with the course's judge."""


@nbgrader.command(short_help="Set up a folder for a class.")
@click.argument("folder", type=click.Path(path_type=Path))
def init(folder: Path) -> None:
    """Create a FOLDER for a class, with every lesson as an assignment.

    Then run nbgrader's commands there: generate_assignment, autograde, formgrader.

    \b
    Example:
      course nbgrader init my-class
    """
    try:
        _lay_out(folder)
    except OSError as error:
        raise click.ClickException(f"{error.filename or folder}: {error.strerror}") from None
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{folder} is ready. Next, in that folder:")
    click.echo("  nbgrader generate_assignment 1_lookup")


def _lay_out(folder: Path) -> None:
    """Make a class's folder, whole or not at all."""
    from course.core import answers
    from course.core.stubs import stub_of
    from course.core.syllabus import lessons
    from course.publishing.building.notebooks import notebook_from, source_of

    if os.path.lexists(folder) and (folder.is_symlink() or folder.is_file() or os.listdir(folder)):
        raise ValueError(f"{folder} already exists: name a new or an empty folder")
    folder = folder.absolute()
    draft = folder.with_name(f".{folder.name}.{os.getpid()}")
    files = {"nbgrader_config.py": _CONFIG}
    try:
        for lesson in lessons():
            stem = lesson.notebook.stem
            source = answers.text(source_of(stem))
            files[f"source/{stem}/{lesson.stem}.py"] = stub_of(lesson.stem).decode()
            files[f"source/{stem}/{stem}.ipynb"] = notebook_from(
                source, stem, solved=True, linked=False
            )
        for name, text in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
