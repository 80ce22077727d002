"""Attacks and mishaps around the worker: points are right or there are none, and nobody hangs."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
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
from course.grading.sandbox import seccomp
from course.grading.sandbox.sandbox import ProcessLimits

pytestmark = pytest.mark.usefixtures("own_cache")

# --- the machine that grades ----------------------------------------------------------------

CLASS = {"ann": SOLUTION, "bob": LEARNED_STUB, "cyd": ONE_WRONG}
"""One is right, one has not begun, one has made a mistake."""
ALL = find_lesson("learned").points
BUT_ONE = sum(x.points for x in find_lesson("learned").exercises if x.name != "scalar_embedding")
POINTS = [f"ann,{ALL},{ALL}", f"bob,0,{ALL}", f"cyd,{BUT_ONE},{ALL}"]


LEAVES_A_TRACE = "open('trace', 'w')\n"
HARMLESS = dict(
    environment={
        **{"PYTEST_ADDOPTS": "-k test_result", "PYTEST_PLUGINS": "nobody_has_this"},
        **{"OMP_NUM_THREADS": "0", "MKL_NUM_THREADS": "many", "KMP_AFFINITY": "nonsense"},
        **{"CUDA_VISIBLE_DEVICES": "nonsense", "TORCH_LOGS": "+all", "MALLOC_PERTURB_": "165"},
        **{"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "0"},
        **{"PYTHONIOENCODING": "ascii", "PYTHONINTMAXSTRDIGITS": "640"},
        **{"LC_ALL": "POSIX", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
        **{"HOME": None, "PATH": None, "TMPDIR": "/nowhere"},
    },
    shell='umask 077; ulimit -S -n 32; ulimit -S -s 256; "$@" <&- >&- 2>&-',
    beside={
        **{name: LEAVES_A_TRACE for name in ("conftest.py", "nbgrader_config.py", "evil.py")},
        **{name: LEAVES_A_TRACE for name in ("sitecustomize.py", "usercustomize.py")},
        "pytest.ini": "[pytest]\naddopts = -p evil\n",
        "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p evil'\n",
        "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
        ".coveragerc": "[run]\nplugins = evil\n",
        "matplotlibrc": "backend: module://evil\n",
        "evil-1.dist-info/METADATA": "Name: evil\nVersion: 1\n",
        "evil-1.dist-info/entry_points.txt": "[pytest11]\na=evil\n[torch.backends]\na=evil\n",
    },
)
"""pytest is to leave tests out, odd threads, strict Python, closed streams, few files, settings
beside the students' folders: with all of these a class is graded as it is without them."""


def started(
    folder: Path,
    environment: dict[str, str | None] | None = None,
    shell: str = '"$@"',
    beside: dict[str, str] | None = None,
    before: Callable[[], object] | None = None,
) -> subprocess.Popen:
    """Start to grade the class into `out` of a folder, on a machine that is odd.

    Args:
        environment: variables that are set, or not there at all.
        shell: what a shell says instead of the command alone.
        beside: files next to the students' folders.
        before: what the process does before it becomes the grader.
    """
    submissions = write_class(folder / "class", CLASS)
    for name, text in (beside or {}).items():
        write_atomically(submissions / name, text)
    command = grader(submissions, folder / "out", "--lesson", "learned", "--jobs", "1")
    command.remove("-P")
    variables = with_course(**(environment or {})).items()
    return subprocess.Popen(
        ["/bin/sh", "-c", shell, "sh", *command],
        env={name: value for name, value in variables if value is not None},
        cwd=folder,
        preexec_fn=before,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen, status: int = 0) -> str:
    """What a grader says until it ends with this status; none of its processes is left."""
    said, _ = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in said
    assert process.returncode == status, said
    wait_until(lambda: not session(process.pid))
    return " ".join(said.split())


