"""`course watch`: a save is tested at once, and nothing in the student's file ends the watcher."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from points import line_of_points
from terminals import OnPipe, bring_back, copy_of_course

from course import ROOT
from course.core.files import write_atomically
from course.student.warm.process import FORKS, how_it_ended, results

SOLUTION = (ROOT / "solutions" / "rope.py").read_text(encoding="utf-8")
SAVE_AGAIN = r"exercises/.*: [\d.]+ s; save to test again"
MODES = [
    pytest.param("--fork", marks=pytest.mark.skipif(not FORKS, reason="forks on Linux only")),
    "--no-fork",
]


class Watch(OnPipe):
    """A watcher of lesson 5 in its own copy of the course.

    Attributes:
        beginning: what it printed up to its first verdict.
    """

    def __init__(self, repository: Path, *arguments: str) -> None:
        super().__init__(repository, "watch", *arguments)
        self.repository = repository
        self.beginning = self.until("Ready: save exercises/|; save to test again")

    def save(self, source: str, lesson: str = "rope") -> None:
        write_atomically(self.repository / "exercises" / f"{lesson}.py", source)

    def verdict_on(self, source: str) -> str:
        """What it says when lesson 5 is saved with this source."""
        self.save(source)
        return self.until(SAVE_AGAIN)


@pytest.fixture(scope="module")
def own_repository(tmp_path_factory) -> Path:
    """A copy of the course, under a name with a space and a letter that is not ASCII."""
    return copy_of_course(tmp_path_factory.mktemp("watch") / "mein Kürs")


@pytest.fixture
def watching(own_repository):
    """Starts a watcher and waits until it has shown a first verdict."""
    started = []

    def start(*arguments: str) -> Watch:
        started.append(Watch(own_repository, *arguments))
        return started[-1]

    yield start
    for watch in started:
        watch.close()
    bring_back(own_repository)


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


@pytest.mark.slow
def test_a_save_is_tested_a_crash_is_told_and_what_passed_is_remembered(watching):
    watch = watching("rotate_half")  # which stands for its lesson
    said = watch.verdict_on(SOLUTION.replace("torch.cat((-x2, x1)", "torch.cat((x2, -x1)"))
    assert re.search(r"look at exercises/rope.py:\d+", said)
    assert line_of_points("rope", "rotate_half") in said
    broken = watch.verdict_on(SOLUTION + "\ndef (")
    assert "exercises/rope.py" in broken
    assert "course hint" not in broken
    assert "crashed the Python process" in watch.verdict_on(with_line(SEGFAULT))
    assert line_of_points("rope") in watch.verdict_on(SOLUTION)
    assert watch.close() == 0
    watch.until("The loop ends here, because its input does")
    progress = json.loads((watch.repository / ".course" / "progress.json").read_text("utf-8"))
    assert {one["status"] for one in progress["rope"].values()} == {"passed"}


MODULE = ROOT / "exercises" / "rope.py"


def test_how_a_run_ended_is_one_sentence(golden):
    ends = {"with status 3": (3, ""), "MemoryError": (1, "Traceback (most ...):\nMemoryError\n")}
    ends["an endless loop"] = (1, "Timeout (0:01:05)!\n")
    if os.name != "nt":  # Windows has no such signal
        ends["Segmentation fault"] = (-11, "")
    doing = "While rotate_half was tested"
    golden(
        "how a watched run ended",
        {end: how_it_ended(*what, doing, MODULE) for end, what in ends.items()},
    )


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


@pytest.mark.slow
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
    assert line_of_points("rope") in watch.verdict_on(SOLUTION)


@pytest.mark.slow
def test_a_call_without_end_is_stopped(edited, own_repository, watching):
    """What the first run of all tests loads must come in time, too, so the limit is not shorter."""
    edited(own_repository / "course" / "testing" / "case.py", "PER_TEST = 30", "PER_TEST = 10")
    edited(own_repository / "course" / "student" / "watch" / "task.py", "GRACE = 5", "GRACE = 1")
    watch = watching("rope")
    assert "it was stopped" in watch.verdict_on(with_line(ONE_LONG_CALL))
    assert line_of_points("rope") in watch.verdict_on(SOLUTION)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_save_stops_the_run_before(edited, own_repository, watching, mode):
    """Nothing else stops it here. Without forks a save then needs a new process."""
    edited(own_repository / "course" / "testing" / "case.py", "PER_TEST = 30", "PER_TEST = 3_000")
    watch = watching("rope", mode)
    watch.save("while True: pass")
    assert "Loading exercises/rope.py takes a long time" in watch.until("takes a long time")
    watch.save(with_line("while True: pass"))
    assert "rotate_half takes a long time" in watch.until("takes a long time")
    said = watch.verdict_on(SOLUTION)
    assert line_of_points("rope") in said
    assert mode == "--fork" or "as soon as PyTorch is loaded" in said
    watch.save("raise SystemExit")
    watch.save(SOLUTION.replace("-x2", "x2"))  # in a moment: mostly both make one run
    watch.until(re.escape(line_of_points("rope", "rotate_half")))
    watch.until(SAVE_AGAIN)
    assert watch.says_nothing_for(3)


@pytest.mark.slow
def test_without_a_name_it_is_whichever_was_saved_and_letters_are_keys(watching):
    watch = watching()
    assert watch.beginning.count("h\N{NO-BREAK SPACE}hint") == 1
    watch.save((ROOT / "solutions" / "learned.py").read_text(encoding="utf-8"), "learned")
    assert line_of_points("learned") in watch.until(SAVE_AGAIN)
    said = watch.verdict_on(SOLUTION.replace("-x2", "x2"))
    assert line_of_points("rope", "rotate_half") in said
    watch.press("h\n")
    assert "rotate_half" in watch.until("hint 1 of 3")
    watch.press("h\n")
    said = watch.until("hint 2 of 3")
    assert "look at" not in said and "hint\N{NO-BREAK SPACE}" not in said
    watch.press("l\n")
    assert max(map(len, watch.until("Press a lesson's number").splitlines())) <= 80
    watch.press("q\n")
    assert watch.ends() == 0


@pytest.mark.slow
def test_when_the_tests_change_they_are_loaded_anew_with_the_next_save(own_repository, watching):
    watch, path = watching("rope"), own_repository / "tests" / "test_rope.py"
    path.write_text("this is no Python", encoding="utf-8")
    try:
        watch.save(SOLUTION)
        watch.until("Error: The course's own tests cannot be loaded:")
        watch.until("invalid syntax")
        assert watch.ends() == 1
    finally:
        shutil.copy(ROOT / "tests" / "test_rope.py", path)
