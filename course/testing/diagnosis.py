"""Which known mistake explains a failure?

What a student's code gave back through the door during the failing tests is compared with what
each mistake of the catalogue gives in the same tests, on the same inputs. A mistake is named only
if it fails the same tests of the exercise, passes the same ones, and gives back the same values
up to rounding. A wrong diagnosis is worse than none, so anything less is left unnamed.
"""

import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from _pytest.runner import runtestprotocol

from course.testing.catalogue import Mistake, mistakes

SECONDS_PER_EXERCISE = 1.0
"""When the processor has worked so long on one exercise, no further mistake is tried."""

TRACE = pytest.StashKey[list[Any]]()
"""On a test: what came back through the door while it ran, in order."""


@dataclass(frozen=True)
class Observation:
    """How one test ended, with what message, and what came back through the door on the way."""

    item: pytest.Item
    outcome: str
    seconds: float
    trace: list[Any]
    text: str = ""


def diagnose(
    observations: list[Observation],
    exercise: str,
    reference: types.ModuleType,
    put_in_place: Callable[[types.ModuleType], None],
) -> Mistake | None:
    """The mistake that behaves as the student's exercise did, or None.

    Args:
        observations: all tests of the exercise that were run.
        reference: the lesson's solution, in which a mistake takes one name's place.
        put_in_place: called with a module, makes the tests run on it.
    """
    failed = [seen for seen in observations if seen.outcome == "wrong"]
    quick_first = sorted(failed, key=lambda seen: seen.seconds)
    others = [seen for seen in observations if seen.outcome != "wrong"]
    stem = reference.__name__.rpartition(".")[2]
    deadline = time.process_time() + SECONDS_PER_EXERCISE
    with warnings.catch_warnings(action="ignore"):  # the catalogue's, not the student's
        for mistake in mistakes(stem):
            if mistake.exercise == exercise and time.process_time() < deadline:
                put_in_place(with_replaced(reference, exercise, mistake.variant))
                if all(_behaves_alike(seen) for seen in quick_first + others):
                    return mistake
    return None


def observe(item: pytest.Item) -> Observation:
    """Run a test now, and watch."""
    reports = runtestprotocol(item, log=False, nextitem=None)
    seconds = sum(report.duration for report in reports)
    facts = next(report.course for report in reports if hasattr(report, "course"))
    return Observation(item, facts["outcome"], seconds, item.stash.get(TRACE, []), facts["text"])


def _behaves_alike(seen: Observation) -> bool:
    now = observe(seen.item)
    return now.outcome == seen.outcome and (seen.outcome != "wrong" or _same(now.trace, seen.trace))


def with_replaced(reference: types.ModuleType, name: str, variant: Any) -> types.ModuleType:
    """A copy of the reference in which one name stands for something else."""
    module = types.ModuleType(reference.__name__)
    module.__dict__.update(vars(reference))
    module.__dict__[name] = variant
    return module


def _same(a: Any, b: Any) -> bool:
    """Equality up to rounding, and up to the precision that floats are kept in."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.is_floating_point() != b.is_floating_point():
            return False
        if a.device != b.device or a.device.type == "meta":
            return a.device == b.device
        if not a.is_floating_point():
            return torch.equal(a, b)
        return torch.allclose(a.double(), b.double(), rtol=1e-3, atol=1e-4, equal_nan=True)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() == b.keys():
            return all(_same(a[key], b[key]) for key in a)
        return _shapes(a) == _shapes(b)  # the names of buffers are free
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 1e-3 * max(1.0, abs(a)) or (a != a and b != b)
    return type(a) is type(b) and a == b


def _shapes(values: dict) -> list[tuple[int, ...]]:
    return sorted(tuple(getattr(value, "shape", ())) for value in values.values())
