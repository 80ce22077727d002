"""What grading a submission costs: ours, pytest by itself, nbgrader and otter, side by side.

    python benchmarks/grading.py [--otter PATH/bin/otter] [--lesson rope] [--quick]

A class is made up: a quarter each of right modules, of modules with every second exercise not yet
begun, of modules with mistakes of the catalogue, and of stubs; what is right is written in many
styles, those of the catalogue. Everybody runs the very same graded
tests on the very same modules and must come to the same verdict: in a notebook, one cell writes
the module and another one runs pytest on it. Ours grades the whole class, the others a sample of
it, because they are slow. The processor's time includes that of all processes that were started.
Then our grader alone: how time and memory grow with the class.

Linux only, as our sandbox is.
"""

import argparse
import ast
import ctypes
import importlib.metadata
import importlib.util
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from benchmarks.measuring import (
    Spent,
    cannot_run,
    machine,
    median,
    positive,
    process_bytes,
    spent_in_children,
)
from course import ROOT
from course.grading.sandbox.sandbox import missing
from course.mistakes import alternatives, mistakes
from course.syllabus import Lesson, find_lesson, lessons, stub_from
from course.testing.result import LessonResult, from_text

KINDS = ("right", "half-right", "wrong", "stub")


@dataclass(frozen=True)
class Student:
    """Somebody made up, who hands in all lessons."""

    number: int

    @property
    def kind(self) -> str:
        return KINDS[self.number % len(KINDS)]

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.number:05}"


# --- a class --------------------------------------------------------------------------------


def write_class(folder: Path, students: Iterable[Student]) -> Path:
    """A folder per student, with a module per lesson."""
    for student in students:
        (folder / student.name).mkdir(parents=True)
        for lesson in lessons():
            path = folder / student.name / f"{lesson.stem}.py"
            path.write_text(module_of(student, lesson), encoding="utf-8")
    return folder


def module_of(student: Student, lesson: Lesson) -> str:
    """The source of a module; what is changed stands at its end, where it wins.

    Everybody has some exercises as the reference has them, and others in a style of their own.
    """
    solution = lesson.module("solutions").read_text(encoding="utf-8")
    stub = stub_from(solution, lesson.stem)
    head = f"# handed in by {student.name}\n" * (student.number % 5 + 1)  # lines differ, too
    if student.kind == "stub":
        return f"{head}\n{stub}"
    turn = student.number // len(KINDS)
    names = [exercise.name for exercise in lesson.exercises]
    own, changed = names[(turn + 1) % 2 :: 2], names[turn % 2 :: 2]
    parts = [head, solution, *_ones_of(turn, _variants(lesson, alternatives), own)]
    if student.kind == "half-right":
        parts += [_definitions(stub)[name] for name in changed]
    if student.kind == "wrong":
        parts += _ones_of(turn, _variants(lesson, mistakes), changed)
    return "\n\n".join(parts)


def _ones_of(turn: int, variants: dict[str, list[str]], names: list[str]) -> list[str]:
    """One variant of each of these exercises, another one at each turn."""
    return [variants[name][turn % len(variants[name])] for name in names if variants[name]]


@cache
def _variants(lesson: Lesson, known: Callable) -> dict[str, list[str]]:
    """The mistakes or the alternatives of the catalogue, by exercise, each with all that it needs.

    Left out are those that build on a right one: at the end of a module they would call themselves.
    """
    catalogue = ROOT / "course" / "mistakes" / f"{lesson.stem}.py"
    text = catalogue.read_text(encoding="utf-8")
    helpers = _definitions(text)
    imports = re.findall(r"^(?:import|from torch)\b.*", text, re.MULTILINE)
    found = {exercise.name: [] for exercise in lesson.exercises}
    for one in known(lesson.stem):
        variant = one.variant.__name__
        parts = _needed(variant, helpers)
        if parts and not any(one.exercise in _names(part) for part in parts.values()):
            text = "\n\n".join([*imports, *parts.values(), f"{one.exercise} = {variant}\n"])
            found[one.exercise].append(text)
    return found


def _needed(name: str, helpers: dict[str, str]) -> dict[str, str]:
    """A definition after all those that it uses; nothing if it is none of these."""
    if name not in helpers:
        return {}
    needed: dict[str, str] = {}
    for used in sorted(_names(helpers[name]) - {name}):
        needed.update(_needed(used, helpers))
    return {**needed, name: helpers[name]}


