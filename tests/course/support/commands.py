"""The `course` command in this process."""

from click.testing import CliRunner

from course.cli import main


def course(*arguments: str, status: int = 0) -> str:
    """What it prints, errors too."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return result.output
