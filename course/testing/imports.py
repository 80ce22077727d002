"""What a student's file can import: of earlier lessons, right ones are lent, or given others.

So nobody pays in lesson 8 for a mistake in lesson 1, and what is imported here is there, too, where
it is graded.
"""

import builtins
import functools
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from course.testing.errors import DID_YOU, message_of

Earlier = Mapping[str, Mapping[str, Any]]
"""What can be imported, by lesson and by name: {"lookup": {"TokenEmbedding": ...}}."""


def names_defined_by(sources: Mapping[str, str]) -> Earlier:
    """Return what the texts of some lessons define."""
    found = {stem: {"__name__": f"exercises.{stem}"} for stem in sources}
    for stem, source in sources.items():
        exec(compiled(source), found[stem])
    return found


class Imports:
    """What `import` does in a student's file, when it is loaded and when its functions run.

    Of `exercises` there is what is lent, and nothing else.

    Attributes:
        missing: what stands for what is not there, by its name.
        libraries: what it found beyond the standard library, PyTorch and NumPy.
    """

    def __init__(self, earlier: Earlier) -> None:
        self._lent = _modules(earlier)
        self.missing: dict[str, Missing] = {}
        self.libraries: set[str] = set()

    def __call__(
        self,
        name: str,
        of_globals: Mapping[str, Any] | None = None,
        of_locals: Mapping[str, Any] | None = None,
        names: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        """Do what `__import__` does.

        Raises:
            ModuleNotFoundError: it is not there; its `name` is what `missing` may have next time.
        """
        name = ".".join(filter(None, ["exercises" * bool(level), name]))
        package = name.partition(".")[0]
        if package in ("course", "exercises", "solutions"):
            return self._lent_module(name, names or ())
        for one in (package, name):
            if one in self.missing:
                return self.missing[one]
        try:
            found = builtins.__import__(name, of_globals, of_locals, names)
        except ModuleNotFoundError as error:
            if DID_YOU in message_of(error):
                raise
            absent = name if package in sys.modules else package
            raise ModuleNotFoundError(_NOT_THERE.format(absent), name=absent) from None
        if package not in _ALWAYS_THERE:
            self.libraries.add(package)
        return found

    def _lent_module(self, name: str, names: Sequence[str]) -> types.ModuleType:
        if name not in self._lent:
            return self._stand_in(name)
        module = self._lent[name]
        for one in names:
            if one != "*" and not hasattr(module, one):
                setattr(module, one, self._stand_in(f"{name}.{one}"))
        return module if names else self._lent["exercises"]

    def _stand_in(self, name: str) -> "Missing":
        if name in self.missing:
            return self.missing[name]
        raise ModuleNotFoundError(_why_not_there(name), name=name)


def _why_not_there(name: str) -> str:
    """Return why what is not there need not be."""
    if name.partition(".")[0] == "solutions":
        return f"{name} has answers that are not yours; what you write yourself is what counts"
    return _NOT_THERE.format(name)


_NOT_THERE = (
    "{} is not there where this is graded, and no exercise needs it; if it is a file of yours, "
    "copy what you need into this one"
)
_ALWAYS_THERE = {"torch", "numpy", "typing_extensions", *sys.stdlib_module_names}


def imports_of(module: types.ModuleType) -> Imports:
    """Return what `import` does in a student's module."""
    return module.__builtins__["__import__"]


class Missing(types.ModuleType):
    """A library that is not there: to take names from it is no error, but to use them is."""

    def __getattr__(self, name: str) -> "Missing":
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(self.__name__)

    def __getitem__(self, _: object) -> "Missing":  # as in an annotation
        return self

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return self()

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise ModuleNotFoundError(_why_not_there(self.__name__), name=self.__name__)


def _modules(earlier: Earlier) -> dict[str, types.ModuleType]:
    """Return the package `exercises`, with a module for each lesson in it, by their names."""
    package = types.ModuleType("exercises")
    found = {"exercises": package}
    for stem, names in earlier.items():
        module = types.ModuleType(f"exercises.{stem}")
        module.__dict__.update(names)
        setattr(package, stem, module)
        found[module.__name__] = module
    return found


@functools.lru_cache(maxsize=64)
def compiled(source: str) -> types.CodeType:
    """Return what a source compiles to, if it is run more than once."""
    return compile(source, "lent", "exec")
