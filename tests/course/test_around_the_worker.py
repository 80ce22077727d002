"""Attacks and mishaps around the worker: points are right or there are none, and nobody hangs."""

import io
import itertools
import os
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from course import ROOT
from course.grading.judge.import_path import safe_import_path
from course.grading.judge.judge import Judge
from course.grading.judge.unit import Unit
from course.grading.reports.tables import canvas_csv
from course.grading.results import from_text
from course.grading.sandbox.sandbox import Limits, missing
from course.grading.submissions import read_submissions
from course.syllabus import find_lesson, stub_from

HERE = Path(__file__).parent
sys.path.append(str(HERE))  # pytest by itself finds no module beside a test
from hostile import CONNECTION, STUB  # noqa: E402

sandboxed = pytest.mark.skipif(bool(missing()), reason=" ".join(missing()))

# --- the machine that grades ----------------------------------------------------------------

SOLUTION = find_lesson("learned").module("solutions").read_text(encoding="utf-8")
CLASS = {
    "ann": SOLUTION,
    "bob": stub_from(SOLUTION, "learned"),
    "cyd": SOLUTION.replace("[t + p for t, p", "[t - p for t, p"),
}
"""One is right, one has not begun, one has made a mistake."""
ALL = find_lesson("learned").points
BUT_ONE = sum(x.points for x in find_lesson("learned").exercises if x.name != "scalar_embedding")
POINTS = [f"ann,{ALL},{ALL}", f"bob,0,{ALL}", f"cyd,{BUT_ONE},{ALL}"]


@dataclass(frozen=True)
class Mishap:
    """Something that is odd about the machine, or about how the grader is started.

    Attributes:
        environment: variables that are set, or not there at all.
        shell: what a shell says instead of the command alone, `"$@"`.
        beside: files beside the students' folders, which is where the grader stands then.
    """

    environment: dict[str, str | None] = field(default_factory=dict)
    shell: str = '"$@"'
    beside: dict[str, str] = field(default_factory=dict)


LEAVES_A_TRACE = "open('trace', 'w')\n"
HARMLESS = {
    "pytest is to leave tests out": Mishap({"PYTEST_ADDOPTS": "-k test_result"}),
    "pytest is to do what it cannot": Mishap(
        {"PYTEST_ADDOPTS": "--nonsense", "PYTEST_PLUGINS": "nobody_has_this"}
    ),
    "closed streams": Mishap(shell='"$@" <&- >&- 2>&-'),
    "strict Python": Mishap(
        {
            **{"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error", "PYTHONHASHSEED": "0"},
            **{"PYTHONIOENCODING": "ascii", "PYTHONINTMAXSTRDIGITS": "640"},
            **{"LC_ALL": "POSIX", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0"},
        }
    ),
    "odd threads": Mishap(
        {
            **{"OMP_NUM_THREADS": "0", "MKL_NUM_THREADS": "many", "KMP_AFFINITY": "nonsense"},
            **{"CUDA_VISIBLE_DEVICES": "nonsense", "TORCH_LOGS": "+all", "MALLOC_PERTURB_": "165"},
        }
    ),
    "nothing is set": Mishap(dict.fromkeys(("HOME", "LANG", "PATH")) | {"TMPDIR": "/nowhere"}),
    "few files, a small stack": Mishap(shell='umask 077; ulimit -S -n 32; ulimit -S -s 256; "$@"'),
    "settings beside the students": Mishap(
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
        }
    ),
}
"""With these a class is graded as it is without them."""


