"""The loop on a terminal: one calm screen, single keys, and files that are looked at."""

import contextlib
import os
import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock
from urllib.parse import urlparse
from urllib.request import url2pathname

import click
import pytest
from terminals import PATIENCE, OnTerminal, bring_back, copy_of_course

from course import ROOT
from course.core import terminal
from course.core.files import write_atomically
from course.core.syllabus import Status, find_exercises, find_lesson, lessons
from course.core.terminal import CTRL_C, Screen, Wrapped, folded, visible_length
from course.student.report import report
from course.student.watch import loop, saves, words
from course.student.watch.saves import Saves
from course.student.watch.text import heading, step_of
from course.testing.loading import run_module
from course.testing.outcomes import Wrong
from course.testing.result import ExerciseResult, LessonResult, TestResult

EXERCISES = [exercise for lesson in lessons() for exercise in lesson.exercises]


# --- lines ----------------------------------------------------------------------------------


def test_lines_are_broken_between_words_and_styles_take_no_room():
    text = f"  got  {click.style('one two', fg='red')} three {'x' * 30} four"
    lines = folded(text, 20)
    assert [click.unstyle(line) for line in lines] == [
        "  got  one two three",
        "x" * 30,
        "       four",
    ]
    assert folded(text, 100) == [text]


@pytest.mark.parametrize("size", [1, 3, 100], ids="pieces of {} characters".format)
def test_a_text_that_comes_in_pieces_is_broken_between_words(monkeypatch, capsys, size):
    monkeypatch.setenv("COLUMNS", "20")
    text = "  one two three four five\nsix seven eight nine!\n\n  averyverylongwordindeed, seven"
    show = Wrapped()
    for start in range(0, len(text), size):
        show(text[start : start + size])
    before = capsys.readouterr().out
    assert before.endswith("averyverylongwordindeed,")  # the last word may not be whole yet
    show.flush()
    assert (before + capsys.readouterr().out).split("\n") == [
        "  one two three four",
        "five",
        "six seven eight",
        "nine!",
        "",
        "  averyverylongwordindeed,",
        "seven",
    ]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)
def test_the_step_of_an_exercise_is_readable_in_a_terminal(exercise):
    line, title = heading(exercise)
    step = "\n".join(folded(step_of(exercise), 40))
    assert line > 1 and re.match(r"\d\. ", title)
    assert click.unstyle(step).startswith(title.split()[0])
    assert exercise.name in step and "Do it." in click.unstyle(step)
    assert "\n\n\n" not in step and not re.search(r"\w {2,}\w", step)
    prose = [one for one in step.split("\n") if not one.startswith("    ")]
    without_code = re.sub(r"`[^`]*`", "", "\n".join(prose))
    assert not re.search(r"<\w+>|\]\(|\*\w|\w\*|^```|\$|\\", without_code, re.MULTILINE)
    links = re.findall(r"file://\S+", step)
    assert all(Path(url2pathname(urlparse(link).path)).exists() for link in links)
    too_long = [one for one in step.split("\n") if visible_length(one) > 40 and " " in one.strip()]
    assert not too_long


@pytest.mark.parametrize("lesson", lessons(), ids=lambda one: one.stem)
def test_every_section_of_a_text_comes_in_turn_and_shows_no_tag(lesson):
    text, steps = lesson.text.read_text(encoding="utf-8"), []
    while (step := click.unstyle(step_of(lesson.exercises[-1], len(steps)))) not in steps:
        steps.append(step)
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    in_order = re.findall(r"^##? (.+)", without_code, re.MULTILINE)
    place = in_order.index(heading(lesson.exercises[-1])[1])
    assert [step.split("\n")[0] for step in steps] == in_order[place:] + in_order[:place]
    prose = [line for line in "\n".join(steps).split("\n") if not line.startswith("    ")]
    assert not re.search(r"</?\w.*|<!.*", re.sub(r"`[^`]*`", "", "\n".join(prose)))
    assert "\n\n\n" not in "\n\n".join(steps)


def test_a_number_in_a_sentence_begins_no_item_of_a_list():
    step = click.unstyle(step_of(find_lesson("permutation").exercise("toy_attention")))
    assert "\n  2. The softmax" in step
    assert "Here C = 4, so sqrt(C) = 2. The dot product of dog" in " ".join(step.split())
    assert not re.search(r"^ *2\. The dot product|^ *0\. Divided", step, re.MULTILINE)


