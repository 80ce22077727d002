"""Only what can leave nothing behind in a worker, by its text, may share one."""

import collections
import importlib
import inspect
import types

import pytest

from course.build import stub_of
from course.grading import sharing
from course.grading.sharing import keeps_to_itself
from course.syllabus import lessons
from course.testing.catalogue import alternatives


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_the_reference_and_the_stub_keep_to_themselves(lesson):
    assert keeps_to_itself(lesson.module("solutions").read_bytes())
    assert keeps_to_itself(stub_of(lesson.stem))


def test_nearly_all_right_answers_in_other_styles_do(solution_texts):
    shares = collections.Counter()
    for lesson in lessons():
        for one in alternatives(lesson.stem):
            text = f"import numpy as np\n{solution_texts[lesson.stem]}\n{source_of(one)}"
            shares[keeps_to_itself(text.encode())] += 1
    assert shares[True] > 8 * shares[False], shares


def source_of(alternative) -> str:
    lines = inspect.getsource(alternative.variant).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith(("def ", "class ")))
    return "\n".join(lines[first:])


@pytest.fixture(scope="module")
def solution_texts():
    return {one.stem: one.module("solutions").read_text(encoding="utf-8") for one in lessons()}


HARMLESS = """
import math
import torch
import torch.nn.functional as F
from collections.abc import Callable
from torch import Tensor, nn


class Base(nn.Module):
    \"\"\"Own.\"\"\"

    size: int = 3

    def __init__(self, n: int, out: Tensor | None = None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n))
        self._kept = {}

    def forward(self, x: Tensor) -> "Base":
        self._kept["x"] = x
        return F.softmax(x @ self.weight, dim=-1)


class Derived(Base):
    def forward(self, x):
        return super().forward(x)


def use(base: Base, function: Callable = math.sqrt) -> list[Base]:
    return [Derived(3), base]


Other = Derived
Other(2)
if __name__ == "__main__":
    print(use(Base(1)))
"""


def test_plain_code_keeps_to_itself():
    assert keeps_to_itself(HARMLESS.encode())


CLASS = "import torch\nclass A:\n    def forward(self):\n        return self.sys\n"
"""Its method, called as a function, would give the module `sys` for `torch`."""

REACHES = [
    *("import sys", "import os.path", "import importlib", "from torch import sys", "import gc"),
    *("from torch import *", "from . import lookup", "from course.grading import worker"),
    *("import torch\ntorch.sys.modules", "import torch\ntorch.softmax = None"),
    *("import torch\ndel torch.softmax", "import torch\ntorch.x: int = 1"),
    *("import torch\ntorch.x += 1", "import torch\nfor torch.softmax in [1]: pass"),
    *("import torch\nwith open() as torch.x: pass", "import torch\n(torch.x, y) = 1, 2"),
    *("import torch\n[0 for torch.x in [1]]", "import torch\nF = torch.nn.functional.__dict__"),
    *("import torch as self\nself.softmax", "from torch import nn as self", "self = 1"),
    *("(self := 1)", "for self in []: pass", "def self(): pass", "class self: pass"),
    *(
        "def f(self): self.x = 1",
        "def f(*self): pass",
        "f = lambda self: self",
        "def f(*, self): 1",
    ),
    *("try: pass\nexcept ValueError as self: self.x", "with f() as self: pass"),
    *("getattr(f, 'x')", "setattr(f, 'x', 1)", "eval('1')", "exec('1')", "vars(f)", "globals()"),
    *("__import__('sys')", "__builtins__", "type(f)", "open('x')", "compile('1', '', 'eval')"),
    *("f.__globals__", "f.__class__", "[].__class__.__base__", "(x for x in []).gi_frame"),
    *("try: 1 / 0\nexcept Exception as e: e.__traceback__", "f'{f.__globals__}'"),
    *("import torch\nmatch torch:\n    case object(sys=s): pass", "async def f(): pass"),
    *("import operator\noperator.attrgetter('x')", "import torch\ntorch.set_default_dtype(1)"),
    *("import torch\ntorch.set_grad_enabled(False)", "import torch\ntorch.nn.Module.__init__ = 1"),
    *("import torch\ntorch.nn.modules.module.register_module_forward_hook(print)",),
    *(
        "import functools\nfunctools.update_wrapper(f, g)",
        "import torch\ntorch.library.define('x')",
    ),
    *(
        f"{CLASS}A.forward(torch)",
        f"{CLASS}f = A\nf.forward(torch)",
        f"{CLASS}[A][0].forward(torch)",
    ),
    *(
        f"{CLASS}def f(x=A): x.forward(torch)",
        f"{CLASS}def f(): return A",
        f"{CLASS}max([1], key=A)",
    ),
    *(f"{CLASS}class B:\n    def __init__(self): self.kind = self.other = A",),
    *(f"{CLASS}class B:\n    def __init__(self):\n        self.kind = A\n",),
    *(
        f"{CLASS}kept = [0]\nkept[0] = A",
        f"{CLASS}x: [A][0].forward(torch) = 1",
        f"{CLASS}(f := A)",
    ),
    *(f"{CLASS}@print\nclass B(A): pass", f"{CLASS}class B(A, metaclass=print): pass"),
    *(f"{CLASS}    forward(torch)\n", f"{CLASS}    x = forward(torch)\n"),
    *(f"{CLASS}    def g(self, x=forward(torch)): pass\n",),
    *(f"{CLASS}    def g(self, x: forward(torch)): pass\n",),
    *(f"{CLASS}    def g(self) -> forward(torch): pass\n",),
    *(
        f"{CLASS}    @print\n    def g(self): pass\n",
        f"{CLASS}    @staticmethod\n    def g(self): 1",
    ),
    *(f"{CLASS}    if True:\n        def g(self): pass\n", f"{CLASS}    y: int = forward(torch)\n"),
    *(f"{CLASS}    def __del__(self): pass\n", f"{CLASS}    def g(x, self): pass\n"),
    *(f"{CLASS}    def g(self): self.x = 1\n", f"{CLASS}    def g(self): del self.x\n"),
    *(f"{CLASS}    def __init__(self): self.__class__ = 1\n", f"{CLASS}super(A, torch).forward()"),
    *(f"{CLASS}    def __init__(this): this.x = 1\n", f"{CLASS}    def g(self): self.__dict__\n"),
    *(f"{CLASS}isinstance(1, A)", f"{CLASS}import numpy\nnumpy.vectorize(A)"),
    *("", "def (", "x = '\0'", "#" * 2**18),
]


@pytest.mark.parametrize("text", REACHES, ids=range(len(REACHES)))
def test_whatever_may_reach_further_does_not(text):
    assert not keeps_to_itself(text.encode())


SAFE_MODULES = {"abc", "cpu", "functional", "grad", "init", "linalg", "nn", "optim", "special"}


def test_no_word_leads_to_what_others_use():
    """From the modules that may be imported, over modules and classes, wherever words lead."""
    seen: dict[int, object] = {}
    to_see = [(name, importlib.import_module(name)) for name in sorted(sharing.MODULES)]
    while to_see:
        path, value = to_see.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        for word in sharing.WORDS:
            part = inspect.getattr_static(value, word, None)
            assert not isinstance(part, dict | list | set | collections.deque), f"{path}.{word}"
            if isinstance(part, types.ModuleType):
                assert word in SAFE_MODULES, f"{path}.{word}"
            if isinstance(part, types.ModuleType | type):
                to_see.append((f"{path}.{word}", part))
    assert len(seen) > 50
