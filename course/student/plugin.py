"""The pytest plugin: the `lesson` door, three outcomes, points, and messages without noise.

A test is graded if it carries `@exercise(...)`; every other test is left to pytest.
"""

import copy
import functools
import gc
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from course import root
from course.student.report import Tally, facts_of, print_summary
from course.syllabus import closest, lessons
from course.system.console import readable_anywhere
from course.testing.case import Case, case_of
from course.testing.examine import Finding
from course.testing.opened import Opened, open_module
from course.testing.outcomes import Wrong
from course.testing.stage import load_module


def _keep_what_is_loaded() -> None:
    """Spare the search for garbage, at exit above all, half a second among PyTorch's objects."""
    if "IPython" not in sys.modules:  # in a notebook, what is garbage later should still be found
        gc.freeze()


_keep_what_is_loaded()
_after_the_first_run = functools.cache(_keep_what_is_loaded)
"""Tests load more of PyTorch; but where there are many runs, their own garbage must not stay."""


def pytest_unconfigure() -> None:
    _after_the_first_run()


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
    readable_anywhere()
    torch.set_num_threads(1)  # tensors are small here: handing them to threads costs more
    config.addinivalue_line("markers", "exercise(name): the exercise that these tests grade")
    config.addinivalue_line("markers", "limit(seconds): how long the test may take")
    config.addinivalue_line("filterwarnings", "ignore::pytest.PytestCacheWarning")  # read-only
    config.stash[_OPENED] = {}
    config.stash[_FIRST_TO_DO] = {}
    config.stash[_TALLY] = Tally()
    config.pluginmanager.register(config.stash[_TALLY])


# --- fixtures -------------------------------------------------------------------------------


@pytest.fixture
def lesson(request: pytest.FixtureRequest) -> None:
    """The door to the student's module of this test file; `Examination` opens it."""
    _loaded(request.config, request.path)


@pytest.fixture
def draw() -> None:
    """Fresh inputs; `Examination` draws them."""


@pytest.fixture(autouse=True)
def _names_in_lesson_texts(request: pytest.FixtureRequest) -> None:
    """The examples in `course/lessons` use a lesson's names without importing them."""
    if request.path.parent == root() / "course" / "lessons":
        reference = root() / "solutions" / f"{request.path.stem.partition('_')[2]}.py"
        names = request.getfixturevalue("doctest_namespace")
        names.clear()
        if reference.exists():
            names.update(vars(load_module(reference)))
        exec("import math, torch", names)


_OPENED = pytest.StashKey[dict[Path, Opened]]()
_FIRST_TO_DO = pytest.StashKey[dict[tuple[str, str], str]]()
_TALLY = pytest.StashKey[Tally]()
_CASE = pytest.StashKey[Case]()
_TESTS_OF_EXERCISE = pytest.StashKey[int]()
_FINDING = pytest.StashKey[Finding]()


def _loaded(config: pytest.Config, test_file: Path) -> Opened:
    """The module that a test file grades.

    Raises:
        Wrong: why it cannot be loaded.
    """
    opened = _opened(config, test_file)
    if opened.examination is None:
        raise Wrong(opened.refusal)
    return opened


def _opened(config: pytest.Config, test_file: Path) -> Opened:
    """The same, if it can be loaded or not; it is tried only once."""
    path = _module_path(config, test_file)
    known = config.stash[_OPENED]
    if path not in known:
        known[path] = open_module(path, config.option.seed, _printed_by(config))
    return known[path]


def _printed_by(config: pytest.Config) -> Callable[[], str]:
    """Gives what was printed since it was last asked; nothing under `pytest -s`."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return lambda: capture.read_global_capture()[0] if capture else ""


def _module_path(config: pytest.Config, test_file: Path) -> Path:
    folder = root() / "exercises"
    if config.option.solutions:
        folder = root() / "solutions"
    elif config.option.modules:
        folder = Path(config.option.modules).resolve()
    return folder / f"{test_file.stem.removeprefix('test_')}.py"


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
    finding = _loaded(pyfuncitem.config, pyfuncitem.path).examination.run(case)
    pyfuncitem.stash[_FINDING] = finding
    if finding.failure is not None:
        raise finding.failure
    return True


# --- reporting ------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """The report of a graded test, in place of pytest's, which would explain our own code."""
    case = item.stash.get(_CASE, None)
    if case is None:
        return None
    without_traceback = copy.copy(call)
    without_traceback.excinfo = None
    report = pytest.TestReport.from_item_and_call(item, without_traceback)
    if call.excinfo is None and call.when != "call":
        return report
    facts = facts_of(
        case,
        _opened(item.config, item.path),
        item.stash.get(_FINDING, None),
        printed=report.capstdout,
        of=item.stash[_TESTS_OF_EXERCISE],
    )
    if facts["outcome"] != "passed":
        report.outcome = "failed"
        report.longrepr = facts["text"]
    report.course = facts
    return report


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config):
    """The words for an outcome. What is to do is counted by exercise, not by test."""
    facts = getattr(report, "course", None)
    if facts and facts["outcome"] == "wrong":
        return "wrong", "x", ("WRONG", {"red": True})
    if facts and facts["outcome"] == "to do":
        exercise = facts["lesson"], facts["exercise"]
        first = config.stash[_FIRST_TO_DO].setdefault(exercise, report.nodeid)
        counted_as = "to do" if report.nodeid == first else ""
        return counted_as, "o", ("TO DO", {"yellow": True})
    if facts and facts["outcome"] == "not run":
        return "not run", "-", ("NOT RUN", {"yellow": True})
    return None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Name the mistakes behind what is wrong (under xdist no process has all the tests)."""
    if session.config.option.usepdb or exitstatus == pytest.ExitCode.INTERRUPTED:
        return  # whoever debugs or stops wants no further runs
    tally = session.config.stash[_TALLY]
    seen = [item.stash[_FINDING] for item in session.items if _FINDING in item.stash]
    for stem, exercise in tally.wrong():
        tally.name_the_mistake(stem, exercise, seen, session.config.option.seed)


def pytest_terminal_summary(terminalreporter, exitstatus: int, config: pytest.Config) -> None:
    tally = config.stash[_TALLY]
    wanted = config.option.keyword or " ".join(config.option.exercise or [])
    if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and wanted:
        terminalreporter.write_line(f"\n{_nothing_called(wanted)}\n")
    own = not (config.option.solutions or config.option.modules)
    if own:
        tally.remember()
    print_summary(terminalreporter, tally, own)


def _nothing_called(wanted: str) -> str:
    names = [exercise.name for lesson in lessons() for exercise in lesson.exercises]
    close = closest(wanted, names)
    advice = f"did you mean {close}?" if close else "`course check NAME` checks an exercise."
    return f'No test here goes by the name "{wanted}"; {advice}'
