"""What grading a submission costs: ours, pytest by itself and nbgrader, side by side.

    python benchmarks/grading.py [--submissions 200] [--sample 4] [--quick]

A class is made up: a quarter each of right modules, of modules with every second exercise not yet
begun, of modules with mistakes of the catalogue, and of stubs; what is right is written in many
styles, those of the catalogue. Everybody runs the very same graded tests on the very same modules
and must come to the same verdict: in a notebook, one cell writes the module and another one runs
pytest on it. Ours grades the whole class with a judge for each processor, the others a sample of
it, because they are slow. The processors' time is that of the whole machine, so nothing else should
run meanwhile.

Linux only, as our sandbox is.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.measuring import arguments_of, machine, spent_on_machine
from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import Lesson, find_lesson, lessons
from course.grading.judge.unit import GradedResult
from course.grading.sandbox.sandbox import missing
from course.mistakes import alternatives, mistakes
from course.testing.result import from_text

KINDS = ("right", "half-right", "wrong", "stub")

Verdicts = dict[tuple[str, str], bool]
"""By lesson and student: is all of the lesson right?"""


# --- a class --------------------------------------------------------------------------------


def write_class(folder: Path, n_students: int) -> Path:
    """A folder per student, with a module per lesson."""
    for number in range(n_students):
        student = folder / f"{KINDS[number % len(KINDS)]}-{number:05}"
        student.mkdir(parents=True)
        for lesson in lessons():
            text = module_of(student.name, number, lesson)
            (student / f"{lesson.stem}.py").write_text(text, encoding="utf-8")
    return folder


def module_of(name: str, number: int, lesson: Lesson) -> str:
    """The source of a module; changes are at its end, where they win.

    Everybody has some exercises as the reference has them, and others in another style.
    """
    kind, turn = KINDS[number % len(KINDS)], number // len(KINDS)
    solution = lesson.module("solutions").read_text(encoding="utf-8")
    solution = solution.replace("from solutions.", "from exercises.")  # as students import
    head = f"# handed in by {name}\n" * (number % 5 + 1)  # lines differ, too
    if kind == "stub":
        return f"{head}\n{stub_from(solution, lesson.stem)}"
    names = [exercise.name for exercise in lesson.exercises]
    styles = (lesson.room / "styles.py").read_text(encoding="utf-8")
    used = re.findall(r"^(?:import |from torch ).*", styles, re.MULTILINE)  # by variants
    helpers = _defined_in(styles) - {exercise.name for exercise in lesson.exercises}
    own = _ones_of(turn, alternatives(lesson.stem), names[(turn + 1) % 2 :: 2], helpers)
    parts = [head, solution, "\n".join(used), *own]
    changed = names[turn % 2 :: 2]
    if kind == "half-right":
        parts += [f"def {name}(*inputs):\n    raise NotImplementedError" for name in changed]
    if kind == "wrong":
        known = mistakes(lesson.stem)
        one_of_all = _ones_of(turn, known, names, helpers)
        parts += _ones_of(turn, known, changed, helpers) or one_of_all
    return "\n\n\n".join(parts)


def _ones_of(turn: int, known: Iterable, names: list[str], helpers: set[str]) -> list[str]:
    """One variant of each of these exercises, another one at each turn; edits of functions only.

    A variant that uses what the catalogue's styles.py defines is left out.
    """
    texts = {name: [] for name in names}
    for one in known:
        text = "" if one.variant.definition else one.variant.text
        is_function = one.exercise in names and text.startswith("def ")
        if is_function and not helpers & _names_in(text):
            texts[one.exercise].append(text)
    return [found[turn % len(found)] for found in texts.values() if found]


def _defined_in(source: str) -> set[str]:
    """The functions, classes and constants of a file."""
    body = ast.parse(source).body
    assigned = [node for node in body if isinstance(node, ast.Assign)]
    names = {node.id for one in assigned for node in ast.walk(one) if isinstance(node, ast.Name)}
    return names | {node.name for node in body if hasattr(node, "name")}


def _names_in(source: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}


# --- the graders ----------------------------------------------------------------------------


def run(command: list[str], cwd: Path = ROOT, may_fail: bool = False) -> int:
    """Run a program to its end; its exit status."""
    here = str(Path(sys.executable).parent)  # where nbgrader finds alembic
    environment = {**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, errors="replace"
    )
    if done.returncode and not may_fail:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-15:])
        raise SystemExit(f"{' '.join(command)} failed in {cwd}:\n{textwrap.indent(last, '  ')}")
    return done.returncode


def course_grade(submissions: Path, chosen: list[Lesson], folder: Path) -> Verdicts:
    command = [sys.executable, "-m", "course", "grade", str(submissions), "--out", str(folder)]
    run([*command, *(f"--lesson={lesson.stem}" for lesson in chosen)])
    lines = (folder / "results.jsonl").read_text("utf-8").splitlines()
    found = [from_text(line, GradedResult) for line in lines]
    return {(one.lesson, one.student): one.points == one.worth for one in found}


def pytest_arguments(lesson: Lesson, modules: str) -> list[str]:
    """Run the graded tests of a lesson on the module in a folder."""
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
    return [str(lesson.tests), f"--modules={modules}", *settings, "-q", "-p", "no:cacheprovider"]


def pytest_alone(submissions: Path, chosen: list[Lesson], folder: Path) -> Verdicts:
    def is_right(lesson: Lesson, student: Path) -> bool:
        arguments = pytest_arguments(lesson, str(student))
        return run([sys.executable, "-m", "pytest", *arguments], may_fail=True) == 0

    students = sorted(submissions.iterdir())
    return {
        (lesson.stem, student.name): is_right(lesson, student)
        for lesson in chosen
        for student in students
    }


_NBGRADER = [sys.executable, "-m", "nbgrader"]


def prepare_nbgrader(submissions: Path, chosen: list[Lesson], folder: Path) -> None:
    """The course as its instructor has it when all have handed in."""
    for lesson in chosen:
        stem = lesson.stem
        _write_notebook(folder / "source" / stem / f"{stem}.ipynb", lesson.module(), lesson)
        run([*_NBGRADER, "generate_assignment", stem, "--create"], cwd=folder)
        for student in submissions.iterdir():
            handed_in = folder / "submitted" / student.name / stem / f"{stem}.ipynb"
            _write_notebook(handed_in, student / f"{stem}.py", lesson)


def nbgrader(submissions: Path, chosen: list[Lesson], folder: Path) -> Verdicts:
    for lesson in chosen:
        run([*_NBGRADER, "autograde", lesson.stem], cwd=folder)
    notebooks = (folder / "autograded").glob("*/*/*.ipynb")
    return {(path.stem, path.parts[-3]): not _has_error(path) for path in notebooks}


def _write_notebook(path: Path, module: Path, lesson: Lesson) -> None:
    """A notebook that writes a student's module and runs the tests on it."""
    test = f"import pytest\nassert pytest.main({pytest_arguments(lesson, '.')}) == 0\n"
    written = f"%%writefile {lesson.stem}.py\n{module.read_text(encoding='utf-8')}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "cells": [
            _cell("module", written, solution=True),
            _cell("test", test, grade=True, locked=True, points=1),
        ],
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


