"""What a lesson's module imports from earlier lessons: right ones are lent, or given others.

So nobody pays in lesson 8 for a mistake in lesson 1.
"""

import contextlib
import functools
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

Earlier = Mapping[str, Mapping[str, Any]]
"""What can be imported, by lesson and by name: {"lookup": {"TokenEmbedding": ...}}."""


def names_defined_by(sources: Mapping[str, str]) -> Earlier:
    """Return what the texts of some lessons define."""
    found = {stem: {"__name__": f"exercises.{stem}"} for stem in sources}
    for stem, source in sources.items():
        exec(compiled(source), found[stem])
    return found


def modules(earlier: Earlier) -> dict[str, types.ModuleType]:
    """Return the package `exercises`, with a module for each lesson in it, by their names."""
    package = types.ModuleType("exercises")
    found = {"exercises": package}
    for stem, names in earlier.items():
        module = types.ModuleType(f"exercises.{stem}")
        module.__dict__.update(names)
        setattr(package, stem, module)
        found[module.__name__] = module
    return found


@contextlib.contextmanager
def importable(earlier: Earlier) -> Iterator[None]:
    """Let this, and nothing else of `exercises`, be imported in a block."""
    before, given = {}, modules(earlier)
    if "exercises" in sys.modules:  # to read the names of all modules would copy them in a fork
        names = [name for name in sys.modules if name.partition(".")[0] == "exercises"]
        before = {name: sys.modules.pop(name) for name in names}
    sys.modules.update(given)
    try:
        yield
    finally:
        for name in given:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@functools.lru_cache(maxsize=64)
def compiled(source: str) -> types.CodeType:
    """Return what a source compiles to, if it is run more than once."""
    return compile(source, "lent", "exec")
