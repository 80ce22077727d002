"""What tells the calls in which a student's code raised an exception from those in which it ran.

Only what was seen is told: a trait that all calls with that exception have, and none of the others.
"""

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from course.mistakes.variant import reference
from course.syllabus import Status
from course.testing.door import Outline, TensorOutline
from course.testing.examine import Finding
from course.testing.outcomes import StudentError
from course.testing.show import show_dtype

_MOST_TRAITS = 2
"""When more traits than these tell the calls apart, none is told: it is more likely chance."""


def contrast(findings: Sequence[Finding]) -> str:
    """Return in a sentence what makes the first exception come, or nothing if that is not clear."""
    raised = [one for one in findings if isinstance(one.failure, StudentError) and one.calls]
    raised = [one for one in raised if one.calls[-1].raised]
    if not raised:
        return ""
    first = raised[0]
    bad = [
        one.calls[-1]
        for one in raised
        if _kind(one.failure) == _kind(first.failure) and one.calls[-1].name == first.calls[-1].name
    ]
    good = [
        call
        for one in findings
        for call in (one.calls if one.status == Status.PASSED else one.calls[:-1])
        if call.name == bad[0].name and not call.raised and _is_like(call, bad[0])
    ]
    bad = [call for call in bad if _is_like(call, bad[0])]
    if not good:
        return ""
    names = _names(first.case.lesson, first.case.exercise, bad[0])
    told = list(itertools.islice(_told(good, bad, names), _MOST_TRAITS + 1))
    if not 1 <= len(told) <= _MOST_TRAITS:
        return ""
    ran, stopped = told[0]
    end = "" if stopped.endswith("?") else "."
    return f"{bad[0].name.removesuffix('(...)')} ran {ran}, and raised {stopped}{end}"


def _is_like(call: Outline, other: Outline) -> bool:
    """Return whether two calls pass the same arguments, and tensors for the same ones."""
    return call.given.keys() == other.given.keys() and all(
        _is_tensor(one) == _is_tensor(other.given[key]) for key, one in call.given.items()
    )


def _kind(error: StudentError) -> tuple[str, str]:
    return error.kinds[0], re.sub(r"\d+", "", error.message)


def _names(lesson: str, exercise: str, call: Outline) -> dict[int | str, str]:
    """Return the names of a call's arguments."""
    called = getattr(reference(lesson), exercise)
    if call.name.endswith("(...)"):
        called = called.forward
    parameters = [one for one in inspect.signature(called).parameters if one != "self"]
    return {
        key: f"`{key if isinstance(key, str) else parameters[key]}`"
        for key in call.given
        if isinstance(key, str) or key < len(parameters)
    }


def _told(
    good: Sequence[Outline], bad: Sequence[Outline], names: dict[int | str, str]
) -> Iterator[tuple[str, str]]:
    """Yield what tells the calls apart: the rest of "it ran ..." and of "it raised ..."."""
    tensors = [key for key in names if all(_is_tensor(one.given[key]) for one in (*good, *bad))]
    numbers = [key for key in names if all(_is_int(one.given[key]) for one in (*good, *bad))]
    for trait, told in _TRAITS.items():
        apart: dict[tuple[Any, Any], list[str]] = {}
        for key in tensors:
            of_good = {trait(one.given[key]) for one in good}
            of_bad = {trait(one.given[key]) for one in bad}
            if of_good.isdisjoint(of_bad):
                # the most similar one of those that it ran with comes first in a sentence
                ran, raised = sorted(of_good, key=str)[0], sorted(of_bad, key=str)[0]
                apart.setdefault((ran, raised), []).append(names[key])
        for (ran, raised), of_keys in apart.items():
            name = " and ".join(of_keys)
            yield f"with {told(name, ran)}", f"with {told(name, raised)}"
    for key in names:
        is_none = [[one.given[key] is None for one in calls] for calls in (good, bad)]
        if all(is_none[0]) and not any(is_none[1]):
            yield f"without {names[key]}", "with it"
    yield from _lengths(good, bad, tensors, names)
    for key in numbers:
        of_good, of_bad = ([one.given[key] for one in calls] for calls in (good, bad))
        for trait, said in _NUMBERS.items():
            if all(map(trait, of_bad)) and not any(map(trait, of_good)):
                yield f"with {names[key]} = {of_good[0]}", f"with {said.format(names[key])}"


def _lengths(
    good: Sequence[Outline],
    bad: Sequence[Outline],
    tensors: list[int | str],
    names: dict[int | str, str],
) -> Iterator[tuple[str, str]]:
    """Yield two axes that are equally long wherever it ran, and differ wherever it raised."""
    for key in tensors:
        if len({len(one.given[key].shape) for one in (*good, *bad)}) > 1:
            continue
        ran, raised = good[0].given[key].shape, bad[0].given[key].shape
        for one, other in itertools.combinations(range(len(ran)), 2):
            are_equal = [
                [call.given[key].shape[one] == call.given[key].shape[other] for call in calls]
                for calls in (good, bad)
            ]
            if all(are_equal[0]) and not any(are_equal[1]):
                yield (
                    f"where axes {one} and {other} of {names[key]} are equally long, as in {ran}",
                    f"where they are not, as in {raised}: is one taken for the other?",
                )


_TRAITS: dict[Callable[[TensorOutline], Any], Callable[[str, Any], str]] = {
    lambda tensor: tensor.dtype: lambda name, dtype: f"{name} of {show_dtype(dtype)}",
    lambda tensor: tensor.device: lambda name, device: f"{name} on the device {device}",
    lambda tensor: len(tensor.shape): lambda name, n_axes: (
        f"{n_axes} ax{'i' if n_axes == 1 else 'e'}s in {name}"
    ),
    lambda tensor: 0 in tensor.shape: lambda name, empty: (
        f"{'no' if empty else 'some'} numbers in {name}"
    ),
    lambda tensor: tensor.is_contiguous: lambda name, contiguous: (
        f"{name} {'' if contiguous else 'not '}contiguous in memory"
    ),
}

_NUMBERS: dict[Callable[[int], bool], str] = {
    lambda number: number < 0: "a negative {}",
    lambda number: number == 0: "{} = 0",
    lambda number: number == 1: "{} = 1",
}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, TensorOutline)


def _is_int(value: Any) -> bool:
    return type(value) is int
