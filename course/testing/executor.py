"""The executor of a student's module: it calls what is in it, and looks into what that returns.

An executor understands a few requests, each with plain values in and out (`plain.py`). The objects
that a student's code makes (modules, mostly) stay in it and are known outside by a number.
So an executor can run in this process or in another one; the tests cannot tell the difference.
"""

import contextlib
import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course.testing.clock import TimeIsUp, time_limit
from course.testing.errors import is_raised_by_hand, location, message_of, short_path
from course.testing.fair_play import guarded, settings_unchanged
from course.testing.imports import compiled
from course.testing.outcomes import StudentError, ToDo, Wrong
from course.testing.plain import Foreign, plain


@dataclass(frozen=True)
class Ref:
    """The number of an object that stays on the executor."""

    number: int
    type_name: str


@dataclass(frozen=True)
class GeneratorSeed:
    """A request for a `torch.Generator` on the CPU, seeded with this number."""

    seed: int


class Executor:
    """One student module, with the objects that it has made so far."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module
        self._objects: dict[int, Any] = {}
        self._own: dict[str, Any] = {}
        self._lent: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Return the file of the module."""
        return Path(self.module.__file__)

    def fresh(self) -> "Executor":
        """Return an executor of the same module that has made nothing so far."""
        return Executor(self.module)

    # --- requests ---------------------------------------------------------------------------

    def call(
        self,
        target: str | Ref,
        args: tuple,
        kwargs: dict,
        *,
        method: str = "__call__",
        upstream: Any = None,
        no_grad: bool = False,
    ) -> tuple[Any, dict[Any, torch.Tensor]]:
        """Call a function by name, or an object by number, on copies of the arguments.

        Args:
            upstream: the gradient at the result; if given, the call is differentiated.
            no_grad: make the call inside `torch.no_grad()`.
            method: another method of the object, such as "to", which returns nothing of interest.

        Returns:
            The result, and the gradients: by number for the floating tensors among the
            positional arguments, by name for the parameters of a called module.

        Raises:
            ToDo: a stub was reached. Wrong: an argument was changed. StudentError: anything else.
        """
        called = self._objects[target.number] if isinstance(target, Ref) else self._name(target)
        function = called if method == "__call__" else getattr(called, method)
        given = [self._enter(arg) for arg in args]
        named = {key: self._enter(arg) for key, arg in kwargs.items()}
        leaves = {} if upstream is None else _leaves(called, given)
        with self._student(target), torch.set_grad_enabled(not no_grad):
            with settings_unchanged(_title(target)):
                result = function(*given, **named)
            gradients = {} if upstream is None else _gradients(result, upstream, leaves)
        after = dict(enumerate(given)) | named
        for place, before in (dict(enumerate(args)) | kwargs).items():
            if not _same(before, after[place]):
                raise Wrong(
                    f"{_title(target)} changed its argument {_argument_name(called, place)} in "
                    "place; work on a copy, the caller still needs the original"
                )
        return self._leave(result), gradients

    def inspect(self, ref: Ref, what: str) -> Any:
        """Return what a module is made of, one of its parts in `_PARTS`; or a prop's attribute."""
        thing = self._objects[ref.number]
        with self._student(ref):
            return _PARTS[what](thing) if what in _PARTS else plain(getattr(thing, what))

    def set_parameters(self, ref: Ref, values: dict[str, torch.Tensor]) -> None:
        """Write values into parameters, by name.

        Raises:
            Wrong: there is no such parameter, or its shape is another one.
        """
        parameters = dict(self._objects[ref.number].named_parameters())
        with torch.no_grad():
            for name, value in values.items():
                if name not in parameters:
                    raise Wrong(f"the module has no parameter {name}; it has {list(parameters)}")
                if parameters[name].shape != value.shape:
                    raise Wrong(
                        f"{name} has shape {tuple(parameters[name].shape)}, "
                        f"not {tuple(value.shape)}"
                    )
                parameters[name].copy_(value)

    def prop(self, thing: Any, args: tuple, kwargs: dict, number: int | None = None) -> Ref:
        """Put something of the test's own on the executor: a function, or an object of a class.

        Args:
            number: what it is to be known by; below 0, where the executor gives no numbers itself.
        """
        made = thing
        if isinstance(thing, type):
            made = thing(*map(self._enter, args), **kwargs)
        return self._keep(made, number)

    def keep(self, value: Any, number: int | None = None) -> Ref:
        """Put a tensor on the executor, so that one and the same can be passed more than once."""
        return self._keep(self._enter(value), number)

    def seed(self, seed: int) -> None:
        """Seed PyTorch's global generator."""
        torch.default_generator.manual_seed(seed)  # all devices would take 100 times as long

    def random_number(self) -> float:
        """Return the next number of PyTorch's global generator."""
        return torch.rand(()).item()

    @contextlib.contextmanager
    def limited(self, seconds: float) -> Iterator[None]:
        """Raise `TimeIsUp` if the requests made in this block take longer."""
        try:
            with time_limit(seconds):
                yield
        except TimeIsUp as error:
            error.where = location(error, self.path)
            raise

    def lend(self, source: str, names: tuple[str, ...]) -> None:
        """Let these names of the student's module be, for a while, those that a source defines.

        So an exercise that builds on another one is graded by its own body alone.
        """
        lent: dict[str, Any] = {"__name__": self.module.__name__}
        exec(compiled(source), lent)
        names_of_student = self.module.__dict__
        self._own = {name: names_of_student.pop(name) for name in names if name in names_of_student}
        self._lent = names
        names_of_student.update({name: lent[name] for name in names})

    def take_back(self) -> None:
        """Undo `lend`, if something was lent."""
        for name in self._lent:
            self.module.__dict__.pop(name, None)
        self.module.__dict__.update(self._own)
        self._own, self._lent = {}, ()

    # --- the two directions of the door -----------------------------------------------------

    def _enter(self, value: Any) -> Any:
        """Return a plain value from outside, as the student's code gets it."""
        if isinstance(value, Ref):
            return self._objects[value.number]
        if isinstance(value, GeneratorSeed):
            return torch.Generator().manual_seed(value.seed)
        if isinstance(value, list | tuple):
            return type(value)(self._enter(item) for item in value)
        return plain(value)

    def _leave(self, value: Any) -> Any:
        """Return what the student's code returned, as it may leave."""

        def keep_modules(item: Any) -> Ref | Foreign:
            return self._keep(item) if isinstance(item, nn.Module) else Foreign(type(item).__name__)

        return plain(value, describe=keep_modules)

    def _keep(self, thing: Any, number: int | None = None) -> Ref:
        number = len(self._objects) if number is None else number
        self._objects[number] = thing
        kind = thing if isinstance(thing, types.FunctionType) else type(thing)
        return Ref(number, kind.__name__)

    def _name(self, name: str) -> Any:
        if name not in self.module.__dict__:
            raise Wrong(f"{short_path(self.path)} has no {name}; was it renamed or deleted?")
        return self.module.__dict__[name]

    @contextlib.contextmanager
    def _student(self, target: str | Ref) -> Iterator[None]:
        """Turn whatever the student's code raises into one of the three outcomes."""
        try:
            with guarded(_title(target)):
                yield
        except (Wrong, TimeIsUp, KeyboardInterrupt):
            raise
        except NotImplementedError as error:
            if found := re.fullmatch(r"TODO (\w+\.\w+)", message_of(error)):
                raise ToDo(found[1]) from error
            raise self._described(error) from error
        except SystemExit as error:
            raise Wrong(
                f"{_title(target)} called sys.exit({error.code}); a function returns its result "
                "and leaves the program running"
            ) from error
        except BaseException as error:  # also what pytest.skip raises
            raise self._described(error).with_traceback(error.__traceback__) from error

    def _described(self, error: BaseException) -> StudentError:
        kinds = tuple(kind.__name__ for kind in type(error).__mro__[:-2] or (BaseException,))
        where = location(error, self.path)
        return StudentError(kinds, message_of(error), where, is_raised_by_hand(error))


