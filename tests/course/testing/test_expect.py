"""Expectations fail when they should, and say why in words that help."""

import re

import pytest
import torch

from course.testing import expect
from course.testing.door import Call
from course.testing.outcomes import StudentError, Wrong
from course.testing.plain import Foreign
from course.testing.telling import telling_difference

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def message_of(check, *args, **kwargs) -> str:
    with pytest.raises(Wrong) as caught:
        check(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (X, X.clone()),
        (X + 1e-6, X),
        (1e6 * X * (1 + 1e-6), 1e6 * X),
        (0.1 + 0.2, 0.3),
        (3, 3.0),
        (3.0, 3),
        (torch.tensor(3), 3.0),
        (torch.tensor(3.0), 3),
        ([1, "a", X], (1, "a", X)),
        (torch.tensor([torch.inf, -torch.inf]), torch.tensor([torch.inf, -torch.inf])),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        (torch.empty(2, device="meta"), torch.empty(2, device="meta")),
        (X.T.contiguous().T, X),
    ],
)
def test_what_is_close(got, want):
    expect.close(got, want)


UNEQUAL = {
    "other values": (X.square(), X, "[[1, 4], [9, 16]]"),
    "other values everywhere": (torch.ones(3, 3), torch.zeros(3, 3), "(9 of 9"),
    "a row too few": (X[:1], X, "(1, 2)", "(2, 2)"),
    "an axis too few": (X.flatten(), X, "(4,)", "(2, 2)"),
    "a row too few, without values": (X[:1].to("meta"), X.to("meta"), "(1, 2)", "(2, 2)"),
    "another dtype": (X.double(), X, "float64", "float32"),
    "another device": (X.to("meta"), X, "meta", "cpu"),
    "another layout": (X.to_sparse(), X, "sparse"),
    "not finite": (X * torch.nan, X, "nan"),
    "nothing": (None, X, "None", "tensor"),
    "an array": (Foreign("ndarray"), X, "ndarray", "tensor"),
    "a list for a tensor": ([X], X, "list", "tensor"),
    "a tensor for a tuple": (X, (X, X), "tensor", "tuple of 2"),
    "one of two": ((X, X + 1), (X, X), "1"),
    "a bool for a number": (True, 1, "bool", "number"),
    "a list for a number": ([3.0], 3.0, "list of 1", "number"),
    "nearly an int": (3.0000001, 3, "3.0000001"),
    "a float too coarse for an int": (2.0**53, 2**53 + 1, "9.007"),
    "another int": (4, 3, "got     4\n  want    3"),
    "not a number": (float("nan"), 3.0, "nan"),
    "another int in a tensor": (torch.tensor([1, 2]), torch.tensor([1, 3]), "[1, 2]", "[1, 3]"),
    "another bool": (torch.tensor(True), torch.tensor(False), "True", "False"),
    "finite for infinite": (torch.full((3,), 1e30), torch.full((3,), torch.inf), "1e+30", "inf"),
}


@pytest.mark.parametrize(("got", "want", "facts"), [(a, b, c) for a, b, *c in UNEQUAL.values()])
def test_what_is_not_close_is_said(got, want, facts):
    message = message_of(expect.close, got, want)
    assert [fact for fact in facts if fact not in message] == []


def test_another_width_will_do_where_a_test_says_so():
    for wide in (X.double(), (X.double(), 1), [X.half()]):
        want = [X, 1] if len(wide) == 2 and not isinstance(wide, torch.Tensor) else [X]
        want = X if isinstance(wide, torch.Tensor) else want
        expect.close(wide, want, any_width=True)
    expect.equal(torch.tensor([1, 2], dtype=torch.int32), torch.tensor([1, 2]), any_width=True)
    assert "float64" in message_of(expect.close, X.double(), X)
    for other in (X.long(), X.bool(), X.to(torch.complex64)):
        assert "dtype" in message_of(expect.close, other, X, any_width=True)


def test_equal_forgives_nothing():
    expect.equal(X, X.clone())
    message_of(expect.equal, X + 1e-6, X)


TABLE = torch.tensor([[1.0, 2.0, 3.0], [5.0, 8.0, 13.0], [21.0, 34.0, 55.0], [0.0, 9.0, 4.0]])