def test_of_several_that_pass_the_last_one_matters_by_its_name():
    bytes_needed = find_lesson("lookup").exercise("one_hot_bytes")
    status = dict.fromkeys((one.name for one in EXERCISES), "to do")
    several = [find_lesson("lookup").exercise(name) for name in ("lookup", "one_hot_lookup")]
    said = click.unstyle(words.passed([*several, bytes_needed], status))
    assert said.startswith("+ lookup, one_hot_lookup and one_hot_bytes pass. one_hot_bytes ")
    assert click.unstyle(words.passed([bytes_needed], status)).endswith(bytes_needed.why)


# --- the screen -----------------------------------------------------------------------------


@pytest.fixture
def screen(monkeypatch, capsys):
    """Returns a screen of some size, and what it shows now, without its control codes."""
    monkeypatch.delenv("NO_COLOR", raising=False)

    def of_size(columns: int, rows: int):
        size = os.terminal_size((columns, rows))
        monkeypatch.setattr(terminal, "get_terminal_size", lambda: size)
        return Screen()

    of_size.raw = lambda: capsys.readouterr().out
    of_size.shown = lambda: click.unstyle(of_size.raw()).strip("\n")
    return of_size


def test_what_does_not_fit_is_turned_to(screen):
    small = screen(30, 8)
    small.show("\n".join(f"line {n}" for n in range(9)), "keys")
    first = screen.shown().split("\n")
    assert first[0] == "line 0" and first[-1] == "keys" and len(first) <= 8
    assert "page 1 of 2, space for more" in first[-3]
    small.turn_page()
    second = screen.shown()
    assert "line 8" in second and "page 2 of 2, space for the first" in second
    small.turn_page()
    assert screen.shown().split("\n") == first
    small.show("short", "keys")
    assert screen.shown().split("\n") == ["short", "", "keys"]


def test_a_terminal_of_another_size_is_drawn_again_with_lines_of_its_width(screen, monkeypatch):
    def longest_drawn() -> int:
        resized.show(text, "keys")
        assert not resized.is_resized()
        return max(len(line) for line in screen.shown().split("\n") if " " in line.strip())

    monkeypatch.setenv("COLUMNS", "40")
    text = step_of(find_lesson("rope").exercises[0])
    resized = screen(40, 500)
    assert longest_drawn() <= 40
    screen(90, 500)
    assert resized.is_resized()
    assert 80 < longest_drawn() <= 90


def test_who_wants_no_color_gets_none(screen, monkeypatch):
    for no_color in ("", "1"):
        monkeypatch.setenv("NO_COLOR", no_color)
        screen(30, 8).show(click.style("wrong", fg="red"), "keys")
        assert (click.style("wrong", fg="red") in screen.raw()) == (not no_color)


# --- saves ----------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text("1", encoding="utf-8")
    return tmp_path


@pytest.fixture
def clock(monkeypatch):
    """The times that it is, by the clock that looks are timed with; at first it rests."""
    times = [0.0]
    monkeypatch.setattr(saves, "time", SimpleNamespace(perf_counter=lambda: times[-1]))
    return times


def looks(seen: Saves, at: Path, number: int = 2 * saves.OTHERS) -> list[set[Path]]:
    return [found for _ in range(number) if (found := seen.since_last_time(at))]


def test_a_save_is_found_once_and_other_files_a_little_later(folder):
    seen, one, two = Saves(folder), folder / "one.py", folder / "two.py"
    assert looks(seen, one) == []
    one.write_text("22", encoding="utf-8")
    assert looks(seen, one, 2) == [{one}]
    two.write_text("22", encoding="utf-8")
    assert looks(seen, one) == [{two}]
    assert looks(seen, two) == []
    two.unlink()
    assert looks(seen, two, 2) == [{two}]


def test_a_save_is_found_where_times_are_coarse(folder):
    """In the same second, of the same length: only the content tells."""
    seen, one = Saves(folder), folder / "one.py"
    assert looks(seen, one) == []
    before = one.stat()
    one.write_text("2", encoding="utf-8")
    os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert looks(seen, one) == [{one}]


def test_a_file_that_is_still_written_is_waited_for(folder, clock):
    seen, one = Saves(folder), folder / "one.py"
    for length in range(2, 5):
        one.write_text("x" * length, encoding="utf-8")
        assert seen.since_last_time(one) == set()
        assert seen.pause < saves.POLL_SECONDS
    assert seen.since_last_time(one) == {one}


