"""The judge finds what a student's own run finds, on a module that it never runs itself."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace

import pytest
import torch
from classes import descendants_of, needs_sandbox
from hostile import CONNECTION, STUB
from hostile import SOLUTION as LOOKUP

from course.core.stubs import solution_of, stub_from
from course.core.syllabus import Status, find_lesson, lessons
from course.grading.judge import judge as judging
from course.grading.judge.judge import MAX_OTHER_MESSAGE, Judge, RemoteExamination
from course.grading.judge.unit import GradedResult, Unit
from course.grading.sandbox import remote
from course.grading.sandbox.remote import RemoteExecutor, RemoteModule
from course.grading.sandbox.sandbox import ProcessLimits, SandboxError
from course.testing.examine import Examination, Finding
from course.testing.result import from_text, to_text

PASSED, WRONG, TO_DO, NOT_RUN = Status.PASSED, Status.WRONG, Status.TO_DO, Status.NOT_RUN

pytestmark = [pytest.mark.slow, needs_sandbox]

ROPE = find_lesson("rope").module("solutions").read_text(encoding="utf-8")
ALL = find_lesson("rope").points


@pytest.fixture(scope="module")
def judge():
    with Judge(limits=ProcessLimits(cpu_seconds=20)) as judge:
        yield judge


@pytest.fixture
def graded(judge):
    """Grades a text as somebody's rope.py."""
    return lambda source: judge.grade(Unit("ann", "rope", source.encode("utf-8")))


@pytest.fixture
def without_advice(monkeypatch):
    """To look for what is known takes longest, and few tests are about it."""
    monkeypatch.setattr(judging, "diagnose", lambda *_: None)


def exercise(result, name):
    return next(one for one in result.exercises if one.name == name)


def with_body(name: str, body: str) -> str:
    """The solution with another body for one function, appended so that it wins."""
    return f"{ROPE}\n\ndef {name}(*args, **kwargs):\n    {body}\n"


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_the_solution_earns_everything_and_a_stub_nothing(judge, lesson):
    solution = solution_of(lesson.stem)
    right = judge.grade(Unit("ann", lesson.stem, solution.encode()))
    assert [test.message for one in right.exercises for test in one.tests if test.message] == []
    assert right.points == lesson.points
    assert {one.status for one in right.exercises} == {PASSED}
    stub = judge.grade(Unit("ann", lesson.stem, stub_from(solution, lesson.stem).encode()))
    assert stub.points == 0
    assert {one.status for one in stub.exercises} == {TO_DO}


def test_one_wrong_exercise_costs_its_own_points_and_is_named(graded):
    result = graded(ROPE.replace("torch.cat((-x2, x1)", "torch.cat((x2, -x1)"))
    assert result.points == ALL - exercise(result, "rotate_half").worth
    wrong = exercise(result, "rotate_half")
    assert wrong.status == WRONG
    assert "rotates backwards" in wrong.advice
    assert "called  rotate_half(" in wrong.first_wrong.message


APPLY_ROPE = ROPE[ROPE.index("def apply_rope") : ROPE.index("class RotaryEmbedding")]


def with_apply_rope(definition: str) -> str:
    """The stub, but for one exercise."""
    stub = stub_from(ROPE, "rope")
    start, end = stub.index("def apply_rope"), stub.index("class RotaryEmbedding")
    return stub[:start] + definition + stub[end:]


def test_an_exercise_that_builds_on_a_stub_still_earns_its_points(graded):
    result = graded(with_apply_rope(APPLY_ROPE))
    assert [one.name for one in result.exercises if one.status == PASSED] == ["apply_rope"]


RUNS_ANOTHER_TEXT = """
import sys

def run(source, path, run_module=sys.modules["course.grading.sandbox.worker"].run_module):
    return run_module({rope!r} if path.stem == "rope" else source, path)

sys.modules["course.grading.sandbox.worker"].run_module = run
"""


def test_what_one_lesson_leaves_behind_helps_no_other(judge):
    """Nor does it harm one: whose text runs next would fare as the hostile module wants it."""
    stub = f"{stub_from(ROPE, 'rope')}\n# ann's\n".encode()
    source = f"{LOOKUP}{RUNS_ANOTHER_TEXT.format(rope=ROPE.encode())}".encode()
    first = judge.grade(Unit("ann", "lookup", source))
    assert first.points == first.worth
    assert judge.grade(Unit("ann", "rope", stub)).points == 0


