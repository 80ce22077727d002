"""For pytest, which runs the examples in the texts, and looks for some in docstrings."""

import math

import pytest
import torch

from course.core.syllabus import lessons
from course.testing.loading import load_module

collect_ignore_glob = ["*/notebook.py"]  # a notebook's source is no module


@pytest.fixture(autouse=True)
def _names_of_the_lesson(request: pytest.FixtureRequest, doctest_namespace: dict) -> None:
    """Give the examples in a text its lesson's names, so that they need not import them."""
    doctest_namespace.clear()
    for one in lessons():
        if one.room == request.path.parent and request.path.suffix == ".md":
            doctest_namespace.update(vars(load_module(one.module("solutions"))))
    doctest_namespace.pop("__builtins__", None)  # with the imports of a student's file
    doctest_namespace.update(math=math, torch=torch)