def points_in(folder: Path, students: Sequence[str] = tuple(CLASS)) -> list[str]:
    rows = (folder / "out" / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    cells = [row.split(",")[:3] for row in rows]
    return [",".join(row) for row in cells if row[0] in students]


@slow_in_sandbox
def test_a_class_is_graded_as_ever(tmp_path):
    for name in ("multiprocessing.py", "torch.py", "numpy.py"):  # in the folder it is started from
        (tmp_path / name).write_text(LEAVES_A_TRACE, encoding="utf-8")
    ended(started(tmp_path, **HARMLESS), status=1)  # whose evil.py that is, nobody knows
    assert points_in(tmp_path) == POINTS
    assert list(tmp_path.rglob("trace")) == []


@slow_in_sandbox
def test_a_module_that_takes_more_memory_than_the_machine_can_promise_earns_0(tmp_path):
    """It gets an error in its process, instead of being killed and left out of the totals."""
    hog = f"{STUB}\n\nx = bytearray(1_500_000_000)\n".encode()
    limits = ProcessLimits.for_jobs(1, 2 * 10**9)
    with Judge(limits=limits) as judge:
        result = judge.grade(Unit("eve", "lookup", hog))
    assert (bool(result.key), result.points) == (True, 0)
    assert "more memory" in result.remark


def bounded(limit: int, value: int) -> None:
    ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE
    resource.setrlimit(limit, (value, value))


def without_landlock_at_last() -> None:
    """Let Landlock be there, and refuse to be entered."""
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    library = seccomp.libseccomp()
    filter_ = ctypes.c_void_p(library.seccomp_init(0x7FFF0000))  # allow
    call = seccomp.number("landlock_restrict_self")
    library.seccomp_rule_add_array(filter_, 0x00050001, call, 0, None)
    seccomp.enter(filter_)


REFUSED = {
    "File too large": {"shell": 'ulimit -S -f 0; "$@"'},
    "(`ulimit -H -a`)": {"before": lambda: bounded(resource.RLIMIT_NOFILE, 48)},
    "`ulimit -H -v` is 3,000,000,000": {"before": lambda: bounded(resource.RLIMIT_AS, 3 * 10**9)},
    "could not be confined": {"before": without_landlock_at_last},
}


@slow_in_sandbox
@pytest.mark.parametrize("sentence", REFUSED)
def test_a_machine_that_cannot_grade_says_why(tmp_path, sentence):
    assert sentence in ended(started(tmp_path, **REFUSED[sentence]), status=1)
    out = (tmp_path / "out").rglob("*")
    assert [path for path in out if path.suffix in (".json", ".csv")] == []


@slow_in_sandbox
def test_a_grader_that_is_stopped_meanwhile_goes_on(tmp_path):
    """As by Ctrl+Z, and `fg`.

    Its folder for temporary files has a longer path than the address of a socket may have.
    """
    far = tmp_path / ("x" * 120)
    far.mkdir()
    process = started(tmp_path, {"TMPDIR": str(far)})
    wait_until((tmp_path / "out" / "seed.txt").exists)
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGCONT)
    ended(process)
    assert points_in(tmp_path) == POINTS


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
    "an exit as if a limit were refused": "import posix; posix._exit(79)",
    "its own limit": (
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass"
    ),
}


@pytest.fixture(scope="module")
def judge():
    with Judge(limits=ProcessLimits(cpu_seconds=20)) as judge:
        yield judge


@slow_in_sandbox
@pytest.mark.parametrize("code", ZEROS.values(), ids=ZEROS)
def test_a_module_that_would_rather_not_be_graded_earns_0(judge, code):
    """Otherwise it would be left out of the totals, or the LMS would keep last week's points."""
    result = judge.grade(Unit("eve", "lookup", f"{STUB}\n\n{code}\n".encode()))
    assert result.key and result.handed_in
    (student,) = grades_of([result], now=datetime.now(UTC)).students
    assert [(one.status, one.points) for one in student.lessons] == [(LessonStatus.GRADED, 0)]
