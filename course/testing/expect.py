"""The expectations of graded tests: each raises `Wrong`, with an explanation, if it does not hold.

expect.close(got, want)        values, shape and dtype; any_width=True lets the dtype be wider
expect.equal(got, want)        the same, exactly
expect.that(fact, sentence)    anything else; the sentence says what went wrong
expect.tensors(got, "rows"), expect.shape(got, 4, 6), expect.floats(got, 5)
                               the kind of a result, before a test takes it apart
expect.rejects(call, ValueError, bad=...)
"""

import contextlib
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch

from course.testing.door import Call, Function, Handle
from course.testing.outcomes import StudentError, Wrong
from course.testing.plain import Foreign
from course.testing.show import (
    CALLED,
    GOT,
    WANT,
    is_shown_whole,
    labeled,
    show,
    show_call,
    show_dtype,
    show_number,
    with_article,
)
from course.testing.telling import telling_difference

_TOLERANCE = {torch.float64: 1e-6, torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2}
"""How far a correct result may be off, per unit of the values, at each precision."""

calls: list[Call] = []
"""The calls of the running test; the messages show the one that a value came from."""


mismatches: list[tuple[Any, float]] = []
"""What did not compare as it should in the running test, at most one value, and its tolerance."""


def last_call() -> Call | None:
    """Return the latest call through the door, if there was one."""
    return calls[-1] if calls else None


def close(
    got: Any,
    want: Any,
    *,
    tolerance: float | None = None,
    what: str = "",
    any_width: bool = False,
) -> None:
    """Expect a value within rounding of another; tensors also in shape and dtype.

    Where a number is wanted, any number will do: an int, an equal float, a tensor without axes.

    Args:
        got: what the student's code returned, or what was computed from that.
        want: a tensor, a number, a string, or a list or tuple of them.
        tolerance: how far off, per unit; by default what the dtype allows.
        what: what was computed, "the mean of the table"; the message names it.
        any_width: whether another dtype will do if it is floating, too, or integer, too.
    """
    __tracebackhide__ = True
    got = _in_dtype(got, want) if any_width else got
    _compare(got, want, tolerance, what, whole=(got, want))


def equal(got: Any, want: Any, *, what: str = "", any_width: bool = False) -> None:
    """Expect exactly the same value, shape and dtype; the message names `what` it is of."""
    __tracebackhide__ = True
    close(got, want, tolerance=0.0, what=what, any_width=any_width)


def _in_dtype(got: Any, want: Any) -> Any:
    """Return tensors in the dtype of those on the right, where both are floats or both integers."""
    if isinstance(got, torch.Tensor) and isinstance(want, torch.Tensor) and got.dtype != want.dtype:
        are_floats = got.is_floating_point() and want.is_floating_point()
        are_integers = {got.dtype, want.dtype} <= _INTEGERS
        return _converted(got, want.dtype) if are_floats or are_integers else got
    if isinstance(got, list | tuple) and isinstance(want, list | tuple) and len(got) == len(want):
        return type(got)(map(_in_dtype, got, want))
    return got


_INTEGERS = {torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8}


