"""What fails on the machine that grades is told, and is never a student's zero."""

import ctypes
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from course import ROOT
from course.grading.sandbox import seccomp
from course.grading.sandbox.sandbox import missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=" ".join(missing())),
]


def without_the_right_to_raise_limits() -> None:
    ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE


def bounded(limit: int, value: int) -> None:
    without_the_right_to_raise_limits()
    resource.setrlimit(limit, (value, value))


def without_landlock_at_last() -> None:
    """Let Landlock be there, and refuse to be entered."""
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    library = seccomp._library()
    filter_ = ctypes.c_void_p(library.seccomp_init(0x7FFF0000))  # allow
    call = seccomp.number("landlock_restrict_self")
    seccomp._check(library.seccomp_rule_add_array(filter_, 0x00050001, call, 0, None))
    seccomp.enter(filter_)


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        (lambda: bounded(resource.RLIMIT_CPU, 300), "`ulimit -H -t` says 300, and 901 s of"),
        (lambda: bounded(resource.RLIMIT_AS, 3 * 10**9), "`ulimit -H -v` says 3,000,000,000, and"),
        (lambda: bounded(resource.RLIMIT_NOFILE, 48), "`ulimit -H -n` says 48, and 64 open files"),
        (without_landlock_at_last, "could not be confined"),
    ],
    ids=["processor time", "memory", "open files", "landlock"],
)
def test_where_workers_cannot_be_confined_nothing_is_graded(tmp_path, machine, sentence):
    student = tmp_path / "class" / "ann"
    student.mkdir(parents=True)
    (student / "rope.py").write_bytes((ROOT / "solutions" / "rope.py").read_bytes())
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-P", "-m", "course", "grade", str(student.parent), "--out", str(out)],
        preexec_fn=machine,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 1, said
    assert sentence in said
    assert "Traceback" not in said
    assert [path for path in Path(out).rglob("*") if path.suffix in (".json", ".csv")] == []
