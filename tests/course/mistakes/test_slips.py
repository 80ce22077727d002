"""Slips that have nothing to do with a lesson: a name that is not there, shapes that do not fit."""

import importlib
import math

import numpy as np
import pytest
import torch
from examining import cases_of, findings

from course.mistakes import diagnosis
from course.mistakes.diagnosis import KnownMistakes, diagnose
from course.mistakes.pytorch import in_plain_words
from course.mistakes.variant import Variant
from course.testing.errors import message_of
from course.testing.telling import telling_difference


class Table:
    def __init__(self):
        self.weight = torch.eye(2)

    def misspelt(self):
        return self.weigth

    def without_self(self):
        return weight  # noqa: F821


def misspelt(tensor):
    return tenser.sum()  # noqa: F821


class Secretive:
    def __dir__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (Table().misspelt, "'weight'"),
        (Table().without_self, "self.weight"),
        (lambda: misspelt(torch.zeros(1)), "'tensor'"),
        (lambda: torch.zeros(1).transpos(0, 0), "'transpose'"),
        (lambda: torch.concatt([]), "'concat'"),
        (lambda: F.one_hot(torch.arange(2)), "import torch.nn.functional as F"),  # noqa: F821
        (lambda: statistics.mean([1]), "`import statistics`"),  # noqa: F821
        (lambda: importlib.import_module("torhc"), "'torch'"),
        (lambda: importlib.import_module("torch.nn.functionel"), "'torch.nn.functional'"),
        (lambda: exec("from torch import Tenosr"), "'Tensor'"),
        (lambda: importlib.import_module("unheard_of"), ""),
        (lambda: length([]), ""),  # noqa: F821
        (lambda: (3).weight, ""),
        (lambda: Secretive().weight, ""),
        (lambda: math.sqrt(-1), ""),
    ],
)
def test_a_name_that_is_not_there_comes_with_the_one_that_was_meant(call, words):
    with pytest.raises(Exception) as raised:
        call()
    message = message_of(raised.value)
    assert message.startswith(str(raised.value))
    assert ("Did you" in message) is bool(words)
    assert words in message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: torch.zeros(4, 3) @ torch.zeros(5, 2), ("3 and 5",)),
        (lambda: torch.zeros(4, 3) @ torch.zeros(5), ("3 and 5",)),
        (lambda: torch.zeros(2, 4, 3) @ torch.zeros(2, 5, 2), ("2, 3", "2, 5")),
        (lambda: torch.zeros(2, 3) + torch.zeros(2, 4), ("Axis 1", "3", "4")),
        (lambda: torch.zeros(2, 2) @ torch.zeros(2, 2).long(), ("dtypes",)),
        (lambda: torch.zeros(2, 3).T.view(6), ("reshape",)),
        (lambda: torch.zeros(6).view(4, 2), ("4, 2", "6")),
        (lambda: torch.cat((torch.zeros(2, 3), torch.zeros(2, 4))), ("axis 0",)),
        (lambda: torch.zeros(2) == 0 or 1, ("entry",)),
        (lambda: torch.zeros(2).topk(3), ("more entries",)),
        (lambda: torch.zeros(2).shape(), ("`shape`", "parentheses")),
        (lambda: torch.zeros(2)(0), ("square brackets",)),
        (lambda: torch.zeros(2).dtype(), ("`x.dtype`", "parentheses")),
        (lambda: torch.zeros(2).size / 2, ("parentheses",)),
        (lambda: torch.zeros(2).size[0], ("parentheses",)),
        (lambda: range(torch.zeros(2).size), ("parentheses",)),
        (lambda: torch.zeros(2, 3) - torch.zeros(2, 3).max(1), ("`max`", "`.values`")),
        (lambda: torch.zeros(2, 3).sort(1).float(), ("`sort`", "`.values`")),
        (lambda: torch.zeros(1, 3, 3)[torch.ones(3, 3).bool()], ("[3, 3] with [1, 3, 3]",)),
        (lambda: torch.zeros(2, 3)[:, torch.ones(2).bool()], ()),
        (lambda: torch.cat(torch.zeros(2), torch.zeros(2)), ("(a, b)",)),
        (lambda: torch.zeros(2, 3, 4).transpose(0, 2, 1), ("permute",)),
        (lambda: torch.zeros(2, 3).transpose(), ("mT",)),
        (lambda: torch.zeros(2, 3).dot(torch.zeros(3)), ("`@`",)),
        (lambda: torch.arange(3).mean(), ("floating",)),
        (lambda: torch.arange(3).softmax(dim=-1), ("floating",)),
        (lambda: torch.zeros(3)[torch.zeros(2)], ("integers",)),
        (lambda: torch.zeros(3, requires_grad=True).add_(1), ("in place",)),
        (lambda: torch.zeros(3, requires_grad=True)[0].add_(1), ("in place",)),
        (lambda: torch.zeros(2).astype(int), ("`x.float()`", "`x.long()`")),
        (lambda: torch.zeros(2).copy(), ("clone",)),
        (lambda: torch.array([1]), ("torch.tensor",)),
        (lambda: torch.zeros(2).norm(dim=0, keepdims=True), ("`keepdim`",)),
        (lambda: torch.nn.functional.softmax(torch.zeros(2), axis=0), ("`softmax`", "`dim`")),
        (lambda: torch.sqrt(64), ("`math.sqrt`",)),
        (lambda: torch.log(1e4), ("`math.log`",)),
        (lambda: torch.cat((torch.zeros(2), np.zeros(2))), ("from_numpy",)),
        (lambda: torch.exp(np.zeros(2)), ("from_numpy",)),
        (lambda: np.eye(2) @ torch.eye(2), ("from_numpy",)),
        (lambda: np.sqrt(torch.ones(2, requires_grad=True)), ("torch.sqrt",)),
        (lambda: math.sqrt(torch.ones(2)), ("torch.sqrt",)),
        (lambda: torch.zeros(2)[3], ()),
    ],
)
def test_what_pytorch_says_of_its_tensors_is_said_simply(call, words):
    with pytest.raises(Exception) as raised:
        call()
    said = in_plain_words(str(raised.value))
    assert bool(said) is bool(words)
    assert all(word in said for word in words), said
    for message in (  # what a student puts into one may be shown to the whole class
        "shape '[2]. All passed. [3]' is invalid for input of size 6",
        "The shape of the mask [2]. All passed. [3] at index 0 does not match the shape of the "
        "indexed tensor [All passed] at index 0",
    ):
        assert "passed" not in in_plain_words(message)


