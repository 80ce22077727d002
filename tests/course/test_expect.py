"""Expectations fail when they should, and say why in words that help."""

import pytest
import torch

from course.testing import expect
from course.testing.outcomes import StudentError, Wrong
from course.testing.plain import Foreign

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
        ([1, "a", X], (1, "a", X)),
        (torch.tensor([torch.inf, -torch.inf]), torch.tensor([torch.inf, -torch.inf])),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        (torch.empty(2, device="meta"), torch.empty(2, device="meta")),
        (X.T.contiguous().T, X),
    ],
)
def test_what_is_close(got, want):
    expect.close(got, want)


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        (X.square(), X, "the values are not the ones they should be"),
        (X[:1], X, "the shape is (1, 2), but should be (2, 2)"),
        (X.flatten(), X, "the shape is (4,), but should be (2, 2)"),
        (X[:1].to("meta"), X.to("meta"), "the shape is (1, 2), but should be (2, 2)"),
        (torch.ones(3, 3), torch.zeros(3, 3), "the values are not the ones they should be"),
        (X.double(), X, "the dtype is float64, but should be float32"),
        (X.to("meta"), X, "the device is meta, but should be cpu"),
        (X.to_sparse(), X, "the layout is"),
        (X * torch.nan, X, "some values are not finite"),
        (None, X, "nothing (None, as without a return) came back where a tensor belongs"),
        (Foreign("ndarray"), X, "an ndarray came back where a tensor belongs"),
        ([X], X, "a list of 1 came back where a tensor belongs"),
        (X, (X, X), "a tensor came back where a tuple of 2 belongs"),
        ((X, X + 1), (X, X), "every value is 1 too large"),
        (3, 3.0, "an int came back where a float belongs"),
        (3.0, 3, "a float came back where an int belongs"),
        (True, 1, "a bool came back where an int belongs"),
        (4, 3, "the value is not"),
        (float("nan"), 3.0, "the number is not"),
        (torch.tensor([1, 2]), torch.tensor([1, 3]), "the values are not"),
        (torch.tensor(True), torch.tensor(False), "the value is not"),
        (torch.full((3,), 1e30), torch.full((3,), torch.inf), "the values are not"),
    ],
)
def test_what_is_not_close_is_said(got, want, words):
    assert words in message_of(expect.close, got, want)


def test_equal_forgives_nothing():
    expect.equal(X, X.clone())
    message_of(expect.equal, X + 1e-6, X)


TABLE = torch.tensor([[1.0, 2.0, 3.0], [5.0, 8.0, 13.0], [21.0, 34.0, 55.0], [0.0, 9.0, 4.0]])


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (-TABLE, "every sign is flipped"),
        (TABLE / 8, "every value is 0.125 times what it should be"),
        (TABLE + 0.5, "every value is 0.5 too large"),
        (TABLE.roll(1, 0), "every row stands one place too far"),
        (TABLE.roll(-1, 0), "every row stands one place too early"),
        (TABLE[:, [0, 2, 1]], "the columns are right, but in another order"),
        (TABLE.T, "the shape is (3, 4), but should be (4, 3)"),
        (TABLE.T, "the values are right, but axes 0 and 1 are swapped"),
        (TABLE * torch.tensor([1, 1, 7]), "only column 2 is wrong"),
        (TABLE.cumsum(0).cumsum(1), "the values are not the ones they should be"),
    ],
)
def test_the_most_telling_difference_is_said(got, words):
    assert words in message_of(expect.close, got, TABLE)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([2], "only entry 2 is wrong"),
        ([2, 3], "only entries 2 and 3 are wrong"),
        ([2, 3, 4], "only entries 2 to 4 are wrong"),
        ([0, 2, 3], "only entries 0, 2 and 3 are wrong"),
        ([0, 2, 4, 6], "only entries 0, 2, 4 and 6 are wrong"),
        ([0, 2, 4, 6, 7], "the values are not the ones they should be"),
    ],
)
def test_the_wrong_entries_of_a_vector_are_named(wrong, words):
    want = torch.arange(8.0)
    got = want.clone()
    got[wrong] = torch.tensor([0.5, 9.25, 33.0, 1.75, 88.0])[: len(wrong)]
    assert message_of(expect.close, got, want).splitlines()[0] == words


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([(0, 0), (2, 1)], "only rows 0 and 2 are wrong"),
        ([(0, 0), (2, 1), (3, 2)], "the values are not the ones they should be"),
    ],
)
def test_of_what_is_mostly_wrong_no_part_is_named(wrong, words):
    got = TABLE.clone()
    for place in wrong:
        got[place] += 7 + place[0]
    assert message_of(expect.close, got, TABLE).splitlines()[0] == words


def test_what_was_measured_is_named_with_its_tolerance():
    text = message_of(expect.close, 0.03, 0.02, tolerance=4e-4, what="the mean of the table")
    assert text.startswith("the mean of the table is not the one it should be")
    assert "got     0.03\n  want    0.02\n  within  0.0004" in text
    text = message_of(expect.close, -TABLE, TABLE, what="the mean of each row")
    assert text.startswith("the mean of each row: every sign is flipped")


