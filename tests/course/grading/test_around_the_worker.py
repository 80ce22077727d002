"""Attacks and mishaps around the worker: points are right or there are none, and nobody hangs."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from classes import (
    ONE_WRONG,
    PATIENCE,
    SOLUTION,
    grader,
    session,
    slow_in_sandbox,
    wait_until,
    with_course,
    write_class,
)
from classes import STUB as LEARNED_STUB
from hostile import CONNECTION, STUB

from course import ROOT
from course.core.files import write_atomically
from course.core.syllabus import find_lesson
from course.grading.grades import LessonStatus, grades_of
from course.grading.judge.judge import Judge
from course.grading.judge.unit import Unit
from course.grading.sandbox.sandbox import ProcessLimits

pytestmark = pytest.mark.usefixtures("own_cache")

# --- the machine that grades ----------------------------------------------------------------

CLASS = {"ann": SOLUTION, "bob": LEARNED_STUB, "cyd": ONE_WRONG}
"""One is right, one has not begun, one has made a mistake."""
ALL = find_lesson("learned").points
BUT_ONE = sum(x.points for x in find_lesson("learned").exercises if x.name != "scalar_embedding")
POINTS = [f"ann,{ALL},{ALL}", f"bob,0,{ALL}", f"cyd,{BUT_ONE},{ALL}"]


LEAVES_A_TRACE = "open('trace', 'w')\n"
ENVIRONMENT = {
    **{"PYTEST_ADDOPTS": "-k test_result", "PYTEST_PLUGINS": "nobody_has_this"},
    **{"OMP_NUM_THREADS": "0", "MKL_NUM_THREADS": "many", "KMP_AFFINITY": "nonsense"},
    **{"CUDA_VISIBLE_DEVICES": "nonsense", "TORCH_LOGS": "+all", "MALLOC_PERTURB_": "165"},
    **{"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "0"},
    **{"PYTHONIOENCODING": "ascii", "PYTHONINTMAXSTRDIGITS": "640"},
    **{"LC_ALL": "POSIX", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
}
SHELL = 'unset HOME PATH; umask 077; ulimit -S -n 32; ulimit -S -s 256; "$@" <&- >&- 2>&-'
BESIDE = {
    **{name: LEAVES_A_TRACE for name in ("conftest.py", "nbgrader_config.py", "evil.py")},
    **{name: LEAVES_A_TRACE for name in ("sitecustomize.py", "usercustomize.py")},
    "pytest.ini": "[pytest]\naddopts = -p evil\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
    "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
    ".coveragerc": "[run]\nplugins = evil\n",
    "matplotlibrc": "backend: module://evil\n",
    "evil-1.dist-info/METADATA": "Name: evil\nVersion: 1\n",
    "evil-1.dist-info/entry_points.txt": "[pytest11]\na=evil\n[torch.backends]\na=evil\n",
}
"""pytest is to leave tests out, odd threads, strict Python, closed streams, few files, settings
beside the students' folders: with all of these a class is graded as it is without them."""


def graded_oddly(folder: Path, shell: str, **environment: str) -> str:
    """What a grader says that a shell starts, on a class in a folder; it ends with status 1."""
    command = grader(folder / "class", folder / "out", "--lesson", "learned", "--jobs", "1")
    command.remove("-P")
    process = subprocess.Popen(
        ["/bin/sh", "-c", shell, "sh", *command],
        env=with_course(**environment),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1 and "Traceback" not in said, said
    wait_until(lambda: not session(process.pid))  # none of its processes is left
    return said


@slow_in_sandbox
def test_a_class_is_graded_as_ever(tmp_path):
    """The path of its folder for temporary files is longer than a socket's address may be."""
    far = tmp_path / ("x" * 120)
    far.mkdir()
    submissions = write_class(tmp_path / "class", CLASS)
    for name, text in BESIDE.items():
        write_atomically(submissions / name, text)
    for name in ("multiprocessing.py", "torch.py", "numpy.py"):  # in the folder it is started from
        (tmp_path / name).write_text(LEAVES_A_TRACE, encoding="utf-8")
    graded_oddly(tmp_path, SHELL, TMPDIR=str(far), **ENVIRONMENT)  # whose evil.py is it?
    rows = (tmp_path / "out" / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    assert [row for row in POINTS if not any(one.startswith(f"{row},") for one in rows)] == []
    assert list(tmp_path.rglob("trace")) == []


@slow_in_sandbox
def test_a_machine_that_cannot_grade_says_why(tmp_path):
    write_class(tmp_path / "class", CLASS)
    assert "File too large" in graded_oddly(tmp_path, 'ulimit -S -f 0; "$@"')
    out = (tmp_path / "out").rglob("*")
    assert [path for path in out if path.suffix in (".json", ".csv")] == []


STOPPED = """
import time
from course.grading.sandbox import deadline

deadline.SECONDS_AT_A_TIME = 0.1
clock = deadline.Clock()
end = clock.now() + 2
print("begun", flush=True)
for _ in range(4):
    time.sleep(clock.seconds_until(end))
print(clock.seconds_until(end) <= 0)
"""


def test_a_clock_does_not_run_while_its_process_is_stopped():
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate(timeout=PATIENCE)
    assert said == "False\n"


# --- what a module says of itself -----------------------------------------------------------

ZEROS = {
    "not handed in, as its text": (
        "raise SyntaxError('', ('', 1, 1, 'a\\nlookup.py was not handed in.'))"
    ),
    "not handed in, for the worker": (
        f"{CONNECTION}say('wrong', 'a\\nlookup.py was not handed in.')\nposix._exit(0)"
    ),
    "not handed in, as a stub": (
        "raise NotImplementedError('TODO lookup\\nlookup.py was not handed in.')"
    ),
    "an exit as if it were not confined": "import posix; posix._exit(78)",
    "its own limit": (
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass"
    ),
}


@pytest.fixture(scope="module")
def judge():
    limits = ProcessLimits.for_jobs(1, 2 * 10**9)
    with Judge(limits=replace(limits, cpu_seconds=20)) as judge:
        yield judge


@slow_in_sandbox
def test_a_module_that_takes_more_memory_than_the_machine_can_promise_earns_0(judge):
    """It gets an error in its process, instead of being killed and left out of the totals."""
    hog = f"{STUB}\n\nx = bytearray(1_500_000_000)\n".encode()
    result = judge.grade(Unit("eve", "lookup", hog))
    assert (bool(result.key), result.points) == (True, 0)
    assert "more memory" in result.remark


@slow_in_sandbox
@pytest.mark.parametrize("code", ZEROS.values(), ids=ZEROS)
def test_a_module_that_would_rather_not_be_graded_earns_0(judge, code):
    """Otherwise it would be left out of the totals, or the LMS would keep last week's points."""
    result = judge.grade(Unit("eve", "lookup", f"{STUB}\n\n{code}\n".encode()))
    assert result.key and result.handed_in
    (student,) = grades_of([result], now=datetime.now(UTC)).students
    assert [(one.status, one.points) for one in student.lessons] == [(LessonStatus.GRADED, 0)]
