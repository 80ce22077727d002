"""The pytest plugin: the `lesson` door, three outcomes, points, and messages without noise.

A test is graded if it carries `@exercise(...)`; every other test is left to pytest.
"""

import ast
import copy
import functools
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from course import ROOT
from course.choose import closest
from course.syllabus import lessons
from course.testing.case import SECONDS_PER_TEST, Case, case_of
from course.testing.clock import TimeIsUp, time_limit
from course.testing.diagnosis import diagnose, suspects
from course.testing.examine import Examination, Finding
from course.testing.outcomes import Prints, Wrong
from course.testing.report import Tally, print_summary
from course.testing.stage import Stage, load_module, where


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
    torch.set_num_threads(1)  # tensors are small here: handing them to threads costs more
    config.addinivalue_line("markers", "exercise(name): the exercise that these tests grade")
    config.addinivalue_line("markers", "limit(seconds): how long the test may take")
    config.stash[_EXAMINATIONS] = {}
    config.stash[_PRINTED_AT_IMPORT] = {}
    config.stash[_FIRST_TO_DO] = {}
    config.stash[_TALLY] = Tally()
    config.pluginmanager.register(config.stash[_TALLY])


# --- fixtures -------------------------------------------------------------------------------


@pytest.fixture
def lesson(request: pytest.FixtureRequest) -> None:
    """The door to the student's module of this test file; `Examination` opens it."""
    _examination(request.config, request.path)


@pytest.fixture
def draw() -> None:
    """Fresh inputs; `Examination` draws them."""


@pytest.fixture(autouse=True)
def _names_in_lesson_texts(request: pytest.FixtureRequest) -> None:
    """The examples in `course/lessons` use a lesson's names without importing them."""
    if request.path.parent == ROOT / "course" / "lessons":
        reference = ROOT / "solutions" / f"{request.path.stem.partition('_')[2]}.py"
        names = request.getfixturevalue("doctest_namespace")
        names.clear()
        if reference.exists():
            names.update(vars(load_module(reference)))
        exec("import math, torch", names)


_EXAMINATIONS = pytest.StashKey[dict[Path, Examination | Wrong]]()
_PRINTED_AT_IMPORT = pytest.StashKey[dict[Path, str]]()
_FIRST_TO_DO = pytest.StashKey[dict[tuple[str, str], str]]()
_TALLY = pytest.StashKey[Tally]()
_CASE = pytest.StashKey[Case]()
_TESTS_OF_EXERCISE = pytest.StashKey[int]()
_FINDING = pytest.StashKey[Finding]()


def _examination(config: pytest.Config, test_file: Path) -> Examination:
    """The examination of the module that a test file grades, which is loaded only once.

    Raises:
        Wrong: why the module cannot be loaded.
    """
    path = _module_path(config, test_file)
    known = config.stash[_EXAMINATIONS]
    if path not in known:
        printed = _printed_by(config)
        printed()
        try:
            module = _load(path)
            known[path] = Examination(
                lambda: Stage(module), path.read_bytes(), config.option.seed, printed
            )
        except Wrong as wrong:
            known[path] = wrong
        config.stash[_PRINTED_AT_IMPORT][path] = printed()
    if isinstance(known[path], Wrong):
        raise Wrong(str(known[path]))
    return known[path]


def _load(path: Path) -> types.ModuleType:
    try:
        with time_limit(SECONDS_PER_TEST):
            return load_module(path)
    except TimeIsUp as error:
        raise Wrong(
            f"{path.parent.name}/{path.name} did not finish its import in {SECONDS_PER_TEST} s; "
            f"is there a loop outside of a function?\n  {where(error, path)}"
        ) from None


def _printed_by(config: pytest.Config) -> Callable[[], str]:
    """Gives what was printed since it was last asked; nothing under `pytest -s`."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return lambda: capture.read_global_capture()[0] if capture else ""


def _module_path(config: pytest.Config, test_file: Path) -> Path:
    folder = ROOT / "exercises"
    if config.option.solutions:
        folder = ROOT / "solutions"
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
    finding = _examination(pyfuncitem.config, pyfuncitem.path).run(case)
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
    path = _module_path(item.config, item.path)
    finding = item.stash.get(_FINDING, None)
    if finding is None:  # the module could not be loaded
        outcome, text = "wrong", str(call.excinfo.value)
    else:
        outcome, text = finding.outcome, finding.text
    if outcome != "passed":
        report.outcome = "failed"
        report.longrepr = text
    report.course = {
        "lesson": path.stem,
        "exercise": case.exercise,
        "test": case.name,
        "why": case.why,
        "where": f"{path.parent.name}/{path.name}{_line_of(path, case.exercise)}",
        "outcome": outcome,
        "text": text,
        "only_prints": finding is not None and isinstance(finding.failure, Prints),
        "not_loaded": finding is None,
        "printed": report.capstdout,
        "printed_at_import": item.config.stash[_PRINTED_AT_IMPORT].get(path, ""),
        "of": item.stash[_TESTS_OF_EXERCISE],
    }
    return report


def _line_of(path: Path, exercise: str) -> str:
    """ ":31" for a definition on line 31 of a file; nothing if it is not there."""
    line = _lines_of_definitions(path.read_bytes()).get(exercise) if path.exists() else None
    return f":{line}" if line else ""


@functools.cache
def _lines_of_definitions(source: bytes) -> dict[str, int]:
    try:
        return {getattr(node, "name", ""): node.lineno for node in ast.parse(source).body}
    except (SyntaxError, ValueError):
        return {}


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
        findings = [one for one in seen if (one.case.lesson, one.case.exercise) == (stem, exercise)]
        if findings:  # none if the module could not be loaded
            known = suspects([one.case for one in findings], session.config.option.seed)
            tally.diagnoses[stem, exercise] = diagnose(findings, known)


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
