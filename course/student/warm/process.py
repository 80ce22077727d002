"""The warm process, as others see it: it is started, asked for runs, and stopped here."""

import contextlib
import json
import linecache
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from course import root
from course.core.console import PREFIX, command_prefix

FORKS = sys.platform == "linux"
"""Whether a run is a fork of the warm process. Windows cannot fork; on macOS, what the system's
libraries do in threads may not survive it, once PyTorch has used them."""


class WarmProcess:
    """A warm process for one run at a time; a new request stops the run before.

    Args:
        task: the name of the module that says what to do.
        tell: is given, from another thread, a process and its message; they must come to `receive`.
        forks: whether each run is a fork of the process; if not, the process ends with it.

    Attributes:
        is_busy: whether a run is asked for, or goes on.
    """

    def __init__(
        self, task: str, tell: Callable[[subprocess.Popen, dict], None], forks: bool = FORKS
    ) -> None:
        self.is_busy = False
        self._task = task
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
        way, lesson = "fork" if self._forks else "once", self._request["lesson"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course.student.warm.server", way, self._task, lesson],
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

    def run(self, request: dict[str, Any]) -> None:
        """Ask for a run with a "lesson", a stem, and whatever else the task takes, as JSON."""
        if self.is_busy and self._pid is None and request == self._request:
            return  # the run that has not begun will read what is there by then
        self._request = request
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
            self._process.stdin.write(f"{json.dumps(request)}\n".encode())
            self._process.stdin.flush()

    def receive(self, process: subprocess.Popen, message: dict) -> dict | None:
        """Take note of a message; return it if it is about the run that was asked for last.

        Raises:
            RuntimeError: the tests cannot be loaded.
        """
        if process is not self._process:
            return None
        match message:
            case {"pid": pid}:
                self._pid = pid
                return None
            case {"gone": _} if self._pid is None:
                raise RuntimeError(f"The course's own tests cannot be loaded:\n{self._log()}")
            case _ if self._pid is None:  # of the run before, which was stopped
                return None
            case {"ended": code} | {"gone": code}:
                message = {"ended": code, "log": self._log()}
            case {"done": _}:
                pass
            case _:  # what the task tells meanwhile
                return message
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


def results(task: str, requests: Iterable[dict[str, Any]]) -> Iterator[dict]:
    """Yield for each request {"done": what the task returned}, or how else the run ended.

    Raises:
        RuntimeError: the task cannot be loaded.
    """
    told = queue.SimpleQueue()
    warm = WarmProcess(task, lambda *message: told.put(message))
    try:
        for request in requests:
            warm.run(request)
            while warm.is_busy:
                message = warm.receive(*told.get())
            yield message
    finally:
        warm.close()


def _kill_group(pid: int) -> None:
    """End a process that leads a group, and the group; Windows has none."""
    if os.name != "nt":
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


def how_it_ended(code: int, log: str, doing: str, module: Path) -> str:
    """Say how a process ended before its verdict, and at which line of the student's file.

    Args:
        code: its exit code; negative for the signal that ended it.
        log: what it left behind.
        doing: what it was doing, "While rotate_half was tested".
        module: the student's file.
    """
    if log.startswith("Timeout ("):
        what = "didn't finish and couldn't be interrupted, so it was stopped."
    elif log.startswith("Traceback "):
        what = f"could not be tested: {log.splitlines()[-1]}"
    elif code == -9:
        what = "was killed by the system, probably because it ran out of memory."
    elif code < 0:
        what = f"crashed the Python process: {signal.strsignal(-code)}."
    else:
        what = f"ended the whole Python process with status {code}, by os._exit or by a crash."
    said = f"{doing}, {module.parent.name}/{module.name} {what}"
    if deepest := re.search(r'exercises[\\/](\w+\.py)", line (\d+)', log):
        name, line = deepest[1], int(deepest[2])
        path = str(root() / "exercises" / name)
        linecache.checkcache(path)
        said += f"\n  at      exercises/{name}:{line}: {linecache.getline(path, line).strip()}"
    return said
