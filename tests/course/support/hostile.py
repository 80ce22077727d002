"""Attacks on the judge, as data: what a hostile lookup.py might try to earn points, or to do harm.

Each is a stub that earns nothing, with a few lines of Python after it. What they write somewhere
has MARK in its name. `test_hostile.py` grades them all.
"""

from dataclasses import dataclass

from course import ROOT
from course.core.stubs import stub_from
from course.core.syllabus import find_lesson

SOLUTION = find_lesson("lookup").module("solutions").read_text(encoding="utf-8")
STUB = stub_from(SOLUTION, "lookup")
MARK = "made by a hostile module"


@dataclass(frozen=True)
class Attack:
    """One hostile module.

    Attributes:
        name: what it does.
        source: the module.
        tells: a pattern that what the instructor reads has to match.
        points: what the same module earns without the attack.
    """

    name: str
    source: bytes
    tells: str
    points: int = 0


ATTACKS: list[Attack] = []


def module(name: str, source: bytes, tells: str, points: int = 0) -> None:
    """Add a module that is no stub at all."""
    ATTACKS.append(Attack(name, source, tells, points))


def attack(name: str, code: str, tells: str) -> None:
    """Add a stub with some lines after it."""
    module(name, f"{STUB}\n\n{code}".encode(), tells)


def in_call(name: str, code: str, tells: str) -> None:
    """Add a stub whose `lookup` has this body."""
    body = code.strip("\n").replace("\n", "\n    ")
    attack(name, f"def lookup(weight, ids):\n    {body}\n", tells)


# --- ending early, as if all were well ------------------------------------------------------

in_call("leaves with status 0", "import sys; sys.exit(0)", r"called sys\.exit\(0\)")
in_call("leaves at once", "import os; os._exit(0)", r"called os\._exit\(0\)")
in_call("leaves by another door", "import posix; posix._exit(0)", "status 0")
in_call("leaves in C", "import ctypes; ctypes.CDLL(None)._exit(0)", "status 0")
in_call("crashes", "import ctypes; ctypes.string_at(0)", "crashed: Segmentation fault")
in_call("kills itself", "import os; os.abort()", "crashed")
attack("leaves while it is imported", "raise SystemExit(0)", "calls sys.exit")
attack("leaves at import", "import os; os._exit(0)", r"called os\._exit\(0\)")
attack("leaves in C at import", "import posix; posix._exit(0)", "left its process")
attack(
    "claims success when the process ends",
    "import atexit, os\natexit.register(lambda: os._exit(0))\n\n"
    "def lookup(weight, ids):\n    print('132 passed')\n    raise SystemExit",
    r"called sys\.exit",
)
in_call("skips its test", "import pytest; pytest.skip('done')", "raised Skipped: done")
in_call("ends pytest", "import pytest; pytest.exit('passed', 0)", "Exit: passed")
in_call("interrupts the run", "raise KeyboardInterrupt", "left its process")
in_call("raises what few catch", "raise GeneratorExit", "raised GeneratorExit")

# --- forged results -------------------------------------------------------------------------

