"""The warm process, seen from the watcher: it is started, asked for runs, and stopped here."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from course import root
from course.syllabus import Lesson

FORKS = sys.platform == "linux"
"""Whether a run is a fork of the warm process. Windows cannot fork; on macOS, what the system's
libraries do in threads may not survive it, once PyTorch has used them."""

_APART = (  # so that Ctrl+C in the terminal does not reach it
    {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    if os.name == "nt"
    else {"start_new_session": True}
)

_SERVER = "course.student.watch.server"


class Runner:
    """One run at a time, in a warm process; whoever wishes for a new one stops the one before."""

    def __init__(self, report: Callable[[dict], None], lesson: Lesson, forks: bool = FORKS) -> None:
        """Start the process.

        Args:
            report: is given, from another thread, every message; it must come to `receive`.
            lesson: what will probably be wished for first.
            forks: whether each run is a fork of the process, or its last deed.
        """
        self._report = report
        self._forks = forks
        self._scratch = tempfile.TemporaryDirectory(
            prefix="course-watch-", ignore_cleanup_errors=True
        )
        self.folder = Path(self._scratch.name)
        self._likely = [lesson.stem]
        self._wish: dict | None = None  # what is to be run as soon as it can be
        self._number = 0
        self._running = 0  # the number of the run that goes on; 0 if there is none
        self._pid: int | None = None
        self._start()

    def wish(self, lessons: list[Lesson], width: int) -> None:
        """Run the tests of these lessons as soon as possible."""
        self._number += 1
        stems = [lesson.stem for lesson in lessons]
        if len(stems) == 1:
            self._likely = stems
        self._wish = {"run": self._number, "lessons": stems, "width": width}
        if self._running:
            self._kill()
        self._grant()

    def receive(self, message: dict) -> dict | None:
        """Take note of a message; return it if it is about the run that was wished for last."""
        if message.pop("process") is not self._process:
            return None
        event = message["event"]
        if event == "idle":
            self._idle = self._has_been_idle = True
            self._running, self._pid = 0, None
            self._grant()
        elif event == "started":
            self._pid = message["pid"]
            if message["run"] != self._number:
                self._kill()
        elif event == "failed":
            self._failed = True
        elif event == "gone":
            message = self._what_its_end_means()
        return message if message.get("run", self._number) == self._number else None

    def _what_its_end_means(self) -> dict:
        code = self._process.wait()
        if self._failed:
            return {"event": "gone"}  # why was told
        if not self._has_been_idle:
            return {"event": "failed", "why": self._last_words()}
        ended = {"event": "ended", "run": self._running, "code": code}
        self._start()
        return ended

    def log(self, number: int) -> str:
        """What a run that did not end well left behind."""
        try:
            return (self.folder / f"log-{number}").read_text(encoding="utf-8", errors="replace")
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

    def _start(self) -> None:
        way = "fork" if self._forks else "once"
        self._errors = self.folder / "errors"
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    _SERVER,
                    str(self.folder),
                    way,
                    *self._likely,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=root(),
                # a process that has used the GPU, or only looked at it, cannot be forked
                env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
                **_APART,
            )
        self._idle = self._has_been_idle = self._failed = False
        self._running, self._pid = 0, None
        threading.Thread(target=self._listen, args=[self._process], daemon=True).start()

    def _listen(self, process: subprocess.Popen) -> None:
        for line in process.stdout:
            with contextlib.suppress(ValueError):  # an empty line, or one that was cut short
                self._report({**json.loads(line), "process": process})
        self._report({"event": "gone", "process": process})

    def _grant(self) -> None:
        if self._wish is None or not self._idle:
            return
        wish, self._wish = self._wish, None
        self._idle = False
        self._running = wish["run"]
        with contextlib.suppress(OSError):  # it has just ended, which will be told
            self._process.stdin.write(json.dumps(wish).encode() + b"\n")
            self._process.stdin.flush()

    def _kill(self) -> None:
        """End the run; its process, or the process that it was forked from, will tell."""
        if self._pid is None:
            return  # it will be ended when it tells that it started
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

    def _last_words(self) -> str:
        lines = self._errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {self._process.returncode}"
