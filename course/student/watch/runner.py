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
from collections.abc import Callable
from pathlib import Path

from course import root
from course.syllabus import Lesson
from course.system.console import PREFIX, command_prefix

FORKS = sys.platform == "linux"
"""Whether a run is a fork of the warm process. Windows cannot fork; on macOS, what the system's
libraries do in threads may not survive it, once PyTorch has used them."""


class Runner:
    """A warm process for one run at a time; whoever wishes for a new one stops the one before."""

    def __init__(self, report: Callable[[dict], None], lesson: Lesson, forks: bool) -> None:
        """Start the process.

        Args:
            report: is given, from another thread, every message; it must come to `receive`.
            lesson: what will probably be wished for first.
            forks: whether each run is a fork of the process; if not, the process ends with it.
        """
        self._report = report
        self._forks = forks
        self._scratch = tempfile.TemporaryDirectory(
            prefix="course-watch-", ignore_cleanup_errors=True
        )
        self._folder = Path(self._scratch.name)
        self._likely = [lesson.stem]
        self._wish: dict | None = None  # what is to be run as soon as it can be
        self._number = 0  # of the wish that was made last
        self._start()

    def _start(self) -> None:
        self._idle = self._was_idle = self._failed = False
        self._running = 0  # the number of the run that goes on; 0 if there is none
        self._pid: int | None = None  # of the process to be ended, to end the run
        way = "fork" if self._forks else "once"
        server = [sys.executable, "-m", "course.student.watch.server", str(self._folder), way]
        with open(self._folder / "errors", "wb") as errors:
            self._process = subprocess.Popen(
                [*server, *self._likely],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
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
                self._report({**json.loads(line), "process": process})
        self._report({"event": "gone", "process": process})

    def wish(self, lessons: list[Lesson], width: int) -> None:
        """Run the tests of these lessons as soon as possible."""
        self._number += 1
        stems = [lesson.stem for lesson in lessons]
        if len(stems) == 1:
            self._likely = stems
        self._wish = {"run": self._number, "lessons": stems, "width": width}
        self._kill()
        self._grant()

    def _grant(self) -> None:
        if self._wish and self._idle:
            line = json.dumps(self._wish).encode() + b"\n"
            self._running, self._wish, self._idle = self._number, None, False
            with contextlib.suppress(OSError):  # it has just ended, which will be told
                self._process.stdin.write(line)
                self._process.stdin.flush()

    def receive(self, message: dict) -> dict | None:
        """Take note of a message; return it if it is about the run that was wished for last."""
        if message.pop("process") is not self._process:
            return None
        match message:
            case {"event": "idle"}:
                self._idle = self._was_idle = True
                self._running, self._pid = 0, None
                self._grant()
            case {"event": "started", "pid": pid, "run": number}:
                self._pid = pid
                if number != self._number:
                    self._kill()
            case {"event": "failed"}:
                self._failed = True
            case {"event": "gone"} if not self._failed:  # else why was told
                code = self._process.wait()
                if not self._was_idle:
                    return {"event": "failed", "why": self._last_words()}
                message = {"event": "ended", "run": self._running, "code": code}
                self._start()
        return message if message.get("run", self._number) == self._number else None

    def _last_words(self) -> str:
        errors = (self._folder / "errors").read_text(encoding="utf-8", errors="replace")
        lines = errors.strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.returncode}"

    def log(self, number: int) -> str:
        """Return what a run that did not end well left behind."""
        try:
            return (self._folder / f"log-{number}").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def restart(self) -> None:
        """Load the tests anew."""
        self._end()
        self._start()

    def close(self) -> None:
        """End the process and the run."""
        self._end()
        self._scratch.cleanup()

    def _kill(self) -> None:
        """End the run, as soon as it has told that it started; its process will tell the end."""
        if self._pid is not None:
            with contextlib.suppress(OSError):
                if os.name == "nt":
                    self._process.kill()
                else:
                    os.killpg(self._pid, signal.SIGKILL)

    def _end(self) -> None:
        self._kill()
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()


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
        name = signal.strsignal(-code) or f"signal {-code}"
        what = f"crashed the Python process: {name}."
    elif code >= 0xC0000000:  # how Windows counts
        what = f"crashed the Python process: Windows error {code:#x}."
    else:
        what = (
            f"ended the whole Python process, with status {code}; take out os._exit, or whatever "
            "else ends a program."
        )
    doing = f"While {exercise} was tested" if exercise else "While it was loaded"
    said = f"{doing}, {module.parent.name}/{module.name} {what}"
    if deepest := re.search(r'exercises[\\/](\w+\.py)", line (\d+)', log):
        name, line = deepest[1], int(deepest[2])
        path = str(root() / "exercises" / name)
        linecache.checkcache(path)
        said += f"\n  at      exercises/{name}:{line}: {linecache.getline(path, line).strip()}"
    return said