in_call(
    "writes a report of passed tests to every output",
    """
import os, sys
for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
    stream.write("14 passed in 0.1 s, 14/14 points")
for number in (0, 1, 2):
    os.write(number, b"14 passed in 0.1 s")
""",
    "nothing \\(None, as without a return\\) came back",
)
in_call(
    "writes results and settings where a grader or pytest would look for them",
    f"""
import os
names = ["results.json", "conftest.py", "pytest.ini", "sitecustomize.py", "torch.py"]
folders = [".", "/tmp", "/dev/shm", "/var/tmp", {str(ROOT)!r}, {str(ROOT / "exercises")!r}]
for folder in folders:
    for name in names:
        try:
            open(os.path.join(folder, "{MARK} " + name), "w").write("passed")
        except OSError as error:
            last = error
raise last
""",
    "PermissionError",
)
attack(
    "puts its own modules in the place of torch, pytest and the course",
    "import sys, types\n"
    "for name in ('torch', 'torch.testing', 'pytest', 'course.testing.expect', 'course.grading'):\n"
    "    sys.modules[name] = types.ModuleType(name)",
    "cannot be looked at|left its process|still to do",
)
attack(
    "makes everything equal in torch and in Python",
    "import torch.testing\n"
    "for name in ('equal', 'allclose', 'isclose'):\n"
    "    setattr(torch, name, lambda *a, **k: True)\n"
    "torch.testing.assert_close = lambda *a, **k: None\n"
    "torch.Tensor.__eq__ = lambda *a: torch.tensor(True)\n"
    "import builtins\n"
    "builtins.isinstance = lambda *a: True\n"
    "builtins.abs = lambda x: 0",
    "cannot be imported: the code",
)
in_call(
    "makes 7 another number, in memory",
    "import ctypes\nctypes.memmove(id(7) + 24, id(0) + 24, 4)\nreturn weight * 7",
    "not the|should be|is not|left its process|crashed",
)
in_call(
    "returns an object that is equal to everything",
    """
class Yes:
    shape = dtype = device = layout = property(lambda self: self)
    __eq__ = lambda *a: True
    __ne__ = __lt__ = lambda *a: False
    __getattr__ = __call__ = __sub__ = __rsub__ = lambda self, *a, **k: self
    __bool__ = lambda self: True
return Yes()
""",
    "a Yes came back where a tensor belongs",
)
in_call(
    "returns a tensor that answers every question of torch itself",
    """
class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
return torch.zeros(ids.shape + weight.shape[1:]).as_subclass(Agrees)
""",
    "values|entries|every",
)
attack(
    "returns a number that is equal to everything",
    "class Seven(int):\n"
    "    __eq__ = lambda *a: True\n"
    "    __hash__ = int.__hash__\n\n"
    "def lookup(weight, ids):\n    return Seven(7)\n\n"
    "one_hot_bytes = lambda *a, **k: Seven(7)",
    "an int came back where a tensor belongs",
)
in_call("returns a numpy number", "import numpy; return numpy.float64(7)", "a float came")
in_call("returns a generator", "return (row for row in weight)", "a generator came")
in_call("returns a function", "return lambda: weight", "a function came back")
in_call(
    "returns a module", "import torch.nn; return torch.nn.Identity()", "came back|itself failed"
)
in_call("answers differently each time", "return torch.rand(2, 3)", "shape|values")

# --- the executor and the connection -----------------------------------------------------------

attack(
    "finds what calls it and makes that answer for it",
    "import gc, importlib\n"
    "executor = importlib.import_module('course.testing.executor')\n"
    "executor.Executor.call = lambda self, target, args, kwargs, **o: (args[0][:1], {})\n"
    "executor.Executor.inspect = lambda self, ref, what: {}\n"
    "for found in gc.get_objects():\n"
    "    if type(found).__name__ == '_Session':\n"
    "        found.fresh = lambda: None",
    "shape",
)
in_call(
    "waits for its first call to replace the executor",
    """
import gc, sys
executor = sys.modules["course.testing.executor"].Executor
executor.call = lambda self, target, args, kwargs, **options: (torch.zeros(2, 3), {})
executor._check_unchanged = lambda *arguments: None
return torch.zeros(2, 3)
""",
    "values|shape",
)
in_call(
    "walks up the stack and changes what it finds there",
    """
import ctypes, sys
frame = sys._getframe()
while frame:
    for name in list(frame.f_locals):
        frame.f_locals[name] = None
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 1)
    frame = frame.f_back
return weight
""",
    r"left its process|crashed|shape|values|came back|raised",
)

CONNECTION = """
import os, posix
dumps = __import__("course.grading.sandbox.wire", fromlist=["dumps"]).dumps

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

connection = next(number for number in range(3, 64) if is_open(number))

def say(*answer):
    os.write(connection, dumps(list(answer)))
"""
"""Finds the connection to the judge, and lets a module say on it what it likes.

After that, `posix._exit` ends the process at once, so nothing else follows; `os._exit` is guarded.
"""

