"""The watcher: it tests what is saved, shows the verdict, and reads keys."""

import contextlib
import os
import queue
import shutil
import sys
import threading
import time
from pathlib import Path

import click

from course import root
from course.student import hints
from course.student.board import course_board
from course.student.progress import chosen_exercise, next_exercise, status_of_all
from course.student.warm.process import FORKS, WarmProcess, how_it_ended
from course.syllabus import Lesson, lessons

POLL_SECONDS = 0.015
"""The time between two looks at the files; a file that two in a row find the same is complete."""

SLOW_SECONDS = 3
"""The time after which a run that still goes on says what it is doing."""

END_OF_INPUT = ""
"""The key after which no other comes."""


class Watcher:
    """A watcher of all lessons.

    Args:
        lesson: the one to be tested at first; None for the one that comes next.
        forks: whether each run is a fork of the warm process; None for where that is safe.
    """

    def __init__(self, lesson: Lesson | None, forks: bool | None = None) -> None:
        status = status_of_all()
        names = tuple(exercise.name for exercise in lesson.exercises) if lesson else ()
        following, exercise = next_exercise(status, names) or (lessons()[-1], None)
        self._lesson = lesson or following
        self._exercise = exercise and exercise.name  # what hints are about
        self._began = 0.0
        self._at: str | None = None  # the exercise that is being tested
        self._warned = False
        self._events: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        click.echo(f"{course_board(status)}\n")
        click.echo("Loading PyTorch; after that, each save is tested at once.")
        self._warm = WarmProcess(
            "course.student.watch.verdict",
            lambda *told: self._events.put(("told", told)),
            FORKS if forks is None else forks,
        )

    def run(self) -> None:
        """Watch until the student ends it.

        Raises:
            RuntimeError: there is nothing to watch, or the course's own tests cannot be loaded.
        """
        if not (root() / "exercises").is_dir():
            raise RuntimeError("exercises/ is missing; `course build` makes it")
        threading.Thread(target=self._read_keys, daemon=True).start()
        is_over = False
        seen = before = _files()
        try:
            self._test(self._lesson)
            while self._warm.is_busy or not is_over:
                try:
                    kind, event = self._events.get(timeout=POLL_SECONDS)
                except queue.Empty:
                    now = _files()
                    if now == before != seen:
                        self._on_save({path for path, _ in now.items() ^ seen.items()})
                        seen = now
                    before = now
                    self._warn_if_slow()
                    continue
                match kind, event:
                    case "told", (process, message):
                        self._on_message(self._warm.receive(process, message))
                    case "key", "q":
                        break
                    case "key", "h":
                        self._hint()
                    case "key", key:
                        is_over = is_over or key == END_OF_INPUT
        finally:
            self._warm.close()

    def _read_keys(self) -> None:
        """Note each letter that is typed, or comes from a pipe."""
        with contextlib.suppress(OSError):  # the terminal is gone
            while letters := os.read(0, 80):
                for letter in letters.decode("ascii", errors="replace"):
                    self._events.put(("key", letter))
        self._events.put(("key", END_OF_INPUT))

    # --- saves and runs ---------------------------------------------------------------------

    def _on_save(self, paths: set[Path]) -> None:
        stems = {path.stem for path in paths}
        touched = [lesson for lesson in lessons() if lesson.stem in stems]
        lesson = self._lesson if self._lesson in touched else next(iter(touched), None)
        if lesson:
            self._test(lesson)

    def _test(self, lesson: Lesson) -> None:
        self._lesson, self._began = lesson, time.monotonic()
        self._at, self._warned = None, False
        width = shutil.get_terminal_size().columns
        self._warm.run({"lesson": lesson.stem, "width": width})

    def _on_message(self, message: dict | None) -> None:
        match message:
            case {"testing": exercise}:
                self._began = self._began if self._at is not None else time.monotonic()
                self._at = exercise
            case {"done": {"verdict": text, "exercise": exercise}}:
                self._exercise = exercise
                self._show(text)
            case {"ended": code, "log": log}:
                self._exercise = self._at or self._exercise
                doing = f"While {self._at} was tested" if self._at else "While it was loaded"
                text = how_it_ended(code, log, doing, self._lesson.module())
                self._show(click.style(text, fg="red"))

    # --- what is shown ----------------------------------------------------------------------

    def _show(self, text: str) -> None:
        is_terminal = sys.stdout.isatty()
        if is_terminal:
            click.clear()
        seconds = time.monotonic() - self._began
        file = f"exercises/{self._lesson.stem}.py"
        click.echo(f"{text}\n\n{file}: {seconds:.2f} s; save to test again")
        if is_terminal:
            click.echo("h and Enter: a hint   q and Enter: quit")

    def _warn_if_slow(self) -> None:
        waited = time.monotonic() - self._began
        if self._warm.is_busy and self._at is not None and waited > SLOW_SECONDS:
            if not self._warned:
                click.echo(
                    f"{self._at or f'Loading exercises/{self._lesson.stem}.py'} takes long. A test "
                    "that takes half a minute is stopped; save the file to test it again."
                )
            self._warned = True

    def _hint(self) -> None:
        if self._exercise:
            click.echo(f"\n{hints.one_more(chosen_exercise(self._exercise))}")
        else:
            click.echo("\nEverything passes; there is nothing to hint at.")


def _files() -> dict[Path, tuple[int, int]]:
    """Return when each module was written, and how long it is."""
    found = {}
    for path in (root() / "exercises").glob("*.py"):
        with contextlib.suppress(FileNotFoundError):  # an editor renames it just now
            facts = path.stat()
            found[path] = facts.st_mtime_ns, facts.st_size
    return found