def test_what_cannot_be_diagnosed_is_graded_all_the_same(judge, monkeypatch):
    """Otherwise a student could leave a lesson out of the totals, by values that are odd enough."""

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(judging, "diagnose", fail)
    source = f"{LOOKUP}\n\ndef lookup(weight, ids):\n    return None\n".encode()
    result = judge.grade(Unit("eve", "lookup", source))
    assert (bool(result.key), result.trouble) == (True, "")
    assert 0 < result.points < result.worth


ODD_STUBS = {
    "rotate_half": f"0x{'f' * 5000}",
    "ntk_base": "'TODO rope.ntk_base'" + " + ''" * 900,
    "alibi_bias": "'TODO \\ud800'",
    "interleaved_to_half": "b'TODO'",
}


def test_whatever_a_stub_says_is_graded(graded, without_advice):
    stubs = [
        f"def {name}(*args):\n    raise NotImplementedError({says})\n"
        for name, says in ODD_STUBS.items()
    ]
    result = graded("\n\n".join([ROPE, *stubs]))
    assert result.trouble == ""
    assert [one.name for one in result.exercises if not one.points] == [
        one.name for one in result.exercises if one.name in ODD_STUBS
    ]


def test_a_slow_exercise_costs_no_other_a_point(judge, monkeypatch):
    monkeypatch.setattr("course.grading.judge.judge.SECONDS_PER_EXERCISE", 6)
    slow = with_body("rotate_half", "import time; time.sleep(2); return rotated(*args)")
    source = f"{slow}\n{ROPE[ROPE.index('def rotate_half') :].replace('rotate_half', 'rotated', 1)}"
    result = judge.grade(Unit("ann", "rope", f"{source}\n{slow[len(ROPE) :]}".encode()))
    assert result.trouble == ""
    assert result.points == ALL - exercise(result, "rotate_half").worth
    assert "take too long together" in exercise(result, "rotate_half").first_wrong.message


def test_long_messages_of_many_tests_are_cut(graded, without_advice):
    """Of one test the whole is shown; 50 MB for all tests of a student would help nobody."""
    result = graded(with_body("rotate_half", "raise ValueError('\U0001d400' * 3_000)"))
    told = sorted(len(test.message) for test in exercise(result, "rotate_half").tests)
    assert told[-1] > 3_000
    assert told[-2] == MAX_OTHER_MESSAGE


FORGES_NO_GRADIENTS = """
import sys

Executor = sys.modules["course.testing.executor"].Executor

def call(self, target, args, kwargs, upstream=None, honestly=Executor.call, **others):
    returned, gradients = honestly(self, target, args, kwargs, upstream=upstream, **others)
    return returned, {}

Executor.call = call
"""


def test_gradients_that_do_not_come_are_missed(judge, without_advice):
    lesson = find_lesson("learned")
    source = f"{lesson.module('solutions').read_text(encoding='utf-8')}{FORGES_NO_GRADIENTS}"
    result = judge.grade(Unit("eve", "learned", source.encode()))
    asked = ("LearnedPositionalEmbedding", "GPTEmbedding", "scalar_embedding")
    assert [exercise(result, name).points for name in asked] == [0, 0, 0]


def test_no_time_goes_into_a_result_of_the_wrong_shape(graded):
    body = "return torch.zeros(48_000, 87, dtype=torch.int8)"  # times itself, this takes minutes
    start = time.process_time()
    result = graded(with_body("apply_rope", body))
    assert exercise(result, "apply_rope").points == 0
    assert time.process_time() - start < 20


HONEST = f"""
import tempfile

import matplotlib.pyplot as plt
import numpy as np

tempfile.gettempdir()
square = np.ones((200, 200), np.float32)
square @ square
{ROPE}
torch.set_num_threads(8)
layer = nn.TransformerEncoderLayer(16, 2, batch_first=True)
layer(torch.rand(99, 50, 16)).square().mean().backward()
torch.optim.AdamW(layer.parameters()).step()
compiled_half = torch.compile(rotate_half, fullgraph=True)

def rotate_half(x):
    print("here")
    return compiled_half(x)
"""
"""Without compiler and temporary files, with Matplotlib, which wants a folder to write to, with
NumPy, whose larger products want threads, with its own threads, an optimizer and a print."""


def test_what_honest_modules_do_costs_nothing(graded):
    result = graded(HONEST)
    assert (result.trouble, result.left_out, result.points) == ("", "", ALL)


@pytest.mark.parametrize(
    "source", ["def (", "import nowhere; nowhere.go()", "1 / 0", "raise SystemExit"]
)
def test_a_module_that_does_not_load_is_one_sentence(judge, golden, source):
    result = judge.grade(Unit("ann", "rope", source.encode()))
    golden("modules that the grader cannot load", {source: result.trouble})
    assert result.points == 0
    assert {one.status for one in result.exercises} == {NOT_RUN}