@pytest.mark.parametrize("first", [Path.unlink, lambda path: path.write_bytes(b"")])
def test_an_editor_that_removes_or_empties_a_file_first_gets_more_time(folder, clock, first):
    seen, one = Saves(folder), folder / "one.py"
    first(one)
    assert seen.since_last_time(one) == set() and seen.pause == saves.POLL_SECONDS
    one.write_text("22", encoding="utf-8")
    assert seen.since_last_time(one) == set() and seen.pause < saves.POLL_SECONDS
    assert seen.since_last_time(one) == {one}


def test_a_slow_drive_is_looked_at_less_often(folder, clock, monkeypatch):
    seen, one, read = Saves(folder), folder / "one.py", Path.read_bytes
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: clock.append(clock[-1] + 0.02) or read(path)
    )
    seen.since_last_time(one)
    assert saves.POLL_SECONDS < seen.pause <= saves.MOST_SECONDS
    one.write_text("22", encoding="utf-8")
    waited = 0.0
    while not seen.since_last_time(one):  # a look, and one more that finds the same
        waited += seen.pause
    assert waited < 1


# --- keys and verdicts ----------------------------------------------------------------------


def save(repository: Path, old: str, new: str) -> None:
    """Other words in the file of lesson 1."""
    path = repository / "exercises" / "lookup.py"
    text = path.read_text(encoding="utf-8")
    assert old in text
    write_atomically(path, text.replace(old, new))


class Played:
    """The loop with a screen of which the steps are given: a key, or a function that is called."""

    def __init__(self, repository: Path, monkeypatch) -> None:
        self._repository = repository
        self._until = 0
        self._warm = Mock(is_busy=False, receive=lambda process, message: message)
        screen = MagicMock(show=self._show, pressed=self._pressed, is_resized=lambda: False)
        monkeypatch.setattr(loop, "is_terminal", lambda: True)
        monkeypatch.setattr(loop, "Screen", lambda: screen)
        monkeypatch.setattr(loop, "WarmProcess", self._as_warm_process)

    @property
    def requests(self) -> list[dict]:
        """The runs that the loop asked for."""
        return [call.args[0] for call in self._warm.run.call_args_list]

    def through(self, *steps: str | Callable[[], None], at: str = "lookup.lookup") -> list[str]:
        """What is shown after each step, the text and the footer."""
        self._left, self._after = list(steps), []
        [exercise] = find_exercises(at)
        loop.Loop(exercise).run()
        return self._after[1:]

    def saved(self, old: str, new: str) -> Callable[[], None]:
        """A step: other words in the file; it ends when a run is asked for."""

        def write() -> None:
            save(self._repository, old, new)
            self._until = len(self.requests) + 1

        return write

    def verdict(self, *, wrong: str = "", report: str = "", **statuses: str) -> Callable[[], None]:
        """A step: the end of the run; exercises that are not named are to do."""

        def tell() -> None:
            every = find_lesson(self.requests[-1]["lesson"]).exercises
            found = {one.name: "to do" for one in every} | statuses
            done = {"statuses": found, "edited": [], "wrong": wrong or None, "report": report}
            self._warm.is_busy = False
            self._tell(None, {"done": done})

        return tell

    def testing(self, exercise: str) -> Callable[[], None]:
        """A step: the run has come to an exercise, and goes on."""

        def tell() -> None:
            self._warm.is_busy = True
            self._tell(None, {"testing": exercise})

        return tell

    def _as_warm_process(self, task: str, tell: Callable, forks: bool) -> Mock:
        self._tell = tell
        return self._warm

    def _show(self, text: str, footer: str) -> None:
        self._shown = click.unstyle(f"{text}\n\n{footer}")

    def _pressed(self) -> str:
        if len(self.requests) < self._until:
            return ""
        self._after.append(self._shown)
        step = self._left.pop(0) if self._left else "q"
        if isinstance(step, str):
            return step
        step()
        return ""


@pytest.fixture
def played(repository, monkeypatch):
    for folder in ("exercises", "course/lessons"):
        shutil.copytree(ROOT / folder, repository / folder, dirs_exist_ok=True)
    return Played(repository, monkeypatch)


TO_DO = 'raise NotImplementedError("TODO lookup.lookup")'
WRONG, RIGHT = "return weight[ids + 1]", "return weight[ids.long()]"
ALL_OF_LOOKUP = dict.fromkeys((one.name for one in find_lesson("lookup").exercises), "passed")


