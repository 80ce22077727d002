"""A stage in a worker, as the graded tests see it: nothing looks different from here."""

import contextlib
import functools
import inspect
import socket
import textwrap
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from course.grading.nursery import Nursery
from course.grading.wire import Closed, Silence, WireError, loads, receive_message, send
from course.testing.clock import TimeIsUp
from course.testing.outcomes import Stopped, StudentError, ToDo, Wrong
from course.testing.stage import Ref

SECONDS_TO_LOAD = 30
MAX_BYTES = 256 * 2**20
"""Of all answers of a module together; the judge keeps them to find out what went wrong."""
MAX_TEXT = 5000
"""Of each text in an answer that is neither result nor argument."""


class RemoteModule:
    """A student's module in a worker; if the worker comes to an end, there will be another one.

    Args:
        source: the text of the module.
        name: what to call it in messages, "exercises/rope.py".
        seconds: how long it may keep the judge busy, from now on.
    """

    def __init__(self, nursery: Nursery, source: bytes, name: str, seconds: float) -> None:
        self._nursery = nursery
        self._source = source
        self._name = name
        self._end = time.monotonic() + seconds
        self._bytes_left = MAX_BYTES
        self._worker: tuple[int, socket.socket] | None = None
        self._steps: list[list] = []
        self._printed: list[str] = []

    def stage(self) -> "RemoteStage":
        """The stage for the next test."""
        self._steps.append(["fresh", (), {}])
        return RemoteStage(self)

    def load(self) -> None:
        """Run the module.

        Raises:
            Wrong: in a sentence, why that is not possible.
        """
        try:
            self.ask(time.monotonic() + SECONDS_TO_LOAD, "fresh")
        except TimeIsUp:
            raise Wrong(f"{self._name} came to no end while it was imported") from None
        except (Wrong, ToDo, StudentError) as error:
            said = str(error)  # of a forged answer it may be anything
            if not said.startswith(self._name):
                said = f"{self._name} cannot be imported: {said}"
            raise Wrong(said) from None

    def printed(self) -> str:
        """What the module printed since it was last asked."""
        text = "".join(self._printed)
        self._printed.clear()
        return text

    def later(self, verb: str, *args: Any) -> None:
        """Take a step before what is asked next."""
        self._steps.append([verb, args, {}])

    def ask(self, deadline: float, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Have a step taken; its result."""
        if time.monotonic() >= self._end:
            raise Stopped("there was no time left for this submission")
        if self._bytes_left <= 0:
            raise Stopped("the code gave larger answers than anybody needs")
        return self._ask(min(deadline, self._end), [verb, args, kwargs])

    def _ask(self, deadline: float, step: list) -> Any:
        if self._worker is None:
            self._worker = self._nursery.spawn()
            self._steps.insert(0, ["load", (self._source, self._name), {}])
        steps, self._steps = [*self._steps, step], []
        connection = self._worker[1]
        try:
            send(connection, steps, deadline)
            text, memory = receive_message(connection, deadline)
            self._bytes_left -= len(text) + len(memory)
            answer = _checked(loads(text, memory))
        except Silence:
            self.end()
            raise TimeIsUp from None
        except Closed:
            raise Stopped(f"the code {self.end()}") from None
        except WireError:
            self.end()
            raise Stopped("the code gave an answer that cannot be read") from None
        kind, said, printed = answer
        self._printed.append(printed)
        if kind == "student":
            raise StudentError(*said)
        if kind != "result":
            raise (ToDo if kind == "to do" else Wrong)(said)
        return said

    def end(self) -> str:
        """End the worker, and say what ended it."""
        if self._worker is None:
            return ""
        number, connection = self._worker
        self._worker, self._steps = None, []
        connection.close()
        return self._nursery.kill(number)


class RemoteStage:
    """Has all requests of a `Stage`."""

    def __init__(self, module: RemoteModule) -> None:
        self._module = module
        self._deadline = 0.0
        self._lent = False

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Raise `TimeIsUp` if the requests made in this block take longer."""
        self._deadline = time.monotonic() + seconds
        yield

    def seed(self, seed: int) -> None:
        self._module.later("seed", seed)

    def lend(self, source: str, names: tuple[str, ...]) -> None:
        self._lent = True
        self._module.later("lend", source, names)

    def take_back(self) -> None:
        if self._lent:
            self._module.later("take_back")
            self._lent = False

    def prop(self, thing: type | Callable, args: tuple, kwargs: dict) -> Ref:
        return self._ask("prop", _source_of(thing), thing.__name__, args, kwargs)

    def keep(self, value: torch.Tensor) -> Ref:
        return self._ask("keep", value)

    def change(self, ref: Ref, value: torch.Tensor) -> None:
        self._ask("change", ref, value)

    def call(self, target: str | Ref, args: tuple, kwargs: dict, **options: Any) -> tuple:
        said = {name: one for name, one in options.items() if one is not None and one is not False}
        answer = self._ask("call", target, args, kwargs, **said)
        if type(answer) is not tuple or len(answer) != 2 or type(answer[1]) is not dict:
            raise Wrong("the code gave an answer that cannot be read")
        return answer

    def inspect(self, ref: Ref) -> dict[str, Any]:
        return self._ask("inspect", ref)

    def set_parameters(self, ref: Ref, values: dict[str, torch.Tensor]) -> None:
        self._ask("set_parameters", ref, values)

    def attribute(self, ref: Ref, name: str) -> Any:
        return self._ask("attribute", ref, name)

    def random_number(self) -> float:
        return self._ask("random_number")

    def _ask(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        return self._module.ask(self._deadline, verb, *args, **kwargs)


@functools.cache
def _source_of(thing: type | Callable) -> str:
    return textwrap.dedent(inspect.getsource(thing))


def _checked(answer: Any) -> list:
    """An answer as it has to be, whoever wrote it."""
    if type(answer) is not list or len(answer) != 3:
        raise WireError("not an answer")
    kind, said, printed = _text(answer[0]), answer[1], _text(answer[2])
    if kind == "student" and type(said) is list and len(said) == 3 and type(said[0]) is list:
        kinds, message, where = said
        said = [tuple(map(_text, kinds)) or ("Exception",), _text(message), _text(where)]
    elif kind in ("to do", "wrong"):
        said = _text(said)
    elif kind != "result":
        raise WireError("not an answer")
    return [kind, said, printed]


def _text(value: Any) -> str:
    if type(value) is not str:
        raise WireError("not a text")
    return value[:MAX_TEXT]