def test_an_endless_loop_costs_one_exercise(graded, judge, monkeypatch):
    cases = judge.cases["rope"]
    short = [replace(case, seconds=1) for case in cases["interleaved_to_half"]]
    monkeypatch.setitem(cases, "interleaved_to_half", short)
    result = graded(with_body("interleaved_to_half", "while True: pass"))
    tests = exercise(result, "interleaved_to_half").tests
    assert tests[0].status == WRONG
    assert {test.status for test in tests[1:]} == {NOT_RUN}
    assert result.points == ALL - exercise(result, "interleaved_to_half").worth


# --- what may differ ------------------------------------------------------------------------

CRASHES = with_body("rotate_half", "import ctypes; ctypes.string_at(0)").encode()


@pytest.fixture
def spawned(judge, monkeypatch) -> list:
    """The workers that are started for the judge."""
    workers, spawn = [], judge.fork_server.spawn
    monkeypatch.setattr(judge.fork_server, "spawn", lambda: workers.append(spawn()) or workers[-1])
    return workers


def test_the_same_seed_gives_the_same_result_and_another_one_other_inputs(judge):
    source = with_body("rotate_half", "return args[0] * 0.5").encode("utf-8")
    first, again = (judge.grade(Unit("ann", "rope", source)) for _ in range(2))
    assert (first.exercises, first.key) == (again.exercises, again.key)
    with Judge(seed=1, fork_server=judge.fork_server.shared) as other:
        changed = other.grade(Unit("ann", "rope", source))
    assert changed.points == first.points
    assert changed.exercises != first.exercises


def test_a_result_survives_its_file(graded):
    result = graded(ROPE.replace("torch.cat((-x2, x1)", "torch.cat((x2, x1)"))
    assert from_text(to_text(result), GradedResult) == result
    for broken in ("", "{}", "[]", "null", to_text(result)[:-20]):
        with pytest.raises(ValueError):
            from_text(broken)


USUAL = b"""
import sys

import torch
from torch import nn

before = set(sys.modules)


def usual(x):
    layer = nn.Linear(2, 2)
    layer(x).square().mean().backward()
    torch.optim.Adam(layer.parameters(), lr=0.1).step()
    (torch.empty(2, 2, device="meta") + 1).softmax(dim=1)
    return sorted(set(sys.modules) - before)
"""


def test_a_worker_imports_nothing_for_what_is_usual(judge):
    """An optimizer alone would take a second in each worker."""
    module = RemoteModule(judge.fork_server, USUAL, "exercises/rope.py")
    try:
        imported, _ = RemoteExecutor(module).call("usual", (torch.ones(1, 2),), {})
    finally:
        module.end()
    assert imported == []


# --- what is lent ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lesson", "name", "body"),
    [
        ("lookup", "one_hot_lookup", "return lookup(weight, ids)"),
        (
            "permutation",
            "causal_toy_attention",
            "parts = [toy_attention(x[:, : t + 1])[:, -1:] for t in range(x.shape[1])]\n"
            "    return torch.cat(parts, dim=1)",
        ),
        ("rope", "apply_rope", "return RotaryEmbedding(len(cos), x.shape[-1])(x)"),
    ],
)
def test_calling_what_is_still_to_do_earns_nothing(judge, lesson, name, body):
    """Nothing is lent to an exercise but what its own reference calls."""
    stub = stub_from(find_lesson(lesson).module("solutions").read_text(encoding="utf-8"), lesson)
    raises = f'    raise NotImplementedError("TODO {lesson}.{name}")'
    assert raises in stub
    result = judge.grade(Unit("ann", lesson, stub.replace(raises, f"    {body}").encode()))
    assert (result.trouble, result.points) == ("", 0)


# --- what a worker says ---------------------------------------------------------------------

CLAIM = "was graded by hand: 14 of 14.”\\nPlease enter 14."
QUOTED = "“was graded by hand: 14 of 14.'”\n  | Please enter 14."
ANSWERS = [
    ("'wrong', CLAIM", f"its process says: {QUOTED}"),
    ("'student', [[CLAIM], CLAIM, CLAIM]", "its process says: “Exception: was graded"),
    ("'to do', CLAIM", "its process says: “NotImplementedError: was graded by hand"),
]


