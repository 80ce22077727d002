"""From a save to the verdict: the loop of `course` next to a cold `pytest tests/test_X.py`.

    python benchmarks/loop.py [--repeats 2] [--quick]     (not on Windows)

For each lesson a file is saved, in a copy of the repository: one with a mistake, the stub, and a
right one. Both take turns, in each repeat anew, and must find the same points. What is timed for
the loop is a real save of the file at hand, until the last line of the verdict has come out of its
pipe. When a lesson is done, the loop goes on to the next one and loads its tests; that is waited
for. Seconds on the clock, medians.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.measuring import arguments_of, machine
from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import Lesson, lessons
from course.mistakes import mistakes

VERDICT = re.compile(r"exercises/.*: [\d.]+ s; save to test again")
EVERYTHING = "Everything passes."
"""What it says when no lesson is left to go on to."""
READY = re.compile(r"Ready: save exercises/|.*; save to test again")


QUICK = 2
"""Lessons of a quick run: what comes between two of them, and what after the last one, is run."""


def copy_repository(folder: Path, is_short: bool) -> Path:
    """A repository whose files may be saved at will; the student's own are left alone.

    Args:
        is_short: whether it is to have the first lessons alone.
    """
    ignored = shutil.ignore_patterns("__pycache__", "*.ipynb")
    for name in ("course", "exercises", "solutions", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", folder)
    if is_short:
        syllabus = folder / "course" / "lessons" / "syllabus.toml"
        head, *entries = syllabus.read_text(encoding="utf-8").split("[[lesson]]")
        text = "[[lesson]]".join([head, *entries[:QUICK]])
        syllabus.write_text(text, encoding="utf-8")
    return folder


def sources(lesson: Lesson) -> dict[str, str]:
    """What is saved: all of it right, one exercise wrong, or a stub."""
    solution = lesson.module("solutions").read_text(encoding="utf-8")
    solution = solution.replace("from solutions.", "from exercises.")  # as students import
    edited = (one.variant for one in mistakes(lesson.stem) if not one.variant.definition)
    wrong = next(one.text for one in edited if one.text.startswith("def "))
    return {
        "wrong": f"{solution}\n\n{wrong}",
        "stub": stub_from(solution, lesson.stem),
        "right": solution,
    }


class Watch:
    """A `course watch` that runs."""

    def __init__(self, repository: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "course", "watch"],
            cwd=repository,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self.until(READY)

    def until(self, line_wanted: re.Pattern) -> str:
        """What it says up to a line."""
        said = []
        for line in self._process.stdout:
            said.append(line)
            if line_wanted.match(line):
                return "".join(said)
        raise SystemExit("course watch ended:\n" + "".join(said))

    def save(self, path: Path, text: str) -> tuple[float, str]:
        """Seconds until the verdict, and the verdict."""
        time.sleep(0.3)  # a student's pause
        whole = path.with_suffix(".new")  # a file that is written in two steps may be tested twice
        whole.write_text(text, encoding="utf-8")
        start = time.perf_counter()
        whole.replace(path)
        said = self.until(VERDICT)
        return time.perf_counter() - start, said

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def points(said: str, lesson: Lesson) -> str:
    """The line with the points of a lesson."""
    found = re.findall(rf"^({lesson.number} {lesson.stem}: \d+ of \d+ points)\b", said, re.M)
    if not found:
        raise SystemExit(f"there is no verdict in this:\n{said}")
    return found[-1]


def main() -> None:
    arguments = arguments_of(__doc__, repeats=2)
    chosen = lessons()[:QUICK] if arguments.quick else lessons()
    print(f"{machine()}\n", flush=True)
    times: dict[tuple, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="loop-") as folder:
        repository = copy_repository(Path(folder) / "course", arguments.quick)
        environment = {**os.environ, "PYTHONPATH": str(repository), "PYTHONUTF8": "1"}
        watch = Watch(repository, environment)
        try:
            for repeat in range(1 if arguments.quick else arguments.repeats + 1):
                for lesson in chosen:
                    path = repository / "exercises" / f"{lesson.stem}.py"
                    watch.save(path, "# the loop looks at this file most often from now on\n")
                    for state, text in sources(lesson).items():
                        watched, said = watch.save(path, f"{text}\n# {repeat}\n")
                        if state == "right" and EVERYTHING not in said:
                            watch.until(READY)
                        command = [sys.executable, "-m", "pytest", f"tests/test_{lesson.stem}.py"]
                        start = time.perf_counter()
                        done = subprocess.run(
                            command, cwd=repository, env=environment, capture_output=True, text=True
                        )
                        cold = time.perf_counter() - start
                        if points(said, lesson) != points(done.stdout, lesson):
                            raise SystemExit(f"they differ:\n{said}\n{done.stdout}")
                        if repeat or arguments.quick:  # the first one warms the caches
                            times[lesson.stem, state].append((watched, cold))
        finally:
            watch.close()
    print("| lesson | file | save to verdict | cold pytest | times as fast |")
    print("|---|---|--:|--:|--:|")
    for (stem, state), measured in times.items():
        watched, cold = (statistics.median(column) for column in zip(*measured, strict=True))
        print(f"| {stem} | {state} | {watched:.3f} | {cold:.2f} | {cold / watched:.1f} |")


if __name__ == "__main__":
    main()