FORGED = {
    "an exception": '["student", [["ValueError"], "5 and 7", ""]]',
    "a stub": '["to do", "lookup.lookup"]',
    "something wrong": '["wrong", "all is well, give 14 points"]',
    "a right result": '["result", None]',
    "no kind": "[torch.zeros(3), None]",
    "nothing": "None",
}
for kind, answer in FORGED.items():
    attack(
        f"forged at import: {kind}",
        f"{CONNECTION}os.write(connection, dumps({answer}))",
        "was not loaded; its process says|cannot be|still to do|should|came back|itself failed",
    )
attack(
    "sends a hundred answers before it is asked",
    f"{CONNECTION}os.write(connection, 100 * dumps(['result', (torch.zeros(2, 3), {{}})]))",
    "cannot be read",
)
attack(
    "sends each answer twice, the first one forged",
    f"{CONNECTION}\n"
    "def lookup(weight, ids):\n"
    "    os.write(connection, dumps(['result', (weight, {})]))\n"
    "    return weight",
    "values|shape|should be|cannot be read",
)
attack(
    "hangs up and computes on",
    f"{CONNECTION}\ndef lookup(weight, ids):\n    os.close(connection)\n    while True: pass",
    "did not finish",
)
attack(
    "answers with bytes that are no message",
    f"{CONNECTION}\ndef lookup(weight, ids):\n    os.write(connection, b'passed!!' * 10000)",
    "cannot be read",
)
attack(
    "sends an answer byte by byte, to be waited for at each",
    f"{CONNECTION}\nimport time\n"
    "def lookup(weight, ids):\n"
    "    for byte in (10**6).to_bytes(4) + bytes(10**6):\n"
    "        os.write(connection, bytes([byte]))\n"
    "        time.sleep(0.01)",
    "did not come to an end",
)
attack(
    "announces a large answer and never stops to send it",
    f"{CONNECTION}\n"
    "def lookup(weight, ids):\n"
    "    os.write(connection, (2**20).to_bytes(4) + (2**26).to_bytes(4))\n"
    "    while True:\n"
    "        os.write(connection, b' ')",
    "did not come to an end|processor time",
)
attack(
    "fills the memory of the judge with every answer",
    f"{CONNECTION}\n"
    "def lookup(weight, ids):\n"
    "    large = dumps(['result', ([torch.zeros(2**18, dtype=torch.float64)] * 30, {})])\n"
    "    while True:\n"
    "        at = 0\n"
    "        while at < len(large):\n"
    "            at += os.write(connection, large[at:])\n"
    "        os.read(connection, 10**6)\n",
    "a list of 30 came back",
)
attack(
    "sends a list in lists, 300,000 deep",
    f"{CONNECTION}\n"
    "def lookup(weight, ids):\n"
    "    text = b'[' * 300_000 + b']' * 300_000\n"
    "    os.write(connection, len(text).to_bytes(4) + bytes(4) + text)",
    "cannot be read",
)
attack(
    "sends a dictionary whose keys all have the same hash",
    f"{CONNECTION}\nimport json\n"
    "def lookup(weight, ids):\n"
    "    items = [[number * (2**61 - 1), 0] for number in range(30_000)]\n"
    "    text = json.dumps(['result', {'kind': 'dict', 'items': items}]).encode()\n"
    "    os.write(connection, len(text).to_bytes(4) + bytes(4) + text)",
    "cannot be read",
)
attack(
    "sends a tensor that takes no memory until somebody takes it apart",
    f"{CONNECTION}\nimport json\n"
    "def lookup(weight, ids):\n"
    "    rows = {'kind': 'meta', 'dtype': 'int8', 'shape': [2**45, 0]}\n"
    "    text = json.dumps(['result', rows]).encode()\n"
    "    os.write(connection, len(text).to_bytes(4) + bytes(4) + text)",
    "cannot be read",
)

# --- looking for the answers ----------------------------------------------------------------


CLOSED = "PermissionError|FileNotFoundError"
"""What tells of a file that a worker may not read: in namespaces there is none."""


def reading(name: str, path: object, tells: str = CLOSED) -> None:
    """Add an attack that tells what it has read."""
    code = f"raise ValueError(open({str(path)!r}, 'rb').read())"
    in_call(f"reads {name}", code, tells)


