"""The loop: it shows the next exercise, tests what is saved, and goes on when that passes."""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import click

from course import root
from course.core.syllabus import Exercise, Lesson, find_lesson, lessons
from course.core.terminal import Screen, columns, folded, is_terminal
from course.student import hints
from course.student.board import everything_passes, points_of
from course.student.progress import PASSED, next_exercise, status_of_all
from course.student.show import how_it_is_done
from course.student.warm.process import FORKS, WarmProcess, how_it_ended
from course.student.watch import words
from course.student.watch.saves import Saves
from course.student.watch.text import step_of

SLOW_SECONDS = 3
"""The time after which a test that still goes on is said to take a long time."""

SOON_SECONDS = 0.5
"""The time after which a save that has no verdict yet is acknowledged."""

_SAVED = "Saved. It is tested as soon as PyTorch is loaded, in a few seconds."
_LOADING = "Loading PyTorch, which takes a few seconds. You can already edit and save."


class Loop:
    """The loop, at one exercise after another.

    Args:
        exercise: the one to begin with; None for the one that comes next.
        forks: whether each run is a fork of the warm process; None for where that is safe.
    """

    def __init__(self, exercise: Exercise | None, forks: bool | None = None) -> None:
        self._status = status_of_all()
        following = next_exercise(self._status)
        self._exercise = exercise or (following and following[1])
        self._tested = find_lesson(self._exercise.lesson) if self._exercise else lessons()[-1]
        self._passed: list[Exercise] = []  # what passed last, to show the answers of
        self._news = ""
        self._is_wrong = False  # whether the news is that something is
        self._line = _LOADING
        self._view = ""  # what a key asked for, in place of the news
        self._offer = ""  # which keys matter while the view is shown
        self._n_sections = 0  # of the text, that the key t has shown one after the other
        self._began = 0.0
        self._at: str | None = None  # the exercise that is being tested
        self._is_by_itself = True  # whether the run goes on without a save
        self._events: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        self._screen = Screen() if is_terminal() else None
        self._warm = WarmProcess(
            "course.student.watch.task",
            lambda *told: self._events.put(("told", told)),
            FORKS if forks is None else forks,
        )

    def run(self) -> None:
        """Go on until the student ends it.

        Raises:
            RuntimeError: there is nothing to watch, or the course's own tests cannot be loaded.
        """
        if not (root() / "exercises").is_dir():
            raise RuntimeError("exercises/ is missing; `course build` makes it")
        with self._screen or contextlib.nullcontext():
            try:
                self._run()
            finally:
                self._warm.close()

    def _run(self) -> None:
        if not self._screen:
            threading.Thread(target=self._read_keys, daemon=True).start()
        self._saves = Saves(root() / "exercises")
        self._show()
        if not self._screen:
            click.echo(f"Type a letter, then Enter:\n  {words.keys_line()}")
        self._test(self._tested)
        is_over = False
        while self._warm.is_busy or not is_over:
            try:
                kind, event = self._events.get(timeout=self._saves.pause)
            except queue.Empty:
                if saved := self._saves.since_last_time(self._tested.module()):
                    self._on_save(saved)
                self._warn_if_slow()
                if self._screen:
                    if self._screen.is_resized():
                        self._show()
                    for key in self._screen.pressed():
                        self._events.put(("key", key))
                continue
            match kind, event:
                case "told", (process, message):
                    self._on_message(self._warm.receive(process, message))
                case "key", "q":
                    break
                case "key", "":  # no other comes
                    is_over = True
                case "key", key:
                    self._on_key(key)
        if is_over:
            click.echo("\nThe loop ends here, because its input does.")

    def _read_keys(self) -> None:
        """Note each letter that comes from a pipe."""
        with contextlib.suppress(OSError):
            while letters := os.read(0, 80):
                for letter in letters.decode("ascii", errors="replace"):
                    if not letter.isspace():  # Enter sends the line with the letter
                        self._events.put(("key", letter))
        self._events.put(("key", ""))

    # --- saves and runs ---------------------------------------------------------------------

    def _on_save(self, paths: set[Path]) -> None:
        stems = {path.stem for path in paths}
        touched = [lesson for lesson in lessons() if lesson.stem in stems]
        lesson = self._tested if self._tested in touched else next(iter(touched), None)
        if lesson:
            self._close_view()
            self._test(lesson, by_itself=False)

    def _test(self, lesson: Lesson, by_itself: bool = True) -> None:
        if by_itself and lesson != self._tested:
            self._line = f"Loading the tests of lesson {lesson.number}."
        self._tested, self._began = lesson, time.monotonic()
        self._at, self._is_by_itself = None, by_itself
        at = self._exercise.name if self._exercise else ""
        self._warm.run({"lesson": lesson.stem, "exercise": at, "columns": columns()})

    def _on_message(self, message: dict | None) -> None:
        match message:
            case {"testing": exercise}:
                if self._at is None:
                    self._began = time.monotonic()
                self._at = exercise
            case {"done": found}:
                self._on_verdict(**found)
            case {"ended": code, "log": log}:
                doing = f"While {self._at} was tested" if self._at else "While it was being loaded"
                said = how_it_ended(code, log, doing, self._tested.module())
                self._news, self._is_wrong = click.style(said, fg="red"), True
                self._after_a_run()

    def _on_verdict(
        self, statuses: dict[str, str], edited: list[str], wrong: str | None, report: str
    ) -> None:
        lesson, before = self._tested, self._status
        self._status = status_of_all() | statuses
        news = [self._news] if self._is_by_itself else []
        if passed := [
            exercise
            for exercise in lesson.exercises
            if statuses.get(exercise.name) == PASSED != before[exercise.name]
        ]:
            self._passed = list(lesson.exercises) if self._is_done(lesson) else passed
            news.append(words.passed(passed, self._status))
        elif not (wrong or self._is_by_itself) and self._is_done(lesson):
            news.append(f"{points_of(lesson, self._status)}.")
        self._news, self._is_wrong = "\n\n".join(filter(None, [*news, report])), bool(wrong)
        self._turn_to_what_is_at_hand(edited, wrong, before)
        self._after_a_run()
        if self._exercise and self._exercise.lesson != lesson.stem:
            self._test(find_lesson(self._exercise.lesson))
            self._show()

    def _turn_to_what_is_at_hand(
        self, edited: list[str], wrong: str | None, before: dict[str, str]
    ) -> None:
        """Turn to the exercise that was saved and is wrong, or that comes after what passed."""
        names = [exercise.name for exercise in self._tested.exercises]
        at = self._exercise.name if self._exercise else ""
        if wrong:
            self._exercise = self._tested.exercise(wrong)
        elif self._is_by_itself and before.get(at) == PASSED:
            return  # the student wants to see it again
        elif self._status.get(at, PASSED) == PASSED or (edited and at not in names):
            self._exercise = self._first(_in_turn(self._tested.exercises[0]))

    def _is_done(self, lesson: Lesson) -> bool:
        return all(self._status[exercise.name] == PASSED for exercise in lesson.exercises)

    def _first(self, in_turn: Sequence[Exercise]) -> Exercise | None:
        """Return the first that has not passed."""
        return next((one for one in in_turn if self._status[one.name] != PASSED), None)

    def _after_a_run(self) -> None:
        if not self._is_by_itself:  # the verdict is what the student waits for
            self._close_view()
        seconds = time.monotonic() - self._began
        file = f"exercises/{self._tested.stem}.py"
        self._line = f"{file}: {seconds:.2f} s; save to test again"
        if self._is_by_itself and not self._is_wrong:
            self._line = f"Ready: save {file} to test it."
        self._show()

    def _warn_if_slow(self) -> None:
        """Say what a save waits for: PyTorch, or a test."""
        waited = time.monotonic() - self._began
        if self._warm.is_busy and waited > SOON_SECONDS and (line := self._waiting_for(waited)):
            is_new, self._line = line != self._line, line
            if is_new:
                self._show()

    def _waiting_for(self, waited: float) -> str:
        if self._at is None:
            return "" if self._is_by_itself else _SAVED
        loading = f"Loading exercises/{self._tested.stem}.py"
        if waited < SLOW_SECONDS:
            doing = f"Testing {self._at}" if self._at else loading
            return f"{doing} ..." if self._screen else ""
        if not self._is_by_itself:
            self._news, self._is_wrong = "", False  # that was about the version before
        return (
            f"{self._at or loading} takes a long time. "
            "A test is stopped after half a minute; save the file to test it again."
        )

    # --- keys -------------------------------------------------------------------------------

    def _on_key(self, key: str) -> None:
        if key == " " and self._screen:
            self._screen.turn_page()
            return
        exercise, n_sections = self._exercise, self._n_sections
        self._close_view()
        match key:
            case "l":
                self._view = words.board(self._tested, self._status)
                self._offer = "Press a lesson's number to go there, Enter to go back."
            case "s":
                self._view = self._answers()
            case _ if lesson := next((one for one in lessons() if str(one.number) == key), None):
                self._go_to(self._first(lesson.exercises) or lesson.exercises[0])
            case _ if exercise is None:
                pass
            case "h":
                self._view = hints.one_more_on_top(exercise)
            case "t":
                self._view, self._n_sections = step_of(exercise, n_sections), n_sections + 1
                self._offer = "Press t for the next section, Enter to go back."
            case "n":
                self._go_to(self._first(_in_turn(exercise)[1:]) or exercise)
        self._show()

    def _close_view(self) -> None:
        self._view, self._offer, self._n_sections = "", "", 0

    def _go_to(self, exercise: Exercise) -> None:
        self._exercise, self._news, self._is_wrong = exercise, "", False
        self._test(find_lesson(exercise.lesson))

    def _answers(self) -> str:
        at = self._exercise
        if at and self._status[at.name] == PASSED:
            return how_it_is_done(at)
        passed = [one for one in self._passed if self._status[one.name] == PASSED]
        if at and not passed:
            return f"{at.name} hasn't passed yet: h shows a hint, t the text."
        passed = passed or self._tested.exercises[-1:]
        answers = "\n\n\n".join(map(how_it_is_done, passed))
        if at is None:
            return answers
        lesson = f"lesson {find_lesson(passed[0].lesson).number}"
        to = passed[0].name if len(passed) == 1 else lesson
        return f"{at.name} hasn't passed yet. These are the answers to {to}:\n\n{answers}"

    # --- what is shown ----------------------------------------------------------------------

    def _show(self) -> None:
        lesson = find_lesson(self._exercise.lesson) if self._exercise else self._tested
        head, news = words.progress_line(lesson, self._status), self._view or self._news
        below = "" if self._view else self._what_to_do()
        gap = "\n" if self._is_wrong else "\n\n"  # there a list of commands goes on
        text = f"{head}\n\n{gap.join(filter(None, [news, below]))}"
        if self._screen:
            self._screen.show(text, f"{self._footer()}\n{words.keys_line()}")
        else:
            click.echo("\n".join(folded(f"\n{text}\n\n{self._footer()}", columns())))

    def _footer(self) -> str:
        line = "Press Enter to go back." if self._view and self._screen else self._line
        return self._offer or line

    def _what_to_do(self) -> str:
        if self._exercise is None:
            return everything_passes()
        if self._is_wrong:  # the message says where to write
            return words.where_to_read(self._exercise)
        return words.task(self._exercise, self._status)


def _in_turn(exercise: Exercise) -> list[Exercise]:
    """Return all exercises from this one on, and after the last those before it."""
    every = [one for lesson in lessons() for one in lesson.exercises]
    place = every.index(exercise)
    return every[place:] + every[:place]
