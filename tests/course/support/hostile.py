"""Attacks on the judge, as data: what a hostile lookup.py might try to earn points, or to do harm.

Each is a stub that earns nothing, with a few lines of Python after it. What they write somewhere
has MARK in its name. `test_hostile.py` grades them all.

A table has a line `== name => pattern` for each attack, then its code. What the instructor reads
has to match the pattern.
"""

import re
from collections.abc import Callable
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


def table(add: Callable[[str, str, str], None], text: str) -> None:
    """Add each attack of a table."""
    parts = re.split(r"^== (.+) => (.+)\n", text, flags=re.MULTILINE)[1:]
    for name, tells, code in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        add(name, code.strip("\n"), tells)


# --- ending early, as if all were well ------------------------------------------------------

in_call("leaves with status 0", "import sys; sys.exit(0)", r"called sys\.exit\(0\)")
in_call("leaves at once", "import os; os._exit(0)", r"called os\._exit\(0\)")
in_call("leaves in C", "import ctypes; ctypes.CDLL(None)._exit(0)", "status 0")
in_call("crashes", "import ctypes; ctypes.string_at(0)", "crashed: Segmentation fault")
in_call("skips its test", "import pytest; pytest.skip('done')", "raised Skipped: done")
in_call("interrupts the run", "raise KeyboardInterrupt", "left its process")
attack("leaves at import", "import os; os._exit(0)", r"called os\._exit\(0\)")
attack("leaves in C at import", "import posix; posix._exit(0)", "left its process")

# --- forged results -------------------------------------------------------------------------

in_call("returns a generator", "return (row for row in weight)", "a generator came")
in_call("returns a module", "return torch.nn.Identity()", "came back|itself failed")
FORGED_IN_CALLS = r"""
== writes a report of passed tests to every output => nothing \(None, as without a return\) came
import os, sys
for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
    stream.write("14 passed in 0.1 s, 14/14 points")
for number in (0, 1, 2):
    os.write(number, b"14 passed in 0.1 s")

== writes results and settings where a grader or pytest would look for them => PermissionError
import os
names = ["results.json", "conftest.py", "pytest.ini", "sitecustomize.py", "torch.py"]
for folder in [".", "/tmp", "/dev/shm", "/var/tmp", "{ROOT}", "{ROOT}/exercises"]:
    for name in names:
        try:
            open(os.path.join(folder, "{MARK} " + name), "w").write("passed")
        except OSError as error:
            last = error
raise last

== makes 7 another number, in memory => not the|should be|is not|left its process|crashed
import ctypes
ctypes.memmove(id(7) + 24, id(0) + 24, 4)
return weight * 7

== returns an object that is equal to everything => a Yes came back where a tensor belongs
class Yes:
    shape = dtype = device = layout = property(lambda self: self)
    __eq__ = lambda *a: True
    __ne__ = __lt__ = lambda *a: False
    __getattr__ = __call__ = __sub__ = __rsub__ = lambda self, *a, **k: self
    __bool__ = lambda self: True
return Yes()

== returns a tensor that answers every question of torch itself => values|entries|every
class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return True
return torch.zeros(ids.shape + weight.shape[1:]).as_subclass(Agrees)

== walks up the stack and changes what it finds there => left|crash|shape|values|back|raised
import ctypes, sys
frame = sys._getframe()
while frame:
    for name in list(frame.f_locals):
        frame.f_locals[name] = None
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 1)
    frame = frame.f_back
return weight
"""
FORGED_AT_IMPORT = r"""
== claims success when the process ends => called sys\.exit
import atexit, os
atexit.register(lambda: os._exit(0))

def lookup(weight, ids):
    print('132 passed')
    raise SystemExit

== puts its own modules in the place of torch, pytest and the course => looked at|left its|to do
import sys, types
for name in ('torch', 'torch.testing', 'pytest', 'course.testing.expect', 'course.grading'):
    sys.modules[name] = types.ModuleType(name)

== makes everything equal in torch and in Python => cannot be imported: the code
import torch.testing
for name in ('equal', 'allclose', 'isclose'):
    setattr(torch, name, lambda *a, **k: True)
torch.testing.assert_close = lambda *a, **k: None
torch.Tensor.__eq__ = lambda *a: torch.tensor(True)
import builtins
builtins.isinstance = lambda *a: True
builtins.abs = lambda x: 0

== returns a number that is equal to everything => an int came back where a tensor belongs
class Seven(int):
    __eq__ = lambda *a: True
    __hash__ = int.__hash__

lookup = one_hot_bytes = lambda *a, **k: Seven(7)

== finds what calls it and makes that answer for it => shape
import gc, importlib
executor = importlib.import_module('course.testing.executor')
executor.Executor.call = lambda self, target, args, kwargs, **o: (args[0][:1], {})
executor.Executor.inspect = lambda self, ref, what: {}
for found in gc.get_objects():
    if type(found).__name__ == '_Session':
        found.fresh = lambda: None
"""
table(in_call, FORGED_IN_CALLS.replace("{ROOT}", str(ROOT)).replace("{MARK}", MARK))
table(attack, FORGED_AT_IMPORT)

