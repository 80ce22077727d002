"""The executor of a student's code: it loads the code, calls it, and looks into it.

An executor understands a few requests, each with plain values in and out (`plain.py`). The objects
that a student's code makes (modules, mostly) stay in it and are known outside by a number.
An executor can therefore stand in this process or in another one; the tests cannot tell.
"""

import codecs
import contextlib
import functools
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course import root
from course.syllabus import importing_exercises
from course.system.console import typed
from course.system.memory import ran_out_of_memory
from course.testing.clock import TimeIsUp, time_limit
from course.testing.earlier import Earlier, importable, made_from
from course.testing.integrity import honest, refuse_borrowed_answers
from course.testing.outcomes import StudentError, ToDo, Wrong
from course.testing.plain import Foreign, plain
from course.testing.source import sources_of_earlier


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

    # --- requests ---------------------------------------------------------------------------

    def call(
        self,
        target: str | Ref,
        args: tuple,
        kwargs: dict,
        *,
        method: str = "__call__",
        upstream: Any = None,
        inference: bool = False,
        default_device: str | None = None,
    ) -> tuple[Any, dict[Any, torch.Tensor]]:
        """Call a function by name, or an object by number, on copies of the arguments.

        Args:
            upstream: the gradient at the result; if given, the call is differentiated.
            inference: make the call inside `torch.inference_mode()`.
            default_device: where tensors are made that the call does not place.
            method: another method of the object, such as "to".

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
        place = torch.device(default_device) if default_device else contextlib.nullcontext()
        with self._student(target), torch.inference_mode(inference), place:
            settings = _settings()
            result = function(*given, **named)
            _expect_settings(settings, _title(target))
            gradients = {} if upstream is None else _gradients(result, upstream, leaves)
        self._check_unchanged(target, called, dict(enumerate(args)) | kwargs, given, named)
        return self._leave(result), gradients

    def _check_unchanged(
        self, target: str | Ref, called: Any, before: dict, given: list, named: dict
    ) -> None:
        after = dict(enumerate(given)) | named
        for place in before:
            if not _same(before[place], after[place]):
                raise Wrong(
                    f"{_title(target)} changed its argument {_argument_name(called, place)} in "
                    "place; work on a copy, the caller still needs the original"
                )

    def inspect(self, ref: Ref, what: str) -> Any:
        """Return what a module is made of: one of its parts in `_PARTS`."""
        with self._student(ref):
            return _PARTS[what](self._objects[ref.number])

    def set_parameters(self, ref: Ref, values: dict[str, torch.Tensor]) -> None:
        """Write values into parameters, by name."""
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

    def attribute(self, ref: Ref, name: str) -> Any:
        """Return a plain attribute of a prop."""
        return plain(getattr(self._objects[ref.number], name))

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

    def change(self, ref: Ref, value: torch.Tensor) -> None:
        """Write other numbers into a tensor that was sent to the executor."""
        self._objects[ref.number].copy_(value)

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
            error.where = where(error, self.path)
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
            raise Wrong(f"{_shown(self.path)} has no {name}; was it renamed or deleted?")
        return self.module.__dict__[name]

    @contextlib.contextmanager
    def _student(self, target: str | Ref) -> Iterator[None]:
        """Turn whatever the student's code raises into one of the three outcomes."""
        try:
            with honest(_title(target)):
                yield
        except (Wrong, TimeIsUp, KeyboardInterrupt):
            raise
        except NotImplementedError as error:
            if str(error).startswith("TODO "):
                raise ToDo(str(error).removeprefix("TODO ")) from error
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
        return StudentError(kinds, _message(error), where(error, self.path))


# --- loading --------------------------------------------------------------------------------


def load_module(path: Path, earlier: Earlier | None = None) -> types.ModuleType:
    """Run a student's file as a module; or the reference.

    Args:
        earlier: what it can import from earlier lessons; the reference's, unless given.

    Raises:
        Wrong: in one sentence, why it cannot be run.
    """
    try:
        source = path.read_bytes()
    except FileNotFoundError:
        back = typed(f"course reset {_shown(path)}")
        advice = f"; `{back}` brings it back" if path.parent == root() / "exercises" else ""
        raise Wrong(f"{_shown(path)} does not exist{advice}") from None
    except OSError as error:
        raise Wrong(f"{_shown(path)} cannot be read: {error.strerror}") from None
    if path.parent == root() / "solutions":  # its lines stay where they are
        source = importing_exercises(source.decode("utf-8")).encode("utf-8")
    if earlier is None:
        earlier = made_from(sources_of_earlier(path.stem))
    return run_module(source, path, earlier)