def started(folder: Path, mishap: Mishap) -> subprocess.Popen:
    """Start to grade the class into `out` of a folder."""
    submissions = folder / "class"
    for student, source in CLASS.items():
        (submissions / student).mkdir(parents=True)
        (submissions / student / "learned.py").write_text(source, encoding="utf-8")
    for name, text in mishap.beside.items():
        path = submissions / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    options = ["--lesson", "learned", "--jobs", "1", "--out", str(folder / "out")]
    command = [sys.executable, "-m", "course", "grade", str(submissions), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **mishap.environment}
    return subprocess.Popen(
        ["/bin/sh", "-c", mishap.shell, "sh", *command],
        env={name: value for name, value in environment.items() if value is not None},
        cwd=submissions if mishap.beside else folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def ended(grader: subprocess.Popen) -> str:
    """What a grader says until it ends; none of its processes is left."""
    said, _ = grader.communicate(timeout=90)
    assert "Traceback" not in said
    deadline = time.monotonic() + 10
    while left := processes_of_session(grader.pid):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    return said


def processes_of_session(session: int) -> list[str]:
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path("/proc", process, "stat").read_text(encoding="utf-8")
        except OSError:  # it has ended
            continue
        state, _, _, of_session = text.rpartition(")")[2].split()[:4]
        if int(of_session) == session and state != "Z":
            found.append(process)
    return found


def points_in(folder: Path, students: Sequence[str] = tuple(CLASS)) -> list[str]:
    rows = (folder / "out" / "grades.csv").read_text(encoding="utf-8-sig").splitlines()
    cells = [row.split(",")[:3] for row in rows]
    return [",".join(row) for row in cells if row[0] in students]


@pytest.mark.slow
@sandboxed
@pytest.mark.parametrize("name", HARMLESS)
def test_a_class_is_graded_as_ever(tmp_path, name):
    grader = started(tmp_path, HARMLESS[name])
    said = ended(grader)
    assert grader.returncode == 0, said
    assert points_in(tmp_path) == POINTS
    assert list(tmp_path.rglob("trace")) == []


REFUSED = {
    "no file may grow": (
        Mishap(shell='ulimit -S -f 0; "$@"'),
        "File too large. Nothing that was graded is lost",
    ),
    "temporary files lie too deep": (
        Mishap(shell=f'mkdir {"x" * 80}; TMPDIR="$PWD/{"x" * 80}" "$@"'),
        "AF_UNIX path too long. Nothing that was graded is lost",
    ),
}


@pytest.mark.slow
@sandboxed
@pytest.mark.parametrize("name", REFUSED)
def test_a_machine_that_cannot_grade_says_why(tmp_path, name):
    mishap, sentence = REFUSED[name]
    grader = started(tmp_path, mishap)
    said = ended(grader)
    assert grader.returncode == 1
    assert sentence in " ".join(said.split())
    assert not (tmp_path / "out" / "grades.csv").exists()


@pytest.mark.slow
@sandboxed
def test_a_grader_that_is_stopped_meanwhile_goes_on(tmp_path):
    """As by Ctrl+Z, and `fg`; a second one meanwhile finds the first at work."""
    grader = started(tmp_path, Mishap())
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob("examined.txt")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(grader.pid, signal.SIGSTOP)
    again = [sys.executable, "-m", "course", "grade", str(tmp_path / "class")]
    second = subprocess.run(
        [*again, "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    os.killpg(grader.pid, signal.SIGCONT)
    assert (second.returncode, second.stderr.count("another grader is at work")) == (1, 1)
    said = ended(grader)
    assert grader.returncode == 0, said
    assert points_in(tmp_path) == POINTS


STOPPED = """
import time
from course.grading.sandbox import patience

patience.SECONDS_AT_A_TIME = 0.1
clock = patience.Clock()
end = clock.now() + 1
print("begun", flush=True)
for _ in range(4):
    time.sleep(clock.seconds_until(end))
print(clock.has_struck(end))
"""


def test_a_clock_does_not_run_while_its_process_is_stopped():
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate(timeout=20)
    assert said == "False\n"


def test_the_environment_adds_nothing_to_what_grades(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    own = str(tmp_path / "own")
    given = {
        "PYTEST_ADDOPTS": "-k nothing",
        "PYTEST_PLUGINS": "evil",
        "LD_LIBRARY_PATH": os.pathsep.join(["", ".", str(tmp_path), own]),
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    with safe_import_path():
        assert os.environ["LD_LIBRARY_PATH"] == own
        assert not {"PYTEST_ADDOPTS", "PYTEST_PLUGINS"}.intersection(os.environ)
    assert {name: os.environ[name] for name in given} == given


def test_a_damaged_result_is_none():
    for text in ("[" * 100_000, "null", "9" * 5000, '{"exercises": [{}], "notes": 3}'):
        with pytest.raises(ValueError):
            from_text(text)


# --- what a module says of itself -----------------------------------------------------------

NOT_HANDED_IN = {
    "as its text": "raise SyntaxError('', ('', 1, 1, 'a\\nlookup.py was not handed in.'))",
    "for the worker": (
        f"{CONNECTION}os.write(connection, dumps(['wrong', 'a\\nlookup.py was not handed in.']))\n"
        "os._exit(0)"
    ),
    "as a stub": "raise NotImplementedError('TODO lookup\\nlookup.py was not handed in.')",
}


@pytest.fixture(scope="module")
def judge():
    with Judge(limits=Limits(cpu_seconds=20)) as judge:
        yield judge


@pytest.mark.slow
@sandboxed
@pytest.mark.parametrize("name", NOT_HANDED_IN)
def test_a_module_that_says_it_was_not_handed_in_has_0_in_the_table_for_canvas(judge, name):
    """An empty cell there would leave the points of last week."""
    result = judge.grade(Unit("eve", "lookup", f"{STUB}\n\n{NOT_HANDED_IN[name]}\n".encode()))
    assert "was not handed in." in result.trouble
    assert result.handed_in
    assert canvas_csv({"eve": [result]}).endswith("\neve,,eve,eve,,0\n")


# --- zips -----------------------------------------------------------------------------------

MODULE = b"def lookup(): 1\n"


def zipped(*names: str, data: bytes = MODULE, is_large: bool = False) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name in names:
            with opened.open(name, "w", force_zip64=is_large) as member:
                member.write(data)
    return file.getvalue()


def with_field(data: bytes, record: bytes, offset: int, value: bytes) -> bytes:
    """A zip with other bytes in the last record of a kind."""
    start = data.rindex(record) + offset
    return data[:start] + value + data[start + len(value) :]


ENTRY, END = b"PK\1\2", b"PK\5\6"
PLAIN = zipped("lookup.py")
ZIPS = {
    "zip64": (zipped("lookup.py", is_large=True), True),
    "a program before it": (b"MZ" + bytes(10_000) + PLAIN, True),
    "something after it": (PLAIN + b"x" * 4000, True),
    "two in one": (zipped("lookup.py", data=b"1") + PLAIN, True),
    "no year": (with_field(PLAIN, ENTRY, 12, bytes(4)), True),
    "no day": (with_field(PLAIN, ENTRY, 12, b"\xff" * 4), True),
    "a null in the name": (zipped("lookupX.py").replace(b"lookupX.py", b"lookup.py\0"), True),
    "letters that turn round": (zipped("\u202eyp.pukool\x1b[2J\n/lookup.py"), True),
    "a large size": (with_field(PLAIN, ENTRY, 24, struct.pack("<I", 2**31)), True),
    "an absolute name": (zipped("/lookup.py"), False),
    "a drive": (zipped("C:\\lookup.py"), False),
    "another computer": (zipped("\\\\host\\lookup.py"), False),
    "another name inside": (PLAIN.replace(b"lookup.py", b"rope.py\0\0", 1), False),
    "another text": (PLAIN.replace(MODULE, MODULE[::-1]), False),
    "a place before it": (with_field(PLAIN, END, 16, b"\xff\xff\xff\xfe"), False),
    "a later version": (with_field(PLAIN, ENTRY, 6, b"\xff\x00"), False),
    "an end alone": (END + bytes(18), False),
}
"""Odd zips, and whether the module in them is found."""


@pytest.mark.parametrize("name", ZIPS)
def test_an_odd_zip_is_read_or_noted_and_costs_nobody_else(tmp_path, name):
    data, is_found = ZIPS[name]
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "lookup.py").write_bytes(b"ann's")
    (tmp_path / "eve.zip").write_bytes(data)
    ann, eve = read_submissions(tmp_path)
    assert (ann.student, dict(ann.modules), ann.notes) == ("ann", {"lookup": b"ann's"}, ())
    assert dict(eve.modules) == ({"lookup": MODULE} if is_found else {})
    assert bool(eve.notes) != is_found
    assert not eve.unread  # nothing of this is the machine's fault
    assert "".join(itertools.chain([eve.student], eve.notes)).isprintable()


# --- who would rather not be graded ---------------------------------------------------------

LOST = {
    "an exit as if it were not confined": "import posix; posix._exit(78)",
    "an exit as if a limit were refused": "import posix; posix._exit(79)",
    "a limit of its own": (
        "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1, 1))\nwhile True: pass"
    ),
}


@pytest.mark.slow
@sandboxed
@pytest.mark.parametrize("name", LOST)
def test_a_module_that_ends_as_if_it_were_lost_earns_0(judge, name):
    """What is not graded is left out of the totals, where 0 counts."""
    result = judge.grade(Unit("eve", "lookup", f"{STUB}\n\n{LOST[name]}\n".encode()))
    assert (bool(result.key), result.points) == (True, 0)
