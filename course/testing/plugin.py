"""The pytest plugin: the `lesson` door, three outcomes, points, and messages without noise.

A test is graded if it carries `@exercise(...)`; every other test is left to pytest.
"""

import ast
import copy
import functools
import inspect
import types
import zlib
from collections import Counter
from pathlib import Path

import pytest
import torch

from course import ROOT
from course.syllabus import find_lesson
from course.testing import expect
from course.testing.clock import TimeIsUp, time_limit
from course.testing.diagnosis import TRACE, Observation, diagnose
from course.testing.door import Lesson
from course.testing.draw import Draw
from course.testing.outcomes import Prints, StudentError, TimedOut, ToDo, Wrong
from course.testing.report import Tally, print_summary
from course.testing.stage import Stage, load_module

SECONDS_PER_TEST = 30


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("what and where")
    group.addoption(
        "--solutions", action="store_true", help="test the reference instead of your exercises"
    )
    group.addoption(
        "--modules", metavar="FOLDER", help="test the modules in FOLDER instead of exercises/"
    )
    group.addoption(
        "--seed", type=int, default=0, help="draw other inputs for the tests (default: 0)"
    )


def pytest_configure(config: pytest.Config) -> None:
    torch.set_num_threads(1)  # tensors are small here: handing them to threads costs more
    config.addinivalue_line("markers", "exercise(name): the exercise that these tests grade")
    config.addinivalue_line("markers", "limit(seconds): how long the test may take")
    config.stash[MODULES] = Modules()
    config.stash[_TALLY] = Tally()
    config.pluginmanager.register(config.stash[_TALLY])


# --- fixtures -------------------------------------------------------------------------------


@pytest.fixture
def lesson(request: pytest.FixtureRequest) -> Lesson:
    """The door to the student's module of this test file."""
    module = request.config.stash[MODULES].load(_module_path(request.config, request.path))
    expect.calls.clear()
    lesson = Lesson(Stage(module), expect.calls)
    lesson.seed(_seed_of(request))  # what starts at random starts alike in every run
    request.node.stash[TRACE] = lesson.trace
    return lesson


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Draw:
    """Fresh inputs; every test has its own seed, so that none depends on another."""
    return Draw(_seed_of(request))


def _seed_of(request: pytest.FixtureRequest) -> int:
    name = f"{request.config.option.seed} {request.path.name} {request.node.name}"
    return zlib.crc32(name.encode())


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


class Modules:
    """The student modules of this run, each loaded once; what kept one from loading, too."""

    def __init__(self) -> None:
        self._loaded: dict[Path, types.ModuleType | Wrong] = {}

    def use(self, path: Path, module: types.ModuleType) -> None:
        """Take a ready-made module for this file."""
        self._loaded[path] = module

    def load(self, path: Path) -> types.ModuleType:
        """The module of a file; raises `Wrong` with the reason if there is none."""
        if path not in self._loaded:
            try:
                with time_limit(SECONDS_PER_TEST):
                    self._loaded[path] = load_module(path)
            except TimeIsUp:
                self._loaded[path] = Wrong(
                    f"{path.parent.name}/{path.name} did not finish its import in "
                    f"{SECONDS_PER_TEST} s; is there a loop outside of a function?"
                )
            except Wrong as wrong:
                self._loaded[path] = wrong
        if isinstance(self._loaded[path], Wrong):
            raise Wrong(str(self._loaded[path]))
        return self._loaded[path]


MODULES = pytest.StashKey[Modules]()
_TALLY = pytest.StashKey[Tally]()
_TESTS_OF_EXERCISE = pytest.StashKey[int]()
TIMED_OUT = pytest.StashKey[set[str]]()
_OUTCOME = pytest.StashKey[tuple[str, float]]()


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
    """Let `-k rotate_half` find the tests of an exercise, and count them before it does."""
    graded = [item for item in items if exercise_of(item)]
    tests_of = Counter((item.path, exercise_of(item)) for item in graded)
    parts_only = any(arg.count("::") > 1 for arg in config.args)
    for item in graded:
        item.extra_keyword_matches.add(exercise_of(item))
        count = tests_of[item.path, exercise_of(item)]
        item.stash[_TESTS_OF_EXERCISE] = 0 if parts_only else count


def exercise_of(item: pytest.Item) -> str | None:
    marker = item.get_closest_marker("exercise")
    return marker.args[0] if marker else None


