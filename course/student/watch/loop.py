"""The watcher: what is saved, pressed and told comes to one place, in order."""

import queue
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import click

from course import root
from course.student import hints
from course.student.board import course_board
from course.student.progress import next_exercise, remember, status_of_all
from course.student.watch.endings import how_it_ended
from course.student.watch.files import watch_files
from course.student.watch.keys import END, watch_keys
from course.student.watch.runner import Runner
from course.syllabus import Lesson, find_lesson, lessons
from course.testing.result import from_text

LONG = 3
"""Seconds after which a run that still goes on says what it is at."""

SAME_SAVE = 1
"""Seconds within which a file that is written again as it was is still the same save."""

QUIT_KEYS = ("q", "\x03", "\x04")  # also Ctrl+C and Ctrl+D, where a key arrives as a letter


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
    """Tests what is saved, and shows what came out.

    Args:
        lesson: the only one to be watched; None for all.
        forks: whether each run is a fork of the warm process.
    """

    def __init__(self, lesson: Lesson | None, forks: bool) -> None:
        self._watched = [lesson] if lesson else list(lessons())
        self._forks = forks
        self._events: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._terminal = sys.stdout.isatty()
        self._last: _Run
        self._exercise: str | None = None  # what hints are about
        self._broken = False  # whether the tests could not be loaded
        self._input_ended = False
        self._notebooks: list[subprocess.Popen] = []

    def run(self) -> int:
        """Watch until the student ends it; the exit status.

        Raises:
            RuntimeError: the folders cannot be watched.
        """
        status = status_of_all()
        following = next_exercise(status)
        first = self._watched[0]
        if len(self._watched) > 1 and following:
            first = following[0]
        names = tuple(exercise.name for exercise in first.exercises)
        if preferred := next_exercise(status, names):
            self._exercise = preferred[1].name
        click.echo(f"{course_board(status)}\n")
        click.echo("PyTorch is being loaded; from then on, each save is tested at once.")
        stop = threading.Event()
        saves = watch_files(lambda *event: self._events.put(event), stop)
        runner = Runner(lambda message: self._events.put(("told", message)), first, self._forks)
        try:
            with watch_keys(lambda key: self._events.put(("key", key))):
                self._test(runner, [first])
                while self._last.goes_on or not self._input_ended:
                    if self._handle(runner, *self._next_event()):
                        break
        finally:
            stop.set()
            runner.close()
            for notebook in self._notebooks:
                notebook.terminate()
            saves.join()
        return int(self._broken)

    def _next_event(self) -> tuple:
        try:
            return self._events.get(timeout=0.5)  # Windows hears Ctrl+C only in between
        except queue.Empty:
            return "nothing", None

    def _handle(self, runner: Runner, kind: str, value: object) -> bool:
        """Do what an event asks for; whether it asks for the end."""
        if kind == "saved":
            self._saved(runner, value)
        elif kind == "blind":
            raise RuntimeError(value)
        elif kind == "told":
            self._told(runner, value)
        elif kind == "key" and value == END:
            self._input_ended = True
        elif kind == "key" and value in QUIT_KEYS:
            return True
        elif kind == "key":
            self._pressed(runner, value)
        else:
            self._say_if_it_takes_long()
        return False

    # --- saves and runs ---------------------------------------------------------------------

    def _saved(self, runner: Runner, paths: set[Path]) -> None:
        stems = {path.stem for path in paths if path.parent.name == "exercises"}
        touched = [lesson for lesson in self._watched if lesson.stem in stems]
        if any(path.parent.name != "exercises" for path in paths):
            click.echo("The course's own tests or solutions changed; they are loaded anew.")
            runner.restart()
            self._test(runner, touched or self._last.lessons)
        elif touched and not self._is_same_save(touched):
            self._test(runner, touched)
        for lesson in lessons():
            if lesson.stem in stems and lesson not in self._watched:
                file = f"exercises/{lesson.stem}.py"
                click.echo(f"{file} is not watched here. Press q, then: course watch {lesson.stem}")

    def _is_same_save(self, touched: list[Lesson]) -> bool:
        """Some editors write more than once, or change the permissions of what they wrote."""
        soon = time.monotonic() - self._last.began < SAME_SAVE
        return soon and all(self._last.texts.get(lesson) == _text(lesson) for lesson in touched)

    def _test(self, runner: Runner, wanted: list[Lesson]) -> None:
        if self._broken:
            runner.restart()
        self._broken = False
        self._last = _Run(wanted, {lesson: _text(lesson) for lesson in wanted}, time.monotonic())
        runner.wish(wanted, shutil.get_terminal_size().columns)

    def _told(self, runner: Runner, message: dict) -> None:
        heard, run = runner.receive(message), self._last
        event = heard and heard["event"]
        if event == "started":
            run.began = time.monotonic()
        elif event == "testing":
            run.at = find_lesson(heard["lesson"]), heard["exercise"]
        elif event == "verdict":
            run.goes_on = False
            self._exercise = heard["exercise"]
            self._watch_lesson_of(self._exercise)
            self._show(heard["text"])
            remember(map(from_text, heard["results"]))
        elif event == "ended" and run.goes_on:  # without a verdict
            run.goes_on = False
            lesson, exercise = run.at or (run.lessons[0], "")
            self._exercise = exercise or lesson.exercises[0].name
            log = runner.log(heard["run"])
            text = how_it_ended(heard["code"], log, exercise, lesson.module())
            self._show(click.style(text, fg="red"))
        elif event == "failed":
            run.goes_on, self._broken = False, True
            click.echo(f"The course's own tests cannot be loaded:\n{heard['why']}")

    # --- what is shown ----------------------------------------------------------------------

    def _show(self, text: str) -> None:
        if self._terminal:
            click.clear()
        click.echo(text)
        click.echo(f"\n{self._footer()}")

    def _footer(self) -> str:
        seconds = time.monotonic() - self._last.began
        line = f"{self._files()}: {seconds:.2f} s; save to test again"
        return f"{line}\n{_KEYS}" if self._terminal else line

    def _files(self) -> str:
        if len(self._last.lessons) == len(lessons()):
            return "all lessons"
        return ", ".join(f"exercises/{lesson.stem}.py" for lesson in self._last.lessons)

    def _watch_lesson_of(self, exercise: str | None) -> None:
        """When a lesson is done, go on with the one that is next."""
        if exercise:
            lesson = find_lesson(hints.find_exercise(exercise).lesson)
            if lesson not in self._watched:
                self._watched.append(lesson)

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

    def _pressed(self, runner: Runner, key: str) -> None:
        if key == "h":
            self._hint()
        elif key == "a":
            self._test(runner, list(lessons()))
        elif key == "o":
            self._open()

    def _hint(self) -> None:
        running = self._last.at[1] if self._last.goes_on and self._last.at else ""
        exercise = running or self._exercise
        if exercise is None:
            click.echo("\nEverything passes; there is nothing to hint at.")
            return
        click.echo(f"\n{hints.one_more(hints.find_exercise(exercise))}")

    def _open(self) -> None:
        lesson = self._last.lessons[0]
        click.echo(f"\n  read   course/lessons/{lesson.text.name}")
        if not lesson.notebook.exists():
            click.echo(f"  {lesson.notebook.name} is missing; `course build` makes it")
            return
        click.echo(f"  open   notebooks/{lesson.notebook.name}, soon in your browser; it is closed")
        click.echo("         when you end this. To have it apart: course open " + lesson.stem)
        if any(one.poll() is None for one in self._notebooks):
            click.echo("  (JupyterLab is running already.)")
            return
        served = f"--ServerApp.root_dir={root()}"
        start = [sys.executable, "-m", "jupyterlab", served, str(lesson.notebook)]
        nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self._notebooks.append(subprocess.Popen(start, cwd=root(), **nowhere))


_KEYS = "h hint   a all lessons   o open the notebook   q quit"


def _text(lesson: Lesson) -> bytes:
    try:
        return lesson.module().read_bytes()
    except OSError:
        return b""
