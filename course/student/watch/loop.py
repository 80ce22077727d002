"""The watcher: one place for what is saved, pressed and told, in order."""

import queue
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from course.student import hints, notebook_server
from course.student.board import course_board
from course.student.progress import chosen_exercise, next_exercise, remember, status_of_all
from course.student.watch.inputs import END, watch_files, watch_keys
from course.student.watch.runner import FORKS, Runner, how_it_ended
from course.syllabus import Lesson, find_lesson, lessons
from course.system.console import typed
from course.testing.result import from_text

LONG = 3
"""Seconds after which a run that still goes on says what it is at."""

SAME_SAVE = 1
"""Seconds within which a file that is written again as it was is still the same save."""


@dataclass
class _Run:
    """One run of tests, from the wish for it to its end.

    Attributes:
        texts: what the files held when it was wished for.
        began: when it did, on the monotonic clock.
        at: the lesson and the exercise that are being tested, once it has begun.
        goes_on: whether neither a verdict came nor an end.
    """

    lessons: list[Lesson]
    texts: dict[Lesson, bytes]
    began: float
    at: tuple[Lesson, str] | None = None
    goes_on: bool = True
    said_that_it_goes_on: bool = False
    said_that_it_takes_long: bool = False


class Watcher:
    """A watcher: tests what is saved, and shows what came out.

    Args:
        lesson: the only one to be watched; None for all.
        forks: whether each run is a fork of the warm process; None for where that is safe.
    """

    def __init__(self, lesson: Lesson | None, forks: bool | None = None) -> None:
        self._watched = [lesson] if lesson else list(lessons())
        self._events: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._terminal = sys.stdout.isatty()
        self._notebooks: list[subprocess.Popen] = []
        self._tests_are_broken = False
        self._input_ended = False
        status = status_of_all()
        names = tuple(exercise.name for one in self._watched for exercise in one.exercises)
        first, exercise = next_exercise(status, names) or (self._watched[0], None)
        if first not in self._watched:
            first = self._watched[0]
        self._exercise = exercise and exercise.name  # what hints are about
        click.echo(f"{course_board(status)}\n")
        click.echo("PyTorch is being loaded; from then on, each save is tested at once.")
        forks = FORKS if forks is None else forks
        self._runner = Runner(partial(self._tell, "told"), first, forks)
        self._test([first])

    def _tell(self, kind: str, value: object) -> None:
        self._events.put((kind, value))

    def run(self) -> int:
        """Watch until the student ends it, and return the exit status.

        Raises:
            RuntimeError: the folders cannot be watched.
        """
        stop = threading.Event()
        saves = watch_files(self._tell, stop)
        try:
            with watch_keys(self._tell):
                while self._last.goes_on or not self._input_ended:
                    try:
                        event = self._events.get(timeout=0.5)  # Windows hears Ctrl+C in between
                    except queue.Empty:
                        self._say_if_it_takes_long()
                        continue
                    match event:
                        case "saved", paths:
                            self._saved(paths)
                        case "blind", why:
                            raise RuntimeError(why)
                        case "told", message:
                            self._told(message)
                        case "key", ("q" | "\x03" | "\x04"):  # Ctrl+C and Ctrl+D, as letters
                            break
                        case "key", key:
                            self._pressed(key)
        finally:
            stop.set()
            self._runner.close()
            for notebook in self._notebooks:
                notebook.terminate()
            saves.join()
        return int(self._tests_are_broken)

    # --- saves and runs ---------------------------------------------------------------------

    def _saved(self, paths: set[Path]) -> None:
        stems = {path.stem for path in paths if path.parent.name == "exercises"}
        touched = [lesson for lesson in self._watched if lesson.stem in stems]
        if any(path.parent.name != "exercises" for path in paths):
            click.echo("The course's own tests or solutions changed; they are loaded anew.")
            self._runner.restart()
            self._test(touched or self._last.lessons)
        elif touched and not self._is_same_save(touched):
            self._test(touched)
        for lesson in lessons():
            if lesson.stem in stems and lesson not in self._watched:
                file = f"exercises/{lesson.stem}.py"
                instead = typed(f"course watch {lesson.stem}")
                click.echo(f"{file} is not watched here. Press q, then: {instead}")

    def _is_same_save(self, touched: list[Lesson]) -> bool:
        """Return whether an editor only wrote it twice, or changed its permissions."""
        soon = time.monotonic() - self._last.began < SAME_SAVE
        return soon and all(self._last.texts.get(lesson) == _text(lesson) for lesson in touched)

    def _test(self, wanted: list[Lesson]) -> None:
        if self._tests_are_broken:
            self._runner.restart()
        self._tests_are_broken = False
        self._last = _Run(wanted, {lesson: _text(lesson) for lesson in wanted}, time.monotonic())
        self._runner.wish(wanted, shutil.get_terminal_size().columns)

    def _told(self, message: dict) -> None:
        run = self._last
        match self._runner.receive(message):
            case {"event": "started"}:
                run.began = time.monotonic()
            case {"event": "testing", "lesson": stem, "exercise": exercise}:
                run.at = find_lesson(stem), exercise
            case {"event": "verdict", "exercise": exercise, "text": text, "results": results}:
                run.goes_on = False
                self._exercise = exercise
                if exercise:  # when a lesson is done, go on with the one that is next
                    lesson = find_lesson(chosen_exercise(exercise).lesson)
                    if lesson not in self._watched:
                        self._watched.append(lesson)
                self._show(text)
                remember(map(from_text, results))
            case {"event": "ended", "code": code, "run": number} if run.goes_on:  # no verdict
                run.goes_on = False
                lesson, exercise = run.at or (run.lessons[0], "")
                self._exercise = exercise or lesson.exercises[0].name
                text = how_it_ended(code, self._runner.log(number), exercise, lesson.module())
                self._show(click.style(text, fg="red"))
            case {"event": "failed", "why": why}:
                run.goes_on, self._tests_are_broken = False, True
                click.echo(f"The course's own tests cannot be loaded:\n{why}")

    # --- what is shown ----------------------------------------------------------------------

    def _show(self, text: str) -> None:
        if self._terminal:
            click.clear()
        seconds = time.monotonic() - self._last.began
        click.echo(f"{text}\n\n{self._files()}: {seconds:.2f} s; save to test again")
        if self._terminal:
            click.echo("h hint   a all lessons   o open the notebook   q quit")

    def _files(self) -> str:
        if len(self._last.lessons) == len(lessons()):
            return "all lessons"
        return ", ".join(f"exercises/{lesson.stem}.py" for lesson in self._last.lessons)

    def _say_if_it_takes_long(self) -> None:
        run = self._last
        if not run.goes_on or run.at is None or run.said_that_it_takes_long:
            return
        if self._terminal and not run.said_that_it_goes_on:  # what stands above is about the past
            run.said_that_it_goes_on = True
            click.echo(f"... testing {self._files()}")
        if time.monotonic() - run.began > LONG:
            run.said_that_it_takes_long = True
            lesson, exercise = run.at
            what = exercise or f"Loading exercises/{lesson.stem}.py"
            click.echo(
                f"{what} takes long. A test that takes half a minute is stopped; save the file "
                "again to begin anew."
            )

    # --- keys -------------------------------------------------------------------------------

    def _pressed(self, key: str) -> None:
        if key == END:
            self._input_ended = True
        elif key == "h":
            running = self._last.at[1] if self._last.goes_on and self._last.at else ""
            if exercise := running or self._exercise:
                click.echo(f"\n{hints.one_more(chosen_exercise(exercise))}")
            else:
                click.echo("\nEverything passes; there is nothing to hint at.")
        elif key == "a":
            self._test(list(lessons()))
        elif key == "o":
            self._open()

    def _open(self) -> None:
        lesson = self._last.lessons[0]
        click.echo(f"\n  read   course/lessons/{lesson.text.name}")
        if not lesson.notebook.exists():
            back = typed(f"course reset notebooks/{lesson.notebook.name}")
            click.echo(f"  notebooks/{lesson.notebook.name} is missing; `{back}` brings it back")
            return
        click.echo(f"  open   notebooks/{lesson.notebook.name}, soon in your browser; it is closed")
        apart = typed(f"course open {lesson.stem}")
        click.echo(f"         when you end this. To have it apart: {apart}")
        if any(one.poll() is None for one in self._notebooks):
            click.echo("  (JupyterLab is running already.)")
            return
        nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._notebooks.append(notebook_server.start(lesson.notebook, **nowhere))


def _text(lesson: Lesson) -> bytes:
    try:
        return lesson.module().read_bytes()
    except OSError:
        return b""
