"""The values that may cross the door between a graded test and a student's code.

Plain values are None, bool, int, float, complex, str, bytes, dtypes, tensors, and lists, tuples
and dictionaries of them; a number of NumPy crosses as one of Python. Everything crosses as a copy,
so that neither side can change what the other holds. Whatever else a student's code returns is
replaced by its description.
"""

from dataclasses import dataclass
from typing import Any

import numpy
import torch

_NUMBERS_AND_TEXT = frozenset({bool, int, float, complex, str, bytes, torch.dtype})


@dataclass(frozen=True)
class Foreign:
    """A placeholder for a value that is not plain; only the name of its type crosses."""

    type_name: str


def plain_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy that shares nothing with the tensor: no memory, no graph, no subclass.

    Strides survive, so that a non-contiguous tensor stays one.
    """
    if type(tensor) is torch.Tensor:
        bare = tensor.detach()
    else:
        with torch._C.DisableTorchFunctionSubclass():  # noqa: SLF001, it has no public name
            bare = torch.Tensor.detach(tensor).as_subclass(torch.Tensor)
    if bare.layout is not torch.strided or bare.is_meta:
        return bare.clone()
    if bare.is_contiguous() and not bare.is_nested:
        return bare.clone().resolve_conj().resolve_neg()
    memory = torch.empty(0, dtype=bare.dtype, device=bare.device)
    memory.set_(bare.untyped_storage().clone(), bare.storage_offset(), bare.shape, bare.stride())
    return memory.resolve_conj().resolve_neg()


def plain(value: Any, describe=lambda value: Foreign(type(value).__name__)) -> Any:
    """Return a deep copy of a value in plain types; `describe` is asked about everything else.

    >>> plain([1, (2.0, "three"), {4}])
    [1, (2.0, 'three'), Foreign(type_name='set')]
    """
    if value is None or type(value) in _NUMBERS_AND_TEXT:
        return value
    if isinstance(value, torch.Tensor):
        return plain_tensor(value)
    if isinstance(value, list):
        return [plain(item, describe) for item in list.__iter__(value)]
    if isinstance(value, tuple):  # also the named tuples that torch returns
        return tuple(plain(item, describe) for item in tuple.__iter__(value))
    if isinstance(value, dict):
        return {plain(k, describe): plain(v, describe) for k, v in dict.items(value)}
    for kind in (int, float, str):  # a numpy.float64 is a float: the float crosses
        if isinstance(value, kind):
            return kind.__str__(value) if kind is str else kind.__pos__(value)
    if isinstance(value, numpy.number):
        number = numpy.number.item(value)  # of a long double that is no number of Python's
        return number if type(number) in _NUMBERS_AND_TEXT else describe(value)
    return describe(value)
