"""Messages fit an 80-column terminal and show what was called."""

import types

import pytest
import torch
from torch import nn

from course.testing import expect
from course.testing.door import Call, Door
from course.testing.executor import Executor
from course.testing.outcomes import Wrong
from course.testing.show import show, show_number


@pytest.fixture
def lesson(monkeypatch):
    """A door to a module that holds `Linear` and `f`; messages know its calls."""
    module = types.ModuleType("exercises.fake")
    module.__file__ = __file__
    module.__dict__.update(Linear=nn.Linear, f=lambda *args, **kwargs: None)
    calls: list[Call] = []
    monkeypatch.setattr(expect, "calls", calls)
    return Door(Executor(module), calls)


def called() -> str:
    """The lines of a message that show the call."""
    with pytest.raises(Wrong) as caught:
        expect.that(False, "sentence")
    return str(caught.value).partition("called  ")[2]


def test_the_call_of_a_module_shows_how_it_was_made(lesson):
    lesson.Linear(2, 1, bias=False)(torch.ones(1, 2))
    assert called() == "Linear(2, 1, bias=False)([[1, 1]])"
    first, _ = lesson.Linear(2, 1), lesson.Linear(2, 3)
    first(torch.ones(1, 2))
    assert called() == "Linear(...)([[1, 1]])"  # which of two is not guessed


def test_a_long_call_is_folded(lesson):
    lesson.f(torch.arange(16.0), torch.arange(16.0), name_of_an_option="value of that option")
    first, *others = called().splitlines()
    assert others
    assert all(line.startswith(" " * 10) and len(line) <= 80 for line in others)
    assert len(first) <= 70


def test_a_value_is_shown_short_and_plain():
    for value, text in (
        ([0] * 41, f"[{'0, ' * 40}...]"),
        ([0] * 40, f"[{'0, ' * 39}0]"),
        (10**5000, "an integer of 16,610 bits"),
        ({"weight": torch.zeros(30, 4)}, "{'weight': a tensor (30, 4) of float32}"),
    ):
        assert show(value) == text
    for number, text in ((10000.0, "10000"), (0.0314159, "0.03142"), (1234.56, "1234.56")):
        assert show_number(number) == text
    assert show_number(2e7) == "2e+07"