def _converted(got: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return a result in another dtype; messages still know which call it came from."""
    converted = got.to(dtype)
    for call in calls:
        if call.result is got:
            call.result = converted
        elif isinstance(call.result, list | tuple):
            call.result = type(call.result)(converted if one is got else one for one in call.result)
    return converted


def tensors(got: Any, *names: str) -> Any:
    """Expect a tensor, or two of them if there are two names, and give back what came.

    To be asked before a test takes a result apart, so that a message need not speak of the test.
    """
    __tracebackhide__ = True
    are_two = len(names) == 2
    wanted = f"two tensors belong, {' and '.join(names)}" if are_two else "a tensor belongs"
    parts = got if are_two else [got]
    if isinstance(parts, torch.Tensor) and parts.dim() and len(parts) == 2:
        parts = list(parts)  # rows of one tensor can be taken apart like a tuple
    if not isinstance(parts, list | tuple) or len(parts) != len(names):
        raise _wrong_kind(got, f"{_kind_and_shape(got)} came back where {wanted}")
    for name, part in zip(names, parts, strict=True):
        if not isinstance(part, torch.Tensor):
            of_which = f"{_kind(part)} as {name}" if are_two else _kind(part)
            raise _wrong_kind(got, f"{of_which} came back where a tensor belongs")
    return got


def shape(got: Any, *sizes: int) -> Any:
    """Expect a tensor of this shape, and give it back."""
    __tracebackhide__ = True
    found = tuple(tensors(got, "it").shape)
    if found != sizes:
        sentence = f"the shape is {found}, but should be {sizes}"
        raise Wrong(message(sentence, _call_that_gave(got)))
    return got


def floats(got: Any, count: int) -> list[float]:
    """Expect a list of so many numbers, and return them as floats."""
    __tracebackhide__ = True
    wanted = f"a list of {count} float{'s' * (count != 1)} belongs"
    if not isinstance(got, list | tuple) or len(got) != count:
        raise _wrong_kind(got, f"{_kind_and_shape(got)} came back where {wanted}")
    for item in got:
        if _number(item) is None:
            raise _wrong_kind(got, f"a list with {_kind(item)} in it came back where {wanted}")
    return [float(_number(item)) for item in got]


def _number(value: Any) -> int | float | None:
    """Return the number that a value is; None if it is none.

    >>> _number(3), _number(3.0), _number(torch.tensor(3.0)), _number(torch.ones(1)), _number(True)
    (3, 3.0, 3.0, None, None)
    """
    if isinstance(value, torch.Tensor) and not value.dim() and not value.is_meta:
        value = value.item()
    return value if type(value) in (int, float) else None


def _wrong_kind(got: Any, sentence: str) -> Wrong:
    mismatches.append((got, 0.0))
    return Wrong(message(sentence, _call_that_gave(got), labeled(GOT, _show_with_type(got))))


def _kind_and_shape(value: Any) -> str:
    shape = f" {tuple(value.shape)}" if isinstance(value, torch.Tensor) else ""
    return f"{_kind(value)}{shape}"


def that(fact: bool, sentence: str) -> None:
    """Expect a fact; the sentence says what is wrong when it does not hold."""
    __tracebackhide__ = True
    if not fact:
        raise Wrong(message(sentence, last_call()))


def rejects(
    function: Function,
    error: type[Exception],
    *,
    bad: tuple,
    good: tuple | None = None,
) -> None:
    """Expect bad arguments to be refused, in whatever words, and good ones not to be.

    Args:
        error: the exception to be raised for the bad arguments.
        bad: positional arguments that are refused.
        good: positional arguments that are just accepted, if no other test tries them; tried first.
    """
    __tracebackhide__ = True
    if good is not None:
        function(*good)
    name = error.__name__
    try:
        accepted = function(*bad)
    except StudentError as raised:
        if name not in raised.kinds:
            if raised.kinds[0] in ("AttributeError", "NameError", "UnboundLocalError"):
                raise  # a slip, which was not to refuse anything
            raise Wrong(
                message(
                    f"{raised.kinds[0]} was raised where {name} belongs",
                    calls[-1],
                    f"raised  {raised.kinds[0]}: {_first_line(raised.message)}",
                )
            ) from raised
        return
    if isinstance(accepted, torch.Tensor | list | tuple | dict | float):
        function.lesson.trace[-1] = "accepted"  # which numbers came back does not matter
    missing = "an exception" if error is Exception else name
    raise Wrong(message(f"{missing} should have been raised, but the call went through", calls[-1]))


@contextlib.contextmanager
def briefly() -> Iterator[None]:
    """Build messages of one general sentence in this block: nobody is going to read them."""
    global _is_brief
    _is_brief = True
    try:
        yield
    finally:
        _is_brief = False


_is_brief = False


def message(sentence: str, call: Call | None, *details: str) -> str:
    """Return a sentence, the call it is about, and what else there is to say."""
    if _is_brief:
        return sentence
    lines = [sentence, ""]
    if call is not None:
        lines.append(_folded(labeled(CALLED, show_call(call, _maker(call)))))
    lines += map(_folded, details)
    return "\n".join(lines).rstrip()


def _folded(detail: str) -> str:
    """Return a detail, indented; what does not fit in 80 columns goes on below its beginning."""
    if len(detail) <= 78 and detail.isprintable():  # as nearly always, and `fill` is slow
        return f"  {detail}".rstrip()
    return textwrap.fill(
        detail,
        80,
        initial_indent="  ",
        subsequent_indent=" " * 10,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _maker(call: Call) -> Call | None:
    """Return the call that made the called module, unless several could have."""
    makers = [one for one in calls if isinstance(one.result, Handle)]
    makers = {show_call(one): one for one in makers if one.result.name == call.name}
    return next(iter(makers.values())) if len(makers) == 1 else None


def sees_changes(function: Function, before: tuple, after: tuple, want: torch.Tensor) -> None:
    """Expect the result for the arguments as they are now, not as they were.

    Args:
        before: the arguments of a first call.
        after: the numbers that are then written into the very same tensors, for a second call.
        want: the result for `after`.
    """
    __tracebackhide__ = True
    kept = [function.lesson.kept(a) if isinstance(a, torch.Tensor) else a for a in before]
    first = function(*kept)
    for argument, new in zip(kept, after, strict=True):
        if isinstance(argument, Handle):
            argument.change(new)
    got = function(*kept)
    try:
        close(got, want)
    except Wrong as wrong:
        if not _is_the_same(got, first):
            raise
        sentence = (
            "called again after the numbers in its arguments had changed, it gave the same result "
            "as before: is one kept from call to call?"
        )
        raise Wrong(f"{sentence}\n{str(wrong).partition(chr(10))[2]}") from None


def _is_the_same(got: Any, first: Any) -> bool:
    both = isinstance(got, torch.Tensor) and isinstance(first, torch.Tensor)
    return both and got.shape == first.shape and torch.allclose(got, first, equal_nan=True)


# --- comparing --------------------------------------------------------------------------------


def _compare(got: Any, want: Any, tolerance: float | None, what: str, whole: tuple) -> None:
    """Compare part by part; a message shows the whole of what was returned, and was wanted."""
    __tracebackhide__ = True
    whole_got, whole_want = whole

    def wrong(sentence: str, *details: str) -> Wrong:
        mismatches.append((whole_got, tolerance or 0.0))
        if _is_brief:
            return Wrong(sentence)
        show_it = _show_with_type if show(whole_got) == show(whole_want) else show
        shown = [labeled(GOT, show_it(whole_got)), labeled(WANT, show_it(whole_want))]
        if what and tolerance:
            size = abs(want) if isinstance(want, float) else 1.0
            shown.append(labeled("within", show_number(tolerance * max(1.0, size))))
        call = _call_that_gave(whole_got)
        for place, gradient in (call.gradients or {}).items() if call else ():
            if gradient is whole_got:
                sentence = f"the gradient at {_place_in_words(place)} is wrong: {sentence}"
        return Wrong(message(sentence, call, *shown, *details))

    named = f"{what}: " if what else ""
    if isinstance(want, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            raise wrong(f"{named}{_kind(got)} came back where a tensor belongs")
        for trait, said in _TRAITS.items():
            of_got, of_want = getattr(got, trait), getattr(want, trait)
            if of_got != of_want:
                also = telling_difference(got, want) if trait == "shape" else None
                seen_in = "" if what or _is_known(whole_got) else "in what follows from it, "
                sentence = f"the {trait} is {said(of_got)}, but should be {said(of_want)}"
                raise wrong(f"{named}{seen_in}{sentence}", *filter(None, [also]))
        if found := _difference(got, want, tolerance, bool(what) or _is_known(whole_got)):
            raise wrong(f"{named}{found[0]}", *found[1:])
    elif isinstance(want, list | tuple):
        are_several = isinstance(got, list | tuple)
        if not are_several or len(got) != len(want):
            if what and are_several:
                raise wrong(f"{named}{len(got)} of them where there should be {len(want)}")
            raise wrong(f"{named}{_kind(got)} came back where {_kind(want)} belongs")
        for i, (got_part, want_part) in enumerate(zip(got, want, strict=True)):
            if type(got_part) is type(want_part) in _PLAIN and got_part == want_part:
                continue  # long lists have many of these
            is_tensor = isinstance(want_part, torch.Tensor) and len(want) > 1
            part = f"{what or 'result'}[{i}]" if is_tensor else what
            _compare(got_part, want_part, tolerance, part, whole)
    elif type(want) in (int, float):
        number = _number(got)
        if number is None:
            raise wrong(f"{named}{_kind(got)} came back where a number belongs")
        allowed = (1e-6 if tolerance is None else tolerance) * max(1.0, abs(want))
        is_near = type(want) is float and abs(number - want) <= allowed
        if not (number == want or is_near):
            plain_to_see = got is whole_got and show(got) != show(want)
            differs = () if plain_to_see else (f"differs: {_apart(number, want)}",)
            sentence = f"{what or 'the number'} is not the one it should be"
            if type(want) is int or got is not whole_got:  # "the losses", in a list
                sentence = f"{named}the value is not the one it should be"
            raise wrong(sentence, *differs)
    elif type(got) is not type(want):
        raise wrong(f"{named}{_kind(got)} came back where {_kind(want)} belongs")
    elif isinstance(want, dict) and got != want:
        raise wrong(f"{named}{_difference_of_names(got, want)}")
    elif got != want:
        raise wrong(f"{named}the value is not the one it should be")


def _difference_of_names(got: dict, want: dict) -> str:
    """Return in a sentence the first difference between two dicts.

    >>> _difference_of_names({"a": 1, "b": 2}, {"a": 1}), _difference_of_names({}, {"a": 1})
    ('b should not be there', 'a is missing')
    >>> _difference_of_names({"b": 1}, {"a": 1}), _difference_of_names({"a": 2}, {"a": 1})
    ('b is there instead of a', 'a is 2, but should be 1')
    """
    too_many, missing = (
        [name for name in a if name not in b] for a, b in ((got, want), (want, got))
    )
    if too_many:
        instead = f"is there instead of {missing[0]}" if missing else "should not be there"
        return f"{too_many[0]} {instead}"
    if missing:
        return f"{missing[0]} is missing"
    name = next(name for name in want if got[name] != want[name])
    return f"{name} is {show(got[name])}, but should be {show(want[name])}"


_PLAIN = (bool, int, float, str)


_TRAITS: dict[str, Callable[[Any], str]] = {
    "shape": lambda shape: str(tuple(shape)),
    "dtype": show_dtype,
    "device": str,
    "layout": str,
}
"""What two tensors must have in common, in this order, and how a message says it."""


def _difference(
    got: torch.Tensor, want: torch.Tensor, tolerance: float | None, is_whole: bool
) -> list[str]:
    """Return what to say about values that differ, and lines on where; or nothing.

    Args:
        is_whole: whether `got` is what the student's code returned, or has a name.
    """
    if want.is_meta or want.numel() == 0 or torch.equal(got, want):
        return []
    if not want.is_floating_point():
        off = got != want
        distance = off.double()
    else:
        wide_got, wide_want = got.double(), want.double()
        allowed = _TOLERANCE[want.dtype] if tolerance is None else tolerance
        distance = (wide_got - wide_want).abs()
        if distance.max() <= allowed:
            return []  # as nearly always, and what follows takes three times as long
        near = (distance <= allowed * wide_want.abs().clamp(min=1)) & wide_want.isfinite()
        off = ~(near | (wide_got == wide_want))
    if not off.any():
        return []
    if _is_brief:
        return ["the values are not the ones they should be"]
    if want.is_floating_point() and not torch.isfinite(wide_got[off]).all():
        return ["some values are not finite", *_first_place(got, want, off)]
    most = _TOLERANCE.get(want.dtype, 0.0)
    rounding = most if tolerance is None else min(tolerance, most)
    right = distance <= rounding * want.double().abs().clamp(min=1)
    sentence = telling_difference(got, want, off, right) if is_whole else None
    if sentence is None:
        are = "values are not the ones they" if want.dim() else "value is not the one it"
        sentence = f"the {are} should be"
    return [sentence, *_first_place(got, want, off)]


def _first_place(got: torch.Tensor, want: torch.Tensor, off: torch.Tensor) -> list[str]:
    """Return a line about the first entry that differs; of few, only if it is not seen already."""
    place = tuple(off.nonzero()[0].tolist())
    if want.numel() <= _FEW and show(got[place]) != show(want[place]):
        return []
    apart = _apart(got[place].item(), want[place].item())
    if not place:
        return [f"differs: {apart}"]
    count, at = int(off.sum()), "at" if off.sum() == 1 else "first at"
    line = f"differs {at} {list(place)}: {apart} ({count} of {off.numel()} entries differ)"
    row = place[:-1]
    if is_shown_whole(want) or not is_shown_whole(want[row]):
        return [line]
    return [line, f"{GOT}{list(row)}  {show(got[row])}", f"{WANT}{list(row)} {show(want[row])}"]


_FEW = 4
"""So many numbers are compared at a glance."""


def _apart(got: Any, want: Any) -> str:
    """Return two numbers that differ, in as many digits as it takes to see it."""
    shown = show_number(got), show_number(want)
    if shown[0] == shown[1]:
        shown = f"{got:.9g}", f"{want:.9g}"
    if shown[0] == shown[1]:
        shown = repr(got), repr(want)
    return f"{GOT} {shown[0]}, {WANT} {shown[1]}"


def _show_with_type(value: Any) -> str:
    """Show as `show` does, but so that 120 looks different from 120.0 and a tensor with 120."""
    if isinstance(value, torch.Tensor) and value.dim() == 0 and value.device.type != "meta":
        return f"tensor({_show_with_type(value.item())})"
    if isinstance(value, list) and len(value) <= 10:
        return f"[{', '.join(map(_show_with_type, value))}]"
    text = show(value)
    return f"{text}.0" if isinstance(value, float) and text.lstrip("-").isdigit() else text


def _call_that_gave(value: Any) -> Call | None:
    """Return the call whose result this value is, or part of it, or a gradient; else the latest."""
    return _giver_of(value) or last_call()


def _is_known(value: Any) -> bool:
    """Return whether a call gave this value.

    Of what a test has computed from results, a message would say what is not true of them.
    """
    return _giver_of(value) is not None or all(call.result is None for call in calls)


def _giver_of(value: Any) -> Call | None:
    for call in reversed(calls):
        parts = call.result if isinstance(call.result, list | tuple) else ()
        if any(value is one for one in (call.result, *parts, *(call.gradients or {}).values())):
            return call
    return None


def _place_in_words(place: Any) -> str:
    """Return where a gradient belongs: to the second argument (1), or a parameter ("weight")."""
    if isinstance(place, str):
        return f"the parameter {place}"
    number = place[0] if isinstance(place, tuple) else place
    return f"argument {number + 1}"


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "a tensor"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if value is None:
        return "nothing (None, as without a return)"
    name = value.type_name if isinstance(value, Foreign) else type(value).__name__
    return with_article(name)


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "(no message)"
