"""What stands outside of functions and classes costs nothing, at home and in class."""

import os
import threading

import pytest
from classes import needs_sandbox

from course.core.syllabus import find_lesson
from course.grading.judge.judge import Judge
from course.grading.judge.unit import Unit
from course.grading.sandbox import remote
from course.testing.case import collect
from course.testing.run import open_module, run

LOOKUP = find_lesson("lookup")
CASES = collect([LOOKUP.tests])
SOLUTION = LOOKUP.module("solutions").read_text(encoding="utf-8")

COSTS_NOTHING = {
    "an experiment": ("print(lookup(3))", "TypeError"),
    "a question": ("name = input('Who are you? ')", "asks for input"),
    "an exit": ("import sys\nsys.exit()", "calls sys.exit"),
    "a hard exit": ("import os\nos._exit(3)", "called os._exit(3)"),
    "a notebook's command": ("get_ipython().run_line_magic('load_ext', 'x')", "notebook's command"),
    "a folder": ("import os\nos.makedirs('out')", "change files"),
    "a log": ("import logging\nlogging.FileHandler('x.log')", "change files"),
    "an array": ("import numpy as np\nnp.save('x.npy', np.ones(2))", "change files"),
    "a file of one's own": ("words = open('README.md').read()", "cannot open README.md"),
    "tensors": ("torch.save(torch.ones(2), 'x.pt')", "change files"),
    "a thread": ("import threading\nthreading.Thread(target=print).start()", "start threads"),
    "a program": ("import subprocess\nsubprocess.run(['ls'])", "run programs"),
    "a missing name": ("from torch import nonsense", "imports nonsense from torch"),
    "a helper that fails": ("def helper(x=unknown): ...", "NameError"),
    "a class that fails": ("class Odd(unknown.Module): ...", "NameError"),
}


def loaded_at_home(text, folder):
    (folder / "exercises").mkdir(exist_ok=True)
    path = folder / "exercises" / "lookup.py"
    path.write_text(text, encoding="utf-8")
    return run(open_module(path, 0), CASES)


@pytest.mark.parametrize(("code", "why"), COSTS_NOTHING.values(), ids=COSTS_NOTHING)
def test_what_fails_outside_of_definitions_costs_nothing(code, why, tmp_path):
    result = loaded_at_home(f"{SOLUTION}\n{code}\n", tmp_path)
    assert (result.trouble, result.points) == ("", LOOKUP.points)
    assert why in result.remark and "only what it defines was loaded" in result.remark
    assert "lookup.py:" in result.remark or "exit" in code
    assert not {"out", "x.log", "x.npy"} & {path.name for path in tmp_path.rglob("*")}


CHOSEN = """
if torch.cuda.is_available():
    device = "cuda"
    print("a GPU")
else:
    device = "cpu"
    print("no GPU")
try:
    import nowhere
except ImportError:
    assert device
    nowhere = None
"""


def test_what_an_if_or_try_defines_is_there_though_it_prints(tmp_path):
    text = SOLUTION.replace("zeros(vocab_size, n_embd)", "zeros(vocab_size, n_embd, device=device)")
    text = text.replace("return batch_size", "assert nowhere is None\n    return batch_size")
    result = loaded_at_home(f"{text}\n{CHOSEN}\nplt.show()\n", tmp_path)
    assert "name 'plt' is not defined" in result.remark
    assert result.points == LOOKUP.points


@pytest.mark.slow
@needs_sandbox
def test_nor_does_it_in_class(monkeypatch):
    """An end in C and a load without end are noticed there alone."""
    as_at_home = ("an experiment", "a hard exit", "a folder", "a file of one's own", "a thread")
    in_class = {what: COSTS_NOTHING[what] for what in as_at_home} | {
        "a crash": ("import ctypes\nctypes.string_at(0)", "cannot be imported: the code crashed"),
        "no end": ("while True: pass", "did not finish importing"),
        "a constant without end": ("x = sum(iter(int, 1))", "did not finish importing"),
    }
    monkeypatch.setattr(remote, "SECONDS_TO_LOAD", 5)
    with Judge() as judge:
        for what, (code, why) in in_class.items():
            unit = Unit("ann", "lookup", f"{SOLUTION}\n{code}\n".encode())
            result = judge.grade(unit)
            assert (result.trouble, result.points) == ("", LOOKUP.points), what
            assert why in result.remark, what


def test_a_definition_that_fails_costs_its_exercise_alone_and_all_that_fail_are_told_once(tmp_path):
    start = SOLUTION.index("class TokenEmbedding")
    text = SOLUTION[:start] + SOLUTION[start:].replace("(nn.Module)", "(nn.Modul)", 1)
    result = loaded_at_home(text, tmp_path)
    wrong = [one for one in result.exercises if one.points == 0]
    assert [one.name for one in wrong] == ["TokenEmbedding"]
    assert "has no attribute 'Modul'" in wrong[0].first_wrong.message
    result = loaded_at_home("def lookup(weight: torch.Tensor): ...\n", tmp_path)
    assert "name 'torch' is not defined" in result.trouble
    assert (result.points, result.remark) == (0, "")


TRACED = "torch.jit.trace(torch.nn.Linear(1, 1), torch.ones(1))"
REFUSED = [
    "open('x', 'w')",
    "os.mkdir('x')",
    "os.mkfifo('x')",
    "torch.serialization.save(1, 'x')",
    f"torch.jit.save({TRACED}, 'x')",
    f"{TRACED}.save('x')",
    "torch._C.PyTorchFileWriter('x')",
    "torch.from_file('x', shared=True, size=1)",
    "torch.UntypedStorage.from_file('x', True, 1)",
    "torch.FloatStorage.from_file('x', True, 1)",
    "_thread.start_new_thread(print, ())",
    "threading.Thread(target=print).start()",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inside", REFUSED)
def test_what_is_refused_in_class_is_refused_at_home(inside, tmp_path, monkeypatch):
    if inside.startswith("os.") and not hasattr(os, inside[3:].partition("(")[0]):
        pytest.skip("this system has no such call")
    monkeypatch.chdir(tmp_path)
    text = f"import _thread, os, threading\n{SOLUTION}\nright = lookup\ndef lookup(*_):\n"
    text += f"    {inside}\n    return right(*_)\n"
    wrong = loaded_at_home(text, tmp_path).exercises[0].first_wrong
    assert not (tmp_path / "x").exists()
    assert "code may not change files" in wrong.message


def test_nobody_else_is_refused_anything(tmp_path):
    """Also while student code runs: a notebook's other threads write what they like."""
    path = tmp_path / "by another"
    text = f"{SOLUTION}\nimport time\ntime.sleep(0.3)\n"
    other = threading.Timer(0.1, path.write_text, ["written"])
    other.start()
    assert loaded_at_home(text, tmp_path).remark == ""
    other.join()
    assert path.read_text() == "written"
