"""The most telling difference between two tensors: what would turn one into the other."""

from itertools import pairwise, permutations

import torch
from torch import Tensor

_LARGE = 20_000
"""Elements of a tensor in which to look for the difference would take too long."""


def telling_difference(
    got: Tensor, want: Tensor, wrong: Tensor | None = None, right: Tensor | None = None
) -> str | None:
    """Return what one change would make `got` right, in a sentence; None if nothing simple does.

    Args:
        wrong, right: which entries are outside of the tolerance, and which are right up to
            rounding. An entry may be neither; it is called neither.

    >>> telling_difference(torch.tensor([-1.0, 2.0, -3.0]), torch.tensor([1.0, -2.0, 3.0]))
    'every sign is flipped'
    >>> telling_difference(torch.tensor([2.0, 4.0, 6.0]), torch.tensor([1.0, 2.0, 3.0]))
    'every value is 2 times what it should be'
    >>> telling_difference(torch.tensor([0.0, 5.0, 6.0]), torch.tensor([5.0, 6.0, 7.0]))
    'the entries are one place too far'
    """
    if max(got.numel(), want.numel()) > _LARGE or want.is_meta or got.device != want.device:
        return None
    if len(want.unique()) < 3:  # too plain: many changes would do
        return None
    if got.is_complex() and not want.is_complex():
        return None
    got, want = got.double(), want.double()
    of_one_shape = (_sign, _factor, _constant, _shifted, _reordered)
    for explain in (_axes_swapped, *(of_one_shape if got.shape == want.shape else ())):
        if sentence := explain(got, want):
            return sentence
    return None if wrong is None or right is None else _partly(want, wrong, right)


_ROUNDING = 1e-3
"""How far apart two numbers that are the same may be, relative to the larger."""

_LEFT = 0.02
"""How much of a difference a change may leave, if it is to explain it."""


def _near(a: Tensor, b: Tensor) -> Tensor:
    """Return where two tensors of one shape hold the same number, up to rounding."""
    return (a == b) | ((a - b).abs() <= _ROUNDING * torch.maximum(a.abs(), b.abs()))


def _removes(got: Tensor, changed: Tensor, want: Tensor) -> bool:
    """Return whether a change of all entries leaves next to nothing of what is wrong with any."""
    left, before = (changed - want).abs(), (got - want).abs()
    return bool((left <= _LEFT * before + 1e-6 * want.abs()).all())


def _axes_swapped(got: Tensor, want: Tensor) -> str | None:
    if got.numel() != want.numel() or not 2 <= got.dim() <= 4:
        return None
    for order in list(permutations(range(got.dim())))[1:]:
        if torch.equal(got.permute(order), got):
            continue  # of an axis of one entry, say: nobody could swap these by mistake
        if got.permute(order).shape == want.shape and _near(got.permute(order), want).all():
            *first, last = (str(axis) for axis, source in enumerate(order) if axis != source)
            return f"the values are right, but axes {', '.join(first)} and {last} are swapped"
    return None


def _sign(got: Tensor, want: Tensor) -> str | None:
    return "every sign is flipped" if _near(-got, want).all() else None


def _factor(got: Tensor, want: Tensor) -> str | None:
    largest = want.abs().argmax()
    factor = (got.flatten()[largest] / want.flatten()[largest]).item()
    if f"{abs(factor):.4g}" in ("0", "1") or not abs(factor) < 1e6:
        return None
    if _removes(got, got / factor, want):
        return f"every value is {factor:.4g} times what it should be"
    return None


def _constant(got: Tensor, want: Tensor) -> str | None:
    constant = (got - want).flatten()[0].item()
    if abs(constant) > 1e-3 and _removes(got, got - constant, want):
        return f"every value is {abs(constant):.4g} too {'large' if constant > 0 else 'small'}"
    return None


