"""The door is narrow enough: the graded tests run unchanged on a module in another process.

Only what can be written down crosses here: plain values, numbers that stand for objects, and the
source text of props. The graded tests cannot tell the difference.
"""

import contextlib
import inspect
import io
import multiprocessing
import textwrap

import pytest

from course import ROOT
from course.build import stub_from
from course.syllabus import lessons
from course.testing import plugin
from course.testing.outcomes import StudentError, ToDo, Wrong
from course.testing.stage import Stage, load_module

pytestmark = pytest.mark.slow


def serve(connection) -> None:
    """The other process: a real stage, driven by messages."""
    stage = None
    with contextlib.suppress(EOFError):
        while True:
            verb, args, kwargs = connection.recv()
            try:
                if verb == "load":
                    stage = Stage(load_module(*args))
                    answer = None
                elif verb == "prop":
                    source, name, *rest = args
                    answer = stage.prop(run_source(source)[name], *rest)
                else:
                    answer = getattr(stage, verb)(*args, **kwargs)
                connection.send(("result", answer))
            except StudentError as error:
                connection.send(("student", (error.kinds, error.message, error.where)))
            except ToDo as error:
                connection.send(("to do", (error.name,)))
            except Wrong as error:
                connection.send(("wrong", (str(error),)))


def run_source(source: str) -> dict:
    names: dict = {}
    exec("import math\nimport torch\nfrom torch import nn\n", names)
    exec(source, names)
    return names


class RemoteStage:
    """Looks like a stage; every request goes to the other process and back."""

    def __init__(self, connection, path) -> None:
        self.connection = connection
        self._ask("load", path)

    def prop(self, thing, args, kwargs):
        source = textwrap.dedent(inspect.getsource(thing))
        return self._ask("prop", source, thing.__name__, args, kwargs)

    def __getattr__(self, verb):
        return lambda *args, **kwargs: self._ask(verb, *args, **kwargs)

    @contextlib.contextmanager
    def limited(self, seconds):
        yield  # `_ask` waits for a minute at most

    def _ask(self, verb, *args, **kwargs):
        self.connection.send((verb, args, kwargs))
        if not self.connection.poll(60):
            raise RuntimeError(f"the other process does not answer: {verb} {args}")
        kind, answer = self.connection.recv()
        errors = {"student": StudentError, "to do": ToDo, "wrong": Wrong}
        if kind in errors:
            raise errors[kind](*answer)
        return answer


class Unloaded:
    """A module that this process never loads."""

    def __init__(self, path) -> None:
        self.path = path


@pytest.fixture(scope="module")
def connection():
    """A line to a process that shares nothing with this one."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    yield ours
    process.kill()


@pytest.fixture
def run_remotely(monkeypatch, connection):
    monkeypatch.setattr(plugin, "Stage", lambda module: RemoteStage(connection, module.path))
    monkeypatch.setattr(plugin, "load_module", Unloaded)

    def run(lesson, folder) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            arguments = ["-q", "-p", "no:cacheprovider", "--modules", str(folder)]
            pytest.main([str(lesson.tests), *arguments])
        return printed.getvalue().splitlines()[-1]

    return run


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_the_solution_passes_in_another_process(run_remotely, lesson):
    last_line = run_remotely(lesson, ROOT / "solutions")
    assert "passed" in last_line
    assert "wrong" not in last_line
    assert "to do" not in last_line


@pytest.mark.parametrize("lesson", lessons(), ids=lambda lesson: lesson.stem)
def test_a_stub_is_to_do_in_another_process(run_remotely, lesson, tmp_path):
    solution = lesson.module("solutions").read_text(encoding="utf-8")
    stub = tmp_path / f"{lesson.stem}.py"
    stub.write_text(stub_from(solution, lesson.stem), encoding="utf-8")
    last_line = run_remotely(lesson, tmp_path)
    assert "to do" in last_line
    assert "passed" not in last_line
    assert "wrong" not in last_line