FLIPPED = telling_difference(-TABLE, TABLE)
"""Its words are in golden/differences.txt."""


def changed(*places: tuple[int, int]) -> torch.Tensor:
    """Return the table with other numbers at some places."""
    got = TABLE.clone()
    for place in places:
        got[place] += 7 + place[0]
    return got


def entries(*wrong: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a vector of which some entries are wrong, and the right one."""
    want = torch.arange(8.0)
    got = want.clone()
    got[[*wrong]] = torch.tensor([0.5, 9.25, 33.0, 1.75, 88.0])[: len(wrong)]
    return got, want


DIFFERENCES = {
    "signs": (-TABLE, TABLE),
    "a factor": (TABLE / 8, TABLE),
    "a constant": (TABLE + 0.5, TABLE),
    "a row too far": (TABLE.roll(1, 0), TABLE),
    "a row too early": (TABLE.roll(-1, 0), TABLE),
    "columns in another order": (TABLE[:, [0, 2, 1]], TABLE),
    "swapped axes": (TABLE.T, TABLE),
    "one column": (TABLE * torch.tensor([1, 1, 7]), TABLE),
    "two rows": (changed((0, 0), (2, 1)), TABLE),
    "most rows": (changed((0, 0), (2, 1), (3, 2)), TABLE),
    "no pattern": (TABLE.cumsum(0).cumsum(1), TABLE),
    "one entry": entries(2),
    "two entries": entries(2, 3),
    "neighboring entries": entries(2, 3, 4),
    "three entries": entries(0, 2, 3),
    "four entries": entries(0, 2, 4, 6),
    "most entries": entries(0, 2, 4, 6, 7),
}


def test_each_kind_of_difference_has_its_sentence(golden):
    """What is right of a result, so that what is wrong of it can be seen."""
    said = {
        name: message_of(expect.close, *pair)
        for name, pair in (DIFFERENCES | {name: case[:2] for name, case in UNEQUAL.items()}).items()
    }
    golden("differences", said)
    first = {name: said[name].splitlines()[0] for name in DIFFERENCES}
    unnamed = {name for name in first if first[name] == first["no pattern"]}
    assert unnamed == {"no pattern", "most rows", "most entries"}
    assert "0.125" in first["a factor"] and "0.5" in first["a constant"]
    for name, places in {
        "one column": "2",
        "two rows": "0 2",
        "swapped axes": "0 1",
        "one entry": "2",
        "two entries": "2 3",
        "neighboring entries": "2 4",
        "three entries": "0 2 3",
        "four entries": "0 2 4 6",
    }.items():
        line = said[name].splitlines()[-1 if name == "swapped axes" else 0]
        assert re.findall(r"\d", line) == places.split()


def test_what_was_measured_is_named_with_its_tolerance():
    text = message_of(expect.close, 0.03, 0.02, tolerance=4e-4, what="the mean of the table")
    assert text.startswith("the mean of the table ")
    assert "got     0.03\n  want    0.02\n  within  0.0004" in text
    text = message_of(expect.close, -TABLE, TABLE, what="the mean of each row")
    assert text.startswith("the mean of each row: ")


ROWS = torch.tensor([[1000.0, 1003.0], [2000.0, 2006.0], [3000.0, 3009.0], [4000.0, 4012.0]])
NOISE = torch.tensor([[0.3, -0.1], [0.2, -0.3], [0.1, 0.0], [-0.2, 0.2]])
ONE_ROW = torch.tensor([[1.0, 2.0, 4.0]]).repeat(4, 1)
NEARLY = 1000 + torch.arange(8.0).reshape(4, 2) / 20


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (1e-7 * TABLE.cumsum(0), 1e-7 * TABLE),  # small numbers are numbers
        (ROWS * 1.0015 + NOISE, ROWS),  # a thousandth of a value is not rounding
        (ROWS + 0.5 + NOISE, ROWS),
        (NEARLY + NOISE, NEARLY),
    ],
)
def test_a_change_that_does_not_mend_it_is_not_said(got, want):
    assert message_of(expect.equal, got, want).startswith("the values are not")


def test_imaginary_parts_are_not_overlooked():
    assert "swapped" not in message_of(expect.equal, ROWS.T + 1j, ROWS)


def test_rows_that_are_equal_are_not_said_to_have_moved():
    got = ONE_ROW + torch.eye(4)[:1].T
    assert message_of(expect.equal, got, ONE_ROW).startswith("only row 0 is wrong")


def test_only_what_is_right_up_to_rounding_is_said_to_be_right():
    want = torch.arange(1.0, 5.0)
    last, also_second = torch.tensor([0.0, 0, 0, 0.2]), torch.tensor([0.0, 0.01, 0, 0.2])
    said = message_of(expect.close, want + last, want, tolerance=0.02)
    assert said.startswith("only entry 3 is wrong")
    said = message_of(expect.close, want + also_second, want, tolerance=0.02)
    assert said.startswith("the values are not")  # entry 1 is within the tolerance


def test_more_wrong_rows_than_are_shown_are_counted():
    want = torch.arange(60.0).reshape(30, 2)
    got = want.clone()
    got[::3] += torch.tensor([1.0, 7.0])
    assert "only rows 0, 3, 6, 9, 12, 15 and 4 more are wrong" in message_of(
        expect.close, got, want
    )


def test_the_item_that_differs_is_named():
    text = message_of(expect.close, ([3, 1], -TABLE), ([3, 1], TABLE), what=("indices", "scores"))
    assert text.startswith(f"scores: {FLIPPED}")
    text = message_of(expect.close, ([3, 2], -TABLE), ([3, 1], TABLE), what=("indices", "scores"))
    assert text.startswith("indices: the value is not")
    text = message_of(expect.close, (TABLE, -TABLE), (TABLE, TABLE))
    assert text.startswith(f"result[1]: {FLIPPED}")


def test_of_what_a_test_has_computed_no_change_is_said(monkeypatch):
    call = Call("f", (), {}, result=TABLE)
    monkeypatch.setattr(expect, "calls", [call])
    assert FLIPPED in message_of(expect.close, TABLE, -TABLE)
    assert FLIPPED not in message_of(expect.close, TABLE * 1, -TABLE)
    assert f"it: {FLIPPED}" in message_of(
        expect.close, TABLE * 1, -TABLE, what="what is made of it"
    )
    assert message_of(expect.close, TABLE[0], TABLE).startswith("in what follows from it")


@pytest.mark.parametrize(
    ("got", "want", "facts"),
    [
        ([(8, 9)], [(7, 8), (8, 7)], "1 2"),
        (X, [X], "tensor list"),
        ([1, 2], [1, 3], ""),
        (X[0, 0], X[1, 1], ""),
        (X[:1], X, "(1, 2) (2, 2)"),
    ],
)
def test_what_is_compared_is_named(got, want, facts):
    message = message_of(expect.equal, got, want, what="the pairs")
    assert message.startswith("the pairs: ")
    assert re.search(facts.replace(" ", ".*").replace("(", r"\(").replace(")", r"\)"), message)


@pytest.mark.parametrize(
    ("got", "want", "lines"),
    [
        (torch.tensor(4), torch.tensor(4.0), ["got     tensor(4)", "want    tensor(4.0)"]),
        (4.0, torch.tensor(4.0), ["got     4.0", "want    tensor(4.0)"]),
        (5.0, 6.0, ["got     5", "want    6"]),
    ],
)
def test_the_right_number_of_a_wrong_type_looks_different(got, want, lines):
    assert [line.strip() for line in message_of(expect.close, got, want).splitlines()][-2:] == lines


def test_of_tensors_too_large_to_show_a_row_is_shown():
    want = torch.arange(24.0).reshape(2, 3, 4)
    got = want.clone()
    got[1, 2, 3] = 5
    lines = message_of(expect.close, got, want).splitlines()[-3:]
    assert lines == [
        "  differs at [1, 2, 3]: got 5, want 23 (1 of 24 entries differ)",
        "  got[1, 2]  [20, 21, 22, 5]",
        "  want[1, 2] [20, 21, 22, 23]",
    ]
    long = torch.zeros(2, 30)
    assert message_of(expect.close, long + 1, long).endswith("(60 of 60 entries differ)")


def test_of_four_numbers_nobody_needs_to_be_told_which_differ():
    assert "entries differ" not in message_of(expect.close, X + 1, X)
    a_little_more = X + torch.tensor([[0.0, 0.0], [0.0, 3e-4]])
    assert "entries differ" in message_of(expect.close, a_little_more, X)


NO_TENSORS = {
    "nothing": (None, "None"),
    "a tuple of one": ((X,), "tuple of 1"),
    "one tensor": (torch.zeros(3, 2), "(3, 2)"),
    "a list as one of them": ((X, [1, 2]), "list of 2"),
    "an int": (5, "int"),
}
NO_FLOATS = {
    "nothing": (None, "None"),
    "a list of one": ([1.0], "list of 1"),
    "a tensor in it": ([1.0, X], "list", "tensor"),
    "a tensor": (X, "(2, 2)"),
}


def test_what_came_back_and_what_belongs_there_are_said(golden):
    said = {}
    for name, (got, *facts) in NO_TENSORS.items():
        said[f"two tensors: {name}"] = message = message_of(expect.tensors, got, "rows", "scores")
        assert all(
            fact in message for fact in [*facts, "rows" if "one of" not in name else "scores"]
        )
    for name, (got, *facts) in NO_FLOATS.items():
        said[f"two floats: {name}"] = message = message_of(expect.floats, got, 2)
        assert all(fact in message for fact in [*facts, "2 floats"])
    said["one tensor: nothing"] = message_of(expect.tensors, None, "bias")
    golden("results of another kind", said)


def test_what_can_be_taken_apart_is_given_back():
    for got in ((X, X), [X, X], torch.zeros(2, 5)):
        assert expect.tensors(got, "rows", "scores") is got
    assert expect.tensors(X, "bias") is X
    assert expect.floats((1, torch.tensor(2.0)), 2) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (torch.zeros(3, 2), "(3, 2), but should be (2, 3)"),
        (torch.zeros(3), "(3,), but should be (2, 3)"),
        ([1.0], "a list of 1"),
    ],
)
def test_a_wrong_shape_is_told_with_the_right_one(got, words):
    right = torch.zeros(2, 3)
    assert expect.shape(right, 2, 3) is right
    assert words in message_of(expect.shape, got, 2, 3)


def refuses(error_name, text):
    def call(*args):
        if args == ("bad",):
            raise StudentError((error_name, "Exception"), text, "")

    call.name = "f"
    return call


@pytest.fixture(autouse=True)
def one_call(monkeypatch):
    monkeypatch.setattr(expect, "calls", [Call("f", ("bad",), {})])


def rejects(call, **kwargs):
    expect.rejects(call, ValueError, good=("good",), bad=("bad",), **kwargs)


@pytest.mark.parametrize("words", ["n_embd must be even; got 5", "no", ""])
def test_a_refusal_is_accepted_in_whatever_words(words):
    rejects(refuses("ValueError", words))


NO_REFUSALS = {
    "another error": (refuses("TypeError", "must be even; got 5"), "TypeError ValueError"),
    "no error": (lambda *args: None, "ValueError"),
}


def test_without_the_named_exception_it_is_no_refusal(golden):
    said = {name: message_of(rejects, call) for name, (call, _) in NO_REFUSALS.items()}
    golden("refusals", said)
    for name, (_, facts) in NO_REFUSALS.items():
        assert all(fact in said[name] for fact in facts.split())


def test_the_bad_arguments_may_be_tried_alone():
    calls = []

    def call(*args):
        calls.append(args)
        refuses("ValueError", "n_embd must be even; got 5")(*args)

    expect.rejects(call, ValueError, bad=("bad",))
    assert calls == [("bad",)]


def test_where_any_exception_will_do_none_is_named():
    with pytest.raises(Wrong, match="an exception should"):
        expect.rejects(lambda *args: None, Exception, bad=("bad",))


def test_refusing_the_good_arguments_too_is_no_refusal():
    def call(*args):
        raise StudentError(("ValueError", "Exception"), "no arguments are good enough", "")

    with pytest.raises(StudentError):
        rejects(call)