# --- the connection to the judge ------------------------------------------------------------

CONNECTION = """
import os, posix, sys
dumps = sys.modules["course.grading.sandbox.wire"].dumps

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
}
for kind, answer in FORGED.items():
    attack(
        f"forged at import: {kind}",
        f"{CONNECTION}os.write(connection, dumps({answer}))",
        "was not loaded; its process says|cannot be|still to do|should|came back|itself failed",
    )
CONNECTED = r"""
== sends a hundred answers before it is asked => cannot be read
os.write(connection, 100 * dumps(['result', (torch.zeros(2, 3), {})]))

== sends each answer twice, the first one forged => values|shape|should be|cannot be read
def lookup(weight, ids):
    os.write(connection, dumps(['result', (weight, {})]))
    return weight

== hangs up and computes on => did not finish
def lookup(weight, ids):
    os.close(connection)
    while True: pass

== announces a large answer and never stops to send it => did not come to an end|processor time
def lookup(weight, ids):
    os.write(connection, (2**20).to_bytes(4) + (2**26).to_bytes(4))
    while True:
        os.write(connection, b' ')
"""
table(lambda name, code, tells: attack(name, f"{CONNECTION}\n{code}", tells), CONNECTED)

# --- looking for the answers ----------------------------------------------------------------

CLOSED = "PermissionError|FileNotFoundError"
"""What tells of a file that a worker may not read: in namespaces there is none."""
MODULES = "takes its answers from solutions/|has answers that are not yours"


def reading(name: str, path: object, tells: str = CLOSED) -> None:
    """Add an attack that tells what it has read."""
    code = f"raise ValueError(open({str(path)!r}, 'rb').read())"
    in_call(f"reads {name}", code, tells)


reading("the solutions", ROOT / "solutions" / "lookup.py", MODULES)
reading("the tests", ROOT / "tests" / "test_lookup.py")
reading("the catalogue", ROOT / "course" / "lessons" / "lookup" / "mistakes.txt")
reading("its own file", ROOT / "exercises" / "lookup.py")
reading("the users", "/etc/passwd")
attack("imports the solutions in the plain way", "from solutions.lookup import lookup", MODULES)
in_call("lists all processes", "import os; raise ValueError(os.listdir('/proc'))", CLOSED)
SEARCHES = r"""
== reads the environment and the memory of its parent => PermissionError|FileNotFoundError
import os
for name in ("environ", "mem", "maps", "cmdline", "fd/0"):
    try:
        raise SystemError(open(f"/proc/{os.getppid()}/{name}", "rb").read(100))
    except OSError as error:
        last = error
raise last

== tells its environment => ValueError: {'HOME': '/'
import os; raise ValueError(dict(os.environ))

== imports the solutions by a name that is put together => No module named 'sol|PermissionError
import importlib; return importlib.import_module('sol' 'utions.lookup').lookup(weight, ids)

== imports the right answers that the catalogue of mistakes has => No module named|PermissionError
import importlib; importlib.import_module('course.lessons.lookup.styles')

== looks for a right `lookup` in everything that is loaded => nowhere to be found
import sys
for one in list(sys.modules.values()):
    found = getattr(one, "__dict__", {}).get("lookup_backward")
    if found and one.__name__ != __name__:
        return weight
raise LookupError("nowhere to be found")
"""
table(in_call, SEARCHES)
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
in_call("runs a shell", "import os; os.system('sleep 600 &'); return 7", "run programs")
in_call("kills everybody", "import os; os.kill(-1, 9)", "PermissionError")
in_call("starts a thread", "import threading; threading.Timer(9, int).start()", "thread")
in_call("fills the disk", f"open('/tmp/{MARK}', 'wb').write(bytes(10**9))", "PermissionError")
in_call("fills /dev/shm", f"open('/dev/shm/{MARK}', 'w').write('x' * 10**9)", "PermissionError")
in_call("opens a connection", "import socket; socket.socket()", "PermissionError")
OUTSIDE = r"""
== attaches a debugger to its parent => no ptrace
import ctypes, os
if ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) < 0:
    raise PermissionError('no ptrace')
"""
table(in_call, OUTSIDE)

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
in_call("computes for ever, deaf", f"{IGNORE_ALL}\nwhile True: pass", END)
in_call("sleeps", "import time; time.sleep(600)", END)
ENDLESS = r"""
== raises what never comes to its message => {END}
class Slow(Exception):
    def __str__(self):
        while True: pass