def run_module(source: bytes, path: Path, earlier: Earlier | None = None) -> types.ModuleType:
    """Run the text of a student's file as a module; `path` says what to call it.

    Args:
        earlier: what it can import from earlier lessons.

    Raises:
        Wrong: in one sentence, why it cannot be run.
    """
    shown = _shown(path)
    module = types.ModuleType(f"{path.parent.name}.{path.stem}")
    module.__file__ = str(path)
    if trouble := _trouble_with_text(source):
        raise Wrong(f"{shown} {trouble}")
    try:
        code = compile(source, str(path), "exec")
        refuse_borrowed_answers(source, code, shown, earlier or {})
        settings = _settings()
        with importable(earlier or {}), honest(shown):
            exec(code, module.__dict__)
        _expect_settings(settings, shown)
    except (Wrong, TimeIsUp, KeyboardInterrupt):
        raise
    except SyntaxError as error:
        if "'utf-8' codec" in error.msg:  # it names no other encoding
            raise Wrong(f"{shown} {_NOT_UTF_8}") from None
        text = f": {error.text.strip()}" if error.text else ""
        place = f", line {error.lineno}" if error.lineno else ""
        raise Wrong(f"{shown} is not valid Python: {error.msg}{place}{text}") from None
    except SystemExit:
        raise Wrong(f"{shown} calls sys.exit while it is imported; take that out") from None
    except BaseException as error:  # also what pytest.skip raises
        why, place = _why_not_imported(error, path), where(error, path)
        raise Wrong(f"{shown} {why}\n  {place}") from error
    for name in ("torch", "nn"):
        value = module.__dict__.get(name, types)
        if not isinstance(value, types.ModuleType):
            raise Wrong(
                f"{shown} gives the name {name} to {with_article(type(value).__name__)}, so the "
                "library cannot be reached; choose another name"
            )
    return module


def _why_not_imported(error: BaseException, path: Path) -> str:
    """Return why a file could not be run, as the rest of a sentence that begins with its name."""
    message = _message(error)
    # code that is nested too deeply wants memory as well, but before it runs
    if ran_out_of_memory(error) and where(error, path):
        return "needs more memory than there is while it is imported"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return (
            f"imports {error.name}, which is not there; the standard library, torch and numpy are, "
            "and all that an exercise needs"
        )
    if asks_for_input(message):
        return "asks for input while it is imported; take that out"
    kind = type(error).__name__
    if isinstance(error, OSError) and error.filename:
        return (
            f"cannot open {error.filename} while it is imported ({kind}: {error.strerror}); it is "
            "graded where there are no files of yours; take that out"
        )
    return f"cannot be imported: {kind}: {message}" if message else f"cannot be imported: {kind}"


_NOT_UTF_8 = "is not saved as UTF-8; choose that encoding in your editor"


def _trouble_with_text(source: bytes) -> str:
    """Return why a source cannot be a module, whatever its code is, as the rest of a sentence."""
    lines = source.removeprefix(codecs.BOM_UTF8).splitlines()
    if all(line.strip()[:1] in (b"", b"#") for line in lines):
        return "is empty; was it saved?"
    if b"\0" not in source:
        return ""
    with contextlib.suppress(UnicodeDecodeError):
        source.decode("utf-8")
        if source.count(b"\0") < len(source) // 4:
            number = next(n for n, line in enumerate(lines, start=1) if b"\0" in line)
            return f"is not valid Python: a null character, line {number}; write that line anew"
    return _NOT_UTF_8  # but UTF-16, which some editors write


def asks_for_input(message: str) -> bool:
    """Return whether an exception says that `input()` was called where nobody can answer."""
    return message.startswith(("pytest: reading from stdin", "EOF when reading a line"))


