"""Hostile modules earn nothing, harm nobody and leave nothing; what arrives is plain or refused."""

import contextlib
import json
import math
import os
import random
import re
import resource
import socket
import struct
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from classes import needs_sandbox, slow_in_sandbox
from hostile import ATTACKS, MARK, SOLUTION

from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import Status, find_lesson
from course.grading.judge import judge as judging
from course.grading.judge.judge import Judge
from course.grading.judge.unit import Unit
from course.grading.sandbox import remote, wire
from course.grading.sandbox.remote import RemoteExecutor
from course.grading.sandbox.sandbox import ProcessLimits, mapped_bytes
from course.grading.sandbox.wire import (
    ConnectionClosed,
    ReceiveTimeout,
    WireError,
    dumps,
    loads,
    receive,
    send,
)
from course.testing import case
from course.testing.executor import GeneratorSeed, Ref
from course.testing.plain import Foreign
from course.testing.source import MAX_BYTES_TO_READ, used_exercises
from course.testing.telling import telling_difference

# --- attacks --------------------------------------------------------------------------------

LIMITS = ProcessLimits(cpu_seconds=5, memory_bytes=2 * 10**9 + os.getpid())
"""No other fork server here has this number, so its processes can be told from others."""
SECONDS_PER_EXERCISE = 3
NEIGHBOUR = Unit("bob", "lookup", SOLUTION.replace("seq_len *", "seq_len +", 1).encode("utf-8"))
"""An honest student with one mistake."""
WRONG = Status.WRONG
SECRET = "a secret of the machine that grades"
QUICK = (
    "leaves in C",
    "forged at import: an exception",
    "returns a number of 5,000 digits",
    "walks up the stack and changes what it finds there",
)


IDLE: list[str] = []
"""The fork_server, and the first process in its namespaces, if there are some here."""


@pytest.fixture(scope="module")
def judge():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET", SECRET)
        patch.setattr(case, "SECONDS_PER_TEST", 2)
        own = judging.collect_once.__wrapped__  # others wait longer
        patch.setattr(judging, "collect_once", own)
        patch.setattr(remote, "SECONDS_TO_LOAD", 4)
        patch.setattr(judging, "SECONDS_PER_EXERCISE", SECONDS_PER_EXERCISE)
        with Judge(limits=LIMITS) as judge:
            judge.fork_server.kill(judge.fork_server.spawn())  # so all of it is there
            IDLE.extend(processes_of_fork_server())
            alone = graded_neighbour(judge)
            assert 0 < alone.points < alone.worth
            yield judge
            assert graded_neighbour(judge) == alone  # whatever was graded before


def graded_neighbour(judge):
    """What the honest student gets, before all attacks and after them, without advice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judging, "diagnose", lambda *_: None)
        return replace(judge.grade(NEIGHBOUR), seconds=0.0)


@needs_sandbox
@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(one, id=one.name, marks=() if one.name in QUICK else pytest.mark.slow)
        for one in ATTACKS
    ],
)
def test_an_attack_earns_nothing_and_leaves_nothing(judge, attack):
    start = time.monotonic()
    result = judge.grade(Unit("eve", "lookup", attack.source))
    assert time.monotonic() - start < 500  # on a busy machine, too; those that sleep want 600
    assert result.points <= attack.points
    assert result.key, result.trouble  # the grader itself did not stumble
    said = what_is_said(result)
    assert re.search(attack.tells, said), said
    assert SECRET not in said
    assert len(said) <= judging.MAX_MESSAGE
    assert said.replace("\n", " ").isprintable()
    assert left_behind() == []


def what_is_said(result) -> str:
    """What an instructor reads first: why it did not load, or what is wrong, and what was odd."""
    if result.trouble:
        return result.trouble
    tests = [test for exercise in result.exercises for test in exercise.tests if test.message]
    tests.sort(key=lambda test: test.status != WRONG)
    return "\n".join(filter(None, [tests[0].message if tests else "", result.remark]))


def left_behind() -> list[str]:
    """Files with the mark, and processes of the fork server besides itself."""
    folders = [Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/"), ROOT]
    folders += [ROOT / "exercises", ROOT / "solutions", ROOT / "tests"]
    files = [str(path) for folder in folders for path in folder.glob(f"*{MARK}*")]
    return files + [number for number in processes_of_fork_server() if number not in IDLE]


def processes_of_fork_server() -> list[str]:
    """Return the numbers of this judge's fork server and of all that were forked from it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is not ours
            continue
        if str(LIMITS.memory_bytes).encode() in words:
            found.append(entry.name)
    return sorted(found, key=int)


