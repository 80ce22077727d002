"""`course` as a program in a copy of the course: on a pipe, or on a terminal with its screen."""

import contextlib
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pexpect
import pyte
from pexpect.popen_spawn import PopenSpawn

from course import ROOT

PATIENCE = 180
"""Seconds for whatever should happen at all; to wait so long is to fail."""


def copy_of_course(place: Path) -> Path:
    """What a student's commands need, in another folder."""
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb", "golden", "grading")
    for name in ("course", "exercises", "solutions", "tests"):
        shutil.copytree(ROOT / name, place / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


def bring_back(repository: Path) -> None:
    """Undo what a student did in such a copy."""
    shutil.copytree(ROOT / "exercises", repository / "exercises", dirs_exist_ok=True)
    shutil.rmtree(repository / ".course", ignore_errors=True)


class OnPipe:
    """`course` where nobody looks: all that it prints is read, line by line."""

    def __init__(self, repository: Path, *arguments: str) -> None:
        own = {"PYTHONPATH": str(repository), "PYTHONIOENCODING": "utf-8"}
        self._program = PopenSpawn(
            [sys.executable, "-m", "course", *arguments],
            cwd=str(repository),
            env=os.environ | own,
            encoding="utf-8",
            timeout=PATIENCE,
        )

    def until(self, pattern: str) -> str:
        """What it prints up to a line in which the pattern is found."""
        self._program.expect(re.compile(rf"[^\n]*(?:{pattern})[^\n]*\n"))
        return self._program.before + self._program.match[0]

    def says_nothing_for(self, seconds: float) -> bool:
        return self._program.expect([pexpect.TIMEOUT, "."], timeout=seconds) == 0

    def press(self, keys: str) -> None:
        self._program.send(keys)

    def ends(self) -> int:
        """The exit status, once it has ended."""
        return self._program.proc.wait(PATIENCE)

    def close(self) -> int:
        """Close its input; the exit status."""
        with contextlib.suppress(OSError):
            self._program.sendeof()
        try:
            return self.ends()
        finally:
            self._program.proc.kill()


class OnTerminal:
    """`course` on a terminal, where one sees the last 24 lines. Windows has none for Python.

    Attributes:
        program: the process, with the other end of its terminal.
    """

    def __init__(self, repository: Path, *arguments: str, columns: int = 80) -> None:
        without = {"COLUMNS", "LINES", "NO_COLOR"}
        environment = {name: value for name, value in os.environ.items() if name not in without}
        own = {"PYTHONPATH": str(repository), "PYTHONUTF8": "1", "TERM": "xterm"}
        self._screen = pyte.Screen(columns, 24)
        self._stream = pyte.Stream(self._screen)
        self.program = pexpect.spawn(
            sys.executable,
            ["-m", "course", *arguments],
            cwd=str(repository),
            env=environment | own,
            encoding="utf-8",
            dimensions=(24, columns),
        )
        self._settings = self.settings

    @property
    def settings(self) -> list:
        import termios

        return termios.tcgetattr(self.program.child_fd)

    @property
    def shown(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def until(self, words: str) -> str:
        """What is on the screen once these words are and nothing more is drawn."""
        while words not in self.shown:
            assert self._draws_within(PATIENCE), f"never {words!r}, but\n{self.shown}"
        while self._draws_within(0.1):
            pass
        return self.shown

    def _draws_within(self, seconds: float) -> bool:
        try:
            self._stream.feed(self.program.read_nonblocking(65_536, seconds))
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        return True

    def press(self, keys: str) -> None:
        self.program.send(keys)

    def ends(self) -> int:
        """The exit status, once it has ended with the terminal as it was."""
        while self._draws_within(PATIENCE):
            pass
        assert not self.program.isalive()
        assert self.settings == self._settings
        return self.program.exitstatus

    def close(self) -> None:
        """End it, and with it what it has started: that would write into the next test's files."""
        if self.program.isalive():
            self.program.kill(signal.SIGTERM)
            self.program.expect(pexpect.EOF, timeout=PATIENCE)
        self.program.close(force=True)
