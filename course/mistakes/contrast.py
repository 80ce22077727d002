"""What tells the calls in which a student's code failed from those in which it was right.

Only what was seen is told: a trait that all calls with one exception have and none of the others,
or a size that is larger in all tests that are wrong than in any that passed.
"""

import inspect
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from course.core.syllabus import Status
from course.mistakes.variant import reference_module
from course.testing.door import Outline
from course.testing.examine import Finding
from course.testing.outcomes import StudentError

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


def outgrown(findings: Sequence[Finding]) -> str:
    """Return in a sentence which size is larger wherever values are wrong, or nothing if none is.

    Code with a window, a limit or a fixed number of anything is right in all small tests.
    """
    wrong = [_sizes(one) for one in findings if one.status == Status.WRONG]
    right = list(filter(None, (_sizes(one) for one in findings if one.status == Status.PASSED)))
    if not wrong or len(right) < max(_ENOUGH_RIGHT, len(wrong)):
        return ""
    case, larger = findings[0].case, {}
    for key in set.intersection(*map(set, wrong)):
        least, most = min(one[key] for one in wrong), max(one.get(key, 0) for one in right)
        if least >= 2 * most > 0:  # 8 where 5 is right may be chance
            larger[key] = most, least
    if not larger:
        return ""
    (call, argument, axis), (most, least) = next(iter(larger.items()))
    if len(set(larger.values())) > 1:
        return f"{case.exercise} is right in all tests of small inputs, and wrong in larger ones."
    name = _names(case.lesson, case.exercise, Outline(call, {argument: None}, False))[argument]
    entries = "entry" if most == 1 else "entries"
    told = f"{name} is at most {most}" if axis is None else f"{name} has at most {most} {entries}"
    more = f"is {least}" if axis is None else f"has {least}"
    along = "" if axis is None else f" along axis {axis}"
    return (
        f"{case.exercise} is right in all tests in which {told}{along}, and wrong where it {more} "
        "or more."
    )


_ENOUGH_RIGHT = 3
"""How many tests must have called it and passed for their sizes to tell anything."""

_Size = tuple[str, int | str, int | None]
"""Which size: of which call, of which of its arguments, along which axis if that is a tensor."""


def _sizes(finding: Finding) -> dict[_Size, int]:
    """Return the largest sizes in the calls of an exercise in a test.

    A test that only makes a module looks at random numbers: it takes many of them to see anything.
    """
    sizes: dict[_Size, int] = {}
    is_class = isinstance(
        getattr(reference_module(finding.case.lesson), finding.case.exercise), type
    )
    if is_class and not any(call.name.endswith("(...)") for call in finding.calls):
        return sizes
    for call in finding.calls:
        if call.name.removesuffix("(...)") != finding.case.exercise:
            continue
        for key, value in call.given.items():
            found = [(None, value)] if _is_int(value) else []
            for axis, size in enumerate(value) if _is_tensor(value) else found:
                place = call.name, key, axis
                sizes[place] = max(sizes.get(place, 0), size)
    return sizes


def _is_like(call: Outline, other: Outline) -> bool:
    """Return whether two calls pass the same arguments, and tensors for the same ones."""
    return call.given.keys() == other.given.keys() and all(
        _is_tensor(one) == _is_tensor(other.given[key]) for key, one in call.given.items()
    )


def _kind(error: StudentError) -> tuple[str, str]:
    return error.kinds[0], re.sub(r"\d+", "", error.message)


def _names(lesson: str, exercise: str, call: Outline) -> dict[int | str, str]:
    """Return the names of a call's arguments."""
    called = getattr(reference_module(lesson), exercise)
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
    apart: dict[tuple[int, int], list[str]] = {}
    for key in tensors:
        of_good, of_bad = ({len(one.given[key]) for one in calls} for calls in (good, bad))
        if of_good.isdisjoint(of_bad):
            apart.setdefault((min(of_good), min(of_bad)), []).append(names[key])
    for n_axes, of_keys in apart.items():
        name = " and ".join(of_keys)
        yield tuple(f"with {n} ax{'i' if n == 1 else 'e'}s in {name}" for n in n_axes)
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
        if len({len(one.given[key]) for one in (*good, *bad)}) > 1:
            continue
        ran, raised = tuple(good[0].given[key]), tuple(bad[0].given[key])
        for one, other in itertools.combinations(range(len(ran)), 2):
            are_equal = [
                [call.given[key][one] == call.given[key][other] for call in calls]
                for calls in (good, bad)
            ]
            if all(are_equal[0]) and not any(are_equal[1]):
                yield (
                    f"where axes {one} and {other} of {names[key]} are equally long, as in {ran}",
                    f"where they are not, as in {raised}: is one taken for the other?",
                )


_NUMBERS: dict[Callable[[int], bool], str] = {
    lambda number: number < 0: "a negative {}",
    lambda number: number == 0: "{} = 0",
    lambda number: number == 1: "{} = 1",
}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Size)


def _is_int(value: Any) -> bool:
    return type(value) is int