@needs_sandbox
def test_a_process_or_file_that_is_left_behind_would_be_seen(judge):
    assert left_behind() == []
    worker = judge.fork_server.spawn()
    assert left_behind() == [str(worker[0])]
    judge.fork_server.kill(worker)
    with tempfile.NamedTemporaryFile(dir="/tmp", prefix=MARK) as file:
        assert left_behind() == [file.name]
    assert left_behind() == []


@needs_sandbox
def test_all_answers_together_are_bounded(judge, monkeypatch):
    monkeypatch.setattr(remote, "MAX_BYTES", 10_000)
    said = what_is_said(judge.grade(Unit("eve", "lookup", SOLUTION.encode("utf-8"))))
    assert said == remote.TOO_LARGE


@needs_sandbox
def test_a_flaw_of_the_grader_costs_one_result_that_is_not_kept(judge, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(remote.RemoteModule, "load", lambda _: 1 / 0)
        result = judge.grade(NEIGHBOUR)
    assert (result.key, result.points) == ("", 0)
    assert result.trouble.endswith(": ZeroDivisionError: division by zero")
    assert judge.grade(NEIGHBOUR).points > 0


def of_stub(judge, stem: str, code: str):
    """The result of a stub with some lines after it."""
    stub = stub_from(find_lesson(stem).module("solutions").read_text(encoding="utf-8"), stem)
    result = judge.grade(Unit("eve", stem, f"{stub}\n\n{code}".encode()))
    assert (bool(result.key), result.points) == (True, 0)
    return result


@slow_in_sandbox
def test_what_small_answers_unfold_to_is_not_multiplied(judge):
    unfolds = "def apply_rope(x, cos, sin):\n    return torch.zeros(1).expand(30_000, 1)\n"
    result = of_stub(judge, "rope", unfolds)
    said = [test.message for exercise in result.exercises for test in exercise.tests]
    assert not {remote.TOO_LARGE, remote.TOO_LONG}.intersection(said)
    assert "(30000, 1), but should be (3, 1, 6)" in "".join(said)


AS_LISTS = """
def nearest_by_cosine(query, vectors, top_k=5):
    return torch.zeros(1, dtype=torch.int64).expand(2**22, *[1] * 15), torch.zeros(1)
"""


@slow_in_sandbox
def test_what_no_memory_holds_as_lists_is_wrong_rather_than_not_graded(judge):
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes() + 300 * 10**6, hard))
    try:
        result = of_stub(judge, "skipgram", AS_LISTS)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert what_is_said(result) == remote.TOO_LARGE


def test_what_no_memory_holds_is_not_compared_by_other_numbers():
    assert telling_difference(torch.zeros(1).expand(2**44), torch.arange(5.0)) is None


def test_a_module_longer_than_anybody_writes_is_not_taken_apart():
    source = f"{SOLUTION}\n\ndef long():\n    {'[];' * (MAX_BYTES_TO_READ // 3)}\n".encode()
    assert used_exercises(SOLUTION.encode(), "lookup", "TokenEmbedding")
    assert used_exercises(source, "lookup", "TokenEmbedding") == ()


def test_attacks_are_told_apart():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 40
    assert set(QUICK) <= {attack.name for attack in ATTACKS}


# --- the wire -------------------------------------------------------------------------------


