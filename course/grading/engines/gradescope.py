"""`course gradescope`: the zip that makes Gradescope grade with this course.

It holds `setup.sh`, `run_autograder` and their settings, and beside them what grading needs of
this repository. Gradescope unpacks it to /autograder/source.

Source: Gradescope, "Autograder Specifications".
"""

import io
import shlex
import zipfile
from collections.abc import Sequence
from pathlib import Path

import click

from course import root
from course.core.files import add_to_zip, write_bytes_atomically
from course.core.syllabus import Lesson, chosen_lessons, counted_lessons

_SCRIPTS = Path(__file__).with_name("autograder")
_NEEDED = ("pyproject.toml", "README.md", "LICENSE", "course/**/*", "solutions/*", "tests/test_*")


@click.command(short_help="Make an autograder for Gradescope.")
@click.option("--lesson", "chosen", multiple=True, help="Grade this lesson only; may be repeated.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("autograder.zip"),
    show_default=True,
    help="The zip to write.",
)
@click.option(
    "--torch-index",
    metavar="URL",
    default="",
    help="The index of PyTorch's CPU builds (see pytorch.org). Without it, pip installs the "
    "default build, which is gigabytes larger.",
)
def gradescope(chosen: tuple[str, ...], out: Path, torch_index: str) -> None:
    """Make a zip that you upload to Gradescope as an assignment's autograder.

    Students hand in modules such as rope.py, or all of exercises/. Lessons that aren't handed in
    earn nothing, so use --lesson to choose the lessons of the assignment.

    \b
    Examples:
      course gradescope
      course gradescope --lesson rope --out rope.zip
    """
    try:
        wanted = chosen_lessons(chosen) or counted_lessons()
        write_bytes_atomically(out, autograder(wanted, torch_index))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error.filename or out}: {error.strerror}") from None
    click.echo(f"{out}: {sum(lesson.points for lesson in wanted)} points")
    click.echo("Upload it under Configure Autograder, and choose a container with 2 GB or more.")


def autograder(wanted: Sequence[Lesson], torch_index: str = "") -> bytes:
    """Return the bytes of the zip; the same for the same files and settings.

    Args:
        wanted: the lessons to grade.
        torch_index: a URL where pip may look for packages beside its usual place.
    """
    settings = f"lessons=({' '.join(f'--lesson {lesson.stem}' for lesson in wanted)})\n"
    if torch_index:
        settings += f"export PIP_EXTRA_INDEX_URL={shlex.quote(torch_index)}\n"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as opened:
        for name in ("setup.sh", "run_autograder"):
            script = (_SCRIPTS / name).read_text(encoding="utf-8")  # bash wants \n, also of Windows
            add_to_zip(opened, name, script.encode(), 0o755)
        add_to_zip(opened, "settings.sh", settings.encode())
        for path in (path for pattern in _NEEDED for path in sorted(root().glob(pattern))):
            name = path.relative_to(root()).as_posix()
            if path.is_file() and "__pycache__" not in name and "/." not in f"/{name}":
                add_to_zip(opened, name, path.read_bytes())
    return packed.getvalue()
