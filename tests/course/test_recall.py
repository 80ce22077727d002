"""A judge that remembers finds just what one finds that has seen nothing before."""

import itertools
from dataclasses import replace

import pytest
import torch
from classes import needs_sandbox

from course.grading.judge.judge import Judge
from course.grading.judge.recall import Memory, _bytes_in
from course.grading.judge.unit import Unit
from course.grading.sandbox.sandbox import SandboxError
from course.syllabus import find_lesson, lessons, solution_of, stub_from
from course.testing.examine import Examination, Finding

pytestmark = [
    pytest.mark.slow,
    needs_sandbox,
]

SOLUTIONS = {lesson.stem: solution_of(lesson.stem) for lesson in lessons()}
ROPE = SOLUTIONS["rope"]
TURNED = ROPE.replace("torch.cat((-x2, x1)", "torch.cat((x2, -x1)")
"""Wrong in `rotate_half`, in nothing else."""
ROUNDED = (
    f"{ROPE}\n\ntables = rope_tables\n\ndef rope_tables(*args, **kwargs):\n"
    "    return tuple(table + 1e-9 for table in tables(*args, **kwargs))\n"
)
"""Right, with other digits than the reference."""
LEAVES = f"{ROPE}\n\ndef rotate_half(x):\n    import ctypes\n\n    ctypes.string_at(0)\n"
PRINTS = (
    f"{ROPE}\n\nturned = rotate_half\n\ndef rotate_half(x):\n    print(x)\n    return turned(x)\n"
)


@pytest.fixture(scope="module")
def judge():
    with Judge(seed=3) as judge:
        yield judge


@pytest.fixture
def run(monkeypatch):
    """The tests that are really run, by name."""
    names = []
    attempt = Examination.attempt

    def noted(self, case, lent=()):
        names.append(case.name)
        return attempt(self, case, lent)

    monkeypatch.setattr(Examination, "attempt", noted)
    return names


def found(judge, source, lesson="rope"):
    """What is found in a module of which only the answers are known, not the text."""
    unseen = f"{source}\n# {next(NUMBERS)}\n"
    result = judge.grade(Unit("ann", lesson, unseen.encode("utf-8")))
    return replace(result, seconds=0, key="", module="")


NUMBERS = itertools.count()


@pytest.mark.parametrize("lesson", SOLUTIONS)
def test_no_test_is_run_twice_on_the_same_answers(judge, run, lesson):
    first = found(judge, SOLUTIONS[lesson], lesson)
    assert run
    run.clear()
    assert found(judge, SOLUTIONS[lesson], lesson) == first
    assert run == []


def test_new_answers_make_a_test_run(judge, run):
    found(judge, ROPE)
    run.clear()
    assert found(judge, ROPE.replace(" / head_dim", " / head_dim * 1.5")).points < 20
    assert run


@pytest.mark.parametrize("source", [ROPE, stub_from(ROPE, "rope"), TURNED, LEAVES, PRINTS])
def test_what_others_answered_before_changes_nothing(judge, source):
    for other in (TURNED, ROPE, PRINTS, LEAVES, stub_from(ROPE, "rope"), source):
        found(judge, other)
    with Judge(seed=3) as fresh:
        assert found(judge, source) == found(fresh, source)


def test_one_and_the_same_text_is_graded_once(judge, monkeypatch):
    units = [Unit(name, "rope", TURNED.encode("utf-8")) for name in ("ann", "bob")]
    ann = judge.grade(units[0])
    monkeypatch.setattr(judge, "_fork_server", None)
    bob = judge.grade(units[1])
    assert bob == replace(ann, student="bob", seconds=bob.seconds)


def test_of_a_text_that_was_stopped_the_next_result_is_its_own(judge, monkeypatch):
    unit = Unit("ann", "rope", LEAVES.encode("utf-8"))
    judge.grade(unit)
    spawned = []
    spawn = judge._fork_server.spawn
    monkeypatch.setattr(judge._fork_server, "spawn", lambda: spawned.append(True) or spawn())
    judge.grade(unit)
    assert spawned


def test_the_same_text_in_another_lesson_is_another_unit(judge):
    results = [judge.grade(Unit("ann", one, ROPE.encode("utf-8"))) for one in ("rope", "lookup")]
    assert [result.points for result in results] == [20, 0]


def test_what_an_answer_keeps_in_memory_counts():
    two = torch.zeros(1_000_000, dtype=torch.float64)[::999_999]
    assert _bytes_in([two]) > 8_000_000


def test_a_full_memory_begins_anew(judge, run, monkeypatch):
    monkeypatch.setattr("course.grading.judge.recall.MAX_BYTES", 1000)
    monkeypatch.setattr(judge, "_memory", Memory())
    first = found(judge, ROPE)
    run.clear()
    assert found(judge, ROPE) == first
    assert run


@pytest.mark.parametrize("says", ["can't allocate memory: you tried 8 bytes", "std::bad_alloc"])
def test_a_lack_of_memory_is_nobody_elses(judge, monkeypatch, says):
    """PyTorch has errors of its own for it, which look like any other."""
    lack = RuntimeError(says)
    monkeypatch.setattr(judge, "_memory", Memory())
    with monkeypatch.context() as patched:
        patched.setattr(Examination, "attempt", lambda _, case, lent=(): finding_of(case, lack))
        assert found(judge, ROPE).points == 0
    assert found(judge, ROPE).points == found(judge, ROPE).worth


def finding_of(case, failure):
    return Finding(case, "wrong", failure, "not right")


def test_the_end_of_the_fork_server_is_no_students_fault(monkeypatch):
    with Judge(seed=3) as judge:
        fork_server = judge._fork_server
        spawn, spawned = fork_server.spawn, []

        def spawn_once():
            if spawned:
                fork_server._process.kill()
                fork_server._process.wait()
            spawned.append(True)
            return spawn()

        monkeypatch.setattr(fork_server, "spawn", spawn_once)
        with pytest.raises(SandboxError):
            found(judge, LEAVES)


def test_what_is_remembered_holds_no_frames(judge):
    found(judge, TURNED)
    points = list(judge._memory._beginnings.values())
    failures = 0
    while points:
        point = points.pop()
        points += point.after.values()
        if point.end and point.end.failure:
            failures += 1
            assert point.end.failure.__traceback__ is None
    assert failures


def test_a_stub_of_any_depth_is_to_do(judge):
    text = "'TODO rope.rotate_half'" + " + ''" * 900
    stub = f"def rotate_half(x):\n    raise NotImplementedError({text})\n"
    result = found(judge, f"{ROPE}\n\n{stub}")
    worth = sum(one.points for one in find_lesson("rope").exercises if one.name != "rotate_half")
    assert (result.trouble, result.points) == ("", worth)
