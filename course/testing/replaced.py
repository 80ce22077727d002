"""The reference of a lesson, with one of its exercises done differently."""

import functools
import types
from typing import Any

from course.syllabus import find_lesson
from course.testing.stage import load_module


def with_replaced(lesson: str, name: str, variant: Any) -> types.ModuleType:
    """The reference of a lesson, in which one name stands for something else."""
    reference = _reference(lesson)
    module = types.ModuleType(reference.__name__)
    module.__dict__.update(vars(reference))
    module.__dict__[name] = variant
    return module


@functools.cache
def _reference(lesson: str) -> types.ModuleType:
    return load_module(find_lesson(lesson).module("solutions"))
