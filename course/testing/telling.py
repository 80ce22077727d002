"""The most telling difference between two tensors: what would turn one into the other."""

import math
from collections.abc import Iterator
from itertools import pairwise, permutations

import torch
from torch import Tensor

_LARGE = 20_000
"""Elements of a tensor in which to look for the difference would take too long."""


def telling_difference(got: Tensor, want: Tensor) -> str | None:
    """Return what one change would make `got` right, in a sentence; None if nothing simple does.

    >>> telling_difference(torch.tensor([-1.0, 2.0, -3.0]), torch.tensor([1.0, -2.0, 3.0]))
    'every sign is flipped'
    >>> telling_difference(torch.tensor([2.0, 4.0, 6.0]), torch.tensor([1.0, 2.0, 3.0]))
    'every value is 2 times what it should be'
    >>> telling_difference(torch.tensor([0.0, 5.0, 6.0]), torch.tensor([5.0, 6.0, 7.0]))
    'every entry stands one place too far'
    """
    if max(got.numel(), want.numel()) > _LARGE or want.is_meta or got.device != want.device:
        return None
    if len(want.unique()) < 3:  # too plain: many changes would do
        return None
    got, want = got.double(), want.double()
    for explain in (_axes_swapped, _sign, _factor, _constant, _shifted, _reordered, _partly):
        sentence = explain(got, want)
        if sentence:
            return sentence
    return None


_NEAR = {"rtol": 1e-3, "atol": 1e-5, "equal_nan": True}


def _near(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and not _begins_apart(a, b) and torch.allclose(a, b, **_NEAR)


def _begins_apart(a: Tensor, b: Tensor) -> bool:
    """Return whether the first entries lie far apart: most often that is so, and soon seen."""
    if a.numel() == 0:
        return False
    first, other = a[(0,) * a.dim()].item(), b[(0,) * b.dim()].item()
    return abs(first - other) > 2 * (_NEAR["atol"] + _NEAR["rtol"] * abs(other))


def _axes_swapped(got: Tensor, want: Tensor) -> str | None:
    for order in list(permutations(range(got.dim())))[1:] if got.dim() <= 4 else []:
        if torch.equal(got.permute(order), got):
            continue  # of an axis of one entry, say: nobody could swap these by mistake
        if _near(got.permute(order), want):
            moved = [str(axis) for axis, source in enumerate(order) if axis != source]
            return f"the values are right, but axes {' and '.join(moved)} are swapped"
    return None


def _sign(got: Tensor, want: Tensor) -> str | None:
    return "every sign is flipped" if _near(-got, want) else None


def _factor(got: Tensor, want: Tensor) -> str | None:
    if got.shape != want.shape:
        return None
    largest = want.abs().argmax()
    factor = (got.flatten()[largest] / want.flatten()[largest]).item()
    if f"{abs(factor):.4g}" not in ("0", "1") and abs(factor) < 1e6 and _near(got, want * factor):
        return f"every value is {factor:.4g} times what it should be"
    return None


def _constant(got: Tensor, want: Tensor) -> str | None:
    if got.shape != want.shape:
        return None
    constant = (got - want).flatten()[0].item()
    if abs(constant) > 1e-3 and _near(got, want + constant):
        return f"every value is {abs(constant):.4g} too {'large' if constant > 0 else 'small'}"
    return None


def _shifted(got: Tensor, want: Tensor) -> str | None:
    for axis in _shared_axes(got, want, at_least=3):
        size = want.shape[axis]
        head, tail = (0, size - 1), (1, size - 1)
        for source, target, where in ((tail, head, "far"), (head, tail, "early")):
            if _near(got.narrow(axis, *source), want.narrow(axis, *target)):
                return f"every {_names(want, axis)[0]} stands one place too {where}"
    return None


def _reordered(got: Tensor, want: Tensor) -> str | None:
    for axis in _shared_axes(got, want, at_least=2):
        count = want.shape[axis]
        if count > 64 or want.numel() == 0:
            continue
        of_got, of_want = (one.movedim(axis, 0).reshape(count, -1) for one in (got, want))
        allowed = 1e-5 + 1e-3 * of_want.abs().amax(dim=1, keepdim=True)
        fits = torch.cdist(of_want, of_got, p=math.inf) <= allowed
        if not fits.any(dim=1).all():
            continue
        order = fits.int().argmax(dim=1).tolist()  # the first that fits
        if len(set(order)) == len(order) and order != sorted(order):
            return f"the {_names(want, axis)[1]} are right, but in another order"
    return None


def _partly(got: Tensor, want: Tensor) -> str | None:
    """Return which slices are wrong, when most of them are right."""
    if got.shape != want.shape:
        return None
    near = torch.isclose(got, want, **_NEAR)
    for axis in reversed(list(_shared_axes(got, want, at_least=3))):
        slices = near.movedim(axis, 0).reshape(want.shape[axis], -1)
        wrong = (~slices.all(dim=1)).nonzero().flatten().tolist()
        if 0 < len(wrong) <= want.shape[axis] // 2:
            return f"only {_which(want, axis, wrong)}"
    return None


def _shared_axes(got: Tensor, want: Tensor, at_least: int) -> Iterator[int]:
    if got.shape == want.shape:
        yield from (axis for axis, size in enumerate(want.shape) if size >= at_least)


def _names(tensor: Tensor, axis: int) -> tuple[str, str]:
    """Return what to call one, and several, of the things that stand side by side along an axis."""
    if tensor.dim() == 1:
        return "entry", "entries"
    if tensor.dim() == 2:
        return (("row", "rows"), ("column", "columns"))[axis]
    return f"slice along axis {axis}", f"slices along axis {axis}"


def _which(tensor: Tensor, axis: int, wrong: list[int]) -> str:
    """Return which of the entries, rows, columns or slices are wrong.

    >>> _which(torch.zeros(9), 0, [3]), _which(torch.zeros(9, 2), 0, [3, 4, 5])
    ('entry 3 is wrong', 'rows 3 to 5 are wrong')
    >>> _which(torch.zeros(9, 9), 1, [2, 4])
    'columns 2 and 4 are wrong'
    """
    one, several = _names(tensor, axis)
    if len(wrong) == 1:
        return f"{one} {wrong[0]} is wrong"
    if len(wrong) > 2 and all(b - a == 1 for a, b in pairwise(wrong)):
        return f"{several} {wrong[0]} to {wrong[-1]} are wrong"
    *first, last = wrong if len(wrong) <= 6 else [*wrong[:6], "more"]
    return f"{several} {', '.join(map(str, first))} and {last} are wrong"
