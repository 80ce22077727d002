"""The warm process, seen from the watcher: it is started, asked for runs, and stopped here."""

import contextlib
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from course import root
from course.syllabus import Lesson
from course.system.console import PREFIX, command_prefix

FORKS = sys.platform == "linux"
"""Whether a run is a fork of the warm process. Windows cannot fork; on macOS, what the system's
libraries do in threads may not survive it, once PyTorch has used them."""


class Runner:
    """A warm process for one run at a time; whoever wishes for a new one stops the one before.

    Args:
        tell: is given, from another thread, a process and its message; they must come to `receive`.
        forks: whether each run is a fork of the process; if not, the process ends with it.

    Attributes:
        is_busy: whether a run is wished for, or goes on.
    """

    def __init__(self, tell: Callable[[subprocess.Popen, dict], None], forks: bool) -> None:
        self.is_busy = False
        self._tell = tell
        self._forks = forks
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process: subprocess.Popen | None = None
        self._began = 0.0  # when it was started, as files say when they were written
        self._pid: int | None = None  # of the run, once it has told that it began

    def _start(self) -> None:
        self._began = time.time()
        self._errors.seek(0)
        self._errors.truncate()
        way = "fork" if self._forks else "once"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course.student.watch.server", way, self._lesson.stem],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=root(),
            # a process that has used the GPU, or only looked at it, cannot be forked
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", PREFIX: command_prefix()},
            # so that Ctrl+C in the terminal does not reach it
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        threading.Thread(target=self._listen, args=[self._process], daemon=True).start()

    def _listen(self, process: subprocess.Popen) -> None:
        for line in process.stdout:
            with contextlib.suppress(ValueError):  # an empty line, or one that was cut short
                self._tell(process, json.loads(line))
        self._tell(process, {"gone": process.wait()})

    def test(self, lesson: Lesson, width: int) -> None:
        """Run the tests of a lesson; `width` is that of the terminal."""
        if self.is_busy and self._pid is None and lesson == self._lesson:
            return  # the run that has not begun will read what is there by then
        self._lesson = lesson
        loaded = [*root().glob("tests/test_*.py"), *root().glob("solutions/*.py")]
        have_changed = any(path.stat().st_mtime > self._began for path in loaded)
        if have_changed or (self.is_busy and not (self._forks and self._pid)):
            self.close()
        elif self.is_busy:
            _kill_group(self._pid)
        if self._process is None:
            self._start()
        self.is_busy, self._pid = True, None
        with contextlib.suppress(OSError):  # it has just ended, which will be told
            self._process.stdin.write(f"{lesson.stem} {width}\n".encode())
            self._process.stdin.flush()

    def receive(self, process: subprocess.Popen, message: dict) -> dict | None:
        """Take note of a message; return it if it is about the run that was wished for last.

        Raises:
            RuntimeError: the tests cannot be loaded.
        """
        if process is not self._process:
            return None
        match message:
            case {"testing": _, "pid": pid}:
                self._pid = pid
                return message
            case {"ended": _} if self._pid is None:  # the run before, which was stopped
                return None
            case {"gone": _} if self._pid is None:
                raise RuntimeError(f"The course's own tests cannot be loaded:\n{self._log()}")
            case {"ended": code} | {"gone": code}:
                message = {"ended": code, "log": self._log()}
        self.is_busy, self._pid = False, None
        if not self._forks or process.poll() is not None:
            self._start()
        return message

    def _log(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode("utf-8", errors="replace").strip()

    def close(self) -> None:
        """End the process and what it has started."""
        if self._process is not None:
            self._process.kill()
            for pid in filter(None, (self._process.pid, self._pid)):
                _kill_group(pid)
            self._process.wait()
            self._process, self.is_busy = None, False


def _kill_group(pid: int) -> None:
    """End a process that leads a group, and the group; Windows has none."""
    if os.name != "nt":
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def how_it_ended(code: int, log: str, exercise: str, module: Path) -> str:
    """Say how a process ended before its verdict, and at which line of the student's file.

    Args:
        code: its exit code; negative for the signal that ended it.
        log: what it left behind.
        exercise: what it was testing; empty while it loaded the file.
        module: the student's file.
    """
    if log.startswith("Timeout ("):
        what = "came to no end and could not be interrupted; it was stopped."
    elif log.startswith("Traceback "):
        what = f"could not be tested: {log.splitlines()[-1]}"
    elif code == -9:
        what = "was stopped by the system, probably because it used up the memory."
    elif code < 0:
        what = f"crashed the Python process: {signal.strsignal(-code)}."
    else:
        what = f"ended the whole Python process, with status {code}: by os._exit, or by a crash."
    doing = f"While {exercise} was tested" if exercise else "While it was loaded"
    said = f"{doing}, {module.parent.name}/{module.name} {what}"
    if deepest := re.search(r'exercises[\\/](\w+\.py)", line (\d+)', log):
        name, line = deepest[1], int(deepest[2])
        path = str(root() / "exercises" / name)
        linecache.checkcache(path)
        said += f"\n  at      exercises/{name}:{line}: {linecache.getline(path, line).strip()}"
    return said