# --- running --------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a graded test; if it fails, once more with the lesson's other exercises lent.

    So nobody loses the points of an exercise because of another one that it calls.
    """
    exercise = exercise_of(pyfuncitem)
    if exercise is None:
        return None
    timed_out = pyfuncitem.session.stash.setdefault(TIMED_OUT, set())
    if exercise in timed_out:  # waiting once more would teach nothing
        raise Wrong(f"{exercise} came to no end in another test, so this one was not run")
    attempt = _Attempt(pyfuncitem, exercise)
    others = _other_exercises_used(attempt.path.read_bytes(), attempt.path.stem, exercise)
    failure = None if timed_out & set(others) else attempt.run()
    if others and (failure or timed_out & set(others)):
        failure_with_lent = attempt.run_with_lent(others)
        if failure_with_lent is None or attempt.stopped_at_another_stub(failure):
            failure = failure_with_lent
    if failure is None:
        return True
    if isinstance(failure, TimedOut):
        timed_out.add(exercise)
    raise failure


class _Attempt:
    """One graded test, ready to be run against the student's module."""

    def __init__(self, item: pytest.Function, exercise: str) -> None:
        self.item = item
        self.exercise = exercise
        self.path = _module_path(item.config, item.path)
        self.arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
        marker = item.get_closest_marker("limit")
        self.seconds = marker.args[0] if marker else SECONDS_PER_TEST

    def run(self) -> Exception | None:
        """Run the test, for a limited time, on the module as it is; return what went wrong."""
        self._printed()
        try:
            with time_limit(self.seconds):
                self.item.obj(**self.arguments)
        except TimeIsUp:
            sentence = f"{self.exercise} did not come to an end in {self.seconds} s"
            return TimedOut(expect.message(sentence, expect.last_call()))
        except Exception as failure:
            return failure
        printed = self._printed()
        return Prints(self.exercise, printed) if printed else None

    def run_with_lent(self, others: list[str]) -> Exception | None:
        """The same on the student's exercise among the reference's other ones."""
        if "draw" in self.arguments:
            self.arguments["draw"].restart()
        expect.calls.clear()
        self.item.stash[TRACE].clear()
        reference = self.item.config.stash[MODULES].load(ROOT / "solutions" / self.path.name)
        with self.arguments["lesson"]._stage.lend(reference, others):
            return self.run()

    def stopped_at_another_stub(self, failure: Exception | None) -> bool:
        """Whether the exercise could not show what it does, because one that it calls is to do."""
        own_name = f"{self.path.stem}.{self.exercise}"
        return failure is None or (isinstance(failure, ToDo) and failure.name != own_name)

    def _printed(self) -> str:
        """What was printed since the last time; nothing under `pytest -s`."""
        capture = self.item.config.pluginmanager.getplugin("capturemanager")
        return capture.read_global_capture()[0] if capture else ""


@functools.cache
def _other_exercises_used(source: bytes, stem: str, exercise: str) -> list[str]:
    """The other exercises of the lesson, if anything outside of their own bodies names them."""
    names = {e.name for e in find_lesson(stem).exercises} - {exercise}
    bodies = [node for node in ast.parse(source).body if getattr(node, "name", None) not in names]
    used = {n.id for body in bodies for n in ast.walk(body) if isinstance(n, ast.Name)}
    return sorted(names) if used & names else []


# --- reporting ------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """The report of a graded test, in place of pytest's, which would explain our own code."""
    exercise = exercise_of(item)
    if exercise is None or (call.excinfo and call.excinfo.errisinstance(pytest.skip.Exception)):
        return None
    without_traceback = copy.copy(call)
    without_traceback.excinfo = None
    report = pytest.TestReport.from_item_and_call(item, without_traceback)
    if call.excinfo is None and call.when != "call":
        return report
    path = _module_path(item.config, item.path)
    outcome, text = _outcome(call, exercise)
    if outcome != "passed":
        report.outcome = "failed"
        report.longrepr = text
    only_prints = call.excinfo is not None and isinstance(call.excinfo.value, Prints)
    item.stash[_OUTCOME] = ("passed" if only_prints else outcome, call.duration)
    report.course = {
        "lesson": path.stem,
        "exercise": exercise,
        "test": item.name,
        "why": inspect.cleandoc(getattr(item.obj, "__doc__", None) or ""),
        "where": f"{path.parent.name}/{path.name}{_line_of(path, exercise)}",
        "outcome": outcome,
        "text": text,
        "only_prints": only_prints,
        "not_loaded": call.when == "setup",
        "printed": report.capstdout,
        "of": item.stash[_TESTS_OF_EXERCISE],
    }
    return report


def _outcome(call: pytest.CallInfo, exercise: str) -> tuple[str, str]:
    if call.excinfo is None:
        return "passed", ""
    error = call.excinfo.value
    last_call = expect.last_call()
    if isinstance(error, ToDo):
        return "to do", str(error)
    if isinstance(error, Wrong):
        return "wrong", str(error)
    if isinstance(error, StudentError):
        sentence = f"{exercise} raised {error}".rstrip()
        return "wrong", expect.message(
            sentence, last_call, *(["at      " + error.where] * bool(error.where))
        )
    got = f"got     {expect.show(last_call.result)}" if last_call else ""
    sentence = f"the test could not go on with what {exercise} returned"
    reason = f"because {type(error).__name__}: {error}"
    return "wrong", expect.message(sentence, last_call, got, reason)


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


def pytest_report_teststatus(report: pytest.TestReport):
    facts = getattr(report, "course", None)
    if facts and facts["outcome"] == "wrong":
        return "wrong", "x", ("WRONG", {"red": True})
    if facts and facts["outcome"] == "to do":
        return "to do", "o", ("TO DO", {"yellow": True})
    return None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Name the mistakes behind what is wrong (under xdist no process has all the tests)."""
    if session.config.option.usepdb or exitstatus == pytest.ExitCode.INTERRUPTED:
        return  # whoever debugs or stops wants no further runs
    tally = session.config.stash[_TALLY]
    modules = session.config.stash[MODULES]
    for stem, exercise in tally.wrong():
        items = [item for item in session.items if _OUTCOME in item.stash and TRACE in item.stash]
        items = [item for item in items if exercise_of(item) == exercise]
        if exercise in session.stash.get(TIMED_OUT, ()) or not items:
            continue
        path = _module_path(session.config, items[0].path)
        mistake = diagnose(
            [Observation(item, *item.stash[_OUTCOME], item.stash[TRACE]) for item in items],
            exercise,
            modules.load(ROOT / "solutions" / path.name),
            put_in_place=functools.partial(modules.use, path),
        )
        if mistake is not None:
            tally.diagnoses[stem, exercise] = mistake


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    tally = config.stash[_TALLY]
    own = not (config.option.solutions or config.option.modules)
    if own:
        tally.remember()
    print_summary(terminalreporter, tally, own)