# --- small things ---------------------------------------------------------------------------


_PARTS = {
    "parameters": lambda module: {name: plain(p) for name, p in module.named_parameters()},
    "shapes": lambda module: {
        name: torch.empty_like(plain(p), device="meta") for name, p in module.named_parameters()
    },
    "trainable": lambda module: [n for n, p in module.named_parameters() if p.requires_grad],
    "buffers": lambda module: {name: plain(b) for name, b in module.named_buffers()},
    "state_dict": lambda module: plain(dict(module.state_dict())),
    "training": lambda module: module.training,
}
"""What a test may look at in a student's module, by the name that it has at the door."""


def _leaves(called: Any, given: list) -> dict[Any, torch.Tensor]:
    """Return the tensors to differentiate for: floating arguments, a module's parameters."""
    leaves = {place: tensor.requires_grad_() for place, tensor in _floating(given)}
    if isinstance(called, nn.Module):
        leaves.update({name: p for name, p in called.named_parameters() if p.requires_grad})
    return leaves


def _floating(value: Any, place: tuple = ()) -> Iterator[tuple[Any, torch.Tensor]]:
    """Yield all floating tensors in nested lists, each with its place: 0, or (0, 1) deeper."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        yield (place[0] if len(place) == 1 else place), value
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _floating(item, (*place, index))


def _gradients(result: Any, upstream: Any, leaves: dict) -> dict[Any, torch.Tensor]:
    """Return the gradients at the leaves, zeros at one that the result does not depend on."""
    results = dict(_floating([result]))
    upstreams = dict(_floating([upstream]))
    if not upstreams.keys() <= results.keys():
        raise Wrong(f"the result is a {type(result).__name__}, not a tensor that can be trained")
    if not any(results[place].requires_grad for place in upstreams):
        raise Wrong(
            "no gradient flows back from the result: it was detached, made under no_grad, or "
            "built from numbers taken out of their tensors"
        )
    for place, one in upstreams.items():
        got, want = tuple(results[place].shape), tuple(one.shape)
        if got != want:
            raise Wrong(f"the shape is {got}, but should be {want}")
    # of a number: for anything else PyTorch imports SymPy, which takes half a second
    number = sum(
        (results[place] * one.to(results[place])).sum() for place, one in upstreams.items()
    )
    found = torch.autograd.grad(number, list(leaves.values()), allow_unused=True)
    return {
        place: plain(torch.zeros_like(leaf) if gradient is None else gradient.to_dense())
        for (place, leaf), gradient in zip(leaves.items(), found, strict=True)
    }


def _same(before: Any, after: Any) -> bool:
    """Return whether an argument is unchanged; what cannot be compared counts as unchanged."""
    if isinstance(before, torch.Tensor):
        if not isinstance(after, torch.Tensor):
            return False
        if before.shape != after.shape or before.dtype != after.dtype:
            return False
        if before.is_meta or torch.equal(before, after):
            return True
        same = (before == after) | ((before != before) & (after != after))  # nan is nan here
        return bool(same.all())
    if isinstance(before, list | tuple):
        return len(before) == len(after) and all(map(_same, before, after))
    if isinstance(before, dict):
        same_keys = before.keys() == after.keys()
        return same_keys and all(_same(before[key], after[key]) for key in after)
    if isinstance(before, bool | int | float | complex | str | bytes):
        return type(before) is type(after) and (before == after or before != before)
    return True


def _title(target: str | Ref) -> str:
    return target if isinstance(target, str) else target.type_name


def _argument_name(called: Any, place: int | str) -> str:
    if isinstance(place, str):
        return place
    function = called.forward if isinstance(called, nn.Module) else called
    names = list(inspect.signature(function).parameters)
    return names[place] if place < len(names) else str(place)