def _shifted(got: Tensor, want: Tensor) -> str | None:
    for axis in _axes(want, at_least=3):
        size = want.shape[axis]
        head, tail = (0, size - 1), (1, size - 1)
        fits = [
            where
            for source, target, where in ((tail, head, "far"), (head, tail, "early"))
            if _near(got.narrow(axis, *source), want.narrow(axis, *target)).all()
        ]
        if len(fits) == 1 and _n_wrong(got, want, axis) > size / 2:
            if _is_short_circle(got, want):
                return None
            return f"the {_names(want, axis)[1]} are one place too {fits[0]}"
    return None


def _is_short_circle(got: Tensor, want: Tensor) -> bool:
    """Return whether these are a few whole numbers in another order, which fit by chance."""
    few = want.dim() == 1 and len(want) < 6 and bool((want == want.round()).all())
    return few and torch.equal(got.sort().values, want.sort().values)


def _n_wrong(got: Tensor, want: Tensor, axis: int) -> int:
    """Return how many of the slices along an axis are not what they should be."""
    other_axes = [other for other in range(want.dim()) if other != axis]
    near = _near(got, want)
    return int((~(near.all(dim=other_axes) if other_axes else near)).sum())


def _reordered(got: Tensor, want: Tensor) -> str | None:
    for axis in _axes(want, at_least=2):
        count = want.shape[axis]
        if count > 64 or want.numel() == 0:
            continue
        of_got, of_want = (one.movedim(axis, 0).reshape(count, -1) for one in (got, want))
        fits = torch.stack([_near(of_got, one).all(dim=1) for one in of_want])
        if not fits.any(dim=1).all():
            continue
        fits = fits.int() + (fits & torch.eye(count, dtype=torch.bool)).int()  # rather its own
        order = fits.argmax(dim=1).tolist()
        if len(set(order)) == len(order) and order != sorted(order):
            return f"the {_names(want, axis)[1]} are right, but in another order"
    return None


def _partly(want: Tensor, wrong: Tensor, right: Tensor) -> str | None:
    """Return which slices are wrong, when most of them are and these are right."""
    for axis in reversed(_axes(want, at_least=3)):
        in_slices = [of.movedim(axis, 0).reshape(want.shape[axis], -1) for of in (wrong, right)]
        is_wrong, is_right = in_slices[0].any(dim=1), in_slices[1].all(dim=1)
        found = is_wrong.nonzero().flatten().tolist()
        if bool((is_wrong | is_right).all()) and 0 < len(found) <= want.shape[axis] // 2:
            return f"only {_which(want, axis, found)}"
    return None


def _axes(tensor: Tensor, at_least: int) -> list[int]:
    return [axis for axis, size in enumerate(tensor.shape) if size >= at_least]


def _names(tensor: Tensor, axis: int) -> tuple[str, str]:
    """Return what to call one, and several, of the things that are side by side along an axis."""
    if tensor.dim() == 1:
        return "entry", "entries"
    if tensor.dim() == 2:
        return (("row", "rows"), ("column", "columns"))[axis]
    return f"entry of axis {axis}", f"entries of axis {axis}"


def _which(tensor: Tensor, axis: int, wrong: list[int]) -> str:
    """Return which of the entries, rows or columns are wrong.

    >>> _which(torch.zeros(9), 0, [3]), _which(torch.zeros(9, 2), 0, [3, 4, 5])
    ('entry 3 is wrong', 'rows 3 to 5 are wrong')
    >>> _which(torch.zeros(9, 9), 1, [2, 4]), _which(torch.zeros(2, 2, 9), 2, [4])
    ('columns 2 and 4 are wrong', 'entry 4 of axis 2 is wrong')
    """
    name = _names(tensor, axis)[len(wrong) > 1]
    thing, _, of_axis = name.partition(" ")
    of_axis = f" {of_axis}" if of_axis else ""
    if len(wrong) == 1:
        return f"{thing} {wrong[0]}{of_axis} is wrong"
    if len(wrong) > 2 and all(b - a == 1 for a, b in pairwise(wrong)):
        return f"{thing} {wrong[0]} to {wrong[-1]}{of_axis} are wrong"
    *first, last = wrong if len(wrong) <= 6 else [*wrong[:6], f"{len(wrong) - 6} more"]
    return f"{thing} {', '.join(map(str, first))} and {last}{of_axis} are wrong"
