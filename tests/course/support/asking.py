"""The command `course experiment`, asked within the process of a test."""

from click.testing import CliRunner

from course.cli import main


def experiment(*words: str, lines: str | None = None, code: int = 0) -> str:
    """Return what it prints; it ends with this exit status, and without a traceback."""
    ran = CliRunner().invoke(main, ["experiment", *words], input=lines)
    assert isinstance(ran.exception, SystemExit | None), ran.exception
    assert ran.exit_code == code, ran.output
    return ran.output
