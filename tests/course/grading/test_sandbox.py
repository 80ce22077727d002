"""The sandbox holds, explains what ended a worker, and lets honest code work."""

import contextlib
import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from classes import children_of, copy_course, is_alive, needs_sandbox, wait_until, with_course

from course import ROOT
from course.core.files import write_atomically
from course.core.memory import available_memory
from course.grading.judge import local
from course.grading.sandbox import landlock, sandbox, seccomp, self_test
from course.grading.sandbox.deadline import Clock
from course.grading.sandbox.escapes import ATTEMPTS, attempt
from course.grading.sandbox.sandbox import (
    ENVIRONMENT,
    ProcessLimits,
    SandboxError,
    mapped_bytes,
    spawn,
)
from course.grading.sandbox.start import start_fork_server
from course.testing.outcomes import Stopped

pytestmark = needs_sandbox

IS_ROOT = getattr(os, "geteuid", lambda: -1)() == 0

MAY_BE_CLOSED_ANYWAY = {
    "open a file of the installed Python for writing",
    "change the permissions of the installed Python",
    "write to shared memory",
    "write to the course",
}
"""Without privileges, or in a container, these can fail for other reasons than the sandbox."""


def answer(run, limits=None) -> str:
    """What `run` gives in a worker, as text."""
    with spawn(lambda connection: connection.sendall(str(run()).encode()), limits) as worker:
        return worker.connection.makefile(encoding="utf-8").read()


def end_of(run, limits=None) -> str:
    """What ended a worker that only does `run`."""
    with spawn(lambda _: run(), limits) as worker:
        worker.connection.recv(1)  # until it is closed
    return worker.why_it_ended()


