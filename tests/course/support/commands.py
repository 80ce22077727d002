"""The `course` command in this process."""

from click.testing import CliRunner

from course.cli import main


def course(*arguments: str, status: int = 0, lines: str | None = None) -> str:
    """What it prints, errors too, when somebody types these lines; it ends with this status."""
    result = CliRunner().invoke(main, arguments, input=lines)
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code == status, result.output
    return result.output


def experiment(*arguments: str, **options: int | str) -> str:
    """The same for `course experiment`."""
    return course("experiment", *arguments, **options)