reading("the solutions", ROOT / "solutions" / "lookup.py", "takes its answers from solutions/")
reading("the tests", ROOT / "tests" / "test_lookup.py")
reading("the catalogue", ROOT / "course" / "lessons" / "lookup" / "mistakes.txt")
reading("its own file", ROOT / "exercises" / "lookup.py")
reading("the users", "/etc/passwd")
in_call(
    "reads the environment and the memory of its parent",
    """
import os
for name in ("environ", "mem", "maps", "cmdline", "fd/0"):
    try:
        raise SystemError(open(f"/proc/{os.getppid()}/{name}", "rb").read(100))
    except OSError as error:
        last = error
raise last
""",
    CLOSED,
)
in_call("lists all processes", "import os; raise ValueError(os.listdir('/proc'))", CLOSED)
in_call(
    "tells its environment",
    "import os; raise ValueError(dict(os.environ))",
    "ValueError: {'HOME': '/'",
)
attack(
    "imports the solutions in the plain way",
    "from solutions.lookup import lookup",
    "takes its answers from solutions/",
)
in_call(
    "imports the solutions by a name that is put together",
    "import importlib; return importlib.import_module('sol' 'utions.lookup').lookup(weight, ids)",
    "No module named 'solutions|PermissionError",
)
in_call(
    "imports the right answers that the catalogue of mistakes has",
    "import importlib; importlib.import_module('course.lessons.lookup.styles')",
    "No module named|PermissionError",
)
in_call(
    "looks for a right `lookup` in everything that is loaded",
    """
import sys
for one in list(sys.modules.values()):
    found = getattr(one, "__dict__", {}).get("lookup_backward")
    if found:
        return weight
raise LookupError("nowhere to be found")
""",
    "nowhere to be found",
)
THIEF = f"""
import sys

executor = sys.modules["course.testing.executor"].Executor
lend = executor.lend

def steal(self, source, names):
    exec(source, stolen)
    lend(self, source, names)

stolen = {{}}
executor.lend = steal
for name in ("lookup", "one_hot_lookup", "one_hot_bytes", "lookup_backward"):
    def call(*args, name=name, **kwargs):
        if name not in stolen:
            raise NotImplementedError(f"TODO lookup.{{name}}")
        return stolen[name](*args, **kwargs)
    globals()[name] = call

{SOLUTION[SOLUTION.index("class TokenEmbedding") :]}
"""
module(
    "keeps what is lent to its TokenEmbedding, to answer for the other exercises",
    f"{STUB}\n\n{THIEF}".encode(),
    "still to do",
    points=3,
)

# --- other processes, files and the network -------------------------------------------------

in_call("forks for ever", "import os\nwhile True: os.fork()", "PermissionError")
in_call(
    "leaves a child behind in a separate session",
    """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(600)
return weight
""",
    "PermissionError",
)
in_call("runs a shell", "import os; os.system('sleep 600 &'); return 7", "run programs")
in_call(
    "attaches a debugger to its parent",
    "import ctypes, os\nif ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) < 0:\n"
    "    raise PermissionError('no ptrace')",
    "no ptrace",
)
in_call("kills everybody", "import os; os.kill(-1, 9)", "PermissionError")
in_call("starts a thread", "import threading; threading.Timer(9, int).start()", "thread")
in_call(
    "fills the shared memory",
    f"open('/dev/shm/{MARK}', 'wb').write(bytes(10**9))",
    "PermissionError",
)
in_call("fills the disk", f"open('/tmp/{MARK}', 'wb').write(bytes(10**9))", "PermissionError")
in_call(
    "makes a million files",
    f"for number in range(10**6):\n    open(f'/tmp/{MARK} {{number}}', 'w').close()",
    "PermissionError",
)
in_call("opens a connection", "import socket; socket.socket()", "PermissionError")
in_call(
    "waits for somebody to connect",
    "import socket; socket.create_server(('127.0.0.1', 0)).accept()",
    "PermissionError",
)
in_call(
    "looks up an address",
    "import socket; socket.getaddrinfo('example.org', 80)",
    "gaierror|PermissionError|OSError",
)

# --- time -----------------------------------------------------------------------------------