def _has_error(notebook: Path) -> bool:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return any(output["output_type"] == "error" for output in outputs)


# --- side by side ---------------------------------------------------------------------------


def expect_truth(name: str, submissions: Path, chosen: list[Lesson], found: Verdicts) -> None:
    """Refuse a grader that is mistaken about anybody."""
    students = [folder.name for folder in submissions.iterdir()]
    truth = {(one.stem, name): name.startswith("right") for one in chosen for name in students}
    for which in truth.keys() | found.keys():
        if found.get(which) != truth.get(which):
            lesson, student = which
            raise SystemExit(f"{name} is mistaken about {lesson} of {student}: {found.get(which)}")


def main() -> None:
    arguments = arguments_of(__doc__, submissions=200, sample=4)
    if lacking := missing():
        raise SystemExit(f"There is no sandbox here, so nothing is measured. {' '.join(lacking)}")
    chosen = [find_lesson("rope")] if arguments.quick else list(lessons())
    n_all, n_sample = (2, 1) if arguments.quick else (arguments.submissions, arguments.sample)
    print(f"{machine()}\n\nOne lesson of one submission, the mean of {len(chosen)}:\n")
    print("| way | submissions | s | processor s | times ours | times ours, processor |")
    print("|---|--:|--:|--:|--:|--:|", flush=True)
    ours = None
    ways: dict[str, tuple[int, Callable, Callable | None]] = {
        "course grade": (n_all, course_grade, None),
        "pytest, a process each": (n_sample, pytest_alone, None),
        "nbgrader autograde": (n_sample, nbgrader, prepare_nbgrader),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (n_students, grade, prepare) in ways.items():
            place = Path(folder) / name / "out"
            place.mkdir(parents=True)
            submissions = write_class(Path(folder) / name / "submissions", n_students)
            if prepare:
                prepare(submissions, chosen, place)
            found, spent = spent_on_machine(lambda: grade(submissions, chosen, place))  # noqa: B023
            expect_truth(name, submissions, chosen, found)
            ours = ours or (spent.wall / len(found), spent.cpu / len(found))
            wall, cpu = spent.wall / len(found), spent.cpu / len(found)
            print(
                f"| {name} | {n_students} | {wall:.3f} | {cpu:.3f} | {wall / ours[0]:.1f} "
                f"| {cpu / ours[1]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
