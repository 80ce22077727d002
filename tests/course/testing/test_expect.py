"""Expectations fail when they should, and say why in words that help."""

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
    "other values": (X.square(), X),
    "other values everywhere": (torch.ones(3, 3), torch.zeros(3, 3)),
    "a row too few": (X[:1], X),
    "an axis too few": (X.flatten(), X),
    "a row too few, without values": (X[:1].to("meta"), X.to("meta")),
    "another dtype": (X.double(), X),
    "another device": (X.to("meta"), X),
    "another layout": (X.to_sparse(), X),
    "not finite": (X * torch.nan, X),
    "nothing": (None, X),
    "an array": (Foreign("ndarray"), X),
    "a list for a tensor": ([X], X),
    "a tensor for a tuple": (X, (X, X)),
    "one of two": ((X, X + 1), (X, X)),
    "a bool for a number": (True, 1),
    "a list for a number": ([3.0], 3.0),
    "nearly an int": (3.0000001, 3),
    "a float too coarse for an int": (2.0**53, 2**53 + 1),
    "another int": (4, 3),
    "not a number": (float("nan"), 3.0),
    "another int in a tensor": (torch.tensor([1, 2]), torch.tensor([1, 3])),
    "another bool": (torch.tensor(True), torch.tensor(False)),
    "finite for infinite": (torch.full((3,), 1e30), torch.full((3,), torch.inf)),
}


def test_another_width_will_do_where_a_test_says_so_and_equal_forgives_nothing():
    for wide, want in ((X.double(), X), ((X.double(), 1), [X, 1]), ([X.half()], [X])):
        expect.close(wide, want, any_width=True)
    expect.equal(torch.tensor([1, 2], dtype=torch.int32), torch.tensor([1, 2]), any_width=True)
    assert "float64" in message_of(expect.close, X.double(), X)
    for other in (X.long(), X.bool(), X.to(torch.complex64)):
        assert "dtype" in message_of(expect.close, other, X, any_width=True)
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
    cases = DIFFERENCES | UNEQUAL
    said = {name: message_of(expect.close, *pair) for name, pair in cases.items()}
    golden("differences", said)
    first = {name: said[name].splitlines()[0] for name in DIFFERENCES}
    unnamed = {name for name in first if first[name] == first["no pattern"]}
    assert unnamed == {"no pattern", "most rows", "most entries"}


ROWS = torch.tensor([[1000.0, 1003.0], [2000.0, 2006.0], [3000.0, 3009.0], [4000.0, 4012.0]])
NOISE = torch.tensor([[0.3, -0.1], [0.2, -0.3], [0.1, 0.0], [-0.2, 0.2]])
ONE_ROW = torch.tensor([[1.0, 2.0, 4.0]]).repeat(4, 1)
NEARLY = 1000 + torch.arange(8.0).reshape(4, 2) / 20
COUNT = torch.arange(1.0, 5.0)
WIDE = torch.arange(24.0).reshape(2, 3, 4)
EVERY_THIRD = torch.tensor([[1.0, 7.0], [0.0, 0.0], [0.0, 0.0]]).repeat(10, 1)

DETAILS = {
    # a change is said only if it mends the result
    "small numbers are numbers": lambda: expect.equal(1e-7 * TABLE.cumsum(0), 1e-7 * TABLE),
    "a thousandth is no rounding": lambda: expect.equal(ROWS * 1.0015 + NOISE, ROWS),
    "nearly a constant": lambda: expect.equal(ROWS + 0.5 + NOISE, ROWS),
    "noise": lambda: expect.equal(NEARLY + NOISE, NEARLY),
    "imaginary parts count": lambda: expect.equal(ROWS.T + 1j, ROWS),
    "equal rows have not moved": lambda: expect.equal(ONE_ROW + torch.eye(4)[:1].T, ONE_ROW),
    # what is right up to rounding, or within the tolerance
    "one entry beyond the tolerance": lambda: expect.close(
        COUNT + torch.tensor([0, 0, 0, 0.2]), COUNT, tolerance=0.02
    ),
    "and one within": lambda: expect.close(
        COUNT + torch.tensor([0, 0.01, 0, 0.2]), COUNT, tolerance=0.02
    ),
    # more than can be shown
    "many rows are counted": lambda: expect.close(
        torch.arange(60.0).reshape(30, 2) + EVERY_THIRD, torch.arange(60.0).reshape(30, 2)
    ),
    "of large tensors a row is shown": lambda: expect.close(
        WIDE.where(WIDE != 23, torch.tensor(5.0)), WIDE
    ),
    "of long rows none": lambda: expect.close(torch.ones(2, 30), torch.zeros(2, 30)),
    "of four numbers anybody sees which differ": lambda: expect.close(X + 1, X),
    "unless it is by little": lambda: expect.close(X + torch.tensor([[0, 0], [0, 3e-4]]), X),
    # the right number of a wrong type looks different
    "an int for a float": lambda: expect.close(torch.tensor(4), torch.tensor(4.0)),
    "a number for a tensor": lambda: expect.close(4.0, torch.tensor(4.0)),
    "another number": lambda: expect.close(5.0, 6.0),
    # what is compared is named
    "a measurement": lambda: expect.close(0.03, 0.02, tolerance=4e-4, what="the mean of the table"),
    "a change in it": lambda: expect.close(-TABLE, TABLE, what="the mean of each row"),
    "an item without a name": lambda: expect.close((TABLE, -TABLE), (TABLE, TABLE)),
    "too few pairs": lambda: expect.equal([(8, 9)], [(7, 8), (8, 7)], what="the pairs"),
    "a tensor for a list": lambda: expect.equal(X, [X], what="the pairs"),
    "another list": lambda: expect.equal([1, 2], [1, 3], what="the pairs"),
    "another tensor": lambda: expect.equal(X[0, 0], X[1, 1], what="the pairs"),
    "another shape": lambda: expect.equal(X[:1], X, what="the pairs"),
    # a wrong shape is told with the right one
    "swapped axes": lambda: expect.shape(torch.zeros(3, 2), 2, 3),
    "an axis too few": lambda: expect.shape(torch.zeros(3), 2, 3),
    "no tensor": lambda: expect.shape([1.0], 2, 3),
}