def within(seconds: float):
    """Return what tells how much of this time is left."""
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def across(value):
    """A value after it was sent and received."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, dumps(value), within(60))
        return loads(*receive(theirs, within(60)))


def exactly(value):
    """What two plain values have in common if they are the same to the last bit."""
    if isinstance(value, torch.Tensor):
        facts = [value.dtype, value.shape, value.device.type]
        if value.device.type == "meta":
            return facts
        row = value.reshape(-1).clone(memory_format=torch.contiguous_format)
        stride = value.is_contiguous() or value.stride()
        return [*facts, stride, row.view(torch.uint8).numpy().tobytes()]
    if isinstance(value, list | tuple | dict):
        items = value.items() if isinstance(value, dict) else value
        return type(value), [exactly(one) for one in items]
    return type(value), repr(value)


def any_tensor(chance: random.Random) -> torch.Tensor:
    """Any dtype, any bits, up to four axes, some of them empty, transposed, expanded or cut."""
    dtype = chance.choice(list(wire.DTYPES.values()))
    shape = [chance.randrange(5) for _ in range(chance.randrange(5))]
    if dtype == torch.bool:
        tensor = torch.rand(shape) < 0.5
    else:
        memory = bytearray(chance.randbytes(math.prod(shape) * dtype.itemsize))
        tensor = torch.frombuffer(memory, dtype=dtype) if memory else torch.empty(0, dtype=dtype)
        tensor = tensor.reshape(shape)
    kind = chance.randrange(6)
    if kind == 0:
        return tensor.to("meta")
    if kind == 1:
        return tensor.permute(chance.sample(range(tensor.dim()), tensor.dim()))
    if kind == 2:
        return tensor.unsqueeze(-1).expand(*shape, 3)
    if kind == 3:
        return tensor[..., ::2] if shape else tensor
    return tensor


def any_value(chance: random.Random, depth: int = 0):
    """Any plain value."""
    simple = (
        lambda: chance.choice([None, True, False, *wire.DTYPES.values(), Foreign("set")]),
        lambda: chance.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324]),
        lambda: chance.randrange(-(2 ** chance.randrange(1, 2000)), 2**63 + 1),
        lambda: struct.unpack("d", chance.randbytes(8))[0],
        lambda: complex(chance.choice([-0.0, math.nan, 1.5]), chance.gauss(0, 1)),
        lambda: "".join(chr(chance.randrange(0xD800)) for _ in range(chance.randrange(9))),
        lambda: chance.randbytes(chance.randrange(9)),
        lambda: chance.choice([Ref(chance.randrange(99), "Linear"), GeneratorSeed(2**61)]),
        *[lambda: any_tensor(chance)] * 2,
    )
    if depth > 3 or chance.random() < 0.6:
        return chance.choice(simple)()
    items = [any_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    keys = [chance.choice(["a", 1, (0, 1), b"k", 2.5, None]) for _ in items]
    return chance.choice([items, tuple(items), dict(zip(keys, items, strict=True))])


def test_every_plain_value_crosses_as_it_is():
    chance = random.Random(1)
    for _ in range(2000):
        value = any_value(chance)
        assert exactly(across(value)) == exactly(value), value


KINDS = (*wire.READERS, "no kind")
PIECES = (
    *(*KINDS, *wire.DTYPES, "result", "wrong", "student", "to do", "", "nan", "-0x1", "\ud800"),
    *(None, True, -1, 0, 1, 2, 3, 2**22, 2**31, 2**40, 2**62, 2**64, 10**400, "f" * 2000),
    *(0.5, -0.0, math.inf, math.nan, 1e308, [], {}, [2**22], [2**62, 0], [1, -1]),
)


def with_other_pieces(value, chance: random.Random):
    """JSON in which some names, numbers and whole parts are others, often impossible ones."""
    if chance.random() < 0.07:
        return chance.choice(PIECES)
    if isinstance(value, list):
        cut = slice(chance.randrange(1, 9)) if chance.random() < 0.05 else slice(None)
        return [with_other_pieces(one, chance) for one in value][cut]
    if isinstance(value, dict):
        names = [name if chance.random() < 0.95 else chance.choice(KINDS) for name in value]
        more = {chance.choice(KINDS): 0} if chance.random() < 0.03 else {}
        parts = [with_other_pieces(one, chance) for one in value.values()]
        return dict(zip(names, parts, strict=True)) | more
    return value


def mutated(message: bytes, chance: random.Random) -> bytes:
    """A message with a few bytes changed, left out or doubled."""
    data = bytearray(message)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(data) + 1)
        data[at : at + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
    return bytes(data)


def is_plain(value) -> bool:
    """Whether a value is of the listed types only, and of a bounded size."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value)) and all(map(is_plain, value.values()))
    if type(value) is torch.Tensor:
        return wire.n_elements(value.shape) <= wire.MAX_ELEMENTS
    if type(value) is int:
        return len(str(value)) < 4300
    return value is None or type(value) in (
        *(bool, float, complex, str, bytes, torch.dtype),
        *(Ref, GeneratorSeed, Foreign),
    )


def is_read(text: bytes, memory: bytes) -> bool:
    """Whether it is read and not refused: then it is plain, and an answer has its form."""
    try:
        value = loads(text, bytearray(memory))
    except WireError:
        return False
    assert is_plain(value)
    with contextlib.suppress(WireError):
        kind, said = remote.checked_answer(value)
        if kind == "student":
            assert len(said) == 3 and all(type(name) is str for name in said[0])
    return True