@pytest.mark.parametrize(
    ("got", "want", "words"),
    [
        ([(8, 9)], [(7, 8), (8, 7)], "the pairs: 1 where there should be 2"),
        (X, [X], "the pairs: a tensor came back where a list of 1 belongs"),
        ([1, 2], [1, 3], "the pairs: the value is not the one it should be"),
        (X[0, 0], X[1, 1], "the pairs: the value is not the one it should be"),
        (X[:1], X, "the pairs: the shape is (1, 2), but should be (2, 2)"),
    ],
)
def test_what_is_compared_is_named(got, want, words):
    assert words in message_of(expect.equal, got, want, what="the pairs")


@pytest.mark.parametrize(
    ("got", "want", "lines"),
    [
        (120.0, 120, ["got     120.0", "want    120"]),
        (120, 120.0, ["got     120", "want    120.0"]),
        (torch.tensor(4.0), 4.0, ["got     tensor(4.0)", "want    4.0"]),
        (torch.tensor(4), torch.tensor(4.0), ["got     tensor(4)", "want    tensor(4.0)"]),
        ([torch.tensor(4.2), 1.0], [4.2, 1], ["got     [tensor(4.2), 1.0]", "want    [4.2, 1]"]),
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
    assert message_of(expect.close, X + 1, X).endswith("(4 of 4 entries differ)")


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (
            None,
            "nothing (None, as without a return) came back where two tensors belong, rows and "
            "scores",
        ),
        ((X,), "a tuple of 1 came back where two tensors belong, rows and scores"),
        (torch.zeros(3, 2), "a tensor (3, 2) came back where two tensors belong, rows and scores"),
        ((X, [1, 2]), "a list of 2 as scores came back where a tensor belongs"),
        (5, "an int came back where two tensors belong, rows and scores"),
    ],
)
def test_a_result_that_is_no_tensors_is_said_to_be_none(got, words):
    assert words in message_of(expect.tensors, got, "rows", "scores")


def test_tensors_that_can_be_taken_apart_are_given_back():
    for got in ((X, X), [X, X], torch.zeros(2, 5)):
        assert expect.tensors(got, "rows", "scores") is got
    assert expect.tensors(X, "bias") is X
    words = message_of(expect.tensors, None, "bias")
    assert words.startswith(
        "nothing (None, as without a return) came back where a tensor belongs\n"
    )


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (None, "nothing (None, as without a return) came back where a list of 2 floats belongs"),
        ([1.0], "a list of 1 came back where a list of 2 floats belongs"),
        ([1.0, X], "a list with a tensor in it came back where a list of 2 floats belongs"),
        (X, "a tensor (2, 2) came back where a list of 2 floats belongs"),
    ],
)
def test_a_result_that_is_no_list_of_floats_is_said_to_be_none(got, words):
    assert expect.floats([1.0, 2.0], 2) == [1.0, 2.0]
    assert words in message_of(expect.floats, got, 2)


def refuses(error_name, text):
    def call(*args):
        if args == ("bad",):
            raise StudentError((error_name, "Exception"), text, "")

    call._name = "f"
    return call


@pytest.fixture(autouse=True)
def one_call(monkeypatch):
    from course.testing.door import Call

    monkeypatch.setattr(expect, "calls", [Call("f", ("bad",), {})])


def rejects(call, **kwargs):
    expect.rejects(call, ValueError, good=("good",), bad=("bad",), **kwargs)


def test_a_refusal_in_words_is_accepted():
    rejects(refuses("ValueError", "n_embd must be even; got 5"), mentions=(5,))
    rejects(refuses("ValueError", "counts must not all be zero"), mentions=("all zero", "be zero"))
    rejects(refuses("ValueError", "at most 8 tokens fit; got 9"), mentions=((8, 9),))


@pytest.mark.parametrize(
    ("call", "mentions", "words"),
    [
        (refuses("ValueError", "must be even; got 15"), (5,), "should name the offending value: 5"),
        (refuses("ValueError", "must be even; got 5.5"), (5,), "should name the offending value"),
        (refuses("ValueError", "at most 8 fit"), ((8, 9),), "should name the offending value"),
        (refuses("ValueError", "5"), (5,), "should say what the rule is"),
        (refuses("ValueError", ""), (), "should say what the rule is"),
        (refuses("TypeError", "must be even; got 5"), (5,), "TypeError was raised where ValueErr"),
        (lambda *args: None, (), "should have been raised, but the call went through"),
    ],
)
def test_a_refusal_without_them_is_not(call, mentions, words):
    assert words in message_of(rejects, call, mentions=mentions)


def test_the_bad_arguments_may_be_tried_alone():
    calls = []

    def call(*args):
        calls.append(args)
        refuses("ValueError", "n_embd must be even; got 5")(*args)

    expect.rejects(call, ValueError, bad=("bad",), mentions=(5,))
    assert calls == [("bad",)]


def test_refusing_the_good_arguments_too_is_no_refusal():
    def call(*args):
        raise StudentError(("ValueError", "Exception"), "no arguments are good enough", "")

    with pytest.raises(StudentError):
        rejects(call)