def _definitions(source: str) -> dict[str, str]:
    """The functions, classes and constants of a module, by name, without decorators."""
    lines, found = source.splitlines(keepends=True), {}
    for node in ast.parse(source).body:
        text = "".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = text
        elif isinstance(node, ast.Assign):
            found.update({name.id: text for name in node.targets if isinstance(name, ast.Name)})
    return found


def _names(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


# --- running and measuring ------------------------------------------------------------------


def _adopt_orphans() -> None:
    """Become the parent of processes whose parent ends first, so that their time counts too."""
    set_child_subreaper = 36  # prctl(2)
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _wait_for_orphans(seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            process, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:  # there are none
            return
        if process == 0:
            time.sleep(0.01)
    raise SystemExit("A process goes on after its grader has ended; its time cannot be counted.")


def run(command: list[str], cwd: Path = ROOT, may_fail: bool = False) -> int:
    """Run a program to its end; its exit status."""
    here = str(Path(command[0]).parent)  # where nbgrader finds alembic, and otter Jupyter
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode and not may_fail:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise SystemExit(f"{' '.join(command)} failed in {cwd}:\n{textwrap.indent(last, '  ')}")
    return done.returncode


# --- the graders ----------------------------------------------------------------------------


Verdicts = dict[tuple[str, str], bool]
"""By lesson and student: is all of the lesson right?"""


def grade_command(submissions: Path, out: Path, jobs: int, *options: str) -> list[str]:
    """How to start our grader."""
    grade = [sys.executable, "-m", "course", "grade", str(submissions)]
    return [*grade, "--out", str(out), "--jobs", str(jobs), *options]


def results_in(out: Path) -> list[LessonResult]:
    """What our grader found out."""
    files = (out / "results").glob("*/*.json")
    return [from_text(file.read_text(encoding="utf-8")) for file in files]


def grade(submissions: Path, chosen: list[Lesson], jobs: int, folder: Path) -> Verdicts:
    only = (word for lesson in chosen for word in ("--lesson", lesson.stem))
    run(grade_command(submissions, folder, jobs, *only))
    return {
        (result.lesson, result.student): result.points == result.worth
        for result in results_in(folder)
    }


def lesson_by_lesson(work: Callable[..., dict[str, bool] | None]) -> Callable[..., Verdicts]:
    """A grader of lessons from one of a single lesson, whose verdicts are by student."""

    def work_on_all(submissions: Path, chosen: list[Lesson], jobs: int, folder: Path) -> Verdicts:
        verdicts = {}
        for lesson in chosen:
            place = folder / lesson.stem
            place.mkdir(exist_ok=True)
            of_one = work(submissions, lesson, jobs, place) or {}
            verdicts |= {(lesson.stem, student): right for student, right in of_one.items()}
        return verdicts

    return work_on_all


def pytest_arguments(lesson: Lesson, modules: str) -> list[str]:
    """Run the graded tests of a lesson on the module in a folder."""
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    quiet = ["-q", "-p", "no:cacheprovider"]
    return [str(lesson.tests), f"--modules={modules}", *settings, *quiet]


def pytest_alone(submissions: Path, lesson: Lesson, jobs: int, folder: Path) -> dict[str, bool]:
    def is_right(student: Path) -> bool:
        arguments = pytest_arguments(lesson, str(student))
        return run([sys.executable, "-m", "pytest", *arguments], may_fail=True) == 0

    return _side_by_side(is_right, submissions, jobs)


def nbgrader(submissions: Path, lesson: Lesson, jobs: int, folder: Path) -> dict[str, bool]:
    """A course for each job, because the gradebook of one is for one at a time."""

    def autograde(course: Path) -> dict[str, bool]:
        run([*_NBGRADER, "autograde", lesson.stem], cwd=course)
        notebooks = (course / "autograded").glob(f"*/{lesson.stem}/{lesson.stem}.ipynb")
        return {path.parts[-3]: not _has_error(path) for path in notebooks}

    with ThreadPoolExecutor(jobs) as pool:
        shares = pool.map(autograde, sorted(folder.iterdir()))
        return {student: right for share in shares for student, right in share.items()}


def prepare_nbgrader(submissions: Path, lesson: Lesson, jobs: int, folder: Path) -> None:
    """The course as its instructor has it when all have handed in."""
    students = sorted(submissions.iterdir())
    for job in range(min(jobs, len(students))):
        course = folder / str(job)
        source = course / "source" / lesson.stem / f"{lesson.stem}.ipynb"
        _write_notebook(source, lesson.module(), lesson)
        run([*_NBGRADER, "generate_assignment", lesson.stem, "--create"], cwd=course)
        for student in students[job::jobs]:
            handed_in = course / "submitted" / student.name / lesson.stem / source.name
            _write_notebook(handed_in, student / f"{lesson.stem}.py", lesson)


_NBGRADER = [sys.executable, "-m", "nbgrader"]


def otter(
    program: str, submissions: Path, lesson: Lesson, jobs: int, folder: Path
) -> dict[str, bool]:
    def is_right(student: Path) -> bool:
        out = folder / student.name
        notebook = out / f"{lesson.stem}.ipynb"
        autograder = folder / "autograder.zip"
        run([program, "run", str(notebook), "-a", str(autograder), "-o", str(out)], cwd=out)
        tests = json.loads((out / "results.json").read_text(encoding="utf-8"))["tests"]
        return sum(test.get("score", 0) for test in tests) > 0

    return _side_by_side(is_right, submissions, jobs)


def prepare_otter(submissions: Path, lesson: Lesson, jobs: int, folder: Path) -> None:
    for student in submissions.iterdir():
        notebook = folder / student.name / f"{lesson.stem}.ipynb"
        _write_notebook(notebook, student / f"{lesson.stem}.py", lesson, with_test=False)
    test = _OTTER_TEST.format(lesson.stem, textwrap.indent(_test_cell(lesson), " " * 4))
    with zipfile.ZipFile(folder / "autograder.zip", "w") as archive:
        archive.writestr(f"tests/{lesson.stem}.py", test)


_OTTER_TEST = """\
from otter.test_files import test_case

OK_FORMAT = False
name = "{}"
points = 1


@test_case()
def test_all(env):
{}"""


def _side_by_side(is_right: Callable, submissions: Path, jobs: int) -> dict[str, bool]:
    students = sorted(submissions.iterdir())
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = pool.map(is_right, students)
        return {student.name: verdict for student, verdict in zip(students, verdicts, strict=True)}


# --- notebooks ------------------------------------------------------------------------------


def _write_notebook(path: Path, module: Path, lesson: Lesson, with_test: bool = True) -> None:
    """A notebook that writes a student's module and, if wanted, runs the tests on it."""
    source = f"%%writefile {lesson.stem}.py\n{module.read_text(encoding='utf-8')}"
    cells = [_cell("module", source, solution=True)]
    if with_test:
        cells.append(_cell("test", _test_cell(lesson), grade=True, locked=True, points=1))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(notebook), encoding="utf-8")


def _cell(name: str, source: str, **nbgrader: object) -> dict:
    grading = {"grade": False, "solution": False, "locked": False, "task": False}
    grading |= {"grade_id": name, "schema_version": 3, **nbgrader}
    return {
        "cell_type": "code",
        "id": name,
        "metadata": {"nbgrader": grading},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def _test_cell(lesson: Lesson) -> str:
    return f"import pytest\nassert pytest.main({pytest_arguments(lesson, '.')}) == 0\n"


def _has_error(notebook: Path) -> bool:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return any(output["output_type"] == "error" for output in outputs)


# --- side by side ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Contestant:
    """One way to grade lessons.

    Attributes:
        name: what to call it.
        submissions: the folder of those that it grades.
        grade: grades them, given (submissions, lessons, jobs, an empty or prepared folder).
        prepare: makes what it needs first; its time does not count.
    """

    name: str
    submissions: Path
    grade: Callable[[Path, list[Lesson], int, Path], Verdicts]
    prepare: Callable[[Path, list[Lesson], int, Path], object] = lambda *_: None


def compare(
    contestants: list[Contestant], chosen: list[Lesson], jobs: int, repeats: int, folder: Path
) -> dict[str, Spent]:
    """The medians of what each spent per submission and lesson; they take turns."""
    spent = defaultdict(list)
    for repeat in range(repeats):
        for one in contestants:
            place = folder / f"{repeat} {one.name}"
            place.mkdir(parents=True)
            one.prepare(one.submissions, chosen, jobs, place)
            work = partial(one.grade, one.submissions, chosen, jobs, place)
            found, total = spent_in_children(work, _wait_for_orphans)
            _expect_truth(one, chosen, found)
            count = len(found)
            spent[one.name].append(Spent(total.wall / count, total.cpu / count))
            _tell(f"{one.name}: {total.wall:.1f} s for {count}")
    return {name: median(times) for name, times in spent.items()}


def _expect_truth(contestant: Contestant, chosen: list[Lesson], found: Verdicts) -> None:
    names = [folder.name for folder in contestant.submissions.iterdir()]
    truth = {(lesson.stem, name): name.startswith("right") for lesson in chosen for name in names}
    for lesson, name in truth.keys() | found.keys():
        said = found.get((lesson, name))
        if said != truth.get((lesson, name)):
            raise SystemExit(f"{contestant.name} is mistaken about {lesson} of {name}: {said}")


# --- growth and memory ----------------------------------------------------------------------


@dataclass
class Peaks:
    """The most memory that the processes of one role had, in bytes.

    Attributes:
        rss: resident, with what is shared with others.
        pss: where what is shared by n processes counts 1/n for each; 0 if it may not be read.
    """

    rss: int = 0
    pss: int = 0


def grow(size: int, jobs: int, folder: Path) -> tuple[int, Spent, dict[str, Peaks]]:
    """Grade some `size` units: how many exactly, what one took, and the memory by role."""
    students = [Student(number) for number in range(math.ceil(size / len(lessons())))]
    write_class(folder / "submissions", students)
    peaks: dict[str, Peaks] = defaultdict(Peaks)

    def work() -> int:
        command = grade_command(folder / "submissions", folder / "out", jobs)
        with open(folder / "log", "wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        while process.poll() is None:
            for role, number in _family(process.pid, "grader"):
                _look(number, peaks[role])
            time.sleep(0.05)
        return process.returncode

    status, total = spent_in_children(work, _wait_for_orphans)
    if status:
        raise SystemExit((folder / "log").read_text(encoding="utf-8", errors="replace"))
    units = len(results_in(folder / "out"))
    _tell(f"{units} units: {total.wall:.1f} s")
    return units, Spent(total.wall / units, total.cpu / units), dict(peaks)


def _family(process: int, role: str) -> Iterator[tuple[str, int]]:
    """A process and all below it, each with its role."""
    yield role, process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii")
    except OSError:  # it ended meanwhile
        return
    for child in map(int, children.split()):
        if below := _role(child, role):
            yield from _family(child, below)


def _role(process: int, parents: str) -> str:
    if parents in _FORKED:
        return _FORKED[parents]
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    if b"course.grading.sandbox.fork_server" in command:
        return "fork server"
    return "server" if b"forkserver" in command else ""


_FORKED = {
    "server": "judge",
    "fork server": "fork server of a judge",
    "fork server of a judge": "worker",
}
"""The roles of processes that are forked, and look like those that they are forked from."""


def _look(process: int, peaks: Peaks) -> None:
    peaks.rss = max(peaks.rss, process_bytes("VmHWM", "status", process))
    peaks.pss = max(peaks.pss, process_bytes("Pss", "smaps_rollup", process))


# --- the report -----------------------------------------------------------------------------


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def print_comparison(contestants: list[Contestant], medians: dict[str, Spent]) -> None:
    ours = medians["course grade"]
    print("| way | submissions | s | processor s | times ours | times ours, processor |")
    print("|---|--:|--:|--:|--:|--:|")
    for one in contestants:
        spent = medians[one.name]
        count = sum(1 for _ in one.submissions.iterdir())
        print(
            f"| {one.name} | {count} | {spent.wall:.3f} | {spent.cpu:.3f} "
            f"| {spent.wall / ours.wall:.1f} | {spent.cpu / ours.cpu:.1f} |"
        )


def print_growth(rows: Iterable[tuple[int, Spent, dict[str, Peaks]]]) -> None:
    """A line for each class as soon as it is graded."""
    roles = ("grader", "judge", "fork server", "worker")
    titles = " | ".join(f"{role}, MB" for role in roles)
    print(f"| units | s a unit | processor s a unit | {titles} |")
    print("|--:" * (3 + len(roles)) + "|")
    for units, spent, peaks in rows:
        memory = " | ".join(_megabytes(peaks.get(role, Peaks())) for role in roles)
        print(f"| {units:,} | {spent.wall:.3f} | {spent.cpu:.3f} | {memory} |", flush=True)


def _megabytes(peaks: Peaks) -> str:
    return (
        f"{peaks.rss / 1e6:.0f} ({peaks.pss / 1e6:.0f})" if peaks.pss else f"{peaks.rss / 1e6:.0f}"
    )


def print_kinds(results: list[LessonResult]) -> None:
    """How long a judge was busy with one unit."""
    seconds = defaultdict(list)
    for result in results:
        seconds[result.student.rpartition("-")[0]].append(result.seconds)
    medians = [f"{kind} {statistics.median(each):.3f}" for kind, each in seconds.items()]
    slowest = max(results, key=lambda result: result.seconds)
    print(
        f"Median seconds that a judge is busy with one unit: {', '.join(medians)}. The slowest: "
        f"{slowest.seconds:.2f}, {slowest.lesson} of {slowest.student}."
    )


# --- the command ----------------------------------------------------------------------------


def main() -> None:
    arguments = _arguments()
    if lacking := missing():
        cannot_run(f"There is no sandbox here, so nothing is measured. {' '.join(lacking)}")
    _adopt_orphans()
    chosen = list(lessons()) if arguments.lesson == "all" else [find_lesson(arguments.lesson)]
    with tempfile.TemporaryDirectory() as name:
        _report(arguments, chosen, Path(name))


def _report(arguments: argparse.Namespace, chosen: list[Lesson], folder: Path) -> None:
    print(f"{machine()}\n")
    contestants, left_out = _contestants(arguments, folder)
    medians = compare(contestants, chosen, arguments.jobs, arguments.repeats, folder / "runs")
    print(
        f"One lesson of one submission ({', '.join(lesson.stem for lesson in chosen)}), "
        f"{arguments.jobs} at a time, medians of {arguments.repeats}:\n"
    )
    print_comparison(contestants, medians)
    print("".join(f"\nLeft out: {sentence}\n" for sentence in left_out), flush=True)
    places = {size: folder / f"growth {size}" for size in arguments.growth}
    print("`course grade`, all lessons; peak memory resident (and proportional):\n")
    print_growth(grow(size, arguments.jobs, place) for size, place in places.items())
    largest = places[max(places)]
    again = grade_command(largest / "submissions", largest / "out", arguments.jobs)
    _, spent = spent_in_children(lambda: run(again), _wait_for_orphans)
    print(f"\nThe largest once more, with nothing changed: {spent.wall:.1f} s.\n")
    print_kinds(results_in(largest / "out"))


def _contestants(arguments: argparse.Namespace, folder: Path) -> tuple[list[Contestant], list[str]]:
    """All that are installed, and a sentence for each that is not."""
    students = [Student(number) for number in range(arguments.submissions)]
    everybody = write_class(folder / "everybody", students)
    sample = write_class(folder / "sample", students[: arguments.sample])
    one = write_class(folder / "one", students[:1])
    found = [Contestant("course grade", everybody, grade)]
    if not arguments.quick:
        found.append(Contestant("course grade, one alone", one, grade))
    found.append(Contestant("pytest, a process each", sample, lesson_by_lesson(pytest_alone)))
    left_out = []
    if importlib.util.find_spec("nbgrader"):
        version = importlib.metadata.version("nbgrader")
        ways = lesson_by_lesson(nbgrader), lesson_by_lesson(prepare_nbgrader)
        found.append(Contestant(f"nbgrader autograde {version}", sample, *ways))
    else:
        left_out.append("nbgrader, which is not installed; `pip install nbgrader` installs it.")
    program = shutil.which(arguments.otter)
    if program:
        said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        version = said.partition("Otter-Grader version: ")[2].partition("\n")[0]
        ways = lesson_by_lesson(partial(otter, program)), lesson_by_lesson(prepare_otter)
        found.append(Contestant(f"otter run {version}", sample, *ways))
    else:
        left_out.append(
            f"otter, because there is no {arguments.otter}. In an environment of its own, `pip "
            "install -e . 'otter-grader[grading]'`; then say `--otter` and where its program is."
        )
    return found, left_out


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the ways to grade a class.")
    parser.add_argument("--submissions", type=positive, default=200, help="that ours grades")
    parser.add_argument("--sample", type=positive, default=4, help="that the others grade of them")
    names = [lesson.stem for lesson in lessons()]
    parser.add_argument("--lesson", choices=["all", *names], default="all")
    parser.add_argument("--jobs", type=positive, default=1, help="of everybody, side by side")
    parser.add_argument("--repeats", type=positive, default=1)
    parser.add_argument(
        "--growth",
        type=positive,
        nargs="+",
        default=[100, 500, 2000],
        metavar="UNITS",
        help="one lesson of one submission is a unit",
    )
    parser.add_argument("--otter", default="otter", help="the program, if it is not on the PATH")
    parser.add_argument("--quick", action="store_true", help="only see whether all of it works")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.lesson = "rope" if arguments.lesson == "all" else arguments.lesson
        arguments.submissions, arguments.sample, arguments.repeats = 2, 1, 1
        arguments.growth = [6]
    arguments.sample = min(arguments.sample, arguments.submissions)
    return arguments


if __name__ == "__main__":
    main()