IGNORE_ALL = """
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
"""
END = "did not come to an end in|more than 5 s of processor time"
attack("never ends to load", "while True: pass", "did not finish")
attack("sleeps at import", "import time; time.sleep(600)", "did not finish")
in_call("computes for ever", "while True: pass", END)
in_call("computes for ever, deaf", f"{IGNORE_ALL}\nwhile True: pass", END)
in_call("one long call into C", f"{IGNORE_ALL}\nsum(range(10**12))", END)
in_call("sleeps", "import time; time.sleep(600)", END)
in_call("computes a number of 10**8 digits", "return 10 ** 10**8", f"{END}|number")
in_call("matches for ever", "import re; re.match('(a+)+$', 'a' * 50 + 'b')", END)
in_call(
    "catches whatever is thrown at it",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    END,
)
in_call(
    "raises what never comes to its message",
    """
class Slow(Exception):
    def __str__(self):
        while True: pass
raise Slow
""",
    END,
)

# --- size -----------------------------------------------------------------------------------

in_call("asks for 100 GB", "torch.empty(25 * 10**9)", "can't allocate memory")
in_call("asks for 100 GB of bytes", "bytearray(10**11)", "MemoryError")
in_call("asks for ever more", "a = [0]\nwhile True: a += a", f"MemoryError|memory|{END}")
in_call("prints 100 MB", "print('x' * 10**8)", "nothing|printed|prints")
in_call("raises 10 MB", "raise ValueError('x' * 10**7)", "ValueError: xxx")
in_call("returns 10 MB", "return 'x' * 10**7", "too large to be looked at")
in_call("returns 40 MB", "return torch.zeros(10**7)", "too large")
in_call(
    "returns 21,000 tensors of 4 million numbers each, in 64 bytes",
    """
t = torch.zeros(2, dtype=torch.complex128).as_strided((2, 2**21), (1, 0))
return [t] * 21_000
""",
    "cannot be read",
)
in_call(
    "returns an object of a class without a name",
    "return type('', (), {})()",
    "a class without a name",
)
in_call("returns little as much", "return torch.zeros(1).expand(1 << 50)", "too large")
in_call("returns 2**40 empty rows", "return torch.zeros(1 << 40, 0)", "too large")
in_call("returns a number of 5,000 digits", "return 10**5000", "too large")
in_call(
    "returns a list in lists, 10,000 deep",
    "a = []\nfor _ in range(10_000): a = [a]\nreturn a",
    "cannot be looked at: RecursionError",
)
in_call(
    "returns a list that holds itself",
    "a = []; a.append(a); return a",
    "cannot be looked at: RecursionError",
)
in_call(
    "returns dictionaries in dictionaries",
    "a = {}\nfor _ in range(200): a = {1: a}\nreturn a",
    "cannot be read",
)
in_call(
    "raises what has 10 MB to say",
    """
class Loud(Exception):
    __str__ = lambda self: "x" * 10**7
raise Loud
""",
    "Loud: xxx",
)

# --- strange tensors ------------------------------------------------------------------------

for name, code in {
    "nan": "torch.full(ids.shape + weight.shape[1:], float('nan'))",
    "infinity": "torch.full(ids.shape + weight.shape[1:], float('inf'))",
    "huge": "torch.full(ids.shape + weight.shape[1:], 3e38)",
    "sparse": "weight.to_sparse()",
    "quantised": "torch.quantize_per_tensor(weight.float(), 0.1, 0, torch.qint8)",
    "meta": "torch.empty(ids.shape + weight.shape[1:], device='meta')",
    "complex": "weight.to(torch.complex64).conj()",
    "float8": "weight.to(torch.float8_e4m3fn)",
    "nested": "torch.nested.nested_tensor([weight, weight[:1]])",
    "strided": "torch.as_strided(weight, (2, 3), (0, 0))",
    "parameter": "torch.nn.Parameter(torch.zeros(2, 3))",
}.items():
    in_call(
        f"{name} tensor",
        f"return {code}",
        r"finite|values|shape|dtype|device|belongs|raised|entries|rows|layout|every|looked at",
    )

# --- messages -------------------------------------------------------------------------------

