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


def test_which_of_two_modules_was_called_is_not_guessed(lesson):
    first, _ = lesson.Linear(2, 1), lesson.Linear(2, 3)
    first(torch.ones(1, 2))
    assert called() == "Linear(...)([[1, 1]])"


def test_a_long_call_is_folded(lesson):
    lesson.f(torch.arange(16.0), torch.arange(16.0), name_of_an_option="value of that option")
    first, *others = called().splitlines()
    assert others
    assert all(line.startswith(" " * 10) and len(line) <= 80 for line in others)
    assert len(first) <= 70


def test_of_a_long_list_the_first_items_are_shown():
    assert show([0] * 41) == f"[{'0, ' * 40}...]"
    assert show([0] * 40) == f"[{'0, ' * 39}0]"


def test_a_number_too_long_to_write_is_described():
    assert show(10**5000) == "an integer of 16,610 bits"


def test_a_dictionary_is_shown_by_its_entries():
    assert show({"weight": torch.zeros(30, 4)}) == "{'weight': a tensor (30, 4) of float32}"


@pytest.mark.parametrize(
    ("number", "text"),
    [(10000.0, "10000"), (0.0314159, "0.03142"), (1234.56, "1234.56"), (2e7, "2e+07")],
)
def test_numbers_are_short_and_plain(number, text):
    assert show_number(number) == text