def test_answers_of_what_passed_before_are_told_from_the_exercise_at_hand(played):
    one = played.verdict(lookup="passed")
    every = played.verdict(**ALL_OF_LOOKUP)
    wrong_again = played.verdict(wrong="lookup", lookup="wrong")
    steps = ["s", one, "s", wrong_again, "s", every, "\r", "s"]
    none, _, of_one, _, wrong, _, done, of_lesson = played.through(*steps)
    for screen in (none, wrong):
        assert "lookup hasn't passed yet" in screen and "The reference:" not in screen
    line = of_one.split("\n")[2]
    assert line.startswith("one_hot_lookup hasn't passed yet.") and line.endswith(" to lookup:")
    assert "\nlookup, pick rows" in of_one
    line = of_lesson.split("\n")[2]
    assert line.startswith("toy_attention hasn't passed yet.") and line.endswith(" to lesson 1:")
    for part in ("Lesson done!", "open lookup", "s shows our answers", "permutation/README.md, "):
        assert part in done


def test_an_exercise_that_passed_stays_when_it_is_gone_to_and_shows_its_answer(played):
    passed = played.verdict(**ALL_OF_LOOKUP)
    *_, there, still, answer = played.through(passed, "1", passed, "s")
    assert "\nlookup: " in there and "\nlookup: " in still
    assert answer.count("The reference:") == 1 and "hasn't passed yet" not in answer


def test_a_number_goes_to_the_first_exercise_of_a_lesson_that_has_not_passed(played):
    steps = [played.verdict(lookup="passed"), "l", "3", played.verdict(), "1", "0"]
    start, board, there, ready, back, unknown = played.through(*steps)
    assert "Ready: save exercises/lookup.py" in start
    assert "lesson's number" in board
    assert "3 learned: " in there and f"\n{find_lesson('learned').exercises[0].name}: " in there
    assert "Loading the tests of lesson 3." in there
    assert "Ready: save exercises/learned.py" in ready and "Loading the tests of lesson 1." in back
    assert "\nlookup: " in back and unknown == back


def test_a_verdict_on_a_save_closes_the_view_and_one_without_does_not(played):
    steps = ["l", played.verdict(), played.saved(TO_DO, WRONG), "l"]
    steps.append(played.verdict(wrong="lookup", report="It is wrong.", lookup="wrong"))
    opened, still, _, again, told = played.through(*steps)
    for board in (opened, still, again):
        assert "What and Where: 0 of" in board
    assert "It is wrong." in told and "What and Where" not in told


def test_while_a_test_takes_long_the_message_about_the_version_before_is_gone(played, monkeypatch):
    monkeypatch.setattr(loop, "SOON_SECONDS", -1)
    wrong = played.verdict(wrong="lookup", report="look at line 3", lookup="wrong")
    steps = [played.verdict(), played.saved(TO_DO, WRONG), wrong, played.saved(WRONG, RIGHT)]
    steps += [played.testing("lookup"), lambda: monkeypatch.setattr(loop, "SLOW_SECONDS", 0)]
    *_, told, _, begun, slow = played.through(*steps)
    assert "look at line 3" in told and "Testing lookup ..." in begun
    assert "lookup takes a long time" in slow and "look at line 3" not in slow


def test_t_again_shows_the_next_section_and_h_the_next_hint_until_there_are_no_more(played):
    own, following, hint, own_again, _, last, no_more = played.through(*"tththhh")
    assert "\n1. An id picks a row\n" in own and "Press t for the next section" in own
    assert "\n2. A one-hot row picks the same row\n" in following
    assert "next section" not in hint and own_again == own
    assert "no more hints" not in last and "no more hints" in no_more
    assert "hint 3 of 3" in no_more


def test_why_a_file_is_no_python_is_one_sentence_and_its_line_is_apart(repository):
    path = repository / "exercises" / "rope.py"
    with pytest.raises(Wrong) as found:
        run_module(b"import torch\n\nscores = (1 + 2\n", path)
    test = TestResult("test_a", Status.WRONG, str(found.value))
    exercise = ExerciseResult("rotate_half", 1, (test,), 1)
    said = report([LessonResult("rope", (exercise,), trouble=str(found.value))])
    rule, sentence, *apart = said.split("\n")
    assert click.unstyle(rule).strip("-") == " rope "
    assert sentence == click.style(click.unstyle(sentence), fg="red", bold=True)
    assert "never closed" in sentence and "scores" not in sentence
    assert apart == ["", "    scores = (1 + 2", "", "  look at exercises/rope.py:3"]