def where(error: BaseException, path: Path) -> str:
    """Return the lines of a file that an exception passed through, as "file:line: text".

    The line that began it, then the deepest if that is another one: "f.py:60: print(lookup(w, x)),
    in f.py:27: raise IndexError(". Of an endless recursion the line at which it comes round.
    """
    passed = list(_passed(error, path))
    if not passed:
        return ""
    if isinstance(error, RecursionError) and (turn := _turn(passed)):
        names = " and ".join(dict.fromkeys(code.co_qualname for code, _ in turn))
        what = "calls itself" if len(turn) == 1 else "call each other"
        return f"{_line(path, turn[0][1])}, where {names} {what}"
    lines = dict.fromkeys((passed[0][1], passed[-1][1]))
    return ", in ".join(_line(path, line) for line in lines)


def _passed(error: BaseException, path: Path) -> Iterator[tuple[types.CodeType, int]]:
    """Yield the functions of a file that an exception passed through, each with the line there."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == str(path):
            yield traceback.tb_frame.f_code, traceback.tb_lineno
        traceback = traceback.tb_next


def _turn(passed: list[tuple[types.CodeType, int]]) -> list[tuple[types.CodeType, int]]:
    """Return one turn of a recursion: from a function to where it is reached again, or nothing."""
    first_at: dict[types.CodeType, int] = {}
    for place, (code, _) in enumerate(passed):
        if code in first_at:
            return passed[first_at[code] : place]
        first_at[code] = place
    return []


def _line(path: Path, number: int) -> str:
    import linecache

    linecache.checkcache(str(path))
    return f"{_shown(path)}:{number}: {linecache.getline(str(path), number).strip()}"


def _settings() -> tuple[int, torch.dtype, bool]:
    """Return what all of PyTorch shares: seed, default dtype, and whether gradients are kept."""
    return torch.initial_seed(), torch.get_default_dtype(), torch.is_grad_enabled()


def _expect_settings(before: tuple[int, torch.dtype, bool], who: str) -> None:
    """Refuse code that changed what all of PyTorch shares, and change it back."""
    if _settings() == before:
        return
    seed, dtype, gradients = before
    if torch.initial_seed() != seed:
        raise Wrong(
            f"{who} calls torch.manual_seed; leave the seed to whoever calls, or everything drawn "
            "afterwards is the same each time"
        )
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(gradients)
    raise Wrong(f"{who} changes a setting of PyTorch (default dtype or gradients) for everyone")


# --- small things ---------------------------------------------------------------------------


_PARTS = {
    "parameters": lambda module: {name: plain(p) for name, p in module.named_parameters()},
    "trainable": lambda module: [n for n, p in module.named_parameters() if p.requires_grad],
    "buffers": lambda module: {name: plain(b) for name, b in module.named_buffers()},
    "state_dict": lambda module: plain(dict(module.state_dict())),
    "training": lambda module: module.training,
}
"""What a test may look at in a student's module, by the name that it has at the door."""


@functools.lru_cache(maxsize=64)
def compiled(source: str) -> types.CodeType:
    """Return what a source compiles to, if it is run more than once."""
    return compile(source, "lent", "exec")


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
    found = torch.autograd.grad(
        [results[place] for place in upstreams],
        list(leaves.values()),
        list(upstreams.values()),
        allow_unused=True,
    )
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
    if isinstance(before, bool | int | float | complex | str | bytes):
        return type(before) is type(after) and (before == after or before != before)
    return True


def with_article(noun: str) -> str:
    """Return the name of a type with the article that one says aloud before it.

    >>> with_article("list"), with_article("int"), with_article("ndarray")
    ('a list', 'an int', 'an ndarray')
    >>> with_article("")
    'an object of a class without a name'
    """
    if not noun:
        return "an object of a class without a name"
    return f"{'an' if noun[0] in 'aeio' or noun.startswith('nd') else 'a'} {noun}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"


def _title(target: str | Ref) -> str:
    return target if isinstance(target, str) else target.type_name


def _argument_name(called: Any, place: int | str) -> str:
    import inspect

    if isinstance(place, str):
        return place
    function = called.forward if isinstance(called, nn.Module) else called
    names = list(inspect.signature(function).parameters)
    return names[place] if place < len(names) else str(place)


def _shown(path: Path) -> str:
    """Return a path as a student knows it: the last folder and the file."""
    return f"{path.parent.name}/{path.name}"
