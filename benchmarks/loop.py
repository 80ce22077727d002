"""From a save to the verdict: `course watch` next to a cold `pytest tests/test_X.py`.

    python benchmarks/loop.py [--repeats 7] [--lesson rope] [--no-fork]     (not on Windows)

For each lesson a file is saved, in a copy of the repository: a right one, one with a mistake,
which has to be recognised, and the stub. All contestants take turns, in each repeat anew, and must
find the same points. What is timed for `course watch` is a real save, until the last line of the
verdict has come out of its pipe: seconds on the clock. Then what a cold pytest costs beyond
`import torch` and the tests themselves: seconds of the processor, which depend less on whatever
else the machine does. Medians.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.measuring import Spent, cannot_run, machine, positive, spent_in_children
from course import ROOT
from course.syllabus import Lesson, find_lesson, lessons, stub_from

VERDICT = re.compile(r"(exercises/.*|all lessons): [\d.]+ s; save to test again")
STATES = ("right", "wrong", "stub")

OWN_TIME = '''
"""A pytest plugin: how long the processor worked for the tests themselves, into a file."""
import os
import time

import pytest

seconds = 0.0

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    global seconds
    start = time.process_time()
    try:
        return (yield)
    finally:
        seconds += time.process_time() - start

def pytest_sessionfinish():
    with open(os.environ["OWN_TIME"], "w", encoding="utf-8") as file:
        file.write(str(seconds))
'''


def copy_repository(folder: Path) -> Path:
    """A repository whose files may be saved at will; the student's own are left alone."""
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb")
    for name in ("course", "exercises", "solutions", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "own_time.py").write_text(OWN_TIME, encoding="utf-8")
    return folder