in_call(
    "raises a message that is a web page, with control characters",
    r"""raise ValueError("<script>alert(1)</script>\x1b[2J\x07\u202e\ud800\0 14/14")""",
    "<script>alert",
)
in_call(
    "raises what cannot be shown",
    "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})",
    "its message cannot be shown",
)
attack("fails with a web page", r"raise ValueError('<b>\x1b[2J</b>')", "<b>")
attack(
    "raises classes with the names of the judge's own",
    "class Wrong(Exception): pass\nclass StudentError(Exception): pass\n"
    "class ToDo(Exception): pass\n\n"
    "def lookup(weight, ids):\n    raise type('NotRun', (Wrong, StudentError, ToDo), {})('passed')",
    "lookup raised NotRun: passed",
)
in_call("claims to be to do", "raise NotImplementedError('TODO x' * 9999)", "raised")

# --- callbacks and settings that stay -------------------------------------------------------

attack(
    "leaves callbacks everywhere: finalizers, tracing, the garbage collector, import hooks",
    """
import gc, sys, weakref

class Bomb:
    def __del__(self):
        raise SystemExit(0)

def boom(*arguments):
    raise SystemExit(0)

bombs = [Bomb() for _ in range(100)]
for bomb in bombs:
    weakref.finalize(bomb, boom)
gc.callbacks.append(boom)
sys.excepthook = sys.unraisablehook = sys.displayhook = boom
sys.meta_path.insert(0, type("Finder", (), {"find_spec": boom}))
sys.setrecursionlimit(10**9)
sys.settrace(boom)
sys.setprofile(boom)
del bombs, bomb
""",
    "calls sys.exit|left its process|cannot be imported|still to do",
)
in_call(
    "recurses without end",
    "import sys; sys.setrecursionlimit(10**9)\nreturn lookup(weight, ids)",
    f"crashed: Segmentation fault|RecursionError|memory|{END}",
)
attack(
    "replaces sys.stdout by something that breaks",
    "import sys\nsys.stdout.close()\nsys.stdout = None",
    "left its process|cannot be|still to do",
)
attack(
    "changes the defaults of torch",
    "torch.set_default_dtype(torch.float64)\ntorch.manual_seed(0)\ntorch.use_deterministic_algorithms(True)",
    "still to do",
)

# --- sources that are no good ---------------------------------------------------------------

module("holds bytes that are no UTF-8", b"x = '\xff\xfe\xfa'", "not saved as UTF-8")
module("holds null bytes", STUB.encode() + b"\0", "a null character, line")
module("is a binary file", bytes(range(256)) * 100, "not saved as UTF-8")
module("names an unknown encoding", b"# coding: passed\n1", "unknown encoding")
module("is written in UTF-7", "# coding: utf-7\n1/0".encode("utf-7"), "Zero|not valid")
module("is empty", b"", "is empty; was it saved")
module("nests 500,000 parentheses", b"(" * 500_000, "too many nested|Memory")
module("nests 500,000 signs", b"x = " + b"-" * 500_000 + b"1", "cannot|not valid")
module("nests 50,000 calls", b"x = f" + b"()" * 50_000, "cannot|not valid")
module("adds 100,000 numbers", b"x = " + b"1+" * 100_000 + b"1", "cannot|not valid")
BLOCKS = "".join(" " * depth + "if 1:\n" for depth in range(101))
module("nests 101 blocks", BLOCKS.encode(), "not valid")
module("has 20,000 statements", b"1;" * 20_000, "has no lookup")
module("has one name of a million letters", b"x" * 10**6, "NameError")
module("has 2,000 functions", b"def f(): f\n" * 2_000, "has no lookup")

# --- honest after all -----------------------------------------------------------------------

WARNS = """
import sys, warnings

def warn():
    warnings.warn("mind")
    sys.stderr.write("mind")

"""
HONEST = SOLUTION.replace("    check_ids(ids,", "    warn()\n    check_ids(ids,", 1)
module("is right, and warns", f"{WARNS}{HONEST}warn()\n".encode(), "^$", points=14)
module("is right, after a byte order mark", SOLUTION.encode("utf-8-sig"), "^$", points=14)
module("is right", SOLUTION.replace("\n", "\r\n").encode(), "^$", points=14)