raise Slow

== recurses without end => crashed: Segmentation fault|RecursionError|memory|{END}
import sys; sys.setrecursionlimit(10**9)
return lookup(weight, ids)
"""
table(in_call, ENDLESS.replace("{END}", END))

# --- size -----------------------------------------------------------------------------------

in_call("asks for 100 GB", "torch.empty(25 * 10**9)", "can't allocate memory")
in_call("asks for ever more", "a = [0]\nwhile True: a += a", f"MemoryError|memory|{END}")
in_call("prints 100 MB", "print('x' * 10**8)", "nothing|printed|prints")
in_call("returns 10 MB", "return 'x' * 10**7", "too large to be looked at")
in_call("returns little as much", "return torch.zeros(1).expand(1 << 50)", "too large")
in_call("returns a number of 5,000 digits", "return 10**5000", "too large")
in_call("returns what has no name", "return type('', (), {})()", "came back where a tensor belongs")
LARGE = r"""
== returns 21,000 tensors of 4 million numbers each, in 64 bytes => cannot be read
t = torch.zeros(2, dtype=torch.complex128).as_strided((2, 2**21), (1, 0))
return [t] * 21_000

== returns a list in lists, 10,000 deep => cannot be looked at: RecursionError
a = []
for _ in range(10_000): a = [a]
return a

== returns dictionaries in dictionaries => cannot be read
a = {}
for _ in range(200): a = {1: a}
return a

== raises what has 10 MB to say => Loud: xxx
class Loud(Exception):
    __str__ = lambda self: "x" * 10**7
raise Loud
"""
table(in_call, LARGE)

# --- strange tensors ------------------------------------------------------------------------

for name, code in {
    "nan": "torch.full(ids.shape + weight.shape[1:], float('nan'))",
    "sparse": "weight.to_sparse()",
    "quantised": "torch.quantize_per_tensor(weight.float(), 0.1, 0, torch.qint8)",
    "meta": "torch.empty(ids.shape + weight.shape[1:], device='meta')",
    "complex": "weight.to(torch.complex64).conj()",
    "nested": "torch.nested.nested_tensor([weight, weight[:1]])",
    "parameter": "torch.nn.Parameter(torch.zeros(2, 3))",
}.items():
    in_call(
        f"{name} tensor",
        f"return {code}",
        r"finite|values|shape|dtype|device|belongs|raised|entries|rows|layout|every|looked at",
    )

# --- messages, callbacks and settings that stay ---------------------------------------------

attack("fails with a web page", r"raise ValueError('<b>\x1b[2J</b>')", "<b>")
in_call("claims to be to do", "raise NotImplementedError('TODO x' * 9999)", "raised")
MESSAGES = r"""
== raises a message that is a web page, with control characters => <script>alert
raise ValueError("<script>alert(1)</script>\x1b[2J\x07\u202e\ud800\0 14/14")

== raises what cannot be shown => its message cannot be shown
raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})

== raises classes with the names of the judge's own => lookup raised NotRun: passed
names = ("Wrong", "StudentError", "ToDo")
raise type('NotRun', tuple(type(name, (Exception,), {}) for name in names), {})('passed')
"""
LEFT_BEHIND = r"""
== leaves callbacks everywhere => calls sys.exit|left its process|cannot be imported|still to do
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

== replaces sys.stdout by something that breaks => left its process|cannot be|still to do
import sys
sys.stdout.close()
sys.stdout = None

== changes the defaults of torch => still to do
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
"""
table(in_call, MESSAGES)
table(attack, LEFT_BEHIND)

# --- sources that are no good ---------------------------------------------------------------

module("holds bytes that are no UTF-8", b"x = '\xff\xfe\xfa'", "not saved as UTF-8")
module("holds null bytes", STUB.encode() + b"\0", "a null character, line")
module("names an unknown encoding", b"# coding: passed\n1", "unknown encoding")
module("is written in UTF-7", "# coding: utf-7\n1/0".encode("utf-7"), "Zero|not valid")
module("is empty", b"", "is empty; was it saved")
module("nests 500,000 parentheses", b"(" * 500_000, "too many nested|Memory")
module("adds 100,000 numbers", b"x = " + b"1+" * 100_000 + b"1", "cannot|not valid")
BLOCKS = "".join(" " * depth + "if 1:\n" for depth in range(101))
module("nests 101 blocks", BLOCKS.encode(), "not valid")
module("has 20,000 statements", b"1;" * 20_000, "has no lookup")
module("has one name of a million letters", b"x" * 10**6, "NameError")

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
