"""`course watch`: a save is tested at once, and nothing in the student's file ends the watcher."""

import contextlib
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from course import ROOT
from course.core.files import write_atomically
from course.core.syllabus import find_lesson
from course.student.warm.process import FORKS, how_it_ended, results

SOLUTION = (ROOT / "solutions" / "rope.py").read_text(encoding="utf-8")
VERDICT = re.compile(r"exercises/.*: [\d.]+ s; save to test again")
PATIENCE = 180
"""Seconds for whatever should happen at all; to wait so long is to fail."""
BEGIN = re.compile(r"^Ready: save exercises/|; save to test again")
MODES = [
    pytest.param("--fork", marks=pytest.mark.skipif(not FORKS, reason="forks on Linux only")),
    "--no-fork",
]


def at_home(repository: Path) -> dict:
    """How to run a command in a separate repository."""
    own = {"PYTHONPATH": str(repository), "PYTHONIOENCODING": "utf-8"}
    return {"cwd": repository, "env": {**os.environ, **own}}


def points_without(*wrong: str) -> str:
    """Return the line of points of one who passes all of rope but these exercises."""
    worth = {exercise.name: exercise.points for exercise in find_lesson("rope").exercises}
    total = sum(worth.values())
    return f"5 rope: {total - sum(map(worth.get, wrong))} of {total} points"


