"""The inside of a worker: an executor for one student module, driven by messages.

Whatever a student's code does here, all that it can change is the answers on one connection.
"""

import linecache
import socket
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course.core.memory import ran_out_of_memory
from course.grading.sandbox.wire import ConnectionClosed, WireError, dumps, loads, receive, send
from course.testing.executor import Executor
from course.testing.fair_play import REFUSED
from course.testing.imports import compiled, names_defined_by
from course.testing.loading import LEFT_OUT, run_module
from course.testing.outcomes import StudentError, ToDo, Wrong

MAX_MESSAGE = 4000


def serve(connection: socket.socket) -> None:
    """Answer requests until the judge hangs up.

    A request is a list of steps, each [verb, arguments] with or without a dictionary of named
    arguments; the first is to "load".
    The answer is that of the last step, or of the first that goes wrong: "result", "to do",
    "wrong" or "student", then what there is to say.
    """
    actor = _Session()
    while True:
        try:
            steps = loads(*receive(connection))
        except ConnectionClosed:
            return
        for step in steps:
            answer = _answer(actor, *step)
            if answer[0] != "result":
                break
        try:
            send(connection, dumps(answer))
        except WireError:
            send(connection, dumps(["wrong", "what came back is too large to be looked at"]))


class _Session:
    """An executor, and the verbs that it has in a worker alone."""

    def __init__(self) -> None:
        self.executor: Executor | None = None

    def load(self, source: bytes, name: str, sources: dict[str, str], less: int) -> str:
        """Run the text of a module, whose lines error messages can then show.

        Args:
            sources: right code for what it may import from earlier lessons.

        Returns:
            Why only its definitions were loaded; nothing, if all of it was.
        """
        earlier = names_defined_by(sources)
        path = Path(name)
        text = source.decode("utf-8", errors="replace")
        linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
        module = run_module(source, path, earlier, less)
        self.executor = Executor(module)
        return module.__dict__[LEFT_OUT][:MAX_MESSAGE]

    def fresh(self) -> None:
        """Begin a test: nothing is lent, and no objects of an earlier one are left."""
        self.executor.take_back()
        self.executor = self.executor.fresh()

    def prop(self, source: str, name: str, args: list, kwargs: dict, number: int) -> Any:
        """Make a prop from its source."""
        names: dict[str, Any] = {"torch": torch, "nn": nn}
        exec(compiled(source), names)
        return self.executor.prop(names[name], args, kwargs, number)


def _answer(actor: _Session, verb: str, args: list, kwargs: dict | None = None) -> list:
    act = getattr(actor, verb, None) or getattr(actor.executor, verb)
    try:
        return ["result", act(*args, **(kwargs or {}))]
    except ToDo as error:
        return ["to do", error.name[:MAX_MESSAGE]]
    except Wrong as error:
        return ["wrong", _with_reason(str(error), error)[:MAX_MESSAGE]]
    except StudentError as error:
        message = _with_reason(error.message, error)
        shortened = [message[:MAX_MESSAGE], error.where[:MAX_MESSAGE]]
        return ["student", [[kind[:100] for kind in error.kinds[:20]], *shortened]]
    except Exception as error:  # of the executor's own, as it looked at what came back
        if ran_out_of_memory(error):
            raise
        return ["wrong", f"what came back cannot be looked at: {type(error).__name__}"]


def _with_reason(said: str, error: Exception) -> str:
    """Return what is said of an exception; if the sandbox caused it, with what that refuses."""
    if not isinstance(error.__cause__, PermissionError) or REFUSED in said:
        return said
    first, *others = said.split("\n")
    return "\n".join([f"{first}; {REFUSED}", *others])
