"""An executor in a worker, as the graded tests see it: nothing looks different from here."""

import contextlib
import functools
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from course.core.syllabus import lessons
from course.grading.sandbox.deadline import Clock
from course.grading.sandbox.fork_server import ForkedWorker, ForkServer
from course.grading.sandbox.wire import (
    ConnectionClosed,
    ReceiveTimeout,
    WireError,
    dumps,
    loads,
    receive,
    send,
)
from course.testing.clock import TimeIsUp
from course.testing.executor import Ref
from course.testing.loading import DEFINITIONS, LEAST
from course.testing.outcomes import Stopped, StudentError, ToDo, Wrong
from course.testing.source import sources_of_earlier

SECONDS_TO_LOAD = 30
MAX_BYTES = 256 * 2**20
"""Of all answers of a module together; the judge keeps them to find out what went wrong."""
MAX_TEXT = 5000
"""Of each text in an answer that is neither result nor argument."""

TOO_LARGE = "the code gave larger answers than anybody needs"


class WorkerLost(Exception):
    """An end of a worker by the machine, which says nothing of the code in it."""


class Reported(Wrong):
    """A worker's report that something is wrong, in words that the code in it may have written."""


class RemoteModule:
    """A student's module in a worker; if the worker comes to an end, there will be another one.

    Args:
        source: the text of the module.
        name: what to call it in messages, "exercises/rope.py".

    Attributes:
        clock: by which deadlines are set; it leaves out what the machine kept it waiting.
        left_out: why only its definitions were loaded, in a sentence; empty if all of it was.
    """

    def __init__(self, fork_server: ForkServer, source: bytes, name: str) -> None:
        self.clock = Clock()
        self._fork_server = fork_server
        self._source = source
        self._name = name
        self.left_out = ""
        self._less = 0
        self._earlier = sources_of_earlier(Path(name).stem)
        self._end = math.inf
        self._bytes_left = MAX_BYTES
        self._worker: ForkedWorker | None = None
        self._lost = False

    def allow(self, seconds: float) -> None:
        """Let it keep the judge busy for so long, from now on."""
        self._end = self.clock.now() + seconds

    def load(self) -> None:
        """Run the module in a new worker; if it comes to no end there, what it defines alone.

        Raises:
            Wrong: in a sentence, why that is not possible.
            WorkerLost.
        """
        try:
            said = self._load()
            if said:
                self._less = DEFINITIONS
                first, _, where = said.partition("\n")
                line = re.search(r"\.py:([0-9]{1,6}): ", where)
                place = f"\nline {line[1]}" if line else ""
                self.left_out = f"{self._name}: {quoted(first)}{place}"
        except Wrong as wrong:
            self.left_out = self.left_out or f"{self._name} {wrong}"
            if self._less == LEAST:
                raise Wrong(self.left_out) from None
            if not isinstance(wrong, Stopped):
                raise
            self._less += 1
            self.load()

    def _load(self) -> str:
        self._worker = self._fork_server.spawn()
        self.clock.watch(self._worker[0])
        step = ["load", [self._source, self._name, self._earlier, self._less]]
        try:
            said = self.take([step], self.clock.now() + SECONDS_TO_LOAD)
        except TimeIsUp:
            raise Stopped("did not finish importing") from None
        except Stopped as error:
            raise Stopped(f"cannot be imported: {error}") from None
        except (Wrong, ToDo, StudentError) as error:
            self.end()
            said = str(error)
            what = "The file" if said.startswith(self._name) else self._name
            raise Wrong(f"{what} was not loaded; {quoted(said)}") from None
        if type(said) is not str:
            self.end()
            raise Stopped(_UNREADABLE)
        return said[:MAX_TEXT]

    def take(self, steps: list[list], deadline: float) -> Any:
        """Have steps taken, one after the other; return the result of the last one.

        Raises:
            Reported, StudentError, ToDo: a step failed.
            TimeIsUp, Stopped: the worker gave no answer that can be read.
            WorkerLost: the machine ended the worker.
        """
        request = dumps(steps)
        if self.clock.seconds_until(self._end) <= 0:
            raise Stopped(TOO_LONG)
        if self._bytes_left <= 0:
            raise Stopped(TOO_LARGE)
        if self._worker is None:
            self.load()
        connection = self._worker[1]
        until = min(deadline, self._end)
        seconds_left = functools.partial(self.clock.seconds_until, until)
        try:
            send(connection, request, seconds_left)
            text, memory = receive(connection, seconds_left)
            self._bytes_left -= len(text) + len(memory)
            kind, said = checked_answer(loads(text, memory))
        except ReceiveTimeout:
            self.end()
            raise (TimeIsUp() if until == deadline else Stopped(TOO_LONG)) from None
        except ConnectionClosed:
            why = self.end(has_hung_up=True)
            raise (WorkerLost(why) if self._lost else Stopped(f"the code {why}")) from None
        except WireError:
            self.end()
            raise Stopped(_UNREADABLE) from None
        if kind == "student":
            kinds, message, where = said
            raise StudentError(kinds, message, self._lines_in(where))
        if kind == "to do":
            if said not in _exercises():
                raise StudentError(("NotImplementedError",), said[:MAX_TEXT], "")
            raise ToDo(said)
        if kind != "result":
            raise Reported(said)
        return said

    def _lines_in(self, where: str) -> str:
        """Return the lines that a worker names as the file has them: it may say anything."""
        lines = self._source.decode("utf-8", errors="replace").splitlines()
        named = re.findall(rf"(?:^|, in ){re.escape(self._name)}:([0-9]{{1,6}}): ", where)[:2]
        places = [
            f"{self._name}:{number}: {lines[int(number) - 1].strip()[:MAX_TEXT]}"
            for number in named
            if 0 < int(number) <= len(lines)
        ]
        turn = re.search(r", where [\w.<>]+ (?:calls itself|and [\w.<>]+ call each other)$", where)
        return ", in ".join(places) + (turn[0] if turn and places else "")

    def end(self, has_hung_up: bool = False) -> str:
        """End the worker, and say what ended it."""
        if self._worker is None:
            return ""
        worker, self._worker = self._worker, None
        why, self._lost = self._fork_server.kill(worker, has_hung_up)
        return why


