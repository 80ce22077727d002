"""The door: what crosses is plain and copied, and nothing gets lost or forged on the way."""

import types

import pytest
import torch
from torch import nn

from course.testing.door import Door, Handle, excerpt
from course.testing.executor import Executor
from course.testing.outcomes import StudentError, ToDo, Wrong


def lesson_of(**names) -> Door:
    """A door to a module that holds these names."""
    module = types.ModuleType("exercises.fake")
    module.__file__ = __file__
    module.__dict__.update(names)
    return Door(Executor(module), [])


def test_results_and_arguments_are_copies_with_the_same_strides():
    shared = torch.zeros(2)
    got = lesson_of(f=lambda: shared).f()
    shared.add_(1)
    assert got.tolist() == [0, 0]
    x, seen = torch.arange(12.0).reshape(3, 4).T[::2], []
    lesson_of(f=lambda x: seen.append((x.stride(), x.data_ptr()))).f(x)
    [(strides, place)] = seen
    assert strides == x.stride() and place != x.data_ptr()


@pytest.mark.parametrize(
    ("argument", "change"),
    [
        (torch.ones(2), lambda x: x.add_(1)),
        (torch.ones(2), lambda x: x.fill_(float("nan"))),
        (torch.ones(2), lambda x: x.unsqueeze_(0)),
        (torch.ones(2), lambda x: x.data.zero_()),
        ([1.0, 2.0], lambda rows: rows.append(1)),
        ({"a": torch.ones(2)}, lambda rows: rows.pop("a")),
        ({"a": torch.ones(2)}, lambda rows: rows["a"].zero_()),
    ],
)
def test_a_changed_argument_is_noticed_and_named(argument, change):
    def clumsy(weight, x):
        change(x)

    with pytest.raises(Wrong, match="clumsy changed its argument x"):
        lesson_of(clumsy=clumsy).clumsy(torch.ones(2), argument)
    lesson_of(f=lambda x: x + 1).f(torch.tensor([float("nan"), 1.0]))  # it's as it was


def test_a_module_stays_behind_a_handle():
    table = lesson_of(Linear=nn.Linear).Linear(3, 2)
    assert isinstance(table, Handle)
    assert set(table.parameters) == {"weight", "bias"}
    assert table(torch.zeros(1, 3)).shape == (1, 2)
    table.set(weight=torch.ones(2, 3), bias=torch.zeros(2))
    assert table(torch.ones(1, 3)).tolist() == [[3, 3]]
    table.train(False)
    assert not table.training


def test_gradients_of_arguments_parameters_and_nested_lists():
    lesson = lesson_of(mul=lambda a, b: a * b, Linear=nn.Linear, add=lambda rows: [rows[0][1] * 2])
    got = lesson.mul.gradients(torch.tensor(3.0), torch.tensor(5.0), upstream=torch.tensor(1.0))
    assert got == {0: torch.tensor(5.0), 1: torch.tensor(3.0)}
    linear = lesson.Linear(2, 1)
    got = linear.gradients(torch.tensor([[1.0, 2.0]]), upstream=torch.tensor([[10.0]]))
    assert got["weight"].tolist() == [[10, 20]]
    numbers = [[torch.tensor(1.0), torch.tensor(4.0)]]
    got = lesson.add.gradients(numbers, upstream=[torch.tensor(1.0)])
    assert got[(0, 0, 1)].item() == 2
    assert got[(0, 0, 0)].item() == 0
    with pytest.raises(Wrong, match="no gradient flows back"):
        lesson_of(f=lambda x: x.detach()).f.gradients(torch.ones(1), upstream=torch.ones(1))
    lesson = lesson_of(f=torch.is_grad_enabled)
    with lesson.no_grad():
        assert lesson.f() is False
    assert lesson.f() is True


def test_what_students_raise_becomes_one_of_the_outcomes():
    def raises(error):
        def student():
            raise error

        return lesson_of(student=student).student

    with pytest.raises(ToDo, match=r"rope\.f is still to do"):
        raises(NotImplementedError("TODO rope.f"))()
    with pytest.raises(StudentError) as caught:
        raises(KeyError("k"))()
    assert caught.value.kinds == ("KeyError", "LookupError", "Exception")
    with pytest.raises(StudentError):
        raises(NotImplementedError("another"))()
    with pytest.raises(Wrong, match=r"called sys\.exit\(0\)"):
        raises(SystemExit(0))()


def test_lending_replaces_names_and_gives_them_back():
    module = types.ModuleType("exercises.fake")
    module.__file__ = __file__
    exec("def helper(): return 'mine'\ndef f(): return helper(), missing()", module.__dict__)
    reference = "def helper(): return 'lent'\ndef missing(): return 'lent'"
    executor = Executor(module)
    executor.lend(reference, ("helper", "missing"))
    assert Door(executor, []).f() == ("lent", "lent")
    executor.take_back()
    assert Door(executor, []).helper() == "mine"
    assert "missing" not in module.__dict__


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda: torch.manual_seed(0), "f calls torch.manual_seed"),
        (lambda: torch.set_default_dtype(torch.float64), "f changes a setting of PyTorch"),
        (lambda: torch.set_grad_enabled(False), "f changes a setting of PyTorch"),
    ],
)
def test_settings_of_everyone_are_left_alone(body, words):
    torch.manual_seed(1)  # another than the one that is set
    with pytest.raises(Wrong, match=words):
        lesson_of(f=lambda: body() and None).f()
    assert torch.get_default_dtype() is torch.float32
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    "large",
    [
        [[]] * 300_000,
        [[0] * 600] * 600,
        [[[[0] * 20] * 20] * 20] * 20,
        dict.fromkeys(range(100_000), (1, 2)),
        [torch.zeros(1_000)] * 1_000,
    ],
    ids=["long", "wide", "deep", "dictionary", "tensors"],
)
def test_of_a_large_answer_little_is_kept(large):
    assert n_items(excerpt(large)) < 20_000
    assert n_items(excerpt(large)) < n_items(large) / 10


def n_items(value) -> int:
    if isinstance(value, dict):
        return n_items([*value.items()])
    if isinstance(value, list | tuple):
        return 1 + sum(map(n_items, value))
    return value.numel() if isinstance(value, torch.Tensor) else 1