class Watch:
    """A watcher that runs in a separate repository, and what it has printed so far.

    Attributes:
        beginning: what it printed up to its first verdict.
    """

    beginning: str

    def __init__(self, repository: Path, *arguments: str) -> None:
        self.repository = repository
        self.process = subprocess.Popen(
            [sys.executable, "-m", "course", "watch", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **at_home(repository),
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line.decode("utf-8").rstrip("\r\n"))

    def until(self, pattern: re.Pattern | str) -> str:
        """What it says up to a line in which the pattern is found."""
        said, deadline = [], time.monotonic() + PATIENCE
        while not said or not re.search(pattern, said[-1]):
            try:
                said.append(self._lines.get(timeout=max(deadline - time.monotonic(), 0.01)))
            except queue.Empty:
                pytest.fail("\n".join(["it never said it, but", *said]))
        return "\n".join(said)

    def save(self, source: str, lesson: str = "rope") -> None:
        write_atomically(self.repository / "exercises" / f"{lesson}.py", source)

    def verdict_on(self, source: str) -> str:
        """What it says when lesson 5 is saved with this source."""
        self.save(source)
        return self.until(VERDICT)

    def says_nothing_for(self, seconds: float) -> bool:
        with contextlib.suppress(queue.Empty):
            return self._lines.get(timeout=seconds) == "never"
        return True

    def press(self, keys: str) -> None:
        self.process.stdin.write(keys.encode())
        self.process.stdin.flush()

    def end(self) -> int:
        """Close its input; the exit status."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()


@pytest.fixture(scope="module")
def own_repository(tmp_path_factory) -> Path:
    """A copy of the course, under a name with a space and a letter that is not ASCII."""
    repository = tmp_path_factory.mktemp("watch") / "mein Kürs"
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb", "course", "grading")
    for folder in ("course", "exercises", "solutions", "tests"):
        shutil.copytree(ROOT / folder, repository / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", repository)
    return repository


@pytest.fixture
def watching(own_repository):
    """Starts a watcher and waits until it has shown a first verdict."""
    started = []

    def start(*arguments: str) -> Watch:
        watch = Watch(own_repository, *arguments)
        started.append(watch)
        watch.beginning = watch.until(BEGIN)
        return watch

    yield start
    for watch in started:
        watch.end()
    shutil.copy(ROOT / "exercises" / "rope.py", own_repository / "exercises")
    shutil.rmtree(own_repository / ".course", ignore_errors=True)


# --- the cold path --------------------------------------------------------------------------


@pytest.mark.slow
def test_pytest_loads_little_beyond_torch_and_itself():
    """What a student's first `pytest tests/test_rope.py` waits for."""
    code = (
        "import gc, sys, torch, pytest\n"
        "before = set(sys.modules)\n"
        "pytest.main(['-q', '--collect-only', 'tests/test_rope.py', '-p', 'no:cacheprovider'])\n"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "heavy = {'IPython', 'jupyter', 'matplotlib', 'nbformat', 'requests', 'tokenizers'}\n"
        "print(sorted(tops & heavy), 'course.lessons.rope.styles' in sys.modules)\n"
        "print('frozen', gc.get_freeze_count())"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    *_, loaded, frozen = result.stdout.splitlines()
    assert loaded == "[] False"
    assert int(frozen.removeprefix("frozen ")) > 100_000


# --- fast ones ------------------------------------------------------------------------------


def test_a_save_is_tested_a_crash_is_told_and_what_passed_is_remembered(watching):
    watch = watching("rotate_half")  # which stands for its lesson
    said = watch.verdict_on(SOLUTION.replace("torch.cat((-x2, x1)", "torch.cat((x2, -x1)"))
    assert re.search(r"look at exercises/rope.py:\d+", said)
    assert points_without("rotate_half") in said
    broken = watch.verdict_on(SOLUTION + "\ndef (")
    assert "exercises/rope.py" in broken
    assert "course hint" not in broken
    assert "crashed the Python process" in watch.verdict_on(with_line(SEGFAULT))
    assert points_without() in watch.verdict_on(SOLUTION)
    assert watch.end() == 0
    watch.until("The loop ends here, because its input does")
    progress = json.loads((watch.repository / ".course" / "progress.json").read_text("utf-8"))
    assert {one["status"] for one in progress["rope"].values()} == {"passed"}


MODULE = ROOT / "exercises" / "rope.py"


@pytest.mark.parametrize(
    ("code", "log", "words"),
    [
        (3, "", "with status 3"),
        (-11, "", "Segmentation fault"),
        (1, "Traceback (most ...):\nMemoryError\n", "MemoryError"),
        (1, "Timeout (0:01:05)!\n", ""),
    ],
)
def test_how_a_run_ended_is_one_sentence(golden, code, log, words):
    if code == -11 and os.name == "nt":
        pytest.skip("Windows has no such signal")
    said = how_it_ended(code, log, "While rotate_half was tested", MODULE)
    assert "rotate_half" in said and "exercises/rope.py" in said
    golden("how a watched run ended", {words or "an endless loop": said})
    assert words in said


# --- slow ones ------------------------------------------------------------------------------


def with_line(line: str) -> str:
    """The solution, in which `rotate_half` begins with a line."""
    assert "    x1, x2 = x.chunk" in SOLUTION
    return SOLUTION.replace("    x1, x2 = x.chunk", f"    {line}\n    x1, x2 = x.chunk")


SEGFAULT = "import ctypes; ctypes.string_at(0)"
ONE_LONG_CALL = "import time; time.sleep(1000)"


TASK = """
done = []
def warm_up(lesson):
    return lesson.stem
def rehearse(warm):
    done.append(warm)
    yield
def perform(run, warm, lesson):
    return [*done, warm]
"""


@pytest.mark.skipif(not FORKS, reason="forks on Linux only")
def test_a_fork_rehearses_the_lesson_that_it_is_asked_for(tmp_path, monkeypatch):
    (tmp_path / "rehearsing.py").write_text(TASK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    asked = ["lookup", "rope", "rope"]
    found = results("rehearsing", [{"lesson": stem} for stem in asked])
    assert [one["done"] for one in found] == [[stem, stem] for stem in asked]


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_whatever_the_file_does_the_watcher_says_so_and_goes_on(watching, mode):
    watch = watching("rope", mode)
    is_usual = (mode == "--fork") == FORKS
    if is_usual:  # with the other mode, what ends the process is enough
        assert "sys.exit" in watch.verdict_on("raise SystemExit")
        left = watch.verdict_on(with_line("import os; os._exit(0)"))
        assert "rotate_half called os._exit(0)" in left
        loaded = watch.verdict_on("import os; os.abort()")
        assert "exercises/rope.py crashed" in loaded
    if is_usual and os.name != "nt":
        left = watch.verdict_on(with_line("import ctypes; ctypes.CDLL(None)._exit(0)"))
        assert "rotate_half" in left
        assert "with status 0" in left
    crashed = watch.verdict_on(with_line(SEGFAULT))
    assert "exercises/rope.py crashed" in crashed
    assert re.search(r"at      exercises/rope.py:\d+: import ctypes", crashed)
    assert points_without() in watch.verdict_on(SOLUTION)


@pytest.mark.slow
def test_an_endless_loop_is_told(edited, own_repository, watching):
    """What the first run of all tests loads must come in time, too, so the limit is not shorter."""
    edited(own_repository / "course" / "testing" / "case.py", "PER_TEST = 30", "PER_TEST = 10")
    edited(own_repository / "course" / "student" / "watch" / "task.py", "GRACE = 5", "GRACE = 1")
    watch = watching("rope")
    said = watch.verdict_on(with_line("while True: pass"))
    assert "rotate_half did not" in said and " 10 s" in said
    said = watch.verdict_on(with_line(ONE_LONG_CALL))
    assert "it was stopped" in said
    assert points_without() in watch.verdict_on(SOLUTION)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_save_stops_the_run_before(edited, own_repository, watching, mode):
    """Nothing else stops it here."""
    edited(own_repository / "course" / "testing" / "case.py", "PER_TEST = 30", "PER_TEST = 3_000")
    watch = watching("rope", mode)
    watch.save("while True: pass")
    assert "Loading exercises/rope.py takes a long time" in watch.until("takes a long time")
    watch.save(with_line("while True: pass"))
    assert "rotate_half takes a long time" in watch.until("takes a long time")
    assert points_without() in watch.verdict_on(SOLUTION)
    watch.save("raise SystemExit")
    watch.save(SOLUTION.replace("-x2", "x2"))  # in a moment: mostly both make one run
    watch.until(re.escape(points_without("rotate_half")))
    watch.until(VERDICT)
    assert watch.says_nothing_for(3)


@pytest.mark.slow
def test_a_save_is_acknowledged_while_pytorch_is_loaded(watching):
    """Without forks a save needs a new process, if the one before is at work."""
    watch = watching("rope", "--no-fork")
    watch.verdict_on(SOLUTION)
    watch.save(with_line("while True: pass"))
    watch.until("rotate_half takes a long time")
    watch.save(SOLUTION.replace("-x2", "x2"))
    assert "skipgram_pairs" in watch.until("as soon as PyTorch is loaded")  # rope is still done
    assert points_without("rotate_half") in watch.until(VERDICT)


@pytest.mark.slow
def test_without_a_name_it_is_whichever_was_saved(watching):
    watch = watching()
    watch.save((ROOT / "solutions" / "learned.py").read_text(encoding="utf-8"), "learned")
    try:
        worth = find_lesson("learned").points
        assert f"3 learned: {worth} of {worth} points" in watch.until(BEGIN)
        assert points_without() in watch.verdict_on(SOLUTION)
    finally:
        watch.save((ROOT / "exercises" / "learned.py").read_text(encoding="utf-8"), "learned")


@pytest.mark.slow
def test_h_shows_a_hint_and_nothing_else_and_q_ends_it(watching):
    watch = watching("rope")
    assert watch.beginning.count("h\N{NO-BREAK SPACE}hint") == 1
    watch.verdict_on(SOLUTION.replace("-x2", "x2"))
    watch.press("h\n")
    assert "rotate_half" in watch.until("hint 1 of 3")
    watch.press("h\n")
    said = watch.until("hint 2 of 3")
    assert "look at" not in said and "hint\N{NO-BREAK SPACE}" not in said
    watch.press("l\n")
    assert max(map(len, watch.until("Press a lesson's number").splitlines())) <= 80
    watch.press("q\n")
    assert watch.process.wait(PATIENCE) == 0


@pytest.mark.slow
def test_when_the_tests_change_they_are_loaded_anew_with_the_next_save(watching):
    watch = watching("rope")
    path = watch.repository / "tests" / "test_rope.py"
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(f"{text}\n\nthis is no Python", encoding="utf-8")
        watch.save(SOLUTION)
        watch.until("Error: The course's own tests cannot be loaded:")
        watch.until("invalid syntax")
        assert watch.end() == 1
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="a console's Ctrl+C cannot be sent to one process")
@pytest.mark.parametrize(
    ("ending", "options"),
    [("SIGINT", []), ("SIGTERM", []), ("SIGINT", ["--no-fork"])],
)
def test_ctrl_c_ends_it_and_all_that_it_started(watching, ending, options):
    import signal

    watch = watching("rope", *options)
    watch.save(with_line("while True: pass"))
    watch.until("takes a long time")
    watch.process.send_signal(getattr(signal, ending))
    assert watch.process.wait(PATIENCE) == 0
    folder, deadline = str(watch.repository), time.monotonic() + PATIENCE
    while left := [p for p in Path("/proc").glob("[0-9]*") if _is_at_home(p, folder)]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def _is_at_home(process: Path, folder: str) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(process / "cwd") == folder
    return False
