"""The one door between a graded test and a student's code: the `lesson` fixture.

    lesson.rotate_half(x)                             calls a function of the student's module
    lesson.lookup.gradients(weight, ids, upstream=g)  calls it and differentiates: {0: d weight}
    table = lesson.TokenEmbedding(7, 3)               makes a module; it stays on the other side
    table(ids), table.parameters, table.to("meta")    is called, looked into, asked to move

What crosses is plain and copied (`plain.py`), so a test runs the same whether the student's code
lives in this process or in another one. No test imports a student's module.
"""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from course.testing.executor import Executor, GeneratorSeed, Ref
from course.testing.outcomes import StudentError


@dataclass
class Call:
    """One call through the door, as messages show it."""

    name: str
    args: tuple
    kwargs: dict
    result: Any = None
    gradients: dict[Any, torch.Tensor] | None = None
    raised: bool = False

    @property
    def outline(self) -> "Outline":
        """Return what is left of the call without the numbers in its tensors."""
        given = dict(enumerate(self.args)) | self.kwargs
        return Outline(self.name, {key: _outlined(one) for key, one in given.items()}, self.raised)


@dataclass(frozen=True)
class Outline:
    """A call without the numbers in its tensors.

    Attributes:
        given: the arguments by position or name: the shape of a tensor, a number, None, or of
            anything else its type.
        raised: whether the student's code raised an exception.
    """

    name: str
    given: dict[int | str, Any]
    raised: bool