def quoted(said: str) -> str:
    """Mark what a worker said as such: the code in it may have written every word.

    >>> quoted('rope.py is empty.\\nOK, "14 of 14"')
    'its process says: “rope.py is empty.”\\n  | OK, "14 of 14"'
    """
    first, *more = said.split("\n")
    first = re.sub("[“”]", "'", first)
    return "\n".join([f"its process says: “{first}”", *(f"  | {line}" for line in more)])


TOO_LONG = "the tests of this exercise take too long together"
_UNREADABLE = "the code gave an answer that cannot be read"


class RemoteExecutor:
    """The executor of a worker; it has all requests of an `Executor`."""

    def __init__(self, module: RemoteModule) -> None:
        self._module = module
        self._deadline = math.inf
        self._steps: list[list] = [["fresh", []]]
        self._n_put = 0

    def fresh(self) -> "RemoteExecutor":
        """Return an executor of the same module that has made nothing so far."""
        return RemoteExecutor(self._module)

    def _next_ref(self, type_name: str) -> Ref:
        """Number what is sent to the executor, so that nobody has to wait for its number."""
        self._n_put += 1
        return Ref(-self._n_put, type_name)

    def _later(self, verb: str, *args: Any, **kwargs: Any) -> None:
        """Take a step before the next one that has an answer."""
        self._steps.append([verb, list(args), kwargs] if kwargs else [verb, list(args)])

    def _ask(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        self._later(verb, *args, **kwargs)
        steps, self._steps = self._steps, []
        return self._module.take(steps, self._deadline)

    seed = functools.partialmethod(_later, "seed")
    lend = functools.partialmethod(_later, "lend")
    set_parameters = functools.partialmethod(_later, "set_parameters")
    inspect = functools.partialmethod(_ask, "inspect")
    random_number = functools.partialmethod(_ask, "random_number")

    def limited(self, seconds: float) -> contextlib.AbstractContextManager:
        """Raise `TimeIsUp` from requests that have no answer in so many seconds from now."""
        self._deadline = self._module.clock.now() + seconds
        return contextlib.nullcontext()

    def take_back(self) -> None:
        """Do nothing: a fresh executor takes back what was lent."""

    def prop(self, thing: type | Callable, args: tuple, kwargs: dict) -> Ref:
        ref = self._next_ref(thing.__name__)
        self._later("prop", _source_of(thing), thing.__name__, list(args), kwargs, ref.number)
        return ref

    def keep(self, value: torch.Tensor) -> Ref:
        ref = self._next_ref(type(value).__name__)
        self._later("keep", value, ref.number)
        return ref

    def call(self, target: str | Ref, args: tuple, kwargs: dict, **options: Any) -> tuple:
        said = {name: one for name, one in options.items() if one is not None and one is not False}
        if "method" in said:  # nobody asks what `train`, `to` or `copy_` return
            self._later("call", target, list(args), kwargs, **said)
            return None, {}
        answer = self._ask("call", target, list(args), kwargs, **said)
        if type(answer) is not tuple or len(answer) != 2 or type(answer[1]) is not dict:
            raise Wrong(_UNREADABLE)
        return answer


@functools.cache
def _exercises() -> frozenset[str]:
    return frozenset(f"{one.stem}.{it.name}" for one in lessons() for it in one.exercises)


@functools.cache
def _source_of(thing: type | Callable) -> str:
    return textwrap.dedent(inspect.getsource(thing))


def checked_answer(answer: Any) -> tuple[str, Any]:
    """Return the kind and the content of an answer, which a stranger may have written.

    Raises:
        WireError: it is not of a known form.
    """
    if type(answer) is not list or len(answer) != 2:
        raise WireError("not an answer")
    kind, said = _text(answer[0]), answer[1]
    if kind == "student" and type(said) is list and len(said) == 3 and type(said[0]) is list:
        kinds, message, where = said
        message = _text(message).replace("\n", "\n  | ")
        said = [tuple(map(_kind, kinds)) or ("Exception",), message, _text(where)]
    elif kind in ("to do", "wrong"):
        said = _text(said)
    elif kind != "result":
        raise WireError("not an answer")
    return kind, said


def _kind(value: Any) -> str:
    """Return the name of an exception's class; one that is no name would speak as the grader."""
    name = _text(value)
    return name if name.isidentifier() else "Exception"


def _text(value: Any) -> str:
    if type(value) is not str:
        raise WireError("not a text")
    return value[:MAX_TEXT]
