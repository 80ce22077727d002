"""The pytest plugin: the `lesson` door, three outcomes, and reports that hold results.

A test is graded if it carries `@exercise(...)`; every other test is left to pytest.
"""

import contextlib
import copy
import functools
import gc
import io
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course import root
from course.core.console import replace_unprintable
from course.core.syllabus import Status, lessons
from course.testing.case import SECONDS_PER_TEST, Case, case_of
from course.testing.clock import lift_limits
from course.testing.errors import short_path
from course.testing.examine import Finding
from course.testing.messages.wording import STATUS_WORDS
from course.testing.outcomes import Wrong
from course.testing.result import LessonResult, from_text, to_text
from course.testing.run import Module, exercise_result, lesson_result, open_module, test_result


def _keep_what_is_loaded() -> None:
    """Spare the search for garbage, at exit above all, half a second among PyTorch's objects."""
    if "IPython" not in sys.modules:  # in a notebook, what is garbage later should still be found
        gc.freeze()


_keep_what_is_loaded()
_after_the_first_run = functools.cache(_keep_what_is_loaded)
"""Tests load more of PyTorch; but where there are many runs, their own garbage must not stay."""


def pytest_unconfigure(config: pytest.Config) -> None:
    _after_the_first_run()
    with contextlib.suppress(OSError):
        os.close(config.stash.get(_STDOUT, -1))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("what and where")
    group.addoption(
        "--solutions", action="store_true", help="test the reference instead of your exercises"
    )
    group.addoption(
        "--modules", metavar="FOLDER", help="test the modules in FOLDER instead of exercises/"
    )
    group.addoption("--exercise", action="append", metavar="NAME", help="test this exercise only")
    group.addoption(
        "--seed", type=int, default=0, help="draw other inputs for the tests (default: 0)"
    )


def pytest_configure(config: pytest.Config) -> None:
    replace_unprintable()
    torch.set_num_threads(1)  # tensors are small here: handing them to threads costs more
    config.addinivalue_line("markers", "exercise(name): the exercise that these tests grade")
    config.addinivalue_line("markers", "limit(seconds): how long the test may take")
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestCacheWarning")  # read-only
    if config.option.verbose == 0 and _only_graded(config.args):
        config.option.verbose = -1  # as with `-q`: no titles above the messages
    if not hasattr(config, "workerinput"):  # under xdist, stdout is for what workers tell
        with contextlib.suppress(OSError, ValueError, io.UnsupportedOperation):
            config.stash[_STDOUT] = os.dup(sys.stdout.fileno())


def _only_graded(arguments: list[str]) -> bool:
    """Return whether all that pytest was asked for are files of graded tests."""
    graded = {lesson.tests.name for lesson in lessons()}
    return {Path(one.partition("::")[0]).name for one in arguments} <= graded


def tests_own_exercises(config: pytest.Config) -> bool:
    """Return whether the student's own exercises are tested, not some other modules."""
    return not (config.option.solutions or config.option.modules)


# --- fixtures -------------------------------------------------------------------------------


@pytest.fixture
def lesson() -> None:
    """The door to the student's module of this test file; `Examination` opens it."""


@pytest.fixture
def draw() -> None:
    """Fresh inputs; `Examination` draws them."""


_MODULES = pytest.StashKey[dict[Path, Module]]()
_FIRST_TO_DO = pytest.StashKey[dict[tuple[str, str], str]]()
_LETTERS = pytest.StashKey[dict[tuple[str, str], dict[str, str]]]()
_STDOUT = pytest.StashKey[int]()
"""A descriptor of where pytest writes, which it keeps for itself while a test runs."""

_TIMER = pytest.StashKey[threading.Timer]()
_DEBUGS = pytest.StashKey[bool]()
_CASE = pytest.StashKey[Case]()
_TESTS_OF_EXERCISE = pytest.StashKey[int]()
FINDING = pytest.StashKey[Finding]()
"""How a graded test ended, in the stash of its item."""


def _module(config: pytest.Config, test_file: Path) -> Module:
    """Return the module that a test file grades, if it can be loaded or not; tried only once."""
    folder = root() / ("solutions" if config.option.solutions else "exercises")
    if config.option.modules and not config.option.solutions:
        folder = Path(config.option.modules).resolve()
    path = folder / f"{test_file.stem.removeprefix('test_')}.py"
    known = config.stash.setdefault(_MODULES, {})
    if path not in known:
        shown = short_path(path)
        with _announce_if_slow(config, f"{shown} has been loading", SECONDS_PER_TEST):
            _take_printed(config)
            module = open_module(path, config.option.seed)
            known[path] = replace(module, printed=_take_printed(config))
    return known[path]


def _take_printed(config: pytest.Config) -> str:
    """Return what was printed since this was last called; nothing under `pytest -s`."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return capture.read_global_capture()[0] if capture else ""


# --- collecting -----------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the chosen exercises, and count them before `-k` chooses among them."""
    chosen = config.option.exercise
    graded = [(item, case) for item in items if (case := case_of(item))]
    tests_of = Counter((item.path, case.exercise) for item, case in graded)
    parts_only = any(arg.count("::") > 1 for arg in config.args)
    for item, case in graded:
        item.extra_keyword_matches.add(case.exercise)
        item.add_marker(pytest.mark.filterwarnings("ignore"))  # those of a student's code
        item.stash[_CASE] = case
        item.stash[_TESTS_OF_EXERCISE] = 0 if parts_only else tests_of[item.path, case.exercise]
    if chosen:
        items[:] = [item for item, case in graded if case.exercise in chosen]