def _outlined(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.shape
    return value if isinstance(value, int | float | None) else type(value)


class Door:
    """A student's module, seen from a test: every name in it can be called."""

    def __init__(
        self, executor: Executor, calls: list[Call], trace: list[Any] | None = None
    ) -> None:
        self.executor = executor
        self._calls = calls
        self.trace: list[Any] = [] if trace is None else trace
        """What came back through the door, in order."""
        self._no_grad = False

    def __getattr__(self, name: str) -> "Function":
        if name.startswith("__"):
            raise AttributeError(name)
        return Function(self, name, name)

    def prop(self, thing: type | Callable, *args: Any, **kwargs: Any) -> "Handle":
        """Send something of the test's own across: a function, or an object made from a class.

        Its source alone must make sense where `torch` and `nn` are imported.
        """
        return Handle(self, self.executor.prop(thing, _outgoing(args), kwargs))

    def kept(self, tensor: torch.Tensor) -> "Handle":
        """Return a tensor to pass more than once: the same object each time; others are copies."""
        return Handle(self, self.executor.keep(tensor), "a tensor kept from call to call")

    def generator(self, seed: int) -> GeneratorSeed:
        """Return a seeded `torch.Generator` to pass as an argument."""
        return GeneratorSeed(seed)

    def seed(self, seed: int) -> None:
        """Seed PyTorch's global generator where the student's code runs."""
        self.executor.seed(seed)

    def random_number(self) -> float:
        """Return the next number of PyTorch's global generator where the student's code runs."""
        return self.executor.random_number()

    @contextlib.contextmanager
    def no_grad(self) -> Iterator[None]:
        """Make the calls in this block inside `torch.no_grad()`."""
        self._no_grad = True
        try:
            yield
        finally:
            self._no_grad = False

    def call(
        self, target: str | Ref, name: str, args: tuple, kwargs: dict, upstream: Any = None
    ) -> tuple[Any, dict[Any, torch.Tensor]]:
        call = Call(name, args, kwargs)
        self._calls.append(call)
        try:
            result, gradients = self.executor.call(
                target,
                _outgoing(args),
                {key: _outgoing(value) for key, value in kwargs.items()},
                upstream=upstream,
                no_grad=self._no_grad,
            )
        except StudentError as error:
            self.trace.append(error)
            call.raised = True
            raise
        kept = "a module" if isinstance(result, Ref) else [excerpt(result), _names(gradients)]
        self.trace.append(kept)
        call.result = Handle(self, result, f"{name}(...)") if isinstance(result, Ref) else result
        call.gradients = gradients
        return call.result, gradients


class Function:
    """A name of a student's module, to be called."""

    def __init__(self, lesson: Door, target: str | Ref, name: str) -> None:
        self.lesson = lesson
        self.target = target
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.lesson.call(self.target, self.name, args, kwargs)[0]

    def gradients(self, *args: Any, upstream: Any, **kwargs: Any) -> dict[Any, torch.Tensor]:
        """Call, and pull the gradient `upstream` at the result back.

        Returns:
            The gradients: by number for the floating tensors among the positional arguments
            ((0, 2, 1) for one in nested lists), by name for the parameters of a module.
        """
        return self.lesson.call(self.target, self.name, args, kwargs, upstream)[1]


def _part(name: str, doc: str) -> property:
    """Return a property of a handle: what a test may look at in a student's module."""
    return property(lambda handle: handle.attribute(name), doc=doc)


class Handle(Function):
    """An object that stays with the student's code: a module it made, or a prop of the test."""

    def __init__(self, lesson: Door, ref: Ref, made_by: str | None = None) -> None:
        super().__init__(lesson, ref, made_by or ref.type_name)
        self.ref = ref

    parameters = _part("parameters", "Copies of the parameters, by name; a shared one once.")
    shapes = _part("shapes", "Parameters without numbers, which may start in any way.")
    trainable = _part("trainable", "The names of the parameters that require a gradient.")
    buffers = _part("buffers", "Copies of the buffers, by name.")
    state_dict = _part("state_dict", "What would be saved, by name.")
    training = _part("training", "Whether the module is in training mode.")

    def train(self, mode: bool = True) -> None:
        """Switch to training mode, or with False to evaluation mode."""
        self.lesson.executor.call(self.ref, (mode,), {}, method="train")

    def to(self, where: str | torch.dtype) -> None:
        """Move to a device or a dtype."""
        self.lesson.executor.call(self.ref, (where,), {}, method="to")

    def set(self, **parameters: torch.Tensor) -> None:
        """Write parameters; a double underscore in a name stands for a dot."""
        values = {name.replace("__", "."): value for name, value in parameters.items()}
        self.lesson.executor.set_parameters(self.ref, values)

    def change(self, tensor: torch.Tensor) -> None:
        """Write other numbers into a tensor that is `kept`."""
        self.lesson.executor.call(self.ref, (tensor,), {}, method="copy_")

    def attribute(self, name: str) -> Any:
        """Return a plain attribute of a prop, or one of the parts above."""
        value = self.lesson.executor.inspect(self.ref, name)
        self.lesson.trace.append(_names(value))
        return value


class Names(dict):
    """What is kept of a module's tensors; their names are free."""


def _names(value: Any) -> Any:
    kept = excerpt(value)
    return Names(kept) if isinstance(kept, dict) else kept


def excerpt(value: Any, most: int = 2_000) -> Any:
    """Return a value to keep for a while: of what is large, its size and about `most` items.

    >>> excerpt([(1, 2), 3]), excerpt(list(range(10)), most=3)
    ([[1, 2], 3], [10, [0, 4, 8]])
    """
    if isinstance(value, list | tuple | dict) and value:
        step = -(-len(value) // most)
        most = max(most // len(value), 1)
        if isinstance(value, dict):
            items = itertools.islice(value.items(), 0, None, step)
            return {key: excerpt(item, most) for key, item in items}
        items = [excerpt(item, most) for item in value[::step]]
        return items if step == 1 else [len(value), items]
    if isinstance(value, torch.Tensor) and value.numel() > most and value.device.type == "cpu":
        step = value.numel() // most
        while math.gcd(step, value.shape[-1]) > 1:  # or only some of the columns would be kept
            step += 1
        return [tuple(value.shape), value.reshape(-1)[::step].clone()]
    return list(value) if isinstance(value, tuple) else value


def _outgoing(value: Any) -> Any:
    """Return an argument as the executor takes it: handles become the numbers that it knows."""
    if isinstance(value, Handle):
        return value.ref
    if isinstance(value, list | tuple):
        return type(value)(_outgoing(item) for item in value)
    return value
