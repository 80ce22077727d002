"""The reference of a lesson, with one of its exercises done differently."""

import contextlib
import functools
import types
from typing import Any

from course.mistakes import Mistake
from course.syllabus import find_lesson
from course.testing.examine import Examination
from course.testing.executor import Executor, load_module


def with_replaced(lesson: str, name: str, variant: Any) -> types.ModuleType:
    """Return the reference of a lesson, in which one name stands for something else."""
    reference = _reference(lesson)
    module = types.ModuleType(reference.__name__)
    module.__dict__.update(vars(reference))
    module.__dict__[name] = variant
    return module


def examination_of(mistake: Mistake, lesson: str, seed: int) -> Examination:
    """Return an examination of a mistake in the reference's place; our own code is not watched."""
    module = with_replaced(lesson, mistake.exercise, mistake.variant)
    return Examination(lambda: Executor(module, contextlib.nullcontext), seed=seed)


@functools.cache
def _reference(lesson: str) -> types.ModuleType:
    return load_module(find_lesson(lesson).module("solutions"))