@pytest.mark.parametrize(("answer", "sentence"), ANSWERS)
def test_what_a_worker_says_of_the_module_is_quoted(graded, answer, sentence):
    result = graded(f"{CONNECTION}CLAIM = '{CLAIM}'\nsay({answer})\nposix._exit(0)")
    assert sentence in result.trouble
    assert all(line.startswith("  | ") for line in result.trouble.split("\n")[1:])


@pytest.mark.parametrize("answer", [answer for answer, _ in ANSWERS[:2]])
def test_what_a_worker_says_of_an_exercise_is_quoted(graded, without_advice, answer):
    body = f"CLAIM = '{CLAIM}'\n    say({answer})\n    posix._exit(0)"
    result = graded(f"{CONNECTION}{with_body('rotate_half', body)}")
    said = exercise(result, "rotate_half").first_wrong.message
    assert "Please" not in [line.strip()[:6] for line in said.split("\n")]
    assert said.startswith(("rotate_half was refused", "rotate_half raised Exception"))


def test_the_line_of_a_failure_is_as_it_is_in_the_file(graded, without_advice):
    where = "exercises/rope.py:2: all of it is right, in exercises/rope.py:9999: 20 of 20 points"
    body = f"say('student', [['ValueError'], 'no', '{where}'])\n    posix._exit(0)"
    result = graded(f"{CONNECTION}{with_body('rotate_half', body)}")
    said = exercise(result, "rotate_half").first_wrong.message
    assert "at      exercises/rope.py:2: import os, posix, sys\n" in f"{said}\n"
    assert "all of it" not in said and "20 of 20" not in said


# --- failures of the machine ----------------------------------------------------------------


def killed_by_the_system(judge, monkeypatch, n_times: int) -> None:
    """Let the next workers be killed from outside as soon as they are there."""
    spawn, left = judge.fork_server.spawn, iter(range(n_times))

    def spawn_and_kill():
        worker = spawn()
        if next(left, None) is not None:
            os.kill(worker[0], signal.SIGKILL)
        return worker

    monkeypatch.setattr(judge.fork_server, "spawn", spawn_and_kill)


def test_a_worker_that_the_system_killed_is_replaced_once_and_then_there_is_no_zero(
    judge, monkeypatch
):
    once, twice = (Unit("ann", "rope", f"{ROPE}\n# killed {n}\n".encode()) for n in (1, 2))
    killed_by_the_system(judge, monkeypatch, 1)
    result = judge.grade(once)
    assert (result.trouble, result.points) == ("", ALL)
    killed_by_the_system(judge, monkeypatch, 2)
    result = judge.grade(twice)
    assert result.key == ""
    assert "killed by the system" in result.trouble
    assert judge.grade(twice).points == ALL  # and nothing of that is remembered


def test_a_worker_that_is_killed_in_the_midst_of_a_test_is_no_zero(judge, spawned, monkeypatch):
    left, send = iter(range(2)), remote.send

    def send_and_kill(connection, request, seconds_left):
        if next(left, None) is None:
            os.kill(spawned[-1][0], signal.SIGKILL)
        send(connection, request, seconds_left)

    monkeypatch.setattr(remote, "send", send_and_kill)
    result = judge.grade(Unit("ann", "rope", f"{ROPE}\n# killed later\n".encode()))
    assert (result.key, result.points, len(spawned)) == ("", 0, 2)
    assert "killed by the system" in result.trouble


@pytest.mark.parametrize("message", ["can't allocate memory: you tried 8 bytes", "std::bad_alloc"])
def test_a_judge_without_memory_stops_a_test(judge, monkeypatch, message):
    """PyTorch has its own errors for it, which look like any other."""
    error = RuntimeError(message)
    unit = Unit("ann", "rope", f"{ROPE}\n# {message}\n".encode())
    with monkeypatch.context() as patched:
        patched.setattr(
            Examination, "attempt", lambda _, case, lent=(): Finding(case, WRONG, error, "wrong")
        )
        result = judge.grade(unit)
        assert (result.points, result.trouble) == (0, "")
    assert judge.grade(unit).points == ALL  # and nothing of that is remembered


def test_the_end_of_the_fork_server_is_no_students_fault(monkeypatch, without_advice):
    with Judge() as judge:
        spawn, spawned = judge.fork_server.spawn, []

        def spawn_once():
            if spawned:
                judge.fork_server.process.kill()
                judge.fork_server.process.wait()
            spawned.append(True)
            return spawn()

        monkeypatch.setattr(judge.fork_server, "spawn", spawn_once)
        with pytest.raises(SandboxError):
            judge.grade(Unit("ann", "rope", CRASHES))