def taken_apart(chance: random.Random) -> tuple[bytes, bytes]:
    """An honest answer, as the text and the memory that are sent."""
    others = [["wrong", "no"], ["to do", "lookup"], ["student", [["ValueError"], "5 and 7", ""]]]
    result = ["result", (any_value(chance), {0: any_value(chance)})]
    message = dumps(result if chance.random() < 0.8 else chance.choice(others))
    length, _ = wire.HEADER.unpack(message[: wire.HEADER.size])
    return message[8 : 8 + length], message[8 + length :]


@pytest.mark.parametrize("damage", ["other JSON", "other bytes"])
def test_whatever_arrives_is_plain_or_refused(damage):
    chance = random.Random(2)
    n_read = 0
    for _ in range(4_000):
        text, memory = taken_apart(chance)
        if damage == "other JSON":
            text = json.dumps(with_other_pieces(json.loads(text), chance)).encode()
        elif chance.random() < 0.8:
            text = mutated(text, chance)
        else:
            memory = mutated(memory, chance)
        n_read += is_read(text, memory)
    assert n_read > 500  # not only the outermost layer was tried


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10**5,
        "[" * 300_000 + "]" * 300_000,
        '{"tuple":[' * 20_000 + "]}" * 20_000,
        '{"int":"' + "f" * 10**6 + '"}',
        "1" * 4000,
        "1" * 10**6,
        json.dumps({"dict": [[n * (2**61 - 1), 0] for n in range(30_000)]}),
        json.dumps({"dict": [[n, 0] for n in range(30_000)]}),
        *('{"dict":[[[1],2]]}', '{"ref":[1,"A"],"tuple":[]}', "{}", b"\xff\xfe\xfa"),
        *('{"meta":["int8",[1099511627776,0]]}', '{"meta":["int8",[4194305]]}'),
        '{"tensor":["int64",[4194304,4194304,0],null,0]}',
        *('{"tensor":["int8",[4194305],[0],1]}', '{"tensor":["int8",[2,2],[1,-1],1]}'),
        *('{"tensor":["int8",[2],[1],1]}', '{"tensor":{"0":"int8","1":[],"2":[],"3":1}}'),
    ],
    ids=lambda text: text[:40],
)
def test_a_bomb_is_refused_at_once(text):
    start = time.process_time()
    with pytest.raises(WireError):
        loads(text if isinstance(text, bytes) else text.encode(), bytearray(b"\1"))
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        torch.zeros(1).expand(2**40),
        torch.zeros(2**40, 0),
        torch.zeros(2**20, 2**20, 0),
        "x" * wire.MAX_TEXT_BYTES,
    ],
    ids=["number", "expanded", "rows", "rows of rows", "text"],
)
def test_what_would_be_refused_is_not_even_sent(value):
    with pytest.raises(WireError):
        dumps([value])


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_nobody_reads_answers_or_is_there(pair):
    left = iter((0.1, 0.1, 0))  # then it is asked no more
    with pytest.raises(ReceiveTimeout):
        send(pair[0], bytes(10**7), lambda: next(left))
    with pytest.raises(ReceiveTimeout):
        receive(pair[0], within(0.05))
    pair[1].close()
    with pytest.raises(ConnectionClosed):
        send(pair[0], dumps(1), within(60))
    with pytest.raises(ConnectionClosed):
        receive(pair[0], within(60))


@pytest.mark.parametrize("lengths", [(2**32 - 1, 0), (0, 2**32 - 1), (wire.MAX_TEXT_BYTES + 1, 0)])
def test_no_memory_is_made_for_what_is_only_announced(pair, lengths):
    pair[1].sendall(struct.pack("!II", *lengths))
    with pytest.raises(WireError):
        receive(pair[0], within(60))


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [None, 5, "abc", (), (1,), [1, {}], (1, 2, 3), (1, []), {0: 1, 1: 2}, torch.zeros(2, 3)],
    ids=str,
)
def test_a_call_is_answered_by_a_result_and_gradients_only(answer):
    class Module:
        def take(self, steps, deadline):
            return answer

    with pytest.raises(AssertionError, match="cannot be read"):
        RemoteExecutor(Module()).call("lookup", (), {})