# --- all of it ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def copied(tmp_path_factory) -> Path:
    return copy_of_course(tmp_path_factory.mktemp("terminal") / "course")


@pytest.fixture
def on_terminal(copied):
    if os.name == "nt":
        pytest.skip("Windows has no pseudo-terminals for Python")
    started = []

    def start(*arguments: str, columns: int = 80) -> OnTerminal:
        started.append(OnTerminal(copied, *arguments, columns=columns))
        return started[-1]

    yield start
    for one in started:
        one.close()
    bring_back(copied)


@pytest.mark.slow
def test_alone_it_goes_from_exercise_to_exercise(copied, on_terminal):
    loop = on_terminal()
    loop.until("Ready: save exercises/lookup.py")
    assert "course/lessons/lookup/README.md:" in loop.shown
    save(copied, TO_DO, WRONG)
    assert "exercises/lookup.py:" in loop.until("save to test again")
    loop.press("h")
    loop.until("hint 1 of 3")
    loop.press("h")
    assert "hint 1 of 3" in loop.until("hint 2 of 3")
    loop.press("t")
    loop.until("1. An id picks a row")
    loop.press("s")
    assert "return weight[ids.long()]" not in loop.until("hasn't passed yet")
    save(copied, WRONG, RIGHT)
    assert "lookup passes." in loop.until("one_hot_lookup: ")
    loop.press("s")
    loop.until("In another style")
    loop.press("n")
    loop.until("one_hot_bytes: ")
    loop.press("l")
    loop.until("What and Where: 4 of 100 points")
    loop.press("\r")
    loop.until("one_hot_bytes: ")
    loop.press("q")
    loop.until("To go on where you left off")
    assert loop.ends() == 0


@pytest.mark.slow
def test_a_breakpoint_stops_the_clock_and_q_ends_it(edited, copied, on_terminal):
    """A test may take three seconds here."""
    edited(copied / "course" / "testing" / "case.py", "PER_TEST = 30", "PER_TEST = 3")
    save(copied, TO_DO, "breakpoint(); return 77")
    check = on_terminal("check", "lookup.lookup")
    check.until("(Pdb)")
    time.sleep(4)
    check.press("len(ids)\r")
    assert "has been running" not in check.until("\n3\n")
    check.press("q\r")
    check.until("Stopped: in the debugger")
    assert check.ends() == 130
    assert "did not come to an end" not in check.shown


@pytest.mark.slow
def test_ctrl_c_ends_a_check_with_a_line(copied, on_terminal):
    save(copied, TO_DO, "while True: pass")
    check = on_terminal("check", "lookup.lookup")
    check.until("has been running")
    check.press(CTRL_C)
    check.until("Stopped: by Ctrl+C, while lookup was tested")
    assert check.ends() == 130
    assert "KeyboardInterrupt" not in check.shown and "Traceback" not in check.shown


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "options"), [("Ctrl+C", []), ("SIGTERM", []), ("Ctrl+C", ["--no-fork"])]
)
def test_an_end_from_outside_ends_all_that_it_started(copied, on_terminal, ending, options):
    loop = on_terminal("watch", "lookup.lookup", *options)
    loop.until("Ready: save")
    save(copied, TO_DO, "while True: pass")
    loop.until("lookup takes a long time")
    if ending == "Ctrl+C":
        loop.press(CTRL_C)
    else:
        loop.program.kill(signal.SIGTERM)
    assert loop.ends() == 0
    deadline = time.monotonic() + PATIENCE
    while left := [one for one in Path("/proc").glob("[0-9]*") if works_in(one, copied)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def works_in(process: Path, folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(process / "cwd") == str(folder)
    return False


@pytest.mark.slow
def test_a_crash_leaves_the_terminal_as_it_was(copied, on_terminal):
    text = copied / "course" / "lessons" / "lookup" / "README.md"
    loop = on_terminal(columns=30)
    begun = " ".join(loop.until("Ready: save").split())
    assert "Ready: save exercises/lookup.py to test it." in begun  # no word is broken
    text.rename(copied / "away")
    try:
        loop.press("t")
        assert loop.ends() == 1
    finally:
        (copied / "away").rename(text)