def test_what_a_call_changes_is_not_taken_for_something_else_that_it_changes(monkeypatch):
    """Both stop a test before anything comes back, which is no reason to name either."""
    monkeypatch.setattr(diagnosis, "mistakes", lambda lesson: [])
    cases = cases_of("learned", "scalar_embedding")
    edits = {"return [": "wte[token_id][:] = [", "True)]": "True)]\n    return wte[token_id]"}
    seen = findings(Variant("learned", "scalar_embedding", "", edits).module(), cases)
    assert any("changed its argument" in one.text for one in seen)
    found = diagnose(seen, KnownMistakes(cases, seed=0), seconds=(30, 1))
    assert found is None or "seeds" not in found.says


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        ([1, 2, 0], [2, 0, 1], "another order"),
        ([0, 1, 0, 1, 0, 7], [1, 0, 1, 0, 1, 7], None),
        ([0, 1, 0, 1, 0, 2], [1, 0, 1, 0, 2, 9], "one place too far"),
        ([4, 7, 5, 2, 1, 3], [7, 5, 2, 1, 3, 4], "one place too far"),
    ],
)
def test_a_few_numbers_that_fit_by_chance_are_not_said_to_be_shifted(got, want, words):
    said = telling_difference(torch.tensor(got), torch.tensor(want))
    assert (words in said) if words else not said or "place" not in said


@pytest.mark.parametrize(
    ("lesson", "exercise", "right", "wrong"),
    [
        ("permutation", "bag_vector", "return layer(x)", "raise RuntimeError\n    return layer(x)"),
        ("rope", "alibi_bias", "slopes = ", "raise TypeError\n    slopes = "),
        ("rope", "rotate_half", "x1, x2 = ", "x1, x2, x3 = "),
    ],
)
def test_an_error_that_a_mistake_raises_too_is_no_such_mistake(lesson, exercise, right, wrong):
    """Where everything raises, only what it says and who raises it tell mistakes apart."""
    cases = cases_of(lesson, exercise)
    seen = findings(Variant(lesson, exercise, "", {right: wrong}).module(), cases)
    assert diagnose(seen, KnownMistakes(cases, seed=0), seconds=(30, 1)) is None