def in_a_process(act) -> str:
    """The result of `act` in a separate process, or how it was refused, as text."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            said = str(act())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(theirs, said.encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as said:
        text = said.read()
    os.waitpid(pid, 0)
    return text


# --- honest code ----------------------------------------------------------------------------


def test_a_worker_imports_packages_and_knows_nothing(monkeypatch):
    def seen():
        import colorsys  # noqa: F401
        import decimal  # noqa: F401

        import numpy.polynomial.hermite as package

        return package.__name__, len(os.urandom(8)), os.environ == ENVIRONMENT, os.getcwd()

    monkeypatch.setenv("SECRET", "token")
    assert answer(seen) == "('numpy.polynomial.hermite', 8, True, '/')"


@pytest.fixture
def forget_rules():
    sandbox.rules_for_workers.cache_clear()
    yield
    sandbox.rules_for_workers.cache_clear()


def test_a_worker_may_read_a_package_that_a_pth_file_leads_to(monkeypatch, forget_rules, tmp_path):
    package = tmp_path / "numpy" / "__init__.py"
    package.parent.mkdir()
    package.write_text("read", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)  # as a line of a .pth file does
    monkeypatch.delitem(sys.modules, "numpy")  # or it is where it was found
    assert answer(package.read_text) == "read"


# --- hostile code ---------------------------------------------------------------------------


@pytest.mark.slow
def test_every_way_out_is_closed():
    outcomes = self_test.self_test()
    assert [one for one in outcomes if not one.closed] == []
    assert len(outcomes) >= len(ATTEMPTS) - 1  # one is for namespaces, which need not be there


def test_a_way_that_is_open_is_reported():
    def get_out(steps, _):
        _, (sentence, course), _ = steps[-1][1]
        return attempt(sentence, course), {}

    def end(*_):
        raise Stopped("the code crashed")

    for take, detail in ((get_out, f"got hold of {10**11}"), (end, "did not survive")):
        module = SimpleNamespace(clock=Clock(), take=take)
        outcome = self_test.try_inside(module, "map 100 GB of memory")
        assert not outcome.closed and detail in outcome.detail


@pytest.mark.parametrize("sentence", ATTEMPTS)
def test_the_same_way_is_open_without_the_sandbox(sentence):
    with open(__file__, "rb"):
        said = in_a_process(lambda: attempt(sentence, str(ROOT)))
    if sentence in MAY_BE_CLOSED_ANYWAY and not said.startswith("got hold of"):
        pytest.skip(f"closed on this machine anyway: {said}")
    assert said.startswith("got hold of"), said


def wait(connection):
    """Say so, and wait until the other side hangs up."""
    connection.sendall(b"ready")
    connection.recv(1)


def is_ready(worker) -> bool:
    return worker.connection.recv(5) == b"ready"


def test_what_the_kernel_says_about_a_worker():
    with spawn(wait, ProcessLimits(cpu_seconds=7, open_files=20)) as first, spawn(wait) as second:
        assert is_ready(first) and is_ready(second)
        lines = Path(f"/proc/{second.pid}/status").read_text(encoding="utf-8").splitlines()
        status = dict(line.split(":\t", 1) for line in lines)
        limits = Path(f"/proc/{first.pid}/limits").read_text(encoding="utf-8").splitlines()
        session = os.getsid(second.pid)
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[kind], 16) == 0
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == ("1", "2", "1")
    limit = {line[:25].strip(): line[25:].split()[:2] for line in limits}
    assert limit["Max cpu time"] == ["7", "8"]
    assert limit["Max open files"] == ["20", "20"]
    for kind in ("Max file size", "Max core file size", "Max processes"):
        assert limit[kind] == ["0", "0"]
    assert session == second.pid


def test_a_fork_server_may_have_more_open_than_a_worker_may():
    with contextlib.ExitStack() as opened:
        for _ in range(30):
            opened.enter_context(open(__file__, "rb"))
        assert is_ready(opened.enter_context(spawn(wait, ProcessLimits(open_files=9))))


@pytest.mark.skipif(IS_ROOT, reason="whatever root runs belongs to root")
def test_a_worker_cannot_be_dumped():
    with spawn(wait) as worker:
        assert is_ready(worker)
        assert os.stat(f"/proc/{worker.pid}/mem").st_uid == 0  # the kernel took it away


def test_a_worker_ends_when_the_other_side_hangs_up():
    worker = spawn(lambda connection: connection.recv(1))
    worker.connection.close()
    wait_until(lambda: not is_alive(worker.pid))
    worker.kill()
    assert worker.why_it_ended() == "left its process (exit status 0)"


# --- each layer alone, and the judge's own --------------------------------------------------


def enter_landlock():
    landlock.enter(landlock.prepare(["/usr/lib"]))


def enter_seccomp():
    seccomp.enter(seccomp.prepare())


MADE = Path("/tmp/made by a test")
README = ROOT / "README.md"
CLOSED = {
    "Landlock": {
        "make a file": lambda: MADE.write_bytes(b""),
        "list a folder": lambda: os.listdir("/tmp"),
        "read a file": lambda: Path(__file__).read_bytes(),
        "rename a folder": lambda: os.rename("/usr/lib", "/usr/lib2"),
    },
    "seccomp": {
        "make a file": lambda: MADE.write_bytes(b""),
        "empty a file": lambda: os.open(os.devnull, os.O_RDONLY | os.O_TRUNC),
        "open a socket": socket.socket,
        "fork": os.fork,
        "send a signal": lambda: os.kill(os.getppid(), 0),
    },
    "the judge's": {
        "make a file": lambda: MADE.write_bytes(b""),
        "append": lambda: os.open(README, os.O_WRONLY | os.O_APPEND),
        "make a folder": lambda: os.mkdir(MADE),
        "truncate": lambda: os.truncate(README, 10**6),
        "change permissions": lambda: os.chmod(README, 0o600),
        "touch": lambda: os.utime(README),
        "make a socket": socket.socket,
        "connect": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        "become another program": lambda: os.execv("/bin/true", ["true"]),
        "run a program": lambda: subprocess.run(["/bin/true"]),
        "send a signal": lambda: os.kill(os.getppid(), 0),
    },
}
ENTER = {"Landlock": enter_landlock, "seccomp": enter_seccomp, "the judge's": sandbox.confine_judge}


@pytest.mark.parametrize(
    ("layer", "what"), [(layer, what) for layer in CLOSED for what in CLOSED[layer]]
)
def test_each_layer_alone_keeps_closed_what_it_is_for(layer, what):
    def confined():
        ENTER[layer]()
        return CLOSED[layer][what]()

    assert re.match("PermissionError|SubprocessError", in_a_process(confined))
    assert not MADE.exists()


def test_landlock_alone_lets_listed_files_be_read():
    def confined():
        enter_landlock()
        return bool(os.listdir("/usr/lib"))

    assert in_a_process(confined) == "True"


# --- what ended a worker --------------------------------------------------------------------


def test_what_ended_a_worker():
    assert end_of(lambda: os._exit(3)) == "left its process (exit status 3)"
    assert end_of(lambda: 1 / 0) == "left its process (exit status 1)"
    assert end_of(lambda: ctypes.string_at(0)) == "crashed: Segmentation fault (signal 11)"


def test_too_much_memory():
    limits = ProcessLimits(memory_bytes=100_000_000)
    assert answer(lambda: len(bytearray(50_000_000)), limits) == "50000000"
    assert end_of(lambda: bytearray(200_000_000), limits).endswith("more than 0.1 GB of memory")


@pytest.mark.parametrize(
    ("available", "jobs", "promised"),
    [(24 * 10**9, 2, 2 * 10**9), (2 * 10**9, 1, 1_400_000_000), (4 * 10**9, 2, 1_400_000_000)],
)
def test_a_worker_is_promised_no_more_memory_than_there_is(available, jobs, promised):
    assert ProcessLimits.for_jobs(jobs, available).memory_bytes == promised


def test_a_machine_without_memory_for_its_jobs_says_so():
    with pytest.raises(SandboxError, match=r"1\.0 GB .* 2 --jobs .* 1\.1 GB"):
        ProcessLimits.for_jobs(2, 10**9)


@pytest.mark.parametrize(
    "files",
    [
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
        ("memory.max", "memory.current"),
    ],
    ids=["version 1", "version 2"],
)
def test_a_container_may_have_less_memory_than_its_machine(tmp_path, files):
    write_atomically(tmp_path / "meminfo", "MemTotal: 9000000 kB\nMemAvailable: 4000000 kB\n")
    assert available_memory(tmp_path, tmp_path) == 4_096_000_000
    for name, content in zip(files, ("3000000000\n", "1000000000\n"), strict=True):
        write_atomically(tmp_path / name, content)
    assert available_memory(tmp_path, tmp_path) == 2_000_000_000


def test_killed_while_it_waits_by_us_or_by_the_system():
    with spawn(lambda connection: connection.recv(1) and time.sleep(60)) as worker:
        worker.connection.sendall(b"x")
    assert worker.why_it_ended().endswith("was stopped")
    with spawn(wait) as worker:
        assert is_ready(worker)
        os.kill(worker.pid, signal.SIGKILL)
        assert worker.connection.recv(1) == b""
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    assert "out of memory" in worker.why_it_ended()


def spin():
    while True:
        pass


def deaf_spin():
    signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    spin()


@pytest.mark.slow
@pytest.mark.parametrize("run", [spin, deaf_spin])
def test_too_much_processor_time(run):
    assert end_of(run, ProcessLimits(cpu_seconds=1)).endswith("1 s of processor time")


# --- no sandbox, no run ---------------------------------------------------------------------


def test_another_system_is_told_so(monkeypatch):
    monkeypatch.setattr(sandbox.sys, "platform", "win32")
    (why,) = sandbox.missing()
    assert "Linux" in why


def absent():
    raise OSError


@pytest.mark.parametrize(
    ("place", "instead", "sentence"),
    [
        ("landlock._version", lambda: 0, "no Landlock"),
        ("seccomp.libseccomp", absent, "apt install libseccomp2"),
    ],
)
def test_nothing_runs_where_something_is_missing(
    monkeypatch, forget_rules, place, instead, sentence
):
    monkeypatch.setattr(f"course.grading.sandbox.{place}", instead)
    with pytest.raises(SandboxError, match=sentence):
        spawn(lambda connection: connection.sendall(b"ran"))


@pytest.mark.parametrize("step", ["landlock.enter", "seccomp.enter", "_drop_capabilities"])
def test_nothing_runs_where_a_step_fails(monkeypatch, step):
    def fail(*_):
        raise OSError

    monkeypatch.setattr(f"course.grading.sandbox.sandbox.{step}", fail)
    with spawn(lambda connection: connection.sendall(b"ran")) as worker:
        assert worker.connection.recv(3) == b""
    assert worker.why_it_ended().startswith("was not run: ")


def bound(limit, value):
    ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_RESOURCE
    resource.setrlimit(limit, (value, value))


def refuse_landlock_at_last():
    """Let Landlock be there, and refuse to be entered."""
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    library = seccomp.libseccomp()
    filter_ = ctypes.c_void_p(library.seccomp_init(0x7FFF0000))  # allow
    call = seccomp.number("landlock_restrict_self")
    library.seccomp_rule_add_array(filter_, 0x00050001, call, 0, None)
    seccomp.enter(filter_)


@pytest.mark.slow
@pytest.mark.parametrize(
    "before", [refuse_landlock_at_last, lambda: bound(resource.RLIMIT_NOFILE, 48)]
)
def test_a_fork_server_that_can_confine_nobody_says_why(before):
    said = in_a_process(lambda: before() or start_fork_server(None))
    assert said.startswith("SandboxError: ") and "not be confined" in said and "-H -a" in said


def test_a_judge_with_too_little_memory_says_why():
    most = mapped_bytes() + 10**9
    said = in_a_process(lambda: bound(resource.RLIMIT_AS, most) or local.bound_memory())
    assert said.startswith(f"`ulimit -H -v` is {most:,}")


# --- namespaces, and the judge --------------------------------------------------------------


def in_namespaces(act) -> str:
    """The same for a worker that lives in namespaces."""

    def try_it():
        return answer(act) if sandbox.enter_namespaces() else "there are none here"

    said = in_a_process(try_it)
    if said == "there are none here":
        pytest.skip("this machine has no namespaces for us")
    return said


def test_a_worker_in_namespaces_is_alone_and_sees_no_file_but_what_it_may_read():
    def seen():
        closed = ("/etc/passwd", "/proc/1", ROOT / "README.md", __file__)
        is_alone = os.getppid() == 0 and os.getpid() < 10
        return is_alone, *map(os.path.exists, (*closed, os.__file__))

    assert in_namespaces(seen) == "(True, False, False, False, False, True)"


def test_where_there_are_no_namespaces_a_worker_does_without(monkeypatch):
    def refuse(*_):
        raise PermissionError

    def try_it():
        monkeypatch.setattr(sandbox.namespaces, "unshare_and_mount", refuse)
        return sandbox.enter_namespaces(), answer(lambda: 1 + 1)

    assert in_a_process(try_it) == "(False, '2')"


@pytest.mark.parametrize("enter", [sandbox.enter_namespaces, int], ids=["namespaces", "none"])
def test_when_a_fork_server_is_killed_nothing_of_it_is_left(enter):
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            enter()
            with spawn(wait) as worker:
                os.write(theirs, worker.connection.recv(5))
                time.sleep(60)
        os._exit(0)
    os.close(theirs)
    started = os.read(ours, 5) and children_of(pid)
    os.close(ours)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert started
    wait_until(lambda: not any(map(is_alive, started)))


def test_a_judge_can_read_and_answer():
    def confined():
        ours, theirs = socket.socketpair()
        sandbox.confine_judge()
        theirs.sendall(b"hello")
        return ours.recv(5), README.read_bytes()[:6]

    assert in_a_process(confined) == "(b'hello', b'# What')"


@pytest.mark.slow
def test_workers_run_the_course_that_grades_and_not_another_that_is_installed(tmp_path):
    """A worker of a copy says where it was loaded from, next to an installed course."""
    copy = copy_course(tmp_path / "copy")
    source = "import sys\ndef place(): return sys.modules['course.testing.executor'].__file__"
    show = (
        "from course import ROOT\n"
        "from course.grading.sandbox.fork_server import ForkServer\n"
        "from course.grading.sandbox.remote import RemoteExecutor, RemoteModule\n"
        "with ForkServer() as server:\n"
        f"    module = RemoteModule(server, {source.encode()!r}, 'exercises/rope.py')\n"
        "    print(ROOT, RemoteExecutor(module).call('place', (), {})[0])\n"
        "    module.end()"
    )
    printed = subprocess.run(
        [sys.executable, "-P", "-c", show],
        env=with_course(copy),
        cwd="/",
        capture_output=True,
        text=True,
    )
    root, executor = printed.stdout.split()
    assert Path(root) == copy
    assert Path(executor).is_relative_to(copy)