def test_each_detail_is_said_in_one_way(golden):
    golden("details of differences", {name: message_of(call) for name, call in DETAILS.items()})


def test_of_what_a_test_has_computed_no_change_is_said(monkeypatch):
    call = Call("f", (), {}, result=TABLE)
    monkeypatch.setattr(expect, "calls", [call])
    assert FLIPPED in message_of(expect.close, TABLE, -TABLE)
    assert FLIPPED not in message_of(expect.close, TABLE * 1, -TABLE)
    assert f"it: {FLIPPED}" in message_of(
        expect.close, TABLE * 1, -TABLE, what="what is made of it"
    )
    assert message_of(expect.close, TABLE[0], TABLE).startswith("in what follows from it")


NO_TENSORS = {
    "nothing": None,
    "a tuple of one": (X,),
    "one tensor": torch.zeros(3, 2),
    "a list as one of them": (X, [1, 2]),
    "an int": 5,
}
NO_FLOATS = {"nothing": None, "a list of one": [1.0], "a tensor in it": [1.0, X], "a tensor": X}


def test_what_came_back_and_what_belongs_there_are_said(golden):
    said = {"one tensor: nothing": message_of(expect.tensors, None, "bias")}
    for name, got in NO_TENSORS.items():
        said[f"two tensors: {name}"] = message_of(expect.tensors, got, "rows", "scores")
    for name, got in NO_FLOATS.items():
        said[f"two floats: {name}"] = message_of(expect.floats, got, 2)
    golden("results of another kind", said)


def test_what_is_right_is_given_back():
    for got in ((X, X), [X, X], torch.zeros(2, 5)):
        assert expect.tensors(got, "rows", "scores") is got
    assert expect.tensors(X, "bias") is expect.shape(X, 2, 2) is X
    assert expect.floats((1, torch.tensor(2.0)), 2) == [1.0, 2.0]


@pytest.fixture(autouse=True)
def one_call(monkeypatch):
    monkeypatch.setattr(expect, "calls", [Call("f", ("bad",), {})])


def rejects(call, **kwargs):
    expect.rejects(call, ValueError, good=("good",), bad=("bad",), **kwargs)


def raises(error_name, text="must be even; got 5", for_all=False):
    """A function of a student that refuses bad arguments, or all."""

    def call(*args):
        if for_all or args == ("bad",):
            raise StudentError((error_name, "Exception"), text, "")

    call.name = "f"
    return call


def test_only_the_named_exception_for_the_bad_arguments_alone_is_a_refusal(golden):
    for words in ("n_embd must be even; got 5", "no", ""):
        rejects(raises("ValueError", words))
    expect.rejects(raises("ValueError", for_all=True), ValueError, bad=("bad",))
    with pytest.raises(StudentError):  # for it refuses the good ones, too
        rejects(raises("ValueError", for_all=True))
    another = message_of(rejects, raises("TypeError"))
    none = message_of(rejects, lambda *args: None)
    golden("refusals", {"another error": another, "no error": none})
    with pytest.raises(Wrong, match="an exception should"):
        expect.rejects(lambda *args: None, Exception, bad=("bad",))