def environment(repository: Path) -> dict[str, str]:
    """As on a student's machine: modules are compiled once, threads are as many as usual."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS")
    own = {name: value for name, value in os.environ.items() if name not in left_out}
    paths = {"PYTHONPATH": str(repository), "PYTHONPYCACHEPREFIX": str(repository / "compiled")}
    return {**own, **paths, "PYTHONUTF8": "1", "OWN_TIME": str(repository / "own_time")}


def source(lesson: Lesson, state: str) -> str:
    """What is saved: all of it right, one exercise wrong, or a stub."""
    solution = lesson.module("solutions").read_text(encoding="utf-8")
    right, wrong = _MISTAKES[lesson.stem]
    if right not in solution:
        raise SystemExit(f"solutions/{lesson.stem}.py no longer holds {right}")
    return {
        "right": solution,
        "wrong": solution.replace(right, wrong),
        "stub": stub_from(solution, lesson.stem),
    }[state]


_MISTAKES = {
    "lookup": ("grad_weight.index_add(", "grad_weight.index_copy("),
    "permutation": ("return perm.argsort()", "return perm"),
    "learned": ("for p in module.parameters() if p.requires_grad", "for p in module.parameters()"),
    "sinusoidal": ("(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"),
    "rope": ("(-x2, x1)", "(x2, -x1)"),
    "skipgram": ("return weights / weights.sum()", "return weights"),
}
"""For each lesson a piece of its solution, and what many write instead."""


class Watch:
    """A `course watch` that runs."""

    def __init__(self, repository: Path, forks: bool) -> None:
        way = "--fork" if forks else "--no-fork"
        self._pause = 0.3 if forks else 5  # a student's: in it, the next process gets ready
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course", "watch", way],
            cwd=repository,
            env=environment(repository),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._until_verdict()

    def _until_verdict(self) -> str:
        said = []
        for line in self._process.stdout:
            said.append(line)
            if VERDICT.match(line):
                return "".join(said)
        raise SystemExit("course watch ended:\n" + "".join(said))

    def save(self, path: Path, text: str) -> tuple[float, str]:
        """Seconds until the verdict, and the verdict."""
        time.sleep(self._pause)
        start = time.perf_counter()
        path.write_text(text, encoding="utf-8")
        said = self._until_verdict()
        return time.perf_counter() - start, said

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def watching(repository: Path, forks: bool) -> Iterator[Watch]:
    watch = Watch(repository, forks)
    try:
        yield watch
    finally:
        watch.close()


def cold_pytest(repository: Path, lesson: Lesson) -> tuple[Spent, float, str]:
    """What the whole process spends, the tests alone (of the processor), and what it prints."""
    command = [sys.executable, "-m", "pytest", "-p", "own_time", f"tests/test_{lesson.stem}.py"]
    spent, printed = _measured(command, repository)
    return spent, float((repository / "own_time").read_text(encoding="utf-8")), printed


def import_torch(repository: Path) -> Spent:
    return _measured([sys.executable, "-c", "import torch"], repository)[0]


def _measured(command: list[str], repository: Path) -> tuple[Spent, str]:
    run = partial(subprocess.run, command, cwd=repository, env=environment(repository))
    done, spent = spent_in_children(partial(run, capture_output=True, text=True, encoding="utf-8"))
    return spent, done.stdout


def points(said: str, lesson: Lesson) -> str:
    """The line with the points of a lesson."""
    found = re.findall(rf"^{lesson.number} {lesson.stem}: \d+ of \d+ points$", said, re.M)
    if not found:
        raise SystemExit(f"there is no verdict in this:\n{said}")
    return found[-1]


class TestsAlone:
    """The tests of a lesson in this process, where everything is loaded: no less is possible."""

    def __init__(self) -> None:
        import torch

        torch.set_num_threads(1)  # as in pytest
        self._cases = {}

    def seconds(self, lesson: Lesson, path: Path) -> float:
        from course.testing.case import collect
        from course.testing.examine import Examination
        from course.testing.executor import Executor, load_module

        if lesson not in self._cases:
            self._cases[lesson] = collect([lesson.tests])
            self.seconds(lesson, lesson.module("solutions"))
        start = time.perf_counter()
        module = load_module(path)
        examination = Examination(lambda: Executor(module), path.read_bytes())
        for case in self._cases[lesson]:
            examination.run(case)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a save until its verdict.")
    parser.add_argument("--repeats", type=positive, default=7)
    parser.add_argument("--lesson", help="only this one, by name or number")
    parser.add_argument("--no-fork", action="store_true", help="as on Windows and macOS")
    parser.add_argument("--quick", action="store_true", help="only see whether all of it works")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeats, arguments.lesson = 1, arguments.lesson or "lookup"
    try:
        chosen = [find_lesson(arguments.lesson)] if arguments.lesson else list(lessons())
    except ValueError as error:
        parser.error(str(error))
    if os.name == "nt":
        cannot_run("Windows does not tell what the processes that have ended spent.")
    print(f"{machine()}\n", flush=True)
    times: dict[tuple, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="loop-") as folder:
        repository = copy_repository(Path(folder) / "course")
        alone = TestsAlone()
        with watching(repository, not arguments.no_fork) as watch:
            for repeat in range(arguments.repeats + 1):  # the first one warms the caches
                for lesson in chosen:
                    for state in STATES:
                        measured = _turn(repository, watch, alone, lesson, state, repeat)
                        if repeat:
                            for contestant, seconds in measured.items():
                                times[lesson, state, contestant].append(seconds)
    _print_tables(chosen, times, arguments)


def _turn(
    repository: Path, watch: Watch, alone: TestsAlone, lesson: Lesson, state: str, repeat: int
) -> dict[str, float]:
    """Everybody once."""
    path = repository / "exercises" / f"{lesson.stem}.py"
    watched, said = watch.save(path, f"{source(lesson, state)}\n# {repeat}\n")
    whole, own, printed = cold_pytest(repository, lesson)
    if points(said, lesson) != points(printed, lesson):
        raise SystemExit(f"they differ:\n{said}\n{printed}")
    torch_alone = import_torch(repository)
    return {
        "watch": watched,
        "alone": alone.seconds(lesson, path),
        "pytest": whole.wall,
        "times as fast": whole.wall / watched,
        "pytest, cpu": whole.cpu,
        "own, cpu": own,
        "torch, cpu": torch_alone.cpu,
        "beyond": (whole.cpu - own) / torch_alone.cpu,
    }


def _print_tables(chosen: list[Lesson], times: dict, arguments: argparse.Namespace) -> None:
    way = "a process made ready before" if arguments.no_fork else "a fork"
    print(f"Medians of {arguments.repeats}; each run is {way}.\n")
    print("| lesson | file | tests alone, warm | save to verdict | cold pytest | times as fast |")
    print("|---|---|---|---|---|---|")
    for lesson, state, median in _rows(chosen, times):
        print(
            f"| {lesson.stem} | {state} | {median('alone'):.3f} | {median('watch'):.3f} "
            f"| {median('pytest'):.2f} | {median('times as fast'):.1f} |"
        )
    print("\nSeconds of the processor:\n")
    print("| lesson | file | cold pytest | its tests | import torch | (pytest - tests) / torch |")
    print("|---|---|---|---|---|---|")
    for lesson, state, median in _rows(chosen, times):
        print(
            f"| {lesson.stem} | {state} | {median('pytest, cpu'):.2f} "
            f"| {median('own, cpu'):.2f} | {median('torch, cpu'):.2f} | {median('beyond'):.2f} |"
        )


def _rows(chosen: list[Lesson], times: dict) -> Iterator[tuple]:
    for lesson in chosen:
        for state in STATES:

            def median(contestant: str, lesson=lesson, state=state) -> float:
                return statistics.median(times[lesson, state, contestant])

            yield lesson, state, median


if __name__ == "__main__":
    main()