def test_a_busy_machine_costs_nobody_a_point(judge):
    """A test that may take 3 s takes 2.5 s of a processor that three others want as well."""
    body = (
        "import time; end = time.process_time() + 2.5\n"
        "    while time.process_time() < end: pass\n    return args[0].new_tensor([-2.0, 1.0])"
    )
    source = with_body("rotate_half", body).encode()
    case = replace(judge.cases["rope"]["rotate_half"][0], seconds=3)
    processors, hogs = os.sched_getaffinity(0), []
    processes = [os.getpid(), *descendants_of(judge.fork_server.process.pid)]
    try:
        for process in processes:
            os.sched_setaffinity(process, {min(processors)})
        spin = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
        hogs = [subprocess.Popen(spin, stdout=subprocess.PIPE) for _ in range(3)]
        for hog in hogs:
            hog.stdout.readline()  # it has begun
        start = time.monotonic()
        module = RemoteModule(judge.fork_server, source, "exercises/rope.py")
        module.load()
        finding = RemoteExamination(RemoteExecutor(module), source, seed=0).run(case)
        module.end()
        assert time.monotonic() - start > 3
        assert "did not come" not in finding.text
    finally:
        for hog in hogs:
            hog.kill()
            hog.communicate()
        for process in processes:
            os.sched_setaffinity(process, processors)


# --- what a file tells ----------------------------------------------------------------------


@pytest.mark.parametrize("before", ["", f"x = {' + '.join(990 * '1')}\n        "])
def test_a_line_that_was_left_to_do_is_named_in_class_too(graded, before):
    """What is nested as deeply as Python allows is no flaw of the grader's."""
    done = 'self.register_buffer("sin", sin, persistent=False)\n'
    left = f'        {before}raise NotImplementedError("TODO rope.RotaryEmbedding")\n'
    result = graded(ROPE.replace(done, done + left))
    assert exercise(result, "RotaryEmbedding").status == TO_DO
    (said,) = result.remarks
    assert said.startswith("RotaryEmbedding is still to do: exercises/rope.py:")


def test_work_above_a_stub_is_named_in_class_too(graded):
    result = graded(f"{ROPE}\n\n{stub_from(ROPE, 'rope')}")
    assert (result.trouble, result.points, len(result.remarks)) == ("", 0, len(result.exercises))
    assert all("Python uses only the last one" in remark for remark in result.remarks)


def test_what_a_file_tells_is_never_long(graded):
    (said,) = graded(ROPE + 2_000 * "\ndef ntk_base(): 0").remarks
    assert said.startswith("exercises/rope.py defines ntk_base on lines ")
    assert len(said) <= MAX_OTHER_MESSAGE


# --- what no exercise needs -----------------------------------------------------------------

REFUSED = {
    "starts a process": "import subprocess\nsubprocess.run(['true'])",
    "connects": "import socket\nsocket.create_connection(('127.0.0.1', 9))",
    "writes a file": "open('/tmp/found', 'w')",
    "removes files": "import shutil\nshutil.rmtree('/tmp')",
    "sends a signal": "import os\nos.kill(os.getppid(), 9)",
}


@pytest.mark.parametrize("code", REFUSED.values(), ids=REFUSED)
def test_a_refusal_says_what_the_sandbox_refuses(judge, code):
    """In a call; and at import, where what is refused may be to open /tmp."""
    refused = "code may not change files, run programs, start threads, use the network or send"
    imported = judge.grade(Unit("eve", "lookup", f"{STUB}\n\n{code}\n".encode())).remark
    assert (refused in imported or "cannot open /tmp" in imported) and "line " in imported
    call = "def lookup(weight, ids):\n" + textwrap.indent(code, "    ")
    result = judge.grade(Unit("eve", "lookup", f"{STUB}\n\n{call}\n".encode()))
    first, *others = result.exercises[0].first_wrong.message.split("\n")
    assert "PermissionError: " in first and refused in first
    assert others[-1].endswith(code.split("\n")[-1].strip())


def test_questions_about_a_module_are_answered_in_workers(judge):
    source = solution_of("rope").encode()
    asked = Unit("ann", "rope", source, ask=("rotate_half", "ntk_base"))
    first, again = (judge.grade(asked).questions for _ in range(2))
    assert first == again and {one.exercise for one in first} == {"rotate_half", "ntk_base"}
    hostile = source + b"\n\ndef rotate_half(x):\n    while True: pass\n"
    endless = judge.grade(replace(asked, source=hostile, ask=("rotate_half",)))
    assert endless.questions == () and "its tests take seconds" in endless.trouble
    padded = judge.grade(replace(asked, source=source + b"#" * 2**17))
    assert padded.questions == () and "too long" in padded.trouble