# --- running --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a graded test."""
    case = pyfuncitem.stash.get(_CASE, None)
    if case is None:
        return None
    module = _module(pyfuncitem.config, pyfuncitem.path)
    if module.examination is None:
        raise Wrong(module.trouble)
    what = f"{case.exercise} has been running"
    try:
        with _announce_if_slow(pyfuncitem.config, what, case.seconds):
            finding = module.examination.run(case)
    except KeyboardInterrupt:
        raise TestsStopped(f"by Ctrl+C, while {case.exercise} was tested", 130) from None
    left_debugger = "Exit" in getattr(finding.failure, "kinds", ())
    if left_debugger and _DEBUGS in pyfuncitem.config.stash:
        raise TestsStopped("in the debugger", 130)
    pyfuncitem.stash[FINDING] = finding
    if finding.failure is not None:
        raise finding.failure
    return True


class TestsStopped(pytest.exit.Exception):
    """The end of a run by Ctrl+C; pytest prints its name and its words, and no line of code."""

    __module__ = "builtins"  # pytest prints it, unless it is this one


def pytest_enter_pdb(config: pytest.Config) -> None:
    """Let somebody who debugs take any time, and write nothing in between."""
    lift_limits()
    config.stash[_DEBUGS] = True
    if timer := config.stash.get(_TIMER, None):
        timer.cancel()


SECONDS_BEFORE_NOTICE = 3
"""How long a test runs before a line tells what takes so long."""


@contextlib.contextmanager
def _announce_if_slow(config: pytest.Config, what: str, limit: float) -> Iterator[None]:
    """Write a line if the block takes long; pytest itself writes nothing before its end."""
    stdout = config.stash.get(_STDOUT, None)
    if stdout is None:
        yield
        return
    text = (
        f"\n{what} for {SECONDS_BEFORE_NOTICE} s; a test that takes {limit:g} s is stopped, "
        "Ctrl+C stops all\n"
    )
    timer = threading.Timer(
        SECONDS_BEFORE_NOTICE, os.write, (stdout, text.encode("ascii", "replace"))
    )
    timer.daemon = True
    config.stash[_TIMER] = timer
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# --- reporting ------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Return the report of a graded test, in place of pytest's, which would explain our code.

    Its `lesson_result` holds this one test, as text: pytest-xdist sends reports between processes.
    """
    case = item.stash.get(_CASE, None)
    if case is None:
        return None
    without_traceback = copy.copy(call)
    without_traceback.excinfo = None
    report = pytest.TestReport.from_item_and_call(item, without_traceback)
    if call.excinfo is None and call.when != "call":
        return report
    module = _module(item.config, item.path)
    test = test_result(module, case, item.stash.get(FINDING, None), report.capstdout)
    n_tests = item.stash[_TESTS_OF_EXERCISE]
    exercise = exercise_result(module, case.lesson, case.exercise, [test], n_tests)
    if test.status != Status.PASSED:
        report.outcome = "failed"
        report.longrepr = test.message
        if test.status == Status.TO_DO and item.config.option.maxfail:
            item.config.option.maxfail += 1  # with `-x`, only what is wrong ends the run
    report.lesson_result = to_text(lesson_result(module, [exercise]))
    return report


def result_in(report: pytest.TestReport) -> LessonResult | None:
    """Return the result that a report holds; None if it is not of a graded test."""
    text = getattr(report, "lesson_result", None)
    return from_text(text) if text else None


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config):
    """Return the words for an outcome; exercises still to do are counted, not their tests."""
    result = result_in(report)
    if result is None:
        return None
    (exercise,) = result.exercises
    (test,) = exercise.tests
    place = result.lesson, exercise.name
    status = Status.NOT_RUN if result.trouble else test.status
    letters = config.stash.setdefault(_LETTERS, {}).setdefault(place, {})
    letter = _letter(letters, report, status, exercise.n_tests)
    word, color = _WORDS[status]
    counted_as = word
    if status == Status.TO_DO:
        first = config.stash.setdefault(_FIRST_TO_DO, {}).setdefault(place, report.nodeid)
        counted_as = word if report.nodeid == first else ""
    return counted_as, letter, (word.upper(), {color: True})


_WORDS = {
    Status.PASSED: ("passed", "green"),
    Status.WRONG: ("wrong", "red"),
    Status.TO_DO: ("to do", "yellow"),
    Status.NOT_RUN: ("not run", "yellow"),
}


def _letter(given: dict[str, str], report: pytest.TestReport, status: Status, n_tests: int) -> str:
    """Return the letter of an exercise, as on the board, at the test that decides; else nothing.

    Args:
        given: what this gave for the exercise's tests so far.
    """
    if report.nodeid not in given:
        decides = status != Status.PASSED or len(given) + 1 == n_tests
        is_new = decides and not any(given.values())
        given[report.nodeid] = STATUS_WORDS[status].sign if is_new else ""
    return given[report.nodeid]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Leave out pytest's line about `-x`, which counts what is to do as failures."""
    if session.shouldfail and _only_graded(session.config.args):
        session.shouldfail = ""
